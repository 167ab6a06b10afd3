/* Matrices out: csv, npy, npz by the ending of the name. */
#include "data_internal.h"

#include <string.h>
#include <strings.h>

#define NPY_HEADER_BYTES 128
#define MAX_NAME_BYTES 255

/* ---- progress ---- */

/* Reports once in FAR_PROGRESS_BYTES or so of values. */
static far_status report(const far_output *o, const far_mat *m, int64_t i)
{
    int64_t step = FAR_PROGRESS_BYTES / (8 * (m->cols + 1)) + 1;
    return i % step == step - 1 ? far_progress(o->ctx, "writing", i, m->rows) : FAR_OK;
}

/* ---- csv ---- */

static double element(const void *row, int32_t dtype, int64_t j)
{
    return dtype == FAR_F32 ? (double)((const float *)row)[j] : ((const double *)row)[j];
}

static far_status write_csv_row(far_output *o, const far_mat *m, int64_t i)
{
    far_status st;
    int digits = m->dtype == FAR_F32 ? 9 : 17;
    const void *row = m->cols > 0 ? far_mat_row(m, i) : NULL;
    for (int64_t j = 0; j < m->cols; j++) {
        FAR_TRY(far_output_room(o, FAR_NUMBER_BYTES + 1));
        if (j > 0) {
            o->buffer[o->used++] = ',';
        }
        o->used += (size_t)far_number_print(o->buffer + o->used, element(row, m->dtype, j), digits);
    }
    FAR_TRY(far_output_room(o, 1));
    o->buffer[o->used++] = '\n';
done:
    return st;
}

static far_status write_csv(far_output *o, const far_mat *m, const char *name)
{
    far_status st = FAR_OK;
    (void)name;
    for (int64_t i = 0; i < m->rows; i++) {
        FAR_TRY(write_csv_row(o, m, i));
        FAR_TRY(report(o, m, i));
    }
done:
    return st;
}

/* ---- npy ---- */

/* Version 1.0, padded so that the values start at a multiple of 64. */
static void make_npy_header(const far_mat *m, char out[NPY_HEADER_BYTES])
{
    const char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    const int before = 10, length = NPY_HEADER_BYTES - before;
    memset(out, ' ', NPY_HEADER_BYTES);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)(length & 255);
    out[9] = (char)(length >> 8);
    int used =
        snprintf(out + before, (size_t)length,
                 "{'descr': '%cf%d', 'fortran_order': False, 'shape': (%lld, %lld), }", order,
                 (int)far_dtype_size(m->dtype), (long long)m->rows, (long long)m->cols);
    out[before + used] = ' ';
    out[NPY_HEADER_BYTES - 1] = '\n';
}

static size_t row_bytes(const far_mat *m)
{
    return (size_t)m->cols * far_dtype_size(m->dtype);
}

static far_status write_npy(far_output *o, const far_mat *m, const char *name)
{
    far_status st;
    char header[NPY_HEADER_BYTES];
    (void)name;
    make_npy_header(m, header);
    FAR_TRY(far_output_put(o, header, sizeof header));
    for (int64_t i = 0; i < m->rows && m->cols > 0; i++) {
        FAR_TRY(far_output_put(o, far_mat_row(m, i), row_bytes(m)));
        FAR_TRY(report(o, m, i));
    }
done:
    return st;
}

/* ---- npz: a zip with one stored member, so that it streams to anything ---- */

typedef struct zip_entry {
    const char *name;
    size_t name_length; /* with .npy */
    uint64_t size;
    uint32_t crc;
    bool big; /* the size needs 64-bit fields */
} zip_entry;

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

/* The sum is wanted before the values: one pass over memory is cheap. */
static uint32_t npy_crc(const far_mat *m)
{
    char header[NPY_HEADER_BYTES];
    make_npy_header(m, header);
    uLong crc = crc32_z(0, (const Bytef *)header, sizeof header);
    for (int64_t i = 0; i < m->rows && m->cols > 0; i++) {
        crc = crc32_z(crc, far_mat_row(m, i), row_bytes(m));
    }
    return (uint32_t)crc;
}

/* The fields that the local and the central header share, up to the two lengths. */
static void add_common(record *r, const zip_entry *e)
{
    uint64_t shown = e->big ? UINT32_MAX : e->size;
    add(r, 2, e->big ? 45 : 20); /* version needed */
    add(r, 2, 0x800);            /* the name is UTF-8 */
    add(r, 2, 0);                /* stored */
    add(r, 2, 0);                /* time */
    add(r, 2, 0x21);             /* date: 1980-01-01, so that equal values give equal files */
    add(r, 4, e->crc);
    add(r, 4, shown); /* packed */
    add(r, 4, shown); /* unpacked */
    add(r, 2, e->name_length);
    add(r, 2, e->big ? 20 : 0); /* extra fields */
}

