/* Bytes up to a first line end are an architecture (none: the file must name its own), the rest a
 * file; if that is JSON (it starts with {) it is the header of one, with as many bytes behind it as
 * it asks for, at most a few thousand. They either make a network whose numbers are sound, which
 * can be evaluated and is the same after saving and loading, or fail with a message. */
#define _GNU_SOURCE
#include "../../src/net/net_file.h"

#include "fuzz.h"

#define ARCH_MOST 512
#define DATA_BYTES 8192

typedef struct file {
    char *data;
    size_t size;
} file;

static void save(far_ctx *ctx, const far_net *net, file *f)
{
    far_output o;
    FILE *stream = open_memstream(&f->data, &f->size);
    require(stream && far_output_open_stream(ctx, stream, &o) == FAR_OK, "it opens");
    require(far_net_write(net, &o) == FAR_OK, "a network can be saved");
    require(far_output_commit(&o) == FAR_OK, "to the end");
    far_output_close(&o);
    fclose(stream);
}

static void check_net(far_net *net)
{
    far_net_info info = far_net_describe(net);
    int64_t counted = 0;
    require(info.inputs > 0 && info.outputs > 0, "it has inputs and outputs");
    for (int64_t i = 0; i < info.tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        const double *values = t.values.data;
        counted += t.parameter >= 0 ? t.values.rows * t.values.cols : 0;
        for (int64_t k = 0; k < t.values.rows * t.values.cols; k++) {
            require(isfinite(values[k]), "its numbers are finite");
        }
    }
    require(counted == info.parameters, "all parameters are in tensors");
    far_scaling s = far_columns_describe(far_net_describe(net).columns).scaling;
    for (int64_t j = 0; j < info.inputs; j++) {
        require(((double *)s.input_scale.data)[j] > 0, "scales are positive");
    }
}

static void check_again(far_ctx *ctx, const far_net *net)
{
    file first, second;
    far_net *again;
    save(ctx, net, &first);
    require(far_net_parse_bytes(ctx, "again", first.data, (int64_t)first.size, NULL, &again) ==
                FAR_OK,
            "what was written reads again");
    save(ctx, again, &second);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
            "and is written the same");
    far_net_destroy(again);
    free(first.data);
    free(second.data);
}

/* Whatever comes out: it may be infinite, or have no value. */
static void evaluate(far_ctx *ctx, const far_net *net)
{
    far_net_info info = far_net_describe(net);
    double *x = malloc((size_t)info.inputs * sizeof *x), *y = malloc((size_t)info.outputs * 8);
    for (int64_t j = 0; j < info.inputs; j++) {
        x[j] = sin((double)j + 1);
    }
    far_mat in = far_mat_view(x, 1, info.inputs, FAR_F64);
    far_mat out = far_mat_view(y, 1, info.outputs, FAR_F64);
    far_status st = far_net_eval(ctx, net, &in, &out);
    require(st == FAR_OK || *far_ctx_message(ctx), "a failure has a message");
    free(x);
    free(y);
}

/* What the caller said wrong keeps its caret; what is wrong with the file is a line that names it.
 */
static void check_failure(far_status st, const char *arch, const char *message)
{
    if (st == FAR_ERR_PARSE || st == FAR_ERR_ARCH) {
        require(arch && *message, "the architecture given is at fault");
        return;
    }
    require(st == FAR_ERR_FORMAT || st == FAR_ERR_VALUE || st == FAR_ERR_MEMORY ||
                st == FAR_ERR_ARG,
            "it is the file's fault");
    check_message(message);
}

static void read_net(far_ctx *ctx, const void *data, size_t size, const char *arch)
{
    far_net *net;
    far_status st = far_net_parse_bytes(ctx, "fuzz", data, (int64_t)size, arch, &net);
    require((st == FAR_OK) == (net != NULL), "a network exactly on success");
    if (net) {
        check_net(net);
        check_again(ctx, net);
        evaluate(ctx, net);
        far_net_destroy(net);
    } else {
        check_failure(st, arch, far_ctx_message(ctx));
    }
}

/* As many bytes as the offsets of the text go to, found the cheap way. */
static size_t data_bytes(const char *header)
{
    size_t most = 0;
    for (const char *c = header; (c = strstr(c, "data_offsets\":[")); c++) {
        const char *comma = strchr(c, ',');
        size_t end = comma ? strtoul(comma + 1, NULL, 10) : 0;
        most = end > most && end <= DATA_BYTES ? end : most;
    }
    return most;
}

/* Bytes 1, 2, 3, ... are small numbers in any type. */
static void read_header(far_ctx *ctx, const char *header, size_t length, const char *arch)
{
    char *text = strndup(header, length);
    size_t bytes = data_bytes(text);
    uint64_t says = length;
    unsigned char *whole = calloc(8 + length + bytes + 1, 1);
    memcpy(whole, &says, 8);
    memcpy(whole + 8, header, length);
    for (size_t i = 0; i < bytes; i++) {
        whole[8 + length + i] = (unsigned char)(1 + i % 60);
    }
    read_net(ctx, whole, 8 + length + bytes, arch);
    free(whole);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx = make_context();
    char arch[ARCH_MOST];
    const uint8_t *line = size ? memchr(data, '\n', size < ARCH_MOST ? size : ARCH_MOST) : NULL;
    size_t used = line ? (size_t)(line - data) : 0;
    memcpy(arch, data, used);
    arch[used] = 0;
    const uint8_t *rest = line ? line + 1 : data;
    size_t left = size - (size_t)(rest - data);
    if (left > 0 && *rest == '{') {
        read_header(ctx, (const char *)rest, left, used ? arch : NULL);
    } else {
        read_net(ctx, rest, left, used ? arch : NULL);
    }
    far_ctx_destroy(ctx);
    require(live_bytes == 0, "all memory is given back");
    return 0;
}
