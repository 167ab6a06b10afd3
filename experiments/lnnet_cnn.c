/* Layer norm in groups of channels, in a small plain CNN on CIFAR-10. */
#include "cifar.h"
#include "lnnet_random.h"
#include "lnnet_variants.h"
#include "registry.h"
#include "run_grid.h"

#include <math.h>
#include <string.h>

enum { LAYERS = 3, VARIANTS = 2 * NORMS, BATCH = 64, BENT = 8, PROBES = 8 };

/* ---- networks ------------------------------------------------------------------------------ */

typedef struct plan {
    const cifar_images *train, *test;
    int64_t seeds, epochs;
    int64_t channels[LAYERS];
    const char *archs[VARIANTS];
} plan;

/* What a network of one variant (norm, and NORMS more with relu) and seed has come to: numbers
 * alone, as run_grid keeps them. */
typedef struct run {
    double fitted, accuracy; /* of training and of test images, right */
    double before, after;    /* H, where there is no activation */
} run;

static const char *arch_text(reproduction *r, const plan *p, int variant)
{
    int64_t side = p->train->side;
    const char *text =
        words(r, "image(%dx%lldx%lld) ", CIFAR_COLOURS, (long long)side, (long long)side);
    for (int i = 0; i < LAYERS; i++) {
        text = words(r, "%sconv(%lld, 3x3, stride=2, pad=1) %s%s", text, (long long)p->channels[i],
                     norm_text(r, variant % NORMS, p->channels[i], false),
                     variant >= NORMS ? "relu " : "");
    }
    return words(r, "%sflatten dense(%lld)", text, (long long)p->train->classes);
}

static far_status accuracy(reproduction *r, const far_net *net, const cifar_images *of, double *out)
{
    double *f = ROOM(of->n * of->classes, double);
    far_mat x = cifar_points(of), values = far_mat_view(f, of->n, of->classes, FAR_F64);
    far_status st = far_net_eval(r->ctx, net, &x, &values);
    int64_t right = 0;
    for (int64_t i = 0; i < of->n; i++) {
        right += largest_of(f + i * of->classes, of->classes) == (int64_t)of->y[i];
    }
    *out = (double)right / (double)of->n;
    free(f);
    return st;
}

/* Derivatives of u'f by the inputs, at x + step v. */
static far_status slopes(reproduction *r, const far_net *net, const double *x, const double *v,
                         double step, far_mat *u, far_mat *out)
{
    int64_t count = out->rows * out->cols;
    double *moved = ROOM(count, double);
    far_mat at = far_mat_view(moved, out->rows, out->cols, FAR_F64);
    for (int64_t i = 0; i < count; i++) {
        moved[i] = x[i] + step * v[i];
    }
    far_status st = far_net_vjp(r->ctx, net, &at, u, NULL, out);
    free(moved);
    return st;
}

/* H, the sum of the squares of all second derivatives, is the mean of |d/dt grad u'f(x + t v)|^2
 * over signs u and normal v: the median over some images of the mean over some draws, by central
 * differences. */
static far_status bending(reproduction *r, const plan *p, const far_net *net, double *out)
{
    static const double STEP = 1e-4;
    int64_t d = cifar_pixels(p->test), k = p->test->classes, rows = BENT * PROBES, count = rows * d;
    double *all = ROOM(4 * count + rows * k, double), h[BENT] = {0};
    double *x = all, *v = x + count, *up = v + count, *down = up + count, *signs = down + count;
    far_mat u = far_mat_view(signs, rows, k, FAR_F64), above = far_mat_view(up, rows, d, FAR_F64),
            below = far_mat_view(down, rows, d, FAR_F64);
    uint64_t state = 77;
    far_status st;
    for (int64_t i = 0; i < count; i++) {
        x[i] = p->test->x[i / d / PROBES * d + i % d];
        v[i] = normal(&state);
    }
    for (int64_t i = 0; i < rows * k; i++) {
        signs[i] = uniform(&state) < 0.5 ? -1 : 1;
    }
    TRY(slopes(r, net, x, v, STEP, &u, &above));
    TRY(slopes(r, net, x, v, -STEP, &u, &below));
    for (int64_t i = 0; i < count; i++) {
        double bend = (up[i] - down[i]) / (2 * STEP);
        h[i / d / PROBES] += bend * bend / PROBES;
    }
    TRY(far_quantile(r->ctx, h, BENT, 0.5, out));
done:
    free(all);
    return st;
}

static far_status train(reproduction *r, const plan *p, int64_t seed, far_net *net)
{
    const cifar_images *from = p->train;
    far_mat x = cifar_points(from), y = far_mat_view(from->y, from->n, 1, FAR_F64);
    far_train_opts o;
    far_train_opts_init(&o);
    o.loss = FAR_LOSS_CE;
    o.lr = 2e-3;
    o.schedule.kind = FAR_SCHEDULE_COSINE;
    o.epochs = p->epochs;
    o.batch = BATCH;
    o.seed = (uint64_t)seed;
    return far_net_train(r->ctx, net, &x, &y, &o, NULL);
}

