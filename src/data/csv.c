/* Text tables: the one reader of them, for frames (columns of numbers or words, some missing) and
 * for matrices (numbers alone, row by row). The first pass reads numbers and finds out which
 * columns have words; those alone are read again, because the text before a column's first word is
 * gone by then. In a matrix a word or a missing value is an error where it is met. */
#include "csv_scan.h"
#include "frame_internal.h"

#include <math.h>

typedef enum field_kind { FIELD_NUMBER, FIELD_MISSING, FIELD_WORD } field_kind;

typedef struct reader {
    far_scan s;
    far_scan start, below; /* at the first row, and behind it */
    const char *second;    /* the second row */
    far_ctx *ctx;
    const far_reading *how; /* NULL: as by default */
    int64_t cols;
    double *block;       /* what is read: numbers */
    bool *words;         /* one for each column: it has a word below the first row */
    far_field *first;    /* the fields of the first row, which may be a header */
    int64_t rows;        /* with the first row */
    int64_t down, right; /* from row to row and from column to column in the block */
    bool matrix;         /* numbers alone */
    bool hash_comments;  /* every line that starts with # is a comment */
    int64_t hash_line;   /* the first that has the fields of a row and is taken for one; 0: none */
} reader;

static field_kind classify(const reader *r, const far_field *f)
{
    double value;
    if (far_is_missing(r->how, f->text, f->length)) {
        return FIELD_MISSING;
    }
    return far_field_number(f, &value) ? FIELD_NUMBER : FIELD_WORD;
}

static double *cell_at(const reader *r, int64_t i, int64_t j)
{
    return r->block + i * r->down + j * r->right;
}

/* ---- rows ---- */

/* Whether a line that starts with # is taken for a row: if it has the fields of one it may be a
 * word, which judge_hash_lines decides; #N/A is a missing value. */
static bool hash_row(reader *r)
{
    const char *p = r->s.p;
    far_field f;
    if (far_scan_count(&r->s) != r->cols) {
        return false;
    }
    far_scan_field(&r->s, &p, &f);
    bool missing = far_is_missing(r->how, f.text, f.length);
    if (!missing && !r->hash_comments && !r->hash_line) {
        r->hash_line = r->s.line;
    }
    return missing || !r->hash_comments;
}

