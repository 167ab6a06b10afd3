/* Text tables of numbers alone, with or without a header. */
#include "csv_scan.h"

#include <strings.h>

#define NUMBER_BYTES 2 /* a digit and a separator, at the least */

typedef struct csv {
    far_scan s;
    far_table *table;
} csv;

/* What people write for a value they do not have. */
static bool field_missing(const far_field *f)
{
    static const char *const words[] = {"", "na", "n/a", "null", "none", "?", "-", "."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((size_t)f->length == strlen(words[i]) &&
            strncasecmp(f->text, words[i], (size_t)f->length) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the header ---- */

/* A word makes the line a header, unless there is a number among the words that cannot be a name:
 * that is a row of data with a slip of the pen, and dropping it silently would be worse than
 * refusing it. So would a row with a missing value. */
static bool is_header(const far_scan *s)
{
    far_field f;
    double value;
    bool more = true, words = false;
    for (const char *p = s->p; more;) {
        more = far_scan_field(s, &p, &f);
        if (!far_field_could_be_name(&f)) {
            return false;
        }
        words = words || (!far_field_number(&f, &value) && !field_missing(&f));
    }
    return words;
}

static far_status read_header(csv *c)
{
    far_table *t = c->table;
    far_status st;
    const char *p = c->s.p;
    int64_t bytes = (int64_t)strcspn(p, "\n") + t->cols;
    FAR_TRY(far_alloc(t->ctx, t->cols, &t->names));
    FAR_TRY(far_alloc(t->ctx, bytes, &t->name_text));
    char *out = t->name_text;
    for (int64_t j = 0; j < t->cols; j++) {
        far_field f;
        far_scan_field(&c->s, &p, &f);
        t->names[j] = out;
        out = far_field_copy(out, &f);
    }
    scan_next_line(&c->s, p);
done:
    return st;
}

/* ---- rows ---- */

static far_status fail_field(const csv *c, int64_t j, const far_field *f)
{
    char column[128], text[64];
    far_table_column_label(c->table, j, column, sizeof column);
    if (f->length == 0) {
        return far_input_fail(c->s.in, FAR_ERR_FORMAT,
                              "line %lld, %s is empty; remove or fill it first",
                              (long long)c->s.line, column);
    }
    far_show(text, sizeof text, f->text, f->length);
    return far_input_fail(c->s.in, FAR_ERR_FORMAT, "line %lld, %s: '%s' is not a number",
                          (long long)c->s.line, column, text);
}

static far_status read_row(csv *c, double *row)
{
    const char *p = c->s.p;
    int64_t j = 0, cols = c->table->cols;
    for (bool more = true; more; j++) {
        if (j == cols) {
            return far_scan_fail_ragged(&c->s, cols);
        }
        if (!scan_quick_number(&c->s, &p, &row[j], &more)) {
            far_field f;
            more = far_scan_field(&c->s, &p, &f);
            if (!far_field_number(&f, &row[j])) {
                return fail_field(c, j, &f);
            }
        }
    }
    if (j < cols) {
        return far_scan_fail_ragged(&c->s, cols);
    }
    scan_next_line(&c->s, p);
    return FAR_OK;
}

static far_status read_rows(csv *c)
{
    far_table *t = c->table;
    far_scan *s = &c->s;
    far_status st;
    const char *start = s->p, *reported = s->p;
    FAR_TRY(far_alloc(t->ctx, far_scan_most_rows(s, t->cols, NUMBER_BYTES) * t->cols, &t->values));
    t->block = t->values;
    while (scan_find_content(s, SCAN_BLANKS, true)) {
        FAR_TRY(read_row(c, t->values + t->rows * t->cols));
        t->rows++;
        if (s->p - reported >= FAR_PROGRESS_BYTES) {
            reported = s->p;
            FAR_TRY(far_progress(t->ctx, "parsing", s->p - start, s->end - start));
        }
    }
    if (t->rows == 0) {
        st = far_input_fail(s->in, FAR_ERR_FORMAT, "has a header but no rows");
    }
done:
    return st;
}

far_status far_csv_parse(far_input *in, far_table *t)
{
    far_status st;
    csv c = {.table = t};
    FAR_TRY(far_scan_open(in, false, &c.s));
    t->cols = far_scan_count(&c.s);
    if (is_header(&c.s)) {
        FAR_TRY(read_header(&c));
    }
    FAR_TRY(read_rows(&c));
done:
    return st;
}
