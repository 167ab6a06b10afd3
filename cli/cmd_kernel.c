/* farfield kernel: matrices, limits at infinity and the supremum of the diagonal. */
#include "cli.h"
#include "files.h"
#include "gram_file.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "show.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define VERB "kernel"

typedef struct kernel_args {
    const char *arch, *at_infinity, *output;
    int kind, param, dtype; /* in the order of the library's enumerations */
    bool diag, lower, sup;
    int64_t inputs;
    common_args common;
    const char *x, *x2; /* operands; NULL: not given */
} kernel_args;

typedef struct job {
    kernel_args args;
    session s;
    far_kernel *kernel;
    input in[2];
    bool no_limits;      /* some limits are infinite */
    bool between_points; /* the result is a kernel of them, and an npz says of which */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define KERNEL_LIST "ntk|nngp"
#define PARAM_LIST "ntk|standard"
#define DTYPE_LIST "f64|f32"
#define AT(field) offsetof(kernel_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",
                "the network, for example 'dense ln relu dense' (see farfield info arch)"),
    CHOICE_OPTION("--kernel", 0, AT(kind), KERNEL_LIST,
                  "Theta, the neural tangent kernel, or K, the covariance at the start"),
    CHOICE_OPTION("--param", 0, AT(param), PARAM_LIST, "how weights are parametrised"),
    CHOICE_OPTION("--dtype", 0, AT(dtype), DTYPE_LIST, "precision of computation and result"),
    FLAG_OPTION("--diag", 0, AT(diag), "only the diagonal, as one column"),
    FLAG_OPTION("--lower", 0, AT(lower), "only the lower triangle, zeros above it"),
    TEXT_OPTION("--at-infinity", 0, AT(at_infinity), "U",
                "limits along the directions in the rows of U: rows are directions,\n"
                "columns the points of X (the directions again without X)"),
    FLAG_OPTION("--sup", 0, AT(sup), "the supremum of Theta(x, x) over all inputs x"),
    COUNT_OPTION("--inputs", 0, AT(inputs), "D",
                 "with --sup: number of inputs (matters to a norm on the input only)", 1, INT_MAX),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz), not csv on standard output"),
};

static const char USAGE[] = "kernel --arch ARCH [options] X [X2]\n"
                            "kernel --arch ARCH --at-infinity U [options] [X]\n"
                            "kernel --arch ARCH --sup [--inputs D]";
static const char ABOUT[] =
    "Kernel of the infinitely wide network ARCH between the rows of X and the rows of X2\n"
    "(of X itself without X2), exact to rounding.";
static const char NOTES[] =
    "X, X2, U: csv (header optional), npy or npz, also gzipped; - is standard input;\n"
    "file.npz:name picks one array of an npz. An .npz of a kernel carries a header that tells the\n"
    "verbs which read it what it is a kernel of.\n\n"
    "Examples:\n"
    "  printf '%s\\n' -1 0 2 | farfield kernel --arch 'dense ln relu dense' -\n"
    "  farfield kernel --arch '[dense relu]x3 dense' train.csv test.csv -o K.npy\n"
    "  farfield kernel --arch 'dense relu dense' --sup";

