/*
 * Jobs side by side: each runs on one thread with a context of its own.
 *
 * Small factors do not feed two cores, many of them at once do. A job sees the caller's allocator
 * (behind a lock: it need not know of threads) and its progress (called by the calling thread
 * alone, which takes part in the work); what it made may be freed with the caller's context.
 */
#include "base_internal.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct worker {
    far_crew *crew;
    far_ctx *ctx;
    int64_t job;
} worker;

struct far_crew {
    far_ctx *ctx;
    far_ctx_opts caller; /* whose allocator it is */
    pthread_mutex_t lock;
    worker *workers;
    int64_t count;
    _Atomic int64_t failed; /* the first job that failed; later ones are given up */
    _Atomic bool cancelled;
    far_status status; /* of that job, and what it said */
    char message[FAR_MESSAGE_BYTES];
};

static void *alloc_locked(void *user, size_t bytes)
{
    far_crew *c = user;
    pthread_mutex_lock(&c->lock);
    void *block = c->caller.alloc(c->caller.alloc_user, bytes);
    pthread_mutex_unlock(&c->lock);
    return block;
}

static void free_locked(void *user, void *ptr, size_t bytes)
{
    far_crew *c = user;
    pthread_mutex_lock(&c->lock);
    c->caller.free(c->caller.alloc_user, ptr, bytes);
    pthread_mutex_unlock(&c->lock);
}

/* Nonzero gives the job up: the caller said so, or one before it has failed. */
static int hear(void *user, const char *what, int64_t done, int64_t total)
{
    worker *w = user;
    far_crew *c = w->crew;
    if (omp_get_thread_num() == 0 && !c->cancelled &&
        far_progress(c->ctx, what, done, total) != FAR_OK) {
        c->cancelled = true;
    }
    return c->cancelled || w->job > c->failed;
}

far_status far_crew_create(far_ctx *ctx, far_crew **out)
{
    far_status st;
    far_crew *c;
    *out = NULL;
    st = far_alloc(ctx, 1, &c);
    if (st != FAR_OK) {
        return st;
    }
    c->ctx = ctx;
    c->caller = far_ctx_options(ctx);
    pthread_mutex_init(&c->lock, NULL);
    int threads = far_ctx_threads(ctx) > 1 ? far_ctx_threads(ctx) : 0; /* one needs nobody */
    FAR_TRY(far_alloc(ctx, threads, &c->workers));
    far_ctx_opts own = c->caller;
    own.threads = 1;
    own.protect_inputs = 0;
    own.progress = hear;
    if (c->caller.alloc) { /* the C library's needs no lock */
        own.alloc = alloc_locked;
        own.free = free_locked;
        own.alloc_user = c;
    }
    for (int i = 0; i < threads; i++) {
        worker *w = &c->workers[c->count];
        w->crew = c;
        own.progress_user = w;
        st = far_ctx_create(&own, &w->ctx);
        FAR_TRY(st == FAR_OK ? st : far_fail(ctx, st, "out of memory for a thread's context"));
        c->count++;
    }
done:
    FAR_HAND_OVER(c, out, far_crew_destroy);
    return st;
}

void far_crew_destroy(far_crew *c)
{
    if (c) {
        far_ctx *ctx = c->ctx;
        for (int64_t i = 0; i < c->count; i++) {
            far_ctx_destroy(c->workers[i].ctx);
        }
        far_free(ctx, c->workers);
        pthread_mutex_destroy(&c->lock);
        far_free(ctx, c);
    }
}

static void note_failure(far_crew *c, const worker *w, far_status st)
{
    pthread_mutex_lock(&c->lock);
    if (w->job < c->failed) {
        c->failed = w->job;
        c->status = st;
        snprintf(c->message, sizeof c->message, "%s", far_ctx_message(w->ctx));
    }
    pthread_mutex_unlock(&c->lock);
}

static far_status run_alone(far_crew *c, int64_t count, far_job *job, void *data)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        st = job(c->ctx, data, i);
    }
    return st;
}

far_status far_crew_run(far_crew *c, int64_t count, int64_t most, far_job *job, void *data)
{
    int threads = (int)far_least(far_least(count, c->count), most);
    if (threads <= 1) {
        return run_alone(c, count, job, data);
    }
    c->failed = count;
    c->cancelled = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++) {
        worker *w = &c->workers[omp_get_thread_num()];
        w->job = i;
        far_status st = c->cancelled || i > c->failed ? FAR_OK : job(w->ctx, data, i);
        if (st != FAR_OK) {
            note_failure(c, w, st);
        }
    }
    if (c->cancelled) {
        return FAR_ERR_CANCELLED; /* far_progress has said so to the caller's context */
    }
    return c->failed < count ? far_fail(c->ctx, c->status, "%s", c->message) : FAR_OK;
}
