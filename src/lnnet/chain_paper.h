/*
 * Part of chain_impl.h: the rule of the paper. Its abscissa is the ordinate f; ours runs the other
 * way, so its leftmost point is our last one.
 */

/* The last object whose label comes again before it, and that one. There is one: the line is not
 * finished. */
static void NAME(last_pair)(const NAME(line) * line, int64_t *a, int64_t *b)
{
    for (*b = line->n - 1; *b > 0; --*b) {
        for (*a = *b - 1; *a >= 0; --*a) {
            if (line->label[*a] == line->label[*b]) {
                return;
            }
        }
    }
    assert(!"a label comes twice");
}

static REAL NAME(image_of)(const NAME(line) * line, const NAME(fold) * f, int64_t i)
{
    return NAME(image)(f, NAME(centre)(line, i));
}

/* The least distance, among the images of the objects between a and b, of two labels. Those left of
 * the hinge, backwards, and those right of it are merged into one order. */
static REAL NAME(least_image_gap)(const NAME(line) * line, const NAME(fold) * f, int64_t a,
                                  int64_t b)
{
    REAL least = NEW, before = NEW, gap = NEW, left = NEW, right = NEW;
    int32_t label = -1;
    int64_t r = a + 1;
    while (r < b && LESS(line->lo[r], f->z)) {
        r++;
    }
    int64_t l = r - 1;
    SET_TO(least, INFINITY);
    SET(left, NAME(image_of)(line, f, l));
    SET(right, NAME(image_of)(line, f, r));
    while (l > a || r < b) {
        bool go_left = r >= b || (l > a && AT_MOST(left, right));
        int64_t taken = go_left ? l-- : r++;
        SET(gap, SUB(go_left ? left : right, before));
        if (label >= 0 && label != line->label[taken] && LESS(gap, least)) {
            SET(least, gap);
        }
        label = line->label[taken];
        SET(before, go_left ? left : right);
        if (go_left) {
            SET(left, NAME(image_of)(line, f, l));
        } else {
            SET(right, NAME(image_of)(line, f, r));
        }
    }
    return least;
}

#define CONFUSION_BITS 8 /* two points that meet within this many last bits are confused */

#define SHARES 20 /* hinges that are tried between two points */

/* Merges a and b with the hinge some of the SHARES from a. */
static NAME(fold) NAME(sharing)(const NAME(line) * line, int64_t a, int64_t b, int share)
{
    REAL low = NAME(centre)(line, a), high = NAME(centre)(line, b);
    REAL z = ADD(low, OVER(TIMES(SUB(high, low), share), SHARES));
    return NAME(merging)(low, high, z, NUM(1));
}

static REAL NAME(sharing_gap)(const NAME(line) * line, int64_t a, int64_t b, int share)
{
    NAME(fold) f = NAME(sharing)(line, a, b, share);
    return NAME(least_image_gap)(line, &f, a, b);
}

/* The hinge away from the middle, where those between lie farthest apart. */
static void NAME(move_hinge)(const NAME(line) * line, int64_t a, int64_t b, NAME(fold) * f)
{
    REAL gap = NEW, widest = NEW;
    int best = 0;
    SET_TO(widest, -1);
    for (int share = 1; share < SHARES; share++) {
        if (2 * share == SHARES) {
            continue;
        }
        SET(gap, NAME(sharing_gap)(line, a, b, share));
        if (LESS(widest, gap)) {
            SET(widest, gap);
            best = share;
        }
    }
    if (best > 0) {
        *f = NAME(sharing)(line, a, b, best);
    }
}

static far_ln_outcome NAME(next_paper)(far_ln_chain *c, NAME(state) * s, NAME(fold) * out)
{
    int64_t a, b;
    const NAME(line) *line = &s->now;
    NAME(last_pair)(line, &a, &b);
    REAL low = NAME(centre)(line, a), high = NAME(centre)(line, b);
    *out = NAME(merging)(low, high, ADD(low, OVER(SUB(high, low), 2)), NUM(1));
    out->mu = NUM(0);
    if (AT_MOST(NAME(least_image_gap)(line, out, a, b), POWER(CONFUSION_BITS - BITS))) {
        c->confusions++;
        NAME(move_hinge)(line, a, b, out);
    }
    out->a = a;
    out->b = b;
    return FAR_LN_DONE;
}
