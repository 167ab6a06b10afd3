/* Report pages: their parts in order, and the whole. */
#include "../data/data_internal.h"
#include "figure_internal.h"
#include "page_internal.h"

#include <string.h>

/* ---- life ---- */

static far_status check_text(far_ctx *ctx, const char *text, const char *name)
{
    return text ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "%s is NULL", name);
}

static far_status check_page(far_ctx *ctx, const far_page *page)
{
    return page ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "page is NULL");
}

far_status far_page_create(far_ctx *ctx, const char *title, far_page **out)
{
    far_status st;
    far_page *page = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_text(ctx, title, "title"));
    FAR_TRY(far_alloc(ctx, 1, &page));
    *page = (far_page){.ctx = ctx, .verdicts.ctx = ctx, .body.ctx = ctx, .facts.ctx = ctx};
    FAR_TRY(far_copy_text(ctx, title, (int64_t)strlen(title), &page->title));
done:
    FAR_HAND_OVER(page, out, far_page_destroy);
    return st;
}

void far_page_destroy(far_page *page)
{
    if (!page) {
        return;
    }
    FAR_FREE_ALL(page->ctx, page->title, page->verdicts.data, page->body.data, page->facts.data,
                 page);
}

/* What was begun since length goes if it could not be finished. */
static far_status settle(far_text *t, int64_t length)
{
    far_status st = t->status;
    if (st != FAR_OK) {
        t->length = length;
        t->status = FAR_OK;
        if (t->data) {
            t->data[length] = 0;
        }
    }
    return st;
}

/* ---- words ---- */

/* Drawn, not written: fonts differ in what they have. */
#define SIGN(shape)                                                                                \
    "<svg class=\"sign\" viewBox=\"0 0 16 16\" aria-hidden=\"true\" focusable=\"false\">"          \
    "<path d=\"" shape "\"/></svg>"
#define CHECK_SIGN SIGN("M2.5 8.5l3.5 4 7.5-9")
#define WARNING_SIGN SIGN("M8 2l6.5 12h-13zM8 6.5v3.5M8 11.8v.4")

static const char *const TONE_CLASS[] = {"plain", "good", "bad"};
static const char *const TONE_TAG[] = {"", "<strong class=\"tag\">" CHECK_SIGN "Good</strong> ",
                                       "<strong class=\"tag\">" WARNING_SIGN "Caution</strong> "};

far_status far_page_verdict(far_ctx *ctx, far_page *page, far_tone tone, const char *text)
{
    far_status st;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(check_text(ctx, text, "text"));
    if ((int)tone < FAR_TONE_PLAIN || tone > FAR_TONE_BAD) {
        return far_fail(ctx, FAR_ERR_ARG, "tone is %d, which is no far_tone", (int)tone);
    }
    far_text *t = &page->verdicts;
    int64_t before = t->length;
    far_text_add(t, "<p class=\"%s\">%s<span>", TONE_CLASS[tone], TONE_TAG[tone]);
    far_html_add_rich(t, text);
    far_text_add(t, "</span></p>\n");
    st = settle(t, before);
done:
    return st;
}

static far_status add_words(far_ctx *ctx, far_page *page, const char *tag, const char *text)
{
    far_status st;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(check_text(ctx, text, "text"));
    far_text *t = &page->body;
    int64_t before = t->length;
    far_text_add(t, "<%s>", tag);
    far_html_add_rich(t, text);
    far_text_add(t, "</%s>\n", tag);
    st = settle(t, before);
done:
    return st;
}

far_status far_page_heading(far_ctx *ctx, far_page *page, const char *text)
{
    return add_words(ctx, page, "h2", text);
}

far_status far_page_text(far_ctx *ctx, far_page *page, const char *text)
{
    return add_words(ctx, page, "p", text);
}

/* ---- tables and figures ---- */

far_status far_page_table(far_ctx *ctx, far_page *page, const char *caption,
                          const char *const *heads, int64_t cols, const char *const *cells,
                          int64_t rows)
{
    far_status st;
    FAR_TRY(check_page(ctx, page));
    if (!heads || (!cells && rows > 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "heads or cells is NULL");
    }
    if (cols < 1 || rows < 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "a table of %lld columns and %lld rows",
                        (long long)cols, (long long)rows);
    }
    int64_t before = page->body.length;
    far_html_table(&page->body, page->tables + 1, caption, heads, cols, cells, rows);
    FAR_TRY(settle(&page->body, before));
    page->tables++;
done:
    return st;
}

static void add_figure(far_text *t, int64_t number, const char *svg, const char *csv,
                       const char *name, const char *caption)
{
    far_text_add(t, "<figure>\n%s\n", svg);
    far_text_add(t, "<figcaption><b>Figure %lld.</b> ", (long long)number);
    far_html_add_rich(t, caption ? caption : "");
    far_text_add(t, " <a class=\"file\" download=\"");
    far_html_add(t, name);
    far_text_add(t, "\" href=\"data:text/csv;charset=utf-8,");
    far_html_add_percent(t, csv);
    far_text_add(t, "\">data (csv)</a></figcaption>\n</figure>\n");
}

