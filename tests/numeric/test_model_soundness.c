/*
 * test_model_soundness.c: certificates of random models under attack.
 *
 *     test_model_soundness [MODELS [POINTS [SEED]]]
 *
 * Networks of all kinds (norms anywhere, skips, every activation, no biases), NTK and NNGP, are
 * fitted to degenerate tables (duplicates, constants, collinear columns, words, a single row),
 * every other one behind a metric (weights of any size, some 0, full maps of any rank), and
 * certified. Then f is evaluated where it may be large: at 0, on training rows and close to them,
 * on rays out to 1e150, along axes, and by ascent from the largest values met. No |f| may be
 * beyond a bound, by any margin; limits lie in it too; what is unbounded follows its witness.
 * Then every number of the model is forged in turn: the certificate is refused, or true of the
 * forged model. A model depends on SEED and its number alone.
 */
#include "../../src/certify/certify_internal.h"
#include "chance.h"
#include "data/frame_internal.h"
#include "regress/regress_internal.h"

#include <farfield/farfield.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 4, BATCH = 64, FORGERIES = 15 };
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static far_ctx *ctx;
static uint64_t seed = 20261116;

typedef struct tally {
    long models, mapped, certified, bounded, unbounded, undecided, refused, points, beyond,
        false_refusals;
    long forged, forged_refused, forged_held;
    double closest; /* the largest |f| / bound met */
} tally;

/* ---- random numbers by counter ---- */

typedef struct dice {
    uint64_t key, counter;
} dice;

static uint64_t bits(dice *r)
{
    return mix(r->key + r->counter++ * CHANCE_STEP);
}

static dice dice_of(uint64_t stream)
{
    dice r = {.key = seed};
    r.key = bits(&r) ^ (stream * 0xd1342543de82ef95u);
    return r;
}

static int draw(dice *r, int below)
{
    return (int)(bits(r) % (uint64_t)below);
}

static double uniform(dice *r)
{
    return (double)(bits(r) >> 11) * 0x1p-53;
}

static double normal(dice *r)
{
    return sqrt(-2 * log(uniform(r) + 1e-300)) * cos(2 * M_PI * uniform(r));
}

/* ---- random networks ---- */

static const char *one_of(dice *r, const char *const *texts, int count)
{
    return texts[draw(r, count)];
}
#define ONE_OF(r, texts) one_of(r, texts, COUNT(texts))

static void add(char *text, const char *piece)
{
    size_t length = strlen(text);
    snprintf(text + length, 512 - length, "%s%s", length ? " " : "", piece);
}

static const char *dense(dice *r)
{
    static const char *const ALL[] = {"dense",         "dense",         "dense",
                                      "dense(nobias)", "dense(b=1)",    "dense(w=0.5, b=2)",
                                      "dense(w=3)",    "dense(w=1e-3)", "dense(b=1e-6)"};
    return ONE_OF(r, ALL);
}

static const char *norm(dice *r)
{
    static const char *const ALL[] = {
        "ln",         "ln",          "rms",         "ln(eps=1e-5)",
        "rms(eps=1)", "ln(affine)",  "rms(affine)", "ln(eps=1e-2, affine)",
        "batchnorm",  "ln(groups=2)"};
    return ONE_OF(r, ALL);
}

static const char *activation(dice *r)
{
    static const char *const ALL[] = {"relu",       "relu",      "leaky_relu(0.2)",
                                      "abs",        "identity",  "gelu",
                                      "gelu",       "silu",      "tanh",
                                      "erf",        "sin",       "relu(2)",
                                      "relu(0.75)", "sin(w0=5)", "leaky_relu(-3)"};
    return ONE_OF(r, ALL);
}

static void random_arch(dice *r, char *text)
{
    static const char *const INPUTS[] = {"ln", "rms", "rms(eps=1e-3)", "sin", "tanh", "relu"};
    *text = 0;
    if (draw(r, 7) == 0) {
        add(text, ONE_OF(r, INPUTS));
    }
    int layers = 1 + draw(r, 3), at = draw(r, layers + 1); /* mostly with a norm somewhere */
    for (int i = 0; i < layers; i++) {
        bool skip = draw(r, 8) == 0 && i > 0;
        add(text, dense(r));
        if (i == at || draw(r, 5) == 0) {
            add(text, norm(r));
        }
        add(text, skip ? "skip(" : "");
        add(text, activation(r));
        add(text, skip ? "dense )" : draw(r, 5) == 0 ? norm(r) : "");
    }
    add(text, draw(r, 4) ? "dense" : "dense(nobias)");
}