static far_status one_run(reproduction *r, int64_t variant, int64_t seed, double *found, void *user)
{
    const plan *p = user;
    run *job = (run *)found;
    bool smooth = variant < NORMS;
    far_net *net = NULL;
    far_status st;
    job->before = job->after = NAN;
    TRY(new_net(r, p->archs[variant], 0, FAR_INIT_TORCH, (uint64_t)seed, &net));
    if (smooth) {
        TRY(bending(r, p, net, &job->before));
    }
    TRY(train(r, p, seed, net));
    if (smooth) {
        TRY(bending(r, p, net, &job->after));
    }
    TRY(accuracy(r, net, p->train, &job->fitted));
    TRY(accuracy(r, net, p->test, &job->accuracy));
done:
    far_net_destroy(net);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

typedef struct scores {
    double *accuracy, *fitted; /* variant by variant, seeds of each */
    double before[VARIANTS], after[VARIANTS];
} scores;

static far_status gather(reproduction *r, const plan *p, const run *runs, scores *out)
{
    double *h = ROOM(2 * p->seeds, double);
    far_status st = FAR_OK;
    for (int v = 0; v < VARIANTS; v++) {
        for (int64_t k = 0; k < p->seeds; k++) {
            const run *one = &runs[v * p->seeds + k];
            out->accuracy[v * p->seeds + k] = one->accuracy;
            out->fitted[v * p->seeds + k] = one->fitted;
            h[k] = one->before;
            h[p->seeds + k] = one->after;
        }
        out->before[v] = out->after[v] = NAN;
        if (v < NORMS) {
            TRY(far_quantile(r->ctx, h, p->seeds, 0.5, &out->before[v]));
            TRY(far_quantile(r->ctx, h + p->seeds, p->seeds, 0.5, &out->after[v]));
        }
    }
done:
    free(h);
    return st;
}

static far_status claim_above(reproduction *r, const plan *p, const scores *s, const char *what,
                              const char *paper, int high, int low)
{
    interval gain, above, below;
    const double *upper = s->accuracy + high * p->seeds, *lower = s->accuracy + low * p->seeds;
    far_status st;
    TRY(interval_of(r, upper, lower, p->seeds, &gain));
    TRY(interval_of(r, upper, NULL, p->seeds, &above));
    TRY(interval_of(r, lower, NULL, p->seeds, &below));
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = paper,
                           .place = LNNET_NOT_READ "its section on CNNs and transformers",
                           .tested = "test accuracy: the 95% interval over seeds of the difference "
                                     "lies above 0",
                           .seeds = p->seeds,
                           .agrees = gain.mean - gain.half > 0},
               "%.2f%% against %.2f%%: %+.2f%% +- %.2f%%", 100 * above.mean, 100 * below.mean,
               100 * gain.mean, 100 * gain.half);
done:
    return st;
}

static far_status claim_bends(reproduction *r, const plan *p, const scores *s)
{
    double one = s->before[NORM_LN], grouped = s->before[NORM_BY_4];
    return claim(r,
                 &(claim_of){.what = "H before training, groups of 4 against LN",
                             .paper = "groups amplify the nonlinearity of layer norm",
                             .place = "abstract",
                             .tested = "at least twice as much, without activations",
                             .seeds = p->seeds,
                             .agrees = grouped >= 2 * one && one > 0},
                 "%.3g against %.3g", grouped, one);
}

/* In the quick form every norm tells stripes apart: groups are for real images. */
static far_status claim_all(reproduction *r, const plan *p, const scores *s)
{
    static const char GAINS[] = "gains from grouping, with and without activations";
    far_status st;
    TRY(claim_above(r, p, s, "without activations, LN against no norm",
                    "layer norm is a nonlinearity", NORM_LN, NORM_NONE));
    TRY(claim_bends(r, p, s));
    for (int v = 0; v < VARIANTS && !r->quick; v++) {
        if (v % NORMS >= NORM_BY_8) {
            TRY(claim_above(r, p, s,
                            words(r, "%s, %s against LN",
                                  v < NORMS ? "without activations" : "with relu",
                                  NORM_NAMES[v % NORMS]),
                            GAINS, v, v / NORMS * NORMS + NORM_LN));
        }
    }
done:
    return st;
}

static far_status add_row(reproduction *r, const plan *p, const scores *s, int v, sheet *table)
{
    interval test, fit;
    far_status st;
    TRY(interval_of(r, s->accuracy + v * p->seeds, NULL, p->seeds, &test));
    TRY(interval_of(r, s->fitted + v * p->seeds, NULL, p->seeds, &fit));
    add_cell(table, "%s", NORM_NAMES[v % NORMS]);
    add_cell(table, "%s", v < NORMS ? "none" : "relu");
    add_cell(table, "%.2f%% +- %.2f%%", 100 * test.mean, 100 * test.half);
    add_cell(table, "%.2f%%", 100 * fit.mean);
    add_cell(table, v < NORMS ? "%.3g" : "-", s->before[v]);
    add_cell(table, v < NORMS ? "%.3g" : "-", s->after[v]);
done:
    return st;
}

