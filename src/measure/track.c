/* Measures of the tangent kernel while a network trains: one row a moment. */
#include "track.h"

#include <math.h>
#include <string.h>

/* ---- what is measured ---- */

#define EVERY 50 /* steps of the whole batch */

int64_t far_track_every(int64_t points, int64_t batch)
{
    return batch < 1 || batch >= points ? EVERY : (EVERY * points + batch - 1) / batch;
}

void far_track_opts_init(far_track_opts *opts, const far_train_opts *train)
{
    *opts = (far_track_opts){.size = sizeof *opts, .every = EVERY, .lr = NAN};
    if (train) {
        opts->lr = far_train_rate(train);
        opts->loss = train->loss;
        opts->layers = train->layers;
    }
}

double far_track_rate(far_loss loss, double lr, int64_t outputs)
{
    double squares = loss == FAR_LOSS_MSE ? 2 : 1;
    return loss == FAR_LOSS_CE ? lr : squares * lr / (double)outputs;
}

/* L over the loss that training names. */
static double loss_scale(int32_t loss, int64_t outputs)
{
    return loss == FAR_LOSS_MSE ? (double)outputs / 2 : 1;
}

static far_status check_opts(far_ctx *ctx, const far_net *net, const far_track_opts *o)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network is NULL");
    }
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_track_opts_init first");
    }
    if (!o->measures) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: name the measures, as in lmax,kta");
    }
    if (o->every < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: every is %lld; it must be at least 1",
                        (long long)o->every);
    }
    if (!(o->lr > 0 && o->lr < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: lr is %g; it must be above 0", o->lr);
    }
    if (o->loss < FAR_LOSS_MSE || o->loss > FAR_LOSS_CE) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: loss %d is no far_loss", (int)o->loss);
    }
    return FAR_OK;
}

/* "eos" with the rate of the training where it has none; else the word as it is. Whether the rate
 * was added. */
static bool add_measure(far_text *t, const char *word, size_t length, double rate)
{
    bool follows = length == 3 && strncasecmp(word, "eos", 3) == 0;
    far_text_add(t, "%s%.*s", t->length > 0 ? "," : "", (int)length, word);
    if (follows) {
        far_text_add(t, ":%.17g", rate);
    }
    return follows;
}

