#include "comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells --------------------------------------------------------------------------------- */

enum { CERTIFICATE = 6, COLUMNS = COMPARISON_COLUMNS, CELL_BYTES = sizeof(comparison_cell) };
static const char *const HEADS[COLUMNS] = {"R2 in",  "R2 out",  "RMSE in",     "RMSE out",
                                           "|f| in", "|f| out", "certificate", "seconds"};

typedef comparison_cell cell;

static const char *show_value(double value, cell buffer)
{
    snprintf(buffer, CELL_BYTES, isnan(value) ? "-" : "%.4g", value);
    return buffer;
}

/* "0.694 +- 0.004" */
static void show_r2(far_compare_average a, cell buffer)
{
    const char *format = fabs(a.mean) < 1000 ? "%.3f" : "%.4g";
    int length = snprintf(buffer, CELL_BYTES, isnan(a.mean) ? "-" : format, a.mean);
    if (!isnan(a.ci95)) {
        snprintf(buffer + length, CELL_BYTES - (size_t)length,
                 a.ci95 < 1000 ? " +- %.3f" : " +- %.4g", a.ci95);
    }
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
    return far_certificate_input(c, most);
}

static void show_verdict(const far_certificate *c, cell buffer)
{
    bool others = false;
    const far_bound *b = c ? far_certificate_bound(c, 0) : NULL;
    if (!b) {
        snprintf(buffer, CELL_BYTES, "-");
    } else if (b->verdict == FAR_BOUNDED) {
        snprintf(buffer, CELL_BYTES, "|f| <= %.4g", far_round_up(b->tightest, 4));
    } else if (b->verdict == FAR_UNBOUNDED) {
        const char *input = main_input(c, b, &others);
        snprintf(buffer, CELL_BYTES, "unbounded along %.30s%s", input, others ? ", ..." : "");
    } else {
        snprintf(buffer, CELL_BYTES, "undecided");
    }
}

/* Whether that is what is known of its predictions over all inputs. */
static bool judged(const far_compare_row *r, far_verdict verdict)
{
    return comparison_scored(r) && r->certificate &&
           far_certificate_bound(r->certificate, 0)->verdict == verdict;
}

bool comparison_open(const far_compare_row *r)
{
    return comparison_scored(r) && r->reason && !judged(r, FAR_BOUNDED) &&
           !judged(r, FAR_UNBOUNDED);
}

static double both_seconds(const far_compare_row *r)
{
    return r->seconds_fit + (isnan(r->seconds_predict) ? 0 : r->seconds_predict);
}

bool comparison_scored(const far_compare_row *r)
{
    return r->state == FAR_COMPARED_OK || r->state == FAR_COMPARED_PARTLY;
}

void comparison_cells(const far_compare_row *r, cell cells[COLUMNS])
{
    show_r2(r->r2_in, cells[0]);
    show_r2(r->r2_out, cells[1]);
    show_value(r->rmse_in.mean, cells[2]);
    show_value(r->rmse_out.mean, cells[3]);
    show_value(r->max_in, cells[4]);
    show_value(r->max_out, cells[5]);
    show_verdict(r->certificate, cells[CERTIFICATE]);
    snprintf(cells[7], CELL_BYTES, "%.2f", both_seconds(r));
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct widths {
    int name, column[COLUMNS];
} widths;

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text);
    *width = length > *width ? length : *width;
}

static widths measure(const far_comparison *c, int64_t models, const char *const heads[COLUMNS])
{
    widths w = {.name = (int)strlen("model")};
    for (int k = 0; k < COLUMNS; k++) {
        widen(&w.column[k], heads[k]);
    }
    for (int64_t i = 0; i < models; i++) {
        const far_compare_row *r = far_comparison_row(c, i);
        cell cells[COLUMNS];
        widen(&w.name, r->model);
        if (comparison_scored(r)) {
            comparison_cells(r, cells);
        }
        for (int k = 0; comparison_scored(r) && k < COLUMNS; k++) {
            widen(&w.column[k], cells[k]);
        }
    }
    return w;
}

static void print_cells(const widths *w, const char *mark, const char *name,
                        const char *const texts[COLUMNS])
{
    print("%s %-*s", mark, w->name, name);
    for (int k = 0; k < COLUMNS; k++) {
        print(k == CERTIFICATE ? "  %-*s" : "  %*s", w->column[k], texts[k]);
    }
    print("\n");
}

static void print_row(const widths *w, const char *mark, const far_compare_row *r)
{
    cell cells[COLUMNS];
    const char *texts[COLUMNS];
    if (!comparison_scored(r)) {
        print("%s %-*s  %s: %s\n", mark, w->name, r->model, far_compare_state_text(r->state),
              r->message);
        return;
    }
    comparison_cells(r, cells);
    for (int k = 0; k < COLUMNS; k++) {
        texts[k] = cells[k];
    }
    print_cells(w, mark, r->model, texts);
}

