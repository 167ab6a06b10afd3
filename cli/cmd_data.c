/* farfield data: published data sets, brought here by name; pictures as tables. */
#include "cli.h"
#include "files.h"
#include "options.h"
#include "picture.h"
#include "report.h"
#include "show.h"

#include <farfield/fetch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERB "data"

enum { PATH_BYTES = 4096, CELL_BYTES = 64 };

typedef struct data_args {
    const char *data, *size, *output;
    bool unverified, json, quiet;
    int64_t cols, rows; /* of size; 0: those of the picture */
} data_args;

typedef struct job {
    data_args args;
    session s;
} job;

/* For scripts byte by byte; a terminal is shown what it can print. */
static void print_path(const char *path)
{
    if (isatty(STDOUT_FILENO)) {
        print("%s\n", path);
    } else {
        puts(path);
    }
}

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(data_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--data", 0, AT(data), "DIR", "the folder that data sets lie in"),
    FLAG_OPTION("--unverified", 0, AT(unverified),
                "get: keep a file whose SHA-256 is not the one that is known, and tell\n"
                "which it is"),
    TEXT_OPTION("--size", 0, AT(size), "N|CxR",
                "image: N x N points, or C columns and R rows (those of the picture)"),
    OUTPUT_OPTION("image: write FILE (.csv, .csv.gz, .npy, .npz; else standard output)"),
    FLAG_OPTION("--json", 0, AT(json), "print JSON"),
    FLAG_OPTION("--quiet", 'q', AT(quiet), "no messages and no progress bar"),
};

static const char USAGE[] = "data list [--json]\n"
                            "data get NAME [options]\n"
                            "data where [NAME]\n"
                            "data verify [NAME]\n"
                            "data image FILE [--size N] [-o table.csv]";
static const char ABOUT[] =
    "Published data sets by name. 'data list' shows those that are known, 'data get' downloads "
    "one\n"
    "from its publisher and checks it, 'data where' prints its path (without NAME, the folder of\n"
    "all), 'data verify' compares the SHA-256 of what is here (without NAME, of all). Once it is\n"
    "here its name stands for DATA in fit, train, predict, certify, compare and gram.\n"
    "'data image' makes a table of a grey picture (PNG, PGM): a row for each point of a grid of\n"
    "[-1, 1]^2 with its place x, y and its grey, -1 for black and 1 for white.";
static const char NOTES[] =
    "A download that is interrupted goes on where it stopped. FARFIELD_DATA names another folder,\n"
    "for all verbs; FARFIELD_DATA_URL a mirror (https, http or file) with the publishers' files "
    "as\n"
    "MIRROR/FOLDER/FILE.\n\n"
    "Examples:\n"
    "  farfield data get protein\n"
    "  farfield compare protein --target RMSD --shift 'F1 >= 20000'\n"
    "  farfield data image camera.png --size 48 -o camera.csv";

