/* What a fit gave: fit diagnostics, candidates, pictures. */
#include "columns_show.h"
#include "explain.h"
#include "files.h"
#include "fitting.h"
#include "metric_show.h"
#include "report_far.h"
#include "report_verbs.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NETWORKS = 24, MOST_ROWS = 2000, MOST_CLASSES = 20 };
#define SURE 2.0 /* standard errors */

/* ---- sentences ----------------------------------------------------------------------------- */

/* At the edge, larger is worse: log loss of classes, else what is left unexplained; NAN: unknown.
 */
static double edge_loss(const far_candidate *c)
{
    return isnan(c->edge_log_loss) ? 1 - c->edge_r2 : c->edge_log_loss;
}

/* The bounded network that was chosen and the unbounded one that predicts the edge best, if that is
 * better by more than chance. */
static bool bounds_cost(const far_model_info *i, far_candidate *chosen, far_candidate *other)
{
    *chosen = *other = (far_candidate){.edge_r2 = NAN, .edge_log_loss = NAN, .edge_doubt = NAN};
    for (int64_t k = 0; k < i->candidate_count; k++) {
        far_candidate c = i->candidates[k];
        if (c.chosen) {
            *chosen = c;
        } else if (!c.bounded && !(edge_loss(&c) >= edge_loss(other))) {
            *other = c;
        }
    }
    return chosen->bounded && edge_loss(chosen) - edge_loss(other) > SURE * other->edge_doubt;
}

/* "R2 0.32 without a norm, 0.07 with" */
static void say_cost(const far_candidate *chosen, const far_candidate *other, char *out,
                     size_t size)
{
    bool classes = !isnan(other->edge_log_loss);
    snprintf(out, size, "%s %.2f without a norm, %.2f with", classes ? "log loss" : "R2",
             classes ? other->edge_log_loss : other->edge_r2,
             classes ? chosen->edge_log_loss : chosen->edge_r2);
}

static const char *left_out(const far_model_info *i)
{
    return i->held_out > 0 ? "held-out" : "leave-one-out";
}

static void tell_verdicts(far_result *r, const far_model_info *i)
{
    int64_t count = i->candidate_count;
    far_candidate chosen, other;
    far_result_for(r, FAR_FOR_PAGE);
    if (i->task == FAR_TASK_CLASSIFY) {
        far_result_verdict(r, FAR_TONE_PLAIN,
                           "%lld rows, %lld inputs: %s accuracy %.4g, log loss %.4g "
                           "(training accuracy %.4g).",
                           (long long)i->trained_rows, (long long)i->inputs, left_out(i),
                           i->loo_accuracy, i->loo_log_loss, i->accuracy_train);
    } else {
        far_result_verdict(r, FAR_TONE_PLAIN,
                           "%lld rows, %lld inputs: %s R^{2} %.4g, RMSE %.4g (training "
                           "R^{2} %.4g).",
                           (long long)i->trained_rows, (long long)i->inputs, left_out(i), i->loo_r2,
                           i->loo_rmse, i->r2_train);
    }
    if (!i->converged) {
        far_result_verdict(r, FAR_TONE_BAD,
                           "It has not converged: the residual is %.2g, not %.2g. This is not the "
                           "fit that was asked for.",
                           i->residual, i->tolerance);
    }
    for (int64_t k = 0; k < count; k++) {
        far_candidate c = i->candidates[k];
        if (c.chosen || count == 1) {
            far_result_verdict(r, c.bounded ? FAR_TONE_GOOD : FAR_TONE_BAD, "%s",
                               c.bounded ? "Its kernel is bounded: predictions cannot run away "
                                           "(farfield certify tells by how much)."
                                         : "Its kernel is not bounded: nothing keeps predictions "
                                           "from running away (farfield certify tells where to).");
        }
    }
    if (bounds_cost(i, &chosen, &other)) {
        char words[96];
        say_cost(&chosen, &other, words, sizeof words);
        far_result_verdict(r, FAR_TONE_BAD,
                           "Boundedness costs accuracy at the edge of the data: %s.", words);
    }
    if (i->conflicts > 0) {
        far_result_verdict(r, FAR_TONE_BAD,
                           "%lld rows have the inputs of another row but other targets: no "
                           "function meets both.",
                           (long long)i->conflicts);
    }
    far_result_for(r, FAR_FOR_ALL);
}

