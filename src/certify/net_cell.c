/*
 * A network on a piece of space: every neuron as c + sum_k a_k t_k + e, |t_k| <= 1, |e| <= r, where
 * t are the coordinates of the piece. Linear layers act on c and a exactly but for rounding, which
 * goes to r; activations and norms are replaced by lines and products whose errors shrink with the
 * square of the piece.
 */
#include "net_certify.h"

#include <string.h>

typedef struct forms {
    double *c, *r, *a; /* a: vars x widest */
} forms;

struct far_cell {
    const far_net_plan *plan;
    int64_t vars;
    forms now, next;
    double *block, *kept; /* kept: layers x (vars + 2) x widest, of skips */
    far_form *out;
    far_form s;
};

/* ---- one form ------------------------------------------------------------------------------ */

static double reach(const far_form *f, int64_t vars)
{
    double sum = 0;
    for (int64_t k = 0; k < vars; k++) {
        sum += fabs(f->a[k]);
    }
    return sum;
}

/* At least |f|. */
static double form_size(const far_form *f, int64_t vars)
{
    return fabs(f->c) + reach(f, vars) + f->r;
}

far_range far_form_range(const far_form *f, int64_t vars)
{
    double off = (reach(f, vars) + f->r) * (1 + far_lost(vars));
    double slack = fabs(f->c) * (2 * FAR_UNIT) + off * (2 * FAR_UNIT) + FAR_SPECK;
    return (far_range){f->c - off - slack, f->c + off + slack};
}

/* slope f + [low, high] */
static far_form along_strip(const far_form *f, far_strip s, int64_t vars)
{
    if (s.low == 0 && s.high == 0 && (s.slope == 1 || s.slope == 0)) {
        return s.slope == 1 ? *f : (far_form){0};
    }
    double middle = s.low + (s.high - s.low) / 2;
    far_form out = {.c = s.slope * f->c + middle};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = s.slope * f->a[k];
    }
    out.r = fmax(s.high - middle, middle - s.low) + fabs(s.slope) * f->r;
    double size = fabs(s.slope) * form_size(f, vars) + fabs(middle);
    out.r = out.r * (1 + far_lost(0)) + size * far_lost(0) + FAR_SPECK;
    return out;
}

static far_form add(const far_form *x, const far_form *y, int64_t vars)
{
    far_form out = {.c = x->c + y->c};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = x->a[k] + y->a[k];
    }
    out.r = far_up(x->r + y->r) + (form_size(x, vars) + form_size(y, vars)) * (2 * FAR_UNIT);
    return out;
}

static far_form constant(double value, double error)
{
    return (far_form){.c = value, .r = error};
}

/* Squares of t lie in [0, 1]: half of their factor is certain. */
static far_form multiply(const far_form *x, const far_form *y, int64_t vars)
{
    far_form out = {.c = x->c * y->c};
    double quadratic = 0;
    for (int64_t k = 0; k < vars; k++) {
        double half = x->a[k] * y->a[k] / 2;
        out.a[k] = x->c * y->a[k] + y->c * x->a[k];
        out.c += half;
        quadratic += fabs(half);
        for (int64_t j = 0; j < k; j++) {
            quadratic += fabs(x->a[j] * y->a[k] + x->a[k] * y->a[j]);
        }
    }
    double xs = fabs(x->c) + reach(x, vars), ys = fabs(y->c) + reach(y, vars);
    out.r = (quadratic + x->r * (ys + y->r) + y->r * xs) * (1 + far_lost(vars * vars)) +
            (xs + x->r) * (ys + y->r) * far_lost(vars * vars) + FAR_SPECK;
    return out;
}

/* s^degree; s >= 0. */
static far_form power(const far_form *s, double degree, int64_t vars)
{
    if (degree == 0) {
        return constant(1, 0);
    }
    far_range z = far_form_range(s, vars);
    z.low = fmax(z.low, 0);
    return along_strip(s, far_power_strip(degree, z), vars);
}

/* z^(-1/2) (half) or 1 / z over 0 < low <= z <= high: chord above, tangent below. */
static far_strip inverse_strip(far_range z, bool half)
{
    double rl = half ? sqrt(z.low) : z.low, rh = half ? sqrt(z.high) : z.high;
    double slope = half ? -1 / (rl * rh * (rl + rh)) : -1 / (rl * rh);
    double at_low = 1 / rl - slope * z.low, at_high = 1 / rh - slope * z.high;
    double least = half ? 1.5 * cbrt(-2 * slope) : 2 * sqrt(-slope);
    double slack = 64 * FAR_UNIT * (1 / rl + fabs(slope) * z.high + least) + FAR_SPECK;
    return (far_strip){slope, least - slack, fmax(at_low, at_high) + slack};
}

