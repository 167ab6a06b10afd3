/* farfield demo: what one layer norm changes. */
#include "cli.h"
#include "demo.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VERB "demo"
#define FOLDER "farfield-demo"
enum { SEEDS = 5, MOST_SEEDS = 50 };

#define AT(field) offsetof(demo_args, field)

static const option OPTIONS[] = {
    FLAG_OPTION("--no-report", 0, AT(no_report), "only the table"),
    COUNT_OPTION("--seeds", 0, AT(seeds), "N", "so many trainings of each finite network", 1,
                 MOST_SEEDS),
    FLAG_OPTION("--quick", 0, AT(quick),
                "one seed and a tenth of the training: the finite networks are half\n"
                "trained"),
    FLAG_OPTION("--kernels", 0, AT(kernels),
                "instead: the kernels of seven networks, with and without layer\n"
                "norm, near and far, at infinity, and the supremum of the diagonal"),
};

static const char ABOUT[] =
    "Fits infinitely wide networks with and without a layer norm, trains the finite ones, and "
    "puts\n"
    "XGBoost and a straight line beside them: on three functions and on a law of physics, in "
    "range\n"
    "and far from it, where the truth is known. Certifies all of them and writes a report.";

/* ---- the command line ---------------------------------------------------------------------- */

static int check_usage(const command_line *line, demo_args *a)
{
    static const char *const OTHERS[] = {"--report", "--no-report", "--seeds", "--quick"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    if (a->kernels && other) {
        return usage_error(VERB, "--kernels does not go with %s", other);
    }
    if (a->no_report && options_given(line, "--report")) {
        return usage_error(VERB, "--no-report does not go with --report");
    }
    if (a->quick && !options_given(line, "--seeds")) {
        a->seeds = 1;
    }
    a->common.report = a->no_report || a->kernels ? NULL : a->common.report;
    return OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, demo_args *args)
{
    command_line line = {.verb = VERB,
                         .usage = "demo [options]",
                         .about = ABOUT,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .common = common_options(AT(common))};
    int code = options_parse(&line, argc, argv, args);
    return code == OPTIONS_OK ? check_usage(&line, args) : code;
}

/* ---- the job ------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int give_up(demo *d, const char *place)
{
    report_close(&d->report);
    session_idle(&d->s); /* does not come back after Ctrl-C */
    return session_failure(&d->s, place);
}

static int learn_all(demo *d)
{
    double started = seconds_now();
    demo_make_sets(d->sets);
    for (int i = 0; i < DEMO_SETS * DEMO_MODELS; i++) {
        int set = i / DEMO_MODELS, model = i % DEMO_MODELS;
        if (demo_learn(d, set, model) != FAR_OK) {
            return give_up(d, demo_model_name(model));
        }
    }
    d->seconds = seconds_now() - started;
    return EXIT_DONE;
}

/* The tables are told also where it is to be quiet. */
static int run_demo(demo *d)
{
    common_args common = d->args.common;
    common.quiet = false;
    interrupts_hold(); /* before there is a folder to remove */
    int code = report_begin(&d->s, &common, "What one layer norm changes", &d->report);
    if (code == EXIT_DONE) {
        code = learn_all(d);
        if (code != EXIT_DONE) {
            return code;
        }
        demo_tell(d);
    }
    return report_end(&d->report, code);
}

int cmd_demo(int argc, char **argv)
{
    demo_args args = {.common = {.report = FOLDER, .threads = default_threads()}, .seeds = SEEDS};
    int code = read_command_line(argc, argv, &args);
    if (code != OPTIONS_OK) {
        return code;
    }
    demo *d = calloc(1, sizeof *d);
    if (!d) {
        return failure(VERB, "out of memory");
    }
    d->args = args;
    code = session_start(&d->s, VERB, &args.common);
    if (code == EXIT_DONE) {
        code = args.kernels ? demo_kernels(&d->s, &args) : run_demo(d);
    }
    session_close(&d->s);
    free(d);
    return code;
}
