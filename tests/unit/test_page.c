/* Report pages: what stands where, that nothing in a text becomes markup, that the page needs
 * nothing else, and every message. */
#define _GNU_SOURCE
#include "report/figure_internal.h"
#include "report/page.h"

#define TEST_OPEN open_page
#define TEST_CLOSE close_page
#include "harness.h"

static far_page *page;
static char *html;

static int open_page(void **state)
{
    assert_int_equal(open_context(state), 0);
    assert_int_equal(far_page_create(ctx, "A title", &page), FAR_OK);
    return 0;
}

/* Every test must give back all it took. */
static int close_page(void **state)
{
    far_text_free(ctx, html);
    html = NULL;
    far_page_destroy(page);
    return close_context(state);
}

static void write_html(void)
{
    far_text_free(ctx, html);
    assert_int_equal(far_page_html(ctx, page, &html), FAR_OK);
}

/* Where piece stands in what comes behind from; the test ends if it does not. */
static const char *find_from(const char *from, const char *piece)
{
    const char *at = strstr(from, piece);
    if (!at) {
        fail_msg("there is no '%s'", piece);
    }
    return at;
}

static void assert_page_holds(const char *piece)
{
    find_from(html, piece);
}

static void assert_lacks(const char *piece)
{
    if (strstr(html, piece)) {
        fail_msg("there is '%s'", piece);
    }
}

static far_figure *small_figure(void)
{
    far_figure *f;
    double x[] = {0, 1, 2}, y[] = {5, 7, 1.0 / 3};
    far_figure_opts opts;
    far_mark_opts mark;
    far_figure_opts_init(&opts);
    far_mark_opts_init(&mark);
    opts.x_label = "time, s";
    mark.label = "a \"b\" <c>";
    assert_int_equal(far_figure_create(ctx, &opts, &f), FAR_OK);
    assert_int_equal(far_figure_line(ctx, f, x, y, COUNT(x), &mark), FAR_OK);
    return f;
}

static const char *const HEADS[] = {"model", "R^{2}", "time"};
static const char *const CELLS[] = {"none", "0.5 +- 0.01", "3 s", "ln", "-", NULL};

/* Every kind of part; the first failure. */
static far_status fill_page(const far_figure *f)
{
    far_status st = far_page_verdict(ctx, page, FAR_TONE_GOOD, "It is bounded.");
    st = st ? st : far_page_verdict(ctx, page, FAR_TONE_BAD, "It runs away.");
    st = st ? st : far_page_heading(ctx, page, "A heading");
    st = st ? st : far_page_text(ctx, page, "A text.");
    st = st ? st : far_page_table(ctx, page, "A table", HEADS, 3, CELLS, 2);
    st = st ? st : far_page_figure(ctx, page, f, "figure.csv", "A figure");
    st = st ? st : far_page_fact(ctx, page, "command", "farfield 'a b'\n  --c");
    return st ? st : far_page_fact(ctx, page, "seeds", "0 to 4");
}

static void write_full_page(void)
{
    far_figure *f = small_figure();
    assert_int_equal(fill_page(f), FAR_OK);
    far_figure_destroy(f);
    write_html();
}

/* ---- what stands where ---- */

static void parts_stand_in_the_order_of_the_calls(void **state)
{
    (void)state;
    static const char *const ORDER[] = {"<!DOCTYPE html>",
                                        "<html lang=\"en\">",
                                        "<title>A title</title>",
                                        "<h1>A title</h1>",
                                        "Good</strong>",
                                        "It is bounded.",
                                        "Caution</strong>",
                                        "It runs away.",
                                        "<h2>A heading",
                                        "<p>A text.</p>",
                                        "<b>Table 1.</b> A table",
                                        "<b>Figure 1.</b> A fig",
                                        "<pre",
                                        "0 to 4",
                                        "farfield ",
                                        "<script>"};
    write_full_page();
    const char *at = html;
    for (int i = 0; i < COUNT(ORDER); i++) {
        at = find_from(at, ORDER[i]);
    }
}

