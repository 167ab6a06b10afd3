/*
 * Random finite networks from the whole language, certified, then attacked: no value may lie
 * beyond a proven bound.
 *
 *     test_net_soundness [NETWORKS [POINTS [SEED]]]
 *
 * Weights are drawn, then spoilt: zeros, dead units, equal rows, biases that make a variance vanish
 * at a known point, numbers near the ends of float64. Points are exact zeros, zeros of units and
 * variances, corners of cells, rays from 5e-324 to 1e300, and what gradients climb to. A value of
 * the engine beyond a bound is evaluated once more in 4400 bits, which decides: bounds are about
 * real arithmetic. How far the engine itself went beyond is printed. A network is drawn anew from
 * SEED and its number alone: NETWORKS = -K looks at network K only.
 */
#include "mp_program.h"

#include "../../src/certify/net_certify.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_INPUTS = 6,
    CI_NETWORKS = 120,
    CI_POINTS = 2000,
    BLOCK = 250,
    SAMPLED = 400,
    CLIMB = 12
};

typedef struct source {
    uint64_t seed, at;
} source;

static double uniform(source *r)
{
    return far_random_uniform(r->seed, r->at++);
}

static double normal(source *r)
{
    return far_random_normal(r->seed, r->at++);
}

static int64_t pick(source *r, int64_t n)
{
    int64_t i = (int64_t)(uniform(r) * (double)n);
    return i < n ? i : n - 1;
}

static bool chance(source *r, double p)
{
    return uniform(r) < p;
}

static const char *one_of(source *r, const char *const *words, int64_t n)
{
    return words[pick(r, n)];
}

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

/* ---- networks as text ----------------------------------------------------------------------- */

typedef struct text {
    char data[600];
    source *r;
    int64_t width;
} text;

static void say(text *t, const char *words)
{
    if (strlen(t->data) + strlen(words) + 2 < sizeof t->data) {
        strcat(strcat(t->data, t->data[0] ? " " : ""), words);
    }
}

static void say_dense(text *t, int64_t width)
{
    char word[64];
    bool first = strstr(t->data, "dense") == NULL; /* what is the same along rays needs no bias */
    snprintf(word, sizeof word, "dense(%lld%s)", (long long)width,
             chance(t->r, first ? 0.5 : 0.2) ? ", nobias" : "");
    t->width = width;
    say(t, word);
}

static void say_activation(text *t)
{
    static const char *const WORDS[] = {"relu",
                                        "relu",
                                        "leaky_relu",
                                        "leaky_relu(-0.5)",
                                        "abs",
                                        "erf",
                                        "gelu",
                                        "silu",
                                        "tanh",
                                        "sin",
                                        "sin(w0=5)",
                                        "sin(w0=30)",
                                        "identity",
                                        "relu(2)",
                                        "relu(0.75)",
                                        "relu(1.5)",
                                        "tanh(gain=1.5)",
                                        "gelu(gain=0.5)",
                                        "leaky_relu(1.5)",
                                        "silu(gain=2)",
                                        "sigmoid",
                                        "elu",
                                        "elu(2.5)",
                                        "softplus(gain=1.2)",
                                        "mish",
                                        "gelu(tanh)"};
    say(t, one_of(t->r, WORDS, COUNT(WORDS)));
}

static void say_norm(text *t)
{
    static const char *const EPS[] = {"", "", "", "", "eps=1e-5", "eps=0.1", "eps=5e-324"};
    static const char *const KINDS[] = {"ln", "ln", "rms", "rms", "batchnorm"};
    const char *kind = one_of(t->r, KINDS, COUNT(KINDS)), *eps = one_of(t->r, EPS, COUNT(EPS));
    char word[96], groups[24] = "";
    int64_t g = 2 + pick(t->r, 3);
    if (strcmp(kind, "ln") == 0 && t->width % g == 0 && chance(t->r, 0.5)) {
        g = chance(t->r, 0.2) ? t->width : g; /* one neuron a group */
        snprintf(groups, sizeof groups, "groups=%lld", (long long)g);
    }
    const char *affine = chance(t->r, 0.3) ? "affine" : "";
    snprintf(word, sizeof word, "%s(%s%s%s%s%s)", kind, groups, groups[0] && eps[0] ? ", " : "",
             eps, (groups[0] || eps[0]) && affine[0] ? ", " : "", affine);
    if (strlen(word) == strlen(kind) + 2) {
        snprintf(word, sizeof word, "%s", kind);
    }
    say(t, word);
}

