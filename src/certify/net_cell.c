/*
 * A network on a piece of space: every neuron as c + sum_k a_k t_k + e, |t_k| <= 1, |e| <= r, where
 * t are the coordinates of the piece. Linear layers act on c and a exactly but for rounding, which
 * goes to r; activations and norms are replaced by lines and products whose errors shrink with the
 * square of the piece.
 */
#include "net_cell.h"

#include <string.h>

/* ---- a layer of forms ---------------------------------------------------------------------- */

far_form far_cell_take(const far_cell *cell, const far_forms *f, int64_t i)
{
    far_form out = {.c = f->c[i], .r = f->r[i]};
    for (int64_t k = 0; k < cell->vars; k++) {
        out.a[k] = f->a[k * cell->plan->widest + i];
    }
    return out;
}

void far_cell_put(const far_cell *cell, far_forms *f, int64_t i, const far_form *value)
{
    f->c[i] = value->c;
    f->r[i] = value->r;
    for (int64_t k = 0; k < cell->vars; k++) {
        f->a[k * cell->plan->widest + i] = value->a[k];
    }
}

/* Four rows of weights at once, so that sums stay in registers longer. */
enum { ROWS = 4 };

static void add_rows(double *restrict to, const double *const *w, const double *x, int64_t n)
{
    const double *restrict w0 = w[0], *restrict w1 = w[1], *restrict w2 = w[2], *restrict w3 = w[3];
    double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    for (int64_t o = 0; o < n; o++) {
        to[o] += (x0 * w0[o] + x1 * w1[o]) + (x2 * w2[o] + x3 * w3[o]);
    }
}

static void add_row_sizes(double *restrict to, const double *const *w, const double *x, int64_t n)
{
    const double *restrict w0 = w[0], *restrict w1 = w[1], *restrict w2 = w[2], *restrict w3 = w[3];
    double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    for (int64_t o = 0; o < n; o++) {
        to[o] += (x0 * fabs(w0[o]) + x1 * fabs(w1[o])) + (x2 * fabs(w2[o]) + x3 * fabs(w3[o]));
    }
}

static void set_shifts(far_cell *cell, const far_proof_layer *l, const far_form *S)
{
    far_forms *to = &cell->next;
    for (int64_t o = 0; o < l->step->out; o++) {
        to->c[o] = l->shift[o] * S->c;
        to->r[o] = 0;
        for (int64_t k = 0; k < cell->vars; k++) {
            to->a[k * cell->plan->widest + o] = l->shift[o] * S->a[k];
        }
    }
}

/* The next ROWS inputs from *at on that are not 0, as columns of numbers (c, a_1, ..., r, a row
 * each), and their weights; what is missing at the end is 0. Adds the squares of their sizes. */
static bool next_rows(const far_cell *cell, const far_proof_layer *l, int64_t *at, const double **w,
                      double (*x)[ROWS], double *square)
{
    int64_t found = 0, vars = cell->vars;
    memset(x, 0, (size_t)(vars + 2) * sizeof *x);
    for (; *at < l->step->in && found < ROWS; ++*at) {
        far_form f = far_cell_take(cell, &cell->now, *at);
        double size = far_form_size(&f, vars);
        if (size != 0) {
            x[0][found] = f.c;
            x[vars + 1][found] = f.r;
            for (int64_t k = 0; k < vars; k++) {
                x[k + 1][found] = f.a[k];
            }
            w[found++] = l->columns + *at * l->step->out;
            *square += size * size;
        }
    }
    for (int64_t i = found; found > 0 && i < ROWS; i++) {
        w[i] = w[0];
    }
    return found > 0;
}

#define VANISHED 0x1p-500 /* more than lengths lose where squares underflow */

/* Products with the weights; at least the length of what went in: 0 only if all of it is 0. */
static double add_products(far_cell *cell, const far_proof_layer *l)
{
    far_forms *to = &cell->next;
    int64_t n = l->step->out, at = 0;
    double square = 0, x[FAR_CELL_VARS + 2][ROWS];
    const double *w[ROWS];
    bool any = false;
    while (next_rows(cell, l, &at, w, x, &square)) {
        any = true;
        add_rows(to->c, w, x[0], n);
        for (int64_t k = 0; k < cell->vars; k++) {
            add_rows(to->a + k * cell->plan->widest, w, x[k + 1], n);
        }
        add_row_sizes(to->r, w, x[cell->vars + 1], n);
    }
    return any ? sqrt(square) * (1 + 2 * far_lost(l->step->in)) + VANISHED : 0;
}