/* ---- a layer of forms ---------------------------------------------------------------------- */

static far_form take(const far_cell *cell, const forms *f, int64_t i)
{
    far_form out = {.c = f->c[i], .r = f->r[i]};
    for (int64_t k = 0; k < cell->vars; k++) {
        out.a[k] = f->a[k * cell->plan->widest + i];
    }
    return out;
}

static void put(const far_cell *cell, forms *f, int64_t i, const far_form *value)
{
    f->c[i] = value->c;
    f->r[i] = value->r;
    for (int64_t k = 0; k < cell->vars; k++) {
        f->a[k * cell->plan->widest + i] = value->a[k];
    }
}

static void swap(far_cell *cell)
{
    forms kept = cell->now;
    cell->now = cell->next;
    cell->next = kept;
}

static void add_scaled(double *restrict to, const double *restrict w, double x, int64_t n)
{
    for (int64_t o = 0; o < n; o++) {
        to[o] += x * w[o];
    }
}

static void add_scaled_sizes(double *restrict to, const double *restrict w, double x, int64_t n)
{
    for (int64_t o = 0; o < n; o++) {
        to[o] += x * fabs(w[o]);
    }
}

static void set_shifts(far_cell *cell, const far_proof_layer *l, const far_form *S)
{
    forms *to = &cell->next;
    double lost = far_lost(l->step->in), size = form_size(S, cell->vars);
    for (int64_t o = 0; o < l->step->out; o++) {
        to->c[o] = l->shift[o] * S->c;
        to->r[o] = l->shift_size[o] * (S->r + lost * size);
        for (int64_t k = 0; k < cell->vars; k++) {
            to->a[k * cell->plan->widest + o] = l->shift[o] * S->a[k];
        }
    }
}

static void run_dense(far_cell *cell, const far_proof_layer *l, const far_form *S)
{
    forms *to = &cell->next;
    int64_t n = l->step->out, stride = cell->plan->widest;
    double lost = far_lost(l->step->in);
    set_shifts(cell, l, S);
    for (int64_t i = 0; i < l->step->in; i++) {
        far_form x = take(cell, &cell->now, i);
        double size = form_size(&x, cell->vars);
        const double *w = l->columns + i * n;
        if (size == 0) {
            continue;
        }
        add_scaled(to->c, w, x.c, n);
        for (int64_t k = 0; k < cell->vars; k++) {
            if (x.a[k] != 0) {
                add_scaled(to->a + k * stride, w, x.a[k], n);
            }
        }
        add_scaled_sizes(to->r, w, x.r + lost * size, n);
    }
    for (int64_t o = 0; o < n; o++) {
        to->r[o] = to->r[o] * (1 + 2 * lost) + FAR_SPECK;
    }
    swap(cell);
}

static far_form scaled(const far_proof_layer *l, int64_t i, const far_form *z, const far_form *S,
                       int64_t vars)
{
    double size = fabs(l->scale[i]) * form_size(z, vars) + l->shift_size[i] * form_size(S, vars);
    far_form out = {.c = l->scale[i] * z->c + l->shift[i] * S->c};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = l->scale[i] * z->a[k] + l->shift[i] * S->a[k];
    }
    out.r = fabs(l->scale[i]) * z->r + fabs(l->shift[i]) * S->r + size * far_lost(0) + FAR_SPECK;
    return out;
}

static void run_batch(far_cell *cell, const far_proof_layer *l, const far_form *S)
{
    for (int64_t i = 0; i < l->step->out; i++) {
        far_form z = take(cell, &cell->now, i);
        z = scaled(l, i, &z, S, cell->vars);
        put(cell, &cell->now, i, &z);
    }
}

/* ---- activations --------------------------------------------------------------------------- */

/* S phi(z / S) between relu(z) and relu(z) + S tail. */
static far_form near_relu(const far_step *s, const far_form *z, far_range zr, far_range sr,
                          int64_t vars)
{
    far_step relu = {.layer = FAR_LAYER_RELU, .power = 1, .gain = s->gain};
    double nearest = zr.low > 0 ? zr.low : zr.high < 0 ? -zr.high : 0;
    far_range tail = far_activation_tail(s, far_down(nearest / sr.high));
    far_strip strip = far_activation_strip(&relu, zr);
    strip.low = far_down(strip.low + far_down(fmin(tail.low, 0) * sr.high));
    strip.high = far_up(strip.high + far_up(fmax(tail.high, 0) * sr.high));
    return along_strip(z, strip, vars);
}

