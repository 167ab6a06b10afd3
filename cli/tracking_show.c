/* What train --track found. */
#include "report.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 6, LINES_MOST = 8 };

/* ---- for people ---------------------------------------------------------------------------- */

static int64_t shown_columns(const far_track *track)
{
    int64_t columns = far_track_describe(track).columns;
    return columns < FAR_TRACK_FIRST + SHOWN_MOST ? columns : FAR_TRACK_FIRST + SHOWN_MOST;
}

static bool row_at(const training *t, int64_t run, int level, double *row)
{
    const tracking *k = &t->track;
    return far_track_at_loss(t->s.ctx, k->tracks[run], k->levels[level], row) == FAR_OK;
}

static void add_level(far_result *r, const far_track *track, double seed, double level,
                      const double *row)
{
    bool reached = !isnan(row[FAR_TRACK_STEP]);
    far_result_cell(r, seed);
    far_result_cell(r, level);
    if (reached) {
        far_result_cell(r, row[FAR_TRACK_STEP]);
    } else {
        far_result_cell_text(r, "not reached");
    }
    far_result_cell(r, reached ? row[FAR_TRACK_TIME] : NAN);
    for (int64_t j = FAR_TRACK_FIRST; j < shown_columns(track); j++) {
        far_result_cell(r, reached ? row[j] : NAN);
    }
}

/* Where the losses of --track at-loss were first reached. */
static void tell_levels(far_result *r, const training *t)
{
    const tracking *k = &t->track;
    far_result_column columns[4 + SHOWN_MOST] = {{NULL, "seed", "%8.0f"},
                                                 {NULL, "at loss", "%10.4g"},
                                                 {NULL, "step", "%10.5g"},
                                                 {NULL, "time", "%10.4g"}};
    int64_t cols = 4;
    for (int64_t j = FAR_TRACK_FIRST; j < shown_columns(k->tracks[0]); j++) {
        columns[cols++] =
            (far_result_column){NULL, far_track_describe(k->tracks[0]).names[j], "%10.4g"};
    }
    double *row = calloc((size_t)far_track_describe(k->tracks[0]).columns, sizeof *row);
    far_result_table(r, NULL, "Where the loss of the track first falls to a level.", columns, cols);
    for (int64_t i = 0; row && i < k->count; i++) {
        for (int l = 0; l < k->level_count; l++) {
            if (row_at(t, i, l, row)) {
                add_level(r, k->tracks[i], (double)(t->args.seed + i), k->levels[l], row);
            }
        }
    }
    free(row);
}

/* The loss of a track is that of measures, which of squares is not the one of training. */
static void tell_loss(far_result *r, const training *t)
{
    double times = (double)far_net_describe(t->runs[0].net).outputs / 2;
    if (t->opts.loss == FAR_LOSS_MSE && times != 1) {
        far_result_say(r, "", "its loss is L = 1/(2N) sum |f - y|^2, %g times the mse above",
                       times);
    }
}

