/*
 * farfield/measure.h: what a kernel says about training.
 *
 *     far_view_create        a kernel matrix, checked
 *     far_view_spectrum      eigenvalues and eigenvectors, all or the largest
 *     far_view_align         how well the kernel agrees with targets
 *     far_spectral_fit       ridge, gradient flow, gradient descent from one decomposition
 *     far_power_fit          power laws of spectra and losses, beside the theory
 *     far_correlation        of two lists of numbers, or of their ranks
 *     far_local_correlation  how the kernel falls off with distance
 *     far_measure_apply      all of these by name
 *
 * Conventions, everywhere here. N points, C outputs a point, K a symmetric matrix of N C rows (row
 * i C + c is output c of point i). The loss is L = 1/(2N) sum |f - y|^2, so training is driven by
 * K / N, and time is t = learning rate times steps. Eigenvalues are those of K, the largest first,
 * unless a line says K / N. Everything is float64.
 */
#ifndef FARFIELD_MEASURE_H
#define FARFIELD_MEASURE_H

#include <farfield/ntk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- 1. The view: a kernel and what was computed of it -----------------------------------------
 */

/* Borrows the matrix, which must outlive it and stay as it is.
 * Keeps what costs much: eigenpairs and norms, so that many measures share one decomposition. */
typedef struct far_view far_view;

/* |K_ij - K_ji| may be this part of the largest |entry|. What differs
 * within that counts as the same. */
#define FAR_VIEW_SYMMETRY 1e-9
/* A kernel counts as positive semidefinite if its least eigenvalue is above minus this part of the
 * largest; eigenvalues below 0 that are that small count as 0 in fits. */
#define FAR_VIEW_PSD 1e-9

/* kernel is n x n; points is N, 0: as many as rows. FAR_ERR_SHAPE: not square, empty, or points do
 * not divide the rows. FAR_ERR_VALUE: an entry that is not finite, or not symmetric: the message
 * names the worst pair. */
FAR_API FAR_NODISCARD far_status far_view_create(far_ctx *ctx, const far_mat *kernel,
                                                 int64_t points, far_view **out);
FAR_API void far_view_destroy(far_view *view); /* NULL is fine */

typedef struct far_view_info {
    int64_t rows, points, outputs;
    double trace, frobenius;  /* of K; NAN without a matrix */
    double centred_frobenius; /* of HKH, H = I - 1 1' / rows */
    double asymmetry;         /* largest |K_ij - K_ji| over the largest |entry| */
} far_view_info;
FAR_API far_view_info far_view_describe(const far_view *view);

/*
 * ---- 2. Spectrum -------------------------------------------------------------------------------
 */

/* Lives as long as the view, or until it is asked for more. */
typedef struct far_spectrum {
    int64_t rows, count;
    const double *values;  /* of K, the largest first */
    const double *vectors; /* unit vector j begins at vectors + j rows; NULL if not asked for. Its
                              largest entry is positive */
} far_spectrum;

/* The count largest; 0: all. Few by Lanczos, many by LAPACK (far_eigen). What is there already is
 * not computed again. Memory: 8 rows^2 bytes, and 8 rows a vector. */
FAR_API FAR_NODISCARD far_status far_view_spectrum(far_ctx *ctx, far_view *view, int64_t count,
                                                   int with_vectors, far_spectrum *out);

/* A condition number means nothing without its ridge: of K + ridge I. */
typedef struct far_condition {
    double ridge;
    double largest, least; /* eigenvalues of K */
    double condition;      /* (largest + ridge) / (least + ridge); INFINITY where that is not
                              positive to n 1e-16 of the largest */
    double dimension;      /* sum l / (l + ridge): effective; with ridge 0 the numerical rank */
    double participation;  /* (sum l)^2 / sum l^2 */
} far_condition;
FAR_API FAR_NODISCARD far_status far_view_condition(far_ctx *ctx, far_view *view, double ridge,
                                                    far_condition *out);

/* Weyl: adding a layer's kernel B to A, low_i <= lambda_i(A + B) <= high_i, from the eigenvalues of
 * A (n, the largest first) and the least and largest of B. low, high: n numbers each. So the
 * condition number of A + B + ridge I is at most (high_1 + ridge) / (low_n + ridge), where that is
 * positive. */

