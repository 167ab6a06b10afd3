#define _GNU_SOURCE
#include "training.h"
#include "json.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *training_file(const train_args *a, const char *path, int64_t i)
{
    char *name = NULL;
    if (a->seeds == 1) {
        return strdup(path);
    }
    int stem = stem_length(path);
    int length = asprintf(&name, "%.*s-%lld%s", stem, path, (long long)(a->seed + i), path + stem);
    return length < 0 ? NULL : name;
}

/* ---- how well it fits ---------------------------------------------------------------------- */

static int64_t largest(const double *row, int64_t count)
{
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++) {
        best = row[k] > row[best] ? k : best;
    }
    return best;
}

/* The class of a row: one output says yes above 0, several vote. */
static int64_t class_of(const double *row, int64_t count, double yes)
{
    return count == 1 ? row[0] > yes : largest(row, count);
}

static double accuracy(const double *f, const double *y, int64_t n, int64_t o, double yes)
{
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        right += class_of(f + i * o, o, yes) == class_of(y + i * o, o, 0.5);
    }
    return (double)right / (double)n;
}

static double r2_of_column(const double *f, const double *y, int64_t n, int64_t o, int64_t k)
{
    double mean = 0, rest = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += y[i * o + k] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        double error = f[i * o + k] - y[i * o + k], spread = y[i * o + k] - mean;
        rest += error * error;
        all += spread * spread;
    }
    return all > 0 ? 1 - rest / all : NAN;
}

static double mean_r2(const double *f, const double *y, int64_t n, int64_t o)
{
    double sum = 0;
    for (int64_t k = 0; k < o; k++) {
        sum += r2_of_column(f, y, n, o, k);
    }
    return sum / (double)o;
}

