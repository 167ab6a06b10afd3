/* Independent pieces of work on several threads. */
#ifndef FAR_EXPERIMENTS_SIDE_BY_SIDE_H
#define FAR_EXPERIMENTS_SIDE_BY_SIDE_H

#include "reproduce.h"

/* One piece, from 0. r is a copy for this piece alone: its context uses one thread (or more, where
 * there are fewer pieces than threads), and its message is the one that counts if the piece fails.
 */
typedef far_status (*side_job)(reproduction *r, int64_t job, void *user);

/* Runs all pieces, in the order of their numbers as threads become free. The first failure (or
 * Ctrl-C) stops the others at their next call of progress and is what comes back. what: for the
 * progress bar, which counts pieces in thousandths. */
far_status side_by_side(reproduction *r, const char *what, int64_t jobs, side_job run, void *user);

#endif
