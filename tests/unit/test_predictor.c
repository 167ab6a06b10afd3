/* Predictors of every kind through the same calls: values against what they are made of, limits,
 * certificates and their checks, files and what is wrong with them. */
#include "harness.h"
#include "predictors.h"

static far_prediction *predicted(const far_predictor *p, const far_frame *frame, int at_infinity)
{
    far_prediction *made;
    far_predict_opts o;
    far_predict_opts_init(&o);
    o.at_infinity = at_infinity;
    must(far_predictor_predict(ctx, p, frame, &o, &made));
    return made;
}

static void rows_and_points_agree(void **state)
{
    (void)state;
    far_frame *frame = table();
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        far_prediction *made = p ? predicted(p, frame, 0) : NULL;
        for (int i = 0; p && i < ROWS; i++) {
            double x[INPUTS], f = ((const double *)made->mean.data)[i];
            for (int j = 0; j < INPUTS; j++) {
                x[j] = far_frame_column(frame, j).numbers[i];
            }
            assert_true(fabs(value(p, x) - f) <= 1e-12 * (1 + fabs(f)));
        }
        far_prediction_destroy(made);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* f(t u) against value t^order, far out. */
static void limits_are_what_comes(void **state)
{
    (void)state;
    static const double u[INPUTS] = {0.6, -0.3, 2};
    far_frame *frame = table();
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        double v, o, x[INPUTS];
        far_mat at = far_mat_view((double *)u, 1, INPUTS, FAR_F64);
        far_mat vs = far_mat_view(&v, 1, 1, FAR_F64), os = far_mat_view(&o, 1, 1, FAR_F64);
        if (p) {
            must(far_predictor_limit(ctx, p, &at, &vs, &os));
            for (int j = 0; j < INPUTS; j++) {
                x[j] = 1e8 * u[j];
            }
            double f = value(p, x) / pow(1e8, o);
            assert_true(fabs(f - v) <= 1e-5 * (1 + fabs(v)));
            far_frame *row;
            static const char *const names[] = {"a", "b", "c"};
            must(far_frame_from_mat(ctx, &at, names, &row));
            far_prediction *made = predicted(p, row, 1);
            assert_true(*(const double *)made->order.data == o);
            assert_true(fabs(*(const double *)made->mean.data - v) <= 1e-12 * (1 + fabs(v)));
            far_prediction_destroy(made);
            far_frame_destroy(row);
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* Values at points of every size obey what is certified; the text holds, and of the others not. */
static void certificates_hold(void **state)
{
    (void)state;
    static const far_verdict wanted[KINDS] = {FAR_BOUNDED,   FAR_UNBOUNDED, FAR_BOUNDED,
                                              FAR_UNBOUNDED, FAR_UNBOUNDED, FAR_BOUNDED,
                                              FAR_BOUNDED,   FAR_BOUNDED};
    far_frame *frame = table();
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k), *other = make(frame, (k + 1) % (KINDS - 1));
        far_certificate *c = NULL;
        char *text = p ? certificate_of(p, &c) : NULL;
        const far_bound *b = p ? far_certificate_bound(c, 0) : NULL;
        assert_true(!p || b->verdict == wanted[k]);
        for (int i = 0; p && i < 300; i++) {
            double size = pow(10, i % 13 - 6), x[INPUTS], norm = 0;
            for (int j = 0; j < INPUTS; j++) {
                x[j] = size * sin(i * (j + 1.7));
                norm = hypot(norm, x[j]);
            }
            double f = value(p, x);
            assert_true(b->verdict != FAR_BOUNDED ||
                        (f >= b->lowest && f <= b->highest && fabs(f) <= b->tightest));
            assert_true(!isfinite(b->growth) || fabs(f) <= b->growth * norm + b->offset);
        }
        if (p) {
            must(far_certificate_check(ctx, p, text));
            assert_int_equal(far_certificate_check(ctx, other, text), FAR_ERR_FORMAT);
        }
        far_text_free(ctx, text);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
        far_predictor_destroy(other);
    }
    far_frame_destroy(frame);
}

/* Puts another digit in place of the first one behind each key; returns the last that was there. */
static char change(char *text, const char *key)
{
    char old = 0;
    size_t length = strlen(key), size = strlen(text);
    for (size_t at = 0; at + length < size; at++) {
        if (strncmp(text + at, key, length) == 0) {
            size_t digit = at + length + strcspn(text + at + length, "123456789");
            old = text[digit];
            text[digit] = old == '1' ? '2' : '1';
        }
    }
    return old;
}

/* A smaller bound, another slope, another predictor. */
static void changed_certificates_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"\"tightest\": ", "\"slope\": ", "\"hash\": "};
    far_frame *frame = table();
    for (int k = 3; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        for (int i = 0; p && i < COUNT(keys); i++) {
            far_certificate *c;
            char *text = certificate_of(p, &c), old = 0;
            bool bounded = far_certificate_bound(c, 0)->verdict == FAR_BOUNDED;
            if (i == 2 || (i == 0) == bounded) {
                old = change(text, keys[i]);
            }
            if (old && !(i == 0 && old == '1')) { /* a larger bound may be stated */
                assert_int_not_equal(far_certificate_check(ctx, p, text), FAR_OK);
            }
            far_text_free(ctx, text);
            far_certificate_destroy(c);
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void files_give_the_same_bits(void **state)
{
    (void)state;
    static const double x[INPUTS] = {0.3, 4.5, 2e-3};
    far_frame *frame = table();
    char path[] = "predictor.far";
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k), *again = NULL;
        if (p) {
            must(far_predictor_save(ctx, p, path));
            must(far_predictor_load(ctx, path, NULL, &again));
            assert_int_equal(far_predictor_describe(again).kind, far_predictor_describe(p).kind);
            assert_int_equal(far_predictor_describe(again).members,
                             far_predictor_describe(p).members);
            assert_int_equal(far_predictor_describe(again).sealed, 1);
            assert_true(value(p, x) == value(again, x));
            assert_string_equal(far_columns_describe(far_predictor_columns(again)).input_names[1],
                                "b");
        }
        far_predictor_destroy(p);
        far_predictor_destroy(again);
    }
    unlink(path);
    far_frame_destroy(frame);
}

