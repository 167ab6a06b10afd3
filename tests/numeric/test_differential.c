/*
 * test_differential.c: random networks on degenerate points, every way of asking against every
 * other, and against arbitrary precision.
 *
 *     test_differential [CASES [SEED]]      cases 0 .. CASES - 1 of a seed
 *     test_differential CASE@SEED           that case alone, with its network
 *
 * The environment serves too: FARFIELD_DIFFERENTIAL="20000 7" or "4711@7". A case depends on the
 * seed and its number only. For each network and set of points:
 *
 *   - every instruction set the machine has gives the same matrix, entry by entry;
 *   - the matrix does not depend on what memory held before (an uninitialised read would show);
 *   - lower triangles, rectangles, single rows, transposes, one kernel instead of both and small
 *     calls agree with the square matrix to 1e-13 of the diagonal;
 *   - a sample of entries is what MPFR says: to 1e-13 where all is piecewise polynomial, to 1e-12
 *     where it is not (docs/explanation/kernels.md, "Accuracy", where the exceptions stand as
 * well);
 *   - float32 is the float64 matrix to single precision;
 *   - far out the values are those at infinity, and no Theta(x, x) is above the supremum.
 */
#include <farfield/farfield.h>

#include "chance.h"
#include "draw_net.h"
#include "mp_reference.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

enum { CASES = 30, CASES_LONG = 200 };
#define SEED_DEFAULT 21
#define N_MOST 300
/* where an entry takes long and no curves are fitted, which takes many pairs */
#define N_SLOW 113
#define D_MOST 400
#define ROWS_SAMPLED 10
#define SPECIAL 8 /* rows that lie close to or opposite the first */

#define EXACT 1e-13
#define SMOOTH 1e-12
#define SAME 1e-13 /* one pair in two calls */
#define SINGLE 1e-5
/* Times the steepness of the network (mp_net_steepness): "Steep sines" in
 * docs/explanation/kernels.md. */
#define STEEP 4e-16
#define STEEP_MIXTURE 1e-14 /* behind tanh and silu */

/* ---- random numbers by counter ---- */

typedef struct dice {
    uint64_t key, counter;
} dice;

static uint64_t bits(dice *r)
{
    return mix(r->key + r->counter++ * CHANCE_STEP);
}

static int below(void *source, int limit)
{
    return (int)(bits(source) % (uint64_t)limit);
}

static double uniform(dice *r) /* in (-1, 1) */
{
    return (double)(int64_t)bits(r) * 0x1p-63;
}

/* ---- memory with a past ---- */

typedef struct header {
    uint64_t bytes, pad[7];
} header;

/* user points to the byte that new memory is filled with. */
static void *alloc_filled(void *user, size_t bytes)
{
    size_t rounded = (bytes + sizeof(header) + 63) / 64 * 64;
    char *p = aligned_alloc(64, rounded);
    if (p) {
        memset(p, *(unsigned char *)user, rounded);
    }
    return p;
}

static void free_filled(void *user, void *ptr, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(ptr);
}

static unsigned char fills[] = {0xff, 0x3f}; /* NANs, and numbers of about 5e-4 */
static far_ctx *contexts[2];

static void open_contexts(void)
{
    for (int i = 0; i < 2; i++) {
        far_ctx_opts opts;
        opts = (far_ctx_opts){.size = sizeof opts};
        opts.threads = 1;
        opts.alloc = alloc_filled;
        opts.free = free_filled;
        opts.alloc_user = &fills[i];
        if (far_ctx_create(&opts, &contexts[i]) != FAR_OK) {
            abort();
        }
    }
}

/* ---- instruction sets ---- */

static const char *const ISAS[] = {"baseline", "avx2", "avx512"};
#define ISA_MOST 3
static int isa_count;

static void choose_isa(int isa)
{
    setenv("FARFIELD_ISA", ISAS[isa], 1);
}

static void count_isas(void)
{
    for (isa_count = 0; isa_count < ISA_MOST; isa_count++) {
        choose_isa(isa_count);
        if (strcmp(far_kernel_isa(), ISAS[isa_count]) != 0) {
            printf("%s is not available on this machine\n", ISAS[isa_count]);
            break;
        }
    }
    printf("instruction sets compared: %d (up to %s)\n", isa_count, ISAS[isa_count - 1]);
}

/* ---- tallies ---- */

typedef struct tally {
    const char *name;
    double worst, allowed;
    long compared;
    char where[256];
} tally;

enum {
    T_ISA_EXACT,
    T_ISA_SMOOTH,
    T_CALL,
    T_MP_EXACT,
    T_MP_SMOOTH,
    T_SINGLE_ISA,
    T_SINGLE,
    T_LIMIT,
    T_COUNT
};

