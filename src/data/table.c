/* The table: find the format, fill, check that every value is finite. */
#include "data_internal.h"

#include <math.h>
#include <string.h>

void far_table_destroy(far_table *table)
{
    if (table) {
        far_ctx *ctx = table->ctx;
        far_notes_free(table);
        far_free(ctx, table->block);
        far_free(ctx, table->names);
        far_free(ctx, table->name_text);
        far_free(ctx, table);
    }
}

far_mat far_table_values(const far_table *table)
{
    return far_mat_view(table->values, table->rows, table->cols, FAR_F64);
}

const char *far_table_column(const far_table *table, int64_t j)
{
    return table->names && j >= 0 && j < table->cols ? table->names[j] : NULL;
}

void far_table_column_label(const far_table *t, int64_t j, char *out, size_t capacity)
{
    const char *name = far_table_column(t, j);
    char shown[64];
    if (name && *name) {
        far_show(shown, sizeof shown, name, (int64_t)strlen(name));
        snprintf(out, capacity, "column %lld (%s)", (long long)j + 1, shown);
    } else {
        snprintf(out, capacity, "column %lld", (long long)j + 1);
    }
}

static far_status check_finite(const far_input *in, const far_table *t)
{
    int64_t i = 0, count = t->rows * t->cols;
    while (i < count && isfinite(t->values[i])) {
        i++;
    }
    if (i == count) {
        return FAR_OK;
    }
    char column[128];
    double value = t->values[i];
    far_table_column_label(t, i % t->cols, column, sizeof column);
    return far_input_fail(in, FAR_ERR_VALUE, "row %lld, %s is %s; remove or fill it first",
                          (long long)(i / t->cols + 1), column,
                          isnan(value) ? "nan"
                          : value < 0  ? "-inf"
                                       : "inf");
}

static far_status fill(far_input *in, const char *member, far_table *t)
{
    if (far_npz_is(in)) {
        return far_npz_parse(in, member, t);
    }
    if (member) {
        return far_npz_refuse_member(in, member);
    }
    return far_npy_is(in) ? far_npy_parse(in, t) : far_csv_parse(in, t);
}

static far_status parse(far_input *in, const char *member, bool any_dims, far_table **out)
{
    far_status st;
    far_table *t = NULL;
    FAR_TRY(far_input_unpack(in));
    FAR_TRY(far_alloc(in->ctx, 1, &t));
    *t = (far_table){.ctx = in->ctx, .any_dims = any_dims};
    FAR_TRY(fill(in, member, t));
    FAR_TRY(check_finite(in, t));
    *out = t;
    t = NULL;
done:
    far_table_destroy(t);
    return st;
}

int far_table_shape(const far_table *table, int64_t shape[FAR_ARRAY_DIMS])
{
    bool matrix = table->dims < 3; /* a vector is a matrix of one column */
    for (int i = 0; i < FAR_ARRAY_DIMS; i++) {
        shape[i] = !matrix ? table->shape[i] : i == 0 ? table->rows : i == 1 ? table->cols : 0;
    }
    return matrix ? 2 : table->dims;
}

static far_status read_table(far_ctx *ctx, const char *path, const char *member, bool any_dims,
                             far_table **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    if (!path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
    far_input in = {0};
    far_status st = far_input_load(ctx, path, &in);
    if (st == FAR_OK) {
        st = parse(&in, member, any_dims, out);
    }
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}

far_status far_table_read(far_ctx *ctx, const char *path, const char *member, far_table **out)
{
    return read_table(ctx, path, member, false, out);
}

far_status far_array_read(far_ctx *ctx, const char *path, const char *member, far_table **out)
{
    return read_table(ctx, path, member, true, out);
}

far_status far_table_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_table **out)
{
    far_status st;
    far_input in = {0};
    *out = NULL;
    FAR_TRY(far_input_copy(ctx, label, data, size, &in));
    FAR_TRY(parse(&in, member, false, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
