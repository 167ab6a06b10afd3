/*
 * farfield/data.h: arrays in and out of files.
 *
 * Reads csv (by the rules of far_frame_read), npy, npz, each also gzipped (.gz) where that makes
 * sense, and standard input ("-"). The format is found from the content, not from the name. Writes
 * csv, npy or npz by the name's ending, whole or not at all: a temporary file beside it, which goes
 * to disk (fsync) and then takes the name. A symbolic link is written through: the file it leads to
 * is replaced, in its own folder. One that leads nowhere, or in a loop, is refused. Temporary files
 * of processes that were killed are removed by the next that writes the same file.
 */
#ifndef FARFIELD_DATA_H
#define FARFIELD_DATA_H

#include <farfield/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: float64 values of up to FAR_ARRAY_DIMS dimensions. The last dimension is the columns, all
 * others are rows, in the order of the file; one dimension is one column. */
typedef struct far_array far_array;
#define FAR_ARRAY_DIMS 5

/* Reads an array of finite numbers of at most dims dimensions (2: a matrix). path "-" is standard
 * input. member: which array of an npz (NULL: the only one, an error that lists the names if there
 * are several). Integers and float16/32/64 of either byte order convert, as do booleans; others are
 * refused by name. csv is a matrix of numbers: what is a comment, a header, a missing value stands
 * at far_frame_read (frame.h), but a word or a missing value is an error here.
 * FAR_ERR_IO: no such file, unreadable. FAR_ERR_FORMAT: ragged csv (row and the two counts), a
 * field that is no number (line, column, text), truncated or hostile npy/npz, too many dimensions,
 * empty file. FAR_ERR_VALUE: a non-finite value, with row and column (1-based, header not counted;
 * the column's name too if there is a header). */
FAR_API FAR_NODISCARD far_status far_array_read(far_ctx *ctx, const char *path, const char *member,
                                                int dims, far_array **out);
FAR_API void far_array_destroy(far_array *array); /* NULL is fine */

typedef struct far_array_info {
    far_mat values; /* packed, float64; lives as long as the array */
    int dims;       /* at least 2 */
    int64_t shape[FAR_ARRAY_DIMS];
} far_array_info;
FAR_API far_array_info far_array_describe(const far_array *array);

/* What an npz says about its array: a text or a whole number each, which NumPy reads without pickle
 * as the arrays "farfield.NAME". They do not count among the arrays of the file. */
typedef struct far_note {
    const char *name; /* "points"; at most FAR_NOTE_NAME bytes */
    const char *text; /* not empty; NULL: the number */
    int64_t number;
} far_note;
#define FAR_NOTES 16 /* at most, in a file */
#define FAR_NOTE_NAME 32

/* The note of that name that lay beside the array; NULL: there is none. */
FAR_API const far_note *far_array_note(const far_array *array, const char *name);

/* How a matrix is written: zeros are the defaults. */
typedef struct far_write_opts {
    const char *name; /* of the array in an npz; NULL: "arr_0" */
    const int64_t
        *shape; /* in .npy and .npz the values, row by row, are an array of dims (2 to 5) */
    int dims;   /* dimensions, whose product is rows * cols; csv keeps the rows. 0: two */
    const far_note *notes; /* beside the array of an npz; csv and npy leave them out */
    int64_t note_count;
    int32_t gaps; /* 1: a number may not exist, or be an infinite limit: NAN is an empty field in
                     csv and nan in npy and npz, infinities are inf and -inf */
    void
        *stream; /* where path is NULL: csv to this FILE * (void * keeps stdio out of the header) */
} far_write_opts;

/* Writes by the ending of path: .npy, .npz, .csv and .csv.gz; any other ending is FAR_ERR_ARG. csv
 * has 17 (float32: 9) significant digits and no header. Nothing is left behind on failure, and an
 * old file of that name is kept. opts may be NULL. FAR_ERR_VALUE: a value is not finite, without
 * gaps. FAR_ERR_ARG: too many notes, or one without a name or text. */
FAR_API FAR_NODISCARD far_status far_mat_write(far_ctx *ctx, const far_mat *m,
                                               const far_write_opts *opts, const char *path);

/* ---- files of any content ---- */

/* Whether a file of that name could be written: FAR_ERR_IO if not, before the work rather than
 * after. With far_ctx_opts.protect_inputs it is then this context's output: FAR_ERR_ARG if it was
 * read as an input or claimed before. NULL is standard output, where that is a file. */
FAR_API FAR_NODISCARD far_status far_file_claim(far_ctx *ctx, const char *path);

/* A file being written: it takes its name when it is closed to be kept; else nothing is left of it.
 * A name that ends in .gz is packed. Devices and pipes are written straight. */
typedef struct far_file far_file;
FAR_API FAR_NODISCARD far_status far_file_create(far_ctx *ctx, const char *path, far_file **out);
FAR_API FAR_NODISCARD far_status far_file_put(far_file *file, const void *data, size_t bytes);
FAR_API far_status far_file_close(far_file *file, int keep); /* NULL is fine */

/* The bytes of a file ("-": standard input) with a closing zero; far_text_free them. size
 * may be NULL. */
FAR_API FAR_NODISCARD far_status far_file_read(far_ctx *ctx, const char *path, char **out,
                                               int64_t *size);

#ifdef __cplusplus
}
#endif
#endif
