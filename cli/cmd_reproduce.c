/* farfield reproduce: figures and tables of papers, and whether their claims hold. */
#define _GNU_SOURCE
#include "report.h"
#include "show.h"

#include <errno.h>
#include <fcntl.h>
#include <reproduce.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERB "reproduce"
#define REPORT "report.html"
enum { WAITS = 600, WAIT_MS = 100 }; /* for another run to end: a minute */

typedef struct reproduce_args {
    bool list, quick, resume, json, quiet, sabotage, cifar2;
    bool images, text; /* forms that are experiments of their own: ID-images, ID-text */
    int64_t seeds, epochs, threads;
    const char *data, *output, *weights;
    const char *folder; /* of photographs: the operand behind ln-table2 --images */
} reproduce_args;

static const option OPTIONS[] = {
    FLAG_OPTION("--list", 0, offsetof(reproduce_args, list), "which there are"),
    FLAG_OPTION("--text", 0, offsetof(reproduce_args, text),
                "the form of the experiment on text: linearization --text"),
    FLAG_OPTION("--quick", 0, offsetof(reproduce_args, quick),
                "fewer seeds and epochs: under a minute"),
    FLAG_OPTION("--images", 0, offsetof(reproduce_args, images),
                "of ella: a CNN on pictures (the experiment ella-images);\n"
                "ln-table2 --images DIR: from photographs, with --weights"),
    COUNT_OPTION("--seeds", 0, offsetof(reproduce_args, seeds), "N",
                 "of each network; the paper's number unless given", 1, 1000000),
    COUNT_OPTION("--epochs", 'e', offsetof(reproduce_args, epochs), "N",
                 "of training; the paper's number unless given", 1, 1000000000),
    TEXT_OPTION("--data", 0, offsetof(reproduce_args, data), "DIR",
                "where data sets lie; otherwise where 'farfield data get' puts them"),
    TEXT_OPTION("--output", 'o', offsetof(reproduce_args, output), "DIR",
                "write there; otherwise in reproduce-ID, for each ID.\n"
                "Of several experiments DIR/ID"),
    FLAG_OPTION("--cifar2", 0, offsetof(reproduce_args, cifar2),
                "of linearized: on images of CIFAR-10, with LeNet and a small ResNet"),
    TEXT_OPTION("--weights", 0, offsetof(reproduce_args, weights), "FILE",
                "of ln-table2: torchvision's resnet18 or resnet34 as safetensors"),
    FLAG_OPTION("--resume", 0, offsetof(reproduce_args, resume),
                "go on where an interrupted run of the same command was"),
    FLAG_OPTION("--sabotage", 0, offsetof(reproduce_args, sabotage), NULL),
    FLAG_OPTION("--json", 0, offsetof(reproduce_args, json), "print JSON"),
    FLAG_OPTION("--quiet", 'q', offsetof(reproduce_args, quiet), "no progress"),
    COUNT_OPTION("--threads", 0, offsetof(reproduce_args, threads), "N", "0 is one per core", 0,
                 MOST_THREADS),
};

static const char ABOUT[] =
    "Runs experiments of papers: writes figures (svg, png, csv), tables (csv) and report.html, "
    "and\n"
    "prints a line for each claim: what the paper says and where, what was tested, what comes out.";
static const char NOTES[] =
    "Exit: 0 if every claim held, 1 if one did not or something failed. After Ctrl-C the folder\n"
    "keeps what is done.";

typedef struct job {
    session s;
    reproduce_args args;
    report report; /* what it tells at the end */
    char *command;
    bool disagreed, ran; /* ran: at least one experiment */
} job;

/* ---- the list ------------------------------------------------------------------------------ */

static void put_experiment(far_result *r, const experiment *e, const char *before)
{
    char quick[SHOW_BYTES], full[SHOW_BYTES];
    far_result_cell_text(r, "%s%s", before, e->id);
    far_result_cell_text(r, "%s", e->paper);
    far_result_cell_text(r, e->needs ? "%s" : *before ? "-" : NULL, e->needs);
    far_result_cell_words(r, e->quick_seconds, "%s", show_time(e->quick_seconds, quick));
    far_result_cell_words(r, e->seconds, "%s", show_time(e->seconds, full));
    far_result_cell_text(r, "%s", e->title);
}

