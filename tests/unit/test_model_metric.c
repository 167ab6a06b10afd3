/*
 * A model behind a metric against one without, fitted to a table whose columns went through the map
 * beforehand: predictions, spreads, times, limits, certificates. Null directions, files, forgeries.
 */
#include "../../src/certify/certify_internal.h"
#include "data/frame_internal.h"
#include "regress/model_file.h"

#include <farfield/farfield.h>
#include <float.h>

#include "harness.h"

enum { N = 23, D = 5, P = 2, POINTS = 11 };
#define BOUNDED "dense ln relu dense relu dense"
#define GROWING "dense relu dense"

/* ---- maps ---- */

typedef enum shape { WEIGHTS, SOME_ZERO, ONE_LEFT, MIXED, LOW_RANK, TINY, HUGE_MAP, SHAPES } shape;

static uint64_t dice = 18;

static double normal(void)
{
    return roll_bell(&dice);
}

/* A A' of d x rank numbers. */
static void low_rank(int rank, double scale, double *map)
{
    double a[D * D];
    for (int i = 0; i < D * rank; i++) {
        a[i] = normal();
    }
    for (int i = 0; i < D; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < rank; k++) {
                sum += a[i * rank + k] * a[j * rank + k];
            }
            map[i * D + j] = map[j * D + i] = scale * sum;
        }
    }
}

static far_metric draw_map(shape which, double map[D * D])
{
    bool full = which == MIXED || which == LOW_RANK;
    memset(map, 0, D * D * sizeof *map);
    if (full) {
        low_rank(which == MIXED ? D : 3, 0.5, map);
        for (int i = 0; i < D && which == MIXED; i++) {
            map[i * D + i] += 0.3;
        }
    }
    for (int i = 0; i < D && !full; i++) {
        double weight = 0.2 + fabs(normal());
        bool zero = (which == SOME_ZERO && i % 2) || (which == ONE_LEFT && i != 3);
        double far = which == TINY ? 1e-200 : which == HUGE_MAP ? 1e150 : 1;
        map[i] = zero ? 0 : weight * (i % 2 ? far : 1);
    }
    return (far_metric){full ? FAR_METRIC_FULL : FAR_METRIC_DIAGONAL, D, map};
}

/* z = S x by hand. */
static void apply(const far_metric *s, const double *x, int64_t rows, double *z)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < D; j++) {
            long double sum = 0;
            for (int64_t k = 0; s->kind == FAR_METRIC_FULL && k < D; k++) {
                sum += (long double)s->map[j * D + k] * x[i * D + k];
            }
            z[i * D + j] = s->kind == FAR_METRIC_FULL ? (double)sum : s->map[j] * x[i * D + j];
        }
    }
}

/* ---- models ---- */

static far_frame *frame_of(const double *x, const double *y, int64_t n)
{
    static const char *const NAMES[] = {"a", "b", "c", "d", "e", "u", "v"};
    double all[N * (D + P)] = {0};
    far_frame *frame;
    for (int64_t i = 0; i < n * (D + P); i++) {
        int64_t row = i / (D + P), j = i % (D + P);
        all[i] = j < D ? x[row * D + j] : y ? y[row * P + j - D] : 0;
    }
    far_mat m = far_mat_view(all, n, D + P, FAR_F64);
    must(far_frame_from_mat(ctx, &m, NAMES, &frame));
    return frame;
}

static far_fit_opts options(const char *arch, int standardize)
{
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "u,v";
    o.arch = arch;
    o.ridge = 1e-3;
    o.standardize = standardize;
    return o;
}

static far_model *fit(const far_frame *frame, const far_fit_opts *o, const far_metric *s)
{
    far_model *m;
    must(s ? far_model_fit_behind(ctx, frame, o, s, &m) : far_model_fit(ctx, frame, o, &m));
    return m;
}

static void draw_table(double *x, double *y)
{
    for (int i = 0; i < N * D; i++) {
        x[i] = 3 + 2 * normal() * (i % D + 1);
    }
    for (int i = 0; i < N; i++) {
        y[i * P] = x[i * D] - 0.1 * x[i * D + 3] * x[i * D + 3] + normal();
        y[i * P + 1] = 7 + x[i * D + 2] + 0.1 * normal();
    }
}