static tally tallies[T_COUNT] = {
    [T_ISA_EXACT] = {.name = "between instruction sets, piecewise polynomial", .allowed = EXACT},
    [T_ISA_SMOOTH] = {.name = "between instruction sets, others", .allowed = SMOOTH},
    [T_CALL] = {.name = "the same pair in another call", .allowed = SAME},
    [T_MP_EXACT] = {.name = "against MPFR, piecewise polynomial", .allowed = EXACT},
    [T_MP_SMOOTH] = {.name = "against MPFR, others", .allowed = SMOOTH},
    [T_SINGLE_ISA] = {.name = "float32 between instruction sets", .allowed = SINGLE},
    [T_SINGLE] = {.name = "float32 against float64", .allowed = SINGLE},
    [T_LIMIT] = {.name = "limits against lambda = 2^200 in MPFR", .allowed = SMOOTH},
};

/* ---- a case ---- */

typedef enum family {
    RANDOM,
    POSITIVE,
    HIGH,
    LINE,
    NEAR,
    COLLINEAR,
    OPPOSITE,
    ZEROS,
    HUGE_OR_TINY,
    MIXED,
    OFFSET,
    FAMILIES
} family;

static const char *const FAMILY_NAMES[] = {
    "random",   "positive", "high-dimensional", "one-dimensional", "near duplicates", "collinear",
    "opposite", "zeros",    "1e+-200",          "mixed scales",    "offset"};

typedef struct one_case {
    uint64_t seed;
    long number;
    dice r;
    drawn_net net;
    mp_net mp;
    far_kernel *k;
    family points;
    int n, d;
    double x[N_MOST * D_MOST];
    bool smooth;    /* some activation is not piecewise polynomial */
    bool slow;      /* some has no closed form in the reference */
    bool sines;     /* sin */
    bool steps;     /* erf, tanh or relu(p < 1): Theta of points on one line is less accurate */
    bool closest;   /* relu(p < 1): Theta tells angles of 1e-19 apart */
    bool amplifies; /* float32 may lose more digits than are checked */
    bool free_zero; /* zero inputs stay zero: what 0/0 is differs by a convention */
    bool infinite;  /* the matrix is beyond double */
    bool mixture;   /* tanh or silu */
    double steep;   /* what errors may reach because the network is steep */
    double diag[2][N_MOST];
    int faults;
} one_case;

static const char *const WHAT[] = {"K", "Theta"};

static long faulty_cases;

__attribute__((format(printf, 2, 3))) static void complain(one_case *c, const char *format, ...)
{
    if (c->faults++ == 0) {
        faulty_cases++;
        printf("case %ld@%llu: %s points, n = %d, d = %d, %s:%s\n", c->number,
               (unsigned long long)c->seed, FAMILY_NAMES[c->points], c->n, c->d,
               c->net.standard ? "standard" : "ntk", c->net.text);
    }
    if (c->faults <= 6) {
        va_list args;
        va_start(args, format);
        printf("    ");
        vprintf(format, args);
        printf("\n");
        va_end(args);
        fflush(stdout);
    }
}

/* Notes an error of an entry; what: K or Theta. */
static void note(one_case *c, int which, double error, const char *way, int what, int i, int j,
                 double got, double want)
{
    tally *t = &tallies[which];
    t->compared++;
    double allowed = fmax(t->allowed, c->steep);
    if (!(error <= allowed)) {
        complain(c, "%s: %s: %s[%d][%d] = %.17g, not %.17g: off by %.2e", t->name, way, WHAT[what],
                 i, j, got, want, error);
    }
    error *= t->allowed / allowed;
    if (!(error <= t->worst)) {
        t->worst = error;
        snprintf(t->where, sizeof t->where, "%ld@%llu: %s %s[%d][%d]", c->number,
                 (unsigned long long)c->seed, way, WHAT[what], i, j);
    }
}

/* ---- points ---- */

static void fill_row(one_case *c, int i, double size, double offset)
{
    for (int j = 0; j < c->d; j++) {
        double u = uniform(&c->r);
        c->x[i * c->d + j] = size * (c->points == POSITIVE ? fabs(u) : u) + offset;
    }
}

/* Row i is by times row 0, moved by apart of its size in a random direction. */
static void place_beside(one_case *c, int i, double by, double apart)
{
    for (int j = 0; j < c->d; j++) {
        double x = c->x[j];
        c->x[i * c->d + j] = by * (apart > 0 ? x + apart * x * uniform(&c->r) : x);
    }
}

static void special_rows(one_case *c)
{
    double sign = c->points == POSITIVE ? 1 : -1;
    place_beside(c, 1, 1, 0);
    place_beside(c, 2, 1, 1e-8);
    place_beside(c, 3, 1, 1e-15);
    place_beside(c, 4, sign, 0);
    place_beside(c, 5, sign, 1e-9);
    place_beside(c, 6, 2, 0);
    place_beside(c, 7, sign * 0.37, 0);
}

static double size_of_row(one_case *c, int i)
{
    switch (c->points) {
    case HUGE_OR_TINY:
        return i % 2 ? 1e200 : 1e-200;
    case MIXED:
        return pow(10, 200 * uniform(&c->r));
    case NEAR:
    case OPPOSITE:
        return 1;
    default:
        return i % 4 ? 1 : pow(10, 1.4 * uniform(&c->r));
    }
}

