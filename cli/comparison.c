#define _GNU_SOURCE
#include "comparison.h"
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Whether anything but a message is known of it. */
bool comparison_scored(const far_compare_row *r)
{
    return r->state == FAR_COMPARED_OK || r->state == FAR_COMPARED_PARTLY;
}

static double both_seconds(const far_compare_row *r)
{
    return r->seconds_fit + (isnan(r->seconds_predict) ? 0 : r->seconds_predict);
}

/* why: where there is no such number. */
static void put_number(far_result *r, const char *key, double value, const char *why)
{
    if (isnan(value) && why) {
        far_result_missing(r, key, why, NULL);
    } else {
        far_result_number(r, key, value, NULL, NULL);
    }
}

/* What the library said, with the names of flags. */
static void put_message(far_result *r, const char *key, const char *message)
{
    char *text = message ? talk_flags(message) : NULL;
    far_result_text(r, key, text, NULL, NULL);
    free(text);
}

static void put_average(far_result *r, const char *key, far_compare_average a, const char *why,
                        int64_t seeds)
{
    far_result_open(r, key);
    put_number(r, "mean", a.mean, why);
    put_number(r, "ci95", a.ci95, !why && seeds == 1 ? "there is one seed only" : why);
    far_result_close(r);
}

/* {"F1": 0.93, ...} */
static void put_direction(far_result *r, const far_certificate *c, const far_bound *b)
{
    if (!b || !b->direction) {
        far_result_missing(r, "direction", "none", NULL);
        return;
    }
    far_result_open(r, "direction");
    far_certificate_info info = far_certificate_describe(c);
    for (int64_t i = 0; i < info.inputs; i++) {
        far_result_number(r, info.input_names[i], b->direction[i], NULL, NULL);
    }
    far_result_close(r);
}

/* The worst of what is known; NULL: nothing. */
static const far_bound *bound_of(const far_compare_row *row)
{
    return row->certificate ? far_certificate_bound(row->certificate, row->certificate_output)
                            : NULL;
}

static void put_certificate(far_result *r, const far_compare_row *row)
{
    const far_bound *b = bound_of(row);
    const char *why = b ? NULL : "there is no certificate";
    far_result_open(r, "certificate");
    far_result_text(r, "verdict", b ? far_verdict_text(b->verdict) : NULL, NULL, NULL);
    put_number(r, "tightest", b ? b->tightest : NAN, why);
    put_number(r, "sup_found", b && b->verdict == FAR_BOUNDED ? row->found : NAN, why);
    put_number(r, "slope", b ? b->slope : NAN, why);
    put_number(r, "order", b ? b->order : NAN, why);
    put_direction(r, row->certificate, b);
    put_message(r, "reason", row->reason);
    put_number(r, "seed", b ? (double)row->certificate_seed : NAN, why);
    far_result_close(r);
}

/* Of classes. */
static const struct {
    const char *in, *out;
    int place;
} CLASS_SCORES[] = {{"accuracy_in", "accuracy_out", FAR_COMPARE_ACCURACY},
                    {"log_loss_in", "log_loss_out", FAR_COMPARE_LOG_LOSS},
                    {"brier_in", "brier_out", FAR_COMPARE_BRIER},
                    {"ece_in", "ece_out", FAR_COMPARE_ECE}};
enum { CLASS_SCORE_COUNT = sizeof CLASS_SCORES / sizeof CLASS_SCORES[0] };

static void put_class_scores(far_result *r, const far_compare_run *run, const char *why)
{
    for (int i = 0; i < CLASS_SCORE_COUNT; i++) {
        put_number(r, CLASS_SCORES[i].in, run->in[CLASS_SCORES[i].place], why);
        put_number(r, CLASS_SCORES[i].out, run->out[CLASS_SCORES[i].place], why);
    }
}

