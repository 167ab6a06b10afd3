/*
 * Systems and spectra: against matrices whose answers are known, in both storages, at sizes around
 * the blocks; what is singular and how that is said; memory, progress, threads.
 */
#include "../../src/solve/blas.h"
#include "../../src/solve/doubled.h"
#include "../../src/solve/solve_internal.h"

#include <farfield/solve.h>
#include <float.h>
#include <pthread.h>

#define TEST_THREADS 2
#include "harness.h"

#define PI 3.14159265358979323846
#define SENTINEL (-123.25)

static void assert_close(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want))) {
        fail_msg("%.17g is not %.17g to %g but to %.1e", got, want, relative, got / want - 1);
    }
}

/* ---- matrices ---- */

static far_mat make_mat(int64_t rows, int64_t cols)
{
    double *data = malloc((size_t)(rows * cols + 1) * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < rows * cols; i++) {
        data[i] = SENTINEL;
    }
    return far_mat_view(data, rows, cols, FAR_F64);
}

static double *at(const far_mat *m, int64_t i, int64_t j)
{
    return (double *)m->data + i * m->ld + j;
}

static double random_at(uint64_t i)
{
    return (double)(mix(i) >> 11) * 0x1p-52 - 1;
}

static far_mat random_mat(int64_t rows, int64_t cols, uint64_t seed)
{
    far_mat m = make_mat(rows, cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        ((double *)m.data)[i] = random_at(mix(seed) + (uint64_t)i);
    }
    return m;
}

/* 2 on the diagonal, -1 beside it: eigenvalues 2 - 2 cos(k pi / (n + 1)), determinant n + 1. The
 * upper triangle is nan: only the lower one may be read. */
static far_mat laplacian(int64_t n)
{
    far_mat m = make_mat(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            *at(&m, i, j) = j > i ? NAN : i == j ? 2 : i - j == 1 ? -1 : 0;
        }
    }
    return m;
}

static double laplacian_value(int64_t n, int64_t k) /* k = 1 ... n */
{
    double half = sin(0.5 * PI * (double)k / (double)(n + 1));
    return 4 * half * half;
}

/* lcm(1 ... 2 n - 1) times the Hilbert matrix: integers, so exact in doubles. */
static far_mat hilbert(int64_t n)
{
    int64_t multiple = 1;
    for (int64_t k = 2; k < 2 * n; k++) {
        int64_t a = multiple, b = k;
        while (b) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        multiple = multiple / a * k;
    }
    far_mat m = make_mat(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            *at(&m, i, j) = (double)(multiple / (i + j + 1));
        }
    }
    return m;
}

/* m := H m H with the reflection H = I - 2 v v^T / v^T v. */
static void reflect(far_mat *m, uint64_t seed)
{
    int64_t n = m->rows;
    far_mat v = random_mat(n, 1, seed), w = make_mat(n, 1);
    long double vv = 0, vw = 0;
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += (long double)*at(m, i, j) * *at(&v, j, 0);
        }
        *at(&w, i, 0) = (double)sum;
        vv += (long double)*at(&v, i, 0) * *at(&v, i, 0);
        vw += sum * *at(&v, i, 0);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            long double vi = *at(&v, i, 0), vj = *at(&v, j, 0);
            long double change = vi * *at(&w, j, 0) + *at(&w, i, 0) * vj - 2 * vw / vv * vi * vj;
            *at(m, i, j) = (double)(*at(m, i, j) - 2 / vv * change);
        }
    }
    free(v.data);
    free(w.data);
}

/* Dense, with eigenvalues spaced evenly in their logarithm from 1 / condition to 1. */
static far_mat with_condition(int64_t n, double condition)
{
    far_mat m = make_mat(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            *at(&m, i, j) = i == j ? pow(condition, -(double)i / (double)(n - 1)) : 0;
        }
    }
    reflect(&m, 7);
    reflect(&m, 8);
    return m;
}

/* ---- systems ---- */

static far_solve_opts plain_opts(far_storage storage)
{
    far_solve_opts opts;
    far_solve_opts_init(&opts);
    opts.storage = (int32_t)storage;
    opts.extremes = 0;
    return opts;
}

static const far_storage storages[] = {FAR_STORAGE_FULL, FAR_STORAGE_PACKED};

static far_status try_system(const far_mat *m, const far_solve_opts *opts, far_system **out)
{
    far_symmetric a = far_symmetric_of(m);
    return far_system_create(ctx, &a, opts, out);
}

static far_system *system_of(const far_mat *m, const far_solve_opts *opts)
{
    far_system *s;
    must(try_system(m, opts, &s));
    return s;
}

static double lower(const far_mat *m, int64_t i, int64_t j)
{
    return i > j ? *at(m, i, j) : *at(m, j, i);
}

/* |b - (m + ridge I) (x + x_low)| / |b| of a column, in 113 bits. */
static double true_residual(const far_mat *m, double ridge, const far_mat *b, const far_mat *x,
                            const far_mat *x_low, int64_t column)
{
    __float128 rest = 0, size = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        __float128 r = *at(b, i, column);
        size += r * r;
        for (int64_t j = 0; j < m->rows; j++) {
            __float128 a = lower(m, i, j);
            a += i == j ? ridge : 0;
            r -= a * ((__float128)*at(x, j, column) + *at(x_low, j, column));
        }
        rest += r * r;
    }
    return (double)sqrtl((long double)(rest / size));
}

static void assert_solves(const far_mat *m, const far_system *s, int64_t p, uint64_t seed)
{
    int64_t n = m->rows;
    double ridge = far_system_diagnostics(s).ridge, residuals[16];
    far_mat b = random_mat(n, p, seed), x = make_mat(n, p), x_low = make_mat(n, p);
    must(far_system_solve(ctx, s, &b, &x, &x_low, residuals));
    for (int64_t c = 0; c<p; c += n> 300 ? 3 : 1) {
        double truth = true_residual(m, ridge, &b, &x, &x_low, c);
        assert_true(truth <= 1e-14);
        assert_true(residuals[c] <= 1e-14);
        assert_true(fabs(residuals[c] - truth) <= 0.01 * truth + 1e-16);
    }
    free(b.data);
    free(x.data);
    free(x_low.data);
}

static void every_size_solves_in_both_storages(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 7, 8, 9, 31, 64, 255, 257, 511, 512, 513, 769, 1031};
    static const int columns[] = {1, 3, 4, 7};
    for (int i = 0; i < COUNT(sizes); i++) {
        far_mat m = laplacian(sizes[i]);
        for (int k = 0; k < 2; k++) {
            far_solve_opts opts = plain_opts(storages[k]);
            far_system *s = system_of(&m, &opts);
            far_system_info info = far_system_diagnostics(s);
            assert_int_equal(info.n, sizes[i]);
            assert_int_equal(info.storage, storages[k]);
            assert_close(info.log_det, log(sizes[i] + 1.0), 1e-11);
            assert_solves(&m, s, columns[(i + k) % 4], (uint64_t)i);
            far_system_destroy(s);
        }
        free(m.data);
    }
}

static void a_dense_matrix_solves_across_blocks(void **state)
{
    (void)state;
    far_mat m = with_condition(601, 100);
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        opts.ridge = 0.01;
        far_system *s = system_of(&m, &opts);
        assert_solves(&m, s, 5, 3);
        far_system_destroy(s);
    }
    free(m.data);
}

static void large_conditions_are_refined(void **state)
{
    (void)state;
    static const double conditions[] = {1e6, 1e10, 1e13, 2e14};
    for (int i = 0; i < COUNT(conditions); i++) {
        far_mat m = with_condition(157, conditions[i]);
        for (int k = 0; k < 2; k++) {
            far_solve_opts opts = plain_opts(storages[k]);
            far_system *s = system_of(&m, &opts);
            assert_solves(&m, s, 2, 11);
            far_system_destroy(s);
        }
        free(m.data);
    }
}

/* The inverse of the Hilbert matrix has integer entries. Its first column, for n = 10. */
static void hilbert_gives_its_integers(void **state)
{
    (void)state;
    static const double integers[] = {100,      -4950,   79200,    -600600, 2522520,
                                      -6306300, 9609600, -8751600, 4375800, -923780};
    far_mat m = hilbert(10), b = make_mat(10, 1), x = make_mat(10, 1), x_low = make_mat(10, 1);
    for (int64_t i = 0; i < 10; i++) {
        *at(&b, i, 0) = i == 0 ? *at(&m, 0, 0) : 0;
    }
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        far_system *s = system_of(&m, &opts);
        must(far_system_solve(ctx, s, &b, &x, &x_low, NULL));
        for (int64_t i = 0; i < 10; i++) {
            assert_true(fabs(*at(&x, i, 0) - integers[i] + *at(&x_low, i, 0)) <= 1e-6);
            assert_close(*at(&x, i, 0), integers[i], 1e-12);
        }
        far_system_destroy(s);
    }
    free(m.data);
    free(b.data);
    free(x.data);
    free(x_low.data);
}

