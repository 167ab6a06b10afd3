/* Jets through the layers of a network. */
#include "jet.h"

#include <math.h>
#include <string.h>

#define LANES 4
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

int64_t far_jet_stride(int64_t along, int64_t block)
{
    int64_t numbers = 1 + along * (1 + block);
    return (numbers + LANES - 1) / LANES * LANES;
}

static void measure(const far_net *net, int64_t *widest, int64_t *deepest)
{
    int64_t open = 0;
    *widest = net->info.inputs;
    *deepest = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        open += s->kind == FAR_STEP_SKIP_IN ? 1 : s->kind == FAR_STEP_SKIP_OUT ? -1 : 0;
        *widest = s->out > *widest ? s->out : *widest;
        *deepest = open > *deepest ? open : *deepest;
    }
}

far_status far_jet_create(far_ctx *ctx, const far_net *net, int64_t directions, far_jet *jet)
{
    int64_t widest, deepest, stride = far_jet_stride(directions, far_jet_block(directions));
    far_status st = FAR_OK;
    measure(net, &widest, &deepest);
    *jet = (far_jet){.room = widest * stride};
    FAR_TRY(far_alloc(ctx, jet->room, &jet->now));
    FAR_TRY(far_alloc(ctx, jet->room, &jet->next));
    FAR_TRY(far_alloc(ctx, deepest * jet->room, &jet->kept));
    FAR_TRY(far_alloc(ctx, 2 * stride, &jet->work));
done:
    return st;
}

void far_jet_clear(far_ctx *ctx, far_jet *jet)
{
    FAR_FREE_ALL(ctx, jet->now, jet->next, jet->kept, jet->work);
}

/* ---- dense --------------------------------------------------------------------------------- */

/* Four rows of out = scale w in. */
static void four_rows(const far_jet *jet, int64_t n, double scale, const double *w, double *out)
{
    int64_t stride = jet->stride;
    for (int64_t c = 0; c < stride; c += LANES) {
        lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int64_t i = 0; i < n; i++) {
            lanes v = *(const lanes *)(jet->now + i * stride + c);
            s0 += w[i] * v;
            s1 += w[n + i] * v;
            s2 += w[2 * n + i] * v;
            s3 += w[3 * n + i] * v;
        }
        *(lanes *)(out + c) = scale * s0;
        *(lanes *)(out + stride + c) = scale * s1;
        *(lanes *)(out + 2 * stride + c) = scale * s2;
        *(lanes *)(out + 3 * stride + c) = scale * s3;
    }
}

static void one_row(const far_jet *jet, int64_t n, double scale, const double *w, double *out)
{
    int64_t stride = jet->stride;
    for (int64_t c = 0; c < stride; c += LANES) {
        lanes sum = {0};
        for (int64_t i = 0; i < n; i++) {
            sum += w[i] * *(const lanes *)(jet->now + i * stride + c);
        }
        *(lanes *)(out + c) = scale * sum;
    }
}

static void run_dense(const far_net *net, const far_step *s, far_jet *jet)
{
    const double *w = net->params + s->weight;
    int64_t o = 0;
    for (; o + 4 <= s->out; o += 4) {
        four_rows(jet, s->in, s->weight_scale, w + o * s->in, jet->next + o * jet->stride);
    }
    for (; o < s->out; o++) {
        one_row(jet, s->in, s->weight_scale, w + o * s->in, jet->next + o * jet->stride);
    }
    for (o = 0; s->bias >= 0 && o < s->out; o++) {
        jet->next[o * jet->stride] += s->bias_scale * net->params[s->bias + o];
    }
    double *now = jet->now;
    jet->now = jet->next;
    jet->next = now;
}

/* ---- activations --------------------------------------------------------------------------- */

/* h_pq = phi' z_pq + phi'' z_p z_q, h_q = phi' z_q */
static void bend_row(const far_jet *jet, double slope, double curvature, double *row)
{
    double *first = row + 1;
    for (int64_t p = 0; p < jet->block; p++) {
        double *second = far_jet_second(jet, row, p), factor = curvature * first[jet->from + p];
        for (int64_t q = 0; q < jet->along; q++) {
            second[q] = slope * second[q] + factor * first[q];
        }
    }
    for (int64_t q = 0; q < jet->along; q++) {
        first[q] *= slope;
    }
}

