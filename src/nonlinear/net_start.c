/* Where jets start: at the inputs, or behind a first layer that sees fewer directions of them. */
#include "net_start.h"

#include <math.h>
#include <string.h>

#define NO_LENGTH 1e-15 /* of what is left of a row, relative to the longest */

static double input_scale(const far_net *net, bool raw, int64_t j)
{
    return raw ? net->columns->scaling[net->info.inputs + j] : 1;
}

static far_status start_at_inputs(far_ctx *ctx, const far_net *net, bool raw, far_start *s)
{
    int64_t d = net->info.inputs;
    far_status st = far_alloc(ctx, d * d, &s->derivatives);
    if (st == FAR_OK) {
        for (int64_t j = 0; j < d; j++) {
            s->derivatives[j * d + j] = 1 / input_scale(net, raw, j);
        }
        s->features = s->directions = d;
    }
    return st;
}

/* ---- behind a dense layer ------------------------------------------------------------------ */

/* The layer's weights by inputs as x has them, n rows of d. */
static void copy_weights(const far_net *net, const far_step *layer, bool raw, double *rows)
{
    const double *w = net->params + layer->weight;
    for (int64_t i = 0; i < layer->out; i++) {
        for (int64_t j = 0; j < layer->in; j++) {
            rows[i * layer->in + j] =
                layer->weight_scale * w[i * layer->in + j] / input_scale(net, raw, j);
        }
    }
}

static int64_t longest_row(int64_t n, int64_t d, const double *rows, double *length)
{
    int64_t best = 0;
    *length = -1;
    for (int64_t i = 0; i < n; i++) {
        double square = far_dot(rows + i * d, rows + i * d, d);
        if (square > *length) {
            *length = square;
            best = i;
        }
    }
    *length = sqrt(*length);
    return best;
}

/* derivatives[., k] = rows . q with q along row i, which is taken out of all rows. */
static void take_direction(far_start *s, int64_t d, int64_t i, double length, double *rows,
                           double *q)
{
    int64_t k = s->directions++;
    for (int64_t j = 0; j < d; j++) {
        q[j] = rows[i * d + j] / length;
    }
    for (int64_t r = 0; r < s->features; r++) {
        double along = far_dot(rows + r * d, q, d);
        s->derivatives[r * s->features + k] = along;
        for (int64_t j = 0; j < d; j++) {
            rows[r * d + j] -= along * q[j];
        }
    }
}

/* Gram-Schmidt over the rows of the first layer, the longest first: orthonormal directions that
 * span all it sees, and its derivatives along them. */
static far_status start_behind(far_ctx *ctx, const far_net *net, bool raw, far_start *s)
{
    const far_step *layer = &net->steps[0];
    int64_t n = layer->out, d = layer->in;
    double *rows = NULL, *q = NULL, length, first = 0;
    far_status st = FAR_OK;
    s->first = 1;
    s->features = n;
    FAR_TRY(far_alloc(ctx, n * d, &rows));
    FAR_TRY(far_alloc(ctx, d, &q));
    FAR_TRY(far_alloc(ctx, n * n, &s->derivatives));
    copy_weights(net, layer, raw, rows);
    while (s->directions < n) {
        int64_t i = longest_row(n, d, rows, &length);
        first = s->directions == 0 ? length : first;
        if (!(length > NO_LENGTH * first)) {
            break;
        }
        take_direction(s, d, i, length, rows, q);
    }
done:
    far_free(ctx, rows);
    far_free(ctx, q);
    return st;
}

far_status far_start_create(far_ctx *ctx, const far_net *net, bool raw, bool reduced, far_start *s)
{
    const far_step *layer = net->step_count > 0 ? &net->steps[0] : NULL;
    *s = (far_start){0};
    if (reduced && layer && layer->kind == FAR_STEP_DENSE && layer->out < layer->in) {
        return start_behind(ctx, net, raw, s);
    }
    return start_at_inputs(ctx, net, raw, s);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static double input_at(const far_net *net, bool raw, const double *x, int64_t j)
{
    return raw ? (x[j] - net->columns->scaling[j]) / input_scale(net, raw, j) : x[j];
}

static double feature_at(const far_net *net, bool raw, const far_start *s, const double *x,
                         int64_t i)
{
    if (s->first == 0) {
        return input_at(net, raw, x, i);
    }
    const far_step *layer = &net->steps[0];
    const double *w = net->params + layer->weight + i * layer->in;
    double sum = 0;
    for (int64_t j = 0; j < layer->in; j++) {
        sum += w[j] * input_at(net, raw, x, j);
    }
    double bias = layer->bias >= 0 ? layer->bias_scale * net->params[layer->bias + i] : 0;
    return layer->weight_scale * sum + bias;
}

void far_start_jet(const far_net *net, bool raw, const far_start *s, const double *x, int64_t from,
                   far_jet *jet)
{
    int64_t rest = s->directions - from, block = far_jet_block(s->directions);
    jet->from = from;
    jet->block = rest < block ? rest : block;
    jet->along = from + jet->block;
    jet->stride = far_jet_stride(jet->along, jet->block);
    jet->open = 0;
    jet->undefined = false;
    memset(jet->now, 0, (size_t)(s->features * jet->stride) * sizeof *jet->now);
    for (int64_t i = 0; i < s->features; i++) {
        double *row = jet->now + i * jet->stride;
        int64_t ld = s->features;
        row[0] = feature_at(net, raw, s, x, i);
        memcpy(row + 1, s->derivatives + i * ld, (size_t)jet->along * sizeof *row);
    }
}
