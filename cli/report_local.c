/* What farfield local found: numbers, quartiles, maps as pictures, and C by distance. */
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
    if (r->figure) {
        far_result_check(r->result, far_figure_heat(j->s.ctx, r->figure, c->cells, c->up.count,
                                                    c->across.count, &heat));
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

static void tell_numbers(far_result *r, const local_job *j)
{
    const far_local *c = &j->curve;
    far_result_flag(r, "grid", j->grid, NULL, NULL);
    bool scaled = source_standardised(&j->kernel, true);
    far_result_number(r, "spacing", j->spacing, "points",
                      "%lld of %lld coordinates%s, %.4g apart%s", (long long)j->n, (long long)j->d,
                      j->grid ? ", a full grid" : "", j->spacing,
                      scaled ? "; distances are of standardised inputs" : "");
    far_result_number(r, "bin", c->spacing, NULL, NULL);
#define NUMBER(key, value, label, what)                                                            \
    far_result_number(r, key, value, label, "%-12.6g " what, value)
    NUMBER("xi", c->xi, "xi", "correlation length of C");
    NUMBER("c_inf", c->c_inf, "c_inf", "C far away");
    NUMBER("min_c", c->min_c, "min C", "the least of all pairs");
    NUMBER("lambda", j->largest, "lambda", "largest eigenvalue of K / N");
    NUMBER("v0cos", j->first_cosine, "cos(v0, K 1)", "the first eigenvector and the row sums");
    NUMBER("magma", j->magma, isnan(j->magma) ? NULL : "MAG-Ma",
           "|mean of grad log |g||, by differences over the grid");
    NUMBER("magma_jets", j->magma_jets, isnan(j->magma_jets) ? NULL : "  jets",
           "the same by derivatives of the kernel");
}

static void tell_targets(far_result *r, const local_job *j)
{
    far_result_heading(r, "targets");
    if (j->grid) {
        NUMBER("auc", j->auc, "AUC", "of |v0| for the edges, where the targets are steepest");
        NUMBER("gradcorr", j->slope_correlation, "correlation",
               "of log |g| and the targets' slope");
    }
    NUMBER("cka", j->cka, "CKA", "with the Gaussian kernel of the targets");
    far_result_number(r, "cka_width", j->args.width, NULL, NULL);
#undef NUMBER
}

static void tell_maps(far_result *r, local_job *j)
{
    static const struct {
        const char *key, *name;
        int map;
    } ROWS[] = {{"g", "|g|", MAP_LENGTH},
                {"v0", "v0", MAP_FIRST},
                {"reach", "reach of C", MAP_REACH},
                {"reach_model", "  Cauchy model", MAP_REACH_MODEL},
                {"min_c_of_points", "least C", MAP_LEAST},
                {"min_c_model", "  Cauchy model", MAP_LEAST_MODEL}};
    enum { COUNT = sizeof ROWS / sizeof ROWS[0] };
    static const far_result_column COLUMNS[] = {{NULL, "over the points", NULL},
                                                {NULL, "quartile", "%10.4g"},
                                                {NULL, "median", "%10.4g"},
                                                {NULL, "quartile", "%10.4g"},
                                                {NULL, "corr.", "%8.3f"}};
    bool model = j->h.data != NULL;
    far_result_table(r, NULL, "Quartiles over the points; correlation of measured and model.",
                     COLUMNS, model ? 5 : 4);
    for (int i = 0; i < COUNT; i++) {
        quartiles q = local_quartiles(j, ROWS[i].map);
        double agrees = ROWS[i].map == MAP_REACH_MODEL   ? j->reach_agrees
                        : ROWS[i].map == MAP_LEAST_MODEL ? j->least_agrees
                                                         : NAN;
        if (!local_has(j, ROWS[i].map)) {
            continue;
        }
        far_result_cell_text(r, "%s", ROWS[i].name);
        far_result_cell(r, q.low);
        far_result_cell(r, q.middle);
        far_result_cell(r, q.high);
        if (model && isnan(agrees)) {
            far_result_cell_text(r, "%s", "");
        } else if (model) {
            far_result_cell(r, agrees);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        quartiles q = local_quartiles(j, ROWS[i].map);
        if (local_has(j, ROWS[i].map)) {
            far_result_list(r, ROWS[i].key, (double[]){q.low, q.middle, q.high}, 3);
        }
    }
    if (model) {
        far_result_number(r, "reach_agreement", j->reach_agrees, NULL, NULL);
        far_result_number(r, "min_c_agreement", j->least_agrees, NULL, NULL);
        far_result_count(r, "without_model", j->flat, NULL, NULL);
    }
}

int local_tell(local_job *j)
{
    const local_args *a = &j->args;
    report r;
    int code = report_begin(&j->s, &a->common, "A kernel around its points", &r);
    far_result_for(r.result, FAR_FOR_PAGE);
    far_result_verdict(
        r.result, FAR_TONE_PLAIN, "The kernel is correlated over xi = %.3g%s.", j->curve.xi,
        j->curve.xi < j->spacing ? ", less than the spacing of the points: it measures them" : "");
    far_result_for(r.result, FAR_FOR_ALL);
    source_tell(&j->kernel, &a->source, r.result);
    tell_numbers(r.result, j);
    tell_maps(r.result, j);
    if (j->image.data) {
        tell_targets(r.result, j);
    }
    if (j->grid && j->d == 2) {
        put_maps(&r, j);
    }
    put_curve(&r, j);
    report_written(&r, "written", NULL, a->output);
    report_written(&r, "correlation", NULL, a->correlation);
    return report_end(&r, code);
}
