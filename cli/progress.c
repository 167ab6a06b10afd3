#include "progress.h"

#include <farfield/base.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, WHAT_BYTES = 128 };
static const double SILENT_SECONDS = 1.0, REDRAW_SECONDS = 0.1;

static volatile sig_atomic_t caught_signal;
static const int HELD_SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
enum { HELD_COUNT = sizeof HELD_SIGNALS / sizeof HELD_SIGNALS[0] };

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_init(progress *p, bool quiet)
{
    *p = (progress){.visible = !quiet && isatty(STDERR_FILENO), .started = now_seconds()};
}

static void draw(const char *phase, double part, double elapsed)
{
    char what[WHAT_BYTES];
    far_printable(phase, what, sizeof what);
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
    }
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r%s [%s] %3d%%", what, bar, (int)(100 * part));
    if (part > 0) {
        fprintf(stderr, ", %.0f s left", elapsed * (1 - part) / part);
    }
    fprintf(stderr, "\033[K");
    fflush(stderr);
}

/* What stands behind a comma ("train, loss 0.1") is news of the same phase. */
static void note_phase(progress *p, const char *what, double now)
{
    char phase[sizeof p->what];
    snprintf(phase, sizeof phase, "%.*s", (int)strcspn(what, ","), what);
    if (strcmp(p->what, phase) != 0) {
        memcpy(p->what, phase, sizeof phase);
        p->phase_started = now;
    }
}

int progress_report(void *user, const char *what, int64_t done, int64_t total)
{
    progress *p = user;
    double now = now_seconds();
    note_phase(p, what, now);
    if (p->visible && total > 0 && now - p->started > SILENT_SECONDS &&
        now - p->last_drawn > REDRAW_SECONDS) {
        draw(what, (double)done / (double)total, now - p->phase_started);
        p->drawn = true;
        p->last_drawn = now;
    }
    return caught_signal != 0;
}

void progress_end(progress *p)
{
    if (p->drawn) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
        p->drawn = false;
    }
}

static void set_handler(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(signal_number, &action, NULL);
}

static void on_signal(int signal_number)
{
    caught_signal = signal_number;
    set_handler(signal_number, SIG_DFL);
}

/* A signal that the parent told us to ignore (nohup) stays ignored. */
static void set_handlers(void (*handler)(int))
{
    for (int i = 0; i < HELD_COUNT; i++) {
        struct sigaction old;
        sigaction(HELD_SIGNALS[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) {
            set_handler(HELD_SIGNALS[i], handler);
        }
    }
}

void interrupts_hold(void)
{
    set_handlers(on_signal);
}

bool interrupts_pending(void)
{
    return caught_signal != 0;
}

void interrupts_release(void)
{
    set_handlers(SIG_DFL);
    if (caught_signal) {
        raise(caught_signal);
    }
}
