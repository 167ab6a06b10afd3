/* The frame: its parts, what is worked out once its values are there, and what callers ask. */
#include "frame_internal.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define LONGEST_MISSING 4 /* of the words for it */

/* ---- making ---- */

void far_frame_destroy(far_frame *frame)
{
    if (frame) {
        far_ctx *ctx = frame->ctx;
        FAR_FREE_ALL(ctx, frame->columns, frame->block, frame->name, frame->level, frame->groups);
        far_words_clear(&frame->names);
        far_words_clear(&frame->words);
        far_words_clear(&frame->group_names);
        far_free(ctx, frame);
    }
}

far_status far_frame_create(far_ctx *ctx, const char *label, int64_t cols, far_frame **out)
{
    far_status st;
    far_frame *f = NULL;
    FAR_TRY(far_alloc(ctx, 1, &f));
    *f = (far_frame){.ctx = ctx, .cols = cols};
    f->names.ctx = f->words.ctx = f->group_names.ctx = ctx;
    snprintf(f->label, sizeof f->label, "%s", label);
    FAR_TRY(far_alloc(ctx, cols, &f->columns));
    FAR_TRY(far_alloc(ctx, cols, &f->name));
done:
    FAR_HAND_OVER(f, out, far_frame_destroy);
    return st;
}

far_status far_frame_fail(far_ctx *ctx, const far_frame *f, far_status status, const char *format,
                          ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return far_fail(ctx, status, "%s%s%s", f->label, *f->label ? ": " : "", text);
}

far_status far_frame_add_name(far_frame *f, const char *name)
{
    char number[24], shown[64];
    int64_t next = f->names.count;
    int32_t at;
    if (!*name) {
        snprintf(number, sizeof number, "c%lld", (long long)next + 1);
        name = number;
    }
    far_status st = far_words_add(&f->names, name, &at);
    if (st == FAR_OK && at != next) {
        far_show(shown, sizeof shown, name, (int64_t)strlen(name));
        st = far_frame_fail(f->ctx, f, *f->label ? FAR_ERR_FORMAT : FAR_ERR_ARG,
                            "columns %lld and %lld are both named '%s'; rename one",
                            (long long)at + 1, (long long)next + 1, shown);
    }
    return st;
}

static bool said_missing(const far_reading *how, const char *text, int64_t length)
{
    for (int64_t i = 0; how && i < how->missing.count; i++) {
        const char *word = far_words_text(&how->missing, i);
        if (strlen(word) == (size_t)length && memcmp(word, text, (size_t)length) == 0) {
            return true;
        }
    }
    return false;
}

bool far_is_missing(const far_reading *how, const char *text, int64_t length)
{
    static const char *const words[] = {"",     "?",   "na",   "n/a", "#n/a",
                                        "<na>", "nan", "null", "none"};
    for (size_t i = 0; length <= LONGEST_MISSING && i < sizeof words / sizeof *words; i++) {
        if ((size_t)length == strlen(words[i]) &&
            strncasecmp(text, words[i], (size_t)length) == 0) {
            return true;
        }
    }
    return said_missing(how, text, length);
}

/* ---- finishing ---- */

void far_frame_names_done(far_frame *f)
{
    for (int64_t j = 0; j < f->cols; j++) {
        f->name[j] = far_words_text(&f->names, j);
    }
}

void far_frame_drop_missing(far_frame *f, const far_reading *how)
{
    for (int64_t k = 0; how && k < how->missing.count; k++) {
        const char *word = far_words_text(&how->missing, k);
        double wanted;
        const char *end = far_number_parse(word, &wanted);
        for (int64_t j = 0; end && !*end && j < f->cols; j++) {
            double *numbers = f->columns[j].numbers;
            for (int64_t i = 0; numbers && i < f->rows; i++) {
                numbers[i] = numbers[i] == wanted ? NAN : numbers[i];
            }
        }
    }
}

static far_status settle_columns(far_frame *f)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; st == FAR_OK && j < f->cols; j++) {
        far_column *c = &f->columns[j];
        if (c->kind == FAR_COLUMN_WORD && !c->categorical && (f->separator || c->written)) {
            st = far_column_settle(f, c, f->separator ? f->separator : ',');
        }
    }
    return st;
}

static far_status check_groups(const far_frame *f)
{
    for (int64_t i = 0; i < f->group_names.count; i++) {
        const char *name = far_words_text(&f->group_names, i);
        int64_t col = far_words_find(&f->names, name);
        if (col >= 0) {
            char shown[64];
            far_show(shown, sizeof shown, name, (int64_t)strlen(name));
            return far_frame_fail(f->ctx, f, FAR_ERR_FORMAT,
                                  "'%s' is the name of a matrix and of column %lld; rename one",
                                  shown, (long long)col + 1);
        }
    }
    return FAR_OK;
}