/* One behind a metric, and its twin: fitted to what the metric makes of the standardised table. */
typedef struct twins {
    far_metric metric;
    double map[D * D], x[N * D], y[N * P];
    far_frame *frame;
    far_model *behind, *plain;
} twins;

static void make_twins(shape which, const char *arch, int standardize, twins *t)
{
    double z[N * D];
    draw_table(t->x, t->y);
    t->metric = draw_map(which, t->map);
    t->frame = frame_of(t->x, t->y, N);
    far_fit_opts o = options(arch, standardize);
    t->behind = fit(t->frame, &o, &t->metric);
    apply(&t->metric, t->behind->x, N, z);
    far_frame *mapped = frame_of(z, t->behind->y, N);
    o.standardize = 0;
    o.ridge = t->behind->info.ridge;
    o.ridge_kind = FAR_RIDGE_ABSOLUTE;
    o.features = "a,b,c,d,e";
    t->plain = fit(mapped, &o, NULL);
    far_frame_destroy(mapped);
}

static void twins_free(twins *t)
{
    far_model_destroy(t->behind);
    far_model_destroy(t->plain);
    far_frame_destroy(t->frame);
}

/* A value of the twin in the units of the other. */
static double as_behind(const twins *t, double value, int64_t k, bool slope)
{
    const far_columns *c = t->behind->columns;
    return far_output_scale(c)[k] * value + (slope ? 0 : far_output_centre(c)[k]);
}

#define ALL_TWINS(t, arch, ...)                                                                    \
    for (int which = 0; which < 2 * SHAPES; which++) {                                             \
        twins t;                                                                                   \
        make_twins((shape)(which / 2), arch, which % 2, &t);                                       \
        __VA_ARGS__                                                                                \
        twins_free(&t);                                                                            \
    }

/* ---- values ---- */

static void compare_values(const twins *t)
{
    double x[POINTS * D], z[POINTS * D], f[POINTS * P], g[POINTS * P];
    for (int i = 0; i < POINTS * D; i++) {
        x[i] = (i / D % 3 ? 1 : 50) * normal();
    }
    apply(&t->metric, x, POINTS, z);
    far_mat points = far_mat_view(x, POINTS, D, FAR_F64),
            mean = far_mat_view(f, POINTS, P, FAR_F64);
    far_mat mapped = far_mat_view(z, POINTS, D, FAR_F64),
            twin = far_mat_view(g, POINTS, P, FAR_F64);
    must(far_model_eval(ctx, t->behind, &points, &mean));
    must(far_model_eval(ctx, t->plain, &mapped, &twin));
    for (int i = 0; i < POINTS * P; i++) {
        assert_near(f[i], as_behind(t, g[i], i % P, false), 1e-9 * (1 + fabs(f[i])));
    }
}

static void predictions_are_those_of_the_mapped_table(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, compare_values(&t);)
    ALL_TWINS(t, GROWING, compare_values(&t);)
}

static void scores_are_those_of_the_mapped_table(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, {
        bool centred = which % 2; /* leaving a row out moves a centre that was learnt */
        assert_true(centred || fabs(t.behind->info.loo_r2 - t.plain->info.loo_r2) < 1e-9);
        assert_near(t.behind->info.lambda_min, t.plain->info.lambda_min,
                    1e-9 * t.plain->info.lambda_max);
        for (int i = 0; i < N * P && !centred; i++) {
            assert_near(t.behind->loo[i], as_behind(&t, t.plain->loo[i], i % P, false),
                        1e-8 * (1 + fabs(t.behind->loo[i])));
        }
    })
}

