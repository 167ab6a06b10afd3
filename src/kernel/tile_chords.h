/* Part of tile_impl.h: gaps between the directions of the inputs. */
/* Adds |u - v|^2 over features [k0, k1) for CHORD_ROWS rows and two vectors of columns. */
static inline __attribute__((always_inline)) void NAME(chord_chunk)(const REAL *restrict unit,
                                                                    const REAL *restrict panel,
                                                                    int64_t k0, int64_t k1,
                                                                    NAME(vec) sum[2 * CHORD_ROWS])
{
    for (int64_t k = k0; k < k1; k++) {
        NAME(vec) v0 = *(const NAME(vec_u) *)(panel + k * W);
        NAME(vec) v1 = *(const NAME(vec_u) *)(panel + k * W + LANES);
        for (int r = 0; r < CHORD_ROWS; r++) {
            REAL u = unit[k * CHORD_ROWS + r];
            sum[2 * r] += (v0 - u) * (v0 - u);
            sum[2 * r + 1] += (v1 - u) * (v1 - u);
        }
    }
}

/* |u - v|^2 for CHORD_ROWS rows and two vectors of columns. */
static inline __attribute__((always_inline)) void NAME(chord_sums)(const REAL *restrict unit,
                                                                   const REAL *restrict panel,
                                                                   int64_t d,
                                                                   NAME(vec) total[2 * CHORD_ROWS])
{
    for (int r = 0; r < 2 * CHORD_ROWS; r++) {
        total[r] = (NAME(vec)){0};
    }
    NAME(chord_chunk)(unit, panel, 0, d < CHORD_CHUNK ? d : CHORD_CHUNK, total);
    for (int64_t k = CHORD_CHUNK; k < d; k += CHORD_CHUNK) {
        NAME(vec) sum[2 * CHORD_ROWS] = {0};
        NAME(chord_chunk)(unit, panel, k, k + CHORD_CHUNK < d ? k + CHORD_CHUNK : d, sum);
        for (int r = 0; r < 2 * CHORD_ROWS; r++) {
            total[r] += sum[r];
        }
    }
}

/* |u - v|^2 / 2, accurate however close the two are, and (rest, may be NULL) 2 minus that. Returns
 * whether some pair is nearly opposite. */
static bool NAME(chords)(const REAL *restrict unit, const REAL *restrict panel, int64_t d,
                         int64_t count, REAL *restrict out, REAL *restrict rest)
{
    NAME(mask) opposite = {0};
    for (int64_t j = 0; j < count; j += 2 * LANES) {
        NAME(vec) total[2 * CHORD_ROWS];
        NAME(chord_sums)(unit, panel + j, d, total);
        for (int r = 0; r < 2 * CHORD_ROWS; r++) {
            int64_t at = r / 2 * W + j + r % 2 * LANES;
            NAME(vec) half = total[r] * (REAL)0.5;
            *(NAME(vec_u) *)(out + at) = half;
            if (rest) {
                *(NAME(vec_u) *)(rest + at) = 2 - half;
            }
            opposite |= half > (REAL)1.9;
        }
    }
    bool any = false;
    for (int lane = 0; lane < LANES; lane++) {
        any = any || opposite[lane];
    }
    return any;
}

/* The same chords from directions with twice the digits. */
static void NAME(fine_chords)(const NAME(scratch) * s, int64_t d, int64_t count)
{
    for (int r = 0; r < CHORD_ROWS; r++) {
        REAL *restrict gap = s->gap + r * W;
        memset(gap, 0, (size_t)count * sizeof(REAL));
        for (int64_t k = 0; k < d; k++) {
            const REAL *restrict v = s->panel + k * W, *restrict rest = s->panel_rest + k * W;
            REAL u = s->unit[k * CHORD_ROWS + r], u_rest = s->unit_rest[k * CHORD_ROWS + r];
            for (int64_t j = 0; j < count; j++) {
                REAL difference = (v[j] - u) + (rest[j] - u_rest);
                gap[j] += (REAL)0.5 * difference * difference;
            }
        }
    }
}

/* Where some pair is nearly opposite, cogaps come from sums of directions instead. */
static void NAME(start)(NAME(scratch) * s, int64_t d, int64_t count)
{
    REAL *rest = s->limit > 0 ? s->cogap : NULL; /* without operations nobody reads 2 - gap */
    bool opposite = NAME(chords)(s->unit, s->panel, d, count, s->gap, rest);
    if (s->panel_rest) {
        NAME(fine_chords)(s, d, count);
    }
    if (opposite) {
        for (int64_t k = 0; k < CHORD_ROWS * d; k++) {
            s->unit[k] = -s->unit[k];
        }
        NAME(chords)(s->unit, s->panel, d, count, s->cogap, NULL);
    }
    s->cogaps = rest || opposite;
}
