/* farfield lnnet hessian: H = sum_i |d2 f_i / dx2|_F^2 of layer norms and of whole networks. */
#include "files.h"
#include "lnnet.h"
#include "report.h"
#include "subject.h"

#include <farfield/nonlinear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "lnnet hessian"

enum { MOST_CHECKED = 20 };

typedef struct hessian_args {
    const char *net, *arch, *where, *output;
    int64_t groups;
    double eps;
    bool raw, check;
    common_args common;
    const char *x;
} hessian_args;

typedef struct job {
    hessian_args args;
    session s;
    dataset table;
    far_net *net;             /* NULL: a layer norm alone */
    far_predictor *predictor; /* it, in raw units; NULL: not asked for */
    double *inputs, *values;
    far_mat x, h;  /* n x d, n x 1 */
    double *ratio; /* H(LN with groups) / H(LN), one a row; NULL: one group, or a network */
    double bound;  /* of the ratio */
    double off;    /* by how much finite differences disagree, relatively */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(hessian_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--net", 'n', AT(net), "NET",
                "of this network (net.safetensors); without it, of a layer norm of the\n"
                "columns of X"),
    FILE_ARCH_OPTION,
    COUNT_OPTION("--groups", 'g', AT(groups), "G",
                 "without --net: a layer norm in G groups, and how much more it bends", 1,
                 INT32_MAX),
    NUMBER_OPTION("--eps", 0, AT(eps), "EPS", "without --net: of the layer norm"),
    FLAG_OPTION("--raw", 0, AT(raw),
                "with --net: of raw inputs to raw outputs, not in the network's units"),
    FLAG_OPTION("--check", 0, AT(check), "also by finite differences, for the first 20 rows"),
    TEXT_OPTION("--where", 'w', AT(where), "EXPR", "only the rows of X where it holds"),
    OUTPUT_OPTION("write H of each row to FILE (.csv, .csv.gz, .npy, .npz)"),
};

static const char USAGE[] = "lnnet hessian --net NET [options] X\n"
                            "lnnet hessian [--groups G] [options] X";
static const char ABOUT[] =
    "How nonlinear a network is at the rows of X: H = the sum over outputs of the squared "
    "Frobenius\n"
    "norm of their second derivatives, exactly. Of a layer norm alone it is 3 (d - 2) / (d "
    "sigma^4);\n"
    "in G groups it is at least G (d - 2 G) / (d - 2) times that.";
static const char NOTES[] = "Examples:\n"
                            "  farfield lnnet hessian --net net.safetensors X.csv\n"
                            "  farfield lnnet hessian --groups 4 X.csv";

