/*
 * How much a fit depends on each feature: the mean squares of its partial derivatives.
 *
 * The first network is dense(b=1) ln relu dense(b=1) relu dense(b=1). Its norm stands behind the
 * first layer, so its kernel is a function of one variable: with a = (x / sqrt d, 1), u = a / |a|
 * and r = <u, u'>, Theta(x, x') = T(r). Hence, up to the factor 1 / sqrt d,
 *
 *     d f(x_i) / d x_ij = sum_k alpha_k T'(r_ik) (u_kj - r_ik u_ij) / |a_i|
 *
 * which is two matrix products, where differences of kernels would take a kernel for each feature.
 * T has an infinite slope at r = 1: rows equal to x_i, and itself, are left out.
 */
#include "uci90.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 0.1
#define SAME (1 - 1e-9) /* a larger r: equal rows */

typedef struct slopes {
    int64_t n, d, classes;
    far_mat u;         /* n x (d + 1) */
    double *length;    /* |a| */
    far_mat t, tr;     /* T'(r) and T'(r) r, n x n */
    far_mat alpha;     /* n x classes */
    far_mat along;     /* sum_k alpha_k T'(r_ik) r_ik, n x classes */
    far_mat part, up;  /* alpha_k u_k, and its product with t: n x (d + 1) */
    far_mat g, turned; /* d f_c(x_i) / d x_ij for one class: n x d, and transposed */
    far_mat product;   /* turned g: d x d */
} slopes;

static far_mat matrix(int64_t rows, int64_t cols)
{
    return far_mat_view(UCI90_ALLOC(rows * cols, double), rows, cols, FAR_F64);
}

static slopes slopes_make(int64_t n, int64_t d, int64_t classes)
{
    slopes s = {.n = n, .d = d, .classes = classes, .length = UCI90_ALLOC(n, double)};
    s.u = matrix(n, d + 1);
    s.t = matrix(n, n);
    s.tr = matrix(n, n);
    s.alpha = matrix(n, classes);
    s.along = matrix(n, classes);
    s.part = matrix(n, d + 1);
    s.up = matrix(n, d + 1);
    s.g = matrix(n, d);
    s.turned = matrix(d, n);
    s.product = matrix(d, d);
    return s;
}

static void slopes_free(slopes *s)
{
    far_mat *all[] = {&s->u,    &s->t,  &s->tr, &s->alpha,  &s->along,
                      &s->part, &s->up, &s->g,  &s->turned, &s->product};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->data);
    }
    free(s->length);
}

/* ---- the fit ---- */

/* The last class's weights are less the sum of the others', as its targets are. */
static void spread_weights(const far_mat *weights, far_mat *alpha)
{
    for (int64_t i = 0; i < alpha->rows; i++) {
        const double *from = (const double *)weights->data + i * weights->cols;
        double *to = (double *)alpha->data + i * alpha->cols;
        for (int64_t c = 0; c < weights->cols; c++) {
            to[c] = from[c];
            to[weights->cols] -= from[c];
        }
    }
}

static far_status fit_weights(uci90_lab *lab, const uci90_set *set, const uci90_rows *train,
                              const double *x, slopes *s)
{
    double *mean = UCI90_ALLOC(set->classes, double), *targets = uci90_targets(set, train, mean);
    far_mat points = far_mat_view((void *)x, s->n, s->d, FAR_F64);
    far_mat b = far_mat_view(targets, s->n, set->classes - 1, FAR_F64);
    far_mat weights = matrix(s->n, set->classes - 1);
    far_status st;
    TRY(far_kernel_eval(lab->ctx, lab->net[0], &points, NULL, FAR_FILL_LOWER, NULL, &s->t));
    TRY(uci90_solve(lab, &s->t, RIDGE, &b, &weights));
    spread_weights(&weights, &s->alpha);
done:
    FREE(mean, targets, weights.data);
    return st;
}

/* ---- the slopes ---- */

static void set_directions(const double *x, slopes *s)
{
    double *u = s->u.data, root = sqrt((double)s->d);
    for (int64_t i = 0; i < s->n; i++, u += s->d + 1) {
        double square = 1;
        for (int64_t j = 0; j < s->d; j++) {
            u[j] = x[i * s->d + j] / root;
            square += u[j] * u[j];
        }
        u[s->d] = 1;
        s->length[i] = sqrt(square);
        for (int64_t j = 0; j <= s->d; j++) {
            u[j] /= s->length[i];
        }
    }
}

/* T' by the chain rule: behind a relu the correlation r is (sqrt(1 - r^2) + r (pi - acos r)) / pi,
 * its derivative 1 - acos(r) / pi; a bias of 1 adds 1 to each of two layers. */
static double kernel_slope(double r)
{
    double root = sqrt(1 - r * r), half = 1 - acos(r) / M_PI, relu = root / M_PI + r * half;
    double r2 = (relu + 1) / 2, root2 = sqrt(1 - r2 * r2), half2 = 1 - acos(r2) / M_PI;
    double inner = relu + 1 + r * half;
    double inner_slope = 2 * half + r / (M_PI * root);
    return half * half2 + inner_slope * half2 + inner * half / (2 * M_PI * root2);
}

static void transpose(const far_mat *from, far_mat *to)
{
    const double *a = from->data;
    double *b = to->data;
    for (int64_t i = 0; i < from->rows; i++) {
        for (int64_t j = 0; j < from->cols; j++) {
            b[j * from->rows + i] = a[i * from->cols + j];
        }
    }
}