/* ---- random tables ---- */

typedef struct table {
    char text[16384], targets[64];
} table;

static double entry(dice *r, int kind, int row, double first)
{
    static const double NAMED[] = {0, 1, -1, 1e-9, 1e6};
    switch (kind) {
    case 0:
        return normal(r);
    case 1:
        return 3; /* a constant */
    case 2:
        return 2 * first + 1; /* collinear */
    case 3:
        return NAMED[draw(r, 5)];
    default:
        return row % 3;
    }
}

static void random_table(dice *r, table *t)
{
    int d = 1 + draw(r, 4), p = 1 + draw(r, 3), n = draw(r, 8) ? 2 + draw(r, 22) : 1;
    bool words = draw(r, 6) == 0;
    int kinds[4];
    char *at = t->text, *end = t->text + sizeof t->text;
    for (int j = 0; j < d; j++) {
        kinds[j] = j == 0 ? 0 : draw(r, 5);
        at += snprintf(at, (size_t)(end - at), "x%d,", j);
    }
    at += snprintf(at, (size_t)(end - at), "%s", words ? "kind," : "");
    t->targets[0] = 0;
    for (int j = 0; j < p; j++) {
        size_t length = strlen(t->targets);
        snprintf(t->targets + length, sizeof t->targets - length, "%sy%d", j ? "," : "", j);
        at += snprintf(at, (size_t)(end - at), "y%d%s", j, j + 1 < p ? "," : "\n");
    }
    double scale = pow(10, draw(r, 3) ? 0 : draw(r, 9) - 4), last[4] = {0};
    for (int i = 0; i < n; i++) {
        bool again = i > 0 && draw(r, 8) == 0; /* a duplicate, or nearly */
        for (int j = 0; j < d; j++) {
            double value = entry(r, kinds[j], i, j ? last[0] : 0);
            last[j] = again ? last[j] + (draw(r, 2) ? 1e-12 : 0) : value;
            at += snprintf(at, (size_t)(end - at), "%.17g,", last[j]);
        }
        at += words ? snprintf(at, (size_t)(end - at), "%s,", i % 2 ? "red" : "blue") : 0;
        for (int j = 0; j < p; j++) {
            double y = j == 2 ? 7 : sin(2 * last[0]) + 0.3 * normal(r);
            at += snprintf(at, (size_t)(end - at), "%.17g%s", scale * y, j + 1 < p ? "," : "\n");
        }
    }
}

/* ---- random metrics ---- */

static void random_weights(dice *r, int64_t d, double *map)
{
    static const double FAR_OUT[] = {1e-200, 1e150, 1e-8, 1e6};
    for (int64_t j = 0; j < d; j++) {
        map[j] = draw(r, 4) == 0 ? 0 : exp(2 * normal(r));
        map[j] *= draw(r, 6) == 0 ? FAR_OUT[draw(r, 4)] : 1;
    }
    if (map[0] == 0) { /* some input counts */
        map[0] = 1;
    }
}

/* A A' of d x rank numbers, some rows of which are 0. */
static void random_mixture(dice *r, int64_t d, double *map)
{
    double a[MOST_INPUTS * MOST_INPUTS], size = draw(r, 6) ? 1 : draw(r, 2) ? 1e-100 : 1e100;
    int64_t rank = 1 + draw(r, (int)d);
    for (int64_t i = 0; i < d; i++) {
        bool zero = i > 0 && draw(r, 5) == 0;
        for (int64_t k = 0; k < rank; k++) {
            a[i * rank + k] = zero ? 0 : normal(r) * pow(10, -4 * uniform(r));
        }
    }
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < rank; k++) {
                sum += a[i * rank + k] * a[j * rank + k];
            }
            map[i * d + j] = map[j * d + i] = size * sum;
        }
    }
}

static far_metric random_metric(dice *r, int64_t d, double *map)
{
    bool full = draw(r, 2);
    if (full) {
        random_mixture(r, d, map);
    } else {
        random_weights(r, d, map);
    }
    return (far_metric){full ? FAR_METRIC_FULL : FAR_METRIC_DIAGONAL, d, map};
}

