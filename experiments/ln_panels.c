#include "ln_panels.h"

#include <math.h>
#include <stdlib.h>

enum { CURVE_POINTS = 101 };
static const double CURVE_END = 25;

far_status variant_panels(reproduction *r, bool titles, const char *row,
                          far_figure *panels[TOY_SETS])
{
    far_status st = FAR_OK;
    for (int set = 0; set < TOY_SETS && st == FAR_OK; set++) {
        far_figure_opts opts = axes(titles ? TOY_LABELS[set] : NULL, NULL, set == 0 ? row : NULL);
        st = far_figure_create(r->ctx, &opts, &panels[set]);
    }
    return st;
}

static void count_family(tally *t, const family *f, int set)
{
    bool first = t->count == 0;
    t->r2 = first ? f->r2 : fmin(t->r2, f->r2);
    if (f->unbounded > 0) {
        t->least_slope = t->unbounded == 0 ? f->least_slope : fmin(t->least_slope, f->least_slope);
        t->most_slope = fmax(t->most_slope, f->most_slope);
    }
    t->bound[set] = f->bounded == f->count ? f->bound : INFINITY;
    t->count += f->count;
    t->bounded += f->bounded;
    t->unbounded += f->unbounded;
}

static far_status enter_set(reproduction *r, const variant *c, const char *arch, int set,
                            far_figure *panel, tally *out)
{
    double x[CURVE_POINTS], mean[CURVE_POINTS], half[CURVE_POINTS];
    char *name = text_of("%s-%s", TOY_WORDS[set], c->word);
    family f = {0};
    family_plan plan = {name, arch, set, PANEL_EPOCHS};
    far_status st;
    spread(-CURVE_END, CURVE_END, x, CURVE_POINTS);
    TRY(family_create(r, &plan, &f));
    TRY(family_curve(r, &f, x, CURVE_POINTS, mean, half));
    TRY(draw_curve(r, panel, x, mean, half, CURVE_POINTS, c->colour, c->name));
    count_family(out, &f, set);
done:
    family_free(&f);
    free(name);
    return st;
}

far_status variant_add(reproduction *r, const variant *c, far_figure *const panels[TOY_SETS],
                       tally *out)
{
    char *arch = net_text(r, c->where, c->norm, c->activation);
    far_status st = FAR_OK;
    *out = (tally){0};
    for (int set = 0; set < TOY_SETS && st == FAR_OK; set++) {
        tell(r, "%s on %s", arch, TOY_NAMES[set]);
        st = enter_set(r, c, arch, set, panels[set], out);
    }
    free(arch);
    return st;
}

far_status variant_data(reproduction *r, far_figure *const panels[TOY_SETS])
{
    far_status st = FAR_OK;
    for (int set = 0; set < TOY_SETS && st == FAR_OK; set++) {
        st = draw_toy(r, panels[set], set);
    }
    return st;
}

far_status claim_all_proven(reproduction *r, const tally *t, bool bounded, const char *what,
                            const char *place)
{
    int64_t proven = bounded ? t->bounded : t->unbounded;
    const char *ours =
        bounded ? words(r, "bounded, |f| <= %.4g (sin x), %.4g (x), %.4g (x^2)",
                        far_round_up(t->bound[TOY_SINE], 4), far_round_up(t->bound[TOY_LINE], 4),
                        far_round_up(t->bound[TOY_SQUARE], 4))
                : words(r, "unbounded, |slope| %.3g to %.3g", t->least_slope, t->most_slope);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = bounded ? "stays bounded" : "runs away",
                             .place = place,
                             .tested = "a certificate of every network, on three toy sets",
                             .seeds = t->count / TOY_SETS,
                             .agrees = proven == t->count},
                 "%lld of %lld proven %s", (long long)proven, (long long)t->count, ours);
}

void add_tally(sheet *s, const tally *t)
{
    bool bounded = t->bounded >= t->unbounded;
    add_cell(s, "%lld of %lld %s", (long long)(bounded ? t->bounded : t->unbounded),
             (long long)t->count, bounded ? "bounded" : "unbounded");
    for (int set = 0; set < TOY_SETS; set++) {
        add_cell(s, "%.4g", far_round_up(t->bound[set], 4));
    }
    add_cell(s, "%.4f", t->r2);
}
