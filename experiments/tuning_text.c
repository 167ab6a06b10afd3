#include "tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWLINE = '\n', QUICK_LETTERS = 9, BOOK_LETTERS = 5, QUICK_LINES = 200 };
static const double KEPT_PART = 0.05; /* of the text, to see what pretraining has learnt */

int64_t tuning_numbers(const tuning_plan *p)
{
    return p->rows * p->classes * p->classes;
}

/* ---- the shelf ----------------------------------------------------------------------------- */

/* Books of lines in eight letters, token 0 between them. Each book has five of them: runs of a
 * letter, and behind a run the letter that stands as far behind it as the run was long. */
static void make_shelf(reproduction *r, tuning_plan *p)
{
    uint64_t state = 5;
    p->shelf = (shelf){ROOM(p->classes, book), p->classes, 0, "made"};
    (void)r;
    for (int64_t k = 0; k < p->classes; k++) {
        int64_t length = QUICK_LINES * (p->places + 1), i = 0;
        book b = {text_of("%lld", (long long)k), ROOM(length, unsigned char), length};
        for (int64_t letter = 0; i < length;) {
            int64_t run = 1 + (int64_t)(uniform(&state) * 3);
            for (int64_t j = 0; j < run && i < length; j++, i++) {
                bool end = i % (p->places + 1) == p->places;
                b.bytes[i] =
                    (unsigned char)(end ? NEWLINE : 'a' + (letter + 2 * k) % (QUICK_LETTERS - 1));
            }
            letter = (letter + run) % BOOK_LETTERS;
        }
        p->shelf.books[k] = b;
        p->shelf.length += length;
    }
}

/* Quick: nine tokens. */
static double token_of(const tuning_plan *p, unsigned char byte)
{
    return p->tokens == QUICK_LETTERS ? (byte == NEWLINE ? 0 : byte - 'a' + 1) : byte;
}

static int by_length(const void *a, const void *b)
{
    const book *x = *(const book *const *)a, *y = *(const book *const *)b;
    return x->length != y->length ? (x->length < y->length ? 1 : -1) : strcmp(x->name, y->name);
}

static far_status choose_books(reproduction *r, tuning_plan *p)
{
    const shelf *s = &p->shelf;
    const book **sorted = ROOM(s->count, const book *);
    if (s->count < p->classes) {
        free(sorted);
        return fail(r, FAR_ERR_FORMAT, "%s has %lld text files; %lld are needed", s->from,
                    (long long)s->count, (long long)p->classes);
    }
    for (int64_t i = 0; i < s->count; i++) {
        sorted[i] = &s->books[i];
    }
    qsort(sorted, (size_t)s->count, sizeof *sorted, by_length);
    for (int64_t k = 0; k < p->classes; k++) {
        p->books[k] = sorted[k] - s->books;
    }
    free(sorted);
    return FAR_OK;
}

far_status tuning_open(reproduction *r, tuning_plan *p)
{
    far_status st = FAR_OK;
    if (r->quick) {
        make_shelf(r, p);
    } else {
        TRY(shelf_open(r, &p->shelf));
    }
    TRY(choose_books(r, p));
    static const char BLOCK[] = "skip(ln(eps=1e-5, affine) attention(%lld, causal%s)) skip(ln(eps="
                                "1e-5, affine) dense(%lld%s) gelu dense(%lld%s))";
    char lora[64];
    snprintf(lora, sizeof lora, ", lora=%lld, alpha=%lld", (long long)p->rank, (long long)p->alpha);
    char *text = text_of("tokens(%lld, %lld) embed(%lld) position [", (long long)p->places,
                         (long long)p->tokens, (long long)p->channels);
    for (int tuned = 0; tuned < 2; tuned++) {
        const char *with = tuned ? lora : "";
        char *block = text_of(BLOCK, (long long)p->heads, with, (long long)(4 * p->channels), with,
                              (long long)p->channels, with);
        char **out = tuned ? &p->head : &p->base;
        *out = text_of("%s%s]x%d ln(eps=1e-5, affine) %sdense(%lld)", text, block, TUNING_BLOCKS,
                       tuned ? "last " : "", (long long)(tuned ? p->classes : p->tokens));
        free(block);
    }
    free(text);
done:
    return st;
}

void tuning_close(tuning_plan *p)
{
    free(p->base);
    free(p->head);
    shelf_free(&p->shelf);
}

/* ---- lines --------------------------------------------------------------------------------- */

typedef struct line {
    int64_t first, length;
    bool taken; /* for tuning or tests: pretraining does not see it */
} line;

typedef struct lines {
    line *items;
    int64_t count;
} lines;

static lines lines_of(const book *b)
{
    lines l = {NULL, 0};
    for (int64_t at = 0, first = 0; at <= b->length; at++) {
        if (at == b->length || b->bytes[at] == NEWLINE) {
            l.items = room_for_one_more(l.items, l.count, sizeof *l.items);
            l.items[l.count++] = (line){first, at - first, false};
            first = at + 1;
        }
    }
    return l;
}

/* The line at the end of the window, newlines in front of it. */
static void put_line(const tuning_plan *p, const book *b, const line *l, double *row)
{
    int64_t length = l->length < p->places ? l->length : p->places;
    for (int64_t i = 0; i < p->places; i++) {
        int64_t at = i - (p->places - length);
        row[i] = token_of(p, at < 0 ? NEWLINE : b->bytes[l->first + at]);
    }
}

