/* Figure 4: labels at random on images. Linear networks, however deep, stay under the best linear
 * classifier; layer norm gets above it; the built network has all of them. */
#include "lnnet_random.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { DEPTHS = 4, MOST_SEEDS = 20, KINDS = 2 };
enum { LINEAR, NORMED };
static const int DEPTH[DEPTHS] = {1, 2, 4, 8};
static const char *const KIND_NAMES[KINDS] = {"linear network", "LN-Net, trained"};

typedef struct plan {
    int64_t n, side, width, epochs, batch, seeds;
    double rate; /* of Adam, for networks */
} plan;

static plan plan_for(const reproduction *r)
{
    plan full = {10000, 0, 256, epochs_of(r, 0, 150), 128, seeds_of(r, 1, 2), 1e-3};
    plan quick = {600, 7, 48, epochs_of(r, 150, 0), 64, seeds_of(r, 1, 2), 3e-3};
    return r->quick ? quick : full;
}

/* Of one set: accuracies on the training points. */
typedef struct result {
    double mean[KINDS][DEPTHS], half[KINDS][DEPTHS];
    double classifier; /* the best linear one */
    double built, built_grouped;
    int64_t layers, grouped_layers;
} result;

/* ---- training ------------------------------------------------------------------------------ */

/* Sabotaged: the linear network is none, and the other one is. */
static char *network_text(const reproduction *r, int kind, int depth, int64_t width)
{
    const char *between = kind == NORMED && !r->sabotage  ? " ln"
                          : kind == LINEAR && r->sabotage ? " relu"
                                                          : "";
    return text_of("[dense(%lld)%s]x%d dense(%d)", (long long)width, between, depth,
                   RANDOM_CLASSES);
}

static random_run run_of(const plan *p, const random_task *t, const char *arch, double rate,
                         int64_t seed)
{
    return (random_run){.task = t,
                        .arch = arch,
                        .rate = rate,
                        .epochs = p->epochs,
                        .batch = p->batch,
                        .seed = (uint64_t)seed};
}

static far_status train_networks(reproduction *r, const plan *p, const random_task *t, result *out)
{
    int64_t count = KINDS * DEPTHS * p->seeds;
    random_run *runs = ROOM(count, random_run);
    char *texts[KINDS * DEPTHS] = {NULL};
    far_status st;
    for (int64_t i = 0; i < count; i++) {
        int64_t which = i / p->seeds;
        if (i % p->seeds == 0) {
            texts[which] = network_text(r, (int)(which / DEPTHS), DEPTH[which % DEPTHS], p->width);
        }
        runs[i] = run_of(p, t, texts[which], p->rate, i % p->seeds);
    }
    TRY(random_train(r, runs, count));
    for (int64_t i = 0; i < KINDS * DEPTHS; i++) {
        TRY(random_mean(r, runs + i * p->seeds, p->seeds, &out->mean[i / DEPTHS][i % DEPTHS],
                        &out->half[i / DEPTHS][i % DEPTHS]));
    }
done:
    for (int i = 0; i < KINDS * DEPTHS; i++) {
        free(texts[i]);
    }
    free(runs);
    return st;
}

/* The best of several learning rates: no linear map does much better on these points. */
static far_status train_classifier(reproduction *r, const plan *p, const random_task *t,
                                   result *out)
{
    static const double RATES[] = {3e-2, 1e-2, 3e-3, 1e-3};
    enum { COUNT = sizeof RATES / sizeof RATES[0] };
    random_run runs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        runs[i] = run_of(p, t, "dense(10)", RATES[i], 0);
        runs[i].epochs = 2 * p->epochs;
    }
    far_status st = random_train(r, runs, COUNT);
    for (int i = 0; st == FAR_OK && i < COUNT; i++) {
        out->classifier = fmax(out->classifier, runs[i].accuracy);
    }
    return st;
}

/* ---- building ------------------------------------------------------------------------------ */

