/* From the words of all columns together to the sorted levels of each. */
#include "frame_internal.h"

#include <stdlib.h>

/* Words are known by their rank in byte order among all words of the frame. */
typedef struct ranking {
    int32_t *order; /* number of the word of each rank */
    int32_t *rank;  /* of each number */
    int64_t *seen;  /* per rank: the last visit to a column that met it */
    int32_t *met;   /* ranks met in the column, sorted */
    int32_t *code;  /* per rank met: its level */
} ranking;

static far_status open_ranking(const far_frame *f, ranking *r)
{
    far_status st;
    int64_t count = f->words.count;
    FAR_TRY(far_words_order(&f->words, &r->order));
    FAR_TRY(far_alloc(f->ctx, count, &r->rank));
    FAR_TRY(far_alloc(f->ctx, count, &r->seen));
    FAR_TRY(far_alloc(f->ctx, count, &r->met));
    FAR_TRY(far_alloc(f->ctx, count, &r->code));
    for (int64_t i = 0; i < count; i++) {
        r->rank[r->order[i]] = (int32_t)i;
    }
done:
    return st;
}

static void close_ranking(far_ctx *ctx, ranking *r)
{
    FAR_FREE_ALL(ctx, r->order, r->rank, r->seen, r->met, r->code);
}

/* How many different words the column has; their ranks go to r->met. Each visit has a number of
 * its own, from 1 on. */
static int64_t meet_words(const far_frame *f, const far_column *c, int64_t visit, ranking *r)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->rows; i++) {
        if (c->codes[i] >= 0) {
            int32_t rank = r->rank[c->codes[i]];
            if (r->seen[rank] != visit) {
                r->seen[rank] = visit;
                r->met[count++] = rank;
            }
        }
    }
    return count;
}

static int compare_ranks(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void set_levels(far_frame *f, far_column *c, int64_t visit, ranking *r)
{
    int64_t count = meet_words(f, c, visit, r);
    qsort(r->met, (size_t)count, sizeof *r->met, compare_ranks);
    for (int64_t i = 0; i < count; i++) {
        r->code[r->met[i]] = (int32_t)i;
        f->level[c->first_level + i] = far_words_text(&f->words, r->order[r->met[i]]);
    }
    for (int64_t i = 0; i < f->rows; i++) {
        c->codes[i] = c->codes[i] < 0 ? -1 : r->code[r->rank[c->codes[i]]];
    }
}

/* Counts the levels of all columns first, so that their table is allocated once. */
static int64_t count_levels(far_frame *f, ranking *r)
{
    int64_t total = 0;
    for (int64_t j = 0; j < f->cols; j++) {
        far_column *c = &f->columns[j];
        if (c->kind == FAR_COLUMN_WORD) {
            c->first_level = total;
            c->level_count = meet_words(f, c, j + 1, r);
            total += c->level_count;
        }
    }
    return total;
}

far_status far_frame_make_levels(far_frame *f)
{
    far_status st;
    ranking r = {0};
    FAR_TRY(open_ranking(f, &r));
    FAR_TRY(far_alloc(f->ctx, count_levels(f, &r), &f->level));
    for (int64_t j = 0; j < f->cols; j++) {
        if (f->columns[j].kind == FAR_COLUMN_WORD) {
            set_levels(f, &f->columns[j], f->cols + j + 1, &r);
        }
    }
    far_free(f->ctx, f->words.slots); /* no more words will come */
    f->words.slots = NULL;
    f->words.slot_count = 0;
done:
    close_ranking(f->ctx, &r);
    return st;
}
