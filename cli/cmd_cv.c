/* farfield cv: cross-validation of the models of farfield compare. */
#include "cli.h"
#include "columns_show.h"
#include "comparison.h"
#include "fitting.h"
#include "report.h"
#include "show.h"

#include <farfield/compare.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "cv"

typedef struct cv_args {
    fit_args fit;
    common_args common;
    const char *data, *folds, *models;
} cv_args;

typedef struct job {
    cv_args args;
    session s;
    far_fit_opts fit;
    far_compare_opts opts;
    dataset data;
    far_comparison *comparison;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(cv_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--target", 't', AT(fit.target), "COL",
                "what to predict: a column of numbers, or of classes"),
    TEXT_OPTION("--folds", 0, AT(folds), "N|COL",
                "that many folds of shuffled rows, classes in equal parts; or a column\n"
                "of DATA, each of whose values is a fold"),
    COUNT_OPTION("--seed", 0, AT(fit.seed), "N", "of the folds, and of what models draw", 0,
                 INT32_MAX),
    TEXT_OPTION("--models", 'm', AT(models), "LIST",
                "names or networks as for farfield compare, with ; between"),
};

static const char USAGE[] = "cv DATA --target COL [options]";
static const char ABOUT[] =
    "Cross-validation: every model is trained on all folds of DATA but one and tested on that "
    "one,\n"
    "in turn. Mean and standard deviation over the folds, for numbers of R2, RMSE and, of "
    "infinitely\n"
    "wide networks, the negative log likelihood and the coverage of 95% intervals; for classes of\n"
    "accuracy, log loss, Brier score and calibration error (ECE).";
static const char NOTES[] =
    "Exit: 1 if every network failed, or every model if there is no network. A model that fails\n"
    "does not stop the others.\n\n"
    "Examples:\n"
    "  farfield cv data.csv --target y\n"
    "  farfield cv data.csv -t kind --folds 10 --models 'auto;linear;mean'\n"
    "  farfield cv data.csv -t y --folds site    # each site is tested on once";

static int read_command_line(int argc, char **argv, cv_args *args)
{
    option taken[FIT_OPTIONS_TAKEN];
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = fit_options_take(taken, AT(fit)), .most_operands = 1};
    int code = options_parse(&line, argc, argv, args);
    args->data = line.operands[0];
    return code == OPTIONS_OK ? fit_check_usage(VERB, args->data, "to learn from", &args->fit)
                              : code;
}

/* A whole number, or the name of a column. */
static void read_folds(const char *text, far_compare_opts *o)
{
    char *end;
    long long number = strtoll(text, &end, 10);
    if (*text && !*end) {
        o->folds = number != 0 ? number : 1; /* 1 is refused, as 0 is */
    } else {
        o->fold_column = text;
    }
}

static int read_options(job *j)
{
    int code = fit_read_args(VERB, &j->args.fit, &j->fit);
    far_compare_opts_init(&j->opts);
    j->opts.fit = &j->fit;
    j->opts.models = j->args.models;
    j->opts.certify = 0;
    read_folds(j->args.folds, &j->opts);
    return code;
}

/* ---- scores -------------------------------------------------------------------------------- */

/* A score: its name in JSON, its heading, and where it stands. */
typedef struct score {
    const char *key, *heading, *format;
    int place; /* far_compare_score; or one of these */
} score;
enum { PLACE_R2 = -1, PLACE_RMSE = -2 };

static const score NUMBERS[] = {{"r2", "R2", "%.3f", PLACE_R2},
                                {"rmse", "RMSE", "%.4g", PLACE_RMSE},
                                {"nll", "NLL", "%.3f", FAR_COMPARE_NLL},
                                {"coverage", "coverage", "%.3f", FAR_COMPARE_COVERAGE}};
static const score CLASSES[] = {{"accuracy", "accuracy", "%.3f", FAR_COMPARE_ACCURACY},
                                {"log_loss", "log loss", "%.3f", FAR_COMPARE_LOG_LOSS},
                                {"brier", "Brier", "%.3f", FAR_COMPARE_BRIER},
                                {"ece", "ECE", "%.3f", FAR_COMPARE_ECE}};
enum { SCORE_COUNT = 4 };

static const score *scores_of(const far_comparison_info *info)
{
    return info->classes > 0 ? CLASSES : NUMBERS;
}

static double mean_of(const far_compare_row *r, const score *s)
{
    return s->place == PLACE_R2     ? r->r2_in.mean
           : s->place == PLACE_RMSE ? r->rmse_in.mean
                                    : r->in[s->place].mean;
}