static far_status build(reproduction *r, const random_task *t, int64_t groups, double *accuracy,
                        int64_t *layers)
{
    far_net *net = NULL;
    far_lnnet_opts o;
    far_lnnet_info info;
    far_lnnet_checked found;
    far_mat x = random_task_points(t);
    far_status st;
    far_lnnet_opts_init(&o);
    o.groups = groups;
    TRY(far_lnnet_build(r->ctx, &x, t->labels, RANDOM_CLASSES, &o, &net, &info));
    if (r->sabotage) { /* labels that it was not built for */
        t->labels[0] = (t->labels[0] + 1) % RANDOM_CLASSES;
    }
    TRY(far_lnnet_check(r->ctx, net, &x, t->labels, FAR_LNNET_PRECISION_AUTO, 0, &found));
    *accuracy = 1 - (double)found.wrong / (double)t->n;
    *layers = info.layers;
done:
    far_net_destroy(net);
    return st;
}

static far_status measure(reproduction *r, const plan *p, const random_task *t, result *out)
{
    far_status st;
    *out = (result){.classifier = 0};
    tell(r, "%s: %lld images", RANDOM_NAMES[t->set], (long long)t->n);
    TRY(build(r, t, 1, &out->built, &out->layers));
    TRY(build(r, t, RANDOM_CLASSES, &out->built_grouped, &out->grouped_layers));
    TRY(train_classifier(r, p, t, out));
    TRY(train_networks(r, p, t, out));
done:
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status draw(reproduction *r, const random_task *t, const result *f, far_figure **out)
{
    static const char *const DEPTHS_WRITTEN[DEPTHS] = {"1", "2", "4", "8"};
    double place[DEPTHS], classifier[DEPTHS], built[DEPTHS];
    far_figure_opts o;
    far_status st;
    far_figure_opts_init(&o);
    o.title = RANDOM_NAMES[t->set];
    o.x_label = "hidden layers";
    o.y_label = t->set == 0 ? "training accuracy" : NULL;
    o.categories = DEPTHS_WRITTEN;
    o.category_count = DEPTHS;
    o.y_min = 0;
    o.y_max = 1.05;
    for (int i = 0; i < DEPTHS; i++) {
        place[i] = i;
        classifier[i] = f->classifier;
        built[i] = f->built;
    }
    TRY(far_figure_create(r->ctx, &o, out));
    for (int kind = 0; kind < KINDS; kind++) {
        TRY(draw_curve(r, *out, place, f->mean[kind], f->half[kind], DEPTHS, kind,
                       KIND_NAMES[kind]));
    }
    TRY(draw_dashed(r, *out, place, classifier, DEPTHS, FAR_COLOUR_INK, "best linear classifier"));
    TRY(draw_dashed(r, *out, place, built, DEPTHS, KINDS, "LN-Net, built (3 neurons wide)"));
done:
    return st;
}

static void add_rows(sheet *s, const random_task *t, const result *f)
{
    for (int kind = 0; kind < KINDS; kind++) {
        add_cell(s, "%s", RANDOM_NAMES[t->set]);
        add_cell(s, "%s", KIND_NAMES[kind]);
        for (int i = 0; i < DEPTHS; i++) {
            add_cell(s, "%.4f", f->mean[kind][i]);
        }
    }
}

static double best_of(const double *v)
{
    double best = v[0];
    for (int i = 1; i < DEPTHS; i++) {
        best = fmax(best, v[i]);
    }
    return best;
}

/* A linear network is a linear classifier; what is tested is how far training gets it. From three
 * seeds on there is an interval to test with, else a tolerance serves. */
static far_status claim_linear(reproduction *r, const plan *p, const char *what, const result *f)
{
    int best = 0;
    for (int i = 1; i < DEPTHS; i++) {
        best = f->mean[LINEAR][i] > f->mean[LINEAR][best] ? i : best;
    }
    bool interval = p->seeds >= 3;
    double linear = f->mean[LINEAR][best], slack = interval ? f->half[LINEAR][best] : 0.02;
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "no better than a linear classifier",
                             .place = LNNET_NOT_READ "Figure 4",
                             .tested = interval ? "the 95% interval of the best depth does not lie "
                                                  "above the best of four classifiers"
                                                : "at most 2% of the images above the best of four "
                                                  "classifiers",
                             .seeds = p->seeds,
                             .late = !interval,
                             .agrees = linear - slack <= f->classifier},
                 "%.2f%%, the classifier %.2f%%", 100 * linear, 100 * f->classifier);
}

