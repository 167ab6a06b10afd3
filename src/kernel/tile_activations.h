/* Part of tile_impl.h: powers, tables, mixtures, series, sine. */
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
    *sine = SQRT(u * (2 - u));
    REAL phi = NAME(angle_of)(u, *sine);
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
        double u = NAME(unit_gap)((REAL)(near ? gap : cogap));
        double value = NAME(look_up)(near ? k[0].near : k[0].far, u);
        x.gap[j] = (REAL)(near ? value : 1 - value);
        x.cogap[j] = 2 - x.gap[j];
        if (x.t) {
            double slope = NAME(look_up)(near ? k[1].near : k[1].far, u);
            x.t[j] *= (REAL)(near ? 1 - slope : slope);
        }
    }
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
    REAL d = FABS(below * above), root = SQRT(d), inverse = root > 0 ? 1 / root : 0;               \
    bool small = FABS(y) < (REAL)0.7; /* asin y is then angle(1 - root), with all its digits */    \
    REAL turned = NAME(angle)(small ? y * y / (1 + root) : u);                                     \
    bool tiny = FABS(y) < (REAL)1e-9; /* asin y is then y; y^2 may be none */                      \
    REAL angle = COPYSIGN(tiny ? FABS(y) : small ? turned : PI_R / 2 - turned, y);

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