static int unknown_set(const char *name)
{
    const char *names[CELL_BYTES];
    size_t count = 0;
    for (; count < CELL_BYTES && far_dataset_at((int64_t)count); count++) {
        names[count] = far_dataset_at((int64_t)count)->name;
    }
    const char *near = far_nearest_name(name, names, count);
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

/* What is printed, also where the messages are not. */
static int begin(job *j, report *out)
{
    common_args common = {.json = j->args.json};
    return report_begin(&j->s, &common, "Data sets", out);
}

static const char *state_word(far_dataset_state state)
{
    static const char *const WORDS[] = {"no", "part", "yes", "other"};
    return WORDS[state];
}

static void tell_set(far_result *r, const far_dataset *set, far_dataset_state state,
                     const char *path)
{
    far_result_text(r, "name", set->name, NULL, NULL);
    far_result_text(r, "title", set->title, NULL, NULL);
    far_result_text(r, "purpose", set->purpose, NULL, NULL);
    far_result_text(r, "target", set->target, NULL, NULL);
    far_result_text(r, "shift", set->shift, NULL, NULL);
    far_result_text(r, "page", set->page, NULL, NULL);
    far_result_count(r, "rows", set->rows, NULL, NULL);
    far_result_count(r, "cols", set->cols, NULL, NULL);
    far_result_count(r, "bytes", set->bytes, NULL, NULL);
    far_result_text(r, "here", state_word(state), NULL, NULL);
    far_result_text(r, "path", path, NULL, NULL);
}

static void add_row(far_result *r, const far_dataset *set, far_dataset_state state)
{
    char size[SHOW_BYTES];
    far_result_cell_text(r, "%s", set->name);
    far_result_cell_words(r, (double)set->rows, "%lldx%lld", (long long)set->rows,
                          (long long)set->cols);
    far_result_cell_words(r, (double)set->bytes, "%s", show_size((double)set->bytes, size));
    far_result_cell_text(r, "%s", state_word(state));
    far_result_cell_text(r, "%s", set->target);
    far_result_cell_text(r, set->shift ? "%s, --shift '%s'" : "%s", set->purpose, set->shift);
}

/* All data sets: rows of a table for people, objects in JSON. */
static int tell_sets(const job *j, far_result *r, bool rows)
{
    char path[PATH_BYTES];
    const far_dataset *set;
    int code = EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && (set = far_dataset_at(i)); i++) {
        far_dataset_state state;
        code = find_state(j, set, &state, path);
        if (code == EXIT_DONE && rows) {
            add_row(r, set, state);
        } else if (code == EXIT_DONE) {
            far_result_open(r, NULL);
            tell_set(r, set, state, path);
            far_result_close(r);
        }
    }
    return code;
}

static int run_list(job *j, const char *folder)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "name", NULL}, {NULL, "rows x cols", "%11g"}, {NULL, "on disk", "%8g"},
        {NULL, "here", NULL}, {NULL, "target", NULL},        {NULL, "what for", NULL}};
    report out;
    int code = begin(j, &out);
    far_result_text(out.result, "folder", folder, NULL, NULL);
    far_result_open_list(out.result, "sets");
    code = code == EXIT_DONE ? tell_sets(j, out.result, false) : code;
    far_result_close(out.result);
    far_result_table(out.result, NULL, NULL, COLUMNS, 6);
    code = code == EXIT_DONE ? tell_sets(j, out.result, true) : code;
    far_result_say(out.result, NULL, "They lie in %s; 'farfield data get NAME' brings one there.",
                   folder);
    return report_end(&out, code);
}

/* ---- where --------------------------------------------------------------------------------- */

/* path: where it would be. */
static int not_here(const far_dataset *set, far_dataset_state state, const char *path)
{
    char size[SHOW_BYTES];
    if (state == FAR_DATASET_BEGUN) {
        return failure(VERB, "%s: %s is not whole; 'farfield data get %s' goes on with it",
                       set->name, path, set->name);
    }
    return failure(VERB, "%s: %s is not there; 'farfield data get %s' downloads it (%s)", set->name,
                   path, set->name, show_size((double)set->bytes, size));
}

static int run_where(job *j, const far_dataset *set)
{
    char path[PATH_BYTES];
    far_dataset_state state;
    int code = find_state(j, set, &state, path);
    if (code != EXIT_DONE) {
        return code;
    }
    if (j->args.json) {
        report out;
        code = begin(j, &out);
        tell_set(out.result, set, state, path);
        code = report_end(&out, code);
        return code == EXIT_DONE && state < FAR_DATASET_HERE ? EXIT_FAILED : code;
    }
    if (state < FAR_DATASET_HERE) {
        return not_here(set, state, path);
    }
    if (state == FAR_DATASET_OTHER) {
        session_say(&j->s, "%s has not the size of the publisher's; see 'farfield data verify %s'",
                    set->name, set->name);
    }
    print_path(path);
    return EXIT_DONE;
}

static int where_all(job *j, const char *folder)
{
    report out;
    if (!j->args.json) {
        print_path(folder);
        return EXIT_DONE;
    }
    int code = begin(j, &out);
    far_result_text(out.result, "folder", folder, NULL, NULL);
    return report_end(&out, code);
}

/* ---- verify -------------------------------------------------------------------------------- */

typedef struct tally {
    int here, good;
} tally;

