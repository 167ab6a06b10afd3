/*
 * The steps of experiments/uci90 on small made-up sets: encodings, relevance against differences of
 * kernels, committees, links, that splits are honoured, and the whole protocol.
 */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base_internal.h"
#include "uci90.h"

enum { SEED = 11 };
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define assert_close(a, b, most) assert_true(fabs((double)(a) - (double)(b)) <= (most))

static uci90_lab lab;

static int open_lab(void **state)
{
    (void)state;
    return uci90_lab_open(2, &lab) != FAR_OK;
}

static int close_lab(void **state)
{
    (void)state;
    uci90_lab_close(&lab);
    return 0;
}

/* ---- sets ---- */

/* Rows i with i % parts == part are tested. */
static uci90_split every(int64_t n, int64_t parts, int64_t part)
{
    uci90_split split = uci90_split_make(n, n);
    split.train.count = split.test.count = 0;
    for (int64_t i = 0; i < n; i++) {
        uci90_rows *to = i % parts == part ? &split.test : &split.train;
        to->at[to->count++] = i;
    }
    return split;
}

/* Noise; labels are drawn anew and know nothing of x. */
static uci90_set noise_set(int64_t n, int64_t d, int64_t classes)
{
    uci90_set set = {.name = "made-up", .n = n, .d = d, .classes = classes};
    set.x = UCI90_ALLOC(n * d, double);
    set.label = UCI90_ALLOC(n, int64_t);
    for (int64_t k = 0; k < n * d; k++) {
        set.x[k] = far_random_normal(SEED, (uint64_t)k);
    }
    for (int64_t i = 0; i < n; i++) {
        set.label[i] = (int64_t)(far_random_bits(SEED + 1, (uint64_t)i) % (uint64_t)classes);
    }
    set.halves = every(n, 2, 1);
    for (int f = 0; f < UCI90_FOLDS; f++) {
        set.fold[f] = every(n, UCI90_FOLDS, f);
    }
    return set;
}

/* Two Gaussians, 4 standard deviations apart along the first feature. */
static uci90_set blobs(int64_t n, int64_t d)
{
    uci90_set set = noise_set(n, d, 2);
    for (int64_t i = 0; i < n; i++) {
        set.x[i * d] += set.label[i] ? 2 : -2;
    }
    return set;
}

/* All rows, the testing half first. */
static uci90_rows both(const uci90_set *set)
{
    uci90_rows all = {.at = UCI90_ALLOC(set->n, int64_t)};
    for (int64_t i = 0; i < set->n; i++) {
        all.at[all.count++] = i < set->halves.test.count
                                  ? set->halves.test.at[i]
                                  : set->halves.train.at[i - set->halves.test.count];
    }
    return all;
}

/* ---- encodings ---- */

static void quantiles_are_those_of_the_normal(void **state)
{
    static const double P[] = {1e-6, 0.001, 0.3, 0.5, 0.9, 0.99999};
    (void)state;
    for (int i = 0; i < COUNT(P); i++) {
        double back = 0.5 * erfc(-uci90_normal_quantile(P[i]) / sqrt(2));
        assert_close(back / P[i], 1, 1e-10);
    }
    assert_close(uci90_normal_quantile(0.975), 1.959963984540054, 1e-12);
}

static void normal_scores_keep_order_and_ties(void **state)
{
    uci90_set set = noise_set(7, 1, 2);
    const double x[] = {5, -3, 5, 100, 0, 2, 2};
    uci90_features f;
    double mean = 0, square = 0;
    (void)state;
    memcpy(set.x, x, sizeof x);
    assert_int_equal(uci90_encode(&lab, &set, UCI90_NORMAL, &set.halves.train, &f), FAR_OK);
    for (int i = 0; i < 7; i++) {
        mean += f.z[i] / 7;
        square += f.z[i] * f.z[i] / 7;
    }
    assert_close(mean, 0, 1e-12);
    assert_close(square, 1, 1e-12);
    assert_true(f.z[0] == f.z[2] && f.z[5] == f.z[6]);
    assert_true(f.z[1] < f.z[4] && f.z[4] < f.z[5] && f.z[5] < f.z[0] && f.z[0] < f.z[3]);
    uci90_features_free(&f);
    uci90_set_free(&set);
}

