/* Tables of named columns, for the verbs that fit and predict. */
#ifndef FAR_CLI_DATASET_H
#define FAR_CLI_DATASET_H

#include "cli.h"
#include "options.h"

#include <farfield/frame.h>

/* How a table is read: NULL where the option was not given. */
typedef struct table_args {
    const char *separator, *missing, *categorical;
} table_args;

/* Of a verb that learns from a table. */
#define KEEP_OPTION(at)                                                                            \
    {                                                                                              \
        "--keep", 0, OPTION_TEXT, (at), "LIST",                                                    \
            "columns to learn from although they are constant, an identifier or text", 0, 1        \
    }

/* Of a verb that takes rows of a table. */
#define WHERE_OPTION(at)                                                                           \
    TEXT_OPTION("--where", 'w', at, "EXPR",                                                        \
                "only the rows where it holds: \"F1 >= 2 and kind != 'a'\"")
#define IMPUTE_OPTION(at)                                                                          \
    FLAG_OPTION("--impute", 0, at, "fill gaps with the median, or with the commonest word")

/* What is learned from, of a verb whose struct has fields of these names at AT(field). */
#define LEARNING_OPTIONS                                                                           \
    TEXT_OPTION("--target", 't', AT(target), "COL[,COL]", "what to predict"),                      \
        TEXT_OPTION("--features", 'f', AT(features), "LIST",                                       \
                    "columns to predict from: F1,F2 (every column that is no target)"),            \
        WHERE_OPTION(AT(where)), KEEP_OPTION(AT(keep)), TABLE_OPTIONS(AT(table))

/* Their options, of a verb that has a table_args at that offset. */
#define TABLE_OPTIONS(at)                                                                          \
    {"--sep",     0,                                                                               \
     OPTION_TEXT, (at) + offsetof(table_args, separator),                                          \
     "CHAR",      "between the columns of a csv: , or ; or tab or blank or another (found)",       \
     0,           0},                                                                              \
        {"--na",      0,                                                                           \
         OPTION_TEXT, (at) + offsetof(table_args, missing),                                        \
         "LIST",      "more words for a missing value: error,-999",                                \
         0,           1},                                                                          \
    {                                                                                              \
        "--categorical", 0, OPTION_TEXT, (at) + offsetof(table_args, categorical), "LIST",         \
            "columns that are categories although they hold numbers or dates", 0, 1                \
    }

/* A table and which of its rows count. Zero-initialise; dataset_free is always safe. */
typedef struct dataset {
    const char *arch;  /* to be set before: of the network that takes the rows; NULL: not known */
    const char *label; /* the operand, or "standard input" */
    far_frame *frame;
    unsigned char *rows; /* NULL: all of them */
    int64_t count;
} dataset;

/* Whether operand is a folder of pictures, not the name of a data set. */
bool is_folder(const char *operand);
/* Reads operand, as input_read does, or the data set of that name, or a folder of pictures, and
 * picks the rows where the
 * expression holds (NULL: all). how may be NULL. Returns an exit code, with a line on stderr if it
 * is not 0; no row is a failure. */
int dataset_read(const char *verb_name, far_ctx *ctx, const char *operand, const table_args *how,
                 const char *where, dataset *d);
void dataset_free(dataset *d);

/* A part of n rows, for validation: count of them, every one with the same chance. A byte a row, 1:
 * in the part. Free it; NULL after a line on stderr, also where the part or the rest has no row. */
unsigned char *draw_part(const char *verb_name, double part, uint64_t seed, int64_t n,
                         int64_t *count);

#endif
