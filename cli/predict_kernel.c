#define _GNU_SOURCE
#include "predict_kernel.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "predict"

typedef struct job {
    const predict_kernel_args *args;
    session s;
    source kernel;
    far_view_info info;
    far_mat fitted, residuals, weights; /* rows x q */
    gram_file cross_file;
    input cross_f0;
    far_mat cross, cross_start; /* of new points; no data: none */
    far_mat predicted;
    far_condition condition;
    double loss[2];        /* before and after */
    double residual;       /* |y - f| */
    double ridge_residual; /* |ridge (K + ridge I)^-1 (y - f0)| */
    double dimension;      /* sum of lambda g(lambda) */
    double *times, *losses;
    int64_t time_count;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

enum { CURVE_POINTS = 50, MOST_CURVE = 100000 };

#define AT(field) offsetof(predict_kernel_args, field)

static const option OWN[] = {
    NUMBER_OPTION("--ridge", 'r', AT(ridge), "R",
                  "ridge regression, K (K + R I)^-1; with --time or --gd the same on the\n"
                  "way; 0 interpolates"),
    TEXT_OPTION("--gd", 0, AT(gd), "RATE,STEPS",
                "gradient descent of L; --time T is gradient flow to that time"),
    TEXT_OPTION("--f0", 0, AT(f0), "FILE|none",
                "where training starts (0; with --net the network's outputs): shaped\n"
                "like the targets, in their units as the kernel sees them"),
    TEXT_OPTION("--cross", 0, AT(cross), "KX",
                "predict new points: the kernel between them (rows) and those of K"),
    TEXT_OPTION("--cross-f0", 0, AT(cross_f0), "FILE", "where those start"),
    TEXT_OPTION("--at", 0, AT(at), "NEW", "with --net and --arch: predict the rows of this table"),
    TEXT_OPTION("--curve", 0, AT(curve), "T1:T2[:COUNT]",
                "the loss L(t) at COUNT times (50), evenly in the logarithm"),
    TEXT_OPTION("--losses", 0, AT(losses), "FILE", "write that curve to FILE: t, loss"),
};

/* Those of the source but for what predict has of its own, or under another name. */
static bool shared(const option *o)
{
    static const char *const OTHERS[] = {"--arch", "--where", "--values",
                                         "--sep",  "--na",    "--categorical"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        if (strcmp(o->name, OTHERS[i]) == 0) {
            return false;
        }
    }
    return true;
}

option_group predict_kernel_options(size_t offset)
{
    static option all[MAX_OPTIONS];
    size_t count = 0;
    option_group of_source = source_options(offset);
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++) {
        all[count++] = OWN[i];
    }
    for (size_t i = 0; i < of_source.count; i++) {
        if (shared(&of_source.options[i])) {
            all[count++] = of_source.options[i];
        }
    }
    return (option_group){.title = "With a kernel in place of a model:",
                          .options = all,
                          .count = count,
                          .offset = offset};
}

predict_kernel_args predict_kernel_defaults(void)
{
    return (predict_kernel_args){.ridge = NAN, .source = {.outputs = "trace"}};
}

static int read_descent(predict_kernel_args *a)
{
    char *comma, *end = NULL;
    double rate = strtod(a->gd, &comma);
    long long steps = comma != a->gd && *comma == ',' ? strtoll(comma + 1, &end, 10) : 0;
    if (!end || end == comma + 1 || *end || steps < 1 || !(rate > 0 && rate < INFINITY)) {
        return usage_error(VERB,
                           "--gd is RATE,STEPS: a rate above 0 and a number of steps, not "
                           "'%s'",
                           a->gd);
    }
    a->filter.rate = rate;
    a->filter.time = rate * (double)steps;
    return OPTIONS_OK;
}

static int read_filter(const command_line *line, predict_kernel_args *a)
{
    bool timed = options_given(line, "--time");
    far_spectral_init(&a->filter);
    a->filter.ridge = isnan(a->ridge) ? 0 : a->ridge;
    a->filter.time = a->time;
    if (isnan(a->ridge) && !timed && !a->gd) {
        return usage_error(VERB, "trained how? --ridge R, --time T or --gd RATE,STEPS (--ridge 0 "
                                 "interpolates)");
    }
    if (a->gd && timed) {
        return usage_error(VERB, "--gd does not go with --time");
    }
    return a->gd ? read_descent(a) : OPTIONS_OK;
}

