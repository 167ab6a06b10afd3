/* Training as callers see it: options, one network, several side by side. */
#define _GNU_SOURCE
#include "train_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define LR_ADAM 1e-3
#define LR_OTHERS 1e-2
#define PI 3.14159265358979323846
#define WAIT_NANOSECONDS 5000000 /* of the calling thread, for those that still train */

void far_train_opts_init(far_train_opts *opts)
{
    *opts = (far_train_opts){.size = sizeof *opts,
                             .optimizer = FAR_OPTIMIZER_ADAM,
                             .loss = FAR_LOSS_MSE,
                             .lr = NAN,
                             .schedule = {.every = 1, .factor = 1},
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .epsilon = 1e-8,
                             .momentum = 0.9,
                             .epochs = 1000,
                             .stop_loss = NAN,
                             .dtype = FAR_F32,
                             .checkpoint_seconds = 10,
                             .progress_seconds = 0.2};
}

double far_train_rate(const far_train_opts *opts)
{
    bool adam = opts->optimizer == FAR_OPTIMIZER_ADAM || opts->optimizer == FAR_OPTIMIZER_ADAMW;
    double usual = adam ? LR_ADAM : LR_OTHERS;
    return isnan(opts->lr) ? usual : opts->lr;
}

double far_train_rate_at(const far_train_opts *opts, int64_t epoch)
{
    const far_schedule *s = &opts->schedule;
    double rate = far_train_rate(opts), part = (double)epoch / (double)opts->epochs;
    switch (s->kind) {
    case FAR_SCHEDULE_COSINE:
        return rate * (1 + cos(PI * part)) / 2;
    case FAR_SCHEDULE_LINEAR:
        return rate * (1 - part);
    case FAR_SCHEDULE_STEP:
        return rate * pow(s->factor, (double)(epoch / s->every));
    case FAR_SCHEDULE_CONSTANT:
        break;
    }
    return rate;
}

/* What is said of runs that never began. */
static void clear_results(far_train_result *results, int64_t count)
{
    for (int64_t i = 0; results && i < count; i++) {
        results[i] = (far_train_result){
            .first_loss = NAN, .loss = NAN, .final_loss = NAN, .val_loss = NAN, .best_loss = NAN};
    }
}

/* ---- options ------------------------------------------------------------------------------- */

static far_status check_kinds(far_ctx *ctx, const far_net *net, const far_train_opts *o)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
    }
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_train_opts_init first");
    }
    if (o->optimizer < FAR_OPTIMIZER_ADAM || o->optimizer > FAR_OPTIMIZER_ADAMW) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: optimizer %d is no far_optimizer",
                        (int)o->optimizer);
    }
    if (o->loss < FAR_LOSS_MSE || o->loss > FAR_LOSS_CE) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: loss %d is no far_loss", (int)o->loss);
    }
    if (o->dtype != FAR_F32 && o->dtype != FAR_F64) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: dtype %d is no far_dtype", (int)o->dtype);
    }
    if (o->schedule.kind < FAR_SCHEDULE_CONSTANT || o->schedule.kind > FAR_SCHEDULE_STEP) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: schedule %d is no far_schedule_kind",
                        (int)o->schedule.kind);
    }
    if (o->next ? o->val_y != NULL : !o->val_x != !o->val_y) {
        return far_fail(ctx, FAR_ERR_ARG,
                        o->next ? "opts: val_y does not go with next, which takes targets from x"
                                : "opts: val_x and val_y go together");
    }
    if (o->patience && !o->val_x) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: patience needs validation rows, val_x and val_y");
    }
    if (o->resume && (!o->checkpoint || !*o->checkpoint)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: to resume, name the checkpoint");
    }
    return FAR_OK;
}

typedef struct limits {
    const char *name;
    double value, from, to; /* from <= value < to */
    const char *rule;
} limits;

