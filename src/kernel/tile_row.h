/* Part of tile_impl.h: all operations over one row of a tile. */
/* Level 0 starts from the chords of the current row, in place. */
static NAME(state) NAME(state_at)(const NAME(scratch) * s, int level)
{
    REAL *base = s->states + (int64_t)level * 3 * W, *t = s->tangent ? base + 2 * W : NULL;
    if (level == 0) {
        REAL *cogap = s->cogaps ? s->cogap + s->row * W : NULL;
        return (NAME(state)){s->gap + s->row * W, cogap, t};
    }
    return (NAME(state)){base, base + W, t};
}

static void NAME(copy_state)(int64_t count, NAME(state) from, NAME(state) to)
{
    size_t bytes = (size_t)count * sizeof(REAL);
    memcpy(to.gap, from.gap, bytes);
    memcpy(to.cogap, from.cogap, bytes);
    if (from.t) {
        memcpy(to.t, from.t, bytes);
    }
}

/* The fold that may be done together with the dense at index, or NULL; next: the operation after.
 */
static const far_op *NAME(fold_after)(const far_plan *plan, int64_t index, int64_t limit,
                                      int64_t *next)
{
    int64_t i = index + 1;
    while (i < limit && plan->ops[i].kind == FAR_OP_SCALE) {
        i++;
    }
    *next = i + 1;
    bool fits = i < limit && NAME(is_fold)(&plan->ops[i]) && !plan->ops[i].gamma &&
                plan->ops[i].activation->folded != 0 && plan->ops[i].sign != FAR_SIGN_MILD;
    return fits ? &plan->ops[i] : NULL;
}

static bool NAME(rectifies)(const far_op *fold)
{
    return fold && fabsl(fold->activation->folded) >= fabsl(fold->activation->linear);
}

/* Returns the number of operations done: a fold that follows is done in the same pass. */
static int64_t NAME(run_dense)(const far_tile *tile, int64_t index, int64_t limit, int64_t count,
                               const REAL *ri, const REAL *cols, NAME(state) x, REAL *temp)
{
    const far_op *op = &tile->plan->ops[index];
    bool any_sign = op->sign == FAR_SIGN_ANY;
    if (op->standard) {
        NAME(dense_standard)(count, any_sign, ri, cols, tile->cols->ld, x);
        return 1;
    }
    if (tile->zeros) {
        NAME(known) known = {any_sign, any_sign, x.t != NULL, false, op->plain};
        NAME(dense_zeros)(count, known, ri, cols, tile->cols->ld, x);
        return 1;
    }
    if (op->fine) {
        NAME(known) known = {any_sign, any_sign, x.t != NULL, false, op->plain};
        NAME(dense_fine)(count, op->plain ? 2 : 4, known, ri, cols, tile->cols->ld, x, temp);
        return 1;
    }
    int64_t next;
    const far_op *follows = NAME(fold_after)(tile->plan, index, limit, &next);
    NAME(dense_coef) dense = NAME(dense_of)(ri, cols, tile->cols->ld, op->plain);
    NAME(known)
    is = {any_sign, any_sign && !NAME(rectifies)(follows), x.t != NULL, index == 0, op->plain};
    if (follows) {
        NAME(fold_coef) fold = NAME(fold_of)(follows->activation);
        NAME(layer)(count, is, &dense, &fold, x);
        return next - index;
    }
    NAME(layer)(count, is, &dense, NULL, x);
    return 1;
}

/* One operation of the plan over a row of pairs, in place. Returns how many operations that was: a
 * dense takes the relu behind it along, so that the row is passed over once. level: depth of the
 * stack of states, one deeper inside every skip. */
