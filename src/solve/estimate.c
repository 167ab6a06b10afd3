/* What a system will take: bytes by counting, seconds by the measured speed of a product. */
#define _GNU_SOURCE
#include "blas.h"
#include "solve_internal.h"

#include <math.h>
#include <stdatomic.h>

#define PROBE 1024            /* the product that is timed */
#define FACTOR_SPEED 0.85     /* of a product's */
#define BYTES_PER_SECOND 1e10 /* at which a factor is read */
#define SOLVE_SWEEPS 8        /* over the triangle, for a solution with refinement */
#define EXTREMES_SWEEPS 120   /* two an application */

void far_solve_opts_init(far_solve_opts *opts)
{
    *opts = (far_solve_opts){.size = sizeof *opts,
                             .ridge_kind = FAR_RIDGE_RELATIVE,
                             .storage = FAR_STORAGE_AUTO,
                             .extremes = 1};
}

far_status far_check_opts(far_ctx *ctx, const far_solve_opts *o)
{
    if (o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the options have size %zu, not %zu; set them up with far_solve_opts_init",
                        o->size, sizeof *o);
    }
    if (!(o->ridge >= 0) || isinf(o->ridge)) {
        return far_fail(ctx, FAR_ERR_ARG, "ridge is %g but must be finite and not negative",
                        o->ridge);
    }
    if (!(o->memory >= 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "memory is %g but must not be negative", o->memory);
    }
    if (o->ridge_kind != FAR_RIDGE_RELATIVE && o->ridge_kind != FAR_RIDGE_ABSOLUTE) {
        return far_fail(ctx, FAR_ERR_ARG, "unknown ridge_kind %d", o->ridge_kind);
    }
    if (o->storage < FAR_STORAGE_AUTO || o->storage > FAR_STORAGE_PACKED) {
        return far_fail(ctx, FAR_ERR_ARG, "unknown storage %d", o->storage);
    }
    if (o->extremes != 0 && o->extremes != 1) {
        return far_fail(ctx, FAR_ERR_ARG, "extremes is %d but must be 0 or 1", o->extremes);
    }
    return FAR_OK;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The matrix, its diagonal, and the greediest of: factoring, extremes, solving for one column. */
static double bytes_of(int64_t n, bool packed, bool extremes)
{
    far_lower l = far_lower_layout(n, packed);
    int64_t most = largest(far_cholesky_workspace(n) + n, far_residual_workspace(&l) + 6 * n + 1);
    most = extremes ? largest(most, far_extremes_workspace(n)) : most;
    return (double)sizeof(far_system) +
           (double)sizeof(double) * ((double)far_lower_count(&l) + (double)(n + most));
}

far_estimate far_estimate_memory(int64_t n, const far_solve_opts *opts)
{
    far_estimate e = {.bytes = bytes_of(n, false, opts->extremes), .storage = FAR_STORAGE_FULL};
    double budget = far_budget(opts->memory);
    bool packed = opts->storage == FAR_STORAGE_PACKED ||
                  (opts->storage == FAR_STORAGE_AUTO && e.bytes > budget);
    if (packed) {
        e.bytes = bytes_of(n, true, opts->extremes);
        e.storage = FAR_STORAGE_PACKED;
    }
    e.fits = e.bytes <= budget;
    return e;
}

/* ---- speed ---- */

/* The better of two: the first also wakes the threads. */
static double time_product(const double *a, double *c)
{
    double best = INFINITY;
    for (int run = 0; run < 2; run++) {
        double start = far_seconds();
        far_gemm('T', 'N', PROBE, PROBE, PROBE, 1, a, PROBE, a, PROBE, c, PROBE);
        best = fmin(best, far_seconds() - start);
    }
    return best;
}

static far_status measure_speed(far_ctx *ctx, double *flops)
{
    const int64_t count = (int64_t)PROBE * PROBE;
    double *a = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, 2 * count, &a));
    for (int64_t i = 0; i < 2 * count; i++) {
        a[i] = 1.0 / (double)(i % 61 + 1);
    }
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    *flops = 2.0 * PROBE * PROBE * PROBE / time_product(a, a + count);
    far_blas_leave(scope);
done:
    far_free(ctx, a);
    return st;
}

/* Measured once for a number of threads; the last one is remembered. */
static far_status product_speed(far_ctx *ctx, double *flops)
{
    typedef struct memo {
        float speed;
        int threads;
    } memo;
    static _Atomic memo last;
    memo known = atomic_load(&last);
    if (known.threads == far_ctx_threads(ctx)) {
        *flops = known.speed;
        return FAR_OK;
    }
    far_status st = measure_speed(ctx, flops);
    if (st == FAR_OK) {
        atomic_store(&last, ((memo){(float)*flops, far_ctx_threads(ctx)}));
    }
    return st;
}

far_status far_solve_estimate(far_ctx *ctx, int64_t n, const far_solve_opts *opts,
                              far_estimate *out)
{
    far_solve_opts chosen;
    far_status st;
    double flops;
    far_solve_opts_init(&chosen);
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    if (opts) {
        FAR_TRY(far_check_opts(ctx, opts));
        chosen = *opts;
    }
    if (n < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "n is %lld but must be at least 1", (long long)n);
    }
    FAR_TRY(far_blas_fits(ctx, n));
    FAR_TRY(product_speed(ctx, &flops));
    *out = far_estimate_memory(n, &chosen);
    double triangle = 4 * (double)n * (double)n;
    double sweeps = SOLVE_SWEEPS + (chosen.extremes ? EXTREMES_SWEEPS : 0);
    out->seconds = (double)n * (double)n * (double)n / (3 * FACTOR_SPEED * flops) +
                   sweeps * triangle / BYTES_PER_SECOND;
done:
    return st;
}