/* The same behind a metric, every other one. */
static far_status behind_metric(dice *r, const far_frame *frame, const far_fit_opts *o,
                                far_model **m)
{
    double map[MOST_INPUTS * MOST_INPUTS];
    int64_t d = (*m)->info.inputs;
    if (d > MOST_INPUTS || draw(r, 2)) {
        return FAR_OK;
    }
    far_metric s = random_metric(r, d, map);
    far_fit_opts ridged = *o;
    ridged.ridge = fmax(o->ridge, 1e-8); /* rows that differ may be the same point behind it */
    far_model_destroy(*m);
    return far_model_fit_behind(ctx, frame, &ridged, &s, m);
}

static bool random_model(dice *r, far_model **out)
{
    static const double RIDGES[] = {0, 1e-8, 1e-3, 0.1, 10};
    char arch[512];
    table t;
    far_frame *frame;
    far_fit_opts o;
    far_fit_opts_init(&o);
    random_arch(r, arch);
    random_table(r, &t);
    o.target = t.targets;
    o.arch = arch;
    o.kernel = draw(r, 3) == 0 ? FAR_KERNEL_NNGP : FAR_KERNEL_NTK;
    o.ridge = RIDGES[draw(r, 5)];
    o.standardize = draw(r, 4) != 0;
    if (far_frame_parse_bytes(ctx, "table", t.text, (int64_t)strlen(t.text), NULL, &frame)) {
        return false;
    }
    far_status st = far_model_fit(ctx, frame, &o, out);
    if (st == FAR_ERR_SINGULAR) {
        o.ridge = 1e-3;
        st = far_model_fit(ctx, frame, &o, out);
    }
    st = st == FAR_OK ? behind_metric(r, frame, &o, out) : st;
    far_frame_destroy(frame);
    return st == FAR_OK;
}

/* ---- the attack ---- */

typedef struct attack {
    const far_model *m;
    const far_certificate *c;
    const char *what;
    long number;
    dice r;
    double best[MOST_OUTPUTS], where[MOST_OUTPUTS][MOST_INPUTS];
    tally *t;
} attack;

static void report(const attack *a, int64_t j, double f, const double *x, const char *how)
{
    const far_bound *b = far_certificate_bound(a->c, j);
    a->t->beyond++;
    printf("BEYOND: model %ld, seed %llu, %s: '%s' prior %d ridge %g n %lld, output %lld, %s: f = "
           "%.17g, bounds %.17g to %.17g, |f| <= %.17g by %s, B2 %g B3 %g, at",
           a->number, (unsigned long long)seed, a->what, a->m->arch, a->m->info.kernel,
           a->m->info.ridge, (long long)a->m->info.rows, (long long)j, how, f, b->lowest,
           b->highest, b->tightest, b->method ? b->method : "-", b->b2, b->b3);
    for (int64_t i = 0; i < a->m->info.inputs; i++) {
        printf(" %.17g", x[i]);
    }
    printf("\n");
}

static void judge(attack *a, const double *x, const double *f, const char *how)
{
    for (int64_t j = 0; j < a->m->info.outputs; j++) {
        const far_bound *b = far_certificate_bound(a->c, j);
        double size = fabs(f[j]);
        if (b->verdict != FAR_BOUNDED) {
            continue;
        }
        bool inside = size <= b->tightest && f[j] >= b->lowest && f[j] <= b->highest &&
                      size <= b->b1 && !(size > b->b2) && !(size > b->b3);
        if (!inside) {
            report(a, j, f[j], x, how);
        }
        a->t->closest = fmax(a->t->closest, b->tightest > 0 ? size / b->tightest : 0);
        if (size >= a->best[j]) {
            a->best[j] = size;
            memcpy(a->where[j], x, (size_t)a->m->info.inputs * sizeof *x);
        }
    }
}

/* f at count standardised points; those where it is no double are left out. */
static void eval(attack *a, double *x, int64_t count, const char *how)
{
    int64_t d = a->m->info.inputs, p = a->m->info.outputs;
    double f[BATCH * MOST_OUTPUTS];
    far_mat points = far_mat_view(x, count, d, FAR_F64), mean = far_mat_view(f, count, p, FAR_F64);
    far_status st = far_model_eval(ctx, a->m, &points, &mean);
    a->t->points += count;
    for (int64_t i = 0; i < count; i++) {
        if (st != FAR_OK) {
            far_mat one = far_mat_view(x + i * d, 1, d, FAR_F64);
            far_mat value = far_mat_view(f + i * p, 1, p, FAR_F64);
            if (far_model_eval(ctx, a->m, &one, &value) != FAR_OK) {
                continue;
            }
        }
        judge(a, x + i * d, f + i * p, how);
    }
}

