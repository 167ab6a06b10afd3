/*
 * How far k(x, .) can be from k(c, .) for all x in a piece of the sphere around c:
 *
 *     |k(x, .) - k(c, .)|^2 = k(x, x) + k(c, c) - 2 k(x, c),
 *
 * bounded from above layer by layer, for networks of dense layers, norms and activations
 * a z + b |z| (relu, leaky_relu, abs, identity). What is known of the piece is an interval of the
 * scale q = K(x, x) and an upper bound on the gap 1 - rho, where rho = K(x, c) / sqrt(q q_c). In
 * each layer the new gap is increasing in the old one (of a z + b |z| with b^2 > a^2, such as abs,
 * only while the cosine is above some number: beyond, the piece is not judged) and, at a given gap,
 * has no maximum inside an interval of scales, so the ends of the interval decide. Gaps rather than
 * cosines: the distance goes like the root of the angle, and a cosine forgets angles below 1e-8.
 */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <math.h>

#define LARGEST_SCALE 1e200 /* stands for infinity, in front of what is dwarfed by it: */
#define DWARFED 1e-32       /* gaps then move by 1e-16 */
#define LEAST_SCALE 1e-280  /* below it, and above its inverse, products lose digits */
#define ROUNDING 2e-14      /* of the operations a layer takes, relative to k(x, x) */

typedef struct cell {
    double q_low, q_high; /* K(x, x) */
    double q;             /* K(c, c) */
    double gap;           /* upper bound on 1 - rho */
    double theta;         /* lower bound on Theta(x, c) / sqrt(q_x q_c) */
    double own_x, own;    /* upper bound on Theta(x, x) / q_x, and Theta(c, c) / q_c */
    double mean2;         /* squared mean over q, behind an activation */
    bool endless;         /* LARGEST_SCALE stands for a scale */
    bool lost;            /* scales left the range: nothing is known */
} cell;

bool far_cell_supported(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    if (!far_sphere_is_ours(m)) {
        return false;
    }
    for (int64_t i = 0; i < plan->count; i++) {
        const far_op *op = &plan->ops[i];
        bool dense = op->kind == FAR_OP_DENSE && !op->standard;
        bool norm = op->kind == FAR_OP_SCALE || op->kind == FAR_OP_CENTER;
        bool fold = op->kind == FAR_OP_ACTIVATE && op->activation->family == FAR_FAMILY_FOLD &&
                    op->gamma == 0 && op->beta == 0;
        if (!dense && !norm && !fold) {
            return false;
        }
    }
    return true;
}

/* 1 - (w^2 sqrt(q_x q) rho + b^2) / sqrt((w^2 q_x + b^2) (w^2 q + b^2)), without cancellation. */
static double dense_gap(double w2, double b2, double q_x, double q, double gap)
{
    double product = w2 * sqrt(q_x) * sqrt(q), apart = sqrt(q_x) - sqrt(q);
    double next = sqrt(w2 * q_x + b2) * sqrt(w2 * q + b2);
    return (w2 * b2 * apart * apart / (next + product + b2) + product * gap) / next;
}

static bool in_range(double scale)
{
    return scale > LEAST_SCALE && scale < 1 / LEAST_SCALE;
}

/* added: what is added to scales that were multiplied by factor. */
static void note_scales(double factor, double added, cell *c)
{
    bool usable = in_range(factor * c->q_low) && in_range(factor * c->q_high) &&
                  in_range(factor * c->q) && in_range(factor) && (added == 0 || in_range(added));
    bool reached = !c->endless || added <= DWARFED * factor * fmax(c->q_high, c->q);
    c->lost = c->lost || !usable || !reached;
}

static void pass_dense(const far_op *op, cell *c)
{
    double w2 = (double)(op->w * op->w), b2 = (double)(op->b * op->b), q = w2 * c->q + b2;
    note_scales(w2, b2, c);
    double ends[2] = {c->q_low, c->q_high}, gap = 0, share[2];
    for (int i = 0; i < 2; i++) {
        share[i] = sqrt(ends[i] / (w2 * ends[i] + b2)); /* increasing in the scale */
        double next = dense_gap(w2, b2, ends[i], c->q, c->gap);
        gap = isnan(next) ? NAN : fmax(gap, next);
    }
    double part = w2 * sqrt(c->q / q) * c->theta;
    c->theta = 1 - gap + fmin(part * share[0], part * share[1]);
    c->own_x = 1 + w2 * c->own_x * share[1] * share[1];
    c->own = 1 + w2 * c->own * c->q / q;
    c->gap = gap;
    c->q_low = w2 * c->q_low + b2;
    c->q_high = w2 * c->q_high + b2;
    c->q = q;
    c->mean2 = 0;
}

