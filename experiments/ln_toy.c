#define _GNU_SOURCE
#include "ln_toy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const LN_NAMES[LN_NETS] = {"Standard NN", "LN first", "LN second", "LN every"};
const char *const LN_WORDS[LN_NETS] = {"none", "first", "second", "every"};
const char *const TOY_NAMES[TOY_SETS] = {"sin x", "x", "x^2"};
const char *const TOY_LABELS[TOY_SETS] = {"sin x", "x", "x^{2}"};
const char *const TOY_WORDS[TOY_SETS] = {"sine", "line", "square"};

static bool starts(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static bool has_norm(const char *arch)
{
    return starts(arch, "ln") || strstr(arch, " ln");
}

/* Norms away; or, where there are none, one behind every dense layer that is not the last. */
static char *swap_norms(const char *arch)
{
    bool had = has_norm(arch);
    char *out = text_of("%s", ""), *rest = text_of("%s", arch), *left = rest, *word;
    while ((word = strsep(&left, " "))) {
        bool dense = starts(word, "dense"), last = !left || !strstr(left, "dense");
        if (*word && !starts(word, "ln") && !starts(word, "batchnorm")) {
            char *longer = text_of("%s%s%s%s", out, *out ? " " : "", word,
                                   !had && dense && !last ? " ln" : "");
            free(out);
            out = longer;
        }
    }
    free(rest);
    return out;
}

char *arch_of(const reproduction *r, const char *arch)
{
    return r->sabotage ? swap_norms(arch) : text_of("%s", arch);
}

char *net_text(const reproduction *r, int where, const char *norm, const char *activation)
{
    bool first = where == LN_FIRST || where == LN_EVERY;
    bool second = where == LN_SECOND || where == LN_EVERY;
    char *plain = text_of("dense(128) %s %s dense(128) %s %s dense(1)", first ? norm : "",
                          activation, second ? norm : "", activation);
    char *out = arch_of(r, plain);
    free(plain);
    return out;
}

static double toy_value(int set, double x)
{
    return set == TOY_SINE ? sin(x) : set == TOY_LINE ? x : x * x;
}

void toy_fill(int set, double *x, double *y)
{
    spread(-5, 5, x, TOY_POINTS);
    for (int i = 0; i < TOY_POINTS; i++) {
        y[i] = toy_value(set, x[i]);
    }
}

int64_t toy_seeds(const reproduction *r)
{
    return seeds_of(r, 2, 5);
}

int64_t toy_epochs(const reproduction *r, int64_t quick)
{
    return epochs_of(r, quick, 3000);
}

far_status keep_toy_protocol(reproduction *r, int64_t quick_epochs)
{
    return keep_text(
        r,
        "Protocol: %d equispaced points of [-5, 5] (the paper does not give the range); networks "
        "of two hidden layers of 128, Kaiming initialisation with bias variance 0.01, Adam with "
        "rate 0.001 on the mean squared error, full batch, %lld epochs, %lld seeds. Norms stand "
        "between dense layer and activation; layer norms have eps 1e-5 and neither scale nor "
        "shift (the paper does not say). Bands are 95%% intervals of the mean over seeds.",
        TOY_POINTS, (long long)toy_epochs(r, quick_epochs), (long long)toy_seeds(r));
}

/* ---- training ------------------------------------------------------------------------------ */

static char *network_path(const reproduction *r, const family_plan *plan, int64_t seed)
{
    return text_of("%s/networks/%s-%lld.safetensors", r->folder, plan->name, (long long)seed);
}

/* What a file of a trained network must say to be taken for it. */
static char *training_note(const reproduction *r, const family_plan *plan)
{
    return text_of("%s on %s, %lld epochs%s", plan->arch, TOY_NAMES[plan->set],
                   (long long)toy_epochs(r, plan->quick_epochs), r->sabotage ? ", sabotaged" : "");
}

static const char NOTE_KEY[] = "reproduce";

/* The network of that seed from an earlier run; NULL if there is none. */
static far_net *load_trained(reproduction *r, const family_plan *plan, int64_t seed)
{
    char *path = network_path(r, plan, seed), *note = training_note(r, plan);
    far_net *net = NULL;
    if (access(path, R_OK) == 0 && far_net_load(r->ctx, path, NULL, &net) == FAR_OK) {
        const char *said = far_net_metadata(net, NOTE_KEY);
        if (!said || strcmp(said, note) != 0) {
            far_net_destroy(net);
            net = NULL;
        }
    }
    free(path);
    free(note);
    return net;
}

static bool load_family(reproduction *r, const family_plan *plan, family *f)
{
    bool all = r->resume;
    for (int64_t i = 0; i < f->count && all; i++) {
        f->nets[i] = load_trained(r, plan, i);
        all = f->nets[i] != NULL;
    }
    for (int64_t i = 0; i < f->count && !all; i++) {
        far_net_destroy(f->nets[i]);
        f->nets[i] = NULL;
    }
    return all;
}

static far_status draw_family(reproduction *r, const family_plan *plan, family *f)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < f->count && st == FAR_OK; i++) {
        st = new_net(r, plan->arch, 1, FAR_INIT_KAIMING_NORMAL, (uint64_t)i, &f->nets[i]);
    }
    return st;
}

