#include "linearized.h"
#include "parts.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t TASK_INDICES[EIGEN_TASKS] = {2, 5, 10, 20, 30, 50, 100, 200, 300};

/* As the authors train. */
enum { BATCH = 128, SEGMENTS = 10 };
#define RATE 0.05

/* Rows and tasks of one seed: training rows first, tests behind the most of them. */
typedef struct pool {
    digits data;
    double *labels[TASKS]; /* +1 or -1, for every row of the pool */
} pool;

typedef struct work {
    const digits *data;
    const task_plan *plan;
    pool *pools;
    task_score *out;
} work;

const task_score *score_at(const task_plan *p, const task_score *scores, int64_t seed, int64_t size,
                           int64_t task)
{
    return &scores[(seed * p->size_count + size) * TASKS + task];
}

static far_mat tests_of(const task_plan *p, const pool *from)
{
    return digits_points(&from->data, p->sizes[0], p->tests);
}

static far_status start_net(reproduction *r, uint64_t seed, far_net **out)
{
    return new_net(r, TASK_ARCH, DIGIT_PIXELS, FAR_INIT_LECUN, seed, out);
}

static double part_right(const double *f, const double *labels, int64_t n)
{
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        right += (f[i] > 0) == (labels[i] > 0);
    }
    return (double)right / (double)n;
}

/* ---- tasks --------------------------------------------------------------------------------- */

static void shuffle(double *labels, int64_t n)
{
    uint64_t chance = 1;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(uniform(&chance) * (double)(i + 1));
        double held = labels[i];
        labels[i] = labels[j];
        labels[j] = held;
    }
}

/* The signs of eigenvectors of the kernel of all rows. */
static far_status make_tasks(reproduction *r, const far_mat *kernel, pool *out)
{
    far_view *view = NULL;
    far_spectrum spectrum;
    int64_t n = kernel->rows;
    far_status st;
    TRY(far_view_create(r->ctx, kernel, 0, &view));
    TRY(far_view_spectrum(r->ctx, view, TASK_INDICES[EIGEN_TASKS - 1], 1, &spectrum));
    for (int i = 0; i < TASKS; i++) {
        out->labels[i] = ROOM(n, double);
    }
    for (int i = 0; i < EIGEN_TASKS; i++) {
        far_mat labels = far_mat_view(out->labels[i], n, 1, FAR_F64);
        TRY(far_view_task(r->ctx, view, TASK_INDICES[i], &labels));
    }
    for (int64_t i = 0; i < n; i++) {
        out->labels[PARITY][i] = digit_is_odd(out->data.digit[i]);
    }
    for (int i = 0; r->sabotage && i < TASKS; i++) {
        shuffle(out->labels[i], n);
    }
done:
    far_view_destroy(view);
    return st;
}

/* ---- kernel regression --------------------------------------------------------------------- */

/* f (tests x q) = cross (K + ridge)^-1 y, with y rows x q. */
static far_status regress(reproduction *r, const far_mat *kernel, const far_mat *cross,
                          const far_mat *y, far_mat *f)
{
    double *weights = ROOM(y->rows * y->cols, double);
    far_mat w = far_mat_view(weights, y->rows, y->cols, FAR_F64);
    far_symmetric a = far_symmetric_of(kernel);
    far_system *system = NULL;
    far_solve_opts o;
    far_status st;
    far_solve_opts_init(&o);
    o.ridge = TASK_RIDGE;
    o.ridge_kind = FAR_RIDGE_RELATIVE;
    o.extremes = 0;
    TRY(far_system_create(r->ctx, &a, &o, &system));
    TRY(far_system_solve(r->ctx, system, y, &w, NULL, NULL));
    TRY(far_multiply(r->ctx, cross, &w, f));
done:
    far_system_destroy(system);
    free(weights);
    return st;
}