/* Rows behind the first few, family by family. */
static void fill_rest(one_case *c, int i)
{
    int kin = below(&c->r, 20);
    if (c->points == COLLINEAR) {
        place_beside(c, i, (1 + kin) * uniform(&c->r), 0);
    } else if (c->points == NEAR) {
        place_beside(c, i, 1, pow(10, -1 - 0.8 * kin));
    } else if (c->points == OPPOSITE) {
        place_beside(c, i, i % 2 ? -1 : 1, pow(10, -1 - 0.8 * kin));
    } else if (c->points == ZEROS && kin == 0) {
        memset(c->x + i * c->d, 0, (size_t)c->d * sizeof *c->x);
    } else if (c->points == OFFSET) {
        fill_row(c, i, kin == 0 ? 0 : 1, 20);
    } else {
        fill_row(c, i, size_of_row(c, i), 0);
    }
}

static int dimension(one_case *c)
{
    int d = c->points == LINE   ? 1
            : c->points == HIGH ? 101 + below(&c->r, D_MOST - 110)
                                : 2 + below(&c->r, 11);
    int over = d % c->net.groups;
    return over ? d + c->net.groups - over : d;
}

static bool is_extreme(const one_case *c)
{
    return c->points == HUGE_OR_TINY || c->points == MIXED;
}

static void draw_points(one_case *c)
{
    c->points = (family)below(&c->r, FAMILIES);
    bool curves = c->points != ZEROS && !is_extreme(c);
    c->n = !c->slow ? 200 + below(&c->r, N_MOST - 200 + 1) : curves ? 200 : N_SLOW;
    c->d = dimension(c);
    fill_row(c, 0, size_of_row(c, 0), c->points == OFFSET ? 20 : 0);
    special_rows(c);
    for (int i = SPECIAL; i < c->n; i++) {
        fill_rest(c, i);
    }
}

/* ---- the network ---- */

static bool is_polynomial(const mp_op *op)
{
    return op->kind == MP_LEAKY_RELU || op->kind == MP_ABS || op->kind == MP_IDENTITY ||
           (op->kind == MP_RELU && op->arg == floor(op->arg));
}

/* The first dense has no bias: a zero input has no variance behind it. */
static bool keeps_zero(const mp_net *net)
{
    for (int i = 0; i < net->count; i++) {
        if (net->op[i].kind == MP_DENSE) {
            return net->op[i].no_bias || net->op[i].b == 0;
        }
    }
    return true;
}

static void classify(one_case *c)
{
    for (int i = 0; i < c->mp.count; i++) {
        const mp_op *op = &c->mp.op[i];
        if (op->kind < MP_RELU || op->kind > MP_IDENTITY) {
            c->amplifies |= op->kind == MP_DENSE && op->w > 2;
            continue;
        }
        c->amplifies |= op->w0 > 1 || (op->kind == MP_RELU && (op->arg < 1 || op->arg > 3));
        bool fraction = op->kind == MP_RELU && op->arg != floor(op->arg);
        c->smooth |= !is_polynomial(op);
        c->mixture |= op->kind == MP_SILU || op->kind == MP_TANH;
        c->slow |= fraction || c->mixture;
        c->sines |= op->kind == MP_SIN;
        c->closest |= fraction && op->arg < 1;
        c->steps |= op->kind == MP_ERF || op->kind == MP_TANH || (fraction && op->arg < 1);
    }
    c->free_zero = keeps_zero(&c->mp);
}

static bool open_kernel(one_case *c)
{
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = c->net.standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK;
    far_status st = far_kernel_create(contexts[0], c->net.text, &opts, &c->k);
    if (st != FAR_OK && st != FAR_ERR_ARCH) {
        complain(c, "%s: %s", far_status_name(st), far_ctx_message(contexts[0]));
    }
    if (st == FAR_OK && mp_net_parse(c->net.text, &c->mp) != 0) {
        complain(c, "the reference cannot read it");
    }
    return st == FAR_OK && !c->faults;
}

/* Networks that are refused are drawn again, from the same dice. */
static void draw_case(one_case *c, uint64_t seed, long number)
{
    c->seed = seed;
    c->number = number;
    c->r = (dice){.key = seed};
    c->r.key = bits(&c->r) ^ ((uint64_t)(number + 1) * 0xd1342543de82ef95u);
    do {
        net_draw(&c->net, (chooser){below, &c->r, .cheap = false});
    } while (!open_kernel(c) && !c->faults);
    classify(c);
    draw_points(c);
}

/* ---- asking ---- */

typedef struct ask {
    const double *x1, *x2; /* x2 NULL: x1 itself */
    int n, m;
    far_fill fill;
    bool want[2];
    int ctx;
} ask;