static void x_is_the_rounded_pair(void **state)
{
    (void)state;
    far_mat m = with_condition(97, 1e9), b = random_mat(97, 2, 5);
    far_mat x = make_mat(97, 2), alone = make_mat(97, 2), low = make_mat(97, 2);
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    far_system *s = system_of(&m, &opts);
    must(far_system_solve(ctx, s, &b, &x, &low, NULL));
    must(far_system_solve(ctx, s, &b, &alone, NULL, NULL));
    bool any = false;
    for (int64_t i = 0; i < 2 * 97; i++) {
        double high = ((double *)x.data)[i], rest = ((double *)low.data)[i];
        assert_true(high + rest == high);
        assert_true(((double *)alone.data)[i] == high);
        any = any || rest != 0;
    }
    assert_true(any);
    far_system_destroy(s);
    free(m.data);
    free(b.data);
    free(x.data);
    free(alone.data);
    free(low.data);
}

static void many_columns_and_strides_change_nothing(void **state)
{
    (void)state;
    enum { N = 59, P = 131, WIDE = 137 };
    far_mat m = laplacian(N), b = random_mat(N, WIDE, 6), x = make_mat(N, WIDE),
            one = make_mat(N, 1), b_one = make_mat(N, 1);
    double residuals[P];
    b.cols = x.cols = P;
    far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
    far_system *s = system_of(&m, &opts);
    must(far_system_solve(ctx, s, &b, &x, NULL, residuals));
    for (int64_t c = 0; c < P; c += 13) {
        for (int64_t i = 0; i < N; i++) {
            *at(&b_one, i, 0) = *at(&b, i, c);
        }
        must(far_system_solve(ctx, s, &b_one, &one, NULL, NULL));
        for (int64_t i = 0; i < N; i++) {
            assert_close(*at(&x, i, c), *at(&one, i, 0), 1e-13);
        }
        assert_true(residuals[c] <= 1e-15);
    }
    assert_true(*at(&x, 3, P) == SENTINEL);
    far_system_destroy(s);
    free(m.data);
    free(b.data);
    free(x.data);
    free(one.data);
    free(b_one.data);
}

static void right_sides_of_any_size_solve(void **state)
{
    (void)state;
    static const double scales[] = {1e-300, 0, 1e300, 1};
    far_mat m = laplacian(41), b = make_mat(41, 4), x = make_mat(41, 4);
    double residuals[4];
    for (int64_t i = 0; i < 41; i++) {
        for (int c = 0; c < 4; c++) {
            *at(&b, i, c) = scales[c] * random_at((uint64_t)i);
        }
    }
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    far_system *s = system_of(&m, &opts);
    must(far_system_solve(ctx, s, &b, &x, NULL, residuals));
    for (int c = 0; c < 4; c++) {
        assert_true(residuals[c] <= 1e-15);
        for (int64_t i = 0; i < 41; i++) {
            assert_close(*at(&x, i, c), scales[c] * *at(&x, i, 3), 1e-14);
        }
    }
    assert_true(residuals[1] == 0 && *at(&x, 5, 1) == 0);
    far_system_destroy(s);
    free(m.data);
    free(b.data);
    free(x.data);
}

static void a_solution_beyond_doubles_is_refused(void **state)
{
    (void)state;
    double tiny = 1e-200, large = 1e200, result = SENTINEL;
    far_mat m = far_mat_view(&tiny, 1, 1, FAR_F64), b = far_mat_view(&large, 1, 1, FAR_F64),
            x = far_mat_view(&result, 1, 1, FAR_F64);
    far_system *s = system_of(&m, NULL);
    refused(far_system_solve(ctx, s, &b, &x, NULL, NULL), FAR_ERR_VALUE, "column 1");
    assert_true(result == SENTINEL);
    far_system_destroy(s);
}

/* ---- what is known about a system ---- */

static void ridges_are_relative_or_absolute(void **state)
{
    (void)state;
    far_mat m = laplacian(17);
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    opts.ridge = 0.25;
    far_system *relative = system_of(&m, &opts);
    opts.ridge_kind = FAR_RIDGE_ABSOLUTE;
    far_system *absolute = system_of(&m, &opts);
    far_system_info r = far_system_diagnostics(relative), a = far_system_diagnostics(absolute);
    assert_true(r.mean_diagonal == 2 && a.mean_diagonal == 2);
    assert_true(r.ridge == 0.5 && r.ridge_relative == 0.25);
    assert_true(a.ridge == 0.25 && a.ridge_relative == 0.125);
    assert_true(isnan(r.lambda_min) && isnan(r.lambda_max) && isnan(r.condition));
    double log_det = 0;
    for (int64_t k = 1; k <= 17; k++) {
        log_det += log(laplacian_value(17, k) + 0.5);
    }
    assert_close(r.log_det, log_det, 1e-13);
    assert_solves(&m, relative, 1, 1);
    assert_solves(&m, absolute, 1, 1);
    far_system_destroy(relative);
    far_system_destroy(absolute);
    free(m.data);
}

static void extremes_of_the_laplacian_are_known(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 4, 31, 32, 33, 34, 101, 521};
    for (int i = 0; i < COUNT(sizes); i++) {
        int64_t n = sizes[i];
        far_mat m = laplacian(n);
        for (int k = 0; k < 2; k++) {
            far_solve_opts opts = plain_opts(storages[k]);
            opts.extremes = 1;
            opts.ridge = n > 100 ? 0.001 : 0;
            far_system *s = system_of(&m, &opts);
            far_system_info info = far_system_diagnostics(s);
            double least = laplacian_value(n, 1) + info.ridge;
            double most = laplacian_value(n, n) + info.ridge;
            assert_close(info.lambda_min, least, 1e-8);
            assert_close(info.lambda_max, most, 1e-8);
            assert_close(info.condition, most / least, 2e-8);
            far_system_destroy(s);
        }
        free(m.data);
    }
}

static void extremes_are_right_at_large_conditions(void **state)
{
    (void)state;
    for (int power = 2; power <= 8; power += 3) {
        far_mat m = with_condition(203, pow(10, power));
        far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
        opts.extremes = 1;
        far_system *s = system_of(&m, &opts);
        far_system_info info = far_system_diagnostics(s);
        assert_close(info.lambda_max, 1, 1e-8);
        assert_close(info.condition, pow(10, power), 1e-7);
        far_system_destroy(s);
        free(m.data);
    }
}

static void a_multiple_of_the_identity_has_condition_one(void **state)
{
    (void)state;
    far_mat m = make_mat(67, 67);
    for (int64_t i = 0; i < 67 * 67; i++) {
        ((double *)m.data)[i] = i % 68 == 0 ? 3 : 0;
    }
    far_system *s = system_of(&m, NULL);
    far_system_info info = far_system_diagnostics(s);
    assert_close(info.lambda_min, 3, 1e-12);
    assert_close(info.condition, 1, 1e-12);
    far_system_destroy(s);
    free(m.data);
}

/* Equal to rounding: LAPACK's bisection gives up on some such matrices. */
static void extremes_of_what_the_ridge_drowns(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int64_t n = 2; n <= 32; n++) {
        far_mat m = make_mat(n, n);
        double *data = m.data;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                data[i * n + j] = data[j * n + i] = (i == j ? 2 : 0) + roll_bell(&seed) / 100;
            }
        }
        for (int power = 14; power <= 17; power++) {
            far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
            opts.extremes = 1;
            opts.ridge = pow(10, power);
            far_system *s = system_of(&m, &opts);
            far_system_info info = far_system_diagnostics(s);
            assert_close(info.lambda_min, info.ridge, 1e-12);
            assert_close(info.lambda_max, info.ridge, 1e-12);
            far_system_destroy(s);
        }
        free(data);
    }
}

static void whitening_gives_the_quadratic_form(void **state)
{
    (void)state;
    enum { N = 523, P = 263 };
    far_mat m = laplacian(N), b = random_mat(N, P + 2, 9), x = make_mat(N, P + 2),
            w = make_mat(N, P + 2);
    b.cols = x.cols = w.cols = P;
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        far_system *s = system_of(&m, &opts);
        memcpy(w.data, b.data, N * (P + 2) * sizeof(double));
        must(far_system_solve(ctx, s, &b, &x, NULL, NULL));
        must(far_system_whiten(ctx, s, &w));
        for (int64_t c = 0; c < P; c += 29) {
            double form = 0, square = 0;
            for (int64_t i = 0; i < N; i++) {
                form += *at(&b, i, c) * *at(&x, i, c);
                square += *at(&w, i, c) * *at(&w, i, c);
            }
            assert_close(square, form, 1e-11);
        }
        assert_true(*at(&w, 7, P) == *at(&b, 7, P));
        far_system_destroy(s);
    }
    free(m.data);
    free(b.data);
    free(x.data);
    free(w.data);
}