/* Predictions of both for the training rows moved a little, with these options. */
static void compare_predictions(const twins *t, const far_predict_opts *o)
{
    double raw[N * D], x[N * D], z[N * D];
    far_prediction *one, *two;
    for (int i = 0; i < N * D; i++) {
        raw[i] = t->x[i] + 0.5 * normal();
        x[i] = (raw[i] - far_input_centre(t->behind->columns)[i % D]) /
               far_input_scale(t->behind->columns)[i % D];
    }
    apply(&t->metric, x, N, z);
    far_frame *points = frame_of(raw, NULL, N), *mapped = frame_of(z, NULL, N);
    must(far_model_predict(ctx, t->behind, points, o, &one));
    must(far_model_predict(ctx, t->plain, mapped, o, &two));
    for (int i = 0; i < N * P; i++) {
        double f = ((double *)one->mean.data)[i], g = ((double *)two->mean.data)[i];
        assert_near(f, as_behind(t, g, i % P, false), 1e-7 * (1 + fabs(f)));
        if (o->spread != FAR_SPREAD_NONE) {
            double s = ((double *)one->std.data)[i], r = ((double *)two->std.data)[i];
            assert_true(s > 0);
            assert_near(s, as_behind(t, r, i % P, true), 1e-6 * s);
        }
    }
    far_prediction_destroy(one);
    far_prediction_destroy(two);
    far_frame_destroy(points);
    far_frame_destroy(mapped);
}

static void spreads_and_times_are_those_of_the_mapped_table(void **state)
{
    (void)state;
    static const far_spread SPREADS[] = {FAR_SPREAD_CALIBRATED, FAR_SPREAD_POSTERIOR,
                                         FAR_SPREAD_ENSEMBLE, FAR_SPREAD_LIKELIHOOD};
    ALL_TWINS(t, BOUNDED, {
        far_predict_opts o;
        for (int k = which % 2; k < COUNT(SPREADS); k++) { /* calibrated: by leaving rows out */
            far_predict_opts_init(&o);
            o.spread = SPREADS[k];
            compare_predictions(&t, &o);
        }
        far_predict_opts_init(&o);
        o.time = 0.7;
        o.spread = FAR_SPREAD_ENSEMBLE;
        compare_predictions(&t, &o);
    })
}

/* ---- gradients ---- */

/* Against those of the twin by hand: S' times its gradient at S x. */
static void compare_gradients(const twins *t)
{
    double x[POINTS * D], z[POINTS * D], f[POINTS * P * D], g[POINTS * P * D], back[P * D];
    for (int i = 0; i < POINTS * D; i++) {
        x[i] = normal();
    }
    apply(&t->metric, x, POINTS, z);
    far_mat points = far_mat_view(x, POINTS, D, FAR_F64);
    far_mat own = far_mat_view(f, POINTS, P * D, FAR_F64);
    far_mat mapped = far_mat_view(z, POINTS, D, FAR_F64);
    far_mat twin = far_mat_view(g, POINTS, P * D, FAR_F64);
    must(far_model_slopes(ctx, t->behind, &points, &own));
    must(far_model_slopes(ctx, t->plain, &mapped, &twin));
    for (int i = 0; i < POINTS; i++) {
        apply(&t->metric, g + i * P * D, P, back);
        for (int k = 0; k < P * D; k++) {
            double wanted = as_behind(t, back[k], k / D, true), size = 0;
            for (int j = k / D * D; j < (k / D + 1) * D; j++) {
                size = fmax(size, fabs(as_behind(t, back[j], k / D, true)));
            }
            assert_near(f[i * P * D + k], wanted, 1e-7 * size);
        }
    }
}

static void gradients_go_back_through_the_metric(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, compare_gradients(&t);)
    ALL_TWINS(t, GROWING, compare_gradients(&t);)
}

/* ---- limits ---- */

static void compare_limits(const twins *t)
{
    double u[POINTS * D], z[POINTS * D], f[POINTS * P], g[POINTS * P], order[POINTS], power[POINTS];
    for (int i = 0; i < POINTS * D; i++) {
        u[i] = normal();
    }
    apply(&t->metric, u, POINTS, z);
    far_mat ways = far_mat_view(u, POINTS, D, FAR_F64), mean = far_mat_view(f, POINTS, P, FAR_F64);
    far_mat mapped = far_mat_view(z, POINTS, D, FAR_F64),
            twin = far_mat_view(g, POINTS, P, FAR_F64);
    far_mat orders = far_mat_view(order, POINTS, 1, FAR_F64);
    far_mat powers = far_mat_view(power, POINTS, 1, FAR_F64);
    must(far_model_limit(ctx, t->behind, &ways, &mean, &orders));
    must(far_model_limit(ctx, t->plain, &mapped, &twin, &powers));
    for (int i = 0; i < POINTS * P; i++) {
        double wanted = as_behind(t, g[i], i % P, order[i / P] > 0);
        assert_true(order[i / P] == power[i / P]);
        assert_near(f[i], wanted, 1e-9 * (fabs(wanted) + (order[i / P] > 0 ? 0 : 1)));
    }
}

