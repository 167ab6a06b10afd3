/* The posterior itself: against explicit Jacobians, between its systems, and refusals. */
#include "laplace_points.h"

#include "laplace/laplace_internal.h"

#define N 11
#define M 5
#define D 3

static far_laplace_opts options(int32_t method, int32_t likelihood)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.method = method;
    o.likelihood = likelihood;
    o.prior = 0.7;
    o.noise = 0.3;
    return o;
}

/* ---- the reference: P x P by Gauss and Jordan ---------------------------------------------- */

static void invert(far_mat *a)
{
    int64_t n = a->rows;
    for (int64_t k = 0; k < n; k++) { /* in place; symmetric positive definite needs no pivots */
        double pivot = *at(a, k, k);
        *at(a, k, k) = 1;
        for (int64_t j = 0; j < n; j++) {
            *at(a, k, j) /= pivot;
        }
        for (int64_t i = 0; i < n; i++) {
            double factor = *at(a, i, k);
            if (i != k) {
                *at(a, i, k) = 0;
                for (int64_t j = 0; j < n; j++) {
                    *at(a, i, j) -= factor * *at(a, k, j);
                }
            }
        }
    }
}

static far_mat jacobian(const far_net *net, const far_mat *x)
{
    far_net_info i = far_net_describe(net);
    far_mat j = matrix(x->rows * i.outputs, i.parameters);
    must(far_net_jacobian(ctx, net, x, &j));
    return j;
}

/* Lam of one row of outputs. */
static void curvature(const double *f, int64_t outputs, const far_laplace_opts *o, double *lam)
{
    double p[16], sum = o->likelihood == FAR_LIKELIHOOD_BERNOULLI; /* the other class's exp(0) */
    for (int64_t c = 0; c < outputs; c++) {
        p[c] = exp(f[c]);
        sum += p[c];
    }
    for (int64_t a = 0; a < outputs; a++) {
        for (int64_t b = 0; b < outputs; b++) {
            lam[a * outputs + b] = o->likelihood == FAR_LIKELIHOOD_GAUSSIAN
                                       ? (a == b) / o->noise
                                       : (a == b) * p[a] / sum - p[a] * p[b] / (sum * sum);
        }
    }
}

static far_mat sigma(const far_net *net, const far_mat *x, const far_laplace_opts *o)
{
    far_net_info info = far_net_describe(net);
    int64_t c = info.outputs, p = info.parameters;
    far_mat j = jacobian(net, x), h = matrix(p, p), f = matrix(x->rows, c);
    double lam[256];
    must(far_net_eval(ctx, net, x, &f));
    for (int64_t r = 0; r < p; r++) {
        *at(&h, r, r) = 1 / o->prior;
    }
    for (int64_t i = 0; i < x->rows; i++) {
        curvature(at(&f, i, 0), c, o, lam);
        for (int64_t k = 0; k < c * c; k++) {
            const double *left = at(&j, i * c + k / c, 0), *right = at(&j, i * c + k % c, 0);
            for (int64_t r = 0; r < p * p; r++) {
                *at(&h, r / p, r % p) += lam[k] * left[r / p] * right[r % p];
            }
        }
    }
    invert(&h);
    free(j.data);
    free(f.data);
    return h;
}

static double quadratic(const double *a, const far_mat *s, const double *b)
{
    double sum = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        for (int64_t q = 0; q < s->cols; q++) {
            sum += a[r] * *at(s, r, q) * b[q];
        }
    }
    return sum;
}

/* J(x) Sigma J(x)', all pairs. */
static far_mat reference_joint(const far_net *net, const far_mat *x, const far_mat *x2,
                               const far_laplace_opts *o)
{
    far_mat s = sigma(net, x, o), j = jacobian(net, x2), out = matrix(j.rows, j.rows);
    for (int64_t a = 0; a < j.rows; a++) {
        for (int64_t b = 0; b < j.rows; b++) {
            *at(&out, a, b) = quadratic(at(&j, a, 0), &s, at(&j, b, 0));
        }
    }
    free(s.data);
    free(j.data);
    return out;
}

static far_mat diagonal_blocks(const far_mat *joint, int64_t outputs)
{
    far_mat out = matrix(joint->rows, outputs);
    for (int64_t r = 0; r < joint->rows; r++) {
        for (int64_t b = 0; b < outputs; b++) {
            *at(&out, r, b) = *at(joint, r, r / outputs * outputs + b);
        }
    }
    return out;
}

static const struct {
    const char *arch;
    int32_t likelihood;
} CASES[] = {
    {"dense(7) tanh dense(1)", FAR_LIKELIHOOD_GAUSSIAN},
    {"dense(5) ln(affine) relu dense(2)", FAR_LIKELIHOOD_GAUSSIAN},
    {"dense(5) tanh dense(3)", FAR_LIKELIHOOD_SOFTMAX},
    {"dense(2) erf dense(2)", FAR_LIKELIHOOD_SOFTMAX},
    {"dense(7) tanh dense(1)", FAR_LIKELIHOOD_BERNOULLI},
};

static void check_posterior(const far_laplace *la, const far_mat *x2, const far_mat *joint)
{
    int64_t outputs = far_laplace_describe(la).outputs;
    far_mat blocks = diagonal_blocks(joint, outputs), mine = covariance(la, x2);
    far_mat all = matrix(joint->rows, joint->cols);
    assert_true(distance(&mine, &blocks) < 1e-9);
    must(far_laplace_joint(ctx, la, x2, &all));
    assert_true(distance(&all, joint) < 1e-9);
    far_mat *owned[] = {&blocks, &mine, &all};
    release(owned, COUNT(owned));
}

static void both_exact_systems_are_the_explicit_posterior(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.7);
    for (int k = 0; k < COUNT(CASES); k++) {
        far_net *net = network(CASES[k].arch, D, 5);
        far_laplace_opts o = options(FAR_LAPLACE_EXACT, CASES[k].likelihood);
        far_mat joint = reference_joint(net, &x, &x2, &o);
        for (o.system = FAR_LAPLACE_PARAMETERS; o.system <= FAR_LAPLACE_ROWS; o.system++) {
            far_laplace *la = fitted(net, &x, &o);
            assert_int_equal(far_laplace_describe(la).system, o.system);
            check_posterior(la, &x2, &joint);
            far_laplace_destroy(la);
        }
        free(joint.data);
        far_net_destroy(net);
    }
    free(x.data);
    free(x2.data);
}

