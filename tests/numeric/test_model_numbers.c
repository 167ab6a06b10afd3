/*
 * Whether fits and predictions have their digits: against direct solutions in long double, against
 * every row left out in turn, against training step by step, and against data drawn from the very
 * process that a calibrated spread speaks of.
 */
#include "../../src/regress/regress_internal.h"

#include <farfield/farfield.h>

#define TEST_THREADS 0
#include "harness.h"

#define NONE "dense relu dense relu dense"
#define FIRST "dense ln relu dense relu dense"
#define SECOND "dense relu dense ln relu dense"

enum { N = 53, D = 3, P = 2, NEW = 7 };

static void assert_close(const char *what, double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%s: %.17g is not %.17g within %g", what, value, expected, tolerance);
    }
}

static double at(far_mat m, int64_t i, int64_t j)
{
    return ((const double *)far_mat_row(&m, i))[j];
}

/* ---- data ---- */

static double normal(uint64_t seed, int64_t i)
{
    return far_random_normal(seed, (uint64_t)i);
}

/* x is n x D, y is n x P; with twins rows 5 and 4, and 11 and 10, are 1e-9 apart. */
static void make_data(uint64_t seed, int64_t n, bool twins, double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        bool twin = twins && (i == 5 || i == 11);
        for (int64_t j = 0; j < D; j++) {
            x[i * D + j] =
                twin ? x[(i - 1) * D + j] + 1e-9 * (double)(j + 1) : 2 + normal(seed, i * D + j);
        }
        const double *row = x + (twin ? i - 1 : i) * D;
        y[i * P] = sin(2 * row[0]) + row[1] * row[2] / 3;
        y[i * P + 1] = 100 + cos(row[0] + row[2]);
    }
}

static far_frame *frame_of(const double *x, const double *y, int64_t n)
{
    static const char *const names[] = {"x1", "x2", "x3", "y1", "y2"};
    far_frame *frame;
    double *all = malloc((size_t)(n * (D + P)) * sizeof *all);
    assert_non_null(all);
    for (int64_t i = 0; i < n; i++) {
        memcpy(all + i * (D + P), x + i * D, D * sizeof *all);
        memcpy(all + i * (D + P) + D, y + i * P, P * sizeof *all);
    }
    far_mat m = far_mat_view(all, n, D + P, FAR_F64);
    must_do(far_frame_from_mat(ctx, &m, names, &frame), "frame");
    free(all);
    return frame;
}

static far_frame *some_data(uint64_t seed, int64_t n, bool twins)
{
    double x[N * D], y[N * P];
    assert_true(n <= N);
    make_data(seed, n, twins, x, y);
    return frame_of(x, y, n);
}

static far_fit_opts options(const char *arch, double ridge)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y1,y2";
    o.arch = arch;
    o.ridge = ridge;
    return o;
}

static far_model *fit(const far_frame *frame, far_fit_opts o)
{
    far_model *m;
    must_do(far_model_fit(ctx, frame, &o, &m), o.arch ? o.arch : "auto");
    return m;
}

static far_predict_opts predict_options(void)
{
    far_predict_opts o;
    far_predict_opts_init(&o);
    return o;
}

static far_prediction *predict(const far_model *m, const far_frame *frame, far_predict_opts o)
{
    far_prediction *p;
    must_do(far_model_predict(ctx, m, frame, &o, &p), m->arch);
    return p;
}

/* ---- long double ---- */

static void kernel_values(const char *arch, far_kernel_kind kind, const far_mat *a,
                          const far_mat *b, double *out)
{
    far_kernel *k;
    far_mat values = far_mat_view(out, a->rows, b->rows, FAR_F64);
    bool nngp = kind == FAR_KERNEL_NNGP;
    must_do(far_kernel_create(ctx, arch, NULL, &k), arch);
    must_do(
        far_kernel_eval(ctx, k, a, b, FAR_FILL_FULL, nngp ? &values : NULL, nngp ? NULL : &values),
        arch);
    far_kernel_destroy(k);
}

/* L L^T = a in place (the lower triangle); its log determinant. */
static long double cholesky(long double *a, int64_t n)
{
    long double log_det = 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            long double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++) {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = i == j ? sqrtl(sum) : sum / a[j * n + j];
        }
        log_det += 2 * logl(a[j * n + j]);
    }
    return log_det;
}

