/*
 * The tile, for one REAL. Included twice by tile_isa.c, which defines REAL, NAME, TILE_FN, SQRT,
 * EXP, FABS and COPYSIGN. Loops run over whole vectors: counts are rounded up into the padding.
 */
#include "tile_poly.h"

#define W FAR_TILE_SIDE
#define LANES (64 / (int)sizeof(REAL))
#define CHORD_ROWS 4
#define CHORD_CHUNK 128 /* features summed at once; chunks are added up, so errors stay small */
#define COL(s) (cols + (int64_t)(s)*ld)
#define PI_R ((REAL)3.141592653589793238)
#define ANGLE_TERMS ((int)(sizeof NAME(angle_coef) / sizeof(REAL)))

typedef REAL NAME(vec) __attribute__((vector_size(64)));
typedef REAL NAME(vec_u) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

typedef MASK_INT NAME(mask) __attribute__((vector_size(64)));

typedef struct NAME(state) {
    REAL *restrict gap, *restrict cogap, *restrict t;
} NAME(state);

typedef struct NAME(scratch) {
    REAL *panel;                  /* d x W: directions of the columns, feature by feature */
    REAL *unit;                   /* d x CHORD_ROWS: directions of some rows */
    REAL *panel_rest, *unit_rest; /* what rounding took off both; NULL unless fine */
    REAL *gap;                    /* CHORD_ROWS x W */
    REAL *cogap;
    REAL *temp;    /* 6 x W */
    REAL *ri;      /* coefficients of the row */
    REAL *states;  /* (depth + 1) x 3 x W */
    int64_t row;   /* of the chords */
    int64_t limit; /* operations from here on are not run one by one */
    bool tangent;  /* t is carried */
    bool opposite; /* some chords are nearly 2: cogaps were worked out (else, if limit > 0, 2 - gap)
                    */
} NAME(scratch);

/* Whole vectors, two at a time. */
static int64_t NAME(padded)(int64_t count)
{
    return (count + 2 * LANES - 1) / (2 * LANES) * (2 * LANES);
}

/* ---- directions and chords ------------------------------------------------------------------- */

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

/* |u - v|^2 / 2, accurate however close the two are, and (rest, may be NULL) 2 minus that. Returns
 * whether some pair is nearly opposite. */