static void the_smaller_system_is_chosen(void **state)
{
    (void)state;
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
    far_net *net = network("dense(2)", D, 1); /* 8 parameters, 2 outputs */
    far_laplace_cost cost;
    must(far_laplace_estimate(ctx, net, 3, &o, &cost));
    assert_int_equal(cost.system, FAR_LAPLACE_ROWS);
    assert_int_equal(cost.side, 6);
    must(far_laplace_estimate(ctx, net, 4, &o, &cost));
    assert_int_equal(cost.system, FAR_LAPLACE_PARAMETERS);
    assert_int_equal(cost.side, 8);
    assert_true(cost.fits && cost.bytes > 0);
    o.memory = 100;
    must(far_laplace_estimate(ctx, net, 4, &o, &cost));
    assert_int_equal(cost.fits, 0);
    far_net_destroy(net);
}

/* What a fit allocates at most is what was estimated, or up to a few times less. */
static void check_estimate(int32_t method, int32_t system, int64_t rank)
{
    far_mat x = points(150, D, 0.1);
    far_net *net = network("dense(40) tanh dense(3)", D, 1);
    far_laplace_opts o = options(method, FAR_LIKELIHOOD_SOFTMAX);
    far_laplace_cost cost;
    o.system = system;
    o.rank = rank;
    must(far_laplace_estimate(ctx, net, x.rows, &o, &cost));
    int64_t before = test_heap.live_bytes;
    test_heap.peak_bytes = before;
    far_laplace *la = fitted(net, &x, &o);
    double peak = (double)(test_heap.peak_bytes - before);
    if (peak > cost.bytes || peak < cost.bytes / 4) {
        fail_msg("estimated %g bytes for system %d, took %g", cost.bytes, (int)cost.system, peak);
    }
    assert_true(far_laplace_describe(la).bytes <= (double)(test_heap.live_bytes - before));
    assert_true(far_laplace_describe(la).bytes > 0.8 * (double)(test_heap.live_bytes - before));
    far_laplace_destroy(la);
    far_net_destroy(net);
    free(x.data);
}

static void estimates_hold(void **state)
{
    (void)state;
    check_estimate(FAR_LAPLACE_EXACT, FAR_LAPLACE_PARAMETERS, 0);
    check_estimate(FAR_LAPLACE_EXACT, FAR_LAPLACE_ROWS, 0);
    check_estimate(FAR_LAPLACE_ELLA, FAR_LAPLACE_SMALLER, 20);
    check_estimate(FAR_LAPLACE_ELLA, FAR_LAPLACE_SMALLER, 0);
}

/* sum g / (g + 1 / s0^2) = P - trace(Sigma) / s0^2 */
static void the_effective_number_of_parameters_is_a_trace(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1);
    far_net *net = network("dense(5) tanh dense(3)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_SOFTMAX);
    far_mat s = sigma(net, &x, &o);
    double wanted = (double)s.rows;
    for (int64_t r = 0; r < s.rows; r++) {
        wanted -= *at(&s, r, r) / o.prior;
    }
    for (o.system = FAR_LAPLACE_PARAMETERS; o.system <= FAR_LAPLACE_ROWS; o.system++) {
        far_laplace *la = fitted(net, &x, &o);
        assert_near(far_laplace_describe(la).effective, wanted, 1e-9);
        far_laplace_destroy(la);
    }
    free(s.data);
    free(x.data);
    far_net_destroy(net);
}

/* ---- the marginal likelihood --------------------------------------------------------------- */

/* [prior J J' + noise I, t], t = y - f + J p. */
static far_mat linear_model(far_net *net, const far_mat *x, const far_mat *y, double prior,
                            double noise)
{
    far_mat j = jacobian(net, x), f = matrix(x->rows, y->cols), p = far_net_parameters(net);
    int64_t n = j.rows;
    far_mat a = matrix(n, n + 1);
    must(far_net_eval(ctx, net, x, &f));
    for (int64_t i = 0; i < n; i++) {
        double *t = at(&a, i, n);
        *t = *at(y, i / y->cols, i % y->cols) - *at(&f, i / y->cols, i % y->cols);
        for (int64_t q = 0; q < p.cols; q++) {
            *t += *at(&j, i, q) * *at(&p, 0, q);
        }
        for (int64_t k = 0; k < n; k++) {
            *at(&a, i, k) = i == k ? noise : 0;
            for (int64_t q = 0; q < p.cols; q++) {
                *at(&a, i, k) += prior * *at(&j, i, q) * *at(&j, k, q);
            }
        }
    }
    free(j.data);
    free(f.data);
    return a;
}

/* log N(t; 0, prior J J' + noise I) by Gauss's elimination. */
static double plain_evidence(far_net *net, const far_mat *x, const far_mat *y, double prior,
                             double noise)
{
    far_mat a = linear_model(net, x, y, prior, noise);
    int64_t n = a.rows;
    double sum = (double)n * log(2 * acos(-1));
    for (int64_t k = 0; k < n;
         k++) { /* pivots have the determinant, and what is left of t / pivot */
        double pivot = *at(&a, k, k);
        sum += log(pivot) + *at(&a, k, n) * *at(&a, k, n) / pivot;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = *at(&a, i, k) / pivot;
            for (int64_t c = k; c <= n; c++) {
                *at(&a, i, c) -= factor * *at(&a, k, c);
            }
        }
    }
    free(a.data);
    return -sum / 2;
}

/* Target i and its variance given all others, by a system without it. */
static double size_left_out(const far_mat *whole, int64_t out)
{
    int64_t n = whole->rows;
    far_mat rest = matrix(n - 1, n - 1);
    double mean = 0, variance = *at(whole, out, out);
    for (int64_t i = 0; i < n - 1; i++) {
        for (int64_t k = 0; k < n - 1; k++) {
            *at(&rest, i, k) = *at(whole, i + (i >= out), k + (k >= out));
        }
    }
    invert(&rest);
    for (int64_t i = 0; i < n - 1; i++) {
        double weight = 0;
        for (int64_t k = 0; k < n - 1; k++) {
            weight += *at(&rest, i, k) * *at(whole, out, k + (k >= out));
        }
        mean += weight * *at(whole, i + (i >= out), n);
        variance -= weight * *at(whole, i + (i >= out), out);
    }
    free(rest.data);
    return fabs(*at(whole, out, n) - mean) / sqrt(variance);
}

static double residual_square(const far_net *net, const far_mat *x, const far_mat *y)
{
    far_mat f = matrix(x->rows, y->cols);
    double sum = 0;
    must(far_net_eval(ctx, net, x, &f));
    for (int64_t i = 0; i < x->rows * y->cols; i++) {
        double gap = ((double *)y->data)[i] - ((double *)f.data)[i];
        sum += gap * gap / (double)(x->rows * y->cols);
    }
    free(f.data);
    return sum;
}

static double largest_gap(far_net *net, const far_mat *x, const far_mat *y, double prior,
                          double noise)
{
    double least = residual_square(net, x, y);
    double best = plain_evidence(net, x, y, prior, noise), gap = -INFINITY;
    for (int k = 0; k < 4; k++) {
        double up = k & 1 ? 1.1 : 1 / 1.1;
        if (k == 2 && noise / 1.1 < least) { /* no less than the network leaves */
            continue;
        }
        double other =
            plain_evidence(net, x, y, k < 2 ? prior * up : prior, k < 2 ? noise : noise * up);
        gap = fmax(gap, other - best);
    }
    return gap;
}

