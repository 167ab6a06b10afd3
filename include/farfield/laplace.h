/*
 * farfield/laplace.h: how sure a trained network is: its linearised Laplace approximation.
 *
 *     far_laplace_fit          exact, by a few features (ELLA), or layer by layer, on the training
 *                              inputs
 *     far_laplace_predict      mean and covariance of the outputs at new points
 *     far_laplace_tune         prior and noise variance, by the marginal likelihood
 *     far_laplace_choose       number of features and prior variance, on validation rows
 *     far_laplace_probability  class probabilities from mean and covariance
 *     far_gauss_scores, ...    NLL and coverage; AUROC of in against out of domain (score.h: more)
 *
 * The network is taken to be at the maximum of its posterior. Linearised there, with J(x) =
 * df/dparameters (C x P), a prior N(0, s0^2 I) on the step of the parameters and the curvature
 * Lam_i of the negative log likelihood at training point i,
 *
 *     f(x)  ~  N(net(x), kappa(x, x)),   kappa(x, x') = J(x) Sigma J(x')',
 *     Sigma = (sum_i J_i' Lam_i J_i + I / s0^2)^-1
 *
 * Lam_i = I / noise for a regression with that noise variance, diag(p) - p p' for a softmax with
 * probabilities p, p (1 - p) for one logit of two classes. Sums are over rows, not means: a network
 * trained with weight decay LAM |p|^2 / 2 on the sum of the losses -log p has s0^2 = 1 / LAM.
 * Targets are not needed to fit.
 *
 * Exact: by the smaller of two systems, P x P (Sigma itself) or NC x NC,
 *
 *     kappa(x, x') = s0^2 [k(x, x') - k(x, X) R (R' K R + I / s0^2)^-1 R' k(X, x')],  Lam = R R'
 *
 * with the tangent kernel k of farfield/ntk.h.
 *
 * ELLA (Deng, Zhou and Zhu 2022): M landmarks, each a training point and one output; J_M their rows
 * of the Jacobian; the K largest eigenpairs J_M J_M' = Q p Q'; V = J_M' Q p^-1/2 (P x K); features
 * phi(x) = J(x) V (C x K) by K Jacobian-vector products; G = sum_i phi_i' Lam_i phi_i + I / s0^2 in
 * one pass over the data;
 *
 *     kappa(x, x') ~ phi(x) G^-1 phi(x')' + s0^2 (k(x, x') - phi(x) phi(x')')
 *
 * The second term, the prior of all directions that are no features, is not in the paper; without
 * it variances are at most the exact ones, and often far below. With it the formula is exact when
 * the features span all training rows (M = NC, K = their rank). It is on by default.
 *
 * Layer by layer, sum_i J_i' Lam_i J_i is replaced by something cheaper:
 *
 *     diagonal    its diagonal
 *     KFAC        a block a layer, 1/N (sum_i a_i a_i') x (sum_i D_i' Lam_i D_i), a_i the layer's
 *                 inputs and a constant for its bias, D_i the gradients of the outputs by what it
 *                 gives (Martens and Grosse 2015; Ritter, Botev and Barber 2018); a norm's gain and
 *                 shift are one block, which is exact; a layer at R positions has 1/(N R) and sums
 *                 over rows and positions (KFAC-expand: Eschenhagen et al. 2023); with lora A and B
 *                 have a block each
 *     last layer  the exact posterior of the last dense layer, all other weights as they are
 *
 * Everything is float64 and in the network's own units (see farfield/net.h); inputs are finite.
 * Same bits for every call with the same arguments. Matrices that are outputs must not overlap
 * inputs.
 */
#ifndef FARFIELD_LAPLACE_H
#define FARFIELD_LAPLACE_H

#include <farfield/net.h>
#include <farfield/score.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_likelihood {
    FAR_LIKELIHOOD_GAUSSIAN = 0, /* every output with the same noise variance */
    FAR_LIKELIHOOD_SOFTMAX = 1,  /* outputs are logits of as many classes; at least 2 */
    FAR_LIKELIHOOD_BERNOULLI = 2 /* one output, the logit of the second of two classes */
} far_likelihood;