/* ((laplacian)^-1)_ii = i (n + 1 - i) / (n + 1), counted from 1. */
static double laplacian_inverse(int64_t n, int64_t row)
{
    return (double)(row + 1) * (double)(n - row) / (double)(n + 1);
}

/* Every third row from begin on. */
static void check_some_rows(const far_system *s, int64_t n, int64_t begin)
{
    int64_t rows[1153] = {0}, count = 0;
    double out[1153];
    for (int64_t i = begin; i < n; i += 3) {
        rows[count++] = i;
    }
    must(far_system_inverse_some(ctx, s, rows, count, out));
    for (int64_t k = 0; k < count; k++) {
        assert_close(out[k], laplacian_inverse(n, rows[k]), 1e-9);
    }
}

static void the_inverse_diagonal_of_the_laplacian_is_known(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 61, 512, 1153};
    for (int i = 0; i < COUNT(sizes); i++) {
        int64_t n = sizes[i];
        far_mat m = laplacian(n), wide = make_mat(n, 3), diag = wide;
        diag.cols = 1;
        for (int k = 0; k < 2; k++) {
            far_solve_opts opts = plain_opts(storages[k]);
            far_system *s = system_of(&m, &opts);
            must(far_system_inverse_diagonal(ctx, s, &diag));
            for (int64_t j = 0; j < n; j++) {
                assert_close(*at(&diag, j, 0), laplacian_inverse(n, j), 1e-9);
            }
            check_some_rows(s, n, n / 7);
            assert_solves(&m, s, 1, 2); /* the factor is still whole */
            far_system_destroy(s);
        }
        assert_true(*at(&wide, n - 1, 1) == SENTINEL);
        free(m.data);
        free(wide.data);
    }
}

/* ---- singular ---- */

static void assert_singular(const far_mat *m, const char *piece)
{
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        far_system *s = (far_system *)&test_heap;
        refused(try_system(m, &opts, &s), FAR_ERR_SINGULAR, piece);
        assert_null(s);
    }
}

static void singular_matrices_name_the_row(void **state)
{
    (void)state;
    double zero[9] = {0}, ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    double indefinite[4] = {1, 2, 2, 1}, negative[4] = {-1, 0, 0, -1}, mixed[4] = {3, 0, 0, -1};
    far_mat m = far_mat_view(zero, 3, 3, FAR_F64);
    assert_singular(&m, "row 1 ");
    m = far_mat_view(ones, 3, 3, FAR_F64);
    assert_singular(&m, "row 2 of 3");
    m = far_mat_view(indefinite, 2, 2, FAR_F64);
    assert_singular(&m, "row 2 of 2");
    m = far_mat_view(negative, 2, 2, FAR_F64);
    assert_singular(&m, "mean of the diagonal is -1");
    m = far_mat_view(mixed, 2, 2, FAR_F64);
    assert_singular(&m, "row 2 has -1 on the diagonal");
    m = far_mat_view(zero, 1, 1, FAR_F64);
    assert_singular(&m, "row 1 ");
}

static double spread(double x, double y)
{
    return exp(-0.5 * (x - y) * (x - y));
}

/* Far points of a kernel, but for one that is there twice: the second time, in a later block. */
static void a_repeated_point_is_found(void **state)
{
    (void)state;
    enum { N = 701, FIRST = 77, SECOND = 650 };
    far_mat m = make_mat(N, N);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            int64_t a = i == SECOND ? FIRST : i, b = j == SECOND ? FIRST : j;
            *at(&m, i, j) = spread(1.7 * (double)a, 1.7 * (double)b);
        }
    }
    assert_singular(&m, "row 651 of 701");
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    opts.ridge = 1e-12;
    far_system *s = system_of(&m, &opts);
    assert_solves(&m, s, 1, 4);
    far_system_destroy(s);
    free(m.data);
}

/* Beyond the reach of doubles a system fails, at one place or the other; it never answers. */
static void hopeless_systems_fail_in_words(void **state)
{
    (void)state;
    for (int64_t n = 14; n <= 18; n++) {
        far_mat m = hilbert(n), b = random_mat(n, 1, 1), x = make_mat(n, 1);
        for (int k = 0; k < 4; k++) {
            far_solve_opts opts = plain_opts(storages[k % 2]);
            opts.extremes = k / 2;
            far_system *s = NULL;
            far_status st = try_system(&m, &opts, &s);
            if (st == FAR_OK) {
                st = far_system_solve(ctx, s, &b, &x, NULL, NULL);
                refused(st, FAR_ERR_SINGULAR, "condition number is about");
                assert_true(*at(&x, 0, 0) == SENTINEL);
            }
            refused(st, FAR_ERR_SINGULAR, "use a larger ridge");
            far_system_destroy(s);
        }
        free(m.data);
        free(b.data);
        free(x.data);
    }
}

/* A scale of its own for each row is no reason to fail. */
static void badly_scaled_matrices_solve(void **state)
{
    (void)state;
    far_mat m = laplacian(23);
    for (int64_t i = 0; i < 23; i++) {
        for (int64_t j = 0; j <= i; j++) {
            *at(&m, i, j) *= ldexp(1, (int)-(i + j));
        }
    }
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    far_system *s = system_of(&m, &opts);
    assert_solves(&m, s, 1, 1);
    far_system_destroy(s);
    free(m.data);
}

static void values_that_are_not_finite_have_a_place(void **state)
{
    (void)state;
    far_mat m = laplacian(613);
    far_system *s;
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        *at(&m, 4, 2) = NAN;
        refused(try_system(&m, &opts, &s), FAR_ERR_VALUE, "row 5, column 3 is nan");
        *at(&m, 4, 2) = 0;
        *at(&m, 600, 11) = -INFINITY;
        refused(try_system(&m, &opts, &s), FAR_ERR_VALUE, "row 601, column 12 is -inf");
        *at(&m, 600, 11) = 0;
        *at(&m, 612, 612) = INFINITY;
        refused(try_system(&m, &opts, &s), FAR_ERR_VALUE, "row 613, column 613 is inf");
        *at(&m, 612, 612) = 2;
    }
    assert_null(s);
    free(m.data);
}

/* ---- blocks ---- */

typedef struct teller {
    int64_t n, calls, fail_at;
    double shift; /* of the diagonal */
    bool odd;     /* asked for something outside, or too much */
} teller;

/* The Laplacian plus 1 + shift; of squares on the diagonal only the lower triangle. */
static far_status tell(far_ctx *with, void *user, int64_t row, int64_t col, far_mat *out)
{
    teller *t = user;
    t->odd = t->odd || with != ctx || row < 0 || col < 0 || out->rows < 1 || out->cols < 1 ||
             row + out->rows > t->n || col + out->cols > t->n || out->dtype != FAR_F64;
    if (t->calls++ == t->fail_at) {
        return far_fail(with, FAR_ERR_IO, "no more blocks");
    }
    bool half = row == col && out->rows == out->cols;
    for (int64_t i = 0; i < out->rows; i++) {
        for (int64_t j = 0; j < out->cols; j++) {
            int64_t apart = llabs(row + i - col - j);
            *at(out, i, j) = half && j > i ? NAN : apart == 0 ? 3 + t->shift : apart == 1 ? -1 : 0;
        }
    }
    return FAR_OK;
}

static void blocks_may_be_lower_on_the_diagonal(void **state)
{
    (void)state;
    enum { N = 1103 };
    far_mat b = random_mat(N, 2, 3), x[2] = {make_mat(N, 2), make_mat(N, 2)};
    for (int k = 0; k < 2; k++) {
        teller t = {.n = N, .fail_at = -1};
        far_symmetric a = {.n = N, .block = tell, .user = &t};
        far_solve_opts opts = plain_opts(storages[k]);
        far_system *s;
        must(far_system_create(ctx, &a, &opts, &s));
        int64_t made = t.calls;
        must(far_system_solve(ctx, s, &b, &x[k], NULL, NULL));
        assert_true(!t.odd);
        assert_true((t.calls > made) == (storages[k] == FAR_STORAGE_PACKED));
        far_system_destroy(s);
    }
    for (int64_t i = 0; i < N; i++) {
        assert_close(*at(&x[0], i, 1), *at(&x[1], i, 1), 1e-15);
    }
    free(b.data);
    free(x[0].data);
    free(x[1].data);
}

