/*
 * Boosted trees as a predictor.
 *
 * f(x) = base + sum of the leaves that x falls into, one a tree. So f lies between base and the
 * sums of the least and of the largest leaves: for every x, whatever its size. Of classes these are
 * the scores whose softmax are probabilities, with trees of its own for each; of two classes the
 * trees score the second, and the first has 0.
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
    int64_t rows;             /* fitted to */
    double *lowest, *highest; /* of each output, with what rounding may add */
    double *link;             /* classes: far_class_probability's, for a softmax; NULL: numbers */
    char hash[65];
} trees;

static void destroy(void *self)
{
    trees *t = self;
    far_columns_destroy(t->columns);
    far_booster_destroy(t->booster);
    FAR_FREE_ALL(t->ctx, t->lowest, t->highest, t->link, t);
}

static const far_columns *columns(const void *self)
{
    return ((const trees *)self)->columns;
}

static void describe(const void *self, far_predictor_info *out)
{
    out->rows = ((const trees *)self)->rows;
}

#define FLOOR 1e-15 /* of probabilities, which are never 0 or 1 */

static far_status make_link(trees *t)
{
    int64_t classes = t->columns->info.classes;
    far_status st = classes > 0 ? far_alloc(t->ctx, classes + 1, &t->link) : FAR_OK;
    for (int64_t k = 0; st == FAR_OK && t->link && k <= classes; k++) {
        t->link[k] = k == 0; /* the temperature */
    }
    return st;
}

/* Outputs that have trees; the others, before them, are 0. */
static int64_t scored(const trees *t)
{
    return t->columns->info.classes == 2 ? 1 : t->columns->info.outputs;
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

/* Each tree at its own place, and a round of them for all outputs in turn. */
static bool is_placed(const json_t *model, size_t i, int64_t outputs)
{
    const json_t *id = json_object_get(json_array_get(json_object_get(model, "trees"), i), "id");
    return json_is_integer(id) && json_integer_value(id) == (json_int_t)i &&
           entry(model, "tree_info", i) == (json_int_t)i % outputs;
}

/* The least, the largest and the size of what is added to output k. */
typedef struct extent {
    double least, largest, size;
} extent;

static far_status add_tree(far_ctx *ctx, const json_t *tree, int64_t inputs, extent *e)
{
    double least, largest;
    far_status st = leaves_of(ctx, tree, inputs, &least, &largest);
    if (st == FAR_OK) {
        e->least += least;
        e->largest += largest;
        e->size += fmax(fabs(least), fabs(largest));
    }
    return st;
}

/* XGBoost adds in float32, in an order of its own. */
static far_status add_leaves(far_ctx *ctx, const json_t *model, const double *bases, trees *t)
{
    far_status st = FAR_OK;
    const json_t *list = json_object_get(model, "trees");
    size_t count = json_array_size(list);
    int64_t outputs = scored(t), none = t->columns->info.outputs - outputs;
    FAR_TRY(far_alloc(ctx, none + outputs, &t->lowest));
    FAR_TRY(far_alloc(ctx, none + outputs, &t->highest));
    for (int64_t k = 0; k < outputs; k++) {
        extent e = {bases[k], bases[k], fabs(bases[k])};
        for (size_t i = (size_t)k; i < count; i += (size_t)outputs) {
            FAR_TRY(is_placed(model, i, outputs) ? FAR_OK
                                                 : fail_text(ctx, "a tree is out of place"));
            FAR_TRY(add_tree(ctx, json_array_get(list, i), t->columns->info.inputs, &e));
        }
        double rounding = ((double)count / (double)outputs + 4) * FLT_EPSILON * e.size;
        FAR_TRY(e.size <= FLT_MAX ? FAR_OK
                                  : fail_text(ctx, "its leaves are too large for float32"));
        t->lowest[none + k] = e.least - rounding;
        t->highest[none + k] = e.largest + rounding;
    }
done:
    return st;
}

/* Numbers between brackets, with commas between them, or one without: 1.7 has "0.5", later versions
 * "[5E-1]" and, of classes, as many. */
static bool read_bases(const char *text, double *out, int64_t count)
{
    bool list = *text == '[';
    text += list;
    int64_t read = 0;
    while (text && read < count && (read == 0 || *text == ',')) {
        text = far_number_parse(text + (read > 0), &out[read]);
        read += text && isfinite(out[read]) ? 1 : count + 1;
    }
    for (int64_t k = 1; read == 1 && k < count; k++) {
        out[k] = out[0];
    }
    return (read == 1 || read == count) && strcmp(text, list ? "]" : "") == 0;
}

/* Of two classes base_score is a probability, and where boosting starts its logit. */
static far_status read_base(far_ctx *ctx, const json_t *learner, const trees *t, double *out)
{
    const json_t *param = json_object_get(learner, "learner_model_param");
    const char *text = json_string_value(json_object_get(param, "base_score"));
    if (!text || !read_bases(text, out, scored(t))) {
        return fail_text(ctx, "it has no base_score");
    }
    if (t->columns->info.classes == 2) {
        out[0] = log(out[0]) - log1p(-out[0]);
        return isfinite(out[0]) ? FAR_OK : fail_text(ctx, "its base_score is no probability");
    }
    return FAR_OK;
}

/* That f is the sum of the leaves, or that of each class's own: other boosters weigh them, other
 * objectives bend the sum. */
static far_status check_sum(far_ctx *ctx, const json_t *learner, const trees *t)
{
    int64_t classes = t->columns->info.classes;
    const json_t *param = json_object_get(learner, "learner_model_param");
    if (!says(json_object_get(learner, "gradient_booster"), "name", "gbtree")) {
        return fail_text(ctx, "its booster is not gbtree");
    }
    const char *objective = far_booster_objective(classes);
    if (!says(json_object_get(learner, "objective"), "name", objective)) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "the text of the trees is not as XGBoost writes it: its objective is not "
                        "%s",
                        objective);
    }
    bool right = says_count(param, "num_class", classes > 2 ? (size_t)classes : 0) &&
                 (!json_object_get(param, "num_target") || says(param, "num_target", "1"));
    return right ? FAR_OK
                 : fail_text(ctx,
                             classes > 2 ? "it has other classes" : "it has more than one output");
}