/* What rounding loses: relative to |W_o| |x| + |shift| |S|. Nothing where both are exactly 0. */
static void run_dense(far_cell *cell, int64_t i, const far_form *S)
{
    const far_proof_layer *l = &cell->plan->layers[i];
    far_cell_trace *t = &cell->traces[i];
    double lost = 2 * far_lost(l->step->in), size = far_form_size(S, cell->vars);
    set_shifts(cell, l, S);
    double length = add_products(cell, l);
    for (int64_t o = 0; o < l->step->out; o++) {
        double rounding = lost * (l->row_norm[o] * length + l->shift_size[o] * size);
        bool zero = (length == 0 || l->row_norm[o] == 0) && (size == 0 || l->shift_size[o] == 0);
        t->fresh[o] = zero ? 0 : far_up(rounding + l->shift_size[o] * S->r);
        t->total[o] = cell->next.r[o] = cell->next.r[o] * (1 + lost) + t->fresh[o];
    }
    far_forms kept = cell->now;
    cell->now = cell->next;
    cell->next = kept;
}

far_form far_cell_scaled(const far_proof_layer *l, int64_t i, const far_form *z, const far_form *S,
                         int64_t vars, double *lost)
{
    if (far_form_is_zero(z, vars) && l->shift_size[i] == 0) {
        *lost = 0;
        return (far_form){0};
    }
    double size =
        fabs(l->scale[i]) * far_form_size(z, vars) + l->shift_size[i] * far_form_size(S, vars);
    far_form out = {.c = l->scale[i] * z->c + l->shift[i] * S->c};
    for (int64_t k = 0; k < vars; k++) {
        out.a[k] = l->scale[i] * z->a[k] + l->shift[i] * S->a[k];
    }
    *lost = l->shift_size[i] * S->r + size * far_lost(0) + FAR_SPECK;
    out.r = far_up(fabs(l->scale[i]) * z->r + *lost);
    return out;
}

static void run_batch(far_cell *cell, int64_t i, const far_form *S)
{
    const far_proof_layer *l = &cell->plan->layers[i];
    far_cell_trace *t = &cell->traces[i];
    for (int64_t k = 0; k < l->step->out; k++) {
        far_form z = far_cell_take(cell, &cell->now, k);
        z = far_cell_scaled(l, k, &z, S, cell->vars, &t->fresh[k]);
        t->gain[k] = l->scale[k];
        t->total[k] = z.r;
        far_cell_put(cell, &cell->now, k, &z);
    }
}

/* ---- activations --------------------------------------------------------------------------- */

/* A value, the factor of errors that came with its argument, and those that are new. */
typedef struct answer {
    far_form form;
    double gain, fresh;
} answer;

/* slope z + [low, high], where fresh of z's errors are new and the others have gain behind them. */
static answer by_strip(const far_form *z, far_strip s, double gain, double fresh, int64_t vars)
{
    far_form plain = *z;
    plain.r = 0;
    answer out = {.form = far_form_strip(&plain, s, vars), .gain = s.slope * gain};
    out.fresh = far_up(out.form.r + fabs(s.slope) * (fresh + z->r * far_lost(0)));
    out.form.r = far_up(out.form.r + fabs(s.slope) * z->r * (1 + far_lost(0)));
    return out;
}

/* S phi(z / S) between relu(z) and relu(z) + S tail. */
static answer near_relu(const far_step *s, const far_form *z, far_range zr, far_range sr,
                        int64_t vars)
{
    far_step relu = {.layer = FAR_LAYER_RELU, .power = 1, .gain = s->gain};
    double nearest = zr.low > 0 ? zr.low : zr.high < 0 ? -zr.high : 0;
    far_range tail = far_activation_tail(s, far_down(nearest / sr.high));
    far_strip strip = far_activation_strip(&relu, zr);
    strip.low = far_down(strip.low + far_down(fmin(tail.low, 0) * sr.high));
    strip.high = far_up(strip.high + far_up(fmax(tail.high, 0) * sr.high));
    return by_strip(z, strip, 1, 0, vars);
}