static far_status evaluate(const one_case *c, ask q, double *k, double *theta)
{
    far_mat a = far_mat_view((void *)q.x1, q.n, c->d, FAR_F64);
    far_mat b = far_mat_view((void *)q.x2, q.m, c->d, FAR_F64);
    far_mat mk = far_mat_view(k, q.n, q.m, FAR_F64), mt = far_mat_view(theta, q.n, q.m, FAR_F64);
    return far_kernel_eval(contexts[q.ctx], c->k, &a, q.x2 ? &b : NULL, q.fill,
                           q.want[0] ? &mk : NULL, q.want[1] ? &mt : NULL);
}

static void copy_rows(const one_case *c, const int *rows, int count, double *out)
{
    for (int i = 0; i < count; i++) {
        memcpy(out + i * c->d, c->x + rows[i] * c->d, (size_t)c->d * sizeof *out);
    }
}

/* |a - b| over the geometric mean of the diagonal; 0 for equal infinities. */
static double apart(const one_case *c, int what, int i, int j, double a, double b)
{
    if (a == b) {
        return 0;
    }
    double scale = sqrt(c->diag[what][i]) * sqrt(c->diag[what][j]);
    double e = fabs(a - b);
    bool lost = c->diag[what][i] < DBL_MIN || c->diag[what][j] < DBL_MIN; /* and so the scale */
    return e <= 0x1p-1072 || lost ? 0 : e / scale;
}

/* "Where it is less" in docs/explanation/kernels.md: Theta behind erf and tanh at large norms; and
 * relu(p) with p < 1, which tells apart angles that directions of 19 digits do not, behind steep
 * layers. */
static bool is_exempt(const one_case *c, int what)
{
    return what == 1 && ((c->steps && is_extreme(c)) || (c->closest && c->amplifies));
}

static void find_steepness(one_case *c)
{
    static const int ROWS[] = {0, 4, 8, 9, 10, 11, 12, 13};
    double most = 1;
    for (int i = 0; i < (int)(sizeof ROWS / sizeof *ROWS); i++) {
        const double *x = c->x + ROWS[i] * c->d;
        most = fmax(most, mp_net_steepness(&c->mp, c->net.standard, c->d, x));
    }
    c->steep = fmin(1e-4, most * (c->mixture ? STEEP_MIXTURE : STEEP)); /* more is wrong anyway */
}

/* ---- the square matrix, on every instruction set ---- */

static double squares[ISA_MOST][2][N_MOST * N_MOST], again[2][N_MOST * N_MOST];

/* Mixtures take so long that only the highest set runs all of it. */
static bool is_run_again(const one_case *c, int isa)
{
    return !c->slow || isa == isa_count - 1;
}

static bool ask_squares(one_case *c)
{
    ask q = {c->x, NULL, c->n, c->n, FAR_FILL_FULL, {true, true}, 0};
    size_t bytes = (size_t)c->n * c->n * sizeof(double);
    far_status first = FAR_OK;
    for (int isa = 0; isa < isa_count; isa++) {
        choose_isa(isa);
        far_status st = evaluate(c, q, squares[isa][0], squares[isa][1]);
        first = isa == 0 ? st : first;
        if (st != first) {
            complain(c, "%s: %s, but %s: %s", ISAS[0], far_status_name(first), ISAS[isa],
                     far_status_name(st));
            return false;
        }
        q.ctx = 1;
        if (st == FAR_OK && is_run_again(c, isa) && evaluate(c, q, again[0], again[1]) == FAR_OK &&
            (memcmp(again[0], squares[isa][0], bytes) ||
             memcmp(again[1], squares[isa][1], bytes))) {
            complain(c, "%s: the matrix depends on what memory held before", ISAS[isa]);
        }
        q.ctx = 0;
    }
    return first == FAR_OK;
}

static void keep_diagonal(one_case *c)
{
    for (int what = 0; what < 2; what++) {
        for (int i = 0; i < c->n; i++) {
            c->diag[what][i] = squares[0][what][i * c->n + i];
        }
    }
}

static void compare_isas(one_case *c, int worst[2])
{
    double most = -1;
    for (int isa = 1; isa < isa_count; isa++) {
        for (int at = 0; at < 2 * c->n * c->n; at++) {
            int what = at % 2, i = at / 2 / c->n, j = at / 2 % c->n;
            double a = squares[isa][what][i * c->n + j], b = squares[0][what][i * c->n + j];
            double e = apart(c, what, i, j, a, b);
            if (is_exempt(c, what)) {
                continue;
            }
            note(c, c->smooth ? T_ISA_SMOOTH : T_ISA_EXACT, e, ISAS[isa], what, i, j, a, b);
            if (!(e <= most)) {
                most = e;
                worst[0] = i;
                worst[1] = j;
            }
        }
    }
}

static void check_symmetry(one_case *c)
{
    const double *top = squares[isa_count - 1][1];
    for (int i = 0; i < c->n; i++) {
        for (int j = 0; j < i; j++) {
            if (memcmp(&top[i * c->n + j], &top[j * c->n + i], sizeof *top) != 0) {
                complain(c, "Theta[%d][%d] and its mirror image differ", i, j);
            }
        }
    }
}

