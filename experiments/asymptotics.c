/* Samples of points: spectra, tails and losses of the kernel, and their power laws. */
#include "asymptotics.h"
#include "curves.h"
#include "parts.h"

#include <math.h>
#include <stdlib.h>

const char *const LAW_PLACE[LAW_PLACES] = {"uniform", "Gaussian", "ball", "one in each cell"};
const char *const LAW_TARGET[LAW_TARGETS] = {"indicator", "relu network"};

#define JUMP_AT 0.2       /* of x_1; off the middle, so that no symmetry hides half of the target */
#define TARGET_WIDTH 4096 /* of the network that is a target */
enum { TIMES = 60 };

/* ---- points and targets -------------------------------------------------------------------- */

char *law_arch(int d, int64_t width)
{
    double w = sqrt(d); /* the weights of x are N(0, 1) then, as that of the bias */
    return width > 0 ? text_of("dense(%lld, w=%.17g, b=1) relu dense(1, b=0)", (long long)width, w)
                     : text_of("dense(w=%.17g, b=1) relu dense(b=0)", w);
}

/* Somewhere in the ball: the first in the cube around it that is. */
static void ball_point(uint64_t *state, int d, double *x)
{
    double squares;
    do {
        squares = 0;
        for (int k = 0; k < d; k++) {
            x[k] = 2 * uniform(state) - 1;
            squares += x[k] * x[k];
        }
    } while (squares > 1);
}

static double coordinate(uint64_t *state, const law_task *t, int64_t i)
{
    double part = uniform(state);
    return t->place == LAW_GAUSS   ? normal(state)
           : t->place == LAW_CELLS ? 2 * ((double)i + part) / (double)t->n - 1
                                   : 2 * part - 1;
}

double *law_points(const law_task *t)
{
    double *x = ROOM(t->n * t->d, double);
    uint64_t state = 77 * t->seed + (uint64_t)t->d;
    for (int64_t i = 0; i < 10; i++) {
        uniform(&state); /* seeds that are close part ways */
    }
    for (int64_t i = 0; i < t->n; i++) {
        if (t->place == LAW_BALL) {
            ball_point(&state, t->d, x + i * t->d);
            continue;
        }
        for (int k = 0; k < t->d; k++) {
            x[i * t->d + k] = coordinate(&state, t, i);
        }
    }
    return x;
}

static void fill_jump(const law_task *t, const double *x, double *y)
{
    double at = t->place == LAW_BALL ? 0 : JUMP_AT;
    for (int64_t i = 0; i < t->n; i++) {
        y[i * LAW_TARGETS + LAW_JUMP] = x[i * t->d] > at;
    }
}

static far_status fill_network(reproduction *r, const law_task *t, double *x, double *y)
{
    far_net *net = NULL;
    char *arch = law_arch(t->d, TARGET_WIDTH);
    double *values = ROOM(t->n, double);
    far_mat in = far_mat_view(x, t->n, t->d, FAR_F64), out = far_mat_view(values, t->n, 1, FAR_F64);
    far_status st;
    TRY(new_net(r, arch, t->d, FAR_INIT_NTK, 1000 + t->seed, &net));
    TRY(far_net_eval(r->ctx, net, &in, &out));
    for (int64_t i = 0; i < t->n; i++) {
        y[i * LAW_TARGETS + LAW_NET] = values[i];
    }
done:
    far_net_destroy(net);
    free(arch);
    free(values);
    return st;
}

/* ---- spectra ------------------------------------------------------------------------------- */

static far_status fill_kernel(reproduction *r, int d, far_mat *x, far_mat *k)
{
    far_kernel *kernel = NULL;
    char *arch = law_arch(d, 0);
    far_status st;
    TRY(far_kernel_create(r->ctx, arch, NULL, &kernel));
    TRY(far_kernel_eval(r->ctx, kernel, x, NULL, FAR_FILL_FULL, NULL, k));
done:
    far_kernel_destroy(kernel);
    free(arch);
    return st;
}

