/* Lines and fields of a text table. What runs once a field or a line stands here, to be inlined. */
#ifndef FAR_CSV_SCAN_H
#define FAR_CSV_SCAN_H

#include "data_internal.h"

#include <string.h>

typedef struct far_scan {
    const far_input *in;
    const char *p, *end; /* the line being read; the closing zero */
    int64_t line;        /* its number, 1-based */
    char separator;      /* ' ' stands for runs of blanks */
} far_scan;

typedef struct far_field {
    const char *text;
    int64_t length;
    bool quoted;
} far_field;

/* Refuses what is no text, and moves to the first line with content. separator 0: found. */
far_status far_scan_open(far_input *in, char separator, far_scan *s);
/* Reads the field at *p and moves past its separator; false if it was the line's last. */
bool far_scan_field(const far_scan *s, const char **p, far_field *f);
/* How many fields the line has. */
int64_t far_scan_count(const far_scan *s);
/* "line 7 has 3 fields but the first row has 4" */
far_status far_scan_fail_ragged(const far_scan *s, int64_t cols);
/* At least as many rows as there are from here on, and no more than in proportion to the text. */
int64_t far_scan_most_rows(const far_scan *s, int64_t cols);
int64_t far_count_lines(const char *p, const char *end);

bool far_field_number(const far_field *f, double *out);
/* Plain digits may be a column's name, a year say; 1.5 or -2 or 1e3 is not, but in quotes. */
bool far_field_could_be_name(const far_field *f);
/* Copies with a closing zero, "" in quotes to "; returns the end. out holds length + 1. */
char *far_field_copy(char *out, const far_field *f);

/* ---- characters ---- */

#define SCAN_BLANKS " \t"

static inline bool scan_ends_line(const char *p)
{
    return *p == '\n' || *p == 0 || (*p == '\r' && (p[1] == '\n' || p[1] == 0));
}

static inline bool scan_is_blank(const far_scan *s, char ch)
{
    return ch == ' ' || (ch == '\t' && s->separator != '\t');
}

static inline const char *scan_skip_blanks(const far_scan *s, const char *p)
{
    while (scan_is_blank(s, *p)) {
        p++;
    }
    return p;
}

static inline bool scan_ends_field(const far_scan *s, const char *p)
{
    return *p == s->separator || (s->separator == ' ' && *p == '\t') || scan_ends_line(p);
}

/* ---- lines ---- */

/* From the end of a line to the start of the next. */
static inline void scan_next_line(far_scan *s, const char *p)
{
    p += *p == '\r';
    if (*p == '\n') {
        p++;
        s->line++;
    }
    s->p = p;
}

static inline const char *scan_line_end(const far_scan *s, const char *p)
{
    p = memchr(p, '\n', (size_t)(s->end - p));
    return p ? p : s->end;
}

/* Moves past lines of nothing but these blanks and, if asked, past lines that start with #; false
 * at the end. */
static inline bool scan_find_content(far_scan *s, const char *blanks, bool skip_comments)
{
    while (s->p < s->end) {
        const char *p = s->p + strspn(s->p, blanks);
        if (*p == '#' && skip_comments) {
            p = scan_line_end(s, p);
        } else if (!scan_ends_line(p)) {
            return true;
        }
        scan_next_line(s, p);
    }
    return false;
}

/* ---- fields ---- */

/* A bare number with nothing odd around it; false leaves the rest to far_scan_field. */
static inline bool scan_quick_number(const far_scan *s, const char **p, double *out, bool *more)
{
    const char *q = far_number_parse(scan_skip_blanks(s, *p), out);
    if (!q) {
        return false;
    }
    if (s->separator != ' ') {
        q = scan_skip_blanks(s, q);
    }
    if (!scan_ends_field(s, q)) {
        return false;
    }
    *more = !scan_ends_line(q);
    *p = q + *more;
    if (s->separator == ' ') {
        *p = scan_skip_blanks(s, *p);
        *more = !scan_ends_line(*p);
    }
    return true;
}

#endif
