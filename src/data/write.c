/* Matrices out: csv, npy, npz by the ending of the name. */
#include "data_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define NPY_HEADER_BYTES 128
#define SHAPE_BYTES 60 /* what the header has room for */
#define MAX_NAME_BYTES 255

/* ---- progress ---- */

/* Reports once in FAR_PROGRESS_BYTES or so of values; fails where writing has. */
static far_status report(const far_output *o, const far_mat *m, int64_t i)
{
    int64_t step = FAR_PROGRESS_BYTES / (8 * (m->cols + 1)) + 1;
    bool due = o->status == FAR_OK && i % step == step - 1;
    return due ? far_progress(o->ctx, "writing", i, m->rows) : o->status;
}

/* ---- csv ---- */

static double element(const void *row, far_dtype dtype, int64_t j)
{
    return dtype == FAR_F32 ? (double)((const float *)row)[j] : ((const double *)row)[j];
}

/* A number that does not exist is an empty field; in quotes where it would be an empty line. */
static int print_field(char *out, const far_mat *m, double value)
{
    if (isnan(value)) {
        memcpy(out, "\"\"", 2);
        return m->cols > 1 ? 0 : 2;
    }
    return far_number_print(out, value, m->dtype == FAR_F32 ? 9 : 17);
}

static void write_csv_row(far_output *o, const far_mat *m, int64_t i)
{
    const void *row = m->cols > 0 ? far_mat_row(m, i) : NULL;
    for (int64_t j = 0; j < m->cols; j++) {
        far_output_room(o, FAR_NUMBER_BYTES + 1);
        if (j > 0) {
            o->buffer[o->used++] = ',';
        }
        o->used += (size_t)print_field(o->buffer + o->used, m, element(row, m->dtype, j));
    }
    far_output_room(o, 1);
    o->buffer[o->used++] = '\n';
}

/* A matrix, and the array that it is in a file that knows more than two dimensions. */
typedef struct writing {
    const far_mat *m;
    const char *name;
    char shape[SHAPE_BYTES]; /* "2, 3, 5" */
    far_write_opts how;
} writing;

static writing plain_writing(const far_mat *m, const char *name)
{
    writing w = {.m = m, .name = name};
    snprintf(w.shape, sizeof w.shape, "%lld, %lld", (long long)m->rows, (long long)m->cols);
    return w;
}

static far_status write_csv(far_output *o, const writing *w)
{
    far_status st = FAR_OK;
    const far_mat *m = w->m;
    for (int64_t i = 0; i < m->rows; i++) {
        write_csv_row(o, m, i);
        FAR_TRY(report(o, m, i));
    }
done:
    return st;
}

/* ---- npy ---- */

/* Version 1.0, padded so that the values start at a multiple of 64. */
static void make_npy_header(const writing *w, char out[NPY_HEADER_BYTES])
{
    const char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    const int before = 10, length = NPY_HEADER_BYTES - before;
    memset(out, ' ', NPY_HEADER_BYTES);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)(length & 255);
    out[9] = (char)(length >> 8);
    int used = snprintf(out + before, (size_t)length,
                        "{'descr': '%cf%d', 'fortran_order': False, 'shape': (%s), }", order,
                        (int)far_dtype_size(w->m->dtype), w->shape);
    out[before + used] = ' ';
    out[NPY_HEADER_BYTES - 1] = '\n';
}

static size_t row_bytes(const far_mat *m)
{
    return (size_t)m->cols * far_dtype_size(m->dtype);
}

static far_status write_npy(far_output *o, const writing *w)
{
    far_status st = FAR_OK;
    char header[NPY_HEADER_BYTES];
    const far_mat *m = w->m;
    make_npy_header(w, header);
    far_output_put(o, header, sizeof header);
    for (int64_t i = 0; i < m->rows && m->cols > 0; i++) {
        far_output_put(o, far_mat_row(m, i), row_bytes(m));
        FAR_TRY(report(o, m, i));
    }
done:
    return st;
}

/* ---- zip: stored members, so that it streams to anything ---- */

typedef struct record {
    unsigned char bytes[128];
    size_t used;
} record;

static void add(record *r, int width, uint64_t value)
{
    for (int i = 0; i < width; i++) {
        r->bytes[r->used++] = (unsigned char)(value >> (8 * i));
    }
}

