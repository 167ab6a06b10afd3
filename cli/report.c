#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---------------------------------------------------------------------------- */

static int folder_failure(const report *r)
{
    return failure(r->s->verb, "%s: cannot write: %s", r->folder, strerror(errno));
}

static int make_folder(report *r)
{
    struct stat old;
    if (mkdir(r->folder, 0777) == 0) {
        r->made_folder = true;
        return EXIT_DONE;
    }
    if (errno != EEXIST || stat(r->folder, &old) != 0) {
        return folder_failure(r);
    }
    if (!S_ISDIR(old.st_mode)) {
        return failure(r->s->verb, "%s: cannot write: it is no directory", r->folder);
    }
    return access(r->folder, W_OK | X_OK) == 0 ? EXIT_DONE : folder_failure(r);
}

int report_open(session *s, const char *folder, report *r)
{
    *r = (report){.s = s, .folder = folder};
    return folder ? make_folder(r) : EXIT_DONE;
}

char *report_path(const report *r, const char *name)
{
    char *path;
    size_t length = strlen(r->folder);
    const char *slash = length > 0 && r->folder[length - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", r->folder, slash, name) < 0 ? NULL : path;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Pictures are drawn for a page only. */
static bool draws(const report *r)
{
    return r->result && r->folder;
}

void report_check(report *r, far_status st)
{
    far_result_check(r->result, st);
}

void report_title(report *r, const char *title)
{
    if (far_result_create(r->s->ctx, title, &r->result) != FAR_OK) {
        r->result = NULL;
    }
}

static int write_page(const report *r)
{
    char *path = report_path(r, "report.html");
    far_status st = path ? far_result_save_page(r->s->ctx, r->result, path) : FAR_ERR_MEMORY;
    free(path);
    return st == FAR_OK           ? EXIT_DONE
           : st == FAR_ERR_MEMORY ? failure(r->s->verb, "report: out of memory")
                                  : session_failure(r->s, NULL);
}

int report_write(report *r)
{
    if (!r->folder) {
        return EXIT_DONE;
    }
    int code = r->result ? write_page(r) : failure(r->s->verb, "report: out of memory");
    r->written = code == EXIT_DONE;
    return code;
}

static void drop_cells(report *r)
{
    for (int64_t i = 0; i < r->cell_count; i++) {
        free(r->cells[i]);
    }
    free(r->cells);
    r->cells = NULL;
    r->cell_count = r->cell_room = 0;
}

int report_possible(session *s, const char *folder)
{
    report r;
    interrupts_hold();
    int code = report_open(s, folder, &r);
    report_close(&r);
    interrupts_release(); /* does not come back after Ctrl-C */
    return code;
}

static void drop_files(report *r)
{
    bool vain = r->made_folder && !r->written;
    for (int i = 0; i < r->file_count; i++) {
        if (vain) {
            unlink(r->files[i]);
        }
        free(r->files[i]);
    }
    if (vain) {
        rmdir(r->folder);
    }
}

void report_close(report *r)
{
    drop_files(r);
    drop_cells(r);
    far_figure_destroy(r->figure);
    far_result_destroy(r->result);
    *r = (report){0};
}

/* ---- from begin to end --------------------------------------------------------------------- */

int session_start(session *s, const char *verb_name, const common_args *a)
{
    int code = session_open(s, verb_name, a->threads, a->quiet);
    return code == EXIT_DONE ? report_possible(s, a->report) : code;
}

int report_begin(session *s, const common_args *a, const char *title, report *r)
{
    int code = report_open(s, a->report, r);
    r->json = a->json;
    r->quiet = a->quiet;
    if (code == EXIT_DONE) {
        report_title(r, title);
        code = r->result ? EXIT_DONE : failure(s->verb, "out of memory");
    }
    return code;
}

void report_written(report *r, const char *key, const char *label, const char *path)
{
    if (path) {
        far_result_text(r->result, key, path, label, NULL);
    }
}

static int print_result(const report *r)
{
    char *text = NULL;
    far_ctx *ctx = r->s->ctx;
    far_status st = r->json ? far_result_as_json(ctx, r->result, &text)
                            : far_result_as_text(ctx, r->result, &text);
    if (st == FAR_OK) {
        fputs(text, stdout);
    }
    far_text_free(ctx, text);
    return st == FAR_OK ? EXIT_DONE : session_failure(r->s, NULL);
}

static void say_where(report *r)
{
    far_result_for(r->result, FAR_FOR_JSON);
    far_result_text(r->result, "report", r->folder, NULL, NULL);
    far_result_for(r->result, FAR_FOR_TEXT);
    far_result_say(r->result, "report", "%s/report.html", r->folder);
}

int report_end(report *r, int code)
{
    if (code == EXIT_DONE && r->folder) {
        report_command(r, session_words, session_typed);
        code = report_write(r);
        say_where(r);
    }
    session_idle(r->s); /* does not come back after Ctrl-C */
    if (code == EXIT_DONE && (r->json || !r->quiet)) {
        code = print_result(r);
    }
    report_close(r);
    return code;
}

/* ---- words --------------------------------------------------------------------------------- */

enum { WORDS_BYTES = 4096 };

#define PRINT_WORDS(words)                                                                         \
    char words[WORDS_BYTES];                                                                       \
    va_list args;                                                                                  \
    va_start(args, format);                                                                        \
    vsnprintf(words, sizeof words, format, args);                                                  \
    va_end(args)

void report_verdict(report *r, far_tone tone, const char *format, ...)
{
    PRINT_WORDS(words);
    far_result_verdict(r->result, tone, "%s", words);
}

void report_heading(report *r, const char *text)
{
    far_result_heading(r->result, text);
}

void report_text(report *r, const char *format, ...)
{
    PRINT_WORDS(words);
    far_result_say(r->result, NULL, "%s", words);
}

void report_fact(report *r, const char *key, const char *format, ...)
{
    PRINT_WORDS(words);
    far_result_origin(r->result, key, "%s", words);
}

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

void report_command(report *r, int argc, char **argv)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        return;
    }
    fputs("farfield", out);
    for (int i = 0; i < argc; i++) {
        fputc(' ', out);
        put_quoted(out, argv[i]);
    }
    fclose(out);
    far_result_origin(r->result, "command", "%s", text ? text : "");
    free(text);
}

