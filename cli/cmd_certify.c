/* farfield certify: can this predictor run away, and how far can it go? */
#include "along.h"
#include "cli.h"
#include "files.h"
#include "fitting.h"
#include "report_verbs.h"

#include <farfield/certify.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "certify"

typedef struct certify_args {
    fit_args fit;
    const char *operand; /* a model, or a table with --target */
    const char *along, *check, *output, *box_text;
    common_args common;
    double exceeds, gap, seconds, box[2];
    int64_t starts;
} certify_args;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(certify_args, field)

static const option OPTIONS[] = {
    NUMBER_OPTION("--exceeds", 0, AT(exceeds), "LEVEL",
                  "whether, and if it is unbounded from where on, |f| is above LEVEL"),
    TEXT_OPTION("--along", 0, AT(along), "U",
                "also where f goes along the direction 1,0,-2 (one number for each\n"
                "input, in its units; ranks stand still) or the rows of a table U"),
    TEXT_OPTION("--box", 0, AT(box_text), "LOW,HIGH",
                "of NET: for inputs between LOW and HIGH alone, each of them, as\n"
                "pixels between 0 and 1"),
    COUNT_OPTION("--starts", 0, AT(starts), "N", "of the search for large |f|", 1, INT32_MAX),
    NUMBER_OPTION("--gap", 0, AT(gap), "G", "stop when bound / found <= 1 + G"),
    {"--seconds", 0, OPTION_NUMBER, AT(seconds), "S", "or after that much time", 0, 1},
    TEXT_OPTION("--check", 0, AT(check), "CERT",
                "check the certificate in the file CERT against MODEL"),
    OUTPUT_OPTION("keep the certificate in FILE (cert.json)"),
};

static const char USAGE[] = "certify MODEL|NET [options]\n"
                            "certify DATA --target COL[,COL] [options]\n"
                            "certify MODEL|NET --check CERT";
static const char ABOUT[] =
    "Tells whether the predictions of MODEL (from farfield fit), of a finite network NET (from\n"
    "farfield train or PyTorch), or of a model fitted to DATA on the spot, are bounded over all\n"
    "inputs, by what, by which theorem, and how near to it they come; or the direction along "
    "which\n"
    "they run away, and how fast; or that neither is proven, and why.";
static const char NOTES[] =
    "Examples:\n"
    "  farfield certify model.far\n"
    "  farfield certify net.safetensors --gap 0.001\n"
    "  farfield certify cnn.safetensors --box 0,1\n"
    "  farfield certify --arch 'dense relu dense' train.csv -t RMSD --exceeds 100\n"
    "  farfield certify model.far -o cert.json\n"
    "  farfield certify model.far --check cert.json";

static int check_check(const command_line *line)
{
    static const char *const OTHERS[] = {"--exceeds", "--along",  "--box",    "--starts", "--gap",
                                         "--seconds", "--output", "--report", "--json"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    other = other ? other : options_given_more(line, "--arch");
    return other ? usage_error(VERB, "--check does not go with %s", other) : OPTIONS_OK;
}

/* Two numbers, the lower one first. */
static int read_box(certify_args *a)
{
    char *end = NULL, *last = NULL;
    double low = strtod(a->box_text, &end), high = *end == ',' ? strtod(end + 1, &last) : NAN;
    bool both = end != a->box_text && last && last != end + 1 && *last == '\0';
    if (!both || !isfinite(low) || !isfinite(high) || low > high) {
        return usage_error(VERB, "--box %s: two numbers are meant, the lower one first, as 0,1",
                           a->box_text);
    }
    a->box[0] = low;
    a->box[1] = high;
    return OPTIONS_OK;
}

static int check_usage(const command_line *line, certify_args *a)
{
    if (!a->operand) {
        return usage_error(VERB, "no MODEL, and no table DATA to fit");
    }
    if (a->check) {
        return check_check(line);
    }
    const char *fits = options_given_more(line, "--seed");
    bool arch = fits && strcmp(fits, "--arch") == 0; /* of a network whose file does not name it */
    if (fits && !arch && !a->fit.target) {
        return usage_error(VERB, "%s is for a fit, which needs --target too", fits);
    }
    return a->box_text ? read_box(a) : OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, certify_args *args)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = {.title = "With DATA, as for farfield fit:",
                                  .options = FIT_OPTIONS,
                                  .count = FIT_OPTION_COUNT,
                                  .offset = AT(fit)},
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, args);
    args->operand = line.operands[0];
    return code == OPTIONS_OK ? check_usage(&line, args) : code;
}

/* ---- what to certify ----------------------------------------------------------------------- */

/* A model fitted on the spot. */
static int fit_model(session *s, const certify_args *a, far_fit_opts *opts, far_predictor **out)
{
    int code = fit_check_arch(s, opts);
    if (code == EXIT_DONE) {
        code = fit_data(s, a->operand, &a->fit, opts, out);
    }
    if (code == EXIT_DONE) {
        session_idle(s);
    }
    return code;
}