/* 2053 rows are too many to give to LAPACK, and the Laplacian's extreme eigenvalues too close for
 * Lanczos: fewer digits, but some, and from outside. With a ridge, that is the least there can be;
 * unless the matrix without it has negative eigenvalues. */
static void crowded_extremes_have_some_digits(void **state)
{
    (void)state;
    static const double shifts[] = {0, -0.5};
    for (int k = 0; k < COUNT(shifts); k++) {
        teller t = {.n = 2053, .fail_at = -1, .shift = shifts[k] - 1};
        far_symmetric a = {.n = t.n, .block = tell, .user = &t};
        far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
        far_system *s;
        opts.extremes = 1;
        opts.ridge = 1;
        opts.ridge_kind = FAR_RIDGE_ABSOLUTE;
        must(far_system_create(ctx, &a, &opts, &s));
        assert_true(orderly());
        far_system_info info = far_system_diagnostics(s);
        double most = 1 + shifts[k] + laplacian_value(t.n, t.n);
        double least = 1 + shifts[k] + laplacian_value(t.n, 1);
        assert_close(info.lambda_max, most, 1e-3);
        assert_close(info.lambda_min, least, 1e-3);
        assert_true(info.lambda_max > most && info.lambda_min < least);
        assert_true(info.condition == info.lambda_max / info.lambda_min);
        far_system_destroy(s);
    }
}

static void a_failing_block_is_passed_on(void **state)
{
    (void)state;
    teller t = {.n = 1103};
    far_symmetric a = {.n = t.n, .block = tell, .user = &t};
    far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
    far_system *s;
    far_mat b = random_mat(t.n, 1, 3), x = make_mat(t.n, 1);
    for (t.fail_at = 0; t.fail_at < 5; t.fail_at++, t.calls = 0) {
        refused(far_system_create(ctx, &a, &opts, &s), FAR_ERR_IO, "no more blocks");
        assert_null(s);
    }
    must(far_system_create(ctx, &a, &opts, &s));
    t.fail_at = t.calls + 3;
    refused(far_system_solve(ctx, s, &b, &x, NULL, NULL), FAR_ERR_IO, "no more blocks");
    assert_true(*at(&x, 0, 0) == SENTINEL);
    far_system_destroy(s);
    free(b.data);
    free(x.data);
}

static void matrices_in_memory_are_read_by_their_lower_triangle(void **state)
{
    (void)state;
    float values[9] = {1, NAN, NAN, 2, 3, NAN, 4, 5, 6};
    double out[4];
    far_mat m = far_mat_view(values, 3, 3, FAR_F32), block = far_mat_view(out, 2, 2, FAR_F64);
    far_symmetric a = far_symmetric_of(&m);
    assert_int_equal(a.n, 3);
    must(a.block(ctx, a.user, 0, 1, &block));
    assert_true(out[0] == 2 && out[1] == 4 && out[2] == 3 && out[3] == 5);
    m.cols = 2;
    refused(a.block(ctx, a.user, 0, 0, &block), FAR_ERR_SHAPE, "not square");
    assert_int_equal(far_symmetric_of(NULL).n, 0);
}

/* ---- arguments ---- */

static void create_checks_its_arguments(void **state)
{
    (void)state;
    far_mat m = laplacian(3);
    far_symmetric a = far_symmetric_of(&m), empty = {.n = 0, .block = a.block}, no_block = {.n = 3},
                  huge = {.n = (int64_t)1 << 31, .block = a.block};
    far_system *s;
    refused(far_system_create(ctx, NULL, NULL, &s), FAR_ERR_ARG, "NULL");
    refused(far_system_create(ctx, &no_block, NULL, &s), FAR_ERR_ARG, "no block function");
    refused(far_system_create(ctx, &empty, NULL, &s), FAR_ERR_SHAPE, "0 rows");
    refused(far_system_create(ctx, &huge, NULL, &s), FAR_ERR_SHAPE, "2147483648");
    refused(far_system_create(ctx, &a, NULL, NULL), FAR_ERR_ARG, "out");
    assert_int_equal(far_system_create(NULL, &a, NULL, &s), FAR_ERR_ARG);
    far_system_destroy(NULL);
    free(m.data);
}

static void options_are_checked(void **state)
{
    (void)state;
    far_solve_opts good, bad;
    far_estimate e;
    far_solve_opts_init(&good);
#define REFUSED(field, value, piece)                                                               \
    do {                                                                                           \
        bad = good;                                                                                \
        bad.field = value;                                                                         \
        refused(far_solve_estimate(ctx, 10, &bad, &e), FAR_ERR_ARG, piece);                        \
    } while (0)
    REFUSED(size, 8, "far_solve_opts_init");
    REFUSED(ridge, -1e-9, "ridge is -1e-09");
    REFUSED(ridge, NAN, "ridge is nan");
    REFUSED(ridge, INFINITY, "ridge is inf");
    REFUSED(memory, -1, "memory is -1");
    REFUSED(memory, NAN, "memory is nan");
    REFUSED(ridge_kind, 2, "ridge_kind 2");
    REFUSED(storage, 3, "storage 3");
    REFUSED(storage, -1, "storage -1");
    REFUSED(extremes, 2, "extremes is 2");
#undef REFUSED
    double one = 1;
    far_mat m = far_mat_view(&one, 1, 1, FAR_F64);
    far_system *s = (far_system *)&test_heap;
    bad = good;
    bad.ridge = -1;
    refused(try_system(&m, &bad, &s), FAR_ERR_ARG, "ridge is -1");
    assert_null(s);
}

static void estimate_checks_its_arguments(void **state)
{
    (void)state;
    far_estimate e;
    refused(far_solve_estimate(ctx, 0, NULL, &e), FAR_ERR_SHAPE, "n is 0");
    refused(far_solve_estimate(ctx, (int64_t)1 << 40, NULL, &e), FAR_ERR_SHAPE, "BLAS");
    refused(far_solve_estimate(ctx, 10, NULL, NULL), FAR_ERR_ARG, "out");
    assert_int_equal(far_solve_estimate(NULL, 10, NULL, &e), FAR_ERR_ARG);
}

static void users_of_a_system_check_shapes(void **state)
{
    (void)state;
    far_mat m = laplacian(5), b = random_mat(5, 3, 1), x = make_mat(5, 3), tall = make_mat(7, 3),
            narrow = make_mat(5, 2), column = make_mat(5, 1), floats = b, bad = b;
    far_system *s = system_of(&m, NULL);
    floats.dtype = FAR_F32;
    bad.data = NULL;
    refused(far_system_solve(ctx, s, &tall, &x, NULL, NULL), FAR_ERR_SHAPE,
            "b is 7 x 3 but must be 5 x 3");
    refused(far_system_solve(ctx, s, &b, &narrow, NULL, NULL), FAR_ERR_SHAPE, "x is 5 x 2");
    refused(far_system_solve(ctx, s, &b, &x, &narrow, NULL), FAR_ERR_SHAPE, "x_low is 5 x 2");
    refused(far_system_solve(ctx, s, &floats, &x, NULL, NULL), FAR_ERR_ARG, "b must be float");
    refused(far_system_solve(ctx, s, &bad, &x, NULL, NULL), FAR_ERR_ARG, "b has no data");
    refused(far_system_solve(ctx, s, &b, NULL, NULL, NULL), FAR_ERR_ARG, "x is NULL");
    refused(far_system_solve(ctx, NULL, &b, &x, NULL, NULL), FAR_ERR_ARG, "system");
    refused(far_system_whiten(ctx, s, &tall), FAR_ERR_SHAPE, "b is 7 x 3");
    refused(far_system_whiten(ctx, NULL, &b), FAR_ERR_ARG, "system");
    refused(far_system_inverse_diagonal(ctx, s, &narrow), FAR_ERR_SHAPE, "diag is 5 x 2");
    refused(far_system_inverse_diagonal(ctx, NULL, &column), FAR_ERR_ARG, "system");
    *at(&b, 2, 1) = NAN;
    refused(far_system_solve(ctx, s, &b, &x, NULL, NULL), FAR_ERR_VALUE,
            "b: row 3, column 2 is nan");
    refused(far_system_whiten(ctx, s, &b), FAR_ERR_VALUE, "b: row 3, column 2 is nan");
    assert_true(*at(&x, 0, 0) == SENTINEL && *at(&column, 0, 0) == SENTINEL);
    far_mat none = {.rows = 5, .dtype = FAR_F64};
    must(far_system_solve(ctx, s, &none, &none, NULL, NULL));
    must(far_system_whiten(ctx, s, &none));
    far_system_destroy(s);
    free(m.data);
    free(b.data);
    free(x.data);
    free(tall.data);
    free(narrow.data);
    free(column.data);
}