static void say_layers(text *t, int64_t count, int depth);

/* One way through a skip, to so many neurons. */
static void say_way(text *t, int64_t width, int depth)
{
    size_t start = strlen(t->data);
    if (chance(t->r, 0.6)) {
        say_norm(t);
    }
    if (chance(t->r, 0.6)) {
        say_activation(t);
    }
    if (depth < 2 && chance(t->r, 0.2)) {
        say_layers(t, 1, depth + 1);
    }
    if (chance(t->r, 0.7) || t->width != width || strlen(t->data) == start) {
        say_dense(t, width);
    }
    memmove(t->data + start, t->data + start + 1, strlen(t->data + start)); /* the blank */
}

static void say_skip(text *t, int depth)
{
    int64_t before = t->width, width = before;
    bool shortcut = chance(t->r, 0.4);
    width = shortcut && chance(t->r, 0.5) ? 1 + pick(t->r, 10) : width;
    strcat(t->data, " skip(");
    say_way(t, width, depth);
    if (shortcut) {
        strcat(t->data, " | ");
        t->width = before;
        say_way(t, width, depth);
    }
    strcat(t->data, ")");
    t->width = width;
}

static void say_layers(text *t, int64_t count, int depth)
{
    for (int64_t i = 0; i < count && strlen(t->data) < 300; i++) {
        if (t->data[0] && chance(t->r, 0.2)) {
            say_skip(t, depth);
            continue;
        }
        say_dense(t, 1 + pick(t->r, 10));
        if (chance(t->r, 0.6)) {
            say_norm(t);
        }
        if (chance(t->r, 0.8)) {
            say_activation(t);
        }
        if (chance(t->r, 0.15)) {
            say_norm(t);
        }
    }
}

static void draw_text(source *r, int64_t inputs, text *t)
{
    *t = (text){.r = r, .width = inputs};
    if (chance(r, 0.4)) {
        say_norm(t);
    }
    if (chance(r, 0.1)) {
        say_activation(t);
    }
    say_layers(t, 1 + pick(r, 3), 0);
    say_dense(t, chance(r, 0.7) ? 1 : 1 + pick(r, 3));
    if (chance(r, 0.05)) {
        say_norm(t);
    }
}

/* ---- weights -------------------------------------------------------------------------------- */

/* A network, and points at which something of it vanishes. */
typedef struct subject {
    far_net *net;
    far_net_plan *plan;
    double known[MOST_INPUTS]; /* in the network's own units */
    bool has_known;
    char spoilt[200];
} subject;

static void note(subject *s, const char *what)
{
    if (strlen(s->spoilt) + strlen(what) + 3 < sizeof s->spoilt) {
        strcat(strcat(s->spoilt, s->spoilt[0] ? ", " : ""), what);
    }
}

static const far_step *some_dense(const far_net *net, source *r)
{
    const far_step *s;
    do {
        s = &net->steps[pick(r, net->step_count)];
    } while (s->kind != FAR_STEP_DENSE);
    return s;
}

static void multiply(far_net *net, const far_step *s, double factor)
{
    for (int64_t i = 0; i < s->in * s->out; i++) {
        net->params[s->weight + i] *= factor;
    }
    for (int64_t o = 0; s->bias >= 0 && o < s->out; o++) {
        net->params[s->bias + o] *= factor;
    }
}

static void zero_weights(subject *t, source *r)
{
    const far_step *s = some_dense(t->net, r);
    memset(t->net->params + s->weight, 0, (size_t)(s->in * s->out) * sizeof(double));
    note(t, "zero weights");
}

static void zero_everything(subject *t, source *r)
{
    (void)r;
    memset(t->net->params, 0, (size_t)t->net->info.parameters * sizeof(double));
    note(t, "all zero");
}

static void zero_biases(subject *t, source *r)
{
    (void)r;
    for (int64_t i = 0; i < t->net->step_count; i++) {
        const far_step *s = &t->net->steps[i];
        for (int64_t o = 0; s->kind == FAR_STEP_DENSE && s->bias >= 0 && o < s->out; o++) {
            t->net->params[s->bias + o] = 0;
        }
    }
    note(t, "zero biases");
}

static void sparse(subject *t, source *r)
{
    for (int64_t i = 0; i < t->net->info.parameters; i++) {
        t->net->params[i] = chance(r, 0.5) ? 0 : t->net->params[i];
    }
    note(t, "sparse");
}

