/* farfield info: this build, and the architecture language. */
#include "cli.h"
#include "json.h"
#include "options.h"

#include <stdio.h>
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

typedef struct info_args {
    bool json;
} info_args;

static const option OPTIONS[] = {
    {"--json", 0, OPTION_FLAG, offsetof(info_args, json), NULL, "print JSON", 0, 0},
};

static const char USAGE[] = "info [--json]\n"
                            "info arch [--json] ['TEXT']";
static const char ABOUT[] =
    "Tells what this build is. 'info arch' prints the architecture language with every default;\n"
    "'info arch TEXT' checks a text and prints its canonical form.";

static int print_build(bool json)
{
    far_ctx *ctx;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return failure("info", "out of memory");
    }
    int threads = far_ctx_threads(ctx);
    far_ctx_destroy(ctx);
    if (json) {
        json_begin(stdout);
        json_text_field(stdout, "version", far_version());
        json_text_field(stdout, "isa", far_kernel_isa());
        json_number_field(stdout, "threads", threads);
        json_text_field(stdout, "compiler", COMPILER);
        json_text_field(stdout, "build", FAR_BUILD_TYPE);
        json_text_field(stdout, "libraries", FAR_BUILD_LIBRARIES);
        json_end(stdout);
        return EXIT_DONE;
    }
    print("version    %s\n", far_version());
    print("isa        %s (FARFIELD_ISA=avx2|baseline chooses a lower one)\n", far_kernel_isa());
    print("threads    %d\n", threads);
    print("compiler   %s\n", COMPILER);
    print("build      %s\n", FAR_BUILD_TYPE);
    print("libraries  %s\n", FAR_BUILD_LIBRARIES);
    return EXIT_DONE;
}

static void print_arch(const far_arch *arch, bool json)
{
    if (!json) {
        print("%s\n", far_arch_text(arch));
        return;
    }
    json_begin(stdout);
    json_text_field(stdout, "arch", far_arch_text(arch));
    json_number_field(stdout, "layers", (double)far_arch_depth(arch));
    json_end(stdout);
}

static int check_arch(const char *text, bool json)
{
    far_ctx *ctx;
    far_arch *arch;
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        return failure("info", "out of memory");
    }
    int code = EXIT_DONE;
    talk_trust(far_ctx_message(ctx));
    far_status st = far_arch_parse(ctx, text, &arch);
    if (st != FAR_OK) {
        failure("info", "%s", far_ctx_message(ctx));
        code = usage_code(st);
    } else {
        print_arch(arch, json);
        far_arch_destroy(arch);
    }
    far_ctx_destroy(ctx);
    return code;
}

static int print_grammar(bool json)
{
    if (!json) {
        fputs(far_arch_grammar(), stdout);
        return EXIT_DONE;
    }
    json_begin(stdout);
    json_text_field(stdout, "grammar", far_arch_grammar());
    json_end(stdout);
    return EXIT_DONE;
}

int cmd_info(int argc, char **argv)
{
    info_args args = {0};
    command_line line = {.verb = "info",
                         .usage = USAGE,
                         .about = ABOUT,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .most_operands = 2};
    int code = options_parse(&line, argc, argv, &args);
    if (code != OPTIONS_OK) {
        return code;
    }
    if (line.operand_count == 0) {
        return print_build(args.json);
    }
    if (strcmp(line.operands[0], "arch") != 0) {
        return usage_error("info", "unknown topic '%s'; there is: arch", line.operands[0]);
    }
    return line.operand_count == 1 ? print_grammar(args.json)
                                   : check_arch(line.operands[1], args.json);
}
