/* The outermost rows of the subset, predicted from the others. */
#include "../solve/solve_internal.h"
#include "select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE_SHARE = 10 }; /* one row in ten is at the edge */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The norm beyond which one row in EDGE_SHARE lies. */
static far_status edge_norm(far_search *s, double *out)
{
    int64_t d = s->model->info.inputs;
    double *norms = NULL;
    far_status st = far_alloc(s->ctx, s->rows, &norms);
    for (int64_t i = 0; st == FAR_OK && i < s->rows; i++) {
        norms[i] = far_dot(s->x + i * d, s->x + i * d, d);
    }
    if (st == FAR_OK) {
        qsort(norms, (size_t)s->rows, sizeof *norms, by_size);
        *out = norms[s->rows - s->rows / EDGE_SHARE - 1];
    }
    far_free(s->ctx, norms);
    return st;
}

static void sort_out(far_search *s, double limit)
{
    far_edge *e = &s->edge;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs;
    const bool *shared = s->rival && s->rival->rows == s->rows ? s->rival->edge.is_outer : NULL;
    for (int64_t i = 0; i < s->rows; i++) {
        bool outer = shared ? shared[i] : far_dot(s->x + i * d, s->x + i * d, d) > limit;
        e->is_outer[i] = outer;
        int64_t at = outer ? e->outer++ : e->inner++;
        memcpy((outer ? e->outer_x : e->inner_x) + at * d, s->x + i * d, (size_t)d * sizeof *s->x);
        memcpy((outer ? e->outer_y : e->inner_y) + at * p, s->y + i * p, (size_t)p * sizeof *s->y);
    }
}

far_status far_edge_find(far_search *s)
{
    far_status st;
    far_edge *e = &s->edge;
    double limit = 0;
    FAR_TRY(edge_norm(s, &limit));
    FAR_TRY(far_alloc(s->ctx, s->rows, &e->is_outer));
    FAR_TRY(far_alloc(s->ctx, s->rows * s->model->info.inputs, &e->inner_x));
    FAR_TRY(far_alloc(s->ctx, s->rows * s->model->info.inputs, &e->outer_x));
    FAR_TRY(far_alloc(s->ctx, s->rows * s->model->info.outputs, &e->inner_y));
    FAR_TRY(far_alloc(s->ctx, s->rows * s->model->info.outputs, &e->outer_y));
    sort_out(s, limit);
done:
    return st;
}

void far_edge_clear(far_ctx *ctx, far_edge *e)
{
    FAR_FREE_ALL(ctx, e->inner_x, e->inner_y, e->outer_x, e->outer_y, e->is_outer);
}

double far_paired_gain(const double *a, const double *b, int64_t count, double *error)
{
    long double mean = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += ((long double)a[i] - (b ? b[i] : 0)) / (long double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        long double off = (long double)a[i] - (b ? b[i] : 0) - mean;
        square += off * off;
    }
    *error = count > 1 ? sqrt((double)square / (double)(count - 1) / (double)count) : INFINITY;
    return (double)mean;
}

