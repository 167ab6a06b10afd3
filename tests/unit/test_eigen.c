/*
 * A few eigenvalues: the same with room for the matrix and without, in ascending order, and what is
 * said when they crowd or when LAPACK or ARPACK fails.
 */
#include "../../src/solve/lapack.h"

#include <farfield/solve.h>

#include "harness.h"

enum { N = 307, K = 3 };

/* ---- routines that fail when told: the linker puts these in front (tests/CMakeLists.txt) ---- */

static struct {
    const char *routine;
    int calls_before, info;
} broken;

static bool breaks(const char *routine)
{
    return broken.routine && strcmp(broken.routine, routine) == 0 && broken.calls_before-- == 0;
}

__typeof__(dsyevr_) __real_dsyevr_, __wrap_dsyevr_;
__typeof__(dsaupd_) __real_dsaupd_, __wrap_dsaupd_;
__typeof__(dseupd_) __real_dseupd_, __wrap_dseupd_;

void __wrap_dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *a,
                    const int *lda, const double *vl, const double *vu, const int *il,
                    const int *iu, const double *abstol, int *m, double *w, double *z,
                    const int *ldz, int *isuppz, double *work, const int *lwork, int *iwork,
                    const int *liwork, int *info, size_t l1, size_t l2, size_t l3)
{
    __real_dsyevr_(jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz, isuppz, work,
                   lwork, iwork, liwork, info, l1, l2, l3);
    if (breaks("dsyevr")) {
        *info = broken.info;
    }
}

void __wrap_dsaupd_(int *ido, const char *bmat, const int *n, const char *which, const int *nev,
                    const double *tol, double *resid, const int *ncv, double *v, const int *ldv,
                    int *iparam, int *ipntr, double *workd, double *workl, const int *lworkl,
                    int *info, size_t l1, size_t l2)
{
    __real_dsaupd_(ido, bmat, n, which, nev, tol, resid, ncv, v, ldv, iparam, ipntr, workd, workl,
                   lworkl, info, l1, l2);
    if (*ido == 99 && breaks("dsaupd")) {
        *info = broken.info;
    }
}

void __wrap_dseupd_(const int *rvec, const char *howmny, int *select, double *d, double *z,
                    const int *ldz, const double *sigma, const char *bmat, const int *n,
                    const char *which, const int *nev, const double *tol, double *resid,
                    const int *ncv, double *v, const int *ldv, int *iparam, int *ipntr,
                    double *workd, double *workl, const int *lworkl, int *info, size_t l1,
                    size_t l2, size_t l3)
{
    __real_dseupd_(rvec, howmny, select, d, z, ldz, sigma, bmat, n, which, nev, tol, resid, ncv, v,
                   ldv, iparam, ipntr, workd, workl, lworkl, info, l1, l2, l3);
    if (breaks("dseupd")) {
        *info = broken.info;
    }
}

/* ---- matrices with known eigenvalues: Q diag(values) Q', Q a reflection ---- */

/* Three at either end that stand apart, and a crowd between. */
static double value_of(int i)
{
    static const double ends[] = {-9, -7, -4, 11, 14, 19};
    return i < 3 ? ends[i] : i < N - 3 ? 1 + i * 1e-3 : ends[i - N + 6];
}

/* From 1 down to 1e-12: the smallest are as good as equal. */
static double crowded_value(int i)
{
    return pow(1e12, -(double)i / (N - 1));
}

static void fill(double *a, double (*value)(int))
{
    double v[N], square = 0;
    for (int i = 0; i < N; i++) {
        v[i] = 0.5 + fmod(0.6180339887498949 * (i + 1), 1);
        square += v[i] * v[i];
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double sum = i == j ? value(i) : 0; /* (I - 2 v v' / v'v) D (I - 2 v v' / v'v) */
            sum -= 2 * v[i] * v[j] * (value(i) + value(j)) / square;
            a[i * N + j] = sum;
        }
    }
    double inner = 0;
    for (int i = 0; i < N; i++) {
        inner += v[i] * v[i] * value(i);
    }
    for (int at = 0; at < N * N; at++) {
        a[at] += 4 * v[at / N] * v[at % N] * inner / (square * square);
    }
}

