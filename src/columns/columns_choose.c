/* Which columns of a table are learnt from: all but those that cannot help, each with a note of
 * what it was taken for and what was done. */
#include "columns_learn.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FEW = 10 };   /* so many categories, or rows, prove nothing */
enum { MANY = 100 }; /* so many indicators are cheap */
static const double FIRST_YEAR = 1500, LAST_YEAR = 2200;

/* ---- cells that are no numbers ------------------------------------------------------------- */

static far_status fail_doubtful(far_ctx *ctx, const far_frame *f, int64_t col)
{
    const far_column *c = &f->columns[col];
    int64_t row = 0;
    while (c->codes[row] < 0) {
        row++;
    }
    bool date = far_notation_is_date(c->notation);
    return far_frame_fail(ctx, f, FAR_ERR_FORMAT,
                          "column %s: '%.40s' in row %lld may be %s, and no other value of the "
                          "column tells; %s, or take it for categories (`categorical` %s)",
                          f->name[col], far_frame_level(f, col, c->codes[row]), (long long)row + 1,
                          date ? "day first or month first" : "thousands or a decimal comma",
                          date ? "write dates as 2020-01-31" : "write it without the comma",
                          f->name[col]);
}

far_status far_cells_check(far_ctx *ctx, const far_frame *f, int64_t col, bool target)
{
    const far_column *c = &f->columns[col];
    if (c->doubtful) {
        return fail_doubtful(ctx, f, col);
    }
    if (c->odd == 0) {
        return FAR_OK;
    }
    const char *name = f->name[col];
    const char *text = far_frame_level(f, col, c->codes[c->first_odd]);
    const char *looks = far_notation_looks(text);
    const char *what = far_notation_is_date(c->notation) ? "dates" : "numbers";
    return far_frame_fail(
        ctx, f, FAR_ERR_FORMAT,
        "column %s holds %s, but %lld of its %lld values %s not: '%.40s' in row %lld%s%s%s; mend "
        "%s, call it missing (`missing` '%.40s'), or take the column for categories "
        "(`categorical` %s%s)",
        name, what, (long long)c->odd, (long long)c->present, c->odd == 1 ? "is" : "are", text,
        (long long)c->first_odd + 1, c->odd == 1 ? "" : " is the first",
        looks ? ", which looks like " : "", looks ? looks : "", c->odd == 1 ? "it" : "them", text,
        name, target ? ", or `task` classify" : "");
}

/* ---- what a column is ---------------------------------------------------------------------- */

/* What the chosen rows of a column hold. */
typedef struct traits {
    int64_t present, levels; /* levels: of categories */
    double low, high;        /* of numbers */
    bool whole;              /* all numbers are */
} traits;

static traits number_traits(const far_lesson *l, const double *column)
{
    traits t = {.low = INFINITY, .high = -INFINITY, .whole = true};
    for (int64_t i = 0; i < l->count; i++) {
        double value = column[l->index[i]];
        if (!isnan(value)) {
            t.present++;
            t.low = fmin(t.low, value);
            t.high = fmax(t.high, value);
            t.whole &= value == rint(value);
        }
    }
    return t;
}