static int check_supremum(const command_line *line)
{
    static const char *const OTHERS[] = {"--at-infinity", "--kernel", "--diag",
                                         "--lower",       "--dtype",  "--output"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    if (other) {
        return usage_error(VERB, "--sup does not go with %s", other);
    }
    if (line->operand_count > 0) {
        return usage_error(VERB, "--sup takes no input file, but there is '%s'", line->operands[0]);
    }
    return OPTIONS_OK;
}

static bool is_stdin(const char *operand)
{
    return operand && strcmp(operand, "-") == 0;
}

static int check_limit(const command_line *line, const kernel_args *a)
{
    static const char *const OTHERS[] = {"--diag", "--lower", "--dtype"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    if (other) {
        return usage_error(VERB, "--at-infinity does not go with %s", other);
    }
    if (a->x2) {
        return usage_error(VERB, "--at-infinity takes one file of points, but there is also '%s'",
                           a->x2);
    }
    if (is_stdin(a->at_infinity) && is_stdin(a->x)) {
        return usage_error(VERB, "U and X cannot both be standard input");
    }
    return OPTIONS_OK;
}

static int check_matrix(const kernel_args *a)
{
    if (!a->x) {
        return usage_error(VERB, "no input file X");
    }
    if (a->diag && a->lower) {
        return usage_error(VERB, "--diag does not go with --lower");
    }
    if ((a->diag || a->lower) && a->x2) {
        return usage_error(VERB, "%s takes X alone, but there is also '%s'",
                           a->diag ? "--diag" : "--lower", a->x2);
    }
    if (is_stdin(a->x) && is_stdin(a->x2)) {
        return usage_error(VERB, "X and X2 cannot both be standard input");
    }
    return OPTIONS_OK;
}

static int check_usage(const command_line *line, const kernel_args *a)
{
    if (!a->arch) {
        return usage_error(VERB, "--arch is missing");
    }
    if (options_given(line, "--inputs") && !a->sup) {
        return usage_error(VERB, "--inputs goes with --sup only");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    if (a->sup) {
        return check_supremum(line);
    }
    return a->at_infinity ? check_limit(line, a) : check_matrix(a);
}

static int read_command_line(int argc, char **argv, kernel_args *args)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = plain_options(AT(common)),
                         .most_operands = 2};
    int code = options_parse(&line, argc, argv, args);
    if (code != OPTIONS_OK) {
        return code;
    }
    args->x = line.operands[0];
    args->x2 = line.operands[1];
    return check_usage(&line, args);
}

/* ---- the job ------------------------------------------------------------------------------- */

/* A line on stderr for a library call that failed, and the exit code. The library calls points
 * x1, x2, x and u; the user knows them by their files. */
static int library_failure(job *j, far_status st)
{
    const char *message = far_ctx_message(j->s.ctx);
    const char *names[][2] = {{"u: ", j->args.at_infinity},
                              {"x1: ", j->args.x},
                              {"x2: ", j->args.x2},
                              {"x: ", j->args.x}};
    if (st == FAR_ERR_PARSE || st == FAR_ERR_ARCH) {
        failure(VERB, "--arch: %s", message);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i][0]);
        if (names[i][1] && strncmp(message, names[i][0], length) == 0) {
            return failure(VERB, "%s: %s", names[i][1], message + length);
        }
    }
    return failure(VERB, "%s", message);
}

