/* Scores as a table, as bars, and what they say about the paper. */
#include "ln_score.h"

#include <math.h>
#include <stdlib.h>

/* ---- words --------------------------------------------------------------------------------- */

static char *average_text(far_compare_average a)
{
    return isnan(a.ci95) ? text_of("%.2f", a.mean) : text_of("%.2f +- %.2f", a.mean, a.ci95);
}

static char *verdict_text(const ln_row *row)
{
    switch (row->verdict) {
    case FAR_BOUNDED:
        return isnan(row->bound) ? text_of("bounded")
                                 : text_of("|f| <= %.4g", far_round_up(row->bound, 4));
    case FAR_UNBOUNDED:
        return text_of("runs away");
    default:
        return text_of("not known");
    }
}

static const char LN_AGREEMENT[] =
    "the 95% intervals overlap, and neither is wider than 0.1 on either side";

/* An interval as wide as what is measured would agree with anything. */
bool ln_agree(far_compare_average ours, far_compare_average paper)
{
    const double rounding = 0.005, informative = 0.1;
    double half = isnan(ours.ci95) ? 0 : ours.ci95;
    return fmax(half, paper.ci95) <= informative &&
           fabs(ours.mean - paper.mean) <= half + paper.ci95 + rounding;
}

static char *agreement_text(far_compare_average ours, far_compare_average paper)
{
    if (ln_agree(ours, paper)) {
        return text_of("yes");
    }
    double apart = fabs(ours.mean - paper.mean);
    return text_of(apart <= ours.ci95 + paper.ci95 ? "no, too wide to tell"
                   : ours.mean > paper.mean        ? "no, higher"
                                                   : "no, lower");
}

/* ---- the table ----------------------------------------------------------------------------- */

static void fill_cells(const ln_row *row, bool judged, char **cells)
{
    const ln_published *paper = row->paper;
    int64_t n = 0;
    cells[n++] = text_of("%s", row->name);
    cells[n++] = paper ? average_text(paper->out) : NULL;
    cells[n++] = average_text(row->out);
    if (judged) {
        cells[n++] = paper ? agreement_text(row->out, paper->out) : NULL;
    }
    cells[n++] = paper ? average_text(paper->in) : NULL;
    cells[n++] = average_text(row->in);
    if (judged) {
        cells[n++] = paper ? agreement_text(row->in, paper->in) : NULL;
    }
    cells[n++] = text_of("%.1f", floor(10 * row->most) / 10);
    cells[n++] = verdict_text(row);
}

far_status ln_keep_table(reproduction *r, const char *name, const char *caption, const ln_row *rows,
                         int64_t count, bool judged)
{
    static const char *const JUDGED[] = {"model",   "out: paper", "ours",
                                         "agrees?", "in: paper",  "ours",
                                         "agrees?", "largest",    "every input"};
    static const char *const PLAIN[] = {"model", "out: paper", "ours",       "in: paper",
                                        "ours",  "largest",    "every input"};
    int64_t cols = judged ? 9 : 7;
    char **cells = ROOM(count * cols, char *);
    for (int64_t i = 0; i < count; i++) {
        fill_cells(&rows[i], judged, cells + i * cols);
    }
    far_status st = keep_table(r, name, caption, judged ? JUDGED : PLAIN, cols,
                               (const char *const *)cells, count);
    for (int64_t i = 0; i < count * cols; i++) {
        free(cells[i]);
    }
    free(cells);
    return st;
}

/* ---- the same as bars ---------------------------------------------------------------------- */

static far_compare_average published(const ln_row *row, bool out)
{
    static const far_compare_average NONE = {NAN, NAN};
    return !row->paper ? NONE : out ? row->paper->out : row->paper->in;
}

static far_compare_average measured(const ln_row *row, bool out)
{
    return out ? row->out : row->in;
}

static far_status draw_bars(reproduction *r, far_figure *figure, const ln_row *rows, int64_t count,
                            bool out, bool paper)
{
    double *means = ROOM(count, double), *halves = ROOM(count, double);
    far_mark_opts mark = mark_of(paper ? FAR_COLOUR_INK : 0, paper ? "paper" : "ours");
    for (int64_t i = 0; i < count; i++) {
        far_compare_average a = paper ? published(&rows[i], out) : measured(&rows[i], out);
        means[i] = a.mean;
        halves[i] = a.ci95;
    }
    far_status st = far_figure_bars(r->ctx, figure, means, halves, count, &mark);
    free(means);
    free(halves);
    return st;
}

