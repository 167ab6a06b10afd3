/*
 * The matrix of a kernel times a few columns, for matrices that no memory holds: a tile is
 * computed, multiplied while it is in cache and forgotten; as many as there is room for are kept.
 *
 * A tile with rows I and columns J adds to the outputs of I and, being also K[J, I] transposed, to
 * those of J. Rows of tiles belong to lanes, each of which sums for itself, and lanes are added in
 * their order; how many there are depends on the shape alone. So the order of each sum, and with it
 * every bit, depends neither on the number of threads nor on what is kept.
 */
#include "../solve/blas.h"
#include "../solve/solve_internal.h"
#include "gram.h"
#include "sides.h"

#include <string.h>

#include <omp.h>

#define SIDE FAR_TILE_SIDE
#define TILE_COUNT (SIDE * SIDE)
#define MOST_LANES 32
#define LEAST_LANES 4
#define LANE_BYTES 2.56e8 /* of all together, where there are more than the least */
#define LINE 64

struct far_product {
    far_ctx *ctx;
    const far_plan *plan;
    far_sides sides;
    far_tile tile; /* all but the position */
    far_tile_fn run;
    bool nngp;
    atomic_bool unsound;
    int64_t n, tiles;    /* rows, and rows of tiles */
    int64_t own;         /* bytes of a thread for a tile */
    int64_t stride;      /* and with the scratch to compute it */
    double *kept;        /* tiles by their number, the first kept_count of them */
    unsigned char *have; /* kept_count: it has been computed */
    int64_t kept_count;
};

/* ---- making ---------------------------------------------------------------------------------- */

void far_product_destroy(far_product *k)
{
    if (k) {
        far_ctx *ctx = k->ctx;
        far_sides_clear(ctx, &k->sides);
        FAR_FREE_ALL(ctx, k->kept, k->have, k);
    }
}

static int64_t lane_count(int64_t n, int64_t p)
{
    double fit = LANE_BYTES / ((double)n * (double)p * sizeof(double));
    return fit >= MOST_LANES ? MOST_LANES : fit <= LEAST_LANES ? LEAST_LANES : (int64_t)fit;
}

double far_product_bytes(int64_t n, int64_t p)
{
    return (double)sizeof(double) * (double)(lane_count(n, p) * p + 16) * (double)n;
}

double far_product_kept(const far_product *k)
{
    return (double)k->kept_count * TILE_COUNT * sizeof(double);
}

static far_status keep_tiles(far_ctx *ctx, far_product *k, double memory)
{
    far_status st;
    double fit = memory / (TILE_COUNT * sizeof(double)), all = (double)(k->tiles + 1) / 2;
    all *= (double)k->tiles;
    k->kept_count = fit <= 0 ? 0 : (int64_t)(fit < all ? fit : all);
    FAR_TRY(far_alloc(ctx, k->kept_count * TILE_COUNT, &k->kept));
    FAR_TRY(far_alloc(ctx, k->kept_count, &k->have));
done:
    return st;
}

far_status far_product_create(far_ctx *ctx, const far_kernel *kernel, bool nngp, const far_mat *x,
                              double memory, far_product **out)
{
    far_status st;
    far_product *k = NULL;
    FAR_TRY(far_alloc(ctx, 1, &k));
    *k = (far_product){.ctx = ctx,
                       .plan = kernel->plan,
                       .nngp = nngp,
                       .n = x->rows,
                       .tiles = (x->rows + SIDE - 1) / SIDE,
                       .run = far_tile_select(FAR_F64)};
    k->sides.b = &k->sides.a;
    FAR_TRY(far_points_create(ctx, k->plan, x, "x", false, &k->sides.a));
    FAR_TRY(far_sides_prepare(ctx, k->plan, &k->sides));
    FAR_TRY(far_sides_tile(ctx, k->plan, &k->sides, !nngp, &k->tile));
    k->tile.lower = true;
    k->tile.unsound = &k->unsound;
    int64_t scratch = far_tile_scratch(k->plan, &k->sides.layout, k->sides.a.d);
    k->own = SIDE * far_least(SIDE, k->n) * (int64_t)sizeof(double);
    k->stride = k->own + (scratch + 127) / 128 * 128;
    FAR_TRY(keep_tiles(ctx, k, memory));
done:
    FAR_HAND_OVER(k, out, far_product_destroy);
    return st;
}