/* ---- other ways of asking ---- */

static void compare_call(one_case *c, const char *way, int isa, const int *rows, int n,
                         const int *cols, int m, const double *got[2])
{
    for (int what = 0; what < 2; what++) {
        for (int at = 0; got[what] && at < n * m; at++) {
            int i = rows[at / m], j = cols[at % m];
            double want = squares[isa][what][i * c->n + j];
            if (!is_exempt(c, what)) {
                note(c, T_CALL, apart(c, what, i, j, got[what][at], want), way, what, i, j,
                     got[what][at], want);
            }
        }
    }
}

static void check_way(one_case *c, const char *way, int isa, int rows[], int n, int cols[], int m,
                      int want)
{
    static double a[N_MOST * D_MOST], b[N_MOST * D_MOST], out[2][N_MOST * N_MOST];
    const double *got[2] = {want != 1 ? out[0] : NULL, want != 0 ? out[1] : NULL};
    ask q = {a, cols ? b : NULL, n, m, FAR_FILL_FULL, {want != 1, want != 0}, 0};
    copy_rows(c, rows, n, a);
    copy_rows(c, cols ? cols : rows, m, b);
    far_status st = evaluate(c, q, out[0], out[1]);
    if (st != FAR_OK) {
        complain(c, "%s: %s: %s", way, far_status_name(st), far_ctx_message(contexts[0]));
        return;
    }
    compare_call(c, way, isa, rows, n, cols ? cols : rows, m, got);
}

static void check_lower(one_case *c, int isa, int want)
{
    static double out[N_MOST * N_MOST];
    int n = c->n;
    for (int at = 0; at < n * n; at++) {
        out[at] = -77;
    }
    ask q = {c->x, NULL, n, n, FAR_FILL_LOWER, {want == 0, want == 1}, 0};
    far_status st = evaluate(c, q, out, out);
    if (st != FAR_OK) {
        complain(c, "lower: %s: %s", far_status_name(st), far_ctx_message(contexts[0]));
    }
    for (int at = 0; at < n * n && st == FAR_OK; at++) {
        int i = at / n, j = at % n;
        double full = squares[isa][want][at];
        if (j > i && out[at] != -77) {
            complain(c, "lower: the upper triangle was written");
            return;
        }
        if (j <= i && !is_exempt(c, want)) {
            note(c, T_CALL, apart(c, want, i, j, out[at], full), "lower", want, i, j, out[at],
                 full);
        }
    }
}

/* A permutation of the rows, the special ones among the first 2 SPECIAL of it. */
static void shuffle(one_case *c, int *rows)
{
    for (int i = 0; i < c->n; i++) {
        rows[i] = i;
    }
    for (int i = SPECIAL; i < c->n; i++) {
        int j = SPECIAL + below(&c->r, i - SPECIAL + 1), swap = rows[i];
        rows[i] = rows[j];
        rows[j] = swap;
    }
    for (int i = 0; i < SPECIAL; i++) {
        int j = below(&c->r, 2 * SPECIAL), swap = rows[i];
        rows[i] = rows[j];
        rows[j] = swap;
    }
}

static void check_other_ways(one_case *c)
{
    int rows[N_MOST], others[N_MOST];
    for (int isa = 0; isa < isa_count; isa++) {
        if (!is_run_again(c, isa)) {
            continue;
        }
        choose_isa(isa);
        shuffle(c, rows);
        shuffle(c, others);
        check_lower(c, isa, 0);
        check_lower(c, isa, 1);
        int few = c->n - 27, many = c->n - 1;
        check_way(c, "rectangle", isa, rows, few < 173 ? few : 173, others, many < 199 ? many : 199,
                  2);
        check_way(c, "rectangle, Theta alone", isa, others, 97, rows, 53, 1);
        check_way(c, "rectangle, K alone", isa, others, many < 197 ? many : 197, rows,
                  few < 167 ? few : 167, 0);
        check_way(c, "one row", isa, &rows[1], 1, others, c->n, 2);
        check_way(c, "one column", isa, others, c->n, &rows[2], 1, 2);
        check_way(c, "few points", isa, rows, 2 * SPECIAL, NULL, 2 * SPECIAL, 2);
        check_way(c, "pair", isa, rows, 1, rows, 1, 2);
    }
}

/* ---- MPFR ---- */

/* |got - want| / scale. An infinite answer stands for all beyond DBL_MAX: its distance is what is
 * missing to there. The last denormals may be lost. */
