/* How far the kernel of each point reaches. */
#include "measure_fixture.h"

enum { SIDE = 29, GRID = SIDE * SIDE };
static double places[GRID * 2];

static far_mat grid_points(void)
{
    for (int i = 0; i < GRID; i++) {
        places[2 * i] = -1 + 2.0 * (i % SIDE) / (SIDE - 1);
        places[2 * i + 1] = -1 + 2.0 * (i / SIDE) / (SIDE - 1);
    }
    return mat(places, GRID, 2);
}

/* a a' exp(-r^2 / (2 width^2)), with an a that varies. */
static double *gaussian(double width)
{
    double *k = malloc(sizeof(double) * GRID * GRID);
    for (int i = 0; i < GRID; i++) {
        for (int j = 0; j < GRID; j++) {
            double dx = places[2 * i] - places[2 * j], dy = places[2 * i + 1] - places[2 * j + 1];
            k[i * GRID + j] =
                (1 + 0.01 * i) * (1 + 0.01 * j) * exp(-(dx * dx + dy * dy) / (2 * width * width));
        }
    }
    return k;
}

/* exp(-r^2 / (2 w^2)) = level at r = w sqrt(-2 ln level), whatever the lengths are. */
static void a_gaussian_reaches_as_far_everywhere(void **state)
{
    far_mat x = grid_points();
    double *k = gaussian(0.3), reach[GRID], least[GRID];
    far_view *v = view_of(k, GRID, 0);
    (void)state;
    OK(far_local_reach(ctx, v, &x, FAR_LOCAL_BINS, 0.5, reach, least));
    for (int i = 0; i < GRID; i++) {
        double farthest = hypot(1 + fabs(places[2 * i]), 1 + fabs(places[2 * i + 1]));
        assert_near(reach[i], 0.3 * sqrt(2 * log(2)), 0.01);
        assert_near(least[i], exp(-farthest * farthest / 0.18), 1e-12);
    }
    OK(far_local_reach(ctx, v, &x, FAR_LOCAL_BINS, -0.5, reach, NULL));
    assert_true(isnan(reach[GRID / 2]));
    OK(far_local_reach(ctx, v, &x, FAR_LOCAL_BINS, 0.5, NULL, least));
    far_view_destroy(v);
    free(k);
}

static void a_point_between_others_by_hand(void **state)
{
    double k[9] = {4, 2, -1, 2, 4, 1, -1, 1, 1}, x[3] = {0, 1, 3}, reach[3], least[3];
    far_mat at = mat(x, 3, 1);
    far_view *v = view_of(k, 3, 0);
    (void)state;
    OK(far_local_reach(ctx, v, &at, 3, 0.25, reach, least));
    assert_near(reach[0], 1 + 2 * (0.5 - 0.25) / (0.5 + 0.5), 1e-15); /* 1, 0.5, -0.5 */
    assert_near(least[0], -0.5, 1e-15);
    assert_true(isnan(reach[1])); /* 1, 0.5, 0.5 */
    assert_near(least[1], 0.5, 1e-15);
    assert_near(reach[2], 2.5 * 0.75, 1e-15); /* 0.5 at 2 and -0.5 at 3 are in one bin */
    far_view_destroy(v);
}

static void wrong_arguments_are_named(void **state)
{
    double k[4] = {1, 0.5, 0.5, 1}, x[2] = {0, 1}, same[2] = {1, 1}, reach[2];
    far_mat at = mat(x, 2, 1), one = mat(same, 2, 1), few = mat(x, 1, 1);
    far_view *v = view_of(k, 2, 0), *two = view_of(k, 2, 1);
    (void)state;
    assert_int_equal(far_local_reach(ctx, v, &at, 1, 0.5, reach, NULL), FAR_ERR_ARG);
    assert_message("1 bin and level 0.5");
    assert_int_equal(far_local_reach(ctx, v, &at, 5, 1, reach, NULL), FAR_ERR_ARG);
    assert_int_equal(far_local_reach(ctx, v, &at, 5, NAN, reach, NULL), FAR_ERR_ARG);
    assert_int_equal(far_local_reach(ctx, v, &one, 5, 0.5, reach, NULL), FAR_ERR_VALUE);
    assert_message("all points coincide");
    assert_int_equal(far_local_reach(ctx, v, &few, 5, 0.5, reach, NULL), FAR_ERR_SHAPE);
    assert_int_equal(far_local_reach(ctx, two, &few, 5, 0.5, reach, NULL), FAR_ERR_SHAPE);
    assert_message("one output a point");
    far_view_destroy(v);
    far_view_destroy(two);
    k[3] = 0;
    k[1] = k[2] = 0;
    v = view_of(k, 2, 0);
    assert_int_equal(far_local_reach(ctx, v, &at, 5, 0.5, reach, NULL), FAR_ERR_VALUE);
    assert_message("positive diagonal");
    far_view_destroy(v);
}

static void memory_may_run_out(void **state)
{
    double k[4] = {1, 0.5, 0.5, 1}, x[2] = {0, 1}, reach[2];
    far_mat at = mat(x, 2, 1);
    far_view *v = view_of(k, 2, 0);
    int64_t before = test_heap.live_blocks;
    (void)state;
    test_heap.calls = 0;
    test_heap.fail_at = 0;
    assert_int_equal(far_local_reach(ctx, v, &at, 5, 0.5, reach, NULL), FAR_ERR_MEMORY);
    test_heap.fail_at = -1;
    assert_int_equal(test_heap.live_blocks, before);
    far_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gaussian_reaches_as_far_everywhere),
        TEST(a_point_between_others_by_hand),
        TEST(wrong_arguments_are_named),
        TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
