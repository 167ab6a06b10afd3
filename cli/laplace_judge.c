/* The posterior of a network, chosen on validation rows, and how it does on others. */
#include "files.h"
#include "laplace_job.h"
#include "show.h"

#include <math.h>
#include <stdlib.h>

enum { SMALL = 2000 }; /* rows times outputs */

bool laplace_classifies(const laplace_job *j)
{
    return j->opts.likelihood != FAR_LIKELIHOOD_GAUSSIAN;
}

int64_t laplace_classes(const laplace_job *j)
{
    return j->opts.likelihood == FAR_LIKELIHOOD_BERNOULLI ? 2 : j->info.outputs;
}

static int failed(laplace_job *j)
{
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return session_failure(&j->s, NULL);
}

/* ---- the noise ----------------------------------------------------------------------------- */

static int residual_square(laplace_job *j, const rows *r, double *out)
{
    far_mat f = {0};
    double sum = 0;
    int64_t count = r->y.rows * r->y.cols;
    int code = matrix_alloc(j->s.verb, r->y.rows, r->y.cols, FAR_F64, &f);
    if (code == EXIT_DONE && far_net_eval(j->s.ctx, j->net, &r->x, &f) != FAR_OK) {
        code = session_failure(&j->s, r->name);
    }
    for (int64_t i = 0; code == EXIT_DONE && i < count; i++) {
        double gap = ((double *)f.data)[i] - ((double *)r->y.data)[i];
        sum += gap * gap / (double)count;
    }
    free(f.data);
    *out = sum;
    return code;
}

/* One target's own units become the network's. */
static double target_scale(const laplace_job *j)
{
    far_scaling s = far_columns_describe(far_net_describe(j->net).columns).scaling;
    return j->info.outputs == 1 ? mat_get(&s.output_scale, 0, 0) : 1;
}

static int check_noise(laplace_job *j, const char *name, double noise)
{
    double scale = target_scale(j);
    if (!(noise > 0)) {
        return failure(j->s.verb, "%s: the network fits every target: give the noise with --noise",
                       name);
    }
    if (!isfinite(noise * scale * scale)) {
        return failure(j->s.verb,
                       "%s: the noise, %.3g squared in units of the target, is too large for a "
                       "double; divide the targets before training",
                       name, sqrt(noise) * scale);
    }
    return EXIT_DONE;
}

/* The network's own noise, with which it is scored as it is, and the posterior begins. */
static int find_noise(laplace_job *j)
{
    const rows *r = j->val.name ? &j->val : &j->train;
    double scale = target_scale(j);
    if (laplace_classifies(j)) {
        return EXIT_DONE;
    }
    if (!isnan(j->args.noise)) {
        j->noise_from = "given";
        j->map_noise = j->opts.noise = j->args.noise / (scale * scale);
        return EXIT_DONE;
    }
    if (!r->y.data) {
        return usage_error(j->s.verb, "--noise is missing, and %s has no targets to take it from",
                           r->name);
    }
    j->noise_from = j->val.name ? "mean square of the residuals of the validation rows"
                                : "mean square of the residuals of the training rows";
    int code = residual_square(j, r, &j->opts.noise);
    j->map_noise = j->opts.noise;
    return code == EXIT_DONE ? check_noise(j, r->name, j->opts.noise) : code;
}

/* ---- the posterior ------------------------------------------------------------------------- */

static bool features(const laplace_job *j)
{
    return j->opts.method == FAR_LAPLACE_ELLA;
}

static bool chooses(const laplace_job *j)
{
    const laplace_args *a = &j->args;
    return j->val.name && (a->choose || !a->prior_given || (features(j) && !a->rank_given));
}

static bool chooses_rank(const laplace_job *j)
{
    return chooses(j) && features(j) && (j->args.choose || !j->args.rank_given);
}

/* All features that memory has room for; the choice takes what is best of them. */
static far_status widest_rank(laplace_job *j)
{
    far_laplace_cost cost;
    far_status st = FAR_OK;
    j->opts.rank = j->opts.landmarks;
    do {
        st = far_laplace_estimate(j->s.ctx, j->net, j->train.x.rows, &j->opts, &cost);
        j->opts.rank = cost.fits || st != FAR_OK ? j->opts.rank : j->opts.rank / 2;
    } while (st == FAR_OK && !cost.fits && j->opts.rank > 1);
    return st;
}