/* Names and what there is to say of them: nothing to sort, and no table that counts. */
static void facts_are_no_table_of_data(void **state)
{
    (void)state;
    static const char *const FACTS[] = {"rows", "60", "<b>", NULL};
    assert_int_equal(far_page_facts(ctx, page, FACTS, 2), FAR_OK);
    assert_int_equal(far_page_table(ctx, page, "of", HEADS, 3, CELLS, 2), FAR_OK);
    write_html();
    assert_page_holds("<table class=\"facts\"><tbody>\n<tr><th scope=\"row\">rows</th><td "
                      "class=\"lines\">60</td></tr>\n<tr><th scope=\"row\">&lt;b&gt;</th>");
    assert_page_holds("<b>Table 1.</b> of");
}

static void figures_and_tables_are_numbered(void **state)
{
    (void)state;
    far_figure *f = small_figure();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(far_page_figure(ctx, page, f, "f.csv", NULL), FAR_OK);
        assert_int_equal(far_page_table(ctx, page, "of", HEADS, 3, CELLS, 2), FAR_OK);
    }
    far_figure_destroy(f);
    write_html();
    assert_page_holds("<b>Figure 2.</b>");
    assert_page_holds("<b>Table 2.</b> of");
    assert_lacks("Figure 3.");
}

static void an_empty_page_has_no_verdict(void **state)
{
    (void)state;
    write_html();
    assert_lacks("<section");
    assert_page_holds("<h1>A title</h1>");
}

typedef struct column_case {
    const char *cells[3];
    const char *class; /* of the head, and so of every cell */
} column_case;

#define NUMBERS " class=\"n\""

/* Numbers stand at the right and stay whole, words give way: all cells of a column alike. */
static void columns_are_of_a_kind(void **state)
{
    (void)state;
    static const column_case CASES[] = {
        {{"1", "-2.5", "1e5"}, NUMBERS},
        {{"a few words", "yes", "no"}, ""},
        {{"no more than this", "yes", "no"}, " class=\"w\""},
        {{"yes", NULL, "what takes a line by itself"}, " class=\"t\""},
        {{"0.7 +- 0.01", "0.8 \xc2\xb1 0.1", "-"}, NUMBERS},
        {{"1.5 s", "2 MiB", "30%"}, NUMBERS},
        {{"inf", "nan", NULL}, NUMBERS},
        {{"-", NULL, ""}, ""},
        {{"1", "two", "3"}, ""},
        {{"|f| <= 3", "1", "2"}, ""},
        {{"3 of 5", "1", "2"}, ""},
        {{"1 is a longer remark", "1", "2"}, " class=\"w\""},
        {{"+- 0.1", "1", "2"}, ""},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        const char *heads[] = {"n", "h"}, *cells[6];
        char head[32];
        for (int k = 0; k < 3; k++) {
            cells[2 * k] = "row";
            cells[2 * k + 1] = CASES[i].cells[k];
        }
        snprintf(head, sizeof head, "case %d", i);
        heads[1] = head;
        assert_int_equal(far_page_table(ctx, page, NULL, heads, 2, cells, 3), FAR_OK);
        write_html();
        char wanted[64];
        snprintf(wanted, sizeof wanted, "<th scope=\"col\"%s>case %d</th>", CASES[i].class, i);
        assert_page_holds(wanted);
    }
    assert_page_holds("<td class=\"t\">yes</td>");
    assert_page_holds("<td class=\"w\">2</td>");
}

static void two_columns_stand_together(void **state)
{
    (void)state;
    const char *heads[] = {"of the fit", "value", "unit"}, *cells[] = {"rows", "7", "-"};
    assert_int_equal(far_page_table(ctx, page, NULL, heads, 3, cells, 1), FAR_OK);
    write_html();
    assert_page_holds("<table class=\"data\">");
    assert_lacks("<table class=\"data few\">");
    assert_int_equal(far_page_table(ctx, page, NULL, heads, 2, cells, 1), FAR_OK);
    write_html();
    assert_page_holds("<table class=\"data few\">");
}

static void intervals_get_their_sign(void **state)
{
    (void)state;
    write_full_page();
    assert_page_holds("<td class=\"n\">0.5 \xc2\xb1 0.01</td>");
    assert_page_holds("<th scope=\"row\">none</th>");
}

/* ---- texts ---- */

