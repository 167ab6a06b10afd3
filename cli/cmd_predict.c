/* farfield predict: what a model says about the rows of a table, or about directions; of a kernel
 * in its place, see predict_kernel.c. */
#define _GNU_SOURCE
#include "cli.h"
#include "columns_show.h"
#include "dataset.h"
#include "explain.h"
#include "files.h"
#include "options.h"
#include "predict_kernel.h"
#include "predict_score.h"
#include "report.h"
#include "session.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "predict"

typedef struct predict_args {
    const char *model, *data; /* operands */
    const char *where, *arch, *output, *id;
    table_args table;
    int spread; /* far_spread - 1 */
    bool std, at_infinity, flag_range, score;
    double time, rate, memory;
    int64_t steps;
    common_args common;
    predict_kernel_args kernel;
    bool of_kernel;
} predict_args;

/* A prediction with what is needed to write it. */
typedef struct job {
    predict_args args;
    session s;
    far_predictor *of;
    dataset data;
    far_prediction *prediction;
    result_column *columns;
    int64_t column_count;
    far_mat classes;                     /* rows x 1, indices; for a classification */
    const char **labels;                 /* of the classes */
    double *unseen, *outside, *farthest; /* of each row; NULL: not told */
    const char **inputs;                 /* names, "" first */
    prediction_score score;
    carried ids;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(predict_args, field)

static const option OPTIONS[] = {
    WHERE_OPTION(AT(where)),
    TABLE_OPTIONS(AT(table)),
    FLAG_OPTION("--std", 0, AT(std), "standard deviations too"),
    CHOICE_OPTION("--spread", 0, AT(spread), "calibrated|posterior|ensemble|likelihood",
                  "which (implies --std): of a new observation, so that mean +- 1.96 std\n"
                  "holds 95% of them; of the posterior with amplitude one; over trained\n"
                  "networks, from their random start; of a new observation by the\n"
                  "marginal likelihood"),
    {"--time", 0, OPTION_NUMBER, AT(time), "T", "stop gradient flow at time T", 0, 1},
    COUNT_OPTION("--steps", 0, AT(steps), "K", "stop gradient descent after K steps", 1, INT64_MAX),
    NUMBER_OPTION("--rate", 0, AT(rate), "ETA", "the learning rate of those steps"),
    FLAG_OPTION("--score", 0, AT(score),
                "DATA has the target too: R2, RMSE and, of infinitely wide networks, the\n"
                "coverage of 95% intervals and NLL (implies --std); or accuracy, log\n"
                "loss, Brier, ECE"),
    TEXT_OPTION("--id", 0, AT(id), "COL[,COL]",
                "columns of DATA to carry through, before the predictions"),
    FLAG_OPTION("--flag-range", 0, AT(flag_range),
                "columns that tell how far a row is outside the training range: the\n"
                "distance in standard deviations (0: inside), and of which column"),
    FLAG_OPTION("--at-infinity", 0, AT(at_infinity),
                "rows of DATA are directions: the limit of the prediction along them,\n"
                "or the coefficient of the power of t it grows with (column order);\n"
                "categories are no part of them, dates go in days"),
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",
                "of a network whose file does not name it (one that PyTorch wrote); or\n"
                "a kernel: that of infinite width, with a table X"),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz), not csv on standard output"),
    MEMORY_OPTION("use at most 500M, 8G, ... (what the machine has available)"),
};

static const char USAGE[] =
    "predict MODEL DATA [options] [-o FILE]\n"
    "predict K --y FILE --ridge R|--time T|--gd RATE,STEPS [--cross KX] [options]\n"
    "predict --net NET X -t COL --ridge R|--time T|--gd RATE,STEPS [--at NEW] [options]\n"
    "predict --arch ARCH X -t COL --ridge R|--time T|--gd RATE,STEPS [--at NEW] [options]";
static const char ABOUT[] =
    "Predictions of MODEL (from farfield fit), or of a network (from farfield train or PyTorch), "
    "for\n"
    "the rows of DATA: csv with a header, one column per target, or the likeliest class and the\n"
    "probability p_LABEL of each. With a kernel in place of a model: the linear model of that\n"
    "kernel, trained on the targets.";