typedef enum far_laplace_method {
    FAR_LAPLACE_ELLA = 0,
    FAR_LAPLACE_EXACT = 1, /* whichever system is smaller */
    FAR_LAPLACE_DIAGONAL = 2,
    FAR_LAPLACE_KFAC = 3,
    FAR_LAPLACE_LAST_LAYER = 4
} far_laplace_method;

typedef enum far_laplace_system {
    FAR_LAPLACE_SMALLER = 0,    /* of the two below */
    FAR_LAPLACE_PARAMETERS = 1, /* P x P */
    FAR_LAPLACE_ROWS = 2,       /* NC x NC; digits are lost where the data leave less than 1e-6 of
                                   the prior variance */
    FAR_LAPLACE_FEATURES = 3,   /* K x K: what ELLA solves; only described, not chosen */
    FAR_LAPLACE_BLOCKS = 4      /* of the methods layer by layer; only described. P numbers, or for
                                   the last layer a system of its weights */
} far_laplace_system;

typedef struct far_laplace_opts {
    size_t size;               /* set by far_laplace_opts_init */
    far_laplace_method method; /* default FAR_LAPLACE_ELLA */
    far_likelihood likelihood; /* default FAR_LIKELIHOOD_GAUSSIAN */
    double prior;              /* s0^2 > 0; default 1 */
    double noise;              /* variance > 0 of FAR_LIKELIHOOD_GAUSSIAN; default 1 */
    far_laplace_system system; /* exact; default FAR_LAPLACE_SMALLER */
    int64_t landmarks;         /* M; default 500. More than there are rows (NC): all of them */
    int64_t rank;           /* K; default 20. 0, or more than the landmarks have: all that count */
    int32_t balanced;       /* 1: landmarks take outputs in turn, and with labels points of the
                               classes in turn. 0 (default): at random. Never the same point and
                               output twice */
    const int64_t *labels;  /* n classes from 0, for balanced; NULL: none */
    int32_t residual_prior; /* 1 (default): with s0^2 (k - phi phi'); 0: the paper's ELLA */
    uint64_t seed;          /* of the landmarks; default 0 */
    double memory;          /* budget in bytes; 0: what the machine has available. Points are
                               treated a few million numbers at a time, fewer in a small budget,
                               which changes the last bits */
} far_laplace_opts;

FAR_API void far_laplace_opts_init(far_laplace_opts *opts);

/* What a fit on n rows takes: bytes at most at a time (the tangent kernel's own factors for exact
 * systems of rows not included), which system it solves and of what size. */
typedef struct far_laplace_cost {
    double bytes;
    far_laplace_system system;
    int32_t fits; /* 1: within the budget */
    int64_t side; /* P, NC, K, or the weights of the last layer */
} far_laplace_cost;
FAR_API FAR_NODISCARD far_status far_laplace_estimate(far_ctx *ctx, const far_net *net, int64_t n,
                                                      const far_laplace_opts *opts,
                                                      far_laplace_cost *out);

typedef struct far_laplace far_laplace; /* opaque; borrows only the context */

/* x is n x inputs, the training rows; opts may be NULL. The network and, for a system of rows, x
 * are copied. Progress "posterior", for ELLA after "landmarks" and "basis".
 * FAR_ERR_ARG: an option out of range. FAR_ERR_SHAPE: no rows, or x is not as wide as the network.
 * FAR_ERR_VALUE: a value of x or an output of the network is not finite, or every landmark's
 * gradient is 0. FAR_ERR_BUDGET: beyond the memory budget. FAR_ERR_SINGULAR: prior times data is
 * too large for the digits there are; try a smaller prior.
 * Cost. Exact: NC P^2 or (NC)^2 (widths + NC). ELLA: M^2 widths + M^3 + K vjps of M rows + K jvps
 * of N rows + NC K^2. Diagonal NC P; KFAC NC widths^2 + widths^3; last layer NC (its weights)^2. */
FAR_API FAR_NODISCARD far_status far_laplace_fit(far_ctx *ctx, const far_net *net, const far_mat *x,
                                                 const far_laplace_opts *opts, far_laplace **out);
FAR_API void far_laplace_destroy(far_laplace *la); /* NULL is fine */

