/* What a finite network was trained for, and targets as it was trained on them. */
#include "net_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const far_columns *columns_of(const far_net *net)
{
    const far_columns *c;
    return far_net_columns(net->ctx, net, &c) == FAR_OK ? c : NULL;
}

int32_t far_net_task(const far_net *net)
{
    const far_columns *c = columns_of(net);
    return c ? c->model->info.task : FAR_TASK_AUTO;
}

int32_t far_net_loss(const far_net *net)
{
    const far_columns *c = columns_of(net);
    return c ? c->loss : -1;
}

const char *far_net_target_name(const far_net *net, int64_t i)
{
    const far_columns *c = columns_of(net);
    return c && i >= 0 && i < c->model->info.targets ? c->model->targets[i] : NULL;
}

/* ---- which columns ------------------------------------------------------------------------- */

/* Where targets stand in a frame. */
typedef struct place {
    const far_net *net;
    const far_model *model; /* NULL: the network knows no columns */
    const far_frame *frame;
    int64_t *cols, count;
} place;

static far_status find_known(far_ctx *ctx, place *p)
{
    far_status st = FAR_OK;
    for (; st == FAR_OK && p->count < p->model->info.targets; p->count++) {
        st = far_frame_find(ctx, p->frame, p->model->targets[p->count], &p->cols[p->count]);
    }
    return st;
}

static bool has_classes(const place *p)
{
    return p->model && p->model->classes;
}

static far_status check_count(far_ctx *ctx, const place *p)
{
    int64_t wanted = has_classes(p) ? 1 : p->net->info.outputs;
    return p->count == wanted
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_SHAPE,
                          "%lld target column%s, but the network has %lld output%s%s",
                          (long long)p->count, far_plural(p->count),
                          (long long)p->net->info.outputs, far_plural(p->net->info.outputs),
                          has_classes(p) ? " for the classes of 1" : "");
}

static far_status find_columns(far_ctx *ctx, const char *target, place *p)
{
    far_status st = FAR_OK;
    int64_t known = p->model ? p->model->info.targets : 0;
    if (!target && known == 0) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "the network does not know its targets; name their columns");
    }
    FAR_TRY(far_alloc(ctx, far_frame_cols(p->frame) + known, &p->cols));
    FAR_TRY(target ? far_frame_list(ctx, p->frame, target, p->cols, &p->count)
                   : find_known(ctx, p));
    FAR_TRY(check_count(ctx, p));
done:
    return st;
}

static far_status fail_missing(far_ctx *ctx, const place *p, int64_t row, int64_t col)
{
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: the target %s has no value; leave such rows out (--where)",
                    (long long)row + 1, far_frame_name(p->frame, col));
}

/* ---- numbers ------------------------------------------------------------------------------- */

static far_status put_numbers(far_ctx *ctx, const place *p, int64_t row, double *out)
{
    far_scaling s = far_net_scaling(p->net);
    const double *centre = s.output_centre.data, *scale = s.output_scale.data;
    for (int64_t k = 0; k < p->count; k++) {
        const double *column = far_frame_numbers(p->frame, p->cols[k]);
        if (!column) {
            return far_fail(ctx, FAR_ERR_FORMAT, "the target %s holds words; numbers are needed",
                            far_frame_name(p->frame, p->cols[k]));
        }
        if (isnan(column[row])) {
            return fail_missing(ctx, p, row, p->cols[k]);
        }
        out[k] = (column[row] - centre[k]) / scale[k];
    }
    return FAR_OK;
}

/* ---- classes ------------------------------------------------------------------------------- */

static bool is_number(const char *text, double value)
{
    char *end;
    double number = strtod(text, &end);
    return end != text && !*end && number == value;
}

/* Columns of another file may be of another kind: 1 is the class "1" either way. */
static int64_t find_class(const place *p, int64_t row)
{
    int64_t col = p->cols[0];
    const double *numbers = far_frame_numbers(p->frame, col);
    const char *word =
        numbers ? NULL : far_frame_level(p->frame, col, far_frame_codes(p->frame, col)[row]);
    for (int64_t k = 0; k < p->model->info.outputs; k++) {
        const char *name = p->model->classes[k];
        if (numbers ? is_number(name, numbers[row]) : strcmp(name, word) == 0) {
            return k;
        }
    }
    return -1;
}

static far_status fail_class(far_ctx *ctx, const place *p, int64_t row)
{
    int64_t col = p->cols[0], last = p->model->info.outputs - 1;
    const double *numbers = far_frame_numbers(p->frame, col);
    char text[64];
    if (numbers) {
        snprintf(text, sizeof text, "%g", numbers[row]);
    } else {
        snprintf(text, sizeof text, "%s",
                 far_frame_level(p->frame, col, far_frame_codes(p->frame, col)[row]));
    }
    return far_fail(ctx, FAR_ERR_VALUE,
                    "row %lld: the target %s is %s, no class that the network knows (%s to %s)",
                    (long long)row + 1, far_frame_name(p->frame, col), text, p->model->classes[0],
                    p->model->classes[last]);
}

static bool is_missing(const place *p, int64_t row)
{
    const double *numbers = far_frame_numbers(p->frame, p->cols[0]);
    return numbers ? isnan(numbers[row]) : far_frame_codes(p->frame, p->cols[0])[row] < 0;
}

/* One indicator an output; one output for two classes is that of the second. */
static far_status put_class(far_ctx *ctx, const place *p, int64_t row, double *out)
{
    if (is_missing(p, row)) {
        return fail_missing(ctx, p, row, p->cols[0]);
    }
    int64_t label = find_class(p, row), outputs = p->net->info.outputs;
    int64_t first = p->model->info.outputs - outputs;
    if (label < 0) {
        return fail_class(ctx, p, row);
    }
    for (int64_t k = 0; k < outputs; k++) {
        out[k] = label == first + k;
    }
    return FAR_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

far_status far_net_targets(far_ctx *ctx, const far_net *net, const far_frame *frame,
                           const unsigned char *rows, const char *target, far_mat *out)
{
    const far_columns *c;
    place p = {.net = net, .frame = frame};
    far_status st = FAR_OK;
    if (!net || !frame) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the frame is NULL");
    }
    FAR_TRY(far_net_check_mat(ctx, out, "out", far_frame_rows(frame), net->info.outputs, FAR_F64));
    FAR_TRY(far_net_columns(ctx, net, &c));
    p.model = c ? c->model : NULL;
    FAR_TRY(find_columns(ctx, target, &p));
    for (int64_t i = 0; i < out->rows; i++) {
        if (!rows || rows[i]) {
            FAR_TRY(has_classes(&p) ? put_class(ctx, &p, i, far_mat_row(out, i))
                                    : put_numbers(ctx, &p, i, far_mat_row(out, i)));
        }
    }
done:
    far_free(ctx, p.cols);
    return st;
}
