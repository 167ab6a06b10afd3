/* The report of a training. */
#include "report_far.h"
#include "report_verbs.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 8, MOST_VALUES = 1000 };

/* ---- words --------------------------------------------------------------------------------- */

static bool diverged(const train_run *r)
{
    return r->result.end == FAR_TRAIN_DIVERGED;
}

static const char *score_name(const training *t)
{
    return training_classifies(t) ? "accuracy" : "R^{2}";
}

static void put_verdicts(report *r, const training *t)
{
    double best = -INFINITY, worst = INFINITY, first = 0, last = 0;
    int64_t good = 0, seeds = t->args.seeds;
    for (int64_t i = 0; i < seeds; i++) {
        const train_run *run = &t->runs[i];
        if (!diverged(run)) {
            best = fmax(best, run->score);
            worst = fmin(worst, run->score);
            first += run->result.first_loss;
            last += run->result.final_loss;
            good++;
        }
    }
    if (good == 1) {
        report_verdict(r, FAR_TONE_PLAIN,
                       "The loss went from %.4g to %.4g; on the rows learnt from %s is %.4g.",
                       first, last, score_name(t), best);
    } else if (good > 1) {
        report_verdict(
            r, FAR_TONE_PLAIN,
            "The loss went from %.4g to %.4g (means over seeds); on the rows learnt from "
            "%s is %.4g to %.4g.",
            first / (double)good, last / (double)good, score_name(t), worst, best);
    }
    if (good < seeds) {
        report_verdict(r, FAR_TONE_BAD,
                       "%lld of %lld runs diverged: the loss left the range of numbers. A smaller "
                       "rate would help.",
                       (long long)(seeds - good), (long long)seeds);
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

static void put_row(report *r, const training *t, int64_t i)
{
    static const char *const ENDS[] = {"all epochs", "stop-loss", "cancelled", "diverged"};
    const train_run *run = &t->runs[i];
    char time[SHOW_BYTES];
    report_cell(r, "%lld", (long long)(t->args.seed + i));
    report_cell(r, "%lld", (long long)run->result.epochs);
    report_number(r, "%.6g", run->result.first_loss);
    report_number(r, "%.6g", run->result.final_loss);
    report_number(r, "%.6g", run->result.best_loss);
    report_number(r, "%.4f", run->score);
    report_number(r, "%.4g", run->result.distance);
    report_cell(r, "%s", show_time(run->result.seconds, time));
    report_cell(r, "%s", ENDS[run->result.end]);
}

static void put_table(report *r, const training *t)
{
    const char *heads[] = {"seed",        "epochs",   "first loss", "final loss", "best loss",
                           score_name(t), "moved by", "time",       "ended by"};
    for (int64_t i = 0; i < t->args.seeds; i++) {
        put_row(r, t, i);
    }
    report_table(r,
                 "One line a network. Final loss: over all rows with the parameters it ends with. "
                 "Moved by: the distance of its parameters from their start.",
                 heads, sizeof heads / sizeof heads[0]);
}

/* ---- losses -------------------------------------------------------------------------------- */

/* A history on at most MOST_VALUES places: the mean of each stretch, at its last epoch. */
static int64_t thin(const double *history, int64_t epochs, double *x, double *y)
{
    int64_t step = (epochs + MOST_VALUES - 1) / MOST_VALUES, count = 0;
    for (int64_t i = 0; i < epochs; i += step) {
        int64_t end = i + step < epochs ? i + step : epochs;
        double sum = 0;
        for (int64_t k = i; k < end; k++) {
            sum += history[k] / (double)(end - i);
        }
        x[count] = (double)end;
        y[count++] = sum;
    }
    return count;
}

static bool has_values(const double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (y[i] > 0 && isfinite(y[i])) {
            return true;
        }
    }
    return false;
}

static void put_losses(report *r, const training *t)
{
    double x[MOST_VALUES], y[MOST_VALUES];
    int64_t epochs = t->opts.epochs, drawn = 0;
    far_figure_opts o = report_axes("epoch", "loss");
    o.y_scale = FAR_SCALE_LOG;
    report_draw(r, &o);
    for (int64_t i = 0; t->histories && i < t->args.seeds; i++) {
        char label[48];
        int64_t count = thin(t->histories + i * epochs, epochs, x, y);
        if (count > 0 && has_values(y, count)) {
            bool few = t->args.seeds <= MOST_LINES;
            snprintf(label, sizeof label, "seed %lld", (long long)(t->args.seed + i));
            report_line(r, report_mark(few && t->args.seeds > 1 ? label : NULL, few ? (int)i : 0),
                        x, y, count);
            drawn++;
        }
    }
    if (drawn > 0) {
        report_place(r, "loss",
                     "The mean loss of every epoch. A line that still falls at its end has more to "
                     "learn.");
    }
}

/* ---- the function -------------------------------------------------------------------------- */

/* Column 0 of a matrix in the network's own units, raw. */
static double *raw_column(const far_mat *m, const far_mat *centre, const far_mat *scale)
{
    double *out = calloc((size_t)m->rows + 1, sizeof *out);
    for (int64_t i = 0; out && i < m->rows; i++) {
        out[i] = *(const double *)centre->data +
                 *(const double *)scale->data * ((const double *)m->data)[i * m->ld];
    }
    return out;
}

static int64_t kept_subjects(report *r, const training *t, far_predictor **subjects)
{
    int64_t count = 0;
    for (int64_t i = 0; i < t->args.seeds; i++) {
        if (!diverged(&t->runs[i])) {
            report_check(r, far_predictor_of_net(r->s->ctx, t->runs[i].net, &subjects[count]));
            count += subjects[count] != NULL;
        }
    }
    return count;
}

static void put_function(report *r, const training *t)
{
    far_mat x = far_examples_inputs(t->data), y = far_examples_targets(t->data);
    far_scaling s = far_net_scaling(t->runs[0].net);
    far_predictor **subjects = calloc((size_t)t->args.seeds, sizeof *subjects);
    double *raw_x = raw_column(&x, &s.input_centre, &s.input_scale);
    double *raw_y = raw_column(&y, &s.output_centre, &s.output_scale);
    if (subjects && raw_x && raw_y) {
        one_input v = {(const far_predictor *const *)subjects, kept_subjects(r, t, subjects), raw_x,
                       raw_y, x.rows};
        view_put(r, &v);
    }
    for (int64_t i = 0; subjects && i < t->args.seeds; i++) {
        far_predictor_destroy(subjects[i]);
    }
    free(subjects);
    free(raw_x);
    free(raw_y);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(report *r, const training *t)
{
    far_net_info i = far_net_describe(t->runs[0].net);
    report_fact(r, "architecture", "%s", far_net_text(t->runs[0].net));
    report_fact(r, "parameters", "%lld", (long long)i.parameters);
    report_fact(r, "data", "%s, %lld rows, SHA-256 of what was used %s", t->table.label,
                (long long)far_examples_inputs(t->data).rows,
                far_columns_hash(far_examples_columns(t->data)));
    report_fact(r, "rate", "%g", far_train_rate(&t->opts));
    report_seeds(r, (uint64_t)t->args.seed, t->args.seeds);
}

void report_training(report *r, const training *t)
{
    char title[512];
    snprintf(title, sizeof title, "Training %s on %s", t->args.seeds > 1 ? "networks" : "a network",
             t->table.label);
    report_title(r, title);
    put_verdicts(r, t);
    put_table(r, t);
    put_losses(r, t);
    if (t->track.wanted) {
        tracking_report(r, t);
    }
    if (!training_classifies(t)) {
        put_function(r, t);
    }
    report_command(r, t->argc, t->argv);
    put_facts(r, t);
}
