/* Tables of named columns, for the verbs that fit and predict. */
#ifndef FAR_CLI_DATASET_H
#define FAR_CLI_DATASET_H

#include "cli.h"

#include <farfield/frame.h>

/* A table and which of its rows count. Zero-initialise; dataset_free is always safe. */
typedef struct dataset {
    const char *label; /* the operand, or "standard input" */
    far_frame *frame;
    unsigned char *rows; /* NULL: all of them */
    int64_t count;
} dataset;

/* Reads operand, as input_read does, or the data set of that name, and picks the rows where the
 * expression holds (NULL: all). Returns an exit code, with a line on stderr if it is not 0; no row
 * is a failure. */
int dataset_read(const char *verb_name, far_ctx *ctx, const char *operand, const char *where,
                 dataset *d);
void dataset_free(dataset *d);

/* A part of n rows, for validation: count of them, every one with the same chance. A byte a row, 1:
 * in the part. Free it; NULL after a line on stderr, also where the part or the rest has no row. */
unsigned char *draw_part(const char *verb_name, double part, uint64_t seed, int64_t n,
                         int64_t *count);

#endif
