/* farfield lnnet: networks of linear layers and layer norms, built and measured. */
#include "lnnet.h"

#include <stdio.h>
#include <string.h>

#define VERB "lnnet"

static const struct word {
    const char *name, *summary;
    verb_fn run;
} WORDS[] = {
    {"build", "a network that classifies every row of a table, without training", lnnet_build},
    {"check", "does a network classify every row? At its own precision", lnnet_check},
    {"ssr", "how separable classes are: SSR, the linear bound, one layer that breaks it",
     lnnet_ssr},
    {"vc", "shatters L + 2 points with L layers: every labelling is built", lnnet_vc},
    {"hessian", "second derivatives: of layer norms, grouped ones, whole networks", lnnet_hessian},
};
enum { WORD_COUNT = sizeof WORDS / sizeof WORDS[0] };

static int print_words(void)
{
    print("Usage: farfield lnnet WORD [options]\n\n"
          "Networks of linear layers and layer norms alone: three neurons wide they classify\n"
          "anything, and can be built, not trained.\n\n"
          "Words:\n");
    for (int i = 0; i < WORD_COUNT; i++) {
        print("  %-8s %s\n", WORDS[i].name, WORDS[i].summary);
    }
    print("\nOptions:\n  --help  print this; farfield lnnet WORD --help has the options of a "
          "word\n");
    return EXIT_DONE;
}

static int unknown_word(const char *word)
{
    const char *names[WORD_COUNT];
    for (int i = 0; i < WORD_COUNT; i++) {
        names[i] = WORDS[i].name;
    }
    const char *near = far_nearest_name(word, names, WORD_COUNT);
    return near ? usage_error(VERB, "unknown word '%s'; did you mean %s?", word, near)
                : usage_error(VERB, "unknown word '%s'; there are build, check, ssr, vc, hessian",
                              word);
}

int cmd_lnnet(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        return usage_error(VERB, "build, check, ssr, vc or hessian?");
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_words();
    }
    for (int i = 0; i < WORD_COUNT; i++) {
        if (strcmp(WORDS[i].name, word) == 0) {
            return WORDS[i].run(argc - 1, argv + 1);
        }
    }
    return unknown_word(word);
}