FAR_API FAR_NODISCARD far_status far_weyl_intervals(far_ctx *ctx, const double *values, int64_t n,
                                                    double least, double largest, double *low,
                                                    double *high);
/* Row l of values (layers x rows) are the eigenvalues of layer l's kernel, the largest first. opts
 * as far_net_ntk takes them (layers left out are rows of 0). One matrix is held at a time. */
FAR_API FAR_NODISCARD far_status far_layer_spectra(far_ctx *ctx, const far_net *net,
                                                   const far_mat *x, const far_ntk_opts *opts,
                                                   far_mat *values);

/*
 * ---- 3. Alignment ------------------------------------------------------------------------------
 *
 * targets Y is rows x q, finite and not all 0; several columns count together. For one of them
 * alone pass a view of that column. With q = 1:
 *
 *     KTA         y'Ky / (|K|_F |y|^2)        = sum_i lambda_i / |K|_F cos^2(u_i, y)
 *     centred KTA the same of HKH and Hy      = CKA of K and yy'
 *     Rayleigh    alpha = y'Ky / |y|^2        low: hard to learn
 *
 * and with several columns yy' becomes YY', |y|^2 in KTA |YY'|_F and in alpha |Y|_F^2. KTA is
 * dominated by a constant eigenvector if there is one; look at the centred one too.
 */
typedef struct far_alignment {
    double kta;         /* NAN without a matrix, or for K = 0 */
    double centred_kta; /* NAN also where the targets are constant */
    double rayleigh;    /* of K */
    double frobenius;   /* |K|_F */
} far_alignment;
FAR_API FAR_NODISCARD far_status far_view_align(far_ctx *ctx, far_view *view,
                                                const far_mat *targets, far_alignment *out);

/* cosines[i] = |Y'u_i|^2 / |Y|_F^2 for the count largest eigenvalues (0: all), in [0, 1], and
 * cumulative[i] their sum up to i; either may be NULL. Where eigenvalues (nearly) coincide single
 * cosines jump, cumulative ones behind the group do not. */
FAR_API FAR_NODISCARD far_status far_view_cosines(far_ctx *ctx, far_view *view,
                                                  const far_mat *targets, int64_t count,
                                                  double *cosines, double *cumulative);

/* labels (rows x 1) = sign of eigenvector index, counted from 1; +1 where that is 0. Begin at 2:
 * the first is often constant. */
FAR_API FAR_NODISCARD far_status far_view_task(far_ctx *ctx, far_view *view, int64_t index,
                                               far_mat *labels);

/* <HKH, HBH> / (|HKH|_F |HBH|_F) for b of the same shape; NAN where one of them is 0. */
FAR_API FAR_NODISCARD far_status far_view_cka(far_ctx *ctx, const far_view *view, const far_mat *b,
                                              double *cka);
/* out_ij = exp(-|y_i - y_j|^2 / (2 width^2)), n x n for targets n x q. */
FAR_API FAR_NODISCARD far_status far_target_kernel(far_ctx *ctx, const far_mat *targets,
                                                   double width, far_mat *out);

/*
 * ---- 4. Spectral filters -----------------------------------------------------------------------
 *
 * The model is linear, with kernel K, and starts at f0. Trained on L + ridge / (2N) |parameters -
 * start|^2 it is after time t
 *
 *     f_t(x) = f0(x) + K(x, X) g(K) (y - f0),   g(l) = (1 - decay) / (l + ridge),
 *     decay  = e^{-(l + ridge) t / N}           gradient flow (rate 0)
 *            = (1 - rate (l + ridge) / N)^steps gradient descent, t = rate * steps
 *
 * so that time INFINITY is kernel ridge regression (with ridge 0, the interpolation of least norm:
 * eigenvalues below rows 2e-16 of the largest have g = 0), and ridge 0 is training stopped early.
 */
typedef struct far_spectral {
    size_t size;  /* set by far_spectral_init */
    double ridge; /* >= 0; default 0 */
    double time;  /* >= 0; default INFINITY; a multiple of rate, unless that is 0 */
    double rate;  /* > 0: descent, with that learning rate; default 0: flow */
} far_spectral;
FAR_API void far_spectral_init(far_spectral *s);

