/* farfield fit: a table in, a model out. */
#include "cli.h"
#include "files.h"
#include "fit_baseline.h"
#include "fitting.h"
#include "json.h"
#include "report_verbs.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define VERB "fit"

typedef struct cmd_fit_args {
    fit_args fit; /* first: FIT_OPTIONS count from it */
    const char *data, *output, *report;
    int model; /* a baseline_model */
    int argc;  /* what was typed */
    char **argv;
    bool json, quiet;
    int64_t threads;
} cmd_fit_args;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(cmd_fit_args, field)

static const option OUTPUT_OPTIONS[] = {
    {"--model", 0, OPTION_CHOICE, AT(model), MODEL_LIST,
     "a network of infinite width, or a baseline: a ridge regression,\n"
     "boosted trees (XGBoost), the mean of the target",
     0, 0},
    {"--output", 'o', OPTION_TEXT, AT(output), "FILE", "keep the model in FILE (model.far)", 0, 0},
    {"--report", 0, OPTION_TEXT, AT(report), "DIR",
     "also write report.html in DIR: how well it is determined, pictures", 0, 0},
    {"--json", 0, OPTION_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no summary, no talk and no progress bar", 0, 0},
    {"--threads", 0, OPTION_COUNT, AT(threads), "N", "0 is one per core", 0, MOST_THREADS},
};

static const char USAGE[] = "fit DATA --target COL[,COL] [options] [-o model.far]";
static const char ABOUT[] =
    "Fits an infinitely wide network to the rows of DATA and prints how well it is determined.\n"
    "Without --output nothing is kept.";
static const char NOTES[] =
    "DATA: csv with a header (or columns c1, c2, ...), npy or npz, also gzipped; - is standard\n"
    "input; file.npz:name picks one array of an npz. Columns of words become indicators.\n\n"
    "Examples:\n"
    "  farfield fit train.csv --target RMSD -o model.far\n"
    "  farfield fit iris.csv -t species --features petal_length,petal_width -o iris.far\n"
    "  farfield fit train.csv -t y --where 'F1 < 20000' -a 'dense ln relu dense' --ridge 0.01\n"
    "  farfield fit train.csv -t y --model linear -o line.far";

static int check_usage(const cmd_fit_args *a)
{
    if (!a->data) {
        return usage_error(VERB, "no table DATA to fit");
    }
    if (!a->fit.target) {
        return usage_error(VERB, "--target is missing: which column is to be predicted?");
    }
    return OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, cmd_fit_args *args)
{
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = FIT_OPTIONS,
                         .option_count = FIT_OPTION_COUNT,
                         .more = {.options = OUTPUT_OPTIONS,
                                  .count = sizeof OUTPUT_OPTIONS / sizeof OUTPUT_OPTIONS[0]},
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, args);
    args->data = line.operands[0];
    return code == OPTIONS_OK ? check_usage(args) : code;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static const char *word_of(const char *list, int index)
{
    static char buffer[16];
    return choice_word(list, index, buffer, sizeof buffer);
}

static void json_sizes(const far_model *m, const far_model_info *i)
{
    json_text_field(stdout, "arch", far_model_arch(m));
    json_text_field(stdout, "kernel", word_of(PRIOR_LIST, i->prior));
    json_text_field(stdout, "param", word_of(PARAM_LIST, i->param));
    json_number_field(stdout, "n", (double)i->rows);
    json_number_field(stdout, "inputs", (double)i->inputs);
    json_number_field(stdout, "outputs", (double)i->outputs);
    json_text_field(stdout, "task", word_of(TASK_LIST, i->task));
}

static void json_diagnostics(const far_model_info *i)
{
    json_number_field(stdout, "ridge", i->ridge);
    json_number_field(stdout, "ridge_relative", i->ridge_relative);
    json_number_field(stdout, "mean_diagonal", i->mean_diagonal);
    json_number_field(stdout, "residual", i->residual);
    json_number_field(stdout, "lambda_min", i->lambda_min);
    json_number_field(stdout, "lambda_max", i->lambda_max);
    json_number_field(stdout, "condition", i->condition);
    json_number_field(stdout, "log_det", i->log_det);
    json_number_field(stdout, "duplicates", (double)i->duplicates);
    json_number_field(stdout, "conflicts", (double)i->conflicts);
    json_number_field(stdout, "r2_train", i->r2_train);
}

static void json_cost(const far_model_info *i)
{
    json_key(stdout, "seconds");
    json_begin(stdout);
    json_number_field(stdout, "choose", i->seconds_choose);
    json_number_field(stdout, "fill", i->seconds_fill);
    json_number_field(stdout, "factor", i->seconds_factor);
    json_number_field(stdout, "solve", i->seconds_solve);
    json_number_field(stdout, "total", i->seconds_total);
    json_close(stdout);
    json_number_field(stdout, "bytes", i->bytes);
    json_text_field(stdout, "storage", i->storage == FAR_STORAGE_PACKED ? "packed" : "full");
}

static void json_candidate(const far_candidate *c)
{
    json_begin(stdout);
    json_text_field(stdout, "arch", c->arch);
    json_number_field(stdout, "ridge", c->ridge);
    json_number_field(stdout, "loo_r2", c->loo_r2);
    json_number_field(stdout, "edge_r2", c->edge_r2);
    json_number_field(stdout, "log_likelihood",
                      isfinite(c->log_likelihood) ? c->log_likelihood : NAN);
    json_bool_field(stdout, "bounded", c->bounded);
    json_bool_field(stdout, "chosen", c->chosen);
    json_close(stdout);
}

static void json_candidates(const far_model *m)
{
    json_key(stdout, "candidates");
    putchar('[');
    for (int64_t i = 0; i < far_model_candidate_count(m); i++) {
        far_candidate c = far_model_candidate(m, i);
        fputs(i ? ",\n " : "\n ", stdout);
        json_candidate(&c);
    }
    putchar(']');
}

static void print_json(const far_model *m, const char *path)
{
    far_model_info info = far_model_describe(m);
    json_begin(stdout);
    json_sizes(m, &info);
    json_diagnostics(&info);
    json_cost(&info);
    json_candidates(m);
    json_text_field(stdout, "data_hash", far_columns_hash(far_model_columns(m)));
    if (path) {
        json_text_field(stdout, "model", path);
    } else {
        json_null_field(stdout, "model");
    }
    json_end(stdout);
}

/* ---- the summary --------------------------------------------------------------------------- */

enum { NAMES_SHOWN = 8, LABEL_WIDTH = 14 };

static void print_label(const char *label)
{
    print("%-*s", LABEL_WIDTH, label);
}

static void print_outputs(const far_model *m, const far_model_info *i)
{
    bool classes = i->task == FAR_TASK_CLASSIFY;
    print_label(classes ? "classes" : "outputs");
    print("%lld: ", (long long)i->outputs);
    for (int64_t k = 0; k < i->outputs && k < NAMES_SHOWN; k++) {
        print("%s%s", k ? ", " : "",
              classes ? far_columns_class(far_model_columns(m), k)
                      : far_columns_target(far_model_columns(m), k));
    }
    print("%s\n", i->outputs > NAMES_SHOWN ? ", ..." : "");
}

static void print_matrix(const far_model_info *i)
{
    print_label("ridge");
    print("%.4g (%.4g of the mean diagonal %.4g)\n", i->ridge, i->ridge_relative, i->mean_diagonal);
    print_label("residual");
    print("%.2g\n", i->residual);
    if (!isnan(i->condition)) {
        print_label("condition");
        print("%.4g (lambda_min %.4g, lambda_max %.4g)\n", i->condition, i->lambda_min,
              i->lambda_max);
    }
    print_label("train R2");
    print("%.6g\n", i->r2_train);
}

/* With the architecture given only the ridge was chosen. */
static void print_choice(const far_model *m)
{
    if (far_model_candidate_count(m) != 1) {
        return;
    }
    far_candidate c = far_model_candidate(m, 0);
    print_label("LOO R2");
    if (isfinite(c.log_likelihood)) {
        print("%.6g (log likelihood per row %.4g)\n", c.loo_r2, c.log_likelihood);
    } else { /* targets that do not vary are as likely as one likes */
        print("%.6g (no log likelihood: the targets do not vary)\n", c.loo_r2);
    }
}

static void print_duplicates(const far_model_info *i)
{
    print_label("duplicates");
    if (i->duplicates == 0) {
        print("none\n");
        return;
    }
    print("%lld %s the inputs of an earlier row, ", (long long)i->duplicates,
          i->duplicates == 1 ? "row repeats" : "rows repeat");
    if (i->conflicts == 0) {
        print("with the same targets\n");
    } else {
        print("%lld with other targets\n", (long long)i->conflicts);
    }
}

static void print_cost(const far_model_info *i)
{
    char size[SHOW_BYTES];
    print_label("time");
    print("%.2f s (choose %.2f, fill %.2f, factor %.2f, solve %.2f)\n", i->seconds_total,
          i->seconds_choose, i->seconds_fill, i->seconds_factor, i->seconds_solve);
    print_label("memory");
    print("%s, %s storage\n", show_size(i->bytes, size),
          i->storage == FAR_STORAGE_PACKED ? "packed" : "full");
}

static int widest_arch(const far_model *m)
{
    size_t widest = strlen("architecture");
    for (int64_t i = 0; i < far_model_candidate_count(m); i++) {
        size_t length = strlen(far_model_candidate(m, i).arch);
        widest = length > widest ? length : widest;
    }
    return (int)widest;
}

static void print_candidates(const far_model *m)
{
    int64_t count = far_model_candidate_count(m);
    if (count < 2) {
        return;
    }
    int width = widest_arch(m);
    print("\nchosen among\n  %-*s %10s %9s %9s %12s  bounded\n", width, "architecture", "ridge",
          "LOO R2", "edge R2", "log lik/row");
    for (int64_t i = 0; i < count; i++) {
        far_candidate c = far_model_candidate(m, i);
        char at_edge[16] = "-";
        if (!isnan(c.edge_r2)) {
            snprintf(at_edge, sizeof at_edge, "%.4f", c.edge_r2);
        }
        print("%c %-*s %10.3g %9.4f %9s %12.4f  %s\n", c.chosen ? '*' : ' ', width, c.arch, c.ridge,
              c.loo_r2, at_edge, c.log_likelihood, c.bounded ? "yes" : "no, never chosen");
    }
}

static void print_summary(const far_model *m, const char *path)
{
    far_model_info info = far_model_describe(m);
    print_label("rows");
    print("%lld\n", (long long)info.rows);
    print_label("inputs");
    print("%lld\n", (long long)info.inputs);
    print_outputs(m, &info);
    print_label("architecture");
    print("%s\n", far_model_arch(m));
    print_matrix(&info);
    print_choice(m);
    print_duplicates(&info);
    print_cost(&info);
    print_label("model");
    print("%s\n", path ? path : "not saved; -o FILE keeps it");
    print_candidates(m);
}

/* ---- the job ------------------------------------------------------------------------------- */

static int save(session *s, const far_model *m, const char *path)
{
    far_predictor *p = NULL;
    far_status st = path ? far_predictor_of_model(s->ctx, m, &p) : FAR_OK;
    st = st == FAR_OK && path ? far_predictor_save(s->ctx, p, path) : st;
    far_predictor_destroy(p);
    session_idle(s); /* does not come back after Ctrl-C */
    return st == FAR_OK ? EXIT_DONE : session_failure(s, NULL);
}

static int write_report(session *s, const cmd_fit_args *args, const far_model *m)
{
    report r;
    int code = report_open(s, args->report, &r);
    if (code == EXIT_DONE && args->report) {
        report_fit(&r, m, operand_label(args->data), args->argc, args->argv);
        code = report_write(&r);
    }
    report_close(&r);
    return code;
}

static int fit_and_save(session *s, const cmd_fit_args *args, far_fit_opts *opts)
{
    far_model *m = NULL;
    int code = fit_data(s, args->data, args->fit.where, opts, &m);
    if (code == EXIT_DONE) {
        code = save(s, m, args->output);
    }
    if (code == EXIT_DONE) {
        code = write_report(s, args, m);
    }
    if (code == EXIT_DONE && args->json) {
        print_json(m, args->output);
    } else if (code == EXIT_DONE && !args->quiet) {
        print_summary(m, args->output);
    }
    far_model_destroy(m);
    return code;
}

static int run_fit(session *s, const cmd_fit_args *args, far_fit_opts *opts)
{
    common_args common = {args->report, args->json, args->quiet, args->threads};
    int code = fit_check_arch(s, opts);
    if (code == EXIT_DONE && args->output) {
        code = output_possible(VERB, s->ctx, args->output);
    }
    if (code == EXIT_DONE && args->model != MODEL_NETWORK) {
        return fit_baseline(s, &args->fit, &common, (baseline_model)args->model, args->data,
                            args->output);
    }
    if (code == EXIT_DONE) {
        code = report_possible(s, args->report);
    }
    return code == EXIT_DONE ? fit_and_save(s, args, opts) : code;
}

int cmd_fit(int argc, char **argv)
{
    cmd_fit_args args = {.argc = argc, .argv = argv, .threads = default_threads()};
    far_fit_opts opts;
    fit_defaults(&args.fit);
    int code = read_command_line(argc, argv, &args);
    if (code == OPTIONS_OK) {
        code = fit_read_args(VERB, &args.fit, &opts);
    }
    if (code != OPTIONS_OK) {
        return code;
    }
    session s = {0};
    code = session_open(&s, VERB, args.threads, args.quiet);
    if (code == EXIT_DONE) {
        code = run_fit(&s, &args, &opts);
    }
    session_close(&s);
    return code;
}
