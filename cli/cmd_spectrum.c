/* farfield spectrum: the eigenvalues of a kernel. */
#include "cli.h"
#include "kernel_source.h"
#include "power_show.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB "spectrum"

typedef struct spectrum_args {
    const char *top, *powerlaw, *output, *vectors, *weyl;
    double ridge;
    bool by_layer;
    common_args common;
    source_args source;
    int64_t count; /* of top */
    double window[2];
} spectrum_args;

typedef struct weyl {
    int64_t layer;         /* from 0 */
    double least, largest; /* eigenvalues of its kernel */
    double *low, *high;    /* of the whole one, rows of them */
    int64_t inside;        /* how many of its eigenvalues lie between */
    double bound;          /* of the condition number */
} weyl;

typedef struct job {
    spectrum_args args;
    session s;
    source kernel;
    far_view_info info;
    far_spectrum spectrum;
    int64_t shown;
    far_condition condition;
    far_mat layers; /* layers x rows eigenvalues */
    weyl weyl;
    far_power power;
    double theory; /* of the exponent; NAN: none */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(spectrum_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--top", 'k', AT(top), "K|all", "how many eigenvalues, the largest first"),
    NUMBER_OPTION("--ridge", 'r', AT(ridge), "R",
                  "the condition number and effective dimension of K + R I; 0 is the\n"
                  "kernel as it is"),
    TEXT_OPTION("--powerlaw", 'p', AT(powerlaw), "A:B",
                "fit lambda_n ~ Lam n^-nu of K / N over eigenvalues A to B"),
    FLAG_OPTION("--by-layer", 0, AT(by_layer),
                "with --net: the spectrum of each layer's part, too"),
    TEXT_OPTION("--weyl", 0, AT(weyl), "L",
                "with --net: the intervals that the eigenvalues without layer L allow\n"
                "those with it, by Weyl's inequality"),
    OUTPUT_OPTION("write the eigenvalues to FILE (.csv, .csv.gz, .npy, .npz)"),
    TEXT_OPTION("--vectors", 0, AT(vectors), "FILE",
                "write the eigenvectors to FILE, a column for each"),
};

static const char USAGE[] = "spectrum K [options]\n"
                            "spectrum --net NET X [options]\n"
                            "spectrum --arch ARCH X [options]";
static const char ABOUT[] =
    "Eigenvalues of a kernel: all or the largest, by layer, with their condition number and power\n"
    "law.";
static const char EXAMPLES[] =
    "Examples:\n"
    "  farfield spectrum --net net.safetensors train.csv -t y --by-layer --ridge 0.01\n"
    "  farfield spectrum --arch 'dense relu dense' X.csv --top all --powerlaw 5:40 -o l.csv";

static int check_files(const spectrum_args *a)
{
    if (!output_ending_known(VERB, a->output) || !output_ending_known(VERB, a->vectors)) {
        return EXIT_USAGE;
    }
    return OPTIONS_OK;
}

static int check_usage(const command_line *line, spectrum_args *a)
{
    if ((a->by_layer || a->weyl) && !a->source.net) {
        return usage_error(VERB, "%s goes with --net only: a matrix does not tell its layers",
                           a->by_layer ? "--by-layer" : "--weyl");
    }
    int code = top_read(VERB, a->top, &a->count);
    code = code == OPTIONS_OK ? check_files(a) : code;
    if (code == OPTIONS_OK && a->powerlaw) {
        code = window_read(VERB, "--powerlaw", a->powerlaw, a->window);
    }
    return code == OPTIONS_OK ? source_check_usage(line, &a->source) : code;
}

static int read_command_line(int argc, char **argv, spectrum_args *a)
{
    command_line line = {VERB_LINE, .common = common_options(AT(common))};
    int code = source_parse(&line, EXAMPLES, AT(source), argc, argv, a);
    return code == OPTIONS_OK ? check_usage(&line, a) : code;
}

/* ---- layers -------------------------------------------------------------------------------- */

static bool layer_chosen(const job *j, int64_t layer)
{
    return !j->kernel.layers || j->kernel.layers[layer];
}

static int measure_layers(job *j)
{
    const source *k = &j->kernel;
    int64_t layers = far_net_describe(k->net).layers;
    int code = matrix_alloc(VERB, layers, j->info.rows, FAR_F64, &j->layers);
    if (code == EXIT_DONE &&
        far_layer_spectra(j->s.ctx, k->net, &k->x, &k->opts, &j->layers) != FAR_OK) {
        code = session_failure(&j->s, NULL);
    }
    return code;
}

/* The kernel of the layers marked in chosen, in matrix, which has room. */
static far_status view_of_layers(job *j, const unsigned char *chosen, far_mat *matrix,
                                 far_view **view)
{
    const source *k = &j->kernel;
    far_ntk_opts opts = k->opts;
    opts.layers = chosen;
    far_status st = far_net_ntk(j->s.ctx, k->net, &k->x, NULL, &opts, matrix);
    return st == FAR_OK ? far_view_create(j->s.ctx, matrix, j->info.points, view) : st;
}

static far_status extremes_of_layer(job *j, unsigned char *chosen, far_mat *matrix)
{
    weyl *w = &j->weyl;
    far_view *view = NULL;
    far_condition ends = {0};
    memset(chosen, 0, (size_t)far_net_describe(j->kernel.net).layers);
    chosen[w->layer] = 1;
    far_status st = view_of_layers(j, chosen, matrix, &view);
    st = st == FAR_OK ? far_view_condition(j->s.ctx, view, 0, &ends) : st;
    w->least = ends.least;
    w->largest = ends.largest;
    far_view_destroy(view);
    return st;
}

static far_status intervals_of_rest(job *j, unsigned char *chosen, far_mat *matrix)
{
    weyl *w = &j->weyl;
    far_view *view = NULL;
    far_spectrum rest = {0};
    for (int64_t l = 0; l < far_net_describe(j->kernel.net).layers; l++) {
        chosen[l] = l != w->layer && layer_chosen(j, l);
    }
    far_status st = view_of_layers(j, chosen, matrix, &view);
    st = st == FAR_OK ? far_view_spectrum(j->s.ctx, view, 0, 0, &rest) : st;
    if (st == FAR_OK) {
        st = far_weyl_intervals(j->s.ctx, rest.values, rest.count, w->least, w->largest, w->low,
                                w->high);
    }
    if (st == FAR_OK) {
        double below = w->low[rest.count - 1] + j->args.ridge;
        w->bound = below > 0 ? (w->high[0] + j->args.ridge) / below : isnan(below) ? NAN : INFINITY;
    }
    far_view_destroy(view);
    return st;
}

/* What rounding may do to an eigenvalue does not put it outside. */
static void count_inside(job *j)
{
    const double *values = j->spectrum.values;
    double slack = 1e-12 * fabs(values[0]);
    for (int64_t i = 0; i < j->info.rows; i++) {
        j->weyl.inside +=
            values[i] >= j->weyl.low[i] - slack && values[i] <= j->weyl.high[i] + slack;
    }
}

/* L of --weyl, which must be one of several layers that are chosen. */
static int find_added_layer(job *j)
{
    char *end;
    int64_t layers = far_net_describe(j->kernel.net).layers, others = 0;
    long long number = strtoll(j->args.weyl, &end, 10);
    int64_t layer = number < 0 ? layers + number : number - 1;
    bool there = end != j->args.weyl && !*end && number != 0 && layer >= 0 && layer < layers &&
                 layer_chosen(j, layer);
    for (int64_t l = 0; l < layers; l++) {
        others += l != layer && layer_chosen(j, l);
    }
    j->weyl.layer = layer;
    if (there && others == 0) {
        return usage_error(VERB,
                           "--weyl: layer %lld is the only one%s, which leaves none to compare "
                           "with",
                           (long long)layer + 1, layers > 1 ? " of --layers" : "");
    }
    return there
               ? EXIT_DONE
               : usage_error(VERB,
                             "--weyl is one of several chosen layers, 1 to %lld (-1 is the last), "
                             "not '%s'",
                             (long long)layers, j->args.weyl);
}

static int measure_weyl(job *j)
{
    int64_t rows = j->info.rows;
    far_mat matrix = {0};
    int code = find_added_layer(j);
    code = code == EXIT_DONE ? matrix_alloc(VERB, rows, rows, FAR_F64, &matrix) : code;
    unsigned char *chosen = calloc((size_t)far_net_describe(j->kernel.net).layers + 1, 1);
    j->weyl.low = calloc((size_t)rows, sizeof(double));
    j->weyl.high = calloc((size_t)rows, sizeof(double));
    if (code == EXIT_DONE && (!chosen || !j->weyl.low || !j->weyl.high)) {
        code = failure(VERB, "out of memory");
    }
    if (code == EXIT_DONE) {
        far_status st = extremes_of_layer(j, chosen, &matrix);
        st = st == FAR_OK ? intervals_of_rest(j, chosen, &matrix) : st;
        code = st == FAR_OK ? EXIT_DONE : session_failure(&j->s, NULL);
    }
    if (code == EXIT_DONE) {
        count_inside(j);
    }
    free(matrix.data);
    free(chosen);
    return code;
}

/* ---- the power law ------------------------------------------------------------------------- */

/* What theory says of this kernel if its points fill as many dimensions as they have. */
static void expect_exponent(job *j)
{
    const source *k = &j->kernel;
    double degree;
    far_power_theory theory;
    j->theory = NAN;
    if (k->kernel && far_power_degree(j->s.ctx, far_kernel_text(k->kernel), &degree) == FAR_OK &&
        far_power_expect(j->s.ctx, k->x.cols, 0, degree, j->args.source.kind, FAR_TARGET_JUMP,
                         &theory) == FAR_OK) {
        j->theory = theory.nu;
    }
}

/* Beyond the rank there is rounding, and no law of it. */
static int check_rank(job *j)
{
    far_condition c;
    if (far_view_condition(j->s.ctx, j->kernel.view, 0, &c) != FAR_OK) {
        return session_failure(&j->s, "--powerlaw");
    }
    double end = floor(j->args.window[1]);
    if (end > c.dimension && end <= (double)j->info.rows) {
        return failure(VERB,
                       "--powerlaw: the kernel is of rank %g: eigenvalues beyond it are rounding; "
                       "end the window there, or earlier",
                       c.dimension);
    }
    return EXIT_DONE;
}

static int fit_power(job *j)
{
    const double *window = j->args.window;
    int64_t rows = j->info.rows;
    double *values = malloc((size_t)rows * sizeof *values);
    int code = values ? source_check_power(&j->s, &j->args.source, &j->kernel, "--powerlaw")
                      : failure(VERB, "out of memory");
    code = code == EXIT_DONE ? check_rank(j) : code;
    for (int64_t i = 0; code == EXIT_DONE && i < rows; i++) {
        values[i] = j->spectrum.values[i] / (double)j->info.points;
    }
    if (code == EXIT_DONE && far_power_fit(j->s.ctx, NULL, values, rows, ceil(window[0]),
                                           floor(fmin(window[1], 1e15)), &j->power) != FAR_OK) {
        code = session_failure(&j->s, "--powerlaw");
    }
    free(values);
    if (code == EXIT_DONE) {
        expect_exponent(j);
    }
    return code;
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* All eigenvalues serve everything that needs them; else only the largest are computed. */
static int decompose(job *j)
{
    const spectrum_args *a = &j->args;
    j->info = far_view_describe(j->kernel.view);
    bool all = a->count >= j->info.rows;
    bool whole = all || a->powerlaw || a->weyl || !isnan(a->ridge);
    j->shown = all ? j->info.rows : a->count;
    far_status st = far_view_spectrum(j->s.ctx, j->kernel.view, whole ? 0 : j->shown,
                                      a->vectors != NULL, &j->spectrum);
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, NULL);
}

static int measure(job *j)
{
    const spectrum_args *a = &j->args;
    int code = decompose(j);
    if (code == EXIT_DONE && !isnan(a->ridge) &&
        far_view_condition(j->s.ctx, j->kernel.view, a->ridge, &j->condition) != FAR_OK) {
        code = session_failure(&j->s, NULL);
    }
    code = code == EXIT_DONE && a->powerlaw ? fit_power(j) : code;
    code = code == EXIT_DONE && a->by_layer ? measure_layers(j) : code;
    return code == EXIT_DONE && a->weyl ? measure_weyl(j) : code;
}

/* ---- files --------------------------------------------------------------------------------- */

/* What columns are called: names that outlive the call. */
static char COLUMN_N[] = "n", COLUMN_VALUE[] = "eigenvalue", COLUMN_LOW[] = "low",
            COLUMN_HIGH[] = "high";

static void add_column(result_column *columns, int64_t *count, char *name, far_mat m, int64_t col)
{
    columns[(*count)++] = (result_column){.name = name, .values = m, .col = col};
}

static far_mat column_of(const double *values, int64_t rows)
{
    return far_mat_view((void *)(uintptr_t)values, rows, 1, FAR_F64);
}

static int write_columns(job *j, result_column *columns, char (*names)[32], double *numbers)
{
    int64_t count = 0, n = j->shown;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = (double)i + 1;
    }
    add_column(columns, &count, COLUMN_N, column_of(numbers, n), 0);
    add_column(columns, &count, COLUMN_VALUE, column_of(j->spectrum.values, n), 0);
    for (int64_t l = 0; l < j->layers.rows; l++) {
        snprintf(names[l], sizeof names[l], "layer%lld", (long long)l + 1);
        const double *values = (const double *)j->layers.data + l * j->layers.ld;
        if (layer_chosen(j, l)) {
            add_column(columns, &count, names[l], column_of(values, n), 0);
        }
    }
    if (j->weyl.low) {
        add_column(columns, &count, COLUMN_LOW, column_of(j->weyl.low, n), 0);
        add_column(columns, &count, COLUMN_HIGH, column_of(j->weyl.high, n), 0);
    }
    return columns_write(VERB, j->s.ctx, columns, count, n, "eigenvalues", j->args.output);
}

