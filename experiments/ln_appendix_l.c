/* Appendix L: batch norm does not stop the explosion, layer norm does. */
#include "ln_panels.h"
#include "registry.h"

static const variant VARIANTS[] = {
    {"Standard NN", "relu-none", LN_NONE, "", "relu", 0},
    {"BatchNorm first", "batch-first", LN_FIRST, "batchnorm", "relu", 1},
    {"BatchNorm second", "batch-second", LN_SECOND, "batchnorm", "relu", 2},
    {"BatchNorm every", "batch-every", LN_EVERY, "batchnorm", "relu", 3},
    {"LN every", "layer-every", LN_EVERY, LN_FINITE, "relu", 4},
};
enum { CONTENDER_COUNT = sizeof VARIANTS / sizeof VARIANTS[0] };

static bool is_bounded(const variant *c)
{
    return c->norm[0] == 'l';
}

static far_status add_variant(reproduction *r, const variant *c, far_figure *const panels[TOY_SETS],
                              sheet *table)
{
    tally t;
    far_status st = variant_add(r, c, panels, &t);
    if (st != FAR_OK) {
        return st;
    }
    add_cell(table, "%s", c->name);
    add_tally(table, &t);
    return claim_all_proven(r, &t, is_bounded(c), c->name, "Appendix L");
}

static far_status keep_words(reproduction *r)
{
    far_status st = keep_toy_protocol(r, PANEL_EPOCHS);
    return st == FAR_OK
               ? keep_text(
                     r,
                     "A batch norm divides by the spread over the batch while it trains and by a "
                     "running average afterwards: then it is an affine map, the same for every "
                     "input, and bounds nothing. A layer norm divides by the spread over the "
                     "neurons of the input at hand. Certificates are of the networks as they are "
                     "used, with running averages. Batch norms here have scales and shifts as "
                     "their architecture says: none.")
               : st;
}

far_status run_ln_appendix_l(reproduction *r)
{
    static const char *const HEADS[] = {"network", TALLY_HEADS};
    sheet table = {.heads = HEADS, .cols = TALLY_COLS + 1};
    far_figure *panels[TOY_SETS] = {0};
    far_grid_opts opts = grid_of(960, 360);
    opts.title = "Batch norm and layer norm, trained on [-5, 5]";
    opts.x_label = "x";
    far_status st = keep_words(r);
    if (st == FAR_OK) {
        st = variant_panels(r, true, "f(x)", panels);
    }
    for (int i = 0; i < CONTENDER_COUNT && st == FAR_OK; i++) {
        st = add_variant(r, &VARIANTS[i], panels, &table);
    }
    if (st == FAR_OK) {
        st = variant_data(r, panels);
    }
    st = keep_grid(r, panels, 1, TOY_SETS, &opts, "ln-appendix-l",
                   "With batch norms predictions run away as without any norm.", st);
    return keep_sheet(r, &table, "ln-appendix-l-networks", "Trained networks, 128 wide.", st);
}