/* Every byte changed, and every length: refused, or what it was. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const double x[INPUTS] = {0.3, 4.5, 2e-3};
    far_frame *frame = table();
    for (int k = 3; k < 5; k++) {
        far_predictor *p = make(frame, k), *again;
        int64_t size;
        char *bytes = bytes_of(p, &size);
        for (int64_t i = 0; i < size; i += 3) {
            char old = bytes[i];
            bytes[i] = (char)(old ^ 0x20);
            if (far_predictor_parse(ctx, "f", bytes, size, true, NULL, &again) == FAR_OK) {
                assert_true(value(again, x) == value(p, x));
                far_predictor_destroy(again);
            }
            bytes[i] = old;
            assert_int_not_equal(far_predictor_parse(ctx, "f", bytes, i, true, NULL, &again),
                                 FAR_OK);
            assert_null(again);
        }
        free(bytes);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void a_line_is_the_least_squares_line(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "y"};
    double values[ROWS * 4], x[INPUTS] = {100, -7, 3};
    for (int i = 0; i < ROWS; i++) {
        double *row = values + 4 * i;
        row[0] = sin(i);
        row[1] = 1e6 + cos(3.0 * i); /* far from 0 */
        row[2] = i % 5;
        row[3] = 2 * row[0] - 0.5 * (row[1] - 1e6) + 3 * row[2] + 11;
    }
    far_frame *frame;
    far_mat m = far_mat_view(values, ROWS, 4, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    far_predictor *p = line(frame, NAN), *flat = line(frame, INFINITY);
    double mean = 0;
    for (int i = 0; i < ROWS; i++) {
        mean += values[4 * i + 3] / ROWS;
    }
    assert_true(fabs(value(p, x) - (2 * 100 - 0.5 * (-7 - 1e6) + 9 + 11)) < 1e-2);
    assert_true(fabs(value(flat, x) - mean) < 1e-12 * fabs(mean));
    far_predictor_destroy(p);
    far_predictor_destroy(flat);
    far_frame_destroy(frame);
}

