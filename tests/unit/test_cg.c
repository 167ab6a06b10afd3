/* Products with kernel matrices that are not held, and fits that are made with them: against the
 * matrix and the exact fit. */
#define TEST_THREADS 2
#include "certify/certify_internal.h"
#include "data/frame_internal.h"
#include "gram/gram.h"
#include "regress/model_file.h"
#include "solve/solve_internal.h"

#include <farfield/farfield.h>

#include "harness.h"

enum { D = 3 };
#define LN_FIRST "dense ln relu dense relu dense"

static double *normals(int64_t count, uint64_t seed)
{
    double *v = malloc((size_t)count * sizeof *v);
    for (int64_t i = 0; i < count; i++) {
        v[i] = far_random_normal(seed, (uint64_t)i);
    }
    return v;
}

static far_ctx *with_threads(int threads)
{
    far_ctx *c;
    far_ctx_opts o = {.size = sizeof o, .threads = threads};
    must(far_ctx_create(&o, &c));
    return c;
}

/* ---- products ---- */

/* out = K[:rows, :cols] x, the plain way. */
static void plain(const double *k, int64_t n, int64_t rows, int64_t cols, int64_t p,
                  const double *x, double *out)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < p; c++) {
            long double sum = 0;
            for (int64_t j = 0; j < cols; j++) {
                sum += (long double)k[i * n + j] * x[j * p + c];
            }
            out[i * p + c] = (double)sum;
        }
    }
}

static void check_product(const char *arch, bool nngp, int64_t n, int64_t p, int64_t cols,
                          bool transposed)
{
    far_kernel *kernel;
    double *points = normals(n * D, 1), *x = normals(n * p, 2);
    double *k = calloc((size_t)(n * n), sizeof *k), *want = calloc((size_t)(n * p), sizeof *want);
    far_mat at = far_mat_view(points, n, D, FAR_F64), all = far_mat_view(k, n, n, FAR_F64);
    int64_t rows = transposed ? cols : n, width = transposed ? n : cols;
    size_t bytes = (size_t)(rows * p) * sizeof *x;
    must(far_kernel_create(ctx, arch, NULL, &kernel));
    must(far_kernel_eval(ctx, kernel, &at, NULL, FAR_FILL_FULL, nngp ? &all : NULL,
                         nngp ? NULL : &all));
    plain(k, n, rows, width, p, x, want);
    double *first = malloc(bytes), *y = malloc((size_t)(n * p) * sizeof *y);
    const double memory[] = {0, 1.2e6, 1e9}; /* no tile, two, all */
    for (int i = 0; i < 6; i++) {
        far_product *product;
        far_ctx *c = with_threads(i < 3 ? 1 : 3);
        must(far_product_create(c, kernel, nngp, &at, memory[i % 3], &product));
        must(far_product_apply(c, product, n, false, p, x, y)); /* so that tiles are kept */
        must(far_product_apply(c, product, cols, transposed, p, x, y));
        for (int64_t j = 0; i == 0 && j < rows * p; j++) {
            assert_near(y[j], want[j], 1e-12 * (double)n);
        }
        memcpy(i == 0 ? first : y, y, bytes);
        assert_memory_equal(y, first, bytes);
        far_product_destroy(product);
        far_ctx_destroy(c);
    }
    double *owned[] = {first, y, points, x, k, want};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]);
    }
    far_kernel_destroy(kernel);
}

static void products_are_those_of_the_matrix(void **state)
{
    (void)state;
    check_product("dense ln relu dense", false, 613, 1, 613, false);
    check_product("dense ln relu dense", false, 613, 3, 307, false);
    check_product(LN_FIRST, false, 613, 3, 307, true);
    check_product("dense relu dense", true, 521, 2, 521, false);
    check_product("dense erf dense", false, 521, 1, 13, true);
    check_product("dense ln relu dense", false, 97, 2, 31, true);
}

