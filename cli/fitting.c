#include "fitting.h"
#include "columns_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ----------------------------------------------------------------------------- */

enum { MOST_MEMBERS = 16 };
#define AT(field) offsetof(fit_args, field)

const option FIT_OPTIONS[] = {
    LEARNING_OPTIONS,
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",
                "the network, 'dense ln relu dense' (see farfield info arch); auto\n"
                "chooses among networks that cannot run away"),
    TEXT_OPTION("--ridge", 'r', AT(ridge), "R",
                "0.01 is relative to the mean of the kernel's diagonal, 0.01abs is\n"
                "absolute; auto chooses"),
    CHOICE_OPTION("--task", 0, AT(task), TASK_LIST,
                  "auto classifies if the target is a column of words"),
    FLAG_OPTION("--no-standardize", 0, AT(raw),
                "take inputs and targets as they are, not to mean 0 and variance 1"),
    IMPUTE_OPTION(AT(impute)),
    CHOICE_OPTION("--kernel", 0, AT(kernel), KERNEL_LIST,
                  "train all weights (ntk), or only the last layer, which gives the\n"
                  "Bayesian posterior (nngp)"),
    CHOICE_OPTION("--param", 0, AT(param), PARAM_LIST, "how weights are parametrised"),
    CHOICE_OPTION("--metric", 0, AT(metric), METRIC_LIST,
                  "learn what counts, in front of the network: a weight for each input,\n"
                  "or mixtures of them; auto chooses"),
    CHOICE_OPTION("--ranks", 0, AT(ranks), RANKS_LIST,
                  "second copies of number columns as ranks, which no outlier stretches,\n"
                  "or as steps of their ranks, for jumps; auto: steps where they predict\n"
                  "rows held out better (200 to 20000 rows, network chosen too)"),
    CHOICE_OPTION("--copies", 0, AT(copies), COPIES_LIST,
                  "rows that are copies of others count while a network is chosen (keep),\n"
                  "or one of each does (drop), if such rows will not come again"),
    TEXT_OPTION("--committee", 0, AT(committee), "N",
                "the mean of the N best networks that were tried; auto: of as many as\n"
                "predict rows held out better together"),
    CHOICE_OPTION("--criterion", 0, AT(criterion), "loo|likelihood",
                  "auto chooses by leave-one-out error or by marginal likelihood"),
    COUNT_OPTION("--subset", 0, AT(subset), "N", "auto chooses on that many rows", 2, INT32_MAX),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of what is drawn at random", 0, INT64_MAX),
    MEMORY_OPTION("use at most 500M, 8G, ... (what the machine has available)"),
    FLAG_OPTION("--packed", 0, AT(packed),
                "half the memory, more time (by itself where memory is short)"),
    CHOICE_OPTION("--method", 0, AT(method), METHOD_LIST,
                  "exact: one factor; cg: conjugate gradients, the same fit where memory\n"
                  "holds no factor; nystrom: landmarks alone; auto: exact if memory allows,\n"
                  "else cg"),
    COUNT_OPTION("--landmarks", 0, AT(landmarks), "N",
                 "rows that precondition cg (2048, more from 50000 rows on), or that nystrom\n"
                 "keeps (4096); unless given, at most a quarter of the rows",
                 1, INT32_MAX),
    NUMBER_OPTION("--tolerance", 0, AT(tolerance), "T", "of cg: |y - (K + ridge) alpha| / |y|"),
    FLAG_OPTION("--allow-unbounded", 0, AT(allow_unbounded),
                "auto may choose a network whose predictions run away"),
    FLAG_OPTION("--extremes", 0, AT(extremes),
                "lambda_min, lambda_max and the condition number above 2048 rows too"),
    FLAG_OPTION("--no-extremes", 0, AT(no_extremes), "not below, either"),
};
const size_t FIT_OPTION_COUNT = sizeof FIT_OPTIONS / sizeof FIT_OPTIONS[0];