/* ---- a tile ---------------------------------------------------------------------------------- */

static int64_t side_of(const far_product *k, int64_t tile)
{
    return far_least(SIDE, k->n - tile * SIDE);
}

/* A tile writes to its place in a matrix: here that of a matrix which has it at `to`. */
static void compute(far_product *k, int64_t row, int64_t col, double *to, void *scratch)
{
    far_tile tile = k->tile;
    uintptr_t before = (uintptr_t)(row * SIDE * SIDE + col * SIDE) * sizeof *to;
    far_mat place = {.data = (void *)((uintptr_t)to - before), .ld = SIDE, .dtype = FAR_F64};
    tile.i0 = row * SIDE;
    tile.i1 = tile.i0 + side_of(k, row);
    tile.j0 = col * SIDE;
    tile.j1 = tile.j0 + side_of(k, col);
    tile.scratch = scratch;
    *(k->nngp ? &tile.nngp : &tile.ntk) = &place;
    k->run(&tile);
    if (row == col) {
        far_mirror_square(to, side_of(k, row), SIDE);
    }
}

/* Tile (row, col), col <= row, SIDE values a row; room: of the thread. keeps: nobody else asks for
 * this tile now. */
static const double *get_tile(far_product *k, int64_t row, int64_t col, bool keeps, char *room)
{
    int64_t number = row * (row + 1) / 2 + col;
    bool kept = number < k->kept_count;
    double *to = kept && keeps ? k->kept + number * TILE_COUNT : (double *)room;
    void *scratch = room + k->own;
    if (kept && k->have[number]) {
        return k->kept + number * TILE_COUNT;
    }
    compute(k, row, col, to, scratch);
    if (kept && keeps) {
        k->have[number] = 1;
    }
    return to;
}

/* y += tile x; x is cols x p, y rows x p. */
static void add(const double *tile, int64_t rows, int64_t cols, int64_t p, const double *x,
                double *y)
{
    if (p == 1) {
        far_gemv('T', cols, rows, 1, tile, SIDE, x, y);
    } else {
        far_gemm('N', 'N', p, rows, cols, 1, x, p, tile, SIDE, y, p);
    }
}

/* y += tile' x; x is rows x p, y cols x p. */
static void add_transposed(const double *tile, int64_t rows, int64_t cols, int64_t p,
                           const double *x, double *y)
{
    if (p == 1) {
        far_gemv('N', cols, rows, 1, tile, SIDE, x, y);
    } else {
        far_gemm('N', 'T', p, cols, rows, 1, x, p, tile, SIDE, y, p);
    }
}

/* ---- a sweep over the tiles ------------------------------------------------------------------ */

typedef struct sweep {
    far_product *k;
    far_ctx *ctx;
    int64_t p, cols; /* of the matrix that count, from the first */
    bool transposed; /* K[:cols, :] x, not K[:, :cols] x */
    const double *x;
    double *y;    /* where rows of tiles have outputs of their own */
    double *sums; /* else: lanes x outputs x p */
    int64_t outputs, lanes;
    atomic_int_least64_t next;
    atomic_int status;
} sweep;

static void symmetric_row(const sweep *w, int64_t row, double *y, char *room)
{
    int64_t p = w->p, at = row * SIDE * p, rows = side_of(w->k, row);
    for (int64_t col = 0; col <= row; col++) {
        const double *tile = get_tile(w->k, row, col, true, room);
        add(tile, rows, side_of(w->k, col), p, w->x + col * SIDE * p, y + at);
        if (col < row) {
            add_transposed(tile, rows, side_of(w->k, col), p, w->x + at, y + col * SIDE * p);
        }
    }
}

