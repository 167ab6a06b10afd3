/* Which rows a comparison trains on and which it predicts. */
#include "../data/expr.h"
#include "compare_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ------------------------------------------------------------------------------- */

static far_status find_target(far_arena *a)
{
    far_status st;
    int64_t *cols = NULL, count = 0;
    FAR_TRY(far_alloc(a->ctx, far_frame_cols(a->frame), &cols));
    FAR_TRY(far_frame_list(a->ctx, a->frame, a->opts->fit->target, cols, &count));
    if (count != 1) {
        FAR_TRY(far_fail(a->ctx, FAR_ERR_ARG, "models are compared on one target, not on %lld",
                         (long long)count));
    }
    a->target = cols[0];
    far_task task = a->opts->fit->task;
    bool words = far_frame_column(a->frame, a->target).kind != FAR_COLUMN_NUMBER;
    if (task != FAR_TASK_CLASSIFY) {
        FAR_TRY(far_cells_check(a->ctx, a->frame, a->target, true));
    }
    if (words && task == FAR_TASK_REGRESS) {
        FAR_TRY(far_fail(a->ctx, FAR_ERR_ARG, "the target %s holds words: classes (`task`)",
                         far_frame_column(a->frame, a->target).name));
    }
    a->classes = words || task == FAR_TASK_CLASSIFY; /* counted when they are known */
done:
    far_free(a->ctx, cols);
    return st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static bool looks_at(const far_expr *e, int64_t col)
{
    for (int i = 0; i < e->count; i++) {
        const far_node *n = &e->nodes[i];
        bool left = n->kind == FAR_NODE_COMPARE || n->kind == FAR_NODE_MISSING;
        if ((left && n->left.col == col) || (n->kind == FAR_NODE_COMPARE && n->right.col == col)) {
            return true;
        }
    }
    return false;
}

static far_status refuse_target(const far_arena *a)
{
    far_expr e = {0};
    far_status st = far_expr_parse(a->ctx, a->frame, a->opts->shift, &e);
    if (st == FAR_OK && looks_at(&e, a->target)) {
        st = far_fail(a->ctx, FAR_ERR_ARG,
                      "the shift '%.100s' looks at the target %s, which is not known when a row is "
                      "to be predicted; say by other columns what is out of range",
                      a->opts->shift, far_frame_column(a->frame, a->target).name);
    }
    far_expr_clear(&e);
    return st;
}

/* Sorts the rows that count into those in range and those out of it. */
static far_status sort_rows(far_arena *a)
{
    far_status st;
    int64_t rows = far_frame_rows(a->frame);
    const unsigned char *used = a->opts->fit->rows;
    FAR_TRY(far_alloc(a->ctx, rows, &a->out));
    FAR_TRY(far_alloc(a->ctx, rows, &a->inside));
    FAR_TRY(far_alloc(a->ctx, rows, &a->outside));
    if (a->opts->shift) {
        FAR_TRY(refuse_target(a));
        FAR_TRY(far_frame_where(a->ctx, a->frame, a->opts->shift, a->out));
    }
    for (int64_t i = 0; i < rows; i++) {
        if (used && !used[i]) {
            a->out[i] = 0;
        } else if (a->out[i]) {
            a->outside[a->outside_count++] = i;
        } else {
            a->inside[a->inside_count++] = i;
        }
    }
done:
    return st;
}

static far_status check_rows(const far_arena *a)
{
    long long total = (long long)(a->inside_count + a->outside_count);
    const char *shift = a->opts->shift;
    if (total == 0) {
        return far_fail(a->ctx, FAR_ERR_ARG, "no rows to compare on: the selection is empty");
    }
    if (!shift) {
        return FAR_OK; /* the folds look for themselves */
    }
    if (a->outside_count == 0) {
        return far_fail(a->ctx, FAR_ERR_ARG,
                        "the shift '%.100s' holds for none of the %lld rows: nothing is out of "
                        "range",
                        shift, total);
    }
    if (a->inside_count == 0) {
        return far_fail(a->ctx, FAR_ERR_ARG,
                        "the shift '%.100s' holds for all of the %lld rows: none is left to train "
                        "on",
                        shift, total);
    }
    if (a->train_count < 2) {
        return far_fail(a->ctx, FAR_ERR_ARG,
                        "the shift '%.100s' leaves %lld of the %lld rows in range, %lld of them to "
                        "train on; two at least are needed",
                        shift, (long long)a->inside_count, total, (long long)a->train_count);
    }
    return FAR_OK;
}

static far_status check_targets(const far_arena *a, const int64_t *rows, int64_t count)
{
    const double *y = far_frame_column(a->frame, a->target).numbers;
    for (int64_t i = 0; y && i < count; i++) {
        if (isnan(y[rows[i]])) {
            return far_fail_no_target(a->ctx, far_frame_column(a->frame, a->target).name, rows[i]);
        }
    }
    return FAR_OK;
}

static int64_t seeds_of(const far_arena *a)
{
    if (a->opts->seeds > 0) {
        return a->opts->seeds;
    }
    return a->train_count <= FAR_COMPARE_SEEDS_ROWS ? FAR_COMPARE_SEEDS : 1;
}

far_columns_opts far_arena_columns(const far_arena *a, const unsigned char *rows)
{
    const far_fit_opts *fit = a->opts->fit;
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = fit->target;
    o.features = a->features ? a->features : fit->features;
    o.careful = fit->careful;
    o.keep = fit->keep;
    o.rows = rows;
    o.task = a->classes > 0 ? FAR_TASK_CLASSIFY : FAR_TASK_REGRESS;
    o.standardize = fit->standardize ? FAR_STANDARDIZE_BOTH : FAR_STANDARDIZE_NONE;
    o.impute = fit->impute;
    return o;
}

/* Backquotes double inside a name. */
static void add_quoted(far_text *t, const char *name)
{
    far_text_add(t, "%s`", t->length ? "," : "");
    for (; *name; name++) {
        far_text_add(t, *name == '`' ? "``" : "%c", *name);
    }
    far_text_add(t, "`");
}

/* The first network that takes all columns or none: of images or sequences. NULL: there is none. */
static far_status find_shaped(far_ctx *ctx, const far_rivals *rivals, const char **out)
{
    far_status st = FAR_OK;
    *out = NULL;
    for (int64_t i = 0; i < rivals->count && !*out; i++) {
        const far_rival *r = &rivals->items[i];
        far_together together = FAR_APART;
        FAR_TRY(r->kind == FAR_RIVAL_FINITE ? far_arch_together(ctx, r->arch, &together) : FAR_OK);
        *out = together != FAR_APART ? r->arch : NULL;
    }
done:
    return st;
}

/* All models and seeds learn from the same columns: those that can help in the rows in range. */
static far_status choose_features(far_arena *a, const char *shaped)
{
    far_status st;
    far_text list = {.ctx = a->ctx};
    unsigned char *rows = NULL;
    FAR_TRY(far_alloc(a->ctx, far_frame_rows(a->frame), &rows));
    for (int64_t i = 0; i < a->inside_count; i++) {
        rows[a->inside[i]] = 1;
    }
    far_columns_opts o = far_arena_columns(a, rows);
    o.arch = shaped;
    FAR_TRY(far_columns_learn(a->ctx, a->frame, &o, &a->columns));
    for (int64_t j = 0; j < a->columns->info.features; j++) {
        const char *name = a->columns->features[j].name;
        if (a->fold_column < 0 ||
            strcmp(name, far_frame_column(a->frame, a->fold_column).name) != 0) {
            add_quoted(&list, name);
        }
    }
    FAR_TRY(list.status);
    if (list.length == 0) {
        FAR_TRY(far_fail(a->ctx, FAR_ERR_ARG,
                         "the table has no column beside the target to learn from"));
    }
    a->features = list.data;
    list.data = NULL;
    if (a->fold_column >= 0) { /* once more, without it */
        far_columns_destroy(a->columns);
        a->columns = NULL;
        o = far_arena_columns(a, rows);
        o.arch = shaped;
        FAR_TRY(far_columns_learn(a->ctx, a->frame, &o, &a->columns));
    }
done:
    far_free(a->ctx, rows);
    far_free(a->ctx, list.data);
    return st;
}

/* The target of every row that counts: a number, or the place of its class. */
static far_status take_targets(far_arena *a)
{
    far_status st;
    int64_t rows = far_frame_rows(a->frame), count = a->inside_count + a->outside_count, k = 0;
    const double *numbers = far_frame_column(a->frame, a->target).numbers;
    double *coded = NULL;
    FAR_TRY(far_alloc(a->ctx, rows, &a->y));
    if (a->classes == 0) {
        memcpy(a->y, numbers, (size_t)rows * sizeof *a->y);
        return FAR_OK;
    }
    int64_t outputs = a->columns->info.outputs;
    a->classes = a->columns->info.classes;
    FAR_TRY(far_alloc(a->ctx, count * outputs, &coded));
    far_mat out = far_mat_view(coded, count, outputs, FAR_F64);
    FAR_TRY(
        far_columns_encode_targets(a->ctx, a->columns, a->frame, a->opts->fit->rows, NULL, &out));
    for (int64_t i = 0; i < rows; i++) {
        a->y[i] = 0;
        if (!a->opts->fit->rows || a->opts->fit->rows[i]) {
            const double *row = far_mat_row(&out, k++);
            for (int64_t c = 1; c < outputs; c++) {
                a->y[i] = row[c] > row[(int64_t)a->y[i]] ? (double)c : a->y[i];
            }
        }
    }
done:
    far_free(a->ctx, coded);
    return st;
}

/* ---- folds --------------------------------------------------------------------------------- */

/* Shuffled rows are dealt out in turn, those of a class one after another. */
static far_status deal_folds(far_arena *a)
{
    far_status st;
    int64_t *shuffled = NULL, dealt = 0, n = a->inside_count;
    if (a->seeds > n) {
        return far_fail(a->ctx, FAR_ERR_ARG, "%lld rows are too few for %lld folds", (long long)n,
                        (long long)a->seeds);
    }
    FAR_TRY(far_alloc(a->ctx, n, &shuffled));
    memcpy(shuffled, a->inside, (size_t)n * sizeof *shuffled);
    far_random_shuffle(a->opts->fit->seed, shuffled, n);
    for (int64_t c = 0; c < a->classes + (a->classes == 0); c++) {
        for (int64_t i = 0; i < n; i++) {
            if (a->classes == 0 || a->y[shuffled[i]] == (double)c) {
                a->folds[shuffled[i]] = dealt++ % a->seeds;
            }
        }
    }
done:
    far_free(a->ctx, shuffled);
    return st;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* What the column says of a row; NAN: nothing. */
static double fold_mark(const far_arena *a, int64_t row)
{
    const double *numbers = far_frame_column(a->frame, a->fold_column).numbers;
    const int32_t *codes = far_frame_column(a->frame, a->fold_column).codes;
    return numbers ? numbers[row] : codes[row] >= 0 ? (double)codes[row] : NAN;
}

/* Before columns are learnt from, which would ask for its gaps to be filled. */
static far_status check_marks(const far_arena *a)
{
    for (int64_t i = 0; a->fold_column >= 0 && i < a->inside_count; i++) {
        if (isnan(fold_mark(a, a->inside[i]))) {
            return far_fail(a->ctx, FAR_ERR_VALUE, "row %lld: the column %s names no fold",
                            (long long)a->inside[i] + 1,
                            far_frame_column(a->frame, a->fold_column).name);
        }
    }
    return FAR_OK;
}

static far_status read_folds(far_arena *a)
{
    far_status st;
    double *marks = NULL;
    const char *name = far_frame_column(a->frame, a->fold_column).name;
    FAR_TRY(far_alloc(a->ctx, a->inside_count, &marks));
    for (int64_t i = 0; i < a->inside_count; i++) {
        marks[i] = fold_mark(a, a->inside[i]);
    }
    qsort(marks, (size_t)a->inside_count, sizeof *marks, by_value);
    a->seeds = 0;
    for (int64_t i = 0; i < a->inside_count; i++) {
        if (i == 0 || marks[i] > marks[a->seeds - 1]) {
            marks[a->seeds++] = marks[i];
        }
    }
    if (a->seeds < 2) {
        FAR_TRY(far_fail(a->ctx, FAR_ERR_ARG,
                         "the column %s has one value only: two folds at least are needed", name));
    }
    for (int64_t i = 0; i < a->inside_count; i++) {
        double mark = fold_mark(a, a->inside[i]);
        double *found = bsearch(&mark, marks, (size_t)a->seeds, sizeof *marks, by_value);
        a->folds[a->inside[i]] = found - marks;
    }
done:
    far_free(a->ctx, marks);
    return st;
}

static far_status make_folds(far_arena *a)
{
    far_status st;
    int64_t rows = far_frame_rows(a->frame), most = 0;
    FAR_TRY(far_alloc(a->ctx, rows, &a->folds));
    for (int64_t i = 0; i < rows; i++) {
        a->folds[i] = -1;
    }
    a->seeds = a->opts->folds;
    FAR_TRY(a->fold_column >= 0 ? read_folds(a) : deal_folds(a));
    for (int64_t f = 0; f < a->seeds; f++) {
        int64_t count = 0;
        for (int64_t i = 0; i < rows; i++) {
            count += a->folds[i] == f;
        }
        most = count > most ? count : most;
    }
    a->train_count = a->inside_count - most;
    if (a->train_count < 2) {
        FAR_TRY(far_fail(a->ctx, FAR_ERR_ARG,
                         "a fold leaves %lld of the %lld rows to train on; two at least are needed",
                         (long long)a->train_count, (long long)a->inside_count));
    }
done:
    return st;
}

static bool has_folds(const far_compare_opts *o)
{
    return o->folds > 0 || o->fold_column;
}

static far_status find_fold_column(far_arena *a)
{
    a->fold_column = -1;
    far_status st = a->opts->fold_column
                        ? far_frame_find(a->ctx, a->frame, a->opts->fold_column, &a->fold_column)
                        : FAR_OK;
    return st == FAR_OK && a->fold_column == a->target
               ? far_fail(a->ctx, FAR_ERR_ARG, "the target cannot name the folds")
               : st;
}

/* ---- the arena ----------------------------------------------------------------------------- */

far_status far_arena_open(far_ctx *ctx, const far_frame *frame, const far_compare_opts *opts,
                          const far_rivals *rivals, far_arena *a)
{
    far_status st;
    const char *shaped;
    *a = (far_arena){.ctx = ctx, .frame = frame, .opts = opts};
    FAR_TRY(find_target(a));
    FAR_TRY(find_fold_column(a));
    FAR_TRY(sort_rows(a));
    a->train_count = (int64_t)round((1 - opts->test_fraction) * (double)a->inside_count);
    a->seeds = seeds_of(a);
    a->certify = opts->certify && !has_folds(opts);
    FAR_TRY(check_rows(a));
    FAR_TRY(check_marks(a));
    FAR_TRY(check_targets(a, a->inside, a->inside_count));
    FAR_TRY(check_targets(a, a->outside, a->outside_count));
    FAR_TRY(find_shaped(ctx, rivals, &shaped));
    FAR_TRY(choose_features(a, shaped));
    FAR_TRY(take_targets(a));
    if (has_folds(opts)) {
        FAR_TRY(make_folds(a));
    }
done:
    return st;
}

void far_arena_clear(far_arena *a)
{
    far_columns_destroy(a->columns);
    FAR_FREE_ALL(a->ctx, a->features, a->out, a->inside, a->outside, a->y, a->folds);
}

/* ---- one seed ------------------------------------------------------------------------------ */

/* The rows of the fold are for testing. */
static void take_fold(const far_arena *a, far_split *s)
{
    int64_t fold = (int64_t)(s->seed - a->opts->fit->seed);
    for (int64_t i = 0; i < a->inside_count; i++) {
        int64_t row = a->inside[i];
        (a->folds[row] == fold ? s->test : s->train)[row] = 1;
    }
}

static far_status draw_rows(const far_arena *a, far_split *s)
{
    far_status st;
    int64_t *shuffled = NULL;
    FAR_TRY(far_alloc(a->ctx, a->inside_count, &shuffled));
    memcpy(shuffled, a->inside, (size_t)a->inside_count * sizeof *shuffled);
    far_random_shuffle(s->seed, shuffled, a->inside_count);
    for (int64_t i = 0; i < a->inside_count; i++) {
        (i < a->train_count ? s->train : s->test)[shuffled[i]] = 1;
    }
done:
    far_free(a->ctx, shuffled);
    return st;
}

static far_status pick_rows(const far_arena *a, far_split *s)
{
    far_status st;
    int64_t rows = far_frame_rows(a->frame);
    FAR_TRY(far_alloc(a->ctx, rows, &s->train));
    FAR_TRY(far_alloc(a->ctx, rows, &s->test));
    memcpy(s->test, a->out, (size_t)rows);
    if (a->folds) {
        take_fold(a, s);
    } else {
        FAR_TRY(draw_rows(a, s));
    }
    FAR_TRY(far_row_index(a->ctx, a->frame, s->train, &s->train_rows, &s->n));
    FAR_TRY(far_row_index(a->ctx, a->frame, s->test, &s->test_rows, &s->m));
done:
    return st;
}

/* A class that no model was taught has no probability. */
static far_status check_classes(const far_arena *a, const far_split *s)
{
    for (int64_t c = 0; c < a->classes; c++) {
        int64_t i = 0;
        while (i < s->n && a->y[s->train_rows[i]] != (double)c) {
            i++;
        }
        if (i == s->n) {
            return far_fail(
                a->ctx, FAR_ERR_VALUE,
                "the class %s of %s is in no row to train on, with %s %llu; leave it "
                "out (`rows`), or take fewer folds",
                a->columns->classes[c], far_frame_column(a->frame, a->target).name,
                a->folds ? "fold" : "seed",
                (unsigned long long)(a->folds ? s->seed - a->opts->fit->seed + 1 : s->seed));
        }
    }
    return FAR_OK;
}

/* Whether the rows to predict can be encoded by what the training rows teach. */
static far_status check_inputs(const far_arena *a, const far_split *s)
{
    far_status st;
    far_columns *columns = NULL;
    double *x = NULL;
    far_columns_opts o = far_arena_columns(a, s->train);
    o.standardize = FAR_STANDARDIZE_NONE;
    FAR_TRY(far_columns_learn(a->ctx, a->frame, &o, &columns));
    FAR_TRY(far_alloc(a->ctx, s->m * columns->info.inputs, &x));
    FAR_TRY(far_columns_apply(a->ctx, columns, a->frame, s->test_rows, s->m, false, x));
done:
    far_free(a->ctx, x);
    far_columns_destroy(columns);
    return st;
}

static far_status take_truth(const far_arena *a, far_split *s)
{
    far_status st;
    FAR_TRY(far_alloc(a->ctx, s->m, &s->yt));
    FAR_TRY(far_alloc(a->ctx, s->m, &s->out));
    for (int64_t i = 0; i < s->m; i++) {
        s->yt[i] = a->y[s->test_rows[i]];
        s->out[i] = a->out[s->test_rows[i]];
    }
done:
    return st;
}

far_status far_split_open(const far_arena *a, uint64_t seed, far_split *s)
{
    far_status st;
    *s = (far_split){.seed = seed};
    FAR_TRY(pick_rows(a, s));
    FAR_TRY(check_classes(a, s));
    FAR_TRY(check_inputs(a, s));
    FAR_TRY(take_truth(a, s));
done:
    return st;
}

void far_split_clear(far_ctx *ctx, far_split *s)
{
    void *owned[] = {s->train, s->test, s->train_rows, s->test_rows, s->yt, s->out};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        far_free(ctx, owned[i]);
    }
    *s = (far_split){0};
}