static void solve(const long double *l, int64_t n, long double *b, int64_t p)
{
    for (int64_t c = 0; c < p; c++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < i; k++) {
                b[i * p + c] -= l[i * n + k] * b[k * p + c];
            }
            b[i * p + c] /= l[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++) {
                b[i * p + c] -= l[k * n + i] * b[k * p + c];
            }
            b[i * p + c] /= l[i * n + i];
        }
    }
}

/* K + ridge I over the model's points. */
static void ridged(const far_model *m, long double *out)
{
    int64_t n = far_model_describe(m).rows;
    double *k = malloc((size_t)(n * n) * sizeof *k);
    assert_non_null(k);
    far_mat x = far_model_points(m);
    kernel_values(m->arch, far_model_describe(m).kernel, &x, &x, k);
    for (int64_t i = 0; i < n * n; i++) {
        out[i] = (long double)k[i] + (i / n == i % n ? far_model_describe(m).ridge : 0);
    }
    free(k);
}

/* New rows, and the kernel between them and the model's. */
static far_frame *new_rows(const far_model *m, far_kernel_kind kind, double *cross, double *own)
{
    double x[NEW * D], y[NEW * P], points[NEW * D];
    make_data(99, NEW, false, x, y);
    far_frame *frame = frame_of(x, y, NEW);
    far_mat encoded = far_mat_view(points, NEW, D, FAR_F64), rows = far_model_points(m);
    must_do(far_columns_encode(ctx, m->columns, frame, NULL, &encoded), "encode");
    kernel_values(m->arch, kind, &encoded, &rows, cross);
    if (own) {
        kernel_values(m->arch, kind, &encoded, &encoded, own);
    }
    return frame;
}

/* ---- the solution ---- */

static const char *const ARCHS[] = {FIRST,
                                    SECOND,
                                    NONE,
                                    "dense ln gelu dense",
                                    "[dense(b=0.5) ln relu]x3 dense",
                                    "dense ln abs dense"};

static void predictions_have_their_digits(void **state)
{
    (void)state;
    static const double ridges[] = {0, 1e-6, 0.1};
    for (int a = 0; a < COUNT(ARCHS); a++) {
        for (int r = 0; r < COUNT(ridges); r++) {
            far_frame *frame = some_data(1, N, r > 0);
            far_fit_opts o = options(ARCHS[a], ridges[r]);
            o.kernel = a % 2 && r == 1 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
            far_model *m = fit(frame, o);
            assert_true(far_model_describe(m).residual <= 1e-12);
            static long double k[N * N], alpha[N * P];
            double cross[NEW * N];
            far_frame *rows = new_rows(m, o.kernel, cross, NULL);
            ridged(m, k);
            for (int64_t i = 0; i < N * P; i++) {
                alpha[i] = at(far_model_targets(m), i / P, i % P);
            }
            long double log_det = cholesky(k, N);
            solve(k, N, alpha, P);
            assert_close("log det", far_model_describe(m).log_det, (double)log_det,
                         1e-9 * fabs((double)log_det));
            far_prediction *p = predict(m, rows, predict_options());
            for (int64_t i = 0; i < NEW * P; i++) {
                int64_t j = i % P;
                long double g = 0, size = 0;
                for (int64_t s = 0; s < N; s++) {
                    long double part = cross[i / P * N + s] * alpha[s * P + j];
                    g += part;
                    size += fabsl(part);
                }
                double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, j);
                double centre = at(far_columns_describe(m->columns).scaling.output_centre, 0, j);
                double tolerance = 1e-15 * (scale * (double)size + fabs(centre)) * 4;
                assert_close(ARCHS[a], at(p->mean, i / P, j), (double)(centre + scale * g),
                             tolerance);
            }
            far_prediction_destroy(p);
            far_frame_destroy(rows);
            far_model_destroy(m);
            far_frame_destroy(frame);
        }
    }
}

