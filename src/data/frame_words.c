/* Sets of texts: column names, and the words of all word columns together. */
#include "frame_internal.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_TEXT 256
#define FIRST_SLOTS 32

static uint64_t hash_text(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return h ^ h >> 32;
}

const char *far_words_text(const far_words *w, int64_t i)
{
    return w->text + w->starts[i];
}

/* The slot that holds the text, or the free one where it belongs. */
static int64_t find_slot(const far_words *w, const char *text)
{
    int64_t mask = w->slot_count - 1;
    int64_t slot = (int64_t)(hash_text(text) & (uint64_t)mask);
    while (w->slots[slot] && strcmp(far_words_text(w, w->slots[slot] - 1), text) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

/* At most half of the slots are in use. */
static far_status grow_slots(far_words *w)
{
    if (2 * (w->count + 1) <= w->slot_count) {
        return FAR_OK;
    }
    int64_t count = w->slot_count ? 2 * w->slot_count : FIRST_SLOTS;
    int32_t *slots;
    far_status st = far_alloc(w->ctx, count, &slots);
    if (st != FAR_OK) {
        return st;
    }
    far_free(w->ctx, w->slots);
    w->slots = slots;
    w->slot_count = count;
    for (int64_t i = 0; i < w->count; i++) {
        slots[find_slot(w, far_words_text(w, i))] = (int32_t)(i + 1);
    }
    return FAR_OK;
}

static far_status grow_starts(far_words *w)
{
    if (w->count < w->starts_room) {
        return FAR_OK;
    }
    int64_t room = w->starts_room ? 2 * w->starts_room : FIRST_SLOTS / 2;
    far_status st = far_grow(w->ctx, w->count, room, &w->starts);
    if (st == FAR_OK) {
        w->starts_room = room;
    }
    return st;
}

far_status far_words_room(far_words *w, int64_t bytes, char **out)
{
    int64_t need = w->used + bytes + 1;
    far_status st = FAR_OK;
    if (need > w->capacity) {
        int64_t capacity = need < FIRST_TEXT ? FIRST_TEXT : 2 * need;
        FAR_TRY(far_grow(w->ctx, w->used, capacity, &w->text));
        w->capacity = capacity;
    }
    *out = w->text + w->used;
done:
    return st;
}

far_status far_words_add_room(far_words *w, int64_t length, int32_t *out)
{
    far_status st;
    char *text = w->text + w->used;
    text[length] = 0;
    FAR_TRY(grow_slots(w));
    int32_t *slot = &w->slots[find_slot(w, text)];
    if (!*slot) {
        if (w->count == INT32_MAX - 1) {
            return far_fail(w->ctx, FAR_ERR_MEMORY, "more than %d different words", INT32_MAX - 1);
        }
        FAR_TRY(grow_starts(w));
        w->starts[w->count++] = w->used;
        w->used += length + 1;
        *slot = (int32_t)w->count;
    }
    *out = *slot - 1;
done:
    return st;
}

far_status far_words_add(far_words *w, const char *text, int32_t *out)
{
    char *room;
    int64_t length = (int64_t)strlen(text);
    far_status st = far_words_room(w, length, &room);
    if (st != FAR_OK) {
        return st;
    }
    memcpy(room, text, (size_t)length);
    return far_words_add_room(w, length, out);
}

int64_t far_words_find(const far_words *w, const char *text)
{
    return w->slot_count ? w->slots[find_slot(w, text)] - 1 : -1;
}

/* ---- order ---- */

typedef struct entry {
    const char *text;
    int32_t number;
} entry;

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->text, ((const entry *)b)->text);
}

far_status far_words_order(const far_words *w, int32_t **out)
{
    far_status st;
    entry *entries = NULL;
    FAR_TRY(far_alloc(w->ctx, w->count, out));
    FAR_TRY(far_alloc(w->ctx, w->count, &entries));
    for (int64_t i = 0; i < w->count; i++) {
        entries[i] = (entry){far_words_text(w, i), (int32_t)i};
    }
    qsort(entries, (size_t)w->count, sizeof *entries, compare_entries);
    for (int64_t i = 0; i < w->count; i++) {
        (*out)[i] = entries[i].number;
    }
done:
    if (st != FAR_OK) {
        far_free(w->ctx, *out);
        *out = NULL;
    }
    far_free(w->ctx, entries);
    return st;
}

void far_words_clear(far_words *w)
{
    FAR_FREE_ALL(w->ctx, w->text, w->starts, w->slots);
    *w = (far_words){.ctx = w->ctx};
}
