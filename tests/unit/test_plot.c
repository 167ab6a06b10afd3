/* Figures: ticks, texts and places through the room's own functions; what is written read back by a
 * small XML reader of our own; statistics against plain formulas. */
#include "../../src/data/data_internal.h"
#include "../../src/data/frame_internal.h"
#include "../../src/report/palette.h"
#include "../../src/report/paths.h"
#include "../../src/report/svg.h"

#include <farfield/extras.h>
#include <locale.h>

#include "harness.h"

static double uniform(uint64_t *counter, double low, double high)
{
    return low + (high - low) * far_random_uniform(11, (*counter)++);
}

/* ---- reading XML ---- */

typedef struct element {
    char name[32];
    double dx, dy, turned; /* of the transform of this element and those around it */
} element;

typedef struct reader {
    const char *at;
    element stack[32];
    int depth;
    int ids;
    char id[64][48];
    int64_t texts, series;
    double width, height;
    bool inside; /* every text lies in the picture */
    char worst[200];
} reader;

/* The value of an attribute of the tag that starts at tag; false if it has none. */
static bool attribute(const char *tag, const char *name, char *out, size_t capacity)
{
    char key[64];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *end = strchr(tag, '>'), *at = strstr(tag, key);
    if (!at || at > end) {
        return false;
    }
    at += strlen(key);
    size_t length = strcspn(at, "\"");
    snprintf(out, capacity, "%.*s", (int)(length < capacity ? length : capacity - 1), at);
    return true;
}

static double number_of(const char *tag, const char *name, double otherwise)
{
    char value[64];
    return attribute(tag, name, value, sizeof value) ? strtod(value, NULL) : otherwise;
}

static void check_entity(const char *at)
{
    static const char *const KNOWN[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (int i = 0; i < COUNT(KNOWN); i++) {
        if (strncmp(at, KNOWN[i], strlen(KNOWN[i])) == 0) {
            return;
        }
    }
    fail_msg("a bare & at \"%.30s\"", at);
}

static void note_id(reader *r, const char *tag)
{
    char id[48];
    if (attribute(tag, "id", id, sizeof id)) {
        for (int i = 0; i < r->ids; i++) {
            assert_string_not_equal(r->id[i], id);
        }
        assert_true(r->ids < COUNT(r->id));
        strcpy(r->id[r->ids++], id);
    }
}

/* The content of a <text> as it was before it was written: tspans that are small and moved are
 * raised or lowered. */
static double content_width(const char *tag, double size)
{
    double width = 0, now = size;
    const char *end = strstr(tag, "</text>");
    char plain[512];
    for (const char *s = strchr(tag, '>') + 1; s < end;) {
        if (*s == '<') {
            now = s[1] == '/' ? size : number_of(s, "font-size", size);
            s = strchr(s, '>') + 1;
            continue;
        }
        int used = 0;
        for (; *s != '<' && used < (int)sizeof plain - 1; s++) {
            plain[used++] = *s == '&' ? '&' : *s;
            s += *s == '&' ? (int)strcspn(s, ";") : 0;
        }
        width += far_text_width(plain, used, now);
    }
    return width;
}

static void check_text(reader *r, const char *tag)
{
    element *e = &r->stack[r->depth - 1];
    double size = number_of(tag, "font-size", 0), w = content_width(tag, size);
    double x = number_of(tag, "x", NAN), y = number_of(tag, "y", NAN);
    char anchor[16] = "start";
    attribute(tag, "text-anchor", anchor, sizeof anchor);
    double left = strcmp(anchor, "end") == 0      ? x - w
                  : strcmp(anchor, "middle") == 0 ? x - w / 2
                                                  : x;
    double turn = e->turned * M_PI / 180;
    for (int corner = 0; corner < 4; corner++) {
        double px = left + (corner & 1 ? w : 0);
        double py = y + (corner & 2 ? FAR_DESCENT : -FAR_ASCENT) * size;
        double cx = e->dx + px * cos(turn) - py * sin(turn);
        double cy = e->dy + px * sin(turn) + py * cos(turn);
        if (!(cx > -0.5 && cx < r->width + 0.5 && cy > -0.5 && cy < r->height + 0.5)) {
            r->inside = false;
            snprintf(r->worst, sizeof r->worst, "(%g, %g) %.100s", cx, cy, strchr(tag, '>') + 1);
        }
    }
    assert_true(size >= 6);
    r->texts++;
}

static void push(reader *r, const char *tag, int length)
{
    assert_true(r->depth < COUNT(r->stack));
    element *e = &r->stack[r->depth], *outer = r->depth > 0 ? e - 1 : NULL;
    *e = outer ? *outer : (element){0};
    snprintf(e->name, sizeof e->name, "%.*s", length, tag + 1);
    char move[80];
    if (attribute(tag, "transform", move, sizeof move)) {
        double dx, dy, turned;
        assert_int_equal(sscanf(move, "translate(%lf %lf) rotate(%lf)", &dx, &dy, &turned), 3);
        e->dx += dx;
        e->dy += dy;
        e->turned += turned;
    }
    r->depth++;
}

static const char *read_tag(reader *r, const char *tag)
{
    const char *end = strchr(tag, '>');
    assert_non_null(end);
    int length = (int)strcspn(tag + 1, " />");
    if (tag[1] == '/') {
        const element *e = &r->stack[--r->depth];
        assert_true(r->depth >= 0);
        assert_int_equal(strncmp(e->name, tag + 2, strlen(e->name)), 0);
        assert_int_equal(tag[2 + strlen(e->name)], '>');
        return end + 1;
    }
    for (const char *s = tag; s < end; s++) {
        if (*s == '&') {
            check_entity(s);
        }
        assert_true(*s != '<' || s == tag);
    }
    note_id(r, tag);
    push(r, tag, length);
    if (r->depth == 1) {
        r->width = number_of(tag, "width", 0);
        r->height = number_of(tag, "height", 0);
    }
    r->series += strstr(tag, "class=\"far-series\"") && strstr(tag, "class=\"far-series\"") < end;
    if (strcmp(r->stack[r->depth - 1].name, "text") == 0) {
        check_text(r, tag);
    }
    r->depth -= end[-1] == '/';
    return end + 1;
}

/* Fails unless the text is one well-formed element with unique ids. */
static reader read_svg(const char *svg)
{
    reader r = {.inside = true};
    const char *at = svg;
    while (*at) {
        if (*at == '<') {
            at = read_tag(&r, at);
            continue;
        }
        if (*at == '&') {
            check_entity(at);
        }
        assert_true(r.depth > 0 || *at == '\n');
        const char *letter = at;
        assert_true(far_utf8_next(&at) != 0xfffd || strncmp(letter, "\xef\xbf\xbd", 3) == 0);
    }
    assert_int_equal(r.depth, 0);
    return r;
}

/* ---- figures to test ---- */

static far_figure *figure_of(const far_figure_opts *o)
{
    far_figure *f;
    must(far_figure_create(ctx, o, &f));
    return f;
}

static far_figure_opts labelled(const char *title)
{
    far_figure_opts o;
    far_figure_opts_init(&o);
    o.title = title;
    o.x_label = "x (m)";
    o.y_label = "y";
    return o;
}

static far_mark_opts named(const char *label)
{
    far_mark_opts m;
    far_mark_opts_init(&m);
    m.label = label;
    return m;
}

static char *svg_of(const far_figure *f, far_theme theme)
{
    static char *svg; /* gcc 12 thinks what follows from a local one dangles */
    must(far_figure_svg(ctx, f, theme, &svg));
    return svg;
}

/* Draws it, checks that it is well-formed with all labels inside, and destroys it. */
static reader finish(far_figure *f)
{
    char *svg = svg_of(f, FAR_THEME_AUTO);
    reader r = read_svg(svg);
    if (!r.inside) {
        fail_msg("a label leaves the picture: %s", r.worst);
    }
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    return r;
}

static const double X[] = {0, 1, 2, 3, 4, 5, 6}, Y[] = {3, 1, 4, 1, 5, 9, 2};

static far_figure *simple_figure(void)
{
    far_figure_opts o = labelled("a <title> & more");
    far_figure *f = figure_of(&o);
    far_mark_opts m = named("one \"line\"");
    must(far_figure_line(ctx, f, X, Y, COUNT(X), &m));
    return f;
}

/* One layer of every kind that goes on numbers. */
static far_figure *full_figure(void)
{
    static const double low[] = {2, 0, 3, 0, 4, 8, 1}, high[] = {4, 2, 5, 2, 6, 10, 3};
    static const double edges[] = {0, 2, 4, 6}, counts[] = {2, 0, 5};
    far_figure *f = simple_figure();
    far_mark_opts m = named(NULL);
    m.colour = FAR_COLOUR_SAME;
    must(far_figure_band(ctx, f, X, low, high, COUNT(X), &m));
    must(far_figure_points(ctx, f, X, high, COUNT(X), NULL));
    m = named("counts");
    must(far_figure_histogram(ctx, f, edges, counts, 3, &m));
    m = named("a rule");
    must(far_figure_rule(ctx, f, FAR_HORIZONTAL, 7, &m));
    must(far_figure_rule(ctx, f, FAR_VERTICAL, 2.5, NULL));
    must(far_figure_text(ctx, f, 1, 8, "a text", 0, NULL));
    return f;
}

static const char *const MODELS[] = {"LN every", "Standard NN", "XGBoost"};

static far_figure *bar_figure(void)
{
    static const double values[] = {0.5, 0.31, -0.27}, errors[] = {0.02, NAN, 0.1};
    far_figure_opts o = labelled("R^{2} of models");
    o.categories = MODELS;
    o.category_count = 3;
    far_figure *f = figure_of(&o);
    far_mark_opts m = named("in");
    must(far_figure_bars(ctx, f, values, errors, 3, &m));
    m = named("out");
    must(far_figure_bars(ctx, f, values, NULL, 3, &m));
    return f;
}

static far_figure *heat_figure(int scale)
{
    static const double z[] = {1, 10, 100, 1e3, 1e4, 1e5, 5, NAN, 50, 2, 20, 200, 7, 70, 700};
    far_figure_opts o = labelled("heat");
    far_figure *f = figure_of(&o);
    far_heat_opts h;
    far_heat_opts_init(&h);
    h.label = "kernel";
    h.scale = scale;
    h.x_min = h.y_min = -25;
    h.x_max = h.y_max = 25;
    must(far_figure_heat(ctx, f, z, 3, 5, &h));
    return f;
}

static far_figure *grid_figure(void)
{
    far_figure *parts[6] = {simple_figure(), bar_figure(),   NULL, heat_figure(FAR_SCALE_LOG),
                            full_figure(),   simple_figure()};
    far_grid_opts g;
    far_grid_opts_init(&g);
    g.title = "all kinds";
    g.note = "a note";
    g.width = 900;
    g.height = 600;
    far_figure *f;
    must(far_figure_grid(ctx, parts, 2, 3, &g, &f));
    for (int i = 0; i < 6; i++) {
        far_figure_destroy(parts[i]);
    }
    return f;
}

/* ---- ticks ---- */

static void check_labels(const far_ticks *t)
{
    for (int i = 0; i < t->count; i++) {
        assert_true(t->tick[i].label[0] != 0);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(t->tick[i].label, t->tick[j].label);
        }
        assert_true(i == 0 || t->tick[i].value > t->tick[i - 1].value);
    }
}

