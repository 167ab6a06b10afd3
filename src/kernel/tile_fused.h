/* Part of tile_impl.h: chords and curves in one pass, where no operation stands between them. */
#define BLOCK (2 * LANES) /* columns of a block */
#define FUSED_ROWS 2      /* and its rows: few, so that square roots are spread among the rest */
#define VECTORS (2 * FUSED_ROWS)
#define FAR_END 0x1.fffffffffffffp3 /* just below 16, so that no piece lies past the last */

/* Of 1 - |rho|. Above, an inner product tells it as well as a difference of directions does: its
 * rounding errors are those of numbers up to 1. Below, a difference (rho > 0) or a sum is taken. */
#define CLOSE 0.125

/* Eight times sqrt(1 - |rho|) for the pairs of a block; far: those with rho < 0. */
typedef struct NAME(roots) {
    NAME(vec) root[VECTORS];
    __mmask8 far[VECTORS];
} NAME(roots);

/* rho, for FUSED_ROWS rows and two vectors of columns. */
INLINE void NAME(inner_chunk)(const REAL *restrict unit, const REAL *restrict panel, int64_t k0,
                              int64_t k1, NAME(vec) sum[VECTORS])
{
    for (int64_t k = k0; k < k1; k++) {
        NAME(vec) v0 = *(const NAME(vec_u) *)(panel + k * W);
        NAME(vec) v1 = *(const NAME(vec_u) *)(panel + k * W + LANES);
        for (int r = 0; r < FUSED_ROWS; r++) {
            REAL u = unit[k * CHORD_ROWS + r];
            sum[2 * r] += v0 * u;
            sum[2 * r + 1] += v1 * u;
        }
    }
}

INLINE void NAME(inner_products)(const REAL *restrict unit, const REAL *restrict panel, int64_t d,
                                 NAME(vec) total[VECTORS])
{
    NAME(inner_chunk)(unit, panel, 0, d < CHORD_CHUNK ? d : CHORD_CHUNK, total);
    for (int64_t k = CHORD_CHUNK; k < d; k += CHORD_CHUNK) {
        NAME(vec) sum[VECTORS] = {0};
        NAME(inner_chunk)(unit, panel, k, k + CHORD_CHUNK < d ? k + CHORD_CHUNK : d, sum);
        for (int r = 0; r < VECTORS; r++) {
            total[r] += sum[r];
        }
    }
}

/* 64 (1 - |rho|) = 32 |u -+ v|^2 of the pairs that are close to each other, or to opposite. */
static __attribute__((noinline)) void NAME(close_gaps)(const REAL *unit, const REAL *panel,
                                                       int64_t d, const __mmask8 *close,
                                                       const __mmask8 *far, NAME(vec) * least)
{
    for (int r = 0; r < VECTORS; r++) {
        __m512d sum = _mm512_setzero_pd();
        for (int64_t k = 0; close[r] && k < d; k++) {
            __m512d v = _mm512_loadu_pd(panel + k * W + r % 2 * LANES);
            __m512d u = _mm512_set1_pd(unit[k * CHORD_ROWS + r / 2]);
            __m512d apart = _mm512_mask_add_pd(v - u, far[r], v, u);
            sum = _mm512_fmadd_pd(apart, apart, sum);
        }
        least[r] =
            (NAME(vec))_mm512_mask_mul_pd((__m512d)least[r], close[r], sum, _mm512_set1_pd(32));
    }
}

INLINE void NAME(find_roots)(const REAL *unit, const REAL *panel, int64_t d, NAME(roots) * out)
{
    NAME(vec) rho[VECTORS] = {0}, least[VECTORS];
    __mmask8 close[VECTORS], any = 0;
    NAME(inner_products)(unit, panel, d, rho);
#pragma GCC unroll 4
    for (int r = 0; r < VECTORS; r++) {
        __m512d size = _mm512_abs_pd((__m512d)rho[r]), whole = _mm512_set1_pd(64);
        out->far[r] = _mm512_movepi64_mask((__m512i)rho[r]);
        least[r] = (NAME(vec))_mm512_fnmadd_pd(size, whole, whole);
        close[r] = _mm512_cmp_pd_mask((__m512d)least[r], _mm512_set1_pd(64 * CLOSE), _CMP_LT_OQ);
        any |= close[r];
    }
    if (__builtin_expect(any, 0)) {
        NAME(close_gaps)(unit, panel, d, close, out->far, least);
    }
#pragma GCC unroll 4
    for (int r = 0; r < VECTORS; r++) {
        out->root[r] = (NAME(vec))_mm512_sqrt_pd((__m512d)least[r]);
    }
}

INLINE NAME(spot) NAME(fused_spot)(NAME(vec) root, __mmask8 far)
{
    __m512d at = _mm512_mask_sub_pd((__m512d)root, far, _mm512_set1_pd(FAR_END), (__m512d)root);
    __m512d part = _mm512_reduce_pd(at, _MM_FROUND_TO_ZERO);
    return (NAME(spot)){(NAME(vec))part - (REAL)0.5, (NAME(mask))_mm512_cvttpd_epi64(at)};
}

/* One of the outputs of CHORD_ROWS rows. */
typedef struct NAME(fused_out) {
    const far_curve *curve;
    REAL *to, *copy; /* copy may be NULL */
    int64_t ld, copy_ld;
    bool stream;
} NAME(fused_out);