/* The tangent plane of S phi(z / S), which passes through 0; its second derivative is
 * phi''(w) (dz - w dS)^2 / S with w = z / S. */
static far_form tangent_plane(const far_step *s, const far_form *z, const far_form *S, far_range zr,
                              far_range sr, int64_t vars)
{
    double w = z->c / S->c, slope = s->gain * far_activation_slope(s, w);
    double rest = s->gain * far_activation_value(s, w) - slope * w;
    double turn = reach(z, vars) + z->r + (far_range_size(zr) / sr.low) * (reach(S, vars) + S->r);
    double bend = fabs(s->gain) * far_activation_curvature(s) * turn * turn / (2 * sr.low);
    double size = (fabs(slope) + 1) * form_size(z, vars) +
                  (fabs(rest) + fabs(slope * w) + 1) * form_size(S, vars);
    far_form a = along_strip(z, (far_strip){slope, 0, 0}, vars);
    far_form b = along_strip(S, (far_strip){rest, 0, 0}, vars);
    far_form out = add(&a, &b, vars);
    out.r = far_up((out.r + bend) * (1 + 1e-12)) + size * (64 * FAR_UNIT);
    return out;
}

static far_form perspective(const far_step *s, const far_form *z, const far_form *S, int64_t vars)
{
    far_range zr = far_form_range(z, vars), sr = far_form_range(S, vars);
    far_form best = near_relu(s, z, zr, sr, vars);
    if (sr.low > 0 && S->c > 0) {
        far_form plane = tangent_plane(s, z, S, zr, sr, vars);
        best = plane.r < best.r ? plane : best;
    }
    return best;
}

/* phi(z / S) of a bounded phi: S may reach 0. */
static far_form of_quotient(const far_step *s, const far_form *z, const far_form *S, int64_t vars)
{
    far_range zr = far_form_range(z, vars), sr = far_form_range(S, vars), w;
    w.low = zr.low > 0 ? far_down(zr.low / sr.high) : -INFINITY;
    w.high = zr.high < 0 ? far_up(zr.high / sr.high) : INFINITY;
    far_range values = far_activation_range(s, w);
    far_form best = along_strip(z, (far_strip){0, values.low, values.high}, vars);
    if (sr.low > 0) {
        far_form inverse = along_strip(S, inverse_strip(sr, false), vars);
        far_form q = multiply(z, &inverse, vars);
        far_range clipped = far_range_meet(far_form_range(&q, vars), w);
        far_form fine = along_strip(&q, far_activation_strip(s, clipped), vars);
        best = reach(&fine, vars) + fine.r < best.r ? fine : best;
    }
    return best;
}

static far_form activate(const far_step *s, const far_form *z, const far_form *S, double degree,
                         far_range box, int64_t vars)
{
    if (degree > 0 && far_activation_is_bounded(s)) {
        return of_quotient(s, z, S, vars);
    }
    if (degree > 0 && !far_activation_is_homogeneous(s)) {
        return perspective(s, z, S, vars);
    }
    far_range r = far_range_meet(far_form_range(z, vars), box);
    return along_strip(z, far_activation_strip(s, r), vars);
}

static void run_activation(far_cell *cell, int64_t i, const far_form *S)
{
    const far_net_plan *plan = cell->plan;
    const far_step *s = plan->layers[i].step;
    double degree = far_net_degree_before(plan, i);
    for (int64_t k = 0; k < s->out; k++) {
        far_range box = {-INFINITY, INFINITY};
        if (degree == 0) {
            box = plan->layers[i - 1].box[k];
        }
        far_form z = take(cell, &cell->now, k);
        z = activate(s, &z, S, degree, box, cell->vars);
        put(cell, &cell->now, k, &z);
    }
}

/* ---- norms --------------------------------------------------------------------------------- */

/* A group on its way through a norm: forms made centred in place; r holds, beside what was there,
 * what centring rounds. */
typedef struct group {
    int64_t first, size;
    double mean_r;   /* of the remainders, which centring spreads */
    far_form square; /* mean of squares */
    far_range range; /* that lies in */
} group;

static double mean_of(const double *values, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += values[i];
    }
    return sum / (double)m;
}

static void centre_column(double *values, int64_t m)
{
    double mean = mean_of(values, m);
    for (int64_t i = 0; i < m; i++) {
        values[i] -= mean;
    }
}

static double sizes_at(const far_cell *cell, int64_t i)
{
    double sum = fabs(cell->now.c[i]);
    for (int64_t k = 0; k < cell->vars; k++) {
        sum += fabs(cell->now.a[k * cell->plan->widest + i]);
    }
    return sum;
}