/* One hard point: 0, a row, near one, a row or an axis far out, anything of any size. */
static void hard_point(attack *a, double *x)
{
    int64_t d = a->m->info.inputs, row = draw(&a->r, (int)a->m->info.rows);
    const double *z = a->m->x + row * d;
    int kind = draw(&a->r, 7);
    double away = pow(10, (draw(&a->r, 4) ? 12 : 150) * (2 * uniform(&a->r) - 1));
    for (int64_t i = 0; i < d; i++) {
        switch (kind) {
        case 0:
            x[i] = z[i];
            break;
        case 1:
            x[i] = z[i] + normal(&a->r) * pow(10, -16 * uniform(&a->r));
            break;
        case 2:
            x[i] = z[i] * away;
            break;
        case 3:
            x[i] = -z[i] * away;
            break;
        case 4:
            x[i] = i == row % d ? (draw(&a->r, 2) ? away : -away) : 0;
            break;
        case 5:
            x[i] = draw(&a->r, 3) ? normal(&a->r) * away : 0;
            break;
        default:
            x[i] = 2 * normal(&a->r);
        }
    }
}

/* Steps of all sizes from where |f| was largest. */
static void climb_point(attack *a, int64_t j, double *x)
{
    double step = pow(10, -8 * uniform(&a->r));
    bool scale = draw(&a->r, 4) == 0;
    for (int64_t i = 0; i < a->m->info.inputs; i++) {
        double from = a->where[j][i], size = fmax(fabs(from), 1e-3);
        x[i] = scale ? from * (1 + step) : from + step * size * normal(&a->r);
    }
}

static void attack_limits(attack *a)
{
    int64_t d = a->m->info.inputs, p = a->m->info.outputs;
    double u[16 * MOST_INPUTS], f[16 * MOST_OUTPUTS], order[16];
    far_mat ways = far_mat_view(u, 16, d, FAR_F64), mean = far_mat_view(f, 16, p, FAR_F64);
    far_mat orders = far_mat_view(order, 16, 1, FAR_F64);
    for (int64_t i = 0; i < 16 * d; i++) {
        u[i] = i < 2 * d * d && i < 16 * d ? (i % d == i / d / 2 ? (i / d % 2 ? -1 : 1) : 0)
                                           : normal(&a->r);
    }
    if (far_model_limit(ctx, a->m, &ways, &mean, &orders) != FAR_OK) {
        return; /* there is none */
    }
    for (int64_t i = 0; i < 16; i++) {
        if (order[i] == 0) {
            judge(a, u + i * d, f + i * p, "limit");
            a->t->points++;
        } else if (order[i] > 0) {
            for (int64_t j = 0; j < p; j++) {
                bool grows = f[i * p + j] != 0 &&
                             fabs(f[i * p + j]) > 1e-9 * far_output_scale(a->m->columns)[j];
                if (grows && far_certificate_bound(a->c, j)->verdict == FAR_BOUNDED) {
                    report(a, j, f[i * p + j], u + i * d, "grows");
                }
            }
        }
    }
}

/* f(t direction) / (slope t^order) comes near 1. */
static void follow_witness(attack *a, int64_t j, const far_bound *b)
{
    int64_t d = a->m->info.inputs, p = a->m->info.outputs;
    double x[MOST_INPUTS], f[MOST_OUTPUTS], best = INFINITY;
    for (double t = 1e4; t < 1e90 && b->order * log10(t) < 250; t *= 1e3) {
        for (int64_t i = 0; i < d; i++) {
            x[i] = (t * b->direction[i] - far_input_centre(a->m->columns)[i]) /
                   far_input_scale(a->m->columns)[i];
        }
        far_mat point = far_mat_view(x, 1, d, FAR_F64), mean = far_mat_view(f, 1, p, FAR_F64);
        if (far_model_eval(ctx, a->m, &point, &mean) == FAR_OK) {
            best = fmin(best, fabs(f[j] / (b->slope * pow(t, b->order)) - 1));
            a->t->points++;
        }
    }
    if (!(best < 0.02)) {
        report(a, j, best, b->direction, "the witness is not followed");
    }
}