static int refuse_exact(laplace_job *j, const far_laplace_cost *exact, const far_laplace_cost *ella)
{
    char bytes[SHOW_BYTES], less[SHOW_BYTES];
    show_size(exact->bytes, bytes);
    if (ella->bytes >= exact->bytes) {
        return failure(j->s.verb,
                       "--exact solves a system of side %lld: %s, more than there is room for",
                       (long long)exact->side, bytes);
    }
    return failure(j->s.verb,
                   "--exact solves a system of side %lld: %s, more than there is room for; without "
                   "--exact %lld features take %s",
                   (long long)exact->side, bytes, (long long)ella->side,
                   show_size(ella->bytes, less));
}

static int check_exact(laplace_job *j)
{
    far_laplace_cost cost, small;
    far_laplace_opts ella = j->opts;
    ella.method = FAR_LAPLACE_ELLA;
    if (far_laplace_estimate(j->s.ctx, j->net, j->train.x.rows, &j->opts, &cost) != FAR_OK ||
        far_laplace_estimate(j->s.ctx, j->net, j->train.x.rows, &ella, &small) != FAR_OK) {
        return failed(j);
    }
    return cost.fits ? EXIT_DONE : refuse_exact(j, &cost, &small);
}

static far_status choose(laplace_job *j)
{
    far_laplace_grid g;
    far_laplace_info i = far_laplace_describe(j->posterior);
    g = (far_laplace_grid){.size = sizeof g};
    g.probability = j->rule;
    j->chosen_rank = chooses_rank(j);
    j->chosen_prior = j->args.choose || !j->args.prior_given;
    if (i.rank > 0 && !j->chosen_rank) {
        g.ranks = &i.rank;
        g.rank_count = 1;
    }
    if (!j->chosen_prior) {
        g.priors = &j->opts.prior;
        g.prior_count = 1;
    }
    return far_laplace_choose(j->s.ctx, j->posterior, &j->val.x, j->val.labels,
                              laplace_classifies(j) ? NULL : &j->val.y, &g, &j->choice);
}

/* Without validation rows the training rows choose, by their marginal likelihood. */
static bool tunes(const laplace_job *j)
{
    return !j->val.name && !j->args.prior_given;
}

static far_status tune(laplace_job *j)
{
    const far_mat *y = laplace_classifies(j) ? NULL : &j->train.y;
    bool given = !isnan(j->args.noise);
    far_laplace_evidence e;
    far_status st = far_laplace_tune(j->s.ctx, j->posterior, &j->train.x, y, given, &e);
    if (st == FAR_OK) {
        j->tuned = true;
        j->log_evidence = e.log_evidence;
        j->scale = e.scale;
        j->choice.edge = e.edge;
        j->noise_from = given || !y ? j->noise_from : "chosen by the marginal likelihood";
        j->opts.noise = y ? e.noise : j->opts.noise;
    }
    return st;
}

/* Features would save nothing. */
static bool is_small(const laplace_job *j)
{
    far_laplace_cost cost;
    far_laplace_opts exact = j->opts;
    exact.method = FAR_LAPLACE_EXACT;
    return j->train.x.rows * j->info.outputs <= SMALL &&
           far_laplace_estimate(j->s.ctx, j->net, j->train.x.rows, &exact, &cost) == FAR_OK &&
           cost.fits;
}

static int check_tuning(const laplace_job *j)
{
    return tunes(j) && !laplace_classifies(j) && !j->train.y.data
               ? usage_error(j->s.verb, "--prior is missing, and %s has no targets to choose it by",
                             j->train.name)
               : EXIT_DONE;
}

