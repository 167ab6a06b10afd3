/*
 * Forged certificates: one to three fields of valid ones are changed, for many predictors of all
 * kinds, and what the check accepts must still be true. That is judged without the checker: by
 * values of f at thousands of points, near and far, at the stated point and along the stated
 * direction, and by the numbers of the certificate as it was.
 *
 *     test_certificate_forgery [MUTANTS [SEED]]
 */
#include "../../src/certify/certify_internal.h"
#include "../../src/certify/net_certify.h"
#include "../../src/data/frame_internal.h"
#include "chance.h"

#include <farfield/farfield.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))
#define CHECK_SECONDS 0.05 /* of branch and bound, for each mutant */
enum { POINTS = 4000, MOST_OUTPUTS = 4, MOST_INPUTS = 4, MOST_NODES = 600, RAY = 60 };

static far_ctx *ctx;

static void must(far_status st)
{
    if (st != FAR_OK) {
        fprintf(stderr, "%s: %s\n", far_status_name(st), far_ctx_message(ctx));
        exit(1);
    }
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
}

/* ---- chance -------------------------------------------------------------------------------- */

static uint64_t seed, drawn;

static int64_t draw(int64_t below)
{
    return (int64_t)(far_random_bits(seed, drawn++) % (uint64_t)below);
}

/* ---- predictors ---------------------------------------------------------------------------- */

typedef struct subject {
    const char *arch;
    far_model *model;
    far_net *net;
    int64_t inputs, outputs;
    char *text;                                     /* its certificate */
    json_t *json;                                   /* the same */
    double least[MOST_OUTPUTS], most[MOST_OUTPUTS]; /* of f, at many points */
    bool shaped;
    double box[2]; /* NAN: all inputs */
    bool moved;    /* it is the box of a mutant */
} subject;

#define LINE "x,y\n-2,1\n-1,-0.5\n0,0.3\n1,1.2\n2,-0.7\n"
#define PLANE "x,v,y,z\n-1,0,1,0.1\n0.5,1,-1,0.4\n1,-1,0.5,-2\n0,0.3,2,1\n2,1.5,-0.2,0.6\n"
#define FLAT "x,y,z\n-1,3,1\n0,3,2\n1,3,-1\n"

static const struct {
    const char *csv, *target, *arch;
    double exceeds, seconds;
    far_metric_kind metric; /* with what follows as its map */
    double map[4];
} MODELS[] = {
    {LINE, "y", "dense ln relu dense", NAN, 20, FAR_METRIC_NONE, {0}},
    {LINE, "y", "dense ln relu dense relu dense", NAN, 0, FAR_METRIC_NONE, {0}},
    {PLANE, "y,z", "dense ln relu dense", NAN, 2, FAR_METRIC_NONE, {0}},
    {PLANE, "y,z", "dense ln gelu dense", NAN, 0, FAR_METRIC_NONE, {0}},
    {LINE, "y", "dense relu dense ln relu dense", NAN, 5, FAR_METRIC_NONE, {0}},
    {LINE, "y", "dense relu dense", 40, 0, FAR_METRIC_NONE, {0}},
    {PLANE, "y,z", "dense relu dense relu dense", NAN, 0, FAR_METRIC_NONE, {0}},
    {FLAT, "y,z", "dense relu dense", 7, 0, FAR_METRIC_NONE, {0}},
    {FLAT, "y,z", "dense ln relu dense", NAN, 0, FAR_METRIC_NONE, {0}},
    {LINE, "y", "dense tanh dense", NAN, 0, FAR_METRIC_NONE, {0}},
    {PLANE, "y,z", "dense ln relu dense", NAN, 2, FAR_METRIC_DIAGONAL, {0.7, 0}},
    {PLANE, "y,z", "dense ln gelu dense", NAN, 0, FAR_METRIC_FULL, {1, -0.5, -0.5, 0.25}},
    {PLANE, "y,z", "dense relu dense", 40, 0, FAR_METRIC_FULL, {1, -0.5, -0.5, 0.25}},
};

