/*
 * Shattering: every labelling of L + 2 points is realised in at most L layers.
 */
#include <farfield/lnnet.h>
#include <farfield/nonlinear.h>

#include "harness.h"

static far_shatter shatter(int64_t layers, const far_mat *x)
{
    far_shatter s;
    assert_int_equal(far_lnnet_shatter(ctx, layers, x, 1, &s), FAR_OK);
    assert_true(s.layers == layers && s.points == layers + 2);
    assert_true(s.labellings == (int64_t)1 << (layers + 2) && s.built == s.labellings / 2);
    return s;
}

static void points_of_the_plane_are_shattered(void **state)
{
    (void)state;
    for (int64_t layers = 1; layers <= 5; layers++) {
        far_shatter s = shatter(layers, NULL);
        assert_int_equal(s.realised, s.labellings);
        assert_true(s.failed == -1 && s.most_layers <= layers && s.margin > 1e-6);
    }
}

/* On a line alternating labels need every layer. */
static void points_of_a_line_need_all_layers(void **state)
{
    double x[] = {0, 1, 2, 3, 4, 5, 6};
    (void)state;
    for (int64_t layers = 1; layers <= 5; layers++) {
        far_mat m = far_mat_view(x, layers + 2, 1, FAR_F64);
        far_shatter s = shatter(layers, &m);
        assert_int_equal(s.realised, s.labellings);
        assert_int_equal(s.most_layers, layers);
    }
}

static void points_may_lie_anywhere(void **state)
{
    double x[] = {1e6, 1, 1e6 + 1, 1, 1e6, 2, -3e6, 5, 0, 0};
    far_mat m = far_mat_view(x, 5, 2, FAR_F64);
    (void)state;
    assert_int_equal(shatter(3, &m).realised, 32);
}

static void bad_arguments_are_refused(void **state)
{
    double x[] = {0, 1, 2, 1};
    far_mat twice = far_mat_view(x, 4, 1, FAR_F64), few = far_mat_view(x, 3, 1, FAR_F64);
    far_mat floats = far_mat_view(x, 4, 1, FAR_F32);
    far_shatter s;
    (void)state;
    assert_int_equal(far_lnnet_shatter(ctx, 0, NULL, 1, &s), FAR_ERR_ARG);
    assert_int_equal(far_lnnet_shatter(ctx, FAR_SHATTER_LAYERS_MOST + 1, NULL, 1, &s), FAR_ERR_ARG);
    assert_int_equal(far_lnnet_shatter(ctx, 2, &few, 1, &s), FAR_ERR_SHAPE);
    assert_non_null(strstr(far_ctx_message(ctx), "4 points"));
    assert_int_equal(far_lnnet_shatter(ctx, 2, &floats, 1, &s), FAR_ERR_ARG);
    assert_int_equal(far_lnnet_shatter(ctx, 2, &twice, 1, &s), FAR_ERR_VALUE);
    assert_non_null(strstr(far_ctx_message(ctx), "rows 2 and 4"));
    x[3] = NAN;
    assert_int_equal(far_lnnet_shatter(ctx, 2, &twice, 1, &s), FAR_ERR_VALUE);
    assert_non_null(strstr(far_ctx_message(ctx), "row 4, column 1"));
}

static void every_allocation_may_fail(void **state)
{
    far_status st = FAR_ERR_MEMORY;
    far_shatter s;
    (void)state;
    for (int64_t k = 0; st != FAR_OK; k++) {
        test_heap.fail_at = test_heap.calls + k;
        st = far_lnnet_shatter(ctx, 1, NULL, 1, &s);
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
    }
    test_heap.fail_at = -1;
}

static void it_can_be_cancelled(void **state)
{
    far_shatter s;
    (void)state;
    ear.stop_at = 7;
    assert_int_equal(far_lnnet_shatter(ctx, 3, NULL, 1, &s), FAR_ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_of_the_plane_are_shattered), TEST(points_of_a_line_need_all_layers),
        TEST(points_may_lie_anywhere),           TEST(bad_arguments_are_refused),
        TEST(every_allocation_may_fail),         TEST(it_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
