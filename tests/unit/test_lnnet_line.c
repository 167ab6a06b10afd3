/* Folds of the line, and the step of the paper: values by hand. */
#include "lnnet_line.h"

#include <math.h>

#include "harness.h"

#include "chance.h"

static void folds_merge_what_they_should(void **state)
{
    (void)state;
    lnnet_fold f = lnnet_fold_merge(-1, 3, NAN, NAN);
    assert_true(f.hinge == 1 && f.mu == 0 && f.k == 0.5);
    assert_true(fabs(lnnet_fold_at(&f, 3).circle_y - sqrt(0.5)) < 1e-15);
    assert_true(lnnet_fold_at(&f, 1).circle_y == 1);
    f = lnnet_fold_merge(-1, 3, 0.25, 2);
    lnnet_place a = lnnet_fold_at(&f, -1), b = lnnet_fold_at(&f, 3);
    assert_true(fabs(a.circle_y - b.circle_y) < 1e-15);
    assert_true(fabs(fabs(a.abscissa / a.height) - 2) < 1e-14);
    assert_true(fabs(a.circle_x + b.circle_x) < 1e-14);
}

static void the_step_of_the_paper(void **state)
{
    (void)state;
    double x[] = {4, 0, 3, 1, 9};
    int64_t labels[] = {0, 0, 1, 2, 3};
    lnnet_step step;
    assert_int_equal(lnnet_paper_step(x, labels, 5, &step), FAR_OK);
    assert_int_equal(step.a, 1);
    assert_int_equal(step.b, 0);
    assert_true(step.halfway.hinge == 2 && step.fold.hinge != 2);
    assert_true((step.confused == 2 && step.with == 3) || (step.confused == 3 && step.with == 2));
    double gap = lnnet_fold_at(&step.fold, 3).circle_y - lnnet_fold_at(&step.fold, 1).circle_y;
    assert_true(fabs(gap) > 0.01);
    assert_true(fabs(lnnet_fold_at(&step.fold, 0).circle_y -
                     lnnet_fold_at(&step.fold, 4).circle_y) < 1e-15);
    x[2] = 2.5;
    assert_int_equal(lnnet_paper_step(x, labels, 5, &step), FAR_OK);
    assert_int_equal(step.confused, -1);
    labels[0] = 4;
    assert_int_equal(lnnet_paper_step(x, labels, 5, &step), FAR_ERR_ARG);
}

/* In whatever order the points come, the same step: it merges 1 and 6, between which 3 and 4 are
 * confused. */
static void the_step_knows_no_order(void **state)
{
    (void)state;
    static const double X[] = {0, 1, 3, 4, 5, 6, 9, 10};
    static const int64_t LABELS[] = {5, 0, 1, 2, 1, 0, 1, 0};
    lnnet_step wanted, step;
    uint64_t luck = 7;
    double x[COUNT(X)];
    int64_t labels[COUNT(X)];
    assert_int_equal(lnnet_paper_step(X, LABELS, COUNT(X), &wanted), FAR_OK);
    assert_true(wanted.a == 1 && wanted.b == 5 && wanted.confused == 2 && wanted.with == 3);
    for (int round = 0; round < 50; round++) {
        int order[COUNT(X)] = {0};
        for (int i = 0; i < COUNT(X); i++) {
            int j = (int)(roll(&luck) % (uint64_t)(i + 1));
            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; i < COUNT(X); i++) {
            x[i] = X[order[i]];
            labels[i] = LABELS[order[i]];
        }
        assert_int_equal(lnnet_paper_step(x, labels, COUNT(X), &step), FAR_OK);
        assert_true(order[step.a] == 1 && order[step.b] == 5);
        assert_int_equal(order[step.confused] + order[step.with], 2 + 3);
        assert_memory_equal(&step.fold, &wanted.fold, sizeof step.fold);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(folds_merge_what_they_should),
        TEST(the_step_of_the_paper),
        TEST(the_step_knows_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
