/* Part of tile_impl.h: how pairs change with the row's point x. Beside every number of the state
 * two derivatives are carried: by the gap of the directions that it starts from (first), and by ln
 * |x| (far). An operation runs as it does for values; its derivatives are taken from the state
 * before (o), the state after (x), the coefficients of both points and the slopes of the row's
 * (di).
 *
 * Kinks make dt / dgap infinite at gap = 0, where the directions of a pair coincide: t has the tip
 * of a cone there. It counts as zero, the mean over all ways to leave the tip. */

typedef struct NAME(slopes) {
    REAL *restrict gap_first, *restrict gap_far, *restrict t_first, *restrict t_far;
} NAME(slopes);

#define SLOPE_BLOCKS 4

static NAME(slopes) NAME(slopes_at)(REAL *base, int level)
{
    REAL *at = base + (int64_t)level * SLOPE_BLOCKS * W;
    return (NAME(slopes)){at, at + W, at + 2 * W, at + 3 * W};
}

/* ---- layers without an activation ------------------------------------------------------------ */

/* Near opposite points the change of the gap is that of the cogap, turned round: both have a form
 * of their own, so that neither is what is left of large terms. */
INLINE void NAME(gap_dense_loop)(int64_t count, bool any_sign, int rest, const REAL *ri,
                                 const REAL *di, const REAL *restrict cols, int64_t ld,
                                 NAME(state) o, NAME(slopes) s)
{
    const REAL *restrict al = COL(0), *restrict be = COL(1);
    const REAL *restrict al_rest = COL(rest), *restrict be_rest = COL(rest + 1);
    REAL fine = rest ? 1 : 0;
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL da = (ri[0] - al[j]) + fine * (ri[rest] - al_rest[j]);
        REAL db = (ri[1] - be[j]) + fine * (ri[rest + 1] - be_rest[j]);
        REAL both = 2 * ri[0] * al[j], moved = 2 * di[0] * al[j], far = both * s.gap_far[j];
        REAL near = 2 * (da * di[0] + db * di[1]) + moved * o.gap[j] + far;
        if (any_sign) {
            REAL sb = ri[1] + be[j];
            REAL opposite = far - 2 * (da * di[0] + sb * di[1]) - moved * o.cogap[j];
            near = o.gap[j] < o.cogap[j] ? near : opposite;
        }
        s.gap_first[j] *= both;
        s.gap_far[j] = near;
    }
}

static void NAME(slope_gap_dense)(int64_t count, bool any_sign, int rest, const REAL *ri,
                                  const REAL *di, const REAL *restrict cols, int64_t ld,
                                  NAME(state) o, NAME(slopes) s)
{
    if (any_sign) {
        NAME(gap_dense_loop)(count, true, rest, ri, di, cols, ld, o, s);
    } else {
        NAME(gap_dense_loop)(count, false, rest, ri, di, cols, ld, o, s);
    }
}

/* t <- A A' rho + B B' t, rho = 1 - gap; a, b: the slots of A and B. */
static void NAME(slope_mix)(int64_t count, int a, int b, const REAL *ri, const REAL *di,
                            const REAL *restrict cols, int64_t ld, const REAL *restrict gap,
                            NAME(slopes) of_gap, const REAL *restrict t, NAME(slopes) s)
{
    const REAL *restrict aj = COL(a), *restrict bj = COL(b);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL A = ri[a] * aj[j], B = ri[b] * bj[j];
        s.t_far[j] = di[a] * aj[j] * (1 - gap[j]) - A * of_gap.gap_far[j] +
                     (di[b] * bj[j] * t[j] + B * s.t_far[j]);
        s.t_first[j] = B * s.t_first[j] - A * of_gap.gap_first[j];
    }
}

/* adds c c', which does not depend on the pair */
static void NAME(slope_constant)(int64_t count, REAL slope, const REAL *restrict c, NAME(slopes) s)
{
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        s.t_far[j] += slope * c[j];
    }
}

/* t <- rho + 2 al al' t */
static void NAME(slope_plain)(int64_t count, REAL al, REAL slope, const REAL *restrict al_j,
                              const REAL *restrict t, NAME(slopes) s)
{
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL both = 2 * al * al_j[j];
        s.t_far[j] = 2 * slope * al_j[j] * t[j] + both * s.t_far[j] - s.gap_far[j];
        s.t_first[j] = both * s.t_first[j] - s.gap_first[j];
    }
}

static void NAME(slope_dense)(int64_t count, const far_op *op, const REAL *ri, const REAL *di,
                              const REAL *restrict cols, int64_t ld, NAME(state) o, NAME(state) x,
                              NAME(slopes) s)
{
    int own = op->standard ? 5 : op->plain ? 2 : 4, rest = op->fine ? own : 0;
    if (x.t && op->standard) { /* takes the K of the layer's input */
        NAME(slope_mix)(count, 3, 2, ri, di, cols, ld, o.gap, s, o.t, s);
        NAME(slope_constant)(count, di[4], COL(4), s);
    }
    NAME(slope_gap_dense)(count, op->sign == FAR_SIGN_ANY, rest, ri, di, cols, ld, o, s);
    if (x.t && !op->standard && op->plain) {
        NAME(slope_plain)(count, ri[0], di[0], COL(0), o.t, s);
    } else if (x.t && !op->standard) {
        NAME(slope_mix)(count, 2, 3, ri, di, cols, ld, x.gap, s, o.t, s);
    }
}

