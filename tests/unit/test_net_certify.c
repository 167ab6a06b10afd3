/* Certificates of finite networks: that every bound holds where it is tried, that every statement
 * is checked, and the pieces they are made of against plain evaluation. */
#include "../../src/certify/net_cell.h"
#include "../../src/certify/net_certify.h"

#include <fenv.h>
#include <float.h>
#include <jansson.h>

#include "certificates.h"

/* Random weights, times factor as if trained; batch norms that have seen something. */
static far_net *network(const char *arch, int64_t inputs, uint64_t seed, double factor)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.seed = seed;
    must(far_net_create(ctx, arch, &o, &net));
    for (int64_t i = 0; i < net->info.parameters; i++) {
        net->params[i] = factor * (net->params[i] + 0.03 * far_random_normal(seed, (uint64_t)i));
    }
    for (int64_t i = 0; i < net->statistic_count; i++) {
        net->statistics[i] += 0.5 * far_random_uniform(seed, (uint64_t)i);
    }
    return net;
}

static void scale(far_net *net)
{
    double in[2][9], out[2][3];
    int64_t d = net->info.inputs, p = net->info.outputs;
    for (int i = 0; i < 9; i++) {
        in[0][i] = 2 * i - 3;
        in[1][i] = 0.5 + i;
    }
    for (int i = 0; i < 3; i++) {
        out[0][i] = 5 - 4 * i;
        out[1][i] = 0.3 + i;
    }
    far_scaling s = {far_mat_view(in[0], 1, d, FAR_F64), far_mat_view(in[1], 1, d, FAR_F64),
                     far_mat_view(out[0], 1, p, FAR_F64), far_mat_view(out[1], 1, p, FAR_F64)};
    must(far_net_set_scaling(ctx, net, &s));
}

static far_certificate *certify(const far_net *net, double seconds)
{
    far_certify_opts o;
    far_certificate *c;
    far_certify_opts_init(&o);
    o.seconds = seconds;
    o.starts = 16;
    must(far_net_certify(ctx, net, &o, &c));
    return c;
}

/* ---- that bounds hold ---------------------------------------------------------------------- */

/* Of every size from 1e-3 to 1e30, around the data, and near the place of the largest value found,
 * which the search has climbed to. */
static void adversaries(const far_net *net, const far_bound *b, int64_t n, double *x)
{
    int64_t d = net->info.inputs;
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = (uint64_t)i;
        double size = pow(10, -3 + 33 * far_random_uniform(1, k));
        size = i % 3 == 0 ? 3 * far_random_uniform(2, k) : size;
        for (int64_t j = 0; j < d; j++) {
            double z = far_random_normal(3, (uint64_t)(i * d + j));
            double near = b->at_infinity ? b->at[j] * size : b->at[j];
            double jitter = pow(10, -1 - 15 * far_random_uniform(4, k)) * fmax(fabs(near), 1e-3);
            x[i * d + j] = i % 4 == 3 ? near + jitter * z : size * z;
        }
    }
}

static void assert_bounds(const far_net *net, const far_certificate *c, int64_t n)
{
    int64_t d = net->info.inputs, p = net->info.outputs;
    double *x = malloc((size_t)(n * d) * sizeof *x), *f = malloc((size_t)(n * p) * sizeof *f);
    far_mat in = far_mat_view(x, n, d, FAR_F64), out = far_mat_view(f, n, p, FAR_F64);
    for (int64_t j = 0; j < p; j++) {
        const far_bound *b = far_certificate_bound(c, j);
        assert_int_equal(b->verdict, FAR_BOUNDED);
        adversaries(net, b, n, x);
        must(far_net_eval_raw(ctx, net, &in, &out));
        for (int64_t i = 0; i < n; i++) {
            if (!(f[i * p + j] >= b->lowest && f[i * p + j] <= b->highest &&
                  fabs(f[i * p + j]) <= b->tightest)) {
                fail_msg("%s: %.17g is not in [%.17g, %.17g]", net->text, f[i * p + j], b->lowest,
                         b->highest);
            }
        }
        double methods[] = {b->proofs[0].bound, b->proofs[1].bound, b->proofs[2].bound,
                            b->proofs[3].bound};
        for (int i = 0; i < COUNT(methods); i++) {
            assert_true(methods[i] >= b->tightest);
        }
        assert_true(b->tightest >= b->sup_found && b->sup_found > 0);
        assert_true(b->tightest >= fmax(fabs(b->lowest), fabs(b->highest)));
        assert_non_null(b->method);
    }
    free(x);
    free(f);
}

static const char *const TOYS[] = {
    "dense(37) ln relu dense(31) relu dense(1)",
    "dense(37) relu dense(31) ln relu dense(1)",
    "dense(37) ln(eps=1e-5) relu dense(31) ln(eps=1e-5) relu dense(1)",
};

/* |b3| + max(|w3+|, |w3-|) sqrt(n - 1), for a norm in front of the last relu. */
static double textbook_bound(const far_net *net)
{
    const far_step *last = &net->steps[net->step_count - 1];
    double up = 0, down = 0;
    for (int64_t i = 0; i < last->in; i++) {
        double w = net->params[last->weight + i];
        *(w > 0 ? &up : &down) += w * w;
    }
    return fabs(net->params[last->bias]) + sqrt(fmax(up, down) * (double)(last->in - 1));
}

static void toy_networks_are_bounded_within_two_percent(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(TOYS); k++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            far_net *net = network(TOYS[k], 1, seed, seed < 3 ? 1 : 3);
            far_certificate *c = certify(net, 20);
            const far_bound *b = far_certificate_bound(c, 0);
            far_certificate_info info = far_certificate_describe(c);
            assert_bounds(net, c, 20000);
            assert_true(b->tightest <= 1.02 * b->sup_found);
            assert_true(info.finished && info.norms && !info.batch && info.cells > 0);
            assert_true(k == 0 || b->proofs[0].bound <= textbook_bound(net));
            far_certificate_destroy(c);
            far_net_destroy(net);
        }
    }
}

static const char *const KINDS[] = {
    "dense(14) ln(groups=2, affine) leaky_relu(0.2) dense(15) ln(groups=3, eps=0.1) relu dense(2)",
    "dense(13) rms(affine, eps=0.01) abs dense(11) relu dense(3)",
    "dense(13) gelu dense(11) ln gelu dense(2)",
    "dense(13) silu dense(11) ln(eps=1e-3) silu dense(1)",
    "dense(13) tanh dense(11) relu dense(1)",
    "dense(13) erf dense(11) ln erf dense(1)",
    "dense(13) batchnorm(affine) relu dense(11) batchnorm ln(affine) relu dense(1)",
    "dense(13) skip(dense(7) relu dense(13)) ln skip(dense(7) tanh dense(13)) relu dense(1)",
    "dense(13) skip(tanh) ln relu dense(1)",
    "dense(13) relu skip(ln dense(13)) dense(11) ln relu dense(1)",
    "dense(13) skip(ln relu dense(7) | tanh dense(7)) relu dense(1)",
    "dense(13) skip(dense(7) relu | dense(7)) ln skip(dense(11) relu | skip(tanh) dense(11)) "
    "dense(1)",
    "dense(13) relu(2) dense(11) ln relu(1.5) dense(1)",
    "dense(13) ln relu(0.75) dense(11) relu(3) dense(1)",
    "dense(13, nobias) ln relu dense(11) relu dense(1)",
    "rms(eps=0.1) dense(13) sin dense(1)",
    "ln dense(11) relu dense(2)",
    "dense(13) sin dense(11) relu dense(1)",
    "dense(13) sin(w0=2.5) dense(11) ln relu dense(1)",
    "dense(13) relu dense(1) ln(affine)",
    "dense(13) leaky_relu(-0.5) dense(7) ln identity dense(5) leaky_relu(1.5) dense(1)",
};

