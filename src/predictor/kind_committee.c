/* The mean of other predictors. */
#include "predictor_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SURE 1e-9   /* slopes that cancel to less than this share of them prove nothing */
#define FAR_OUT 1e6 /* data sizes, where a slope is confirmed */
enum { MOST_MEMBERS = 1000 };
static const char OPEN[] =
    "not every member is proven to be bounded, and no direction is known along "
    "which the members do not cancel";

typedef struct committee {
    far_ctx *ctx;
    far_columns *columns; /* of the first member, inputs in raw units, ranges of all */
    far_predictor **members;
    int64_t count;
    far_committee_info info;
    double *width; /* outputs; NULL: 1 */
} committee;

static void destroy(void *self)
{
    committee *c = self;
    for (int64_t i = 0; c->members && i < c->count; i++) {
        far_predictor_destroy(c->members[i]);
    }
    far_columns_destroy(c->columns);
    FAR_FREE_ALL(c->ctx, c->members, c->width, c);
}

static const far_columns *columns(const void *self)
{
    return ((const committee *)self)->columns;
}

static void describe(const void *self, far_predictor_info *out)
{
    out->members = ((const committee *)self)->count;
}

far_committee_info far_committee_unknown(void)
{
    return (far_committee_info){.loo_r2 = NAN,
                                .loo_rmse = NAN,
                                .loo_accuracy = NAN,
                                .loo_log_loss = NAN,
                                .loo_brier = NAN,
                                .loo_ece = NAN};
}

void far_committee_take(far_predictor *p, const far_committee_info *info, double *width)
{
    committee *c = p->self;
    c->info = *info;
    c->width = width;
}

far_committee_info far_predictor_committee_describe(const far_predictor *p)
{
    const committee *c = p->ops == &far_committee_ops ? p->self : NULL;
    far_committee_info info = c ? c->info : far_committee_unknown();
    if (c) {
        info.members = c->count;
        info.width = far_mat_view(c->width, c->width ? 1 : 0, c->columns->info.outputs, FAR_F64);
    }
    return info;
}

const far_predictor *far_predictor_member(const far_predictor *p, int64_t i)
{
    int64_t count;
    far_predictor *const *members = far_predictor_members(p, &count);
    return i >= 0 && i < count ? members[i] : NULL;
}

/* ---- making one ---------------------------------------------------------------------------- */

