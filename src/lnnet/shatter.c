/* Every labelling of a few points, realised: the lower bound of the VC dimension, demonstrated. */
#include "../base/base_internal.h"

#include <farfield/lnnet.h>
#include <farfield/nonlinear.h>
#include <math.h>

#define PLANE 2 /* dimensions of points that are drawn */

typedef struct shattering {
    far_ctx *ctx;
    far_mat x;
    int64_t labels[FAR_SHATTER_LAYERS_MOST + 2];
    double drawn[(FAR_SHATTER_LAYERS_MOST + 2) * PLANE];
} shattering;

static void draw_points(shattering *s, int64_t points, uint64_t seed)
{
    for (int64_t i = 0; i < points * PLANE; i++) {
        s->drawn[i] = far_random_normal(seed, (uint64_t)i);
    }
    s->x = far_mat_view(s->drawn, points, PLANE, FAR_F64);
}

/* ---- checks -------------------------------------------------------------------------------- */

static bool rows_equal(const far_mat *x, int64_t i, int64_t k)
{
    const double *a = far_mat_row(x, i), *b = far_mat_row(x, k);
    for (int64_t j = 0; j < x->cols; j++) {
        if (a[j] != b[j]) {
            return false;
        }
    }
    return true;
}

static far_status check_row(far_ctx *ctx, const far_mat *x, int64_t i)
{
    const double *row = far_mat_row(x, i);
    for (int64_t j = 0; j < x->cols; j++) {
        if (!isfinite(row[j])) {
            return far_fail(ctx, FAR_ERR_VALUE, "x: row %lld, column %lld is %g; remove it",
                            (long long)i + 1, (long long)j + 1, row[j]);
        }
    }
    for (int64_t k = 0; k < i; k++) {
        if (rows_equal(x, i, k)) {
            return far_fail(ctx, FAR_ERR_VALUE,
                            "rows %lld and %lld are the same point: no network can part them",
                            (long long)k + 1, (long long)i + 1);
        }
    }
    return FAR_OK;
}

static far_status check(far_ctx *ctx, int64_t layers, const far_mat *x)
{
    if (layers < 1 || layers > FAR_SHATTER_LAYERS_MOST) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld layers; take 1 to %d", (long long)layers,
                        FAR_SHATTER_LAYERS_MOST);
    }
    far_status st = x ? far_mat_check(ctx, x, "x") : FAR_OK;
    if (!x || st != FAR_OK) {
        return st;
    }
    if (x->dtype != FAR_F64) {
        return far_fail(ctx, FAR_ERR_ARG, "x is not of type float64");
    }
    if (x->rows != layers + 2 || x->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x is %lld x %lld; %lld layers shatter %lld points",
                        (long long)x->rows, (long long)x->cols, (long long)layers,
                        (long long)layers + 2);
    }
    for (int64_t i = 0; i < x->rows && st == FAR_OK; i++) {
        st = check_row(ctx, x, i);
    }
    return st;
}

/* ---- labellings ---------------------------------------------------------------------------- */

/* A network for this labelling, run once more. FAR_ERR_VALUE of the builder means that it found
 * none. */
static far_status realise(shattering *s, int64_t labelling, far_shatter *out, bool *realised)
{
    far_net *net = NULL;
    far_lnnet_info info;
    far_lnnet_checked run;
    far_lnnet_opts opts;
    opts = (far_lnnet_opts){.size = sizeof opts};
    *realised = false;
    for (int64_t i = 0; i < s->x.rows; i++) {
        s->labels[i] = labelling >> i & 1;
    }
    far_status st = far_lnnet_build(s->ctx, &s->x, s->labels, 2, &opts, &net, &info);
    if (st == FAR_ERR_VALUE) {
        return FAR_OK;
    }
    FAR_TRY(st);
    FAR_TRY(far_lnnet_check(s->ctx, net, &s->x, s->labels, FAR_LNNET_PRECISION_AUTO, 0, &run));
    out->built++;
    out->most_layers = info.layers > out->most_layers ? info.layers : out->most_layers;
    out->margin = fmin(out->margin, run.margin);
    *realised = run.wrong == 0 && info.layers <= out->layers;
done:
    far_net_destroy(net);
    return st;
}

/* Labellings with point L + 1 in class 0: the others are their complements. */
static far_status realise_all(shattering *s, far_shatter *out)
{
    far_status st = FAR_OK;
    int64_t half = out->labellings / 2;
    for (int64_t labelling = 0; labelling < half; labelling++) {
        bool realised;
        FAR_TRY(far_progress(s->ctx, "labellings", labelling, half));
        far_progress_hold(s->ctx);
        st = realise(s, labelling, out, &realised);
        far_progress_release(s->ctx);
        FAR_TRY(st);
        out->realised += realised ? 2 : 0;
        out->failed = realised || out->failed >= 0 ? out->failed : labelling;
    }
    FAR_TRY(far_progress(s->ctx, "labellings", half, half));
done:
    return st;
}

/* Every labelling is built and run; half of them, since the others are complements. */
far_status far_lnnet_shatter(far_ctx *ctx, int64_t layers, const far_mat *x, uint64_t seed,
                             far_shatter *out)
{
    shattering s = {.ctx = ctx};
    double start = far_seconds();
    far_status st = check(ctx, layers, x);
    if (st != FAR_OK) {
        return st;
    }
    if (x) {
        s.x = *x;
    } else {
        draw_points(&s, layers + 2, seed);
    }
    far_shatter found = {.layers = layers,
                         .points = layers + 2,
                         .labellings = (int64_t)1 << (layers + 2),
                         .margin = NAN, /* fmin passes over it */
                         .failed = -1};
    st = realise_all(&s, &found);
    found.seconds = far_seconds() - start;
    if (st == FAR_OK) {
        *out = found;
    }
    return st;
}