static far_status check_numbers(far_ctx *ctx, const far_train_opts *o)
{
    double smallest = nextafter(0, 1);
    bool step = o->schedule.kind == FAR_SCHEDULE_STEP;
    const limits all[] = {
        {"lr", isnan(o->lr) ? LR_ADAM : o->lr, smallest, INFINITY, "above 0"},
        {"beta1", o->beta1, 0, 1, "at least 0 and below 1"},
        {"beta2", o->beta2, 0, 1, "at least 0 and below 1"},
        {"epsilon", o->epsilon, 0, INFINITY, "at least 0"},
        {"momentum", o->momentum, 0, 1, "at least 0 and below 1"},
        {"epochs", (double)o->epochs, 0, INFINITY, "at least 0"},
        {"batch", (double)o->batch, 0, INFINITY, "at least 1, or 0 for all rows"},
        {"l2_to_init", o->l2_to_init, 0, INFINITY, "at least 0"},
        {"weight_decay", o->weight_decay, 0, INFINITY, "at least 0"},
        {"patience", (double)o->patience, 0, INFINITY, "at least 0"},
        {"schedule.every", step ? (double)o->schedule.every : 1, 1, INFINITY, "at least 1"},
        {"schedule.factor", step ? o->schedule.factor : 1, smallest, nextafter(1, 2),
         "above 0 and at most 1"},
        {"stop_loss", isnan(o->stop_loss) ? 0 : o->stop_loss, 0, INFINITY, "at least 0"},
        {"checkpoint_seconds", o->checkpoint_seconds, 0, INFINITY, "at least 0"},
        {"progress_seconds", o->progress_seconds, 0, INFINITY, "at least 0"},
        {"callback_every", o->callback ? (double)o->callback_every : 1, 1, INFINITY, "at least 1"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!(all[i].value >= all[i].from && all[i].value < all[i].to)) {
            return far_fail(ctx, FAR_ERR_ARG, "opts: %s is %g; it must be %s", all[i].name,
                            all[i].value, all[i].rule);
        }
    }
    return FAR_OK;
}

static far_status check_layers(far_ctx *ctx, const far_net *net, const unsigned char *layers)
{
    bool any = !layers;
    for (int64_t i = 0; i < net->info.layers && !any; i++) {
        any = layers[i];
    }
    if (!any || net->info.parameters == 0) {
        return far_fail(ctx, FAR_ERR_ARG,
                        any ? "the network has no parameters to train"
                            : "opts: layers chooses none of the %lld layers",
                        (long long)net->info.layers);
    }
    return FAR_OK;
}

/* Options as they are used: everything left open is filled in. */
static far_status settle_opts(far_ctx *ctx, const far_net *net, const far_train_opts *opts,
                              int64_t rows, far_train_opts *out)
{
    far_status st = FAR_OK;
    *out = *opts;
    FAR_TRY(check_layers(ctx, net, opts->layers));
    if (opts->optimizer == FAR_OPTIMIZER_GD && opts->batch != 0 && opts->batch < rows) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "opts: gd takes all rows at every step; for minibatches of %lld use sgd",
                        (long long)opts->batch);
    }
    out->lr = far_train_rate(opts);
    if (opts->batch == 0 || opts->batch > rows) {
        out->batch = rows;
    }
done:
    return st;
}

/* ---- one run ------------------------------------------------------------------------------- */

/* What several calls below need. */
typedef struct job {
    far_ctx *ctx;
    far_train_data data, val; /* val: no rows where there is no validation */
    far_train_opts opts;
    far_watch watch;
} job;

static far_status open_job(job *j, far_ctx *ctx, const far_net *net, const far_mat *x,
                           const far_mat *y, const far_train_opts *opts, int64_t networks,
                           bool checkpoints)
{
    far_status st = FAR_OK;
    *j = (job){.ctx = ctx};
    far_watch_init(&j->watch, ctx, opts->progress_seconds, networks * opts->epochs);
    FAR_TRY(far_train_data_create(ctx, net, x, y, opts, checkpoints, &j->data));
    if (opts->val_x) {
        FAR_TRY(
            far_train_data_create(ctx, net, opts->val_x, opts->val_y, opts, checkpoints, &j->val));
    }
    FAR_TRY(settle_opts(ctx, net, opts, j->data.rows, &j->opts));
done:
    return st;
}

static void close_job(job *j)
{
    far_watch_clear(&j->watch);
    far_train_data_clear(&j->data);
    far_train_data_clear(&j->val);
}

/* Of the epochs to come. */
static void clear_history(far_run *r)
{
    for (int64_t i = (int64_t)r->state.epoch; i < r->opts.epochs; i++) {
        if (r->history) {
            r->history[i] = NAN;
        }
        if (r->val_history) {
            r->val_history[i] = NAN;
        }
    }
}

