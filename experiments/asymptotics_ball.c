/*
 * The kernel on the unit ball of R^3, without a sample. It hangs on |x|, |x'| and their angle
 * alone, so spherical harmonics of degree l are eigenfunctions of the angle: for each l there is
 * left the operator k_l(r, s) = 2 pi int k(r, s, u) P_l(u) du along the radius, and each of its
 * eigenvalues counts 2 l + 1 times.
 */
#include "asymptotics.h"

#include <math.h>
#include <stdlib.h>

void gauss_nodes(int64_t count, double *nodes, double *weights)
{
    double pi = acos(-1);
    for (int64_t i = 0; i < count; i++) {
        double x = cos(pi * ((double)i + 0.75) / ((double)count + 0.5)), slope = 1;
        for (int step = 0; step < 100; step++) {
            double before = 1, now = x;
            for (int64_t l = 2; l <= count; l++) {
                double next =
                    ((2 * (double)l - 1) * x * now - ((double)l - 1) * before) / (double)l;
                before = now;
                now = next;
            }
            slope = (double)count * (x * now - before) / (x * x - 1);
            double move = now / slope;
            x -= move;
            if (fabs(move) < 1e-15) {
                break;
            }
        }
        nodes[i] = (1 + x) / 2;
        weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

/* ---- the operators along the radius -------------------------------------------------------- */

typedef struct ball {
    ball_size size;
    double *radius, *radius_weight; /* radii of each */
    double *angle;                  /* angles; denser near 0, where the kernel has its edge */
    double *legendre;               /* angles x (degree + 1), with the weights of the integral */
    double *operators;              /* (degree + 1) x radii x radii */
    double *covariances;            /* the same of the NNGP kernel */
} ball;

static void ball_free(ball *b)
{
    FREE(b->radius, b->radius_weight, b->angle, b->legendre, b->operators, b->covariances);
}

/* angle = pi v^2, and 2 pi P_l(cos angle) sin(angle) d angle. */
static void fill_legendre(ball *b)
{
    int64_t degree = b->size.degree, count = b->size.angles;
    double pi = acos(-1), *v = ROOM(count, double), *weight = ROOM(count, double);
    gauss_nodes(count, v, weight);
    for (int64_t q = 0; q < count; q++) {
        double *row = b->legendre + q * (degree + 1);
        b->angle[q] = pi * v[q] * v[q];
        double u = cos(b->angle[q]);
        row[0] = 2 * pi * sin(b->angle[q]) * 2 * pi * v[q] * weight[q];
        row[1] = u * row[0];
        for (int64_t l = 2; l <= degree; l++) {
            row[l] =
                ((2 * (double)l - 1) * u * row[l - 1] - ((double)l - 1) * row[l - 2]) / (double)l;
        }
    }
    free(v);
    free(weight);
}

static void ball_open(const ball_size *size, ball *b)
{
    int64_t radii = size->radii;
    *b = (ball){.size = *size,
                .radius = ROOM(radii, double),
                .radius_weight = ROOM(radii, double),
                .angle = ROOM(size->angles, double),
                .legendre = ROOM(size->angles * (size->degree + 1), double),
                .operators = ROOM((size->degree + 1) * radii * radii, double),
                .covariances = ROOM((size->degree + 1) * radii * radii, double)};
    gauss_nodes(radii, b->radius, b->radius_weight);
    fill_legendre(b);
}

/* The points (r, 0, 0), and (s cos angle, s sin angle, 0) for one s. */
static void fill_axis(const ball *b, double *x)
{
    for (int64_t i = 0; i < b->size.radii; i++) {
        x[3 * i] = b->radius[i];
    }
}

static void fill_arc(const ball *b, double s, double *x)
{
    for (int64_t q = 0; q < b->size.angles; q++) {
        x[3 * q] = s * cos(b->angle[q]);
        x[3 * q + 1] = s * sin(b->angle[q]);
    }
}

static void keep_column(const ball *b, int64_t j, const double *integrals, double *operators)
{
    int64_t radii = b->size.radii, degrees = b->size.degree + 1;
    for (int64_t l = 0; l < degrees; l++) {
        for (int64_t i = 0; i < radii; i++) {
            operators[(l * radii + i) * radii + j] = integrals[i * degrees + l];
        }
    }
}

static far_status fill_operators(reproduction *r, const far_kernel *kernel, ball *b)
{
    int64_t radii = b->size.radii, angles = b->size.angles, degrees = b->size.degree + 1;
    double *axis = ROOM(3 * radii, double), *arc = ROOM(3 * angles, double);
    double *pairs = ROOM(radii * angles, double), *integrals = ROOM(radii * degrees, double);
    double *covariant = ROOM(radii * angles, double);
    far_mat x1 = far_mat_view(axis, radii, 3, FAR_F64), x2 = far_mat_view(arc, angles, 3, FAR_F64);
    far_mat k = far_mat_view(pairs, radii, angles, FAR_F64);
    far_mat c = far_mat_view(covariant, radii, angles, FAR_F64);
    far_mat p = far_mat_view(b->legendre, angles, degrees, FAR_F64);
    far_mat out = far_mat_view(integrals, radii, degrees, FAR_F64);
    far_status st = FAR_OK;
    fill_axis(b, axis);
    for (int64_t j = 0; j < radii; j++) {
        fill_arc(b, b->radius[j], arc);
        TRY(far_kernel_eval(r->ctx, kernel, &x1, &x2, FAR_FILL_FULL, &c, &k));
        TRY(far_multiply(r->ctx, &k, &p, &out));
        keep_column(b, j, integrals, b->operators);
        TRY(far_multiply(r->ctx, &c, &p, &out));
        keep_column(b, j, integrals, b->covariances);
    }
done:
    FREE(axis, arc, pairs, covariant, integrals);
    return st;
}

/* ---- eigenvalues of all degrees ------------------------------------------------------------ */

/* One of the radius: times of eigenvalues of the ball. One of them has a part of the indicator,
 * each the same part of networks, on average. */
typedef struct mode {
    double value, jump, network;
    int64_t times;
} mode;

/* Where 1[u > 0] = sum_l a_l P_l(u): a_l = (2 l + 1) / 2 int_0^1 P_l. */
static double jump_part(int64_t l)
{
    double before = 1, now = 0; /* P_{l-1}(0), P_l(0) */
    if (l == 0) {
        return 0.5;
    }
    for (int64_t i = 1; i < l; i++) {
        double next = -(double)i * before / ((double)i + 1);
        before = now;
        now = next;
    }
    /* int_0^1 P_l = (P_{l-1}(0) - P_{l+1}(0)) / (2 l + 1) */
    double after = -(double)l * before / ((double)l + 1);
    return (before - after) / 2;
}

/* The measure is 3 / (4 pi) s^2 ds d(angle); its root on both sides makes the operator symmetric.
 */
static double root_weight(const ball *b, int64_t i)
{
    return sqrt(3 / (4 * acos(-1)) * b->radius_weight[i]) * b->radius[i];
}

static void make_symmetric(const ball *b, const double *operators, int64_t l, double *out)
{
    int64_t n = b->size.radii;
    const double *k = operators + l * n * n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double value =
                (k[i * n + j] + k[j * n + i]) / 2 * root_weight(b, i) * root_weight(b, j);
            out[i * n + j] = out[j * n + i] = value;
        }
    }
}