/* ---- facts --------------------------------------------------------------------------------- */

static const char *word_of(const char *list, int index)
{
    static char buffer[16];
    return choice_word(list, index, buffer, sizeof buffer);
}

/* loo_r2, or of rows that were held out together held_out_r2: what people are not shown. */
static void tell_left_out(far_result *r, const far_model_info *i, const char *name, double value)
{
    char key[40], other[40];
    bool held = i->held_out > 0;
    snprintf(key, sizeof key, "%s_%s", held ? "held_out" : "loo", name);
    snprintf(other, sizeof other, "loo_%s", name);
    far_result_number(r, key, value, NULL, NULL);
    if (held) {
        far_result_missing(r, other, "no factor was made; see held_out", NULL);
    }
}

/* The headline: how good it is on rows that it has not seen, then on those that it has. */
static void tell_scores(far_result *r, const far_model_info *i)
{
    char rows[96] = "";
    bool held = i->held_out > 0;
    if (held) {
        snprintf(rows, sizeof rows, "; %lld rows, predicted by a fit of the others",
                 (long long)i->held_out);
    } else if (i->loo_rows < i->rows) {
        snprintf(rows, sizeof rows, "; %lld of the rows, each predicted from all others",
                 (long long)i->loo_rows);
    }
    if (i->task == FAR_TASK_CLASSIFY) {
        far_result_number(r, NULL, i->loo_accuracy, held ? "held-out acc." : "LOO accuracy",
                          "%.4g (log loss %.4g, Brier %.4g, ECE %.4g%s)", i->loo_accuracy,
                          i->loo_log_loss, i->loo_brier, i->loo_ece, rows);
        tell_left_out(r, i, "accuracy", i->loo_accuracy);
        tell_left_out(r, i, "log_loss", i->loo_log_loss);
        tell_left_out(r, i, "brier", i->loo_brier);
        tell_left_out(r, i, "ece", i->loo_ece);
        far_result_number(r, "accuracy_train", i->accuracy_train, "train accuracy",
                          "%.4g (log loss %.4g)", i->accuracy_train, i->log_loss_train);
        far_result_number(r, "log_loss_train", i->log_loss_train, NULL, NULL);
        far_result_number(r, "temperature", i->temperature, NULL, NULL);
    } else {
        far_result_number(r, NULL, i->loo_r2, held ? "held-out R2" : "LOO R2", "%.4g (RMSE %.4g%s)",
                          i->loo_r2, i->loo_rmse, rows);
        tell_left_out(r, i, "r2", i->loo_r2);
        tell_left_out(r, i, "rmse", i->loo_rmse);
    }
    bool numbers = i->task == FAR_TASK_REGRESS;
    far_result_number(r, "r2_train", i->r2_train, numbers ? "train R2" : NULL, "%.4g (RMSE %.4g)",
                      i->r2_train, i->rmse_train);
    if (numbers) {
        far_result_number(r, "rmse_train", i->rmse_train, NULL, NULL);
    }
    far_result_count(r, held ? "held_out_rows" : "loo_rows", i->loo_rows, NULL, NULL);
}

