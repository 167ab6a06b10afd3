/* Networks over many rows: values, and products with the Jacobian. */
#include "engine.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

/* Sums over rows are made in at most this many parts, whose memory stays within a budget. Parts
 * depend on the network and the number of rows alone, so that results do too. */
#define PARTS_MOST 16
#define PARTS_BYTES ((int64_t)256 << 20)

/* One thread's pass, and packed blocks of rows as wide as the inputs and as the outputs. */
typedef struct worker {
    far_pass *pass;
    void *inputs, *outputs;
} worker;

typedef struct runner runner;
/* Does part number `part` of a job with this worker. */
typedef void (*part_fn)(const runner *r, const worker *w, int64_t part);

/* A network, its weights and its workers, and what the call is about. */
struct runner {
    far_ctx *ctx;
    const far_net *net;
    far_engine *engine;
    far_weights *weights;   /* at the point whose derivatives count */
    far_weights *direction; /* of tangents; NULL: none */
    worker *workers;
    int threads;
    int64_t block; /* rows */
    int64_t parts, part_blocks;
    const far_mat *x, *u, *dx;
    far_mat *out;
    void *gradients; /* one a part, packed; NULL: not wanted */
};

static void runner_clear(runner *r)
{
    for (int t = 0; r->workers && t < r->threads; t++) {
        far_pass_destroy(r->workers[t].pass);
        far_free(r->ctx, r->workers[t].inputs);
        far_free(r->ctx, r->workers[t].outputs);
    }
    far_free(r->ctx, r->workers);
    far_free(r->ctx, r->gradients);
    far_weights_destroy(r->weights);
    far_weights_destroy(r->direction);
    far_engine_destroy(r->engine);
}

/* point: NULL, or where params are a direction from. */
static far_status make_weights(const runner *r, const double *params, const far_weights *point,
                               far_weights **out)
{
    void *packed = NULL;
    far_dtype dtype = r->x->dtype;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc_bytes(r->ctx, r->net->info.parameters, far_dtype_size(dtype), &packed));
    FAR_TRY(far_direction_create(r->ctx, r->engine, point, out));
    far_net_pack(r->net, params, dtype, packed);
    far_weights_set(*out, packed, 0, 1);
done:
    far_free(r->ctx, packed);
    return st;
}

static far_status make_worker(const runner *r, int64_t rows, int needs, worker *w)
{
    size_t size = far_dtype_size(r->x->dtype);
    far_status st = FAR_OK;
    FAR_TRY(far_pass_create(r->ctx, r->engine, rows, needs, &w->pass));
    FAR_TRY(far_alloc_bytes(r->ctx, rows * r->net->info.inputs, size, &w->inputs));
    FAR_TRY(far_alloc_bytes(r->ctx, rows * r->net->info.outputs, size, &w->outputs));
done:
    return st;
}

static far_status make_workers(runner *r, int64_t rows, int needs)
{
    far_status st = FAR_OK;
    int threads = far_ctx_threads(r->ctx);
    threads = threads > r->parts && r->parts > 0 ? (int)r->parts : threads;
    FAR_TRY(far_alloc(r->ctx, threads, &r->workers));
    r->threads = threads;
    for (int t = 0; t < threads; t++) {
        FAR_TRY(make_worker(r, rows, needs, &r->workers[t]));
    }
done:
    return st;
}

/* ---- parts over threads -------------------------------------------------------------------- */

typedef struct queue {
    atomic_int_least64_t next, done;
    atomic_int status;
} queue;

/* Only the calling thread may call back into the caller's code. */
static void report(const runner *r, queue *q, int64_t done)
{
    if (omp_get_thread_num() == 0) {
        far_status st = far_progress(r->ctx, "network", done, r->parts);
        if (st != FAR_OK) {
            atomic_store(&q->status, (int)st);
        }
    }
}

static void work(const runner *r, part_fn run, queue *q)
{
    const worker *w = &r->workers[omp_get_thread_num()];
    while (atomic_load(&q->status) == FAR_OK) {
        int64_t part = atomic_fetch_add(&q->next, 1);
        if (part >= r->parts) {
            break;
        }
        run(r, w, part);
        report(r, q, atomic_fetch_add(&q->done, 1) + 1);
    }
}

static far_status run_parts(const runner *r, part_fn run)
{
    queue q = {0};
#pragma omp parallel num_threads(r->threads)
    work(r, run, &q);
    return (far_status)atomic_load(&q.status);
}

typedef struct span {
    int64_t first, rows;
} span;

/* Block k of a part; no rows are left behind its last one. */
static span block_of(const runner *r, int64_t part, int64_t k)
{
    int64_t first = (part * r->part_blocks + k) * r->block;
    int64_t left = r->x->rows - first;
    return (span){first, k >= r->part_blocks || left < 0 ? 0 : far_least(left, r->block)};
}

