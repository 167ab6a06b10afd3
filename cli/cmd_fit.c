/* farfield fit: a table in, a model out. */
#include "cli.h"
#include "files.h"
#include "fit_baseline.h"
#include "fitting.h"
#include "report_verbs.h"

#define VERB "fit"

typedef struct cmd_fit_args {
    fit_args fit; /* first: FIT_OPTIONS count from it */
    const char *data, *output;
    int model; /* a baseline_model */
    common_args common;
} cmd_fit_args;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(cmd_fit_args, field)

static const option OUTPUT_OPTIONS[] = {
    CHOICE_OPTION("--model", 0, AT(model), MODEL_LIST,
                  "a network of infinite width, or a baseline: a ridge regression,\n"
                  "boosted trees (XGBoost), the mean of the target"),
    OUTPUT_OPTION("keep the model in FILE (model.far)"),
};

static const char USAGE[] = "fit DATA --target COL[,COL] [options] [-o model.far]";
static const char ABOUT[] =
    "Fits an infinitely wide network to the rows of DATA and prints fit diagnostics.\n"
    "Without --output nothing is kept.";
static const char NOTES[] =
    "DATA: csv with a header (or columns c1, c2, ...), npy or npz, also gzipped; - is standard\n"
    "input; file.npz:name picks one array of an npz. Text columns are one-hot encoded,\n"
    "dates are numbers of days; columns that cannot help are left out, and it says so.\n\n"
    "Examples:\n"
    "  farfield fit train.csv --target RMSD -o model.far\n"
    "  farfield fit iris.csv -t species --features petal_length,petal_width -o iris.far\n"
    "  farfield fit train.csv -t y --where 'F1 < 20000' -a 'dense ln relu dense' --ridge 0.01\n"
    "  farfield fit train.csv -t y --model linear -o line.far";

static int read_command_line(int argc, char **argv, cmd_fit_args *args)
{
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = FIT_OPTIONS,
                         .option_count = FIT_OPTION_COUNT,
                         .common = common_options(AT(common)),
                         .more = {.options = OUTPUT_OPTIONS,
                                  .count = sizeof OUTPUT_OPTIONS / sizeof OUTPUT_OPTIONS[0]},
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, args);
    args->data = line.operands[0];
    return code == OPTIONS_OK ? fit_check_usage(VERB, args->data, "to fit", &args->fit) : code;
}

/* ---- the job ------------------------------------------------------------------------------- */

static int save(session *s, const far_predictor *p, const char *path)
{
    far_status st = path ? far_predictor_save(s->ctx, p, path) : FAR_OK;
    session_idle(s); /* does not come back after Ctrl-C */
    return st == FAR_OK ? EXIT_DONE : session_failure(s, NULL);
}

static int fit_and_save(session *s, const cmd_fit_args *args, far_fit_opts *opts)
{
    far_predictor *p = NULL;
    int code = fit_data(s, args->data, &args->fit, opts, &p);
    if (code == EXIT_DONE) {
        code = save(s, p, args->output);
    }
    if (code == EXIT_DONE) {
        code = fit_tell(s, &args->common, p, operand_label(args->data), args->output);
    }
    far_predictor_destroy(p);
    return code;
}

typedef struct fit_job {
    cmd_fit_args args;
    far_fit_opts opts;
    session s;
} fit_job;

static int run_fit(void *user)
{
    fit_job *j = user;
    session *s = &j->s;
    const cmd_fit_args *args = &j->args;
    int code = fit_check_arch(s, &j->opts);
    if (code == EXIT_DONE && args->output) {
        code = output_possible(VERB, s->ctx, args->output);
    }
    if (code == EXIT_DONE && args->model != MODEL_NETWORK) {
        return fit_baseline(s, &args->fit, &args->common, (baseline_model)args->model, args->data,
                            args->output);
    }
    return code == EXIT_DONE ? fit_and_save(s, args, &j->opts) : code;
}

int cmd_fit(int argc, char **argv)
{
    fit_job j = {.args = {.common = {.threads = default_threads()}}};
    fit_defaults(&j.args.fit);
    int code = read_command_line(argc, argv, &j.args);
    code = code == OPTIONS_OK ? fit_read_args(VERB, &j.args.fit, &j.opts) : code;
    return session_run(VERB, code, (verb_job){&j.s, &j.args.common, run_fit, NULL, &j});
}
