/* Fitting: columns to points, choices, one factorisation, one refined solve. */
#include "../solve/solve_internal.h"
#include "fit_iterative.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXTREMES_SMALL 2 /* of far_fit_opts: for matrices of at most */
#define SMALL_ROWS 2048
#define TINY_RIDGE 1e-10 /* relative: below it rows with the same inputs cannot be told apart */
#define NOISE_FREE 1e-8  /* relative: a ridge chosen so small says that there is no noise */
#define LEAST_WITH_CONFLICTS                                                                       \
    1e-6 /* relative: the subset of the choice may have met no conflict                            \
          */

enum { LEAST_FOR_RANKS = 200, MOST_FOR_RANKS = 20000 };
enum { LEAST_LANDMARKS = 64 }; /* fewer hardly help conjugate gradients: not worth an advice */
#define BEHIND 1.1     /* times the loss without ranks: beyond it nothing mends steps of them; */
#define FAR_BEHIND 1.3 /* the same where more rows than the subset may */
#define COST_OF_RANKS 2.5

void far_fit_opts_init(far_fit_opts *opts)
{
    *opts = (far_fit_opts){.size = sizeof *opts,
                           .standardize = 1,
                           .ridge = NAN,
                           .subset = 2000,
                           .metric = FAR_METRIC_AUTO,
                           .extremes = EXTREMES_SMALL,
                           .tolerance = 1e-5,
                           .ranks = FAR_RANKS_AUTO,
                           .committee = 1};
}

static far_status check_opts(far_ctx *ctx, const far_frame *frame, const far_fit_opts *o)
{
    if (!frame || !o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "frame is NULL or opts not initialised");
    }
    if (!o->target || !*o->target) {
        return far_fail(ctx, FAR_ERR_ARG, "no target column was named");
    }
    if (o->ridge < 0 || isinf(o->ridge)) {
        return far_fail(ctx, FAR_ERR_ARG, "the ridge is %g; it must be 0 or more", o->ridge);
    }
    if (o->kernel > FAR_KERNEL_NNGP || o->task > FAR_TASK_CLASSIFY ||
        o->criterion > FAR_CRITERION_LIKELIHOOD || o->ridge_kind > FAR_RIDGE_ABSOLUTE ||
        o->metric > FAR_METRIC_AUTO) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "kernel, task, criterion, metric or kind of ridge is none of those there "
                        "are");
    }
    if (o->method > FAR_METHOD_NYSTROM || o->landmarks < 0 ||
        !(o->tolerance > 0 && o->tolerance < 1)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the method is none of those there are, landmarks are negative, or the "
                        "tolerance is not between 0 and 1");
    }
    if (o->ranks < FAR_RANKS_NONE || o->ranks > FAR_RANKS_STEPS) {
        return far_fail(ctx, FAR_ERR_ARG, "ranks are none of those there are");
    }
    if (o->copies != FAR_COPIES_KEEP && o->copies != FAR_COPIES_DROP) {
        return far_fail(ctx, FAR_ERR_ARG, "copies are neither kept nor dropped");
    }
    if (o->committee < 0 || o->committee > FAR_MOST_MEMBERS ||
        (o->committee > 1 && o->criterion != FAR_CRITERION_LOO)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a committee has 1 to %d members (0: as many as help), chosen by "
                        "leave-one-out (`criterion` loo)",
                        FAR_MOST_MEMBERS);
    }
    if (o->subset < 2) {
        return far_fail(ctx, FAR_ERR_ARG, "a subset of %lld rows is too small to choose on",
                        (long long)o->subset);
    }
    return FAR_OK;
}

/* ---- data --------------------------------------------------------------------------------------
 */

static far_status learn_data(far_ctx *ctx, const far_frame *frame, const far_fit_opts *o,
                             far_model *m)
{
    far_status st;
    far_columns_opts c;
    far_examples *e = NULL;
    far_columns_opts_init(&c);
    c.target = o->target;
    c.features = o->features;
    c.rows = o->rows;
    c.task = (far_task)o->task;
    c.standardize = o->standardize ? FAR_STANDARDIZE_BOTH : FAR_STANDARDIZE_NONE;
    c.impute = o->impute;
    c.careful = o->careful;
    c.keep = o->keep;
    c.ranks = o->ranks == FAR_RANKS_STEPS ? 2 : o->ranks == FAR_RANKS_ALL;
    FAR_TRY(far_examples_learn(ctx, frame, &c, &e));
    m->columns = e->columns;
    m->info.rows = e->inputs.rows;
    m->x = e->inputs.data;
    m->y = e->targets.data;
    *e = (far_examples){.ctx = ctx};
    far_model_summarize(m);
done:
    far_examples_destroy(e);
    return st;
}

