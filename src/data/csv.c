/* Text tables: comma, semicolon, tab or blank separated, with or without a header. */
#include "data_internal.h"

#include <string.h>
#include <strings.h>

typedef struct csv {
    far_input *in;
    far_table *table;
    const char *p, *end; /* the line being read; the closing zero */
    int64_t line;        /* its number, 1-based */
    char separator;      /* ' ' stands for runs of blanks */
} csv;

typedef struct field {
    const char *text;
    int64_t length;
    bool quoted;
} field;

typedef enum field_kind { FIELD_NUMBER, FIELD_MISSING, FIELD_WORD } field_kind;

/* ---- characters ---- */

static inline bool ends_line(const char *p)
{
    return *p == '\n' || *p == 0 || (*p == '\r' && (p[1] == '\n' || p[1] == 0));
}

static inline bool is_blank(const csv *c, char ch)
{
    return ch == ' ' || (ch == '\t' && c->separator != '\t');
}

static inline const char *skip_blanks(const csv *c, const char *p)
{
    while (is_blank(c, *p)) {
        p++;
    }
    return p;
}

static inline bool ends_field(const csv *c, const char *p)
{
    return *p == c->separator || (c->separator == ' ' && *p == '\t') || ends_line(p);
}

/* ---- lines ---- */

/* From the end of a line to the start of the next. */
static void next_line(csv *c, const char *p)
{
    p += *p == '\r';
    if (*p == '\n') {
        p++;
        c->line++;
    }
    c->p = p;
}

/* Moves past empty lines and comments; false at the end of the text. */
static bool find_content(csv *c)
{
    while (c->p < c->end) {
        const char *p = c->p + strspn(c->p, " \t");
        if (*p == '#') {
            p = memchr(p, '\n', (size_t)(c->end - p));
            p = p ? p : c->end;
        } else if (!ends_line(p)) {
            return true;
        }
        next_line(c, p);
    }
    return false;
}

/* A comma anywhere on the line outside quotes, else a semicolon, else a tab, else blanks. */
static char find_separator(const char *p)
{
    bool quoted = false, semicolon = false, tab = false;
    for (; !ends_line(p); p++) {
        quoted ^= *p == '"';
        if (!quoted && *p == ',') {
            return ',';
        }
        semicolon |= !quoted && *p == ';';
        tab |= !quoted && *p == '\t';
    }
    return semicolon ? ';' : tab ? '\t' : ' ';
}

/* ---- fields ---- */

static field trimmed(const csv *c, const char *first, const char *last, bool quoted)
{
    while (first < last && is_blank(c, *first)) {
        first++;
    }
    while (last > first && is_blank(c, last[-1])) {
        last--;
    }
    return (field){first, last - first, quoted};
}

/* A field in quotes at *p; false, and *p untouched, if the quotes do not close around it. */
static bool take_quoted(const csv *c, const char **p, field *f)
{
    const char *first = *p + 1, *q = first;
    if (**p != '"') {
        return false;
    }
    for (; q[0] != '"' || q[1] == '"'; q++) {
        if (*q == '\n' || *q == 0) {
            return false;
        }
        q += *q == '"'; /* "" stands for one */
    }
    const char *after = c->separator == ' ' ? q + 1 : skip_blanks(c, q + 1);
    if (!ends_field(c, after)) {
        return false;
    }
    *f = trimmed(c, first, q, true);
    *p = after;
    return true;
}

/* Reads the field at *p and moves past its separator; false if it was the line's last. */
static bool take_field(const csv *c, const char **p, field *f)
{
    const char *q = skip_blanks(c, *p);
    if (!take_quoted(c, &q, f)) {
        const char *first = q;
        while (!ends_field(c, q)) {
            q++;
        }
        *f = trimmed(c, first, q, false);
    }
    if (c->separator == ' ') {
        *p = skip_blanks(c, q);
        return !ends_line(*p);
    }
    *p = ends_line(q) ? q : q + 1;
    return *p != q;
}

static int64_t count_fields(const csv *c)
{
    field f;
    int64_t count = 1;
    for (const char *p = c->p; take_field(c, &p, &f);) {
        count++;
    }
    return count;
}

static bool field_number(const field *f, double *out)
{
    return f->length > 0 && far_number_parse(f->text, out) == f->text + f->length;
}

/* What people write for a value they do not have. */
static bool field_missing(const field *f)
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

static field_kind classify(const field *f)
{
    double value;
    return field_number(f, &value) ? FIELD_NUMBER : field_missing(f) ? FIELD_MISSING : FIELD_WORD;
}

/* ---- the header ---- */

/* Plain digits may be a column's name, a year say; 1.5 or -2 or 1e3 is not. */
static bool could_be_name(const field *f)
{
    for (int64_t i = 0; i < f->length; i++) {
        if (f->text[i] < '0' || f->text[i] > '9') {
            return classify(f) != FIELD_NUMBER || f->quoted;
        }
    }
    return true;
}

/* A word makes the line a header, unless there is a number among the words that cannot be a name:
 * that is a row of data with a slip of the pen, and dropping it silently would be worse than
 * refusing it. So would a row with a missing value. */
static bool is_header(const csv *c)
{
    field f;
    bool more = true, words = false;
    for (const char *p = c->p; more;) {
        more = take_field(c, &p, &f);
        if (!could_be_name(&f)) {
            return false;
        }
        words = words || classify(&f) == FIELD_WORD;
    }
    return words;
}

/* Copies a name with a closing zero, "" in quotes to "; returns the end. */
static char *copy_name(char *out, const field *f)
{
    for (int64_t i = 0; i < f->length; i++) {
        *out++ = f->text[i];
        i += f->quoted && f->text[i] == '"';
    }
    *out++ = 0;
    return out;
}