static bool same_names(char *const *a, char *const *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool same_edges(const far_feature *f, const far_feature *g)
{
    return f->steps == 0 || !memcmp(f->edge, g->edge, (size_t)(f->steps + 1) * sizeof *f->edge);
}

/* Inputs have the same names: ranks are those of the same table too. */
static bool same_ranks(const far_columns *a, const far_columns *b)
{
    bool same = true;
    for (int64_t j = 0; same && j < a->info.features; j++) {
        const far_feature *f = &a->features[j];
        const far_feature *g = b->info.features > j ? &b->features[j] : NULL;
        size_t bytes = (size_t)f->knots * sizeof *f->knot;
        same = f->knots == 0 ? !g || g->knots == 0
                             : g && g->knots == f->knots && g->steps == f->steps &&
                                   !memcmp(f->knot, g->knot, bytes) &&
                                   !memcmp(f->rank, g->rank, bytes) && same_edges(f, g);
    }
    return same;
}

/* Members answer the same question: the same inputs, outputs, and what the outputs are. */
static far_status check_member(far_ctx *ctx, const far_predictor *first, const far_predictor *p,
                               int64_t i)
{
    if (p->ops == &far_committee_ops) {
        return far_fail(ctx, FAR_ERR_ARG, "member %lld is a committee; take its members instead",
                        (long long)i + 1);
    }
    const far_columns *a = far_predictor_columns(first), *b = far_predictor_columns(p);
    bool inputs =
        a->info.inputs == b->info.inputs && same_names(a->inputs, b->inputs, a->info.inputs);
    bool outputs = a->info.outputs == b->info.outputs && a->info.classes == b->info.classes &&
                   a->info.targets == b->info.targets &&
                   same_names(a->targets, b->targets, a->info.targets) &&
                   same_names(a->classes, b->classes, a->info.classes);
    bool scores = a->info.classes == 0 || a->info.loss == b->info.loss;
    bool ranks = !inputs || same_ranks(a, b);
    if (inputs && outputs && scores && ranks) {
        return FAR_OK;
    }
    return far_fail(ctx, FAR_ERR_SHAPE, "member %lld has other %s than the first", (long long)i + 1,
                    !inputs    ? "inputs"
                    : !outputs ? "outputs"
                    : !scores  ? "scores of its classes"
                               : "ranks (fit them to the same rows, or with `ranks` none)");
}

/* What the committee learnt from is what any of its members did, as far as that is known. */
static void widen_ranges(const far_columns *member, far_columns *c)
{
    for (int64_t j = 0; c->features && member->features && j < c->info.features; j++) {
        const far_feature *g = j < member->info.features ? &member->features[j] : NULL;
        far_feature *f = &c->features[j];
        if (f->ranged && g && g->ranged) {
            f->low = fmin(f->low, g->low);
            f->high = fmax(f->high, g->high);
        }
    }
}

/* The committee's own units are raw. */
static far_status take_columns(far_ctx *ctx, far_predictor *const *members, int64_t count,
                               committee *c)
{
    far_status st = far_columns_copy(ctx, far_predictor_columns(members[0]), &c->columns);
    if (st == FAR_OK) {
        far_free(ctx, c->columns->scaling);
        st = far_columns_unscaled(c->columns);
    }
    for (int64_t i = 1; st == FAR_OK && i < count; i++) {
        widen_ranges(far_predictor_columns(members[i]), c->columns);
    }
    return st;
}

static far_status committee_new(far_ctx *ctx, int64_t count, committee **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (committee){.ctx = ctx, .info = far_committee_unknown()};
        st = far_alloc(ctx, count, &(*out)->members);
    }
    return st;
}

static far_status check_members(far_ctx *ctx, far_predictor *const *members, int64_t count)
{
    far_status st = FAR_OK;
    if (count < 1 || count > MOST_MEMBERS) {
        return far_fail(ctx, FAR_ERR_ARG, "a committee has 1 to %d members, not %lld", MOST_MEMBERS,
                        (long long)count);
    }
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = members[i] ? check_member(ctx, members[0], members[i], i)
                        : far_fail(ctx, FAR_ERR_ARG, "member %lld is NULL", (long long)i + 1);
    }
    return st;
}