static int check_usage(const command_line *line, const hessian_args *a)
{
    if (!a->x) {
        return usage_error(VERB, "no table X of points");
    }
    if (a->net && (options_given(line, "--groups") || options_given(line, "--eps"))) {
        return usage_error(VERB, "--groups and --eps are for a layer norm alone, without --net");
    }
    if (!a->net && (a->raw || a->arch)) {
        return usage_error(VERB, "%s needs --net", a->raw ? "--raw" : "--arch");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    return OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, hessian_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->x = line.operands[0];
    return code == OPTIONS_OK ? check_usage(&line, a) : code;
}

/* ---- points -------------------------------------------------------------------------------- */

/* A layer norm alone, as a network: for finite differences, and to read the columns. */
static int norm_network(job *j, int64_t d, far_net **out)
{
    char text[96];
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = d;
    snprintf(text, sizeof text, "ln(groups=%lld, eps=%.17g)", (long long)j->args.groups,
             j->args.eps);
    far_status st = far_net_create(j->s.ctx, text, &o, out);
    return st == FAR_OK ? EXIT_DONE : arch_failure(&j->s, st);
}

static int read_points(job *j)
{
    int code = network_inputs(&j->s, j->net, &j->table, &j->inputs, &j->x);
    if (code != EXIT_DONE) {
        return code;
    }
    j->values = calloc((size_t)j->x.rows, 2 * sizeof *j->values);
    if (!j->values) {
        return failure(VERB, "%s: out of memory", j->table.label);
    }
    j->h = far_mat_view(j->values, j->x.rows, 1, FAR_F64);
    return EXIT_DONE;
}

static int open_all(job *j)
{
    int code = dataset_read(VERB, j->s.ctx, j->args.x, NULL, j->args.where, &j->table);
    if (code == EXIT_DONE) {
        code = j->args.net ? network_load(&j->s, j->args.net, j->args.arch, &j->net)
                           : norm_network(j, far_frame_cols(j->table.frame), &j->net);
    }
    return code == EXIT_DONE ? read_points(j) : code;
}

/* From the network's own units to raw ones. */
static void make_raw(job *j)
{
    far_scaling s = far_columns_describe(far_net_describe(j->net).columns).scaling;
    for (int64_t i = 0; i < j->x.rows * j->x.cols; i++) {
        int64_t k = i % j->x.cols;
        j->inputs[i] =
            mat_get(&s.input_centre, 0, k) + mat_get(&s.input_scale, 0, k) * j->inputs[i];
    }
}

/* ---- finite differences -------------------------------------------------------------------- */

static far_status values_at(job *j, const double *x, double *out)
{
    far_mat row = far_mat_view((double *)x, 1, j->x.cols, FAR_F64);
    far_mat f = far_mat_view(out, 1, far_net_describe(j->net).outputs, FAR_F64);
    return j->args.raw ? far_predictor_eval(j->s.ctx, j->predictor, &row, &f)
                       : far_net_eval(j->s.ctx, j->net, &row, &f);
}

/* f(x + a e_i + b e_k) times weight, added to out. */
static far_status add_moved(job *j, double *x, const double step[2], const int64_t at[2],
                            double weight, double *f, double *out)
{
    x[at[0]] += step[0];
    x[at[1]] += step[1];
    far_status st = values_at(j, x, f);
    x[at[0]] -= step[0];
    x[at[1]] -= step[1];
    for (int64_t k = 0; st == FAR_OK && k < far_net_describe(j->net).outputs; k++) {
        out[k] += weight * f[k];
    }
    return st;
}

/* The square of d2 f / dx_i dx_k, summed over outputs, by four values; x is restored up to
 * rounding, so it is a copy. */
static far_status second_difference(job *j, const double *point, int64_t i, int64_t k, double size,
                                    double *work, double *sum)
{
    int64_t d = j->x.cols, outputs = far_net_describe(j->net).outputs;
    double *x = work, *f = work + d, *total = f + outputs;
    far_status st = FAR_OK;
    memset(total, 0, (size_t)outputs * sizeof *total);
    for (int corner = 0; corner < 4 && st == FAR_OK; corner++) {
        double a = corner & 1 ? size : -size, b = corner & 2 ? size : -size;
        memcpy(x, point, (size_t)d * sizeof *x);
        st = add_moved(j, x, (double[]){a, b}, (int64_t[]){i, k}, a * b > 0 ? 1 : -1, f, total);
    }
    for (int64_t m = 0; m < outputs; m++) {
        double second = total[m] / (4 * size * size);
        *sum += (i == k ? 1 : 2) * second * second;
    }
    return st;
}

static double spread_of(const double *x, int64_t d)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < d; i++) {
        mean += x[i] / (double)d;
    }
    for (int64_t i = 0; i < d; i++) {
        square += (x[i] - mean) * (x[i] - mean) / (double)d;
    }
    return square > 0 ? sqrt(square) : 1;
}

static far_status check_row(job *j, int64_t row, double *work)
{
    const double *x = j->inputs + row * j->x.cols;
    double h = 0, exact = j->values[row], size = 3e-4 * spread_of(x, j->x.cols);
    far_status st = FAR_OK;
    for (int64_t i = 0; i < j->x.cols; i++) {
        for (int64_t k = i; k < j->x.cols && st == FAR_OK; k++) {
            st = second_difference(j, x, i, k, size, work, &h);
        }
    }
    double scale = fmax(fabs(exact), fabs(h));
    j->off = fmax(j->off, scale > 0 ? fabs(h - exact) / scale : 0);
    return st;
}

static int check_all(job *j)
{
    int64_t rows = j->x.rows < MOST_CHECKED ? j->x.rows : MOST_CHECKED;
    size_t outputs = (size_t)far_net_describe(j->net).outputs;
    double *work = calloc((size_t)j->x.cols + 2 * outputs, sizeof *work);
    far_status st = FAR_OK;
    if (!work) {
        return failure(VERB, "out of memory");
    }
    for (int64_t i = 0; i < rows && st == FAR_OK; i++) {
        st = check_row(j, i, work);
    }
    free(work);
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, NULL);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static int measure_norm(job *j)
{
    int64_t groups = j->args.groups;
    far_status st = far_ln_hessian(j->s.ctx, &j->x, groups, j->args.eps, &j->h);
    if (st == FAR_OK && groups > 1) {
        j->ratio = j->values + j->x.rows;
        far_mat ratio = far_mat_view(j->ratio, j->x.rows, 1, FAR_F64);
        st = far_ln_amplification(j->s.ctx, j->x.cols, groups, &j->x, &ratio, &j->bound);
    }
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, j->table.label);
}

