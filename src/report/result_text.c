/* Results as text for a terminal: lines with labels, sentences, tables in columns. Whatever stands
 * in a text, the terminal prints it and does nothing else. */
#include "result_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 14, LINE_WIDTH = 100 };

/* What a terminal prints of text. */
static void add_shown(far_text *t, const char *text)
{
    int64_t left = (int64_t)strlen(text);
    char piece[FAR_SHOW_NEXT];
    while (left > 0) {
        int used, bytes = far_show_next(text, left, piece, &used);
        far_text_add(t, "%.*s", used, piece);
        text += bytes;
        left -= bytes;
    }
}

/* Its places, a character each. */
static int64_t width_of(const char *text)
{
    int64_t width = 0, left = (int64_t)strlen(text);
    char piece[FAR_SHOW_NEXT];
    while (left > 0) {
        int used, bytes = far_show_next(text, left, piece, &used);
        width += bytes == used ? 1 : used;
        text += bytes;
        left -= bytes;
    }
    return width;
}

static void add_blanks(far_text *t, int64_t count)
{
    far_text_add(t, "%*s", (int)(count > 0 ? count : 0), "");
}

static void drop_blanks(far_text *t)
{
    while (t->status == FAR_OK && t->length > 0 && t->data[t->length - 1] == ' ') {
        t->data[--t->length] = 0;
    }
}

/* ---- lines ---- */

static int64_t widest_label(const far_result *r)
{
    int64_t widest = LABEL_WIDTH - 1;
    for (int64_t i = 0; i < r->count; i++) {
        const far_piece *p = &r->pieces[i];
        if (p->kind == FAR_PIECE_FACT && p->label && far_piece_seen(p, FAR_FOR_TEXT)) {
            int64_t width = width_of(p->label);
            widest = width > widest ? width : widest;
        }
    }
    return widest + 1;
}

static void add_line(far_text *t, const far_piece *p, int64_t width)
{
    add_shown(t, p->label);
    add_blanks(t, width + 1 - width_of(p->label));
    add_shown(t, p->value.words);
    drop_blanks(t);
    far_text_add(t, "\n");
}

/* Lines of at most LINE_WIDTH places, broken at blanks. */
static void add_paragraph(far_text *t, const char *text)
{
    int64_t used = 0;
    while (*text) {
        size_t bytes = strcspn(text, " ");
        char *word = NULL;
        t->status =
            t->status == FAR_OK ? far_copy_text(t->ctx, text, (int64_t)bytes, &word) : t->status;
        int64_t width = word ? width_of(word) : 0;
        bool fits = used == 0 || used + 1 + width <= LINE_WIDTH;
        far_text_add(t, used == 0 ? "" : fits ? " " : "\n");
        used = fits && used > 0 ? used + 1 + width : width;
        if (word) {
            add_shown(t, word);
        }
        far_free(t->ctx, word);
        text += bytes + (text[bytes] == ' ');
    }
    far_text_add(t, "\n");
}

/* ---- tables ---- */

/* That of its format, "%14.6g", at least. */
static int64_t column_width(const far_piece *p, int64_t col)
{
    const char *format = p->formats[col];
    int64_t least = format ? strtol(format + strcspn(format, "123456789."), NULL, 10) : 0;
    int64_t head = width_of(p->heads[col]), widest = head > least ? head : least;
    for (int64_t i = col; i < p->cell_count; i += p->cols) {
        int64_t width = width_of(far_cell_words(&p->cells[i]));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Numbers stand at the right, texts at the left. */
static void add_cell(far_text *t, const far_piece *p, int64_t col, const char *text, int64_t width)
{
    int64_t blanks = width - width_of(text);
    add_blanks(t, p->formats[col] ? blanks : 0);
    add_shown(t, text);
    add_blanks(t, p->formats[col] ? 0 : blanks);
}

/* row -1: the heads. */
static void add_row(far_text *t, const far_piece *p, int64_t row, const int64_t *widths)
{
    bool first = true;
    for (int64_t j = 0; j < p->cols; j++) {
        if (p->heads[j]) {
            far_text_add(t, first ? "" : "  ");
            first = false;
            add_cell(t, p, j, row < 0 ? p->heads[j] : far_cell_words(&p->cells[row * p->cols + j]),
                     widths[j]);
        }
    }
    drop_blanks(t);
    far_text_add(t, "\n");
}

static void add_table(far_text *t, const far_piece *p)
{
    int64_t *widths = NULL;
    t->status = t->status == FAR_OK ? far_alloc(t->ctx, p->cols, &widths) : t->status;
    for (int64_t j = 0; widths && j < p->cols; j++) {
        widths[j] = p->heads[j] ? column_width(p, j) : 0;
    }
    for (int64_t i = -1; widths && i < p->cell_count / p->cols; i++) {
        add_row(t, p, i, widths);
    }
    far_free(t->ctx, widths);
}

/* ---- the whole ---- */

/* What is set apart by an empty line: tables and headings from what stands before, what follows
 * tables and verdicts from them. */
static bool set_apart(const far_piece *before, const far_piece *p)
{
    bool empty = p->kind == FAR_PIECE_LINE && !(p->text && *p->text);
    return before && !empty &&
           (p->kind == FAR_PIECE_TABLE || p->kind == FAR_PIECE_HEADING ||
            before->kind == FAR_PIECE_TABLE ||
            (before->kind == FAR_PIECE_VERDICT && p->kind != FAR_PIECE_VERDICT)) &&
           !(before->kind == FAR_PIECE_HEADING);
}

static void add_piece(far_text *t, const far_piece *p, int64_t width)
{
    if (p->kind == FAR_PIECE_TABLE) {
        add_table(t, p);
    } else if (p->kind == FAR_PIECE_LINE) {
        add_shown(t, p->text ? p->text : "");
        far_text_add(t, "\n");
    } else if (p->kind != FAR_PIECE_FACT) {
        add_paragraph(t, p->text ? p->text : "");
    } else if (p->label) {
        add_line(t, p, width);
    } else {
        add_paragraph(t, p->value.words);
    }
}

far_status far_result_as_text(far_ctx *ctx, const far_result *r, char **out)
{
    far_text t = {.ctx = ctx};
    const far_piece *before = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_status st = far_result_ready(ctx, r);
    int64_t width = st == FAR_OK ? widest_label(r) : 0;
    for (int64_t i = 0; st == FAR_OK && i < r->count; i++) {
        const far_piece *p = &r->pieces[i];
        bool said = p->kind == FAR_PIECE_FACT || p->kind == FAR_PIECE_TABLE ||
                    p->kind == FAR_PIECE_VERDICT || p->kind == FAR_PIECE_HEADING ||
                    p->kind == FAR_PIECE_LINE;
        if (said && far_piece_seen(p, FAR_FOR_TEXT)) {
            far_text_add(&t, set_apart(before, p) ? "\n" : "");
            add_piece(&t, p, width);
            before = p;
        }
    }
    far_text_add(&t, "%s", "");
    st = st == FAR_OK ? t.status : st;
    if (st != FAR_OK) {
        far_free(ctx, t.data);
        return st;
    }
    *out = t.data;
    return FAR_OK;
}