static void limits_are_those_of_the_mapped_directions(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, compare_limits(&t);)
    ALL_TWINS(t, GROWING, compare_limits(&t);)
}

/* f at the origin of the table. */
static void at_origin(const far_model *m, double *out)
{
    double x[D];
    for (int j = 0; j < D; j++) {
        x[j] = -far_input_centre(m->columns)[j] / far_input_scale(m->columns)[j];
    }
    far_mat point = far_mat_view(x, 1, D, FAR_F64), mean = far_mat_view(out, 1, P, FAR_F64);
    must(far_model_eval(ctx, m, &point, &mean));
}

static void check_null(const far_model *m)
{
    far_metric_info info = far_model_describe(m).metric;
    double origin[P], f[2 * P], order, x[2 * D];
    far_mat mean = far_mat_view(f, 1, P, FAR_F64), orders = far_mat_view(&order, 1, 1, FAR_F64);
    assert_int_equal(info.null.rows, D - info.rank);
    at_origin(m, origin);
    for (int64_t k = 0; k < info.null.rows; k++) {
        const double *v = far_mat_row(&info.null, k), *scale = far_input_scale(m->columns);
        for (int j = 0; j < D; j++) {
            x[j] = v[j] / scale[j];
        }
        far_mat way = far_mat_view(x, 1, D, FAR_F64);
        must(far_model_limit(ctx, m, &way, &mean, &orders));
        assert_true(order == 0);
        for (int j = 0; j < P; j++) {
            assert_true(f[j] == origin[j]);
        }
        for (int j = 0; j < D; j++) {
            x[D + j] = m->x[j] + 30 * x[j];
            x[j] = m->x[j];
        }
        far_mat pair = far_mat_view(x, 2, D, FAR_F64), both = far_mat_view(f, 2, P, FAR_F64);
        must(far_model_eval(ctx, m, &pair, &both));
        for (int j = 0; j < P; j++) {
            assert_near(f[j], f[P + j], 1e-9 * (1 + fabs(f[j])));
        }
    }
}

static void null_directions_change_nothing(void **state)
{
    (void)state;
    static const int64_t RANKS[SHAPES] = {D, 3, 1, D, 3, D, D};
    ALL_TWINS(t, GROWING, {
        assert_int_equal(far_model_describe(t.behind).metric.rank, RANKS[which / 2]);
        check_null(t.behind);
    })
}

/* Two columns whose units are 1e350 apart: their mixture has no direction in doubles. */
static void units_too_far_apart_name_nothing(void **state)
{
    (void)state;
    double x[N * D], y[N * P], map[D * D] = {0};
    far_metric s = {FAR_METRIC_FULL, D, map};
    draw_table(x, y);
    for (int i = 0; i < N; i++) {
        x[i * D] *= 1e200;
        x[i * D + 1] *= 1e-150;
    }
    for (int i = 0; i < D; i++) {
        map[i * D + i] = 1;
    }
    map[1] = map[D] = -1;
    far_frame *frame = frame_of(x, y, N);
    far_fit_opts o = options(BOUNDED, 1);
    far_model *m = fit(frame, &o, &s);
    far_metric_info info = far_model_describe(m).metric;
    assert_true(info.rank == D - 1 && info.null.rows == 1);
    for (int j = 0; j < D; j++) {
        assert_true(*((double *)info.null.data + j) == 0);
    }
    far_certificate *c = NULL;
    far_certify_opts how;
    char *json;
    far_certify_opts_init(&how);
    how.seconds = 0;
    how.starts = 2;
    must(far_model_certify(ctx, m, &how, &c));
    must(far_certificate_json(ctx, c, &json));
    assert_holds(json, "\"ignored\": []");
    assert_holds(json, "\"null\": []");
    must(far_model_certificate_check(ctx, m, json, 1));
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    far_model_destroy(m);
    far_frame_destroy(frame);
}

