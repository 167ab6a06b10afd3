/* farfield lnnet check: a fresh forward pass, at any precision. */
#include "files.h"
#include "lnnet.h"
#include "report.h"
#include "subject.h"

#include <farfield/lnnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "lnnet check"

typedef struct check_args {
    labelled_args points;
    const char *net;
    int precision;
    int64_t bits;
    common_args common;
} check_args;

typedef struct job {
    check_args args;
    session s;
    labelled points;
    far_net *net;
    double *inputs; /* as the network takes them */
    far_lnnet_checked found;
} job;

#define AT(field) offsetof(check_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--net", 'n', AT(net), "NET", "the network (net.safetensors)"),
    CHOICE_OPTION("--precision", 0, AT(precision), "auto|double|quad|mpfr",
                  "of the pass; auto is what the network was built for"),
    COUNT_OPTION("--bits", 0, AT(bits), "B", "of --precision mpfr (those of the file)", 64, 100000),
};

static const char USAGE[] = "lnnet check --net NET DATA --label COL [options]";
static const char ABOUT[] =
    "Classifies the rows of DATA with the network NET and says how many are wrong. Exits with 0\n"
    "only if none is.";
static const char NOTES[] = "Example:\n"
                            "  farfield lnnet check --net net.safetensors points.csv --label class";

static int read_command_line(int argc, char **argv, check_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = labelled_options(AT(points)), .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->points.data = line.operands[0];
    if (code == OPTIONS_OK && !a->net) {
        return usage_error(VERB, "--net is missing: which network?");
    }
    if (code == OPTIONS_OK && options_given(&line, "--bits") && a->precision != FAR_LNNET_MPFR) {
        return usage_error(VERB, "--bits goes with --precision mpfr only");
    }
    return code == OPTIONS_OK ? labelled_check_usage(VERB, &a->points) : code;
}

/* ---- classes of the network, classes of the table ------------------------------------------ */

/* The output that stands for a class of the table; -1: none does. A network that knows no names
 * has its outputs in the order of the sorted labels. */
static int64_t output_of(const far_net *net, const char *name, int64_t k)
{
    int64_t outputs = far_net_describe(net).outputs;
    const far_columns *columns = far_net_describe(net).columns;
    if (!far_columns_describe(columns).named) {
        return k < outputs ? k : -1;
    }
    for (int64_t i = 0; i < outputs; i++) {
        if (strcmp(far_columns_describe(columns).output_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static int match_classes(job *j)
{
    labelled *p = &j->points;
    for (int64_t i = 0; i < p->x.rows; i++) {
        const char *name = far_columns_describe(p->data->columns).class_names[p->labels[i]];
        int64_t output = output_of(j->net, name, p->labels[i]);
        if (output < 0) {
            return failure(VERB, "%s has no output for the class '%s' of %s", j->args.net, name,
                           p->table.label);
        }
        p->labels[i] = output;
    }
    return EXIT_DONE;
}

/* ---- the pass ------------------------------------------------------------------------------ */

static int check(job *j)
{
    far_mat x;
    int code = match_classes(j);
    code =
        code == EXIT_DONE ? network_inputs(&j->s, j->net, &j->points.table, &j->inputs, &x) : code;
    if (code == EXIT_DONE &&
        far_lnnet_check(j->s.ctx, j->net, &x, j->points.labels, j->args.precision, j->args.bits,
                        &j->found) != FAR_OK) {
        code = session_failure(&j->s, j->args.net);
    }
    return code;
}

/* Of the table, counted from 1, where only some rows are asked about. */
static int64_t table_row(const dataset *t, int64_t i)
{
    int64_t row = 0;
    while (row < far_frame_rows(t->frame) && ((t->rows && !t->rows[row]) || i-- > 0)) {
        row++;
    }
    return row + 1;
}

static int tell(job *j)
{
    const far_lnnet_checked *c = &j->found;
    const char *precision = c->precision_name;
    int64_t rows = j->points.x.rows, right = rows - c->wrong;
    report out;
    int code = report_begin(&j->s, &j->args.common, "A network of layer norms, checked", &out);
    far_result *r = out.result;
    far_result_verdict(r, c->wrong > 0 ? FAR_TONE_BAD : FAR_TONE_GOOD,
                       "%lld of %lld rows are classified rightly, in %s (%lld bits); margin %.3g",
                       (long long)right, (long long)rows, precision, (long long)c->bits, c->margin);
    far_result_count(r, "rows", rows, NULL, NULL);
    far_result_count(r, "right", right, NULL, NULL);
    far_result_count(r, "wrong", c->wrong, NULL, NULL);
    if (c->wrong > 0) {
        int64_t first = table_row(&j->points.table, c->first_wrong);
        far_result_verdict(r, FAR_TONE_PLAIN, "The first that is wrong is row %lld.",
                           (long long)first);
        far_result_count(r, "first_wrong", first, NULL, NULL);
    } else {
        far_result_missing(r, "first_wrong", "none", NULL);
    }
    far_result_number(r, "margin", c->margin, NULL, NULL);
    far_result_text(r, "precision", precision, NULL, NULL);
    far_result_count(r, "bits", c->bits, NULL, NULL);
    return report_end(&out, code);
}

static int run(void *user)
{
    job *j = user;
    int code = network_load(&j->s, j->args.net, NULL, &j->net);
    code = code == EXIT_DONE ? labelled_read(&j->s, &j->args.points, &j->points) : code;
    interrupts_hold();
    code = code == EXIT_DONE ? check(j) : code;
    session_idle(&j->s);
    code = code == EXIT_DONE ? tell(j) : code;
    return code == EXIT_DONE && j->found.wrong > 0 ? EXIT_FAILED : code;
}

static void clean(void *user)
{
    job *j = user;
    far_net_destroy(j->net);
    labelled_free(&j->points);
    free(j->inputs);
}

int lnnet_check(int argc, char **argv)
{
    job j = {.args = {.common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