static const char NOTES[] =
    "DATA needs the columns the model was fitted on, in any order; others are ignored. It is csv,\n"
    "npy or npz, also gzipped; - is standard input; or a folder of pictures, whose names stand\n"
    "before the predictions. An .npy or .npz output holds the same columns as one matrix, without\n"
    "their names, the class as its index from 0.\n\n"
    "Of a kernel K, f = f0 + K(x, X) g(K) (y - f0), g(l) = (1 - decay) / (l + ridge), where decay "
    "is\n"
    "e^(-(l + ridge) t / N) or (1 - rate (l + ridge) / N)^steps, and 0 without --time and --gd. "
    "It\n"
    "prints the condition number of K + ridge I, what is left of the targets, and the loss\n"
    "L = 1/(2N) sum |f - y|^2; -o keeps fitted values and residuals. Predictions of new points "
    "are\n"
    "csv, in place of that (with -o, beside it), of a network in the units of the table. K is a\n"
    "matrix as kernel and gram write it; an .npz of theirs says what it is of, and targets, "
    "tables\n"
    "and cross kernels of other points are refused.\n\n"
    "Examples:\n"
    "  farfield predict model.far test.csv\n"
    "  farfield predict model.far test.csv --std -o predictions.csv.gz\n"
    "  farfield predict net.safetensors test.csv\n"
    "  printf 'x\\n1\\n-1\\n' | farfield predict model.far - --at-infinity\n"
    "  farfield predict K.npz --y y.csv --ridge 0.1 --cross KX.npz -o new.csv\n"
    "  farfield predict --arch 'dense relu dense' train.csv -t y --time 1000 --curve 1:1e5";

static int check_training(const command_line *line, const predict_args *a)
{
    bool steps = options_given(line, "--steps"), rate = options_given(line, "--rate");
    if (steps && options_given(line, "--time")) {
        return usage_error(VERB, "--steps does not go with --time");
    }
    if (steps != rate) {
        return usage_error(VERB, "--steps and --rate go together");
    }
    bool early = steps || isfinite(a->time);
    if (early && a->std && a->spread != FAR_SPREAD_ENSEMBLE - 1) {
        return usage_error(VERB, "before the end of training only --spread ensemble is defined");
    }
    return OPTIONS_OK;
}

static int check_infinity(const command_line *line)
{
    static const char *const OTHERS[] = {"--std",   "--spread",     "--time",
                                         "--steps", "--flag-range", "--score"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    return other ? usage_error(VERB, "--at-infinity does not go with %s", other) : OPTIONS_OK;
}

static int check_usage(const command_line *line, const predict_args *a)
{
    if (!a->model || !a->data) {
        return usage_error(VERB, a->model ? "no table DATA" : "no MODEL and no table DATA");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    int code = check_training(line, a);
    return code == OPTIONS_OK && a->at_infinity ? check_infinity(line) : code;
}

/* What the two forms share lies in one place on the command line. */
static int check_kernel(const command_line *line, predict_args *args)
{
    predict_kernel_args *k = &args->kernel;
    args->of_kernel = true;
    k->source.arch = args->arch;
    k->source.where = args->where;
    k->source.table = args->table;
    k->time = args->time;
    k->output = args->output;
    k->common = args->common;
    return predict_kernel_check(line, k);
}

static int read_command_line(int argc, char **argv, predict_args *args)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = predict_kernel_options(AT(kernel)), .most_operands = 2};
    int code = options_parse(&line, argc, argv, args);
    if (code == OPTIONS_OK && options_given_more(&line, NULL)) {
        return check_kernel(&line, args);
    }
    args->model = line.operands[0];
    args->data = line.operands[1];
    args->std = args->std || options_given(&line, "--spread");
    return code == OPTIONS_OK ? check_usage(&line, args) : code;
}

/* ---- columns ------------------------------------------------------------------------------- */

static bool classifies(const job *j)
{
    return far_columns_describe(far_predictor_describe(j->of).columns).classes > 0;
}

static const char *output_name(const job *j, int64_t k)
{
    return subject_output(j->of, k);
}

/* The column "BEFORE name AFTER". */
static void add_column(job *j, const char *before, const char *name, const char *after,
                       far_mat values, int64_t col)
{
    result_column *c = &j->columns[j->column_count++];
    *c = (result_column){.values = values, .col = col};
    if (asprintf(&c->name, "%s%s%s", before, name, after) < 0) {
        c->name = NULL;
    }
}

