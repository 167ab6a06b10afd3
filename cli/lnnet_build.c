/* farfield lnnet build: labelled points in, a network that classifies all of them out. */
#include "files.h"
#include "lnnet.h"
#include "lnnet_film.h"
#include "report.h"
#include "show.h"

#include <farfield/lnnet.h>
#include <stdio.h>
#include <stdlib.h>

#define VERB "lnnet build"

typedef struct build_args {
    labelled_args points;
    const char *output;
    int mode, precision; /* far_lnnet_mode, far_lnnet_precision */
    int64_t groups, bits, tries, seed;
    common_args common;
} build_args;

typedef struct job {
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
    CHOICE_OPTION("--mode", 'm', AT(mode), "auto|paper|merge|runs",
                  "how points are merged; auto is runs for two classes or several groups,\n"
                  "merge for more classes"),
    COUNT_OPTION("--groups", 'g', AT(groups), "G",
                 "chains of three neurons side by side, fewer layers: at least one a\n"
                 "class where there are more than two",
                 1, INT32_MAX),
    CHOICE_OPTION("--precision", 0, AT(precision), "auto|double|quad|mpfr",
                  "auto is double, and more only where that fails"),
    COUNT_OPTION("--bits", 0, AT(bits), "B", "of --precision mpfr (as many as it takes)", 64,
                 100000),
    COUNT_OPTION("--tries", 0, AT(tries), "N", "projections to try before giving up", 1, INT32_MAX),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of the projections", 0, INT64_MAX),
    OUTPUT_OPTION("keep the network in FILE (net.safetensors)"),
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
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = labelled_options(AT(points)), .most_operands = 1};
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
    o = (far_lnnet_opts){.size = sizeof o};
    o.mode = a->mode;
    o.groups = a->groups;
    o.precision = a->precision;
    o.bits = a->bits;
    o.tries = a->tries;
    o.seed = (uint64_t)a->seed;
    far_status st = far_lnnet_build(j->s.ctx, &j->points.x, j->points.labels, j->points.classes, &o,
                                    &j->net, &j->info);
    if (st == FAR_OK) {
        st = far_net_set_columns(j->s.ctx, j->net, j->points.data->columns);
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

/* ---- what is said -------------------------------------------------------------------------- */

static void tell_rounding(far_result *r, const far_lnnet_info *i)
{
    bool plain = i->precision == FAR_LNNET_DOUBLE;
    far_result_number(r, "margin", i->margin, "margin",
                      "%.3g of the outputs; rounding moves them by %.1g of it", i->margin,
                      i->noise);
    far_result_number(r, "noise", i->noise, NULL, NULL);
    far_result_flag(r, "robust", i->robust, NULL, NULL);
    far_result_text(r, "precision", i->precision_name, "precision", "%s, %lld bits%s",
                    i->precision_name, (long long)i->bits,
                    plain ? "" : "; in double it is another network: use lnnet check");
    far_result_count(r, "bits", i->bits, NULL, NULL);
}

static void tell_network(far_result *r, const job *j)
{
    const far_lnnet_info *i = &j->info;
    char seconds[SHOW_BYTES];
    const char *mode = i->mode_name;
    far_result_count(r, "points", i->points, "points",
                     "%lld different ones, %lld classes, %lld inputs", (long long)i->points,
                     (long long)i->classes, (long long)j->points.x.cols);
    far_result_count(r, "inputs", j->points.x.cols, NULL, NULL);
    far_result_count(r, "layers", i->layers, "layers", "%lld of %lld neurons (mode %s%s)",
                     (long long)i->layers, (long long)i->width, mode,
                     i->groups > 1 ? ", grouped" : "");
    far_result_text(r, "mode", mode, NULL, NULL);
    far_result_count(r, "groups", i->groups, NULL, NULL);
    far_result_count(r, "width", i->width, NULL, NULL);
    far_result_number(r, "gap", i->gap, "smallest gap", "%.3g, after layer %lld", i->gap,
                      (long long)i->gap_layer);
    far_result_count(r, "gap_layer", i->gap_layer, NULL, NULL);
    far_result_number(r, "final_gap", i->final_gap, "final gap", "%.3g", i->final_gap);
    tell_rounding(r, i);
    far_result_count(r, "confusions", i->confusions, i->confusions > 0 ? "confusions" : NULL,
                     "%lld avoided by moving the hinge", (long long)i->confusions);
    far_result_count(r, "tries", i->tries, "projections", "%lld tried", (long long)i->tries);
    far_result_number(r, "seconds", i->seconds, "time", "%s", show_time(i->seconds, seconds));
}

static void tell_rows(far_result *r, const job *j)
{
    int64_t rows = j->points.x.rows;
    far_result_verdict(r, j->info.precision == FAR_LNNET_DOUBLE ? FAR_TONE_GOOD : FAR_TONE_PLAIN,
                       "All %lld rows are classified rightly%s.", (long long)rows,
                       j->args.output ? " by the file, read again" : "");
    far_result_count(r, "rows", rows, NULL, NULL);
    far_result_count(r, "right", rows, NULL, NULL);
}

/* Names of the classes, and the way of their points through the layers. */
static void tell_classes(report *out, const job *j)
{
    const labelled *p = &j->points;
    const char **names = calloc((size_t)p->classes + 1, sizeof *names);
    far_figure *film = NULL;
    for (int64_t k = 0; names && k < p->classes; k++) {
        names[k] = far_columns_describe(far_net_describe(j->net).columns).output_names[k];
    }
    far_result_texts(out->result, "classes", names, p->classes);
    if (names && out->folder && j->info.layers > 0) {
        lnnet_points points = {p->x, p->labels, p->classes, names};
        far_status st = lnnet_film(j->s.ctx, j->net, &points, &film);
        report_give(out, st, film);
        report_figure_files(out, "way");
        report_place(out, "way",
                     j->info.groups > 1
                         ? "The way of the points through the first chain: on the circle, then "
                           "the number that is read."
                         : "The way of the points through the layers: on the circle, then the "
                           "ordinate that is read.");
    }
    free(names);
}

static int tell(job *j)
{
    report out;
    int code = report_begin(&j->s, &j->args.common, "A network of layer norms", &out);
    tell_rows(out.result, j);
    tell_network(out.result, j);
    tell_classes(&out, j);
    far_result_text(out.result, "output", j->args.output, j->args.output ? "network" : NULL, NULL);
    report_fact(&out, "architecture", "%s", far_net_describe(j->net).arch);
    report_fact(&out, "data", "%s, SHA-256 of what was used %s", j->points.table.label,
                far_columns_describe(j->points.data->columns).hash);
    return report_end(&out, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    job *j = user;
    const build_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE ? labelled_read(&j->s, &a->points, &j->points) : code;
    interrupts_hold();
    code = code == EXIT_DONE ? build(j) : code;
    code = code == EXIT_DONE ? save(j) : code;
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    far_net_destroy(j->net);
    labelled_free(&j->points);
}

int lnnet_build(int argc, char **argv)
{
    job j = {.args = {.common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
