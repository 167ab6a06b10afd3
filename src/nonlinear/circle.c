/* LSSR of points in the plane, and its derivatives. */
#include "ln_search.h"

#include <math.h>
#include <string.h>

#define NO_SCATTER 1e-24 /* a point: of the larger coordinate, relative to the radius */
#define ONE_LINE 1e-10   /* what one coordinate leaves of the other, relative to it */

typedef struct moments {
    double s00, s01, s11;
} moments;

far_status far_circle_create(const far_labelled *p, int64_t n, far_circle *c)
{
    far_status st = FAR_OK;
    *c = (far_circle){.n = n, .classes = p->classes};
    FAR_TRY(far_alloc(p->ctx, n, &c->labels));
    FAR_TRY(far_alloc(p->ctx, p->classes, &c->counts));
    FAR_TRY(far_alloc(p->ctx, 2 * n, &c->s));
    FAR_TRY(far_alloc(p->ctx, 2 * p->classes, &c->means));
    for (int64_t i = 0; i < n; i++) {
        c->labels[i] = p->labels[far_labelled_spread(p, n, i)];
        c->counts[c->labels[i]]++;
    }
done:
    return st;
}

void far_circle_clear(far_ctx *ctx, far_circle *c)
{
    FAR_FREE_ALL(ctx, c->labels, c->counts, c->s, c->means);
}

static void add(moments *m, double weight, double x, double y)
{
    m->s00 += weight * x * x;
    m->s01 += weight * x * y;
    m->s11 += weight * y * y;
}

/* Class means less the mean of all, which is returned. */
static void measure_means(far_circle *c, double mean[2])
{
    mean[0] = mean[1] = 0;
    memset(c->means, 0, (size_t)(2 * c->classes) * sizeof *c->means);
    for (int64_t i = 0; i < c->n; i++) {
        double *to = c->means + 2 * c->labels[i];
        to[0] += c->s[2 * i];
        to[1] += c->s[2 * i + 1];
    }
    for (int64_t k = 0; k < c->classes; k++) {
        mean[0] += c->means[2 * k] / (double)c->n;
        mean[1] += c->means[2 * k + 1] / (double)c->n;
    }
    for (int64_t k = 0; k < c->classes; k++) {
        for (int a = 0; a < 2; a++) {
            double *m = &c->means[2 * k + a];
            *m = c->counts[k] > 0 ? *m / c->counts[k] - mean[a] : 0;
        }
    }
}

static void measure_scatter(const far_circle *c, const double mean[2], moments *within,
                            moments *between)
{
    *within = *between = (moments){0};
    for (int64_t i = 0; i < c->n; i++) {
        const double *m = c->means + 2 * c->labels[i];
        add(within, 1, c->s[2 * i] - mean[0] - m[0], c->s[2 * i + 1] - mean[1] - m[1]);
    }
    for (int64_t k = 0; k < c->classes; k++) {
        add(between, c->counts[k], c->means[2 * k], c->means[2 * k + 1]);
    }
}

/* The eigenvector of the larger eigenvalue. */
static void larger_eigen(moments m, double v[2])
{
    double half = (m.s00 - m.s11) / 2, root = hypot(half, m.s01);
    v[0] = half >= 0 ? half + root : m.s01;
    v[1] = half >= 0 ? m.s01 : root - half;
    double length = hypot(v[0], v[1]);
    v[0] = length > 0 ? v[0] / length : 1;
    v[1] = length > 0 ? v[1] / length : 0;
}

static moments swapped(moments m)
{
    return (moments){m.s11, m.s01, m.s00};
}

/* q with q' total q = 1 and the most of it between; coordinate 0 scatters most. false: none. */
static bool best_direction(moments total, moments between, double least, double q[2])
{
    double v[2], ratio = total.s01 / total.s00, rest = total.s11 - ratio * total.s01;
    q[0] = q[1] = 0;
    if (!(total.s00 > least)) {
        return false;
    }
    if (!(rest > ONE_LINE * total.s11)) {
        q[0] = 1 / sqrt(total.s00);
        return true;
    }
    double scale0 = 1 / sqrt(total.s00), scale1 = 1 / sqrt(rest);
    double b01 = between.s01 - ratio * between.s00;
    double b11 = between.s11 - 2 * ratio * between.s01 + ratio * ratio * between.s00;
    larger_eigen(
        (moments){between.s00 * scale0 * scale0, b01 * scale0 * scale1, b11 * scale1 * scale1}, v);
    q[1] = v[1] * scale1;
    q[0] = v[0] * scale0 - ratio * q[1];
    return true;
}

double far_circle_lssr(far_circle *c, double q[2])
{
    double mean[2], found[2];
    moments within, between;
    measure_means(c, mean);
    measure_scatter(c, mean, &within, &between);
    moments total = {within.s00 + between.s00, within.s01 + between.s01, within.s11 + between.s11};
    bool turn = total.s11 > total.s00;
    bool some = best_direction(turn ? swapped(total) : total, turn ? swapped(between) : between,
                               NO_SCATTER * (double)c->n, found);
    q[0] = found[turn];
    q[1] = found[!turn];
    double lssr =
        q[0] * q[0] * within.s00 + 2 * q[0] * q[1] * within.s01 + q[1] * q[1] * within.s11;
    return some ? fmin(fmax(lssr, 0), 1) : 1;
}

/* LSSR is p' (within) p with p = s q: q is where it is least, so that its change does not count. */
void far_circle_gradient(const far_circle *c, const double q[2], double lssr, double *g)
{
    double mean = 0;
    for (int64_t i = 0; i < c->n; i++) {
        mean += (c->s[2 * i] * q[0] + c->s[2 * i + 1] * q[1]) / (double)c->n;
    }
    for (int64_t i = 0; i < c->n; i++) {
        const double *m = c->means + 2 * c->labels[i];
        double from_all = c->s[2 * i] * q[0] + c->s[2 * i + 1] * q[1] - mean;
        double from_class = from_all - m[0] * q[0] - m[1] * q[1];
        double change = 2 * (from_class - lssr * from_all);
        g[2 * i] = change * q[0];
        g[2 * i + 1] = change * q[1];
    }
}
