/* What a Laplace approximation says: its result, and a file of predictions. */
#define _GNU_SOURCE
#include "files.h"
#include "laplace_job.h"
#include "report.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const LIKELIHOODS[] = {"gaussian", "softmax", "bernoulli"};

static bool is_scored(const laplace_job *j)
{
    return laplace_classifies(j) ? j->scored->labels != NULL : j->scored->y.data != NULL;
}

static const char *role_of(const laplace_job *j)
{
    return j->scored == &j->test ? "test" : j->scored == &j->val ? "validation" : "training";
}

/* ---- units --------------------------------------------------------------------------------- */

static double output_scale(const laplace_job *j, int64_t k)
{
    far_scaling s = far_columns_describe(far_net_describe(j->net).columns).scaling;
    return mat_get(&s.output_scale, 0, k);
}

/* A density per unit of the targets themselves. */
static double raw_nll(const laplace_job *j, double nll)
{
    for (int64_t k = 0; k < j->info.outputs; k++) {
        nll += log(output_scale(j, k));
    }
    return nll;
}

static double one_scale(const laplace_job *j)
{
    return j->info.outputs == 1 ? output_scale(j, 0) : 1;
}

static double raw_noise(const laplace_job *j)
{
    return j->opts.noise * one_scale(j) * one_scale(j);
}

/* Several targets of different scales have no unit in common. */
static const char *unit_of(const laplace_job *j)
{
    bool scaled = false;
    for (int64_t k = 0; k < j->info.outputs; k++) {
        scaled = scaled || output_scale(j, k) != 1;
    }
    return scaled && j->info.outputs > 1 ? ", standardised" : "";
}

/* ---- the head ------------------------------------------------------------------------------ */

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void tell_network(far_result *r, const laplace_job *j, const far_laplace_info *i)
{
    bool automatic = j->args.likelihood == LIKELIHOOD_AUTO;
    far_result_text(r, "net", j->args.net, NULL, NULL);
    far_result_text(r, "arch", far_net_describe(j->net).arch, "network", NULL);
    far_result_count(r, "parameters", i->parameters, "",
                     "%lld parameters, %lld input%s, %lld output%s%s", (long long)i->parameters,
                     (long long)j->info.inputs, plural(j->info.inputs), (long long)j->info.outputs,
                     plural(j->info.outputs), j->info.linearized ? ", linearised" : "");
    far_result_text(r, "likelihood", LIKELIHOODS[i->likelihood], "likelihood", "%s%s",
                    LIKELIHOODS[i->likelihood], automatic ? ", as it was trained" : "");
    if (!laplace_classifies(j)) {
        far_result_number(r, "noise", raw_noise(j), "noise", "%.6g%s (%s)", raw_noise(j),
                          unit_of(j), j->noise_from);
    }
    far_result_count(r, "rows", i->rows, "rows", "%lld of %s to fit", (long long)j->train.x.rows,
                     j->train.name);
    far_result_count(
        r, "validation_rows", j->val.x.rows, j->val.name ? "" : NULL, "%lld of %s to choose%s",
        (long long)j->val.x.rows, j->val.name ? j->val.name : "",
        j->args.val ? "" : ", not used to fit (the network may have been trained on them)");
}

/* Where the number of features comes from: the landmarks may give fewer than were asked for. */
static void rank_origin(const laplace_job *j, int64_t rank, char *out, size_t size)
{
    int64_t asked = j->args.rank;
    const char *origin = j->args.rank_given ? "given" : "the default: not validated";
    if (j->tuned && !j->args.rank_given) {
        snprintf(out, size, "all that the landmarks give, and memory has room for");
    } else if (j->chosen_rank) {
        snprintf(out, size, "chosen of up to %lld%s", (long long)j->rank_tried,
                 rank == j->rank_tried ? ": the most there were" : "");
    } else if (asked == rank) {
        snprintf(out, size, "%s", origin);
    } else if (asked == 0) {
        snprintf(out, size, "all that the landmarks give");
    } else {
        snprintf(out, size, "all that the landmarks give (%lld %s)", (long long)asked,
                 j->args.rank_given ? "asked for" : "is the default");
    }
}