static void put_run(far_result *r, const far_compare_run *run, bool classes)
{
    static const char *const METRICS[] = {"none", "diagonal", "full"};
    const char *why = run->status == FAR_OK ? NULL : "failed";
    far_result_open(r, NULL);
    far_result_count(r, "seed", (int64_t)run->seed, NULL, NULL);
    far_result_text(r, "arch", run->arch, NULL, NULL);
    far_result_text(r, "metric", METRICS[run->metric], NULL, NULL);
    put_number(r, "ridge", run->ridge, why ? why : "it has none");
    if (classes) {
        put_class_scores(r, run, why);
    } else {
        put_number(r, "r2_in", run->r2_in, why);
        put_number(r, "r2_out", run->r2_out, why);
        put_number(r, "rmse_in", run->rmse_in, why);
        put_number(r, "rmse_out", run->rmse_out, why);
        put_number(r, "max_in", run->max_in, why);
        put_number(r, "max_out", run->max_out, why);
    }
    put_number(r, "seconds_fit", run->seconds_fit, why);
    put_number(r, "seconds_predict", run->seconds_predict, why ? why : "in seconds_fit");
    put_message(r, "error", run->message);
    far_result_close(r);
}

static void put_class_means(far_result *r, const far_compare_row *row, const char *why,
                            int64_t seeds)
{
    for (int i = 0; i < CLASS_SCORE_COUNT; i++) {
        put_average(r, CLASS_SCORES[i].in, row->in[CLASS_SCORES[i].place], why, seeds);
        put_average(r, CLASS_SCORES[i].out, row->out[CLASS_SCORES[i].place], why, seeds);
    }
}

static void put_model(far_result *r, const far_comparison *c, int64_t model, int64_t seeds)
{
    bool classes = far_comparison_describe(c).classes > 0;
    const far_compare_row *row = far_comparison_row(c, model);
    const char *state = row->state_name;
    const char *why = comparison_scored(row) ? NULL : state;
    far_result_open(r, NULL);
    far_result_text(r, "model", row->model, NULL, NULL);
    far_result_text(r, "arch", row->arch, NULL, NULL);
    far_result_text(r, "status", state, NULL, NULL);
    put_message(r, "error", row->message);
    if (classes) {
        put_class_means(r, row, why, seeds);
    } else {
        put_average(r, "r2_in", row->r2_in, why, seeds);
        put_average(r, "r2_out", row->r2_out, why, seeds);
        put_number(r, "rmse_in", row->rmse_in.mean, why);
        put_number(r, "rmse_out", row->rmse_out.mean, why);
        put_number(r, "max_in", row->max_in, why);
        put_number(r, "max_out", row->max_out, why);
    }
    put_number(r, "ridge", row->ridge, why ? why : "it has none");
    put_number(r, "seconds", both_seconds(row), why);
    put_certificate(r, row);
    far_result_open_list(r, "runs");
    for (int64_t i = 0; i < seeds; i++) {
        put_run(r, &far_comparison_row(c, model)->runs[i], classes);
    }
    far_result_close(r);
    far_result_close(r);
}

/* Whether boosted trees are among the models that have scores. */
static bool has_trees(const far_comparison *c)
{
    const far_compare_row *row;
    int64_t i = 0;
    while ((row = far_comparison_row(c, i)) &&
           !(strcmp(row->model, "xgboost") == 0 && comparison_scored(row))) {
        i++;
    }
    return row != NULL;
}

void comparison_tell_xgboost(far_result *r, far_ctx *ctx, const far_comparison *c)
{
    const far_xgboost *found = has_trees(c) ? far_xgboost_find(ctx) : NULL;
    if (found) {
        far_result_open(r, "xgboost");
        far_result_text(r, "version", found->version, NULL, NULL);
        far_result_text(r, "settings", FAR_XGBOOST_SETTINGS, NULL, NULL);
        far_result_close(r);
        far_result_for(r, FAR_FOR_PEOPLE);
        far_result_line(r, "xgboost: version %s, %s.", found->version, FAR_XGBOOST_SETTINGS);
    }
}