static void every_kind_of_layer_keeps_its_bound(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(KINDS); k++) {
        for (int64_t d = 1; d <= 3; d++) {
            far_net *net = network(KINDS[k], d, (uint64_t)(7 * k + d), d == 2 ? 3 : 1);
            if (d > 1) {
                scale(net);
            }
            far_certificate *c = certify(net, 0.1);
            assert_bounds(net, c, 2000);
            far_certificate_destroy(c);
            far_net_destroy(net);
        }
    }
}

/* Those of KINDS that one input leaves with no jump and no endless waves. */
static void one_input_is_resolved_for_every_kind(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(KINDS); k++) {
        if (strstr(KINDS[k], "sin")) {
            continue;
        }
        far_net *net = network(KINDS[k], 1, (uint64_t)k, 1);
        far_certificate *c = certify(net, 20);
        for (int64_t j = 0; j < net->info.outputs; j++) {
            const far_bound *b = far_certificate_bound(c, j);
            if (!(b->tightest <= 1.02 * b->sup_found)) {
                fail_msg("%s: %g of %g", KINDS[k], b->tightest, b->sup_found);
            }
        }
        far_certificate_destroy(c);
        far_net_destroy(net);
    }
}

/* |b3| + |w3| (|W2| sqrt(n - 1) + |b2|), for a norm behind the first layer. */
static double textbook_spectral_bound(const far_net *net)
{
    const far_step *second = &net->steps[3], *last = &net->steps[5];
    const double *w = net->params + last->weight, *b = net->params + second->bias;
    double norm, outer = 0, inner = 0;
    must(far_spectral_norm(ctx, net->params + second->weight, second->out, second->in, &norm));
    for (int64_t i = 0; i < last->in; i++) {
        outer += w[i] * w[i];
        inner += b[i] * b[i];
    }
    return fabs(net->params[last->bias]) +
           sqrt(outer) * (norm * sqrt((double)(second->in - 1)) + sqrt(inner));
}

static void more_inputs_are_bounded_too(void **state)
{
    (void)state;
    static const int64_t INPUTS[] = {2, 3, 9};
    for (int k = 0; k < COUNT(INPUTS); k++) {
        far_net *net = network("dense(23) ln relu dense(19) relu dense(1)", INPUTS[k], 5, 1);
        far_certificate *c = certify(net, k < 2 ? 20 : 0.2);
        const far_bound *b = far_certificate_bound(c, 0);
        assert_bounds(net, c, 5000);
        assert_true(k == 2 || b->tightest <= 1.02 * b->sup_found);
        assert_true(b->proofs[1].bound < 0.8 * textbook_spectral_bound(net));
        far_certificate_destroy(c);
        far_net_destroy(net);
    }
}

/* A second norm right behind a dense layer of few inputs sees only a few directions: a bound that
 * knows them is better than one over the whole ball. */
static void few_inputs_make_the_ball_smaller(void **state)
{
    (void)state;
    far_net *net = network("dense(61) ln identity dense(1)", 2, 3, 1);
    net->params[net->info.parameters - 1] = 0; /* then f(x) and -f(x) are both taken */
    far_certificate *c = certify(net, 0);
    const far_bound *b = far_certificate_bound(c, 0);
    assert_true(b->proofs[2].bound >= b->sup_found && b->proofs[2].bound <= 1.001 * b->sup_found);
    assert_true(b->proofs[1].bound > 2 * b->sup_found);
    assert_string_equal(b->method, "relaxation");
    assert_int_equal(far_certificate_describe(c).cells, 0);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    far_ctx_opts opts;
    far_ctx *other, *own = ctx;
    far_net *net = network(TOYS[2], 2, 1, 1);
    far_certificate *a = certify(net, 1e6), *b;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = 3;
    must(far_ctx_create(&opts, &other));
    ctx = other;
    b = certify(net, 1e6);
    ctx = own;
    const far_bound *p = far_certificate_bound(a, 0), *q = far_certificate_bound(b, 0);
    assert_true(p->lowest == q->lowest && p->highest == q->highest && p->sup_found == q->sup_found);
    assert_int_equal(far_certificate_describe(a).cells, far_certificate_describe(b).cells);
    far_certificate_destroy(a);
    far_certificate_destroy(b);
    far_ctx_destroy(other);
    far_net_destroy(net);
}

/* Where a norm without eps meets an exact 0 its value is 0, and a bias behind it reaches the next
 * norm. */
static void assert_zero_is_in_the_bound(const char *arch, int64_t d, uint64_t seed)
{
    double zero[3] = {0}, f;
    far_net *net = network(arch, d, seed, 1);
    far_certificate *c = certify(net, 0.05);
    const far_bound *b = far_certificate_bound(c, 0);
    far_mat in = far_mat_view(zero, 1, d, FAR_F64), out = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_net_eval_raw(ctx, net, &in, &out));
    assert_true(f >= b->lowest && f <= b->highest && b->sup_found <= b->tightest);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

static void exact_zeros_are_in_the_bound(void **state)
{
    (void)state;
    static const char *const NETWORKS[] = {
        "rms dense(8) ln relu dense(1)",
        "dense(8, nobias) rms relu dense(8) rms sin(w0=5) dense(1)",
        "dense(8, nobias) ln tanh dense(6) ln(groups=2) gelu dense(1)",
        "dense(8, nobias) rms(affine) relu(2) skip(rms(eps=0.1) dense(8, nobias)) dense(1)",
        "rms tanh dense(5) ln(groups=5, affine) abs dense(1)",
    };
    for (int k = 0; k < COUNT(NETWORKS); k++) {
        for (int64_t d = 1; d <= 3; d++) {
            for (uint64_t seed = 0; seed < 4; seed++) {
                assert_zero_is_in_the_bound(NETWORKS[k], d, seed);
            }
        }
    }
}

/* Weights whose squares underflow. */
static void tiny_weights_have_bounds_of_their_size(void **state)
{
    (void)state;
    static const char *const NETWORKS[] = {"dense(7) ln gelu dense(5) rms gelu dense(1)",
                                           "dense(7) ln dense(5) relu dense(1)",
                                           "dense(7) tanh dense(1)"};
    static const double SIZES[] = {1e-170, 1e-300, 1e-320};
    for (int k = 0; k < COUNT(NETWORKS); k++) {
        for (int i = 0; i < COUNT(SIZES); i++) {
            far_net *net = network(NETWORKS[k], 2, 3, 1);
            const far_step *last = &net->steps[net->step_count - 1];
            for (int64_t p = last->weight; p < net->info.parameters; p++) {
                net->params[p] *= SIZES[i];
            }
            far_certificate *c = certify(net, 0.05);
            assert_bounds(net, c, 500);
            far_certificate_destroy(c);
            far_net_destroy(net);
        }
    }
}

/* 2 sqrt(1/2) times the least number rounds to that number: what is proven of the rounded weight
 * is not true of f = 1.41 such numbers times 1e300. */