/* How the system was solved, unless by its factor. */
static void tell_method(far_result *r, const far_model_info *i)
{
    bool cg = i->method == FAR_METHOD_CG;
    far_result_text(r, "method", word_of(METHOD_LIST, i->method), NULL, NULL);
    if (i->method == FAR_METHOD_EXACT) {
        return;
    }
    far_result_count(r, "landmarks", i->landmarks, NULL, NULL);
    far_result_number(r, "landmarks_miss", i->landmarks_miss, NULL, NULL);
    if (cg) {
        far_result_count(r, "iterations", i->iterations, "method",
                         "conjugate gradients: %lld iterations, preconditioned by %lld landmarks",
                         (long long)i->iterations, (long long)i->landmarks);
        far_result_number(r, "tolerance", i->tolerance, NULL, NULL);
        if (i->ridge_raised > 1) {
            far_result_number(r, "ridge_raised", i->ridge_raised, "",
                              "the ridge is %g times the one that was chosen, with which they did "
                              "not converge",
                              i->ridge_raised);
        }
        far_result_flag(r, "converged", i->converged, i->converged ? NULL : "CAUTION",
                        "not converged: the residual is above the tolerance %.2g; this is not the "
                        "fit that was asked for (a larger --ridge, more --landmarks)",
                        i->tolerance);
    } else {
        far_result_say(
            r, "method",
            "landmarks alone (nystrom): they miss %.2g of the trace of the kernel matrix",
            i->landmarks_miss);
    }
}

static void tell_matrix(far_result *r, const far_model_info *i)
{
    bool solved = !isnan(i->condition);
    far_result_number(r, "ridge", i->ridge, "ridge", "%.4g (%.4g of the mean diagonal %.4g%s)",
                      i->ridge, i->ridge_relative, i->mean_diagonal,
                      i->noise_free ? "; the noise-free limit: the data are interpolated" : "");
    far_result_flag(r, "noise_free", i->noise_free, NULL, NULL);
    far_result_number(r, "ridge_relative", i->ridge_relative, NULL, NULL);
    far_result_number(r, "mean_diagonal", i->mean_diagonal, NULL, NULL);
    far_result_number(r, "residual", i->residual, "residual", "%.2g", i->residual);
    tell_method(r, i);
    if (i->method != FAR_METHOD_EXACT) {
        far_result_missing(r, "condition", "no factor was made", NULL);
    } else if (solved) {
        far_result_number(r, "condition", i->condition, "condition",
                          "%.4g (lambda_min %.4g, lambda_max %.4g)", i->condition, i->lambda_min,
                          i->lambda_max);
    } else {
        far_result_number(r, "condition", i->condition, "condition", "not computed (--extremes)");
    }
    far_result_number(r, "lambda_min", i->lambda_min, NULL, NULL);
    far_result_number(r, "lambda_max", i->lambda_max, NULL, NULL);
    far_result_number(r, "log_det", i->log_det, NULL, NULL);
}

/* With the architecture given only the ridge was chosen. */
static void tell_choice(far_result *r, const far_model_info *i)
{
    if (i->candidate_count != 1) {
        return;
    }
    far_candidate c = i->candidates[0];
    if (isfinite(c.log_likelihood)) {
        far_result_say(r, "log lik/row", "%.4g", c.log_likelihood);
    } else { /* targets that do not vary are as likely as one likes */
        far_result_say(r, "log lik/row", "none: the targets do not vary");
    }
}

static void tell_duplicates(far_result *r, const far_model_info *i)
{
    long long twins = (long long)i->duplicates, torn = (long long)i->conflicts;
    const char *repeat = twins == 1 ? "row repeats" : "rows repeat";
    if (twins == 0) {
        far_result_count(r, "duplicates", 0, "duplicates", "none");
    } else if (torn == 0) {
        far_result_count(r, "duplicates", i->duplicates, "duplicates",
                         "%lld %s the inputs of an earlier row, with the same targets", twins,
                         repeat);
    } else {
        far_result_count(r, "duplicates", i->duplicates, "duplicates",
                         "%lld %s the inputs of an earlier row, %lld with other targets", twins,
                         repeat, torn);
    }
    far_result_count(r, "conflicts", i->conflicts, NULL, NULL);
}

