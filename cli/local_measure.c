/* The numbers and maps of farfield local. */
#include "local_job.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int failed(local_job *j)
{
    return session_failure(&j->s, NULL);
}

/* ---- room ---------------------------------------------------------------------------------- */

static double *numbers(int64_t count)
{
    double *v = malloc((size_t)count * sizeof *v);
    for (int64_t i = 0; v && i < count; i++) {
        v[i] = NAN;
    }
    return v;
}

static int allocate(local_job *j)
{
    bool good = true;
    for (int map = 0; map < MAPS; map++) {
        j->maps[map] = numbers(j->n);
        good = good && j->maps[map];
    }
    j->distance = numbers(j->args.bins);
    j->mean = numbers(j->args.bins);
    j->counts = calloc((size_t)j->args.bins, sizeof *j->counts);
    good = good && j->distance && j->mean && j->counts;
    return good ? EXIT_DONE : failure(LOCAL_VERB, "out of memory");
}

static int allocate_jets(local_job *j)
{
    int code = matrix_alloc(LOCAL_VERB, j->n, 1, FAR_F64, &j->a2);
    code = code == EXIT_DONE ? matrix_alloc(LOCAL_VERB, j->n, j->d, FAR_F64, &j->gradient) : code;
    return code == EXIT_DONE ? matrix_alloc(LOCAL_VERB, j->n, j->d * j->d, FAR_F64, &j->h) : code;
}

/* ---- the kernel as a matrix ---------------------------------------------------------------- */

static double distance_of(const far_mat *x, int64_t i, int64_t k)
{
    double sum = 0;
    for (int64_t c = 0; c < x->cols; c++) {
        double gap = mat_get(x, i, c) - mat_get(x, k, c);
        sum += gap * gap;
    }
    return sqrt(sum);
}

static double least_distance(const far_mat *x)
{
    double least = INFINITY;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t k = 0; k < i; k++) {
            double distance = distance_of(x, i, k);
            least = distance > 0 ? fmin(least, distance) : least;
        }
    }
    return least;
}

static const far_mat *matrix_of(const local_job *j)
{
    return j->kernel.matrix.data ? &j->kernel.matrix : &j->kernel.gram.in.values;
}

static far_status measure_curve(local_job *j)
{
    far_ctx *ctx = j->s.ctx;
    far_status st = far_local_correlation(ctx, j->kernel.view, &j->kernel.x, j->args.bins,
                                          j->distance, j->mean, j->counts, &j->curve);
    if (st != FAR_OK) {
        return st;
    }
    for (int64_t i = 0; i < j->n; i++) {
        j->maps[MAP_LENGTH][i] = sqrt(mat_get(matrix_of(j), i, i));
    }
    double level = (1 + j->curve.c_inf) / 2;
    return far_local_reach(ctx, j->kernel.view, &j->kernel.x, j->args.bins, level < 1 ? level : 0.5,
                           j->maps[MAP_REACH], j->maps[MAP_LEAST]);
}

static far_status measure_first(local_job *j)
{
    far_mat vector = far_mat_view(j->maps[MAP_FIRST], j->n, 1, FAR_F64);
    far_spectrum s;
    far_status st = far_view_first(j->s.ctx, j->kernel.view, &vector, &j->first_cosine);
    st = st == FAR_OK ? far_view_spectrum(j->s.ctx, j->kernel.view, 1, 0, &s) : st;
    j->largest = st == FAR_OK ? s.values[0] / (double)j->n : NAN;
    return st;
}

/* |mean over x of grad log |g||, from jets: grad log |g| = D / (2 a2). */
static double magma_of(const far_mat *a2, const far_mat *d)
{
    double squares = 0;
    for (int64_t k = 0; k < d->cols; k++) {
        double mean = 0;
        for (int64_t i = 0; i < d->rows; i++) {
            mean += mat_get(d, i, k) / (2 * mat_get(a2, i, 0)) / (double)d->rows;
        }
        squares += mean * mean;
    }
    return sqrt(squares);
}

/* ---- jets ---------------------------------------------------------------------------------- */

static far_status measure_jets(local_job *j)
{
    far_any_kernel k = {j->kernel.kernel, j->args.source.kind, j->kernel.net, &j->kernel.opts};
    return far_local_jets(j->s.ctx, &k, &j->kernel.x, j->args.step, &j->a2, &j->gradient, &j->h);
}

static far_status model_point(local_job *j, int64_t i)
{
    far_cauchy model;
    const double *d = (const double *)j->gradient.data + i * j->d;
    const double *h = (const double *)j->h.data + i * j->d * j->d;
    far_status st =
        far_local_cauchy(j->s.ctx, j->d, mat_get(&j->a2, i, 0), d, h, j->curve.c_inf, &model);
    if (st == FAR_ERR_SINGULAR) {
        j->flat++;
        return FAR_OK;
    }
    if (st == FAR_OK) {
        j->maps[MAP_REACH_MODEL][i] = model.xi;
        j->maps[MAP_LEAST_MODEL][i] = model.min_c;
    }
    return st;
}