/* --arch is an option of a fit; beside a file it names the architecture of a network. */
static int load(session *s, const certify_args *a, far_predictor **out)
{
    static const char *const TABLES[] = {".csv", ".csv.gz", ".tsv", ".npy", ".npz"};
    bool named = strcmp(a->fit.arch, "auto") != 0;
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++) {
        size_t length = strlen(a->operand), tail = strlen(TABLES[i]);
        bool table = length > tail && strcmp(a->operand + length - tail, TABLES[i]) == 0;
        if (table && far_predictor_load(s->ctx, a->operand, NULL, out) == FAR_OK) {
            return EXIT_DONE; /* whatever its name */
        }
        if (table) {
            return failure(VERB,
                           "%s is a table, not a model: add --target COL to fit one to it first, "
                           "or give the file of a model (farfield fit -o model.far)",
                           a->operand);
        }
    }
    return subject_load(s, a->operand, named ? a->fit.arch : NULL, out);
}

/* ---- a certificate ------------------------------------------------------------------------- */

static int keep_text(far_ctx *ctx, const char *text, const char *path)
{
    sink out;
    int code = sink_open(VERB, ctx, path, &out);
    if (code == EXIT_DONE) {
        sink_put(&out, text);
        sink_put(&out, text[strlen(text) - 1] == '\n' ? "" : "\n");
        code = sink_close(&out, EXIT_DONE);
    }
    return code;
}

/* What was asked for is told also where it is to be quiet. */
static int tell_certificate(session *s, const certify_args *a, const far_predictor *m,
                            const far_certificate *c, const along *directions)
{
    char *text = NULL;
    report_proof shown = {a->operand, m, c, directions, a->exceeds};
    common_args common = a->common;
    common.quiet = false;
    if (far_certificate_json(s->ctx, c, &text) != FAR_OK) {
        return session_failure(s, NULL);
    }
    int code = a->output ? keep_text(s->ctx, text, a->output) : EXIT_DONE;
    code = code == EXIT_DONE ? certificate_tell(s, &common, &shown, text) : code;
    far_text_free(s->ctx, text);
    return code;
}

static far_certify_opts certify_options(const certify_args *a)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.exceeds = a->exceeds;
    opts.starts = a->starts;
    opts.gap = a->gap;
    opts.seconds = a->seconds;
    opts.box_low = a->box[0];
    opts.box_high = a->box[1];
    opts.seed = (uint64_t)a->fit.seed;
    return opts;
}

static int certify(session *s, const certify_args *a, const far_predictor *m,
                   const along *directions)
{
    far_certify_opts opts = certify_options(a);
    far_certificate *c = NULL;
    interrupts_hold();
    far_status st = far_predictor_certify(s->ctx, m, &opts, &c);
    session_idle(s); /* does not come back after Ctrl-C */
    int code = st == FAR_OK ? tell_certificate(s, a, m, c, directions) : session_failure(s, NULL);
    far_certificate_destroy(c);
    return code;
}

/* Directions come first: a mistake there is not to cost a search. */
static int certify_subject(session *s, const certify_args *a, const far_predictor *m)
{
    along directions = {0};
    int code = a->along ? along_eval(s, m, a->along, &directions) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = certify(s, a, m, &directions);
    }
    along_free(&directions);
    return code;
}

/* ---- a check ------------------------------------------------------------------------------- */

static int check_certificate(session *s, const certify_args *a, const far_predictor *m)
{
    char *text = text_read(VERB, s->ctx, a->check);
    if (!text) {
        return EXIT_FAILED;
    }
    interrupts_hold();
    far_status st = far_certificate_check(s->ctx, m, text);
    session_idle(s);
    free(text);
    if (st != FAR_OK) {
        return session_failure(s, a->check);
    }
    report r;
    int code = report_begin(s, &a->common, "A certificate that holds", &r);
    far_result_line(r.result, "%s holds for %s", a->check, a->operand);
    certificate_unsealed(r.result, a->operand, m);
    return report_end(&r, code);
}

/* ---- the job ------------------------------------------------------------------------------- */

typedef struct certify_job {
    session s;
    far_fit_opts fit;
    certify_args args;
} certify_job;

static int run_certify(void *user)
{
    certify_job *j = user;
    const certify_args *a = &j->args;
    far_predictor *m = NULL;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = a->fit.target ? fit_model(&j->s, a, &j->fit, &m) : load(&j->s, a, &m);
    }
    if (code == EXIT_DONE) {
        code = a->check ? check_certificate(&j->s, a, m) : certify_subject(&j->s, a, m);
    }
    far_predictor_destroy(m);
    return code;
}

static void set_defaults(certify_args *args)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    *args = (certify_args){.exceeds = opts.exceeds,
                           .gap = opts.gap,
                           .seconds = opts.seconds,
                           .box = {NAN, NAN},
                           .starts = opts.starts,
                           .common = {.threads = default_threads()}};
    fit_defaults(&args->fit);
}

int cmd_certify(int argc, char **argv)
{
    certify_job j = {0};
    set_defaults(&j.args);
    int code = read_command_line(argc, argv, &j.args);
    code = code == OPTIONS_OK ? fit_read_args(VERB, &j.args.fit, &j.fit) : code;
    return session_run(VERB, code, (verb_job){&j.s, &j.args.common, run_certify, NULL, &j});
}
