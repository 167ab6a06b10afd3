/* Training of a linear model in closed form, from the eigenpairs of its kernel. */
#include "measure_internal.h"

#include <math.h>
#include <string.h>

void far_spectral_init(far_spectral *s)
{
    *s = (far_spectral){.size = sizeof *s, .time = INFINITY};
}

/* ---- the filter ---- */

/* What of a component is left after time t, at rate r = (l + ridge) / N. */
static double decay(const far_spectral *s, double r, double t)
{
    if (s->rate == 0) {
        return r > 0 ? exp(-r * t) : 1;
    }
    double steps = nearbyint(t / s->rate), factor = 1 - s->rate * r;
    return isinf(t) ? (r > 0 ? 0 : 1) : pow(factor, steps);
}

/* 1 - decay, with all its digits where little has happened. */
static double learned(const far_spectral *s, double r, double t)
{
    if (isinf(t)) {
        return r > 0 ? 1 : 0;
    }
    if (s->rate == 0) {
        return -expm1(-r * t);
    }
    double steps = nearbyint(t / s->rate), factor = 1 - s->rate * r;
    return factor > 0 ? -expm1(steps * log1p(-s->rate * r)) : 1 - pow(factor, steps);
}

/* g(l): the weight of a component. */
static double filter(const far_spectral *s, double l, double points)
{
    double all = l + s->ridge;
    if (all == 0) {
        return isinf(s->time) ? 0 : s->time / points;
    }
    return learned(s, all / points, s->time) / all;
}

/* 1 - l g(l): what of a component is left over. */
static double leftover(const far_spectral *s, double l, double points, double t)
{
    double all = l + s->ridge;
    return all == 0 ? 1 : (s->ridge + l * decay(s, all / points, t)) / all;
}

/* ---- checks ---- */

static far_status check_opts(far_ctx *ctx, const far_spectral *s)
{
    if (!s || s->size != sizeof *s) {
        return far_fail(ctx, FAR_ERR_ARG, "call far_spectral_init first");
    }
    if (!(s->ridge >= 0 && s->ridge < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "ridge is %g but must not be negative", s->ridge);
    }
    if (!(s->time >= 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "time is %g but must not be negative", s->time);
    }
    if (!(s->rate >= 0 && s->rate < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "the learning rate is %g but must not be negative",
                        s->rate);
    }
    return FAR_OK;
}

static far_status check_steps(far_ctx *ctx, const far_spectral *s, double t)
{
    double steps = t / s->rate;
    if (s->rate > 0 && !isinf(t) && fabs(steps - nearbyint(steps)) > 1e-6 * fmax(steps, 1)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "time %g is no whole number of steps of %g; use gradient flow for times "
                        "between steps",
                        t, s->rate);
    }
    return FAR_OK;
}

static far_status check_rate(far_ctx *ctx, const far_view *v, const far_spectral *s, double largest)
{
    double points = (double)v->info.points, speed = s->rate * (largest + s->ridge) / points;
    if (speed > 2) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "gradient descent diverges: the learning rate %g times the largest "
                        "eigenvalue of K / N is %.6g, above 2; take a rate below %.6g",
                        s->rate, speed, 2 * points / (largest + s->ridge));
    }
    return FAR_OK;
}

static far_status check_psd(far_ctx *ctx, const far_spectrum *s)
{
    double largest = s->values[0], least = s->values[s->count - 1];
    if (least < -FAR_VIEW_PSD * fmax(largest, 0)) {
        return far_fail(ctx, FAR_ERR_VALUE,
                        "kernel: not positive semidefinite, its eigenvalues go from %.6g to %.6g",
                        least, largest);
    }
    return FAR_OK;
}

/* ---- components ---- */

typedef struct components {
    const far_view *view;
    far_spectrum s;
    int64_t q;
    double *y; /* y - f0, by columns */
    double *c; /* its components along eigenvectors, by columns */
} components;

/* Eigenvalues that are rounding only count as 0. */
static double eigenvalue(const components *p, int64_t i)
{
    double l = p->s.values[i];
    return l > (double)p->s.count * 2e-16 * p->s.values[0] ? l : 0;
}

static far_status open_components(far_ctx *ctx, far_view *view, const far_spectral *s,
                                  const far_mat *targets, const far_mat *start, components *p)
{
    far_status st;
    *p = (components){.view = view};
    FAR_TRY(check_opts(ctx, s));
    FAR_TRY(far_view_take(ctx, view, targets, start, "targets", &p->y));
    FAR_TRY(far_view_spectrum(ctx, view, 0, 1, &p->s));
    FAR_TRY(check_psd(ctx, &p->s));
    FAR_TRY(check_rate(ctx, view, s, p->s.values[0]));
    p->q = targets->cols;
    int64_t n = p->s.rows;
    FAR_TRY(far_alloc(ctx, n * p->q, &p->c));
    for (int64_t k = 0; k < p->q; k++) {
        for (int64_t i = 0; i < n; i++) {
            p->c[k * n + i] = far_dot(p->s.vectors + i * n, p->y + k * n, n);
        }
    }
done:
    return st;
}

static void close_components(far_ctx *ctx, components *p)
{
    far_free(ctx, p->y);
    far_free(ctx, p->c);
}

/* out = U factor U' (y - f0), one column of it. */
static void compose(const components *p, const double *factor, int64_t k, double *column)
{
    int64_t n = p->s.rows;
    memset(column, 0, (size_t)n * sizeof *column);
    for (int64_t i = 0; i < n; i++) {
        const double *u = p->s.vectors + i * n;
        double scale = factor[i] * p->c[k * n + i];
        for (int64_t j = 0; j < n; j++) {
            column[j] += scale * u[j];
        }
    }
}