static void attack_model(attack *a, long points)
{
    int64_t d = a->m->info.inputs, p = a->m->info.outputs;
    double x[BATCH * MOST_INPUTS] = {0};
    far_certificate_info info = far_certificate_describe(a->c);
    eval(a, x, 1, "zero");
    for (int64_t i = 0; i < a->m->info.rows; i++) {
        memcpy(x, a->m->x + i * d, (size_t)d * sizeof *x);
        eval(a, x, 1, "row");
    }
    attack_limits(a);
    for (int64_t j = 0; j < p; j++) {
        const far_bound *b = far_certificate_bound(a->c, j);
        if (b->verdict == FAR_UNBOUNDED) {
            follow_witness(a, j, b);
        }
        if (b->at && !b->at_infinity) {
            for (int64_t i = 0; i < d; i++) {
                x[i] = (b->at[i] - far_input_centre(a->m->columns)[i]) /
                       far_input_scale(a->m->columns)[i];
            }
            eval(a, x, 1, "found");
        }
    }
    for (long k = 0; k < points && info.verdict == FAR_BOUNDED; k += BATCH) {
        for (int64_t i = 0; i < BATCH; i++) {
            if (k < points / 2) {
                hard_point(a, x + i * d);
            } else {
                climb_point(a, i % p, x + i * d);
            }
        }
        eval(a, x, BATCH, k < points / 2 ? "random" : "ascent");
    }
}

static far_certify_opts certify_opts(void)
{
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = 0.02;
    o.starts = 4;
    o.gap = 0.05;
    return o;
}

/* ---- forgeries ---- */

static far_status forge_arch(far_model *m, const char *arch)
{
    far_kernel *k;
    far_kernel_opts o;
    o = (far_kernel_opts){.size = sizeof o};
    o.param = m->info.param;
    far_status st = far_kernel_create(ctx, arch, &o, &k);
    if (st == FAR_OK) {
        far_kernel_destroy(m->kernel);
        m->kernel = k;
    }
    return st;
}

/* As loading does. */
static bool taken_again(far_model *m)
{
    far_metric_facts_clear(ctx, &m->facts);
    return far_model_take_metric(ctx, m) == FAR_OK;
}

/* Another weight, or all of a mixture times a factor. */
static bool forge_metric(dice *r, far_model *m, double factor)
{
    int64_t d = m->info.inputs, full = m->metric.kind == FAR_METRIC_FULL;
    int64_t one = draw(r, (int)d);
    if (m->metric.kind == FAR_METRIC_NONE || factor == 0) {
        return false;
    }
    for (int64_t i = 0; i < (full ? d * d : d); i++) {
        m->metric.map[i] *= full || i == one ? fabs(factor) : 1;
    }
    return taken_again(m);
}

/* One number of the model, or a whole array, is made another; false: this one has no such. */
static bool forge(dice *r, int kind, far_model *m, const char **what)
{
    static const double FACTORS[] = {1000, -1, 0, 1e-3, 1 + 1e-9, 1e12};
    int64_t cells = m->info.rows * m->info.outputs, one = draw(r, (int)cells);
    double factor = FACTORS[draw(r, 6)];
    double *fields[] = {&m->info.lambda_min, &m->info.residual,   &m->info.condition,
                        &m->info.ridge,      &m->info.lambda_max, &m->info.mean_diagonal};
    static const char *const NAMES[] = {"lambda_min", "residual",   "condition",
                                        "ridge",      "lambda_max", "mean_diagonal"};
    if (kind < 6) {
        *what = NAMES[kind];
        *fields[kind] = draw(r, 2) ? *fields[kind] * fabs(factor) : fabs(factor);
        return true;
    }
    switch (kind) {
    case 6:
        *what = "all of alpha";
        for (int64_t i = 0; i < cells; i++) {
            m->alpha[i] *= factor;
            m->alpha_low[i] *= factor;
        }
        return true;
    case 7:
        *what = "one alpha";
        m->alpha[one] += factor;
        return true;
    case 8:
        *what = "alpha_low";
        m->alpha_low[one] += factor;
        return true;
    case 9:
        *what = "y";
        m->y[one] += factor;
        return true;
    case 10:
        *what = "x";
        m->x[draw(r, (int)(m->info.rows * m->info.inputs))] += factor;
        return taken_again(m);
    case 11:
        *what = "the output's centre and scale";
        far_output_centre(m->columns)[draw(r, (int)m->info.outputs)] += factor;
        far_output_scale(m->columns)[draw(r, (int)m->info.outputs)] *= fabs(factor) + 1;
        return true;
    case 12:
        *what = "the prior";
        m->info.kernel = !m->info.kernel;
        return true;
    case 13:
        *what = "the metric";
        return forge_metric(r, m, factor);
    default:
        *what = "arch";
        return forge_arch(m, draw(r, 2) ? "dense ln gelu dense"
                                        : "dense(b=3) relu dense ln dense") == FAR_OK;
    }
}

