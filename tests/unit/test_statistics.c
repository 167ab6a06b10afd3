/* Quantiles and histograms: at the edges of what they take, and what they refuse. */
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

static void equal_values_get_a_bin_around_them(void **state)
{
    (void)state;
    const double same[] = {40, 40, 40}, zeros[] = {0, 0};
    double edges[FAR_BINS_MOST + 1];
    int64_t used;
    must(far_histogram_edges(ctx, same, COUNT(same), 0, edges, &used));
    assert_int_equal(used, 1);
    assert_true(edges[0] == 38 && edges[1] == 42);
    must(far_histogram_edges(ctx, zeros, COUNT(zeros), 2, edges, &used));
    assert_int_equal(used, 2);
    assert_true(edges[0] == -0.5 && edges[1] == 0 && edges[2] == 0.5);
}

/* Half of the values coincide: Freedman and Diaconis' width is 0, Sturges' is taken. */
static void a_width_of_nothing_is_replaced(void **state)
{
    (void)state;
    double values[16] = {0}, edges[FAR_BINS_MOST + 1], counts[FAR_BINS_MOST];
    int64_t used;
    values[14] = 1;
    values[15] = 9;
    must(far_histogram_edges(ctx, values, COUNT(values), 0, edges, &used));
    assert_in_range(used, 5, FAR_BINS_MOST);
    must(far_histogram_count(ctx, values, COUNT(values), edges, used, counts));
    double sum = 0;
    for (int64_t i = 0; i < used; i++) {
        sum += counts[i];
    }
    assert_true(sum == COUNT(values) && counts[0] >= 14);
}

static void histograms_refuse_by_reason(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3}, wide[] = {-1.7e308, 1.7e308}, far[] = {1.5e308, 1.6e308};
    const double edges[] = {0, 2, 4}, falling[] = {0, 2, 2};
    double out[FAR_BINS_MOST + 1];
    int64_t used;
    refused(far_histogram_edges(ctx, values, 3, -1, out, &used), FAR_ERR_ARG, "bins = -1");
    refused(far_histogram_edges(ctx, values, 3, FAR_BINS_MOST + 1, out, &used), FAR_ERR_ARG,
            "bins");
    refused(far_histogram_edges(ctx, values, 3, 0, NULL, &used), FAR_ERR_ARG, "NULL");
    refused(far_histogram_edges(ctx, values, 3, 0, out, NULL), FAR_ERR_ARG, "NULL");
    refused(far_histogram_edges(ctx, wide, 2, 0, out, &used), FAR_ERR_VALUE, "too far apart");
    refused(far_histogram_edges(ctx, far, 2, 0, out, &used), FAR_ERR_VALUE, "too far apart");
    refused(far_histogram_count(ctx, values, -1, edges, 2, out), FAR_ERR_ARG, "out of range");
    refused(far_histogram_count(ctx, NULL, 3, edges, 2, out), FAR_ERR_ARG, "NULL");
    refused(far_histogram_count(ctx, values, 3, NULL, 2, out), FAR_ERR_ARG, "NULL");
    refused(far_histogram_count(ctx, values, 3, edges, 2, NULL), FAR_ERR_ARG, "NULL");
    refused(far_histogram_count(ctx, values, 3, edges, 0, out), FAR_ERR_ARG, "out of range");
    refused(far_histogram_count(ctx, values, 3, falling, 2, out), FAR_ERR_ARG, "they ascend");
    must(far_histogram_count(ctx, values, 3, edges, 2, out));
    assert_true(out[0] == 1 && out[1] == 2);
    must(far_histogram_count(ctx, NULL, 0, edges, 2, out));
    assert_true(out[0] == 0 && out[1] == 0);
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
        TEST(equal_values_get_a_bin_around_them),
        TEST(a_width_of_nothing_is_replaced),
        TEST(histograms_refuse_by_reason),
        TEST(lowess_where_points_coincide_or_lie_apart),
        TEST(lowess_refuses_by_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