/* In every system the same prior and noise, and none about them is better. */
static void tuned_to_the_largest_marginal_likelihood(void **state)
{
    (void)state;
    static const char *const ARCHS[] = {"dense(4) tanh dense(1)",
                                        "dense(3) ln(affine) relu dense(2)"};
    for (int a = 0; a < COUNT(ARCHS); a++) {
        far_net *net = network(ARCHS[a], D, 3);
        far_mat x = points(N, D, 5), y = points(N, far_net_describe(net).outputs, 6);
        far_laplace_evidence first = {0};
        for (int k = 0; k < 3; k++) {
            far_laplace_opts o =
                options(k < 2 ? FAR_LAPLACE_EXACT : FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
            far_laplace_evidence e, kept;
            far_laplace *la;
            o.system = k == 0 ? FAR_LAPLACE_PARAMETERS : k == 1 ? FAR_LAPLACE_ROWS : 0;
            o.rank = 0; /* all features: the same kernel */
            must(far_laplace_fit(ctx, net, &x, &o, &la));
            must(far_laplace_tune(ctx, la, &x, &y, 0, &e));
            double plain = plain_evidence(net, &x, &y, e.prior, e.noise);
            assert_true(fabs(plain - e.log_evidence) < 1e-8 * fabs(plain));
            assert_true(largest_gap(net, &x, &y, e.prior, e.noise) < 1e-6);
            assert_true(far_laplace_describe(la).prior == e.prior &&
                        far_laplace_describe(la).noise == e.noise && !e.edge);
            first = k == 0 ? e : first;
            assert_true(fabs(e.prior / first.prior - 1) < 1e-2 &&
                        fabs(e.noise / first.noise - 1) < 1e-2);
            far_laplace_opts same = o; /* what was set is what a fit with these numbers would be */
            same.prior = e.prior;
            same.noise = e.noise;
            far_laplace *again;
            far_mat c = matrix(N * y.cols, y.cols), c2 = matrix(N * y.cols, y.cols);
            must(far_laplace_fit(ctx, net, &x, &same, &again));
            must(far_laplace_predict(ctx, la, &x, NULL, &c));
            must(far_laplace_predict(ctx, again, &x, NULL, &c2));
            for (int64_t i = 0; i < N * y.cols * y.cols; i++) {
                double u = ((double *)c.data)[i], v = ((double *)c2.data)[i];
                assert_true(fabs(u - v) < 1e-7 * (1 + fabs(v)));
            }
            must(far_laplace_tune(ctx, la, &x, &y, 1, &kept)); /* the noise it has already */
            assert_true(fabs(kept.prior / e.prior - 1) < 1e-2 && kept.noise == e.noise);
            free(c.data);
            free(c2.data);
            far_laplace_destroy(la);
            far_laplace_destroy(again);
        }
        free(x.data);
        free(y.data);
        far_net_destroy(net);
    }
}

/* Of 45 rows the ceil(0.95 46)th, the 44th, is 1.96 standard deviations off, in every system. */
static void tuned_intervals_hold_rows_left_out(void **state)
{
    (void)state;
    enum { ROWS = 45 };
    far_net *net = network("dense(4) tanh dense(1)", D, 3);
    far_mat x = points(ROWS, D, 5), y = points(ROWS, 1, 6);
    must(far_net_eval(ctx, net, &x, &y));
    for (int64_t i = 0; i < ROWS; i++) { /* one in fifteen is far off */
        *at(&y, i, 0) += i % 15 == 0 ? 3 + (double)i / ROWS : 0.1 * sin((double)(i * i));
    }
    for (int k = 0; k < 3; k++) {
        far_laplace_opts o =
            options(k < 2 ? FAR_LAPLACE_EXACT : FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
        far_laplace_evidence e;
        o.system = k == 0 ? FAR_LAPLACE_PARAMETERS : k == 1 ? FAR_LAPLACE_ROWS : 0;
        o.rank = 0;
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_tune(ctx, la, &x, &y, 0, &e));
        double noise = e.noise / e.scale, prior = e.prior / e.scale;
        assert_true(e.scale > 1.5); /* so the noise is above its floor */
        assert_near(plain_evidence(net, &x, &y, prior, noise), e.log_evidence, 1e-7);
        far_mat a = linear_model(net, &x, &y, e.prior, e.noise);
        int beyond = 0, at_it = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            double size = size_left_out(&a, i);
            beyond += size > 1.959963984540054 * (1 + 1e-6);
            at_it += fabs(size / 1.959963984540054 - 1) <= 1e-6;
        }
        assert_int_equal(at_it, 1);
        assert_int_equal(beyond, 1);
        free(a.data);
        far_laplace_destroy(la);
    }
    free(x.data);
    free(y.data);
    far_net_destroy(net);
}

/* For classes s0^2 = |p|^2 / effective at the maximum. */
static void tuned_classes_are_where_the_slope_is_0(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(CASES); i++) {
        if (CASES[i].likelihood == FAR_LIKELIHOOD_GAUSSIAN) {
            continue;
        }
        far_net *net = network(CASES[i].arch, D, 3);
        far_mat x = points(N, D, 5), p = far_net_parameters(net), y = points(N, 1, 6);
        far_laplace_opts o = options(FAR_LAPLACE_EXACT, CASES[i].likelihood);
        far_laplace_evidence e;
        far_laplace *la;
        double weight = 0;
        for (int64_t k = 0; k < p.cols; k++) {
            weight += *at(&p, 0, k) * *at(&p, 0, k);
        }
        must(far_laplace_fit(ctx, net, &x, &o, &la));
        must(far_laplace_tune(ctx, la, &x, NULL, 0, &e));
        double effective = far_laplace_describe(la).effective;
        assert_true(fabs(weight / effective / e.prior - 1) < 1e-2 && !e.edge);
        refused(far_laplace_tune(ctx, la, &x, &y, 0, &e), FAR_ERR_ARG, "y must be NULL");
        x.rows--;
        refused(far_laplace_tune(ctx, la, &x, NULL, 0, &e), FAR_ERR_SHAPE, "10 rows");
        x.rows++;
        far_laplace_destroy(la);
        free(x.data);
        free(y.data);
        far_net_destroy(net);
    }
}

/* ---- Bayesian linear regression ------------------------------------------------------------ */

