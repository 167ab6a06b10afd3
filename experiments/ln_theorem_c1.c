/* Theorem C.1: of a network that begins with a dense layer and a norm, Theta(x, x') is a function
 * of the cosine of (x / root d, b) and (x' / root d, b) alone, whatever follows. */
#include "ln_theorems.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_WIDTH = 17, PAIRS = 60, WIDTHS = 3 };
static const int WIDTH[WIDTHS] = {1, 3, MOST_WIDTH};
static const double BIAS = 0.1;

/* ---- pairs --------------------------------------------------------------------------------- */

/* A direction at random, with a norm from 1e-2 to 1e3. */
static void draw_point(uint64_t *state, int width, double *out)
{
    double norm = 0, wanted = pow(10, -2 + 5 * uniform(state));
    for (int i = 0; i < width; i++) {
        out[i] = 2 * uniform(state) - 1;
        norm += out[i] * out[i];
    }
    for (int i = 0; i < width; i++) {
        out[i] *= wanted * sqrt(width / norm);
    }
}

/* (x / root d, b), of norm 1 */
static void lift(const double *x, int width, double *out)
{
    double norm = BIAS * BIAS;
    for (int i = 0; i < width; i++) {
        norm += x[i] * x[i] / width;
    }
    for (int i = 0; i < width; i++) {
        out[i] = x[i] / sqrt(width * norm);
    }
    out[width] = BIAS / sqrt(norm);
}

/* From chords: an arc cosine would lose half of the digits of small angles. */
static double angle(const double *x, const double *y, int width)
{
    double a[MOST_WIDTH + 1], b[MOST_WIDTH + 1], apart = 0, together = 0;
    lift(x, width, a);
    lift(y, width, b);
    for (int i = 0; i <= width; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        together += (a[i] + b[i]) * (a[i] + b[i]);
    }
    return 2 * atan2(sqrt(apart), sqrt(together));
}

/* Theta of the pair, and of two numbers whose lifted vectors are at the same angle. */
static far_status both_thetas(reproduction *r, const char *arch, double *x, double *y, int width,
                              double *theta, double *twin)
{
    double half = angle(x, y, width) / 2, left = -BIAS * tan(half), right = BIAS * tan(half);
    far_mat xs = far_mat_view(x, 1, width, FAR_F64), ys = far_mat_view(y, 1, width, FAR_F64);
    far_mat a = far_mat_view(&left, 1, 1, FAR_F64), b = far_mat_view(&right, 1, 1, FAR_F64);
    far_status st = theta_of(r, arch, &xs, &ys, theta);
    return st == FAR_OK ? theta_of(r, arch, &a, &b, twin) : st;
}

/* ---- claims -------------------------------------------------------------------------------- */

static far_status worst_deviation(reproduction *r, const char *arch, double *worst)
{
    uint64_t state = 1;
    *worst = 0;
    for (int i = 0; i < PAIRS; i++) {
        double x[MOST_WIDTH], y[MOST_WIDTH], theta, twin;
        int width = WIDTH[i % WIDTHS];
        draw_point(&state, width, x);
        draw_point(&state, width, y);
        far_status st = both_thetas(r, arch, x, y, width, &theta, &twin);
        if (st != FAR_OK) {
            return st;
        }
        *worst = fmax(*worst, fabs(theta / twin - 1));
    }
    return FAR_OK;
}

static far_status claim_angles(reproduction *r, const char *arch)
{
    double worst;
    far_status st = worst_deviation(r, arch, &worst);
    if (st != FAR_OK) {
        return st;
    }
    const char *what = words(r, "theorem C.1: %s", arch);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "Theta is a function of the angle alone",
                           .place = "Theorem C.1",
                           .tested = "to 1e-11",
                           .agrees = worst < 1e-11},
               "%d pairs of 1, 3 and 17 inputs: Theta is that of two numbers at the same angle, to "
               "%.1e",
               PAIRS, worst);
    return st;
}

/* Without a norm it is not. */
static far_status claim_contrast(reproduction *r)
{
    double worst;
    far_status st = worst_deviation(r, "dense relu dense relu dense", &worst);
    return st == FAR_OK
               ? claim(r,
                       &(claim_of){.what = "theorem C.1: without a norm",
                                   .tested = "the angle is not enough: a factor of 10 at least",
                                   .agrees = worst > 10},
                       "at the same angle Theta is up to %.1e times as large", worst + 1)
               : st;
}

