/* Everything that is done in a precision of its own: one table for each. */
#ifndef FAR_LNNET_PRECISION_H
#define FAR_LNNET_PRECISION_H

#include "chain.h"

/* The form of a network, and how its chains become outputs. */
typedef struct far_ln_form {
    int64_t d, classes, groups, layers;
} far_ln_form;

typedef struct far_ln_plan {
    far_ln_form form;
    bool votes;          /* several chains, each for some points of one class */
    far_ln_chain *chain; /* groups of them */
    int32_t *voice;      /* the class each votes for */
    double *offset;      /* of the output of each class, beside its votes of +1 or -1 */
} far_ln_plan;

/* Where a pass leaves what one chain does: the network's matrices for figures. */
typedef struct far_ln_tap {
    int64_t chain;
    far_mat *states, *circle; /* either may be NULL */
} far_ln_tap;

/* A pass over rows of doubles. */
typedef struct far_ln_rows {
    const far_mat *x;      /* float64 or float32 */
    const int64_t *labels; /* NULL: not judged */
    double eps;
    uint64_t shake; /* not 0: move every neuron behind a norm by some last bits, by these dice */
    const far_ln_tap *tap;
} far_ln_rows;

typedef struct far_ln_ops far_ln_ops;
struct far_ln_ops {
    far_lnnet_precision precision;
    int64_t bits;
    size_t size; /* of a number */
    far_status (*chain_allocate)(const far_ln_ops *o, far_ctx *ctx, far_ln_chain *c);
    void (*chain_run)(far_ln_chain *c);
    /* The parameters of the whole network, in their order. */
    void (*assemble)(const far_ln_plan *plan, void *parameters);
    void (*round)(const void *parameters, int64_t count, double *out);
    void (*widen)(const far_ln_ops *o, const double *values, int64_t count, void *parameters);
    void (*print)(const void *parameters, int64_t count, far_text *out);
    /* False: not count numbers with single blanks between them. */
    bool (*parse)(const far_ln_ops *o, const char *text, int64_t count, void *parameters);
    /* outputs (rows x classes of this type, or NULL) = f(x). */
    far_status (*pass)(const far_ln_ops *o, far_ctx *ctx, const far_ln_form *form,
                       const void *parameters, const far_ln_rows *rows, void *outputs);
    void (*judge)(const void *outputs, const far_ln_form *form, const far_ln_rows *rows,
                  far_lnnet_checked *out);
    /* What a point's own output is more than its largest other one. */
    double (*margin)(const void *outputs, const far_ln_form *form, const far_ln_rows *rows,
                     int64_t row);
};

extern const far_ln_ops far_ln_double, far_ln_quad;

/* bits of 0: of a significand that is long enough for what the file or the points say. Without MPFR
 * the precision is 0. */
far_ln_ops far_ln_mpfr(int64_t bits);

static inline int64_t far_ln_parameters(const far_ln_form *f)
{
    int64_t width = FAR_LN_NEURONS * f->groups;
    return width * (f->d + 1) + (f->layers - 1) * width * (width + 1) + f->classes * (width + 1);
}

#endif
