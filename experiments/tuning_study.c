#define _GNU_SOURCE
#include "kept.h"
#include "side_by_side.h"
#include "tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const double TUNING_PULL[TUNING_PULLS] = {0.03, 0.1, 0.3, 1, 3, 10};
const char *const TUNING_PART_NAMES[TUNING_PARTS] = {"attention 1", "dense 1", "attention 2",
                                                     "dense 2"};

/* What the runs of one seed share. */
typedef struct seat {
    const tuning_plan *plan;
    tuning *out;
    tuning_data data;
    double *numbers;    /* of all tensors at the start: pretrained, A drawn, B = 0 */
    double *parameters; /* the parameters among them */
    unsigned char *layers[TUNING_CHOICES]; /* that a choice trains */
    double *part[TUNING_PARTS];            /* tangent kernels, n x n */
    double *cross;                         /* of all parts, tests against rows */
    double *start, *test_start;            /* what the network says before */
    double *linear[TUNING_PULLS];          /* what its linearisation says on the tests */
    double largest, risk, slope;           /* of K, R and its gradient at the start */
} seat;

static far_mat column(double *values, int64_t n)
{
    return far_mat_view(values, n, 1, FAR_F64);
}

/* ---- what an interrupted run has left ------------------------------------------------------ */

/* Folder/runs/NAME; free it. NULL: the folder cannot be made. */
static char *kept_path(const reproduction *r, const char *name)
{
    char *folder = text_of("%s/runs", r->folder), *path = NULL;
    if (mkdir(folder, 0777) == 0 || access(folder, W_OK) == 0) {
        path = text_of("%s/%s", folder, name);
    }
    free(folder);
    return path;
}

/* What a file must say to be taken for the result of this very run. */
static char *note_of(const reproduction *r, const tuning_plan *p)
{
    return text_of("%s, %lld epochs, %lld rows, %lld and %lld steps%s", p->head,
                   (long long)p->epochs, (long long)p->rows, (long long)p->pull_steps,
                   (long long)p->choice_steps, r->sabotage ? ", sabotaged" : "");
}

/* ---- pretraining --------------------------------------------------------------------------- */

static far_status loss_of_next(reproduction *r, const tuning_plan *p, uint64_t seed, far_net *net,
                               const far_mat *x, int64_t epochs, double *bits)
{
    far_train_opts o;
    far_train_result found;
    far_train_opts_init(&o);
    o.next = 1;
    o.loss = FAR_LOSS_CE;
    o.lr = 2e-3;
    o.epochs = epochs;
    o.batch = p->batch;
    o.seed = seed;
    far_status st = far_net_train(r->ctx, net, x, NULL, &o, &found);
    *bits = found.final_loss / M_LN2;
    return st;
}

static far_status load_pretrained(reproduction *r, const seat *s, const char *path, far_net **out)
{
    char *note = note_of(r, s->plan);
    far_status st = FAR_OK;
    *out = NULL;
    if (r->resume && access(path, R_OK) == 0) {
        st = far_net_load(r->ctx, path, NULL, out);
        const char *said = st == FAR_OK ? far_net_metadata(*out, "reproduce") : NULL;
        if (st == FAR_OK && (!said || strcmp(said, note) != 0)) {
            far_net_destroy(*out);
            *out = NULL;
        }
    }
    free(note);
    return st;
}

static far_status pretrain(reproduction *r, seat *s, far_net **out)
{
    const tuning_plan *p = s->plan;
    uint64_t seed = s->out->seed;
    char name[64], *path, *note = note_of(r, p);
    double fitted;
    far_status st;
    snprintf(name, sizeof name, "pretrained-%llu.safetensors", (unsigned long long)seed);
    path = kept_path(r, name);
    if (!path) {
        free(note);
        return fail(r, FAR_ERR_IO, "%s/runs: cannot make the folder", r->folder);
    }
    TRY(load_pretrained(r, s, path, out));
    if (!*out) {
        TRY(new_net(r, p->base, 0, FAR_INIT_TORCH, seed, out));
        TRY(loss_of_next(r, p, seed, *out, &s->data.windows, p->epochs, &fitted));
        TRY(far_net_set_metadata(r->ctx, *out, "reproduce", note));
        TRY(far_net_save(r->ctx, *out, path));
    }
    TRY(loss_of_next(r, p, seed, *out, &s->data.kept, 0, &s->out->bits));
done:
    FREE(path, note);
    return st;
}

/* ---- the start ----------------------------------------------------------------------------- */

