/* Errors followed from where they are made to an output: each times the derivative of the output by
 * the neuron it is made at. Rounding on the way back is relative to what is open at each neuron. */
#include "net_cell.h"

#include <string.h>

static double tally(const far_cell *cell, int64_t i)
{
    const far_step *s = cell->plan->layers[i].step;
    const far_cell_trace *t = &cell->traces[i];
    double lost = 2 * far_lost(s->in > s->out ? s->in : s->out), sum = 0;
    for (int64_t k = 0; k < s->out; k++) {
        sum += fabs(cell->back[k]) * (t->fresh[k] + lost * t->total[k]);
    }
    return sum;
}

static void back_dense(far_cell *cell, const far_proof_layer *l)
{
    int64_t n = l->step->in;
    double *to = cell->back_next;
    memset(to, 0, (size_t)n * sizeof *to);
    for (int64_t o = 0; o < l->step->out; o++) {
        const double *w = l->rows + o * n;
        double x = cell->back[o];
        for (int64_t k = 0; x != 0 && k < n; k++) {
            to[k] += x * w[k];
        }
    }
    cell->back_next = cell->back;
    cell->back = to;
}

/* Takes a linear form in the outputs of layer i back to its inputs, by the gains that the cell's
 * forward pass stored; forms that pass a skip are kept for its beginning. */
static void back_layer(far_cell *cell, int64_t i)
{
    const far_proof_layer *l = &cell->plan->layers[i];
    const far_cell_trace *t = &cell->traces[i];
    double *kept, factor;
    switch (l->step->kind) {
    case FAR_STEP_DENSE:
        back_dense(cell, l);
        break;
    case FAR_STEP_NORM:
        far_cell_norm_back(cell, i, cell->back);
        break;
    case FAR_STEP_ACTIVATION:
    case FAR_STEP_BATCHNORM:
        for (int64_t k = 0; k < l->step->out; k++) {
            cell->back[k] *= t->gain[k];
        }
        break;
    case FAR_STEP_SKIP_OUT:
        kept = cell->back_kept + l->step->mate * cell->plan->widest;
        factor = t->across[0];
        for (int64_t k = 0; k < l->step->out; k++) {
            kept[k] = factor * cell->back[k];
            cell->back[k] *= t->along[0];
        }
        break;
    case FAR_STEP_SKIP_TURN:
        memcpy(cell->back_kept + l->step->mate * cell->plan->widest, cell->back,
               (size_t)l->step->out * sizeof *cell->back);
        memcpy(cell->back, cell->back_kept + i * cell->plan->widest,
               (size_t)cell->plan->widest * sizeof *cell->back);
        break;
    case FAR_STEP_SKIP_IN:
        kept = cell->back_kept + i * cell->plan->widest;
        for (int64_t k = 0; k < l->step->out; k++) {
            cell->back[k] += kept[k];
        }
        break;
    default: /* images and sequences do not come here */
        break;
    }
}

double far_cell_error(far_cell *cell, int64_t j)
{
    const far_net_plan *plan = cell->plan;
    double sum = 0;
    memset(cell->back, 0, (size_t)plan->net->info.outputs * sizeof *cell->back);
    cell->back[j] = 1;
    for (int64_t i = plan->count - 1; i >= 0; i--) {
        sum += tally(cell, i);
        back_layer(cell, i);
    }
    for (int64_t k = 0; k < plan->net->info.inputs; k++) {
        sum += fabs(cell->back[k]) * cell->input_total[k];
    }
    sum *= 1 + far_lost(plan->widest * plan->count);
    return isnan(sum) ? INFINITY : sum + FAR_SPECK;
}
