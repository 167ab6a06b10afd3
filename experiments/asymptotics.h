/*
 * Power laws of a relu kernel, for loss-asymptotics: eigenvalues lambda_n ~ Lam n^-nu of K / N,
 * tails s_n ~ Kap n^-kappa of a target, loss L(t) ~ C t^-xi of gradient flow.
 *
 * The kernel is the NTK of one hidden relu layer with biases at infinite width, of the points
 * x~ = (x, 1): |x~| |x'~| (u k0 + k1), u the cosine of their angle.
 */
#ifndef FAR_EXPERIMENTS_ASYMPTOTICS_H
#define FAR_EXPERIMENTS_ASYMPTOTICS_H

#include "reproduce.h"

/* [-1, 1]^d, N(0, I), the unit ball of R^3, and one in each of n equal parts of [-1, 1] */
enum { LAW_CUBE, LAW_GAUSS, LAW_BALL, LAW_CELLS, LAW_PLACES };
extern const char *const LAW_PLACE[LAW_PLACES];
enum { LAW_JUMP, LAW_NET, LAW_TARGETS }; /* an indicator, another random network of the kind */
extern const char *const LAW_TARGET[LAW_TARGETS];

typedef struct law_task {
    int d, place;
    int64_t n, top; /* points; how many eigenpairs */
    uint64_t seed;  /* of the points and of the network that is the target */
} law_task;

/* The architecture in d dimensions; width 0: infinite. Free it. */
char *law_arch(int d, int64_t width);
/* n x d, packed; free it. */
double *law_points(const law_task *t);

enum { LAW_MOMENTS = 30 };
/* The largest eigenpairs of a kernel, and what is left of the targets behind them: all that L(t)
 * needs, as long as the eigenvalues left are small against 1 / t. Zero-initialise; law_free is
 * always safe. */
typedef struct law_run {
    int64_t count;
    double *values;               /* of K / N, the largest first */
    double *squares[LAW_TARGETS]; /* of the targets along them, over N */
    double *tails[LAW_TARGETS];
    double moments[LAW_TARGETS][LAW_MOMENTS]; /* r' (K / N)^j r / N of what is left */
} law_run;

far_status law_measure(reproduction *r, const law_task *t, law_run *out);
void law_free(law_run *run);
double law_loss(const law_run *run, int target, double t);
/* Of a sabotaged run: eigenvalues to a power, as of another kernel, and tails that are not those of
 * the targets. */
void law_spoil(const reproduction *r, double power, law_run *run);
/* How far that is from the loss by all eigenpairs, over times up to those of the last of them. */
far_status law_check(reproduction *r, const law_task *t, double *worst);

typedef struct law_fit {
    double nu, lam, kappa, kap, xi;
    double from, to; /* the window of t: [n_1^nu, n_2^nu] / (2 Lam) */
    double ratio;    /* L(t) over the formula with these numbers, in its middle */
} law_fit;
/* Over eigenvalues from .. to. */
far_status law_fit_window(reproduction *r, const law_run *run, int target, int64_t from, int64_t to,
                          law_fit *out);
/* The exponents alone, of count numbers against 1, 2, ...; no warnings. */
far_status law_exponent(reproduction *r, const double *values, int64_t count, int64_t from,
                        int64_t to, double *exponent);
far_status law_theory(reproduction *r, int d, int target, far_power_theory *out);
/* Lam by Weyl's law for the points of a place. */
double law_constant(int d, int place);

/* The unit ball of R^3, filled evenly, not sampled: spherical harmonics up to degree take the
 * kernel apart into integral operators along the radius. All eigenvalues above the first one of
 * that degree; the target 1[x_1 > 0], and the mean over random networks, whose covariance is the
 * NNGP kernel. */
typedef struct ball_size {
    int64_t degree, radii, angles;
} ball_size;
far_status ball_measure(reproduction *r, const ball_size *size, law_run *out);

/* count nodes and weights of Gauss and Legendre on [0, 1]. */
void gauss_nodes(int64_t count, double *nodes, double *weights);

/* ---- parts of the experiment, each with its claims and figures ---- */

far_status law_circle(reproduction *r);
far_status law_doubt(reproduction *r);
far_status law_finite(reproduction *r);

#endif