static far_status predict_edge(far_search *s, const far_kernel *k, const far_system *system,
                               double *losses, far_score *out)
{
    far_status st;
    const far_edge *e = &s->edge;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs;
    double *alpha = NULL, *cross = NULL, *miss = NULL;
    double spread = far_target_variance(e->outer_y, e->outer, p);
    bool classes = s->model->info.task == FAR_TASK_CLASSIFY;
    far_left_out l = {0};
    FAR_TRY(far_alloc(s->ctx, e->inner * p, &alpha));
    FAR_TRY(far_alloc(s->ctx, e->outer * e->inner, &cross));
    FAR_TRY(far_alloc(s->ctx, e->outer * p, &miss));
    far_mat y = far_mat_view(e->inner_y, e->inner, p, FAR_F64);
    far_mat a = far_mat_view(alpha, e->inner, p, FAR_F64);
    far_mat x1 = far_mat_view(e->outer_x, e->outer, d, FAR_F64);
    far_mat x2 = far_mat_view(e->inner_x, e->inner, d, FAR_F64);
    far_mat c = far_mat_view(cross, e->outer, e->inner, FAR_F64);
    far_mat g = far_mat_view(miss, e->outer, p, FAR_F64);
    if (classes) { /* their probabilities are learnt from the inner rows */
        FAR_TRY(far_score_left_out(s, system, &y, alpha, &l));
    } else {
        memcpy(alpha, e->inner_y, (size_t)(e->inner * p) * sizeof *alpha);
        FAR_TRY(far_system_solve_once(s->ctx, system, &a));
    }
    FAR_TRY(far_kernel_eval_kind(s->ctx, k, s->model->info.kernel, &x1, &x2, &c));
    FAR_TRY(far_multiply(s->ctx, &c, &a, &g));
    for (int64_t i = 0; i < e->outer * p; i++) {
        miss[i] = e->outer_y[i] - miss[i];
    }
    far_squared_losses(miss, e->outer, p, spread, losses);
    out->edge = out->edge_loss = spread > 0 ? far_mean(losses, e->outer) : INFINITY;
    if (classes) {
        FAR_TRY(far_log_losses(s, e->inner_y, &l, e->outer_y, miss, e->outer, losses));
        out->edge_loss = far_mean(losses, e->outer);
    }
done:
    far_left_out_clear(s->ctx, &l);
    FAR_FREE_ALL(s->ctx, alpha, cross, miss);
    return st;
}

far_status far_edge_evaluate(far_search *s, const far_kernel *k, double ridge, double *losses,
                             far_score *out)
{
    far_status st;
    far_system *system = NULL;
    far_kernel_points points = {
        k, far_mat_view(s->edge.inner_x, s->edge.inner, s->model->info.inputs, FAR_F64),
        s->model->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    far_solve_opts o = far_score_opts(s, ridge);
    out->edge = out->edge_loss = INFINITY;
    far_progress_hold(s->ctx);
    FAR_TRY(far_system_create(s->ctx, &matrix, &o, &system));
    FAR_TRY(predict_edge(s, k, system, losses, out));
done:
    far_progress_release(s->ctx);
    far_system_destroy(system);
    return st == FAR_ERR_SINGULAR ? FAR_OK : st;
}

/* S x for the rows of x, which come back in memory of their own. */
static far_status map_rows(const far_search *s, const far_metric *metric, double *x, int64_t rows,
                           double **out)
{
    int64_t d = s->model->info.inputs;
    far_status st = far_alloc(s->ctx, rows * d, out);
    far_mat from = far_mat_view(x, rows, d, FAR_F64), to = far_mat_view(*out, rows, d, FAR_F64);
    return st == FAR_OK ? far_metric_apply(s->ctx, metric, &from, &to) : st;
}

far_status far_edge_behind(far_search *s, far_trial *t)
{
    far_status st = FAR_OK;
    const far_edge plain = s->edge;
    far_metric metric = {0};
    if (plain.outer == 0 || !t->teacher) {
        return FAR_OK;
    }
    s->edge.inner_x = s->edge.outer_x = NULL;
    far_mat x = far_mat_view(plain.inner_x, plain.inner, s->model->info.inputs, FAR_F64);
    far_mat y = far_mat_view(plain.inner_y, plain.inner, s->model->info.outputs, FAR_F64);
    FAR_TRY(far_recipe_learn(s, t->teacher, &t->recipe, &x, &y, &metric));
    FAR_TRY(map_rows(s, &metric, plain.inner_x, plain.inner, &s->edge.inner_x));
    FAR_TRY(map_rows(s, &metric, plain.outer_x, plain.outer, &s->edge.outer_x));
    FAR_TRY(far_alloc(s->ctx, plain.outer, &t->edge));
    FAR_TRY(far_edge_evaluate(s, t->kernel, t->ridge, t->edge, &t->score));
done:
    FAR_FREE_ALL(s->ctx, s->edge.inner_x, s->edge.outer_x);
    far_metric_clear(s->ctx, &metric);
    s->edge = plain;
    return st == FAR_ERR_SINGULAR ? FAR_OK : st;
}
