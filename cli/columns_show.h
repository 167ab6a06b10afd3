/* What each column of a table was taken for, for people and for JSON. */
#ifndef FAR_CLI_COLUMNS_SHOW_H
#define FAR_CLI_COLUMNS_SHOW_H

#include "session.h"

#include <farfield/columns.h>
#include <farfield/result.h>

/* A line on stderr for each column that was left out, and for a target that may be classes. */
void columns_say(const session *s, const far_columns *c);
/* "columns" and "left out" for people, a table in the page, and "columns" in JSON. */
void columns_tell(far_result *r, const far_columns *c);
/* The targets or classes by name, and the task. */
void columns_tell_outputs(far_result *r, const far_columns *c);
/* A line on stderr if rows of a table have categories that are not among the columns'. Returns an
 * exit code, with a line on stderr if it is not 0. counts: as in far_columns_unseen. */
int columns_say_unseen(const session *s, const far_columns *c, const far_frame *frame,
                       const unsigned char *rows, double *counts, int64_t *unseen);
/* A value of an input: a date where it is one. */
const char *columns_value(const far_columns *c, int64_t input, double value, char *out,
                          size_t capacity);

#endif
