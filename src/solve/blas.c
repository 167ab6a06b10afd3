#include "blas.h"

#include "lapack.h"
#include "solve_internal.h"

#include <limits.h>
#include <string.h>

#include <omp.h>

static const double one = 1;
static const int unit = 1;

/* An OpenBLAS built for OpenMP asks OpenMP, whose setting belongs to the calling thread. Its own
 * setter is left alone: it is of the process, and frees buffers that another thread may be using.
 */
static bool blas_asks_openmp(void)
{
    return openblas_get_parallel() == OPENBLAS_OPENMP;
}

/* How many threads share the tiles of a product, for the calling thread. */
static _Thread_local int team = 1;

/* BLAS itself runs on one thread from here on: how it cuts a sum depends on how many it has. */
far_blas_scope far_blas_enter(int threads)
{
    far_blas_scope scope = {openblas_get_num_threads(), omp_get_max_threads(), team};
    team = threads;
    omp_set_num_threads(1);
    if (!blas_asks_openmp()) {
        openblas_set_num_threads(1);
    }
    return scope;
}

void far_blas_leave(far_blas_scope scope)
{
    team = scope.team;
    omp_set_num_threads(scope.openmp);
    if (!blas_asks_openmp()) {
        openblas_set_num_threads(scope.blas);
    }
}

/* Leading dimensions are padded by a few elements, hence the margin. */
far_status far_blas_fits(far_ctx *ctx, int64_t n)
{
    if (n > INT_MAX - 64) {
        return far_fail(ctx, FAR_ERR_SHAPE, "a dimension of %lld is more than BLAS can count (%d)",
                        (long long)n, INT_MAX - 64);
    }
    return FAR_OK;
}

/* ---- products, tile by tile ---- */

/* A tile is one call on one thread, and its borders depend on the shape alone: so does every bit
 * of the result. Large enough that what BLAS packs for a tile is little beside its products. */
#define TILE 384
#define CHUNK 256 /* rows or columns of a matrix that is read once */
/* Rows up to which a symmetric matrix times a vector is one call, and entries up to which a matrix
 * is: a millisecond. Threads meet at every call, and where other work has the cores one of them is
 * always late. */
#define ALONE_UP_TO 2048
/* dtrsm (OpenBLAS 0.3.21, AVX-512) runs at a quarter of the speed of dgemm: triangles are halved
 * until little is left for it, where there are columns enough for a product. */
#define SMALL_TRIANGLE 32
#define COLUMNS_TO_HALVE 16
#define ENTRIES_ALONE ((int64_t)ALONE_UP_TO * ALONE_UP_TO / 2)

static int64_t tiles(int64_t n, int64_t side)
{
    return (n + side - 1) / side;
}

static int helpers(int64_t jobs)
{
    return jobs < 1 ? 1 : (int)far_least(jobs, team);
}

void far_gemm_alone(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, double *c,
                    int64_t ldc)
{
    int im = (int)m, in = (int)n, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
    dgemm_(&transa, &transb, &im, &in, &ik, &alpha, a, &ia, b, &ib, &one, c, &ic, 1, 1);
}

void far_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double *c, int64_t ldc)
{
    int64_t down = tiles(m, TILE), all = k > 0 ? down * tiles(n, TILE) : 0;
    int64_t a_step = transa == 'N' ? 1 : lda, b_step = transb == 'N' ? ldb : 1;
#pragma omp parallel for num_threads(helpers(all)) schedule(dynamic)
    for (int64_t t = 0; t < all; t++) {
        int64_t i = t % down * TILE, j = t / down * TILE;
        far_gemm_alone(transa, transb, far_least(TILE, m - i), far_least(TILE, n - j), k, alpha,
                       a + i * a_step, lda, b + j * b_step, ldb, c + j * ldc + i, ldc);
    }
}

static void gemv_part(char trans, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
                      const double *x, double *y)
{
    int im = (int)m, in = (int)n, ia = (int)lda;
    dgemv_(&trans, &im, &in, &alpha, a, &ia, x, &unit, &one, y, &unit, 1);
}

void far_gemv(char trans, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
              const double *x, double *y)
{
    bool by_rows = trans == 'N';
    int64_t outs = by_rows ? m : n, parts = m > 0 && n > 0 ? tiles(outs, CHUNK) : 0;
#pragma omp parallel for num_threads(m *n > ENTRIES_ALONE ? helpers(parts) : 1) schedule(static)
    for (int64_t t = 0; t < parts; t++) {
        int64_t i = t * CHUNK, count = far_least(CHUNK, outs - i);
        gemv_part(trans, by_rows ? count : m, by_rows ? n : count, alpha,
                  a + i * (by_rows ? 1 : lda), lda, x, y + i);
    }
}

static void symv_square(int64_t n, const double *a, int64_t lda, const double *x, double *y)
{
    int in = (int)n, ia = (int)lda;
    dsymv_("U", &in, &one, a, &ia, x, &unit, &one, y, &unit, 1);
}

/* What the columns [j, j + count) of the upper triangle add: each number is read once for both of
 * its places while it is in cache. */
