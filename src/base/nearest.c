#include "base_internal.h"

#include <string.h>

#define LONGEST_WORD FAR_EDIT_MOST /* longer ones are close to no name */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool same(char a, char b)
{
    return lower(a) == lower(b);
}

int far_edit_distance(const char *a, int la, const char *b, int lb)
{
    int d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (int i = 0; i <= la; i++) {
        for (int j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int change = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
            d[i][j] = smaller(change, smaller(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[la][lb];
}

const char *far_nearest_name(const char *word, const char *const *names, int64_t count)
{
    size_t length = strlen(word);
    const char *best = NULL;
    if (length > LONGEST_WORD) {
        return NULL;
    }
    int best_distance = 1 + (int)(length + 2) / 3;
    for (int64_t i = 0; i < count && best_distance > 0; i++) {
        size_t other = strlen(names[i]);
        if (other > LONGEST_WORD) {
            continue;
        }
        int distance = far_edit_distance(word, (int)length, names[i], (int)other);
        if (distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
