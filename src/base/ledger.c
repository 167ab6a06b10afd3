/* Which files a context has read and is to write: no output may replace an input. */
#include "base_internal.h"

#define FIRST_CAPACITY 16

typedef struct entry {
    far_file_id id;
    far_file_role role;
} entry;

struct far_ledger {
    entry *items;
    int64_t count, capacity;
};

static bool is_same(const far_file_id *a, const far_file_id *b)
{
    return a->device == b->device && a->inode == b->inode && a->name == b->name;
}

far_file_role far_ledger_find(const far_ledger *ledger, far_file_id id)
{
    for (int64_t i = 0; ledger && i < ledger->count; i++) {
        if (is_same(&ledger->items[i].id, &id)) {
            return ledger->items[i].role;
        }
    }
    return FAR_FILE_FREE;
}

far_status far_ledger_mark(far_ctx *ctx, far_ledger **ledger, far_file_id id, far_file_role role)
{
    far_status st = FAR_OK;
    if (far_ledger_find(*ledger, id) != FAR_FILE_FREE) {
        return FAR_OK; /* the first role stays */
    }
    if (!*ledger) {
        FAR_TRY(far_alloc(ctx, 1, ledger));
    }
    far_ledger *l = *ledger;
    if (l->count == l->capacity) {
        int64_t capacity = l->capacity > 0 ? 2 * l->capacity : FIRST_CAPACITY;
        FAR_TRY(far_grow(ctx, l->count, capacity, &l->items));
        l->capacity = capacity;
    }
    l->items[l->count++] = (entry){id, role};
done:
    return st;
}

void far_ledger_free(far_ctx *ctx, far_ledger *ledger)
{
    if (ledger) {
        far_free(ctx, ledger->items);
        far_free(ctx, ledger);
    }
}