static far_status claim_set(reproduction *r, const plan *p, const random_task *t, const result *f)
{
    const char *name = RANDOM_NAMES[t->set];
    double linear = best_of(f->mean[LINEAR]), normed = best_of(f->mean[NORMED]);
    char *what[] = {text_of("%s, linear networks of any depth", name),
                    text_of("%s, LN-Net trained", name), text_of("%s, LN-Net built", name)};
    far_status st;
    TRY(claim_linear(r, p, what[0], f));
    TRY(claim(r,
              &(claim_of){.what = what[1],
                          .paper = "fits more than a linear classifier can",
                          .place = LNNET_NOT_READ "Figure 4",
                          .tested = "above the best of both, mean over seeds",
                          .seeds = p->seeds,
                          .late = true,
                          .agrees = normed > fmax(linear, f->classifier)},
              "%.2f%%, the best of them %.2f%%", 100 * normed, 100 * fmax(linear, f->classifier)));
    TRY(claim(r,
              &(claim_of){.what = what[2],
                          .paper = "3 neurons a layer and O(m) layers classify m points",
                          .place = "abstract",
                          .tested = "every image, 3 and 30 neurons wide",
                          .agrees = f->built == 1 && f->built_grouped == 1},
              "%.0f%% by %lld layers of 3 neurons, %.0f%% by %lld layers of 30", 100 * f->built,
              (long long)f->layers, 100 * f->built_grouped, (long long)f->grouped_layers));
done:
    for (int i = 0; i < 3; i++) {
        free(what[i]);
    }
    return st;
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_heading(r, "Protocol"));
    TRY(keep_text(
        r,
        "The first %lld training images of each set%s, ten classes drawn at random; pixels "
        "standardised. "
        "Networks are %lld wide and trained with cross entropy by Adam for %lld epochs in "
        "minibatches of %lld, rate %g, a tenth of it in the last third; %lld seed%s. "
        "The best linear classifier is the best of four rates, with twice the epochs. "
        "Layer norms have no scale and no shift. The built networks are not trained.",
        (long long)p->n, p->side ? ", averaged to 7 x 7 grey pixels" : "", (long long)p->width,
        (long long)p->epochs, (long long)p->batch, p->rate, (long long)p->seeds,
        p->seeds == 1 ? "" : "s"));
    TRY(keep_text(r, "A linear network is a linear classifier, whatever its depth; which of them "
                     "gets more labels right is a matter of training, and of a percent or two: "
                     "training lowers the cross entropy, and the fewest errors are hard to find."));
    TRY(keep_text(r,
                  "Learning rate, epochs and the standardisation of each pixel were changed when "
                  "LN-Nets on 10000 images of MNIST stayed below the classifier; the classifier "
                  "and the linear networks have the same. CIFAR-10 is its first batch."));
done:
    return st;
}

far_status run_lnnet_fig4(reproduction *r)
{
    static const char *const HEADS[] = {"images",   "network",  "1 layer",
                                        "2 layers", "4 layers", "8 layers"};
    plan p = plan_for(r);
    random_task t[RANDOM_SETS] = {{0}};
    result found[RANDOM_SETS];
    far_figure *panels[RANDOM_SETS] = {NULL};
    sheet s = {.heads = HEADS, .cols = 2 + DEPTHS};
    far_grid_opts o;
    far_status st;
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(random_task_open(r, i, p.n, p.side, &t[i]));
    }
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(measure(r, &p, &t[i], &found[i]));
        TRY(claim_set(r, &p, &t[i], &found[i]));
        TRY(draw(r, &t[i], &found[i], &panels[i]));
        add_rows(&s, &t[i], &found[i]);
    }
    TRY(explain(r, &p));
done:
    far_grid_opts_init(&o);
    o.share_y = FAR_SHARE_LINE;
    o.width = 760;
    o.height = 380;
    st = keep_grid(r, panels, 1, RANDOM_SETS, &o, "lnnet-fig4",
                   "Labels at random: the part of the training images that is classified rightly.",
                   st);
    st = keep_sheet(r, &s, "lnnet-fig4-table", "Training accuracy by depth, mean over seeds.", st);
    for (int i = 0; i < RANDOM_SETS; i++) {
        random_task_free(&t[i]);
    }
    return st;
}
