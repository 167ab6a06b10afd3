/*
 * Branch and bound over R^d with its points at infinity, as the surface of a cube in the
 * homogeneous coordinates (u, s): the face s = 1, and the faces u_i = 1 and u_i = -1 with s in [0,
 * 1]. A piece is a box on a face; the network's forms on it give bounds on every output; what is
 * not tight enough is cut in two across its longest side.
 */
#include "net_certify.h"

#include <string.h>

enum { BATCH = 256, LEAST_BATCH = 16, MOST_PIECES = 1000000, DEEPEST = 45, TRIED = 50000 };

#define PATIENCE 0.3    /* part of the time after which (and after TRIED cells) */
#define WORTHWHILE 0.95 /* the worst piece must have come down to this part of what it was */

typedef struct piece {
    double low[FAR_CELL_VARS], high[FAR_CELL_VARS];
    int64_t face;  /* 0: s = 1; 1 + 2 i: u_i = 1; 2 + 2 i: u_i = -1, and s stands in its place */
    double excess; /* above 0: not tight enough */
} piece;

typedef struct branch {
    far_ctx *ctx;
    const far_net_plan *plan;
    const far_range *target;
    double gap;
    int64_t d, p;
    piece *pieces; /* a pool */
    far_range *ranges;
    int64_t *heap, *spare; /* places in the pool: those still open, worst first; those free */
    int64_t count, spare_count, capacity;
    far_range *closed; /* hull of what needs no more cutting, for each output */
    far_cell **cells;  /* one a thread */
    far_net_point **points;
    int threads;
    bool refuted, stuck;
    far_net_branch *out;
} branch;

bool far_net_branch_supported(const far_net_plan *plan)
{
    return plan->degree == 0 && plan->net->info.inputs <= FAR_CELL_VARS;
}

/* ---- room ---------------------------------------------------------------------------------- */

static void branch_clear(branch *b)
{
    for (int t = 0; t < b->threads; t++) {
        far_cell_destroy(b->cells ? b->cells[t] : NULL);
        far_net_point_destroy(b->points ? b->points[t] : NULL);
    }
    FAR_FREE_ALL(b->ctx, b->cells, b->points, b->pieces, b->ranges, b->heap, b->spare, b->closed);
}

static far_status grow_pool(branch *b)
{
    far_status st;
    int64_t old = b->capacity, more = old ? 2 * old : 1024;
    FAR_TRY(far_grow(b->ctx, old, more, &b->pieces));
    FAR_TRY(far_grow(b->ctx, old * b->p, more * b->p, &b->ranges));
    FAR_TRY(far_grow(b->ctx, old, more, &b->heap));
    FAR_TRY(far_grow(b->ctx, old, more, &b->spare));
    for (int64_t i = more - 1; i >= old; i--) {
        b->spare[b->spare_count++] = i;
    }
    b->capacity = more;
done:
    return st;
}

static far_status branch_open(branch *b)
{
    far_status st;
    FAR_TRY(far_alloc(b->ctx, b->threads, &b->cells));
    FAR_TRY(far_alloc(b->ctx, b->threads, &b->points));
    for (int t = 0; t < b->threads; t++) {
        FAR_TRY(far_cell_create(b->plan, b->d, &b->cells[t]));
        FAR_TRY(far_net_point_create(b->plan, &b->points[t]));
    }
    FAR_TRY(far_alloc(b->ctx, b->p, &b->closed));
    for (int64_t j = 0; j < b->p; j++) {
        b->closed[j] = (far_range){INFINITY, -INFINITY};
    }
    FAR_TRY(grow_pool(b));
done:
    return st;
}

static void push(branch *b, int64_t id)
{
    int64_t i = b->count++;
    for (; i > 0; i = (i - 1) / 2) {
        int64_t above = b->heap[(i - 1) / 2];
        if (b->pieces[above].excess >= b->pieces[id].excess) {
            break;
        }
        b->heap[i] = above;
    }
    b->heap[i] = id;
}

static int64_t pop(branch *b)
{
    int64_t top = b->heap[0], id = b->heap[--b->count], i = 0;
    for (int64_t child; (child = 2 * i + 1) < b->count; i = child) {
        child += child + 1 < b->count &&
                 b->pieces[b->heap[child + 1]].excess > b->pieces[b->heap[child]].excess;
        if (b->pieces[id].excess >= b->pieces[b->heap[child]].excess) {
            break;
        }
        b->heap[i] = b->heap[child];
    }
    b->heap[i] = id;
    return top;
}