/* 4 to 9, steps of 1, 2 or 5, none left out; 10 only where the next step would leave 3. */
static void check_linear(double low, double high)
{
    far_ticks t;
    far_ticks_choose(FAR_SCALE_LINEAR, low, high, 1, 9, &t);
    double step = t.mantissa * pow(10, t.exponent), slack = 1e-6 * step;
    if (t.count < 4 || t.count > 10) {
        fail_msg("%d ticks from %g to %g", t.count, low, high);
    }
    if (t.count == 10) {
        assert_int_equal(t.mantissa, 2);
        double five = 2.5 * step;
        assert_true(floor(high / five + 1e-9) - ceil(low / five - 1e-9) + 1 == 3);
    }
    assert_true(t.mantissa == 1 || t.mantissa == 2 || t.mantissa == 5);
    double first = t.tick[0].value, last = t.tick[t.count - 1].value;
    assert_true(first >= low - slack && first - low < step + slack);
    assert_true(last <= high + slack && high - last < step + slack);
    for (int i = 1; i < t.count; i++) {
        assert_true(fabs(t.tick[i].value - t.tick[i - 1].value - step) < slack);
    }
    check_labels(&t);
}

static void linear_ticks_are_few_and_round(void **state)
{
    (void)state;
    uint64_t c = 0;
    for (int i = 0; i < 20000; i++) {
        double size = pow(10, uniform(&c, -12, 12)), low = uniform(&c, -3, 3) * size;
        double range = size * pow(10, uniform(&c, -5, 1));
        check_linear(low, low + range);
    }
    check_linear(0, 1);
    check_linear(-1e300, 1e300);
    check_linear(5.5, 24.5);
    check_linear(1e-290, 3e-290);
}

static void log_ticks_are_decades(void **state)
{
    (void)state;
    uint64_t c = 1000000;
    for (int i = 0; i < 20000; i++) {
        double low = pow(10, uniform(&c, -30, 30));
        double high = low * pow(10, uniform(&c, 0.3, i % 3 == 0 ? 200 : 8));
        far_ticks t;
        int most = high / low > 10 ? 3 + i % 7 : 9;
        far_ticks_choose(FAR_SCALE_LOG, low, high, 1, most, &t);
        if (t.count < 3 || t.count > most + 2) {
            fail_msg("%d ticks from %g to %g, %d wanted", t.count, low, high, most);
        }
        check_labels(&t);
        for (int k = 0; k < t.count; k++) {
            double e = log10(t.tick[k].value);
            assert_true(t.tick[k].value >= low * (1 - 1e-8) &&
                        t.tick[k].value <= high * (1 + 1e-8));
            assert_true(high / low < 1e4 || fabs(e - round(e)) < 1e-9);
        }
        for (int k = 0; k < t.minor_count; k++) {
            assert_true(t.minor[k] > low && t.minor[k] < high);
        }
    }
}

static void symlog_ticks_have_zero(void **state)
{
    (void)state;
    uint64_t c = 2000000;
    for (int i = 0; i < 5000; i++) {
        double linear = pow(10, uniform(&c, -5, 5));
        double low = -linear * pow(10, uniform(&c, -1, 9));
        double high = linear * pow(10, uniform(&c, -1, 9));
        far_ticks t;
        far_ticks_choose(FAR_SCALE_SYMLOG, low, high, linear, 9, &t);
        assert_in_range(t.count, 3, 10);
        check_labels(&t);
        int zeros = 0;
        for (int k = 0; k < t.count; k++) {
            zeros += t.tick[k].value == 0;
            assert_true(t.tick[k].value >= low * 1.0000001 && t.tick[k].value <= high * 1.0000001);
        }
        assert_int_equal(zeros, 1);
    }
}

typedef struct label_case {
    int scale;
    double low, high;
    const char *labels, *factor;
} label_case;

#define MINUS "\xe2\x88\x92"
#define THIN "\xe2\x80\x89"
static const label_case LABELS[] = {
    {0, 0, 1, "0|0.2|0.4|0.6|0.8|1.0|", ""},
    {0, -25, 25, MINUS "20|" MINUS "10|0|10|20|", ""},
    {0, 20000, 40000, "20" THIN "000|25" THIN "000|30" THIN "000|35" THIN "000|40" THIN "000|", ""},
    {0, 0, 3.2e12, "0|0.5|1.0|1.5|2.0|2.5|3.0|",
     "\xc3\x97"
     "10^{12}"},
    {0, 2e-5, 7e-5, "2|3|4|5|6|7|",
     "\xc3\x97"
     "10^{" MINUS "5}"},
    {0, 1000001, 1000009, "1|2|3|4|5|6|7|8|9|", "+ 1" THIN "000" THIN "000"},
    {0, 0.001, 0.004, "0.0010|0.0015|0.0020|0.0025|0.0030|0.0035|0.0040|", ""},
    {1, 0.5, 2000, "1|10|100|1000|", ""},
    {1, 1e-4, 10, "10^{" MINUS "4}|10^{" MINUS "3}|10^{" MINUS "2}|10^{" MINUS "1}|10^{0}|10^{1}|",
     ""},
    {1, 2, 90, "2|5|10|20|50|", ""},
    {1, 3e5, 4e6,
     "5\xc3\x97"
     "10^{5}|10^{6}|2\xc3\x97"
     "10^{6}|",
     ""},
    {2, -5e6, -40, MINUS "10^{6}|" MINUS "10^{5}|" MINUS "10^{4}|" MINUS "10^{3}|" MINUS "10^{2}|",
     ""},
    {2, -500, 3e6, MINUS "10^{2}|" MINUS "10^{1}|0|10^{1}|10^{2}|10^{3}|10^{4}|10^{5}|10^{6}|", ""},
};

/* With c = 10. */
static void labels_are_what_people_write(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(LABELS); i++) {
        far_ticks t;
        far_ticks_choose(LABELS[i].scale, LABELS[i].low, LABELS[i].high, 10, 9, &t);
        char all[400] = "";
        for (int k = 0; k < t.count; k++) {
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", t.tick[k].label);
        }
        assert_string_equal(all, LABELS[i].labels);
        assert_string_equal(t.factor, LABELS[i].factor);
    }
}

/* ---- letters ---- */

static void widths_are_those_of_the_font(void **state)
{
    (void)state;
    assert_near(far_text_width("0", 1, 1000), 636, 1e-9);
    assert_near(far_text_width("mi", 2, 1000), 974 + 278, 1e-9);
    assert_near(far_text_width("\xce\x98", 2, 1000), 787, 1e-9);  /* Theta */
    assert_near(far_text_width("e\xcc\x81", 3, 1000), 615, 1e-9); /* an accent */
    assert_near(far_text_width("10^{3}", 6, 1000), 3 * 636 - 636 * (1 - FAR_SMALL), 1e-9);
    assert_near(far_text_width("a^b", 3, 1000), 613 + 838 + 635, 1e-9); /* no braces */
    assert_near(far_text_width("a^{b", 4, 1000), 613 + 838 + 636 + 635, 1e-9);
}

static void bad_bytes_are_replaced(void **state)
{
    (void)state;
    static const char *const BAD[] = {"\x80", "\xc0\xaf",         "\xe2\x82",    "\xed\xa0\x80",
                                      "\xff", "\xf5\x80\x80\x80", "\xe0\x80\x80"};
    for (int i = 0; i < COUNT(BAD); i++) {
        const char *at = BAD[i];
        assert_int_equal(far_utf8_next(&at), 0xfffd);
        assert_int_equal(at - BAD[i], 1);
        far_figure_opts o = labelled(BAD[i]);
        far_figure *f = figure_of(&o);
        must(far_figure_line(ctx, f, X, Y, COUNT(X), NULL));
        finish(f);
    }
    const char *good = "\xf0\x9d\x9b\xa9";
    assert_int_equal(far_utf8_next(&good), 0x1d6e9);
}

static void lines_are_wrapped(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"one",
                                        "a b c d e f",
                                        "averyveryverylongwordthatmustbebroken in two",
                                        "x^{2} and y_{long subscript} here",
                                        "with\nits own\nlines",
                                        "  spaces   galore  ",
                                        ""};
    for (int i = 0; i < COUNT(TEXTS); i++) {
        for (double width = 5; width < 400; width *= 1.7) {
            char *wrapped;
            must(far_wrap(ctx, TEXTS[i], 12, width, &wrapped));
            const char *rest = wrapped, *line;
            int64_t length;
            while (far_line_next(&rest, &line, &length)) {
                double w = far_text_width(line, length, 12);
                bool one = length > 0 && (strchr(line, '{') || length == 1);
                assert_true(w <= width || one); /* a letter is never divided */
            }
            const char *a = TEXTS[i], *b = wrapped; /* nothing but white space is lost */
            for (; *a || *b; a++, b++) {
                a += strspn(a, " \n");
                b += strspn(b, " \n");
                assert_int_equal(*a, *b);
                if (!*a) {
                    break;
                }
            }
            far_free(ctx, wrapped);
        }
    }
}

/* ---- paths ---- */

static double distance_to(far_place p, far_place a, far_place b)
{
    double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    double t = square > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / square : 0;
    t = fmin(1, fmax(0, t));
    return hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/* The highest and lowest of each half pixel column lie on what is kept, the others beside it. */
static void simplified_lines_look_the_same(void **state)
{
    (void)state;
    enum { N = 20000, COLUMNS = 1200 };
    static far_place line[N], kept[N];
    static int top[COLUMNS], bottom[COLUMNS];
    uint64_t c = 0;
    for (int i = 0; i < N; i++) {
        double noise = uniform(&c, -20, 20) * (i > N / 2);
        line[i] = kept[i] = (far_place){600.0 * i / N, 200 + 100 * sin(i * 0.01) + noise};
        int k = (int)floor(2 * line[i].x);
        bool first = i == 0 || (int)floor(2 * line[i - 1].x) != k;
        top[k] = first || line[i].y < line[top[k]].y ? i : top[k];
        bottom[k] = first || line[i].y > line[bottom[k]].y ? i : bottom[k];
    }
    int64_t count = far_simplify(kept, N), from = 0;
    assert_true(count < N / 4);
    for (int i = 0; i < N; i++) {
        while (kept[from + 1].x < line[i].x - 1) {
            from++;
        }
        double nearest = INFINITY;
        for (int64_t k = from; k + 1 < count && kept[k].x < line[i].x + 1; k++) {
            nearest = fmin(nearest, distance_to(line[i], kept[k], kept[k + 1]));
        }
        int column = (int)floor(2 * line[i].x);
        assert_true(nearest < (i == top[column] || i == bottom[column] ? 0.05 : 0.6));
    }
}

static void a_straight_line_is_two_points(void **state)
{
    (void)state;
    far_place line[40];
    for (int i = 0; i < 40; i++) {
        line[i] = (far_place){3.0 * i, 7 + 1.5 * i};
    }
    assert_int_equal(far_simplify(line, 40), 2);
    assert_near(line[1].x, 117, 0);
    far_place back[] = {{0, 0}, {10, 0}, {5, 0}}; /* turning around is not straight */
    assert_int_equal(far_simplify(back, 3), 3);
}

static void huge_values_stay_near_the_plot(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3}, y[] = {0, 1e200, -1e280, 1};
    static const double low[] = {-1, -1e250, -5, 0}, high[] = {1, 1e299, 3, 2};
    far_figure_opts o = labelled(NULL);
    o.y_min = -2;
    o.y_max = 2;
    far_figure *f = figure_of(&o);
    must(far_figure_line(ctx, f, x, y, 4, NULL));
    must(far_figure_band(ctx, f, x, low, high, 4, NULL));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    for (const char *s = strstr(svg, " d=\"M"); s; s = strstr(s + 1, " d=\"M")) {
        for (const char *v = s + 5; *v != '"';) {
            char *end;
            double value = strtod(v, &end);
            if (end == v) {
                v++;
                continue;
            }
            assert_true(fabs(value) < 2000);
            v = end;
        }
    }
    far_text_free(ctx, svg);
    far_figure_destroy(f);
}

