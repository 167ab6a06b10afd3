/* The theorems of the layer-norm paper, 3.1 to 3.4 and C.1 to C.3, checked numerically. */
#include "ln_theorems.h"
#include "registry.h"

#include <stdlib.h>

far_status supremum_of(reproduction *r, const char *arch, far_supremum *out)
{
    far_kernel *k;
    far_status st = far_kernel_create(r->ctx, arch, NULL, &k);
    if (st == FAR_OK) {
        st = far_kernel_supremum(r->ctx, k, 1, out);
    }
    far_kernel_destroy(k);
    return st;
}

far_status theta_of(reproduction *r, const char *arch, const far_mat *x1, const far_mat *x2,
                    double *out)
{
    far_kernel *k;
    far_mat theta = far_mat_view(out, x1->rows, x2 ? x2->rows : x1->rows, FAR_F64);
    char *text = arch_of(r, arch);
    far_status st = far_kernel_create(r->ctx, text, NULL, &k);
    free(text);
    if (st == FAR_OK) {
        st = far_kernel_eval(r->ctx, k, x1, x2, FAR_FILL_FULL, NULL, &theta);
    }
    far_kernel_destroy(k);
    return st;
}

far_status diagonal_of(reproduction *r, const char *arch, const far_mat *x, double *out)
{
    far_kernel *k;
    far_mat theta = far_mat_view(out, x->rows, 1, FAR_F64);
    far_status st = far_kernel_create(r->ctx, arch, NULL, &k);
    if (st == FAR_OK) {
        st = far_kernel_diag(r->ctx, k, x, NULL, &theta);
    }
    far_kernel_destroy(k);
    return st;
}

typedef struct step {
    const char *title, *words;
    far_status (*check)(reproduction *r);
} step;

static const step STEPS[] = {
    {"Theorem 3.1: without a norm predictions can run away",
     "For a network of dense layers and homogeneous activations there are training data whose "
     "prediction, in the limit of infinite width, has no bound. The paper shows that such data "
     "exist; a single point (1, 1) is enough. Its prediction is Theta(x, 1) / Theta(1, 1), whose "
     "slope is a sum of positive terms. With an activation of degree n and L hidden layers it "
     "grows like t^(n^L): checked for every homogeneous activation of the language, over depths "
     "and dimensions, against a recursion whose expectations are integrated numerically.",
     check_theorem_31},
    {"Theorem 3.2: with one the kernel is bounded",
     "With one layer norm anywhere Theta(x, x) is at most some C for every x. Closed forms of C, "
     "for biases of variance 0.01, against the supremum that far_kernel_supremum finds.",
     check_theorem_32},
    {"Theorem 3.3: and so is every prediction",
     "Whatever the training data, |f(x)| is bounded over all x. The paper's formula we have from "
     "an account alone, C max |y| / (lambda_min |D|) up to a root: with the number of points |D| "
     "below the line it is no bound, as two points show. Its proof gives B2, with |D| above the "
     "line; the tightest that C, the kernel matrix K and the targets y give is B1 = root(C y' K^-1 "
     "y), the norm of f in the kernel's space times root C. On the toy sets B2 is a thousand times "
     "what is reached, B1 7 to 23 times.",
     check_theorem_33},
    {"Proposition 3.4: but not every network that fits",
     "The bound is one on what training finds, not on all networks with a layer norm that fit the "
     "data: some go as far as one likes. Here they are built, with weights set by hand: a unit "
     "that is 1 everywhere fixes the norm's divisor near the data, so that the network is nearly "
     "one without a norm there, and hands over to the hinges only at a distance of 1 / e.",
     check_proposition_34},
    {"Theorem C.1: behind a first norm only angles count",
     "If a network begins with a dense layer and a layer norm, Theta(x, x') depends on x and x' "
     "through the cosine of (x / root d, b) and (x' / root d, b) alone, whatever layers follow. "
     "Checked on pairs of random points of norms 0.01 to 1000.",
     check_theorem_c1},
    {"Theorems C.2 and C.3: other activations",
     "The same as 3.2 and 3.3 for activations that are homogeneous far from 0 only, or of another "
     "degree n > 1/2. Without a norm Theta(x, x) of two hidden layers grows like |x|^(2 n^2): "
     "|x|^2 for n = 1, |x|^8 for n = 2.",
     check_theorem_c2},
};

static far_status take_step(reproduction *r, const step *s)
{
    far_status st;
    tell(r, "%s", s->title);
    TRY(keep_section(r, s->title, "%s", s->words));
    TRY(s->check(r));
done:
    return st;
}

far_status run_ln_theorems(reproduction *r)
{
    far_status st = FAR_OK;
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0] && st == FAR_OK; i++) {
        st = take_step(r, &STEPS[i]);
    }
    return st;
}
