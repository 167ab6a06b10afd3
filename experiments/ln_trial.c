/* Splits, training and fitting; what is kept and found again. */
#define _GNU_SOURCE
#include "ln_trial.h"
#include "side_by_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the table and its splits -------------------------------------------------------------- */

/* All rows out of the domain, and some or all of the others. */
static far_status choose_rows(ln_trial *t)
{
    far_status st = far_frame_where(t->r->ctx, t->frame, t->recipe.shift, t->used);
    int64_t inside = 0;
    for (int64_t i = 0; st == FAR_OK && i < far_frame_rows(t->frame); i++) {
        if (!t->used[i]) {
            t->used[i] = inside++ % t->recipe.thinning == 0;
        }
    }
    return st;
}

static far_status run_baselines(ln_trial *t)
{
    far_fit_opts fit;
    far_compare_opts compare;
    far_fit_opts_init(&fit);
    fit.target = t->recipe.target;
    fit.features = t->recipe.baseline_features;
    fit.rows = t->used;
    far_compare_opts_init(&compare);
    compare.fit = &fit;
    compare.shift = t->recipe.shift;
    compare.models = t->recipe.baselines;
    compare.seeds = t->recipe.seeds;
    tell(t->r, "%s: splits and baselines (%s)", t->recipe.name, t->recipe.baselines);
    return far_comparison_create(t->r->ctx, t->frame, &compare, &t->baselines);
}

const char *ln_recipe_name(reproduction *r, const char *set)
{
    return words(r, "%s%s", set, r->sabotage ? "-sabotaged" : r->quick ? "-quick" : "");
}

far_status ln_trial_open(reproduction *r, const char *path, const ln_recipe *recipe, ln_trial *out)
{
    far_status st;
    *out = (ln_trial){.r = r, .recipe = *recipe, .seed = -1};
    TRY(far_frame_read(r->ctx, path, NULL, NULL, &out->frame));
    int64_t rows = far_frame_rows(out->frame);
    out->used = ROOM(rows, unsigned char);
    out->train = ROOM(rows, unsigned char);
    out->test = ROOM(rows, unsigned char);
    TRY(choose_rows(out));
    TRY(run_baselines(out));
done:
    if (st != FAR_OK) {
        ln_trial_close(out);
    }
    return st;
}

void ln_trial_close(ln_trial *t)
{
    far_examples_destroy(t->data);
    far_comparison_destroy(t->baselines);
    far_frame_destroy(t->frame);
    FREE(t->used, t->train, t->test);
    *t = (ln_trial){.r = t->r};
}

static void mark_rows(ln_trial *t)
{
    size_t rows = (size_t)far_frame_rows(t->frame);
    memcpy(t->train, t->used, rows);
    memset(t->test, 0, rows);
    for (int64_t i = 0; i < t->points.count; i++) {
        t->train[t->points.rows[i]] = 0;
        t->test[t->points.rows[i]] = 1;
    }
}

static far_status make_data(const ln_trial *t, const unsigned char *rows, far_examples **out)
{
    far_columns_opts opts;
    far_columns_opts_init(&opts);
    opts.target = t->recipe.target;
    opts.features = t->recipe.features;
    opts.rows = rows;
    opts.loss = FAR_LOSS_MSE;
    opts.standardize = t->recipe.standardize;
    return far_examples_learn(t->r->ctx, t->frame, &opts, out);
}