/* opts: those of the job, with seed, checkpoint and history of this network. */
static far_status open_run(job *j, far_net *net, const far_train_opts *opts, int threads,
                           far_run **out)
{
    far_status st = FAR_OK;
    far_run *r = NULL;
    *out = NULL;
    if (opts->checkpoint && !opts->resume) {
        FAR_TRY(far_checkpoint_check_place(j->ctx, opts->checkpoint));
    }
    FAR_TRY(far_run_create(j->ctx, net, &j->data, &j->val, opts, threads, &j->watch, &r));
    if (opts->resume) {
        FAR_TRY(far_checkpoint_load(r));
    }
    if (r->linearizes) {
        FAR_TRY(far_net_linearize(j->ctx, net));
    }
    clear_history(r);
    r->resumed_at = (int64_t)r->state.epoch;
    atomic_fetch_add(&j->watch.done, r->resumed_at);
    *out = r;
    r = NULL;
done:
    far_run_destroy(r);
    return st;
}

static void work_together(far_run *r)
{
    far_team team;
    r->reports = true;
    do {
#pragma omp parallel num_threads(r->hand_count)
        {
#pragma omp single
            far_team_init(&team, omp_get_num_threads());
            far_run_work(r, &team, omp_get_thread_num());
        }
    } while (far_run_attend(r));
}

/* Until the end, or until the caller's callback is due. */
static void work_alone(far_run *r, bool reports)
{
    far_team team;
    r->reports = reports;
    far_team_init(&team, 1);
    far_run_work(r, &team, 0);
}

static void leave(far_run *r, far_train_result *result)
{
    far_run_deliver(r);
    if (result) {
        far_run_result(r, result);
    }
}

static far_status fail_cancelled(const job *j, const char *checkpoint)
{
    bool kept = checkpoint && *checkpoint;
    return far_fail(j->ctx, FAR_ERR_CANCELLED, "training cancelled after %lld of %lld epochs%s%s",
                    (long long)atomic_load(&j->watch.done), (long long)j->watch.total,
                    kept ? "; to resume, there is " : "", kept ? checkpoint : "");
}

/* ---- one network --------------------------------------------------------------------------- */

static far_status settle_checkpoint(far_run *r)
{
    if (r->opts.keep_checkpoint && r->opts.checkpoint) {
        return far_checkpoint_save(r);
    }
    far_checkpoint_remove(r->opts.checkpoint);
    return FAR_OK;
}

static far_status finish_one(job *j, far_run *r, far_train_result *result)
{
    far_status st = (far_status)atomic_load(&j->watch.stop);
    bool diverged = r->end == FAR_TRAIN_DIVERGED;
    if (st == FAR_OK && !diverged) {
        far_watch_report(&j->watch, r->state.loss);
        st = settle_checkpoint(r); /* it holds the last parameters; the network gets the best */
    }
    leave(r, result);
    if (st == FAR_ERR_CANCELLED) {
        return fail_cancelled(j, r->opts.checkpoint);
    }
    return diverged ? far_run_fail_diverged(r) : st;
}

far_status far_net_train(far_ctx *ctx, far_net *net, const far_mat *x, const far_mat *y,
                         const far_train_opts *opts, far_train_result *result)
{
    job j;
    far_run *r = NULL;
    clear_results(result, 1);
    far_status st = check_kinds(ctx, net, opts);
    if (st == FAR_OK) {
        st = check_numbers(ctx, opts);
    }
    if (st != FAR_OK) {
        return st;
    }
    FAR_TRY(open_job(&j, ctx, net, x, y, opts, 1, opts->checkpoint));
    FAR_TRY(open_run(&j, net, &j.opts, far_ctx_threads(ctx), &r));
    work_together(r);
    st = finish_one(&j, r, result);
done:
    far_run_destroy(r);
    close_job(&j);
    return st;
}

/* ---- many ---------------------------------------------------------------------------------- */

typedef struct crowd {
    job job;
    far_net **nets;
    int64_t count;
    const uint64_t *seeds;
    const char *const *checkpoints;
    far_train_result *results;
    _Atomic int64_t next;
    _Atomic int busy; /* threads that train */
} crowd;

static far_train_opts own_opts(const crowd *c, int64_t i)
{
    far_train_opts o = c->job.opts;
    o.checkpoint = c->checkpoints ? c->checkpoints[i] : NULL;
    o.seed = c->seeds ? c->seeds[i] : o.seed;
    o.history = o.history ? o.history + i * o.epochs : NULL;
    o.val_history = o.val_history ? o.val_history + i * o.epochs : NULL;
    o.resume = o.resume && o.checkpoint && far_checkpoint_exists(o.checkpoint);
    return o;
}