/* ---- duplicates ---------------------------------------------------------------------------- */

static far_status fail_duplicates(far_ctx *ctx, const far_model *m, const far_duplicates *d)
{
    const char *where = m->metric.kind == FAR_METRIC_NONE ? "" : " behind the metric";
    if (d->conflicts > 0) {
        return far_fail(ctx, FAR_ERR_SINGULAR,
                        "training rows %lld and %lld have the same inputs%s and different targets "
                        "(%lld such rows in all): no function fits both; use a ridge, `ridge` auto "
                        "or `ridge` 0.01",
                        (long long)d->first[0] + 1, (long long)d->first[1] + 1, where,
                        (long long)d->conflicts);
    }
    return far_fail(
        ctx, FAR_ERR_SINGULAR,
        "training rows %lld and %lld have the same inputs%s (%lld such rows in all), so "
        "the kernel matrix is singular; use a ridge (`ridge` 1e-6) or leave the "
        "copies out",
        (long long)d->first[0] + 1, (long long)d->first[1] + 1, where, (long long)d->rows);
}

/* ---- the solve ----------------------------------------------------------------------------- */

static void keep_diagnostics(const far_system *s, far_model *m)
{
    far_system_info i = far_system_diagnostics(s);
    m->info.ridge = i.ridge;
    m->info.ridge_relative = i.ridge_relative;
    m->info.mean_diagonal = i.mean_diagonal;
    m->info.lambda_min = i.lambda_min;
    m->info.lambda_max = i.lambda_max;
    m->info.condition = i.condition;
    m->info.log_det = i.log_det;
    m->info.bytes = i.bytes;
    m->info.storage = i.storage;
}

double far_fitted_r2(const double *y, const double *miss, double times, int64_t n, int64_t p)
{
    double total = 0;
    for (int64_t j = 0; j < p; j++) {
        double mean = 0, error = 0, spread = 0;
        for (int64_t i = 0; i < n; i++) {
            mean += y[i * p + j] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double missed = times * miss[i * p + j], off = y[i * p + j] - mean;
            error += missed * missed;
            spread += off * off;
        }
        total += spread > 0 ? 1 - error / spread : error > 0 ? 0 : 1;
    }
    return total / (double)p;
}

static far_status solve(far_ctx *ctx, const far_system *s, far_model *m)
{
    far_status st;
    int64_t n = m->info.rows, p = m->info.outputs;
    double *residuals = NULL;
    FAR_TRY(far_alloc(ctx, n * p, &m->alpha));
    FAR_TRY(far_alloc(ctx, n * p, &m->alpha_low));
    FAR_TRY(far_alloc(ctx, p, &residuals));
    far_mat y = far_model_targets(m), alpha = far_model_alpha(m);
    far_mat low = far_mat_view(m->alpha_low, n, p, FAR_F64);
    FAR_TRY(far_system_solve(ctx, s, &y, &alpha, &low, residuals));
    for (int64_t j = 0; j < p; j++) {
        m->info.residual = fmax(m->info.residual, residuals[j]);
    }
    m->info.r2_train =
        far_fitted_r2(m->y, m->alpha, m->info.ridge, n, p); /* f is y - ridge alpha */
done:
    far_free(ctx, residuals);
    return st;
}

static void solve_opts(const far_fit_opts *o, int64_t rows, double ridge, far_ridge_kind kind,
                       far_solve_opts *s)
{
    far_solve_opts_init(s);
    s->ridge = ridge;
    s->ridge_kind = kind;
    s->storage = o->storage;
    s->memory = o->memory;
    s->extremes = o->extremes == EXTREMES_SMALL ? rows <= SMALL_ROWS : o->extremes;
}

