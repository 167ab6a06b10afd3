/* The models of the demonstration: they learn a set, are asked for its points, and are certified.
 */
#include "demo.h"

#include <farfield/predictor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum kind { INFINITE, FINITE, TREES, LINE } kind;

/* A first layer with biases as large as its weights (b=1) sees where on a line it is. One text is
 * read at infinite width and at the width it says. */
#define PLAIN "dense(128, b=1) relu dense(128) relu dense(1)"
#define NORMED "dense(128, b=1) relu dense(128) ln relu dense(1)"

typedef struct model {
    const char *name, *arch;
    kind kind;
} model;

static const model MODELS[DEMO_MODELS] = {{"no norm, infinite width", PLAIN, INFINITE},
                                          {"layer norm, infinite width", NORMED, INFINITE},
                                          {"no norm, width 128", PLAIN, FINITE},
                                          {"layer norm, width 128", NORMED, FINITE},
                                          {"xgboost", NULL, TREES},
                                          {"linear", NULL, LINE}};

enum { MOST_SEEDS = 50, TREE_ROUNDS = 100 };
static const double CERTIFY_SECONDS = 0.5, QUICK_SECONDS = 0.1;

const char *demo_model_name(int i)
{
    return MODELS[i].name;
}

const char *demo_model_arch(int i)
{
    return MODELS[i].arch;
}

/* One model learning one set: predictions of every seed, a row each. */
typedef struct lesson {
    demo *d;
    far_ctx *ctx;
    const demo_set *set;
    const model *model;
    demo_result *result;
    int64_t seeds, points;
    double *f; /* seeds x points */
} lesson;

/* ---- scores -------------------------------------------------------------------------------- */

static double r2(const double *f, const double *y, int64_t n)
{
    double mean = 0, rest = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += y[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        rest += (f[i] - y[i]) * (f[i] - y[i]);
        all += (y[i] - mean) * (y[i] - mean);
    }
    return 1 - rest / all;
}

static far_status score_part(const lesson *l, int64_t start, int64_t count, demo_score *out)
{
    double values[MOST_SEEDS];
    for (int64_t k = 0; k < l->seeds; k++) {
        values[k] = r2(l->f + k * l->points + start, l->set->truth + start, count);
    }
    return far_mean_interval(l->ctx, values, l->seeds, &out->mean, &out->half);
}

static void summarise_point(const lesson *l, int64_t i)
{
    demo_result *r = l->result;
    double sum = 0;
    r->low[i] = INFINITY;
    r->high[i] = -INFINITY;
    for (int64_t k = 0; k < l->seeds; k++) {
        double f = l->f[k * l->points + i];
        sum += f;
        r->low[i] = fmin(r->low[i], f);
        r->high[i] = fmax(r->high[i], f);
    }
    r->mean[i] = sum / (double)l->seeds;
}

static far_status score(const lesson *l)
{
    const demo_set *set = l->set;
    demo_result *r = l->result;
    for (int64_t i = 0; i < l->points; i++) {
        summarise_point(l, i);
    }
    r->largest = 0;
    for (int64_t i = set->in_count; i < demo_curve(set); i++) {
        r->largest = fmax(r->largest, fmax(fabs(r->low[i]), fabs(r->high[i])));
    }
    far_status st = score_part(l, 0, set->in_count, &r->r2_in);
    return st == FAR_OK ? score_part(l, set->in_count, set->out_count, &r->r2_out) : st;
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static far_certify_opts certify_opts(const lesson *l)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = l->d->args.quick ? QUICK_SECONDS : CERTIFY_SECONDS;
    return opts;
}

/* The worst of the seeds, as in a comparison: unbounded, then undecided, then the largest bound. */
static void add_verdict(demo_result *r, const far_bound *b)
{
    if (b->verdict == FAR_BOUNDED) {
        r->bound = r->verdict == FAR_BOUNDED ? fmax(r->bound, b->tightest) : NAN;
    } else if (r->verdict != FAR_UNBOUNDED) {
        r->verdict = b->verdict;
        r->bound = NAN;
        r->slope = b->slope;
        r->order = b->order;
    }
}

/* Predictions at the points of the set, as those of a seed, and the certificate. */
static far_status ask(const lesson *l, const far_predictor *p, int64_t seed)
{
    far_certificate *c = NULL;
    far_certify_opts opts = certify_opts(l);
    far_mat x = far_mat_view((double *)l->set->x, l->points, l->set->input_count, FAR_F64);
    far_mat f = far_mat_view(l->f + seed * l->points, l->points, 1, FAR_F64);
    far_status st = far_predictor_eval(l->ctx, p, &x, &f);
    st = st == FAR_OK ? far_predictor_certify(l->ctx, p, &opts, &c) : st;
    if (st == FAR_OK) {
        add_verdict(l->result, far_certificate_bound(c, 0));
    }
    far_certificate_destroy(c);
    return st;
}

/* ---- infinite width ------------------------------------------------------------------------ */

/* The training rows as a table: inputs, then the target. */
static far_status train_frame(const lesson *l, far_frame **out)
{
    const demo_set *set = l->set;
    int64_t d = set->input_count;
    double values[DEMO_TRAIN * (DEMO_INPUTS + 1)];
    const char *names[DEMO_INPUTS + 1];
    for (int64_t i = 0; i < set->train_count; i++) {
        for (int64_t j = 0; j < d; j++) {
            values[i * (d + 1) + j] = set->train_x[i * d + j];
        }
        values[i * (d + 1) + d] = set->train_y[i];
    }
    for (int64_t j = 0; j <= d; j++) {
        names[j] = j < d ? set->inputs[j] : set->target;
    }
    far_mat m = far_mat_view(values, set->train_count, d + 1, FAR_F64);
    return far_frame_from_mat(l->ctx, &m, names, out);
}

