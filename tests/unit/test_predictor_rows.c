/* Points of certificates with categorical columns are rows that a table can hold: the largest of
 * all rows where they can be counted, no less than a grid finds, above the level that is asked. */
#include "harness.h"
#include "predictors.h"
#include "tables.h"

/* A number x (or none), a category of 3 and one of 2: the best mixture of categories is no row. */
static far_frame *mixed(bool number)
{
    char *csv;
    size_t length;
    FILE *out = open_memstream(&csv, &length);
    fprintf(out, "%scolour,size,y\n", number ? "x," : "");
    for (int i = 0; i < 48; i++) {
        double x = sin(i) * 2, slope = (i % 3 - 1) * 2.5;
        if (number) {
            fprintf(out, "%.6f,", x);
        }
        fprintf(out, "%c,%c,%.6f\n", "rgb"[i % 3], "SL"[i / 3 % 2],
                (number ? x * x + slope * x : 3 * slope) + i / 3 % 2 * 2 + 0.1 * cos(7.0 * i));
    }
    fclose(out);
    far_frame *frame = table_of(csv);
    free(csv);
    return frame;
}

enum { WIDE = 40 }; /* inputs at most */

static double value_of(const far_predictor *p, const double *x)
{
    double f;
    far_mat in = far_mat_view((double *)x, 1, far_predictor_describe(p).inputs, FAR_F64);
    far_mat out = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_predictor_eval(ctx, p, &in, &out));
    return f;
}

/* Row q of six combinations; inputs are x (if any), colours, sizes. */
static void combine(int q, bool number, double x, double *row)
{
    int first = number;
    memset(row, 0, WIDE * sizeof *row);
    row[0] = number ? x : 0;
    row[first + q % 3] = 1;
    row[first + 3 + q / 3] = 1;
}

static double largest_on_a_grid(const far_predictor *p, bool number)
{
    double row[WIDE], most = 0;
    for (int q = 0; q < 6; q++) {
        for (int i = -200; i <= (number ? 200 : -200); i++) {
            combine(q, number, sinh(i * 0.05), row);
            most = fmax(most, fabs(value_of(p, row)));
        }
    }
    return most;
}

static far_certify_opts briefly(double level)
{
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.exceeds = level;
    o.seconds = 1;
    return o;
}

static far_certificate *certified(const far_predictor *p, double level)
{
    far_certificate *c;
    far_certify_opts o = briefly(level);
    char *text;
    must(far_predictor_certify(ctx, p, &o, &c));
    must(far_certificate_json(ctx, c, &text));
    must(far_certificate_check(ctx, p, text));
    far_text_free(ctx, text);
    return c;
}

static void found_is_the_largest_row(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bool number = k % 2 == 0;
        far_frame *frame = mixed(number);
        far_predictor *p = k < 2 ? model(frame, "dense ln relu dense relu dense")
                                 : net(frame, "dense(7) ln relu dense", 5);
        far_certificate *c = certified(p, NAN);
        const far_bound *b = far_certificate_bound(c, 0);
        double most = largest_on_a_grid(p, number);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(far_columns_is_row(far_predictor_columns(p), b->at, b->at_infinity));
        assert_true(b->sup_found >= most * (number ? 0.999 : 1 - 1e-9));
        if (!number) { /* every row was looked at */
            assert_true(b->sup_found <= most * (1 + 1e-9));
        }
        assert_true(b->sup_found <= b->tightest);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
        far_frame_destroy(frame);
    }
}

