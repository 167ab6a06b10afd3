#define _GNU_SOURCE
#include "training.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *training_file(const train_args *a, const char *path, int64_t i)
{
    char *name = NULL;
    if (a->seeds == 1) {
        return strdup(path);
    }
    int stem = stem_length(path);
    int length = asprintf(&name, "%.*s-%lld%s", stem, path, (long long)(a->seed + i), path + stem);
    return length < 0 ? NULL : name;
}

/* ---- how well it fits ---------------------------------------------------------------------- */

/* The class of a row: one output says yes above 0, several vote. */
static int64_t class_of(const double *row, int64_t count, double yes)
{
    return count == 1 ? row[0] > yes : place_of_largest(row, count);
}

static double accuracy(const double *f, const double *y, int64_t n, int64_t o, double yes)
{
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        right += class_of(f + i * o, o, yes) == class_of(y + i * o, o, 0.5);
    }
    return (double)right / (double)n;
}

static double r2_of_column(const double *f, const double *y, int64_t n, int64_t o, int64_t k)
{
    double mean = 0, rest = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += y[i * o + k] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        double error = f[i * o + k] - y[i * o + k], spread = y[i * o + k] - mean;
        rest += error * error;
        all += spread * spread;
    }
    return all > 0 ? 1 - rest / all : NAN;
}

static double mean_r2(const double *f, const double *y, int64_t n, int64_t o)
{
    double sum = 0;
    for (int64_t k = 0; k < o; k++) {
        sum += r2_of_column(f, y, n, o, k);
    }
    return sum / (double)o;
}

static int score_on(training *t, const far_net *net, const far_mat *x, const far_mat *y,
                    double *out)
{
    double *f = malloc((size_t)(y->rows * y->cols) * sizeof *f + 1);
    if (!f) {
        return failure(t->s.verb, "out of memory");
    }
    far_mat values = far_mat_view(f, y->rows, y->cols, FAR_F64);
    far_status st = far_net_eval(t->s.ctx, net, x, &values);
    double yes = t->opts.loss == FAR_LOSS_BCE ? 0 : 0.5;
    if (st == FAR_OK) {
        *out = training_classifies(t) ? accuracy(f, y->data, y->rows, y->cols, yes)
                                      : mean_r2(f, y->data, y->rows, y->cols);
    }
    free(f);
    return st == FAR_OK ? EXIT_DONE : session_failure(&t->s, NULL);
}

int training_score(training *t, train_run *r)
{
    far_mat x = t->data->inputs, y = t->data->targets;
    int code = score_on(t, r->net, &x, &y, &r->score);
    return code == EXIT_DONE && t->val_x.rows > 0
               ? score_on(t, r->net, &t->val_x, &t->val_y, &r->val_score)
               : code;
}
