/* Shared inside src/data: bytes in, bytes out, numbers as text, and the parsers of each format. */
#ifndef FAR_DATA_INTERNAL_H
#define FAR_DATA_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/data.h>
#include <stdio.h>
#include <zlib.h>

#define FAR_LABEL_BYTES 512
#define FAR_PROGRESS_BYTES ((int64_t)16 << 20) /* report progress about this often */

typedef struct far_note_kept {
    char name[FAR_NOTE_NAME + 1];
    far_note note; /* its name is the one above, its text is owned */
} far_note_kept;

struct far_array {
    far_ctx *ctx;
    void *block;    /* what the values lie in: far_free this */
    double *values; /* rows * cols, packed */
    int64_t rows, cols;
    int dims; /* below 3: a matrix of those rows and columns */
    int64_t shape[FAR_ARRAY_DIMS];
    far_note_kept *notes; /* FAR_NOTES of them; NULL: none */
    int64_t note_count;
};

/* Reads a matrix from the content of a file in memory; label stands for the path in messages. */
far_status far_array_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_array **out);

/* ---- text for messages ---- */

/* The path as messages show it. */
FAR_SHARED void far_show_path(char *out, size_t capacity, const char *path);
/* "no such file", "permission denied". */
FAR_SHARED const char *far_errno_text(int error, char *buffer, size_t capacity);
/* Puts the label before the message of an allocation that failed; returns status. */
FAR_SHARED far_status far_label_failure(far_ctx *ctx, far_status status, const char *label);

/* ---- input ---- */

/* A file's bytes in memory. Zero-initialise; clear when done. */
typedef struct far_input {
    far_ctx *ctx;
    char label[FAR_LABEL_BYTES]; /* the path; every message starts with it */
    unsigned char *data;         /* size bytes and a closing zero */
    int64_t size, capacity;
    int64_t most; /* bytes that gzip may unpack to; 0: what the machine has */
} far_input;

FAR_SHARED far_status far_input_load(far_ctx *ctx, const char *path, far_input *in);
/* Room for bytes in all (and the closing zero), keeping what is there; refuses more than the
 * machine's memory. */
FAR_SHARED far_status far_input_reserve(far_input *in, int64_t bytes);
bool far_input_is_gzip(const far_input *in);
/* A copy of bytes in memory, as if read from a file of that name. */
FAR_SHARED far_status far_input_copy(far_ctx *ctx, const char *label, const void *data,
                                     int64_t size, far_input *in);
/* Replaces gzip bytes by what they hold. */
FAR_SHARED far_status far_input_gunzip(far_input *in);
/* The same if they are gzip, else nothing; refuses gzip in gzip. */
FAR_SHARED far_status far_input_unpack(far_input *in);
FAR_SHARED void far_input_clear(far_input *in);
FAR_SHARED __attribute__((format(printf, 3, 4))) far_status
far_input_fail(const far_input *in, far_status status, const char *format, ...);

/* The index of the first value that is not finite; count: there is none. */
int64_t far_first_not_finite(const double *values, int64_t count);
/* "row 3, column 2 (F2) is nan; remove or fill it first". row and col are 0-based; the column's
 * name has length bytes, 0: none. */
far_status far_fail_value(const far_input *in, int64_t row, int64_t col, const char *name,
                          int64_t length, double value);

/* ---- formats: fill an empty array from an input, which they may consume; dims: the most ---- */

far_status far_csv_parse(far_input *in, far_array *a);
bool far_npy_is(const far_input *in);
far_status far_npy_parse(far_input *in, int dims, far_array *a);
bool far_npz_is(const far_input *in);
/* Whether it is a file of a predictor: those zips begin with their manifest, whatever their name. */
bool far_npz_is_predictor(const far_input *in);
far_status far_npz_parse(far_input *in, const char *member, int dims, far_array *a);
/* The message for a member asked of another format. */
far_status far_npz_refuse_member(const far_input *in, const char *member);

/* ---- arrays as files store them: npy, npz, safetensors, idx ---- */

/* Borrows its values from the input. */
typedef struct far_stored {
    const unsigned char *data;
    char shape[128];             /* "(3, 4)" as written */
    int dims;                    /* 1 or 2, or there are no rows and columns */
    int64_t dim[FAR_ARRAY_DIMS]; /* the first ones */
    int64_t rows, cols;          /* either may be 0 */
    char kind;    /* f, i, u or b; with words also U (UTF-32) or S (bytes); safetensors has
                     B (bfloat16) too */
    int64_t size; /* bytes of an element */
    bool swapped, fortran;
} far_stored;

/* Reads the header, and checks that the file has the size it promises. words: texts too. */
far_status far_npy_open(far_input *in, bool words, far_stored *out);
/* Takes 3 to FAR_ARRAY_DIMS dimensions as the rows and columns of a matrix. */
far_status far_stored_flatten(const far_input *in, far_stored *a);
/* Refuses other than 1 or 2 dimensions, and no values. */
far_status far_stored_check(const far_input *in, const far_stored *a);
/* out[i * down + j * right] = element (i, j) of an array of numbers. */
FAR_SHARED void far_stored_numbers(const far_stored *a, double *out, int64_t down, int64_t right);
/* Element (i, j) of an array of texts as UTF-8 (S: its bytes), without a closing zero; out holds
 * a->size. Returns the length, -1 if the text is not valid or holds a zero. */
int64_t far_stored_text(const far_stored *a, int64_t i, int64_t j, char *out);

typedef struct far_npz_array {
    char *name;   /* without .npy */
    far_input in; /* its bytes, labelled with its name */
} far_npz_array;

