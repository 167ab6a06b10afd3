/* Figure 5: layer norm in groups. The more it bends, the more labels at random it fits. */
#include "lnnet_random.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 8 };

typedef struct plan {
    int64_t n, side, width, depth, epochs, batch, seeds;
    int64_t bend_points;
    int count;
    int64_t groups[MOST_GROUPS]; /* ascending; the last has groups of 2 */
} plan;

static plan plan_for(const reproduction *r)
{
    static const int64_t GROUPS[] = {1, 2, 4, 8, 16, 32, 64, 128}, QUICK[] = {1, 3, 6, 12, 24};
    plan p = {.n = r->quick ? 500 : 10000,
              .side = r->quick ? 7 : 0,
              .width = r->quick ? 48 : 256,
              .depth = 2,
              .epochs = epochs_of(r, 100, 150),
              .batch = r->quick ? 64 : 128,
              .seeds = seeds_of(r, 3, 3),
              .bend_points = r->quick ? 40 : 8,
              .count = r->quick ? 5 : 8};
    memcpy(p.groups, r->quick ? QUICK : GROUPS, (size_t)p.count * sizeof *p.groups);
    return p;
}

typedef struct result {
    double accuracy[MOST_GROUPS], half[MOST_GROUPS];
    double above[MOST_GROUPS], above_half[MOST_GROUPS]; /* one group */
    double before[MOST_GROUPS], after[MOST_GROUPS];     /* H, over that of one group before */
    double classifier;                                  /* the best linear one */
} result;

static far_status measure_runs(reproduction *r, const plan *p, const random_run *runs, result *out)
{
    double *before = ROOM(p->seeds, double), *after = ROOM(p->seeds, double);
    far_status st = FAR_OK;
    for (int i = 0; i < p->count; i++) {
        const random_run *first = runs + i * p->seeds;
        for (int64_t k = 0; k < p->seeds; k++) {
            before[k] = first[k].before;
            after[k] = first[k].after;
        }
        TRY(far_quantile(r->ctx, before, p->seeds, 0.5, &out->before[i]));
        TRY(far_quantile(r->ctx, after, p->seeds, 0.5, &out->after[i]));
        out->after[i] /= out->before[0];
        TRY(random_mean(r, first, NULL, p->seeds, &out->accuracy[i], &out->half[i]));
        TRY(random_mean(r, first, runs, p->seeds, &out->above[i], &out->above_half[i]));
    }
    for (int i = p->count - 1; i >= 0; i--) {
        out->before[i] /= out->before[0];
    }
done:
    free(before);
    free(after);
    return st;
}

static far_status measure(reproduction *r, const plan *p, const random_task *t, result *out)
{
    int64_t count = p->count * p->seeds;
    random_run *runs = ROOM(count, random_run), *lines = ROOM(p->seeds, random_run);
    double half;
    far_status st;
    tell(r, "%s: %lld images", RANDOM_NAMES[t->set], (long long)t->n);
    for (int i = 0; i < p->count; i++) {
        const char *arch =
            words(r, "[dense(%lld) ln(groups=%lld)]x%lld dense(%d)", (long long)p->width,
                  (long long)(r->sabotage ? 1 : p->groups[i]), (long long)p->depth, RANDOM_CLASSES);
        for (int64_t k = 0; k < p->seeds; k++) {
            runs[i * p->seeds + k] = (random_run){.task = t,
                                                  .arch = arch,
                                                  .rate = r->quick ? 3e-3 : 1e-3,
                                                  .epochs = p->epochs,
                                                  .batch = p->batch,
                                                  .seed = (uint64_t)k,
                                                  .bend_points = p->bend_points};
        }
    }
    TRY(random_classifier(r, runs, p->seeds, lines));
    TRY(random_mean(r, lines, NULL, p->seeds, &out->classifier, &half));
    TRY(random_train(r, runs, count));
    TRY(measure_runs(r, p, runs, out));
done:
    free(runs);
    free(lines);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status open_panel(reproduction *r, const plan *p, const char *title, const char *y_label,
                             int y_scale, far_figure **out)
{
    static const char *const WRITTEN[] = {"1", "2", "4", "8", "16", "32", "64", "128"};
    static const char *const QUICK[] = {"1", "3", "6", "12", "24"};
    far_figure_opts o = axes(title, "groups", y_label);
    o.categories = r->quick ? QUICK : WRITTEN;
    o.category_count = p->count;
    o.y_scale = y_scale;
    return far_figure_create(r->ctx, &o, out);
}

static far_status draw(reproduction *r, const plan *p, const random_task *t, const result *f,
                       far_figure *accuracy, far_figure *bending)
{
    double place[MOST_GROUPS], classifier[MOST_GROUPS];
    const char *name = RANDOM_NAMES[t->set];
    const char *line = words(r, "%s, linear classifier", name),
               *after = words(r, "%s, trained", name);
    far_status st;
    for (int i = 0; i < p->count; i++) {
        place[i] = i;
        classifier[i] = f->classifier;
    }
    TRY(draw_curve(r, accuracy, place, f->accuracy, f->half, p->count, t->set, name));
    TRY(draw_dashed(r, accuracy, place, classifier, p->count, t->set, line));
    /* Groups of 2 are signs and bend nowhere: 0 is not on a log axis. */
    TRY(draw_curve(r, bending, place, f->before, NULL, p->count - 1, t->set, name));
    TRY(draw_dashed(r, bending, place, f->after, p->count - 1, t->set, after));
done:
    return st;
}

static void add_rows(sheet *s, const plan *p, const random_task *t, const result *f)
{
    for (int i = 0; i < p->count; i++) {
        add_cell(s, "%s", RANDOM_NAMES[t->set]);
        add_cell(s, "%lld", (long long)p->groups[i]);
        add_cell(s, "%lld", (long long)(p->width / p->groups[i]));
        add_cell(s, "%.4f +- %.4f", f->accuracy[i], f->half[i]);
        add_cell(s, "%.4g", f->before[i]);
        add_cell(s, "%.4g", f->after[i]);
    }
}

/* More bending, more labels: ranks over the numbers of groups. */
static far_status claim_relation(reproduction *r, const plan *p, const char *what, const result *f)
{
    double before, after;
    far_status st;
    TRY(far_correlation(r->ctx, FAR_SPEARMAN, f->before, f->accuracy, p->count, &before));
    TRY(far_correlation(r->ctx, FAR_SPEARMAN, f->after, f->accuracy, p->count, &after));
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "accuracy and H are shown side by side",
                           .place = LNNET_NOT_READ "Figure 5",
                           .tested = "rank correlation of accuracy with H of the whole network "
                                     "before training above 0.5",
                           .seeds = p->seeds,
                           .agrees = before > 0.5},
               "%.2f over %d numbers of groups (with H after training: %.2f)", before, p->count,
               after);