static double value_of(const far_compare_run *r, const score *s)
{
    return s->place == PLACE_R2 ? r->r2_in : s->place == PLACE_RMSE ? r->rmse_in : r->in[s->place];
}

/* Over the folds that did not fail; NAN of less than two. */
static double deviation_of(const far_comparison *c, int64_t model, const score *s, double mean)
{
    double square = 0, count = 0;
    for (int64_t i = 0; i < far_comparison_describe(c).seeds; i++) {
        const far_compare_run *run = &far_comparison_row(c, model)->runs[i];
        if (run->status == FAR_OK) {
            square += pow(value_of(run, s) - mean, 2);
            count++;
        }
    }
    return count > 1 ? sqrt(square / (count - 1)) : NAN;
}

static double seconds_of(double fit, double predict)
{
    return fit + (isnan(predict) ? 0 : predict);
}

/* ---- telling ------------------------------------------------------------------------------- */

static void put_number(far_result *r, const char *key, double value, const char *why)
{
    if (isnan(value)) {
        far_result_missing(r, key, why, NULL);
    } else {
        far_result_number(r, key, value, NULL, NULL);
    }
}

static const char *why_missing(const score *s, bool failed)
{
    bool spread = s->place == FAR_COMPARE_NLL || s->place == FAR_COMPARE_COVERAGE;
    return failed ? "failed" : spread ? "the model states no spread" : "undefined";
}

static void put_fold(far_result *r, const far_comparison_info *info, const far_compare_run *run,
                     int64_t fold)
{
    const score *s = scores_of(info);
    far_result_open(r, NULL);
    far_result_count(r, "fold", fold + 1, NULL, NULL);
    for (int i = 0; i < SCORE_COUNT; i++) {
        put_number(r, s[i].key, value_of(run, &s[i]), why_missing(&s[i], run->status != FAR_OK));
    }
    put_number(r, "seconds", seconds_of(run->seconds_fit, run->seconds_predict), "failed");
    far_result_text(r, "arch", run->arch, NULL, NULL);
    far_result_text(r, "error", run->message, NULL, NULL);
    far_result_close(r);
}

static void put_model(far_result *r, const far_comparison *c, const far_comparison_info *info,
                      int64_t model)
{
    const far_compare_row *row = far_comparison_row(c, model);
    const score *s = scores_of(info);
    bool failed = !comparison_scored(row);
    far_result_open(r, NULL);
    far_result_text(r, "model", row->model, NULL, NULL);
    far_result_text(r, "arch", row->arch, NULL, NULL);
    far_result_text(r, "status", row->state_name, NULL, NULL);
    far_result_text(r, "error", row->message, NULL, NULL);
    for (int i = 0; i < SCORE_COUNT; i++) {
        double mean = mean_of(row, &s[i]);
        far_result_open(r, s[i].key);
        put_number(r, "mean", mean, why_missing(&s[i], failed));
        put_number(r, "sd", deviation_of(c, model, &s[i], mean), why_missing(&s[i], failed));
        far_result_close(r);
    }
    put_number(r, "seconds", seconds_of(row->seconds_fit, row->seconds_predict), "failed");
    far_result_open_list(r, "folds");
    for (int64_t i = 0; i < info->seeds; i++) {
        put_fold(r, info, &far_comparison_row(c, model)->runs[i], i);
    }
    far_result_close(r);
    far_result_close(r);
}

static void put_json(far_result *r, const far_comparison *c, const far_comparison_info *info)
{
    far_result_text(r, "target", info->target, NULL, NULL);
    far_result_text(r, "task", info->classes > 0 ? "classify" : "regress", NULL, NULL);
    far_result_count(r, "row_count", info->rows_in, NULL, NULL);
    far_result_count(r, "fold_count", info->seeds, NULL, NULL);
    far_result_count(r, "seed", (int64_t)info->first_seed, NULL, NULL);
    far_result_text(r, "best", info->best >= 0 ? far_comparison_row(c, info->best)->model : NULL,
                    NULL, NULL);
    far_result_number(r, "seconds", info->seconds, NULL, NULL);
    far_result_open_list(r, "rows");
    for (int64_t k = 0; k < info->models; k++) {
        put_model(r, c, info, k);
    }
    far_result_close(r);
}

