/* Any bytes, as a file, either read as a matrix of finite numbers, which survives being written as
 * csv and read again bit for bit, or fail with a message of one line that starts with the name. */
#define _GNU_SOURCE
#include "../../src/data/data_internal.h"

#include "fuzz.h"

#define MAX_WRITTEN 10000 /* values; larger matrices are not written again */

static void check_again(far_ctx *ctx, const far_mat *m)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    far_array *again;
    require(f && far_mat_write(ctx, m, &(far_write_opts){.stream = f}, NULL) == FAR_OK,
            "the values can be written");
    fclose(f);
    require(far_array_parse_bytes(ctx, "again", text, (int64_t)length, NULL, &again) == FAR_OK,
            "what was written reads again");
    far_mat n = far_array_describe(again).values;
    require(n.rows == m->rows && n.cols == m->cols, "the shape stays");
    require(memcmp(n.data, m->data, (size_t)(n.rows * n.cols) * sizeof(double)) == 0,
            "the values stay");
    far_array_destroy(again);
    free(text);
}

static void check_table(far_ctx *ctx, const far_array *t)
{
    far_mat m = far_array_describe(t).values;
    const double *values = m.data;
    require(m.rows > 0 && m.cols > 0, "there are values");
    for (int64_t i = 0; i < m.rows * m.cols; i++) {
        require(isfinite(values[i]), "every value is finite");
    }
    if (m.rows * m.cols <= MAX_WRITTEN) {
        check_again(ctx, &m);
    }
}

static void read_bytes(far_ctx *ctx, const uint8_t *data, size_t size, const char *member)
{
    far_array *t;
    far_status st = far_array_parse_bytes(ctx, "fuzz", data, (int64_t)size, member, &t);
    require((st == FAR_OK) == (t != NULL), "a table exactly on success");
    if (st == FAR_OK) {
        check_table(ctx, t);
        far_array_destroy(t);
    } else {
        check_message(far_ctx_message(ctx));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx = make_context();
    read_bytes(ctx, data, size, NULL);
    if (size > 4 && memcmp(data, "PK", 2) == 0) {
        read_bytes(ctx, data, size, "a");
    }
    far_ctx_destroy(ctx);
    require(live_bytes == 0, "all memory is given back");
    return 0;
}
