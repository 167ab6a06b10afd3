/* Figure 5: layer norm in groups. The more it bends, the more labels at random it fits. */
#include "lnnet_random.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_GROUPS = 8 };

typedef struct plan {
    int64_t n, side, width, depth, epochs, batch, seeds;
    int count;
    int64_t groups[MOST_GROUPS]; /* ascending; the last has groups of 2 */
} plan;

static plan plan_for(const reproduction *r)
{
    plan full = {.n = 10000,
                 .width = 256,
                 .depth = 2,
                 .epochs = epochs_of(r, 0, 45),
                 .batch = 128,
                 .seeds = seeds_of(r, 1, 1),
                 .count = 8,
                 .groups = {1, 2, 4, 8, 16, 32, 64, 128}};
    plan quick = {.n = 600,
                  .side = 7,
                  .width = 48,
                  .depth = 2,
                  .epochs = epochs_of(r, 150, 0),
                  .batch = 64,
                  .seeds = seeds_of(r, 1, 2),
                  .count = 5,
                  .groups = {1, 3, 6, 12, 24}};
    return r->quick ? quick : full;
}

typedef struct result {
    double accuracy[MOST_GROUPS], half[MOST_GROUPS];
    double bending[MOST_GROUPS]; /* over that of one group */
} result;

static far_status measure(reproduction *r, const plan *p, const random_task *t, result *out)
{
    int64_t count = p->count * p->seeds;
    random_run *runs = ROOM(count, random_run);
    char *texts[MOST_GROUPS] = {NULL};
    far_status st;
    tell(r, "%s: %lld images", RANDOM_NAMES[t->set], (long long)t->n);
    for (int i = 0; i < p->count; i++) {
        texts[i] = text_of("[dense(%lld) ln(groups=%lld)]x%lld dense(%d)", (long long)p->width,
                           (long long)(r->sabotage ? 1 : p->groups[i]), (long long)p->depth,
                           RANDOM_CLASSES);
        for (int64_t k = 0; k < p->seeds; k++) {
            runs[i * p->seeds + k] = (random_run){.task = t,
                                                  .arch = texts[i],
                                                  .rate = r->quick ? 3e-3 : 1e-3,
                                                  .epochs = p->epochs,
                                                  .batch = p->batch,
                                                  .seed = (uint64_t)k};
        }
    }
    TRY(random_train(r, runs, count));
    for (int i = 0; i < p->count; i++) {
        TRY(random_mean(r, runs + i * p->seeds, p->seeds, &out->accuracy[i], &out->half[i]));
        out->bending[i] = runs[i * p->seeds].bending / runs[0].bending;
    }
done:
    for (int i = 0; i < p->count; i++) {
        free(texts[i]);
    }
    free(runs);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status open_panel(reproduction *r, const plan *p, const char *title, const char *y_label,
                             int y_scale, far_figure **out)
{
    static const char *const WRITTEN[] = {"1", "2", "4", "8", "16", "32", "64", "128"};
    static const char *const QUICK[] = {"1", "3", "6", "12", "24"};
    far_figure_opts o;
    far_figure_opts_init(&o);
    o.categories = r->quick ? QUICK : WRITTEN;
    o.category_count = p->count;
    o.title = title;
    o.x_label = "groups";
    o.y_label = y_label;
    o.y_scale = y_scale;
    return far_figure_create(r->ctx, &o, out);
}

static far_status draw(reproduction *r, const plan *p, const random_task *t, const result *f,
                       far_figure *accuracy, far_figure *bending)
{
    double place[MOST_GROUPS], bound[MOST_GROUPS];
    far_status st = FAR_OK;
    for (int i = 0; i < p->count; i++) {
        place[i] = i;
        TRY(far_ln_amplification(r->ctx, p->width, p->groups[i], NULL, NULL, &bound[i]));
    }
    TRY(draw_curve(r, accuracy, place, f->accuracy, f->half, p->count, t->set,
                   RANDOM_NAMES[t->set]));
    /* Groups of 2 are signs and bend nowhere: 0 is not on a log axis. */
    TRY(draw_curve(r, bending, place, f->bending, NULL, p->count - 1, t->set,
                   RANDOM_NAMES[t->set]));
    if (t->set == 0) {
        TRY(draw_dashed(r, bending, place, bound, p->count - 1, FAR_COLOUR_INK, "at least (ours)"));
    }
done:
    return st;
}

static void add_rows(sheet *s, const plan *p, const random_task *t, const result *f)
{
    for (int i = 0; i < p->count; i++) {
        add_cell(s, "%s", RANDOM_NAMES[t->set]);
        add_cell(s, "%lld", (long long)p->groups[i]);
        add_cell(s, "%lld", (long long)(p->width / p->groups[i]));
        add_cell(s, "%.4f", f->accuracy[i]);
        add_cell(s, "%.4g", f->bending[i]);
    }
}

static int best_of(const plan *p, const double *v)
{
    int best = 0;
    for (int i = 1; i < p->count; i++) {
        best = v[i] > v[best] ? i : best;
    }
    return best;
}

static far_status claim_bound(reproduction *r, const plan *p, const char *name, const result *f)
{
    double least = INFINITY;
    far_status st = FAR_OK;
    for (int i = 0; i + 1 < p->count; i++) {
        double bound;
        TRY(far_ln_amplification(r->ctx, p->width, p->groups[i], NULL, NULL, &bound));
        least = fmin(least, f->bending[i] / bound);
    }
    char *what = text_of("%s, H of g groups over H of one, against g (d - 2 g) / (d - 2)", name);
    st = claim(r,
               &(claim_of){.what = what,
                           .tested = "at least 1 time it, an inequality of ours for every input",
                           .seeds = p->seeds,
                           .by_construction = true,
                           .agrees = least >= 0.999},
               "%.3g times it or more", least);
    free(what);
done:
    return st;
}

static far_status claim_set(reproduction *r, const plan *p, const random_task *t, const result *f)
{
    const char *name = RANDOM_NAMES[t->set];
    int best = best_of(p, f->accuracy), last = p->count - 1;
    char *what[] = {text_of("%s, groups against one group", name),
                    text_of("%s, groups of two, where H is 0", name)};
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = what[0],
                          .paper = "groups amplify the nonlinearity of layer norm",
                          .place = "abstract",
                          .tested = "the best number of groups fits 2% of the images more than one",
                          .seeds = p->seeds,
                          .agrees = best > 0 && f->accuracy[best] > f->accuracy[0] + 0.02},
              "%.2f%% with %lld groups (of %lld), %.2f%% with one", 100 * f->accuracy[best],
              (long long)p->groups[best], (long long)(p->width / p->groups[best]),
              100 * f->accuracy[0]));
    TRY(claim(r,
              &(claim_of){.what = what[1],
                          .tested = "fit 2% of the images less than the best",
                          .seeds = p->seeds,
                          .agrees = f->accuracy[last] < f->accuracy[best] - 0.02},
              "%.2f%%", 100 * f->accuracy[last]));
    TRY(claim_bound(r, p, name, f));
