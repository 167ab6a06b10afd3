/*
 * Inside the room: a posterior in several coordinates.
 *
 * A system of side n stands for the data: n is P (parameters), NC (rows), K (features), or weights
 * layer by layer (blocks). A point x has a projection z(x), n x C: J(x)', R' k(X, x), phi(x)', or
 * J(x)' turned block by block. With A = matrix + I / s0^2 = L L' and
 * w = L^-1 z, the covariance is
 *
 *     parameters   w' w                              (and blocks)
 *     rows         s0^2 (k(x, x) - w' w)
 *     features     w' w + s0^2 (k(x, x) - z' z)      (the second term with residual_prior)
 *
 * so that all share everything but matrix and projection. The diagonal and KFAC have a matrix that
 * is diagonal in their coordinates: values in its place.
 */
#ifndef FAR_LAPLACE_INTERNAL_H
#define FAR_LAPLACE_INTERNAL_H

#include "../gram/net_factors.h"
#include "../score/score_internal.h"
#include "../solve/solve_internal.h"

#include <farfield/laplace.h>

/* ---- laplace_root.c: R with R R' = Lam ---- */

/* softmax: R' = (I - q q') diag(q), q = sqrt(p); bernoulli: q = sqrt(p (1 - p)); gaussian:
 * I / sqrt(noise). */
typedef struct far_root {
    int64_t outputs;
    double scale;
    double *q;    /* points x outputs; NULL: gaussian */
    bool coupled; /* softmax */
} far_root;

/* At points whose outputs (m x C, packed) the network gives. */
far_status far_root_create(far_ctx *ctx, const far_laplace_info *info, const double *outputs,
                           int64_t points, far_root *root);
void far_root_clear(far_ctx *ctx, far_root *root);
/* Entry (a, b) of Lam_i; of a softmax p_a (1 - p_a) without a difference that rounds to 0. */
double far_root_curvature(const far_root *root, int64_t i, int64_t a, int64_t b);
/* v := R' v for point i; v has C numbers, stride apart. */
void far_root_apply(const far_root *root, int64_t i, double *v, int64_t stride);
/* The same for C consecutive rows of every point of a matrix with cols columns. */
void far_root_apply_rows(far_ctx *ctx, const far_root *root, int64_t points, double *rows,
                         int64_t cols);
/* That labels speak of: one output stands for two. */
int64_t far_laplace_classes(int32_t likelihood, int64_t outputs);

/* ---- laplace_matrix.c ---- */

/* out (cols x rows, packed) = a' */
void far_transpose(far_ctx *ctx, const far_mat *a, double *out);
/* The lower triangle of m (n x n) += z z', z n x k, zt its transpose. */
far_status far_add_outer(far_ctx *ctx, const far_mat *z, const far_mat *zt, far_mat *m);
/* Its largest eigenvalue, 0 if that is negative; the lower triangle is read. */
far_status far_largest_eigenvalue(far_ctx *ctx, const far_mat *m, double memory, double *out);
/* Rows [first, first + rows) of m. */
far_mat far_mat_part(const far_mat *m, int64_t first, int64_t rows);

/* ---- the fitted approximation ---- */

/* L of the leading side x side part of the matrix, and a prior. */
typedef struct far_posterior {
    far_mat matrix;
    far_system *system; /* NULL: the matrix is diagonal, and so is L^-1 */
    double *roots;      /* that: 1 / sqrt(g + 1 / s0^2) */
    double prior;
} far_posterior;

/* W + s B A of KFAC is two layers: A of the layer's inputs, B of what A gives. */
typedef enum far_lora_part { FAR_LORA_NONE, FAR_LORA_A, FAR_LORA_B } far_lora_part;