static void tell_cost(far_result *r, const far_model_info *i)
{
    char size[SHOW_BYTES];
    const char *storage = i->method != FAR_METHOD_EXACT      ? "tile"
                          : i->storage == FAR_STORAGE_PACKED ? "packed"
                                                             : "full";
    far_result_open(r, "seconds");
    far_result_number(r, "total", i->seconds_total, "time",
                      "%.2f s (choose %.2f, fill %.2f, factor %.2f, solve %.2f)", i->seconds_total,
                      i->seconds_choose, i->seconds_fill, i->seconds_factor, i->seconds_solve);
    far_result_number(r, "choose", i->seconds_choose, NULL, NULL);
    far_result_number(r, "fill", i->seconds_fill, NULL, NULL);
    far_result_number(r, "factor", i->seconds_factor, NULL, NULL);
    far_result_number(r, "solve", i->seconds_solve, NULL, NULL);
    far_result_close(r);
    far_result_number(r, "bytes", i->bytes, "memory", "%s, %s storage", show_size(i->bytes, size),
                      storage);
    far_result_text(r, "storage", storage, NULL, NULL);
}

/* "dense ln relu dense behind full x3" (rounds) or "behind tuned diagonal", and apart for JSON. */
static void tell_network(far_result *r, const far_candidate *c)
{
    const char *kind = word_of(METRIC_LIST, (int)c->metric);
    if (c->metric == FAR_METRIC_NONE) {
        far_result_cell_text(r, "%s", c->arch);
    } else if (c->metric_power == 0) {
        far_result_cell_text(r, "%s behind tuned %s", c->arch, kind);
    } else {
        far_result_cell_text(r, "%s behind %s x%d", c->arch, kind, (int)c->metric_rounds);
    }
    far_result_cell_text(r, "%s", c->arch);
    far_result_cell_text(r, "%s", kind);
    far_result_cell(r, c->metric_power);
    far_result_cell(r, c->metric_rounds);
}

static void candidate_cells(far_result *r, const far_model_info *i, int64_t k)
{
    far_candidate c = i->candidates[k], chosen, other;
    bounds_cost(i, &chosen, &other);
    bool barred = !c.bounded && chosen.bounded;
    far_result_cell_text(r, "%lld%s", (long long)k + 1, c.chosen ? " *" : "");
    tell_network(r, &c);
    far_result_cell(r, c.ridge);
    far_result_cell(r, c.loo_log_loss);
    far_result_cell(r, c.loo_r2);
    far_result_cell(r, c.fold_log_loss);
    far_result_cell(r, c.fold_r2);
    far_result_cell(r, c.fold_doubt);
    far_result_cell(r, c.edge_log_loss);
    far_result_cell(r, c.edge_r2);
    far_result_cell(r, c.edge_doubt);
    far_result_cell(r, isfinite(c.log_likelihood) ? c.log_likelihood : NAN);
    far_result_cell_text(r, "%s", c.bounded ? "yes" : barred ? "barred" : "no");
    far_result_cell_flag(r, c.bounded);
    far_result_cell_flag(r, c.chosen);
}