far_status far_predictor_committee(far_ctx *ctx, far_predictor *const *members, int64_t count,
                                   far_predictor **out)
{
    far_status st;
    committee *c = NULL;
    if (!out || !members) {
        return far_fail(ctx, FAR_ERR_ARG, "members or out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_members(ctx, members, count));
    FAR_TRY(committee_new(ctx, count, &c));
    FAR_TRY(take_columns(ctx, members, count, c));
done:
    st = far_predictor_own(ctx, &far_committee_ops, st, c, out);
    if (st == FAR_OK) { /* only now: the members stay the caller's after a failure */
        memcpy(c->members, members, (size_t)count * sizeof *members);
        c->count = count;
    }
    return st;
}

/* ---- values -------------------------------------------------------------------------------- */

static void add_share(const far_mat *from, double share, far_mat *to)
{
    for (int64_t i = 0; i < to->rows; i++) {
        const double *a = far_mat_row(from, i);
        double *b = far_mat_row(to, i);
        for (int64_t k = 0; k < to->cols; k++) {
            b[k] += share * a[k];
        }
    }
}

static void clear(far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        memset(far_mat_row(m, i), 0, (size_t)m->cols * sizeof(double));
    }
}

/* out = the mean of what call gives of the members. */
static far_status average(far_ctx *ctx, const committee *c, const far_mat *x,
                          far_status (*call)(far_ctx *ctx, const far_predictor *p, const far_mat *x,
                                             far_mat *out),
                          far_mat *out)
{
    double *one = NULL;
    far_status st = far_alloc(ctx, out->rows * out->cols, &one);
    far_mat f = far_mat_view(one, out->rows, out->cols, FAR_F64);
    if (st == FAR_OK) {
        clear(out);
    }
    for (int64_t i = 0; st == FAR_OK && i < c->count; i++) {
        st = call(ctx, c->members[i], x, &f);
        if (st == FAR_OK) {
            add_share(&f, 1 / (double)c->count, out);
        }
    }
    far_free(ctx, one);
    return st;
}

static far_status eval(far_ctx *ctx, const void *self, const far_mat *x, far_mat *out)
{
    return average(ctx, self, x, far_predictor_eval, out);
}

static far_status gradient(far_ctx *ctx, const void *self, const far_mat *x, far_mat *out)
{
    return average(ctx, self, x, far_model_gradient, out);
}

/* Of each output the fastest members count; the others vanish beside them. */
static void join_limit(const far_mat *value, const far_mat *order, double share, far_mat *sum,
                       far_mat *power)
{
    for (int64_t i = 0; i < sum->rows; i++) {
        const double *v = far_mat_row(value, i), *o = far_mat_row(order, i);
        double *s = far_mat_row(sum, i), *p = far_mat_row(power, i);
        for (int64_t k = 0; k < sum->cols; k++) {
            double own = v[k] != 0 ? o[k] : 0;
            if (own > p[k]) {
                p[k] = own;
                s[k] = 0;
            }
            s[k] += own == p[k] ? share * v[k] : 0;
        }
    }
}

static far_status limit(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order)
{
    const committee *c = self;
    double *room = NULL;
    int64_t size = value->rows * value->cols;
    far_status st = far_alloc(ctx, 2 * size, &room);
    far_mat v = far_mat_view(room, value->rows, value->cols, FAR_F64);
    far_mat o = far_mat_view(room + size, value->rows, value->cols, FAR_F64);
    if (st == FAR_OK) {
        clear(value);
        clear(order);
    }
    for (int64_t i = 0; st == FAR_OK && i < c->count; i++) {
        st = far_predictor_limit(ctx, c->members[i], u, &v, &o);
        if (st == FAR_OK) {
            join_limit(&v, &o, 1 / (double)c->count, value, order);
        }
    }
    far_free(ctx, room);
    return st;
}

/* ---- rows of a table ----------------------------------------------------------------------- */

static void add_numbers(const far_mat *from, double share, far_mat *to)
{
    for (int64_t i = 0; i < to->rows * to->cols; i++) {
        ((double *)to->data)[i] += share * ((const double *)from->data)[i];
    }
}

/* The first one's prediction, times share, is what the others are added to. */
static void scale_numbers(double share, far_mat *m)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        ((double *)m->data)[i] *= share;
    }
}

static bool all_infinite(const committee *c)
{
    bool all = true;
    for (int64_t i = 0; i < c->count; i++) {
        all = all && c->members[i]->ops == &far_infinite_ops;
    }
    return all;
}

static far_status check_options(far_ctx *ctx, const committee *c, const far_predict_opts *o)
{
    bool kernels = o->spread != FAR_SPREAD_NONE || isfinite(o->time) || o->steps != 0;
    if ((kernels || o->rate != 0) && !all_infinite(c)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a spread, a time and steps are for models of infinite width, and "
                        "committees of nothing else");
    }
    if (o->spread > FAR_SPREAD_CALIBRATED) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a committee has no prior of its own, and so no spread but the calibrated "
                        "one; ask its members");
    }
    return o->at_infinity && c->columns->info.classes > 0 && !all_infinite(c)
               ? far_fail(ctx, FAR_ERR_ARG,
                          "limits of a committee's probabilities are not defined; ask its members")
               : FAR_OK;
}

/* Scores of classes that grow at different rates have no mean; their probabilities do. */
static far_status same_orders(far_ctx *ctx, const far_prediction *a, const far_prediction *b)
{
    for (int64_t i = 0; i < a->order.rows; i++) {
        if (((const double *)a->order.data)[i] != ((const double *)b->order.data)[i]) {
            return far_fail(ctx, FAR_ERR_ARG,
                            "row %lld: the scores of the members grow at different rates; ask each "
                            "of them",
                            (long long)i + 1);
        }
    }
    return FAR_OK;
}