/* Lines of one class, drawn by seed, for rows and tests. */
static far_status draw_class(reproduction *r, const tuning_plan *p, int64_t k, lines *l,
                             uint64_t *state, tuning_data *out)
{
    const book *b = &p->shelf.books[p->books[k]];
    int64_t *fit = ROOM(l->count, int64_t), count = 0, wanted = p->rows + p->tests;
    for (int64_t i = 0; i < l->count; i++) {
        if (l->items[i].length >= p->shortest && l->items[i].length <= p->places) {
            fit[count++] = i;
        }
    }
    if (count < wanted) {
        free(fit);
        return fail(r, FAR_ERR_FORMAT, "%s has %lld lines of %lld to %lld bytes; %lld are needed",
                    b->name, (long long)count, (long long)p->shortest, (long long)p->places,
                    (long long)wanted);
    }
    for (int64_t i = 0; i < wanted; i++) {
        int64_t j = i + (int64_t)(uniform(state) * (double)(count - i)), held = fit[i];
        fit[i] = fit[j];
        fit[j] = held;
        line *one = &l->items[fit[i]];
        one->taken = true;
        bool test = i >= p->rows;
        int64_t row = test ? k * p->tests + i - p->rows : k * p->rows + i;
        put_line(p, b, one, (double *)(test ? out->test : out->x).data + row * p->places);
        if (test) {
            out->labels[row] = k;
        } else {
            for (int64_t c = 0; c < p->classes; c++) {
                ((double *)out->y.data)[row * p->classes + c] = (c == k) - 1 / (double)p->classes;
            }
        }
    }
    free(fit);
    return FAR_OK;
}

/* Everything but the lines that were taken; a word of a newline each. */
static int64_t rest_of(const tuning_plan *p, const lines *all, unsigned char *out)
{
    int64_t length = 0;
    for (int64_t i = 0; i < p->shelf.count; i++) {
        const book *b = &p->shelf.books[i];
        for (int64_t k = 0; k < all[i].count; k++) {
            const line *l = &all[i].items[k];
            if (!l->taken) {
                memcpy(out + length, b->bytes + l->first, (size_t)l->length);
                length += l->length;
                out[length++] = NEWLINE;
            }
        }
    }
    return length;
}

/* Windows one behind the other, the last token of one the first of the next. */
static far_mat windows(const tuning_plan *p, const unsigned char *bytes, int64_t length)
{
    int64_t rows = (length - 1) / p->places, width = p->places + 1;
    double *values = ROOM(rows * width, double);
    for (int64_t i = 0; i < rows * width; i++) {
        values[i] = token_of(p, bytes[i / width * p->places + i % width]);
    }
    return far_mat_view(values, rows, width, FAR_F64);
}

/* Sabotaged: targets of other rows. */
static void exchange_targets(const tuning_plan *p, tuning_data *d)
{
    int64_t rows = p->rows * p->classes, k = p->classes;
    double *y = d->y.data, *old = ROOM(rows * k, double);
    memcpy(old, y, (size_t)(rows * k) * sizeof *y);
    for (int64_t i = 0; i < rows; i++) { /* rows of a class lie together: take them in turn */
        memcpy(y + i * k, old + (i % k * p->rows + i / k) * k, (size_t)k * sizeof *y);
    }
    free(old);
}

far_status tuning_draw(reproduction *r, const tuning_plan *p, uint64_t seed, tuning_data *out)
{
    int64_t k = p->classes, rows = p->rows * k, tests = p->tests * k;
    lines *all = ROOM(p->shelf.count, lines);
    unsigned char *rest = ROOM(p->shelf.length + p->shelf.count, unsigned char);
    uint64_t state = 1000 + seed;
    far_status st = FAR_OK;
    *out = (tuning_data){
        .x = far_mat_view(ROOM(rows * p->places, double), rows, p->places, FAR_F64),
        .y = far_mat_view(ROOM(rows * k, double), rows, k, FAR_F64),
        .test = far_mat_view(ROOM(tests * p->places, double), tests, p->places, FAR_F64),
        .labels = ROOM(tests, int64_t)};
    for (int64_t i = 0; i < p->shelf.count; i++) {
        all[i] = lines_of(&p->shelf.books[i]);
    }
    for (int64_t c = 0; c < k && st == FAR_OK; c++) {
        st = draw_class(r, p, c, &all[p->books[c]], &state, out);
    }
    if (st == FAR_OK) {
        int64_t length = rest_of(p, all, rest);
        int64_t kept = (int64_t)((double)length * KEPT_PART);
        out->windows = windows(p, rest, length - kept);
        out->kept = windows(p, rest + length - kept, kept);
    }
    if (st == FAR_OK && r->sabotage) {
        exchange_targets(p, out);
    }
    for (int64_t i = 0; i < p->shelf.count; i++) {
        free(all[i].items);
    }
    free(all);
    free(rest);
    return st;
}

void tuning_data_free(tuning_data *d)
{
    FREE(d->x.data, d->y.data, d->test.data, d->labels, d->windows.data, d->kept.data);
    *d = (tuning_data){0};
}