/* The largest may be on the way to infinity, at it, or, where a sine has no limit, anywhere. */
static void found_is_the_largest_row_of_many_networks(void **state)
{
    (void)state;
    static const char *const archs[] = {"dense(7) ln tanh dense", "dense(7) sin dense",
                                        "dense(5) rms relu dense(3) tanh dense"};
    far_frame *frame = mixed(true);
    for (uint64_t k = 0; k < 12; k++) {
        far_predictor *p = net(frame, archs[k % 3], k);
        far_certificate *c = certified(p, NAN);
        const far_bound *b = far_certificate_bound(c, 0);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(far_columns_is_row(far_predictor_columns(p), b->at, b->at_infinity));
        /* a sum of sines comes near its largest ever and again, wherever one looks */
        assert_true(b->sup_found >= (k % 3 == 1 ? 0.95 : 0.999) * largest_on_a_grid(p, true));
        assert_true(b->sup_found <= b->tightest);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

enum { SORTS = 4, LEVELS = 9, NUMBERS = 17 };

/* So many numbers, then so many categories of nine levels: 6561 combinations of all four. */
static far_frame *wide_table(int numbers, int sorts)
{
    char *csv;
    size_t length;
    FILE *out = open_memstream(&csv, &length);
    for (int j = 0; j < numbers; j++) {
        fprintf(out, "x%d,", j);
    }
    for (int j = 0; j < sorts; j++) {
        fprintf(out, "sort%d,", j);
    }
    fprintf(out, "y\n");
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < numbers; j++) {
            fprintf(out, "%.6f,", sin(i + 3.0 * j));
        }
        for (int j = 0; j < sorts; j++) {
            fprintf(out, "%c,", "abcdefghi"[(i * (j + 1) + i / 9) % LEVELS]);
        }
        fprintf(out, "%.6f\n", cos(i) * 3 + i % 5);
    }
    fclose(out);
    far_frame *frame = table_of(csv);
    free(csv);
    return frame;
}

static void random_row(const far_columns *c, uint64_t seed, double *row)
{
    memset(row, 0, WIDE * sizeof *row);
    for (int64_t j = 0; far_columns_feature(c, j).name; j++) {
        far_feature_info f = far_columns_feature(c, j);
        uint64_t bits = far_random_bits(seed, (uint64_t)j);
        row[f.first] =
            f.kind == FAR_COLUMN_NUMBER ? 3 * far_random_normal(seed, 100 + (uint64_t)j) : 0;
        if (f.kind == FAR_COLUMN_WORD) {
            row[f.first + (int64_t)(bits % (uint64_t)f.width)] = 1;
        }
    }
}

/* More combinations, levels and numbers than are tried in turn: no less than chance finds. */
static void found_among_many_combinations(void **state)
{
    (void)state;
    static const int shapes[][2] = {{0, SORTS}, {1, SORTS}, {NUMBERS, 1}};
    for (int k = 0; k < COUNT(shapes); k++) {
        far_frame *frame = wide_table(shapes[k][0], shapes[k][1]);
        far_predictor *p = net(frame, "dense(7) ln relu dense", 2);
        far_certificate *c = certified(p, NAN);
        const far_bound *b = far_certificate_bound(c, 0);
        const far_columns *columns = far_predictor_columns(p);
        double row[WIDE], most = 0;
        for (uint64_t i = 0; i < 2000; i++) {
            random_row(columns, i, row);
            assert_true(far_columns_is_row(columns, row, 0));
            most = fmax(most, fabs(value_of(p, row)));
        }
        assert_int_equal(b->verdict, FAR_BOUNDED);
        assert_true(far_columns_is_row(columns, b->at, b->at_infinity));
        assert_true(b->sup_found >= most && b->sup_found <= b->tightest);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
        far_frame_destroy(frame);
    }
}

