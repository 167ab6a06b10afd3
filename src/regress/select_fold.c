/*
 * Folds of the subset, each with a metric of its own that its training rows alone have taught it.
 *
 * Leave-one-out after learning a metric from the same rows is optimistic: every row has had its say
 * in the map that it is then predicted through, and among several metrics the one that is fitted
 * closest wins. Here no row that is predicted was seen by the map.
 */
#include "../solve/solve_internal.h"
#include "select.h"

#include <math.h>
#include <string.h>

enum { MOST_KEPT = 4000 };

void far_folds_clear(far_ctx *ctx, far_folds *f)
{
    for (int64_t i = 0; f->fold && i < f->count; i++) {
        far_metric_clear(ctx, &f->fold[i].metric);
        FAR_FREE_ALL(ctx, f->fold[i].x, f->fold[i].y, f->fold[i].z);
    }
    far_free(ctx, f->fold);
    *f = (far_folds){0};
}

/* y less its mean over the training rows, where targets are centred at all. */
static void centre_targets(const far_search *s, far_fold *f)
{
    int64_t p = s->model->info.outputs;
    for (int64_t j = 0; far_model_centred(s->model) > 0 && j < p; j++) {
        long double mean = 0;
        for (int64_t i = 0; i < f->train; i++) {
            mean += f->y[i * p + j] / (long double)f->train;
        }
        for (int64_t i = 0; i < f->train + f->held; i++) {
            f->y[i * p + j] -= (double)mean;
        }
    }
}

/* Rows [first, first + held) of the subset's first `rows` are held out, and stand last. */
static far_status make_fold(const far_search *s, int64_t rows, int64_t first, far_fold *f)
{
    far_status st;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs, rest = rows - first - f->held;
    f->train = rows - f->held;
    FAR_TRY(far_alloc(s->ctx, rows * d, &f->x));
    FAR_TRY(far_alloc(s->ctx, rows * d, &f->z));
    FAR_TRY(far_alloc(s->ctx, rows * p, &f->y));
    struct {
        const double *from;
        double *to;
        int64_t width;
    } both[] = {{s->x, f->x, d}, {s->y, f->y, p}};
    for (int i = 0; i < 2; i++) {
        int64_t w = both[i].width;
        size_t size = sizeof(double) * (size_t)w;
        memcpy(both[i].to, both[i].from, size * (size_t)first);
        memcpy(both[i].to + first * w, both[i].from + (first + f->held) * w, size * (size_t)rest);
        memcpy(both[i].to + f->train * w, both[i].from + first * w, size * (size_t)f->held);
    }
    centre_targets(s, f);
done:
    return st;
}

static far_mat rows_of(double *data, int64_t first, int64_t count, int64_t cols)
{
    return far_mat_view(data + first * cols, count, cols, FAR_F64);
}

/* z = S x */
static far_status map_fold(const far_search *s, far_fold *f)
{
    int64_t d = s->model->info.inputs, rows = f->train + f->held;
    far_mat x = rows_of(f->x, 0, rows, d), z = rows_of(f->z, 0, rows, d);
    far_progress_hold(s->ctx);
    far_status st = far_metric_apply(s->ctx, &f->metric, &x, &z);
    far_progress_release(s->ctx);
    return st;
}

far_status far_folds_forget(const far_search *s, far_folds *f)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < f->count; i++) {
        far_metric_clear(s->ctx, &f->fold[i].metric);
        f->fold[i].metric.inputs = s->model->info.inputs;
        st = map_fold(s, &f->fold[i]);
    }
    return st;
}

far_status far_folds_make(const far_search *s, int64_t rows, int64_t count, far_folds *out)
{
    far_status st;
    *out = (far_folds){.rows = rows};
    FAR_TRY(far_alloc(s->ctx, count, &out->fold));
    for (int64_t i = 0; i < count; i++) {
        int64_t first = i * rows / count;
        out->count = i + 1;
        out->fold[i].held = (i + 1) * rows / count - first;
        FAR_TRY(make_fold(s, rows, first, &out->fold[i]));
    }
    FAR_TRY(far_folds_forget(s, out));
done:
    if (st != FAR_OK) {
        far_folds_clear(s->ctx, out);
    }
    return st;
}

