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
    FAR_COLUMN_WORD = 1    /* codes into sorted distinct levels, -1 where missing */
} far_column_kind;

/* Reads csv (also gzipped), npy or npz; "-" is standard input. These rules of csv hold wherever the
 * library reads it (far_array_read takes the tables whose columns are all numbers, none missing).
 * Columns are separated by commas, else semicolons, else tabs, else blanks. A column whose every
 * present field is a number is a number column, any other a word column. Missing: an empty field,
 * NA, N/A, #N/A, <NA>, NaN, null, None, ? (any case). Fields may be quoted ("a, b", "" for a quote)
 * and then hold line ends; blanks around them do not count. Empty lines are skipped.
 * Lines that start with # are comments; only where the first column holds words is such a line
 * below the first row that has the fields of a row taken for one. The first row is the header,
 * unless it is
 *   - numbers alone (or missing), in a file with a number column;
 *   - words beside a number that cannot be a name, as 1.5 (2019 can, and "1.5" in quotes);
 *   - words that come again in their columns, beside plain digits over numbers;
 * a name over numbers beside a number that cannot be one is refused.
 * Without a header, and where its field is empty, columns are named c1, c2, ...
 * An npy is columns c1, c2, ... of a matrix. An npz is all its arrays with the same number of rows:
 * a one-dimensional array or a matrix of one column is the column of its name, a matrix of k
 * columns NAME_1 .. NAME_k (and NAME means all of them wherever columns are listed); member picks
 * one array. Arrays of text are word columns, all others number columns.
 * FAR_ERR_IO, FAR_ERR_FORMAT, FAR_ERR_SHAPE (arrays of different lengths), FAR_ERR_VALUE (infinite
 * values): ragged rows, two columns of one name and the like are errors that name the place. */
FAR_API FAR_NODISCARD far_status far_frame_read(far_ctx *ctx, const char *path, const char *member,
                                                far_frame **out);

/* Number columns from a float64 matrix with rows and columns; names (m->cols of them), or any of
 * them, may be NULL. The values are copied; NAN is missing. */
FAR_API FAR_NODISCARD far_status far_frame_from_mat(far_ctx *ctx, const far_mat *m,
                                                    const char *const *names, far_frame **out);
FAR_API void far_frame_destroy(far_frame *frame); /* NULL is fine */

/* Columns are counted from 0. One that is not there has no name, values or levels. */
FAR_API int64_t far_frame_rows(const far_frame *frame);
FAR_API int64_t far_frame_cols(const far_frame *frame);
FAR_API const char *far_frame_name(const far_frame *frame, int64_t col);
FAR_API far_column_kind far_frame_kind(const far_frame *frame, int64_t col);
FAR_API int64_t far_frame_missing(const far_frame *frame, int64_t col); /* how many */

/* rows values of a number column (NULL for a word column), and the reverse. */
FAR_API const double *far_frame_numbers(const far_frame *frame, int64_t col);
FAR_API const int32_t *far_frame_codes(const far_frame *frame, int64_t col);
/* Level i of a word column, in byte order; how many there are. */
FAR_API const char *far_frame_level(const far_frame *frame, int64_t col, int64_t i);
FAR_API int64_t far_frame_level_count(const far_frame *frame, int64_t col);

/* 0-based column of that name. FAR_ERR_ARG: there is none; the message suggests the nearest and
 * lists them if they are few. */
FAR_API FAR_NODISCARD far_status far_frame_find(far_ctx *ctx, const far_frame *frame,
                                                const char *name, int64_t *col);

/* Columns named in a list like "F1,F3,feat": cols (room for far_frame_cols) gets their indices in
 * the order given, *count how many. Names with commas may be quoted. Twice the same is an error. */
FAR_API FAR_NODISCARD far_status far_frame_list(far_ctx *ctx, const far_frame *frame,
                                                const char *list, int64_t *cols, int64_t *count);

/*
 * rows[i] = 1 where expr holds for row i, else 0. expr compares columns, numbers and words,
 *
 *     F1 >= 20000 and not (kind == 'a b' or F2 < -1.5e3)
 *
 * with == != < <= > >= (= is ==), and or not (also && || !), parentheses, and columns of odd names
 * in backquotes. Chains like 0 < F1 <= 5 are allowed. Words stand in single or double quotes and
 * compare with word columns, only by == and !=. Quotes and backquotes double inside themselves.
 * One side at least is a column; two columns compare if both hold numbers or both words.
 * A comparison with a missing value does not hold, not even !=; so `not F1 > 3` holds where F1 is
 * missing, and `F1 == F1` where it is not.
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