/* Tensors of the same name: everything but the last layer, which is drawn. */
static void take_over(far_net *from, far_net *to)
{
    int64_t theirs = far_net_describe(from).tensors, ours = far_net_describe(to).tensors;
    for (int64_t i = 0; i < theirs; i++) {
        far_net_tensor_info a = far_net_tensor(from, i);
        for (int64_t k = 0; k < ours; k++) {
            far_net_tensor_info b = far_net_tensor(to, k);
            int64_t count = a.values.rows * a.values.cols;
            if (strcmp(a.name, b.name) == 0 && count == b.values.rows * b.values.cols) {
                memcpy(b.values.data, a.values.data, (size_t)count * sizeof(double));
            }
        }
    }
}

/* Networks belong to a context, and a context to one piece of work: what is kept are numbers. */
static void keep_net(seat *s, far_net *net)
{
    int64_t tensors = far_net_describe(net).tensors, parameters = far_net_describe(net).parameters;
    int64_t count = 0;
    s->numbers = ROOM(parameters + far_net_describe(net).frozen, double);
    s->parameters = ROOM(parameters, double);
    memcpy(s->parameters, far_net_parameters(net).data, (size_t)parameters * sizeof(double));
    for (int64_t i = 0; i < tensors; i++) {
        far_mat v = far_net_tensor(net, i).values;
        memcpy(s->numbers + count, v.data, (size_t)(v.rows * v.cols) * sizeof(double));
        count += v.rows * v.cols;
    }
}

static far_status start_net(reproduction *r, const seat *s, far_net **out)
{
    far_status st = new_net(r, s->plan->head, 0, FAR_INIT_LECUN, s->out->seed, out);
    int64_t count = 0;
    for (int64_t i = 0; st == FAR_OK && i < far_net_describe(*out).tensors; i++) {
        far_mat v = far_net_tensor(*out, i).values;
        memcpy(v.data, s->numbers + count, (size_t)(v.rows * v.cols) * sizeof(double));
        count += v.rows * v.cols;
    }
    return st;
}

/* The layers with lora, in their order: four a block, the first two of them attention's. */
static void find_layers(seat *s, far_net *net)
{
    int64_t layers = far_net_describe(net).layers, found = 0;
    for (int c = 0; c < TUNING_CHOICES; c++) {
        s->layers[c] = ROOM(layers, unsigned char);
    }
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        if (strstr(t.name, "lora_B")) {
            int64_t part = found / 4 * 2 + found % 4 / 2;
            for (unsigned mask = 1; mask <= TUNING_CHOICES; mask++) {
                s->layers[mask - 1][t.layer] = mask >> part & 1;
            }
            found++;
        }
    }
}

static far_status eval(reproduction *r, const seat *s, const far_net *net, const far_mat *x,
                       double *f)
{
    far_mat out = far_mat_view(f, x->rows, s->plan->classes, FAR_F64);
    return far_net_eval(r->ctx, net, x, &out);
}

static double norm(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

static double distance(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(sum);
}

static double part_right(const seat *s, const double *f)
{
    int64_t right = 0, n = s->data.test.rows, k = s->plan->classes;
    for (int64_t i = 0; i < n; i++) {
        right += largest_of(f + i * k, k) == s->data.labels[i];
    }
    return (double)right / (double)n;
}

/* |gradient of R + lambda / 2 |p - start|^2| by what trains. */
static far_status slope_at(reproduction *r, const seat *s, far_net *net, double lambda, double *out)
{
    int64_t parameters = far_net_describe(net).parameters, n = tuning_numbers(s->plan);
    double *f = ROOM(n, double), *g = ROOM(parameters, double), sum = 0;
    const double *p = far_net_parameters(net).data, *start = s->parameters;
    far_mat u = far_mat_view(f, s->data.x.rows, s->plan->classes, FAR_F64);
    far_mat gradient = far_mat_view(g, 1, parameters, FAR_F64);
    far_status st;
    TRY(eval(r, s, net, &s->data.x, f));
    for (int64_t i = 0; i < n; i++) {
        f[i] -= ((const double *)s->data.y.data)[i];
    }
    TRY(far_net_vjp(r->ctx, net, &s->data.x, &u, &gradient, NULL));
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        int64_t count = t.values.rows * t.values.cols;
        bool trains = t.parameter >= 0 && s->layers[TUNING_CHOICES - 1][t.layer];
        for (int64_t k = t.parameter; trains && k < t.parameter + count; k++) {
            double slope = g[k] + lambda * (p[k] - start[k]);
            sum += slope * slope;
        }
    }
    *out = sqrt(sum);
done:
    FREE(f, g);
    return st;
}

