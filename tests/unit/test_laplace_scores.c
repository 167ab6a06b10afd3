/* Probabilities, scores by hand, the choice of rank and prior, and an overfitted classifier. */
#include "laplace_points.h"

#include <farfield/train.h>

#define D 2

/* ---- scores by hand ------------------------------------------------------------------------ */

static void class_scores_are_as_by_hand(void **state)
{
    (void)state;
    double p[] = {0.8, 0.2, 0.8, 0.2, 0.6, 0.4};
    const int64_t labels[] = {0, 1, 0};
    far_mat m = far_mat_view(p, 3, 2, FAR_F64);
    far_class_score s;
    must(far_class_scores(ctx, &m, labels, 5, &s)); /* 0.6 in (0.4, 0.6], 0.8 in (0.6, 0.8] */
    assert_near(s.nll, -(log(0.8) + log(0.2) + log(0.6)) / 3, 1e-15);
    assert_near(s.brier, (0.08 + 1.28 + 0.32) / 3, 1e-15);
    assert_near(s.accuracy, 2.0 / 3, 1e-15);
    assert_near(s.ece, (fabs(1 - 1.6) + fabs(1 - 0.6)) / 3, 1e-15);
    must(far_class_scores(ctx, &m, labels, 1, &s)); /* one bin: 2 hits, 2.2 expected */
    assert_near(s.ece, 0.2 / 3, 1e-15);
    must(far_class_scores(ctx, &m, labels, 0, &s)); /* 15 bins: 0.6 and 0.8 still apart */
    assert_near(s.ece, 1.0 / 3, 1e-15);
}

static void a_bin_has_its_upper_end(void **state)
{
    (void)state;
    double p[] = {0.6, 0.4, 0.5, 0.5};
    const int64_t labels[] = {1, 0};
    far_mat m = far_mat_view(p, 2, 2, FAR_F64);
    far_class_score s;
    must(far_class_scores(ctx, &m, labels, 5, &s)); /* both in (0.4, 0.6] */
    assert_near(s.ece, fabs((0 - 0.6) + (1 - 0.5)) / 2, 1e-15);
}

static void ties_and_certainty_have_scores_too(void **state)
{
    (void)state;
    double p[] = {0.5, 0.5, 0.5, 0.5, 1, 0, 0, 1};
    const int64_t labels[] = {0, 1, 1, 1};
    far_mat m = far_mat_view(p, 4, 2, FAR_F64);
    far_class_score s;
    must(far_class_scores(ctx, &m, labels, 10, &s));
    assert_near(s.accuracy, 0.5, 0); /* of a tie the first class */
    assert_near(s.nll, (2 * log(2) + 300 * log(10)) / 4, 1e-12);
    assert_near(s.ece, (fabs(1 - 1.0) + fabs(1 - 2.0)) / 4, 1e-15);
}

static void entropy_and_variance_are_as_by_hand(void **state)
{
    (void)state;
    double p[] = {0.25, 0.25, 0.5, 1, 0, 0}, out[3];
    double c[] = {1, 9, 9, 2, 3, 9, 9, 4};
    far_mat m = far_mat_view(p, 2, 3, FAR_F64), cov = far_mat_view(c, 4, 2, FAR_F64);
    must(far_class_entropy(ctx, &m, out));
    assert_near(out[0], 1.5 * log(2), 1e-15);
    assert_near(out[1], 0, 0);
    must(far_laplace_variance(ctx, &cov, out));
    assert_near(out[0], 3, 0);
    assert_near(out[1], 7, 0);
}

static void gauss_scores_are_as_by_hand(void **state)
{
    (void)state;
    double f[] = {0, 0, 1, 1}, y[] = {1, 0, 1, 5}, c[] = {3, 7, 7, 0, 0, 7, 7, 3};
    far_mat mean = far_mat_view(f, 2, 2, FAR_F64), target = far_mat_view(y, 2, 2, FAR_F64);
    far_mat cov = far_mat_view(c, 4, 2, FAR_F64);
    far_gauss_score s;
    double pi = acos(-1), wide = 0.5 * log(8 * pi), narrow = 0.5 * log(2 * pi);
    must(far_gauss_scores(ctx, &mean, &cov, &target, 1, &s));
    assert_near(s.nll, (2 * wide + 2 * narrow + 0.5 * (1.0 + 16.0) / 4) / 2, 1e-14);
    assert_near(s.rmse, sqrt(17.0 / 4), 1e-15);
    assert_near(s.coverage, 0.75, 0); /* 4 is more than 1.96 * 2 */
    must(far_gauss_scores(ctx, &mean, NULL, &target, 2, &s));
    assert_near(s.nll, (4 * 0.5 * log(4 * pi) + 17.0 / 4) / 2, 1e-14);
}