static void widen(const committee *c, far_mat *std)
{
    for (int64_t i = 0; c->width && i < std->rows * std->cols; i++) {
        ((double *)std->data)[i] *= c->width[i % std->cols];
    }
}

/* The mean of the members' predictions. At infinity members may grow at different rates: the limit
 * of the committee knows which of them count. */
static far_status predict(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *o, far_prediction **out)
{
    const committee *c = self;
    far_prediction *sum = NULL;
    double share = 1 / (double)c->count;
    far_status st = check_options(ctx, c, o);
    if (st == FAR_OK && o->at_infinity && c->columns->info.classes == 0) {
        far_predictor whole = {.ctx = ctx, .ops = &far_committee_ops, .self = (void *)self};
        return far_predict_plain(ctx, &whole, frame, o, NULL, 0, out);
    }
    for (int64_t i = 0; st == FAR_OK && i < c->count; i++) {
        far_prediction *one = NULL;
        st = far_predictor_predict(ctx, c->members[i], frame, o, &one);
        if (st == FAR_OK && i == 0) {
            scale_numbers(share, &one->mean);
            scale_numbers(share, &one->std);
            scale_numbers(share, &one->probability);
            sum = one;
            one = NULL;
        } else if (st == FAR_OK) {
            st = same_orders(ctx, sum, one);
            add_numbers(&one->mean, share, &sum->mean);
            add_numbers(&one->std, share, &sum->std);
            add_numbers(&one->probability, share, &sum->probability);
        }
        far_prediction_destroy(one);
    }
    st = st == FAR_OK && sum->classes ? far_prediction_classes(sum) : st;
    if (st == FAR_OK) {
        widen(c, &sum->std);
        *out = sum;
    } else {
        far_prediction_destroy(sum);
    }
    return st;
}

/* ---- the certificate ----------------------------------------------------------------------- */

static void add_bound(const far_bound *from, double share, far_bound *to)
{
    bool all = to->verdict == FAR_BOUNDED && from->verdict == FAR_BOUNDED;
    to->verdict = all ? FAR_BOUNDED : FAR_UNDECIDED;
    to->lowest += share * from->lowest;
    to->highest += share * from->highest;
    to->growth += share * (from->verdict == FAR_BOUNDED ? 0 : from->growth);
    to->offset += share * (from->verdict == FAR_BOUNDED ? from->tightest : from->offset);
}

static void start_bound(far_bound *b)
{
    b->verdict = FAR_BOUNDED;
    b->lowest = b->highest = b->growth = b->offset = 0;
}

/* Sums are rounded outwards, by what the members are: their mean may be small beside them. */
static void finish_bound(int64_t count, far_bound *b)
{
    double room = (double)(count + 4) * DBL_EPSILON;
    if (b->verdict != FAR_BOUNDED) {
        b->growth *= 1 + room;
        b->offset *= 1 + room;
        b->lowest = -INFINITY;
        b->highest = INFINITY;
        b->theorem = OPEN;
        return;
    }
    double most = b->offset;
    b->growth = b->offset = INFINITY;
    b->lowest -= room * most;
    b->highest += room * most;
    b->tightest = fmax(fabs(b->lowest), fabs(b->highest));
    b->theorem = "the mean of predictors that are each bounded, by theorems of their own";
    b->method = "members";
    b->proofs[0] = (far_proof){"members", b->tightest};
}

/* f(t u) / (slope t^order) far out. */
static far_status confirm(far_ctx *ctx, const committee *c, int64_t k, double extent, far_bound *b)
{
    far_status st;
    int64_t d = c->columns->info.inputs, p = c->columns->info.outputs;
    double *room = NULL, t = FAR_OUT * extent;
    FAR_TRY(far_alloc(ctx, d + p, &room));
    for (int64_t i = 0; i < d; i++) {
        room[i] = t * b->direction[i];
    }
    far_mat x = far_mat_view(room, 1, d, FAR_F64), f = far_mat_view(room + d, 1, p, FAR_F64);
    FAR_TRY(eval(ctx, c, &x, &f));
    b->confirmed = room[d + k] / (b->slope * pow(t, b->order));
done:
    far_free(ctx, room);
    return st;
}