static bool find_classes(job *j, int64_t rows, int64_t outputs)
{
    double *index = calloc((size_t)rows + 1, sizeof *index);
    j->labels = calloc((size_t)outputs, sizeof *j->labels);
    if (!index || !j->labels) {
        free(index);
        return false;
    }
    for (int64_t i = 0; i < rows; i++) {
        index[i] = (double)j->prediction->classes[i];
    }
    for (int64_t k = 0; k < outputs; k++) {
        j->labels[k] = output_name(j, k);
    }
    j->classes = far_mat_view(index, rows, 1, FAR_F64);
    return true;
}

/* class, p_LABEL for each, score_LABEL_std for each if asked for. */
static void add_class_columns(job *j, int64_t outputs)
{
    far_mat probability = j->prediction->probability;
    far_mat std = j->prediction->std;
    add_column(j, "", "class", "", j->classes, 0);
    j->columns[j->column_count - 1].words = j->labels;
    for (int64_t k = 0; k < outputs; k++) {
        add_column(j, "p_", j->labels[k], "", probability, k);
    }
    for (int64_t k = 0; k < outputs && std.rows > 0; k++) {
        add_column(j, "score_", j->labels[k], "_std", std, k);
    }
}

/* Whether the mean of a classification holds probabilities: what a trained network learns. */
static bool probable(const job *j)
{
    return far_columns_describe(far_predictor_describe(j->of).columns).loss != FAR_LOSS_NONE;
}

/* NAME, NAME_std for each output; at infinity the order behind them. */
static void add_value_columns(job *j, int64_t outputs)
{
    far_mat mean = j->prediction->mean, std = j->prediction->std;
    far_mat order = j->prediction->order;
    const char *before = !classifies(j) ? "" : probable(j) ? "p_" : "score_";
    for (int64_t k = 0; k < outputs; k++) {
        add_column(j, before, output_name(j, k), "", mean, k);
        if (std.rows > 0) {
            add_column(j, "", output_name(j, k), "_std", std, k);
        }
    }
    if (order.rows > 0) {
        add_column(j, "", "order", "", order, 0);
    }
}

/* How many categories of a row are unseen, and how far it is outside the range. */
static void add_flags(job *j, int64_t rows)
{
    if (j->unseen) {
        add_column(j, "", "unseen", "", far_mat_view(j->unseen, rows, 1, FAR_F64), 0);
    }
    if (j->outside) {
        add_column(j, "", "outside", "", far_mat_view(j->outside, rows, 1, FAR_F64), 0);
        add_column(j, "", "outside_column", "", far_mat_view(j->farthest, rows, 1, FAR_F64), 0);
        j->columns[j->column_count - 1].words = j->inputs;
    }
}

static bool names_whole(const job *j)
{
    for (int64_t k = 0; k < j->column_count; k++) {
        if (!j->columns[k].name) {
            return false;
        }
    }
    return true;
}

static int make_columns(job *j)
{
    far_mat mean = j->prediction->mean;
    bool classes = classifies(j);
    j->columns = calloc(2 * (size_t)mean.cols + 4 + (size_t)j->ids.count, sizeof *j->columns);
    if (!j->columns || (classes && !find_classes(j, mean.rows, mean.cols))) {
        return failure(VERB, "out of memory");
    }
    for (int64_t k = 0; k < j->ids.count; k++) { /* the names go over to them */
        j->columns[j->column_count++] = j->ids.columns[k];
    }
    j->ids.count = 0;
    if (classes && !j->args.at_infinity) {
        add_class_columns(j, mean.cols);
    } else {
        add_value_columns(j, mean.cols);
    }
    add_flags(j, mean.rows);
    return names_whole(j) ? EXIT_DONE : failure(VERB, "out of memory");
}

/* ---- JSON and page ------------------------------------------------------------------------- */

static void tell_matrix(far_result *r, const char *key, far_mat m)
{
    int64_t shape[] = {m.rows, m.cols};
    if (m.rows > 0) {
        far_result_array(r, key, &m, shape, 2);
    }
}

