/* Theorem 3.2: with a norm, anywhere, Theta(x, x) is bounded. */
#include "ln_theorems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct bounded_net {
    const char *name, *arch;
    double sup; /* closed forms */
} bounded_net;

static const bounded_net BOUNDED[] = {
    {"LN first", "dense ln relu dense relu dense", 3.03},
    {"LN second", "dense relu dense ln relu dense", 3.01},
    {"LN every", "dense ln relu dense ln relu dense", 3.000099},
    {"LN behind the first relu", "dense relu ln dense relu dense", 3.496942},
    {"LN behind the second relu", "dense relu dense relu ln dense", 3.943884},
    {"LN behind every relu", "dense relu ln dense relu ln dense", 4.607556},
};
enum { BOUNDED_COUNT = sizeof BOUNDED / sizeof BOUNDED[0] };

static far_status supremum_in(reproduction *r, const char *arch, far_supremum *out)
{
    char *text = arch_of(r, arch);
    far_status st = supremum_of(r, text, out);
    free(text);
    return st;
}

static far_status add_bounded(reproduction *r, const bounded_net *n, int colour, const double *x,
                              far_figure *figure)
{
    double theta[RAY];
    far_mat points = far_mat_view((void *)x, RAY, 1, FAR_F64);
    far_supremum sup;
    far_status st;
    const char *what = words(r, "theorem 3.2: sup Theta(x, x), %s", n->name);
    const char *tested = words(r, "closed form: %.6f", n->sup);
    TRY(supremum_in(r, n->arch, &sup));
    TRY(claim(r,
              &(claim_of){.what = what,
                          .paper = "bounded",
                          .place = "Theorem 3.2",
                          .tested = tested,
                          .agrees = sup.bounded && fabs(sup.value - n->sup) < SIX_DIGITS},
              "%.6f (%s)", sup.value,
              sup.constant   ? "at every x"
              : sup.attained ? "attained"
                             : "as |x| grows"));
    TRY(diagonal_of(r, n->arch, &points, theta));
    TRY(draw_curve(r, figure, x, theta, NULL, RAY, colour, n->name));
done:
    return st;
}

static far_status add_unbounded(reproduction *r, const double *x, far_figure *figure)
{
    static const char ARCH[] = "dense relu dense relu dense";
    double theta[RAY];
    far_mat points = far_mat_view((void *)x, RAY, 1, FAR_F64);
    far_supremum sup;
    far_status st;
    TRY(supremum_in(r, ARCH, &sup));
    TRY(claim(
        r,
        &(claim_of){.what = "theorem 3.2: Theta(x, x) without a norm",
                    .tested = "closed form: unbounded, like 3 x^2",
                    .agrees = !sup.bounded && sup.order == 2 && fabs(sup.slope - 3) < SIX_DIGITS},
        "unbounded, like %.6f x^%g", sup.slope, sup.order));
    TRY(diagonal_of(r, ARCH, &points, theta));
    TRY(draw_curve(r, figure, x, theta, NULL, RAY, 0, LN_NAMES[LN_NONE]));
done:
    return st;
}

enum { MOST_DEPTH = 5, DEEP_TEXT = 256 };

/* "dense relu dense ln relu dense": hidden layers, a norm behind dense layer norm_at. */
static void deep_text(int hidden, int norm_at, char text[DEEP_TEXT])
{
    int length = 0;
    for (int i = 1; i <= hidden; i++) {
        length += snprintf(text + length, DEEP_TEXT - (size_t)length, "dense %srelu ",
                           i == norm_at ? "ln " : "");
    }
    snprintf(text + length, DEEP_TEXT - (size_t)length, "dense");
}

/* C = L + 1 + b^2 (L + 1 - h) (L + 2 - h) / 2, h the dense layer that the norm stands behind. */
static far_status claim_depths(reproduction *r)
{
    double worst = 0;
    int count = 0;
    for (int hidden = 1; hidden <= MOST_DEPTH; hidden++) {
        for (int h = 1; h <= hidden; h++) {
            char arch[DEEP_TEXT];
            far_supremum sup;
            deep_text(hidden, h, arch);
            far_status st = supremum_in(r, arch, &sup);
            if (st != FAR_OK) {
                return st;
            }
            double above = hidden + 1 - h,
                   closed = hidden + 1 + BIAS_VARIANCE * above * (above + 1) / 2;
            worst = fmax(worst, fabs(sup.value - closed));
            count++;
        }
    }
    return claim(r,
                 &(claim_of){.what = "theorem 3.2: one norm anywhere, 1 to 5 hidden layers",
                             .paper = "bounded",
                             .place = "Theorem 3.2",
                             .tested = "L + 1 + b^2 (L + 1 - h) (L + 2 - h) / 2, to 1e-12",
                             .agrees = worst < 1e-12},
                 "%d networks, deviation at most %.1e", count, worst);
}

far_status check_theorem_32(reproduction *r)
{
    double x[RAY];
    far_figure *figure = NULL;
    far_figure_opts opts = log_axes("Theta(x, x), infinite width", "x", "Theta(x, x)");
    opts.y_max = 1e4;
    opts.height = 440;
    opts.legend = FAR_LEGEND_RIGHT;
    opts.width = 760;
    spread_log(1e-3, 1e4, x, RAY);
    far_status st = far_figure_create(r->ctx, &opts, &figure);
    if (st == FAR_OK) {
        st = add_unbounded(r, x, figure);
    }
    for (int i = 0; i < BOUNDED_COUNT && st == FAR_OK; i++) {
        st = add_bounded(r, &BOUNDED[i], i + 1, x, figure);
    }
    st = keep_drawn(r, figure, "ln-theorem-32",
                    "Theorem 3.2: one norm anywhere bounds Theta(x, x) for all x.", st);
    return st == FAR_OK ? claim_depths(r) : st;
}
