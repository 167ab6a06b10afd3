/*
 * test_properties.c: what every kernel must satisfy, on architectures drawn at random. Nothing here
 * knows a formula: Gram matrices are positive semidefinite, Cauchy-Schwarz holds, a rotation of the
 * inputs changes nothing, limits are met far out, and no point exceeds the supremum.
 *
 * An architecture and its points depend on SEED and its number only; -DSEED=... draws others. Those
 * that once broke a property stand in FOUND and are tried as well.
 */

#include "harness.h"

#include <farfield/farfield.h>

#ifndef SEED
#define SEED 20250613
#endif
#define NETS 64          /* architectures drawn; some are refused */
#define NETS_AT_LEAST 40 /* with a kernel */
#define N 67             /* enough pairs for the curves that stand for layers behind a norm */
#define D 4
#define M 5 /* directions, and points they are compared with */

/* ---- random numbers by counter ---- */

typedef struct dice {
    uint64_t key, counter;
} dice;

static uint64_t bits(dice *r)
{
    return mix(r->key + r->counter++ * CHANCE_STEP);
}

static dice dice_of(uint64_t stream)
{
    dice r = {.key = SEED};
    r.key = bits(&r) ^ (stream * 0xd1342543de82ef95u);
    return r;
}

static int draw(dice *r, int below)
{
    return (int)(bits(r) % (uint64_t)below);
}

static bool one_in(dice *r, int times)
{
    return draw(r, times) == 0;
}

static double uniform(dice *r) /* in (-1, 1) */
{
    return (double)(int64_t)bits(r) * 0x1p-63;
}

/* ---- random architectures ---- */

typedef struct net {
    char text[1024];
    size_t length;
    bool standard;
    bool on_input; /* layers stand on the raw input */
    dice r;
} net;

__attribute__((format(printf, 2, 3))) static void put(net *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    n->length += (size_t)vsnprintf(n->text + n->length, sizeof n->text - n->length, format, args);
    va_end(args);
    assert_true(n->length < sizeof n->text);
}

/* Arguments so far: "(" before the first, ", " before the others. */
static const char *separator(int *count)
{
    return (*count)++ ? ", " : "(";
}

static void put_dense(net *n)
{
    static const char *const weights[] = {"0.5", "1.5", "2"};
    static const char *const biases[] = {"0", "0.3", "1"};
    int args = 0;
    put(n, " dense");
    if (n->standard && !one_in(&n->r, 30)) {
        put(n, "%s%d", separator(&args), one_in(&n->r, 12) ? 5 : 8);
    }
    if (one_in(&n->r, 3)) {
        put(n, "%sw=%s", separator(&args), weights[draw(&n->r, COUNT(weights))]);
    }
    if (one_in(&n->r, 6)) {
        put(n, "%snobias", separator(&args));
    } else if (one_in(&n->r, 3)) {
        put(n, "%sb=%s", separator(&args), biases[draw(&n->r, COUNT(biases))]);
    }
    put(n, args ? ")" : "");
}

static void put_activation(net *n)
{
    static const char *const names[] = {"relu", "relu(1.5",  "relu(2",          "relu(3",
                                        "abs",  "relu(0.75", "leaky_relu(0.1",  "gelu",
                                        "silu", "tanh",      "leaky_relu(-0.5", "erf",
                                        "sin",  "relu",      "identity",        "leaky_relu(2"};
    static const char *const gains[] = {"0.5", "1", "2"};
    const char *name = names[draw(&n->r, COUNT(names))];
    int args = strchr(name, '(') ? 1 : 0;
    put(n, " %s", name);
    if (one_in(&n->r, 4)) {
        put(n, "%sgain=%s", separator(&args), gains[draw(&n->r, COUNT(gains))]);
    }
    put(n, args ? ")" : "");
}