static void tell_candidates(far_result *r, const far_model_info *i)
{
    bool classes = i->task == FAR_TASK_CLASSIFY, mapped = false;
    for (int64_t k = 0; k < i->candidate_count; k++) {
        mapped = mapped || i->candidates[k].metric != FAR_METRIC_NONE;
    }
    const far_result_column columns[] = {
        {NULL, "no.", NULL},
        {NULL, "architecture", NULL},
        {"arch", NULL, NULL},
        {"metric", NULL, NULL},
        {"metric_power", NULL, "%.3g"},
        {"metric_rounds", NULL, "%.0f"},
        {"ridge", "ridge", "%8.3g"},
        {classes ? "loo_log_loss" : NULL, classes ? "LOO loss" : NULL, "%8.4f"},
        {"loo_r2", classes ? NULL : "LOO R2", "%7.4f"},
        {classes ? "fold_log_loss" : NULL, mapped && classes ? "fold loss" : NULL, "%9.4f"},
        {classes ? NULL : "fold_r2", mapped && !classes ? "fold R2" : NULL, "%7.4f"},
        {"fold_doubt", NULL, "%7.4f"},
        {classes ? "edge_log_loss" : NULL, classes ? "edge loss" : NULL, "%9.4f"},
        {"edge_r2", classes ? NULL : "edge R2", "%7.4f"},
        {"edge_doubt", NULL, "%7.4f"},
        {"log_likelihood", NULL, "%11.4f"},
        {NULL, "bounded", NULL},
        {"bounded", NULL, NULL},
        {"chosen", NULL, NULL}};
    int64_t count = i->candidate_count;
    far_candidate chosen, other;
    far_result_for(r, count < 2 ? FAR_FOR_JSON : FAR_FOR_ALL);
    far_result_heading(r, "chosen among");
    far_result_table(r, "candidates",
                     "What it was chosen from (* the one). LOO: leave-one-out, every row predicted "
                     "from the others; of classes the log loss decides. Edge: the outermost tenth "
                     "predicted from the rest, which decides among equals. Fold: rows held out, "
                     "with a metric learnt from the others, which decides whether there is one. "
                     "Unbounded ones are "
                     "chosen with --allow-unbounded only.",
                     columns, sizeof columns / sizeof columns[0]);
    for (int64_t k = 0; k < count; k++) {
        candidate_cells(r, i, k);
    }
    far_result_for(r, FAR_FOR_TEXT);
    if (bounds_cost(i, &chosen, &other)) {
        far_result_line(r, "%s", "");
        char words[96];
        say_cost(&chosen, &other, words, sizeof words);
        far_result_line(r, "boundedness costs accuracy at the edge of the data: %s", words);
        far_result_line(r, "(--allow-unbounded lets such a network be chosen)");
    }
    far_result_for(r, FAR_FOR_ALL);
}

static void show_confusion(far_result *r, const far_model_info *i, const double *counts)
{
    int64_t classes = i->outputs;
    far_result_column columns[MOST_CLASSES + 1] = {{NULL, "truth", NULL}};
    for (int64_t k = 0; k < classes; k++) {
        columns[k + 1] =
            (far_result_column){NULL, far_columns_describe(i->columns).class_names[k], "%.0f"};
    }
    far_result_for(r, FAR_FOR_PAGE);
    far_result_table(r, NULL,
                     i->held_out > 0
                         ? "Confusion matrix, rows held out: by their class, columns by the class "
                           "that the other rows make likeliest."
                         : "Confusion matrix, leave-one-out: rows by their class, columns by the "
                           "class that the other rows make likeliest.",
                     columns, classes + 1);
    for (int64_t k = 0; k < classes; k++) {
        far_result_cell_text(r, "%s", columns[k + 1].head);
        for (int64_t e = 0; e < classes; e++) {
            far_result_cell(r, counts[k * classes + e]);
        }
    }
    far_result_for(r, FAR_FOR_ALL);
}

