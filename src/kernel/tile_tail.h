/* Part of tile_impl.h: the curves of tail.h. */
static NAME(scratch) NAME(lay_out)(const far_tile *tile);

/* Where on the curves a vector of pairs lies. */
typedef struct NAME(spot) {
    NAME(vec) x;
    NAME(mask) piece;
} NAME(spot);

INLINE NAME(spot) NAME(spot_of)(NAME(vec) gap, NAME(vec) cogap)
{
    NAME(vec) least = (NAME(vec))_mm512_min_pd((__m512d)gap, (__m512d)cogap);
    NAME(vec) root = (NAME(vec))_mm512_sqrt_pd(_mm512_abs_pd((__m512d)least));
    __mmask8 far = _mm512_cmp_pd_mask((__m512d)cogap, (__m512d)gap, _CMP_LT_OQ);
    /* just below 2, so that no piece lies past the last */
    NAME(vec)
    s = (NAME(vec))_mm512_mask_sub_pd((__m512d)root, far, _mm512_set1_pd(0x1.fffffffffffffp0),
                                      (__m512d)root);
    NAME(vec) at = s * (REAL)(FAR_TAIL_PIECES / 2);
    NAME(mask) piece = __builtin_convertvector(at, NAME(mask));
    return (NAME(spot)){at - __builtin_convertvector(piece, NAME(vec)) - (REAL)0.5, piece};
}

/* Two vectors at a time, since the coefficients do not fit in the registers. */
typedef struct NAME(twin) {
    NAME(vec) a, b;
} NAME(twin);

/* sum_k c_k x^k: the coefficients of each lane's piece come out of two registers by one
 * permutation. */
INLINE NAME(twin) NAME(curve)(const far_curve *curve, int terms, NAME(spot) a, NAME(spot) b)
{
    NAME(twin) sum = {0};
#pragma GCC unroll 16
    for (int k = terms - 1; k >= 0; k--) {
        NAME(vec) low = *(const NAME(vec_u) *)curve->c[k];
        NAME(vec) high = *(const NAME(vec_u) *)(curve->c[k] + LANES);
        sum.a = sum.a * a.x + __builtin_shuffle(low, high, a.piece);
        sum.b = sum.b * b.x + __builtin_shuffle(low, high, b.piece);
    }
    return sum;
}

INLINE void NAME(store)(REAL *out, NAME(vec) value, int64_t room)
{
    if (room >= LANES) {
        *(NAME(vec_u) *)out = value;
    } else if (room > 0) {
        memcpy(out, &value, (size_t)room * sizeof(REAL));
    }
}

/* What a tail does with a block: constants of the loop below, but for the tile. */
typedef struct NAME(tail_known) {
    bool any_sign; /* cogap is carried */
    bool linear;   /* Theta_in is t, not rho */
    int terms;
    const far_tile *tile;
} NAME(tail_known);

INLINE NAME(spot) NAME(tail_spot)(NAME(tail_known) is, int64_t j, NAME(state) x)
{
    NAME(vec) gap = *(const NAME(vec_u) *)(x.gap + j), cogap = 2 - gap;
    if (is.any_sign) {
        cogap = *(const NAME(vec_u) *)(x.cogap + j);
    }
    return NAME(spot_of)(gap, cogap);
}

/* Lanes within room whose value is not finite. */
INLINE NAME(mask) NAME(flaw)(NAME(vec) value, int64_t room)
{
    NAME(mask) bits = (NAME(mask))value & NOT_FINITE, flaw = bits == NOT_FINITE;
    for (int64_t lane = room < 0 ? 0 : room; lane < LANES; lane++) {
        flaw[lane] = 0;
    }
    return flaw;
}