/* The tangent plane of S phi(z / S), which passes through 0; its second derivative is
 * phi''(w) (dz - w dS)^2 / S with w = z / S. */
static answer tangent_plane(const far_step *s, const far_form *z, const far_form *S, far_range zr,
                            far_range sr, int64_t vars)
{
    double w = z->c / S->c, slope = s->gain * far_activation_slope(s, w);
    double rest = s->gain * far_activation_value(s, w) - slope * w;
    double turn = far_form_reach(z, vars) + z->r +
                  (far_range_size(zr) / sr.low) * (far_form_reach(S, vars) + S->r);
    double bend = fabs(s->gain) * far_activation_curvature(s) * turn * turn / (2 * sr.low);
    double size = (fabs(slope) + 1) * far_form_size(z, vars) +
                  (fabs(rest) + fabs(slope * w) + 1) * far_form_size(S, vars);
    answer a = by_strip(z, (far_strip){slope, 0, 0}, 1, 0, vars);
    far_form b = far_form_strip(S, (far_strip){rest, 0, 0}, vars);
    answer out = {.form = far_form_add(&a.form, &b, vars), .gain = slope};
    double doubt = fabs(s->gain) * far_activation_slope_doubt(s, w) * turn;
    double more = far_up(bend * (1 + 1e-12) + size * (64 * FAR_UNIT) + doubt);
    out.fresh = far_up(a.fresh + b.r + more + size * (4 * FAR_UNIT));
    out.form.r = far_up(out.form.r + more);
    return out;
}

static answer perspective(const far_step *s, const far_form *z, const far_form *S, int64_t vars)
{
    far_range zr = far_form_range(z, vars), sr = far_form_range(S, vars);
    answer best = near_relu(s, z, zr, sr, vars);
    if (sr.low > 0 && S->c > 0) {
        answer plane = tangent_plane(s, z, S, zr, sr, vars);
        best = plane.fresh < best.fresh ? plane : best;
    }
    return best;
}

/* z / S for S above 0. */
static answer quotient(const far_form *z, const far_form *S, far_range sr, int64_t vars)
{
    far_form inverse = far_form_strip(S, far_inverse_strip(sr, false), vars), plain = *z;
    plain.r = 0;
    answer q = {.form = far_form_multiply(&plain, &inverse, vars), .gain = inverse.c};
    double turn = far_form_reach(&inverse, vars) + inverse.r;
    q.fresh = far_up(q.form.r + z->r * turn * (1 + far_lost(vars)));
    q.form.r = far_up(q.fresh + z->r * fabs(inverse.c));
    return q;
}

/* phi(z / S) of a bounded phi: S may reach 0. */
static answer of_quotient(const far_step *s, const far_form *z, const far_form *S, int64_t vars)
{
    far_range zr = far_form_range(z, vars), sr = far_form_range(S, vars), w;
    w.low = zr.low > 0 ? far_down(zr.low / sr.high) : -INFINITY;
    w.high = zr.high < 0 ? far_up(zr.high / sr.high) : INFINITY;
    far_range values = far_activation_range(s, w);
    answer best = by_strip(z, (far_strip){0, values.low, values.high}, 0, 0, vars);
    if (sr.low > 0) {
        answer q = quotient(z, S, sr, vars);
        far_range clipped = far_range_meet(far_form_range(&q.form, vars), w);
        far_strip strip = far_activation_strip(s, clipped);
        answer fine = by_strip(&q.form, strip, q.gain, q.fresh, vars);
        double open = far_form_reach(&fine.form, vars) + fine.form.r;
        best = open < best.form.r ? fine : best;
    }
    return best;
}

static answer activate(const far_step *s, const far_form *z, const far_form *S, double degree,
                       far_range box, int64_t vars)
{
    if (far_form_is_zero(z, vars) && far_activation_at_zero(s) == 0) {
        return (answer){0};
    }
    if (degree > 0 && far_activation_is_bounded(s)) {
        return of_quotient(s, z, S, vars);
    }
    if (degree > 0 && !far_activation_is_homogeneous(s)) {
        return perspective(s, z, S, vars);
    }
    far_range r = far_range_meet(far_form_range(z, vars), box);
    return by_strip(z, far_activation_strip(s, r), 1, 0, vars);
}