static double error_of(double got, mpfr_t want, mpfr_t scale)
{
    double e = 0;
    mpfr_t diff;
    if (isnan(got)) {
        return INFINITY;
    }
    mpfr_init2(diff, mpfr_get_prec(want));
    mpfr_sub_d(diff, want, isinf(got) ? copysign(DBL_MAX, got) : got, MPFR_RNDN);
    if (isinf(got) && mpfr_sgn(diff) * got > 0) {
        mpfr_set_zero(diff, 1);
    }
    mpfr_abs(diff, diff, MPFR_RNDN);
    if (mpfr_cmp_d(diff, 0x1p-1072) > 0) {
        mpfr_div(diff, diff, scale, MPFR_RNDN);
        e = mpfr_get_d(diff, MPFR_RNDN);
    }
    mpfr_clear(diff);
    return e;
}

static bool is_zero_row(const one_case *c, int i)
{
    bool zero = true, constant = true; /* ln of a constant is zero */
    for (int j = 0; j < c->d; j++) {
        zero &= c->x[i * c->d + j] == 0;
        constant &= c->x[i * c->d + j] == c->x[i * c->d];
    }
    return zero || (constant && c->net.on_input);
}

static long bits_of(const one_case *c)
{
    return is_extreme(c) ? MP_BITS : MP_BITS_LOW;
}

static long no_reference, mp_refused;

typedef struct sample {
    int count, rows[ROWS_SAMPLED];
    mpfr_t diag[ROWS_SAMPLED][2], value[2], scale;
} sample;

static bool reference(const one_case *c, int i, int j, mpfr_t value[2])
{
    const char *error = mp_net_eval(&c->mp, c->net.standard, bits_of(c), c->d, c->x + i * c->d,
                                    c->x + j * c->d, value[0], value[1]);
    return !error;
}

/* The diagonal is there already. */
static bool ask_sample(const one_case *c, sample *s, int a, int b)
{
    if (a != b) {
        return reference(c, s->rows[a], s->rows[b], s->value);
    }
    mpfr_set(s->value[0], s->diag[a][0], MPFR_RNDN);
    mpfr_set(s->value[1], s->diag[a][1], MPFR_RNDN);
    return true;
}

static void compare_pair(one_case *c, sample *s, int a, int b)
{
    int i = s->rows[a], j = s->rows[b];
    if (!ask_sample(c, s, a, b)) {
        no_reference++;
        return;
    }
    for (int what = 0; what < 2; what++) {
        if (is_exempt(c, what)) {
            continue;
        }
        mpfr_mul(s->scale, s->diag[a][what], s->diag[b][what], MPFR_RNDN);
        mpfr_sqrt(s->scale, s->scale, MPFR_RNDN);
        for (int isa = 0; isa < isa_count; isa++) {
            double got = squares[isa][what][i * c->n + j];
            note(c, c->smooth ? T_MP_SMOOTH : T_MP_EXACT, error_of(got, s->value[what], s->scale),
                 ISAS[isa], what, i, j, got, mpfr_get_d(s->value[what], MPFR_RNDN));
        }
    }
}

static void add_row(one_case *c, sample *s, int row)
{
    for (int i = 0; i < s->count; i++) {
        if (s->rows[i] == row) {
            return;
        }
    }
    if (!(is_zero_row(c, row) && c->free_zero)) {
        s->rows[s->count++] = row;
    }
}

static void choose_rows(one_case *c, sample *s, const int worst[2])
{
    static const int FEW[] = {0, 3, 4};
    s->count = 0;
    add_row(c, s, worst[0]);
    add_row(c, s, worst[1]);
    for (int i = 0; i < (c->slow ? 3 : SPECIAL - 1); i++) {
        add_row(c, s, c->slow ? FEW[i] : i);
    }
    if (s->count < ROWS_SAMPLED && !c->slow) {
        add_row(c, s, below(&c->r, c->n));
    }
}

static void compare_with_mp(one_case *c, const int worst[2])
{
    sample s;
    bool there = !(c->slow && is_extreme(c)); /* it takes too long */
    choose_rows(c, &s, worst);
    mpfr_inits2(MP_BITS, s.value[0], s.value[1], s.scale, (mpfr_ptr)NULL);
    for (int a = 0; a < s.count; a++) {
        mpfr_inits2(MP_BITS, s.diag[a][0], s.diag[a][1], (mpfr_ptr)NULL);
    }
    for (int a = 0; a < s.count && there; a++) {
        there = reference(c, s.rows[a], s.rows[a], s.diag[a]);
    }
    for (int a = 0; a < s.count && there; a++) {
        for (int b = 0; b <= a; b++) {
            compare_pair(c, &s, a, b);
        }
    }
    no_reference += !there;
    for (int a = 0; a < s.count; a++) {
        mpfr_clears(s.diag[a][0], s.diag[a][1], (mpfr_ptr)NULL);
    }
    mpfr_clears(s.value[0], s.value[1], s.scale, (mpfr_ptr)NULL);
}

/* A matrix that was refused must have an entry beyond double, or a sine or step must see values
 * above 1e140 ("What is refused" in docs/explanation/kernels.md). */