static int job_open(job *j)
{
    int code = session_open(&j->s, VERB, j->args.common.threads, j->args.common.quiet);
    if (code == EXIT_DONE && j->args.output) {
        code = output_possible(VERB, j->s.ctx, j->args.output);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    far_kernel_opts how;
    how = (far_kernel_opts){.size = sizeof how};
    how.param = j->args.param;
    far_status st = far_kernel_create(j->s.ctx, j->args.arch, &how, &j->kernel);
    return st == FAR_OK ? EXIT_DONE : library_failure(j, st);
}

static void job_close(job *j)
{
    input_free(&j->in[0]);
    input_free(&j->in[1]);
    far_kernel_destroy(j->kernel);
    session_close(&j->s);
}

static const char *word_of(const char *list, int index)
{
    static char buffer[16];
    return choice_word(list, index, buffer, sizeof buffer);
}

static void tell_kernel(far_result *r, const job *j)
{
    far_result_text(r, "arch", far_kernel_text(j->kernel), NULL, NULL);
    far_result_text(r, "get", word_of(KERNEL_LIST, j->args.kind), NULL, NULL);
    far_result_text(r, "param", word_of(PARAM_LIST, j->args.param), NULL, NULL);
}

/* The values, or the name of the file that holds them. orders: of limits; NULL: no limits. */
static int tell_matrix(job *j, const far_mat *m, const far_mat *orders)
{
    report out;
    int code = report_begin(&j->s, &j->args.common, "A kernel", &out);
    far_result *r = out.result;
    tell_kernel(r, j);
    if (orders) {
        far_result_array(r, "order", orders, &orders->rows, 1);
    }
    if (j->no_limits) {
        far_result_text(r, "null_means", "no limit along parallel directions: it is infinite", NULL,
                        NULL);
    }
    far_result_text(r, "dtype", word_of(DTYPE_LIST, m->dtype), NULL, NULL);
    far_result_list(r, "shape", (double[]){(double)m->rows, (double)m->cols}, 2);
    report_written(&out, "file", NULL, j->args.output);
    if (!j->args.output) {
        far_result_array(r, "values", m, (int64_t[]){m->rows, m->cols}, 2);
    }
    return report_end(&out, code);
}

static bool keeps_header(const job *j)
{
    size_t length = j->args.output ? strlen(j->args.output) : 0;
    return j->between_points && length > 4 && strcasecmp(j->args.output + length - 4, ".npz") == 0;
}

/* Hashes are of the numbers as they stand in the files, not rounded to float32. */
static int write_with_header(job *j, const far_mat *m)
{
    char inputs[HASH_BYTES], inputs2[HASH_BYTES];
    char kind[16], param[16];
    bool two = j->args.x2 != NULL;
    far_mat x = far_array_describe(j->in[0].array).values;
    int code = hash_numbers(&j->s, &x, inputs);
    if (code == EXIT_DONE && two) {
        x = far_array_describe(j->in[1].array).values;
        code = hash_numbers(&j->s, &x, inputs2);
    }
    gram_header h = {.points = m->rows,
                     .points2 = two ? m->cols : -1,
                     .outputs = 1,
                     .kind = choice_word(KERNEL_LIST, j->args.kind, kind, sizeof kind),
                     .arch = far_kernel_text(j->kernel),
                     .param = choice_word(PARAM_LIST, j->args.param, param, sizeof param),
                     .inputs = inputs,
                     .inputs2 = two ? inputs2 : NULL};
    int64_t shape[2] = {m->rows, m->cols};
    return code == EXIT_DONE ? gram_write(&j->s, m, shape, 2, h.kind, &h, j->args.output) : code;
}

static bool some_infinite(const far_mat *m)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        if (isinf(mat_get(m, i / m->cols, i % m->cols))) {
            return true;
        }
    }
    return false;
}