far_status far_page_figure(far_ctx *ctx, far_page *page, const far_figure *figure, const char *name,
                           const char *caption)
{
    far_status st;
    char *svg = NULL, *csv = NULL;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(check_text(ctx, name, "name"));
    FAR_TRY(far_figure_svg(ctx, figure, FAR_THEME_PAGE, &svg));
    FAR_TRY(far_figure_csv(ctx, figure, &csv));
    int64_t before = page->body.length;
    add_figure(&page->body, page->figures + 1, svg, csv, name, caption);
    FAR_TRY(settle(&page->body, before));
    page->figures++;
done:
    far_free(ctx, svg);
    far_free(ctx, csv);
    return st;
}

/* ---- facts ---- */

static void add_fact(far_text *t, const char *key, const char *value)
{
    bool command = strcmp(key, "command") == 0;
    far_text_add(t, "<tr><th scope=\"row\">");
    far_html_add(t, key);
    far_text_add(t, command ? "</th><td><pre class=\"command\" tabindex=\"0\" title=\"a click "
                              "selects all of it\">"
                            : "</th><td class=\"lines\">");
    far_html_add(t, value);
    far_text_add(t, "%s</td></tr>\n", command ? "</pre>" : "");
}

far_status far_page_facts(far_ctx *ctx, far_page *page, const char *const *cells, int64_t rows)
{
    far_status st;
    FAR_TRY(check_page(ctx, page));
    int64_t before = page->body.length;
    far_text_add(&page->body, "<table class=\"facts\"><tbody>\n");
    for (int64_t i = 0; i < rows; i++) {
        add_fact(&page->body, cells[2 * i] ? cells[2 * i] : "",
                 cells[2 * i + 1] ? cells[2 * i + 1] : "");
    }
    far_text_add(&page->body, "</tbody></table>\n");
    st = settle(&page->body, before);
done:
    return st;
}

far_status far_page_fact(far_ctx *ctx, far_page *page, const char *key, const char *value)
{
    far_status st;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(check_text(ctx, key, "key"));
    FAR_TRY(check_text(ctx, value, "value"));
    far_text *t = &page->facts;
    int64_t before = t->length;
    add_fact(t, key, value);
    st = settle(t, before);
done:
    return st;
}

/* ---- the whole ---- */

/* The policy keeps the promise that nothing comes from elsewhere. */
static void add_head(far_text *t, const char *title, const char *figure_css)
{
    far_text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    far_text_add(t, "<meta name=\"generator\" content=\"farfield %s\">\n", far_version());
    far_text_add(t, "<link rel=\"icon\" href=\"data:,\">\n<title>");
    far_html_add(t, title);
    far_text_add(t, "</title>\n<style>\n%s%s\n</style>\n</head>\n", far_page_style, figure_css);
}

static const char *text_of(const far_text *t)
{
    return t->data ? t->data : "";
}

static void add_body(far_text *t, const far_page *page)
{
    far_text_add(t, "<body>\n<header>\n<p class=\"brand\">farfield</p>\n<h1>");
    far_html_add_rich(t, page->title);
    far_text_add(t, "</h1>\n</header>\n<main>\n");
    if (page->verdicts.length > 0) {
        far_text_add(t, "<section class=\"verdict\" aria-label=\"Verdict\">\n%s</section>\n",
                     text_of(&page->verdicts));
    }
    far_text_add(t, "%s</main>\n", text_of(&page->body));
    far_text_add(t, "<footer>\n<h2>Reproduce</h2>\n<table class=\"facts\"><tbody>\n%s",
                 text_of(&page->facts));
    far_text_add(t,
                 "<tr><th scope=\"row\">version</th><td>farfield %s</td></tr>\n</tbody></table>\n"
                 "</footer>\n<script>\n%s</script>\n</body>\n</html>\n",
                 far_version(), far_page_script);
}

far_status far_page_html(far_ctx *ctx, const far_page *page, char **out)
{
    far_status st;
    char *css = NULL;
    far_text t = {.ctx = ctx};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(far_figure_css(ctx, &css));
    add_head(&t, page->title, css);
    add_body(&t, page);
    FAR_TRY(t.status);
    *out = t.data;
    t.data = NULL;
done:
    far_free(ctx, css);
    far_free(ctx, t.data);
    return st;
}

far_status far_page_save(far_ctx *ctx, const far_page *page, const char *path)
{
    far_status st;
    char *html = NULL;
    FAR_TRY(check_page(ctx, page));
    FAR_TRY(check_text(ctx, path, "path"));
    FAR_TRY(far_page_html(ctx, page, &html));
    FAR_TRY(far_output_save_text(ctx, path, html));
done:
    far_free(ctx, html);
    return st;
}
