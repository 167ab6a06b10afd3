/* Text tables: comma, semicolon, tab or blank separated. */
#include "csv_scan.h"

/* ---- fields ---- */

static far_field trimmed(const far_scan *s, const char *first, const char *last, bool quoted)
{
    while (first < last && scan_is_blank(s, *first)) {
        first++;
    }
    while (last > first && scan_is_blank(s, last[-1])) {
        last--;
    }
    return (far_field){first, last - first, quoted};
}

/* A field in quotes at *p; false, and *p untouched, if the quotes do not close around it. */
static bool take_quoted(const far_scan *s, const char **p, far_field *f)
{
    const char *first = *p + 1, *q = first;
    if (**p != '"') {
        return false;
    }
    for (; q[0] != '"' || q[1] == '"'; q++) {
        if (*q == 0) {
            return false;
        }
        q += *q == '"'; /* "" stands for one */
    }
    const char *after = s->separator == ' ' ? q + 1 : scan_skip_blanks(s, q + 1);
    if (!scan_ends_field(s, after)) {
        return false;
    }
    *f = trimmed(s, first, q, true);
    *p = after;
    return true;
}

bool far_scan_field(const far_scan *s, const char **p, far_field *f)
{
    const char *q = scan_skip_blanks(s, *p);
    if (!take_quoted(s, &q, f)) {
        const char *first = q;
        while (!scan_ends_field(s, q)) {
            q++;
        }
        *f = trimmed(s, first, q, false);
    }
    if (s->separator == ' ') {
        *p = scan_skip_blanks(s, q);
        return !scan_ends_line(*p);
    }
    *p = scan_ends_line(q) ? q : q + 1;
    return *p != q;
}

int64_t far_scan_count(const far_scan *s)
{
    far_field f;
    int64_t count = 1;
    for (const char *p = s->p; far_scan_field(s, &p, &f);) {
        count++;
    }
    return count;
}

bool far_field_number(const far_field *f, double *out)
{
    return f->length > 0 && far_number_parse(f->text, out) == f->text + f->length;
}

bool far_field_could_be_name(const far_field *f)
{
    double value;
    for (int64_t i = 0; i < f->length; i++) {
        if (f->text[i] < '0' || f->text[i] > '9') {
            return f->quoted || !far_field_number(f, &value);
        }
    }
    return true;
}

char *far_field_copy(char *out, const far_field *f)
{
    for (int64_t i = 0; i < f->length; i++) {
        *out++ = f->text[i];
        i += f->quoted && f->text[i] == '"';
    }
    *out++ = 0;
    return out;
}

/* ---- rows ---- */

far_status far_scan_fail_ragged(const far_scan *s, int64_t cols)
{
    int64_t count = far_scan_count(s);
    return far_input_fail(s->in, FAR_ERR_FORMAT,
                          "line %lld has %lld field%s but the first row has %lld",
                          (long long)s->line, (long long)count, far_plural(count), (long long)cols);
}

int64_t far_count_lines(const char *p, const char *end)
{
    int64_t lines = 1;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

/* Every line may be a row, but fields may be empty and take a separator's byte at the least: what
 * is allocated stays in proportion to the text. One more, for a last row that turns out too short.
 */
int64_t far_scan_most_rows(const far_scan *s, int64_t cols)
{
    int64_t lines = far_count_lines(s->p, s->end);
    int64_t rows = (s->end - s->p + 1) / cols + 1;
    return lines < rows ? lines : rows;
}

/* ---- the text ---- */

/* A comma anywhere on the line outside quotes, else a semicolon, else a tab, else blanks. */
static char first_separator(const far_scan *s)
{
    bool quoted = false, semicolon = false, tab = false;
    for (const char *p = s->p; !scan_ends_line(p) || (quoted && *p); p++) {
        quoted ^= *p == '"';
        if (!quoted && *p == ',') {
            return ',';
        }
        semicolon |= !quoted && *p == ';';
        tab |= !quoted && *p == '\t';
    }
    return semicolon ? ';' : tab ? '\t' : ' ';
}

/* What a separator makes of the first rows. */
typedef struct trial {
    int64_t cols;   /* fields of each of them; 0: not of all the same number */
    int64_t clean;  /* fields that hold no other separator, or that are numbers: 1,5 */
    int64_t fields; /* all of them */
} trial;

static bool clean_field(const far_field *f)
{
    size_t length = (size_t)f->length;
    return f->quoted || strcspn(f->text, ",;\t") >= length ||
           (f->text[length - 1] != ',' && strspn(f->text, "0123456789.,+-eE%$ ") >= length);
}

static trial try_separator(far_scan s, char separator)
{
    enum { SAMPLE_ROWS = 64 };
    trial t = {0};
    s.separator = separator;
    const char *blanks = separator == '\t' ? " " : SCAN_BLANKS;
    for (int i = 0; i < SAMPLE_ROWS && scan_find_content(&s, blanks, true); i++) {
        int64_t count = 0;
        const char *p = s.p;
        for (bool more = true; more; count++) {
            far_field f;
            more = far_scan_field(&s, &p, &f);
            if (f.length > 0 && f.text[0] == '"' && !f.quoted) {
                return (trial){0}; /* a quote that does not close: far to look for its end */
            }
            t.clean += clean_field(&f);
            t.fields++;
        }
        t.cols = i == 0 || count == t.cols ? count : 0;
        scan_next_line(&s, p);
        if (t.cols < 2) {
            return (trial){0};
        }
    }
    return t;
}

/* A larger share of clean fields; as large, and more columns. */
static bool better(const trial *a, const trial *b)
{
    long double x = (long double)a->clean * (long double)b->fields;
    long double y = (long double)b->clean * (long double)a->fields;
    return x > y || (x == y && a->cols > b->cols);
}

/* The separator that gives the first rows the same number of fields, and of several the one whose
 * fields hold no other: 1,5;2,5 is two numbers. Where none does, by the first line alone. */
static char find_separator(const far_scan *s)
{
    static const char candidates[] = ";,\t";
    char found = 0;
    trial best = {0};
    for (const char *c = candidates; *c; c++) {
        trial t = try_separator(*s, *c);
        if (t.cols > 1 && (!found || better(&t, &best))) {
            best = t;
            found = *c;
        }
    }
    return found ? found : first_separator(s);
}

static far_status check_text(const far_input *in)
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
                              (long long)far_count_lines((const char *)d, (const char *)zero));
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

far_status far_scan_open(far_input *in, char separator, far_scan *s)
{
    far_status st = check_text(in);
    if (st != FAR_OK) {
        return st;
    }
    mend_line_ends(in);
    const char *text = (const char *)in->data;
    int64_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8 byte order mark */
    *s = (far_scan){.in = in, .p = text + mark, .end = text + in->size, .line = 1};
    if (!scan_find_content(s, SCAN_BLANKS, true)) {
        return far_input_fail(in, FAR_ERR_FORMAT, "holds no rows");
    }
    s->separator = separator ? separator : find_separator(s);
    return FAR_OK;
}