static double matrix[N * N], found[K], columns[N * K];

static far_status ask(double (*value)(int), far_eigen_part which, double memory, bool vectors)
{
    fill(matrix, value);
    far_mat m = far_mat_view(matrix, N, N, FAR_F64), w = far_mat_view(found, K, 1, FAR_F64);
    far_mat v = far_mat_view(columns, N, K, FAR_F64);
    far_symmetric a = far_symmetric_of(&m);
    return far_eigen(ctx, &a, which, K, memory, &w, vectors ? &v : NULL);
}

static void assert_pairs(bool vectors)
{
    for (int k = 0; vectors && k < K; k++) {
        for (int i = 0; i < N; i++) {
            double sum = -found[k] * columns[i * K + k];
            for (int j = 0; j < N; j++) {
                sum += matrix[i * N + j] * columns[j * K + k];
            }
            assert_true(fabs(sum) <= 1e-9);
        }
    }
}

/* ---- tests ---- */

#define NO_ROOM 2e5 /* bytes: the matrix would take four times as many */

static void few_values_ascend_with_room_and_without(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool largest = i & 1, vectors = i & 2;
        must(ask(value_of, largest ? FAR_EIGEN_LARGEST : FAR_EIGEN_SMALLEST, i & 4 ? NO_ROOM : 0,
                 vectors));
        for (int k = 0; k < K; k++) {
            assert_true(fabs(found[k] - value_of(largest ? N - K + k : k)) <= 1e-10);
        }
        assert_pairs(vectors);
    }
}

static void values_that_crowd_need_the_room(void **state)
{
    (void)state;
    must(ask(crowded_value, FAR_EIGEN_SMALLEST, 0, true));
    assert_true(fabs(found[0] - 1e-12) <= 1e-14);
    assert_int_equal(ask(crowded_value, FAR_EIGEN_SMALLEST, NO_ROOM, true), FAR_ERR_BUDGET);
    assert_non_null(
        strstr(far_ctx_message(ctx), "there is no memory to hold the 307 x 307 matrix"));
}

static void allocations_without_room_may_fail(void **state)
{
    (void)state;
    far_status st = FAR_ERR_MEMORY;
    for (int k = 0; st != FAR_OK; k++) {
        test_heap.fail_at = test_heap.calls + k;
        st = ask(value_of, FAR_EIGEN_LARGEST, NO_ROOM, true);
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
    }
    test_heap.fail_at = -1;
}

static void a_library_that_fails_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *routine;
        int calls_before, info;
        bool crowded;
        const char *says;
    } cases[] = {
        {"dsaupd", 0, -9, false, "dsaupd of ARPACK returned -9"},
        {"dseupd", 0, -14, false, "dseupd of ARPACK returned -14"},
        {"dsyevr", 0, -4, true, "and returned -4 for n = 307"},
        {"dsyevr", 1, 2, true, "dsyevr returned 2 with 3 of 3 eigenvalues"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        broken.routine = cases[i].routine;
        broken.calls_before = cases[i].calls_before;
        broken.info = cases[i].info;
        far_status st =
            ask(cases[i].crowded ? crowded_value : value_of, FAR_EIGEN_SMALLEST, 0, true);
        broken.routine = NULL;
        assert_int_equal(st, FAR_ERR_BACKEND);
        if (!strstr(far_ctx_message(ctx), cases[i].says)) {
            fail_msg("'%s' is not in '%s'", cases[i].says, far_ctx_message(ctx));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(few_values_ascend_with_room_and_without),
        TEST(values_that_crowd_need_the_room),
        TEST(allocations_without_room_may_fail),
        TEST(a_library_that_fails_is_named),
    };
    return cmocka_run_group_tests_name("eigen", tests, NULL, NULL);
}
