/* A comparison, with pictures. */
#include "columns_show.h"
#include "comparison.h"
#include "report_verbs.h"

#include <farfield/predictor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID_COLUMNS = 3,
    MOST_PANELS = 12,
    MOST_POINTS = 1500,
    SMOOTH_POINTS = 121,
    NAME_BYTES = 24
};
static const double SMOOTH_PART = 0.5, SIDE = 0.03;

/* ---- scores -------------------------------------------------------------------------------- */

/* Which score: R2 of numbers, one of far_compare_row's of classes. */
typedef struct kind_of_score {
    const char *name, *file;
    int place; /* of classes; -1: R2 */
    double floor, top;
} kind_of_score;

static far_compare_average score_of(const far_compare_row *row, const kind_of_score *k, bool out)
{
    return k->place < 0 ? (out ? row->r2_out : row->r2_in) : (out ? row->out : row->in)[k->place];
}

/* Names and values of the models that have some: the score in range, half of its interval, the same
 * out of range; room for all models each. */
typedef struct scores {
    int64_t count, room;
    bool cut; /* some are below the picture */
    char (*shown)[NAME_BYTES];
    const char **names;
    double *values;
} scores;

static void shorten(const char *name, char out[NAME_BYTES])
{
    bool fits = strlen(name) < NAME_BYTES;
    snprintf(out, NAME_BYTES, "%.*s%s", fits ? NAME_BYTES : NAME_BYTES - 4, name,
             fits ? "" : "...");
}

static bool scores_make(const far_comparison *c, int64_t models, const kind_of_score *k, scores *s)
{
    *s = (scores){.room = models,
                  .shown = calloc((size_t)models, sizeof *s->shown),
                  .names = calloc((size_t)models, sizeof *s->names),
                  .values = calloc((size_t)(4 * models), sizeof *s->values)};
    for (int64_t i = 0; s->shown && s->names && s->values && i < models; i++) {
        const far_compare_row *row = far_comparison_row(c, i);
        if (comparison_scored(row)) {
            double *v = s->values + s->count;
            shorten(row->model, s->shown[s->count]);
            s->names[s->count] = s->shown[s->count];
            far_compare_average in = score_of(row, k, false), out = score_of(row, k, true);
            v[0] = in.mean;
            v[models] = in.ci95;
            v[2 * models] = out.mean;
            v[3 * models] = out.ci95;
            s->cut = s->cut || fmin(v[0], v[2 * models]) < k->floor;
            s->count++;
        }
    }
    return s->count > 0;
}

static void scores_free(scores *s)
{
    free(s->shown);
    free(s->names);
    free(s->values);
}

static void put_scores(report *r, const far_comparison *c, const far_comparison_info *info,
                       const kind_of_score *k)
{
    scores s;
    if (scores_make(c, info->models, k, &s)) {
        far_figure_opts o = report_axes(NULL, k->name);
        o.width = s.count > 8 ? 960 : o.width;
        o.categories = s.names;
        o.category_count = s.count;
        o.y_min = s.cut ? k->floor : NAN;
        o.y_max = s.cut ? 1 : k->top;
        o.note = s.cut ? "Bars that reach -1 go on below; see the table." : NULL;
        report_draw(r, &o);
        report_bars(r, report_mark("in range", FAR_COLOUR_NEXT), s.values, s.values + s.room,
                    s.count);
        report_bars(r, report_mark("out of range", FAR_COLOUR_NEXT), s.values + 2 * s.room,
                    s.values + 3 * s.room, s.count);
        report_place(r, k->file,
                     "What a score in range says about one out of range: bars of a pair differ by "
                     "what the shift costs. Whiskers: 95% intervals over seeds.");
    }
    scores_free(&s);
}

