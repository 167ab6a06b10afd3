/* What a training gave: facts, a table of networks, losses, the function. */
#include "columns_show.h"
#include "report_far.h"
#include "report_verbs.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 8, MOST_VALUES = 1000, WORD_BYTES = 24 };

/* ---- words --------------------------------------------------------------------------------- */

static bool diverged(const train_run *r)
{
    return r->result.end == FAR_TRAIN_DIVERGED;
}

static const char *score_name(const training *t)
{
    return next_of_text(t)          ? "bits/byte"
           : t->next                ? "test loss"
           : training_classifies(t) ? "accuracy"
                                    : "R2";
}

static const char *scored_on(const training *t)
{
    return t->next ? "test" : t->val_x.rows > 0 ? "validation" : "training";
}

/* Of the validation rows where there are any. */
static double score_of(const training *t, const train_run *run)
{
    return t->val_x.rows > 0 && !t->next ? run->val_score : run->score;
}

static void tell_verdicts(far_result *r, const training *t)
{
    double best = -INFINITY, worst = INFINITY, first = 0, last = 0;
    int64_t good = 0, seeds = t->args.seeds;
    for (int64_t i = 0; i < seeds; i++) {
        const train_run *run = &t->runs[i];
        if (!diverged(run)) {
            double score = score_of(t, run);
            best = fmax(best, score);
            worst = fmin(worst, score);
            first += run->result.first_loss;
            last += run->result.final_loss;
            good++;
        }
    }
    if (good == 1) {
        far_result_verdict(r, FAR_TONE_PLAIN, "The loss went from %.4g to %.4g; %s %s %.4g.", first,
                           last, scored_on(t), score_name(t), best);
    } else if (good > 1) {
        far_result_verdict(r, FAR_TONE_PLAIN,
                           "The loss went from %.4g to %.4g (means over seeds); %s %s %.4g to "
                           "%.4g.",
                           first / (double)good, last / (double)good, scored_on(t), score_name(t),
                           worst, best);
    }
    if (good < seeds) {
        far_result_verdict(r, FAR_TONE_BAD,
                           "%lld of %lld runs diverged: the loss left the range of numbers. A "
                           "smaller rate would help.",
                           (long long)(seeds - good), (long long)seeds);
    }
}

/* ---- facts --------------------------------------------------------------------------------- */