static void no_direction_is_refused(void **state)
{
    (void)state;
    twins t;
    double u[D] = {0}, f[P], order;
    far_mat way = far_mat_view(u, 1, D, FAR_F64), mean = far_mat_view(f, 1, P, FAR_F64);
    far_mat orders = far_mat_view(&order, 1, 1, FAR_F64);
    make_twins(SOME_ZERO, BOUNDED, 1, &t);
    refused(far_model_limit(ctx, t.behind, &way, &mean, &orders), FAR_ERR_VALUE, "direction");
    twins_free(&t);
}

/* ---- what it says of the inputs ---- */

/* Of target k, in its units. */
static double deviation_of(const far_model *m, int k)
{
    double mean = 0, square = 0;
    for (int i = 0; i < N; i++) {
        mean += m->y[i * P + k] / N;
    }
    for (int i = 0; i < N; i++) {
        square += pow(m->y[i * P + k] - mean, 2) / N;
    }
    return far_output_scale(m->columns)[k] * sqrt(square);
}

/* Half the mean square of what f changes by when input j is taken from another row, in standard
 * deviations of the targets, over all pairs: there are fewer than 512. */
static double effect_of(const far_model *m, int j)
{
    static double points[N * N * D], before[N * P], after[N * N * P];
    double sum = 0;
    for (int k = 0; k < N * N; k++) {
        memcpy(points + k * D, m->x + k / N * D, D * sizeof *points);
        points[k * D + j] = m->x[k % N * D + j];
    }
    far_mat x = far_mat_view(m->x, N, D, FAR_F64), f = far_mat_view(before, N, P, FAR_F64);
    far_mat other = far_mat_view(points, N * N, D, FAR_F64);
    far_mat g = far_mat_view(after, N * N, P, FAR_F64);
    must(far_model_eval(ctx, m, &x, &f));
    must(far_model_eval(ctx, m, &other, &g));
    for (int k = 0; k < N * N * P; k++) {
        double change = after[k] - before[k / P / N * P + k % P];
        sum += pow(change / deviation_of(m, k % P), 2) / (2. * N * (N - 1) * P);
    }
    return sum;
}

static void importance_is_how_much_the_fit_changes(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, {
        far_metric_info info = far_model_describe(t.behind).metric;
        double wanted[D] = {0}, total = 0, sum = 0, shares = 0;
        const double *importance = info.importance.data;
        for (int j = 0; j < D; j++) {
            wanted[j] = effect_of(t.behind, j);
            sum += wanted[j];
            total += importance[j];
        }
        assert_near(total, 1, 1e-12);
        for (int j = 0; j < D; j++) {
            assert_near(importance[j], wanted[j] / sum, 1e-12);
            if (info.kind == FAR_METRIC_DIAGONAL && t.map[j] == 0) {
                assert_true(importance[j] == 0);
            }
        }
        for (int64_t k = 0; k < info.shares.rows; k++) {
            shares += ((double *)info.shares.data)[k];
        }
        assert_near(shares, info.kind == FAR_METRIC_FULL ? 1 : 0, 1e-12);
    })
}

static void directions_are_the_map(void **state)
{
    (void)state;
    twins t;
    make_twins(LOW_RANK, BOUNDED, 1, &t);
    far_metric_info info = far_model_describe(t.behind).metric;
    for (int i = 0; i < D * D; i++) {
        double sum = 0;
        for (int64_t k = 0; k < info.rank; k++) {
            const double *v = far_mat_row(&info.directions, k);
            sum += t.behind->facts.values[k] * v[i / D] * v[i % D];
        }
        assert_near(sum, t.map[i], 1e-13);
    }
    for (int64_t k = 1; k < info.rank; k++) {
        assert_true(t.behind->facts.values[k] <= t.behind->facts.values[k - 1]);
    }
    twins_free(&t);
}

/* ---- certificates ---- */

static far_certificate *certify(const far_model *m, double exceeds)
{
    far_certificate *c;
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = 0.2;
    o.starts = 8;
    o.exceeds = exceeds;
    must(far_model_certify(ctx, m, &o, &c));
    return c;
}

