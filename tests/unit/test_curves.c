/* Peaks, crossings, sigmoids and the constants of power laws: values by hand. */
#include "curves.h"
#include "measure_fixture.h"

static void a_peak_by_hand(void **state)
{
    double x[6] = {0, 1, 2, 4, 5, 6}, y[6] = {0, 1, 4, 1, 0, 0};
    curve_peak p;
    (void)state;
    p = curve_find_peak(x, y, 6, 0);
    assert_near(p.x, 2, 0);
    assert_near(p.y, 4, 0);
    assert_near(p.left, 1 + 1.0 / 3, 1e-14);
    assert_near(p.right, 2 + 4.0 / 3, 1e-14);
    assert_near(p.width, 2, 1e-14);
    p = curve_find_peak(x, y, 6, 2); /* half of what is above 2 */
    assert_near(p.left, 1 + 2.0 / 3, 1e-14);
    p = curve_find_peak(x, y, 3, 0); /* no right side */
    assert_true(isnan(p.right) && isnan(p.width) && !isnan(p.left));
    p = curve_find_peak(x, y, 1, 0); /* nothing above the base */
    assert_true(isnan(p.left) && p.x == 0);
    p = curve_find_peak(x, y, 4, -9); /* nowhere down to the level: no sides */
    assert_true(isnan(p.left) && isnan(p.right) && p.x == 2);
}

static void a_crossing_by_hand(void **state)
{
    double x[4] = {0, 1, 3, 4}, y[4] = {-1, -0.5, 1.5, -2}, at;
    (void)state;
    at = curve_crossing(x, y, 4, 0);
    assert_near(at, 1.5, 1e-15);
    at = curve_crossing(x, y, 4, -1);
    assert_near(at, 0, 0);
    at = curve_crossing(x, y, 4, 1.5); /* touched */
    assert_near(at, 3, 1e-15);
    at = curve_crossing(x, y, 4, 2);
    assert_true(isnan(at));
}

static void a_sigmoid_is_found(void **state)
{
    double x[31], y[31];
    curve_sigmoid s;
    (void)state;
    for (int falls = 0; falls < 2; falls++) {
        for (int i = 0; i < 31; i++) {
            x[i] = 0.2 * i;
            y[i] = (falls ? -3 : 3) / (1 + exp(-(x[i] - 2.31) / 0.37)) + 1;
        }
        s = curve_fit_sigmoid(x, y, 31);
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
    s = curve_fit_sigmoid(x, y, 31);
    assert_near(s.middle, 2.31, 0.06);
    assert_near(s.error, 0.05, 0.025);
    for (int i = 0; i < 31; i++) {
        y[i] = x[i]; /* a line is no sigmoid */
    }
    s = curve_fit_sigmoid(x, y, 31);
    assert_false(s.settled);
}

static void what_is_no_curve_has_nothing(void **state)
{
    double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 1, 1, 1, 1}, back[2] = {1, 0};
    (void)state;
    assert_true(isnan(curve_find_peak(x, y, 0, 0).x));
    assert_true(isnan(curve_find_peak(back, y, 2, 0).x)); /* x must ascend */
    assert_true(isnan(curve_fit_sigmoid(x, y, 5).middle) && !curve_fit_sigmoid(x, y, 5).settled);
    y[4] = 2;
    assert_true(isnan(curve_fit_sigmoid(x, y, 4).middle));
    x[3] = INFINITY;
    assert_true(isnan(curve_find_peak(x, y, 5, 0).x));
    x[3] = 3;
    y[1] = NAN;
    assert_true(isnan(curve_crossing(x, y, 5, 0)));
}

/* One hidden relu layer, uniform points of [-1, 1]: mu = 1/2 and a = 1/pi make Lam = 4 / pi^3. */
static void the_constant_of_an_interval(void **state)
{
    double symbol = power_symbol(1, 1);
    (void)state;
    assert_near(symbol, 2, 1e-14);
    assert_near(power_constant(1, 1, 2 * sqrt(0.5 / PI * symbol)), 4 / pow(PI, 3), 1e-15);
    assert_near(power_symbol(3, 2), 0, 0); /* |x|^2 is smooth */
}

/* L(t) = 1/2 sum e^{-2 lambda t} c^2 comes near the formula. */
static void the_formula_of_the_loss(void **state)
{
    enum { MANY = 2000000 };
    double nu = 2, kappa = 1, lam = 0.3, t = 5e4, loss = 0;
    (void)state;
    for (int n = 1; n < MANY; n++) { /* tails 1 / n: c^2 = 1 / n - 1 / (n + 1) */
        loss += exp(-2 * lam * pow(n, -nu) * t) / ((double)n * (n + 1)) / 2;
    }
    loss += 0.5 / MANY;
    assert_near(loss / power_loss(lam, nu, 1, kappa, t), 1, 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_peak_by_hand),
        TEST(a_crossing_by_hand),
        TEST(a_sigmoid_is_found),
        TEST(what_is_no_curve_has_nothing),
        TEST(the_constant_of_an_interval),
        TEST(the_formula_of_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