static void weights_that_underflow_are_refused(void **state)
{
    (void)state;
    far_net_opts o;
    far_net *net;
    far_certify_opts opts;
    far_certificate *c = NULL;
    far_net_opts_init(&o);
    o.inputs = 2;
    o.init = FAR_INIT_NTK;
    must(far_net_create(ctx, "ln(affine) dense(1, nobias)", &o, &net));
    const double params[] = {1e300, 1e300, 0, 0, 2 * DBL_TRUE_MIN, -2 * DBL_TRUE_MIN};
    assert_int_equal(net->info.parameters, COUNT(params));
    memcpy(net->params, params, sizeof params);
    far_certify_opts_init(&opts);
    refused(far_net_certify(ctx, net, &opts, &c), FAR_ERR_VALUE, "underflows");
    far_net_destroy(net);
}

/* Two nearly equal numbers under a norm: their mean rounds by as much as they differ. */
static void enclosures_of_points_hold_their_values(void **state)
{
    (void)state;
    const double params[] = {1, 1 + 0x1p-20, 1e5, 1e5, 1, 0};
    far_net *net = network("dense(2) ln relu dense(1, nobias)", 1, 1, 1);
    far_net_plan *plan;
    far_net_value found;
    far_range own;
    memcpy(net->params, params, sizeof params);
    must(far_net_plan_create(ctx, net, &plan));
    must(far_net_boxes(plan, true));
    for (int i = -40; i < 20; i++) {
        double down = -ldexp(1, i), up = ldexp(1.0 / 3, i); /* f is 1 there, and 0 here */
        must(far_net_enclose(plan, &down, false, false, &own));
        assert_true(own.low <= 1 && own.high >= 1);
        must(far_net_enclose(plan, &up, false, false, &own));
        assert_true(own.low <= 0 && own.high >= 0);
        must(far_net_found(plan, 0, &up, false, (far_range){-1, 2}, &found));
        assert_true(found.possible && found.value >= own.low && found.value <= own.high);
    }
    double away = -1e6;
    must(far_net_found(plan, 0, &away, false, (far_range){-1, 0.5}, &found));
    assert_false(found.possible);
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

/* A range that is false, and a proof of other weights than those that are evaluated. */
static void contradictions_are_internal_errors(void **state)
{
    (void)state;
    double found[2] = {-1, 1}, where[4] = {1, 1, 1, 1}, raw, x = 0.5;
    far_net_branch met = {.found = found, .where = where};
    far_bound above = {.lowest = -2, .highest = -1}, below = {.lowest = 7, .highest = 8};
    far_net *net = network("dense(5) tanh dense(1)", 1, 1, 1);
    far_net_value value;
    far_net_plan *plan;
    for (int64_t i = 0; i < net->info.parameters; i++) {
        net->params[i] = 0.1;
    }
    must(far_net_plan_create(ctx, net, &plan));
    must(far_net_boxes(plan, true));
    refused(far_net_place_found(plan, 0, &met, &raw, &above), FAR_ERR_BACKEND, "an output reaches");
    refused(far_net_place_found(plan, 0, &met, &raw, &below), FAR_ERR_BACKEND,
            "the negative of an output reaches");
    plan->layers[2].shift[0] += 1e-6;
    refused(far_net_found(plan, 0, &x, false, (far_range){-9, 9}, &value), FAR_ERR_BACKEND,
            "please report it");
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

static void a_bad_library_proves_nothing(void **state)
{
    (void)state;
    must(far_library_check(ctx));
    must(far_library_hold(ctx, "exp", 0, 1 + 0x1p-49, 1));
    refused(far_library_hold(ctx, "exp", 0, 1 + 0x1p-46, 1), FAR_ERR_BACKEND,
            "the C library's exp is not good enough");
    refused(far_library_hold(ctx, "exp", 0, NAN, 1), FAR_ERR_BACKEND, "not 1; use another");
}

static void found_above_a_bound_is_an_internal_error(void **state)
{
    (void)state;
    must(far_proof_consistent(ctx, "y", 1, 1));
    must(far_proof_consistent(ctx, "y", NAN, 1));
    must(far_proof_consistent(ctx, "y", 1e300, INFINITY));
    refused(far_proof_consistent(ctx, "y", 1.5, 1), FAR_ERR_BACKEND,
            "internal error, nothing of this certificate can be trusted; please report it");
}

/* ---- running away -------------------------------------------------------------------------- */

static double value_at(const far_net *net, const double *direction, double t, int64_t output)
{
    double x[9], f[3];
    far_mat in = far_mat_view(x, 1, net->info.inputs, FAR_F64);
    far_mat out = far_mat_view(f, 1, net->info.outputs, FAR_F64);
    for (int64_t i = 0; i < net->info.inputs; i++) {
        x[i] = t * direction[i];
    }
    must(far_net_eval_raw(ctx, net, &in, &out));
    return f[output];
}

static const char *const RUNAWAYS[] = {
    "dense(17) relu dense(13) relu dense(2)",
    "dense(17) batchnorm(affine) leaky_relu(0.1) dense(13) gelu dense(1)",
    "dense(17) silu skip(ln dense(17)) dense(1)",
    "dense(17) relu(1.5) dense(13) relu dense(1)",
};

static void assert_runs_away(const far_net *net, const far_bound *b, int64_t j)
{
    double far_out = value_at(net, b->direction, 1e6, j), square = 0;
    assert_int_equal(b->verdict, FAR_UNBOUNDED);
    assert_true(fabs(far_out / (b->slope * pow(1e6, b->order)) - 1) < 0.01);
    assert_true(fabs(b->confirmed - 1) < 0.01);
    assert_true(b->tightest == INFINITY && isnan(b->sup_found));
    for (int64_t i = 0; i < net->info.inputs; i++) {
        square += b->direction[i] * b->direction[i];
    }
    assert_true(fabs(square - 1) < 1e-12);
    if (b->order == 1) {
        double next = value_at(net, b->direction, 2e6, j);
        assert_true(fabs(next - far_out - 1e6 * b->slope) < 1e-6 * fabs(far_out));
        assert_true(fabs(far_out - 1e6 * b->slope - b->intercept) < 1e-9 * fabs(far_out));
        assert_true(fabs(far_out) <= b->growth * 1e6 + b->offset);
    }
}

/* Beyond it nothing is at the level or below; a little before, something is. */
static void assert_beyond(const far_net *net, const far_bound *b, int64_t j)
{
    for (int i = 0; i < 4000; i++) {
        double t = b->beyond * pow(10, i / 400.0) * (1 + 1e-9);
        assert_true(fabs(value_at(net, b->direction, t, j)) > b->level);
    }
    assert_true(fabs(value_at(net, b->direction, b->beyond * (1 - 1e-6), j)) <= b->level);
}

static void networks_without_a_norm_run_away(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(RUNAWAYS); k++) {
        for (int64_t d = 1; d <= 9; d += 4) {
            far_net *net = network(RUNAWAYS[k], d, (uint64_t)k, 1);
            if (d > 1) {
                scale(net);
            }
            far_certify_opts o;
            far_certificate *c;
            far_certify_opts_init(&o);
            o.exceeds = 300;
            must(far_net_certify(ctx, net, &o, &c));
            for (int64_t j = 0; j < net->info.outputs; j++) {
                const far_bound *b = far_certificate_bound(c, j);
                assert_runs_away(net, b, j);
                assert_beyond(net, b, j);
                assert_int_equal(strstr(b->theorem, "batch norm") != NULL,
                                 strstr(RUNAWAYS[k], "batchnorm") != NULL);
            }
            far_certificate_destroy(c);
            far_net_destroy(net);
        }
    }
}

static void the_steepest_direction_is_found(void **state)
{
    (void)state;
    far_net *net = network("dense(1)", 5, 3, 1); /* its slope is the length of its weights */
    far_certificate *c = certify(net, 1);
    const far_bound *b = far_certificate_bound(c, 0);
    double square = 0;
    for (int i = 0; i < 5; i++) {
        square += net->params[i] * net->params[i];
    }
    assert_true(fabs(fabs(b->slope) - sqrt(square)) < 1e-9);
    assert_true(fabs(b->intercept - net->params[5]) < 1e-9);
    assert_true(isnan(b->beyond) && isnan(b->level));
    far_certificate_destroy(c);
    far_net_destroy(net);
}

/* Reasons are read from the network: what they name is there, and what they deny is not. */
static void reasons_are_those_of_the_network(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *says, *never;
    } CASES[] = {
        {"dense(5) tanh ln dense(1)", "passes through layer 1 (tanh)", "ln"},
        {"dense(5) ln relu skip(tanh dense(5)) dense(1)", "passes through layer 1 (ln)", "tanh"},
        {"dense(5) skip(dense(3) ln relu dense(5)) erf dense(1)", "passes through layer 2 (erf)",
         "ln"},
        {"rms dense(4) dense(1)",
         "passes through layer 0 (rms): whatever goes in, what comes out lies in "
         "a ball",
         "box"},
        {"dense(5) relu dense(1)",
         "the way dense, relu, dense passes no layer norm, no rms norm "
         "and no bounded activation",
         "gelu"},
        {"dense(5) gelu dense(1)", "with relu in place of gelu and silu", "homogeneous"},
        {"dense(5) skip(ln relu dense(5)) dense(1)", "the way dense, around a skip, dense passes",
         "gelu"},
        {"dense(5) skip(ln relu dense(5)) dense(1)", "without what is bounded or grows more slowly",
         "homogeneous"},
        {"dense(5) skip(relu(2) dense(5)) dense(1)", "the way dense, relu, dense, dense passes",
         "around"},
        {"dense(5) skip(ln dense(3) | relu dense(3)) dense(1)",
         "the way dense, relu, dense, dense passes", "ln dense"},
        {"dense(5) skip(relu dense(3) | ln dense(3)) dense(1)",
         "the way dense, relu, dense, dense passes", "around"},
        {"dense(5) skip(relu ln dense(3) | tanh dense(3)) dense(1)",
         "both ways through layer 1 (skip) pass a norm or a bounded activation", "1.shortcut"},
        {"dense(5) skip(relu dense(3) | dense(3)) ln dense(1)", "passes through layer 2 (ln)",
         "both"},
        {"dense(5) batchnorm relu dense(1)", "batch norm at evaluation is a fixed affine map",
         "gelu"},
    };
    for (int k = 0; k < COUNT(CASES); k++) {
        far_net *net = network(CASES[k].arch, 2, 1, 1);
        far_certificate *c = certify(net, 0);
        const char *theorem = far_certificate_bound(c, 0)->theorem;
        if (!strstr(theorem, CASES[k].says) || strstr(theorem, CASES[k].never)) {
            fail_msg("%s: \"%s\"", CASES[k].arch, theorem);
        }
        far_certificate_destroy(c);
        far_net_destroy(net);
    }
}