/* ---- fits ---- */

enum { COLUMNS = 6 };

/* Row i: x1 .. x3, targets y1, y2 with noise, a class. */
static void table_row(int64_t i, double out[COLUMNS])
{
    uint64_t at = 5 * (uint64_t)i;
    for (uint64_t j = 0; j < 5; j++) {
        out[j] = far_random_normal(3, at + j);
    }
    out[3] = 7 + 3 * (sin(2 * out[0]) + out[1] * out[2] + 0.2 * out[3]);
    out[4] = fabs(out[2]) - cos(out[0] + out[1]) + 0.1 * out[4];
    out[5] = out[0] * out[1] > 0.3 ? 2 : out[2] > 0;
}

static far_frame *table(int64_t n)
{
    static const char *const names[] = {"x1", "x2", "x3", "y1", "y2", "k"};
    double *all = malloc((size_t)(COLUMNS * n) * sizeof *all);
    for (int64_t i = 0; i < n; i++) {
        table_row(i, all + COLUMNS * i);
    }
    far_frame *frame;
    far_mat m = far_mat_view(all, n, COLUMNS, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    free(all);
    return frame;
}

static far_fit_opts options(const char *target, far_method method)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = target;
    o.features = "x1,x2,x3";
    o.arch = LN_FIRST;
    o.metric = FAR_METRIC_NONE;
    o.ridge = 1e-2;
    o.method = method;
    o.tolerance = 1e-9;
    return o;
}

static far_model *fit(const far_frame *frame, far_fit_opts o)
{
    far_model *m;
    must(far_model_fit(ctx, frame, &o, &m));
    return m;
}

/* The largest difference of two models over new points, beside the spread of the targets. */
static double distance(const far_model *a, const far_model *b)
{
    enum { POINTS = 101 };
    int64_t p = a->info.outputs;
    double *x = normals(POINTS * D, 9), most = 0;
    double *f = malloc((size_t)(2 * POINTS * p) * sizeof *f), *g = f + POINTS * p;
    far_mat at = far_mat_view(x, POINTS, D, FAR_F64);
    far_mat fa = far_mat_view(f, POINTS, p, FAR_F64), fb = far_mat_view(g, POINTS, p, FAR_F64);
    must(far_model_eval(ctx, a, &at, &fa));
    must(far_model_eval(ctx, b, &at, &fb));
    for (int64_t i = 0; i < POINTS * p; i++) {
        most = fmax(most, fabs(f[i] - g[i]) / far_output_scale(a->columns)[i % p]);
    }
    free(x);
    free(f);
    return most;
}

static void check_cg(const far_frame *frame, far_fit_opts o)
{
    o.method = FAR_METHOD_EXACT;
    far_model *exact = fit(frame, o);
    o.method = FAR_METHOD_CG;
    far_model *cg = fit(frame, o);
    far_model_info i = far_model_describe(cg), e = far_model_describe(exact);
    assert_true(i.converged && i.method == FAR_METHOD_CG && i.iterations > 1);
    assert_true(i.residual <= o.tolerance && i.residual > 0);
    assert_near(i.ridge, e.ridge, 1e-12 * e.ridge);
    assert_true(distance(exact, cg) < 100 * o.tolerance);
    assert_near(i.r2_train, e.r2_train, o.tolerance);
    assert_int_equal(i.held_out, i.loo_rows);
    assert_int_equal(i.trained_rows, i.rows);
    far_model_destroy(exact);
    far_model_destroy(cg);
}