static far_status bars_panel(reproduction *r, const ln_row *rows, int64_t count, bool out,
                             far_figure **figure)
{
    far_status st;
    const char **names = ROOM(count, const char *);
    far_figure_opts opts = axes(out ? "Out of the domain" : "In the domain", NULL, NULL);
    for (int64_t i = 0; i < count; i++) {
        names[i] = rows[i].name;
    }
    opts.categories = names;
    opts.category_count = count;
    TRY(far_figure_create(r->ctx, &opts, figure));
    if (!r->quick) { /* whose numbers are another task's */
        TRY(draw_bars(r, *figure, rows, count, out, true));
    }
    TRY(draw_bars(r, *figure, rows, count, out, false));
done:
    free(names);
    return st;
}

far_status ln_keep_bars(reproduction *r, const char *name, const ln_row *rows, int64_t count)
{
    const char *caption =
        isnan(rows[0].out.ci95) ? "The same as bars." : "The same as bars, with 95% intervals.";
    far_figure *panels[2] = {NULL};
    far_grid_opts opts = grid_of(760, 460);
    opts.y_label = "R^{2}";
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    far_status st = bars_panel(r, rows, count, true, &panels[0]);
    st = st == FAR_OK ? bars_panel(r, rows, count, false, &panels[1]) : st;
    return keep_grid(r, panels, 2, 1, &opts, name, caption, st);
}

/* ---- claims -------------------------------------------------------------------------------- */

static far_status claim_cell(reproduction *r, const char *place, int64_t seeds, const char *name,
                             const char *domain, far_compare_average ours,
                             far_compare_average paper)
{
    const char *what = words(r, "%s, R2 %s domain", name, domain);
    char *theirs = average_text(paper), *mine = average_text(ours);
    far_status st = claim(r,
                          &(claim_of){.what = what,
                                      .paper = theirs,
                                      .place = place,
                                      .tested = LN_AGREEMENT,
                                      .seeds = seeds,
                                      .late = true, /* the width that is informative */
                                      .agrees = ln_agree(ours, paper)},
                          "%s", mine);
    free(theirs);
    free(mine);
    return st;
}

far_status ln_claim_cells(reproduction *r, const char *place, int64_t seeds, const ln_row *rows,
                          int64_t count)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < count; i++) {
        if (rows[i].paper) {
            TRY(claim_cell(r, place, seeds, rows[i].name, "out of", rows[i].out,
                           rows[i].paper->out));
            TRY(claim_cell(r, place, seeds, rows[i].name, "in", rows[i].in, rows[i].paper->in));
        }
    }
done:
    return st;
}

static double least_with_norm(const ln_row *rows)
{
    return fmin(rows[LN_FIRST].out.mean, fmin(rows[LN_SECOND].out.mean, rows[LN_EVERY].out.mean));
}

static double least_published(const ln_row *rows)
{
    return fmin(rows[LN_FIRST].paper->out.mean,
                fmin(rows[LN_SECOND].paper->out.mean, rows[LN_EVERY].paper->out.mean));
}

far_status ln_claim_order(reproduction *r, const char *place, int64_t seeds, const ln_row *rows)
{
    double with = least_with_norm(rows), without = rows[LN_NONE].out.mean;
    char *paper =
        text_of("at least %.2f against %.2f", least_published(rows), rows[LN_NONE].paper->out.mean);
    far_status st =
        claim(r,
              &(claim_of){.what = "R2 out of domain, networks with a layer norm against the "
                                  "standard one",
                          .paper = paper,
                          .place = place,
                          .tested = "every mean with a norm is above the mean without",
                          .seeds = seeds,
                          .agrees = with > without},
              "at least %.2f against %.2f", with, without);
    free(paper);
    return st;
}

far_status ln_claim_bounds(reproduction *r, int64_t seeds, const ln_row *rows)
{
    far_status st = FAR_OK;
    for (int k = 0; k < LN_NETS && st == FAR_OK; k++) {
        bool norm = k != LN_NONE;
        const char *what = words(r, "%s, over all inputs", rows[k].name);
        char *ours = verdict_text(&rows[k]);
        st = claim(r,
                   &(claim_of){.what = what,
                               .paper = norm ? "bounded" : "can run away",
                               .place = norm ? "Theorem 3.3, at infinite width"
                                             : "Theorem 3.1, at infinite width",
                               .tested = "a certificate of the network of every seed, the worst "
                                         "shown",
                               .seeds = seeds,
                               .agrees = rows[k].verdict == (norm ? FAR_BOUNDED : FAR_UNBOUNDED)},
                   "%s (proven)", ours);
        free(ours);
    }
    return st;
}