/* How far the data reach, in raw units: along any direction that is far out. */
static double extent_of(const committee *c)
{
    double most = 1;
    for (int64_t m = 0; m < c->count; m++) {
        const far_columns *columns = far_predictor_columns(c->members[m]);
        for (int64_t i = 0; i < columns->info.inputs; i++) {
            most = fmax(most, fabs(far_input_centre(columns)[i]) + far_input_scale(columns)[i]);
        }
    }
    return most;
}

/* Along the direction in which a member runs away: unless the others take it back. */
static far_status witness_output(far_ctx *ctx, const void *self, int64_t k, const double *direction,
                                 far_bound *b)
{
    far_status st;
    const committee *c = self;
    int64_t p = c->columns->info.outputs;
    double *room = NULL, size = 0;
    FAR_TRY(far_alloc(ctx, 4 * p, &room));
    far_mat u = far_mat_view((double *)direction, 1, c->columns->info.inputs, FAR_F64);
    far_mat v = far_mat_view(room, 1, p, FAR_F64), o = far_mat_view(room + p, 1, p, FAR_F64);
    far_mat one = far_mat_view(room + 2 * p, 1, p, FAR_F64);
    far_mat power = far_mat_view(room + 3 * p, 1, p, FAR_F64);
    b->verdict = FAR_UNDECIDED;
    b->theorem = OPEN;
    b->direction = NULL;
    FAR_TRY(limit(ctx, c, &u, &v, &o));
    for (int64_t i = 0; i < c->count; i++) {
        FAR_TRY(far_predictor_limit(ctx, c->members[i], &u, &one, &power));
        size += room[3 * p + k] == room[p + k] ? fabs(room[2 * p + k]) / (double)c->count : 0;
    }
    if (!(room[p + k] > 0 && fabs(room[k]) > SURE * size)) {
        goto done;
    }
    b->direction = direction;
    b->slope = room[k];
    b->order = room[p + k];
    FAR_TRY(confirm(ctx, c, k, extent_of(c), b));
    if (fabs(b->confirmed - 1) < 0.01) {
        b->verdict = FAR_UNBOUNDED;
        b->theorem = "f(t direction) / t^order tends to slope, the mean of the members' own limits "
                     "along direction, which is not 0";
    }
done:
    far_free(ctx, room);
    return st;
}

static far_status find_witness(far_ctx *ctx, const committee *c, int64_t k,
                               far_certificate *const *parts, far_certificate *out)
{
    far_status st = FAR_OK;
    double *vector = out->vectors + k * out->input_count;
    for (int64_t i = 0; out->bounds[k].verdict == FAR_UNDECIDED && i < c->count; i++) {
        const far_bound *part = &parts[i]->bounds[k];
        if (part->verdict == FAR_UNBOUNDED) {
            memcpy(vector, part->direction, (size_t)out->input_count * sizeof *vector);
            FAR_TRY(witness_output(ctx, c, k, vector, &out->bounds[k]));
        }
    }
done:
    return st;
}

static void hash_parts(const committee *c, far_certificate *const *parts, char out[65])
{
    far_sha256 h;
    far_sha256_init(&h);
    for (int64_t i = 0; i < c->count; i++) {
        far_sha256_add(&h, parts[i]->hash, strlen(parts[i]->hash));
    }
    far_sha256_finish(&h, out);
}

