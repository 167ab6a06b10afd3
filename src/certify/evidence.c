/*
 * What proofs rest on, computed from what predictions are made of: alpha, the training points and
 * the kernel, in one pass over half of the kernel matrix. Of the other numbers in a model file,
 * those that follow from these are compared with them; no bound uses one.
 */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 256 };
#define AGREES 1e-6 /* relative, of numbers in the manifest */

/* Kernel values are off by at most this much of sqrt(k(x, x) k(x', x')): what the tests against
 * 60-digit arithmetic assert, ten times what they find. */
#define KERNEL_ROUNDING 1e-13

/* And where the law of docs/explanation/kernels.md ("Where it is less") says that it is more:
 * behind steep sines, and in the slopes of relu(p), p < 1, which tell angles below 1e-21 from 0. */
#define STEEP_ROUNDING 4e-16
#define STEEP_MIXTURES 1e-14
#define LEAST_ANGLE 1e-21

static double angle_doubt(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    double most = 0;
    for (int64_t i = 0; m->info.kernel == FAR_KERNEL_NTK && i < plan->activation_count; i++) {
        const far_activation *a = &plan->activations[i];
        if (a->family == FAR_FAMILY_TABLE && a->power < 1) {
            most = fmax(most, pow(LEAST_ANGLE, (double)(2 * a->power - 1)));
        }
    }
    return most;
}

double far_kernel_doubt(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    double steep = plan->steepness * (plan->mixtures ? STEEP_MIXTURES : STEEP_ROUNDING);
    return KERNEL_ROUNDING + far_kernel_tolerance(m->kernel) + steep + angle_doubt(m);
}

typedef struct pass {
    far_ctx *ctx;
    const far_model *m;
    int64_t n, p;
    double *diagonal;   /* k(x_i, x_i) */
    double *block;      /* BLOCK x n */
    long double *alpha; /* n x p, both halves together */
    long double *value; /* n x p: K alpha */
} pass;

static void pass_clear(pass *s)
{
    FAR_FREE_ALL(s->ctx, s->diagonal, s->block, s->alpha, s->value);
}

static far_status fill_diagonal(const pass *s)
{
    bool nngp = s->m->info.kernel == FAR_KERNEL_NNGP;
    far_mat x = far_model_points(s->m), out = far_mat_view(s->diagonal, s->n, 1, FAR_F64);
    return far_kernel_diag(s->ctx, s->m->kernel, &x, nngp ? &out : NULL, nngp ? NULL : &out);
}

static far_status pass_open(pass *s)
{
    far_status st;
    int64_t rows = s->n < BLOCK ? s->n : BLOCK;
    FAR_TRY(far_alloc(s->ctx, s->n, &s->diagonal));
    FAR_TRY(far_alloc(s->ctx, rows * s->n, &s->block));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->alpha));
    FAR_TRY(far_alloc(s->ctx, s->n * s->p, &s->value));
    for (int64_t i = 0; i < s->n * s->p; i++) {
        s->alpha[i] = (long double)s->m->alpha[i] + s->m->alpha_low[i];
        s->value[i] = 0;
    }
    FAR_TRY(fill_diagonal(s));
done:
    return st;
}

/* Row i of the matrix up to the diagonal, and the same values as a column above it. */
static void add_row(const pass *s, int64_t i, const double *k)
{
    int64_t p = s->p;
    for (int64_t j = 0; j <= i; j++) {
        for (int64_t o = 0; o < p; o++) {
            s->value[i * p + o] += k[j] * s->alpha[j * p + o];
            if (j < i) {
                s->value[j * p + o] += k[j] * s->alpha[i * p + o];
            }
        }
    }
}

static far_status add_block(const pass *s, int64_t first)
{
    int64_t count = s->n - first < BLOCK ? s->n - first : BLOCK;
    far_mat x = far_model_points(s->m), rows = x, k;
    rows.data = far_mat_row(&x, first);
    rows.rows = count;
    x.rows = first + count;
    k = far_mat_view(s->block, count, x.rows, FAR_F64);
    far_progress_hold(s->ctx);
    far_status st = far_kernel_eval_kind(s->ctx, s->m->kernel, s->m->info.kernel, &rows, &x, &k);
    far_progress_release(s->ctx);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        add_row(s, first + i, s->block + i * x.rows);
    }
    return st;
}

/* ---- what follows for one output ----------------------------------------------------------- */

typedef struct sums {
    long double square;   /* alpha' K alpha */
    long double alpha2;   /* alpha' alpha */
    long double weighted; /* sum |alpha_i| sqrt(k(x_i, x_i)) */
    long double sum;      /* sum |alpha_i| */
    long double trace;
    long double residual2, y2;
    double largest; /* |y_i| */
} sums;

