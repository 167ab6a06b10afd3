/* Model files: a zip with the manifest and the arrays x, y, alpha, alpha_low and, where there is a
 * metric, map; its comment is the
 * checksum of all that is before it. */
#include "model_file.h"

#include <math.h>
#include <string.h>

#define MANIFEST "manifest.json"
#define MANIFEST_SLACK ((int64_t)1 << 20) /* how much longer than the file it may be, unpacked */

/* ---- writing ---- */

static far_status put_array(far_zip *z, const char *name, const double *values, int64_t rows,
                            int64_t cols)
{
    far_mat view = far_mat_view((void *)values, rows, cols, FAR_F64);
    return far_zip_put_matrix(z, name, &view);
}

#define IMPORTANCE "importance"

/* The columns of the metric's map; 0: there is none. */
static int64_t map_columns(const far_model *m)
{
    return m->metric.kind == FAR_METRIC_NONE   ? 0
           : m->metric.kind == FAR_METRIC_FULL ? m->info.inputs
                                               : 1;
}

far_status far_model_write(const far_model *m, far_output *o)
{
    far_status st;
    far_text manifest = {.ctx = o->ctx};
    far_zip z = {.output = o, .zip64_from = UINT32_MAX, .sealed = true};
    far_sha256 sum;
    int64_t n = m->info.rows, p = m->info.outputs;
    far_sha256_init(&sum);
    o->sum = &sum;
    FAR_TRY(far_manifest_write(m, &manifest));
    far_zip_put_bytes(&z, MANIFEST, manifest.data, (size_t)manifest.length);
    FAR_TRY(put_array(&z, "x", m->x, n, m->info.inputs));
    FAR_TRY(put_array(&z, "y", m->y, n, p));
    FAR_TRY(put_array(&z, "alpha", m->alpha, n, p));
    FAR_TRY(put_array(&z, "alpha_low", m->alpha_low, n, p));
    if (m->metric.kind != FAR_METRIC_NONE) {
        FAR_TRY(put_array(&z, "map", m->metric.map, m->info.inputs, map_columns(m)));
    }
    if (m->facts.importance) {
        FAR_TRY(put_array(&z, IMPORTANCE, m->facts.importance, m->info.inputs, 1));
    }
    far_zip_finish(&z);
done:
    o->sum = NULL;
    far_free(o->ctx, manifest.data);
    return st;
}

static far_status write_model(const void *model, far_output *o)
{
    return far_model_write(model, o);
}

far_status far_model_save(far_ctx *ctx, const far_model *m, const char *path)
{
    return ctx && m ? far_output_save(ctx, path, m, write_model)
                    : far_fail(ctx, FAR_ERR_ARG, "the model is NULL");
}

/* ---- reading ---- */

/* "PATH: array x: ..." becomes "PATH: is truncated or damaged: array x: ...". */
static far_status call_damaged(const far_input *in, far_status status)
{
    char text[1024];
    size_t length = strlen(in->label);
    const char *message = far_ctx_message(in->ctx);
    if (status != FAR_ERR_FORMAT) {
        return status;
    }
    bool labelled = strncmp(message, in->label, length) == 0 && message[length] == ':';
    snprintf(text, sizeof text, "%s", labelled ? message + length + 2 : message);
    return far_input_fail(in, status, "is truncated or damaged: %s", text);
}

/* Whatever is wrong with a metric, the file is. */
static far_status call_forged(const far_input *in, far_status status)
{
    char text[512];
    if (status != FAR_ERR_RANGE && status != FAR_ERR_FORMAT) {
        return status;
    }
    snprintf(text, sizeof text, "%s", far_ctx_message(in->ctx));
    return far_input_fail(in, FAR_ERR_FORMAT, "map: %s", text);
}

static far_status check_zip(const far_input *in)
{
    if (in->size == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is not a farfield model (it is empty)");
    }
    if (!far_npz_is(in)) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is not a farfield model (those are zip files, with a " MANIFEST ")");
    }
    return FAR_OK;
}

/* The member whose own sum (CRC-32) shows the damage; NULL: it is between them. */
static const char *damaged_member(const far_input *in)
{
    static const char *const members[] = {MANIFEST,        "x.npy",   "y.npy",          "alpha.npy",
                                          "alpha_low.npy", "map.npy", IMPORTANCE ".npy"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        far_input bytes = {.ctx = in->ctx};
        far_status st = far_zip_extract(in, members[i], INT64_MAX, &bytes);
        bool whole = st == FAR_OK && bytes.data;
        far_input_clear(&bytes);
        if (!whole) {
            return members[i];
        }
    }
    return NULL;
}

static far_status check_seal(const far_input *in, far_model *m)
{
    m->info.sealed = far_seal_is(in);
    if (!m->info.sealed || far_seal_holds(in)) {
        return FAR_OK;
    }
    const char *member = damaged_member(in);
    return far_input_fail(in, FAR_ERR_FORMAT,
                          "%s%sdoes not match its checksum: the file is damaged; take another "
                          "copy, or fit again",
                          member ? member : "", member ? " " : "");
}

static far_status read_manifest(const far_input *in, far_model *m)
{
    far_input manifest = {.ctx = in->ctx};
    int64_t most = in->size + MANIFEST_SLACK;
    far_status st = call_damaged(in, far_zip_extract(in, MANIFEST, most, &manifest));
    if (st == FAR_OK && !manifest.data) {
        st = far_input_fail(in, FAR_ERR_FORMAT, "is not a farfield model (no " MANIFEST ")");
    }
    if (st == FAR_OK) {
        memcpy(manifest.label, in->label, sizeof manifest.label);
        st = far_manifest_read(&manifest, m);
    }
    far_input_clear(&manifest);
    return st;
}

