/*
 * farfield/netcert.h: can this finite network run away, and how far can it go?
 *
 * The bounds hold for every x in R^d, for these very weights, in real arithmetic: whatever float64
 * can have rounded away on the way to a bound has been added to it, and so is what the C library
 * may be off (docs/certificates.md, Finite networks). 0 / 0 of a norm without eps is 0.
 * far_net_eval_raw rounds too: behind a norm without eps whose inputs hardly vary, its value may
 * differ from f by anything that the norm's ball allows. All values are in raw units
 * (far_net_scaling).
 */
#ifndef FARFIELD_NETCERT_H
#define FARFIELD_NETCERT_H

#include <farfield/certify.h>
#include <farfield/net.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One output. Vectors have as many entries as the network has inputs. */
typedef struct far_net_bound {
    int32_t verdict;     /* a far_verdict */
    const char *theorem; /* what the verdict rests on: the layer that bounds it, or the way that
                            none bounds */

    /* bounded: |f(x)| <= each of these; INFINITY: the method proves nothing here. */
    double norm_ball;  /* exact maxima over the ball behind a norm, then intervals */
    double spectral;   /* the same with the largest singular values of the layers */
    double relaxation; /* lines above and below every activation, back to the ball */
    double branch;     /* branch and bound over R^d with its points at infinity, up to 6 inputs */
    double tightest;   /* the least of them */
    double lowest, highest; /* every f(x) lies between, proven */
    const char *method;     /* of tightest: "norm ball", "spectral", "relaxation", "branch and
                               bound" */
    double sup_found;       /* the largest |f| the search met, at most tightest: far_net_eval_raw's
                               value, moved into an enclosure of the real one where rounding has
                               carried it out */
    const double *at;       /* there; a direction (of norm 1) if at_infinity */
    int32_t at_infinity;

    /* unbounded: f(t direction) ~ slope t^order + intercept as t grows */
    const double *direction; /* of norm 1 */
    double slope, order;
    double intercept; /* order 1: lim f(t direction) - slope t, computed, not proven; NAN if it was
                         not found */
    double confirmed; /* f(t direction) / (slope t^order) at t = 1e6 sizes of the data, or further
                         out where scales ask for it */
    double level;     /* what was asked for */
    double beyond;    /* |f(t direction)| > level for every t beyond this, proven; NAN if not asked
                         for, or not found */
    /* unbounded or undecided, order 1: |f(x)| <= growth |x| + offset for every x, proven; else
     * INFINITY */
    double growth, offset;
} far_net_bound;

typedef struct far_net_certificate far_net_certificate;

typedef struct far_net_certificate_info {
    int64_t outputs;
    int32_t verdict;  /* of all outputs: the worst */
    int32_t norms;    /* 1: the network has layer or rms norms */
    int32_t batch;    /* 1: it has batch norms, which at evaluation are affine and bound nothing */
    double gap;       /* that branch and bound was asked for */
    int64_t cells;    /* that it looked at; 0: it was not used */
    int32_t finished; /* 1: it reached the gap */
    double seconds;
    const char *hash; /* SHA-256 of architecture, parameters, statistics and scaling */
} far_net_certificate_info;

/* Progress "search" and "bound". opts->seconds limit branch and bound and the search alone; 0: no
 * branch and bound. The same bits for any number of threads, unless time runs out. FAR_ERR_ARCH: a
 * linearised network. FAR_ERR_VALUE: a weight that is not finite, or a bound beyond float64.
 * FAR_ERR_BACKEND: the C library's functions are not good enough, or a value that was met lies
 * beyond what was proven: our mistake, and no certificate then. */
FAR_API FAR_NODISCARD far_status far_net_certify(far_ctx *ctx, const far_net *net,
                                                 const far_certify_opts *opts,
                                                 far_net_certificate **out);
FAR_API void far_net_certificate_destroy(far_net_certificate *c); /* NULL is fine */
FAR_API far_net_certificate_info far_net_certificate_describe(const far_net_certificate *c);
/* NULL if there is no such output. */
FAR_API const far_net_bound *far_net_certificate_bound(const far_net_certificate *c,
                                                       int64_t output);

/* As JSON text (far_text_free it), and the check of such a text against a network: that it is of
 * this network, its verdicts, every bound proven anew (branch and bound with the stated bounds as
 * its target, where nothing cheaper will do), |f| at the stated points, slopes along the stated
 * directions. FAR_OK if all of it holds; FAR_ERR_VALUE with the first statement that does not;
 * FAR_ERR_FORMAT if it is no certificate or of another network. */
FAR_API FAR_NODISCARD far_status far_net_certificate_json(far_ctx *ctx,
                                                          const far_net_certificate *c, char **out);
FAR_API FAR_NODISCARD far_status far_net_certificate_check(far_ctx *ctx, const far_net *net,
                                                           const char *json);

#ifdef __cplusplus
}
#endif
#endif