static const struct {
    const char *arch;
    int64_t inputs;
    double exceeds, seconds;
    bool shaped;
    double box[2]; /* 0, 0: all inputs */
} NETS[] = {
    {"dense(3) ln relu dense(1)", 1, NAN, 20, false, {0, 0}},
    {"dense(3) ln relu dense(2) relu dense(2)", 2, NAN, 5, false, {0, 0}},
    {"dense(4) rms tanh dense(1)", 2, NAN, 0, false, {0, 0}},
    {"rms dense(3) ln relu dense(1)", 1, NAN, 20, false, {0, 0}},
    {"dense(3) tanh dense(3)", 1, NAN, 5, false, {0, 0}},
    {"dense(3) relu dense(1)", 1, 30, 0, false, {0, 0}},
    {"dense(3) relu dense(2)", 3, NAN, 0, false, {0, 0}},
    {"dense(2, nobias) relu(2) dense(2)", 2, 5, 0, false, {0, 0}},
    {"dense(3) gelu dense(1)", 2, NAN, 0, false, {0, 0}},
    {"dense(3) batchnorm relu dense(2)", 2, 3, 0, false, {0, 0}},
    {"sequence(3x1) dense(4) ln skip(attention(2, causal)) last dense(1)", 3, NAN, 0, true, {0, 0}},
    {"image(1x2x2) conv(3, 2, pad=1) ln(affine) relu gap dense(2)", 4, NAN, 0, true, {0, 0}},
    {"sequence(2x1) dense(2) attention(1) last dense(1)", 2, NAN, 0, true, {0, 0}},
    {"image(1x2x2) conv(3, 2, pad=1) elu maxpool(2) flatten dense(2)", 4, 7, 0, true, {0, 0}},
    {"image(1x2x2) conv(3, 2, pad=1) relu maxpool(2) flatten dense(2)", 4, NAN, 0, true, {0, 1}},
    {"dense(3) mish dense(1)", 2, NAN, 0, true, {-1, 2}},
    {"dense(3) softplus dense(3) sigmoid dense(2)", 2, NAN, 5, false, {0, 0}},
};

static far_certify_opts options(double exceeds, double seconds)
{
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.exceeds = exceeds;
    o.seconds = seconds;
    o.starts = 8;
    return o;
}

static void make_model(int64_t i, subject *s)
{
    far_frame *frame;
    far_certificate *c;
    far_fit_opts o;
    far_certify_opts how = options(MODELS[i].exceeds, MODELS[i].seconds);
    far_fit_opts_init(&o);
    o.target = MODELS[i].target;
    o.arch = s->arch = MODELS[i].arch;
    o.ridge = 0.01;
    must(far_frame_parse_bytes(ctx, "test", MODELS[i].csv, (int64_t)strlen(MODELS[i].csv), NULL,
                               &frame));
    far_metric metric = {MODELS[i].metric, 2, (double *)MODELS[i].map};
    must(MODELS[i].metric == FAR_METRIC_NONE
             ? far_model_fit(ctx, frame, &o, &s->model)
             : far_model_fit_behind(ctx, frame, &o, &metric, &s->model));
    must(far_model_certify(ctx, s->model, &how, &c));
    must(far_certificate_json(ctx, c, &s->text));
    s->inputs = s->model->info.inputs;
    s->outputs = s->model->info.outputs;
    far_certificate_destroy(c);
    far_frame_destroy(frame);
}

/* The last two outputs of the fifth and seventh network do nothing: undecided, or constant. */
static void make_net(int64_t i, subject *s)
{
    far_certificate *c;
    far_net_opts o;
    far_certify_opts how = options(NETS[i].exceeds, NETS[i].seconds);
    far_net_opts_init(&o);
    o.inputs = s->inputs = NETS[i].inputs;
    o.seed = (uint64_t)i + 5;
    s->arch = NETS[i].arch;
    must(far_net_create(ctx, s->arch, &o, &s->net));
    int64_t n = s->net->info.parameters;
    for (int64_t k = 0; (i == 4 || i == 6) && k < 3; k++) { /* weights into the last output */
        s->net->params[n - (i == 4 ? 6 : 5) + k] = 0;
    }
    s->shaped = NETS[i].shaped;
    if (NETS[i].box[0] < NETS[i].box[1]) {
        how.box_low = s->box[0] = NETS[i].box[0];
        how.box_high = s->box[1] = NETS[i].box[1];
    }
    must(far_net_certify(ctx, s->net, &how, &c));
    must(far_certificate_json(ctx, c, &s->text));
    s->outputs = s->net->info.outputs;
    far_certificate_destroy(c);
}

static far_status check(const subject *s, const char *text, double seconds)
{
    return s->net ? far_net_certificate_check(ctx, s->net, text, seconds)
                  : far_model_certificate_check(ctx, s->model, text, seconds);
}

/* ---- values of f --------------------------------------------------------------------------- */