/* Without a level there is nothing to be beyond of. */
static void a_line_without_a_level_states_none(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN);
    far_certificate *c;
    far_certify_opts o;
    far_certify_opts_init(&o);
    must(far_predictor_certify(ctx, p, &o, &c));
    assert_true(isnan(far_certificate_bound(c, 0)->level));
    assert_true(isnan(far_certificate_bound(c, 0)->beyond));
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* Members that grow against each other along the direction of the first cancel there. */
static void committees_that_cancel_are_not_called_unbounded(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *a = net(frame, "dense(5) relu dense", 2),
                  *b = net(frame, "dense(5) relu dense", 2);
    far_net *turned = (far_net *)far_predictor_net(b);
    far_net_tensor_info last = far_net_tensor(turned, 2); /* the weights of the last layer */
    for (int64_t j = 0; j < last.values.cols; j++) {
        ((double *)last.values.data)[j] *= -1;
    }
    far_predictor *p = mean_of(a, b);
    far_certificate *c;
    char *text = certificate_of(p, &c);
    assert_int_equal(far_certificate_bound(c, 0)->verdict, FAR_UNDECIDED);
    must(far_certificate_check(ctx, p, text));
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN), *out = NULL;
    far_predict_opts o;
    far_prediction *made;
    far_columns_opts all = columns();
    double x[2] = {0}, f[1];
    far_mat narrow = far_mat_view(x, 1, 2, FAR_F64), at = far_mat_view(f, 1, 1, FAR_F64);
    assert_int_equal(far_predictor_eval(ctx, p, &narrow, &at), FAR_ERR_SHAPE);
    assert_int_equal(far_predictor_eval(ctx, NULL, &narrow, &at), FAR_ERR_ARG);
    assert_int_equal(far_predictor_load(ctx, "", NULL, &out), FAR_ERR_ARG);
    assert_int_equal(far_predictor_load(ctx, "nowhere.far", NULL, &out), FAR_ERR_IO);
    assert_int_equal(far_predictor_save(ctx, p, ""), FAR_ERR_ARG);
    assert_int_equal(far_certificate_check(ctx, p, NULL), FAR_ERR_ARG);
    assert_int_equal(far_predictor_fit_linear(ctx, frame, &all, 0.5, &out), FAR_ERR_ARG);
    all.target = NULL;
    assert_int_equal(far_predictor_fit_linear(ctx, frame, &all, NAN, &out), FAR_ERR_ARG);
    far_predict_opts_init(&o);
    o.spread = FAR_SPREAD_POSTERIOR;
    assert_int_equal(far_predictor_predict(ctx, p, frame, &o, &made), FAR_ERR_ARG);
    far_predictor *others[] = {p, NULL};
    assert_int_equal(far_predictor_committee(ctx, others, 2, &out), FAR_ERR_ARG);
    assert_int_equal(far_predictor_committee(ctx, others, 0, &out), FAR_ERR_ARG);
    far_columns_opts fewer = columns();
    fewer.features = "a,b";
    must(far_predictor_fit_linear(ctx, frame, &fewer, NAN, &others[1]));
    assert_int_equal(far_predictor_committee(ctx, others, 2, &out), FAR_ERR_SHAPE);
    assert_non_null(strstr(far_ctx_message(ctx), "member 2 has other inputs"));
    assert_null(out);
    far_predictor_destroy(others[1]);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = mean_of(net(frame, "dense(3) ln relu dense", 3), line(frame, NAN));
    int64_t size, live = 0;
    char *bytes = bytes_of(p, &size);
    live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int64_t k = 0; st == FAR_ERR_MEMORY; k++) {
        far_predictor *again = NULL;
        far_prediction *made = NULL;
        far_predict_opts o;
        far_predict_opts_init(&o);
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_predictor_parse(ctx, "f", bytes, size, true, NULL, &again);
        st = st == FAR_OK ? far_predictor_predict(ctx, again, frame, &o, &made) : st;
        test_heap.fail_at = -1;
        far_prediction_destroy(made);
        far_predictor_destroy(again);
        assert_int_equal(test_heap.live_blocks, live);
        assert_true(k < 2000);
    }
    must(st);
    free(bytes);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_and_points_agree),
        TEST(limits_are_what_comes),
        TEST(certificates_hold),
        TEST(changed_certificates_are_refused),
        TEST(files_give_the_same_bits),
        TEST(damaged_files_are_refused),
        TEST(a_line_is_the_least_squares_line),
        TEST(a_line_without_a_level_states_none),
        TEST(committees_that_cancel_are_not_called_unbounded),
        TEST(what_cannot_be_is_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