static void check_text(const far_model *m, const far_certificate *c)
{
    char *json;
    must(far_certificate_json(ctx, c, &json));
    must(far_model_certificate_check(ctx, m, json, 1));
    far_text_free(ctx, json);
}

static void compare_bounds(const twins *t)
{
    far_certificate *own = certify(t->behind, NAN), *twin = certify(t->plain, NAN);
    for (int k = 0; k < P; k++) {
        const far_bound *a = far_certificate_bound(own, k), *b = far_certificate_bound(twin, k);
        double centre = far_output_centre(t->behind->columns)[k];
        assert_int_equal(a->verdict, FAR_BOUNDED);
        for (int i = 0; i < 3; i++) {
            assert_true(!a->proofs[i].method == !b->proofs[i].method);
        }
        assert_near(a->b1 - fabs(centre), as_behind(t, b->b1, k, true), 1e-8 * a->b1);
        assert_near(a->highest, as_behind(t, b->highest, k, false), 1e-7 * a->b1);
        assert_near(a->lowest, as_behind(t, b->lowest, k, false), 1e-7 * a->b1);
        double value;
        must(far_raw_value(ctx, t->behind, k, a->at, a->at_infinity, &value));
        assert_near(fabs(value), a->sup_found, 0);
        assert_true(a->sup_found <= a->tightest);
    }
    check_text(t->behind, own);
    far_certificate_destroy(own);
    far_certificate_destroy(twin);
}

static void bounds_are_those_of_the_mapped_table(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, compare_bounds(&t);)
}

/* A witness is a direction of the table that the metric does not lose. */
static void follow_witness(const far_model *m)
{
    far_certificate *c = certify(m, 1e4);
    for (int k = 0; k < P; k++) {
        const far_bound *b = far_certificate_bound(c, k);
        if (b->verdict != FAR_UNBOUNDED) {
            fail_msg("kind %d map %g: %s", m->metric.kind, m->metric.map[0], b->theorem);
        }
        assert_true(b->order == 1 && b->beyond > 0);
        for (int i = 0; i < 3; i++) {
            double raw[D], value, t = b->beyond * (1.001 + i * i * i);
            for (int j = 0; j < D; j++) {
                raw[j] = t * b->direction[j];
            }
            must(far_raw_value(ctx, m, k, raw, false, &value));
            assert_true(fabs(value) > 1e4);
        }
    }
    check_text(m, c);
    far_certificate_destroy(c);
}

static void witnesses_are_rows_of_the_table(void **state)
{
    (void)state;
    ALL_TWINS(t, GROWING, follow_witness(t.behind);)
}

static void certificates_name_what_does_not_count(void **state)
{
    (void)state;
    twins t;
    char *json;
    make_twins(SOME_ZERO, BOUNDED, 1, &t);
    far_certificate *c = certify(t.behind, NAN);
    far_certificate_info info = far_certificate_describe(c);
    assert_true(info.metric == FAR_METRIC_DIAGONAL && info.rank == 3 && info.null.rows == 2);
    must(far_certificate_json(ctx, c, &json));
    assert_holds(json, "\"ignored\":");
    assert_holds(json, "\"diagonal\"");
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    c = certify(t.plain, NAN);
    must(far_certificate_json(ctx, c, &json));
    assert_null(strstr(json, "metric"));
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    twins_free(&t);
}

/* ---- forged ---- */

static void replace(char **json, const char *from, const char *to)
{
    char *at = strstr(*json, from);
    assert_non_null(at);
    size_t size = strlen(*json) + strlen(to) + 1;
    char *out = malloc(size);
    snprintf(out, size, "%.*s%s%s", (int)(at - *json), *json, to, at + strlen(from));
    free(*json);
    *json = out;
}

/* A certificate of m with one text in place of another is refused. */
static void refuse_forged(const far_model *m, const char *from, const char *to)
{
    char *text, *json;
    far_certificate *c = certify(m, NAN);
    must(far_certificate_json(ctx, c, &text));
    json = strdup(text);
    replace(&json, from, to);
    far_status st = far_model_certificate_check(ctx, m, json, 1);
    assert_true(st == FAR_ERR_FORMAT || st == FAR_ERR_VALUE);
    free(json);
    far_text_free(ctx, text);
    far_certificate_destroy(c);
}