/* ---- layout ---- */

typedef struct key_place {
    far_box key, plot;
    bool inside;
} key_place;

/* Whether a place of the data lies in the legend: found without the room's own test. */
static bool covers(far_box b, double x, double y)
{
    return x > b.x && x < b.x + b.w && y > b.y && y < b.y + b.h;
}

static void check_walk(const far_panel *p, far_box key, const double *x, const double *y, int64_t n)
{
    for (int64_t i = 0; i + 1 < n; i++) {
        double x1 = far_axis_place(&p->x, x[i]), y1 = far_axis_place(&p->y, y[i]);
        double x2 = far_axis_place(&p->x, x[i + 1]), y2 = far_axis_place(&p->y, y[i + 1]);
        int steps = 2 + (int)hypot(x2 - x1, y2 - y1);
        for (int k = 0; k <= steps; k++) {
            double t = (double)k / steps;
            assert_false(covers(key, x1 + t * (x2 - x1), y1 + t * (y2 - y1)));
        }
    }
}

static void check_key(const far_panel *p)
{
    far_box key = p->key.box, plot = p->plot;
    if (p->key_place != FAR_LEGEND_AUTO) {
        assert_false(far_boxes_meet(key, plot));
        return;
    }
    assert_true(key.x >= plot.x && key.x + key.w <= plot.x + plot.w);
    assert_true(key.y >= plot.y && key.y + key.h <= plot.y + plot.h);
    for (int64_t k = 0; k < p->figure->layer_count; k++) {
        const far_mark *m = &p->figure->layers[k];
        double *const *c = m->column;
        if (m->kind == FAR_MARK_LINE) {
            check_walk(p, key, c[FAR_COLUMN_X], c[FAR_COLUMN_Y], m->count);
        } else if (m->kind == FAR_MARK_BAND) {
            check_walk(p, key, c[FAR_COLUMN_X], c[FAR_COLUMN_LOW], m->count);
            check_walk(p, key, c[FAR_COLUMN_X], c[FAR_COLUMN_HIGH], m->count);
        } else if (m->kind == FAR_MARK_POINTS) {
            for (int64_t i = 0; i < m->count; i++) {
                assert_false(covers(far_box_grown(key, 1),
                                    far_axis_place(&p->x, c[FAR_COLUMN_X][i]),
                                    far_axis_place(&p->y, c[FAR_COLUMN_Y][i])));
            }
        } else if (m->kind == FAR_MARK_HISTOGRAM) {
            for (int64_t i = 0; i < m->count; i++) {
                double x = (c[FAR_COLUMN_X][i] + c[FAR_COLUMN_X_TO][i]) / 2;
                for (double y = 0; y <= c[FAR_COLUMN_Y][i]; y += c[FAR_COLUMN_Y][i] / 50 + 1e-3) {
                    assert_false(covers(key, far_axis_place(&p->x, x), far_axis_place(&p->y, y)));
                }
            }
        }
    }
}

static void add_random_layer(far_figure *f, int kind, uint64_t *c)
{
    enum { N = 41 };
    double x[N + 1], y[N], high[N];
    double slope = uniform(c, -3, 3), bend = uniform(c, -0.3, 0.3), noise = uniform(c, 0, 3);
    for (int i = 0; i <= N; i++) {
        x[i] = i * 0.25;
    }
    for (int i = 0; i < N; i++) {
        double around = x[i] - 5;
        y[i] = slope * around + bend * around * around + uniform(c, -noise, noise);
        y[i] = kind == 3 ? fabs(y[i]) : y[i];
        high[i] = y[i] + uniform(c, 0, 2);
    }
    char label[40];
    snprintf(label, sizeof label, "series %.*s", (int)uniform(c, 0, 20), "with a longer name");
    far_mark_opts m = named(label);
    switch (kind) {
    case 0:
        must(far_figure_line(ctx, f, x, y, N, &m));
        break;
    case 1:
        must(far_figure_points(ctx, f, x, y, N, &m));
        break;
    case 2:
        must(far_figure_band(ctx, f, x, y, high, N, &m));
        break;
    default:
        must(far_figure_histogram(ctx, f, x, y, N, &m));
    }
}

static void legends_never_cover_data(void **state)
{
    (void)state;
    uint64_t c = 0;
    int inside = 0, outside = 0;
    for (int trial = 0; trial < 400; trial++) {
        far_figure_opts o = labelled("title");
        o.width = uniform(&c, 300, 900);
        o.height = uniform(&c, 220, 600);
        far_figure *f = figure_of(&o);
        int layers = 1 + (int)uniform(&c, 0, 5);
        for (int k = 0; k < layers; k++) {
            add_random_layer(f, (int)uniform(&c, 0, 4), &c);
        }
        far_sheet sheet = {.ctx = ctx};
        must(far_sheet_layout(ctx, f, &sheet));
        check_key(&sheet.panels[0]);
        inside += sheet.panels[0].key_place == FAR_LEGEND_AUTO;
        outside += sheet.panels[0].key_place != FAR_LEGEND_AUTO;
        far_sheet_clear(&sheet);
        far_figure_destroy(f);
    }
    assert_true(inside > 200 && outside > 20); /* both ways are tried */
}

static void labels_stay_inside(void **state)
{
    (void)state;
    uint64_t c = 5000;
    static const char *const NAMES[] = {"an infinitely wide network",
                                        "b",
                                        "Extraordinarilylongwordwithoutspaces",
                                        "XGBoost",
                                        "mean of the training targets",
                                        "LN",
                                        "linear",
                                        "dense(128) ln relu dense(1)"};
    for (int trial = 0; trial < 150; trial++) {
        far_figure_opts o = labelled("a title of several words that may have to be wrapped");
        o.width = uniform(&c, 420, 900);
        o.height = uniform(&c, 400, 700);
        o.font = uniform(&c, 8, 16);
        o.y_scale = trial % 3;
        o.x_scale = trial / 3 % 3;
        o.note = trial % 2 ? "a note that goes on for quite a while, so that it "
                             "needs a second line"
                           : NULL;
        bool bars = trial % 5 == 0;
        if (bars) {
            o.x_scale = FAR_SCALE_LINEAR;
            o.categories = NAMES;
            o.category_count = 2 + trial % 7;
        }
        far_figure *f = figure_of(&o);
        double size = pow(10, uniform(&c, -9, 9)), x[30], y[30];
        for (int i = 0; i < 30; i++) {
            x[i] = uniform(&c, 0.5, 30) * size;
            y[i] = uniform(&c, 0.1, 100) / size;
        }
        far_mark_opts m = named("a label for the legend");
        if (bars) {
            must(far_figure_bars(ctx, f, y, NULL, o.category_count, &m));
        } else {
            must(far_figure_points(ctx, f, x, y, 30, &m));
        }
        assert_true(finish(f).texts > 5);
    }
    finish(grid_figure());
    finish(full_figure());
    finish(heat_figure(FAR_SCALE_LINEAR));
    finish(heat_figure(FAR_SCALE_SYMLOG));
}

static void panels_of_a_grid_line_up(void **state)
{
    (void)state;
    far_figure *parts[12];
    for (int i = 0; i < 12; i++) {
        far_figure_opts o = labelled(i < 4 ? "column" : NULL);
        parts[i] = figure_of(&o);
        double y[COUNT(X)];
        for (int k = 0; k < COUNT(X); k++) {
            y[k] = Y[k] * pow(10, i);
        }
        far_mark_opts m = named("shared");
        must(far_figure_line(ctx, parts[i], X, y, COUNT(X), &m));
    }
    far_grid_opts g;
    far_grid_opts_init(&g);
    g.share_x = FAR_SHARE_ALL;
    g.share_y = FAR_SHARE_LINE;
    far_figure *f;
    must(far_figure_grid(ctx, parts, 3, 4, &g, &f));
    far_sheet sheet = {.ctx = ctx};
    must(far_sheet_layout(ctx, f, &sheet));
    assert_int_equal(sheet.key.count, 1);
    for (int i = 0; i < 12; i++) {
        const far_panel *p = &sheet.panels[i], *first = &sheet.panels[i / 4 * 4];
        assert_near(p->plot.w, sheet.panels[0].plot.w, 1e-9);
        assert_near(p->plot.h, sheet.panels[0].plot.h, 1e-9);
        assert_near(p->plot.y, first->plot.y, 1e-9);
        assert_near(p->plot.x, sheet.panels[i % 4].plot.x, 1e-9);
        assert_near(p->y.high, first->y.high, 0);
        assert_int_equal(p->y_numbers, i % 4 == 0);
        assert_int_equal(p->x_numbers, i >= 8);
    }
    far_sheet_clear(&sheet);
    for (int i = 0; i < 12; i++) {
        far_figure_destroy(parts[i]); /* the grid holds on to them */
    }
    finish(f);
}

/* Upright as long as they can be, and never into the name beside. */
static void long_names_are_wrapped_before_they_slant(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"infinite width, LN first (1672 rows)",
                                        "infinite width, LN second (1672 rows)",
                                        "infinite width, LN every (1672 rows)",
                                        "XGBoost",
                                        "linear regression",
                                        "LN first",
                                        "LN second"};
    static const double VALUES[] = {1, 2, 3, 4, 5, 6, 7};
    for (int wide = 0; wide < 2; wide++) {
        far_figure_opts o = labelled(NULL);
        o.width = wide ? 640 : 420;
        o.categories = NAMES;
        o.category_count = COUNT(NAMES);
        far_figure *f = figure_of(&o);
        must(far_figure_bars(ctx, f, VALUES, NULL, COUNT(NAMES), NULL));
        far_sheet sheet = {.ctx = ctx};
        must(far_sheet_layout(ctx, f, &sheet));
        const far_panel *p = &sheet.panels[0];
        assert_int_equal(p->slanted, !wide);
        for (int i = 0; wide && i < COUNT(NAMES); i++) {
            assert_true(far_lines_width(p->names[i], p->small) < p->plot.w / COUNT(NAMES));
        }
        far_sheet_clear(&sheet);
        finish(f);
    }
}

/* How far down the middle of a turned text is. */
static double height_of_text(const char *svg, const char *text)
{
    char wanted[64];
    double x, y;
    snprintf(wanted, sizeof wanted, ">%s<", text);
    const char *at = strstr(svg, wanted);
    assert_non_null(at);
    while (at > svg && strncmp(at, "translate(", 10) != 0) {
        at--;
    }
    assert_int_equal(sscanf(at, "translate(%lf %lf)", &x, &y), 2);
    return y;
}