static void dead_units(subject *t, source *r)
{
    const far_step *s = some_dense(t->net, r);
    for (int64_t o = 0; o < s->out; o++) {
        if (chance(r, 0.6)) {
            memset(t->net->params + s->weight + o * s->in, 0, (size_t)s->in * sizeof(double));
            if (s->bias >= 0) {
                t->net->params[s->bias + o] = -fabs(t->net->params[s->bias + o]);
            }
        }
    }
    note(t, "dead units");
}

static void equal_rows(subject *t, source *r)
{
    const far_step *s = some_dense(t->net, r);
    for (int64_t o = 1; o < s->out; o++) {
        memcpy(t->net->params + s->weight + o * s->in, t->net->params + s->weight,
               (size_t)s->in * sizeof(double));
        if (s->bias >= 0 && chance(r, 0.7)) {
            t->net->params[s->bias + o] = t->net->params[s->bias];
        }
    }
    note(t, "equal rows");
}

/* W of few bits, b = c - W known: at `known` all neurons are c, exactly. */
static void vanishing_variance(subject *t, source *r)
{
    const far_step *s = &t->net->steps[0];
    double c = chance(r, 0.5) ? 0 : 1.5;
    if (s->kind != FAR_STEP_DENSE || s->bias < 0 || s->weight_scale != 1 || s->bias_scale != 1) {
        return;
    }
    for (int64_t i = 0; i < s->in; i++) {
        t->known[i] = (double)(pick(r, 9) - 4);
    }
    for (int64_t o = 0; o < s->out; o++) {
        double sum = 0, *w = t->net->params + s->weight + o * s->in;
        for (int64_t i = 0; i < s->in; i++) {
            w[i] = round(w[i] * 64) / 64;
            sum += w[i] * t->known[i];
        }
        t->net->params[s->bias + o] = c - sum;
    }
    t->has_known = true;
    note(t, "vanishing variance");
}

static void extreme_layer(subject *t, source *r)
{
    static const double FACTORS[] = {1e-170, 1e-300, 1e-320, 1e-30, 1e5, 1e30, 1e120, 30};
    double factor = FACTORS[pick(r, COUNT(FACTORS))];
    char words[40];
    multiply(t->net, some_dense(t->net, r), factor);
    snprintf(words, sizeof words, "times %g", factor);
    note(t, words);
}

static void single_precision(subject *t, source *r)
{
    (void)r;
    for (int64_t i = 0; i < t->net->info.parameters; i++) {
        t->net->params[i] = (double)(float)t->net->params[i];
    }
    note(t, "float32");
}

/* Scales and shifts of norms, and statistics. */
static void draw_affine(subject *t, source *r)
{
    for (int64_t i = 0; i < t->net->step_count; i++) {
        const far_step *s = &t->net->steps[i];
        bool norm = s->kind == FAR_STEP_NORM || s->kind == FAR_STEP_BATCHNORM;
        for (int64_t k = 0; norm && s->weight >= 0 && k < s->out; k++) {
            t->net->params[s->weight + k] = chance(r, 0.2) ? 0 : normal(r);
            t->net->params[s->bias + k] = chance(r, 0.3) ? 0 : normal(r);
        }
        for (int64_t k = 0; s->kind == FAR_STEP_BATCHNORM && k < s->out; k++) {
            t->net->statistics[s->mean + k] = chance(r, 0.3) ? 0 : normal(r);
            t->net->statistics[s->variance + k] = chance(r, 0.05) ? 1e-300 : uniform(r) + 1e-3;
        }
    }
}

static void draw_scaling(subject *t, source *r)
{
    double *scaling = t->net->columns->scaling;
    int64_t d = t->net->info.inputs, p = t->net->info.outputs;
    bool whole = chance(r, 0.5); /* powers of 2 keep known points exact */
    for (int64_t i = 0; i < d; i++) {
        scaling[i] = whole ? (double)pick(r, 4) : 3 * normal(r);
        scaling[d + i] = whole ? ldexp(1, (int)pick(r, 5) - 2) : exp(2 * normal(r));
    }
    for (int64_t j = 0; j < p; j++) {
        scaling[2 * d + j] = chance(r, 0.5) ? 0 : 3 * normal(r);
        scaling[2 * d + p + j] = exp(normal(r));
    }
}

typedef void (*spoiler)(subject *, source *);
static const spoiler SPOILERS[] = {
    zero_weights,  zero_everything,    zero_biases,        sparse,          dead_units, equal_rows,
    extreme_layer, vanishing_variance, vanishing_variance, single_precision};