static void put_json(far_result *r, const far_comparison *c, const far_comparison_info *i)
{
    far_result_text(r, "target", i->target, NULL, NULL);
    far_result_text(r, "shift", i->shift, NULL, NULL);
    far_result_count(r, "rows_in", i->rows_in, NULL, NULL);
    far_result_count(r, "rows_out", i->rows_out, NULL, NULL);
    far_result_count(r, "train_rows", i->train_rows, NULL, NULL);
    far_result_count(r, "test_rows", i->test_rows, NULL, NULL);
    far_result_count(r, "seeds", i->seeds, NULL, NULL);
    far_result_count(r, "first_seed", (int64_t)i->first_seed, NULL, NULL);
    far_result_text(r, "best", i->best >= 0 ? far_comparison_row(c, i->best)->model : NULL, NULL,
                    NULL);
    far_result_number(r, "largest_in", i->largest_in, NULL, NULL);
    far_result_number(r, "largest_out", i->largest_out, NULL, NULL);
    far_result_number(r, "seconds", i->seconds, NULL, NULL);
    far_result_open_list(r, "rows");
    for (int64_t k = 0; k < i->models; k++) {
        put_model(r, c, k, i->seeds);
    }
    far_result_close(r);
}

/* ---- the table ----------------------------------------------------------------------------- */

/* "0.694 +- 0.004" */
static void put_r2(far_result *r, far_compare_average a)
{
    char half[40] = "";
    if (!isnan(a.ci95)) {
        snprintf(half, sizeof half, a.ci95 < 1000 ? " +- %.3f" : " +- %.4g", a.ci95);
    }
    far_result_cell_words(r, a.mean, fabs(a.mean) < 1000 ? "%.3f%s" : "%.4g%s", a.mean, half);
}

/* The input with the largest part in the direction; *others: whether it is not the only one. */
static const char *main_input(const far_certificate *c, const far_bound *b, bool *others)
{
    int64_t most = 0, count = 0;
    for (int64_t i = 0; i < far_certificate_describe(c).inputs; i++) {
        most = fabs(b->direction[i]) > fabs(b->direction[most]) ? i : most;
        count += b->direction[i] != 0;
    }
    *others = count > 1;
    return far_certificate_describe(c).input_names[most];
}

/* what: "f", or "score" of classes. */
static void put_verdict(far_result *r, const far_compare_row *row, const char *what)
{
    bool others = false;
    const far_bound *b = bound_of(row);
    if (b && b->verdict == FAR_BOUNDED) {
        far_result_cell_text(r, "|%s| <= %.4g", what, far_round_up(b->tightest, 4));
    } else if (b && b->verdict == FAR_UNBOUNDED) {
        const char *input = main_input(row->certificate, b, &others);
        far_result_cell_text(r, "unbounded along %.30s%s", input, others ? ", ..." : "");
    } else {
        far_result_cell_text(r, b ? "undecided" : "-");
    }
}

/* All of one that failed is a dash. */
static void put_row(far_result *r, const far_compare_row *row, bool best)
{
    bool scored = comparison_scored(row);
    far_result_cell_text(r, "%s %s", best ? "*" : " ", row->model);
    put_r2(r, row->r2_in);
    put_r2(r, row->r2_out);
    far_result_cell(r, row->rmse_in.mean);
    far_result_cell(r, row->rmse_out.mean);
    far_result_cell(r, row->max_in);
    far_result_cell(r, row->max_out);
    put_verdict(r, row, "f");
    far_result_cell(r, scored ? both_seconds(row) : NAN);
}

/* Whether that is what is known of its predictions over all inputs. */
static bool judged(const far_compare_row *r, far_verdict verdict)
{
    return comparison_scored(r) && r->certificate && bound_of(r)->verdict == verdict;
}

static void put_note(far_result *r, const far_compare_row *row)
{
    bool open = comparison_scored(row) && row->reason && !judged(row, FAR_BOUNDED) &&
                !judged(row, FAR_UNBOUNDED);
    const char *said = row->message ? row->message : open ? row->reason : NULL;
    char *text = said ? talk_flags(said) : NULL;
    if (row->message) {
        far_result_line(r, "  %s  %s: %s", row->model, row->state_name, text ? text : "");
    } else if (open) {
        far_result_line(r, "%s is not decided: %s", row->model, text ? text : "");
    }
    free(text);
}

static void put_notes(far_result *r, const far_comparison *c, const far_comparison_info *info)
{
    for (int64_t i = 0; i < info->models; i++) {
        put_note(r, far_comparison_row(c, i));
    }
}