/* Of targets (rows x q), start f0 the same shape or NULL for 0: fitted values, residuals y - f_t
 * (computed as such: tiny ones keep their digits), and weights = g(K)(y - f0) for new points. All
 * rows x q, each may be NULL. All eigenpairs of the view. FAR_ERR_ARG: descent with rate
 * (largest + ridge) / N > 2, which diverges. FAR_ERR_VALUE: not positive semidefinite. */
FAR_API FAR_NODISCARD far_status far_spectral_fit(far_ctx *ctx, far_view *view,
                                                  const far_spectral *s, const far_mat *targets,
                                                  const far_mat *start, far_mat *fitted,
                                                  far_mat *residuals, far_mat *weights);
/* out (m x q) = start + cross weights, with cross = K(x, X), m x rows; start m x q or NULL. */
FAR_API FAR_NODISCARD far_status far_spectral_predict(far_ctx *ctx, const far_mat *cross,
                                                      const far_mat *weights, const far_mat *start,
                                                      far_mat *out);
/* losses[k] = L at times[k]; s->time does not count. */
FAR_API FAR_NODISCARD far_status far_spectral_loss(far_ctx *ctx, far_view *view,
                                                   const far_spectral *s, const far_mat *targets,
                                                   const far_mat *start, const double *times,
                                                   int64_t count, double *losses);

/*
 * ---- 5. Power laws -----------------------------------------------------------------------------
 *
 * If lambda_n (of K / N) ~ Lam n^-nu and the tails s_n = sum_{k >= n} c_k^2 ~ Kap n^-kappa, then
 * L(t) ~ (Kap / 2) Gamma(kappa / nu + 1) (2 Lam t)^-xi with xi = kappa / nu.
 */

/* y ~ prefactor x^-exponent, by least squares of log y against log x. The 95 % intervals are those
 * of a straight line with independent errors of one variance. Points of a spectrum or a loss curve
 * depend on each other, and a window that is not yet, or no longer, a power law shifts the
 * exponent by more (10 to 20 % is usual): compare windows. */
typedef struct far_power {
    double exponent, exponent_low, exponent_high;
    double prefactor, prefactor_low, prefactor_high; /* high NAN: too large for float64 */
    double spread;       /* standard deviation of log y about the line */
    double from, to;     /* of x in the window */
    int64_t points;      /* in the window */
    const char *warning; /* NULL, or one line; not to be freed. An exponential fits better, ... */
} far_power;
#define FAR_POWER_LEAST 5 /* points in a window */
#define FAR_POWER_PART 30 /* a window of a spectrum should end at rows / 30 */

/* Points with from <= x <= to. FAR_ERR_ARG: fewer than FAR_POWER_LEAST of them, or a bad window;
 * FAR_ERR_VALUE: one that is not positive and finite; FAR_ERR_RANGE: the prefactor is too large.
 * Warns where an exponential fits better. x NULL: 1, 2, ..., for n-th eigenvalues or tails; then
 * from and to are whole numbers, and it warns where the window ends beyond n / FAR_POWER_PART: a
 * sample's spectrum and tails bend there. */
FAR_API FAR_NODISCARD far_status far_power_fit(far_ctx *ctx, const double *x, const double *y,
                                               int64_t n, double from, double to, far_power *out);

typedef enum far_power_target {
    FAR_TARGET_JUMP = 0, /* an indicator: a jump across a smooth surface */
    FAR_TARGET_NET = 1   /* another wide random network of the kind: a sample of the NNGP */
} far_power_target;
typedef struct far_power_theory {
    double alpha; /* K ~ ... - a |x - x'|^alpha near the diagonal */
    double nu, kappa, xi;
} far_power_theory;
/* For points in d dimensions (sphere 1: on the unit sphere of R^d, which has d - 1), activation
 * (z)_+^degree, of the kernel of that kind. */
FAR_API FAR_NODISCARD far_status far_power_expect(far_ctx *ctx, int64_t d, int sphere,
                                                  double degree, far_kernel_kind kind,
                                                  far_power_target target, far_power_theory *out);
