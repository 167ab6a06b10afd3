/* Table 1: proteins in and out of the domain; trained networks, infinitely wide ones, XGBoost. */
#include "ln_protein.h"
#include "registry.h"

#include <math.h>
#include <stdio.h>

enum { SEEDS = 10, QUICK_SEEDS = 1, MOST_ROWS = 2 * LN_NETS + 2 };

typedef struct table {
    ln_row rows[MOST_ROWS]; /* trained networks, then infinitely wide ones, then baselines */
    int64_t count;
} table;

static far_status score_all(ln_trial *t, table *out)
{
    far_status st;
    TRY(ln_score_networks(t, LN_PROTEIN_PAPER, out->rows));
    TRY(ln_score_infinite(t, out->rows + LN_NETS));
    out->count = 2 * LN_NETS;
    out->count +=
        ln_score_baseline(t, "xgboost", "XGBoost", &LN_PROTEIN_XGBOOST, &out->rows[out->count]);
    out->count += ln_score_baseline(t, "linear", "linear regression", NULL, &out->rows[out->count]);
done:
    return st;
}

/* Not a claim of the paper, which has no such rows. */
static far_status claim_infinite(reproduction *r, const ln_row *infinite)
{
    double ours = INFINITY, theirs = LN_PROTEIN_XGBOOST.out.mean;
    for (int k = 0; k < LN_NETS; k++) {
        theirs = fmax(theirs, LN_PROTEIN_PAPER[k].out.mean + LN_PROTEIN_PAPER[k].out.ci95);
        ours = k == LN_NONE ? ours : fmin(ours, infinite[k].out.mean);
    }
    char tested[64];
    snprintf(tested, sizeof tested, "above all of Table 1, which ends at %.2f", theirs);
    return claim(r,
                 &(claim_of){.what = "R2 out of domain, infinite width with a layer norm",
                             .tested = tested,
                             .seeds = 1,
                             .agrees = ours > theirs},
                 "at least %.2f", ours);
}

/* The paper: "has little effect". Below half of what a norm brings it is the smaller matter. */
static far_status claim_placement(reproduction *r, int64_t seeds, const ln_row *rows)
{
    double least = INFINITY, most = -INFINITY;
    for (int k = LN_FIRST; k < LN_NETS; k++) {
        least = fmin(least, rows[k].out.mean);
        most = fmax(most, rows[k].out.mean);
    }
    double gain = least - rows[LN_NONE].out.mean;
    return claim(r,
                 &(claim_of){.what = "R2 out of domain, where the norm stands",
                             .paper = "has little effect: 0.50, 0.50, 0.50",
                             .place = "Table 1",
                             .tested = "the means differ by less than half of what a norm gains",
                             .seeds = seeds,
                             .late = true,
                             .agrees = most - least < gain / 2},
                 "differ by %.3f; a norm gains %.3f at least", most - least, gain);
}

static far_status claim_all(reproduction *r, const table *t, int64_t seeds, bool judged)
{
    far_status st;
    TRY(ln_claim_order(r, "Table 1", seeds, t->rows));
    TRY(ln_claim_bounds(r, seeds, t->rows));
    TRY(claim_placement(r, seeds, t->rows));
    if (!r->quick) {
        TRY(claim_infinite(r, t->rows + LN_NETS));
    }
    if (judged) {
        TRY(ln_claim_cells(r, "Table 1", seeds, t->rows, t->count));
    }
done:
    return st;
}

far_status run_ln_table1(reproduction *r)
{
    far_status st;
    ln_trial trial = {.r = r};
    table t = {.count = 0};
    TRY(ln_protein_open(r, seeds_of(r, QUICK_SEEDS, SEEDS), &trial));
    TRY(score_all(&trial, &t));
    bool judged = !r->quick && ln_has_intervals(&trial);
    TRY(ln_keep_table(r, "ln-table1", LN_TABLE_CAPTION("Proteins", "RMSD"), t.rows, t.count,
                      judged));
    TRY(ln_keep_bars(r, "ln-table1-bars", t.rows, t.count));
    TRY(claim_all(r, &t, trial.recipe.seeds, judged));
    TRY(ln_protein_explain(&trial));
done:
    ln_rows_free(t.rows, MOST_ROWS);
    ln_trial_close(&trial);
    return st;
}
