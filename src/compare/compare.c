/* The comparison: every model on every seed's split, then means and intervals. */
#include "compare_internal.h"

#include <farfield/predictor.h>
#include <math.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------- */

void far_compare_opts_init(far_compare_opts *opts)
{
    *opts = (far_compare_opts){.size = sizeof *opts,
                               .models = FAR_COMPARE_MODELS,
                               .test_fraction = 0.1,
                               .rounds = 100,
                               .epochs = 1000,
                               .certify = 1,
                               .certify_seconds = 2};
}

static far_status check_numbers(far_ctx *ctx, const far_compare_opts *o)
{
    if (o->seeds < 0 || o->seeds > INT32_MAX) {
        return far_fail(ctx, FAR_ERR_ARG, "seeds is %lld; it must be 1 or more, or 0 to choose",
                        (long long)o->seeds);
    }
    if (!(o->test_fraction >= 0 && o->test_fraction < 1)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the fraction to test on is %g; it must be 0 or more and less than 1",
                        o->test_fraction);
    }
    if (!(o->certify_seconds >= 0)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the seconds for a certificate are %g; they must be 0 or more",
                        o->certify_seconds);
    }
    if (o->rounds < 1 || o->epochs < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is %lld; it must be 1 or more",
                        o->rounds < 1 ? "rounds" : "epochs",
                        (long long)(o->rounds < 1 ? o->rounds : o->epochs));
    }
    return FAR_OK;
}

static far_status check_opts(far_ctx *ctx, const far_compare_opts *o, far_rivals *rivals)
{
    if (!o || o->size != sizeof *o || !o->fit || o->fit->size != sizeof *o->fit || !o->models) {
        return far_fail(ctx, FAR_ERR_ARG, "opts, opts->fit or opts->models is not initialised");
    }
    if (!o->fit->target || !*o->fit->target) {
        return far_fail(ctx, FAR_ERR_ARG, "no target column was named");
    }
    bool folds = o->folds != 0 || o->fold_column;
    if (!o->shift && !folds) {
        return far_fail(ctx, FAR_ERR_ARG, "no shift was given: which rows are out of range?");
    }
    if (folds && (o->shift || (o->folds != 0 && o->fold_column))) {
        return far_fail(ctx, FAR_ERR_ARG, "a shift, folds or a column of folds: one of them");
    }
    if (o->folds != 0 && (o->folds < 2 || o->folds > INT32_MAX)) {
        return far_fail(ctx, FAR_ERR_ARG, "folds is %lld; it must be 2 or more",
                        (long long)o->folds);
    }
    far_status st = check_numbers(ctx, o);
    return st == FAR_OK ? far_rivals_parse(ctx, o->models, o->fit->param, rivals) : st;
}

static far_status check_alone(far_ctx *ctx, const far_compare_opts *opts)
{
    far_rivals rivals = {0};
    far_status st = check_opts(ctx, opts, &rivals);
    far_rivals_clear(ctx, &rivals);
    return st;
}

/* ---- what it takes ------------------------------------------------------------------------- */

/* Choosing a ridge evaluates some twenty small systems and, of many rows, seven larger ones; auto
 * evaluates hundreds. Each takes its inverse's diagonal too, twice the work of its factor. A search
 * for large predictions looks at about 200000 points. These are the counts of select.c and
 * search.c, rounded. */
#define EVALUATION 3.0
#define CERTIFY_SECONDS_PER_ROW 2.5e-3 /* of a single thread */

static far_status solve_seconds(far_ctx *ctx, const far_fit_opts *fit, int64_t rows, double *out)
{
    far_estimate e;
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.memory = fit->memory;
    o.extremes = 0;
    far_status st = far_solve_estimate(ctx, rows > 0 ? rows : 1, &o, &e);
    *out = st == FAR_OK ? e.seconds : 0;
    return st;
}