/* Rows: the truth; columns: the class that the other rows make likeliest. */
static void tell_confusion(far_result *r, const far_model_info *i)
{
    int64_t classes = i->outputs, shape[] = {classes, classes};
    far_mat left = i->loo, y = i->y;
    double *counts = calloc((size_t)(classes * classes), sizeof *counts);
    far_result_check(r, counts ? FAR_OK : FAR_ERR_MEMORY);
    for (int64_t k = 0; counts && k < left.rows; k++) {
        const double *p = (const double *)left.data + k * left.ld;
        const double *truth = (const double *)y.data + k * y.ld;
        if (!isnan(p[0])) {
            counts[place_of_largest(truth, classes) * classes + place_of_largest(p, classes)]++;
        }
    }
    if (counts) {
        far_mat all = far_mat_view(counts, classes, classes, FAR_F64);
        far_result_array(r, "confusion", &all, shape, 2);
    }
    if (counts && classes <= MOST_CLASSES) {
        show_confusion(r, i, counts);
    }
    free(counts);
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* What is left unexplained, which tells good networks apart; NAN where nothing was asked. */
static double unexplained(double r2)
{
    return fmax(1 - r2, 1e-12) + (isnan(r2) ? NAN : 0);
}

static void put_networks(report *r, const far_model_info *i)
{
    char numbers[MOST_NETWORKS][8];
    const char *names[MOST_NETWORKS];
    double place[MOST_NETWORKS], loo[MOST_NETWORKS], edge[MOST_NETWORKS];
    int64_t all = i->candidate_count, count = all < MOST_NETWORKS ? all : MOST_NETWORKS;
    for (int64_t k = 0; k < count; k++) {
        far_candidate c = i->candidates[k];
        snprintf(numbers[k], sizeof numbers[k], "%d%s", (int)k + 1, c.chosen ? " *" : "");
        names[k] = numbers[k];
        place[k] = (double)k;
        loo[k] = unexplained(c.loo_r2);
        edge[k] = unexplained(c.edge_r2);
    }
    if (count < 2) {
        return;
    }
    far_figure_opts o = report_axes("network, as numbered in the table", "1 \xe2\x88\x92 R^{2}");
    o.categories = names;
    o.category_count = count;
    o.y_scale = FAR_SCALE_LOG;
    report_draw(r, &o);
    report_points(r, report_mark("leave-one-out", FAR_COLOUR_NEXT), place, loo, count);
    report_points(r, report_mark("edge", FAR_COLOUR_NEXT), place, edge, count);
    report_place(
        r, "candidates",
        "The networks it was chosen from (* the one): the part of the variance that each "
        "leaves unexplained in rows it was not fitted to, one at a time and at the edge of "
        "the data. Lower is better.");
}

/* The training rows that were left out in raw units, evenly chosen; column k of the targets and
 * what the other rows predict of it. */
typedef struct rows {
    int64_t count;
    double *x, *y, *f;
} rows;

static bool rows_make(report *r, const far_model_info *info, int64_t k, rows *out)
{
    far_mat x = info->x, y = info->y, left = info->loo;
    far_scaling units = far_columns_describe(info->columns).scaling;
    double centre = ((const double *)units.output_centre.data)[k];
    double scale = ((const double *)units.output_scale.data)[k];
    double x_centre = *(const double *)units.input_centre.data;
    double x_scale = *(const double *)units.input_scale.data;
    int64_t step = x.rows / MOST_ROWS + 1, places = x.rows / step + 1;
    *out = (rows){0, calloc((size_t)places, sizeof(double)), calloc((size_t)places, sizeof(double)),
                  calloc((size_t)places, sizeof(double))};
    bool done = out->x && out->y && out->f;
    for (int64_t i = 0; done && i < left.rows; i += step) {
        double f = ((const double *)left.data)[i * left.ld + k];
        if (!isnan(f)) {
            out->x[out->count] = x_centre + x_scale * ((const double *)x.data)[i * x.ld];
            out->y[out->count] = centre + scale * ((const double *)y.data)[i * y.ld + k];
            out->f[out->count++] = f;
        }
    }
    report_check(r, done ? FAR_OK : FAR_ERR_MEMORY);
    return done;
}

static void rows_free(rows *d)
{
    free(d->x);
    free(d->y);
    free(d->f);
}

static void put_agreement(report *r, const char *target, const rows *d)
{
    double ends[] = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < d->count; i++) {
        ends[0] = fmin(ends[0], d->y[i]);
        ends[1] = fmax(ends[1], d->y[i]);
    }
    if (!(ends[1] > ends[0])) {
        return;
    }
    char x[200], y[200];
    snprintf(x, sizeof x, "%s, as in the table", target);
    snprintf(y, sizeof y, "%s, predicted from the other rows", target);
    far_figure_opts o = report_axes(x, y);
    o.width = 560;
    o.height = 480;
    report_draw(r, &o);
    report_points(r, report_mark(NULL, 0), d->y, d->f, d->count);
    report_line(r, report_mark(NULL, FAR_COLOUR_INK), ends, ends, 2);
    report_place(r, "left-out",
                 "Rows that were left out, as the others predict them. On the line they agree.");
}