/* The numbers under the last row do not count. */
static void a_shared_label_stands_in_the_middle_of_the_plots(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"a name of some length", "and another one that is longer"};
    far_figure *parts[2], *f;
    for (int i = 0; i < 2; i++) {
        far_figure_opts o = labelled(NULL);
        o.x_label = NULL;
        o.categories = NAMES;
        o.category_count = 2;
        parts[i] = figure_of(&o);
        must(far_figure_bars(ctx, parts[i], Y, NULL, 2, NULL));
    }
    far_grid_opts g;
    far_grid_opts_init(&g);
    g.title = "whole";
    g.y_label = "shared";
    g.share_x = FAR_SHARE_ALL;
    must(far_figure_grid(ctx, parts, 2, 1, &g, &f));
    far_sheet sheet = {.ctx = ctx};
    must(far_sheet_layout(ctx, f, &sheet));
    far_box first = sheet.panels[0].plot, last = sheet.panels[1].plot;
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    assert_near(height_of_text(svg, "shared"), (first.y + last.y + last.h) / 2, 0.1);
    far_text_free(ctx, svg);
    far_sheet_clear(&sheet);
    far_figure_destroy(parts[0]);
    far_figure_destroy(parts[1]);
    finish(f);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) {
        count++;
    }
    return count;
}

static void bars_that_leave_the_plot_have_no_error_bar(void **state)
{
    (void)state;
    static const double VALUES[] = {0.5, -7.5, 0.4}, ERRORS[] = {0.1, 9, 2};
    far_figure_opts o = labelled(NULL);
    o.categories = MODELS;
    o.category_count = 3;
    o.y_min = -1;
    far_figure *f = figure_of(&o);
    must(far_figure_bars(ctx, f, VALUES, ERRORS, 3, NULL));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    assert_int_equal(count_of(svg, "<path class=\"far-error\""), 2);
    far_text_free(ctx, svg);
    finish(f);
}

/* ---- what is written ---- */

static void every_kind_is_a_series(void **state)
{
    (void)state;
    assert_int_equal(finish(full_figure()).series, 7);
    assert_int_equal(finish(bar_figure()).series, 2);
    assert_int_equal(finish(heat_figure(FAR_SCALE_LOG)).series, 1);
    assert_int_equal(finish(grid_figure()).series, 1 + 2 + 1 + 7 + 1);
}

static int64_t hover_count(const char *svg, const char *kind, const char *fields)
{
    char key[120];
    snprintf(key, sizeof key, "data-kind=\"%s\"", kind);
    const char *at = strstr(svg, key);
    assert_non_null(at);
    snprintf(key, sizeof key, " data-fields=\"%s\" data-points=\"[", fields);
    const char *points = strstr(at, key);
    assert_non_null(points);
    points += strlen(key);
    int64_t numbers = *points == ']' ? 0 : 1, each = 1;
    for (const char *s = points; *s != ']'; s++) {
        numbers += *s == ',';
        assert_true(strchr("0123456789.,+-enul", *s) != NULL);
    }
    for (const char *s = fields; *s; s++) {
        each += *s == ',';
    }
    assert_int_equal(numbers % each, 0);
    return numbers / each;
}

static void scripts_find_the_values(void **state)
{
    (void)state;
    far_figure *f = full_figure();
    char *svg = svg_of(f, FAR_THEME_PAGE);
    assert_int_equal(hover_count(svg, "line", "px,py,x,y"), COUNT(X));
    assert_int_equal(hover_count(svg, "points", "px,py,x,y"), COUNT(X));
    assert_int_equal(hover_count(svg, "band", "px,py,x,low,high"), COUNT(X));
    assert_int_equal(hover_count(svg, "histogram", "px,py,from,to,y"), 3);
    assert_non_null(strstr(svg, "data-x-label=\"x (m)\""));
    assert_non_null(strstr(svg, "data-label=\"one &quot;line&quot;\""));
    assert_null(strstr(svg, "<style>"));
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    f = bar_figure();
    svg = svg_of(f, FAR_THEME_PAGE);
    assert_int_equal(hover_count(svg, "bars", "px,py,x,y,low,high"), 3);
    assert_non_null(
        strstr(svg, "data-categories=\"[&quot;LN every&quot;,&quot;Standard NN&quot;,"));
    assert_non_null(strstr(svg, "<title>in, LN every: 0.5 (0.48 to 0.52)</title>"));
    far_text_free(ctx, svg);
    far_figure_destroy(f);
}

static void many_points_are_thinned(void **state)
{
    (void)state;
    enum { N = 50000 };
    double *x, *y;
    uint64_t c = 0;
    must(far_alloc(ctx, N, &x));
    must(far_alloc(ctx, N, &y));
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = uniform(&c, 0, 1);
    }
    far_figure *f = figure_of(NULL);
    must(far_figure_points(ctx, f, x, y, N, NULL));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    int64_t count = hover_count(svg, "points", "px,py,x,y");
    assert_in_range(count, FAR_HOVER_POINTS / 2, FAR_HOVER_POINTS);
    int64_t dots = 0;
    for (const char *s = strstr(svg, "h0"); s; s = strstr(s + 1, "h0")) {
        dots++;
    }
    assert_in_range(dots, FAR_DRAWN_POINTS / 2, FAR_DRAWN_POINTS);
    assert_non_null(strstr(svg, "about 20000 of 50000 points are drawn."));
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    f = figure_of(NULL);
    must(far_figure_line(ctx, f, x, y, N, NULL));
    svg = svg_of(f, FAR_THEME_LIGHT);
    assert_true(strlen(svg) < 150000);
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    far_free(ctx, x);
    far_free(ctx, y);
}

static void themes_have_their_colours(void **state)
{
    (void)state;
    far_figure *f = simple_figure();
    char *light = svg_of(f, FAR_THEME_LIGHT), *dark = svg_of(f, FAR_THEME_DARK);
    char *either = svg_of(f, FAR_THEME_AUTO), *css;
    must(far_figure_css(ctx, &css));
    assert_non_null(strstr(light, "class=\"far-figure far-light\" role=\"img\""));
    assert_non_null(strstr(light, far_series_colour(false, 0)));
    assert_null(strstr(light, far_series_colour(true, 0)));
    assert_non_null(strstr(dark, far_series_colour(true, 0)));
    assert_null(strstr(dark, "@media"));
    assert_non_null(strstr(either, "@media (prefers-color-scheme:dark){.far-auto"));
    assert_non_null(strstr(css, ".far-dark .far-s0{stroke:"));
    assert_non_null(strstr(light, "<title id=\"far-"));
    assert_non_null(strstr(light, "Plot of lines; y against x (m): one &quot;line&quot;."));
    far_text_free(ctx, light);
    far_text_free(ctx, dark);
    far_text_free(ctx, either);
    far_text_free(ctx, css);
    far_figure_destroy(f);
}

static void the_same_figure_gives_the_same_bytes(void **state)
{
    (void)state;
    far_figure *a = grid_figure(), *b = grid_figure();
    char *first = svg_of(a, FAR_THEME_AUTO);
    bool german = setlocale(LC_ALL, "de_DE.UTF-8") != NULL; /* where there is one */
    char *second = svg_of(b, FAR_THEME_AUTO), *csv;
    must(far_figure_csv(ctx, b, &csv));
    setlocale(LC_ALL, "C");
    (void)german;
    assert_string_equal(first, second);
    assert_non_null(strstr(csv, "0.52"));
    far_figure *c = simple_figure(), *d = full_figure(); /* ids of other figures are others */
    assert_true(far_figure_hash(c) != far_figure_hash(d));
    far_text_free(ctx, first);
    far_text_free(ctx, second);
    far_text_free(ctx, csv);
    far_figure_destroy(a);
    far_figure_destroy(b);
    far_figure_destroy(c);
    far_figure_destroy(d);
}

static void gaps_and_log_axes(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7}, y[] = {1, NAN, 3, 0, -5, INFINITY, 1e301};
    far_figure_opts o = labelled(NULL);
    o.y_scale = FAR_SCALE_LOG;
    far_figure *f = figure_of(&o);
    must(far_figure_line(ctx, f, x, y, 7, NULL));
    must(far_figure_points(ctx, f, x, y, 7, NULL));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    assert_non_null(strstr(svg, "4 values not above 0 cannot be shown on a log scale."));
    assert_int_equal(hover_count(svg, "points", "px,py,x,y"), 2);
    far_text_free(ctx, svg);
    static const double low[] = {-1, 2, 3, 4, 5, 6, 7}, high[] = {1, 3, 4, 5, 6, 7, 8};
    must(far_figure_band(ctx, f, x, low, high, 7, NULL)); /* down to the axis: nothing is hidden */
    svg = svg_of(f, FAR_THEME_LIGHT);
    assert_non_null(strstr(svg, "4 values not above 0"));
    assert_int_equal(hover_count(svg, "band", "px,py,x,low,high"), 7);
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    o.x_scale = FAR_SCALE_LOG;
    f = figure_of(&o);
    must(far_figure_points(ctx, f, X, X, COUNT(X), NULL));
    must(far_figure_line(ctx, f, X, high, COUNT(X), NULL));
    svg = svg_of(f, FAR_THEME_LIGHT);
    assert_non_null(strstr(svg, "2 values not above 0")); /* (0, 0) and (0, 1) */
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    f = figure_of(&o);
    must(far_figure_line(ctx, f, x + 3, y + 3, 4, NULL));
    char *none;
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &none), FAR_ERR_VALUE, "log scale");
    assert_null(none);
    far_figure_destroy(f);
}

static void only_what_is_seen_sets_the_y_axis(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3}, y[] = {0, 1, 2, 1e9};
    far_figure_opts o = labelled(NULL);
    o.x_max = 2.5;
    far_figure *f = figure_of(&o);
    must(far_figure_line(ctx, f, x, y, 4, NULL));
    far_sheet sheet = {.ctx = ctx};
    must(far_sheet_layout(ctx, f, &sheet));
    assert_near(sheet.panels[0].x.high, 2.5, 0);
    assert_true(sheet.panels[0].y.high < 3);
    far_sheet_clear(&sheet);
    far_figure_destroy(f);
}

/* ---- pictures ---- */

static int digit_value(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return (int)(strchr(DIGITS, c) - DIGITS);
}

static size_t decode_base64(const char *text, unsigned char *out)
{
    size_t used = 0;
    uint32_t bits = 0;
    int count = 0;
    for (; *text && *text != '"' && *text != '='; text++) {
        bits = bits << 6 | (uint32_t)digit_value(*text);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[used++] = (unsigned char)(bits >> count);
        }
    }
    return used;
}

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void pictures_are_png(void **state)
{
    (void)state;
    enum { W = 7, H = 5 };
    unsigned char pixels[W * H], palette[768], file[4096], rows[H * (W + 1)];
    for (int i = 0; i < W * H; i++) {
        pixels[i] = (unsigned char)(i / W == 2 ? pixels[i - W] : i * 37);
    }
    for (int i = 0; i < 768; i++) {
        palette[i] = (unsigned char)i;
    }
    far_text t = {.ctx = ctx};
    must(far_put_png(&t, pixels, W, H, palette));
    size_t size = decode_base64(t.data, file), at = 8;
    far_free(ctx, t.data);
    assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
    while (at < size) {
        uint32_t length = word_at(file + at);
        assert_int_equal(crc32(0, file + at + 4, length + 4), word_at(file + at + 8 + length));
        if (memcmp(file + at + 4, "IHDR", 4) == 0) {
            assert_int_equal(word_at(file + at + 8), W);
            assert_int_equal(word_at(file + at + 12), H);
        }
        if (memcmp(file + at + 4, "IDAT", 4) == 0) {
            uLongf got = sizeof rows;
            assert_int_equal(uncompress(rows, &got, file + at + 8, length), Z_OK);
            assert_int_equal(got, sizeof rows);
        }
        at += length + 12;
    }
    for (int i = 0; i < H; i++) {
        for (int j = 0; j < W; j++) {
            int up = rows[i * (W + 1)] == 2 ? pixels[(i - 1) * W + j] : 0;
            assert_int_equal((rows[i * (W + 1) + 1 + j] + up) & 255, pixels[i * W + j]);
        }
    }
}