static void spoil(subject *t, source *r)
{
    draw_affine(t, r);
    for (int turn = 0; turn < 2; turn++) {
        if (chance(r, 0.4)) {
            SPOILERS[pick(r, COUNT(SPOILERS))](t, r);
        }
    }
    if (chance(r, 0.4)) {
        draw_scaling(t, r);
    }
}

static void subject_free(subject *t)
{
    far_net_plan_destroy(t->plan);
    far_net_destroy(t->net);
}

/* false: this text cannot be run. */
static bool draw_subject(far_ctx *ctx, source *r, subject *t)
{
    far_net_opts o;
    text words;
    *t = (subject){0};
    far_net_opts_init(&o);
    o.inputs = 1 + pick(r, chance(r, 0.7) ? 3 : MOST_INPUTS);
    o.init = (int32_t)pick(r, 6);
    o.seed = (uint64_t)pick(r, 1000000);
    draw_text(r, o.inputs, &words);
    if (far_net_create(ctx, words.data, &o, &t->net) != FAR_OK) {
        return false;
    }
    spoil(t, r);
    if (far_net_plan_create(ctx, t->net, &t->plan) != FAR_OK) {
        subject_free(t);
        return false;
    }
    return true;
}

/* ---- points --------------------------------------------------------------------------------- */

static double log_uniform(source *r, double low, double high)
{
    return pow(10, low + (high - low) * uniform(r));
}

static void raw_of(const subject *t, const double *z, double *x)
{
    for (int64_t i = 0; i < t->net->info.inputs; i++) {
        x[i] = t->plan->input_centre[i] + t->plan->input_scale[i] * z[i];
    }
}

/* Zeros, of all kinds. */
static void point_zeros(const subject *t, source *r, double *x)
{
    static const double TINY[] = {0, -0.0, 0, 5e-324, -5e-324, 1e-310, 1e-200, 1};
    double z[MOST_INPUTS];
    for (int64_t i = 0; i < t->net->info.inputs; i++) {
        z[i] = TINY[pick(r, COUNT(TINY))];
    }
    if (chance(r, 0.3)) {
        memset(z, 0, sizeof z);
    }
    chance(r, 0.3) ? (void)memcpy(x, z, (size_t)t->net->info.inputs * sizeof *z) : raw_of(t, z, x);
}

static void point_normal(const subject *t, source *r, double *x)
{
    double z[MOST_INPUTS], size = log_uniform(r, -3, 3);
    for (int64_t i = 0; i < t->net->info.inputs; i++) {
        z[i] = size * normal(r);
    }
    raw_of(t, z, x);
}

static void point_ray(const subject *t, source *r, double *x)
{
    double size = log_uniform(r, -323, 300);
    bool own = chance(r, 0.3), axis = chance(r, 0.2);
    int64_t only = pick(r, t->net->info.inputs);
    for (int64_t i = 0; i < t->net->info.inputs; i++) {
        double u = fmin(fmax(normal(r), -3), 3) / 3;
        x[i] =
            (own ? log_uniform(r, -323, 300) : size) * (axis ? (i == only) * (u < 0 ? -1 : 1) : u);
    }
}

/* A zero of a neuron in the first layer. */
static void point_kink(const subject *t, source *r, double *x)
{
    const far_proof_layer *l = &t->plan->layers[0];
    double z[MOST_INPUTS], dot = 0, square = 0, w[MOST_INPUTS];
    int64_t d = t->net->info.inputs;
    if (l->step->kind != FAR_STEP_DENSE) {
        point_zeros(t, r, x);
        return;
    }
    int64_t o = pick(r, l->step->out);
    double size = log_uniform(r, -3, 2);
    for (int64_t i = 0; i < d; i++) {
        w[i] = l->rows[o * d + i];
        z[i] = size * normal(r);
        dot += w[i] * z[i];
        square += w[i] * w[i];
    }
    for (int64_t i = 0; i < d; i++) {
        z[i] -= square > 0 ? (dot + l->shift[o]) / square * w[i] : 0;
        z[i] = isfinite(z[i]) ? z[i] : 0;
    }
    raw_of(t, z, x);
}