static int write_values(job *j)
{
    size_t layers = (size_t)j->layers.rows;
    result_column *columns = calloc(layers + 4, sizeof *columns);
    char(*names)[32] = calloc(layers + 1, sizeof *names);
    double *numbers = malloc((size_t)j->shown * sizeof *numbers);
    int code = columns && names && numbers ? write_columns(j, columns, names, numbers)
                                           : failure(VERB, "out of memory");
    free(columns);
    free(names);
    free(numbers);
    return code;
}

/* Vectors lie one behind the other; in the file each is a column. */
static int write_vectors(job *j)
{
    int64_t rows = j->info.rows;
    far_mat m = {0};
    int code = matrix_alloc(VERB, rows, j->shown, FAR_F64, &m);
    for (int64_t i = 0; code == EXIT_DONE && i < rows * j->shown; i++) {
        ((double *)m.data)[i] = j->spectrum.vectors[i % j->shown * rows + i / j->shown];
    }
    code = code == EXIT_DONE ? matrix_write(VERB, j->s.ctx, &m, "vectors", j->args.vectors) : code;
    free(m.data);
    return code;
}

static int write_files(job *j)
{
    int code = j->args.output ? write_values(j) : EXIT_DONE;
    return code == EXIT_DONE && j->args.vectors ? write_vectors(j) : code;
}