option_group fit_options_take(option out[FIT_OPTIONS_TAKEN], size_t offset)
{
    static const char *const NAMES[FIT_OPTIONS_TAKEN] = {
        "--features", "--keep",      "--sep",       "--na",     "--categorical",
        "--where",    "--task",      "--ridge",     "--impute", "--kernel",
        "--param",    "--criterion", "--metric",    "--subset", "--no-standardize",
        "--memory",   "--packed",    "--committee", "--ranks",  "--copies"};
    for (size_t i = 0; i < FIT_OPTION_COUNT; i++) {
        for (int k = 0; k < FIT_OPTIONS_TAKEN; k++) {
            if (strcmp(FIT_OPTIONS[i].name, NAMES[k]) == 0) {
                out[k] = FIT_OPTIONS[i];
            }
        }
    }
    return (option_group){.title = "As for farfield fit:",
                          .options = out,
                          .count = FIT_OPTIONS_TAKEN,
                          .offset = offset};
}

int fit_check_usage(const char *verb_name, const char *data, const char *purpose,
                    const fit_args *args)
{
    if (!data) {
        return usage_error(verb_name, "no table DATA %s", purpose);
    }
    return args->target
               ? OPTIONS_OK
               : usage_error(verb_name, "--target is missing: which column is to be predicted?");
}

void fit_defaults(fit_args *args)
{
    far_fit_opts opts;
    far_fit_opts_init(&opts);
    *args = (fit_args){.arch = "auto",
                       .ridge = "auto",
                       .committee = "1",
                       .task = opts.task,
                       .kernel = opts.kernel,
                       .param = opts.param,
                       .criterion = opts.criterion,
                       .metric = opts.metric,
                       .ranks = opts.ranks,
                       .copies = opts.copies,
                       .method = opts.method,
                       .tolerance = opts.tolerance,
                       .subset = opts.subset,
                       .seed = (int64_t)opts.seed};
}

/* "auto", "0.01", "0.01abs" */
static int read_ridge(const char *verb_name, const char *text, far_fit_opts *opts)
{
    if (strcmp(text, "auto") == 0) {
        return OPTIONS_OK;
    }
    char *end;
    double ridge = strtod(text, &end);
    bool absolute = strcmp(end, "abs") == 0;
    if (end == text || (*end && !absolute) || !(ridge >= 0) || isinf(ridge)) {
        return usage_error(verb_name,
                           "--ridge is auto, a number >= 0 like 0.01 (times the mean diagonal) or "
                           "0.01abs, not '%s'",
                           text);
    }
    if (absolute && strcmp(opts->arch, "auto") == 0) {
        return usage_error(verb_name,
                           "an absolute --ridge needs an --arch: kernels differ in size");
    }
    opts->ridge = ridge;
    opts->ridge_kind = absolute ? FAR_RIDGE_ABSOLUTE : FAR_RIDGE_RELATIVE;
    return OPTIONS_OK;
}

/* "auto", "5" */
static int read_committee(const char *verb_name, const char *text, far_fit_opts *opts)
{
    char *end;
    long count = strtol(text, &end, 10);
    bool any = strcmp(text, "auto") == 0;
    if (!any && (end == text || *end || count < 1 || count > MOST_MEMBERS)) {
        return usage_error(verb_name, "--committee is auto or a number from 1 to %d, not '%s'",
                           MOST_MEMBERS, text);
    }
    opts->committee = any ? 0 : count;
    if (opts->committee > 1 && opts->criterion != FAR_CRITERION_LOO) {
        return usage_error(verb_name, "a --committee is chosen by --criterion loo");
    }
    return OPTIONS_OK;
}

