/*
 * Part of chain_impl.h: the rule of the paper. Its abscissa is the ordinate f; ours runs the other
 * way, so its leftmost point is our last one.
 */

/* The last object whose label comes again before it, and that one. */
static bool NAME(last_pair)(const NAME(line) * line, int64_t *a, int64_t *b)
{
    for (*b = line->n - 1; *b > 0; --*b) {
        for (*a = *b - 1; *a >= 0; --*a) {
            if (line->label[*a] == line->label[*b]) {
                return true;
            }
        }
    }
    return false;
}

/* The least distance, among the images of the objects between a and b, of two labels. */
static REAL NAME(least_image_gap)(const NAME(line) * line, const NAME(fold) * f, int64_t a,
                                  int64_t b)
{
    REAL least = INFINITY, before = -1;
    int32_t label = -1;
    int64_t r = a + 1;
    while (r < b && line->lo[r] < f->z) {
        r++;
    }
    int64_t l = r - 1;
    while (l > a || r < b) {
        REAL left = l > a ? NAME(image)(f, NAME(centre)(line, l)) : (REAL)2;
        REAL right = r < b ? NAME(image)(f, NAME(centre)(line, r)) : (REAL)2;
        int64_t taken = left <= right ? l-- : r++;
        REAL place = left <= right ? left : right;
        if (label >= 0 && label != line->label[taken]) {
            least = place - before < least ? place - before : least;
        }
        label = line->label[taken];
        before = place;
    }
    return least;
}

#define CONFUSION_BITS 8 /* two points that meet within this many last bits are confused */

/* The hinge away from the middle, where those between lie farthest apart. */
static void NAME(move_hinge)(const NAME(line) * line, int64_t a, int64_t b, NAME(fold) * f)
{
    REAL low = NAME(centre)(line, a), high = NAME(centre)(line, b), best = -1;
    for (int i = 1; i < 20; i++) {
        NAME(fold) g = NAME(merging)(low, high, low + (high - low) * (REAL)i / 20, 1);
        REAL gap = NAME(least_image_gap)(line, &g, a, b);
        if (i != 10 && gap > best) {
            best = gap;
            *f = g;
        }
    }
}

static far_ln_outcome NAME(next_paper)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    int64_t a, b;
    const NAME(line) *line = &s->now;
    if (!NAME(last_pair)(line, &a, &b)) {
        return FAR_LN_STUCK;
    }
    REAL low = NAME(centre)(line, a), high = NAME(centre)(line, b);
    *out = NAME(merging)(low, high, low + (high - low) / 2, 1);
    out->mu = 0;
    if (NAME(least_image_gap)(line, out, a, b) <= NAME(fraction)(BITS - CONFUSION_BITS)) {
        c->confusions++;
        NAME(move_hinge)(line, a, b, out);
    }
    out->a = a;
    out->b = b;
    return FAR_LN_DONE;
}
