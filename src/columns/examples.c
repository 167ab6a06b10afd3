/* Rows as inputs and targets, with the columns they were learnt from. */
#include "columns_internal.h"

static far_status encode(const far_frame *frame, const unsigned char *rows, far_examples *e)
{
    far_status st;
    const far_columns_info *info = &e->columns->info;
    for (int64_t i = 0; i < far_frame_rows(frame); i++) {
        e->rows += !rows || rows[i];
    }
    FAR_TRY(far_alloc(e->ctx, e->rows * info->inputs, &e->x));
    FAR_TRY(far_alloc(e->ctx, e->rows * info->outputs, &e->y));
    far_mat x = far_examples_inputs(e), y = far_examples_targets(e);
    FAR_TRY(far_columns_encode(e->ctx, e->columns, frame, rows, &x));
    if (info->targets > 0) {
        FAR_TRY(far_columns_encode_targets(e->ctx, e->columns, frame, rows, NULL, &y));
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
    *out = e;
    e = NULL;
done:
    far_examples_destroy(e);
    return st;
}

void far_examples_destroy(far_examples *e)
{
    if (e) {
        far_columns_destroy(e->columns);
        far_free(e->ctx, e->x);
        far_free(e->ctx, e->y);
        far_free(e->ctx, e);
    }
}

const far_columns *far_examples_columns(const far_examples *e)
{
    return e->columns;
}

far_mat far_examples_inputs(const far_examples *e)
{
    return far_mat_view(e->x, e->rows, e->columns->info.inputs, FAR_F64);
}

far_mat far_examples_targets(const far_examples *e)
{
    return far_mat_view(e->y, e->rows, e->columns->info.outputs, FAR_F64);
}
