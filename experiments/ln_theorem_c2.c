/* Theorems C.2 and C.3: the same for activations that are homogeneous far away only. */
#include "ln_theorems.h"

#include <math.h>
#include <stdlib.h>

typedef struct soft {
    const char *activation;
    double order; /* of Theta(x, x) without a norm: 2 n^2 for two hidden layers, n that of the
                     activation */
} soft;

static const soft SOFT[] = {{"gelu", 2}, {"silu", 2}, {"leaky_relu(0.1)", 2}, {"relu(2)", 8}};

static far_status claim_growth(reproduction *r, const soft *s, sheet *table)
{
    char *arch = net_text(r, LN_NONE, "", s->activation);
    const char *what = words(r, "%s without a norm, Theta(x, x)", s->activation);
    const char *tested = words(r, "unbounded, like |x|^%g", s->order);
    far_supremum sup;
    far_status st = supremum_of(r, arch, &sup);
    if (st == FAR_OK) {
        add_cell(table, "%s", s->activation);
        add_cell(table, "%.4g |x|^%g", sup.slope, sup.order);
        st = claim(r,
                   &(claim_of){.what = what,
                               .tested = tested,
                               .agrees = !sup.bounded && sup.order == s->order},
                   "unbounded, like %.4g |x|^%g", sup.slope, sup.order);
    }
    free(arch);
    return st;
}

static far_status claim_suprema(reproduction *r, const soft *s, sheet *table)
{
    double sup_of[LN_NETS] = {0};
    bool bounded = true;
    for (int net = LN_FIRST; net < LN_NETS; net++) {
        char *arch = net_text(r, net, LN_EXACT, s->activation);
        far_supremum sup;
        far_status st = supremum_of(r, arch, &sup);
        free(arch);
        if (st != FAR_OK) {
            return st;
        }
        bounded &= sup.bounded != 0;
        sup_of[net] = sup.value;
        add_cell(table, "%.6f", sup.value);
    }
    const char *what = words(r, "theorem C.2: %s, sup Theta(x, x)", s->activation);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "bounded with a norm anywhere",
                             .place = "Theorem C.2",
                             .tested = "finite for three placements",
                             .agrees = bounded},
                 "%.5g, %.5g, %.5g (LN first, second, every)", sup_of[LN_FIRST], sup_of[LN_SECOND],
                 sup_of[LN_EVERY]);
}

/* Of smooth kernels the matrix of all 100 points is singular to double precision: fewer serve. */
enum { FEW = 10 };

static far_status claim_prediction(reproduction *r, const soft *s, sheet *table)
{
    double x[FEW], y[FEW];
    char *arch = net_text(r, LN_SECOND, LN_EXACT, s->activation);
    const char *what = words(r, "theorem C.3: %s, LN second, on 10 points of sin x", s->activation);
    far_predictor *m = NULL;
    far_certificate *c = NULL;
    far_status st;
    spread(-5, 5, x, FEW);
    for (int i = 0; i < FEW; i++) {
        y[i] = sin(x[i]);
    }
    TRY(infinite_fit(r, arch, x, y, FEW, &m));
    TRY(certify_within(r, m, 0.2, &c));
    const far_bound *b = far_certificate_bound(c, 0);
    double sup = far_round_down(b->sup_found, 4), b1 = far_round_up(b->b1, 4);
    add_cell(table, "%.4g", sup);
    add_cell(table, "%.4g", b1);
    TRY(claim(r,
              &(claim_of){.what = what,
                          .paper = "bounded",
                          .place = "Theorem C.3",
                          .tested = "certified, and what is reached is below B1",
                          .agrees = b->verdict == FAR_BOUNDED && b->sup_found <= b->b1},
              "sup %.4g <= B1 %.4g for every x", sup, b1));
done:
    far_certificate_destroy(c);
    far_predictor_destroy(m);
    free(arch);
    return st;
}

static far_status check_activation(reproduction *r, const soft *s, sheet *table)
{
    far_status st;
    TRY(claim_growth(r, s, table));
    TRY(claim_suprema(r, s, table));
    TRY(claim_prediction(r, s, table));
done:
    return st;
}

far_status check_theorem_c2(reproduction *r)
{
    static const char *const HEADS[] = {"activation",
                                        "Theta(x, x) without a norm",
                                        "sup, LN first",
                                        "sup, LN second",
                                        "sup, LN every",
                                        "largest |f|",
                                        "B1"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    far_status st = FAR_OK;
    for (size_t i = 0; i < sizeof SOFT / sizeof SOFT[0] && st == FAR_OK; i++) {
        st = check_activation(r, &SOFT[i], &table);
    }
    return keep_sheet(
        r, &table, "ln-theorem-c2",
        "Theorems C.2 and C.3: suprema of Theta(x, x), and predictions from ten points "
        "of sin x with LN second.",
        st);
}