static void tell_features(far_result *r, const laplace_job *j, const far_laplace_info *i)
{
    char origin[128];
    rank_origin(j, i->rank, origin, sizeof origin);
    far_result_text(r, "method", "ella", NULL, NULL);
    far_result_count(r, "landmarks", i->landmarks, "posterior", "ELLA, %lld landmarks, %s",
                     (long long)i->landmarks,
                     i->residual_prior ? "with the prior of what is no feature"
                                       : "as published, without the prior of what is no feature");
    far_result_count(r, "rank", i->rank, "K", "%lld features, %s", (long long)i->rank, origin);
    far_result_count(r, "rank_tried", j->rank_tried, NULL, NULL);
    far_result_flag(r, "rank_chosen", j->chosen_rank, NULL, NULL);
    far_result_flag(r, "residual_prior", i->residual_prior, NULL, NULL);
    far_result_count(r, "side", i->side, NULL, NULL);
}

static void tell_system(far_result *r, const far_laplace_info *i)
{
    const char *name = METHOD_NAMES[i->method + METHOD_ELLA];
    long long side = (long long)i->side;
    if (i->method == FAR_LAPLACE_EXACT) {
        far_result_text(r, "method", name, "posterior", "exact, a system of side %lld (%s)", side,
                        i->system == FAR_LAPLACE_PARAMETERS ? "parameters" : "rows times outputs");
    } else if (i->method == FAR_LAPLACE_LAST_LAYER) {
        far_result_text(r, "method", name, "posterior",
                        "exact, of the %lld weights of the last layer; the others count as known",
                        side);
    } else {
        far_result_text(
            r, "method", name, "posterior", "%s of the curvature, %lld parameters",
            i->method == FAR_LAPLACE_KFAC ? "Kronecker factors a layer" : "the diagonal", side);
    }
    far_result_count(r, "side", i->side, NULL, NULL);
}

static double validation_nll(const laplace_job *j)
{
    return laplace_classifies(j) ? j->choice.nll : raw_nll(j, j->choice.nll);
}

static void tell_prior(far_result *r, const laplace_job *j, const far_laplace_info *i)
{
    bool edge = (j->chosen_prior || j->tuned) && j->choice.edge;
    const char *origin = edge              ? "chosen, at the end of the grid: a wider one may "
                                             "do better"
                         : j->tuned        ? "chosen by the marginal likelihood"
                         : j->chosen_prior ? "chosen"
                                           : "given";
    char scaled[64] = "";
    if (j->tuned && j->scale != 1) {
        snprintf(scaled, sizeof scaled, ", times %.3g by rows left out", j->scale);
    }
    far_result_number(r, "prior", i->prior, "s0^2", "%.6g, %s%s", i->prior, origin, scaled);
    far_result_flag(r, "prior_chosen", j->chosen_prior || j->tuned, NULL, NULL);
    if (j->tuned) {
        far_result_number(r, "log_evidence", j->log_evidence, NULL, NULL);
        far_result_number(r, "scale", j->scale, NULL, NULL);
    } else {
        far_result_missing(r, "log_evidence", "the prior was given, or chosen on validation rows",
                           NULL);
    }
    far_result_flag(r, "prior_at_edge", edge, NULL, NULL);
    if (j->chosen_prior || j->chosen_rank) {
        far_result_number(r, "validation_nll", validation_nll(j), NULL, NULL);
    } else {
        far_result_missing(r, "validation_nll", "nothing was chosen on validation rows", NULL);
    }
    far_result_number(r, "effective", i->effective, "effective",
                      "%.6g parameters that the data decide", i->effective);
}

/* ---- the table ----------------------------------------------------------------------------- */