/* What a fit without a factor has room for: the usual number, or fewer; 0: none. */
static int64_t landmarks_that_fit(const far_fit_opts *o, const far_model_info *m)
{
    int64_t count = far_landmark_count(o, FAR_METHOD_CG, m->rows);
    double budget = far_budget(o->memory);
    while (count >= LEAST_LANDMARKS &&
           far_iterative_bytes(m->rows, m->inputs, m->outputs, count) > budget) {
        count /= 2;
    }
    return m->rows >= FAR_LEAST_ITERATIVE && count >= LEAST_LANDMARKS ? count : 0;
}

/* " and 500 `landmarks`" where the usual number is too large, and nothing where no number fits. */
static void advise_cg(const far_fit_opts *o, const far_model_info *m, char *out, size_t size)
{
    int64_t usual = far_landmark_count(o, FAR_METHOD_CG, m->rows), fit = landmarks_that_fit(o, m);
    char fewer[64] = "";
    if (fit < usual) {
        snprintf(fewer, sizeof fewer, " and %lld `landmarks`", (long long)fit);
    }
    out[0] = 0;
    if (fit > 0) {
        snprintf(out, size, ", do without a factor (`method` cg, with a ridge%s),", fewer);
    }
}

/* Memory grows with the square of the rows. */
static far_status fail_budget(far_ctx *ctx, const far_fit_opts *o, const far_model_info *m,
                              const far_solve_opts *s)
{
    far_estimate need;
    far_solve_opts packed = *s;
    char why[512], cg[128];
    snprintf(why, sizeof why, "%s", far_ctx_message(ctx));
    packed.storage = FAR_STORAGE_PACKED;
    far_status st = far_solve_estimate(ctx, m->rows, &packed, &need);
    if (st != FAR_OK) {
        return st;
    }
    if (s->storage == FAR_STORAGE_FULL && need.fits) {
        return far_fail(ctx, FAR_ERR_BUDGET, "%s; packed storage takes half of it (`packed`)", why);
    }
    advise_cg(o, m, cg, sizeof cg);
    return far_fail(ctx, FAR_ERR_BUDGET,
                    "%s; allow more (`memory`)%s or fit fewer rows (`rows`): about %lld fit", why,
                    cg, (long long)((double)m->rows * sqrt(far_budget(o->memory) / need.bytes)));
}

/* Auto is exact where the memory allows it, and where nothing else is possible. */
static far_method method_for(far_ctx *ctx, const far_fit_opts *o, int64_t rows)
{
    far_solve_opts s;
    solve_opts(o, rows, 0, FAR_RIDGE_RELATIVE, &s);
    if (o->method != FAR_METHOD_AUTO) {
        return o->method;
    }
    bool exact = o->ridge == 0 || rows < FAR_LEAST_ITERATIVE || far_estimate_memory(rows, &s).fits;
    return exact || !far_iterative_estimate(ctx, o, FAR_METHOD_CG, rows).fits ? FAR_METHOD_EXACT
                                                                              : FAR_METHOD_CG;
}

static far_status factor_and_solve(far_ctx *ctx, const far_fit_opts *o, double ridge,
                                   far_ridge_kind kind, const far_duplicates *twins, far_model *m)
{
    far_status st;
    far_system *system = NULL;
    far_solve_opts options;
    far_kernel_points points = {m->kernel, far_model_points(m), m->info.kernel, 0};
    far_symmetric matrix = far_kernel_points_matrix(&points);
    solve_opts(o, m->info.rows, ridge, kind, &options);
    double start = far_seconds();
    st = far_system_create(ctx, &matrix, &options, &system);
    if (st == FAR_ERR_SINGULAR && twins->rows > 0) {
        st = fail_duplicates(ctx, m, twins);
    }
    if (st == FAR_ERR_BUDGET) {
        st = fail_budget(ctx, o, &m->info, &options);
    }
    FAR_TRY(st);
    keep_diagnostics(system, m);
    m->info.seconds_fill = points.seconds;
    m->info.seconds_factor = far_seconds() - start - points.seconds;
    start = far_seconds();
    FAR_TRY(solve(ctx, system, m));
    FAR_TRY(far_model_score(ctx, system, m));
    m->info.seconds_solve = far_seconds() - start;
done:
    far_system_destroy(system);
    return st;
}

/* Scores, norms and likelihoods are of squares, which a double must hold. A fit is linear in its
 * targets, so those of extreme size are divided by a power of two, which rounds nothing. */