/* Single blocks, or at most parts_most runs of them. */
static void split(runner *r, int64_t parts_most)
{
    int64_t blocks = (r->x->rows + r->block - 1) / r->block;
    r->part_blocks = blocks > parts_most ? (blocks + parts_most - 1) / parts_most : 1;
    r->parts = (blocks + r->part_blocks - 1) / r->part_blocks;
}

/* parts_most: of rows; 0: every row is one. */
static far_status runner_open(runner *r, int needs, int64_t parts_most)
{
    far_status st = FAR_OK;
    const far_net *net = r->net;
    FAR_TRY(far_engine_create(r->ctx, net, r->x->dtype, &r->engine));
    FAR_TRY(make_weights(r, net->start ? net->start : net->params, NULL, &r->weights));
    r->block = parts_most == 0 ? 1 : far_engine_rows(r->engine);
    split(r, parts_most == 0 ? INT64_MAX : parts_most);
    FAR_TRY(make_workers(r, far_least(r->block, r->x->rows), needs));
done:
    return st;
}

/* ---- rows in and out ----------------------------------------------------------------------- */

static void copy_out(const void *packed, far_mat *out, span s)
{
    size_t bytes = (size_t)out->cols * far_dtype_size(out->dtype);
    for (int64_t i = 0; i < s.rows; i++) {
        memcpy(far_mat_row(out, s.first + i), (const char *)packed + (size_t)i * bytes, bytes);
    }
}

static void copy_in(const far_mat *from, void *packed, span s)
{
    size_t bytes = (size_t)from->cols * far_dtype_size(from->dtype);
    for (int64_t i = 0; i < s.rows; i++) {
        memcpy((char *)packed + (size_t)i * bytes, far_mat_row(from, s.first + i), bytes);
    }
}

static void add_out(const void *packed, far_mat *out, span s)
{
    for (int64_t i = 0; i < s.rows; i++) {
        void *row = far_mat_row(out, s.first + i);
        for (int64_t k = 0; k < out->cols; k++) {
            if (out->dtype == FAR_F64) {
                ((double *)row)[k] += ((const double *)packed)[i * out->cols + k];
            } else {
                ((float *)row)[k] += ((const float *)packed)[i * out->cols + k];
            }
        }
    }
}

static void forward(const runner *r, const worker *w, span s)
{
    far_pass_forward(w->pass, r->weights, far_mat_row(r->x, s.first), r->x->ld, s.rows);
}

/* ---- values -------------------------------------------------------------------------------- */

static far_status check_net(far_ctx *ctx, const far_net *net)
{
    return net ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "the network must not be NULL");
}

/* params - start */
static far_status make_step_direction(runner *r)
{
    const far_net *net = r->net;
    double *step = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(r->ctx, net->info.parameters, &step));
    for (int64_t i = 0; i < net->info.parameters; i++) {
        step[i] = net->params[i] - net->start[i];
    }
    FAR_TRY(make_weights(r, step, r->weights, &r->direction));
done:
    far_free(r->ctx, step);
    return st;
}

static void eval_part(const runner *r, const worker *w, int64_t part)
{
    span s = block_of(r, part, 0);
    forward(r, w, s);
    copy_out(far_pass_output(w->pass), r->out, s);
    if (r->direction) {
        far_pass_tangent(w->pass, r->weights, r->direction, NULL, 0, w->outputs);
        add_out(w->outputs, r->out, s);
    }
}

far_status far_net_eval(far_ctx *ctx, const far_net *net, const far_mat *x, far_mat *out)
{
    far_status st = FAR_OK;
    runner r = {.ctx = ctx, .net = net, .x = x, .out = out};
    FAR_TRY(check_net(ctx, net));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows, net->info.outputs, x->dtype));
    FAR_TRY(runner_open(&r, net->start ? FAR_PASS_TANGENT : 0, INT64_MAX));
    FAR_TRY(net->start ? make_step_direction(&r) : FAR_OK);
    FAR_TRY(run_parts(&r, eval_part));
done:
    runner_clear(&r);
    return st;
}

/* packed = (x - centre) / scale */
static void scale_inputs(const far_net *net, const far_mat *x, double *packed)
{
    int64_t d = net->info.inputs;
    const double *centre = net->columns->scaling, *scale = centre + d;
    for (int64_t i = 0; i < x->rows; i++) {
        const double *row = far_mat_row(x, i);
        for (int64_t j = 0; j < d; j++) {
            packed[i * d + j] = (row[j] - centre[j]) / scale[j];
        }
    }
}

