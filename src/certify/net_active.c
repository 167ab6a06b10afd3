/*
 * A row of a dense layer over relu(A h + b), |h| <= radius: neurons with a weight below 0 only
 * lower it, so with the others' weights w, and any t > 0,
 *
 *     sum_o w_o relu(A_o h + b_o) <= |w / t| (|diag(t) A| radius + |diag(t) b|).
 *
 * t is chosen so that both factors pull alike: where it is best, (w / t)^2 is in proportion to the
 * squares of the largest left singular vector.
 */
#include "net_certify.h"

#include <string.h>

enum { MOST_ROWS = 16, TURNS = 40, POWER_TURNS = 12 };

typedef struct active {
    far_ctx *ctx;
    const far_proof_layer *dense; /* A and b */
    double radius;
    int64_t count;             /* of neurons with a weight above 0 */
    double *w, *t, *a, *b;     /* their weights, scales, rows and biases */
    double *left, *right, *at; /* singular vectors; scaled rows */
} active;

static void active_clear(active *s)
{
    FAR_FREE_ALL(s->ctx, s->w, s->t, s->a, s->b, s->left, s->right, s->at);
}

static far_status active_open(active *s)
{
    far_status st;
    int64_t m = s->dense->step->out, n = s->dense->step->in;
    FAR_TRY(far_alloc(s->ctx, m, &s->w));
    FAR_TRY(far_alloc(s->ctx, m, &s->t));
    FAR_TRY(far_alloc(s->ctx, m, &s->b));
    FAR_TRY(far_alloc(s->ctx, m, &s->left));
    FAR_TRY(far_alloc(s->ctx, n, &s->right));
    FAR_TRY(far_alloc(s->ctx, m * n, &s->a));
    FAR_TRY(far_alloc(s->ctx, m * n, &s->at));
done:
    return st;
}

static void choose_rows(active *s, const double *row, double factor)
{
    int64_t m = s->dense->step->out, n = s->dense->step->in;
    s->count = 0;
    for (int64_t o = 0; o < m; o++) {
        if (factor * row[o] > 0) {
            s->w[s->count] = factor * row[o];
            s->b[s->count] = s->dense->shift[o];
            memcpy(s->a + s->count * n, s->dense->rows + o * n, (size_t)n * sizeof *s->a);
            s->t[s->count++] = 1;
        }
    }
}

/* left = diag(t) A right and right = (diag(t) A)' left, normalised, a few times. */
static void singular_vectors(active *s)
{
    int64_t n = s->dense->step->in;
    for (int turn = 0; turn < POWER_TURNS; turn++) {
        double size = far_length(s->right, n);
        for (int64_t o = 0; o < s->count; o++) {
            double dot = 0;
            for (int64_t i = 0; i < n; i++) {
                dot += s->a[o * n + i] * s->right[i];
            }
            s->left[o] = s->t[o] * dot / size;
        }
        memset(s->right, 0, (size_t)n * sizeof *s->right);
        for (int64_t o = 0; o < s->count; o++) {
            double x = s->left[o] * s->t[o];
            for (int64_t i = 0; i < n; i++) {
                s->right[i] += x * s->a[o * n + i];
            }
        }
    }
}

static void choose_scales(active *s)
{
    int64_t n = s->dense->step->in;
    for (int64_t i = 0; i < n; i++) {
        s->right[i] = far_random_normal(0, (uint64_t)i);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        double whole = 0;
        singular_vectors(s);
        double size = far_length(s->left, s->count);
        for (int64_t o = 0; o < s->count; o++) {
            whole += s->w[o] / s->t[o] * (s->w[o] / s->t[o]);
        }
        for (int64_t o = 0; o < s->count; o++) {
            double own = s->w[o] / s->t[o] / sqrt(whole), pull = fabs(s->left[o]) / size;
            double factor = sqrt(sqrt((own + 1e-3) / (pull + 1e-3)));
            s->t[o] *= isfinite(factor) ? factor : 1;
        }
    }
}

/* The right side above, for the scales as they are. */
static far_status active_bound(const active *s, double *out)
{
    int64_t n = s->dense->step->in;
    double over = 0, shifts = 0, norm;
    for (int64_t o = 0; o < s->count; o++) {
        over = hypot(over, s->w[o] / s->t[o]);
        shifts = hypot(shifts, s->t[o] * s->b[o]);
        for (int64_t i = 0; i < n; i++) {
            s->at[o * n + i] = s->t[o] * s->a[o * n + i];
        }
    }
    *out = 0;
    if (s->count == 0) {
        return FAR_OK;
    }
    far_status st = far_spectral_norm(s->ctx, s->at, s->count, n, &norm);
    double lost = 4 * far_lost(s->count);
    double reach = far_up(far_up(norm * s->radius) + shifts * (1 + lost));
    *out = far_up(over * (1 + lost) * reach) * (1 + far_lost(0));
    return st;
}

static far_status row_max(active *s, const double *row, double factor, double tail, double *out)
{
    far_status st;
    double plain, scaled, lack = 0;
    choose_rows(s, row, factor);
    FAR_TRY(active_bound(s, &plain));
    choose_scales(s);
    FAR_TRY(active_bound(s, &scaled));
    for (int64_t o = 0; o < s->dense->step->out; o++) { /* what gelu and silu are below relu */
        lack += fmax(0, -factor * row[o]) * tail;
    }
    *out = far_up(fmin(plain, scaled) + lack * (1 + far_lost(s->dense->step->out)));
done:
    return st;
}

/* The layers that a row of layer i looks through: an activation like relu, and dense before it. */
static bool looks_through(const far_net_plan *plan, int64_t i, const far_step **activation,
                          int64_t *dense)
{
    int64_t k = far_net_source(plan, i), j = k < 0 ? -1 : far_net_source(plan, k);
    *activation = k < 0 ? NULL : plan->layers[k].step;
    *dense = j;
    return j > 0 && (*activation)->kind == FAR_STEP_ACTIVATION && (*activation)->gain > 0 &&
           (((*activation)->layer == FAR_LAYER_RELU && (*activation)->power == 1) ||
            (*activation)->layer == FAR_LAYER_GELU || (*activation)->layer == FAR_LAYER_SILU) &&
           plan->layers[j].step->kind == FAR_STEP_DENSE && plan->layers[j - 1].growth == 0 &&
           isfinite(plan->layers[j - 1].radius);
}

far_status far_active_rows(far_net_plan *plan, int64_t i)
{
    far_status st = FAR_OK;
    const far_step *activation;
    int64_t dense;
    far_proof_layer *l = &plan->layers[i];
    if (l->step->out > MOST_ROWS || !looks_through(plan, i, &activation, &dense)) {
        return FAR_OK;
    }
    active s = {
        .ctx = plan->ctx, .dense = &plan->layers[dense], .radius = plan->layers[dense - 1].radius};
    double tail = activation->layer == FAR_LAYER_RELU   ? 0
                  : activation->layer == FAR_LAYER_GELU ? FAR_GELU_TAIL
                                                        : FAR_SILU_TAIL;
    FAR_TRY(active_open(&s));
    for (int64_t o = 0; o < l->step->out; o++) {
        double up, down;
        const double *row = l->rows + o * l->step->in;
        FAR_TRY(row_max(&s, row, activation->gain, tail, &up));
        FAR_TRY(row_max(&s, row, -activation->gain, tail, &down));
        far_range r = {far_down(l->shift[o] - down), far_up(l->shift[o] + up)};
        l->box[o] = far_range_meet(l->box[o], r);
    }
done:
    active_clear(&s);
    return st;
}
