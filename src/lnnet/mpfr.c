/*
 * Chains and passes in as many bits as asked for, through MPFR. A number is a header with its
 * significand behind it, in our own memory. Here only the rule of the paper is searched; the other
 * modes are searched in quadruple precision, and their weights widened.
 */
#include "precision.h"

#include <ctype.h>
#include <math.h>
#include <mpfr.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ROUND MPFR_RNDN

static size_t number_size(int64_t bits)
{
    return (sizeof(__mpfr_struct) + mpfr_custom_get_size((mpfr_prec_t)bits) + 15) / 16 * 16;
}

/* Number i of an array. */
static mpfr_ptr at(const void *array, size_t size, int64_t i)
{
    return (mpfr_ptr)((char *)(uintptr_t)array + (size_t)i * size);
}

static void start_numbers(void *array, int64_t bits, int64_t count)
{
    size_t size = number_size(bits);
    for (int64_t i = 0; i < count; i++) {
        mpfr_ptr x = at(array, size, i);
        void *significand = (char *)x + sizeof(__mpfr_struct);
        mpfr_custom_init(significand, (mpfr_prec_t)bits);
        mpfr_custom_init_set(x, MPFR_ZERO_KIND, 0, (mpfr_prec_t)bits, significand);
    }
}

static size_t size_of(const void *array)
{
    return number_size(mpfr_get_prec((mpfr_srcptr)array));
}

/* ---- the line of the paper ----------------------------------------------------------------- */

typedef struct line {
    int64_t bits, n;
    size_t size;
    void *places, *moved;  /* of the objects, in order */
    void *slopes, *shifts; /* of the layer: 3 each */
    void *scratch;         /* SCRATCH numbers */
    int32_t *label, *moved_label;
    int64_t *point;
    double *gaps;
} line;

#define SCRATCH 12

static char *take(char **next, int64_t count, size_t size)
{
    char *here = *next;
    *next += ((size_t)count * size + 63) / 64 * 64;
    return here;
}

static int64_t lay_out(far_ln_chain *c, int64_t bits, char *base)
{
    char *next = base;
    int64_t n = c->points->count;
    size_t size = number_size(bits);
    line l = {.bits = bits, .size = size};
    line *own = (line *)(void *)take(&next, 1, sizeof *own);
    l.places = take(&next, n, size);
    l.moved = take(&next, n, size);
    l.slopes = take(&next, 3, size);
    l.shifts = take(&next, 3, size);
    l.scratch = take(&next, SCRATCH, size);
    l.label = (int32_t *)(void *)take(&next, n, sizeof(int32_t));
    l.moved_label = (int32_t *)(void *)take(&next, n, sizeof(int32_t));
    l.point = (int64_t *)(void *)take(&next, n, sizeof(int64_t));
    l.gaps = (double *)(void *)take(&next, n + 2, sizeof(double));
    c->weights = take(&next, (n + 1) * FAR_LN_LAYER, size);
    c->thresholds = take(&next, c->classes + 1, size);
    c->ends = take(&next, 2, size);
    c->run_label = (int32_t *)(void *)take(&next, c->classes + 1, sizeof(int32_t));
    if (base) {
        *own = l;
        c->line = own;
        start_numbers(l.places, bits, n);
        start_numbers(l.moved, bits, n);
        start_numbers(l.slopes, bits, 3);
        start_numbers(l.shifts, bits, 3);
        start_numbers(l.scratch, bits, SCRATCH);
        start_numbers(c->weights, bits, (n + 1) * FAR_LN_LAYER);
        start_numbers(c->thresholds, bits, c->classes + 1);
        start_numbers(c->ends, bits, 2);
    }
    return next - base;
}

static far_status chain_allocate(const far_ln_ops *o, far_ctx *ctx, far_ln_chain *c)
{
    char *memory = NULL;
    if (c->mode != FAR_LNNET_PAPER) {
        return far_ln_quad.chain_allocate(&far_ln_quad, ctx, c);
    }
    far_status st = far_alloc(ctx, lay_out(c, o->bits, NULL), &memory);
    c->memory = memory;
    if (st == FAR_OK) {
        lay_out(c, o->bits, memory);
    }
    return st;
}

static mpfr_ptr place(const line *l, int64_t i)
{
    return at(l->places, l->size, i);
}

static mpfr_ptr scratch(const line *l, int i)
{
    return at(l->scratch, l->size, i);
}

/* ---- projecting ---------------------------------------------------------------------------- */