static void forged_certificates_are_refused(void **state)
{
    (void)state;
    twins t;
    make_twins(SOME_ZERO, BOUNDED, 1, &t);
    refuse_forged(t.behind, "\"diagonal\"", "\"full\"");
    refuse_forged(t.behind, "\"rank\": 3", "\"rank\": 2");
    refuse_forged(t.behind, "\"ignored\"", "\"forgotten\"");
    refuse_forged(t.behind, "\"null\": []", "\"null\": [[1, 0, 0, 0, 0]]");
    refuse_forged(t.behind, "\"metric\"", "\"metrics\"");
    twins_free(&t);
}

static void a_certificate_is_of_its_metric(void **state)
{
    (void)state;
    twins t;
    char *json;
    make_twins(WEIGHTS, BOUNDED, 1, &t);
    far_certificate *c = certify(t.behind, NAN);
    must(far_certificate_json(ctx, c, &json));
    t.behind->metric.map[1] *= 1 + 1e-15;
    refused(far_model_certificate_check(ctx, t.behind, json, 1), FAR_ERR_FORMAT, "weights");
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    twins_free(&t);
}

/* ---- files ---- */

static void files_keep_the_metric(void **state)
{
    (void)state;
    ALL_TWINS(t, BOUNDED, {
        far_model *again;
        double f[N * P];
        double g[N * P];
        far_mat x = far_mat_view(t.behind->x, N, D, FAR_F64);
        far_mat a = far_mat_view(f, N, P, FAR_F64);
        far_mat b = far_mat_view(g, N, P, FAR_F64);
        must(far_model_save(ctx, t.behind, "model.far"));
        must(far_model_load(ctx, "model.far", &again));
        assert_int_equal(again->metric.kind, t.metric.kind);
        must(far_model_eval(ctx, t.behind, &x, &a));
        must(far_model_eval(ctx, again, &x, &b));
        assert_memory_equal(f, g, sizeof f);
        far_model_destroy(again);
        assert_int_equal(remove("model.far"), 0);
    })
}

/* A model with this entry of its map, saved. */
static void refuse_map(shape which, int at, double value, const char *piece)
{
    twins t;
    far_model *again;
    make_twins(which, BOUNDED, 1, &t);
    t.behind->metric.map[at] = value;
    must(far_model_save(ctx, t.behind, "forged.far"));
    refused(far_model_load(ctx, "forged.far", &again), FAR_ERR_FORMAT, piece);
    assert_null(again);
    assert_int_equal(remove("forged.far"), 0);
    twins_free(&t);
}

static void forged_maps_are_refused(void **state)
{
    (void)state;
    refuse_map(WEIGHTS, 2, NAN, "finite");
    refuse_map(MIXED, 7, INFINITY, "finite");
    refuse_map(WEIGHTS, 2, -1, "below 0");
    refuse_map(MIXED, 1, 0.5, "symmetric");
    refuse_map(LOW_RANK, 0, -50, "semidefinite");
    refuse_map(ONE_LEFT, 3, 0, "no input");
}

/* A sealed file that announces a full map and holds a diagonal. */
static far_status write_torn(const void *model, far_output *o)
{
    far_status st;
    far_model m = *(const far_model *)model;
    far_text manifest = {.ctx = o->ctx};
    far_zip z = {.output = o, .zip64_from = UINT32_MAX, .sealed = true};
    far_sha256 sum;
    struct {
        const char *name;
        double *data;
        int64_t rows, cols;
    } arrays[] = {{"x", m.x, N, D},
                  {"y", m.y, N, P},
                  {"alpha", m.alpha, N, P},
                  {"alpha_low", m.alpha_low, N, P},
                  {"map", m.metric.map, D, 1}};
    far_sha256_init(&sum);
    o->sum = &sum;
    m.metric.kind = FAR_METRIC_FULL;
    FAR_TRY(far_manifest_write(&m, &manifest));
    far_zip_put_bytes(&z, "manifest.json", manifest.data, (size_t)manifest.length);
    for (int i = 0; i < COUNT(arrays); i++) {
        far_mat a = far_mat_view(arrays[i].data, arrays[i].rows, arrays[i].cols, FAR_F64);
        FAR_TRY(far_zip_put_matrix(&z, arrays[i].name, &a));
    }
    far_zip_finish(&z);
done:
    o->sum = NULL;
    far_free(o->ctx, manifest.data);
    return st;
}

