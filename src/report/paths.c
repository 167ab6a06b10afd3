#include "paths.h"

#include "svg.h"

#define COLUMNS_PER_PX 2
#define UNSEEN 0.04 /* px */
#define RUN_MOST 50 /* places that one straight piece stands for */

/* ---- simplification ---- */

/* The extremes of line[from, to), which lie in one column. */
static void find_extremes(const far_place *line, int64_t from, int64_t to, int64_t *first,
                          int64_t *second)
{
    int64_t low = from, high = from;
    for (int64_t i = from; i < to; i++) {
        low = line[i].y < line[low].y ? i : low;
        high = line[i].y > line[high].y ? i : high;
    }
    *first = low < high ? low : high;
    *second = low < high ? high : low;
}

static int64_t thin_columns(far_place *line, int64_t count)
{
    int64_t kept = 0;
    for (int64_t from = 0, to; from < count; from = to) {
        double column = floor(line[from].x * COLUMNS_PER_PX);
        for (to = from + 1; to < count && floor(line[to].x * COLUMNS_PER_PX) == column; to++) {
        }
        int64_t first, second;
        find_extremes(line, from, to, &first, &second);
        const int64_t stay[] = {from, first, second, to - 1};
        for (int k = 0; k < 4; k++) {
            if (k == 0 || stay[k] > stay[k - 1]) {
                line[kept++] = line[stay[k]];
            }
        }
    }
    return kept;
}

/* Whether all that lies between two places of a line is as good as on the straight way. */
static bool is_straight(const far_place *line, int64_t from, int64_t to)
{
    double dx = line[to].x - line[from].x, dy = line[to].y - line[from].y;
    double length = hypot(dx, dy);
    for (int64_t i = from + 1; i < to; i++) {
        double ax = line[i].x - line[from].x, ay = line[i].y - line[from].y;
        double along = (ax * dx + ay * dy) / length;
        if (!(fabs(ax * dy - ay * dx) <= UNSEEN * length && along >= 0 && along <= length)) {
            return false;
        }
    }
    return true;
}

static int64_t thin_straights(far_place *line, int64_t count)
{
    int64_t kept = 0;
    for (int64_t from = 0, to; from < count; from = to) {
        line[kept++] = line[from];
        for (to = from + 1;
             to + 1 < count && to - from < RUN_MOST && is_straight(line, from, to + 1); to++) {
        }
    }
    return kept;
}

int64_t far_simplify(far_place *line, int64_t count)
{
    return thin_straights(line, thin_columns(line, count));
}

/* ---- lines ---- */

static void put_place(far_text *t, const char *before, double x, double y)
{
    far_text_add(t, "%s", before);
    far_put_px(t, x);
    far_text_add(t, " ");
    far_put_px(t, y);
}

void far_put_line(far_text *t, const far_place *line, int64_t count, far_box box)
{
    bool pen_down = false;
    for (int64_t i = count == 1 ? 0 : 1; i < count; i++) {
        far_place a = line[i > 0 ? i - 1 : 0], b = line[i], c = b;
        if (!far_clip_segment(box, &a.x, &a.y, &c.x, &c.y)) {
            pen_down = false;
            continue;
        }
        if (!pen_down) {
            put_place(t, "M", a.x, a.y);
        }
        put_place(t, pen_down ? " " : "L", c.x, c.y);
        pen_down = c.x == b.x && c.y == b.y;
    }
}

/* ---- polygons: one side of the box after another (Sutherland and Hodgman) ---- */

/* How far inside the side a corner lies. */
static double depth(far_place p, far_box b, int side)
{
    return side == 0   ? p.x - b.x
           : side == 1 ? b.x + b.w - p.x
           : side == 2 ? p.y - b.y
                       : b.y + b.h - p.y;
}

static int64_t cut(const far_place *in, int64_t count, far_box b, int side, far_place *out)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        far_place p = in[i], q = in[(i + 1) % count];
        double dp = depth(p, b, side), dq = depth(q, b, side);
        if (dp >= 0) {
            out[kept++] = p;
        }
        if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0)) {
            double share = dp / (dp - dq);
            out[kept++] = (far_place){p.x + share * (q.x - p.x), p.y + share * (q.y - p.y)};
        }
    }
    return kept;
}

far_status far_put_polygon(far_text *t, const far_place *corner, int64_t count, far_box box)
{
    far_status st = FAR_OK;
    far_place *now = NULL, *next = NULL;
    const far_place *from = corner;
    for (int side = 0; side < 4 && count > 0; side++) {
        FAR_TRY(far_alloc(t->ctx, 2 * count, &next));
        count = cut(from, count, box, side, next);
        far_free(t->ctx, now);
        from = now = next;
        next = NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        put_place(t, i == 0 ? "M" : i == 1 ? "L" : " ", from[i].x, from[i].y);
    }
    far_text_add(t, "%s", count > 0 ? "Z" : "");
done:
    far_free(t->ctx, now);
    return st;
}
