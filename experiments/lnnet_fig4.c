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
    int depths;
} plan;

static plan plan_for(const reproduction *r)
{
    plan full = {10000, 0, 256, epochs_of(r, 0, 150), 128, seeds_of(r, 3, 3), 1e-3, DEPTHS};
    plan quick = {500, 7, 48, epochs_of(r, 100, 0), 64, seeds_of(r, 3, 3), 3e-3, DEPTHS - 1};
    return r->quick ? quick : full;
}

/* Of one set: accuracies on the training points. */
typedef struct result {
    double mean[KINDS][DEPTHS], half[KINDS][DEPTHS];
    double above[KINDS][DEPTHS], above_half[KINDS][DEPTHS]; /* the best linear classifier */
    double classifier;
    double built, built_grouped;
    int64_t layers, grouped_layers;
} result;

/* ---- training ------------------------------------------------------------------------------ */

/* Sabotaged: the linear network is none, and the other one is. */
static const char *network_text(reproduction *r, int kind, int depth, int64_t width)
{
    const char *between = kind == NORMED && !r->sabotage  ? " ln"
                          : kind == LINEAR && r->sabotage ? " relu"
                                                          : "";
    return words(r, "[dense(%lld)%s]x%d dense(%d)", (long long)width, between, depth,
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

/* Networks, and beside them the classifier with the same seeds. */
static far_status train_networks(reproduction *r, const plan *p, const random_task *t, result *out)
{
    int64_t count = KINDS * p->depths * p->seeds;
    random_run *runs = ROOM(count, random_run), *lines = ROOM(p->seeds, random_run);
    const char *text = NULL;
    double half;
    far_status st;
    for (int64_t i = 0; i < count; i++) {
        int64_t which = i / p->seeds, kind = which / p->depths;
        if (i % p->seeds == 0) {
            text = network_text(r, (int)kind, DEPTH[which % p->depths], p->width);
        }
        runs[i] = run_of(p, t, text, p->rate, i % p->seeds);
    }
    TRY(random_classifier(r, runs, p->seeds, lines));
    TRY(random_mean(r, lines, NULL, p->seeds, &out->classifier, &half));
    TRY(random_train(r, runs, count));
    for (int64_t i = 0; i < KINDS * p->depths; i++) {
        const random_run *first = runs + i * p->seeds;
        int64_t kind = i / p->depths, depth = i % p->depths;
        TRY(random_mean(r, first, NULL, p->seeds, &out->mean[kind][depth],
                        &out->half[kind][depth]));
        TRY(random_mean(r, first, lines, p->seeds, &out->above[kind][depth],
                        &out->above_half[kind][depth]));
    }
done:
    free(runs);
    free(lines);
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
    o = (far_lnnet_opts){.size = sizeof o};
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
    TRY(train_networks(r, p, t, out));
done:
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status draw(reproduction *r, const plan *p, const random_task *t, const result *f,
                       far_figure **out)
{
    static const char *const DEPTHS_WRITTEN[DEPTHS] = {"1", "2", "4", "8"};
    double place[DEPTHS], classifier[DEPTHS], built[DEPTHS];
    far_figure_opts o =
        axes(RANDOM_NAMES[t->set], "hidden layers", t->set == 0 ? "training accuracy" : NULL);
    far_status st;
    o.categories = DEPTHS_WRITTEN;
    o.category_count = p->depths;
    o.y_min = 0;
    o.y_max = 1.05;
    for (int i = 0; i < DEPTHS; i++) {
        place[i] = i;
        classifier[i] = f->classifier;
        built[i] = f->built;
    }
    TRY(far_figure_create(r->ctx, &o, out));
    for (int kind = 0; kind < KINDS; kind++) {
        TRY(draw_curve(r, *out, place, f->mean[kind], f->half[kind], p->depths, kind,
                       KIND_NAMES[kind]));
    }
    TRY(draw_dashed(r, *out, place, classifier, p->depths, FAR_COLOUR_INK,
                    "best linear classifier"));
    TRY(draw_dashed(r, *out, place, built, p->depths, KINDS, "LN-Net, built (3 neurons wide)"));
done:
    return st;
}

static void add_rows(sheet *s, const plan *p, const random_task *t, const result *f)
{
    for (int kind = 0; kind < KINDS; kind++) {
        add_cell(s, "%s", RANDOM_NAMES[t->set]);
        add_cell(s, "%s", KIND_NAMES[kind]);
        for (int i = 0; i < DEPTHS; i++) {
            add_cell(s, i < p->depths ? "%.4f +- %.4f" : "-", f->mean[kind][i], f->half[kind][i]);
        }
    }
}

/* A linear network is a linear classifier; what is tested is how far training gets it. */
static const claim_of TRAINED[KINDS] = {
    [LINEAR] = {.paper = "no better than a linear classifier",
                .tested = "the 95% interval over seeds of the best depth less the best of five "
                          "classifiers does not lie above 0"},
    [NORMED] = {.paper = "fits more than a linear classifier can",
                .tested = "the same interval lies above 0"},
};

static far_status claim_trained(reproduction *r, const plan *p, int kind, const char *what,
                                const result *f)
{
    int64_t best = largest_of(f->mean[kind], p->depths);
    double above = f->above[kind][best], half = f->above_half[kind][best];
    const char *against =
        kind == LINEAR ? words(r, " the classifier %.2f%%; the difference", 100 * f->classifier)
                       : "";
    claim_of c = TRAINED[kind];
    c.what = what;
    c.place = LNNET_NOT_READ "Figure 4";
    c.seeds = p->seeds;
    c.late = true;
    c.agrees = (above - half > 0) == (kind == NORMED);
    return claim(r, &c, "%.2f%%,%s %+.2f%% +- %.2f%%", 100 * f->mean[kind][best], against,
                 100 * above, 100 * half);
}

static far_status claim_set(reproduction *r, const plan *p, const random_task *t, const result *f)
{
    const char *name = RANDOM_NAMES[t->set];
    far_status st;
    TRY(claim_trained(r, p, LINEAR, words(r, "%s, linear networks of any depth", name), f));
    TRY(claim_trained(r, p, NORMED, words(r, "%s, LN-Net trained", name), f));
    TRY(claim(r,
              &(claim_of){.what = words(r, "%s, LN-Net built", name),
                          .paper = "3 neurons a layer and O(m) layers classify m points",
                          .place = "abstract",
                          .tested = "every image, 3 and 30 neurons wide",
                          .agrees = f->built == 1 && f->built_grouped == 1},
              "%.0f%% by %lld layers of 3 neurons, %.0f%% by %lld layers of 30", 100 * f->built,
              (long long)f->layers, 100 * f->built_grouped, (long long)f->grouped_layers));
done:
    return st;
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "The first %lld training images of each set%s, ten classes drawn at random; pixels "
        "standardised. "
        "Networks are %lld wide and trained with cross entropy by Adam for %lld epochs in "
        "minibatches of %lld, rate %g, halved every 20 epochs; %lld seed%s. "
        "The best linear classifier is the best of five rates, with twice the epochs; differences "
        "are "
        "taken seed by seed. "
        "Layer norms have no scale and no shift. The built networks are not trained.",
        (long long)p->n, p->side ? ", averaged to 7 x 7 grey pixels" : "", (long long)p->width,
        (long long)p->epochs, (long long)p->batch, p->rate, (long long)p->seeds,
        p->seeds == 1 ? "" : "s"));
    TRY(keep_text(r, "A linear network is a linear classifier, whatever its depth; which of them "
                     "gets more labels right is a matter of training, and of a percent or two: "
                     "training lowers the cross entropy, and the fewest errors are hard to find."));
    TRY(keep_text(r,
                  "The standardisation of each pixel was added when LN-Nets on 10000 images of "
                  "MNIST stayed below the classifier; the classifier and the linear networks have "
                  "the same. CIFAR-10 is its first batch."));
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
    far_grid_opts o = grid_of(760, 380);
    sheet s = {.heads = HEADS, .cols = 2 + DEPTHS};
    far_status st;
    TRY(random_check_seeds(r, p.seeds));
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(random_task_open(r, i, p.n, p.side, &t[i]));
    }
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(measure(r, &p, &t[i], &found[i]));
        TRY(claim_set(r, &p, &t[i], &found[i]));
        TRY(draw(r, &p, &t[i], &found[i], &panels[i]));
        add_rows(&s, &p, &t[i], &found[i]);
    }
    TRY(explain(r, &p));
done:
    o.share_y = FAR_SHARE_LINE;
    st = keep_grid(r, panels, 1, RANDOM_SETS, &o, "lnnet-fig4",
                   "Labels at random: the part of the training images that is classified rightly.",
                   st);
    st = keep_sheet(r, &s, "lnnet-fig4-table",
                    "Training accuracy by depth, mean over seeds and its 95% interval.", st);
    for (int i = 0; i < RANDOM_SETS; i++) {
        random_task_free(&t[i]);
    }
    return st;
}