static void scale_outputs(const far_net *net, far_mat *out)
{
    const double *centre = net->columns->scaling + 2 * net->info.inputs,
                 *scale = centre + out->cols;
    for (int64_t i = 0; i < out->rows; i++) {
        double *row = far_mat_row(out, i);
        for (int64_t k = 0; k < out->cols; k++) {
            row[k] = centre[k] + scale[k] * row[k];
        }
    }
}

far_status far_net_eval_raw(far_ctx *ctx, const far_net *net, const far_mat *x, far_mat *out)
{
    double *packed = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(far_mat_expect(ctx, x, "x", -1, -1, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows, net->info.outputs, FAR_F64));
    FAR_TRY(far_alloc(ctx, x->rows * x->cols, &packed));
    scale_inputs(net, x, packed);
    far_mat scaled = far_mat_view(packed, x->rows, x->cols, FAR_F64);
    FAR_TRY(far_net_eval(ctx, net, &scaled, out));
    scale_outputs(net, out);
done:
    far_free(ctx, packed);
    return st;
}

/* ---- vector-Jacobian products -------------------------------------------------------------- */

static void vjp_part(const runner *r, const worker *w, int64_t part)
{
    size_t bytes = (size_t)r->net->info.parameters * far_dtype_size(r->x->dtype);
    char *gradient = r->gradients ? (char *)r->gradients + (size_t)part * bytes : NULL;
    if (gradient) {
        memset(gradient, 0, bytes);
    }
    for (int64_t k = 0; block_of(r, part, k).rows > 0; k++) {
        span s = block_of(r, part, k);
        forward(r, w, s);
        copy_in(r->u, w->outputs, s);
        far_pass_backward(w->pass, r->weights, w->outputs, gradient, r->out ? w->inputs : NULL);
        if (r->out) {
            copy_out(w->inputs, r->out, s);
        }
    }
}

static double number_at(const void *data, far_dtype dtype, int64_t i)
{
    return dtype == FAR_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Writes numbers in the order of the parameters to a row of out. */
static void write_parameters(const double *values, far_dtype dtype, int64_t count, void *row)
{
    for (int64_t i = 0; i < count; i++) {
        if (dtype == FAR_F64) {
            ((double *)row)[i] = values[i];
        } else {
            ((float *)row)[i] = (float)values[i];
        }
    }
}

/* The parts, added in order. */
static far_status sum_gradients(const runner *r, far_mat *grad)
{
    int64_t count = r->net->info.parameters;
    far_dtype dtype = r->x->dtype;
    double *sum = NULL, *turned = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(r->ctx, count, &sum));
    FAR_TRY(far_alloc(r->ctx, count, &turned));
    for (int64_t part = 0; part < r->parts; part++) {
        for (int64_t i = 0; i < count; i++) {
            sum[i] += number_at(r->gradients, dtype, part * count + i);
        }
    }
    far_net_unpack(r->net, FAR_F64, sum, turned);
    write_parameters(turned, dtype, count, grad->data);
done:
    far_free(r->ctx, sum);
    far_free(r->ctx, turned);
    return st;
}

static far_status refuse_linearized(far_ctx *ctx, const far_net *net, const char *what)
{
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "%s: derivatives of a linearised network by its inputs would need second "
                        "derivatives; ask for those by parameters",
                        what);
    }
    return FAR_OK;
}

static far_status refuse_tokens(far_ctx *ctx, const far_net *net, const char *name)
{
    return far_net_vocabulary(net) > 0
               ? far_fail(ctx, FAR_ERR_ARG,
                          "%s must be NULL: tokens are whole numbers, with no derivative by them",
                          name)
               : FAR_OK;
}

static far_status check_vjp(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *u,
                            const far_mat *grad, const far_mat *grad_x)
{
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(far_mat_expect(ctx, u, "u", x->rows, net->info.outputs, x->dtype));
    if (grad) {
        FAR_TRY(far_mat_expect(ctx, grad, "grad", 1, net->info.parameters, x->dtype));
    }
    if (grad_x) {
        FAR_TRY(far_mat_expect(ctx, grad_x, "grad_x", x->rows, net->info.inputs, x->dtype));
        FAR_TRY(refuse_linearized(ctx, net, "grad_x"));
        FAR_TRY(refuse_tokens(ctx, net, "grad_x"));
    }
done:
    return st;
}

static int64_t gradient_parts(const far_net *net, far_dtype dtype)
{
    int64_t bytes = (net->info.parameters + 1) * (int64_t)far_dtype_size(dtype);
    int64_t parts = PARTS_BYTES / bytes;
    return parts < 1 ? 1 : far_least(parts, PARTS_MOST);
}