far_status far_folds_last(const far_search *s, int64_t rows, int64_t held, far_folds *out)
{
    far_status st;
    *out = (far_folds){.rows = held, .first = rows - held};
    FAR_TRY(far_alloc(s->ctx, 1, &out->fold));
    out->count = 1;
    out->fold[0].held = held;
    FAR_TRY(make_fold(s, rows, rows - held, &out->fold[0]));
    FAR_TRY(far_folds_forget(s, out));
done:
    if (st != FAR_OK) {
        far_folds_clear(s->ctx, out);
    }
    return st;
}

far_status far_fold_behind(const far_search *s, far_metric *metric, far_fold *f)
{
    far_metric_clear(s->ctx, &f->metric);
    f->metric = *metric;
    *metric = (far_metric){0};
    return map_fold(s, f);
}

/* ---- learning ------------------------------------------------------------------------------ */

/* One more round. */
static far_status learn(const far_search *s, const far_kernel *k, const far_recipe *r, double ridge,
                        const far_mat *x, const far_mat *y, far_metric *metric)
{
    far_metric next = {0};
    far_tuning_opts o = {s->groups, s->group_count, ridge, isnan(s->fixed_ridge)};
    far_kernel_kind kind = s->model->info.kernel;
    far_progress_hold(s->ctx);
    far_status st =
        r->power == 0 ? far_metric_tune(s->ctx, k, kind, &o, x, y, &next)
                      : far_metric_learn(s->ctx, k, ridge, metric, r->kind, r->power, x, y, &next);
    far_progress_release(s->ctx);
    if (st == FAR_OK) {
        far_metric_clear(s->ctx, metric);
        *metric = next;
    }
    return st;
}

far_status far_folds_learn(const far_search *s, far_folds *f, const far_kernel *k,
                           const far_recipe *r, double ridge)
{
    far_status st = FAR_OK;
    int64_t d = s->model->info.inputs, p = s->model->info.outputs;
    for (int64_t i = 0; st == FAR_OK && i < f->count; i++) {
        far_fold *one = &f->fold[i];
        far_mat x = rows_of(one->x, 0, one->train, d), y = rows_of(one->y, 0, one->train, p);
        FAR_TRY(learn(s, k, r, ridge, &x, &y, &one->metric));
        FAR_TRY(map_fold(s, one));
    }
done:
    return st;
}

far_status far_folds_keep(const far_search *s, const far_folds *f, far_trial *t)
{
    far_status st;
    far_trial_forget_maps(s->ctx, t);
    FAR_TRY(far_alloc(s->ctx, f->count, &t->maps));
    for (; t->map_count < f->count; t->map_count++) {
        FAR_TRY(far_metric_copy(s->ctx, &f->fold[t->map_count].metric, &t->maps[t->map_count]));
    }
done:
    return st;
}

far_status far_folds_restore(const far_search *s, far_folds *f, const far_trial *t)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < f->count; i++) {
        far_metric copy;
        FAR_TRY(far_metric_copy(s->ctx, &t->maps[i], &copy));
        FAR_TRY(far_fold_behind(s, &copy, &f->fold[i]));
    }
done:
    return st;
}

far_status far_recipe_learn(const far_search *s, const far_kernel *k, const far_recipe *r,
                            const far_mat *x, const far_mat *y, far_metric *out)
{
    far_status st = FAR_OK;
    *out = (far_metric){.inputs = x->cols};
    for (int64_t t = 0; st == FAR_OK && t < r->rounds; t++) {
        st = learn(s, k, r, r->ridges[t], x, y, out);
    }
    if (st != FAR_OK) {
        far_metric_clear(s->ctx, out);
    }
    return st;
}

/* ---- scoring ------------------------------------------------------------------------------- */

/* miss (held x p) at one ridge, by k between training rows and cross between held and training
 * rows; INFINITY: k is singular. */