static far_status learn_infinite(const lesson *l, const far_frame *table)
{
    far_predictor *p = NULL;
    far_fit_opts opts;
    far_fit_opts_init(&opts);
    opts.target = l->set->target;
    opts.arch = l->model->arch;
    far_status st = far_predictor_fit(l->ctx, table, &opts, &p);
    st = st == FAR_OK ? ask(l, p, 0) : st;
    far_predictor_destroy(p);
    return st;
}

/* ---- finite width -------------------------------------------------------------------------- */

static far_status draw_net(const lesson *l, const far_examples *data, uint64_t seed, far_net **out)
{
    far_net_opts opts;
    far_net_opts_init(&opts);
    opts.inputs = l->set->input_count;
    opts.seed = seed;
    far_status st = far_net_create(l->ctx, l->model->arch, &opts, out);
    return st == FAR_OK ? far_net_set_columns(l->ctx, *out, data->columns) : st;
}

static far_status train_nets(const lesson *l, const far_examples *data, far_net **nets,
                             const uint64_t *seeds)
{
    far_train_opts opts;
    far_mat x = data->inputs, y = data->targets;
    far_train_opts_init(&opts);
    opts.epochs = l->d->args.quick ? l->set->epochs / 10 : l->set->epochs;
    return far_net_train_many(l->ctx, nets, l->seeds, &x, &y, &opts, seeds, NULL, NULL);
}

static far_status ask_nets(const lesson *l, far_net **nets)
{
    far_status st = FAR_OK;
    for (int64_t k = 0; k < l->seeds && st == FAR_OK; k++) {
        far_predictor *p = NULL;
        st = far_predictor_of_net(l->ctx, nets[k], &p);
        st = st == FAR_OK ? ask(l, p, k) : st;
        far_predictor_destroy(p);
    }
    return st;
}

static far_status learn_finite(const lesson *l, const far_frame *table)
{
    far_examples *data = NULL;
    far_columns_opts opts;
    far_net *nets[MOST_SEEDS] = {NULL};
    uint64_t seeds[MOST_SEEDS];
    far_columns_opts_init(&opts);
    opts.target = l->set->target;
    opts.loss = FAR_LOSS_MSE;
    far_status st = far_examples_learn(l->ctx, table, &opts, &data);
    for (int64_t k = 0; k < l->seeds && st == FAR_OK; k++) {
        seeds[k] = (uint64_t)k;
        st = draw_net(l, data, seeds[k], &nets[k]);
    }
    if (st == FAR_OK) {
        st = train_nets(l, data, nets, seeds);
    }
    if (st == FAR_OK) {
        st = ask_nets(l, nets);
    }
    for (int64_t k = 0; k < l->seeds; k++) {
        far_net_destroy(nets[k]);
    }
    far_examples_destroy(data);
    return st;
}

/* ---- baselines ----------------------------------------------------------------------------- */

static far_status learn_baseline(const lesson *l, const far_frame *table, bool trees)
{
    far_predictor *p = NULL;
    far_columns_opts opts;
    far_columns_opts_init(&opts);
    opts.target = l->set->target;
    if (trees && !far_xgboost_find(l->ctx)) {
        l->result->there = false;
        char *why = talk_flags(far_ctx_message(l->ctx));
        snprintf(l->result->reason, sizeof l->result->reason, "%s", why ? why : "");
        free(why);
        return FAR_OK;
    }
    far_status st = trees ? far_predictor_fit_trees(l->ctx, table, &opts, TREE_ROUNDS, 0, &p)
                          : far_predictor_fit_linear(l->ctx, table, &opts, NAN, &p);
    st = st == FAR_OK ? ask(l, p, 0) : st;
    far_predictor_destroy(p);
    return st;
}

/* ---- all of them --------------------------------------------------------------------------- */

static far_status learn(const lesson *l)
{
    far_frame *table;
    far_status st = train_frame(l, &table);
    if (st != FAR_OK) {
        return st;
    }
    switch (l->model->kind) {
    case INFINITE:
        st = learn_infinite(l, table);
        break;
    case FINITE:
        st = learn_finite(l, table);
        break;
    case TREES:
    case LINE:
        st = learn_baseline(l, table, l->model->kind == TREES);
        break;
    }
    far_frame_destroy(table);
    return st;
}

far_status demo_learn(demo *d, int set, int index)
{
    lesson l = {.d = d,
                .ctx = d->s.ctx,
                .set = &d->sets[set],
                .model = &MODELS[index],
                .result = &d->results[set][index],
                .points = demo_points(&d->sets[set])};
    l.seeds = l.model->kind == FINITE ? d->args.seeds : 1;
    *l.result = (demo_result){.there = true, .verdict = FAR_BOUNDED, .bound = NAN};
    l.f = calloc((size_t)(l.seeds * l.points), sizeof *l.f);
    far_status st = l.f ? learn(&l) : FAR_ERR_MEMORY;
    if (st == FAR_OK && l.result->there) {
        st = score(&l);
    }
    free(l.f);
    return st;
}