INLINE void NAME(fused_store)(const NAME(fused_out) * out, int row, int64_t col, NAME(vec) value)
{
    if (out->stream) {
        _mm512_stream_pd(out->to + row * out->ld + col, (__m512d)value);
    } else {
        _mm512_storeu_pd(out->to + row * out->ld + col, (__m512d)value);
    }
    if (out->copy) {
        _mm512_storeu_pd(out->copy + row * out->copy_ld + col, (__m512d)value);
    }
}

INLINE void NAME(fused_part)(const NAME(fused_out) * out, int row, int64_t col, int64_t left,
                             NAME(vec) value)
{
    __mmask8 wanted = left >= LANES ? 0xff : (__mmask8)((1 << left) - 1);
    _mm512_mask_storeu_pd(out->to + row * out->ld + col, wanted, (__m512d)value);
    if (out->copy) {
        _mm512_mask_storeu_pd(out->copy + row * out->copy_ld + col, wanted, (__m512d)value);
    }
}

/* Four vectors side by side, so that no chain of a polynomial waits for itself. */
INLINE void NAME(fused_curve)(const NAME(roots) * at, int terms, const far_curve *restrict curve,
                              NAME(vec) sum[VECTORS])
{
    NAME(spot) spot[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
        spot[v] = NAME(fused_spot)(at->root[v], at->far[v]);
        sum[v] = (NAME(vec)){0};
    }
#pragma GCC unroll 16
    for (int k = terms - 1; k >= 0; k--) {
        NAME(vec) low = *(const NAME(vec_u) *)curve->c[k];
        NAME(vec) high = *(const NAME(vec_u) *)(curve->c[k] + LANES);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            sum[v] = sum[v] * spot[v].x + __builtin_shuffle(low, high, spot[v].piece);
        }
    }
}

/* whole: no column is past the room of a row. */
INLINE void NAME(fused_block)(const NAME(roots) * at, int terms, const NAME(fused_out) * out,
                              bool whole, int64_t j, const int64_t *room)
{
    NAME(vec) sum[VECTORS];
    NAME(fused_curve)(at, terms, out->curve, sum);
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
        int64_t col = j + v % 2 * LANES, left = room[v / 2] - col;
        if (whole) {
            NAME(fused_store)(out, v / 2, col, sum[v]);
        } else if (left > 0) {
            NAME(fused_part)(out, v / 2, col, left, sum[v]);
        }
    }
}

/* The roots of a block are on their way while the curves of the one before it are summed. */
INLINE void NAME(fused_strip)(const REAL *unit, const REAL *panel, int64_t d, int terms, int outs,
                              const NAME(fused_out) * out, const int64_t room[FUSED_ROWS])
{
    NAME(roots) at[2];
    int64_t most = room[0] > room[1] ? room[0] : room[1];
    int64_t least = room[0] < room[1] ? room[0] : room[1];
    NAME(find_roots)(unit, panel, d, &at[0]);
    for (int64_t j = 0; j < most; j += BLOCK) {
        int64_t now = j / BLOCK % 2;
        if (j + BLOCK < most) {
            NAME(find_roots)(unit, panel + j + BLOCK, d, &at[1 - now]);
        }
        for (int o = 0; o < outs; o++) {
            if (j + BLOCK <= least) {
                NAME(fused_block)(&at[now], terms, &out[o], true, j, room);
            } else {
                NAME(fused_block)(&at[now], terms, &out[o], false, j, room);
            }
        }
    }
}

static NAME(fused_out) NAME(fused_place)(const far_tile *tile, int64_t row, bool ntk)
{
    const far_mat *m = ntk ? tile->ntk : tile->nngp;
    const far_mat *copy = ntk ? tile->ntk_copy : tile->nngp_copy;
    NAME(fused_out)
    out = {.curve = ntk ? &tile->tail->constant : &tile->tail->nngp,
           .to = (REAL *)m->data + row * m->ld + tile->j0,
           .ld = m->ld,
           .stream = tile->stream};
    if (copy) {
        out.copy = (REAL *)copy->data + row * copy->ld + tile->j0;
        out.copy_ld = copy->ld;
    }
    return out;
}

/* Rows [i, last) with their count columns, whose directions are loaded. */
static void NAME(run_fused)(const far_tile *tile, int64_t i, int64_t last, int64_t count,
                            const NAME(scratch) * s)
{
    const far_tail *tail = tile->tail;
    int64_t room[CHORD_ROWS] = {0}, d = tile->cols->d;
    for (int64_t row = i; row < last; row++) {
        bool cut = tile->lower && row + 1 - tile->j0 < count;
        room[row - i] = cut ? row + 1 - tile->j0 : count;
    }
    for (int64_t r = 0; i + r < last; r += FUSED_ROWS) {
        NAME(fused_out) out[2];
        int outs = 0;
        for (int ntk = 0; ntk < 2; ntk++) {
            if (ntk ? tile->ntk : tile->nngp) {
                out[outs++] = NAME(fused_place)(tile, i + r, ntk);
            }
        }
        if (tail->terms == FAR_TAIL_TERMS_FEW) {
            NAME(fused_strip)
            (s->unit + r, s->panel, d, FAR_TAIL_TERMS_FEW, outs, out, room + r);
        } else {
            NAME(fused_strip)(s->unit + r, s->panel, d, FAR_TAIL_TERMS, outs, out, room + r);
        }
    }
}
