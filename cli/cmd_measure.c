/* farfield measure: measures of a kernel by their names, and which there are. */
#include "cli.h"
#include "kernel_source.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB "measure"

enum { MOST_MEASURES = 64 };

typedef struct measure_args {
    const char *metrics, *output;
    bool list;
    common_args common;
    source_args source;
} measure_args;

typedef struct job {
    measure_args args;
    session s;
    source kernel;
    far_measure measures[MOST_MEASURES];
    int64_t count;
    double *numbers; /* of all measures, one behind the other */
    int64_t total;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(measure_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--metrics", 'm', AT(metrics), "LIST",
                "which measures: lmax,kta,align:20 (see --list)"),
    FLAG_OPTION("--list", 0, AT(list), "which there are: a line, the formula and what it needs"),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz), a column for each number"),
};

static const char USAGE[] = "measure K [X] --metrics LIST [options]\n"
                            "measure --net NET X --metrics LIST [options]\n"
                            "measure --arch ARCH X --metrics LIST [options]\n"
                            "measure --list [--json]";
static const char ABOUT[] =
    "What a kernel says about training: numbers by their names, of one decomposition.";
static const char EXAMPLES[] =
    "Examples:\n"
    "  farfield measure --list\n"
    "  farfield measure --net net.safetensors train.csv -t y -m lmax,kta,ckta,align:5\n"
    "  farfield measure K.npy --y y.csv -m kta,cond:0.1";

static int check_usage(const command_line *line, measure_args *a)
{
    if (a->list) {
        return line->operand_count > 0 || a->metrics
                   ? usage_error(VERB, "--list takes no kernel and no --metrics")
                   : OPTIONS_OK;
    }
    if (!a->metrics) {
        return usage_error(VERB, "--metrics is missing: which measures? measure --list shows them");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    return source_check_usage(line, &a->source);
}

static int read_command_line(int argc, char **argv, measure_args *a)
{
    command_line line = {VERB_LINE, .common = common_options(AT(common))};
    int code = source_parse(&line, EXAMPLES, AT(source), argc, argv, a);
    return code == OPTIONS_OK ? check_usage(&line, a) : code;
}

/* ---- the list ------------------------------------------------------------------------------- */

typedef struct need {
    int32_t bit;
    const char *word, *text;
} need;

static const need NEEDS[] = {
    {FAR_NEED_TARGETS, "targets", "targets"},
    {FAR_NEED_VALUES, "values", "values of the model"},
    {FAR_NEED_COORDINATES, "coordinates", "coordinates"},
    {FAR_NEED_GRID, "grid", "that they are a grid"},
    {FAR_NEED_MATRIX, "matrix", "the matrix"},
    {FAR_NEED_SPECTRUM, "spectrum", "all eigenvalues"},
};
enum { NEED_COUNT = sizeof NEEDS / sizeof NEEDS[0] };

static void say_needs(far_result *r, int32_t needs)
{
    char all[256] = "";
    for (int i = 0; i < NEED_COUNT; i++) {
        if (needs & NEEDS[i].bit) {
            size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "needs ", NEEDS[i].text);
        }
    }
    if (needs) {
        far_result_say(r, "", "%s", all);
    }
}

static void list_needs(far_result *r, int32_t needs)
{
    const char *words[NEED_COUNT];
    int64_t count = 0;
    for (int i = 0; i < NEED_COUNT; i++) {
        if (needs & NEEDS[i].bit) {
            words[count++] = NEEDS[i].word;
        }
    }
    far_result_texts(r, "needs", words, count);
}

static void tell_measure(far_result *r, const far_measure_info *m)
{
    char name[FAR_MEASURE_LABEL];
    snprintf(name, sizeof name, "%s%s%s", m->name, m->argument ? ":" : "",
             m->argument ? m->argument : "");
    far_result_open(r, NULL);
    far_result_text(r, "name", m->name, NULL, NULL);
    far_result_text(r, "argument", m->argument, NULL, NULL);
    far_result_text(r, "line", m->line, name, NULL);
    far_result_text(r, "formula", m->formula, "", NULL);
    if (m->argument && !isnan(m->standard[0])) {
        far_result_number(r, "default", m->standard[0], "", "%s is %g if not given", m->argument,
                          m->standard[0]);
    }
    say_needs(r, m->needs);
    list_needs(r, m->needs);
    far_result_close(r);
}