/* Takes the part along an eigenvector out of column target of y; returns its length. */
static double take_out(const far_spectrum *s, int64_t k, int target, double *y)
{
    const double *u = s->vectors + k * s->rows;
    double along = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        along += u[i] * y[i * LAW_TARGETS + target];
    }
    for (int64_t i = 0; i < s->rows; i++) {
        y[i * LAW_TARGETS + target] -= along * u[i];
    }
    return along;
}

/* The squares of the targets along the eigenvectors; y becomes what lies across all of them. */
static void take_components(const far_spectrum *s, double *y, law_run *out)
{
    for (int target = 0; target < LAW_TARGETS; target++) {
        for (int64_t k = 0; k < s->count; k++) {
            double along = take_out(s, k, target, y);
            out->squares[target][k] = along * along / (double)s->rows;
        }
    }
}

/* Rounding brings back a little along the first eigenvectors, which powers of K would blow up. */
static void clean(const far_spectrum *s, double *y)
{
    for (int target = 0; target < LAW_TARGETS; target++) {
        for (int64_t k = 0; k < s->count; k++) {
            take_out(s, k, target, y);
        }
    }
}

static double product(const far_mat *a, const far_mat *b, int target)
{
    double sum = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        sum += ((double *)a->data)[i * LAW_TARGETS + target] *
               ((double *)b->data)[i * LAW_TARGETS + target];
    }
    return sum / (double)a->rows;
}

/* m_j = r' (K / N)^j r / N, for all targets at once. */
static far_status take_moments(reproduction *r, const far_mat *k, const far_spectrum *s,
                               const far_mat *rest, law_run *out)
{
    int64_t size = k->rows * LAW_TARGETS;
    double *now = ROOM(size, double), *next = ROOM(size, double);
    far_mat a = far_mat_view(now, k->rows, LAW_TARGETS, FAR_F64);
    far_mat b = far_mat_view(next, k->rows, LAW_TARGETS, FAR_F64);
    far_status st = FAR_OK;
    for (int64_t i = 0; i < size; i++) {
        now[i] = ((double *)rest->data)[i];
    }
    for (int j = 0; j < LAW_MOMENTS; j++) {
        for (int target = 0; target < LAW_TARGETS; target++) {
            out->moments[target][j] = product(rest, &a, target);
        }
        TRY(far_multiply(r->ctx, k, &a, &b));
        for (int64_t i = 0; i < size; i++) {
            now[i] = next[i] / (double)k->rows;
        }
        clean(s, now);
    }
done:
    free(now);
    free(next);
    return st;
}

/* Tails from the end: what is left first. */
static void sum_tails(law_run *run)
{
    for (int target = 0; target < LAW_TARGETS; target++) {
        double sum = run->moments[target][0];
        for (int64_t k = run->count - 1; k >= 0; k--) {
            sum += run->squares[target][k];
            run->tails[target][k] = sum;
        }
    }
}

static void make_room(law_run *run, int64_t count)
{
    run->count = count;
    run->values = ROOM(count, double);
    for (int target = 0; target < LAW_TARGETS; target++) {
        run->squares[target] = ROOM(count, double);
        run->tails[target] = ROOM(count, double);
    }
}

static far_status measure_kernel(reproduction *r, const far_mat *k, int64_t top, far_mat *targets,
                                 law_run *out)
{
    far_view *view = NULL;
    far_spectrum s;
    far_status st;
    TRY(far_view_create(r->ctx, k, 0, &view));
    TRY(far_view_spectrum(r->ctx, view, top, 1, &s));
    make_room(out, top);
    for (int64_t i = 0; i < top; i++) {
        out->values[i] = s.values[i] / (double)k->rows;
    }
    take_components(&s, targets->data, out);
    clean(&s, targets->data);
    TRY(take_moments(r, k, &s, targets, out));
    sum_tails(out);
done:
    far_view_destroy(view);
    return st;
}

/* Points, targets (n x LAW_TARGETS) and the kernel between the points. */
typedef struct sample {
    double *x, *y, *matrix;
    far_mat points, targets, kernel;
} sample;

