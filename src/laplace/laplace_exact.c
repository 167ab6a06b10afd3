/* The exact systems: of parameters, and of rows. */
#include "laplace_internal.h"

#include <string.h>

far_status far_laplace_outputs(const far_laplace *la, const far_mat *x, double *outputs)
{
    far_mat out = far_mat_view(outputs, x->rows, la->info.outputs, FAR_F64);
    far_status st = far_net_eval(la->ctx, la->net, x, &out);
    return st == FAR_OK ? far_check_finite(la->ctx, &out, "the network's outputs") : st;
}

static far_status make_matrix(far_laplace *la, int64_t side)
{
    double *numbers = NULL;
    far_status st = far_alloc(la->ctx, side * side, &numbers);
    if (st == FAR_OK) {
        la->matrix = far_mat_view(numbers, side, side, FAR_F64);
    }
    return st;
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Room for a chunk: outputs m x C, the rows m C x P and their transpose. */
typedef struct room {
    far_laplace *la;
    double *outputs, *rows, *columns;
} room;

static far_status room_make(const far_laplace *la, int64_t points, room *r)
{
    int64_t rows = points * la->info.outputs;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, rows, &r->outputs));
    FAR_TRY(far_alloc(la->ctx, rows * la->info.parameters, &r->rows));
    FAR_TRY(far_alloc(la->ctx, rows * la->info.parameters, &r->columns));
done:
    return st;
}

static void room_clear(far_ctx *ctx, room *r)
{
    FAR_FREE_ALL(ctx, r->outputs, r->rows, r->columns);
}

/* matrix += sum over the points of J' Lam J */
static far_status add_points(void *user, const far_mat *x, int64_t first)
{
    const room *r = user;
    far_laplace *la = r->la;
    int64_t rows = x->rows * la->info.outputs, parameters = la->info.parameters;
    far_mat jacobian = far_mat_view(r->rows, rows, parameters, FAR_F64);
    far_mat turned = far_mat_view(r->columns, parameters, rows, FAR_F64);
    far_root root = {0};
    far_status st = FAR_OK;
    (void)first;
    FAR_TRY(far_laplace_outputs(la, x, r->outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, r->outputs, x->rows, &root));
    FAR_TRY(far_net_jacobian(la->ctx, la->net, x, &jacobian));
    far_root_apply_rows(la->ctx, &root, x->rows, r->rows, parameters);
    far_transpose(la->ctx, &jacobian, r->columns);
    FAR_TRY(far_add_outer(la->ctx, &turned, &jacobian, &la->matrix));
done:
    far_root_clear(la->ctx, &root);
    return st;
}

far_status far_laplace_fit_parameters(far_laplace *la, const far_mat *x)
{
    room r = {.la = la};
    int64_t chunk = far_laplace_chunk(la, la->info.parameters, x->rows);
    far_status st = FAR_OK;
    FAR_TRY(make_matrix(la, la->info.parameters));
    FAR_TRY(room_make(la, chunk, &r));
    FAR_TRY(far_laplace_walk(la, "posterior", x, chunk, add_points, &r));
done:
    room_clear(la->ctx, &r);
    return st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static far_status keep_points(far_laplace *la, const far_mat *x)
{
    double *outputs = NULL;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, x->rows * x->cols, &la->x));
    for (int64_t i = 0; i < x->rows; i++) {
        memcpy(la->x + i * x->cols, far_mat_row(x, i), (size_t)x->cols * sizeof(double));
    }
    FAR_TRY(far_alloc(la->ctx, x->rows * la->info.outputs, &outputs));
    FAR_TRY(far_laplace_outputs(la, x, outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, outputs, x->rows, &la->root));
done:
    far_free(la->ctx, outputs);
    return st;
}

/* matrix := matrix R */
static void root_columns(far_laplace *la)
{
    int64_t side = la->matrix.rows, classes = la->info.outputs;
#pragma omp parallel for num_threads(far_ctx_threads(la->ctx)) schedule(static)
    for (int64_t r = 0; r < side; r++) {
        for (int64_t i = 0; i < la->info.rows; i++) {
            double *row = far_mat_row(&la->matrix, r);
            far_root_apply(&la->root, i, row + i * classes, 1);
        }
    }
}

static far_status fill_rows(far_laplace *la, const far_mat *x)
{
    far_ntk_opts opts;
    opts = (far_ntk_opts){.size = sizeof opts};
    opts.outputs = FAR_NTK_FULL;
    opts.memory = la->memory;
    far_status st = FAR_OK;
    FAR_TRY(keep_points(la, x));
    FAR_TRY(make_matrix(la, x->rows * la->info.outputs));
    FAR_TRY(far_net_ntk(la->ctx, la->net, x, NULL, &opts, &la->matrix));
    far_root_apply_rows(la->ctx, &la->root, x->rows, la->matrix.data, la->matrix.cols);
    root_columns(la);
done:
    return st;
}

far_status far_laplace_fit_rows(far_laplace *la, const far_mat *x)
{
    far_status st = far_progress(la->ctx, "posterior", 0, x->rows);
    if (st == FAR_OK) {
        far_progress_hold(la->ctx);
        st = fill_rows(la, x);
        far_progress_release(la->ctx);
    }
    return st;
}