/* Moves to the next row; false at the end. */
static bool find_row(reader *r)
{
    const char *blanks = r->s.separator == '\t' ? " " : SCAN_BLANKS;
    while (scan_find_content(&r->s, blanks, false)) {
        const char *p = r->s.p + strspn(r->s.p, blanks);
        if (*p != '#') {
            return true;
        }
        if (hash_row(r)) {
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

/* A field that cannot be in a matrix. The column has its name from the first row, if that is one.
 */
static far_status fail_field(const reader *r, int64_t line, int64_t j, const far_field *f)
{
    char name[64] = "", text[64];
    if (f != &r->first[j] && classify(r, &r->first[j]) == FIELD_WORD) {
        far_show(name, sizeof name, r->first[j].text, r->first[j].length);
    }
    far_show(text, sizeof text, f->text, f->length);
    return far_input_fail(r->s.in, FAR_ERR_FORMAT, "line %lld, column %lld%s%s%s%s%s%s",
                          (long long)line, (long long)j + 1, *name ? " (" : "", name,
                          *name ? ")" : "", f->length ? ": '" : "", text,
                          f->length ? "' is not a number" : " is empty; remove or fill it first");
}

/* One field of the first pass. Words of the first row decide nothing yet. */
static far_status read_cell(reader *r, int64_t j, const char **p, bool *more)
{
    double *cell = cell_at(r, r->rows, j);
    if (!r->words[j] && r->rows > 0 && scan_quick_number(&r->s, p, cell, more)) {
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
    if (r->words[j] || far_field_number(&f, cell)) {
        return FAR_OK;
    }
    *cell = NAN;
    if (r->rows > 0 && r->matrix) {
        return fail_field(r, r->s.line, j, &f);
    }
    if (r->rows > 0 && !far_is_missing(r->how, f.text, f.length)) {
        r->words[j] = true;
    }
    return FAR_OK;
}

static far_status read_row(reader *r)
{
    far_status st = FAR_OK;
    const char *p = r->s.p;
    int64_t j = 0, cols = r->cols;
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
    return far_progress(r->ctx, what, r->s.p - r->start.p, r->s.end - r->start.p);
}

static far_status read_rows(reader *r)
{
    far_status st;
    const char *reported = r->s.p;
    FAR_TRY(read_row(r));
    r->below = r->s;
    while (find_row(r)) {
        r->second = r->second ? r->second : r->s.p;
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
    for (int64_t i = 1; i < r->rows && !r->words[j]; i++) {
        if (!isnan(*cell_at(r, i, j))) {
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
    bool like_below;           /* a date over a date, 1,5 over 2,5 */
} first_row;

/* The form of a field that is no plain number, and its mark; 0: it is one, or a word. */
static unsigned odd_forms(const reader *r, const far_field *f, int *mark)
{
    char text[64];
    if (f->length >= (int64_t)sizeof text || classify(r, f) != FIELD_WORD) {
        return 0;
    }
    far_field_copy(text, f);
    return far_notations_of(text, mark);
}

/* Whether the first row has a field that is a date or dressed number as the one below it is. */
static bool looks_like_below(const reader *r)
{
    bool like = false;
    const char *p = r->rows > 1 ? r->second : NULL;
    for (int64_t j = 0; p && j < r->cols; j++) {
        int mark = 0, below = 0;
        far_field f;
        far_scan_field(&r->s, &p, &f);
        like |= (odd_forms(r, &r->first[j], &mark) & odd_forms(r, &f, &below)) && mark == below;
    }
    return like;
}

static first_row look_at_first(const reader *r)
{
    first_row f = {-1, -1, -1, -1, false, looks_like_below(r)};
    for (int64_t j = r->cols - 1; j >= 0; j--) {
        field_kind kind = classify(r, &r->first[j]);
        bool over_numbers = kind != FIELD_MISSING && numbers_below(r, j);
        f.word = kind == FIELD_WORD ? j : f.word;
        f.word_over_numbers = kind == FIELD_WORD && over_numbers ? j : f.word_over_numbers;
        f.number = kind == FIELD_NUMBER && over_numbers ? j : f.number;
        f.no_name = far_field_could_be_name(&r->first[j]) ? f.no_name : j;
        f.number_column |= !r->words[j];
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
        for (int64_t j = 0; j < r->cols; j++) {
            far_field f;
            far_scan_field(&r->s, &p, &f);
            recurs |= same_text(&f, &r->first[j]) && classify(r, &f) == FIELD_WORD;
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
 * words is one unless it looks like its neighbours below: it has a date over a date, a number that
 * cannot be a name, or plain digits over numbers and a word that comes again. */
static far_status decide_header(reader *r, bool *header)
{
    first_row f = look_at_first(r);
    if (f.word < 0) {
        *header = !f.number_column;
    } else if (f.like_below) {
        *header = false;
    } else if (f.no_name >= 0 && f.word_over_numbers >= 0) {
        return fail_doubtful(r, &f);
    } else if (f.no_name >= 0 || f.word_over_numbers >= 0) {
        *header = f.no_name < 0;
    } else {
        *header = f.number < 0 || !first_word_recurs(r);
    }
    return FAR_OK;
}

static far_status name_columns(const reader *r, bool header, far_frame *f)
{
    far_status st;
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

/* The block becomes the frame's. */
static void place_columns(reader *r, bool header, far_frame *f)
{
    f->rows = r->rows - header;
    for (int64_t j = 0; j < f->cols; j++) {
        far_column *c = &f->columns[j];
        r->words[j] |= !header && classify(r, &r->first[j]) == FIELD_WORD;
        if (r->words[j]) {
            c->kind = FAR_COLUMN_WORD;
            c->codes = (int32_t *)(void *)cell_at(r, 0, j);
        } else {
            c->numbers = cell_at(r, header, j);
        }
    }
    f->block = r->block;
    r->block = NULL;
}

static far_status read_word(const reader *r, far_words *words, const far_field *f, int32_t *out)
{
    char *room;
    *out = -1;
    if (far_is_missing(r->how, f->text, f->length)) {
        return FAR_OK;
    }
    far_status st = far_words_room(words, f->length, &room);
    if (st != FAR_OK) {
        return st;
    }
    char *end = far_field_copy(room, f);
    return far_words_add_room(words, end - room - 1, out);
}

static far_status read_words_of_row(reader *r, int64_t i, far_frame *frame)
{
    far_status st = FAR_OK;
    const char *p = r->s.p;
    for (int64_t j = 0; j < r->cols; j++) {
        far_field f;
        far_scan_field(&r->s, &p, &f);
        if (r->words[j]) {
            FAR_TRY(read_word(r, &frame->words, &f, &frame->columns[j].codes[i]));
        }
    }
    end_row(r, p);
done:
    return st;
}

/* Columns that are to be words, whatever they hold. */
static far_status force_words(reader *r, far_frame *f)
{
    far_status st;
    int64_t *cols = NULL, count = 0;
    if (!r->how || !r->how->categorical) {
        return FAR_OK;
    }
    far_frame_names_done(f);
    FAR_TRY(far_alloc(r->ctx, f->cols, &cols));
    FAR_TRY(far_frame_list(r->ctx, f, r->how->categorical, cols, &count));
    for (int64_t k = 0; k < count; k++) {
        r->words[cols[k]] = true;
        f->columns[cols[k]].categorical = true;
    }
done:
    far_free(r->ctx, cols);
    return st;
}

/* The second pass. */
static far_status read_words(reader *r, bool header, far_frame *frame)
{
    far_status st = FAR_OK;
    bool any = false;
    for (int64_t j = 0; j < r->cols; j++) {
        any |= r->words[j];
    }
    r->s = header ? r->below : r->start;
    const char *reported = r->s.p;
    for (int64_t i = 0; any && find_row(r); i++) {
        FAR_TRY(read_words_of_row(r, i, frame));
        FAR_TRY(report(r, "reading words", &reported));
    }
done:
    return st;
}

/* Lines that start with # and have the fields of a row are rows where the first column holds words,
 * and comments where it holds numbers. Where it holds both nobody can tell. */
static far_status judge_hash_lines(const reader *r, const far_frame *f, bool *comments)
{
    const int32_t *codes = f->columns[0].codes;
    bool numbers = false, words = false;
    for (int64_t i = 0; r->hash_line && codes && i < f->rows; i++) {
        const char *text = codes[i] < 0 ? "#" : far_words_text(&f->words, codes[i]);
        double value;
        bool number = far_field_number(&(far_field){text, (int64_t)strlen(text), false}, &value);
        numbers |= number;
        words |= !number && *text != '#';
    }
    *comments = numbers && !words;
    if (numbers && words) {
        return far_input_fail(r->s.in, FAR_ERR_FORMAT,
                              "line %lld starts with '#' but has the fields of a row; remove it "
                              "if it is a comment",
                              (long long)r->hash_line);
    }
    return FAR_OK;
}

/* ---- the text ---- */

/* A first row without any separator is one column, which may have words with blanks. */
static far_status open_reader(far_input *in, reader *r)
{
    far_status st;
    FAR_TRY(far_scan_open(in, r->how ? r->how->separator : 0, &r->s));
    int64_t cols = far_scan_count(&r->s);
    if (cols == 1 && r->s.separator == ' ') {
        r->s.separator = ',';
    }
    r->start = r->s;
    int64_t rows = far_scan_most_rows(&r->s, cols);
    r->ctx = in->ctx;
    r->cols = cols;
    r->down = r->matrix ? cols : 1;
    r->right = r->matrix ? 1 : rows;
    FAR_TRY(far_alloc(in->ctx, cols, &r->first));
    FAR_TRY(far_alloc(in->ctx, cols, &r->words));
    FAR_TRY(far_alloc(in->ctx, rows * cols, &r->block));
done:
    return st;
}

/* What frames and matrices have in common: all rows, and whether the first is a header. */
static far_status read_text(far_input *in, reader *r, bool *header)
{
    far_status st;
    FAR_TRY(open_reader(in, r));
    FAR_TRY(read_rows(r));
    FAR_TRY(decide_header(r, header));
    if (*header && r->rows == 1) {
        st = far_input_fail(in, FAR_ERR_FORMAT, "has a header but no rows");
    }
done:
    return st;
}

static void close_reader(reader *r)
{
    FAR_FREE_ALL(r->ctx, r->first, r->words, r->block);
}

/* ---- a frame ---- */

/* *comments: it must be read again, with all lines that start with # as comments. */
static far_status read_frame(far_input *in, const far_reading *how, bool *comments, far_frame **out)
{
    far_status st;
    reader r = {.hash_comments = *comments, .how = how};
    far_frame *f = NULL;
    bool header = false;
    FAR_TRY(read_text(in, &r, &header));
    FAR_TRY(far_frame_create(in->ctx, in->label, r.cols, &f));
    FAR_TRY(name_columns(&r, header, f));
    FAR_TRY(force_words(&r, f));
    place_columns(&r, header, f);
    FAR_TRY(read_words(&r, header, f));
    FAR_TRY(judge_hash_lines(&r, f, comments));
    if (!*comments) {
        far_frame_drop_missing(f, how);
        f->separator = r.s.separator;
        st = far_frame_finish(f, out);
        f = NULL;
    }
done:
    far_frame_destroy(f);
    close_reader(&r);
    return st;
}

far_status far_frame_read_csv(far_input *in, const far_reading *how, far_frame **out)
{
    bool comments = false;
    far_status st = read_frame(in, how, &comments, out);
    return st == FAR_OK && comments ? read_frame(in, how, &comments, out) : st;
}

/* ---- a matrix ---- */

/* Of a first row that is no header. */
static far_status check_first(const reader *r)
{
    for (int64_t j = 0; j < r->cols; j++) {
        double value;
        if (!far_field_number(&r->first[j], &value)) {
            return fail_field(r, r->start.line, j, &r->first[j]);
        }
    }
    return FAR_OK;
}

static far_status check_finite(const reader *r, bool header)
{
    int64_t cols = r->cols, count = (r->rows - header) * cols;
    const double *values = cell_at(r, header, 0);
    int64_t at = far_first_not_finite(values, count);
    if (at == count) {
        return FAR_OK;
    }
    const far_field *name = header ? &r->first[at % cols] : &(far_field){0};
    return far_fail_value(r->s.in, at / cols, at % cols, name->text, name->length, values[at]);
}

far_status far_csv_parse(far_input *in, far_array *a)
{
    far_status st;
    reader r = {.matrix = true, .hash_comments = true};
    bool header = false;
    FAR_TRY(read_text(in, &r, &header));
    FAR_TRY(header ? FAR_OK : check_first(&r));
    FAR_TRY(check_finite(&r, header));
    a->rows = r.rows - header;
    a->cols = r.cols;
    a->values = cell_at(&r, header, 0);
    a->block = r.block;
    r.block = NULL; /* the array owns it now */
done:
    close_reader(&r);
    return st;
}
