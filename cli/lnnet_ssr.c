/* farfield lnnet ssr: how separable labelled points are, by linear maps and by one layer norm. */
#include "files.h"
#include "lnnet.h"
#include "report.h"
#include "show.h"

#include <farfield/nonlinear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "lnnet ssr"

typedef struct ssr_args {
    labelled_args points;
    const char *output;
    int64_t directions, steps, seed;
    bool linear;
    common_args common;
} ssr_args;

typedef struct job {
    ssr_args args;
    session s;
    labelled points;
    double *direction; /* of LSSR, one number an input */
    far_net *layer;
    far_ln_layer_info info;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(ssr_args, field)

static const option OPTIONS[] = {
    FLAG_OPTION("--linear", 0, AT(linear), "SSR and its linear bound only: no search"),
    COUNT_OPTION("--directions", 0, AT(directions), "N", "lines the search starts from", 1,
                 INT32_MAX),
    COUNT_OPTION("--steps", 0, AT(steps), "N", "of the search, from the best lines; 0: lines only",
                 0, INT32_MAX),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of the search", 0, INT64_MAX),
    OUTPUT_OPTION("keep the best layer, a network 'dense(3) ln' (layer.safetensors)"),
};

static const char USAGE[] = "lnnet ssr DATA --label COL [options]";
static const char ABOUT[] =
    "SSR: the sum of squares within classes over the total one; 0 is each class a point, 1 is "
    "class\n"
    "means that coincide. LSSR: the least that any linear map reaches, and its direction. Then "
    "the\n"
    "best single layer norm of three neurons, and the SSR behind it, which no network of linear\n"
    "layers can have if it is below LSSR.";
static const char NOTES[] = "Example:\n"
                            "  farfield lnnet ssr points.csv --label class -o layer.safetensors";

static int read_command_line(int argc, char **argv, ssr_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .more = labelled_options(AT(points)), .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->points.data = line.operands[0];
    if (code == OPTIONS_OK && a->linear && a->output) {
        return usage_error(VERB, "--output keeps the layer, which --linear does not look for");
    }
    return code == OPTIONS_OK ? labelled_check_usage(VERB, &a->points) : code;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static far_status search(job *j)
{
    const labelled *p = &j->points;
    far_ln_layer_opts o;
    far_ln_layer_opts_init(&o);
    o.directions = j->args.directions;
    o.steps = j->args.steps;
    o.seed = (uint64_t)j->args.seed;
    return far_ln_layer_search(j->s.ctx, &p->x, p->labels, p->classes, &o, &j->layer, &j->info);
}

static int measure(job *j)
{
    const labelled *p = &j->points;
    j->direction = calloc((size_t)p->x.cols, sizeof *j->direction);
    if (!j->direction) {
        return failure(VERB, "out of memory");
    }
    far_mat direction = far_mat_view(j->direction, 1, p->x.cols, FAR_F64);
    far_status st =
        far_ssr_measure(j->s.ctx, &p->x, p->labels, p->classes, &j->info.before, &direction);
    st = st == FAR_OK && !j->args.linear ? search(j) : st;
    if (st != FAR_OK) {
        return session_failure(&j->s, p->table.label);
    }
    if (j->args.output && far_net_save(j->s.ctx, j->layer, j->args.output) != FAR_OK) {
        return session_failure(&j->s, j->args.output);
    }
    return EXIT_DONE;
}

/* ---- what is said -------------------------------------------------------------------------- */

static const char *input_name(const job *j, int64_t i, char buffer[SHOW_BYTES])
{
    const char *name = far_columns_describe(j->points.data->columns).input_names[i];
    snprintf(buffer, SHOW_BYTES, "x%lld", (long long)i + 1);
    return name ? name : buffer;
}

/* The index of the largest entry that is not above limit in size. */
static int64_t largest_below(const double *v, int64_t n, double limit)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(v[i]) < limit && (best < 0 || fabs(v[i]) > fabs(v[best]))) {
            best = i;
        }
    }
    return best;
}

