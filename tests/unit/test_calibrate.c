/* Probabilities and intervals from rows that were left out, held against search by brute force and
 * against errors whose law is known. */
#include "../../src/score/score_internal.h"

#include "chance.h"
#include "harness.h"

enum { ROWS = 127, CLASSES = 3, FRESH = 20011 };

/* ---- classes ------------------------------------------------------------------------------- */

/* The sum that far_class_calibrate makes least, written down once more. */
static double penalised(const double *scores, const int64_t *labels, int rows, int classes,
                        const double *link)
{
    double sum = 0, smooth = 1.0 / (rows + 1);
    for (int i = 0; i < rows; i++) {
        double whole = 0;
        for (int c = 0; c < classes; c++) {
            whole += exp(link[0] * scores[i * classes + c] + link[1 + c]);
        }
        for (int c = 0; c < classes; c++) {
            double part = (labels[i] == c ? 1 - smooth : 0) + smooth / classes;
            sum -= part * (link[0] * scores[i * classes + c] + link[1 + c] - log(whole));
        }
    }
    for (int c = 0; c < classes; c++) {
        sum += link[1 + c] * link[1 + c];
    }
    return sum;
}

/* One coordinate after the other, by ever smaller steps to both sides. */
static double search(const double *scores, const int64_t *labels, int rows, int classes,
                     double *link)
{
    double least = penalised(scores, labels, rows, classes, link);
    for (double step = 4; step > 1e-7; step /= 2) {
        for (int sweep = 0, moved = 1; moved && sweep < 200; sweep++) {
            moved = 0;
            for (int c = 0; c < 2 * (classes + 1); c++) {
                double old = link[c / 2];
                link[c / 2] = old + (c % 2 ? step : -step);
                link[0] = fmax(link[0], 0);
                double now = penalised(scores, labels, rows, classes, link);
                moved = moved || now < least;
                link[c / 2] = now < least ? link[c / 2] : old;
                least = fmin(now, least);
            }
        }
    }
    return least;
}

/* Scores that lean to the label by so much. */
static void draw(uint64_t seed, double lean, double *scores, int64_t *labels)
{
    for (int i = 0; i < ROWS; i++) {
        labels[i] = (int64_t)(roll_unit(&seed) * 1.7) + (roll_unit(&seed) < 0.2);
        for (int c = 0; c < CLASSES; c++) {
            scores[i * CLASSES + c] = lean * (labels[i] == c) + 0.3 * roll_bell(&seed) + 0.2 * c;
        }
    }
}

static void the_temperature_is_that_of_a_search(void **state)
{
    (void)state;
    static const double leans[] = {0.05, 0.5, 1, 3};
    double scores[ROWS * CLASSES], link[CLASSES + 1];
    int64_t labels[ROWS];
    for (int k = 0; k < COUNT(leans); k++) {
        double found[CLASSES + 1] = {1};
        draw((uint64_t)k + 5, leans[k], scores, labels);
        far_mat m = far_mat_view(scores, ROWS, CLASSES, FAR_F64);
        must(far_class_calibrate(ctx, &m, labels, link));
        double least = search(scores, labels, ROWS, CLASSES, found);
        assert_near(penalised(scores, labels, ROWS, CLASSES, link), least, 1e-9 * least);
        for (int c = 0; c <= CLASSES; c++) {
            assert_near(link[c], found[c], 1e-4 * (1 + fabs(found[c])));
        }
    }
}

static void scores_in_good_order_do_not_make_certain(void **state)
{
    (void)state;
    double scores[ROWS * 2], link[3], p[2];
    int64_t labels[ROWS];
    for (int i = 0; i < ROWS; i++) {
        labels[i] = i % 2;
        scores[2 * i] = labels[i] ? 0.1 : 0.9;
        scores[2 * i + 1] = 1 - scores[2 * i];
    }
    far_mat m = far_mat_view(scores, ROWS, 2, FAR_F64);
    must(far_class_calibrate(ctx, &m, labels, link));
    far_class_probability(link, 0, scores, 2, p);
    assert_near(p[0], 1 - 0.5 / (ROWS + 1), 1e-6); /* half of the one row in ROWS + 1 */
    scores[0] = 1e300;
    scores[1] = -1e300;
    far_class_probability(link, far_class_floor(ROWS), scores, 2, p);
    assert_true(p[0] < 1 && p[1] > 0 && p[0] + p[1] == 1);
}

