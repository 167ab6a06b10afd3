#include "layers.h"

#include <stdlib.h>

static int mark_layer(const char *verb_name, const char *word, char **end, int64_t layers,
                      unsigned char *out)
{
    long long number = strtoll(word, end, 10);
    int64_t layer = number < 0 ? layers + number : number - 1;
    if (*end == word || number == 0 || layer < 0 || layer >= layers) {
        return usage_error(verb_name,
                           "--layers: the network has layers 1 to %lld (-1 is the last), not '%s'",
                           (long long)layers, word);
    }
    out[layer] = 1;
    return EXIT_DONE;
}

int layers_read(const char *verb_name, const char *list, int64_t layers, unsigned char **out)
{
    const char *word = list;
    int code = EXIT_DONE;
    *out = calloc((size_t)layers + 1, 1);
    if (!*out) {
        return failure(verb_name, "out of memory");
    }
    while (code == EXIT_DONE) {
        char *end = NULL;
        code = mark_layer(verb_name, word, &end, layers, *out);
        if (code != EXIT_DONE || !*end) {
            break;
        }
        if (*end != ',') {
            code = usage_error(verb_name, "--layers is a list like 1,3, not '%s'", list);
        }
        word = end + 1;
    }
    return code;
}
