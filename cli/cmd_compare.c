/* farfield compare: which model keeps its word out of range? */
#include "cli.h"
#include "columns_show.h"
#include "comparison.h"
#include "fitting.h"
#include "report_verbs.h"
#include "show.h"

#include <farfield/compare.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "compare"

typedef struct compare_args {
    fit_args fit;
    common_args common;
    const char *data, *shift, *models;
    int64_t seeds;
    double test_fraction;
    bool no_certify;
} compare_args;

typedef struct job {
    compare_args args;
    session s;
    far_fit_opts fit;
    far_compare_opts opts;
    dataset data;
    far_comparison *comparison;
    bool tells; /* of every fit */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(compare_args, field)
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const option OPTIONS[] = {
    TEXT_OPTION("--target", 't', AT(fit.target), "COL",
                "what to predict: a column of numbers, or of classes"),
    TEXT_OPTION("--shift", 's', AT(shift), "EXPR",
                "out of range, never trained on: the rows where it holds, 'F1 >= 20000'"),
    TEXT_OPTION("--models", 'm', AT(models), "LIST",
                "names (below) or networks like 'dense ln gelu dense', with\n; between"),
    COUNT_OPTION(
        "--seeds", 0, AT(seeds), "N",
        "that many random splits of the rows in range [" TEXT(
            FAR_COMPARE_SEEDS) ", but 1 beyond " TEXT(FAR_COMPARE_SEEDS_ROWS) "\n"
                                                                              "training rows]",
        1, 10000),
    COUNT_OPTION("--seed", 0, AT(fit.seed), "N", "the first seed", 0, INT32_MAX),
    NUMBER_OPTION("--test-fraction", 0, AT(test_fraction), "X", "of the rows in range, to test on"),
    FLAG_OPTION("--no-certify", 0, AT(no_certify),
                "do not ask which models are bounded everywhere"),
};

static const char USAGE[] = "compare DATA --target COL --shift EXPR [options]";
static const char ABOUT[] =
    "Trains models on rows of DATA in range and tells how well they predict the rows out of "
    "range,\n"
    "by R2 (1 - squared error / variance of the rows predicted), the largest prediction, and\n"
    "whether their predictions are bounded over all inputs.";
static const char NOTES[] =
    "Models: none, ln-first, ln-second, ln-every: infinitely wide networks with two hidden layers\n"
    "of relu, with a layer norm nowhere, before the first, the second, or each activation; auto:\n"
    "what farfield fit chooses (slow); xgboost: boosted trees; linear: ridge regression; mean;\n"
    "net:ARCH: a network of the widths it says, trained; a file of fit or train, as it is.\n"
    "Exit: 1 if every network failed, or every model if there is no network. A model that fails\n"
    "does not stop the others. In the folder of a report are also compare.json, compare.csv and\n"
    "predictions.csv.\n\n"
    "Examples:\n"
    "  farfield compare protein.csv --target RMSD --shift 'F1 >= 20000'\n"
    "  farfield compare data.csv -t y -s 'year > 2020' --models 'ln-second;xgboost' --seeds 10\n"
    "  farfield compare data.csv -t y -s 'x1 > 1' -m 'auto;dense(64) ln gelu dense' --report out";

static int check_usage(const compare_args *a)
{
    int code = fit_check_usage(VERB, a->data, "to learn from", &a->fit);
    return code == OPTIONS_OK && !a->shift
               ? usage_error(VERB, "--shift is missing: which rows are out of range?")
               : code;
}

static int read_command_line(int argc, char **argv, compare_args *args)
{
    option taken[FIT_OPTIONS_TAKEN];
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = fit_options_take(taken, AT(fit)), .most_operands = 1};
    int code = options_parse(&line, argc, argv, args);
    args->data = line.operands[0];
    return code == OPTIONS_OK ? check_usage(args) : code;
}

static int read_options(job *j)
{
    const compare_args *a = &j->args;
    int code = fit_read_args(VERB, &a->fit, &j->fit);
    far_compare_opts_init(&j->opts);
    j->opts.fit = &j->fit;
    j->opts.shift = a->shift;
    j->opts.models = a->models;
    j->opts.seeds = a->seeds;
    j->opts.test_fraction = a->test_fraction;
    j->opts.certify = !a->no_certify;
    return code;
}

/* ---- the job ------------------------------------------------------------------------------- */

static const double LONG_SECONDS = 10; /* from here on every fit is told of */