static void auroc_counts_ties_half(void **state)
{
    (void)state;
    const double in[] = {2, 1, 2}, out_of[] = {3, 2};
    double a;
    must(far_domain_auroc(ctx, in, 3, out_of, 2, &a));
    assert_near(a, (3 + 1 + 0.5 + 0.5) / 6, 1e-15);
    must(far_domain_auroc(ctx, out_of, 2, in, 3, &a));
    assert_near(a, 1.0 / 6, 1e-15);
    must(far_domain_auroc(ctx, in, 3, in, 3, &a));
    assert_near(a, 0.5, 1e-15);
}

static void auroc_is_the_share_of_pairs(void **state)
{
    (void)state;
    double in[37], out_of[23], a, pairs = 0;
    for (int i = 0; i < 37; i++) {
        in[i] = floor(6 * sin(3.1 * i));
    }
    for (int j = 0; j < 23; j++) {
        out_of[j] = floor(6 * sin(1.7 * j) + 1.5);
    }
    for (int k = 0; k < 37 * 23; k++) {
        double gap = out_of[k % 23] - in[k / 23];
        pairs += gap > 0 ? 1 : gap == 0 ? 0.5 : 0;
    }
    must(far_domain_auroc(ctx, in, 37, out_of, 23, &a));
    assert_near(a, pairs / (37 * 23), 1e-14);
}

/* ---- probabilities ------------------------------------------------------------------------- */

static far_probability_opts rule(int32_t kind, int64_t samples, uint64_t seed)
{
    far_probability_opts o;
    o = (far_probability_opts){.size = sizeof o};
    o.rule = kind;
    o.samples = samples;
    o.seed = seed;
    return o;
}

static far_mat probability(const far_mat *mean, const far_mat *cov, far_probability_opts o)
{
    far_mat out = matrix(mean->rows, mean->cols);
    must(far_laplace_probability(ctx, mean, cov, &o, &out));
    for (int64_t i = 0; i < out.rows; i++) {
        double sum = 0;
        for (int64_t c = 0; c < out.cols; c++) {
            sum += *at(&out, i, c);
        }
        assert_near(sum, 1, 1e-12);
    }
    return out;
}

/* A variance along (1, .., 1) moves all logits together; samples must see that. */
static void without_a_spread_all_rules_are_the_softmax(void **state)
{
    (void)state;
    double f[] = {1, -2, 0.5, 800, 0, 3};
    far_mat mean = far_mat_view(f, 2, 3, FAR_F64), none = matrix(6, 3), common = matrix(6, 3);
    for (int k = 0; k < 18; k++) {
        ((double *)common.data)[k] = 4;
    }
    far_mat map = probability(&mean, NULL, rule(FAR_PROBABILITY_MEAN, 1, 0));
    far_mat probit = probability(&mean, &none, rule(FAR_PROBABILITY_PROBIT, 1, 0));
    far_mat still = probability(&mean, &none, rule(FAR_PROBABILITY_SAMPLES, 3, 0));
    far_mat moved = probability(&mean, &common, rule(FAR_PROBABILITY_SAMPLES, 5, 0));
    double sum = exp(1) + exp(-2) + exp(0.5);
    assert_near(*at(&map, 0, 1), exp(-2) / sum, 1e-15);
    assert_near(*at(&map, 1, 0), 1, 0);
    assert_true(distance(&probit, &map) < 1e-15);
    assert_true(distance(&still, &map) < 1e-15);
    assert_true(distance(&moved, &map) < 1e-14);
    far_mat *owned[] = {&none, &common, &map, &probit, &still, &moved};
    release(owned, COUNT(owned));
}

static void probit_is_its_formula(void **state)
{
    (void)state;
    double f[] = {1, -2, 0.5}, c[] = {2, 0.3, 0, 0.3, 1, 0, 0, 0, 5}, pi = acos(-1);
    far_mat mean = far_mat_view(f, 1, 3, FAR_F64), cov = far_mat_view(c, 3, 3, FAR_F64);
    far_mat p = probability(&mean, &cov, rule(FAR_PROBABILITY_PROBIT, 1, 0));
    double e[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        e[k] = exp(f[k] / sqrt(1 + pi / 8 * c[4 * k]));
        sum += e[k];
    }
    for (int k = 0; k < 3; k++) {
        assert_near(*at(&p, 0, k), e[k] / sum, 1e-14);
    }
    double c2[] = {2, 0.3, 0.3, 1};
    far_mat two = far_mat_view(f, 1, 2, FAR_F64), cov2 = far_mat_view(c2, 2, 2, FAR_F64);
    far_mat q = probability(&two, &cov2, rule(FAR_PROBABILITY_PROBIT, 1, 0));
    assert_near(*at(&q, 0, 0), 1 / (1 + exp(-3 / sqrt(1 + pi / 8 * 2.4))), 1e-14);
    free(p.data);
    free(q.data);
}