static void symv_columns(int64_t j, int64_t count, const double *a, int64_t lda, const double *x,
                         double *y)
{
    for (int64_t i = 0; i < j; i += CHUNK) {
        const double *tile = a + j * lda + i;
        gemv_part('N', CHUNK, count, 1, tile, lda, x + j, y + i);
        gemv_part('T', CHUNK, count, 1, tile, lda, x + i, y + j);
    }
    symv_square(count, a + j * lda + j, lda, x + j, y + j);
}

/* Every lane takes its share of the columns, a long one with a short one, and sums for itself;
 * lanes are added in their order. */
static void symv_lane(int64_t lane, int64_t n, const double *a, int64_t lda, const double *x,
                      double *y)
{
    int64_t parts = tiles(n, CHUNK);
    memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t t = 0; t < parts; t++) {
        int64_t turn = t % (2 * FAR_SYMV_LANES);
        int64_t owner = turn < FAR_SYMV_LANES ? turn : 2 * FAR_SYMV_LANES - 1 - turn;
        if (owner == lane) {
            symv_columns(t * CHUNK, far_least(CHUNK, n - t * CHUNK), a, lda, x, y);
        }
    }
}

void far_symv(int64_t n, const double *a, int64_t lda, const double *x, double *y, double *work)
{
    if (n <= ALONE_UP_TO) {
        memset(y, 0, (size_t)n * sizeof *y);
        symv_square(n, a, lda, x, y);
        return;
    }
#pragma omp parallel for num_threads(helpers(FAR_SYMV_LANES)) schedule(dynamic)
    for (int64_t lane = 0; lane < FAR_SYMV_LANES; lane++) {
        symv_lane(lane, n, a, lda, x, work + lane * n);
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = work[i];
        for (int64_t lane = 1; lane < FAR_SYMV_LANES; lane++) {
            sum += work[lane * n + i];
        }
        y[i] = sum;
    }
}

static void syrk_tile(int64_t n, int64_t k, const double *a, int64_t lda, double *c, int64_t ldc)
{
    const double minus = -1;
    int in = (int)n, ik = (int)k, ia = (int)lda, ic = (int)ldc;
    dsyrk_("U", "T", &in, &ik, &minus, a, &ia, &one, c, &ic, 1, 1);
}

void far_syrk(int64_t n, int64_t k, const double *a, int64_t lda, double *c, int64_t ldc)
{
    int64_t side = tiles(n, TILE);
#pragma omp parallel for num_threads(helpers(side *side)) schedule(dynamic)
    for (int64_t t = 0; t < side * side; t++) {
        int64_t i = t % side * TILE, j = t / side * TILE;
        if (i < j) {
            far_gemm_alone('T', 'N', far_least(TILE, n - i), far_least(TILE, n - j), k, -1,
                           a + i * lda, lda, a + j * lda, lda, c + j * ldc + i, ldc);
        } else if (i == j) {
            syrk_tile(far_least(TILE, n - j), k, a + j * lda, lda, c + j * ldc + j, ldc);
        }
    }
}

static void trsm_part(char trans, int64_t n, int64_t p, const double *u, int64_t ldu, double *b,
                      int64_t ldb)
{
    int in = (int)n, ip = (int)p, iu = (int)ldu, ib = (int)ldb;
    dtrsm_("L", "U", &trans, "N", &in, &ip, &one, u, &iu, b, &ib, 1, 1, 1, 1);
}

void far_trsm(char trans, int64_t n, int64_t p, const double *u, int64_t ldu, double *b,
              int64_t ldb)
{
    int64_t parts = tiles(p, CHUNK), half = n / 2, rest = n - half;
    bool first = trans == 'T'; /* the first half does not depend on the second */
    const double *corner = u + half * ldu;
    if (p == 1) {
        int in = (int)n, iu = (int)ldu;
        dtrsv_("U", &trans, "N", &in, u, &iu, b, &unit, 1, 1, 1);
        return;
    }
    if (n > SMALL_TRIANGLE && p >= COLUMNS_TO_HALVE) {
        far_trsm(trans, first ? half : rest, p, first ? u : corner + half, ldu,
                 first ? b : b + half, ldb);
        far_gemm(trans, 'N', first ? rest : half, p, first ? half : rest, -1, corner, ldu,
                 first ? b : b + half, ldb, first ? b + half : b, ldb);
        far_trsm(trans, first ? rest : half, p, first ? corner + half : u, ldu,
                 first ? b + half : b, ldb);
        return;
    }
#pragma omp parallel for num_threads(helpers(parts)) schedule(dynamic)
    for (int64_t t = 0; t < parts; t++) {
        int64_t j = t * CHUNK;
        trsm_part(trans, n, far_least(CHUNK, p - j), u, ldu, b + j * ldb, ldb);
    }
}

void far_trmv(char trans, int64_t n, const double *u, int64_t ldu, double *x)
{
    int in = (int)n, iu = (int)ldu;
    dtrmv_("U", &trans, "N", &in, u, &iu, x, &unit, 1, 1, 1);
}

int far_potrf(int64_t n, double *a, int64_t lda)
{
    int in = (int)n, ia = (int)lda, info = 0;
    dpotrf_("U", &in, a, &ia, &info, 1);
    return info;
}
