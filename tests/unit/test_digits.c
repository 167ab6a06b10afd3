/* The digits of experiments: an order by seed, pixels standardised, two tasks. */
#include "digits.h" /* before cmocka, which has a fail of its own */

#include "harness.h"

#define ROWS 53

/* Row i has i in pixel 3, i^2 in pixel 61, 0.5 in pixel 7 and nothing else. */
static digits made_up(void)
{
    digits d = {ROWS, calloc(ROWS * DIGIT_PIXELS, sizeof(double)), calloc(ROWS, sizeof(double))};
    for (int i = 0; i < ROWS; i++) {
        d.x[i * DIGIT_PIXELS + 3] = i;
        d.x[i * DIGIT_PIXELS + 61] = i * i;
        d.x[i * DIGIT_PIXELS + 7] = 0.5;
        d.digit[i] = i % 10;
    }
    return d;
}

static void rows_travel_whole_and_once(void **state)
{
    (void)state;
    digits d = made_up(), s = digits_shuffled(&d, 5);
    bool seen[ROWS] = {false};
    assert_int_equal(s.rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        int row = (int)s.x[i * DIGIT_PIXELS + 3];
        assert_false(seen[row]);
        seen[row] = true;
        assert_true(s.digit[i] == row % 10);
        assert_true(s.x[i * DIGIT_PIXELS + 61] == row * row);
    }
    digits_free(&d);
    digits_free(&s);
}

static bool same(const digits *a, const digits *b)
{
    return memcmp(a->x, b->x, ROWS * DIGIT_PIXELS * sizeof(double)) == 0;
}

static void the_order_hangs_on_the_seed(void **state)
{
    (void)state;
    digits d = made_up(), a = digits_shuffled(&d, 0), b = digits_shuffled(&d, 0);
    digits c = digits_shuffled(&d, 1);
    assert_true(same(&a, &b));
    assert_false(same(&a, &c));
    assert_false(same(&a, &d));
    digits_free(&d);
    digits_free(&a);
    digits_free(&b);
    digits_free(&c);
}

static void pixels_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    static const int COLUMNS[] = {3, 61};
    digits d = made_up();
    digits_standardise(&d);
    for (int k = 0; k < 2; k++) {
        double mean = 0, square = 0;
        for (int i = 0; i < ROWS; i++) {
            double x = d.x[i * DIGIT_PIXELS + COLUMNS[k]];
            mean += x / ROWS;
            square += x * x / ROWS;
        }
        assert_near(mean, 0, 1e-12);
        assert_near(square, 1, 1e-12);
    }
    assert_true(d.x[7] == 0 && d.x[11] == 0); /* always the same */
    digits_free(&d);
}

static void points_are_rows_in_place(void **state)
{
    (void)state;
    digits d = made_up();
    far_mat m = digits_points(&d, 17, 19);
    assert_int_equal(m.rows, 19);
    assert_int_equal(m.cols, DIGIT_PIXELS);
    assert_true(((double *)m.data)[3] == 17);
    digits_free(&d);
}

static void tasks_are_signs(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_true(digit_is_odd(i) == (i % 2 == 1 ? 1 : -1));
        assert_true(digit_is_large(i) == (i < 5 ? -1 : 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_travel_whole_and_once),
        cmocka_unit_test(the_order_hangs_on_the_seed),
        cmocka_unit_test(pixels_have_mean_0_and_variance_1),
        cmocka_unit_test(points_are_rows_in_place),
        cmocka_unit_test(tasks_are_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
