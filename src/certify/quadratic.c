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

enum { NODES = 5, TERMS = 3 };
#define EIGEN_ROUNDING 1e-15 /* times dim, relative to sum |alpha_i|, which bounds every moment */
#define STEP 0.01
#define LARGEST_SUM 1e100 /* of |alpha_i|, and 1 over the least: squares must stay in range */

static bool on_the_sphere(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    return far_sphere_is_ours(m) && plan->count > 2 && !plan->ops[0].standard &&
           plan->ops[1].kind == FAR_OP_SCALE && plan->ops[1].eps == 0 && !plan->ops[1].fixed &&
           plan->ops[1].gamma == 0 && plan->ops[1].beta == 0;
}

/* ---- kappa near 0 -------------------------------------------------------------------------- */

/* Directions at infinity, in the plane, at cosines rho[i] to the first axis. */
static far_status kappa_values(const far_single *p, const double *rho, double *out)
{
    double u[2 * (NODES + 1)] = {1, 0}, k[(NODES + 1) * (NODES + 1)], orders[NODES + 1];
    bool nngp = p->model->info.kernel == FAR_KERNEL_NNGP;
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

/* A function of s that is a power series with coefficients >= 0 is convex, so between 0 and s[0] it
 * lies above its chord through s[0] and s[1]: where that meets 0 is a lower bound on its first
 * coefficient. Values are good to doubt. */
static double first_coefficient(const double *s, const double *value, double doubt)
{
    double chord = s[0] / (s[1] - s[0]), start = value[0] - chord * (value[1] - value[0]);
    return fmax(start - doubt * (1 + 2 * chord), 0);
}

/* Lower bounds: what is left of kappa then still has coefficients >= 0, which is all that the proof
 * needs. Of kappa, (kappa(h) - kappa(-h)) / 2 h and ((kappa(h) + kappa(-h)) / 2 - kappa(0)) / h^2,
 * the last two in s = h^2. */
static far_status coefficients(const far_single *p, double c[TERMS])
{
    static const double rho[NODES] = {0, STEP, -STEP, 2 * STEP, -2 * STEP};
    static const double s[2] = {STEP * STEP, 4 * STEP * STEP};
    double k[NODES], odd[2], even[2], doubt = far_kernel_doubt(p->model) * p->C;
    far_status st = kappa_values(p, rho, k);
    for (int i = 0; i < 2; i++) {
        odd[i] = (k[1 + 2 * i] - k[2 + 2 * i]) / (2 * rho[1 + 2 * i]);
        even[i] = ((k[1 + 2 * i] + k[2 + 2 * i]) / 2 - k[0]) / s[i];
    }
    c[0] = fmax(k[0] - doubt, 0);
    c[1] = first_coefficient(s, odd, doubt / STEP);
    c[2] = first_coefficient(s, even, 2 * doubt / s[0]);
    return st;
}

/* ---- the moments of alpha on the sphere ---------------------------------------------------- */

typedef struct moments {
    int64_t dim;
    long double total, *linear, *quadratic; /* a, w, M (its lower triangle) */
} moments;

static double eigen_doubt(const moments *q)
{
    return EIGEN_ROUNDING * (double)(q->dim + 20);
}

static void moments_clear(far_ctx *ctx, moments *q)
{
    far_free(ctx, q->linear);
    far_free(ctx, q->quadratic);
}

static void add_point(moments *q, const double *s, long double alpha)
{
    q->total += alpha;
    for (int64_t i = 0; i < q->dim; i++) {
        long double *row = q->quadratic + i * q->dim, weighted = alpha * s[i];
        q->linear[i] += weighted;
        for (int64_t j = 0; j <= i; j++) {
            row[j] += weighted * s[j];
        }
    }
}

static far_status sum_moments(const far_single *p, moments *q)
{
    far_status st;
    const far_model *m = p->model;
    int64_t d = m->info.inputs;
    far_mat x = far_model_points(m);
    double *s = NULL, unit = far_sphere_unit(m);
    q->dim = d + 1;
    FAR_TRY(far_alloc(p->ctx, q->dim, &s));
    FAR_TRY(far_alloc(p->ctx, q->dim, &q->linear));
    FAR_TRY(far_alloc(p->ctx, q->dim * q->dim, &q->quadratic));
    for (int64_t i = 0; i < m->info.rows; i++) {
        far_sphere_from_point(far_mat_row(&x, i), d, unit, s);
        add_point(q, s, far_alpha_at(p, i));
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

/* An interval for c_0 total + c_1 linear + c_2 quadratic over the unit sphere: the largest and
 * least values by the dual in one variable, in the eigenbasis of the quadratic form. doubt covers
 * what the eigenvalues may be off by. */
static far_status range_on_sphere(const far_single *p, const moments *q, const double c[TERMS],
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
    double doubt = eigen_doubt(q) * p->norm_1 * (c[0] + c[1] + c[2]);
    *high = middle + largest_on_sphere(&f) + doubt;
    f.sign = -1;
    *low = middle - largest_on_sphere(&f) - doubt;
done:
    FAR_FREE_ALL(p->ctx, rounded, values, vectors, weight);
    return st;
}

far_status far_quadratic_interval(const far_single *p, far_interval *out)
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
    double doubt = eigen_doubt(&q) * p->C * p->norm_1 * p->norm_1;
    double rest = fmax(p->norm * p->norm - taken, 0) + doubt;
    double radius = sqrt(fmax(p->C - c[0] - c[1] - c[2], 0) * rest);
    *out = (far_interval){p->centre + p->scale * (low - radius) - p->rounding,
                          p->centre + p->scale * (high + radius) + p->rounding, "quadratic"};
done:
    moments_clear(p->ctx, &q);
    return st;
}