static void centre_group(far_cell *cell, group *g)
{
    double size = 0, lost = 2 * far_lost(g->size), m = (double)g->size;
    int64_t last = g->first + g->size;
    for (int64_t i = g->first; i < last; i++) {
        size += sizes_at(cell, i) / m;
    }
    for (int64_t i = g->first; i < last; i++) {
        cell->now.r[i] = far_up(cell->now.r[i] + lost * (size + sizes_at(cell, i)));
    }
    g->mean_r = mean_of(cell->now.r + g->first, g->size) * (1 + lost);
    centre_column(cell->now.c + g->first, g->size);
    for (int64_t k = 0; k < cell->vars; k++) {
        centre_column(cell->now.a + k * cell->plan->widest + g->first, g->size);
    }
}

static double dot(const double *a, const double *b, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The linear part L of the values is centred, so L . (centred e) = L . e: remainders count as they
 * were before centring. */
static void mean_square(far_cell *cell, group *g)
{
    int64_t vars = cell->vars, m = g->size, stride = cell->plan->widest;
    const double *c = cell->now.c + g->first, *r = cell->now.r + g->first;
    const double *a = cell->now.a + g->first;
    double n = (double)m, remainder = 0, size = 0, lengths = 0, square = dot(c, c, m);
    far_form q = {.c = square / n};
    for (int64_t k = 0; k < vars; k++) {
        double own = dot(a + k * stride, a + k * stride, m) / n;
        q.a[k] = 2 * dot(c, a + k * stride, m) / n;
        q.c += own / 2;
        q.r += own / 2;
        lengths += sqrt(own);
        for (int64_t j = 0; j < k; j++) {
            q.r += 2 * fabs(dot(a + j * stride, a + k * stride, m)) / n;
        }
    }
    for (int64_t i = 0; i < m; i++) {
        double at = sizes_at(cell, g->first + i);
        remainder += (2 * at + r[i]) * r[i] / n;
        size += at * at / n;
    }
    double rr = sqrt(dot(r, r, m) / n), length = sqrt(square / n), lost = far_lost(4 * m);
    q.r = (q.r + remainder) * (1 + lost) + size * lost + FAR_SPECK;
    g->square = q;
    g->range = far_form_range(&q, vars);
    double least = length * (1 - lost) - (lengths + rr) * (1 + lost);
    double most = (length + lengths + rr) * (1 + lost);
    g->range.low = fmax(g->range.low, least > 0 ? far_down(least * least) : 0);
    g->range.high = fmin(g->range.high, far_up(most * most));
}

static void add_eps(double eps, const far_form *S, int64_t vars, group *g)
{
    if (eps > 0) {
        far_range s = far_form_range(S, vars);
        far_form square = multiply(S, S, vars);
        square = along_strip(&square, (far_strip){eps, 0, 0}, vars);
        g->square = add(&g->square, &square, vars);
        s.low = fmax(s.low, 0);
        g->range.low = far_down(g->range.low + far_down(eps * s.low * s.low * (1 - 8 * FAR_UNIT)));
        g->range.high = far_up(g->range.high + far_up(eps * s.high * s.high * (1 + 8 * FAR_UNIT)));
        g->range = far_range_meet(g->range, far_form_range(&g->square, vars));
    }
}

static void norm_entry(far_cell *cell, const far_proof_layer *l, int64_t i, const group *g,
                       const far_form *inverse)
{
    static const far_form ONE = {.c = 1};
    far_form z = constant(0, l->set.entry);
    if (inverse) {
        far_form own = take(cell, &cell->now, i);
        own.r = far_up(own.r + g->mean_r);
        own = multiply(&own, inverse, cell->vars);
        z = reach(&own, cell->vars) + own.r < l->set.entry ? own : z;
    }
    if (l->scale) {
        z = scaled(l, i, &z, &ONE, cell->vars);
    }
    put(cell, &cell->now, i, &z);
}

static void run_norm(far_cell *cell, const far_proof_layer *l, const far_form *S)
{
    int64_t m = l->set.size;
    for (int64_t at = 0; at < l->set.groups; at++) {
        group g = {.first = at * m, .size = m};
        far_form inverse;
        if (l->set.centred) {
            centre_group(cell, &g);
        }
        mean_square(cell, &g);
        add_eps(l->step->eps, S, cell->vars, &g);
        bool known = g.range.low > 1e-280 && g.range.high < 1e280;
        if (known) {
            inverse = along_strip(&g.square, inverse_strip(g.range, true), cell->vars);
        }
        for (int64_t i = g.first; i < g.first + m; i++) {
            norm_entry(cell, l, i, &g, known ? &inverse : NULL);
        }
    }
}

/* ---- skips and the whole network ----------------------------------------------------------- */

static forms kept_forms(const far_cell *cell, int64_t layer)
{
    int64_t n = cell->plan->widest;
    double *at = cell->kept + layer * (cell->vars + 2) * n;
    return (forms){.c = at, .r = at + n, .a = at + 2 * n};
}

static void keep(far_cell *cell, int64_t i)
{
    forms to = kept_forms(cell, i);
    for (int64_t k = 0; k < cell->plan->layers[i].step->out; k++) {
        far_form f = take(cell, &cell->now, k);
        put(cell, &to, k, &f);
    }
}

static void run_skip(far_cell *cell, int64_t i)
{
    const far_proof_layer *l = &cell->plan->layers[i];
    forms kept = kept_forms(cell, l->step->mate);
    double own = l->degree - far_net_degree_before(cell->plan, i);
    double other = l->degree - far_net_degree_before(cell->plan, l->step->mate);
    far_form So = power(&cell->s, own, cell->vars), Sk = power(&cell->s, other, cell->vars);
    for (int64_t k = 0; k < l->step->out; k++) {
        far_form a = take(cell, &cell->now, k), b = take(cell, &kept, k);
        a = own > 0 ? multiply(&a, &So, cell->vars) : a;
        b = other > 0 ? multiply(&b, &Sk, cell->vars) : b;
        a = add(&a, &b, cell->vars);
        put(cell, &cell->now, k, &a);
    }
}

static void run_layer(far_cell *cell, int64_t i)
{
    const far_proof_layer *l = &cell->plan->layers[i];
    far_form S = power(&cell->s, far_net_degree_before(cell->plan, i), cell->vars);
    switch (l->step->kind) {
    case FAR_STEP_DENSE:
        run_dense(cell, l, &S);
        break;
    case FAR_STEP_ACTIVATION:
        run_activation(cell, i, &S);
        break;
    case FAR_STEP_NORM:
        run_norm(cell, l, &S);
        break;
    case FAR_STEP_BATCHNORM:
        run_batch(cell, l, &S);
        break;
    case FAR_STEP_SKIP_IN:
        keep(cell, i);
        break;
    case FAR_STEP_SKIP_OUT:
        run_skip(cell, i);
        break;
    }
}

static far_form raw_form(const far_cell *cell, int64_t j)
{
    const far_net_plan *plan = cell->plan;
    far_form f = take(cell, &cell->now, j), middle;
    f = along_strip(&f, (far_strip){plan->scale[j], 0, 0}, cell->vars);
    middle = constant(plan->degree == 0 ? plan->centre[j] : 0, 0);
    return add(&f, &middle, cell->vars);
}

const far_form *far_cell_run(far_cell *cell, const far_form *u, const far_form *s)
{
    const far_net_plan *plan = cell->plan;
    cell->s = *s;
    for (int64_t i = 0; i < plan->net->info.inputs; i++) {
        far_form x = along_strip(&u[i], (far_strip){plan->unit, 0, 0}, cell->vars);
        put(cell, &cell->now, i, &x);
    }
    for (int64_t i = 0; i < plan->count; i++) {
        run_layer(cell, i);
    }
    for (int64_t j = 0; j < plan->net->info.outputs; j++) {
        cell->out[j] = raw_form(cell, j);
    }
    return cell->out;
}

far_status far_cell_create(const far_net_plan *plan, int64_t vars, far_cell **out)
{
    far_status st;
    far_cell *cell = NULL;
    int64_t n = plan->widest, each = (vars + 2) * n;
    *out = NULL;
    FAR_TRY(far_alloc(plan->ctx, 1, &cell));
    *cell = (far_cell){.plan = plan, .vars = vars};
    FAR_TRY(far_alloc(plan->ctx, (plan->count + 2) * each, &cell->block));
    FAR_TRY(far_alloc(plan->ctx, plan->net->info.outputs, &cell->out));
    double *b = cell->block;
    cell->now = (forms){.c = b, .r = b + n, .a = b + 2 * n};
    cell->next = (forms){.c = b + each, .r = b + each + n, .a = b + each + 2 * n};
    cell->kept = b + 2 * each;
    *out = cell;
    cell = NULL;
done:
    far_cell_destroy(cell);
    return st;
}

void far_cell_destroy(far_cell *cell)
{
    if (cell) {
        far_ctx *ctx = cell->plan->ctx;
        far_free(ctx, cell->block);
        far_free(ctx, cell->out);
        far_free(ctx, cell);
    }
}
