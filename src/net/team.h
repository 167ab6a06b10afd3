/*
 * Threads that go through phases together. A phase is some items, each taken by one thread; whoever
 * finishes the last one opens the next phase. Steps of training take less than a millisecond, so
 * waiting threads spin for a while before they sleep; and nobody waits for a thread without an
 * item, which may be one that the system has put aside.
 */
#ifndef FAR_NET_TEAM_H
#define FAR_NET_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAR_TEAM_ITEMS 32 /* the most in a phase */

typedef struct far_team {
    int count;
    _Atomic uint64_t ticket; /* which items are free, and in which phase; see team.c */
    _Atomic int items;       /* of the phase */
    _Atomic int left;        /* of them not finished */
    _Atomic int round, sleepers;
} far_team;

/* Starts with a phase of one item, for the first thread. */
void far_team_init(far_team *t, int count);
/* By the thread that finished the last item. solo: only the first thread may take them. No items:
 * the work is over. */
void far_team_open(far_team *t, int items, bool solo);
/* Waits for an item; every thread begins with its own share of them. -1: the work is over. */
int far_team_take(far_team *t, int me);
/* Whether it was the last item of its phase. */
bool far_team_finish(far_team *t);

#endif