/* The arrays of an npz in its order: all, or the one named member. Free them also on failure. */
far_status far_npz_unpack(far_input *in, const char *member, far_npz_array **out, int64_t *count);
void far_npz_free(far_ctx *ctx, far_npz_array *arrays, int64_t count);

/* The bytes of the member called name (with its ending), labelled with that; out->data is NULL if
 * the zip has none. Refuses two of one name, and more than most bytes. */
FAR_SHARED far_status far_zip_extract(const far_input *in, const char *name, int64_t most,
                                      far_input *out);

/* ---- numbers as text, whatever the locale ---- */

/* Reads a decimal number, nan or inf at text, correctly rounded. Returns where it ends, or NULL if
 * there is none. The text must end in a zero somewhere. */
FAR_SHARED const char *far_number_parse(const char *text, double *out);
/* Writes what printf("%.*g", digits, value) does, digits 9 or 17; nan has no sign. Returns the
 * length; out holds FAR_NUMBER_BYTES and gets no closing zero. */
#define FAR_NUMBER_BYTES 32
FAR_SHARED int far_number_print(char *out, double value, int digits);

/* ---- SHA-256 (FIPS 180-4) ---- */

#define FAR_HASH_DIGITS 64
#define FAR_HASH_TEXT (FAR_HASH_DIGITS + 1)

typedef struct far_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} far_sha256;

FAR_SHARED void far_sha256_init(far_sha256 *h);
FAR_SHARED void far_sha256_add(far_sha256 *h, const void *data, size_t bytes);
/* 64 hexadecimal digits and a closing zero. */
FAR_SHARED void far_sha256_finish(far_sha256 *h, char out[FAR_HASH_TEXT]);

/* ---- the checksum at the end of a file: FAR_SEAL_WORD, and the digits of all before them ---- */

#define FAR_SEAL_WORD "sha256:"
#define FAR_SEAL_BYTES 71
bool far_seal_is(const far_input *in);
bool far_seal_holds(const far_input *in); /* of one that far_seal_is */

/* ---- output ---- */

/* A file being written: under a temporary name, or straight into a device, pipe or stream. The
 * first failure to write stays: nothing more is written then, and far_output_commit returns it. */
typedef struct far_output {
    far_ctx *ctx;
    far_status status;
    char label[FAR_LABEL_BYTES];
    char *target, *temporary; /* NULL when writing straight */
    int fd;                   /* -1: none */
    FILE *stream;             /* the caller's; NULL: fd */
    char *buffer;
    size_t used;
    z_stream *gzip; /* NULL: plain */
    unsigned char *packed;
    far_sha256 *sum; /* of what far_output_put is given; NULL: not wanted */
} far_output;

FAR_SHARED far_status far_output_open(far_ctx *ctx, const char *path, bool gzip, far_output *o);
far_status far_output_open_stream(far_ctx *ctx, FILE *stream, far_output *o);
FAR_SHARED void far_output_put(far_output *o, const void *data, size_t bytes);
/* Room for this many bytes (at most FAR_NUMBER_BYTES) at buffer + used. */
void far_output_room(far_output *o, size_t bytes);
/* Everything written and, for a file, renamed to its own name. */
FAR_SHARED far_status far_output_commit(far_output *o);
/* Frees; removes what was not committed. */
FAR_SHARED void far_output_close(far_output *o);
/* All of these in one: a file of what write puts into it, whole or not at all. */
typedef far_status (*far_write_fn)(const void *object, far_output *out);
far_status far_output_save(far_ctx *ctx, const char *path, const void *object, far_write_fn write);
FAR_SHARED far_status far_output_save_text(far_ctx *ctx, const char *path, const char *text);
/* To a descriptor; returns how many bytes went: errno says why they are fewer. */
FAR_SHARED size_t far_write_all(int fd, const void *data, size_t bytes);

/* Memory for zlib from the context: zalloc, zfree, opaque = ctx. */
FAR_SHARED void far_zlib_memory(far_ctx *ctx, z_stream *z);

/* ---- zip: members stored one after another, so that it streams to anything ---- */

#define FAR_ZIP_MEMBERS (FAR_NOTES + 1)
#define FAR_ZIP_NAME_BYTES 264 /* 255, .npy, and a closing zero */

typedef struct far_zip_member {
    char name[FAR_ZIP_NAME_BYTES];
    uint64_t size, offset; /* offset: of its header in the file */
    uint32_t crc;
} far_zip_member;

/* A zip being written: set output and zip64_from, the rest to zero. */
typedef struct far_zip {
    far_output *output;
    uint64_t zip64_from; /* sizes and offsets from here on take 64-bit fields: UINT32_MAX but in
                            tests */
    uint64_t at;         /* bytes written */
    far_zip_member members[FAR_ZIP_MEMBERS];
    int count;
    bool sealed;
} far_zip;

void far_zip_put_bytes(far_zip *z, const char *name, const void *data, size_t size);
/* An array as name.npy. */
far_status far_zip_put_matrix(far_zip *z, const char *name, const far_mat *m);
/* What a zip ends with. sealed: its comment is the checksum of the file, from output->sum, which
 * must have seen all of it. */
void far_zip_finish(far_zip *z);

/* ---- notes: arrays of one text or number beside the array of an npz ---- */

#define FAR_NOTE_BYTES 65536 /* at most, of such an array */

bool far_note_is(const char *name, int64_t length);
/* Keeps the note that the array of that name holds. */
far_status far_note_take(far_input *array, const char *name, int64_t length, far_array *t);
void far_notes_free(far_array *t);
far_status far_note_put(far_zip *z, const far_note *note);

/* A zip with the array name.npy alone; zip64_from as in far_zip. */
far_status far_npz_write(far_output *o, const far_mat *m, const char *name, uint64_t zip64_from);

#endif
