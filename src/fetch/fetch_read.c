/* Data sets as tables: csv with and without names, numbers between blanks, images with labels. */
#include "../data/frame_internal.h"
#include "fetch_internal.h"

#include <ctype.h>
#include <string.h>

#define CIFAR_PIXELS (3 * 32 * 32)

typedef struct reading {
    far_ctx *ctx;
    const far_dataset_entry *set;
    char folder[FAR_PATH_BYTES];
    far_input files[FAR_SET_FILES];
    int count;
} reading;

/* ---- files ---- */

static far_status load_file(reading *r, const char *name)
{
    char path[FAR_PATH_BYTES];
    if (!far_path_find(r->folder, name, path)) {
        return far_fail(r->ctx, FAR_ERR_IO,
                        "%s: this data set is not in %s; 'farfield data get %s' downloads it",
                        r->set->about.name, r->folder, r->set->about.name);
    }
    far_input *in = &r->files[r->count++];
    far_status st = far_input_load(r->ctx, path, in);
    return st == FAR_OK ? far_input_unpack(in) : st;
}

static far_status load_files(reading *r, const char *folder)
{
    far_status st;
    char root[FAR_PATH_BYTES];
    FAR_TRY(far_dataset_folder(r->ctx, folder, root, sizeof root));
    FAR_TRY(far_path_join(r->ctx, root, r->set->folder, r->folder));
    for (int i = 0; i < FAR_SET_FILES && r->set->files[i]; i++) {
        FAR_TRY(load_file(r, r->set->files[i]));
    }
done:
    return st;
}

/* ---- text ---- */

/* "p1,p2,...,label" where the names are not written out. */
static void add_names(const far_dataset_entry *set, far_text *t)
{
    for (int64_t j = 1; !set->columns && j < set->about.cols; j++) {
        far_text_add(t, "p%lld,", (long long)j);
    }
    far_text_add(t, "%s\n", set->columns ? set->columns : "label");
}

static bool is_row(const unsigned char *line, const unsigned char *end)
{
    while (line < end && (*line == ' ' || *line == '\t')) {
        line++;
    }
    return line < end && (isdigit(*line) || memchr("+-.", *line, 3));
}

static const unsigned char *line_end(const unsigned char *line, const unsigned char *end)
{
    const unsigned char *feed = memchr(line, '\n', (size_t)(end - line));
    return feed ? feed : end;
}

/* A line with commas for the blanks between its fields, and nothing for a blank line. out has room
 * for a byte more than the line. */
static void put_line(far_input *out, const unsigned char *line, const unsigned char *end)
{
    unsigned char *to = out->data + out->size, *start = to;
    for (; line < end; line++) {
        if (!isspace(*line)) {
            *to++ = *line;
        } else if (to > start && to[-1] != ',') {
            *to++ = ',';
        }
    }
    to -= to > start && to[-1] == ',';
    if (to > start) {
        *to++ = '\n';
    }
    out->size = to - out->data;
}

static void put_rows(far_input *out, const far_input *in, bool blanks)
{
    const unsigned char *line = in->data, *end = in->data + in->size;
    if (!is_row(line, end)) { /* some editions have names of their own */
        line = line_end(line, end);
    }
    for (; blanks && line < end; line++) {
        const unsigned char *stop = line_end(line, end);
        put_line(out, line, stop);
        line = stop;
    }
    if (line < end) {
        memcpy(out->data + out->size, line, (size_t)(end - line));
        out->size += end - line;
    }
    out->data[out->size] = 0;
}

/* The file as csv with our names. */
static far_status add_header(const reading *r, far_input *out)
{
    far_status st;
    const far_input *in = &r->files[0];
    far_text names = {.ctx = r->ctx};
    memcpy(out->label, in->label, sizeof out->label);
    add_names(r->set, &names);
    FAR_TRY(names.status);
    FAR_TRY(far_input_reserve(out, names.length + in->size + 1));
    memcpy(out->data, names.data, (size_t)names.length);
    out->size = names.length;
    put_rows(out, in, r->set->form == FAR_FORM_BLANKS);
done:
    far_free(r->ctx, names.data);
    return st;
}

static far_status read_text(reading *r, far_frame **out)
{
    if (r->set->form == FAR_FORM_CSV) {
        return far_frame_read_csv(&r->files[0], NULL, out);
    }
    far_input table = {.ctx = r->ctx};
    far_status st = add_header(r, &table);
    if (st == FAR_OK) {
        st = far_frame_read_csv(&table, NULL, out);
    }
    far_input_clear(&table);
    return st;
}

/* ---- images ---- */