static void a_map_of_another_size_is_refused(void **state)
{
    (void)state;
    twins t;
    far_model *again;
    make_twins(WEIGHTS, BOUNDED, 1, &t);
    must(far_output_save(ctx, "one.far", t.behind, write_torn));
    refused(far_model_load(ctx, "one.far", &again), FAR_ERR_FORMAT, "map");
    assert_int_equal(remove("one.far"), 0);
    twins_free(&t);
}

/* Finding it takes many values of the kernel: a file tells it. */
static void importance_is_read_from_the_file(void **state)
{
    (void)state;
    twins t;
    far_model *again;
    make_twins(WEIGHTS, BOUNDED, 1, &t);
    for (int j = 0; j < D; j++) {
        t.behind->facts.importance[j] = 1 / (double)(j + 2);
    }
    must(far_model_save(ctx, t.behind, "told.far"));
    must(far_model_load(ctx, "told.far", &again));
    for (int j = 0; j < D; j++) {
        assert_true(again->facts.importance[j] == 1 / (double)(j + 2));
    }
    far_model_destroy(again);
    t.behind->facts.importance[1] = 1.5;
    must(far_model_save(ctx, t.behind, "told.far"));
    refused(far_model_load(ctx, "told.far", &again), FAR_ERR_FORMAT, "no share");
    assert_int_equal(remove("told.far"), 0);
    twins_free(&t);
}

/* Another metric is another model: alpha does not solve it. */
static void a_metric_of_another_model_is_noticed(void **state)
{
    (void)state;
    twins t;
    far_model *again;
    far_certificate *c = NULL;
    far_certify_opts o;
    far_certify_opts_init(&o);
    make_twins(WEIGHTS, BOUNDED, 1, &t);
    t.behind->metric.map[1] *= 1.1;
    must(far_model_save(ctx, t.behind, "other.far"));
    must(far_model_load(ctx, "other.far", &again));
    refused(far_model_certify(ctx, again, &o, &c), FAR_ERR_FORMAT, "agree");
    far_model_destroy(again);
    assert_int_equal(remove("other.far"), 0);
    twins_free(&t);
}

/* ---- memory ---- */

static twins shared;

static far_status fit_and_certify(void)
{
    far_model *m = NULL;
    far_certificate *c = NULL;
    far_fit_opts o = options(BOUNDED, 1);
    far_certify_opts how;
    far_certify_opts_init(&how);
    how.seconds = 0;
    how.starts = 1;
    far_status st = far_model_fit_behind(ctx, shared.frame, &o, &shared.metric, &m);
    st = st == FAR_OK ? far_model_certify(ctx, m, &how, &c) : st;
    far_certificate_destroy(c);
    far_model_destroy(m);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    make_twins(LOW_RANK, BOUNDED, 1, &shared);
    fail_every_allocation(fit_and_certify);
    twins_free(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(predictions_are_those_of_the_mapped_table),
        TEST(scores_are_those_of_the_mapped_table),
        TEST(spreads_and_times_are_those_of_the_mapped_table),
        TEST(gradients_go_back_through_the_metric),
        TEST(limits_are_those_of_the_mapped_directions),
        TEST(null_directions_change_nothing),
        TEST(units_too_far_apart_name_nothing),
        TEST(no_direction_is_refused),
        TEST(importance_is_how_much_the_fit_changes),
        TEST(directions_are_the_map),
        TEST(bounds_are_those_of_the_mapped_table),
        TEST(witnesses_are_rows_of_the_table),
        TEST(certificates_name_what_does_not_count),
        TEST(forged_certificates_are_refused),
        TEST(a_certificate_is_of_its_metric),
        TEST(files_keep_the_metric),
        TEST(forged_maps_are_refused),
        TEST(a_map_of_another_size_is_refused),
        TEST(importance_is_read_from_the_file),
        TEST(a_metric_of_another_model_is_noticed),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