static void put_norm(net *n)
{
    static const char *const names[] = {"ln", "rms", "batchnorm"};
    static const char *const eps[] = {"1e-5", "0.5", "3"};
    int which = draw(&n->r, COUNT(names)), args = 0;
    put(n, " %s", names[which]);
    if (which == 0 && one_in(&n->r, 4)) {
        put(n, "%sgroups=2", separator(&args));
    }
    if (one_in(&n->r, 3)) {
        put(n, "%seps=%s", separator(&args), eps[draw(&n->r, COUNT(eps))]);
    }
    if (one_in(&n->r, 4)) {
        put(n, "%saffine", separator(&args));
    }
    put(n, args ? ")" : "");
}

static void put_some_norms(net *n)
{
    for (int i = one_in(&n->r, 2) ? 0 : draw(&n->r, 3); i > 0; i--) {
        put_norm(n);
    }
}

/* Mostly what makes sense: norms, an activation, norms, a dense. */
static void put_unit(net *n)
{
    bool linear = one_in(&n->r, 6);
    put_some_norms(n);
    if (!linear) {
        put_activation(n);
        put_some_norms(n);
    }
    if (linear || !one_in(&n->r, 12)) {
        put_dense(n);
    }
}

static void put_block(net *n, int depth)
{
    int kind = depth > 1 ? 0 : draw(&n->r, 8);
    put(n, kind == 1 || kind == 2 ? " skip(" : kind == 3 ? " [" : "");
    put_unit(n);
    if (kind == 1 && one_in(&n->r, 2)) {
        put_block(n, depth + 1);
    }
    put(n, kind == 1 || kind == 2 ? ")" : kind == 3 ? "]x2" : "");
}

/* From other seeds, cut down to what matters. */
static const struct {
    const char *text;
    bool standard, on_input;
} FOUND[] = {
    {" dense sin dense", false, false},
    {" dense(w=0.5) skip(sin rms(eps=0.5) dense) gelu dense", false, false},
    {" dense(nobias) tanh ln dense", false, false},
    {" dense(b=0) skip(tanh dense(nobias))", false, false},
    {" dense(nobias) erf batchnorm rms dense(nobias) sin", false, false},
    {" dense(nobias) relu(2) dense(w=0.5, b=0) sin rms(affine) dense(w=1.5)", false, false},
    {" dense(b=0) tanh dense(nobias) relu ln rms dense ln relu(0.75) dense", false, false},
    {" batchnorm(affine) dense(b=0) abs dense", false, true},
    {" dense(8, b=0) abs dense(1)", true, false},
    {" dense(8, b=0) ln relu dense(1)", true, false},
    {" dense(nobias) rms(eps=1, affine) rms dense", false, false},
    {" ln(groups=2) dense(nobias) rms(eps=3, affine) rms dense", false, true},
    {" rms ln(eps=1) dense(nobias) rms(eps=3, affine) rms dense", false, true},
};

static net found_net(int number)
{
    net n = {.r = dice_of(1000 + (uint64_t)number)};
    n.standard = FOUND[number].standard;
    n.on_input = FOUND[number].on_input;
    put(&n, "%s", FOUND[number].text);
    return n;
}

static net draw_net(int number)
{
    net n = {.r = dice_of((uint64_t)number)};
    n.standard = one_in(&n.r, 4);
    for (int i = one_in(&n.r, 4) ? 1 + draw(&n.r, 2) : 0; i > 0; i--) {
        n.on_input = true;
        if (one_in(&n.r, 2)) {
            put_norm(&n);
        } else {
            put_activation(&n);
        }
    }
    put_dense(&n);
    for (int i = draw(&n.r, 4); i >= 0; i--) {
        put_block(&n, 0);
    }
    return n;
}

/* ---- random points ---- */

static void copy_scaled(const double *from, double by, double *to)
{
    for (int j = 0; j < D; j++) {
        to[j] = by * from[j];
    }
}

#define NEAR_DOUBLES 32

/* Most of them free, over six decades; then doubles, multiples by powers of two (whose directions
 * round alike), opposites, a near double, constants and zero. */