/* The degree of an architecture's roughest activation. FAR_ERR_ARCH, in words: all are smooth, and
 * eigenvalues fall faster than any power. */
FAR_API FAR_NODISCARD far_status far_power_degree(far_ctx *ctx, const char *arch, double *degree);

/*
 * ---- 6. Correlation ----------------------------------------------------------------------------
 */
typedef enum far_correlation_kind {
    FAR_PEARSON = 0,
    FAR_SPEARMAN = 1 /* Pearson of ranks, ties share theirs */
} far_correlation_kind;
/* NAN where one of the two is constant. n >= 2. */
FAR_API FAR_NODISCARD far_status far_correlation(far_ctx *ctx, far_correlation_kind kind,
                                                 const double *x, const double *y, int64_t n,
                                                 double *r);

/*
 * ---- 7. Local structure ------------------------------------------------------------------------
 *
 * For kernels of one output, K(x, x') = g(x) . g(x'), with coordinates x (points x d).
 */

/* The mean of the cosine kernel over pairs i < j in bins of distance of equal width over [0, the
 * largest distance]. distance, mean and counts have `bins` numbers: the middle of a bin, the mean
 * (NAN in an empty bin), the pairs; each may be NULL. */
#define FAR_LOCAL_BINS 50
#define FAR_LOCAL_FAR 10 /* bins, the last ones, that make c_inf */
typedef struct far_local {
    double c_inf; /* mean of the last fifth of the bins (FAR_LOCAL_FAR of FAR_LOCAL_BINS) */
    double xi;    /* (first distance with (c - c_inf) / (1 - c_inf) = 1/2) / sqrt(2 ln 2); c(0) = 1;
                     NAN: it does not fall so far. Less than a bin or the grid's spacing: it
                     measures those */
    double min_c; /* the least of the cosine kernel over all pairs */
    double spacing; /* the width of a bin */
} far_local;
FAR_API FAR_NODISCARD far_status far_local_correlation(far_ctx *ctx, const far_view *view,
                                                       const far_mat *coordinates, int64_t bins,
                                                       double *distance, double *mean,
                                                       int64_t *counts, far_local *out);

/* The same for each point alone: reach_i is the first distance at which the mean of the cosine
 * kernel between point i and the points in a bin, which counts at their mean distance, falls to
 * level; 1 at distance 0; NAN: it does not fall so far. least_i is the least of its cosines. Either
 * may be NULL. At level (1 + c_inf) / 2 the reach is what xi of far_cauchy models. */
FAR_API FAR_NODISCARD far_status far_local_reach(far_ctx *ctx, const far_view *view,
                                                 const far_mat *coordinates, int64_t bins,
                                                 double level, double *reach, double *least);

/* A kernel as a function of two points: of a network of infinite width, or the tangent kernel of a
 * finite one. */
typedef struct far_any_kernel {
    const far_kernel *kernel; /* NULL: that of net */
    far_kernel_kind kind;     /* which of the kernel's two */
    const far_net *net;
    const far_ntk_opts *opts;
} far_any_kernel;

/* linear = 1: K(x, x') - K(x, -x') is linear in x', at places of R^dimension that were tried. Of
 * the odd part of a function such a kernel learns the linear part alone, from however many points:
 * on a circle no frequency 3, 5, ... So it is with one hidden layer of relu without biases. */
FAR_API FAR_NODISCARD far_status far_odd_part_linear(far_ctx *ctx, const far_any_kernel *kernel,
                                                     int64_t dimension, int *linear);

/* The jet of a kernel at each row of x (m x d): a2 = K(x, x) (m x 1), D = grad of K(x, x) (m x d),
 * H_ij = d/dx_i d/dx'_j K at x' = x (m x d^2, by rows). By central differences with this step (1e-3
 * is good for coordinates of order 1): errors of order step^2. A kernel with a kink on the diagonal
 * (relu) has no H: the numbers then grow as the step falls. */
FAR_API FAR_NODISCARD far_status far_local_jets(far_ctx *ctx, const far_any_kernel *kernel,
                                                const far_mat *x, double step, far_mat *a2,
                                                far_mat *d, far_mat *h);