static void put_class_table(far_result *r, const far_comparison *c, const far_comparison_info *info)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "  model", NULL},        {NULL, "accuracy in", "%.3f"},
        {NULL, "accuracy out", "%.3f"}, {NULL, "log loss in", "%.3f"},
        {NULL, "log loss out", "%.3f"}, {NULL, "Brier out", "%.3f"},
        {NULL, "ECE out", "%.3f"},      {NULL, "certificate", NULL},
        {NULL, "seconds", "%.2f"}};
    far_result_table(r, NULL,
                     "In range: rows held out at random. Out of range: rows no model was trained "
                     "on. * the least log loss out of range. With several seeds means and 95% "
                     "intervals of the mean; the certificate, of the scores of all classes that "
                     "probabilities are made of, holds for all seeds.",
                     COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int64_t i = 0; i < info->models; i++) {
        const far_compare_row *row = far_comparison_row(c, i);
        far_result_cell_text(r, "%s %s", i == info->best ? "*" : " ", row->model);
        put_r2(r, row->in[FAR_COMPARE_ACCURACY]);
        put_r2(r, row->out[FAR_COMPARE_ACCURACY]);
        put_r2(r, row->in[FAR_COMPARE_LOG_LOSS]);
        put_r2(r, row->out[FAR_COMPARE_LOG_LOSS]);
        far_result_cell(r, row->out[FAR_COMPARE_BRIER].mean);
        far_result_cell(r, row->out[FAR_COMPARE_ECE].mean);
        put_verdict(r, row, "score");
        far_result_cell(r, comparison_scored(row) ? both_seconds(row) : NAN);
    }
    put_notes(r, c, info);
}

static void put_table(far_result *r, const far_comparison *c, const far_comparison_info *info)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "  model", NULL},   {NULL, "R2 in", "%.3f"},     {NULL, "R2 out", "%.3f"},
        {NULL, "RMSE in", "%.4g"}, {NULL, "RMSE out", "%.4g"},  {NULL, "|f| in", "%.4g"},
        {NULL, "|f| out", "%.4g"}, {NULL, "certificate", NULL}, {NULL, "seconds", "%.2f"}};
    far_result_table(r, NULL,
                     "In range: rows held out at random. Out of range: rows no model was trained "
                     "on. |f|: the largest prediction in size. * the best R2 out of range. With "
                     "several seeds means and 95% intervals of the mean; the certificate holds for "
                     "all.",
                     COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int64_t i = 0; i < info->models; i++) {
        put_row(r, far_comparison_row(c, i), i == info->best);
    }
    put_notes(r, c, info);
}

/* ---- words --------------------------------------------------------------------------------- */

typedef far_compare_average (*score_fn)(const far_compare_row *r);

static far_compare_average score_in(const far_compare_row *r)
{
    return r->r2_in;
}

static far_compare_average score_out(const far_compare_row *r)
{
    return r->r2_out;
}

/* The model with the largest mean, but for one (-1: for none); -1 if no other has a mean. */
static int64_t best_but(const far_comparison *c, int64_t models, score_fn score, int64_t except)
{
    int64_t best = -1;
    double most = -INFINITY;
    for (int64_t i = 0; i < models; i++) {
        double mean = score(far_comparison_row(c, i)).mean;
        if (i != except && mean > most) {
            best = i;
            most = mean;
        }
    }
    return best;
}

/* "; best in range: xgboost, R2 0.612, which has 0.310 out of range" */
static void tell_in_range(FILE *out, const far_comparison *c, const far_comparison_info *info)
{
    int64_t other = best_but(c, info->models, score_in, -1);
    if (other < 0) {
        return;
    }
    const far_compare_row *best = far_comparison_row(c, info->best);
    const far_compare_row *r = far_comparison_row(c, other);
    if (other == info->best) {
        fprintf(out, " (%.3f in range, the best there too)", r->r2_in.mean);
    } else {
        fprintf(out, " (%.3f in range); best in range: %s, R2 %.3f, which has %.3f out of range",
                best->r2_in.mean, r->model, r->r2_in.mean, r->r2_out.mean);
    }
}

