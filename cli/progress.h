/* A progress bar on stderr, and Ctrl-C as a polite request to stop. */
#ifndef FAR_CLI_PROGRESS_H
#define FAR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool visible; /* stderr is a terminal and nobody asked for quiet */
    bool drawn;
    char what[32]; /* the phase that runs, and when it began */
    double started, phase_started, last_drawn;
} progress;

void progress_init(progress *p, bool quiet);
/* A far_progress_fn; user is the progress. Asks the library to stop after Ctrl-C. */
int progress_report(void *user, const char *what, int64_t done, int64_t total);
/* Erases the bar. */
void progress_end(progress *p);

/* From here on the first SIGINT, SIGTERM or SIGHUP only asks the running call to stop, so that it
 * can remove what it has begun to write; a second one ends the process at once. */
void interrupts_hold(void);
/* Whether such a signal has come: for loops of our own. */
bool interrupts_pending(void);
/* Back to the usual meaning; delivers a signal that came in between (and does not return then). */
void interrupts_release(void);

#endif