static void NAME(slope_center)(int64_t count, const REAL *ri, const REAL *di,
                               const REAL *restrict cols, int64_t ld, NAME(state) o, NAME(slopes) s)
{
    const REAL *restrict mu = COL(0), *restrict nu = COL(1), *restrict inverse = COL(2);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL dm = ri[0] - mu[j], dn = ri[1] - nu[j], scale = ri[2] * inverse[j];
        REAL apart = o.gap[j] - (REAL)0.5 * (dm * dm + dn * dn);
        REAL moved = s.gap_far[j] - (dm * di[0] + dn * di[1]), sm = ri[0] + mu[j];
        REAL sum = o.cogap[j] - (REAL)0.5 * (sm * sm + dn * dn);
        REAL back = s.gap_far[j] + (sm * di[0] + dn * di[1]);
        bool near = o.gap[j] < o.cogap[j];
        s.gap_far[j] = di[2] * inverse[j] * (near ? apart : -sum) + scale * (near ? moved : back);
        s.gap_first[j] *= scale;
    }
}

/* a, of_a: the remembered branch */
static void NAME(slope_add)(int64_t count, bool means, const REAL *ri, const REAL *di,
                            const REAL *restrict cols, int64_t ld, NAME(state) a, NAME(slopes) of_a,
                            NAME(state) o, NAME(slopes) s)
{
    for (int64_t j = 0; o.t && j < count; j++) {
        REAL pa = ri[2] * COL(2)[j], pb = ri[3] * COL(3)[j], k = ri[4] * COL(4)[j];
        s.t_far[j] = (di[2] * COL(2)[j] * a.t[j] + pa * of_a.t_far[j]) +
                     (di[3] * COL(3)[j] * o.t[j] + pb * s.t_far[j]) +
                     (di[4] * COL(4)[j] * (1 - a.gap[j]) - k * of_a.gap_far[j]);
        s.t_first[j] = pa * of_a.t_first[j] + pb * s.t_first[j] - k * of_a.gap_first[j];
    }
    int chord = means ? 5 : 0, chords = means ? 3 : 2;
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL aa = ri[0] * COL(0)[j], bb = ri[1] * COL(1)[j], moved = 0;
        REAL gap_a = a.gap[j], gap_b = o.gap[j], far_a = of_a.gap_far[j], far_b = s.gap_far[j];
        for (int k = chord; k < chord + chords; k++) {
            moved += (ri[k] - COL(k)[j]) * di[k];
        }
        if (!means && o.cogap[j] < o.gap[j]) { /* the change of the cogap, turned round */
            moved = -moved;
            gap_a = -a.cogap[j];
            gap_b = -o.cogap[j];
        }
        for (int k = 0; means && k < 2; k++) {
            REAL da = ri[8 + k] - COL(8 + k)[j], db = ri[10 + k] - COL(10 + k)[j];
            gap_a -= (REAL)0.5 * da * da;
            gap_b -= (REAL)0.5 * db * db;
            far_a -= da * di[8 + k];
            far_b -= db * di[10 + k];
        }
        s.gap_far[j] = moved + (di[0] * COL(0)[j] * gap_a + aa * far_a) +
                       (di[1] * COL(1)[j] * gap_b + bb * far_b);
        s.gap_first[j] = aa * of_a.gap_first[j] + bb * s.gap_first[j];
    }
}

/* ---- activations of one shape at every scale ------------------------------------------------- */

/* rho -> ... with slope `inner`, t -> S t with S = outer and dS / drho = bend. */
INLINE void NAME(slope_through)(REAL inner, REAL outer, REAL bend, int64_t j,
                                const REAL *restrict t, NAME(slopes) s)
{
    if (t) {
        s.t_far[j] = outer * s.t_far[j] - bend * t[j] * s.gap_far[j];
        s.t_first[j] = outer * s.t_first[j] - bend * t[j] * s.gap_first[j];
    }
    s.gap_far[j] *= inner;
    s.gap_first[j] *= inner;
}

INLINE REAL NAME(cogap_of)(bool any_sign, NAME(state) o, int64_t j)
{
    return any_sign ? o.cogap[j] : 2 - o.gap[j];
}

/* The one activation that runs here together with its values: angles are what it costs. slope: S,
 * for what comes after. */
