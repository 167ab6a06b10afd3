/* Products with a tangent kernel and its largest eigenvalues, without the matrix: K v = J (J' v).
 */
#include "../net/net_internal.h"
#include "../solve/solve_internal.h"
#include "gram.h"

#include <farfield/ntk.h>
#include <string.h>

typedef struct operator_job {
    far_ctx *ctx;
    const far_net *net;
    const far_mat *x;
    const far_ntk_opts *opts;
    double *u, *gradient; /* rows x outputs, parameters */
} operator_job;

static int64_t kernel_rows(const far_net *net, const far_mat *x, const far_ntk_opts *o)
{
    return x->rows * (o->outputs == FAR_NTK_FULL ? net->info.outputs : 1);
}

static far_status check(far_ctx *ctx, const far_net *net, const far_mat *x, const far_ntk_opts *o)
{
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_ntk_opts)");
    }
    if (x->dtype != FAR_F64) {
        return far_fail(ctx, FAR_ERR_ARG, "x is not of type float64");
    }
    if (o->outputs == FAR_NTK_TRACE && net->info.outputs > 1) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the trace over %lld outputs is no product of Jacobians; choose one output "
                        "or all pairs",
                        (long long)net->info.outputs);
    }
    if (o->outputs == FAR_NTK_ONE && (o->output < 0 || o->output >= net->info.outputs)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: output %lld of a network with %lld",
                        (long long)o->output, (long long)net->info.outputs);
    }
    return far_net_check_inputs(ctx, net, x);
}

static far_status open_job(operator_job *j)
{
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(j->ctx, j->x->rows * j->net->info.outputs, &j->u));
    FAR_TRY(far_alloc(j->ctx, j->net->info.parameters, &j->gradient));
done:
    return st;
}

static void close_job(operator_job *j)
{
    far_free(j->ctx, j->u);
    far_free(j->ctx, j->gradient);
}

static int64_t output_of(const operator_job *j)
{
    return j->opts->outputs == FAR_NTK_ONE ? j->opts->output : 0;
}

static bool spread_out(const operator_job *j)
{
    return j->opts->outputs != FAR_NTK_FULL && j->net->info.outputs > 1;
}

/* Parameters of layers that are left out do not move. */
static void mask_gradient(const operator_job *j)
{
    for (int64_t i = 0; j->opts->layers && i < j->net->step_count; i++) {
        const far_step *s = &j->net->steps[i];
        if (s->unit >= 0 && !j->opts->layers[s->unit]) {
            size_t bytes = (size_t)far_step_parameters(s) * sizeof *j->gradient;
            memset(j->gradient + far_step_first(s), 0, bytes);
        }
    }
}

/* y = K v; both kernel_rows long. */
static far_status apply(void *user, const double *v, double *y)
{
    operator_job *j = user;
    int64_t outputs = j->net->info.outputs, all = j->x->rows * outputs;
    far_status st = FAR_OK;
    memset(j->u, 0, (size_t)all * sizeof *j->u);
    for (int64_t i = 0; i < kernel_rows(j->net, j->x, j->opts); i++) {
        j->u[spread_out(j) ? i * outputs + output_of(j) : i] = v[i];
    }
    far_mat u = far_mat_view(j->u, j->x->rows, outputs, FAR_F64);
    far_mat gradient = far_mat_view(j->gradient, 1, j->net->info.parameters, FAR_F64);
    FAR_TRY(far_net_vjp(j->ctx, j->net, j->x, &u, &gradient, NULL));
    mask_gradient(j);
    FAR_TRY(far_net_jvp(j->ctx, j->net, j->x, &gradient, NULL, &u));
    for (int64_t i = 0; i < kernel_rows(j->net, j->x, j->opts); i++) {
        y[i] = j->u[spread_out(j) ? i * outputs + output_of(j) : i];
    }
done:
    return st;
}

