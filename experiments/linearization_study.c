#include "linearization.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double TUNE_LAMBDAS[TUNE_RIDGES] = {1, 3, 10, 30, 100, 300, 1000, 3000};

enum { PRETRAIN_BATCH = 64, MOST_STEPS = 20000, SELECTIVE_STEPS = 1000 };
#define SELECTIVE_RATE 0.1 /* over the largest curvature at the start: the rule is about flow */

/* What the parts of one study share. */
typedef struct bench {
    reproduction *r;
    digits data;
    far_net *net; /* pretrained: the start */
    far_mat x, y, test;
    double labels[TUNE_ROWS], test_labels[TUNE_TESTS];
    double start[TUNE_ROWS], test_start[TUNE_TESTS];   /* what it says there */
    double layers[TUNE_LAYERS][TUNE_ROWS * TUNE_ROWS]; /* the tangent kernel of each layer */
    double kernel[TUNE_ROWS * TUNE_ROWS];              /* their sum */
    double cross[TUNE_TESTS * TUNE_ROWS];              /* tests against rows */
    double *gradient, slope;                           /* of R at the start; its norm */
    double risk;                                       /* R at the start */
} bench;

/* ---- the start ----------------------------------------------------------------------------- */

static double part_right(const double *f, const double *labels, int64_t n)
{
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        right += (f[i] > 0) == (labels[i] > 0);
    }
    return (double)right / (double)n;
}

static far_status eval(bench *b, const far_net *net, const far_mat *x, double *f)
{
    far_mat out = far_mat_view(f, x->rows, 1, FAR_F64);
    return far_net_eval(b->r->ctx, net, x, &out);
}

/* On whether a digit is odd, with the rows that neither tuning nor tests see. */
static far_status pretrain(bench *b, const tune_order *order, double *accuracy)
{
    int64_t first = TUNE_ROWS + TUNE_TESTS, rows = b->data.rows - first;
    double *odd = ROOM(b->data.rows, double), f[TUNE_TESTS];
    far_mat x = digits_points(&b->data, first, rows), y;
    far_train_opts o;
    far_status st;
    for (int64_t i = 0; i < b->data.rows; i++) {
        odd[i] = digit_is_odd(b->data.digit[i]);
    }
    y = far_mat_view(odd + first, rows, 1, FAR_F64);
    far_train_opts_init(&o);
    o.epochs = order->epochs;
    o.batch = PRETRAIN_BATCH;
    o.seed = order->seed;
    TRY(new_net(b->r, TUNE_ARCH, DIGIT_PIXELS, FAR_INIT_TORCH, order->seed, &b->net));
    TRY(far_net_train(b->r->ctx, b->net, &x, &y, &o, NULL));
    TRY(eval(b, b->net, &b->test, f));
    *accuracy = part_right(f, odd + TUNE_ROWS, TUNE_TESTS);
done:
    free(odd);
    return st;
}

static far_status take_kernels(bench *b)
{
    far_mat layers[TUNE_LAYERS], *places[TUNE_LAYERS];
    far_mat cross = far_mat_view(b->cross, TUNE_TESTS, TUNE_ROWS, FAR_F64);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    for (int l = 0; l < TUNE_LAYERS; l++) {
        layers[l] = far_mat_view(b->layers[l], TUNE_ROWS, TUNE_ROWS, FAR_F64);
        places[l] = &layers[l];
    }
    far_status st = far_net_ntk_layers(b->r->ctx, b->net, &b->x, NULL, &o, places);
    for (int64_t i = 0; i < TUNE_ROWS * TUNE_ROWS && st == FAR_OK; i++) {
        b->kernel[i] = 0;
        for (int l = 0; l < TUNE_LAYERS; l++) {
            b->kernel[i] += b->layers[l][i];
        }
    }
    return st == FAR_OK ? far_net_ntk(b->r->ctx, b->net, &b->test, &b->x, &o, &cross) : st;
}

