/* Correlations and ranks: values by hand. */
#include "measure/rank.h"
#include "measure_fixture.h"

static void the_area_under_the_curve(void **state)
{
    double scores[6] = {0.1, 0.4, 0.35, 0.8, 0.4, 0.4}, auc;
    unsigned char perfect[6] = {0, 0, 0, 1, 0, 0}, tied[6] = {0, 1, 0, 1, 0, 0};
    unsigned char none[6] = {0};
    (void)state;
    OK(far_roc_auc(ctx, scores, perfect, 6, &auc));
    assert_near(auc, 1, 0);
    /* 0.8 beats 4; 0.4 beats 2 and ties with 2. */
    OK(far_roc_auc(ctx, scores, tied, 6, &auc));
    assert_near(auc, (4 + 2 + 1) / 8.0, 1e-15);
    assert_int_equal(far_roc_auc(ctx, scores, none, 6, &auc), FAR_ERR_VALUE);
    assert_message("all 6 are 0");
    scores[2] = NAN;
    assert_int_equal(far_roc_auc(ctx, scores, tied, 6, &auc), FAR_ERR_VALUE);
}

static void correlations_by_hand(void **state)
{
    double x[5] = {1, 2, 3, 4, 5}, y[5] = {1, 4, 9, 16, 25}, tied[5] = {1, 1, 2, 2, 3}, r;
    double same[5] = {0.1, 0.1, 0.1, 0.1, 0.1}, down[5] = {5, 4, 3, 2, 1};
    (void)state;
    OK(far_correlation(ctx, FAR_PEARSON, x, y, 5, &r));
    assert_near(r, 60 / sqrt(10 * 374.0), 1e-14);
    OK(far_correlation(ctx, FAR_SPEARMAN, x, y, 5, &r));
    assert_near(r, 1, 1e-15);
    OK(far_correlation(ctx, FAR_SPEARMAN, y, down, 5, &r));
    assert_near(r, -1, 1e-15);
    OK(far_correlation(ctx, FAR_SPEARMAN, x, tied, 5, &r)); /* ranks 1.5 1.5 3.5 3.5 5 */
    assert_near(r, 9 / sqrt(10 * 9.0), 1e-14);
    OK(far_correlation(ctx, FAR_PEARSON, x, same, 5, &r));
    assert_true(isnan(r));
    OK(far_correlation(ctx, FAR_SPEARMAN, same, x, 5, &r));
    assert_true(isnan(r));
    assert_int_equal(far_correlation(ctx, FAR_PEARSON, x, y, 1, &r), FAR_ERR_ARG);
    x[3] = INFINITY;
    assert_int_equal(far_correlation(ctx, FAR_PEARSON, x, y, 5, &r), FAR_ERR_VALUE);
    assert_int_equal(far_correlation(ctx, FAR_SPEARMAN, y, x, 5, &r), FAR_ERR_VALUE);
}

static far_status rank_both(void)
{
    double x[7], r;
    unsigned char classes[7] = {1, 0, 1, 0, 0, 0, 1};
    fill_noise(x, 7, 3);
    far_status st = far_correlation(ctx, FAR_SPEARMAN, x, x, 7, &r);
    return st ? st : far_roc_auc(ctx, x, classes, 7, &r);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(rank_both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_area_under_the_curve),
        TEST(correlations_by_hand),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