/* Theta(first) = (1 + b^2) Theta(every) - b^4, and Theta(x, x) is constant. */
static far_status claim_identities(reproduction *r)
{
    enum { COUNT = 20 };
    double x[COUNT * 3], first[COUNT * COUNT], every[COUNT * COUNT], worst = 0, spread_of = 0;
    far_mat points = far_mat_view(x, COUNT, 3, FAR_F64);
    uint64_t state = 2;
    far_status st;
    for (int i = 0; i < COUNT; i++) {
        draw_point(&state, 3, x + 3 * i);
    }
    TRY(theta_of(r, "dense ln relu dense relu dense", &points, NULL, first));
    TRY(theta_of(r, "dense ln relu dense ln relu dense", &points, NULL, every));
    for (int i = 0; i < COUNT * COUNT; i++) {
        double b2 = BIAS_VARIANCE;
        worst = fmax(worst, fabs(first[i] - (1 + b2) * every[i] + b2 * b2));
    }
    for (int i = 0; i < COUNT; i++) {
        spread_of = fmax(spread_of, fabs(first[i * COUNT + i] - first[0]));
    }
    TRY(claim(r,
              &(claim_of){.what = "corollary C.2: Theta(x, x), LN first",
                          .paper = "the same for every x",
                          .place = "Corollary C.2",
                          .tested = "to 1e-13",
                          .agrees = spread_of < 1e-13},
              "%.6f at %d points, to %.1e", first[0], COUNT, spread_of));
    TRY(claim(r,
              &(claim_of){.what = "Theta of LN first and of LN every",
                          .tested = "the first is (1 + b^2) times the second, less b^4, to 1e-13",
                          .agrees = worst < 1e-13},
              "deviation at most %.1e", worst));
done:
    return st;
}

/* ---- the picture --------------------------------------------------------------------------- */

static far_status draw_width(reproduction *r, const char *arch, int which, far_figure *figure)
{
    double cosine[PAIRS], theta[PAIRS], twin;
    uint64_t state = (uint64_t)which + 3;
    int width = WIDTH[which];
    far_status st = FAR_OK;
    for (int i = 0; i < PAIRS && st == FAR_OK; i++) {
        double x[MOST_WIDTH], y[MOST_WIDTH];
        draw_point(&state, width, x);
        draw_point(&state, width, y);
        cosine[i] = cos(angle(x, y, width));
        st = both_thetas(r, arch, x, y, width, &theta[i], &twin);
    }
    const char *label = words(r, width > 1 ? "%d inputs" : "%d input", width);
    far_mark_opts mark = mark_of(which, label);
    st = st == FAR_OK ? far_figure_points(r->ctx, figure, cosine, theta, PAIRS, &mark) : st;
    return st;
}

static far_status draw_network(reproduction *r, const char *title, const char *arch, bool log_scale,
                               far_figure **out)
{
    far_figure_opts opts = axes(title, NULL, "Theta(x, x')");
    opts.y_scale = log_scale ? FAR_SCALE_LOG : FAR_SCALE_LINEAR;
    far_status st = far_figure_create(r->ctx, &opts, out);
    for (int i = 0; i < WIDTHS && st == FAR_OK; i++) {
        st = draw_width(r, arch, i, *out);
    }
    return st;
}

static far_status keep_picture(reproduction *r)
{
    far_figure *figures[2] = {0};
    far_grid_opts opts = grid_of(820, 380);
    opts.x_label = "cosine of (x / root d, b) and (x' / root d, b)";
    far_status st =
        draw_network(r, "LN first", "dense ln relu dense relu dense", false, &figures[0]);
    if (st == FAR_OK) {
        st = draw_network(r, "Standard NN", "dense relu dense relu dense", true, &figures[1]);
    }
    return keep_grid(r, figures, 1, 2, &opts, "ln-theorem-c1",
                     "Theorem C.1: behind a norm on the first layer pairs of any dimension and any "
                     "size lie on one curve; without a norm they do not.",
                     st);
}

far_status check_theorem_c1(reproduction *r)
{
    static const char *const ARCH[] = {
        "dense ln relu dense relu dense",
        "dense ln gelu dense silu dense",
        "dense ln relu dense skip(ln relu dense) dense",
        "dense ln tanh dense relu ln dense",
    };
    far_status st = FAR_OK;
    for (size_t i = 0; i < sizeof ARCH / sizeof ARCH[0]; i++) {
        TRY(claim_angles(r, ARCH[i]));
    }
    TRY(claim_contrast(r));
    TRY(claim_identities(r));
    TRY(keep_picture(r));
done:
    return st;
}
