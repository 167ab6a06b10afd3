/* Target columns as the outputs of a network: numbers, or one centred indicator per class. */
#include "regress_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 1000 };

static far_status fail_no_target(far_ctx *ctx, const char *name, int64_t row)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: the target %s has no value; leave such rows out (--where)",
                    (long long)row + 1, name);
}

static far_status name_targets(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                               int64_t col_count, far_model *m)
{
    far_status st = far_texts_alloc(ctx, col_count, &m->targets);
    m->info.targets = st == FAR_OK ? col_count : 0;
    for (int64_t j = 0; st == FAR_OK && j < col_count; j++) {
        const char *name = far_frame_name(frame, cols[j]);
        st = far_copy_text(ctx, name, (int64_t)strlen(name), &m->targets[j]);
    }
    return st;
}

static far_status make_outputs(far_ctx *ctx, int64_t count, int64_t outputs, far_model *m)
{
    far_status st;
    m->info.outputs = outputs;
    FAR_TRY(far_alloc(ctx, outputs, &m->out_centre));
    FAR_TRY(far_alloc(ctx, outputs, &m->out_scale));
    FAR_TRY(far_alloc(ctx, count * outputs, &m->y));
done:
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void standardize_output(far_model *m, int64_t count, int64_t j)
{
    int64_t p = m->info.outputs;
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += m->y[i * p + j];
    }
    m->out_centre[j] = (double)(sum / (long double)count);
    for (int64_t i = 0; i < count; i++) {
        m->y[i * p + j] -= m->out_centre[j];
        square += (long double)m->y[i * p + j] * m->y[i * p + j];
    }
    double scale = (double)sqrtl(square / (long double)count);
    m->out_scale[j] = scale > 1e-12 * fabs(m->out_centre[j]) ? scale : 1;
    for (int64_t i = 0; i < count; i++) {
        m->y[i * p + j] /= m->out_scale[j];
    }
}

static far_status learn_numbers(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                                const int64_t *index, int64_t count, bool standardize, far_model *m)
{
    int64_t p = m->info.targets;
    far_status st = make_outputs(ctx, count, p, m);
    for (int64_t j = 0; st == FAR_OK && j < p; j++) {
        const double *column = far_frame_numbers(frame, cols[j]);
        m->out_centre[j] = 0;
        m->out_scale[j] = 1;
        for (int64_t i = 0; st == FAR_OK && i < count; i++) {
            m->y[i * p + j] = column[index[i]];
            if (isnan(column[index[i]])) {
                st = fail_no_target(ctx, m->targets[j], index[i]);
            }
        }
        if (st == FAR_OK && standardize) {
            standardize_output(m, count, j);
        }
    }
    return st;
}

/* ---- classes ------------------------------------------------------------------------------- */

/* A label of either kind of column: a number, or the code of a word. */
static double label_at(const far_frame *frame, int64_t col, int64_t row)
{
    const double *numbers = far_frame_numbers(frame, col);
    return numbers ? numbers[row] : far_frame_codes(frame, col)[row];
}

static bool label_missing(const far_frame *frame, int64_t col, int64_t row)
{
    double label = label_at(frame, col, row);
    return far_frame_kind(frame, col) == FAR_COLUMN_NUMBER ? isnan(label) : label < 0;
}

static int by_label(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distinct labels of the chosen rows in ascending order. */
static far_status distinct_labels(far_ctx *ctx, const far_frame *frame, int64_t col,
                                  const int64_t *index, int64_t count, double *labels,
                                  int64_t *distinct)
{
    for (int64_t i = 0; i < count; i++) {
        if (label_missing(frame, col, index[i])) {
            return fail_no_target(ctx, far_frame_name(frame, col), index[i]);
        }
        labels[i] = label_at(frame, col, index[i]);
    }
    qsort(labels, (size_t)count, sizeof *labels, by_label);
    *distinct = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || labels[i] != labels[i - 1]) {
            labels[(*distinct)++] = labels[i];
        }
    }
    if (*distinct < 2) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the target %s has one class only in the rows chosen; "
                        "two at least are needed",
                        far_frame_name(frame, col));
    }
    if (*distinct > MOST_CLASSES) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the target %s has %lld distinct values, too many for "
                        "classes (at most %d); use --task regress",
                        far_frame_name(frame, col), (long long)*distinct, MOST_CLASSES);
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

