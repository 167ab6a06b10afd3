#include "ln_utkface.h"

#include <math.h>
#include <stdlib.h>

const ln_published LN_UTKFACE_PAPER[LN_NETS] = {
    [LN_NONE] = {{0.27, 0.03}, {0.66, 0.01}},
    [LN_FIRST] = {{0.47, 0.03}, {0.68, 0.01}},
    [LN_SECOND] = {{0.36, 0.04}, {0.66, 0.01}},
    [LN_EVERY] = {{0.42, 0.05}, {0.66, 0.01}},
};

#define FEATURES_FILE "utkface/utkface_resnet34_features.npz"

static const char *const PARENTS[] = {"ln-table2", NULL};

static ln_recipe recipe_for(const reproduction *r, int64_t seeds)
{
    return (ln_recipe){
        .name = r->quick ? "utkface-quick" : "utkface",
        .target = "age",
        .features = "feat",
        .shift = "group == 4",
        .baselines = "mean",
        .parents = PARENTS,
        .seeds = seeds,
        .epochs = epochs_of(r, 20, 10),
        .batch = 128,
        .rate = {1e-3, 1e-3, 3e-3, 3e-3},
        .standardize = FAR_STANDARDIZE_NONE,
        .thinning = r->quick ? 5 : 1,
        .infinite_rows = r->quick ? 1000 : 0,
        .subset = r->quick ? 300 : 2000,
        .certify_seconds = r->quick ? 0.2 : 5,
    };
}

static far_status find_features(reproduction *r, char **path)
{
    far_status st = find_data(r, FEATURES_FILE, path);
    if (st == FAR_ERR_IO) {
        st = fail(r, st,
                  "%s/%s is not here, and cannot be downloaded: it is an npz of the arrays feat (n x "
                  "d, the frozen features of n faces of UTKFace), age (n) and group (n; 4 is the one "
                  "that is out of the domain); say where it lies with --data DIR",
                  r->data ? r->data : "DIR", FEATURES_FILE);
    }
    return st;
}

far_status ln_utkface_open(reproduction *r, int64_t seeds, ln_trial *out)
{
    far_status st;
    char *path = NULL;
    far_frame *frame = NULL;
    ln_recipe recipe = recipe_for(r, seeds);
    *out = (ln_trial){.r = r};
    TRY(find_features(r, &path));
    TRY(far_frame_read(r->ctx, path, NULL, &frame));
    TRY(ln_trial_open(r, frame, &recipe, out));
done:
    free(path);
    return st;
}

far_status ln_utkface_explain(const ln_trial *t)
{
    far_comparison_info i = far_comparison_describe(t->baselines);
    far_status st;
    TRY(keep_heading(t->r, "Protocol"));
    TRY(keep_text(t->r,
                  "Ages of the faces of UTKFace from frozen features, as they are, by networks with "
                  "two hidden layers of 128 relu units: minibatches of 128, %lld epochs, Adam with "
                  "rate 0.001 (standard, LN first) or 0.003 (LN second, LN every); %lld seed%s. "
                  "Four groups of people are the domain: %lld faces for training and %lld for "
                  "tests, drawn anew for each seed; the %lld faces of the fifth are out of it. "
                  "Intervals are 95%% of the mean over seeds.%s",
                  (long long)t->recipe.epochs, (long long)t->recipe.seeds,
                  t->recipe.seeds == 1 ? "" : "s", (long long)i.train_rows, (long long)i.test_rows,
                  (long long)i.rows_out,
                  t->r->quick ? " This is the quick form, with a fifth of the faces in the domain."
                              : ""));
    TRY(keep_text(t->r, "What differs from the paper's: these features are those of a ResNet-34, "
                        "the paper's of a ResNet-18, and which group the paper leaves out is not "
                        "said here. So its numbers cannot be expected to come again, and only "
                        "their order is a claim. The paper has 250 seeds."));
done:
    return st;
}

/* ---- similarity ---------------------------------------------------------------------------- */

/* Rows that are marked, as packed features scaled to norm 1; count of them to *count. */
static far_status unit_features(const ln_trial *t, const unsigned char *rows, double **out,
                                int64_t *count)
{
    far_net_data *data = NULL;
    far_net_data_opts opts;
    far_net_data_opts_init(&opts);
    opts.target = t->recipe.target;
    opts.features = t->recipe.features;
    opts.rows = rows;
    opts.standardize = FAR_STANDARDIZE_NONE;
    far_status st = far_net_data_create(t->r->ctx, t->frame, &opts, &data);
    (void)out;
    (void)count;
    far_net_data_destroy(data);
    return st;
}