static bool NAME(chords)(const REAL *restrict unit, const REAL *restrict panel, int64_t d,
                         int64_t count, REAL *restrict out, REAL *restrict rest)
{
    NAME(mask) opposite = {0};
    for (int64_t j = 0; j < count; j += 2 * LANES) {
        NAME(vec) total[2 * CHORD_ROWS] = {0};
        NAME(chord_chunk)(unit, panel + j, 0, d < CHORD_CHUNK ? d : CHORD_CHUNK, total);
        for (int64_t k = CHORD_CHUNK; k < d; k += CHORD_CHUNK) {
            NAME(vec) sum[2 * CHORD_ROWS] = {0};
            int64_t end = k + CHORD_CHUNK < d ? k + CHORD_CHUNK : d;
            NAME(chord_chunk)(unit, panel + j, k, end, sum);
            for (int r = 0; r < 2 * CHORD_ROWS; r++) {
                total[r] += sum[r];
            }
        }
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
    s->opposite = NAME(chords)(s->unit, s->panel, d, count, s->gap, s->limit ? s->cogap : NULL);
    if (s->panel_rest) {
        NAME(fine_chords)(s, d, count);
    }
    if (s->opposite) {
        for (int64_t k = 0; k < CHORD_ROWS * d; k++) {
            s->unit[k] = -s->unit[k];
        }
        NAME(chords)(s->unit, s->panel, d, count, s->cogap, NULL);
    }
}

/* ---- linear operations ----------------------------------------------------------------------- */

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

/* acos(1 - u) for u in [0, 1] */
INLINE REAL NAME(angle)(REAL u)
{
    REAL p = 0;
#pragma GCC unroll 32
    for (int k = ANGLE_TERMS - 1; k >= 0; k--) {
        p = p * u + NAME(angle_coef)[k];
    }
    return SQRT(u + u) * p;
}

/* linear z + folded |z|, squares of the weights normalised to sum 1: relu has 1/2 and 1/2. */
typedef struct NAME(fold_coef) {
    REAL linear, folded, turn; /* turn = 2 folded / pi */
} NAME(fold_coef);

/* With u = 1 - |rho| and phi = acos |rho|:  1 - kappa_abs = u - (2/pi) (sin phi - phi cos phi). */
INLINE NAME(pair) NAME(fold_step)(NAME(known) is, NAME(fold_coef) c, NAME(pair) p)
{
    REAL u = FABS(is.any_sign && p.cogap < p.gap ? p.cogap : p.gap); /* rounding may leave -1e-33 */
    REAL phi = NAME(angle)(u), bend = SQRT(u * (2 - u)) - phi * (1 - u);
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
        x.gap[j] = chord + aa * a.gap[j] + bb * x.gap[j];
        x.cogap[j] = chord + aa * a.cogap[j] + bb * x.cogap[j];
    }
    for (int64_t j = 0; means && j < count; j++) {
        REAL d5 = ri[5] - COL(5)[j], d6 = ri[6] - COL(6)[j], d7 = ri[7] - COL(7)[j];
        REAL d8 = ri[8] - COL(8)[j], d9 = ri[9] - COL(9)[j];
        REAL d10 = ri[10] - COL(10)[j], d11 = ri[11] - COL(11)[j];
        REAL gap_a = a.gap[j] - (REAL)0.5 * (d8 * d8 + d9 * d9);
        REAL gap_b = x.gap[j] - (REAL)0.5 * (d10 * d10 + d11 * d11);
        REAL gap = (REAL)0.5 * (d5 * d5 + d6 * d6 + d7 * d7) + ri[0] * COL(0)[j] * gap_a +
                   ri[1] * COL(1)[j] * gap_b;
        x.gap[j] = gap < 0 ? 0 : gap > 2 ? 2 : gap;
        x.cogap[j] = 2 - x.gap[j];
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

INLINE REAL NAME(horner)(const double *p, int order, REAL c)
{
    REAL sum = 0;
#pragma GCC unroll 8
    for (int k = order; k >= 0; k--) {
        sum = sum * c + (REAL)p[k];
    }
    return sum;
}

/* theta, sin theta of the whole range from gap and cogap */
static inline REAL NAME(full_angle)(REAL gap, REAL cogap, REAL *sine)
{
    REAL u = FABS(gap < cogap ? gap : cogap);
    REAL phi = NAME(angle)(u);
    *sine = SQRT(u * (2 - u));
    return gap <= cogap ? phi : PI_R - phi;
}

/* Inlined with a constant order where vectors are wanted. */
INLINE void NAME(power_loop)(int64_t count, bool positive, bool tangent, int order,
                             const far_arccos *k, NAME(state) x)
{
    REAL *restrict gaps = x.gap, *restrict cogaps = x.cogap, *restrict t = x.t;
    for (int64_t j = 0; j < count; j++) {
        REAL gap = gaps[j], cogap = positive ? 2 - gap : cogaps[j], sine;
        REAL theta = NAME(full_angle)(gap, cogap, &sine), c = 1 - gap;
        REAL q = NAME(horner)(k[0].q, order, c), p = NAME(horner)(k[0].p, order, c);
        gaps[j] = gap * NAME(horner)(k[0].gap, order, c) - (sine * p - theta * q) / PI_R;
        cogaps[j] = 2 - gaps[j];
        if (tangent) {
            q = NAME(horner)(k[1].q, order - 1, c);
            p = NAME(horner)(k[1].p, order - 1, c);
            t[j] *= q + (sine * p - theta * q) / PI_R;
        }
    }
}

static void NAME(power)(int64_t count, bool positive, const far_arccos *k, NAME(state) x)
{
    bool vector = x.t && !positive;
    if (vector && k[0].order == 2) {
        NAME(power_loop)(count, false, true, 2, k, x);
    } else if (vector && k[0].order == 3) {
        NAME(power_loop)(count, false, true, 3, k, x);
    } else {
        NAME(power_loop)(count, positive, x.t != NULL, k[0].order, k, x);
    }
}

#define TABLE_BASE ((int64_t)(1023 - FAR_TABLE_OCTAVES) << 2)

static inline double NAME(look_up)(const double (*rows)[FAR_TABLE_TERMS], double u)
{
    uint64_t bits;
    double sum = 0;
    u = u < 0x1.fffffffffffffp-1 ? u : 0x1.fffffffffffffp-1;
    memcpy(&bits, &u, sizeof bits);
    int64_t row = (int64_t)(bits >> 50) - TABLE_BASE;
    bool closer = row < 0;
    row = closer ? 0 : row;
    double t = (double)(bits & (((uint64_t)1 << 50) - 1)) * 0x1p-49 - 1;
    for (int k = FAR_TABLE_TERMS - 1; k >= 0; k--) {
        sum = sum * t + rows[row][k];
    }
    return closer ? 0 : sum;
}

static void NAME(table)(int64_t count, bool positive, const far_power_table *k, NAME(state) x)
{
    for (int64_t j = 0; j < count; j++) {
        double gap = x.gap[j], cogap = positive ? 2 - gap : x.cogap[j];
        bool near = gap <= cogap;
        double u = near ? gap : cogap;
        double value = NAME(look_up)(near ? k[0].near : k[0].far, u);
        x.gap[j] = (REAL)(near ? value : 1 - value);
        x.cogap[j] = 2 - x.gap[j];
        if (x.t) {
            double slope = NAME(look_up)(near ? k[1].near : k[1].far, u);
            x.t[j] *= (REAL)(near ? 1 - slope : slope);
        }
    }
}

static inline REAL NAME(unit_gap)(REAL value)
{
    return value < 0 ? 0 : value > 2 ? 2 : value;
}

/* Sums of a mixture over a block: dual, slope, scaled; each may be NULL. */
typedef struct NAME(sums) {
    REAL *restrict dual, *restrict slope, *restrict scaled;
} NAME(sums);

/* 1 - y and 1 + y for y = c c' rho, and asin y, D = sqrt(1 - y^2). */
#define MIXTURE_PAIR                                                                               \
    REAL kc = ci * c[j], ke = ei * e[j], dc = ci - c[j], de = ei - e[j];                           \
    REAL apart = (REAL)0.5 * (dc * dc + de * de) + ke;                                             \
    REAL below = apart + kc * x.gap[j], above = apart + kc * x.cogap[j];                           \
    REAL u = FABS(below < above ? below : above), y = kc * (1 - x.gap[j]);                         \
    REAL d = below * above, root = SQRT(d), inverse = root > 0 ? 1 / root : 0;                     \
    bool small = FABS(y) < (REAL)0.7; /* asin y is then angle(1 - root), with all its digits */    \
    REAL turned = NAME(angle)(small ? y * y / (1 + root) : u);                                     \
    REAL angle = COPYSIGN(small ? turned : PI_R / 2 - turned, y);

static void NAME(soft_sign)(int64_t count, REAL ci, REAL ei, REAL si, REAL weight,
                            const REAL *restrict c, const REAL *restrict e, const REAL *restrict sj,
                            NAME(state) x, NAME(sums) out)
{
    for (int64_t j = 0; j < count; j++) {
        MIXTURE_PAIR
        out.dual[j] += weight * (2 / PI_R) * angle;
        out.slope[j] += (4 / PI_R) * si * sj[j] * inverse;
        out.scaled[j] += weight * (2 / PI_R) * y * ke * ke * inverse * inverse * inverse;
    }
}

static void NAME(soft_relu)(int64_t count, bool scaled, REAL ci, REAL ei, REAL weight,
                            const REAL *restrict c, const REAL *restrict e, NAME(state) x,
                            NAME(sums) out)
{
    REAL turn = weight / (2 * PI_R), a = ei * ei;
    for (int64_t j = 0; j < count; j++) {
        MIXTURE_PAIR
        REAL rho = 1 - x.gap[j], b = e[j] * e[j], ab = a + b, aa = ke * ke,
             over = inverse * inverse;
        REAL linear = (REAL)0.25 * weight * rho + turn * rho * angle;
        out.dual[j] += linear + turn * kc * (root + rho * rho * aa * inverse);
        out.slope[j] +=
            (REAL)0.25 * weight + turn * angle + turn * y * inverse * (aa * over + aa + (ab - aa));
        if (scaled) {
            REAL k = (aa * (4 * d * d - 2 * d - 1) + ab * d * (2 * d - 1) + d * d) * over * inverse;
            REAL p = aa * aa * (3 + 2 * d + 4 * d * d) - aa * ab * d * (1 + 2 * d) +
                     aa * d * (1 + d) + ab * d * d;
            out.scaled[j] += linear + turn * (kc * k + rho * y * p * over * over * inverse);
        }
    }
}

static void NAME(mixture)(int64_t count, const far_op *op, const REAL *ri,
                          const REAL *restrict cols, int64_t ld, NAME(state) x, NAME(sums) out)
{
    const far_activation *a = op->activation;
    bool sign = a->family == FAR_FAMILY_SOFT_SIGN;
    int step = sign ? 3 : 2;
    for (int m = 0; m < a->terms; m++) {
        const REAL *i = ri + 1 + step * m;
        for (int n = 0; n < a->terms; n++) {
            const REAL *c = COL(1 + step * n), *e = COL(2 + step * n);
            REAL weight = (REAL)(a->weight[m] * a->weight[n]);
            if (sign) {
                NAME(soft_sign)(count, i[0], i[1], i[2], weight, c, e, COL(3 + step * n), x, out);
            } else {
                NAME(soft_relu)(count, op->gamma > 0, i[0], i[1], weight, c, e, x, out);
            }
        }
    }
    for (int64_t j = 0; j < count; j++) {
        out.dual[j] *= ri[0] * cols[j];
    }
}

/* ---- gaps behind smooth activations ----------------------------------------------------------
 * 1 - rho by subtraction would be good to 1e-16, so angles of near-duplicates only to 1e-16 /
 * angle. That is enough for smooth layers but not for kinks further on. There the gap is put
 * together from differences that are themselves small: with W the dual without its scale, gap = v
 * v' [(W(x, x) - W(x, x')) / 2 + (W(x', x') - W(x, x')) / 2] - (v - v')^2 / (2 v v'). */

/* One side of a difference: term n moves from one point (c1, e1) to the other (c2, e2), term m
 * stays (c0, e0). */
typedef struct NAME(move) {
    REAL c0, e0, c1, e1, c2, e2;
} NAME(move);

/* asin(c0 c1) - asin(c0 c2 rho), and the same difference of k D + rho^2 k q^2 / D, k = c c, q = e
 * e. */
typedef struct NAME(fine) {
    REAL angle, bend;
} NAME(fine);

INLINE REAL NAME(over)(REAL a, REAL b)
{
    return b > 0 ? a / b : 0;
}

/* asin z for z in [0, 1]; odd. */
INLINE REAL NAME(arcsine)(REAL z)
{
    REAL size = FABS(z) < 1 ? FABS(z) : 1, square = size * size;
    return COPYSIGN(NAME(angle)(square / (1 + SQRT(1 - square))), z);
}

INLINE NAME(fine) NAME(fine_step)(NAME(move) m, REAL gap, REAL root2)
{
    REAL rho = 1 - gap, wide = gap * (2 - gap), k1 = m.c0 * m.c1, k2 = m.c0 * m.c2;
    /* c1^2 - c2^2, from whichever of c and e is small */
    REAL sq = m.c1 < (REAL)0.7 ? (m.c1 - m.c2) * (m.c1 + m.c2) : (m.e2 - m.e1) * (m.e2 + m.e1);
    REAL dk = NAME(over)(m.c0 * sq, m.c1 + m.c2), num = m.c0 * m.c0 * (sq + m.c2 * m.c2 * wide);
    REAL d01 = m.c0 - m.c1, f01 = m.e0 - m.e1, ee = m.e0 * m.e1, e00 = m.e0 * m.e0;
    REAL root1 = SQRT(((REAL)0.5 * (d01 * d01 + f01 * f01) + ee) * (1 + k1));
    REAL shift = NAME(over)(-num, root1 + root2); /* root1 - root2 */
    REAL q2 = e00 * m.e2 * m.e2, p2 = rho * rho * k2 * q2;
    REAL dp = dk * ee * ee - k2 * e00 * sq + wide * k2 * q2;
    NAME(fine) out;
    out.angle = NAME(arcsine)(NAME(over)(num, k1 * root2 + k2 * rho * root1));
    out.bend =
        dk * root1 + k2 * shift + NAME(over)(dp, root1) - NAME(over)(p2 * shift, root1 * root2);
    return out;
}

/* Adds the contribution of terms m (at the row) and n (at the columns) to the gap of W. */
static void NAME(fine_pair)(int64_t count, bool sign, REAL weight, const REAL *mi, const REAL *ni,
                            const REAL *restrict mj, const REAL *restrict nj, int64_t ld,
                            const REAL *restrict gaps, REAL *restrict out)
{
    for (int64_t j = 0; j < count; j++) {
        REAL a = mi[0], ea = mi[1], b = nj[j], eb = nj[ld + j], gap = gaps[j];
        REAL da = a - b, de = ea - eb, apart = (REAL)0.5 * (da * da + de * de) + ea * eb;
        REAL below = apart + a * b * gap, root = SQRT(below * (2 - below));
        NAME(fine) col = NAME(fine_step)((NAME(move)){a, ea, ni[0], ni[1], b, eb}, gap, root);
        NAME(fine) row = NAME(fine_step)((NAME(move)){b, eb, mj[j], mj[ld + j], a, ea}, gap, root);
        REAL angle = (REAL)0.5 * (col.angle + row.angle), bend = (REAL)0.5 * (col.bend + row.bend);
        REAL asine = PI_R / 2 - NAME(angle)(below < 1 ? below : 1);
        REAL soft = (REAL)0.25 * gap + (angle + gap * asine + bend) / (2 * PI_R);
        out[j] += weight * (sign ? (2 / PI_R) * angle : soft);
    }
}

/* Replaces gaps below FINE_BELOW, where products of positive rho lie; fine: the sums. */
#define FINE_BELOW ((REAL)0.01)
static void NAME(use_fine)(int64_t count, REAL vi, const REAL *restrict vj,
                           const REAL *restrict fine, const REAL *restrict before,
                           REAL *restrict dual)
{
    for (int64_t j = 0; j < count; j++) {
        REAL vv = vi * vj[j], dv = vi - vj[j], gap = fine[j] * vv - dv * dv / (2 * vv);
        dual[j] = before[j] < FINE_BELOW ? gap : 1 - dual[j];
    }
}

static void NAME(fine_mixture)(int64_t count, const far_op *op, const REAL *ri,
                               const REAL *restrict cols, int64_t ld, const REAL *gap, REAL *dual,
                               REAL *fine)
{
    const far_activation *a = op->activation;
    bool sign = a->family == FAR_FAMILY_SOFT_SIGN;
    int step = sign ? 3 : 2;
    memset(fine, 0, W * sizeof *fine);
    for (int m = 0; m < a->terms; m++) {
        for (int n = 0; n < a->terms; n++) {
            REAL weight = (REAL)(a->weight[m] * a->weight[n]);
            NAME(fine_pair)
            (count, sign, weight, ri + 1 + step * m, ri + 1 + step * n, COL(1 + step * m),
             COL(1 + step * n), ld, gap, fine);
        }
    }
    NAME(use_fine)(count, ri[0], cols, fine, gap, dual);
}

/* Of a series: sum (a_k - a'_k)^2 / 2 + a_k a'_k (1 - rho^k), all positive for near-duplicates. */
static void NAME(fine_series)(int64_t count, int terms, const REAL *ri, const REAL *restrict cols,
                              int64_t ld, const REAL *restrict gap, REAL *restrict dual, REAL *temp)
{
    REAL *restrict power = temp, *restrict rest = temp + W;
    for (int64_t j = 0; j < count; j++) {
        power[j] = 1;
        rest[j] = dual[j] = 0;
    }
    for (int k = 0; k < terms; k++) {
        const REAL *restrict c = COL(k);
        for (int64_t j = 0; j < count; j++) {
            REAL da = ri[k] - c[j];
            dual[j] += (REAL)0.5 * da * da + ri[k] * c[j] * rest[j];
            rest[j] += power[j] * gap[j];
            power[j] *= 1 - gap[j];
        }
    }
}

/* sum_k a_k a'_k rho^k, four terms at a time */
static void NAME(series)(int64_t count, int terms, const REAL *ri, const REAL *restrict cols,
                         int64_t ld, const REAL *restrict gap, REAL *restrict out)
{
    for (int k = terms - 4; k >= 0; k -= 4) {
        const REAL *restrict c0 = COL(k), *restrict c1 = COL(k + 1);
        const REAL *restrict c2 = COL(k + 2), *restrict c3 = COL(k + 3);
        for (int64_t j = 0; j < count; j++) {
            REAL rho = 1 - gap[j], sum = out[j];
            sum = sum * rho + ri[k + 3] * c3[j];
            sum = sum * rho + ri[k + 2] * c2[j];
            sum = sum * rho + ri[k + 1] * c1[j];
            out[j] = sum * rho + ri[k] * c0[j];
        }
    }
}

/* sin: (e^-X -+ e^-Y) / 2 with X, Y = (r - r')^2 / 2 + r r' (1 -+ rho) */
static void NAME(sine)(int64_t count, const REAL *ri, const REAL *restrict cols, int64_t ld,
                       NAME(state) x, NAME(sums) out)
{
    const REAL *restrict r = COL(0), *restrict v = COL(1);
    for (int64_t j = 0; j < count; j++) {
        REAL dr = ri[0] - r[j], apart = (REAL)0.5 * dr * dr;
        REAL a = EXP(-(apart + ri[0] * x.gap[j] * r[j]));
        REAL b = EXP(-(apart + ri[0] * x.cogap[j] * r[j]));
        REAL k = ri[0] * (1 - x.gap[j]) * r[j], q = ri[0] * ri[0], p = r[j] * r[j];
        REAL size = FABS(k) < 1 ? FABS(k) : 1, grown = EXPM1(size);
        REAL sinh = COPYSIGN((REAL)0.5 * (grown + grown / (1 + grown)), k);
        REAL small = EXP((REAL)-0.5 * (q + p)) * sinh; /* (a - b) / 2 without cancellation */
        out.dual[j] = (FABS(k) < 1 ? small : (REAL)0.5 * (a - b)) * ri[1] * v[j];
        out.slope[j] = (REAL)0.5 * (a + b) * ri[2] * COL(2)[j];
        REAL near = a > 0 ? a * ((q - k) * (p - k) + k) : 0;
        REAL far = b > 0 ? b * ((q + k) * (p + k) - k) : 0;
        out.scaled[j] = (REAL)0.5 * (near - far);
    }
}

/* Where a sine or erf is almost linear, rho changes by almost nothing, whatever the scales:
 *     rho' = rho exp(L(rho x x') - L(x^2) / 2 - L(x'^2) / 2)
 * with L(y) = ln(sinh(y) / y), x = r, or L(y) = ln(asin(y) / y), x = c. */
INLINE REAL NAME(log_ratio)(const double *c, int terms, REAL y)
{
    REAL square = y * y, sum = 0;
#pragma GCC unroll 16
    for (int k = terms - 1; k >= 0; k--) {
        sum = sum * square + (REAL)c[k];
    }
    return sum * square;
}

INLINE void NAME(linear_gaps)(int64_t count, const double *c, int terms, REAL most, REAL xi,
                              const REAL *restrict xj, const REAL *restrict gaps,
                              REAL *restrict fine)
{
    REAL own = (REAL)0.5 * NAME(log_ratio)(c, terms, xi * xi);
    for (int64_t j = 0; xi * xi < most && j < count; j++) {
        REAL x = xj[j] * xj[j] < most ? xj[j] : 0, rho = 1 - gaps[j];
        REAL change = NAME(log_ratio)(c, terms, rho * xi * x) - own -
                      (REAL)0.5 * NAME(log_ratio)(c, terms, x * x);
        /* rounding: about max(x)^4 here, (x - x')^2 / (x x') there */
        REAL large = xi > x ? xi : x, apart = xi - x, fourth = large * large * large * large;
        bool better = xj[j] * xj[j] < most && fourth * xi * x < apart * apart;
        fine[j] = better ? gaps[j] - rho * EXPM1(change) : fine[j];
    }
}

#define LINEAR_SINE log_sinhc, (int)(sizeof log_sinhc / sizeof *log_sinhc), (REAL)1
#define LINEAR_ERF log_asinc, (int)(sizeof log_asinc / sizeof *log_asinc), (REAL)0.3

/* Of a sine, with s = r + r', e = r - r', X = e^2 / 2 + r r' gap:
 *     2 gap of W = (1 - exp(-X)) - exp(-s^2/2) [exp(-e^2/2) cosh(s e) - exp(r r' gap)]
 * where s e and r r' gap are small; elsewhere nothing cancels. */
static void NAME(fine_sine)(int64_t count, const REAL *ri, const REAL *restrict cols, int64_t ld,
                            const REAL *restrict gaps, REAL *restrict dual)
{
    const REAL *restrict r = COL(0), *restrict v = COL(1);
    for (int64_t j = 0; j < count; j++) {
        REAL s = ri[0] + r[j], e = ri[0] - r[j], se = FABS(s * e), rr = ri[0] * r[j] * gaps[j];
        bool near = se < 1 && rr < 1;
        REAL x = near ? se : 1, y = near ? rr : 1, half = (REAL)0.5 * e * e;
        REAL grown = EXPM1(x), cosh1 = grown * grown / (2 * (1 + grown)); /* cosh(x) - 1 */
        REAL bracket = EXPM1(-half) * (1 + cosh1) + cosh1 - EXPM1(y);
        REAL w = (REAL)0.5 * (-EXPM1(-(half + y)) - EXP((REAL)-0.5 * s * s) * bracket);
        REAL vv = ri[1] * v[j], dv = ri[1] - v[j], fine = w * vv - dv * dv / (2 * vv);
        dual[j] = near ? fine : 1 - dual[j];
    }
}

/* An odd activation treats rho and -rho alike: |rho| is what is worked on. */
static void NAME(fold_sign)(int64_t count, NAME(state) x, REAL *restrict near, REAL *restrict dual)
{
    for (int64_t j = 0; j < count; j++) {
        dual[j] = x.cogap[j] < x.gap[j] ? -dual[j] : dual[j];
        near[j] = x.cogap[j] < x.gap[j] ? x.cogap[j] : x.gap[j];
    }
}

/* New gaps from the duals; temp has room for three blocks. Where kinks follow, the smaller of gap
 * and cogap keeps its digits. */
static void NAME(smooth_gap)(int64_t count, const far_op *op, int terms, const REAL *ri,
                             const REAL *restrict cols, int64_t ld, NAME(state) x, REAL *dual,
                             REAL *temp)
{
    bool odd = op->activation->family != FAR_FAMILY_SOFT_RELU;
    REAL *near = odd && op->sharp ? temp + 2 * W : x.gap;
    if (odd && op->sharp) {
        NAME(fold_sign)(count, x, near, dual);
    }
    if (op->sharp && terms) {
        NAME(fine_series)(count, terms, ri, cols, ld, near, dual, temp);
    } else if (op->sharp && op->activation->terms) {
        NAME(fine_mixture)(count, op, ri, cols, ld, near, dual, temp);
        if (odd && op->activation->terms == 1) {
            NAME(linear_gaps)(count, LINEAR_ERF, ri[1], COL(1), near, dual);
        }
    } else if (op->sharp) {
        NAME(fine_sine)(count, ri, cols, ld, near, dual);
        NAME(linear_gaps)(count, LINEAR_SINE, ri[0], COL(0), near, dual);
    }
    for (int64_t j = 0; j < count; j++) {
        REAL gap = NAME(unit_gap)(op->sharp ? dual[j] : 1 - dual[j]);
        bool turned = odd && op->sharp && x.cogap[j] < x.gap[j];
        x.gap[j] = turned ? 2 - gap : gap;
        x.cogap[j] = turned ? gap : 2 - gap;
    }
}

static void NAME(smooth)(int64_t count, const far_op *op, int terms, int slots, const REAL *ri,
                         const REAL *restrict cols, int64_t ld, NAME(state) x, REAL *temp)
{
    NAME(sums) out = {temp, temp + W, temp + 2 * W};
    memset(temp, 0, 3 * W * sizeof *temp);
    if (op->activation->family == FAR_FAMILY_SINE) {
        NAME(sine)(count, ri, cols, ld, x, out);
    } else if (terms) {
        NAME(series)(count, op->sharp ? 0 : terms, ri, cols, ld, x.gap, out.dual);
        NAME(series)(count, terms, ri + terms, COL(terms), ld, x.gap, out.slope);
        NAME(series)
        (count, op->gamma ? terms : 0, ri + 2 * terms, COL(2 * terms), ld, x.gap, out.scaled);
    } else {
        NAME(mixture)(count, op, ri, cols, ld, x, out);
    }
    NAME(smooth_gap)(count, op, terms, ri, cols, ld, x, out.dual, temp + 3 * W);
    for (int64_t j = 0; x.t && j < count; j++) {
        x.t[j] *= out.slope[j];
    }
    const REAL *restrict A = COL(slots - 2), *restrict B = COL(slots - 1);
    for (int64_t j = 0; x.t && op->gamma && j < count; j++) {
        x.t[j] = ri[slots - 1] * B[j] * x.t[j] + ri[slots - 2] * A[j] * out.scaled[j];
    }
}

static bool NAME(is_fold)(const far_op *op)
{
    return op->kind == FAR_OP_ACTIVATE && op->activation->family == FAR_FAMILY_FOLD;
}

static NAME(fold_coef) NAME(fold_of)(const far_activation *a)
{
    long double linear = a->linear * a->linear, folded = a->folded * a->folded;
    long double size = linear + folded;
    return (NAME(fold_coef)){(REAL)(linear / size), (REAL)(folded / size),
                             (REAL)(2 * folded / (size * 3.14159265358979323846L))};
}

static void NAME(homogeneous)(int64_t count, const far_op *op, const REAL *ri,
                              const REAL *restrict cols, int64_t ld, NAME(state) x)
{
    const far_activation *a = op->activation;
    bool positive = op->sign == FAR_SIGN_POSITIVE;
    if (a->family == FAR_FAMILY_FOLD) {
        NAME(fold_coef) fold = NAME(fold_of)(a);
        NAME(known) is = {!positive, !positive, x.t != NULL, false, false};
        NAME(layer)(fold.folded == 0 ? 0 : count, is, NULL, &fold, x);
    } else if (a->family == FAR_FAMILY_POWER) {
        NAME(power)(count, positive, a->arccos, x);
    } else {
        NAME(table)(count, positive, a->table, x);
    }
    for (int64_t j = 0; x.t && op->gamma && j < count; j++) {
        x.t[j] = ri[0] * COL(0)[j] * (1 - x.gap[j]) + ri[1] * COL(1)[j] * x.t[j];
    }
}

/* cogap is carried only while it may be small; whoever reads it otherwise finds 2 - gap. */
static void NAME(refresh)(int64_t count, const far_op *op, NAME(state) x)
{
    bool reads = op->kind == FAR_OP_ACTIVATE || op->kind == FAR_OP_CENTER ||
                 op->kind == FAR_OP_PUSH || op->kind == FAR_OP_ADD;
    if (op->sign == FAR_SIGN_POSITIVE && op->kind == FAR_OP_ACTIVATE &&
        op->activation->family <= FAR_FAMILY_TABLE) {
        return;
    }
    for (int64_t j = 0; op->sign != FAR_SIGN_ANY && reads && j < count; j++) {
        x.cogap[j] = 2 - x.gap[j];
    }
}

/* ---- one row of a tile ----------------------------------------------------------------------- */

/* Level 0 starts from the chords of the current row, in place. */
static NAME(state) NAME(state_at)(const NAME(scratch) * s, int level)
{
    REAL *base = s->states + (int64_t)level * 3 * W, *t = s->tangent ? base + 2 * W : NULL;
    if (level == 0) {
        return (NAME(state)){s->gap + s->row * W, s->cogap + s->row * W, t};
    }
    return (NAME(state)){base, base + W, t};
}

static void NAME(copy_state)(int64_t count, NAME(state) from, NAME(state) to)
{
    size_t bytes = (size_t)count * sizeof(REAL);
    memcpy(to.gap, from.gap, bytes);
    memcpy(to.cogap, from.cogap, bytes);
    if (from.t) {
        memcpy(to.t, from.t, bytes);
    }
}

/* The fold that may be done together with the dense at index, or NULL; next: the operation after.
 */
static const far_op *NAME(fold_after)(const far_plan *plan, int64_t index, int64_t limit,
                                      int64_t *next)
{
    int64_t i = index + 1;
    while (i < limit && plan->ops[i].kind == FAR_OP_SCALE) {
        i++;
    }
    *next = i + 1;
    bool fits = i < limit && NAME(is_fold)(&plan->ops[i]) && !plan->ops[i].gamma &&
                plan->ops[i].activation->folded != 0 && plan->ops[i].sign != FAR_SIGN_MILD;
    return fits ? &plan->ops[i] : NULL;
}

static bool NAME(rectifies)(const far_op *fold)
{
    return fold && fabsl(fold->activation->folded) >= fabsl(fold->activation->linear);
}

/* Returns the number of operations done: a fold that follows is done in the same pass. */
static int64_t NAME(run_dense)(const far_tile *tile, int64_t index, int64_t limit, int64_t count,
                               const REAL *ri, const REAL *cols, NAME(state) x, REAL *temp)
{
    const far_op *op = &tile->plan->ops[index];
    bool any_sign = op->sign == FAR_SIGN_ANY;
    if (op->standard) {
        NAME(dense_standard)(count, any_sign, ri, cols, tile->cols->ld, x);
        return 1;
    }
    if (tile->zeros) {
        NAME(known) known = {any_sign, any_sign, x.t != NULL, false, op->plain};
        NAME(dense_zeros)(count, known, ri, cols, tile->cols->ld, x);
        return 1;
    }
    if (op->fine) {
        NAME(known) known = {any_sign, any_sign, x.t != NULL, false, op->plain};
        NAME(dense_fine)(count, op->plain ? 2 : 4, known, ri, cols, tile->cols->ld, x, temp);
        return 1;
    }
    int64_t next;
    const far_op *follows = NAME(fold_after)(tile->plan, index, limit, &next);
    NAME(dense_coef) dense = NAME(dense_of)(ri, cols, tile->cols->ld, op->plain);
    NAME(known)
    is = {any_sign, any_sign && !NAME(rectifies)(follows), x.t != NULL, index == 0, op->plain};
    if (follows) {
        NAME(fold_coef) fold = NAME(fold_of)(follows->activation);
        NAME(layer)(count, is, &dense, &fold, x);
        return next - index;
    }
    NAME(layer)(count, is, &dense, NULL, x);
    return 1;
}

static int64_t NAME(run_op)(const far_tile *tile, int64_t index, int64_t count, const REAL *ri,
                            const NAME(scratch) * s, int *level)
{
    const far_op *op = &tile->plan->ops[index];
    int64_t ld = tile->cols->ld;
    int slot = tile->layout->slot[index], terms = tile->layout->series[index];
    int end = index + 1 < tile->plan->count ? tile->layout->slot[index + 1] : tile->layout->slots;
    const REAL *cols = (const REAL *)tile->cols->coef + slot * ld + tile->j0;
    NAME(state) x = NAME(state_at)(s, *level);
    ri += slot;
    NAME(refresh)(count, op, x);
    switch (op->kind) {
    case FAR_OP_DENSE:
        return NAME(run_dense)(tile, index, s->limit, count, ri, cols, x, s->temp);
    case FAR_OP_CENTER:
        NAME(center)(count, op->sign == FAR_SIGN_ANY, ri, cols, ld, x);
        break;
    case FAR_OP_SHIFT:
        NAME(shift)(count, ri, cols, ld, x);
        break;
    case FAR_OP_ACTIVATE:
        if (op->activation->family <= FAR_FAMILY_TABLE) {
            NAME(homogeneous)(count, op, ri, cols, ld, x);
        } else {
            NAME(smooth)(count, op, terms, end - slot, ri, cols, ld, x, s->temp);
        }
        break;
    case FAR_OP_PUSH:
        *level += 1;
        NAME(copy_state)(count, x, NAME(state_at)(s, *level));
        break;
    case FAR_OP_ADD:
        *level -= 1;
        NAME(state) a = NAME(state_at)(s, *level);
        NAME(add)(count, !op->gaussian, ri, cols, ld, a, x);
        NAME(copy_state)(count, x, a);
        break;
    case FAR_OP_SCALE:
        break;
    }
    return 1;
}

/* out[j] = (scale_i value[j]) scale_j; wide: with exponents that may leave the range of REAL. */
static void NAME(finish)(const far_tile *tile, int64_t i, int64_t count, const far_big *row_scale,
                         const far_big *col_scale, int slot, const REAL *ri, REAL *restrict value,
                         bool complement, far_mat *m)
{
    REAL *restrict out = (REAL *)m->data + i * m->ld + tile->j0;
    const REAL *restrict cols = (const REAL *)tile->cols->coef + slot * tile->cols->ld + tile->j0;
    REAL most = tile->plan->positive ? 1 : 2; /* rounding of rho = 0 must not turn into -inf */
    for (int64_t j = 0; complement && j < count; j++) {
        value[j] = 1 - (value[j] < most ? value[j] : most);
    }
    for (int64_t j = 0; j < count && !tile->wide; j++) {
        out[j] = ri[slot] * value[j] * cols[j];
    }
    for (int64_t j = 0; j < count && tile->wide; j++) {
        far_big b = col_scale[tile->j0 + j], a = row_scale[i];
        out[j] = (REAL)far_big_coef(far_big_mul(far_big_mul(a, far_big_from(value[j])), b));
    }
}

/* A first dense and relu set t without reading it. */
static bool NAME(starts_tangent)(const far_tile *tile, int64_t limit)
{
    int64_t next;
    const far_plan *plan = tile->plan;
    return !tile->zeros && plan->ops[0].kind == FAR_OP_DENSE && plan->ops[0].plain &&
           !plan->ops[0].fine && NAME(rectifies)(NAME(fold_after)(plan, 0, limit, &next));
}

/* Theta alone, in range, after a dense: written by that dense. */
static bool NAME(ends_plainly)(const far_tile *tile)
{
    const far_op *last = &tile->plan->ops[tile->plan->count - 1];
    return tile->ntk && !tile->nngp && !tile->wide && !tile->tail && last->kind == FAR_OP_DENSE &&
           !last->standard && tile->plan->count > 1;
}

static void NAME(end)(const far_tile *tile, int64_t i, int64_t count, const REAL *ri, NAME(state) x)
{
    int slots = tile->layout->slots;
    if (tile->nngp) {
        NAME(finish)
        (tile, i, count, tile->rows->r, tile->cols->r, slots, ri, x.gap, true, tile->nngp);
    }
    if (tile->ntk) {
        NAME(finish)
        (tile, i, count, tile->rows->p, tile->cols->p, slots + 1, ri, x.t, false, tile->ntk);
    }
}

static void NAME(end_plainly)(const far_tile *tile, int64_t i, int64_t count, const REAL *ri,
                              NAME(state) x)
{
    int64_t ld = tile->cols->ld, index = tile->plan->count - 1;
    int slot = tile->layout->slot[index], p = tile->layout->slots + 1;
    const REAL *cols = (const REAL *)tile->cols->coef + tile->j0;
    bool plain = tile->plan->ops[index].plain;
    NAME(dense_coef) dense = NAME(dense_of)(ri + slot, cols + slot * ld, ld, plain);
    REAL *out = (REAL *)tile->ntk->data + i * tile->ntk->ld + tile->j0;
    NAME(last_dense)(count, plain, &dense, ri[p], COL(p), x, out);
}

#ifdef HAS_TAIL
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
INLINE NAME(twin) NAME(half_curve)(const far_curve *curve, int from, NAME(spot) a, NAME(spot) b,
                                   NAME(twin) square)
{
    NAME(twin) sum = {0};
#pragma GCC unroll 8
    for (int k = from; k >= 0; k -= 2) {
        NAME(vec) low = *(const NAME(vec_u) *)curve->c[k];
        NAME(vec) high = *(const NAME(vec_u) *)(curve->c[k] + LANES);
        sum.a = sum.a * square.a + __builtin_shuffle(low, high, a.piece);
        sum.b = sum.b * square.b + __builtin_shuffle(low, high, b.piece);
    }
    return sum;
}

/* Even and odd powers apart: the chains are half as long, and waiting for them is what costs. */
INLINE NAME(twin) NAME(curve)(const far_curve *curve, int terms, NAME(spot) a, NAME(spot) b)
{
    NAME(twin) square = {a.x * a.x, b.x * b.x};
    NAME(twin) even = NAME(half_curve)(curve, terms - 1, a, b, square);
    NAME(twin) odd = NAME(half_curve)(curve, terms - 2, a, b, square);
    return (NAME(twin)){even.a + a.x * odd.a, even.b + b.x * odd.b};
}

INLINE void NAME(store)(REAL *out, NAME(vec) value, int64_t room)
{
    if (room >= LANES) {
        *(NAME(vec_u) *)out = value;
    } else if (room > 0) {
        memcpy(out, &value, (size_t)room * sizeof(REAL));
    }
}

/* What a tail does with a block: constants of the loop below. */
typedef struct NAME(tail_known) {
    bool dense;    /* the first dense is still to be done */
    bool any_sign; /* cogap is carried */
    bool linear;   /* Theta_in is t, not rho */
    int terms;
} NAME(tail_known);

INLINE NAME(spot)
    NAME(tail_spot)(NAME(tail_known) is, const NAME(dense_coef) * dense, int64_t j, NAME(state) x)
{
    NAME(vec) gap = *(const NAME(vec_u) *)(x.gap + j), cogap = 2 - gap;
    if (is.any_sign) {
        cogap = *(const NAME(vec_u) *)(x.cogap + j);
    }
    if (is.dense) {
        NAME(vec) al = *(const NAME(vec_u) *)(dense->al_j + j);
        NAME(vec) be = *(const NAME(vec_u) *)(dense->be_j + j);
        NAME(vec) da = dense->al - al, db = dense->be - be, sb = dense->be + be;
        NAME(vec) aa = 2 * dense->al * al;
        gap = (da * da + db * db) + aa * gap;
        cogap = (da * da + sb * sb) + aa * cogap;
    }
    return NAME(spot_of)(gap, cogap);
}

INLINE void NAME(tail_loop)(int64_t count, NAME(tail_known) is, const NAME(dense_coef) * dense,
                            const far_curve *constant, const far_curve *linear, NAME(state) x,
                            REAL *restrict out)
{
    for (int64_t j = 0; j < count; j += 2 * LANES) {
        NAME(spot)
        a = NAME(tail_spot)(is, dense, j, x),
        b = NAME(tail_spot)(is, dense, j + LANES, x);
        NAME(twin) value = NAME(curve)(constant, is.terms, a, b);
        if (is.linear) {
            NAME(twin) slope = NAME(curve)(linear, is.terms, a, b);
            value.a += slope.a * *(const NAME(vec_u) *)(x.t + j);
            value.b += slope.b * *(const NAME(vec_u) *)(x.t + j + LANES);
        }
        NAME(store)(out + j, value.a, count - j);
        NAME(store)(out + j + LANES, value.b, count - j - LANES);
    }
}

INLINE void NAME(tail_with)(int64_t count, int terms, NAME(tail_known) is,
                            const NAME(dense_coef) * dense, const far_curve *constant,
                            const far_curve *linear, NAME(state) x, REAL *out)
{
    if (is.dense && is.any_sign) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){true, true, false, terms}, dense, constant, NULL, x, out);
    } else if (is.dense) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){true, false, false, terms}, dense, constant, NULL, x, out);
    } else if (is.linear && is.any_sign) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, true, true, terms}, NULL, constant, linear, x, out);
    } else if (is.linear) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, false, true, terms}, NULL, constant, linear, x, out);
    } else if (is.any_sign) {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, true, false, terms}, NULL, constant, NULL, x, out);
    } else {
        NAME(tail_loop)
        (count, (NAME(tail_known)){false, false, false, terms}, NULL, constant, NULL, x, out);
    }
}

