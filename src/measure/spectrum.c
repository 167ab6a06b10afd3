/* Eigenpairs of a view, kept for whoever asks next. */
#include "../gram/gram.h"
#include "../solve/blas.h"
#include "measure_internal.h"

#include <math.h>
#include <string.h>

#define DENSE_UP_TO 200 /* rows; as far_eigen: LAPACK is as fast there */
#define FEW 16          /* part of the rows that Lanczos is for */

static bool are_few(int64_t n, int64_t count)
{
    return n > DENSE_UP_TO && count <= n / FEW;
}

/* ---- order and signs ---- */

static void reverse(double *x, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        double kept = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = kept;
    }
}

static void swap_columns(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void point_upwards(double *x, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fabs(x[i]) > fabs(largest) ? x[i] : largest;
    }
    for (int64_t i = 0; largest < 0 && i < n; i++) {
        x[i] = -x[i];
    }
}

/* From ascending to descending. */
static void arrange(far_pairs *p, int64_t n)
{
    reverse(p->values, p->count);
    for (int64_t j = 0; p->vectors && j < p->count / 2; j++) {
        swap_columns(p->vectors + j * n, p->vectors + (p->count - 1 - j) * n, n);
    }
    for (int64_t j = 0; p->vectors && j < p->count; j++) {
        point_upwards(p->vectors + j * n, n);
    }
}

/* ---- three ways to compute them ---- */

static void copy_kernel(const far_view *v, double *to)
{
    size_t bytes = (size_t)v->info.rows * sizeof *to;
    for (int64_t i = 0; i < v->info.rows; i++) {
        memcpy(to + i * v->info.rows, far_view_row(v, i), bytes);
    }
}

static far_status by_lapack(far_ctx *ctx, const far_view *v, far_pairs *p)
{
    int64_t n = v->info.rows;
    double *copy = NULL;
    far_status st;
    FAR_TRY(far_blas_fits(ctx, n));
    FAR_TRY(far_progress(ctx, "spectrum", 0, 1));
    FAR_TRY(far_alloc(ctx, n * n, &copy));
    copy_kernel(v, copy);
    FAR_TRY(far_dense_eigen(ctx, n, copy, n, n - p->count, p->count, p->values, p->vectors));
    FAR_TRY(far_progress(ctx, "spectrum", 1, 1));
done:
    far_free(ctx, copy);
    return st;
}

/* The matrix is used where it lies. */
static far_status by_lanczos(far_ctx *ctx, far_view *v, far_pairs *p, bool *settled)
{
    int64_t n = v->info.rows;
    far_status st;
    FAR_TRY(far_blas_fits(ctx, n));
    FAR_TRY(far_stored_eigen(ctx, n, v->kernel.data, v->kernel.ld, true, p->count, p->values,
                             p->vectors, settled));
done:
    return st;
}

/* far_net_ntk_eigen writes vectors by rows. */
static far_status by_products(far_ctx *ctx, const far_view *v, far_pairs *p)
{
    int64_t n = v->info.rows;
    double *by_rows = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, n * p->count, &by_rows));
    far_mat values = far_mat_view(p->values, p->count, 1, FAR_F64);
    far_mat vectors = far_mat_view(by_rows, n, p->count, FAR_F64);
    FAR_TRY(far_net_ntk_eigen(ctx, v->net, v->x, v->opts, p->count, &values, &vectors));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < p->count; j++) {
            p->vectors[j * n + i] = by_rows[i * p->count + j];
        }
    }
done:
    far_free(ctx, by_rows);
    return st;
}

/* Eigenvalues that crowd are LAPACK's. */
static far_status by_the_best_way(far_ctx *ctx, far_view *v, far_pairs *p)
{
    bool settled = false;
    far_status st = FAR_OK;
    if (!v->kernel.data) {
        return by_products(ctx, v, p);
    }
    if (p->vectors && are_few(v->info.rows, p->count)) {
        FAR_TRY(by_lanczos(ctx, v, p, &settled));
    }
    if (!settled) {
        FAR_TRY(by_lapack(ctx, v, p));
    }
done:
    return st;
}

static void clear_pairs(far_ctx *ctx, far_pairs *p)
{
    far_free(ctx, p->values);
    far_free(ctx, p->vectors);
    *p = (far_pairs){0};
}