/* Where the first layer varies least over neurons: A z = -b, columns centred, by descent. */
static void least_variance(const far_proof_layer *l, int64_t d, double *z)
{
    int64_t m = l->step->out;
    for (int turn = 0; turn < 200; turn++) { /* one coordinate at a time */
        int64_t i = turn % d;
        double mean = 0, own = 0, dot = 0, square = 0;
        for (int64_t o = 0; o < m; o++) {
            double y = l->shift[o];
            for (int64_t k = 0; k < d; k++) {
                y += l->rows[o * d + k] * z[k];
            }
            mean += y / (double)m;
            own += l->rows[o * d + i] / (double)m;
        }
        for (int64_t o = 0; o < m; o++) {
            double y = l->shift[o] - mean, a = l->rows[o * d + i] - own;
            for (int64_t k = 0; k < d; k++) {
                y += l->rows[o * d + k] * z[k];
            }
            dot += a * y;
            square += a * a;
        }
        z[i] -= square > 0 && isfinite(dot / square) ? dot / square : 0;
    }
}

static void point_flat(const subject *t, source *r, double *x)
{
    double z[MOST_INPUTS] = {0}, jitter = chance(r, 0.3) ? 0 : log_uniform(r, -20, 0);
    int64_t d = t->net->info.inputs;
    if (t->has_known && chance(r, 0.7)) {
        memcpy(z, t->known, (size_t)d * sizeof *z);
    } else if (t->plan->layers[0].step->kind == FAR_STEP_DENSE) {
        least_variance(&t->plan->layers[0], d, z);
    }
    for (int64_t i = 0; i < d; i++) {
        z[i] += jitter * normal(r);
    }
    raw_of(t, z, x);
}

/* unit u / s with few bits each. */
static void point_corner(const subject *t, source *r, double *x)
{
    double z[MOST_INPUTS], parts = ldexp(1, (int)pick(r, 12)), s;
    int64_t d = t->net->info.inputs, face = pick(r, d + 1);
    s = face == d ? 1 : (double)(1 + pick(r, (int64_t)parts)) / parts;
    for (int64_t i = 0; i < d; i++) {
        double u = i == face ? 1 : (double)pick(r, (int64_t)parts + 1) / parts;
        z[i] = t->plan->unit * (chance(r, 0.5) ? u : -u) / s;
    }
    raw_of(t, z, x);
}

typedef void (*maker)(const subject *, source *, double *);
static const maker MAKERS[] = {point_zeros, point_normal, point_ray,   point_ray,
                               point_kink,  point_flat,   point_corner};

/* Close to where the search found the largest value. */
static void point_near(const subject *t, source *r, const far_bound *b, double *x)
{
    double size = b->at_infinity ? log_uniform(r, 0, 290) : 1, jitter = log_uniform(r, -17, 0);
    for (int64_t i = 0; i < t->net->info.inputs; i++) {
        x[i] = b->at[i] * size * (1 + jitter * normal(r));
    }
}

/* ---- the attack ----------------------------------------------------------------------------- */

typedef struct score {
    int64_t networks, points, sampled, bounded, unbounded, undecided, refused, wrong, not_finite;
    int64_t engine_beyond, tight;
    uint64_t told;        /* the network last complained about, plus 1 */
    double engine_excess; /* the most that float64 was beyond a bound, relative to the bound */
} score;

typedef struct attack {
    far_ctx *ctx;
    subject t;
    const far_certificate *c;
    mp_program *exact;
    uint64_t seed, number;
    score *score;
} attack;

/* Whether a value of the engine obeys the certificate. */
static bool obeys(const far_bound *b, double value, const double *x, int64_t d)
{
    if (b->verdict == FAR_BOUNDED) {
        return value >= b->lowest && value <= b->highest && fabs(value) <= b->tightest;
    }
    double square = 0;
    for (int64_t i = 0; i < d; i++) {
        square = hypot(square, x[i]);
    }
    return fabs(value) <= b->growth * square + b->offset;
}

/* The same in real arithmetic. */
static bool truly_obeys(const attack *a, const far_bound *b, int64_t j, const double *x)
{
    mpfr_t *f = mp_program_eval(a->exact, x), size, part;
    bool fine;
    if (b->verdict == FAR_BOUNDED) {
        return mpfr_cmp_d(f[j], b->lowest) >= 0 && mpfr_cmp_d(f[j], b->highest) <= 0 &&
               mpfr_cmp_d(f[j], b->tightest) <= 0 && mpfr_cmp_d(f[j], -b->tightest) >= 0;
    }
    mpfr_inits2(300, size, part, (mpfr_ptr)0);
    mpfr_set_zero(size, 1);
    for (int64_t i = 0; i < a->t.net->info.inputs; i++) {
        mpfr_set_d(part, x[i], MPFR_RNDN);
        mpfr_hypot(size, size, part, MPFR_RNDU);
    }
    mpfr_mul_d(size, size, b->growth, MPFR_RNDU);
    mpfr_add_d(size, size, b->offset, MPFR_RNDU);
    fine = isinf(b->growth) || mpfr_cmpabs(f[j], size) <= 0;
    mpfr_clears(size, part, (mpfr_ptr)0);
    return fine;
}