/* ---- memory ---- */

static void budgets_choose_the_storage(void **state)
{
    (void)state;
    far_solve_opts opts;
    far_estimate full, packed, chosen;
    far_solve_opts_init(&opts);
    opts.storage = FAR_STORAGE_FULL;
    must(far_solve_estimate(ctx, 40132, &opts, &full));
    opts.storage = FAR_STORAGE_PACKED;
    must(far_solve_estimate(ctx, 40132, &opts, &packed));
    assert_true(full.bytes < 15.0 * (1 << 30) && full.bytes > 8.0 * 40132 * 40132);
    assert_true(packed.bytes < 8.0 * (1 << 30) && packed.bytes > 4.0 * 40132 * 40132);
    assert_true(packed.seconds > 0 && isfinite(packed.seconds));
    opts.storage = FAR_STORAGE_AUTO;
    for (int k = 0; k < 3; k++) {
        opts.memory = k == 0 ? full.bytes : k == 1 ? full.bytes - 1 : packed.bytes - 1;
        must(far_solve_estimate(ctx, 40132, &opts, &chosen));
        assert_int_equal(chosen.storage, k == 0 ? FAR_STORAGE_FULL : FAR_STORAGE_PACKED);
        assert_int_equal(chosen.fits, k < 2);
    }
}

static void a_system_beyond_the_budget_is_refused(void **state)
{
    (void)state;
    far_mat m = laplacian(1201);
    far_solve_opts opts = plain_opts(FAR_STORAGE_AUTO);
    far_estimate e;
    far_system *s;
    opts.memory = 12e6; /* 11.5e6 bytes in full, but the workspace comes on top */
    must(far_solve_estimate(ctx, 1201, &opts, &e));
    assert_int_equal(e.storage, FAR_STORAGE_PACKED);
    assert_int_equal(e.fits, 0);
    int64_t calls = test_heap.calls;
    refused(try_system(&m, &opts, &s), FAR_ERR_BUDGET, "the system needs");
    assert_holds(far_ctx_message(ctx), "11.4 MiB are allowed");
    assert_null(s);
    assert_int_equal(test_heap.calls, calls); /* nothing was tried */
    free(m.data);
}

/* From making to solving. A small matrix whose extremes are hard needs more than most do. */
static void estimates_are_what_is_used(void **state)
{
    (void)state;
    far_mat m = laplacian(809), b = random_mat(809, 1, 1), x = make_mat(809, 1);
    for (int k = 0; k < 4; k++) {
        far_solve_opts opts = plain_opts(storages[k % 2]);
        far_estimate e;
        opts.extremes = k / 2;
        must(far_solve_estimate(ctx, 809, &opts, &e));
        int64_t before = test_heap.live_bytes;
        test_heap.peak_bytes = before;
        far_system *s = system_of(&m, &opts);
        double held = (double)(test_heap.live_bytes - before);
        assert_close(far_system_diagnostics(s).bytes, held, 0.001);
        must(far_system_solve(ctx, s, &b, &x, NULL, NULL));
        double peak = (double)(test_heap.peak_bytes - before);
        assert_true(peak <= 1.001 * e.bytes + 4096 && (opts.extremes || peak >= 0.99 * e.bytes));
        far_system_destroy(s);
    }
    free(m.data);
    free(b.data);
    free(x.data);
}

static void the_machine_has_memory(void **state)
{
    (void)state;
    double available = far_memory_available();
    assert_true(available > 1e7 && available < 1e15);
    assert_true(far_budget(0) > 0.5 * available && far_budget(5) == 5);
}

/* ---- progress, failing allocations, threads ---- */

typedef enum request { CREATE, SOLVE, WHITEN, INVERSE, SPECTRUM, FEW_VALUES, REQUESTS } request;

typedef struct workload {
    far_mat m, b, x, diag, values, vectors;
    far_solve_opts opts;
    far_system *s;
} workload;

enum { LOAD = 263, LOAD_FEW = 3 };

static workload make_workload(far_storage storage)
{
    workload w = {.m = with_condition(LOAD, 1e5),
                  .b = random_mat(LOAD, 2, 1),
                  .x = make_mat(LOAD, 2),
                  .diag = make_mat(LOAD, 1),
                  .values = make_mat(LOAD, 1),
                  .vectors = make_mat(LOAD, LOAD),
                  .opts = plain_opts(storage)};
    w.opts.extremes = 1;
    w.opts.ridge = 0.01;
    return w;
}

static void free_workload(workload *w)
{
    far_system_destroy(w->s);
    free(w->m.data);
    free(w->b.data);
    free(w->x.data);
    free(w->diag.data);
    free(w->values.data);
    free(w->vectors.data);
}

static far_status perform(workload *w, request what)
{
    far_symmetric a = far_symmetric_of(&w->m);
    far_mat values = w->values, vectors = w->vectors;
    switch (what) {
    case CREATE:
        far_system_destroy(w->s);
        return far_system_create(ctx, &a, &w->opts, &w->s);
    case SOLVE:
        return far_system_solve(ctx, w->s, &w->b, &w->x, NULL, NULL);
    case WHITEN:
        return far_system_whiten(ctx, w->s, &w->b);
    case INVERSE:
        return far_system_inverse_diagonal(ctx, w->s, &w->diag);
    case SPECTRUM:
        return far_eigen(ctx, &a, FAR_EIGEN_LARGEST, LOAD, 0, &values, &vectors);
    default:
        values.rows = vectors.cols = LOAD_FEW;
        return far_eigen(ctx, &a, FAR_EIGEN_LARGEST, LOAD_FEW, 0, &values, &vectors);
    }
}

static int fail_each_allocation(workload *w, request what)
{
    int64_t blocks = test_heap.live_blocks;
    for (int k = 0;; k++) {
        test_heap.fail_at = test_heap.calls + k;
        far_status st = perform(w, what);
        test_heap.fail_at = -1;
        if (st == FAR_OK) {
            return k;
        }
        refused(st, FAR_ERR_MEMORY, "out of memory");
        assert_int_equal(test_heap.live_blocks, blocks);
        assert_true(what != CREATE || !w->s);
    }
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    static const int least[REQUESTS] = {6, 3, 1, 2, 6, 4};
    for (int k = 0; k < 2; k++) {
        workload w = make_workload(storages[k]);
        for (int what = CREATE; what < REQUESTS; what++) {
            assert_true(fail_each_allocation(&w, (request)what) >= least[what]);
        }
        free_workload(&w);
    }
}

static void an_estimate_survives_a_failed_allocation(void **state)
{
    (void)state;
    far_ctx *odd = context_with(5); /* a number of threads whose speed nobody measured yet */
    far_estimate e = {.bytes = SENTINEL};
    test_heap.fail_at = test_heap.calls;
    assert_int_equal(far_solve_estimate(odd, 10, NULL, &e), FAR_ERR_MEMORY);
    assert_true(e.bytes == SENTINEL);
    test_heap.fail_at = -1;
    assert_int_equal(far_solve_estimate(odd, 10, NULL, &e), FAR_OK);
    int64_t calls = test_heap.calls;
    assert_int_equal(far_solve_estimate(odd, 10, NULL, &e), FAR_OK);
    assert_int_equal(test_heap.calls, calls); /* measured once */
    far_ctx_destroy(odd);
}

static int cancel_each_report(workload *w, request what)
{
    for (int k = 1;; k += 1 + k / 8) {
        ear = (listener){.stop_at = k};
        far_status st = perform(w, what);
        if (st == FAR_OK) {
            assert_true(orderly() && (ear.calls == 0 || ear.last <= ear.total));
            return k - 1;
        }
        refused(st, FAR_ERR_CANCELLED, "cancelled");
        assert_int_equal(ear.calls, k);
    }
}

static void every_report_may_cancel(void **state)
{
    (void)state;
    static const struct {
        request what;
        int least;
        const char *seen;
    } cases[] = {{CREATE, 8, "fill factor lambda_max lambda_min "},
                 {SOLVE, 0, ""},
                 {INVERSE, 2, "inverse "},
                 {SPECTRUM, 4, "fill spectrum "},
                 {FEW_VALUES, 4, "fill eigen "}};
    for (int k = 0; k < 2; k++) {
        workload w = make_workload(storages[k]);
        for (int i = 0; i < COUNT(cases); i++) {
            assert_true(cancel_each_report(&w, cases[i].what) >= cases[i].least);
            assert_string_equal(ear.seen, cases[i].seen);
        }
        free_workload(&w);
    }
}

static void progress_ends_at_its_total(void **state)
{
    (void)state;
    workload w = make_workload(FAR_STORAGE_FULL);
    w.opts.extremes = 0;
    must(perform(&w, CREATE));
    assert_true(orderly() && ear.last == ear.total && ear.total > 0);
    must(perform(&w, INVERSE));
    assert_true(orderly() && ear.last == ear.total && ear.total > 0);
    free_workload(&w);
}