static void nothing_in_a_text_becomes_markup(void **state)
{
    (void)state;
    static const char BAD[] = "<b onclick=\"x\">&amp;</b>";
    const char *heads[] = {BAD}, *cells[] = {BAD};
    far_figure *f = small_figure();
    far_page_destroy(page);
    assert_int_equal(far_page_create(ctx, BAD, &page), FAR_OK);
    assert_int_equal(far_page_verdict(ctx, page, FAR_TONE_PLAIN, BAD), FAR_OK);
    assert_int_equal(far_page_heading(ctx, page, BAD), FAR_OK);
    assert_int_equal(far_page_text(ctx, page, BAD), FAR_OK);
    assert_int_equal(far_page_table(ctx, page, BAD, heads, 1, cells, 1), FAR_OK);
    assert_int_equal(far_page_figure(ctx, page, f, BAD, BAD), FAR_OK);
    assert_int_equal(far_page_fact(ctx, page, BAD, BAD), FAR_OK);
    far_figure_destroy(f);
    write_html();
    assert_lacks("<b onclick");
    assert_lacks("\"x\"");
    int shown = 0;
    for (const char *at = html; (at = strstr(at, "&lt;b onclick=&quot;x&quot;&gt;&amp;amp;"));
         at++) {
        shown++;
    }
    assert_int_equal(shown, 12);
}

static void texts_are_valid_whatever_the_bytes(void **state)
{
    (void)state;
    assert_int_equal(far_page_text(ctx, page,
                                   "a\xff\xc3(b\x01\x1b"
                                   "c\xe2\x89\xa4"),
                     FAR_OK);
    write_html();
    assert_page_holds("<p>a\xef\xbf\xbd\xef\xbf\xbd(b  c\xe2\x89\xa4</p>");
}

static void texts_are_raised_and_lowered(void **state)
{
    (void)state;
    assert_int_equal(far_page_text(ctx, page, "R^{2} of x_{<i>} and ^{ alone"), FAR_OK);
    assert_int_equal(far_page_fact(ctx, page, "command", "echo x^{2}"), FAR_OK);
    write_html();
    assert_page_holds("<p>R<sup>2</sup> of x<sub>&lt;i&gt;</sub> and ^{ alone</p>");
    assert_page_holds("echo x^{2}</pre>");
}

/* ---- data behind links ---- */

static int hex(char c)
{
    return c >= 'A' ? c - 'A' + 10 : c - '0';
}

/* What the link offers; free it. */
static char *linked_text(void)
{
    static const char BEFORE[] = "href=\"data:text/csv;charset=utf-8,";
    const char *s = find_from(html, BEFORE) + strlen(BEFORE);
    char *out = malloc(strlen(s)), *to = out;
    for (; *s != '"'; s++) {
        if (*s == '%') {
            *to++ = (char)(16 * hex(s[1]) + hex(s[2]));
            s += 2;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
    return out;
}

static void a_figure_offers_its_data(void **state)
{
    (void)state;
    far_figure *f = small_figure();
    char *csv;
    assert_int_equal(far_page_figure(ctx, page, f, "fig1.csv", NULL), FAR_OK);
    assert_int_equal(far_figure_csv(ctx, f, &csv), FAR_OK);
    write_html();
    char *linked = linked_text();
    assert_string_equal(linked, csv);
    assert_non_null(strstr(linked, "0.3333333333333333"));
    assert_page_holds("download=\"fig1.csv\"");
    free(linked);
    far_text_free(ctx, csv);
    far_figure_destroy(f);
}

static void a_page_needs_nothing_else(void **state)
{
    (void)state;
    static const char *const FOREIGN[] = {"https:", "src=",    "@import", "<iframe", "<object",
                                          "fetch(", "Request", "//cdn",   "ws:",     "<base"};
    write_full_page();
    for (int i = 0; i < COUNT(FOREIGN); i++) {
        assert_lacks(FOREIGN[i]);
    }
    assert_page_holds("default-src 'none'");
    for (const char *at = html; (at = strstr(at, "http:")); at++) { /* the name of SVG, no place */
        assert_memory_equal(at, "http://www.w3.org/2000/svg", 26);
    }
    for (const char *at = html; (at = strstr(at, "href=")); at++) {
        assert_memory_equal(at, "href=\"data:", 11);
    }
}

static void the_same_calls_give_the_same_bytes(void **state)
{
    (void)state;
    write_full_page();
    char *first = strdup(html);
    far_page_destroy(page);
    assert_int_equal(far_page_create(ctx, "A title", &page), FAR_OK);
    write_full_page();
    assert_string_equal(first, html);
    free(first);
}

/* ---- markup ---- */

static bool is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "link") == 0;
}

