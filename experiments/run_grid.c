#define _GNU_SOURCE
#include "run_grid.h"
#include "side_by_side.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grid at work. Lines of the file: its head, then "RUN NUMBER NUMBER ..." in hexadecimal, which
 * keeps every bit. */
typedef struct keeper {
    const run_grid *g;
    grid_job run;
    void *user;
    char *path, *head;
    FILE *file;
    bool *done;
    int64_t *open; /* runs to do */
    pthread_mutex_t lock;
} keeper;

static double *found_of(const run_grid *g, int64_t run)
{
    return g->found + run * g->numbers;
}

/* Whether the line has a run with all its numbers; one that was cut short has not. */
static bool take_line(const run_grid *g, char *line, bool *done)
{
    char *end = strchr(line, '\n');
    int64_t run = strtoll(line, &line, 10);
    if (!end || run < 0 || run >= g->variants * g->seeds) {
        return false;
    }
    double *to = ROOM(g->numbers, double);
    int64_t count = 0;
    for (char *next = line; count < g->numbers; count++, line = next) {
        to[count] = strtod(line, &next);
        if (next == line) {
            break;
        }
    }
    bool whole = count == g->numbers && line == end;
    if (whole) {
        memcpy(found_of(g, run), to, (size_t)g->numbers * sizeof *to);
        done[run] = true;
    }
    free(to);
    return whole;
}

static far_status read_runs(reproduction *r, keeper *k)
{
    FILE *file = fopen(k->path, "r");
    char *line = NULL;
    size_t size = 0;
    if (!file) {
        return FAR_OK; /* it was interrupted before its first run was done */
    }
    bool ours = getline(&line, &size, file) > 0 && strcmp(line, k->head) == 0;
    while (ours && getline(&line, &size, file) > 0 && take_line(k->g, line, k->done)) {
    }
    free(line);
    fclose(file);
    return ours ? FAR_OK
                : fail(r, FAR_ERR_ARG,
                       "%s is of a run with other options; give the same ones, or leave out "
                       "--resume",
                       k->path);
}

static void write_run(const keeper *k, int64_t run)
{
    const double *numbers = found_of(k->g, run);
    fprintf(k->file, "%lld", (long long)run);
    for (int64_t i = 0; i < k->g->numbers; i++) {
        fprintf(k->file, " %a", numbers[i]);
    }
    fputc('\n', k->file);
    fflush(k->file);
}

/* Anew, with the runs there are: what was cut short does not stay. */
static far_status begin_file(reproduction *r, keeper *k)
{
    int64_t runs = k->g->variants * k->g->seeds;
    char *fresh = text_of("%s.new", k->path);
    k->file = fopen(fresh, "w");
    if (k->file) {
        fputs(k->head, k->file);
        for (int64_t i = 0; i < runs; i++) {
            if (k->done[i]) {
                write_run(k, i);
            }
        }
    }
    bool good = k->file && fflush(k->file) == 0 && rename(fresh, k->path) == 0;
    free(fresh);
    return good ? FAR_OK
                : fail(r, FAR_ERR_IO, "%s: cannot write there: %s", k->path, strerror(errno));
}

static far_status do_run(reproduction *r, int64_t job, void *user)
{
    keeper *k = user;
    int64_t run = k->open[job];
    far_status st = k->run(r, run / k->g->seeds, run % k->g->seeds, found_of(k->g, run), k->user);
    if (st == FAR_OK) {
        pthread_mutex_lock(&k->lock);
        write_run(k, run);
        pthread_mutex_unlock(&k->lock);
    }
    return st;
}

static far_status do_runs(reproduction *r, const char *what, keeper *k)
{
    int64_t runs = k->g->variants * k->g->seeds, count = 0;
    far_status st = FAR_OK;
    k->open = ROOM(runs, int64_t);
    for (int64_t i = k->g->first * k->g->seeds; i < runs; i++) {
        k->open[count] = i;
        count += !k->done[i];
    }
    if (!k->g->alone) {
        return side_by_side(r, what, count, do_run, k);
    }
    for (int64_t i = 0; i < count && st == FAR_OK; i++) {
        st = do_run(r, i, k);
    }
    return st;
}

far_status run_grid_all(reproduction *r, const char *what, const run_grid *g, grid_job run,
                        void *user)
{
    keeper k = {.g = g, .run = run, .user = user, .done = ROOM(g->variants * g->seeds, bool)};
    far_status st;
    pthread_mutex_init(&k.lock, NULL);
    k.path = text_of("%s/%s.runs", r->folder, g->name);
    k.head =
        text_of("runs of %s: %lld variants, %lld seeds, %lld epochs, %lld numbers%s%s\n", g->name,
                (long long)g->variants, (long long)g->seeds, (long long)g->epochs,
                (long long)g->numbers, r->quick ? ", quick" : "", r->sabotage ? ", sabotaged" : "");
    TRY(r->resume ? read_runs(r, &k) : FAR_OK);
    TRY(begin_file(r, &k));
    TRY(do_runs(r, what, &k));
done:
    if (k.file && fclose(k.file) != 0 && st == FAR_OK) {
        st = fail(r, FAR_ERR_IO, "%s: cannot write there: %s", k.path, strerror(errno));
    }
    pthread_mutex_destroy(&k.lock);
    FREE(k.path, k.head, k.done, k.open);
    return st;
}
