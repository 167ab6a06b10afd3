/* What train --track found: lines, JSON, figures. */
#include "json.h"
#include "report.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 6, LINES_MOST = 8 };

/* ---- the summary --------------------------------------------------------------------------- */

static int64_t shown_columns(const far_track *track)
{
    int64_t columns = far_track_columns(track);
    return columns < FAR_TRACK_FIRST + SHOWN_MOST ? columns : FAR_TRACK_FIRST + SHOWN_MOST;
}

static void print_heads(const far_track *track)
{
    print("\n%8s %10s %10s %10s", "seed", "at loss", "step", "time");
    for (int64_t j = FAR_TRACK_FIRST; j < shown_columns(track); j++) {
        print(" %10s", far_track_column(track, j));
    }
    puts(shown_columns(track) < far_track_columns(track) ? "  ..." : "");
}

static void print_level(const far_track *track, long long seed, double level, const double *row)
{
    print("%8lld %10.4g", seed, level);
    if (isnan(row[FAR_TRACK_STEP])) {
        puts("  not reached");
        return;
    }
    print(" %10.5g %10.4g", row[FAR_TRACK_STEP], row[FAR_TRACK_TIME]);
    for (int64_t j = FAR_TRACK_FIRST; j < shown_columns(track); j++) {
        print(" %10.4g", row[j]);
    }
    putchar('\n');
}

static bool row_at(const training *t, int64_t run, int level, double *row)
{
    const tracking *k = &t->track;
    return far_track_at_loss(t->s.ctx, k->tracks[run], k->levels[level], row) == FAR_OK;
}

static void print_levels(const training *t)
{
    const tracking *k = &t->track;
    double *row = calloc((size_t)far_track_columns(k->tracks[0]), sizeof *row);
    print_heads(k->tracks[0]);
    for (int64_t i = 0; row && i < k->count; i++) {
        for (int l = 0; l < k->level_count; l++) {
            if (row_at(t, i, l, row)) {
                print_level(k->tracks[i], (long long)(t->args.seed + i), k->levels[l], row);
            }
        }
    }
    free(row);
}

void tracking_print(const training *t)
{
    const tracking *k = &t->track;
    if (!k->wanted) {
        return;
    }
    long long rows = (long long)far_track_rows(k->tracks[0]).rows;
    print("%-14s%s at %lld points, every %lld step%s: %lld row%s in %s%s\n", "tracked", k->metrics,
          (long long)k->points, (long long)k->every, k->every == 1 ? "" : "s", rows,
          rows == 1 ? "" : "s", k->files[0], k->count > 1 ? ", ..." : "");
    if (k->level_count > 0) {
        print_levels(t);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_names(const far_track *track)
{
    json_key(stdout, "columns");
    for (int64_t j = 0; j < far_track_columns(track); j++) {
        fputs(j ? ", " : "[", stdout);
        json_quoted(stdout, far_track_column(track, j));
    }
    putchar(']');
}

static void json_levels(const training *t, int64_t run)
{
    const tracking *k = &t->track;
    int64_t columns = far_track_columns(k->tracks[run]);
    double *row = calloc((size_t)columns, sizeof *row);
    json_key(stdout, "at_loss");
    putchar('[');
    for (int l = 0; row && l < k->level_count; l++) {
        fputs(l ? ",\n  " : "\n  ", stdout);
        if (row_at(t, run, l, row)) {
            row[FAR_TRACK_LOSS] = isnan(row[FAR_TRACK_LOSS]) ? k->levels[l] : row[FAR_TRACK_LOSS];
            json_numbers(stdout, row, columns);
        }
    }
    putchar(']');
    free(row);
}

void tracking_print_json(const training *t, int64_t run)
{
    const tracking *k = &t->track;
    if (!k->wanted) {
        return;
    }
    far_mat rows = far_track_rows(k->tracks[run]);
    json_key(stdout, "track");
    json_begin(stdout);
    json_text_field(stdout, "file", k->files[run]);
    json_number_field(stdout, "every", (double)k->every);
    json_number_field(stdout, "points", (double)k->points);
    json_number_field(stdout, "seconds", far_track_seconds(k->tracks[run]));
    json_names(k->tracks[run]);
    json_key(stdout, "rows");
    json_matrix(stdout, &rows);
    json_levels(t, run);
    json_close(stdout);
}

/* ---- the report ---------------------------------------------------------------------------- */

/* One column of a track over time; NULL without memory. x and y are rows long. */
static int64_t take_column(const far_track *track, int64_t column, double *x, double *y)
{
    far_mat m = far_track_rows(track);
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
    size_t most = (size_t)far_track_rows(track).rows + 1;
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
        put_line(r, track, column + i, far_track_column(track, column + i), (int)i);
    }
}

static void put_measure(report *r, const training *t, const far_measure *m, int64_t column)
{
    char name[64], caption[512];
    bool several = m->values > 1;
    const char *label = several ? m->info->name : far_track_column(t->track.tracks[0], column);
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
    far_measure measures[FAR_TRACK_MEASURES];
    int64_t count = far_track_measures(k->tracks[0], measures), column = FAR_TRACK_FIRST;
    report_heading(r, "While it trained");
    for (int64_t i = 0; i < count; i++) {
        put_measure(r, t, &measures[i], column);
        column += measures[i].values;
    }
}