static void project(const far_ln_chain *c, line *l)
{
    mpfr_ptr product = scratch(l, 0), value = scratch(l, 1);
    l->n = 0;
    for (int64_t i = 0; i < c->points->count; i++) {
        const double *x = far_ln_point(c->points, i);
        mpfr_ptr sum = place(l, l->n);
        mpfr_set_zero(sum, 1);
        for (int64_t j = 0; j < c->points->d; j++) {
            mpfr_set_d(value, x[j], ROUND);
            mpfr_mul_d(product, value, c->direction[j], ROUND);
            mpfr_add(sum, sum, product, ROUND);
        }
        l->label[l->n] = c->labels[i];
        l->point[l->n++] = i;
    }
}

static void swap_objects(line *l, int64_t i, int64_t j)
{
    int32_t label = l->label[i];
    int64_t point = l->point[i];
    mpfr_ptr kept = scratch(l, 0);
    mpfr_set(kept, place(l, i), ROUND);
    mpfr_set(place(l, i), place(l, j), ROUND);
    mpfr_set(place(l, j), kept, ROUND);
    l->label[i] = l->label[j];
    l->label[j] = label;
    l->point[i] = l->point[j];
    l->point[j] = point;
}

/* By heap: no memory, and the numbers stay where they are laid out. */
static void sift(line *l, int64_t root, int64_t n)
{
    for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && mpfr_less_p(place(l, child), place(l, child + 1))) {
            child++;
        }
        if (!mpfr_less_p(place(l, root), place(l, child))) {
            return;
        }
        swap_objects(l, root, child);
        root = child;
    }
}

static void sort_line(line *l)
{
    for (int64_t i = l->n / 2 - 1; i >= 0; i--) {
        sift(l, i, l->n);
    }
    for (int64_t end = l->n - 1; end > 0; end--) {
        swap_objects(l, 0, end);
        sift(l, 0, end);
    }
}

/* ---- gaps ---------------------------------------------------------------------------------- */

/* The least gap between different labels, times 1 / range if scaled. */
static bool inspect(const line *l, bool scaled, double *least)
{
    mpfr_ptr gap = scratch(l, 0), range = scratch(l, 1);
    bool apart = true;
    *least = INFINITY;
    mpfr_sub(range, place(l, l->n - 1), place(l, 0), ROUND);
    for (int64_t i = 1; i < l->n; i++) {
        if (l->label[i] != l->label[i - 1]) {
            mpfr_sub(gap, place(l, i), place(l, i - 1), ROUND);
            apart &= mpfr_sgn(gap) > 0;
            if (scaled && mpfr_sgn(range) > 0) {
                mpfr_div(gap, gap, range, ROUND);
            }
            double here = mpfr_get_d(gap, ROUND);
            *least = here < *least ? here : *least;
        }
    }
    return apart;
}

static int64_t count_runs(const line *l)
{
    int64_t runs = 1;
    for (int64_t i = 1; i < l->n; i++) {
        runs += l->label[i] != l->label[i - 1];
    }
    return runs;
}