INLINE void NAME(tail_loop)(int64_t count, NAME(tail_known) is, const far_curve *constant,
                            const far_curve *linear, NAME(state) x, REAL *restrict out)
{
    NAME(mask) flaws = {0};
    for (int64_t j = 0; j < count; j += 2 * LANES) {
        NAME(spot)
        a = NAME(tail_spot)(is, j, x), b = NAME(tail_spot)(is, j + LANES, x);
        NAME(twin) value = NAME(curve)(constant, is.terms, a, b);
        if (is.linear) {
            NAME(twin) slope = NAME(curve)(linear, is.terms, a, b);
            value.a += slope.a * *(const NAME(vec_u) *)(x.t + j);
            value.b += slope.b * *(const NAME(vec_u) *)(x.t + j + LANES);
        }
        NAME(store)(out + j, value.a, count - j);
        NAME(store)(out + j + LANES, value.b, count - j - LANES);
        flaws |= NAME(flaw)(value.a, count - j) | NAME(flaw)(value.b, count - j - LANES);
    }
    for (int lane = 0; lane < LANES; lane++) {
        if (flaws[lane]) {
            atomic_store_explicit(is.tile->unsound, true, memory_order_relaxed);
        }
    }
}

INLINE void NAME(tail_with)(int64_t count, int terms, NAME(tail_known) is,
                            const far_curve *constant, const far_curve *linear, NAME(state) x,
                            REAL *out)
{
    if (is.linear && is.any_sign) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){true, true, terms, is.tile}, constant, linear, x, out);
    } else if (is.linear) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, true, terms, is.tile}, constant, linear, x, out);
    } else if (is.any_sign) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){true, false, terms, is.tile}, constant, NULL, x, out);
    } else {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, false, terms, is.tile}, constant, NULL, x, out);
    }
}

static void NAME(run_tail)(int64_t count, NAME(tail_known) is, const far_curve *constant,
                           const far_curve *linear, NAME(state) x, REAL *out)
{
    if (is.terms == FAR_TAIL_TERMS_FEW) {
        NAME(tail_with)(count, FAR_TAIL_TERMS_FEW, is, constant, linear, x, out);
    } else {
        NAME(tail_with)(count, FAR_TAIL_TERMS, is, constant, linear, x, out);
    }
}

/* Whether cogaps are known when the curves begin; where they are not, rho stays away from -1. */
static bool NAME(tail_sign)(const far_tile *tile, NAME(state) x)
{
    if (tile->tail->theta_in != FAR_THETA_CARRIED) {
        return x.cogap != NULL;
    }
    return tile->plan->ops[tile->tail->from].sign == FAR_SIGN_ANY;
}

static void NAME(end_with_tail)(const far_tile *tile, int64_t i, int64_t count, NAME(state) x)
{
    const far_tail *tail = tile->tail;
    NAME(tail_known) is = {NAME(tail_sign)(tile, x), false, tail->terms, tile};
    if (tile->nngp) {
        REAL *out = (REAL *)tile->nngp->data + i * tile->nngp->ld + tile->j0;
        NAME(run_tail)(count, is, &tail->nngp, NULL, x, out);
    }
    if (tile->ntk) {
        REAL *out = (REAL *)tile->ntk->data + i * tile->ntk->ld + tile->j0;
        is.linear = tail->theta_in == FAR_THETA_CARRIED;
        NAME(run_tail)(count, is, &tail->constant, &tail->linear, x, out);
    }
}

static void NAME(probe)(const far_tile *tile, int64_t from, REAL *gap, REAL *cogap, REAL *t)
{
    NAME(scratch) s = NAME(lay_out)(tile);
    int level = 0;
    s.gap = gap;
    s.cogap = cogap;
    s.tangent = true;
    NAME(state) x = NAME(state_at)(&s, 0);
    memcpy(x.t, t, W * sizeof(REAL));
    for (int k = 0; k < tile->layout->slots + 2; k++) {
        s.ri[k] = ((const REAL *)tile->rows->coef)[k * tile->rows->ld];
    }
    for (int64_t k = from; k < tile->plan->count;) {
        k += NAME(run_op)(tile, k, W, s.ri, &s, &level);
    }
    memcpy(t, x.t, W * sizeof(REAL));
}