static void large_matrices_are_averaged(void **state)
{
    (void)state;
    enum { ROWS = 3001, COLS = 13 };
    double *z;
    must(far_alloc(ctx, ROWS * COLS, &z));
    for (int i = 0; i < ROWS * COLS; i++) {
        z[i] = i / COLS;
    }
    far_figure *f = figure_of(NULL);
    must(far_figure_heat(ctx, f, z, ROWS, COLS, NULL));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    read_svg(svg);
    assert_true(strlen(svg) < 200000);
    assert_in_range(hover_count(svg, "heat", "px,py,x,y,value"), 500, FAR_HOVER_POINTS);
    unsigned char head[32];
    char start[41] = "";
    strncpy(start, strstr(svg, "base64,") + 7, 40);
    decode_base64(start, head);
    assert_int_equal(word_at(head + 20), 1024); /* rows of the picture */
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    far_free(ctx, z);
}

/* ---- colours ---- */

static void to_linear(const char *hex, double *rgb)
{
    for (int i = 0; i < 3; i++) {
        char two[3] = {hex[1 + 2 * i], hex[2 + 2 * i], 0};
        double v = (double)strtol(two, NULL, 16) / 255;
        rgb[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
}

static double luminance(const double *rgb)
{
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

static void to_oklab(const double *rgb, double *lab)
{
    double l = cbrt(0.4122214708 * rgb[0] + 0.5363325363 * rgb[1] + 0.0514459929 * rgb[2]);
    double m = cbrt(0.2119034982 * rgb[0] + 0.6806995451 * rgb[1] + 0.1073969566 * rgb[2]);
    double s = cbrt(0.0883024619 * rgb[0] + 0.2817188376 * rgb[1] + 0.6299787005 * rgb[2]);
    lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
    lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
    lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

/* Machado, Oliveira and Fernandes (2009): normal, protanopia, deuteranopia, tritanopia. */
static const double EYES[4][3][3] = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                                     {{0.152286, 1.052583, -0.204868},
                                      {0.114503, 0.786281, 0.099216},
                                      {-0.003882, -0.048116, 1.051998}},
                                     {{0.367322, 0.860646, -0.227968},
                                      {0.280085, 0.672501, 0.047413},
                                      {-0.011820, 0.042940, 0.968881}},
                                     {{1.255528, -0.076749, -0.178779},
                                      {-0.078411, 0.930809, 0.147602},
                                      {0.004733, 0.691367, 0.303900}}};

static void as_seen(const double *rgb, int eye, double *lab)
{
    double seen[3];
    for (int i = 0; i < 3; i++) {
        double v = 0;
        for (int j = 0; j < 3; j++) {
            v += EYES[eye][i][j] * rgb[j];
        }
        seen[i] = fmin(1, fmax(0, v));
    }
    to_oklab(seen, lab);
}

static double apart(const double *a, const double *b)
{
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static void colours_differ_for_all_eyes(void **state)
{
    (void)state;
    for (int dark = 0; dark < 2; dark++) {
        double paper[3], rgb[FAR_COLOURS][3], a[3], b[3];
        to_linear(far_paper_colour(dark), paper);
        for (int i = 0; i < FAR_COLOURS; i++) {
            to_linear(far_series_colour(dark, i), rgb[i]);
            double x = luminance(rgb[i]) + 0.05, y = luminance(paper) + 0.05;
            assert_true(fmax(x, y) / fmin(x, y) >= (dark ? 4.4 : 3));
            for (int j = 0; j < i; j++) {
                for (int eye = 0; eye < 4; eye++) {
                    as_seen(rgb[i], eye, a);
                    as_seen(rgb[j], eye, b);
                    assert_true(apart(a, b) > (i < 6 ? 0.095 : 0.085));
                }
            }
        }
    }
}

static void colour_maps_are_even(void **state)
{
    (void)state;
    for (int diverging = 0; diverging < 2; diverging++) {
        double last[3] = {0}, next[3], least = INFINITY, most = 0;
        for (int i = 0; i <= 64; i++) {
            far_rgb c = far_map_colour(diverging, i / 64.0);
            char hex[8];
            double rgb[3];
            snprintf(hex, sizeof hex, "#%02x%02x%02x", c.r, c.g, c.b);
            to_linear(hex, rgb);
            to_oklab(rgb, next);
            if (i > 0) {
                bool rising = !diverging || i <= 32;
                assert_true(rising ? next[0] > last[0] : next[0] < last[0]);
                least = fmin(least, apart(last, next));
                most = fmax(most, apart(last, next));
            }
            memcpy(last, next, sizeof last);
        }
        assert_true(most < 2.2 * least);
    }
}

/* ---- csv ---- */

static far_frame *read_csv(const far_figure *f)
{
    char *csv;
    far_frame *frame;
    must(far_figure_csv(ctx, f, &csv));
    must(far_frame_parse_bytes(ctx, "figure", csv, (int64_t)strlen(csv), NULL, &frame));
    far_text_free(ctx, csv);
    return frame;
}

static const double *column(const far_frame *frame, const char *name)
{
    for (int64_t j = 0; j < far_frame_cols(frame); j++) {
        if (strcmp(far_frame_column(frame, j).name, name) == 0) {
            return far_frame_column(frame, j).numbers;
        }
    }
    fail_msg("no column %s", name);
    return NULL;
}

static void csv_reads_back_to_the_same_numbers(void **state)
{
    (void)state;
    enum { N = 37 };
    double x[N], y[N], low[N], high[N];
    uint64_t c = 0;
    for (int i = 0; i < N; i++) {
        x[i] = uniform(&c, -1, 1) * pow(10, uniform(&c, -200, 200));
        y[i] = i % 5 == 3 ? NAN : 0.1 * i;
        low[i] = uniform(&c, -1, 0) / 3;
        high[i] = 5e-324 * i;
    }
    far_figure *f = figure_of(NULL);
    far_mark_opts m = named("comma, and \"quote\"");
    must(far_figure_line(ctx, f, x, y, N, &m));
    must(far_figure_band(ctx, f, x, low, high, N, NULL));
    far_frame *frame = read_csv(f);
    assert_int_equal(far_frame_rows(frame), 2 * N);
    assert_int_equal(far_frame_cols(frame), 6); /* layer, label, x, y, low, high */
    for (int i = 0; i < N; i++) {
        assert_memory_equal(&column(frame, "x")[i], &x[i], sizeof x[i]);
        assert_memory_equal(&column(frame, "x")[N + i], &x[i], sizeof x[i]);
        assert_true(isnan(y[i]) ? isnan(column(frame, "y")[i]) : column(frame, "y")[i] == y[i]);
        assert_memory_equal(&column(frame, "low")[N + i], &low[i], sizeof low[i]);
        assert_true(column(frame, "high")[N + i] == high[i]);
    }
    far_frame_destroy(frame);
    far_figure_destroy(f);
}

static void csv_of_all_kinds(void **state)
{
    (void)state;
    static const struct {
        far_figure *(*make)(void);
        const char *start;
    } CASES[] = {
        {bar_figure, "layer,label,x,y,low,high\nbars,in,LN every,0.5,0.48,0.52\n"
                     "bars,in,Standard NN,0.31,,\n"},
        {simple_figure, "layer,label,x,y\nline,\"one \"\"line\"\"\",0,3\n"},
        {full_figure, "layer,label,x,x_to,y,low,high\nline,\"one \"\"line\"\"\",0,,3,,\n"},
        {grid_figure, "panel,layer,label,x,x_to,y,low,high,z\n1,line,\"one "
                      "\"\"line\"\"\",0,,3,,,\n"},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        far_figure *f = CASES[i].make();
        char *csv;
        must(far_figure_csv(ctx, f, &csv));
        if (strncmp(csv, CASES[i].start, strlen(CASES[i].start)) != 0) {
            fail_msg("\"%.200s\"", csv);
        }
        far_text_free(ctx, csv);
        far_figure_destroy(f);
    }
    far_figure *f = heat_figure(FAR_SCALE_LOG);
    far_frame *frame = read_csv(f);
    assert_int_equal(far_frame_rows(frame), 15);
    assert_near(column(frame, "x")[1], -10, 1e-12);
    assert_near(column(frame, "z")[4], 1e4, 0);
    far_frame_destroy(frame);
    far_figure_destroy(f);
}

/* ---- files ---- */

static void files_by_their_ending(void **state)
{
    (void)state;
    char place[] = "/tmp/far_plot_XXXXXX", path[64];
    assert_non_null(mkdtemp(place));
    far_figure *f = grid_figure();
    static const char *const ENDING[] = {"svg", "csv", "SVG", "png"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/f.%s", place, ENDING[i]);
        far_status st = far_figure_save(ctx, f, path);
        if (st != FAR_OK && strstr(far_ctx_message(ctx), "without librsvg")) {
            print_message("no librsvg: no .png is tried\n");
            continue;
        }
        must(st);
        FILE *file = fopen(path, "rb");
        unsigned char head[24];
        assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
        fclose(file);
        if (i == 3) {
            assert_int_equal(word_at(head + 16), 1800); /* two pixels for each px */
            assert_int_equal(word_at(head + 20), 1200);
        }
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/f.pdf", place);
    refused(far_figure_save(ctx, f, path), FAR_ERR_ARG, "f.pdf: figures are written as .svg, .png");
    snprintf(path, sizeof path, "%s/f.png", place);
    setenv("FARFIELD_LIBRSVG", "/no/such/library.so", 1);
    refused(far_figure_save(ctx, f, path), FAR_ERR_ARG, "f.png: without librsvg no .png");
    setenv("FARFIELD_LIBRSVG", "libm.so.6", 1); /* a library, but not that one */
    refused(far_figure_save(ctx, f, path), FAR_ERR_ARG, "rsvg_handle_new_from_data");
    unsetenv("FARFIELD_LIBRSVG");
    snprintf(path, sizeof path, "%s/no/f.png", place);
    assert_true(far_figure_save(ctx, f, path) != FAR_OK);
    snprintf(path, sizeof path, "%s/no/f.svg", place);
    refused(far_figure_save(ctx, f, path), FAR_ERR_IO, "no such directory");
    refused(far_figure_save(ctx, f, NULL), FAR_ERR_ARG, "path is NULL");
    refused(far_figure_save(ctx, NULL, path), FAR_ERR_ARG, "figure is NULL");
    far_figure_destroy(f);
    assert_int_equal(rmdir(place), 0); /* nothing was left behind */
}

/* ---- mistakes ---- */

typedef void (*spoil_fn)(far_figure_opts *o);
static void spoil_size(far_figure_opts *o)
{
    o->size = 3;
}
static void spoil_width(far_figure_opts *o)
{
    o->width = 20;
}
static void spoil_font(far_figure_opts *o)
{
    o->font = NAN;
}
static void spoil_scale(far_figure_opts *o)
{
    o->y_scale = 7;
}
static void spoil_limits(far_figure_opts *o)
{
    o->x_min = 2;
    o->x_max = 2;
}
static void spoil_log(far_figure_opts *o)
{
    o->y_scale = FAR_SCALE_LOG;
    o->y_min = 0;
}
static void spoil_linear(far_figure_opts *o)
{
    o->y_linear = -1;
}
static void spoil_legend(far_figure_opts *o)
{
    o->legend = 9;
}
static void spoil_categories(far_figure_opts *o)
{
    o->category_count = 3;
}
static void spoil_category(far_figure_opts *o)
{
    static const char *const HOLE[] = {"a", NULL};
    o->categories = HOLE;
    o->category_count = 2;
}
static void spoil_category_scale(far_figure_opts *o)
{
    o->categories = MODELS;
    o->category_count = 3;
    o->x_scale = FAR_SCALE_LOG;
}

static void options_are_checked(void **state)
{
    (void)state;
    static const struct {
        spoil_fn spoil;
        const char *words;
    } CASES[] = {{spoil_size, "far_figure_opts_init"},
                 {spoil_width, "20 x 400 px"},
                 {spoil_font, "font 6 to 100"},
                 {spoil_scale, "y_scale is 7"},
                 {spoil_limits, "limits ascend"},
                 {spoil_log, "above 0 on a log axis"},
                 {spoil_linear, "y_linear is -1"},
                 {spoil_legend, "legend is 9"},
                 {spoil_categories, "categories is NULL"},
                 {spoil_category, "categories[1] is NULL"},
                 {spoil_category_scale, "linear x axis only"}};
    for (int i = 0; i < COUNT(CASES); i++) {
        far_figure_opts o = labelled("t");
        far_figure *f;
        CASES[i].spoil(&o);
        refused(far_figure_create(ctx, &o, &f), FAR_ERR_ARG, CASES[i].words);
        assert_null(f);
    }
    refused(far_figure_create(ctx, NULL, NULL), FAR_ERR_ARG, "out is NULL");
}

static void marks_are_checked(void **state)
{
    (void)state;
    far_figure *f = simple_figure();
    far_mark_opts m = named(NULL);
    m.size = 0;
    refused(far_figure_line(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "far_mark_opts_init");
    m = named(NULL);
    m.colour = -4;
    refused(far_figure_line(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "line: colour is -4");
    m = named(NULL);
    m.dash = 5;
    refused(far_figure_line(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "dash is 5");
    m = named(NULL);
    m.width = -1;
    refused(far_figure_points(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "points: width -1");
    m = named(NULL);
    m.opacity = 1.5;
    refused(far_figure_points(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "opacity 1.5");
    m.opacity = -0.5;
    refused(far_figure_points(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "opacity -0.5");
    m = named(NULL);
    m.width = 1001;
    refused(far_figure_points(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "points: width 1001");
    m = named(NULL);
    m.frame = -2;
    refused(far_figure_points(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "frame is -2");
    refused(far_figure_line(ctx, NULL, X, Y, 3, NULL), FAR_ERR_ARG, "line: figure is NULL");
    refused(far_figure_line(ctx, f, X, NULL, 3, NULL), FAR_ERR_ARG, "line: an array is NULL");
    refused(far_figure_line(ctx, f, X, Y, 0, NULL), FAR_ERR_SHAPE, "line: no values");
    refused(far_figure_band(ctx, f, X, Y, NULL, 3, NULL), FAR_ERR_ARG, "band: an array");
    refused(far_figure_points(ctx, f, X, Y, -1, NULL), FAR_ERR_SHAPE, "points: no values");
    refused(far_figure_rule(ctx, f, 2, 1, NULL), FAR_ERR_ARG, "direction is 2");
    refused(far_figure_rule(ctx, f, 0, NAN, NULL), FAR_ERR_VALUE, "rule: its value is");
    refused(far_figure_text(ctx, f, 0, 0, NULL, 0, NULL), FAR_ERR_ARG, "text: it is NULL");
    refused(far_figure_text(ctx, f, 0, 0, "t", 2, NULL), FAR_ERR_ARG, "align");
    refused(far_figure_text(ctx, f, INFINITY, 0, "t", 0, NULL), FAR_ERR_VALUE, "no place");
    refused(far_figure_bars(ctx, f, Y, NULL, 3, NULL), FAR_ERR_SHAPE,
            "3 bars, but the figure has 0");
    static const double falling[] = {2, 1, 3}, negative[] = {1, -1};
    refused(far_figure_histogram(ctx, f, falling, Y, 2, NULL), FAR_ERR_ARG, "edges[0] is 2");
    refused(far_figure_histogram(ctx, f, X, negative, 2, NULL), FAR_ERR_ARG, "counts[1] is -1");
    refused(far_figure_histogram(ctx, f, X, Y, 0, NULL), FAR_ERR_SHAPE, "histogram: no values");
    assert_int_equal(f->layer_count, 1); /* none was added */
    far_figure_destroy(f);
}

static void heat_maps_are_checked(void **state)
{
    (void)state;
    far_figure *f = figure_of(NULL);
    far_heat_opts h;
    far_heat_opts_init(&h);
    refused(far_figure_heat(ctx, f, NULL, 2, 3, &h), FAR_ERR_ARG, "heat: an array is NULL");
    refused(far_figure_heat(ctx, f, X, 0, 3, &h), FAR_ERR_SHAPE, "a matrix of 0 x 3");
    h.scale = 3;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "no far_scale");
    h.scale = -1;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "no far_scale");
    far_heat_opts_init(&h);
    h.map = -1;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "no far_map");
    h.map = 9;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "no far_map");
    refused(far_figure_heat(ctx, f, X, 2, 0, NULL), FAR_ERR_SHAPE, "a matrix of 2 x 0");
    refused(far_figure_heat(ctx, f, X, (int64_t)1 << 31, 2, NULL), FAR_ERR_SHAPE, "a matrix of");
    refused(far_figure_heat(ctx, f, X, 2, (int64_t)1 << 31, NULL), FAR_ERR_SHAPE, "a matrix of");
    far_heat_opts_init(&h);
    h.y_min = 5;
    h.y_max = 4;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "finite and ascend");
    far_heat_opts_init(&h);
    h.x_min = -INFINITY;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "finite and ascend");
    far_heat_opts_init(&h);
    h.y_max = INFINITY;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "finite and ascend");
    far_heat_opts_init(&h);
    h.value_max = INFINITY;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "value_max inf");
    far_heat_opts_init(&h);
    h.value_min = -INFINITY;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "value_min is -inf");
    far_heat_opts_init(&h);
    h.scale = FAR_SCALE_LOG;
    h.value_max = -1;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "above 0 on a log scale");
    h.value_max = NAN;
    h.value_min = 0;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "above 0 on a log scale");
    far_heat_opts_init(&h);
    h.x_min = 5;
    h.x_max = 4;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "finite and ascend");
    far_heat_opts_init(&h);
    h.value_min = 1;
    h.value_max = 1;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "value_min is 1");
    far_heat_opts_init(&h);
    h.linear = 0;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "linear is 0");
    h.size = 1;
    refused(far_figure_heat(ctx, f, X, 2, 3, &h), FAR_ERR_ARG, "not initialised");
    must(far_figure_heat(ctx, f, X, 2, 3, NULL));
    refused(far_figure_heat(ctx, f, X, 2, 3, NULL), FAR_ERR_ARG, "has one already");
    far_figure_destroy(f);
    far_figure_opts o = labelled(NULL);
    o.x_scale = FAR_SCALE_LOG;
    f = figure_of(&o);
    refused(far_figure_heat(ctx, f, X, 2, 3, NULL), FAR_ERR_ARG, "axes must be linear");
    far_figure_destroy(f);
}

