#define _GNU_SOURCE
#include "team.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The ticket: free items as bits, the number of the phase (so that a thread that comes late cannot
 * take an item of another phase), and two flags. */
#define ITEM_BITS 0xffffffffu
#define PHASE ((uint64_t)1 << 32)
#define PHASE_BITS (((uint64_t)1 << 62) - PHASE)
#define SOLO ((uint64_t)1 << 62)
#define OVER ((uint64_t)1 << 63)

#define SPINS 4000 /* some 50 microseconds */

void far_team_init(far_team *t, int count)
{
    t->count = count;
    atomic_init(&t->ticket, 0);
    atomic_init(&t->items, 0);
    atomic_init(&t->left, 0);
    atomic_init(&t->round, 0);
    atomic_init(&t->sleepers, 0);
    far_team_open(t, 1, true);
}

void far_team_open(far_team *t, int items, bool solo)
{
    uint64_t phase = (atomic_load(&t->ticket) + PHASE) & PHASE_BITS;
    uint64_t bits = ITEM_BITS >> (FAR_TEAM_ITEMS - (items > 0 ? items : 1));
    atomic_store(&t->items, items);
    atomic_store(&t->left, items);
    atomic_store(&t->ticket, items == 0 ? OVER : phase | bits | (solo ? SOLO : 0));
    atomic_fetch_add(&t->round, 1);
    if (atomic_load(&t->sleepers) > 0) {
        syscall(SYS_futex, &t->round, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}

static bool has_item(uint64_t ticket, int me)
{
    return (ticket & OVER) || ((ticket & ITEM_BITS) && (me == 0 || !(ticket & SOLO)));
}

/* The first free item from the thread's own share on. */
static int choose(uint32_t bits, int from)
{
    uint32_t after = bits >> from << from;
    return __builtin_ctz(after ? after : bits);
}

/* The kernel compares round before it sleeps, so that no phase is missed. */
static void sleep_until_opened(far_team *t, int me)
{
    int round = atomic_load(&t->round);
    atomic_fetch_add(&t->sleepers, 1);
    if (!has_item(atomic_load(&t->ticket), me)) {
        syscall(SYS_futex, &t->round, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
    }
    atomic_fetch_sub(&t->sleepers, 1);
}

static uint64_t wait_for_item(far_team *t, int me)
{
    for (;;) {
        for (int i = 0; i < SPINS; i++) {
            uint64_t ticket = atomic_load(&t->ticket);
            if (has_item(ticket, me)) {
                return ticket;
            }
            __builtin_ia32_pause();
        }
        sleep_until_opened(t, me);
    }
}

int far_team_take(far_team *t, int me)
{
    for (;;) {
        uint64_t ticket = wait_for_item(t, me);
        uint32_t bits = (uint32_t)(ticket & ITEM_BITS);
        if (ticket & OVER) {
            return -1;
        }
        int share = atomic_load(&t->items) * me / t->count;
        int item = choose(bits, share);
        if (atomic_compare_exchange_weak(&t->ticket, &ticket, ticket & ~((uint64_t)1 << item))) {
            return item;
        }
    }
}

bool far_team_finish(far_team *t)
{
    return atomic_fetch_sub(&t->left, 1) == 1;
}