static void NAME(slope_fold)(int64_t count, bool any_sign, NAME(fold_coef) c, NAME(state) x,
                             NAME(slopes) s, REAL *restrict slope)
{
    REAL *restrict gaps = x.gap, *restrict cogaps = x.cogap;
    NAME(known) is = {.any_sign = true, .keep_sign = true};
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        NAME(pair) p = {gaps[j], any_sign ? cogaps[j] : 2 - gaps[j], 0};
        REAL u = FABS(p.gap < p.cogap ? p.gap : p.cogap), sine = SQRT(u * (2 - u));
        REAL half = c.folded - c.turn * NAME(angle_of)(u, sine);
        REAL bend = sine > 0 ? c.turn / sine : 0;
        slope[j] = c.linear + (p.gap < p.cogap ? half : -half);
        NAME(slope_through)(slope[j], slope[j], bend, j, x.t, s);
        p = NAME(fold_step)(is, c, p);
        gaps[j] = p.gap;
        cogaps[j] = p.cogap;
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) { /* now S t, which gamma may still change */
        slope[j] *= x.t ? x.t[j] : 0;
    }
}

static void NAME(slope_power)(int64_t count, bool any_sign, const far_arccos *k, NAME(state) o,
                              NAME(slopes) s, REAL *restrict slope)
{
    int n = k[0].order;
    REAL inner = (REAL)n * n / (2 * n - 1), outer = (REAL)(n - 1) * (n - 1) / (2 * n - 3);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL gap = o.gap[j], cogap = NAME(cogap_of)(any_sign, o, j), sine, c = 1 - gap;
        REAL theta = NAME(full_angle)(gap, cogap, &sine), kappa[2];
        for (int m = 0; m < 2; m++) {
            REAL q = NAME(horner)(k[m + 1].q, n - 1 - m, c);
            REAL p = NAME(horner)(k[m + 1].p, n - 1 - m, c);
            kappa[m] = q + (sine * p - theta * q) / PI_R;
        }
        slope[j] = kappa[0];
        NAME(slope_through)(inner * kappa[0], kappa[0], outer * kappa[1], j, o.t, s);
    }
}

/* The derivative of what look_up gives. */
static inline double NAME(look_up_slope)(const double (*rows)[FAR_TABLE_TERMS], double u)
{
    uint64_t bits, exponent;
    double sum = 0, octave;
    u = u < 0x1.fffffffffffffp-1 ? u : 0x1.fffffffffffffp-1;
    memcpy(&bits, &u, sizeof bits);
    exponent = bits & ((uint64_t)2047 << 52);
    memcpy(&octave, &exponent, sizeof octave);
    int64_t row = (int64_t)(bits >> 50) - TABLE_BASE;
    bool closer = row < 0;
    row = closer ? 0 : row;
    double t = (double)(bits & (((uint64_t)1 << 50) - 1)) * 0x1p-49 - 1;
    for (int k = FAR_TABLE_TERMS - 1; k > 0; k--) {
        sum = sum * t + k * rows[row][k];
    }
    return closer ? 0 : 8 * sum / octave;
}

static void NAME(slope_table)(int64_t count, bool any_sign, const far_activation *a, NAME(state) o,
                              NAME(slopes) s, REAL *restrict slope)
{
    const far_power_table *k = &a->table[1];
    REAL inner = (REAL)(a->power * a->power / (2 * a->power - 1));
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL gap = o.gap[j], cogap = NAME(cogap_of)(any_sign, o, j);
        bool near = gap <= cogap;
        double u = NAME(unit_gap)(near ? gap : cogap);
        double value = NAME(look_up)(near ? k->near : k->far, u);
        REAL bend = (REAL)NAME(look_up_slope)(near ? k->near : k->far, u);
        slope[j] = (REAL)(near ? 1 - value : value);
        NAME(slope_through)(inner * slope[j], slope[j], bend, j, o.t, s);
    }
}

/* S t of an activation becomes t, with the scales that wait in front of it. */
static void NAME(fold_tangent)(int64_t count, const far_op *op, const REAL *ri, const REAL *di,
                               const REAL *restrict cols, int64_t ld, NAME(state) x, NAME(slopes) s,
                               const REAL *restrict passed)
{
    REAL *restrict t = x.t;
    if (op->gamma) {
        NAME(slope_mix)(count, 0, 1, ri, di, cols, ld, x.gap, s, passed, s);
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        t[j] = op->gamma ? ri[0] * COL(0)[j] * (1 - x.gap[j]) + ri[1] * COL(1)[j] * passed[j]
                         : passed[j];
    }
}

/* A fold with something folded: values and slopes. */
static void NAME(run_fold)(int64_t count, const far_op *op, const REAL *ri, const REAL *di,
                           const REAL *restrict cols, int64_t ld, NAME(state) x, NAME(slopes) s,
                           REAL *restrict passed)
{
    NAME(slope_fold)(count, op->sign == FAR_SIGN_ANY, NAME(fold_of)(op->activation), x, s, passed);
    if (x.t) {
        NAME(fold_tangent)(count, op, ri, di, cols, ld, x, s, passed);
    }
}