static void what_stands_still_without_a_norm_is_undecided(void **state)
{
    (void)state;
    far_net *net = network("dense(7) relu dense(2)", 3, 1, 1);
    for (int i = 0; i < 7; i++) { /* the last weights of output 1 */
        net->params[net->steps[2].weight + i] = 0;
    }
    far_certificate *c = certify(net, 1);
    const far_bound *still = far_certificate_bound(c, 0);
    char *text;
    assert_int_equal(still->verdict, FAR_UNDECIDED);
    assert_non_null(strstr(still->theorem, "no direction was proven"));
    assert_null(still->direction);
    assert_true(isfinite(still->growth) && isfinite(still->offset));
    assert_int_equal(far_certificate_bound(c, 1)->verdict, FAR_UNBOUNDED);
    assert_int_equal(far_certificate_describe(c).verdict, FAR_UNBOUNDED);
    must(far_certificate_json(ctx, c, &text));
    must(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS));
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

/* ---- the text and its check ---------------------------------------------------------------- */

/* The text with the value of a key (in its first place from `after` on) replaced. */
static char *tampered(const char *text, const char *after, const char *key, const char *value)
{
    char quoted[64];
    char *out = malloc(strlen(text) + strlen(value) + 64);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text, after);
    assert_non_null(at);
    at = strstr(at, quoted);
    assert_non_null(at);
    const char *from = at + strlen(quoted), *to = from + strcspn(from, ",\n");
    sprintf(out, "%.*s%s%s", (int)(from - text), text, value, to);
    return out;
}

/* The same in both places where the single output is stated. */
static char *tampered_twice(const char *text, const char *key, const char *value)
{
    char *once = tampered(text, "{", key, value);
    char *twice = tampered(once, "\"outputs\"", key, value);
    free(once);
    return twice;
}

static void refuse(const far_net *net, char *text, far_status expected, const char *words)
{
    refused(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS), expected, words);
    free(text);
}

static char *certificate_text(const far_net *net)
{
    char *text;
    far_certify_opts o;
    far_certificate *c;
    far_certify_opts_init(&o);
    o.exceeds = 1000;
    must(far_net_certify(ctx, net, &o, &c));
    must(far_certificate_json(ctx, c, &text));
    far_certificate_destroy(c);
    return text;
}

static char *scaled_text(const char *text, const char *key, double factor)
{
    char quoted[64], value[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text, quoted);
    assert_non_null(at);
    snprintf(value, sizeof value, "%.17g", factor * atof(at + strlen(quoted)));
    return tampered_twice(text, key, value);
}

static void tampered_bounds_are_refused(void **state)
{
    (void)state;
    far_net *net = network(TOYS[0], 1, 4, 1);
    char *text = certificate_text(net);
    must(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS));
    refuse(net, scaled_text(text, "tightest", 0.99), FAR_ERR_VALUE, "tightest");
    refuse(net, scaled_text(text, "bound", 0.01), FAR_ERR_VALUE, "bound"); /* of the first method */
    refuse(net, scaled_text(text, "sup_found", 1.001), FAR_ERR_VALUE, "sup_found");
    refuse(net, scaled_text(text, "ratio", 1.001), FAR_ERR_VALUE, "ratio");
    refuse(net, tampered_twice(text, "lowest", "1e9"), FAR_ERR_VALUE, "tightest");
    refuse(net, tampered_twice(text, "lowest", "0.0123"), FAR_ERR_VALUE, "est");
    refuse(net, tampered_twice(text, "verdict", "\"unbounded\""), FAR_ERR_VALUE, "verdict");
    refuse(net, tampered(text, "{", "tightest", "1e9"), FAR_ERR_VALUE, "on top");
    refuse(net, tampered_twice(text, "at_infinity", "3"), FAR_ERR_FORMAT, "at_infinity");
    refuse(net, tampered_twice(text, "highest", "null"), FAR_ERR_FORMAT, "highest");
    refuse(net, tampered_twice(text, "output", "\"other\""), FAR_ERR_VALUE, "output");
    refuse(net, tampered_twice(text, "at", "null, \"rest\": ["), FAR_ERR_VALUE, "sup_found");
    far_text_free(ctx, text);
    far_net_destroy(net);
}