static void eval(const subject *s, const double *raw, int64_t n, double *out)
{
    double *x = malloc((size_t)(n * s->inputs) * sizeof *x);
    far_mat in = far_mat_view(x, n, s->inputs, FAR_F64);
    far_mat values = far_mat_view(out, n, s->outputs, FAR_F64);
    for (int64_t k = 0; k < n * s->inputs; k++) {
        int64_t i = k % s->inputs;
        x[k] = s->net ? raw[k]
                      : (raw[k] - far_input_centre(s->model->columns)[i]) /
                            far_input_scale(s->model->columns)[i];
    }
    must(s->net ? far_net_eval_raw(ctx, s->net, &in, &values)
                : far_model_eval(ctx, s->model, &in, &values));
    free(x);
}

/* f of output j at t u. */
static double along(const subject *s, int64_t j, const double *u, double t)
{
    double raw[MOST_INPUTS], out[MOST_OUTPUTS];
    for (int64_t i = 0; i < s->inputs; i++) {
        raw[i] = t * u[i];
    }
    eval(s, raw, 1, out);
    return out[j];
}

/* Of every size from 1e-3 to 1e12, and close around the data. */
static void find_range(subject *s)
{
    double *x = malloc((size_t)(POINTS * s->inputs) * sizeof *x);
    double *f = malloc((size_t)(POINTS * s->outputs) * sizeof *f);
    for (int64_t k = 0; k < POINTS * s->inputs; k++) {
        uint64_t i = (uint64_t)(k / s->inputs);
        double size = i % 2 ? 3 : pow(10, -3 + 15 * far_random_uniform(1, i));
        x[k] = i == 0 ? 0 : size * far_random_normal(2, (uint64_t)k);
        if (!isnan(s->box[0])) {
            double part = i % 2 ? far_random_uniform(3, (uint64_t)k)
                                : far_random_uniform(3, (uint64_t)k) < 0.5;
            x[k] = s->box[0] + part * (s->box[1] - s->box[0]);
        }
    }
    eval(s, x, POINTS, f);
    for (int64_t j = 0; j < s->outputs; j++) {
        s->least[j] = INFINITY;
        s->most[j] = -INFINITY;
        for (int64_t i = 0; i < POINTS; i++) {
            s->least[j] = fmin(s->least[j], f[i * s->outputs + j]);
            s->most[j] = fmax(s->most[j], f[i * s->outputs + j]);
        }
    }
    free(x);
    free(f);
}

/* ---- the judge ----------------------------------------------------------------------------- */

static char why[200];

static bool lie(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return false;
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    return json_is_number(v)                   ? json_number_value(v)
           : text && strcmp(text, "inf") == 0  ? INFINITY
           : text && strcmp(text, "-inf") == 0 ? -INFINITY
                                               : NAN;
}

