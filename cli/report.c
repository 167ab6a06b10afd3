#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
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

static int open_folder(session *s, const char *folder, report *r)
{
    *r = (report){.s = s, .folder = folder};
    return folder ? make_folder(r) : EXIT_DONE;
}

/* FOLDER/NAME; NULL without memory. */
static char *path_in(const report *r, const char *name)
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

static int write_page(report *r)
{
    char *path = path_in(r, "report.html");
    far_status st = path ? far_result_save(r->s->ctx, r->result, path) : FAR_ERR_MEMORY;
    free(path);
    r->written = st == FAR_OK;
    return st == FAR_OK           ? EXIT_DONE
           : st == FAR_ERR_MEMORY ? failure(r->s->verb, "report: out of memory")
                                  : session_failure(r->s, NULL);
}

int report_possible(session *s, const char *folder)
{
    report r;
    interrupts_hold();
    int code = open_folder(s, folder, &r);
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

int session_run(const char *verb_name, int code, verb_job v)
{
    if (code != OPTIONS_OK) {
        return code;
    }
    code = session_start(v.s, verb_name, v.common);
    code = code == EXIT_DONE ? v.run(v.job) : code;
    if (v.clean) {
        v.clean(v.job);
    }
    session_close(v.s);
    return code;
}

int report_begin(session *s, const common_args *a, const char *title, report *r)
{
    int code = open_folder(s, a->report, r);
    r->json = a->json;
    r->quiet = a->quiet;
    if (code == EXIT_DONE) {
        far_status st = far_result_create(s->ctx, title, &r->result);
        code = st == FAR_OK ? EXIT_DONE : failure(s->verb, "out of memory");
    }
    return code;
}

void report_written(report *r, const char *key, const char *label, const char *path)
{
    if (path) {
        far_result_text(r->result, key, path, label, NULL);
    }
}

int report_print(const report *r)
{
    char *text = NULL;
    far_ctx *ctx = r->s->ctx;
    far_status st =
        far_result_render(ctx, r->result, r->json ? FAR_FORMAT_JSON : FAR_FORMAT_TEXT, &text);
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
    if (!r->s->quiet) {
        far_result_for(r->result, FAR_FOR_TEXT);
        far_result_say(r->result, "report", "%s/report.html", r->folder);
    }
}

int report_end(report *r, int code)
{
    if (code == EXIT_DONE && r->folder) {
        char *command = session_command();
        report_fact(r, "command", "%s", command ? command : "");
        free(command);
        code = write_page(r);
        say_where(r);
    }
    session_idle(r->s); /* does not come back after Ctrl-C */
    if (code == EXIT_DONE && (r->json || !r->quiet)) {
        code = report_print(r);
    }
    report_close(r);
    return code;
}

/* ---- facts --------------------------------------------------------------------------------- */

void report_fact(report *r, const char *key, const char *format, ...)
{
    char words[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    far_result_origin(r->result, key, "%s", words);
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
    char *path = r->file_count < REPORT_FILES ? path_in(r, file) : NULL;
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