/* ---- a piece ------------------------------------------------------------------------------- */

static far_form side(const piece *q, int64_t k)
{
    far_form f = {.c = (q->low[k] + q->high[k]) / 2}; /* exact: sides are halved a few times */
    f.a[k] = (q->high[k] - q->low[k]) / 2;
    return f;
}

static void forms_of(const piece *q, int64_t d, far_form *u, far_form *s)
{
    int64_t fixed = q->face == 0 ? -1 : (q->face - 1) / 2;
    *s = (far_form){.c = fixed < d};
    for (int64_t k = 0; k < d; k++) {
        far_form f = side(q, k);
        if (k == fixed) {
            *s = f;
            f = (far_form){.c = q->face % 2 ? 1 : -1};
        }
        u[k] = f;
    }
}

/* Bounds of every output, and values at the middle (and where it is). */
static void look(const branch *b, int t, int64_t id, double *values, double *where)
{
    far_form u[FAR_CELL_VARS], s;
    forms_of(&b->pieces[id], b->d, u, &s);
    const far_form *out = far_cell_run(b->cells[t], u, &s);
    for (int64_t j = 0; j < b->p; j++) {
        far_range r = far_form_range(&out[j], b->d);
        r = isnan(r.low) || isnan(r.high) ? (far_range){-INFINITY, INFINITY} : r;
        b->ranges[id * b->p + j] = far_range_meet(r, far_net_output_box(b->plan, j));
    }
    for (int64_t k = 0; k < b->d; k++) {
        where[k] = u[k].c;
    }
    where[b->d] = s.c;
    const double *at = far_net_point_value(b->points[t], where, s.c);
    memcpy(values, at, (size_t)b->p * sizeof *values);
}

static void note_values(branch *b, const double *values, const double *where)
{
    int64_t dim = b->d + 1;
    for (int64_t j = 0; j < b->p; j++) {
        for (int end = 0; end < 2; end++) {
            double *best = &b->out->found[2 * j + end];
            if (end == 0 ? values[j] < *best : values[j] > *best) {
                *best = values[j];
                memcpy(b->out->where + (2 * j + end) * dim, where, (size_t)dim * sizeof *where);
            }
        }
        b->refuted |= b->target && (values[j] < b->target[j].low || values[j] > b->target[j].high);
    }
}

/* Of one output, relative to the largest value found of it; 1 if none was. */
static double excess_of_output(const branch *b, int64_t j, far_range r)
{
    far_range found = {b->out->found[2 * j], b->out->found[2 * j + 1]};
    double size = fmax(far_range_size(found), 1e-12 * far_range_size(r)) + FAR_SPECK;
    if (!isfinite(found.low) || !isfinite(found.high) || !isfinite(size)) {
        return 1;
    }
    far_range goal = b->target ? b->target[j] : found;
    double room = b->target ? 0 : b->gap * size * (1 - 1e-9);
    return (fmax(r.high - goal.high, goal.low - r.low) - room) / size;
}

static double excess_of(const branch *b, int64_t id)
{
    double worst = -INFINITY;
    for (int64_t j = 0; j < b->p; j++) {
        worst = fmax(worst, excess_of_output(b, j, b->ranges[id * b->p + j]));
    }
    return worst;
}

static void close_piece(branch *b, int64_t id)
{
    for (int64_t j = 0; j < b->p; j++) {
        far_range r = b->ranges[id * b->p + j], *c = &b->closed[j];
        *c = (far_range){fmin(c->low, r.low), fmax(c->high, r.high)};
    }
    b->spare[b->spare_count++] = id;
}

/* ---- the search ---------------------------------------------------------------------------- */

static double longest(const branch *b, const piece *q, int64_t *which)
{
    double most = -1;
    for (int64_t k = 0; k < b->d; k++) {
        if (q->high[k] - q->low[k] > most) {
            most = q->high[k] - q->low[k];
            *which = k;
        }
    }
    return most;
}

static void sort_in(branch *b, int64_t id)
{
    int64_t which;
    b->pieces[id].excess = excess_of(b, id);
    if (b->pieces[id].excess <= 0) {
        close_piece(b, id);
    } else if (longest(b, &b->pieces[id], &which) < ldexp(1, -DEEPEST)) {
        b->stuck = true;
        close_piece(b, id);
    } else {
        push(b, id);
    }
}

