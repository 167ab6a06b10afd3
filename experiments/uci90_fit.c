/* Kernel ridge regression on class indicators: scores of one network on one split. Splits of the
 * same rows share one kernel matrix. */
#include "uci90.h"

#include <stdlib.h>
#include <string.h>

double *uci90_gather(const uci90_features *f, const uci90_rows *rows)
{
    double *packed = UCI90_ALLOC(rows->count * f->width, double);
    for (int64_t i = 0; i < rows->count; i++) {
        memcpy(packed + i * f->width, f->z + rows->at[i] * f->width,
               (size_t)f->width * sizeof *packed);
    }
    return packed;
}

double *uci90_targets(const uci90_set *set, const uci90_rows *rows, double *mean)
{
    int64_t p = set->classes - 1;
    double *targets = UCI90_ALLOC(rows->count * p, double);
    memset(mean, 0, (size_t)set->classes * sizeof *mean);
    for (int64_t i = 0; i < rows->count; i++) {
        mean[set->label[rows->at[i]]] += 1 / (double)rows->count;
    }
    for (int64_t i = 0; i < rows->count; i++) {
        for (int64_t c = 0; c < p; c++) {
            targets[i * p + c] = (set->label[rows->at[i]] == c) - mean[c];
        }
    }
    return targets;
}

far_status uci90_solve(uci90_lab *lab, const far_mat *k, double ridge, const far_mat *b, far_mat *x)
{
    far_symmetric a = far_symmetric_of(k);
    far_system *system = NULL;
    far_solve_opts opts;
    far_status st;
    far_solve_opts_init(&opts);
    opts.ridge = ridge;
    opts.extremes = 0;
    opts.storage = FAR_STORAGE_FULL;
    TRY(far_system_create(lab->ctx, &a, &opts, &system));
    TRY(far_system_solve(lab->ctx, system, b, x, NULL, NULL));
done:
    far_system_destroy(system);
    return st;
}

/* ---- one kernel for many splits ---- */

void uci90_gram_free(uci90_gram *g)
{
    FREE(g->k.data, g->place);
    *g = (uci90_gram){.place = NULL};
}

far_status uci90_gram_make(uci90_lab *lab, const uci90_features *f, const far_kernel *net,
                           const uci90_rows *rows, uci90_gram *out)
{
    double *packed = uci90_gather(f, rows);
    far_mat x = far_mat_view(packed, rows->count, f->width, FAR_F64);
    *out = (uci90_gram){.place = UCI90_ALLOC(f->rows, int64_t)};
    out->k = far_mat_view(UCI90_ALLOC(rows->count * rows->count, double), rows->count, rows->count,
                          FAR_F64);
    for (int64_t i = 0; i < rows->count; i++) {
        out->place[rows->at[i]] = i;
    }
    far_status st = far_kernel_eval(lab->ctx, net, &x, NULL, FAR_FILL_FULL, NULL, &out->k);
    free(packed);
    return st;
}

static void take_block(const uci90_gram *g, const uci90_rows *rows, const uci90_rows *cols,
                       far_mat *out)
{
    for (int64_t i = 0; i < rows->count; i++) {
        const double *from = (const double *)g->k.data + g->place[rows->at[i]] * g->k.cols;
        double *to = (double *)out->data + i * cols->count;
        for (int64_t j = 0; j < cols->count; j++) {
            to[j] = from[g->place[cols->at[j]]];
        }
    }
}

/* ---- one split ---- */

typedef struct problem {
    int64_t train, test, p; /* p: classes - 1 */
    far_mat k, cross;       /* train x train, test x train */
    far_mat targets;        /* train x p */
    far_mat weights, rest;  /* train x p; test x p: scores less the mean of the targets */
    double *mean;
} problem;

static far_mat matrix(int64_t rows, int64_t cols)
{
    return far_mat_view(UCI90_ALLOC(rows * cols, double), rows, cols, FAR_F64);
}

static problem problem_make(const uci90_set *set, const uci90_split *split)
{
    int64_t n = split->train.count, m = split->test.count, p = set->classes - 1;
    problem q = {.train = n, .test = m, .p = p};
    q.mean = UCI90_ALLOC(set->classes, double);
    q.k = matrix(n, n);
    q.cross = matrix(m, n);
    q.weights = matrix(n, p);
    q.rest = matrix(m, p);
    q.targets = far_mat_view(uci90_targets(set, &split->train, q.mean), n, p, FAR_F64);
    return q;
}

static void problem_free(problem *q)
{
    FREE(q->k.data, q->cross.data, q->targets.data, q->weights.data, q->rest.data, q->mean);
}

/* The indicators of a row sum to 1, and so do its scores: the last class is what the others leave.
 */
static void write_scores(const problem *q, const uci90_rows *test, double *scores)
{
    const double *rest = q->rest.data;
    for (int64_t i = 0; i < test->count; i++) {
        double *row = scores + test->at[i] * (q->p + 1), sum = 0;
        for (int64_t c = 0; c < q->p; c++) {
            row[c] = q->mean[c] + rest[i * q->p + c];
            sum += row[c];
        }
        row[q->p] = 1 - sum;
    }
}

far_status uci90_fit(uci90_lab *lab, const uci90_set *set, const uci90_gram *g,
                     const uci90_split *split, double *const scores[UCI90_RIDGES])
{
    problem q = problem_make(set, split);
    far_status st = FAR_OK;
    take_block(g, &split->train, &split->train, &q.k);
    take_block(g, &split->test, &split->train, &q.cross);
    for (int r = 0; r < UCI90_RIDGES; r++) {
        if (scores[r]) {
            TRY(uci90_solve(lab, &q.k, UCI90_RIDGE[r], &q.targets, &q.weights));
            TRY(far_multiply(lab->ctx, &q.cross, &q.weights, &q.rest));
            write_scores(&q, &split->test, scores[r]);
        }
    }
done:
    problem_free(&q);
    return st;
}