/* Of one jet, the Cauchy model C(x, x + u) ~ (2 a2 + D.u) / (2 a2 + D.u + u'Hu):
 *     delta   D' H^-1 D
 *     xi^2    ((1-c)/c 2 a2 + ((1-c)/(2c))^2 delta) / det(H)^(1/d),  c = (1 + c_inf) / 2
 *     min_c   -delta / (8 a2 - delta)
 * FAR_ERR_SINGULAR: H is not positive definite. The model is local, and
 * for trained networks a rough one: compare with the measured c(eps) before relying on it. */
typedef struct far_cauchy {
    double delta, xi, min_c;
} far_cauchy;
FAR_API FAR_NODISCARD far_status far_local_cauchy(far_ctx *ctx, int64_t dimension, double a2,
                                                  const double *gradient, const double *h,
                                                  double c_inf, far_cauchy *out);

/* vector (rows x 1, may be NULL) = the first eigenvector, its sum not negative, and its cosine with
 * K 1. */
FAR_API FAR_NODISCARD far_status far_view_first(far_ctx *ctx, far_view *view, far_mat *vector,
                                                double *cosine);
/* Gradients of a field on a grid, whose points may come in any order: out is points x d, by central
 * differences, one-sided at the borders. FAR_ERR_VALUE: the coordinates are no full grid. */
FAR_API FAR_NODISCARD far_status far_grid_gradient(far_ctx *ctx, const far_mat *coordinates,
                                                   const double *field, far_mat *out);

/*
 * ---- 8. The registry ---------------------------------------------------------------------------
 */
typedef enum far_measure_need {
    FAR_NEED_MATRIX = 1,      /* not a view of a network without its matrix */
    FAR_NEED_TARGETS = 2,     /* rows x q */
    FAR_NEED_COORDINATES = 4, /* points x d */
    FAR_NEED_GRID = 8,        /* coordinates of a full grid */
    FAR_NEED_VALUES = 16,     /* what the model says now, f: rows x q */
    FAR_NEED_SPECTRUM = 32    /* all eigenvalues: O(rows^3) */
} far_measure_need;

typedef struct far_measure_info {
    const char *name;
    const char *argument; /* "K", "RIDGE", "FROM:TO"; NULL: none */
    const char *line;     /* what it is */
    const char *formula;
    int32_t needs;      /* far_measure_need bits */
    double standard[2]; /* the arguments where none are given; NAN: they must be given */
} far_measure_info;
FAR_API const far_measure_info *far_measure_at(int64_t i); /* NULL beyond the last */

typedef struct far_measure {
    const far_measure_info *info;
    double argument[2];
    int64_t values; /* how many numbers it gives */
} far_measure;

/* text: measures with commas between, "kta,align:20,nu:20:150"; at most `most`. FAR_ERR_ARG: no
 * such measure (with the nearest name), or an argument that is missing, too many or out of range.
 */
FAR_API FAR_NODISCARD far_status far_measure_find_all(far_ctx *ctx, const char *text,
                                                      far_measure *out, int64_t most,
                                                      int64_t *count);
#define FAR_MEASURE_LABEL 48
/* The name of number i, which heads its column: "kta", "align3", "cond(0.1)". */
FAR_API void far_measure_label(const far_measure *m, int64_t i, char label[FAR_MEASURE_LABEL]);

/* Each may be NULL where no measure needs it. */
typedef struct far_measure_input {
    far_view *view;
    const far_mat *targets, *values, *coordinates;
    far_loss loss; /* that values are trained with; 0 is FAR_LOSS_MSE. Of BCE and CE they are
                      logits, and "loss" and "sigma" are of its cross-entropy */
} far_measure_input;

/* out: the numbers of all measures, one behind the other. One decomposition serves them all. A
 * measure that is not defined for these numbers (no half-width, constant targets) is NAN; an input
 * that is missing or does not match is an error that names the measure. */
FAR_API FAR_NODISCARD far_status far_measure_apply(far_ctx *ctx, const far_measure_input *input,
                                                   const far_measure *measures, int64_t count,
                                                   double *out);

#ifdef __cplusplus
}
#endif
#endif
