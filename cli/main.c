/* The farfield command: a table of verbs over the public API. */
#include "cli.h"
#include "files.h"
#include "restart.h"
#include "session.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const verb VERBS[] = {
    {"fit", "a model from a table, and how well it is determined", cmd_fit},
    {"train", "a finite network from a table, by gradient descent", cmd_train},
    {"predict", "what a model says about the rows of a table, or far along directions",
     cmd_predict},
    {"certify", "can a model run away? A bound by a theorem, or the direction and the speed",
     cmd_certify},
    {"compare", "models on rows out of range: how well they do there, and how far they can go",
     cmd_compare},
    {"cv", "cross-validation of the same models, numbers and classes", cmd_cv},
    {"combine", "the mean of several predictors, as one more", cmd_combine},
    {"kernel", "NTK and NNGP matrices, limits at infinity, the supremum of the diagonal",
     cmd_kernel},
    {"gram", "the tangent kernel of a finite network, whole or layer by layer", cmd_gram},
    {"measure", "what a kernel says about training: numbers by name, and which there are",
     cmd_measure},
    {"spectrum", "eigenvalues of a kernel: by layer, condition number, power law", cmd_spectrum},
    {"align", "how well a kernel agrees with targets, eigenvector by eigenvector", cmd_align},
    {"powerlaw", "exponents of spectra and losses, beside those of theory", cmd_powerlaw},
    {"local", "how a kernel looks around each point: correlation length, maps", cmd_local},
    {"laplace", "how sure a trained network is: variances, calibrated classes", cmd_laplace},
    {"lnnet", "networks of layer norms that classify anything, built and measured", cmd_lnnet},
    {"data", "published data sets: which there are, get one, where it lies", cmd_data},
    {"reproduce", "figures and tables of papers, and whether their claims hold", cmd_reproduce},
    {"info", "this build; the architecture language", cmd_info},
    {"demo", "what one layer norm changes: a table and a report", cmd_demo},
};
enum { VERB_COUNT = sizeof VERBS / sizeof VERBS[0] };

__attribute__((format(printf, 2, 0))) static void say(const char *verb_name, const char *format,
                                                      va_list args)
{
    fflush(stdout);
    fprintf(stderr, verb_name ? "farfield %s: " : "farfield: ", verb_name);
    talk_args(stderr, format, args);
}

int usage_error(const char *verb_name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb_name, format, args);
    va_end(args);
    fprintf(stderr, " (see farfield %s%s--help)\n", verb_name ? verb_name : "",
            verb_name ? " " : "");
    return EXIT_USAGE;
}

int failure(const char *verb_name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb_name, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

int usage_code(far_status st)
{
    return st == FAR_ERR_MEMORY || st == FAR_ERR_CANCELLED ? EXIT_FAILED : EXIT_USAGE;
}

static int print_overview(void)
{
    print("Usage: farfield VERB [options]\n\n"
          "What a neural network does far from its data: at infinite width and at any other.\n\n"
          "Verbs:\n");
    for (int i = 0; i < VERB_COUNT; i++) {
        print("  %-9s %s\n", VERBS[i].name, VERBS[i].summary);
    }
    print("  %-9s %s\n\n", "help", "the options of a verb: farfield help kernel");
    print("Options:\n"
          "  --version  print the version and exit\n"
          "  --help     print help and exit\n\n"
          "Exit: 0 done, 1 failed, 2 wrong usage. Try: farfield demo\n");
    return EXIT_DONE;
}

static const verb *find_verb(const char *name)
{
    for (int i = 0; i < VERB_COUNT; i++) {
        if (strcmp(VERBS[i].name, name) == 0) {
            return &VERBS[i];
        }
    }
    return NULL;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT + 1] = {"help"};
    for (int i = 0; i < VERB_COUNT; i++) {
        names[i + 1] = VERBS[i].name;
    }
    const char *near = far_nearest_name(name, names, VERB_COUNT + 1);
    if (near) {
        return usage_error(NULL, "unknown verb '%s'; did you mean %s?", name, near);
    }
    return usage_error(NULL, "unknown verb '%s'", name);
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) {
        return print_overview();
    }
    const verb *v = find_verb(argv[1]);
    if (!v) {
        return unknown_verb(argv[1]);
    }
    char help[] = "--help";
    char *words[] = {argv[1], help, NULL};
    return v->run(2, words);
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_overview();
    }
    if (strcmp(word, "help") == 0) {
        return run_help(argc - 1, argv + 1);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        print("farfield %s\n", far_version());
        return EXIT_DONE;
    }
    if (word[0] == '-') {
        return usage_error(NULL, "unknown option %s", word);
    }
    const verb *v = find_verb(word);
    return v ? v->run(argc - 1, argv + 1) : unknown_verb(word);
}

int main(int argc, char **argv)
{
    start_again(argv);
    void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN); /* a write error until all files are closed */
    signal(SIGXFSZ, SIG_IGN);                        /* and so is a file that may not grow */
    session_typed = argv + 1;
    session_words = argc - 1;
    int code = dispatch(argc, argv);
    const verb *v = argc > 1 ? find_verb(argv[1]) : NULL;
    code = stdout_finish(v ? v->name : NULL, code);
    if (stdout_reader_left()) { /* as other commands end then, unless the parent ignores it */
        signal(SIGPIPE, on_pipe);
        raise(SIGPIPE);
    }
    return code;
}