/* One that is here. */
static int verify_set(const job *j, far_result *r, const far_dataset *set, const char *path,
                      tally *t)
{
    far_status st = far_dataset_verify(j->s.ctx, set, j->args.data);
    char *problem = st == FAR_OK ? NULL : talk_flags(far_ctx_message(j->s.ctx));
    far_result_open(r, NULL);
    far_result_text(r, "name", set->name, NULL, NULL);
    far_result_text(r, "path", path, NULL, NULL);
    far_result_flag(r, "verified", st == FAR_OK, NULL, NULL);
    if (st != FAR_OK) {
        far_result_text(r, "problem", problem, NULL, NULL);
    } else {
        far_result_say(r, NULL, "%s: %s verified by SHA-256", set->name, path);
    }
    far_result_close(r);
    t->here++;
    t->good += st == FAR_OK;
    free(problem);
    return st == FAR_OK ? EXIT_DONE : failure(VERB, "%s: %s", set->name, far_ctx_message(j->s.ctx));
}

static int verify_all(const job *j, far_result *r, tally *t)
{
    char path[PATH_BYTES];
    const far_dataset *set;
    int code = EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && (set = far_dataset_at(i)); i++) {
        far_dataset_state state;
        code = find_state(j, set, &state, path);
        if (code == EXIT_DONE && state >= FAR_DATASET_HERE) {
            verify_set(j, r, set, path, t);
        }
    }
    return code;
}

/* set NULL: all that are here. */
static int run_verify(job *j, const far_dataset *set, const char *folder)
{
    tally t = {0};
    report out;
    char path[PATH_BYTES];
    far_dataset_state state = FAR_DATASET_HERE;
    int code = set ? find_state(j, set, &state, path) : EXIT_DONE;
    if (code == EXIT_DONE && state < FAR_DATASET_HERE) {
        code = not_here(set, state, path);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    code = begin(j, &out);
    far_result_open_list(out.result, "sets");
    int found = set ? verify_set(j, out.result, set, path, &t) : verify_all(j, out.result, &t);
    far_result_close(out.result);
    code = report_end(&out, code);
    if (t.here == 0) {
        session_say(&j->s, "no data set is in %s", folder);
    }
    code = code == EXIT_DONE ? found : code;
    return code == EXIT_DONE && t.good < t.here ? EXIT_FAILED : code;
}

/* ---- get ----------------------------------------------------------------------------------- */

static void tell_report(const job *j, const far_dataset *set, const far_fetch_report *r)
{
    char size[SHOW_BYTES];
    const char *verified = r->verified ? ", verified by SHA-256" : "";
    if (*r->from) {
        session_say(&j->s, "%s: %s%s from %s%s", set->name, show_size((double)r->bytes, size),
                    r->resumed ? " more" : "", r->from, verified);
    } else {
        session_say(&j->s, "%s is here already%s", set->name, verified);
    }
    if (!r->verified) {
        session_say(&j->s, "%s: %s is not verified: its SHA-256 is %s", set->name, r->file,
                    r->sha256);
    }
}

static int tell_fetched(job *j, const far_dataset *set, const far_fetch_report *f, const char *path)
{
    report out;
    int code = begin(j, &out);
    far_result *r = out.result;
    far_result_text(r, "name", set->name, NULL, NULL);
    far_result_text(r, "path", path, NULL, NULL);
    far_result_text(r, "from", f->from, NULL, NULL);
    far_result_count(r, "bytes", f->bytes, NULL, NULL);
    far_result_flag(r, "resumed", f->resumed, NULL, NULL);
    far_result_flag(r, "verified", f->verified, NULL, NULL);
    if (!f->verified) {
        far_result_text(r, "file", f->file, NULL, NULL);
        far_result_text(r, "sha256", f->sha256, NULL, NULL);
    }
    return report_end(&out, code);
}

static int run_get(job *j, const far_dataset *set)
{
    char path[PATH_BYTES];
    far_fetch_opts opts;
    far_fetch_report fetched;
    far_dataset_state state;
    opts = (far_fetch_opts){.size = sizeof opts};
    opts.folder = j->args.data;
    opts.unverified = j->args.unverified;
    interrupts_hold();
    far_status st = far_dataset_get(j->s.ctx, set, &opts, &fetched);
    progress_end(&j->s.bar);
    int code = st == FAR_OK ? EXIT_DONE : failure(VERB, "%s", far_ctx_message(j->s.ctx));
    session_idle(&j->s);
    code = code == EXIT_DONE ? find_state(j, set, &state, path) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    tell_report(j, set, &fetched);
    if (j->args.json) {
        return tell_fetched(j, set, &fetched, path);
    }
    print_path(path);
    return EXIT_DONE;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

static int run_named(job *j, const command_line *line)
{
    if (is(line->operands[0], "image")) {
        return picture_write(&j->s, line->operands[1], j->args.cols, j->args.rows, j->args.output);
    }
    const far_dataset *set = far_dataset_find(line->operands[1]);
    if (!set) {
        return unknown_set(line->operands[1]);
    }
    const char *word = line->operands[0];
    return is(word, "get")      ? run_get(j, set)
           : is(word, "verify") ? run_verify(j, set, NULL)
                                : run_where(j, set);
}

static int run_all(job *j, const command_line *line)
{
    char folder[PATH_BYTES];
    if (far_dataset_folder(j->s.ctx, j->args.data, folder, sizeof folder) != FAR_OK) {
        return failure(VERB, "%s", far_ctx_message(j->s.ctx));
    }
    const char *word = line->operands[0];
    return is(word, "list")     ? run_list(j, folder)
           : is(word, "verify") ? run_verify(j, NULL, folder)
                                : where_all(j, folder);
}

static bool is_word(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is(word, words[i])) {
            return true;
        }
    }
    return false;
}

