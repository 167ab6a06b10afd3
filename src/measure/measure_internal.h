/* Inside the room: the view and what the measures share. */
#ifndef FAR_MEASURE_INTERNAL_H
#define FAR_MEASURE_INTERNAL_H

#include "../solve/solve_internal.h"
#include "rank.h"

#include <farfield/measure.h>
#include <math.h>

/* Eigenpairs, the largest first; vector j begins at vectors + j rows. */
typedef struct far_pairs {
    int64_t count;
    double *values, *vectors;
} far_pairs;

struct far_view {
    far_ctx *ctx;
    far_mat kernel; /* rows x rows; no data: a network, without the matrix */
    const far_net *net;
    const far_mat *x;
    const far_ntk_opts *opts;
    far_view_info info;
    double *row_means, mean; /* of the matrix */
    double *all;             /* eigenvalues of all rows, or NULL */
    far_pairs top;           /* what was asked for with vectors */
};

static inline const double *far_view_row(const far_view *v, int64_t i)
{
    return (const double *)v->kernel.data + i * v->kernel.ld;
}

/* ---- view.c ---- */

/* far_view_create of a float64 kernel whose upper half is a copy of the lower: nobody compares. */
far_status far_view_of_mirrored(far_ctx *ctx, const far_mat *kernel, int64_t points,
                                far_view **out);
/* FAR_ERR_ARG for a view without a matrix; what: the thing that needs one. */
far_status far_view_needs_matrix(far_ctx *ctx, const far_view *v, const char *what);
/* FAR_ERR_ARG for a kernel with several outputs a point. */
far_status far_view_needs_one_output(far_ctx *ctx, const far_view *v, const char *what);
/* out = K b, both of rows numbers. */
far_status far_view_multiply(far_ctx *ctx, const far_view *v, const double *b, double *out);
/* Scales finite numbers by a power of 2, so that the largest is 1 to 2 and squares can be summed.
 */
void far_scale_to_one(double *values, int64_t n);
/* targets (finite, rows x q, q >= 1) less start (the same shape, or NULL) as q packed columns, one
 * behind the other: column c begins at out + c rows. */
far_status far_view_take(far_ctx *ctx, const far_view *v, const far_mat *targets,
                         const far_mat *start, const char *name, double **out);
/* m (view rows x q) packed, row by row: a point's outputs one behind the other. */
far_status far_view_pack(far_ctx *ctx, const far_view *v, const far_mat *m, const char *name,
                         double **out);

/* Of float64 matrices; inlined, unlike far_mat_row. */
static inline double far_at(const far_mat *m, int64_t i, int64_t j)
{
    return ((const double *)m->data)[i * m->ld + j];
}

/* Between two rows. */
static inline double far_distance(const far_mat *x, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < x->cols; k++) {
        double gap = far_at(x, i, k) - far_at(x, j, k);
        sum += gap * gap;
    }
    return sqrt(sum);
}

static inline void far_put(far_mat *m, int64_t i, int64_t j, double value)
{
    ((double *)m->data)[i * m->ld + j] = value;
}

/* ---- view.c ---- */

/* A network, rows for it and options that were set. */
far_status far_check_net_rows(far_ctx *ctx, const far_net *net, const far_mat *x,
                              const far_ntk_opts *opts);

/* ---- power_fit.c ---- */

/* FAR_ERR_VALUE where eigenvalue `to`, counted from 1, is no more than rounding. */
far_status far_power_check(far_ctx *ctx, const far_spectrum *s, int64_t to);

/* ---- jets.c ---- */

/* out = K(x1, x2), x1 n x d, x2 m x d. */
typedef far_status (*far_pair_fn)(far_ctx *ctx, void *user, const far_mat *x1, const far_mat *x2,
                                  far_mat *out);
/* One of a far_any_kernel. */
far_status far_pair_of(far_ctx *ctx, void *user, const far_mat *x1, const far_mat *x2,
                       far_mat *out);
/* FAR_ERR_ARG: it is none. */
far_status far_check_any(far_ctx *ctx, const far_any_kernel *k);
/* far_local_jets and far_odd_part_linear of any function. */
far_status far_jets_of(far_ctx *ctx, far_pair_fn pair, void *user, const far_mat *x, double step,
                       far_mat *a2, far_mat *d, far_mat *h);
far_status far_odd_part_of(far_ctx *ctx, far_pair_fn pair, void *user, int64_t dimension,
                           int *linear);

/* ---- local.c ---- */

far_status far_check_coordinates(far_ctx *ctx, const far_mat *coordinates, int64_t points);
/* Between any two rows. */
double far_largest_distance(const far_mat *x);
/* All of it is positive. */
far_status far_check_diagonal(far_ctx *ctx, const far_view *v);

/* ---- rank.c ---- */

far_status far_check_numbers(far_ctx *ctx, const double *values, int64_t n, const char *name);

/* The same bins for a field (one number a point): mean of (p_i - mean) (p_j - mean) / variance over
 * pairs at that distance. */
FAR_NODISCARD far_status far_field_correlation(far_ctx *ctx, const double *field,
                                               const far_mat *coordinates, int64_t bins,
                                               double *distance, double *mean, int64_t *counts);
/* Exactly, from features: g is P numbers, jacobian P x d their derivatives by x. d numbers in
 * gradient, d^2 in h. */
FAR_NODISCARD far_status far_local_jet_exact(far_ctx *ctx, const double *g, const far_mat *jacobian,
                                             double *a2, double *gradient, double *h);
/* tails[i] = sum of squares[i], squares[i + 1], ...; may be the same array. */
void far_tail_sums(const double *squares, int64_t n, double *tails);
/* squares[i] = |(Y - F0)'u_i|^2 / N, for all rows eigenvectors: L(0) = 1/2 their sum. */
FAR_NODISCARD far_status far_view_coefficients(far_ctx *ctx, far_view *view, const far_mat *targets,
                                               const far_mat *start, double *squares);
/* out_ij = K_ij / sqrt(K_ii K_jj). FAR_ERR_VALUE: a diagonal entry is not positive. */
FAR_NODISCARD far_status far_view_cosine(far_ctx *ctx, const far_view *view, far_mat *out);
/* The tangent kernel of a network by products with its Jacobian: spectrum (fewer than all),
 * align, cosines and tasks need no matrix; what needs one (norms, all eigenvalues, local
 * structure) is FAR_ERR_ARG, or left NAN where that is said. opts as far_net_ntk_multiply takes
 * them; they, the network and x are borrowed. For points by the thousand whose matrix fits into
 * memory, far_net_ntk and far_view_create are faster: 20 eigenpairs take some hundred products. */
FAR_NODISCARD far_status far_view_of_net(far_ctx *ctx, const far_net *net, const far_mat *x,
                                         const far_ntk_opts *opts, far_view **out);
int64_t far_measure_count(void);

#endif