typedef struct far_laplace_info {
    int64_t rows, outputs, parameters; /* N, C, P */
    far_laplace_method method;
    far_likelihood likelihood;
    far_laplace_system system;
    int32_t residual_prior;
    int64_t side;      /* of the system: P, NC, K, or the weights of the last layer */
    int64_t landmarks; /* M; 0 but for ELLA */
    int64_t rank;      /* K in use; 0 but for ELLA */
    int64_t rank_most; /* K of the fit: at most what was asked for, and what the landmarks have */
    double prior, noise;
    double effective; /* parameters that the data decide, sum g / (g + 1 / s0^2) over eigenvalues g
                         of the system without prior */
    double bytes;     /* memory held */
} far_laplace_info;
FAR_API far_laplace_info far_laplace_describe(const far_laplace *la);

/* Another prior variance (NAN: as it is), and for ELLA the `rank` first features of those fitted
 * (0: as it is; must be 0 for others) and whether it adds the prior of what is no feature (1 or 0;
 * -1: as it is; must be -1 for others). No pass over the data; on failure nothing changes. */
FAR_API FAR_NODISCARD far_status far_laplace_set(far_ctx *ctx, far_laplace *la, int64_t rank,
                                                 double prior, int32_t residual_prior);

/* mean (m x C) = net(x); covariance (m C x C): rows i C .. i C + C - 1 are kappa(x_i, x_i), of the
 * outputs, without noise; either may be NULL. Progress "laplace". */
FAR_API FAR_NODISCARD far_status far_laplace_predict(far_ctx *ctx, const far_laplace *la,
                                                     const far_mat *x, far_mat *mean,
                                                     far_mat *covariance);

/* How well ELLA's features stand for the kernel on m points, in the spectral norm:
 * kernel = |K - phi phi'| / |K|; posterior = |kappa - kappa_ELLA| / |kappa| with kappa of `exact`
 * (fitted on the same rows; NULL: posterior is NAN). Memory 3 (m C)^2 numbers. */
typedef struct far_nystrom_error {
    double kernel, posterior;
} far_nystrom_error;
FAR_API FAR_NODISCARD far_status far_laplace_nystrom(far_ctx *ctx, const far_laplace *la,
                                                     const far_laplace *exact, const far_mat *x,
                                                     far_nystrom_error *out);

/* ---- class probabilities ---- */

typedef enum far_probability_rule {
    FAR_PROBABILITY_PROBIT = 0,  /* softmax_c of mean_c / sqrt(1 + pi/8 cov_cc); for two classes
                                    sigmoid of d / sqrt(1 + pi/8 var d), d the difference, or the
                                    one logit there is */
    FAR_PROBABILITY_SAMPLES = 1, /* mean of softmax over draws of N(mean, covariance) */
    FAR_PROBABILITY_MEAN = 2     /* softmax of the mean: the network as it is (MAP) */
} far_probability_rule;

typedef struct far_probability_opts {
    size_t size;               /* sizeof(far_probability_opts); all other defaults are 0 */
    far_probability_rule rule; /* default FAR_PROBABILITY_PROBIT */
    int64_t samples;           /* draws a row; 0: 512 */
    uint64_t seed; /* default 0. Row i, draw s, class c has random numbers of its own, so that
                      they do not depend on threads; the same for every call with that seed */
} far_probability_opts;

/* out (m x C, rows sum to 1) from mean (m x C) and covariance (m C x C; may be NULL with
 * FAR_PROBABILITY_MEAN), as far_laplace_predict gives them. One output is the logit of the second
 * of two classes, and out is m x 2. opts may be NULL. FAR_ERR_VALUE: a value is not finite, or a
 * variance negative beyond rounding. */
FAR_API FAR_NODISCARD far_status far_laplace_probability(far_ctx *ctx, const far_mat *mean,
                                                         const far_mat *covariance,
                                                         const far_probability_opts *opts,
                                                         far_mat *out);

/* ---- scores ---- */

typedef struct far_gauss_score {
    double nll;      /* mean over rows of the sum over outputs of -log N(y; mean, variance + noise),
                        each output by itself */
    double rmse;     /* over rows and outputs */
    double coverage; /* share of y within 1.96 standard deviations */
} far_gauss_score;

