/* Where the spectrum is known: the circle; and beside the infinite kernel those of finite
 * networks. */
#include "asymptotics.h"
#include "parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- the circle ---------------------------------------------------------------------------- */

enum { GRID = 16384, LAST = 128 };

/* lambda_k, k = 0 .. LAST, of the kernel on the unit circle: on a grid its matrix is circulant, and
 * the eigenvalues are the cosine sums of one row. */
static far_status circle_values(reproduction *r, bool bias, double *values)
{
    double *x = ROOM(2 * GRID, double), *row = ROOM(GRID, double), turn = 2 * acos(-1) / GRID;
    far_kernel *kernel = NULL;
    far_mat first = far_mat_view(x, 1, 2, FAR_F64), all = far_mat_view(x, GRID, 2, FAR_F64);
    far_mat out = far_mat_view(row, 1, GRID, FAR_F64);
    char *arch =
        text_of("dense(w=%.17g, b=%d) relu(%d) dense(b=0)", sqrt(2), bias, r->sabotage ? 2 : 1);
    far_status st;
    for (int64_t i = 0; i < GRID; i++) {
        x[2 * i] = cos(turn * (double)i);
        x[2 * i + 1] = sin(turn * (double)i);
    }
    TRY(far_kernel_create(r->ctx, arch, NULL, &kernel));
    TRY(far_kernel_eval(r->ctx, kernel, &first, &all, FAR_FILL_FULL, NULL, &out));
    for (int64_t k = 0; k <= LAST; k++) {
        values[k] = 0;
        for (int64_t i = 0; i < GRID; i++) {
            values[k] += row[i] * cos(turn * (double)(i * k % GRID)) / GRID;
        }
    }
done:
    far_kernel_destroy(kernel);
    FREE(x, row, arch);
    return st;
}

/* k^2 lambda_k of every step-th frequency from `from` on. */
static far_status draw_frequencies(reproduction *r, far_figure *f, const double *values, int from,
                                   int step, int colour, const char *label)
{
    double k[LAST], scaled[LAST];
    int64_t n = 0;
    for (int i = from; i <= LAST; i += step) {
        k[n] = i;
        scaled[n++] = (double)i * i * values[i];
    }
    return draw_curve(r, f, k, scaled, NULL, n, colour, label);
}

static far_status keep_circle(reproduction *r, const double *plain, const double *biased)
{
    double pi = acos(-1);
    far_figure *f = NULL;
    far_figure_opts o = axes("The circle", "frequency k", "k^{2} \xce\xbb_{k}");
    far_status st;
    o.legend = FAR_LEGEND_BELOW;
    o.y_min = -0.02;
    o.y_max = 0.32;
    TRY(far_figure_create(r->ctx, &o, &f));
    TRY(draw_frequencies(r, f, plain, 2, 2, 0, "no biases, even k"));
    TRY(draw_frequencies(r, f, plain, 3, 2, 1, "no biases, odd k"));
    TRY(draw_frequencies(r, f, biased, 2, 1, 2, "biases, every k"));
    TRY(draw_rule(r, f, FAR_HORIZONTAL, 2 / (pi * pi), "2 / \xcf\x80^{2}"));
    TRY(draw_rule(r, f, FAR_HORIZONTAL, sqrt(2) / (pi * pi),
                  "\xe2\x88\x9a"
                  "2 / \xcf\x80^{2}"));
done:
    return keep_drawn(r, f, "loss-asymptotics-circle",
                      "Eigenvalues of the relu NTK on the circle, from one row of a circulant "
                      "matrix. Without biases odd frequencies above 1 have none: they cannot be "
                      "learnt.",
                      st);
}

static far_status claim_level(reproduction *r, const char *what, double found, double theory)
{
    const char *tested = words(r, "%.6f by closed form, within 1%%", theory);
    return claim(
        r, &(claim_of){.what = what, .tested = tested, .agrees = fabs(found / theory - 1) <= 0.01},
        "%.6f", found);
}

far_status law_circle(reproduction *r)
{
    double plain[LAST + 1], biased[LAST + 1], most = 0, pi = acos(-1), last = LAST;
    far_status st;
    TRY(circle_values(r, false, plain));
    TRY(circle_values(r, true, biased));
    for (int k = 3; k <= LAST; k += 2) {
        most = fmax(most, fabs(plain[k]));
    }
    TRY(claim(r,
              &(claim_of){.what = "circle, no biases: eigenvalues of odd frequencies from 3 on",
                          .tested = "0 by closed form, to 1e-14",
                          .agrees = most <= 1e-14},
              "at most %.1e", most));
    TRY(claim_level(r, "circle, no biases: k^2 lambda_k at k = 128", last * last * plain[LAST],
                    2 / (pi * pi)));
    TRY(claim_level(r, "circle, biases: k^2 lambda_k at k = 128", last * last * biased[LAST],
                    sqrt(2) / (pi * pi)));
    TRY(keep_circle(r, plain, biased));
done:
    return st;
}

/* ---- finite networks ----------------------------------------------------------------------- */

enum { WIDTHS = 3, SHOWN = 100 };

typedef struct finite_plan {
    int64_t n, widths[WIDTHS], seeds, from, to;
} finite_plan;