/* (X X' / noise + I / prior)^-1 with X the inputs and 1, by rows of phi. */
static far_mat linear_posterior(const far_mat *x, double prior, double noise)
{
    far_mat a = matrix(D + 1, D + 1);
    for (int64_t r = 0; r <= D; r++) {
        *at(&a, r, r) = 1 / prior;
        for (int64_t c = 0; c <= D; c++) {
            for (int64_t i = 0; i < x->rows; i++) {
                *at(&a, r, c) += (r < D ? *at(x, i, r) : 1) * (c < D ? *at(x, i, c) : 1) / noise;
            }
        }
    }
    invert(&a);
    return a;
}

/* The posterior's mean S X y / noise, as weights and bias of a network dense(1). */
static void put_posterior_mean(far_net *net, const far_mat *s, const far_mat *x, const far_mat *y,
                               double noise)
{
    far_mat p = far_net_parameters(net);
    for (int64_t r = 0; r <= D; r++) {
        *at(&p, 0, r) = 0;
        for (int64_t k = 0; k < (D + 1) * x->rows; k++) {
            int64_t c = k % (D + 1), i = k / (D + 1);
            *at(&p, 0, r) += *at(s, r, c) * (c < D ? *at(x, i, c) : 1) * *at(y, i, 0) / noise;
        }
    }
}

static void check_linear(const far_net *net, const far_mat *x, const far_mat *s,
                         const far_laplace_opts *o)
{
    far_mat x2 = points(M, D, 0.9), mean = matrix(M, 1), cov = matrix(M, 1);
    far_laplace *la = fitted(net, x, o);
    far_mat p = far_net_parameters((far_net *)net);
    must(far_laplace_predict(ctx, la, &x2, &mean, &cov));
    for (int64_t i = 0; i < M; i++) {
        double phi[D + 1] = {*at(&x2, i, 0), *at(&x2, i, 1), *at(&x2, i, 2), 1}, f = 0;
        for (int64_t c = 0; c <= D; c++) {
            f += phi[c] * *at(&p, 0, c);
        }
        assert_near(*at(&mean, i, 0), f, 1e-12);
        assert_near(*at(&cov, i, 0), quadratic(phi, s, phi), 1e-12);
    }
    far_laplace_destroy(la);
    far_mat *owned[] = {&x2, &mean, &cov};
    release(owned, COUNT(owned));
}

static void a_linear_network_is_bayesian_linear_regression(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), y = points(N, 1, 0.5);
    far_net *net = network("dense(1)", D, 3);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
    far_mat s = linear_posterior(&x, o.prior, o.noise);
    put_posterior_mean(net, &s, &x, &y, o.noise);
    for (o.system = FAR_LAPLACE_PARAMETERS; o.system <= FAR_LAPLACE_ROWS; o.system++) {
        check_linear(net, &x, &s, &o);
    }
    o.method = FAR_LAPLACE_ELLA; /* 4 features are all there are */
    o.system = FAR_LAPLACE_SMALLER;
    check_linear(net, &x, &s, &o);
    far_mat *owned[] = {&x, &y, &s};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* ---- features ------------------------------------------------------------------------------ */

static void all_landmarks_and_the_residual_prior_are_exact(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.7);
    for (int k = 0; k < COUNT(CASES); k++) {
        far_net *net = network(CASES[k].arch, D, 5);
        far_laplace_opts o = options(FAR_LAPLACE_ELLA, CASES[k].likelihood);
        far_mat joint = reference_joint(net, &x, &x2, &o);
        o.landmarks = INT64_MAX;
        o.rank = 0;
        for (o.balanced = 0; o.balanced < 2; o.balanced++) {
            far_laplace *la = fitted(net, &x, &o);
            far_laplace_info info = far_laplace_describe(la);
            assert_int_equal(info.landmarks, N * info.outputs);
            check_posterior(la, &x2, &joint);
            far_laplace_destroy(la);
        }
        free(joint.data);
        far_net_destroy(net);
    }
    free(x.data);
    free(x2.data);
}

static void check_order(const far_mat *less, const far_mat *more, int64_t outputs)
{
    for (int64_t r = 0; r < less->rows; r++) {
        assert_true(*at(less, r, r % outputs) <= *at(more, r, r % outputs) * (1 + 1e-12));
        assert_true(*at(less, r, r % outputs) >= 0);
    }
}

/* V (V' A V)^-1 V' <= A^-1; and the residual prior only adds. */
static void without_the_residual_prior_variances_are_too_small(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.7);
    for (int k = 0; k < COUNT(CASES); k++) {
        far_net *net = network(CASES[k].arch, D, 5);
        far_laplace_opts o = options(FAR_LAPLACE_EXACT, CASES[k].likelihood);
        far_laplace *exact = fitted(net, &x, &o);
        far_mat truth = covariance(exact, &x2);
        o.method = FAR_LAPLACE_ELLA;
        o.landmarks = 7;
        int64_t outputs = far_net_describe(net).outputs;
        for (o.rank = 1; o.rank <= 7; o.rank += 2) {
            far_laplace *la = fitted(net, &x, &o);
            far_mat with = covariance(la, &x2);
            must(far_laplace_set(ctx, la, 0, NAN, 0));
            far_mat without = covariance(la, &x2);
            check_order(&without, &truth, outputs);
            check_order(&without, &with, outputs);
            free(with.data);
            free(without.data);
            far_laplace_destroy(la);
        }
        free(truth.data);
        far_laplace_destroy(exact);
        far_net_destroy(net);
    }
    free(x.data);
    free(x2.data);
}

