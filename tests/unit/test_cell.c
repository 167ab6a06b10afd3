/*
 * Pieces of the sphere: the distance that branch and bound assumes within a piece is never below
 * the distance of any pair of its points, and is infinite where nothing is known.
 */
#include "../../src/certify/certify_internal.h"
#include "../../src/data/frame_internal.h"

#include <farfield/farfield.h>

#include "harness.h"
#include "tables.h"

#define DATA "a,y\n1,3\n2,5\n4,-1\n5.5,2\n8,4\n9,4.5\n11,0\n"

static far_model *fit(const char *arch, bool nngp)
{
    far_frame *frame = table_of(DATA);
    far_model *m;
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = arch;
    o.ridge = 0.01;
    o.kernel = nngp ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
    must(far_model_fit(ctx, frame, &o, &m));
    far_frame_destroy(frame);
    return m;
}

/* |k(x, .) - k(c, .)| at angles from the pole: x = unit tan(angle). */
static double distance(const far_model *m, double x_angle, double c_angle)
{
    double unit = far_sphere_unit(m), k[4];
    double points[2] = {unit * tan(x_angle), unit * tan(c_angle)};
    far_mat x = far_mat_view(points, 2, 1, FAR_F64), out = far_mat_view(k, 2, 2, FAR_F64);
    bool nngp = m->info.kernel == FAR_KERNEL_NNGP;
    must(far_kernel_eval(ctx, m->kernel, &x, NULL, FAR_FILL_FULL, nngp ? &out : NULL,
                         nngp ? NULL : &out));
    return sqrt(fmax(k[0] + k[3] - 2 * k[1], 0));
}

static void pieces_are_no_wider_than_said(void **state)
{
    (void)state;
    static const char *const archs[] = {
        "dense ln relu dense relu dense",
        "dense relu dense",
        "dense abs dense abs dense",
        "dense leaky_relu(-0.7) dense rms(eps=0.3) relu dense",
        "dense(w=0.3, b=2) identity(gain=3) batchnorm(eps=0.5) dense relu dense",
    };
    for (int a = 0; a < 2 * COUNT(archs); a++) {
        far_model *m = fit(archs[a / 2], a % 2);
        assert_true(far_cell_supported(m));
        double tightest = INFINITY;
        for (int k = 0; k < 60; k++) {
            double c = -1.5 + 3 * fmod(0.6180339887498949 * (k + 1), 1), r = 0.6 * pow(0.8, k % 20);
            double low = fmax(fmin(cos(c - r), cos(c + r)), 0),
                   high = fabs(c) < r ? 1 : fmax(cos(c - r), cos(c + r));
            double most = far_cell_distance(m, cos(c), r, low, high);
            for (int i = 0; i <= 10; i++) {
                double x = fmin(fmax(c + r * (i / 5.0 - 1), -1.57), 1.57),
                       found = distance(m, x, c);
                if (!(found <= most * (1 + 1e-9) + 1e-7)) {
                    fail_msg("%s: %.17g between %g and %g, said to be at most %.17g", archs[a / 2],
                             found, x, c, most);
                }
                tightest = fmin(tightest, found > 1e-3 ? most / found : INFINITY);
            }
        }
        assert_true(tightest < 2); /* and it says something */
        far_model_destroy(m);
    }
}

/* Beyond a right angle a cosine behind abs falls again; scales may leave the range of doubles. */
static void what_is_not_known_is_infinite(void **state)
{
    (void)state;
    far_model *m = fit("dense abs dense", false);
    assert_true(isinf(far_cell_distance(m, 1, 2, 0.1, 1)));
    assert_true(isfinite(far_cell_distance(m, 1, 0.5, 0.8, 1)));
    far_model_destroy(m);
    static const char *const extremes[] = {
        "dense(w=1e-145, b=1e-145) relu dense", "dense relu(gain=1e-145) dense",
        "dense relu dense(w=1e145) relu(gain=1e-145) dense", "dense rms(eps=1e-290) relu dense",
        "dense relu(gain=1e-142) dense(w=1) relu dense"};
    for (int i = 0; i < COUNT(extremes); i++) {
        m = fit(extremes[i], false);
        assert_true(far_cell_supported(m));
        assert_true(isinf(far_cell_distance(m, 0.9, 0.1, 0.8, 1)));
        far_model_destroy(m);
    }
}

static void other_layers_are_not_judged(void **state)
{
    (void)state;
    static const char *const others[] = {
        "dense ln(affine) relu dense",  "dense gelu dense",
        "dense(nobias) relu dense",     "rms(eps=1) dense relu dense",
        "dense skip(relu dense) dense", "dense(w=0, b=1) relu dense"};
    for (int i = 0; i < COUNT(others); i++) {
        far_model *m = fit(others[i], false);
        assert_false(far_cell_supported(m));
        assert_true(far_sphere_unit(m) > 0);
        far_model_destroy(m);
    }
}

/* A finite point and a direction; each allocation fails in turn, and nothing changes the values. */
static void evaluations_survive_failing_allocations(void **state)
{
    (void)state;
    far_model *m = fit("dense ln relu dense relu dense", false);
    double s[] = {0.6, 0.8, -1, 0}, first[2], values[2], raw = 3.5, one = NAN;
    must(far_sphere_eval(ctx, m, far_sphere_unit(m), s, 2, first));
    far_status st = FAR_ERR_MEMORY;
    int failures = 0;
    for (; st == FAR_ERR_MEMORY; failures++) {
        test_heap.fail_at = test_heap.calls + failures;
        st = far_sphere_eval(ctx, m, far_sphere_unit(m), s, 2, values);
    }
    must(st);
    assert_true(failures > 4 && values[0] == first[0] && values[1] == first[1]);
    st = FAR_ERR_MEMORY;
    for (failures = 0; st == FAR_ERR_MEMORY; failures++) {
        test_heap.fail_at = test_heap.calls + failures;
        st = far_raw_value(ctx, m, 0, &raw, failures % 2, &one);
    }
    test_heap.fail_at = -1;
    must(st);
    assert_true(failures > 3 && isfinite(one));
    far_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_no_wider_than_said),
        TEST(what_is_not_known_is_infinite),
        TEST(other_layers_are_not_judged),
        TEST(evaluations_survive_failing_allocations),
    };
    return cmocka_run_group_tests_name("cell", tests, NULL, NULL);
}
