/* One sine network: its start, its training, and what its kernel is on the way. */
#include "kept.h"
#include "siren.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEASURES "lmax,xi,cinf,minC,v0cos,auc,gradcorr,magma,cka,sigma"
/* The watch is asked this often; moments are at multiples. */
enum { EVERY = 4 };
/* How many times nearer the points of a patch are. */
enum { PATCH = 4 };

const double SIREN_W0[FREQUENCIES] = {15, 30, 60};
const char *const SIREN_START[STARTS] = {"published biases", "small biases"};

/* ---- the start ------------------------------------------------------------------------------- */

/* From U(-1, 1) / sqrt(n) into the bounds of the weights: 1 / n in the first layer, then
 * sqrt(6 / n) / w0. */
static void shrink_biases(far_net *net, double w0)
{
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        double factor = t.layer == 0 ? 1 / sqrt(2) : sqrt(6) / w0;
        for (int64_t k = 0; t.vector && k < t.values.cols; k++) {
            ((double *)t.values.data)[k] *= factor;
        }
    }
}

far_status siren_net(reproduction *r, int start, int frequency, uint64_t seed, far_net **out)
{
    double w0 = r->sabotage ? 90 : SIREN_W0[frequency]; /* sabotaged: one for all */
    char *arch = text_of("[dense(%d) sin(w0=%g)]x%d dense(1)", SIREN_WIDTH, w0, SIREN_LAYERS - 1);
    far_status st = new_net(r, arch, 2, FAR_INIT_SIREN, seed, out);
    if (st == FAR_OK && (start == SMALL) != r->sabotage) {
        shrink_biases(*out, w0);
    }
    free(arch);
    return st;
}

/* ---- training -------------------------------------------------------------------------------- */

typedef struct follower {
    far_track *track;
    const siren_image *image;
    siren_run *run;
    int64_t steps, moments;
    double *places; /* of the moments: steps */
    int64_t kept;   /* moments so far */
} follower;

static bool is_moment(const follower *f, int64_t step)
{
    for (int64_t i = 0; i < f->moments; i++) {
        if ((int64_t)f->places[i] == step) {
            return true;
        }
    }
    return false;
}

/* 0, then equal factors from 2 EVERY to the last step. */
static void spread_moments(follower *f)
{
    f->places[0] = 0;
    spread_log(2 * EVERY, (double)f->steps, f->places + 1, f->moments - 1);
    for (int64_t i = 1; i < f->moments; i++) {
        f->places[i] = i + 1 < f->moments ? EVERY * round(f->places[i] / EVERY) : (double)f->steps;
    }
}

/* As numbers: a network would not outlive its context. */
static far_status keep_parameters(far_ctx *ctx, follower *f, const far_net *net)
{
    far_net *copy = NULL;
    double **place = &f->run->parameters[f->kept];
    far_status st = far_net_copy(ctx, net, &copy);
    if (st == FAR_OK) {
        far_mat p = far_net_parameters(copy);
        *place = *place ? *place : ROOM(p.cols, double);
        memcpy(*place, p.data, (size_t)p.cols * sizeof(double));
    }
    far_net_destroy(copy);
    return st;
}

static far_status keep_wave(far_ctx *ctx, follower *f, const far_net *net)
{
    int64_t n = f->image->x.rows;
    far_mat values = far_mat_view(ROOM(n, double), n, 1, FAR_F64);
    far_status st = far_net_eval(ctx, net, &f->image->x, &values);
    if (st == FAR_OK) {
        siren_wave_of(f->image, values.data, &f->run->waves[f->kept]);
    }
    free(values.data);
    return st;
}

/* The last row of the track, or what is known without a kernel. */
static void keep_row(follower *f, const far_train_moment *moment, bool measured)
{
    double *row = f->run->table + f->kept * COLS;
    if (measured) {
        far_mat rows = far_track_describe(f->track).rows;
        memcpy(row, (const double *)rows.data + (rows.rows - 1) * rows.ld, COLS * sizeof *row);
        return;
    }
    for (int j = 0; j < COLS; j++) {
        row[j] = NAN;
    }
    row[COL_STEP] = (double)moment->step;
    row[COL_LOSS] = f->run->waves[f->kept].loss;
}

static far_status watch(far_ctx *ctx, void *user, const far_train_moment *moment)
{
    follower *f = user;
    if (moment->kind != FAR_MOMENT_STEP || !is_moment(f, moment->step)) {
        return FAR_OK;
    }
    bool measured = !f->run->bare || moment->step == 0 || moment->step == f->steps;
    far_status st = measured ? far_track_callback(ctx, &f->track, moment) : FAR_OK;
    st = st == FAR_OK ? keep_wave(ctx, f, moment->net) : st;
    st = st == FAR_OK && f->run->snapshots ? keep_parameters(ctx, f, moment->net) : st;
    if (st == FAR_OK) {
        keep_row(f, moment, measured);
        f->kept++;
    }
    return st;
}

