/* Part of tile_impl.h: dense, fold, norms with means, affine terms, skip sums. */
/* One pair: gap, cogap, t. */
typedef struct NAME(pair) {
    REAL gap, cogap, t;
} NAME(pair);

/* What a loop knows at compile time; every combination in use is a loop of its own. */
typedef struct NAME(known) {
    bool any_sign;  /* cogap comes in */
    bool keep_sign; /* cogap goes out */
    bool tangent;   /* t is wanted */
    bool fresh;     /* t is still zero */
    bool plain;     /* p = r before and after: Theta / (r r') <- rho + al al' Theta / (r r') */
} NAME(known);

#define INLINE static inline __attribute__((always_inline))

/* Coefficients of a dense in the ntk parametrisation, for one row and all columns; al and be come
 * divided by sqrt(2). */
typedef struct NAME(dense_coef) {
    REAL al, be, A, B;
    const REAL *restrict al_j, *restrict be_j, *restrict A_j, *restrict B_j;
} NAME(dense_coef);

static NAME(dense_coef) NAME(dense_of)(const REAL *ri, const REAL *cols, int64_t ld, bool plain)
{
    NAME(dense_coef) c = {.al = ri[0], .be = ri[1], .al_j = COL(0), .be_j = COL(1)};
    if (!plain) {
        c.A = ri[2];
        c.B = ri[3];
        c.A_j = COL(2);
        c.B_j = COL(3);
    }
    return c;
}

INLINE NAME(pair)
    NAME(dense_step)(NAME(known) is, const NAME(dense_coef) * c, int64_t j, NAME(pair) p)
{
    REAL da = c->al - c->al_j[j], db = c->be - c->be_j[j], aa = 2 * c->al * c->al_j[j];
    p.gap = (da * da + db * db) + aa * p.gap;
    if (is.any_sign) {
        REAL sb = c->be + c->be_j[j];
        p.cogap = (da * da + sb * sb) + aa * p.cogap;
    }
    if (is.tangent && is.plain) {
        p.t = is.fresh ? 1 - p.gap : (1 - p.gap) + aa * p.t;
    } else if (is.tangent) {
        p.t = c->A * c->A_j[j] * (1 - p.gap) + c->B * c->B_j[j] * p.t;
    }
    return p;
}

/* sum_k c_{first + 4 k} x^k over the coefficients of the angle */
INLINE REAL NAME(every_fourth)(int first, REAL x)
{
    REAL sum = NAME(angle_coef)[(ANGLE_TERMS - 1 - first) / 4 * 4 + first];
#pragma GCC unroll 8
    for (int k = (ANGLE_TERMS - 1 - first) / 4 * 4 + first - 4; k >= 0; k -= 4) {
        sum = sum * x + NAME(angle_coef)[k];
    }
    return sum;
}

/* acos(1 - u) for u in [0, 1], given its sine: one root serves both. Four short chains, since a
 * long one leaves the units waiting. */
INLINE REAL NAME(angle_of)(REAL u, REAL sine)
{
    REAL u2 = u * u, u4 = u2 * u2;
    REAL low = NAME(every_fourth)(0, u4) + u * NAME(every_fourth)(1, u4);
    REAL high = NAME(every_fourth)(2, u4) + u * NAME(every_fourth)(3, u4);
    return sine * (low + u2 * high);
}

INLINE REAL NAME(angle)(REAL u)
{
    return NAME(angle_of)(u, SQRT(u * (2 - u)));
}

/* linear z + folded |z|, squares of the weights normalised to sum 1: relu has 1/2 and 1/2. */
typedef struct NAME(fold_coef) {
    REAL linear, folded, turn; /* turn = 2 folded / pi */
} NAME(fold_coef);

/* With u = 1 - |rho| and phi = acos |rho|:  1 - kappa_abs = u - (2/pi) (sin phi - phi cos phi). */
INLINE NAME(pair) NAME(fold_step)(NAME(known) is, NAME(fold_coef) c, NAME(pair) p)
{
    REAL u = FABS(is.any_sign && p.cogap < p.gap ? p.cogap : p.gap); /* rounding may leave -1e-33 */
    REAL sine = SQRT(u * (2 - u)), phi = NAME(angle_of)(u, sine), bend = sine - phi * (1 - u);
    REAL slope = c.folded - c.turn * phi;
    if (is.any_sign) {
        slope = COPYSIGN(slope, p.cogap - p.gap);
        p.gap = (c.linear * p.gap + c.folded * u) - c.turn * bend;
    } else {
        p.gap = u - c.turn * bend;
    }
    if (is.keep_sign) {
        p.cogap = (c.linear * p.cogap + c.folded * (2 - u)) + c.turn * bend;
    }
    if (is.tangent) {
        p.t *= c.linear + slope;
    }
    return p;
}

