/*
 * Behind a first dense and a norm without eps the kernel is a function of the cosine alone,
 * k(x, x') = kappa(s . s') with s on the unit sphere, and since it is positive definite in every
 * dimension, kappa(rho) = sum_m c_m rho^m with c_m >= 0 (Schoenberg 1942). So
 *
 *     g(s) = c_0 a + c_1 w . s + c_2 s . M s + rest(s),
 *
 * a = sum alpha_i, w = sum alpha_i s_i, M = sum alpha_i s_i s_i^T. The first three terms have an
 * exact range over the sphere; the rest is bounded by its own norm, which is what is left of |g|.
 */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <math.h>
#include <string.h>

enum { NODES = 25, TERMS = 3 };
#define HALF_WIDTH 0.6
/* The coefficients are extrapolated from values; using a little less than c_m keeps the rest
 * positive definite, which is all that the proof needs. */
#define COEFFICIENT_DOUBT 1e-6
#define EIGEN_ROUNDING 1e-14 /* relative to sum |alpha_i|, which bounds every moment */
#define LARGEST_SUM 1e100    /* of |alpha_i|, and 1 over the least: squares must stay in range */

static bool on_the_sphere(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    return plan->input_count == 0 && plan->count > 2 && plan->ops[0].kind == FAR_OP_DENSE &&
           !plan->ops[0].standard && plan->ops[0].b > 0 && plan->ops[1].kind == FAR_OP_SCALE &&
           plan->ops[1].eps == 0 && !plan->ops[1].fixed && plan->ops[1].gamma == 0 &&
           plan->ops[1].beta == 0;
}

/* ---- kappa near 0 -------------------------------------------------------------------------- */

/* Directions at infinity, in the plane, at cosines rho[i] to the first axis. */
static far_status kappa_values(const far_predictor *p, const double *rho, double *out)
{
    double u[2 * (NODES + 1)] = {1, 0}, k[(NODES + 1) * (NODES + 1)], orders[NODES + 1];
    bool nngp = p->model->info.prior == FAR_PRIOR_NNGP;
    for (int i = 0; i < NODES; i++) {
        u[2 * i + 2] = rho[i];
        u[2 * i + 3] = sqrt(1 - rho[i] * rho[i]);
    }
    far_mat directions = far_mat_view(u, NODES + 1, 2, FAR_F64);
    far_mat values = far_mat_view(k, NODES + 1, NODES + 1, FAR_F64);
    far_mat order = far_mat_view(orders, NODES + 1, 1, FAR_F64);
    far_status st =
        far_kernel_limit(p->ctx, p->model->kernel, &directions, NULL, nngp ? &values : NULL,
                         nngp ? &order : NULL, nngp ? NULL : &values, nngp ? NULL : &order);
    memcpy(out, k + 1, NODES * sizeof *out);
    return st;
}

/* Newton's divided differences at the nodes, expanded into the first powers of rho. */
static void taylor_at_zero(const double *node, const double *value, double c[TERMS])
{
    long double table[NODES], poly[NODES] = {0};
    for (int i = 0; i < NODES; i++) {
        table[i] = value[i];
    }
    for (int level = 1; level < NODES; level++) {
        for (int i = NODES - 1; i >= level; i--) {
            table[i] = (table[i] - table[i - 1]) / ((long double)node[i] - node[i - level]);
        }
    }
    for (int i = NODES - 1; i >= 0; i--) { /* poly := poly (rho - node) + table */
        for (int k = NODES - 1; k > 0; k--) {
            poly[k] = poly[k - 1] - poly[k] * node[i];
        }
        poly[0] = -poly[0] * node[i] + table[i];
    }
    for (int m = 0; m < TERMS; m++) {
        c[m] = fmax((double)poly[m] * (1 - COEFFICIENT_DOUBT) - 1e-9, 0);
    }
}

static far_status coefficients(const far_predictor *p, double c[TERMS])
{
    double node[NODES], value[NODES];
    for (int i = 0; i < NODES; i++) {
        node[i] = HALF_WIDTH * cos(M_PI * (i + 0.5) / NODES);
    }
    far_status st = kappa_values(p, node, value);
    if (st == FAR_OK) {
        taylor_at_zero(node, value, c);
    }
    return st;
}

/* ---- the moments of alpha on the sphere ---------------------------------------------------- */

typedef struct moments {
    int64_t dim;
    long double total, *linear, *quadratic; /* a, w, M (its lower triangle) */
} moments;

static void moments_clear(far_ctx *ctx, moments *q)
{
    far_free(ctx, q->linear);
    far_free(ctx, q->quadratic);
}

static void add_point(moments *q, const double *s, double alpha)
{
    q->total += alpha;
    for (int64_t i = 0; i < q->dim; i++) {
        long double *row = q->quadratic + i * q->dim, weighted = (long double)alpha * s[i];
        q->linear[i] += weighted;
        for (int64_t j = 0; j <= i; j++) {
            row[j] += weighted * s[j];
        }
    }
}

static far_status sum_moments(const far_predictor *p, moments *q)
{
    far_status st;
    const far_model *m = p->model;
    int64_t d = m->info.inputs;
    double *s = NULL, unit = far_sphere_unit(m);
    q->dim = d + 1;
    FAR_TRY(far_alloc(p->ctx, q->dim, &s));
    FAR_TRY(far_alloc(p->ctx, q->dim, &q->linear));
    FAR_TRY(far_alloc(p->ctx, q->dim * q->dim, &q->quadratic));
    memset(q->linear, 0, (size_t)q->dim * sizeof *q->linear);
    memset(q->quadratic, 0, (size_t)(q->dim * q->dim) * sizeof *q->quadratic);
    for (int64_t i = 0; i < m->info.rows; i++) {
        far_sphere_from_point(m->x + i * d, d, unit, s);
        add_point(q, s, m->alpha[i * m->info.outputs + p->output]);
    }
done:
    far_free(p->ctx, s);
    return st;
}

