/*
 * Shared by the certificates of finite networks.
 *
 * All bounds are computed in float64, rounded to nearest, and made safe by adding what the
 * operations behind them can have lost: n of them lose at most n FAR_UNIT of the sum of the
 * magnitudes they add up.
 *
 * R^d is made compact by homogeneous coordinates: x = unit u / s with s >= 0, and s = 0 at
 * infinity. In front of the first norm a layer is kept times s^degree: a dense layer adds its bias
 * times s^degree, relu and its like commute with positive factors, and a norm, whose factor
 * cancels, has degree 0 again, as has a bounded activation. A network whose output has degree 0 is
 * bounded.
 */
#ifndef FAR_NET_CERTIFY_H
#define FAR_NET_CERTIFY_H

#include "../net/net_internal.h"
#include "../regress/regress_internal.h"
#include "certificate.h"
#include "proof.h"

#include <math.h>

#define FAR_UNIT 0x1p-53
#define FAR_SPECK 0x1p-1000 /* more than underflow can lose */

/* Relative error of the C library's exp, expm1, log1p, erf, erfc, tanh, sin, cos, pow and cbrt:
 * assumed, tried on some millions of arguments (tests/numeric/test_libm.c), and on a few before
 * every proof. */
#define FAR_LIBRARY_ERROR (32 * FAR_UNIT)

/* Relative error of a sum of n products whose factors have a few roundings behind them. */
static inline double far_lost(int64_t n)
{
    return (double)(n + 24) * (1.01 * FAR_UNIT);
}

/* x and a rounding or two, outwards. */
static inline double far_up(double x)
{
    return isfinite(x) ? x + fabs(x) * (4 * FAR_UNIT) + FAR_SPECK : x;
}

static inline double far_down(double x)
{
    return -far_up(-x);
}

/* |v - mean| and |v|, not less than they are; 0 only for 0. Squares may leave the range of numbers.
 */
double far_length_from(const double *v, int64_t n, double mean);
double far_length(const double *v, int64_t n);

typedef struct far_range {
    double low, high;
} far_range;

static inline double far_range_size(far_range r)
{
    return fmax(fabs(r.low), fabs(r.high));
}

static inline far_range far_range_meet(far_range a, far_range b)
{
    return (far_range){fmax(a.low, b.low), fmin(a.high, b.high)};
}

/* ---- net_ball.c: what comes out of a norm, before scale and shift ---- */

/* Groups of `size` entries, each of at most `length` in norm, summing to 0 if centred. If all
 * before the norm is affine, a group's values also lie in the span of the columns of its basis. */
typedef struct far_norm_set {
    int64_t groups, size, dim; /* dim: columns of the basis; 0: none */
    bool centred;
    double length, entry; /* |group| and |entry| are at most that */
    double *basis;        /* (groups size) x dim */
    double *stretch;      /* of each group: w . z <= length (|basis' w| stretch + |w| defect); */
    double *defect;       /* stretch INFINITY: the basis says nothing */
} far_norm_set;

/* ---- net_plan.c ---- */

/* A step with its numbers ready. Each may be off by a few roundings: far_lost counts them. */
typedef struct far_proof_layer {
    const far_step *step;
    double *rows, *columns;     /* dense: weights out x in, in x out */
    double *row_norm;           /* dense: of each row, not less than it is */
    double *scale;              /* of norms; NULL: 1 */
    double *shift, *shift_size; /* added; what its rounding is relative to; NULL: 0 */
    double degree;              /* of the output */
    far_norm_set set;           /* of norms */
    far_range *box;             /* the output lies in it, whatever x; where degree is 0 */
    double growth, radius;      /* |output| <= growth |x| + radius */
} far_proof_layer;

typedef struct far_net_plan {
    far_ctx *ctx;
    const far_net *net;
    far_proof_layer *layers;
    int64_t count, widest;
    bool norms, batch;
    bool conic;    /* f is the same along every ray from 0: no biases before the norms */
    bool endless;  /* a sine of what grows: there is no limit at infinity */
    double unit;   /* a power of 2: the size of x where weights and biases of the first layer
                      weigh about the same, or 1 */
    double degree; /* of the network */
    char *reasons[FAR_VERDICTS]; /* far_net_set_reasons */
    const double *centre;        /* of raw outputs, then scales; inputs likewise */
    const double *scale, *input_centre, *input_scale;
} far_net_plan;

far_status far_net_plan_create(far_ctx *ctx, const far_net *net, far_net_plan **out);
void far_net_plan_destroy(far_net_plan *plan);
/* Of the output that layer i reads (1 for the inputs). */
double far_net_degree_before(const far_net_plan *plan, int64_t i);
/* The layer whose output layer i reads, beginnings of skips aside; -1: the inputs. */
int64_t far_net_source(const far_net_plan *plan, int64_t i);
far_range far_net_raw_range(const far_net_plan *plan, int64_t output, far_range r);

