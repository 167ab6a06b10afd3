/*
 * Probabilities from scores that regress on indicators. With z = (s, log max(s, LEAST)) of a class,
 *
 *     p_c ~ exp(w_1 s_c + w_2 log max(s_c, LEAST))
 *
 * w_1 alone is the usual temperature; w_2 alone takes scores for probabilities up to a power. w is
 * where the log loss over rows that the scores have not seen is least, each of n labels counting
 * n / (n + 1) and every class an equal part of the rest, so that w stays finite where scores
 * separate the classes. The sum is convex in w: Newton's steps, halved while they fail.
 */
#include "uci90.h"

#include <math.h>
#include <stdlib.h>

#define LEAST 0.005
#define FLOOR_SHARE 0.1 /* of one row among all, left to all classes alike */
enum { MOST_STEPS = 50, MOST_HALVINGS = 30 };

typedef struct evidence {
    const uci90_set *set;
    const uci90_rows *rows;
    const double *scores;
    double smooth; /* what a label leaves to all classes */
    double *p;     /* room for a row */
} evidence;

typedef struct newton {
    double loss, gradient[2], hessian[3]; /* 11, 12, 22 */
} newton;

static double logarithm(double score)
{
    return log(fmax(score, LEAST));
}

/* p = softmax of the link; returns the logarithm of its denominator. */
static double soften(const double *slope, const double *scores, int64_t classes, double *p)
{
    double most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        p[c] = slope[0] * scores[c] + slope[1] * logarithm(scores[c]);
        most = fmax(most, p[c]);
    }
    for (int64_t c = 0; c < classes; c++) {
        p[c] = exp(p[c] - most);
        sum += p[c];
    }
    for (int64_t c = 0; c < classes; c++) {
        p[c] /= sum;
    }
    return most + log(sum);
}

static void add_row(const evidence *e, const double *slope, int64_t at, newton *n)
{
    int64_t classes = e->set->classes;
    const double *s = e->scores + at * classes;
    double mean[2] = {0}, square[3] = {0};
    n->loss += soften(slope, s, classes, e->p);
    for (int64_t c = 0; c < classes; c++) {
        double z[2] = {s[c], logarithm(s[c])}, p = e->p[c];
        double target = (1 - e->smooth) * (e->set->label[at] == c) + e->smooth / (double)classes;
        n->loss -= target * (slope[0] * z[0] + slope[1] * z[1]);
        for (int k = 0; k < 2; k++) {
            n->gradient[k] += (p - target) * z[k];
            mean[k] += p * z[k];
        }
        square[0] += p * z[0] * z[0];
        square[1] += p * z[0] * z[1];
        square[2] += p * z[1] * z[1];
    }
    n->hessian[0] += square[0] - mean[0] * mean[0];
    n->hessian[1] += square[1] - mean[0] * mean[1];
    n->hessian[2] += square[2] - mean[1] * mean[1];
}

static newton differentiate(const evidence *e, const double *slope)
{
    newton n = {.loss = 0};
    for (int64_t i = 0; i < e->rows->count; i++) {
        add_row(e, slope, e->rows->at[i], &n);
    }
    return n;
}

/* Moves slope down; false: there is nothing left to gain. */
static bool descend(const evidence *e, double *slope, newton *now)
{
    const double *g = now->gradient, *h = now->hessian;
    double little = 1e-9 * (h[0] + h[2]) + 1e-300, a = h[0] + little, b = h[1], c = h[2] + little;
    double det = a * c - b * b;
    double step[2] = {(c * g[0] - b * g[1]) / det, (a * g[1] - b * g[0]) / det};
    if (!(g[0] * step[0] + g[1] * step[1] > 1e-10 * (double)e->rows->count)) {
        return false;
    }
    for (int i = 0; i < MOST_HALVINGS; i++) {
        double trial[2] = {slope[0] - ldexp(step[0], -i), slope[1] - ldexp(step[1], -i)};
        newton there = differentiate(e, trial);
        if (there.loss < now->loss) {
            slope[0] = trial[0];
            slope[1] = trial[1];
            *now = there;
            return true;
        }
    }
    return false;
}

uci90_link uci90_link_fit(const uci90_set *set, const uci90_rows *rows, const double *scores)
{
    double share = 1 / (double)(rows->count + 1);
    uci90_link link = {.floor = FLOOR_SHARE * share};
    evidence e = {.set = set, .rows = rows, .scores = scores, .smooth = share};
    e.p = UCI90_ALLOC(set->classes, double);
    newton now = differentiate(&e, link.slope);
    for (int i = 0; i < MOST_STEPS && descend(&e, link.slope, &now); i++) {
    }
    free(e.p);
    return link;
}

void uci90_link_apply(const uci90_link *link, const double *scores, int64_t classes, double *p)
{
    soften(link->slope, scores, classes, p);
    for (int64_t c = 0; c < classes; c++) {
        p[c] = (1 - link->floor) * p[c] + link->floor / (double)classes;
    }
}

far_status uci90_log_loss(uci90_lab *lab, const uci90_set *set, const uci90_rows *rows,
                          const double *scores, const uci90_link *link, double *out)
{
    double *p = UCI90_ALLOC(rows->count * set->classes, double);
    int64_t *labels = UCI90_ALLOC(rows->count, int64_t);
    far_mat probability = far_mat_view(p, rows->count, set->classes, FAR_F64);
    far_class_score score = {.nll = NAN};
    for (int64_t i = 0; i < rows->count; i++) {
        uci90_link_apply(link, scores + rows->at[i] * set->classes, set->classes,
                         p + i * set->classes);
        labels[i] = set->label[rows->at[i]];
    }
    far_status st = far_class_scores(lab->ctx, &probability, labels, 0, &score);
    *out = score.nll;
    FREE(p, labels);
    return st;
}