static far_status read_header(csv *c)
{
    far_table *t = c->table;
    far_status st;
    const char *p = c->p;
    int64_t bytes = (int64_t)strcspn(p, "\n") + t->cols;
    FAR_TRY(far_alloc(t->ctx, t->cols, &t->names));
    FAR_TRY(far_alloc(t->ctx, bytes, &t->name_text));
    char *out = t->name_text;
    for (int64_t j = 0; j < t->cols; j++) {
        field f;
        take_field(c, &p, &f);
        t->names[j] = out;
        out = copy_name(out, &f);
    }
    next_line(c, p);
done:
    return st;
}

/* ---- rows ---- */

static far_status fail_ragged(const csv *c)
{
    int64_t count = count_fields(c);
    return far_input_fail(
        c->in, FAR_ERR_FORMAT, "line %lld has %lld field%s but the first row has %lld",
        (long long)c->line, (long long)count, far_plural(count), (long long)c->table->cols);
}

static far_status fail_field(const csv *c, int64_t j, const field *f)
{
    char column[128], text[64];
    far_table_column_label(c->table, j, column, sizeof column);
    if (f->length == 0) {
        return far_input_fail(c->in, FAR_ERR_FORMAT,
                              "line %lld, %s is empty; remove or fill it first", (long long)c->line,
                              column);
    }
    far_show(text, sizeof text, f->text, f->length);
    return far_input_fail(c->in, FAR_ERR_FORMAT, "line %lld, %s: '%s' is not a number",
                          (long long)c->line, column, text);
}

/* A bare number with nothing odd around it; false leaves the rest to take_field. */
static inline bool quick_field(const csv *c, const char **p, double *out, bool *more)
{
    const char *q = far_number_parse(skip_blanks(c, *p), out);
    if (!q) {
        return false;
    }
    if (c->separator != ' ') {
        q = skip_blanks(c, q);
    }
    if (!ends_field(c, q)) {
        return false;
    }
    *more = !ends_line(q);
    *p = q + *more;
    if (c->separator == ' ') {
        *p = skip_blanks(c, *p);
        *more = !ends_line(*p);
    }
    return true;
}

static far_status read_row(csv *c, double *row)
{
    const char *p = c->p;
    int64_t j = 0, cols = c->table->cols;
    for (bool more = true; more; j++) {
        if (j == cols) {
            return fail_ragged(c);
        }
        if (!quick_field(c, &p, &row[j], &more)) {
            field f;
            more = take_field(c, &p, &f);
            if (!field_number(&f, &row[j])) {
                return fail_field(c, j, &f);
            }
        }
    }
    if (j < cols) {
        return fail_ragged(c);
    }
    next_line(c, p);
    return FAR_OK;
}

static int64_t count_lines(const char *p, const char *end)
{
    int64_t lines = 1;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

/* Every line may be a row, but a row of k fields takes at least 2 k bytes: what is allocated stays
 * in proportion to the text. One more, for a last row that turns out too short. */
static int64_t most_rows(const csv *c)
{
    int64_t lines = count_lines(c->p, c->end);
    int64_t rows = (c->end - c->p + 1) / (2 * c->table->cols) + 1;
    return lines < rows ? lines : rows;
}

static far_status read_rows(csv *c)
{
    far_table *t = c->table;
    far_status st;
    const char *start = c->p, *reported = c->p;
    FAR_TRY(far_alloc(t->ctx, most_rows(c) * t->cols, &t->values));
    t->block = t->values;
    while (find_content(c)) {
        FAR_TRY(read_row(c, t->values + t->rows * t->cols));
        t->rows++;
        if (c->p - reported >= FAR_PROGRESS_BYTES) {
            reported = c->p;
            FAR_TRY(far_progress(t->ctx, "parsing", c->p - start, c->end - start));
        }
    }
    if (t->rows == 0) {
        st = far_input_fail(c->in, FAR_ERR_FORMAT, "has a header but no rows");
    }
done:
    return st;
}

/* ---- the text ---- */

static far_status check_text(far_input *in)
{
    const unsigned char *d = in->data;
    if (in->size == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is empty");
    }
    if (in->size >= 2 && ((d[0] == 0xFF && d[1] == 0xFE) || (d[0] == 0xFE && d[1] == 0xFF))) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is UTF-16 text; save it as UTF-8");
    }
    const unsigned char *zero = memchr(d, 0, (size_t)in->size);
    if (zero) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "line %lld holds a zero byte; this is not csv, npy or npz",
                              (long long)count_lines((const char *)d, (const char *)zero));
    }
    return FAR_OK;
}

/* Old files end their lines with a carriage return alone. */
static void mend_line_ends(far_input *in)
{
    if (!memchr(in->data, '\n', (size_t)in->size)) {
        for (int64_t i = 0; i < in->size; i++) {
            in->data[i] = in->data[i] == '\r' ? '\n' : in->data[i];
        }
    }
}

far_status far_csv_parse(far_input *in, far_table *t)
{
    far_status st;
    FAR_TRY(check_text(in));
    mend_line_ends(in);
    const char *text = (const char *)in->data;
    int64_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8 byte order mark */
    csv c = {.in = in, .table = t, .p = text + mark, .end = text + in->size, .line = 1};
    if (!find_content(&c)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "holds no rows");
    }
    c.separator = find_separator(c.p);
    t->cols = count_fields(&c);
    if (is_header(&c)) {
        FAR_TRY(read_header(&c));
    }
    FAR_TRY(read_rows(&c));
done:
    return st;
}
