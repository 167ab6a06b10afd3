/* farfield align: how well a kernel agrees with targets. */
#include "cli.h"
#include "kernel_source.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB "align"

typedef struct align_args {
    const char *top, *output;
    int64_t task; /* 0: not given */
    double width;
    common_args common;
    source_args source;
    int64_t count; /* of top */
} align_args;

/* What a kernel says of targets: the one that was given, or the centred one. */
typedef struct agreement {
    bool defined; /* 0: nothing is left of the targets */
    far_alignment sums;
    double *values, *cosines, *cumulative;
} agreement;

typedef struct job {
    align_args args;
    session s;
    source kernel;
    far_view_info info;
    int64_t shown;
    far_mat targets;         /* borrowed or task */
    far_mat task;            /* rows x 1; no data: not asked for */
    far_mat matrix, centred; /* HKH and HY */
    far_view *centred_view;
    agreement plain, middle; /* of K and y, of HKH and Hy */
    double cka;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(align_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--top", 'k', AT(top), "K|all", "how many eigenvectors, the largest first"),
    COUNT_OPTION("--task-from-eig", 'j', AT(task), "J",
                 "targets: the signs of eigenvector J, from 1; -o writes them. Begin at\n"
                 "2, the first is often constant",
                 1, INT32_MAX),
    NUMBER_OPTION("--width", 0, AT(width), "W",
                  "of the Gaussian kernel of the targets that CKA compares with"),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz): a row for each eigenvector,\n"
                  "or the targets of --task-from-eig"),
};

static const char USAGE[] = "align K [X] --target COL|--y FILE [options]\n"
                            "align --net NET X --target COL [options]\n"
                            "align --arch ARCH X --target COL [options]\n"
                            "align SOURCE --task-from-eig J [-o y.csv]";
static const char ABOUT[] = "How well a kernel agrees with targets y: alignment KTA and CKA, the "
                            "Rayleigh quotient, and the\n"
                            "part of y along each eigenvector. Beside each the same after "
                            "centring, of HKH and Hy: without\n"
                            "it a constant eigenvector dominates.";
static const char EXAMPLES[] =
    "Examples:\n"
    "  farfield align --net net.safetensors train.csv --target y --top 10\n"
    "  farfield align K.npy --task-from-eig 2 -o y2.csv";

static int check_targets(const align_args *a)
{
    if (a->task > 0 && source_has_targets(&a->source)) {
        return usage_error(VERB, "--task-from-eig makes the targets; it does not go with %s",
                           a->source.y ? "--y" : "--target");
    }
    if (a->task == 0 && !source_has_targets(&a->source)) {
        return usage_error(VERB, "no targets: --target COL of the table X, --y FILE, or "
                                 "--task-from-eig J");
    }
    return OPTIONS_OK;
}

static int check_usage(const command_line *line, align_args *a)
{
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    if (!(a->width > 0)) {
        return usage_error(VERB, "--width must be above 0");
    }
    int code = top_read(VERB, a->top, &a->count);
    code = code == OPTIONS_OK ? source_check_usage(line, &a->source) : code;
    return code == OPTIONS_OK ? check_targets(a) : code;
}

static int read_command_line(int argc, char **argv, align_args *a)
{
    command_line line = {VERB_LINE, .common = common_options(AT(common))};
    int code = source_parse(&line, EXAMPLES, AT(source), argc, argv, a);
    return code == OPTIONS_OK ? check_usage(&line, a) : code;
}

/* ---- tasks --------------------------------------------------------------------------------- */

static int64_t positive_labels(const job *j)
{
    int64_t positive = 0;
    for (int64_t i = 0; i < j->task.rows; i++) {
        positive += mat_get(&j->task, i, 0) > 0;
    }
    return positive;
}

static int make_task(job *j)
{
    int code = matrix_alloc(VERB, j->info.rows, 1, FAR_F64, &j->task);
    if (code != EXIT_DONE) {
        return code;
    }
    if (far_view_task(j->s.ctx, j->kernel.view, j->args.task, &j->task) != FAR_OK) {
        return session_failure(&j->s, "--task-from-eig");
    }
    int64_t positive = positive_labels(j);
    if (positive == 0 || positive == j->info.rows) {
        session_say(&j->s, "eigenvector %lld has one sign throughout: the task is constant",
                    (long long)j->args.task);
    }
    j->targets = j->task;
    return EXIT_DONE;
}