/* Words of rows by their indices, which stand in a column of values. */
static void tell_words(far_result *r, const char *key, const far_mat *values, int64_t col,
                       const char *const *words)
{
    const char **names = calloc((size_t)values->rows + 1, sizeof *names);
    for (int64_t i = 0; names && i < values->rows; i++) {
        names[i] = words[(int64_t)mat_get(values, i, col)];
    }
    far_result_check(r, names ? FAR_OK : FAR_ERR_MEMORY);
    if (names) {
        far_result_texts(r, key, names, values->rows);
    }
    free(names);
}

static void tell_flags(far_result *r, const job *j)
{
    if (j->unseen) {
        far_result_list(r, "unseen", j->unseen, j->data.count);
    }
    if (j->outside) {
        const char **names = calloc((size_t)j->data.count + 1, sizeof *names);
        for (int64_t i = 0; names && i < j->data.count; i++) {
            names[i] = j->inputs[(int64_t)j->farthest[i]];
        }
        far_result_list(r, "outside", j->outside, j->data.count);
        far_result_check(r, names ? FAR_OK : FAR_ERR_MEMORY);
        if (names) {
            far_result_texts(r, "outside_column", names, j->data.count);
        }
        free(names);
    }
}

static void tell_values(far_result *r, const job *j)
{
    bool classes = classifies(j);
    far_mat order = j->prediction->order;
    const result_column *first = &j->columns[0];
    if (is_folder(j->args.data) && !j->args.id) {
        tell_words(r, "pictures", &first->values, first->col, first->words);
    }
    if (classes && !j->args.at_infinity) {
        tell_words(r, "class", &j->classes, 0, j->labels);
    }
    tell_matrix(r, "probability", j->prediction->probability);
    if (!classes || !probable(j)) {
        tell_matrix(r, classes ? "scores" : "mean", j->prediction->mean);
    }
    tell_matrix(r, "std", j->prediction->std);
    tell_flags(r, j);
    if (order.rows > 0) {
        far_result_list(r, "order", order.data, order.rows);
    }
}

static void tell_outputs(far_result *r, const job *j, int64_t outputs)
{
    const char **names = calloc((size_t)outputs + 1, sizeof *names);
    for (int64_t k = 0; names && k < outputs; k++) {
        names[k] = output_name(j, k);
    }
    far_result_check(r, names ? FAR_OK : FAR_ERR_MEMORY);
    if (names) {
        far_result_texts(r, "outputs", names, outputs);
    }
    free(names);
}

enum { PAGE_ROWS = 100 }; /* that a page shows */

static void tell_table(far_result *r, const job *j, int64_t rows)
{
    int64_t shown = rows < PAGE_ROWS ? rows : PAGE_ROWS;
    far_result_column *columns = calloc((size_t)j->column_count + 1, sizeof *columns);
    far_result_check(r, columns ? FAR_OK : FAR_ERR_MEMORY);
    if (!columns) {
        return;
    }
    columns[0] = (far_result_column){NULL, "row", "%.0f"}; /* of those chosen, from 1 */
    for (int64_t k = 0; k < j->column_count; k++) {
        columns[k + 1] =
            (far_result_column){NULL, j->columns[k].name, j->columns[k].words ? NULL : "%.6g"};
    }
    far_result_table(r, NULL, rows > shown ? "The first rows; csv has all of them." : NULL, columns,
                     j->column_count + 1);
    for (int64_t i = 0; i < shown; i++) {
        far_result_cell(r, (double)i + 1);
        for (int64_t k = 0; k < j->column_count; k++) {
            const result_column *c = &j->columns[k];
            double value = mat_get(&c->values, i, c->col);
            if (c->words) {
                far_result_cell_text(r, "%s", c->words[(int64_t)value]);
            } else {
                far_result_cell(r, value);
            }
        }
    }
    free(columns);
}