static void begin_list(far_result *r)
{
    static const far_result_column COLUMNS[] = {
        {"id", "  id", NULL},      {"paper", NULL, NULL},
        {"data", "data", NULL},    {"quick_seconds", "quick", NULL},
        {"seconds", "full", NULL}, {"title", "what", NULL}};
    far_result_table(r, "experiments", NULL, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
}

/* People get the sum; docs/reproductions/README.md has the rows. */
static void put_coverage(far_result *r)
{
    static const far_result_column COLUMNS[] = {{"paper", NULL, NULL},
                                                {"part", NULL, NULL},
                                                {"status", NULL, NULL},
                                                {"id", NULL, NULL},
                                                {"note", NULL, NULL}};
    int counts[COVERAGE_STATES] = {0};
    far_result_table(r, "coverage", NULL, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int i = 0; i < COVERAGE_COUNT; i++) {
        const coverage *c = &COVERAGE[i];
        counts[c->state]++;
        far_result_cell_text(r, "%s", c->paper);
        far_result_cell_text(r, "%s", c->part);
        far_result_cell_text(r, "%s", COVERAGE_WORDS[c->state]);
        far_result_cell_text(r, c->id ? "%s" : NULL, c->id);
        far_result_cell_text(r, c->note ? "%s" : NULL, c->note);
    }
    far_result_for(r, FAR_FOR_TEXT);
    far_result_heading(r, "Figures, tables and theorems of these papers");
    far_result_line(r, "  %d %s, %d %s, %d %s, %d %s", counts[COVERAGE_TESTED],
                    COVERAGE_WORDS[COVERAGE_TESTED], counts[COVERAGE_CONSTRUCTED],
                    COVERAGE_WORDS[COVERAGE_CONSTRUCTED], counts[COVERAGE_NOT_DONE],
                    COVERAGE_WORDS[COVERAGE_NOT_DONE], counts[COVERAGE_NOT_AVAILABLE],
                    COVERAGE_WORDS[COVERAGE_NOT_AVAILABLE]);
}

/* Those of one paper stand under its name. */
static void put_list(far_result *r)
{
    far_result_for(r, FAR_FOR_TEXT);
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        const experiment *e = &EXPERIMENTS[i];
        if (i == 0 || strcmp(EXPERIMENTS[i - 1].paper, e->paper) != 0) {
            far_result_heading(r, e->paper);
            begin_list(r);
        }
        put_experiment(r, e, "  ");
    }
    far_result_for(r, FAR_FOR_JSON);
    begin_list(r);
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        put_experiment(r, &EXPERIMENTS[i], "");
    }
    put_coverage(r);
}

/* ---- one experiment ------------------------------------------------------------------------ */

static void put_claims(far_result *r, const reproduction *done)
{
    static const far_result_column COLUMNS[] = {
        {"claim", NULL, NULL},           {"paper", NULL, NULL},        {"place", NULL, NULL},
        {"tested_as", NULL, NULL},       {"ours", NULL, NULL},         {"seeds", NULL, NULL},
        {"by_construction", NULL, NULL}, {"settled_late", NULL, NULL}, {"agrees", NULL, NULL}};
    far_result_table(r, "claims", NULL, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int i = 0; i < done->claims; i++) {
        const claim_record *c = reproduction_claim(done, i);
        far_result_cell_text(r, "%s", c->what);
        far_result_cell_text(r, "%s", c->paper ? c->paper : "not stated");
        far_result_cell_text(r, c->place ? "%s" : NULL, c->place);
        far_result_cell_text(r, c->tested ? "%s" : NULL, c->tested);
        far_result_cell_text(r, "%s", c->ours);
        far_result_cell_words(r, (double)c->seeds, "%lld", (long long)c->seeds);
        far_result_cell_flag(r, c->by_construction);
        far_result_cell_flag(r, c->late);
        far_result_cell_flag(r, c->agrees);
    }
}

static void put_files(far_result *r, const reproduction *done)
{
    int count = 0;
    while (reproduction_file(done, count)) {
        count++;
    }
    const char **names = calloc((size_t)count + 1, sizeof *names);
    for (int i = 0; names && i < count; i++) {
        names[i] = reproduction_file(done, i);
    }
    far_result_check(r, names ? FAR_OK : FAR_ERR_MEMORY);
    far_result_texts(r, "files", names, names ? count : 0);
    free(names);
}