static far_status fail_infinite(const far_frame *f, int64_t col, int64_t row, double value)
{
    char shown[64];
    far_show(shown, sizeof shown, f->name[col], (int64_t)strlen(f->name[col]));
    return far_frame_fail(
        f->ctx, f, FAR_ERR_VALUE, "row %lld, column %lld (%s) is %s; remove or fill it first",
        (long long)row + 1, (long long)col + 1, shown, value < 0 ? "-inf" : "inf");
}

static far_status check_numbers(const far_frame *f, int64_t col)
{
    far_column *c = &f->columns[col];
    for (int64_t i = 0; i < f->rows; i++) {
        if (isinf(c->numbers[i])) {
            return fail_infinite(f, col, i, c->numbers[i]);
        }
        c->missing += isnan(c->numbers[i]);
    }
    return FAR_OK;
}

static void count_missing_words(const far_frame *f, far_column *c)
{
    for (int64_t i = 0; i < f->rows; i++) {
        c->missing += c->codes[i] < 0;
    }
}

static far_status check_values(const far_frame *f)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; j < f->cols; j++) {
        if (f->columns[j].kind == FAR_COLUMN_WORD) {
            count_missing_words(f, &f->columns[j]);
        } else {
            FAR_TRY(check_numbers(f, j));
        }
    }
done:
    return st;
}

far_status far_frame_finish(far_frame *f, far_frame **out)
{
    far_status st;
    far_frame_names_done(f);
    FAR_TRY(check_groups(f));
    FAR_TRY(far_frame_make_levels(f));
    FAR_TRY(settle_columns(f));
    FAR_TRY(check_values(f));
done:
    FAR_HAND_OVER(f, out, far_frame_destroy);
    return st;
}

/* ---- from a matrix ---- */

static far_status check_mat(far_ctx *ctx, const far_mat *m)
{
    far_status st = far_mat_check(ctx, m, "m");
    if (st == FAR_OK && m->dtype != FAR_F64) {
        st = far_fail(ctx, FAR_ERR_ARG, "m is float32; a frame is made from float64");
    }
    if (st == FAR_OK && (m->rows == 0 || m->cols == 0)) {
        st = far_fail(ctx, FAR_ERR_SHAPE, "m is %lld x %lld; a frame needs rows and columns",
                      (long long)m->rows, (long long)m->cols);
    }
    return st;
}

static void copy_columns(const far_mat *m, far_frame *f)
{
    for (int64_t j = 0; j < m->cols; j++) {
        f->columns[j].numbers = f->block + j * m->rows;
    }
    for (int64_t i = 0; i < m->rows; i++) {
        const double *row = far_mat_row(m, i);
        for (int64_t j = 0; j < m->cols; j++) {
            f->columns[j].numbers[i] = row[j];
        }
    }
}

far_status far_frame_from_mat(far_ctx *ctx, const far_mat *m, const char *const *names,
                              far_frame **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    far_status st;
    far_frame *f = NULL;
    *out = NULL;
    FAR_TRY(check_mat(ctx, m));
    FAR_TRY(far_frame_create(ctx, "", m->cols, &f));
    for (int64_t j = 0; j < m->cols; j++) {
        FAR_TRY(far_frame_add_name(f, names && names[j] ? names[j] : ""));
    }
    FAR_TRY(far_alloc(ctx, m->rows * m->cols, &f->block));
    f->rows = m->rows;
    copy_columns(m, f);
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

/* ---- from columns ---- */

static far_status fail_column(far_ctx *ctx, int64_t j, const char *what)
{
    return far_fail(ctx, FAR_ERR_ARG, "column %lld: %s", (long long)j + 1, what);
}

static far_status take_unit(far_frame *f, int64_t j, const char *unit)
{
    far_column *c = &f->columns[j];
    if (unit && strcmp(unit, "date") == 0) {
        c->notation = FAR_NOTATION_YMD;
        return FAR_OK;
    }
    for (c->mark = 0; c->mark < FAR_MARKS; c->mark++) {
        if (strcmp(unit ? unit : "", far_marks[c->mark]) == 0) {
            return FAR_OK;
        }
    }
    return fail_column(f->ctx, j, "its unit is neither date nor a mark like % or $");
}

static far_status take_numbers(far_frame *f, int64_t j, const far_column_info *from)
{
    far_column *c = &f->columns[j];
    if (!from->numbers) {
        return fail_column(f->ctx, j, "it has no numbers");
    }
    c->numbers = f->block + j * f->rows;
    memcpy(c->numbers, from->numbers, (size_t)f->rows * sizeof *c->numbers);
    return take_unit(f, j, from->unit);
}

/* number[i]: what the levels are among the words of the frame. */
static far_status add_levels(far_frame *f, const far_column_info *from, int32_t *number)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < from->level_count; i++) {
        const char *text = from->levels[i];
        number[i] = -1;
        if (!far_is_missing(NULL, text, (int64_t)strlen(text))) {
            st = far_words_add(&f->words, text, &number[i]);
        }
    }
    return st;
}