/* Equispaced points in one dimension: the worst conditions that are met in practice. */
static void residuals_are_small(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 101, 401};
    static const char *const archs[] = {FIRST, SECOND, NONE, "dense ln gelu dense",
                                        "dense abs dense"};
    for (int a = 0; a < COUNT(archs); a++) {
        for (int s = 0; s < COUNT(sizes); s++) {
            int64_t n = sizes[s];
            double *xy = malloc((size_t)(2 * n) * sizeof *xy);
            const char *names[] = {"x", "y"};
            assert_non_null(xy);
            for (int64_t i = 0; i < n; i++) {
                xy[2 * i] = -5 + 10 * (double)i / (double)(n - 1);
                xy[2 * i + 1] = sin(3 * xy[2 * i]) + 0.1 * normal(4, i);
            }
            far_mat matrix = far_mat_view(xy, n, 2, FAR_F64);
            far_frame *frame;
            far_model *m;
            must_do(far_frame_from_mat(ctx, &matrix, names, &frame), "frame");
            far_fit_opts o = options(archs[a], a == 3 ? 1e-10 : 0);
            o.target = "y";
            must_do(far_model_fit(ctx, frame, &o, &m), archs[a]);
            assert_true(far_model_describe(m).residual <= 1e-12);
            if (a != 3) {
                assert_close("r2", far_model_describe(m).r2_train, 1, 1e-12);
            }
            far_prediction *p = predict(m, frame, predict_options());
            for (int64_t i = 0; i < n && a != 3; i++) {
                assert_close(archs[a], at(p->mean, i, 0), xy[2 * i + 1], 1e-9);
            }
            far_prediction_destroy(p);
            far_model_destroy(m);
            far_frame_destroy(frame);
            free(xy);
        }
    }
}

/* ---- choices ---- */

/* Both criteria of a kernel matrix by their definitions. */
static void score(const char *arch, far_kernel_kind kind, double relative, const far_mat *x,
                  const far_mat *y, double *r2, double *likelihood)
{
    enum { M = 23 };
    static double k[M * M];
    static long double a[M * M], b[M * P];
    kernel_values(arch, kind, x, x, k);
    long double mean = 0, error = 0, logs = 0, spread = 0;
    *likelihood = NAN;
    for (int64_t i = 0; i < M; i++) {
        mean += k[i * M + i] / (long double)M;
    }
    long double ridge = relative * mean;
    for (int64_t left = -1; left < M; left++) { /* -1: none */
        int64_t used[M], n = 0;
        long double centre[P] = {0}; /* learnt from the rows that are used, as by who fits them */
        for (int64_t i = 0; i < M; i++) {
            used[n] = i;
            n += i != left;
        }
        for (int64_t i = 0; left >= 0 && i < n * P; i++) {
            centre[i % P] += at(*y, used[i / P], i % P) / (long double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                a[i * n + j] = k[used[i] * M + used[j]] + (i == j ? ridge : 0);
            }
            for (int64_t c = 0; c < P; c++) {
                b[i * P + c] = at(*y, used[i], c) - centre[c];
            }
        }
        long double log_det = cholesky(a, n);
        solve(a, n, b, P);
        for (int64_t c = 0; c < P; c++) {
            long double f = centre[c];
            for (int64_t i = 0; i < n; i++) {
                f += left < 0 ? b[i * P + c] * at(*y, i, c) : b[i * P + c] * k[left * M + used[i]];
            }
            if (left >= 0) {
                error += (f - at(*y, left, c)) * (f - at(*y, left, c));
            } else {
                logs += logl(f / M) / P; /* an amplitude for each output */
            }
        }
        if (left < 0) {
            *likelihood =
                (double)(-0.5L * (logs + log_det / M + 1 + logl(2 * 3.14159265358979323846L)));
        }
    }
    for (int64_t c = 0; c < P; c++) {
        long double middle = 0;
        for (int64_t i = 0; i < M; i++) {
            middle += at(*y, i, c) / (long double)M;
        }
        for (int64_t i = 0; i < M; i++) {
            spread += (at(*y, i, c) - middle) * (at(*y, i, c) - middle);
        }
    }
    *r2 = (double)(1 - error / spread);
}