static far_status find_measures(far_track *t, const char *names)
{
    far_text full = {.ctx = t->ctx};
    far_status st = FAR_OK;
    int64_t count = 0;
    for (const char *at = names; at;) {
        size_t length = strcspn(at, ",");
        bool follows = add_measure(&full, at, length, t->rate);
        if (count < FAR_TRACK_MEASURES) {
            t->follows[count++] = follows;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    FAR_TRY(full.status);
    FAR_TRY(far_measure_find_all(t->ctx, full.data, t->measures, FAR_TRACK_MEASURES,
                                 &t->measure_count));
    for (int64_t i = 0; i < t->measure_count; i++) {
        t->columns += t->measures[i].values;
        t->needs |= t->measures[i].info->needs;
    }
done:
    far_free(t->ctx, full.data);
    return st;
}

static far_status refuse_twins(const far_track *t, int64_t column)
{
    for (int64_t i = 0; i < column; i++) {
        if (strcmp(t->names[i], t->names[column]) == 0) {
            return far_fail(t->ctx, FAR_ERR_ARG, "measures: the column %s would be there twice%s",
                            t->names[column], i < FAR_TRACK_FIRST ? "; every track has it" : "");
        }
    }
    return FAR_OK;
}

static far_status name_columns(far_track *t)
{
    static const char *const FIRST[] = {"step", "time", "loss"};
    int64_t column = FAR_TRACK_FIRST;
    far_status st = far_alloc(t->ctx, t->columns, &t->names);
    for (int64_t i = 0; st == FAR_OK && i < FAR_TRACK_FIRST; i++) {
        strcpy(t->names[i], FIRST[i]);
    }
    for (int64_t m = 0; st == FAR_OK && m < t->measure_count; m++) {
        for (int64_t i = 0; st == FAR_OK && i < t->measures[m].values; i++, column++) {
            far_measure_label(&t->measures[m], i, t->names[column]);
            st = i == 0 ? refuse_twins(t, column) : FAR_OK;
        }
    }
    return st;
}

/* ---- where ---- */

static far_status copy_matrix(far_ctx *ctx, const far_mat *from, far_mat *to)
{
    double *data = NULL;
    far_status st = far_alloc(ctx, from->rows * from->cols, &data);
    for (int64_t i = 0; st == FAR_OK && i < from->rows; i++) {
        memcpy(data + i * from->cols, far_mat_row(from, i), (size_t)from->cols * sizeof *data);
    }
    *to = far_mat_view(data, from->rows, from->cols, FAR_F64);
    return st;
}

static far_status take_points(far_track *t, const far_net_info *net, const far_mat *x,
                              const far_mat *y)
{
    far_status st;
    FAR_TRY(far_check_matrix(t->ctx, x, "x", -1, net->inputs));
    if (x->rows < 1) {
        return far_fail(t->ctx, FAR_ERR_SHAPE, "x has no rows");
    }
    FAR_TRY(far_check_finite(t->ctx, x, "x"));
    FAR_TRY(copy_matrix(t->ctx, x, &t->x));
    if (y) {
        FAR_TRY(far_check_matrix(t->ctx, y, "y", x->rows, net->outputs));
        FAR_TRY(far_check_finite(t->ctx, y, "y"));
        FAR_TRY(copy_matrix(t->ctx, y, &t->y));
    }
done:
    return st;
}

/* Values of all outputs, points x outputs, as measures take them. */
static far_mat seen_by_measures(const far_track *t, const far_mat *all)
{
    far_mat m = *all;
    if (t->ntk.outputs == FAR_NTK_FULL) {
        m = far_mat_view(all->data, all->rows * all->cols, 1, FAR_F64);
    } else if (t->ntk.outputs == FAR_NTK_ONE && m.data) {
        m.data = (double *)all->data + t->ntk.output;
        m.cols = 1;
    }
    return m;
}

/* ---- memory ---- */

static far_status take_layers(far_track *t, const far_net_info *net, const unsigned char *layers)
{
    far_status st = FAR_OK;
    if (layers) {
        FAR_TRY(far_alloc(t->ctx, net->layers, &t->layers));
        memcpy(t->layers, layers, (size_t)net->layers);
        t->ntk.layers = t->layers;
    }
done:
    return st;
}

#define COPIES 2 /* of the matrix: the kernel itself, and what eigenvalues are computed in */

/* Whether the kernel becomes a matrix. */
static far_status plan_kernel(far_track *t)
{
    double n = (double)t->kernel_rows, bytes = COPIES * (double)sizeof(double) * n * n;
    bool needs_matrix = t->needs & (FAR_NEED_MATRIX | FAR_NEED_SPECTRUM);
    t->forms_kernel = needs_matrix || bytes <= far_budget(t->ntk.memory);
    return t->forms_kernel ? far_budget_check(t->ctx, "the tangent kernel", bytes, t->ntk.memory)
                           : FAR_OK;
}

/* The matrix and its factors are kept from row to row, but not by tracks of networks that do not
 * train now. */
static far_status take_kernel(far_track *t)
{
    bool missing = t->forms_kernel && !t->kernel;
    return missing ? far_alloc(t->ctx, t->kernel_rows * t->kernel_rows, &t->kernel) : FAR_OK;
}

static void release_kernel(far_track *t)
{
    far_free(t->ctx, t->kernel);
    t->kernel = NULL;
    far_factors_clear(&t->factors);
}

static far_status take_values(far_track *t, int64_t outputs)
{
    double *data = NULL;
    far_status st = FAR_OK;
    if (t->needs & FAR_NEED_VALUES) {
        st = far_alloc(t->ctx, t->x.rows * outputs, &data);
        t->values = far_mat_view(data, t->x.rows, outputs, FAR_F64);
    }
    return st;
}

static far_status take_file(far_track *t, const char *file)
{
    return file ? far_copy_text(t->ctx, file, (int64_t)strlen(file), &t->file) : FAR_OK;
}

static far_status build(far_track *t, const far_net_info *net, const far_track_opts *o)
{
    far_status st;
    t->ntk = (far_ntk_opts){.size = sizeof t->ntk};
    t->ntk.outputs = o->outputs;
    t->ntk.output = o->output;
    t->ntk.memory = o->memory;
    t->kernel_rows = t->x.rows * (o->outputs == FAR_NTK_FULL ? net->outputs : 1);
    FAR_TRY(take_layers(t, net, o->layers));
    FAR_TRY(find_measures(t, o->measures));
    FAR_TRY(name_columns(t));
    FAR_TRY(plan_kernel(t));
    FAR_TRY(take_values(t, net->outputs));
    FAR_TRY(far_alloc(t->ctx, t->columns, &t->row));
    FAR_TRY(take_file(t, o->file));
done:
    return st;
}

/* ---- one row ---- */

static far_status check_grid(far_track *t)
{
    double *field = NULL, *slopes = NULL;
    far_status st;
    FAR_TRY(far_alloc(t->ctx, t->x.rows, &field));
    FAR_TRY(far_alloc(t->ctx, t->x.rows * t->x.cols, &slopes));
    far_mat gradient = far_mat_view(slopes, t->x.rows, t->x.cols, FAR_F64);
    FAR_TRY(far_grid_gradient(t->ctx, &t->x, field, &gradient));
done:
    far_free(t->ctx, field);
    far_free(t->ctx, slopes);
    return st;
}

static far_status open_view(far_track *t, const far_net *net, far_view **view)
{
    int64_t n = t->kernel_rows;
    far_status st;
    if (!t->forms_kernel) {
        return far_view_of_net(t->ctx, net, &t->x, &t->ntk, view);
    }
    FAR_TRY(take_kernel(t));
    far_mat kernel = far_mat_view(t->kernel, n, n, FAR_F64);
    FAR_TRY(far_net_ntk_kept(t->ctx, net, &t->x, &t->ntk, &t->factors, &kernel));
    FAR_TRY(far_view_of_mirrored(t->ctx, &kernel, t->x.rows, view));
done:
    return st;
}

static void fill(double *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = NAN;
    }
}

/* Each by itself: those that are not defined for these numbers are NAN. */
static far_status apply_each(far_track *t, const far_measure_input *in, double *out)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < t->measure_count && st == FAR_OK; i++) {
        st = far_measure_apply(t->ctx, in, &t->measures[i], 1, out);
        if (st == FAR_ERR_VALUE) {
            fill(out, t->measures[i].values);
            st = FAR_OK;
        }
        out += t->measures[i].values;
    }
    return st;
}

