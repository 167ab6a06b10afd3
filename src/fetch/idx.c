/* The idx format of MNIST: two zeros, a type, a number of dimensions, the dimensions, the values.
 */
#include "fetch_internal.h"

#define TYPE_BYTE 0x08
#define HEAD_BYTES 4
#define SIZE_BYTES 4 /* of a dimension, the largest byte first */

static int64_t read_dimension(const unsigned char *p)
{
    return (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static far_status check_head(const far_input *in)
{
    const unsigned char *p = in->data;
    if (in->size < HEAD_BYTES || p[0] != 0 || p[1] != 0 || p[3] == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is not in idx format");
    }
    if (p[2] != TYPE_BYTE) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "holds values of idx type 0x%02x; only bytes (0x08) are read", p[2]);
    }
    if (in->size < HEAD_BYTES + SIZE_BYTES * p[3]) {
        return far_input_fail(in, FAR_ERR_FORMAT, "ends in its header (truncated?)");
    }
    return FAR_OK;
}

far_status far_idx_open(const far_input *in, far_stored *out)
{
    far_status st = check_head(in);
    if (st != FAR_OK) {
        return st;
    }
    int dims = in->data[3];
    int64_t head = HEAD_BYTES + SIZE_BYTES * dims, total = 0;
    *out = (far_stored){.data = in->data + head, .dims = 2, .kind = 'u', .size = 1};
    out->rows = read_dimension(in->data + HEAD_BYTES);
    out->cols = 1;
    bool fits = true;
    for (int i = 1; i < dims; i++) {
        int64_t n = read_dimension(in->data + HEAD_BYTES + SIZE_BYTES * i);
        fits = fits && !__builtin_mul_overflow(out->cols, n, &out->cols);
    }
    fits = fits && !__builtin_mul_overflow(out->cols, out->rows, &total);
    if (!fits || total != in->size - head) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "has %lld bytes of values, not as many as its header says",
                              (long long)(in->size - head));
    }
    if (total == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "holds no values");
    }
    return FAR_OK;
}