static void put_all_scores(report *r, const far_comparison *c, const far_comparison_info *info)
{
    static const kind_of_score R2 = {"R^{2}", "scores", -1, -1, NAN};
    static const kind_of_score CLASSES[] = {
        {"accuracy", "scores", FAR_COMPARE_ACCURACY, -INFINITY, 1},
        {"log loss", "log_loss", FAR_COMPARE_LOG_LOSS, -INFINITY, NAN}};
    for (int i = 0; i < (info->classes > 0 ? 2 : 1); i++) {
        put_scores(r, c, info, info->classes > 0 ? &CLASSES[i] : &R2);
    }
}

/* ---- predictions out of range, of the first seed -------------------------------------------- */

/* Rows out of range, at most MOST_POINTS of them, evenly chosen. */
typedef struct outside {
    int64_t count;
    int64_t *places; /* among far_comparison_points */
    double *truth, *prediction;
    double low, high; /* of the truth */
    int64_t beyond;   /* predictions outside the pictures */
} outside;

static bool outside_make(const far_compare_points *p, outside *o)
{
    int64_t total = 0, seen = 0;
    for (int64_t i = 0; i < p->count; i++) {
        total += p->out[i];
    }
    int64_t step = total / MOST_POINTS + 1;
    *o = (outside){.low = INFINITY, .high = -INFINITY};
    o->places = calloc((size_t)total + 1, sizeof *o->places);
    o->truth = calloc((size_t)total + 1, sizeof *o->truth);
    o->prediction = calloc((size_t)total + 1, sizeof *o->prediction);
    for (int64_t i = 0; o->places && o->truth && o->prediction && i < p->count; i++) {
        if (p->out[i] && seen++ % step == 0) {
            o->truth[o->count] = p->truth[i];
            o->places[o->count++] = i;
            o->low = fmin(o->low, p->truth[i]);
            o->high = fmax(o->high, p->truth[i]);
        }
    }
    return o->count > 0 && o->high > o->low;
}

static void outside_free(outside *o)
{
    free(o->places);
    free(o->truth);
    free(o->prediction);
}

/* One model's panel: what runs further away than the truth is wide lies beyond the picture. */
static far_figure *draw_panel(report *r, const far_compare_run *run, const char *name, int colour,
                              outside *o)
{
    double wide = o->high - o->low, ends[] = {o->low, o->high};
    far_figure_opts opts = report_axes(NULL, NULL);
    opts.title = name;
    opts.x_min = o->low - SIDE * wide;
    opts.x_max = o->high + SIDE * wide;
    opts.y_min = o->low - wide;
    opts.y_max = o->high + wide;
    for (int64_t i = 0; i < o->count; i++) {
        o->prediction[i] = run->prediction[o->places[i]];
        o->beyond += !(o->prediction[i] >= opts.y_min && o->prediction[i] <= opts.y_max);
    }
    report_draw(r, &opts);
    report_points(r, report_mark(NULL, colour), o->truth, o->prediction, o->count);
    report_line(r, report_mark(NULL, FAR_COLOUR_INK), ends, ends, 2);
    return report_take(r);
}

static int64_t draw_panels(report *r, const far_comparison *c, outside *o, far_figure **panels)
{
    int64_t count = 0;
    const far_compare_row *row;
    for (int64_t i = 0; count < MOST_PANELS && (row = far_comparison_row(c, i)); i++) {
        const far_compare_run *run = row->runs;
        if (run->prediction) {
            panels[count] = draw_panel(r, run, row->model, (int)(i % FAR_COLOURS), o);
            count += panels[count] != NULL;
        }
    }
    return count;
}