/* Its largest numbers, with the names of their inputs. */
static void say_direction(far_result *r, const job *j)
{
    enum { MOST = 5 };
    char all[MOST * 96 + 8] = "";
    double limit = INFINITY;
    int64_t d = j->points.x.cols;
    for (int64_t shown = 0; shown < MOST; shown++) {
        char buffer[SHOW_BYTES];
        size_t used = strlen(all);
        int64_t i = largest_below(j->direction, d, limit);
        if (i < 0 || j->direction[i] == 0) {
            break;
        }
        limit = fabs(j->direction[i]);
        snprintf(all + used, sizeof all - used, "%s%+.3g %.64s", shown ? " " : "", j->direction[i],
                 input_name(j, i, buffer));
    }
    far_result_say(r, "  its direction", "%s%s", all, d > MOST ? " ..." : "");
}

static void tell_layer(far_result *r, const job *j)
{
    const far_ln_layer_info *i = &j->info;
    char seconds[SHOW_BYTES];
    far_mat weight = far_net_tensor(j->layer, 0).values, bias = far_net_tensor(j->layer, 1).values;
    far_result_number(r, "ssr_after", i->lssr, "SSR behind one layer norm", "%.6g, %s", i->lssr,
                      i->broken ? "below what any linear network can reach"
                                : "not below the linear bound");
    far_result_number(r, "ssr_after_outputs", i->ssr, "  of its three outputs", NULL);
    far_result_number(r, "ssr_after_along", i->along,
                      i->before.defined ? "  along LSSR's direction" : NULL, NULL);
    far_result_number(r, "ssr_after_line", i->line, NULL, NULL);
    far_result_flag(r, "broken", i->broken, NULL, NULL);
    far_result_list(r, "readout", i->readout, 3);
    far_result_array(r, "weight", &weight, (int64_t[]){weight.rows, weight.cols}, 2);
    far_result_list(r, "bias", bias.data, 3);
    far_result_count(r, "candidates", i->candidates, "  layers tried", "%lld in %s",
                     (long long)i->candidates, show_time(i->seconds, seconds));
    far_result_number(r, "seconds", i->seconds, NULL, NULL);
}

static int tell(job *j)
{
    const far_ssr *b = &j->info.before;
    report out;
    int code = report_begin(&j->s, &j->args.common, "How separable labelled points are", &out);
    far_result *r = out.result;
    far_result_count(r, "points", b->points, "points",
                     "%lld in %lld classes, %lld inputs of rank %lld", (long long)b->points,
                     (long long)b->classes, (long long)b->inputs, (long long)b->rank);
    far_result_count(r, "inputs", b->inputs, NULL, NULL);
    far_result_count(r, "classes", b->classes, NULL, NULL);
    far_result_count(r, "rank", b->rank, NULL, NULL);
    far_result_number(r, "ssr", b->ssr, "SSR", NULL);
    far_result_number(r, "lssr", b->lssr, "LSSR, the linear bound", NULL);
    if (b->defined) {
        say_direction(r, j);
        far_result_list(r, "direction", j->direction, b->inputs);
    } else {
        far_result_missing(r, "direction", "none: the class means coincide", "  its direction");
    }
    if (!j->args.linear) {
        tell_layer(r, j);
        report_written(&out, "written", "layer", j->args.output);
    }
    return report_end(&out, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    job *j = user;
    const ssr_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE ? labelled_read(&j->s, &a->points, &j->points) : code;
    interrupts_hold();
    code = code == EXIT_DONE ? measure(j) : code;
    session_idle(&j->s);
    return code == EXIT_DONE ? tell(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    far_net_destroy(j->layer);
    labelled_free(&j->points);
    free(j->direction);
}

int lnnet_ssr(int argc, char **argv)
{
    far_ln_layer_opts defaults;
    far_ln_layer_opts_init(&defaults);
    job j = {.args = {.directions = defaults.directions,
                      .steps = defaults.steps,
                      .common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
