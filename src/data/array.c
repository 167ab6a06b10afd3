/* Arrays of numbers: find the format, fill, check that every value is finite. */
#include "data_internal.h"

#include <math.h>

void far_array_destroy(far_array *array)
{
    if (array) {
        far_ctx *ctx = array->ctx;
        far_notes_free(array);
        far_free(ctx, array->block);
        far_free(ctx, array);
    }
}

far_array_info far_array_describe(const far_array *array)
{
    bool matrix = array->dims < 3; /* a vector is a matrix of one column */
    far_array_info info = {
        .values = far_mat_view(array->values, array->rows, array->cols, FAR_F64),
        .dims = matrix ? 2 : array->dims,
    };
    for (int i = 0; i < FAR_ARRAY_DIMS; i++) {
        info.shape[i] = !matrix ? array->shape[i] : i == 0 ? array->rows : i == 1 ? array->cols : 0;
    }
    return info;
}

/* ---- values that are not finite ---- */

int64_t far_first_not_finite(const double *values, int64_t count)
{
    int64_t i = 0;
    while (i < count && isfinite(values[i])) {
        i++;
    }
    return i;
}

far_status far_fail_value(const far_input *in, int64_t row, int64_t col, const char *name,
                          int64_t length, double value)
{
    char shown[64] = "";
    far_show(shown, sizeof shown, name ? name : "", length);
    return far_input_fail(
        in, FAR_ERR_VALUE, "row %lld, column %lld%s%s%s is %s; remove or fill it first",
        (long long)row + 1, (long long)col + 1, *shown ? " (" : "", shown, *shown ? ")" : "",
        isnan(value) ? "nan"
        : value < 0  ? "-inf"
                     : "inf");
}

static far_status check_finite(const far_input *in, const far_array *a)
{
    int64_t count = a->rows * a->cols, at = far_first_not_finite(a->values, count);
    return at == count ? FAR_OK
                       : far_fail_value(in, at / a->cols, at % a->cols, NULL, 0, a->values[at]);
}

/* ---- reading ---- */

static far_status fill(far_input *in, const char *member, int dims, far_array *a)
{
    bool npz = far_npz_is(in);
    if (!npz && member) {
        return far_npz_refuse_member(in, member);
    }
    if (!npz && !far_npy_is(in)) {
        return far_csv_parse(in, a); /* which can name the column of a value that is not finite */
    }
    far_status st = npz ? far_npz_parse(in, member, dims, a) : far_npy_parse(in, dims, a);
    return st == FAR_OK ? check_finite(in, a) : st;
}

static far_status parse(far_input *in, const char *member, int dims, far_array **out)
{
    far_status st;
    far_array *a = NULL;
    FAR_TRY(far_input_unpack(in));
    FAR_TRY(far_alloc(in->ctx, 1, &a));
    a->ctx = in->ctx;
    FAR_TRY(fill(in, member, dims, a));
done:
    FAR_HAND_OVER(a, out, far_array_destroy);
    return st;
}

far_status far_array_read(far_ctx *ctx, const char *path, const char *member, int dims,
                          far_array **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    if (dims < 2 || dims > FAR_ARRAY_DIMS) {
        return far_fail(ctx, FAR_ERR_ARG, "dims is %d; it is from 2 to %d", dims, FAR_ARRAY_DIMS);
    }
    far_input in = {0};
    far_status st = far_input_load(ctx, path, &in);
    if (st == FAR_OK) {
        st = parse(&in, member, dims, out);
    }
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}

far_status far_array_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_array **out)
{
    far_status st;
    far_input in = {0};
    *out = NULL;
    FAR_TRY(far_input_copy(ctx, label, data, size, &in));
    FAR_TRY(parse(&in, member, 2, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