/* Writes the result where it belongs. Interrupts are held; only a file needs that. */
static int write_result(job *j, const far_mat *m, const far_mat *orders)
{
    const kernel_args *a = &j->args;
    int code = EXIT_DONE;
    if (!a->output) {
        interrupts_release();
        j->s.bar.visible = j->s.bar.visible && !isatty(STDOUT_FILENO);
    }
    j->no_limits = orders && some_infinite(m);
    if (!orders && matrix_check(VERB, m) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    if (keeps_header(j)) {
        code = write_with_header(j, m);
    } else if (a->output || !a->common.json) {
        const char *name = word_of(KERNEL_LIST, a->kind);
        code = orders ? gaps_write(VERB, j->s.ctx, m, name, a->output)
                      : matrix_write(VERB, j->s.ctx, m, name, a->output);
    }
    return code == EXIT_DONE && a->common.json ? tell_matrix(j, m, orders) : code;
}

/* What follows a call of the library: its result written, or its failure reported. */
static int deliver(job *j, far_status st, const far_mat *m, const far_mat *orders)
{
    progress_end(&j->s.bar);
    int code = st == FAR_OK ? write_result(j, m, orders) : EXIT_FAILED;
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return st == FAR_OK ? code : library_failure(j, st);
}

static int check_widths(const input *a, const input *b)
{
    if (a->values.cols == b->values.cols) {
        return EXIT_DONE;
    }
    return failure(VERB, "%s has %lld columns but %s has %lld", a->label, (long long)a->values.cols,
                   b->label, (long long)b->values.cols);
}

/* Reads both files; the second may be NULL. */
static int read_inputs(job *j, const char *first, const char *second)
{
    input *in = j->in;
    far_dtype dtype = (far_dtype)j->args.dtype;
    int code = input_read(VERB, j->s.ctx, first, dtype, &in[0]);
    if (code == EXIT_DONE && second) {
        code = input_read(VERB, j->s.ctx, second, dtype, &in[1]);
    }
    if (code == EXIT_DONE && second) {
        code = check_widths(&in[0], &in[1]);
    }
    return code;
}

/* ---- X against X or X2 --------------------------------------------------------------------- */

static far_status evaluate(job *j, const far_mat *x, const far_mat *x2, far_mat *result)
{
    const kernel_args *a = &j->args;
    far_mat *nngp = a->kind == FAR_KERNEL_NNGP ? result : NULL;
    far_mat *ntk = a->kind == FAR_KERNEL_NTK ? result : NULL;
    if (a->diag) {
        return far_kernel_diag(j->s.ctx, j->kernel, x, nngp, ntk);
    }
    far_fill fill = a->lower ? FAR_FILL_LOWER : FAR_FILL_FULL;
    return far_kernel_eval(j->s.ctx, j->kernel, x, x2, fill, nngp, ntk);
}

static int compute_matrix(job *j, const far_mat *x, const far_mat *x2)
{
    far_mat result;
    int64_t cols = j->args.diag ? 1 : x2 ? x2->rows : x->rows;
    int code = matrix_alloc(VERB, x->rows, cols, (far_dtype)j->args.dtype, &result);
    if (code != EXIT_DONE) {
        return code;
    }
    interrupts_hold();
    code = deliver(j, evaluate(j, x, x2, &result), &result, NULL);
    free(result.data);
    return code;
}

static int run_matrix(job *j)
{
    j->between_points = !j->args.diag && !j->args.lower;
    int code = read_inputs(j, j->args.x, j->args.x2);
    return code == EXIT_DONE
               ? compute_matrix(j, &j->in[0].values, j->args.x2 ? &j->in[1].values : NULL)
               : code;
}

/* ---- at infinity --------------------------------------------------------------------------- */

static bool orders_equal(const far_mat *orders)
{
    for (int64_t i = 1; i < orders->rows; i++) {
        if (mat_get(orders, i, 0) != mat_get(orders, 0, 0)) {
            return false;
        }
    }
    return true;
}

static void print_orders(const far_mat *orders)
{
    enum { SHOWN = 8 };
    fprintf(stderr, "orders differ by row: ");
    for (int64_t i = 0; i < orders->rows && i < SHOWN; i++) {
        fprintf(stderr, "%s%g", i ? ", " : "", mat_get(orders, i, 0));
    }
    fprintf(stderr, "%s", orders->rows > SHOWN ? ", ..." : "");
}

/* One line on stderr that says what the numbers are. */
static void explain_orders(const job *j, const far_mat *orders)
{
    const char *kernel = j->args.kind == FAR_KERNEL_NTK ? "Theta" : "K";
    double order = orders->rows > 0 ? mat_get(orders, 0, 0) : 0;
    const char *power = j->args.x ? "lambda^(order i)" : "lambda^(order i) mu^(order j)";
    if (!orders_equal(orders)) {
        print_orders(orders);
        fprintf(stderr, "; row i holds the %s of %s in %s\n",
                j->args.x ? "coefficient" : "coefficients", power, kernel);
    } else if (order == 0) {
        fprintf(stderr, "order 0: these are limits%s\n",
                j->no_limits ? " (inf: there is none along parallel directions)" : "");
    } else if (j->args.x) {
        fprintf(stderr,
                "%s grows like lambda^%g along every direction: these are the coefficients of "
                "lambda^%g\n",
                kernel, order, order);
    } else {
        fprintf(stderr,
                "%s grows like (lambda mu)^%g along every two directions: these are the "
                "coefficients of (lambda mu)^%g\n",
                kernel, order, order);
    }
}

static int compute_limit(job *j, const far_mat *u, const far_mat *x)
{
    bool ntk = j->args.kind == FAR_KERNEL_NTK;
    far_mat result = {0}, orders = {0};
    int code = matrix_alloc(VERB, u->rows, x ? x->rows : u->rows, FAR_F64, &result);
    if (code == EXIT_DONE) {
        code = matrix_alloc(VERB, u->rows, 1, FAR_F64, &orders);
    }
    if (code == EXIT_DONE) {
        interrupts_hold();
        far_status st =
            far_kernel_limit(j->s.ctx, j->kernel, u, x, ntk ? NULL : &result, ntk ? NULL : &orders,
                             ntk ? &result : NULL, ntk ? &orders : NULL);
        code = deliver(j, st, &result, &orders);
    }
    if (code == EXIT_DONE && !j->args.common.quiet) {
        fflush(stdout);
        explain_orders(j, &orders);
    }
    free(result.data);
    free(orders.data);
    return code;
}

static int run_limit(job *j)
{
    int code = read_inputs(j, j->args.at_infinity, j->args.x);
    return code == EXIT_DONE
               ? compute_limit(j, &j->in[0].values, j->args.x ? &j->in[1].values : NULL)
               : code;
}

/* ---- the supremum -------------------------------------------------------------------------- */

static void say_supremum(far_result *r, const far_supremum *sup)
{
    char a[SHOW_BYTES], b[SHOW_BYTES];
    if (!sup->bounded) {
        far_result_say(r, NULL, "Theta(x, x) is unbounded: it grows like %s (|x| / sqrt(d))^%s%s",
                       show_exact(sup->slope, a), show_exact(sup->order, b),
                       sup->order < 0 ? " as x -> 0" : "");
    } else if (sup->constant) {
        far_result_say(r, NULL, "Theta(x, x) = %s for every x", show_exact(sup->value, a));
    } else if (isnan(sup->radius)) {
        far_result_say(r, NULL,
                       "sup Theta(x, x) = %s, reached at some x; the layers on the input decide "
                       "where",
                       show_exact(sup->value, a));
    } else {
        far_result_say(r, NULL, "sup Theta(x, x) = %s, %s %s", show_exact(sup->value, a),
                       sup->attained ? "reached at |x| / sqrt(d) ="
                                     : "approached as |x| / sqrt(d) ->",
                       show_exact(sup->radius, b));
    }
}

static void say_proof(far_result *r, const far_supremum *sup)
{
    char a[SHOW_BYTES];
    if (sup->bounded && sup->proven_by) {
        far_result_say(r, NULL,
                       "proven: Theta(x, x) <= %s for every x, by interval arithmetic (%s)",
                       show_exact(nextafter(sup->proven, INFINITY), a), sup->proven_by);
    } else if (sup->bounded) {
        far_result_say(r, NULL, "found by a scan along |x|: numerical, not proven");
    }
}

static int tell_supremum(job *j, const far_supremum *sup)
{
    report out;
    int code = report_begin(&j->s, &j->args.common, "The supremum of a kernel", &out);
    far_result *r = out.result;
    out.quiet = false;
    say_supremum(r, sup);
    say_proof(r, sup);
    tell_kernel(r, j);
    far_result_count(r, "inputs", j->args.inputs, NULL, NULL);
    far_result_text(r, "verdict", sup->bounded ? "bounded" : "unbounded", NULL, NULL);
    far_result_number(r, "C", sup->value, NULL, NULL);
    if (sup->proven_by) {
        far_result_number(r, "proven", sup->proven, NULL, NULL);
    } else {
        far_result_missing(r, "proven", "not proven", NULL);
    }
    far_result_text(r, "proven_by", sup->proven_by, NULL, NULL);
    far_result_number(r, "radius", sup->radius, NULL, NULL);
    far_result_flag(r, "attained", sup->attained, NULL, NULL);
    far_result_flag(r, "constant", sup->constant, NULL, NULL);
    far_result_number(r, "order", sup->order, NULL, NULL);
    far_result_number(r, "slope", sup->slope, NULL, NULL);
    return report_end(&out, code);
}

static int run_supremum(job *j)
{
    far_supremum sup;
    far_status st = far_kernel_supremum(j->s.ctx, j->kernel, j->args.inputs, &sup);
    return st == FAR_OK ? tell_supremum(j, &sup) : library_failure(j, st);
}

int cmd_kernel(int argc, char **argv)
{
    job j = {.args = {.kind = FAR_KERNEL_NTK,
                      .param = FAR_PARAM_NTK,
                      .dtype = FAR_F64,
                      .inputs = 2,
                      .common = {.threads = default_threads()}}};
    int code = read_command_line(argc, argv, &j.args);
    if (code != OPTIONS_OK) {
        return code;
    }
    code = job_open(&j);
    if (code == EXIT_DONE) {
        code = j.args.sup ? run_supremum(&j) : j.args.at_infinity ? run_limit(&j) : run_matrix(&j);
    }
    job_close(&j);
    return code;
}
