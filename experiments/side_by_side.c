#define _GNU_SOURCE
#include "side_by_side.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 1000 }; /* of a piece, for the progress bar */

typedef struct crew {
    reproduction *r;
    side_job run;
    void *user;
    int64_t jobs, workers;
    int threads; /* of each */
    atomic_llong next, finished;
    atomic_bool stop;
    pthread_mutex_t lock; /* of status, running and r->message */
    pthread_cond_t left;
    far_status status;
    int64_t running;
} crew;

typedef struct worker {
    crew *crew;
    pthread_t thread;
    atomic_llong parts; /* done of the present piece */
} worker;

/* ---- a worker ------------------------------------------------------------------------------ */

static int report_parts(void *user, const char *what, int64_t done, int64_t total)
{
    worker *w = user;
    (void)what;
    atomic_store(&w->parts, total > 0 ? done * PARTS / total : 0);
    return atomic_load(&w->crew->stop);
}

static void keep_failure(crew *c, far_status st, const char *message)
{
    pthread_mutex_lock(&c->lock);
    if (c->status == FAR_OK) {
        c->status = st;
        strncpy(c->r->message, message, sizeof c->r->message - 1);
    }
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->stop, true);
}

static far_status open_context(worker *w, far_ctx **ctx)
{
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = w->crew->threads;
    opts.progress = report_parts;
    opts.progress_user = w;
    return far_ctx_create(&opts, ctx);
}

static void do_jobs(worker *w, far_ctx *ctx)
{
    crew *c = w->crew;
    for (int64_t job; !atomic_load(&c->stop) && (job = atomic_fetch_add(&c->next, 1)) < c->jobs;) {
        reproduction mine = *c->r;
        mine.ctx = ctx;
        mine.message[0] = 0;
        far_status st = c->run(&mine, job, c->user);
        if (st != FAR_OK) {
            keep_failure(c, st, reproduction_message(&mine));
        }
        atomic_store(&w->parts, 0);
        atomic_fetch_add(&c->finished, 1);
    }
}

static void *work(void *user)
{
    worker *w = user;
    far_ctx *ctx = NULL;
    far_status st = open_context(w, &ctx);
    if (st == FAR_OK) {
        do_jobs(w, ctx);
    } else {
        keep_failure(w->crew, st, "out of memory");
    }
    far_ctx_destroy(ctx);
    pthread_mutex_lock(&w->crew->lock);
    w->crew->running--;
    pthread_cond_signal(&w->crew->left);
    pthread_mutex_unlock(&w->crew->lock);
    return NULL;
}

/* ---- the one who waits --------------------------------------------------------------------- */

static void wait_a_moment(crew *c)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&c->left, &c->lock, &until);
}

static void show_progress(crew *c, const worker *workers, const char *what)
{
    int64_t done = atomic_load(&c->finished) * PARTS;
    for (int64_t i = 0; i < c->workers; i++) {
        done += atomic_load(&workers[i].parts);
    }
    if (c->r->progress && c->r->progress(c->r->progress_user, what, done, c->jobs * PARTS)) {
        atomic_store(&c->stop, true);
    }
}

static void wait_for_all(crew *c, const worker *workers, const char *what)
{
    pthread_mutex_lock(&c->lock);
    while (c->running > 0) {
        wait_a_moment(c);
        pthread_mutex_unlock(&c->lock);
        show_progress(c, workers, what);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

static void start_workers(crew *c, worker *workers)
{
    for (int64_t i = 0; i < c->workers; i++) {
        workers[i].crew = c;
        pthread_mutex_lock(&c->lock);
        c->running++;
        pthread_mutex_unlock(&c->lock);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            pthread_mutex_lock(&c->lock);
            c->running--;
            pthread_mutex_unlock(&c->lock);
            keep_failure(c, FAR_ERR_MEMORY, "cannot start a thread");
            c->workers = i;
        }
    }
}

far_status side_by_side(reproduction *r, const char *what, int64_t jobs, side_job run, void *user)
{
    int threads = far_ctx_threads(r->ctx);
    int64_t count = jobs < threads ? jobs : threads;
    crew c = {.r = r, .run = run, .user = user, .jobs = jobs, .workers = count};
    worker *workers = ROOM(count, worker);
    c.threads = count > 0 ? (int)(threads / count) : 1;
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.left, NULL);
    start_workers(&c, workers);
    wait_for_all(&c, workers, what);
    for (int64_t i = 0; i < c.workers; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    pthread_cond_destroy(&c.left);
    pthread_mutex_destroy(&c.lock);
    free(workers);
    /* Stopped between two pieces, none of them has anything to say. */
    return c.status == FAR_OK && atomic_load(&c.stop) ? FAR_ERR_CANCELLED : c.status;
}