static bool is_finished(const far_ln_chain *c, const line *l)
{
    if (count_runs(l) > c->classes) {
        return false;
    }
    for (int64_t i = 1; i < l->n; i++) {
        for (int64_t j = i - 1; j >= 0 && l->label[i] != l->label[i - 1]; j--) {
            if (l->label[j] == l->label[i]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- one layer ----------------------------------------------------------------------------- */

/* The last object whose label comes again before it, and that one. */
static bool last_pair(const line *l, int64_t *a, int64_t *b)
{
    for (*b = l->n - 1; *b > 0; --*b) {
        for (*a = *b - 1; *a >= 0; --*a) {
            if (l->label[*a] == l->label[*b]) {
                return true;
            }
        }
    }
    return false;
}

typedef struct fold {
    mpfr_ptr z, k, mu;
} fold;

static fold fold_of(const line *l)
{
    return (fold){scratch(l, 9), scratch(l, 10), scratch(l, 11)};
}

/* Merges the places a and b with the hinge a share of the way between them. */
static fold merging(const line *l, int64_t a, int64_t b, int share, int shares)
{
    fold f = fold_of(l);
    mpfr_ptr left = scratch(l, 0), right = scratch(l, 1);
    mpfr_sub(f.z, place(l, b), place(l, a), ROUND);
    mpfr_mul_si(f.z, f.z, share, ROUND);
    mpfr_div_si(f.z, f.z, shares, ROUND);
    mpfr_add(f.z, f.z, place(l, a), ROUND);
    mpfr_sub(left, f.z, place(l, a), ROUND);
    mpfr_sub(right, place(l, b), f.z, ROUND);
    mpfr_ui_div(left, 1, left, ROUND);
    mpfr_ui_div(right, 1, right, ROUND);
    mpfr_add(f.k, left, right, ROUND);
    mpfr_div_ui(f.k, f.k, 2, ROUND);
    mpfr_sub(f.mu, left, right, ROUND);
    mpfr_div_ui(f.mu, f.mu, 2, ROUND);
    if (2 * share == shares) {
        mpfr_set_zero(f.mu, 1);
    }
    return f;
}

/* out = Q (h1, h2), scaled; Q as in chain_line.h. */
static void plane(const line *l, mpfr_srcptr h1, mpfr_srcptr h2, long scale, void *out)
{
    mpfr_ptr p = scratch(l, 2), q = scratch(l, 3), root = scratch(l, 4);
    mpfr_sqrt_ui(root, 2, ROUND);
    mpfr_div(p, h1, root, ROUND);
    mpfr_sqrt_ui(root, 6, ROUND);
    mpfr_div(q, h2, root, ROUND);
    mpfr_add(at(out, l->size, 0), q, p, ROUND);
    mpfr_sub(at(out, l->size, 1), q, p, ROUND);
    mpfr_mul_si(at(out, l->size, 2), q, -2, ROUND);
    for (int i = 0; i < 3; i++) {
        mpfr_mul_2si(at(out, l->size, i), at(out, l->size, i), scale, ROUND);
    }
}

#define SCALE_MOST 400 /* the tensors are doubles */

static void layer_of(const line *l, const fold *f)
{
    mpfr_ptr h1 = scratch(l, 5), h2 = scratch(l, 6);
    long scale = l->bits / 2 + 2 < SCALE_MOST ? (long)(l->bits / 2 + 2) : SCALE_MOST;
    plane(l, f->k, f->mu, scale, l->slopes);
    mpfr_mul(h1, f->k, f->z, ROUND);
    mpfr_neg(h1, h1, ROUND);
    mpfr_mul(h2, f->mu, f->z, ROUND);
    mpfr_ui_sub(h2, 1, h2, ROUND);
    plane(l, h1, h2, scale, l->shifts);
}

/* The third of three neurons behind the norm; they lie at z, z + 1, z + 2, and are overwritten. */
static void third(mpfr_ptr out, const line *l, int z)
{
    mpfr_ptr mean = scratch(l, z + 3), square = scratch(l, z + 4);
    mpfr_add(mean, scratch(l, z), scratch(l, z + 1), ROUND);
    mpfr_add(mean, mean, scratch(l, z + 2), ROUND);
    mpfr_div_ui(mean, mean, 3, ROUND);
    mpfr_set_zero(square, 1);
    for (int i = 0; i < 3; i++) {
        mpfr_sub(scratch(l, z + i), scratch(l, z + i), mean, ROUND);
        mpfr_fma(square, scratch(l, z + i), scratch(l, z + i), square, ROUND);
    }
    mpfr_div_ui(square, square, 3, ROUND);
    mpfr_sqrt(square, square, ROUND);
    mpfr_div(out, scratch(l, z + 2), square, ROUND);
}

static void move_object(const far_ln_chain *c, const line *l, int64_t i, mpfr_ptr out)
{
    mpfr_ptr weight = scratch(l, 5), value = scratch(l, 6);
    for (int r = 0; r < 3; r++) {
        mpfr_ptr z = scratch(l, r);
        if (c->layers > 0) {
            mpfr_fma(z, at(l->slopes, l->size, r), place(l, i), at(l->shifts, l->size, r), ROUND);
            continue;
        }
        const double *x = far_ln_point(c->points, l->point[i]);
        mpfr_set_zero(z, 1);
        for (int64_t j = 0; j < c->points->d; j++) {
            mpfr_mul_d(weight, at(l->slopes, l->size, r), c->direction[j], ROUND);
            mpfr_set_d(value, x[j], ROUND);
            mpfr_fma(z, weight, value, z, ROUND);
        }
        mpfr_add(z, z, at(l->shifts, l->size, r), ROUND);
    }
    third(out, l, 0);
}

/* The images of the objects, merged into a new line; a and b become one. False: labels mix. */
static bool restack(line *l, const fold *f, int64_t a, int64_t b)
{
    int64_t r = 0, n = 0, before = -1;
    while (r < l->n && mpfr_less_p(place(l, r), f->z)) {
        r++;
    }
    for (int64_t left = r - 1; left >= 0 || r < l->n;) {
        bool take_left = r >= l->n || (left >= 0 && mpfr_lessequal_p(at(l->moved, l->size, left),
                                                                     at(l->moved, l->size, r)));
        int64_t i = take_left ? left-- : r++;
        bool pair = (i == a && before == b) || (i == b && before == a);
        before = i;
        if (pair) {
            continue;
        }
        mpfr_set(place(l, n), at(l->moved, l->size, i), ROUND);
        l->moved_label[n++] = l->label[i];
    }
    bool merged = n == l->n - 1 || a < 0;
    l->n = n;
    memcpy(l->label, l->moved_label, (size_t)n * sizeof *l->label);
    return merged;
}

static far_ln_outcome layer(far_ln_chain *c, line *l, const fold *f, int64_t a, int64_t b)
{
    layer_of(l, f);
    for (int i = 0; i < 3; i++) {
        int64_t row = c->layers * FAR_LN_LAYER + i;
        mpfr_set(at(c->weights, l->size, row), at(l->slopes, l->size, i), ROUND);
        mpfr_set(at(c->weights, l->size, row + 3), at(l->shifts, l->size, i), ROUND);
    }
    for (int64_t i = 0; i < l->n; i++) {
        move_object(c, l, i, at(l->moved, l->size, i));
    }
    if (!restack(l, f, a, b)) {
        return FAR_LN_MIXED;
    }
    bool apart = inspect(l, false, &l->gaps[++c->layers]);
    return apart ? FAR_LN_DONE : FAR_LN_MIXED;
}

/* ---- confusion ----------------------------------------------------------------------------- */

#define CONFUSION_BITS 8

/* The least distance of the images of two labels between a and b, as a power of two; their images
 * are compared by |w|, w = k t / (1 + mu t), which grows with the angle. */
static long least_image_gap(const line *l, const fold *f, int64_t a, int64_t b)
{
    long least = mpfr_get_emax();
    mpfr_ptr t = scratch(l, 2), h = scratch(l, 3), near = scratch(l, 5);
    for (int64_t i = a + 1; i < b; i++) {
        mpfr_ptr w = at(l->moved, l->size, i);
        mpfr_sub(t, place(l, i), f->z, ROUND);
        mpfr_mul(h, f->mu, t, ROUND);
        mpfr_add_ui(h, h, 1, ROUND);
        mpfr_mul(w, f->k, t, ROUND);
        mpfr_div(w, w, h, ROUND);
        mpfr_abs(w, w, ROUND);
    }
    for (int64_t i = a + 1; i < b; i++) {
        for (int64_t j = i + 1; j < b; j++) {
            mpfr_sub(near, at(l->moved, l->size, i), at(l->moved, l->size, j), ROUND);
            long here = mpfr_zero_p(near) ? mpfr_get_emin() : mpfr_get_exp(near);
            least = l->label[i] != l->label[j] && here < least ? here : least;
        }
    }
    return least;
}

static fold next_fold(far_ln_chain *c, line *l, int64_t a, int64_t b)
{
    fold f = merging(l, a, b, 1, 2);
    int best = 1;
    long widest = mpfr_get_emin();
    if (least_image_gap(l, &f, a, b) > CONFUSION_BITS - l->bits) {
        return f;
    }
    c->confusions++;
    for (int share = 1; share < 20; share++) {
        f = merging(l, a, b, share, 20);
        long gap = least_image_gap(l, &f, a, b);
        if (share != 10 && gap > widest) {
            widest = gap;
            best = share;
        }
    }
    return merging(l, a, b, best, 20);
}

/* ---- a chain ------------------------------------------------------------------------------- */

static far_ln_outcome unfold(far_ln_chain *c, line *l)
{
    fold f = fold_of(l);
    mpfr_sub(f.k, place(l, l->n - 1), place(l, 0), ROUND);
    if (mpfr_zero_p(f.k)) {
        mpfr_set_ui(f.k, 1, ROUND);
    }
    mpfr_div_ui(f.z, f.k, 2, ROUND);
    mpfr_sub(f.z, place(l, 0), f.z, ROUND);
    mpfr_ui_div(f.k, 1, f.k, ROUND);
    mpfr_set_zero(f.mu, 1);
    return layer(c, l, &f, -1, -1);
}

static far_ln_outcome fold_all(far_ln_chain *c, line *l)
{
    far_ln_outcome o = FAR_LN_DONE;
    int64_t a, b;
    while (o == FAR_LN_DONE && !is_finished(c, l)) {
        if (!last_pair(l, &a, &b)) {
            return FAR_LN_STUCK;
        }
        fold f = next_fold(c, l, a, b);
        o = layer(c, l, &f, a, b);
        if (!far_ln_watch_layer(c->watch)) {
            return FAR_LN_CANCELLED;
        }
    }
    return o == FAR_LN_DONE && c->layers == 0 ? unfold(c, l) : o;
}

static void finish(far_ln_chain *c, const line *l)
{
    c->runs = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (i > 0 && l->label[i] != l->label[i - 1]) {
            mpfr_ptr threshold = at(c->thresholds, l->size, c->runs - 1);
            mpfr_add(threshold, place(l, i), place(l, i - 1), ROUND);
            mpfr_div_ui(threshold, threshold, 2, ROUND);
        }
        if (i == 0 || l->label[i] != l->label[i - 1]) {
            c->run_label[c->runs++] = l->label[i];
        }
    }
    mpfr_set(at(c->ends, l->size, 0), place(l, 0), ROUND);
    mpfr_set(at(c->ends, l->size, 1), place(l, l->n - 1), ROUND);
    c->gap = INFINITY;
    c->final_gap = l->gaps[c->layers];
    for (int64_t i = 0; i <= c->layers; i++) {
        c->gap_layer = l->gaps[i] < c->gap ? i : c->gap_layer;
        c->gap = l->gaps[i] < c->gap ? l->gaps[i] : c->gap;
    }
}

static void chain_run(far_ln_chain *c)
{
    if (c->mode != FAR_LNNET_PAPER) {
        far_ln_quad.chain_run(c);
        return;
    }
    line *l = c->line;
    c->layers = c->confusions = 0;
    project(c, l);
    sort_line(l);
    c->outcome = inspect(l, true, &l->gaps[0]) ? fold_all(c, l) : FAR_LN_COLLIDED;
    if (c->outcome == FAR_LN_DONE) {
        finish(c, l);
    }
}

/* ---- parameters ---------------------------------------------------------------------------- */

static far_status assemble_quad(const far_ln_ops *o, far_ctx *ctx, const far_ln_plan *plan,
                                void *parameters)
{
    far_status st = FAR_OK;
    void *quads = NULL;
    int64_t count = far_ln_parameters(&plan->form);
    FAR_TRY(far_alloc_bytes(ctx, count, far_ln_quad.size, &quads));
    FAR_TRY(far_ln_quad.assemble(&far_ln_quad, ctx, plan, quads));
    for (int64_t i = 0; i < count; i++) { /* exactly: a high part and what is left */
        __float128 value = ((const __float128 *)quads)[i];
        double high = (double)value, low = (double)(value - high);
        mpfr_set_d(at(parameters, o->size, i), high, ROUND);
        mpfr_add_d(at(parameters, o->size, i), at(parameters, o->size, i), low, ROUND);
        mpfr_add_d(at(parameters, o->size, i), at(parameters, o->size, i),
                   (double)(value - high - low), ROUND);
    }
done:
    far_free(ctx, quads);
    return st;
}

/* Outputs as in assemble_impl.h: those of neighbours are equal at the threshold between them. */
static void read_runs(const far_ln_plan *plan, size_t size, void *weight, void *bias)
{
    const far_ln_chain *c = &plan->chain[0];
    const line *l = c->line;
    mpfr_ptr scale = scratch(l, 0), sum = scratch(l, 1), step = scratch(l, 2);
    for (int64_t k = 0; k < plan->form.classes; k++) {
        mpfr_set_si(at(bias, size, k), -1, ROUND);
    }
    mpfr_sub(scale, at(c->ends, size, 1), at(c->ends, size, 0), ROUND);
    if (mpfr_zero_p(scale)) {
        mpfr_set_ui(scale, 1, ROUND);
    }
    mpfr_ui_div(scale, 1, scale, ROUND);
    mpfr_set_zero(sum, 1);
    for (int32_t r = 0; r < c->runs; r++) {
        int32_t k = c->run_label[r];
        if (r > 0) {
            mpfr_mul(step, at(c->thresholds, size, r - 1), scale, ROUND);
            mpfr_sub(sum, sum, step, ROUND);
        }
        mpfr_mul_ui(at(weight, size, 3 * k + 2), scale, (unsigned long)r, ROUND);
        mpfr_set(at(bias, size, k), sum, ROUND);
    }
}

static far_status assemble(const far_ln_ops *o, far_ctx *ctx, const far_ln_plan *plan,
                           void *parameters)
{
    int64_t count = far_ln_parameters(&plan->form), d = plan->form.d, next = 0;
    const far_ln_chain *c = &plan->chain[0];
    start_numbers(parameters, o->bits, count);
    if (c->mode != FAR_LNNET_PAPER) {
        return assemble_quad(o, ctx, plan, parameters);
    }
    for (int64_t layer_at = 0; layer_at < plan->form.layers; layer_at++) {
        const char *w = (const char *)at(c->weights, o->size, layer_at * FAR_LN_LAYER);
        int64_t cols = layer_at == 0 ? d : 3;
        for (int64_t i = 0; i < 3; i++, next += cols) {
            for (int64_t j = 0; layer_at == 0 && j < d; j++) {
                mpfr_mul_d(at(parameters, o->size, next + j), at(w, o->size, i), c->direction[j],
                           ROUND);
            }
            if (layer_at > 0) {
                mpfr_set(at(parameters, o->size, next + 2), at(w, o->size, i), ROUND);
            }
        }
        for (int64_t i = 0; i < 3; i++) {
            mpfr_set(at(parameters, o->size, next++), at(w, o->size, 3 + i), ROUND);
        }
    }
    read_runs(plan, o->size, at(parameters, o->size, next),
              at(parameters, o->size, next + 3 * plan->form.classes));
    return FAR_OK;
}

static void round_numbers(const void *parameters, int64_t count, double *out)
{
    size_t size = size_of(parameters);
    for (int64_t i = 0; i < count; i++) {
        out[i] = mpfr_get_d(at(parameters, size, i), ROUND);
    }
}

static void widen(const far_ln_ops *o, const double *values, int64_t count, void *parameters)
{
    start_numbers(parameters, o->bits, count);
    for (int64_t i = 0; i < count; i++) {
        mpfr_set_d(at(parameters, o->size, i), values[i], ROUND);
    }
}

static void print(const void *parameters, int64_t count, far_text *out)
{
    size_t size = size_of(parameters);
    for (int64_t i = 0; i < count; i++) {
        char *digits = NULL;
        mpfr_srcptr value = at(parameters, size, i);
        if (mpfr_zero_p(value)) {
            far_text_add(out, "%s0", i > 0 ? " " : "");
            continue;
        }
        int places = (int)mpfr_get_str_ndigits(10, mpfr_get_prec(value));
        if (mpfr_asprintf(&digits, "%.*Re", places - 1, value) < 0) {
            out->status = far_fail(out->ctx, FAR_ERR_MEMORY, "out of memory for digits");
            return;
        }
        far_text_add(out, "%s%s", i > 0 ? " " : "", digits);
        mpfr_free_str(digits);
    }
}

static bool parse(const far_ln_ops *o, const char *text, int64_t count, void *parameters)
{
    start_numbers(parameters, o->bits, count);
    for (int64_t i = 0; i < count; i++) {
        mpfr_ptr value = at(parameters, o->size, i);
        char *end;
        if ((i > 0 && *text++ != ' ') || *text == 0 || isspace((unsigned char)*text)) {
            return false;
        }
        mpfr_strtofr(value, text, &end, 10, ROUND);
        if (end == text || !mpfr_number_p(value)) {
            return false;
        }
        text = end;
    }
    return *text == 0;
}

/* ---- a pass -------------------------------------------------------------------------------- */

/* One point's way, number by number. */
typedef struct walk {
    const far_ln_ops *o;
    const far_ln_form *form;
    const far_ln_rows *rows;
    const void *parameters;
    void *in, *out; /* the widest layer each */
    void *scratch;  /* SCRATCH */
} walk;

static void multiply(walk *w, const void *parameters, int64_t rows, int64_t cols)
{
    size_t size = w->o->size;
    for (int64_t r = 0; r < rows; r++) {
        mpfr_ptr sum = at(w->out, size, r);
        mpfr_set_zero(sum, 1);
        for (int64_t j = 0; j < cols; j++) {
            mpfr_srcptr weight = at(parameters, size, r * cols + j);
            if (!mpfr_zero_p(weight)) {
                mpfr_fma(sum, weight, at(w->in, size, j), sum, ROUND);
            }
        }
        mpfr_add(sum, sum, at(parameters, size, rows * cols + r), ROUND);
    }
}

static void normalize(walk *w, int64_t group)
{
    size_t size = w->o->size;
    mpfr_ptr mean = at(w->scratch, size, 0), square = at(w->scratch, size, 1);
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(square, 1);
    for (int64_t i = 3 * group; i < 3 * group + 3; i++) {
        mpfr_add(mean, mean, at(w->out, size, i), ROUND);
    }
    mpfr_div_ui(mean, mean, 3, ROUND);
    for (int64_t i = 3 * group; i < 3 * group + 3; i++) {
        mpfr_ptr z = at(w->out, size, i);
        mpfr_sub(z, z, mean, ROUND);
        mpfr_fma(square, z, z, square, ROUND);
    }
    mpfr_div_ui(square, square, 3, ROUND);
    mpfr_add_d(square, square, w->rows->eps, ROUND);
    mpfr_sqrt(square, square, ROUND);
    for (int64_t i = 3 * group; i < 3 * group + 3; i++) {
        mpfr_ptr z = at(w->out, size, i);
        if (!mpfr_zero_p(square)) {
            mpfr_div(z, z, square, ROUND);
        }
    }
}

/* Up or down by some last bits, by dice. */
static void shake(walk *w, uint64_t seed, int64_t count)
{
    size_t size = w->o->size;
    mpfr_ptr by = at(w->scratch, size, 2);
    for (int64_t i = 0; i < count; i++) {
        mpfr_ptr z = at(w->out, size, i);
        mpfr_mul_2si(by, z, FAR_LN_SHAKE_BITS - (long)w->o->bits, ROUND);
        if (far_random_bits(seed, (uint64_t)i) & 1) {
            mpfr_add(z, z, by, ROUND);
        } else {
            mpfr_sub(z, z, by, ROUND);
        }
    }
}

static double circle_at(walk *w, int64_t chain, bool abscissa)
{
    size_t size = w->o->size;
    mpfr_ptr value = at(w->scratch, size, 3);
    if (abscissa) {
        mpfr_sub(value, at(w->out, size, 3 * chain), at(w->out, size, 3 * chain + 1), ROUND);
        return mpfr_get_d(value, ROUND) / sqrt(6);
    }
    mpfr_neg(value, at(w->out, size, 3 * chain + 2), ROUND);
    return mpfr_get_d(value, ROUND) / sqrt(2);
}

/* The state is the ordinate, but for votes, which the next layer reads from two neurons. */
static void tap_layer(walk *w, const void *next, int64_t layer_at, int64_t row)
{
    const far_ln_tap *tap = w->rows->tap;
    int64_t cols = 3 * w->form->groups, read = 3 * tap->chain;
    bool votes = false;
    for (int64_t r = 0; r < (layer_at + 1 < w->form->layers ? cols : w->form->classes); r++) {
        votes |= !mpfr_zero_p(at(next, w->o->size, r * cols + read));
    }
    if (tap->states) {
        ((double *)far_mat_row(tap->states, row))[layer_at + 1] = circle_at(w, tap->chain, votes);
    }
    if (tap->circle) {
        double *circle = far_mat_row(tap->circle, row);
        circle[2 * layer_at] = circle_at(w, tap->chain, true);
        circle[2 * layer_at + 1] = circle_at(w, tap->chain, false);
    }
}

static void tap_projection(walk *w, int64_t row)
{
    const far_ln_tap *tap = w->rows->tap;
    int64_t d = w->form->d;
    size_t size = w->o->size;
    const void *weights = at(w->parameters, size, 3 * tap->chain * d);
    mpfr_ptr sum = at(w->scratch, size, 0), square = at(w->scratch, size, 1);
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(square, 1);
    for (int64_t j = 0; j < d; j++) {
        mpfr_srcptr weight = at(weights, size, j);
        mpfr_fma(sum, weight, at(w->in, size, j), sum, ROUND);
        mpfr_fma(square, weight, weight, square, ROUND);
    }
    mpfr_sqrt(square, square, ROUND);
    mpfr_div(sum, sum, square, ROUND);
    if (tap->states) {
        ((double *)far_mat_row(tap->states, row))[0] = mpfr_get_d(sum, ROUND);
    }
}

static void walk_row(walk *w, int64_t row, void *outputs)
{
    const far_ln_form *f = w->form;
    size_t size = w->o->size;
    int64_t width = 3 * f->groups, next = 0;
    const void *x = far_mat_row(w->rows->x, row);
    for (int64_t j = 0; j < f->d; j++) {
        mpfr_set_d(at(w->in, size, j),
                   w->rows->x->dtype == FAR_F64 ? ((const double *)x)[j]
                                                : (double)((const float *)x)[j],
                   ROUND);
    }
    if (w->rows->tap) {
        tap_projection(w, row);
    }
    for (int64_t l = 0; l < f->layers; l++) {
        int64_t cols = l == 0 ? f->d : width;
        multiply(w, at(w->parameters, size, next), width, cols);
        next += width * (cols + 1);
        for (int64_t g = 0; g < f->groups; g++) {
            normalize(w, g);
        }
        if (w->rows->jitter) {
            shake(w, (uint64_t)(row * f->layers + l), width);
        }
        if (w->rows->tap) {
            tap_layer(w, at(w->parameters, size, next), l, row);
        }
        void *kept = w->in;
        w->in = w->out;
        w->out = kept;
    }
    multiply(w, at(w->parameters, size, next), f->classes, width);
    for (int64_t k = 0; outputs && k < f->classes; k++) {
        mpfr_set(at(outputs, size, row * f->classes + k), at(w->out, size, k), ROUND);
    }
}

static int64_t widest(const far_ln_form *f)
{
    int64_t most = f->d > 3 * f->groups ? f->d : 3 * f->groups;
    return most > f->classes ? most : f->classes;
}

static far_status pass(const far_ln_ops *o, far_ctx *ctx, const far_ln_form *form,
                       const void *parameters, const far_ln_rows *rows, void *outputs)
{
    far_status st = FAR_OK;
    char *room = NULL;
    int threads = far_ctx_threads(ctx);
    int64_t wide = widest(form), each = 2 * wide + SCRATCH;
    far_ln_watch watch = {.ctx = ctx, .total = rows->x->rows, .what = "lnnet check", .every = 1};
    FAR_TRY(far_alloc(ctx, each * threads * (int64_t)o->size, &room));
    start_numbers(room, o->bits, each * threads);
    if (outputs) {
        start_numbers(outputs, o->bits, rows->x->rows * form->classes);
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t i = 0; i < rows->x->rows; i++) {
        int64_t mine = each * omp_get_thread_num();
        walk w = {.o = o, .form = form, .rows = rows, .parameters = parameters};
        w.in = at(room, o->size, mine);
        w.out = at(room, o->size, mine + wide);
        w.scratch = at(room, o->size, mine + 2 * wide);
        if (far_ln_watch_layer(&watch)) {
            walk_row(&w, i, outputs);
        }
    }
    st = (far_status)atomic_load(&watch.stop);
done:
    far_free(ctx, room);
    return st;
}

static double margin_of(const void *outputs, const far_ln_form *f, const far_ln_rows *rows,
                        int64_t row)
{
    size_t size = size_of(outputs);
    mpfr_srcptr own = at(outputs, size, row * f->classes + rows->labels[row]);
    mpfr_srcptr other = NULL;
    mpfr_t difference;
    for (int64_t k = 0; k < f->classes; k++) {
        mpfr_srcptr value = at(outputs, size, row * f->classes + k);
        if (k != rows->labels[row] && (!other || !mpfr_lessequal_p(value, other))) {
            other = value;
        }
    }
    if (!other) {
        return INFINITY;
    }
    mpfr_init2(difference, 53);
    mpfr_sub(difference, own, other, ROUND);
    double margin = mpfr_get_d(difference, ROUND);
    mpfr_clear(difference);
    return margin;
}

static void judge(const void *outputs, const far_ln_form *f, const far_ln_rows *rows,
                  far_lnnet_checked *out)
{
    out->wrong = 0;
    out->first_wrong = -1;
    out->margin = INFINITY;
    for (int64_t i = 0; i < rows->x->rows; i++) {
        double margin = margin_of(outputs, f, rows, i);
        if (!(margin > 0)) {
            out->first_wrong = out->wrong++ == 0 ? i : out->first_wrong;
        }
        out->margin = margin < out->margin || isnan(margin) ? margin : out->margin;
    }
}

far_ln_ops far_ln_mpfr(int64_t bits)
{
    return (far_ln_ops){.precision = FAR_LNNET_MPFR,
                        .bits = bits,
                        .size = number_size(bits),
                        .chain_allocate = chain_allocate,
                        .chain_run = chain_run,
                        .assemble = assemble,
                        .round = round_numbers,
                        .widen = widen,
                        .print = print,
                        .parse = parse,
                        .pass = pass,
                        .judge = judge,
                        .margin = margin_of};
}