static far_status sample_open(reproduction *r, const law_task *t, sample *s)
{
    far_status st;
    *s = (sample){.x = law_points(t),
                  .y = ROOM(t->n * LAW_TARGETS, double),
                  .matrix = ROOM(t->n * t->n, double)};
    s->points = far_mat_view(s->x, t->n, t->d, FAR_F64);
    s->targets = far_mat_view(s->y, t->n, LAW_TARGETS, FAR_F64);
    s->kernel = far_mat_view(s->matrix, t->n, t->n, FAR_F64);
    fill_jump(t, s->x, s->y);
    TRY(fill_network(r, t, s->x, s->y));
    TRY(fill_kernel(r, t->d, &s->points, &s->kernel));
done:
    return st;
}

static void sample_free(sample *s)
{
    FREE(s->x, s->y, s->matrix);
}

void law_spoil(const reproduction *r, double power, law_run *run)
{
    for (int64_t k = 0; k < run->count && r->sabotage; k++) {
        run->values[k] = pow(run->values[k], power);
        for (int target = 0; target < LAW_TARGETS; target++) {
            run->tails[target][k] *= 2;
        }
    }
}

far_status law_measure(reproduction *r, const law_task *t, law_run *out)
{
    sample s;
    far_status st;
    TRY(sample_open(r, t, &s));
    TRY(measure_kernel(r, &s.kernel, t->top, &s.targets, out));
    law_spoil(r, 0.5, out);
done:
    sample_free(&s);
    return st;
}

static far_status compare_losses(reproduction *r, far_view *view, const far_mat *targets,
                                 const law_run *run, double *worst)
{
    double t[TIMES], loss[TIMES];
    far_spectral flow;
    far_status st = FAR_OK;
    far_spectral_init(&flow);
    spread_log(1, 0.4 / run->values[run->count - 1], t, TIMES);
    *worst = 0;
    for (int target = 0; target < LAW_TARGETS; target++) {
        far_mat y = *targets;
        y.data = (double *)targets->data + target;
        y.cols = 1;
        TRY(far_spectral_loss(r->ctx, view, &flow, &y, NULL, t, TIMES, loss));
        for (int i = 0; i < TIMES; i++) {
            *worst = fmax(*worst, fabs(law_loss(run, target, t[i]) / loss[i] - 1));
        }
    }
done:
    return st;
}

far_status law_check(reproduction *r, const law_task *t, double *worst)
{
    sample s;
    law_run run = {0};
    far_view *view = NULL;
    double *y = ROOM(t->n * LAW_TARGETS, double);
    far_mat targets = far_mat_view(y, t->n, LAW_TARGETS, FAR_F64);
    far_status st;
    TRY(sample_open(r, t, &s));
    for (int64_t i = 0; i < t->n * LAW_TARGETS; i++) {
        y[i] = s.y[i]; /* those of the sample are used up */
    }
    TRY(measure_kernel(r, &s.kernel, t->top, &s.targets, &run));
    TRY(far_view_create(r->ctx, &s.kernel, 0, &view));
    TRY(compare_losses(r, view, &targets, &run, worst));
done:
    far_view_destroy(view);
    law_free(&run);
    sample_free(&s);
    free(y);
    return st;
}

void law_free(law_run *run)
{
    free(run->values);
    for (int target = 0; target < LAW_TARGETS; target++) {
        free(run->squares[target]);
        free(run->tails[target]);
    }
    *run = (law_run){0};
}

/* ---- the loss and its law ------------------------------------------------------------------ */

double law_loss(const law_run *run, int target, double t)
{
    double sum = 0, factor = 1;
    for (int64_t k = 0; k < run->count; k++) {
        sum += exp(-2 * run->values[k] * t) * run->squares[target][k];
    }
    for (int j = 0; j < LAW_MOMENTS; j++) {
        sum += factor * run->moments[target][j];
        factor *= -2 * t / (j + 1);
    }
    return sum / 2;
}

far_status law_exponent(reproduction *r, const double *values, int64_t count, int64_t from,
                        int64_t to, double *exponent)
{
    far_power p;
    far_status st = far_power_fit(r->ctx, NULL, values, count, from, to, &p);
    *exponent = p.exponent;
    return st;
}