static int read_curve(predict_kernel_args *a)
{
    char *at, *end;
    long long count = CURVE_POINTS;
    a->from = strtod(a->curve, &at);
    bool good = at != a->curve && *at == ':';
    a->to = good ? strtod(at + 1, &end) : NAN;
    good = good && end != at + 1;
    if (good && *end == ':') {
        at = end + 1;
        count = strtoll(at, &end, 10);
        good = end != at;
    }
    a->count = count;
    if (!good || *end || !(a->from > 0 && a->from < a->to && a->to < INFINITY) || count < 2 ||
        count > MOST_CURVE) {
        return usage_error(VERB,
                           "--curve is T1:T2 or T1:T2:COUNT, times above 0 and 2 to %d of "
                           "them, not '%s'",
                           MOST_CURVE, a->curve);
    }
    return OPTIONS_OK;
}

static int check_new_points(const predict_kernel_args *a)
{
    bool started = a->f0 && strcmp(a->f0, "none") != 0;
    if (a->at && a->source.kernel) {
        return usage_error(VERB, "--at goes with --net and --arch; a matrix needs --cross KX, the "
                                 "kernel between the new points and its own");
    }
    if (a->cross && !a->source.kernel) {
        return usage_error(VERB, "--cross goes with a matrix K; --net and --arch take the table "
                                 "of new points: --at NEW");
    }
    if (a->cross_f0 && !a->cross && !a->at) {
        return usage_error(VERB, "--cross-f0 goes with --cross or --at: it is where new points "
                                 "start");
    }
    if ((a->cross || a->at) && started && !a->cross_f0) {
        return usage_error(VERB, "--f0 says where the points of the kernel start; --cross-f0 must "
                                 "say it of the new ones");
    }
    if (a->cross_f0 && a->source.kernel && !started) {
        return usage_error(VERB, "--cross-f0 needs --f0: where do the points of the kernel start?");
    }
    return OPTIONS_OK;
}

static int check_files(const predict_kernel_args *a)
{
    if (!output_ending_known(VERB, a->output) || !output_ending_known(VERB, a->losses)) {
        return EXIT_USAGE;
    }
    return a->losses && !a->curve ? usage_error(VERB, "--losses goes with --curve T1:T2")
                                  : OPTIONS_OK;
}

int predict_kernel_check(const command_line *line, predict_kernel_args *a)
{
    static const char *const OTHERS[] = {"--std",  "--spread",      "--steps",
                                         "--rate", "--at-infinity", "--memory"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    const char *here = options_given_more(line, NULL);
    if (other) {
        return usage_error(VERB, "%s is for models of farfield fit, and %s for kernels%s", other,
                           here,
                           strcmp(other, "--steps") == 0 ? "; descent is --gd RATE,STEPS" : "");
    }
    a->outputs_given = options_given(line, "--outputs");
    a->source.values = a->f0 && strcmp(a->f0, "none") != 0 ? a->f0 : NULL;
    int code = source_check_usage(line, &a->source);
    code = code == OPTIONS_OK
               ? source_check_needs(VERB, &a->source, FAR_NEED_TARGETS, "a kernel alone")
               : code;
    code = code == OPTIONS_OK ? read_filter(line, a) : code;
    code = code == OPTIONS_OK ? check_new_points(a) : code;
    code = code == OPTIONS_OK && a->curve ? read_curve(a) : code;
    return code == OPTIONS_OK ? check_files(a) : code;
}

/* ---- fitting ------------------------------------------------------------------------------- */

static const far_mat *start_of(const job *j)
{
    return j->kernel.values.data ? &j->kernel.values : NULL;
}

static const char *start_words(const job *j)
{
    return !start_of(j)             ? "0"
           : j->args->source.values ? j->args->source.values
                                    : "the network's outputs";
}

static int check_start(job *j)
{
    const far_mat *y = &j->kernel.targets, *f0 = start_of(j);
    if (!f0 || (f0->rows == y->rows && f0->cols == y->cols)) {
        return EXIT_DONE;
    }
    return failure(VERB,
                   "%s: %lld x %lld, but the targets are %lld x %lld; a start has their shape "
                   "(--f0 none starts at 0)",
                   j->args->source.values ? j->args->source.values : j->args->source.net,
                   (long long)f0->rows, (long long)f0->cols, (long long)y->rows,
                   (long long)y->cols);
}

static double length_of(const far_mat *m)
{
    double squares = 0;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        squares += ((const double *)m->data)[i] * ((const double *)m->data)[i];
    }
    return sqrt(squares);
}

