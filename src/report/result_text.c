/* Results as text for a terminal: lines with labels, sentences, tables in columns. Whatever stands
 * in a text, the terminal prints it and does nothing else. */
#include "result_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 14, LINE_WIDTH = 100, TABLE_WIDTH = 80, FOLD_WIDTH = 24 };

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

/* Lines of at most room places, broken at blanks; those after the first are indented. */
static void add_folded(far_text *t, const char *text, int64_t room, int64_t indent)
{
    int64_t used = 0;
    while (*text) {
        size_t bytes = strcspn(text, " ");
        char *word = NULL;
        t->status =
            t->status == FAR_OK ? far_copy_text(t->ctx, text, (int64_t)bytes, &word) : t->status;
        int64_t width = word ? width_of(word) : 0;
        bool fits = used == 0 || used + 1 + width <= room;
        far_text_add(t, used == 0 ? "" : fits ? " " : "\n");
        add_blanks(t, fits ? 0 : indent);
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

/* What stands side by side: the first column, which says what a row is, and those from first on. */
typedef struct table_layout {
    int64_t *widths;
    int64_t first, end;
    int64_t folded; /* the column of texts that stands last and is broken at blanks; or -1 */
} table_layout;

/* row -1: the heads. Without the blanks that a format puts before a number. */
static const char *cell_text(const far_piece *p, int64_t row, int64_t col)
{
    const char *text = row < 0 ? p->heads[col] : far_cell_words(&p->cells[row * p->cols + col]);
    return p->formats[col] ? text + strspn(text, " ") : text;
}

/* What is in it needs. */
static int64_t column_width(const far_piece *p, int64_t col)
{
    int64_t widest = 0;
    for (int64_t row = -1; row < p->cell_count / p->cols; row++) {
        int64_t width = width_of(cell_text(p, row, col));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Of its format, "%14.6g". */
static int64_t format_width(const char *format)
{
    return format ? strtol(format + strcspn(format, "123456789."), NULL, 10) : 0;
}

static bool is_shown(const far_piece *p, const table_layout *layout, int64_t col)
{
    return p->heads[col] && (col == 0 || (col >= layout->first && col < layout->end));
}

/* With two blanks between columns, and before the folded one, which does not count. */
static int64_t table_width(const far_piece *p, const table_layout *layout)
{
    int64_t sum = 0;
    for (int64_t j = 0; j < p->cols; j++) {
        sum += is_shown(p, layout, j) && j != layout->folded ? layout->widths[j] + 2 : 0;
    }
    return sum - (layout->folded < 0 ? 2 : 0);
}

/* Columns as wide as their formats say; in a table wider than TABLE_WIDTH, as what is in them. */
static void choose_widths(const far_piece *p, table_layout *layout)
{
    int64_t *widths = layout->widths;
    for (int64_t j = 0; j < p->cols; j++) {
        int64_t least = format_width(p->formats[j]), width = p->heads[j] ? column_width(p, j) : 0;
        widths[j] = p->heads[j] && least > width ? least : width;
    }
    bool narrow = table_width(p, layout) > TABLE_WIDTH;
    for (int64_t j = 0; narrow && j < p->cols; j++) {
        widths[j] = p->heads[j] ? column_width(p, j) : 0;
    }
}

/* The widest column of texts, if the others leave it FOLD_WIDTH. */
static int64_t column_to_fold(const far_piece *p, const table_layout *layout)
{
    int64_t widest = -1, total = table_width(p, layout);
    for (int64_t j = 0; j < p->cols; j++) {
        bool texts = is_shown(p, layout, j) && !p->formats[j];
        widest = texts && (widest < 0 || layout->widths[j] > layout->widths[widest]) ? j : widest;
    }
    bool fits = widest >= 0 && total - layout->widths[widest] + FOLD_WIDTH <= TABLE_WIDTH;
    return total > TABLE_WIDTH && fits ? widest : -1;
}

/* All columns that TABLE_WIDTH holds, one besides the first at least. */
static void choose_columns(const far_piece *p, table_layout *layout)
{
    layout->folded = -1;
    layout->end = p->cols;
    layout->folded = column_to_fold(p, layout);
    while (layout->folded < 0 && table_width(p, layout) > TABLE_WIDTH &&
           layout->end > (layout->first > 0 ? layout->first : 1) + 1) {
        layout->end--;
    }
}

/* Numbers stand at the right, texts at the left. */
static void add_cell(far_text *t, const far_piece *p, int64_t col, const char *text, int64_t width)
{
    int64_t blanks = width - width_of(text);
    add_blanks(t, p->formats[col] ? blanks : 0);
    add_shown(t, text);
    add_blanks(t, p->formats[col] ? 0 : blanks);
}

static void add_row(far_text *t, const far_piece *p, int64_t row, const table_layout *layout)
{
    const char *between = "";
    for (int64_t j = 0; j < p->cols; j++) {
        if (is_shown(p, layout, j) && j != layout->folded) {
            far_text_add(t, "%s", between);
            between = "  ";
            add_cell(t, p, j, cell_text(p, row, j), layout->widths[j]);
        }
    }
    if (layout->folded >= 0) {
        int64_t before = table_width(p, layout), room = TABLE_WIDTH - before;
        far_text_add(t, "%s", between);
        add_folded(t, cell_text(p, row, layout->folded), room > FOLD_WIDTH ? room : FOLD_WIDTH,
                   before);
        return;
    }
    drop_blanks(t);
    far_text_add(t, "\n");
}

static int64_t next_shown(const far_piece *p, int64_t col)
{
    while (col < p->cols && !p->heads[col]) {
        col++;
    }
    return col;
}

/* What is too wide goes on below, with the first column again. */
static void add_table(far_text *t, const far_piece *p)
{
    table_layout layout = {.end = p->cols, .folded = -1};
    t->status = t->status == FAR_OK ? far_alloc(t->ctx, p->cols, &layout.widths) : t->status;
    if (layout.widths) {
        choose_widths(p, &layout);
    }
    for (; layout.widths && layout.first < p->cols; layout.first = next_shown(p, layout.end)) {
        far_text_add(t, layout.first > 0 ? "\n" : "");
        choose_columns(p, &layout);
        for (int64_t i = -1; i < p->cell_count / p->cols; i++) {
            add_row(t, p, i, &layout);
        }
    }
    far_free(t->ctx, layout.widths);
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
        add_folded(t, p->text ? p->text : "", LINE_WIDTH, 0);
    } else if (p->label) {
        add_line(t, p, width);
    } else {
        add_folded(t, p->value.words, LINE_WIDTH, 0);
    }
}

void far_result_put_text(const far_result *r, far_text *t)
{
    const far_piece *before = NULL;
    int64_t width = widest_label(r);
    for (int64_t i = 0; i < r->count; i++) {
        const far_piece *p = &r->pieces[i];
        bool said = p->kind == FAR_PIECE_FACT || p->kind == FAR_PIECE_TABLE ||
                    p->kind == FAR_PIECE_VERDICT || p->kind == FAR_PIECE_HEADING ||
                    p->kind == FAR_PIECE_LINE;
        if (said && far_piece_seen(p, FAR_FOR_TEXT)) {
            far_text_add(t, set_apart(before, p) ? "\n" : "");
            add_piece(t, p, width);
            before = p;
        }
    }
    far_text_add(t, "%s", "");
}