/* A row of tiles times the first columns, or its share of those columns transposed. */
static void rectangular_row(const sweep *w, int64_t row, double *y, char *room)
{
    int64_t p = w->p, at = row * SIDE * p, rows = side_of(w->k, row);
    for (int64_t col = 0; col * SIDE < w->cols; col++) {
        int64_t cols = far_least(side_of(w->k, col), w->cols - col * SIDE), across = col * SIDE * p;
        bool above = col > row; /* it is there as the transposed one */
        const double *tile = get_tile(w->k, above ? col : row, above ? row : col, false, room);
        int64_t down = above ? cols : rows, wide = above ? rows : cols;
        bool turned = w->transposed != above;
        (turned ? add_transposed : add)(tile, down, wide, p, w->x + (w->transposed ? at : across),
                                        y + (w->transposed ? across : at));
    }
}

static void run_lane(sweep *w, int64_t lane, char *room)
{
    double *y = w->sums ? w->sums + lane * w->outputs * w->p : w->y;
    for (int64_t row = 0; row < w->k->tiles && atomic_load(&w->status) == FAR_OK; row++) {
        int64_t turn = row % (2 * w->lanes); /* a long row with a short one */
        if ((turn < w->lanes ? turn : 2 * w->lanes - 1 - turn) != lane) {
            continue;
        }
        (w->cols == w->k->n ? symmetric_row : rectangular_row)(w, row, y, room);
        if (omp_get_thread_num() == 0 && far_progress(w->ctx, "kernel", row, w->k->tiles)) {
            atomic_store(&w->status, FAR_ERR_CANCELLED);
        }
    }
}

static void run_lanes(sweep *w, char *room)
{
    int64_t lane;
    while ((lane = atomic_fetch_add(&w->next, 1)) < w->lanes) {
        run_lane(w, lane, room);
    }
}

static void add_lanes(const sweep *w)
{
    int64_t count = w->outputs * w->p;
    for (int64_t i = 0; i < count; i++) {
        double sum = w->sums[i];
        for (int64_t lane = 1; lane < w->lanes; lane++) {
            sum += w->sums[lane * count + i];
        }
        w->y[i] = sum;
    }
}

static far_status run_sweep(sweep *w)
{
    far_status st;
    char *room = NULL;
    bool shared = w->cols == w->k->n || w->transposed;
    int threads = (int)far_least(far_ctx_threads(w->ctx), w->lanes);
    int64_t count = w->outputs * w->p;
    memset(w->y, 0, (size_t)count * sizeof *w->y);
    FAR_TRY(far_alloc(w->ctx, threads * w->k->stride, &room));
    if (shared) {
        FAR_TRY(far_alloc(w->ctx, w->lanes * count, &w->sums));
    }
    far_blas_scope scope = far_blas_enter(1);
#pragma omp parallel num_threads(threads)
    run_lanes(w, room + omp_get_thread_num() * w->k->stride);
    far_blas_leave(scope);
    st = (far_status)atomic_load(&w->status);
    if (st == FAR_OK && shared) {
        add_lanes(w);
    }
done:
    far_free(w->ctx, room);
    far_free(w->ctx, w->sums);
    return st;
}

far_status far_product_apply(far_ctx *ctx, far_product *k, int64_t cols, bool transposed, int64_t p,
                             const double *x, double *y)
{
    sweep w = {.k = k,
               .ctx = ctx,
               .p = p,
               .cols = cols,
               .transposed = transposed,
               .x = x,
               .y = y,
               .outputs = transposed ? cols : k->n,
               .lanes = lane_count(k->n, p)};
    far_status st = run_sweep(&w);
    if (st == FAR_OK && atomic_load(&k->unsound)) {
        st = far_fail(ctx, FAR_ERR_RANGE,
                      "a value of the kernel matrix is too large for float64; scale the points "
                      "down, or put a norm in the network");
    }
    return st;
}