static void run_activation(const far_step *s, far_jet *jet)
{
    for (int64_t j = 0; j < s->out; j++) {
        double *row = jet->now + j * jet->stride, z = row[0];
        row[0] = s->gain * far_activation_value(s, z);
        bend_row(jet, s->gain * far_activation_slope(s, z), s->gain * far_activation_second(s, z),
                 row);
    }
}

/* ---- norms --------------------------------------------------------------------------------- */

/* Rows of one group. */
typedef struct group {
    double *rows;
    int64_t n;
    bool centred; /* ln, not rms */
    double eps;
} group;

static double largest(const group *g, int64_t stride)
{
    double size = 0;
    for (int64_t j = 0; j < g->n; j++) {
        size = fmax(size, fabs(g->rows[j * stride]));
    }
    return size;
}

/* Values become c / sqrt(mean c^2 + eps), whatever their size; the factor is returned, 0 if there
 * is none. */
static double normalise_values(const group *g, int64_t stride)
{
    double size = largest(g, stride), square = 0;
    size = size > 0 ? size : 1;
    for (int64_t j = 0; j < g->n; j++) {
        double c = g->rows[j * stride] / size;
        square += c * c / (double)g->n;
    }
    square += g->eps / size / size;
    double inverse = square > 0 ? 1 / sqrt(square) / size : 0;
    for (int64_t j = 0; j < g->n; j++) {
        g->rows[j * stride] *= inverse;
    }
    return inverse;
}

static void clear(double *v, int64_t n)
{
    memset(v, 0, (size_t)n * sizeof *v);
}

/* Every column less its mean: of differences from the first row, so that equal rows become 0. */
static void centre(const group *g, far_jet *jet)
{
    int64_t stride = jet->stride;
    double *mean = jet->work, *pivot = jet->work + stride;
    memcpy(pivot, g->rows, (size_t)stride * sizeof *pivot);
    clear(mean, stride);
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t c = 0; c < stride; c++) {
            g->rows[j * stride + c] -= pivot[c];
            mean[c] += g->rows[j * stride + c] / (double)g->n;
        }
    }
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t c = 0; c < stride; c++) {
            g->rows[j * stride + c] -= mean[c];
        }
    }
}

static void scale_derivatives(const group *g, const far_jet *jet, double factor)
{
    for (int64_t j = 0; j < g->n; j++) {
        for (int64_t c = 1; c < jet->stride; c++) {
            g->rows[j * jet->stride + c] *= factor;
        }
    }
}

/* along[c] = mean of u e_c over the group, for all columns of derivatives. */
static void project(const group *g, const far_jet *jet, double *along)
{
    clear(along, jet->stride);
    for (int64_t j = 0; j < g->n; j++) {
        const double *row = g->rows + j * jet->stride;
        double u = row[0] / (double)g->n;
        for (int64_t c = 1; c < jet->stride; c++) {
            along[c] += u * row[c];
        }
    }
}

/* radial[q] = 3 A_p A_q - mean(e_p e_q) - A_pq */
static void measure_radial(const group *g, const far_jet *jet, int64_t p, const double *along,
                           double *radial)
{
    const double *first = along + 1, *second = far_jet_second(jet, (double *)along, p);
    double at = first[jet->from + p];
    for (int64_t q = 0; q < jet->along; q++) {
        radial[q] = 3 * at * first[q] - second[q];
    }
    for (int64_t j = 0; j < g->n; j++) {
        const double *row = g->rows + j * jet->stride + 1;
        double factor = row[jet->from + p] / (double)g->n;
        for (int64_t q = 0; q < jet->along; q++) {
            radial[q] -= factor * row[q];
        }
    }
}

