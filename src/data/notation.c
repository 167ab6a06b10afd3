/* What a cell that is no plain number may be all the same: 1,5 or 1,000 or 10% or $12 or a date. */
#include "frame_internal.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES 63 /* of a number */

const char *const far_marks[FAR_MARKS] = {"", "%", "$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};

bool far_notation_is_date(far_notation form)
{
    return form >= FAR_NOTATION_YMD;
}

/* ---- marks ---- */

/* A number between its sign and its mark. */
typedef struct bare {
    const char *first, *last;
    bool negative;
    int mark;
} bare;

static int mark_at(const char *p, const char *end)
{
    for (int k = 1; k < FAR_MARKS; k++) {
        size_t length = strlen(far_marks[k]);
        if ((size_t)(end - p) >= length && memcmp(p, far_marks[k], length) == 0) {
            return k;
        }
    }
    return 0;
}

static int mark_before(const char *first, const char *end)
{
    for (int k = 1; k < FAR_MARKS; k++) {
        size_t length = strlen(far_marks[k]);
        if ((size_t)(end - first) >= length && memcmp(end - length, far_marks[k], length) == 0) {
            return k;
        }
    }
    return 0;
}

static bool take_sign(bare *b)
{
    bool there = b->first < b->last && (*b->first == '-' || *b->first == '+');
    b->negative |= there && *b->first == '-';
    b->first += there;
    return there;
}

/* -$ 12, $-12, 12 %; a mark on one side only. */
static bare undress(const char *text)
{
    bare b = {text, text + strlen(text), false, 0};
    bool sign = take_sign(&b);
    b.mark = mark_at(b.first, b.last);
    if (b.mark) {
        b.first += strlen(far_marks[b.mark]);
        b.first += strspn(b.first, " ");
        sign = sign || take_sign(&b);
    } else if ((b.mark = mark_before(b.first, b.last))) {
        b.last -= strlen(far_marks[b.mark]);
        while (b.last > b.first && b.last[-1] == ' ') {
            b.last--;
        }
    }
    return b;
}

/* ---- groups and commas ---- */

/* Copies digits without the separators of thousands, which must be where they belong; NULL if they
 * are not. *p: behind the digits. */
static char *copy_groups(const char **p, const char *last, char separator, char *out)
{
    int64_t run = 0, groups = 0;
    bool zero = *p < last && **p == '0'; /* 0,123 has no thousands */
    for (; *p < last && ((**p >= '0' && **p <= '9') || **p == separator); ++*p) {
        if (**p != separator) {
            *out++ = **p;
            run++;
        } else if (run < 1 || run > 3 || (groups > 0 && run != 3)) {
            return NULL;
        } else {
            run = 0;
            groups++;
        }
    }
    return groups > 0 && (run != 3 || zero) ? NULL : out;
}

/* A number whose digits may be grouped by one character, and whose decimal point is another. */
static double grouped_value(const bare *b, char separator, char point)
{
    char clean[MOST_BYTES + 1], *out = clean;
    const char *p = b->first;
    double value;
    if (b->last - p > MOST_BYTES || !(out = copy_groups(&p, b->last, separator, out))) {
        return NAN;
    }
    for (; p < b->last; p++) {
        if (*p == separator || (*p == '.' && point != '.')) {
            return NAN;
        }
        *out++ = *p == point ? '.' : *p;
    }
    *out = 0;
    if (!((*clean >= '0' && *clean <= '9') || *clean == '.')) {
        return NAN;
    }
    const char *end = far_number_parse(clean, &value);
    return end && !*end && isfinite(value) ? (b->negative ? -value : value) : NAN;
}

static double bare_value(const bare *b, far_notation form)
{
    switch (form) {
    case FAR_NOTATION_COMMA:
        return grouped_value(b, '.', ',');
    case FAR_NOTATION_THOUSANDS:
        return grouped_value(b, ',', '.');
    default:
        return grouped_value(b, 0, '.');
    }
}

/* ---- cells ---- */

double far_notation_value(const char *text, far_notation form, int mark)
{
    if (far_notation_is_date(form)) {
        return far_date_parse(text, form);
    }
    bare b = undress(text);
    return b.mark == mark ? bare_value(&b, form) : NAN;
}

unsigned far_notations_of(const char *text, int *mark)
{
    unsigned forms = 0;
    bare b = undress(text);
    *mark = b.mark;
    for (int k = 0; k < FAR_NOTATIONS; k++) {
        far_notation form = (far_notation)k;
        double value =
            far_notation_is_date(form) ? far_date_parse(text, form) : bare_value(&b, form);
        forms |= isnan(value) ? 0 : 1U << k;
    }
    return forms;
}

const char *far_notation_looks(const char *text)
{
    int mark;
    unsigned forms = far_notations_of(text, &mark);
    if (forms >= 1U << FAR_NOTATION_YMD) {
        return "a date";
    }
    if (!forms) {
        return NULL;
    }
    if (mark) {
        return mark == 1 ? "a percentage" : "an amount of money";
    }
    return forms & 1U << FAR_NOTATION_NUMBER       ? "a number"
           : forms == 1U << FAR_NOTATION_THOUSANDS ? "a number with commas between its thousands"
           : forms == 1U << FAR_NOTATION_COMMA     ? "a number with a decimal comma"
                                                   : "a number with a comma";
}

/* ---- columns ---- */

/* How many cells have each form with each mark. */
typedef struct census {
    int64_t cells[FAR_NOTATIONS][FAR_MARKS];
    int64_t present;
} census;

static far_status count_forms(const far_frame *f, const far_column *c, census *n)
{
    int64_t *uses = NULL;
    far_status st = far_alloc(f->ctx, c->level_count, &uses);
    *n = (census){.present = 0};
    for (int64_t l = 0; st == FAR_OK && l < c->level_count; l++) {
        uses[l] = 0;
    }
    for (int64_t i = 0; st == FAR_OK && i < f->rows; i++) {
        n->present += c->codes[i] >= 0;
        if (c->codes[i] >= 0) {
            uses[c->codes[i]]++;
        }
    }
    for (int64_t l = 0; st == FAR_OK && l < c->level_count; l++) {
        int mark;
        unsigned forms = far_notations_of(f->level[c->first_level + l], &mark);
        for (int k = 0; k < FAR_NOTATIONS; k++) {
            int of = far_notation_is_date((far_notation)k) ? 0 : mark;
            n->cells[k][of] += forms >> k & 1 ? uses[l] : 0;
        }
    }
    far_free(f->ctx, uses);
    return st;
}

/* The form that most cells have; of equal ones the first. */
static int64_t most_frequent(const census *n, far_notation *form, int *mark)
{
    int64_t most = 0;
    for (int k = 0; k < FAR_NOTATIONS; k++) {
        for (int m = 0; m < FAR_MARKS; m++) {
            if (n->cells[k][m] > most) {
                most = n->cells[k][m];
                *form = (far_notation)k;
                *mark = m;
            }
        }
    }
    return most;
}

/* Two readings are possible: 1,000 with a decimal comma or one of thousands, 01/02/2020. In a table
 * between commas a comma in a field stands between thousands, between semicolons it is decimal. */
static bool settle_doubt(const census *n, char separator, far_column *c)
{
    int other = c->notation == FAR_NOTATION_COMMA ? FAR_NOTATION_THOUSANDS
                : c->notation == FAR_NOTATION_DMY ? FAR_NOTATION_MDY
                                                  : -1;
    if (other < 0 || n->cells[other][c->mark] < n->present) {
        return true;
    }
    if (c->notation == FAR_NOTATION_DMY || (separator != ',' && separator != ';')) {
        return false;
    }
    c->notation = separator == ',' ? FAR_NOTATION_THOUSANDS : FAR_NOTATION_COMMA;
    return true;
}

/* Codes become numbers where they lie, from the end on, since numbers are wider. */
static void convert(const far_frame *f, far_column *c)
{
    char *place = (char *)c->codes;
    for (int64_t i = f->rows - 1; i >= 0; i--) {
        int32_t code;
        memcpy(&code, place + i * (int64_t)sizeof code, sizeof code);
        double value =
            code < 0 ? NAN
                     : far_notation_value(f->level[c->first_level + code], c->notation, c->mark);
        memcpy(place + i * (int64_t)sizeof value, &value, sizeof value);
    }
    c->numbers = (double *)(void *)place;
    c->codes = NULL;
    c->level_count = 0;
    c->kind = FAR_COLUMN_NUMBER;
}

/* Mostly numbers (or dates): more than half of the cells, and either of more than FEW distinct
 * values or with at most a tenth, or one, of something else. Codes such as 1, 2, 3, A, B are
 * categories. */
static bool mostly(const far_frame *f, const far_column *c, int64_t most, int64_t present)
{
    enum { FEW = 10 };
    int64_t distinct = 0, odd = present - most;
    for (int64_t l = 0; l < c->level_count; l++) {
        double value = far_notation_value(f->level[c->first_level + l], c->notation, c->mark);
        distinct += !isnan(value);
    }
    return most > odd && (distinct > FEW || odd * 10 <= present || (odd == 1 && most > 1));
}

static int64_t first_odd(const far_frame *f, const far_column *c)
{
    for (int64_t i = 0; i < f->rows; i++) {
        const char *text = c->codes[i] < 0 ? NULL : f->level[c->first_level + c->codes[i]];
        if (text && isnan(far_notation_value(text, c->notation, c->mark))) {
            return i;
        }
    }
    return -1;
}

far_status far_column_settle(const far_frame *f, far_column *c, char separator)
{
    census n;
    far_status st = count_forms(f, c, &n);
    if (st != FAR_OK) {
        return st;
    }
    int64_t most = most_frequent(&n, &c->notation, &c->mark);
    c->present = n.present;
    if (most == 0) {
        return FAR_OK;
    }
    if (most < n.present) {
        c->odd = mostly(f, c, most, n.present) ? n.present - most : 0;
        c->first_odd = first_odd(f, c);
    } else if (settle_doubt(&n, separator, c)) {
        convert(f, c);
    } else {
        c->doubtful = true;
    }
    return FAR_OK;
}
