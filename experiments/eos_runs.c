/* Networks trained by gradient descent at several rates, with their kernels tracked. */
#include "eos.h"
#include "kept.h"
#include "parts.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Biases start at 0. The usual weights of each: LeCun's, and He's for relu. */
const eos_shape EOS_SHAPE[EOS_SHAPES] = {
    {"tanh", "dense(50, w=1, b=0) tanh dense(50, w=1, b=0) tanh dense(1, w=1, b=0)",
     FAR_INIT_KAIMING_NORMAL, false},
    {"relu", "dense(100, b=0) relu dense(100, b=0) relu dense(1, b=0)", FAR_INIT_KAIMING_NORMAL,
     false},
    {"linear", "dense(50, w=1, b=0) dense(1, w=1, b=0)", FAR_INIT_KAIMING_NORMAL, true},
};

#define MEASURES "eos,kta,ckta,align:20"
#define LEVEL_FIRST 0.4 /* all begin above it */

/* ---- digits --------------------------------------------------------------------------------- */

static void centre(double *x, int64_t rows)
{
    for (int64_t j = 0; j < DIGIT_PIXELS; j++) {
        double mean = 0;
        for (int64_t i = 0; i < rows; i++) {
            mean += x[i * DIGIT_PIXELS + j] / (double)rows;
        }
        for (int64_t i = 0; i < rows; i++) {
            x[i * DIGIT_PIXELS + j] -= mean;
        }
    }
}

static far_status take_digits(reproduction *r, eos_study *s)
{
    digits d;
    int64_t rows = s->plan.rows;
    far_status st;
    TRY(digits_open(r, &d));
    s->x = ROOM(rows * DIGIT_PIXELS, double);
    s->y = ROOM(rows, double);
    memcpy(s->x, d.x, (size_t)(rows * DIGIT_PIXELS) * sizeof *s->x);
    for (int64_t i = 0; i < rows; i++) {
        s->y[i] = digit_is_odd(d.digit[i]);
    }
    centre(s->x, rows);
done:
    digits_free(&d);
    return st;
}

/* ---- one network ---------------------------------------------------------------------------- */

static double *column_of(const far_mat *rows, int64_t column)
{
    double *out = ROOM(rows->rows, double);
    for (int64_t i = 0; i < rows->rows; i++) {
        out[i] = ((const double *)rows->data)[i * rows->cols + column];
    }
    return out;
}

static void take_track(eos_run *run, const far_track *track)
{
    far_mat m = far_track_describe(track).rows;
    const double *last = (const double *)m.data + (m.rows - 1) * m.cols;
    const double *cosines = last + far_track_find(track, "align1");
    run->rows = m.rows;
    run->time = column_of(&m, FAR_TRACK_TIME);
    run->loss = column_of(&m, FAR_TRACK_LOSS);
    run->sharpness = column_of(&m, FAR_TRACK_FIRST);
    run->kta = column_of(&m, far_track_find(track, "kta"));
    run->ckta = column_of(&m, far_track_find(track, "ckta"));
    for (int i = 0; i < EOS_TOP; i++) {
        run->share[i] = cosines[i] + (i > 0 ? run->share[i - 1] : 0);
    }
    run->top5 = run->share[4];
}

static far_status compare_at_losses(reproduction *r, const eos_plan *p, const far_track *track,
                                    eos_run *run)
{
    double levels[EOS_LEVELS], *row = ROOM(far_track_describe(track).columns, double);
    far_status st = FAR_OK;
    eos_levels(p, levels);
    for (int i = 0; i < EOS_LEVELS && st == FAR_OK; i++) {
        st = far_track_at_loss(r->ctx, track, levels[i], row);
        run->by_loss[i] = row[far_track_find(track, "kta")];
    }
    free(row);
    return st;
}

/* FAR_LOSS_MSE is twice L, so its rate is half of that of L. */
static far_train_opts method(const eos_study *s, const eos_run *run, bool sabotage)
{
    const eos_plan *p = &s->plan;
    bool floored = p->shapes[run->shape].has_floor;
    far_train_opts o;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_GD;
    o.lr = p->rate[run->rate] / 2;
    o.epochs = floored ? p->linear_steps : p->steps_most;
    o.stop_loss = 2 * p->level;
    int64_t every = floored ? p->linear_steps / p->linear_rows
                            : (int64_t)nearbyint(p->apart / p->rate[run->rate]);
    o.callback_every = every > 1 ? every : 1;
    if (sabotage) { /* far below the edge, and the same for all */
        o.lr = p->rate[0] / 200;
        o.epochs = 500;
    }
    return o;
}

/* ---- what --resume takes up ----------------------------------------------------------------- */

enum { HEAD = 4 + EOS_LEVELS + EOS_TOP, CURVES = 5 };

