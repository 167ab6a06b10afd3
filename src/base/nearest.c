#define _GNU_SOURCE
#include "base_internal.h"

#include <limits.h>
#include <string.h>

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
    int d[FAR_EDIT_MOST + 1][FAR_EDIT_MOST + 1];
    if (la > FAR_EDIT_MOST || lb > FAR_EDIT_MOST) {
        return INT_MAX;
    }
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

static int length_of(const char *text)
{
    return (int)strnlen(text, FAR_EDIT_MOST + 1);
}

const char *far_nearest_name(const char *word, const char *const *names, int64_t count)
{
    int length = length_of(word), best_distance = 1 + (length + 2) / 3;
    const char *best = NULL;
    for (int64_t i = 0; i < count; i++) {
        int distance = far_edit_distance(word, length, names[i], length_of(names[i]));
        if (distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
