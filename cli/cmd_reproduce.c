/* farfield reproduce: figures and tables of papers, and whether their claims hold. */
#define _GNU_SOURCE
#include "json.h"
#include "options.h"
#include "session.h"
#include "show.h"

#include <errno.h>
#include <reproduce.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERB "reproduce"
#define REPORT "report.html"

typedef struct reproduce_args {
    bool list, quick, resume, json, quiet;
    int64_t seeds, epochs, threads;
    const char *data, *output;
} reproduce_args;

static const option OPTIONS[] = {
    {"--list", 0, OPTION_FLAG, offsetof(reproduce_args, list), NULL, "which there are", 0, 0},
    {"--quick", 0, OPTION_FLAG, offsetof(reproduce_args, quick), NULL,
     "fewer seeds and epochs: under a minute", 0, 0},
    {"--seeds", 0, OPTION_COUNT, offsetof(reproduce_args, seeds), "N",
     "of each network; the paper's number unless given", 1, 1000000},
    {"--epochs", 'e', OPTION_COUNT, offsetof(reproduce_args, epochs), "N",
     "of training; the paper's number unless given", 1, 1000000000},
    {"--data", 0, OPTION_TEXT, offsetof(reproduce_args, data), "DIR",
     "where data sets lie; otherwise where 'farfield data get' puts them", 0, 0},
    {"--output", 'o', OPTION_TEXT, offsetof(reproduce_args, output), "DIR",
     "write there; otherwise in reproduce-ID, for each ID.\n"
     "Of several experiments DIR/ID",
     0, 0},
    {"--resume", 0, OPTION_FLAG, offsetof(reproduce_args, resume), NULL,
     "go on where an interrupted run of the same command was", 0, 0},
    {"--json", 0, OPTION_FLAG, offsetof(reproduce_args, json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, offsetof(reproduce_args, quiet), NULL, "no progress", 0, 0},
    {"--threads", 0, OPTION_COUNT, offsetof(reproduce_args, threads), "N", "0 is one per core", 0,
     MOST_THREADS},
};

static const char ABOUT[] =
    "Runs experiments of papers: writes figures (svg, png, csv), tables (csv) and report.html, "
    "and\n"
    "prints a line for each claim: what the paper says, what comes out here, whether they agree.";
static const char NOTES[] =
    "Exit: 0 if every claim held, 1 if one did not or something failed. After Ctrl-C the folder\n"
    "keeps what is done.";

typedef struct job {
    session s;
    reproduce_args args;
    char *command;
    bool disagreed;
} job;

/* ---- the list ------------------------------------------------------------------------------ */

/* Those of one paper stand under its name. */
static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static const char *data_of(const experiment *e)
{
    return e->needs ? e->needs : "-";
}

/* One paper's experiments, from number i on; returns the number behind them. */
static int print_paper(int i)
{
    const char *paper = EXPERIMENTS[i].paper;
    int end = i, id = 14, data = 13;
    for (; end < EXPERIMENT_COUNT && strcmp(EXPERIMENTS[end].paper, paper) == 0; end++) {
        id = wider(id, EXPERIMENTS[end].id);
        data = wider(data, data_of(&EXPERIMENTS[end]));
    }
    print("%s\n  %-*s %-*s %-6s %-6s %s\n", paper, id, "id", data, "data", "quick", "full", "what");
    for (; i < end; i++) {
        const experiment *e = &EXPERIMENTS[i];
        char quick[SHOW_BYTES], full[SHOW_BYTES];
        print("  %-*s %-*s %-6s %-6s %s\n", id, e->id, data, data_of(e),
              show_time(e->quick_seconds, quick), show_time(e->seconds, full), e->title);
    }
    return end;
}

static void print_list(void)
{
    for (int i = 0; i < EXPERIMENT_COUNT;) {
        fputs(i ? "\n" : "", stdout);
        i = print_paper(i);
    }
}

static void print_list_json(void)
{
    putchar('[');
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        const experiment *e = &EXPERIMENTS[i];
        fputs(i ? "," : "", stdout);
        json_begin(stdout);
        json_text_field(stdout, "id", e->id);
        json_text_field(stdout, "title", e->title);
        json_text_field(stdout, "paper", e->paper);
        if (e->needs) {
            json_text_field(stdout, "data", e->needs);
        } else {
            json_null_field(stdout, "data");
        }
        json_number_field(stdout, "quick_seconds", e->quick_seconds);
        json_number_field(stdout, "seconds", e->seconds);
        json_end(stdout);
    }
    puts("]");
}

