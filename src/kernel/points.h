/*
 * The part of a kernel that belongs to single points: for every operation of the plan a few
 * coefficients per point, in the precision of the tiles, and the diagonal values.
 */
#ifndef FAR_POINTS_H
#define FAR_POINTS_H

#include "plan.h"

/* How the coefficients of the operations are laid out; shared by both sides of a Gram matrix. */
typedef struct far_layout {
    int *slot;   /* first slot of operation i */
    int *series; /* terms of the Hermite series of operation i, 0: the closed form is used */
    int slots;
} far_layout;

/* The first row with a scale at which op, a sine or a soft sign, tells angles too small for
 * doubles.
 */
typedef struct far_blind {
    int64_t row;
    const far_op *op; /* NULL: there is none */
} far_blind;

typedef struct far_points {
    far_ctx *ctx;
    const char *name; /* in messages */
    int64_t n, ld;    /* ld: n rounded up so that whole vectors may be read */
    int64_t d;
    far_dtype dtype;
    bool at_infinity;
    bool second; /* at infinity, by a lambda of its own */
    bool zeros;  /* some r is zero in front of some dense without bias */
    far_mat x;
    void *unit;        /* n x d: directions, in dtype */
    double *unit_rest; /* n x d: what rounding took off them; NULL unless plan->fine and float64 */
    void *coef;        /* slot s of point i at [s ld + i]; the last two are r and p */
    bool moving;       /* slopes are wanted too; float64 only */
    double *slope;  /* how coef changes with ln |x|; the last two: ln r and ln p. Those of a smooth
                       activation with ln of the r that it gets, */
    double *rate;   /* which itself changes by this: operation k of point i at [k ld + i] */
    far_big *norm;  /* moving: |features|, or a stand-in where that is zero */
    far_big *r, *p; /* scales of K and Theta at the output */
    far_big *theta; /* Theta(x, x) */
    double *widest; /* largest r that operation i got */
    far_blind nngp_blind, ntk_blind;
} far_points;

#define FAR_PAD 64 /* elements behind every row of coefficients */

/* The state of one point on its way through the operations. */
typedef struct far_point {
    far_big r, p, theta;
    long double mu; /* mean / r */
    /* where slopes are wanted, by ln |x|: of ln r, of ln p - ln r (which is often zero), of mu */
    long double r_rate, p_excess, mu_rate;
} far_point;

/* Row i of x as the first dense sees it: returns the norm |features| / sqrt(d) and leaves their
 * direction (a unit vector, or zeros) in unit[0..d). */
far_big far_input_row(const far_plan *plan, const far_mat *x, int64_t i, bool at_infinity,
                      long double *unit);

/* grad (d), by what far_input_row makes of row i, becomes one by the row itself; where a layer has
 * a kink, by the mean of both sides. work: (plan->input_count + 1) d. */
void far_input_pull(const far_plan *plan, const far_mat *x, int64_t i, long double *grad,
                    long double *work);

/* FAR_ERR_SHAPE if groups of a norm on the input do not divide d. */
far_status far_check_groups(far_ctx *ctx, const far_plan *plan, int64_t d);

/* Behind a norm all points have the same r; what an activation made of the last one is kept. */
typedef struct far_memo {
    far_big r;
    far_moments moments;
    far_growth growth; /* where slopes are wanted */
    bool set;
} far_memo;

/* Where the work on points happens, one for each thread. */
typedef struct far_workbench {
    far_point *stack; /* plan->depth points */
    far_memo *memo;   /* one per operation */
    double *widest;   /* largest r that operation i got */
    double *coef;     /* coefficients of the last point; NULL: not wanted */
    double *slope;    /* and their slopes; NULL: not wanted, nor those of the point */
    double *rate;     /* for slopes: of ln r in front of operation i */
    bool zeros;       /* see far_points */
    bool second;
    const far_op *blind_nngp, *blind_ntk; /* of the last point, see far_blind */
    const far_op *lost; /* the first operation behind which the last point has a scale past all
                           exponents; NULL: none */
    long double *unit;  /* d */
} far_workbench;
far_status far_workbench_create(far_ctx *ctx, const far_plan *plan, int64_t d, int slots,
                                bool moving, far_workbench *out);
void far_workbench_clear(far_ctx *ctx, far_workbench *w);

/* One point through all operations; layout may be NULL if w->coef is. w->lost says if it failed. */
void far_point_run(const far_plan *plan, const far_layout *layout, int64_t d, far_point *point,
                   far_workbench *w);

/* The message for a lost point; where says which it is. FAR_ERR_RANGE. */
far_status far_fail_lost(far_ctx *ctx, const far_op *lost, const char *where);

/* FAR_ERR_RANGE if K (or Theta, where that is wanted) of these points cannot be told. */
far_status far_check_blind(const far_points *points, bool ntk);

/* How many coefficients an operation has; terms: of its Hermite series, or 0. */
int far_op_slots(const far_op *op, int terms);

/* b may be NULL. */
far_status far_layout_create(far_ctx *ctx, const far_plan *plan, const far_points *a,
                             const far_points *b, far_layout *out);
void far_layout_clear(far_ctx *ctx, far_layout *layout);

/* Checks x (finite; no zero rows at infinity). Keeps a view of x, and name. */
far_status far_points_create(far_ctx *ctx, const far_plan *plan, const far_mat *x, const char *name,
                             bool at_infinity, far_points *out);
/* Computes r, p, theta and what far_layout_create asks about. FAR_ERR_RANGE: see far_fail_lost. */
far_status far_points_survey(const far_plan *plan, far_points *points);
/* Computes r, p, theta and the coefficients. */
far_status far_points_fill(const far_plan *plan, const far_layout *layout, far_points *points);
/* Makes the bias of the first dense one more feature: directions become (al unit, be), so that
 * their chords are gaps behind that dense. float64 only. */
far_status far_points_augment(far_points *points);
/* Some scale leaves the exponent range of dtype. */
bool far_points_are_wide(const far_points *points);
void far_points_clear(far_points *points);

#endif
