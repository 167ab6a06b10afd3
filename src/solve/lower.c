#include "lower.h"

#define LINE 8      /* doubles of a cache line */
#define CONFLICT 64 /* rows this many doubles apart, or a multiple, share cache sets */

static int64_t padded(int64_t width)
{
    int64_t ld = (width + LINE - 1) / LINE * LINE;
    return ld % CONFLICT == 0 ? ld + LINE : ld;
}

far_lower far_lower_layout(int64_t n, bool packed)
{
    int64_t side = n < FAR_LOWER_SIDE ? (n + LINE - 1) / LINE * LINE : FAR_LOWER_SIDE;
    return (far_lower){.n = n, .side = side, .packed = packed};
}

int64_t far_lower_ld(const far_lower *l, int64_t i)
{
    return padded(l->packed ? (i / l->side + 1) * l->side : l->n);
}

/* Doubles in front of packed block row b. Its rows are side * (b + 1) wide, and LINE of padding
 * where that is a multiple of CONFLICT: always for the usual side, never for the single block row
 * of a small matrix, in front of which there is nothing. */
static int64_t packed_offset(const far_lower *l, int64_t b)
{
    return l->side * (l->side * (b * (b + 1) / 2) + LINE * b);
}

double *far_lower_at(const far_lower *l, int64_t i, int64_t j)
{
    if (!l->packed) {
        return l->data + i * far_lower_ld(l, i) + j;
    }
    int64_t b = i / l->side;
    return l->data + packed_offset(l, b) + (i - b * l->side) * far_lower_ld(l, i) + j;
}

int64_t far_lower_count(const far_lower *l)
{
    int64_t last = (l->n - 1) / l->side, rows = l->n - last * l->side;
    int64_t before = l->packed ? packed_offset(l, last) : last * l->side * far_lower_ld(l, 0);
    return before + rows * far_lower_ld(l, l->n - 1);
}

int64_t far_lower_next(const far_lower *l, int64_t i)
{
    int64_t next = (i / l->side + 1) * l->side;
    return next < l->n ? next : l->n;
}