done:
    return st;
}

static far_status claim_groups(reproduction *r, const plan *p, const char *what, const result *f)
{
    int64_t best = largest_of(f->accuracy, p->count);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = "groups amplify the nonlinearity of layer norm",
                             .place = "abstract",
                             .tested = "the 95% interval over seeds of the best number of groups "
                                       "less one group lies above 0",
                             .seeds = p->seeds,
                             .agrees = f->above[best] - f->above_half[best] > 0},
                 "%.2f%% with %lld groups (of %lld), %.2f%% with one: %+.2f%% +- %.2f%%",
                 100 * f->accuracy[best], (long long)p->groups[best],
                 (long long)(p->width / p->groups[best]), 100 * f->accuracy[0],
                 100 * f->above[best], 100 * f->above_half[best]);
}

static far_status claim_set(reproduction *r, const plan *p, const random_task *t, const result *f)
{
    const char *name = RANDOM_NAMES[t->set];
    int64_t best = largest_of(f->accuracy, p->count), last = p->count - 1;
    far_status st;
    TRY(claim_groups(r, p, words(r, "%s, groups against one group", name), f));
    TRY(claim(r,
              &(claim_of){.what = words(r, "%s, groups of two, where H is 0", name),
                          .tested = "fit 2% of the images less than the best",
                          .seeds = p->seeds,
                          .agrees = f->accuracy[last] < f->accuracy[best] - 0.02},
              "%.2f%%", 100 * f->accuracy[last]));
    TRY(claim_relation(r, p, words(r, "%s, accuracy against H", name), f));
done:
    return st;
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "The first %lld training images of each set%s with labels at random, as in "
        "lnnet-fig4, trained as there; networks of %lld layers, %lld wide, %lld epochs, "
        "%lld seed%s. H is the sum of the squared second derivatives of the whole "
        "network, all outputs by all inputs, before and after training: the median over "
        "%lld images and the seeds, over that of one group before training.",
        (long long)p->n, p->side ? ", averaged to 7 x 7 grey pixels" : "", (long long)p->depth,
        (long long)p->width, (long long)p->epochs, (long long)p->seeds, p->seeds == 1 ? "" : "s",
        (long long)p->bend_points));
    TRY(keep_text(r, "At infinite width the number of groups makes no difference: every group then "
                     "has the same mean and variance. Grouping is a matter of finite width."));
done:
    return st;
}

far_status run_lnnet_fig5(reproduction *r)
{
    static const char *const HEADS[] = {
        "images",          "groups", "neurons in a group", "training accuracy", "H before training",
        "H after training"};
    plan p = plan_for(r);
    random_task t[RANDOM_SETS] = {{0}};
    result f;
    far_figure *panels[2] = {NULL};
    far_grid_opts o = grid_of(760, 380);
    sheet s = {.heads = HEADS, .cols = 6};
    far_status st;
    TRY(random_check_seeds(r, p.seeds));
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(random_task_open(r, i, p.n, p.side, &t[i]));
    }
    TRY(open_panel(r, &p, "what is fitted", "training accuracy", FAR_SCALE_LINEAR, &panels[0]));
    TRY(open_panel(r, &p, "how much it bends", "H, over that of one group before", FAR_SCALE_LOG,
                   &panels[1]));
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(measure(r, &p, &t[i], &f));
        TRY(claim_set(r, &p, &t[i], &f));
        TRY(draw(r, &p, &t[i], &f, panels[0], panels[1]));
        add_rows(&s, &p, &t[i], &f);
    }
    TRY(explain(r, &p));
done:
    st = keep_grid(r, panels, 1, 2, &o, "lnnet-fig5",
                   "Layer norm in groups, on images with labels at random.", st);
    st = keep_sheet(r, &s, "lnnet-fig5-table", "By the number of groups.", st);
    for (int i = 0; i < RANDOM_SETS; i++) {
        random_task_free(&t[i]);
    }
    return st;
}
