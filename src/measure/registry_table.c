/* The table of measures. */
#include "registry.h"

#include <math.h>
#include <stddef.h>

#define MATRIX FAR_NEED_MATRIX
#define TARGETS FAR_NEED_TARGETS
#define SPECTRUM (FAR_NEED_MATRIX | FAR_NEED_SPECTRUM)
#define PLACES (FAR_NEED_MATRIX | FAR_NEED_COORDINATES)
#define GRID (PLACES | FAR_NEED_GRID)

#define NONE FAR_ARGUMENT_NONE
#define COUNT FAR_ARGUMENT_COUNT
#define RIDGE FAR_ARGUMENT_RIDGE

/* A row: what people are told, standard (of its first argument; no measure has a standard second),
 * then the rest of far_measure_entry. */
#define MEASURE(name, takes, line, formula, needs, standard, ...)                                  \
    {                                                                                              \
        {name, takes, line, formula, needs, {standard, NAN}}, __VA_ARGS__                          \
    }

const far_measure_entry far_measures[] = {
    MEASURE("lmax", NULL,
            "largest eigenvalue of K / N: the Gauss-Newton curvature of the squared loss",
            "lambda_1(K) / N", 0, NAN, NONE, FAR_VECTORS_ONE, false, far_measure_top, 0),
    MEASURE("lmin", NULL, "least eigenvalue of K / N", "lambda_n(K) / N", SPECTRUM, NAN, NONE,
            FAR_VECTORS_NONE, false, far_measure_lmin, offsetof(far_condition, least)),
    MEASURE("top", "K", "the K largest eigenvalues of K / N", "lambda_i(K) / N, i = 1..K", 0, 20,
            COUNT, FAR_VECTORS_ARGUMENT, true, far_measure_top, 0),
    MEASURE("ratio", NULL,
            "second over first eigenvalue; near 1 the first eigenvector is not settled",
            "lambda_2 / lambda_1", 0, NAN, NONE, FAR_VECTORS_TWO, false, far_measure_ratio, 0),
    MEASURE("eos", "RATE",
            "edge of stability: 1 where gradient descent with this rate is about to jump",
            "RATE lambda_1(K) / (2 N)", 0, NAN, FAR_ARGUMENT_SIZE, FAR_VECTORS_ONE, false,
            far_measure_stability, 0),
    MEASURE("trace", NULL, "trace of K / N: the mean squared length of a gradient", "tr K / N",
            MATRIX, NAN, NONE, FAR_VECTORS_NONE, false, far_measure_trace, 0),
    MEASURE("norm", NULL, "Frobenius norm of K / N", "|K|_F / N", MATRIX, NAN, NONE,
            FAR_VECTORS_NONE, false, far_measure_norm, 0),
    MEASURE("cond", "RIDGE", "condition number of K + RIDGE I",
            "(lambda_1 + RIDGE) / (lambda_n + RIDGE), of K", SPECTRUM, NAN, RIDGE, FAR_VECTORS_NONE,
            false, far_measure_of_condition, offsetof(far_condition, condition)),
    MEASURE("dim", "RIDGE", "effective dimension of K with that ridge",
            "sum lambda_i / (lambda_i + RIDGE), of K", SPECTRUM, NAN, RIDGE, FAR_VECTORS_NONE,
            false, far_measure_of_condition, offsetof(far_condition, dimension)),
    MEASURE("rank", NULL, "how many eigenvalues carry the trace",
            "(sum lambda_i)^2 / sum lambda_i^2", SPECTRUM, NAN, NONE, FAR_VECTORS_NONE, false,
            far_measure_of_condition, offsetof(far_condition, participation)),
    MEASURE("nu", "FROM:TO", "exponent of the spectrum over eigenvalues FROM to TO",
            "lambda_n ~ Lam n^-nu", SPECTRUM, NAN, FAR_ARGUMENT_WINDOW, FAR_VECTORS_NONE, false,
            far_measure_nu, 0),
    MEASURE("kta", NULL, "kernel-target alignment; dominated by a constant eigenvector: see ckta",
            "<K, YY'> / (|K|_F |YY'|_F); y'Ky / (|K|_F |y|^2) of one target", MATRIX | TARGETS, NAN,
            NONE, FAR_VECTORS_NONE, false, far_measure_of_alignment, offsetof(far_alignment, kta)),
    MEASURE("ckta", NULL, "centred kernel-target alignment: CKA of K and YY'",
            "<HKH, YY'> / (|HKH|_F |HYY'H|_F), H = I - 11'/n", MATRIX | TARGETS, NAN, NONE,
            FAR_VECTORS_NONE, false, far_measure_of_alignment,
            offsetof(far_alignment, centred_kta)),
    MEASURE("cka", "WIDTH", "CKA of K and a Gaussian kernel of the targets",
            "<HKH, HBH> / (|HKH|_F |HBH|_F), B_ij = exp(-|y_i - y_j|^2 / (2 WIDTH^2))",
            MATRIX | TARGETS, 0.1, FAR_ARGUMENT_SIZE, FAR_VECTORS_NONE, false, far_measure_cka, 0),
    MEASURE("alpha", NULL, "Rayleigh quotient of the targets; low: hard to learn",
            "tr Y'KY / |Y|_F^2; y'Ky / |y|^2 of one target", TARGETS, NAN, NONE, FAR_VECTORS_NONE,
            false, far_measure_of_alignment, offsetof(far_alignment, rayleigh)),
    MEASURE("align", "K", "part of the targets along each of the first K eigenvectors",
            "cos^2(u_i, y) = |Y'u_i|^2 / |Y|_F^2, i = 1..K", TARGETS, 20, COUNT,
            FAR_VECTORS_ARGUMENT, true, far_measure_align, 0),
    MEASURE("cum", "K", "part of the targets in the span of the first K eigenvectors",
            "sum_{i <= K} cos^2(u_i, y)", TARGETS, 20, COUNT, FAR_VECTORS_ARGUMENT, false,
            far_measure_cumulative, 0),
    MEASURE("kappa", "FROM:TO", "exponent of the tails of the targets over FROM to TO",
            "sum_{k >= n} <u_k, y>^2 / N ~ Kap n^-kappa", SPECTRUM | TARGETS, NAN,
            FAR_ARGUMENT_WINDOW, FAR_VECTORS_ALL, false, far_measure_kappa, 0),
    MEASURE("residual", "RIDGE",
            "what ridge regression leaves of the targets, less the values if given",
            "|RIDGE (K + RIDGE I)^-1 (y - f)| / |y - f|", SPECTRUM | TARGETS, NAN, RIDGE,
            FAR_VECTORS_ALL, false, far_measure_residual, 0),
    MEASURE("loss", NULL,
            "loss of the values: squared, or the cross-entropy the network was trained with",
            "|y - f|^2 / (2 N); of classes the mean of -log p", TARGETS | FAR_NEED_VALUES, NAN,
            NONE, FAR_VECTORS_NONE, false, far_measure_loss, 0),
    MEASURE("sigma", NULL, "variance of the loss gradient from point to point",
            "mean_i |r_i g_i|^2 - |mean_i r_i g_i|^2, r = y - f; of classes y - p",
            MATRIX | TARGETS | FAR_NEED_VALUES, NAN, NONE, FAR_VECTORS_NONE, false,
            far_measure_sigma, 0),
    MEASURE("cinf", NULL, "cosine kernel far away: mean of the last fifth of 50 bins of distance",
            "c(eps) = mean of K(x,x') / (|g| |g'|) at |x - x'| = eps", PLACES, NAN, NONE,
            FAR_VECTORS_NONE, false, far_measure_of_local, offsetof(far_local, c_inf)),
    MEASURE("xi", NULL, "correlation length of the cosine kernel",
            "first eps with (c - cinf) / (1 - cinf) = 1/2, over sqrt(2 ln 2)", PLACES, NAN, NONE,
            FAR_VECTORS_NONE, false, far_measure_of_local, offsetof(far_local, xi)),
    MEASURE("minC", NULL, "least value of the cosine kernel", "min K(x,x') / (|g| |g'|)", PLACES,
            NAN, NONE, FAR_VECTORS_NONE, false, far_measure_of_local, offsetof(far_local, min_c)),
    MEASURE("v0cos", NULL, "cosine of the first eigenvector and the row sums", "cos(u_1, K 1)", 0,
            NAN, NONE, FAR_VECTORS_ONE, false, far_measure_first, 0),
    MEASURE("auc", "PART",
            "how well |u_1| finds edges: points where |grad y| is among the PART largest",
            "ROC-AUC(|u_1|, edges)", GRID | TARGETS, 0.12, FAR_ARGUMENT_PART, FAR_VECTORS_ONE,
            false, far_measure_auc, 0),
    MEASURE("gradcorr", NULL, "correlation of log |g| and |grad y|",
            "Pearson(log K(x,x) / 2, |grad y|)", GRID | TARGETS, NAN, NONE, FAR_VECTORS_NONE, false,
            far_measure_edges, 0),
    MEASURE("magma", NULL, "MAG-Ma: length of the mean gradient of log |g|",
            "|mean_x grad log |g||", GRID, NAN, NONE, FAR_VECTORS_NONE, false, far_measure_magma,
            0),
};
const int64_t far_measures_count = (int64_t)(sizeof far_measures / sizeof far_measures[0]);
