/* Importance, dependence and nearest rows of every kind of predictor, against the plain formulas.
 */
#include "harness.h"
#include "predictors.h"
#include "tables.h"

static void raw_rows(const far_frame *frame, double x[ROWS * INPUTS], double y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < INPUTS; j++) {
            x[i * INPUTS + j] = far_frame_column(frame, j).numbers[i];
        }
        y[i] = far_frame_column(frame, INPUTS).numbers[i];
    }
}

static double r2(const far_predictor *p, const double *x, const double *y)
{
    double mean = 0, total = 0, left = 0;
    for (int i = 0; i < ROWS; i++) {
        mean += y[i] / ROWS;
    }
    for (int i = 0; i < ROWS; i++) {
        double off = y[i] - value(p, x + i * INPUTS);
        total += (y[i] - mean) * (y[i] - mean);
        left += off * off;
    }
    return 1 - left / total;
}

static void importance_is_what_permutations_cost(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], other[ROWS * INPUTS];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(y, ROWS, 1, FAR_F64);
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        double score, lost[INPUTS];
        if (!p) {
            continue;
        }
        must(far_predictor_importance(ctx, p, &xs, &ys, 2, 7, &score, lost));
        assert_near(score, r2(p, x, y), 1e-9 * (1 + fabs(score)));
        for (int j = 0; j < INPUTS; j++) {
            double mean = 0;
            for (uint64_t t = 0; t < 2; t++) {
                int64_t order[ROWS];
                for (int i = 0; i < ROWS; i++) {
                    order[i] = i;
                }
                far_random_shuffle(7 + t, order, ROWS);
                memcpy(other, x, sizeof x);
                for (int i = 0; i < ROWS; i++) {
                    other[i * INPUTS + j] = x[order[i] * INPUTS + j];
                }
                mean += (r2(p, x, y) - r2(p, other, y)) / 2;
            }
            assert_near(lost[j], mean, 1e-9 * (1 + fabs(mean)));
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static void dependence_is_a_mean_over_rows(void **state)
{
    (void)state;
    static const double at[] = {-2, 0.25, 7};
    double x[ROWS * INPUTS], y[ROWS], got[3];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), out = far_mat_view(got, 3, 1, FAR_F64);
    for (int k = 0; k < KINDS; k++) {
        far_predictor *p = make(frame, k);
        if (!p) {
            continue;
        }
        must(far_predictor_dependence(ctx, p, &xs, 1, at, 3, &out));
        for (int g = 0; g < 3; g++) {
            double mean = 0;
            for (int i = 0; i < ROWS; i++) {
                double row[INPUTS] = {x[i * INPUTS], at[g], x[i * INPUTS + 2]};
                mean += value(p, row) / ROWS;
            }
            assert_near(got[g], mean, 1e-9 * (1 + fabs(mean)));
        }
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

static far_predictor *coloured(far_frame **frame)
{
    *frame = table_of("x,colour,y\n1,r,5\n2,g,1\n3,b,9\n4,r,6\n5,g,3\n6,b,9\n7,r,8\n8,g,4\n");
    return model(*frame, "dense ln relu dense");
}

/* Inputs are x and the colours b, g, r. */
static void categories_move_as_one(void **state)
{
    (void)state;
    far_frame *frame;
    far_predictor *p = coloured(&frame);
    double x[8 * 4], y[8], lost[2], score, got[3], f;
    far_mat xs = far_mat_view(x, 8, 4, FAR_F64), ys = far_mat_view(y, 8, 1, FAR_F64);
    must(far_predictor_rows(ctx, p, &xs, &ys));
    for (int i = 0; i < 8; i++) {
        int level = "\2\1\0"[i % 3];
        assert_near(x[4 * i], i + 1, 1e-12);
        for (int k = 0; k < 3; k++) {
            assert_true(x[4 * i + 1 + k] == (k == level)); /* to the bit */
        }
        assert_near(y[i], far_frame_column(frame, 2).numbers[i], 1e-12);
    }
    must(far_predictor_importance(ctx, p, &xs, &ys, 3, 0, &score, lost));
    assert_true(score > 0.8 && lost[0] > 0.05 && lost[1] > 0.05);
    static const double levels[] = {0, 1, 2};
    far_mat out = far_mat_view(got, 3, 1, FAR_F64), v = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_predictor_dependence(ctx, p, &xs, 1, levels, 3, &out));
    for (int k = 0; k < 3; k++) {
        double mean = 0;
        for (int i = 0; i < 8; i++) {
            double row[4] = {x[4 * i], k == 0, k == 1, k == 2};
            far_mat in = far_mat_view(row, 1, 4, FAR_F64);
            must(far_predictor_eval(ctx, p, &in, &v));
            mean += f / 8;
        }
        assert_near(got[k], mean, 1e-9 * (1 + fabs(mean)));
    }
    static const double wrong[] = {3};
    far_mat one = far_mat_view(got, 1, 1, FAR_F64);
    refused(far_predictor_dependence(ctx, p, &xs, 1, wrong, 1, &one), FAR_ERR_VALUE,
            "colour has no category 3");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void nearest_rows_are_in_order(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], away[2 * 5];
    int64_t rows[2 * 5];
    double points[2 * INPUTS] = {0.1, 5.2, 0, 9, 9, 9};
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_predictor *p = line(frame, NAN);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    far_mat at = far_mat_view(points, 2, INPUTS, FAR_F64);
    const double *scale = far_input_scale(far_predictor_columns(p));
    must(far_predictor_nearest(ctx, p, &xs, &at, 5, rows, away));
    for (int q = 0; q < 2; q++) {
        for (int k = 0; k < 5; k++) {
            int nearer = 0;
            for (int i = 0; i < ROWS; i++) {
                double square = 0;
                for (int j = 0; j < INPUTS; j++) {
                    double z = (x[i * INPUTS + j] - points[q * INPUTS + j]) / scale[j];
                    square += z * z;
                }
                nearer += sqrt(square) < away[q * 5 + k] * (1 - 1e-12);
                if (i == rows[q * 5 + k]) {
                    assert_near(sqrt(square), away[q * 5 + k], 1e-9);
                }
            }
            assert_int_equal(nearer, k);
        }
    }
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- classes ------------------------------------------------------------------------------- */

/* Rows of so many kinds, told half by u and v; of three the last is rare. */
static far_frame *sorts_table(int sorts)
{
    char *csv;
    size_t length;
    FILE *out = open_memstream(&csv, &length);
    fprintf(out, "u,v,y\n");
    for (int i = 0; i < ROWS; i++) {
        double u = sin(5.0 * i), v = cos(3.0 * i);
        int sort = sorts == 3 && i % 9 == 4 ? 2 : u + 0.3 * v * v + 0.8 * sin(77.0 * i) > 0.4;
        fprintf(out, "%.6f,%.6f,%c\n", u, v, "abc"[sort]);
    }
    fclose(out);
    far_frame *frame = table_of(csv);
    free(csv);
    return frame;
}

static far_predictor *class_net(const far_frame *frame, far_loss loss)
{
    far_net *made;
    far_examples *e;
    far_predictor *p;
    far_net_opts how;
    far_columns_opts o = columns();
    o.loss = loss;
    must(far_examples_learn(ctx, frame, &o, &e));
    far_net_opts_init(&how);
    how.inputs = 2;
    how.outputs = far_columns_describe(e->columns).outputs;
    how.seed = 3;
    must(far_net_create(ctx, "dense(8) relu dense", &how, &made));
    must(far_net_set_columns(ctx, made, e->columns));
    far_examples_destroy(e);
    must(far_predictor_own(ctx, &far_finite_ops, FAR_OK, made, &p));
    return p;
}

/* Rows in raw units with targets: 1 for the class, of two with one output for the second. */
static void class_rows(const far_predictor *p, const far_frame *frame, double *x, double *y)
{
    int64_t outputs = far_predictor_describe(p).outputs;
    for (int i = 0; i < ROWS; i++) {
        int32_t code = far_frame_column(frame, 2).codes[i];
        x[2 * i] = far_frame_column(frame, 0).numbers[i];
        x[2 * i + 1] = far_frame_column(frame, 1).numbers[i];
        for (int64_t k = 0; k < outputs; k++) {
            y[i * outputs + k] = code == k + (outputs == 1);
        }
    }
}

/* Of the classes that predict tells. */
static double told_accuracy(const far_predictor *p, const far_frame *frame)
{
    far_prediction *told;
    far_predict_opts o;
    int right = 0;
    far_predict_opts_init(&o);
    must(far_predictor_predict(ctx, p, frame, &o, &told));
    for (int i = 0; i < ROWS; i++) {
        right += told->classes[i] == far_frame_column(frame, 2).codes[i];
    }
    far_prediction_destroy(told);
    return (double)right / ROWS;
}

static far_predictor *classifier(const far_frame *frame, int kind)
{
    switch (kind) {
    case 0:
        return model(frame, "dense relu dense");
    case 1:
        return class_net(frame, FAR_LOSS_CE);
    case 2:
        return line(frame, NAN);
    case 3:
        return mean_of(model(frame, "dense relu dense"), model(frame, "dense erf dense"));
    default:
        return class_net(frame, FAR_LOSS_BCE);
    }
}

static void classes_count_by_accuracy(void **state)
{
    (void)state;
    static const int cases[][2] = {{3, 0}, {3, 1}, {3, 2}, {3, 3}, {2, 0}, {2, 2}, {2, 4}};
    for (int k = 0; k < COUNT(cases); k++) {
        far_frame *frame = sorts_table(cases[k][0]);
        far_predictor *p = classifier(frame, cases[k][1]);
        double x[ROWS * 2], y[ROWS * 3], score, lost[2];
        class_rows(p, frame, x, y);
        far_mat xs = far_mat_view(x, ROWS, 2, FAR_F64);
        far_mat ys = far_mat_view(y, ROWS, far_predictor_describe(p).outputs, FAR_F64);
        must(far_predictor_importance(ctx, p, &xs, &ys, 2, 1, &score, lost));
        assert_near(score, told_accuracy(p, frame), 1e-15);
        assert_true(lost[0] <= score && lost[1] <= score);
        far_predictor_destroy(p);
        far_frame_destroy(frame);
    }
}

/* Also where scores run away, and of a file that is read again. */
static void probabilities_are_never_0_or_1(void **state)
{
    (void)state;
    static const int cases[][2] = {{3, 0}, {3, 1}, {3, 2}, {3, 3}, {2, 0}, {2, 2}, {2, 4}};
    far_frame *far_away = table_of("u,v\n0.3,0.1\n1e3,-1e3\n-1e7,1e3\n5e9,2e9\n");
    for (int k = 0; k < COUNT(cases); k++) {
        far_frame *frame = sorts_table(cases[k][0]);
        far_predictor *p = classifier(frame, cases[k][1]), *again;
        far_prediction *told, *same;
        far_predict_opts o;
        int64_t size;
        char *bytes = bytes_of(p, &size);
        far_predict_opts_init(&o);
        must(far_predictor_predict(ctx, p, far_away, &o, &told));
        must(far_predictor_parse(ctx, "again", bytes, size, true, NULL, &again));
        must(far_predictor_predict(ctx, again, far_away, &o, &same));
        far_mat q = told->probability.data ? told->probability : told->mean;
        far_mat r = same->probability.data ? same->probability : same->mean;
        for (int64_t i = 0; i < q.rows; i++) {
            const double *one = far_mat_row(&q, i), *other = far_mat_row(&r, i);
            double sum = 0;
            for (int64_t c = 0; c < q.cols; c++) {
                assert_true(one[c] > 0 && one[c] < 1 && one[c] == other[c]);
                sum += one[c];
            }
            assert_near(sum, 1, 1e-14);
        }
        free(bytes);
        far_prediction_destroy(told);
        far_prediction_destroy(same);
        far_predictor_destroy(p);
        far_predictor_destroy(again);
        far_frame_destroy(frame);
    }
    far_frame_destroy(far_away);
}

/* ---- columns without names, outputs that do not vary --------------------------------------- */

static far_predictor *unnamed_net(int64_t outputs)
{
    far_net *made;
    far_predictor *p;
    far_net_opts how;
    far_net_opts_init(&how);
    how.inputs = INPUTS;
    how.outputs = outputs;
    must(far_net_create(ctx, "dense(5) relu dense", &how, &made));
    must(far_predictor_own(ctx, &far_finite_ops, FAR_OK, made, &p));
    return p;
}

/* Every input is a feature, of a network and of a committee; rows may stand apart in memory. */
static void inputs_without_names_are_features(void **state)
{
    (void)state;
    enum { APART = INPUTS + 2 };
    double x[ROWS * INPUTS], y[ROWS], wide[ROWS * APART], score, again, lost[INPUTS], other[INPUTS];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    for (int i = 0; i < ROWS; i++) {
        memcpy(wide + i * APART, x + i * INPUTS, INPUTS * sizeof *x);
    }
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(y, ROWS, 1, FAR_F64);
    far_mat apart = far_mat_view(wide, ROWS, INPUTS, FAR_F64);
    apart.ld = APART;
    for (int k = 0; k < 2; k++) {
        static const double at[] = {-1};
        double got, mean = 0;
        far_mat out = far_mat_view(&got, 1, 1, FAR_F64);
        far_predictor *p = k ? mean_of(unnamed_net(1), unnamed_net(1)) : unnamed_net(1);
        must(far_predictor_importance(ctx, p, &xs, &ys, 2, 7, &score, lost));
        must(far_predictor_importance(ctx, p, &apart, &ys, 2, 7, &again, other));
        assert_near(score, r2(p, x, y), 1e-9 * fabs(score));
        assert_true(score == again && memcmp(lost, other, sizeof lost) == 0);
        assert_true(lost[0] != 0 && lost[1] != 0 && lost[2] != 0);
        must(far_predictor_dependence(ctx, p, &apart, 2, at, 1, &out));
        for (int i = 0; i < ROWS; i++) {
            mean += value(p, (double[]){x[i * INPUTS], x[i * INPUTS + 1], -1}) / ROWS;
        }
        assert_near(got, mean, 1e-12);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* R2 is the mean over the outputs that vary; of none of them there is none. */
static void outputs_that_do_not_vary_do_not_count(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS], two[ROWS * 2], f[ROWS * 2], score, lost[INPUTS], left = 0;
    double mean = 0, total = 0;
    far_frame *frame = table();
    far_predictor *p = unnamed_net(2);
    raw_rows(frame, x, y);
    for (int i = 0; i < ROWS; i++) {
        two[2 * i] = 3;
        two[2 * i + 1] = y[i];
        mean += y[i] / ROWS;
    }
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(two, ROWS, 2, FAR_F64);
    far_mat fs = far_mat_view(f, ROWS, 2, FAR_F64);
    must(far_predictor_eval(ctx, p, &xs, &fs));
    for (int i = 0; i < ROWS; i++) {
        left += pow(y[i] - f[2 * i + 1], 2);
        total += pow(y[i] - mean, 2);
        assert_true(isfinite(f[2 * i]));
    }
    must(far_predictor_importance(ctx, p, &xs, &ys, 1, 0, &score, lost));
    assert_near(score, 1 - left / total, 1e-9 * fabs(score));
    for (int i = 0; i < ROWS; i++) {
        two[2 * i + 1] = -1;
    }
    must(far_predictor_importance(ctx, p, &xs, &ys, 1, 0, &score, lost));
    assert_true(isnan(score) && isnan(lost[0]));
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void bad_questions_are_refused(void **state)
{
    (void)state;
    static const double bad[] = {NAN}, half[] = {0.5}, below[] = {-1};
    double x[ROWS * INPUTS], y[ROWS], score, lost[INPUTS], colours[8 * 4], one[8];
    int64_t rows[1];
    far_frame *frame = table(), *other;
    raw_rows(frame, x, y);
    far_predictor *p = line(frame, NAN), *q = coloured(&other);
    far_mat xs = far_mat_view(x, ROWS, INPUTS, FAR_F64), ys = far_mat_view(y, ROWS, 1, FAR_F64);
    far_mat none = far_mat_view(x, 0, INPUTS, FAR_F64);
    far_mat out = far_mat_view(&score, 1, 1, FAR_F64);
    far_mat cs = far_mat_view(colours, 8, 4, FAR_F64), os = far_mat_view(one, 8, 1, FAR_F64);
    refused(far_predictor_importance(ctx, NULL, &xs, &ys, 1, 0, &score, lost), FAR_ERR_ARG, "NULL");
    refused(far_predictor_importance(ctx, p, &ys, &ys, 1, 0, &score, lost), FAR_ERR_SHAPE, "x");
    refused(far_predictor_importance(ctx, p, &none, &ys, 1, 0, &score, lost), FAR_ERR_SHAPE,
            "rows");
    refused(far_predictor_importance(ctx, p, &xs, &ys, 0, 0, &score, lost), FAR_ERR_ARG, "repeats");
    refused(far_predictor_importance(ctx, p, &xs, &ys, 1, 0, NULL, lost), FAR_ERR_ARG, "NULL");
    refused(far_predictor_importance(ctx, p, &xs, &ys, 1, 0, &score, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_importance(ctx, p, &xs, &xs, 1, 0, &score, lost), FAR_ERR_SHAPE, "y");
    refused(far_predictor_dependence(ctx, NULL, &xs, 0, x, 1, &out), FAR_ERR_ARG, "NULL");
    refused(far_predictor_dependence(ctx, p, &xs, 0, x, 2, &out), FAR_ERR_SHAPE, "out");
    refused(far_predictor_dependence(ctx, p, &xs, 3, x, 1, &out), FAR_ERR_ARG, "feature");
    refused(far_predictor_dependence(ctx, p, &xs, -1, x, 1, &out), FAR_ERR_ARG, "feature");
    refused(far_predictor_dependence(ctx, p, &xs, 0, NULL, 1, &out), FAR_ERR_ARG, "values");
    refused(far_predictor_dependence(ctx, p, &xs, 0, bad, 1, &out), FAR_ERR_VALUE,
            "a cannot be nan");
    must(far_predictor_rows(ctx, q, &cs, &os));
    refused(far_predictor_dependence(ctx, q, &cs, 1, half, 1, &out), FAR_ERR_VALUE, "category 0.5");
    refused(far_predictor_dependence(ctx, q, &cs, 1, below, 1, &out), FAR_ERR_VALUE, "category -1");
    refused(far_predictor_nearest(ctx, NULL, &xs, &xs, 1, rows, lost), FAR_ERR_ARG, "NULL");
    refused(far_predictor_nearest(ctx, p, &xs, &ys, 1, rows, lost), FAR_ERR_SHAPE, "points");
    refused(far_predictor_nearest(ctx, p, &xs, &xs, 0, rows, lost), FAR_ERR_ARG, "1 to 40");
    refused(far_predictor_nearest(ctx, p, &xs, &xs, ROWS + 1, rows, lost), FAR_ERR_ARG, "1 to 40");
    refused(far_predictor_nearest(ctx, p, &xs, &xs, 1, NULL, lost), FAR_ERR_ARG, "NULL");
    refused(far_predictor_nearest(ctx, p, &xs, &xs, 1, rows, NULL), FAR_ERR_ARG, "NULL");
    refused(far_predictor_rows(ctx, NULL, &xs, &ys), FAR_ERR_ARG, "does not keep the rows");
    refused(far_predictor_rows(ctx, p, &xs, &ys), FAR_ERR_ARG, "does not keep the rows");
    refused(far_predictor_rows(ctx, q, &xs, &os), FAR_ERR_SHAPE, "x");
    refused(far_predictor_rows(ctx, q, &cs, &ys), FAR_ERR_SHAPE, "y");
    far_predictor_destroy(p);
    far_predictor_destroy(q);
    far_frame_destroy(frame);
    far_frame_destroy(other);
}

static const far_predictor *asked;
static far_mat asked_x, asked_y;

static far_status ask_importance(void)
{
    double score, lost[INPUTS];
    return far_predictor_importance(ctx, asked, &asked_x, &asked_y, 1, 0, &score, lost);
}

static far_status ask_dependence(void)
{
    static const double at[] = {1, 2};
    double got[2];
    far_mat out = far_mat_view(got, 2, 1, FAR_F64);
    return far_predictor_dependence(ctx, asked, &asked_x, 0, at, 2, &out);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double x[ROWS * INPUTS], y[ROWS];
    far_frame *frame = table();
    raw_rows(frame, x, y);
    far_predictor *p = net(frame, "dense(5) relu dense", 1);
    far_frame *sorts = sorts_table(3);
    far_predictor *q = mean_of(class_net(sorts, FAR_LOSS_CE), class_net(sorts, FAR_LOSS_CE));
    double u[ROWS * 2], w[ROWS * 3];
    class_rows(q, sorts, u, w);
    asked = q;
    asked_x = far_mat_view(u, ROWS, 2, FAR_F64);
    asked_y = far_mat_view(w, ROWS, 3, FAR_F64);
    fail_every_allocation(ask_importance);
    far_predictor_destroy(q);
    far_frame_destroy(sorts);
    asked = p;
    asked_x = far_mat_view(x, ROWS, INPUTS, FAR_F64);
    asked_y = far_mat_view(y, ROWS, 1, FAR_F64);
    fail_every_allocation(ask_importance);
    fail_every_allocation(ask_dependence);
    ear.only = "explain";
    cancel_next();
    assert_int_equal(ask_importance(), FAR_ERR_CANCELLED);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(importance_is_what_permutations_cost),
        TEST(dependence_is_a_mean_over_rows),
        TEST(categories_move_as_one),
        TEST(nearest_rows_are_in_order),
        TEST(classes_count_by_accuracy),
        TEST(probabilities_are_never_0_or_1),
        TEST(inputs_without_names_are_features),
        TEST(outputs_that_do_not_vary_do_not_count),
        TEST(bad_questions_are_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