static void residuals_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    enum { N = 1063, P = 2 };
    far_mat m = with_condition(N, 50), b = random_mat(N, P, 1), x = random_mat(N, P, 2),
            low = make_mat(N, P), work = make_mat(N, 2 * P), r[3];
    for (int64_t i = 0; i < N * P; i++) {
        ((double *)low.data)[i] = 1e-17 * ((double *)x.data)[i];
    }
    for (int k = 0; k < 2; k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        opts.ridge = 0.125;
        far_system *s = system_of(&m, &opts);
        for (int threads = 1; threads <= 3; threads++) {
            far_ctx *team = context_with(threads);
            r[threads - 1] = make_mat(N, P);
            assert_int_equal(
                far_residual(team, s, P, b.data, x.data, low.data, work.data, r[threads - 1].data),
                FAR_OK);
            far_ctx_destroy(team);
        }
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(r[i].data, r[0].data, N * P * sizeof(double));
        }
        for (int i = 0; i < 3; i++) {
            free(r[i].data);
        }
        far_system_destroy(s);
    }
    free(m.data);
    free(b.data);
    free(x.data);
    free(low.data);
    free(work.data);
}

/* All that a system and a spectrum can be asked for, as one row of numbers. */
enum { EVERY_N = 1063, EVERY_P = 5, EVERY_TOP = 3, EVERY_ROWS = 3 * EVERY_P + 1 + EVERY_TOP };

static void ask_everything(far_ctx *own, const far_mat *m, const far_solve_opts *opts, double *out)
{
    enum { N = EVERY_N, P = EVERY_P };
    far_symmetric a = far_symmetric_of(m);
    far_mat b = random_mat(N, P, 1), x = far_mat_view(out, N, P, FAR_F64);
    far_mat low = far_mat_view(out + N * P, N, P, FAR_F64);
    far_mat white = far_mat_view(out + 2 * N * P, N, P, FAR_F64);
    far_mat inverse = far_mat_view(out + 3 * N * P, N, 1, FAR_F64);
    far_mat vectors = far_mat_view(out + 3 * N * P + N, N, EVERY_TOP, FAR_F64);
    double *rest = out + N * EVERY_ROWS;
    far_mat values = far_mat_view(rest, EVERY_TOP, 1, FAR_F64);
    far_system *s;
    assert_int_equal(far_system_create(own, &a, opts, &s), FAR_OK);
    assert_int_equal(far_system_solve(own, s, &b, &x, &low, rest + EVERY_TOP), FAR_OK);
    memcpy(white.data, b.data, N * P * sizeof(double));
    assert_int_equal(far_system_whiten(own, s, &white), FAR_OK);
    assert_int_equal(far_system_inverse_diagonal(own, s, &inverse), FAR_OK);
    assert_int_equal(far_eigen(own, &a, FAR_EIGEN_LARGEST, EVERY_TOP, 0, &values, &vectors),
                     FAR_OK);
    far_system_info info = far_system_diagnostics(s);
    double facts[] = {info.log_det, info.lambda_min, info.lambda_max, info.condition};
    memcpy(rest + EVERY_TOP + P, facts, sizeof facts);
    far_system_destroy(s);
    free(b.data);
}

/* Sizes of several panels, tiles and block rows. Low parts are what rounding left: they would show
 * a sum in another order first. */
static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { COUNT_ALL = EVERY_N * EVERY_ROWS + EVERY_TOP + EVERY_P + 4 };
    static const int TEAMS[] = {1, 2, 3, 5};
    far_mat m = with_condition(EVERY_N, 1e9);
    double *first = malloc(COUNT_ALL * sizeof *first), *other = malloc(COUNT_ALL * sizeof *other);
    for (int k = 0; k < COUNT(storages); k++) {
        far_solve_opts opts = plain_opts(storages[k]);
        opts.extremes = 1;
        for (int t = 0; t < COUNT(TEAMS); t++) {
            far_ctx *team = context_with(TEAMS[t]);
            ask_everything(team, &m, &opts, t == 0 ? first : other);
            far_ctx_destroy(team);
            if (t > 0) {
                assert_memory_equal(first, other, COUNT_ALL * sizeof *first);
            }
        }
    }
    free(first);
    free(other);
    free(m.data);
}

/* Beyond the rows that one call of BLAS takes: as the definition says, and the same bits. */
static void symmetric_products_are_shared_without_a_trace(void **state)
{
    (void)state;
    enum { N = 2311 };
    far_mat m = random_mat(N, N, 1), x = random_mat(N, 1, 2), y = make_mat(N, 3);
    double *work = malloc(FAR_SYMV_LANES * N * sizeof *work), *out = y.data, *in = x.data;
    for (int t = 1; t <= 3; t++) {
        far_blas_scope scope = far_blas_enter(t);
        far_symv(N, m.data, N, in, out + (t - 1) * N, work);
        far_blas_leave(scope);
        assert_memory_equal(out, out + (t - 1) * N, N * sizeof *out);
    }
    for (int64_t i = 0; i < N; i += 97) {
        long double sum = 0, size = 0;
        for (int64_t j = 0; j < N; j++) { /* the upper triangle by columns is the lower by rows */
            long double term = (long double)*at(&m, i > j ? i : j, i > j ? j : i) * in[j];
            sum += term;
            size += fabsl(term);
        }
        assert_true(fabsl(out[i] - sum) <= 1e-15L * size);
    }
    free(work);
    free(m.data);
    free(x.data);
    free(y.data);
}

/* A thread with a context of its own; what it leaves is compared with the others'. */
typedef struct worker {
    pthread_t thread;
    const far_mat *m;
    int threads;
    far_status st;
    far_system_info info;
    double value, largest_residual;
} worker;

static far_status work_with(far_ctx *own, worker *w)
{
    far_symmetric a = far_symmetric_of(w->m);
    far_mat b = random_mat(a.n, 3, 1), x = make_mat(a.n, 3);
    far_mat value = far_mat_view(&w->value, 1, 1, FAR_F64);
    far_system *s = NULL;
    double residuals[3] = {NAN, NAN, NAN};
    far_status st = far_system_create(own, &a, NULL, &s);
    if (st == FAR_OK) {
        w->info = far_system_diagnostics(s);
        st = far_system_solve(own, s, &b, &x, NULL, residuals);
    }
    if (st == FAR_OK) {
        st = far_eigen(own, &a, FAR_EIGEN_LARGEST, 1, 0, &value, NULL);
    }
    w->largest_residual = fmax(residuals[0], fmax(residuals[1], residuals[2]));
    far_system_destroy(s);
    free(b.data);
    free(x.data);
    return st;
}

static void *run_worker(void *user)
{
    worker *w = user;
    far_ctx_opts opts;
    far_ctx *own;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = w->threads;
    w->st = far_ctx_create(&opts, &own);
    for (int i = 0; w->st == FAR_OK && i < 5; i++) {
        w->st = work_with(own, w);
    }
    far_ctx_destroy(own);
    return NULL;
}

static void contexts_work_side_by_side(void **state)
{
    (void)state;
    far_mat m = with_condition(367, 1e4);
    worker team[4];
    for (int i = 0; i < COUNT(team); i++) {
        team[i] = (worker){.m = &m, .threads = 1 + i % 2};
        assert_int_equal(pthread_create(&team[i].thread, NULL, run_worker, &team[i]), 0);
    }
    for (int i = 0; i < COUNT(team); i++) {
        pthread_join(team[i].thread, NULL);
        assert_int_equal(team[i].st, FAR_OK);
        assert_true(team[i].largest_residual <= 1e-15);
        assert_close(team[i].info.condition, 1e4, 1e-7);
        assert_close(team[i].value, 1, 1e-13);
    }
    free(m.data);
}

/* ---- doubled precision ---- */

typedef struct isa {
    far_doubled_fn rows, cols;
} isa;

static int instruction_sets(isa *out)
{
    int count = 0;
    out[count++] = (isa){far_doubled_rows_baseline, far_doubled_cols_baseline};
    if (__builtin_cpu_supports("x86-64-v3")) {
        out[count++] = (isa){far_doubled_rows_avx2, far_doubled_cols_avx2};
    }
    if (__builtin_cpu_supports("x86-64-v4")) {
        out[count++] = (isa){far_doubled_rows_avx512, far_doubled_cols_avx512};
    }
    return count;
}

