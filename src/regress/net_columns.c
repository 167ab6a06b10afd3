/* Columns of a table as a network remembers them, and rows as its inputs. */
#include "net_columns.h"
#include "model_file.h"

#include <math.h>
#include <string.h>

/* ---- out of the metadata, once ------------------------------------------------------------- */

static void free_columns(void *table)
{
    far_columns *c = table;
    far_ctx *ctx = c->model->ctx;
    far_model_destroy(c->model);
    far_free(ctx, c);
}

static far_status read_columns(const far_net *net, const char *text, far_columns **out)
{
    far_status st;
    far_ctx *ctx = net->ctx;
    far_model *m = NULL;
    far_columns *c = NULL;
    far_input in = {.ctx = ctx,
                    .label = "the network's columns",
                    .data = (unsigned char *)text,
                    .size = (int64_t)strlen(text)};
    FAR_TRY(far_alloc(ctx, 1, &c));
    FAR_TRY(far_model_new(ctx, &m));
    m->info.inputs = net->info.inputs;
    m->info.outputs = net->info.outputs;
    *c = (far_columns){.model = m};
    FAR_TRY(far_columns_read(&in, m, &c->loss));
    *out = c;
    c = NULL;
    m = NULL;
done:
    far_model_destroy(m);
    far_free(ctx, c);
    return st;
}

/* The table is a copy of what the metadata say: keeping it changes nothing about the network. It
 * lives in the network's context; what is wrong with it is told to the caller's. */
far_status far_net_columns(far_ctx *ctx, const far_net *net, const far_columns **out)
{
    far_net *keeper = (far_net *)net;
    const char *text = far_net_metadata(net, FAR_COLUMNS_KEY);
    *out = NULL;
    if (text && !net->table) {
        far_columns *c = NULL;
        far_status st = read_columns(net, text, &c);
        if (st != FAR_OK) {
            return ctx == net->ctx ? st : far_fail(ctx, st, "%s", far_ctx_message(net->ctx));
        }
        keeper->table = c;
        keeper->table_free = free_columns;
    }
    *out = net->table;
    return FAR_OK;
}

/* ---- names --------------------------------------------------------------------------------- */

const char *far_net_input_name(const far_net *net, int64_t i)
{
    const far_columns *c;
    if (far_net_columns(net->ctx, net, &c) != FAR_OK || !c || i < 0 || i >= c->model->info.inputs) {
        return NULL;
    }
    return c->model->encoder.input_names[i];
}

const char *far_net_output_name(const far_net *net, int64_t i)
{
    const far_columns *c;
    if (far_net_columns(net->ctx, net, &c) != FAR_OK || !c || i < 0 ||
        i >= c->model->info.outputs) {
        return NULL;
    }
    return (c->model->classes ? c->model->classes : c->model->targets)[i];
}

/* ---- rows ---------------------------------------------------------------------------------- */

static far_status check_plain(far_ctx *ctx, const far_net *net, const far_frame *frame)
{
    int64_t cols = far_frame_cols(frame);
    if (cols != net->info.inputs) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "the table has %lld column%s, but the network takes %lld input%s and knows "
                        "no names to choose by",
                        (long long)cols, far_plural(cols), (long long)net->info.inputs,
                        far_plural(net->info.inputs));
    }
    for (int64_t j = 0; j < cols; j++) {
        if (far_frame_kind(frame, j) != FAR_COLUMN_NUMBER) {
            return far_fail(ctx, FAR_ERR_FORMAT,
                            "column %s holds words; this network knows no words, only numbers",
                            far_frame_name(frame, j));
        }
    }
    return FAR_OK;
}

static far_status encode_plain(far_ctx *ctx, const far_net *net, const far_frame *frame,
                               const int64_t *index, int64_t count, const double *centre,
                               const double *scale, double *out)
{
    far_status st = check_plain(ctx, net, frame);
    int64_t d = net->info.inputs;
    for (int64_t j = 0; st == FAR_OK && j < d; j++) {
        const double *column = far_frame_numbers(frame, j);
        for (int64_t i = 0; i < count; i++) {
            if (isnan(column[index[i]])) {
                return far_fail(ctx, FAR_ERR_VALUE,
                                "row %lld: column %s has no value; fill the gap or leave the row "
                                "out",
                                (long long)index[i] + 1, far_frame_name(frame, j));
            }
            out[i * d + j] = (column[index[i]] - centre[j]) / scale[j];
        }
    }
    return st;
}

far_status far_net_encode_rows(far_ctx *ctx, const far_net *net, const far_frame *frame,
                               const int64_t *index, int64_t count, bool directions, double *out)
{
    far_status st;
    const far_columns *c;
    far_scaling s = far_net_scaling(net);
    double *zeros = NULL;
    FAR_TRY(far_net_columns(ctx, net, &c));
    FAR_TRY(far_alloc(ctx, net->info.inputs, &zeros));
    memset(zeros, 0, (size_t)net->info.inputs * sizeof *zeros);
    double *centre = directions ? zeros : s.input_centre.data;
    if (c) {
        far_encoder e = c->model->encoder;
        e.centre = centre;
        e.scale = s.input_scale.data;
        FAR_TRY(far_encoder_apply(ctx, &e, frame, index, count, out));
    } else {
        FAR_TRY(encode_plain(ctx, net, frame, index, count, centre, s.input_scale.data, out));
    }
done:
    far_free(ctx, zeros);
    return st;
}

far_status far_net_encode(far_ctx *ctx, const far_net *net, const far_frame *frame,
                          const unsigned char *rows, far_mat *out)
{
    far_status st;
    int64_t *index = NULL, count;
    double *points = NULL;
    if (!net || !frame) {
        return far_fail(ctx, FAR_ERR_ARG, "the network or the frame is NULL");
    }
    int64_t d = net->info.inputs;
    FAR_TRY(far_net_check_mat(ctx, out, "out", far_frame_rows(frame), d, FAR_F64));
    FAR_TRY(far_row_index(ctx, frame, rows, &index, &count));
    FAR_TRY(far_alloc(ctx, count * d, &points));
    FAR_TRY(far_net_encode_rows(ctx, net, frame, index, count, false, points));
    for (int64_t i = 0; i < count; i++) {
        memcpy(far_mat_row(out, index[i]), points + i * d, (size_t)d * sizeof *points);
    }
done:
    far_free(ctx, index);
    far_free(ctx, points);
    return st;
}
