/* farfield spectrum: the eigenvalues of a kernel. */
#include "cli.h"
#include "json.h"
#include "kernel_source.h"
#include "power_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB "spectrum"

typedef struct spectrum_args {
    const char *top, *powerlaw, *output, *vectors, *weyl;
    double ridge;
    bool by_layer, json, quiet;
    int64_t threads;
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
    {"--top", 'k', OPTION_TEXT, AT(top), "K|all", "how many eigenvalues, the largest first", 0, 0},
    {"--ridge", 'r', OPTION_NUMBER, AT(ridge), "R",
     "the condition number and effective dimension of K + R I; 0 is the\n"
     "kernel as it is",
     0, 0},
    {"--powerlaw", 'p', OPTION_TEXT, AT(powerlaw), "A:B",
     "fit lambda_n ~ Lam n^-nu of K / N over eigenvalues A to B", 0, 0},
    {"--by-layer", 0, OPTION_FLAG, AT(by_layer), NULL,
     "with --net: the spectrum of each layer's part, too", 0, 0},
    {"--weyl", 0, OPTION_TEXT, AT(weyl), "L",
     "with --net: the intervals that the eigenvalues without layer L allow\n"
     "those with it, by Weyl's inequality",
     0, 0},
    {"--output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write the eigenvalues to FILE (.csv, .csv.gz, .npy, .npz)", 0, 0},
    {"--vectors", 0, OPTION_TEXT, AT(vectors), "FILE",
     "write the eigenvectors to FILE, a column for each", 0, 0},
    {"--json", 0, OPTION_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no summary, no talk and no progress bar", 0, 0},
    {"--threads", 0, OPTION_COUNT, AT(threads), "N", "0 is one per core", 0, MOST_THREADS},
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
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0]};
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
    far_psd ends = {0};
    memset(chosen, 0, (size_t)far_net_describe(j->kernel.net).layers);
    chosen[w->layer] = 1;
    far_status st = view_of_layers(j, chosen, matrix, &view);
    st = st == FAR_OK ? far_view_psd(j->s.ctx, view, 0, &ends) : st;
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
        w->bound = isnan(j->args.ridge) ? NAN
                                        : far_weyl_condition(rest.values, rest.count, w->least,
                                                             w->largest, j->args.ridge);
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
        far_power_expect(j->s.ctx, k->x.cols, 0, degree, j->args.source.get, FAR_TARGET_JUMP,
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
    if (code == EXIT_DONE &&
        far_power_fit_series(j->s.ctx, values, rows, (int64_t)ceil(window[0]),
                             (int64_t)floor(fmin(window[1], 1e15)), &j->power) != FAR_OK) {
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

static void print_interval(const job *j, int64_t i)
{
    if (j->weyl.low) {
        print("  %14.6g  %14.6g", j->weyl.low[i], j->weyl.high[i]);
    }
    putchar('\n');
}

static void print_values(const job *j)
{
    double trace = j->info.trace, n = (double)j->info.points, sum = 0;
    print("\n%6s  %14s  %14s  %14s", "n", "lambda_n of K", "of K / N", "trace up to it");
    puts(j->weyl.low ? "        at least         at most" : "");
    for (int64_t i = 0; i < j->shown; i++) {
        double value = j->spectrum.values[i];
        sum += value;
        print("%6lld  %14.6g  %14.6g  %14.6f", (long long)i + 1, value, value / n,
              trace > 0 ? sum / trace : NAN);
        print_interval(j, i);
    }
}

static double layer_trace(const job *j, int64_t layer)
{
    double sum = 0;
    for (int64_t i = 0; i < j->layers.cols; i++) {
        sum += mat_get(&j->layers, layer, i);
    }
    return sum;
}

static void print_layers(const job *j)
{
    print("\n%6s  %14s  %14s  %17s  %s\n", "layer", "lambda_1 of K", "least", "part of the trace",
          "tensors");
    for (int64_t l = 0; l < j->layers.rows; l++) {
        if (layer_chosen(j, l)) {
            print("%6lld  %14.6g  %14.6g  %17.6f  %s.*\n", (long long)l + 1,
                  mat_get(&j->layers, l, 0), mat_get(&j->layers, l, j->layers.cols - 1),
                  layer_trace(j, l) / j->info.trace, far_net_layer(j->kernel.net, l));
        }
    }
}

static void print_condition(const far_condition *c)
{
    print("condition      %.6g, of K + %g I\n", c->condition, c->ridge);
    print("  eigenvalues  %.6g to %.6g, of K\n", c->least, c->largest);
    if (c->least < -FAR_VIEW_PSD * fabs(c->largest)) {
        puts("  take care    the least is below 0: K is not positive semidefinite, and no kernel");
    }
    print("%-14s %.6g%s\n", c->ridge > 0 ? "dimension" : "rank", c->dimension,
          c->ridge > 0 ? ", sum of lambda / (lambda + ridge)" : ", numerical");
    print("participation  %.6g, (sum lambda)^2 / sum lambda^2\n", c->participation);
}

static void print_weyl(const job *j)
{
    const weyl *w = &j->weyl;
    print("added layer    %lld, its own eigenvalues %.6g to %.6g\n", (long long)w->layer + 1,
          w->least, w->largest);
    print("  intervals    hold %lld of %lld eigenvalues\n", (long long)w->inside,
          (long long)j->info.rows);
    if (!isnan(j->args.ridge)) {
        print("  condition    at most %.6g, of K + %g I\n", w->bound, j->args.ridge);
    }
}

static void print_power(const job *j)
{
    power_print("nu", "Lam of K / N", &j->power);
    if (!isnan(j->theory)) {
        print("  theory       nu = %.6g, for points that fill %lld dimension%s\n", j->theory,
              (long long)j->kernel.x.cols, j->kernel.x.cols > 1 ? "s" : "");
    }
}

static void print_summary(const job *j)
{
    const spectrum_args *a = &j->args;
    source_print(&j->kernel, &a->source);
    print("trace          %.6g\n", j->info.trace);
    if (!isnan(a->ridge)) {
        print_condition(&j->condition);
    }
    if (a->powerlaw) {
        print_power(j);
    }
    if (a->weyl) {
        print_weyl(j);
    }
    if (!a->output) {
        print_values(j);
    }
    if (a->by_layer) {
        print_layers(j);
    }
}

static void json_condition(const far_condition *c)
{
    json_key(stdout, "condition");
    json_begin(stdout);
    json_number_field(stdout, "ridge", c->ridge);
    json_number_field(stdout, "largest", c->largest);
    json_number_field(stdout, "least", c->least);
    json_number_field(stdout, "condition", c->condition);
    json_number_field(stdout, "dimension", c->dimension);
    json_number_field(stdout, "participation", c->participation);
    json_close(stdout);
}

static void json_layers(const job *j)
{
    const char *between = "\n ";
    json_key(stdout, "layers");
    putchar('[');
    for (int64_t l = 0; l < j->layers.rows; l++) {
        if (!layer_chosen(j, l)) {
            continue;
        }
        fputs(between, stdout);
        between = ",\n ";
        json_begin(stdout);
        json_number_field(stdout, "layer", (double)l + 1);
        json_text_field(stdout, "weights", far_net_layer(j->kernel.net, l));
        json_number_field(stdout, "trace", layer_trace(j, l));
        json_key(stdout, "eigenvalues");
        json_numbers(stdout, (const double *)j->layers.data + l * j->layers.ld, j->shown);
        json_close(stdout);
    }
    putchar(']');
}

static void json_weyl(const job *j)
{
    const weyl *w = &j->weyl;
    json_key(stdout, "weyl");
    json_begin(stdout);
    json_number_field(stdout, "layer", (double)w->layer + 1);
    json_number_field(stdout, "least", w->least);
    json_number_field(stdout, "largest", w->largest);
    json_number_field(stdout, "inside", (double)w->inside);
    if (!isnan(j->args.ridge)) {
        json_number_field(stdout, "ridge", j->args.ridge);
        json_number_field(stdout, "condition_bound", w->bound);
    }
    json_key(stdout, "low");
    json_numbers(stdout, w->low, j->shown);
    json_key(stdout, "high");
    json_numbers(stdout, w->high, j->shown);
    json_close(stdout);
}

static void json_files(const spectrum_args *a)
{
    if (a->output) {
        json_text_field(stdout, "written", a->output);
    }
    if (a->vectors) {
        json_text_field(stdout, "vectors", a->vectors);
    }
}

static void print_json(const job *j)
{
    const spectrum_args *a = &j->args;
    json_begin(stdout);
    source_print_json(&j->kernel, &a->source);
    json_number_field(stdout, "trace", j->info.trace);
    json_key(stdout, "eigenvalues");
    json_numbers(stdout, j->spectrum.values, j->shown);
    if (!isnan(a->ridge)) {
        json_condition(&j->condition);
    }
    if (a->powerlaw) {
        json_key(stdout, "powerlaw");
        power_print_json(&j->power);
        if (!isnan(j->theory)) {
            json_number_field(stdout, "nu_theory", j->theory);
        }
    }
    if (a->by_layer) {
        json_layers(j);
    }
    if (a->weyl) {
        json_weyl(j);
    }
    json_files(a);
    json_end(stdout);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(job *j)
{
    const spectrum_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE && a->vectors ? output_possible(VERB, j->s.ctx, a->vectors) : code;
    code = code == EXIT_DONE ? source_read(&j->s, &a->source, 0, &j->kernel) : code;
    code = code == EXIT_DONE ? measure(j) : code;
    code = code == EXIT_DONE ? write_files(j) : code;
    session_idle(&j->s);
    if (code == EXIT_DONE && a->json) {
        print_json(j);
    } else if (code == EXIT_DONE && !a->quiet) {
        print_summary(j);
    }
    return code;
}

int cmd_spectrum(int argc, char **argv)
{
    job j = {.args = {.top = "20",
                      .ridge = NAN,
                      .threads = default_threads(),
                      .source = {.outputs = "trace"}}};
    int code = read_command_line(argc, argv, &j.args);
    if (code != OPTIONS_OK) {
        return code;
    }
    code = session_open(&j.s, VERB, j.args.threads, j.args.quiet);
    code = code == EXIT_DONE ? run(&j) : code;
    free(j.layers.data);
    free(j.weyl.low);
    free(j.weyl.high);
    source_free(&j.kernel);
    session_close(&j.s);
    return code;
}
