#include "cli.h"

#include <string.h>

#define LONGEST_WORD 32

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b. */
static int edit_distance(const char *a, const char *b)
{
    int la = (int)strlen(a), lb = (int)strlen(b);
    int d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (int i = 0; i <= la; i++) {
        for (int j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = smaller(change, smaller(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[la][lb];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    if (strlen(word) > LONGEST_WORD) {
        return NULL;
    }
    const char *best = NULL;
    int best_distance = 1 + (int)(strlen(word) + 2) / 3;
    for (size_t i = 0; i < count; i++) {
        int distance = edit_distance(word, names[i]);
        if (distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
