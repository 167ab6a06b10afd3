/*
 * The tile, for one REAL. Included twice by tile_isa.c, which defines REAL, NAME, TILE_FN, SQRT, EXP
 * and ANGLE_POLY. Loops run over whole vectors (counts are rounded up into the padding), so a
 * pair's bits do not depend on where it stands in a tile.
 */
#include "tile_poly.h"

#define W FAR_TILE_SIDE
#define LANES (64 / (int)sizeof(REAL))
#define CHORD_ROWS 4
#define CHORD_CHUNK 128 /* features summed at once; chunks are added up, so errors stay small */
#define COL(s) (cols + (int64_t)(s) * ld)
#define PI_R ((REAL)3.141592653589793238)

typedef REAL NAME(vec) __attribute__((vector_size(64)));
typedef REAL NAME(vec_u) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

typedef struct NAME(state) {
    REAL *restrict gap, *restrict cogap, *restrict t;
} NAME(state);

typedef struct NAME(scratch) {
    REAL *panel; /* d x W: directions of the columns, feature by feature */
    REAL *unit;  /* CHORD_ROWS x d: directions of some rows */
    REAL *gap;   /* CHORD_ROWS x W */
    REAL *cogap;
    REAL *temp;      /* 4 x W */
    REAL *ri;        /* coefficients of the row */
    REAL *states;    /* (depth + 1) x 3 x W */
} NAME(scratch);

/* ---- directions and chords ------------------------------------------------------------------- */

/* gap = |u - v|^2 / 2 (or |u + v|^2 / 2), accurate however close the two are. */
static void NAME(chords)(const REAL *unit, const REAL *panel, int64_t d, int64_t count, REAL sign,
                         REAL *out)
{
    for (int64_t j = 0; j < count; j += LANES) {
        NAME(vec) total[CHORD_ROWS] = {0};
        for (int64_t k0 = 0; k0 < d; k0 += CHORD_CHUNK) {
            int64_t k1 = k0 + CHORD_CHUNK < d ? k0 + CHORD_CHUNK : d;
            NAME(vec) sum[CHORD_ROWS] = {0};
            for (int64_t k = k0; k < k1; k++) {
                NAME(vec) v = *(const NAME(vec_u) *)(panel + k * W + j) * sign;
                for (int r = 0; r < CHORD_ROWS; r++) {
                    NAME(vec) difference = unit[r * d + k] - v;
                    sum[r] += difference * difference;
                }
            }
            for (int r = 0; r < CHORD_ROWS; r++) {
                total[r] += sum[r];
            }
        }
        for (int r = 0; r < CHORD_ROWS; r++) {
            *(NAME(vec_u) *)(out + r * W + j) = total[r] * (REAL)0.5;
        }
    }
}

static bool NAME(any_above)(const REAL *v, int64_t count, REAL limit)
{
    int above = 0;
    for (int64_t j = 0; j < count; j++) {
        above |= v[j] > limit;
    }
    return above;
}

static void NAME(start)(const NAME(scratch) *s, int64_t d, int64_t count)
{
    NAME(chords)(s->unit, s->panel, d, count, 1, s->gap);
    bool opposite = false;
    for (int r = 0; r < CHORD_ROWS; r++) {
        REAL *gap = s->gap + r * W, *cogap = s->cogap + r * W;
        for (int64_t j = 0; j < count; j++) {
            gap[j] = gap[j] < 2 ? gap[j] : 2;
            cogap[j] = 2 - gap[j];
        }
        opposite = opposite || NAME(any_above)(gap, count, (REAL)1.9);
    }
    if (opposite) {
        NAME(chords)(s->unit, s->panel, d, count, -1, s->cogap);
    }
}

/* ---- linear operations ----------------------------------------------------------------------- */