/* "0.694 (0.021)"; "-" of what the model does not state. */
static void put_cell(far_result *r, const score *s, double mean, double sd)
{
    char centre[40], around[40];
    if (isnan(mean)) {
        far_result_cell_words(r, mean, "-");
        return;
    }
    snprintf(centre, sizeof centre, s->format, mean);
    snprintf(around, sizeof around, s->format, sd);
    far_result_cell_words(r, mean, "%s (%s)", centre, around);
}

static void put_table(far_result *r, const far_comparison *c, const far_comparison_info *info)
{
    const score *s = scores_of(info);
    far_result_column columns[SCORE_COUNT + 2] = {{NULL, "  model", NULL}};
    for (int i = 0; i < SCORE_COUNT; i++) {
        columns[i + 1] = (far_result_column){NULL, s[i].heading, s[i].format};
    }
    columns[SCORE_COUNT + 1] = (far_result_column){NULL, "seconds", "%.2f"};
    far_result_table(r, NULL,
                     "Means over the folds, and standard deviations over them. * the best.",
                     columns, SCORE_COUNT + 2);
    for (int64_t k = 0; k < info->models; k++) {
        const far_compare_row *row = far_comparison_row(c, k);
        far_result_cell_text(r, "%s %s", k == info->best ? "*" : " ", row->model);
        for (int i = 0; i < SCORE_COUNT; i++) {
            double mean = mean_of(row, &s[i]);
            put_cell(r, &s[i], mean, deviation_of(c, k, &s[i], mean));
        }
        far_result_cell(
            r, comparison_scored(row) ? seconds_of(row->seconds_fit, row->seconds_predict) : NAN);
    }
    for (int64_t k = 0; k < info->models; k++) {
        const far_compare_row *row = far_comparison_row(c, k);
        if (row->message) {
            far_result_line(r, "  %s  %s: %s", row->model, row->state_name, row->message);
        }
    }
}

static int tell(job *j)
{
    report out;
    common_args common = j->args.common;
    const far_comparison *c = j->comparison;
    far_comparison_info info = far_comparison_describe(c);
    common.quiet = false;
    int code = report_begin(&j->s, &common, "Cross-validation", &out);
    far_result *r = out.result;
    put_json(r, c, &info);
    far_result_for(r, FAR_FOR_PEOPLE);
    far_result_line(r, "%s, %lld rows, %lld folds, seed %llu", info.target, (long long)info.rows_in,
                    (long long)info.seeds, (unsigned long long)info.first_seed);
    put_table(r, c, &info);
    far_result_for(r, FAR_FOR_ALL);
    comparison_tell_xgboost(r, j->s.ctx, c);
    far_result_for(r, FAR_FOR_ALL);
    columns_tell(r, far_comparison_describe(c).columns);
    return report_end(&out, code);
}

/* ---- the job ------------------------------------------------------------------------------- */

static int report_failure(job *j, far_status st)
{
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    return session_failure(&j->s, about_data ? j->data.label : NULL);
}

static int validate(job *j)
{
    j->fit.rows = j->data.rows;
    interrupts_hold();
    far_status st = far_comparison_create(j->s.ctx, j->data.frame, &j->opts, &j->comparison);
    session_idle(&j->s); /* does not come back after Ctrl-C */
    if (st != FAR_OK) {
        return report_failure(j, st);
    }
    progress_end(&j->s.bar);
    columns_say(&j->s, far_comparison_describe(j->comparison).columns);
    return EXIT_DONE;
}

static int run_cv(void *user)
{
    job *j = user;
    int code = comparison_check(&j->s, &j->opts);
    if (code == EXIT_DONE) {
        code = comparison_data(&j->s, j->args.data, j->args.models, &j->args.fit, &j->data);
    }
    if (code == EXIT_DONE) {
        code = validate(j);
    }
    if (code == EXIT_DONE) {
        code = tell(j);
        int judged = comparison_verdict(VERB, j->comparison);
        code = code == EXIT_DONE ? judged : code;
    }
    return code;
}

static void clean(void *user)
{
    job *j = user;
    far_comparison_destroy(j->comparison);
    dataset_free(&j->data);
}

int cmd_cv(int argc, char **argv)
{
    job j = {.args = {.models = FAR_COMPARE_MODELS,
                      .folds = "5",
                      .common = {.threads = default_threads()}}};
    fit_defaults(&j.args.fit);
    j.args.fit.arch = ""; /* models name their own */
    int code = read_command_line(argc, argv, &j.args);
    code = code == OPTIONS_OK ? read_options(&j) : code;
    return session_run(VERB, code, (verb_job){&j.s, &j.args.common, run_cv, clean, &j});
}
