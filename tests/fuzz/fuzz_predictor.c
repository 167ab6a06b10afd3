/* Bytes as the manifest of a predictor's file and, behind a zero, as what lies beside it, sealed so
 * that the checksum holds: refused with a message of one line that starts with the name, or a
 * predictor whose values obey its certificate and which survives its own file. */
#define _GNU_SOURCE
#include "../../src/predictor/predictor_internal.h"

#include <math.h>

#include "fuzz.h"

enum { MOST = 64 };

/* A sealed zip of the two pieces; free it. */
static char *sealed(far_ctx *ctx, const uint8_t *data, size_t size, size_t *length)
{
    char *bytes;
    far_output o;
    far_sha256 sum;
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t first = end ? (size_t)(end - data) : size;
    FILE *stream = open_memstream(&bytes, length);
    require(stream && far_output_open_stream(ctx, stream, &o) == FAR_OK, "a stream opens");
    far_zip z = {.output = &o, .zip64_from = UINT32_MAX, .sealed = true};
    far_sha256_init(&sum);
    o.sum = &sum;
    far_zip_put_bytes(&z, "manifest.json", data, first);
    if (end) {
        far_zip_put_bytes(&z, "content", end + 1, size - first - 1);
    }
    far_zip_finish(&z);
    o.sum = NULL;
    require(far_output_commit(&o) == FAR_OK, "a zip is written");
    far_output_close(&o);
    fclose(stream);
    return bytes;
}

static void check_values(far_ctx *ctx, const far_predictor *p, const far_certificate *c)
{
    far_predictor_info i = far_predictor_describe(p);
    double x[MOST], f[MOST];
    far_mat in = far_mat_view(x, 1, i.inputs, FAR_F64),
            out = far_mat_view(f, 1, i.outputs, FAR_F64);
    for (int size = -3; size < 4; size++) {
        for (int64_t j = 0; j < i.inputs; j++) {
            x[j] = sin((double)(j + size)) * pow(10, 2 * size);
        }
        if (far_predictor_eval(ctx, p, &in, &out) != FAR_OK) {
            continue; /* beyond float64 */
        }
        for (int64_t k = 0; k < i.outputs; k++) {
            const far_bound *b = far_certificate_bound(c, k);
            require(b->verdict != FAR_BOUNDED || (f[k] >= b->lowest && f[k] <= b->highest),
                    "a value lies in its range");
        }
    }
}

static void check_file(far_ctx *ctx, const far_predictor *p)
{
    char *bytes;
    size_t size;
    far_output o;
    far_predictor *again;
    FILE *stream = open_memstream(&bytes, &size);
    require(stream && far_output_open_stream(ctx, stream, &o) == FAR_OK &&
                p->ops->write(p->self, &o) == FAR_OK && far_output_commit(&o) == FAR_OK,
            "what was read can be written");
    far_output_close(&o);
    fclose(stream);
    require(far_predictor_parse(ctx, "again", bytes, (int64_t)size, true, NULL, &again) == FAR_OK,
            "what was written can be read");
    far_predictor_destroy(again);
    free(bytes);
}

static void check(far_ctx *ctx, const far_predictor *p)
{
    far_certificate *c;
    far_certify_opts how;
    far_predictor_info i = far_predictor_describe(p);
    far_certify_opts_init(&how);
    how.seconds = 0;
    how.starts = 2;
    check_file(ctx, p);
    if (i.inputs <= MOST && i.outputs <= MOST &&
        far_predictor_certify(ctx, p, &how, &c) == FAR_OK) {
        check_values(ctx, p, c);
        far_certificate_destroy(c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx;
    far_predictor *p;
    size_t length;
    require(far_ctx_create(NULL, &ctx) == FAR_OK, "a context opens");
    char *bytes = sealed(ctx, data, size, &length);
    far_status st = far_predictor_parse(ctx, "file", bytes, (int64_t)length, true, NULL, &p);
    if (st == FAR_OK) {
        check(ctx, p);
    } else {
        require(strncmp(far_ctx_message(ctx), "file", 4) == 0 || st == FAR_ERR_BACKEND,
                "the message starts with the name");
        require(!strchr(far_ctx_message(ctx), '\n'), "the message is one line");
    }
    far_predictor_destroy(p);
    free(bytes);
    far_ctx_destroy(ctx);
    return 0;
}
