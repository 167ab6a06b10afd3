/* Quantiles and lowess: at the edges of what they take, and what they refuse. */
#include <farfield/plot.h>

#include "harness.h"
#include "report/figure_internal.h"

static void quantiles_lie_between_order_statistics(void **state)
{
    (void)state;
    const double one[] = {7}, some[] = {4, NAN, 1, 3, INFINITY, 2}, none[] = {NAN, INFINITY};
    double q;
    must(far_quantile(ctx, one, 1, 0.3, &q));
    assert_true(q == 7);
    must(far_quantile(ctx, some, COUNT(some), 0, &q));
    assert_true(q == 1);
    must(far_quantile(ctx, some, COUNT(some), 1, &q));
    assert_true(q == 4);
    must(far_quantile(ctx, some, COUNT(some), 0.5, &q));
    assert_true(q == 2.5);
    static const double PARTS[] = {-0.1, 1.1, NAN};
    for (int i = 0; i < COUNT(PARTS); i++) {
        assert_int_equal(far_quantile(ctx, some, COUNT(some), PARTS[i], &q), FAR_ERR_ARG);
    }
    assert_int_equal(far_quantile(ctx, some, COUNT(some), 0.5, NULL), FAR_ERR_ARG);
    assert_int_equal(far_quantile(ctx, some, -1, 0.5, &q), FAR_ERR_ARG);
    assert_int_equal(far_quantile(ctx, NULL, 3, 0.5, &q), FAR_ERR_ARG);
    assert_int_equal(far_quantile(ctx, none, COUNT(none), 0.5, &q), FAR_ERR_VALUE);
    assert_int_equal(far_quantile(ctx, NULL, 0, 0.5, &q), FAR_ERR_VALUE);
}

/* Every other value is the same; a line is fitted through what is near. */
static void lowess_where_points_coincide_or_lie_apart(void **state)
{
    (void)state;
    const double ties[] = {1, 1, 1, 2, 3}, heights[] = {1, 2, 6, 5, 5}, grid[] = {1};
    double fitted, half;
    must(far_lowess(ctx, ties, heights, 5, 0.4, 0, grid, 1, &fitted, &half));
    assert_true(fabs(fitted - 3) <= 1e-12); /* the mean of all three, though k is 2 */
    const double pair[] = {-1, 1}, ends[] = {4, 8}, between[] = {0};
    must(far_lowess(ctx, pair, ends, 2, 1, 2, between, 1, &fitted, &half));
    assert_true(fabs(fitted - 6) <= 1e-9); /* both are where weights end */
    assert_true(isnan(half));
    must(far_lowess(ctx, pair, ends, 2, 1, 0, NULL, 0, NULL, NULL));
}

static void lowess_refuses_by_reason(void **state)
{
    (void)state;
    const double x[] = {1, 2, NAN}, y[] = {1, NAN, 3}, grid[] = {1, INFINITY};
    double out[2];
    refused(far_lowess(ctx, NULL, y, 3, 0.5, 0, grid, 1, out, NULL), FAR_ERR_ARG, "NULL");
    refused(far_lowess(ctx, x, NULL, 3, 0.5, 0, grid, 1, out, NULL), FAR_ERR_ARG, "NULL");
    refused(far_lowess(ctx, x, y, -1, 0.5, 0, grid, 1, out, NULL), FAR_ERR_ARG, "negative");
    refused(far_lowess(ctx, x, y, 3, 0.5, 0, grid, -1, out, NULL), FAR_ERR_ARG, "negative");
    refused(far_lowess(ctx, x, y, 3, 0.5, 0, NULL, 1, out, NULL), FAR_ERR_ARG, "NULL");
    refused(far_lowess(ctx, x, y, 3, 0.5, 0, grid, 1, NULL, NULL), FAR_ERR_ARG, "NULL");
    refused(far_lowess(ctx, x, y, 3, 0, 0, grid, 1, out, NULL), FAR_ERR_ARG, "fraction is 0");
    refused(far_lowess(ctx, x, y, 3, 1.5, 0, grid, 1, out, NULL), FAR_ERR_ARG, "fraction is 1.5");
    refused(far_lowess(ctx, x, y, 3, 1, -1, grid, 1, out, NULL), FAR_ERR_ARG, "iterations -1");
    refused(far_lowess(ctx, x, y, 3, 1, 101, grid, 1, out, NULL), FAR_ERR_ARG, "iterations 101");
    refused(far_lowess(ctx, x, y, 3, 1, 0, grid, 2, out, NULL), FAR_ERR_VALUE, "grid[1] is inf");
    refused(far_lowess(ctx, x, y, 3, 1, 0, grid, 1, out, NULL), FAR_ERR_VALUE, "1 are finite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(quantiles_lie_between_order_statistics),
        TEST(lowess_where_points_coincide_or_lie_apart),
        TEST(lowess_refuses_by_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