static far_status train(reproduction *r, const siren_image *image, follower *f, far_net *net)
{
    far_train_opts opts;
    far_track_opts how;
    far_status st;
    far_train_opts_init(&opts);
    opts.optimizer = FAR_OPTIMIZER_GD;
    opts.loss = FAR_LOSS_MSE;
    opts.lr = SIREN_RATE / 2; /* the mean of squares is 2 L */
    opts.lr /= r->sabotage ? 1e4 : 1;
    opts.epochs = f->steps;
    far_track_opts_init(&how, &opts);
    how.measures = MEASURES;
    how.every = EVERY;
    TRY(far_track_create(r->ctx, net, &image->x, &image->grey, &how, &f->track));
    opts.callback = watch;
    opts.callback_user = f;
    opts.callback_every = EVERY;
    TRY(far_net_train(r->ctx, net, &image->x, &image->grey, &opts, NULL));
done:
    return st;
}

far_status siren_follow(reproduction *r, const siren_image *image, int64_t steps, int64_t moments,
                        siren_run *run)
{
    follower f = {.image = image,
                  .run = run,
                  .steps = steps,
                  .moments = moments,
                  .places = ROOM(moments, double)};
    far_net *net = NULL;
    far_status st;
    spread_moments(&f);
    run->parameters = ROOM(moments, double *);
    run->waves = ROOM(moments, siren_wave);
    run->table = ROOM(moments * COLS, double);
    run->room = moments;
    TRY(siren_net(r, run->start, run->frequency, run->seed, &net));
    TRY(train(r, image, &f, net));
    run->moments = f.kept;
done:
    far_track_destroy(f.track);
    far_net_destroy(net);
    free(f.places);
    return st;
}

/* ---- what --resume takes up ------------------------------------------------------------------ */

enum { WAVE = sizeof(siren_wave) / sizeof(double) };

/* The moments and the parameters of one; then table, waves and parameters, moment by moment. */
static far_status keep_run(reproduction *r, const char *name, const char *note,
                           const siren_run *run, int64_t parameters)
{
    int64_t each = COLS + WAVE + parameters, count = 2 + run->moments * each;
    double *v = ROOM(count, double);
    v[0] = (double)run->moments;
    v[1] = (double)parameters;
    for (int64_t i = 0; i < run->moments; i++) {
        double *place = v + 2 + i * each;
        memcpy(place, run->table + i * COLS, COLS * sizeof *v);
        memcpy(place + COLS, &run->waves[i], sizeof run->waves[i]);
        if (parameters > 0) {
            memcpy(place + COLS + WAVE, run->parameters[i], (size_t)parameters * sizeof *v);
        }
    }
    far_status st = keep_numbers_of(r, name, note, v, count);
    free(v);
    return st;
}

static bool take_run(reproduction *r, const char *name, const char *note, siren_run *run,
                     int64_t parameters)
{
    int64_t count = 0, each = COLS + WAVE + parameters;
    double *v = find_kept_numbers(r, name, note, &count);
    bool whole = v && count > 2 && v[0] >= 1 && v[0] <= (double)count;
    int64_t moments = whole ? (int64_t)v[0] : 0;
    bool good = whole && v[1] == (double)parameters && count == 2 + moments * each;
    if (good) {
        run->moments = run->room = moments;
        run->table = ROOM(moments * COLS, double);
        run->waves = ROOM(moments, siren_wave);
        run->parameters = ROOM(moments, double *);
    }
    for (int64_t i = 0; good && i < moments; i++) {
        const double *place = v + 2 + i * each;
        memcpy(run->table + i * COLS, place, COLS * sizeof *v);
        memcpy(&run->waves[i], place + COLS, sizeof run->waves[i]);
        if (parameters > 0) {
            run->parameters[i] = ROOM(parameters, double);
            memcpy(run->parameters[i], place + COLS + WAVE, (size_t)parameters * sizeof *v);
        }
    }
    free(v);
    return good;
}

static int64_t parameters_of(reproduction *r, const siren_run *run)
{
    far_net *net = NULL;
    int64_t count =
        run->snapshots && siren_net(r, run->start, run->frequency, run->seed, &net) == FAR_OK
            ? far_net_parameters(net).cols
            : 0;
    far_net_destroy(net);
    return count;
}