/* Losses and residuals are sums of squares. */
static int check_squares(const job *j)
{
    const source *k = &j->kernel;
    const far_mat *f0 = start_of(j);
    double largest = mat_largest(&k->targets), start = f0 ? mat_largest(f0) : 0;
    double span = largest + start;
    if (isfinite(span * span * (double)(k->targets.rows * k->targets.cols))) {
        return EXIT_DONE;
    }
    bool of_start = start > largest;
    const char *table = j->args->source.y ? k->target_table.label : k->table.label;
    return failure(VERB,
                   "%s: %s go up to %.3g, whose square is too large for a number; divide targets "
                   "and start by a constant",
                   of_start ? start_words(j) : table, of_start ? "starts" : "targets",
                   of_start ? start : largest);
}

/* The part of a component along an eigenvector of eigenvalue l that is learnt: l g(l). */
static double learnt(const far_spectral *f, double l, double points)
{
    double total = l + f->ridge, speed = total / points;
    double left = isinf(f->time) ? 0
                  : f->rate > 0  ? pow(1 - f->rate * speed, nearbyint(f->time / f->rate))
                                 : exp(-speed * f->time);
    return l * (1 - left) / total;
}

static int measure_dimension(job *j)
{
    far_spectrum s;
    if (far_view_spectrum(j->s.ctx, j->kernel.view, 0, 0, &s) != FAR_OK) {
        return session_failure(&j->s, NULL);
    }
    for (int64_t i = 0; i < s.count; i++) {
        bool counts = s.values[i] > (double)s.count * 2e-16 * s.values[0];
        j->dimension += counts ? learnt(&j->args->filter, s.values[i], (double)j->info.points) : 0;
    }
    return EXIT_DONE;
}

static far_status fit(job *j)
{
    far_ctx *ctx = j->s.ctx;
    far_view *view = j->kernel.view;
    const far_mat *y = &j->kernel.targets, *f0 = start_of(j);
    far_spectral filter = j->args->filter;
    double times[2] = {0, filter.time};
    far_status st =
        far_spectral_fit(ctx, view, &filter, y, f0, &j->fitted, &j->residuals, &j->weights);
    st = st == FAR_OK ? far_spectral_loss(ctx, view, &filter, y, f0, times, 2, j->loss) : st;
    return st == FAR_OK ? far_view_condition(ctx, view, filter.ridge, &j->condition) : st;
}

/* Training to the end: what is left of the targets is what the ridge alone takes. */
static far_status fit_to_the_end(job *j)
{
    far_spectral end = j->args->filter;
    far_mat left = {0};
    end.time = INFINITY;
    end.rate = 0;
    if (matrix_alloc(VERB, j->residuals.rows, j->residuals.cols, FAR_F64, &left) != EXIT_DONE) {
        return FAR_ERR_MEMORY;
    }
    far_status st = far_spectral_fit(j->s.ctx, j->kernel.view, &end, &j->kernel.targets,
                                     start_of(j), NULL, &left, NULL);
    j->ridge_residual = length_of(&left);
    free(left.data);
    return st;
}

static int fit_kernel(job *j)
{
    int64_t rows = j->info.rows, q = j->kernel.targets.cols;
    int code = check_start(j);
    code = code == EXIT_DONE ? check_squares(j) : code;
    code = code == EXIT_DONE ? matrix_alloc(VERB, rows, q, FAR_F64, &j->fitted) : code;
    code = code == EXIT_DONE ? matrix_alloc(VERB, rows, q, FAR_F64, &j->residuals) : code;
    code = code == EXIT_DONE ? matrix_alloc(VERB, rows, q, FAR_F64, &j->weights) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    if (fit(j) != FAR_OK || fit_to_the_end(j) != FAR_OK) {
        return session_failure(&j->s, NULL);
    }
    j->residual = length_of(&j->residuals);
    return measure_dimension(j);
}

/* ---- the curve ----------------------------------------------------------------------------- */