/* Up to BATCH pieces looked at together; found grows in their order, whatever the threads. */
static void look_at(branch *b, const int64_t *ids, int64_t n, double *values, double *where)
{
#pragma omp parallel for num_threads(b->threads) schedule(static)
    for (int t = 0; t < b->threads; t++) {
        for (int64_t i = t; i < n; i += b->threads) {
            look(b, t, ids[i], values + i * b->p, where + i * (b->d + 1));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        note_values(b, values + i * b->p, where + i * (b->d + 1));
    }
    for (int64_t i = 0; i < n; i++) {
        sort_in(b, ids[i]);
    }
    b->out->cells += n;
}

/* Of a network that is the same along rays from 0, infinity and the point 0 are enough. */
static void first_pieces(branch *b, double *values, double *where)
{
    bool conic = b->plan->conic;
    for (int64_t face = conic; face <= 2 * b->d + conic; face++) {
        int64_t id = b->spare[--b->spare_count];
        piece q = {.face = face};
        for (int64_t k = 0; face <= 2 * b->d && k < b->d; k++) {
            bool fixed = face > 0 && k == (face - 1) / 2;
            q.low[k] = fixed ? 0 : -1;
            q.high[k] = fixed && conic ? 0 : 1;
        }
        b->pieces[id] = q;
        look_at(b, &id, 1, values, where);
    }
}

static far_status cut_batch(branch *b, int64_t *ids, double *values, double *where)
{
    int64_t n = 0, most = b->count / 2;
    most = most < LEAST_BATCH ? LEAST_BATCH : most < BATCH ? most : BATCH;
    while (b->count > 0 && n + 2 <= most) {
        int64_t id = pop(b), other, which = 0;
        if (excess_of(b, id) <= 0) {
            close_piece(b, id);
            continue;
        }
        if (b->spare_count == 0) {
            far_status st = grow_pool(b);
            if (st != FAR_OK) {
                return st;
            }
        }
        other = b->spare[--b->spare_count];
        longest(b, &b->pieces[id], &which);
        double middle = (b->pieces[id].low[which] + b->pieces[id].high[which]) / 2;
        b->pieces[other] = b->pieces[id];
        b->pieces[id].high[which] = b->pieces[other].low[which] = middle;
        ids[n++] = id;
        ids[n++] = other;
    }
    look_at(b, ids, n, values, where);
    return FAR_OK;
}

static void gather(branch *b)
{
    for (int64_t j = 0; j < b->p; j++) {
        far_range all = b->closed[j];
        for (int64_t i = 0; i < b->count; i++) {
            far_range r = b->ranges[b->heap[i] * b->p + j];
            all = (far_range){fmin(all.low, r.low), fmax(all.high, r.high)};
        }
        b->out->range[j] = all;
    }
    b->out->finished = b->count == 0 && !b->refuted && !b->stuck;
}

static far_status search(branch *b, double seconds)
{
    far_status st;
    int64_t ids[BATCH];
    double *values = NULL, *where = NULL, start = far_seconds();
    FAR_TRY(far_alloc(b->ctx, BATCH * b->p, &values));
    FAR_TRY(far_alloc(b->ctx, BATCH * (b->d + 1), &where));
    first_pieces(b, values, where);
    double worst = b->count > 0 ? b->pieces[b->heap[0]].excess : 0;
    while (b->count > 0 && !b->refuted && b->count < MOST_PIECES) {
        double spent = far_seconds() - start;
        bool hopeless = !b->target && b->pieces[b->heap[0]].excess > WORTHWHILE * worst;
        hopeless = hopeless && b->out->cells > TRIED && spent > PATIENCE * seconds;
        if (spent > seconds || hopeless) {
            break;
        }
        FAR_TRY(far_progress(b->ctx, "bound", (int64_t)(1e3 * spent), (int64_t)(1e3 * seconds)));
        FAR_TRY(cut_batch(b, ids, values, where));
    }
    gather(b);
done:
    far_free(b->ctx, values);
    far_free(b->ctx, where);
    return st;
}

far_status far_net_branch_run(const far_net_plan *plan, double gap, const far_range *target,
                              double seconds, far_net_branch *out)
{
    far_status st;
    branch b = {.ctx = plan->ctx,
                .plan = plan,
                .target = target,
                .gap = gap,
                .d = plan->net->info.inputs,
                .p = plan->net->info.outputs,
                .threads = far_ctx_threads(plan->ctx),
                .out = out};
    out->cells = 0;
    out->finished = false;
    FAR_TRY(branch_open(&b));
    FAR_TRY(search(&b, seconds));
done:
    branch_clear(&b);
    return st;
}