static void one_hot_counts_a_category_as_one_feature(void **state)
{
    uci90_set set = noise_set(12, 2, 2);
    uci90_features f;
    double square = 0;
    (void)state;
    assert_false(uci90_encoding_applies(&set, UCI90_ONE_HOT));
    for (int64_t i = 0; i < set.n; i++) {
        set.x[2 * i + 1] = (double)(i % 3);
    }
    assert_true(uci90_encoding_applies(&set, UCI90_ONE_HOT));
    assert_int_equal(uci90_encode(&lab, &set, UCI90_ONE_HOT, &set.halves.train, &f), FAR_OK);
    assert_int_equal(f.width, 4);
    for (int64_t i = 0; i < set.n; i++) {
        assert_close(f.z[4 * i], sqrt(2) * set.x[2 * i], 1e-12);
        assert_close(f.z[4 * i + 1] + f.z[4 * i + 2] + f.z[4 * i + 3], 0, 1e-12);
        for (int k = 1; k < 4; k++) {
            square += f.z[4 * i + k] * f.z[4 * i + k] / (double)set.n;
        }
    }
    assert_close(square, 2, 1e-12); /* variance 1, times width / d */
    uci90_features_free(&f);
    uci90_set_free(&set);
}

/* ---- relevance ---- */

/* sum over rows of (f_0(x + h e_j) - f_0(x - h e_j))^2, f_0 the first class's fit; with two classes
 * the other one's is the same. */
static double difference_square(const uci90_set *set, const far_mat *x, const far_mat *weights,
                                int64_t feature)
{
    enum { MOST = 64 };
    static double moved_data[MOST * MOST], k_data[MOST * MOST];
    double up[MOST], down[MOST], sum = 0;
    far_mat moved = far_mat_view(moved_data, x->rows, x->cols, FAR_F64);
    far_mat k = far_mat_view(k_data, x->rows, x->rows, FAR_F64);
    assert_true(x->rows <= MOST && x->cols <= MOST && set->classes == 2);
    for (int sign = -1; sign <= 1; sign += 2) {
        far_mat f = far_mat_view(sign > 0 ? up : down, x->rows, 1, FAR_F64);
        memcpy(moved_data, x->data, (size_t)(x->rows * x->cols) * sizeof(double));
        for (int64_t i = 0; i < x->rows; i++) {
            moved_data[i * x->cols + feature] += sign * 1e-6;
        }
        assert_int_equal(far_kernel_eval(lab.ctx, lab.net[0], &moved, x, FAR_FILL_FULL, NULL, &k),
                         FAR_OK);
        assert_int_equal(far_multiply(lab.ctx, &k, weights, &f), FAR_OK);
    }
    for (int64_t i = 0; i < x->rows; i++) {
        sum += (up[i] - down[i]) * (up[i] - down[i]);
    }
    return sum;
}

static void relevance_is_the_square_of_derivatives(void **state)
{
    enum { N = 41, D = 3 };
    uci90_set set = noise_set(N, D, 2);
    double relevance[D * D], mean[2], weights_data[N], k_data[N * N];
    uci90_split whole = uci90_split_make(N, 0);
    uci90_rows all = whole.train;
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        all.at[i] = i;
    }
    double *targets = uci90_targets(&set, &all, mean);
    far_mat x = far_mat_view(set.x, N, D, FAR_F64), k = far_mat_view(k_data, N, N, FAR_F64);
    far_mat b = far_mat_view(targets, N, 1, FAR_F64);
    far_mat weights = far_mat_view(weights_data, N, 1, FAR_F64);
    assert_int_equal(far_kernel_eval(lab.ctx, lab.net[0], &x, NULL, FAR_FILL_FULL, NULL, &k),
                     FAR_OK);
    assert_int_equal(uci90_solve(&lab, &k, 0.1, &b, &weights), FAR_OK);
    assert_int_equal(uci90_relevance(&lab, &set, &all, relevance), FAR_OK);
    double first = difference_square(&set, &x, &weights, 0);
    for (int j = 1; j < D; j++) {
        double wanted = difference_square(&set, &x, &weights, j) / first;
        assert_close(relevance[j * D + j] / relevance[0] / wanted, 1, 1e-4);
    }
    free(targets);
    uci90_split_free(&whole);
    uci90_set_free(&set);
}

