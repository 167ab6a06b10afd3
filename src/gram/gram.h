/* Fills a Gram matrix tile by tile, whoever computes the tiles. */
#ifndef FAR_GRAM_H
#define FAR_GRAM_H

#include "../base/base_internal.h"

#include <farfield/kernel.h>
#include <farfield/ntk.h>

/* Computes rows [i0, i1) x columns [j0, j1) of the outputs. scratch belongs to the thread. */
typedef void (*far_gram_tile_fn)(void *source, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                                 void *scratch);

typedef struct far_gram_job {
    far_gram_tile_fn tile;
    void *source;
    int64_t rows, cols, side; /* side of a tile */
    int64_t scratch;          /* bytes per thread */
    bool symmetric;           /* only tiles that reach j <= i are computed */
    far_mat *mirror[2]; /* symmetric: outputs whose upper triangle is to be mirrored, or NULL */
} far_gram_job;

/* Every tile once, over the context's threads. The tiles do not depend on the number of threads,
 * so neither do the results. Reports progress and may be cancelled between tiles. */
far_status far_gram_fill(far_ctx *ctx, const far_gram_job *job);

/* The gradient of f_o(x) = sum_k weights[k][o] K(x, b_k), K the kernel of that kind, at the rows of
 * a: out[i][o d + j] = d f_o / d a_ij. a is m x d, b n x d, weights n x p, out m x (p d), all
 * float64; out overlaps none of them. In closed form, through every layer; O(n m (d p + layers))
 * operations, with the same bits for any number of threads.
 *
 * Where f has no gradient it is the mean over all ways to get there. Theta behind relu, and K and
 * Theta behind powers of relu below 1.5 and 1, have the tip of a cone at x = b_k (without a bias in
 * front: on the whole ray through b_k), so that at the rows of b themselves the point's own term
 * counts with its smooth part alone. A point at a distance of delta |x| from that tip has a
 * direction that rounding leaves 1e-16 / delta of, and so has its term. A row of zeros in front of
 * a norm, or of a dense without bias, gets zeros. FAR_ERR_RANGE: a gradient too large for a double,
 * or too far away to be told. */
FAR_NODISCARD far_status far_kernel_gradient(far_ctx *ctx, const far_kernel *k,
                                             far_kernel_kind kind, const far_mat *a,
                                             const far_mat *b, const far_mat *weights,
                                             far_mat *out);

/* ---- kernel_product.c ---- */

typedef struct far_product far_product; /* opaque: K(x, x), which is multiplied with, not held */

/* Keeps a view of x (n x d, float64), and tiles of K in so many bytes of memory as they come. */
far_status far_product_create(far_ctx *ctx, const far_kernel *kernel, bool nngp, const far_mat *x,
                              double memory, far_product **out);
void far_product_destroy(far_product *k); /* NULL is fine */
/* y = K[:, :cols] x, or if transposed (cols < n) K[:cols, :] x. x and y have p columns, row by row.
 * The same bits for any number of threads and any memory. */
far_status far_product_apply(far_ctx *ctx, far_product *k, int64_t cols, bool transposed, int64_t p,
                             const double *x, double *y);
double far_product_kept(const far_product *k);  /* bytes of tiles */
double far_product_bytes(int64_t n, int64_t p); /* without tiles that are kept, and without x */

/* out = K v without the matrix, v and out (n outputs) x p with FAR_NTK_FULL, n x p with
 * FAR_NTK_ONE (FAR_ERR_ARG for a trace of more than one output). O(n parameters) a column. */
FAR_NODISCARD far_status far_net_ntk_multiply(far_ctx *ctx, const far_net *net, const far_mat *x,
                                              const far_ntk_opts *opts, const far_mat *v,
                                              far_mat *out);
/* The count largest eigenvalues of K, ascending, by Lanczos on such products; values count x 1,
 * vectors (may be NULL) n x count. */
FAR_NODISCARD far_status far_net_ntk_eigen(far_ctx *ctx, const far_net *net, const far_mat *x,
                                           const far_ntk_opts *opts, int64_t count, far_mat *values,
                                           far_mat *vectors);

#endif