/* ---- centring ------------------------------------------------------------------------------ */

/* m less the mean of each column. */
static void centre_columns(far_mat *m)
{
    double *v = m->data;
    for (int64_t c = 0; c < m->cols; c++) {
        double sum = 0;
        for (int64_t i = 0; i < m->rows; i++) {
            sum += v[i * m->cols + c];
        }
        for (int64_t i = 0; i < m->rows; i++) {
            v[i * m->cols + c] -= sum / (double)m->rows;
        }
    }
}

/* HKH from a copy of K; one triangle decides, so that rounding leaves it symmetric. */
static void centre_kernel(far_mat *m, double *means)
{
    double *v = m->data, mean = 0, n = (double)m->rows;
    for (int64_t i = 0; i < m->rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < m->cols; k++) {
            sum += v[i * m->cols + k];
        }
        means[i] = sum / n;
        mean += means[i] / n;
    }
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t k = 0; k <= i; k++) {
            v[i * m->cols + k] += mean - means[i] - means[k];
            v[k * m->cols + i] = v[i * m->cols + k];
        }
    }
}

static int copy_of(const far_mat *from, far_mat *to)
{
    int code = matrix_alloc(VERB, from->rows, from->cols, FAR_F64, to);
    for (int64_t i = 0; code == EXIT_DONE && i < from->rows; i++) {
        memcpy((double *)to->data + i * to->cols, (const double *)from->data + i * from->ld,
               (size_t)from->cols * sizeof(double));
    }
    return code;
}

static int make_centred(job *j)
{
    const far_mat *kernel = j->kernel.matrix.data ? &j->kernel.matrix : &j->kernel.gram.in.values;
    int code = copy_of(&j->targets, &j->centred);
    code = code == EXIT_DONE ? copy_of(kernel, &j->matrix) : code;
    double *means = malloc((size_t)j->info.rows * sizeof *means);
    if (code == EXIT_DONE && !means) {
        code = failure(VERB, "out of memory");
    }
    if (code == EXIT_DONE) {
        double largest = mat_largest(&j->centred);
        centre_columns(&j->centred);
        j->middle.defined = mat_largest(&j->centred) > 1e-12 * largest;
        centre_kernel(&j->matrix, means);
        if (far_view_create(j->s.ctx, &j->matrix, j->info.points, &j->centred_view) != FAR_OK) {
            code = session_failure(&j->s, NULL);
        }
    }
    free(means);
    return code;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static far_status agree(job *j, far_view *view, const far_mat *targets, agreement *a)
{
    far_spectrum spectrum;
    int64_t count = j->shown;
    far_status st = far_view_spectrum(j->s.ctx, view, count, 1, &spectrum);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        a->values[i] = spectrum.values[i];
    }
    if (st != FAR_OK || !a->defined) {
        return st;
    }
    st = far_view_align(j->s.ctx, view, targets, &a->sums);
    return st == FAR_OK
               ? far_view_cosines(j->s.ctx, view, targets, count, a->cosines, a->cumulative)
               : st;
}

static int allocate(agreement *a, int64_t count)
{
    a->values = calloc((size_t)count, sizeof(double));
    a->cosines = calloc((size_t)count, sizeof(double));
    a->cumulative = calloc((size_t)count, sizeof(double));
    a->sums = (far_alignment){NAN, NAN, NAN, NAN};
    if (!a->values || !a->cosines || !a->cumulative) {
        return failure(VERB, "out of memory");
    }
    for (int64_t i = 0; i < count; i++) {
        a->cosines[i] = a->cumulative[i] = NAN;
    }
    return EXIT_DONE;
}

static int measure_cka(job *j)
{
    far_mat b = {0};
    int code = matrix_alloc(VERB, j->info.rows, j->info.rows, FAR_F64, &b);
    if (code == EXIT_DONE) {
        far_status st = far_target_kernel(j->s.ctx, &j->targets, j->args.width, &b);
        st = st == FAR_OK ? far_view_cka(j->s.ctx, j->kernel.view, &b, &j->cka) : st;
        code = st == FAR_OK ? EXIT_DONE : session_failure(&j->s, NULL);
    }
    free(b.data);
    return code;
}

