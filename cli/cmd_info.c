/* farfield info: this build, and the architecture language. */
#include "cli.h"
#include "options.h"
#include "report.h"
#include "restart.h"

#include <farfield/predictor.h>
#include <farfield/solve.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAR_BUILD_LIBRARIES
#define FAR_BUILD_LIBRARIES "unknown"
#endif
#ifndef FAR_BUILD_TYPE
#define FAR_BUILD_TYPE "unknown"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define VERB "info"

static const option OPTIONS[] = {
    FLAG_OPTION("--json", 0, offsetof(common_args, json), "print JSON"),
};

static const char USAGE[] = "info [--json]\n"
                            "info arch [--json] ['TEXT']";
static const char ABOUT[] =
    "Tells what this build is. 'info arch' prints the architecture language with every default;\n"
    "'info arch TEXT' checks a text and prints its canonical form.";

static void tell_xgboost(far_result *r, far_ctx *ctx)
{
    const far_xgboost *found = far_xgboost_find(ctx);
    far_result_open(r, "xgboost");
    far_result_text(r, "version", found ? found->version : NULL, NULL, NULL);
    far_result_text(r, "file", found ? found->file : NULL, NULL, NULL);
    far_result_text(r, "settings", FAR_XGBOOST_SETTINGS, NULL, NULL);
    far_result_close(r);
    if (found) {
        far_result_say(r, "xgboost", "%s, %s", found->version, found->file);
    } else {
        far_result_say(r, "xgboost", "%s", far_ctx_message(ctx));
    }
}

/* Whose kernels multiply matrices, and who chose them. */
static void tell_blas(far_result *r)
{
    far_blas_info blas = far_blas_describe();
    const char *type = getenv(CORE_TYPE), *before = getenv(CORE_BEFORE);
    far_result_open(r, "blas");
    far_result_text(r, "library", blas.library, "blas", NULL);
    far_result_text(r, "core", blas.core, "blas core", NULL);
    far_result_text(r, "core_type", type, NULL, NULL);
    far_result_text(r, "core_type_set_by", !type ? NULL : before ? "farfield" : "user", NULL, NULL);
    far_result_text(r, "core_before", before, NULL, NULL);
    far_result_text(r, "warning", *blas.warning ? blas.warning : NULL, NULL, NULL);
    far_result_close(r);
    if (type && before) {
        far_result_say(r, "",
                       "(" CORE_TYPE "=%s was set: this OpenBLAS does not know the processor and "
                       "took %s, whose kernels are slower)",
                       type, before);
    } else if (type) {
        far_result_say(r, "", "(" CORE_TYPE "=%s, from the environment)", type);
    }
    if (*blas.warning) {
        far_result_say(r, "warning", "%s", blas.warning);
    }
}

static int tell_build(session *s, const common_args *a)
{
    report out;
    int code = report_begin(s, a, "This build", &out);
    far_result *r = out.result;
    far_result_text(r, "version", far_version(), "version", NULL);
    far_result_text(r, "isa", far_kernel_isa(), "isa",
                    "%s (FARFIELD_ISA=avx2|baseline chooses a lower one)", far_kernel_isa());
    far_result_count(r, "threads", far_ctx_threads(s->ctx), "threads", NULL);
    far_result_text(r, "compiler", COMPILER, "compiler", NULL);
    far_result_text(r, "build", FAR_BUILD_TYPE, "build", NULL);
    far_result_text(r, "libraries", FAR_BUILD_LIBRARIES, "libraries", NULL);
    tell_blas(r);
    tell_xgboost(r, s->ctx);
    return report_end(&out, code);
}

static int tell_arch(session *s, const common_args *a, const char *text)
{
    char *arch = NULL;
    int64_t layers;
    report out;
    far_status st = far_arch_canonical(s->ctx, text, &arch, &layers);
    if (st != FAR_OK) {
        failure(VERB, "%s", far_ctx_message(s->ctx));
        return usage_code(st);
    }
    int code = report_begin(s, a, "An architecture", &out);
    far_result_text(out.result, "arch", arch, NULL, NULL);
    far_result_say(out.result, NULL, "%s", arch);
    far_result_count(out.result, "layers", layers, NULL, NULL);
    far_text_free(s->ctx, arch);
    return report_end(&out, code);
}

/* As text it is a page of its own, with lines. */
static int tell_grammar(session *s, const common_args *a)
{
    report out;
    if (!a->json) {
        fputs(far_arch_grammar(), stdout);
        return EXIT_DONE;
    }
    int code = report_begin(s, a, "The architecture language", &out);
    far_result_text(out.result, "grammar", far_arch_grammar(), NULL, NULL);
    return report_end(&out, code);
}

static int tell_topic(session *s, const common_args *a, const command_line *line)
{
    return line->operand_count == 0   ? tell_build(s, a)
           : line->operand_count == 1 ? tell_grammar(s, a)
                                      : tell_arch(s, a, line->operands[1]);
}

int cmd_info(int argc, char **argv)
{
    common_args args = {.threads = 0};
    command_line line = {VERB_LINE, .most_operands = 2};
    int code = options_parse(&line, argc, argv, &args);
    if (code != OPTIONS_OK) {
        return code;
    }
    if (line.operand_count > 0 && strcmp(line.operands[0], "arch") != 0) {
        return usage_error(VERB, "unknown topic '%s'; there is: arch", line.operands[0]);
    }
    session s;
    code = session_open(&s, VERB, args.threads, args.quiet);
    code = code == EXIT_DONE ? tell_topic(&s, &args, &line) : code;
    session_close(&s);
    return code;
}