static far_status miss_held(const far_search *s, const far_fold *f, const far_symmetric *k,
                            double ridge, const far_mat *cross, double *miss)
{
    far_status st;
    far_system *system = NULL;
    double *alpha = NULL;
    int64_t p = s->model->info.outputs, held = f->held * p;
    far_solve_opts o = far_score_opts(s, ridge);
    far_mat out = far_mat_view(miss, f->held, p, FAR_F64);
    FAR_TRY(far_alloc(s->ctx, f->train * p, &alpha));
    far_mat a = far_mat_view(alpha, f->train, p, FAR_F64);
    memcpy(alpha, f->y, (size_t)(f->train * p) * sizeof *alpha);
    FAR_TRY(far_system_create(s->ctx, k, &o, &system));
    FAR_TRY(far_system_solve_once(s->ctx, system, &a));
    FAR_TRY(far_multiply(s->ctx, cross, &a, &out));
    for (int64_t i = 0; i < held; i++) {
        miss[i] = f->y[f->train * p + i] - miss[i];
    }
done:
    far_system_destroy(system);
    far_free(s->ctx, alpha);
    for (int64_t i = 0; st == FAR_ERR_SINGULAR && i < held; i++) {
        miss[i] = INFINITY;
    }
    return st == FAR_ERR_SINGULAR ? FAR_OK : st;
}

/* The same at every ridge, each ridge's misses `apart` from those of the one before. */
static far_status miss_fold(const far_search *s, const far_fold *f, const far_kernel *k,
                            const double *ridges, int64_t count, int64_t apart, double *miss)
{
    far_status st;
    int64_t d = s->model->info.inputs;
    far_kernel_kind kind = s->model->info.kernel;
    double *room = NULL;
    far_mat held = rows_of(f->z, f->train, f->held, d), train = rows_of(f->z, 0, f->train, d);
    /* Of many rows the kernel is cheap beside the factor, and not held as well. */
    int64_t kept = f->train > MOST_KEPT ? 0 : f->train;
    FAR_TRY(far_alloc(s->ctx, (f->held + kept) * f->train, &room));
    far_mat square = rows_of(room, 0, kept, f->train);
    far_mat cross = rows_of(room, kept, f->held, f->train);
    far_kernel_points points = {k, train, kind, 0};
    FAR_TRY(kept ? far_kernel_eval_kind(s->ctx, k, kind, &train, NULL, &square) : FAR_OK);
    FAR_TRY(far_kernel_eval_kind(s->ctx, k, kind, &held, &train, &cross));
    far_symmetric matrix = kept ? far_stored_matrix(&square) : far_kernel_points_matrix(&points);
    for (int64_t r = 0; r < count; r++) {
        FAR_TRY(miss_held(s, f, &matrix, ridges[r], &cross, miss + r * apart));
    }
done:
    far_free(s->ctx, room);
    return st;
}

/* Losses of the rows, which are missed by so much, and their mean. */
static far_status judge(const far_search *s, const far_folds *f, double *miss, double *losses,
                        double *mean, double *square)
{
    far_status st = FAR_OK;
    int64_t p = s->model->info.outputs, rows = f->rows;
    const double *y = s->y + f->first * p;
    far_squared_losses(miss, rows, p, far_target_variance(y, rows, p), losses);
    *mean = *square = far_mean(losses, rows);
    if (s->model->info.task == FAR_TASK_CLASSIFY && isfinite(*mean)) {
        far_left_out l = {.count = rows, .outputs = p, .miss = miss};
        st = far_log_losses(s, y, &l, y, miss, rows, losses);
        *mean = far_mean(losses, rows);
    }
    *mean = isfinite(*mean) ? *mean : INFINITY;
    return st;
}

far_status far_folds_score(far_search *s, const far_folds *f, const far_kernel *k,
                           const double *ridges, int64_t count, double *misses, double *losses,
                           double *means, double *squares)
{
    far_status st;
    int64_t p = s->model->info.outputs, apart = f->rows * p, first = 0;
    st = far_search_progress(s);
    if (st != FAR_OK) {
        return st;
    }
    far_progress_hold(s->ctx);
    for (int64_t i = 0; i < f->count; i++) {
        FAR_TRY(miss_fold(s, &f->fold[i], k, ridges, count, apart, misses + first * p));
        first += f->fold[i].held;
    }
    for (int64_t r = 0; r < count; r++) {
        FAR_TRY(judge(s, f, misses + r * apart, losses + r * f->rows, &means[r], &squares[r]));
    }
done:
    far_progress_release(s->ctx);
    return st;
}