/* A dense, a fold, or both in one pass over the block: both keeps values in registers. */
INLINE void NAME(layer_loop)(int64_t count, NAME(known) is, const NAME(dense_coef) * dense,
                             const NAME(fold_coef) * fold, NAME(state) x)
{
    REAL *restrict gap = x.gap, *restrict cogap = x.cogap, *restrict t = x.t;
    const NAME(dense_coef) c =
        dense ? *dense : (NAME(dense_coef)){0}; /* so that no store aliases it */
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        NAME(pair) p = {gap[j], is.any_sign ? cogap[j] : 0, is.tangent && !is.fresh ? t[j] : 0};
        p = dense ? NAME(dense_step)(is, &c, j, p) : p;
        p = fold ? NAME(fold_step)(is, *fold, p) : p;
        gap[j] = p.gap;
        if (is.keep_sign) {
            cogap[j] = p.cogap;
        }
        if (is.tangent) {
            t[j] = p.t;
        }
    }
}

INLINE void NAME(layer_with)(int64_t count, NAME(known) is, const NAME(dense_coef) * dense,
                             const NAME(fold_coef) * fold, NAME(state) x)
{
    if (dense && fold) {
        NAME(layer_loop)(count, is, dense, fold, x);
    } else if (dense) {
        NAME(layer_loop)(count, is, dense, NULL, x);
    } else {
        NAME(layer_loop)(count, is, NULL, fold, x);
    }
}

/* t must be zero if is.fresh is not made use of here. */
static void NAME(layer)(int64_t count, NAME(known) is, const NAME(dense_coef) * dense,
                        const NAME(fold_coef) * fold, NAME(state) x)
{
    if (!is.tangent && is.any_sign) {
        NAME(layer_with)(count, (NAME(known)){true, true, false, false, false}, dense, fold, x);
    } else if (!is.tangent) {
        NAME(layer_with)(count, (NAME(known)){false, false, false, false, false}, dense, fold, x);
    } else if (is.any_sign && is.fresh && is.plain && !is.keep_sign && fold) {
        NAME(layer_loop)(count, (NAME(known)){true, false, true, true, true}, dense, fold, x);
    } else if (is.any_sign && is.plain) {
        NAME(layer_with)(count, (NAME(known)){true, true, true, false, true}, dense, fold, x);
    } else if (is.any_sign) {
        NAME(layer_with)(count, (NAME(known)){true, true, true, false, false}, dense, fold, x);
    } else if (is.plain) {
        NAME(layer_with)(count, (NAME(known)){false, false, true, false, true}, dense, fold, x);
    } else {
        NAME(layer_with)(count, (NAME(known)){false, false, true, false, false}, dense, fold, x);
    }
}

/* A dense whose al and be carry their rounding errors in slots rest and rest + 1: first the gap,
 * then the rest of it as usual with the gap left alone. */
static void NAME(dense_fine)(int64_t count, int rest, NAME(known) is, const REAL *ri,
                             const REAL *restrict cols, int64_t ld, NAME(state) x, REAL *temp)
{
    NAME(dense_coef) dense = NAME(dense_of)(ri, cols, ld, is.plain);
    const REAL *restrict al = COL(0), *restrict be = COL(1);
    const REAL *restrict al_rest = COL(rest), *restrict be_rest = COL(rest + 1);
    for (int64_t j = 0; j < count; j++) {
        REAL da = (ri[0] - al[j]) + (ri[rest] - al_rest[j]);
        REAL db = (ri[1] - be[j]) + (ri[rest + 1] - be_rest[j]);
        temp[j] = (da * da + db * db) + 2 * ri[0] * al[j] * x.gap[j];
    }
    NAME(layer)(count, is, &dense, NULL, x);
    memcpy(x.gap, temp, (size_t)count * sizeof(REAL));
}

/* A dense among points without variance: those are uncorrelated with all others. */
static void NAME(dense_zeros)(int64_t count, NAME(known) is, const REAL *ri,
                              const REAL *restrict cols, int64_t ld, NAME(state) x)
{
    NAME(dense_coef) dense = NAME(dense_of)(ri, cols, ld, is.plain);
    bool zero = ri[0] == 0 && ri[1] == 0;
    NAME(layer)(count, is, &dense, NULL, x);
    for (int64_t j = 0; j < count; j++) {
        bool other = COL(0)[j] == 0 && COL(1)[j] == 0;
        x.gap[j] = zero != other ? 1 : x.gap[j];
        x.cogap[j] = zero != other ? 1 : x.cogap[j];
    }
}

/* The last dense writes Theta itself: out = p p' t. */
INLINE void NAME(last_loop)(int64_t count, bool plain, const NAME(dense_coef) * dense, REAL p,
                            const REAL *restrict p_j, NAME(state) x, REAL *restrict out)
{
    const REAL *restrict gap = x.gap, *restrict t = x.t;
    const NAME(dense_coef) c = *dense;
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        NAME(pair) q = {gap[j], 0, t[j]};
        q = NAME(dense_step)((NAME(known)){false, false, true, false, plain}, &c, j, q);
        out[j] = p * q.t * p_j[j];
    }
}

