/*
 * A norm on a cell. Its inputs are L + e: L = centre + linear in t, and errors e. With q the mean
 * square of the (centred) inputs, plus eps, and 1 / sqrt(q) = alpha q + beta + rest on the range of
 * q, an output is (L + e)_i (alpha q + beta + rest): a form in t, an expression linear in e, and
 * what is of second order.
 */
#include "net_cell.h"

typedef struct group {
    int64_t first, size;
    bool zero;        /* all inputs are exactly 0: so are the outputs */
    double uncentred; /* at most: the rest of the mean */
    double mean_r;    /* of the errors, which centring spreads */
    double pull;      /* |2 centre . e / m| at most */
    far_form square;  /* q, but for that */
    far_range range;  /* of q */
} group;

/* ---- centring ------------------------------------------------------------------------------ */

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

static double reach_at(const far_cell *cell, int64_t i)
{
    double sum = 0;
    for (int64_t k = 0; k < cell->vars; k++) {
        sum += fabs(cell->now.a[k * cell->plan->widest + i]);
    }
    return sum;
}

static void centre_forms(far_cell *cell, const group *g)
{
    centre_column(cell->now.c + g->first, g->size);
    for (int64_t k = 0; k < cell->vars; k++) {
        centre_column(cell->now.a + k * cell->plan->widest + g->first, g->size);
    }
}

/* mean |L|, not followed by any rounding. */
static double mean_size(const far_cell *cell, const group *g)
{
    double size = 0;
    for (int64_t i = g->first; i < g->first + g->size; i++) {
        size += (fabs(cell->now.c[i]) + reach_at(cell, i)) / (double)g->size;
    }
    return size;
}

/* Once, which leaves an error of the mean, the same for all; and once more, where it is small. What
 * rounds at every entry by itself is relative to the entry and counts as an error that was there
 * before. */
static void centre_group(far_cell *cell, group *g)
{
    double lost = 2 * far_lost(g->size), *r = cell->now.r, before = mean_size(cell, g);
    centre_forms(cell, g);
    double size = mean_size(cell, g);
    for (int64_t i = g->first; i < g->first + g->size; i++) {
        r[i] = far_up(r[i] + lost * (size + fabs(cell->now.c[i]) + reach_at(cell, i)));
    }
    centre_forms(cell, g);
    g->mean_r = mean_of(r + g->first, g->size) * (1 + lost);
    g->uncentred = far_up(lost * (size + (cell->rounded ? before : 0)));
}

static bool is_zero(const far_cell *cell, int64_t first, int64_t m)
{
    bool zero = true;
    for (int64_t i = first; zero && i < first + m; i++) {
        far_form z = far_cell_take(cell, &cell->now, i);
        zero = far_form_is_zero(&z, cell->vars);
    }
    return zero;
}

/* ---- the mean square ----------------------------------------------------------------------- */

/* |L|^2 / m as a form; sum of the lengths of its columns. */
static double square_of_form(const far_cell *cell, const group *g, far_form *q)
{
    int64_t m = g->size, stride = cell->plan->widest;
    const double *c = cell->now.c + g->first, *a = cell->now.a + g->first;
    double n = (double)m, lengths = 0;
    *q = (far_form){.c = far_dot(c, c, m) / n};
    for (int64_t k = 0; k < cell->vars; k++) {
        double own = far_dot(a + k * stride, a + k * stride, m) / n;
        q->a[k] = 2 * far_dot(c, a + k * stride, m) / n;
        q->c += own / 2;
        q->r += own / 2;
        lengths += sqrt(own);
        for (int64_t j = 0; j < k; j++) {
            q->r += 2 * fabs(far_dot(a + j * stride, a + k * stride, m)) / n;
        }
    }
    return lengths;
}

/* L is centred but for a rest h of its mean, so L . (centred e) = L . e but for h mean e: errors
 * count as they were before centring. */
static void mean_square(const far_cell *cell, group *g)
{
    int64_t m = g->size;
    const double *c = cell->now.c + g->first, *r = cell->now.r + g->first;
    double n = (double)m, size = 0, lost = far_lost(4 * m);
    double second = (2 * g->mean_r + 4 * g->uncentred) * g->uncentred;
    far_form q;
    double lengths = square_of_form(cell, g, &q);
    for (int64_t i = 0; i < m; i++) {
        double reach = reach_at(cell, g->first + i), at = fabs(c[i]) + reach;
        g->pull += 2 * fabs(c[i]) * r[i] / n;
        second += (2 * reach + r[i]) * r[i] / n;
        size += at * at / n;
    }
    double rr = sqrt(far_dot(r, r, m) / n), length = sqrt(far_dot(c, c, m) / n);
    g->pull *= 1 + lost;
    q.r = (q.r + second) * (1 + lost) + (size + 8 * sqrt(size) * rr) * lost + FAR_SPECK;
    g->square = q;
    q.r += g->pull;
    g->range = far_form_range(&q, cell->vars);
    double least = length * (1 - lost) - (lengths + rr) * (1 + lost);
    double most = (length + lengths + rr) * (1 + lost);
    g->range.low = fmax(g->range.low, least > 0 ? far_down(least * least) : 0);
    g->range.high = fmin(g->range.high, far_up(most * most));
}