static void NAME(dense)(int64_t count, bool signed_, bool standard, const REAL *ri,
                        const REAL *restrict cols, int64_t ld, NAME(state) x)
{
    const REAL *restrict al = COL(0), *restrict be = COL(1);
    for (int64_t j = 0; x.t && standard && j < count; j++) {
        REAL rho = 1 - x.gap[j];
        x.t[j] = ri[2] * COL(2)[j] * x.t[j] + ri[3] * COL(3)[j] * rho + ri[4] * COL(4)[j];
    }
    for (int64_t j = 0; j < count; j++) {
        REAL da = ri[0] - al[j], db = ri[1] - be[j], aa = ri[0] * al[j];
        x.gap[j] = (REAL)0.5 * (da * da + db * db) + aa * x.gap[j];
    }
    for (int64_t j = 0; signed_ && j < count; j++) {
        REAL da = ri[0] - al[j], sb = ri[1] + be[j], aa = ri[0] * al[j];
        x.cogap[j] = (REAL)0.5 * (da * da + sb * sb) + aa * x.cogap[j];
    }
    const REAL *restrict A = COL(2), *restrict B = COL(3);
    for (int64_t j = 0; x.t && !standard && j < count; j++) {
        x.t[j] = ri[2] * A[j] * (1 - x.gap[j]) + ri[3] * B[j] * x.t[j];
    }
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
        REAL aa = ri[0] * COL(0)[j], bb = ri[1] * COL(1)[j], chord = (REAL)0.5 * (da * da + db * db);
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

/* acos(1 - u) for u in [0, 1] */
static inline REAL NAME(angle)(REAL u)
{
    REAL p = 0;
#define STEP(c) p = p * u + (REAL)(c);
    ANGLE_POLY(STEP)
#undef STEP
    return SQRT(2 * u) * p;
}

/* linear z + folded |z|, squares of the weights normalised to sum 1: relu has 1/2 and 1/2.
 * With u = 1 - |rho| and phi = acos |rho|:  1 - kappa_abs = u - (2/pi) (sin phi - phi cos phi).
 * Always inlined, with positive and tangent constant, so that the loop has no branches. */
static inline __attribute__((always_inline)) void NAME(fold_loop)(int64_t count, bool positive,
                                                                  bool tangent, REAL linear,
                                                                  REAL folded, NAME(state) x)
{
    REAL *restrict gaps = x.gap, *restrict cogaps = x.cogap, *restrict t = x.t;
    for (int64_t j = 0; j < count; j++) {
        REAL gap = gaps[j], cogap = positive ? 2 - gap : cogaps[j];
        REAL u = positive ? gap : gap < cogap ? gap : cogap;
        u = u < 0 ? 0 : u;
        u = u > 1 ? 1 : u;
        REAL phi = NAME(angle)(u), sine = SQRT(u * (2 - u));
        REAL bent = u - (2 / PI_R) * (sine - phi * (1 - u));
        REAL slope = 1 - (2 / PI_R) * phi;
        gaps[j] = linear * gap + folded * bent;
        if (!positive) {
            cogaps[j] = linear * cogap + folded * (2 - bent);
            slope = gap <= cogap ? slope : -slope;
        }
        if (tangent) {
            t[j] *= linear + folded * slope;
        }
    }
}

static void NAME(fold)(int64_t count, bool positive, REAL linear, REAL folded, NAME(state) x)
{
    if (positive && x.t) {
        NAME(fold_loop)(count, true, true, linear, folded, x);
    } else if (positive) {
        NAME(fold_loop)(count, true, false, linear, folded, x);
    } else if (x.t) {
        NAME(fold_loop)(count, false, true, linear, folded, x);
    } else {
        NAME(fold_loop)(count, false, false, linear, folded, x);
    }
}

static inline __attribute__((always_inline)) REAL NAME(horner)(const double *p, int order, REAL c)
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
    REAL u = gap < cogap ? gap : cogap;
    u = u < 0 ? 0 : u > 1 ? 1 : u;
    REAL phi = NAME(angle)(u);
    *sine = SQRT(u * (2 - u));
    return gap <= cogap ? phi : PI_R - phi;
}