/* Evenly in the logarithm; descent has whole steps, each once. */
static void fill_times(job *j)
{
    const predict_kernel_args *a = j->args;
    double rate = a->filter.rate, last = -1;
    for (int64_t i = 0; i < a->count; i++) {
        double part = (double)i / (double)(a->count - 1);
        double t = i == 0              ? a->from
                   : i + 1 == a->count ? a->to
                                       : a->from * pow(a->to / a->from, part);
        t = rate > 0 ? rate * nearbyint(t / rate) : t;
        if (t > last) {
            j->times[j->time_count++] = last = t;
        }
    }
}

static int measure_curve(job *j)
{
    j->times = calloc((size_t)j->args->count, sizeof *j->times);
    j->losses = calloc((size_t)j->args->count, sizeof *j->losses);
    if (!j->times || !j->losses) {
        return failure(VERB, "out of memory");
    }
    fill_times(j);
    far_status st =
        far_spectral_loss(j->s.ctx, j->kernel.view, &j->args->filter, &j->kernel.targets,
                          start_of(j), j->times, j->time_count, j->losses);
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, "--curve");
}

/* ---- new points ---------------------------------------------------------------------------- */

static int read_cross(job *j)
{
    const predict_kernel_args *a = j->args;
    int code = gram_read(&j->s, a->cross, a->source.layers, &j->cross_file);
    if (code == EXIT_DONE) {
        code = gram_check_cross(&j->s, &j->cross_file, &j->kernel.gram, j->info.rows);
        j->cross = j->cross_file.in.values;
    }
    return code;
}

static int read_cross_start(job *j)
{
    int64_t rows = j->cross.rows, q = j->kernel.targets.cols;
    int code = input_read(VERB, j->s.ctx, j->args->cross_f0, FAR_F64, &j->cross_f0);
    far_mat m = j->cross_f0.values;
    if (code == EXIT_DONE && m.rows * m.cols == rows * q && (m.rows == rows || q == 1)) {
        free(j->cross_start.data);
        code = matrix_alloc(VERB, rows, q, FAR_F64, &j->cross_start);
        if (code == EXIT_DONE) {
            memcpy(j->cross_start.data, m.data, (size_t)(rows * q) * sizeof(double));
        }
        return code;
    }
    return code != EXIT_DONE
               ? code
               : failure(VERB, "--cross-f0: %s is %lld x %lld, not %lld x %lld", j->cross_f0.label,
                         (long long)m.rows, (long long)m.cols, (long long)rows, (long long)q);
}

static int predict_new(job *j)
{
    const predict_kernel_args *a = j->args;
    bool started = start_of(j) != NULL;
    int code = a->cross ? read_cross(j)
                        : source_cross(&j->s, &a->source, &j->kernel, a->at, &j->cross,
                                       started && !a->cross_f0 ? &j->cross_start : NULL);
    code = code == EXIT_DONE && a->cross_f0 ? read_cross_start(j) : code;
    if (code == EXIT_DONE) {
        code = matrix_alloc(VERB, j->cross.rows, j->weights.cols, FAR_F64, &j->predicted);
    }
    const far_mat *start = j->cross_start.data ? &j->cross_start : NULL;
    if (code == EXIT_DONE &&
        far_spectral_predict(j->s.ctx, &j->cross, &j->weights, start, &j->predicted) != FAR_OK) {
        code = session_failure(&j->s, a->cross ? j->cross_file.in.label : a->at);
    }
    return code;
}

/* ---- files --------------------------------------------------------------------------------- */

/* The columns of m: BEFORE and the name of their target, or its number. */
static void add_columns(const job *j, result_column *columns, int64_t *count, const char *before,
                        const far_mat *m)
{
    for (int64_t k = 0; k < m->cols; k++) {
        const char *name = source_target(&j->kernel, m->cols, k);
        result_column *c = &columns[(*count)++];
        *c = (result_column){.values = *m, .col = k};
        int length = name ? asprintf(&c->name, "%s%s", before, name)
                          : asprintf(&c->name, "%s%lld", before, (long long)k + 1);
        c->name = length < 0 ? NULL : c->name;
    }
}

static int write_columns(job *j, const result_column *columns, int64_t count)
{
    const far_mat *m = j->predicted.data ? &j->predicted : &j->fitted;
    for (int64_t k = 0; k < count; k++) {
        if (!columns[k].name) {
            return failure(VERB, "out of memory");
        }
    }
    return columns_write(VERB, j->s.ctx, columns, count, m->rows, "prediction", j->args->output);
}