static double normed(double q, const far_op *op)
{
    double eps = (double)op->eps;
    return op->fixed ? q / (1 + eps) : q / (q + eps);
}

static void pass_scale(const far_op *op, cell *c)
{
    note_scales(1, op->fixed ? 0 : (double)op->eps, c);
    c->q_low = normed(c->q_low, op);
    c->q_high = normed(c->q_high, op);
    c->q = normed(c->q, op);
    c->endless = c->endless && op->fixed;
}

/* The mean is the same fraction of every point's scale. */
static void pass_center(const far_op *op, cell *c)
{
    double left = 1 - c->mean2;
    c->gap /= left;
    c->theta /= left;
    c->own /= left;
    c->own_x /= left;
    c->q *= left;
    c->q_low *= left;
    c->q_high *= left;
    c->mean2 = 0;
    pass_scale(op, c);
}

/* a z + b |z|: false where the new cosine is not increasing. */
static bool pass_fold(const far_op *op, cell *c)
{
    double a2 = (double)(op->activation->linear * op->activation->linear);
    double b2 = (double)(op->activation->folded * op->activation->folded), sum = a2 + b2;
    double gap = fmin(c->gap, 2), angle = 2 * asin(sqrt(gap / 2)), fold = 2 / M_PI * b2 / sum;
    double slope = 1 - fold * angle, gain = (double)op->activation->gain;
    note_scales(gain * gain * sum, 0, c);
    if (!(slope >= 0)) {
        return false;
    }
    c->gap = fmax(gap - fold * (sin(angle) - angle * cos(angle)), 0);
    c->theta *= c->theta >= 0 ? slope : 1;
    c->q *= gain * gain * sum;
    c->q_low *= gain * gain * sum;
    c->q_high *= gain * gain * sum;
    c->mean2 = b2 > 0 ? fold : c->mean2; /* the identity keeps a mean */
    return true;
}

static bool pass(const far_op *op, cell *c)
{
    switch (op->kind) {
    case FAR_OP_DENSE:
        pass_dense(op, c);
        return true;
    case FAR_OP_SCALE:
        pass_scale(op, c);
        return true;
    case FAR_OP_CENTER:
        pass_center(op, c);
        return true;
    default:
        return pass_fold(op, c);
    }
}

/* The input as a layer before the first dense, which turns height h into q = b^2 / h^2. The first
 * dense is passed by hand: there the angle of the sphere is the angle of its outputs. */
static cell first_dense(const far_op *op, double height, double angle, double low, double high)
{
    double b2 = (double)(op->b * op->b), gap = 2 * sin(angle / 2) * sin(angle / 2);
    double least = b2 / (high * high), own = b2 / (height * height);
    double most = low > 0 ? b2 / (low * low) : INFINITY;
    return (cell){.q_low = fmin(least, LARGEST_SCALE),
                  .q_high = fmin(most, LARGEST_SCALE),
                  .q = fmin(own, LARGEST_SCALE),
                  .endless = fmax(own, most) > LARGEST_SCALE,
                  .lost = !in_range(b2) || !in_range(least),
                  .gap = gap,
                  .theta = 1 - gap,
                  .own_x = 1,
                  .own = 1};
}

double far_cell_distance(const far_model *m, double height, double angle, double low, double high)
{
    const far_plan *plan = m->kernel->plan;
    cell c = first_dense(&plan->ops[0], height, angle, low, high);
    for (int64_t i = 1; i < plan->count; i++) {
        if (!pass(&plan->ops[i], &c)) {
            return INFINITY;
        }
    }
    bool nngp = m->info.kernel == FAR_KERNEL_NNGP;
    double own_x = nngp ? c.q_high : c.own_x * c.q_high, own = nngp ? c.q : c.own * c.q;
    double between = (nngp ? 1 - c.gap : c.theta) * sqrt(c.q);
    double least = fmin(between * sqrt(c.q_low), between * sqrt(c.q_high));
    double square = own_x + own - 2 * least;
    double rounding = ROUNDING * (double)(plan->count + 1) * (own_x + own);
    bool known = !c.lost && isfinite(square);
    return known ? sqrt(fmax(square, 0) + rounding) : INFINITY;
}
