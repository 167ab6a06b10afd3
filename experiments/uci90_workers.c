/*
 * Sets side by side, each in one process on its share of the cores. The many small sets keep one
 * core busy and not two, so threads inside a set would mostly wait for each other. The workers are
 * forked before anything starts a thread.
 */
#define _GNU_SOURCE
#include "uci90.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct board {
    atomic_long next, finished;
    uci90_result result[];
} board;

static size_t board_bytes(int64_t count)
{
    return sizeof(board) + (size_t)count * sizeof(uci90_result);
}

static void run_entry(uci90_lab *lab, const uci90_task *task, int64_t i, uci90_result *result)
{
    uci90_set set = {.n = 0};
    lab->message[0] = '\0';
    far_status st = uci90_set_read(lab, task->dir, task->entry[i].name, &set);
    if (st == FAR_OK) {
        st = uci90_run(lab, &set, task->nested, result);
    }
    if (st != FAR_OK) {
        snprintf(result->message, sizeof result->message, "%s", uci90_message(lab));
    }
    uci90_set_free(&set);
}

static void say_done(const uci90_task *task, board *b, const uci90_result *r)
{
    long finished = atomic_fetch_add(&b->finished, 1) + 1;
    if (task->quiet || !r->done) {
        return;
    }
    char nested[16] = "";
    if (task->nested) {
        snprintf(nested, sizeof nested, " %6.2f", r->percent[UCI90_NESTED]);
    }
    fprintf(stderr, "[%2ld/%lld] %-30s %6.2f %6.2f %6.2f%s  %5.1f s\n", finished,
            (long long)task->count, r->name, r->percent[UCI90_SINGLE], r->percent[UCI90_CLOSEST],
            r->percent[UCI90_COMMITTEE], nested, r->seconds);
}

static void work(const uci90_task *task, board *b, int threads)
{
    uci90_lab lab;
    if (uci90_lab_open(threads, &lab) == FAR_OK) {
        for (long i; (i = atomic_fetch_add(&b->next, 1)) < task->count;) {
            run_entry(&lab, task, i, &b->result[i]);
            say_done(task, b, &b->result[i]);
        }
    }
    uci90_lab_close(&lab);
}

static int start_workers(const uci90_task *task, board *b, int threads)
{
    int started = 0;
    for (; started < task->jobs; started++) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody would read the results */
            work(task, b, threads);
            _exit(EXIT_SUCCESS);
        }
        if (pid < 0) {
            break;
        }
    }
    return started;
}

static void await(int workers)
{
    while (workers > 0) {
        if (wait(NULL) > 0) {
            workers--;
        } else if (errno != EINTR) {
            return;
        }
    }
}

uci90_result *uci90_work(const uci90_task *task)
{
    board *b = mmap(NULL, board_bytes(task->count), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        return NULL;
    }
    for (int64_t i = 0; i < task->count; i++) {
        memcpy(b->result[i].name, task->entry[i].name, sizeof b->result[i].name);
    }
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), threads = cores / task->jobs;
    int workers = start_workers(task, b, threads > 1 ? threads : 1);
    await(workers);
    if (workers == 0) {
        munmap(b, board_bytes(task->count));
        return NULL;
    }
    return b->result;
}

void uci90_results_free(uci90_result *results, int64_t count)
{
    if (results) {
        munmap((char *)results - offsetof(board, result), board_bytes(count));
    }
}