static void draw_points(dice *r, double x[N][D])
{
    for (int i = 0; i < N; i++) {
        double size = i % 4 ? 1 : pow(10, 3 * uniform(r));
        for (int j = 0; j < D; j++) {
            x[i][j] = size * uniform(r);
        }
    }
    for (int i = 0; i < 4; i++) {
        copy_scaled(x[i], 1, x[20 + i]);
        copy_scaled(x[i], ldexp(1, 5 * i - 8), x[24 + i]);
        copy_scaled(x[i], -ldexp(1, 3 * i), x[28 + i]);
        copy_scaled(x[i], 1 + 1e-9 * i, x[NEAR_DOUBLES + i]);
        x[NEAR_DOUBLES + i][i] *= 1 + 1e-9;
    }
    copy_scaled(x[0], 0, x[36]);
    for (int j = 0; j < D; j++) {
        x[37][j] = 1.5;
        x[38][j] = j < D / 2 ? 0.25 : uniform(r);
    }
}

/* Gram-Schmidt, twice, on the rows of a random matrix. */
static void draw_rotation(dice *r, double q[D][D])
{
    for (int i = 0; i < D; i++) {
        for (int j = 0; j < D; j++) {
            q[i][j] = uniform(r);
        }
        for (int k = 0; k <= 2 * i + 1; k++) {
            const double *other = q[k % (i + 1)];
            double dot = 0, square = 0;
            for (int j = 0; j < D; j++) {
                dot += q[i][j] * other[j];
                square += other[j] * other[j];
            }
            for (int j = 0; j < D; j++) {
                q[i][j] = other == q[i] ? q[i][j] / sqrt(square) : q[i][j] - dot * other[j];
            }
        }
    }
}

static void rotate(const double x[N][D], const double q[D][D], double out[N][D])
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) {
            long double sum = 0;
            for (int k = 0; k < D; k++) {
                sum += (long double)x[i][k] * q[j][k];
            }
            out[i][j] = (double)sum;
        }
    }
}

/* ---- all architectures, made once ---- */

typedef struct trial {
    net n;
    far_kernel *k; /* NULL: refused */
    double x[N][D];
    double gram[2][N][N], diag[2][N]; /* K and Theta */
    int faults;                       /* of the running test */
} trial;

#define TRIALS (NETS + COUNT(FOUND))

static trial *trials;
static const char *const WHAT[] = {"K", "Theta"};

static void eval(const trial *t, double x[][D], int n, double y[][D], int m, double *k, double *th)
{
    far_mat a = far_mat_view(x, n, D, FAR_F64), b = far_mat_view(y, m, D, FAR_F64);
    far_mat mk = far_mat_view(k, n, m, FAR_F64), mt = far_mat_view(th, n, m, FAR_F64);
    must_do(far_kernel_eval(ctx, t->k, &a, y == x ? NULL : &b, FAR_FILL_FULL, &mk, &mt), t->n.text);
}

static void diag(const trial *t, double x[][D], int n, double *k, double *th)
{
    far_mat a = far_mat_view(x, n, D, FAR_F64), mk = far_mat_view(k, n, 1, FAR_F64);
    far_mat mt = far_mat_view(th, n, 1, FAR_F64);
    must_do(far_kernel_diag(ctx, t->k, &a, &mk, &mt), t->n.text);
}

static void open_trial(int number, trial *t)
{
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    t->n = number < NETS ? draw_net(number) : found_net(number - NETS);
    opts.param = t->n.standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK;
    far_status st = far_kernel_create(ctx, t->n.text, &opts, &t->k);
    if (st == FAR_OK) {
        draw_points(&t->n.r, t->x);
        eval(t, t->x, N, t->x, N, &t->gram[0][0][0], &t->gram[1][0][0]);
        diag(t, t->x, N, t->diag[0], t->diag[1]);
    } else if (st != FAR_ERR_ARCH || t->k) {
        fail_msg("%s: %s: %s", t->n.text, far_status_name(st), far_ctx_message(ctx));
    }
}

static int open_trials(void **state)
{
    int kernels = 0;
    trials = calloc(TRIALS, sizeof *trials);
    if (!trials || open_context(state)) {
        return 1;
    }
    for (int number = 0; number < TRIALS; number++) {
        open_trial(number, &trials[number]);
        kernels += number < NETS && trials[number].k;
    }
    printf("seed %d: %d of %d architectures have a kernel\n", SEED, kernels, NETS);
    return kernels < NETS_AT_LEAST;
}

