/* Landmarks: which, and the tangent kernel among them. */
#include "laplace_internal.h"

#include <string.h>

enum { STRIP = 256 };

void far_landmarks_clear(far_ctx *ctx, far_landmarks *l)
{
    far_free(ctx, l->points);
    far_free(ctx, l->outputs);
    *l = (far_landmarks){0};
}

/* ---- which --------------------------------------------------------------------------------- */

/* The order of the points, by classes in turn: all firsts of their class, then all seconds, .. */
static far_status deal_classes(far_ctx *ctx, const int64_t *labels, int64_t classes, int64_t n,
                               int64_t *order)
{
    int64_t *turn = NULL, *dealt = NULL, *seen = NULL, *start = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, n, &turn));
    FAR_TRY(far_alloc(ctx, n, &dealt));
    FAR_TRY(far_alloc(ctx, classes, &seen));
    FAR_TRY(far_alloc(ctx, n + 1, &start));
    for (int64_t j = 0; j < n; j++) {
        turn[j] = seen[labels[order[j]]]++;
        start[turn[j] + 1]++;
    }
    for (int64_t t = 0; t < n; t++) {
        start[t + 1] += start[t];
    }
    for (int64_t j = 0; j < n; j++) {
        dealt[start[turn[j]]++] = order[j];
    }
    memcpy(order, dealt, (size_t)n * sizeof *order);
done:
    FAR_FREE_ALL(ctx, turn, dealt, seen, start);
    return st;
}

/* The output that point j of the order takes first. Shifted by one every round: classes in turn
 * and outputs in turn must not be the same thing. */
static int64_t first_output(const far_laplace_opts *o, int64_t j, int64_t outputs)
{
    return o->balanced ? (j + j / outputs) % outputs
                       : (int64_t)(far_random_bits(o->seed + 1, (uint64_t)j) % (uint64_t)outputs);
}

/* Every round takes every point once, each time with its next output: no pair comes twice. */
static void deal_outputs(const far_laplace_opts *o, const int64_t *order, int64_t n,
                         int64_t outputs, far_landmarks *l)
{
    int64_t next = 0;
    for (int64_t a = 0; a < outputs; a++) {
        for (int64_t m = 0; m < l->count; m++) {
            int64_t j = m % n, round = m / n;
            if ((first_output(o, j, outputs) + round) % outputs == a) {
                l->points[next] = order[j];
                l->outputs[next++] = a;
            }
        }
    }
}

far_status far_landmarks_choose(far_ctx *ctx, const far_laplace_info *info,
                                const far_laplace_opts *opts, far_landmarks *out)
{
    int64_t *order = NULL, n = info->rows;
    far_status st = FAR_OK;
    *out = (far_landmarks){.count = info->landmarks};
    FAR_TRY(far_alloc(ctx, out->count, &out->points));
    FAR_TRY(far_alloc(ctx, out->count, &out->outputs));
    FAR_TRY(far_alloc(ctx, n, &order));
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    far_random_shuffle(opts->seed, order, n);
    if (opts->balanced && opts->labels) {
        int64_t classes = far_laplace_classes(info->likelihood, info->outputs);
        FAR_TRY(deal_classes(ctx, opts->labels, classes, n, order));
    }
    deal_outputs(opts, order, n, info->outputs, out);
done:
    far_free(ctx, order);
    return st;
}

/* ---- their kernel -------------------------------------------------------------------------- */

static void keep(const far_vectors *from, int64_t rows, int64_t first, far_vectors *to)
{
    if (from->length > 0) {
        memcpy((double *)to->rows + first * to->length, from->rows,
               (size_t)(rows * from->length) * sizeof(double));
    }
}

/* Landmarks [first, first + part->rows), which share an output. */
static far_status add_group(far_tangent *t, const far_mat *part, int64_t output, int64_t first,
                            int64_t count, far_factors *all)
{
    far_factors some = {0};
    far_status st = FAR_OK;
    t->opts.output = output;
    FAR_TRY(far_factors_create(t->ctx, &t->plan, part, &some));
    FAR_TRY(all->items ? FAR_OK : far_factors_like(t->ctx, &some, count, all));
    for (int64_t l = 0; l < some.count; l++) {
        keep(&some.items[l].inputs, part->rows, first, &all->items[l].inputs);
        keep(&some.items[l].gradients, part->rows, first, &all->items[l].gradients);
    }
done:
    far_factors_clear(&some);
    return st;
}