far_status far_net_vjp(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *u,
                       far_mat *grad, far_mat *grad_x)
{
    far_status st = FAR_OK;
    runner r = {.ctx = ctx, .net = net, .x = x, .u = u, .out = grad_x};
    FAR_TRY(check_vjp(ctx, net, x, u, grad, grad_x));
    FAR_TRY(runner_open(&r, FAR_PASS_BACKWARD, grad ? gradient_parts(net, x->dtype) : INT64_MAX));
    if (grad) {
        FAR_TRY(far_alloc_bytes(ctx, r.parts * net->info.parameters, far_dtype_size(x->dtype),
                                &r.gradients));
    }
    FAR_TRY(run_parts(&r, vjp_part));
    FAR_TRY(grad ? sum_gradients(&r, grad) : FAR_OK);
done:
    runner_clear(&r);
    return st;
}

/* ---- Jacobian-vector products -------------------------------------------------------------- */

static void jvp_part(const runner *r, const worker *w, int64_t part)
{
    span s = block_of(r, part, 0);
    forward(r, w, s);
    far_pass_tangent(w->pass, r->weights, r->direction, r->dx ? far_mat_row(r->dx, s.first) : NULL,
                     r->dx ? r->dx->ld : 0, w->outputs);
    copy_out(w->outputs, r->out, s);
}

static far_status check_jvp(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *v,
                            const far_mat *dx, const far_mat *out)
{
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    if (v) {
        FAR_TRY(far_mat_expect(ctx, v, "v", 1, net->info.parameters, x->dtype));
    }
    if (dx) {
        FAR_TRY(far_mat_expect(ctx, dx, "dx", x->rows, net->info.inputs, x->dtype));
        FAR_TRY(refuse_linearized(ctx, net, "dx"));
        FAR_TRY(refuse_tokens(ctx, net, "dx"));
    }
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows, net->info.outputs, x->dtype));
done:
    return st;
}

static far_status make_given_direction(runner *r, const far_mat *v)
{
    double *given = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(r->ctx, v->cols, &given));
    for (int64_t i = 0; i < v->cols; i++) {
        given[i] = number_at(v->data, v->dtype, i);
    }
    FAR_TRY(make_weights(r, given, r->weights, &r->direction));
done:
    far_free(r->ctx, given);
    return st;
}

far_status far_net_jvp(far_ctx *ctx, const far_net *net, const far_mat *x, const far_mat *v,
                       const far_mat *dx, far_mat *out)
{
    far_status st = FAR_OK;
    runner r = {.ctx = ctx, .net = net, .x = x, .dx = dx, .out = out};
    FAR_TRY(check_jvp(ctx, net, x, v, dx, out));
    FAR_TRY(runner_open(&r, FAR_PASS_TANGENT, INT64_MAX));
    FAR_TRY(v ? make_given_direction(&r, v) : FAR_OK);
    FAR_TRY(run_parts(&r, jvp_part));
done:
    runner_clear(&r);
    return st;
}

/* ---- the Jacobian -------------------------------------------------------------------------- */

/* One row of x: a gradient for every output. gradients: two vectors a thread. */
static void jacobian_part(const runner *r, const worker *w, int64_t part)
{
    int64_t count = r->net->info.parameters, outputs = r->net->info.outputs;
    far_dtype dtype = r->x->dtype;
    double *packed = (double *)r->gradients + 2 * count * (w - r->workers),
           *turned = packed + count;
    size_t size = far_dtype_size(dtype);
    forward(r, w, (span){part, 1});
    for (int64_t k = 0; k < outputs; k++) {
        double unit = 1;
        memset(packed, 0, (size_t)count * size);
        memset(w->outputs, 0, (size_t)outputs * size);
        write_parameters(&unit, dtype, 1, (char *)w->outputs + (size_t)k * size);
        far_pass_backward(w->pass, r->weights, w->outputs, packed, NULL);
        far_net_unpack(r->net, dtype, packed, turned);
        write_parameters(turned, dtype, count, far_mat_row(r->out, part * outputs + k));
    }
}

static far_status check_jacobian(far_ctx *ctx, const far_net *net, const far_mat *x,
                                 const far_mat *out)
{
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
    FAR_TRY(far_mat_expect(ctx, out, "out", x->rows * net->info.outputs, net->info.parameters,
                           x->dtype));
done:
    return st;
}

far_status far_net_jacobian(far_ctx *ctx, const far_net *net, const far_mat *x, far_mat *out)
{
    far_status st = FAR_OK;
    double *vectors = NULL;
    runner r = {.ctx = ctx, .net = net, .x = x, .out = out};
    FAR_TRY(check_jacobian(ctx, net, x, out));
    FAR_TRY(runner_open(&r, FAR_PASS_BACKWARD, 0));
    FAR_TRY(far_alloc(ctx, 2 * net->info.parameters * r.threads, &vectors));
    r.gradients = vectors;
    FAR_TRY(run_parts(&r, jacobian_part));
done:
    runner_clear(&r);
    return st;
}