static void NAME(last_dense)(int64_t count, bool plain, const NAME(dense_coef) * dense, REAL p,
                             const REAL *restrict p_j, NAME(state) x, REAL *restrict out)
{
    if (plain) {
        NAME(last_loop)(count, true, dense, p, p_j, x, out);
    } else {
        NAME(last_loop)(count, false, dense, p, p_j, x, out);
    }
}

/* In the standard parametrisation Theta takes the K of the layer's input. */
static void NAME(dense_standard)(int64_t count, bool any_sign, const REAL *ri,
                                 const REAL *restrict cols, int64_t ld, NAME(state) x)
{
    for (int64_t j = 0; x.t && j < count; j++) {
        REAL rho = 1 - x.gap[j];
        x.t[j] = ri[2] * COL(2)[j] * x.t[j] + ri[3] * COL(3)[j] * rho + ri[4] * COL(4)[j];
    }
    NAME(dense_coef) dense = NAME(dense_of)(ri, cols, ld, true);
    NAME(layer)(count, (NAME(known)){.any_sign = any_sign, .keep_sign = any_sign}, &dense, NULL, x);
}

static void NAME(center)(int64_t count, bool signed_, const REAL *ri, const REAL *restrict cols,
                         int64_t ld, NAME(state) x)
{
    const REAL *restrict mu = COL(0), *restrict nu = COL(1), *restrict inverse = COL(2);
    for (int64_t j = 0; j < count; j++) {
        REAL dm = ri[0] - mu[j], dn = ri[1] - nu[j], sm = ri[0] + mu[j], scale = ri[2] * inverse[j];
        REAL gap = scale * (x.gap[j] - (REAL)0.5 * (dm * dm + dn * dn));
        REAL cogap = scale * (x.cogap[j] - (REAL)0.5 * (sm * sm + dn * dn));
        x.gap[j] = gap < 0 ? 0 : gap > 2 ? 2 : gap;
        x.cogap[j] = !signed_ ? 2 - x.gap[j] : cogap < 0 ? 0 : cogap > 2 ? 2 : cogap;
    }
}

static void NAME(shift)(int64_t count, const REAL *ri, const REAL *restrict cols, int64_t ld,
                        NAME(state) x)
{
    for (int64_t j = 0; x.t && j < count; j++) {
        REAL rho = 1 - x.gap[j];
        x.t[j] = ri[1] * COL(1)[j] * x.t[j] + ri[0] * COL(0)[j] * rho + ri[2] * COL(2)[j];
    }
}

/* Rounding may leave a gap of -1e-17, of which others take roots. */
INLINE REAL NAME(unit_gap)(REAL value)
{
    return value < 0 ? 0 : value > 2 ? 2 : value;
}

/* a: the remembered branch; x: the body, then the sum. */
static void NAME(add)(int64_t count, bool means, const REAL *ri, const REAL *restrict cols,
                      int64_t ld, NAME(state) a, NAME(state) x)
{
    for (int64_t j = 0; x.t && j < count; j++) {
        x.t[j] = ri[2] * COL(2)[j] * a.t[j] + ri[3] * COL(3)[j] * x.t[j] +
                 ri[4] * COL(4)[j] * (1 - a.gap[j]);
    }
    for (int64_t j = 0; !means && j < count; j++) {
        REAL da = ri[0] - COL(0)[j], db = ri[1] - COL(1)[j];
        REAL aa = ri[0] * COL(0)[j], bb = ri[1] * COL(1)[j],
             chord = (REAL)0.5 * (da * da + db * db);
        x.gap[j] = NAME(unit_gap)(chord + aa * a.gap[j] + bb * x.gap[j]);
        x.cogap[j] = NAME(unit_gap)(chord + aa * a.cogap[j] + bb * x.cogap[j]);
    }
    for (int64_t j = 0; means && j < count; j++) {
        REAL d5 = ri[5] - COL(5)[j], d6 = ri[6] - COL(6)[j], d7 = ri[7] - COL(7)[j];
        REAL d8 = ri[8] - COL(8)[j], d9 = ri[9] - COL(9)[j];
        REAL d10 = ri[10] - COL(10)[j], d11 = ri[11] - COL(11)[j];
        REAL gap_a = a.gap[j] - (REAL)0.5 * (d8 * d8 + d9 * d9);
        REAL gap_b = x.gap[j] - (REAL)0.5 * (d10 * d10 + d11 * d11);
        REAL gap = (REAL)0.5 * (d5 * d5 + d6 * d6 + d7 * d7) + ri[0] * COL(0)[j] * gap_a +
                   ri[1] * COL(1)[j] * gap_b;
        x.gap[j] = NAME(unit_gap)(gap);
        x.cogap[j] = 2 - x.gap[j];
    }
}
