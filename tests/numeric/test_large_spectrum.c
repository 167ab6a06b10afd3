/* More than 32767 rows: eigenvalues that other programs return as zeros. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <farfield/farfield.h>

/* STEP: most entries are zero, so that making them takes no longer than multiplying by them. */
enum { ROWS = 33013, STEP = 101, PLACES = (ROWS + STEP - 1) / STEP, PARTS = 3 };
static const double SIZES[PARTS] = {5, 90, 1000};

/* I + sum SIZES[k] w_k w_k', w_k the orthonormal cosines on every STEP-th row: eigenvalues
 * 1 + SIZES[k], and 1. */
static double cosine(int64_t i, int k)
{
    double place = (double)(i / STEP) + 0.5;
    return i % STEP ? 0 : sqrt(2.0 / PLACES) * cos(M_PI * (k + 1) * place / PLACES);
}

static void add_row(const double *w, int64_t row, int64_t col, int64_t cols, double *to)
{
    const double *a = w + row * PARTS;
    for (int64_t j = (STEP - col % STEP) % STEP; j < cols; j += STEP) {
        const double *b = w + (col + j) * PARTS;
        to[j] += SIZES[0] * a[0] * b[0] + SIZES[1] * a[1] * b[1] + SIZES[2] * a[2] * b[2];
    }
}

static far_status block(far_ctx *ctx, void *user, int64_t row, int64_t col, far_mat *out)
{
    (void)ctx;
    for (int64_t i = 0; i < out->rows; i++) {
        double *to = (double *)out->data + i * out->ld;
        int64_t diagonal = row + i - col;
        memset(to, 0, (size_t)out->cols * sizeof *to);
        if (diagonal >= 0 && diagonal < out->cols) {
            to[diagonal] = 1;
        }
        if ((row + i) % STEP == 0) {
            add_row(user, row + i, col, out->cols, to);
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
    for (int64_t i = 0; i < ROWS; i++) {
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
