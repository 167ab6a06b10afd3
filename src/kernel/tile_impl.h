/*
 * The tile, for one REAL. Included twice by tile_isa.c, which defines REAL, NAME, TILE_FN, SQRT,
 * EXP, FABS and COPYSIGN. Loops run over whole vectors: counts are rounded up into the padding.
 */
#include "tile_poly.h"

#define W FAR_TILE_SIDE
#define LANES (64 / (int)sizeof(REAL))
#define CHORD_ROWS 4
#define CHORD_CHUNK 128 /* features summed at once; chunks are added up, so errors stay small */
#define COL(s) (cols + (int64_t)(s)*ld)
#define PI_R ((REAL)3.141592653589793238)
#define ANGLE_TERMS ((int)(sizeof NAME(angle_coef) / sizeof(REAL)))

typedef REAL NAME(vec) __attribute__((vector_size(64)));
typedef REAL NAME(vec_u) __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

typedef MASK_INT NAME(mask) __attribute__((vector_size(64)));

/* Numbers of a row of pairs. cogap is NULL where no operation needs it and 2 - gap serves, t where
 * Theta is not carried: what was not computed cannot be read. Behind a first operation cogap is up
 * to date only while the sign of the next one is FAR_SIGN_ANY (plan.h); see refresh. */
typedef struct NAME(state) {
    REAL *restrict gap, *restrict cogap, *restrict t;
} NAME(state);

typedef struct NAME(scratch) {
    REAL *panel;                  /* d x W: directions of the columns, feature by feature */
    REAL *unit;                   /* d x CHORD_ROWS: directions of some rows */
    REAL *panel_rest, *unit_rest; /* what rounding took off both; NULL unless fine */
    REAL *gap;                    /* CHORD_ROWS x W */
    REAL *cogap;
    REAL *temp;    /* 6 x W */
    REAL *ri;      /* coefficients of the row */
    REAL *states;  /* (depth + 1) x 3 x W */
    int64_t row;   /* of the chords */
    int64_t limit; /* operations from here on are not run one by one */
    bool tangent;  /* t is carried */
    bool cogaps;   /* those of the chords were worked out */
} NAME(scratch);

/* Whole vectors, two at a time. */
static int64_t NAME(padded)(int64_t count)
{
    return (count + 2 * LANES - 1) / (2 * LANES) * (2 * LANES);
}

/* Each part uses those before it. */
#include "tile_chords.h"

#include "tile_layers.h"

#include "tile_activations.h"

#include "tile_row.h"

/* ---- the tile -------------------------------------------------------------------------------- */

static NAME(scratch) NAME(lay_out)(const far_tile *tile)
{
    int64_t d = tile->cols->d;
    REAL *next = tile->scratch;
    NAME(scratch) s;
    s.panel = next;
    s.gap = s.panel + d * W;
    s.cogap = s.gap + CHORD_ROWS * W;
    s.temp = s.cogap + CHORD_ROWS * W;
    s.states = s.temp + 6 * W;
    s.unit = s.states + (int64_t)(tile->plan->depth + 1) * 3 * W;
    s.ri = s.unit + CHORD_ROWS * d;
    s.panel_rest = s.unit_rest = NULL;
    if (tile->cols->unit_rest) {
        s.panel_rest = s.ri + tile->layout->slots + 2;
        s.unit_rest = s.panel_rest + d * W;
    }
    s.row = 0;
    s.cogaps = true;
    bool carried = !tile->tail || tile->tail->theta_in == FAR_THETA_CARRIED;
    s.limit = !tile->tail ? tile->plan->count : carried ? tile->tail->from : 0;
    s.tangent = tile->ntk && carried;
    return s;
}

static void NAME(fill_panel)(const far_tile *tile, const NAME(scratch) * s)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    const REAL *unit = (const REAL *)tile->cols->unit + tile->j0 * d;
    REAL *panel = s->panel;
    for (int64_t k = 0; k < d; k++) {
        for (int64_t j = 0; j < W; j++) {
            panel[k * W + j] = j < count ? unit[j * d + k] : 0;
        }
    }
    for (int64_t k = 0; s->panel_rest && k < d; k++) {
        for (int64_t j = 0; j < W; j++) {
            s->panel_rest[k * W + j] =
                j < count ? (REAL)tile->cols->unit_rest[(tile->j0 + j) * d + k] : 0;
        }
    }
}

/* Directions of rows [i, last); a short group repeats its last row. */
static void NAME(load_units)(const far_tile *tile, int64_t i, int64_t last, NAME(scratch) * s)
{
    int64_t d = tile->cols->d;
    for (int r = 0; r < CHORD_ROWS; r++) {
        int64_t row = i + r < last ? i + r : last - 1;
        const REAL *from = (const REAL *)tile->rows->unit + row * d;
        for (int64_t k = 0; k < d; k++) {
            s->unit[k * CHORD_ROWS + r] = from[k];
        }
        for (int64_t k = 0; s->unit_rest && k < d; k++) {
            s->unit_rest[k * CHORD_ROWS + r] = (REAL)tile->rows->unit_rest[row * d + k];
        }
    }
}

static void NAME(run_rows)(const far_tile *tile, int64_t i, NAME(scratch) * s)
{
    int64_t d = tile->cols->d, count = tile->j1 - tile->j0;
    int64_t last = i + CHORD_ROWS < tile->i1 ? i + CHORD_ROWS : tile->i1;
    if (tile->lower && last - tile->j0 < count) {
        count = last - tile->j0;
    }
    NAME(load_units)(tile, i, last, s);
#ifdef HAS_TAIL
    if (far_tile_fuses(tile)) {
        NAME(run_fused)(tile, i, last, count, s);
        NAME(write_diagonals)(tile, i, last);
        return;
    }
#endif
    NAME(start)(s, d, NAME(padded)(count));
    for (int64_t row = i; row < last; row++) {
        int64_t wanted = tile->lower && row + 1 - tile->j0 < count ? row + 1 - tile->j0 : count;
        s->row = row - i;
        NAME(run_row)(tile, row, wanted, s);
    }
    NAME(write_diagonals)(tile, i, last);
}

void TILE_FN(const far_tile *tile)
{
    NAME(scratch) s = NAME(lay_out)(tile);
    NAME(fill_panel)(tile, &s);
    for (int64_t i = tile->i0; i < tile->i1; i += CHORD_ROWS) {
        NAME(run_rows)(tile, i, &s);
    }
}

#include "tile_emit.h"

#ifdef HAS_SLOPES
#include "tile_slope.h"
#undef SLOPE_BLOCKS
#undef JET_BLOCKS
#undef MIXTURE_JETS
#endif

#undef W
#undef LANES
#undef CHORD_ROWS
#undef CHORD_CHUNK
#undef BLOCK
#undef VECTORS
#undef FUSED_ROWS
#undef FAR_END
#undef CLOSE
#undef COL
#undef PI_R
#undef ANGLE_TERMS
#undef TABLE_BASE
#undef MIXTURE_PAIR
#undef FINE_BELOW
#undef LINEAR_SINE
#undef LINEAR_ERF
#undef NOT_FINITE
#undef REAL
#undef NAME
#undef TILE_FN
#undef MASK_INT
#undef SQRT
#undef FABS
#undef COPYSIGN
#undef INLINE
#undef EXP
#undef EXPM1