/* E sigmoid(d), d ~ N(mean, variance), by the trapezoidal rule. */
static double expected_sigmoid(double mean, double variance)
{
    double sum = 0, weights = 0;
    for (double t = -8; t <= 8; t += 0.01) {
        double weight = exp(-t * t / 2);
        sum += weight / (1 + exp(-mean - t * sqrt(variance)));
        weights += weight;
    }
    return sum / weights;
}

static void samples_tend_to_the_integral(void **state)
{
    (void)state;
    double f[] = {1, -2}, c[] = {2, 0.9, 0.9, 3};
    far_mat mean = far_mat_view(f, 1, 2, FAR_F64), cov = far_mat_view(c, 2, 2, FAR_F64);
    far_mat p = probability(&mean, &cov, rule(FAR_PROBABILITY_SAMPLES, 200000, 3));
    assert_near(*at(&p, 0, 0), expected_sigmoid(3, 2 + 3 - 1.8), 2e-3);
    free(p.data);
}

static void samples_depend_on_the_seed_alone(void **state)
{
    (void)state;
    far_mat mean = points(7, 3, 0.3), cov = matrix(21, 3);
    for (int64_t r = 0; r < 21; r++) {
        *at(&cov, r, r % 3) = 1 + 0.1 * (double)r;
    }
    far_mat a = probability(&mean, &cov, rule(FAR_PROBABILITY_SAMPLES, 50, 3));
    far_mat b = probability(&mean, &cov, rule(FAR_PROBABILITY_SAMPLES, 50, 4));
    far_mat c = matrix(7, 3);
    far_probability_opts o = rule(FAR_PROBABILITY_SAMPLES, 50, 3);
    far_ctx_opts opts;
    far_ctx *alone;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = 1;
    must(far_ctx_create(&opts, &alone));
    must(far_laplace_probability(alone, &mean, &cov, &o, &c));
    assert_memory_equal(a.data, c.data, 21 * sizeof(double));
    assert_true(distance(&a, &b) > 1e-4);
    far_ctx_destroy(alone);
    far_mat *owned[] = {&mean, &cov, &a, &b, &c};
    release(owned, COUNT(owned));
}

static far_mat pair_probability(far_mat *mean, const far_mat *cov, far_probability_opts o)
{
    far_mat out = matrix(mean->rows, 2);
    must(far_laplace_probability(ctx, mean, cov, &o, &out));
    for (int64_t i = 0; i < out.rows; i++) {
        assert_near(*at(&out, i, 0) + *at(&out, i, 1), 1, 1e-10); /* of many draws */
    }
    return out;
}

/* One output is the logit of the second class. */
static void one_logit_stands_for_two_classes(void **state)
{
    (void)state;
    double f[] = {1.3, -40, 800}, c[] = {2, 0, 5}, pi = acos(-1);
    far_mat mean = far_mat_view(f, 3, 1, FAR_F64), cov = far_mat_view(c, 3, 1, FAR_F64);
    far_mat map = pair_probability(&mean, NULL, rule(FAR_PROBABILITY_MEAN, 1, 0));
    far_mat probit = pair_probability(&mean, &cov, rule(FAR_PROBABILITY_PROBIT, 1, 0));
    far_mat mc = pair_probability(&mean, &cov, rule(FAR_PROBABILITY_SAMPLES, 200000, 3));
    assert_near(*at(&map, 0, 1), 1 / (1 + exp(-1.3)), 1e-15);
    assert_near(*at(&map, 1, 1) * exp(40), 1, 1e-12);
    assert_near(*at(&map, 2, 1), 1, 0);
    assert_near(*at(&probit, 0, 1), 1 / (1 + exp(-1.3 / sqrt(1 + pi / 4))), 1e-15);
    assert_near(*at(&probit, 1, 1), *at(&map, 1, 1), 0);
    assert_near(*at(&mc, 0, 1), expected_sigmoid(1.3, 2), 2e-3);
    assert_near(*at(&mc, 1, 1) * exp(40), 1, 1e-9);
    far_mat *owned[] = {&map, &probit, &mc};
    release(owned, COUNT(owned));
}

/* ---- data ---------------------------------------------------------------------------------- */

/* Three overlapping blobs on a circle; labels in turn. Numbers from a fixed sequence. */
static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*seed >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
    double u = uniform(seed), v = uniform(seed);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static far_mat blobs(int64_t n, uint64_t seed, int64_t *labels)
{
    far_mat x = matrix(n, D);
    for (int64_t i = 0; i < n; i++) {
        labels[i] = i % 3;
        *at(&x, i, 0) = 1.2 * cos(2.1 * (double)labels[i]) + normal(&seed);
        *at(&x, i, 1) = 1.2 * sin(2.1 * (double)labels[i]) + normal(&seed);
    }
    return x;
}

