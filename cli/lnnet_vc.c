/* farfield lnnet vc: L + 2 points shattered by L layers. */
#include "files.h"
#include "lnnet.h"
#include "report.h"
#include "show.h"

#include <farfield/nonlinear.h>
#include <stdio.h>

#define VERB "lnnet vc"

typedef struct vc_args {
    int64_t layers, seed;
    common_args common;
    const char *x; /* operand; NULL: points of the library's own */
} vc_args;

typedef struct job {
    vc_args args;
    session s;
    input points;
    far_shatter found;
} job;

#define AT(field) offsetof(vc_args, field)

static const option OPTIONS[] = {
    COUNT_OPTION("--layers", 'L', AT(layers), "L", "layers that have a norm", 1,
                 FAR_SHATTER_LAYERS_MOST),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of the points, without X", 0, INT64_MAX),
};

static const char USAGE[] = "lnnet vc --layers L [options] [X]";
static const char ABOUT[] =
    "Shatters L + 2 points: for each of their 2^(L + 2) labellings with two classes a network of "
    "at\n"
    "most L layers of three neurons and layer norm is built, and run on the points. So the VC\n"
    "dimension of such networks is at least L + 2. Exits with 0 only if all were realised.";
static const char NOTES[] =
    "X is a matrix of L + 2 rows; without it points of the plane are drawn.\n\n"
    "Example:\n"
    "  farfield lnnet vc --layers 8";

static int read_command_line(int argc, char **argv, vc_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->x = line.operands[0];
    if (code == OPTIONS_OK && a->layers < 1) {
        return usage_error(VERB, "--layers is missing: how many layers?");
    }
    return code;
}

static void tell_verdict(far_result *r, const far_shatter *f)
{
    char labelling[FAR_SHATTER_LAYERS_MOST + 3] = "";
    if (f->realised == f->labellings) {
        far_result_verdict(
            r, FAR_TONE_GOOD,
            "Shattered: all %lld labellings of %lld points by at most %lld layers, so "
            "the VC dimension of three neurons and %lld layers is at least %lld.",
            (long long)f->labellings, (long long)f->points, (long long)f->most_layers,
            (long long)f->layers, (long long)f->points);
        return;
    }
    for (int64_t i = 0; i < f->points; i++) {
        labelling[i] = f->failed >> i & 1 ? '1' : '0';
    }
    far_result_verdict(r, FAR_TONE_BAD,
                       "Not shattered: %lld of %lld labellings were realised; the first that was "
                       "not is %s",
                       (long long)f->realised, (long long)f->labellings, labelling);
}

static int tell(job *j)
{
    const far_shatter *f = &j->found;
    char seconds[SHOW_BYTES];
    bool shattered = f->realised == f->labellings;
    report out;
    int code = report_begin(&j->s, &j->args.common, "Points shattered by layer norms", &out);
    far_result *r = out.result;
    tell_verdict(r, f);
    far_result_count(r, "layers", f->layers, NULL, NULL);
    far_result_count(r, "points", f->points, NULL, NULL);
    far_result_count(r, "labellings", f->labellings, NULL, NULL);
    far_result_count(r, "realised", f->realised, NULL, NULL);
    far_result_flag(r, "shattered", shattered, NULL, NULL);
    far_result_count(r, "vc_at_least", shattered ? f->points : 0, NULL, NULL);
    far_result_count(r, "built", f->built, "networks",
                     "%lld built and run; the others differ by exchanging the classes",
                     (long long)f->built);
    far_result_count(r, "most_layers", f->most_layers, "layers", "%lld at most",
                     (long long)f->most_layers);
    far_result_number(r, "margin", f->margin, "margin", "%.3g at least", f->margin);
    far_result_number(r, "seconds", f->seconds, "time", "%s", show_time(f->seconds, seconds));
    return report_end(&out, code);
}

static int run(void *user)
{
    job *j = user;
    const vc_args *a = &j->args;
    int code = a->x ? input_read(VERB, j->s.ctx, a->x, FAR_F64, &j->points) : EXIT_DONE;
    if (code != EXIT_DONE) {
        return code;
    }
    interrupts_hold();
    far_status st = far_lnnet_shatter(j->s.ctx, a->layers, a->x ? &j->points.values : NULL,
                                      (uint64_t)a->seed, &j->found);
    code = st == FAR_OK ? EXIT_DONE : session_failure(&j->s, a->x ? j->points.label : NULL);
    session_idle(&j->s);
    code = code == EXIT_DONE ? tell(j) : code;
    bool shattered = j->found.realised == j->found.labellings;
    return code == EXIT_DONE && !shattered ? EXIT_FAILED : code;
}

static void clean(void *user)
{
    job *j = user;
    input_free(&j->points);
}

int lnnet_vc(int argc, char **argv)
{
    job j = {.args = {.common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