static void check_refusal(one_case *c)
{
    mpfr_t v[2];
    bool beyond = is_extreme(c) && (c->steps || c->sines);
    mpfr_inits2(MP_BITS, v[0], v[1], (mpfr_ptr)NULL);
    for (int i = 0; i < c->n && !beyond; i++) {
        if (reference(c, i, i, v)) {
            beyond = mpfr_cmp_d(v[0], DBL_MAX) > 0 || mpfr_cmp_d(v[1], DBL_MAX) > 0;
        } else {
            beyond = true; /* not known */
        }
    }
    mpfr_clears(v[0], v[1], (mpfr_ptr)NULL);
    mp_refused++;
    if (!beyond) {
        complain(c, "refused though all values are in range: %s", far_ctx_message(contexts[0]));
    }
}

/* ---- float32 ---- */

static void check_single(one_case *c)
{
    static float x[N_MOST * D_MOST], out[ISA_MOST][2][N_MOST * N_MOST];
    static double rounded[N_MOST * D_MOST], wide[2][N_MOST * N_MOST];
    int n = 101, d = c->d;
    if (is_extreme(c) || c->amplifies) {
        return;
    }
    for (int at = 0; at < n * d; at++) {
        rounded[at] = x[at] = (float)c->x[at];
    }
    choose_isa(0);
    ask q = {rounded, NULL, n, n, FAR_FILL_FULL, {true, true}, 0};
    if (evaluate(c, q, wide[0], wide[1]) != FAR_OK) {
        return;
    }
    far_mat a = far_mat_view(x, n, d, FAR_F32);
    for (int isa = 0; isa < isa_count; isa++) {
        choose_isa(isa);
        far_mat k = far_mat_view(out[isa][0], n, n, FAR_F32);
        far_mat t = far_mat_view(out[isa][1], n, n, FAR_F32);
        if (far_kernel_eval(contexts[0], c->k, &a, NULL, FAR_FILL_FULL, &k, &t) != FAR_OK) {
            return; /* beyond float */
        }
    }
    for (int at = 0; at < 2 * n * n; at++) {
        int what = at % 2, i = at / 2 / n, j = at / 2 % n;
        double scale = sqrt(wide[what][i * n + i]) * sqrt(wide[what][j * n + j]);
        double want = wide[what][i * n + j];
        for (int isa = 0; isa < isa_count && scale > 1e-30 && scale < 1e30; isa++) {
            double got = out[isa][what][i * n + j], other = out[0][what][i * n + j];
            note(c, T_SINGLE_ISA, fabs(got - other) / scale, ISAS[isa], what, i, j, got, other);
            note(c, T_SINGLE, fabs(got - want) / scale, ISAS[isa], what, i, j, got, want);
        }
    }
}

/* ---- infinity ---- */

#define FAR_ROWS 3

typedef struct far_out {
    double u[FAR_ROWS * D_MOST], x[FAR_ROWS * D_MOST], far_u[FAR_ROWS * D_MOST];
    double value[2][FAR_ROWS * FAR_ROWS], order[2][FAR_ROWS];
} far_out;

static bool ask_limit(one_case *c, far_out *f)
{
    far_mat u = far_mat_view(f->u, FAR_ROWS, c->d, FAR_F64);
    far_mat x = far_mat_view(f->x, FAR_ROWS, c->d, FAR_F64);
    far_mat k = far_mat_view(f->value[0], FAR_ROWS, FAR_ROWS, FAR_F64);
    far_mat t = far_mat_view(f->value[1], FAR_ROWS, FAR_ROWS, FAR_F64);
    far_mat ko = far_mat_view(f->order[0], FAR_ROWS, 1, FAR_F64);
    far_mat to = far_mat_view(f->order[1], FAR_ROWS, 1, FAR_F64);
    far_status st = far_kernel_limit(contexts[0], c->k, &u, &x, &k, &ko, &t, &to);
    if (st != FAR_OK && st != FAR_ERR_RANGE && !(st == FAR_ERR_ARCH && c->net.on_input)) {
        complain(c, "no limit: %s", far_ctx_message(contexts[0]));
    }
    return st == FAR_OK;
}

/* K or Theta at (lambda u_i, x_j) over lambda^order, and the scale of errors. */
static void compare_limit(one_case *c, far_out *f, int i, int j)
{
    mpfr_t v[3][2], power;
    const double *x = f->far_u + i * c->d, *y = f->x + j * c->d;
    bool there = true;
    mpfr_init2(power, MP_BITS);
    for (int a = 0; a < 3; a++) {
        const double *p = a == 2 ? y : x, *q = a == 1 ? x : y;
        mpfr_inits2(MP_BITS, v[a][0], v[a][1], (mpfr_ptr)NULL);
        there =
            there && !mp_net_eval(&c->mp, c->net.standard, MP_BITS, c->d, p, q, v[a][0], v[a][1]);
    }
    for (int what = 0; what < 2 && there; what++) {
        mpfr_set_d(power, -200 * f->order[what][i], MPFR_RNDN);
        mpfr_exp2(power, power, MPFR_RNDN);
        mpfr_mul(v[0][what], v[0][what], power, MPFR_RNDN);
        mpfr_sqrt(v[1][what], v[1][what], MPFR_RNDN);
        mpfr_sqrt(v[2][what], v[2][what], MPFR_RNDN);
        mpfr_mul(v[1][what], v[1][what], v[2][what], MPFR_RNDN);
        mpfr_mul(v[1][what], v[1][what], power, MPFR_RNDN);
        double got = f->value[what][i * FAR_ROWS + j];
        note(c, T_LIMIT, error_of(got, v[0][what], v[1][what]), "limit", what, i, j, got,
             mpfr_get_d(v[0][what], MPFR_RNDN));
    }
    for (int a = 0; a < 3; a++) {
        mpfr_clears(v[a][0], v[a][1], (mpfr_ptr)NULL);
    }
    mpfr_clear(power);
}