static far_net *trained(const far_mat *x, const int64_t *labels, const char *arch, int64_t epochs,
                        uint64_t seed)
{
    far_net *net = network(arch, D, seed);
    far_mat y = matrix(x->rows, 1);
    far_train_opts o;
    far_train_opts_init(&o);
    o.loss = FAR_LOSS_CE;
    o.lr = 0.01;
    o.epochs = epochs;
    for (int64_t i = 0; i < x->rows; i++) {
        *at(&y, i, 0) = (double)labels[i];
    }
    must(far_net_train(ctx, net, x, &y, &o, NULL));
    free(y.data);
    return net;
}

static far_class_score scores_of(const far_laplace *la, const far_mat *x, const int64_t *labels,
                                 far_probability_opts o, double *entropy)
{
    far_mat mean = matrix(x->rows, 3), cov = matrix(3 * x->rows, 3);
    far_class_score s;
    must(far_laplace_predict(ctx, la, x, &mean, &cov));
    far_mat p = probability(&mean, &cov, o);
    must(far_class_scores(ctx, &p, labels, 0, &s));
    must(far_class_entropy(ctx, &p, entropy));
    far_mat *owned[] = {&mean, &cov, &p};
    release(owned, COUNT(owned));
    return s;
}

/* ---- choosing ------------------------------------------------------------------------------ */

#define NV 31

static far_laplace *small_classifier(int32_t method, far_mat *x, far_net **net)
{
    int64_t labels[30];
    far_laplace_opts o;
    *x = blobs(30, 1, labels);
    *net = trained(x, labels, "dense(5) tanh dense(3)", 300, 1);
    far_laplace_opts_init(&o);
    o.method = method;
    o.likelihood = FAR_LIKELIHOOD_SOFTMAX;
    o.rank = 12;
    return fitted(*net, x, &o);
}

static void check_choice(int32_t method, const int64_t *ranks, int64_t rank_count)
{
    static const double PRIORS[] = {1e-3, 0.1, 1, 30};
    int64_t labels[NV];
    double nll[12], entropy[NV], best = INFINITY;
    far_mat x, v = blobs(NV, 2, labels);
    far_net *net;
    far_laplace *la = small_classifier(method, &x, &net);
    far_laplace_grid g;
    far_laplace_choice choice;
    g = (far_laplace_grid){.size = sizeof g};
    g.ranks = ranks;
    g.rank_count = rank_count;
    g.priors = PRIORS;
    g.prior_count = 4;
    g.nll = nll;
    g.probability = rule(FAR_PROBABILITY_SAMPLES, 20, 5);
    must(far_laplace_choose(ctx, la, &v, labels, NULL, &g, &choice));
    assert_near(far_laplace_describe(la).prior, choice.prior, 0);
    assert_int_equal(far_laplace_describe(la).rank, choice.rank);
    assert_near(scores_of(la, &v, labels, g.probability, entropy).nll, choice.nll, 1e-12);
    for (int64_t k = 0; k < 4 * (ranks ? rank_count : 1); k++) {
        must(far_laplace_set(ctx, la, ranks ? ranks[k / 4] : 0, PRIORS[k % 4], -1));
        double again = scores_of(la, &v, labels, g.probability, entropy).nll;
        assert_near(again, nll[k], 1e-10);
        best = fmin(best, nll[k]);
    }
    assert_near(best, choice.nll, 0);
    assert_int_equal(choice.edge, choice.prior == 1e-3 || choice.prior == 30);
    far_laplace_destroy(la);
    far_net_destroy(net);
    free(x.data);
    free(v.data);
}

static void the_choice_has_the_least_score_of_the_grid(void **state)
{
    (void)state;
    const int64_t ranks[] = {2, 12, 7};
    check_choice(FAR_LAPLACE_ELLA, ranks, 3);
    check_choice(FAR_LAPLACE_EXACT, NULL, 0);
}