static far_status choose_seconds(const far_arena *a, bool any, double *out)
{
    far_status st;
    const far_fit_opts *fit = a->opts->fit;
    int64_t n = a->train_count, quarter = n / 4 > fit->subset ? n / 4 : 0;
    double screen, refine, larger = 0;
    FAR_TRY(solve_seconds(a->ctx, fit, far_least(n, far_least(fit->subset, 1000)), &screen));
    FAR_TRY(solve_seconds(a->ctx, fit, far_least(n, fit->subset), &refine));
    if (quarter > 0) {
        FAR_TRY(solve_seconds(a->ctx, fit, quarter, &larger));
    }
    *out = EVALUATION *
           (any ? 210 * screen + 126 * refine + 7 * larger : 5 * screen + 14 * refine + 7 * larger);
done:
    return st;
}

static far_status network_seconds(const far_arena *a, const far_rival *r, double fit_seconds,
                                  double *out)
{
    far_status st = FAR_OK;
    double choosing = 0, certifying = 0;
    bool any = strcmp(r->arch, "auto") == 0;
    if (any || isnan(a->opts->fit->ridge)) {
        st = choose_seconds(a, any, &choosing);
    }
    if (a->certify) {
        certifying = CERTIFY_SECONDS_PER_ROW * (double)a->train_count / far_ctx_threads(a->ctx);
    }
    *out = (double)a->seeds * (fit_seconds + choosing + certifying) +
           (a->certify ? a->opts->certify_seconds : 0);
    return st;
}

static far_status make_plan(const far_arena *a, const far_rivals *rivals, far_compare_plan *out)
{
    far_solve_opts o;
    far_solve_opts_init(&o);
    o.storage = a->opts->fit->storage;
    o.memory = a->opts->fit->memory;
    o.extremes = 0;
    *out = (far_compare_plan){.rows_in = a->inside_count,
                              .rows_out = a->outside_count,
                              .train_rows = a->train_count,
                              .test_rows = a->inside_count - a->train_count,
                              .models = rivals->count,
                              .networks = rivals->networks,
                              .seeds = a->seeds};
    far_status st = far_solve_estimate(a->ctx, a->train_count, &o, &out->each);
    for (int64_t i = 0; st == FAR_OK && out->each.fits && i < rivals->count; i++) {
        double seconds = 0;
        if (rivals->items[i].kind == FAR_RIVAL_NETWORK) {
            st = network_seconds(a, &rivals->items[i], out->each.seconds, &seconds);
        }
        out->seconds += seconds;
    }
    return st;
}

/* A predictor from a file says what it predicts. */
static far_status check_files(const far_arena *a, const far_rivals *rivals)
{
    const char *target = far_frame_column(a->frame, a->target).name;
    for (int64_t i = 0; i < rivals->count; i++) {
        const far_rival *r = &rivals->items[i];
        const far_columns *c = r->file ? far_predictor_describe(r->file).columns : NULL;
        const char *own = c && c->info.named && c->info.targets > 0 ? c->targets[0] : NULL;
        if (own && strcmp(own, target) != 0) {
            return far_fail(a->ctx, FAR_ERR_ARG,
                            "%s predicts %s, but %s is compared: leave it out of the models, or "
                            "compare on %s",
                            r->name, own, target, own);
        }
    }
    return FAR_OK;
}

/* far_fit_estimate refuses what is wrong with the options of the fits. */
static far_status open_all(far_ctx *ctx, const far_frame *frame, const far_compare_opts *opts,
                           far_rivals *rivals, far_arena *arena)
{
    far_status st;
    far_estimate e;
    if (!frame) {
        return far_fail(ctx, FAR_ERR_ARG, "frame is NULL");
    }
    FAR_TRY(check_opts(ctx, opts, rivals));
    FAR_TRY(far_fit_estimate(ctx, frame, opts->fit, &e));
    FAR_TRY(far_arena_open(ctx, frame, opts, rivals, arena));
    FAR_TRY(check_files(arena, rivals));
done:
    return st;
}