/* ---- what is said -------------------------------------------------------------------------- */

static double layer_trace(const job *j, int64_t layer)
{
    double sum = 0;
    for (int64_t i = 0; i < j->layers.cols; i++) {
        sum += mat_get(&j->layers, layer, i);
    }
    return sum;
}

static void tell_condition(far_result *r, const far_condition *c)
{
    far_result_open(r, "condition");
    far_result_number(r, "condition", c->condition, "condition", "%.6g, of K + %g I", c->condition,
                      c->ridge);
    far_result_number(r, "ridge", c->ridge, NULL, NULL);
    far_result_number(r, "least", c->least, "  eigenvalues", "%.6g to %.6g, of K", c->least,
                      c->largest);
    far_result_number(r, "largest", c->largest, NULL, NULL);
    if (c->least < -FAR_VIEW_PSD * fabs(c->largest)) {
        far_result_say(r, "  take care",
                       "the least is below 0: K is not positive semidefinite, and no kernel");
    }
    far_result_number(r, "dimension", c->dimension, c->ridge > 0 ? "dimension" : "rank", "%.6g%s",
                      c->dimension,
                      c->ridge > 0 ? ", sum of lambda / (lambda + ridge)" : ", numerical");
    far_result_number(r, "participation", c->participation, "participation",
                      "%.6g, (sum lambda)^2 / sum lambda^2", c->participation);
    far_result_close(r);
}