/* Of the points where both maps have a number. */
static double agreement(local_job *j, int measured, int model)
{
    double *a = numbers(2 * j->n), *b = a ? a + j->n : NULL, r = NAN;
    int64_t count = 0;
    for (int64_t i = 0; a && i < j->n; i++) {
        if (!isnan(j->maps[measured][i]) && !isnan(j->maps[model][i])) {
            a[count] = j->maps[measured][i];
            b[count++] = j->maps[model][i];
        }
    }
    if (count < 3 || far_correlation(j->s.ctx, FAR_PEARSON, a, b, count, &r) != FAR_OK) {
        r = NAN;
    }
    free(a);
    return r;
}

static int measure_model(local_job *j)
{
    int code = allocate_jets(j);
    if (code != EXIT_DONE) {
        return code;
    }
    far_status st = measure_jets(j);
    progress_end(&j->s.bar);
    for (int64_t i = 0; st == FAR_OK && i < j->n; i++) {
        st = model_point(j, i);
    }
    j->magma_jets = st == FAR_OK ? magma_of(&j->a2, &j->gradient) : NAN;
    j->reach_agrees = agreement(j, MAP_REACH, MAP_REACH_MODEL);
    j->least_agrees = agreement(j, MAP_LEAST, MAP_LEAST_MODEL);
    return st == FAR_OK ? EXIT_DONE : failed(j);
}

/* ---- grids and pictures -------------------------------------------------------------------- */

static far_status measure_by_name(local_job *j, const char *name, double *out)
{
    far_measure measure;
    far_measure_input in = {.view = j->kernel.view,
                            .targets = j->image.data ? &j->image : NULL,
                            .coordinates = &j->kernel.x};
    int64_t count;
    far_status st = far_measure_find_all(j->s.ctx, name, &measure, 1, &count);
    return st == FAR_OK ? far_measure_apply(j->s.ctx, &in, &measure, 1, out) : st;
}

/* |grad field|; FAR_ERR_VALUE: no grid. */
static far_status slopes_of(local_job *j, const double *field, double *out)
{
    double *v = numbers(j->n * j->d);
    far_mat gradient = far_mat_view(v, j->n, j->d, FAR_F64);
    if (!v) {
        return FAR_ERR_MEMORY;
    }
    far_status st = far_grid_gradient(j->s.ctx, &j->kernel.x, field, &gradient);
    for (int64_t i = 0; st == FAR_OK && i < j->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < j->d; k++) {
            sum += v[i * j->d + k] * v[i * j->d + k];
        }
        out[i] = sqrt(sum);
    }
    free(v);
    return st;
}

static bool is_grid(local_job *j)
{
    bool grid = slopes_of(j, j->maps[MAP_LENGTH], j->maps[MAP_SLOPE]) == FAR_OK;
    for (int64_t i = 0; i < j->n; i++) {
        j->maps[MAP_SLOPE][i] = NAN;
    }
    return grid;
}