far_status far_compare_estimate(far_ctx *ctx, const far_frame *frame, const far_compare_opts *opts,
                                far_compare_plan *out)
{
    far_status st;
    far_rivals rivals = {0};
    far_arena arena = {.ctx = ctx};
    if (!frame) {
        return check_alone(ctx, opts);
    }
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    FAR_TRY(open_all(ctx, frame, opts, &rivals, &arena));
    FAR_TRY(make_plan(&arena, &rivals, out));
done:
    far_arena_clear(&arena);
    far_rivals_clear(ctx, &rivals);
    return st;
}

/* ---- what is in a comparison --------------------------------------------------------------- */

void far_comparison_destroy(far_comparison *c)
{
    if (!c) {
        return;
    }
    far_ctx *ctx = c->ctx;
    int64_t models = c->rivals.count;
    far_columns_destroy(c->columns);
    for (int64_t i = 0; c->runs && i < models * c->info.seeds; i++) {
        far_run_clear(ctx, &c->runs[i]);
    }
    for (int64_t i = 0; c->judgements && i < models; i++) {
        far_judgement_clear(ctx, &c->judgements[i]);
    }
    for (int64_t i = 0; c->points && i < c->info.seeds; i++) {
        FAR_FREE_ALL(ctx, (int64_t *)c->points[i].rows, (unsigned char *)c->points[i].out,
                     (double *)c->points[i].truth);
    }
    far_rivals_clear(ctx, &c->rivals);
    FAR_FREE_ALL(ctx, (char *)c->info.target, (char *)c->info.shift, c->rows, c->judgements,
                 c->runs, c->points, c);
}

far_comparison_info far_comparison_describe(const far_comparison *c)
{
    far_comparison_info info = c->info;
    info.columns = c->columns;
    info.points = c->points;
    return info;
}

const far_compare_row *far_comparison_row(const far_comparison *c, int64_t model)
{
    return model >= 0 && model < c->info.models ? &c->rows[model] : NULL;
}

/* ---- making one ---------------------------------------------------------------------------- */

static far_status copy(far_ctx *ctx, const char *text, const char **out)
{
    return far_copy_text(ctx, text, (int64_t)strlen(text), (char **)out);
}

static double largest_truth(const far_arena *a, const int64_t *rows, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a->y[rows[i]]));
    }
    return largest;
}

/* Takes over the models. */
static far_status blank_comparison(const far_arena *a, far_rivals *rivals, far_comparison **out)
{
    far_status st;
    far_comparison *c;
    int64_t runs = rivals->count * a->seeds;
    FAR_TRY(far_alloc(a->ctx, 1, out));
    c = *out;
    *c = (far_comparison){.ctx = a->ctx, .rivals = *rivals};
    *rivals = (far_rivals){0};
    c->info = (far_comparison_info){.rows_in = a->inside_count,
                                    .rows_out = a->outside_count,
                                    .train_rows = a->train_count,
                                    .test_rows = a->inside_count - a->train_count,
                                    .models = c->rivals.count,
                                    .networks = c->rivals.networks,
                                    .seeds = a->seeds,
                                    .first_seed = a->opts->fit->seed,
                                    .largest_in = largest_truth(a, a->inside, a->inside_count),
                                    .largest_out = largest_truth(a, a->outside, a->outside_count),
                                    .best = -1};
    FAR_TRY(copy(a->ctx, far_frame_column(a->frame, a->target).name, &c->info.target));
    c->info.classes = a->classes;
    if (a->opts->shift) {
        FAR_TRY(copy(a->ctx, a->opts->shift, &c->info.shift));
    }
    FAR_TRY(far_alloc(a->ctx, c->info.models, &c->rows));
    for (int64_t i = 0; i < c->info.models; i++) {
        c->rows[i] = (far_compare_row){.found = NAN};
    }
    FAR_TRY(far_alloc(a->ctx, c->info.models, &c->judgements));
    FAR_TRY(far_alloc(a->ctx, runs, &c->runs));
    for (int64_t i = 0; i < c->info.models; i++) {
        c->rows[i].runs = c->runs + i * a->seeds;
    }
    FAR_TRY(far_alloc(a->ctx, a->seeds, &c->points));
done:
    return st;
}