static void print_notes(const far_comparison *c, int64_t models)
{
    for (int64_t i = 0; i < models; i++) {
        const far_compare_row *r = far_comparison_row(c, i);
        if (r->state == FAR_COMPARED_PARTLY) {
            print("%s failed for some seeds: %s\n", r->model, r->message);
        }
        if (comparison_open(r)) {
            print("%s is not decided: %s\n", r->model, r->reason);
        }
    }
}

static void print_table(const far_comparison *c, const far_comparison_info *info)
{
    widths w = measure(c, info->models, HEADS);
    print_cells(&w, " ", "model", HEADS);
    for (int64_t i = 0; i < info->models; i++) {
        print_row(&w, i == info->best ? "*" : " ", far_comparison_row(c, i));
    }
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
        talk(out, " (%.3f in range, the best there too)", r->r2_in.mean);
    } else {
        talk(out, " (%.3f in range); best in range: %s, R2 %.3f, which has %.3f out of range",
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
        talk(out, ", the next there, and the intervals %s", how);
    } else {
        talk(out, "; next out of range: %s, %.3f, and the intervals %s", next->model,
             next->r2_out.mean, how);
    }
}

static void tell_undefined(FILE *out, const far_comparison *c, const far_comparison_info *info)
{
    if (best_but(c, info->models, score_in, -1) >= 0) {
        talk(out, "R2 out of range is undefined: %s.\n",
             info->rows_out < 2 ? "there is one row only" : "the truth is the same in all rows");
    }
}

void comparison_tell_best(FILE *out, const far_comparison *c)
{
    far_comparison_info about = far_comparison_describe(c), *info = &about;
    if (info->best < 0) {
        tell_undefined(out, c, info);
        return;
    }
    const far_compare_row *best = far_comparison_row(c, info->best);
    if (!(best->r2_out.mean > 0)) {
        talk(out,
             "Out of range every model is worse than the mean of those rows would be (R2 0).\n");
    }
    talk(out, "Best out of range: %s, R2 %.3f", best->model, best->r2_out.mean);
    tell_in_range(out, c, info);
    tell_runner_up(out, c, info);
    talk(out, ".\n");
}

int64_t comparison_tell_judged(FILE *out, const far_comparison *c, far_verdict verdict)
{
    int64_t count = 0;
    const far_compare_row *r;
    for (int64_t i = 0; (r = far_comparison_row(c, i)); i++) {
        if (judged(r, verdict)) {
            if (out) {
                talk(out, "%s%s", count ? ", " : "", r->model);
            }
            count++;
        }
    }
    return count;
}

static void print_verdicts(const far_comparison *c)
{
    int64_t loose = comparison_tell_judged(NULL, c, FAR_UNBOUNDED);
    int64_t firm = comparison_tell_judged(NULL, c, FAR_BOUNDED);
    if (loose > 0) {
        print("Far enough out these exceed any level: ");
        comparison_tell_judged(stdout, c, FAR_UNBOUNDED);
        print(firm > 0 ? "; " : ".\n");
    }
    if (firm > 0) {
        print(loose > 0 ? "these never do: " : "None of these can run away: ");
        comparison_tell_judged(stdout, c, FAR_BOUNDED);
        print(".\n");
    }
}

/* How far the predictions went where they were asked. */
void comparison_tell_reach(FILE *out, const far_comparison *c)
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
        talk(out,
             "Out of range the truth reaches %.4g in size, and the predictions up to %.4g (%s).\n",
             info->largest_out, r->max_out, r->model);
    }
}

static void print_title(const far_comparison_info *info)
{
    print("%s, out of range where %s\n", info->target, info->shift);
    print("%lld rows in range, %lld of them to train on and %lld to test; %lld rows out of range; ",
          (long long)info->rows_in, (long long)info->train_rows, (long long)info->test_rows,
          (long long)info->rows_out);
    if (info->seeds == 1) {
        print("seed %llu\n\n", (unsigned long long)info->first_seed);
    } else {
        print("seeds %llu to %llu\n\n", (unsigned long long)info->first_seed,
              (unsigned long long)(info->first_seed + (uint64_t)info->seeds - 1));
    }
}

void comparison_print(const far_comparison *c)
{
    far_comparison_info info = far_comparison_describe(c);
    print_title(&info);
    print_table(c, &info);
    print_notes(c, info.models);
    print("\n");
    comparison_tell_best(stdout, c);
    comparison_tell_reach(stdout, c);
    print_verdicts(c);
}
