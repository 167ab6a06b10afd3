/* The report of farfield local: maps as pictures, and C by distance. */
#include "json.h"
#include "local_job.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- maps as pictures ---------------------------------------------------------------------- */

/* The places of a grid of two coordinates along one of them, ascending. */
typedef struct axis {
    double *places;
    int64_t count;
} axis;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static axis axis_of(const far_mat *x, int64_t col)
{
    axis a = {malloc((size_t)x->rows * sizeof(double)), 0};
    for (int64_t i = 0; a.places && i < x->rows; i++) {
        a.places[i] = mat_get(x, i, col);
    }
    if (a.places) {
        qsort(a.places, (size_t)x->rows, sizeof(double), ascending);
        for (int64_t i = 0; i < x->rows; i++) {
            if (i == 0 || a.places[i] != a.places[a.count - 1]) {
                a.places[a.count++] = a.places[i];
            }
        }
    }
    return a;
}

static int64_t place_in(axis a, double value)
{
    const double *found = bsearch(&value, a.places, (size_t)a.count, sizeof(double), ascending);
    return found ? found - a.places : 0;
}

/* Half a step beyond an end, so that cells have their points in the middle. */
static double border(axis a, bool high)
{
    double step = (a.places[a.count - 1] - a.places[0]) / (double)(a.count - 1);
    return high ? a.places[a.count - 1] + step / 2 : a.places[0] - step / 2;
}

typedef struct canvas {
    axis across, up;
    double *cells;
} canvas;

static bool canvas_open(const far_mat *x, canvas *c)
{
    *c = (canvas){axis_of(x, 0), axis_of(x, 1), malloc((size_t)x->rows * sizeof(double))};
    return c->across.places && c->up.places && c->cells && c->across.count > 1 && c->up.count > 1;
}

static void canvas_close(canvas *c)
{
    free(c->across.places);
    free(c->up.places);
    free(c->cells);
}

static void arrange(const canvas *c, const far_mat *x, const double *map)
{
    for (int64_t i = 0; i < x->rows; i++) {
        int64_t row = place_in(c->up, mat_get(x, i, 1)),
                col = place_in(c->across, mat_get(x, i, 0));
        c->cells[row * c->across.count + col] = map[i];
    }
}

static far_figure *draw_map(report *r, const local_job *j, const canvas *c, int map,
                            const char *title)
{
    far_figure_opts opts = report_axes(NULL, NULL);
    far_heat_opts heat;
    opts.title = title;
    far_heat_opts_init(&heat);
    heat.x_min = border(c->across, false);
    heat.x_max = border(c->across, true);
    heat.y_min = border(c->up, false);
    heat.y_max = border(c->up, true);
    bool positive = map == MAP_LENGTH || map == MAP_IMAGE || map == MAP_SLOPE;
    heat.map = positive ? FAR_MAP_SEQUENTIAL : FAR_MAP_AUTO;
    arrange(c, &j->kernel.x, j->maps[map]);
    report_draw(r, &opts);
    if (r->figure && r->failed == FAR_OK) {
        r->failed =
            far_figure_heat(j->s.ctx, r->figure, c->cells, c->up.count, c->across.count, &heat);
    }
    return report_take(r);
}

enum { ACROSS = 3, DOWN = 2 };

/* The first six that there are. */
static int draw_maps(report *r, const local_job *j, const canvas *c, far_figure **figures)
{
    static const struct {
        int map;
        const char *title;
    } PARTS[] = {
        {MAP_IMAGE, "targets"},
        {MAP_LENGTH, "|g|"},
        {MAP_FIRST, "v0"},
        {MAP_REACH, "reach of C"},
        {MAP_REACH_MODEL, "reach, model"},
        {MAP_LEAST, "least C"},
        {MAP_LEAST_MODEL, "least C, model"},
        {MAP_SLOPE, "slope of targets"},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0] && count < ACROSS * DOWN; i++) {
        if (local_has(j, PARTS[i].map)) {
            figures[count++] = draw_map(r, j, c, PARTS[i].map, PARTS[i].title);
        }
    }
    return count;
}

static void put_maps(report *r, local_job *j)
{
    far_figure *figures[ACROSS * DOWN] = {0};
    far_grid_opts grid;
    canvas c;
    far_grid_opts_init(&grid);
    if (canvas_open(&j->kernel.x, &c)) {
        int count = draw_maps(r, j, &c, figures);
        report_grid(r, figures, DOWN, count > 2 * DOWN ? ACROSS : 2, &grid);
        report_figure_files(r, "maps");
        report_place(r, "maps",
                     "Maps over the points. Reach: the distance at which C has fallen half way to "
                     "its value far away.");
    }
    canvas_close(&c);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void put_curve(report *r, const local_job *j)
{
    far_figure_opts opts = report_axes("distance eps", "mean of C");
    report_draw(r, &opts);
    report_line(r, report_mark("c(eps)", 0), j->distance, j->mean, j->args.bins);
    report_rule(r, FAR_HORIZONTAL, j->curve.c_inf, "c_inf");
    if (!isnan(j->curve.xi)) {
        report_rule(r, FAR_VERTICAL, j->curve.xi, "xi");
    }
    report_figure_files(r, "correlation");
    report_place(r, "correlation",
                 "The cosine kernel by distance, with its value far away and the correlation "
                 "length.");
}

static void add_row(report *r, const char *what, double value)
{
    report_cell(r, "%s", what);
    report_number(r, "%.6g", value);
}

static void put_table(report *r, const local_job *j)
{
    static const char *const HEADS[] = {"", "value"};
    add_row(r, "correlation length xi", j->curve.xi);
    add_row(r, "C far away, c_inf", j->curve.c_inf);
    add_row(r, "least C", j->curve.min_c);
    add_row(r, "largest eigenvalue of K / N", j->largest);
    add_row(r, "cos(v0, K 1)", j->first_cosine);
    add_row(r, "MAG-Ma", j->magma);
    add_row(r, "spacing of the points", j->spacing);
    if (j->h.data) {
        add_row(r, "correlation of the reach and the Cauchy model's", j->reach_agrees);
        add_row(r, "the same of the least C", j->least_agrees);
    }
    if (j->image.data && j->grid) {
        add_row(r, "AUC of |v0| for edges", j->auc);
        add_row(r, "correlation of log |g| and the targets' slope", j->slope_correlation);
    }
    if (j->image.data) {
        add_row(r, "CKA with the kernel of the targets", j->cka);
    }
    report_table(r, "Numbers of the whole.", HEADS, 2);
}

static void put_verdict(report *r, const local_job *j)
{
    bool points = j->curve.xi < j->spacing;
    report_verdict(r, FAR_TONE_PLAIN, "The kernel is correlated over xi = %.3g%s.", j->curve.xi,
                   points ? ", less than the spacing of the points: it measures them" : "");
}

int local_report(local_job *j, int argc, char **argv)
{
    report r = {0};
    int code = report_open(&j->s, j->args.report, &r);
    if (code == EXIT_DONE) {
        report_title(&r, "A kernel around its points");
        put_verdict(&r, j);
        put_table(&r, j);
        if (j->grid && j->d == 2) {
            put_maps(&r, j);
        }
        put_curve(&r, j);
        report_command(&r, argc, argv);
        code = report_write(&r);
    }
    report_close(&r);
    return code;
}