static void bring_into_range(far_model *m, int64_t j)
{
    const double least = 1e-100, most = 1e100;
    int64_t n = m->info.rows, p = m->info.outputs;
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(m->y[i * p + j]));
    }
    if (largest == 0 || (largest >= least && largest <= most)) {
        return;
    }
    int exponent = ilogb(largest);
    double *scale = &far_output_scale(m->columns)[j];
    *scale = ldexp(*scale, exponent);
    for (int64_t i = 0; i < n; i++) {
        m->y[i * p + j] = ldexp(m->y[i * p + j], -exponent);
    }
}

static far_status take_given(far_ctx *ctx, const far_pick *c, far_model *m, double *ridge,
                             far_ridge_kind *kind)
{
    far_status st;
    far_kernel_opts o;
    const char *text = far_kernel_text(c->kernel);
    o = (far_kernel_opts){.size = sizeof o};
    o.param = m->info.param;
    *ridge = c->ridge;
    *kind = FAR_RIDGE_RELATIVE;
    m->optimism = c->optimism;
    FAR_TRY(far_kernel_create(ctx, text, &o, &m->kernel));
    FAR_TRY(far_copy_text(ctx, text, (int64_t)strlen(text), &m->arch));
    FAR_TRY(far_metric_copy(ctx, &c->metric, &m->metric));
done:
    return st;
}

/* A model on its way: its data are there, its network is being chosen. */
typedef struct attempt {
    far_model *m;
    far_fit_opts opts;
    far_duplicates twins;
    far_picks others; /* further members of a committee */
    far_choice *choice;
    double start;
} attempt;

static void attempt_clear(far_ctx *ctx, attempt *a)
{
    far_choice_close(a->choice);
    far_picks_clear(ctx, &a->others);
    far_model_destroy(a->m);
    *a = (attempt){0};
}

/* Reads the table. */
static far_status attempt_begin(far_ctx *ctx, const far_frame *frame, const far_fit_opts *o,
                                attempt *a)
{
    far_status st;
    *a = (attempt){.opts = *o, .start = far_seconds()};
    FAR_TRY(far_model_new(ctx, &a->m));
    far_model *m = a->m;
    m->info.param = o->param;
    m->info.kernel = o->kernel;
    m->info.standardize = o->standardize;
    FAR_TRY(learn_data(ctx, frame, o, m));
    for (int64_t j = 0; j < m->info.outputs; j++) {
        bring_into_range(m, j);
    }
    FAR_TRY(far_duplicates_find(ctx, m->x, m->info.rows, m->info.inputs, m->y, m->info.outputs,
                                NULL, &a->twins));
    m->info.duplicates = a->twins.rows;
    m->info.conflicts = a->twins.conflicts;
    m->info.method = method_for(ctx, o, m->info.rows);
    m->info.trained_rows = m->info.rows;
    m->info.converged = 1;
done:
    return st;
}

/* Solves for the network, metric and ridge that the model has. */
static far_status attempt_finish(far_ctx *ctx, attempt *a, double ridge, far_ridge_kind kind)
{
    far_status st;
    far_model *m = a->m;
    const far_fit_opts *o = &a->opts;
    far_duplicates *twins = &a->twins;
    FAR_TRY(far_model_take_metric(ctx, m));
    m->info.seconds_choose = far_seconds() - a->start;
    if (m->metric.kind != FAR_METRIC_NONE) { /* it may map different inputs to the same point */
        FAR_TRY(far_duplicates_find(ctx, m->facts.points, m->info.rows, m->info.inputs, m->y,
                                    m->info.outputs, NULL, twins));
    }
    if (twins->conflicts > 0 && isnan(o->ridge)) {
        ridge = fmax(ridge, LEAST_WITH_CONFLICTS);
    }
    if (twins->conflicts > 0 && ridge <= (kind == FAR_RIDGE_RELATIVE ? TINY_RIDGE : 0)) {
        FAR_TRY(fail_duplicates(ctx, m, twins));
    }
    FAR_TRY(m->info.method == FAR_METHOD_EXACT ? factor_and_solve(ctx, o, ridge, kind, twins, m)
                                               : far_fit_iterative(ctx, o, ridge, kind, m));
    FAR_TRY(far_model_weigh_inputs(ctx, m));
    m->info.noise_free = isnan(o->ridge) && m->info.ridge_relative <= NOISE_FREE;
    m->info.seconds_total = far_seconds() - a->start;
done:
    return st;
}