done:
    free(what[0]);
    free(what[1]);
    return st;
}

static far_status explain(reproduction *r, const plan *p)
{
    far_status st;
    TRY(keep_heading(r, "Protocol"));
    TRY(keep_text(r,
                  "The first %lld training images of each set%s with labels at random, as in "
                  "lnnet-fig4; networks of %lld layers, %lld wide, %lld epochs, %lld seed%s. H is "
                  "the sum of the squared second derivatives of the first norm at what it gets "
                  "before training: the median over 500 images, over that of one group.",
                  (long long)p->n, p->side ? ", averaged to 7 x 7 grey pixels" : "",
                  (long long)p->depth, (long long)p->width, (long long)p->epochs,
                  (long long)p->seeds, p->seeds == 1 ? "" : "s"));
    TRY(keep_text(r, "At infinite width the number of groups makes no difference: every group then "
                     "has the same mean and variance. Grouping is a matter of finite width."));
done:
    return st;
}

far_status run_lnnet_fig5(reproduction *r)
{
    static const char *const HEADS[] = {"images", "groups", "neurons in a group",
                                        "training accuracy", "H over that of one group"};
    plan p = plan_for(r);
    random_task t[RANDOM_SETS] = {{0}};
    result f;
    far_figure *panels[2] = {NULL};
    sheet s = {.heads = HEADS, .cols = 5};
    far_grid_opts o;
    far_status st;
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(random_task_open(r, i, p.n, p.side, &t[i]));
    }
    TRY(open_panel(r, &p, "what is fitted", "training accuracy", FAR_SCALE_LINEAR, &panels[0]));
    TRY(open_panel(r, &p, "how much it bends", "H, over that of one group", FAR_SCALE_LOG,
                   &panels[1]));
    for (int i = 0; i < RANDOM_SETS; i++) {
        TRY(measure(r, &p, &t[i], &f));
        TRY(claim_set(r, &p, &t[i], &f));
        TRY(draw(r, &p, &t[i], &f, panels[0], panels[1]));
        add_rows(&s, &p, &t[i], &f);
    }
    TRY(explain(r, &p));
done:
    far_grid_opts_init(&o);
    o.width = 760;
    o.height = 380;
    st = keep_grid(r, panels, 1, 2, &o, "lnnet-fig5",
                   "Layer norm in groups, on images with labels at random.", st);
    st = keep_sheet(r, &s, "lnnet-fig5-table", "By the number of groups.", st);
    for (int i = 0; i < RANDOM_SETS; i++) {
        random_task_free(&t[i]);
    }
    return st;
}