/* Takes the tag at s, which starts with <; open[*depth] are the names of those that are open. */
static const char *take_tag(const char *s, char open[][16], int *depth)
{
    char name[16] = "";
    bool closing = s[1] == '/';
    sscanf(s + 1 + closing, "%15[A-Za-z0-9]", name);
    const char *end = strchr(s, '>');
    assert_non_null(end);
    if (closing) {
        assert_true(*depth > 0);
        assert_string_equal(open[--*depth], name);
    } else if (end[-1] != '/' && !is_void(name)) {
        assert_true(*depth < 32);
        strcpy(open[(*depth)++], name);
    }
    if (!closing && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) {
        return strstr(end, "</");
    }
    return end + 1;
}

static void every_tag_is_closed(void **state)
{
    (void)state;
    char open[32][16];
    int depth = 0;
    write_full_page();
    for (const char *s = html + strlen("<!DOCTYPE html>"); *s;) {
        s = *s == '<' ? take_tag(s, open, &depth) : s + 1;
    }
    assert_int_equal(depth, 0);
}

/* ---- colours ---- */

static double part(const char *digits)
{
    char two[3] = {digits[0], digits[1], 0};
    double v = (double)strtol(two, NULL, 16) / 255;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* The relative luminance of WCAG of a variable in the style sheet behind from. */
static double luminance(const char *from, const char *name)
{
    char start[32];
    snprintf(start, sizeof start, "--%s:#", name);
    const char *c = find_from(from, start) + strlen(start);
    return 0.2126 * part(c) + 0.7152 * part(c + 2) + 0.0722 * part(c + 4);
}

static void texts_have_contrast(void **state)
{
    (void)state;
    static const char *const PAIRS[][2] = {
        {"ink", "bg"},       {"ink", "card"},   {"ink", "stripe"},   {"ink", "code"},
        {"muted", "bg"},     {"muted", "card"}, {"muted", "stripe"}, {"link", "card"},
        {"good", "good-bg"}, {"bad", "bad-bg"}};
    write_html();
    const char *light = find_from(html, ":root{"), *dark = find_from(html, "data-theme=dark]{");
    for (int i = 0; i < 2 * COUNT(PAIRS); i++) {
        const char *sheet = i % 2 ? light : dark, *const *pair = PAIRS[i / 2];
        double a = luminance(sheet, pair[0]), b = luminance(sheet, pair[1]);
        double contrast = (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
        if (contrast < 4.5) {
            fail_msg("%s on %s: %.2f", pair[0], pair[1], contrast);
        }
    }
}

/* ---- failures ---- */

static void arguments_are_checked(void **state)
{
    (void)state;
    far_page *none = page;
    far_figure *f = small_figure(), *empty;
    assert_int_equal(far_page_create(ctx, NULL, &none), FAR_ERR_ARG);
    assert_null(none);
    assert_message("title is NULL");
    assert_int_equal(far_page_create(ctx, "t", NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_verdict(ctx, NULL, FAR_TONE_GOOD, "t"), FAR_ERR_ARG);
    assert_message("page is NULL");
    assert_int_equal(far_page_verdict(ctx, page, (far_tone)3, "t"), FAR_ERR_ARG);
    assert_message("tone is 3");
    assert_int_equal(far_page_verdict(ctx, page, FAR_TONE_GOOD, NULL), FAR_ERR_ARG);
    assert_message("text is NULL");
    assert_int_equal(far_page_heading(ctx, NULL, "t"), FAR_ERR_ARG);
    assert_int_equal(far_page_heading(ctx, page, NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_text(ctx, page, NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_table(ctx, NULL, NULL, HEADS, 3, CELLS, 2), FAR_ERR_ARG);
    assert_int_equal(far_page_table(ctx, page, NULL, NULL, 3, CELLS, 2), FAR_ERR_ARG);
    assert_int_equal(far_page_table(ctx, page, NULL, HEADS, 3, NULL, 2), FAR_ERR_ARG);
    assert_message("heads or cells is NULL");
    assert_int_equal(far_page_table(ctx, page, NULL, HEADS, 0, CELLS, 2), FAR_ERR_SHAPE);
    assert_int_equal(far_page_table(ctx, page, NULL, HEADS, 3, CELLS, -1), FAR_ERR_SHAPE);
    assert_message("3 columns and -1 rows");
    assert_int_equal(far_page_table(ctx, page, NULL, HEADS, 3, NULL, 0), FAR_OK);
    assert_int_equal(far_page_figure(ctx, NULL, f, "n", NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_figure(ctx, page, NULL, "n", NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_figure(ctx, page, f, NULL, NULL), FAR_ERR_ARG);
    assert_message("name is NULL");
    assert_int_equal(far_figure_create(ctx, NULL, &empty), FAR_OK);
    assert_int_equal(far_page_figure(ctx, page, empty, "n", NULL), FAR_ERR_VALUE);
    assert_int_equal(far_page_fact(ctx, NULL, "k", "v"), FAR_ERR_ARG);
    assert_int_equal(far_page_fact(ctx, page, NULL, "v"), FAR_ERR_ARG);
    assert_message("key is NULL");
    assert_int_equal(far_page_fact(ctx, page, "k", NULL), FAR_ERR_ARG);
    assert_message("value is NULL");
    assert_int_equal(far_page_html(ctx, NULL, &html), FAR_ERR_ARG);
    assert_null(html);
    assert_int_equal(far_page_html(ctx, page, NULL), FAR_ERR_ARG);
    assert_int_equal(far_page_save(ctx, NULL, "p.html"), FAR_ERR_ARG);
    assert_int_equal(far_page_save(ctx, page, NULL), FAR_ERR_ARG);
    assert_message("path is NULL");
    far_figure_destroy(empty);
    far_figure_destroy(f);
}

/* All parts once more with the k-th allocation failing, for every k: the page stays as it was, or
 * gains whole parts. */
static void a_failed_call_leaves_the_page_as_it_was(void **state)
{
    (void)state;
    far_figure *f = small_figure();
    char *before;
    write_full_page();
    before = strdup(html);
    for (int64_t k = 0;; k++) {
        far_text_free(ctx, html);
        html = NULL;
        far_page_destroy(page);
        assert_int_equal(far_page_create(ctx, "A title", &page), FAR_OK);
        test_heap.calls = 0;
        test_heap.fail_at = k;
        far_status st = fill_page(f);
        st = st ? st : far_page_html(ctx, page, &html);
        test_heap.fail_at = -1;
        if (st == FAR_OK) {
            assert_true(k > 8);
            break;
        }
        assert_int_equal(st, FAR_ERR_MEMORY);
        assert_null(html);
        write_html();
        assert_page_holds("</html>");
    }
    assert_string_equal(html, before);
    free(before);
    far_figure_destroy(f);
}

static void creation_survives_lack_of_memory(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 2; k++) {
        far_page *other = page;
        test_heap.calls = 0;
        test_heap.fail_at = k;
        assert_int_equal(far_page_create(ctx, "t", &other), FAR_ERR_MEMORY);
        assert_null(other);
        test_heap.fail_at = -1;
    }
    far_page_destroy(NULL);
}

static void a_file_is_whole_or_not_there(void **state)
{
    (void)state;
    char place[] = "page-XXXXXX", path[64], *read = NULL;
    size_t capacity = 0;
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/none/report.html", place);
    assert_int_equal(far_page_save(ctx, page, path), FAR_ERR_IO);
    assert_message("no such directory");
    snprintf(path, sizeof path, "%s/report.html", place);
    assert_int_equal(far_page_save(ctx, page, path), FAR_OK);
    FILE *file = fopen(path, "r");
    assert_true(file && getdelim(&read, &capacity, 0, file) > 0);
    fclose(file);
    write_html();
    assert_string_equal(read, html);
    free(read);
    unlink(path);
    assert_int_equal(rmdir(place), 0); /* and nothing else was in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_stand_in_the_order_of_the_calls),
        TEST(facts_are_no_table_of_data),
        TEST(figures_and_tables_are_numbered),
        TEST(an_empty_page_has_no_verdict),
        TEST(columns_are_of_a_kind),
        TEST(two_columns_stand_together),
        TEST(intervals_get_their_sign),
        TEST(nothing_in_a_text_becomes_markup),
        TEST(texts_are_valid_whatever_the_bytes),
        TEST(texts_are_raised_and_lowered),
        TEST(a_figure_offers_its_data),
        TEST(a_page_needs_nothing_else),
        TEST(the_same_calls_give_the_same_bytes),
        TEST(every_tag_is_closed),
        TEST(texts_have_contrast),
        TEST(arguments_are_checked),
        TEST(a_failed_call_leaves_the_page_as_it_was),
        TEST(creation_survives_lack_of_memory),
        TEST(a_file_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