static far_status name_classes(far_ctx *ctx, const far_frame *frame, int64_t col,
                               const double *labels, far_model *m)
{
    far_status st = far_texts_alloc(ctx, m->info.outputs, &m->classes);
    for (int64_t c = 0; st == FAR_OK && c < m->info.outputs; c++) {
        far_text t = {.ctx = ctx};
        if (far_frame_kind(frame, col) == FAR_COLUMN_NUMBER) {
            add_label(&t, labels[c]);
        } else {
            far_text_add(&t, "%s", far_frame_level(frame, col, (int64_t)labels[c]));
        }
        m->classes[c] = t.data;
        st = t.status;
    }
    return st;
}

static void centre_indicators(const far_frame *frame, int64_t col, const int64_t *index,
                              int64_t count, const double *labels, far_model *m)
{
    int64_t p = m->info.outputs;
    for (int64_t c = 0; c < p; c++) {
        int64_t members = 0;
        for (int64_t i = 0; i < count; i++) {
            members += label_at(frame, col, index[i]) == labels[c];
        }
        m->out_centre[c] = (double)members / (double)count;
        m->out_scale[c] = 1;
        for (int64_t i = 0; i < count; i++) {
            bool is = label_at(frame, col, index[i]) == labels[c];
            m->y[i * p + c] = is - m->out_centre[c];
        }
    }
}

static far_status learn_classes(far_ctx *ctx, const far_frame *frame, int64_t col,
                                const int64_t *index, int64_t count, far_model *m)
{
    far_status st;
    double *labels = NULL;
    int64_t distinct = 0;
    FAR_TRY(far_alloc(ctx, count, &labels));
    FAR_TRY(distinct_labels(ctx, frame, col, index, count, labels, &distinct));
    FAR_TRY(make_outputs(ctx, count, distinct, m));
    FAR_TRY(name_classes(ctx, frame, col, labels, m));
    centre_indicators(frame, col, index, count, labels, m);
done:
    far_free(ctx, labels);
    return st;
}

/* ---- either -------------------------------------------------------------------------------- */

static far_status decide_task(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                              int64_t col_count, int32_t task, far_model *m)
{
    int64_t words = 0;
    for (int64_t j = 0; j < col_count; j++) {
        words += far_frame_kind(frame, cols[j]) == FAR_COLUMN_WORD;
    }
    m->info.task = task != FAR_TASK_AUTO ? task : words ? FAR_TASK_CLASSIFY : FAR_TASK_REGRESS;
    if (m->info.task == FAR_TASK_REGRESS && words) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a target column holds words; numbers are needed to regress (--task "
                        "classify takes words)");
    }
    if (m->info.task == FAR_TASK_CLASSIFY && col_count != 1) {
        return far_fail(ctx, FAR_ERR_ARG, "classification takes one target column, not %lld",
                        (long long)col_count);
    }
    return FAR_OK;
}

far_status far_targets_learn(far_ctx *ctx, const far_frame *frame, const int64_t *cols,
                             int64_t col_count, const int64_t *index, int64_t count, int32_t task,
                             bool standardize, far_model *m)
{
    far_status st;
    FAR_TRY(decide_task(ctx, frame, cols, col_count, task, m));
    FAR_TRY(name_targets(ctx, frame, cols, col_count, m));
    FAR_TRY(m->info.task == FAR_TASK_CLASSIFY
                ? learn_classes(ctx, frame, cols[0], index, count, m)
                : learn_numbers(ctx, frame, cols, index, count, standardize, m));
done:
    return st;
}