static void fewer_features_and_another_prior_need_no_new_fit(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.7);
    far_net *net = network("dense(5) tanh dense(3)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    o.rank = 9;
    far_laplace *large = fitted(net, &x, &o);
    must(far_laplace_set(ctx, large, 4, 2.5, -1));
    o.rank = 4;
    o.prior = 2.5;
    far_laplace *small = fitted(net, &x, &o);
    far_mat a = covariance(large, &x2), b = covariance(small, &x2);
    assert_true(distance(&a, &b) < 1e-12);
    assert_int_equal(far_laplace_describe(large).rank, 4);
    assert_int_equal(far_laplace_describe(large).rank_most, 9);
    assert_near(far_laplace_describe(large).effective, far_laplace_describe(small).effective,
                1e-12);
    far_laplace_destroy(large);
    far_laplace_destroy(small);
    far_mat *owned[] = {&x, &x2, &a, &b};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* The least budget, doubling, that a fit takes: rows then come in several chunks. */
static far_laplace *fitted_in_little(const far_net *net, const far_mat *x, far_laplace_opts o)
{
    far_laplace *la = NULL;
    far_status st = FAR_ERR_BUDGET;
    for (o.memory = 4096; st == FAR_ERR_BUDGET; o.memory *= 2) {
        st = far_laplace_fit(ctx, net, x, &o, &la);
    }
    must(st);
    assert_true(far_laplace_chunk(la, la->info.side, x->rows) < x->rows / 2);
    return la;
}

static void rows_can_come_in_chunks(void **state)
{
    (void)state;
    far_mat x = points(397, D, 0.1);
    far_net *net = network("dense(5) tanh dense(3)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    o.landmarks = 13;
    o.rank = 7;
    o.system = FAR_LAPLACE_PARAMETERS;
    for (o.method = FAR_LAPLACE_ELLA; o.method <= FAR_LAPLACE_EXACT; o.method++) {
        far_laplace *whole = fitted(net, &x, &o), *little = fitted_in_little(net, &x, o);
        far_mat a = covariance(whole, &x), b = covariance(little, &x);
        assert_true(distance(&b, &a) < 1e-12);
        far_laplace_destroy(whole);
        far_laplace_destroy(little);
        free(a.data);
        free(b.data);
    }
    far_net_destroy(net);
    free(x.data);
}

static void assert_orthonormal(const far_laplace *la)
{
    int64_t rank = la->info.rank_most, parameters = la->info.parameters;
    for (int64_t a = 0; a < rank * rank; a++) {
        const double *u = la->basis + a / rank * parameters, *v = la->basis + a % rank * parameters;
        double sum = 0;
        for (int64_t k = 0; k < parameters; k++) {
            sum += u[k] * v[k];
        }
        assert_near(sum, a / rank == a % rank, 1e-13);
    }
}

/* Pairs of points that nearly coincide have eigenvalues down to 1e-12 of the largest: the features
 * must still be orthonormal, and noise small enough for them to count. */
static void near_duplicates_do_no_harm(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.7);
    for (int64_t i = 1; i < N; i += 2) {
        for (int64_t j = 0; j < D; j++) {
            *at(&x, i, j) = *at(&x, i - 1, j) + 3e-5 * sin(7.0 * (double)(i + j));
        }
    }
    far_net *net = network("dense(7) tanh dense(2)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
    o.system = FAR_LAPLACE_PARAMETERS;
    o.noise = 1e-4;
    far_laplace *exact = fitted(net, &x, &o);
    o.method = FAR_LAPLACE_ELLA;
    o.rank = 0;
    far_laplace *la = fitted(net, &x, &o);
    far_mat a = covariance(exact, &x2), b = covariance(la, &x2);
    assert_orthonormal(la);
    assert_true(distance(&b, &a) < 1e-9);
    far_laplace_destroy(exact);
    far_laplace_destroy(la);
    far_mat *owned[] = {&x, &x2, &a, &b};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

static void landmarks_depend_on_the_seed_alone(void **state)
{
    (void)state;
    far_mat x = points(37, D, 0.1), x2 = points(M, D, 0.7);
    far_net *net = network("dense(5) tanh dense(3)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    o.landmarks = 13;
    o.rank = 5;
    far_laplace *a = fitted(net, &x, &o), *b = fitted(net, &x, &o);
    o.seed = 1;
    far_laplace *c = fitted(net, &x, &o);
    far_mat ca = covariance(a, &x2), cb = covariance(b, &x2), cc = covariance(c, &x2);
    assert_memory_equal(ca.data, cb.data, (size_t)(ca.rows * ca.cols) * sizeof(double));
    assert_true(distance(&ca, &cc) > 1e-6);
    far_laplace_destroy(a);
    far_laplace_destroy(b);
    far_laplace_destroy(c);
    far_mat *owned[] = {&x, &x2, &ca, &cb, &cc};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* ---- landmarks ----------------------------------------------------------------------------- */

/* Every pair at most once, in the order of the outputs. */
static void check_pairs(const far_landmarks *l, int64_t rows, int64_t outputs)
{
    unsigned char seen[N * 3] = {0};
    for (int64_t m = 0; m < l->count; m++) {
        assert_true(l->points[m] >= 0 && l->points[m] < rows);
        assert_true(l->outputs[m] >= 0 && l->outputs[m] < outputs);
        assert_true(m == 0 || l->outputs[m - 1] <= l->outputs[m]);
        assert_int_equal(seen[l->points[m] * outputs + l->outputs[m]]++, 0);
    }
}

static void check_spread(const far_landmarks *l, const int64_t *labels)
{
    int64_t by_output[3] = {0}, by_class[3] = {0};
    for (int64_t m = 0; m < l->count; m++) {
        by_output[l->outputs[m]]++;
        by_class[labels[l->points[m]]]++;
    }
    for (int c = 0; c < 3; c++) {
        assert_int_equal(by_output[c], l->count / 3);
        assert_int_equal(by_class[c], l->count / 3);
    }
}

static void landmarks_never_repeat_and_can_be_balanced(void **state)
{
    (void)state;
    const int64_t labels[N] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    far_laplace_info info = {.rows = N, .outputs = 3};
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    o.labels = labels;
    for (o.seed = 0; o.seed < 20; o.seed++) {
        for (info.landmarks = 1; info.landmarks <= 3 * N; info.landmarks++) {
            for (o.balanced = 0; o.balanced < 2; o.balanced++) {
                far_landmarks l;
                must(far_landmarks_choose(ctx, &info, &o, &l));
                assert_int_equal(l.count, info.landmarks);
                check_pairs(&l, N, 3);
                if (o.balanced && info.landmarks == 6) { /* class 2 has only two points */
                    check_spread(&l, labels);
                }
                far_landmarks_clear(ctx, &l);
            }
        }
    }
}

/* Seeds differ, and a random choice is not always the same output. */
static void random_landmarks_are_random(void **state)
{
    (void)state;
    far_laplace_info info = {.rows = N, .outputs = 3, .landmarks = 1};
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    int points_seen[N] = {0}, outputs_seen[3] = {0};
    for (o.seed = 0; o.seed < 200; o.seed++) {
        far_landmarks l;
        must(far_landmarks_choose(ctx, &info, &o, &l));
        points_seen[l.points[0]]++;
        outputs_seen[l.outputs[0]]++;
        far_landmarks_clear(ctx, &l);
    }
    for (int i = 0; i < N; i++) {
        assert_true(points_seen[i] > 3);
    }
    for (int c = 0; c < 3; c++) {
        assert_true(outputs_seen[c] > 40);
    }
}

static void nystrom_errors_fall_to_nothing(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1);
    far_net *net = network("dense(5) tanh dense(3)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_SOFTMAX);
    far_laplace *exact = fitted(net, &x, &o);
    o.method = FAR_LAPLACE_ELLA;
    o.rank = 0;
    far_laplace *la = fitted(net, &x, &o);
    far_nystrom_error e;
    double before = 1;
    for (int64_t rank = 1; rank < 9; rank++) {
        must(far_laplace_set(ctx, la, rank, o.prior, -1));
        must(far_laplace_nystrom(ctx, la, exact, &x, &e));
        assert_true(e.kernel < before && e.kernel > 0);
        assert_true(e.posterior > 0);
        before = e.kernel;
    }
    must(far_laplace_set(ctx, la, far_laplace_describe(la).rank_most, o.prior, -1));
    must(far_laplace_nystrom(ctx, la, exact, &x, &e));
    assert_true(e.kernel < 1e-12 && e.posterior < 1e-10);
    must(far_laplace_nystrom(ctx, la, NULL, &x, &e));
    assert_true(isnan(e.posterior));
    far_laplace_destroy(exact);
    far_laplace_destroy(la);
    free(x.data);
    far_net_destroy(net);
}

/* One feature of all rows is the first eigenvector: what is left is the second eigenvalue. */
static void one_feature_leaves_the_second_eigenvalue(void **state)
{
    (void)state;
    far_mat x = matrix(2, 2);
    *at(&x, 0, 0) = 3; /* K = diag(9 + 1, 4 + 1) + off-diagonal 1: J = (x, 1) */
    *at(&x, 1, 1) = 2;
    far_net *net = network("dense(1)", 2, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
    far_nystrom_error e;
    o.rank = 1;
    far_laplace *la = fitted(net, &x, &o);
    must(far_laplace_nystrom(ctx, la, NULL, &x, &e));
    double middle = 7.5, radius = sqrt(2.5 * 2.5 + 1);
    assert_near(e.kernel, (middle - radius) / (middle + radius), 1e-12);
    far_laplace_destroy(la);
    free(x.data);
    far_net_destroy(net);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuse_fit(const far_net *net, const far_mat *x, far_laplace_opts o, far_status wanted,
                       const char *words)
{
    far_laplace *la = (far_laplace *)&o;
    refused(far_laplace_fit(ctx, net, x, &o, &la), wanted, words);
    assert_null(la);
}

static void options_are_checked(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), wide = points(N, D + 1, 0.1), none = points(0, D, 0.1);
    far_net *net = network("dense(5) tanh dense(1)", D, 5), *two = network("dense(2)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN), bad;
    int64_t labels[N] = {0, 7};
#define REFUSE(change, wanted, words)                                                              \
    do {                                                                                           \
        bad = o;                                                                                   \
        change;                                                                                    \
        refuse_fit(net, &x, bad, wanted, words);                                                   \
    } while (0)
    REFUSE(bad.size = 1, FAR_ERR_ARG, "far_laplace_opts_init");
    REFUSE(bad.method = 5, FAR_ERR_ARG, "method 5");
    REFUSE(bad.likelihood = 3, FAR_ERR_ARG, "likelihood 3");
    REFUSE(bad.system = FAR_LAPLACE_FEATURES, FAR_ERR_ARG, "system 3");
    REFUSE(bad.prior = 0, FAR_ERR_ARG, "prior variance is 0");
    REFUSE(bad.prior = NAN, FAR_ERR_ARG, "prior variance");
    REFUSE(bad.prior = 1e-320, FAR_ERR_ARG, "prior variance");
    REFUSE(bad.noise = -1, FAR_ERR_ARG, "noise variance is -1");
    REFUSE(bad.landmarks = 0, FAR_ERR_ARG, "0 landmarks");
    REFUSE(bad.rank = -1, FAR_ERR_ARG, "rank -1");
    REFUSE(bad.likelihood = FAR_LIKELIHOOD_SOFTMAX, FAR_ERR_SHAPE, "2 outputs or more");
    REFUSE((bad.balanced = 1, bad.labels = labels), FAR_ERR_ARG, "row 2 is 7");
    bad = o;
    bad.likelihood = FAR_LIKELIHOOD_BERNOULLI;
    refuse_fit(two, &x, bad, FAR_ERR_SHAPE, "has 1 output, and the network has 2");
    REFUSE(bad.memory = 1000, FAR_ERR_BUDGET, "the approximation needs");
    REFUSE((bad.method = FAR_LAPLACE_EXACT, bad.memory = 1000), FAR_ERR_BUDGET, "are allowed");
    REFUSE((bad.method = FAR_LAPLACE_EXACT, bad.system = FAR_LAPLACE_PARAMETERS, bad.prior = 1e300),
           FAR_ERR_SINGULAR, "smaller");
    refuse_fit(NULL, &x, o, FAR_ERR_ARG, "network");
    refuse_fit(net, NULL, o, FAR_ERR_ARG, "x is NULL");
    refuse_fit(net, &wide, o, FAR_ERR_SHAPE, "4 columns");
    refuse_fit(net, &none, o, FAR_ERR_SHAPE, "0 training rows");
    *at(&x, 2, 1) = NAN;
    refuse_fit(net, &x, o, FAR_ERR_VALUE, "row 3, column 2");
    assert_int_equal(far_laplace_fit(ctx, net, &x, &o, NULL), FAR_ERR_ARG);
    assert_int_equal(far_laplace_fit(NULL, net, &x, &o, NULL), FAR_ERR_ARG);
    far_mat *owned[] = {&x, &wide, &none};
    release(owned, COUNT(owned));
    far_net_destroy(two);
    far_net_destroy(net);
}

static void dead_networks_and_overflow_are_refused(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1);
    far_net_opts n;
    far_net *net;
    far_net_opts_init(&n);
    n.inputs = D;
    n.init = FAR_INIT_NTK; /* in which b=0 leaves no bias to learn */
    must(far_net_create(ctx, "dense(5, b=0) relu dense(1, b=0)", &n, &net));
    far_mat p = far_net_parameters(net);
    memset(p.data, 0, (size_t)p.cols * sizeof(double));
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
    refuse_fit(net, &x, o, FAR_ERR_VALUE, "do not depend on any parameter");
    far_mat large = matrix(N, D);
    for (int64_t i = 0; i < p.cols; i++) {
        *at(&p, 0, i) = 1e160;
    }
    for (int64_t i = 0; i < N * D; i++) {
        ((double *)large.data)[i] = 1e160;
    }
    o.method = FAR_LAPLACE_EXACT;
    refuse_fit(net, &large, o, FAR_ERR_VALUE, "the network's outputs: row 1, column 1 is inf");
    free(x.data);
    free(large.data);
    far_net_destroy(net);
}

static void uses_are_checked(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), wide = points(N, D + 1, 0.1), mean = matrix(N, 2);
    far_mat good = matrix(N, 1);
    far_net *net = network("dense(5) tanh dense(1)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
    far_laplace *ella = fitted(net, &x, &o);
    o.method = FAR_LAPLACE_EXACT;
    far_laplace *exact = fitted(net, &x, &o);
    far_nystrom_error e;
    refused(far_laplace_set(ctx, ella, 1, -1, -1), FAR_ERR_ARG, "prior variance is -1");
    refused(far_laplace_set(ctx, ella, 999, 1, -1), FAR_ERR_ARG, "rank 999");
    refused(far_laplace_set(ctx, exact, 1, 1, -1), FAR_ERR_ARG, "no rank");
    refused(far_laplace_set(ctx, NULL, 1, 1, -1), FAR_ERR_ARG, "must not be NULL");
    refused(far_laplace_set(ctx, exact, 0, NAN, 1), FAR_ERR_ARG, "only ELLA");
    refused(far_laplace_predict(ctx, ella, &wide, NULL, NULL), FAR_ERR_SHAPE, "4 columns");
    refused(far_laplace_predict(ctx, ella, &x, &mean, NULL), FAR_ERR_SHAPE, "mean");
    refused(far_laplace_predict(ctx, ella, &x, &good, &mean), FAR_ERR_SHAPE, "covariance");
    refused(far_laplace_predict(ctx, NULL, &x, &good, NULL), FAR_ERR_ARG, "NULL");
    refused(far_laplace_joint(ctx, ella, &x, &mean), FAR_ERR_SHAPE, "out");
    refused(far_laplace_nystrom(ctx, exact, NULL, &x, &e), FAR_ERR_ARG, "by features");
    refused(far_laplace_nystrom(ctx, ella, ella, &x, &e), FAR_ERR_ARG, "exact");
    refused(far_laplace_nystrom(ctx, ella, exact, &x, NULL), FAR_ERR_ARG, "NULL");
    far_net *small = network("dense(4) tanh dense(1)", D, 5);
    far_laplace *other = fitted(small, &x, &o);
    refused(far_laplace_nystrom(ctx, ella, other, &x, &e), FAR_ERR_SHAPE, "different networks");
    refused(far_laplace_nystrom(ctx, ella, exact, &wide, &e), FAR_ERR_SHAPE, "4 columns");
    refused(far_laplace_joint(ctx, ella, &wide, &mean), FAR_ERR_SHAPE, "4 columns");
    refused(far_laplace_set(ctx, ella, -1, 1, -1), FAR_ERR_ARG, "rank -1");
    refused(far_laplace_set(ctx, ella, 1, INFINITY, -1), FAR_ERR_ARG, "prior variance is inf");
    refused(far_laplace_set(ctx, ella, 1, 1e-320, -1), FAR_ERR_ARG,
            "prior variance is 9.99989e-321");
    far_laplace_destroy(other);
    far_net_destroy(small);
    far_laplace_destroy(NULL);
    far_laplace_destroy(ella);
    far_laplace_destroy(exact);
    far_mat *owned[] = {&x, &wide, &mean, &good};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* ---- cancelling, failing ------------------------------------------------------------------- */

static const char *stop_word = "";

static int stop_there(void *user, const char *what, int64_t done, int64_t total)
{
    (void)user;
    assert_true(done >= 0 && done <= total);
    return strcmp(stop_word, what) == 0;
}

static far_ctx *stopping_context(void)
{
    far_ctx_opts opts;
    far_ctx *made;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.progress = stop_there;
    must(far_ctx_create(&opts, &made));
    return made;
}

static void fits_can_be_cancelled(void **state)
{
    (void)state;
    static const char *const STEPS[] = {"landmarks", "basis", "posterior", "posterior"};
    far_mat x = points(N, D, 0.1);
    far_net *net = network("dense(5) tanh dense(1)", D, 5);
    far_ctx *stopping = stopping_context();
    for (int k = 0; k < COUNT(STEPS); k++) {
        far_laplace *la;
        far_laplace_opts o = options(k < 3 ? FAR_LAPLACE_ELLA : FAR_LAPLACE_EXACT, 0);
        stop_word = STEPS[k];
        assert_int_equal(far_laplace_fit(stopping, net, &x, &o, &la), FAR_ERR_CANCELLED);
        assert_null(la);
    }
    far_ctx_destroy(stopping);
    free(x.data);
    far_net_destroy(net);
}

static void uses_can_be_cancelled(void **state)
{
    (void)state;
    far_mat x = points(N, D, 0.1), y = matrix(N, 1), joint = matrix(N, N), cov = matrix(N, 1);
    far_net *net = network("dense(5) tanh dense(1)", D, 5);
    far_ctx *stopping = stopping_context();
    far_laplace *la;
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
    stop_word = "";
    must(far_laplace_fit(stopping, net, &x, &o, &la));
    stop_word = "laplace";
    assert_int_equal(far_laplace_predict(stopping, la, &x, NULL, &cov), FAR_ERR_CANCELLED);
    assert_int_equal(far_laplace_joint(stopping, la, &x, &joint), FAR_ERR_CANCELLED);
    stop_word = "choose";
    assert_int_equal(far_laplace_choose(stopping, la, &x, NULL, &y, NULL, NULL), FAR_ERR_CANCELLED);
    assert_near(far_laplace_describe(la).prior, o.prior, 0);
    stop_word = "";
    must(far_laplace_predict(stopping, la, &x, NULL, &cov));
    far_laplace_destroy(la);
    far_ctx_destroy(stopping);
    far_mat *owned[] = {&x, &y, &joint, &cov};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* Any report of a use may stop it, wherever it comes from. */
static int64_t reports_left;

static int count_down(void *user, const char *what, int64_t done, int64_t total)
{
    (void)user, (void)what, (void)done, (void)total;
    return --reports_left == 0;
}

static far_status use_everything(const far_net *net, const far_mat *x, const far_laplace_opts *o,
                                 far_mat *mean, far_mat *cov, far_mat *joint)
{
    far_laplace *la = NULL;
    far_status st = far_laplace_fit(ctx, net, x, o, &la);
    st = st == FAR_OK ? far_laplace_predict(ctx, la, x, mean, NULL) : st;
    st = st == FAR_OK ? far_laplace_predict(ctx, la, x, NULL, cov) : st;
    st = st == FAR_OK ? far_laplace_joint(ctx, la, x, joint) : st;
    st = st == FAR_OK ? far_laplace_set(ctx, la, 0, 0.1, -1) : st;
    far_laplace_destroy(la);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    use_one_thread();
    int64_t labels[] = {0, 1, 0, 1, 1};
    far_mat x = points(M, D, 0.1), cov = matrix(2 * M, 2), joint = matrix(2 * M, 2 * M);
    far_mat mean = matrix(M, 2);
    far_net *net = network("dense(3) ln(affine) tanh dense(2)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_SOFTMAX);
    o.balanced = 1;
    o.labels = labels;
    o.memory = 1e9; /* what is available would be looked up again and again */
    int64_t blocks = test_heap.live_blocks;
    for (o.system = FAR_LAPLACE_SMALLER; o.system <= FAR_LAPLACE_ROWS; o.system++) {
        far_status st = FAR_ERR_MEMORY;
        for (int i = 0; st != FAR_OK; i++) {
            test_heap.fail_at = test_heap.calls + i;
            st = use_everything(net, &x, &o, &mean, &cov, &joint);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(test_heap.live_blocks, blocks);
            assert_true(i < 3000);
        }
        o.method = FAR_LAPLACE_EXACT;
    }
    far_mat *owned[] = {&x, &mean, &cov, &joint};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* Whatever fails, the approximation stays as it was. */
static void every_allocation_of_tuning_may_fail(void **state)
{
    (void)state;
    use_one_thread();
    far_mat x = points(20, D, 0.1), y = points(20, 2, 0.4);
    far_net *net = network("dense(3) tanh dense(2)", D, 5);
    for (int k = 0; k < 3; k++) {
        far_laplace_opts o =
            options(k < 2 ? FAR_LAPLACE_EXACT : FAR_LAPLACE_ELLA, FAR_LIKELIHOOD_GAUSSIAN);
        o.system = k == 0 ? FAR_LAPLACE_PARAMETERS : k == 1 ? FAR_LAPLACE_ROWS : 0;
        o.memory = 1e9;
        far_laplace *la = fitted(net, &x, &o);
        far_status st = FAR_ERR_MEMORY;
        for (int i = 0; st != FAR_OK; i += i < 150 ? 1 : 11) { /* then every step is like another */
            int64_t blocks = test_heap.live_blocks;
            test_heap.fail_at = test_heap.calls + i;
            st = far_laplace_tune(ctx, la, &x, &y, 0, NULL);
            test_heap.fail_at = -1;
            far_laplace_info info = far_laplace_describe(la);
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_true(st == FAR_OK || (info.prior == o.prior && info.noise == o.noise &&
                                         test_heap.live_blocks == blocks));
            assert_true(i < 3000);
        }
        far_laplace_destroy(la);
    }
    far_mat *owned[] = {&x, &y};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

static void tuning_refuses(void **state)
{
    (void)state;
    far_mat x = points(M, D, 0.1), y = points(M, 1, 0.4), wide = points(M, 2, 0.4);
    far_net *net = network("dense(3) tanh dense(1)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
    far_laplace *la = fitted(net, &x, &o);
    refused(far_laplace_tune(ctx, NULL, &x, &y, 0, NULL), FAR_ERR_ARG, "NULL");
    refused(far_laplace_tune(ctx, la, &x, NULL, 0, NULL), FAR_ERR_ARG, "needs its targets");
    refused(far_laplace_tune(ctx, la, &x, &wide, 0, NULL), FAR_ERR_SHAPE, "y");
    *at(&y, 1, 0) = NAN;
    refused(far_laplace_tune(ctx, la, &x, &y, 0, NULL), FAR_ERR_VALUE, "y");
    *at(&y, 1, 0) = 1e200; /* its square is no number */
    refused(far_laplace_tune(ctx, la, &x, &y, 0, NULL), FAR_ERR_VALUE, "not finite");
    assert_true(far_laplace_describe(la).prior == o.prior);
    far_laplace_destroy(la);
    far_mat *owned[] = {&x, &y, &wide};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

static void every_allocation_of_an_error_may_fail(void **state)
{
    (void)state;
    use_one_thread();
    far_mat x = points(M, D, 0.1);
    far_net *net = network("dense(3) tanh dense(1)", D, 5);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
    far_laplace *exact = fitted(net, &x, &o);
    o.method = FAR_LAPLACE_ELLA;
    far_laplace *ella = fitted(net, &x, &o);
    far_status st = FAR_ERR_MEMORY;
    for (int i = 0; st != FAR_OK; i++) {
        int64_t blocks = test_heap.live_blocks;
        far_nystrom_error e = {.kernel = -1};
        test_heap.fail_at = test_heap.calls + i;
        st = far_laplace_nystrom(ctx, ella, exact, &x, &e);
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK ? e.kernel >= 0 : st == FAR_ERR_MEMORY && e.kernel == -1);
        assert_int_equal(test_heap.live_blocks, blocks);
        assert_true(i < 1000);
    }
    far_laplace_destroy(exact);
    far_laplace_destroy(ella);
    free(x.data);
    far_net_destroy(net);
}

static void every_report_may_cancel(void **state)
{
    (void)state;
    far_mat x = points(M, D, 0.1), cov = matrix(2 * M, 2), joint = matrix(2 * M, 2 * M);
    far_mat mean = matrix(M, 2);
    far_net *net = network("dense(3) tanh dense(2)", D, 5);
    far_ctx *own = ctx;
    for (int method = 0; method < 2; method++) {
        heap counted = {.fail_at = -1};
        far_status st = FAR_ERR_CANCELLED;
        int64_t most = 0;
        far_laplace_opts o =
            options(method ? FAR_LAPLACE_ELLA : FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_GAUSSIAN);
        ctx = heap_context(&counted, 1, count_down, NULL);
        assert_non_null(ctx);
        for (; st != FAR_OK; most++) {
            int64_t blocks = counted.live_blocks;
            reports_left = most + 1;
            st = use_everything(net, &x, &o, &mean, &cov, &joint);
            assert_true(st == FAR_OK || st == FAR_ERR_CANCELLED);
            assert_int_equal(counted.live_blocks, blocks);
        }
        assert_true(most > 5);
        far_ctx_destroy(ctx);
        ctx = own;
    }
    far_mat *owned[] = {&x, &mean, &cov, &joint};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_exact_systems_are_the_explicit_posterior),
        TEST(the_smaller_system_is_chosen),
        TEST(estimates_hold),
        TEST(the_effective_number_of_parameters_is_a_trace),
        TEST(a_linear_network_is_bayesian_linear_regression),
        TEST(all_landmarks_and_the_residual_prior_are_exact),
        TEST(without_the_residual_prior_variances_are_too_small),
        TEST(fewer_features_and_another_prior_need_no_new_fit),
        TEST(rows_can_come_in_chunks),
        TEST(near_duplicates_do_no_harm),
        TEST(landmarks_depend_on_the_seed_alone),
        TEST(landmarks_never_repeat_and_can_be_balanced),
        TEST(random_landmarks_are_random),
        TEST(nystrom_errors_fall_to_nothing),
        TEST(one_feature_leaves_the_second_eigenvalue),
        TEST(options_are_checked),
        TEST(dead_networks_and_overflow_are_refused),
        TEST(uses_are_checked),
        TEST(tuned_to_the_largest_marginal_likelihood),
        TEST(tuned_intervals_hold_rows_left_out),
        TEST(tuned_classes_are_where_the_slope_is_0),
        TEST(fits_can_be_cancelled),
        TEST(uses_can_be_cancelled),
        TEST(every_allocation_may_fail),
        TEST(every_allocation_of_tuning_may_fail),
        TEST(tuning_refuses),
        TEST(every_allocation_of_an_error_may_fail),
        TEST(every_report_may_cancel),
    };
    return cmocka_run_group_tests_name("laplace", tests, NULL, NULL);
}