static void relevance_finds_the_feature_that_matters(void **state)
{
    uci90_set set = noise_set(101, 7, 2);
    double relevance[49];
    uci90_features f;
    (void)state;
    for (int64_t i = 0; i < set.n; i++) {
        set.label[i] = set.x[i * 7 + 4] > 0;
    }
    assert_int_equal(uci90_relevance(&lab, &set, &set.halves.train, relevance), FAR_OK);
    assert_int_equal(uci90_encode(&lab, &set, UCI90_RELEVANCE, &set.halves.train, &f), FAR_OK);
    for (int j = 0; j < 7; j++) {
        double scale = f.z[j] / set.x[j], scale4 = f.z[4] / set.x[4];
        assert_true(j == 4 || relevance[4 * 7 + 4] > 3 * relevance[j * 7 + j]);
        assert_close(scale / scale4, sqrt(relevance[j * 7 + j] / relevance[4 * 7 + 4]), 1e-10);
    }
    uci90_features_free(&f);
    uci90_set_free(&set);
}

/* a' b of encoded rows is a' M b of the raw ones, up to one factor. */
static void directions_are_the_root_of_the_matrix(void **state)
{
    enum { D = 5 };
    uci90_set set = noise_set(53, D, 3);
    double m[D * D], factor = 0;
    uci90_features f;
    (void)state;
    for (int64_t i = 0; i < set.n; i++) { /* the sum of two features tells the class */
        double sum = set.x[i * D] + set.x[i * D + 1];
        set.label[i] = (sum > -0.5) + (sum > 0.5);
    }
    assert_int_equal(uci90_relevance(&lab, &set, &set.halves.train, m), FAR_OK);
    assert_true(m[1] > 0.3 * m[0]); /* so the features go together */
    assert_int_equal(uci90_encode(&lab, &set, UCI90_DIRECTIONS, &set.halves.train, &f), FAR_OK);
    for (int64_t i = 0; i < set.n; i++) {
        const double *a = set.x + i * D, *b = set.x + (i + 7) % set.n * D;
        double wanted = 0, got = 0;
        for (int j = 0; j < D; j++) {
            got += f.z[i * D + j] * f.z[(i + 7) % set.n * D + j];
            for (int k = 0; k < D; k++) {
                wanted += a[j] * m[j * D + k] * b[k];
            }
        }
        factor = i == 0 ? got / wanted : factor;
        assert_close(got, factor * wanted, 1e-9 * (1 + fabs(got)));
    }
    uci90_features_free(&f);
    uci90_set_free(&set);
}

static void relevance_of_one_class_changes_nothing(void **state)
{
    uci90_set set = noise_set(23, 3, 2);
    uci90_features f;
    (void)state;
    for (int64_t i = 0; i < set.halves.train.count; i++) {
        set.label[set.halves.train.at[i]] = 1;
    }
    assert_int_equal(uci90_encode(&lab, &set, UCI90_RELEVANCE, &set.halves.train, &f), FAR_OK);
    assert_memory_equal(f.z, set.x, (size_t)(set.n * set.d) * sizeof(double));
    uci90_features_free(&f);
    uci90_set_free(&set);
}

/* ---- choosing ---- */

/* Candidates 3, 8 and 20: the first right but timid, the others wrong in opposite ways. */
static void committees_take_what_completes_them(void **state)
{
    uci90_set set = noise_set(4, 1, 2);
    uci90_scores scores = {.of = {NULL}};
    static double timid[8], high[8], low[8];
    uci90_rows all = {.count = 4, .at = (int64_t[]){0, 1, 2, 3}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int c = 0; c < 2; c++) {
            double truth = set.label[i] == c, shift = i % 2 ? 0.6 : -0.6;
            timid[2 * i + c] = truth ? 0.51 : 0.49;
            high[2 * i + c] = truth + (c ? shift : -shift);
            low[2 * i + c] = truth - (c ? shift : -shift);
        }
    }
    scores.of[3] = timid;
    scores.of[8] = high;
    scores.of[20] = low;
    uci90_choice single = uci90_choose_accurate(&set, &all, &scores);
    uci90_choice close = uci90_choose_close(&set, &all, &scores);
    uci90_choice many = uci90_choose_committee(&set, &all, &scores);
    int sum = 0;
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        sum += many.votes[k];
    }
    double mean[8];
    uci90_average(&set, &all, &scores, &many, mean);
    assert_int_equal(single.votes[3], 1);
    assert_int_equal(close.votes[3], 1);
    assert_int_equal(sum, UCI90_ROUNDS);
    assert_true(many.votes[8] >= 4 && many.votes[20] >= 4);
    assert_true(uci90_squared_error(&set, &all, mean) <
                0.1 * uci90_squared_error(&set, &all, timid));
    uci90_set_free(&set);
}