static far_status make_frame(const reading *r, int64_t images, int64_t pixels, far_frame **out)
{
    far_status st;
    char name[24];
    far_frame *f = NULL;
    FAR_TRY(far_frame_create(r->ctx, r->files[0].label, pixels + 1, &f));
    for (int64_t j = 1; j <= pixels; j++) {
        snprintf(name, sizeof name, "p%lld", (long long)j);
        FAR_TRY(far_frame_add_name(f, name));
    }
    FAR_TRY(far_frame_add_name(f, "label"));
    int64_t values = images * (pixels + 1); /* as many as there are bytes */
    FAR_TRY(far_budget_check(r->ctx, r->set->about.name, 8 * (double)values, 0));
    FAR_TRY(far_alloc(r->ctx, values, &f->block));
    f->rows = images;
    for (int64_t j = 0; j <= pixels; j++) {
        f->columns[j].numbers = f->block + j * images;
    }
done:
    FAR_HAND_OVER(f, out, far_frame_destroy);
    return st;
}

/* Column j of count images from row first on: bytes that lie stride apart. */
static void put_column(far_frame *f, int64_t j, int64_t first, const unsigned char *bytes,
                       int64_t stride, int64_t count)
{
    double *to = f->columns[j].numbers + first;
    for (int64_t i = 0; i < count; i++) {
        to[i] = bytes[i * stride];
    }
}

static far_status check_idx(const reading *r, const far_stored *images, const far_stored *labels)
{
    if (labels->cols != 1 || labels->rows != images->rows) {
        return far_input_fail(
            &r->files[1], FAR_ERR_SHAPE, "holds %lld x %lld labels for the %lld images beside it",
            (long long)labels->rows, (long long)labels->cols, (long long)images->rows);
    }
    return FAR_OK;
}

static far_status read_idx(const reading *r, far_frame **out)
{
    far_status st;
    far_stored images, labels;
    far_frame *f = NULL;
    FAR_TRY(far_idx_open(&r->files[0], &images));
    FAR_TRY(far_idx_open(&r->files[1], &labels));
    FAR_TRY(check_idx(r, &images, &labels));
    FAR_TRY(make_frame(r, images.rows, images.cols, &f));
    far_stored_numbers(&images, f->columns[0].numbers, 1, images.rows);
    far_stored_numbers(&labels, f->columns[images.cols].numbers, 1, 1);
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

/* A record is the label and the pixels. */
static far_status count_records(const reading *r, int64_t *total)
{
    *total = 0;
    for (int k = 0; k < r->count; k++) {
        const far_input *in = &r->files[k];
        if (in->size == 0 || in->size % (CIFAR_PIXELS + 1) != 0) {
            return far_input_fail(in, FAR_ERR_FORMAT,
                                  "has %lld bytes, which are no whole images of %d each",
                                  (long long)in->size, CIFAR_PIXELS + 1);
        }
        *total += in->size / (CIFAR_PIXELS + 1);
    }
    return FAR_OK;
}

static far_status read_cifar(const reading *r, far_frame **out)
{
    far_status st;
    far_frame *f = NULL;
    const int64_t record = CIFAR_PIXELS + 1;
    int64_t images, first = 0;
    FAR_TRY(count_records(r, &images));
    FAR_TRY(make_frame(r, images, CIFAR_PIXELS, &f));
    for (int k = 0; k < r->count; k++) {
        const unsigned char *data = r->files[k].data;
        int64_t count = r->files[k].size / record;
        for (int64_t j = 0; j < CIFAR_PIXELS; j++) {
            put_column(f, j, first, data + 1 + j, record, count);
        }
        put_column(f, CIFAR_PIXELS, first, data, record, count);
        first += count;
    }
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

/* ---- any data set ---- */

static far_status read_table(reading *r, far_frame **out)
{
    switch (r->set->form) {
    case FAR_FORM_IDX:
        return read_idx(r, out);
    case FAR_FORM_CIFAR:
        return read_cifar(r, out);
    default:
        return read_text(r, out);
    }
}

far_status far_dataset_read(far_ctx *ctx, const far_dataset *set, const char *folder,
                            far_frame **out)
{
    if (!ctx || !set || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", !set ? "set" : "out");
    }
    far_status st;
    reading *r = NULL;
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &r));
    r->ctx = ctx;
    r->set = far_dataset_entry_of(set);
    FAR_TRY(load_files(r, folder));
    FAR_TRY(read_table(r, out));
done:
    for (int i = 0; r && i < r->count; i++) {
        far_input_clear(&r->files[i]);
    }
    far_free(ctx, r);
    return far_label_failure(ctx, st, set->name);
}