static int write_output(job *j)
{
    int64_t count = 0, room = 2 * j->fitted.cols + j->predicted.cols;
    result_column *columns = calloc((size_t)room, sizeof *columns);
    if (!columns) {
        return failure(VERB, "out of memory");
    }
    if (j->predicted.data) {
        add_columns(j, columns, &count, "", &j->predicted);
    } else {
        add_columns(j, columns, &count, "fitted_", &j->fitted);
        add_columns(j, columns, &count, "residual_", &j->residuals);
    }
    int code = write_columns(j, columns, count);
    for (int64_t k = 0; k < count; k++) {
        free(columns[k].name);
    }
    free(columns);
    return code;
}

static int write_losses(job *j)
{
    static char time_name[] = "t", loss_name[] = "loss";
    result_column columns[2] = {
        {.name = time_name, .values = far_mat_view(j->times, j->time_count, 1, FAR_F64)},
        {.name = loss_name, .values = far_mat_view(j->losses, j->time_count, 1, FAR_F64)}};
    return columns_write(VERB, j->s.ctx, columns, 2, j->time_count, "losses", j->args->losses);
}

/* ---- what is said -------------------------------------------------------------------------- */

static void tell_filter(far_result *r, const job *j)
{
    const far_spectral *f = &j->args->filter;
    double steps = nearbyint(f->time / f->rate);
    const char *more = f->ridge > 0 ? ", with a ridge" : "";
    int64_t q = j->fitted.cols;
    far_result_text(r, "start", start_words(j), "targets", "%lld column%s, training starts at %s",
                    (long long)q, q == 1 ? "" : "s", start_words(j));
    if (isinf(f->time)) {
        far_result_text(r, "filter", "ridge", "filter", "%s",
                        f->ridge > 0 ? "ridge regression" : "interpolation, of the least norm");
    } else if (f->rate > 0) {
        far_result_text(r, "filter", "descent", "filter",
                        "gradient descent, %.0f steps of %g, time %g%s", steps, f->rate, f->time,
                        more);
        far_result_number(r, "rate", f->rate, NULL, NULL);
        far_result_number(r, "steps", steps, NULL, NULL);
    } else {
        far_result_text(r, "filter", "flow", "filter", "gradient flow to time %g%s", f->time, more);
    }
    far_result_number(r, "time", f->time, NULL, NULL);
    far_result_number(r, "ridge", f->ridge, "ridge", "%g, condition of K + %g I %.6g", f->ridge,
                      f->ridge, j->condition.condition);
    far_result_number(r, "condition", j->condition.condition, NULL, NULL);
}

static void tell_fit(far_result *r, const job *j)
{
    bool ridge = j->args->filter.ridge > 0;
    far_result_number(r, "residual", j->residual, "residual", "%.6g, |y - f|%s", j->residual,
                      source_standardised(&j->kernel, false) ? " of standardised targets" : "");
    far_result_number(r, "ridge_residual", j->ridge_residual, ridge ? "  of ridge" : "  at the end",
                      "%.6g, %s", j->ridge_residual,
                      ridge ? "|ridge (K + ridge I)^-1 (y - f0)|"
                            : "what interpolation leaves: y - f0 beyond the reach of K");
    far_result_number(r, "loss_before", j->loss[0], "loss L", "%.6g before, %.6g after", j->loss[0],
                      j->loss[1]);
    far_result_number(r, "loss_after", j->loss[1], NULL, NULL);
    far_result_number(r, "dimension", j->dimension, "dimension",
                      "%.6g of %lld, sum of lambda g(lambda)", j->dimension,
                      (long long)j->info.rows);
    if (j->predicted.data) {
        far_result_say(r, "new points", "%lld", (long long)j->predicted.rows);
    }
}