static void take_column(const far_mat *m, int64_t k, double *out)
{
    for (int64_t i = 0; i < m->rows; i++) {
        out[i] = ((const double *)far_mat_row(m, i))[k];
    }
}

static void put_column(const double *values, int64_t k, far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        ((double *)far_mat_row(m, i))[k] = values[i];
    }
}

far_status far_net_ntk_multiply(far_ctx *ctx, const far_net *net, const far_mat *x,
                                const far_ntk_opts *opts, const far_mat *v, far_mat *out)
{
    operator_job j = {.ctx = ctx, .net = net, .x = x, .opts = opts};
    double *columns = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check(ctx, net, x, opts));
    int64_t n = kernel_rows(net, x, opts);
    FAR_TRY(far_mat_expect(ctx, v, "v", n, -1, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, out, "out", n, v->cols, FAR_F64));
    FAR_TRY(open_job(&j));
    FAR_TRY(far_alloc(ctx, 2 * n, &columns));
    for (int64_t k = 0; k < v->cols; k++) {
        take_column(v, k, columns);
        FAR_TRY(apply(&j, columns, columns + n));
        put_column(columns + n, k, out);
    }
done:
    far_free(ctx, columns);
    close_job(&j);
    return st;
}

/* ---- eigenvalues --------------------------------------------------------------------------- */

#define RESTARTS 300

static int64_t basis_size(int64_t n, int64_t count)
{
    int64_t basis = 2 * count + 20;
    return basis < n ? basis : n;
}

static far_status check_count(far_ctx *ctx, int64_t n, int64_t count)
{
    return count >= 1 && count < n
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_ARG,
                          "%lld eigenvalues of a %lld x %lld kernel; 1 to %lld can be asked for",
                          (long long)count, (long long)n, (long long)n, (long long)n - 1);
}

static far_status run_lanczos(operator_job *j, int64_t n, int64_t count, double *values,
                              double *vectors)
{
    far_lanczos_job job = {.apply = apply,
                           .user = j,
                           .n = n,
                           .count = count,
                           .largest = true,
                           .tol = 1e-10,
                           .basis = basis_size(n, count),
                           .restarts = RESTARTS,
                           .what = "eigen"};
    job.budget = far_lanczos_applications(job.basis, job.restarts);
    far_lanczos_end end;
    far_progress_hold(j->ctx);
    far_status st = far_lanczos(j->ctx, &job, values, vectors, &end);
    far_progress_release(j->ctx);
    if (st == FAR_OK && !end.settled) {
        st = far_fail(j->ctx, FAR_ERR_BACKEND,
                      "Lanczos did not settle after %d restarts; ask for fewer eigenvalues",
                      RESTARTS);
    }
    return st;
}

far_status far_net_ntk_eigen(far_ctx *ctx, const far_net *net, const far_mat *x,
                             const far_ntk_opts *opts, int64_t count, far_mat *values,
                             far_mat *vectors)
{
    operator_job j = {.ctx = ctx, .net = net, .x = x, .opts = opts};
    double *numbers = NULL, *columns = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check(ctx, net, x, opts));
    int64_t n = kernel_rows(net, x, opts);
    FAR_TRY(check_count(ctx, n, count));
    FAR_TRY(far_mat_expect(ctx, values, "values", count, 1, FAR_F64));
    if (vectors) {
        FAR_TRY(far_mat_expect(ctx, vectors, "vectors", n, count, FAR_F64));
        FAR_TRY(far_alloc(ctx, n * count, &columns));
    }
    FAR_TRY(open_job(&j));
    FAR_TRY(far_alloc(ctx, count, &numbers));
    FAR_TRY(run_lanczos(&j, n, count, numbers, columns));
    put_column(numbers, 0, values);
    for (int64_t k = 0; vectors && k < count; k++) {
        put_column(columns + k * n, k, vectors);
    }
done:
    far_free(ctx, numbers);
    far_free(ctx, columns);
    close_job(&j);
    return st;
}
