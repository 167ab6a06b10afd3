/* Text tables with words and gaps. The first pass reads numbers and finds out which columns have
 * words; those alone are read again, because the text before a column's first word is gone by then.
 */
#include "csv_scan.h"
#include "frame_internal.h"

#include <math.h>

typedef enum field_kind { FIELD_NUMBER, FIELD_MISSING, FIELD_WORD } field_kind;

typedef struct reader {
    far_scan s;
    far_scan start, below; /* at the first row, and behind it */
    far_frame *frame;
    far_field *first;  /* the fields of the first row, which may be a header */
    int64_t rows;      /* with the first row */
    int64_t stride;    /* from column to column in the block */
    int64_t hash_line; /* first line that starts with # and yet has the fields of a row; 0: none */
} reader;

static field_kind classify(const far_field *f)
{
    double value;
    if (far_is_missing(f->text, f->length)) {
        return FIELD_MISSING;
    }
    return far_field_number(f, &value) ? FIELD_NUMBER : FIELD_WORD;
}

static double *column_start(const reader *r, int64_t j)
{
    return r->frame->block + j * r->stride;
}

static bool is_word_column(const reader *r, int64_t j)
{
    return r->frame->columns[j].kind == FAR_COLUMN_WORD;
}

/* ---- rows ---- */

/* Moves to the next row; false at the end. A line that starts with # is a comment, unless it has
 * the fields of a row: then it may be a word, and dropping it silently would be wrong. */
static bool find_row(reader *r)
{
    const char *blanks = r->s.separator == '\t' ? " " : SCAN_BLANKS;
    while (scan_find_content(&r->s, blanks, false)) {
        const char *p = r->s.p + strspn(r->s.p, blanks);
        if (*p != '#') {
            return true;
        }
        if (far_scan_count(&r->s) == r->frame->cols) {
            r->hash_line = r->hash_line ? r->hash_line : r->s.line;
            return true;
        }
        scan_next_line(&r->s, scan_line_end(&r->s, p));
    }
    return false;
}

/* From the end of a row, which may have held line ends in quotes. */
static void end_row(reader *r, const char *p)
{
    r->s.line += far_count_lines(r->s.p, p) - 1;
    scan_next_line(&r->s, p);
}

static far_status take_field(const reader *r, int64_t j, const char **p, far_field *f, bool *more)
{
    *more = far_scan_field(&r->s, p, f);
    if (f->length > 0 && f->text[0] == '"' && !f->quoted) {
        return far_input_fail(r->s.in, FAR_ERR_FORMAT,
                              "line %lld, column %lld: the quote does not close around the field; "
                              "write \"\" for a quote inside",
                              (long long)r->s.line, (long long)j + 1);
    }
    return FAR_OK;
}

/* One field of the first pass. Words of the first row decide nothing yet. */
static far_status read_cell(reader *r, int64_t j, const char **p, bool *more)
{
    double *cell = column_start(r, j) + r->rows;
    if (!is_word_column(r, j) && r->rows > 0 && scan_quick_number(&r->s, p, cell, more)) {
        return FAR_OK;
    }
    far_field f;
    far_status st = take_field(r, j, p, &f, more);
    if (st != FAR_OK) {
        return st;
    }
    if (r->rows == 0) {
        r->first[j] = f;
    }
    if (!is_word_column(r, j) && !far_field_number(&f, cell)) {
        *cell = NAN;
        if (r->rows > 0 && !far_is_missing(f.text, f.length)) {
            r->frame->columns[j].kind = FAR_COLUMN_WORD;
        }
    }
    return FAR_OK;
}

static far_status read_row(reader *r)
{
    far_status st = FAR_OK;
    const char *p = r->s.p;
    int64_t j = 0, cols = r->frame->cols;
    for (bool more = true; more; j++) {
        if (j == cols) {
            return far_scan_fail_ragged(&r->s, cols);
        }
        FAR_TRY(read_cell(r, j, &p, &more));
    }
    if (j < cols) {
        return far_scan_fail_ragged(&r->s, cols);
    }
    end_row(r, p);
    r->rows++;
done:
    return st;
}

static far_status report(const reader *r, const char *what, const char **reported)
{
    if (r->s.p - *reported < FAR_PROGRESS_BYTES) {
        return FAR_OK;
    }
    *reported = r->s.p;
    return far_progress(r->frame->ctx, what, r->s.p - r->start.p, r->s.end - r->start.p);
}