/* The text of a prediction is its csv, which stands on standard output by itself. */
static int tell(job *j)
{
    report out;
    far_mat mean = j->prediction->mean;
    int code = report_begin(&j->s, &j->args.common, "Predictions", &out);
    far_result *r = out.result;
    out.quiet |= !j->args.common.json;
    far_result_for(r, FAR_FOR_JSON);
    far_result_text(r, "model", j->args.model, NULL, NULL);
    far_result_text(r, "arch", far_predictor_describe(j->of).arch, NULL, NULL);
    far_result_text(r, "task", classifies(j) ? "classify" : "regress", NULL, NULL);
    far_result_count(r, "rows", mean.rows, NULL, NULL);
    tell_outputs(r, j, mean.cols);
    far_result_for(r, FAR_FOR_ALL);
    prediction_score_tell(r, &j->score);
    far_result_for(r, FAR_FOR_JSON);
    if (j->args.output) {
        far_result_text(r, "file", j->args.output, NULL, NULL);
    } else {
        tell_values(r, j);
    }
    far_result_for(r, FAR_FOR_PAGE);
    far_result_text(r, NULL, j->args.model, "model", NULL);
    far_result_count(r, NULL, mean.rows, "rows", NULL);
    tell_table(r, j, mean.rows);
    if (!j->args.at_infinity) {
        explain_nearest(&out, j->of, &j->data);
        explain_table(&out, j->of, &j->data, "these rows");
    }
    return report_end(&out, code);
}

/* ---- the job ------------------------------------------------------------------------------- */

/* A score of numbers takes a spread where there is one. */
static void imply_spread(job *j)
{
    bool early = isfinite(j->args.time) || j->args.steps != 0;
    far_predictor_info info = far_predictor_describe(j->of);
    if (j->args.score && !early && !classifies(j) && info.kind == FAR_PREDICTOR_INFINITE) {
        j->args.std = true;
    }
}

static void read_options(const predict_args *a, const unsigned char *rows, far_predict_opts *opts)
{
    far_predict_opts_init(opts);
    opts->rows = rows;
    opts->spread = a->std ? a->spread + 1 : FAR_SPREAD_NONE;
    opts->time = a->time;
    opts->steps = a->steps;
    opts->rate = isnan(a->rate) ? opts->rate : a->rate;
    opts->at_infinity = a->at_infinity;
    opts->memory = a->memory;
}

/* Spreads factor the training matrix again; calibrated ones of a fit without a factor that of its
 * landmarks. */
static void announce(job *j)
{
    int64_t n = far_predictor_describe(j->of).rows;
    const far_model_info *model = far_predictor_model(j->of);
    if (model && model->landmarks > 0 && j->args.spread + 1 == FAR_SPREAD_CALIBRATED) {
        n = model->landmarks;
    }
    if (!j->args.std || n < 1) {
        return;
    }
    far_estimate e;
    far_solve_opts opts;
    far_solve_opts_init(&opts);
    opts.memory = j->args.memory;
    if (far_solve_estimate(j->s.ctx, n, &opts, &e) == FAR_OK && e.fits) {
        session_announce(&j->s, n, &e);
    }
}

/* Of rows; directions have no categories. */
static int find_unseen(job *j)
{
    int64_t unseen = 0;
    if (j->args.at_infinity) {
        return EXIT_DONE;
    }
    double *counts = calloc((size_t)j->data.count + 1, sizeof *counts);
    if (!counts) {
        return failure(VERB, "out of memory");
    }
    int code = columns_say_unseen(&j->s, far_predictor_describe(j->of).columns, j->data.frame,
                                  j->data.rows, counts, &unseen);
    if (code == EXIT_DONE && unseen > 0) {
        j->unseen = counts;
    } else {
        free(counts);
    }
    return code;
}

/* Names of inputs from 1 on, so that 0 is none. */
static int find_outside(job *j)
{
    size_t rows = (size_t)j->data.count + 1, inputs = (size_t)subject_inputs(j->of) + 1;
    int64_t *which = calloc(rows, sizeof *which);
    j->outside = calloc(rows, sizeof *j->outside);
    j->farthest = calloc(rows, sizeof *j->farthest);
    j->inputs = calloc(inputs, sizeof *j->inputs);
    bool memory = which && j->outside && j->farthest && j->inputs;
    far_status st = memory ? far_columns_outside(j->s.ctx, far_predictor_describe(j->of).columns,
                                                 j->data.frame, j->data.rows, j->outside, which)
                           : FAR_OK;
    for (size_t i = 0; memory && i < inputs; i++) {
        j->inputs[i] = i ? subject_input(j->of, (int64_t)i - 1) : "";
    }
    for (int64_t i = 0; memory && i < j->data.count; i++) {
        j->farthest[i] = (double)which[i] + 1;
    }
    free(which);
    return !memory        ? failure(VERB, "out of memory")
           : st == FAR_OK ? EXIT_DONE
                          : session_failure(&j->s, j->args.model);
}

