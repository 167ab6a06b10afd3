/* Single folds, for figures. */
#include "lnnet_line.h"

#include <math.h>
#include <stdbool.h>

#define CONFUSED 1e-9 /* of the range */

lnnet_place lnnet_fold_at(const lnnet_fold *fold, double x)
{
    double t = x - fold->hinge, h1 = fold->k * t, h2 = 1 + fold->mu * t, size = hypot(h1, h2);
    return (lnnet_place){h1, h2, h1 / size, h2 / size};
}

lnnet_fold lnnet_fold_merge(double a, double b, double hinge, double angle)
{
    bool halfway = isnan(hinge);
    double z = halfway ? a + (b - a) / 2 : hinge, left = 1 / (z - a), right = 1 / (b - z);
    double omega = isnan(angle) ? 1 : angle;
    return (lnnet_fold){z, omega * (left + right) / 2, halfway ? 0 : (left - right) / 2};
}

/* The leftmost point with a partner, and the next of its label. */
static bool find_pair(const double *x, const int64_t *labels, int64_t n, int64_t *a, int64_t *b)
{
    *a = *b = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t next = -1;
        for (int64_t j = 0; j < n; j++) {
            bool behind = labels[j] == labels[i] && x[j] > x[i];
            next = behind && (next < 0 || x[j] < x[next]) ? j : next;
        }
        if (next >= 0 && (*a < 0 || x[i] < x[*a])) {
            *a = i;
            *b = next;
        }
    }
    return *a >= 0;
}

/* The two points between a and b, of different labels, whose images are nearest. */
static double nearest_images(const double *x, const int64_t *labels, int64_t n, const lnnet_step *s,
                             const lnnet_fold *fold, int64_t *i, int64_t *j)
{
    double least = INFINITY;
    for (int64_t p = 0; p < n; p++) {
        for (int64_t q = p + 1; q < n; q++) {
            bool inside = x[p] > x[s->a] && x[p] < x[s->b] && x[q] > x[s->a] && x[q] < x[s->b];
            if (!inside || labels[p] == labels[q]) {
                continue;
            }
            double gap =
                fabs(lnnet_fold_at(fold, x[p]).circle_y - lnnet_fold_at(fold, x[q]).circle_y);
            if (gap < least) {
                least = gap;
                *i = p;
                *j = q;
            }
        }
    }
    return least;
}

static void move_hinge(const double *x, const int64_t *labels, int64_t n, lnnet_step *s)
{
    double best = -1;
    int64_t i, j;
    for (int step = 1; step < 20; step++) {
        double hinge = x[s->a] + (x[s->b] - x[s->a]) * step / 20;
        lnnet_fold fold = lnnet_fold_merge(x[s->a], x[s->b], hinge, NAN);
        double gap = nearest_images(x, labels, n, s, &fold, &i, &j);
        if (step != 10 && gap > best) {
            best = gap;
            s->fold = fold;
        }
    }
}

far_status lnnet_paper_step(const double *x, const int64_t *labels, int64_t n, lnnet_step *out)
{
    int64_t i = -1, j = -1;
    *out = (lnnet_step){.confused = -1, .with = -1};
    if (!find_pair(x, labels, n, &out->a, &out->b)) {
        return FAR_ERR_ARG;
    }
    out->halfway = out->fold = lnnet_fold_merge(x[out->a], x[out->b], NAN, NAN);
    if (nearest_images(x, labels, n, out, &out->halfway, &i, &j) <= CONFUSED) {
        out->confused = i;
        out->with = j;
        move_hinge(x, labels, n, out);
    }
    return FAR_OK;
}