static far_status read_rows(reader *r)
{
    far_status st;
    const char *reported = r->s.p;
    FAR_TRY(read_row(r));
    r->below = r->s;
    while (find_row(r)) {
        FAR_TRY(read_row(r));
        FAR_TRY(report(r, "parsing", &reported));
    }
done:
    return st;
}

/* ---- the header ---- */

/* Whether a number stands in the column below its first row, and no word. */
static bool numbers_below(const reader *r, int64_t j)
{
    const double *values = column_start(r, j);
    for (int64_t i = 1; i < r->rows && !is_word_column(r, j); i++) {
        if (!isnan(values[i])) {
            return true;
        }
    }
    return false;
}

/* What the first row has, as columns from 0 on; -1: none. */
typedef struct first_row {
    int64_t word;              /* a word */
    int64_t word_over_numbers; /* a word over numbers: a name */
    int64_t number;            /* a number over numbers */
    int64_t no_name;           /* a number that cannot be a name */
    bool number_column;        /* there is a column without words below */
} first_row;

static first_row look_at_first(const reader *r)
{
    first_row f = {-1, -1, -1, -1, false};
    for (int64_t j = r->frame->cols - 1; j >= 0; j--) {
        field_kind kind = classify(&r->first[j]);
        bool over_numbers = kind != FIELD_MISSING && numbers_below(r, j);
        f.word = kind == FIELD_WORD ? j : f.word;
        f.word_over_numbers = kind == FIELD_WORD && over_numbers ? j : f.word_over_numbers;
        f.number = kind == FIELD_NUMBER && over_numbers ? j : f.number;
        f.no_name = far_field_could_be_name(&r->first[j]) ? f.no_name : j;
        f.number_column |= !is_word_column(r, j);
    }
    return f;
}

static bool same_text(const far_field *a, const far_field *b)
{
    return a->length == b->length && memcmp(a->text, b->text, (size_t)a->length) == 0;
}

/* Whether a word of the first row comes again below it: a column's name does not. */
static bool first_word_recurs(reader *r)
{
    bool recurs = false;
    r->s = r->below;
    while (!recurs && find_row(r)) {
        const char *p = r->s.p;
        for (int64_t j = 0; j < r->frame->cols; j++) {
            far_field f;
            far_scan_field(&r->s, &p, &f);
            recurs |= same_text(&f, &r->first[j]) && classify(&f) == FIELD_WORD;
        }
        end_row(r, p);
    }
    return recurs;
}

static far_status fail_doubtful(const reader *r, const first_row *f)
{
    char word[64], number[64];
    far_show(word, sizeof word, r->first[f->word_over_numbers].text,
             r->first[f->word_over_numbers].length);
    far_show(number, sizeof number, r->first[f->no_name].text, r->first[f->no_name].length);
    return far_input_fail(r->s.in, FAR_ERR_FORMAT,
                          "line %lld is neither names nor numbers: '%s' stands over numbers beside "
                          "%s; mend it, or put quotes around its names",
                          (long long)r->start.line, word, number);
}

/* A row of numbers alone is a header only above nothing but words, as years may be. A row with
 * words is one unless it looks like its neighbours below: it has a number that cannot be a name,
 * or plain digits over numbers and a word that comes again. */
static far_status decide_header(reader *r, bool *header)
{
    first_row f = look_at_first(r);
    if (f.word < 0) {
        *header = !f.number_column;
    } else if (f.no_name >= 0 && f.word_over_numbers >= 0) {
        return fail_doubtful(r, &f);
    } else if (f.no_name >= 0 || f.word_over_numbers >= 0) {
        *header = f.no_name < 0;
    } else {
        *header = f.number < 0 || !first_word_recurs(r);
    }
    return FAR_OK;
}

static far_status name_columns(reader *r, bool header)
{
    far_status st;
    far_frame *f = r->frame;
    char *name = NULL;
    int64_t longest = 0;
    for (int64_t j = 0; j < f->cols; j++) {
        longest = r->first[j].length > longest ? r->first[j].length : longest;
    }
    FAR_TRY(far_alloc(f->ctx, longest + 1, &name));
    for (int64_t j = 0; j < f->cols; j++) {
        far_field_copy(name, header ? &r->first[j] : &(far_field){0});
        FAR_TRY(far_frame_add_name(f, name));
    }
done:
    far_free(f->ctx, name);
    return st;
}