static void equal_accuracy_is_decided_by_squared_error(void **state)
{
    uci90_set set = noise_set(2, 1, 2);
    double far_off[4], near[4];
    uci90_rows all = {.count = 2, .at = (int64_t[]){0, 1}};
    uci90_scores scores = {.of = {NULL}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        double truth = set.label[i / 2] == i % 2;
        near[i] = truth ? 0.9 : 0.1;
        far_off[i] = truth ? 0.6 : 0.4;
    }
    scores.of[1] = far_off;
    scores.of[95] = near;
    assert_int_equal(uci90_choose_accurate(&set, &all, &scores).votes[95], 1);
    uci90_set_free(&set);
}

/* ---- splits ---- */

static void score_both_ways(const uci90_set *set, uci90_scores *out)
{
    uci90_split ways[] = {set->halves, {.train = set->halves.test, .test = set->halves.train}};
    *out = uci90_scores_make(set, UCI90_ENCODINGS);
    assert_int_equal(uci90_score(&lab, set, ways, 2, out), FAR_OK);
}

/* A row's out-of-half score must not know the row's label, nor any of its half's: they are changed
 * in the odd rows, then in the even ones. */
static void scores_do_not_see_the_labels_they_are_for(void **state)
{
    uci90_set set = noise_set(31, 3, 3);
    uci90_scores before, after;
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        const uci90_rows *changed = odd ? &set.halves.test : &set.halves.train;
        score_both_ways(&set, &before);
        for (int64_t i = 0; i < changed->count; i++) {
            set.label[changed->at[i]] = (set.label[changed->at[i]] + 1) % 3;
        }
        score_both_ways(&set, &after);
        for (int k = 0; k < UCI90_CANDIDATES; k++) {
            for (int64_t i = 0; before.of[k] && i < set.n; i++) {
                bool same = memcmp(before.of[k] + 3 * i, after.of[k] + 3 * i, 24) == 0;
                assert_int_equal(same, i % 2 == odd);
            }
        }
        assert_null(before.of[uci90_candidate(UCI90_ONE_HOT, 0, 0)]);
        assert_non_null(before.of[uci90_candidate(UCI90_DIRECTIONS, 3, 5)]);
        uci90_scores_free(&before);
        uci90_scores_free(&after);
    }
    uci90_set_free(&set);
}

static void parts_test_every_row_once(void **state)
{
    uci90_set set = noise_set(37, 1, 3);
    const uci90_rows *train = &set.fold[1].train;
    uci90_split splits[UCI90_PARTS];
    int tested[37] = {0}, most[3] = {0}, least[3] = {37, 37, 37};
    (void)state;
    uci90_part(&set, train, splits);
    for (int s = 0; s < UCI90_PARTS; s++) {
        int count[3] = {0};
        bool trained[37] = {false};
        assert_int_equal(splits[s].train.count + splits[s].test.count, train->count);
        for (int64_t i = 0; i < splits[s].train.count; i++) {
            trained[splits[s].train.at[i]] = true;
        }
        for (int64_t i = 0; i < splits[s].test.count; i++) {
            int64_t at = splits[s].test.at[i];
            tested[at]++;
            count[set.label[at]]++;
            assert_false(trained[at]);
        }
        for (int c = 0; c < 3; c++) {
            most[c] = count[c] > most[c] ? count[c] : most[c];
            least[c] = count[c] < least[c] ? count[c] : least[c];
        }
        uci90_split_free(&splits[s]);
    }
    for (int64_t i = 0; i < set.n; i++) {
        assert_int_equal(tested[i], i % UCI90_FOLDS != 1);
    }
    for (int c = 0; c < 3; c++) {
        assert_true(most[c] - least[c] <= 1);
    }
    uci90_set_free(&set);
}