static far_status make_factors(far_ctx *ctx, const far_net *net, const far_landmarks *l,
                               const far_mat *x, far_factors *all)
{
    far_tangent t;
    far_status st = FAR_OK;
    FAR_TRY(far_tangent_open(ctx, net, FAR_NTK_ONE, &t));
    for (int64_t first = 0, end; first < l->count; first = end) {
        for (end = first; end < l->count && l->outputs[end] == l->outputs[first];) {
            end++;
        }
        far_mat part = far_mat_part(x, first, end - first);
        FAR_TRY(add_group(&t, &part, l->outputs[first], first, l->count, all));
    }
done:
    far_tangent_close(&t);
    return st;
}

/* Columns [first, first + cols) of a product of vectors with themselves, from row first on. */
typedef struct strip {
    int64_t first, rows, cols;
    double *turned, *hh, *dd; /* longest x cols, rows x cols, rows x cols */
} strip;

static far_status multiply(far_ctx *ctx, const far_vectors *v, const strip *s, double *out)
{
    far_mat left =
        far_mat_view((double *)v->rows + s->first * v->length, s->rows, v->length, FAR_F64);
    far_mat part = far_mat_part(&left, 0, s->cols);
    far_mat right = far_mat_view(s->turned, v->length, s->cols, FAR_F64);
    far_mat product = far_mat_view(out, s->rows, s->cols, FAR_F64);
    far_transpose(ctx, &part, s->turned);
    return far_multiply(ctx, &left, &right, &product);
}

static far_status add_layer(far_ctx *ctx, const far_factor *f, const strip *s, far_mat *k)
{
    bool dense = f->inputs.length > 0;
    far_status st = FAR_OK;
    FAR_TRY(dense ? multiply(ctx, &f->inputs, s, s->hh) : FAR_OK);
    FAR_TRY(multiply(ctx, &f->gradients, s, s->dd));
    for (int64_t i = 0; i < s->rows; i++) {
        double *to = (double *)far_mat_row(k, s->first + i) + s->first;
        const double *hh = s->hh + i * s->cols, *dd = s->dd + i * s->cols;
        for (int64_t j = 0; j < s->cols; j++) {
            to[j] += (dense ? f->by_input * hh[j] + f->constant : f->constant) * dd[j];
        }
    }
done:
    return st;
}

static int64_t longest(const far_factors *f)
{
    int64_t most = 0;
    for (int64_t l = 0; l < f->count; l++) {
        int64_t h = f->items[l].inputs.length, d = f->items[l].gradients.length;
        most = most > h ? most : h;
        most = most > d ? most : d;
    }
    return most;
}

static far_status fill(far_ctx *ctx, const far_factors *f, far_mat *k)
{
    strip s = {0};
    int64_t width = far_least(STRIP, k->rows);
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, longest(f) * width, &s.turned));
    FAR_TRY(far_alloc(ctx, k->rows * width, &s.hh));
    FAR_TRY(far_alloc(ctx, k->rows * width, &s.dd));
    memset(k->data, 0, (size_t)(k->rows * k->cols) * sizeof(double));
    for (; s.first < k->rows; s.first += s.cols) {
        FAR_TRY(far_progress(ctx, "landmarks", s.first, k->rows));
        s.rows = k->rows - s.first;
        s.cols = far_least(width, s.rows);
        for (int64_t l = 0; l < f->count; l++) {
            FAR_TRY(add_layer(ctx, &f->items[l], &s, k));
        }
    }
done:
    FAR_FREE_ALL(ctx, s.turned, s.hh, s.dd);
    return st;
}

far_status far_landmarks_gram(far_ctx *ctx, const far_net *net, const far_landmarks *l,
                              const far_mat *x, far_mat *k)
{
    far_factors all = {.ctx = ctx};
    far_status st = FAR_OK;
    FAR_TRY(make_factors(ctx, net, l, x, &all));
    FAR_TRY(fill(ctx, &all, k));
done:
    far_factors_clear(&all);
    return st;
}