static void name_run(const eos_study *s, const eos_run *run, char **name, char **note)
{
    const eos_plan *p = &s->plan;
    const eos_shape *shape = &p->shapes[run->shape];
    *name = text_of("%s-%g-%lld", shape->name, p->rate[run->rate], (long long)run->seed);
    *note = text_of("%s, %lld rows, rate %g, to %g or %lld steps, rows %g apart (%lld of %lld)",
                    shape->arch, (long long)p->rows, p->rate[run->rate], p->level,
                    (long long)p->steps_most, p->apart, (long long)p->linear_rows,
                    (long long)p->linear_steps);
}

static far_status keep_run(reproduction *r, const eos_study *s, const eos_run *run)
{
    int64_t count = HEAD + CURVES * run->rows;
    double *v = ROOM(count, double), *place = v + HEAD;
    const double *curves[CURVES] = {run->time, run->loss, run->sharpness, run->kta, run->ckta};
    char *name, *note;
    v[0] = (double)run->steps;
    v[1] = run->reached;
    v[2] = (double)run->rows;
    v[3] = run->top5;
    memcpy(v + 4, run->by_loss, sizeof run->by_loss);
    memcpy(v + 4 + EOS_LEVELS, run->share, sizeof run->share);
    for (int i = 0; i < CURVES; i++, place += run->rows) {
        memcpy(place, curves[i], (size_t)run->rows * sizeof *place);
    }
    name_run(s, run, &name, &note);
    far_status st = keep_numbers_of(r, name, note, v, count);
    FREE(v, name, note);
    return st;
}

static bool take_run(reproduction *r, const eos_study *s, eos_run *run)
{
    int64_t count = 0;
    char *name, *note;
    name_run(s, run, &name, &note);
    double *v = find_kept_numbers(r, name, note, &count);
    bool good = v && count > HEAD && v[2] >= 1 && v[2] <= (double)count &&
                count == HEAD + CURVES * (int64_t)v[2];
    if (good) {
        double **curves[CURVES] = {&run->time, &run->loss, &run->sharpness, &run->kta, &run->ckta};
        run->steps = (int64_t)v[0];
        run->reached = v[1] != 0;
        run->rows = (int64_t)v[2];
        run->top5 = v[3];
        memcpy(run->by_loss, v + 4, sizeof run->by_loss);
        memcpy(run->share, v + 4 + EOS_LEVELS, sizeof run->share);
        for (int i = 0; i < CURVES; i++) {
            *curves[i] = ROOM(run->rows, double);
            memcpy(*curves[i], v + HEAD + i * run->rows, (size_t)run->rows * sizeof *v);
        }
    }
    FREE(v, name, note);
    return good;
}

/* ---- training ------------------------------------------------------------------------------- */

static far_status open_network(reproduction *r, const eos_study *s, const eos_run *run,
                               far_net **net)
{
    const eos_shape *shape = &s->plan.shapes[run->shape];
    return new_net(r, shape->arch, DIGIT_PIXELS, shape->init, (uint64_t)run->seed, net);
}

static far_status train_run(reproduction *r, const eos_study *s, eos_run *run)
{
    far_mat x = far_mat_view(s->x, s->plan.rows, DIGIT_PIXELS, FAR_F64);
    far_mat y = far_mat_view(s->y, s->plan.rows, 1, FAR_F64);
    far_train_opts o = method(s, run, r->sabotage);
    far_train_result result = {0};
    far_track_opts how;
    far_track *track = NULL;
    far_net *net = NULL;
    far_status st;
    far_track_opts_init(&how, &o);
    how.measures = MEASURES;
    how.every = o.callback_every;
    TRY(open_network(r, s, run, &net));
    TRY(far_track_create(r->ctx, net, &x, &y, &how, &track));
    o.callback = far_track_callback;
    o.callback_user = &track;
    st = far_net_train(r->ctx, net, &x, &y, &o, &result);
    TRY(st == FAR_ERR_VALUE && result.end == FAR_TRAIN_DIVERGED ? FAR_OK : st);
    run->steps = result.steps;
    run->reached = result.end == FAR_TRAIN_STOP_LOSS;
    take_track(run, track);
    TRY(compare_at_losses(r, &s->plan, track, run));
    TRY(keep_run(r, s, run));
done:
    far_track_destroy(track);
    far_net_destroy(net);
    return st;
}

static far_status train_one(reproduction *r, int64_t job, void *user)
{
    const eos_study *s = user;
    eos_run *run = &s->runs[job];
    return take_run(r, s, run) ? FAR_OK : train_run(r, s, run);
}

/* ---- all ------------------------------------------------------------------------------------ */

static eos_run *place_of(const eos_study *s, int shape, int64_t seed, int rate)
{
    return &s->runs[(shape * s->plan.seeds + seed) * s->plan.rates + rate];
}

