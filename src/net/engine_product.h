/* Part of engine_impl.h: matrix products. */

/* c = start + a b, or c += scale a b. a is read element by element with two strides, or three: then
 * its depth comes in segments (the lines of a window of an image). b lies in panels of PANEL
 * columns, segments times depth rows each, padded with zeros, and so does start. */
typedef struct NAME(product) {
    int64_t rows, cols, depth;
    const REAL *a;
    int64_t row_step, depth_step;
    int64_t segments, segment_step; /* 0 segments: one */
    const REAL *b;
    const REAL *start; /* NULL: 0 */
    REAL *c;
    int64_t ldc;
    bool add;
    REAL scale;
} NAME(product);

INLINE NAME(vec) NAME(load)(const REAL *p)
{
    return *(const NAME(vec_u) *)p;
}

INLINE void NAME(store)(REAL *p, NAME(vec) v)
{
    *(NAME(vec_u) *)p = v;
}

/* v with all but its last rest lanes put to 0. A vector that ends with a row overlaps the one
 * before it: this is what is new in it. */
INLINE NAME(vec) NAME(rest_of)(NAME(vec) v, int64_t rest)
{
    static const LANE_INT masks[2 * LANES] = {[LANES... 2 * LANES - 1] = -1};
    NAME(lanes) mask;
    memcpy(&mask, masks + rest, sizeof mask);
    return (NAME(vec))((NAME(lanes))v & mask);
}

/* Some rows of sums whose last vector is not whole: from a copy. Written so that it becomes stores
 * under a mask where there are any. */
static __attribute__((noinline)) void NAME(write_part)(const NAME(product) * p, int count,
                                                       int64_t cols, const REAL *restrict sums,
                                                       REAL *restrict c)
{
    REAL scale = p->scale;
    for (int r = 0; r < count; r++, c += p->ldc, sums += PANEL) {
        for (int64_t j = 0; p->add && j < PANEL; j++) {
            if (j < cols) {
                c[j] += scale * sums[j];
            }
        }
        for (int64_t j = 0; !p->add && j < PANEL; j++) {
            if (j < cols) {
                c[j] = sums[j];
            }
        }
    }
}

/* count rows and 1 or 2 vectors of columns, summed in registers over the whole depth in order;
 * count and vectors are constants where this is inlined. */
INLINE void NAME(tile)(int count, int vectors, const NAME(product) * p, const REAL *a,
                       const REAL *b, const REAL *start, REAL *c, int64_t cols)
{
    NAME(vec) sum[TILE_ROWS][2];
    int64_t row_step = p->row_step, depth_step = p->depth_step, ldc = p->ldc;
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            sum[r][v] = NAME(load)(start + v * LANES);
        }
    }
    int64_t segment = 0;
    do {
        const REAL *at = a + segment * p->segment_step;
        for (int64_t k = 0; k < p->depth; k++) {
            NAME(vec) b0 = *(const NAME(vec) *)b, b1 = *(const NAME(vec) *)(b + LANES);
#pragma GCC unroll 16
            for (int r = 0; r < count; r++) {
                REAL x = at[r * row_step];
                sum[r][0] += x * b0;
                if (vectors > 1) {
                    sum[r][1] += x * b1;
                }
            }
            at += depth_step;
            b += PANEL;
        }
    } while (++segment < p->segments);
    REAL part[TILE_ROWS * PANEL];
    bool whole = cols == vectors * LANES, add = whole && p->add;
    REAL *to = whole ? c : part;
    int64_t ld = whole ? ldc : PANEL;
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            REAL *place = to + r * ld + v * LANES;
            NAME(store)(place, add ? NAME(load)(place) + p->scale * sum[r][v] : sum[r][v]);
        }
    }
    if (!whole) {
        NAME(write_part)(p, count, cols, part, c);
    }
}

typedef void (*NAME(tile_fn))(const NAME(product) * p, const REAL *a, const REAL *b,
                              const REAL *start, REAL *c, int64_t cols);

