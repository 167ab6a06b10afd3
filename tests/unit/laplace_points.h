/* Networks, points and small matrices for the tests of Laplace approximations. */
#ifndef TEST_LAPLACE_POINTS_H
#define TEST_LAPLACE_POINTS_H

#define TEST_THREADS 2
#include "harness.h"

#include <farfield/laplace.h>

/* For tests of very many small steps, where threads only wait for each other. */
static inline void use_one_thread(void)
{
    far_ctx_destroy(ctx);
    ctx = context_with(1);
}

static far_net *network(const char *arch, int64_t inputs, uint64_t seed)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.seed = seed;
    must(far_net_create(ctx, arch, &o, &net));
    return net;
}

static far_mat matrix(int64_t rows, int64_t cols)
{
    far_mat m = far_mat_view(NULL, rows, cols, FAR_F64);
    m.data = calloc((size_t)(rows * cols) + 1, sizeof(double));
    assert_non_null(m.data);
    return m;
}

static inline double *at(const far_mat *m, int64_t i, int64_t j)
{
    return (double *)m->data + i * m->ld + j;
}

static far_mat points(int64_t rows, int64_t cols, double phase)
{
    far_mat m = matrix(rows, cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        ((double *)m.data)[i] = 1.5 * sin(12.9898 * (double)i + phase);
    }
    return m;
}

/* Relative to the largest number of b. */
static inline double distance(const far_mat *a, const far_mat *b)
{
    double gap = 0, most = 0;
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < a->cols; j++) {
            assert_true(isfinite(*at(a, i, j)));
            gap = fmax(gap, fabs(*at(a, i, j) - *at(b, i, j)));
            most = fmax(most, fabs(*at(b, i, j)));
        }
    }
    return gap / most;
}

static inline void release(far_mat *const *owned, int count)
{
    for (int i = 0; i < count; i++) {
        free(owned[i]->data);
    }
}

static inline far_laplace *fitted(const far_net *net, const far_mat *x,
                                  const far_laplace_opts *opts)
{
    far_laplace *la;
    must(far_laplace_fit(ctx, net, x, opts, &la));
    return la;
}

/* kappa(x_i, x_i), m C x C */
static inline far_mat covariance(const far_laplace *la, const far_mat *x)
{
    int64_t outputs = far_laplace_describe(la).outputs;
    far_mat c = matrix(x->rows * outputs, outputs);
    must(far_laplace_predict(ctx, la, x, NULL, &c));
    return c;
}

#endif