/* A layer's coordinates (p, q), p of its inputs and q of its gradients: first + p gradients + q. */
typedef struct far_block {
    int64_t inputs, gradients, first;
    int64_t item;      /* which of the layers that have blocks */
    int64_t positions; /* of KFAC */
    bool whole;        /* at several positions: points have a whole matrix inputs x gradients */
    far_lora_part part;
    double *other;        /* that of A: s B, outputs x rank; of B: s A', inputs x rank; else NULL */
    double *left, *right; /* what turns them, by columns; NULL: nothing */
} far_block;

struct far_laplace {
    far_ctx *ctx;
    far_net *net;
    far_laplace_info info;
    double memory;
    far_root root;  /* rows: at the training points */
    double *x;      /* rows: the training points, n x inputs */
    double *basis;  /* features: V', rank_most x P, each row packed as far_net_pack does */
    far_mat matrix; /* no data: it is diagonal */
    double *values; /* then that diagonal */
    far_block *blocks;
    int64_t block_count;
    unsigned char *layers; /* which have blocks; NULL: there are none */
    far_posterior *posterior;
};

far_status far_posterior_create(const far_laplace *la, int64_t side, double prior,
                                far_posterior **out);
void far_posterior_destroy(far_ctx *ctx, far_posterior *p);
/* sum g / (g + 1 / s0^2) */
far_status far_posterior_effective(const far_laplace *la, const far_posterior *p, double *out);
/* w := L^-1 w, side x any number of columns. */
far_status far_posterior_whiten(far_ctx *ctx, const far_posterior *p, far_mat *w);

/* ---- laplace_exact.c, laplace_ella.c: matrix, and what projections need ---- */

far_status far_laplace_fit_parameters(far_laplace *la, const far_mat *x);
far_status far_laplace_fit_rows(far_laplace *la, const far_mat *x);
far_status far_laplace_fit_features(far_laplace *la, const far_mat *x,
                                    const far_laplace_opts *opts);
/* ---- laplace_blocks.c: layer by layer ---- */

far_status far_laplace_fit_blocks(far_laplace *la, const far_mat *x);
void far_blocks_clear(far_laplace *la);
/* z (side x m C, packed) */
far_status far_blocks_project(const far_laplace *la, const far_mat *x, double *z);
/* covariance (m C x C, packed, stride apart) of a few points for each of some posteriors, all of
 * which are diagonal. */
far_status far_blocks_covariance(const far_laplace *la, const far_posterior *const *posteriors,
                                 int64_t count, const far_mat *x, double *covariance,
                                 int64_t stride);
/* 0: the network has no such layer. numbers: what the turning takes. */
int64_t far_blocks_side(const far_net *net, far_laplace_method method, double *numbers);

/* ---- laplace_last.c: the last layer where it ends the network ---- */

bool far_last_ends(const far_net *net);
/* matrix, of the one block. Progress "posterior". */
far_status far_last_fit(far_laplace *la, const far_mat *x);
/* Whether that is the method, and points are enough for L^-1 to be worth its while. */
bool far_last_spreads(const far_laplace *la, int64_t points);
/* covariance (m C x C) and mean (m x C, packed; NULL: not wanted) of such points. Progress
 * "laplace". */
far_status far_last_covariance(const far_laplace *la, const far_posterior *posterior,
                               const far_mat *x, double *mean, far_mat *covariance);

/* outputs (m x C, packed) = net(x); FAR_ERR_VALUE where one is not finite. */
far_status far_laplace_outputs(const far_laplace *la, const far_mat *x, double *outputs);

/* ---- laplace_landmarks.c ---- */

/* Training points with one output each, in the order of the outputs. */
typedef struct far_landmarks {
    int64_t count;
    int64_t *points, *outputs;
} far_landmarks;

far_status far_landmarks_choose(far_ctx *ctx, const far_laplace_info *info,
                                const far_laplace_opts *opts, far_landmarks *out);
void far_landmarks_clear(far_ctx *ctx, far_landmarks *l);
/* The lower triangle of k (M x M) = J_M J_M'; x: the landmarks' points, M x inputs. */
far_status far_landmarks_gram(far_ctx *ctx, const far_net *net, const far_landmarks *l,
                              const far_mat *x, far_mat *k);