static far_status save_family(reproduction *r, const family_plan *plan, family *f)
{
    char *folder = text_of("%s/networks", r->folder), *note = training_note(r, plan);
    far_status st = FAR_OK;
    if (mkdir(folder, 0777) != 0 && access(folder, W_OK) != 0) {
        st = fail(r, FAR_ERR_IO, "%s: cannot make the folder", folder);
    }
    for (int64_t i = 0; i < f->count && st == FAR_OK; i++) {
        char *path = network_path(r, plan, i);
        st = far_net_set_metadata(r->ctx, f->nets[i], NOTE_KEY, note);
        st = st == FAR_OK ? far_net_save(r->ctx, f->nets[i], path) : st;
        free(path);
    }
    free(folder);
    free(note);
    return st;
}

static far_status train_family(reproduction *r, const family_plan *plan, family *f)
{
    double x[TOY_POINTS], y[TOY_POINTS];
    far_mat xs = far_mat_view(x, TOY_POINTS, 1, FAR_F64);
    far_mat ys = far_mat_view(y, TOY_POINTS, 1, FAR_F64);
    uint64_t *seeds = ROOM(f->count, uint64_t);
    far_train_opts opts;
    far_status st;
    toy_fill(plan->set, x, y);
    for (int i = 0; r->sabotage && i < TOY_POINTS; i++) {
        y[i] = toy_value(plan->set, x[(37 * i) % TOY_POINTS]); /* targets of other points */
    }
    far_train_opts_init(&opts);
    opts.epochs = toy_epochs(r, plan->quick_epochs);
    TRY(draw_family(r, plan, f));
    TRY(far_net_train_many(r->ctx, f->nets, f->count, &xs, &ys, &opts, seeds, NULL, NULL));
    TRY(save_family(r, plan, f));
done:
    free(seeds);
    return st;
}

/* ---- what the networks do ------------------------------------------------------------------ */

static far_status net_at(reproduction *r, const far_net *net, const double *x, int64_t n,
                         double *out)
{
    far_mat xs = far_mat_view((void *)x, n, 1, FAR_F64), ys = far_mat_view(out, n, 1, FAR_F64);
    return far_net_eval(r->ctx, net, &xs, &ys);
}

static double r2_of(const double *f, const double *y, int64_t n)
{
    double mean = 0, error = 0, variance = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += y[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        error += (f[i] - y[i]) * (f[i] - y[i]);
        variance += (y[i] - mean) * (y[i] - mean);
    }
    return 1 - error / variance;
}

static far_status score_family(reproduction *r, const family_plan *plan, family *f)
{
    double x[TOY_POINTS], y[TOY_POINTS], out[TOY_POINTS];
    far_status st = FAR_OK;
    toy_fill(plan->set, x, y);
    f->r2 = 1;
    for (int64_t i = 0; i < f->count && st == FAR_OK; i++) {
        st = net_at(r, f->nets[i], x, TOY_POINTS, out);
        f->r2 = fmin(f->r2, r2_of(out, y, TOY_POINTS));
    }
    return st;
}

static void count_bound(family *f, const far_bound *b)
{
    if (b->verdict == FAR_BOUNDED) {
        f->bounded++;
        f->bound = fmax(f->bound, b->tightest);
        f->found = fmax(f->found, b->sup_found);
    } else if (b->verdict == FAR_UNBOUNDED) {
        double slope = fabs(b->slope);
        f->least_slope = f->unbounded > 0 ? fmin(f->least_slope, slope) : slope;
        f->most_slope = fmax(f->most_slope, slope);
        f->unbounded++;
    }
}

static far_status certify_family(reproduction *r, family *f)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = r->quick ? 1 : opts.seconds;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < f->count && st == FAR_OK; i++) {
        far_certificate *c = NULL;
        far_predictor *p = NULL;
        st = far_predictor_of_net(r->ctx, f->nets[i], &p);
        st = st == FAR_OK ? far_predictor_certify(r->ctx, p, &opts, &c) : st;
        if (st == FAR_OK) {
            count_bound(f, far_certificate_bound(c, 0));
        }
        far_certificate_destroy(c);
        far_predictor_destroy(p);
    }
    return st;
}

void family_free(family *f)
{
    for (int64_t i = 0; f->nets && i < f->count; i++) {
        far_net_destroy(f->nets[i]);
    }
    free(f->nets);
    *f = (family){0};
}

far_status family_create(reproduction *r, const family_plan *plan, family *out)
{
    far_status st = FAR_OK;
    *out = (family){.count = toy_seeds(r), .nets = ROOM(toy_seeds(r), far_net *)};
    if (!load_family(r, plan, out)) {
        TRY(train_family(r, plan, out));
    }
    TRY(score_family(r, plan, out));
    TRY(certify_family(r, out));
done:
    if (st != FAR_OK) {
        family_free(out);
    }
    return st;
}