/* i: of the model, or of a committee's first member, whose rows and columns are those of all. */
static void put_pictures(report *r, const far_predictor *p, const far_model_info *i)
{
    rows d;
    put_networks(r, i);
    metric_draw(r, i);
    if (i->task == FAR_TASK_REGRESS && rows_make(r, i, 0, &d)) {
        one_input v = {&p, 1, d.x, d.y, d.count};
        view_put(r, &v);
        if (far_predictor_model(p)) { /* what is left out here is left out of one member */
            put_agreement(r, far_columns_describe(i->columns).target_names[0], &d);
        }
        rows_free(&d);
    }
    if (far_predictor_model(p)) {
        explain_fit(r, p);
    }
}

/* ---- one network --------------------------------------------------------------------------- */

static void tell_model(far_result *r, const far_model_info *i, const char *path)
{
    tell_verdicts(r, i);
    tell_scores(r, i);
    far_result_count(r, "n", i->trained_rows, "rows", NULL);
    far_result_count(r, "inputs", i->inputs, "inputs", NULL);
    columns_tell(r, i->columns);
    columns_tell_outputs(r, i->columns);
    far_result_text(r, "arch", i->arch, "architecture", NULL);
    far_result_text(r, "kernel", word_of(KERNEL_LIST, i->kernel), NULL, NULL);
    far_result_text(r, "param", word_of(PARAM_LIST, i->param), NULL, NULL);
    metric_tell(r, i);
    tell_matrix(r, i);
    tell_choice(r, i);
    tell_duplicates(r, i);
    tell_cost(r, i);
    far_result_text(r, "data_hash", far_columns_describe(i->columns).hash, NULL, NULL);
    if (path) {
        far_result_text(r, "model", path, "model", NULL);
    } else {
        far_result_missing(r, "model", "not saved; -o FILE keeps it", "model");
    }
    tell_candidates(r, i);
    if (i->task == FAR_TASK_CLASSIFY && i->loo.rows > 0) {
        tell_confusion(r, i);
    }
}

/* ---- committees ---------------------------------------------------------------------------- */

static void tell_mean_scores(far_result *r, const far_committee_info *c, const far_model_info *i)
{
    bool classes = i->task == FAR_TASK_CLASSIFY;
    far_result_for(r, FAR_FOR_PAGE);
    if (classes) {
        far_result_verdict(r, FAR_TONE_PLAIN,
                           "The mean of %lld networks, %lld rows: leave-one-out accuracy %.4g, log "
                           "loss %.4g.",
                           (long long)c->members, (long long)i->trained_rows, c->loo_accuracy,
                           c->loo_log_loss);
    } else {
        far_result_verdict(r, FAR_TONE_PLAIN,
                           "The mean of %lld networks, %lld rows: leave-one-out R^{2} %.4g, RMSE "
                           "%.4g.",
                           (long long)c->members, (long long)i->trained_rows, c->loo_r2,
                           c->loo_rmse);
    }
    far_result_for(r, FAR_FOR_ALL);
    if (classes) {
        far_result_number(r, "loo_accuracy", c->loo_accuracy, "LOO accuracy",
                          "%.4g (log loss %.4g, Brier %.4g, ECE %.4g)", c->loo_accuracy,
                          c->loo_log_loss, c->loo_brier, c->loo_ece);
        far_result_number(r, "loo_log_loss", c->loo_log_loss, NULL, NULL);
        far_result_number(r, "loo_brier", c->loo_brier, NULL, NULL);
        far_result_number(r, "loo_ece", c->loo_ece, NULL, NULL);
    } else {
        far_result_number(r, "loo_r2", c->loo_r2, "LOO R2", "%.4g (RMSE %.4g)", c->loo_r2,
                          c->loo_rmse);
        far_result_number(r, "loo_rmse", c->loo_rmse, NULL, NULL);
    }
    far_result_count(r, "loo_rows", c->loo_rows, NULL, NULL);
}