/* Whether the next best is apart from the best, as far as the intervals tell. */
static void tell_runner_up(FILE *out, const far_comparison *c, const far_comparison_info *info)
{
    int64_t second = best_but(c, info->models, score_out, info->best);
    const far_compare_row *best = far_comparison_row(c, info->best);
    const far_compare_row *next = second >= 0 ? far_comparison_row(c, second) : NULL;
    if (!next || isnan(best->r2_out.ci95) || isnan(next->r2_out.ci95)) {
        return;
    }
    double apart = best->r2_out.mean - next->r2_out.mean;
    bool overlap = apart < best->r2_out.ci95 + next->r2_out.ci95;
    const char *how = overlap ? "overlap" : "do not overlap";
    if (second == best_but(c, info->models, score_in, -1)) { /* it was just named */
        fprintf(out, ", the next there, and the intervals %s", how);
    } else {
        fprintf(out, "; next out of range: %s, %.3f, and the intervals %s", next->model,
                next->r2_out.mean, how);
    }
}

static void tell_undefined(FILE *out, const far_comparison *c, const far_comparison_info *info)
{
    if (best_but(c, info->models, score_in, -1) >= 0) {
        fprintf(out, "R2 out of range is undefined: %s.",
                info->rows_out < 2 ? "there is one row only" : "the truth is the same in all rows");
    }
}

static void tell_best(FILE *out, const far_comparison *c)
{
    far_comparison_info about = far_comparison_describe(c), *info = &about;
    if (info->best < 0) {
        tell_undefined(out, c, info);
        return;
    }
    const far_compare_row *best = far_comparison_row(c, info->best);
    if (!(best->r2_out.mean > 0)) {
        fprintf(out,
                "Out of range every model is worse than the mean of those rows would be (R2 0).");
    }
    fprintf(out, "Best out of range: %s, R2 %.3f", best->model, best->r2_out.mean);
    tell_in_range(out, c, info);
    tell_runner_up(out, c, info);
    fprintf(out, ".");
}

