/* Tables of a page. */
#include "../data/data_internal.h"
#include "page_internal.h"

#include <string.h>

#define UNIT_BYTES 8   /* at most, of what may follow a number */
#define WORDS_BYTES 14 /* a column with longer cells may be broken into lines */
#define LINE_BYTES 24  /* the same, and it stays wider */
#define FEW_COLUMNS 2  /* far apart they would be hard to read across */

typedef enum column { COLUMN_SHORT, COLUMN_NUMBERS, COLUMN_WORDS, COLUMN_LINES } column;

static const char *const COLUMN_CLASS[] = {"", " class=\"n\"", " class=\"w\"", " class=\"t\""};

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " ");
}

/* Where "+- 0.1" ends; s if there is none. */
static const char *skip_interval(const char *s)
{
    double value;
    const char *at = skip_blanks(s);
    bool there = strncmp(at, "+-", 2) == 0 || strncmp(at, "\xc2\xb1", 2) == 0;
    const char *end = there ? far_number_parse(skip_blanks(at + 2), &value) : NULL;
    return end ? end : s;
}

static bool is_number(const char *cell)
{
    double value;
    const char *s = far_number_parse(skip_blanks(cell), &value);
    if (!s) {
        return false;
    }
    s = skip_blanks(skip_interval(s));
    size_t unit = strcspn(s, " 0123456789");
    return unit <= UNIT_BYTES && !*skip_blanks(s + unit);
}

static bool is_blank(const char *cell)
{
    return !cell || !*cell || strcmp(cell, "-") == 0;
}

static bool holds_numbers(const char *const *cells, int64_t rows, int64_t cols, int64_t col)
{
    int64_t numbers = 0;
    for (int64_t i = 0; i < rows; i++) {
        const char *cell = cells[i * cols + col];
        if (!is_blank(cell) && !is_number(cell)) {
            return false;
        }
        numbers += !is_blank(cell);
    }
    return numbers > 0;
}

/* One kind for all cells of a column: numbers stay whole, words give way. */
static column column_kind(const char *const *cells, int64_t rows, int64_t cols, int64_t col)
{
    size_t longest = 0;
    if (holds_numbers(cells, rows, cols, col)) {
        return COLUMN_NUMBERS;
    }
    for (int64_t i = 0; i < rows; i++) {
        const char *cell = cells[i * cols + col];
        size_t length = cell ? strlen(cell) : 0;
        longest = length > longest ? length : longest;
    }
    return longest > LINE_BYTES    ? COLUMN_LINES
           : longest > WORDS_BYTES ? COLUMN_WORDS
                                   : COLUMN_SHORT;
}

/* "+-" is how a program writes it. */
static void add_cell(far_text *t, const char *cell)
{
    const char *sign = cell && is_number(cell) ? strstr(cell, "+-") : NULL;
    if (sign) {
        far_html_add_rich_part(t, cell, sign - cell);
        far_text_add(t, "\xc2\xb1");
        cell = sign + 2;
    }
    far_html_add_rich(t, cell ? cell : "");
}

static void add_head(far_text *t, const char *const *heads, int64_t cols, const column *kinds)
{
    far_text_add(t, "<thead><tr>");
    for (int64_t j = 0; j < cols; j++) {
        far_text_add(t, "<th scope=\"col\"%s>", COLUMN_CLASS[kinds[j]]);
        far_html_add_rich(t, heads[j] ? heads[j] : "");
        far_text_add(t, "</th>");
    }
    far_text_add(t, "</tr></thead>\n<tbody>\n");
}

static void add_caption(far_text *t, int64_t number, const char *caption)
{
    far_text_add(t, "<caption><span><b>Table %lld.</b> ", (long long)number);
    far_html_add_rich(t, caption);
    far_text_add(t, "</span></caption>\n");
}

static void add_row(far_text *t, const char *const *row, int64_t cols, const column *kinds)
{
    far_text_add(t, "<tr>");
    for (int64_t j = 0; j < cols; j++) {
        const char *tag = j == 0 ? "th" : "td";
        far_text_add(t, "<%s%s%s>", tag, j == 0 ? " scope=\"row\"" : "", COLUMN_CLASS[kinds[j]]);
        add_cell(t, row[j]);
        far_text_add(t, "</%s>", tag);
    }
    far_text_add(t, "</tr>\n");
}

void far_html_table(far_text *t, int64_t number, const char *caption, const char *const *heads,
                    int64_t cols, const char *const *cells, int64_t rows)
{
    column *kinds = NULL;
    if (t->status == FAR_OK) {
        t->status = far_alloc(t->ctx, cols, &kinds);
    }
    if (t->status != FAR_OK) {
        return;
    }
    for (int64_t j = 0; j < cols; j++) {
        kinds[j] = column_kind(cells, rows, cols, j);
    }
    far_text_add(t,
                 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table %lld\">"
                 "<table class=\"data%s\">\n",
                 (long long)number, cols <= FEW_COLUMNS ? " few" : "");
    if (caption) {
        add_caption(t, number, caption);
    }
    add_head(t, heads, cols, kinds);
    for (int64_t i = 0; i < rows; i++) {
        add_row(t, cells + i * cols, cols, kinds);
    }
    far_text_add(t, "</tbody>\n</table></div>\n");
    far_free(t->ctx, kinds);
}