static void grids_are_checked(void **state)
{
    (void)state;
    far_figure *f = simple_figure(), *none[2] = {NULL, NULL}, *grid, *out;
    far_grid_opts g;
    far_grid_opts_init(&g);
    refused(far_figure_grid(ctx, NULL, 1, 1, &g, &out), FAR_ERR_ARG, "figures is NULL");
    refused(far_figure_grid(ctx, &f, 0, 1, &g, &out), FAR_ERR_SHAPE, "a grid of 0 x 1");
    refused(far_figure_grid(ctx, &f, 1, 0, &g, &out), FAR_ERR_SHAPE, "a grid of 1 x 0");
    refused(far_figure_grid(ctx, &f, 1, 100000, &g, &out), FAR_ERR_SHAPE, "1 x 100000");
    refused(far_figure_grid(ctx, &f, 40, 40, &g, &out), FAR_ERR_SHAPE, "a grid of 40 x 40");
    refused(far_figure_grid(ctx, &f, 1, 1, &g, NULL), FAR_ERR_ARG, "out is NULL");
    g.share_y = -1;
    refused(far_figure_grid(ctx, &f, 1, 1, &g, &out), FAR_ERR_ARG, "share_y");
    g.size = 0;
    refused(far_figure_grid(ctx, &f, 1, 1, &g, &out), FAR_ERR_ARG, "opts not initialised");
    far_grid_opts_init(&g);
    refused(far_figure_grid(ctx, none, 1, 2, &g, &out), FAR_ERR_ARG, "no figures");
    g.share_x = 3;
    refused(far_figure_grid(ctx, &f, 1, 1, &g, &out), FAR_ERR_ARG, "share_x");
    g.share_x = 0;
    g.width = 1;
    refused(far_figure_grid(ctx, &f, 1, 1, &g, &out), FAR_ERR_ARG, "width is 160");
    assert_null(out);
    must(far_figure_grid(ctx, &f, 1, 1, NULL, &grid));
    refused(far_figure_grid(ctx, &grid, 1, 1, NULL, &out), FAR_ERR_ARG, "is a grid itself");
    refused(far_figure_line(ctx, grid, X, Y, 3, NULL), FAR_ERR_ARG, "a grid has no layers");
    far_figure_destroy(grid);
    far_figure_destroy(f);
}

static void empty_and_crowded_figures(void **state)
{
    (void)state;
    char *svg;
    far_figure_opts o = labelled("t");
    o.width = 160;
    o.height = 120;
    o.font = 40;
    far_figure *f = figure_of(&o);
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg), FAR_ERR_VALUE, "has no layers");
    must(far_figure_line(ctx, f, X, Y, COUNT(X), NULL));
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg), FAR_ERR_ARG, "no room for its plots");
    refused(far_figure_svg(ctx, f, 4, &svg), FAR_ERR_ARG, "theme is 4");
    refused(far_figure_svg(ctx, NULL, FAR_THEME_LIGHT, &svg), FAR_ERR_ARG, "figure is NULL");
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, NULL), FAR_ERR_ARG, "out is NULL");
    refused(far_figure_csv(ctx, f, NULL), FAR_ERR_ARG, "out is NULL");
    refused(far_figure_csv(ctx, NULL, &svg), FAR_ERR_ARG, "figure is NULL");
    far_figure_destroy(f);
    static const double lost[] = {NAN, INFINITY};
    f = figure_of(NULL);
    must(far_figure_line(ctx, f, X, lost, 2, NULL));
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg), FAR_ERR_VALUE,
            "nothing to draw: no value for the y axis");
    far_figure_destroy(f);
    o = labelled(NULL);
    o.x_min = 100;
    f = figure_of(&o);
    must(far_figure_line(ctx, f, X, Y, COUNT(X), NULL));
    refused(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg), FAR_ERR_ARG, "lies beyond all values");
    far_figure_destroy(f);
}