/* An interval cut inside what f takes is refuted, one cut closer than can be proven is not proven,
 * a wider one holds. */
static void ranges_are_proven_anew(void **state)
{
    (void)state;
    far_net *net = network(TOYS[1], 1, 2, 1);
    far_certificate *c = certify(net, 20);
    const far_bound *b = far_certificate_bound(c, 0);
    char *text, value[64], *other;
    must(far_certificate_json(ctx, c, &text));
    bool low_side = fabs(b->lowest) < fabs(b->highest); /* tightest is at the other end */
    double end = low_side ? b->lowest : b->highest, width = b->highest - b->lowest;
    const char *key = low_side ? "lowest" : "highest";
    snprintf(value, sizeof value, "%.17g", end + (low_side ? 0.3 : -0.3) * width);
    refuse(net, tampered_twice(text, key, value), FAR_ERR_VALUE, key);
    snprintf(value, sizeof value, "%.17g", end - (low_side ? 1e-3 : -1e-3) * width);
    other = tampered_twice(text, key, value);
    must(far_net_certificate_check(ctx, net, other, FAR_PROOF_CHECK_SECONDS));
    free(other);
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

static void tampered_witnesses_are_refused(void **state)
{
    (void)state;
    far_net *net = network("dense(17) relu dense(1)", 1, 4, 1);
    char *text = certificate_text(net);
    must(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS));
    refuse(net, scaled_text(text, "slope", 1.001), FAR_ERR_VALUE, "slope");
    refuse(net, scaled_text(text, "order", 2), FAR_ERR_VALUE, "order");
    refuse(net, scaled_text(text, "intercept", 1.001), FAR_ERR_VALUE, "intercept");
    refuse(net, scaled_text(text, "beyond", 0.99), FAR_ERR_VALUE, "beyond");
    refuse(net, scaled_text(text, "growth", 0.9), FAR_ERR_VALUE, "growth");
    refuse(net, scaled_text(text, "offset", 0.9), FAR_ERR_VALUE, "offset");
    refuse(net, tampered_twice(text, "verdict", "\"bounded\""), FAR_ERR_VALUE, "verdict");
    refuse(net, tampered_twice(text, "direction", "7, \"rest\": ["), FAR_ERR_FORMAT, "inputs");
    char *wider = scaled_text(text, "beyond", 1.5);
    must(far_net_certificate_check(ctx, net, wider, FAR_PROOF_CHECK_SECONDS));
    free(wider);
    far_text_free(ctx, text);
    far_net_destroy(net);
}

static void certificates_of_other_networks_are_refused(void **state)
{
    (void)state;
    far_net *net = network(TOYS[0], 1, 4, 1), *other = network(TOYS[0], 1, 5, 1);
    far_net *wide = network("dense(37) ln relu dense(31) relu dense(2)", 1, 4, 1);
    char *text = certificate_text(net), *bad;
    refused(far_net_certificate_check(ctx, other, text, FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "other weights");
    refused(far_net_certificate_check(ctx, wide, text, FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "another architecture");
    net->columns->scaling[1] = 2;
    refused(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "other weights");
    net->columns->scaling[1] = 1;
    refused(far_net_certificate_check(ctx, net, "[1", FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "no JSON");
    refused(far_net_certificate_check(ctx, net, "{}", FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "its format is not");
    bad = tampered(text, "{", "version", "4");
    refuse(net, bad, FAR_ERR_FORMAT, "newer farfield");
    refuse(net, tampered(text, "{", "version", "1"), FAR_ERR_FORMAT, "make it anew");
    refuse(net, tampered(text, "{", "version", "\"x\""), FAR_ERR_FORMAT, "version");
    refuse(net, tampered(text, "{", "outputs", "[], \"rest\": ["), FAR_ERR_FORMAT,
           "number of outputs");
    far_text_free(ctx, text);
    far_net_destroy(net);
    far_net_destroy(other);
    far_net_destroy(wide);
}

static void certificates_of_another_form_are_refused(void **state)
{
    (void)state;
    far_net *net = network("dense(17) relu dense(1)", 1, 4, 1);
    char *text = certificate_text(net);
    refused(far_net_certificate_check(ctx, net, "[]", FAR_PROOF_CHECK_SECONDS), FAR_ERR_FORMAT,
            "it is no object");
    refuse(net, tampered(text, "{", "outputs", "[7], \"rest\": ["), FAR_ERR_FORMAT,
           "an output is no object");
    refuse(net, tampered_twice(text, "level", "-1"), FAR_ERR_FORMAT, "a level is finite and 0");
    refuse(net, tampered_twice(text, "level", "1e999"), FAR_ERR_FORMAT, "");
    refuse(net, tampered_twice(text, "direction", "[\"x\"], \"rest\": ["), FAR_ERR_FORMAT,
           "something that is no number");
    refuse(net, tampered_twice(text, "direction", "[0.5], \"rest\": ["), FAR_ERR_FORMAT,
           "not of norm 1");
    far_text_free(ctx, text);
    far_net_destroy(net);
}

/* Numbers are rounded outward from the nearest: under another rule of rounding nothing is proven.
 */
static void another_rounding_proves_nothing(void **state)
{
    (void)state;
    far_net *net = network(TOYS[0], 1, 1, 1);
    far_certificate *c;
    far_certify_opts o;
    far_certify_opts_init(&o);
    fesetround(FE_UPWARD);
    far_status st = far_net_certify(ctx, net, &o, &c);
    fesetround(FE_TONEAREST);
    refused(st, FAR_ERR_ARG, "round");
    assert_null(c);
    far_net_destroy(net);
}

static far_status check_net(const void *net, const char *text)
{
    return far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS);
}

static void certificates_survive_jansson_without_memory(void **state)
{
    (void)state;
    far_net *net = network("dense(17) relu dense(2)", 1, 4, 1);
    far_certificate *c = certify(net, 20);
    survives_json_without_memory(c, check_net, net);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

static void many_outputs_are_certified_each(void **state)
{
    (void)state;
    far_net *net = network("dense(17) ln relu dense(3)", 2, 6, 1);
    scale(net);
    far_certificate *c = certify(net, 20);
    char *text;
    assert_null(far_certificate_bound(c, 3));
    assert_null(far_certificate_bound(c, -1));
    assert_bounds(net, c, 5000);
    for (int j = 0; j < 3; j++) {
        const far_bound *b = far_certificate_bound(c, j);
        assert_true(b->tightest <= 1.011 * b->sup_found);
    }
    must(far_certificate_json(ctx, c, &text));
    must(far_net_certificate_check(ctx, net, text, FAR_PROOF_CHECK_SECONDS));
    assert_non_null(strstr(text, "\"output\": \"y3\""));
    assert_non_null(strstr(text, "\"rounding\": \"outward\""));
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_net_destroy(net);
}

/* ---- arguments and memory ------------------------------------------------------------------ */

static void arguments_are_checked(void **state)
{
    (void)state;
    far_net *net = network(TOYS[0], 1, 1, 1);
    far_certificate *c;
    far_certify_opts o, none = {0};
    char *text;
    far_certify_opts_init(&o);
    refused(far_net_certify(ctx, net, &o, NULL), FAR_ERR_ARG, "out is NULL");
    refused(far_net_certify(ctx, NULL, &o, &c), FAR_ERR_ARG, "the network or out is NULL");
    refused(far_net_certify(ctx, net, NULL, &c), FAR_ERR_ARG, "opts");
    refused(far_net_certify(ctx, net, &none, &c), FAR_ERR_ARG, "opts");
    double *fields[] = {&o.gap, &o.seconds, &o.exceeds, &o.exceeds};
    const double bad[] = {0, -1, -1, INFINITY};
    for (int i = 0; i < COUNT(bad); i++) {
        far_certify_opts_init(&o);
        *fields[i] = bad[i];
        refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_ARG, "above 0");
        assert_null(c);
    }
    far_certify_opts_init(&o);
    o.starts = 0;
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_ARG, "above 0");
    far_certify_opts_init(&o);
    net->params[5] = NAN;
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_VALUE, "parameter 6");
    net->params[5] = 0;
    must(far_net_linearize(ctx, net));
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_ARCH, "linearised");
    refused(far_certificate_json(ctx, NULL, &text), FAR_ERR_ARG, "NULL");
    far_certificate_destroy(NULL);
    far_net_destroy(net);
    net = network("dense(3) ln relu dense(3) relu(3) dense(1)", 1, 1, 1e120);
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_VALUE, "too large");
    far_net_destroy(net);
    net = network("dense(3) batchnorm relu dense(1)", 1, 1, 1);
    net->statistics[4] = 0;
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_VALUE, "divides by nothing");
    net->statistics[4] = INFINITY;
    refused(far_net_certify(ctx, net, &o, &c), FAR_ERR_VALUE, "statistic 5");
    far_net_destroy(net);
}

