/* The caller's callback: when it is due, and what it is told. */
#include "train_internal.h"

#include <math.h>

bool far_run_is_moment(const far_run *r)
{
    int64_t steps = (int64_t)r->state.steps;
    return r->opts.callback && steps != r->seen && steps % r->opts.callback_every == 0;
}

static double relative_rate(const far_run *r, int64_t epoch)
{
    return far_train_rate_at(&r->opts, epoch) / r->opts.lr;
}

/* The sum of the rates of the steps so far. */
static double time_of(const far_run *r)
{
    int64_t epoch = (int64_t)r->state.epoch;
    double sum = 0;
    if (r->opts.schedule.kind == FAR_SCHEDULE_CONSTANT) {
        return r->state.steps;
    }
    for (int64_t e = 0; e < epoch; e++) {
        sum += relative_rate(r, e) * (double)r->batch_count;
    }
    return r->state.step > 0 ? sum + relative_rate(r, epoch) * r->state.step : sum;
}

static far_train_moment moment_of(const far_run *r, far_moment_kind kind)
{
    int64_t epoch = (int64_t)r->state.epoch;
    bool between = r->state.step == 0 && epoch > 0;
    return (far_train_moment){.kind = kind,
                              .network = r->network,
                              .step = (int64_t)r->state.steps,
                              .epoch = epoch,
                              .loss = NAN,
                              .rate = relative_rate(r, between ? epoch - 1 : epoch),
                              .time = time_of(r)};
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
    if (last) {
        far_run_deliver(r);
    } else {
        far_run_store(r);
    }
    m.net = r->net;
    far_progress_hold(r->ctx);
    call(r, &m);
    far_progress_release(r->ctx);
}

bool far_run_attend(far_run *r)
{
    bool last = far_run_is_done(r) && r->settled, looking = r->looking;
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
