/*
 * Boosted trees as a predictor.
 *
 * f(x) = base + sum of the leaves that x falls into, one a tree. So f lies between base and the
 * sums of the least and of the largest leaves: for every x, whatever its size.
 */
#include "../regress/baseline_internal.h"
#include "predictor_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct trees {
    far_ctx *ctx;
    far_columns *columns;
    far_booster *booster;
    int64_t rows;           /* fitted to */
    double lowest, highest; /* of f, with what rounding may add */
    char hash[65];
} trees;

static void destroy(void *self)
{
    trees *t = self;
    far_columns_destroy(t->columns);
    far_booster_destroy(t->booster);
    far_free(t->ctx, t);
}

static far_status trees_new(far_ctx *ctx, trees **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (trees){.ctx = ctx};
    }
    return st;
}

static const far_columns *columns(const void *self)
{
    return ((const trees *)self)->columns;
}

static void describe(const void *self, far_predictor_info *out)
{
    out->rows = ((const trees *)self)->rows;
}

/* ---- leaves -------------------------------------------------------------------------------- */

static far_status fail_text(far_ctx *ctx, const char *what)
{
    return far_fail(ctx, FAR_ERR_FORMAT, "the text of the trees is not as XGBoost writes it: %s",
                    what);
}

static bool says(const json_t *o, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text && strcmp(text, wanted) == 0;
}

static bool says_count(const json_t *o, const char *key, size_t wanted)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", wanted);
    return says(o, key, text);
}

static bool has_lists(const json_t *tree, size_t count)
{
    static const char *const LISTS[] = {"left_children",    "right_children", "parents",
                                        "split_conditions", "split_indices",  "default_left",
                                        "base_weights",     "loss_changes",   "sum_hessian"};
    size_t i = 0, most = sizeof LISTS / sizeof LISTS[0];
    while (i < most && json_array_size(json_object_get(tree, LISTS[i])) == count) {
        i++;
    }
    return i == most && count > 0 &&
           says_count(json_object_get(tree, "tree_param"), "num_nodes", count);
}

/* What is no whole number leads nowhere. */
static json_int_t entry(const json_t *tree, const char *list, size_t i)
{
    const json_t *v = json_array_get(json_object_get(tree, list), i);
    return json_is_integer(v) ? json_integer_value(v) : -2;
}

/* XGBoost trusts what it reads: it would follow children that are not there, or in circles. */
static bool is_node(const json_t *tree, json_int_t i, json_int_t count, int64_t inputs)
{
    json_int_t left = entry(tree, "left_children", (size_t)i);
    json_int_t right = entry(tree, "right_children", (size_t)i);
    json_int_t column = entry(tree, "split_indices", (size_t)i);
    bool forward = left > i && left < count && right > i && right < count && left != right &&
                   entry(tree, "parents", (size_t)left) == i &&
                   entry(tree, "parents", (size_t)right) == i;
    bool split = forward && column >= 0 && column < inputs;
    return (split || (left == -1 && right == -1)) &&
           entry(tree, "split_type", (size_t)i) == 0 && /* by numbers */
           json_is_number(json_array_get(json_object_get(tree, "split_conditions"), (size_t)i));
}

/* The least and the largest leaf of a tree. Leaves have no children; their values stand among the
 * conditions of splits. */
static far_status leaves_of(far_ctx *ctx, const json_t *tree, int64_t inputs, double *least,
                            double *largest)
{
    size_t count = json_array_size(json_object_get(tree, "left_children"));
    const json_t *values = json_object_get(tree, "split_conditions");
    *least = INFINITY;
    *largest = -INFINITY;
    if (!has_lists(tree, count)) {
        return fail_text(ctx, "a tree has no nodes, or less of one than of another");
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_node(tree, (json_int_t)i, (json_int_t)count, inputs)) {
            return fail_text(ctx, "a node of a tree leads nowhere");
        }
        if (entry(tree, "left_children", i) == -1) {
            *least = fmin(*least, json_number_value(json_array_get(values, i)));
            *largest = fmax(*largest, json_number_value(json_array_get(values, i)));
        }
    }
    return FAR_OK;
}

/* Each tree at its own place, and all of them for the one output. */
static bool is_placed(const json_t *model, size_t i)
{
    const json_t *id = json_object_get(json_array_get(json_object_get(model, "trees"), i), "id");
    return json_is_integer(id) && json_integer_value(id) == (json_int_t)i &&
           entry(model, "tree_info", i) == 0;
}

/* XGBoost adds in float32, in an order of its own. */
static far_status add_leaves(far_ctx *ctx, const json_t *model, int64_t inputs, double base,
                             trees *t)
{
    far_status st = FAR_OK;
    const json_t *list = json_object_get(model, "trees");
    size_t count = json_array_size(list);
    double size = fabs(base);
    t->lowest = t->highest = base;
    for (size_t i = 0; i < count; i++) {
        double least, largest;
        if (!is_placed(model, i)) {
            FAR_TRY(fail_text(ctx, "a tree is out of place"));
        }
        FAR_TRY(leaves_of(ctx, json_array_get(list, i), inputs, &least, &largest));
        t->lowest += least;
        t->highest += largest;
        size += fmax(fabs(least), fabs(largest));
    }
    double rounding = (double)(count + 2) * FLT_EPSILON * size;
    t->lowest -= rounding;
    t->highest += rounding;
    if (!(size <= FLT_MAX)) {
        st = fail_text(ctx, "its leaves are too large for float32");
    }
done:
    return st;
}