/* XGBoost adds up whole rounds, however many trees it takes for one: none may be left over. From 2
 * on the text says where they begin. */
static bool has_rounds(const json_t *model, size_t outputs)
{
    size_t count = json_array_size(json_object_get(model, "trees"));
    const json_t *param = json_object_get(model, "gbtree_model_param");
    const json_t *starts = json_object_get(model, "iteration_indptr");
    bool right = count % outputs == 0 && (!json_object_get(param, "num_parallel_tree") ||
                                          says(param, "num_parallel_tree", "1"));
    right = right && (!starts || json_array_size(starts) == count / outputs + 1);
    for (size_t i = 0; right && starts && i <= count / outputs; i++) {
        right = entry(model, "iteration_indptr", i) == (json_int_t)(i * outputs);
    }
    return right;
}

/* The columns are there. */
static far_status read_leaves(far_ctx *ctx, const char *text, int64_t size, trees *t)
{
    far_status st;
    json_t *json = NULL;
    far_json_mistake mistake;
    double *bases = NULL;
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
    FAR_TRY(make_link(t));
    FAR_TRY(check_sum(ctx, learner, t));
    FAR_TRY(has_rounds(model, (size_t)scored(t))
                ? FAR_OK
                : fail_text(ctx, "its rounds are not one tree for each output"));
    FAR_TRY(far_alloc(ctx, scored(t), &bases));
    FAR_TRY(read_base(ctx, learner, t, bases));
    FAR_TRY(add_leaves(ctx, model, bases, t));
    far_sha256_init(&h);
    far_sha256_add(&h, text, (size_t)size);
    far_sha256_finish(&h, t->hash);
done:
    json_decref(json);
    far_free(ctx, bases);
    return st;
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Classes are counted from 0. */
static far_status take_targets(far_ctx *ctx, const far_examples *e, double **out)
{
    int64_t n = e->inputs.rows, classes = e->columns->info.classes, *labels = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, n, out));
    FAR_TRY(far_alloc(ctx, n, &labels));
    if (classes > 0) {
        far_class_labels(e->targets.data, n, classes, labels);
    }
    for (int64_t i = 0; i < n; i++) {
        (*out)[i] = classes > 0 ? (double)labels[i] : ((const double *)e->targets.data)[i];
    }
done:
    far_free(ctx, labels);
    return st;
}

static far_status fit(far_ctx *ctx, const far_frame *frame, const far_columns_opts *opts,
                      int64_t rounds, uint64_t seed, trees *t)
{
    far_status st;
    far_examples *e = NULL;
    far_text text = {.ctx = ctx};
    far_columns_opts own = *opts;
    double *targets = NULL;
    own.standardize = FAR_STANDARDIZE_NONE;
    own.loss = FAR_LOSS_NONE;
    FAR_TRY(far_examples_learn(ctx, frame, &own, &e));
    if (e->columns->info.classes == 0 && e->columns->info.outputs != 1) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG, "boosted trees predict one target"));
    }
    FAR_TRY(take_targets(ctx, e, &targets));
    t->rows = e->inputs.rows;
    t->columns = e->columns;
    e->columns = NULL;
    far_mat x = e->inputs, y = far_mat_view(targets, x.rows, 1, FAR_F64);
    FAR_TRY(far_booster_fit(ctx, &x, &y, t->columns->info.classes, rounds, seed, &t->booster));
    FAR_TRY(far_booster_save(t->booster, &text));
    FAR_TRY(read_leaves(ctx, text.data, text.length, t));