static void tell_power(far_result *r, const job *j)
{
    far_result_open(r, "powerlaw");
    power_tell(r, "nu", "Lam of K / N", &j->power);
    far_result_close(r);
    if (!isnan(j->theory)) {
        far_result_number(r, "nu_theory", j->theory, "  theory",
                          "nu = %.6g, for points that fill %lld dimension%s", j->theory,
                          (long long)j->kernel.x.cols, j->kernel.x.cols > 1 ? "s" : "");
    }
}

static void tell_weyl(far_result *r, const job *j)
{
    const weyl *w = &j->weyl;
    far_result_open(r, "weyl");
    far_result_count(r, "layer", w->layer + 1, "added layer",
                     "%lld, its own eigenvalues %.6g to %.6g", (long long)w->layer + 1, w->least,
                     w->largest);
    far_result_number(r, "least", w->least, NULL, NULL);
    far_result_number(r, "largest", w->largest, NULL, NULL);
    far_result_count(r, "inside", w->inside, "  intervals", "hold %lld of %lld eigenvalues",
                     (long long)w->inside, (long long)j->info.rows);
    if (!isnan(j->args.ridge)) {
        far_result_number(r, "ridge", j->args.ridge, NULL, NULL);
        far_result_number(r, "condition_bound", w->bound, "  condition",
                          "at most %.6g, of K + %g I", w->bound, j->args.ridge);
    }
    far_result_list(r, "low", w->low, j->shown);
    far_result_list(r, "high", w->high, j->shown);
    far_result_close(r);
}