static int close_trials(void **state)
{
    for (int number = 0; number < TRIALS; number++) {
        far_kernel_destroy(trials[number].k);
    }
    free(trials);
    return close_context(state);
}

/* Tells of a property that does not hold; the test fails once all are seen. */
__attribute__((format(printf, 2, 3))) static void complain(trial *t, const char *format, ...)
{
    va_list args;
    if (t->faults++ < 3) {
        va_start(args, format);
        printf("%s%s: ", t->n.standard ? "(standard)" : "", t->n.text);
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
}

static void for_each_kernel(void (*check)(trial *t))
{
    int faulty = 0;
    for (int number = 0; number < TRIALS; number++) {
        trial *t = &trials[number];
        t->faults = 0;
        if (t->k) {
            check(t);
        }
        faulty += t->faults > 0;
    }
    if (faulty) {
        fail_msg("%d architectures fail", faulty);
    }
}

/* ---- matrices ---- */

static void check_numbers(trial *t)
{
    for (int at = 0; at < 2 * N * N; at++) {
        int what = at % 2, i = at / 2 / N, j = at / 2 % N;
        double value = t->gram[what][i][j];
        if (!isfinite(value)) {
            complain(t, "%s[%d][%d] = %g", WHAT[what], i, j, value);
        }
        if (i == j && !(value >= 0 && value == t->diag[what][i])) {
            complain(t, "%s[%d][%d] = %g, diag %g", WHAT[what], i, j, value, t->diag[what][i]);
        }
    }
}

static void values_are_finite_numbers(void **state)
{
    (void)state;
    for_each_kernel(check_numbers);
}

static void check_cauchy_schwarz(trial *t)
{
    for (int at = 0; at < 2 * N * N; at++) {
        int what = at % 2, i = at / 2 / N, j = at / 2 % N;
        double most = sqrt(t->diag[what][i]) * sqrt(t->diag[what][j]);
        if (!(fabs(t->gram[what][i][j]) <= most * (1 + 1e-12))) {
            complain(t, "|%s[%d][%d]| = %.17g > %.17g", WHAT[what], i, j, fabs(t->gram[what][i][j]),
                     most);
        }
    }
}

static void values_satisfy_cauchy_schwarz(void **state)
{
    (void)state;
    for_each_kernel(check_cauchy_schwarz);
}

/* Cholesky of a + shift I, in place; returns whether all pivots are positive, that is whether the
 * smallest eigenvalue of a is above -shift (to rounding, far below the shifts in use). */
static bool is_positive(double a[N][N], double shift)
{
    for (int j = 0; j < N; j++) {
        double pivot = a[j][j] + shift;
        for (int k = 0; k < j; k++) {
            pivot -= a[j][k] * a[j][k];
        }
        if (!(pivot > 0)) {
            return false;
        }
        a[j][j] = sqrt(pivot);
        for (int i = j + 1; i < N; i++) {
            for (int k = 0; k < j; k++) {
                a[i][j] -= a[i][k] * a[j][k];
            }
            a[i][j] /= a[j][j];
        }
    }
    return true;
}

/* Over the roots of the diagonal, so that small points count as much as large ones; points
 * without variance give rows of zeros. Returns the trace. */
static double correlations(double gram[N][N], const double *variance, double out[N][N])
{
    double trace = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double scale = sqrt(variance[i]) * sqrt(variance[j]);
            out[i][j] = gram[i][j] == 0 ? 0 : gram[i][j] / scale;
        }
        trace += out[i][i];
    }
    return trace;
}

static void check_positive(trial *t)
{
    static double a[N][N];
    for (int what = 0; what < 2; what++) {
        double trace = correlations(t->gram[what], t->diag[what], a);
        if (!is_positive(a, 1e-10 * trace + 1e-300)) {
            complain(t, "%s has an eigenvalue below -1e-10 of its trace", WHAT[what]);
        }
    }
}