static void put_reproduction(far_result *r, const experiment *e, const reproduction *done,
                             far_status st)
{
    far_result_open(r, NULL);
    far_result_text(r, "id", e->id, NULL, NULL);
    far_result_text(r, "paper", e->paper, NULL, NULL);
    far_result_flag(r, "quick", done->quick, NULL, NULL);
    far_result_flag(r, "finished", st == FAR_OK, NULL, NULL);
    far_result_flag(r, "agrees", st == FAR_OK && done->failed == 0, NULL, NULL);
    far_result_text(r, "folder", done->folder, NULL, NULL);
    put_files(r, done);
    put_claims(r, done);
    far_result_close(r);
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

/* Tested claims that hold, or those by construction that do. */
static int holding(const reproduction *r, bool by_construction)
{
    int count = 0;
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = reproduction_claim(r, i);
        count += c->agrees && c->by_construction == by_construction;
    }
    return count;
}

/* Of a run without its mechanism: what holds all the same tests nothing. */
static void print_survivors(const experiment *e, const reproduction *r)
{
    print("%s, sabotaged: %d of %d tested claims still hold\n", e->id, holding(r, false),
          r->claims - r->constructed);
    for (int i = 0; i < r->claims; i++) {
        const claim_record *c = reproduction_claim(r, i);
        if (c->agrees && !c->by_construction) {
            print("  still holds: %s\n", c->what);
        }
    }
}

static void print_summary(const experiment *e, const reproduction *r)
{
    if (r->sabotage) {
        print_survivors(e, r);
        return;
    }
    print("%s: %d of %d claims agree", e->id, holding(r, false), r->claims - r->constructed);
    if (r->constructed > 0) {
        print(", %d hold by construction", holding(r, true));
    }
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

/* Held by this process: what is open still is what the path names. Where there are no locks it is.
 */
static bool lock_folder(const char *path, int fd)
{
    struct stat open, named;
    bool held = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    return held && fstat(fd, &open) == 0 && stat(path, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* The folder with a lock, for as long as fd is open. A run that was interrupted may still be
 * ending: it finishes its files, removes checkpoints, and an empty folder of its own too. */
static int open_folder(job *j, const char *path, bool *made, int *fd)
{
    const struct timespec pause = {0, WAIT_MS * 1000000};
    *made = false;
    for (int i = 0; i < WAITS; i++) {
        bool now;
        int code = make_folder(path, &now);
        if (code != EXIT_DONE) {
            return code;
        }
        *made |= now;
        *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*fd < 0 || lock_folder(path, *fd)) {
            return EXIT_DONE; /* one that can be written to, but not read */
        }
        close(*fd);
        *fd = -1;
        if (i == 0) {
            session_say(&j->s, "%s: another run is writing there; waiting for its end", path);
        }
        if (nanosleep(&pause, NULL) != 0) { /* Ctrl-C */
            return EXIT_FAILED;
        }
    }
    return failure(VERB,
                   "%s: another run is writing there; wait for its end, or name another "
                   "folder with -o DIR",
                   path);
}

/* What the run ended with, in words where the user does not know it. */
static int conclude(job *j, const experiment *e, const reproduction *r, far_status st)
{
    put_reproduction(j->report.result, e, r, st);
    j->ran = true;
    if (!j->args.json && r->claims > 0) {
        print_summary(e, r);
    }
    if (st == FAR_ERR_CANCELLED) {
        session_say(&j->s, "%s: interrupted; --resume goes on from %s", e->id, r->folder);
        return EXIT_FAILED;
    }
    if (st != FAR_OK) {
        return failure(VERB, "%s: %s", e->id, reproduction_message(r));
    }
    j->disagreed |= r->sabotage ? holding(r, false) > 0 : r->failed > 0;
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
                      .cifar2 = a->cifar2,
                      .images = a->folder,
                      .weights = a->weights,
                      .resume = a->resume,
                      .silent = a->json,
                      .sabotage = a->sabotage,
                      .quiet = a->quiet,
                      .command = j->command};
    bool made;
    int fd = -1, code = open_folder(j, folder, &made, &fd);
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
    if (fd >= 0) {
        close(fd);
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

static bool names_all(const char *operand)
{
    return strcmp(operand, "all") == 0;
}

/* Forms of an experiment, and the options that ask for them. */
typedef struct form {
    const char *option, *ending, *of;
    size_t at;
} form;
static const form FORMS[] = {
    {"--images", "images", "ella", offsetof(reproduce_args, images)},
    {"--text", "text", "linearization", offsetof(reproduce_args, text)},
};

/* The one that was asked for; NULL: none. */
static const form *form_of(const reproduce_args *a)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        if (*(const bool *)((const char *)a + FORMS[i].at)) {
            return &FORMS[i];
        }
    }
    return NULL;
}

/* The experiment of that id in that form; NULL: there is none. */
static const experiment *find_form(const reproduce_args *a, const char *id)
{
    char name[64];
    const form *f = form_of(a);
    snprintf(name, sizeof name, "%s%s%s", id, f ? "-" : "", f ? f->ending : "");
    return find_experiment(name);
}

/* "all" is every experiment, and stands alone. */
static int run_all(job *j, const command_line *line)
{
    bool all = names_all(line->operands[0]);
    int code = EXIT_DONE, count = all ? EXPERIMENT_COUNT : line->operand_count;
    bool made = false;
    if (j->args.output && count > 1) {
        code = make_folder(j->args.output, &made);
    }
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        const experiment *e = all ? &EXPERIMENTS[i] : find_form(&j->args, line->operands[i]);
        char *folder = folder_of(&j->args, e, count);
        code = folder ? run_one(j, e, folder) : failure(VERB, "out of memory");
        free(folder);
    }
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
    if (a->sabotage && a->resume) {
        return usage_error(VERB, "--sabotage does not go with --resume");
    }
    if (!a->list && line->operand_count == 1 && !form_of(a) && names_all(line->operands[0])) {
        return OPTIONS_OK;
    }
    for (int i = 0; i < line->operand_count; i++) {
        if (!find_experiment(line->operands[i])) {
            return unknown_experiment(line->operands[i]);
        }
        if (!find_form(a, line->operands[i])) {
            return usage_error(VERB, "%s is for %s, and %s has no such form", form_of(a)->option,
                               form_of(a)->of, line->operands[i]);
        }
    }
    return OPTIONS_OK;
}