int laplace_fit(laplace_job *j)
{
    int code = find_noise(j);
    far_status st = FAR_OK;
    code = code == EXIT_DONE ? check_tuning(j) : code;
    if (tunes(j) && j->args.method == METHOD_AUTO && !j->args.features_given && is_small(j)) {
        j->opts.method = FAR_LAPLACE_EXACT;
    }
    j->opts.labels = j->args.balanced ? j->train.labels : NULL;
    if (code == EXIT_DONE && j->opts.method == FAR_LAPLACE_EXACT) {
        code = check_exact(j);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    interrupts_hold();
    if ((chooses_rank(j) || (tunes(j) && features(j))) && !j->args.rank_given) {
        st = widest_rank(j);
    }
    st =
        st == FAR_OK ? far_laplace_fit(j->s.ctx, j->net, &j->train.x, &j->opts, &j->posterior) : st;
    j->rank_tried = st == FAR_OK ? far_laplace_describe(j->posterior).rank_most : 0;
    st = st == FAR_OK && chooses(j) ? choose(j) : st;
    st = st == FAR_OK && tunes(j) ? tune(j) : st;
    return st == FAR_OK ? EXIT_DONE : failed(j);
}

/* ---- what it says -------------------------------------------------------------------------- */

static far_probability_opts rule_of(const laplace_job *j, form f)
{
    far_probability_opts o = j->rule;
    o.rule = f == FORM_MAP ? FAR_PROBABILITY_MEAN : o.rule;
    return o;
}

/* FORM_MINE finds the mean too, which the others read. */
static int say(laplace_job *j, form f, const far_mat *x, far_mat *mean, saying *out)
{
    int64_t outputs = j->info.outputs;
    far_probability_opts o = rule_of(j, f);
    far_status st = FAR_OK;
    int code = EXIT_DONE;
    if (f != FORM_MAP) {
        code = matrix_alloc(j->s.verb, x->rows * outputs, outputs, FAR_F64, &out->covariance);
        st = code == EXIT_DONE ? far_laplace_predict(j->s.ctx, j->posterior, x,
                                                     f == FORM_MINE ? mean : NULL, &out->covariance)
                               : st;
    }
    if (code == EXIT_DONE && st == FAR_OK && laplace_classifies(j)) {
        code = matrix_alloc(j->s.verb, x->rows, laplace_classes(j), FAR_F64, &out->probability);
        st = code == EXIT_DONE
                 ? far_laplace_probability(j->s.ctx, mean, f == FORM_MAP ? NULL : &out->covariance,
                                           &o, &out->probability)
                 : st;
    }
    return st == FAR_OK ? code : failed(j);
}

static far_status score(laplace_job *j, form f, verdicts *v)
{
    const rows *r = j->scored;
    if (laplace_classifies(j)) {
        return r->labels ? far_class_scores(j->s.ctx, &v->in.probability, r->labels, 0, &v->classes)
                         : FAR_OK;
    }
    return r->y.data ? far_gauss_scores(j->s.ctx, &j->mean,
                                        v->in.covariance.data ? &v->in.covariance : NULL, &r->y,
                                        f == FORM_MAP ? j->map_noise : j->opts.noise, &v->gauss)
                     : FAR_OK;
}

/* ---- in and out of domain ------------------------------------------------------------------ */

typedef far_status (*row_score)(far_ctx *ctx, const far_mat *m, double *out);

static int auroc(laplace_job *j, row_score score_rows, const far_mat *in, const far_mat *out,
                 double *a)
{
    int64_t n = j->scored->x.rows, m = j->ood.x.rows;
    double *inside = malloc((size_t)(n + m) * sizeof *inside + 1);
    if (!inside) {
        return failure(j->s.verb, "out of memory");
    }
    far_status st = score_rows(j->s.ctx, in, inside);
    st = st == FAR_OK ? score_rows(j->s.ctx, out, inside + n) : st;
    st = st == FAR_OK ? far_domain_auroc(j->s.ctx, inside, n, inside + n, m, a) : st;
    free(inside);
    return st == FAR_OK ? EXIT_DONE : failed(j);
}

static int tell_apart(laplace_job *j, verdicts *v)
{
    int code = EXIT_DONE;
    if (v->in.probability.data) {
        code = auroc(j, far_class_entropy, &v->in.probability, &v->out.probability, &v->by_entropy);
    }
    if (code == EXIT_DONE && v->in.covariance.data) {
        code =
            auroc(j, far_laplace_variance, &v->in.covariance, &v->out.covariance, &v->by_variance);
    }
    return code;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int64_t n, double q)
{
    double at = q * (double)(n - 1);
    int64_t low = (int64_t)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

static int measure_spread(laplace_job *j, const far_mat *covariance, spread_of *out)
{
    int64_t outputs = j->info.outputs, n = covariance->rows / outputs;
    double *sd = malloc((size_t)n * sizeof *sd + 1);
    if (!sd) {
        return failure(j->s.verb, "out of memory");
    }
    far_status st = far_laplace_variance(j->s.ctx, covariance, sd);
    for (int64_t i = 0; st == FAR_OK && i < n; i++) {
        sd[i] = target_scale(j) * sqrt(fmax(sd[i], 0) / (double)outputs);
    }
    if (st == FAR_OK) {
        qsort(sd, (size_t)n, sizeof *sd, ascending);
        *out = (spread_of){quantile(sd, n, 0.5), quantile(sd, n, 0.05), quantile(sd, n, 0.95)};
    }
    free(sd);
    return st == FAR_OK ? EXIT_DONE : failed(j);
}

/* ---- all forms ----------------------------------------------------------------------------- */

static int judge_form(laplace_job *j, form f)
{
    verdicts *v = &j->forms[f];
    v->computed = true;
    v->by_entropy = v->by_variance = NAN;
    int code = say(j, f, &j->scored->x, &j->mean, &v->in);
    if (code == EXIT_DONE && score(j, f, v) != FAR_OK) {
        code = failed(j);
    }
    if (code == EXIT_DONE && j->ood.name) {
        code = say(j, f, &j->ood.x, &j->mean_out, &v->out);
        code = code == EXIT_DONE ? tell_apart(j, v) : code;
    }
    return code;
}

static int make_means(laplace_job *j)
{
    int code = matrix_alloc(j->s.verb, j->scored->x.rows, j->info.outputs, FAR_F64, &j->mean);
    if (code == EXIT_DONE && j->ood.name) {
        code = matrix_alloc(j->s.verb, j->ood.x.rows, j->info.outputs, FAR_F64, &j->mean_out);
    }
    return code;
}

/* The paper's form at the same K and prior, beside ours. */
static int judge_paper(laplace_job *j)
{
    if (!far_laplace_describe(j->posterior).residual_prior) {
        return EXIT_DONE;
    }
    int code = far_laplace_set(j->s.ctx, j->posterior, 0, NAN, 0) == FAR_OK ? EXIT_DONE : failed(j);
    code = code == EXIT_DONE ? judge_form(j, FORM_PAPER) : code;
    if (code == EXIT_DONE && far_laplace_set(j->s.ctx, j->posterior, 0, NAN, 1) != FAR_OK) {
        code = failed(j);
    }
    return code;
}

int laplace_judge(laplace_job *j)
{
    const verdicts *mine = &j->forms[FORM_MINE];
    int code = make_means(j);
    code = code == EXIT_DONE ? judge_form(j, FORM_MINE) : code;
    code = code == EXIT_DONE ? judge_form(j, FORM_MAP) : code;
    code = code == EXIT_DONE ? judge_paper(j) : code;
    code = code == EXIT_DONE ? measure_spread(j, &mine->in.covariance, &j->spread_in) : code;
    if (code == EXIT_DONE && j->ood.name) {
        code = measure_spread(j, &mine->out.covariance, &j->spread_out);
    }
    return code;
}

static void saying_free(saying *s)
{
    free(s->covariance.data);
    free(s->probability.data);
}

void laplace_free(void *job)
{
    laplace_job *j = job;
    for (int f = 0; f < FORMS; f++) {
        saying_free(&j->forms[f].in);
        saying_free(&j->forms[f].out);
    }
    free(j->mean.data);
    free(j->mean_out.data);
    far_laplace_destroy(j->posterior);
    rows_free(&j->train);
    rows_free(&j->val);
    rows_free(&j->test);
    rows_free(&j->ood);
    far_net_destroy(j->net);
}
