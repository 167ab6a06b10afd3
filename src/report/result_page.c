/* Results as pages: runs of facts become tables of two columns. */
#include "page.h"
#include "result_internal.h"

#include <stdio.h>
#include <string.h>

static far_status put_facts(far_ctx *ctx, far_page *page, const far_piece *p, int64_t count)
{
    const char **cells = NULL;
    far_status st = far_alloc(ctx, 2 * count, &cells);
    int64_t used = 0;
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        if (p[i].kind == FAR_PIECE_FACT && far_piece_seen(&p[i], FAR_FOR_PAGE)) {
            cells[used++] = p[i].label;
            cells[used++] = p[i].value.words;
        }
    }
    st = st == FAR_OK ? far_page_facts(ctx, page, cells, used / 2) : st;
    far_free(ctx, cells);
    return st;
}

/* Cells and heads of the columns that people see. */
static int64_t seen_columns(const far_piece *p, const char **heads, const char **cells)
{
    int64_t cols = 0, used = 0;
    for (int64_t j = 0; j < p->cols; j++) {
        if (p->heads[j]) {
            heads[cols++] = p->heads[j];
        }
    }
    for (int64_t i = 0; i < p->cell_count / p->cols * p->cols; i++) {
        if (p->heads[i % p->cols]) {
            const char *words = far_cell_words(&p->cells[i]);
            cells[used++] = words + strspn(words, " ");
        }
    }
    return cols;
}

static far_status put_table(far_ctx *ctx, far_page *page, const far_piece *p)
{
    const char **heads = NULL, **cells = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, p->cols, &heads));
    FAR_TRY(far_alloc(ctx, p->cell_count, &cells));
    int64_t cols = seen_columns(p, heads, cells);
    if (cols > 0) {
        st = far_page_table(ctx, page, p->text, heads, cols, cells, p->cell_count / p->cols);
    }
done:
    far_free(ctx, heads);
    far_free(ctx, cells);
    return st;
}

static far_status put_figure(far_ctx *ctx, far_page *page, const far_piece *p)
{
    char name[256];
    snprintf(name, sizeof name, "%s.csv", p->label);
    return far_page_figure(ctx, page, p->figure, name, p->text);
}

static far_status put_piece(far_ctx *ctx, far_page *page, const far_piece *p)
{
    const char *text = p->text ? p->text : "";
    switch (p->kind) {
    case FAR_PIECE_FACT: /* one without a label */
        return far_page_text(ctx, page, p->value.words);
    case FAR_PIECE_TABLE:
        return put_table(ctx, page, p);
    case FAR_PIECE_FIGURE:
        return put_figure(ctx, page, p);
    case FAR_PIECE_VERDICT:
        return far_page_verdict(ctx, page, p->tone, text);
    case FAR_PIECE_LINE:
        return *text ? far_page_text(ctx, page, text + strspn(text, " ")) : FAR_OK;
    case FAR_PIECE_HEADING:
        return far_page_heading(ctx, page, text);
    case FAR_PIECE_ORIGIN:
        return far_page_fact(ctx, page, p->label ? p->label : "", text);
    default:
        return FAR_OK;
    }
}

/* Facts with labels, and what a page does not see between them. */
static bool in_run(const far_piece *p)
{
    bool group =
        p->kind == FAR_PIECE_OPEN || p->kind == FAR_PIECE_OPEN_LIST || p->kind == FAR_PIECE_CLOSE;
    return group || !far_piece_seen(p, FAR_FOR_PAGE) || (p->kind == FAR_PIECE_FACT && p->label);
}

static bool is_line(const far_piece *p)
{
    return p->kind == FAR_PIECE_FACT && p->label && far_piece_seen(p, FAR_FOR_PAGE);
}

/* How many pieces from i on make one table of facts; 0: none do. */
static int64_t run_from(const far_result *r, int64_t i)
{
    int64_t count = 0;
    while (is_line(&r->pieces[i]) && i + count < r->count && in_run(&r->pieces[i + count])) {
        count++;
    }
    return count;
}

static far_status make_page(far_ctx *ctx, const far_result *r, far_page **out)
{
    far_status st;
    *out = NULL;
    FAR_TRY(far_result_ready(ctx, r));
    FAR_TRY(far_page_create(ctx, r->title, out));
    for (int64_t i = 0; i < r->count; i++) {
        int64_t run = run_from(r, i);
        if (run > 0) {
            FAR_TRY(put_facts(ctx, *out, &r->pieces[i], run));
            i += run - 1;
        } else if (far_piece_seen(&r->pieces[i], FAR_FOR_PAGE)) {
            FAR_TRY(put_piece(ctx, *out, &r->pieces[i]));
        }
    }
done:
    return st;
}

far_status far_result_page(far_ctx *ctx, const far_result *r, char **out)
{
    far_page *page;
    far_status st = make_page(ctx, r, &page);
    st = st == FAR_OK ? far_page_html(ctx, page, out) : st;
    far_page_destroy(page);
    return st;
}

far_status far_result_save(far_ctx *ctx, const far_result *r, const char *path)
{
    far_page *page;
    far_status st = make_page(ctx, r, &page);
    st = st == FAR_OK ? far_page_save(ctx, page, path) : st;
    far_page_destroy(page);
    return st;
}
