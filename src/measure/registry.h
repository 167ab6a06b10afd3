/* The table of measures, and the work they share in one call. */
#ifndef FAR_REGISTRY_H
#define FAR_REGISTRY_H

#include "measure_internal.h"

/* What several measures of a call need, each computed at most once. */
typedef struct far_work {
    const far_measure_input *in;
    bool has_alignment, has_local;
    far_alignment alignment;
    far_local local;
} far_work;

typedef far_status (*far_measure_fn)(far_ctx *ctx, far_work *w, const far_measure *m, double *out);

typedef enum far_argument_kind {
    FAR_ARGUMENT_NONE,
    FAR_ARGUMENT_COUNT,  /* a whole number from 1 on */
    FAR_ARGUMENT_RIDGE,  /* not negative */
    FAR_ARGUMENT_SIZE,   /* positive */
    FAR_ARGUMENT_PART,   /* between 0 and 1 */
    FAR_ARGUMENT_WINDOW, /* two whole numbers, the second one larger */
} far_argument_kind;

/* Eigenvectors a measure takes: none, as many as its argument says, the first few, or all. */
typedef enum far_vectors {
    FAR_VECTORS_NONE = 0,
    FAR_VECTORS_ONE = 1,
    FAR_VECTORS_TWO = 2,
    FAR_VECTORS_ARGUMENT = -1,
    FAR_VECTORS_ALL = -2
} far_vectors;

typedef struct far_measure_entry {
    far_measure_info info;
    far_argument_kind argument;
    int vectors;  /* a far_vectors: eigenvectors, or largest eigenvalues */
    bool several; /* as many numbers as the argument says */
    far_measure_fn apply;
    size_t field; /* of what apply computes: which of its numbers; 0 where it computes one */
} far_measure_entry;

extern const far_measure_entry far_measures[];
extern const int64_t far_measures_count;
const far_measure_entry *far_measure_entry_of(const far_measure *m); /* NULL: not one of ours */
/* The number of a far_local, far_alignment or far_condition that the measure is. */
static inline double far_measure_field(const far_measure *m, const void *numbers)
{
    return *(const double *)((const char *)numbers + far_measure_entry_of(m)->field);
}

/* ---- measures_kernel.c ---- */

far_status far_measure_lmin(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_top(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_ratio(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_stability(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_trace(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_norm(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_of_condition(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_nu(far_ctx *ctx, far_work *w, const far_measure *m, double *out);

/* ---- measures_target.c ---- */

far_status far_measure_of_alignment(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_cka(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_align(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_cumulative(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_kappa(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_residual(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_loss(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_sigma(far_ctx *ctx, far_work *w, const far_measure *m, double *out);

/* ---- measures_local.c ---- */

far_status far_measure_of_local(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_first(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_auc(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_edges(far_ctx *ctx, far_work *w, const far_measure *m, double *out);
far_status far_measure_magma(far_ctx *ctx, far_work *w, const far_measure *m, double *out);

/* text: "kta", "align:20", "nu:20:150". FAR_ERR_ARG: no such measure (with the nearest name), or an
 * argument that is missing, too many or out of range. */
FAR_NODISCARD far_status far_measure_find(far_ctx *ctx, const char *text, far_measure *out);

#endif