static void directions_leave_categories_alone(void **state)
{
    (void)state;
    far_frame *frame = mixed(true);
    for (int k = 0; k < 3; k++) {
        far_predictor *p = k == 0   ? model(frame, "dense relu dense")
                           : k == 1 ? net(frame, "dense(7) relu dense", 5)
                                    : line(frame, NAN);
        far_certificate *c = certified(p, 1000);
        const far_bound *b = far_certificate_bound(c, 0);
        const far_columns *columns = far_predictor_columns(p);
        assert_int_equal(b->verdict, FAR_UNBOUNDED);
        assert_true(far_columns_is_row(columns, b->direction, 1));
        assert_non_null(b->row);
        assert_true(far_columns_is_row(columns, b->row, 0));
        assert_true(fabs(value_of(p, b->row)) > 1000);
        far_certificate_destroy(c);
        c = certified(p, NAN); /* no level, no row beyond it */
        assert_int_equal(far_certificate_bound(c, 0)->verdict, FAR_UNBOUNDED);
        assert_null(far_certificate_bound(c, 0)->row);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
    frame = wide_table(1, SORTS); /* categories by chance */
    far_predictor *p = line(frame, NAN);
    far_certificate *c = certified(p, 1e5);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_non_null(b->row);
    assert_true(far_columns_is_row(far_predictor_columns(p), b->row, 0));
    assert_true(fabs(value_of(p, b->row)) > 1e5);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* Without a number there is no such direction: the relaxation runs away, and it is told. */
static void categories_alone_are_relaxed(void **state)
{
    (void)state;
    far_frame *frame = mixed(false);
    far_predictor *p = line(frame, NAN);
    far_certificate *c = certified(p, 1000);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_int_equal(b->verdict, FAR_UNBOUNDED);
    assert_false(far_columns_is_row(far_predictor_columns(p), b->direction, 1));
    assert_null(b->row);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static const far_predictor *asked;
static far_certificate *proof;

static far_status look_for_rows(void)
{
    far_certify_opts o = briefly(1000);
    o.starts = 4;
    o.seconds = 1e-9; /* one round */
    return far_certificate_of_rows(ctx, asked, &o, proof);
}

/* On failure the certificate says what it said. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    far_frame *frame = mixed(true);
    far_certify_opts o = briefly(1000);
    for (int k = 0; k < 2; k++) {
        far_predictor *p = net(frame, k ? "dense(7) relu dense" : "dense(7) ln relu dense", 5);
        must(p->ops->certify(ctx, p->self, &o, &proof));
        asked = p;
        fail_every_allocation(look_for_rows);
        const far_bound *b = far_certificate_bound(proof, 0);
        const double *row = k ? b->row : b->at;
        assert_true(row && far_columns_is_row(far_predictor_columns(p), row, !k && b->at_infinity));
        far_certificate_destroy(proof);
        must(p->ops->certify(ctx, p->self, &o, &proof));
        ear.only = "categories";
        ear.stop_at = ear.calls + 1;
        assert_int_equal(look_for_rows(), k ? FAR_OK : FAR_ERR_CANCELLED);
        ear = (listener){0};
        far_certificate_destroy(proof);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void columns_tell_their_features(void **state)
{
    (void)state;
    far_frame *frame = mixed(true);
    far_predictor *p = line(frame, NAN);
    const far_columns *c = far_predictor_columns(p);
    far_feature_info colour = far_columns_feature(c, 1);
    assert_string_equal(colour.name, "colour");
    assert_true(colour.kind == FAR_COLUMN_WORD && colour.first == 1 && colour.width == 3);
    assert_string_equal(far_columns_feature(c, 1).levels[2], "r");
    assert_null(far_columns_feature(c, 0).levels);
    assert_null(far_columns_feature(c, 3).name);
    assert_null(far_columns_feature(c, -1).name);
    double half[WIDE] = {2, 0.5, 0.5, 0, 1, 0}, whole[WIDE] = {2, 0, 1, 0, 0, 1};
    double two[WIDE] = {2, 1, 1, 0, 1, 0}, none[WIDE] = {2, 0, 0, 0, 0, 1};
    assert_false(far_columns_is_row(c, half, 0));
    assert_false(far_columns_is_row(c, two, 0));
    assert_false(far_columns_is_row(c, none, 0));
    assert_true(far_columns_is_row(c, whole, 0));
    assert_false(far_columns_is_row(c, whole, 1));
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(found_is_the_largest_row),      TEST(found_is_the_largest_row_of_many_networks),
        TEST(found_among_many_combinations), TEST(directions_leave_categories_alone),
        TEST(categories_alone_are_relaxed),  TEST(every_allocation_may_fail),
        TEST(columns_tell_their_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