/* A network that is done keeps a checkpoint as long as others are not: the whole call can be
 * resumed. */
static far_status finish_of_many(crowd *c, far_run *r, int64_t i)
{
    bool keeps = far_run_is_done(r) && r->opts.checkpoint;
    far_status st = keeps ? far_checkpoint_save(r) : FAR_OK;
    leave(r, c->results ? &c->results[i] : NULL);
    return st;
}

static void train_of_many(crowd *c, int64_t i, int threads, bool reports)
{
    far_run *r = NULL;
    far_watch *w = &c->job.watch;
    far_train_opts opts = own_opts(c, i);
    omp_set_lock(&w->lock);
    far_status st = open_run(&c->job, c->nets[i], &opts, threads, &r);
    omp_unset_lock(&w->lock);
    if (st == FAR_OK) {
        r->network = i;
        if (threads > 1) {
            work_together(r);
        } else {
            do {
                work_alone(r, reports);
            } while (far_run_attend(r));
        }
    }
    omp_set_lock(&w->lock);
    if (st == FAR_OK) {
        st = finish_of_many(c, r, i);
    }
    far_run_destroy(r);
    omp_unset_lock(&w->lock);
    if (st != FAR_OK) {
        far_watch_fail(w, st);
    }
}

/* Only the calling thread may report. */
static void await_others(crowd *c)
{
    const struct timespec nap = {.tv_nsec = WAIT_NANOSECONDS};
    while (atomic_load(&c->busy) > 0) {
        nanosleep(&nap, NULL);
        if (!atomic_load(&c->job.watch.stop) && far_watch_due(&c->job.watch, far_seconds())) {
            far_watch_report(&c->job.watch, NAN);
        }
    }
}

static void train_queue(crowd *c, int threads, bool reports)
{
    for (int64_t i; !atomic_load(&c->job.watch.stop) && (i = c->next++) < c->count;) {
        train_of_many(c, i, threads, reports);
    }
}

static void train_side_by_side(crowd *c, int threads)
{
    atomic_store(&c->busy, 0);
#pragma omp parallel num_threads(threads)
    {
        bool calling = omp_get_thread_num() == 0;
        atomic_fetch_add(&c->busy, calling ? 0 : 1);
#pragma omp barrier
        train_queue(c, 1, calling);
        if (calling) {
            await_others(c);
        } else {
            atomic_fetch_sub(&c->busy, 1);
        }
    }
}

/* ---- many, with a watch -------------------------------------------------------------------- */

/* The watch wants all threads, so networks go from one call to the next together: each has a seat,
 * which another one takes when it is done. */

static void take_seat(crowd *c, far_run **seat)
{
    int64_t i = c->next++;
    far_train_opts opts = own_opts(c, i);
    far_status st = open_run(&c->job, c->nets[i], &opts, 1, seat);
    if (st == FAR_OK) {
        (*seat)->network = i;
    } else {
        far_watch_fail(&c->job.watch, st);
    }
}

static int take_seats(crowd *c, far_run **seats, int count)
{
    int taken = 0;
    for (int k = 0; k < count; k++) {
        if (!seats[k] && c->next < c->count && !atomic_load(&c->job.watch.stop)) {
            take_seat(c, &seats[k]);
        }
        taken += seats[k] != NULL;
    }
    return taken;
}

static void leave_seat(crowd *c, far_run **seat)
{
    far_status st = finish_of_many(c, *seat, (*seat)->network);
    if (st != FAR_OK) {
        far_watch_fail(&c->job.watch, st);
    }
    far_run_destroy(*seat);
    *seat = NULL;
}

/* The first seat is the calling thread's, which alone reports: it must not be free. */
static void close_ranks(far_run **seats, int count)
{
    int taken = 0;
    for (int k = 0; k < count; k++) {
        far_run *r = seats[k];
        seats[k] = NULL;
        seats[taken] = r;
        taken += r != NULL;
    }
}

static void train_round(far_run **seats, int count)
{
#pragma omp parallel for num_threads(count) schedule(static, 1)
    for (int k = 0; k < count; k++) {
        if (seats[k]) {
            work_alone(seats[k], k == 0);
        }
    }
}