static far_status write_composed(far_ctx *ctx, const components *p, const double *factor,
                                 far_mat *out)
{
    double *column = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, p->s.rows, &column));
    for (int64_t k = 0; k < p->q; k++) {
        compose(p, factor, k, column);
        for (int64_t i = 0; i < p->s.rows; i++) {
            far_put(out, i, k, column[i]);
        }
    }
done:
    far_free(ctx, column);
    return st;
}

/* ---- fitting ---- */

static far_status check_outputs(far_ctx *ctx, const far_view *v, int64_t q, const far_mat *fitted,
                                const far_mat *residuals, const far_mat *weights)
{
    const far_mat *all[] = {fitted, residuals, weights};
    const char *const names[] = {"fitted", "residuals", "weights"};
    far_status st = FAR_OK;
    for (int i = 0; i < 3; i++) {
        if (all[i]) {
            FAR_TRY(far_check_matrix(ctx, all[i], names[i], v->info.rows, q));
        }
    }
done:
    return st;
}

static void subtract_from_targets(const far_mat *targets, const far_mat *residuals, far_mat *fitted)
{
    for (int64_t i = 0; i < targets->rows; i++) {
        for (int64_t k = 0; k < targets->cols; k++) {
            far_put(fitted, i, k, far_at(targets, i, k) - far_at(residuals, i, k));
        }
    }
}

static void fill_leftovers(const components *p, const far_spectral *s, double *factor)
{
    for (int64_t i = 0; i < p->s.rows; i++) {
        factor[i] = leftover(s, eigenvalue(p, i), (double)p->view->info.points, s->time);
    }
}

static void fill_weights(const components *p, const far_spectral *s, double *factor)
{
    for (int64_t i = 0; i < p->s.rows; i++) {
        factor[i] = filter(s, eigenvalue(p, i), (double)p->view->info.points);
    }
}

/* Residuals are computed as such, by the part of each component that is left, and fitted values
 * from them: y - f would lose the digits of a small residual. */
far_status far_spectral_fit(far_ctx *ctx, far_view *view, const far_spectral *s,
                            const far_mat *targets, const far_mat *start, far_mat *fitted,
                            far_mat *residuals, far_mat *weights)
{
    components p = {0};
    double *factor = NULL;
    far_status st;
    FAR_TRY(open_components(ctx, view, s, targets, start, &p));
    FAR_TRY(check_steps(ctx, s, s->time));
    FAR_TRY(check_outputs(ctx, view, p.q, fitted, residuals, weights));
    FAR_TRY(far_alloc(ctx, p.s.rows, &factor));
    if (fitted || residuals) {
        fill_leftovers(&p, s, factor);
        FAR_TRY(write_composed(ctx, &p, factor, residuals ? residuals : fitted));
    }
    if (fitted) {
        subtract_from_targets(targets, residuals ? residuals : fitted, fitted);
    }
    if (weights) {
        fill_weights(&p, s, factor);
        FAR_TRY(write_composed(ctx, &p, factor, weights));
    }
done:
    far_free(ctx, factor);
    close_components(ctx, &p);
    return st;
}

far_status far_spectral_predict(far_ctx *ctx, const far_mat *cross, const far_mat *weights,
                                const far_mat *start, far_mat *out)
{
    far_status st;
    FAR_TRY(far_check_matrix(ctx, weights, "weights", -1, -1));
    FAR_TRY(far_check_matrix(ctx, cross, "cross", -1, weights->rows));
    FAR_TRY(far_check_finite(ctx, cross, "cross"));
    FAR_TRY(far_check_matrix(ctx, out, "out", cross->rows, weights->cols));
    if (start) {
        FAR_TRY(far_check_matrix(ctx, start, "start", cross->rows, weights->cols));
        FAR_TRY(far_check_finite(ctx, start, "start"));
    }
    FAR_TRY(far_multiply(ctx, cross, weights, out));
    for (int64_t i = 0; start && i < out->rows; i++) {
        for (int64_t k = 0; k < out->cols; k++) {
            far_put(out, i, k, far_at(out, i, k) + far_at(start, i, k));
        }
    }
done:
    return st;
}

/* ---- loss curves ---- */

static double loss_at(const components *p, const far_spectral *s, double t)
{
    int64_t n = p->s.rows;
    double sum = 0, points = (double)p->view->info.points;
    for (int64_t i = 0; i < n; i++) {
        double left = leftover(s, eigenvalue(p, i), points, t);
        for (int64_t k = 0; k < p->q; k++) {
            double c = left * p->c[k * n + i];
            sum += c * c;
        }
    }
    return sum / (2 * points);
}

far_status far_spectral_loss(far_ctx *ctx, far_view *view, const far_spectral *s,
                             const far_mat *targets, const far_mat *start, const double *times,
                             int64_t count, double *losses)
{
    components p = {0};
    far_status st;
    FAR_TRY(open_components(ctx, view, s, targets, start, &p));
    for (int64_t k = 0; k < count; k++) {
        if (!(times[k] >= 0)) {
            st = far_fail(ctx, FAR_ERR_ARG, "time %lld is %g but must not be negative",
                          (long long)k + 1, times[k]);
            goto done;
        }
        FAR_TRY(check_steps(ctx, s, times[k]));
    }
    for (int64_t k = 0; k < count; k++) {
        losses[k] = loss_at(&p, s, times[k]);
    }
done:
    close_components(ctx, &p);
    return st;
}