static int64_t NAME(run_op)(const far_tile *tile, int64_t index, int64_t count, const REAL *ri,
                            const NAME(scratch) * s, int *level)
{
    const far_op *op = &tile->plan->ops[index];
    int64_t ld = tile->cols->ld;
    int slot = tile->layout->slot[index], terms = tile->layout->series[index];
    int end = index + 1 < tile->plan->count ? tile->layout->slot[index + 1] : tile->layout->slots;
    const REAL *cols = (const REAL *)tile->cols->coef + slot * ld + tile->j0;
    NAME(state) x = NAME(state_at)(s, *level);
    ri += slot;
    NAME(refresh)(count, op, x);
    switch (op->kind) {
    case FAR_OP_DENSE:
        return NAME(run_dense)(tile, index, s->limit, count, ri, cols, x, s->temp);
    case FAR_OP_CENTER:
        NAME(center)(count, op->sign == FAR_SIGN_ANY, ri, cols, ld, x);
        break;
    case FAR_OP_SHIFT:
        NAME(shift)(count, ri, cols, ld, x);
        break;
    case FAR_OP_ACTIVATE:
        if (op->activation->family <= FAR_FAMILY_TABLE) {
            NAME(homogeneous)(count, op, ri, cols, ld, x);
        } else {
            NAME(smooth)(count, op, terms, end - slot, ri, cols, ld, x, s->temp);
        }
        break;
    case FAR_OP_PUSH:
        *level += 1;
        NAME(copy_state)(count, x, NAME(state_at)(s, *level));
        break;
    case FAR_OP_ADD:
        *level -= 1;
        NAME(state) a = NAME(state_at)(s, *level);
        NAME(add)(count, !op->gaussian, ri, cols, ld, a, x);
        NAME(copy_state)(count, x, a);
        break;
    case FAR_OP_SCALE:
        break;
    }
    return 1;
}

/* In builds with assertions: a cogap that is out of date is NaN, should anyone read it. */
static void NAME(spoil)(const far_tile *tile, int64_t next, int64_t count, NAME(state) x)
{
#ifdef NDEBUG
    (void)tile, (void)next, (void)count, (void)x;
#else
    bool stale = next < tile->plan->count && tile->plan->ops[next].sign != FAR_SIGN_ANY;
    for (int64_t j = 0; stale && j < count; j++) {
        x.cogap[j] = (REAL)NAN;
    }
#endif
}

/* Exponent bits of what is not finite. Bits, since tiles are compiled to take numbers for finite.
 */
#define NOT_FINITE (sizeof(REAL) == sizeof(float) ? (MASK_INT)0x7f800000 : (MASK_INT)(2047LL << 52))

/* Every result passes here on its way out, or through tail_loop; but those of run_fused, which are
 * made of finite directions and coefficients alone. */
static void NAME(look_at)(const far_tile *tile, int64_t count, const REAL *out)
{
    int unsound = 0;
    for (int64_t j = 0; j < count; j++) {
        MASK_INT bits;
        memcpy(&bits, out + j, sizeof bits);
        unsound |= (bits & NOT_FINITE) == NOT_FINITE;
    }
    if (unsound) {
        atomic_store_explicit(tile->unsound, true, memory_order_relaxed);
    }
}

/* out[j] = (scale_i value[j]) scale_j; wide: with exponents that may leave the range of REAL. */
static void NAME(finish)(const far_tile *tile, int64_t i, int64_t count, const far_big *row_scale,
                         const far_big *col_scale, int slot, const REAL *ri, REAL *restrict value,
                         bool complement, far_mat *m)
{
    REAL *restrict out = (REAL *)m->data + i * m->ld + tile->j0;
    const REAL *restrict cols = (const REAL *)tile->cols->coef + slot * tile->cols->ld + tile->j0;
    REAL most = tile->plan->positive ? 1 : 2; /* rounding of rho = 0 must not turn into -inf */
    for (int64_t j = 0; complement && j < count; j++) {
        value[j] = 1 - (value[j] < most ? value[j] : most);
    }
    for (int64_t j = 0; j < count && !tile->wide; j++) {
        out[j] = ri[slot] * value[j] * cols[j];
    }
    for (int64_t j = 0; j < count && tile->wide; j++) {
        far_big b = col_scale[tile->j0 + j], a = row_scale[i];
        out[j] = (REAL)far_big_coef(far_big_mul(far_big_mul(a, far_big_from(value[j])), b));
    }
    NAME(look_at)(tile, count, out);
}

/* A first dense and relu set t without reading it. */
static bool NAME(starts_tangent)(const far_tile *tile, int64_t limit)
{
    int64_t next;
    const far_plan *plan = tile->plan;
    return !tile->zeros && plan->ops[0].kind == FAR_OP_DENSE && plan->ops[0].plain &&
           !plan->ops[0].fine && NAME(rectifies)(NAME(fold_after)(plan, 0, limit, &next));
}