/* u' B u: the mean square of networks along u. */
static double variance_along(const double *b, const double *u, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        for (int64_t j = 0; j < n; j++) {
            row += b[i * n + j] * u[j];
        }
        sum += u[i] * row;
    }
    return sum;
}

static void keep_modes(const ball *b, int64_t l, const far_spectrum *s, const double *covariance,
                       mode *out)
{
    double part = jump_part(l) * sqrt(4 * acos(-1) / (2 * (double)l + 1));
    for (int64_t k = 0; k < s->count; k++) {
        double along = 0;
        for (int64_t i = 0; i < s->rows; i++) {
            along += root_weight(b, i) * s->vectors[k * s->rows + i];
        }
        out[k] = (mode){.value = s->values[k],
                        .jump = part * part * along * along,
                        .network = variance_along(covariance, s->vectors + k * s->rows, s->rows),
                        .times = 2 * l + 1};
    }
}

static far_status solve_degree(reproduction *r, const ball *b, int64_t l, double *matrix, mode *out)
{
    far_view *view = NULL;
    far_spectrum s;
    far_mat m = far_mat_view(matrix, b->size.radii, b->size.radii, FAR_F64);
    far_status st;
    make_symmetric(b, b->operators, l, matrix);
    TRY(far_view_create(r->ctx, &m, 0, &view));
    TRY(far_view_spectrum(r->ctx, view, 0, 1, &s));
    make_symmetric(b, b->covariances, l, matrix); /* the view is done with its matrix */
    keep_modes(b, l, &s, matrix, out);
done:
    far_view_destroy(view);
    return st;
}