static int measure(job *j)
{
    j->info = far_view_describe(j->kernel.view);
    j->shown = j->args.count < j->info.rows ? j->args.count : j->info.rows;
    j->targets = j->kernel.targets;
    j->plain.defined = true;
    int code = j->args.task > 0 ? make_task(j) : EXIT_DONE;
    code = code == EXIT_DONE ? allocate(&j->plain, j->shown) : code;
    code = code == EXIT_DONE ? allocate(&j->middle, j->shown) : code;
    code = code == EXIT_DONE ? make_centred(j) : code;
    if (code == EXIT_DONE && (agree(j, j->kernel.view, &j->targets, &j->plain) != FAR_OK ||
                              agree(j, j->centred_view, &j->centred, &j->middle) != FAR_OK)) {
        code = session_failure(&j->s, NULL);
    }
    return code == EXIT_DONE ? measure_cka(j) : code;
}

/* ---- files --------------------------------------------------------------------------------- */

static int write_task(job *j)
{
    static char name[] = "y";
    result_column column = {.name = name, .values = j->task};
    return columns_write(VERB, j->s.ctx, &column, 1, j->task.rows, "y", j->args.output);
}

static int write_vectors(job *j)
{
    static char names[][20] = {"n",
                               "eigenvalue",
                               "cos2",
                               "cumulative",
                               "eigenvalue_centred",
                               "cos2_centred",
                               "cumulative_centred"};
    enum { COLUMNS = 7 };
    int64_t n = j->shown;
    double *numbers = malloc((size_t)n * sizeof *numbers);
    double *parts[COLUMNS] = {
        numbers,          j->plain.values,   j->plain.cosines,    j->plain.cumulative,
        j->middle.values, j->middle.cosines, j->middle.cumulative};
    result_column columns[COLUMNS];
    if (!numbers) {
        return failure(VERB, "out of memory");
    }
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = (double)i + 1;
    }
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] =
            (result_column){.name = names[i], .values = far_mat_view(parts[i], n, 1, FAR_F64)};
    }
    int code = columns_write(VERB, j->s.ctx, columns, COLUMNS, n, "align", j->args.output);
    free(numbers);
    return code;
}

/* ---- what is said -------------------------------------------------------------------------- */

static void tell_targets(far_result *r, const job *j)
{
    if (j->args.task > 0) {
        int64_t positive = positive_labels(j);
        far_result_count(
            r, "task", j->args.task, "targets", "signs of eigenvector %lld: %lld of 1, %lld of -1",
            (long long)j->args.task, (long long)positive, (long long)(j->info.rows - positive));
        far_result_count(r, "positive", positive, NULL, NULL);
    } else {
        far_result_say(r, "targets", "%lld column%s", (long long)j->targets.cols,
                       j->targets.cols > 1 ? "s, counted together" : "");
    }
    if (!j->middle.defined) {
        far_result_say(r, "", "constant: centred, nothing is left of them");
    }
}

static void add_row(far_result *r, const char *what, const char *format, double plain,
                    double middle, const char *note)
{
    char text[32];
    far_result_cell_text(r, "%s", what);
    for (int i = 0; i < 2; i++) {
        double value = i ? middle : plain;
        snprintf(text, sizeof text, format, value);
        far_result_cell_words(r, value, "%s", isnan(value) ? (*note && !i ? "" : "-") : text);
    }
    far_result_cell_text(r, "%s", note);
}

static void tell_sums(far_result *r, const job *j)
{
    static const far_result_column COLUMNS[] = {{NULL, "", NULL},
                                                {NULL, "as it is", "%12.6g"},
                                                {NULL, "centred", "%12.6g"},
                                                {NULL, "", NULL}};
    const far_alignment *p = &j->plain.sums, *m = &j->middle.sums;
    double n = (double)j->info.points;
    char width[64];
    snprintf(width, sizeof width, "Gaussian of the targets, width %g", j->args.width);
    far_result_table(r, NULL, "Alignment of the kernel and the targets.", COLUMNS, 4);
    add_row(r, "KTA", "%12.6f", p->kta, m->kta, "");
    add_row(r, "CKA", "%12.6f", NAN, j->cka, width);
    add_row(r, "Rayleigh quotient", "%12.6g", p->rayleigh, m->rayleigh, "");
    add_row(r, "  of K / N", "%12.6g", p->rayleigh / n, m->rayleigh / n, "");
}