static sums sums_of(const pass *s, int64_t o)
{
    sums t = {0};
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = i * s->p + o;
        long double a = s->alpha[at], y = s->m->y[at];
        long double off = y - s->value[at] - s->m->info.ridge * a;
        t.square += a * s->value[at];
        t.alpha2 += a * a;
        t.weighted += fabsl(a) * sqrtl(s->diagonal[i]);
        t.sum += fabsl(a);
        t.trace += s->diagonal[i];
        t.residual2 += off * off;
        t.y2 += y * y;
        t.largest = fmax(t.largest, fabs((double)y));
    }
    return t;
}

/* The long sums add n roundings each of their own. */
static long double sum_doubt(const pass *s)
{
    return far_kernel_doubt(s->m) + (long double)s->n * DBL_EPSILON;
}

static far_single predictor(const pass *s, int64_t o, const sums *t, double C)
{
    long double doubt = sum_doubt(s), scale = far_output_scale(s->m->columns)[o];
    long double most = scale * sqrtl(fmaxl(C, 0)) * t->weighted; /* |f - centre| is no larger */
    return (far_single){
        .ctx = s->ctx,
        .model = s->m,
        .output = o,
        .centre = far_output_centre(s->m->columns)[o],
        .scale = far_output_scale(s->m->columns)[o],
        .C = C,
        .norm = (double)(sqrtl(fmaxl(t->square, 0) + doubt * t->weighted * t->weighted) *
                         (1 + DBL_EPSILON)),
        .norm_1 = (double)t->sum,
        .largest = t->largest,
        .rounding = (double)(doubt * most +
                             8 * DBL_EPSILON * (fabsl(far_output_centre(s->m->columns)[o]) + most)),
    };
}

/* ---- whether the file agrees with itself --------------------------------------------------- */

static far_status fail_field(const pass *s, const char *field, double stated, double own)
{
    return far_fail(s->ctx, FAR_ERR_FORMAT,
                    "the model does not agree with itself: its %s is given as %g, where its arrays "
                    "allow %g; fit it again",
                    field, stated, own);
}

static far_status check_solution(const pass *s, const sums *t)
{
    double stated = s->m->info.residual;
    long double size = sqrtl(t->y2), slack = sum_doubt(s) * t->weighted * sqrtl(t->trace);
    long double own = sqrtl(t->residual2);
    if (own <= 2 * stated * size + 2 * slack + 1e-12L * size) {
        return FAR_OK;
    }
    return far_fail(s->ctx, FAR_ERR_FORMAT,
                    "the model does not agree with itself: alpha does not solve (K + ridge) alpha "
                    "= y for its x, y, ridge and arch (residual %g, given as %g); fit it again",
                    (double)(size > 0 ? own / size : own), stated);
}

/* No eigenvalue is above the mean of all, nor is the least above a Rayleigh quotient. */
static far_status check_spectrum(const pass *s, const sums *t)
{
    const far_model_info *i = &s->m->info;
    long double mean = t->trace / s->n, most = mean;
    if (fabsl(i->mean_diagonal - mean) > AGREES * mean) {
        return fail_field(s, "mean_diagonal", i->mean_diagonal, (double)mean);
    }
    if (t->alpha2 > 0) {
        most = fminl(most, t->square / t->alpha2);
    }
    most += i->ridge + AGREES * (mean + i->ridge);
    return i->lambda_min > most ? fail_field(s, "lambda_min", i->lambda_min, (double)most) : FAR_OK;
}

static far_status settle(const pass *s, double C, far_single *out)
{
    far_status st = FAR_OK;
    for (int64_t o = 0; o < s->p; o++) {
        sums t = sums_of(s, o);
        FAR_TRY(check_solution(s, &t));
        FAR_TRY(check_spectrum(s, &t));
        out[o] = predictor(s, o, &t, C);
    }
done:
    return st;
}

far_status far_singles_fill(far_ctx *ctx, const far_model *m, double C, far_single *out)
{
    far_status st;
    pass s = {.ctx = ctx, .m = m, .n = m->info.rows, .p = m->info.outputs};
    FAR_TRY(pass_open(&s));
    for (int64_t i = 0; i < s.n; i += BLOCK) {
        FAR_TRY(far_progress(ctx, "norm", i, s.n));
        FAR_TRY(add_block(&s, i));
    }
    FAR_TRY(settle(&s, C, out));
done:
    pass_clear(&s);
    return st;
}