int fit_read_args(const char *verb_name, const fit_args *args, far_fit_opts *opts)
{
    far_fit_opts_init(opts);
    opts->target = args->target;
    opts->features = args->features;
    opts->careful = 1;
    opts->keep = args->keep;
    opts->arch = args->arch;
    opts->param = args->param;
    opts->kernel = args->kernel;
    opts->task = args->task;
    opts->standardize = !args->raw;
    opts->impute = args->impute;
    opts->criterion = args->criterion;
    opts->metric = (far_metric_kind)args->metric;
    opts->ranks = (far_ranks)args->ranks;
    opts->copies = (far_copies)args->copies;
    opts->subset = args->subset;
    opts->seed = (uint64_t)args->seed;
    opts->storage = args->packed ? FAR_STORAGE_PACKED : opts->storage;
    opts->memory = args->memory;
    opts->allow_unbounded = args->allow_unbounded;
    opts->method = args->method;
    opts->landmarks = args->landmarks;
    opts->tolerance = args->tolerance;
    opts->extremes = args->no_extremes ? 0 : args->extremes ? 1 : opts->extremes;
    int code = read_committee(verb_name, args->committee, opts);
    return code == OPTIONS_OK ? read_ridge(verb_name, args->ridge, opts) : code;
}

/* ---- work ---------------------------------------------------------------------------------- */

int fit_check_arch(session *s, const far_fit_opts *opts)
{
    if (strcmp(opts->arch, "auto") == 0) {
        return EXIT_DONE;
    }
    far_kernel_opts how;
    how = (far_kernel_opts){.size = sizeof how};
    how.param = opts->param;
    far_kernel *kernel;
    far_status st = far_kernel_create(s->ctx, opts->arch, &how, &kernel);
    if (st != FAR_OK) {
        session_failure(s, "--arch");
        return usage_code(st);
    }
    far_kernel_destroy(kernel);
    return EXIT_DONE;
}

static int report(session *s, const dataset *d, far_status st)
{
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT || st == FAR_ERR_SINGULAR;
    return session_failure(s, about_data ? d->label : NULL);
}

/* The most wanted line of a fit that is none: also where results are not printed. */
static void warn_of_residual(const session *s, const far_predictor *p)
{
    const far_model_info *i = far_predictor_model(p);
    if (i && !i->converged) {
        failure(
            s->verb,
            "CAUTION: not converged, the residual is %.2g, not %.2g: predictions may be far from "
            "those of the fit; try a larger --ridge, more --landmarks, or --method exact",
            i->residual, i->tolerance);
    }
    for (int64_t k = 0; !i && k < far_predictor_describe(p).members; k++) {
        const far_predictor *member = far_predictor_member(p, k);
        const far_model_info *own = member ? far_predictor_model(member) : NULL;
        if (own && own->ridge_raised > 1) { /* of one network the report says it */
            session_say(s, "member %lld converged with %g times the ridge that was chosen",
                        (long long)k + 1, own->ridge_raised);
        }
        if (member) {
            warn_of_residual(s, member);
        }
    }
}

static int fit_rows(session *s, const dataset *d, const far_fit_opts *opts, far_predictor **out)
{
    far_estimate e;
    far_status st = far_fit_estimate(s->ctx, d->frame, opts, &e);
    if (st != FAR_OK) {
        return report(s, d, st);
    }
    if (opts->method == FAR_METHOD_AUTO && e.storage == FAR_STORAGE_AUTO) {
        session_say(s, "a factor of all rows is more than memory holds: conjugate gradients "
                       "(--method cg)");
    }
    if (e.fits) {
        session_announce(s, d->count, &e);
    }
    interrupts_hold();
    st = far_predictor_fit(s->ctx, d->frame, opts, out);
    if (st == FAR_OK) {
        progress_end(&s->bar);
        columns_say(s, far_predictor_describe(*out).columns);
        warn_of_residual(s, *out);
        return EXIT_DONE;
    }
    session_idle(s);
    return report(s, d, st);
}

int fit_data(session *s, const char *operand, const fit_args *args, far_fit_opts *opts,
             far_predictor **out)
{
    dataset d = {0};
    int code = dataset_read(s->verb, s->ctx, operand, &args->table, args->where, &d);
    if (code == EXIT_DONE) {
        opts->rows = d.rows;
        code = fit_rows(s, &d, opts, out);
    }
    dataset_free(&d);
    opts->rows = NULL;
    return code;
}