/* Sums that cancel to nearly nothing keep their digits. */
static void doubled_products_keep_what_cancels(void **state)
{
    (void)state;
    enum { ROWS = 13, COLS = 103 };
    far_mat a = random_mat(ROWS, COLS + 1, 1), x = random_mat(COLS, 1, 2),
            low = random_mat(COLS, 1, 3);
    far_doubled_block block = {.data = a.data, .rows = ROWS, .cols = COLS, .ld = COLS + 1};
    double start[COLS], y[3][2 * COLS];
    isa sets[3];
    int count = instruction_sets(sets);
    for (int64_t j = 0; j < COLS; j++) {
        *at(&low, j, 0) *= 1e-17;
        start[j] = 0;
    }
    for (int cols = 0; cols < 2; cols++) {
        int outs = cols ? COLS : ROWS, ins = cols ? ROWS : COLS;
        for (int i = 0; i < outs; i++) {
            for (int j = 0; j < ins; j++) {
                start[i] -= *at(&a, cols ? j : i, cols ? i : j) * *at(&x, j, 0);
            }
        }
        for (int k = 0; k < count; k++) {
            memset(y[k], 0, sizeof y[k]);
            memcpy(y[k], start, (size_t)outs * sizeof(double));
            (cols ? sets[k].cols : sets[k].rows)(&block, x.data, low.data, y[k], y[k] + COLS);
            assert_memory_equal(y[k], y[0], sizeof y[k]);
        }
        for (int i = 0; i < outs; i++) {
            __float128 exact = start[i];
            for (int j = 0; j < ins; j++) {
                exact += (__float128)*at(&a, cols ? j : i, cols ? i : j) *
                         ((__float128)*at(&x, j, 0) + *at(&low, j, 0));
            }
            assert_true(fabs((double)(exact - y[0][i] - y[0][COLS + i])) <= 1e-29);
            start[i] = 0;
        }
    }
    free(a.data);
    free(x.data);
    free(low.data);
}

/* ---- the layouts ---- */

static void layouts_have_a_place_for_every_entry(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 8, 9, 511, 512, 513, 1025, 1700};
    for (int i = 0; i < 2 * COUNT(sizes); i++) {
        far_lower l = far_lower_layout(sizes[i / 2], i % 2);
        int64_t count = far_lower_count(&l);
        char *taken = calloc((size_t)count, 1);
        double base;
        l.data = &base;
        for (int64_t row = 0; row < l.n; row++) {
            for (int64_t col = 0; col <= row; col++) {
                int64_t place =
                    (int64_t)((uintptr_t)far_lower_at(&l, row, col) - (uintptr_t)&base) /
                    (int64_t)sizeof(double);
                assert_true(place >= 0 && place < count && !taken[place]);
                taken[place] = 1;
            }
        }
        assert_true(!l.packed || l.n < 1500 || count < 0.7 * (double)(l.n * l.n));
        free(taken);
    }
}

/* Offsets beyond 32 bits, without the memory. */
static void large_layouts_do_not_wrap(void **state)
{
    (void)state;
    far_lower full = far_lower_layout(100003, false), packed = far_lower_layout(100003, true);
    assert_true((double)far_lower_count(&full) >= 100003.0 * 100003.0);
    assert_close((double)far_lower_count(&packed), 0.5 * 100003.0 * 100003.0, 0.01);
    far_solve_opts opts = plain_opts(FAR_STORAGE_PACKED);
    far_estimate e;
    must(far_solve_estimate(ctx, 100003, &opts, &e));
    assert_close(e.bytes, 4.0 * 100003 * 100003, 0.02);
}

/* ---- spectra ---- */

static void assert_eigenpairs(const far_mat *m, const far_mat *values, const far_mat *vectors)
{
    int64_t n = m->rows, count = values->rows;
    for (int64_t k = 0; k < count; k++) {
        double largest = 0, square = 0;
        for (int64_t i = 0; i < n; i++) {
            double sum = -*at(values, k, 0) * *at(vectors, i, k);
            for (int64_t j = 0; j < n; j++) {
                sum += lower(m, i, j) * *at(vectors, j, k);
            }
            assert_true(fabs(sum) <= 1e-12);
            largest = fabs(*at(vectors, i, k)) > fabs(largest) ? *at(vectors, i, k) : largest;
            square += *at(vectors, i, k) * *at(vectors, i, k);
        }
        assert_true(largest > 0);
        assert_close(square, 1, 1e-12);
        assert_true(k == 0 || *at(values, k, 0) >= *at(values, k - 1, 0));
    }
}

static void assert_orthogonal(const far_mat *vectors)
{
    for (int64_t a = 0; a < vectors->cols; a++) {
        for (int64_t b = 0; b < a; b++) {
            double sum = 0;
            for (int64_t i = 0; i < vectors->rows; i++) {
                sum += *at(vectors, i, a) * *at(vectors, i, b);
            }
            assert_true(fabs(sum) <= 1e-11);
        }
    }
}

static void spectrum_case(int64_t n, far_eigen_part which, int64_t count)
{
    far_mat m = laplacian(n), values = make_mat(count, 1), vectors = make_mat(n, count + 1);
    far_symmetric a = far_symmetric_of(&m);
    vectors.cols = count;
    must(far_eigen(ctx, &a, which, count, 0, &values, &vectors));
    for (int64_t k = 0; k < count; k++) {
        int64_t number = which == FAR_EIGEN_LARGEST ? n - count + k + 1 : k + 1;
        assert_true(fabs(*at(&values, k, 0) - laplacian_value(n, number)) <= 1e-13);
    }
    assert_eigenpairs(&m, &values, &vectors);
    assert_orthogonal(&vectors);
    assert_true(*at(&vectors, 0, count) == SENTINEL);
    far_mat alone = make_mat(count, 1);
    must(far_eigen(ctx, &a, which, count, 0, &alone, NULL));
    for (int64_t k = 0; k < count; k++) {
        assert_true(fabs(*at(&alone, k, 0) - *at(&values, k, 0)) <= 1e-13);
    }
    free(m.data);
    free(values.data);
    free(vectors.data);
    free(alone.data);
}

static void spectra_of_the_laplacian_are_known(void **state)
{
    (void)state;
    static const struct {
        int n, count;
    } cases[] = {{1, 1},  {2, 1},     {2, 2},    {3, 2},  {59, 59},
                 {59, 7}, {211, 211}, {211, 90}, {211, 3}};
    for (int i = 0; i < COUNT(cases); i++) {
        spectrum_case(cases[i].n, FAR_EIGEN_LARGEST, cases[i].count);
        spectrum_case(cases[i].n, FAR_EIGEN_SMALLEST, cases[i].count);
    }
}

/* Where Lanczos sees no difference, LAPACK must take over. */
static void crowded_small_eigenvalues_are_found(void **state)
{
    (void)state;
    enum { N = 401, K = 5 };
    far_mat m = with_condition(N, 1e12), values = make_mat(K, 1), vectors = make_mat(N, K);
    far_symmetric a = far_symmetric_of(&m);
    must(far_eigen(ctx, &a, FAR_EIGEN_SMALLEST, K, 0, &values, &vectors));
    assert_eigenpairs(&m, &values, &vectors);
    assert_orthogonal(&vectors);
    for (int64_t k = 0; k < K; k++) {
        double want = pow(1e12, -(double)(N - 1 - k) / (N - 1));
        assert_true(fabs(*at(&values, k, 0) - want) <= 1e-14);
    }
    free(m.data);
    free(values.data);
    free(vectors.data);
}

static void a_few_of_many_equal_eigenvalues_are_found(void **state)
{
    (void)state;
    enum { N = 223, K = 4 };
    far_mat m = make_mat(N, N), values = make_mat(K, 1), vectors = make_mat(N, K);
    for (int64_t i = 0; i < N * N; i++) {
        ((double *)m.data)[i] = i % (N + 1) == 0 ? (i < 3 * N ? 5 : 2) : 0;
    }
    far_symmetric a = far_symmetric_of(&m);
    must(far_eigen(ctx, &a, FAR_EIGEN_LARGEST, K, 0, &values, &vectors));
    for (int64_t k = 0; k < K; k++) {
        assert_close(*at(&values, k, 0), k == 0 ? 2 : 5, 1e-13);
    }
    assert_orthogonal(&vectors);
    free(m.data);
    free(values.data);
    free(vectors.data);
}

