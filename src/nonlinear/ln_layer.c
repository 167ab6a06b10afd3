/* One layer of linear and LN that breaks the linear bound: lines, then planes, then the network. */
#include "../net/net_internal.h"
#include "ln_search.h"

#include <math.h>
#include <string.h>

#define LINE_POINTS 4096                 /* lines are compared on */
#define PLANE_NUMBERS ((int64_t)1 << 25) /* coordinates that the last descent sees */
#define START_NUMBERS ((int64_t)1 << 20) /* and the ones before it, if more than LINE_POINTS */
#define STARTS 4                         /* best lines from which planes start */
#define RANDOM_STARTS 6
#define FEW_STARTS 2                 /* lines, and half as many random ones, where a step is long */
#define LONG_STEP ((int64_t)1 << 20) /* coordinates */
#define SIZE 1e6 /* of what the norm gets: an eps of 1e-5 is nothing beside its square */
#define BROKEN_BY 1e-9

typedef struct plane_search {
    far_ctx *ctx;
    far_labelled points;
    far_white white;
    far_sample sample, plane_sample;
    far_plane along, lines[STARTS], plane; /* lines: the best first */
    int64_t line_count, done, todo;
    const far_ln_layer_opts *opts;
} plane_search;

void far_ln_layer_opts_init(far_ln_layer_opts *opts)
{
    *opts = (far_ln_layer_opts){.size = sizeof *opts, .directions = 32, .steps = 200};
}

static far_status check_opts(far_ctx *ctx, const far_ln_layer_opts *o)
{
    if (o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_ln_layer_opts_init first");
    }
    if (o->directions < 1 || o->directions > 1000000) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld directions; take 1 to 1000000",
                        (long long)o->directions);
    }
    if (o->steps < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld steps", (long long)o->steps);
    }
    return FAR_OK;
}

static int64_t plane_numbers(const plane_search *h)
{
    return 2 * (h->white.rank + 1);
}

static far_status make_plane(const plane_search *h, far_plane *p)
{
    p->lssr = INFINITY;
    return far_alloc(h->ctx, plane_numbers(h), &p->a);
}

static void copy_plane(const plane_search *h, const far_plane *from, far_plane *to)
{
    memcpy(to->a, from->a, (size_t)plane_numbers(h) * sizeof *to->a);
    to->lssr = from->lssr;
}

static void plane_search_clear(plane_search *h)
{
    far_free(h->ctx, h->along.a);
    far_free(h->ctx, h->plane.a);
    for (int i = 0; i < STARTS; i++) {
        far_free(h->ctx, h->lines[i].a);
    }
    far_sample_clear(&h->sample);
    far_sample_clear(&h->plane_sample);
    far_white_clear(h->ctx, &h->white);
    far_labelled_clear(&h->points);
}

static far_status plane_search_create(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                                      int64_t classes, plane_search *h)
{
    far_status st = FAR_OK;
    FAR_TRY(far_labelled_create(ctx, x, labels, classes, &h->points));
    FAR_TRY(far_white_create(&h->points, &h->white));
    FAR_TRY(far_sample_create(&h->points, &h->white, LINE_POINTS, &h->sample));
    FAR_TRY(make_plane(h, &h->along));
    FAR_TRY(make_plane(h, &h->plane));
    for (int i = 0; i < STARTS; i++) {
        FAR_TRY(make_plane(h, &h->lines[i]));
    }
done:
    return st;
}

static far_status report(plane_search *h)
{
    far_progress_release(h->ctx);
    far_status st = far_progress(h->ctx, "layer", h->done++, h->todo);
    far_progress_hold(h->ctx);
    return st;
}

/* ---- lines --------------------------------------------------------------------------------- */