static int measure_net(job *j)
{
    far_status st = FAR_OK;
    if (j->args.raw) {
        make_raw(j);
        st = far_predictor_of_net(j->s.ctx, j->net, &j->predictor);
    }
    st = st != FAR_OK ? st : far_net_hessian_norm(j->s.ctx, j->net, &j->x, j->args.raw, &j->h);
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, j->args.net);
}

static int measure(job *j)
{
    int code = j->args.net ? measure_net(j) : measure_norm(j);
    return code == EXIT_DONE && j->args.check ? check_all(j) : code;
}

/* ---- rows without an H --------------------------------------------------------------------- */

static int check_row_value(const job *j, const char *what, double value, int64_t i)
{
    if (isfinite(value)) {
        return EXIT_DONE;
    }
    return failure(VERB,
                   "%s: row %lld has no finite %s: a layer norm meets numbers that are equal, or "
                   "too near or too far for a double; leave the row out%s",
                   j->table.label, (long long)i + 1, what,
                   j->args.net || j->args.eps > 0 ? "" : ", or take --eps");
}

static int check_values(const job *j)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; i < j->x.rows && code == EXIT_DONE; i++) {
        code = check_row_value(j, "H", j->values[i], i);
        if (code == EXIT_DONE && j->ratio) {
            code = check_row_value(j, "ratio of H in groups to H of one", j->ratio[i], i);
        }
    }
    return code;
}

/* ---- what is said -------------------------------------------------------------------------- */

typedef struct extent {
    double least, mean, most;
} extent;

static extent extent_of(const double *v, int64_t n)
{
    extent e = {v[0], 0, v[0]};
    for (int64_t i = 0; i < n; i++) {
        e.least = fmin(e.least, v[i]);
        e.most = fmax(e.most, v[i]);
        e.mean += v[i] / (double)n;
    }
    return e;
}

static void tell_extent(far_result *r, const char *key, const char *label, const double *v,
                        int64_t n)
{
    extent e = extent_of(v, n);
    far_result_open(r, key);
    far_result_number(r, "mean", e.mean, label, "mean %.6g, from %.6g to %.6g", e.mean, e.least,
                      e.most);
    far_result_number(r, "least", e.least, NULL, NULL);
    far_result_number(r, "most", e.most, NULL, NULL);
    far_result_close(r);
}

static int tell(job *j)
{
    int64_t n = j->x.rows;
    report out;
    int code = report_begin(&j->s, &j->args.common, "How much a network bends", &out);
    far_result *r = out.result;
    far_result_count(r, "rows", n, "rows", "%lld of %lld inputs", (long long)n,
                     (long long)j->x.cols);
    far_result_count(r, "inputs", j->x.cols, NULL, NULL);
    tell_extent(r, "hessian", j->args.net ? "H of the network" : "H of the layer norm", j->values,
                n);
    if (j->ratio) {
        tell_extent(r, "ratio", "over H of one group", j->ratio, n);
        far_result_number(r, "ratio_bound", j->bound, "  at least, for any x", NULL);
    }
    if (j->args.check) {
        far_result_number(r, "finite_differences_off", j->off, "finite differences",
                          j->off < 0.1 ? "agree to %.1g of H"
                                       : "off by %.1g of H: it bends within their steps, or is "
                                         "rounding",
                          j->off);
    }
    far_result_list(r, "values", j->values, n);
    report_written(&out, "written", "H of each row", j->args.output);
    return report_end(&out, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int write_values(job *j)
{
    return j->args.output ? matrix_write(VERB, j->s.ctx, &j->h, "H", j->args.output) : EXIT_DONE;
}

static int run(void *user)
{
    job *j = user;
    int code = j->args.output ? output_possible(VERB, j->s.ctx, j->args.output) : EXIT_DONE;
    code = code == EXIT_DONE ? open_all(j) : code;
    interrupts_hold();
    code = code == EXIT_DONE ? measure(j) : code;
    code = code == EXIT_DONE ? check_values(j) : code;
    code = code == EXIT_DONE ? write_values(j) : code;
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    far_predictor_destroy(j->predictor);
    far_net_destroy(j->net);
    dataset_free(&j->table);
    free(j->inputs);
    free(j->values);
}

int lnnet_hessian(int argc, char **argv)
{
    job j = {.args = {.groups = 1, .common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