done:
    FAR_FREE_ALL(ctx, text.data, targets);
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
    FAR_TRY(far_alloc(ctx, 1, &t));
    t->ctx = ctx;
    FAR_TRY(fit(ctx, frame, opts, rounds, seed, t));
done:
    return far_predictor_own(ctx, &far_trees_ops, st, t, out);
}

/* ---- values -------------------------------------------------------------------------------- */

/* XGBoost may read the text of another version otherwise than it was meant; what its leaves do not
 * allow is told. */
static far_status check_values(far_ctx *ctx, const trees *t, const far_mat *out)
{
    for (int64_t i = 0; i < out->rows * out->cols; i++) {
        int64_t row = i / out->cols, k = i % out->cols;
        double f = ((const double *)far_mat_row(out, row))[k];
        if (!(f >= t->lowest[k] && f <= t->highest[k])) {
            return far_fail(ctx, FAR_ERR_BACKEND,
                            "XGBoost predicts %.9g for row %lld, which the leaves of these trees "
                            "do not allow: its version may be another than that which wrote them",
                            f, (long long)row + 1);
        }
    }
    return FAR_OK;
}

static far_status eval(far_ctx *ctx, const void *self, const far_mat *z, far_mat *out)
{
    const trees *t = self;
    int64_t none = out->cols - scored(t);
    far_mat told = *out;
    told.cols -= none;
    told.data = (double *)told.data + none;
    far_status st = z->rows > 0 ? far_booster_eval(ctx, t->booster, z, &told) : FAR_OK;
    for (int64_t i = 0; i < none * out->rows; i++) {
        ((double *)far_mat_row(out, i / none))[i % none] = 0;
    }
    return st == FAR_OK ? check_values(ctx, t, out) : st;
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
        memset(far_mat_row(order, i), 0, (size_t)order->cols * sizeof(double));
    }
    far_mat x = far_mat_view(far, u->rows, u->cols, FAR_F64);
    st = st == FAR_OK ? eval(ctx, self, &x, value) : st;
    far_free(ctx, far);
    return st;
}

/* Classes: the softmax of the scores. */
static far_status predict(far_ctx *ctx, const void *self, const far_frame *frame,
                          const far_predict_opts *o, far_prediction **out)
{
    const trees *t = self;
    far_predictor whole = {.ctx = ctx, .ops = &far_trees_ops, .self = (void *)self};
    return far_predict_plain(ctx, &whole, frame, o, t->link, FLOOR, out);
}

/* ---- the certificate ----------------------------------------------------------------------- */

static void bound_output(const trees *t, int64_t k, far_bound *b)
{
    double most = fmax(fabs(t->lowest[k]), fabs(t->highest[k]));
    b->verdict = FAR_BOUNDED;
    b->theorem = most == 0 ? "the first of two classes has the score 0"
                           : "f is a constant and one leaf of each tree, so it lies between the "
                             "sums of their least and of their largest leaves";
    b->method = "leaves";
    b->proofs[0] = (far_proof){"leaves", most};
    b->lowest = t->lowest[k];
    b->highest = t->highest[k];
    b->tightest = most;
}

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
    (*out)->rows = t->rows;
    memcpy((*out)->hash, t->hash, sizeof t->hash);
    for (int64_t k = 0; k < (*out)->info.outputs; k++) {
        bound_output(t, k, &(*out)->bounds[k]);
    }
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
    FAR_TRY(far_alloc(p->in->ctx, 1, &t));
    *out = t;
    t->ctx = p->in->ctx;
    FAR_TRY(far_parcel_columns(p, &t->columns));
    const far_columns_info *info = &t->columns->info;
    if (info->classes == 1 || info->outputs != (info->classes > 0 ? info->classes : 1)) {
        FAR_TRY(far_json_fail(&p->whole, "trees have one target, of numbers or classes"));
    }
    FAR_TRY(far_json_count(&p->whole, "rows", &t->rows));
    FAR_TRY(far_parcel_blob(p, &blob));
    FAR_TRY(read_leaves(p->in->ctx, (const char *)blob.data, blob.size, t));
    FAR_TRY(far_booster_load(p->in->ctx, blob.data, blob.size, &t->booster));
done:
    far_input_clear(&blob);
    return st;
}

static void share(const void *self, const double *scores, double *out)
{
    const trees *t = self;
    far_scores_share(t->link, FLOOR, scores, t->columns->info.classes, out);
}

const far_predictor_ops far_trees_ops =
    FAR_PREDICTOR_OPS(FAR_PREDICTOR_TREES, "trees", .predict = predict, .share = share);