/* How far the predictions went where they were asked. */
static void tell_reach(FILE *out, const far_comparison *c)
{
    far_comparison_info about = far_comparison_describe(c), *info = &about;
    int64_t widest = -1;
    for (int64_t i = 0; i < info->models; i++) {
        const far_compare_row *r = far_comparison_row(c, i);
        bool wider = widest < 0 || r->max_out > far_comparison_row(c, widest)->max_out;
        if (comparison_scored(r) && wider) {
            widest = i;
        }
    }
    if (widest >= 0) {
        const far_compare_row *r = far_comparison_row(c, widest);
        fprintf(out,
                "Out of range max abs(target) is %.4g, and max abs(prediction) %.4g (%s).",
                info->largest_out, r->max_out, r->model);
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

typedef void (*tell_fn)(FILE *out, const far_comparison *c);

/* What it tells; free it. NULL: nothing. */
static char *told(const far_comparison *c, tell_fn tell)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) {
        tell(out, c);
        fclose(out);
    }
    if (length == 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void tell_judged(FILE *out, const far_comparison *c, far_verdict verdict)
{
    const far_compare_row *r;
    const char *comma = "";
    for (int64_t i = 0; (r = far_comparison_row(c, i)); i++) {
        if (judged(r, verdict)) {
            fprintf(out, "%s%s", comma, r->model);
            comma = ", ";
        }
    }
}

static void tell_loose(FILE *out, const far_comparison *c)
{
    tell_judged(out, c, FAR_UNBOUNDED);
}

static void tell_firm(FILE *out, const far_comparison *c)
{
    tell_judged(out, c, FAR_BOUNDED);
}

/* Verdicts above the table of a page, lines below that of a terminal. */
static void put_sentences(far_result *r, const far_comparison *c, bool page)
{
    bool classes = far_comparison_describe(c).classes > 0; /* the table says which is best */
    const char *what = classes ? "scores of these" : "these";
    char *best = classes ? NULL : told(c, tell_best), *reach = classes ? NULL : told(c, tell_reach);
    char *loose = told(c, tell_loose), *firm = told(c, tell_firm);
    const char *sentences[] = {best, reach};
    for (int i = 0; i < 2; i++) {
        if (sentences[i] && page) {
            far_result_verdict(r, FAR_TONE_PLAIN, "%s", sentences[i]);
        } else if (sentences[i]) {
            far_result_line(r, "%s", sentences[i]);
        }
    }
    if (page && firm) {
        far_result_verdict(r, FAR_TONE_GOOD, "Bounded for every input, by a theorem: %s", firm);
    }
    if (page && loose) {
        far_result_verdict(r, FAR_TONE_BAD, "Far enough out %s exceed any level: %s", what, loose);
    }
    if (!page && (loose || firm)) {
        far_result_line(r, "%s%s%s%s%s%s.", loose ? "Far enough out " : "", loose ? what : "",
                        loose ? " exceed any level: " : "", loose ? loose : "",
                        !firm   ? ""
                        : loose ? "; these never do: "
                                : "None of these can run away: ",
                        firm ? firm : "");
    }
    free(best);
    free(reach);
    free(loose);
    free(firm);
}

static void put_title(far_result *r, const far_comparison_info *info)
{
    char seeds[64] = "";
    if (info->seeds > 1) {
        snprintf(seeds, sizeof seeds, "s %llu to", (unsigned long long)info->first_seed);
    }
    far_result_line(r, "%s, out of range where %s", info->target, info->shift);
    far_result_line(r,
                    "%lld rows in range, %lld of them to train on and %lld to test; %lld rows out "
                    "of range; seed%s %llu",
                    (long long)info->rows_in, (long long)info->train_rows,
                    (long long)info->test_rows, (long long)info->rows_out, seeds,
                    (unsigned long long)(info->first_seed + (uint64_t)info->seeds - 1));
}

void comparison_tell(far_result *r, far_ctx *ctx, const far_comparison *c)
{
    far_comparison_info info = far_comparison_describe(c);
    put_json(r, c, &info);
    far_result_for(r, FAR_FOR_TEXT);
    put_title(r, &info);
    far_result_for(r, FAR_FOR_PAGE);
    put_sentences(r, c, true);
    far_result_heading(r, "Scores");
    far_result_for(r, FAR_FOR_PEOPLE);
    if (info.classes > 0) {
        put_class_table(r, c, &info);
    } else {
        put_table(r, c, &info);
    }
    far_result_for(r, FAR_FOR_ALL);
    comparison_tell_xgboost(r, ctx, c);
    far_result_for(r, FAR_FOR_TEXT);
    far_result_line(r, "%s", "");
    put_sentences(r, c, false);
    far_result_for(r, FAR_FOR_ALL);
}

int comparison_verdict(const char *verb_name, const far_comparison *c)
{
    far_comparison_info info = far_comparison_describe(c);
    const far_compare_row *failed = NULL;
    for (int64_t i = 0; i < info.models; i++) {
        const far_compare_row *r = far_comparison_row(c, i);
        if (info.networks > 0 && !r->network) {
            continue;
        }
        if (comparison_scored(r)) {
            return EXIT_DONE;
        }
        failed = failed ? failed : r;
    }
    char *why = talk_flags(failed->message);
    int code =
        failure(verb_name, "every %s failed; %s: %s", info.networks > 0 ? "network" : "model",
                failed->model, why ? why : failed->message);
    free(why);
    return code;
}

int comparison_check(session *s, const far_compare_opts *opts)
{
    far_status st = far_compare_estimate(s->ctx, NULL, opts, NULL);
    if (st == FAR_OK) {
        return EXIT_DONE;
    }
    session_failure(s, st == FAR_ERR_PARSE || st == FAR_ERR_ARCH ? "--models" : NULL);
    return usage_code(st);
}

int comparison_data(session *s, const char *operand, const char *models, const fit_args *fit,
                    dataset *out)
{
    const char *net = strstr(models, "net:image("), *shape = net ? net + strlen("net:") : NULL;
    char *arch = shape ? strndup(shape, strcspn(shape, ")") + 1) : NULL;
    if (shape && !arch) {
        return failure(s->verb, "out of memory");
    }
    out->arch = arch;
    int code = dataset_read(s->verb, s->ctx, operand, &fit->table, fit->where, out);
    out->arch = NULL;
    free(arch);
    return code;
}