static far_status word_traits(const far_lesson *l, int64_t col, traits *t)
{
    const int32_t *codes = far_frame_column(l->frame, col).codes;
    unsigned char *seen = NULL;
    int64_t levels = far_frame_column(l->frame, col).level_count;
    far_status st = far_alloc(l->ctx, levels, &seen);
    *t = (traits){.low = NAN, .high = NAN};
    for (int64_t i = 0; st == FAR_OK && i < l->count; i++) {
        int32_t code = codes[l->index[i]];
        t->present += code >= 0;
        if (code >= 0 && !seen[code]) {
            seen[code] = 1;
            t->levels++;
        }
    }
    far_free(l->ctx, seen);
    return st;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether the last word of a name says that the column tells rows apart: "id", "customer_id",
 * "orderID", "Row Index". */
static bool names_rows(const char *name)
{
    static const char *const words[] = {"id", "idx", "index", "key", "uuid", "guid", "identifier"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t word = strlen(words[i]);
        const char *at = name + length - word;
        if (length >= word && strcasecmp(at, words[i]) == 0 &&
            (length == word || !isalpha((unsigned char)at[-1]) ||
             (islower((unsigned char)at[-1]) && isupper((unsigned char)at[0])))) {
            return true;
        }
    }
    return false;
}

/* Whether all rows of the table, chosen or not, have whole numbers of which no two are the same: by
 * its name an identifier, or, if they are those from some k to k + rows - 1 in any order, a counter
 * of rows. Years are not. */
static far_status identifies_rows(const far_lesson *l, int64_t col, bool *out)
{
    const double *column = far_frame_column(l->frame, col).numbers;
    int64_t rows = far_frame_rows(l->frame);
    double low = INFINITY, high = -INFINITY, *sorted = NULL;
    *out = false;
    for (int64_t i = 0; i < rows; i++) {
        if (isnan(column[i]) || column[i] != rint(column[i])) {
            return FAR_OK;
        }
        low = fmin(low, column[i]);
        high = fmax(high, column[i]);
    }
    bool years = low >= FIRST_YEAR && high <= LAST_YEAR;
    bool counter = high - low == (double)(rows - 1) && !years;
    if (rows <= FEW || !(counter || names_rows(far_frame_column(l->frame, col).name))) {
        return FAR_OK;
    }
    far_status st = far_alloc(l->ctx, rows, &sorted);
    if (st == FAR_OK) {
        memcpy(sorted, column, (size_t)rows * sizeof *sorted);
        qsort(sorted, (size_t)rows, sizeof *sorted, by_value);
        *out = true;
    }
    for (int64_t i = 1; *out && i < rows; i++) {
        *out = sorted[i] > sorted[i - 1];
    }
    far_free(l->ctx, sorted);
    return st;
}

/* Whether values are too many to be categories: of few rows each, four or, of many values, ten. */
static bool is_text(const traits *t)
{
    return t->levels > FEW && t->levels * (t->levels > MANY ? 10 : 4) > t->present;
}

static far_status find_taken(const far_lesson *l, int64_t col, const traits *t, far_taken *out)
{
    bool words = far_frame_column(l->frame, col).kind == FAR_COLUMN_WORD, identifier = false;
    bool date = far_notation_is_date(l->frame->columns[col].notation);
    *out = words ? FAR_TAKEN_CATEGORY : date ? FAR_TAKEN_DATE : FAR_TAKEN_NUMBER;
    if (t->present == 0) {
        *out = FAR_TAKEN_EMPTY;
    } else if (words ? t->levels == 1 : t->low == t->high) {
        *out = FAR_TAKEN_CONSTANT;
    } else if (words && is_text(t)) {
        *out = t->levels == t->present ? FAR_TAKEN_IDENTIFIER : FAR_TAKEN_TEXT;
    } else if (!words && !date) {
        far_status st = identifies_rows(l, col, &identifier);
        *out = identifier ? FAR_TAKEN_IDENTIFIER : *out;
        return st;
    }
    return FAR_OK;
}

/* ---- notes --------------------------------------------------------------------------------- */

static far_status note_column(const far_lesson *l, int64_t col, far_note_of_column *n)
{
    far_status st;
    traits t;
    const char *name = far_frame_column(l->frame, col).name;
    const double *numbers = far_frame_column(l->frame, col).numbers;
    const char *unit = far_frame_column(l->frame, col).unit;
    *n = (far_note_of_column){.col = col, .notation = l->frame->columns[col].notation};
    snprintf(n->unit, sizeof n->unit, "%s", unit);
    FAR_TRY(far_copy_text(l->ctx, name, (int64_t)strlen(name), &n->name));
    if (numbers) {
        t = number_traits(l, numbers);
    } else {
        n->notation = FAR_NOTATION_NUMBER;
        FAR_TRY(word_traits(l, col, &t));
    }
    n->levels = t.levels;
    n->missing = l->count - t.present;
    n->low = t.present ? t.low : NAN;
    n->high = t.present ? t.high : NAN;
    n->whole = t.whole && t.present > 0;
    FAR_TRY(find_taken(l, col, &t, &n->taken));
done:
    return st;
}

/* Notes are made for targets first; features follow. */
static far_status add_note(const far_lesson *l, int64_t col, far_column_role role, far_columns *c)
{
    far_note_of_column *n = &c->notes[c->note_count++];
    far_status st = note_column(l, col, n);
    n->role = role;
    return st;
}

static bool useless(far_taken taken)
{
    return taken == FAR_TAKEN_CONSTANT || taken == FAR_TAKEN_IDENTIFIER ||
           taken == FAR_TAKEN_TEXT || taken == FAR_TAKEN_EMPTY;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* A counter of rows stays where there is nothing else. */
static void fall_back(far_columns *c)
{
    for (int64_t k = 0; k < c->note_count; k++) {
        far_note_of_column *n = &c->notes[k];
        if (n->role == FAR_ROLE_LEFT_OUT && n->taken == FAR_TAKEN_IDENTIFIER && n->whole) {
            n->role = FAR_ROLE_FEATURE;
            n->taken = FAR_TAKEN_NUMBER;
        }
    }
}

static int64_t count_role(const far_columns *c, far_column_role role)
{
    int64_t count = 0;
    for (int64_t k = 0; k < c->note_count; k++) {
        count += c->notes[k].role == role;
    }
    return count;
}

static far_status check_features(const far_lesson *l, const far_columns *c)
{
    bool varies = false;
    int64_t features = count_role(c, FAR_ROLE_FEATURE);
    int64_t left_out = count_role(c, FAR_ROLE_LEFT_OUT);
    for (int64_t k = 0; k < c->note_count; k++) {
        varies |= c->notes[k].role == FAR_ROLE_FEATURE && c->notes[k].taken != FAR_TAKEN_CONSTANT;
    }
    if (features == 0 && left_out > 0) {
        const char *name = c->notes[count_role(c, FAR_ROLE_TARGET)].name;
        return far_fail(l->ctx, FAR_ERR_VALUE,
                        "no column is left to learn from: %lld %s constant, empty or "
                        "different in nearly every row, as %s is; `keep` %s keeps it",
                        (long long)left_out, left_out == 1 ? "is" : "are", name, name);
    }
    if (!varies && l->target_count > 0) {
        return far_fail(l->ctx, FAR_ERR_VALUE,
                        "all inputs are constant: every row has the same, so there is nothing to "
                        "learn from");
    }
    return FAR_OK;
}

/* The notes of role feature become the features of the lesson. */
static void take_features(const far_columns *c, far_lesson *l)
{
    l->feature_count = 0;
    for (int64_t k = 0; k < c->note_count; k++) {
        if (c->notes[k].role == FAR_ROLE_FEATURE) {
            l->features[l->feature_count++] = c->notes[k].col;
        }
    }
}

static far_status check_together(const far_lesson *l, const far_columns *c)
{
    for (int64_t k = 0; k < c->note_count; k++) {
        const far_note_of_column *n = &c->notes[k];
        if (n->role == FAR_ROLE_FEATURE && !far_frame_column(l->frame, n->col).numbers) {
            return far_fail(l->ctx, FAR_ERR_VALUE,
                            "column %s holds words, but a network of images or sequences takes "
                            "numbers; choose the columns that belong together (`features`)",
                            n->name);
        }
    }
    return FAR_OK;
}

far_status far_features_choose(const far_columns_opts *o, far_lesson *l, far_columns *c)
{
    far_status st;
    int64_t *keep = NULL, kept = 0;
    FAR_TRY(far_alloc(l->ctx, l->target_count + l->feature_count, &c->notes));
    FAR_TRY(far_alloc(l->ctx, far_frame_cols(l->frame), &keep));
    if (o->keep) {
        FAR_TRY(far_frame_list(l->ctx, l->frame, o->keep, keep, &kept));
    }
    for (int64_t j = 0; j < l->target_count; j++) {
        FAR_TRY(add_note(l, l->targets[j], FAR_ROLE_TARGET, c));
    }
    for (int64_t j = 0; j < l->feature_count; j++) {
        FAR_TRY(far_cells_check(l->ctx, l->frame, l->features[j], false));
        FAR_TRY(add_note(l, l->features[j], FAR_ROLE_FEATURE, c));
        far_note_of_column *n = &c->notes[c->note_count - 1];
        bool asked = !o->careful || o->features || l->together != FAR_APART ||
                     far_contains(keep, kept, n->col) || l->frame->columns[n->col].categorical;
        n->role = !asked && useless(n->taken) ? FAR_ROLE_LEFT_OUT : FAR_ROLE_FEATURE;
        n->taken = asked && n->taken == FAR_TAKEN_TEXT ? FAR_TAKEN_CATEGORY : n->taken;
    }
    if (count_role(c, FAR_ROLE_FEATURE) == 0) {
        fall_back(c);
    }
    FAR_TRY(l->together != FAR_APART ? check_together(l, c) : FAR_OK);
    FAR_TRY(o->careful ? check_features(l, c) : FAR_OK);
    take_features(c, l);
done:
    far_free(l->ctx, keep);
    return st;
}