static far_status measure_image(local_job *j)
{
    char auc[48], cka[48];
    snprintf(auc, sizeof auc, "auc:%.17g", j->args.edges);
    snprintf(cka, sizeof cka, "cka:%.17g", j->args.width);
    far_status st = measure_by_name(j, cka, &j->cka);
    if (j->grid) {
        st = st == FAR_OK ? measure_by_name(j, auc, &j->auc) : st;
        st = st == FAR_OK ? measure_by_name(j, "gradcorr", &j->slope_correlation) : st;
    }
    if (st == FAR_OK && j->image.cols == 1) {
        memcpy(j->maps[MAP_IMAGE], j->image.data, (size_t)j->n * sizeof(double));
        st = j->grid ? slopes_of(j, j->maps[MAP_IMAGE], j->maps[MAP_SLOPE]) : FAR_OK;
    }
    return st;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int check_kernel(local_job *j)
{
    far_view_info info = far_view_describe(j->kernel.view);
    if (info.outputs > 1) {
        return failure(
            LOCAL_VERB,
            "the kernel has %lld outputs for each point; --outputs trace, or one of them",
            (long long)info.outputs);
    }
    return info.points < 2 ? failure(LOCAL_VERB, "one point has no surroundings") : EXIT_DONE;
}

int local_measure(local_job *j)
{
    j->n = j->kernel.x.rows;
    j->d = j->kernel.x.cols;
    j->magma = j->magma_jets = j->auc = j->slope_correlation = j->cka = NAN;
    j->reach_agrees = j->least_agrees = NAN;
    int code = check_kernel(j);
    code = code == EXIT_DONE ? allocate(j) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    if (measure_curve(j) != FAR_OK || measure_first(j) != FAR_OK) {
        return failed(j);
    }
    j->spacing = least_distance(&j->kernel.x);
    j->grid = is_grid(j);
    code = j->kernel.net || j->kernel.kernel ? measure_model(j) : EXIT_DONE;
    if (code == EXIT_DONE && j->grid && measure_by_name(j, "magma", &j->magma) != FAR_OK) {
        code = failed(j);
    }
    if (code == EXIT_DONE && j->image.data && measure_image(j) != FAR_OK) {
        code = failed(j);
    }
    return code;
}

bool local_has(const local_job *j, int map)
{
    bool any = false;
    for (int64_t i = 0; i < j->n; i++) {
        any = any || !isnan(j->maps[map][i]);
    }
    return any;
}

quartiles local_quartiles(local_job *j, int map)
{
    quartiles q = {NAN, NAN, NAN};
    const double *v = j->maps[map];
    if (local_has(j, map) && (far_quantile(j->s.ctx, v, j->n, 0.25, &q.low) != FAR_OK ||
                              far_quantile(j->s.ctx, v, j->n, 0.5, &q.middle) != FAR_OK ||
                              far_quantile(j->s.ctx, v, j->n, 0.75, &q.high) != FAR_OK)) {
        q = (quartiles){NAN, NAN, NAN};
    }
    return q;
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *const MAP_NAMES[MAPS] = {"g",     "v0",          "reach", "reach_model",
                                            "min_c", "min_c_model", "image", "slope"};

enum { NAME_BYTES = 128 };

/* Whether a column of maps or jets may be called so: v0, x1, h1_2. */
static bool is_taken(const char *name)
{
    for (int map = 0; map < MAP_IMAGE; map++) {
        if (strcmp(name, MAP_NAMES[map]) == 0) {
            return true;
        }
    }
    return *name && strchr("xdh", *name) && !name[1 + strspn(name + 1, "0123456789_")];
}

/* Targets are called as their column. */
static const char *target_name(const local_job *j)
{
    const char *name = j->kernel.target_count == 1 ? j->kernel.target_names[0] : NULL;
    return name && !is_taken(name) ? name : MAP_NAMES[MAP_IMAGE];
}

/* Columns in the making. */
typedef struct columns {
    result_column *list;
    char (*names)[NAME_BYTES];
    int64_t count;
} columns;

__attribute__((format(printf, 4, 5))) static void add_column(columns *c, far_mat values,
                                                             int64_t col, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->names[c->count], NAME_BYTES, format, args);
    va_end(args);
    c->list[c->count] = (result_column){.name = c->names[c->count], .values = values, .col = col};
    c->count++;
}

static void add_maps(local_job *j, columns *c)
{
    for (int64_t k = 0; k < j->d; k++) {
        add_column(c, j->kernel.x, k, "x%lld", (long long)k + 1);
    }
    for (int map = 0; map < MAPS; map++) {
        if (local_has(j, map)) {
            bool of_targets = map == MAP_IMAGE || map == MAP_SLOPE;
            add_column(c, far_mat_view(j->maps[map], j->n, 1, FAR_F64), 0, "%s%s",
                       of_targets ? target_name(j) : MAP_NAMES[map],
                       map == MAP_SLOPE ? "_slope" : "");
        }
    }
    for (int64_t k = 0; j->h.data && k < j->d; k++) {
        add_column(c, j->gradient, k, "d%lld", (long long)k + 1);
    }
    for (int64_t k = 0; j->h.data && k < j->d * j->d; k++) {
        if (k % j->d >= k / j->d) { /* it is symmetric */
            add_column(c, j->h, k, "h%lld_%lld", (long long)(k / j->d) + 1,
                       (long long)(k % j->d) + 1);
        }
    }
}

int local_write_maps(local_job *j)
{
    size_t most = (size_t)(MAPS + j->d * (j->d + 2));
    columns c = {.list = calloc(most, sizeof *c.list), .names = calloc(most, sizeof *c.names)};
    int code = c.list && c.names ? EXIT_DONE : failure(LOCAL_VERB, "out of memory");
    if (code == EXIT_DONE) {
        add_maps(j, &c);
        code = columns_write(LOCAL_VERB, j->s.ctx, c.list, c.count, j->n, "maps", j->args.output);
    }
    free(c.list);
    free(c.names);
    return code;
}

int local_write_correlation(local_job *j)
{
    static char names[][8] = {"eps", "c", "pairs"};
    double *pairs = numbers(j->args.bins);
    if (!pairs) {
        return failure(LOCAL_VERB, "out of memory");
    }
    for (int64_t b = 0; b < j->args.bins; b++) {
        pairs[b] = (double)j->counts[b];
    }
    double *parts[] = {j->distance, j->mean, pairs};
    result_column list[3];
    for (int k = 0; k < 3; k++) {
        list[k] = (result_column){.name = names[k],
                                  .values = far_mat_view(parts[k], j->args.bins, 1, FAR_F64)};
    }
    int code = columns_write(LOCAL_VERB, j->s.ctx, list, 3, j->args.bins, "correlation",
                             j->args.correlation);
    free(pairs);
    return code;
}