static const char *form_name(const laplace_job *j, form f)
{
    static const char *const NAMES[] = {"ELLA", "exact", "diagonal", "KFAC", "last layer"};
    return f == FORM_MAP                      ? "MAP"
           : f == FORM_PAPER || j->args.paper ? "as published"
                                              : NAMES[j->opts.method];
}

typedef double (*pick_fn)(const laplace_job *j, const verdicts *v);

#define PICK(name, expression)                                                                     \
    static double name(const laplace_job *j, const verdicts *v)                                    \
    {                                                                                              \
        (void)j;                                                                                   \
        return expression;                                                                         \
    }
PICK(class_nll, v->classes.nll)
PICK(class_brier, v->classes.brier)
PICK(class_ece, v->classes.ece)
PICK(class_accuracy, v->classes.accuracy)
PICK(gauss_nll, raw_nll(j, v->gauss.nll))
PICK(gauss_rmse, one_scale(j) * v->gauss.rmse)
PICK(gauss_coverage, v->gauss.coverage)
PICK(auroc_entropy, v->by_entropy)
PICK(auroc_variance, v->by_variance)

/* A score: its name in JSON and for people, and where it applies. */
typedef struct score {
    const char *key, *name;
    pick_fn pick;
    bool scores, classes, regressions; /* of scored rows; of which networks */
} score;

static const score SCORES[] = {
    {"nll", "NLL", class_nll, true, true, false},
    {"brier", "Brier", class_brier, true, true, false},
    {"ece", "ECE, 15 bins", class_ece, true, true, false},
    {"accuracy", "accuracy", class_accuracy, true, true, false},
    {"nll", "NLL", gauss_nll, true, false, true},
    {"rmse", "RMSE", gauss_rmse, true, false, true},
    {"coverage", "coverage of 95%", gauss_coverage, true, false, true},
    {"auroc_entropy", "AUROC by entropy", auroc_entropy, false, true, false},
    {"auroc_variance", "AUROC by variance", auroc_variance, false, true, true},
};
enum { SCORE_COUNT = sizeof SCORES / sizeof SCORES[0] };

static bool applies(const laplace_job *j, const score *s)
{
    return (s->scores ? is_scored(j) : j->ood.name != NULL) &&
           (laplace_classifies(j) ? s->classes : s->regressions);
}

static void tell_table(far_result *r, const laplace_job *j)
{
    far_result_column columns[FORMS + 1] = {{NULL, "score", NULL}};
    int64_t cols = 1;
    far_result_say(r, "scored", "%lld %s rows of %s", (long long)j->scored->x.rows, role_of(j),
                   j->scored->name);
    for (int f = 0; f < FORMS; f++) {
        if (j->forms[f].computed) {
            columns[cols++] = (far_result_column){NULL, form_name(j, (form)f), "%10.5g"};
        }
    }
    far_result_table(r, NULL, "Scores of the predictive distributions.", columns, cols);
    for (int i = 0; i < SCORE_COUNT; i++) {
        if (!applies(j, &SCORES[i])) {
            continue;
        }
        far_result_cell_text(r, "%s%s", SCORES[i].name,
                             SCORES[i].pick == gauss_rmse ? unit_of(j) : "");
        for (int f = 0; f < FORMS; f++) {
            if (j->forms[f].computed) {
                far_result_cell(r, SCORES[i].pick(j, &j->forms[f]));
            }
        }
    }
}

static void list_scores(far_result *r, const laplace_job *j, const char *key, const verdicts *v)
{
    if (!v->computed) {
        return;
    }
    far_result_open(r, key);
    for (int i = 0; i < SCORE_COUNT; i++) {
        if (applies(j, &SCORES[i])) {
            far_result_number(r, SCORES[i].key, SCORES[i].pick(j, v), NULL, NULL);
        } else if (!SCORES[i].scores) {
            far_result_missing(r, SCORES[i].key,
                               j->ood.name ? "of classes only" : "no rows out of domain", NULL);
        }
    }
    far_result_close(r);
}