static void single_values_have_room(void **state)
{
    (void)state;
    static const double VALUES[] = {0, 3, -7, 1e-300, 1e299, 12345.678};
    for (int i = 0; i < COUNT(VALUES); i++) {
        for (int scale = 0; scale < 3; scale++) {
            far_figure_opts o = labelled(NULL);
            o.y_scale = scale;
            if (scale == FAR_SCALE_LOG && VALUES[i] <= 0) {
                continue;
            }
            far_figure *f = figure_of(&o);
            must(far_figure_points(ctx, f, &VALUES[i], &VALUES[i], 1, NULL));
            finish(f);
        }
    }
}

/* Any double at all, large ones and special ones more often than is fair. */
static double any_value(uint64_t *c)
{
    static const double SPECIAL[] = {0,     -0.0,   1,     -1,     NAN,    INFINITY, -INFINITY,
                                     1e300, -1e300, 1e301, 5e-324, 1e-300, 1e16,     1e16 + 2};
    double choice = uniform(c, 0, 3);
    if (choice < 1) {
        return SPECIAL[(int)uniform(c, 0, COUNT(SPECIAL))];
    }
    double sign = uniform(c, -1, 1) < 0 ? -1 : 1;
    return sign * pow(10, choice < 2 ? uniform(c, -300, 300) : uniform(c, -2, 4));
}

static double any_limit(uint64_t *c)
{
    return uniform(c, 0, 1) < 0.8 ? NAN : any_value(c);
}

static void add_any_layer(far_figure *f, uint64_t *c)
{
    enum { N = 13 };
    double x[N], y[N], z[N];
    int64_t n = 1 + (int64_t)uniform(c, 0, N);
    for (int i = 0; i < N; i++) {
        x[i] = any_value(c);
        y[i] = any_value(c);
        z[i] = any_value(c);
    }
    far_mark_opts m = named(uniform(c, 0, 1) < 0.5 ? "label" : NULL);
    far_heat_opts h;
    far_heat_opts_init(&h);
    h.scale = (int32_t)uniform(c, 0, 3);
    h.value_min = any_limit(c);
    far_status st = FAR_OK;
    switch ((int)uniform(c, 0, 7)) {
    case 0:
        st = far_figure_line(ctx, f, x, y, n, &m);
        break;
    case 1:
        st = far_figure_band(ctx, f, x, y, z, n, &m);
        break;
    case 2:
        st = far_figure_points(ctx, f, x, y, n, &m);
        break;
    case 3:
        st = far_figure_histogram(ctx, f, x, y, n - 1, &m);
        break;
    case 4:
        st = far_figure_rule(ctx, f, n % 2, y[0], &m);
        break;
    case 5:
        st = far_figure_text(ctx, f, x[0], y[0], "some text", 0, &m);
        break;
    default:
        st = f->opts.category_count > 0 ? far_figure_bars(ctx, f, x, y, f->opts.category_count, &m)
                                        : far_figure_heat(ctx, f, z, 1, n, &h);
    }
    assert_true(st == FAR_OK || far_ctx_message(ctx)[0] != 0);
}

static void strange_figures_are_drawn_or_refused(void **state)
{
    (void)state;
    uint64_t c = 77;
    int drawn = 0;
    for (int trial = 0; trial < 3000; trial++) {
        far_figure_opts o = labelled("strange");
        o.width = uniform(&c, 200, 700);
        o.height = uniform(&c, 150, 500);
        o.x_scale = (int32_t)uniform(&c, 0, 3);
        o.y_scale = (int32_t)uniform(&c, 0, 3);
        o.x_min = any_limit(&c);
        o.y_max = any_limit(&c);
        o.y_linear = any_limit(&c);
        o.category_count = trial % 9 == 0 ? 3 : 0;
        o.categories = MODELS;
        far_figure *f;
        if (far_figure_create(ctx, &o, &f) != FAR_OK) {
            continue;
        }
        for (int layers = 1 + (int)uniform(&c, 0, 4); layers > 0; layers--) {
            add_any_layer(f, &c);
        }
        char *svg;
        far_status st = far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg);
        if (st == FAR_OK) {
            reader r = read_svg(svg);
            if (!r.inside) {
                fail_msg("trial %d: a label leaves the picture: %s", trial, r.worst);
            }
            bool picture = strstr(svg, "base64") != NULL; /* whose letters may say anything */
            assert_true(picture || (!strstr(svg, "nan") && !strstr(svg, "inf")));
            far_text_free(ctx, svg);
            drawn++;
        }
        assert_true(st == FAR_OK || st == FAR_ERR_VALUE || st == FAR_ERR_ARG);
        far_figure_destroy(f);
    }
    assert_true(drawn > 1000);
}

/* ---- films ---- */

enum { FRAMES = 3, TRAVELLERS = 2 };

/* Two points: one goes from left to right, the other rests; a word a frame. */
static far_status make_film(far_figure **out)
{
    static const double x[] = {0, 1, 5, 1, 10, 1}, y[] = {0, 2, 1, 2, 0, 2};
    static const char *const words[] = {"first", "second", "third"};
    far_status st;
    far_figure_opts o = labelled("film");
    o.frames = FRAMES;
    o.frame_seconds = 2;
    FAR_TRY(far_figure_create(ctx, &o, out));
    FAR_TRY(far_figure_motion(ctx, *out, x, y, TRAVELLERS, NULL));
    for (int64_t i = 0; i < FRAMES; i++) {
        far_mark_opts m = named(NULL);
        m.frame = i;
        FAR_TRY(far_figure_text(ctx, *out, 5, 1, words[i], 0, &m));
    }
done:
    return st;
}

static int64_t times_in(const char *text, const char *part)
{
    int64_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) {
        count++;
    }
    return count;
}

static void films_move_and_end_with_the_last_frame(void **state)
{
    (void)state;
    far_figure *f = NULL;
    must(make_film(&f));
    char *svg = svg_of(f, FAR_THEME_LIGHT);
    assert_int_equal(times_in(svg, "<circle"), TRAVELLERS);
    assert_int_equal(times_in(svg, "attributeName=\"cx\""), 1);
    assert_int_equal(times_in(svg, "attributeName=\"cy\""), 1);
    assert_int_equal(times_in(svg, "attributeName=\"visibility\""), FRAMES);
    assert_int_equal(times_in(svg, "visibility=\"visible\">"), 1);
    assert_int_equal(times_in(svg, "dur=\"6s\""), 2 + FRAMES);
    assert_non_null(strstr(svg, "keyTimes=\"0;0.15;0.3333;0.4833;0.6667;1\""));
    /* what stands still in the file is the last frame: "third", and the traveller at the right */
    const char *shown = strstr(svg, "visibility=\"visible\">");
    assert_non_null(strstr(shown, "third"));
    far_text_free(ctx, svg);
    char *csv;
    must(far_figure_csv(ctx, f, &csv));
    assert_non_null(strstr(csv, "points,,10,0,2\n"));
    far_text_free(ctx, csv);
    far_figure_destroy(f);
}

static void films_are_checked(void **state)
{
    (void)state;
    far_figure *f = simple_figure(), *film = NULL;
    far_mark_opts m = named(NULL);
    refused(far_figure_motion(ctx, f, X, Y, 1, NULL), FAR_ERR_ARG, "motion: the figure has no");
    m.frame = 1;
    refused(far_figure_line(ctx, f, X, Y, 3, &m), FAR_ERR_ARG, "line: frame is 1");
    must(make_film(&film));
    m.frame = FRAMES;
    refused(far_figure_line(ctx, film, X, Y, 3, &m), FAR_ERR_ARG, "the figure has 3 frames");
    refused(far_figure_motion(ctx, film, X, Y, 0, NULL), FAR_ERR_SHAPE, "motion: no values");
    refused(far_figure_motion(ctx, film, X, NULL, 1, NULL), FAR_ERR_ARG, "motion: an array");
    far_figure_opts o = labelled("film");
    o.frames = -1;
    far_figure *none = NULL;
    refused(far_figure_create(ctx, &o, &none), FAR_ERR_ARG, "frames are 0 to 10000");
    far_figure_destroy(f);
    far_figure_destroy(film);
}

static far_status draw_film(void)
{
    far_status st;
    far_figure *f = NULL;
    char *svg = NULL;
    FAR_TRY(make_film(&f));
    FAR_TRY(far_figure_svg(ctx, f, FAR_THEME_LIGHT, &svg));
done:
    far_text_free(ctx, svg);
    far_figure_destroy(f);
    return st;
}

/* ---- allocations ---- */

static far_status make_everything(void)
{
    far_status st;
    far_figure *f = NULL, *b = NULL, *h = NULL, *grid = NULL;
    char *svg = NULL, *csv = NULL;
    static const double z[] = {1, -2, 3, 4, -5, 6};
    far_figure_opts o = labelled("title");
    o.note = "note";
    far_mark_opts m = named("label");
    FAR_TRY(far_figure_create(ctx, &o, &f));
    FAR_TRY(far_figure_line(ctx, f, X, Y, COUNT(X), &m));
    FAR_TRY(far_figure_band(ctx, f, X, X, Y, COUNT(X), &m));
    FAR_TRY(far_figure_histogram(ctx, f, X, Y, 3, &m));
    FAR_TRY(far_figure_points(ctx, f, X, Y, COUNT(X), NULL));
    FAR_TRY(far_figure_rule(ctx, f, FAR_VERTICAL, 2, &m));
    o.categories = MODELS;
    o.category_count = 3;
    FAR_TRY(far_figure_create(ctx, &o, &b));
    FAR_TRY(far_figure_bars(ctx, b, Y, X, 3, &m));
    FAR_TRY(far_figure_create(ctx, NULL, &h));
    FAR_TRY(far_figure_heat(ctx, h, z, 2, 3, NULL));
    far_figure *parts[] = {f, b, h};
    far_grid_opts g;
    far_grid_opts_init(&g);
    g.title = "all";
    g.shared_legend = 0;
    FAR_TRY(far_figure_grid(ctx, parts, 1, 3, &g, &grid));
    FAR_TRY(far_figure_svg(ctx, grid, FAR_THEME_LIGHT, &svg));
    FAR_TRY(far_figure_csv(ctx, grid, &csv));
done:
    assert_true(st == FAR_OK || !csv);
    far_text_free(ctx, svg);
    far_text_free(ctx, csv);
    far_figure_destroy(grid);
    far_figure_destroy(f);
    far_figure_destroy(b);
    far_figure_destroy(h);
    return st;
}

static far_status compute_everything(void)
{
    far_status st;
    double out[2], half[2], mean;
    FAR_TRY(far_lowess(ctx, X, Y, COUNT(X), 0.7, 2, X, 2, out, half));
    FAR_TRY(far_mean_interval(ctx, Y, COUNT(Y), &mean, half));
    FAR_TRY(far_quantile(ctx, Y, COUNT(Y), 0.5, &mean));
done:
    return st;
}

static void fail_in_turn(far_status (*work)(void))
{
    int64_t before = test_heap.live_blocks, k = 0;
    for (;; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        far_status st = work();
        test_heap.fail_at = -1;
        assert_int_equal(test_heap.live_blocks, before);
        if (st == FAR_OK) {
            break;
        }
        assert_int_equal(st, FAR_ERR_MEMORY);
    }
    assert_true(k > 3);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_in_turn(make_everything);
    fail_in_turn(compute_everything);
    fail_in_turn(draw_film);
}