static void keep_line(plane_search *h, const far_plane *p)
{
    int64_t at = h->line_count < STARTS ? h->line_count++ : STARTS - 1;
    if (at == STARTS - 1 && !(p->lssr < h->lines[at].lssr)) {
        return;
    }
    copy_plane(h, p, &h->lines[at]);
    for (; at > 0 && h->lines[at].lssr < h->lines[at - 1].lssr; at--) {
        far_plane kept = h->lines[at];
        h->lines[at] = h->lines[at - 1];
        h->lines[at - 1] = kept;
    }
}

/* The best layer along each direction. The first one is the best linear axis: what is found along
 * it is kept apart, since it shows what the norm adds to a linear map. */
static far_status search_lines(plane_search *h)
{
    far_plane line = {0};
    double *directions = NULL;
    int64_t rank = h->white.rank, count = 0;
    far_status st = FAR_OK;
    FAR_TRY(make_plane(h, &line));
    FAR_TRY(far_alloc(h->ctx, h->opts->directions * rank, &directions));
    FAR_TRY(far_ln_directions(&h->points, &h->white, &h->sample, h->opts->directions, h->opts->seed,
                              directions, &count));
    h->todo = count + (h->opts->steps > 0 ? STARTS + RANDOM_STARTS + 2 : 0);
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(report(h));
        FAR_TRY(far_ln_line(&h->sample, directions + i * rank, &line));
        keep_line(h, &line);
        if (i == 0 && h->white.axis_count > 0) {
            copy_plane(h, &line, &h->along);
        }
    }
done:
    far_free(h->ctx, line.a);
    far_free(h->ctx, directions);
    return st;
}

/* ---- planes -------------------------------------------------------------------------------- */

/* Where planes are searched: a part of the points that is worth repeated descents. */
static far_status sample_planes(plane_search *h, int64_t numbers)
{
    int64_t most = numbers / h->white.rank + 1;
    int64_t tried = h->plane_sample.tried;
    far_sample_clear(&h->plane_sample);
    far_status st = far_sample_create(&h->points, &h->white,
                                      most > LINE_POINTS ? most : LINE_POINTS, &h->plane_sample);
    h->plane_sample.tried = tried;
    return st;
}

static far_status descend_from(plane_search *h, const far_plane *start, int64_t steps, far_plane *p)
{
    far_status st = report(h);
    if (st == FAR_OK) {
        copy_plane(h, start, p);
        st = far_ln_plane(&h->plane_sample, steps, p);
    }
    if (st == FAR_OK && p->lssr < h->plane.lssr) {
        copy_plane(h, p, &h->plane);
    }
    return st;
}

/* Once more over all points, where the first descents saw some: what was best for these, and the
 * best line. */
static far_status finish_plane(plane_search *h, far_plane *start, far_plane *p)
{
    far_status st = FAR_OK;
    if (h->plane_sample.n == h->points.n) {
        return FAR_OK;
    }
    FAR_TRY(sample_planes(h, PLANE_NUMBERS));
    copy_plane(h, &h->plane, start);
    h->plane.lssr = INFINITY;
    FAR_TRY(descend_from(h, start, (h->opts->steps + 1) / 2, p));
    FAR_TRY(descend_from(h, &h->lines[0], (h->opts->steps + 1) / 2, p));
done:
    return st;
}

static void draw_plane(const plane_search *h, int64_t which, far_plane *p)
{
    int64_t numbers = plane_numbers(h);
    for (int64_t j = 0; j < numbers; j++) {
        p->a[j] = far_random_normal(~h->opts->seed, (uint64_t)(which * numbers + j));
    }
}

/* Descends from the best lines and from random planes, on a part of the points; fewer starts where
 * a step is long. The best of them is finished on more. */