static void gram_matrices_are_positive_semidefinite(void **state)
{
    (void)state;
    for_each_kernel(check_positive);
}

/* A rotation rounds the difference of near doubles to eight digits; how far apart they are then
 * matters behind large weights. */
static bool is_near_double(int i)
{
    return i >= NEAR_DOUBLES && i < NEAR_DOUBLES + 4;
}

static void check_rotation(trial *t)
{
    static double q[D][D], y[N][D], rotated[2][N][N];
    if (t->n.on_input) {
        return;
    }
    dice r = t->n.r;
    draw_rotation(&r, q);
    rotate(t->x, q, y);
    eval(t, y, N, y, N, &rotated[0][0][0], &rotated[1][0][0]);
    for (int at = 0; at < 2 * N * N; at++) {
        int what = at % 2, i = at / 2 / N, j = at / 2 % N;
        double apart = fabs(rotated[what][i][j] - t->gram[what][i][j]);
        double scale = sqrt(t->diag[what][i]) * sqrt(t->diag[what][j]);
        if (!(apart <= 1e-10 * scale) && !is_near_double(i) && !is_near_double(j)) {
            complain(t, "%s[%d][%d] = %.17g, rotated %.17g, apart by %.2e", WHAT[what], i, j,
                     t->gram[what][i][j], rotated[what][i][j], apart / scale);
        }
    }
}

static void rotations_change_nothing(void **state)
{
    (void)state;
    for_each_kernel(check_rotation);
}

/* ---- infinity ---- */

/* So far out that 1 / lambda^(1/4), which relu(0.75) may leave, is small. */
#define LAMBDA 1e40

/* Limits from M directions to M points, or to the directions. */
typedef struct limits {
    double u[M][D], far_u[M][D], x[M][D];
    double value[2][M][M], order[2][M]; /* from far_kernel_limit */
    double eval[2][M][M], diag[2][M];   /* at lambda; of the points */
} limits;

static void draw_directions(dice r, limits *l)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < D; j++) {
            l->u[i][j] = uniform(&r);
            l->x[i][j] = uniform(&r);
        }
        copy_scaled(l->u[i], LAMBDA, l->far_u[i]);
    }
}

/* Where the kernel grows it may leave the range of its type. */
static void eval_far(const trial *t, bool both, limits *l)
{
    far_mat a = far_mat_view(l->far_u, M, D, FAR_F64);
    far_mat b = far_mat_view(both ? l->far_u : l->x, M, D, FAR_F64);
    for (int what = 0; what < 2; what++) {
        far_mat m = far_mat_view(l->eval[what], M, M, FAR_F64);
        far_status st =
            far_kernel_eval(ctx, t->k, &a, &b, FAR_FILL_FULL, what ? NULL : &m, what ? &m : NULL);
        bool grows = false;
        for (int i = 0; i < M; i++) {
            grows = grows || l->order[what][i] > 0;
        }
        must_do(st == FAR_ERR_RANGE && grows ? FAR_OK : st, t->n.text);
    }
}

/* False if there is no limit. */
static bool ask_limits(const trial *t, bool both, limits *l)
{
    far_mat u = far_mat_view(l->u, M, D, FAR_F64), x = far_mat_view(l->x, M, D, FAR_F64);
    far_mat k = far_mat_view(l->value[0], M, M, FAR_F64);
    far_mat th = far_mat_view(l->value[1], M, M, FAR_F64);
    far_mat k_order = far_mat_view(l->order[0], M, 1, FAR_F64);
    far_mat th_order = far_mat_view(l->order[1], M, 1, FAR_F64);
    far_status st = far_kernel_limit(ctx, t->k, &u, both ? NULL : &x, &k, &k_order, &th, &th_order);
    if (st == FAR_ERR_ARCH && t->n.on_input && strstr(t->n.text, "sin")) {
        return false;
    }
    must_do(st, t->n.text);
    eval_far(t, both, l);
    diag(t, l->x, M, l->diag[0], l->diag[1]);
    return true;
}

/* What differences in row i are measured by: its largest limit, but no less than a thousandth of
 * what the points have (all limits may be zero). */