static void add_eps(double eps, const far_form *S, int64_t vars, group *g)
{
    if (eps > 0) {
        far_range s = far_form_range(S, vars);
        far_form square = far_form_multiply(S, S, vars), whole;
        square = far_form_strip(&square, (far_strip){eps, 0, 0}, vars);
        g->square = far_form_add(&g->square, &square, vars);
        s.low = fmax(s.low, 0);
        g->range.low = far_down(g->range.low + far_down(eps * s.low * s.low * (1 - 8 * FAR_UNIT)));
        g->range.high = far_up(g->range.high + far_up(eps * s.high * s.high * (1 + 8 * FAR_UNIT)));
        whole = g->square;
        whole.r = far_up(whole.r + g->pull);
        g->range = far_range_meet(g->range, far_form_range(&whole, vars));
    }
}

/* ---- outputs ------------------------------------------------------------------------------- */

/* 1 / sqrt(q), and how far errors of first order move it. */
typedef struct inverse {
    far_form form;
    double pull, across; /* across: the factor of centre . e */
} inverse;

static inverse inverse_of(const group *g, int64_t vars)
{
    far_strip strip = far_inverse_strip(g->range, true);
    return (inverse){.form = far_form_strip(&g->square, strip, vars),
                     .pull = far_up(fabs(strip.slope) * g->pull),
                     .across = 2 * strip.slope / (double)g->size};
}

/* The value of entry i; *fresh: what is of second order in it. */
static far_form entry_of(const far_cell *cell, int64_t i, const group *g, const inverse *inv,
                         double *fresh)
{
    far_form z = far_cell_take(cell, &cell->now, i);
    double open = far_up(z.r + g->mean_r), reach = far_form_reach(&z, cell->vars);
    z.r = 0;
    far_form out = far_form_multiply(&z, &inv->form, cell->vars);
    double turn = far_form_reach(&inv->form, cell->vars) + inv->form.r + inv->pull;
    *fresh = (out.r + open * turn + reach * inv->pull) * (1 + far_lost(4));
    *fresh += g->uncentred * (fabs(inv->form.c) + turn) * (1 + far_lost(4));
    out.r = (*fresh + open * fabs(inv->form.c) + fabs(z.c) * inv->pull) * (1 + far_lost(4));
    return out;
}

static void put_entry(far_cell *cell, int64_t layer, int64_t i, const group *g, const inverse *inv)
{
    static const far_form ONE = {.c = 1};
    const far_proof_layer *l = &cell->plan->layers[layer];
    far_cell_trace *t = &cell->traces[layer];
    far_form z = far_form_constant(0, g->zero ? 0 : l->set.entry);
    double fresh = z.r, lost = 0;
    t->gain[i] = 0;
    t->centre[i] = cell->now.c[i];
    if (inv) {
        double own_fresh;
        far_form own = entry_of(cell, i, g, inv, &own_fresh);
        if (far_form_reach(&own, cell->vars) + own.r < l->set.entry) {
            z = own;
            fresh = own_fresh;
            t->gain[i] = 1;
        }
    }
    if (l->scale) {
        z = far_cell_scaled(l, i, &z, &ONE, cell->vars, &lost);
        fresh *= fabs(l->scale[i]);
    }
    t->fresh[i] = far_up(fresh + lost);
    t->total[i] = z.r;
    far_cell_put(cell, &cell->now, i, &z);
}

void far_cell_norm(far_cell *cell, int64_t layer, const far_form *S)
{
    const far_proof_layer *l = &cell->plan->layers[layer];
    far_cell_trace *t = &cell->traces[layer];
    int64_t m = l->set.size;
    for (int64_t at = 0; at < l->set.groups; at++) {
        group g = {.first = at * m, .size = m, .zero = is_zero(cell, at * m, m)};
        inverse inv = {0};
        if (l->set.centred) {
            centre_group(cell, &g);
        }
        mean_square(cell, &g);
        add_eps(l->step->eps, S, cell->vars, &g);
        bool known = g.range.low > 1e-280 && g.range.high < 1e280 && !g.zero;
        if (known) {
            inv = inverse_of(&g, cell->vars);
        }
        t->along[at] = inv.form.c;
        t->across[at] = inv.across;
        for (int64_t i = g.first; i < g.first + m; i++) {
            put_entry(cell, layer, i, &g, known ? &inv : NULL);
        }
    }
}

/* ---- backwards ----------------------------------------------------------------------------- */

void far_cell_norm_back(const far_cell *cell, int64_t layer, double *back)
{
    const far_proof_layer *l = &cell->plan->layers[layer];
    const far_cell_trace *t = &cell->traces[layer];
    int64_t m = l->set.size;
    for (int64_t at = 0; at < l->set.groups; at++) {
        const double *c = t->centre + at * m;
        double *own = back + at * m;
        for (int64_t i = 0; i < m; i++) {
            own[i] *= t->gain[at * m + i] * (l->scale ? l->scale[at * m + i] : 1);
        }
        double mean = l->set.centred ? mean_of(own, m) : 0, across = far_dot(c, own, m);
        for (int64_t i = 0; i < m; i++) {
            own[i] = t->along[at] * (own[i] - mean) + t->across[at] * across * c[i];
        }
    }
}