/* ---- kernels ------------------------------------------------------------------------------- */

static far_status take_kernels(reproduction *r, seat *s, const far_net *net)
{
    int64_t n = tuning_numbers(s->plan), tests = s->data.test.rows * s->plan->classes;
    far_ntk_opts o = {.size = sizeof o, .outputs = FAR_NTK_FULL};
    far_status st = FAR_OK;
    for (int part = 0; part < TUNING_PARTS && st == FAR_OK; part++) {
        s->part[part] = ROOM(n * n, double);
        far_mat k = far_mat_view(s->part[part], n, n, FAR_F64);
        o.layers = s->layers[(1 << part) - 1];
        st = far_net_ntk(r->ctx, net, &s->data.x, NULL, &o, &k);
    }
    if (st == FAR_OK) {
        s->cross = ROOM(tests * n, double);
        far_mat cross = far_mat_view(s->cross, tests, n, FAR_F64);
        o.layers = s->layers[TUNING_CHOICES - 1];
        st = far_net_ntk(r->ctx, net, &s->data.test, &s->data.x, &o, &cross);
    }
    return st;
}

/* K_S + nothing. */
static void add_parts(const seat *s, unsigned mask, double *out)
{
    int64_t n = tuning_numbers(s->plan);
    for (int64_t i = 0; i < n * n; i++) {
        out[i] = 0;
        for (int part = 0; part < TUNING_PARTS; part++) {
            out[i] += mask >> part & 1 ? s->part[part][i] : 0;
        }
    }
}

/* The linearised network at the minimum, on the tests, for every pull: kernel ridge regression. */
static far_status solve_linear(reproduction *r, seat *s, far_view *view)
{
    int64_t n = tuning_numbers(s->plan), tests = s->data.test.rows * s->plan->classes;
    double *weights = ROOM(n, double);
    far_mat y = column(s->data.y.data, n), start = column(s->start, n), w = column(weights, n);
    far_mat test_start = column(s->test_start, tests);
    far_mat cross = far_mat_view(s->cross, tests, n, FAR_F64);
    far_status st = FAR_OK;
    for (int i = 0; i < TUNING_PULLS && st == FAR_OK; i++) {
        far_spectral ridge;
        far_spectral_init(&ridge);
        ridge.ridge = TUNING_PULL[i] * s->largest;
        s->linear[i] = ROOM(tests, double);
        far_mat out = column(s->linear[i], tests);
        TRY(far_spectral_fit(r->ctx, view, &ridge, &y, &start, NULL, NULL, &w));
        TRY(far_spectral_predict(r->ctx, &cross, &w, &test_start, &out));
    }
done:
    free(weights);
    return st;
}

/* What the kernel of a choice says before training. */
static far_status foresee(reproduction *r, seat *s, unsigned mask)
{
    int64_t n = tuning_numbers(s->plan);
    choice *c = &s->out->choices[mask - 1];
    double *kernel = ROOM(n * n, double), *left = ROOM(n, double);
    const double *y = s->data.y.data;
    far_mat k = far_mat_view(kernel, n, n, FAR_F64), targets = column(s->data.y.data, n);
    far_mat start = column(s->start, n), residuals = column(left, n);
    far_view *view = NULL;
    far_spectrum spectrum;
    far_condition condition;
    far_spectral ridge;
    far_status st;
    far_spectral_init(&ridge);
    ridge.ridge = LAYER_CONDITION_RIDGE;
    add_parts(s, mask, kernel);
    TRY(far_view_create(r->ctx, &k, s->data.x.rows, &view));
    TRY(far_view_spectrum(r->ctx, view, 0, 1, &spectrum));
    c->spectrum = ROOM(n, double);
    c->share = ROOM(n, double);
    memcpy(c->spectrum, spectrum.values, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double along = 0;
        for (int64_t j = 0; j < n; j++) {
            along += spectrum.vectors[i * n + j] * (y[j] - s->start[j]);
        }
        c->share[i] = along * along;
    }
    TRY(far_view_condition(r->ctx, view, LAYER_CONDITION_RIDGE, &condition));
    TRY(far_spectral_fit(r->ctx, view, &ridge, &targets, &start, NULL, &residuals, NULL));
    c->condition = condition.condition;
    c->residual = norm(left, n);
    if (mask == TUNING_CHOICES) {
        s->largest = spectrum.values[0];
        TRY(solve_linear(r, s, view));
    }
done:
    far_view_destroy(view);
    FREE(kernel, left);
    return st;
}

