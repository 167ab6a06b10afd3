/* The caller's callback: when it is due, and what it is told. */
#include "train_internal.h"

#include <math.h>

bool far_run_is_moment(const far_run *r)
{
    int64_t steps = (int64_t)r->state.steps;
    return r->opts.callback && steps != r->seen && steps % r->opts.callback_every == 0;
}

static far_train_moment moment_of(const far_run *r, far_moment_kind kind)
{
    return (far_train_moment){.kind = kind,
                              .network = r->network,
                              .step = (int64_t)r->state.steps,
                              .epoch = (int64_t)r->state.epoch,
                              .loss = NAN};
}

static void call(far_run *r, const far_train_moment *m)
{
    far_status st = r->opts.callback(r->ctx, r->opts.callback_user, m);
    if (st != FAR_OK) {
        far_watch_fail(r->watch, st);
    }
}

/* What it computes has no progress of its own, but can be cancelled. */
static void look(far_run *r, double loss, bool last)
{
    far_train_moment m = moment_of(r, FAR_MOMENT_STEP);
    m.last = last;
    m.loss = loss;
    far_run_store(r);
    m.net = r->net;
    far_progress_hold(r->ctx);
    call(r, &m);
    far_progress_release(r->ctx);
}

bool far_run_attend(far_run *r)
{
    bool done = r->end == FAR_TRAIN_EPOCHS || r->end == FAR_TRAIN_STOP_LOSS;
    bool last = r->ended && r->settled && done, looking = r->looking;
    double loss = last ? r->final_loss : r->present;
    if (!r->opts.callback || !(looking || last)) {
        return false;
    }
    if (isfinite(loss) && !atomic_load(&r->watch->stop)) {
        look(r, loss, last);
    }
    r->seen = (int64_t)r->state.steps;
    r->looking = false;
    r->phase = FAR_PHASE_AGAIN;
    return !last;
}

void far_run_tell_save(far_run *r)
{
    if (r->opts.callback) {
        far_train_moment m = moment_of(r, FAR_MOMENT_SAVE);
        call(r, &m);
    }
}
