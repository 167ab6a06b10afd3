/* Progress and stopping, for one run or several side by side. */
#include "train_internal.h"

#include <math.h>
#include <stdio.h>

void far_watch_init(far_watch *w, far_ctx *ctx, double seconds, int64_t total)
{
    *w = (far_watch){.ctx = ctx, .seconds = seconds, .next = far_seconds(), .total = total};
    omp_init_lock(&w->lock);
}

void far_watch_clear(far_watch *w)
{
    omp_destroy_lock(&w->lock);
}

bool far_watch_due(const far_watch *w, double now)
{
    return now >= w->next;
}

void far_watch_report(far_watch *w, double loss)
{
    static _Thread_local char text[64]; /* the context keeps the pointer after the call */
    snprintf(text, sizeof text, isnan(loss) ? "train" : "train, loss %.4g", loss);
    omp_set_lock(&w->lock);
    far_status st = far_progress(w->ctx, text, atomic_load(&w->done), w->total);
    omp_unset_lock(&w->lock);
    w->next = far_seconds() + w->seconds;
    if (st != FAR_OK) {
        far_watch_fail(w, st);
    }
}

void far_watch_fail(far_watch *w, far_status status)
{
    int none = FAR_OK;
    atomic_compare_exchange_strong(&w->stop, &none, (int)status);
}