static far_status join(far_ctx *ctx, const committee *c, far_certificate *const *parts,
                       far_certificate *out)
{
    far_status st = FAR_OK;
    hash_parts(c, parts, out->hash);
    out->info.finished = 1;
    for (int64_t i = 0; i < c->count; i++) {
        out->info.cells += parts[i]->info.cells;
        out->info.finished &= parts[i]->info.cells == 0 || parts[i]->info.finished;
    }
    for (int64_t k = 0; k < out->info.outputs; k++) {
        far_bound *b = &out->bounds[k];
        start_bound(b);
        for (int64_t i = 0; i < c->count; i++) {
            add_bound(&parts[i]->bounds[k], 1 / (double)c->count, b);
        }
        finish_bound(c->count, b);
        if (b->verdict == FAR_UNDECIDED) {
            FAR_TRY(find_witness(ctx, c, k, parts, out));
        }
    }
    out->info.verdict = far_certificate_worst(out);
done:
    return st;
}

/* Members share the time. */
static far_status certify(far_ctx *ctx, const void *self, const far_certify_opts *opts,
                          far_certificate **out)
{
    far_status st;
    const committee *c = self;
    far_certificate **parts = NULL;
    far_certify_opts each = *opts;
    double start = far_seconds();
    each.seconds = opts->seconds / (double)c->count;
    each.exceeds = NAN;
    FAR_TRY(far_certificate_blank(ctx, "committee", NULL, c->columns, out));
    FAR_TRY(far_alloc(ctx, c->count, &parts));
    for (int64_t i = 0; i < c->count; i++) {
        FAR_TRY(far_predictor_certify(ctx, c->members[i], &each, &parts[i]));
    }
    FAR_TRY(join(ctx, c, parts, *out));
    (*out)->info.gap = opts->gap;
    (*out)->info.seconds = far_seconds() - start;
done:
    for (int64_t i = 0; parts && i < c->count; i++) {
        far_certificate_destroy(parts[i]);
    }
    far_free(ctx, parts);
    return st;
}

static far_status check(far_ctx *ctx, const void *self, const char *json, double seconds)
{
    return far_predictor_recheck(ctx, &far_committee_ops, self, witness_output, json, seconds);
}

/* ---- files --------------------------------------------------------------------------------- */

/* Members lie one behind the other, each as the file it would be alone. */
typedef struct bundle {
    far_text bytes;
    int64_t *sizes, count;
    const committee *of;
} bundle;

/* Scores by their keys. */
#define SCORES 6
static const char *const SCORE_KEYS[SCORES] = {"loo_r2",       "loo_rmse",  "loo_accuracy",
                                               "loo_log_loss", "loo_brier", "loo_ece"};

static double *score_at(far_committee_info *i, int k)
{
    double *scores[SCORES] = {&i->loo_r2,       &i->loo_rmse,  &i->loo_accuracy,
                              &i->loo_log_loss, &i->loo_brier, &i->loo_ece};
    return scores[k];
}

/* What a committee that was fitted as one knows of itself. */
static void put_fit(far_json_out *w, json_t *manifest, const committee *c)
{
    json_t *fit = json_object(), *width = json_array();
    far_committee_info info = c->info;
    far_json_put(w, fit, "loo_rows", json_integer(info.loo_rows));
    for (int k = 0; k < SCORES; k++) {
        double value = *score_at(&info, k);
        far_json_put(w, fit, SCORE_KEYS[k], isfinite(value) ? json_real(value) : json_null());
    }
    for (int64_t j = 0; j < c->columns->info.outputs; j++) {
        far_json_append(w, width, json_real(c->width[j]));
    }
    far_json_put(w, fit, "width", width);
    far_json_put(w, manifest, "fit", fit);
}

static void put(far_json_out *w, json_t *manifest, const void *self)
{
    const bundle *b = self;
    json_t *list = json_array();
    for (int64_t i = 0; i < b->count; i++) {
        far_json_append(w, list, json_integer(b->sizes[i]));
    }
    far_json_put(w, manifest, "members", list);
    if (b->of->width) {
        put_fit(w, manifest, b->of);
    }
}

static far_status write_member(const far_predictor *p, bundle *b)
{
    far_status st;
    far_output o = {.fd = -1};
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);
    FAR_TRY(stream ? FAR_OK : far_fail(b->bytes.ctx, FAR_ERR_MEMORY, "out of memory"));
    FAR_TRY(far_output_open_stream(b->bytes.ctx, stream, &o));
    FAR_TRY(p->ops->write(p->self, &o));
    FAR_TRY(far_output_commit(&o));
    far_text_add_bytes(&b->bytes, bytes, (int64_t)size);
    b->sizes[b->count++] = (int64_t)size;
    st = b->bytes.status;