/* Fails the first, second, ... allocation of the whole life of a certificate. */
static void certify_and_check(const far_net *net, far_status *st, char **text)
{
    far_certify_opts o;
    far_certificate *c = NULL;
    far_certify_opts_init(&o);
    o.starts = 2;
    o.gap = 0.5;
    *text = NULL;
    *st = far_net_certify(ctx, net, &o, &c);
    *st = *st == FAR_OK ? far_certificate_json(ctx, c, text) : *st;
    *st = *st == FAR_OK ? far_net_certificate_check(ctx, net, *text, FAR_PROOF_CHECK_SECONDS) : *st;
    far_certificate_destroy(c);
    far_text_free(ctx, *text);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const NETS[] = {"dense(5) ln relu dense(3) relu dense(1)",
                                       "dense(5) relu skip(dense(5)) dense(1)",
                                       "dense(3) ln(affine) batchnorm(affine) tanh dense(1)"};
    for (int k = 0; k < COUNT(NETS); k++) {
        far_net *net = network(NETS[k], 1, 1, 1);
        far_status st = FAR_ERR_MEMORY;
        char *text;
        int64_t live = test_heap.live_blocks, failed = 0;
        for (; st == FAR_ERR_MEMORY; failed++) {
            test_heap.calls = 0;
            test_heap.fail_at = failed;
            certify_and_check(net, &st, &text);
            test_heap.fail_at = -1;
            assert_int_equal(test_heap.live_blocks, live);
        }
        must(st);
        assert_true(failed > 50);
        far_net_destroy(net);
    }
}

static int refuse_to_go_on(void *user, const char *what, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    return strcmp(what, user) == 0;
}

static void progress_can_cancel(void **state)
{
    (void)state;
    static char *const STAGES[] = {"search", "bound"};
    far_net *net = network(TOYS[0], 1, 1, 1);
    for (int i = 0; i < COUNT(STAGES); i++) {
        far_ctx_opts opts;
        far_ctx *other;
        far_certify_opts o;
        far_certificate *c;
        opts = (far_ctx_opts){.size = sizeof opts};
        opts.progress = refuse_to_go_on;
        opts.progress_user = STAGES[i];
        must(far_ctx_create(&opts, &other));
        far_certify_opts_init(&o);
        assert_int_equal(far_net_certify(other, net, &o, &c), FAR_ERR_CANCELLED);
        assert_null(c);
        far_ctx_destroy(other);
    }
    far_net_destroy(net);
}

/* ---- the pieces ---------------------------------------------------------------------------- */

static const far_step ACTIVATIONS[] = {
    {.layer = FAR_LAYER_RELU, .power = 1, .gain = 1},
    {.layer = FAR_LAYER_RELU, .power = 1, .gain = 1.5},
    {.layer = FAR_LAYER_RELU, .power = 2.5, .gain = 1},
    {.layer = FAR_LAYER_RELU, .power = 0.6, .gain = 1},
    {.layer = FAR_LAYER_LEAKY_RELU, .slope = 0.2, .gain = 1},
    {.layer = FAR_LAYER_LEAKY_RELU, .slope = -2, .gain = -1.3},
    {.layer = FAR_LAYER_ABS, .gain = 1},
    {.layer = FAR_LAYER_IDENTITY, .gain = 2},
    {.layer = FAR_LAYER_ERF, .gain = 1},
    {.layer = FAR_LAYER_GELU, .gain = 1},
    {.layer = FAR_LAYER_GELU, .gain = -0.7},
    {.layer = FAR_LAYER_SILU, .gain = 1},
    {.layer = FAR_LAYER_TANH, .gain = 1.7},
    {.layer = FAR_LAYER_SIN, .w0 = 1, .gain = 1},
    {.layer = FAR_LAYER_SIN, .w0 = 3.7, .gain = -0.9},
    {.layer = FAR_LAYER_RELU, .power = 1, .gain = 0},
    {.layer = FAR_LAYER_RELU, .power = 1, .gain = -2},
    {.layer = FAR_LAYER_LEAKY_RELU, .slope = 0, .gain = 1},
    {.layer = FAR_LAYER_SIGMOID, .gain = 1.5},
    {.layer = FAR_LAYER_ELU, .slope = 1, .gain = 1},
    {.layer = FAR_LAYER_ELU, .slope = 2.5, .gain = 1},
    {.layer = FAR_LAYER_ELU, .slope = 0.2, .gain = 0.7},
    {.layer = FAR_LAYER_SOFTPLUS, .gain = 1},
    {.layer = FAR_LAYER_MISH, .gain = 1.2},
    {.layer = FAR_LAYER_GELU_TANH, .gain = 1},
};

static far_range random_range(uint64_t k)
{
    double size = pow(10, 4 * far_random_uniform(1, k) - 2);
    double middle = size * far_random_normal(2, k);
    double half = pow(10, -6 * far_random_uniform(3, k)) * size;
    return (far_range){middle - half, middle + half};
}

/* Strips, ranges and lines hold the activation at every point of the interval that is tried, and
 * shrink with the square of its width where it is smooth. */
static void strips_hold_activations(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(ACTIVATIONS); k++) {
        const far_step *s = &ACTIVATIONS[k];
        for (uint64_t i = 0; i < 3000; i++) {
            far_range z = random_range(i);
            far_strip strip = far_activation_strip(s, z);
            far_range r = far_activation_range(s, z);
            far_line below, above;
            far_activation_lines(s, z, &below, &above);
            for (int j = 0; j <= 20; j++) {
                double at = fmin(z.low + (z.high - z.low) * j / 20, z.high);
                double y = s->gain * far_activation_value(s, at);
                double size = fabs(y) + fabs(strip.slope * at) + fabs(above.slope * at);
                double slack = 4e-15 * (size + fabs(above.at_zero) + fabs(below.slope * at));
                assert_true(y >= strip.slope * at + strip.low - slack);
                assert_true(y <= strip.slope * at + strip.high + slack);
                assert_true(y >= r.low - slack && y <= r.high + slack);
                assert_true(y >= below.slope * at + below.at_zero - slack);
                assert_true(y <= above.slope * at + above.at_zero + slack);
            }
        }
        far_range narrow = {0.7, 0.7001};
        far_strip strip = far_activation_strip(s, narrow);
        assert_true(strip.high - strip.low < 1e-7);
    }
}