/* Powers: their values have been run. */
static void NAME(slope_powers)(int64_t count, const far_op *op, const REAL *ri, const REAL *di,
                               const REAL *restrict cols, int64_t ld, NAME(state) o, NAME(state) x,
                               NAME(slopes) s, REAL *restrict slope)
{
    const far_activation *a = op->activation;
    bool any_sign = op->sign == FAR_SIGN_ANY;
    if (a->family == FAR_FAMILY_POWER) {
        NAME(slope_power)(count, any_sign, a->arccos, o, s, slope);
    } else if (a->family == FAR_FAMILY_TABLE) {
        NAME(slope_table)(count, any_sign, a, o, s, slope);
    }
    if (x.t && op->gamma) {
        for (int64_t j = 0; j < count; j++) {
            slope[j] *= o.t[j];
        }
        NAME(slope_mix)(count, 0, 1, ri, di, cols, ld, x.gap, s, slope, s);
    }
}

/* ---- smooth activations ---------------------------------------------------------------------- */

/* A number with its derivatives by rho, and by ln r of the row's point. */
typedef struct NAME(jet) {
    REAL v, rho, r;
} NAME(jet);

INLINE NAME(jet) NAME(jet_add)(NAME(jet) a, NAME(jet) b)
{
    return (NAME(jet)){a.v + b.v, a.rho + b.rho, a.r + b.r};
}

INLINE NAME(jet) NAME(jet_mul)(NAME(jet) a, NAME(jet) b)
{
    return (NAME(jet)){a.v * b.v, a.rho * b.v + a.v * b.rho, a.r * b.v + a.v * b.r};
}

INLINE NAME(jet) NAME(jet_scale)(REAL f, NAME(jet) a)
{
    return (NAME(jet)){f * a.v, f * a.rho, f * a.r};
}

/* Blocks of jets: the dual, the slope kernel, the scaled kernel. */
typedef struct NAME(jets) {
    REAL *restrict v, *restrict rho, *restrict r;
} NAME(jets);

#define JET_BLOCKS 9

static NAME(jets) NAME(jets_at)(REAL *base, int which)
{
    REAL *at = base + (int64_t)which * 3 * W;
    return (NAME(jets)){at, at + W, at + 2 * W};
}

INLINE void NAME(jet_put)(NAME(jets) to, int64_t j, REAL f, NAME(jet) a)
{
    to.v[j] += f * a.v;
    to.rho[j] += f * a.rho;
    to.r[j] += f * a.r;
}

/* y = c c' rho, its arc sine and 1 / sqrt(1 - y^2) of two terms of a mixture; by ln r, c grows by
 * c e^2 and e by -c^2 e. */
#define MIXTURE_JETS                                                                               \
    MIXTURE_PAIR                                                                                   \
    REAL a = ei * ei, yr = y * a, cube = inverse * inverse * inverse;                              \
    NAME(jet) jy = {y, kc, yr}, arc = {angle, kc * inverse, yr * inverse};                         \
    NAME(jet) over = {inverse, y * kc * cube, y * yr * cube};

static void NAME(sign_jets)(int64_t count, REAL ci, REAL ei, REAL si, REAL si_rate, REAL weight,
                            const REAL *restrict c, const REAL *restrict e, const REAL *restrict sj,
                            NAME(state) x, NAME(jets) dual, NAME(jets) slope, NAME(jets) scaled)
{
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        MIXTURE_JETS
        NAME(jet) third = NAME(jet_mul)(NAME(jet_mul)(over, over), NAME(jet_mul)(over, jy));
        NAME(jet) si_jet = {si, 0, si_rate}, ee = {ke * ke, 0, -2 * ci * ci * ke * ke};
        NAME(jet_put)(dual, j, weight * (2 / PI_R), arc);
        NAME(jet_put)(slope, j, (4 / PI_R) * sj[j], NAME(jet_mul)(si_jet, over));
        NAME(jet_put)(scaled, j, weight * (2 / PI_R), NAME(jet_mul)(ee, third));
    }
}