/* ---- net_ball.c ---- */

far_status far_norm_set_create(far_net_plan *plan, int64_t layer);
void far_norm_set_clear(far_ctx *ctx, far_norm_set *set);
/* At least max w . z over the set. */
double far_norm_set_max(const far_norm_set *set, const double *w);
/* At least max sum_i w_i gain phi(scale_i z_i + shift_i) over the set, or INFINITY if this phi is
 * not made of two lines. */
double far_norm_set_active_max(const far_proof_layer *norm, const far_step *activation,
                               const double *w);

/* ---- net_strip.c: activations on an interval ---- */

#define FAR_GELU_TAIL 0.17   /* relu(z) - that <= gelu(z) <= relu(z) */
#define FAR_SILU_TAIL 0.2785 /* the same for silu */
#define FAR_MISH_TAIL 0.3089
#define FAR_GELU_TANH_TAIL 0.1701

/* gain phi(z) - slope z lies in [low, high]. */
typedef struct far_strip {
    double slope, low, high;
} far_strip;
typedef struct far_line {
    double slope, at_zero;
} far_line;

/* For z in the range, whose ends may be infinite. */
far_strip far_activation_strip(const far_step *step, far_range z);
far_range far_activation_range(const far_step *step, far_range z);
/* Lines below and above gain phi(z). */
void far_activation_lines(const far_step *step, far_range z, far_line *below, far_line *above);
/* z^power for z >= 0. */
far_strip far_power_strip(double power, far_range z);
/* Bounded, whatever z. */
bool far_activation_is_bounded(const far_step *step);
/* Of what grows like t^before, phi grows like t to this. */
double far_activation_degree(const far_step *step, double before);
/* relu and its like: phi(s z) = s^power phi(z) for s > 0. */
bool far_activation_is_homogeneous(const far_step *step);
/* gelu, silu and others near relu: gain (phi(z) - relu(z)) as a range, for |z| >= least. */
far_range far_activation_tail(const far_step *step, double least);
/* At least |phi''|; INFINITY if it has none. */
double far_activation_curvature(const far_step *step);
/* |gain phi(z)| <= that |z| + at_zero; INFINITY if there is no such number. */
double far_activation_lipschitz(const far_step *step);
double far_activation_at_zero(const far_step *step);
/* What far_activation_slope(z) may be off, where 1 - tanh^2 is multiplied by much; 0: some units of
 * what it is made of. */
double far_activation_slope_doubt(const far_step *step, double z);

/* ---- net_reason.c ---- */

/* What each verdict would rest on, in words, after far_net_boxes with radii. */
far_status far_net_set_reasons(far_net_plan *plan);
const char *far_net_theorem(const far_net_plan *plan, int32_t verdict);

/* ---- net_library.c ---- */

/* FAR_ERR_BACKEND if the C library is known to be worse than FAR_LIBRARY_ERROR. */
far_status far_library_check(far_ctx *ctx);
/* The same of one value. */
far_status far_library_hold(far_ctx *ctx, const char *name, double at, double own, double value);

/* ---- net_spectral.c ---- */

/* At least the largest singular value of a rows x cols matrix. */
far_status far_spectral_norm(far_ctx *ctx, const double *a, int64_t rows, int64_t cols,
                             double *out);

/* ---- net_active.c ---- */

/* Narrows the boxes of dense layer i, if it has few rows, by radii through relu and its like. */
far_status far_active_rows(far_net_plan *plan, int64_t i);

/* ---- net_interval.c and net_relax.c: the whole space at once ---- */

/* Boxes of all layers; radii as well if asked for, and then boxes profit from them. */
far_status far_net_boxes(far_net_plan *plan, bool radii);
/* Narrows boxes of dense layers by linear relaxation. */
far_status far_net_relax(far_net_plan *plan);
/* The box of the last layer in raw units. */
far_range far_net_output_box(const far_net_plan *plan, int64_t output);

/* ---- net_point.c: values and gradients at one point, infinity included ---- */

typedef struct far_net_point far_net_point;
far_status far_net_point_create(const far_net_plan *plan, far_net_point **out);
void far_net_point_destroy(far_net_point *p);
/* s^degree f(unit u / s), in raw units but for the centre if degree is not 0. */
const double *far_net_point_value(far_net_point *p, const double *u, double s);
/* d/du and d/ds of output j there, after value; gradient has inputs + 1 entries. */
void far_net_point_gradient(far_net_point *p, int64_t j, double *gradient);

/* ---- net_climb.c ---- */

/* For every output the least and largest value met, and where: p x 2 x (inputs + 1), (u, s) of
 * norm 1. */