static double square_of_linear(const moments *q)
{
    long double sum = 0;
    for (int64_t i = 0; i < q->dim; i++) {
        sum += q->linear[i] * q->linear[i];
    }
    return (double)sum;
}

static double square_of_quadratic(const moments *q)
{
    long double sum = 0;
    for (int64_t i = 0; i < q->dim; i++) {
        for (int64_t j = 0; j <= i; j++) {
            long double v = q->quadratic[i * q->dim + j];
            sum += (i == j ? 1 : 2) * v * v;
        }
    }
    return (double)sum;
}

/* ---- the exact range of the quadratic part ------------------------------------------------- */

typedef struct form {
    const double *eigenvalue, *weight; /* weight: squared component of the linear term */
    int64_t dim;
    double sign, c1, c2;
} form;

/* For every mu above the spectrum, max over the sphere of c2 s.Ms + c1 w.s is at most
 * mu + c1^2 / 4 sum weight / (mu - c2 lambda): weak duality, so any mu proves a bound. */
static double dual(const form *f, double mu)
{
    double sum = mu;
    for (int64_t i = 0; i < f->dim; i++) {
        double gap = mu - f->sign * f->c2 * f->eigenvalue[i];
        sum += f->weight[i] > 0 ? f->c1 * f->c1 * f->weight[i] / (4 * gap) : 0;
    }
    return sum;
}

static double largest_on_sphere(const form *f)
{
    double top = -INFINITY, total = 0;
    for (int64_t i = 0; i < f->dim; i++) {
        top = fmax(top, f->sign * f->c2 * f->eigenvalue[i]);
        total += f->weight[i];
    }
    double reach = f->c1 * sqrt(total) + 1e-12 * (fabs(top) + 1), low = log(reach * 1e-9);
    double high = log(reach * 4), golden = 0.6180339887498949;
    for (int step = 0; step < 120; step++) {
        double a = high - golden * (high - low), b = low + golden * (high - low);
        if (dual(f, top + exp(a)) < dual(f, top + exp(b))) {
            high = b;
        } else {
            low = a;
        }
    }
    return dual(f, top + exp((low + high) / 2));
}

static far_status range_on_sphere(const far_predictor *p, const moments *q, const double c[TERMS],
                                  double *low, double *high)
{
    far_status st;
    double *values = NULL, *vectors = NULL, *weight = NULL, *rounded = NULL;
    FAR_TRY(far_alloc(p->ctx, q->dim * q->dim, &rounded));
    for (int64_t i = 0; i < q->dim * q->dim; i++) {
        rounded[i] = (double)q->quadratic[i];
    }
    far_mat matrix = far_mat_view(rounded, q->dim, q->dim, FAR_F64);
    far_symmetric symmetric = far_symmetric_of(&matrix);
    FAR_TRY(far_alloc(p->ctx, q->dim, &values));
    FAR_TRY(far_alloc(p->ctx, q->dim, &weight));
    FAR_TRY(far_alloc(p->ctx, q->dim * q->dim, &vectors));
    far_mat w = far_mat_view(values, q->dim, 1, FAR_F64);
    far_mat v = far_mat_view(vectors, q->dim, q->dim, FAR_F64);
    FAR_TRY(far_eigen(p->ctx, &symmetric, FAR_EIGEN_SMALLEST, q->dim, 0, &w, &v));
    for (int64_t j = 0; j < q->dim; j++) {
        long double dot = 0;
        for (int64_t i = 0; i < q->dim; i++) {
            dot += vectors[i * q->dim + j] * q->linear[i];
        }
        weight[j] = (double)(dot * dot);
    }
    form f = {values, weight, q->dim, 1, c[1], c[2]};
    double middle = (double)(c[0] * q->total);
    double doubt = EIGEN_ROUNDING * p->norm_1 * (c[0] + c[1] + c[2]);
    *high = middle + largest_on_sphere(&f) + doubt;
    f.sign = -1;
    *low = middle - largest_on_sphere(&f) - doubt;
done:
    far_free(p->ctx, rounded);
    far_free(p->ctx, values);
    far_free(p->ctx, vectors);
    far_free(p->ctx, weight);
    return st;
}

far_status far_quadratic_interval(const far_predictor *p, far_interval *out)
{
    far_status st = FAR_OK;
    double c[TERMS], low = 0, high = 0;
    moments q = {0};
    *out = (far_interval){0};
    bool in_range = p->norm_1 < LARGEST_SUM && p->norm_1 > 1 / LARGEST_SUM;
    if (!on_the_sphere(p->model) || !in_range) {
        return FAR_OK;
    }
    FAR_TRY(coefficients(p, c));
    FAR_TRY(sum_moments(p, &q));
    FAR_TRY(range_on_sphere(p, &q, c, &low, &high));
    double taken = (double)(c[0] * q.total * q.total) + c[1] * square_of_linear(&q) +
                   c[2] * square_of_quadratic(&q);
    double doubt = EIGEN_ROUNDING * p->C * p->norm_1 * p->norm_1;
    double rest = fmax(p->norm * p->norm - taken, 0) + doubt;
    double radius = sqrt(fmax(p->C - c[0] - c[1] - c[2], 0) * rest);
    *out = (far_interval){p->centre + p->scale * (low - radius),
                          p->centre + p->scale * (high + radius), "quadratic"};
done:
    moments_clear(p->ctx, &q);
    return st;
}