static void worthless_scores_leave_the_frequencies(void **state)
{
    (void)state;
    double scores[ROWS * 2], link[3], p[2];
    int64_t labels[ROWS];
    for (int i = 0; i < ROWS; i++) { /* as leave-one-out of a mean: a little against each label */
        labels[i] = i % 4 == 0;
        scores[2 * i] = 0.5 + (labels[i] ? 0.002 : -0.001);
        scores[2 * i + 1] = 1 - scores[2 * i];
    }
    far_mat m = far_mat_view(scores, ROWS, 2, FAR_F64);
    must(far_class_calibrate(ctx, &m, labels, link));
    assert_true(link[0] == 0);
    far_class_probability(link, 0, scores, 2, p);
    assert_near(p[1], 32.0 / ROWS, 0.02);
}

/* ---- intervals ----------------------------------------------------------------------------- */

/* Errors of a law: normal, or Student's with three degrees of freedom. */
static double error_of(bool heavy, uint64_t *seed)
{
    double z = roll_bell(seed);
    if (!heavy) {
        return z;
    }
    double a = roll_bell(seed), b = roll_bell(seed), c = roll_bell(seed);
    return z / sqrt((a * a + b * b + c * c) / 3);
}

/* Posterior variances from 0.2 to 1, noise 0.5, amplitude 9; a ridge that says 0.01 of noise. */
static void intervals_hold_what_they_promise(void **state)
{
    (void)state;
    enum { N = 1009 };
    double miss[N], variance[N];
    for (int heavy = 0; heavy < 2; heavy++) {
        uint64_t seed = 11;
        far_band band;
        int held = 0;
        for (int i = 0; i < N; i++) {
            double own = 0.2 + 0.8 * roll_unit(&seed);
            variance[i] = own + 0.01;
            miss[i] = 3 * sqrt(own + 0.5) * error_of(heavy, &seed);
        }
        far_errors e = {miss, variance, N, 1};
        must(far_band_fit(ctx, &e, 0.01, 1, &band));
        for (int i = 0; i < FRESH; i++) {
            double own = 0.2 + 0.8 * roll_unit(&seed);
            double y = 3 * sqrt(own + 0.5) * error_of(heavy, &seed);
            held += fabs(y) <= 1.959964 * band.size * sqrt(own + band.noise);
        }
        assert_near((double)held / FRESH, 0.95, 0.02);
        assert_true(band.noise > 0.01 && band.noise <= 1.01);
    }
}

static void few_rows_have_wide_intervals(void **state)
{
    (void)state;
    const double miss[] = {1, -1, 1, -1, 1}, variance[] = {1, 1, 1, 1, 1};
    far_errors e = {miss, variance, 5, 1};
    far_band band;
    must(far_band_fit(ctx, &e, 1, 1, &band));
    double sd = band.size * sqrt(band.noise);
    assert_near(1.959964 * sd, 2.570582, 1e-5); /* Student's 95% of five */
    double none[5] = {0};
    e.miss = none;
    must(far_band_fit(ctx, &e, 1, 1, &band));
    assert_true(band.size == 0 && band.noise == 1);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double scores[ROWS * CLASSES], link[CLASSES + 1];
    int64_t labels[ROWS];
    far_band band;
    draw(3, 1, scores, labels);
    far_mat m = far_mat_view(scores, ROWS, CLASSES, FAR_F64);
    far_errors e = {scores, scores, 5, 1};
    test_heap.fail_at = test_heap.calls;
    refused(far_class_calibrate(ctx, &m, labels, link), FAR_ERR_MEMORY, "memory");
    test_heap.fail_at = test_heap.calls;
    refused(far_band_fit(ctx, &e, 1, 1, &band), FAR_ERR_MEMORY, "memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_temperature_is_that_of_a_search),
        TEST(scores_in_good_order_do_not_make_certain),
        TEST(worthless_scores_leave_the_frequencies),
        TEST(intervals_hold_what_they_promise),
        TEST(few_rows_have_wide_intervals),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
