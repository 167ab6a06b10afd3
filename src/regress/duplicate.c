/* Rows with the same inputs: they make a kernel matrix singular, and with different targets no
 * function fits them all. */
#include "regress_internal.h"

#include <string.h>

static uint64_t hash_row(const double *row, int64_t d)
{
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int64_t j = 0; j < d; j++) {
        double value = row[j] + 0.0; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        h = (h ^ bits) * 0xBF58476D1CE4E5B9u;
        h ^= h >> 29;
    }
    return h;
}

static bool same_row(const double *a, const double *b, int64_t d)
{
    for (int64_t j = 0; j < d; j++) {
        if (a[j] != b[j]) {
            return false;
        }
    }
    return true;
}

static void count_pair(const double *y, int64_t p, int64_t earlier, int64_t row,
                       far_duplicates *out)
{
    bool conflict = !same_row(y + earlier * p, y + row * p, p);
    if (out->first[0] < 0 || (conflict && out->conflicts == 0)) {
        out->first[0] = earlier;
        out->first[1] = row;
    }
    out->rows++;
    out->conflicts += conflict;
}

far_status far_duplicates_find(far_ctx *ctx, const double *x, int64_t n, int64_t d, const double *y,
                               int64_t p, int64_t *original, far_duplicates *out)
{
    far_status st;
    int64_t slots = 16, *slot = NULL;
    *out = (far_duplicates){.first = {-1, -1}};
    while (slots < 2 * n) {
        slots *= 2;
    }
    FAR_TRY(far_alloc(ctx, slots, &slot));
    memset(slot, 0xff, (size_t)slots * sizeof *slot);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)(hash_row(x + i * d, d) & (uint64_t)(slots - 1));
        while (slot[at] >= 0 && !same_row(x + slot[at] * d, x + i * d, d)) {
            at = (at + 1) & (slots - 1);
        }
        if (slot[at] < 0) {
            slot[at] = i;
        } else {
            count_pair(y, p, slot[at], i, out);
        }
        if (original) {
            original[i] = slot[at];
        }
    }
done:
    far_free(ctx, slot);
    return st;
}