static void add_spread(far_result *r, const rows *of, const spread_of *s)
{
    far_result_cell_text(r, "%s", of->name);
    far_result_cell(r, s->low);
    far_result_cell(r, s->median);
    far_result_cell(r, s->high);
}

static void tell_spreads(far_result *r, const laplace_job *j)
{
    const char *what = laplace_classifies(j) ? "sd of the logits, over rows"
                       : *unit_of(j)         ? "sd, standardised, over rows"
                                             : "sd, over rows";
    const far_result_column columns[] = {{NULL, what, NULL},
                                         {NULL, "5%", "%10.4g"},
                                         {NULL, "median", "%10.4g"},
                                         {NULL, "95%", "%10.4g"}};
    far_result_table(r, NULL, "Standard deviations of the outputs, quantiles over the rows.",
                     columns, 4);
    add_spread(r, j->scored, &j->spread_in);
    if (j->ood.name) {
        add_spread(r, &j->ood, &j->spread_out);
    }
}

static void list_spread(far_result *r, const char *key, const spread_of *s)
{
    far_result_open(r, key);
    far_result_number(r, "low", s->low, NULL, NULL);
    far_result_number(r, "median", s->median, NULL, NULL);
    far_result_number(r, "high", s->high, NULL, NULL);
    far_result_close(r);
}

static void tell_scores(far_result *r, const laplace_job *j)
{
    far_result_text(r, "scored", role_of(j), NULL, NULL);
    far_result_count(r, "scored_rows", j->scored->x.rows, NULL, NULL);
    list_scores(r, j, "map", &j->forms[FORM_MAP]);
    list_scores(r, j, "laplace", &j->forms[FORM_MINE]);
    list_scores(r, j, "paper", &j->forms[FORM_PAPER]);
    list_spread(r, "sd", &j->spread_in);
    if (j->ood.name) {
        far_result_count(r, "ood_rows", j->ood.x.rows, NULL, NULL);
        list_spread(r, "sd_ood", &j->spread_out);
    }
    tell_table(r, j);
    if (!is_scored(j)) {
        far_result_say(r, NULL, "%s has no targets: predicted, not scored", j->scored->name);
    }
    tell_spreads(r, j);
}

int laplace_tell(laplace_job *j)
{
    far_laplace_info i = far_laplace_describe(j->posterior);
    report out;
    int code = report_begin(&j->s, &j->args.common, "How sure a network is", &out);
    far_result *r = out.result;
    tell_network(r, j, &i);
    if (i.method == FAR_LAPLACE_ELLA) {
        tell_features(r, j, &i);
    } else {
        tell_system(r, &i);
    }
    tell_prior(r, j, &i);
    tell_scores(r, j);
    if (j->args.output) {
        far_result_text(r, "written", j->args.output, NULL, NULL);
        far_result_say(r, NULL, "%lld predictions in %s", (long long)j->scored->x.rows,
                       j->args.output);
    }
    return report_end(&out, code);
}

/* ---- a file of predictions ----------------------------------------------------------------- */

/* Columns in the making, and the numbers behind them. */
typedef struct page {
    result_column *columns;
    int64_t count;
    far_mat numbers; /* rows x what the columns need */
    const char **labels;
    bool whole; /* 0: memory was short */
} page;

/* The next column, to be filled; NULL: none. */
static double *add_column(page *p, const char *before, const char *name, const char *after)
{
    result_column *c = &p->columns[p->count];
    *c = (result_column){.values = p->numbers, .col = p->count};
    if (asprintf(&c->name, "%s%s%s", before, name, after) < 0) {
        c->name = NULL;
        p->whole = false;
        return NULL;
    }
    return (double *)p->numbers.data + p->count++;
}