static int by_value(const void *a, const void *b)
{
    double x = ((const mode *)a)->value, y = ((const mode *)b)->value;
    return (x < y) - (x > y);
}

/* What all of it is, |f|^2: of the indicator, and of networks, 3 int (1 + r^2) r^2 dr. */
static const double WHOLE[LAW_TARGETS] = {0.5, 1.6};

static void sum_tails(law_run *out)
{
    for (int target = 0; target < LAW_TARGETS; target++) {
        double left = WHOLE[target];
        for (int64_t n = 0; n < out->count; n++) {
            out->tails[target][n] = left;
            left -= out->squares[target][n];
        }
        out->moments[target][0] = left;
    }
}

/* All of one level, one behind the other; the part of the indicator goes with the first. */
static void spell_out(const mode *modes, int64_t count, double least, law_run *out)
{
    int64_t total = 0, next = 0;
    for (int64_t k = 0; k < count && modes[k].value > least; k++) {
        total += modes[k].times;
    }
    out->count = total;
    out->values = ROOM(total, double);
    for (int target = 0; target < LAW_TARGETS; target++) {
        out->squares[target] = ROOM(total, double);
        out->tails[target] = ROOM(total, double);
    }
    for (int64_t k = 0; next < total; k++) {
        out->squares[LAW_JUMP][next] = modes[k].jump;
        for (int64_t i = 0; i < modes[k].times; i++) {
            out->squares[LAW_NET][next] = modes[k].network;
            out->values[next++] = modes[k].value;
        }
    }
    sum_tails(out);
}

far_status ball_measure(reproduction *r, const ball_size *size, law_run *out)
{
    ball b;
    far_kernel *kernel = NULL;
    int64_t radii = size->radii, degrees = size->degree + 1;
    mode *modes = ROOM(degrees * radii, mode);
    double *matrix = ROOM(radii * radii, double);
    char *arch = law_arch(3, 0);
    far_status st;
    ball_open(size, &b);
    TRY(far_kernel_create(r->ctx, arch, NULL, &kernel));
    TRY(fill_operators(r, kernel, &b));
    for (int64_t l = 0; l < degrees; l++) {
        TRY(solve_degree(r, &b, l, matrix, modes + l * radii));
    }
    double least = modes[size->degree * radii].value; /* higher degrees have none above it */
    qsort(modes, (size_t)(degrees * radii), sizeof *modes, by_value);
    spell_out(modes, degrees * radii, least, out);
    law_spoil(r, 0.8, out);
done:
    ball_free(&b);
    far_kernel_destroy(kernel);
    FREE(modes, matrix, arch);
    return st;
}