static void strips_know_infinite_intervals(void **state)
{
    (void)state;
    const far_range all = {-INFINITY, INFINITY}, right = {2, INFINITY}, left = {-INFINITY, -2};
    far_range r = far_activation_range(&ACTIVATIONS[12], all);
    assert_true(r.low <= -1.7 && r.low > -1.71 && r.high >= 1.7 && r.high < 1.71);
    r = far_activation_range(&ACTIVATIONS[9], all);
    assert_true(r.low <= -0.1699 && r.low > -0.17 && r.high == INFINITY);
    r = far_activation_range(&ACTIVATIONS[0], left);
    assert_true(fabs(r.low) < 1e-300 && fabs(r.high) < 1e-300);
    far_strip strip = far_activation_strip(&ACTIVATIONS[0], right);
    assert_true(strip.slope == 1 && strip.low == 0 && strip.high == 0);
    r = far_activation_range(&ACTIVATIONS[6], all);
    assert_true(r.low <= 0 && r.high == INFINITY);
}

static void spectral_norms_are_close_and_never_too_small(void **state)
{
    (void)state;
    static const int64_t SHAPES[][2] = {{7, 7}, {31, 13}, {5, 41}, {1, 3}, {2, 1}};
    for (int k = 0; k < COUNT(SHAPES); k++) {
        int64_t m = SHAPES[k][0], n = SHAPES[k][1];
        double a[31 * 41], v[41], w[41], norm, length = 0;
        for (int64_t i = 0; i < m * n; i++) {
            a[i] = far_random_normal((uint64_t)k, (uint64_t)i) * 1e-3;
        }
        for (int64_t j = 0; j < n; j++) {
            v[j] = far_random_normal(9, (uint64_t)j);
        }
        for (int turn = 0; turn < 3000; turn++) { /* power iteration, from below */
            double square = 0;
            memset(w, 0, sizeof w);
            for (int64_t i = 0; i < m; i++) {
                double dot = 0;
                for (int64_t j = 0; j < n; j++) {
                    dot += a[i * n + j] * v[j];
                }
                for (int64_t j = 0; j < n; j++) {
                    w[j] += dot * a[i * n + j];
                }
            }
            for (int64_t j = 0; j < n; j++) {
                square += w[j] * w[j];
            }
            length = sqrt(sqrt(square));
            for (int64_t j = 0; j < n; j++) {
                v[j] = w[j] / sqrt(square);
            }
        }
        must(far_spectral_norm(ctx, a, m, n, &norm));
        assert_true(norm >= length * (1 - 1e-12) && norm <= length * 1.005);
    }
    double zero[6] = {0}, norm;
    must(far_spectral_norm(ctx, zero, 2, 3, &norm));
    assert_true(norm >= 0 && norm < 1e-100);
}

/* Exact: over the ball of relu of centred z, max over sets S of sqrt(m |w_S|^2 - (sum w_S)^2),
 * which the best w in order attain. */
static double relu_ball_maximum(double *w, int64_t m)
{
    double square = 0, sum = 0, best = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = i + 1; j < m; j++) {
            double kept = w[i];
            w[i] = fmax(w[i], w[j]);
            w[j] = w[i] == kept ? w[j] : kept;
        }
        if (w[i] <= 0) {
            break;
        }
        square += w[i] * w[i];
        sum += w[i];
        best = fmax(best, sqrt((double)m * square - sum * sum));
    }
    return best;
}