static far_status one_start(reproduction *r, int64_t job, void *user)
{
    seat *s = (seat *)user + job;
    const tuning_plan *p = s->plan;
    int64_t n = tuning_numbers(p);
    far_net *base = NULL, *net = NULL;
    far_status st;
    TRY(tuning_draw(r, p, s->out->seed, &s->data));
    TRY(pretrain(r, s, &base));
    TRY(new_net(r, p->head, 0, FAR_INIT_LECUN, s->out->seed, &net));
    take_over(base, net);
    keep_net(s, net);
    find_layers(s, net);
    s->start = ROOM(n, double);
    s->test_start = ROOM(s->data.test.rows * p->classes, double);
    TRY(eval(r, s, net, &s->data.x, s->start));
    TRY(eval(r, s, net, &s->data.test, s->test_start));
    s->out->start = part_right(s, s->test_start);
    s->risk = pow(distance(s->start, s->data.y.data, n), 2) / 2;
    TRY(slope_at(r, s, net, 0, &s->slope));
    TRY(take_kernels(r, s, net));
    for (unsigned mask = 1; mask <= TUNING_CHOICES; mask++) {
        TRY(foresee(r, s, mask));
    }
done:
    far_net_destroy(base);
    far_net_destroy(net);
    return st;
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* With momentum 0.9 and a tenth of 1 over the curvature that the kernel knows of: as fast as with
 * that rate itself, and steady where the network, which is not linear, has 38 times as much. The
 * library's loss is the mean of squares, R times 2 / n. */
static far_train_opts descent(const seat *s, int64_t steps, double curvature)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_MOMENTUM;
    o.dtype = FAR_F64;
    o.epochs = steps;
    o.lr = 0.1 / curvature * (double)tuning_numbers(s->plan) / 2;
    return o;
}

static far_status run_pull(reproduction *r, seat *s, int i)
{
    int64_t tests = s->data.test.rows * s->plan->classes;
    double *f = ROOM(tests, double), lambda = TUNING_PULL[i] * s->largest;
    far_net *net = NULL;
    far_train_opts o = descent(s, s->plan->pull_steps, s->largest + lambda);
    far_train_result found;
    pulled *p = &s->out->pulled[i];
    far_status st;
    o.l2_to_init = r->sabotage ? 0 : lambda; /* sabotaged: nothing holds it at its start */
    o.layers = s->layers[TUNING_CHOICES - 1];
    TRY(start_net(r, s, &net));
    TRY(far_net_train(r->ctx, net, &s->data.x, &s->data.y, &o, &found));
    TRY(slope_at(r, s, net, lambda, &p->slope));
    TRY(eval(r, s, net, &s->data.test, f));
    *p = (pulled){.lambda = lambda,
                  .distance = found.distance,
                  .bound = sqrt(2 * s->risk / lambda),
                  .gap = distance(f, s->linear[i], tests) /
                         distance(s->linear[i], s->test_start, tests),
                  .accuracy = part_right(s, f),
                  .linear = part_right(s, s->linear[i]),
                  .slope = p->slope / s->slope,
                  .steps = (double)found.steps};
done:
    far_net_destroy(net);
    free(f);
    return st;
}

static far_status run_choice(reproduction *r, seat *s, int i)
{
    choice *c = &s->out->choices[i];
    double *f = ROOM(s->data.test.rows * s->plan->classes, double);
    far_net *net = NULL;
    far_train_opts o = descent(s, s->plan->choice_steps, c->spectrum[0]);
    far_train_result found;
    far_status st;
    o.layers = s->layers[i];
    TRY(start_net(r, s, &net));
    TRY(far_net_train(r->ctx, net, &s->data.x, &s->data.y, &o, &found));
    c->loss = found.final_loss / 2;
    TRY(eval(r, s, net, &s->data.test, f));
    c->accuracy = part_right(s, f);
done:
    far_net_destroy(net);
    free(f);
    return st;
}

/* The longest first: all seeds under the weakest pull, and so on; then the choices. */
typedef struct crew {
    seat *seats;
    int64_t seeds;
} crew;

