/* Importance, dependence and nearest rows of every kind of predictor, against the plain formulas.
 */
#include "harness.h"
#include "predictors.h"
#include "tables.h"

static void raw_rows(const far_frame *frame, double x[ROWS * INPUTS], double y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++) {
            x[i * INPUTS + j] = far_frame_numbers(frame, j)[i];
        }
        y[i] = far_frame_numbers(frame, INPUTS)[i];
    }
}

static double r2(const far_predictor *p, const double *x, const double *y)
{
    double mean = 0, total = 0, left = 0;
    for (int i = 0; i < ROWS; i++) {
        mean += y[i] / ROWS;
    }
    for (int i = 0; i < ROWS; i++) {
        double off = y[i] - value(p, x + i * INPUTS);
        total += (y[i] - mean) * (y[i] - mean);
        left += off * off;
    }
    return 1 - left / total;
}

static void importance_is_what_permutations_cost(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], other[ROWS * INPUTS];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(y, ROWS, 1, FAR_F64);
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        double score, lost[INPUTS];
        if (!p) {
            continue;
        }
        must(far_predictor_importance(ctx, p, &xs, &ys, 2, 7, &score, lost));
        assert_near(score, r2(p, x, y), 1e-9 * (1 + fabs(score)));
        for (int j = 0; j < INPUTS; j++) {
            double mean = 0;
            for (uint64_t t = 0; t < 2; t++) {
                int64_t order[ROWS];
                for (int i = 0; i < ROWS; i++) {
                    order[i] = i;
                }
                far_random_shuffle(7 + t, order, ROWS);
                memcpy(other, x, sizeof x);
                for (int i = 0; i < ROWS; i++) {
                    other[i * INPUTS + j] = x[order[i] * INPUTS + j];
                }
                mean += (r2(p, x, y) - r2(p, other, y)) / 2;
            }
            assert_near(lost[j], mean, 1e-9 * (1 + fabs(mean)));
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void dependence_is_a_mean_over_rows(void **state)
{
    (void)state;
    static const double at[] = {-2, 0.25, 7};
    double x[ROWS * INPUTS], y[ROWS], got[3];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), out = far_mat_view(got, 3, 1, FAR_F64);
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        if (!p) {
            continue;
        }
        must(far_predictor_dependence(ctx, p, &xs, 1, at, 3, &out));
        for (int g = 0; g < 3; g++) {
            double mean = 0;
            for (int i = 0; i < ROWS; i++) {
                double row[INPUTS] = {x[i * INPUTS], at[g], x[i * INPUTS + 2]};
                mean += value(p, row) / ROWS;
            }
            assert_near(got[g], mean, 1e-9 * (1 + fabs(mean)));
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static far_predictor *coloured(far_frame **frame)
{
    *frame = table_of("x,colour,y\n1,r,5\n2,g,1\n3,b,9\n4,r,6\n5,g,3\n6,b,9\n7,r,8\n8,g,4\n");
    return model(*frame, "dense ln relu dense");
}

/* Inputs are x and the colours b, g, r. */
static void categories_move_as_one(void **state)
{
    (void)state;
    far_frame *frame;
    far_predictor *p = coloured(&frame);
    double x[8 * 4], y[8], lost[2], score, got[3], f;
    far_mat xs = far_mat_view(x, 8, 4, FAR_F64), ys = far_mat_view(y, 8, 1, FAR_F64);
    must(far_predictor_rows(ctx, p, &xs, &ys));
    for (int i = 0; i < 8; i++) {
        int level = "\2\1\0"[i % 3];
        assert_near(x[4 * i], i + 1, 1e-12);
        for (int k = 0; k < 3; k++) {
            assert_true(x[4 * i + 1 + k] == (k == level)); /* to the bit */
        }
        assert_near(y[i], far_frame_numbers(frame, 2)[i], 1e-12);
    }
    must(far_predictor_importance(ctx, p, &xs, &ys, 3, 0, &score, lost));
    assert_true(score > 0.8 && lost[0] > 0.05 && lost[1] > 0.05);
    static const double levels[] = {0, 1, 2};
    far_mat out = far_mat_view(got, 3, 1, FAR_F64), v = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_predictor_dependence(ctx, p, &xs, 1, levels, 3, &out));
    for (int k = 0; k < 3; k++) {
        double mean = 0;
        for (int i = 0; i < 8; i++) {
            double row[4] = {x[4 * i], k == 0, k == 1, k == 2};
            far_mat in = far_mat_view(row, 1, 4, FAR_F64);
            must(far_predictor_eval(ctx, p, &in, &v));
            mean += f / 8;
        }
        assert_near(got[k], mean, 1e-9 * (1 + fabs(mean)));
    }
    static const double wrong[] = {3};
    far_mat one = far_mat_view(got, 1, 1, FAR_F64);
    refused(far_predictor_dependence(ctx, p, &xs, 1, wrong, 1, &one), FAR_ERR_VALUE,
            "colour has no category 3");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void nearest_rows_are_in_order(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], away[2 * 5];
    int64_t rows[2 * 5];
    double points[2 * INPUTS] = {0.1, 5.2, 0, 9, 9, 9};
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_predictor *p = line(frame, NAN);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat at = far_mat_view(points, 2, INPUTS, FAR_F64);
    const double *scale = far_input_scale(far_predictor_columns(p));
    must(far_predictor_nearest(ctx, p, &xs, &at, 5, rows, away));
    for (int q = 0; q < 2; q++) {
        for (int k = 0; k < 5; k++) {
            int nearer = 0;
            for (int i = 0; i < ROWS; i++) {
                double square = 0;
                for (int j = 0; j < INPUTS; j++) {
                    double z = (x[i * INPUTS + j] - points[q * INPUTS + j]) / scale[j];
                    square += z * z;
                }
                nearer += sqrt(square) < away[q * 5 + k] * (1 - 1e-12);
                if (i == rows[q * 5 + k]) {
                    assert_near(sqrt(square), away[q * 5 + k], 1e-9);
                }
            }
            assert_int_equal(nearer, k);
        }
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void bad_questions_are_refused(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], score, lost[INPUTS];
    int64_t rows[1];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_predictor *p = line(frame, NAN);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(y, ROWS, 1, FAR_F64);
    far_mat none = far_mat_view(x, 0, INPUTS, FAR_F64);
    far_mat out = far_mat_view(&score, 1, 1, FAR_F64);
    refused(far_predictor_importance(ctx, NULL, &xs, &ys, 1, 0, &score, lost), FAR_ERR_ARG, "NULL");
    refused(far_predictor_importance(ctx, p, &none, &ys, 1, 0, &score, lost), FAR_ERR_SHAPE,
            "rows");
    refused(far_predictor_importance(ctx, p, &xs, &ys, 0, 0, &score, lost), FAR_ERR_ARG, "repeats");
    refused(far_predictor_importance(ctx, p, &xs, &xs, 1, 0, &score, lost), FAR_ERR_SHAPE, "y");
    refused(far_predictor_dependence(ctx, p, &xs, 3, x, 1, &out), FAR_ERR_ARG, "feature");
    refused(far_predictor_nearest(ctx, p, &xs, &xs, ROWS + 1, rows, lost), FAR_ERR_ARG, "1 to 40");
    refused(far_predictor_rows(ctx, p, &xs, &ys), FAR_ERR_ARG, "does not keep the rows");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(importance_is_what_permutations_cost),
        TEST(dependence_is_a_mean_over_rows),
        TEST(categories_move_as_one),
        TEST(nearest_rows_are_in_order),
        TEST(bad_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