/* Forms that one experiment alone has. Of --images the operand behind ln-table2 is the folder. */
static int check_forms(command_line *line, reproduce_args *a)
{
    const char *id = line->operand_count > 0 ? line->operands[0] : "";
    if (a->cifar2 && (line->operand_count != 1 || strcmp(id, "linearized") != 0)) {
        return usage_error(VERB, "--cifar2 is a form of linearized alone: farfield reproduce "
                                 "linearized --cifar2");
    }
    bool faces = strcmp(id, "ln-table2") == 0;
    if (!a->weights && !(a->images && faces)) {
        return OPTIONS_OK;
    }
    if (!a->images || !a->weights || line->operand_count != 2 || !faces) {
        return usage_error(VERB, "photographs are a form of ln-table2 alone: farfield reproduce "
                                 "ln-table2 --images DIR --weights FILE");
    }
    a->images = false; /* it is not the form of another experiment */
    a->folder = line->operands[1];
    line->operand_count = 1;
    return OPTIONS_OK;
}

/* After Ctrl-C too it is told what was done: JSON comes before the process may end. */
static int run_experiments(job *j, const command_line *line)
{
    report *r = &j->report;
    int code = report_begin(&j->s, &(common_args){.json = j->args.json}, "Experiments", r);
    if (code == EXIT_DONE) {
        j->command = session_command();
        interrupts_hold();
        far_result_for(r->result, FAR_FOR_JSON);
        far_result_open_list(r->result, "experiments");
        code = run_all(j, line);
        far_result_close(r->result);
        int printed = j->args.json && j->ran ? report_print(r) : EXIT_DONE;
        code = code == EXIT_DONE ? printed : code;
        fflush(stdout);
        session_idle(&j->s);
        free(j->command);
    }
    report_close(r);
    return code;
}

static int list_experiments(job *j)
{
    int code = report_begin(&j->s, &(common_args){.json = j->args.json}, "Experiments", &j->report);
    put_list(j->report.result);
    return report_end(&j->report, code);
}

int cmd_reproduce(int argc, char **argv)
{
    job j = {.args = {.threads = default_threads()}};
    command_line line = {
        .verb = VERB,
        .usage = "reproduce ID... [options]\nreproduce all [options]\nreproduce --list [--json]",
        .about = ABOUT,
        .notes = NOTES,
        .options = OPTIONS,
        .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
        .most_operands = MAX_OPERANDS};
    int code = options_parse(&line, argc, argv, &j.args);
    code = code == OPTIONS_OK ? check_forms(&line, &j.args) : code;
    code = code == OPTIONS_OK ? check_usage(&line, &j.args) : code;
    if (code != OPTIONS_OK) {
        return code;
    }
    code = session_open_updating(&j.s, VERB, j.args.threads, j.args.quiet);
    if (code == EXIT_DONE) {
        code = j.args.list ? list_experiments(&j) : run_experiments(&j, &line);
    }
    session_close(&j.s);
    return code;
}