static void place_panels(report *r, const far_comparison_info *info, const outside *o,
                         far_figure **panels, int64_t count)
{
    char x[160], y[160], note[80];
    far_grid_opts g;
    int64_t columns = count < GRID_COLUMNS ? count : GRID_COLUMNS;
    int64_t rows = (count + columns - 1) / columns;
    far_grid_opts_init(&g);
    snprintf(x, sizeof x, "%s, true", info->target);
    snprintf(y, sizeof y, "%s, predicted", info->target);
    g.x_label = x;
    g.y_label = y;
    g.width = 120 + 270 * (double)columns;
    g.height = 90 + 230 * (double)rows;
    g.share_x = g.share_y = FAR_SHARE_ALL;
    snprintf(note, sizeof note, "%lld prediction%s beyond the picture.", (long long)o->beyond,
             o->beyond == 1 ? " lies" : "s lie");
    g.note = o->beyond > 0 ? note : NULL;
    report_grid(r, panels, rows, columns, &g);
    report_place(r, "predictions",
                 "Rows out of range, each a point: what is true, and what is predicted (first "
                 "seed). On the line they agree; below and above it predictions run away.");
}

static void put_predictions(report *r, const far_comparison *c, const far_comparison_info *info)
{
    outside o;
    far_figure *panels[MOST_PANELS] = {NULL};
    far_compare_points p = far_comparison_describe(c).points[0];
    if (outside_make(&p, &o)) {
        int64_t count = draw_panels(r, c, &o, panels);
        if (count > 0) {
            place_panels(r, info, &o, panels, count);
        }
    }
    outside_free(&o);
}

/* ---- along the column that the shift compares ----------------------------------------------- */

/* The column and the number of a shift like 'F1 >= 20000'. */
static bool simple_shift(report *r, const char *shift, const far_frame *frame, int64_t *col,
                         double *limit)
{
    char name[128];
    size_t length = strcspn(shift, "<>=!");
    const char *rest = shift + length;
    rest += strspn(rest, "<>=!");
    while (length > 0 && strchr(" `", shift[length - 1])) {
        length--;
    }
    size_t start = strspn(shift, " `");
    if (length <= start || length - start >= sizeof name) {
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)(length - start), shift + start);
    char *end;
    *limit = strtod(rest, &end);
    return end != rest && end[strspn(end, " ")] == 0 &&
           far_frame_find(r->s->ctx, frame, name, col) == FAR_OK &&
           far_frame_column(frame, *col).kind == FAR_COLUMN_NUMBER;
}

/* Predicted rows along a column, and a grid over it. */
typedef struct path {
    int64_t count;
    double *x, *y;
    double grid[SMOOTH_POINTS], smooth[SMOOTH_POINTS], half[SMOOTH_POINTS], low[SMOOTH_POINTS],
        high[SMOOTH_POINTS];
} path;

static bool path_make(const far_compare_points *p, const double *column, path *t)
{
    double least = INFINITY, most = -INFINITY;
    *t = (path){.count = p->count};
    t->x = calloc((size_t)p->count, sizeof *t->x);
    t->y = calloc((size_t)p->count, sizeof *t->y);
    for (int64_t i = 0; t->x && i < p->count; i++) {
        t->x[i] = column[p->rows[i]];
        least = fmin(least, t->x[i]);
        most = fmax(most, t->x[i]);
    }
    for (int i = 0; i < SMOOTH_POINTS; i++) {
        t->grid[i] = least + (most - least) * i / (SMOOTH_POINTS - 1);
    }
    return t->x && t->y && most > least && p->count >= 5;
}

static void path_free(path *t)
{
    free(t->x);
    free(t->y);
}

static void draw_smooth(report *r, path *t, const double *values, far_mark_opts mark)
{
    memcpy(t->y, values, (size_t)t->count * sizeof *t->y);
    if (far_lowess(r->s->ctx, t->x, t->y, t->count, SMOOTH_PART, 2, t->grid, SMOOTH_POINTS,
                   t->smooth, t->half) != FAR_OK) {
        return;
    }
    for (int i = 0; i < SMOOTH_POINTS; i++) {
        t->low[i] = t->smooth[i] - t->half[i];
        t->high[i] = t->smooth[i] + t->half[i];
    }
    report_line(r, mark, t->grid, t->smooth, SMOOTH_POINTS);
    mark.label = NULL;
    mark.colour = FAR_COLOUR_SAME;
    report_band(r, mark, t->grid, t->low, t->high, SMOOTH_POINTS);
}

