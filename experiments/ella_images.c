/* Laplace approximations of a CNN side by side: by features (ELLA), diagonal, KFAC, last layer, and
 * on some training rows exact. */
#define _GNU_SOURCE
#include "ella_images.h"
#include "kept.h"
#include "registry.h"
#include "run_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const IMAGES_NAMES[IMAGES_METHODS] = {
    "MAP", "ELLA (paper)", "ELLA, residual prior", "diagonal", "KFAC", "last layer", "exact"};

enum { BATCH = 128, PRIORS = 13 };
static const double LEAST_PRIOR = 1e-4, MOST_PRIOR = 1e2;

typedef struct images_job {
    const images_plan *plan;
    const picture_sets *sets;
} images_job;

/* A seed at work, on all rows or on some. */
typedef struct bench {
    reproduction *r;
    const images_plan *plan;
    const far_net *net;
    far_mat train, choose, test, other;
    int64_t *choose_labels, *test_labels;
    uint64_t seed;
} bench;

static images_plan plan_of(const reproduction *r)
{
    return (images_plan){
        .arch = r->quick
                    ? "image(1x10x10) conv(4, 3, pad=1) relu maxpool(2) flatten dense(12) relu "
                      "dense(3)"
                    : "image(1x28x28) conv(16, 3, pad=1) relu maxpool(2) conv(32, 3, pad=1) "
                      "relu maxpool(2) flatten dense(64) relu dense(10)",
        .seeds = seeds_of(r, 3, 3),
        .epochs = epochs_of(r, 200, 15),
        .landmarks = r->quick ? 200 : 2000,
        .rank = 20,
        .choosing = r->quick ? 240 : 2000,
        .some = r->quick ? 60 : 300,
        .some_choosing = r->quick ? 100 : 300,
        .some_tests = r->quick ? 100 : 1000};
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the network --------------------------------------------------------------------------- */

/* Sabotaged: for one epoch, which is too early to be too sure. */
static far_status train_net(reproduction *r, const images_job *j, uint64_t seed, far_net *net)
{
    const pictures *from = &j->sets->train;
    far_mat x = picture_points(from, 0, from->n), y = far_mat_view(from->y, from->n, 1, FAR_F64);
    far_train_opts o;
    far_train_opts_init(&o);
    o.loss = FAR_LOSS_CE;
    o.lr = r->quick ? 5e-3 : 1e-3;
    o.schedule.kind = FAR_SCHEDULE_COSINE;
    o.epochs = r->sabotage ? 1 : j->plan->epochs;
    o.batch = r->quick ? 32 : BATCH;
    o.seed = seed;
    return far_net_train(r->ctx, net, &x, &y, &o, NULL);
}

static far_status loss_of(reproduction *r, const images_job *j, const far_net *net, double *out)
{
    const pictures *p = &j->sets->train;
    double *f = ROOM(p->n * p->classes, double), sum = 0;
    far_mat x = picture_points(p, 0, p->n), values = far_mat_view(f, p->n, p->classes, FAR_F64);
    far_status st = far_net_eval(r->ctx, net, &x, &values);
    for (int64_t i = 0; i < p->n && st == FAR_OK; i++) {
        const double *row = f + i * p->classes;
        double most = row[largest_of(row, p->classes)], total = 0;
        for (int64_t c = 0; c < p->classes; c++) {
            total += exp(row[c] - most);
        }
        sum += log(total) + most - row[(int64_t)p->y[i]];
    }
    *out = sum / (double)p->n;
    free(f);
    return st;
}

/* Kept as folder/net-SEED.safetensors, also for other programs to read. loss: in training. */
static far_status open_net(reproduction *r, const images_job *j, uint64_t seed, double *loss,
                           far_net **out)
{
    char *path = text_of("%s/net-%llu.safetensors", r->folder, (unsigned long long)seed);
    char *name = text_of("net-%llu", (unsigned long long)seed);
    char *note = text_of("%lld epochs of %s", (long long)j->plan->epochs, j->plan->arch);
    far_status st;
    if (take_kept_numbers(r, name, note, loss, 1) && access(path, R_OK) == 0) {
        TRY(far_net_load(r->ctx, path, NULL, out));
    } else {
        TRY(new_net(r, j->plan->arch, 0, FAR_INIT_TORCH, seed, out));
        TRY(train_net(r, j, seed, *out));
        TRY(loss_of(r, j, *out, loss));
        TRY(r->sabotage ? FAR_OK : far_net_save(r->ctx, *out, path));
        TRY(keep_numbers_of(r, name, note, loss, 1));
    }
done:
    FREE(path, name, note);
    return st;
}

/* ---- one posterior ------------------------------------------------------------------------- */

/* Sabotaged, ELLA has one feature and no prior for the others. */
static far_laplace_opts options_of(const bench *b, int method)
{
    static const far_laplace_method METHODS[IMAGES_METHODS] = {
        FAR_LAPLACE_ELLA, FAR_LAPLACE_ELLA,       FAR_LAPLACE_ELLA, FAR_LAPLACE_DIAGONAL,
        FAR_LAPLACE_KFAC, FAR_LAPLACE_LAST_LAYER, FAR_LAPLACE_EXACT};
    far_laplace_opts o = ella_options(METHODS[method]);
    o.landmarks = b->r->sabotage ? 1 : b->plan->landmarks;
    o.rank = b->r->sabotage ? 1 : b->plan->rank;
    o.residual_prior = method != IMAGES_PAPER && !b->r->sabotage;
    o.seed = b->seed;
    return o;
}

static far_status choose_prior(const bench *b, far_laplace *la)
{
    double priors[PRIORS];
    int64_t rank = far_laplace_describe(la).rank_most;
    far_laplace_grid g;
    spread_log(LEAST_PRIOR, MOST_PRIOR, priors, PRIORS);
    g = (far_laplace_grid){.size = sizeof g};
    g.ranks = rank > 0 ? &rank : NULL;
    g.rank_count = rank > 0;
    g.priors = priors;
    g.prior_count = PRIORS;
    return far_laplace_choose(b->r->ctx, la, &b->choose, b->choose_labels, NULL, &g, NULL);
}

/* Entropies of pictures; of the test pictures also the scores. la NULL: the network as it is. */
static far_status judge_rows(const bench *b, const far_laplace *la, const far_mat *x, bool test,
                             double *entropy, images_score *out)
{
    far_ctx *ctx = b->r->ctx;
    int64_t n = x->rows, c = far_net_describe(b->net).outputs;
    double *numbers = ROOM(n * c * (c + 2), double), start = seconds_now();
    far_mat mean = far_mat_view(numbers, n, c, FAR_F64);
    far_mat probability = far_mat_view(numbers + n * c, n, c, FAR_F64);
    far_mat covariance = far_mat_view(numbers + 2 * n * c, n * c, c, FAR_F64);
    far_probability_opts o = {.size = sizeof o};
    far_class_score s;
    far_status st;
    o.rule = la ? FAR_PROBABILITY_PROBIT : FAR_PROBABILITY_MEAN;
    TRY(la ? far_laplace_predict(ctx, la, x, &mean, &covariance)
           : far_net_eval(ctx, b->net, x, &mean));
    TRY(far_laplace_probability(ctx, &mean, la ? &covariance : NULL, &o, &probability));
    double seconds = seconds_now() - start;
    TRY(far_class_entropy(ctx, &probability, entropy));
    if (test) {
        TRY(far_class_scores(ctx, &probability, b->test_labels, 0, &s));
        *out = (images_score){
            .accuracy = s.accuracy, .nll = s.nll, .ece = s.ece, .predict_seconds = seconds};
    }
done:
    free(numbers);
    return st;
}

static far_status judge(const bench *b, const far_laplace *la, images_score *out)
{
    double *in = ROOM(b->test.rows, double), *away = ROOM(b->other.rows, double);
    images_score s = {0};
    far_status st;
    TRY(judge_rows(b, la, &b->test, true, in, &s));
    TRY(judge_rows(b, la, &b->other, false, away, &s));
    TRY(far_domain_auroc(b->r->ctx, in, b->test.rows, away, b->other.rows, &s.auroc));
    s.fit_seconds = out->fit_seconds;
    *out = s;
    if (la) {
        out->prior = far_laplace_describe(la).prior;
        out->bytes = far_laplace_describe(la).bytes;
    }
done:
    FREE(in, away);
    return st;
}

/* In place of what la was. The two forms of ELLA are one fit, and seconds stay those of it. */
static far_status fit(const bench *b, int method, double prior, far_laplace **la, double *seconds)
{
    far_laplace_opts o = options_of(b, method);
    double start = seconds_now();
    tell(b->r, "%s", IMAGES_NAMES[method]);
    if (*la && o.method == FAR_LAPLACE_ELLA &&
        far_laplace_describe(*la).method == FAR_LAPLACE_ELLA) {
        return far_laplace_set(b->r->ctx, *la, 0, prior, o.residual_prior);
    }
    far_laplace_destroy(*la);
    *la = NULL;
    o.prior = prior;
    far_status st = far_laplace_fit(b->r->ctx, b->net, &b->train, &o, la);
    *seconds = seconds_now() - start;
    return st;
}

/* ---- all rows ------------------------------------------------------------------------------ */

static far_status judge_all(const bench *b, images_run *out)
{
    far_laplace *la = NULL;
    double seconds = 0;
    far_status st;
    TRY(judge(b, NULL, &out->all[IMAGES_MAP]));
    for (int method = IMAGES_PAPER; method <= IMAGES_LAST; method++) {
        images_score *s = &out->all[method];
        TRY(fit(b, method, 1, &la, &seconds));
        s->fit_seconds = seconds;
        TRY(choose_prior(b, la));
        TRY(judge(b, la, s));
    }
done:
    far_laplace_destroy(la);
    return st;
}

/* ---- some rows, beside the exact posterior ------------------------------------------------- */

static far_status covariances(const bench *b, const far_laplace *la, double *out)
{
    int64_t c = far_net_describe(b->net).outputs;
    far_mat covariance = far_mat_view(out, b->test.rows * c, c, FAR_F64);
    return far_laplace_predict(b->r->ctx, la, &b->test, NULL, &covariance);
}

/* The exact one first: its prior is that of all. */
static far_status judge_some(const bench *b, images_run *out)
{
    int64_t c = far_net_describe(b->net).outputs, count = b->test.rows * c * c;
    double prior = 1, seconds = 0, *exact = ROOM(2 * count, double), *mine = exact + count;
    far_laplace *la = NULL;
    far_status st;
    TRY(judge(b, NULL, &out->some[IMAGES_MAP]));
    for (int method = IMAGES_EXACT; method >= IMAGES_PAPER; method--) {
        images_score *s = &out->some[method];
        TRY(fit(b, method, prior, &la, &seconds));
        s->fit_seconds = seconds;
        if (method == IMAGES_EXACT) {
            TRY(choose_prior(b, la));
            prior = far_laplace_describe(la).prior;
        }
        TRY(judge(b, la, s));
        TRY(covariances(b, la, method == IMAGES_EXACT ? exact : mine));
        out->error[method] = method == IMAGES_EXACT ? 0 : ella_distance(mine, exact, count);
    }
done:
    far_laplace_destroy(la);
    free(exact);
    return st;
}

/* ---- a seed -------------------------------------------------------------------------------- */

static int64_t *labels_of(const pictures *p)
{
    int64_t *out = ROOM(p->n, int64_t);
    for (int64_t i = 0; i < p->n; i++) {
        out[i] = (int64_t)p->y[i];
    }
    return out;
}

static bench bench_of(reproduction *r, const images_job *j, const far_net *net, int64_t seed)
{
    const picture_sets *s = j->sets;
    return (bench){.r = r,
                   .plan = j->plan,
                   .net = net,
                   .train = picture_points(&s->train, 0, s->train.n),
                   .choose = picture_points(&s->choose, 0, j->plan->choosing),
                   .test = picture_points(&s->test, 0, s->test.n),
                   .other = picture_points(&s->other, 0, s->other.n),
                   .choose_labels = labels_of(&s->choose),
                   .test_labels = labels_of(&s->test),
                   .seed = (uint64_t)seed};
}

static far_status run_seed(reproduction *r, int64_t variant, int64_t seed, double *found,
                           void *user)
{
    const images_job *j = user;
    images_run *out = (images_run *)found;
    far_net *net = NULL;
    bench b = {0};
    far_status st;
    (void)variant;
    tell(r, "seed %lld: the network", (long long)seed);
    TRY(open_net(r, j, (uint64_t)seed, &out->loss, &net));
    b = bench_of(r, j, net, seed);
    TRY(judge_all(&b, out));
    b.train.rows = j->plan->some;
    b.choose.rows = j->plan->some_choosing;
    b.test.rows = b.other.rows = j->plan->some_tests;
    TRY(judge_some(&b, out));
done:
    FREE(b.choose_labels, b.test_labels);
    far_net_destroy(net);
    return st;
}

far_status run_ella_images(reproduction *r)
{
    images_plan p = plan_of(r);
    picture_sets sets = {0};
    images_job j = {&p, &sets};
    images_run *runs = ROOM(p.seeds, images_run);
    run_grid grid = {.name = "ella-images",
                     .variants = 1,
                     .seeds = p.seeds,
                     .epochs = p.epochs,
                     .numbers = sizeof(images_run) / sizeof(double),
                     .found = (double *)runs,
                     .alone = true};
    far_status st;
    TRY(picture_sets_open(r, &sets));
    TRY(run_grid_all(r, "networks", &grid, run_seed, &j));
    TRY(ella_images_report(r, &p, &sets, runs));
done:
    picture_sets_close(&sets);
    free(runs);
    return st;
}