/* Inlined with a constant order where vectors are wanted. */
static inline __attribute__((always_inline)) void NAME(power_loop)(int64_t count, bool positive,
                                                                   bool tangent, int order,
                                                                   const far_arccos *k,
                                                                   NAME(state) x)
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
    REAL u = below < above ? below : above, y = kc * (1 - x.gap[j]);                               \
    u = u > 1 ? 1 : u;                                                                             \
    REAL angle = PI_R / 2 - NAME(angle)(u);                                                        \
    angle = below <= above ? angle : -angle;                                                       \
    REAL d = below * above, root = SQRT(d), inverse = root > 0 ? 1 / root : 0;

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
        REAL rho = 1 - x.gap[j], b = e[j] * e[j], ab = a + b, aa = ke * ke, over = inverse * inverse;
        REAL linear = (REAL)0.25 * weight * rho + turn * rho * angle;
        out.dual[j] += linear + turn * kc * (root + rho * rho * aa * inverse);
        out.slope[j] += (REAL)0.25 * weight + turn * angle +
                        turn * y * inverse * (aa * over + aa + (ab - aa));
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
        REAL dr = ri[0] - r[j], rr = ri[0] * r[j], apart = (REAL)0.5 * dr * dr;
        REAL a = EXP(-(apart + rr * x.gap[j])), b = EXP(-(apart + rr * x.cogap[j]));
        REAL k = rr * (1 - x.gap[j]), q = ri[0] * ri[0], p = r[j] * r[j];
        out.dual[j] = (REAL)0.5 * (a - b) * ri[1] * v[j];
        out.slope[j] = (REAL)0.5 * (a + b);
        REAL near = a > 0 ? a * ((q - k) * (p - k) + k) : 0;
        REAL far = b > 0 ? b * ((q + k) * (p + k) - k) : 0;
        out.scaled[j] = (REAL)0.5 * (near - far);
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
        NAME(series)(count, terms, ri, cols, ld, x.gap, out.dual);
        NAME(series)(count, terms, ri + terms, COL(terms), ld, x.gap, out.slope);
        NAME(series)(count, op->gamma ? terms : 0, ri + 2 * terms, COL(2 * terms), ld, x.gap,
                     out.scaled);
    } else {
        NAME(mixture)(count, op, ri, cols, ld, x, out);
    }
    for (int64_t j = 0; j < count; j++) {
        x.gap[j] = NAME(unit_gap)(1 - out.dual[j]);
        x.cogap[j] = NAME(unit_gap)(1 + out.dual[j]);
    }
    for (int64_t j = 0; x.t && j < count; j++) {
        x.t[j] *= out.slope[j];
    }
    const REAL *restrict A = COL(slots - 2), *restrict B = COL(slots - 1);
    for (int64_t j = 0; x.t && op->gamma && j < count; j++) {
        x.t[j] = ri[slots - 1] * B[j] * x.t[j] + ri[slots - 2] * A[j] * out.scaled[j];
    }
}