static void check_limits(one_case *c)
{
    static far_out f;
    if (c->slow || c->d > 40) {
        return; /* the reference takes too long */
    }
    for (int at = 0; at < FAR_ROWS * c->d; at++) {
        f.u[at] = uniform(&c->r);
        f.x[at] = uniform(&c->r);
        f.far_u[at] = ldexp(f.u[at], 200);
    }
    for (int i = 0; ask_limit(c, &f) && i < FAR_ROWS; i++) {
        compare_limit(c, &f, i, (i + 1) % FAR_ROWS);
    }
}

static void check_supremum(one_case *c)
{
    far_supremum s;
    far_status st = far_kernel_supremum(contexts[0], c->k, c->d, &s);
    if (st != FAR_OK && st != FAR_ERR_RANGE && !(st == FAR_ERR_ARCH && c->net.on_input)) {
        complain(c, "no supremum: %s", far_ctx_message(contexts[0]));
    }
    for (int i = 0; st == FAR_OK && s.bounded && i < c->n; i++) {
        if (!(c->diag[1][i] <= s.value * (1 + 1e-12))) {
            complain(c, "Theta[%d][%d] = %.17g is above the supremum %.17g", i, i, c->diag[1][i],
                     s.value);
        }
    }
}

/* ---- all of it ---- */

static void run_case(uint64_t seed, long number, bool verbose)
{
    static one_case c;
    int worst[2] = {0, 0};
    memset(&c, 0, sizeof c);
    draw_case(&c, seed, number);
    if (verbose) {
        printf("case %ld@%llu: %s points, n = %d, d = %d, %s:%s\n", number,
               (unsigned long long)seed, FAMILY_NAMES[c.points], c.n, c.d,
               c.net.standard ? "standard" : "ntk", c.net.text);
    }
    if (!c.faults && ask_squares(&c)) {
        keep_diagonal(&c);
        find_steepness(&c);
        compare_isas(&c, worst);
        check_symmetry(&c);
        check_other_ways(&c);
        compare_with_mp(&c, worst);
        check_single(&c);
        check_limits(&c);
        check_supremum(&c);
    } else if (!c.faults) {
        check_refusal(&c);
    }
    far_kernel_destroy(c.k);
}

static void report(long cases, uint64_t seed)
{
    printf("%ld cases of seed %llu; %ld refused as beyond double, %ld without a reference\n", cases,
           (unsigned long long)seed, mp_refused, no_reference);
    for (int i = 0; i < T_COUNT; i++) {
        printf("%-48s %10ld entries, worst %.1e (allowed %.0e) in %s\n", tallies[i].name,
               tallies[i].compared, tallies[i].worst, tallies[i].allowed, tallies[i].where);
    }
    printf("%ld cases failed\n", faulty_cases);
}

typedef struct range {
    long first, end;
    uint64_t seed;
} range;

static range parse_range(const char *text)
{
    char *end;
    range r = {0, (long)draws(CASES, CASES_LONG), SEED_DEFAULT};
    long number = strtol(text, &end, 10);
    bool one = *end == '@';
    if (end == text) {
        return r;
    }
    r = (range){one ? number : 0, one ? number + 1 : number, SEED_DEFAULT};
    if (*end) {
        r.seed = strtoull(end + 1, NULL, 10);
    }
    return r;
}

int main(int argc, char **argv)
{
    const char *asked = getenv("FARFIELD_DIFFERENTIAL");
    char text[64];
    snprintf(text, sizeof text, "%s%s%s",
             argc > 1 ? argv[1]
             : asked  ? asked
                      : "",
             argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
    range r = parse_range(text);
    setvbuf(stdout, NULL, _IOLBF, 0); /* a long run is read while it goes on */
    open_contexts();
    count_isas();
    for (long i = r.first; i < r.end; i++) {
        run_case(r.seed, i, r.end == r.first + 1);
    }
    report(r.end - r.first, r.seed);
    far_ctx_destroy(contexts[0]);
    far_ctx_destroy(contexts[1]);
    mp_release();
    return faulty_cases > 0;
}
