/*
 * farfield/certify.h: can this predictor run away, and how far can it go?
 *
 * Every verdict rests on a theorem, named in the result; search only adds how much of a bound is
 * used. All values are in the units of the target.
 */
#ifndef FARFIELD_CERTIFY_H
#define FARFIELD_CERTIFY_H

#include <farfield/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_certify_opts {
    size_t size; /* set by far_certify_opts_init */
    double
        exceeds; /* unbounded: find where |f| passes this level for good; NAN (default): do not */
    int64_t starts; /* of the search for large |f|; default 64 */
    uint64_t seed;
    double gap;     /* branch and bound stops when bound / found <= 1 + gap; default 0.01 */
    double seconds; /* or when this much time is spent; default 20 */
} far_certify_opts;

FAR_API void far_certify_opts_init(far_certify_opts *opts);

typedef enum far_verdict {
    FAR_BOUNDED = 1,   /* proven */
    FAR_UNBOUNDED = 0, /* proven, with a witness */
    FAR_UNDECIDED = -1 /* nothing is proven either way; the reason is given */
} far_verdict;
/* "bounded", "unbounded", "undecided" */
FAR_API const char *far_verdict_text(int32_t verdict);

/* One output of a model. Vectors have as many entries as the model has inputs, in raw units. */
typedef struct far_bound {
    const char *output;  /* target or class */
    int32_t verdict;     /* a far_verdict; bounded: |f(x)| <= tightest for every x in R^d */
    const char *theorem; /* what the verdict rests on; undecided: why it is open */

    /* bounded: */
    double b1;              /* |centre| + scale sqrt(C) |f|, |f|^2 = alpha' K alpha, in the RKHS */
    double b2, b3;          /* the paper's looser forms, from lambda_min */
    double tightest;        /* the least of all proven bounds on |f| */
    double lowest, highest; /* every f(x) lies between, proven */
    const char *method;     /* of tightest: "norm", "bias", "quadratic", "branch and bound" */
    double sup_found;       /* the largest |f| the search met; tightest / sup_found >= 1 */
    const double *at;       /* there; a direction (of norm 1) if at_infinity */
    int32_t at_infinity;

    /* unbounded: f(t direction) ~ slope t^order as t grows */
    const double *direction; /* of norm 1 in raw units */
    double slope, order;
    double intercept; /* order 1: lim f(t direction) - slope t, extrapolated; else NAN */
    double level;     /* what was asked for */
    double beyond;    /* the last t at which |f(t direction)| <= level, by a dense scan
                         and bisection; NAN if not asked */
    double confirmed; /* f(t direction) / (slope t^order) at t = 1e6 (sizes of the data), or further
                         out where the target's centre or the data's distance from 0 ask for it */
} far_bound;

typedef struct far_certificate far_certificate;

typedef struct far_certificate_info {
    int64_t outputs;
    int32_t verdict;  /* of all outputs: the worst (unbounded, then undecided, then bounded) */
    int32_t attained; /* of C, as in far_supremum */
    double C, radius; /* sup of Theta(x, x) and the |x| / sqrt(d), standardised, where it is */
    const char *C_by; /* how C is known: "constant" (Theta(x, x) is the same everywhere), "monotone"
                         (it grows with |x|, C is its limit), or "search" (bounded by the theorem,
                         but its largest value was found by a search along |x|) */
    double lambda_min, condition, ridge;
    double seconds;
} far_certificate_info;

/* Progress "search" and "bound". */
FAR_API FAR_NODISCARD far_status far_certify(far_ctx *ctx, const far_model *m,
                                             const far_certify_opts *opts, far_certificate **out);
FAR_API void far_certificate_destroy(far_certificate *c);
FAR_API far_certificate_info far_certificate_describe(const far_certificate *c);
FAR_API const far_bound *far_certificate_bound(const far_certificate *c, int64_t output);

/* The certificate as JSON text (far_text_free it), and the check of such a text against a model:
 * that it has the fields and words that we would write and no others, the model's own numbers, the
 * theorem's hypothesis, every bound proven anew, |f| at the stated points, slopes along stated
 * directions; all but what stands under "unchecked". Bounds may be stated looser than they are, and
 * are written so by 1e-6. FAR_OK if all of it holds; FAR_ERR_VALUE with the first statement that
 * does not; FAR_ERR_FORMAT if it is no certificate, of another model, or of version 1. */
FAR_API FAR_NODISCARD far_status far_certificate_json(far_ctx *ctx, const far_certificate *c,
                                                      char **out);
FAR_API void far_text_free(far_ctx *ctx, char *text);
FAR_API FAR_NODISCARD far_status far_certificate_check(far_ctx *ctx, const far_model *m,
                                                       const char *json);

#ifdef __cplusplus
}
#endif
#endif
