/* What a verdict rests on, in words: derived from the plan of the network. */
#include "../kernel/plan.h"
#include "certify_internal.h"

#include <string.h>

/* Ziomek, Whittle and Osborne 2025 are about the NTK of fully connected networks whose activations
 * are positively homogeneous of a degree above 1/2 (or are so asymptotically). */
typedef enum setting {
    SETTING_OTHER,       /* none of their theorems */
    SETTING_HOMOGENEOUS, /* their section 3 */
    SETTING_ASYMPTOTIC   /* their appendix C */
} setting;

static bool is_asymptotic(const far_op *op)
{
    return op->activation->family == FAR_FAMILY_SOFT_RELU;
}

static bool is_covered(const far_op *op)
{
    switch (op->kind) {
    case FAR_OP_PUSH:
    case FAR_OP_ADD:
    case FAR_OP_SHIFT:
        return false;
    case FAR_OP_SCALE:
        return !op->fixed;
    case FAR_OP_ACTIVATE:
        return op->gamma == 0 && (op->activation->family <= FAR_FAMILY_TABLE || is_asymptotic(op));
    default:
        return !op->standard;
    }
}

static setting setting_of(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    setting out = SETTING_HOMOGENEOUS;
    if (m->info.kernel != FAR_KERNEL_NTK || plan->input_count > 0) {
        return SETTING_OTHER;
    }
    for (int64_t i = 0; i < plan->count; i++) {
        const far_op *op = &plan->ops[i];
        if (!is_covered(op)) {
            return SETTING_OTHER;
        }
        out = op->kind == FAR_OP_ACTIVATE && is_asymptotic(op) ? SETTING_ASYMPTOTIC : out;
    }
    return out;
}

/* A layer norm: of values with a mean, or right behind a dense, where the mean is 0. */
static bool has_layer_norm(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    for (int64_t i = 0; i < plan->count; i++) {
        bool centred = i > 0 && plan->ops[i - 1].kind == FAR_OP_DENSE;
        if (plan->ops[i].kind == FAR_OP_CENTER ||
            (plan->ops[i].kind == FAR_OP_SCALE && !plan->ops[i].fixed && centred)) {
            return true;
        }
    }
    return false;
}

static bool has_norm(const far_model *m)
{
    const far_plan *plan = m->kernel->plan;
    for (int64_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == FAR_OP_CENTER || plan->ops[i].kind == FAR_OP_SCALE) {
            return true;
        }
    }
    return false;
}

#define SO                                                                                         \
    ", so |f(x) - centre| <= scale sqrt(C) |g|, the norm of g = (f - centre) / scale in the "      \
    "Hilbert space of k"
#define PAPER " (Ziomek, Whittle and Osborne 2025, Theorems "
#define REASONS(how)                                                                               \
    {                                                                                              \
        "k(x,x) <= C for every x, " how SO,                                                        \
            "k(x,x) <= C for every x, " how SO PAPER "3.2 and 3.3)",                               \
            "k(x,x) <= C for every x, " how SO PAPER "C.2 and C.3)"                                \
    }

const char *far_reason_bounded(const far_model *m, const char *by)
{
    static const char *const CONSTANT[] = REASONS("being the same everywhere");
    static const char *const MONOTONE[] = REASONS("by interval arithmetic over all |x| at once");
    static const char *const BRANCH[] = REASONS("by interval branch and bound over |x|");
    setting which = has_layer_norm(m) ? setting_of(m) : SETTING_OTHER;
    return strcmp(by, "constant") == 0   ? CONSTANT[which]
           : strcmp(by, "monotone") == 0 ? MONOTONE[which]
                                         : BRANCH[which];
}

const char *far_reason_unbounded(const far_model *m)
{
    bool theirs = !has_norm(m) && setting_of(m) == SETTING_HOMOGENEOUS;
    return theirs ? "f(t u) / t^order tends to slope, which is not 0, as t grows: by the exact "
                    "limit of Theta (as in Ziomek, Whittle and Osborne 2025, Theorem 3.1)"
                  : "f(t u) / t^order tends to slope, which is not 0, as t grows: by the exact "
                    "limit of k(t u, x)";
}

const char *far_reason_open(far_open open)
{
    switch (open) {
    case FAR_OPEN_ZERO:
        return "k(x,x) runs away as x nears 0, where this network divides by nothing; a bias in "
               "the layer before the norm would bound it";
    case FAR_OPEN_SEARCH:
        return "k(x,x) is bounded as far as a scan along |x| goes: numerical, not proven";
    default:
        return "k(x,x) is unbounded, but no direction was found along which this fit runs away";
    }
}
