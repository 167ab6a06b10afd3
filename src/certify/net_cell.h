/*
 * Inside far_cell: arithmetic on forms, and the layers of a network as forms.
 *
 * What a form leaves open (r) comes from many small errors. Forwards they are added up as if all
 * were against us at every neuron; backwards each error is followed to an output on its own, as
 * fresh_i times the derivative there, which is far less. gain and the rest are that derivative.
 */
#ifndef FAR_NET_CELL_H
#define FAR_NET_CELL_H

#include "net_certify.h"

/* ---- net_form.c ---- */

/* Exactly 0, all over the cell: in real arithmetic, so that a norm behind it gives 0 / 0 = 0. All
 * that follows keeps such a form as it is; any rounding at all makes r more than 0. */
bool far_form_is_zero(const far_form *f, int64_t vars);
/* sum_k |a_k|, and that with |c| and r: at least |f|. */
double far_form_reach(const far_form *f, int64_t vars);
double far_form_size(const far_form *f, int64_t vars);
/* slope f + [low, high] */
far_form far_form_strip(const far_form *f, far_strip s, int64_t vars);
far_form far_form_add(const far_form *x, const far_form *y, int64_t vars);
far_form far_form_multiply(const far_form *x, const far_form *y, int64_t vars);
/* s^degree for s >= 0. */
far_form far_form_power(const far_form *s, double degree, int64_t vars);
/* z^(-1/2) (half) or 1 / z over 0 < low <= z <= high. */
far_strip far_inverse_strip(far_range z, bool half);

/* ---- the cell ---- */

typedef struct far_forms {
    double *c, *r, *a; /* a: vars x widest */
} far_forms;

/* How errors go on from the inputs of a layer to its outputs, for every neuron. */
typedef struct far_cell_trace {
    double *gain;   /* activations, batch norms: the factor; norms: 1, or 0 where the value is cut
                       off from what came before */
    double *fresh;  /* errors made here */
    double *total;  /* all that is open */
    double *centre; /* norms: centred values in the middle of the cell */
    double *along;  /* norms, of each group: the factor of centred errors, */
    double *across; /* and that of centre times their product with it */
} far_cell_trace;

struct far_cell {
    const far_net_plan *plan;
    int64_t vars;
    far_forms now, next;
    far_cell_trace *traces;
    double *block, *kept; /* kept: layers x (vars + 2) x widest, of skips */
    double *back, *back_next, *back_kept, *input_total;
    far_form *out;
    far_form s;
    bool rounded; /* as the engine computes: what centring rounds is not centred again */
};

far_form far_cell_take(const far_cell *cell, const far_forms *f, int64_t i);
void far_cell_put(const far_cell *cell, far_forms *f, int64_t i, const far_form *value);
/* scale z + shift S of neuron i, and what rounding that adds. */
far_form far_cell_scaled(const far_proof_layer *l, int64_t i, const far_form *z, const far_form *S,
                         int64_t vars, double *lost);

/* ---- net_cell_norm.c ---- */

void far_cell_norm(far_cell *cell, int64_t i, const far_form *S);
/* From derivatives by outputs to those by inputs, in place. */
void far_cell_norm_back(const far_cell *cell, int64_t i, double *back);

/* ---- net_cell_back.c ---- */

/* The errors of output j, added up after far_cell_run's way forwards. */
double far_cell_error(far_cell *cell, int64_t j);

#endif