static void complain(const attack *a, int64_t j, const char *what, double value, const double *x)
{
    const far_bound *b = far_certificate_bound(a->c, j);
    a->score->wrong++;
    if (a->score->told == a->number + 1) { /* one line a network */
        return;
    }
    a->score->told = a->number + 1;
    printf("WRONG seed %llu network %llu (%s; %lld inputs; %s), output %lld: %s %.17g\n",
           (unsigned long long)a->seed, (unsigned long long)a->number, a->t.net->text,
           (long long)a->t.net->info.inputs, a->t.spoilt, (long long)j, what, value);
    printf("  [%.17g, %.17g] tightest %.17g by %s; ball %g spectral %g relaxation %g branch %g; "
           "growth %g offset %g slope %g\n",
           b->lowest, b->highest, b->tightest, b->method ? b->method : "-", b->proofs[0].bound,
           b->proofs[1].bound, b->proofs[2].bound, b->proofs[3].bound, b->growth, b->offset,
           b->slope);
    for (int64_t i = 0; x && i < a->t.net->info.inputs; i++) {
        printf("  x%lld = %.17g", (long long)i + 1, x[i]);
    }
    printf("\n");
}

/* What a cell that is one point says of it, after truly_obeys; and the engine agrees with it. */
static bool is_enclosed(const attack *a, int64_t j, const double *x)
{
    far_range own[8], all = {-INFINITY, INFINITY};
    far_net_value found;
    if (a->t.plan->degree > 0) {
        return true;
    }
    mpfr_t *f = mp_program_outputs(a->exact);
    if (far_net_enclose(a->t.plan, x, false, false, own) != FAR_OK ||
        far_net_found(a->t.plan, j, x, false, all, &found) != FAR_OK) {
        printf("%s\n", far_ctx_message(a->ctx));
        return false;
    }
    a->score->tight += own[j].high - own[j].low < 1e-6 * far_range_size(own[j]);
    return mpfr_cmp_d(f[j], own[j].low) >= 0 && mpfr_cmp_d(f[j], own[j].high) <= 0;
}

static void judge(const attack *a, int64_t j, double value, const double *x, bool sampled)
{
    const far_bound *b = far_certificate_bound(a->c, j);
    bool fine = obeys(b, value, x, a->t.net->info.inputs);
    a->score->not_finite += !isfinite(value);
    if (fine && !sampled) {
        return;
    }
    a->score->sampled++;
    if (!truly_obeys(a, b, j, x)) {
        complain(a, j, "f is beyond, the engine says", value, x);
    } else if (!is_enclosed(a, j, x)) {
        complain(a, j, "the enclosure of this point is wrong, the engine says", value, x);
    } else if (!fine && isfinite(value)) {
        double over = fmax(value - b->highest, fmax(b->lowest - value, fabs(value) - b->tightest));
        if (b->verdict == FAR_BOUNDED) {
            a->score->engine_beyond++;
            a->score->engine_excess = fmax(a->score->engine_excess, over / b->tightest);
        }
    }
}

/* n points; the largest |value - middle| of every output is left in front for climbing. */
static void try_block(const attack *a, int64_t n, const double *x, double *f)
{
    int64_t d = a->t.net->info.inputs, p = a->t.net->info.outputs;
    far_mat in = far_mat_view((double *)x, n, d, FAR_F64), out = far_mat_view(f, n, p, FAR_F64);
    if (far_net_eval_raw(a->ctx, a->t.net, &in, &out) != FAR_OK) {
        printf("evaluation: %s\n", far_ctx_message(a->ctx));
        a->score->wrong++;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < p; j++) {
            int64_t k = a->score->points + i;
            judge(a, j, f[i * p + j], x + i * d, k % SAMPLED == 0);
        }
    }
    a->score->points += n;
}

