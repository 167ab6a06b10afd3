/* Matrices from files and standard input, and to files and standard output. */
#ifndef FAR_CLI_FILES_H
#define FAR_CLI_FILES_H

#include "cli.h"

#include <stdio.h>

/* Splits "file.npz:name" in place; NULL if operand is to be taken whole, as a file of that name is.
 */
char *split_member(char *operand);
/* The operand, or "standard input". */
const char *operand_label(const char *operand);

/* An input matrix and what owns its values. Zero-initialise; input_free is always safe. */
typedef struct input {
    const char *label; /* the operand, or "standard input" */
    far_array *array;
    float *floats;
    far_mat values;
} input;

/* Reads operand: a path, "-", or "file.npz:name" where no file has the whole name. Converts to
 * float32 if dtype asks for it. Returns an exit code, with a line on stderr if it is not 0. */
int input_read(const char *verb_name, far_ctx *ctx, const char *operand, far_dtype dtype,
               input *in);
/* The same in float64, of arrays of up to FAR_ARRAY_DIMS dimensions. */
int array_read(const char *verb_name, far_ctx *ctx, const char *operand, input *in);
void input_free(input *in);

/* The bytes of a small file with a closing zero (free it), or NULL with a line on stderr. */
char *text_read(const char *verb_name, far_ctx *ctx, const char *path);

/* Zeroed memory for a rows x cols matrix, checked against what the machine has available. */
int matrix_alloc(const char *verb_name, int64_t rows, int64_t cols, far_dtype dtype, far_mat *out);

/* Element (i, j) of a host matrix. */
double mat_get(const far_mat *m, int64_t i, int64_t j);
/* Of the sizes of all elements of a packed float64 matrix. */
double mat_largest(const far_mat *m);
/* Where the first of the largest is. */
int64_t place_of_largest(const double *values, int64_t count);

/* Whether far_mat_write knows the ending of path, which may be NULL; if not, with a line on stderr.
 */
bool output_ending_known(const char *verb_name, const char *path);

/* Fails, with a line on stderr, if a value is not finite: for what is printed as JSON. */
int matrix_check(const char *verb_name, const far_mat *m);

/* csv on standard output (path NULL) or whatever the ending of path says; fails if a value is not
 * finite. gaps_write: NAN is a number that does not exist, infinity an infinite limit. */
int matrix_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
                 const char *path);
int gaps_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
               const char *path);

/* Fails, with a line on stderr, if a file of that name cannot be made or is an input: before hours
 * of work, not after. */
int output_possible(const char *verb_name, far_ctx *ctx, const char *path);

/* Standard output, or a file that is written whole or not at all. */
typedef struct sink {
    const char *verb;
    far_ctx *ctx;
    FILE *stream;   /* standard output */
    far_file *file; /* any other */
    bool terminal;  /* it is standard output, and that is a terminal */
    bool failed;
} sink;
/* path NULL: standard output. A name that ends in .gz is packed. */
int sink_open(const char *verb_name, far_ctx *ctx, const char *path, sink *s);
void sink_put(sink *s, const char *text);
/* Puts the file in its place if code is EXIT_DONE and nothing failed, else removes it. Returns
 * code, or EXIT_FAILED with a line on stderr. */
int sink_close(sink *s, int code);

/* One column of a result: column col of a matrix, as numbers or as indices of words. */
typedef struct result_column {
    char *name;
    far_mat values;
    int64_t col;
    const char *const *words; /* NULL: numbers */
} result_column;

/* Fails, with a line on stderr, if a number is infinite: NAN is one that does not exist. */
int columns_check(const char *verb_name, const result_column *columns, int64_t count, int64_t rows);
/* csv with a header on standard output (path NULL) or in a .csv or .csv.gz, with an empty field for
 * NAN; in an .npy or .npz the matrix of the numbers, words as their indices. */
int columns_write(const char *verb_name, far_ctx *ctx, const result_column *columns, int64_t count,
                  int64_t rows, const char *array_name, const char *path);

/* Flushes standard output; code, or EXIT_FAILED with a line on stderr if it could not be written;
 * without one if its reader went away. */
int stdout_finish(const char *verb_name, int code);
bool stdout_reader_left(void);

#endif