static far_status put_named(far_output *o, const zip_entry *e, const record *r)
{
    far_status st;
    record extra = {0};
    FAR_TRY(far_output_put(o, r->bytes, r->used));
    FAR_TRY(far_output_put(o, e->name, e->name_length - 4));
    FAR_TRY(far_output_put(o, ".npy", 4));
    if (e->big) {
        add(&extra, 2, 1); /* zip64 */
        add(&extra, 2, 16);
        add(&extra, 8, e->size);
        add(&extra, 8, e->size);
    }
    FAR_TRY(far_output_put(o, extra.bytes, extra.used));
done:
    return st;
}

static size_t header_bytes(const zip_entry *e, size_t fixed)
{
    return fixed + e->name_length + (e->big ? 20 : 0);
}

static far_status put_local_header(far_output *o, const zip_entry *e)
{
    record r = {0};
    add(&r, 4, 0x04034b50);
    add_common(&r, e);
    return put_named(o, e, &r);
}

static far_status put_central_header(far_output *o, const zip_entry *e)
{
    record r = {0};
    add(&r, 4, 0x02014b50);
    add(&r, 2, 3 << 8 | 45); /* made on unix */
    add_common(&r, e);
    add(&r, 2, 0);                       /* comment */
    add(&r, 2, 0);                       /* disk */
    add(&r, 2, 0);                       /* internal attributes */
    add(&r, 4, (uint64_t)0100644 << 16); /* mode */
    add(&r, 4, 0);                       /* the local header is at the start */
    return put_named(o, e, &r);
}

static void add_zip64_end(record *r, uint64_t start, uint64_t size)
{
    add(r, 4, 0x06064b50);
    add(r, 8, 44); /* bytes that follow */
    add(r, 2, 3 << 8 | 45);
    add(r, 2, 45);
    add(r, 4, 0);
    add(r, 4, 0);
    add(r, 8, 1); /* members on this disk, in all */
    add(r, 8, 1);
    add(r, 8, size);
    add(r, 8, start);
    add(r, 4, 0x07064b50); /* where the record above is */
    add(r, 4, 0);
    add(r, 8, start + size);
    add(r, 4, 1);
}

static far_status put_end(far_output *o, const zip_entry *e)
{
    record r = {0};
    uint64_t start = header_bytes(e, 30) + e->size, size = header_bytes(e, 46);
    if (e->big) {
        add_zip64_end(&r, start, size);
    }
    add(&r, 4, 0x06054b50);
    add(&r, 4, 0); /* disks */
    add(&r, 2, 1); /* members on this disk, in all */
    add(&r, 2, 1);
    add(&r, 4, size);
    add(&r, 4, e->big ? UINT32_MAX : start);
    add(&r, 2, 0); /* comment */
    return far_output_put(o, r.bytes, r.used);
}

far_status far_npz_write(far_output *o, const far_mat *m, const char *name, uint64_t zip64_from)
{
    far_status st;
    name = name ? name : "arr_0";
    size_t length = strlen(name);
    if (length == 0 || length > MAX_NAME_BYTES) {
        return far_fail(o->ctx, FAR_ERR_ARG, "%s: the array's name has %zu bytes, not 1 to %d",
                        o->label, length, MAX_NAME_BYTES);
    }
    zip_entry e = {.name = name, .name_length = length + 4, .crc = npy_crc(m)};
    e.size = NPY_HEADER_BYTES + (uint64_t)m->rows * row_bytes(m);
    e.big = e.size + header_bytes(&e, 30) >= zip64_from;
    FAR_TRY(put_local_header(o, &e));
    FAR_TRY(write_npy(o, m, name));
    FAR_TRY(put_central_header(o, &e));
    FAR_TRY(put_end(o, &e));
done:
    return st;
}

static far_status write_npz(far_output *o, const far_mat *m, const char *name)
{
    return far_npz_write(o, m, name, UINT32_MAX);
}

/* ---- by name ---- */

typedef struct format {
    const char *ending;
    bool gzip;
    far_status (*write)(far_output *o, const far_mat *m, const char *name);
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

far_status far_mat_write(far_ctx *ctx, const far_mat *m, const char *name, const char *path)
{
    far_status st;
    far_output o = {.fd = -1};
    FAR_TRY(far_mat_check(ctx, m, "the matrix"));
    if (!path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
    const format *f = find_format(path);
    if (!f) {
        return fail_ending(ctx, path);
    }
    FAR_TRY(far_output_open(ctx, path, f->gzip, &o));
    FAR_TRY(f->write(&o, m, name));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return o.ctx ? far_label_failure(ctx, st, o.label) : st;
}

far_status far_mat_write_csv(far_ctx *ctx, const far_mat *m, void *file)
{
    far_status st;
    far_output o = {.fd = -1};
    FAR_TRY(far_mat_check(ctx, m, "the matrix"));
    if (!file) {
        return far_fail(ctx, FAR_ERR_ARG, "the stream is NULL");
    }
    FAR_TRY(far_output_open_stream(ctx, file, &o));
    FAR_TRY(write_csv(&o, m, NULL));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return st;
}