static void NAME(relu_jets)(int64_t count, bool with_scaled, REAL ci, REAL ei, REAL weight,
                            const REAL *restrict c, const REAL *restrict e, NAME(state) x,
                            NAME(jets) dual, NAME(jets) slope, NAME(jets) scaled)
{
    REAL turn = weight / (2 * PI_R);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        MIXTURE_JETS
        REAL b = e[j] * e[j], lost = -2 * ci * ci;
        NAME(jet) rho = {1 - x.gap[j], 1, 0}, cc = {kc, 0, kc * a};
        NAME(jet) sum = {a + b, 0, lost * a}, prod = {a * b, 0, lost * a * b};
        NAME(jet)
        D = {root, -y * kc * inverse, -y * yr * inverse}, d2 = {d, -2 * y * kc, -2 * y * yr};
        NAME(jet) over2 = NAME(jet_mul)(over, over), po = NAME(jet_mul)(prod, over);
        NAME(jet) half = {(REAL)0.25 * weight + turn * arc.v, turn * arc.rho, turn * arc.r};
        NAME(jet) linear = NAME(jet_mul)(rho, half);
        NAME(jet) bend = NAME(jet_add)(D, NAME(jet_mul)(NAME(jet_mul)(rho, rho), po));
        NAME(jet) kink = NAME(jet_add)(NAME(jet_mul)(po, over), sum);
        NAME(jet_put)(dual, j, 1, linear);
        NAME(jet_put)(dual, j, turn, NAME(jet_mul)(cc, bend));
        NAME(jet_put)(slope, j, 1, half);
        NAME(jet_put)(slope, j, turn, NAME(jet_mul)(NAME(jet_mul)(jy, over), kink));
        if (with_scaled) { /* N_1 and N_2 of docs/explanation/kernels.md, in powers of q = d2 */
            NAME(jet) q2 = NAME(jet_mul)(d2, d2), pp = NAME(jet_mul)(prod, prod);
            NAME(jet) sq = NAME(jet_mul)(sum, d2), pq = NAME(jet_mul)(prod, d2);
            NAME(jet) n1 = {4 * q2.v - 2 * d2.v - 1, 4 * q2.rho - 2 * d2.rho, 4 * q2.r - 2 * d2.r};
            NAME(jet) two = {2 * d2.v - 1, 2 * d2.rho, 2 * d2.r};
            NAME(jet) n2 = {3 + 2 * d2.v + 4 * q2.v, 2 * d2.rho + 4 * q2.rho, 2 * d2.r + 4 * q2.r};
            NAME(jet) more = {1 + 2 * d2.v, 2 * d2.rho, 2 * d2.r}, one = {1 + d2.v, d2.rho, d2.r};
            n1 = NAME(jet_add)(NAME(jet_mul)(prod, n1), NAME(jet_add)(NAME(jet_mul)(sq, two), q2));
            n2 = NAME(jet_add)(NAME(jet_mul)(pp, n2), NAME(jet_mul)(pq, one));
            NAME(jet) mixed = NAME(jet_mul)(NAME(jet_mul)(pq, sum), more);
            n2 = NAME(jet_add)(n2,
                               NAME(jet_add)(NAME(jet_mul)(sum, q2), NAME(jet_scale)(-1, mixed)));
            NAME(jet) over3 = NAME(jet_mul)(over2, over);
            NAME(jet) first = NAME(jet_mul)(NAME(jet_mul)(cc, n1), over3);
            NAME(jet) second = NAME(jet_mul)(NAME(jet_mul)(rho, jy), NAME(jet_mul)(n2, over2));
            NAME(jet_put)(scaled, j, 1, linear);
            NAME(jet_put)(scaled, j, turn, NAME(jet_add)(first, NAME(jet_mul)(second, over3)));
        }
    }
}

static void NAME(mixture_jets)(int64_t count, const far_op *op, const REAL *ri, const REAL *di,
                               const REAL *restrict cols, int64_t ld, NAME(state) o, REAL *base)
{
    const far_activation *a = op->activation;
    bool sign = a->family == FAR_FAMILY_SOFT_SIGN;
    int step = sign ? 3 : 2;
    NAME(jets) dual = NAME(jets_at)(base, 0), slope = NAME(jets_at)(base, 1);
    NAME(jets) scaled = NAME(jets_at)(base, 2);
    for (int m = 0; m < a->terms; m++) {
        const REAL *i = ri + 1 + step * m;
        for (int n = 0; n < a->terms; n++) {
            const REAL *c = COL(1 + step * n), *e = COL(2 + step * n);
            REAL weight = (REAL)(a->weight[m] * a->weight[n]);
            if (sign) {
                NAME(sign_jets)
                (count, i[0], i[1], i[2], di[3 + step * m], weight, c, e, COL(3 + step * n), o,
                 dual, slope, scaled);
            } else {
                NAME(relu_jets)
                (count, op->gamma > 0, i[0], i[1], weight, c, e, o, dual, slope, scaled);
            }
        }
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        NAME(jet) unit = {ri[0], 0, di[0]}, sum = {dual.v[j], dual.rho[j], dual.r[j]};
        NAME(jet) product = NAME(jet_scale)(cols[j], NAME(jet_mul)(unit, sum));
        dual.v[j] = product.v;
        dual.rho[j] = product.rho;
        dual.r[j] = product.r;
    }
}