static int check_image(const command_line *line, data_args *a)
{
    if (line->operand_count < 2) {
        return usage_error(VERB, "image of which file?");
    }
    if (a->json) {
        return usage_error(VERB, "--json does not go with image; -o table.csv");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    return a->size ? grid_size_read(VERB, "--size", a->size, &a->cols, &a->rows) : OPTIONS_OK;
}

static int check_no_image(const char *word, const data_args *a)
{
    return a->size || a->output ? usage_error(VERB, "%s goes with image, not with %s",
                                              a->size ? "--size" : "--output", word)
                                : OPTIONS_OK;
}

static int check_usage(const command_line *line, data_args *a)
{
    static const char *const WORDS[] = {"list", "get", "where", "verify", "image"};
    enum { COUNT = sizeof WORDS / sizeof WORDS[0] };
    const char *word = line->operands[0];
    if (!word) {
        return usage_error(VERB, "list, get, where, verify or image?");
    }
    if (!is_word(word, WORDS, COUNT)) {
        const char *near = far_nearest_name(word, WORDS, COUNT);
        return near ? usage_error(VERB, "unknown word '%s'; did you mean %s?", word, near)
                    : usage_error(VERB,
                                  "unknown word '%s'; there are list, get, where, verify, image",
                                  word);
    }
    if (is(word, "get") && line->operand_count < 2) {
        return usage_error(VERB, "get which data set? 'farfield data list' shows all");
    }
    if (is(word, "list") && line->operand_count > 1) {
        return usage_error(VERB, "unexpected argument '%s'", line->operands[1]);
    }
    if (a->unverified && !is(word, "get")) {
        return usage_error(VERB, "--unverified goes with get, not with %s", word);
    }
    return is(word, "image") ? check_image(line, a) : check_no_image(word, a);
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
    command_line line = {VERB_LINE, .notes = NOTES, .most_operands = 2};
    int code = session_open(&j.s, VERB, 1, false);
    if (code != EXIT_DONE) {
        return code;
    }
    j.args.data = default_folder(j.s.ctx, folder);
    code = options_parse(&line, argc, argv, &j.args);
    code = code == OPTIONS_OK ? check_usage(&line, &j.args) : code;
    if (code == OPTIONS_OK) {
        j.s.quiet = j.args.quiet;
        progress_init(&j.s.bar, j.args.quiet);
        code = line.operand_count > 1 ? run_named(&j, &line) : run_all(&j, &line);
    }
    session_close(&j.s);
    return code;
}
