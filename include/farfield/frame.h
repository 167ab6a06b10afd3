/*
 * farfield/frame.h: tables as people have them: named columns of numbers or text, some of it
 * missing.
 */
#ifndef FARFIELD_FRAME_H
#define FARFIELD_FRAME_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_frame far_frame; /* opaque, immutable */

typedef enum far_column_kind {
    FAR_COLUMN_NUMBER = 0, /* doubles, NAN where missing */
    FAR_COLUMN_WORD = 1,   /* codes into sorted distinct levels, -1 where missing */
    FAR_COLUMN_TEXT = 2 /* only given to far_frame_from_columns: as a word column, but read as the
                           column of a csv is, so that dates and marked numbers become numbers */
} far_column_kind;

typedef struct far_frame_opts {
    size_t size;         /* sizeof(far_frame_opts); all other defaults are 0 */
    char separator;      /* of a text: ',' or ';' or any other, ' ' for blanks; 0 (default): found
                            from its first rows */
    const char *missing; /* more words for a missing value, "error,-999": a list like those of
                            columns, compared to the letter, and numbers by value; NULL: none */
    const char *categorical; /* columns to take for words whatever they hold, "zip,code" (see
                                far_frame_list); NULL: none */
} far_frame_opts;

/* Reads csv (also gzipped), npy or npz; "-" is standard input. opts NULL: the defaults. These rules
 * of csv hold wherever the library reads it (far_array_read takes the tables whose columns are all
 * plain numbers, none missing).
 * Columns are separated by commas, semicolons or tabs, whichever gives the first rows the same
 * number of fields and the fewest other separators in them, else by blanks. A column whose every
 * present field is a number is a number column. So is one whose every present field is, in the same
 * way,
 *   - a number with a decimal comma (1,5 or 1.234,5) or with commas between thousands (1,234.5);
 *     what could be either (1,000 throughout) has thousands in a table between commas, a decimal
 *     comma in one between semicolons;
 *   - a number with a mark before or behind it, %, $ and other money: 12.5 for 12.5%;
 *   - a date, with or without a time: 2020-01-31, 2020/01/31, 31.01.2020, 31/01/2020 or 01/31/2020
 *     (as one of the column's dates shows), Jan 31 2020, 31 Jan 2020, each perhaps with 12:00,
 *     12:00:30.5, 1:30 PM, T between, and Z or +02:00 behind: days since 1970-01-01, UTC.
 * Any other is a word column. Missing: an empty field, NA, N/A, #N/A, <NA>, NaN, null, None, ? (any
 * case). Fields may be quoted ("a, b", "" for a quote) and then hold line ends; blanks around them
 * do not count. Empty lines are skipped. Lines that start with # are comments; only where the first
 * column holds words is such a line below the first row that has the fields of a row taken for one.
 * The first row is the header, unless it is
 *   - numbers alone (or missing), in a file with a number column;
 *   - words one of which is a date, or marked number, as the field below it is;
 *   - words beside a number that cannot be a name, as 1.5 (2019 can, and "1.5" in quotes);
 *   - words that come again in their columns, beside plain digits over numbers;
 * a name over numbers beside a number that cannot be one is refused.
 * Without a header, and where its field is empty, columns are named c1, c2, ...
 * An npy is columns c1, c2, ... of a matrix. An npz is all its arrays with the same number of rows:
 * a one-dimensional array or a matrix of one column is the column of its name, a matrix of k
 * columns NAME_1 .. NAME_k (and NAME means all of them wherever columns are listed); member picks
 * one array. Arrays of text are word columns, all others number columns.
 * FAR_ERR_IO, FAR_ERR_FORMAT, FAR_ERR_SHAPE (arrays of different lengths), FAR_ERR_VALUE (infinite
 * values), FAR_ERR_ARG (options): ragged rows, two columns of one name and the like are errors that
 * name the place. */
FAR_API FAR_NODISCARD far_status far_frame_read(far_ctx *ctx, const char *path, const char *member,
                                                const far_frame_opts *opts, far_frame **out);

/* Number columns from a float64 matrix with rows and columns; names (m->cols of them), or any of
 * them, may be NULL. The values are copied; NAN is missing. */
