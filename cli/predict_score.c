#define _GNU_SOURCE
#include "predict_score.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores -------------------------------------------------------------------------------- */

/* Place of the largest of each row. */
static void take_labels(const double *coded, int64_t rows, int64_t cols, int64_t *labels)
{
    for (int64_t i = 0; i < rows; i++) {
        labels[i] = place_of_largest(coded + i * cols, cols);
    }
}

/* A classifier with one output has two classes: a probability for each is made anyway. */
static far_status judge_classes(far_ctx *ctx, const far_predictor *of, const dataset *d,
                                const far_prediction *p, double *coded, int64_t *labels,
                                prediction_score *out)
{
    const far_columns *c = far_predictor_describe(of).columns;
    int64_t cols = far_columns_describe(c).outputs;
    far_mat probability = p->probability;
    far_mat target = far_mat_view(coded, d->count, cols, FAR_F64);
    far_status st = far_columns_encode_targets(ctx, c, d->frame, d->rows, NULL, &target);
    if (st != FAR_OK) {
        return st;
    }
    if (cols == probability.cols) {
        take_labels(coded, d->count, cols, labels);
    } else {
        for (int64_t i = 0; i < d->count; i++) {
            labels[i] = coded[i] > 0.5;
        }
    }
    return far_class_scores(ctx, &probability, labels, 0, &out->c);
}

static bool all_positive(const far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t k = 0; k < m->cols; k++) {
            if (!(mat_get(m, i, k) > 0)) {
                return false;
            }
        }
    }
    return m->rows > 0;
}

/* As far_columns_encode_targets has them, in the units of the table. */
static far_status judge_numbers(far_ctx *ctx, const far_predictor *of, const dataset *d,
                                const far_prediction *p, double *coded, prediction_score *out)
{
    const far_columns *c = far_predictor_describe(of).columns;
    far_mat mean = p->mean, std = p->std;
    far_mat y = far_mat_view(coded, d->count, mean.cols, FAR_F64);
    far_status st = far_columns_encode_targets(ctx, c, d->frame, d->rows, NULL, &y);
    far_scaling scale = far_columns_describe(c).scaling;
    for (int64_t i = 0; st == FAR_OK && i < d->count; i++) {
        for (int64_t k = 0; k < mean.cols; k++) {
            coded[i * mean.cols + k] = mat_get(&scale.output_centre, 0, k) +
                                       mat_get(&scale.output_scale, 0, k) * mat_get(&y, i, k);
        }
    }
    return st == FAR_OK
               ? far_regression_scores(ctx, &mean, all_positive(&std) ? &std : NULL, &y, &out->n)
               : st;
}

int prediction_judge(session *s, const far_predictor *of, const dataset *d, const far_prediction *p,
                     prediction_score *out)
{
    far_columns_info info = far_columns_describe(far_predictor_describe(of).columns);
    double *coded = calloc((size_t)(d->count * info.outputs) + 1, sizeof *coded);
    int64_t *labels = calloc((size_t)d->count + 1, sizeof *labels);
    if (!coded || !labels) {
        free(coded);
        free(labels);
        return failure(s->verb, "out of memory");
    }
    out->classes = info.classes > 0;
    far_status st = out->classes ? judge_classes(s->ctx, of, d, p, coded, labels, out)
                                 : judge_numbers(s->ctx, of, d, p, coded, out);
    out->known = st == FAR_OK;
    free(coded);
    free(labels);
    return st == FAR_OK ? EXIT_DONE : session_failure(s, d->label);
}

static void put(far_result *r, const char *key, const char *label, double value, const char *why)
{
    if (isnan(value)) {
        far_result_missing(r, key, why, NULL);
    } else {
        far_result_number(r, key, value, label, NULL);
    }
}

void prediction_score_tell(far_result *r, const prediction_score *s)
{
    static const char NO_SPREAD[] = "there is no standard deviation";
    if (!s->known) {
        return;
    }
    far_result_open(r, "score");
    if (s->classes) {
        put(r, "accuracy", "accuracy", s->c.accuracy, NULL);
        put(r, "log_loss", "log loss", s->c.nll, NULL);
        put(r, "brier", "Brier score", s->c.brier, NULL);
        put(r, "ece", "calibration error (ECE)", s->c.ece, NULL);
    } else {
        put(r, "r2", "R2", s->n.r2, "the truth is the same in all rows");
        put(r, "rmse", "RMSE", s->n.rmse, NULL);
        put(r, "coverage", "coverage of 95% intervals", s->n.coverage, NO_SPREAD);
        put(r, "nll", "negative log likelihood", s->n.nll, NO_SPREAD);
    }
    far_result_close(r);
}