far_status far_net_climb(const far_net_plan *plan, const far_certify_opts *o, double *value,
                         double *where);
/* Large |slope| among raw directions of norm 1: p and p x inputs. rows: among those along which
 * rows of a table can go. */
far_status far_net_climb_rays(const far_net_plan *plan, const far_certify_opts *o, bool rows,
                              double *slope, double *direction);

/* ---- net_cell.c: the network on a piece of space ---- */

enum { FAR_CELL_VARS = 6 };

/* c + sum_k a_k t_k + e with |t_k| <= 1 and |e| <= r. */
typedef struct far_form {
    double c, r, a[FAR_CELL_VARS];
} far_form;

typedef struct far_cell far_cell;
/* rounded: forms hold what the engine computes in float64 too, not proven, for comparison. */
void far_cell_set_rounded(far_cell *cell, bool rounded);
far_status far_cell_create(const far_net_plan *plan, int64_t vars, far_cell **out);
void far_cell_destroy(far_cell *cell);
/* s^degree f over u (inputs of them) and s >= 0, as forms in raw units (as far_net_point_value),
 * one for each output. */
const far_form *far_cell_run(far_cell *cell, const far_form *u, const far_form *s);
far_range far_form_range(const far_form *f, int64_t vars);
far_form far_form_constant(double value, double error);

/* ---- net_branch.c ---- */

typedef struct far_net_branch {
    far_range *range; /* of each output, proven */
    double *found;    /* p x 2: least and largest value met; in: from the search */
    double *where;    /* p x 2 x (inputs + 1) */
    int64_t cells;
    bool finished;
} far_net_branch;

bool far_net_branch_supported(const far_net_plan *plan);
/* Until every range is within gap of what was found, relative to the largest |f| found of that
 * output; or, with target (p of them), until every range lies in its target or was refuted. */
far_status far_net_branch_run(const far_net_plan *plan, double gap, const far_range *target,
                              double seconds, far_net_branch *out);

/* ---- net_witness.c ---- */

/* slope, order, intercept, confirmed and (unless level is NAN) beyond along b->direction. */
far_status far_net_witness_measure(const far_net_plan *plan, int64_t j, far_bound *b);

/* ---- the certificate ---- */

/* Of far_bound.proofs. */
enum { FAR_BY_BALL, FAR_BY_SPECTRAL, FAR_BY_RELAXATION, FAR_BY_CELLS };

/* A certificate that says nothing yet of this network. */
far_status far_net_certificate_blank(far_ctx *ctx, const far_net *net, far_certificate **out);
/* A certificate with all that needs no search: verdicts but for witnesses, and closed bounds. */
far_status far_net_closed_bounds(far_ctx *ctx, const far_net *net, far_net_plan **plan,
                                 far_certificate **out);
/* Makes the verdict on output j unbounded, with all that goes with it (beyond unless level is NAN),
 * if it runs away along direction, which b keeps. */
far_status far_net_witness_output(const far_net_plan *plan, double level, int64_t j,
                                  const double *direction, far_bound *b);
far_status far_net_certify(far_ctx *ctx, const far_net *net, const far_certify_opts *opts,
                           far_certificate **out);
/* far_certificate_check of a network, with so much time for branch and bound. */
far_status far_net_certificate_check(far_ctx *ctx, const far_net *net, const char *json,
                                     double seconds);

/* ---- net_found.c ---- */

/* f at a point, as the engine has it, in a range and in an enclosure of the real value. */
typedef struct far_net_value {
    double value;
    bool possible; /* the two meet; if not, the range is proven wrong */
} far_net_value;

/* The engine's value of output j at a raw point, or its limit along a raw direction. */
far_status far_net_raw_value(const far_net_plan *plan, int64_t j, const double *raw, bool infinite,
                             double *out);
/* The same, held against an enclosure. FAR_ERR_BACKEND if the engine is off
 * by more than rounding explains. */
far_status far_net_found(const far_net_plan *plan, int64_t j, const double *raw, bool infinite,
                         far_range range, far_net_value *out);
/* Between which numbers f lies there, in real arithmetic or (rounded) as the engine has it: all
 * outputs. */
far_status far_net_enclose(const far_net_plan *plan, const double *raw, bool infinite, bool rounded,
                           far_range *out);
/* The same of a network of images or sequences, at a raw point (shape_certify.c). */
far_status far_shape_found(far_ctx *ctx, const far_net *net, int64_t j, const double *raw,
                           far_range range, far_net_value *out);
/* at, at_infinity and sup_found of output j, from what a search met; raw: room for the point. */
far_status far_net_place_found(const far_net_plan *plan, int64_t j, const far_net_branch *found,
                               double *raw, far_bound *b);

#endif