const eos_run *eos_run_of(const eos_study *s, int shape, int64_t seed, int rate)
{
    return place_of(s, shape, seed, rate);
}

static void name_runs(eos_study *s)
{
    s->count = s->plan.shape_count * s->plan.seeds * s->plan.rates;
    s->runs = ROOM(s->count, eos_run);
    for (int shape = 0; shape < s->plan.shape_count; shape++) {
        for (int64_t seed = 0; seed < s->plan.seeds; seed++) {
            for (int rate = 0; rate < s->plan.rates; rate++) {
                *place_of(s, shape, seed, rate) =
                    (eos_run){.shape = shape, .rate = rate, .seed = seed};
            }
        }
    }
}

far_status eos_train(reproduction *r, const eos_plan *plan, eos_study *out)
{
    far_status st;
    *out = (eos_study){.plan = *plan};
    TRY(take_digits(r, out));
    name_runs(out);
    TRY(side_by_side(r, "train", out->count, train_one, out));
done:
    return st;
}

void eos_free(eos_study *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        eos_run *run = &s->runs[i];
        FREE(run->time, run->loss, run->sharpness, run->kta, run->ckta);
    }
    FREE(s->runs, s->x, s->y);
    *s = (eos_study){0};
}

void eos_levels(const eos_plan *p, double levels[EOS_LEVELS])
{
    spread_log(LEVEL_FIRST, p->level, levels, EOS_LEVELS);
}

double eos_last(const eos_run *run, const double *curve)
{
    return curve[run->rows - 1];
}

int eos_rate(const eos_plan *p, double rate)
{
    for (int i = 0; i < p->rates; i++) {
        if (p->rate[i] == rate) {
            return i;
        }
    }
    return -1;
}

double eos_last_loss(const eos_run *run)
{
    return eos_last(run, run->loss);
}

double eos_last_edge(const eos_run *run)
{
    return eos_last(run, run->sharpness);
}

double eos_last_kta(const eos_run *run)
{
    return eos_last(run, run->kta);
}

double eos_last_ckta(const eos_run *run)
{
    return eos_last(run, run->ckta);
}

double eos_top2(const eos_run *run)
{
    return run->share[1];
}

double eos_top5(const eos_run *run)
{
    return run->top5;
}

/* ---- over seeds ----------------------------------------------------------------------------- */

far_status eos_mean_at(reproduction *r, const eos_study *s, int shape, int rate,
                       double (*value)(const eos_run *), eos_over_seeds *out)
{
    int64_t count = s->plan.seeds;
    double *values = ROOM(count, double);
    *out = (eos_over_seeds){.low = INFINITY, .high = -INFINITY};
    for (int64_t k = 0; k < count; k++) {
        values[k] = value(eos_run_of(s, shape, k, rate));
        out->low = fmin(out->low, values[k]);
        out->high = fmax(out->high, values[k]);
    }
    far_status st = far_mean_interval(r->ctx, values, count, &out->mean, &out->half);
    free(values);
    return st;
}

static void add_mean(sheet *t, const eos_over_seeds *v)
{
    if (isnan(v->half)) {
        add_cell(t, "%.3f", v->mean);
    } else {
        add_cell(t, "%.3f \u00b1 %.3f", v->mean, v->half);
    }
}

static far_status add_row(reproduction *r, const eos_study *s, int shape, int rate, sheet *t)
{
    double (*const aligned[])(const eos_run *) = {eos_last_kta, eos_last_ckta, eos_top2, eos_top5};
    eos_over_seeds v;
    far_status st;
    add_cell(t, "%s", s->plan.shapes[shape].name);
    add_cell(t, "%g", s->plan.rate[rate]);
    TRY(eos_mean_at(r, s, shape, rate, eos_last_loss, &v));
    add_cell(t, "%.4f", v.mean);
    TRY(eos_mean_at(r, s, shape, rate, eos_last_edge, &v));
    add_cell(t, "%.3f to %.3f", v.low, v.high);
    for (int i = 0; i < 4; i++) {
        TRY(eos_mean_at(r, s, shape, rate, aligned[i], &v));
        add_mean(t, &v);
    }
done:
    return st;
}

far_status eos_keep_table(reproduction *r, const eos_study *s, const char *name,
                          const char *caption)
{
    static const char *const HEADS[] = {"network",
                                        "rate",
                                        "loss L",
                                        "rate \u03bb_{max} / 2",
                                        "KTA",
                                        "centred KTA",
                                        "in the first 2 eigenvectors",
                                        "in the first 5"};
    sheet t = {.heads = HEADS, .cols = 8};
    far_status st = FAR_OK;
    for (int i = 0; i < s->plan.shape_count * s->plan.rates && st == FAR_OK; i++) {
        st = add_row(r, s, i / s->plan.rates, i % s->plan.rates, &t);
    }
    return keep_sheet(r, &t, name, caption, st);
}