static void tell_curve(report *out, const job *j)
{
    static const far_result_column COLUMNS[] = {{NULL, "t", "%14.6g"}, {NULL, "L(t)", "%14.6g"}};
    far_result *r = out->result;
    far_figure_opts o = report_axes("time t", "loss L(t)");
    far_result_list(r, "times", j->times, j->time_count);
    far_result_list(r, "losses", j->losses, j->time_count);
    far_result_for(r, j->args->losses ? FAR_FOR_PAGE : FAR_FOR_PEOPLE);
    far_result_table(r, NULL, "The loss over time.", COLUMNS, 2);
    for (int64_t i = 0; i < j->time_count; i++) {
        far_result_cell(r, j->times[i]);
        far_result_cell(r, j->losses[i]);
    }
    far_result_for(r, FAR_FOR_ALL);
    o.x_scale = o.y_scale = FAR_SCALE_LOG;
    report_draw(out, &o);
    report_line(out, report_mark(NULL, 0), j->times, j->losses, j->time_count);
    report_place(out, "losses", "The loss over time.");
}

static void list_values(far_result *r, const job *j)
{
    const far_mat *m = j->predicted.data ? &j->predicted : &j->fitted;
    int64_t shape[] = {m->rows, m->cols};
    far_result_array(r, j->predicted.data ? "prediction" : "fitted", m, shape, 2);
    if (!j->predicted.data) {
        far_result_array(r, "residuals", &j->residuals, shape, 2);
    }
}

/* Predictions that no file takes are what was asked for: csv, and no words among it. */
static int tell(job *j)
{
    const predict_kernel_args *a = j->args;
    bool table = j->predicted.data && !a->output && !a->common.json;
    report r;
    int code = report_begin(&j->s, &a->common, "Training with a kernel", &r);
    r.quiet |= table;
    source_tell(&j->kernel, &a->source, r.result);
    tell_filter(r.result, j);
    tell_fit(r.result, j);
    if (j->times) {
        tell_curve(&r, j);
    }
    if (!a->output) {
        list_values(r.result, j);
    }
    report_written(&r, "written", NULL, a->output);
    code = report_end(&r, code);
    return code == EXIT_DONE && table ? write_output(j) : code;
}

/* ---- the job ------------------------------------------------------------------------------- */

/* The mean of the kernels trains each output by itself, which the network does not do. */
static void warn_of_mean(const job *j)
{
    const far_net *net = j->kernel.net;
    if (net && far_net_describe(net).outputs > 1 && j->kernel.opts.outputs == FAR_NTK_TRACE &&
        !j->args->outputs_given) {
        session_say(&j->s, "of several outputs their mean kernel trains each by itself; "
                           "--outputs full is the network linearised");
    }
}

static int compute(job *j)
{
    const predict_kernel_args *a = j->args;
    int32_t needs = FAR_NEED_TARGETS;
    needs |= a->f0 && strcmp(a->f0, "none") == 0 ? 0 : FAR_NEED_VALUES;
    int code = source_read(&j->s, &a->source, needs, &j->kernel);
    if (code != EXIT_DONE) {
        return code;
    }
    j->info = far_view_describe(j->kernel.view);
    warn_of_mean(j);
    code = fit_kernel(j);
    code = code == EXIT_DONE && (a->cross || a->at) ? predict_new(j) : code;
    return code == EXIT_DONE && a->curve ? measure_curve(j) : code;
}

/* To the units of the table, and with a column for each output. */
static void to_table(job *j)
{
    source_to_table(&j->kernel, true, &j->fitted);
    source_to_table(&j->kernel, false, &j->residuals);
    if (j->predicted.data) {
        source_to_table(&j->kernel, true, &j->predicted);
    }
}

static int run(job *j)
{
    const predict_kernel_args *a = j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE && a->losses ? output_possible(VERB, j->s.ctx, a->losses) : code;
    code = code == EXIT_DONE ? compute(j) : code;
    if (code == EXIT_DONE) {
        to_table(j);
    }
    code = code == EXIT_DONE && a->output ? write_output(j) : code;
    code = code == EXIT_DONE && a->losses ? write_losses(j) : code;
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return code == EXIT_DONE ? tell(j) : code;
}

int predict_kernel(const predict_kernel_args *a)
{
    job j = {.args = a};
    int code = session_start(&j.s, VERB, &a->common);
    code = code == EXIT_DONE ? run(&j) : code;
    if (!a->cross) {
        free(j.cross.data);
    }
    far_mat *owned[] = {&j.fitted, &j.residuals, &j.weights, &j.cross_start, &j.predicted};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]->data);
    }
    free(j.times);
    free(j.losses);
    gram_free(&j.cross_file);
    input_free(&j.cross_f0);
    source_free(&j.kernel);
    session_close(&j.s);
    return code;
}
