/*
 * A tile: all pairs of a few hundred rows and columns, through the whole network in one pass. The
 * code is written once (tile_impl.h) and compiled for two precisions and three instruction sets.
 */
#ifndef FAR_TILE_H
#define FAR_TILE_H

#include "tail.h"

#include <stdatomic.h>

#define FAR_TILE_SIDE 256

typedef struct far_tile {
    const far_plan *plan;
    const far_layout *layout;
    const far_points *rows, *cols;
    int64_t i0, i1, j0, j1; /* at most FAR_TILE_SIDE each way */
    bool lower;             /* rows and cols are the same points: only j <= i is wanted */
    bool wide;              /* scales leave the range of the type: combine them with care */
    bool zeros;             /* some points have no variance in front of some dense */
    const far_tail *tail;   /* NULL: run all operations */
    far_mat *nngp, *ntk;    /* outputs, either may be NULL */
    bool stream;            /* where the tile fuses: they are written past the caches; rows begin at
                               64 bytes */
    far_mat *nngp_copy, *ntk_copy; /* and, with stream, once more as usual; NULL: not */
    atomic_bool *unsound;          /* set where a result is not finite */
    void *scratch;                 /* far_tile_scratch bytes */
} far_tile;

/* No operation stands between chords and curves: they are one pass. */
static inline bool far_tile_fuses(const far_tile *tile)
{
    return tile->tail && tile->tail->theta_in != FAR_THETA_CARRIED && !tile->cols->unit_rest;
}

/* Bytes. */
int64_t far_tile_scratch(const far_plan *plan, const far_layout *layout, int64_t d);

typedef void (*far_tile_fn)(const far_tile *tile);
/* The best this machine can run (FARFIELD_ISA in the environment asks for less). */
far_tile_fn far_tile_select(far_dtype dtype);

/* Runs the operations from on over a block of FAR_TILE_SIDE pairs given by their state, in place.
 */
typedef void (*far_tile_probe_fn)(const far_tile *tile, int64_t from, double *gap, double *cogap,
                                  double *t);
/* NULL where this machine's instruction set makes tails no faster than the layers. */
far_tile_probe_fn far_tile_select_probe(void);
void far_tile_probe_avx512(const far_tile *tile, int64_t from, double *gap, double *cogap,
                           double *t);

/* How K or Theta changes with the point of the row, free of scale: a value v r r' (K) or v p p'
 * (Theta) has, by ln |x| and by the cosine of the directions that tiles start from,
 *     grow = dv / dln|x| + v dln r / dln|x|  (or p)        turn = dv / dcos
 * Rows [first, ...) of blocks with ld columns each; gap: 1 - that cosine. float64 only; the points
 * of the rows are moving. tile->nngp and ntk are not looked at, nor lower, wide, tail. */
typedef struct far_slope_out {
    double *turn, *grow, *gap;
    int64_t first, ld;
} far_slope_out;
typedef void (*far_slopes_fn)(const far_tile *tile, bool nngp, const far_slope_out *out);
far_slopes_fn far_slopes_select(void);
/* Bytes of tile->scratch. */
int64_t far_slopes_scratch(const far_plan *plan, const far_layout *layout, int64_t d);

/* A tile that was computed into a place of its own, on its way to the matrix that it is part of,
 * past the caches. */
typedef struct far_emit {
    const void *from; /* ld elements a row */
    int64_t ld;
    int64_t i0, i1, j0, j1; /* at most FAR_TILE_SIDE each way */
    bool lower;             /* only j <= i */
    bool rows;              /* to [i0, i1) x [j0, j1) */
    bool mirrored;          /* to [j0, j1) x [i0, i1), transposed */
    far_mat *to;
} far_emit;
typedef void (*far_emit_fn)(const far_emit *e);
far_emit_fn far_emit_select(far_dtype dtype);

#define FAR_TILE_DECLARE(isa)                                                                      \
    void far_slopes_##isa(const far_tile *tile, bool nngp, const far_slope_out *out);              \
    void far_tile_f64_##isa(const far_tile *tile);                                                 \
    void far_tile_f32_##isa(const far_tile *tile);                                                 \
    void far_emit_f64_##isa(const far_emit *e);                                                    \
    void far_emit_f32_##isa(const far_emit *e);
FAR_TILE_DECLARE(avx512)
FAR_TILE_DECLARE(avx2)
FAR_TILE_DECLARE(baseline)

#endif