static far_status keep_table_of(reproduction *r, const plan *p, const scores *s)
{
    static const char *const HEADS[] = {
        "norms",  "activation", "test accuracy", "training rows right", "H before training",
        "H after"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    far_status st = FAR_OK;
    for (int v = 0; v < VARIANTS && st == FAR_OK; v++) {
        st = add_row(r, p, s, v, &table);
    }
    return keep_sheet(r, &table, "lnnet-cnn-table",
                      "Mean over seeds and its 95% interval; H: median over images and seeds.", st);
}

static far_status keep_figure_of(reproduction *r, const plan *p, const scores *s)
{
    double place[NORMS], mean[NORMS], half[NORMS];
    far_figure *figure = NULL;
    far_figure_opts o = axes(NULL, NULL, "test accuracy");
    far_status st;
    o.categories = NORM_NAMES;
    o.category_count = NORMS;
    TRY(far_figure_create(r->ctx, &o, &figure));
    for (int first = 0; first < VARIANTS; first += NORMS) {
        for (int v = 0; v < NORMS; v++) {
            interval i;
            TRY(interval_of(r, s->accuracy + (first + v) * p->seeds, NULL, p->seeds, &i));
            place[v] = v;
            mean[v] = i.mean;
            half[v] = i.half;
        }
        TRY(draw_curve(r, figure, place, mean, half, NORMS, first / NORMS,
                       first ? "relu" : "no activation"));
    }
done:
    return keep_drawn(r, figure, "lnnet-cnn", "Test accuracy by the norms of the network.", st);
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "%s. Networks of three convolutions 3 x 3 of stride 2 with %lld, %lld and %lld channels, "
        "each followed by its norm and activation, if any, then a dense layer. A norm takes the "
        "channels of a pixel, or groups of 8 or 4 of them; eps = 1e-5, scale and shift are "
        "learnt. Adam, rate 0.002 along half a cosine, %lld epochs of batches of %d, %lld seeds; "
        "no augmentation.",
        r->quick ? "600 images of stripes in one of three directions, at any phase, made for this "
                   "quick form (300 others are the test)"
                 : "The first 10000 training images of CIFAR-10; the first 3000 test images",
        (long long)p->channels[0], (long long)p->channels[1], (long long)p->channels[2],
        (long long)p->epochs, BATCH, (long long)p->seeds));
    TRY(keep_text(
        r,
        "Our own measurement in the spirit of the paper: its networks and numbers are not known "
        "to us. Sizes and rates were chosen once and for all variants; none was tuned. H is the "
        "sum of the squared second derivatives of all outputs by all inputs, estimated at %d "
        "test images by central differences of exact gradients along %d random directions; "
        "behind a relu second derivatives say nothing, and none are given.",
        BENT, PROBES));
done:
    return st;
}

static far_status report(reproduction *r, const plan *p, const run *runs)
{
    int64_t count = VARIANTS * p->seeds;
    scores s = {.accuracy = ROOM(count, double), .fitted = ROOM(count, double)};
    far_status st;
    TRY(gather(r, p, runs, &s));
    TRY(claim_all(r, p, &s));
    TRY(keep_table_of(r, p, &s));
    TRY(keep_figure_of(r, p, &s));
done:
    FREE(s.accuracy, s.fitted);
    return st;
}

far_status run_lnnet_cnn(reproduction *r)
{
    cifar_images train = {0}, test = {0};
    plan p = {.train = &train,
              .test = &test,
              .seeds = seeds_of(r, 3, 3),
              .epochs = epochs_of(r, 8, 10),
              .channels = {16, r->quick ? 16 : 32, r->quick ? 32 : 64}};
    run_grid grid = {.name = "lnnet-cnn",
                     .variants = VARIANTS,
                     .seeds = p.seeds,
                     .epochs = p.epochs,
                     .numbers = sizeof(run) / sizeof(double)};
    run *runs = NULL;
    far_status st;
    TRY(random_check_seeds(r, p.seeds));
    TRY(cifar_take(r, r->quick ? 600 : 10000, r->quick ? 300 : 3000, &train, &test));
    runs = ROOM(VARIANTS * p.seeds, run);
    for (int v = 0; v < VARIANTS; v++) {
        p.archs[v] = arch_text(r, &p, v);
    }
    grid.found = (double *)runs;
    TRY(explain(r, &p));
    TRY(run_grid_all(r, "networks", &grid, one_run, &p));
    TRY(report(r, &p, runs));
done:
    cifar_free(&train);
    cifar_free(&test);
    free(runs);
    return st;
}