static void NAME(run_tail)(int64_t count, NAME(tail_known) is, const NAME(dense_coef) * dense,
                           const far_curve *constant, const far_curve *linear, NAME(state) x,
                           REAL *out)
{
    if (is.terms == FAR_TAIL_TERMS_FEW) {
        NAME(tail_with)(count, FAR_TAIL_TERMS_FEW, is, dense, constant, linear, x, out);
    } else {
        NAME(tail_with)(count, FAR_TAIL_TERMS, is, dense, constant, linear, x, out);
    }
}

/* A tail right behind the first dense does that too; then no operation is run by itself. */
static void NAME(end_with_tail)(const far_tile *tile, int64_t i, int64_t count,
                                const NAME(scratch) * s, NAME(state) x)
{
    const far_tail *tail = tile->tail;
    const far_plan *plan = tile->plan;
    const REAL *cols = (const REAL *)tile->cols->coef + tile->j0;
    NAME(dense_coef) dense = NAME(dense_of)(s->ri, cols, tile->cols->ld, true);
    bool any_sign = tail->rho_in ? s->opposite : plan->ops[tail->from].sign == FAR_SIGN_ANY;
    NAME(tail_known) is = {tail->rho_in, any_sign, false, tail->terms};
    if (tile->nngp) {
        REAL *out = (REAL *)tile->nngp->data + i * tile->nngp->ld + tile->j0;
        NAME(run_tail)(count, is, &dense, &tail->nngp, NULL, x, out);
    }
    if (tile->ntk) {
        REAL *out = (REAL *)tile->ntk->data + i * tile->ntk->ld + tile->j0;
        is.linear = !tail->rho_in;
        NAME(run_tail)(count, is, &dense, &tail->constant, &tail->linear, x, out);
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
#endif

static void NAME(load_row)(const far_tile *tile, int64_t i, int begin, int end, REAL *ri)
{
    for (int k = begin; k < end; k++) {
        ri[k] = ((const REAL *)tile->rows->coef)[k * tile->rows->ld + i];
    }
}

static void NAME(run_row)(const far_tile *tile, int64_t i, int64_t count, const NAME(scratch) * s)
{
    int64_t padded = NAME(padded)(count);
    int level = 0, slots = tile->layout->slots;
    bool plainly = NAME(ends_plainly)(tile);
    NAME(state) x = NAME(state_at)(s, 0);
    NAME(load_row)(tile, i, 0, tile->tail ? tile->layout->slot[tile->tail->from] : slots, s->ri);
    NAME(load_row)(tile, i, slots, slots + 2, s->ri);
    if (x.t && !NAME(starts_tangent)(tile, s->limit)) {
        memset(x.t, 0, (size_t)padded * sizeof(REAL));
    }
    for (int64_t k = 0; k < s->limit - plainly;) {
        k += NAME(run_op)(tile, k, padded, s->ri, s, &level);
    }
#ifdef HAS_TAIL
    if (tile->tail) {
        NAME(end_with_tail)(tile, i, count, s, x);
        return;
    }
#endif
    if (plainly) {
        NAME(end_plainly)(tile, i, count, s->ri, x);
    } else {
        NAME(end)(tile, i, count, s->ri, x);
    }
}

static void NAME(write_diagonal)(const far_tile *tile, int64_t i)
{
    if (tile->nngp) {
        far_big k = far_big_square(tile->rows->r[i]);
        ((REAL *)tile->nngp->data)[i * tile->nngp->ld + i] = (REAL)far_big_coef(k);
    }
    if (tile->ntk) {
        ((REAL *)tile->ntk->data)[i * tile->ntk->ld + i] = (REAL)far_big_coef(tile->rows->theta[i]);
    }
}

/* ---- the tile -------------------------------------------------------------------------------- */

static NAME(scratch) NAME(lay_out)(const far_tile *tile)
{
    int64_t d = tile->cols->d;
    REAL *next = tile->scratch;
    NAME(scratch) s;
    s.panel = next;
    s.gap = s.panel + d * W;
    s.cogap = s.gap + CHORD_ROWS * W;
    s.temp = s.cogap + CHORD_ROWS * W;
    s.states = s.temp + 6 * W;
    s.unit = s.states + (int64_t)(tile->plan->depth + 1) * 3 * W;
    s.ri = s.unit + CHORD_ROWS * d;
    s.panel_rest = s.unit_rest = NULL;
    if (tile->cols->unit_rest) {
        s.panel_rest = s.ri + tile->layout->slots + 2;
        s.unit_rest = s.panel_rest + d * W;
    }
    s.row = 0;
    s.opposite = true;
    s.limit = !tile->tail ? tile->plan->count : tile->tail->rho_in ? 0 : tile->tail->from;
    s.tangent = tile->ntk && !(tile->tail && tile->tail->rho_in);
    return s;
}

static void NAME(fill_panel)(const far_tile *tile, const NAME(scratch) * s)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    const REAL *unit = (const REAL *)tile->cols->unit + tile->j0 * d;
    REAL *panel = s->panel;
    for (int64_t k = 0; k < d; k++) {
        for (int64_t j = 0; j < W; j++) {
            panel[k * W + j] = j < count ? unit[j * d + k] : 0;
        }
    }
    for (int64_t k = 0; s->panel_rest && k < d; k++) {
        for (int64_t j = 0; j < W; j++) {
            s->panel_rest[k * W + j] =
                j < count ? (REAL)tile->cols->unit_rest[(tile->j0 + j) * d + k] : 0;
        }
    }
}

static void NAME(run_rows)(const far_tile *tile, int64_t i, NAME(scratch) * s)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    int64_t last = i + CHORD_ROWS < tile->i1 ? i + CHORD_ROWS : tile->i1;
    if (tile->lower && last - tile->j0 < count) {
        count = last - tile->j0;
    }
    for (int r = 0; r < CHORD_ROWS; r++) { /* a short group repeats its last row */
        int64_t row = i + r < last ? i + r : last - 1;
        const REAL *from = (const REAL *)tile->rows->unit + row * d;
        for (int64_t k = 0; k < d; k++) {
            s->unit[k * CHORD_ROWS + r] = from[k];
        }
        for (int64_t k = 0; s->unit_rest && k < d; k++) {
            s->unit_rest[k * CHORD_ROWS + r] = (REAL)tile->rows->unit_rest[row * d + k];
        }
    }
    NAME(start)(s, d, NAME(padded)(count));
    for (int64_t row = i; row < last; row++) {
        int64_t wanted = tile->lower && row + 1 - tile->j0 < count ? row + 1 - tile->j0 : count;
        s->row = row - i;
        NAME(run_row)(tile, row, wanted, s);
        if (tile->lower && row < tile->j1) {
            NAME(write_diagonal)(tile, row);
        }
    }
}

void TILE_FN(const far_tile *tile)
{
    NAME(scratch) s = NAME(lay_out)(tile);
    NAME(fill_panel)(tile, &s);
    for (int64_t i = tile->i0; i < tile->i1; i += CHORD_ROWS) {
        NAME(run_rows)(tile, i, &s);
    }
}

#undef W
#undef LANES
#undef CHORD_ROWS
#undef CHORD_CHUNK
#undef COL
#undef PI_R
#undef ANGLE_TERMS
#undef TABLE_BASE
#undef MIXTURE_PAIR
#undef FINE_BELOW
#undef LINEAR_SINE
#undef LINEAR_ERF
#undef REAL
#undef NAME
#undef TILE_FN
#undef MASK_INT
#undef SQRT
#undef FABS
#undef COPYSIGN
#undef INLINE
#undef EXP
#undef EXPM1
