/* Part of tile_impl.h: what a tile held in cache becomes in a matrix that is larger than caches. */

/* Past the caches: nobody reads the result soon, and a write that does not fetch its line first
 * costs half the traffic. Lines that are not whole are written as usual. */
static void NAME(stream)(REAL *to, const REAL *from, int64_t count)
{
#ifdef __SSE2__
    int64_t head = (int64_t)(-(uintptr_t)to % 64 / sizeof(REAL));
    head = head < count ? head : count;
    memcpy(to, from, (size_t)head * sizeof(REAL));
    int64_t at = head;
    for (; at + LANES <= count; at += LANES) {
#ifdef __AVX512F__
        _mm512_stream_si512((void *)(to + at), _mm512_loadu_si512(from + at));
#else
        for (int part = 0; part < 4; part++) {
            _mm_stream_si128((__m128i *)(to + at) + part,
                             _mm_loadu_si128((const __m128i *)(from + at) + part));
        }
#endif
    }
    memcpy(to + at, from + at, (size_t)(count - at) * sizeof(REAL));
#else
    memcpy(to, from, (size_t)count * sizeof(REAL));
#endif
}

/* Columns [j, j + LANES) of a tile, each as a row of W. */
static void NAME(turn_strip)(const REAL *from, int64_t ld, int64_t rows, int64_t cols,
                             REAL turned[LANES][W])
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            turned[j][i] = from[i * ld + j];
        }
    }
}

#ifdef HAS_TURN
/* Eight by eight, in three rounds of pairs, quarters and halves. */
static void turn_square(const double *from, int64_t ld, double *to)
{
    __m512d a[8], b[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) {
        a[r] = _mm512_loadu_pd(from + r * ld);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
        b[r] = _mm512_unpacklo_pd(a[r], a[r + 1]);
        b[r + 1] = _mm512_unpackhi_pd(a[r], a[r + 1]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) { /* a[r]: quarters 0 and 2, or 1 and 3, of rows r / 4 on */
        int at = r / 4 * 4 + r % 2;
        a[r] = r % 4 < 2 ? _mm512_shuffle_f64x2(b[at], b[at + 2], 0x88)
                         : _mm512_shuffle_f64x2(b[at], b[at + 2], 0xdd);
    }
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) { /* column c: quarter c / 2 of odd or even rows */
        int at = c / 2 % 2 * 2 + c % 2;
        b[c] = c < 4 ? _mm512_shuffle_f64x2(a[at], a[at + 4], 0x88)
                     : _mm512_shuffle_f64x2(a[at], a[at + 4], 0xdd);
        _mm512_store_pd(to + c * W, b[c]);
    }
}
#endif

static void NAME(turn)(const REAL *from, int64_t ld, int64_t rows, int64_t cols,
                       REAL turned[LANES][W])
{
#ifdef HAS_TURN
    int64_t whole = cols == LANES ? rows / 8 * 8 : 0;
    for (int64_t i = 0; i < whole; i += 8) {
        turn_square(from + i * ld, ld, turned[0] + i);
    }
    NAME(turn_strip)
    (from + whole * ld, ld, rows - whole, cols, (REAL(*)[W])(turned[0] + whole));
#else
    NAME(turn_strip)(from, ld, rows, cols, turned);
#endif
}

static void NAME(emit)(const far_emit *e)
{
    _Alignas(64) REAL turned[LANES][W];
    const REAL *from = e->from;
    REAL *to = e->to->data;
    int64_t ld = e->to->ld;
    for (int64_t i = e->i0; e->rows && i < e->i1; i++) {
        int64_t end = e->lower && i < e->j1 ? i + 1 : e->j1;
        NAME(stream)(to + i * ld + e->j0, from + (i - e->i0) * e->ld, end - e->j0);
    }
    for (int64_t j = e->j0; e->mirrored && j < e->j1; j += LANES) {
        int64_t cols = e->j1 - j < LANES ? e->j1 - j : LANES;
        NAME(turn)(from + j - e->j0, e->ld, e->i1 - e->i0, cols, turned);
        for (int64_t c = 0; c < cols; c++) {
            int64_t below = e->lower && j + c >= e->i0 ? j + c + 1 : e->i0;
            NAME(stream)(to + (j + c) * ld + below, turned[c] + below - e->i0, e->i1 - below);
        }
    }
#ifdef __SSE2__
    _mm_sfence();
#endif
}