/* A field of 4 bytes; all ones send the reader to the 64-bit field. */
static void add_short(record *r, bool big, uint64_t value)
{
    add(r, 4, big ? UINT32_MAX : value);
}

static bool is_big(const far_zip *z, uint64_t value)
{
    return value >= z->zip64_from;
}

static size_t extra_bytes(bool big_size, bool big_offset)
{
    size_t fields = (big_size ? 16u : 0u) + (big_offset ? 8u : 0u);
    return fields ? fields + 4 : 0;
}

/* The fields that the local and the central header share. */
static void add_common(record *r, const far_zip *z, const far_zip_member *e, bool big_offset)
{
    bool big = is_big(z, e->size);
    add(r, 2, big || big_offset ? 45 : 20); /* version needed */
    add(r, 2, 0x800);                       /* the name is UTF-8 */
    add(r, 2, 0);                           /* stored */
    add(r, 2, 0);                           /* time */
    add(r, 2, 0x21); /* date: 1980-01-01, so that equal values give equal files */
    add(r, 4, e->crc);
    add_short(r, big, e->size); /* packed */
    add_short(r, big, e->size); /* unpacked */
    add(r, 2, strlen(e->name));
    add(r, 2, extra_bytes(big, big_offset));
}

static void put(far_zip *z, const void *data, size_t bytes)
{
    z->at += bytes;
    far_output_put(z->output, data, bytes);
}

/* The header, the name, and the 64-bit fields. */
static void put_named(far_zip *z, const far_zip_member *e, const record *r, bool big_offset)
{
    record extra = {0};
    size_t bytes = extra_bytes(is_big(z, e->size), big_offset);
    if (bytes > 0) {
        add(&extra, 2, 1); /* zip64 */
        add(&extra, 2, bytes - 4);
    }
    if (is_big(z, e->size)) {
        add(&extra, 8, e->size);
        add(&extra, 8, e->size);
    }
    if (big_offset) {
        add(&extra, 8, e->offset);
    }
    put(z, r->bytes, r->used);
    put(z, e->name, strlen(e->name));
    put(z, extra.bytes, extra.used);
}

static void put_local_header(far_zip *z, const far_zip_member *e)
{
    record r = {0};
    add(&r, 4, 0x04034b50);
    add_common(&r, z, e, false);
    put_named(z, e, &r, false);
}

static void put_central_header(far_zip *z, const far_zip_member *e)
{
    record r = {0};
    bool big_offset = is_big(z, e->offset);
    add(&r, 4, 0x02014b50);
    add(&r, 2, 3 << 8 | 45); /* made on unix */
    add_common(&r, z, e, big_offset);
    add(&r, 2, 0);                       /* comment */
    add(&r, 2, 0);                       /* disk */
    add(&r, 2, 0);                       /* internal attributes */
    add(&r, 4, (uint64_t)0100644 << 16); /* mode */
    add_short(&r, big_offset, e->offset);
    put_named(z, e, &r, big_offset);
}

static void add_zip64_end(record *r, const far_zip *z, uint64_t start, uint64_t size)
{
    add(r, 4, 0x06064b50);
    add(r, 8, 44); /* bytes that follow */
    add(r, 2, 3 << 8 | 45);
    add(r, 2, 45);
    add(r, 4, 0);
    add(r, 4, 0);
    add(r, 8, (uint64_t)z->count); /* members on this disk, in all */
    add(r, 8, (uint64_t)z->count);
    add(r, 8, size);
    add(r, 8, start);
    add(r, 4, 0x07064b50); /* where the record above is */
    add(r, 4, 0);
    add(r, 8, start + size);
    add(r, 4, 1);
}

static void put_end(far_zip *z, uint64_t start)
{
    record r = {0};
    uint64_t size = z->at - start;
    if (is_big(z, start)) {
        add_zip64_end(&r, z, start, size);
    }
    add(&r, 4, 0x06054b50);
    add(&r, 4, 0);                  /* disks */
    add(&r, 2, (uint64_t)z->count); /* members on this disk, in all */
    add(&r, 2, (uint64_t)z->count);
    add(&r, 4, size);
    add_short(&r, is_big(z, start), start);
    add(&r, 2, z->sealed ? FAR_SEAL_BYTES : 0); /* comment */
    put(z, r.bytes, r.used);
}

