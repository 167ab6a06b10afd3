/* Scores of regressions, by hand; those of classes are in test_laplace_scores.c. */
#include <farfield/score.h>

#include "harness.h"

static void regression_scores_are_as_by_hand(void **state)
{
    (void)state;
    double f[] = {1, 5, 2, 5, 3, 5}, y[] = {1, 4, 2, 5, 6, 9}, sd[] = {1, 1, 1, 1, 1, 2};
    far_mat mean = far_mat_view(f, 3, 2, FAR_F64), truth = far_mat_view(y, 3, 2, FAR_F64);
    far_mat std = far_mat_view(sd, 3, 2, FAR_F64);
    far_regression_score s;
    must(far_regression_scores(ctx, &mean, NULL, &truth, &s));
    assert_near(s.r2, (1 - 9.0 / 14 + 1 - 17.0 / 14) / 2, 1e-14);
    assert_near(s.rmse, sqrt(26.0 / 6), 1e-15);
    assert_true(isnan(s.nll) && isnan(s.coverage));
    must(far_regression_scores(ctx, &mean, &std, &truth, &s));
    assert_near(s.coverage, 4.0 / 6, 0); /* 3 and 4 are more than 1.96 of 1 and of 2 */
    assert_near(s.nll, 0.5 * log(2 * acos(-1)) + (0.5 * (9 + 1 + 4) + log(2)) / 6, 1e-14);
}

static void what_does_not_vary_has_no_r2(void **state)
{
    (void)state;
    double f[] = {1, 1, 2, 2, 3, 4}, y[] = {1, 7, 2, 7, 3, 7};
    far_mat mean = far_mat_view(f, 3, 2, FAR_F64), truth = far_mat_view(y, 3, 2, FAR_F64);
    far_regression_score s;
    must(far_regression_scores(ctx, &mean, NULL, &truth, &s));
    assert_near(s.r2, 1, 0); /* of the first output alone */
    far_mat second = {.data = f + 1, .rows = 3, .cols = 1, .ld = 2, .dtype = FAR_F64};
    far_mat constant = {.data = y + 1, .rows = 3, .cols = 1, .ld = 2, .dtype = FAR_F64};
    must(far_regression_scores(ctx, &second, NULL, &constant, &s));
    assert_true(isnan(s.r2));
    assert_near(s.rmse, sqrt((36.0 + 25 + 9) / 3), 1e-14);
}

static void what_cannot_be_scored_is_refused(void **state)
{
    (void)state;
    double f[] = {1, 2, 3}, y[] = {1, NAN, 3}, sd[] = {1, 0, 1};
    far_mat mean = far_mat_view(f, 3, 1, FAR_F64), holes = far_mat_view(y, 3, 1, FAR_F64);
    far_mat std = far_mat_view(sd, 3, 1, FAR_F64), few = far_mat_view(f, 2, 1, FAR_F64);
    far_mat none = far_mat_view(f, 0, 1, FAR_F64);
    far_regression_score s;
    refused(far_regression_scores(ctx, &mean, NULL, &mean, NULL), FAR_ERR_ARG, "NULL");
    refused(far_regression_scores(ctx, &mean, NULL, &holes, &s), FAR_ERR_VALUE, "y");
    refused(far_regression_scores(ctx, &mean, &std, &mean, &s), FAR_ERR_VALUE, "std: row 2 is 0");
    refused(far_regression_scores(ctx, &mean, NULL, &few, &s), FAR_ERR_SHAPE, "y is 2 x 1");
    refused(far_regression_scores(ctx, &none, NULL, &none, &s), FAR_ERR_SHAPE, "nothing to score");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(regression_scores_are_as_by_hand),
        TEST(what_does_not_vary_has_no_r2),
        TEST(what_cannot_be_scored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
