/*
 * farfield/certify.h: can this predictor run away, and how far can it go?
 *
 * A verdict holds for every x in R^d, or in the box that was asked for. It rests on a theorem,
 * named in the result; search only adds how much of a bound is used. All values are in raw units:
 * those of the table's columns.
 *
 * Bounds of finite networks hold for these very weights, in real arithmetic: whatever float64 can
 * have rounded away on the way to a bound has been added to it, and so is what the C library may be
 * off (docs/explanation/certificates.md). 0 / 0 of a norm without eps is 0. Evaluation rounds too:
 * behind a norm without eps whose inputs hardly vary, its value may differ from f by anything that
 * the norm's ball allows.
 */
#ifndef FARFIELD_CERTIFY_H
#define FARFIELD_CERTIFY_H

#include <farfield/model.h>
#include <farfield/net.h>

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
    double seconds; /* or when this much time is spent; default 20. 0: no branch and bound */
    double box_low, box_high; /* finite networks: for inputs between these alone, every one of them;
                                 NAN (default): all of R^d */
} far_certify_opts;

FAR_API void far_certify_opts_init(far_certify_opts *opts);

typedef enum far_verdict {
    FAR_BOUNDED = 1,   /* proven */
    FAR_UNBOUNDED = 0, /* proven, with a witness */
    FAR_UNDECIDED = -1 /* nothing is proven either way; the reason is given */
} far_verdict;
/* "bounded", "unbounded", "undecided" */
FAR_API const char *far_verdict_text(far_verdict verdict);

/* |f(x)| <= bound for every x; INFINITY: the method proves nothing here. */
typedef struct far_proof {
    const char *method; /* NULL: there is none */
    double bound;
} far_proof;
#define FAR_PROOFS 4

/* One output. Vectors have as many entries as there are inputs. What does not apply is NAN. */
typedef struct far_bound {
    const char *output; /* target, or "target=class" */
    far_verdict verdict;
    const char *theorem; /* what the verdict rests on; undecided: why it is open */

    /* bounded: every f(x) lies in [lowest, highest], and |f(x)| <= tightest; else infinite */
    double lowest, highest, tightest;
    const char *method; /* of tightest */
    /* What each method proves. Kernels: "norm" (|f|^2 = alpha' K alpha in the RKHS), "bias",
     * "quadratic"; finite networks: "norm ball" (exact maxima over the ball behind a norm, then
     * intervals), "spectral" (the same with the largest singular values of the layers),
     * "relaxation" (lines above and below every activation, back to the ball); in a box "intervals"
     * in place of the first. Both: "branch and bound", over R^d with its points at infinity, of
     * networks up to 6 inputs. */
    far_proof proofs[FAR_PROOFS];
    double b1, b2, b3; /* kernels: |centre| + scale sqrt(C) |f|, and the paper's looser forms, from
                          lambda_min */
    double sup_found; /* the largest |f| the search met, at most tightest; of networks moved into an
                         enclosure of the real value where rounding has carried it out */
    const double *at; /* there; a direction (of norm 1) if at_infinity; NULL: none was met. With
                         categorical columns a point that a row of a table can be at
                         (far_columns_is_row), whatever proofs take categories for */
    int32_t at_infinity;

    /* unbounded: f(t direction) ~ slope t^order as t grows */
    const double *direction; /* of norm 1 */
    double slope, order;
    double intercept; /* order 1: lim f(t direction) - slope t, computed, not proven */
    double confirmed; /* f(t direction) / (slope t^order) at t = 1e6 sizes of the data, or further
                         out where scales ask for it */
    double level;     /* what was asked for */
    double beyond;    /* |f(t direction)| > level for every t beyond this */
    int32_t beyond_proven; /* 1: proven; 0: by a dense scan and bisection */
    const double *row;     /* with categorical columns, of which t direction has none: a row that a
                              table can hold where |f| > level; NULL: there are none, or none was met */
    /* finite networks, unbounded or undecided, order 1: |f(x)| <= growth |x| + offset for every x,
     * proven; else INFINITY */
    double growth, offset;
} far_bound;

typedef struct far_certificate far_certificate;

typedef struct far_certificate_info {
    int64_t inputs, outputs;
    const char *const *input_names; /* for points and directions */
    const char *kind;               /* of the predictor, as in far_predictor_info */
    const char *arch;               /* NULL: it is no network */
    far_verdict verdict; /* of all outputs: the worst (unbounded, then undecided, then bounded) */
    const char *hash;    /* SHA-256 of what was certified */
    double seconds;
    double gap;       /* that branch and bound was asked for */
    int64_t cells;    /* that it looked at; 0: it was not used */
    int32_t finished; /* 1: it reached the gap */

    /* kernels; else NAN and NULL */
    double C, radius; /* sup of Theta(x, x) and the |x| / sqrt(d), standardised and behind the
                         metric, where it is */
    int32_t attained; /* of C, as in far_supremum */
    const char *C_by; /* how C is known: "constant" (Theta(x, x) is the same everywhere), "monotone"
                         (it grows with |x|, C is its limit), "branch and bound" over |x|, or
                         "search": then it is numerical, and the verdict is undecided */
    double lambda_min, condition, ridge;
    far_metric_kind metric; /* behind which the network stands; what follows as in far_metric_info
                               (model.h), with no rows, and 0, where there is none */
    int64_t rank;
    far_mat null; /* directions along which f does not change at all */

    double box_low, box_high; /* what was asked for; NAN: all of R^d */

    /* finite networks; else 0 */
    int32_t norms; /* 1: the network has layer or rms norms */
    int32_t batch; /* 1: it has batch norms, which at evaluation are affine and bound nothing */
} far_certificate_info;

FAR_API void far_certificate_destroy(far_certificate *c); /* NULL is fine */
FAR_API far_certificate_info far_certificate_describe(const far_certificate *c);
/* NULL if there is no such output. */
FAR_API const far_bound *far_certificate_bound(const far_certificate *c, int64_t output);

/* The certificate as JSON text (far_text_free it). far_certificate_check (predictor.h) holds such a
 * text against a predictor: that it is of this one, that it has the fields and words that we would
 * write and no others, the predictor's own numbers, every bound proven anew (branch and bound with
 * the stated bounds as its target, where nothing cheaper will do), |f| at the stated points, slopes
 * along stated directions; all but what stands under "unchecked". Bounds may be stated looser than
 * they are, and are written so by 1e-6. FAR_OK if all of it holds; FAR_ERR_VALUE with the first
 * statement that does not; FAR_ERR_FORMAT if it is no certificate, of another predictor, or of an
 * older version. */
FAR_API FAR_NODISCARD far_status far_certificate_json(far_ctx *ctx, const far_certificate *c,
                                                      char **out);
#ifdef __cplusplus
}
#endif
#endif
