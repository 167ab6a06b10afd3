/* Table 2: ages of faces in and out of the domain; trained networks and infinitely wide ones. */
#include "ln_utkface.h"
#include "registry.h"

enum { SEEDS = 20, QUICK_SEEDS = 4, ROWS = 2 * LN_NETS };

far_status run_ln_table2(reproduction *r)
{
    far_status st;
    ln_trial trial = {.r = r};
    ln_row rows[ROWS] = {{NULL}};
    TRY(ln_utkface_open(r, seeds_of(r, QUICK_SEEDS, SEEDS), &trial));
    TRY(ln_score_networks(&trial, LN_UTKFACE_PAPER, rows));
    TRY(ln_score_infinite(&trial, rows + LN_NETS));
    TRY(ln_keep_table(r, "ln-table2", LN_TABLE_CAPTION("Faces", "the age"), rows, ROWS,
                      !r->quick && ln_has_intervals(&trial)));
    TRY(ln_keep_bars(r, "ln-table2-bars", rows, ROWS));
    TRY(ln_claim_order(r, "Table 2", trial.recipe.seeds, rows));
    TRY(ln_claim_bounds(r, trial.recipe.seeds, rows));
    TRY(ln_utkface_explain(&trial));
done:
    ln_rows_free(rows, ROWS);
    ln_trial_close(&trial);
    return st;
}