/* 1.7 has "0.5", later versions "[5E-1]". */
static far_status read_base(far_ctx *ctx, const json_t *learner, double *out)
{
    const json_t *param = json_object_get(learner, "learner_model_param");
    const char *text = json_string_value(json_object_get(param, "base_score"));
    const char *end = text ? far_number_parse(text + (*text == '['), out) : NULL;
    bool whole = end && strcmp(end, *text == '[' ? "]" : "") == 0;
    return whole && isfinite(*out) ? FAR_OK : fail_text(ctx, "it has no base_score");
}

/* That f is the sum of the leaves: other boosters weigh them, other objectives bend the sum, and
 * several classes share them out. */
static far_status check_sum(far_ctx *ctx, const json_t *learner)
{
    const json_t *param = json_object_get(learner, "learner_model_param");
    if (!says(json_object_get(learner, "gradient_booster"), "name", "gbtree")) {
        return fail_text(ctx, "its booster is not gbtree");
    }
    if (!says(json_object_get(learner, "objective"), "name", "reg:squarederror")) {
        return fail_text(ctx, "its objective is not reg:squarederror");
    }
    bool one = says(param, "num_class", "0") &&
               (!json_object_get(param, "num_target") || says(param, "num_target", "1"));
    return one ? FAR_OK : fail_text(ctx, "it has more than one output");
}

static far_status read_leaves(far_ctx *ctx, const char *text, int64_t size, int64_t inputs,
                              trees *t)
{
    far_status st;
    json_t *json = NULL;
    far_json_mistake mistake;
    double base;
    far_sha256 h;
    st = far_json_parse(ctx, text, (size_t)size, &json, &mistake);
    if (st == FAR_ERR_FORMAT) {
        st = fail_text(ctx, mistake.text);
    }
    FAR_TRY(st);
    const json_t *learner = json_object_get(json, "learner");
    const json_t *model = json_object_get(json_object_get(learner, "gradient_booster"), "model");
    const json_t *list = json_object_get(model, "trees");
    const json_t *param = json_object_get(model, "gbtree_model_param");
    if (!json_is_array(list) || !says_count(param, "num_trees", json_array_size(list))) {
        FAR_TRY(fail_text(ctx, "it has no trees, or not as many as it says"));
    }
    FAR_TRY(check_sum(ctx, learner));
    FAR_TRY(read_base(ctx, learner, &base));
    FAR_TRY(add_leaves(ctx, model, inputs, base, t));
    far_sha256_init(&h);
    far_sha256_add(&h, text, (size_t)size);
    far_sha256_finish(&h, t->hash);
done:
    json_decref(json);
    return st;
}

/* ---- fitting ------------------------------------------------------------------------------- */

static far_status fit(far_ctx *ctx, const far_frame *frame, const far_columns_opts *opts,
                      int64_t rounds, uint64_t seed, trees *t)
{
    far_status st;
    far_examples *e = NULL;
    far_text text = {.ctx = ctx};
    far_columns_opts own = *opts;
    own.standardize = FAR_STANDARDIZE_NONE;
    own.loss = FAR_LOSS_NONE;
    FAR_TRY(far_examples_learn(ctx, frame, &own, &e));
    if (e->columns->info.outputs != 1 || e->columns->info.classes > 0) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "boosted trees predict one target of numbers"));
    }
    far_mat x = e->inputs, y = e->targets;
    FAR_TRY(far_booster_fit(ctx, &x, &y, rounds, seed, &t->booster));
    FAR_TRY(far_booster_save(t->booster, &text));
    FAR_TRY(read_leaves(ctx, text.data, text.length, x.cols, t));
    t->rows = e->inputs.rows;
    t->columns = e->columns;
    e->columns = NULL;
done:
    far_free(ctx, text.data);
    far_examples_destroy(e);
    return st;
}

far_status far_predictor_fit_trees(far_ctx *ctx, const far_frame *frame,
                                   const far_columns_opts *opts, int64_t rounds, uint64_t seed,
                                   far_predictor **out)
{
    far_status st;
    trees *t = NULL;
    if (!out || !opts || !opts->target) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL, or no target was named");
    }
    *out = NULL;
    FAR_TRY(trees_new(ctx, &t));
    FAR_TRY(fit(ctx, frame, opts, rounds, seed, t));
    FAR_TRY(far_predictor_wrap(ctx, &far_trees_ops, t, false, out));
    t = NULL;
done:
    if (t) {
        destroy(t);
    }
    return st;
}