static void draw_path(report *r, const far_comparison *c, const far_compare_points *p, path *t)
{
    far_mark_opts truth = report_mark("truth", FAR_COLOUR_INK);
    const far_compare_row *row;
    truth.width = 3;
    draw_smooth(r, t, p->truth, truth);
    for (int64_t i = 0; (row = far_comparison_row(c, i)); i++) {
        const far_compare_run *run = row->runs;
        if (run->prediction) {
            draw_smooth(r, t, run->prediction, report_mark(row->model, (int)i));
        }
    }
}

static void put_path(report *r, const far_comparison *c, const far_comparison_info *info,
                     const dataset *data)
{
    int64_t col;
    double limit;
    path t = {0};
    far_compare_points p = far_comparison_describe(c).points[0];
    if (simple_shift(r, info->shift, data->frame, &col, &limit) &&
        path_make(&p, far_frame_column(data->frame, col).numbers, &t)) {
        char label[200];
        const char *const *names = far_columns_describe(info->columns).class_names;
        snprintf(label, sizeof label, "part of %s %.80s", info->target, names ? names[1] : "");
        far_figure_opts o = report_axes(far_frame_column(data->frame, col).name,
                                        info->classes > 0 ? label : info->target);
        o.width = 900;
        o.legend = FAR_LEGEND_RIGHT;
        report_draw(r, &o);
        draw_path(r, c, &p, &t);
        report_rule(r, FAR_VERTICAL, limit, "shift");
        report_place(r, "along",
                     "Predictions and truth along the column that the shift compares: running "
                     "means by LOWESS with 95% intervals, over the test rows of the first seed. "
                     "No row on the far side of the dashed line was learnt from.");
    }
    path_free(&t);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(report *r, const far_comparison_info *info, const dataset *data)
{
    const far_xgboost *trees = far_xgboost_find(r->s->ctx);
    report_fact(r, "data", "%s", data->label);
    report_fact(r, "rows",
                "%lld in range, %lld of them to train on and %lld to test; %lld out of range",
                (long long)info->rows_in, (long long)info->train_rows, (long long)info->test_rows,
                (long long)info->rows_out);
    report_fact(r, "out of range", "%s", info->shift);
    report_seeds(r, info->first_seed, info->seeds);
    report_fact(r, "xgboost", "%s", trees ? trees->version : "not there");
}

static int write_files(report *r, const far_comparison *c)
{
    char *text = NULL;
    far_status st = far_result_render(r->s->ctx, r->result, FAR_FORMAT_JSON, &text);
    int code =
        st == FAR_OK ? comparison_files(r->s, c, text, r->folder) : session_failure(r->s, NULL);
    far_text_free(r->s->ctx, text);
    return code;
}

int comparison_show(session *s, const common_args *a, const far_comparison *c, const dataset *data)
{
    char title[512];
    report r;
    far_comparison_info info = far_comparison_describe(c);
    snprintf(title, sizeof title, "Models of %s, out of range where %s", info.target, info.shift);
    int code = report_begin(s, a, title, &r);
    comparison_tell(r.result, s->ctx, c);
    columns_tell(r.result, far_comparison_describe(c).columns);
    code = code == EXIT_DONE && a->report ? write_files(&r, c) : code;
    put_all_scores(&r, c, &info);
    if (info.classes <= 2) { /* of two classes: which part is the second */
        far_result_for(r.result, FAR_FOR_PAGE);
        far_result_heading(r.result, "Predictions");
        far_result_for(r.result, FAR_FOR_ALL);
        put_path(&r, c, &info, data);
    }
    if (info.classes == 0) {
        put_predictions(&r, c, &info);
    }
    put_facts(&r, &info, data);
    return report_end(&r, code);
}