/* sum_k a_k a'_k rho^k, four terms at a time; moving: with the derivative by ln r */
INLINE void NAME(series_loop)(int64_t count, int terms, bool moving, const REAL *ri, const REAL *di,
                              const REAL *restrict cols, int64_t ld, const REAL *restrict gap,
                              NAME(jets) out)
{
    REAL *restrict values = out.v, *restrict by_rho = out.rho, *restrict by_r = out.r;
    for (int k = terms - 4; k >= 0; k -= 4) {
        const REAL *restrict c0 = COL(k), *restrict c1 = COL(k + 1);
        const REAL *restrict c2 = COL(k + 2), *restrict c3 = COL(k + 3);
#pragma GCC ivdep
        for (int64_t j = 0; j < count; j++) {
            REAL rho = 1 - gap[j], c[] = {c3[j], c2[j], c1[j], c0[j]};
            NAME(jet) sum = {values[j], by_rho[j], moving ? by_r[j] : 0};
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                sum.rho = sum.rho * rho + sum.v;
                sum.v = sum.v * rho + ri[k + 3 - i] * c[i];
                sum.r = moving ? sum.r * rho + di[k + 3 - i] * c[i] : 0;
            }
            values[j] = sum.v;
            by_rho[j] = sum.rho;
            if (moving) {
                by_r[j] = sum.r;
            }
        }
    }
}

static void NAME(series_jets)(int64_t count, int terms, bool moving, const REAL *ri, const REAL *di,
                              const REAL *restrict cols, int64_t ld, const REAL *restrict gap,
                              NAME(jets) out)
{
    if (moving) {
        NAME(series_loop)(count, terms, true, ri, di, cols, ld, gap, out);
    } else {
        NAME(series_loop)(count, terms, false, ri, di, cols, ld, gap, out);
    }
}

/* X_r, Y_r: the derivatives of X and Y by ln r; X_p, Y_p: by ln r'. */
static void NAME(sine_jets)(int64_t count, const REAL *ri, const REAL *di,
                            const REAL *restrict cols, int64_t ld, NAME(state) o, REAL *base)
{
    const REAL *restrict r = COL(0), *restrict v = COL(1), *restrict h = COL(2);
    NAME(jets) dual = NAME(jets_at)(base, 0), slope = NAME(jets_at)(base, 1);
    NAME(jets) scaled = NAME(jets_at)(base, 2);
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL dr = ri[0] - r[j], apart = (REAL)0.5 * dr * dr, rr = ri[0] * r[j];
        REAL a = EXP(-(apart + rr * o.gap[j])), b = EXP(-(apart + rr * o.cogap[j]));
        REAL k = rr * (1 - o.gap[j]), q = ri[0] * ri[0], p = r[j] * r[j];
        REAL X_r = ri[0] * (dr + r[j] * o.gap[j]), X_p = r[j] * (ri[0] * o.gap[j] - dr);
        REAL Y_r = ri[0] * (dr + r[j] * o.cogap[j]), Y_p = r[j] * (ri[0] * o.cogap[j] - dr);
        REAL size = FABS(k) < 1 ? FABS(k) : 1, grown = EXPM1(size);
        REAL sinh = COPYSIGN((REAL)0.5 * (grown + grown / (1 + grown)), k);
        REAL small = EXP((REAL)-0.5 * (q + p)) * sinh, sum = (REAL)0.5 * (a + b);
        bool close = FABS(k) < 1;
        REAL difference = close ? small : (REAL)0.5 * (a - b);
        REAL moved = close ? sum * k - difference * q : (REAL)0.5 * (b * Y_r - a * X_r);
        REAL faded = (REAL)-0.5 * (a * X_r + b * Y_r), vv = ri[1] * v[j], hh = ri[2] * h[j];
        dual.v[j] = difference * vv;
        dual.rho[j] = rr * sum * vv;
        dual.r[j] = moved * vv + difference * di[1] * v[j];
        slope.v[j] = sum * hh;
        slope.rho[j] = rr * difference * hh;
        slope.r[j] = faded * hh + sum * di[2] * h[j];
        bool a_counts = a > 0, b_counts = b > 0;
        REAL near = a_counts ? a * (X_r * X_p + k) : 0, far = b_counts ? b * (Y_r * Y_p - k) : 0;
        REAL near_rho = a_counts ? near + a * (1 - X_r - X_p) : 0;
        REAL far_rho = b_counts ? b * (Y_r + Y_p - 1) - far : 0;
        REAL near_r = a_counts ? a * ((q + X_r) * X_p - k * X_r + k) - X_r * near : 0;
        REAL far_r = b_counts ? b * ((q + Y_r) * Y_p + k * Y_r - k) - Y_r * far : 0;
        scaled.v[j] = (REAL)0.5 * (near - far);
        scaled.rho[j] = (REAL)0.5 * rr * (near_rho - far_rho);
        scaled.r[j] = (REAL)0.5 * (near_r - far_r);
    }
}