static far_status search_planes(plane_search *h)
{
    far_plane start = {0}, p = {0};
    int64_t steps = h->opts->steps;
    far_status st = FAR_OK;
    if (steps == 0) {
        return FAR_OK;
    }
    FAR_TRY(make_plane(h, &start));
    FAR_TRY(make_plane(h, &p));
    FAR_TRY(sample_planes(h, START_NUMBERS));
    bool few = h->plane_sample.n * h->white.rank > LONG_STEP;
    for (int64_t i = 0; i < h->line_count && (!few || i < FEW_STARTS); i++) {
        FAR_TRY(descend_from(h, &h->lines[i], steps, &p));
    }
    for (int64_t i = 0; i < (few ? FEW_STARTS / 2 : RANDOM_STARTS); i++) {
        draw_plane(h, i, &start);
        FAR_TRY(descend_from(h, &start, steps, &p));
    }
    FAR_TRY(finish_plane(h, &start, &p));
done:
    far_free(h->ctx, start.a);
    far_free(h->ctx, p.a);
    return st;
}

/* ---- the network --------------------------------------------------------------------------- */

/* SIZE over the root mean square of h, over the sample. */
static double weight_size(const plane_search *h, const far_plane *p)
{
    const far_sample *s = &h->sample;
    double square = 0;
    for (int64_t i = 0; i < s->n; i++) {
        for (int c = 0; c < 2; c++) {
            double at = p->a[2 * s->rank + c];
            for (int64_t k = 0; k < s->rank; k++) {
                at += s->u[i * s->rank + k] * p->a[2 * k + c];
            }
            square += at * at / (double)s->n;
        }
    }
    return square > 0 ? SIZE / sqrt(square) : SIZE;
}

/* Three neurons whose differences are h: the columns are orthonormal, and orthogonal to (1, 1, 1).
 */
static const double SPREAD[3][2] = {{0.70710678118654752440, 0.40824829046386301637},
                                    {-0.70710678118654752440, 0.40824829046386301637},
                                    {0, -0.81649658092772603273}};

/* weights (3 x d) and bias, of x itself. */
static void set_weights(const plane_search *h, const far_plane *p, double *weights, double *bias)
{
    const far_labelled *l = &h->points;
    int64_t rank = h->white.rank, d = l->d;
    double size = weight_size(h, p), shift[2] = {p->a[2 * rank], p->a[2 * rank + 1]};
    const double *pivot = l->x->data;
    for (int64_t j = 0; j < d; j++) {
        double by_z[2] = {0, 0};
        for (int64_t k = 0; k < rank; k++) {
            by_z[0] += h->white.map[j * rank + k] * p->a[2 * k];
            by_z[1] += h->white.map[j * rank + k] * p->a[2 * k + 1];
        }
        for (int c = 0; c < 2; c++) {
            by_z[c] = l->sd[j] > 0 ? by_z[c] / l->sd[j] / l->size[j] : 0;
            shift[c] -= by_z[c] * (pivot[j] + l->size[j] * l->mean[j]);
        }
        for (int o = 0; o < 3; o++) {
            weights[o * d + j] = size * (SPREAD[o][0] * by_z[0] + SPREAD[o][1] * by_z[1]);
        }
    }
    for (int o = 0; o < 3; o++) {
        bias[o] = size * (SPREAD[o][0] * shift[0] + SPREAD[o][1] * shift[1]);
    }
}

static far_status check_weights(const plane_search *h, const double *weights)
{
    int64_t d = h->points.d;
    for (int64_t i = 0; i < 3 * d; i++) {
        if (!isfinite(weights[i])) {
            return far_fail(h->ctx, FAR_ERR_VALUE,
                            "x: column %lld spans %.3g at most, so little that weights overflow; "
                            "multiply it first",
                            (long long)(i % d) + 1, 2 * h->points.size[i % d]);
        }
    }
    return FAR_OK;
}

static far_status make_net(const plane_search *h, const far_plane *p, far_net **out)
{
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = h->points.d;
    far_status st = far_net_create(h->ctx, "dense(3) ln", &o, out);
    if (st == FAR_OK) {
        (*out)->info.init = -1;
        set_weights(h, p, (*out)->params, (*out)->params + 3 * o.inputs);
        st = check_weights(h, (*out)->params);
    }
    return st;
}