#define TILE(count)                                                                                \
    static void NAME(tile_##count##_1)(const NAME(product) * p, const REAL *a, const REAL *b,      \
                                       const REAL *start, REAL *c, int64_t cols)                   \
    {                                                                                              \
        NAME(tile)(count, 1, p, a, b, start, c, cols);                                             \
    }                                                                                              \
    static void NAME(tile_##count##_2)(const NAME(product) * p, const REAL *a, const REAL *b,      \
                                       const REAL *start, REAL *c, int64_t cols)                   \
    {                                                                                              \
        NAME(tile)(count, 2, p, a, b, start, c, cols);                                             \
    }
#define TILES_4 TILE(1) TILE(2) TILE(3) TILE(4)
#define TILES_6 TILES_4 TILE(5) TILE(6)
#define TILES_14 TILES_6 TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
#define PAIR(count) {NAME(tile_##count##_1), NAME(tile_##count##_2)},
#define PAIRS_4 PAIR(1) PAIR(2) PAIR(3) PAIR(4)
#define PAIRS_6 PAIRS_4 PAIR(5) PAIR(6)
#define PAIRS_14 PAIRS_6 PAIR(7) PAIR(8) PAIR(9) PAIR(10) PAIR(11) PAIR(12) PAIR(13) PAIR(14)

EXPAND(TILES_, TILE_ROWS)
static const NAME(tile_fn) NAME(tiles)[TILE_ROWS][2] = {EXPAND(PAIRS_, TILE_ROWS)};

static const REAL NAME(zeros)[PANEL];

/* Rows that lie a page apart fall on each other in the first-level cache, which holds eight. */
static int64_t NAME(tile_rows)(const NAME(product) * p)
{
    int64_t apart = p->row_step * (int64_t)sizeof(REAL);
    return TILE_ROWS > 7 && apart >= 4096 && apart % 4096 == 0 ? 7 : TILE_ROWS;
}

/* One panel of b: the rows in tiles of nearly equal size. */
static void NAME(multiply_panel)(const NAME(product) * p, const REAL *b, int64_t first)
{
    int64_t cols = p->cols - first < PANEL ? p->cols - first : PANEL, most = NAME(tile_rows)(p);
    int64_t count = (p->rows + most - 1) / most;
    const REAL *start = p->start ? p->start + first : NAME(zeros);
    for (int64_t t = 0; t < count; t++) {
        int64_t r = p->rows * t / count, next = p->rows * (t + 1) / count;
        NAME(tile_fn) run = NAME(tiles)[next - r - 1][cols > LANES];
        run(p, p->a + r * p->row_step, b, start, p->c + r * p->ldc + first, cols);
    }
}

static void NAME(multiply)(const NAME(product) * p)
{
    for (int64_t first = 0; first < p->cols; first += PANEL) {
        int64_t depth = p->depth * (p->segments > 1 ? p->segments : 1);
        NAME(multiply_panel)(p, p->b + first * depth, first);
    }
}

INLINE REAL NAME(total)(NAME(vec) v)
{
    NAME(lanes) place;
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        place[i] = i;
    }
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2) {
        v += __builtin_shuffle(v, place ^ half);
    }
    return v[0];
}

/* h . row of turned weights, whose pieces of PANEL numbers lie apart. */
static REAL NAME(dot)(int64_t n, const REAL *h, const REAL *turned, int64_t apart)
{
    NAME(vec) sum0 = {0}, sum1 = {0};
    REAL tail = 0;
    int64_t j = 0;
    for (; j + PANEL <= n; j += PANEL, turned += apart) {
        sum0 += NAME(load)(h + j) * NAME(load)(turned);
        sum1 += NAME(load)(h + j + LANES) * NAME(load)(turned + LANES);
    }
    for (int64_t i = j; i < n; i++) {
        tail += h[i] * turned[i - j];
    }
    return NAME(total)(sum0 + sum1) + tail;
}

/* As multiply, for few columns; p->b is turned. */
static void NAME(multiply_narrow)(const NAME(product) * p)
{
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t o = 0; o < p->cols; o++) {
            REAL sum =
                NAME(dot)(p->depth, p->a + r * p->row_step, p->b + o * PANEL, p->cols * PANEL);
            REAL *c = p->c + r * p->ldc + o;
            *c = p->add ? *c + p->scale * sum : sum + (p->start ? p->start[o] : 0);
        }
    }
}

/* to (LANES lines of a panel) = the transpose of some rows of LANES numbers each, LANES at most;
 * zeros behind them. */