/* y from the model itself with a prior of 1: that or a neighbour in the grid is found. */
static void a_regression_chooses_by_its_targets(void **state)
{
    (void)state;
    uint64_t seed = 3;
    far_mat x = matrix(40, D), y = matrix(40, 1);
    far_net *net = network("dense(1)", D, 1);
    far_mat p = far_net_parameters(net);
    memset(p.data, 0, (size_t)p.cols * sizeof(double));
    double weights[] = {normal(&seed), normal(&seed), normal(&seed)};
    for (int64_t i = 0; i < 40; i++) {
        *at(&x, i, 0) = normal(&seed);
        *at(&x, i, 1) = normal(&seed);
        *at(&y, i, 0) = weights[0] * *at(&x, i, 0) + weights[1] * *at(&x, i, 1) + weights[2];
    }
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.method = FAR_LAPLACE_EXACT;
    o.noise = 0.01;
    far_mat train = far_mat_view(x.data, 1, D, FAR_F64); /* one row: it says next to nothing */
    far_laplace *la = fitted(net, &train, &o);
    far_laplace_choice c;
    must(far_laplace_choose(ctx, la, &x, NULL, &y, NULL, &c));
    assert_true(c.prior >= 0.1 && c.prior <= 10);
    assert_int_equal(c.rank, 0);
    assert_int_equal(c.edge, 0);
    refused(far_laplace_choose(ctx, la, &x, (int64_t[]){0}, NULL, NULL, &c), FAR_ERR_ARG,
            "labels must be NULL");
    far_laplace_destroy(la);
    far_mat *owned[] = {&x, &y};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* Labels 0 and 1 of two blobs, one logit: the choice is what predictions say. */
static void one_logit_chooses_by_labels(void **state)
{
    (void)state;
    int64_t labels[30], held[NV];
    double priors[] = {0.01, 1};
    far_mat x = blobs(30, 1, labels), v = blobs(NV, 2, held), y = matrix(30, 1);
    for (int i = 0; i < 30; i++) {
        labels[i] = labels[i] > 0;
        *at(&y, i, 0) = (double)labels[i];
    }
    for (int i = 0; i < NV; i++) {
        held[i] = held[i] > 0;
    }
    far_net *net = network("dense(5) tanh dense(1)", D, 1);
    far_train_opts t;
    far_train_opts_init(&t);
    t.loss = FAR_LOSS_BCE;
    t.lr = 0.01;
    t.epochs = 800;
    must(far_net_train(ctx, net, &x, &y, &t, NULL));
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.likelihood = FAR_LIKELIHOOD_BERNOULLI;
    o.balanced = 1;
    o.labels = labels;
    o.rank = 7;
    far_laplace *la = fitted(net, &x, &o);
    far_laplace_grid g;
    far_laplace_choice choice;
    far_class_score s;
    g = (far_laplace_grid){.size = sizeof g};
    g.priors = priors;
    g.prior_count = 2;
    must(far_laplace_choose(ctx, la, &v, held, NULL, &g, &choice));
    far_mat mean = matrix(NV, 1), cov = matrix(NV, 1);
    must(far_laplace_predict(ctx, la, &v, &mean, &cov));
    far_mat p = pair_probability(&mean, &cov, rule(FAR_PROBABILITY_PROBIT, 1, 0));
    must(far_class_scores(ctx, &p, held, 0, &s));
    assert_near(s.nll, choice.nll, 1e-12);
    held[2] = 2;
    refused(far_laplace_choose(ctx, la, &v, held, NULL, &g, NULL), FAR_ERR_ARG, "row 3 is 2");
    refused(far_laplace_choose(ctx, la, &v, NULL, &mean, &g, NULL), FAR_ERR_ARG, "y must");
    labels[4] = 2;
    far_laplace *bad = NULL;
    refused(far_laplace_fit(ctx, net, &x, &o, &bad), FAR_ERR_ARG, "row 5 is 2");
    far_laplace_destroy(la);
    far_net_destroy(net);
    far_mat *owned[] = {&x, &v, &y, &mean, &cov, &p};
    release(owned, COUNT(owned));
}

static void choices_are_checked(void **state)
{
    (void)state;
    int64_t labels[NV], bad_labels[NV] = {3}, ranks[] = {1, 99}, zero[] = {0};
    double priors[] = {-1}, endless[] = {INFINITY, 1e-320}, nll[26];
    far_mat x, v = blobs(NV, 2, labels), none = matrix(0, D), y = matrix(NV, 3);
    far_net *net;
    far_laplace *la = small_classifier(FAR_LAPLACE_ELLA, &x, &net);
    far_laplace_grid good, g;
    good = (far_laplace_grid){.size = sizeof good};
#define REFUSE(change, words)                                                                      \
    do {                                                                                           \
        g = good;                                                                                  \
        change;                                                                                    \
        refused(far_laplace_choose(ctx, la, &v, labels, NULL, &g, NULL), FAR_ERR_ARG, words);      \
    } while (0)
    REFUSE(g.size = 0, "sizeof(far_laplace_grid)");
    REFUSE((g.ranks = ranks, g.rank_count = 2), "rank 99 is not in 1 to 12");
    REFUSE((g.ranks = ranks, g.rank_count = 0), "at least 1");
    REFUSE((g.priors = priors, g.prior_count = 0), "at least 1");
    REFUSE((g.ranks = zero, g.rank_count = 1), "rank 0 is not in 1 to 12");
    REFUSE((g.priors = endless, g.prior_count = 1), "inf is not positive");
    REFUSE((g.priors = endless + 1, g.prior_count = 1), "is not positive");
    REFUSE((g.nll = nll, g.priors = endless, g.prior_count = 1), "of your own");
    REFUSE((g.priors = priors, g.prior_count = 1), "-1 is not positive");
    REFUSE(g.nll = nll, "of your own");
    REFUSE(g.probability.rule = 7, "rule 7");
    refused(far_laplace_choose(ctx, la, &v, bad_labels, NULL, NULL, NULL), FAR_ERR_ARG,
            "row 1 is 3");
    refused(far_laplace_choose(ctx, la, &v, NULL, NULL, NULL, NULL), FAR_ERR_ARG, "labels");
    refused(far_laplace_choose(ctx, la, &v, labels, &y, NULL, NULL), FAR_ERR_ARG, "y must");
    refused(far_laplace_choose(ctx, la, &none, labels, NULL, NULL, NULL), FAR_ERR_SHAPE,
            "no validation rows");
    assert_int_equal(far_laplace_describe(la).rank, 12);
    assert_near(far_laplace_describe(la).prior, 1, 0);
    far_laplace_destroy(la);
    far_net_destroy(net);
    far_mat *owned[] = {&x, &v, &none, &y};
    release(owned, COUNT(owned));
}

/* ---- an overfitted classifier -------------------------------------------------------------- */

#define ROWS 600

static double auroc_of(const far_laplace *la, const far_mat *in, const far_mat *out_of,
                       const int64_t *labels, far_probability_opts o, far_class_score *s)
{
    static double inside[ROWS], outside[ROWS];
    double a;
    *s = scores_of(la, in, labels, o, inside);
    scores_of(la, out_of, labels, o, outside);
    must(far_domain_auroc(ctx, inside, in->rows, outside, out_of->rows, &a));
    return a;
}

static double variance_auroc(const far_laplace *la, const far_mat *in, const far_mat *out_of)
{
    static double inside[ROWS], outside[ROWS];
    far_mat ci = covariance(la, in), co = covariance(la, out_of);
    double a;
    must(far_laplace_variance(ctx, &ci, inside));
    must(far_laplace_variance(ctx, &co, outside));
    must(far_domain_auroc(ctx, inside, in->rows, outside, out_of->rows, &a));
    free(ci.data);
    free(co.data);
    return a;
}

static void it_is_better_than_an_overfitted_network(void **state)
{
    (void)state;
    static int64_t labels[60], validation[ROWS], test[ROWS];
    far_mat x = blobs(60, 1, labels), v = blobs(ROWS, 2, validation), t = blobs(ROWS, 3, test);
    far_mat away = matrix(ROWS, D); /* far outside, in all directions */
    for (int64_t i = 0; i < ROWS; i++) {
        *at(&away, i, 0) = 12 * cos(0.37 * (double)i);
        *at(&away, i, 1) = 12 * sin(0.37 * (double)i);
    }
    far_net *net = trained(&x, labels, "dense(30) relu dense(3)", 1500, 1);
    for (int32_t method = FAR_LAPLACE_ELLA; method <= FAR_LAPLACE_EXACT; method++) {
        far_laplace_opts o;
        far_class_score map, mine;
        far_laplace_choice choice;
        far_laplace_opts_init(&o);
        o.method = method;
        o.likelihood = FAR_LIKELIHOOD_SOFTMAX;
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_choose(ctx, la, &v, validation, NULL, NULL, &choice));
        double before = auroc_of(la, &t, &away, test, rule(FAR_PROBABILITY_MEAN, 1, 0), &map);
        double after = auroc_of(la, &t, &away, test, rule(FAR_PROBABILITY_PROBIT, 1, 0), &mine);
        assert_true(mine.nll < 0.8 * map.nll);
        assert_true(mine.ece < 0.7 * map.ece);
        assert_true(mine.brier < map.brier);
        assert_true(after > before + 0.1);
        assert_true(variance_auroc(la, &t, &away) > 0.99);
        far_laplace_destroy(la);
    }
    far_net_destroy(net);
    far_mat *owned[] = {&x, &v, &t, &away};
    release(owned, COUNT(owned));
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void scores_are_checked(void **state)
{
    (void)state;
    double p[] = {0.8, 0.2, 0.7, 0.2}, s[] = {1, NAN}, a;
    const int64_t labels[] = {0, 2};
    far_mat m = far_mat_view(p, 2, 2, FAR_F64), first = far_mat_view(p, 1, 2, FAR_F64);
    far_mat narrow = far_mat_view(p, 2, 1, FAR_F64), odd = far_mat_view(p, 1, 2, FAR_F64);
    far_class_score score;
    far_gauss_score gauss;
    refused(far_class_scores(ctx, &m, labels, 0, &score), FAR_ERR_VALUE, "row 2 sums to 0.9");
    p[2] = 0.8;
    refused(far_class_scores(ctx, &m, labels, 0, &score), FAR_ERR_ARG, "row 2 is 2");
    refused(far_class_scores(ctx, &m, NULL, 0, &score), FAR_ERR_ARG, "labels");
    refused(far_class_scores(ctx, &m, labels, -1, &score), FAR_ERR_ARG, "bins");
    refused(far_class_scores(ctx, &narrow, labels, 0, &score), FAR_ERR_SHAPE, "2 x 1");
    p[3] = -0.2;
    refused(far_class_entropy(ctx, &m, s), FAR_ERR_VALUE, "row 2, class 2 is -0.2");
    refused(far_laplace_variance(ctx, &odd, s), FAR_ERR_SHAPE, "1 x 2");
    refused(far_domain_auroc(ctx, s, 1, s, 2, &a), FAR_ERR_VALUE, "out_of: score 2");
    refused(far_domain_auroc(ctx, s, 0, s, 1, &a), FAR_ERR_SHAPE, "0 scores in");
    refused(far_domain_auroc(ctx, s, 1, NULL, 1, &a), FAR_ERR_ARG, "NULL");
    refused(far_gauss_scores(ctx, &m, NULL, &first, 1, &gauss), FAR_ERR_SHAPE, "y is");
    refused(far_gauss_scores(ctx, &m, NULL, &m, 0, &gauss), FAR_ERR_ARG, "noise");
    refused(far_gauss_scores(ctx, &m, &m, &m, 1, &gauss), FAR_ERR_SHAPE, "covariance");
    refused(far_gauss_scores(ctx, &m, NULL, &m, INFINITY, &gauss), FAR_ERR_ARG, "noise");
    refused(far_domain_auroc(ctx, s + 1, 1, s, 1, &a), FAR_ERR_VALUE, "in: score 1");
}

static void scores_need_numbers_and_a_place(void **state)
{
    (void)state;
    double good[] = {0.5, 0.5}, bad[] = {0.5, NAN}, s[2], a;
    const int64_t labels[] = {-1, 0};
    far_mat g = far_mat_view(good, 1, 2, FAR_F64), b = far_mat_view(bad, 1, 2, FAR_F64);
    far_mat c = far_mat_view(good, 2, 1, FAR_F64), bc = far_mat_view(bad, 2, 1, FAR_F64);
    far_mat none = far_mat_view(good, 0, 2, FAR_F64), thin = far_mat_view(good, 1, 0, FAR_F64);
    far_class_score score;
    far_gauss_score gauss;
    refused(far_class_scores(ctx, &none, labels, 0, &score), FAR_ERR_SHAPE, "0 x 2");
    refused(far_class_scores(ctx, NULL, labels, 0, &score), FAR_ERR_ARG, "probability");
    refused(far_class_scores(ctx, &g, labels, 0, &score), FAR_ERR_ARG, "row 1 is -1");
    refused(far_class_scores(ctx, &g, labels, 0, NULL), FAR_ERR_ARG, "out");
    refused(far_class_entropy(ctx, &g, NULL), FAR_ERR_ARG, "out must not be NULL");
    refused(far_laplace_variance(ctx, &g, NULL), FAR_ERR_ARG, "out must not be NULL");
    refused(far_laplace_variance(ctx, NULL, s), FAR_ERR_ARG, "covariance");
    refused(far_laplace_variance(ctx, &thin, s), FAR_ERR_SHAPE, "1 x 0");
    refused(far_gauss_scores(ctx, &g, NULL, &g, 1, NULL), FAR_ERR_ARG, "out must not");
    refused(far_gauss_scores(ctx, NULL, NULL, &g, 1, &gauss), FAR_ERR_ARG, "mean");
    refused(far_gauss_scores(ctx, &none, NULL, &none, 1, &gauss), FAR_ERR_SHAPE, "nothing");
    refused(far_gauss_scores(ctx, &thin, NULL, &thin, 1, &gauss), FAR_ERR_SHAPE, "nothing");
    refused(far_gauss_scores(ctx, &b, NULL, &g, 1, &gauss), FAR_ERR_VALUE, "mean");
    refused(far_gauss_scores(ctx, &g, NULL, &b, 1, &gauss), FAR_ERR_VALUE, "y");
    refused(far_gauss_scores(ctx, &c, &bc, &c, 1, &gauss), FAR_ERR_VALUE, "covariance");
    refused(far_domain_auroc(ctx, good, 2, good, 2, NULL), FAR_ERR_ARG, "auroc");
    refused(far_domain_auroc(ctx, NULL, 2, good, 2, &a), FAR_ERR_ARG, "scores");
    assert_int_equal(far_class_scores(NULL, &g, labels, 0, &score), FAR_ERR_ARG);
    assert_int_equal(far_class_entropy(NULL, &g, s), FAR_ERR_ARG);
    assert_int_equal(far_laplace_variance(NULL, &g, s), FAR_ERR_ARG);
    assert_int_equal(far_gauss_scores(NULL, &g, NULL, &g, 1, &gauss), FAR_ERR_ARG);
    assert_int_equal(far_domain_auroc(NULL, good, 2, good, 2, &a), FAR_ERR_ARG);
}

static void probabilities_are_checked(void **state)
{
    (void)state;
    double f[] = {1, 2}, c[] = {1, 0, 0, -1}, out[2];
    far_mat mean = far_mat_view(f, 1, 2, FAR_F64), cov = far_mat_view(c, 2, 2, FAR_F64);
    far_mat p = far_mat_view(out, 1, 2, FAR_F64), one = far_mat_view(f, 2, 1, FAR_F64);
    far_probability_opts o = rule(FAR_PROBABILITY_SAMPLES, -1, 0);
    refused(far_laplace_probability(ctx, &mean, &cov, NULL, &p), FAR_ERR_VALUE,
            "output 2 has the variance -1");
    refused(far_laplace_probability(ctx, &mean, &cov, &o, &p), FAR_ERR_ARG, "-1 samples");
    refused(far_laplace_probability(ctx, &mean, NULL, NULL, &p), FAR_ERR_ARG, "covariance");
    refused(far_laplace_probability(ctx, &one, NULL, NULL, &one), FAR_ERR_SHAPE, "out is");
    refused(far_laplace_probability(ctx, &mean, &mean, NULL, &p), FAR_ERR_SHAPE, "covariance");
    o.size = 0;
    refused(far_laplace_probability(ctx, &mean, &cov, &o, &p), FAR_ERR_ARG, "opts->size");
    far_mat thin = far_mat_view(f, 1, 0, FAR_F64);
    refused(far_laplace_probability(ctx, &thin, NULL, NULL, &p), FAR_ERR_SHAPE,
            "there must be an output");
    refused(far_laplace_probability(ctx, NULL, NULL, NULL, &p), FAR_ERR_ARG, "mean");
    assert_int_equal(far_laplace_probability(NULL, &mean, &cov, NULL, &p), FAR_ERR_ARG);
    c[3] = NAN;
    refused(far_laplace_probability(ctx, &mean, &cov, NULL, &p), FAR_ERR_VALUE, "covariance");
    f[1] = INFINITY;
    refused(far_laplace_probability(ctx, &mean, &cov, NULL, &p), FAR_ERR_VALUE, "mean");
}

static far_status choose_and_score(far_laplace *la, const far_mat *v, const int64_t *labels,
                                   const far_laplace_grid *g)
{
    double p[] = {0.8, 0.2}, a;
    far_mat m = far_mat_view(p, 1, 2, FAR_F64);
    far_class_score s;
    far_status st = far_laplace_choose(ctx, la, v, labels, NULL, g, NULL);
    st = st == FAR_OK ? far_class_scores(ctx, &m, labels, 0, &s) : st;
    return st == FAR_OK ? far_domain_auroc(ctx, p, 2, p, 1, &a) : st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    use_one_thread();
    int64_t labels[NV], ranks[] = {3};
    double priors[] = {0.5};
    far_mat x, v = blobs(5, 2, labels);
    far_net *net;
    far_laplace *la = small_classifier(FAR_LAPLACE_ELLA, &x, &net);
    far_laplace_grid g;
    g = (far_laplace_grid){.size = sizeof g};
    g.ranks = ranks;
    g.priors = priors;
    g.rank_count = g.prior_count = 1;
    g.probability = rule(FAR_PROBABILITY_SAMPLES, 3, 0);
    must(far_laplace_choose(ctx, la, &v, labels, NULL, &g, NULL));
    int64_t blocks = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int i = 0; st != FAR_OK; i++) {
        test_heap.fail_at = test_heap.calls + i;
        st = choose_and_score(la, &v, labels, &g);
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(test_heap.live_blocks, blocks);
        assert_true(i < 2000);
    }
    far_laplace_destroy(la);
    far_net_destroy(net);
    free(x.data);
    free(v.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(class_scores_are_as_by_hand),
        TEST(a_bin_has_its_upper_end),
        TEST(ties_and_certainty_have_scores_too),
        TEST(entropy_and_variance_are_as_by_hand),
        TEST(gauss_scores_are_as_by_hand),
        TEST(auroc_counts_ties_half),
        TEST(auroc_is_the_share_of_pairs),
        TEST(without_a_spread_all_rules_are_the_softmax),
        TEST(probit_is_its_formula),
        TEST(samples_tend_to_the_integral),
        TEST(samples_depend_on_the_seed_alone),
        TEST(one_logit_stands_for_two_classes),
        TEST(the_choice_has_the_least_score_of_the_grid),
        TEST(a_regression_chooses_by_its_targets),
        TEST(one_logit_chooses_by_labels),
        TEST(choices_are_checked),
        TEST(it_is_better_than_an_overfitted_network),
        TEST(scores_are_checked),
        TEST(scores_need_numbers_and_a_place),
        TEST(probabilities_are_checked),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("laplace scores", tests, NULL, NULL);
}