static double variance_at(const laplace_job *j, int64_t i, int64_t k)
{
    const far_mat *c = &j->forms[FORM_MINE].in.covariance;
    return fmax(mat_get(c, i * j->info.outputs + k, k), 0);
}

static const char *class_name(const laplace_job *j, int64_t k)
{
    static char number[24];
    far_columns_info c = far_columns_describe(far_net_describe(j->net).columns);
    snprintf(number, sizeof number, "%lld", (long long)k);
    return c.class_names ? c.class_names[k] : number;
}

/* class, p_LABEL for each. */
static void add_classes(const laplace_job *j, page *p)
{
    far_mat m = j->forms[FORM_MINE].in.probability;
    bool named = far_columns_describe(far_net_describe(j->net).columns).task == FAR_TASK_CLASSIFY;
    double *best = add_column(p, "", "class", "");
    p->columns[0].words = named ? p->labels : NULL;
    for (int64_t k = 0; k < m.cols; k++) {
        double *out = add_column(p, "p_", class_name(j, k), "");
        p->labels[k] = named ? class_name(j, k) : NULL;
        for (int64_t i = 0; best && out && i < m.rows; i++) {
            int64_t at = i * p->numbers.cols;
            out[at] = mat_get(&m, i, k);
            best[at] = k == 0 || out[at] > mat_get(&m, i, (int64_t)best[at]) ? (double)k : best[at];
        }
    }
}

/* NAME and NAME_std of each output; a regression has NAME_std_y, with the noise, behind them. */
static void add_outputs(const laplace_job *j, page *p)
{
    bool classes = laplace_classifies(j);
    far_scaling s = far_columns_describe(far_net_describe(j->net).columns).scaling;
    for (int64_t k = 0; k < j->info.outputs; k++) {
        int64_t second = laplace_classes(j) - j->info.outputs;
        const char *name =
            classes ? class_name(j, second + k)
                    : far_columns_describe(far_net_describe(j->net).columns).output_names[k];
        double *mean = add_column(p, classes ? "score_" : "", name, "");
        double *std = add_column(p, classes ? "score_" : "", name, "_std");
        double *both = classes ? std : add_column(p, "", name, "_std_y");
        double scale = output_scale(j, k);
        for (int64_t i = 0; mean && std && both && i < j->mean.rows; i++) {
            int64_t at = i * p->numbers.cols;
            double noise = classes ? 0 : j->opts.noise;
            mean[at] = mat_get(&s.output_centre, 0, k) + scale * mat_get(&j->mean, i, k);
            both[at] = scale * sqrt(variance_at(j, i, k) + noise);
            std[at] = scale * sqrt(variance_at(j, i, k));
        }
    }
}

static int page_open(const laplace_job *j, page *p)
{
    int64_t classes = laplace_classifies(j) ? laplace_classes(j) : 0;
    int64_t most = 3 * j->info.outputs + classes + 1;
    p->whole = true;
    p->columns = calloc((size_t)most, sizeof *p->columns);
    p->labels = calloc((size_t)classes + 1, sizeof *p->labels);
    int code = p->columns && p->labels ? EXIT_DONE : failure(j->s.verb, "out of memory");
    return code == EXIT_DONE
               ? matrix_alloc(j->s.verb, j->scored->x.rows, most, FAR_F64, &p->numbers)
               : code;
}

int laplace_write(laplace_job *j)
{
    page p = {0};
    int code = page_open(j, &p);
    if (code == EXIT_DONE) {
        if (laplace_classifies(j)) {
            add_classes(j, &p);
        }
        add_outputs(j, &p);
        code = p.whole ? columns_write(j->s.verb, j->s.ctx, p.columns, p.count, p.numbers.rows,
                                       "prediction", j->args.output)
                       : failure(j->s.verb, "out of memory");
    }
    for (int64_t k = 0; k < p.count; k++) {
        free(p.columns[k].name);
    }
    free(p.columns);
    free(p.labels);
    free(p.numbers.data);
    return code;
}