/* With what was chosen. */
static far_status attempt_take(far_ctx *ctx, attempt *a)
{
    double ridge;
    far_ridge_kind kind;
    far_status st = far_choice_take(a->choice, &ridge, &kind);
    far_choice_close(a->choice); /* the memory of its subset */
    a->choice = NULL;
    return st == FAR_OK ? attempt_finish(ctx, a, ridge, kind) : st;
}

static far_status attempt_choose(far_ctx *ctx, attempt *a, far_picks *others)
{
    far_status st;
    FAR_TRY(far_choice_open(ctx, &a->opts, a->m, others, NULL, &a->choice));
    FAR_TRY(far_choice_judge(a->choice));
    FAR_TRY(attempt_take(ctx, a));
done:
    return st;
}

static void hand_over(attempt *a, far_model **out)
{
    *out = a->m;
    a->m = NULL;
}

/* One network, behind that metric if there is one. */
static far_status choose_behind(far_ctx *ctx, attempt *a, const far_metric *metric)
{
    far_status st;
    double ridge;
    far_ridge_kind kind;
    a->opts.metric = metric ? FAR_METRIC_NONE : a->opts.metric;
    FAR_TRY(far_choice_open(ctx, &a->opts, a->m, NULL, NULL, &a->choice));
    FAR_TRY(far_choice_judge(a->choice));
    FAR_TRY(far_choice_take(a->choice, &ridge, &kind));
    FAR_TRY(metric ? far_metric_copy(ctx, metric, &a->m->metric) : FAR_OK);
    FAR_TRY(attempt_finish(ctx, a, ridge, kind));
done:
    return st;
}

far_status far_model_fit(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                         far_model **out)
{
    return far_model_fit_behind(ctx, frame, opts, NULL, out);
}

far_status far_model_fit_behind(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                                const far_metric *metric, far_model **out)
{
    attempt a = {0};
    far_status st;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_opts(ctx, frame, opts));
    FAR_TRY(attempt_begin(ctx, frame, opts, &a));
    FAR_TRY(choose_behind(ctx, &a, metric));
    hand_over(&a, out);
done:
    attempt_clear(ctx, &a);
    return st;
}