far_status ln_trial_split(ln_trial *t, int64_t seed)
{
    if (t->seed == seed) {
        return FAR_OK;
    }
    t->points = far_comparison_describe(t->baselines).points[seed];
    mark_rows(t);
    far_examples_destroy(t->data);
    t->data = NULL;
    far_status st = make_data(t, t->train, &t->data);
    t->seed = st == FAR_OK ? seed : -1;
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static char *kept_path(const ln_trial *t, const char *folder, const char *key, const char *ending)
{
    return text_of("%s/networks/%s-%s-seed%lld%s", folder, t->recipe.name, key, (long long)t->seed,
                   ending);
}

static far_status make_folder(ln_trial *t)
{
    far_status st = FAR_OK;
    char *path = text_of("%s/networks", t->r->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        st = fail(t->r, FAR_ERR_IO, "%s: cannot make this folder: %m", path);
    }
    free(path);
    return st;
}

/* The path if that file is there; else NULL. */
static char *existing(char *path)
{
    if (access(path, R_OK) != 0) {
        free(path);
        path = NULL;
    }
    return path;
}

/* In the same folder, in DIR/ID beside DIR/ID, or in reproduce-ID beside reproduce-ID. */
static char *find_lent(const ln_trial *t, const char *key, const char *ending)
{
    const char *own = t->r->folder;
    char *folders[] = {text_of("%s", own), text_of("%s/../%s", own, t->lender),
                       text_of("%s/../reproduce-%s", own, t->lender)};
    char *path = NULL;
    for (int i = 0; i < 3; i++) {
        path = path ? path : existing(kept_path(t, folders[i], key, ending));
        free(folders[i]);
    }
    return path;
}

/* The path of a file from an earlier run that may serve this one, or NULL. */
static char *find_kept(const ln_trial *t, const char *key, const char *ending)
{
    if (t->lender) {
        return find_lent(t, key, ending);
    }
    return t->r->resume || t->trained ? existing(kept_path(t, t->r->folder, key, ending)) : NULL;
}

/* What a kept network must have been trained on, and how. */
static char *training_text(const ln_trial *t, int where)
{
    return text_of("epochs %lld, batch %lld, rate %g, data %s", (long long)t->recipe.epochs,
                   (long long)t->recipe.batch, t->recipe.rate[where],
                   far_columns_describe(t->data->columns).hash);
}

/* *out stays NULL where there is none that will do. */
static far_status load_network(ln_trial *t, int where, far_predictor **out)
{
    far_status st = FAR_OK;
    char *path = find_kept(t, LN_WORDS[where], ".safetensors");
    if (path) {
        char *wanted = training_text(t, where);
        st = far_predictor_load(t->r->ctx, path, NULL, out);
        const far_net *net = st == FAR_OK ? far_predictor_net(*out) : NULL;
        const char *training = net ? far_net_metadata(net, "training") : NULL;
        if (st == FAR_OK && (!training || strcmp(training, wanted) != 0)) {
            far_predictor_destroy(*out);
            *out = NULL;
        }
        free(wanted);
    }
    free(path);
    return st;
}

/* ---- networks ------------------------------------------------------------------------------ */

static far_status new_network(ln_trial *t, int where, far_net **out)
{
    char *arch = net_text(t->r, where, LN_FINITE, "relu");
    far_status st =
        new_net(t->r, arch, t->data->inputs.cols, FAR_INIT_KAIMING_NORMAL, (uint64_t)t->seed, out);
    free(arch);
    return st == FAR_OK ? far_net_set_columns(t->r->ctx, *out, t->data->columns) : st;
}

static far_status train(ln_trial *t, int where, const char *checkpoint, far_net *net)
{
    far_train_opts opts;
    far_mat x = t->data->inputs, y = t->data->targets;
    far_train_opts_init(&opts);
    opts.lr = t->recipe.rate[where];
    opts.epochs = t->recipe.epochs;
    opts.batch = t->recipe.batch;
    opts.seed = (uint64_t)t->seed;
    opts.checkpoint = checkpoint;
    opts.keep_checkpoint = 1; /* until the network is saved */
    opts.resume = t->r->resume && access(checkpoint, R_OK) == 0;
    return far_net_train(t->r->ctx, net, &x, &y, &opts, NULL);
}

static far_status save_network(ln_trial *t, int where, const char *checkpoint, far_net *net)
{
    far_status st;
    char *path = kept_path(t, t->r->folder, LN_WORDS[where], ".safetensors");
    char *training = training_text(t, where);
    TRY(far_net_set_metadata(t->r->ctx, net, "training", training));
    TRY(far_net_save(t->r->ctx, net, path));
    unlink(checkpoint);
done:
    free(path);
    free(training);
    return st;
}

static far_status train_network(ln_trial *t, int where)
{
    far_status st;
    far_net *net = NULL;
    char *checkpoint = kept_path(t, t->r->folder, LN_WORDS[where], ".checkpoint");
    TRY(make_folder(t));
    TRY(new_network(t, where, &net));
    TRY(train(t, where, checkpoint, net));
    TRY(save_network(t, where, checkpoint, net));
done:
    far_net_destroy(net);
    free(checkpoint);
    return st;
}

/* The same trial for another thread: a split and its data of its own. */
static ln_trial borrowed_trial(const ln_trial *t, reproduction *r)
{
    int64_t rows = far_frame_rows(t->frame);
    ln_trial mine = *t;
    mine.r = r;
    mine.seed = -1;
    mine.data = NULL;
    mine.train = ROOM(rows, unsigned char);
    mine.test = ROOM(rows, unsigned char);
    return mine;
}

static void borrowed_trial_free(ln_trial *t)
{
    far_examples_destroy(t->data);
    free(t->train);
    free(t->test);
}

static far_status train_if_missing(reproduction *r, int64_t job, void *user)
{
    far_status st;
    far_predictor *kept = NULL;
    int where = (int)(job % LN_NETS);
    ln_trial mine = borrowed_trial(user, r);
    TRY(ln_trial_split(&mine, job / LN_NETS));
    TRY(load_network(&mine, where, &kept));
    if (!kept) {
        TRY(train_network(&mine, where));
    }
done:
    far_predictor_destroy(kept);
    borrowed_trial_free(&mine);
    return st;
}

far_status ln_trial_train(ln_trial *t)
{
    far_status st;
    int64_t networks = t->recipe.seeds * LN_NETS;
    tell(t->r, "%s: %lld networks of %lld epochs", t->recipe.name, (long long)networks,
         (long long)t->recipe.epochs);
    TRY(side_by_side(t->r, "networks", networks, train_if_missing, t));
    t->trained = true;
done:
    return st;
}

far_status ln_network(ln_trial *t, int where, far_predictor **out)
{
    *out = NULL;
    far_status st = load_network(t, where, out);
    if (st == FAR_OK && !*out) {
        st = fail(t->r, FAR_ERR_IO, "%s/networks: the network %s of seed %lld is gone",
                  t->r->folder, LN_NAMES[where], (long long)t->seed);
    }
    return st;
}

/* ---- infinite width ------------------------------------------------------------------------ */

/* Leaves each thinning-th of the training rows. */
static int64_t thin_rows(const ln_trial *t, int64_t thinning, unsigned char *rows)
{
    int64_t seen = 0, kept = 0;
    for (int64_t i = 0; i < far_frame_rows(t->frame); i++) {
        rows[i] = t->train[i] && seen++ % thinning == 0;
        kept += rows[i];
    }
    return kept;
}

/* Whether a model was fitted to the training rows, or to as many of them as there was room for. */
static far_status is_ours(const ln_trial *t, const far_predictor *model, bool *ours)
{
    int64_t wanted = far_predictor_model(model)->rows;
    unsigned char *rows = ROOM(far_frame_rows(t->frame), unsigned char);
    far_examples *data = NULL;
    for (int64_t thinning = 1; thin_rows(t, thinning, rows) > wanted; thinning++) {
    }
    far_status st = make_data(t, rows, &data);
    *ours = st == FAR_OK && strcmp(far_columns_describe(far_predictor_describe(model).columns).hash,
                                   far_columns_describe(data->columns).hash) == 0;
    far_examples_destroy(data);
    free(rows);
    return st;
}

/* *out stays NULL where there is none that will do. */
static far_status load_infinite(ln_trial *t, int where, far_predictor **out)
{
    far_status st = FAR_OK;
    bool ours = false;
    char *path = find_kept(t, LN_WORDS[where], ".far");
    if (path) {
        TRY(far_predictor_load(t->r->ctx, path, NULL, out));
        TRY(far_predictor_model(*out) ? is_ours(t, *out, &ours) : FAR_OK);
    }
done:
    if (!ours) {
        far_predictor_destroy(*out);
        *out = NULL;
    }
    free(path);
    return st;
}

static void fit_opts(const ln_trial *t, const char *arch, const unsigned char *rows,
                     far_fit_opts *out)
{
    far_fit_opts_init(out);
    out->target = t->recipe.target;
    out->features = t->recipe.features;
    out->rows = rows;
    out->arch = arch;
    out->subset = t->recipe.subset;
    out->extremes = 0;
}

/* All training rows if the recipe and the memory allow it, else as many as they do. */
static far_status rows_that_fit(const ln_trial *t, far_fit_opts *opts, unsigned char *rows)
{
    far_status st = FAR_OK;
    far_estimate need = {.fits = 0};
    for (int64_t thinning = 1; st == FAR_OK && !need.fits; thinning++) {
        int64_t count = thin_rows(t, thinning, rows);
        bool few = t->recipe.infinite_rows == 0 || count <= t->recipe.infinite_rows;
        st = few ? far_fit_estimate(t->r->ctx, t->frame, opts, &need) : FAR_OK;
    }
    return st;
}

static far_status save_infinite(ln_trial *t, int where, const far_predictor *model)
{
    far_status st = make_folder(t);
    char *path = kept_path(t, t->r->folder, LN_WORDS[where], ".far");
    st = st == FAR_OK ? far_predictor_save(t->r->ctx, model, path) : st;
    free(path);
    return st;
}

static far_status fit_infinite(ln_trial *t, int where, far_predictor **out)
{
    far_status st;
    far_fit_opts opts;
    unsigned char *rows = ROOM(far_frame_rows(t->frame), unsigned char);
    char *arch = net_text(t->r, where, LN_EXACT, "relu");
    fit_opts(t, arch, rows, &opts);
    TRY(rows_that_fit(t, &opts, rows));
    tell(t->r, "infinite width: %s", LN_NAMES[where]);
    TRY(far_predictor_fit(t->r->ctx, t->frame, &opts, out));
    TRY(save_infinite(t, where, *out));
done:
    if (st != FAR_OK) {
        far_predictor_destroy(*out);
        *out = NULL;
    }
    free(rows);
    free(arch);
    return st;
}

far_status ln_infinite(ln_trial *t, int where, far_predictor **out)
{
    *out = NULL;
    far_status st = load_infinite(t, where, out);
    return st == FAR_OK && !*out ? fit_infinite(t, where, out) : st;
}

/* ---- predictions --------------------------------------------------------------------------- */

far_status ln_predict(const ln_trial *t, const far_predictor *p, far_prediction **out)
{
    far_predict_opts opts;
    far_predict_opts_init(&opts);
    opts.rows = t->test;
    return far_predictor_predict(t->r->ctx, p, t->frame, &opts, out);
}

far_status ln_predict_by(ln_trial *t, int where, bool infinite, far_prediction **out)
{
    far_predictor *p = NULL;
    far_status st = infinite ? ln_infinite(t, where, &p) : ln_network(t, where, &p);
    st = st == FAR_OK ? ln_predict(t, p, out) : st;
    far_predictor_destroy(p);
    return st;
}

far_status ln_keep_pair(reproduction *r, far_status drawn, far_figure *panels[2],
                        const char *x_label, const char *y_label, const char *name,
                        const char *caption)
{
    far_grid_opts opts = grid_of(760, 420);
    opts.x_label = x_label;
    opts.y_label = y_label;
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    return keep_grid(r, panels, 1, 2, &opts, name, caption, drawn);
}