/* ---- values -------------------------------------------------------------------------------- */

/* XGBoost may read the text of another version otherwise than it was meant; what its leaves do not
 * allow is told. */
static far_status eval(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    const trees *t = self;
    far_status st = z->rows > 0 ? far_booster_eval(ctx, t->booster, z, out) : FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < z->rows; i++) {
        double f = *(const double *)far_mat_row(out, i);
        if (!(f >= t->lowest && f <= t->highest)) {
            st = far_fail(ctx, FAR_ERR_BACKEND,
                          "XGBoost predicts %.9g for row %lld, which the leaves of these trees do "
                          "not allow: its version may be another than that which wrote them",
                          f, (long long)i + 1);
        }
    }
    return st;
}

/* Far enough out every component that is not 0 has passed every split; those are of float32. */
static far_status limit(far_ctx *ctx, const void *self, const far_mat *u, far_mat *value,
                        far_mat *order)
{
    double *far = NULL;
    far_status st = far_alloc(ctx, u->rows * u->cols, &far);
    for (int64_t i = 0; st == FAR_OK && i < u->rows; i++) {
        const double *row = far_mat_row(u, i);
        for (int64_t j = 0; j < u->cols; j++) {
            far[i * u->cols + j] = row[j] == 0 ? 0 : copysign(FLT_MAX, row[j]);
        }
        *(double *)far_mat_row(order, i) = 0;
    }
    far_mat x = far_mat_view(far, u->rows, u->cols, FAR_F64);
    st = st == FAR_OK ? eval(ctx, self, &x, value) : st;
    far_free(ctx, far);
    return st;
}

/* ---- the certificate ----------------------------------------------------------------------- */

static far_status certify(far_ctx *ctx, const void *self, const far_certify_opts *opts,
                          far_certificate **out)
{
    (void)opts;
    const trees *t = self;
    double start = far_seconds();
    far_status st = far_certificate_blank(ctx, "trees", NULL, t->columns, out);
    if (st != FAR_OK) {
        return st;
    }
    far_bound *b = &(*out)->bounds[0];
    double most = fmax(fabs(t->lowest), fabs(t->highest));
    (*out)->rows = t->rows;
    memcpy((*out)->hash, t->hash, sizeof t->hash);
    b->verdict = FAR_BOUNDED;
    b->theorem = "f is a constant and one leaf of each tree, so it lies between the sums of their "
                 "least and of their largest leaves";
    b->method = "leaves";
    b->proofs[0] = (far_proof){"leaves", most};
    b->lowest = t->lowest;
    b->highest = t->highest;
    b->tightest = most;
    (*out)->info.verdict = FAR_BOUNDED;
    (*out)->info.seconds = far_seconds() - start;
    return FAR_OK;
}

static far_status check(far_ctx *ctx, const void *self, const char *json, double seconds)
{
    return far_predictor_recheck(ctx, &far_trees_ops, self, NULL, json, seconds);
}

/* ---- files --------------------------------------------------------------------------------- */

static void put(far_json_out *w, json_t *manifest, const void *self)
{
    far_json_put(w, manifest, "rows", json_integer(((const trees *)self)->rows));
}

static far_status save(const void *self, far_output *out)
{
    const trees *t = self;
    far_text text = {.ctx = out->ctx};
    far_parcel parcel = {
        .kind = "trees", .columns = t->columns, .put = put, .self = self, .blob = &text};
    far_status st = far_booster_save(t->booster, &text);
    st = st == FAR_OK ? far_parcel_write(&parcel, out) : st;
    far_free(out->ctx, text.data);
    return st;
}

far_status far_trees_read(const far_parcel_in *p, void **out)
{
    far_status st;
    trees *t = NULL;
    far_input blob = {0};
    FAR_TRY(trees_new(p->in->ctx, &t));
    FAR_TRY(far_columns_new(p->in->ctx, &t->columns));
    t->columns->info.inputs = t->columns->info.outputs = -1;
    FAR_TRY(far_columns_take(&p->whole, true, t->columns));
    if (t->columns->info.outputs != 1 || t->columns->info.classes > 0) {
        FAR_TRY(far_json_fail(&p->whole, "trees have one target of numbers"));
    }
    FAR_TRY(far_json_count(&p->whole, "rows", &t->rows));
    FAR_TRY(far_parcel_blob(p, &blob));
    FAR_TRY(
        read_leaves(p->in->ctx, (const char *)blob.data, blob.size, t->columns->info.inputs, t));
    FAR_TRY(far_booster_load(p->in->ctx, blob.data, blob.size, &t->booster));
    *out = t;
    t = NULL;
done:
    far_input_clear(&blob);
    if (t) {
        destroy(t);
    }
    return st;
}

const far_predictor_ops far_trees_ops = {FAR_PREDICTOR_TREES,
                                         "trees",
                                         destroy,
                                         describe,
                                         columns,
                                         eval,
                                         limit,
                                         NULL,
                                         certify,
                                         NULL,
                                         check,
                                         save,
                                         NULL};