static void run_activation(far_cell *cell, int64_t i, const far_form *S)
{
    const far_net_plan *plan = cell->plan;
    const far_step *s = plan->layers[i].step;
    far_cell_trace *t = &cell->traces[i];
    double degree = far_net_degree_before(plan, i);
    for (int64_t k = 0; k < s->out; k++) {
        far_range box = {-INFINITY, INFINITY};
        if (degree == 0) {
            box = plan->layers[i - 1].box[k];
        }
        far_form z = far_cell_take(cell, &cell->now, k);
        answer y = activate(s, &z, S, degree, box, cell->vars);
        t->gain[k] = y.gain;
        t->fresh[k] = y.fresh;
        t->total[k] = y.form.r;
        far_cell_put(cell, &cell->now, k, &y.form);
    }
}

/* ---- skips --------------------------------------------------------------------------------- */

static far_forms kept_forms(const far_cell *cell, int64_t layer)
{
    int64_t n = cell->plan->widest;
    double *at = cell->kept + layer * (cell->vars + 2) * n;
    return (far_forms){.c = at, .r = at + n, .a = at + 2 * n};
}

static void run_skip_in(far_cell *cell, int64_t i, const far_form *S)
{
    (void)S;
    far_forms to = kept_forms(cell, i);
    for (int64_t k = 0; k < cell->plan->layers[i].step->out; k++) {
        far_form f = far_cell_take(cell, &cell->now, k);
        far_cell_put(cell, &to, k, &f);
        cell->traces[i].fresh[k] = 0;
        cell->traces[i].total[k] = f.r;
    }
}

/* Keeps the forms of the body's end, and goes on from those of the beginning. */
static void run_skip_turn(far_cell *cell, int64_t i, const far_form *S)
{
    (void)S;
    const far_net_plan *plan = cell->plan;
    far_forms to = kept_forms(cell, i), from = kept_forms(cell, plan->layers[i].step->mate);
    for (int64_t k = 0; k < plan->layers[i - 1].step->out; k++) {
        far_form f = far_cell_take(cell, &cell->now, k);
        far_cell_put(cell, &to, k, &f);
    }
    for (int64_t k = 0; k < plan->layers[i].step->out; k++) {
        far_form f = far_cell_take(cell, &from, k);
        far_cell_put(cell, &cell->now, k, &f);
        cell->traces[i].fresh[k] = 0;
        cell->traces[i].total[k] = f.r;
    }
}

/* One end of a skip, times s where its degree is the lower one: its errors then count as new. */
static far_form lifted(const far_form *f, double degree, const far_form *S, int64_t vars,
                       double *fresh)
{
    if (degree == 0) {
        return *f;
    }
    far_form out = far_form_multiply(f, S, vars);
    *fresh += out.r;
    return out;
}

static void run_skip_out(far_cell *cell, int64_t i, const far_form *S)
{
    (void)S; /* each end has its own */
    const far_proof_layer *l = &cell->plan->layers[i];
    far_cell_trace *t = &cell->traces[i];
    far_forms kept = kept_forms(cell, l->step->mate);
    double own = l->degree - far_net_degree_before(cell->plan, i);
    double other = l->degree - far_net_degree_before(cell->plan, l->step->mate);
    far_form So = far_form_power(&cell->s, own, cell->vars);
    far_form Sk = far_form_power(&cell->s, other, cell->vars);
    t->along[0] = own == 0;
    t->across[0] = other == 0;
    for (int64_t k = 0; k < l->step->out; k++) {
        far_form a = far_cell_take(cell, &cell->now, k), b = far_cell_take(cell, &kept, k);
        double fresh = 0;
        a = lifted(&a, own, &So, cell->vars, &fresh);
        b = lifted(&b, other, &Sk, cell->vars, &fresh);
        double size = far_form_size(&a, cell->vars) + far_form_size(&b, cell->vars);
        a = far_form_add(&a, &b, cell->vars);
        t->fresh[k] = far_up(fresh + size * (4 * FAR_UNIT));
        t->total[k] = a.r;
        far_cell_put(cell, &cell->now, k, &a);
    }
}

/* ---- the whole network --------------------------------------------------------------------- */