/* ---- one experiment ------------------------------------------------------------------------ */

static void print_claims_json(const reproduction *r)
{
    json_key(stdout, "claims");
    putchar('[');
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = reproduction_claim(r, i);
        fputs(i ? ",\n " : "\n ", stdout);
        json_begin(stdout);
        json_text_field(stdout, "claim", c->what);
        json_text_field(stdout, "paper", c->paper);
        json_text_field(stdout, "ours", c->ours);
        json_bool_field(stdout, "agrees", c->agrees);
        json_close(stdout);
    }
    putchar(']');
}

static void print_files_json(const reproduction *r)
{
    json_key(stdout, "files");
    putchar('[');
    const char *name;
    for (int i = 0; (name = reproduction_file(r, i)); i++) {
        fputs(i ? ", " : "", stdout);
        json_quoted(stdout, name);
    }
    putchar(']');
}

static void print_json(const experiment *e, const reproduction *r, far_status st)
{
    json_begin(stdout);
    json_text_field(stdout, "id", e->id);
    json_text_field(stdout, "paper", e->paper);
    json_bool_field(stdout, "quick", r->quick);
    json_bool_field(stdout, "finished", st == FAR_OK);
    json_bool_field(stdout, "agrees", st == FAR_OK && r->failed == 0);
    json_text_field(stdout, "folder", r->folder);
    print_files_json(r);
    print_claims_json(r);
    json_end(stdout);
}

static bool wrote(const reproduction *r, const char *name)
{
    const char *file;
    for (int i = 0; (file = reproduction_file(r, i)); i++) {
        if (strcmp(file, name) == 0) {
            return true;
        }
    }
    return false;
}

static void print_summary(const experiment *e, const reproduction *r)
{
    print("%s: %d of %d claims agree", e->id, r->claims - r->failed, r->claims);
    print(wrote(r, REPORT) ? "; see %s/" REPORT "\n" : "\n", r->folder);
}