/* u_pq = e_pq - e_p A_q - e_q A_p + u radial_q */
static void turn_second(const group *g, const far_jet *jet, int64_t p, const double *along,
                        const double *radial)
{
    const double *first = along + 1;
    double at = first[jet->from + p];
    for (int64_t j = 0; j < g->n; j++) {
        double *row = g->rows + j * jet->stride, *second = far_jet_second(jet, row, p);
        double e = row[1 + jet->from + p], u = row[0];
        for (int64_t q = 0; q < jet->along; q++) {
            second[q] += u * radial[q] - e * first[q] - at * row[1 + q];
        }
    }
}

/* u_q = e_q - u A_q */
static void turn_first(const group *g, const far_jet *jet, const double *along)
{
    for (int64_t j = 0; j < g->n; j++) {
        double *row = g->rows + j * jet->stride, u = row[0];
        for (int64_t q = 0; q < jet->along; q++) {
            row[1 + q] -= u * along[1 + q];
        }
    }
}

/* With c the vector less its mean, r = (mean c^2 + eps)^(-1/2), u = r c and e = r times the
 * derivatives of c: dr / r = -A. */
static void normalise_group(const group *g, far_jet *jet)
{
    double *along = jet->work, *radial = jet->work + jet->stride;
    if (g->centred) {
        centre(g, jet);
    }
    double inverse = normalise_values(g, jet->stride);
    jet->undefined = jet->undefined || (inverse == 0 && !(g->centred && g->n == 1));
    scale_derivatives(g, jet, inverse);
    project(g, jet, along);
    for (int64_t p = 0; p < jet->block; p++) {
        measure_radial(g, jet, p, along, radial);
        turn_second(g, jet, p, along, radial);
    }
    turn_first(g, jet, along);
}

static void scale_row(const far_jet *jet, double factor, double shift, double *row)
{
    for (int64_t c = 0; c < jet->stride; c++) {
        row[c] *= factor;
    }
    row[0] += shift;
}

static void run_norm(const far_net *net, const far_step *s, far_jet *jet)
{
    int64_t n = s->out / s->groups;
    for (int64_t k = 0; s->kind == FAR_STEP_NORM && k < s->groups; k++) {
        group g = {jet->now + k * n * jet->stride, n, s->layer == FAR_LAYER_LN, s->eps};
        normalise_group(&g, jet);
    }
    for (int64_t j = 0; s->kind == FAR_STEP_BATCHNORM && j < s->out; j++) {
        double square = net->statistics[s->variance + j] + s->eps;
        double inverse = square > 0 ? 1 / sqrt(square) : 0;
        double shift = -net->statistics[s->mean + j] * inverse;
        scale_row(jet, inverse, shift, jet->now + j * jet->stride);
    }
    for (int64_t j = 0; s->weight >= 0 && j < s->out; j++) {
        scale_row(jet, net->params[s->weight + j], net->params[s->bias + j],
                  jet->now + j * jet->stride);
    }
}

/* ---- all steps ----------------------------------------------------------------------------- */

static void run_skip(const far_step *s, far_jet *jet)
{
    int64_t numbers = s->out * jet->stride;
    if (s->kind == FAR_STEP_SKIP_IN) {
        memcpy(jet->kept + jet->open * jet->room, jet->now, (size_t)numbers * sizeof *jet->now);
        jet->open++;
        return;
    }
    if (s->kind == FAR_STEP_SKIP_TURN) { /* the two ways change places */
        double *x = jet->kept + (jet->open - 1) * jet->room;
        for (int64_t c = 0; c < jet->room; c++) {
            double end = jet->now[c];
            jet->now[c] = x[c];
            x[c] = end;
        }
        return;
    }
    jet->open--;
    const double *kept = jet->kept + jet->open * jet->room;
    for (int64_t c = 0; c < numbers; c++) {
        jet->now[c] += kept[c];
    }
}

void far_jet_run(const far_net *net, int64_t first, far_jet *jet)
{
    for (int64_t i = first; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        switch (s->kind) {
        case FAR_STEP_DENSE:
            run_dense(net, s, jet);
            break;
        case FAR_STEP_ACTIVATION:
            run_activation(s, jet);
            break;
        case FAR_STEP_NORM:
        case FAR_STEP_BATCHNORM:
            run_norm(net, s, jet);
            break;
        default:
            run_skip(s, jet);
        }
    }
}