/* d's choice and what teaches its link know the labels of the training rows, and no others. */
static void nested_choice_does_not_see_the_test_rows(void **state)
{
    uci90_set set = blobs(47, 3);
    const uci90_split *fold = &set.fold[2];
    uci90_judged before, after, other;
    size_t bytes = (size_t)(set.n * set.classes) * sizeof(double);
    (void)state;
    assert_int_equal(uci90_choose_within(&lab, &set, &fold->train, &before), FAR_OK);
    for (int64_t i = 0; i < fold->test.count; i++) {
        set.label[fold->test.at[i]] ^= 1;
    }
    assert_int_equal(uci90_choose_within(&lab, &set, &fold->train, &after), FAR_OK);
    assert_memory_equal(&before.choice, &after.choice, sizeof before.choice);
    assert_memory_equal(before.held_out, after.held_out, bytes);
    assert_int_equal(before.rows.count, fold->train.count);
    for (int64_t i = 0; i < fold->test.count; i++) {
        int64_t at = fold->test.at[i];
        assert_true(after.held_out[2 * at] == 0 && after.held_out[2 * at + 1] == 0);
    }
    set.label[fold->train.at[0]] ^= 1;
    assert_int_equal(uci90_choose_within(&lab, &set, &fold->train, &other), FAR_OK);
    assert_true(memcmp(before.held_out, other.held_out, bytes) != 0);
    uci90_judged_free(&before);
    uci90_judged_free(&after);
    uci90_judged_free(&other);
    uci90_set_free(&set);
}

static void large_sets_are_judged_on_their_first_parts(void **state)
{
    uci90_set set = blobs(59, 2);
    int64_t n = set.n;
    uci90_split splits[UCI90_PARTS];
    uci90_rows few = {.count = 40, .at = set.fold[0].train.at};
    uci90_judged j;
    (void)state;
    uci90_part(&set, &few, splits);
    set.x = realloc(set.x, (UCI90_LARGE + 1) * 2 * sizeof(double));
    set.label = realloc(set.label, (UCI90_LARGE + 1) * sizeof(int64_t));
    assert_true(set.x && set.label);
    for (int64_t i = n; i <= UCI90_LARGE; i++) {
        set.x[2 * i] = set.x[2 * i + 1] = (double)i / UCI90_LARGE;
        set.label[i] = 0;
    }
    set.n = UCI90_LARGE + 1;
    assert_int_equal(uci90_choose_within(&lab, &set, &few, &j), FAR_OK);
    assert_int_equal(j.rows.count, splits[0].test.count + splits[1].test.count);
    assert_int_equal(j.rows.at[splits[0].test.count], splits[1].test.at[0]);
    for (int s = 0; s < UCI90_PARTS; s++) {
        uci90_split_free(&splits[s]);
    }
    uci90_judged_free(&j);
    uci90_set_free(&set);
}

/* ---- links ---- */

/* Labels drawn from a link's own probabilities teach that link. */
static void links_find_the_one_that_drew_the_labels(void **state)
{
    enum { N = 20011, C = 3 };
    uci90_set set = noise_set(N, 1, C);
    uci90_rows all = {.count = N, .at = UCI90_ALLOC(N, int64_t)};
    uci90_link truth = {.slope = {2, 0.7}}, link;
    double *scores = UCI90_ALLOC(N * C, double), p[C], loss, own, entropy = 0;
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        double u = far_random_uniform(SEED + 2, (uint64_t)i), sum = 0;
        for (int c = 0; c < C; c++) {
            scores[C * i + c] = far_random_uniform(SEED + 3, (uint64_t)(C * i + c)) * 1.2 - 0.1;
        }
        uci90_link_apply(&truth, scores + C * i, C, p);
        set.label[i] = C - 1;
        for (int c = C - 1; c >= 0; c--) {
            entropy -= p[c] * log(p[c]) / N;
        }
        for (int c = 0; c < C - 1; c++) {
            sum += p[c];
            if (u < sum) {
                set.label[i] = c;
                break;
            }
        }
        all.at[i] = i;
    }
    link = uci90_link_fit(&set, &all, scores);
    assert_int_equal(uci90_log_loss(&lab, &set, &all, scores, &link, &loss), FAR_OK);
    assert_int_equal(uci90_log_loss(&lab, &set, &all, scores, &truth, &own), FAR_OK);
    assert_close(link.slope[0], 2, 0.25);
    assert_close(link.slope[1], 0.7, 0.1);
    assert_true(loss < own + 1e-5 && loss > own - 1e-3); /* own rows are met a little better */
    assert_close(own, entropy, 0.02);
    FREE(scores, all.at);
    uci90_set_free(&set);
}