static int flag(job *j)
{
    int code = find_unseen(j);
    return code == EXIT_DONE && j->args.flag_range ? find_outside(j) : code;
}

static int judge(job *j)
{
    int code = prediction_judge(&j->s, j->of, &j->data, j->prediction, &j->score);
    char *line = code == EXIT_DONE ? prediction_score_line(&j->score) : NULL;
    if (line && j->args.output && !j->args.common.json) {
        print("%s\n", line); /* standard output is free */
    } else if (line) {
        session_say(&j->s, "%s", line);
    }
    free(line);
    return code;
}

static int predict(job *j)
{
    far_predict_opts opts;
    imply_spread(j);
    read_options(&j->args, j->data.rows, &opts);
    announce(j);
    interrupts_hold();
    far_status st = far_predictor_predict(j->s.ctx, j->of, j->data.frame, &opts, &j->prediction);
    if (st == FAR_OK) {
        return EXIT_DONE;
    }
    session_idle(&j->s);
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    return session_failure(&j->s, about_data ? j->data.label : NULL);
}

/* Interrupts are held; only a file needs that. */
static int write_result(job *j)
{
    const predict_args *a = &j->args;
    if (!a->output) {
        session_idle(&j->s);
    }
    int code = make_columns(j);
    if (code == EXIT_DONE) {
        code = columns_check(VERB, j->columns, j->column_count, j->prediction->mean.rows);
    }
    if (code == EXIT_DONE && (a->output || !a->common.json)) {
        code = columns_write(VERB, j->s.ctx, j->columns, j->column_count, j->prediction->mean.rows,
                             "prediction", a->output);
    }
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return code == EXIT_DONE ? tell(j) : code;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

static bool is_model(const char *path)
{
    return ends_in(path, ".far") || ends_in(path, ".safetensors");
}

static bool operands_swapped(const predict_args *a)
{
    return !is_model(a->model) && is_model(a->data);
}

static int run_predict(void *user)
{
    job *j = user;
    const predict_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = operands_swapped(a)
                   ? failure(VERB, "%s is no model, and %s is one: swapped? farfield predict %s %s",
                             a->model, a->data, a->data, a->model)
                   : subject_load(&j->s, a->model, a->arch, &j->of);
    }
    if (code == EXIT_DONE) {
        j->data.arch = far_predictor_describe(j->of).arch;
        code = dataset_read(VERB, j->s.ctx, a->data, &a->table, a->where, &j->data);
    }
    if (code == EXIT_DONE) {
        code = predict(j);
    }
    if (code == EXIT_DONE) {
        code = flag(j);
    }
    const char *ids = a->id ? a->id : is_folder(a->data) ? "file" : NULL;
    if (code == EXIT_DONE && ids) {
        code = carried_read(&j->s, &j->data, ids, &j->ids);
    }
    if (code == EXIT_DONE && a->score) {
        code = judge(j);
    }
    return code == EXIT_DONE ? write_result(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    for (int64_t k = 0; k < j->column_count; k++) {
        free(j->columns[k].name);
    }
    free(j->columns);
    free(j->classes.data);
    free(j->labels);
    for (int64_t k = 0; k < j->ids.count; k++) {
        free(j->ids.columns[k].name);
    }
    carried_free(&j->ids);
    free(j->unseen);
    free(j->outside);
    free(j->farthest);
    free(j->inputs);
    far_prediction_destroy(j->prediction);
    dataset_free(&j->data);
    far_predictor_destroy(j->of);
}

int cmd_predict(int argc, char **argv)
{
    job j = {.args = {.spread = FAR_SPREAD_CALIBRATED - 1,
                      .time = INFINITY,
                      .rate = NAN,
                      .common = {.threads = default_threads()},
                      .kernel = predict_kernel_defaults()}};
    int code = read_command_line(argc, argv, &j.args);
    if (code == OPTIONS_OK && j.args.of_kernel) {
        return predict_kernel(&j.args.kernel);
    }
    return session_run(VERB, code, (verb_job){&j.s, &j.args.common, run_predict, clean, &j});
}
