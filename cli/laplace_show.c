/* What a Laplace approximation says: a table, JSON, a file of predictions. */
#define _GNU_SOURCE
#include "files.h"
#include "json.h"
#include "laplace_job.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_WIDTH = 15 };

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
    far_scaling s = far_net_scaling(j->net);
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

static void print_label(const char *label)
{
    print("%-*s", LABEL_WIDTH, label);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_network(const laplace_job *j)
{
    print_label("network");
    print("%s\n", far_net_text(j->net));
    print_label("");
    print("%lld parameters, %lld input%s, %lld output%s%s\n", (long long)j->info.parameters,
          (long long)j->info.inputs, plural(j->info.inputs), (long long)j->info.outputs,
          plural(j->info.outputs), j->info.linearized ? ", linearised" : "");
    print_label("likelihood");
    print("%s%s\n", LIKELIHOODS[j->opts.likelihood],
          j->args.likelihood == LIKELIHOOD_AUTO ? ", as it was trained" : "");
    if (!laplace_classifies(j)) {
        print_label("noise");
        print("%.6g%s (%s)\n", raw_noise(j), unit_of(j), j->noise_from);
    }
}

static void print_rows(const laplace_job *j)
{
    print_label("rows");
    print("%lld of %s to fit\n", (long long)j->train.x.rows, j->train.name);
    if (j->val.name) {
        print_label("");
        print("%lld of %s to choose%s\n", (long long)j->val.x.rows, j->val.name,
              j->args.val ? "" : ", not used to fit (the network may have been trained on them)");
    }
}

/* The landmarks may give fewer features than were asked for. */
static void print_rank_given(const laplace_job *j, int64_t rank)
{
    int64_t asked = j->args.rank;
    const char *origin = j->args.rank_given ? "given" : "the default: not validated";
    if (asked == rank) {
        print(", %s\n", origin);
    } else if (asked == 0) {
        puts(", all that the landmarks give");
    } else {
        print(", all that the landmarks give (%lld %s)\n", (long long)asked,
              j->args.rank_given ? "asked for" : "is the default");
    }
}

static void print_posterior(const laplace_job *j, const far_laplace_info *i)
{
    print_label("posterior");
    if (i->method == FAR_LAPLACE_EXACT) {
        print("exact, a system of side %lld (%s)\n", (long long)i->side,
              i->system == FAR_LAPLACE_PARAMETERS ? "parameters" : "rows times outputs");
        return;
    }
    print("ELLA, %lld landmarks, %s\n", (long long)i->landmarks,
          i->residual_prior ? "with the prior of what is no feature"
                            : "as in the paper, without the prior of what is no feature");
    print_label("K");
    print("%lld features", (long long)i->rank);
    if (j->chosen_rank) {
        print(", chosen of up to %lld%s\n", (long long)j->rank_tried,
              i->rank == j->rank_tried ? ": the most there were" : "");
    } else {
        print_rank_given(j, i->rank);
    }
}

static void print_prior(const laplace_job *j, const far_laplace_info *i)
{
    print_label("s0^2");
    print("%.6g", i->prior);
    if (j->chosen_prior) {
        print(", chosen%s\n",
              j->choice.edge ? ", at the end of the grid: a wider one may do better" : "");
    } else {
        puts(j->args.prior_given ? ", given" : ", the default: not validated");
    }
    print_label("effective");
    print("%.6g parameters that the data decide\n", i->effective);
}

/* ---- the table ----------------------------------------------------------------------------- */

static const char *form_name(const laplace_job *j, form f)
{
    bool exact = j->args.exact;
    return f == FORM_MAP                      ? "MAP"
           : f == FORM_PAPER || j->args.paper ? "paper's"
           : exact                            ? "exact"
                                              : "ELLA";
}

static void print_number(double value)
{
    if (isnan(value)) {
        print("  %10s", "-");
    } else {
        print("  %10.5g", value);
    }
}

typedef double (*pick_fn)(const laplace_job *j, const verdicts *v);

static void print_line(const laplace_job *j, const char *name, pick_fn pick)
{
    print("%-22s", name);
    for (int f = 0; f < FORMS; f++) {
        if (j->forms[f].computed) {
            print_number(pick(j, &j->forms[f]));
        }
    }
    putchar('\n');
}

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

static void print_scores(const laplace_job *j)
{
    if (laplace_classifies(j)) {
        print_line(j, "NLL", class_nll);
        print_line(j, "Brier", class_brier);
        print_line(j, "ECE, 15 bins", class_ece);
        print_line(j, "accuracy", class_accuracy);
    } else {
        print_line(j, "NLL", gauss_nll);
        print_line(j, *unit_of(j) ? "RMSE, standardised" : "RMSE", gauss_rmse);
        print_line(j, "coverage of 95%", gauss_coverage);
    }
}

static void print_table(const laplace_job *j)
{
    print("\n%-22s", "");
    for (int f = 0; f < FORMS; f++) {
        if (j->forms[f].computed) {
            print("  %10s", form_name(j, (form)f));
        }
    }
    print("  %lld %s rows of %s\n", (long long)j->scored->x.rows, role_of(j), j->scored->name);
    if (is_scored(j)) {
        print_scores(j);
    } else {
        print("%s has no targets: predicted, not scored\n", j->scored->name);
    }
    if (j->ood.name) {
        if (laplace_classifies(j)) {
            print_line(j, "AUROC by entropy", auroc_entropy);
        }
        print_line(j, "AUROC by variance", auroc_variance);
    }
}

static void print_spread(const char *name, const spread_of *s)
{
    print("%-22s  %10.4g  %10.4g  %10.4g\n", name, s->low, s->median, s->high);
}

static void print_spreads(const laplace_job *j)
{
    print("\n%-22s  %10s  %10s  %10s  over rows\n",
          laplace_classifies(j) ? "sd of the logits"
          : *unit_of(j)         ? "sd, standardised"
                                : "sd",
          "5%", "median", "95%");
    print_spread(j->scored->name, &j->spread_in);
    if (j->ood.name) {
        print_spread(j->ood.name, &j->spread_out);
    }
}

void laplace_print(const laplace_job *j)
{
    far_laplace_info i = far_laplace_describe(j->posterior);
    print_network(j);
    print_rows(j);
    print_posterior(j, &i);
    print_prior(j, &i);
    print_table(j);
    print_spreads(j);
    if (j->args.output) {
        print("\n%lld predictions in %s\n", (long long)j->scored->x.rows, j->args.output);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_maybe(const char *key, double value)
{
    if (isnan(value)) {
        json_null_field(stdout, key);
    } else {
        json_number_field(stdout, key, value);
    }
}

static double validation_nll(const laplace_job *j)
{
    bool chosen = j->chosen_prior || j->chosen_rank;
    return !chosen ? NAN : laplace_classifies(j) ? j->choice.nll : raw_nll(j, j->choice.nll);
}

static void json_posterior(const laplace_job *j, const far_laplace_info *i)
{
    bool ella = i->method == FAR_LAPLACE_ELLA;
    json_text_field(stdout, "method", ella ? "ella" : "exact");
    if (ella) {
        json_number_field(stdout, "landmarks", (double)i->landmarks);
        json_number_field(stdout, "rank", (double)i->rank);
        json_number_field(stdout, "rank_tried", (double)j->rank_tried);
        json_bool_field(stdout, "rank_chosen", j->chosen_rank);
        json_bool_field(stdout, "residual_prior", i->residual_prior);
    }
    json_number_field(stdout, "side", (double)i->side);
    json_number_field(stdout, "prior", i->prior);
    json_bool_field(stdout, "prior_chosen", j->chosen_prior);
    json_bool_field(stdout, "prior_at_edge", j->chosen_prior && j->choice.edge);
    json_maybe("validation_nll", validation_nll(j));
    json_number_field(stdout, "effective", i->effective);
    if (!laplace_classifies(j)) {
        json_number_field(stdout, "noise", raw_noise(j));
    }
}

static void json_scores(const laplace_job *j, const verdicts *v)
{
    if (is_scored(j) && laplace_classifies(j)) {
        json_number_field(stdout, "nll", v->classes.nll);
        json_number_field(stdout, "brier", v->classes.brier);
        json_number_field(stdout, "ece", v->classes.ece);
        json_number_field(stdout, "accuracy", v->classes.accuracy);
    } else if (is_scored(j)) {
        json_number_field(stdout, "nll", gauss_nll(j, v));
        json_number_field(stdout, "rmse", gauss_rmse(j, v));
        json_number_field(stdout, "coverage", v->gauss.coverage);
    }
    json_maybe("auroc_entropy", v->by_entropy);
    json_maybe("auroc_variance", v->by_variance);
}

static void json_form(const laplace_job *j, const char *key, const verdicts *v)
{
    if (v->computed) {
        json_key(stdout, key);
        json_begin(stdout);
        json_scores(j, v);
        json_close(stdout);
    }
}

static void json_spread(const char *key, const spread_of *s)
{
    json_key(stdout, key);
    json_begin(stdout);
    json_number_field(stdout, "low", s->low);
    json_number_field(stdout, "median", s->median);
    json_number_field(stdout, "high", s->high);
    json_close(stdout);
}

void laplace_print_json(const laplace_job *j)
{
    far_laplace_info i = far_laplace_describe(j->posterior);
    json_begin(stdout);
    json_text_field(stdout, "net", j->args.net);
    json_text_field(stdout, "arch", far_net_text(j->net));
    json_number_field(stdout, "parameters", (double)i.parameters);
    json_text_field(stdout, "likelihood", LIKELIHOODS[i.likelihood]);
    json_number_field(stdout, "rows", (double)i.rows);
    json_number_field(stdout, "validation_rows", (double)j->val.x.rows);
    json_posterior(j, &i);
    json_text_field(stdout, "scored", role_of(j));
    json_number_field(stdout, "scored_rows", (double)j->scored->x.rows);
    json_form(j, "map", &j->forms[FORM_MAP]);
    json_form(j, "laplace", &j->forms[FORM_MINE]);
    json_form(j, "paper", &j->forms[FORM_PAPER]);
    json_spread("sd", &j->spread_in);
    if (j->ood.name) {
        json_number_field(stdout, "ood_rows", (double)j->ood.x.rows);
        json_spread("sd_ood", &j->spread_out);
    }
    if (j->args.output) {
        json_text_field(stdout, "written", j->args.output);
    }
    json_end(stdout);
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
    const char *name = far_columns_class(far_net_columns(j->net), k);
    snprintf(number, sizeof number, "%lld", (long long)k);
    return name ? name : number;
}

/* class, p_LABEL for each. */
static void add_classes(const laplace_job *j, page *p)
{
    far_mat m = j->forms[FORM_MINE].in.probability;
    bool named = far_columns_describe(far_net_columns(j->net)).task == FAR_TASK_CLASSIFY;
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
    far_scaling s = far_net_scaling(j->net);
    for (int64_t k = 0; k < j->info.outputs; k++) {
        int64_t second = laplace_classes(j) - j->info.outputs;
        const char *name =
            classes ? class_name(j, second + k) : far_columns_output(far_net_columns(j->net), k);
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