static void tell_values(far_result *r, const job *j)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "n", "%6.0f"},         {NULL, "lambda_n of K", "%14.6g"},
        {NULL, "of K / N", "%14.6g"}, {NULL, "trace up to it", "%14.6f"},
        {NULL, "at least", "%14.6g"}, {NULL, "at most", "%14.6g"}};
    double trace = j->info.trace, n = (double)j->info.points, sum = 0;
    far_result_list(r, "eigenvalues", j->spectrum.values, j->shown);
    far_result_for(r, j->args.output ? FAR_FOR_PAGE : FAR_FOR_PEOPLE);
    far_result_table(r, NULL, "The largest eigenvalues.", COLUMNS, j->weyl.low ? 6 : 4);
    for (int64_t i = 0; i < j->shown; i++) {
        double value = j->spectrum.values[i];
        sum += value;
        far_result_cell(r, (double)i + 1);
        far_result_cell(r, value);
        far_result_cell(r, value / n);
        far_result_cell(r, trace > 0 ? sum / trace : NAN);
        if (j->weyl.low) {
            far_result_cell(r, j->weyl.low[i]);
            far_result_cell(r, j->weyl.high[i]);
        }
    }
    far_result_for(r, FAR_FOR_ALL);
}

/* In JSON each layer has its eigenvalues, which the table has no room for. */
static void list_layers(far_result *r, const job *j)
{
    far_result_open_list(r, "layers");
    for (int64_t l = 0; l < j->layers.rows; l++) {
        if (layer_chosen(j, l)) {
            far_result_open(r, NULL);
            far_result_count(r, "layer", l + 1, NULL, NULL);
            far_result_text(r, "weights", far_net_layer(j->kernel.net, l), NULL, NULL);
            far_result_number(r, "trace", layer_trace(j, l), NULL, NULL);
            far_result_list(r, "eigenvalues", (const double *)j->layers.data + l * j->layers.ld,
                            j->shown);
            far_result_close(r);
        }
    }
    far_result_close(r);
}