void tracking_tell(far_result *r, const training *t)
{
    const tracking *k = &t->track;
    if (!k->wanted) {
        return;
    }
    long long rows = (long long)far_track_describe(k->tracks[0]).rows.rows;
    far_result_say(r, "tracked", "%s at %lld points, every %lld step%s: %lld row%s in %s%s",
                   k->metrics, (long long)k->points, (long long)k->every, k->every == 1 ? "" : "s",
                   rows, rows == 1 ? "" : "s", k->files[0], k->count > 1 ? ", ..." : "");
    tell_loss(r, t);
    if (k->level_count > 0) {
        tell_levels(r, t);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void list_names(far_result *r, const far_track *track)
{
    int64_t count = far_track_describe(track).columns;
    const char **names = calloc((size_t)count + 1, sizeof *names);
    for (int64_t j = 0; names && j < count; j++) {
        names[j] = far_track_describe(track).names[j];
    }
    far_result_texts(r, "columns", names, count);
    free(names);
}

static void list_levels(far_result *r, const training *t, int64_t run)
{
    const tracking *k = &t->track;
    int64_t columns = far_track_describe(k->tracks[run]).columns, count = 0;
    double *rows = calloc((size_t)(columns * k->level_count) + 1, sizeof *rows);
    for (int l = 0; rows && l < k->level_count; l++) {
        double *row = rows + count * columns;
        if (row_at(t, run, l, row)) {
            row[FAR_TRACK_LOSS] = isnan(row[FAR_TRACK_LOSS]) ? k->levels[l] : row[FAR_TRACK_LOSS];
            count++;
        }
    }
    far_mat m = far_mat_view(rows, count, columns, FAR_F64);
    far_result_array(r, "at_loss", &m, (int64_t[]){count, columns}, 2);
    free(rows);
}

void tracking_list(far_result *r, const training *t, int64_t run)
{
    const tracking *k = &t->track;
    if (!k->wanted) {
        return;
    }
    far_mat rows = far_track_describe(k->tracks[run]).rows;
    far_result_open(r, "track");
    far_result_text(r, "file", k->files[run], NULL, NULL);
    far_result_count(r, "every", k->every, NULL, NULL);
    far_result_count(r, "points", k->points, NULL, NULL);
    far_result_number(r, "seconds", far_track_describe(k->tracks[run]).seconds, NULL, NULL);
    list_names(r, k->tracks[run]);
    far_result_array(r, "rows", &rows, (int64_t[]){rows.rows, rows.cols}, 2);
    list_levels(r, t, run);
    far_result_close(r);
}

/* ---- the report ---------------------------------------------------------------------------- */

/* One column of a track over time; NULL without memory. x and y are rows long. */
static int64_t take_column(const far_track *track, int64_t column, double *x, double *y)
{
    far_mat m = far_track_describe(track).rows;
    int64_t count = 0;
    for (int64_t i = 0; i < m.rows; i++) {
        const double *row = (const double *)m.data + i * m.cols;
        if (isfinite(row[column])) {
            x[count] = row[FAR_TRACK_TIME];
            y[count++] = row[column];
        }
    }
    return count;
}

static void put_line(report *r, const far_track *track, int64_t column, const char *label,
                     int colour)
{
    size_t most = (size_t)far_track_describe(track).rows.rows + 1;
    double *x = calloc(most, sizeof *x), *y = calloc(most, sizeof *y);
    if (x && y) {
        int64_t count = take_column(track, column, x, y);
        if (count > 0) {
            report_line(r, report_mark(label, colour), x, y, count);
        }
    }
    free(x);
    free(y);
}

/* One number a row: a line for every seed. */
static void put_single(report *r, const training *t, int64_t column)
{
    const tracking *k = &t->track;
    bool few = k->count > 1 && k->count <= LINES_MOST;
    for (int64_t i = 0; i < k->count; i++) {
        char label[48];
        snprintf(label, sizeof label, "seed %lld", (long long)(t->args.seed + i));
        put_line(r, k->tracks[i], column, few ? label : NULL, few ? (int)i : 0);
    }
}

/* Several: their lines, of the first seed. */
static void put_several(report *r, const training *t, int64_t column, int64_t values)
{
    const far_track *track = t->track.tracks[0];
    for (int64_t i = 0; i < values && i < LINES_MOST; i++) {
        put_line(r, track, column + i, far_track_describe(track).names[column + i], (int)i);
    }
}

static void put_measure(report *r, const training *t, const far_measure *m, int64_t column)
{
    char name[64], caption[512];
    bool several = m->values > 1;
    const char *label =
        several ? m->info->name : far_track_describe(t->track.tracks[0]).names[column];
    far_figure_opts o = report_axes("time", label);
    report_draw(r, &o);
    if (several) {
        put_several(r, t, column, m->values);
    } else {
        put_single(r, t, column);
    }
    snprintf(name, sizeof name, "track-%s", m->info->name);
    snprintf(caption, sizeof caption,
             "%s: %s. Time is rate times steps, for L = 1/(2N) sum of "
             "squares.%s",
             label, m->info->line, several ? " The first ones, of the first seed." : "");
    report_place(r, name, caption);
}

void tracking_report(report *r, const training *t)
{
    const tracking *k = &t->track;
    far_track_info tracked = far_track_describe(k->tracks[0]);
    int64_t column = FAR_TRACK_FIRST;
    far_result_for(r->result, FAR_FOR_PAGE); /* what follows is pictures */
    far_result_heading(r->result, "While it trained");
    far_result_for(r->result, FAR_FOR_ALL);
    for (int64_t i = 0; i < tracked.measure_count; i++) {
        put_measure(r, t, &tracked.measures[i], column);
        column += tracked.measures[i].values;
    }
}