static void NAME(slope_smooth)(int64_t count, const far_op *op, int terms, int slots, REAL rate,
                               const REAL *ri, const REAL *di, const REAL *restrict cols,
                               int64_t ld, NAME(state) o, NAME(slopes) s, REAL *base)
{
    NAME(jets) dual = NAME(jets_at)(base, 0), slope = NAME(jets_at)(base, 1);
    NAME(jets) scaled = NAME(jets_at)(base, 2);
    memset(base, 0, JET_BLOCKS * W * sizeof *base);
    if (op->activation->family == FAR_FAMILY_SINE) {
        NAME(sine_jets)(count, ri, di, cols, ld, o, base);
    } else if (terms) {
        bool moving = rate != 0; /* behind a norm points do not change scale */
        int of_slope = o.t ? terms : 0, of_scaled = o.t && op->gamma ? terms : 0;
        NAME(series_jets)(count, terms, moving, ri, di, cols, ld, o.gap, dual);
        NAME(series_jets)
        (count, of_slope, moving, ri + terms, di + terms, COL(terms), ld, o.gap, slope);
        NAME(series_jets)
        (count, of_scaled, moving, ri + 2 * terms, di + 2 * terms, COL(2 * terms), ld, o.gap,
         scaled);
    } else {
        NAME(mixture_jets)(count, op, ri, di, cols, ld, o, base);
    }
    const REAL *restrict A = COL(slots - 2), *restrict B = COL(slots - 1);
    REAL Ai = ri[slots - 2], Bi = ri[slots - 1], dA = di[slots - 2], dB = di[slots - 1];
#pragma GCC ivdep
    for (int64_t j = 0; j < count; j++) {
        REAL to_rho = -s.gap_far[j], first_rho = -s.gap_first[j];
        if (o.t) {
            REAL t = o.t[j] * slope.v[j];
            s.t_far[j] =
                slope.v[j] * s.t_far[j] + o.t[j] * (slope.rho[j] * to_rho + rate * slope.r[j]);
            s.t_first[j] = slope.v[j] * s.t_first[j] + o.t[j] * slope.rho[j] * first_rho;
            if (op->gamma) {
                REAL AA = Ai * A[j], BB = Bi * B[j];
                s.t_far[j] = dB * B[j] * t + BB * s.t_far[j] + dA * A[j] * scaled.v[j] +
                             AA * (scaled.rho[j] * to_rho + rate * scaled.r[j]);
                s.t_first[j] = BB * s.t_first[j] + AA * scaled.rho[j] * first_rho;
            }
        }
        s.gap_far[j] = dual.rho[j] * s.gap_far[j] - rate * dual.r[j];
        s.gap_first[j] *= dual.rho[j];
    }
}

/* ---- one operation, one row ------------------------------------------------------------------ */

/* What a row of slopes needs beside the tile's own scratch. */
typedef struct NAME(slope_scratch) {
    REAL *before; /* 3 x W: the state in front of an operation */
    REAL *temp;   /* JET_BLOCKS x W */
    REAL *slopes; /* (depth + 1) x SLOPE_BLOCKS x W */
    REAL *start;  /* W: the gaps of the directions */
    REAL *di;     /* slopes of the row's coefficients */
} NAME(slope_scratch);

static void NAME(copy_slopes)(int64_t count, NAME(slopes) from, NAME(slopes) to)
{
    size_t bytes = (size_t)count * sizeof(REAL);
    memcpy(to.gap_first, from.gap_first, bytes);
    memcpy(to.gap_far, from.gap_far, bytes);
    memcpy(to.t_first, from.t_first, bytes);
    memcpy(to.t_far, from.t_far, bytes);
}

/* One operation over a row of pairs: values, then their derivatives. */
static void NAME(slope_op)(const far_tile *tile, int64_t index, int64_t row, int64_t count,
                           NAME(scratch) * s, const NAME(slope_scratch) * e, int *level)
{
    const far_op *op = &tile->plan->ops[index];
    int64_t ld = tile->cols->ld;
    int slot = tile->layout->slot[index], terms = tile->layout->series[index];
    int slots = far_op_slots(op, terms);
    const REAL *cols = (const REAL *)tile->cols->coef + slot * ld + tile->j0;
    const REAL *ri = s->ri + slot, *di = e->di + slot;
    NAME(slopes) d = NAME(slopes_at)(e->slopes, *level);
    NAME(state) x = NAME(state_at)(s, *level), a = {0};
    NAME(state) o = {e->before, e->before + W, x.t ? e->before + 2 * W : NULL};
    NAME(refresh)(count, op, x);
    if (op->kind == FAR_OP_ADD) {
        a = NAME(state_at)(s, *level - 1);
        NAME(slopes) below = NAME(slopes_at)(e->slopes, *level - 1);
        NAME(slope_add)(count, !op->gaussian, ri, di, cols, ld, a, below, x, d);
        NAME(copy_slopes)(count, d, below);
    }
    if (NAME(is_fold)(op) && op->activation->folded != 0) {
        NAME(run_fold)(count, op, ri, di, cols, ld, x, d, e->temp);
        return;
    }
    NAME(copy_state)(count, x, o);
    s->limit = index + 1; /* a dense leaves the relu behind it alone */
    NAME(run_op)(tile, index, count, s->ri, s, level);
    switch (op->kind) {
    case FAR_OP_DENSE:
        NAME(slope_dense)(count, op, ri, di, cols, ld, o, x, d);
        break;
    case FAR_OP_CENTER:
        NAME(slope_center)(count, ri, di, cols, ld, o, d);
        break;
    case FAR_OP_SHIFT:
        if (x.t) {
            NAME(slope_mix)(count, 0, 1, ri, di, cols, ld, o.gap, d, o.t, d);
            NAME(slope_constant)(count, di[2], COL(2), d);
        }
        break;
    case FAR_OP_ACTIVATE:
        if (op->activation->family <= FAR_FAMILY_TABLE) {
            NAME(slope_powers)(count, op, ri, di, cols, ld, o, x, d, e->temp);
        } else {
            REAL rate = (REAL)tile->rows->rate[index * tile->rows->ld + row];
            NAME(slope_smooth)(count, op, terms, slots, rate, ri, di, cols, ld, o, d, e->temp);
        }
        break;
    case FAR_OP_PUSH:
        NAME(copy_slopes)(count, d, NAME(slopes_at)(e->slopes, *level));
        break;
    case FAR_OP_ADD:
    case FAR_OP_SCALE:
        break;
    }
}