static void links_stay_finite_where_scores_separate(void **state)
{
    uci90_set set = noise_set(19, 1, 2);
    uci90_rows all = both(&set);
    double scores[38], p[2], loss, wrong;
    (void)state;
    for (int64_t i = 0; i < set.n; i++) {
        scores[2 * i] = set.label[i] ? 0.1 : 0.9;
        scores[2 * i + 1] = 1 - scores[2 * i];
    }
    uci90_link link = uci90_link_fit(&set, &all, scores);
    uci90_link_apply(&link, scores, 2, p);
    assert_close(p[0] + p[1], 1, 1e-12);
    assert_close(fmin(p[0], p[1]), 0.5 / 20 + 0.1 / 20 * 0.5, 0.005);
    assert_int_equal(uci90_log_loss(&lab, &set, &all, scores, &link, &loss), FAR_OK);
    for (int64_t i = 0; i < set.n; i++) {
        set.label[i] ^= 1;
    }
    assert_int_equal(uci90_log_loss(&lab, &set, &all, scores, &link, &wrong), FAR_OK);
    assert_close(loss, -log(fmax(p[0], p[1])), 1e-9);
    assert_close(wrong, -log(fmin(p[0], p[1])), 1e-9);
    free(all.at);
    uci90_set_free(&set);
}

static void scores_sum_to_one(void **state)
{
    uci90_set set = noise_set(29, 2, 5);
    uci90_rows all = both(&set);
    uci90_gram gram;
    uci90_features f;
    double *scores[UCI90_RIDGES] = {NULL};
    (void)state;
    scores[2] = UCI90_ALLOC(set.n * 5, double);
    assert_int_equal(uci90_encode(&lab, &set, UCI90_RAW, &set.halves.train, &f), FAR_OK);
    assert_int_equal(uci90_gram_make(&lab, &f, lab.net[1], &all, &gram), FAR_OK);
    assert_int_equal(uci90_fit(&lab, &set, &gram, &set.halves, scores), FAR_OK);
    for (int64_t i = 0; i < set.n; i++) {
        double sum = 0;
        for (int c = 0; c < 5; c++) {
            sum += scores[2][5 * i + c];
        }
        assert_close(sum, i % 2, 1e-12); /* rows of the other half are left as they were */
    }
    FREE(scores[2], all.at);
    uci90_gram_free(&gram);
    uci90_features_free(&f);
    uci90_set_free(&set);
}

/* ---- the protocol ---- */

static void blobs_are_told_apart(void **state)
{
    uci90_set set = blobs(120, 3);
    uci90_result r;
    (void)state;
    assert_int_equal(uci90_run(&lab, &set, true, &r), FAR_OK);
    for (int c = 0; c < UCI90_COLUMNS; c++) {
        assert_true(r.percent[c] > 95 && r.log_loss[c] > 0 && r.log_loss[c] < 0.2);
    }
    assert_true(r.done && r.n == 120 && r.d == 3 && r.classes == 2);
    assert_string_equal(r.name, "made-up");
    uci90_set_free(&set);
}

/* Labels that nothing tells must be guessed: a leak would show as more. Of 240 rows 120 +- 8 are
 * right by chance; choosing on all halves adds its own small leak to a, b and c, not to d. */
static void labels_that_nothing_tells_are_guessed(void **state)
{
    uci90_set set = noise_set(240, 5, 2);
    uci90_result r;
    (void)state;
    assert_int_equal(uci90_run(&lab, &set, true, &r), FAR_OK);
    for (int c = 0; c < UCI90_COLUMNS; c++) {
        assert_true(r.percent[c] > 35 && r.percent[c] < 65);
        assert_true(r.log_loss[c] > 0.65 && r.log_loss[c] < 0.76); /* log 2: nothing is told */
    }
    uci90_set_free(&set);
}

static void without_nesting_the_column_is_empty(void **state)
{
    uci90_set set = blobs(40, 2);
    uci90_result r;
    (void)state;
    assert_int_equal(uci90_run(&lab, &set, false, &r), FAR_OK);
    assert_true(isnan(r.percent[UCI90_NESTED]) && isnan(r.log_loss[UCI90_NESTED]));
    assert_true(r.percent[UCI90_COMMITTEE] > 80);
    uci90_set_free(&set);
}

/* ---- files ---- */

typedef struct bad_file {
    const char *table, *halves, *message;
} bad_file;