/* A word that only some training rows have is to be known before hours of work, not after. */
static far_status check_splits(const far_arena *a)
{
    far_status st = FAR_OK;
    for (int64_t i = 1; st == FAR_OK && i < a->seeds; i++) {
        far_split s = {0};
        st = far_split_open(a, a->opts->fit->seed + (uint64_t)i, &s);
        far_split_clear(a->ctx, &s);
    }
    return st;
}

/* The comparison keeps what was to be predicted; the split needs none of it any more. */
static void keep_points(far_split *s, far_compare_points *p)
{
    *p = (far_compare_points){s->m, s->test_rows, s->out, s->yt};
    s->test_rows = NULL;
    s->out = NULL;
    s->yt = NULL;
}

/* The largest |f| that was met, of any output. */
static double met(const far_judgement *j)
{
    double most = NAN;
    for (int64_t k = 0; j->certificate && k < j->certificate->info.outputs; k++) {
        most = fmax(most, j->certificate->bounds[k].sup_found);
    }
    return most;
}

/* What is said of a model holds for the fits of all its seeds. Takes j. */
static void join_judgement(far_ctx *ctx, far_judgement *j, far_judgement *worst, double *found)
{
    const far_bound *b = far_judgement_bound(j);
    *found = fmax(*found, b && b->verdict == FAR_BOUNDED ? met(j) : NAN);
    if (!worst->reason || far_bound_is_worse(b, far_judgement_bound(worst))) {
        far_judgement other = *worst;
        *worst = *j;
        *j = other;
    }
    far_judgement_clear(ctx, j);
}

static far_status run_model(const far_arena *a, const far_split *s, int64_t model, int64_t seed,
                            far_comparison *c)
{
    far_compare_run *run = &c->runs[model * c->info.seeds + seed];
    far_judgement judgement = {0};
    far_status st =
        far_rival_fit(a, s, &c->rivals.items[model], run, a->certify ? &judgement : NULL);
    if (st == FAR_OK && run->status == FAR_OK && a->certify) {
        join_judgement(a->ctx, &judgement, &c->judgements[model], &c->rows[model].found);
    }
    far_judgement_clear(a->ctx, &judgement);
    if (st == FAR_OK && a->opts->done) {
        a->opts->done(a->opts->done_user, c->rivals.items[model].name, run);
    }
    return st;
}

static far_status run_seed(const far_arena *a, int64_t seed, far_comparison *c)
{
    far_status st;
    far_split s = {0};
    FAR_TRY(far_split_open(a, a->opts->fit->seed + (uint64_t)seed, &s));
    for (int64_t i = 0; i < c->info.models; i++) {
        FAR_TRY(far_progress(a->ctx, "compare", seed * c->info.models + i,
                             c->info.seeds * c->info.models));
        FAR_TRY(run_model(a, &s, i, seed, c));
    }
    keep_points(&s, &c->points[seed]);
done:
    far_split_clear(a->ctx, &s);
    return st;
}

/* ---- means --------------------------------------------------------------------------------- */

#define AT(field) offsetof(far_compare_run, field)

/* The values at that offset in the runs that succeeded. */
static int64_t collect(const far_comparison *c, int64_t model, size_t offset, double *values)
{
    int64_t count = 0;
    for (int64_t i = 0; i < c->info.seeds; i++) {
        const far_compare_run *r = &c->rows[model].runs[i];
        if (r->status == FAR_OK) {
            values[count++] = *(const double *)((const char *)r + offset);
        }
    }
    return count;
}

static far_compare_average average(const far_comparison *c, int64_t model, size_t offset,
                                   double *values)
{
    return far_average(values, collect(c, model, offset, values));
}

static double largest(const far_comparison *c, int64_t model, size_t offset, double *values)
{
    double most = NAN;
    int64_t count = collect(c, model, offset, values);
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, values[i]);
    }
    return most;
}