/* ---- laplace_tangent.c: layer factors ---- */

/* Numbers that the layer factors of a row have. */
int64_t far_net_factor_numbers(const far_net *net);

/* A network's engine and weights, and how outputs become rows. */
typedef struct far_tangent {
    far_ctx *ctx;
    far_engine *engine;
    far_weights *weights;
    far_ntk_opts opts;
    far_factor_plan plan;
} far_tangent;

far_status far_tangent_open(far_ctx *ctx, const far_net *net, far_ntk_outputs outputs,
                            far_tangent *t);
void far_tangent_close(far_tangent *t);
/* out (m C x C, packed): k(x_i, x_i), of points whose factors are full. */
void far_factors_blocks(const far_factors *f, int64_t outputs, double *out);
/* The same, of points. */
far_status far_tangent_blocks(const far_tangent *t, const far_mat *x, double *out);

/* ---- laplace_features.c ---- */

/* z (side x m C, packed) = phi(x)', and k(x_i, x_i) (m C x C, packed; NULL: not wanted). */
far_status far_features_project(const far_laplace *la, const far_mat *x, int64_t side, double *z,
                                double *kernel);

/* ---- laplace_project.c ---- */

/* Numbers that a projection has at a time: a few million, or what suits a budget (0: none). */
double far_laplace_chunk_numbers(double memory);
/* Points at a time that have so many numbers for each output. */
int64_t far_laplace_points(const far_laplace *la, int64_t side, int64_t most);
/* Points at a time that are projected on so many coordinates, and whose layer factors are held. */
int64_t far_laplace_factor_chunk(const far_laplace *la, int64_t side, int64_t points);
/* The same; of features, which take the factors of a few points at a time themselves, more. */
int64_t far_laplace_chunk(const far_laplace *la, int64_t side, int64_t points);
/* A few points of x at a time: run has rows [first, ..) of it. Progress so named between, none
 * within. */
typedef far_status (*far_points_fn)(void *user, const far_mat *x, int64_t first);
far_status far_laplace_walk(const far_laplace *la, const char *progress, const far_mat *x,
                            int64_t chunk, far_points_fn run, void *user);
/* z (side x m C, packed); side: of the features, else the system's. */
far_status far_laplace_project(const far_laplace *la, const far_mat *x, int64_t side, double *z);
bool far_laplace_needs_kernel(const far_laplace *la);

/* How the parts of a covariance add up. */
typedef struct far_blend {
    double whitened, kernel, projected;
} far_blend;
far_blend far_laplace_blend(const far_laplace *la, double prior);

/* Points on their way to a covariance. */
typedef struct far_projection {
    far_ctx *ctx;
    int64_t points, side;
    double *z, *w;  /* side x m C; w is for far_projection_spread */
    double *kernel; /* m C x C; NULL: not needed */
} far_projection;

far_status far_projection_create(const far_laplace *la, const far_mat *x, int64_t side,
                                 far_projection *p);
void far_projection_clear(far_projection *p);
/* covariance (m C x C, packed) from w as it is, whose row k counts weights_k times (NULL: once). */
void far_projection_blend(const far_laplace *la, const far_projection *p, int64_t side,
                          const double *weights, double prior, double *covariance);
/* The same from w = L^-1 z; the posterior's side is at most the projection's. */
far_status far_projection_spread(const far_laplace *la, const far_posterior *posterior,
                                 far_projection *p, double *covariance);

/* ---- checks ---- */

far_status far_laplace_check(far_ctx *ctx, const far_laplace *la, const far_mat *x);
far_status far_check_probability_opts(far_ctx *ctx, const far_probability_opts *opts);

/* out (m C x m C) = kappa of all pairs; entry (i C + a, j C + b). */
FAR_NODISCARD far_status far_laplace_joint(far_ctx *ctx, const far_laplace *la, const far_mat *x,
                                           far_mat *out);

#endif
