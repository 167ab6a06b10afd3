/* Shared inside src/data: bytes in, bytes out, numbers as text, and the parsers of each format. */
#ifndef FAR_DATA_INTERNAL_H
#define FAR_DATA_INTERNAL_H

#include "../base/base_internal.h"

#include <farfield/data.h>
#include <stdio.h>
#include <zlib.h>

#define FAR_LABEL_BYTES 512
#define FAR_PROGRESS_BYTES ((int64_t)16 << 20) /* report progress about this often */

struct far_table {
    far_ctx *ctx;
    void *block;    /* what the values lie in: far_free this */
    double *values; /* rows * cols, packed */
    int64_t rows, cols;
    char **names; /* cols of them, into name_text; NULL without a header */
    char *name_text;
};

/* "column 3 (F2)", or "column 3" without a header. j is 0-based. */
void far_table_column_label(const far_table *t, int64_t j, char *out, size_t capacity);

/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_table_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_table **out);

/* ---- text for messages ---- */

/* A printable, bounded, one-line copy of any bytes: "..." ends it if it had to be cut. */
void far_show(char *out, size_t capacity, const char *text, int64_t length);
/* The path as messages show it. */
void far_show_path(char *out, size_t capacity, const char *path);
/* "no such file", "permission denied". */
const char *far_errno_text(int error, char *buffer, size_t capacity);
/* "s" unless n is 1. */
const char *far_plural(int64_t n);
/* Puts the label before the message of an allocation that failed; returns status. */
far_status far_label_failure(far_ctx *ctx, far_status status, const char *label);

/* ---- input ---- */

/* A file's bytes in memory. Zero-initialise; clear when done. */
typedef struct far_input {
    far_ctx *ctx;
    char label[FAR_LABEL_BYTES]; /* the path; every message starts with it */
    unsigned char *data;         /* size bytes and a closing zero */
    int64_t size, capacity;
} far_input;

far_status far_input_load(far_ctx *ctx, const char *path, far_input *in);
/* Room for bytes in all (and the closing zero), keeping what is there; refuses more than the
 * machine's memory. */
far_status far_input_reserve(far_input *in, int64_t bytes);
bool far_input_is_gzip(const far_input *in);
/* Replaces gzip bytes by what they hold. */
far_status far_input_gunzip(far_input *in);
void far_input_clear(far_input *in);
__attribute__((format(printf, 3, 4))) far_status
far_input_fail(const far_input *in, far_status status, const char *format, ...);

/* ---- formats: fill an empty table from an input, which they may consume ---- */

far_status far_csv_parse(far_input *in, far_table *t);
bool far_npy_is(const far_input *in);
far_status far_npy_parse(far_input *in, far_table *t);
bool far_npz_is(const far_input *in);
far_status far_npz_parse(far_input *in, const char *member, far_table *t);

/* ---- numbers as text, whatever the locale ---- */

/* Reads a decimal number, nan or inf at text, correctly rounded. Returns where it ends, or NULL if
 * there is none. The text must end in a zero somewhere. */
const char *far_number_parse(const char *text, double *out);
/* Writes what printf("%.*g", digits, value) does, digits 9 or 17; nan has no sign. Returns the
 * length; out holds FAR_NUMBER_BYTES and gets no closing zero. */
#define FAR_NUMBER_BYTES 32
int far_number_print(char *out, double value, int digits);

/* ---- output ---- */

/* A file being written: under a temporary name, or straight into a device, pipe or stream. */
typedef struct far_output {
    far_ctx *ctx;
    char label[FAR_LABEL_BYTES];
    char *target, *temporary; /* NULL when writing straight */
    int fd;                   /* -1: none */
    FILE *stream;             /* the caller's; NULL: fd */
    char *buffer;
    size_t used;
    z_stream *gzip; /* NULL: plain */
    unsigned char *packed;
} far_output;

far_status far_output_open(far_ctx *ctx, const char *path, bool gzip, far_output *o);
far_status far_output_open_stream(far_ctx *ctx, FILE *stream, far_output *o);
far_status far_output_put(far_output *o, const void *data, size_t bytes);
/* Room for this many bytes (at most FAR_NUMBER_BYTES) at buffer + used. */
far_status far_output_room(far_output *o, size_t bytes);
/* Everything written and, for a file, renamed to its own name. */
far_status far_output_commit(far_output *o);
/* Frees; removes what was not committed. */
void far_output_close(far_output *o);

/* Memory for zlib from the context: zalloc, zfree, opaque = ctx. */
void far_zlib_memory(far_ctx *ctx, z_stream *z);

/* Array name.npy in a stored zip. Sizes from zip64_from on take 64-bit fields (UINT32_MAX but in
 * tests). */
far_status far_npz_write(far_output *o, const far_mat *m, const char *name, uint64_t zip64_from);

#endif