static void NAME(homogeneous)(int64_t count, const far_op *op, const REAL *ri,
                              const REAL *restrict cols, int64_t ld, NAME(state) x)
{
    const far_activation *a = op->activation;
    bool positive = op->sign == FAR_SIGN_POSITIVE;
    if (a->family == FAR_FAMILY_FOLD) {
        long double size = a->linear * a->linear + a->folded * a->folded;
        REAL linear = (REAL)(a->linear * a->linear / size);
        REAL folded = (REAL)(a->folded * a->folded / size);
        if (folded == 0) {
            return;
        }
        NAME(fold)(count, positive, linear, folded, x);
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
    bool reads = op->kind == FAR_OP_ACTIVATE || op->kind == FAR_OP_CENTER || op->kind == FAR_OP_PUSH ||
                 op->kind == FAR_OP_ADD;
    if (op->sign == FAR_SIGN_POSITIVE && op->kind == FAR_OP_ACTIVATE &&
        op->activation->family <= FAR_FAMILY_TABLE) {
        return;
    }
    for (int64_t j = 0; op->sign != FAR_SIGN_ANY && reads && j < count; j++) {
        x.cogap[j] = 2 - x.gap[j];
    }
}

/* ---- one row of a tile ----------------------------------------------------------------------- */

static NAME(state) NAME(state_at)(const far_tile *tile, const NAME(scratch) *s, int level)
{
    REAL *base = s->states + (int64_t)level * 3 * W;
    return (NAME(state)){base, base + W, tile->ntk ? base + 2 * W : NULL};
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

static void NAME(run_op)(const far_tile *tile, int64_t index, int64_t count, const REAL *ri,
                         const NAME(scratch) *s, int *level)
{
    const far_op *op = &tile->plan->ops[index];
    int64_t ld = tile->cols->ld;
    int slot = tile->layout->slot[index], terms = tile->layout->series[index];
    int end = index + 1 < tile->plan->count ? tile->layout->slot[index + 1] : tile->layout->slots;
    const REAL *cols = (const REAL *)tile->cols->coef + slot * ld + tile->j0;
    NAME(state) x = NAME(state_at)(tile, s, *level);
    ri += slot;
    NAME(refresh)(count, op, x);
    switch (op->kind) {
    case FAR_OP_DENSE:
        NAME(dense)(count, op->sign == FAR_SIGN_ANY, op->standard, ri, cols, ld, x);
        break;
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
        NAME(copy_state)(count, x, NAME(state_at)(tile, s, *level));
        break;
    case FAR_OP_ADD:
        *level -= 1;
        NAME(state) a = NAME(state_at)(tile, s, *level);
        NAME(add)(count, !op->gaussian, ri, cols, ld, a, x);
        NAME(copy_state)(count, x, a);
        break;
    case FAR_OP_SCALE:
        break;
    }
}

/* out[j] = (scale_i value[j]) scale_j; wide: with exponents that may leave the range of REAL. */
static void NAME(finish)(const far_tile *tile, int64_t i, int64_t count, const far_big *row_scale,
                         const far_big *col_scale, int slot, const REAL *ri,
                         const REAL *restrict value, bool complement, far_mat *m)
{
    REAL *restrict out = (REAL *)m->data + i * m->ld + tile->j0;
    const REAL *restrict cols = (const REAL *)tile->cols->coef + slot * tile->cols->ld + tile->j0;
    for (int64_t j = 0; j < count && !tile->wide; j++) {
        out[j] = ri[slot] * (complement ? 1 - value[j] : value[j]) * cols[j];
    }
    for (int64_t j = 0; j < count && tile->wide; j++) {
        far_big b = col_scale[tile->j0 + j], a = row_scale[i];
        far_big v = far_big_from(complement ? 1 - value[j] : value[j]);
        out[j] = (REAL)far_big_coef(far_big_mul(far_big_mul(a, v), b));
    }
}

static void NAME(run_row)(const far_tile *tile, int64_t i, int64_t count, const NAME(scratch) *s)
{
    int64_t padded = (count + LANES - 1) / LANES * LANES;
    int level = 0, slots = tile->layout->slots;
    NAME(state) x = NAME(state_at)(tile, s, 0);
    for (int k = 0; k < slots + 2; k++) {
        s->ri[k] = ((const REAL *)tile->rows->coef)[k * tile->rows->ld + i];
    }
    for (int64_t j = 0; x.t && j < padded; j++) {
        x.t[j] = 0;
    }
    for (int64_t k = 0; k < tile->plan->count; k++) {
        NAME(run_op)(tile, k, padded, s->ri, s, &level);
    }
    if (tile->nngp) {
        NAME(finish)(tile, i, count, tile->rows->r, tile->cols->r, slots, s->ri, x.gap, true,
                     tile->nngp);
    }
    if (tile->ntk) {
        NAME(finish)(tile, i, count, tile->rows->p, tile->cols->p, slots + 1, s->ri, x.t, false,
                     tile->ntk);
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
    s.states = s.temp + 4 * W;
    s.unit = s.states + (int64_t)(tile->plan->depth + 1) * 3 * W;
    s.ri = s.unit + CHORD_ROWS * d;
    return s;
}

static void NAME(fill_panel)(const far_tile *tile, REAL *panel)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    const REAL *unit = (const REAL *)tile->cols->unit + tile->j0 * d;
    for (int64_t k = 0; k < d; k++) {
        for (int64_t j = 0; j < W; j++) {
            panel[k * W + j] = j < count ? unit[j * d + k] : 0;
        }
    }
}

static void NAME(run_rows)(const far_tile *tile, int64_t i, const NAME(scratch) *s)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    int64_t last = i + CHORD_ROWS < tile->i1 ? i + CHORD_ROWS : tile->i1;
    if (tile->lower && last - tile->j0 < count) {
        count = last - tile->j0;
    }
    for (int r = 0; r < CHORD_ROWS; r++) { /* a short group repeats its last row */
        int64_t row = i + r < last ? i + r : last - 1;
        memcpy(s->unit + r * d, (const REAL *)tile->rows->unit + row * d, (size_t)d * sizeof(REAL));
    }
    NAME(start)(s, d, (count + LANES - 1) / LANES * LANES);
    for (int64_t row = i; row < last; row++) {
        NAME(state) x = NAME(state_at)(tile, s, 0);
        int64_t wanted = tile->lower && row + 1 - tile->j0 < count ? row + 1 - tile->j0 : count;
        size_t bytes = (size_t)((wanted + LANES - 1) / LANES * LANES) * sizeof(REAL);
        memcpy(x.gap, s->gap + (row - i) * W, bytes);
        memcpy(x.cogap, s->cogap + (row - i) * W, bytes);
        NAME(run_row)(tile, row, wanted, s);
        if (tile->lower && row < tile->j1) {
            NAME(write_diagonal)(tile, row);
        }
    }
}

void TILE_FN(const far_tile *tile)
{
    NAME(scratch) s = NAME(lay_out)(tile);
    NAME(fill_panel)(tile, s.panel);
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
#undef TABLE_BASE
#undef MIXTURE_PAIR
#undef REAL
#undef NAME
#undef TILE_FN
#undef SQRT
#undef EXP
#undef ANGLE_POLY