static far_status take_codes(far_frame *f, int64_t j, const far_column_info *from)
{
    far_column *c = &f->columns[j];
    far_status st;
    int32_t *number = NULL;
    if (!from->codes || from->level_count < 0 || (from->level_count > 0 && !from->levels)) {
        return fail_column(f->ctx, j, "it has no codes or levels");
    }
    FAR_TRY(far_alloc(f->ctx, from->level_count, &number));
    FAR_TRY(add_levels(f, from, number));
    c->kind = FAR_COLUMN_WORD;
    c->written = from->kind == FAR_COLUMN_TEXT;
    c->codes = (int32_t *)(void *)(f->block + j * f->rows);
    for (int64_t i = 0; i < f->rows; i++) {
        int32_t code = from->codes[i];
        if (code < -1 || code >= from->level_count) {
            FAR_TRY(fail_column(f->ctx, j, "a code is not below the number of its levels"));
        }
        c->codes[i] = code < 0 ? -1 : number[code];
    }
done:
    far_free(f->ctx, number);
    return st;
}

static far_status take_column(far_frame *f, int64_t j, const far_column_info *from)
{
    far_status st = far_frame_add_name(f, from->name ? from->name : "");
    if (st != FAR_OK) {
        return st;
    }
    return from->kind == FAR_COLUMN_NUMBER ? take_numbers(f, j, from) : take_codes(f, j, from);
}

far_status far_frame_from_columns(far_ctx *ctx, const far_column_info *columns, int64_t count,
                                  int64_t rows, far_frame **out)
{
    if (!ctx || !out || !columns) {
        return far_fail(ctx, FAR_ERR_ARG, "columns or out is NULL");
    }
    far_status st;
    far_frame *f = NULL;
    *out = NULL;
    if (count < 1 || rows < 1 || rows > INT64_MAX / 8 / count) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld rows of %lld columns; a frame needs both",
                        (long long)rows, (long long)count);
    }
    FAR_TRY(far_frame_create(ctx, "", count, &f));
    FAR_TRY(far_alloc(ctx, rows * count, &f->block));
    f->rows = rows;
    for (int64_t j = 0; j < count; j++) {
        FAR_TRY(take_column(f, j, &columns[j]));
    }
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

/* ---- what callers ask ---- */

int64_t far_frame_first_word(const far_frame *f, int64_t col)
{
    const far_column *c = &f->columns[col];
    for (int64_t i = 0; i < f->rows; i++) {
        double value;
        const char *text = c->codes[i] < 0 ? "0" : f->level[c->first_level + c->codes[i]];
        const char *end = far_number_parse(text, &value);
        if (!end || *end) {
            return i;
        }
    }
    return -1;
}

bool far_frame_has(const far_frame *f, int64_t col)
{
    return col >= 0 && col < f->cols;
}

int64_t far_frame_rows(const far_frame *frame)
{
    return frame->rows;
}

int64_t far_frame_cols(const far_frame *frame)
{
    return frame->cols;
}

far_column_info far_frame_column(const far_frame *frame, int64_t col)
{
    if (!far_frame_has(frame, col)) {
        return (far_column_info){.unit = ""};
    }
    const far_column *c = &frame->columns[col];
    bool date = far_notation_is_date(c->notation);
    return (far_column_info){.name = frame->name[col],
                             .kind = c->kind,
                             .missing = c->missing,
                             .numbers = c->numbers,
                             .unit = !c->numbers ? ""
                                     : date      ? "date"
                                                 : far_marks[c->mark],
                             .codes = c->codes,
                             .levels = c->codes ? frame->level + c->first_level : NULL,
                             .level_count = c->level_count};
}

const char *far_frame_level(const far_frame *frame, int64_t col, int64_t i)
{
    bool there = i >= 0 && i < far_frame_column(frame, col).level_count;
    return there ? frame->level[frame->columns[col].first_level + i] : NULL;
}