static void tell_members(far_result *r, const far_predictor *p, int64_t count)
{
    bool classes = far_predictor_model(far_predictor_member(p, 0))->task == FAR_TASK_CLASSIFY;
    const far_result_column columns[] = {
        {NULL, "no.", NULL},
        {"arch", "architecture", NULL},
        {"metric", "metric", NULL},
        {"ridge_relative", "ridge", "%8.3g"},
        {"residual", NULL, "%8.2g"},
        {classes ? "loo_log_loss" : "loo_r2", classes ? "LOO loss" : "LOO R2", "%8.4f"}};
    far_result_heading(r, "members");
    far_result_table(r, "members",
                     "The networks whose mean it is: each with its metric, its ridge (relative to "
                     "the mean diagonal of its kernel), and rows left out of it alone.",
                     columns, sizeof columns / sizeof columns[0]);
    for (int64_t k = 0; k < count; k++) {
        const far_model_info *i = far_predictor_model(far_predictor_member(p, k));
        far_result_cell_text(r, "%lld", (long long)k + 1);
        far_result_cell_text(r, "%s", i->arch);
        far_result_cell_text(r, "%s", word_of(METRIC_LIST, (int)i->metric.kind));
        far_result_cell(r, i->ridge_relative);
        far_result_cell(r, i->residual);
        far_result_cell(r, classes ? i->loo_log_loss : i->loo_r2);
    }
}

/* Of all members. */
static void tell_total_cost(far_result *r, const far_predictor *p, int64_t count)
{
    double total = 0, choose = far_predictor_model(far_predictor_member(p, 0))->seconds_choose;
    for (int64_t k = 0; k < count; k++) {
        total += far_predictor_model(far_predictor_member(p, k))->seconds_total;
    }
    far_result_open(r, "seconds");
    far_result_number(r, "total", total, "time", "%.2f s (choose %.2f)", total, choose);
    far_result_number(r, "choose", choose, NULL, NULL);
    far_result_close(r);
}

static void tell_committee(far_result *r, const far_predictor *p, const char *path)
{
    far_committee_info c = far_predictor_committee_describe(p);
    const far_model_info *first = far_predictor_model(far_predictor_member(p, 0));
    far_result_text(r, "kind", "committee", NULL, NULL);
    tell_mean_scores(r, &c, first);
    far_result_count(r, "n", first->trained_rows, "rows", NULL);
    far_result_count(r, "inputs", first->inputs, "inputs", NULL);
    columns_tell(r, first->columns);
    columns_tell_outputs(r, first->columns);
    far_result_count(r, "committee", c.members, "committee", "the mean of %lld networks",
                     (long long)c.members);
    far_result_text(r, "kernel", word_of(KERNEL_LIST, first->kernel), NULL, NULL);
    far_result_text(r, "param", word_of(PARAM_LIST, first->param), NULL, NULL);
    tell_duplicates(r, first);
    tell_total_cost(r, p, c.members);
    far_result_text(r, "data_hash", far_columns_describe(first->columns).hash, NULL, NULL);
    if (path) {
        far_result_text(r, "model", path, "model", NULL);
    } else {
        far_result_missing(r, "model", "not saved; -o FILE keeps it", "model");
    }
    tell_members(r, p, c.members);
    tell_candidates(r, first);
}

/* ---- the whole ----------------------------------------------------------------------------- */

int fit_tell(session *s, const common_args *a, const far_predictor *p, const char *data,
             const char *path)
{
    char title[512];
    report out;
    int64_t members = far_predictor_committee_describe(p).members;
    const far_model_info *i = far_predictor_model(members > 0 ? far_predictor_member(p, 0) : p);
    const char *target = far_columns_describe(i->columns).target_names[0];
    if (members > 0) {
        snprintf(title, sizeof title, "%lld infinitely wide networks for %s", (long long)members,
                 target);
    } else {
        snprintf(title, sizeof title, "An infinitely wide network for %s", target);
    }
    int code = report_begin(s, a, title, &out);
    if (members > 0) {
        tell_committee(out.result, p, path);
    } else {
        tell_model(out.result, i, path);
    }
    if (a->report) {
        put_pictures(&out, p, i);
    }
    report_fact(&out, "architecture", "%s%s", i->arch, members > 0 ? " (the first member)" : "");
    report_fact(&out, "data", "%s, SHA-256 of what was used %s", data,
                far_columns_describe(i->columns).hash);
    return report_end(&out, code);
}
