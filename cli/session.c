#define _GNU_SOURCE
#include "session.h"
#include "show.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOMENT_SECONDS = 2, MUCH_BYTES = 1 << 30;

char **session_typed;
int session_words;

static bool needs_no_quotes(const char *word)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,+@%";
    return *word && word[strspn(word, PLAIN)] == 0;
}

static void put_quoted(FILE *out, const char *word)
{
    if (needs_no_quotes(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, 0}, out);
    }
    fputc('\'', out);
}

char *session_command(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out) {
        fputs("farfield", out);
        for (int i = 0; i < session_words; i++) {
            fputc(' ', out);
            put_quoted(out, session_typed[i]);
        }
        fclose(out);
    }
    return text;
}

#define AT(field) offsetof(common_args, field)

static const option COMMON[] = {
    TEXT_OPTION("--report", 0, AT(report), "DIR",
                "write DIR/report.html: a page with the tables and figures"),
    FLAG_OPTION("--json", 0, AT(json), "print JSON"),
    FLAG_OPTION("--quiet", 'q', AT(quiet),
                "only what was asked for: no messages, no progress bar, no summary"),
    COUNT_OPTION("--threads", 0, AT(threads), "N", "0 is one per core", 0, MOST_THREADS),
};

option_group common_options(size_t offset)
{
    return (option_group){
        .options = COMMON, .count = sizeof COMMON / sizeof COMMON[0], .offset = offset};
}

option_group plain_options(size_t offset)
{
    option_group all = common_options(offset);
    all.options++; /* --report is the first */
    all.count--;
    return all;
}

int64_t default_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long number = text ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= MOST_THREADS ? number : 0;
}

static int open_context(session *s, const char *verb_name, int64_t threads, bool quiet,
                        bool protect_inputs)
{
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    *s = (session){.verb = verb_name, .quiet = quiet};
    progress_init(&s->bar, quiet);
    opts.threads = (int)threads;
    opts.progress = progress_report;
    opts.progress_user = &s->bar;
    opts.protect_inputs = protect_inputs;
    if (far_ctx_create(&opts, &s->ctx) != FAR_OK || far_file_claim(s->ctx, NULL) != FAR_OK) {
        return failure(verb_name, "out of memory");
    }
    talk_trust(far_ctx_message(s->ctx));
    return EXIT_DONE;
}

int session_open(session *s, const char *verb_name, int64_t threads, bool quiet)
{
    return open_context(s, verb_name, threads, quiet, true);
}

int session_open_updating(session *s, const char *verb_name, int64_t threads, bool quiet)
{
    return open_context(s, verb_name, threads, quiet, false);
}

void session_close(session *s)
{
    talk_trust(NULL);
    far_ctx_destroy(s->ctx);
    s->ctx = NULL;
}

void session_idle(session *s)
{
    progress_end(&s->bar);
    interrupts_release();
}

void session_say(const session *s, const char *format, ...)
{
    if (s->quiet) {
        return;
    }
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "farfield %s: ", s->verb);
    talk_args(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void session_announce(const session *s, int64_t rows, const far_estimate *e)
{
    char bytes[SHOW_BYTES], seconds[SHOW_BYTES];
    if (e->seconds > MOMENT_SECONDS || e->bytes > MUCH_BYTES) {
        session_say(s, "%lld rows take %s (%s) and about %s", (long long)rows,
                    show_size(e->bytes, bytes),
                    e->storage == FAR_STORAGE_PACKED ? "packed storage"
                    : e->storage == FAR_STORAGE_FULL ? "full storage"
                                                     : "no factor",
                    show_time(e->seconds, seconds));
    }
}

int session_failure(const session *s, const char *place)
{
    const char *message = far_ctx_message(s->ctx);
    size_t length = place ? strlen(place) : 0;
    bool said = length == 0 || (strncmp(message, place, length) == 0 && message[length] == ':');
    return said ? failure(s->verb, "%s", message) : failure(s->verb, "%s: %s", place, message);
}