static bool is_folder(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

/* *made: it was not there. */
static int make_folder(const char *path, bool *made)
{
    *made = mkdir(path, 0777) == 0;
    int error = *made ? 0 : errno;
    if (error == EEXIST && is_folder(path)) {
        return access(path, W_OK) == 0
                   ? EXIT_DONE
                   : failure(VERB, "%s: cannot write there: %s; -o DIR names another folder", path,
                             strerror(errno));
    }
    if (*made) {
        return EXIT_DONE;
    }
    return failure(VERB, "%s: cannot make the folder: %s; -o DIR names another one",
                   *path ? path : "''",
                   error == EEXIST   ? "a file of that name is there"
                   : error == ENOENT ? "the one above it is not there"
                                     : strerror(error));
}

/* What the run ended with, in words where the user does not know it. */
static int conclude(job *j, const experiment *e, const reproduction *r, far_status st)
{
    if (j->args.json) {
        print_json(e, r, st);
    } else if (r->claims > 0) {
        print_summary(e, r);
    }
    if (st == FAR_ERR_CANCELLED) {
        session_say(&j->s, "%s: interrupted; --resume goes on from %s", e->id, r->folder);
        return EXIT_FAILED;
    }
    if (st != FAR_OK) {
        return failure(VERB, "%s: %s", e->id, reproduction_message(r));
    }
    j->disagreed |= r->failed > 0;
    return EXIT_DONE;
}

static int run_one(job *j, const experiment *e, const char *folder)
{
    const reproduce_args *a = &j->args;
    reproduction r = {.ctx = j->s.ctx,
                      .progress = progress_report,
                      .progress_user = &j->s.bar,
                      .folder = folder,
                      .data = a->data,
                      .quick = a->quick,
                      .seeds = a->seeds,
                      .epochs = a->epochs,
                      .resume = a->resume,
                      .silent = a->json,
                      .quiet = a->quiet,
                      .command = j->command};
    bool made;
    int code = make_folder(folder, &made);
    if (code != EXIT_DONE) {
        return code;
    }
    far_status st = reproduce(&r, e);
    progress_end(&j->s.bar);
    code = conclude(j, e, &r, st);
    reproduction_close(&r);
    if (made) {
        rmdir(folder); /* if nothing is in it */
    }
    return code;
}

/* DIR, DIR/ID of several, or reproduce-ID; NULL without memory. */
static char *folder_of(const reproduce_args *a, const experiment *e, int count)
{
    char *folder = NULL;
    int length = a->output ? asprintf(&folder, count > 1 ? "%s/%s" : "%s", a->output, e->id)
                           : asprintf(&folder, "reproduce-%s", e->id);
    return length < 0 ? NULL : folder;
}

static int run_all(job *j, const command_line *line)
{
    int code = EXIT_DONE, count = line->operand_count;
    bool made = false;
    if (j->args.output && count > 1) {
        code = make_folder(j->args.output, &made);
    }
    fputs(j->args.json ? "[" : "", stdout);
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        const experiment *e = find_experiment(line->operands[i]);
        char *folder = folder_of(&j->args, e, count);
        fputs(j->args.json && i ? "," : "", stdout);
        code = folder ? run_one(j, e, folder) : failure(VERB, "out of memory");
        free(folder);
    }
    fputs(j->args.json ? "]\n" : "", stdout);
    if (made) {
        rmdir(j->args.output);
    }
    return code == EXIT_DONE && j->disagreed ? EXIT_FAILED : code;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int unknown_experiment(const char *id)
{
    const char **names = calloc((size_t)EXPERIMENT_COUNT, sizeof *names);
    for (int i = 0; names && i < EXPERIMENT_COUNT; i++) {
        names[i] = EXPERIMENTS[i].id;
    }
    const char *near = names ? far_nearest_name(id, names, EXPERIMENT_COUNT) : NULL;
    int code = near ? usage_error(VERB, "unknown experiment '%s'; did you mean %s?", id, near)
                    : usage_error(VERB, "unknown experiment '%s'; --list shows all", id);
    free(names);
    return code;
}

static int check_usage(const command_line *line, const reproduce_args *a)
{
    if (a->list && line->operand_count > 0) {
        return usage_error(VERB, "--list takes no experiment");
    }
    if (!a->list && line->operand_count == 0) {
        return usage_error(VERB, "which experiment? --list shows all");
    }
    for (int i = 0; i < line->operand_count; i++) {
        if (!find_experiment(line->operands[i])) {
            return unknown_experiment(line->operands[i]);
        }
    }
    return OPTIONS_OK;
}

/* "farfield reproduce ln-fig1 --quick"; NULL without memory. */
static char *command_text(int argc, char **argv)
{
    char *text = strdup("farfield");
    for (int i = 0; i < argc && text; i++) {
        char *longer = NULL;
        bool quoted = argv[i][strcspn(argv[i], " '\"$\\*?;&|<>()")] != 0 || !*argv[i];
        if (asprintf(&longer, quoted ? "%s '%s'" : "%s %s", text, argv[i]) < 0) {
            longer = NULL;
        }
        free(text);
        text = longer;
    }
    return text;
}

static int run_experiments(job *j, const command_line *line, int argc, char **argv)
{
    int code = session_open_updating(&j->s, VERB, j->args.threads, j->args.quiet);
    if (code == EXIT_DONE) {
        j->command = command_text(argc, argv);
        interrupts_hold();
        code = run_all(j, line);
        fflush(stdout); /* a signal that came may end the process now */
        session_idle(&j->s);
        free(j->command);
    }
    session_close(&j->s);
    return code;
}

int cmd_reproduce(int argc, char **argv)
{
    job j = {.args = {.threads = default_threads()}};
    command_line line = {.verb = VERB,
                         .usage = "reproduce ID... [options]\nreproduce --list [--json]",
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .most_operands = MAX_OPERANDS};
    int code = options_parse(&line, argc, argv, &j.args);
    code = code == OPTIONS_OK ? check_usage(&line, &j.args) : code;
    if (code != OPTIONS_OK) {
        return code;
    }
    if (!j.args.list) {
        return run_experiments(&j, &line, argc, argv);
    }
    j.args.json ? print_list_json() : print_list();
    return EXIT_DONE;
}