void report_seeds(report *r, uint64_t first, int64_t count)
{
    if (count > 1) {
        report_fact(r, "seeds", "%llu to %llu", (unsigned long long)first,
                    (unsigned long long)(first + (uint64_t)count - 1));
    } else {
        report_fact(r, "seed", "%llu", (unsigned long long)first);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static bool cell_fits(report *r)
{
    if (r->cell_count < r->cell_room) {
        return true;
    }
    int64_t room = r->cell_room > 0 ? 2 * r->cell_room : 64;
    char **grown = realloc(r->cells, (size_t)room * sizeof *grown);
    if (!grown) {
        report_check(r, FAR_ERR_MEMORY);
        return false;
    }
    r->cells = grown;
    r->cell_room = room;
    return true;
}

void report_cell(report *r, const char *format, ...)
{
    va_list args;
    char *text;
    if (!draws(r) || !cell_fits(r)) {
        return;
    }
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        report_check(r, FAR_ERR_MEMORY);
    } else {
        r->cells[r->cell_count++] = text;
    }
    va_end(args);
}

void report_number(report *r, const char *format, double value)
{
    char text[64] = "-";
    if (isfinite(value)) {
        snprintf(text, sizeof text, format, value);
    }
    report_cell(r, "%s", text);
}

void report_table(report *r, const char *caption, const char *const *heads, int64_t cols)
{
    far_result_column *columns = calloc((size_t)cols, sizeof *columns);
    for (int64_t j = 0; columns && j < cols; j++) {
        columns[j].head = heads[j];
    }
    report_check(r, columns ? FAR_OK : FAR_ERR_MEMORY);
    far_result_table(r->result, NULL, caption, columns, cols);
    for (int64_t i = 0; i < r->cell_count; i++) {
        far_result_cell_text(r->result, "%s", r->cells[i]);
    }
    free(columns);
    drop_cells(r);
}

/* ---- figures ------------------------------------------------------------------------------- */

far_figure_opts report_axes(const char *x_label, const char *y_label)
{
    far_figure_opts opts;
    far_figure_opts_init(&opts);
    opts.width = 760;
    opts.height = 430;
    opts.font = 15; /* still to be read where the picture takes one column of a paper */
    opts.x_label = x_label;
    opts.y_label = y_label;
    return opts;
}

void report_draw(report *r, const far_figure_opts *opts)
{
    if (draws(r)) {
        far_figure_destroy(r->figure);
        r->figure = NULL;
        report_check(r, far_figure_create(r->s->ctx, opts, &r->figure));
    }
}

far_mark_opts report_mark(const char *label, int colour)
{
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.label = label;
    mark.colour = colour;
    return mark;
}

void report_line(report *r, far_mark_opts mark, const double *x, const double *y, int64_t n)
{
    if (draws(r)) {
        report_check(r, far_figure_line(r->s->ctx, r->figure, x, y, n, &mark));
    }
}

void report_band(report *r, far_mark_opts mark, const double *x, const double *low,
                 const double *high, int64_t n)
{
    if (draws(r)) {
        report_check(r, far_figure_band(r->s->ctx, r->figure, x, low, high, n, &mark));
    }
}

void report_points(report *r, far_mark_opts mark, const double *x, const double *y, int64_t n)
{
    if (draws(r)) {
        report_check(r, far_figure_points(r->s->ctx, r->figure, x, y, n, &mark));
    }
}

void report_bars(report *r, far_mark_opts mark, const double *values, const double *half_widths,
                 int64_t n)
{
    if (draws(r)) {
        report_check(r, far_figure_bars(r->s->ctx, r->figure, values, half_widths, n, &mark));
    }
}

void report_histogram(report *r, far_mark_opts mark, const double *edges, const double *counts,
                      int64_t bins)
{
    if (draws(r)) {
        report_check(r, far_figure_histogram(r->s->ctx, r->figure, edges, counts, bins, &mark));
    }
}

void report_rule(report *r, int direction, double value, const char *label)
{
    far_mark_opts mark = report_mark(label, FAR_COLOUR_INK);
    if (draws(r)) {
        report_check(r, far_figure_rule(r->s->ctx, r->figure, direction, value, &mark));
    }
}

void report_place(report *r, const char *name, const char *caption)
{
    if (draws(r)) {
        far_result_figure(r->result, r->figure, name, caption);
        r->figure = NULL;
    }
}

void report_give(report *r, far_status st, far_figure *figure)
{
    if (!draws(r)) {
        far_figure_destroy(figure);
        return;
    }
    report_check(r, st);
    far_figure_destroy(r->figure);
    r->figure = figure;
}

far_figure *report_take(report *r)
{
    far_figure *figure = draws(r) ? r->figure : NULL;
    if (figure) {
        r->figure = NULL;
    }
    return figure;
}

void report_grid(report *r, far_figure **figures, int64_t rows, int64_t cols,
                 const far_grid_opts *opts)
{
    if (draws(r)) {
        far_figure_destroy(r->figure);
        r->figure = NULL;
        report_check(r, far_figure_grid(r->s->ctx, figures, rows, cols, opts, &r->figure));
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        far_figure_destroy(figures[i]);
    }
}

static far_status save_as(report *r, const char *name, const char *ending)
{
    char file[128];
    snprintf(file, sizeof file, "%s%s", name, ending);
    char *path = r->file_count < REPORT_FILES ? report_path(r, file) : NULL;
    if (!path) {
        return FAR_ERR_MEMORY;
    }
    far_status st = far_figure_save(r->s->ctx, r->figure, path);
    r->files[r->file_count++] = path;
    return st;
}

void report_figure_files(report *r, const char *name)
{
    if (draws(r)) {
        report_check(r, save_as(r, name, ".svg"));
    }
    if (draws(r)) {
        far_status st = save_as(r, name, ".png");
        report_check(r, st == FAR_ERR_ARG ? FAR_OK
                                          : st); /* built without a renderer: the svg will do */
    }
}
