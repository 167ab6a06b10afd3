/* farfield data: published data sets, brought here by name. */
#include "cli.h"
#include "json.h"
#include "options.h"
#include "session.h"
#include "show.h"

#include <farfield/fetch.h>
#include <stdio.h>
#include <string.h>

#define VERB "data"

enum { PATH_BYTES = 4096, CELL_BYTES = 64 };

typedef struct data_args {
    const char *data;
    bool unverified, json, quiet;
} data_args;

typedef struct job {
    data_args args;
    session s;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(data_args, field)

static const option OPTIONS[] = {
    {"--data", 0, OPTION_TEXT, AT(data), "DIR", "the folder that data sets lie in", 0, 0},
    {"--unverified", 0, OPTION_FLAG, AT(unverified), NULL,
     "get: keep a file whose SHA-256 is not the one that is known, and tell\n"
     "which it is",
     0, 0},
    {"--json", 0, OPTION_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {"--quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no talk and no progress bar", 0, 0},
};

static const char USAGE[] = "data list [--json]\n"
                            "data get NAME [options]\n"
                            "data where [NAME]";
static const char ABOUT[] =
    "Published data sets by name. 'data list' shows those that are known, 'data get' downloads "
    "one\n"
    "from its publisher and checks it, 'data where' prints its path (without NAME, the folder of\n"
    "all). Once it is here its name stands for DATA in fit, train, predict, certify, compare and\n"
    "gram.";
static const char NOTES[] =
    "A download that is interrupted goes on where it stopped. FARFIELD_DATA names another folder,\n"
    "for all verbs; FARFIELD_DATA_URL a mirror (https, http or file) with the publishers' files "
    "as\n"
    "MIRROR/FOLDER/FILE.\n\n"
    "Examples:\n"
    "  farfield data get protein\n"
    "  farfield compare protein --target RMSD --shift 'F1 >= 20000'";

static int unknown_set(const char *name)
{
    const char *names[CELL_BYTES];
    size_t count = 0;
    for (; count < CELL_BYTES && far_dataset_at((int64_t)count); count++) {
        names[count] = far_dataset_at((int64_t)count)->name;
    }
    const char *near = nearest_name(name, names, count);
    if (near) {
        return usage_error(VERB, "there is no data set '%s'; did you mean %s?", name, near);
    }
    return usage_error(VERB, "there is no data set '%s'; 'farfield data list' shows all", name);
}

/* ---- list ---------------------------------------------------------------------------------- */

static int find_state(const job *j, const far_dataset *set, far_dataset_state *state, char *path)
{
    far_status st = far_dataset_where(j->s.ctx, set, j->args.data, state, path, PATH_BYTES);
    return st == FAR_OK ? EXIT_DONE : failure(VERB, "%s", far_ctx_message(j->s.ctx));
}

static const char *state_word(far_dataset_state state)
{
    static const char *const WORDS[] = {"no", "part", "yes"};
    return WORDS[state];
}

static void print_line(const char *name, const char *shape, const char *size, const char *here,
                       const char *target, const char *purpose, const char *shift)
{
    printf("%-14s  %12s  %8s  %-4s  %-16s  %s", name, shape, size, here, target, purpose);
    printf(shift ? ", --shift '%s'\n" : "\n", shift);
}

static void print_set(const far_dataset *set, far_dataset_state state)
{
    char shape[CELL_BYTES], size[SHOW_BYTES];
    snprintf(shape, sizeof shape, "%lld x %lld", (long long)set->rows, (long long)set->cols);
    print_line(set->name, shape, show_size((double)set->bytes, size), state_word(state),
               set->target, set->purpose, set->shift);
}

static void print_set_json(const far_dataset *set, far_dataset_state state, const char *path)
{
    json_begin(stdout);
    json_text_field(stdout, "name", set->name);
    json_text_field(stdout, "title", set->title);
    json_text_field(stdout, "purpose", set->purpose);
    json_text_field(stdout, "target", set->target);
    if (set->shift) {
        json_text_field(stdout, "shift", set->shift);
    } else {
        json_null_field(stdout, "shift");
    }
    json_text_field(stdout, "page", set->page);
    json_number_field(stdout, "rows", (double)set->rows);
    json_number_field(stdout, "cols", (double)set->cols);
    json_number_field(stdout, "bytes", (double)set->bytes);
    json_text_field(stdout, "here", state_word(state));
    json_text_field(stdout, "path", path);
    json_close(stdout);
}

static int list_sets(const job *j, const char *folder)
{
    char path[PATH_BYTES];
    const far_dataset *set;
    int code = EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && (set = far_dataset_at(i)); i++) {
        far_dataset_state state;
        code = find_state(j, set, &state, path);
        if (code == EXIT_DONE && j->args.json) {
            fputs(i ? ",\n " : "\n ", stdout);
            print_set_json(set, state, path);
        } else if (code == EXIT_DONE) {
            print_set(set, state);
        }
    }
    if (code == EXIT_DONE && !j->args.json) {
        printf("\nThey lie in %s; 'farfield data get NAME' brings one there.\n", folder);
    }
    return code;
}

static int run_list(const job *j, const char *folder)
{
    if (!j->args.json) {
        print_line("name", "rows x cols", "on disk", "here", "target", "what for", NULL);
        return list_sets(j, folder);
    }
    json_begin(stdout);
    json_text_field(stdout, "folder", folder);
    json_key(stdout, "sets");
    fputs("[", stdout);
    int code = list_sets(j, folder);
    fputs("]", stdout);
    json_end(stdout);
    return code;
}

/* ---- where --------------------------------------------------------------------------------- */

static int not_here(const far_dataset *set, far_dataset_state state)
{
    char size[SHOW_BYTES];
    if (state == FAR_DATASET_BEGUN) {
        return failure(VERB, "%s is not whole; 'farfield data get %s' goes on with it", set->name,
                       set->name);
    }
    return failure(VERB, "%s is not here; 'farfield data get %s' downloads it (%s)", set->name,
                   set->name, show_size((double)set->bytes, size));
}

static int run_where(const job *j, const far_dataset *set)
{
    char path[PATH_BYTES];
    far_dataset_state state;
    int code = find_state(j, set, &state, path);
    if (code != EXIT_DONE) {
        return code;
    }
    if (j->args.json) {
        print_set_json(set, state, path);
        putchar('\n');
        return state == FAR_DATASET_HERE ? EXIT_DONE : EXIT_FAILED;
    }
    if (state != FAR_DATASET_HERE) {
        return not_here(set, state);
    }
    printf("%s\n", path);
    return EXIT_DONE;
}

/* ---- get ----------------------------------------------------------------------------------- */

static void tell_report(const job *j, const far_dataset *set, const far_fetch_report *r)
{
    char size[SHOW_BYTES];
    if (!*r->from) {
        session_say(&j->s, "%s is here already", set->name);
        return;
    }
    session_say(&j->s, "%s: %s%s from %s%s", set->name, show_size((double)r->bytes, size),
                r->resumed ? " more" : "", r->from, r->verified ? ", verified by SHA-256" : "");
    if (!r->verified) {
        session_say(&j->s, "%s: %s is not verified: its SHA-256 is %s", set->name, r->file,
                    r->sha256);
    }
}

static void print_report_json(const far_dataset *set, const far_fetch_report *r, const char *path)
{
    json_begin(stdout);
    json_text_field(stdout, "name", set->name);
    json_text_field(stdout, "path", path);
    json_text_field(stdout, "from", r->from);
    json_number_field(stdout, "bytes", (double)r->bytes);
    json_bool_field(stdout, "resumed", r->resumed);
    if (*r->from) {
        json_bool_field(stdout, "verified", r->verified);
    } else {
        json_null_field(stdout, "verified");
    }
    if (!r->verified) {
        json_text_field(stdout, "file", r->file);
        json_text_field(stdout, "sha256", r->sha256);
    }
    json_end(stdout);
}

static int run_get(job *j, const far_dataset *set)
{
    char path[PATH_BYTES];
    far_fetch_opts opts;
    far_fetch_report report;
    far_dataset_state state;
    far_fetch_opts_init(&opts);
    opts.folder = j->args.data;
    opts.unverified = j->args.unverified;
    interrupts_hold();
    far_status st = far_dataset_get(j->s.ctx, set, &opts, &report);
    progress_end(&j->s.bar);
    int code = st == FAR_OK ? EXIT_DONE : failure(VERB, "%s", far_ctx_message(j->s.ctx));
    session_idle(&j->s);
    code = code == EXIT_DONE ? find_state(j, set, &state, path) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    tell_report(j, set, &report);
    if (j->args.json) {
        print_report_json(set, &report, path);
    } else {
        printf("%s\n", path);
    }
    return EXIT_DONE;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run_named(job *j, const command_line *line)
{
    const far_dataset *set = far_dataset_find(line->operands[1]);
    if (!set) {
        return unknown_set(line->operands[1]);
    }
    return strcmp(line->operands[0], "get") == 0 ? run_get(j, set) : run_where(j, set);
}

static int run_all(const job *j, const command_line *line)
{
    char folder[PATH_BYTES];
    if (far_dataset_folder(j->s.ctx, j->args.data, folder, sizeof folder) != FAR_OK) {
        return failure(VERB, "%s", far_ctx_message(j->s.ctx));
    }
    if (strcmp(line->operands[0], "list") == 0) {
        return run_list(j, folder);
    }
    printf("%s\n", folder);
    return EXIT_DONE;
}

static int check_usage(const command_line *line)
{
    static const char *const WORDS[] = {"list", "get", "where"};
    const char *word = line->operands[0];
    if (!word) {
        return usage_error(VERB, "list, get or where?");
    }
    if (strcmp(word, "list") != 0 && strcmp(word, "get") != 0 && strcmp(word, "where") != 0) {
        const char *near = nearest_name(word, WORDS, 3);
        return near ? usage_error(VERB, "unknown word '%s'; did you mean %s?", word, near)
                    : usage_error(VERB, "unknown word '%s'; there are list, get, where", word);
    }
    if (strcmp(word, "get") == 0 && line->operand_count < 2) {
        return usage_error(VERB, "get which data set? 'farfield data list' shows all");
    }
    if (strcmp(word, "list") == 0 && line->operand_count > 1) {
        return usage_error(VERB, "unexpected argument '%s'", line->operands[1]);
    }
    return OPTIONS_OK;
}

/* The folder that is taken without --data, for the help. */
static const char *default_folder(far_ctx *ctx, char out[PATH_BYTES])
{
    return far_dataset_folder(ctx, NULL, out, PATH_BYTES) == FAR_OK ? out : NULL;
}

int cmd_data(int argc, char **argv)
{
    job j = {0};
    char folder[PATH_BYTES];
    command_line line = {.verb = VERB,
                         .usage = USAGE,
                         .about = ABOUT,
                         .notes = NOTES,
                         .options = OPTIONS,
                         .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
                         .most_operands = 2};
    int code = session_open(&j.s, VERB, 1, false);
    if (code != EXIT_DONE) {
        return code;
    }
    j.args.data = default_folder(j.s.ctx, folder);
    code = options_parse(&line, argc, argv, &j.args);
    code = code == OPTIONS_OK ? check_usage(&line) : code;
    if (code == OPTIONS_OK) {
        j.s.quiet = j.args.quiet;
        progress_init(&j.s.bar, j.args.quiet);
        code = line.operand_count > 1 ? run_named(&j, &line) : run_all(&j, &line);
    }
    session_close(&j.s);
    return code;
}