static double row_scale(const limits *l, int what, int i)
{
    double most = 0;
    for (int j = 0; j < M; j++) {
        most = fmax(most, fabs(l->value[what][i][j]));
        most = fmax(most, 1e-3 * sqrt(l->diag[what][j]));
    }
    return most;
}

/* Between a direction and itself two lambdas need not separate: only distinct ones are compared. */
static void compare_limits(trial *t, const limits *l, bool both)
{
    for (int at = 0; at < 2 * M * M; at++) {
        int what = at % 2, i = at / 2 / M, j = at / 2 % M;
        double order = l->order[what][i] + (both ? l->order[what][j] : 0);
        double limit = l->value[what][i][j], value = l->eval[what][i][j];
        double error = fabs(value - limit) / row_scale(l, what, i);
        if (order == 0 && !(both && i == j) && !(error <= 1e-6)) {
            complain(t, "%s(lambda u%d, %s%d) tends to %.10g, but is %.10g (%.1e)", WHAT[what], i,
                     both ? "lambda u" : "x", j, limit, value, error);
        }
    }
}

static void check_limits(trial *t)
{
    static limits l;
    draw_directions(t->n.r, &l);
    if (ask_limits(t, false, &l)) {
        compare_limits(t, &l, false);
    }
    if (!t->n.on_input && ask_limits(t, true, &l)) { /* input layers make directions parallel */
        compare_limits(t, &l, true);
    }
}

static void limits_are_met_far_out(void **state)
{
    (void)state;
    for_each_kernel(check_limits);
}

/* ---- suprema ---- */

#define RAYS 9

/* Random directions, an axis, constants and half constants. */
static void draw_ray_point(dice *r, int ray, double size, double *x)
{
    for (int j = 0; j < D; j++) {
        bool axis = ray == 6 && j > 0, same = ray == 7 || (ray == 8 && j < D / 2);
        x[j] = size * (axis ? 0 : same ? 1 : uniform(r));
    }
}

static void check_below_supremum(trial *t)
{
    far_supremum s;
    dice r = t->n.r;
    far_status st = far_kernel_supremum(ctx, t->k, D, &s);
    if (st == FAR_ERR_ARCH && t->n.on_input) {
        return;
    }
    must_do(st, t->n.text);
    for (int step = -80; step <= 48; step++) { /* 1e-40 to 1e12 */
        double x[RAYS][D], k[RAYS], th[RAYS], size = pow(10, step / (step < 0 ? 2.0 : 4.0));
        for (int ray = 0; ray < RAYS; ray++) {
            draw_ray_point(&r, ray, size, x[ray]);
        }
        diag(t, x, RAYS, k, th);
        for (int ray = 0; s.bounded && ray < RAYS; ray++) {
            if (!(th[ray] <= s.value * (1 + 1e-12))) {
                complain(t, "Theta(x, x) = %.17g at (%.17g, %.17g, %.17g, %.17g), supremum %.17g",
                         th[ray], x[ray][0], x[ray][1], x[ray][2], x[ray][3], s.value);
            }
        }
    }
}

static void no_point_exceeds_the_supremum(void **state)
{
    (void)state;
    for_each_kernel(check_below_supremum);
}

static double theta_at_radius(const trial *t, double radius)
{
    double x[1][D], k, th;
    for (int j = 0; j < D; j++) {
        x[0][j] = j % 2 ? -radius : radius;
    }
    diag(t, x, 1, &k, &th);
    return th;
}

/* The bound is the least one: it is met where it is said to be. */
static void check_supremum_is_met(trial *t)
{
    far_supremum s;
    if (t->n.on_input) {
        return;
    }
    must_do(far_kernel_supremum(ctx, t->k, D, &s), t->n.text);
    bool far_out = isinf(s.radius);
    double at = far_out ? pow(10, fmin(40, 250 / fmax(s.order, 1))) : s.radius;
    double want = s.bounded ? s.value : s.slope * pow(at, s.order);
    double got = theta_at_radius(t, at);
    if (!(fabs(got - want) <= (far_out ? 1e-6 : 1e-12) * want)) {
        complain(t, "Theta(x, x) = %.17g at radius %g, but %.17g is promised (order %g)", got, at,
                 want, s.order);
    }
    if (s.constant && !(fabs(theta_at_radius(t, 7) - s.value) <= 1e-12 * s.value)) {
        complain(t, "Theta(x, x) is said to be constant, %.17g", s.value);
    }
}

