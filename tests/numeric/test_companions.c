/*
 * The kernel of two points does not depend on which other points share the call. Networks are drawn
 * at random; a few points are evaluated alone, and again among companions that change how the
 * library works: many (curves behind norms), of wild norms (closed forms in place of series, wide
 * scales), zeros, duplicates and opposites, in another order, as rows or as columns.
 *
 *     test_companions [COUNT [SEED]]
 */
#include <farfield/farfield.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FEW 7
#define MANY 191
#define D 5
#define TOLERANCE 1e-13

static int count = 24;
static uint64_t seed = 13, state_of_dice;

static uint64_t dice(uint64_t sides)
{
    uint64_t z = state_of_dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % sides;
}

static double uniform(void)
{
    return (double)dice((uint64_t)1 << 53) * 0x1p-52 - 1;
}

/* ---- networks -------------------------------------------------------------------------------- */

static const char *pick(const char *const *from, int n)
{
    return from[dice((uint64_t)n)];
}
#define PICK(list) pick(list, (int)(sizeof(list) / sizeof *(list)))

static const char *const INPUTS[] = {"", "", "", "rms ", "ln ", "ln(eps=0.1) ", "rms(affine) "};
static const char *const DENSES[] = {"dense ", "dense ", "dense(nobias) ", "dense(w=1.5, b=0.3) "};
static const char *const NORMS[] = {"", "", "ln ", "rms ", "ln(eps=0.1) ", "ln(affine) "};
static const char *const SMOOTHS[] = {"relu ", "tanh ",    "silu ",     "gelu ",           "erf ",
                                      "abs ",  "relu(2) ", "sin ",      "leaky_relu(.3) ", "tanh ",
                                      "silu ", "relu(3) ", "relu(1.5) "};
static const char *const BEHIND[] = {"", "", "ln ", "rms "};

static void draw_network(char *text)
{
    int layers = 1 + (int)dice(3);
    strcpy(text, PICK(INPUTS));
    for (int i = 0; i < layers; i++) {
        bool skips = i > 0 && dice(4) == 0;
        strcat(text, PICK(DENSES));
        strcat(text, skips ? "skip(" : "");
        strcat(text, PICK(NORMS));
        strcat(text, PICK(SMOOTHS));
        strcat(text, PICK(BEHIND));
        strcat(text, skips ? "dense) " : "");
    }
    strcat(text, "dense");
}

/* ---- points ---------------------------------------------------------------------------------- */

static void draw_points(double x[][D], int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < D; j++) {
            x[i][j] = uniform();
        }
    }
}

/* The last of the few are a duplicate, an opposite and a near-duplicate. */
static void draw_few(double x[FEW][D])
{
    draw_points(x, FEW);
    for (int j = 0; j < D; j++) {
        x[FEW - 3][j] = x[0][j];
        x[FEW - 2][j] = -x[1][j];
        x[FEW - 1][j] = x[2][j] * (1 + 1e-9 * j);
    }
}

/* Companions of one kind, some of them copies of the few. */
static void draw_companions(int kind, double few[FEW][D], double x[MANY][D])
{
    static const double factors[] = {1, 1, 1e-200, 30, 1e130, 0};
    draw_points(x, MANY);
    for (int i = 0; i < MANY; i++) {
        bool copy = kind == 1 && i % 3 == 0;
        for (int j = 0; j < D; j++) {
            double value = copy ? (i % 2 ? -1 : 1) * few[i % FEW][j] : x[i][j];
            x[i][j] = (kind == 0 ? fabs(value) : value) * (i % 2 ? 1 : factors[kind]);
        }
    }
}
#define KINDS 6

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct gram {
    double k[FEW][FEW], theta[FEW][FEW];
} gram;

static double all[FEW + MANY][D], big[2][(FEW + MANY) * (FEW + MANY)];

/* Far companions may have kernels too large for their type, which is said; those of the few are
 * there all the same. False: some point is beyond what the layers can take, and nothing is. */