/* What far_net_eval makes of the points. */
static far_status measure_net(const plane_search *h, const far_net *net, far_ssr *ssr,
                              double readout[3])
{
    double *outputs = NULL;
    const far_labelled *l = &h->points;
    far_mat direction = far_mat_view(readout, 1, 3, FAR_F64);
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(h->ctx, 3 * l->n, &outputs));
    far_mat out = far_mat_view(outputs, l->n, 3, FAR_F64);
    FAR_TRY(far_net_eval(h->ctx, net, l->x, &out));
    FAR_TRY(far_ssr_measure(h->ctx, &out, l->labels, l->classes, ssr, &direction));
done:
    far_free(h->ctx, outputs);
    return st;
}

/* The network of p, measured; it takes the place of *best if it is better. */
static far_status try_net(plane_search *h, const far_plane *p, double *lssr, far_net **best,
                          far_ln_layer_info *info)
{
    far_net *net = NULL;
    far_ssr ssr;
    double readout[3];
    far_status st = FAR_OK;
    FAR_TRY(make_net(h, p, &net));
    FAR_TRY(measure_net(h, net, &ssr, readout));
    *lssr = ssr.lssr;
    if (!*best || ssr.lssr < info->lssr) {
        far_net *worse = *best;
        *best = net;
        net = worse;
        info->ssr = ssr.ssr;
        info->lssr = ssr.lssr;
        memcpy(info->readout, readout, sizeof readout);
    }
done:
    far_net_destroy(net);
    return st;
}

static far_status choose_net(plane_search *h, far_net **best, far_ln_layer_info *info)
{
    double lssr;
    far_status st = FAR_OK;
    info->along = info->line = NAN;
    FAR_TRY(try_net(h, &h->lines[0], &info->line, best, info));
    if (h->white.axis_count > 0) {
        FAR_TRY(try_net(h, &h->along, &info->along, best, info));
        info->line = fmin(info->line, info->along);
    }
    if (isfinite(h->plane.lssr)) {
        FAR_TRY(try_net(h, &h->plane, &lssr, best, info));
    }
done:
    return st;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static far_status search(plane_search *h, far_net **best, far_ln_layer_info *info)
{
    far_status st = FAR_OK;
    FAR_TRY(far_ssr_of(&h->points, &h->white, &info->before, NULL));
    FAR_TRY(search_lines(h));
    FAR_TRY(search_planes(h));
    FAR_TRY(choose_net(h, best, info));
    info->broken = info->lssr < info->before.lssr - BROKEN_BY;
    info->candidates = h->sample.tried + h->plane_sample.tried;
done:
    return st;
}

/* The search reports its own progress in units of candidates; what it calls inside holds still. */
far_status far_ln_layer_search(far_ctx *ctx, const far_mat *x, const int64_t *labels,
                               int64_t classes, const far_ln_layer_opts *opts, far_net **out,
                               far_ln_layer_info *info)
{
    far_ln_layer_opts defaults;
    plane_search h = {.ctx = ctx, .sample.ctx = ctx, .plane_sample.ctx = ctx};
    far_net *best = NULL;
    far_ln_layer_info found = {0};
    double start = far_seconds();
    far_status st = FAR_OK;
    far_ln_layer_opts_init(&defaults);
    h.opts = opts ? opts : &defaults;
    if (out) {
        *out = NULL;
    }
    FAR_TRY(check_opts(ctx, h.opts));
    FAR_TRY(plane_search_create(ctx, x, labels, classes, &h));
    far_progress_hold(ctx);
    st = search(&h, &best, &found);
    far_progress_release(ctx);
    FAR_TRY(st);
    FAR_TRY(far_progress(ctx, "layer", h.todo, h.todo));
    found.seconds = far_seconds() - start;
    if (info) {
        *info = found;
    }
    if (out) {
        *out = best;
        best = NULL;
    }
done:
    far_net_destroy(best);
    plane_search_clear(&h);
    return st;
}