/* ---- the tile -------------------------------------------------------------------------------- */

static void NAME(write_slopes)(const far_tile *tile, int64_t i, int64_t count, bool nngp,
                               const NAME(slope_scratch) * e, NAME(state) x, NAME(slopes) d,
                               const far_slope_out *out)
{
    int64_t at = (i - out->first) * out->ld + tile->j0;
    REAL *restrict turn = out->turn + at, *restrict grow = out->grow + at;
    REAL rate = e->di[nngp ? tile->layout->slots : tile->layout->slots + 1];
    memcpy(out->gap + at, e->start, (size_t)count * sizeof(REAL));
#pragma GCC ivdep
    for (int64_t j = 0; nngp && j < count; j++) {
        turn[j] = d.gap_first[j];
        grow[j] = rate * (1 - x.gap[j]) - d.gap_far[j];
    }
#pragma GCC ivdep
    for (int64_t j = 0; !nngp && j < count; j++) {
        turn[j] = -d.t_first[j];
        grow[j] = d.t_far[j] + rate * x.t[j];
    }
}

static void NAME(slope_row)(const far_tile *tile, int64_t i, int64_t count, bool nngp,
                            NAME(scratch) * s, const NAME(slope_scratch) * e,
                            const far_slope_out *out)
{
    int64_t padded = NAME(padded)(count);
    int level = 0, slots = tile->layout->slots;
    NAME(state) x = NAME(state_at)(s, 0);
    NAME(slopes) d = NAME(slopes_at)(e->slopes, 0);
    NAME(load_row)(tile, i, 0, slots + 2, s->ri);
    for (int k = 0; k < slots + 2; k++) {
        e->di[k] = (REAL)tile->rows->slope[k * tile->rows->ld + i];
    }
    memcpy(e->start, x.gap, (size_t)padded * sizeof(REAL));
    memset(e->slopes, 0, SLOPE_BLOCKS * W * sizeof(REAL));
#pragma GCC ivdep
    for (int64_t j = 0; j < padded; j++) {
        d.gap_first[j] = 1;
    }
    if (x.t) {
        memset(x.t, 0, (size_t)padded * sizeof(REAL));
    }
    for (int64_t k = 0; k < tile->plan->count; k++) {
        NAME(slope_op)(tile, k, i, padded, s, e, &level);
        NAME(spoil)(tile, k + 1, padded, NAME(state_at)(s, level));
    }
    NAME(write_slopes)(tile, i, count, nngp, e, x, d, out);
}

static NAME(slope_scratch) NAME(lay_out_slopes)(const far_tile *tile, REAL *next)
{
    NAME(slope_scratch) e;
    e.before = next;
    e.temp = e.before + 3 * W;
    e.slopes = e.temp + JET_BLOCKS * W;
    e.start = e.slopes + (int64_t)(tile->plan->depth + 1) * SLOPE_BLOCKS * W;
    e.di = e.start + W;
    return e;
}

static void NAME(run_slopes)(const far_tile *tile, bool nngp, const far_slope_out *out)
{
    int64_t own = far_tile_scratch(tile->plan, tile->layout, tile->cols->d);
    NAME(scratch) s = NAME(lay_out)(tile);
    NAME(slope_scratch)
    e = NAME(lay_out_slopes)(tile, (REAL *)tile->scratch + own / (int64_t)sizeof(double));
    int64_t count = tile->j1 - tile->j0;
    s.tangent = !nngp;
    NAME(fill_panel)(tile, &s);
    for (int64_t i = tile->i0; i < tile->i1; i += CHORD_ROWS) {
        int64_t last = i + CHORD_ROWS < tile->i1 ? i + CHORD_ROWS : tile->i1;
        s.limit = tile->plan->count;
        NAME(load_units)(tile, i, last, &s);
        NAME(start)(&s, tile->cols->d, NAME(padded)(count));
        for (int64_t row = i; row < last; row++) {
            s.row = row - i;
            NAME(slope_row)(tile, row, count, nngp, &s, &e, out);
        }
    }
}
