/* What a verb found, as one far_result: text or JSON on standard output and, with --report DIR, a
 * folder with report.html in it.
 *
 * The pieces return nothing: after the first that fails the others do nothing, and report_end tells
 * of it. */
#ifndef FAR_CLI_REPORT_H
#define FAR_CLI_REPORT_H

#include "session.h"

#include <farfield/result.h>

enum { REPORT_FILES = 32 };

/* Zero-initialise; report_close is always safe. */
typedef struct report report;
struct report {
    session *s;
    const char *folder; /* NULL: nobody asked for one */
    bool made_folder;
    bool json, quiet;          /* what report_end prints */
    far_result *result;        /* NULL: none was begun */
    far_figure *figure;        /* the one being drawn */
    char *files[REPORT_FILES]; /* that stand beside the page */
    int file_count;
    bool written;
};

/* session_open with the options that all verbs share, and report_possible. */
int session_start(session *s, const char *verb_name, const common_args *a);
/* What a verb does behind its command line: session_start, run, clean, session_close. code: what
 * the command line gave; unless it is OPTIONS_OK it is returned and nothing done. clean may be
 * NULL. */
typedef struct verb_job {
    session *s;
    const common_args *common;
    int (*run)(void *job);
    void (*clean)(void *job);
    void *job;
} verb_job;
int session_run(const char *verb_name, int code, verb_job v);

/* Opens the folder, if one is asked for, and begins the result: add to r->result. Returns an exit
 * code, with a line on stderr if it is not 0. */
int report_begin(session *s, const common_args *a, const char *title, report *r);
/* Writes the page, lets Ctrl-C end the process (session_idle), prints text or JSON, frees. code:
 * what report_begin returned; if it is not 0 nothing is written. Returns an exit code, as above. */
int report_end(report *r, int code);
/* Text or JSON, as report_end does. */
int report_print(const report *r);
/* "written": the file, in JSON and, with a label, for people. path NULL: nothing. */
void report_written(report *r, const char *key, const char *label, const char *path);

/* Whether a report can be written there: to ask before hours of work, not after. Returns an exit
 * code, with a line on stderr if it is not 0. */
int report_possible(session *s, const char *folder);
/* Keeps the first status that is not FAR_OK, of what was made elsewhere. */
void report_check(report *r, far_status st);
/* Frees. A folder that was made and got no report goes. */
void report_close(report *r);
/* ---- how to reproduce it ---- */

__attribute__((format(printf, 3, 4))) void report_fact(report *r, const char *key,
                                                       const char *format, ...);
/* "seeds": "3", "0 to 4". */
void report_seeds(report *r, uint64_t first, int64_t count);

/* ---- a figure: opened, filled, placed ---- */

/* Options with labels; width and height are those of a page. */
far_figure_opts report_axes(const char *x_label, const char *y_label);
void report_draw(report *r, const far_figure_opts *opts);
/* label may be NULL: no entry in the legend. colour as in far_mark_opts. */
far_mark_opts report_mark(const char *label, int colour);
void report_line(report *r, far_mark_opts mark, const double *x, const double *y, int64_t n);
void report_band(report *r, far_mark_opts mark, const double *x, const double *low,
                 const double *high, int64_t n);
void report_points(report *r, far_mark_opts mark, const double *x, const double *y, int64_t n);
void report_bars(report *r, far_mark_opts mark, const double *values, const double *half_widths,
                 int64_t n);
void report_rule(report *r, int direction, double value, const char *label);
/* Puts the figure into the page; name.csv is what its link offers. */
void report_place(report *r, const char *name, const char *caption);
/* The figure to place was made elsewhere, with that status. */
void report_give(report *r, far_status st, far_figure *figure);
/* The figure itself, for a grid; NULL after a failure. Destroy it. */
far_figure *report_take(report *r);
/* The figure to place is a grid of these (some may be NULL), which it destroys. */
void report_grid(report *r, far_figure **figures, int64_t rows, int64_t cols,
                 const far_grid_opts *opts);
/* Also as files in the folder: name.svg, and name.png where the library can. Before it is placed.
 */
void report_figure_files(report *r, const char *name);

#endif