far_status siren_follow_kept(reproduction *r, const siren_image *image, int64_t steps,
                             int64_t moments, const char *name, siren_run *run)
{
    double sum = 0; /* of the greys: another picture is another run */
    for (int64_t i = 0; i < image->grey.rows; i++) {
        sum += (double)(i + 1) * ((const double *)image->grey.data)[i];
    }
    char *note = text_of("start %d, w0 %g, seed %llu, %lld x %lld points (%.17g), %lld steps, %lld "
                         "moments, %s%s",
                         run->start, SIREN_W0[run->frequency], (unsigned long long)run->seed,
                         (long long)image->side, (long long)image->side, sum, (long long)steps,
                         (long long)moments, run->bare ? "bare" : "whole",
                         run->snapshots ? ", with parameters" : "");
    int64_t parameters = parameters_of(r, run);
    far_status st = FAR_OK;
    if (!take_run(r, name, note, run, parameters)) {
        st = siren_follow(r, image, steps, moments, run);
        st = st == FAR_OK ? keep_run(r, name, note, run, parameters) : st;
    }
    free(note);
    return st;
}

void siren_run_clear(siren_run *run)
{
    for (int64_t i = 0; i < run->room; i++) {
        free(run->parameters[i]);
    }
    FREE(run->parameters, run->waves, run->table);
}

far_status siren_run_net(reproduction *r, const siren_run *run, int64_t moment, far_net **out)
{
    far_status st = siren_net(r, run->start, run->frequency, run->seed, out);
    if (st == FAR_OK) {
        far_mat p = far_net_parameters(*out);
        memcpy(p.data, run->parameters[moment], (size_t)p.cols * sizeof(double));
    }
    return st;
}

double siren_at(const siren_run *run, int64_t moment, int column)
{
    return run->table[moment * COLS + column];
}

double siren_first(const siren_run *run, int column)
{
    return siren_at(run, 0, column);
}

double siren_last(const siren_run *run, int column)
{
    return siren_at(run, run->moments - 1, column);
}

double siren_growth(const siren_run *run)
{
    return siren_last(run, COL_LAMBDA) / siren_first(run, COL_LAMBDA);
}

double siren_auc_gain(const siren_run *run)
{
    return siren_last(run, COL_AUC) - siren_first(run, COL_AUC);
}

double siren_last_auc(const siren_run *run)
{
    return siren_last(run, COL_AUC);
}

double siren_last_gradcorr(const siren_run *run)
{
    return siren_last(run, COL_GRADCORR);
}

double siren_first_min_c(const siren_run *run)
{
    return siren_first(run, COL_MIN_C);
}

double siren_last_min_c(const siren_run *run)
{
    return siren_last(run, COL_MIN_C);
}

/* ---- the kernel by distance ------------------------------------------------------------------ */

/* The tangent kernel of all pairs, and a view of it. */
typedef struct kernel_of_net {
    far_mat matrix;
    far_view *view;
} kernel_of_net;

static far_status kernel_open(reproduction *r, const far_net *net, const far_mat *x,
                              kernel_of_net *out)
{
    far_ntk_opts opts;
    far_status st;
    opts = (far_ntk_opts){.size = sizeof opts};
    *out = (kernel_of_net){
        .matrix = far_mat_view(ROOM(x->rows * x->rows, double), x->rows, x->rows, FAR_F64)};
    TRY(far_net_ntk(r->ctx, net, x, NULL, &opts, &out->matrix));
    TRY(far_view_create(r->ctx, &out->matrix, 0, &out->view));
done:
    return st;
}

static void kernel_close(kernel_of_net *k)
{
    far_view_destroy(k->view);
    free(k->matrix.data);
}

/* Of the curve of a patch: the first eps at which it falls to level. */
static double first_fall(const double *eps, const double *c, double level)
{
    double x = 0, from = 1;
    for (int i = 0; i < SIREN_BINS; i++) {
        if (c[i] <= level) {
            return x + (from - level) / (from - c[i]) * (eps[i] - x);
        }
        if (!isnan(c[i])) {
            x = eps[i];
            from = c[i];
        }
    }
    return NAN;
}

/* side x side points about the middle of the picture. */
static far_mat patch_of(const siren_image *image, int64_t side)
{
    int64_t n = side * side;
    double *x = ROOM(2 * n, double), step = 2 / (double)(image->side - 1) / PATCH;
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = step * ((double)(i % side) - (double)(side - 1) / 2);
        x[2 * i + 1] = step * ((double)(i / side) - (double)(side - 1) / 2);
    }
    return far_mat_view(x, n, 2, FAR_F64);
}

