/* farfield lnnet vc: L + 2 points shattered by L layers. */
#include "files.h"
#include "json.h"
#include "lnnet.h"
#include "show.h"

#include <farfield/nonlinear.h>
#include <stdio.h>

#define VERB "lnnet vc"

typedef struct vc_args {
    int64_t layers, seed, threads;
    bool json, quiet;
    const char *x; /* operand; NULL: points of the library's own */
} vc_args;

typedef struct job {
    vc_args args;
    session s;
    input points;
    far_shatter found;
} job;

#define AT(field) offsetof(vc_args, field)

static const option OPTIONS[] = {
    {"--layers", 'L', OPTION_COUNT, AT(layers), "L", "layers that have a norm", 1,
     FAR_SHATTER_LAYERS_MOST},
    {"--seed", 0, OPTION_COUNT, AT(seed), "N", "of the points, without X", 0, INT64_MAX},
    {"--json", 0, OPTION_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no summary, no talk and no progress bar", 0, 0},
    {"--threads", 0, OPTION_COUNT, AT(threads), "N", "0 is one per core", 0, MOST_THREADS},
};

static const char USAGE[] = "lnnet vc --layers L [options] [X]";
static const char ABOUT[] =
    "Shatters L + 2 points: for each of their 2^(L + 2) labellings with two classes a network of "
    "at\n"
    "most L layers of three neurons and layer norm is built, and run on the points. So the VC\n"
    "dimension of such networks is at least L + 2. Exits with 0 only if all were realised.";
static const char NOTES[] =
    "X is a matrix of L + 2 rows; without it points of the plane are drawn.\n\n"
    "Example:\n"
    "  farfield lnnet vc --layers 8";

static int read_command_line(int argc, char **argv, vc_args *a)
{
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->x = line.operands[0];
    if (code == OPTIONS_OK && a->layers < 1) {
        return usage_error(VERB, "--layers is missing: how many layers?");
    }
    return code;
}

static void print_labelling(int64_t bits, int64_t points)
{
    for (int64_t i = 0; i < points; i++) {
        putchar(bits >> i & 1 ? '1' : '0');
    }
}

static void print_summary(const far_shatter *f)
{
    char seconds[SHOW_BYTES];
    if (f->realised == f->labellings) {
        print("Shattered: all %lld labellings of %lld points by at most %lld layers, so the VC\n"
              "dimension of three neurons and %lld layers is at least %lld.\n\n",
              (long long)f->labellings, (long long)f->points, (long long)f->most_layers,
              (long long)f->layers, (long long)f->points);
    } else {
        print("Not shattered: %lld of %lld labellings were realised; the first that was not is ",
              (long long)f->realised, (long long)f->labellings);
        print_labelling(f->failed, f->points);
        puts("\n");
    }
    print("networks  %lld built and run; the others differ by exchanging the classes\n",
          (long long)f->built);
    print("layers    %lld at most\n", (long long)f->most_layers);
    print(f->built > 0 ? "margin    %.3g at least\n" : "margin    -\n", f->margin);
    print("time      %s\n", show_time(f->seconds, seconds));
}

static void print_json(const far_shatter *f)
{
    json_begin(stdout);
    json_number_field(stdout, "layers", (double)f->layers);
    json_number_field(stdout, "points", (double)f->points);
    json_number_field(stdout, "labellings", (double)f->labellings);
    json_number_field(stdout, "realised", (double)f->realised);
    json_bool_field(stdout, "shattered", f->realised == f->labellings);
    json_number_field(stdout, "vc_at_least",
                      (double)(f->realised == f->labellings ? f->points : 0));
    json_number_field(stdout, "built", (double)f->built);
    json_number_field(stdout, "most_layers", (double)f->most_layers);
    json_number_field(stdout, "margin", f->margin);
    json_number_field(stdout, "seconds", f->seconds);
    json_end(stdout);
}

static int run(job *j)
{
    const vc_args *a = &j->args;
    int code = a->x ? input_read(VERB, j->s.ctx, a->x, FAR_F64, &j->points) : EXIT_DONE;
    if (code != EXIT_DONE) {
        return code;
    }
    interrupts_hold();
    far_status st = far_lnnet_shatter(j->s.ctx, a->layers, a->x ? &j->points.values : NULL,
                                      (uint64_t)a->seed, &j->found);
    code = st == FAR_OK ? EXIT_DONE : session_failure(&j->s, a->x ? j->points.label : NULL);
    session_idle(&j->s);
    if (code == EXIT_DONE && a->json) {
        print_json(&j->found);
    } else if (code == EXIT_DONE && !a->quiet) {
        print_summary(&j->found);
    }
    bool shattered = j->found.realised == j->found.labellings;
    return stdout_finish(VERB, code == EXIT_DONE && !shattered ? EXIT_FAILED : code);
}

int lnnet_vc(int argc, char **argv)
{
    job j = {.args = {.threads = default_threads()}};
    int code = read_command_line(argc, argv, &j.args);
    if (code != OPTIONS_OK) {
        return code;
    }
    code = session_open(&j.s, VERB, j.args.threads, j.args.quiet);
    code = code == EXIT_DONE ? run(&j) : code;
    input_free(&j.points);
    session_close(&j.s);
    return code;
}