static far_status align(reproduction *r, const far_mat *kernel, double *labels, double *kta,
                        double *centred)
{
    far_mat y = far_mat_view(labels, kernel->rows, 1, FAR_F64);
    far_view *view = NULL;
    far_alignment found = {0};
    far_status st = far_view_create(r->ctx, kernel, 0, &view);
    if (st == FAR_OK) {
        st = far_view_align(r->ctx, view, &y, &found);
    }
    *kta = found.kta;
    *centred = found.centred_kta;
    far_view_destroy(view);
    return st;
}

/* Every task at once, with the kernel at the start and so many training rows of it. */
static far_status regress_all(reproduction *r, const work *w, int64_t seed, const far_mat *kernel,
                              int64_t size)
{
    const task_plan *p = w->plan;
    const pool *from = &w->pools[seed];
    int64_t rows = p->sizes[size], tests = p->tests;
    double *values = ROOM((rows + tests) * TASKS, double), *column = ROOM(tests, double);
    far_mat y = far_mat_view(values, rows, TASKS, FAR_F64);
    far_mat f = far_mat_view(values + rows * TASKS, tests, TASKS, FAR_F64);
    far_mat train = *kernel, cross = *kernel;
    far_status st;
    train.rows = train.cols = cross.cols = rows;
    cross.data = (double *)kernel->data + p->sizes[0] * kernel->ld;
    cross.rows = tests;
    for (int64_t i = 0; i < rows * TASKS; i++) {
        values[i] = from->labels[i % TASKS][i / TASKS];
    }
    TRY(regress(r, &train, &cross, &y, &f));
    for (int k = 0; k < TASKS; k++) {
        task_score *s = (task_score *)score_at(p, w->out, seed, size, k);
        for (int64_t i = 0; i < tests; i++) {
            column[i] = ((double *)f.data)[i * TASKS + k];
        }
        *s = (task_score){.linear_end = NAN, .kta_end = NAN, .centred_end = NAN};
        s->linear = part_right(column, from->labels[k] + p->sizes[0], tests);
        TRY(align(r, &train, from->labels[k], &s->kta, &s->centred));
    }
done:
    free(values);
    free(column);
    return st;
}

/* The kernel of a network as it starts: its tasks, and what it makes of them itself. */
static far_status one_start(reproduction *r, int64_t job, void *user)
{
    const work *w = user;
    const task_plan *p = w->plan;
    pool *mine = &w->pools[job];
    int64_t n = p->sizes[0] + p->tests;
    double *values = ROOM(n * n, double);
    far_mat x, kernel = far_mat_view(values, n, n, FAR_F64);
    far_net *net = NULL;
    far_ntk_opts o;
    far_status st;
    o = (far_ntk_opts){.size = sizeof o};
    mine->data = digits_shuffled(w->data, (uint64_t)job);
    x = digits_points(&mine->data, 0, n);
    TRY(start_net(r, (uint64_t)job, &net));
    TRY(far_net_ntk(r->ctx, net, &x, NULL, &o, &kernel));
    TRY(make_tasks(r, &kernel, mine));
    for (int64_t size = 0; size < p->size_count; size++) {
        TRY(regress_all(r, w, job, &kernel, size));
    }
done:
    far_net_destroy(net);
    free(values);
    return st;
}

/* ---- networks ------------------------------------------------------------------------------ */

/* The rate falls along a line, in steps; each begins without velocity. */
static far_status train(reproduction *r, const task_plan *p, far_net *net, const far_mat *x,
                        const double *labels, uint64_t seed)
{
    double *yes = ROOM(x->rows, double);
    far_mat y = far_mat_view(yes, x->rows, 1, FAR_F64);
    far_status st = FAR_OK;
    for (int64_t i = 0; i < x->rows; i++) {
        yes[i] = labels[i] > 0;
    }
    for (int k = 0; k < SEGMENTS && st == FAR_OK && !r->sabotage; k++) {
        far_train_opts o;
        far_train_opts_init(&o);
        o.optimizer = FAR_OPTIMIZER_MOMENTUM;
        o.loss = FAR_LOSS_BCE;
        o.lr = RATE * (1 - (k + 0.5) / SEGMENTS);
        o.batch = BATCH;
        o.epochs = p->epochs * (k + 1) / SEGMENTS - p->epochs * k / SEGMENTS;
        o.seed = seed * SEGMENTS + (uint64_t)k;
        st = far_net_train(r->ctx, net, x, &y, &o, NULL);
    }
    free(yes);
    return st;
}