static far_status compute(far_ctx *ctx, far_view *v, int64_t count, bool with_vectors,
                          far_pairs *out)
{
    far_pairs p = {.count = count};
    far_status st;
    FAR_TRY(far_alloc(ctx, count, &p.values));
    if (with_vectors) {
        FAR_TRY(far_alloc(ctx, count * v->info.rows, &p.vectors));
    }
    FAR_TRY(by_the_best_way(ctx, v, &p));
    arrange(&p, v->info.rows);
    *out = p;
    p = (far_pairs){0};
done:
    clear_pairs(ctx, &p);
    return st;
}

/* ---- what is there already ---- */

/* Eigenvectors of Lanczos come nearly for nothing; so a few values are kept with them. */
static bool wants_vectors(const far_view *v, int64_t count, bool asked)
{
    return asked || !v->kernel.data || are_few(v->info.rows, count);
}

static far_status provide_pairs(far_ctx *ctx, far_view *v, int64_t count)
{
    far_pairs found;
    far_status st = FAR_OK;
    if (v->top.count < count) {
        FAR_TRY(compute(ctx, v, count, true, &found));
        clear_pairs(ctx, &v->top);
        v->top = found;
    }
done:
    return st;
}

static far_status provide_values(far_ctx *ctx, far_view *v)
{
    far_pairs found;
    far_status st = FAR_OK;
    if (!v->all) {
        FAR_TRY(compute(ctx, v, v->info.rows, false, &found));
        v->all = found.values;
    }
done:
    return st;
}

static far_status check(far_ctx *ctx, const far_view *v, int64_t *count)
{
    if (*count < 0 || *count > v->info.rows) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld eigenvalues are wanted of a kernel with %lld rows",
                        (long long)*count, (long long)v->info.rows);
    }
    *count = *count ? *count : v->info.rows;
    return *count < v->info.rows ? FAR_OK : far_view_needs_matrix(ctx, v, "all eigenvalues");
}

far_status far_view_spectrum(far_ctx *ctx, far_view *view, int64_t count, int with_vectors,
                             far_spectrum *out)
{
    far_status st;
    FAR_TRY(check(ctx, view, &count));
    *out = (far_spectrum){.rows = view->info.rows, .count = count};
    bool in_all = view->all && !with_vectors;
    if (!in_all && (view->top.count >= count || wants_vectors(view, count, with_vectors))) {
        FAR_TRY(provide_pairs(ctx, view, count));
        out->values = view->top.values;
        out->vectors = with_vectors ? view->top.vectors : NULL;
    } else {
        FAR_TRY(provide_values(ctx, view));
        out->values = view->all;
    }
done:
    return st;
}

/* ---- what follows from all eigenvalues ---- */

static double effective_dimension(const far_spectrum *s, double ridge, double nothing)
{
    double sum = 0;
    for (int64_t i = 0; i < s->count; i++) {
        double l = s->values[i];
        sum += l > nothing ? l / (l + ridge) : 0;
    }
    return sum;
}

static double participation(const far_spectrum *s)
{
    double sum = 0, squares = 0;
    double size = fmax(fabs(s->values[0]), fabs(s->values[s->count - 1]));
    for (int64_t i = 0; size > 0 && i < s->count; i++) {
        double part = s->values[i] / size;
        sum += part;
        squares += part * part;
    }
    return squares > 0 ? sum * sum / squares : 0;
}

far_status far_view_condition(far_ctx *ctx, far_view *view, double ridge, far_condition *out)
{
    far_spectrum s;
    far_status st;
    if (!(ridge >= 0 && ridge < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "ridge is %g but must not be negative", ridge);
    }
    FAR_TRY(far_view_spectrum(ctx, view, 0, 0, &s));
    double largest = s.values[0], least = s.values[s.count - 1];
    double nothing = (double)s.count * 1e-16 * fmax(largest, 0);
    *out = (far_condition){.ridge = ridge,
                           .largest = largest,
                           .least = least,
                           .dimension = effective_dimension(&s, ridge, nothing),
                           .participation = participation(&s)};
    out->condition = least + ridge > nothing ? (largest + ridge) / (least + ridge) : INFINITY;
done:
    return st;
}