static void run_layer(far_cell *cell, int64_t i)
{
    /* images and sequences do not come here: shape_certify.c */
    static void (*const RUN[FAR_STEP_LAST + 1])(far_cell *, int64_t, const far_form *) = {
        [FAR_STEP_DENSE] = run_dense,       [FAR_STEP_ACTIVATION] = run_activation,
        [FAR_STEP_NORM] = far_cell_norm,    [FAR_STEP_BATCHNORM] = run_batch,
        [FAR_STEP_SKIP_IN] = run_skip_in,   [FAR_STEP_SKIP_TURN] = run_skip_turn,
        [FAR_STEP_SKIP_OUT] = run_skip_out,
    };
    far_form S = far_form_power(&cell->s, far_net_degree_before(cell->plan, i), cell->vars);
    RUN[cell->plan->layers[i].step->kind](cell, i, &S);
}

/* With the errors as they add up backwards, if that is less. */
static far_form raw_form(far_cell *cell, int64_t j)
{
    const far_net_plan *plan = cell->plan;
    far_form f = far_cell_take(cell, &cell->now, j);
    f.r = fmin(f.r, far_cell_error(cell, j));
    f = far_form_strip(&f, (far_strip){plan->scale[j], 0, 0}, cell->vars);
    far_form middle = far_form_constant(plan->degree == 0 ? plan->centre[j] : 0, 0);
    return far_form_add(&f, &middle, cell->vars);
}

void far_cell_set_rounded(far_cell *cell, bool rounded)
{
    cell->rounded = rounded;
}

const far_form *far_cell_run(far_cell *cell, const far_form *u, const far_form *s)
{
    const far_net_plan *plan = cell->plan;
    cell->s = *s;
    for (int64_t i = 0; i < plan->net->info.inputs; i++) {
        far_form x = far_form_strip(&u[i], (far_strip){plan->unit, 0, 0}, cell->vars);
        cell->input_total[i] = x.r;
        far_cell_put(cell, &cell->now, i, &x);
    }
    for (int64_t i = 0; i < plan->count; i++) {
        run_layer(cell, i);
    }
    for (int64_t j = 0; j < plan->net->info.outputs; j++) {
        cell->out[j] = raw_form(cell, j);
    }
    return cell->out;
}

/* ---- room ---------------------------------------------------------------------------------- */

static far_forms forms_at(double *at, int64_t n)
{
    return (far_forms){.c = at, .r = at + n, .a = at + 2 * n};
}

static void lay_out(far_cell *cell)
{
    int64_t n = cell->plan->widest, count = cell->plan->count, each = (cell->vars + 2) * n;
    double *at = cell->block;
    cell->now = forms_at(at, n);
    cell->next = forms_at(at + each, n);
    cell->kept = at + 2 * each;
    cell->back = cell->kept + count * each;
    cell->back_next = cell->back + n;
    cell->input_total = cell->back_next + n;
    cell->back_kept = cell->input_total + n;
    at = cell->back_kept + count * n;
    for (int64_t i = 0; i < count; i++, at += 6 * n) {
        cell->traces[i] = (far_cell_trace){.gain = at,
                                           .fresh = at + n,
                                           .total = at + 2 * n,
                                           .centre = at + 3 * n,
                                           .along = at + 4 * n,
                                           .across = at + 5 * n};
    }
}

far_status far_cell_create(const far_net_plan *plan, int64_t vars, far_cell **out)
{
    far_status st;
    far_cell *cell = NULL;
    int64_t n = plan->widest;
    *out = NULL;
    FAR_TRY(far_alloc(plan->ctx, 1, &cell));
    *cell = (far_cell){.plan = plan, .vars = vars};
    FAR_TRY(far_alloc(plan->ctx, plan->count, &cell->traces));
    FAR_TRY(far_alloc(plan->ctx, n * ((plan->count + 2) * (vars + 2) + 3 + 7 * plan->count),
                      &cell->block));
    FAR_TRY(far_alloc(plan->ctx, plan->net->info.outputs, &cell->out));
    lay_out(cell);
done:
    FAR_HAND_OVER(cell, out, far_cell_destroy);
    return st;
}

void far_cell_destroy(far_cell *cell)
{
    if (cell) {
        far_ctx *ctx = cell->plan->ctx;
        FAR_FREE_ALL(ctx, cell->traces, cell->block, cell->out, cell);
    }
}