static void tell_layers(far_result *r, const job *j)
{
    static const far_result_column COLUMNS[] = {{NULL, "layer", "%6.0f"},
                                                {NULL, "lambda_1 of K", "%14.6g"},
                                                {NULL, "least", "%14.6g"},
                                                {NULL, "part of the trace", "%17.6f"},
                                                {NULL, "tensors", NULL}};
    list_layers(r, j);
    far_result_table(r, NULL, "The kernel of each layer's parameters.", COLUMNS, 5);
    for (int64_t l = 0; l < j->layers.rows; l++) {
        if (layer_chosen(j, l)) {
            far_result_cell(r, (double)l + 1);
            far_result_cell(r, mat_get(&j->layers, l, 0));
            far_result_cell(r, mat_get(&j->layers, l, j->layers.cols - 1));
            far_result_cell(r, layer_trace(j, l) / j->info.trace);
            far_result_cell_text(r, "%s.*", far_net_layer(j->kernel.net, l));
        }
    }
}

static void draw_values(report *r, const job *j)
{
    far_figure_opts o = report_axes("n", "eigenvalue");
    double *numbers = malloc((size_t)j->shown * sizeof *numbers);
    int64_t positive = 0;
    while (numbers && positive < j->shown && j->spectrum.values[positive] > 0) {
        numbers[positive] = (double)positive + 1;
        positive++;
    }
    if (positive > 1) {
        o.x_scale = o.y_scale = FAR_SCALE_LOG;
        report_draw(r, &o);
        report_points(r, report_mark(NULL, 0), numbers, j->spectrum.values, positive);
        report_place(r, "eigenvalues", "The eigenvalues by their rank.");
    }
    free(numbers);
}

static int tell(job *j)
{
    const spectrum_args *a = &j->args;
    report r;
    int code = report_begin(&j->s, &a->common, "Eigenvalues of a kernel", &r);
    source_tell(&j->kernel, &a->source, r.result);
    far_result_number(r.result, "trace", j->info.trace, "trace", NULL);
    if (!isnan(a->ridge)) {
        tell_condition(r.result, &j->condition);
    }
    if (a->powerlaw) {
        tell_power(r.result, j);
    }
    if (a->weyl) {
        tell_weyl(r.result, j);
    }
    tell_values(r.result, j);
    if (a->by_layer) {
        tell_layers(r.result, j);
    }
    draw_values(&r, j);
    report_written(&r, "written", NULL, a->output);
    report_written(&r, "vectors", NULL, a->vectors);
    return report_end(&r, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    job *j = user;
    const spectrum_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE && a->vectors ? output_possible(VERB, j->s.ctx, a->vectors) : code;
    code = code == EXIT_DONE ? source_read(&j->s, &a->source, 0, &j->kernel) : code;
    code = code == EXIT_DONE ? measure(j) : code;
    code = code == EXIT_DONE ? write_files(j) : code;
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    free(j->layers.data);
    free(j->weyl.low);
    free(j->weyl.high);
    source_free(&j->kernel);
}

int cmd_spectrum(int argc, char **argv)
{
    job j = {.args = {.top = "20",
                      .ridge = NAN,
                      .common = {.threads = default_threads()},
                      .source = {.outputs = "trace"}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