static void put_seal(far_zip *z)
{
    char digits[FAR_HASH_TEXT];
    put(z, FAR_SEAL_WORD, sizeof FAR_SEAL_WORD - 1);
    far_sha256_finish(z->output->sum, digits);
    z->output->sum = NULL;
    put(z, digits, FAR_HASH_DIGITS);
}

/* A member with its local header; its bytes must follow. */
static void start_member(far_zip *z, const char *name, const char *ending, uint64_t size,
                         uint32_t crc)
{
    assert(z->count < FAR_ZIP_MEMBERS);
    far_zip_member *e = &z->members[z->count++];
    snprintf(e->name, sizeof e->name, "%s%s", name, ending);
    e->size = size;
    e->offset = z->at;
    e->crc = crc;
    put_local_header(z, e);
}

void far_zip_put_bytes(far_zip *z, const char *name, const void *data, size_t size)
{
    start_member(z, name, "", size, (uint32_t)crc32_z(0, data, size));
    put(z, data, size);
}

/* The sum is wanted before the values: one pass over memory is cheap. */
static uint32_t npy_crc(const writing *w)
{
    char header[NPY_HEADER_BYTES];
    const far_mat *m = w->m;
    make_npy_header(w, header);
    uLong crc = crc32_z(0, (const Bytef *)header, sizeof header);
    for (int64_t i = 0; i < m->rows && m->cols > 0; i++) {
        crc = crc32_z(crc, far_mat_row(m, i), row_bytes(m));
    }
    return (uint32_t)crc;
}

static far_status put_array(far_zip *z, const writing *w)
{
    uint64_t size = NPY_HEADER_BYTES + (uint64_t)w->m->rows * row_bytes(w->m);
    start_member(z, w->name, ".npy", size, npy_crc(w));
    z->at += size;
    return write_npy(z->output, w);
}

far_status far_zip_put_matrix(far_zip *z, const char *name, const far_mat *m)
{
    writing w = plain_writing(m, name);
    return put_array(z, &w);
}

void far_zip_finish(far_zip *z)
{
    uint64_t start = z->at;
    for (int i = 0; i < z->count; i++) {
        put_central_header(z, &z->members[i]);
    }
    put_end(z, start);
    if (z->sealed) {
        put_seal(z);
    }
}

/* ---- npz: a zip with one array, and notes on it ---- */

static far_status write_zip(far_output *o, const writing *array, uint64_t zip64_from)
{
    far_status st;
    far_zip z = {.output = o, .zip64_from = zip64_from};
    writing w = *array;
    w.name = w.name ? w.name : "arr_0";
    size_t length = strlen(w.name);
    if (length == 0 || length > MAX_NAME_BYTES) {
        return far_fail(o->ctx, FAR_ERR_ARG, "%s: the array's name has %zu bytes, not 1 to %d",
                        o->label, length, MAX_NAME_BYTES);
    }
    FAR_TRY(put_array(&z, &w));
    for (int64_t i = 0; i < w.how.note_count; i++) {
        FAR_TRY(far_note_put(&z, &w.how.notes[i]));
    }
    far_zip_finish(&z);
done:
    return st;
}

far_status far_npz_write(far_output *o, const far_mat *m, const char *name, uint64_t zip64_from)
{
    writing w = plain_writing(m, name);
    return write_zip(o, &w, zip64_from);
}

static far_status write_npz(far_output *o, const writing *w)
{
    return write_zip(o, w, UINT32_MAX);
}

/* ---- the guard ---- */

/* An overflow that nothing refused before must not look like a result. */
static far_status refuse_value(const far_output *o, const writing *w, double value, int64_t i,
                               int64_t j)
{
    const char *range = w->m->dtype == FAR_F32 ? "too large for float32" : "too large for float64";
    return far_fail(o->ctx, FAR_ERR_VALUE,
                    "%s%srow %lld, column %lld of %s is %s, so nothing was written; scale the "
                    "data, or look for what overflows",
                    o->stream ? "" : o->label, o->stream ? "" : ": ", (long long)i + 1,
                    (long long)j + 1, w->name ? w->name : "the matrix",
                    isnan(value) ? "not a number" : range);
}

