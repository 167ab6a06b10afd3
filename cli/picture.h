/* Grids of points and the grey pictures that lie on them. */
#ifndef FAR_CLI_PICTURE_H
#define FAR_CLI_PICTURE_H

#include "session.h"

#include <farfield/frame.h>

/* "48", "64x48" (columns x rows), each from 2. OPTIONS_OK, or EXIT_USAGE with a line that names the
 * option. */
int grid_size_read(const char *verb_name, const char *option_name, const char *text, int64_t *cols,
                   int64_t *rows);

/* The table x, y, grey of one picture, not of a folder. Returns an exit code. */
int picture_read(session *s, const char *path, int64_t cols, int64_t rows, far_frame **out);
/* The picture at path as csv or whatever the ending of output says (NULL: csv on standard output):
 * columns x, y, grey. rows and cols 0: as many as it has. Returns an exit code. */
int picture_write(session *s, const char *path, int64_t cols, int64_t rows, const char *output);

#endif
