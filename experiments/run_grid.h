/* Variants of a network times seeds, side by side, with what each run has found kept: an
 * interrupted experiment goes on with the runs that are missing. */
#ifndef FAR_EXPERIMENTS_RUN_GRID_H
#define FAR_EXPERIMENTS_RUN_GRID_H

#include "reproduce.h"

typedef struct run_grid {
    const char *name; /* runs are kept as NAME-VARIANT-SEED */
    int64_t variants, seeds;
    int64_t first;   /* variants before this one are not run; what they found stays 0 */
    int64_t epochs;  /* kept runs of another number do not count */
    int64_t numbers; /* that a run finds */
    double *found;   /* variants x seeds x numbers */
    bool alone;      /* one run at a time, with all threads: their times are measured */
} run_grid;

/* One run; r is its own, as in side_by_side. seed from 0. found: numbers of them, 0 so far. */
typedef far_status (*grid_job)(reproduction *r, int64_t variant, int64_t seed, double *found,
                               void *user);

/* what: for the progress bar. With --resume runs that are kept are not run again. */
far_status run_grid_all(reproduction *r, const char *what, const run_grid *g, grid_job run,
                        void *user);

#endif