int training_score(training *t, train_run *r)
{
    far_mat x = far_examples_inputs(t->data), y = far_examples_targets(t->data);
    double *f = malloc((size_t)(y.rows * y.cols) * sizeof *f + 1);
    if (!f) {
        return failure(t->s.verb, "out of memory");
    }
    far_mat out = far_mat_view(f, y.rows, y.cols, FAR_F64);
    far_status st = far_net_eval(t->s.ctx, r->net, &x, &out);
    double yes = t->opts.loss == FAR_LOSS_BCE ? 0 : 0.5;
    if (st == FAR_OK) {
        r->score = training_classifies(t) ? accuracy(f, y.data, y.rows, y.cols, yes)
                                          : mean_r2(f, y.data, y.rows, y.cols);
    }
    free(f);
    return st == FAR_OK ? EXIT_DONE : session_failure(&t->s, NULL);
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *word_of(const char *list, int index)
{
    static char buffer[24];
    return choice_word(list, index, buffer, sizeof buffer);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *end_word(const train_run *r)
{
    static const char *const WORDS[] = {"epochs", "stop-loss", "cancelled", "diverged"};
    return WORDS[r->result.end];
}

/* Where the network is kept; NULL: nowhere. */
static const char *kept_in(const train_run *r)
{
    return r->result.end == FAR_TRAIN_DIVERGED ? NULL : r->file;
}

static const char *score_name(const training *t)
{
    return training_classifies(t) ? "accuracy" : "R2";
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_file(const char *key, const char *path)
{
    if (path) {
        json_text_field(stdout, key, path);
    } else {
        json_null_field(stdout, key);
    }
}

static void json_score(const char *key, double score)
{
    if (isnan(score)) {
        json_null_field(stdout, key);
    } else {
        json_number_field(stdout, key, score);
    }
}

static void json_result(const training *t, const train_run *r)
{
    const far_train_result *s = &r->result;
    json_text_field(stdout, "end", end_word(r));
    json_number_field(stdout, "epochs", (double)s->epochs);
    json_number_field(stdout, "steps", (double)s->steps);
    json_number_field(stdout, "resumed_at", (double)s->resumed_at);
    json_number_field(stdout, "first_loss", s->first_loss);
    json_number_field(stdout, "loss", s->loss);
    json_number_field(stdout, "final_loss", s->final_loss);
    json_number_field(stdout, "best_loss", s->best_loss);
    json_number_field(stdout, "best_epoch", (double)s->best_epoch);
    json_number_field(stdout, "distance", s->distance);
    json_score(training_classifies(t) ? "accuracy_train" : "r2_train", r->score);
    json_number_field(stdout, "seconds", s->seconds);
    json_number_field(stdout, "flops_per_epoch", s->flops);
}

static void json_run(const training *t, int64_t i)
{
    const train_run *r = &t->runs[i];
    json_begin(stdout);
    json_number_field(stdout, "seed", (double)(t->args.seed + i));
    if (t->data) {
        json_result(t, r);
    }
    json_file("file", kept_in(r));
    tracking_print_json(t, i);
    json_close(stdout);
}

static void json_network(const training *t)
{
    far_net_info i = far_net_describe(t->runs[0].net);
    json_text_field(stdout, "arch", far_net_text(t->runs[0].net));
    json_text_field(stdout, "init", i.init < 0 ? "unknown" : word_of(INIT_LIST, i.init));
    json_text_field(stdout, "param", i.param == FAR_PARAM_NTK ? "ntk" : "standard");
    json_number_field(stdout, "inputs", (double)i.inputs);
    json_number_field(stdout, "outputs", (double)i.outputs);
    json_number_field(stdout, "layers", (double)i.layers);
    json_number_field(stdout, "parameters", (double)i.parameters);
    json_bool_field(stdout, "linearized", i.linearized);
}

static void json_run_options(const training *t)
{
    const far_train_opts *o = &t->opts;
    far_mat x = far_examples_inputs(t->data);
    json_number_field(stdout, "n", (double)x.rows);
    json_text_field(stdout, "task", training_classifies(t) ? "classify" : "regress");
    json_text_field(stdout, "optimizer", word_of(OPTIMIZER_LIST, o->optimizer));
    json_text_field(stdout, "loss_kind", word_of(LOSS_LIST, o->loss + 1));
    json_number_field(stdout, "lr", far_train_rate(o));
    json_number_field(stdout, "batch", (double)(o->batch > 0 ? o->batch : x.rows));
    json_text_field(stdout, "data_hash", far_columns_hash(far_examples_columns(t->data)));
    json_result(t, &t->runs[0]);
}

void training_print_json(const training *t)
{
    json_begin(stdout);
    json_network(t);
    if (t->data) {
        json_run_options(t);
    }
    json_file("file", kept_in(&t->runs[0]));
    json_key(stdout, "runs");
    putchar('[');
    for (int64_t i = 0; i < t->args.seeds; i++) {
        fputs(i ? ",\n " : "\n ", stdout);
        json_run(t, i);
    }
    putchar(']');
    json_end(stdout);
}

/* ---- the summary --------------------------------------------------------------------------- */

enum { LABEL_WIDTH = 14 };

static void print_label(const char *label)
{
    print("%-*s", LABEL_WIDTH, label);
}

static void print_network(const training *t)
{
    far_net_info i = far_net_describe(t->runs[0].net);
    print_label("architecture");
    print("%s\n", far_net_text(t->runs[0].net));
    print_label("weights");
    print("%lld in %lld layer%s, %lld input%s, %lld output%s%s\n", (long long)i.parameters,
          (long long)i.layers, plural(i.layers), (long long)i.inputs, plural(i.inputs),
          (long long)i.outputs, plural(i.outputs), i.linearized ? ", linearised" : "");
    print_label("start");
    if (i.init < 0) {
        print("%s\n", t->args.from ? t->args.from : "given");
    } else {
        print("%s, %s parametrisation\n", word_of(INIT_LIST, i.init),
              i.param == FAR_PARAM_NTK ? "ntk" : "standard");
    }
}

static void print_method(const training *t)
{
    const far_train_opts *o = &t->opts;
    int64_t rows = far_examples_inputs(t->data).rows;
    print_label("rows");
    print("%lld\n", (long long)rows);
    print_label("training");
    print("%s, rate %g, ", word_of(OPTIMIZER_LIST, o->optimizer), far_train_rate(o));
    print("loss %s, ", word_of(LOSS_LIST, o->loss + 1));
    if (o->batch > 0 && o->batch < rows) {
        print("batches of %lld\n", (long long)o->batch);
    } else {
        print("full batch\n");
    }
}

static void print_loss(const far_train_result *r)
{
    print_label("loss");
    print("%.6g", r->final_loss);
    if (r->epochs > 0) {
        print(", from %.6g at the start (%lld epoch%s%s)", r->first_loss, (long long)r->epochs,
              plural(r->epochs), r->end == FAR_TRAIN_STOP_LOSS ? ", stopped by --stop-loss" : "");
    }
    putchar('\n');
}

static void print_one(const training *t)
{
    const train_run *r = &t->runs[0];
    char time[SHOW_BYTES];
    double work = r->result.flops * (double)(r->result.epochs - r->result.resumed_at);
    print_loss(&r->result);
    print_label(training_classifies(t) ? "accuracy" : "train R2");
    print(isnan(r->score) ? "undefined: a target does not vary\n" : "%.6g\n", r->score);
    print_label("moved by");
    print("%.4g\n", r->result.distance);
    print_label("time");
    print("%s", show_time(r->result.seconds, time));
    if (work > 0 && r->result.seconds > 0) {
        print(" (%.3g GFLOP/s)", 1e-9 * work / r->result.seconds);
    }
    putchar('\n');
}

static void print_many(const training *t)
{
    print("\n%8s %8s %12s %12s %9s %9s  %-10s %s\n", "seed", "epochs", "first loss", "loss",
          score_name(t), "moved by", "ended", "file");
    for (int64_t i = 0; i < t->args.seeds; i++) {
        const train_run *r = &t->runs[i];
        print("%8lld %8lld %12.6g %12.6g %9.4f %9.4g  %-10s %s\n", (long long)(t->args.seed + i),
              (long long)r->result.epochs, r->result.first_loss, r->result.final_loss, r->score,
              r->result.distance, end_word(r), kept_in(r) ? kept_in(r) : "not kept");
    }
}

void training_print(const training *t)
{
    print_network(t);
    if (t->data) {
        print_method(t);
    }
    if (t->data && t->args.seeds > 1) {
        print_many(t);
        tracking_print(t);
        return;
    }
    if (t->data) {
        print_one(t);
    }
    for (int64_t i = 0; i < t->args.seeds; i++) {
        print_label(i ? "" : "network");
        print("%s\n", t->runs[i].file ? t->runs[i].file : "not saved; -o FILE keeps it");
    }
    tracking_print(t);
}
