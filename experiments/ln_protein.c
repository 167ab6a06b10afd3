#include "ln_protein.h"

#include <stdlib.h>

const ln_published LN_PROTEIN_PAPER[LN_NETS] = {
    [LN_NONE] = {{0.31, 0.02}, {0.58, 0.01}},
    [LN_FIRST] = {{0.50, 0.02}, {0.59, 0.01}},
    [LN_SECOND] = {{0.50, 0.01}, {0.60, 0.01}},
    [LN_EVERY] = {{0.50, 0.02}, {0.60, 0.01}},
};
const ln_published LN_PROTEIN_XGBOOST = {{0.27, 0.04}, {0.61, 0.01}};
const double LN_PROTEIN_EDGE = 20000;

static ln_recipe recipe_for(reproduction *r, int64_t seeds)
{
    return (ln_recipe){
        .name = ln_recipe_name(r, "protein"),
        .target = "RMSD",
        .shift = "F1 >= 20000",
        .baselines = "xgboost;linear",
        .seeds = seeds,
        .epochs = epochs_of(r, 300, 2500),
        .rate = {1e-3, 1e-3, 1e-3, 1e-3},
        .standardize = FAR_STANDARDIZE_INPUTS,
        .thinning = r->quick ? 12 : 1,
        .infinite_rows = r->quick ? 2000 : 0,
        .subset = r->quick ? 300 : 2000,
        .certify_seconds = r->quick ? 0.2 : 5,
    };
}

far_status ln_protein_open(reproduction *r, int64_t seeds, ln_trial *out)
{
    char *path = NULL;
    ln_recipe recipe = recipe_for(r, seeds);
    far_status st = find_data(r, "protein", &path);
    st = st == FAR_OK ? ln_trial_open(r, path, &recipe, out) : st;
    free(path);
    return st;
}

static far_status explain_differences(const ln_trial *t)
{
    reproduction *r = t->r;
    const far_xgboost *xgboost = far_xgboost_find(r->ctx);
    far_status st = keep_text(
        r, "What may differ from the paper's: its random splits and weights; whether its targets "
           "were standardised (here they are not; the inputs are, on the training rows); whether "
           "its norms learn a scale and a shift (here they do not).");
    if (st == FAR_OK) {
        st = xgboost ? keep_text(r, "XGBoost %s has the defaults of 2 and 3, and 100 rounds.",
                                 xgboost->version)
                     : keep_text(r, "There is no row of XGBoost: %s", far_ctx_message(r->ctx));
    }
    return st;
}

far_status ln_protein_explain(const ln_trial *t)
{
    far_comparison_info i = far_comparison_describe(t->baselines);
    far_status st;
    TRY(keep_section(
        t->r, "Protocol",
        "UCI's table of protein structures: RMSD from nine features. In the domain are "
        "rows with F1 (the surface) below 20000: %lld for training and %lld for tests, "
        "drawn anew for each seed; out of it the %lld others. Networks have two hidden "
        "layers of 128 relu units and see all rows in each of %lld epochs of Adam with "
        "rate 0.001; %lld seed%s. Intervals are 95%% of the mean over seeds.%s",
        (long long)i.train_rows, (long long)i.test_rows, (long long)i.rows_out,
        (long long)t->recipe.epochs, (long long)t->recipe.seeds, t->recipe.seeds == 1 ? "" : "s",
        t->r->quick ? " This is the quick form, with a twelfth of the rows in the domain "
                      "and few epochs: its numbers are not held against the paper's, "
                      "only their order is."
                    : ""));
    TRY(explain_differences(t));
done:
    return st;
}