static void announce(job *j, const far_compare_plan *p)
{
    char bytes[SHOW_BYTES], seconds[SHOW_BYTES];
    j->tells = p->seconds > LONG_SECONDS;
    if (p->networks > 0 && p->each.fits) {
        session_say(&j->s,
                    "%lld model%s, %lld seed%s; a network of %lld rows takes %s, all about %s",
                    (long long)p->models, p->models == 1 ? "" : "s", (long long)p->seeds,
                    p->seeds == 1 ? "" : "s", (long long)p->train_rows,
                    show_size(p->each.bytes, bytes), show_time(p->seconds, seconds));
    }
}

static void tell_run(void *user, const char *model, const far_compare_run *run)
{
    job *j = user;
    char seconds[SHOW_BYTES];
    if (!j->tells) {
        return;
    }
    progress_end(&j->s.bar);
    if (run->status != FAR_OK) {
        session_say(&j->s, "seed %llu, %s: failed", (unsigned long long)run->seed, model);
    } else {
        bool classes = !isnan(run->in[FAR_COMPARE_ACCURACY]);
        session_say(&j->s,
                    classes ? "seed %llu, %s: accuracy %.3f in range, %.3f out of range, %s"
                            : "seed %llu, %s: R2 %.3f in range, %.3f out of range, %s",
                    (unsigned long long)run->seed, model,
                    classes ? run->in[FAR_COMPARE_ACCURACY] : run->r2_in,
                    classes ? run->out[FAR_COMPARE_ACCURACY] : run->r2_out,
                    show_time(run->seconds_fit, seconds));
    }
}

static int report_failure(job *j, far_status st)
{
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    bool about_shift = st == FAR_ERR_PARSE;
    int code = session_failure(&j->s, about_data ? j->data.label : about_shift ? "--shift" : NULL);
    return about_shift ? EXIT_USAGE : code;
}

static int compare(job *j)
{
    far_compare_plan plan;
    j->fit.rows = j->data.rows;
    far_status st = far_compare_estimate(j->s.ctx, j->data.frame, &j->opts, &plan);
    if (st != FAR_OK) {
        return report_failure(j, st);
    }
    announce(j, &plan);
    j->opts.done = tell_run;
    j->opts.done_user = j;
    interrupts_hold();
    st = far_comparison_create(j->s.ctx, j->data.frame, &j->opts, &j->comparison);
    if (st == FAR_OK) {
        return EXIT_DONE;
    }
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return report_failure(j, st);
}

/* Interrupts are held. What was asked for is told also where it is to be quiet. */
static int tell(job *j)
{
    common_args common = j->args.common;
    common.quiet = false;
    const far_columns *columns = far_comparison_describe(j->comparison).columns;
    progress_end(&j->s.bar);
    columns_say(&j->s, columns);
    int told = columns_say_unseen(&j->s, columns, j->data.frame, j->data.rows, NULL, NULL);
    if (told != EXIT_DONE) {
        return told;
    }
    int code = comparison_show(&j->s, &common, j->comparison, &j->data);
    int judged = comparison_verdict(VERB, j->comparison);
    return code == EXIT_DONE ? judged : code;
}

static int run_compare(void *user)
{
    job *j = user;
    int code = comparison_check(&j->s, &j->opts);
    if (code == EXIT_DONE) {
        code = comparison_data(&j->s, j->args.data, j->args.models, &j->args.fit, &j->data);
    }
    if (code == EXIT_DONE) {
        code = compare(j);
    }
    if (code == EXIT_DONE) {
        code = tell(j);
    }
    return code;
}

static void set_defaults(compare_args *args)
{
    far_compare_opts opts;
    far_compare_opts_init(&opts);
    *args = (compare_args){.models = opts.models,
                           .seeds = opts.seeds,
                           .test_fraction = opts.test_fraction,
                           .common = {.threads = default_threads()}};
    fit_defaults(&args->fit);
    args->fit.arch = ""; /* models name their own; an absolute ridge may go with them */
}

static void clean(void *user)
{
    job *j = user;
    far_comparison_destroy(j->comparison);
    dataset_free(&j->data);
}

int cmd_compare(int argc, char **argv)
{
    job j = {0};
    set_defaults(&j.args);
    int code = read_command_line(argc, argv, &j.args);
    code = code == OPTIONS_OK ? read_options(&j) : code;
    return session_run(VERB, code, (verb_job){&j.s, &j.args.common, run_compare, clean, &j});
}
