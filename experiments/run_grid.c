#define _GNU_SOURCE
#include "run_grid.h"
#include "kept.h"
#include "side_by_side.h"

#include <stdlib.h>

typedef struct crew {
    const run_grid *g;
    grid_job run;
    void *user;
} crew;

static far_status do_run(reproduction *r, int64_t job, void *user)
{
    const crew *c = user;
    const run_grid *g = c->g;
    int64_t run = g->first * g->seeds + job, variant = run / g->seeds, seed = run % g->seeds;
    double *found = g->found + run * g->numbers;
    char *name = text_of("%s-%lld-%lld", g->name, (long long)variant, (long long)seed);
    char *note = text_of("%lld epochs", (long long)g->epochs);
    far_status st = FAR_OK;
    if (!take_kept_numbers(r, name, note, found, g->numbers)) {
        TRY(c->run(r, variant, seed, found, c->user));
        TRY(keep_numbers_of(r, name, note, found, g->numbers));
    }
done:
    FREE(name, note);
    return st;
}

far_status run_grid_all(reproduction *r, const char *what, const run_grid *g, grid_job run,
                        void *user)
{
    crew c = {g, run, user};
    int64_t jobs = (g->variants - g->first) * g->seeds;
    far_status st = FAR_OK;
    if (!g->alone) {
        return side_by_side(r, what, jobs, do_run, &c);
    }
    for (int64_t i = 0; i < jobs && st == FAR_OK; i++) {
        st = do_run(r, i, &c);
    }
    return st;
}