/* The same file, read by a proof that believes nothing: all that follow from alpha (a large
 * residual is stated) so that only the bounds themselves can be wrong. */
static void attack_forgery(dice *r, long number, far_model *m, int kind, long points, tally *t)
{
    const char *what;
    far_certificate *c = NULL;
    far_certify_opts o = certify_opts();
    if (!forge(r, kind, m, &what)) {
        return;
    }
    if (draw(r, 2) && kind >= 6) { /* forged so that the solution is not missed */
        m->info.residual = 1e30;
        m->info.lambda_min = NAN;
    }
    t->forged++;
    far_status st = far_model_certify(ctx, m, &o, &c);
    if (st == FAR_ERR_BACKEND) {
        printf("INTERNAL: model %ld, %s forged: %s\n", number, what, far_ctx_message(ctx));
        t->beyond++;
    }
    t->forged_refused += st != FAR_OK;
    if (st == FAR_OK) {
        attack a = {.m = m, .c = c, .what = what, .number = number, .r = *r, .t = t};
        long before = t->beyond;
        attack_model(&a, points);
        t->forged_held += t->beyond == before;
    }
    far_certificate_destroy(c);
}

/* ---- all of them ---- */

static void try_model(long number, long points, tally *t)
{
    dice r = dice_of((uint64_t)number);
    far_model *m = NULL;
    far_certificate *c = NULL;
    far_certify_opts o = certify_opts();
    if (!random_model(&r, &m) || m->info.inputs > MOST_INPUTS) {
        far_model_destroy(m);
        return;
    }
    t->models++;
    t->mapped += m->metric.kind != FAR_METRIC_NONE;
    far_status st = far_model_certify(ctx, m, &o, &c);
    if (st == FAR_OK) {
        int32_t verdict = far_certificate_describe(c).verdict;
        t->certified++;
        t->bounded += verdict == FAR_BOUNDED;
        t->unbounded += verdict == FAR_UNBOUNDED;
        t->undecided += verdict == FAR_UNDECIDED;
        attack a = {.m = m, .c = c, .what = "honest", .number = number, .r = r, .t = t};
        attack_model(&a, points);
        far_certificate_destroy(c);
        attack_forgery(&r, number, m, (int)(number % FORGERIES), points / 8, t);
    } else {
        t->refused++;
        if (st != FAR_ERR_ARCH) {
            printf("REFUSED: model %ld, '%s' prior %d ridge %g: %s\n", number, m->arch,
                   m->info.kernel, m->info.ridge, far_ctx_message(ctx));
            t->false_refusals++;
        }
    }
    far_model_destroy(m);
}

int main(int argc, char **argv)
{
    long models = argc > 1 ? atol(argv[1]) : (long)draws(40, 120),
         points = argc > 2 ? atol(argv[2]) : 512;
    tally t = {0};
    far_ctx_opts o;
    o = (far_ctx_opts){.size = sizeof o};
    o.threads = 1;
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : seed;
    if (far_ctx_create(&o, &ctx) != FAR_OK) {
        return 1;
    }
    printf("%ld draws, %ld points each, seed %llu\n", models, points, (unsigned long long)seed);
    for (long k = 0; k < models; k++) {
        try_model(k, points, &t);
    }
    printf("%ld models, %ld of them behind a metric: %ld bounded, %ld unbounded, %ld undecided, "
           "%ld refused (%ld without cause); "
           "%ld forged: %ld refused, %ld held; %ld points, largest |f| / bound %.6f, %ld beyond\n",
           t.models, t.mapped, t.bounded, t.unbounded, t.undecided, t.refused, t.false_refusals,
           t.forged, t.forged_refused, t.forged_held, t.points, t.closest, t.beyond);
    far_ctx_destroy(ctx);
    return t.beyond > 0 || t.false_refusals > 0 || t.bounded == 0 || t.mapped == 0;
}