static far_status check_finite(const far_output *o, const writing *w)
{
    const far_mat *m = w->m;
    for (int64_t i = 0; i < m->rows && m->cols > 0 && !w->how.gaps; i++) {
        const void *row = far_mat_row(m, i);
        for (int64_t j = 0; j < m->cols; j++) {
            double value = element(row, m->dtype, j);
            if (!isfinite(value)) {
                return refuse_value(o, w, value, i, j);
            }
        }
    }
    return FAR_OK;
}

/* ---- by name ---- */

typedef struct format {
    const char *ending;
    bool gzip;
    far_status (*write)(far_output *o, const writing *w);
} format;

static const format *find_format(const char *path)
{
    static const format formats[] = {{".npy", false, write_npy},
                                     {".npz", false, write_npz},
                                     {".csv", false, write_csv},
                                     {".csv.gz", true, write_csv}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t ending = strlen(formats[i].ending);
        if (length > ending && strcasecmp(path + length - ending, formats[i].ending) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

static far_status fail_ending(far_ctx *ctx, const char *path)
{
    char label[FAR_LABEL_BYTES];
    far_show(label, sizeof label, path, (int64_t)strlen(path));
    return far_fail(ctx, FAR_ERR_ARG, "%s: the name must end in .npy, .npz, .csv or .csv.gz",
                    label);
}

static far_status write_file(far_ctx *ctx, const writing *w, const char *path)
{
    far_status st;
    far_output o = {.fd = -1};
    if (!path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
    const format *f = find_format(path);
    if (!f) {
        return fail_ending(ctx, path);
    }
    FAR_TRY(far_output_open(ctx, path, f->gzip, &o));
    FAR_TRY(check_finite(&o, w));
    FAR_TRY(f->write(&o, w));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return o.ctx ? far_label_failure(ctx, st, o.label) : st;
}

static far_status write_stream(far_ctx *ctx, const writing *w, FILE *file)
{
    far_status st;
    far_output o = {.fd = -1};
    if (!file) {
        return far_fail(ctx, FAR_ERR_ARG, "the stream is NULL");
    }
    FAR_TRY(far_output_open_stream(ctx, file, &o));
    FAR_TRY(check_finite(&o, w));
    FAR_TRY(write_csv(&o, w));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return st;
}

static far_status describe_shape(far_ctx *ctx, const int64_t *shape, int dims, writing *w)
{
    int64_t left = w->m->rows * w->m->cols;
    size_t used = 0;
    for (int i = 0; i < dims && used < sizeof w->shape; i++) {
        used += (size_t)snprintf(w->shape + used, sizeof w->shape - used, "%s%lld", i ? ", " : "",
                                 (long long)shape[i]);
        left = shape[i] > 0 && left % shape[i] == 0 ? left / shape[i] : -1;
    }
    if (dims < 2 || used >= sizeof w->shape || left != 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "the matrix is %lld x %lld, not (%s)",
                        (long long)w->m->rows, (long long)w->m->cols, w->shape);
    }
    return FAR_OK;
}

static far_status check_notes(far_ctx *ctx, const far_note *notes, int64_t count)
{
    if (count < 0 || count > FAR_NOTES || (count > 0 && !notes)) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld notes; at most %d go with an array",
                        (long long)count, FAR_NOTES);
    }
    for (int64_t i = 0; i < count; i++) {
        size_t length = notes[i].name ? strlen(notes[i].name) : 0;
        if (length == 0 || length > FAR_NOTE_NAME || (notes[i].text && !*notes[i].text)) {
            return far_fail(ctx, FAR_ERR_ARG,
                            "note %lld: a name of 1 to %d bytes is needed, and a text that is not "
                            "empty",
                            (long long)i + 1, FAR_NOTE_NAME);
        }
    }
    return FAR_OK;
}

far_status far_mat_write(far_ctx *ctx, const far_mat *m, const far_write_opts *opts,
                         const char *path)
{
    far_status st = far_mat_check(ctx, m, "the matrix");
    if (st != FAR_OK) {
        return st;
    }
    writing w = plain_writing(m, opts ? opts->name : NULL);
    w.how = opts ? *opts : (far_write_opts){0};
    if (w.how.dims != 0) {
        FAR_TRY(describe_shape(ctx, w.how.shape, w.how.dims, &w));
    }
    FAR_TRY(check_notes(ctx, w.how.notes, w.how.note_count));
    FAR_TRY(path || !opts ? write_file(ctx, &w, path) : write_stream(ctx, &w, w.how.stream));
done:
    return st;
}