FAR_API FAR_NODISCARD far_status far_frame_from_mat(far_ctx *ctx, const far_mat *m,
                                                    const char *const *names, far_frame **out);
FAR_API void far_frame_destroy(far_frame *frame); /* NULL is fine */

FAR_API int64_t far_frame_rows(const far_frame *frame);
FAR_API int64_t far_frame_cols(const far_frame *frame);

/* A column; all of it lives as long as the frame. */
typedef struct far_column_info {
    const char *name; /* NULL: there is no such column */
    far_column_kind kind;
    int64_t missing;           /* how many values are */
    const double *numbers;     /* rows values; NULL for a word column */
    const char *unit;          /* of a number column: "date" (days since 1970-01-01), "%", "$" or
                                  another mark; else "" */
    const int32_t *codes;      /* rows of them, into levels; NULL for a number column */
    const char *const *levels; /* in byte order */
    int64_t level_count;
} far_column_info;
/* Counted from 0. */
FAR_API far_column_info far_frame_column(const far_frame *frame, int64_t col);

/* A frame of count columns of so many rows, from what far_frame_column tells of each: name (NULL:
 * cN), kind, and numbers with their unit (NULL: "") or codes (-1: missing) into level_count levels,
 * which are different, in any order, and need not all be used. Words for a missing value are
 * missing, as in a file. missing is not read. All is copied. */
FAR_API FAR_NODISCARD far_status far_frame_from_columns(far_ctx *ctx,
                                                        const far_column_info *columns,
                                                        int64_t count, int64_t rows,
                                                        far_frame **out);

/* "2020-01-31", or "2020-01-31 12:00" and the seconds where there are some. */
FAR_API void far_date_print(double days, char *out, size_t capacity);

/* 0-based column of that name. FAR_ERR_ARG: there is none; the message suggests the nearest and
 * lists them if they are few. */
FAR_API FAR_NODISCARD far_status far_frame_find(far_ctx *ctx, const far_frame *frame,
                                                const char *name, int64_t *col);

/* Columns named in a list like "F1,F3,feat": cols (room for far_frame_cols) gets their indices in
 * the order given, *count how many. Names that hold commas or start with a quote stand in
 * backquotes, as in conditions, or in double quotes; doubled inside they stand for one. Twice the
 * same is an error. */
FAR_API FAR_NODISCARD far_status far_frame_list(far_ctx *ctx, const far_frame *frame,
                                                const char *list, int64_t *cols, int64_t *count);

/*
 * rows[i] = 1 where expr holds for row i, else 0. expr compares columns, numbers and words,
 *
 *     F1 >= 20000 and not (kind == 'a b' or F2 < -1.5e3)
 *
 * with == != < <= > >= (= is ==), and or not (also && || !), parentheses, and columns of odd names
 * in backquotes. Dates are written 2020-01-31 or 2020-01-31T12:00, or in quotes as the column
 * writes them, and compare with columns of dates. Chains like 0 < F1 <= 5 are allowed. Words stand
 * in single or double quotes and compare with word columns, only by == and !=. Quotes and
 * backquotes double inside themselves. One side at least is a column; two columns compare if both
 * hold numbers or both words. A comparison with a missing value does not hold, not even !=; so `not
 * F1 > 3` holds where F1 is missing. `F1 is missing` and `F1 is not missing` ask for just that.
 * FAR_ERR_PARSE: column, caret and what was expected; an unknown column suggests the nearest.
 */
FAR_API FAR_NODISCARD far_status far_frame_where(far_ctx *ctx, const far_frame *frame,
                                                 const char *expr, unsigned char *rows);

/* 64 hexadecimal digits and a closing zero: SHA-256 of the names, kinds and values of the columns
 * in cols (count of them), over the rows where rows is not 0 (NULL: all). It depends on what is
 * there, not on the file's format: 0 and -0 are one number, words count as their text. */
FAR_API FAR_NODISCARD far_status far_frame_hash(far_ctx *ctx, const far_frame *frame,
                                                const int64_t *cols, int64_t count,
                                                const unsigned char *rows, char out[65]);

#ifdef __cplusplus
}
#endif
#endif
