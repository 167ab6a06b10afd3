/* What a verb that computes has open: a context, its progress bar, the rules for Ctrl-C. */
#ifndef FAR_CLI_SESSION_H
#define FAR_CLI_SESSION_H

#include "cli.h"
#include "options.h"
#include "progress.h"

#include <farfield/solve.h>

enum { MOST_THREADS = 1024 };

/* What OpenMP's users expect; 0, one per core, if OMP_NUM_THREADS is not set to a number. */
int64_t default_threads(void);

/* What was typed, from the verb on: set by main. */
extern char **session_typed;
extern int session_words;
/* "farfield fit ...", quoted for the shell; free it. NULL without memory. */
char *session_command(void);

/* Options that all verbs share. Zero but for threads: default_threads(). */
typedef struct common_args {
    const char *report; /* a folder; NULL: none */
    bool json, quiet;
    int64_t threads;
} common_args;
option_group common_options(size_t offset);
/* All but --report: of verbs whose result is a matrix. */
option_group plain_options(size_t offset);

/* Zero-initialise; session_close is always safe. */
typedef struct session {
    const char *verb;
    bool quiet;
    progress bar;
    far_ctx *ctx;
} session;

/* Returns an exit code, with a line on stderr if it is not 0. What the verb reads it cannot write
 * (far_ctx_opts.protect_inputs). */
int session_open(session *s, const char *verb_name, int64_t threads, bool quiet);
/* The same for a verb whose outputs are there to be read again: no input is protected. */
int session_open_updating(session *s, const char *verb_name, int64_t threads, bool quiet);
void session_close(session *s);

/* What follows interrupts_hold() and the calls that take long: erases the bar and lets Ctrl-C end
 * the process, now that nothing is half written. */
void session_idle(session *s);

/* One line of talk on stderr, unless it is to be quiet. */
__attribute__((format(printf, 2, 3))) void session_say(const session *s, const char *format, ...);

/* What must not start unannounced: more than a moment or more than a gibibyte. */
void session_announce(const session *s, int64_t rows, const far_estimate *e);

/* The library's message on stderr, behind "PLACE: " unless place is NULL or the message names it;
 * EXIT_FAILED. */
int session_failure(const session *s, const char *place);

#endif
