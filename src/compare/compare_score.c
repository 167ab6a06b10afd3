/* How good predictions are, and how sure that is. */
#include "../score/score_internal.h"
#include "compare_internal.h"

#include <math.h>
#include <string.h>

/* Rows of one range, gathered. */
typedef struct part {
    far_mat p; /* probabilities, or means */
    far_mat std, truth;
    double *numbers; /* room for all of them */
    int64_t *labels, count;
    bool spread;
} part;

static void gather(const far_split *s, const double *f, const far_mat *probability,
                   const far_mat *std, bool out, part *t)
{
    int64_t cols = probability ? probability->cols : 1;
    double *p = t->numbers, *y = p + s->m * cols, *d = y + s->m;
    for (int64_t i = 0; i < s->m; i++) {
        if (s->out[i] == out) {
            memcpy(p + t->count * cols, probability ? far_mat_row(probability, i) : &f[i],
                   (size_t)cols * sizeof *p);
            y[t->count] = s->yt[i];
            d[t->count] = std ? *(const double *)far_mat_row(std, i) : 0;
            t->labels[t->count++] = probability ? (int64_t)s->yt[i] : 0;
        }
    }
    t->p = far_mat_view(p, t->count, cols, FAR_F64);
    t->truth = far_mat_view(y, t->count, 1, FAR_F64);
    t->std = far_mat_view(d, t->count, 1, FAR_F64);
    t->spread = std != NULL;
    for (int64_t i = 0; i < t->count; i++) {
        t->spread = t->spread && d[i] > 0; /* what is certain has no density */
    }
}

static far_status score_classes(far_ctx *ctx, const part *t, double *scores)
{
    far_class_score c;
    far_status st = far_class_scores(ctx, &t->p, t->labels, 0, &c);
    if (st == FAR_OK) {
        scores[FAR_COMPARE_ACCURACY] = c.accuracy;
        scores[FAR_COMPARE_LOG_LOSS] = c.nll;
        scores[FAR_COMPARE_BRIER] = c.brier;
        scores[FAR_COMPARE_ECE] = c.ece;
    }
    return st;
}

/* Where to: out of range or in it. */
static far_status score_numbers(far_ctx *ctx, const part *t, bool out, far_compare_run *run)
{
    far_regression_score n;
    double most = NAN;
    far_status st = far_regression_scores(ctx, &t->p, t->spread ? &t->std : NULL, &t->truth, &n);
    for (int64_t i = 0; i < t->count; i++) {
        most = fmax(most, fabs(*(const double *)far_mat_row(&t->p, i))); /* fmax passes NAN over */
    }
    if (st == FAR_OK) {
        *(out ? &run->r2_out : &run->r2_in) = n.r2;
        *(out ? &run->rmse_out : &run->rmse_in) = n.rmse;
        *(out ? &run->max_out : &run->max_in) = most;
        (out ? run->out : run->in)[FAR_COMPARE_NLL] = n.nll;
        (out ? run->out : run->in)[FAR_COMPARE_COVERAGE] = n.coverage;
    }
    return st;
}

/* Scores of the rows of one range stay NAN where it is empty. */
static far_status score_range(far_ctx *ctx, const far_split *s, const far_mat *probability,
                              const far_mat *std, bool out, far_compare_run *run)
{
    far_status st;
    part t = {0};
    FAR_TRY(far_alloc(ctx, s->m * ((probability ? probability->cols : 1) + 2), &t.numbers));
    FAR_TRY(far_alloc(ctx, s->m, &t.labels));
    gather(s, run->prediction, probability, std, out, &t);
    if (t.count > 0 && probability) {
        FAR_TRY(score_classes(ctx, &t, out ? run->out : run->in));
    } else if (t.count > 0) {
        FAR_TRY(score_numbers(ctx, &t, out, run));
    }
done:
    far_free(ctx, t.numbers);
    far_free(ctx, t.labels);
    return st;
}

far_status far_run_score(far_ctx *ctx, const far_split *s, const far_mat *probability,
                         const far_mat *std, far_compare_run *run)
{
    far_status st = score_range(ctx, s, probability, std, false, run);
    return st == FAR_OK ? score_range(ctx, s, probability, std, true, run) : st;
}

far_compare_average far_average(const double *values, int64_t count)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    long double mean = sum / (long double)count; /* NAN for none */
    for (int64_t i = 0; i < count; i++) {
        square += (values[i] - mean) * (values[i] - mean);
    }
    double n = (double)count;
    double error = sqrt((double)square / (n - 1) / n);
    return (far_compare_average){(double)mean, count > 1 ? far_student_95(count - 1) * error : NAN};
}
