/* Learning columns from a table: which they are, what targets become. */
#include "columns_learn.h"

#include "../arch/arch_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CLASSES = 1000,
    LEAST_ROWS = 3,    /* that say anything about a target */
    MOST_LABELS = 20,  /* whole numbers that may be classes have no more values, */
    ROWS_PER_LABEL = 5 /* and at least so many rows each */
};

void far_columns_opts_init(far_columns_opts *opts)
{
    *opts = (far_columns_opts){.size = sizeof *opts, .loss = FAR_LOSS_NONE};
}

static far_status check_opts(far_ctx *ctx, const far_frame *frame, const far_columns_opts *o)
{
    if (!frame || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "frame is NULL or opts not initialised");
    }
    if (o->target && !*o->target) {
        return far_fail(ctx, FAR_ERR_ARG, "no target column was named");
    }
    if (o->task < FAR_TASK_AUTO || o->task > FAR_TASK_CLASSIFY || o->loss < FAR_LOSS_NONE ||
        o->loss > FAR_LOSS_CE || o->standardize < FAR_STANDARDIZE_BOTH ||
        o->standardize > FAR_STANDARDIZE_NONE) {
        return far_fail(ctx, FAR_ERR_ARG, "task, loss or standardize is none of those there are");
    }
    if (o->task == FAR_TASK_REGRESS && o->loss == FAR_LOSS_CE) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the loss ce is for classes; regress with mse or bce (`loss`), or classify "
                        "(`task` classify)");
    }
    return FAR_OK;
}

/* ---- which columns and rows ---------------------------------------------------------------- */

static void lesson_clear(far_lesson *l)
{
    FAR_FREE_ALL(l->ctx, l->targets, l->features, l->index);
}

