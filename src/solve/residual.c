/*
 * r = b - (K + ridge I) (x + x_low) in doubled precision, in one sweep over K.
 *
 * K comes by blocks: from the strict upper triangle of a full system, or computed again. A block
 * with rows I and columns J adds to the outputs of I and, being also K[J, I] transposed, to those
 * of J. Blocks are taken one after the other; within one, every output belongs to one thread. So
 * the order of each sum, and with it every bit, does not depend on the number of threads.
 */
#include "doubled.h"
#include "solve_internal.h"

#include <string.h>

#define BLOCK_COLS                                                                                 \
    4096 /* times FAR_LOWER_SIDE rows: 16 MiB, read twice, the second time in cache */
#define ROW_CHUNK 16
#define COL_CHUNK 256

typedef struct sweep {
    far_ctx *ctx;
    const far_system *s;
    int64_t n, p, side;
    int threads;
    const double *x, *x_low;
    double *y, *y_low; /* K (x + x_low) */
    far_doubled_fn rows, cols;
    double *strip, *square; /* side x n (packed only) and side x side */
} sweep;

/* The rows of block, which begin at row i of K and column j: y_I += block x_J. */
static void add_rows(const sweep *w, far_doubled_block block, int64_t i, int64_t j)
{
    for (int64_t c = 0; c < w->p; c++) {
        int64_t from = c * w->n + j, to = c * w->n + i;
        w->rows(&block, w->x + from, w->x_low + from, w->y + to, w->y_low + to);
    }
}

/* y_J += block^T x_I */
static void add_cols(const sweep *w, far_doubled_block block, int64_t i, int64_t j)
{
    for (int64_t c = 0; c < w->p; c++) {
        int64_t from = c * w->n + i, to = c * w->n + j;
        w->cols(&block, w->x + from, w->x_low + from, w->y + to, w->y_low + to);
    }
}

static far_doubled_block part_rows(const far_doubled_block *b, int64_t begin)
{
    return (far_doubled_block){.data = b->data + begin * b->ld,
                               .rows = far_least(ROW_CHUNK, b->rows - begin),
                               .cols = b->cols,
                               .ld = b->ld};
}

static far_doubled_block part_cols(const far_doubled_block *b, int64_t begin)
{
    return (far_doubled_block){.data = b->data + begin,
                               .rows = b->rows,
                               .cols = far_least(COL_CHUNK, b->cols - begin),
                               .ld = b->ld};
}

/* A block off the diagonal: both of its products. Their outputs are disjoint, so nobody waits. */
static void add_block(const sweep *w, far_doubled_block block, int64_t i, int64_t j)
{
#pragma omp parallel num_threads(w->threads)
    {
#pragma omp for schedule(static) nowait
        for (int64_t k = 0; k < block.rows; k += ROW_CHUNK) {
            add_rows(w, part_rows(&block, k), i + k, j);
        }
#pragma omp for schedule(static)
        for (int64_t k = 0; k < block.cols; k += COL_CHUNK) {
            add_cols(w, part_cols(&block, k), i, j + k);
        }
    }
}

static void add_strip(const sweep *w, far_doubled_block strip, int64_t i, int64_t j)
{
    for (int64_t k = 0; k < strip.cols; k += BLOCK_COLS) {
        far_doubled_block block = strip;
        block.data += k;
        block.cols = far_least(BLOCK_COLS, strip.cols - k);
        add_block(w, block, i, j + k);
    }
}

static void add_square(const sweep *w, int64_t i, int64_t rows)
{
    far_doubled_block block = {.data = w->square, .rows = rows, .cols = rows, .ld = w->side};
#pragma omp parallel for num_threads(w->threads) schedule(static)
    for (int64_t k = 0; k < rows; k += ROW_CHUNK) {
        add_rows(w, part_rows(&block, k), i + k, i);
    }
}

/* ---- where K comes from ---- */

/* The lower triangle of a diagonal block of a full system, from the upper one. */
static void copy_square(const sweep *w, int64_t begin, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < i; j++) {
            w->square[i * w->side + j] = *far_lower_at(&w->s->factor, begin + j, begin + i);
        }
        w->square[i * w->side + i] = w->s->diagonal[begin + i];
    }
}

static far_status sweep_kept(const sweep *w)
{
    const far_lower *l = &w->s->factor;
    for (int64_t i = 0; i < w->n; i = far_lower_next(l, i)) {
        int64_t next = far_lower_next(l, i), rows = next - i;
        copy_square(w, i, rows);
        far_mirror_square(w->square, rows, w->side);
        add_square(w, i, rows);
        far_doubled_block strip = {.data = far_lower_at(l, i, next),
                                   .rows = rows,
                                   .cols = w->n - next,
                                   .ld = far_lower_ld(l, i)};
        add_strip(w, strip, i, next);
    }
    return FAR_OK;
}

static far_status sweep_computed(const sweep *w)
{
    const far_symmetric *a = &w->s->a;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < w->n; i += w->side) {
        int64_t rows = far_least(w->side, w->n - i);
        far_doubled_block strip = {.data = w->strip, .rows = rows, .cols = i, .ld = w->n};
        FAR_TRY(far_block_get(w->ctx, a, i, 0, rows, i, w->strip, w->n));
        FAR_TRY(far_block_get(w->ctx, a, i, i, rows, rows, w->square, w->side));
        far_mirror_square(w->square, rows, w->side);
        add_square(w, i, rows);
        add_strip(w, strip, i, 0);
    }
done:
    return st;
}

/* ---- the residual ---- */

int64_t far_residual_workspace(const far_lower *l)
{
    return l->side * l->side + (l->packed ? l->side * l->n : 0);
}

/* b - (K + ridge I)(x + x_low), every product and sum in doubled precision: a residual in double is
 * all rounding once refinement has come close. */
far_status far_residual(far_ctx *ctx, const far_system *s, int64_t p, const double *b,
                        const double *x, const double *x_low, double *work, double *r)
{
    int64_t n = s->info.n, count = n * p, side = s->factor.side;
    sweep w = {.ctx = ctx,
               .s = s,
               .n = n,
               .p = p,
               .side = side,
               .threads = far_ctx_threads(ctx),
               .x = x,
               .x_low = x_low,
               .y = work,
               .y_low = work + count,
               .rows = far_doubled_rows(),
               .cols = far_doubled_cols()};
    far_status st;
    FAR_TRY(far_alloc(ctx, far_residual_workspace(&s->factor), &w.square));
    w.strip = w.square + side * side;
    memset(work, 0, (size_t)(2 * count) * sizeof *work);
    FAR_TRY(s->factor.packed ? sweep_computed(&w) : sweep_kept(&w));
#pragma omp parallel for num_threads(w.threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        r[i] = far_doubled_rest(b[i], (far_pair){w.y[i], w.y_low[i]}, s->info.ridge,
                                (far_pair){x[i], x_low[i]});
    }
done:
    far_free(ctx, w.square);
    return st;
}