/* ---- columns ---- */

static void place_columns(reader *r, bool header)
{
    far_frame *f = r->frame;
    f->rows = r->rows - header;
    for (int64_t j = 0; j < f->cols; j++) {
        far_column *c = &f->columns[j];
        if (!header && classify(&r->first[j]) == FIELD_WORD) {
            c->kind = FAR_COLUMN_WORD;
        }
        if (c->kind == FAR_COLUMN_WORD) {
            c->codes = (int32_t *)(void *)column_start(r, j);
        } else {
            c->numbers = column_start(r, j) + header;
        }
    }
}

static far_status read_word(reader *r, const far_field *f, int32_t *out)
{
    char *room;
    *out = -1;
    if (far_is_missing(f->text, f->length)) {
        return FAR_OK;
    }
    far_words *words = &r->frame->words;
    far_status st = far_words_room(words, f->length, &room);
    if (st != FAR_OK) {
        return st;
    }
    char *end = far_field_copy(room, f);
    return far_words_add_room(words, end - room - 1, out);
}

static far_status read_words_of_row(reader *r, int64_t i)
{
    far_status st = FAR_OK;
    const char *p = r->s.p;
    for (int64_t j = 0; j < r->frame->cols; j++) {
        far_field f;
        far_scan_field(&r->s, &p, &f);
        if (is_word_column(r, j)) {
            FAR_TRY(read_word(r, &f, &r->frame->columns[j].codes[i]));
        }
    }
    end_row(r, p);
done:
    return st;
}

/* The second pass. */
static far_status read_words(reader *r, bool header)
{
    far_status st = FAR_OK;
    bool any = false;
    for (int64_t j = 0; j < r->frame->cols; j++) {
        any |= is_word_column(r, j);
    }
    r->s = header ? r->below : r->start;
    const char *reported = r->s.p;
    for (int64_t i = 0; any && find_row(r); i++) {
        FAR_TRY(read_words_of_row(r, i));
        FAR_TRY(report(r, "reading words", &reported));
    }
done:
    return st;
}

/* A line that starts with # is a row if the first column has words; if it has numbers, the line
 * may as well be a comment. */
static far_status check_hash_line(const reader *r)
{
    const far_frame *f = r->frame;
    const int32_t *codes = f->columns[0].codes;
    for (int64_t i = 0; r->hash_line && codes && i < f->rows; i++) {
        const char *text = codes[i] < 0 ? "" : far_words_text(&f->words, codes[i]);
        double value;
        if (far_field_number(&(far_field){text, (int64_t)strlen(text), false}, &value)) {
            return far_input_fail(
                r->s.in, FAR_ERR_FORMAT,
                "line %lld starts with '#' but has the fields of a row; remove it "
                "if it is a comment",
                (long long)r->hash_line);
        }
    }
    return FAR_OK;
}

/* ---- the text ---- */

/* A first row without any separator is one column, which may have words with blanks. */
static far_status open_reader(far_input *in, reader *r)
{
    far_status st;
    FAR_TRY(far_scan_open(in, true, &r->s));
    int64_t cols = far_scan_count(&r->s);
    if (cols == 1 && r->s.separator == ' ') {
        r->s.separator = ',';
    }
    r->start = r->s;
    r->stride = far_scan_most_rows(&r->s, cols, 1); /* fields may be empty */
    FAR_TRY(far_frame_create(in->ctx, in->label, cols, &r->frame));
    FAR_TRY(far_alloc(in->ctx, cols, &r->first));
    FAR_TRY(far_alloc(in->ctx, r->stride * cols, &r->frame->block));
done:
    return st;
}

far_status far_frame_read_csv(far_input *in, far_frame **out)
{
    far_status st;
    reader r = {0};
    bool header = false;
    FAR_TRY(open_reader(in, &r));
    FAR_TRY(read_rows(&r));
    FAR_TRY(decide_header(&r, &header));
    if (header && r.rows == 1) {
        st = far_input_fail(in, FAR_ERR_FORMAT, "has a header but no rows");
        goto done;
    }
    FAR_TRY(name_columns(&r, header));
    place_columns(&r, header);
    FAR_TRY(read_words(&r, header));
    FAR_TRY(check_hash_line(&r));
    st = far_frame_finish(r.frame, out);
    r.frame = NULL;
done:
    far_frame_destroy(r.frame);
    far_free(in->ctx, r.first);
    return st;
}
