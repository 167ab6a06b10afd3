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

/* The values: a packed float64 view that lives as long as the array. */
FAR_API far_mat far_array_values(const far_array *array);
/* The dimensions; returns how many, at least 2. */
FAR_API int far_array_shape(const far_array *array, int64_t shape[FAR_ARRAY_DIMS]);

/* The note that lay beside the array (see far_note): its text, NULL if there is none or it is a
 * number; its number, -1 if there is none or it is a text. */
FAR_API const char *far_array_note(const far_array *array, const char *name);
FAR_API int64_t far_array_note_number(const far_array *array, const char *name);

/* Writes by the ending of path: .npy, .npz (one array, named name or "arr_0" if NULL), .csv and
 * .csv.gz; any other ending is FAR_ERR_ARG. csv has 17 (float32: 9) significant digits and no
 * header. Nothing is left behind on failure, and an old file of that name is kept.
 * FAR_ERR_VALUE: a value is not finite; none is written, by this or the functions below. */
FAR_API FAR_NODISCARD far_status far_mat_write(far_ctx *ctx, const far_mat *m, const char *name,
                                               const char *path);

/* The same where a number may not exist, or be an infinite limit: NAN is an empty field in csv and
 * nan in npy and npz, infinities are inf and -inf. With path NULL, csv to the stream file (a
 * FILE *, passed as void * to keep stdio out of this header). */
FAR_API FAR_NODISCARD far_status far_mat_write_gaps(far_ctx *ctx, const far_mat *m,
                                                    const char *name, const char *path, void *file);

/* What an npz says about its array: a text or a whole number each, which NumPy reads without pickle
 * as the arrays "farfield.NAME". They do not count among the arrays of the file. */
typedef struct far_note {
    const char *name; /* "points"; at most FAR_NOTE_NAME bytes */
    const char *text; /* not empty; NULL: the number */
    int64_t number;
} far_note;
#define FAR_NOTES 16 /* at most, in a file */
#define FAR_NOTE_NAME 32

/* far_mat_write, but in .npy and .npz the values, row by row, are an array of dims (2 to 5)
 * dimensions; their product is rows * cols. csv keeps the rows of m. The notes (NULL, 0: none)
 * stand beside the array; csv and npy have no place for them and leave them out. FAR_ERR_ARG: too
 * many of them, or one without a name or text. */
FAR_API FAR_NODISCARD far_status far_array_write(far_ctx *ctx, const far_mat *m,
                                                 const int64_t *shape, int dims, const char *name,
                                                 const far_note *notes, int64_t count,
                                                 const char *path);

/* The same csv to an open stream (a FILE *). */
FAR_API FAR_NODISCARD far_status far_mat_write_csv(far_ctx *ctx, const far_mat *m, void *file);

/* ---- files of any content ---- */

/* Whether a file of that name could be written: FAR_ERR_IO if not, before the work rather than
 * after. With far_ctx_opts.protect_inputs it is then this context's output: FAR_ERR_ARG if it was
 * read as an input or claimed before. far_file_claim_stdout does the same for standard output where
 * that is a file. */
FAR_API FAR_NODISCARD far_status far_file_claim(far_ctx *ctx, const char *path);
FAR_API FAR_NODISCARD far_status far_file_claim_stdout(far_ctx *ctx);

/* A file being written: it takes its name with far_file_commit; destroyed before, nothing is left
 * of it. A name that ends in .gz is packed. Devices and pipes are written straight. */
typedef struct far_file far_file;
FAR_API FAR_NODISCARD far_status far_file_create(far_ctx *ctx, const char *path, far_file **out);
FAR_API FAR_NODISCARD far_status far_file_put(far_file *file, const void *data, size_t bytes);
FAR_API FAR_NODISCARD far_status far_file_commit(far_file *file);
FAR_API void far_file_destroy(far_file *file); /* NULL is fine */

/* The bytes of a file ("-": standard input) with a closing zero; far_text_free them. size
 * may be NULL. */
FAR_API FAR_NODISCARD far_status far_file_read(far_ctx *ctx, const char *path, char **out,
                                               int64_t *size);

#ifdef __cplusplus
}
#endif
#endif