static far_status one_run(reproduction *r, int64_t job, void *user)
{
    const crew *w = user;
    seat *s = &w->seats[job % w->seeds];
    int i = (int)(job / w->seeds);
    bool pull = i < TUNING_PULLS;
    choice *c = pull ? NULL : &s->out->choices[i - TUNING_PULLS];
    pulled *p = pull ? &s->out->pulled[i] : NULL;
    double *kept[8] = {NULL}, values[8];
    int count = 0;
    if (pull) {
        double *all[] = {&p->lambda,   &p->distance, &p->bound, &p->gap,
                         &p->accuracy, &p->linear,   &p->slope, &p->steps};
        memcpy(kept, all, sizeof all);
        count = 8;
    } else {
        kept[count++] = &c->loss;
        kept[count++] = &c->accuracy;
    }
    char *name = text_of("seed-%llu-%s-%d", (unsigned long long)s->out->seed,
                         pull ? "pull" : "choice", pull ? i + 1 : i - TUNING_PULLS + 1);
    char *note = note_of(r, s->plan);
    far_status st = FAR_OK;
    if (take_kept_numbers(r, name, note, values, count)) {
        for (int k = 0; k < count; k++) {
            *kept[k] = values[k];
        }
        goto done;
    }
    TRY(pull ? run_pull(r, s, i) : run_choice(r, s, i - TUNING_PULLS));
    for (int k = 0; k < count; k++) {
        values[k] = *kept[k];
    }
    TRY(keep_numbers_of(r, name, note, values, count));
done:
    FREE(name, note);
    return st;
}

/* ---- parts that are added ------------------------------------------------------------------ */

static far_status check_parts(reproduction *r, const tuning_plan *p, tuning *t)
{
    layer_choice choices[TUNING_CHOICES];
    for (int i = 0; i < TUNING_CHOICES; i++) {
        const choice *one = &t->choices[i];
        choices[i] = (layer_choice){one->spectrum, one->share, one->condition};
    }
    return check_layer_bounds(r, TUNING_PARTS, tuning_numbers(p), choices, &t->bounds);
}

/* Sabotaged: each choice has the condition number of the parts that it leaves out. */
static far_status relate(reproduction *r, tuning *t)
{
    double condition[TUNING_CHOICES], residual[TUNING_CHOICES], loss[TUNING_CHOICES];
    double accuracy[TUNING_CHOICES];
    far_status st;
    for (int i = 0; i < TUNING_CHOICES; i++) {
        bool other = r->sabotage && i < TUNING_CHOICES - 1;
        condition[i] = log(t->choices[other ? TUNING_CHOICES - 2 - i : i].condition);
        residual[i] = log(t->choices[i].residual);
        loss[i] = log(t->choices[i].loss);
        accuracy[i] = t->choices[i].accuracy;
    }
    TRY(far_correlation(r->ctx, FAR_PEARSON, condition, loss, TUNING_CHOICES, &t->with_condition));
    TRY(far_correlation(r->ctx, FAR_PEARSON, residual, loss, TUNING_CHOICES, &t->with_residual));
    TRY(far_correlation(r->ctx, FAR_PEARSON, condition, accuracy, TUNING_CHOICES,
                        &t->with_accuracy));
done:
    return st;
}

/* ---- all seeds ----------------------------------------------------------------------------- */

static void free_seat(seat *s)
{
    tuning_data_free(&s->data);
    FREE(s->numbers, s->parameters, s->cross, s->start, s->test_start);
    for (int i = 0; i < TUNING_PARTS; i++) {
        free(s->part[i]);
    }
    for (int i = 0; i < TUNING_PULLS; i++) {
        free(s->linear[i]);
    }
    for (int i = 0; i < TUNING_CHOICES; i++) {
        free(s->layers[i]);
    }
}

far_status tuning_studies(reproduction *r, const tuning_plan *p, tuning *out)
{
    seat *seats = ROOM(p->seeds, seat);
    crew w = {seats, p->seeds};
    far_status st;
    for (int64_t k = 0; k < p->seeds; k++) {
        out[k] = (tuning){.seed = (uint64_t)k};
        seats[k] = (seat){.plan = p, .out = &out[k]};
    }
    TRY(side_by_side(r, "pretraining", p->seeds, one_start, seats));
    TRY(side_by_side(r, "tuning", p->seeds * (TUNING_PULLS + TUNING_CHOICES), one_run, &w));
    for (int64_t k = 0; k < p->seeds; k++) {
        TRY(check_parts(r, p, &out[k]));
        TRY(relate(r, &out[k]));
    }
done:
    for (int64_t k = 0; k < p->seeds; k++) {
        free_seat(&seats[k]);
    }
    free(seats);
    return st;
}

void tuning_free(tuning *t)
{
    for (int i = 0; i < TUNING_CHOICES; i++) {
        free(t->choices[i].spectrum);
        free(t->choices[i].share);
    }
}