/* values: one row a network. */
static far_status column_intervals(reproduction *r, const double *values, int64_t rows, int64_t n,
                                   double *mean, double *half)
{
    double *column = ROOM(rows, double);
    far_status st = FAR_OK;
    for (int64_t j = 0; j < n && st == FAR_OK; j++) {
        for (int64_t i = 0; i < rows; i++) {
            column[i] = values[i * n + j];
        }
        st = far_mean_interval(r->ctx, column, rows, &mean[j], &half[j]);
    }
    free(column);
    return st;
}

far_status family_curve(reproduction *r, const family *f, const double *x, int64_t n, double *mean,
                        double *half)
{
    double *values = ROOM(f->count * n, double);
    far_status st = FAR_OK;
    for (int64_t i = 0; i < f->count && st == FAR_OK; i++) {
        st = net_at(r, f->nets[i], x, n, values + i * n);
    }
    if (st == FAR_OK) {
        st = column_intervals(r, values, f->count, n, mean, half);
    }
    free(values);
    return st;
}

far_status family_at(reproduction *r, const family *f, double x, double *mean)
{
    double half;
    return family_curve(r, f, &x, 1, mean, &half);
}

/* ---- claims -------------------------------------------------------------------------------- */

static const double FAR_AWAY = 1e6;

far_status claim_proven(reproduction *r, const family *f, bool bounded, const char *what)
{
    int64_t proven = bounded ? f->bounded : f->unbounded;
    double there = 0;
    far_status st = family_at(r, f, FAR_AWAY, &there);
    if (st != FAR_OK) {
        return st;
    }
    const char *ours =
        bounded ? words(r, "bounded, |f| <= %.4g for every x (%.4g is reached)",
                        far_round_up(f->bound, 4), far_round_down(f->found, 4))
                : words(r, "unbounded, |slope| %.3g to %.3g", f->least_slope, f->most_slope);
    return claim(r,
                 &(claim_of){.what = what,
                             .paper = bounded ? "stays bounded" : "runs away",
                             .place = "Figure 1",
                             .tested = "a certificate of every network",
                             .seeds = f->count,
                             .agrees = proven == f->count},
                 "%lld of %lld proven %s; f(1e6) = %.3g", (long long)proven, (long long)f->count,
                 ours, there);
}

/* ---- infinite width ------------------------------------------------------------------------ */

/* Columns x1, x2, ... and y. */
static far_status frame_of(reproduction *r, const far_mat *x, const double *y, far_frame **out)
{
    int64_t n = x->rows, d = x->cols;
    double *values = ROOM(n * (d + 1), double);
    char **names = ROOM(d + 1, char *);
    for (int64_t i = 0; i < n; i++) {
        memcpy(values + i * (d + 1), (const double *)x->data + i * d, (size_t)d * sizeof *values);
        values[i * (d + 1) + d] = y[i];
    }
    for (int64_t j = 0; j <= d; j++) {
        names[j] = j < d ? text_of("x%lld", (long long)j + 1) : text_of("y");
    }
    far_mat m = far_mat_view(values, n, d + 1, FAR_F64);
    far_status st = far_frame_from_mat(r->ctx, &m, (const char *const *)names, out);
    for (int64_t j = 0; j <= d; j++) {
        free(names[j]);
    }
    free(names);
    free(values);
    return st;
}

far_status infinite_fit_rows(reproduction *r, const char *arch, const far_mat *x, const double *y,
                             far_predictor **out)
{
    far_frame *frame = NULL;
    far_fit_opts opts;
    far_status st = frame_of(r, x, y, &frame);
    far_fit_opts_init(&opts);
    opts.target = "y";
    opts.arch = arch;
    opts.standardize = 0;
    opts.ridge = 0;
    *out = NULL;
    if (st == FAR_OK) {
        st = far_predictor_fit(r->ctx, frame, &opts, out);
    }
    far_frame_destroy(frame);
    return st;
}

far_status infinite_fit(reproduction *r, const char *arch, const double *x, const double *y,
                        int64_t n, far_predictor **out)
{
    far_mat points = far_mat_view((double *)x, n, 1, FAR_F64);
    return infinite_fit_rows(r, arch, &points, y, out);
}

far_status infinite_at(reproduction *r, const far_predictor *m, const double *x, int64_t n,
                       double *out)
{
    far_mat in = far_mat_view((double *)x, n, 1, FAR_F64), f = far_mat_view(out, n, 1, FAR_F64);
    return far_predictor_eval(r->ctx, m, &in, &f);
}

far_status infinite_limit(reproduction *r, const far_predictor *m, double direction, double *value,
                          double *order)
{
    far_mat u = far_mat_view(&direction, 1, 1, FAR_F64), v = far_mat_view(value, 1, 1, FAR_F64);
    far_mat o = far_mat_view(order, 1, 1, FAR_F64);
    return far_predictor_limit(r->ctx, m, &u, &v, &o);
}

far_status draw_toy(reproduction *r, far_figure *figure, int set)
{
    double x[TOY_POINTS], y[TOY_POINTS];
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, "training data");
    mark.width = 7; /* to be seen behind the lines */
    mark.opacity = 0.08;
    toy_fill(set, x, y);
    return far_figure_points(r->ctx, figure, x, y, TOY_POINTS, &mark);
}
