/* Any bytes as a tar and as an idx array: a file that is found and values that are read lie in the
 * input, and what fails has a message of one line that starts with the name. */
#define _GNU_SOURCE
#include "../../src/fetch/fetch_internal.h"

#include "fuzz.h"

static void check_bytes(const far_input *in, const unsigned char *data, int64_t size)
{
    unsigned sum = 0;
    require(size >= 0 && data >= in->data && data + size <= in->data + in->size,
            "what is found lies in the input");
    for (int64_t i = 0; i < size; i++) {
        sum += data[i]; /* a sanitizer sees a byte that is not ours */
    }
    require(sum <= 255u * (unsigned long long)size, "a sum of bytes");
}

static void check_tar(const far_input *in, const char *path)
{
    const unsigned char *found;
    int64_t size;
    if (far_tar_find(in, path, &found, &size) != FAR_OK) {
        check_message(far_ctx_message(in->ctx));
    } else if (found) {
        check_bytes(in, found, size);
    }
}

static void check_idx(const far_input *in)
{
    far_stored array;
    if (far_idx_open(in, &array) != FAR_OK) {
        check_message(far_ctx_message(in->ctx));
        return;
    }
    require(array.rows > 0 && array.cols > 0, "there are values");
    check_bytes(in, array.data, array.rows * array.cols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx;
    far_input in = {0};
    require(far_ctx_create(NULL, &ctx) == FAR_OK, "a context opens");
    require(far_input_copy(ctx, "fuzz", data, (int64_t)size, &in) == FAR_OK, "it fits");
    check_tar(&in, "a/b.txt");
    check_tar(&in, "a");
    check_idx(&in);
    far_input_clear(&in);
    far_ctx_destroy(ctx);
    return 0;
}