/* One step uphill from every point; sign: of every point. */
static bool step_up(const attack *a, int64_t n, const double *sign, double rate, double *x)
{
    int64_t d = a->t.net->info.inputs, p = a->t.net->info.outputs;
    double *z = malloc((size_t)(2 * n * d + n * p) * sizeof *z), *g = z + n * d, *u = g + n * d;
    far_mat in = far_mat_view(z, n, d, FAR_F64), by = far_mat_view(u, n, p, FAR_F64),
            out = far_mat_view(g, n, d, FAR_F64);
    const double *centre = a->t.plan->input_centre, *scale = a->t.plan->input_scale;
    for (int64_t i = 0; i < n * d; i++) {
        z[i] = (x[i] - centre[i % d]) / scale[i % d];
    }
    for (int64_t i = 0; i < n * p; i++) {
        u[i] = i % p == i / p % p ? sign[i / p] : 0;
    }
    bool done = far_net_vjp(a->ctx, a->t.net, &in, &by, NULL, &out) == FAR_OK;
    for (int64_t i = 0; done && i < n; i++) {
        double size = 0, length = 0;
        for (int64_t k = 0; k < d; k++) {
            size = hypot(size, z[i * d + k]);
            length = hypot(length, g[i * d + k]);
        }
        for (int64_t k = 0; length > 0 && isfinite(length) && k < d; k++) {
            double to = z[i * d + k] + rate * fmax(size, 1e-3) * g[i * d + k] / length;
            x[i * d + k] = isfinite(to) ? centre[k] + scale[k] * to : x[i * d + k];
        }
    }
    free(z);
    return done;
}

static void attack_block(const attack *a, source *r, int64_t n)
{
    int64_t d = a->t.net->info.inputs, p = a->t.net->info.outputs;
    double *x = malloc((size_t)(n * (d + p + 1)) * sizeof *x), *f = x + n * d, *sign = f + n * p;
    for (int64_t i = 0; i < n; i++) {
        const far_bound *b = far_certificate_bound(a->c, pick(r, p));
        int64_t kind = pick(r, COUNT(MAKERS) + (b->at != NULL));
        if (kind < COUNT(MAKERS)) {
            MAKERS[kind](&a->t, r, x + i * d);
        } else {
            point_near(&a->t, r, b, x + i * d);
        }
        for (int64_t k = 0; k < d; k++) {
            x[i * d + k] = fmin(fmax(x[i * d + k], -1e300), 1e300);
        }
        sign[i] = chance(r, 0.5) ? 1 : -1;
    }
    try_block(a, n, x, f);
    int64_t few = n < 20 ? n : 20;
    double rate = 0.3;
    for (int turn = 0; turn < CLIMB && step_up(a, few, sign, rate, x); turn++, rate *= 0.6) {
        try_block(a, few, x, f);
    }
    free(x);
}

/* ---- what else a certificate says ----------------------------------------------------------- */

static double value_at(const attack *a, const double *u, double t, int64_t j)
{
    double x[MOST_INPUTS], f[8];
    int64_t d = a->t.net->info.inputs;
    far_mat in = far_mat_view(x, 1, d, FAR_F64);
    far_mat out = far_mat_view(f, 1, a->t.net->info.outputs, FAR_F64);
    for (int64_t i = 0; i < d; i++) {
        x[i] = t * u[i];
    }
    return far_net_eval_raw(a->ctx, a->t.net, &in, &out) == FAR_OK ? f[j] : NAN;
}

/* f grows like slope t^order, beyond any level; and from `beyond` on above the level asked for. */
static void judge_witness(const attack *a, int64_t j)
{
    const far_bound *b = far_certificate_bound(a->c, j);
    double last = 0, ratio = NAN, rest = 1e6 * fabs(value_at(a, b->direction, 0, j));
    int rising = 0, looked = 0;
    for (double t = 1e10; t < 1e200; t *= 1e10) {
        double f = value_at(a, b->direction, t, j), lead = b->slope * pow(t, b->order);
        if (!isfinite(f) || !isfinite(lead) || fabs(lead) > 1e290) {
            break;
        }
        if (fabs(lead) < rest) { /* not there yet */
            continue;
        }
        rising += fabs(f) > fabs(last);
        looked++;
        ratio = fabs(lead) > 1e-290 ? f / lead : ratio;
        last = f;
    }
    if (rising < looked || (looked > 0 && !(fabs(ratio - 1) < 1e-3))) {
        complain(a, j, "does not run away: f / lead", ratio, b->direction);
    }
    for (int i = 0; !isnan(b->beyond) && i < 60; i++) {
        double t = b->beyond * (1 + pow(10, -12 + 0.4 * i)), f = value_at(a, b->direction, t, j);
        if (isfinite(f) && !(fabs(f) >= b->level * (1 - 1e-9))) {
            complain(a, j, "is not above the level at t", t, b->direction);
            break;
        }
    }
}

