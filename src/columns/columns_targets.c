/* Target columns as the outputs of a predictor: scaled numbers, or indicators of the classes. */
#include "columns_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where targets are found. */
typedef struct place {
    far_ctx *ctx;
    const far_columns *columns;
    const far_frame *frame;
    int64_t *cols, count;
    double *values; /* of the classes, where the column holds numbers */
    int64_t *match; /* the class of each of its levels (-1: none), where it holds words */
} place;

static far_status find_known(place *p)
{
    far_status st = FAR_OK;
    for (; st == FAR_OK && p->count < p->columns->info.targets; p->count++) {
        st = far_frame_find(p->ctx, p->frame, p->columns->targets[p->count], &p->cols[p->count]);
    }
    return st;
}

static far_status check_count(const place *p)
{
    const far_columns_info *info = &p->columns->info;
    int64_t wanted = info->classes > 0 ? 1 : info->outputs;
    return p->count == wanted
               ? FAR_OK
               : far_fail(p->ctx, FAR_ERR_SHAPE,
                          "%lld target column%s, but the network has %lld output%s%s",
                          (long long)p->count, far_plural(p->count), (long long)info->outputs,
                          far_plural(info->outputs),
                          info->classes > 0 ? " for the classes of 1" : "");
}

static far_status find_columns(const char *target, place *p)
{
    far_status st = FAR_OK;
    int64_t known = p->columns->info.named ? p->columns->info.targets : 0;
    if (!target && known == 0) {
        return far_fail(p->ctx, FAR_ERR_ARG,
                        "the network does not know its targets; name their columns");
    }
    FAR_TRY(far_alloc(p->ctx, far_frame_cols(p->frame) + known, &p->cols));
    FAR_TRY(target ? far_frame_list(p->ctx, p->frame, target, p->cols, &p->count) : find_known(p));
    FAR_TRY(check_count(p));
done:
    return st;
}

static far_status fail_missing(const place *p, int64_t row, int64_t col)
{
    return far_fail_no_target(p->ctx, far_frame_column(p->frame, col).name, row);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static far_status put_numbers(const place *p, int64_t row, double *out)
{
    const double *centre = far_output_centre(p->columns), *scale = far_output_scale(p->columns);
    for (int64_t k = 0; k < p->count; k++) {
        const double *column = far_frame_column(p->frame, p->cols[k]).numbers;
        if (!column) {
            return far_fail(p->ctx, FAR_ERR_FORMAT, "the target %s holds words; numbers are needed",
                            far_frame_column(p->frame, p->cols[k]).name);
        }
        if (isnan(column[row])) {
            return fail_missing(p, row, p->cols[k]);
        }
        out[k] = (column[row] - centre[k]) / scale[k];
    }
    return FAR_OK;
}

/* ---- classes ------------------------------------------------------------------------------- */

static int64_t find_class(const far_columns *c, const char *word)
{
    for (int64_t k = 0; k < c->info.classes; k++) {
        if (strcmp(c->classes[k], word) == 0) {
            return k;
        }
    }
    return -1;
}

/* Columns of another file may be of another kind: 1 is the class "1" either way. */
static far_status match_classes(place *p)
{
    int64_t col = p->cols[0], classes = p->columns->info.classes;
    if (far_frame_column(p->frame, col).kind == FAR_COLUMN_NUMBER) {
        far_status st = far_alloc(p->ctx, classes, &p->values);
        for (int64_t k = 0; st == FAR_OK && k < classes; k++) {
            const far_column *c = &p->frame->columns[col];
            p->values[k] = far_notation_value(p->columns->classes[k], c->notation, c->mark);
        }
        return st;
    }
    int64_t levels = far_frame_column(p->frame, col).level_count;
    far_status st = far_alloc(p->ctx, levels, &p->match);
    for (int64_t l = 0; st == FAR_OK && l < levels; l++) {
        p->match[l] = find_class(p->columns, far_frame_level(p->frame, col, l));
    }
    return st;
}

static int64_t class_at(const place *p, int64_t row)
{
    if (p->match) {
        return p->match[far_frame_column(p->frame, p->cols[0]).codes[row]];
    }
    double value = far_frame_column(p->frame, p->cols[0]).numbers[row];
    for (int64_t k = 0; k < p->columns->info.classes; k++) {
        if (p->values[k] == value) {
            return k;
        }
    }
    return -1;
}

static far_status fail_class(const place *p, int64_t row)
{
    int64_t col = p->cols[0], last = p->columns->info.classes - 1;
    const double *numbers = far_frame_column(p->frame, col).numbers;
    char text[64];
    if (numbers) {
        snprintf(text, sizeof text, "%g", numbers[row]);
    } else {
        snprintf(text, sizeof text, "%s",
                 far_frame_level(p->frame, col, far_frame_column(p->frame, col).codes[row]));
    }
    return far_fail(p->ctx, FAR_ERR_VALUE,
                    "row %lld: the target %s is %s, no class that the network knows (%s to %s)",
                    (long long)row + 1, far_frame_column(p->frame, col).name, text,
                    p->columns->classes[0], p->columns->classes[last]);
}

static bool is_missing(const place *p, int64_t row)
{
    const double *numbers = far_frame_column(p->frame, p->cols[0]).numbers;
    return numbers ? isnan(numbers[row]) : far_frame_column(p->frame, p->cols[0]).codes[row] < 0;
}

/* One indicator an output; one output for two classes is that of the second. */
static far_status put_class(const place *p, int64_t row, double *out)
{
    if (is_missing(p, row)) {
        return fail_missing(p, row, p->cols[0]);
    }
    const double *centre = far_output_centre(p->columns), *scale = far_output_scale(p->columns);
    int64_t label = class_at(p, row), outputs = p->columns->info.outputs;
    int64_t first = p->columns->info.classes - outputs;
    if (label < 0) {
        return fail_class(p, row);
    }
    for (int64_t k = 0; k < outputs; k++) {
        out[k] = ((label == first + k) - centre[k]) / scale[k];
    }
    return FAR_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static far_status put_rows(const place *p, const int64_t *index, far_mat *out)
{
    far_status st = FAR_OK;
    bool classes = p->columns->info.classes > 0;
    for (int64_t i = 0; st == FAR_OK && i < out->rows; i++) {
        st = (classes ? put_class : put_numbers)(p, index[i], far_mat_row(out, i));
    }
    return st;
}

far_status far_columns_encode_targets(far_ctx *ctx, const far_columns *c, const far_frame *frame,
                                      const unsigned char *rows, const char *target, far_mat *out)
{
    far_status st;
    int64_t *index = NULL, count;
    place p = {.ctx = ctx, .columns = c, .frame = frame};
    if (!c || !frame) {
        return far_fail(ctx, FAR_ERR_ARG, "the columns or the frame is NULL");
    }
    FAR_TRY(far_row_index(ctx, frame, rows, &index, &count));
    FAR_TRY(far_mat_expect(ctx, out, "out", count, c->info.outputs, FAR_F64));
    FAR_TRY(find_columns(target, &p));
    FAR_TRY(c->info.classes > 0 ? match_classes(&p) : FAR_OK);
    FAR_TRY(put_rows(&p, index, out));
done:
    FAR_FREE_ALL(ctx, index, p.cols, p.values, p.match);
    return st;
}