static far_status fit_loss(reproduction *r, const law_run *run, int target, law_fit *out)
{
    double t[TIMES], loss[TIMES];
    far_power p;
    spread_log(out->from, out->to, t, TIMES);
    for (int i = 0; i < TIMES; i++) {
        loss[i] = law_loss(run, target, t[i]);
    }
    far_status st = far_power_fit(r->ctx, t, loss, TIMES, t[0], t[TIMES - 1], &p);
    double middle = sqrt(out->from * out->to);
    out->xi = p.exponent;
    out->ratio =
        law_loss(run, target, middle) / power_loss(out->lam, out->nu, out->kap, out->kappa, middle);
    return st;
}

far_status law_fit_window(reproduction *r, const law_run *run, int target, int64_t from, int64_t to,
                          law_fit *out)
{
    far_power values, tails;
    far_status st;
    TRY(far_power_fit(r->ctx, NULL, run->values, run->count, from, to, &values));
    TRY(far_power_fit(r->ctx, NULL, run->tails[target], run->count, from, to, &tails));
    *out = (law_fit){.nu = values.exponent,
                     .lam = values.prefactor,
                     .kappa = tails.exponent,
                     .kap = tails.prefactor};
    out->from = pow((double)from, out->nu) / (2 * out->lam);
    out->to = pow((double)to, out->nu) / (2 * out->lam);
    TRY(fit_loss(r, run, target, out));
done:
    return st;
}

/* ---- theory -------------------------------------------------------------------------------- */

far_status law_theory(reproduction *r, int d, int target, far_power_theory *out)
{
    return far_power_expect(r->ctx, d, 0, 1, FAR_KERNEL_NTK,
                            target == LAW_JUMP ? FAR_TARGET_JUMP : FAR_TARGET_NET, out);
}

/*
 * Near the diagonal the kernel falls by |A h| / pi, h = x - x', where A stretches what is across x
 * by s = sqrt(1 + |x|^2): the angle of x~ and x'~ is that of h seen from x~. So Weyl's integral has
 * the factor det(A)^(alpha / (d + alpha)), det A = s^(d - 1); in one dimension it is 1.
 */
static double weyl_density(int d, double squares, double density)
{
    double p = d / (d + 1.0); /* alpha = 1 */
    double symbol = power_symbol(d, 1), acos1 = acos(-1);
    return pow(density * symbol / acos1, p) * pow(1 + squares, 0.5 * (d - 1) * (1 - p));
}

static double cube_integral(int d)
{
    enum { CELLS = 64 };
    double sum = 0, side = 2.0 / CELLS, cell = pow(side, d);
    int64_t cells = d == 1 ? CELLS : d == 2 ? CELLS * CELLS : CELLS * CELLS * CELLS;
    for (int64_t c = 0; c < cells; c++) {
        double squares = 0;
        for (int64_t k = 0, rest = c; k < d; k++, rest /= CELLS) {
            double x = side * ((double)(rest % CELLS) + 0.5) - 1;
            squares += x * x;
        }
        sum += cell * weyl_density(d, squares, pow(0.5, d));
    }
    return sum;
}

/* Of a density that hangs on |x| alone, over spheres of radius up to far. */
static double radial_integral(int d, int place, double far)
{
    enum { STEPS = 20000 };
    double pi = acos(-1), sum = 0, step = far / STEPS;
    double sphere = 2 * pow(pi, 0.5 * d) / tgamma(0.5 * d);
    for (int i = 0; i < STEPS; i++) {
        double x = step * (i + 0.5);
        double density = place == LAW_GAUSS ? exp(-x * x / 2) / pow(2 * pi, 0.5 * d) : d / sphere;
        sum += step * sphere * pow(x, d - 1) * weyl_density(d, x * x, density);
    }
    return sum;
}

double law_constant(int d, int place)
{
    double integral = place == LAW_CUBE || place == LAW_CELLS ? cube_integral(d)
                      : place == LAW_GAUSS                    ? radial_integral(d, place, 40)
                                                              : radial_integral(d, place, 1);
    return power_constant(d, 1, integral);
}