/* A further member: nothing is to be chosen. */
static far_status fit_member(far_ctx *ctx, const far_frame *frame, const far_fit_opts *o,
                             const far_pick *pick, far_model **out)
{
    attempt a = {0};
    far_status st;
    double ridge;
    far_ridge_kind kind;
    FAR_TRY(attempt_begin(ctx, frame, o, &a));
    FAR_TRY(take_given(ctx, pick, a.m, &ridge, &kind));
    FAR_TRY(attempt_finish(ctx, &a, ridge, kind));
    hand_over(&a, out);
done:
    attempt_clear(ctx, &a);
    return st;
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* Auto tries them where the network is chosen too, and where rows are enough to tell and not so
 * many that a hundred times the inputs are a burden. */
static bool tries_ranks(const far_fit_opts *o, int64_t rows)
{
    return o->ranks == FAR_RANKS_AUTO && far_chooses_network(o) &&
           o->criterion == FAR_CRITERION_LOO && rows >= LEAST_FOR_RANKS && rows <= MOST_FOR_RANKS;
}

/* With steps of ranks, beside what has none; nothing is opened where there are no numbers. */
static far_status open_rival(far_ctx *ctx, const far_frame *frame, const attempt *none,
                             attempt *steps)
{
    far_status st;
    far_fit_opts own = none->opts;
    own.ranks = FAR_RANKS_STEPS;
    FAR_TRY(attempt_begin(ctx, frame, &own, steps));
    steps->others.judge = true;
    if (steps->m->info.inputs > none->m->info.inputs) {
        FAR_TRY(far_choice_open(ctx, &steps->opts, steps->m, &steps->others, none->choice,
                                &steps->choice));
    }
done:
    return st;
}

/* Networks without a metric may settle it; else rows held out do. */
static far_status choose_ranks(far_ctx *ctx, const far_frame *frame, attempt *none, attempt *steps,
                               bool *taken)
{
    far_status st;
    none->others.judge = true;
    FAR_TRY(far_choice_open(ctx, &none->opts, none->m, &none->others, NULL, &none->choice));
    FAR_TRY(open_rival(ctx, frame, none, steps));
    double ratio =
        steps->choice ? far_choice_loss(steps->choice) / far_choice_loss(none->choice) : INFINITY;
    bool hopeless = !(ratio <= (none->m->info.rows > none->opts.subset ? FAR_BEHIND : BEHIND));
    FAR_TRY(far_choice_judge(none->choice));
    FAR_TRY(hopeless ? FAR_OK : far_choice_judge(steps->choice));
    *taken = !hopeless && far_choice_beats(steps->choice, none->choice);
done:
    return st;
}

/* tries[0]: without ranks or as they are asked for, its data read; tries[1]: room for a rival. */
static far_status fit_first(far_ctx *ctx, const far_frame *frame, bool ranks, attempt tries[2],
                            attempt **winner)
{
    far_status st;
    bool taken = false;
    *winner = &tries[0];
    if (!ranks) {
        return attempt_choose(ctx, &tries[0], &tries[0].others);
    }
    FAR_TRY(choose_ranks(ctx, frame, &tries[0], &tries[1], &taken));
    *winner = &tries[taken];
    attempt_clear(ctx, &tries[!taken]);
    FAR_TRY(attempt_take(ctx, *winner));
done:
    return st;
}

static far_status fit_members(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                              far_model **made, int64_t *size)
{
    far_status st;
    attempt tries[2] = {{0}}, *first;
    FAR_TRY(attempt_begin(ctx, frame, opts, &tries[0]));
    bool ranks = tries_ranks(opts, tries[0].m->info.rows);
    tries[0].opts.ranks = opts->ranks == FAR_RANKS_AUTO ? FAR_RANKS_NONE : opts->ranks;
    FAR_TRY(fit_first(ctx, frame, ranks, tries, &first));
    hand_over(first, &made[(*size)++]);
    for (int64_t i = 0; i < first->others.count; i++) {
        FAR_TRY(fit_member(ctx, frame, &first->opts, &first->others.items[i], &made[*size]));
        ++*size;
    }
done:
    attempt_clear(ctx, &tries[0]);
    attempt_clear(ctx, &tries[1]);
    return st;
}

far_status far_models_fit(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                          far_model ***out, int64_t *count)
{
    far_status st;
    far_model **made = NULL;
    int64_t size = 0;
    *out = NULL;
    *count = 0;
    FAR_TRY(check_opts(ctx, frame, opts));
    FAR_TRY(far_alloc(ctx, FAR_MOST_MEMBERS, &made));
    FAR_TRY(fit_members(ctx, frame, opts, made, &size));
    *out = made;
    *count = size;
    made = NULL;
done:
    for (int64_t i = 0; made && i < size; i++) {
        far_model_destroy(made[i]);
    }
    far_free(ctx, made);
    return st;
}

far_status far_fit_estimate(far_ctx *ctx, const far_frame *frame, const far_fit_opts *opts,
                            far_estimate *out)
{
    int64_t rows = 0;
    far_solve_opts s;
    far_status st = check_opts(ctx, frame, opts);
    if (st != FAR_OK) {
        return st;
    }
    for (int64_t i = 0; i < far_frame_rows(frame); i++) {
        rows += !opts->rows || opts->rows[i];
    }
    double choosing = 0;
    solve_opts(opts, rows, 0, FAR_RIDGE_RELATIVE, &s);
    st = far_solve_estimate(ctx, rows > 0 ? rows : 1, &s, out);
    far_method method = method_for(ctx, opts, rows);
    if (st == FAR_OK && method != FAR_METHOD_EXACT) {
        *out = far_iterative_estimate(ctx, opts, method, rows);
    }
    choosing = far_select_seconds(ctx, opts, method, rows);
    choosing *= tries_ranks(opts, rows) ? COST_OF_RANKS : 1;
    if (st == FAR_OK) { /* members are fitted one after the other */
        out->seconds =
            choosing + out->seconds * (double)(opts->committee > 1 ? opts->committee : 1);
    }
    return st;
}