bool far_contains(const int64_t *list, int64_t count, int64_t value)
{
    for (int64_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

static void other_columns(far_lesson *l)
{
    for (int64_t j = 0; j < far_frame_inputs(l->frame); j++) {
        if (!far_contains(l->targets, l->target_count, j)) {
            l->features[l->feature_count++] = j;
        }
    }
}

static far_status check_lesson(const far_lesson *l, bool careful)
{
    for (int64_t j = 0; j < l->feature_count; j++) {
        if (far_contains(l->targets, l->target_count, l->features[j])) {
            return far_fail(l->ctx, FAR_ERR_ARG, "column %s is both a feature and a target",
                            far_frame_column(l->frame, l->features[j]).name);
        }
    }
    if (l->feature_count == 0) {
        return far_fail(l->ctx, FAR_ERR_ARG,
                        "the table has no column beside the target to learn from");
    }
    if (l->count == 0) {
        return far_fail(l->ctx, FAR_ERR_ARG, "no rows to fit: the selection is empty");
    }
    if (careful && l->target_count > 0 && l->count < LEAST_ROWS) {
        return far_fail(
            l->ctx, FAR_ERR_VALUE, "%lld row%s %s too few to learn from; %d are the least",
            (long long)l->count, far_plural(l->count), l->count == 1 ? "is" : "are", LEAST_ROWS);
    }
    return FAR_OK;
}

static far_status choose_parts(const far_columns_opts *o, far_lesson *l)
{
    far_status st;
    FAR_TRY(far_alloc(l->ctx, far_frame_cols(l->frame), &l->targets));
    FAR_TRY(far_alloc(l->ctx, far_frame_cols(l->frame), &l->features));
    if (o->target) {
        FAR_TRY(far_frame_list(l->ctx, l->frame, o->target, l->targets, &l->target_count));
    }
    if (o->features) {
        FAR_TRY(far_frame_list(l->ctx, l->frame, o->features, l->features, &l->feature_count));
    } else {
        other_columns(l);
    }
    FAR_TRY(far_row_index(l->ctx, l->frame, o->rows, &l->index, &l->count));
    FAR_TRY(check_lesson(l, o->careful));
done:
    return st;
}

static far_status hash_data(const far_lesson *l, const unsigned char *rows, far_columns *c)
{
    int64_t *cols = NULL, count = l->feature_count + l->target_count;
    far_status st = far_alloc(l->ctx, count, &cols);
    if (st == FAR_OK) {
        memcpy(cols, l->features, (size_t)l->feature_count * sizeof *cols);
        memcpy(cols + l->feature_count, l->targets, (size_t)l->target_count * sizeof *cols);
        st = far_frame_hash(l->ctx, l->frame, cols, count, rows, c->hash);
    }
    far_free(l->ctx, cols);
    return st;
}

/* ---- what kind of task --------------------------------------------------------------------- */

/* bce of several targets is a regression: each is a probability of its own. */
static far_task task_of_loss(const far_lesson *l, const far_columns_opts *o)
{
    bool classes = o->loss == FAR_LOSS_CE || (o->loss == FAR_LOSS_BCE && l->target_count == 1);
    return o->task == FAR_TASK_AUTO && classes ? FAR_TASK_CLASSIFY : o->task;
}

static far_status decide_task(const far_lesson *l, const far_columns_opts *o, far_columns *c)
{
    int64_t words = 0;
    for (int64_t j = 0; j < l->target_count; j++) {
        words += far_frame_column(l->frame, l->targets[j]).kind == FAR_COLUMN_WORD;
    }
    far_task task = task_of_loss(l, o);
    for (int64_t j = 0; task != FAR_TASK_CLASSIFY && j < l->target_count; j++) {
        far_status st = far_cells_check(l->ctx, l->frame, l->targets[j], true);
        if (st != FAR_OK) {
            return st;
        }
    }
    c->info.task = task != FAR_TASK_AUTO ? task : words ? FAR_TASK_CLASSIFY : FAR_TASK_REGRESS;
    if (c->info.task == FAR_TASK_REGRESS && words) {
        return far_fail(l->ctx, FAR_ERR_ARG,
                        "a target column holds words; numbers are needed to regress (`task` "
                        "classify takes words)");
    }
    if (c->info.task == FAR_TASK_CLASSIFY && l->target_count != 1) {
        return far_fail(l->ctx, FAR_ERR_ARG, "classification takes one target column, not %lld",
                        (long long)l->target_count);
    }
    return FAR_OK;
}

static far_status name_targets(const far_lesson *l, far_columns *c)
{
    far_status st = far_alloc(l->ctx, l->target_count, &c->targets);
    c->info.targets = st == FAR_OK ? l->target_count : 0;
    for (int64_t j = 0; st == FAR_OK && j < l->target_count; j++) {
        const char *name = far_frame_column(l->frame, l->targets[j]).name;
        st = far_copy_text(l->ctx, name, (int64_t)strlen(name), &c->targets[j]);
    }
    return st;
}

static far_status fail_no_target(const far_lesson *l, int64_t col, int64_t row)
{
    return far_fail_no_target(l->ctx, far_frame_column(l->frame, col).name, row);
}

/* ---- classes ------------------------------------------------------------------------------- */

/* A label of either kind of column: a number, or the code of a category; below 0 or NAN where it is
 * missing. */
static double label_at(const far_frame *frame, int64_t col, int64_t row)
{
    const double *numbers = far_frame_column(frame, col).numbers;
    return numbers ? numbers[row] : far_frame_column(frame, col).codes[row];
}

static bool label_missing(const far_frame *frame, int64_t col, int64_t row)
{
    double label = label_at(frame, col, row);
    return far_frame_column(frame, col).kind == FAR_COLUMN_NUMBER ? isnan(label) : label < 0;
}

static int by_label(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static far_status check_classes(const far_lesson *l, const far_columns *c, int64_t distinct)
{
    const char *name = far_frame_column(l->frame, l->targets[0]).name;
    if (distinct < 2) {
        return far_fail(l->ctx, FAR_ERR_ARG,
                        "the target %s has one class only in the rows chosen; two at least are "
                        "needed",
                        name);
    }
    if (distinct > MOST_CLASSES) {
        return far_fail(l->ctx, FAR_ERR_ARG,
                        "the target %s has %lld distinct values, too many for classes (at most "
                        "%d); use `task` regress",
                        name, (long long)distinct, MOST_CLASSES);
    }
    if (c->info.loss == FAR_LOSS_BCE && distinct != 2) {
        return far_fail(l->ctx, FAR_ERR_ARG,
                        "the loss bce takes two classes, but the target %s has %lld; use ce "
                        "(`loss`), or regress (`task` regress)",
                        name, (long long)distinct);
    }
    return FAR_OK;
}

/* The distinct labels of the chosen rows in ascending order, and how many rows have each. */
static far_status distinct_labels(const far_lesson *l, double *labels, int64_t *members,
                                  int64_t *distinct)
{
    int64_t col = l->targets[0];
    for (int64_t i = 0; i < l->count; i++) {
        if (label_missing(l->frame, col, l->index[i])) {
            return fail_no_target(l, col, l->index[i]);
        }
        labels[i] = label_at(l->frame, col, l->index[i]);
    }
    qsort(labels, (size_t)l->count, sizeof *labels, by_label);
    *distinct = 0;
    for (int64_t i = 0; i < l->count; i++) {
        if (i == 0 || labels[i] != labels[*distinct - 1]) {
            labels[*distinct] = labels[i];
            members[(*distinct)++] = 0;
        }
        members[*distinct - 1]++;
    }
    return FAR_OK;
}

/* 10, not 1e+01: a class is a name. */
static void add_label(far_text *t, double label)
{
    if (label == rint(label) && fabs(label) < 1e15) {
        far_text_add(t, "%.0f", label + 0.0); /* -0 is 0 */
    } else {
        far_text_add_number(t, label);
    }
}

static far_status name_classes(const far_lesson *l, const double *labels, far_columns *c)
{
    far_status st = far_alloc(l->ctx, c->info.classes, &c->classes);
    for (int64_t k = 0; st == FAR_OK && k < c->info.classes; k++) {
        far_text t = {.ctx = l->ctx};
        if (far_frame_column(l->frame, l->targets[0]).kind == FAR_COLUMN_NUMBER) {
            add_label(&t, labels[k]);
        } else {
            far_text_add(&t, "%s", far_frame_level(l->frame, l->targets[0], (int64_t)labels[k]));
        }
        c->classes[k] = t.data;
        st = t.status;
    }
    return st;
}

/* members: how many rows each class has, for the centres of a kernel's fit. */
static far_status learn_classes(const far_lesson *l, far_columns *c, int64_t *members)
{
    far_status st;
    double *labels = NULL;
    int64_t distinct = 0;
    FAR_TRY(far_alloc(l->ctx, l->count, &labels));
    FAR_TRY(distinct_labels(l, labels, members, &distinct));
    FAR_TRY(check_classes(l, c, distinct));
    c->info.classes = distinct;
    c->info.outputs = c->info.loss == FAR_LOSS_BCE ? 1 : distinct;
    FAR_TRY(name_classes(l, labels, c));
done:
    far_free(l->ctx, labels);
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static far_status check_numbers(const far_lesson *l, const far_columns *c)
{
    for (int64_t j = 0; j < l->target_count; j++) {
        const double *column = far_frame_column(l->frame, l->targets[j]).numbers;
        for (int64_t i = 0; i < l->count; i++) {
            double value = column[l->index[i]];
            if (isnan(value)) {
                return fail_no_target(l, l->targets[j], l->index[i]);
            }
            if (c->info.loss == FAR_LOSS_BCE && !(value >= 0 && value <= 1)) {
                return far_fail(l->ctx, FAR_ERR_VALUE,
                                "row %lld: the target %s is %g, but the loss bce takes values from "
                                "0 to 1; use mse (`loss`), or change the column",
                                (long long)l->index[i] + 1, c->targets[j], value);
            }
        }
    }
    return FAR_OK;
}

/* How many values a target of whole numbers has, if they are few and each has several rows. */
static int32_t count_labels(const far_lesson *l, const double *column)
{
    double seen[MOST_LABELS];
    int32_t count = 0;
    for (int64_t i = 0; i < l->count; i++) {
        double value = column[l->index[i]];
        int32_t k = 0;
        while (k < count && seen[k] != value) {
            k++;
        }
        if (value != rint(value) || k == MOST_LABELS) {
            return 0;
        }
        seen[k] = value;
        count += k == count;
    }
    return count >= 2 && (int64_t)count * ROWS_PER_LABEL <= l->count ? count : 0;
}

/* One value in all rows is nothing to learn; whole numbers may be meant as classes. */
static far_status look_at_targets(const far_lesson *l, const far_columns_opts *o, far_columns *c)
{
    for (int64_t j = 0; c->info.task == FAR_TASK_REGRESS && j < l->target_count; j++) {
        far_note_of_column *n = &c->notes[j];
        if (o->careful && n->low == n->high) {
            return far_fail(l->ctx, FAR_ERR_VALUE,
                            "the target %s is %.10g in every row chosen: there is nothing to learn",
                            n->name, n->low);
        }
        bool asked = o->task != FAR_TASK_AUTO || l->target_count > 1;
        n->labels = asked ? 0 : count_labels(l, far_frame_column(l->frame, n->col).numbers);
    }
    return FAR_OK;
}

static void scale_target(const far_lesson *l, const double *column, double *centre, double *scale)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < l->count; i++) {
        sum += column[l->index[i]];
    }
    *centre = (double)(sum / (long double)l->count);
    for (int64_t i = 0; i < l->count; i++) {
        double off = column[l->index[i]] - *centre;
        square += (long double)off * off;
    }
    *scale = far_standard_scale(square / (long double)l->count, *centre);
}

/* Repetitions may stand around it. */
static far_together first_layer_together(const far_layer *layer)
{
    while (layer->kind == FAR_LAYER_REPEAT && layer->body_count > 0) {
        layer = layer->body;
    }
    switch (layer->kind) {
    case FAR_LAYER_IMAGE:
    case FAR_LAYER_SEQUENCE:
        return FAR_TOGETHER;
    case FAR_LAYER_TOKENS:
        return FAR_TOGETHER_RAW;
    default:
        return FAR_APART;
    }
}

far_status far_arch_together(far_ctx *ctx, const char *text, far_together *out)
{
    far_status st;
    far_arch *arch = NULL;
    int64_t count;
    FAR_TRY(far_arch_parse(ctx, text, &arch));
    const far_layer *layers = far_arch_layers(arch, &count);
    *out = count > 0 ? first_layer_together(layers) : FAR_APART;
done:
    far_arch_destroy(arch);
    return st;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Classes of an exact fit are centred; those of a trained network are 0 or 1. */
static void scale_targets(const far_lesson *l, const far_columns_opts *o, const int64_t *members,
                          far_columns *c)
{
    double *centre = far_output_centre(c), *scale = far_output_scale(c);
    bool numbers = o->standardize == FAR_STANDARDIZE_BOTH &&
                   (o->loss == FAR_LOSS_NONE || o->loss == FAR_LOSS_MSE);
    for (int64_t k = 0; c->info.classes > 0 && o->loss == FAR_LOSS_NONE && k < c->info.outputs;
         k++) {
        centre[k] = (double)members[k] / (double)l->count;
    }
    for (int64_t k = 0; c->info.classes == 0 && numbers && k < c->info.outputs; k++) {
        scale_target(l, far_frame_column(l->frame, l->targets[k]).numbers, &centre[k], &scale[k]);
    }
}

static far_status learn_targets(const far_lesson *l, const far_columns_opts *o, far_columns *c,
                                int64_t *members)
{
    far_status st;
    FAR_TRY(decide_task(l, o, c));
    FAR_TRY(name_targets(l, c));
    c->info.outputs = l->target_count;
    FAR_TRY(c->info.task == FAR_TASK_CLASSIFY ? learn_classes(l, c, members) : check_numbers(l, c));
    FAR_TRY(look_at_targets(l, o, c));
done:
    return st;
}

static far_status learn(far_lesson *l, const far_columns_opts *o, far_columns *c)
{
    far_status st;
    int64_t *members = NULL;
    c->info.impute = o->impute != 0;
    c->info.loss = o->loss;
    FAR_TRY(far_alloc(l->ctx, l->count, &members));
    FAR_TRY(far_features_choose(o, l, c));
    FAR_TRY(hash_data(l, o->rows, c));
    if (o->target) {
        FAR_TRY(learn_targets(l, o, c, members));
    }
    FAR_TRY(far_features_learn(l, c));
    FAR_TRY(far_columns_unscaled(c));
    scale_targets(l, o, members, c);
    if (o->standardize != FAR_STANDARDIZE_NONE && l->together != FAR_TOGETHER_RAW) {
        FAR_TRY(far_features_scale(l, c));
    }
done:
    far_free(l->ctx, members);
    return st;
}

far_status far_columns_learn(far_ctx *ctx, const far_frame *frame, const far_columns_opts *opts,
                             far_columns **out)
{
    far_status st;
    far_columns *c = NULL;
    far_lesson l = {.ctx = ctx, .frame = frame};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, frame, opts));
    FAR_TRY(far_columns_new(ctx, &c));
    FAR_TRY(opts->arch ? far_arch_together(ctx, opts->arch, &l.together) : FAR_OK);
    l.ranks = opts->ranks != 0;
    if (l.ranks && l.together != FAR_APART) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARG,
                         "the inputs of images, sequences and tokens belong together: they have no "
                         "ranks (`ranks`)"));
    }
    l.steps = opts->ranks == 2;
    FAR_TRY(choose_parts(opts, &l));
    FAR_TRY(learn(&l, opts, c));
done:
    lesson_clear(&l);
    FAR_HAND_OVER(c, out, far_columns_destroy);
    return st;
}