static far_status accuracy(reproduction *r, const far_net *net, const far_mat *x,
                           const double *labels, double *out)
{
    double *f = ROOM(x->rows, double);
    far_mat values = far_mat_view(f, x->rows, 1, FAR_F64);
    far_status st = far_net_eval(r->ctx, net, x, &values);
    *out = part_right(f, labels, x->rows);
    free(f);
    return st;
}

/* Regression with the kernel that training has left. */
static far_status look_at_end(reproduction *r, const task_plan *p, const pool *from, int64_t task,
                              const far_net *net, task_score *s)
{
    int64_t rows = p->sizes[0], tests = p->tests;
    double *values = ROOM((rows + tests) * rows + tests, double), *labels = from->labels[task];
    far_mat x = digits_points(&from->data, 0, rows), t = tests_of(p, from);
    far_mat kernel = far_mat_view(values, rows, rows, FAR_F64);
    far_mat cross = far_mat_view(values + rows * rows, tests, rows, FAR_F64);
    far_mat f = far_mat_view(values + (rows + tests) * rows, tests, 1, FAR_F64);
    far_mat y = far_mat_view(labels, rows, 1, FAR_F64);
    far_ntk_opts o;
    far_status st;
    o = (far_ntk_opts){.size = sizeof o};
    TRY(far_net_ntk(r->ctx, net, &x, NULL, &o, &kernel));
    TRY(far_net_ntk(r->ctx, net, &t, &x, &o, &cross));
    TRY(align(r, &kernel, labels, &s->kta_end, &s->centred_end));
    TRY(regress(r, &kernel, &cross, &y, &f));
    s->linear_end = part_right(f.data, labels + rows, tests);
done:
    free(values);
    return st;
}

static far_status one_network(reproduction *r, int64_t job, void *user)
{
    const work *w = user;
    const task_plan *p = w->plan;
    int64_t task = job % TASKS, size = job / TASKS % p->size_count;
    int64_t seed = job / TASKS / p->size_count;
    const pool *from = &w->pools[seed];
    task_score *s = &w->out[job];
    const double *labels = from->labels[task];
    far_mat x = digits_points(&from->data, 0, p->sizes[size]), tests = tests_of(p, from);
    far_net *net = NULL;
    far_status st;
    TRY(start_net(r, (uint64_t)seed, &net));
    TRY(train(r, p, net, &x, labels, (uint64_t)seed));
    TRY(accuracy(r, net, &x, labels, &s->fitted));
    TRY(accuracy(r, net, &tests, labels + p->sizes[0], &s->network));
    if (size == 0) {
        TRY(look_at_end(r, p, from, task, net, s));
    }
done:
    far_net_destroy(net);
    return st;
}

static void free_pools(pool *pools, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        digits_free(&pools[i].data);
        for (int k = 0; k < TASKS; k++) {
            free(pools[i].labels[k]);
        }
    }
    free(pools);
}

far_status task_scores(reproduction *r, const task_plan *p, task_score *out)
{
    digits data;
    work w = {.data = &data, .plan = p, .pools = ROOM(p->seeds, pool), .out = out};
    far_status st;
    TRY(digits_open(r, &data));
    TRY(side_by_side(r, "kernels", p->seeds, one_start, &w));
    TRY(side_by_side(r, "networks", p->seeds * p->size_count * TASKS, one_network, &w));
done:
    free_pools(w.pools, p->seeds);
    digits_free(&data);
    return st;
}