static void every_line_of_the_table_is_true(void **state)
{
    (void)state;
    far_frame *frame = some_data(3, 23, false);
    for (int t = 0; t < 4; t++) {
        far_fit_opts o = options(NULL, NAN);
        o.kernel = t % 2;
        o.criterion = t / 2 ? FAR_CRITERION_LIKELIHOOD : FAR_CRITERION_LOO;
        far_model *m = fit(frame, o);
        far_mat x = far_model_points(m), y = far_model_targets(m);
        assert_true(m->candidate_count > 5);
        double best = -INFINITY, own = NAN;
        for (int64_t i = 0; i < m->candidate_count; i++) {
            far_candidate c = m->candidates[i];
            double r2, likelihood;
            score(c.arch, o.kernel, c.ridge, &x, &y, &r2, &likelihood);
            assert_close(c.arch, c.loo_r2, r2, 1e-7 * (1 + fabs(r2)));
            assert_close(c.arch, c.log_likelihood, likelihood, 1e-7 * (1 + fabs(likelihood)));
            double criterion = o.criterion == FAR_CRITERION_LIKELIHOOD ? likelihood : r2;
            best = c.bounded ? fmax(best, criterion) : best;
            own = c.chosen ? criterion : own;
        }
        assert_close("the best of the bounded ones", own, best, 1e-7 * (1 + fabs(best)));
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* ---- training in time ---- */

/* Gradient flow from 0 by small steps of Euler's method, twice, and extrapolated to no step. */
static void euler(const long double *k, const far_mat *y, double time, int steps,
                  long double *alpha)
{
    static long double next[N * P], coarse[N * P];
    for (int fine = 0; fine < 2; fine++) {
        long double h = (long double)time / (fine ? 2 * steps : steps);
        memset(alpha, 0, N * P * sizeof *alpha);
        for (int step = 0; step < (fine ? 2 * steps : steps); step++) {
            for (int64_t i = 0; i < N * P; i++) {
                next[i] = at(*y, i / P, i % P);
                for (int64_t s = 0; s < N; s++) {
                    next[i] -= k[i / P * N + s] * alpha[s * P + i % P];
                }
            }
            for (int64_t i = 0; i < N * P; i++) {
                alpha[i] += h * next[i];
            }
        }
        if (!fine) {
            memcpy(coarse, alpha, sizeof coarse);
        }
    }
    for (int64_t i = 0; i < N * P; i++) {
        alpha[i] = 2 * alpha[i] - coarse[i];
    }
}

static void stopping_early_is_stopping_the_flow(void **state)
{
    (void)state;
    far_frame *frame = some_data(1, N, false);
    static const char *const archs[] = {FIRST, NONE};
    static const double times[] = {0.01, 0.2};
    for (int a = 0; a < 2; a++) {
        far_model *m = fit(frame, options(archs[a], a ? 0 : 0.01));
        static long double k[N * N], alpha[N * P];
        double cross[NEW * N];
        far_frame *rows = new_rows(m, FAR_KERNEL_NTK, cross, NULL);
        far_mat y = far_model_targets(m);
        ridged(m, k);
        for (int t = 0; t < COUNT(times); t++) {
            double time = times[t] * (a ? 0.2 : 1);
            euler(k, &y, time, 1500, alpha);
            far_predict_opts o = predict_options();
            o.time = time;
            far_prediction *p = predict(m, rows, o);
            for (int64_t i = 0; i < NEW * P; i++) {
                long double g = 0;
                for (int64_t s = 0; s < N; s++) {
                    g += cross[i / P * N + s] * alpha[s * P + i % P];
                }
                double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, i % P);
                assert_close("flow", at(p->mean, i / P, i % P),
                             at(far_columns_describe(m->columns).scaling.output_centre, 0, i % P) +
                                 scale * (double)g,
                             1e-4 * scale);
            }
            far_prediction_destroy(p);
        }
        far_frame_destroy(rows);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* Late enough is the end, also where the matrix is nearly singular. */
static void late_is_the_end(void **state)
{
    (void)state;
    far_frame *frame = some_data(1, N, true);
    static const char *const archs[] = {FIRST, NONE};
    for (int a = 0; a < 2; a++) {
        far_model *m = fit(frame, options(archs[a], a ? 1e-7 : 0));
        far_predict_opts o = predict_options();
        far_prediction *end = predict(m, frame, o);
        o.time = 1e12;
        far_prediction *late = predict(m, frame, o);
        for (int64_t i = 0; i < N * P; i++) {
            assert_close("late", at(late->mean, i / P, i % P), at(end->mean, i / P, i % P), 1e-6);
        }
        far_prediction_destroy(end);
        far_prediction_destroy(late);
        far_model_destroy(m);
    }
    far_frame_destroy(frame);
}

/* ---- spreads ---- */

static void posteriors_have_their_digits(void **state)
{
    (void)state;
    static const double ridges[] = {0, 1e-9, 0.02};
    for (int a = 0; a < COUNT(ARCHS); a++) {
        for (int r = 0; r < COUNT(ridges); r++) {
            far_frame *frame = some_data(2, N, r > 0);
            far_fit_opts o = options(ARCHS[a], ridges[r]);
            o.kernel = a % 2;
            far_model *m = fit(frame, o);
            static long double k[N * N], w[N * NEW];
            double cross[NEW * N], own[NEW * NEW];
            far_frame *rows = new_rows(m, o.kernel, cross, own);
            ridged(m, k);
            cholesky(k, N);
            for (int64_t i = 0; i < N * NEW; i++) {
                w[i] = cross[i % NEW * N + i / NEW];
            }
            solve(k, N, w, NEW);
            far_predict_opts q = predict_options();
            q.spread = FAR_SPREAD_POSTERIOR;
            far_prediction *p = predict(m, rows, q);
            for (int64_t i = 0; i < NEW; i++) {
                long double left = own[i * NEW + i];
                for (int64_t s = 0; s < N; s++) {
                    left -= w[s * NEW + i] * cross[i * N + s];
                }
                for (int64_t j = 0; j < P; j++) {
                    double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, j);
                    double std = at(p->std, i, j) / scale;
                    assert_close(ARCHS[a], std * std, (double)left, 1e-11 * own[i * NEW + i]);
                }
            }
            far_prediction_destroy(p);
            p = predict(m, frame, q); /* at the training points the ridge is all that is left */
            for (int64_t i = 0; i < N; i++) {
                double scale = at(far_columns_describe(m->columns).scaling.output_scale, 0, 0);
                double std = at(p->std, i, 0) / scale;
                assert_true(std >= 0);
                assert_true(std * std <= far_model_describe(m).ridge +
                                             1e-12 * far_model_describe(m).mean_diagonal);
            }
            far_prediction_destroy(p);
            far_frame_destroy(rows);
            far_model_destroy(m);
            far_frame_destroy(frame);
        }
    }
}

/* Targets drawn from a Gaussian process with the model's kernel and noise: what is left over is as
 * large as the spread by the likelihood says, whatever the amplitude. */
static void the_likelihood_knows_what_is_left_over(void **state)
{
    (void)state;
    enum { ALL = 331, TRAIN = 211 };
    static double x[ALL * D], y[ALL * P], k[ALL * ALL];
    static long double a[ALL * ALL];
    double noise = 0.05, amplitude[P] = {3, 0.01};
    for (int64_t i = 0; i < ALL * D; i++) {
        x[i] = normal(11, i);
    }
    far_mat points = far_mat_view(x, ALL, D, FAR_F64);
    kernel_values(FIRST, FAR_KERNEL_NTK, &points, &points, k);
    double mean = 0;
    for (int64_t i = 0; i < ALL; i++) {
        mean += k[i * ALL + i] / ALL;
    }
    for (int64_t i = 0; i < ALL * ALL; i++) {
        a[i] = k[i] + (i / ALL == i % ALL ? noise * mean : 0);
    }
    cholesky(a, ALL);
    for (int64_t i = 0; i < ALL * P; i++) {
        long double sum = 0;
        for (int64_t s = 0; s <= i / P; s++) {
            sum += a[i / P * ALL + s] * normal(12, s * P + i % P);
        }
        y[i] = amplitude[i % P] * (double)sum;
    }
    far_frame *frame = frame_of(x, y, ALL);
    unsigned char train[ALL], test[ALL];
    for (int i = 0; i < ALL; i++) {
        train[i] = i < TRAIN;
        test[i] = i >= TRAIN;
    }
    far_fit_opts o = options(FIRST, noise);
    o.standardize = 0;
    o.rows = train;
    far_model *m = fit(frame, o);
    far_predict_opts q = predict_options();
    q.spread = FAR_SPREAD_LIKELIHOOD;
    q.rows = test;
    far_prediction *p = predict(m, frame, q);
    for (int64_t j = 0; j < P; j++) {
        double square = 0;
        for (int64_t i = 0; i < ALL - TRAIN; i++) {
            double miss = y[(TRAIN + i) * P + j] - at(p->mean, i, j);
            square += pow(miss / at(p->std, i, j), 2) / (ALL - TRAIN);
        }
        assert_close("mean square", square, 1, 0.35); /* some 2.7 standard deviations */
    }
    far_prediction_destroy(p);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(predictions_have_their_digits),
        TEST(residuals_are_small),
        TEST(every_line_of_the_table_is_true),
        TEST(stopping_early_is_stopping_the_flow),
        TEST(late_is_the_end),
        TEST(posteriors_have_their_digits),
        TEST(the_likelihood_knows_what_is_left_over),
    };
    return cmocka_run_group_tests_name("model numbers", tests, NULL, NULL);
}
