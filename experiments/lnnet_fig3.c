/* Figure 3: confusion, where a merge takes two points of different classes along, and its cure. */
#include "lnnet_film.h"
#include "lnnet_line.h"
#include "parts.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

/* Points of a lattice: 1 and 2 lie mirror-wise about the hinge halfway between 0 and 3. */
enum { POINTS = 6, CLASSES = 3 };
static double LATTICE[POINTS] = {0, 1, 2, 3, 4, 5};
static const int64_t LABELS[POINTS] = {0, 1, 2, 0, 1, 2};

/* ---- the picture --------------------------------------------------------------------------- */

static far_status draw_fold(reproduction *r, const lnnet_fold *fold, const char *title,
                            far_figure **out)
{
    double x[POINTS], y[POINTS];
    far_status st;
    lnnet_points p = {far_mat_view(LATTICE, POINTS, 1, FAR_F64), LABELS, CLASSES, NULL};
    far_figure_opts o = axes(title, "state before", "state behind the layer");
    for (int i = 0; i < POINTS; i++) {
        x[i] = LATTICE[i];
        y[i] = lnnet_fold_at(fold, LATTICE[i]).circle_y;
    }
    TRY(far_figure_create(r->ctx, &o, out));
    TRY(lnnet_draw_classes(r->ctx, *out, x, y, &p, 11));
    for (int i = 0; i < POINTS; i++) {
        far_mark_opts mark = mark_of(FAR_COLOUR_NEXT, NULL);
        mark.dash = FAR_DASH_DOTTED;
        mark.width = 0.6;
        TRY(far_figure_rule(r->ctx, *out, FAR_HORIZONTAL, y[i], &mark));
    }
    TRY(far_figure_rule(r->ctx, *out, FAR_VERTICAL, fold->hinge, NULL));
done:
    return st;
}

static far_status keep_folds(reproduction *r, const lnnet_step *s)
{
    far_figure *panels[2] = {NULL};
    far_grid_opts o = grid_of(760, 360);
    far_status st;
    o.share_y = FAR_SHARE_LINE;
    TRY(draw_fold(r, &s->halfway, "hinge halfway: classes 1 and 2 meet", &panels[0]));
    TRY(draw_fold(r, &s->fold, "hinge moved: only the two of class 0", &panels[1]));
done:
    return keep_grid(r, panels, 1, 2, &o, "lnnet-fig3",
                     "Confusion on a lattice, and its cure. The dashed line is the hinge; both "
                     "folds merge the first and the fourth point.",
                     st);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static double apart(const lnnet_fold *fold, int i, int k)
{
    return fabs(lnnet_fold_at(fold, LATTICE[i]).circle_y -
                lnnet_fold_at(fold, LATTICE[k]).circle_y);
}

static far_status claim_lattice(reproduction *r, const lnnet_step *s)
{
    const lnnet_fold *fold = r->sabotage ? &s->halfway : &s->fold; /* without the cure */
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = "lattice, hinge halfway: the two classes in between",
                          .paper = "meet: confusion",
                          .place = LNNET_NOT_READ "Figure 3",
                          .tested = "within 1e-12, as mirror images",
                          .by_construction = true,
                          .agrees = s->confused >= 0 && apart(&s->halfway, 1, 2) < 1e-12},
              "%.1g apart", apart(&s->halfway, 1, 2)));
    TRY(claim(r,
              &(claim_of){.what = "lattice, hinge moved: merged points, and the two classes in "
                                  "between",
                          .tested = "meet within 1e-12, and are 1e-6 apart at least",
                          .agrees = apart(fold, 0, 3) < 1e-12 && apart(fold, 1, 2) > 1e-6},
              "%.1g and %.2g apart", apart(fold, 0, 3), apart(fold, 1, 2)));
done:
    return st;
}

/* Whether the paper's rule, hinge always halfway, gets through. */
static far_status without_cure(double *x, int64_t *labels, int64_t n, bool *through)
{
    far_status st = FAR_OK;
    lnnet_step s;
    *through = true;
    for (int64_t left = n; st == FAR_OK && *through; left--) {
        st = lnnet_paper_step(x, labels, left, &s);
        if (st == FAR_ERR_ARG) { /* nothing is left to merge */
            return FAR_OK;
        }
        if (st == FAR_OK && s.confused >= 0) {
            *through = false;
        }
        for (int64_t i = 0; st == FAR_OK && i < left; i++) {
            x[i] = lnnet_fold_at(&s.halfway, x[i]).circle_y;
        }
        if (st == FAR_OK) {
            x[s.b] = x[left - 1];
            labels[s.b] = labels[left - 1];
        }
    }
    return st;
}

typedef struct rates {
    int64_t tried, plain, cured, confusions;
} rates;

static far_status try_lattice(reproduction *r, uint64_t seed, int64_t n, int64_t classes, rates *t)
{
    double *x = ROOM(n, double);
    int64_t *labels = ROOM(n, int64_t), *copy = ROOM(n, int64_t);
    uint64_t state = seed * 104729 + (uint64_t)classes;
    far_net *net = NULL;
    far_lnnet_opts opts;
    far_lnnet_info info;
    far_lnnet_checked checked;
    bool through;
    far_status st;
    opts = (far_lnnet_opts){.size = sizeof opts};
    opts.mode = FAR_LNNET_PAPER;
    opts.seed = seed;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (double)i;
        labels[i] = copy[i] = (int64_t)(uniform(&state) * (double)classes);
    }
    far_mat points = far_mat_view(x, n, 1, FAR_F64);
    TRY(far_lnnet_build(r->ctx, &points, labels, classes, &opts, &net, &info));
    TRY(far_lnnet_check(r->ctx, net, &points, labels, FAR_LNNET_PRECISION_AUTO, 0, &checked));
    TRY(without_cure(x, copy, n, &through));
    t->tried++;
    t->plain += through;
    t->cured += r->sabotage ? through : checked.wrong == 0;
    t->confusions += info.confusions;
done:
    far_net_destroy(net);
    FREE(x, labels, copy);
    return st;
}

static far_status claim_rates(reproduction *r, int64_t classes)
{
    int64_t seeds = seeds_of(r, 4, 10), points = 50;
    rates t = {0};
    far_status st = FAR_OK;
    for (int64_t seed = 0; seed < seeds && st == FAR_OK; seed++) {
        st = try_lattice(r, (uint64_t)seed, points, classes, &t);
    }
    if (st != FAR_OK) {
        return st;
    }
    char *what =
        text_of("lattice of %lld points, %lld classes", (long long)points, (long long)classes);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "classified, if confusion is avoided",
                           .place = LNNET_NOT_READ "Figure 3",
                           .tested = "every lattice",
                           .agrees = t.cured == t.tried},
               "%lld of %lld (hinge always halfway: %lld of %lld); confusions avoided: %lld",
               (long long)t.cured, (long long)t.tried, (long long)t.plain, (long long)t.tried,
               (long long)t.confusions);
    free(what);
    return st;
}

far_status run_lnnet_fig3(reproduction *r)
{
    lnnet_step s;
    far_status st;
    TRY(lnnet_paper_step(LATTICE, LABELS, POINTS, &s));
    TRY(claim_lattice(r, &s));
    TRY(keep_folds(r, &s));
    TRY(claim_rates(r, 5));
    TRY(claim_rates(r, 10));
done:
    return st;
}