/* Theta alone, in range, after a dense: written by that dense. */
static bool NAME(ends_plainly)(const far_tile *tile)
{
    const far_op *last = &tile->plan->ops[tile->plan->count - 1];
    return tile->ntk && !tile->nngp && !tile->wide && !tile->tail && last->kind == FAR_OP_DENSE &&
           !last->standard && tile->plan->count > 1;
}

static void NAME(end)(const far_tile *tile, int64_t i, int64_t count, const REAL *ri, NAME(state) x)
{
    int slots = tile->layout->slots;
    if (tile->nngp) {
        NAME(finish)
        (tile, i, count, tile->rows->r, tile->cols->r, slots, ri, x.gap, true, tile->nngp);
    }
    if (tile->ntk) {
        NAME(finish)
        (tile, i, count, tile->rows->p, tile->cols->p, slots + 1, ri, x.t, false, tile->ntk);
    }
}

static void NAME(end_plainly)(const far_tile *tile, int64_t i, int64_t count, const REAL *ri,
                              NAME(state) x)
{
    int64_t ld = tile->cols->ld, index = tile->plan->count - 1;
    int slot = tile->layout->slot[index], p = tile->layout->slots + 1;
    const REAL *cols = (const REAL *)tile->cols->coef + tile->j0;
    bool plain = tile->plan->ops[index].plain;
    NAME(dense_coef) dense = NAME(dense_of)(ri + slot, cols + slot * ld, ld, plain);
    REAL *out = (REAL *)tile->ntk->data + i * tile->ntk->ld + tile->j0;
    NAME(last_dense)(count, plain, &dense, ri[p], COL(p), x, out);
    NAME(look_at)(tile, count, out);
}

#ifdef HAS_TAIL
#include "tile_tail.h"

#include "tile_fused.h"
#endif

static void NAME(load_row)(const far_tile *tile, int64_t i, int begin, int end, REAL *ri)
{
    for (int k = begin; k < end; k++) {
        ri[k] = ((const REAL *)tile->rows->coef)[k * tile->rows->ld + i];
    }
}

static void NAME(run_row)(const far_tile *tile, int64_t i, int64_t count, const NAME(scratch) * s)
{
    int64_t padded = NAME(padded)(count);
    int level = 0, slots = tile->layout->slots;
    bool plainly = NAME(ends_plainly)(tile);
    NAME(state) x = NAME(state_at)(s, 0);
    NAME(load_row)(tile, i, 0, tile->tail ? tile->layout->slot[tile->tail->from] : slots, s->ri);
    NAME(load_row)(tile, i, slots, slots + 2, s->ri);
    if (x.t && !NAME(starts_tangent)(tile, s->limit)) {
        memset(x.t, 0, (size_t)padded * sizeof(REAL));
    }
    for (int64_t k = 0; k < s->limit - plainly;) {
        k += NAME(run_op)(tile, k, padded, s->ri, s, &level);
        NAME(spoil)(tile, k, padded, NAME(state_at)(s, level));
    }
#ifdef HAS_TAIL
    if (tile->tail) {
        NAME(end_with_tail)(tile, i, count, x);
        return;
    }
#endif
    if (plainly) {
        NAME(end_plainly)(tile, i, count, s->ri, x);
    } else {
        NAME(end)(tile, i, count, s->ri, x);
    }
}

static void NAME(write_diagonal)(const far_tile *tile, int64_t i)
{
    if (tile->nngp) {
        REAL *out = (REAL *)tile->nngp->data + i * tile->nngp->ld + i;
        *out = (REAL)far_big_coef(far_big_square(tile->rows->r[i]));
        NAME(look_at)(tile, 1, out);
    }
    if (tile->ntk) {
        REAL *out = (REAL *)tile->ntk->data + i * tile->ntk->ld + i;
        *out = (REAL)far_big_coef(tile->rows->theta[i]);
        NAME(look_at)(tile, 1, out);
    }
}

static void NAME(write_diagonals)(const far_tile *tile, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last && tile->lower && i < tile->j1; i++) {
        NAME(write_diagonal)(tile, i);
    }
}