static bool evaluate(far_ctx *ctx, far_kernel *k, int n, bool rectangular)
{
    memset(big, 0xff, sizeof big); /* NaN */
    far_mat x = far_mat_view(all, n, D, FAR_F64);
    far_mat nngp = far_mat_view(big[0], n, n, FAR_F64), ntk = far_mat_view(big[1], n, n, FAR_F64);
    far_status st =
        far_kernel_eval(ctx, k, &x, rectangular ? &x : NULL, FAR_FILL_FULL, &nngp, &ntk);
    assert_true(st == FAR_OK || st == FAR_ERR_RANGE);
    return !isnan(big[0][0]);
}

/* The few among n points, at the places that stand in at. */
static void take(int n, const int *at, gram *out)
{
    for (int i = 0; i < FEW; i++) {
        for (int j = 0; j < FEW; j++) {
            out->k[i][j] = big[0][at[i] * n + at[j]];
            out->theta[i][j] = big[1][at[i] * n + at[j]];
        }
    }
}

static double worst(double a[FEW][FEW], double b[FEW][FEW])
{
    double most = 0;
    for (int i = 0; i < FEW; i++) {
        for (int j = 0; j < FEW; j++) {
            double e = fabs(a[i][j] - b[i][j]) / sqrt(b[i][i] * b[j][j]);
            most = e <= most ? most : e;
        }
    }
    return most;
}

/* The few, in reverse, at every twenty-seventh place among the many. */
static void mix(double few[FEW][D], double many[MANY][D], int *at)
{
    int next = 0;
    for (int i = 0; i < FEW + MANY; i++) {
        bool own = i % 28 == 5 && i / 28 < FEW;
        memcpy(all[i], own ? few[FEW - 1 - i / 28] : many[next], sizeof *all);
        next += !own;
        if (own) {
            at[FEW - 1 - i / 28] = i;
        }
    }
}

static const char *const ISAS[] = {"avx512", "avx2", "baseline"};

/* Returns the largest difference, over instruction sets and companions. */
static double compare(far_ctx *ctx, far_kernel *k, double few[FEW][D])
{
    static double many[MANY][D];
    static const int alone_at[FEW] = {0, 1, 2, 3, 4, 5, 6};
    gram alone, among;
    double most = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        int at[FEW];
        setenv("FARFIELD_ISA", ISAS[dice(3)], 1);
        memcpy(all, few, FEW * sizeof *few);
        assert_true(evaluate(ctx, k, FEW, false));
        take(FEW, alone_at, &alone);
        draw_companions(kind, few, many);
        mix(few, many, at);
        if (!evaluate(ctx, k, FEW + MANY, dice(2))) {
            continue;
        }
        take(FEW + MANY, at, &among);
        double e = fmax(worst(among.k, alone.k), worst(among.theta, alone.theta));
        if (!(e <= TOLERANCE)) {
            printf("companions %d, %s: %.1e\n", kind, far_kernel_isa(), e);
        }
        most = e <= most ? most : e;
    }
    return most;
}

static int try_network(far_ctx *ctx, int number, double *most)
{
    char text[512];
    double few[FEW][D];
    far_kernel *k = NULL;
    state_of_dice = seed * 1000003 + (uint64_t)number;
    draw_network(text);
    draw_few(few);
    if (far_kernel_create(ctx, text, NULL, &k) != FAR_OK) {
        return 0; /* some have no kernel */
    }
    double e = compare(ctx, k, few);
    far_kernel_destroy(k);
    *most = fmax(*most, e);
    if (!(e <= TOLERANCE)) {
        printf("FAILED %d@%llu: %.1e: %s\n", number, (unsigned long long)seed, e, text);
        return 1;
    }
    return 0;
}

static void companions_change_nothing(void **state)
{
    far_ctx *ctx = NULL;
    double most = 0;
    int bad = 0;
    (void)state;
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    for (int i = 0; i < count; i++) {
        bad += try_network(ctx, i, &most);
    }
    far_ctx_destroy(ctx);
    printf("%d networks, seed %llu: at most %.1e of the diagonal\n", count,
           (unsigned long long)seed, most);
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(companions_change_nothing)};
    count = argc > 1 ? atoi(argv[1]) : count;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