static const char *word(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static bool is_near(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static const char *const CHOSEN[] = {
    "tightest", "lowest",  "highest", "sup_found", "ratio",   "at",        "at_infinity",
    "method",   "proofs",  "growth",  "offset",    "witness", "unchecked", "outputs",
    "verdict",  "theorem", "output",  "B1",        "B2",      "B3",        "box"};

static bool is_chosen(const char *key)
{
    for (int64_t i = 0; i < COUNT(CHOSEN); i++) {
        if (strcmp(key, CHOSEN[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The same, but for rounding of the numbers in it. */
static bool is_alike(const json_t *said, const json_t *value, double tolerance)
{
    if (json_is_real(value) && json_is_number(said)) {
        return is_near(json_number_value(said), json_number_value(value), tolerance);
    }
    bool list = json_is_array(value) && json_is_array(said);
    if (!list || json_array_size(said) != json_array_size(value)) {
        return json_equal(said, value);
    }
    bool same = true;
    for (size_t i = 0; same && i < json_array_size(value); i++) {
        same = is_alike(json_array_get(said, i), json_array_get(value, i), tolerance);
    }
    return same;
}

static bool is_metric(const json_t *said, const json_t *value)
{
    bool same = json_is_object(said) && json_object_size(said) == json_object_size(value);
    const char *key;
    json_t *one;
    json_object_foreach((json_t *)value, key, one)
    {
        same = same && is_alike(json_object_get(said, key), one, 2e-9);
    }
    return same;
}

/* The same fields, and where there is no choice the same in them. */
static bool same_frame(const json_t *stated, const json_t *truth)
{
    const char *key;
    json_t *value;
    if (json_object_size(stated) != json_object_size(truth)) {
        return lie("%zu fields", json_object_size(stated));
    }
    json_object_foreach((json_t *)truth, key, value)
    {
        const json_t *said = json_object_get(stated, key);
        if (!said) {
            return lie("no %s", key);
        }
        bool real = json_is_real(value) && json_is_number(said);
        bool same = real ? is_near(json_number_value(said), json_number_value(value), 2e-6)
                    : strcmp(key, "metric") == 0 ? is_metric(said, value)
                                                 : json_equal(said, value);
        if (!same && !is_chosen(key)) {
            return lie("%s is another", key);
        }
    }
    return true;
}

/* Not below the truth, of which the certificate states 1e-6 more. */
static bool reaches(const json_t *o, const json_t *truth, const char *key)
{
    double least = number(truth, key), stated = number(o, key);
    if (isnan(least) && isnan(stated)) { /* both state nothing */
        return true;
    }
    least = isfinite(least) ? least - 1.0000011e-6 * fabs(least) : least;
    return stated >= least || lie("%s is too small: %.17g", key, stated);
}

static bool is_word(const char *text, const char *const *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return lie("method %s", text);
}

/* The bound of that method; INFINITY: it is not listed. */
static double proof(const json_t *o, const char *method)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(o, "proofs"), i, one)
    {
        if (strcmp(word(one, "method"), method) == 0) {
            return number(one, "bound");
        }
    }
    return INFINITY;
}

/* What is listed is proven by a method there is, and above every value of f. */
static bool judge_proofs(const subject *s, const json_t *o, const json_t *truth,
                         const char *const *methods, double least)
{
    size_t listed = json_array_size(json_object_get(o, "proofs")), known = 0;
    for (int i = 0; i < 4; i++) {
        double stated = proof(o, methods[i]), proven = proof(truth, methods[i]);
        known += isfinite(stated);
        if (s->shaped && i == 2 && isinf(stated)) { /* as in older certificates */
            continue;
        }
        if (s->moved && isfinite(proven)) { /* it is proven over another box */
            proven = fmin(proven, stated);
        }
        if (i < 3 && (isfinite(stated) != isfinite(proven) ||
                      (isfinite(proven) && !(stated >= proven * (1 - 1.0000011e-6))))) {
            return lie("%s is stated as %g", methods[i], stated);
        }
        if (!(stated >= least)) {
            return lie("%s: %g", methods[i], stated);
        }
    }
    return known == listed || lie("%zu proofs", listed);
}

static bool judge_bounded(const subject *s, const json_t *o, const json_t *truth, int64_t j)
{
    static const char *const BALL_BY[] = {"norm ball", "spectral", "relaxation",
                                          "branch and bound"};
    static const char *const BOX_BY[] = {"intervals", "spectral", "relaxation", "branch and bound"};
    const char *const *NETWORK_BY = isnan(s->box[0]) ? BALL_BY : BOX_BY;
    static const char *const MODEL[] = {"B1", "B2", "B3"};
    static const char *const MODEL_BY[] = {"norm", "bias", "quadratic", "branch and bound"};
    double most = fmax(fabs(s->least[j]), fabs(s->most[j])), noise = 1e-12 * most;
    double tightest = number(o, "tightest"), found = number(o, "sup_found");
    double lowest = number(o, "lowest"), highest = number(o, "highest");
    if (!(tightest >= most - noise && lowest <= s->least[j] + noise &&
          highest >= s->most[j] - noise && isfinite(tightest) && lowest >= -tightest &&
          highest <= tightest)) {
        return lie("f lies in [%.17g, %.17g]", s->least[j], s->most[j]);
    }
    for (int i = 0; i < 3; i++) {
        if (!reaches(o, truth, MODEL[i]) || (!s->net && !(number(o, MODEL[i]) >= most - noise))) {
            return lie("%s", MODEL[i]);
        }
    }
    if (!judge_proofs(s, o, truth, s->net ? NETWORK_BY : MODEL_BY, most - noise)) {
        return false;
    }
    if (!is_word(word(o, "method"), s->net ? NETWORK_BY : MODEL_BY, 4)) {
        return false;
    }
    bool searched = strcmp(word(o, "method"), "branch and bound") == 0;
    if (searched && !isfinite(proof(o, "branch and bound"))) {
        return lie("branch and bound without a bound");
    }
    double at[MOST_INPUTS];
    const json_t *list = json_object_get(o, "at");
    if ((int64_t)json_array_size(list) != s->inputs) {
        return lie("at");
    }
    for (int64_t i = 0; i < s->inputs; i++) {
        at[i] = json_number_value(json_array_get(list, (size_t)i));
        if (at[i] < s->box[0] || at[i] > s->box[1]) {
            return lie("at is outside the box");
        }
    }
    bool infinite = json_is_true(json_object_get(o, "at_infinity"));
    double value = fabs(along(s, j, at, infinite ? 1e14 : 1));
    double slack = infinite ? 1e-5 : 1e-12;
    if (!(found <= value * (1 + slack) + 1e-15 && found >= value * (1 - 1e-5 - slack))) {
        return lie("sup_found %.17g where |f| is %.17g", found, value);
    }
    return (found == 0 ? json_is_null(json_object_get(o, "ratio"))
                       : is_near(number(o, "ratio"), tightest / found, 1e-5)) ||
           lie("ratio");
}

static bool judge_open(const json_t *o, const json_t *truth, const subject *s)
{
    if (!isnan(number(o, "tightest")) || !isnan(number(o, "lowest")) ||
        !isnan(number(o, "highest")) || json_array_size(json_object_get(o, "proofs")) > 0 ||
        !json_is_null(json_object_get(o, "sup_found")) || !json_is_null(json_object_get(o, "at")) ||
        !json_is_null(json_object_get(o, "ratio")) ||
        !json_is_false(json_object_get(o, "at_infinity")) ||
        !json_is_null(json_object_get(o, "method"))) {
        return lie("a bound");
    }
    return !s->net || (reaches(o, truth, "growth") && reaches(o, truth, "offset"));
}

static bool judge_witness(const subject *s, const json_t *o, int64_t j)
{
    const json_t *w = json_object_get(o, "witness"), *list = json_object_get(w, "direction");
    double u[MOST_INPUTS], square = 0, slope = number(w, "slope"), order = number(w, "order");
    if (json_object_size(w) != 7 || (int64_t)json_array_size(list) != s->inputs) {
        return lie("witness");
    }
    for (int64_t i = 0; i < s->inputs; i++) {
        u[i] = json_number_value(json_array_get(list, (size_t)i));
        square += u[i] * u[i];
    }
    if (!is_near(square, 1, 1e-8) || !(order > 0) || slope == 0) {
        return lie("direction of norm %g", sqrt(square));
    }
    double far_out = 1e9, f = along(s, j, u, far_out);
    if (!is_near(f / pow(far_out, order), slope, 1e-5)) {
        return lie("slope %g, not %g", slope, f / pow(far_out, order));
    }
    if (!is_near(number(w, "confirmed"), 1, 0.01)) {
        return lie("confirmed");
    }
    double intercept = number(w, "intercept"), level = number(w, "level");
    double beyond = number(w, "beyond");
    if (!isnan(intercept)) {
        f = 2 * along(s, j, u, 1e5) - along(s, j, u, 2e5);
        if (order != 1 || fabs(f - intercept) > 1e-3 * (fabs(intercept) + 30 * fabs(slope))) {
            return lie("intercept %g, not %g", intercept, f);
        }
    }
    if (isnan(level) != isnan(beyond) && !(isnan(beyond) && s->net)) {
        return lie("level without beyond");
    }
    for (int i = 0; !isnan(beyond) && i < RAY; i++) {
        double t = beyond * pow(1e4, (double)i / RAY) + 1e-9 * (i + 1);
        if (t < 1e100 && !(fabs(along(s, j, u, t)) >= level * (1 - 1e-9))) {
            return lie("beyond %g: |f(%g)| is below %g", beyond, t, level);
        }
    }
    return true;
}

/* One output: its own verdict, or an open one where it is not proven to be bounded. */
static bool judge_output(const subject *s, const json_t *o, int64_t j)
{
    const json_t *truth = json_array_get(json_object_get(s->json, "outputs"), (size_t)j);
    const char *verdict = word(o, "verdict"), *right = word(truth, "verdict");
    if (!same_frame(o, truth) ||
        !json_equal(json_object_get(o, "output"), json_object_get(truth, "output"))) {
        return false;
    }
    bool open = strcmp(right, "bounded") != 0;
    if (strcmp(verdict, right) != 0 && !(open && strcmp(verdict, "undecided") == 0)) {
        return lie("verdict %s", verdict);
    }
    if (strcmp(verdict, right) == 0 && strcmp(word(o, "theorem"), word(truth, "theorem")) != 0) {
        return lie("theorem");
    }
    if (!open) {
        return json_is_null(json_object_get(o, "witness")) ? judge_bounded(s, o, truth, j)
                                                           : lie("witness of a bounded output");
    }
    if (!judge_open(o, truth, s)) {
        return false;
    }
    return strcmp(verdict, "unbounded") == 0             ? judge_witness(s, o, j)
           : json_is_null(json_object_get(o, "witness")) ? true
                                                         : lie("witness of what is undecided");
}

static int badness(const json_t *o)
{
    const char *verdict = word(o, "verdict");
    return strcmp(verdict, "unbounded") == 0 ? 2 : strcmp(verdict, "undecided") == 0;
}

/* The top repeats one output, and there is none worse. */
static bool judge_top(const json_t *o)
{
    const json_t *outputs = json_object_get(o, "outputs"), *one;
    size_t j;
    bool repeats = false;
    json_array_foreach((json_t *)outputs, j, one)
    {
        const char *key;
        json_t *value;
        bool same = true;
        json_object_foreach((json_t *)one, key, value)
        {
            same = same && json_equal(json_object_get(o, key), value);
        }
        repeats = repeats || same;
        if (badness(one) > badness(o) ||
            (badness(one) == badness(o) && number(one, "tightest") > number(o, "tightest"))) {
            return lie("a worse output");
        }
    }
    return repeats || lie("the top is no output");
}

static bool judge_unchecked(const json_t *o)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value)
    {
        if (!json_is_boolean(value) && !(json_number_value(value) >= 0 && json_is_number(value))) {
            return lie("unchecked %s", key);
        }
    }
    return true;
}

/* What is stated of another box is held against values in that one. */
static bool take_box(subject *s, const json_t *o)
{
    const json_t *box = json_object_get(o, "box");
    if (!box && isnan(s->box[0])) {
        return true;
    }
    if (json_array_size(box) != 2 || isnan(s->box[0])) {
        return lie("box");
    }
    double low = json_number_value(json_array_get(box, 0)), was = s->box[0];
    double high = json_number_value(json_array_get(box, 1)), wide = s->box[1];
    s->box[0] = low;
    s->box[1] = high;
    s->moved = low != was || high != wide;
    if (s->moved) {
        find_range(s);
    }
    return low <= high || lie("no box");
}

static bool is_true(const subject *whole, const json_t *o)
{
    subject other = *whole, *s = &other;
    if (!take_box(s, o)) {
        return false;
    }
    const json_t *outputs = json_object_get(o, "outputs");
    if (!same_frame(o, s->json) || (int64_t)json_array_size(outputs) != s->outputs) {
        return false;
    }
    for (int64_t j = 0; j < s->outputs; j++) {
        if (!judge_output(s, json_array_get(outputs, (size_t)j), j)) {
            return false;
        }
    }
    const json_t *u = json_object_get(o, "unchecked");
    return judge_top(o) && same_frame(u, u) &&
           json_object_size(u) == json_object_size(json_object_get(s->json, "unchecked")) &&
           judge_unchecked(u);
}

/* ---- the forger ---------------------------------------------------------------------------- */

/* A value in its place. */
typedef struct node {
    json_t *in; /* an object or a list */
    const char *key;
    size_t at;
    json_t *value;
} node;

static int64_t gather(json_t *in, node *nodes, int64_t count)
{
    const char *key;
    size_t at;
    json_t *value;
    json_object_foreach(in, key, value)
    {
        if (count < MOST_NODES) {
            nodes[count++] = (node){in, key, 0, value};
            count = gather(value, nodes, count);
        }
    }
    json_array_foreach(in, at, value)
    {
        if (count < MOST_NODES) {
            nodes[count++] = (node){in, NULL, at, value};
            count = gather(value, nodes, count);
        }
    }
    return count;
}

static void replace(const node *n, json_t *value)
{
    if (n->key) {
        json_object_set_new(n->in, n->key, value);
    } else {
        json_array_set_new(n->in, n->at, value);
    }
}

static void drop(const node *n)
{
    if (n->key) {
        json_object_del(n->in, n->key);
    } else {
        json_array_remove(n->in, n->at);
    }
}

static json_t *other_number(double value)
{
    static const double FACTORS[] = {0.5,       0.9,      0.99,  0.999, 0.999999, 0.9999999,
                                     1.0000001, 1.000001, 1.001, 1.01,  1.1,      2,
                                     10,        1e6,      -1,    0,     1e-9,     1e150};
    static const char *const WORDS[] = {"inf", "-inf", "nan", "NaN", "1", "0.5"};
    switch (draw(8)) {
    case 0:
        return json_string(WORDS[draw(COUNT(WORDS))]);
    case 1:
        return json_real(nextafter(value, draw(2) ? INFINITY : -INFINITY));
    case 2:
        return json_integer((json_int_t)draw(5) - 1);
    case 3:
        return json_real(value + (draw(2) ? 1 : -1) * pow(10, -(double)draw(9)));
    default:
        return json_real(fmin(value * FACTORS[draw(COUNT(FACTORS))], 1e300));
    }
}

static json_t *other_word(const subject *subjects, int64_t count)
{
    static const char *const WORDS[] = {"bounded",    "unbounded",
                                        "undecided",  "bounded: safe everywhere",
                                        "BOUNDED",    "",
                                        "norm",       "bias",
                                        "quadratic",  "branch and bound",
                                        "norm ball",  "spectral",
                                        "relaxation", "constant",
                                        "monotone",   "search",
                                        "proven",     "outward",
                                        "inward",     "inf",
                                        "-inf",       "y",
                                        "z",          "y1",
                                        "y2"};
    static const char *const KEYS[] = {"theorem", "arch",   "hash", "data_hash",
                                       "output",  "format", "C_by", "method"};
    if (draw(2)) {
        return json_string(WORDS[draw(COUNT(WORDS))]);
    }
    const json_t *from = subjects[draw(count)].json;
    json_t *value = json_object_get(from, KEYS[draw(COUNT(KEYS))]);
    return json_is_string(value) ? json_copy(value) : json_null();
}

/* Turned, turned over, or another order. */
static void change_list(json_t *list)
{
    size_t n = json_array_size(list), i = (size_t)draw((int64_t)n + 1) % (n ? n : 1);
    if (n == 0) {
        return;
    }
    json_t *first = json_incref(json_array_get(list, i));
    if (draw(3) == 0) {
        json_array_remove(list, i);
    } else if (draw(2) && n > 1) {
        json_t *second = json_incref(json_array_get(list, (i + 1) % n));
        json_array_set(list, i, second);
        json_array_set(list, (i + 1) % n, first);
        json_decref(second);
    } else if (n > 1 && json_is_number(first) &&
               json_is_number(json_array_get(list, (i + 1) % n))) {
        double a = json_number_value(first), angle = pow(10, -(double)draw(8));
        double b = json_number_value(json_array_get(list, (i + 1) % n));
        json_array_set_new(list, i, json_real(a * cos(angle) - b * sin(angle)));
        json_array_set_new(list, (i + 1) % n, json_real(a * sin(angle) + b * cos(angle)));
    } else {
        json_array_append(list, first);
    }
    json_decref(first);
}

static void change_object(json_t *o, const node *nodes, int64_t count)
{
    static const char *const KEYS[] = {"safe",    "note",     "B4",    "along",    "seconds",
                                       "Verdict", "verdict ", "level", "tightest", "bounded"};
    json_t *value = draw(2) ? json_true() : json_deep_copy(nodes[draw(count)].value);
    json_object_set_new(o, KEYS[draw(COUNT(KEYS))], value);
}

/* One change somewhere. */
static void change(json_t *whole, const subject *subjects, int64_t subject_count)
{
    static node nodes[MOST_NODES];
    int64_t count = gather(whole, nodes, 0);
    const node *n = &nodes[draw(count)], *other = &nodes[draw(count)];
    json_t *copy;
    switch (draw(10)) {
    case 0:
        drop(n);
        return;
    case 1: /* what stands elsewhere */
        copy = json_deep_copy(other->value);
        replace(n, copy);
        return;
    case 2: /* the same field of another output */
        for (int64_t i = 0; n->key && i < count; i++) {
            const node *twin = &nodes[(i + draw(count)) % count];
            if (twin->key && twin->in != n->in && strcmp(twin->key, n->key) == 0) {
                copy = json_deep_copy(twin->value);
                replace(n, copy);
                return;
            }
        }
        break;
    case 3:
        replace(n, json_null());
        return;
    default:
        break;
    }
    if (json_is_number(n->value)) {
        replace(n, other_number(json_number_value(n->value)));
    } else if (json_is_string(n->value)) {
        replace(n, draw(3) ? other_word(subjects, subject_count) : json_real((double)draw(9)));
    } else if (json_is_array(n->value)) {
        change_list(n->value);
    } else if (json_is_object(n->value)) {
        change_object(n->value, nodes, count);
    } else {
        replace(n, json_is_boolean(n->value) ? json_boolean(!json_is_true(n->value))
                                             : json_real((double)draw(3)));
    }
}

/* Mostly the top follows the output that decided, as a careful forger would have it; or an output
 * the top. */
static void keep_summary(json_t *o, const subject *s)
{
    const json_t *name = json_object_get(s->json, "output");
    json_t *outputs = json_object_get(o, "outputs"), *one, *truth;
    size_t j;
    json_array_foreach(json_object_get(s->json, "outputs"), j, truth)
    {
        one = json_array_get(outputs, j);
        const char *key;
        json_t *value;
        if (!json_equal(json_object_get(truth, "output"), name) || !json_is_object(one)) {
            continue;
        }
        if (draw(3)) {
            json_object_foreach(truth, key, value)
            {
                json_object_del(o, key);
            }
            json_object_update(o, one);
        } else {
            json_object_foreach(truth, key, value)
            {
                json_object_set(one, key, json_object_get(o, key));
            }
        }
    }
}

/* Changes of the text that no reader of JSON may let pass: *fatal. */
static char *spoil(char *text, bool *fatal)
{
    static const char *const ADDED[] = {"x", "{}", "\"a\": 1", "]", ",", "\x01"};
    size_t length = strlen(text);
    char *out = malloc(length + 200);
    strcpy(out, text);
    *fatal = draw(40) == 0;
    if (*fatal && draw(2)) {
        strcat(out, ADDED[draw(COUNT(ADDED))]);
    } else if (*fatal) {
        sprintf(out, "{\"%s\": 1, %s", draw(2) ? "tightest" : "format", text + 1);
    }
    free(text);
    return out;
}

typedef struct tally {
    int64_t same, refused, accepted, lies;
} tally;

static void forge(const subject *subjects, int64_t count, tally *t)
{
    const subject *s = &subjects[draw(count)];
    json_t *o = json_deep_copy(s->json);
    bool fatal;
    for (int64_t k = draw(3); k >= 0; k--) {
        change(o, subjects, count);
    }
    if (draw(4)) {
        keep_summary(o, s);
    }
    char *text = spoil(json_dumps(o, JSON_REAL_PRECISION(17)), &fatal);
    far_status st = check(s, text, CHECK_SECONDS);
    if (json_equal(o, s->json) && !fatal) {
        t->same++;
    } else if (st != FAR_OK) {
        require(st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT, "a forgery is refused as one");
        t->refused++;
    } else if (fatal || !is_true(s, o)) {
        t->lies++;
        printf("accepted of %s, but false (%s):\n%s\n", s->arch, fatal ? "its text" : why, text);
    } else {
        t->accepted++;
    }
    free(text);
    json_decref(o);
}

int main(int argc, char **argv)
{
    static subject subjects[COUNT(MODELS) + COUNT(NETS)];
    int64_t mutants = argc > 1 ? atoll(argv[1]) : draws(1000, 4000), verdicts[3] = {0};
    tally t = {0};
    far_ctx_opts opts;
    seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = 1;
    require(far_ctx_create(&opts, &ctx) == FAR_OK, "a context opens");
    for (int64_t i = 0; i < COUNT(subjects); i++) {
        subject *s = &subjects[i];
        s->box[0] = s->box[1] = NAN;
        (i < COUNT(MODELS) ? make_model(i, s) : make_net(i - COUNT(MODELS), s));
        s->json = json_loads(s->text, 0, NULL);
        find_range(s);
        must(check(s, s->text, 60));
        require(is_true(s, s->json), why[0] ? why : "an honest certificate is true");
        size_t j;
        json_t *one;
        json_array_foreach(json_object_get(s->json, "outputs"), j, one)
        {
            verdicts[badness(one)]++;
        }
    }
    require(verdicts[0] > 4 && verdicts[1] > 1 && verdicts[2] > 4, "all verdicts are there");
    for (int64_t i = 0; i < mutants; i++) {
        forge(subjects, COUNT(subjects), &t);
    }
    printf("seed %llu, %lld predictors, outputs: %lld bounded, %lld undecided, %lld unbounded\n",
           (unsigned long long)seed, (long long)COUNT(subjects), (long long)verdicts[0],
           (long long)verdicts[1], (long long)verdicts[2]);
    printf(
        "%lld mutants: %lld refused, %lld accepted and true, %lld unchanged, %lld false accepted\n",
        (long long)mutants, (long long)t.refused, (long long)t.accepted, (long long)t.same,
        (long long)t.lies);
    for (int64_t i = 0; i < COUNT(subjects); i++) {
        far_text_free(ctx, subjects[i].text);
        json_decref(subjects[i].json);
        far_model_destroy(subjects[i].model);
        far_net_destroy(subjects[i].net);
    }
    far_ctx_destroy(ctx);
    return t.lies > 0;
}