static const char *word_of(const char *list, int index, char buffer[WORD_BYTES])
{
    return choice_word(list, index, buffer, WORD_BYTES);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Where the network is kept. */
static void tell_file(far_result *r, const train_run *run, const char *label)
{
    if (run->file && !diverged(run)) {
        far_result_text(r, "file", run->file, label, NULL);
    } else {
        far_result_missing(r, "file",
                           diverged(run) ? "not kept: it diverged" : "not saved; -o FILE keeps it",
                           label);
    }
}

static void tell_network(far_result *r, const training *t)
{
    char word[WORD_BYTES];
    far_net_info i = far_net_describe(t->runs[0].net);
    const char *init = i.init < 0 ? "unknown" : word_of(INIT_LIST, i.init, word);
    const char *param = i.param == FAR_PARAM_NTK ? "ntk" : "standard";
    far_result_text(r, "arch", far_net_describe(t->runs[0].net).arch, "architecture", NULL);
    far_result_count(r, "parameters", i.parameters, "weights",
                     "%lld in %lld layer%s, %lld input%s, %lld output%s%s", (long long)i.parameters,
                     (long long)i.layers, plural(i.layers), (long long)i.inputs, plural(i.inputs),
                     (long long)i.outputs, plural(i.outputs), i.linearized ? ", linearised" : "");
    far_result_count(r, "inputs", i.inputs, NULL, NULL);
    far_result_count(r, "outputs", i.outputs, NULL, NULL);
    far_result_count(r, "layers", i.layers, NULL, NULL);
    far_result_flag(r, "linearized", i.linearized, NULL, NULL);
    if (i.init < 0) {
        far_result_text(r, "init", init, "start", "%s", t->args.from ? t->args.from : "given");
    } else {
        far_result_text(r, "init", init, "start", "%s, %s parametrisation", init, param);
    }
    far_result_text(r, "param", param, NULL, NULL);
}

static void tell_method(far_result *r, const training *t)
{
    char optimizer[WORD_BYTES], loss[WORD_BYTES], batch[64] = "full batch";
    const far_train_opts *o = &t->opts;
    int64_t rows = t->next ? t->windows.rows : t->data->inputs.rows;
    word_of(OPTIMIZER_LIST, o->optimizer, optimizer);
    word_of(LOSS_LIST, o->loss + 1, loss);
    if (o->batch > 0 && o->batch < rows) {
        snprintf(batch, sizeof batch, "batches of %lld", (long long)o->batch);
    }
    far_result_count(r, "n", rows, next_of_text(t) ? "windows" : "rows", NULL);
    far_result_text(r, "task",
                    t->next                  ? "next"
                    : training_classifies(t) ? "classify"
                                             : "regress",
                    NULL, NULL);
    bool falls = o->schedule.kind != FAR_SCHEDULE_CONSTANT;
    far_result_text(r, "optimizer", optimizer, "training", "%s, rate %g%s%s, loss %s, %s",
                    optimizer, t->runs[0].result.lr, falls ? ", " : "",
                    falls ? t->args.schedule : "", loss, batch);
    far_result_text(r, "schedule", t->args.schedule, NULL, NULL);
    far_result_number(r, "weight_decay", o->weight_decay, o->weight_decay > 0 ? "decay" : NULL,
                      "%g of each weight", o->weight_decay);
    if (o->augment) {
        far_result_text(r, "augment", o->augment, "augmentation", "%s", o->augment);
    }
    far_result_text(r, "loss_kind", loss, NULL, NULL);
    far_result_number(r, "lr", t->runs[0].result.lr, NULL, NULL);
    far_result_count(r, "batch", o->batch > 0 ? o->batch : rows, NULL, NULL);
    if (t->data) {
        far_result_text(r, "data_hash", far_columns_describe(t->data->columns).hash, NULL, NULL);
    }
}

static const char *const ENDS[] = {"epochs", "stop-loss", "cancelled", "diverged", "patience"};

static const char *score_key(const training *t, bool val)
{
    bool classes = training_classifies(t);
    return val ? classes ? "accuracy_val" : "r2_val" : classes ? "accuracy_train" : "r2_train";
}

static void tell_score(far_result *r, const char *key, double score, const char *label)
{
    if (isnan(score)) {
        far_result_missing(r, key, "undefined: a target does not vary", label);
    } else {
        far_result_number(r, key, score, label, NULL);
    }
}

/* What the rows kept for validation say. */
static void tell_validation(far_result *r, const training *t, const train_run *run, bool said)
{
    const far_train_result *s = &run->result;
    const char *label = training_classifies(t) ? "validation accuracy" : "validation R2";
    if (t->val_x.rows == 0) {
        far_result_missing(r, "val_loss", "no validation rows; --val-part keeps some", NULL);
        return;
    }
    far_result_count(r, "n_val", t->val_x.rows, NULL, NULL);
    far_result_number(r, "val_loss", s->val_loss, said ? "validation" : NULL,
                      "loss %.6g on %lld rows, the smallest, in epoch %lld of %lld", s->val_loss,
                      (long long)t->val_x.rows, (long long)s->best_epoch, (long long)s->epochs);
    if (!t->next) {
        tell_score(r, score_key(t, true), run->val_score, said ? label : NULL);
    }
}

/* What was kept aside says of what comes next. */
static void tell_test(far_result *r, const training *t, const train_run *run, bool said)
{
    int64_t rows = t->test.rows, positions = far_net_describe(run->net).positions;
    bool text = next_of_text(t);
    far_result_count(r, "n_test", rows, NULL, NULL);
    far_result_number(r, "test_loss", run->test_loss, said && !text ? "test" : NULL,
                      "loss %.6g on the last %lld row%s, kept aside", run->test_loss,
                      (long long)rows, plural(rows));
    if (text) {
        far_result_number(
            r, "bits_per_byte", run->score, said ? "test" : NULL,
            "%.4f bits per byte (loss %.4f) on the last tenth of the text, kept aside: "
            "%lld bytes",
            run->score, run->test_loss, (long long)(rows * positions));
    }
}

/* Of one run; said: for people, too. */
static void tell_run(far_result *r, const training *t, const train_run *run, bool said)
{
    const far_train_result *s = &run->result;
    char time[SHOW_BYTES], since[160] = "", speed[64] = "";
    double work = s->flops * (double)(s->epochs - s->resumed_at);
    const char *label = training_classifies(t) ? "train accuracy" : "train R2";
    if (s->epochs > 0) {
        snprintf(since, sizeof since, ", from %.6g at the start (%lld epoch%s%s)", s->first_loss,
                 (long long)s->epochs, plural(s->epochs),
                 s->end == FAR_TRAIN_STOP_LOSS  ? ", stopped by --stop-loss"
                 : s->end == FAR_TRAIN_PATIENCE ? ", stopped by --patience"
                                                : "");
    }
    if (work > 0 && s->seconds > 0) {
        snprintf(speed, sizeof speed, " (%.3g GFLOP/s)", 1e-9 * work / s->seconds);
    }
    far_result_text(r, "end", ENDS[s->end], NULL, NULL);
    far_result_count(r, "epochs", s->epochs, NULL, NULL);
    far_result_count(r, "steps", s->steps, NULL, NULL);
    far_result_count(r, "resumed_at", s->resumed_at, NULL, NULL);
    far_result_number(r, "first_loss", s->first_loss, NULL, NULL);
    far_result_number(r, "loss", s->loss, NULL, NULL);
    far_result_number(r, "final_loss", s->final_loss, said ? "loss" : NULL, "%.6g%s", s->final_loss,
                      since);
    far_result_number(r, "best_loss", s->best_loss, NULL, NULL);
    far_result_count(r, "best_epoch", s->best_epoch, NULL, NULL);
    tell_validation(r, t, run, said);
    if (t->next) {
        tell_test(r, t, run, said);
    } else {
        tell_score(r, score_key(t, false), run->score, said ? label : NULL);
    }
    far_result_number(r, "distance", s->distance, said ? "distance" : NULL,
                      "%.4g from initialisation", s->distance);
    far_result_number(r, "seconds", s->seconds, said ? "time" : NULL, "%s%s",
                      show_time(s->seconds, time), speed);
    far_result_number(r, "flops_per_epoch", s->flops, NULL, NULL);
}

/* ---- the table ----------------------------------------------------------------------------- */

static void add_row(far_result *r, const training *t, int64_t i)
{
    const train_run *run = &t->runs[i];
    const far_train_result *s = &run->result;
    char time[SHOW_BYTES];
    far_result_cell(r, (double)(t->args.seed + i));
    far_result_cell(r, (double)s->epochs);
    far_result_cell(r, s->first_loss);
    far_result_cell(r, s->final_loss);
    if (t->val_x.rows > 0) {
        far_result_cell(r, s->val_loss);
        far_result_cell(r, (double)s->best_epoch);
    }
    far_result_cell(r, score_of(t, run));
    far_result_cell(r, s->distance);
    far_result_cell_words(r, s->seconds, "%s", show_time(s->seconds, time));
    far_result_cell_text(r, "%s", ENDS[s->end]);
    far_result_cell_text(r, "%s", run->file && !diverged(run) ? run->file : "not kept");
}

static void tell_table(far_result *r, const training *t)
{
    static const far_result_column HEAD[] = {{NULL, "seed", "%8.0f"},
                                             {NULL, "epochs", "%8.0f"},
                                             {NULL, "first loss", "%12.6g"},
                                             {NULL, "loss", "%12.6g"}};
    static const far_result_column VAL[] = {{NULL, "val loss", "%12.6g"}, {NULL, "at", "%6.0f"}};
    const far_result_column tail[] = {{NULL, score_name(t), "%9.4f"},
                                      {NULL, "distance", "%9.4g"},
                                      {NULL, "time", "%8g"},
                                      {NULL, "ended by", NULL},
                                      {NULL, "file", NULL}};
    enum { HEADS = sizeof HEAD / sizeof *HEAD, TAILS = sizeof tail / sizeof *tail, VALS = 2 };
    far_result_column columns[HEADS + VALS + TAILS];
    bool val = t->val_x.rows > 0;
    int count = HEADS + (val ? VALS : 0);
    memcpy(columns, HEAD, sizeof HEAD);
    memcpy(columns + HEADS, VAL, sizeof VAL);
    memcpy(columns + count, tail, sizeof tail);
    far_result_table(r, NULL,
                     val ? "One line a network. Loss: over the training rows, with the parameters "
                           "it ends with, those of the smallest loss over the validation rows, in "
                           "epoch \"at\". The score is that of the validation rows. Distance: of "
                           "its parameters from initialisation."
                         : "One line a network. Loss: over all rows with the parameters it ends "
                           "with. Distance: of its parameters from initialisation.",
                     columns, count + TAILS);
    for (int64_t i = 0; i < t->args.seeds; i++) {
        add_row(r, t, i);
    }
}

static void list_runs(far_result *r, const training *t)
{
    far_result_for(r, FAR_FOR_JSON);
    far_result_open_list(r, "runs");
    for (int64_t i = 0; i < t->args.seeds; i++) {
        far_result_open(r, NULL);
        far_result_count(r, "seed", t->args.seed + i, NULL, NULL);
        if (t->args.data) {
            tell_run(r, t, &t->runs[i], false);
        }
        tell_file(r, &t->runs[i], NULL);
        tracking_list(r, t, i);
        far_result_close(r);
    }
    far_result_close(r);
    far_result_for(r, FAR_FOR_ALL);
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

/* The lines of one history each; how many were drawn. */
static int64_t draw_losses(report *r, const training *t, const double *histories, bool val)
{
    double x[MOST_VALUES], y[MOST_VALUES];
    int64_t epochs = t->opts.epochs, drawn = 0;
    for (int64_t i = 0; histories && i < t->args.seeds; i++) {
        char label[48];
        int64_t count = thin(histories + i * epochs, epochs, x, y);
        if (count > 0 && has_values(y, count)) {
            bool few = t->args.seeds <= MOST_LINES, many = t->args.seeds > 1;
            snprintf(label, sizeof label, "seed %lld", (long long)(t->args.seed + i));
            if (t->val_x.rows > 0 && !many) {
                snprintf(label, sizeof label, "%s rows", val ? "validation" : "training");
            }
            far_mark_opts mark =
                report_mark(few && (many ? !val : t->val_x.rows > 0) ? label : NULL,
                            few ? (int)(many ? i : val) : 0);
            mark.dash = val ? FAR_DASH_DASHED : FAR_DASH_AUTO;
            report_line(r, mark, x, y, count);
            drawn++;
        }
    }
    return drawn;
}

static void put_losses(report *r, const training *t)
{
    far_figure_opts o = report_axes("epoch", "loss");
    bool val = t->val_x.rows > 0;
    o.y_scale = FAR_SCALE_LOG;
    report_draw(r, &o);
    int64_t drawn = draw_losses(r, t, t->histories, false);
    drawn += val ? draw_losses(r, t, t->val_histories, true) : 0;
    if (drawn > 0) {
        report_place(
            r, "loss",
            val ? "The mean loss of every epoch, and, dashed, the loss over the validation "
                  "rows after it. Where the dashed line rises while the other falls, the "
                  "network learns the training rows by heart."
                : "The mean loss of every epoch. A line that still falls at its end has "
                  "more to learn.");
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
    far_mat x = t->data->inputs, y = t->data->targets;
    far_scaling s = far_columns_describe(far_net_describe(t->runs[0].net).columns).scaling;
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

static void tell_all(far_result *r, const training *t)
{
    bool many = t->args.seeds > 1, trained = t->args.data != NULL;
    if (trained) {
        far_result_for(r, FAR_FOR_PAGE);
        tell_verdicts(r, t);
        far_result_for(r, FAR_FOR_ALL);
    }
    tell_network(r, t);
    if (t->data) {
        columns_tell(r, t->data->columns);
    }
    if (trained) {
        tell_method(r, t);
        tell_run(r, t, &t->runs[0], !many);
    }
    tell_file(r, &t->runs[0], trained && many ? NULL : "network");
    for (int64_t i = 1; !trained && i < t->args.seeds; i++) {
        far_result_say(r, "", "%s", t->runs[i].file ? t->runs[i].file : "not saved");
    }
    if (trained && many) {
        tell_table(r, t);
    }
    tracking_tell(r, t);
    list_runs(r, t);
}

static void draw_all(report *r, const training *t)
{
    put_losses(r, t);
    if (t->track.wanted) {
        tracking_report(r, t);
    }
    if (t->data && !training_classifies(t)) {
        put_function(r, t);
    }
}

int training_tell(training *t)
{
    char title[512];
    report out;
    snprintf(title, sizeof title, "Training %s%s%s", t->args.seeds > 1 ? "networks" : "a network",
             t->args.data ? " on " : "", t->args.data ? t->table.label : "");
    int code = report_begin(&t->s, &t->args.common, title, &out);
    tell_all(out.result, t);
    if (t->args.common.report && t->args.data) {
        draw_all(&out, t);
        if (t->data) {
            report_fact(&out, "data", "%s, %lld rows, SHA-256 of what was used %s", t->table.label,
                        (long long)t->data->inputs.rows,
                        far_columns_describe(t->data->columns).hash);
        }
        report_seeds(&out, (uint64_t)t->args.seed, t->args.seeds);
    }
    return report_end(&out, code);
}