static far_status spectrum_of(reproduction *r, const far_mat *k, double *values)
{
    far_view *view = NULL;
    far_spectrum s;
    far_status st;
    TRY(far_view_create(r->ctx, k, 0, &view));
    TRY(far_view_spectrum(r->ctx, view, SHOWN, 0, &s));
    for (int i = 0; i < SHOWN; i++) {
        values[i] = s.values[i] / (double)k->rows;
    }
done:
    far_view_destroy(view);
    return st;
}

/* width 0: infinite. */
static far_status fill_finite(reproduction *r, int64_t width, uint64_t seed, const far_mat *x,
                              far_mat *k)
{
    far_net *net = NULL;
    far_kernel *kernel = NULL;
    far_ntk_opts how;
    char *arch = law_arch(1, width);
    far_status st;
    how = (far_ntk_opts){.size = sizeof how};
    if (width > 0) {
        TRY(new_net(r, arch, 1, FAR_INIT_NTK, seed, &net));
        TRY(far_net_ntk(r->ctx, net, x, NULL, &how, k));
    } else {
        TRY(far_kernel_create(r->ctx, arch, NULL, &kernel));
        TRY(far_kernel_eval(r->ctx, kernel, x, NULL, FAR_FILL_FULL, NULL, k));
    }
done:
    far_net_destroy(net);
    far_kernel_destroy(kernel);
    free(arch);
    return st;
}

/* Mean over seeds of the networks, on the same points. */
static far_status finite_spectrum(reproduction *r, const finite_plan *p, int64_t width,
                                  const far_mat *x, far_mat *k, double *mean)
{
    double one[SHOWN];
    int64_t seeds = width > 0 ? p->seeds : 1;
    far_status st = FAR_OK;
    for (int i = 0; i < SHOWN; i++) {
        mean[i] = 0;
    }
    for (int64_t seed = 0; seed < seeds; seed++) {
        tell(r, "network of width %lld, seed %lld", (long long)width, (long long)seed);
        TRY(fill_finite(r, width, (uint64_t)seed, x, k));
        TRY(spectrum_of(r, k, one));
        for (int i = 0; i < SHOWN; i++) {
            mean[i] += (r->sabotage && width > 0 ? sqrt(one[i]) : one[i]) / (double)seeds;
        }
    }
done:
    return st;
}

static far_status keep_finite(reproduction *r, const finite_plan *p, double (*values)[SHOWN])
{
    double n[SHOWN];
    far_figure *f = NULL;
    far_figure_opts o = log_axes("Finite networks, d = 1", "n", "\xce\xbb_{n} of K / N");
    far_status st;
    spread(1, SHOWN, n, SHOWN);
    TRY(far_figure_create(r->ctx, &o, &f));
    for (int i = 0; i < WIDTHS; i++) {
        const char *label = words(r, "width %lld", (long long)p->widths[i]);
        TRY(draw_curve(r, f, n, values[i], NULL, SHOWN, i, label));
    }
    TRY(draw_dashed(r, f, n, values[WIDTHS], SHOWN, FAR_COLOUR_INK, "infinite width"));
done:
    return keep_drawn(r, f, "loss-asymptotics-finite",
                      "Eigenvalues of the tangent kernels of finite random networks on the same "
                      "points, beside that of infinite width.",
                      st);
}

static far_status claim_finite(reproduction *r, const finite_plan *p, double (*values)[SHOWN])
{
    double nu, infinite;
    far_status st;
    TRY(law_exponent(r, values[WIDTHS - 1], SHOWN, p->from, p->to, &nu));
    TRY(law_exponent(r, values[WIDTHS], SHOWN, p->from, p->to, &infinite));
    const char *what =
        words(r, "networks of width %lld, d = 1: nu over n from %lld to %lld",
              (long long)p->widths[WIDTHS - 1], (long long)p->from, (long long)p->to);
    const char *tested = words(r, "%.3f, that of infinite width, within 0.1", infinite);
    st =
        claim(r,
              &(claim_of){
                  .what = what, .tested = tested, .seeds = 1, .agrees = fabs(nu - infinite) <= 0.1},
              "%.3f", nu);
done:
    return st;
}

far_status law_finite(reproduction *r)
{
    finite_plan full = {2000, {512, 2048, 8192}, 5, 10, 66};
    finite_plan quick = {1600, {128, 512, 2048}, 1, 10, 53};
    finite_plan p = r->quick ? quick : full;
    p.seeds = seeds_of(r, quick.seeds, full.seeds);
    law_task t = {.d = 1, .place = LAW_CUBE, .n = p.n};
    double values[WIDTHS + 1][SHOWN], *x = law_points(&t), *matrix = ROOM(p.n * p.n, double);
    far_mat points = far_mat_view(x, p.n, 1, FAR_F64);
    far_mat k = far_mat_view(matrix, p.n, p.n, FAR_F64);
    far_status st = FAR_OK;
    for (int i = 0; i <= WIDTHS; i++) {
        TRY(finite_spectrum(r, &p, i < WIDTHS ? p.widths[i] : 0, &points, &k, values[i]));
    }
    TRY(claim_finite(r, &p, values));
    TRY(keep_finite(r, &p, values));
done:
    free(x);
    free(matrix);
    return st;
}
