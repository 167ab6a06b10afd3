/* Matrices from files and standard input, and to files and standard output. */
#ifndef FAR_CLI_FILES_H
#define FAR_CLI_FILES_H

#include "cli.h"

/* An input matrix and what owns its values. Zero-initialise; input_free is always safe. */
typedef struct input {
    const char *label; /* the operand, or "standard input" */
    far_table *table;
    float *floats;
    far_mat values;
} input;

/* Reads operand: a path, "-", or "file.npz:name" where no file has the whole name. Converts to
 * float32 if dtype asks for it. Returns an exit code, with a line on stderr if it is not 0. */
int input_read(const char *verb_name, far_ctx *ctx, const char *operand, far_dtype dtype,
               input *in);
void input_free(input *in);

/* Zeroed memory for a rows x cols matrix, checked against what the machine has available. */
int matrix_alloc(const char *verb_name, int64_t rows, int64_t cols, far_dtype dtype, far_mat *out);

/* Whether far_mat_write knows the ending of path. */
bool output_ending_known(const char *path);

/* csv on standard output (path NULL) or whatever the ending of path says. */
int matrix_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
                 const char *path);

/* Flushes standard output; code, or EXIT_FAILED with a line on stderr if it could not be written.
 */
int stdout_finish(const char *verb_name, int code);

#endif