static void name_state(const far_comparison *c, int64_t model, far_compare_row *row)
{
    int64_t good = 0;
    for (int64_t i = 0; i < c->info.seeds; i++) {
        const far_compare_run *r = &c->rows[model].runs[i];
        good += r->status == FAR_OK;
        row->message = row->message ? row->message : r->message;
        row->arch = row->arch ? row->arch : r->arch;
    }
    row->state = good == c->info.seeds ? FAR_COMPARED_OK
                 : good > 0            ? FAR_COMPARED_PARTLY
                                       : FAR_COMPARED_FAILED;
    bool trees = c->rivals.items[model].kind == FAR_RIVAL_XGBOOST;
    if (good == 0 && trees && !far_xgboost_find(c->ctx)) {
        row->state = FAR_COMPARED_ABSENT;
    }
    static const char *const NAMES[] = {"ok", "partial", "failed", "unavailable"};
    row->state_name = NAMES[row->state];
}

static void sum_up_model(const far_comparison *c, int64_t model, double *values)
{
    far_compare_row *row = &c->rows[model];
    row->model = c->rivals.items[model].name;
    row->network = c->rivals.items[model].kind == FAR_RIVAL_NETWORK;
    row->certificate = c->judgements[model].certificate;
    row->certificate_seed = c->judgements[model].seed;
    row->certificate_output = c->judgements[model].output;
    row->reason = c->judgements[model].reason;
    name_state(c, model, row);
    row->r2_in = average(c, model, AT(r2_in), values);
    row->r2_out = average(c, model, AT(r2_out), values);
    row->rmse_in = average(c, model, AT(rmse_in), values);
    row->rmse_out = average(c, model, AT(rmse_out), values);
    for (int i = 0; i < FAR_COMPARE_SCORES; i++) {
        row->in[i] = average(c, model, AT(in) + (size_t)i * sizeof(double), values);
        row->out[i] = average(c, model, AT(out) + (size_t)i * sizeof(double), values);
    }
    row->max_in = largest(c, model, AT(max_in), values);
    row->max_out = largest(c, model, AT(max_out), values);
    row->ridge = average(c, model, AT(ridge), values).mean;
    row->seconds_fit = average(c, model, AT(seconds_fit), values).mean;
    row->seconds_predict = average(c, model, AT(seconds_predict), values).mean;
}

/* The larger, the better. */
static double merit(const far_comparison *c, const far_compare_row *row)
{
    bool folds = !c->info.shift;
    if (c->info.classes > 0) {
        return -(folds ? row->in : row->out)[FAR_COMPARE_LOG_LOSS].mean;
    }
    return (folds ? row->r2_in : row->r2_out).mean;
}

static far_status sum_up(far_comparison *c)
{
    double *values = NULL;
    far_status st = far_alloc(c->ctx, c->info.seeds, &values);
    for (int64_t i = 0; st == FAR_OK && i < c->info.models; i++) {
        sum_up_model(c, i, values);
        double own = merit(c, &c->rows[i]);
        if (!isnan(own) && (c->info.best < 0 || own > merit(c, &c->rows[c->info.best]))) {
            c->info.best = i;
        }
    }
    far_free(c->ctx, values);
    return st;
}

far_status far_comparison_create(far_ctx *ctx, const far_frame *frame, const far_compare_opts *opts,
                                 far_comparison **out)
{
    far_status st;
    far_rivals rivals = {0};
    far_arena arena = {.ctx = ctx};
    far_comparison *c = NULL;
    double start = far_seconds();
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(open_all(ctx, frame, opts, &rivals, &arena));
    FAR_TRY(check_splits(&arena));
    FAR_TRY(blank_comparison(&arena, &rivals, &c));
    for (int64_t i = 0; i < arena.seeds; i++) {
        FAR_TRY(run_seed(&arena, i, c));
    }
    FAR_TRY(sum_up(c));
    c->info.seconds = far_seconds() - start;
    c->columns = arena.columns;
    arena.columns = NULL; /* the comparison owns them now */
done:
    FAR_HAND_OVER(c, out, far_comparison_destroy);
    far_arena_clear(&arena);
    far_rivals_clear(ctx, &rivals);
    return st;
}
