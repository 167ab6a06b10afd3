/* Appendix K: other activations, with and without layer norms. */
#include "ln_panels.h"
#include "registry.h"

#include <stdlib.h>

enum { GELU, SILU, TANH, ACTIVATIONS };
static const char *const WORD[ACTIVATIONS] = {"gelu", "silu", "tanh"};

/* ---- trained networks ---------------------------------------------------------------------- */

/* The theorems do not cover it: it is bounded by itself, and so is what is made of it. */
static far_status claim_tanh(reproduction *r, const tally *t, const char *what)
{
    return claim(r,
                 &(claim_of){.what = what,
                             .tested = "a certificate of every network: tanh itself is bounded",
                             .seeds = t->count / TOY_SETS,
                             .by_construction = true,
                             .agrees = t->bounded == t->count},
                 "%lld of %lld proven bounded", (long long)t->bounded, (long long)t->count);
}

static far_status claim_network(reproduction *r, int activation, int net, const tally *t)
{
    const char *what = words(r, "%s, %s, trained", WORD[activation], LN_NAMES[net]);
    return activation == TANH ? claim_tanh(r, t, what)
                              : claim_all_proven(r, t, net != LN_NONE, what, "Appendix K");
}

/* ---- infinite width ------------------------------------------------------------------------ */

/* Theta(x, x) is bounded exactly where the last norm bounds all that comes before it: theorem C.2
 * for gelu and silu, of which tanh falls short (its order at infinity is 0, not > 1/2). Behind a
 * norm on the first dense layer it is constant for every activation (corollary C.2). */
static bool kernel_is_bounded(int activation, int net)
{
    return net != LN_NONE && !(activation == TANH && net == LN_SECOND);
}

static const char *paper_on_kernel(int activation, int net)
{
    if (activation == TANH) {
        return NULL;
    }
    return net == LN_NONE ? "unbounded" : "bounded";
}

static far_status claim_kernel(reproduction *r, int activation, int net, far_supremum *sup)
{
    far_kernel *k;
    char *arch = net_text(r, net, LN_EXACT, WORD[activation]);
    const char *what =
        words(r, "%s, %s, Theta(x, x) at infinite width", WORD[activation], LN_NAMES[net]);
    const char *paper = paper_on_kernel(activation, net);
    bool agrees;
    far_status st;
    TRY(far_kernel_create(r->ctx, arch, NULL, &k));
    TRY(far_kernel_supremum(r->ctx, k, 1, sup));
    agrees = (sup->bounded != 0) == kernel_is_bounded(activation, net);
    claim_of c = {.what = what,
                  .paper = paper,
                  .place = paper ? "Theorem C.2" : NULL,
                  .tested = kernel_is_bounded(activation, net) ? "a finite supremum over all x"
                                                               : "no finite supremum",
                  .by_construction = activation == TANH && net == LN_SECOND,
                  .agrees = agrees};
    st = sup->bounded ? claim(r, &c, "at most %.6f", sup->value)
                      : claim(r, &c, "grows like %.4f |x|^%g", sup->slope, sup->order);
done:
    far_kernel_destroy(k);
    free(arch);
    return st;
}

/* ---- both ---------------------------------------------------------------------------------- */

static far_status add_network(reproduction *r, int activation, int net,
                              far_figure *const panels[TOY_SETS], sheet *table)
{
    const char *word = words(r, "%s-%s", WORD[activation], LN_WORDS[net]);
    variant c = {LN_NAMES[net], word, net, LN_FINITE, WORD[activation], net};
    tally t;
    far_supremum sup;
    far_status st;
    TRY(variant_add(r, &c, panels, &t));
    TRY(claim_network(r, activation, net, &t));
    TRY(claim_kernel(r, activation, net, &sup));
    add_cell(table, "%s", WORD[activation]);
    add_cell(table, "%s", LN_NAMES[net]);
    add_tally(table, &t);
    add_cell(table, "%.6g", sup.value);
done:
    return st;
}

static far_status add_activation(reproduction *r, int activation, far_figure *panels[TOY_SETS],
                                 sheet *table)
{
    far_status st = variant_panels(r, activation == 0, WORD[activation], panels);
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        st = add_network(r, activation, net, panels, table);
    }
    return st == FAR_OK ? variant_data(r, panels) : st;
}

static far_status keep_words(reproduction *r)
{
    far_status st;
    TRY(keep_toy_protocol(r, PANEL_EPOCHS));
    TRY(keep_text(r, "Running away can begin late: where gelu and silu fit a bounded function such "
                     "as sin x, slopes beyond the data may be small, and a prediction at 25 may "
                     "still be within those of networks with a norm. The certificates tell: those "
                     "have a slope that is not 0, these a bound."));
    TRY(keep_text(r, "tanh is not among the activations that the theorems cover: they ask that it "
                     "grow faster than the root of its argument. Two things come out. A finite "
                     "network with tanh is bounded with or without a norm, by the sizes of its "
                     "last weights. Its infinite-width kernel is not: without a norm Theta(x, x) "
                     "grows with |x|, and a norm behind a tanh does not stop that, since the tanh "
                     "has levelled off what the norm would have to divide by. A norm on the first "
                     "dense layer makes Theta(x, x) constant for every activation."));
done:
    return st;
}

far_status run_ln_appendix_k(reproduction *r)
{
    static const char *const HEADS[] = {"activation", "network", TALLY_HEADS, "sup Theta(x, x)"};
    sheet table = {.heads = HEADS, .cols = TALLY_COLS + 3};
    far_figure *panels[ACTIVATIONS * TOY_SETS] = {0};
    far_grid_opts opts = grid_of(900, NAN);
    opts.title = "Other activations, trained on [-5, 5]";
    opts.x_label = "x";
    opts.share_x = FAR_SHARE_LINE;
    far_status st = keep_words(r);
    for (int i = 0; i < ACTIVATIONS && st == FAR_OK; i++) {
        st = add_activation(r, i, panels + i * TOY_SETS, &table);
    }
    st = keep_grid(r, panels, ACTIVATIONS, TOY_SETS, &opts, "ln-appendix-k",
                   "gelu and silu run away without a norm, and level off with one; tanh is bounded "
                   "by itself.",
                   st);
    return keep_sheet(r, &table, "ln-appendix-k-networks",
                      "Trained networks, 128 wide, and the supremum of the infinite-width kernel.",
                      st);
}
