#include "ln_utkface.h"
#include "ln_faces.h"

#include <math.h>
#include <stdlib.h>

const ln_published LN_UTKFACE_PAPER[LN_NETS] = {
    [LN_NONE] = {{0.27, 0.03}, {0.66, 0.01}},
    [LN_FIRST] = {{0.47, 0.03}, {0.68, 0.01}},
    [LN_SECOND] = {{0.36, 0.04}, {0.66, 0.01}},
    [LN_EVERY] = {{0.42, 0.05}, {0.66, 0.01}},
};

#define FEATURES_FILE "utkface/utkface_resnet34_features.npz"

static ln_recipe recipe_for(reproduction *r, int64_t seeds)
{
    return (ln_recipe){
        .name = ln_recipe_name(r, "utkface"),
        .target = "age",
        .features = "feat",
        .shift = "group == 4",
        .baselines = "mean", /* for its splits */
        .baseline_features = "group",
        .seeds = seeds,
        .epochs = epochs_of(r, 60, 10),
        .batch = 128,
        .rate = {1e-3, 1e-3, 3e-3, 3e-3},
        .standardize = FAR_STANDARDIZE_NONE,
        .thinning = r->quick ? 10 : 1,
        .infinite_rows = r->quick ? 800 : 0,
        .subset = r->quick ? 300 : 2000,
        .certify_seconds = r->quick ? 0.2 : 5,
    };
}

static far_status find_features(reproduction *r, char **path)
{
    far_status st = find_data(r, FEATURES_FILE, path);
    if (st == FAR_ERR_IO) {
        char *where = text_of("%s", reproduction_message(r));
        st = fail(r, st,
                  "%s; it cannot be downloaded: it is an npz of the arrays feat (n x d, the frozen "
                  "features of n faces of UTKFace), age (n) and group (n; 4 is Others, which "
                  "is out of the domain)",
                  where);
        free(where);
    }
    return st;
}

/* Photographs are the user's, and may be few: none is left out of the quick form. */
static far_status open_photographs(reproduction *r, ln_recipe *recipe, char **path)
{
    ln_faces faces = {0};
    far_status st = ln_faces_make(r, &faces);
    recipe->name = ln_recipe_name(r, "faces");
    recipe->features = faces.features;
    recipe->thinning = 1;
    *path = faces.path;
    if (st == FAR_OK) {
        st = keep_section(r, "Photographs",
                          "%lld photographs in %s (%lld files whose names are not "
                          "age_gender_group_date.jpg were left out), as torchvision's Resize(256), "
                          "CenterCrop(224) and the normalisation of ImageNet have them; features "
                          "are the means over pixels in front of the last layer of %s, in "
                          "float32.",
                          (long long)faces.count, r->images, (long long)faces.left_out, r->weights);
    }
    return st;
}

far_status ln_utkface_open(reproduction *r, int64_t seeds, ln_trial *out)
{
    char *path = NULL;
    ln_recipe recipe = recipe_for(r, seeds);
    far_status st = r->images ? open_photographs(r, &recipe, &path) : find_features(r, &path);
    st = st == FAR_OK ? ln_trial_open(r, path, &recipe, out) : st;
    free(path);
    return st;
}

far_status ln_utkface_explain(const ln_trial *t)
{
    far_comparison_info i = far_comparison_describe(t->baselines);
    far_status st;
    TRY(keep_section(
        t->r, "Protocol",
        "Ages of the faces of UTKFace from frozen features, as they are, by networks with "
        "two hidden layers of 128 relu units: minibatches of 128, %lld epochs, Adam with "
        "rate 0.001 (standard, LN first) or 0.003 (LN second, LN every); %lld seed%s. "
        "Four groups of people (White, Black, Asian, Indian) are the domain: %lld faces for "
        "training and %lld for tests, drawn anew for each seed; the %lld faces of the fifth, "
        "Others, are out of it, as in the paper. "
        "Intervals are 95%% of the mean over seeds.%s",
        (long long)t->recipe.epochs, (long long)t->recipe.seeds, t->recipe.seeds == 1 ? "" : "s",
        (long long)i.train_rows, (long long)i.test_rows, (long long)i.rows_out,
        t->r->quick ? " This is the quick form, with a tenth of the faces "
                      "in the domain and more epochs."
                    : ""));
    if (t->r->images) {
        TRY(keep_text(t->r,
                      "What differs from the paper's: it has 250 seeds, and its features come "
                      "from weights that are its own."));
        goto done;
    }
    TRY(keep_text(t->r, "What differs from the paper's: these are features of a ResNet-34, the "
                        "paper's are of a ResNet-18; it has 250 seeds. So its numbers need not "
                        "come again, and only their order is a claim."));
done:
    return st;
}

/* ---- similarity ---------------------------------------------------------------------------- */

static void add_squares(const double *x, int64_t rows, double *norm)
{
    for (int64_t i = 0; i < rows; i++) {
        norm[i] += x[i] * x[i];
    }
}

/* What one feature adds to the mean cosine of every row: its part of the row's direction times the
 * mean of that over the training rows. */
static void add_cosines(const double *x, const double *norm, const unsigned char *train,
                        int64_t rows, double *cosine)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < rows; i++) {
        sum += train[i] ? x[i] / norm[i] : 0;
        count += train[i];
    }
    for (int64_t i = 0; i < rows; i++) {
        cosine[i] += x[i] / norm[i] * (sum / count);
    }
}

static void mean_cosines(const ln_trial *t, const int64_t *cols, int64_t count, double *cosine)
{
    int64_t rows = far_frame_rows(t->frame);
    double *norm = ROOM(rows, double);
    for (int64_t j = 0; j < count; j++) {
        add_squares(far_frame_column(t->frame, cols[j]).numbers, rows, norm);
    }
    for (int64_t i = 0; i < rows; i++) {
        norm[i] = sqrt(norm[i]);
    }
    for (int64_t j = 0; j < count; j++) {
        add_cosines(far_frame_column(t->frame, cols[j]).numbers, norm, t->train, rows, cosine);
    }
    free(norm);
}

far_status ln_utkface_similarity(const ln_trial *t, double *out)
{
    int64_t count, *cols = ROOM(far_frame_cols(t->frame), int64_t);
    double *cosine = ROOM(far_frame_rows(t->frame), double);
    far_status st = far_frame_list(t->r->ctx, t->frame, t->recipe.features, cols, &count);
    if (st == FAR_OK) {
        mean_cosines(t, cols, count, cosine);
        for (int64_t i = 0; i < t->points.count; i++) {
            if (t->points.out[i]) {
                *out++ = cosine[t->points.rows[i]];
            }
        }
    }
    free(cols);
    free(cosine);
    return st;
}