INLINE void NAME(pack_square)(int64_t rows, const REAL *from, int64_t ld, REAL *to)
{
    NAME(vec) v[LANES];
    NAME(lanes) place;
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        place[i] = i;
        v[i] = i < rows ? NAME(load)(from + i * ld) : (NAME(vec)){0};
    }
#pragma GCC unroll 4
    for (int half = 1; half < LANES; half *= 2) {
        /* Blocks of half by half off the diagonal change places. */
        NAME(lanes) low = place + ((place & half) != 0) * (half - LANES);
        NAME(lanes) high = place + half - ((place & half) != 0) * (LANES - half);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if (!(i & half)) {
                NAME(vec) a = v[i], b = v[i + half];
                v[i] = __builtin_shuffle(a, b, low);
                v[i + half] = __builtin_shuffle(a, b, high);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        NAME(store)(to + i * PANEL, v[i]);
    }
}

/* panel (depth x PANEL) = so many numbers of some rows of b, at most PANEL; zeros behind them. */
static void NAME(pack_panel)(int64_t rows, int64_t depth, const REAL *b, int64_t ld, REAL *panel)
{
    for (int64_t r = 0; r < PANEL; r += LANES) {
        int64_t k = 0;
        for (; k + LANES <= depth; k += LANES) {
            NAME(pack_square)(rows - r, b + r * ld + k, ld, panel + k * PANEL + r);
        }
        for (; k < depth; k++) {
            for (int64_t i = r; i < r + LANES; i++) {
                panel[k * PANEL + i] = i < rows ? b[i * ld + k] : 0;
            }
        }
    }
}

/* panel (rows x PANEL) = columns from first on of d (rows x width); sums += the sum of its rows. */
static void NAME(copy_panel)(int64_t rows, int64_t width, const REAL *d, int64_t first, REAL *panel,
                             REAL *sums)
{
    if (width - first >= PANEL) {
        NAME(vec) s0 = {0}, s1 = {0};
        for (int64_t r = 0; r < rows; r++) {
            NAME(vec) d0 = NAME(load)(d + r * width + first);
            NAME(vec) d1 = NAME(load)(d + r * width + first + LANES);
            s0 += d0;
            s1 += d1;
            NAME(store)(panel + r * PANEL, d0);
            NAME(store)(panel + r * PANEL + LANES, d1);
        }
        NAME(store)(sums, s0);
        NAME(store)(sums + LANES, s1);
        return;
    }
    memset(panel, 0, (size_t)(rows * PANEL) * sizeof *panel);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < width - first; j++) {
            panel[r * PANEL + j] = d[r * width + first + j];
            sums[j] += d[r * width + first + j];
        }
    }
}

/* gradient (in x out) += scale h' d, bias += bias_scale times the sum of the rows of d. */
static void NAME(add_outer)(const NAME(product) * h, const REAL *d, REAL *panel, REAL *bias,
                            REAL bias_scale)
{
    for (int64_t first = 0; first < h->cols; first += PANEL) {
        REAL sums[PANEL] = {0};
        NAME(copy_panel)(h->depth, h->cols, d, first, panel, sums);
        NAME(multiply_panel)(h, panel, first);
        for (int64_t j = 0; bias && j < PANEL && first + j < h->cols; j++) {
            bias[first + j] += bias_scale * sums[j];
        }
    }
}

/* The same for few columns: one column of the gradient at a time, over whole rows of h. */
static void NAME(add_outer_narrow)(const NAME(product) * h, const REAL *d, REAL *line, REAL *bias,
                                   REAL bias_scale)
{
    for (int64_t o = 0; o < h->cols; o++) {
        REAL sum = 0;
        memset(line, 0, (size_t)h->rows * sizeof *line);
        for (int64_t r = 0; r < h->depth; r++) {
            const REAL *restrict row = h->a + r * h->depth_step;
            REAL *restrict to = line, x = d[r * h->cols + o];
            for (int64_t i = 0; i < h->rows; i++) {
                to[i] += x * row[i];
            }
            sum += x;
        }
        for (int64_t i = 0; i < h->rows; i++) {
            h->c[i * h->ldc + o] += h->scale * line[i];
        }
        if (bias) {
            bias[o] += bias_scale * sum;
        }
    }
}