/* ---- statistics ---- */

/* Cleveland's recipe, as plainly as it can be said: O(n^2), sums in long double. */
static double plain_fit(const double *x, const double *y, const double *trust, int n, int k,
                        double at)
{
    double distance[64], sorted[64];
    for (int i = 0; i < n; i++) {
        distance[i] = sorted[i] = fabs(x[i] - at);
    }
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            if (sorted[j] < sorted[i]) {
                double swap = sorted[i];
                sorted[i] = sorted[j];
                sorted[j] = swap;
            }
        }
    }
    long double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        long double u = distance[i] / sorted[k - 1];
        if (u < 1) {
            long double w = powl(1 - u * u * u, 3) * trust[i];
            s += w;
            sx += w * x[i];
            sy += w * y[i];
            sxx += w * (long double)x[i] * x[i];
            sxy += w * (long double)x[i] * y[i];
        }
    }
    long double slope = (s * sxy - sx * sy) / (s * sxx - sx * sx);
    return (double)((sy - slope * sx) / s + slope * at);
}

static double median_of(const double *values, int n)
{
    double out;
    must(far_quantile(ctx, values, n, 0.5, &out));
    return out;
}

static void lowess_is_clevelands(void **state)
{
    (void)state;
    enum { N = 53, GRID = 17 };
    double x[N], y[N], grid[GRID], fitted[GRID], trust[N], size[N];
    uint64_t c = 0;
    for (int i = 0; i < N; i++) {
        x[i] = uniform(&c, -3, 3);
        y[i] = sin(2 * x[i]) + uniform(&c, -0.3, 0.3) + (i % 11 == 5 ? 8 : 0); /* with outliers */
    }
    for (int i = 0; i < GRID; i++) {
        grid[i] = -3.5 + 7.0 * i / (GRID - 1); /* and beyond the data */
    }
    static const double FRACTION[] = {0.2, 2.0 / 3, 1};
    for (int f = 0; f < 3; f++) {
        int k = (int)(FRACTION[f] * N + 1e-9);
        for (int rounds = 0; rounds <= 3; rounds++) {
            for (int i = 0; i < N; i++) {
                trust[i] = 1;
            }
            for (int round = 0; round < rounds; round++) {
                double residual[N];
                for (int i = 0; i < N; i++) {
                    residual[i] = y[i] - plain_fit(x, y, trust, N, k, x[i]);
                    size[i] = fabs(residual[i]);
                }
                double limit = 6 * median_of(size, N);
                for (int i = 0; i < N; i++) {
                    double u = residual[i] / limit;
                    trust[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
                }
            }
            must(far_lowess(ctx, x, y, N, FRACTION[f], rounds, grid, GRID, fitted, NULL));
            for (int i = 0; i < GRID; i++) {
                double want = plain_fit(x, y, trust, N, k, grid[i]);
                assert_true(fabs(fitted[i] - want) <= 1e-11 * fmax(1, fabs(want)));
            }
        }
    }
}

static void lowess_of_special_points(void **state)
{
    (void)state;
    double x[40], y[40], at[3] = {0.5, 3, 50}, out[3], half[3];
    for (int i = 0; i < 40; i++) { /* a straight line comes back, also far outside */
        x[i] = i;
        y[i] = 3 - 2.0 * i;
    }
    y[7] = NAN;
    x[9] = INFINITY;
    must(far_lowess(ctx, x, y, 40, 0.5, 3, at, 3, out, half));
    for (int i = 0; i < 3; i++) {
        assert_near(out[i], 3 - 2 * at[i], 1e-10);
        assert_near(half[i], 0, 1e-10);
    }
    for (int i = 0; i < 40; i++) { /* all x the same: the mean */
        x[i] = 3;
        y[i] = i % 2;
    }
    must(far_lowess(ctx, x, y, 40, 0.5, 0, at + 1, 1, out, half));
    assert_near(out[0], 0.5, 1e-12);
    static const double px[] = {1, 2}, py[] = {5, 7};
    must(far_lowess(ctx, px, py, 2, 1, 3, px, 2, out, half));
    assert_true(isfinite(out[0]) && isnan(half[0]));
    refused(far_lowess(ctx, px, py, 1, 1, 3, px, 1, out, NULL), FAR_ERR_VALUE, "2 or more");
    refused(far_lowess(ctx, px, py, 2, 0, 3, px, 1, out, NULL), FAR_ERR_ARG, "fraction is 0");
    refused(far_lowess(ctx, px, py, 2, 1, -1, px, 1, out, NULL), FAR_ERR_ARG, "iterations -1");
    refused(far_lowess(ctx, px, py, 2, 2, 3, px, 1, out, NULL), FAR_ERR_ARG, "fraction is 2");
    refused(far_lowess(ctx, px, py, 2, 1, 101, px, 1, out, NULL), FAR_ERR_ARG, "iterations 101");
    refused(far_lowess(ctx, NULL, py, 2, 1, 1, px, 1, out, NULL), FAR_ERR_ARG, "an array is NULL");
    refused(far_lowess(ctx, px, NULL, 2, 1, 1, px, 1, out, NULL), FAR_ERR_ARG, "an array is NULL");
    refused(far_lowess(ctx, px, py, 2, 1, 1, NULL, 1, out, NULL), FAR_ERR_ARG, "an array is NULL");
    refused(far_lowess(ctx, px, py, 2, 1, 1, px, 1, NULL, NULL), FAR_ERR_ARG, "an array is NULL");
    refused(far_lowess(ctx, px, py, -1, 1, 1, px, 1, out, NULL), FAR_ERR_ARG, "n or m negative");
    refused(far_lowess(ctx, px, py, 2, 1, 1, px, -1, out, NULL), FAR_ERR_ARG, "n or m negative");
    at[0] = NAN;
    refused(far_lowess(ctx, px, py, 2, 1, 1, at, 1, out, NULL), FAR_ERR_VALUE, "grid[0]");
}

/* Of 95% intervals about 95% hold; the spread grows along x, which they must notice. */
static void lowess_bands_hold(void **state)
{
    (void)state;
    enum { N = 200, TRIALS = 400 };
    double x[N], y[N], at[3] = {0.1, 0.5, 0.9}, out[3], half[3], width[3] = {0};
    int held[3] = {0};
    uint64_t c = 0;
    for (int t = 0; t < TRIALS; t++) {
        for (int i = 0; i < N; i++) {
            x[i] = (i + 0.5) / N;
            y[i] = 1 + 2 * x[i] + (0.1 + x[i]) * far_random_normal(5, c++);
        }
        must(far_lowess(ctx, x, y, N, 0.5, 0, at, 3, out, half));
        for (int k = 0; k < 3; k++) {
            held[k] += fabs(out[k] - (1 + 2 * at[k])) <= half[k];
            width[k] += half[k] / TRIALS;
        }
    }
    for (int k = 0; k < 3; k++) {
        assert_in_range(held[k], 0.92 * TRIALS, 0.98 * TRIALS);
    }
    assert_true(width[2] > 2 * width[1] && width[1] > width[0]);
}

static void lowess_of_many_points_is_near_the_exact_one(void **state)
{
    (void)state;
    enum { N = 5003 };
    double *x, *y, grid[29], many[29], half[29];
    uint64_t c = 0;
    must(far_alloc(ctx, N, &x));
    must(far_alloc(ctx, N, &y));
    for (int i = 0; i < N; i++) {
        x[i] = uniform(&c, 0, 1) * uniform(&c, 0, 1);
        y[i] = cos(6 * x[i]) + 0.3 * far_random_normal(8, (uint64_t)i);
    }
    for (int i = 0; i < 29; i++) {
        grid[i] = i / 29.0;
    }
    must(far_lowess(ctx, x, y, N, 0.2, 3, grid, 29, many, half));
    for (int i = 0; i < 27; i++) {
        assert_true(fabs(many[i] - cos(6 * grid[i])) < 0.12);
        assert_true(half[i] > 0 && half[i] < 0.15);
    }
    far_free(ctx, x);
    far_free(ctx, y);
}

static void means_and_quantiles(void **state)
{
    (void)state;
    static const double v[] = {3, 1, NAN, 2, 5, 4};
    double mean, half, q;
    must(far_mean_interval(ctx, v, 6, &mean, &half));
    assert_near(mean, 3, 1e-15);
    assert_near(half, 2.776445105 * sqrt(2.5 / 5), 1e-8); /* t with 4 degrees of freedom */
    must(far_mean_interval(ctx, v, 1, &mean, &half));
    assert_true(mean == 3 && isnan(half));
    refused(far_mean_interval(ctx, v + 2, 1, &mean, &half), FAR_ERR_VALUE, "none of 1 values");
    refused(far_mean_interval(ctx, v, 6, NULL, &half), FAR_ERR_ARG, "mean or half_width is NULL");
    static const double P[] = {0, 0.25, 0.3, 1}, WANT[] = {1, 2, 2.2, 5};
    for (int i = 0; i < 4; i++) {
        must(far_quantile(ctx, v, 6, P[i], &q));
        assert_near(q, WANT[i], 1e-15);
    }
    refused(far_quantile(ctx, v, 6, 1.01, &q), FAR_ERR_ARG, "p = 1.01");
    refused(far_quantile(ctx, v, 0, 0.5, &q), FAR_ERR_VALUE, "none of 0 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(linear_ticks_are_few_and_round),
        TEST(log_ticks_are_decades),
        TEST(symlog_ticks_have_zero),
        TEST(labels_are_what_people_write),
        TEST(widths_are_those_of_the_font),
        TEST(bad_bytes_are_replaced),
        TEST(lines_are_wrapped),
        TEST(simplified_lines_look_the_same),
        TEST(a_straight_line_is_two_points),
        TEST(huge_values_stay_near_the_plot),
        TEST(legends_never_cover_data),
        TEST(labels_stay_inside),
        TEST(panels_of_a_grid_line_up),
        TEST(long_names_are_wrapped_before_they_slant),
        TEST(a_shared_label_stands_in_the_middle_of_the_plots),
        TEST(bars_that_leave_the_plot_have_no_error_bar),
        TEST(every_kind_is_a_series),
        TEST(scripts_find_the_values),
        TEST(many_points_are_thinned),
        TEST(themes_have_their_colours),
        TEST(the_same_figure_gives_the_same_bytes),
        TEST(gaps_and_log_axes),
        TEST(only_what_is_seen_sets_the_y_axis),
        TEST(pictures_are_png),
        TEST(large_matrices_are_averaged),
        TEST(colours_differ_for_all_eyes),
        TEST(colour_maps_are_even),
        TEST(csv_reads_back_to_the_same_numbers),
        TEST(csv_of_all_kinds),
        TEST(files_by_their_ending),
        TEST(options_are_checked),
        TEST(marks_are_checked),
        TEST(heat_maps_are_checked),
        TEST(grids_are_checked),
        TEST(empty_and_crowded_figures),
        TEST(single_values_have_room),
        TEST(strange_figures_are_drawn_or_refused),
        TEST(films_move_and_end_with_the_last_frame),
        TEST(films_are_checked),
        TEST(every_allocation_may_fail),
        TEST(lowess_is_clevelands),
        TEST(lowess_of_special_points),
        TEST(lowess_bands_hold),
        TEST(lowess_of_many_points_is_near_the_exact_one),
        TEST(means_and_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
