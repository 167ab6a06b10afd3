/*
 * Passes over a block of rows, for one REAL. Included twice by engine_isa.c, which defines REAL,
 * NAME, OPS, F (sqrt or sqrtf), VECTOR_BYTES and TILE_ROWS. Every row is worked on by itself, in an
 * order that depends on widths alone: its values are the same bits wherever it stands.
 */
#define LANES (VECTOR_BYTES / (int)sizeof(REAL))
#define PANEL (2 * LANES)

typedef REAL NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAME(vec_u)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef LANE_INT NAME(lanes) __attribute__((vector_size(VECTOR_BYTES)));

/* Each part uses those before it. */
#include "engine_product.h"

#include "engine_norm.h"

#include "engine_activate.h"

#include "engine_point.h"

#include "engine_lora.h"

#include "engine_linear.h"

#include "engine_shape.h"

#include "engine_table.h"

#include "engine_attend.h"

#include "engine_each.h"

#include "engine_pass.h"

#undef LANES
#undef PANEL
#undef REAL
#undef LANE_INT
#undef NAME
#undef OPS
#undef SAFE_LEAST
#undef SAFE_MOST
#undef F