static far_status measure_patch(reproduction *r, const far_net *net, const siren_image *image,
                                siren_curve *out)
{
    far_mat near = patch_of(image, r->quick ? 24 : 48);
    double eps[SIREN_BINS], c[SIREN_BINS];
    kernel_of_net k = {0};
    far_status st;
    TRY(kernel_open(r, net, &near, &k));
    TRY(far_local_correlation(r->ctx, k.view, &near, SIREN_BINS, eps, c, NULL, NULL));
    out->fine = first_fall(eps, c, (1 + out->local.c_inf) / 2) / sqrt(2 * log(2));
done:
    kernel_close(&k);
    free(near.data);
    return st;
}

far_status siren_curve_of(reproduction *r, const far_net *net, const siren_image *image,
                          siren_curve *out)
{
    kernel_of_net k = {0};
    far_status st;
    TRY(kernel_open(r, net, &image->x, &k));
    TRY(far_local_correlation(r->ctx, k.view, &image->x, SIREN_BINS, out->eps, out->c, NULL,
                              &out->local));
    TRY(measure_patch(r, net, image, out));
done:
    kernel_close(&k);
    return st;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static far_status model_reach(reproduction *r, const far_net *net, const siren_image *image,
                              double c_inf, double *out)
{
    int64_t n = image->x.rows;
    far_ntk_opts opts;
    opts = (far_ntk_opts){.size = sizeof opts};
    far_any_kernel kernel = {.net = net, .opts = &opts};
    far_mat a2 = far_mat_view(ROOM(n, double), n, 1, FAR_F64);
    far_mat d = far_mat_view(ROOM(2 * n, double), n, 2, FAR_F64);
    far_mat h = far_mat_view(ROOM(4 * n, double), n, 4, FAR_F64);
    far_status st = far_local_jets(r->ctx, &kernel, &image->x, 1e-3, &a2, &d, &h);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        far_cauchy model = {.xi = NAN};
        st = far_local_cauchy(r->ctx, 2, ((double *)a2.data)[i], (double *)d.data + 2 * i,
                              (double *)h.data + 4 * i, c_inf, &model);
        out[i] = model.xi;
    }
    FREE(a2.data, d.data, h.data);
    return st;
}

static far_status fill_maps(reproduction *r, const far_net *net, const siren_image *image,
                            const kernel_of_net *k, siren_maps *m)
{
    int64_t n = image->x.rows;
    far_mat first = far_mat_view(m->first, n, 1, FAR_F64);
    far_mat values = far_mat_view(m->values, n, 1, FAR_F64);
    double *model = ROOM(n, double), cosine;
    far_local local;
    far_status st;
    for (int64_t i = 0; i < n; i++) {
        m->length[i] = sqrt(((const double *)k->matrix.data)[i * (n + 1)]);
    }
    TRY(far_net_eval(r->ctx, net, &image->x, &values));
    TRY(far_view_first(r->ctx, k->view, &first, &cosine));
    TRY(far_local_correlation(r->ctx, k->view, &image->x, SIREN_BINS, NULL, NULL, NULL, &local));
    TRY(far_local_reach(r->ctx, k->view, &image->x, SIREN_BINS, (1 + local.c_inf) / 2, m->reach,
                        NULL));
    TRY(model_reach(r, net, image, local.c_inf, model));
    TRY(far_correlation(r->ctx, FAR_PEARSON, m->reach, model, n, &m->model));
done:
    free(model);
    return st;
}

far_status siren_maps_of(reproduction *r, const far_net *net, const siren_image *image,
                         siren_maps *out)
{
    int64_t n = image->x.rows;
    kernel_of_net k = {0};
    far_status st;
    *out = (siren_maps){ROOM(n, double), ROOM(n, double), ROOM(n, double), ROOM(n, double), NAN};
    TRY(kernel_open(r, net, &image->x, &k));
    TRY(fill_maps(r, net, image, &k, out));
done:
    kernel_close(&k);
    return st;
}

void siren_maps_clear(siren_maps *m)
{
    FREE(m->values, m->length, m->first, m->reach);
}

far_status siren_first_vector(reproduction *r, const far_net *net, const siren_image *image,
                              double *out)
{
    far_mat first = far_mat_view(out, image->x.rows, 1, FAR_F64);
    kernel_of_net k = {0};
    double cosine;
    far_status st;
    TRY(kernel_open(r, net, &image->x, &k));
    TRY(far_view_first(r->ctx, k.view, &first, &cosine));
done:
    kernel_close(&k);
    return st;
}