char *prediction_score_line(const prediction_score *s)
{
    char *text = NULL, spread[96] = "";
    int length;
    if (s->classes) {
        length = asprintf(&text, "accuracy %.4g, log loss %.4g, Brier %.4g, ECE %.4g",
                          s->c.accuracy, s->c.nll, s->c.brier, s->c.ece);
    } else {
        if (!isnan(s->n.nll)) {
            snprintf(spread, sizeof spread, ", coverage of 95%% intervals %.4g, NLL %.4g",
                     s->n.coverage, s->n.nll);
        }
        length = isnan(s->n.r2)
                     ? asprintf(&text,
                                "RMSE %.4g%s (R2 is undefined: the truth is the same in "
                                "all rows)",
                                s->n.rmse, spread)
                     : asprintf(&text, "R2 %.4g, RMSE %.4g%s", s->n.r2, s->n.rmse, spread);
    }
    return length < 0 ? NULL : text;
}

/* ---- columns carried through ---------------------------------------------------------------- */

enum { DATE_BYTES = 40 };

static void *own(carried *c, void *memory)
{
    c->owned[c->owned_count++] = memory;
    return memory;
}

/* The words of a column: its levels and "" for a missing one, or the dates of its rows. */
static bool take_words(const dataset *d, int64_t col, double *values, carried *c,
                       result_column *out)
{
    const int32_t *codes = far_frame_column(d->frame, col).codes;
    int64_t levels = codes ? far_frame_column(d->frame, col).level_count : d->count;
    const char **words = own(c, calloc((size_t)levels + 1, sizeof *words));
    char(*dates)[DATE_BYTES] = own(c, codes ? NULL : calloc((size_t)d->count + 1, DATE_BYTES));
    if (!words || (!codes && !dates)) {
        return false;
    }
    for (int64_t l = 0; codes && l < levels; l++) {
        words[l] = far_frame_column(d->frame, col).levels[l];
    }
    words[levels] = "";
    for (int64_t i = 0; !codes && i < d->count; i++) {
        if (!isnan(values[i])) {
            far_date_print(values[i], dates[i], DATE_BYTES);
        }
        words[i] = dates[i];
        values[i] = (double)i;
    }
    out->words = words;
    return true;
}

static bool take_column(const dataset *d, int64_t col, carried *c)
{
    result_column *out = &c->columns[c->count++];
    const double *numbers = far_frame_column(d->frame, col).numbers;
    const int32_t *codes = far_frame_column(d->frame, col).codes;
    double *values = own(c, calloc((size_t)d->count + 1, sizeof *values));
    int64_t rows = far_frame_rows(d->frame), k = 0;
    out->name = strdup(far_frame_column(d->frame, col).name);
    for (int64_t i = 0; values && i < rows; i++) {
        if (!d->rows || d->rows[i]) {
            values[k++] = numbers         ? numbers[i]
                          : codes[i] >= 0 ? codes[i]
                                          : (double)far_frame_column(d->frame, col).level_count;
        }
    }
    out->values = far_mat_view(values, d->count, 1, FAR_F64);
    bool date = numbers && strcmp(far_frame_column(d->frame, col).unit, "date") == 0;
    return out->name && values && (!(codes || date) || take_words(d, col, values, c, out));
}

int carried_read(session *s, const dataset *d, const char *list, carried *out)
{
    size_t most = (size_t)far_frame_cols(d->frame) + 1;
    int64_t count = 0, *cols = calloc(most, sizeof *cols);
    out->columns = calloc(most, sizeof *out->columns);
    out->owned = calloc(3 * most, sizeof *out->owned);
    bool memory = cols && out->columns && out->owned;
    far_status st = memory ? far_frame_list(s->ctx, d->frame, list, cols, &count) : FAR_OK;
    for (int64_t i = 0; memory && st == FAR_OK && i < count; i++) {
        memory = take_column(d, cols[i], out);
    }
    free(cols);
    return !memory        ? failure(s->verb, "out of memory")
           : st == FAR_OK ? EXIT_DONE
                          : session_failure(s, "--id");
}

void carried_free(carried *c)
{
    for (int64_t i = 0; c->owned && i < c->owned_count; i++) {
        free(c->owned[i]);
    }
    free(c->owned);
    free(c->columns);
}