static far_status check_shape(const far_input *in, const char *name, const far_stored *a,
                              int64_t rows, int64_t cols)
{
    if (a->rows != rows || a->cols != cols) {
        bool down = a->rows != rows;
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "manifest: \"%s\" has %lld %s where %lld were announced", name,
                              (long long)(down ? a->rows : a->cols), down ? "rows" : "columns",
                              (long long)(down ? rows : cols));
    }
    return FAR_OK;
}

/* Its header, checked: what the file holds is as long as that says. */
static far_status open_array(far_input *array, far_stored *out)
{
    far_status st;
    if (!far_npy_is(array)) {
        return far_input_fail(array, FAR_ERR_FORMAT, "is not in npy format");
    }
    FAR_TRY(far_npy_open(array, false, out));
    FAR_TRY(far_stored_check(array, out));
    if (out->kind != 'f' || out->size != sizeof(double)) {
        return far_input_fail(array, FAR_ERR_FORMAT, "does not hold float64");
    }
done:
    return st;
}

static far_status check_finite(const far_input *array, const double *values, int64_t rows,
                               int64_t cols)
{
    for (int64_t i = 0; i < rows * cols; i++) {
        if (!isfinite(values[i])) {
            return far_input_fail(array, FAR_ERR_FORMAT,
                                  "row %lld, column %lld is not a finite number",
                                  (long long)(i / cols + 1), (long long)(i % cols + 1));
        }
    }
    return FAR_OK;
}

static far_status read_array(const far_input *in, const char *name, int64_t rows, int64_t cols,
                             double **out)
{
    far_status st;
    char file[32];
    far_stored a;
    far_input array = {.ctx = in->ctx};
    snprintf(file, sizeof file, "%s.npy", name);
    FAR_TRY(call_damaged(in, far_zip_extract(in, file, INT64_MAX, &array)));
    if (!array.data) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is truncated or damaged: it has no %s", file);
    }
    FAR_TRY(call_damaged(in, open_array(&array, &a)));
    FAR_TRY(check_shape(in, name, &a, rows, cols));
    FAR_TRY(far_alloc(in->ctx, rows * cols, out));
    far_stored_numbers(&a, *out, cols, 1);
    FAR_TRY(call_damaged(in, check_finite(&array, *out, rows, cols)));
done:
    far_input_clear(&array);
    return st;
}

static far_status check_importance(const far_input *in, const far_model *m)
{
    for (int64_t j = 0; j < m->info.inputs; j++) {
        if (!(m->facts.importance[j] >= 0 && m->facts.importance[j] <= 1)) {
            return far_input_fail(in, FAR_ERR_FORMAT, IMPORTANCE ": input %lld has %g, no share",
                                  (long long)j + 1, m->facts.importance[j]);
        }
    }
    return FAR_OK;
}

/* Older files have none: it takes many values of the kernel to find. */
static far_status read_importance(const far_input *in, far_model *m)
{
    far_status st;
    far_input array = {.ctx = in->ctx};
    FAR_TRY(call_damaged(in, far_zip_extract(in, IMPORTANCE ".npy", INT64_MAX, &array)));
    if (array.data) {
        FAR_TRY(read_array(in, IMPORTANCE, m->info.inputs, 1, &m->facts.importance));
        FAR_TRY(check_importance(in, m));
    } else {
        FAR_TRY(call_forged(in, far_model_weigh_inputs(in->ctx, m)));
    }
done:
    far_input_clear(&array);
    return st;
}

static far_status read_model(const far_input *in, far_model *m)
{
    far_status st;
    FAR_TRY(check_zip(in));
    FAR_TRY(check_seal(in, m));
    FAR_TRY(read_manifest(in, m));
    int64_t n = m->info.rows, p = m->info.outputs;
    FAR_TRY(read_array(in, "x", n, m->info.inputs, &m->x));
    FAR_TRY(read_array(in, "y", n, p, &m->y));
    FAR_TRY(read_array(in, "alpha", n, p, &m->alpha));
    FAR_TRY(read_array(in, "alpha_low", n, p, &m->alpha_low));
    if (m->metric.kind != FAR_METRIC_NONE) {
        m->metric.inputs = m->info.inputs;
        FAR_TRY(read_array(in, "map", m->info.inputs, map_columns(m), &m->metric.map));
        FAR_TRY(call_forged(in, far_model_take_metric(in->ctx, m)));
        FAR_TRY(read_importance(in, m));
    }
done:
    return st;
}

static far_status make_model(const far_input *in, far_model **out)
{
    far_status st;
    far_model *m = NULL;
    FAR_TRY(far_model_new(in->ctx, &m));
    FAR_TRY(read_model(in, m));
done:
    FAR_HAND_OVER(m, out, far_model_destroy);
    return st;
}

far_status far_model_load(far_ctx *ctx, const char *path, far_model **out)
{
    far_status st;
    far_input in = {0};
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_input_load(ctx, path, &in));
    FAR_TRY(make_model(&in, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}

far_status far_model_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 far_model **out)
{
    far_status st;
    far_input in = {0};
    *out = NULL;
    FAR_TRY(far_input_copy(ctx, label, data, size, &in));
    FAR_TRY(make_model(&in, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