static int list_measures(job *j)
{
    report r;
    int code = report_begin(&j->s, &j->args.common, "Measures of a kernel", &r);
    far_result_open_list(r.result, "measures");
    for (int64_t i = 0; far_measure_at(i); i++) {
        tell_measure(r.result, far_measure_at(i));
    }
    far_result_close(r.result);
    return report_end(&r, code);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static int find_measures(job *j, int32_t *needs)
{
    far_status st =
        far_measure_find_all(j->s.ctx, j->args.metrics, j->measures, MOST_MEASURES, &j->count);
    if (st != FAR_OK) {
        failure(VERB, "--metrics: %s (see farfield measure --list)", far_ctx_message(j->s.ctx));
        return usage_code(st);
    }
    int code = OPTIONS_OK;
    for (int64_t i = 0; i < j->count && code == OPTIONS_OK; i++) {
        const far_measure_info *m = j->measures[i].info;
        *needs |= m->needs;
        j->total += j->measures[i].values;
        code = source_check_needs(VERB, &j->args.source, m->needs, m->name);
    }
    return code == OPTIONS_OK ? EXIT_DONE : code;
}

/* Two columns of a name could not be told apart. */
static int check_twins(const job *j)
{
    for (int64_t i = 0; i < j->count; i++) {
        char label[FAR_MEASURE_LABEL], other[FAR_MEASURE_LABEL];
        far_measure_label(&j->measures[i], 0, label);
        for (int64_t k = 0; k < i; k++) {
            far_measure_label(&j->measures[k], 0, other);
            if (strcmp(label, other) == 0) {
                return usage_error(VERB, "--metrics: %s would be there twice", label);
            }
        }
    }
    return EXIT_DONE;
}

static int check_power(job *j)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; i < j->count && code == EXIT_DONE; i++) {
        const char *name = j->measures[i].info->name;
        if (strcmp(name, "nu") == 0 || strcmp(name, "kappa") == 0) {
            code = source_check_power(&j->s, &j->args.source, &j->kernel, name);
        }
    }
    return code;
}

static int apply(job *j)
{
    const source *k = &j->kernel;
    far_measure_input in = {.view = k->view,
                            .targets = k->targets.data ? &k->targets : NULL,
                            .values = k->values.data ? &k->values : NULL,
                            .coordinates = k->x.data ? &k->x : NULL};
    if (k->net) {
        in.loss = far_columns_describe(far_net_describe(k->net).columns).loss;
    }
    j->numbers = calloc((size_t)j->total + 1, sizeof *j->numbers);
    if (!j->numbers) {
        return failure(VERB, "out of memory");
    }
    far_status st = far_measure_apply(j->s.ctx, &in, j->measures, j->count, j->numbers);
    return st == FAR_OK ? EXIT_DONE : session_failure(&j->s, NULL);
}

/* ---- what is said --------------------------------------------------------------------------- */

/* The measure that number i belongs to, and which of its numbers that is. */
static const far_measure *measure_of(const job *j, int64_t i, int64_t *inner)
{
    const far_measure *m = j->measures;
    while (i >= m->values) {
        i -= m->values;
        m++;
    }
    *inner = i;
    return m;
}

static void label_of(const job *j, int64_t i, char label[FAR_MEASURE_LABEL])
{
    int64_t inner;
    const far_measure *m = measure_of(j, i, &inner);
    far_measure_label(m, inner, label);
}

/* Quietly, the numbers alone. */
static int tell(job *j)
{
    char label[FAR_MEASURE_LABEL];
    const measure_args *a = &j->args;
    report r;
    int code = report_begin(&j->s, &a->common, "Measures of a kernel", &r);
    far_result_for(r.result, a->common.quiet ? FAR_FOR_ALL & ~FAR_FOR_TEXT : FAR_FOR_ALL);
    source_tell(&j->kernel, &a->source, r.result);
    far_result_for(r.result, FAR_FOR_ALL);
    far_result_open(r.result, "measures");
    for (int64_t i = 0; i < j->total; i++) {
        label_of(j, i, label);
        far_result_number(r.result, label, j->numbers[i], label, "%.9g", j->numbers[i]);
    }
    far_result_close(r.result);
    report_written(&r, "written", NULL, a->output);
    r.quiet = a->output != NULL;
    return report_end(&r, code);
}

static int write_numbers(job *j)
{
    result_column *columns = calloc((size_t)j->total, sizeof *columns);
    char(*labels)[FAR_MEASURE_LABEL] = calloc((size_t)j->total, sizeof *labels);
    far_mat row = far_mat_view(j->numbers, 1, j->total, FAR_F64);
    int code = columns && labels ? EXIT_DONE : failure(VERB, "out of memory");
    for (int64_t i = 0; code == EXIT_DONE && i < j->total; i++) {
        label_of(j, i, labels[i]);
        columns[i] = (result_column){.name = labels[i], .values = row, .col = i};
    }
    code = code == EXIT_DONE
               ? columns_write(VERB, j->s.ctx, columns, j->total, 1, "measures", j->args.output)
               : code;
    free(columns);
    free(labels);
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int measure_all(job *j)
{
    const measure_args *a = &j->args;
    int32_t needs = 0;
    int code = find_measures(j, &needs);
    code = code == EXIT_DONE ? check_twins(j) : code;
    code = code == EXIT_DONE && a->output ? output_possible(VERB, j->s.ctx, a->output) : code;
    code = code == EXIT_DONE ? source_read(&j->s, &a->source, needs, &j->kernel) : code;
    code = code == EXIT_DONE ? check_power(j) : code;
    code = code == EXIT_DONE ? apply(j) : code;
    code = code == EXIT_DONE && a->output ? write_numbers(j) : code;
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static int run(void *user)
{
    job *j = user;
    int code = j->args.list ? list_measures(j) : measure_all(j);
    source_free(&j->kernel);
    free(j->numbers);
    return code;
}

int cmd_measure(int argc, char **argv)
{
    job j = {.args = {.common = {.threads = default_threads()}, .source = {.outputs = "trace"}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, NULL, &j});
}
