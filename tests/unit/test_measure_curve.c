/* Peaks, crossings, sigmoids, ranks: values by hand. */
#include "measure_fixture.h"

static void a_peak_by_hand(void **state)
{
    double x[6] = {0, 1, 2, 4, 5, 6}, y[6] = {0, 1, 4, 1, 0, 0};
    far_peak p;
    (void)state;
    OK(far_peak_find(ctx, x, y, 6, 0, &p));
    assert_near(p.x, 2, 0);
    assert_near(p.y, 4, 0);
    assert_near(p.left, 1 + 1.0 / 3, 1e-14);
    assert_near(p.right, 2 + 4.0 / 3, 1e-14);
    assert_near(p.width, 2, 1e-14);
    OK(far_peak_find(ctx, x, y, 6, 2, &p)); /* half of what is above 2 */
    assert_near(p.left, 1 + 2.0 / 3, 1e-14);
    OK(far_peak_find(ctx, x, y, 3, 0, &p)); /* no right side */
    assert_true(isnan(p.right) && isnan(p.width) && !isnan(p.left));
    OK(far_peak_find(ctx, x, y, 1, 0, &p)); /* nothing above the base */
    assert_true(isnan(p.left) && p.x == 0);
    OK(far_peak_find(ctx, x, y, 4, -9, &p)); /* nowhere down to the level: no sides */
    assert_true(isnan(p.left) && isnan(p.right) && p.x == 2);
}

static void a_crossing_by_hand(void **state)
{
    double x[4] = {0, 1, 3, 4}, y[4] = {-1, -0.5, 1.5, -2}, at;
    (void)state;
    OK(far_crossing_find(ctx, x, y, 4, 0, &at));
    assert_near(at, 1.5, 1e-15);
    OK(far_crossing_find(ctx, x, y, 4, -1, &at));
    assert_near(at, 0, 0);
    OK(far_crossing_find(ctx, x, y, 4, 1.5, &at)); /* touched */
    assert_near(at, 3, 1e-15);
    OK(far_crossing_find(ctx, x, y, 4, 2, &at));
    assert_true(isnan(at));
}

static void a_sigmoid_is_found(void **state)
{
    double x[31], y[31];
    far_sigmoid s;
    (void)state;
    for (int falls = 0; falls < 2; falls++) {
        for (int i = 0; i < 31; i++) {
            x[i] = 0.2 * i;
            y[i] = (falls ? -3 : 3) / (1 + exp(-(x[i] - 2.31) / 0.37)) + 1;
        }
        OK(far_sigmoid_fit(ctx, x, y, 31, &s));
        assert_near(s.middle, 2.31, 1e-6);
        assert_near(s.width, 0.37, 1e-6);
        assert_near(s.low, 1, 1e-6);
        assert_near(s.high, falls ? -2 : 4, 1e-6);
        assert_near(s.error, 0, 1e-6);
        assert_true(s.settled);
    }
    noise_state = 3;
    for (int i = 0; i < 31; i++) {
        y[i] += 0.05 * roll_bell(&noise_state);
    }
    OK(far_sigmoid_fit(ctx, x, y, 31, &s));
    assert_near(s.middle, 2.31, 0.06);
    assert_near(s.error, 0.05, 0.025);
    for (int i = 0; i < 31; i++) {
        y[i] = x[i]; /* a line is no sigmoid */
    }
    OK(far_sigmoid_fit(ctx, x, y, 31, &s));
    assert_false(s.settled);
}

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
    OK(far_pearson(ctx, x, y, 5, &r));
    assert_near(r, 60 / sqrt(10 * 374.0), 1e-14);
    OK(far_spearman(ctx, x, y, 5, &r));
    assert_near(r, 1, 1e-15);
    OK(far_spearman(ctx, y, down, 5, &r));
    assert_near(r, -1, 1e-15);
    OK(far_spearman(ctx, x, tied, 5, &r)); /* ranks 1.5 1.5 3.5 3.5 5 */
    assert_near(r, 9 / sqrt(10 * 9.0), 1e-14);
    OK(far_pearson(ctx, x, same, 5, &r));
    assert_true(isnan(r));
    OK(far_spearman(ctx, same, x, 5, &r));
    assert_true(isnan(r));
    assert_int_equal(far_pearson(ctx, x, y, 1, &r), FAR_ERR_ARG);
    x[3] = INFINITY;
    assert_int_equal(far_pearson(ctx, x, y, 5, &r), FAR_ERR_VALUE);
    assert_int_equal(far_spearman(ctx, y, x, 5, &r), FAR_ERR_VALUE);
}

static void bad_curves_are_refused(void **state)
{
    double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 1, 1, 1, 1}, back[2] = {1, 0}, at;
    far_peak p;
    far_sigmoid s;
    (void)state;
    assert_int_equal(far_peak_find(ctx, x, y, 0, 0, &p), FAR_ERR_ARG);
    assert_int_equal(far_peak_find(ctx, back, y, 2, 0, &p), FAR_ERR_ARG);
    assert_message("x must ascend");
    assert_int_equal(far_peak_find(ctx, x, y, 2, NAN, &p), FAR_ERR_VALUE);
    assert_int_equal(far_sigmoid_fit(ctx, x, y, 5, &s), FAR_ERR_VALUE);
    assert_message("constant");
    assert_int_equal(far_sigmoid_fit(ctx, x, y, 4, &s), FAR_ERR_ARG);
    x[3] = INFINITY;
    assert_int_equal(far_peak_find(ctx, x, y, 5, 0, &p), FAR_ERR_VALUE);
    assert_message("x: number 4");
    x[3] = 3;
    y[1] = NAN;
    assert_int_equal(far_crossing_find(ctx, x, y, 5, 0, &at), FAR_ERR_VALUE);
    assert_message("y: number 2");
}

static far_status rank_both(void)
{
    double x[7], r;
    unsigned char classes[7] = {1, 0, 1, 0, 0, 0, 1};
    fill_noise(x, 7, 3);
    far_status st = far_spearman(ctx, x, x, 7, &r);
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
        TEST(a_peak_by_hand),
        TEST(a_crossing_by_hand),
        TEST(a_sigmoid_is_found),
        TEST(the_area_under_the_curve),
        TEST(correlations_by_hand),
        TEST(bad_curves_are_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