static far_status apply(far_track *t, const far_net *net, far_view *view, bool strict, double *out)
{
    far_mat targets = seen_by_measures(t, &t->y), values = seen_by_measures(t, &t->values);
    far_measure_input in = {.view = view,
                            .targets = t->y.data ? &targets : NULL,
                            .values = t->values.data ? &values : NULL,
                            .coordinates = &t->x,
                            .loss = t->loss};
    far_status st = FAR_OK;
    if (t->values.data) {
        FAR_TRY(far_net_eval(t->ctx, net, &t->x, &t->values));
    }
    st = far_measure_apply(t->ctx, &in, t->measures, t->measure_count, out);
    if (st == FAR_ERR_VALUE && !strict) {
        st = apply_each(t, &in, out);
    }
done:
    return st;
}

/* The numbers of all measures. strict: a measure that fails is a failure; else it is NAN where the
 * numbers are to blame. */
static far_status measure(far_track *t, const far_net *net, bool strict, double *out)
{
    far_view *view = NULL;
    far_status st;
    if (strict && (t->needs & FAR_NEED_GRID)) {
        FAR_TRY(check_grid(t));
    }
    FAR_TRY(open_view(t, net, &view));
    FAR_TRY(apply(t, net, view, strict, out));
done:
    far_view_destroy(view);
    if (st == FAR_ERR_VALUE && !strict) {
        fill(out, t->columns - FAR_TRACK_FIRST);
        st = FAR_OK;
    }
    return st;
}

/* ---- the whole ---- */

far_status far_track_create(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *y,
                            const far_track_opts *opts, far_track **out)
{
    far_track *t = NULL;
    *out = NULL;
    far_status st = check_opts(ctx, net, opts);
    if (st != FAR_OK) {
        return st;
    }
    far_net_info info = far_net_describe(net);
    FAR_TRY(far_alloc(ctx, 1, &t));
    *t = (far_track){.ctx = ctx, .columns = FAR_TRACK_FIRST, .every = opts->every};
    t->rate = far_track_rate(opts->loss, opts->lr, info.outputs);
    t->loss = opts->loss;
    t->loss_scale = loss_scale(opts->loss, info.outputs);
    FAR_TRY(take_points(t, &info, x, y));
    FAR_TRY(build(t, &info, opts));
    FAR_TRY(measure(t, net, true, t->row)); /* what it refuses, it refuses now */
    release_kernel(t);
done:
    FAR_HAND_OVER(t, out, far_track_destroy);
    return st;
}

void far_track_destroy(far_track *track)
{
    if (track) {
        far_ctx *ctx = track->ctx;
        release_kernel(track);
        FAR_FREE_ALL(ctx, track->x.data, track->y.data, track->values.data, track->layers,
                     track->names, track->row, track->table, track->file, track);
    }
}

