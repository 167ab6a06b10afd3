/* farfield lnnet build: labelled points in, a network that classifies all of them out. */
#include "files.h"
#include "json.h"
#include "lnnet.h"
#include "report_lnnet.h"
#include "show.h"

#include <farfield/lnnet.h>
#include <math.h>
#include <stdio.h>

#define VERB "lnnet build"

typedef struct build_args {
    labelled_args points;
    const char *output, *report;
    int mode, precision; /* far_lnnet_mode, far_lnnet_precision */
    int64_t groups, bits, tries, seed, threads;
    bool json, quiet;
} build_args;

typedef struct job {
    int argc; /* what was typed, from lnnet on */
    char **argv;
    build_args args;
    session s;
    labelled points;
    far_net *net;
    far_lnnet_info info;
    far_lnnet_checked stored; /* of the file that was written */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(build_args, field)

static const option OPTIONS[] = {
    {"--mode", 'm', OPTION_CHOICE, AT(mode), "auto|paper|merge|runs",
     "how points are merged; auto is runs for two classes or several groups,\n"
     "merge for more classes",
     0, 0},
    {"--groups", 'g', OPTION_COUNT, AT(groups), "G",
     "chains of three neurons side by side, fewer layers: at least one a\n"
     "class where there are more than two",
     1, INT32_MAX},
    {"--precision", 0, OPTION_CHOICE, AT(precision), "auto|double|quad|mpfr",
     "auto is double, and more only where that fails", 0, 0},
    {"--bits", 0, OPTION_COUNT, AT(bits), "B", "of --precision mpfr (as many as it takes)", 64,
     100000},
    {"--tries", 0, OPTION_COUNT, AT(tries), "N", "projections to try before giving up", 1,
     INT32_MAX},
    {"--seed", 0, OPTION_COUNT, AT(seed), "N", "of the projections", 0, INT64_MAX},
    {"--output", 'o', OPTION_TEXT, AT(output), "FILE", "keep the network in FILE (net.safetensors)",
     0, 0},
    {"--report", 0, OPTION_TEXT, AT(report), "DIR",
     "also write report.html in DIR: what was built, and the way of the points\n"
     "through the layers",
     0, 0},
    {"--json", 0, OPTION_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no summary, no talk and no progress bar", 0, 0},
    {"--threads", 0, OPTION_COUNT, AT(threads), "N", "0 is one per core", 0, MOST_THREADS},
};

static const char USAGE[] = "lnnet build DATA --label COL [options] [-o FILE]";
static const char ABOUT[] =
    "Builds a network of linear layers and layer norms, three neurons wide, that classifies every\n"
    "row of DATA, whatever the labels are. Nothing is trained. Every row is classified again by "
    "the\n"
    "finished network before it is called a success.";
static const char NOTES[] =
    "The file is safetensors, as those of train: predict, gram, certify and PyTorch take it. A\n"
    "network that only works above double says so; lnnet check runs it at its own precision.\n\n"
    "Examples:\n"
    "  farfield lnnet build points.csv --label class -o net.safetensors\n"
    "  farfield lnnet build points.csv --label class --groups 10 -o net.safetensors";

static int read_command_line(int argc, char **argv, build_args *a)
{
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .more = labelled_options(AT(points)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->points.data = line.operands[0];
    if (code != OPTIONS_OK) {
        return code;
    }
    if (options_given(&line, "--bits") && a->precision != FAR_LNNET_MPFR) {
        return usage_error(VERB, "--bits goes with --precision mpfr only");
    }
    return labelled_check_usage(VERB, &a->points);
}

/* ---- building ------------------------------------------------------------------------------ */

static int build_failure(job *j, far_status st)
{
    if (st == FAR_ERR_ARG) {
        return usage_error(VERB, "%s", far_ctx_message(j->s.ctx));
    }
    int code = st == FAR_ERR_VALUE ? labelled_refuse_twins(&j->s, &j->points) : EXIT_DONE;
    return code == EXIT_DONE ? session_failure(&j->s, j->points.table.label) : code;
}

static int build(job *j)
{
    const build_args *a = &j->args;
    far_lnnet_opts o;
    far_lnnet_opts_init(&o);
    o.mode = a->mode;
    o.groups = a->groups;
    o.precision = a->precision;
    o.bits = a->bits;
    o.tries = a->tries > 0 ? a->tries : o.tries;
    o.seed = (uint64_t)a->seed;
    far_status st = far_lnnet_build(j->s.ctx, &j->points.x, j->points.labels, j->points.classes, &o,
                                    &j->net, &j->info);
    if (st == FAR_OK) {
        st = far_net_set_columns(j->s.ctx, j->net, far_examples_columns(j->points.data));
    }
    return st == FAR_OK ? EXIT_DONE : build_failure(j, st);
}

/* What counts is what lies on the disk: it is read again, and every row classified by it. */
static int check_file(job *j)
{
    const labelled *p = &j->points;
    far_net *net = NULL;
    far_status st = far_net_load(j->s.ctx, j->args.output, NULL, &net);
    if (st == FAR_OK) {
        st = far_lnnet_check(j->s.ctx, net, &p->x, p->labels, FAR_LNNET_PRECISION_AUTO, 0,
                             &j->stored);
    }
    far_net_destroy(net);
    if (st != FAR_OK) {
        return session_failure(&j->s, j->args.output);
    }
    return j->stored.wrong == 0
               ? EXIT_DONE
               : failure(VERB, "%s: read again, it classifies %lld of %lld rows wrongly",
                         j->args.output, (long long)j->stored.wrong, (long long)p->x.rows);
}

static int save(job *j)
{
    if (!j->args.output) {
        return EXIT_DONE;
    }
    if (far_net_save(j->s.ctx, j->net, j->args.output) != FAR_OK) {
        return session_failure(&j->s, j->args.output);
    }
    return check_file(j);
}

static int write_report(job *j)
{
    report r;
    report_built b = {j->net, &j->info, &j->points};
    int code = report_open(&j->s, j->args.report, &r);
    if (code == EXIT_DONE && j->args.report) {
        report_lnnet(&r, &b, j->argc, j->argv);
        code = report_write(&r);
    }
    report_close(&r);
    return code;
}

/* ---- what is said -------------------------------------------------------------------------- */

static void print_precision(const far_lnnet_info *i)
{
    print("precision     %s, %lld bits", far_lnnet_precision_name(i->precision),
          (long long)i->bits);
    puts(i->precision == FAR_LNNET_DOUBLE ? ""
                                          : "; in double it is another network: use lnnet check");
}

static void print_summary(const job *j)
{
    const far_lnnet_info *i = &j->info;
    char seconds[SHOW_BYTES];
    print("All %lld rows are classified rightly%s.\n\n", (long long)j->points.x.rows,
          j->args.output ? " by the file, read again" : "");
    print("points        %lld different ones, %lld classes, %lld inputs\n", (long long)i->points,
          (long long)i->classes, (long long)j->points.x.cols);
    print("layers        %lld of %lld neurons (mode %s%s)\n", (long long)i->layers,
          (long long)i->width, far_lnnet_mode_name(i->mode), i->groups > 1 ? ", grouped" : "");
    print("smallest gap  %.3g, after layer %lld\n", i->gap, (long long)i->gap_layer);
    print("final gap     %.3g\n", i->final_gap);
    print(i->robust ? "margin        %.3g of the outputs; " : "margin        %.3g of the outputs\n",
          i->margin);
    if (i->robust) {
        print("rounding moves them by %.1g of it\n", i->noise);
    } else {
        puts("rounding      as farfield does it here; elsewhere, as in PyTorch, points may go "
             "astray\n"
             "              (--precision quad does not depend on it, --groups hardly)");
    }
    print_precision(i);
    if (i->confusions > 0) {
        print("confusions    %lld avoided by moving the hinge\n", (long long)i->confusions);
    }
    print("projections   %lld tried\n", (long long)i->tries);
    print("time          %s\n", show_time(i->seconds, seconds));
    if (j->args.output) {
        print("network       %s\n", j->args.output);
    }
    if (j->args.report) {
        print("report        %s/report.html\n", j->args.report);
    }
}

static void print_classes(const job *j)
{
    json_key(stdout, "classes");
    putchar('[');
    for (int64_t k = 0; k < j->points.classes; k++) {
        fputs(k ? ", " : "", stdout);
        json_quoted(stdout, far_columns_output(far_net_columns(j->net), k));
    }
    putchar(']');
}

static void print_json(const job *j)
{
    const far_lnnet_info *i = &j->info;
    json_begin(stdout);
    json_number_field(stdout, "rows", (double)j->points.x.rows);
    json_number_field(stdout, "points", (double)i->points);
    json_number_field(stdout, "inputs", (double)j->points.x.cols);
    print_classes(j);
    json_number_field(stdout, "right", (double)j->points.x.rows);
    json_text_field(stdout, "mode", far_lnnet_mode_name(i->mode));
    json_number_field(stdout, "layers", (double)i->layers);
    json_number_field(stdout, "groups", (double)i->groups);
    json_number_field(stdout, "width", (double)i->width);
    json_number_field(stdout, "gap", i->gap);
    json_number_field(stdout, "gap_layer", (double)i->gap_layer);
    json_number_field(stdout, "final_gap", i->final_gap);
    json_number_field(stdout, "margin", i->margin);
    json_number_field(stdout, "noise", i->noise);
    json_bool_field(stdout, "robust", i->robust);
    json_text_field(stdout, "precision", far_lnnet_precision_name(i->precision));
    json_number_field(stdout, "bits", (double)i->bits);
    json_number_field(stdout, "confusions", (double)i->confusions);
    json_number_field(stdout, "tries", (double)i->tries);
    json_number_field(stdout, "seconds", i->seconds);
    if (j->args.output) {
        json_text_field(stdout, "output", j->args.output);
    } else {
        json_null_field(stdout, "output");
    }
    json_end(stdout);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(job *j)
{
    const build_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE && a->report ? report_possible(&j->s, a->report) : code;
    code = code == EXIT_DONE ? labelled_read(&j->s, &a->points, &j->points) : code;
    interrupts_hold();
    code = code == EXIT_DONE ? build(j) : code;
    code = code == EXIT_DONE ? save(j) : code;
    code = code == EXIT_DONE ? write_report(j) : code;
    session_idle(&j->s);
    if (code == EXIT_DONE && a->json) {
        print_json(j);
    } else if (code == EXIT_DONE && !a->quiet) {
        print_summary(j);
    }
    return stdout_finish(VERB, code);
}

int lnnet_build(int argc, char **argv)
{
    job j = {.argc = argc + 1, .argv = argv - 1, .args = {.threads = default_threads()}};
    int code = read_command_line(argc, argv, &j.args);
    if (code != OPTIONS_OK) {
        return code;
    }
    code = session_open(&j.s, VERB, j.args.threads, j.args.quiet);
    code = code == EXIT_DONE ? run(&j) : code;
    far_net_destroy(j.net);
    labelled_free(&j.points);
    session_close(&j.s);
    return code;
}