static void tell_vectors(far_result *r, const job *j)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "n", "%6.0f"},      {NULL, "lambda_n", "%12.6g"}, {NULL, "cos^2", "%9.6f"},
        {NULL, "summed", "%9.6f"}, {NULL, "centred", "%12.6g"},  {NULL, "cos^2", "%9.6f"},
        {NULL, "summed", "%9.6f"}};
    const agreement *p = &j->plain, *m = &j->middle;
    bool shown = j->args.task > 0 || !j->args.output;
    far_result_for(r, shown ? FAR_FOR_PEOPLE : FAR_FOR_PAGE);
    far_result_table(r, NULL, "The part of the targets along each eigenvector.", COLUMNS, 7);
    for (int64_t i = 0; i < j->shown; i++) {
        const double row[] = {(double)i + 1, p->values[i],  p->cosines[i],   p->cumulative[i],
                              m->values[i],  m->cosines[i], m->cumulative[i]};
        for (int k = 0; k < 7; k++) {
            far_result_cell(r, row[k]);
        }
    }
    far_result_for(r, FAR_FOR_ALL);
}

static void list_agreement(far_result *r, const job *j, const agreement *a)
{
    far_result_number(r, "kta", a->sums.kta, NULL, NULL);
    far_result_number(r, "rayleigh", a->sums.rayleigh, NULL, NULL);
    far_result_list(r, "eigenvalues", a->values, j->shown);
    far_result_list(r, "cosines", a->cosines, j->shown);
    far_result_list(r, "cumulative", a->cumulative, j->shown);
}

static void draw_vectors(report *r, const job *j, double *numbers)
{
    far_figure_opts o = report_axes("n", "part of the targets up to it");
    for (int64_t i = 0; i < j->shown; i++) {
        numbers[i] = (double)i + 1;
    }
    report_draw(r, &o);
    report_line(r, report_mark("as it is", 0), numbers, j->plain.cumulative, j->shown);
    if (j->middle.defined) {
        report_line(r, report_mark("centred", 1), numbers, j->middle.cumulative, j->shown);
    }
    report_place(r, "cumulative", "How much of the targets the first n eigenvectors hold.");
}

static int tell(const job *j)
{
    const align_args *a = &j->args;
    report r;
    int code = report_begin((session *)&j->s, &a->common, "A kernel and its targets", &r);
    double *numbers = calloc((size_t)j->shown, sizeof *numbers);
    source_tell(&j->kernel, &a->source, r.result);
    tell_targets(r.result, j);
    tell_sums(r.result, j);
    tell_vectors(r.result, j);
    list_agreement(r.result, j, &j->plain);
    far_result_open(r.result, "centred");
    list_agreement(r.result, j, &j->middle);
    far_result_close(r.result);
    far_result_number(r.result, "cka", j->cka, NULL, NULL);
    far_result_number(r.result, "cka_width", a->width, NULL, NULL);
    if (numbers && j->shown > 1) {
        draw_vectors(&r, j, numbers);
    }
    free(numbers);
    report_written(&r, "written", NULL, a->output);
    return report_end(&r, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    job *j = user;
    const align_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE ? source_read(&j->s, &a->source, 0, &j->kernel) : code;
    code = code == EXIT_DONE ? measure(j) : code;
    if (code == EXIT_DONE && a->output) {
        code = a->task > 0 ? write_task(j) : write_vectors(j);
    }
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static void agreement_free(agreement *a)
{
    free(a->values);
    free(a->cosines);
    free(a->cumulative);
}

static void clean(void *user)
{
    job *j = user;
    agreement_free(&j->plain);
    agreement_free(&j->middle);
    far_view_destroy(j->centred_view);
    free(j->matrix.data);
    free(j->centred.data);
    free(j->task.data);
    source_free(&j->kernel);
}

int cmd_align(int argc, char **argv)
{
    job j = {.args = {.top = "20",
                      .width = 0.1,
                      .common = {.threads = default_threads()},
                      .source = {.outputs = "trace"}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