/* ---- the table ---- */

far_status far_track_append(far_track *t, const double *row)
{
    far_status st = FAR_OK;
    while (t->rows > 0 && t->table[(t->rows - 1) * t->columns] >= row[FAR_TRACK_STEP]) {
        t->rows--;
    }
    if (t->rows == t->capacity) {
        int64_t more = t->capacity > 0 ? 2 * t->capacity : 64;
        FAR_TRY(far_grow(t->ctx, t->capacity * t->columns, more * t->columns, &t->table));
        t->capacity = more;
    }
    memcpy(t->table + t->rows * t->columns, row, (size_t)t->columns * sizeof *row);
    t->rows++;
done:
    return st;
}

static void follow_schedule(const far_track *t, double rate, double *values)
{
    for (int64_t i = 0; i < t->measure_count; values += t->measures[i++].values) {
        for (int64_t k = 0; t->follows[i] && k < t->measures[i].values; k++) {
            values[k] *= rate;
        }
    }
}

static far_status add_moment(far_track *t, const far_train_moment *m)
{
    double began = far_seconds();
    far_status st;
    t->row[FAR_TRACK_STEP] = (double)m->step;
    t->row[FAR_TRACK_TIME] = t->rate * m->time;
    t->row[FAR_TRACK_LOSS] = t->loss_scale * m->loss;
    FAR_TRY(measure(t, m->net, false, t->row + FAR_TRACK_FIRST));
    follow_schedule(t, m->rate, t->row + FAR_TRACK_FIRST);
    FAR_TRY(far_track_append(t, t->row));
done:
    if (m->last) {
        release_kernel(t);
    }
    t->seconds += far_seconds() - began;
    return st;
}

far_status far_track_callback(far_ctx *ctx, void *user, const far_train_moment *moment)
{
    far_track *t = user ? ((far_track *const *)user)[moment->network] : NULL;
    far_status st = FAR_OK;
    if (!t || t->ctx != ctx) {
        return far_fail(ctx, FAR_ERR_ARG,
                        t ? "the track was made with another context" : "the track is NULL");
    }
    if (moment->kind == FAR_MOMENT_STEP) {
        FAR_TRY(add_moment(t, moment));
    }
    if (t->file && (moment->kind == FAR_MOMENT_SAVE || moment->last)) {
        FAR_TRY(far_track_save(ctx, t, t->file));
    }
done:
    return st;
}

far_track_info far_track_describe(const far_track *track)
{
    return (far_track_info){.columns = track->columns,
                            .names = (const char(*)[FAR_MEASURE_LABEL])track->names,
                            .measures = track->measures,
                            .measure_count = track->measure_count,
                            .rows =
                                far_mat_view(track->table, track->rows, track->columns, FAR_F64),
                            .seconds = track->seconds};
}

int64_t far_track_find(const far_track *track, const char *name)
{
    for (int64_t i = 0; i < track->columns; i++) {
        if (strcmp(track->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- equal loss ---- */

/* The part of the way from one loss to the next, in logarithms, that leads to the level. */
static double part_of_way(double from, double to, double level)
{
    return to > 0 && to < level ? log(from / level) / log(from / to) : 1;
}

static void between_rows(const far_track *t, int64_t next, double loss, double *row)
{
    const double *b = t->table + next * t->columns, *a = b - t->columns;
    double part = part_of_way(a[FAR_TRACK_LOSS], b[FAR_TRACK_LOSS], loss);
    for (int64_t j = 0; j < t->columns; j++) {
        row[j] = part == 1 ? b[j] : a[j] + part * (b[j] - a[j]);
    }
    row[FAR_TRACK_LOSS] = loss;
}

far_status far_track_at_loss(far_ctx *ctx, const far_track *track, double loss, double *row)
{
    if (!(loss > 0 && loss < INFINITY)) {
        return far_fail(ctx, FAR_ERR_ARG, "loss is %g; it must be above 0", loss);
    }
    for (int64_t i = 0; i < track->rows; i++) {
        const double *here = track->table + i * track->columns;
        if (here[FAR_TRACK_LOSS] > loss) {
            continue;
        }
        if (i == 0) {
            memcpy(row, here, (size_t)track->columns * sizeof *row);
        } else {
            between_rows(track, i, loss, row);
        }
        return FAR_OK;
    }
    fill(row, track->columns);
    return FAR_OK;
}