static void judge_statements(const attack *a, int64_t j)
{
    const far_bound *b = far_certificate_bound(a->c, j);
    double methods[] = {b->proofs[0].bound, b->proofs[1].bound, b->proofs[2].bound,
                        b->proofs[3].bound};
    a->score->bounded += b->verdict == FAR_BOUNDED;
    a->score->unbounded += b->verdict == FAR_UNBOUNDED;
    a->score->undecided += b->verdict == FAR_UNDECIDED;
    if (b->verdict == FAR_UNBOUNDED) {
        judge_witness(a, j);
    }
    if (b->verdict != FAR_BOUNDED) {
        return;
    }
    for (int64_t i = 0; i < COUNT(methods); i++) {
        if (!(methods[i] >= b->tightest)) {
            complain(a, j, "a method's bound is below the tightest:", methods[i], NULL);
        }
    }
    if (!(b->lowest <= b->highest) || !(b->tightest >= -b->lowest && b->tightest >= b->highest)) {
        complain(a, j, "the range is not in the bound", b->tightest, NULL);
    }
    if (b->sup_found > b->tightest) {
        complain(a, j, "found is above the bound", b->sup_found, b->at);
    }
}

static far_status certify(far_ctx *ctx, const far_net *net, source *r, far_certificate **out)
{
    static const double SECONDS[] = {0, 0.01, 0.03, 0.1};
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = SECONDS[pick(r, COUNT(SECONDS))];
    o.starts = 4 + pick(r, 12);
    o.gap = log_uniform(r, -4, -0.5);
    o.seed = (uint64_t)pick(r, 1000);
    if (chance(r, 0.5)) {
        o.exceeds = log_uniform(r, -3, 6);
    }
    return far_net_certify(ctx, net, &o, out);
}

static void attack_network(far_ctx *ctx, uint64_t seed, uint64_t number, int64_t points, score *s)
{
    source r = {.seed = seed + (number << 20)};
    attack a = {.ctx = ctx, .seed = seed, .number = number, .score = s};
    far_certificate *c = NULL;
    while (!draw_subject(ctx, &r, &a.t)) {
    }
    s->networks++;
    far_status st = certify(ctx, a.t.net, &r, &c);
    if (st != FAR_OK) {
        bool known = strstr(far_ctx_message(ctx), "beyond the range of float64") != NULL;
        s->refused++;
        s->wrong += !known;
        printf("%s network %llu (%s; %s): %s\n", known ? "refused" : "FAILED",
               (unsigned long long)number, a.t.net->text, a.t.spoilt, far_ctx_message(ctx));
    } else {
        a.c = c;
        a.exact = mp_program_create(a.t.net, MP_PROGRAM_EXACT);
        s->wrong += far_net_boxes(a.t.plan, true) != FAR_OK; /* which enclosures look at */
        for (int64_t j = 0; j < a.t.net->info.outputs; j++) {
            judge_statements(&a, j);
        }
        int64_t before = s->points;
        while (s->points - before < points) {
            attack_block(&a, &r, BLOCK);
        }
        mp_program_destroy(a.exact);
    }
    far_certificate_destroy(c);
    subject_free(&a.t);
}

int main(int argc, char **argv)
{
    int64_t networks = argc > 1 ? atoll(argv[1]) : CI_NETWORKS;
    int64_t points = argc > 2 ? atoll(argv[2]) : CI_POINTS;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    far_ctx *ctx = NULL;
    score s = {0};
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return 1;
    }
    for (int64_t k = networks < 0 ? -networks : 0; k < (networks < 0 ? 1 - networks : networks);
         k++) {
        attack_network(ctx, seed, (uint64_t)k, points, &s);
        fflush(stdout);
    }
    printf("seed %llu: %lld networks, %lld points, %lld values in %d bits: %lld wrong\n"
           "outputs: %lld bounded, %lld unbounded, %lld undecided; %lld networks refused\n"
           "float64 went beyond a true bound %lld times, by %.3g of it at most; %lld values were "
           "not finite; %lld points enclosed to 6 digits\n",
           (unsigned long long)seed, (long long)s.networks, (long long)s.points,
           (long long)s.sampled, MP_PROGRAM_EXACT, (long long)s.wrong, (long long)s.bounded,
           (long long)s.unbounded, (long long)s.undecided, (long long)s.refused,
           (long long)s.engine_beyond, s.engine_excess, (long long)s.not_finite,
           (long long)s.tight);
    far_ctx_destroy(ctx);
    return s.wrong > 0;
}