/* mean, y m x C; covariance m C x C or NULL (0: the network as it is); noise > 0. */
FAR_API FAR_NODISCARD far_status far_gauss_scores(far_ctx *ctx, const far_mat *mean,
                                                  const far_mat *covariance, const far_mat *y,
                                                  double noise, far_gauss_score *out);

/* out[i] = -sum_c p_ic log p_ic, m numbers: large where a classifier does not know. */
FAR_API FAR_NODISCARD far_status far_class_entropy(far_ctx *ctx, const far_mat *probability,
                                                   double *out);
/* out[i] = trace of the covariance of row i, m numbers: the same for a regression. */
FAR_API FAR_NODISCARD far_status far_laplace_variance(far_ctx *ctx, const far_mat *covariance,
                                                      double *out);
/* The probability that a row out of domain has a larger score than one in domain; ties count half.
 * 1: all have; 0.5: scores say nothing. */
FAR_API FAR_NODISCARD far_status far_domain_auroc(far_ctx *ctx, const double *in, int64_t in_count,
                                                  const double *out_of, int64_t out_count,
                                                  double *auroc);

/* ---- choosing ---- */

typedef struct far_laplace_evidence {
    double prior, noise; /* noise: of a regression, else 1 */
    double scale;        /* what both were multiplied by at the end; 1: nothing */
    double log_evidence; /* of the training rows, before that; of classes without the likelihood of
                            the labels */
    int32_t edge;        /* 1: the prior is at the end of what was searched */
} far_laplace_evidence;

/* The prior, and for a regression the noise (unless keep_noise), with the largest marginal
 * likelihood of the training rows x and their targets y (n x C; NULL for classes); la is then set
 * to them. For a regression it is that of the network linearised at its weights p, y - net(x) + J p
 * ~ N(0, s0^2 J J' + noise I), which needs no optimum; the noise is at least the mean square of the
 * network's residuals; of the last layer J and p are its own. From 19 rows on prior and noise are
 * then scaled together, the noise no further down than that mean square, so that of rows left out
 * of that linear model (2000 at most) 95% lie within 1.96 standard deviations. For classes, and for
 * diagonal and KFAC, it is Laplace's approximation with |p|^2 / (2 s0^2). The rank stays. Progress
 * "evidence".
 */
FAR_API FAR_NODISCARD far_status far_laplace_tune(far_ctx *ctx, far_laplace *la, const far_mat *x,
                                                  const far_mat *y, int32_t keep_noise,
                                                  far_laplace_evidence *out);

typedef struct far_laplace_grid {
    size_t size;          /* sizeof(far_laplace_grid); all other defaults are 0 */
    const int64_t *ranks; /* each from 1 to rank_most; NULL (default): 5, 10, 20, 50, 100, ...
                             below rank_most, and rank_most. For ELLA alone */
    int64_t rank_count;
    const double *priors; /* NULL (default): 1e-4 to 1e2, two a decade */
    int64_t prior_count;
    far_probability_opts probability; /* how classes are scored */
    double *nll; /* room for rank_count x prior_count scores (1 x prior_count but for ELLA); needs
                    ranks (of ELLA) and priors. NULL (default): not wanted */
} far_laplace_grid;

typedef struct far_laplace_choice {
    int64_t rank; /* 0 but for ELLA */
    double prior, nll;
    int32_t edge; /* 1: the best prior is at an end of the grid; a wider one may do better */
} far_laplace_choice;

/* The rank and prior with the least NLL on validation rows x (m x inputs), which should be neither
 * training nor test rows: labels (m classes) for classes, y (m x C) for a regression, the other is
 * NULL. la is then set to them. Of equal scores the first in the grid wins. grid may be NULL, out
 * too. A prior for which the system is singular scores INFINITY. Features of the validation rows
 * are computed once. Progress "choose". */
FAR_API FAR_NODISCARD far_status far_laplace_choose(far_ctx *ctx, far_laplace *la, const far_mat *x,
                                                    const int64_t *labels, const far_mat *y,
                                                    const far_laplace_grid *grid,
                                                    far_laplace_choice *out);

#ifdef __cplusplus
}
#endif
#endif