static const char FOLDS[] = "0 1 2\n3\n0 1 3\n2\n0 2 3\n1\n1 2 3\n0\n";
static const char TABLE[] =
    "\tf1\tf2\tclase\n1\t0.5\t-1\t7\n2\t1e1\t2\t3\n3\t0\t0\t7\n4\t1\t1\t9\n";

static char folder[32]; /* where the test runs */

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/data/toy/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(folder, sizeof folder, "test_uci90_XXXXXX");
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(command, sizeof command, "mkdir -p %s/data/toy", folder);
    return system(command);
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void sets_are_read_as_published(void **state)
{
    uci90_set set;
    (void)state;
    write_file("toy_R.dat", TABLE);
    write_file("conxuntos.dat", "2 0\n1 3\n");
    write_file("conxuntos_kfold.dat", FOLDS);
    assert_int_equal(uci90_set_read(&lab, folder, "toy", &set), FAR_OK);
    assert_true(set.n == 4 && set.d == 2 && set.classes == 3);
    assert_true(set.x[0] == 0.5 && set.x[2] == 10 && set.x[7] == 1);
    assert_true(set.label[0] == 1 && set.label[1] == 0 && set.label[2] == 1 && set.label[3] == 2);
    assert_true(set.halves.train.at[0] == 2 && set.halves.test.at[1] == 3);
    assert_true(set.fold[3].train.count == 3 && set.fold[3].test.at[0] == 0);
    uci90_set_free(&set);
}

static void bad_sets_are_refused_with_the_place(void **state)
{
    static const bad_file BAD[] = {
        {"f1 f2 c\n1 2 3 4\n1 2 x 4\n", "0\n1\n", "line 3 holds a word"},
        {"f1 f2 c\n1 2 3 4\n1 2 3\n", "0\n1\n", "line 3 has not as many"},
        {"f1 f2 c\n1 2 3 4\n", "0\n1\n", "less than 2 rows"},
        {"f1 f2 c\n1 2 3 4\n1 2 3 4\n", "0\n1\n", "the same label"},
        {TABLE, "0 1\n2 4\n", "line 2 names a row"},
        {TABLE, "0 1\n", "ends after 1 lines"},
        {TABLE, "0 1\n1 2 3\n", "do not part the rows"},
        {TABLE, "0 1\n2\n", "do not part the rows"},
        {TABLE, "0 1\n2 2\n", "do not part the rows"},
    };
    (void)state;
    write_file("conxuntos_kfold.dat", FOLDS);
    for (int i = 0; i < COUNT(BAD); i++) {
        uci90_set set;
        write_file("toy_R.dat", BAD[i].table);
        write_file("conxuntos.dat", BAD[i].halves);
        assert_int_equal(uci90_set_read(&lab, folder, "toy", &set), FAR_ERR_FORMAT);
        assert_non_null(strstr(uci90_message(&lab), BAD[i].message));
        assert_null(set.x);
    }
    uci90_set set;
    assert_int_equal(uci90_set_read(&lab, folder, "absent", &set), FAR_ERR_IO);
    lab.message[0] = '\0';
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_normal),
        cmocka_unit_test(normal_scores_keep_order_and_ties),
        cmocka_unit_test(one_hot_counts_a_category_as_one_feature),
        cmocka_unit_test(relevance_is_the_square_of_derivatives),
        cmocka_unit_test(relevance_finds_the_feature_that_matters),
        cmocka_unit_test(directions_are_the_root_of_the_matrix),
        cmocka_unit_test(relevance_of_one_class_changes_nothing),
        cmocka_unit_test(committees_take_what_completes_them),
        cmocka_unit_test(equal_accuracy_is_decided_by_squared_error),
        cmocka_unit_test(scores_do_not_see_the_labels_they_are_for),
        cmocka_unit_test(scores_sum_to_one),
        cmocka_unit_test(parts_test_every_row_once),
        cmocka_unit_test(nested_choice_does_not_see_the_test_rows),
        cmocka_unit_test(large_sets_are_judged_on_their_first_parts),
        cmocka_unit_test(links_find_the_one_that_drew_the_labels),
        cmocka_unit_test(links_stay_finite_where_scores_separate),
        cmocka_unit_test(blobs_are_told_apart),
        cmocka_unit_test(labels_that_nothing_tells_are_guessed),
        cmocka_unit_test(without_nesting_the_column_is_empty),
        cmocka_unit_test_setup_teardown(sets_are_read_as_published, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_sets_are_refused_with_the_place, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, open_lab, close_lab);
}