done:
    far_output_close(&o);
    if (stream) {
        fclose(stream);
    }
    free(bytes);
    return st;
}

static far_status save(const void *self, far_output *out)
{
    far_status st;
    const committee *c = self;
    bundle b = {.bytes = {.ctx = out->ctx}, .of = c};
    FAR_TRY(far_alloc(out->ctx, c->count, &b.sizes));
    for (int64_t i = 0; i < c->count; i++) {
        FAR_TRY(write_member(c->members[i], &b));
    }
    far_parcel parcel = {.kind = "committee", .put = put, .self = &b, .blob = &b.bytes};
    FAR_TRY(far_parcel_write(&parcel, out));
done:
    far_free(out->ctx, b.bytes.data);
    far_free(out->ctx, b.sizes);
    return st;
}

static far_status read_member(const far_parcel_in *p, int64_t i, const far_input *blob,
                              int64_t *place, const json_t *sizes, far_predictor **out)
{
    char label[FAR_LABEL_BYTES + 32];
    json_int_t size = json_integer_value(json_array_get(sizes, (size_t)i));
    if (size < 1 || size > blob->size - *place) {
        return far_json_fail(&p->whole, "\"members\"[%lld] is longer than the file", (long long)i);
    }
    snprintf(label, sizeof label, "%s: member %lld", p->in->label, (long long)i + 1);
    far_status st =
        far_predictor_parse(p->in->ctx, label, blob->data + *place, size, false, NULL, out);
    *place += size;
    return st;
}

static far_status read_fit(const far_parcel_in *p, committee *c)
{
    far_json fit;
    far_status st = FAR_OK;
    if (!json_object_get(p->json, "fit")) {
        return FAR_OK;
    }
    FAR_TRY(far_json_enter(&p->whole, "fit", &fit));
    FAR_TRY(far_json_count(&fit, "loo_rows", &c->info.loo_rows));
    for (int k = 0; k < SCORES; k++) {
        FAR_TRY(far_json_number(&fit, SCORE_KEYS[k], score_at(&c->info, k)));
    }
    FAR_TRY(far_json_numbers(&fit, "width", c->columns->info.outputs, true, &c->width));
done:
    return st;
}

far_status far_committee_read(const far_parcel_in *p, void **out)
{
    far_status st;
    far_ctx *ctx = p->in->ctx;
    committee *c = NULL;
    far_input blob = {0};
    const json_t *sizes;
    int64_t place = 0, count;
    FAR_TRY(far_json_list(&p->whole, "members", &sizes, &count));
    if (count < 1 || count > MOST_MEMBERS) {
        FAR_TRY(far_json_fail(&p->whole, "\"members\" are not 1 to %d", MOST_MEMBERS));
    }
    st = committee_new(ctx, count, &c);
    *out = c;
    FAR_TRY(st);
    FAR_TRY(far_parcel_blob(p, &blob));
    for (; c->count < count; c->count++) {
        FAR_TRY(read_member(p, c->count, &blob, &place, sizes, &c->members[c->count]));
    }
    FAR_TRY(place == blob.size ? FAR_OK : far_json_fail(&p->whole, "\"members\" leave bytes over"));
    FAR_TRY(check_members(ctx, c->members, c->count));
    FAR_TRY(take_columns(ctx, c->members, c->count, c));
    FAR_TRY(read_fit(p, c));
done:
    far_input_clear(&blob);
    return st;
}

far_predictor *const *far_predictor_members(const far_predictor *p, int64_t *count)
{
    const committee *c = p->ops == &far_committee_ops ? p->self : NULL;
    *count = c ? c->count : 0;
    return c ? c->members : NULL;
}

const far_predictor_ops far_committee_ops = FAR_PREDICTOR_OPS(
    FAR_PREDICTOR_COMMITTEE, "committee", .gradient = gradient, .predict = predict);