static void maxima_over_the_ball_are_nearly_exact(void **state)
{
    (void)state;
    far_net *net = network("dense(29) relu dense(29) ln relu dense(1)", 1, 1, 1);
    far_net_plan *plan;
    must(far_net_plan_create(ctx, net, &plan));
    const far_proof_layer *norm = &plan->layers[3];
    for (uint64_t k = 0; k < 50; k++) {
        double w[29];
        for (uint64_t i = 0; i < 29; i++) {
            w[i] = far_random_normal(k, i) + (k % 3 ? 0 : 1);
        }
        double bound = far_norm_set_active_max(norm, plan->layers[4].step, w);
        double linear = far_norm_set_max(&norm->set, w), mean = 0, square = 0;
        for (int i = 0; i < 29; i++) {
            mean += w[i] / 29;
        }
        for (int i = 0; i < 29; i++) {
            square += (w[i] - mean) * (w[i] - mean);
        }
        assert_true(fabs(linear / sqrt(29 * square) - 1) < 1e-12);
        double exact = relu_ball_maximum(w, 29);
        assert_true(bound >= exact * (1 - 1e-12) && bound <= exact * 1.01);
    }
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

/* Of weights 0.05, -1, -1 only the first counts, and one neuron over a ball has an exact maximum.
 */
static void rows_over_active_neurons_count_all_that_help(void **state)
{
    (void)state;
    far_net *net = network("dense(7) ln relu dense(3) relu dense(1)", 2, 1, 1);
    const far_step *second = &net->steps[3], *last = &net->steps[5];
    const double weights[] = {0.05, -1, -1};
    memcpy(net->params + last->weight, weights, sizeof weights);
    net->params[second->bias] = 0.7;
    far_net_plan *plan;
    must(far_net_plan_create(ctx, net, &plan));
    must(far_net_boxes(plan, true));
    plan->layers[5].box[0] = (far_range){-INFINITY, INFINITY};
    must(far_active_rows(plan, 5));
    double square = 0;
    for (int i = 0; i < 7; i++) {
        square += net->params[second->weight + i] * net->params[second->weight + i];
    }
    double most = net->params[last->bias] + 0.05 * (sqrt(6 * square) + 0.7);
    double high = plan->layers[5].box[0].high;
    assert_true(high >= most * (1 - 1e-12) && high <= most * 1.01);
    assert_true(plan->layers[5].box[0].low < 0);
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

/* On a small cell the way back through a norm is its derivative. */
static void norms_go_back_as_they_differentiate(void **state)
{
    (void)state;
    far_net *net = network("dense(11) ln(affine, eps=0.1) dense(1)", 1, 2, 1);
    far_net_plan *plan;
    far_cell *cell;
    double back[11], z[11], up[11];
    must(far_net_plan_create(ctx, net, &plan));
    must(far_net_boxes(plan, true));
    must(far_cell_create(plan, 1, &cell));
    const far_proof_layer *norm = &plan->layers[1];
    far_form u = {.c = 0.4, .a = {1e-9}}, s = {.c = 1};
    far_cell_run(cell, &u, &s);
    for (int i = 0; i < 11; i++) {
        back[i] = up[i] = far_random_normal(5, (uint64_t)i);
        z[i] = plan->layers[0].rows[i] * plan->unit * 0.4 + plan->layers[0].shift[i];
    }
    far_cell_norm_back(cell, 1, back);
    for (int i = 0; i < 11; i++) {
        double sides[2] = {0, 0}, h = 1e-5;
        for (int side = 0; side < 2; side++) {
            double mean = 0, square = 0, kept = z[i];
            z[i] += side ? h : -h;
            for (int j = 0; j < 11; j++) {
                mean += z[j] / 11;
            }
            for (int j = 0; j < 11; j++) {
                square += (z[j] - mean) * (z[j] - mean) / 11;
            }
            for (int j = 0; j < 11; j++) {
                sides[side] += up[j] * norm->scale[j] * (z[j] - mean) / sqrt(square + 0.1);
            }
            z[i] = kept;
        }
        assert_true(fabs((sides[1] - sides[0]) / (2 * h) - back[i]) < 1e-6);
    }
    far_cell_destroy(cell);
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

/* Random pieces of space, infinity included: what the network takes at random points of a piece
 * lies in its form; halving the piece quarters the error at last. */
static void cells_hold_what_the_network_takes(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(KINDS); k++) {
        far_net *net = network(KINDS[k], 2, (uint64_t)k, 1);
        far_net_plan *plan;
        far_cell *cell;
        far_net_point *point;
        must(far_net_plan_create(ctx, net, &plan));
        must(far_net_boxes(plan, true));
        must(far_cell_create(plan, 2, &cell));
        must(far_net_point_create(plan, &point));
        for (uint64_t i = 0; i < 200; i++) {
            double half = pow(2, -1 - (double)(i % 20));
            far_form u[2] = {{.c = far_random_normal(1, i), .a = {half, 0.3 * half}},
                             {.c = far_random_normal(2, i), .a = {0, half}}};
            far_form s = {.c = 1, .a = {0}};
            if (i % 3 == 1) { /* next to infinity */
                s = (far_form){.c = half, .a = {half}};
            } else if (i % 3 == 2) {
                s = (far_form){.c = 0.3 + half, .a = {0.1 * half, half}};
            }
            const far_form *out = far_cell_run(cell, u, &s);
            for (uint64_t j = 0; j < 20; j++) {
                double t[2] = {2 * far_random_uniform(3, i * 20 + j) - 1,
                               2 * far_random_uniform(4, i * 20 + j) - 1};
                double x[2] = {u[0].c + u[0].a[0] * t[0] + u[0].a[1] * t[1],
                               u[1].c + u[1].a[1] * t[1]};
                double at = s.c + s.a[0] * t[0] + s.a[1] * t[1];
                if (strncmp(KINDS[k], "dense(13) sin", 13) == 0 && at < 1e-9) {
                    continue;
                }
                const double *f = far_net_point_value(point, x, at);
                for (int64_t o = 0; o < net->info.outputs; o++) {
                    double line = out[o].c + out[o].a[0] * t[0] + out[o].a[1] * t[1];
                    if (!(fabs(f[o] - line) <= out[o].r * (1 + 1e-9) + 1e-12 * (1 + fabs(line)))) {
                        fail_msg("%s: %.17g is not %.17g +- %g", KINDS[k], f[o], line, out[o].r);
                    }
                }
            }
        }
        far_net_point_destroy(point);
        far_cell_destroy(cell);
        far_net_plan_destroy(plan);
        far_net_destroy(net);
    }
}

static void errors_of_cells_fall_with_the_square(void **state)
{
    (void)state;
    far_net *net = network("dense(13) gelu dense(11) ln gelu dense(1)", 1, 3, 1);
    far_net_plan *plan;
    far_cell *cell;
    double before = 0;
    must(far_net_plan_create(ctx, net, &plan));
    must(far_net_boxes(plan, true));
    must(far_cell_create(plan, 1, &cell));
    for (int k = 4; k < 16; k++) {
        far_form u = {.c = 0.4, .a = {pow(2, -k)}}, s = {.c = 1};
        double r = far_cell_run(cell, &u, &s)[0].r;
        assert_true(k < 8 || r < before / 3.5);
        before = r;
    }
    far_cell_destroy(cell);
    far_net_plan_destroy(plan);
    far_net_destroy(net);
}

/* Homogeneous coordinates agree with plain evaluation, and gradients with differences. */
static void points_and_gradients_agree(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(KINDS); k++) {
        far_net *net = network(KINDS[k], 3, (uint64_t)k, 1);
        far_net_plan *plan;
        far_net_point *point;
        must(far_net_plan_create(ctx, net, &plan));
        must(far_net_point_create(plan, &point));
        for (uint64_t i = 0; i < 20; i++) {
            double u[3], x[3], f[3], g[4], s = 0.2 + far_random_uniform(8, i), h = 1e-6;
            for (uint64_t j = 0; j < 3; j++) {
                u[j] = far_random_normal(7, 3 * i + j);
                x[j] = plan->unit * u[j] / s;
            }
            far_mat in = far_mat_view(x, 1, 3, FAR_F64);
            far_mat out = far_mat_view(f, 1, net->info.outputs, FAR_F64);
            must(far_net_eval_raw(ctx, net, &in, &out));
            double value = far_net_point_value(point, u, s)[0];
            assert_true(fabs(value - f[0]) < 1e-9 * (1 + fabs(f[0])));
            far_net_point_gradient(point, 0, g);
            for (int j = 0; j < 4; j++) {
                double up[3] = {u[0], u[1], u[2]}, down[3] = {u[0], u[1], u[2]}, size = 0;
                if (j < 3) {
                    up[j] += h;
                    down[j] -= h;
                }
                double a = far_net_point_value(point, up, s + (j == 3 ? h : 0))[0];
                double b = far_net_point_value(point, down, s - (j == 3 ? h : 0))[0];
                for (int p = 0; p < 4; p++) {
                    size += fabs(g[p]);
                }
                assert_true(fabs((a - b) / (2 * h) - g[j]) < 2e-3 * (size + 1e-3));
            }
        }
        far_net_point_destroy(point);
        far_net_plan_destroy(plan);
        far_net_destroy(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(strips_hold_activations),
        TEST(strips_know_infinite_intervals),
        TEST(spectral_norms_are_close_and_never_too_small),
        TEST(maxima_over_the_ball_are_nearly_exact),
        TEST(rows_over_active_neurons_count_all_that_help),
        TEST(norms_go_back_as_they_differentiate),
        TEST(points_and_gradients_agree),
        TEST(cells_hold_what_the_network_takes),
        TEST(errors_of_cells_fall_with_the_square),
        TEST(toy_networks_are_bounded_within_two_percent),
        TEST(every_kind_of_layer_keeps_its_bound),
        TEST(one_input_is_resolved_for_every_kind),
        TEST(exact_zeros_are_in_the_bound),
        TEST(tiny_weights_have_bounds_of_their_size),
        TEST(weights_that_underflow_are_refused),
        TEST(enclosures_of_points_hold_their_values),
        TEST(found_above_a_bound_is_an_internal_error),
        TEST(contradictions_are_internal_errors),
        TEST(a_bad_library_proves_nothing),
        TEST(more_inputs_are_bounded_too),
        TEST(few_inputs_make_the_ball_smaller),
        TEST(threads_change_no_bit),
        TEST(networks_without_a_norm_run_away),
        TEST(the_steepest_direction_is_found),
        TEST(reasons_are_those_of_the_network),
        TEST(what_stands_still_without_a_norm_is_undecided),
        TEST(tampered_bounds_are_refused),
        TEST(ranges_are_proven_anew),
        TEST(tampered_witnesses_are_refused),
        TEST(certificates_of_other_networks_are_refused),
        TEST(certificates_of_another_form_are_refused),
        TEST(another_rounding_proves_nothing),
        TEST(certificates_survive_jansson_without_memory),
        TEST(many_outputs_are_certified_each),
        TEST(arguments_are_checked),
        TEST(every_allocation_may_fail),
        TEST(progress_can_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