static void conjugate_gradients_give_the_exact_fit(void **state)
{
    (void)state;
    far_frame *frame = table(503);
    far_fit_opts o = options("y1", FAR_METHOD_CG);
    check_cg(frame, o);
    o = options("y1,y2", FAR_METHOD_CG);
    check_cg(frame, o);
    o.arch = "dense relu dense";
    o.landmarks = 7;
    check_cg(frame, o);
    o.kernel = FAR_KERNEL_NNGP;
    o.ridge = 0.5;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    o.standardize = 0;
    o.seed = 11;
    check_cg(frame, o);
    o.tolerance = 1e-3;
    check_cg(frame, o);
    o = options("y1", FAR_METHOD_CG);
    o.metric = FAR_METRIC_FULL;
    check_cg(frame, o);
    o = options("k", FAR_METHOD_CG);
    o.task = FAR_TASK_CLASSIFY;
    check_cg(frame, o);
    far_model *m = fit(frame, o);
    assert_int_equal(m->info.outputs, 3);
    assert_true(m->link && m->info.loo_accuracy > 0.7 && m->info.loo_log_loss < 0.8);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

/* What was held out is scored as new rows are: here by hand, from a fit of the others. */
static void rows_held_out_are_predicted_by_the_others(void **state)
{
    (void)state;
    enum { N = 311 };
    far_frame *frame = table(N);
    far_fit_opts o = options("y1", FAR_METHOD_CG);
    o.standardize = 0; /* what is learnt from the columns is then the same */
    far_model *cg = fit(frame, o);
    unsigned char rows[N];
    int64_t held = 0;
    for (int64_t i = 0; i < N; i++) {
        rows[i] = isnan(cg->loo[i]);
        held += !rows[i];
    }
    assert_int_equal(held, 31);
    o.method = FAR_METHOD_EXACT;
    o.rows = rows;
    o.ridge = cg->info.ridge;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    far_model *others = fit(frame, o);
    far_predict_opts how;
    far_prediction *p;
    double square = 0;
    far_predict_opts_init(&how);
    must(far_model_predict(ctx, others, frame, &how, &p));
    for (int64_t i = 0; i < N; i++) {
        double f = ((const double *)p->mean.data)[i], y = cg->y[i];
        if (!rows[i]) {
            assert_near(cg->loo[i], f, 0.02); /* they are fitted to 1e-3 */
            square += (f - y) * (f - y);
        }
    }
    assert_near(cg->info.loo_rmse, sqrt(square / (double)held), 0.01);
    far_prediction_destroy(p);
    far_model_destroy(others);
    far_model_destroy(cg);
    far_frame_destroy(frame);
}

static void the_same_bits_for_any_threads_and_memory(void **state)
{
    (void)state;
    far_frame *frame = table(331);
    far_fit_opts o = options("y1,y2", FAR_METHOD_CG);
    far_model *first = fit(frame, o);
    for (int i = 0; i < 3; i++) {
        far_model *m;
        far_ctx *c = with_threads(i + 1);
        o.memory = i == 2 ? 0 : 4.2e6;
        must(far_model_fit(c, frame, &o, &m));
        assert_memory_equal(m->alpha, first->alpha, 2 * 331 * sizeof *m->alpha);
        assert_memory_equal(m->interval, first->interval, 2 * sizeof *m->interval);
        assert_true(m->info.loo_rmse == first->info.loo_rmse);
        far_model_destroy(m);
        far_ctx_destroy(c);
    }
    far_model_destroy(first);
    far_frame_destroy(frame);
}

/* With a ridge that no precision serves, what was reached is told. */
static void what_does_not_converge_says_so(void **state)
{
    (void)state;
    enum { ROWS = 151 };
    far_frame *frame = table(ROWS);
    far_fit_opts o = options("y1", FAR_METHOD_CG);
    const double ridges[] = {1e-8, 1e-12, 1e-15};
    for (int i = 0; i < COUNT(ridges); i++) {
        o.ridge = ridges[i];
        o.landmarks = 5;
        o.tolerance = 1e-13;
        far_model *m = fit(frame, o);
        double *rest = malloc(ROWS * sizeof *rest);
        far_product *k;
        must(far_product_create(
            ctx, m->kernel, false,
            &(far_mat){.data = m->x, .rows = ROWS, .cols = D, .ld = D, .dtype = FAR_F64}, 0, &k));
        must(far_product_apply(ctx, k, ROWS, false, 1, m->alpha, rest));
        double square = 0, all = 0;
        for (int64_t j = 0; j < ROWS; j++) {
            double off = m->y[j] - rest[j] - m->info.ridge * m->alpha[j];
            square += off * off;
            all += m->y[j] * m->y[j];
        }
        assert_near(m->info.residual, sqrt(square / all), 1e-3 * m->info.residual + 1e-12);
        assert_int_equal(m->info.converged, m->info.residual <= o.tolerance);
        assert_false(i == 2 && m->info.converged);
        far_product_destroy(k);
        free(rest);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* The weights of the landmarks make sum (f - y)^2 + ridge alpha' K alpha least: no other do better.
 */
static double penalised(const far_model *m, const far_frame *frame, const double *y, int64_t n)
{
    far_predict_opts how;
    far_prediction *p;
    far_product *k;
    int64_t rows = m->info.rows;
    double *image = malloc((size_t)rows * sizeof *image), sum = 0;
    far_mat x = far_model_points(m);
    far_predict_opts_init(&how);
    must(far_model_predict(ctx, m, frame, &how, &p));
    for (int64_t i = 0; i < n; i++) {
        double off = ((const double *)p->mean.data)[i] - y[i];
        sum += off * off;
    }
    must(far_product_create(ctx, m->kernel, false, &x, 0, &k));
    must(far_product_apply(ctx, k, rows, false, 1, m->alpha, image));
    sum += m->info.ridge * far_dot(image, m->alpha, rows);
    far_prediction_destroy(p);
    far_product_destroy(k);
    free(image);
    return sum;
}

static void landmarks_fit_as_well_as_they_can(void **state)
{
    (void)state;
    enum { N = 307, M = 29 };
    far_frame *frame = table(N);
    far_fit_opts o = options("y1", FAR_METHOD_NYSTROM);
    o.standardize = 0;
    o.landmarks = M;
    far_model *m = fit(frame, o);
    o.method = FAR_METHOD_EXACT;
    far_model *exact = fit(frame, o);
    assert_int_equal(m->info.rows, M);
    assert_int_equal(m->info.trained_rows, N);
    assert_true(m->info.landmarks_miss > 0 && m->info.landmarks_miss < 0.5);
    double best = penalised(m, frame, exact->y, N);
    assert_true(penalised(exact, frame, exact->y, N) < best); /* with all rows one can do better */
    for (int i = 0; i < M; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            double kept = m->alpha[i];
            m->alpha[i] += sign * (0.01 * fabs(kept) + 1e-3);
            assert_true(penalised(m, frame, exact->y, N) > best);
            m->alpha[i] = kept;
        }
    }
    far_model_destroy(m);
    far_model_destroy(exact);
    far_frame_destroy(frame);
}

/* ---- what is made of them ---- */

static void files_keep_them(void **state)
{
    (void)state;
    far_frame *frame = table(211);
    const far_method methods[] = {FAR_METHOD_CG, FAR_METHOD_NYSTROM};
    for (int i = 0; i < COUNT(methods); i++) {
        far_fit_opts o = options("y1,y2", methods[i]);
        o.metric = FAR_METRIC_DIAGONAL;
        far_model *m = fit(frame, o), *back;
        must(far_model_save(ctx, m, "m.far"));
        must(far_model_load(ctx, "m.far", &back));
        unlink("m.far");
        assert_int_equal(back->info.method, methods[i]);
        assert_int_equal(back->info.landmarks, m->info.landmarks);
        assert_int_equal(back->info.iterations, m->info.iterations);
        assert_int_equal(back->info.held_out, 21);
        assert_int_equal(back->info.trained_rows, 211);
        assert_true(back->info.tolerance == m->info.tolerance && back->info.converged);
        assert_true(distance(m, back) == 0);
        far_model_destroy(m);
        far_model_destroy(back);
    }
    far_frame_destroy(frame);
}

/* |f| stays within the bound wherever a search climbs, and the certificate is checked. */
static void their_certificates_hold(void **state)
{
    (void)state;
    far_frame *frame = table(211);
    const far_method methods[] = {FAR_METHOD_CG, FAR_METHOD_NYSTROM};
    for (int i = 0; i < COUNT(methods); i++) {
        far_fit_opts fo = options("y1", methods[i]);
        fo.tolerance = 1e-2;
        far_model *m = fit(frame, fo);
        far_certify_opts o;
        far_certificate *c;
        char *text;
        far_certify_opts_init(&o);
        o.seconds = 0; /* the norm's bound alone */
        o.starts = 6;
        must(far_model_certify(ctx, m, &o, &c));
        const far_bound *b = far_certificate_bound(c, 0);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(b->sup_found <= b->tightest);
        double *x = normals(499 * D, 5), f[499];
        for (int64_t k = 0; k < 499 * D; k++) {
            x[k] *= pow(10, (double)(k / D % 7) - 3);
        }
        far_mat at = far_mat_view(x, 499, D, FAR_F64), out = far_mat_view(f, 499, 1, FAR_F64);
        must(far_model_eval(ctx, m, &at, &out));
        for (int64_t k = 0; k < 499; k++) {
            assert_true(fabs(f[k]) <= b->tightest);
        }
        must(far_certificate_json(ctx, c, &text));
        must(far_model_certificate_check(ctx, m, text, 0));
        m->info.residual /= 1e3; /* a file that calls its solution better than it is */
        if (methods[i] == FAR_METHOD_CG) {
            far_certificate *other;
            refused(far_model_certify(ctx, m, &o, &other), FAR_ERR_FORMAT, "residual");
        }
        free(x);
        far_text_free(ctx, text);
        far_certificate_destroy(c);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* 95% of new rows lie within 1.96 standard deviations; what has no meaning is refused. */
static void their_intervals_cover(void **state)
{
    (void)state;
    far_frame *frame = table(1201);
    unsigned char rows[1201], others[1201];
    for (int i = 0; i < 1201; i++) {
        rows[i] = i % 3 > 0;
        others[i] = !rows[i];
    }
    const far_method methods[] = {FAR_METHOD_CG, FAR_METHOD_NYSTROM};
    for (int i = 0; i < COUNT(methods); i++) {
        far_fit_opts o = options("y1", methods[i]);
        far_predict_opts how;
        far_prediction *p;
        o.rows = rows;
        o.tolerance = 1e-4;
        far_model *m = fit(frame, o);
        far_predict_opts_init(&how);
        how.rows = others;
        how.spread = FAR_SPREAD_CALIBRATED;
        must(far_model_predict(ctx, m, frame, &how, &p));
        int within = 0;
        for (int64_t k = 0; k < p->mean.rows; k++) {
            double row[COLUMNS];
            table_row(3 * k, row);
            within += fabs(((const double *)p->mean.data)[k] - row[3]) <=
                      1.96 * ((const double *)p->std.data)[k];
        }
        assert_in_range(within, 0.89 * 401, 0.99 * 401);
        far_prediction_destroy(p);
        how.spread = FAR_SPREAD_ENSEMBLE;
        if (methods[i] == FAR_METHOD_NYSTROM) {
            refused(far_model_predict(ctx, m, frame, &how, &p), FAR_ERR_ARG, "landmarks");
        }
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

static void what_they_need_is_said(void **state)
{
    (void)state;
    far_model *m;
    far_frame *frame = table(211), *few = table(31);
    far_fit_opts o = options("y1", FAR_METHOD_CG);
    refused(far_model_fit(ctx, few, &o, &m), FAR_ERR_SHAPE, "too few");
    o.ridge = 0;
    refused(far_model_fit(ctx, frame, &o, &m), FAR_ERR_ARG, "above 0");
    o = options("y1", FAR_METHOD_CG);
    o.memory = 1e5;
    refused(far_model_fit(ctx, frame, &o, &m), FAR_ERR_BUDGET, "allowed");
    o.memory = 0;
    o.tolerance = 0;
    refused(far_model_fit(ctx, frame, &o, &m), FAR_ERR_ARG, "tolerance");
    o = options("y1", FAR_METHOD_CG);
    o.landmarks = -1;
    refused(far_model_fit(ctx, frame, &o, &m), FAR_ERR_ARG, "landmarks");
    far_frame_destroy(few);
    far_frame_destroy(frame);
}

static far_frame *shared;
static far_method failing;

static far_status fit_and_predict(void)
{
    far_model *m = NULL;
    far_prediction *p = NULL;
    far_predict_opts how;
    far_fit_opts o = options("y1", failing);
    o.landmarks = 11;
    o.tolerance = 1e-2;
    far_predict_opts_init(&how);
    how.spread = FAR_SPREAD_CALIBRATED;
    far_status st = far_model_fit(ctx, shared, &o, &m);
    st = st == FAR_OK ? far_model_predict(ctx, m, shared, &how, &p) : st;
    far_prediction_destroy(p);
    far_model_destroy(m);
    return st;
}

static void any_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    shared = table(67);
    for (failing = FAR_METHOD_CG; failing <= FAR_METHOD_NYSTROM; failing++) {
        fail_every_allocation(fit_and_predict);
        far_status st = FAR_ERR_CANCELLED;
        for (int64_t k = 1; st != FAR_OK; k++) {
            int64_t live = test_heap.live_blocks;
            ear.stop_at = ear.calls + k;
            st = fit_and_predict();
            assert_true(st == FAR_OK || st == FAR_ERR_CANCELLED);
            assert_int_equal(test_heap.live_blocks, live);
        }
        ear.stop_at = 0;
    }
    far_frame_destroy(shared);
}

/* Auto: the factor if there is room for it. */
static void auto_takes_what_fits(void **state)
{
    (void)state;
    enum { N = 1009 };
    far_frame *frame = table(N);
    far_fit_opts o = options("y1", FAR_METHOD_AUTO);
    far_solve_opts s;
    far_solve_opts_init(&s);
    s.extremes = o.extremes = 0;
    o.landmarks = 50;
    o.tolerance = 1e-3;
    for (s.storage = FAR_STORAGE_FULL; s.storage <= FAR_STORAGE_PACKED; s.storage++) {
        double bytes = far_estimate_memory(N, &s).bytes;
        o.memory = s.storage == FAR_STORAGE_FULL ? bytes : fmin(o.memory, bytes);
    }
    far_model *exact = fit(frame, o);
    o.memory--;
    far_model *cg = fit(frame, o);
    assert_int_equal(exact->info.method, FAR_METHOD_EXACT);
    assert_int_equal(cg->info.method, FAR_METHOD_CG);
    o.ridge = 0;
    far_model *none;
    refused(far_model_fit(ctx, frame, &o, &none), FAR_ERR_BUDGET, "");
    far_model_destroy(exact);
    far_model_destroy(cg);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_are_those_of_the_matrix),
        TEST(conjugate_gradients_give_the_exact_fit),
        TEST(rows_held_out_are_predicted_by_the_others),
        TEST(the_same_bits_for_any_threads_and_memory),
        TEST(what_does_not_converge_says_so),
        TEST(landmarks_fit_as_well_as_they_can),
        TEST(files_keep_them),
        TEST(their_certificates_hold),
        TEST(their_intervals_cover),
        TEST(what_they_need_is_said),
        TEST(any_failure_leaves_nothing_behind),
        TEST(auto_takes_what_fits),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
