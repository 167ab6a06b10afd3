/* farfield combine: the mean of predictors, as one more. */
#include "cli.h"
#include "files.h"
#include "report.h"
#include "subject.h"

#include <stdio.h>

#define VERB "combine"

typedef struct combine_args {
    session s;
    common_args common;
    const char *output;
    const char *members[MAX_OPERANDS];
    int count;
} combine_args;

#define AT(field) offsetof(combine_args, field)

static const option OPTIONS[] = {
    OUTPUT_OPTION("keep the committee in FILE (mean.far)"),
};

static const char USAGE[] = "combine MODEL MODEL... -o FILE";
static const char ABOUT[] =
    "The mean of several predictors, as one file that predict, certify and compare take like any\n"
    "other: models of farfield fit and networks of farfield train, of the same inputs and outputs.";
static const char NOTES[] =
    "Examples:\n"
    "  farfield train train.csv -t y -a 'dense(64) ln relu dense' --seeds 5 -o net.safetensors\n"
    "  farfield combine net-0.safetensors net-1.safetensors model.far -o mean.far\n"
    "  farfield certify mean.far";

static int read_command_line(int argc, char **argv, combine_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = MAX_OPERANDS};
    int code = options_parse(&line, argc, argv, a);
    if (code != OPTIONS_OK) {
        return code;
    }
    a->count = line.operand_count;
    for (int i = 0; i < a->count; i++) {
        a->members[i] = line.operands[i];
    }
    if (a->count < 2) {
        return usage_error(VERB, "a mean takes two predictors or more");
    }
    return a->output ? OPTIONS_OK : usage_error(VERB, "--output is missing: where to keep it?");
}

static int tell(session *s, const combine_args *a, const far_predictor *p)
{
    report r;
    int code = report_begin(s, &a->common, "The mean of predictors", &r);
    far_predictor_info info = far_predictor_describe(p);
    far_result_text(r.result, "kind", info.name, NULL, NULL);
    far_result_count(r.result, "members", info.members, "members", NULL);
    far_result_count(r.result, "inputs", info.inputs, "inputs", NULL);
    far_result_count(r.result, "outputs", info.outputs, "outputs", NULL);
    report_written(&r, "written", "model", a->output);
    return report_end(&r, code);
}

static int combine(void *user)
{
    combine_args *a = user;
    session *s = &a->s;
    far_predictor *members[MAX_OPERANDS] = {NULL}, *p = NULL;
    int code = output_possible(VERB, s->ctx, a->output), loaded = 0;
    for (; code == EXIT_DONE && loaded < a->count; loaded++) {
        code = subject_load(s, a->members[loaded], NULL, &members[loaded]);
    }
    far_status st = FAR_OK;
    if (code == EXIT_DONE) {
        st = far_predictor_committee(s->ctx, members, a->count, &p);
    }
    for (int i = 0; !p && i < loaded; i++) {
        far_predictor_destroy(members[i]);
    }
    st = p ? far_predictor_save(s->ctx, p, a->output) : st;
    code = code == EXIT_DONE && st != FAR_OK ? session_failure(s, NULL) : code;
    session_idle(s);
    code = code == EXIT_DONE ? tell(s, a, p) : code;
    far_predictor_destroy(p);
    return code;
}

int cmd_combine(int argc, char **argv)
{
    combine_args a = {.common = {.threads = default_threads()}};
    return session_run(VERB, read_command_line(argc, argv, &a),
                       (verb_job){&a.s, &a.common, combine, NULL, &a});
}
