/* More than 32767 rows: eigenvalues that other programs return as zeros. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <farfield/farfield.h>

enum { ROWS = 33013, PARTS = 3 };
static const double SIZES[PARTS] = {5, 90, 1000};

/* I + sum SIZES[k] w_k w_k', w_k the orthonormal cosines: eigenvalues 1 + SIZES[k], and 1. */
static double cosine(int64_t i, int k)
{
    return sqrt(2.0 / ROWS) * cos(M_PI * (k + 1) * ((double)i + 0.5) / ROWS);
}

static far_status block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    const double *w = user;
    (void)ctx;
    for (int64_t i = 0; i < out->rows; i++) {
        double *to = (double *)out->data + i * out->ld;
        const double *a = w + (row + i) * PARTS;
        for (int64_t j = 0; j < out->cols; j++) {
            const double *b = w + (col + j) * PARTS;
            to[j] = SIZES[0] * a[0] * b[0] + SIZES[1] * a[1] * b[1] + SIZES[2] * a[2] * b[2] +
                    (row + i == col + j);
        }
    }
    return FAR_OK;
}

static void more_than_32767_rows_have_eigenvalues(void **state)
{
    static double w[ROWS * PARTS], found[2], vectors[2 * ROWS];
    far_ctx *ctx;
    (void)state;
    for (int64_t i = 0; i < ROWS * PARTS; i++) {
        w[i] = cosine(i / PARTS, (int)(i % PARTS));
    }
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    far_symmetric a = {ROWS, block, w};
    far_mat values = far_mat_view(found, 2, 1, FAR_F64);
    far_mat columns = far_mat_view(vectors, ROWS, 2, FAR_F64);
    double memory = (double)(1 << 30); /* the matrix would take 8 GiB */
    far_status st = far_eigen(ctx, &a, FAR_EIGEN_LARGEST, 2, memory, &values, &columns);
    assert_string_equal(far_ctx_message(ctx), "");
    assert_int_equal(st, FAR_OK);
    assert_true(fabs(found[0] - 91) < 1e-9 * 91);
    assert_true(fabs(found[1] - 1001) < 1e-9 * 1001);
    double sign = vectors[1] * cosine(0, 2) > 0 ? 1 : -1;
    for (int64_t i = 0; i < ROWS; i += 997) {
        assert_true(fabs(sign * vectors[2 * i + 1] - cosine(i, 2)) < 1e-9);
    }
    far_ctx_destroy(ctx);
}

static void a_whole_spectrum_beyond_the_memory_is_refused(void **state)
{
    far_ctx *ctx;
    double one;
    (void)state;
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    far_symmetric a = {ROWS, block, &one};
    static double found[ROWS];
    far_mat values = far_mat_view(found, ROWS, 1, FAR_F64);
    assert_int_equal(far_eigen(ctx, &a, FAR_EIGEN_LARGEST, ROWS, 1e9, &values, NULL),
                     FAR_ERR_BUDGET);
    far_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_32767_rows_have_eigenvalues),
        cmocka_unit_test(a_whole_spectrum_beyond_the_memory_is_refused),
    };
    return cmocka_run_group_tests_name("large spectrum", tests, NULL, NULL);
}