static void eigen_checks_its_arguments(void **state)
{
    (void)state;
    far_mat m = laplacian(5), values = make_mat(2, 1), vectors = make_mat(5, 2),
            wrong = make_mat(3, 1);
    far_symmetric a = far_symmetric_of(&m), empty = {.n = 0, .block = a.block};
#define REFUSED(st, piece, matrix, part, count, memory, w, v)                                      \
    refused(far_eigen(ctx, matrix, part, count, memory, w, v), st, piece)
    REFUSED(FAR_ERR_ARG, "NULL", NULL, FAR_EIGEN_LARGEST, 2, 0, &values, NULL);
    REFUSED(FAR_ERR_SHAPE, "0 rows", &empty, FAR_EIGEN_LARGEST, 2, 0, &values, NULL);
    REFUSED(FAR_ERR_ARG, "which", &a, (far_eigen_part)2, 2, 0, &values, NULL);
    REFUSED(FAR_ERR_ARG, "0 eigenvalues", &a, FAR_EIGEN_LARGEST, 0, 0, &values, NULL);
    REFUSED(FAR_ERR_ARG, "6 eigenvalues", &a, FAR_EIGEN_LARGEST, 6, 0, &values, NULL);
    REFUSED(FAR_ERR_ARG, "memory", &a, FAR_EIGEN_LARGEST, 2, -1, &values, NULL);
    REFUSED(FAR_ERR_SHAPE, "values is 3 x 1", &a, FAR_EIGEN_LARGEST, 2, 0, &wrong, NULL);
    REFUSED(FAR_ERR_SHAPE, "vectors is 3 x 1", &a, FAR_EIGEN_LARGEST, 2, 0, &values, &wrong);
    REFUSED(FAR_ERR_ARG, "values is NULL", &a, FAR_EIGEN_LARGEST, 2, 0, NULL, NULL);
    REFUSED(FAR_ERR_BUDGET, "the spectrum needs", &a, FAR_EIGEN_LARGEST, 2, 100, &values, NULL);
    *at(&m, 3, 1) = NAN;
    REFUSED(FAR_ERR_VALUE, "row 4, column 2 is nan", &a, FAR_EIGEN_LARGEST, 2, 0, &values,
            &vectors);
#undef REFUSED
    assert_int_equal(far_eigen(NULL, &a, FAR_EIGEN_LARGEST, 2, 0, &values, NULL), FAR_ERR_ARG);
    assert_true(*at(&values, 0, 0) == SENTINEL && *at(&vectors, 0, 0) == SENTINEL);
    free(m.data);
    free(values.data);
    free(vectors.data);
    free(wrong.data);
}

/* A progress function that asks for eigenvalues while eigenvalues are computed. */
static far_status nested = FAR_OK;

static int ask_again(void *user, const char *what, int64_t done, int64_t total)
{
    far_ctx *other = user;
    if (strcmp(what, "eigen") == 0 && done == 1 && total > 1) {
        far_mat m = laplacian(211), values = make_mat(1, 1);
        far_symmetric a = far_symmetric_of(&m);
        nested = far_eigen(other, &a, FAR_EIGEN_LARGEST, 1, 0, &values, NULL);
        free(m.data);
        free(values.data);
    }
    return 0;
}

static void eigenvalues_within_eigenvalues_are_refused(void **state)
{
    (void)state;
    far_ctx_opts opts;
    far_ctx *outer;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.progress = ask_again;
    opts.progress_user = ctx;
    assert_int_equal(far_ctx_create(&opts, &outer), FAR_OK);
    far_mat m = laplacian(211), values = make_mat(1, 1);
    far_symmetric a = far_symmetric_of(&m);
    assert_int_equal(far_eigen(outer, &a, FAR_EIGEN_LARGEST, 1, 0, &values, NULL), FAR_OK);
    refused(nested, FAR_ERR_BACKEND, "progress function");
    assert_close(*at(&values, 0, 0), laplacian_value(211, 211), 1e-12);
    far_ctx_destroy(outer);
    free(m.data);
    free(values.data);
}

/* ---- products ---- */

static double entry_of_product(const far_mat *a, const far_mat *b, int64_t i, int64_t j)
{
    long double sum = 0;
    for (int64_t k = 0; k < a->cols; k++) {
        sum += (long double)*at(a, i, k) * *at(b, k, j);
    }
    return (double)sum;
}

static void products_are_sums(void **state)
{
    (void)state;
    far_mat a = random_mat(7, 13, 1), b = random_mat(11, 5, 2), out = make_mat(7, 5);
    a.cols = 11;
    b.cols = out.cols = 3;
    must(far_multiply(ctx, &a, &b, &out));
    for (int64_t i = 0; i < 7; i++) {
        for (int64_t j = 0; j < 3; j++) {
            assert_true(fabs(*at(&out, i, j) - entry_of_product(&a, &b, i, j)) <= 1e-15);
        }
        assert_true(*at(&out, i, 3) == SENTINEL);
    }
    far_mat none = {.rows = 7, .dtype = FAR_F64}, empty = {.cols = 3, .ld = 3, .dtype = FAR_F64};
    must(far_multiply(ctx, &none, &empty, &out));
    assert_true(*at(&out, 6, 2) == 0 && *at(&out, 6, 3) == SENTINEL);
    refused(far_multiply(ctx, &b, &a, &out), FAR_ERR_SHAPE, "11 x 3 times 7 x 11");
    refused(far_multiply(ctx, &a, NULL, &out), FAR_ERR_ARG, "b is NULL");
    free(a.data);
    free(b.data);
    free(out.data);
}

static void products_with_blocks_are_sums(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 97, 256, 257, 601};
    for (int k = 0; k < COUNT(sizes); k++) {
        int64_t n = sizes[k];
        teller t = {.n = n, .fail_at = -1};
        far_symmetric a = {.n = n, .block = tell, .user = &t};
        far_mat b = random_mat(n, 3, 1), out = make_mat(n, 3), tall = out;
        must(far_symmetric_multiply(ctx, &a, &b, &out));
        assert_true(!t.odd);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < 3; j++) {
                double want = 3 * *at(&b, i, j) - (i > 0 ? *at(&b, i - 1, j) : 0) -
                              (i < n - 1 ? *at(&b, i + 1, j) : 0);
                assert_true(fabs(*at(&out, i, j) - want) <= 1e-14);
            }
        }
        tall.rows = n + 1;
        refused(far_symmetric_multiply(ctx, &a, &b, &tall), FAR_ERR_SHAPE, "out is");
        refused(far_symmetric_multiply(ctx, NULL, &b, &out), FAR_ERR_ARG, "NULL");
        free(b.data);
        free(out.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_size_solves_in_both_storages),
        TEST(a_dense_matrix_solves_across_blocks),
        TEST(large_conditions_are_refined),
        TEST(hilbert_gives_its_integers),
        TEST(x_is_the_rounded_pair),
        TEST(many_columns_and_strides_change_nothing),
        TEST(right_sides_of_any_size_solve),
        TEST(a_solution_beyond_doubles_is_refused),
        TEST(ridges_are_relative_or_absolute),
        TEST(extremes_of_the_laplacian_are_known),
        TEST(extremes_are_right_at_large_conditions),
        TEST(extremes_of_what_the_ridge_drowns),
        TEST(a_multiple_of_the_identity_has_condition_one),
        TEST(whitening_gives_the_quadratic_form),
        TEST(the_inverse_diagonal_of_the_laplacian_is_known),
        TEST(singular_matrices_name_the_row),
        TEST(a_repeated_point_is_found),
        TEST(hopeless_systems_fail_in_words),
        TEST(badly_scaled_matrices_solve),
        TEST(values_that_are_not_finite_have_a_place),
        TEST(blocks_may_be_lower_on_the_diagonal),
        TEST(crowded_extremes_have_some_digits),
        TEST(a_failing_block_is_passed_on),
        TEST(matrices_in_memory_are_read_by_their_lower_triangle),
        TEST(create_checks_its_arguments),
        TEST(options_are_checked),
        TEST(estimate_checks_its_arguments),
        TEST(users_of_a_system_check_shapes),
        TEST(budgets_choose_the_storage),
        TEST(a_system_beyond_the_budget_is_refused),
        TEST(estimates_are_what_is_used),
        TEST(the_machine_has_memory),
        TEST(every_failed_allocation_is_clean),
        TEST(an_estimate_survives_a_failed_allocation),
        TEST(every_report_may_cancel),
        TEST(progress_ends_at_its_total),
        TEST(residuals_have_the_same_bits_for_any_number_of_threads),
        TEST(threads_change_no_bit),
        TEST(symmetric_products_are_shared_without_a_trace),
        TEST(contexts_work_side_by_side),
        TEST(doubled_products_keep_what_cancels),
        TEST(layouts_have_a_place_for_every_entry),
        TEST(large_layouts_do_not_wrap),
        TEST(spectra_of_the_laplacian_are_known),
        TEST(crowded_small_eigenvalues_are_found),
        TEST(a_few_of_many_equal_eigenvalues_are_found),
        TEST(eigen_checks_its_arguments),
        TEST(eigenvalues_within_eigenvalues_are_refused),
        TEST(products_are_sums),
        TEST(products_with_blocks_are_sums),
    };
    return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