static void train_in_rounds(crowd *c, int threads)
{
    far_run **seats = NULL;
    far_status st = far_alloc(c->job.ctx, threads, &seats);
    if (st != FAR_OK) {
        far_watch_fail(&c->job.watch, st);
        return;
    }
    memset(seats, 0, (size_t)threads * sizeof *seats);
    while (take_seats(c, seats, threads) > 0) {
        train_round(seats, threads);
        for (int k = 0; k < threads; k++) {
            if (seats[k] && !far_run_attend(seats[k])) {
                leave_seat(c, &seats[k]);
            }
        }
        close_ranks(seats, threads);
    }
    far_free(c->job.ctx, seats);
}

static far_status check_same(far_ctx *ctx, far_net *const *nets, int64_t i)
{
    const far_net *a = nets[0], *b = nets[i];
    if (!b) {
        return far_fail(ctx, FAR_ERR_ARG, "network %lld is NULL", (long long)i + 1);
    }
    if (strcmp(a->text, b->text) != 0 || a->info.inputs != b->info.inputs ||
        a->info.param != b->info.param) {
        return far_fail(ctx, FAR_ERR_ARG, "networks 1 and %lld differ in their architecture",
                        (long long)i + 1);
    }
    for (int64_t k = 0; k < i; k++) {
        if (nets[k] == b) {
            return far_fail(ctx, FAR_ERR_ARG, "networks %lld and %lld are the same one",
                            (long long)k + 1, (long long)i + 1);
        }
    }
    return FAR_OK;
}

static far_status check_resumable(const crowd *c, const far_train_opts *opts)
{
    bool any = !opts->resume;
    for (int64_t i = 0; i < c->count && !any; i++) {
        any = c->checkpoints && c->checkpoints[i] && far_checkpoint_exists(c->checkpoints[i]);
    }
    return any ? FAR_OK
               : far_fail(c->job.ctx, FAR_ERR_IO,
                          "none of the networks has a checkpoint to resume");
}

static far_status check_crowd(far_ctx *ctx, const crowd *c, const far_train_opts *opts)
{
    far_status st = FAR_OK;
    if (!opts || c->count < 1 || !c->nets || !c->nets[0]) {
        return far_fail(ctx, FAR_ERR_ARG, !opts ? "opts is NULL" : "there is no network to train");
    }
    if (opts->checkpoint) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: name one checkpoint a network, in checkpoints");
    }
    far_train_opts plain = *opts;
    plain.resume = 0;
    FAR_TRY(check_kinds(ctx, c->nets[0], &plain));
    FAR_TRY(check_numbers(ctx, opts));
    for (int64_t i = 0; i < c->count; i++) {
        FAR_TRY(check_same(ctx, c->nets, i));
    }
done:
    return st;
}

static far_status finish_many(crowd *c)
{
    far_status st = (far_status)atomic_load(&c->job.watch.stop);
    if (st == FAR_ERR_CANCELLED) {
        return fail_cancelled(&c->job, NULL);
    }
    bool remove = st == FAR_OK && c->checkpoints && !c->job.opts.keep_checkpoint;
    for (int64_t i = 0; remove && i < c->count; i++) {
        far_checkpoint_remove(c->checkpoints[i]);
    }
    if (st == FAR_OK) {
        far_watch_report(&c->job.watch, NAN);
    }
    return st;
}

far_status far_net_train_many(far_ctx *ctx, far_net **nets, int64_t count, const far_mat *x,
                              const far_mat *y, const far_train_opts *opts, const uint64_t *seeds,
                              const char *const *checkpoints, far_train_result *results)
{
    int threads = far_ctx_threads(ctx);
    crowd c = {.nets = nets,
               .count = count,
               .seeds = seeds,
               .checkpoints = checkpoints,
               .results = results};
    clear_results(results, count);
    far_status st = check_crowd(ctx, &c, opts);
    if (st != FAR_OK) {
        return st;
    }
    FAR_TRY(open_job(&c.job, ctx, nets[0], x, y, opts, count, checkpoints));
    FAR_TRY(check_resumable(&c, opts));
    if (opts->callback && count >= threads && threads > 1) {
        train_in_rounds(&c, threads);
    } else if (count >= threads && threads > 1) {
        train_side_by_side(&c, threads);
    } else {
        train_queue(&c, threads, true);
    }
    st = finish_many(&c);
done:
    close_job(&c.job);
    return st;
}