static void suprema_are_met_where_they_say(void **state)
{
    (void)state;
    for_each_kernel(check_supremum_is_met);
}

/* ---- small inputs ---- */

/* K(x, y) of dense(nobias) and an odd activation, gain 1, in one dimension. */
static long double sine_value(long double x, long double y)
{
    return expl(-(x * x + y * y) / 2) * sinhl(x * y);
}

static long double erf_value(long double x, long double y)
{
    long double s = sqrtl((1 + 2 * x * x) * (1 + 2 * y * y));
    return 2 / acosl(-1) * asinl(2 * x * y / s);
}

/* tanh z = z - z^3 / 3 + ..., so K = x y (1 - x^2 - y^2) up to fourth powers. */
static long double tanh_value(long double x, long double y)
{
    return x * y * (1 - x * x - y * y);
}

static const struct {
    const char *text;
    long double (*value)(long double x, long double y);
    double most; /* size of the largest input for which value holds to 1e-13 */
} SMALL[] = {
    {"dense(nobias) sin(gain=1)", sine_value, 1},
    {"dense(nobias) erf(gain=1)", erf_value, 1},
    {"dense(nobias) tanh(gain=1)", tanh_value, 1e-4},
};

/* x, a near double, a multiple, an opposite and zero. */
static void small_points(double size, double x[5])
{
    static const double factors[] = {1, 1 + 1e-9, 0.4, -1, 0};
    for (int i = 0; i < 5; i++) {
        x[i] = size * factors[i];
    }
}

static void check_small(const far_kernel *k, int which, double size, int *faults)
{
    double x[5], got[5][5];
    small_points(size, x);
    far_mat mx = far_mat_view(x, 5, 1, FAR_F64), mk = far_mat_view(got, 5, 5, FAR_F64);
    must_do(far_kernel_eval(ctx, k, &mx, NULL, FAR_FILL_FULL, &mk, NULL), SMALL[which].text);
    for (int i = 0; i < 25; i++) {
        double a = x[i / 5], b = x[i % 5], want = (double)SMALL[which].value(a, b);
        double scale = (double)sqrtl(SMALL[which].value(a, a) * SMALL[which].value(b, b));
        double apart = fabs(got[i / 5][i % 5] - want);
        if (!(apart <= 1e-12 * scale) && (*faults)++ < 4) {
            printf("%s: K(%g, %g) = %.17g, not %.17g\n", SMALL[which].text, a, b, got[i / 5][i % 5],
                   want);
        }
    }
}

static void odd_activations_keep_their_digits_at_small_inputs(void **state)
{
    (void)state;
    int total = 0;
    for (int which = 0; which < COUNT(SMALL); which++) {
        far_kernel *k;
        int faults = 0;
        must_do(far_kernel_create(ctx, SMALL[which].text, NULL, &k), SMALL[which].text);
        for (double size = SMALL[which].most; size > 1e-60; size /= 30) {
            check_small(k, which, size, &faults);
        }
        far_kernel_destroy(k);
        total += faults;
    }
    assert_int_equal(total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_finite_numbers),
        cmocka_unit_test(values_satisfy_cauchy_schwarz),
        cmocka_unit_test(gram_matrices_are_positive_semidefinite),
        cmocka_unit_test(rotations_change_nothing),
        cmocka_unit_test(limits_are_met_far_out),
        cmocka_unit_test(no_point_exceeds_the_supremum),
        cmocka_unit_test(suprema_are_met_where_they_say),
        cmocka_unit_test(odd_activations_keep_their_digits_at_small_inputs),
    };
    return cmocka_run_group_tests(tests, open_trials, close_trials);
}
