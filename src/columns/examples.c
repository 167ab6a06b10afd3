/* Rows as inputs and targets, with the columns they were learnt from. */
#include "columns_internal.h"

static far_status room(far_ctx *ctx, int64_t rows, int64_t cols, far_mat *out)
{
    double *data = NULL;
    far_status st = far_alloc(ctx, rows * cols, &data);
    *out = far_mat_view(data, rows, cols, FAR_F64);
    return st;
}

static far_status encode(const far_frame *frame, const unsigned char *rows, far_examples *e)
{
    far_status st;
    const far_columns_info *info = &e->columns->info;
    int64_t count = 0;
    for (int64_t i = 0; i < far_frame_rows(frame); i++) {
        count += !rows || rows[i];
    }
    FAR_TRY(room(e->ctx, count, info->inputs, &e->inputs));
    FAR_TRY(room(e->ctx, count, info->outputs, &e->targets));
    FAR_TRY(far_columns_encode(e->ctx, e->columns, frame, rows, &e->inputs));
    if (info->targets > 0) {
        FAR_TRY(far_columns_encode_targets(e->ctx, e->columns, frame, rows, NULL, &e->targets));
    }
done:
    return st;
}

far_status far_examples_learn(far_ctx *ctx, const far_frame *frame, const far_columns_opts *opts,
                              far_examples **out)
{
    far_status st;
    far_examples *e = NULL;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &e));
    *e = (far_examples){.ctx = ctx};
    FAR_TRY(far_columns_learn(ctx, frame, opts, &e->columns));
    FAR_TRY(encode(frame, opts->rows, e));
done:
    FAR_HAND_OVER(e, out, far_examples_destroy);
    return st;
}

void far_examples_destroy(far_examples *e)
{
    if (e) {
        far_columns_destroy(e->columns);
        FAR_FREE_ALL(e->ctx, e->inputs.data, e->targets.data, e);
    }
}