static double norm(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* gradient (as many numbers as parameters) of R at the network. */
static far_status gradient_of(bench *b, far_net *net, double *gradient)
{
    double f[TUNE_ROWS];
    far_mat u = far_mat_view(f, TUNE_ROWS, 1, FAR_F64);
    far_mat g = far_mat_view(gradient, 1, far_net_describe(net).parameters, FAR_F64);
    far_status st = eval(b, net, &b->x, f);
    for (int64_t i = 0; i < TUNE_ROWS && st == FAR_OK; i++) {
        f[i] -= b->labels[i];
    }
    return st == FAR_OK ? far_net_vjp(b->r->ctx, net, &b->x, &u, &g, NULL) : st;
}

static far_status take_start(bench *b)
{
    int64_t parameters = far_net_describe(b->net).parameters;
    far_status st;
    TRY(eval(b, b->net, &b->x, b->start));
    TRY(eval(b, b->net, &b->test, b->test_start));
    TRY(take_kernels(b));
    b->gradient = ROOM(parameters, double);
    TRY(gradient_of(b, b->net, b->gradient));
    b->slope = norm(b->gradient, parameters);
    for (int64_t i = 0; i < TUNE_ROWS; i++) {
        double off = b->start[i] - b->labels[i];
        b->risk += off * off / 2;
    }
done:
    return st;
}

static far_status open_bench(bench *b, const tune_order *order, study *s)
{
    far_status st;
    for (int64_t i = 0; i < TUNE_ROWS; i++) {
        b->labels[i] = digit_is_large(b->data.digit[i]);
    }
    for (int64_t i = 0; i < TUNE_TESTS; i++) {
        b->test_labels[i] = digit_is_large(b->data.digit[TUNE_ROWS + i]);
    }
    b->x = digits_points(&b->data, 0, TUNE_ROWS);
    b->y = far_mat_view(b->labels, TUNE_ROWS, 1, FAR_F64);
    b->test = digits_points(&b->data, TUNE_ROWS, TUNE_TESTS);
    TRY(pretrain(b, order, &s->pretrained));
    TRY(take_start(b));
    s->start_accuracy = part_right(b->test_start, b->test_labels, TUNE_TESTS);
done:
    return st;
}

/* ---- tuning under a penalty ---------------------------------------------------------------- */

static far_train_opts whole_batch(int64_t steps)
{
    far_train_opts o;
    far_train_opts_init(&o);
    o.optimizer = FAR_OPTIMIZER_GD;
    o.dtype = FAR_F64;
    o.epochs = steps;
    return o;
}

/* The library's loss is the mean of squares, R times 2 / N: the rate of descent on R becomes this.
 */
static double rate_for(double rate_of_risk)
{
    return rate_of_risk * TUNE_ROWS / 2;
}

/* Heavy ball with the best friction for curvatures from lambda to largest + lambda: those of the
 * linearised network, where a step takes 1 / root off. Where the network is not linear it needs
 * more of them. */
static far_train_opts descent_for(double largest, double lambda)
{
    double condition = (largest + lambda) / lambda, root = sqrt(condition);
    double steps = ceil(200 * root);
    far_train_opts o = whole_batch((int64_t)fmin(steps, MOST_STEPS));
    o.optimizer = FAR_OPTIMIZER_MOMENTUM;
    o.momentum = pow((root - 1) / (root + 1), 2);
    o.lr = rate_for(1 / (largest + lambda));
    o.l2_to_init = lambda;
    return o;
}

/* Of a sabotaged run: nothing holds the network at its start. */
static void let_go(const bench *b, far_train_opts *o)
{
    o->l2_to_init = b->r->sabotage ? 0 : o->l2_to_init;
}

/* |gradient of the objective| of a network that has been tuned, over that at the start. */
static far_status slope_at(bench *b, far_net *net, double lambda, double *slope)
{
    int64_t n = far_net_describe(net).parameters;
    double *gradient = ROOM(n, double);
    const double *p = far_net_parameters(net).data, *start = far_net_parameters(b->net).data;
    far_status st = gradient_of(b, net, gradient);
    for (int64_t i = 0; i < n; i++) {
        gradient[i] += lambda * (p[i] - start[i]);
    }
    *slope = norm(gradient, n) / b->slope;
    free(gradient);
    return st;
}

/* The linearised network at the minimum, on the tests: kernel ridge regression. */
static far_status solve_linear(bench *b, far_view *view, double lambda, double *f)
{
    double weights[TUNE_ROWS];
    far_mat start = far_mat_view(b->start, TUNE_ROWS, 1, FAR_F64);
    far_mat test_start = far_mat_view(b->test_start, TUNE_TESTS, 1, FAR_F64);
    far_mat cross = far_mat_view(b->cross, TUNE_TESTS, TUNE_ROWS, FAR_F64);
    far_mat w = far_mat_view(weights, TUNE_ROWS, 1, FAR_F64);
    far_mat out = far_mat_view(f, TUNE_TESTS, 1, FAR_F64);
    far_spectral s;
    far_spectral_init(&s);
    s.ridge = lambda;
    far_status st = far_spectral_fit(b->r->ctx, view, &s, &b->y, &start, NULL, NULL, &w);
    return st == FAR_OK ? far_spectral_predict(b->r->ctx, &cross, &w, &test_start, &out) : st;
}

static double distance(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(sum);
}

static far_status tune(bench *b, far_view *view, double largest, double lambda, tuned *out)
{
    double f[TUNE_TESTS], linear[TUNE_TESTS];
    far_net *net = NULL;
    far_train_opts o = descent_for(largest, lambda);
    far_train_result result;
    far_status st;
    let_go(b, &o);
    TRY(far_net_copy(b->r->ctx, b->net, &net));
    TRY(far_net_train(b->r->ctx, net, &b->x, &b->y, &o, &result));
    TRY(slope_at(b, net, lambda, &out->slope));
    TRY(eval(b, net, &b->test, f));
    TRY(solve_linear(b, view, lambda, linear));
    out->steps = result.steps;
    out->distance = result.distance;
    out->bound = sqrt(2 * b->risk / lambda);
    out->gap = distance(f, linear, TUNE_TESTS) / distance(linear, b->test_start, TUNE_TESTS);
    out->accuracy = part_right(f, b->test_labels, TUNE_TESTS);
    out->accuracy_linear = part_right(linear, b->test_labels, TUNE_TESTS);
done:
    far_net_destroy(net);
    return st;
}

static far_status tune_all(bench *b, study *s)
{
    far_view *view = NULL;
    far_spectrum spectrum;
    far_mat kernel = far_mat_view(b->kernel, TUNE_ROWS, TUNE_ROWS, FAR_F64);
    far_status st;
    TRY(far_view_create(b->r->ctx, &kernel, 0, &view));
    TRY(far_view_spectrum(b->r->ctx, view, 0, 1, &spectrum));
    for (int i = 0; i < TUNE_RIDGES; i++) {
        TRY(tune(b, view, spectrum.values[0], TUNE_LAMBDAS[i], &s->tuned[i]));
    }
done:
    far_view_destroy(view);
    return st;
}

/* ---- the selective rule -------------------------------------------------------------------- */

static double largest_rise(const double *losses, int64_t n)
{
    double rise = 0;
    for (int64_t i = 1; i < n; i++) {
        rise = fmax(rise, losses[i] - losses[i - 1]);
    }
    return rise;
}

static far_status rise_under(bench *b, double largest, double lambda, double *worst)
{
    double losses[SELECTIVE_STEPS];
    far_net *net = NULL;
    far_train_opts o = whole_batch(SELECTIVE_STEPS);
    far_status st;
    o.lr = rate_for(SELECTIVE_RATE / (largest + lambda));
    o.l2_to_init = lambda;
    o.selective = !b->r->sabotage;
    let_go(b, &o);
    if (b->r->sabotage) { /* with momentum descent swings */
        o.optimizer = FAR_OPTIMIZER_MOMENTUM;
        o.momentum = 0.99;
    }
    o.history = losses;
    TRY(far_net_copy(b->r->ctx, b->net, &net));
    TRY(far_net_train(b->r->ctx, net, &b->x, &b->y, &o, NULL));
    *worst = fmax(*worst, largest_rise(losses, SELECTIVE_STEPS) / losses[0]);
done:
    far_net_destroy(net);
    return st;
}

static far_status try_rule(bench *b, study *s)
{
    static const double LAMBDAS[] = {10, 100, 1000};
    double largest = s->subsets[TUNE_SUBSETS - 1].spectrum[0];
    far_status st = FAR_OK;
    for (int i = 0; i < 3 && st == FAR_OK; i++) {
        st = rise_under(b, largest, LAMBDAS[i], &s->rise);
    }
    return st;
}

/* ---- subsets of the layers ----------------------------------------------------------------- */

bool trains_first(const subset *s)
{
    return s->mask & 1;
}

static void add_kernels(const bench *b, unsigned mask, double *out)
{
    for (int64_t i = 0; i < TUNE_ROWS * TUNE_ROWS; i++) {
        out[i] = 0;
        for (int l = 0; l < TUNE_LAYERS; l++) {
            out[i] += mask >> l & 1 ? b->layers[l][i] : 0;
        }
    }
}

/* What its kernel says before training. */
static far_status foresee(bench *b, subset *s)
{
    double *kernel = ROOM(TUNE_ROWS * TUNE_ROWS, double), left[TUNE_ROWS];
    far_mat k = far_mat_view(kernel, TUNE_ROWS, TUNE_ROWS, FAR_F64);
    far_mat start = far_mat_view(b->start, TUNE_ROWS, 1, FAR_F64);
    far_mat residuals = far_mat_view(left, TUNE_ROWS, 1, FAR_F64);
    far_view *view = NULL;
    far_spectrum spectrum;
    far_condition condition;
    far_spectral ridge;
    far_status st;
    far_spectral_init(&ridge);
    ridge.ridge = LAYER_CONDITION_RIDGE;
    add_kernels(b, s->mask, kernel);
    TRY(far_view_create(b->r->ctx, &k, 0, &view));
    TRY(far_view_spectrum(b->r->ctx, view, 0, 1, &spectrum));
    memcpy(s->spectrum, spectrum.values, sizeof s->spectrum);
    for (int64_t i = 0; i < TUNE_ROWS; i++) {
        double part = 0;
        for (int64_t j = 0; j < TUNE_ROWS; j++) {
            part += spectrum.vectors[i * TUNE_ROWS + j] * (b->labels[j] - b->start[j]);
        }
        s->share[i] = part * part;
    }
    TRY(far_view_condition(b->r->ctx, view, LAYER_CONDITION_RIDGE, &condition));
    TRY(far_spectral_fit(b->r->ctx, view, &ridge, &b->y, &start, NULL, &residuals, NULL));
    s->condition = condition.condition;
    s->residual = norm(left, TUNE_ROWS);
done:
    far_view_destroy(view);
    free(kernel);
    return st;
}

static far_status train_subset(bench *b, subset *s)
{
    unsigned char layers[TUNE_LAYERS];
    double f[TUNE_TESTS];
    far_net *net = NULL;
    far_train_opts o = whole_batch(TUNE_SUBSET_STEPS);
    far_train_result result;
    far_status st;
    for (int l = 0; l < TUNE_LAYERS; l++) {
        layers[l] = s->mask >> l & 1;
    }
    o.layers = layers;
    o.lr = rate_for(1 / s->spectrum[0]);
    TRY(far_net_copy(b->r->ctx, b->net, &net));
    TRY(far_net_train(b->r->ctx, net, &b->x, &b->y, &o, &result));
    s->loss = result.final_loss / 2;
    TRY(eval(b, net, &b->test, f));
    s->accuracy = part_right(f, b->test_labels, TUNE_TESTS);
done:
    far_net_destroy(net);
    return st;
}

static far_status check_additions(bench *b, study *s)
{
    layer_choice choices[TUNE_SUBSETS];
    for (int i = 0; i < TUNE_SUBSETS; i++) {
        const subset *one = &s->subsets[i];
        choices[i] = (layer_choice){one->spectrum, one->share, one->condition};
    }
    return check_layer_bounds(b->r, TUNE_LAYERS, TUNE_ROWS, choices, &s->bounds);
}

/* ---- correlations -------------------------------------------------------------------------- */

typedef enum group { EVERY, WITH_FIRST, WITHOUT_FIRST } group;

static bool belongs(const subset *s, group g)
{
    return g == EVERY || trains_first(s) == (g == WITH_FIRST);
}

static double condition_of(const subset *s)
{
    return log(s->condition);
}

static double residual_of(const subset *s)
{
    return log(s->residual);
}

static double loss_of(const subset *s)
{
    return log(s->loss);
}

static double accuracy_of(const subset *s)
{
    return s->accuracy;
}

typedef double (*quantity)(const subset *s);

static far_status correlate(bench *b, const study *s, group g, quantity of, quantity with,
                            double *out)
{
    double x[TUNE_SUBSETS], y[TUNE_SUBSETS];
    int64_t count = 0;
    for (int i = 0; i < TUNE_SUBSETS; i++) {
        if (belongs(&s->subsets[i], g)) {
            x[count] = of(&s->subsets[i]);
            y[count++] = with(&s->subsets[i]);
        }
    }
    return far_correlation(b->r->ctx, FAR_PEARSON, x, y, count, out);
}

static far_status relate(bench *b, const study *s, quantity of, relation *out)
{
    far_status st;
    TRY(correlate(b, s, EVERY, of, loss_of, &out->all));
    TRY(correlate(b, s, WITH_FIRST, of, loss_of, &out->with_first));
    TRY(correlate(b, s, WITHOUT_FIRST, of, loss_of, &out->without_first));
done:
    return st;
}

/* Each subset gets the condition number of the layers that it leaves out. */
static void swap_conditions(study *s)
{
    for (int i = 0; i < TUNE_SUBSETS / 2; i++) {
        subset *one = &s->subsets[i], *other = &s->subsets[TUNE_SUBSETS - 2 - i];
        double condition = one->condition;
        one->condition = other->condition;
        other->condition = condition;
    }
}

static far_status try_subsets(bench *b, study *s)
{
    far_status st;
    for (unsigned mask = 1; mask <= TUNE_SUBSETS; mask++) {
        subset *one = &s->subsets[mask - 1];
        one->mask = mask;
        TRY(foresee(b, one));
        TRY(train_subset(b, one));
    }
    if (b->r->sabotage) {
        swap_conditions(s);
    }
    TRY(check_additions(b, s));
    TRY(relate(b, s, condition_of, &s->condition));
    TRY(relate(b, s, residual_of, &s->residual));
    TRY(correlate(b, s, EVERY, condition_of, accuracy_of, &s->condition_accuracy));
done:
    return st;
}

/* ---- studies ------------------------------------------------------------------------------- */

typedef struct work {
    const digits *data;
    const tune_order *orders;
    study *out;
} work;

static far_status one_study(reproduction *r, int64_t job, void *user)
{
    const work *w = user;
    const tune_order *order = &w->orders[job];
    study *s = &w->out[job];
    bench *b = ROOM(1, bench);
    far_status st;
    *s = (study){0};
    b->r = r;
    b->data = digits_shuffled(w->data, order->seed);
    TRY(open_bench(b, order, s));
    TRY(try_subsets(b, s));
    if (!order->layers_only) {
        TRY(tune_all(b, s));
        TRY(try_rule(b, s));
    }
done:
    far_net_destroy(b->net);
    digits_free(&b->data);
    free(b->gradient);
    free(b);
    return st;
}

far_status tune_studies(reproduction *r, const tune_order *orders, study *out, int64_t count)
{
    digits data;
    far_status st = digits_open(r, &data);
    work w = {&data, orders, out};
    if (st == FAR_OK) {
        digits_standardise(&data);
        st = side_by_side(r, "studies", count, one_study, &w);
    }
    digits_free(&data);
    return st;
}