static far_status multiply_directions(uci90_lab *lab, slopes *s)
{
    far_mat transposed = matrix(s->d + 1, s->n);
    transpose(&s->u, &transposed);
    far_status st = far_multiply(lab->ctx, &s->u, &transposed, &s->tr);
    free(transposed.data);
    return st;
}

static void set_slopes(slopes *s)
{
    double *t = s->t.data, *tr = s->tr.data;
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double r = fmax(tr[i * s->n + j], -SAME);
            double slope = r > SAME ? 0 : kernel_slope(r);
            t[i * s->n + j] = t[j * s->n + i] = slope;
            tr[i * s->n + j] = tr[j * s->n + i] = slope * r;
        }
    }
}

/* ---- the sums ---- */

static void weigh_directions(slopes *s, int64_t class)
{
    const double *u = s->u.data, *alpha = s->alpha.data;
    double *part = s->part.data;
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j <= s->d; j++) {
            part[i * (s->d + 1) + j] = alpha[i * s->classes + class] * u[i * (s->d + 1) + j];
        }
    }
}

static void set_gradients(const slopes *s, int64_t class)
{
    const double *u = s->u.data, *up = s->up.data, *along = s->along.data;
    double *g = s->g.data;
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j < s->d; j++) {
            int64_t at = i * (s->d + 1) + j;
            g[i * s->d + j] = (up[at] - along[i * s->classes + class] * u[at]) / s->length[i];
        }
    }
}

static far_status sum_products(uci90_lab *lab, slopes *s, double *m)
{
    const double *product = s->product.data;
    far_status st;
    TRY(far_multiply(lab->ctx, &s->tr, &s->alpha, &s->along));
    for (int64_t c = 0; c < s->classes; c++) {
        weigh_directions(s, c);
        TRY(far_multiply(lab->ctx, &s->t, &s->part, &s->up));
        set_gradients(s, c);
        transpose(&s->g, &s->turned);
        TRY(far_multiply(lab->ctx, &s->turned, &s->g, &s->product));
        for (int64_t k = 0; k < s->d * s->d; k++) {
            m[k] += product[k];
        }
    }
done:
    return st;
}

far_status uci90_relevance(uci90_lab *lab, const uci90_set *set, const uci90_rows *train, double *m)
{
    uci90_features raw = {.rows = set->n, .width = set->d, .z = set->x};
    double *x = uci90_gather(&raw, train);
    slopes s = slopes_make(train->count, set->d, set->classes);
    far_status st;
    memset(m, 0, (size_t)(set->d * set->d) * sizeof *m);
    TRY(fit_weights(lab, set, train, x, &s));
    set_directions(x, &s);
    TRY(multiply_directions(lab, &s));
    set_slopes(&s);
    TRY(sum_products(lab, &s, m));
done:
    slopes_free(&s);
    free(x);
    return st;
}

/* ---- weighing ---- */

static double mean_square(const uci90_features *f, const uci90_rows *rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        for (int64_t j = 0; j < f->width; j++) {
            sum += pow(f->z[rows->at[i] * f->width + j], 2);
        }
    }
    return sum / (double)(rows->count * f->width);
}

/* Overwrites m by the lower triangle L of m = L L'; a direction without relevance gets a column of
 * zeros. */
static void factor(int64_t d, double *m)
{
    double least = 0;
    for (int64_t j = 0; j < d; j++) {
        least = fmax(least, 1e-12 * m[j * d + j]);
    }
    for (int64_t j = 0; j < d; j++) {
        double pivot = m[j * d + j], scale = pivot > least ? 1 / sqrt(pivot) : 0;
        for (int64_t i = 0; i < d; i++) {
            m[i * d + j] *= i < j ? 0 : scale;
        }
        for (int64_t i = j + 1; i < d; i++) {
            for (int64_t k = j + 1; k <= i; k++) {
                m[i * d + k] -= m[i * d + j] * m[k * d + j];
            }
        }
    }
}

/* L with L L' = m, or for the diagonal of m alone. */
static void take_root(int64_t d, bool turn, double *m)
{
    if (turn) {
        factor(d, m);
        return;
    }
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < d; j++) {
            m[i * d + j] = i == j ? sqrt(m[i * d + j]) : 0;
        }
    }
}

far_status uci90_weigh(uci90_lab *lab, double *m, bool turn, const uci90_rows *train,
                       uci90_features *f)
{
    double before = mean_square(f, train), trace = 0;
    int64_t d = f->width;
    for (int64_t j = 0; j < d; j++) {
        trace += m[j * d + j];
    }
    if (!(trace > 0)) {
        return FAR_OK; /* one class only: nothing is known */
    }
    double *old = f->z;
    far_mat from = far_mat_view(old, f->rows, d, FAR_F64);
    far_mat to = matrix(f->rows, d), root = far_mat_view(m, d, d, FAR_F64);
    for (int64_t k = 0; k < d * d; k++) {
        m[k] /= trace;
    }
    take_root(d, turn, m);
    far_status st = far_multiply(lab->ctx, &from, &root, &to);
    f->z = to.data;
    free(old);
    double after = mean_square(f, train), factor = after > 0 ? sqrt(before / after) : 1;
    for (int64_t k = 0; k < f->rows * d; k++) {
        f->z[k] *= factor;
    }
    return st;
}
