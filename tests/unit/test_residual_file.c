/* State dicts with the names of torchvision's ResNet-18 and ResNet-34 say which network they are.
 */
#include "../harness.h"

#include <farfield/farfield.h>

#define PATH "residual.safetensors"

/* A safetensors file of zeros on its way. */
typedef struct writer {
    char *text;
    size_t used, bytes;
    const char *without; /* a tensor to leave out */
} writer;

static void add_tensor(writer *w, const char *name, const char *shape, size_t numbers)
{
    if (w->without && strcmp(name, w->without) == 0) {
        return;
    }
    w->used += (size_t)sprintf(
        w->text + w->used, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        w->used > 1 ? "," : "", name, shape, w->bytes, w->bytes + 4 * numbers);
    w->bytes += 4 * numbers;
}

static void add_norm(writer *w, const char *module, int channels)
{
    static const char *const PARTS[] = {"weight", "bias", "running_mean", "running_var"};
    for (int k = 0; k < 4; k++) {
        char name[64], shape[16];
        snprintf(name, sizeof name, "%s.%s", module, PARTS[k]);
        snprintf(shape, sizeof shape, "%d", channels);
        add_tensor(w, name, shape, (size_t)channels);
    }
}

static void add_conv(writer *w, const char *prefix, const char *conv, const char *norm, int in,
                     int out, int side)
{
    char name[64], shape[48];
    snprintf(name, sizeof name, "%s%s.weight", prefix, conv);
    snprintf(shape, sizeof shape, "%d,%d,%d,%d", out, in, side, side);
    add_tensor(w, name, shape, (size_t)(out * in * side * side));
    snprintf(name, sizeof name, "%s%s", prefix, norm);
    add_norm(w, name, out);
}

/* Few channels: what counts is how many blocks there are. */
static void add_stages(writer *w, const int *blocks)
{
    static const int CHANNELS[] = {2, 2, 3, 5, 7};
    for (int stage = 1; stage <= 4; stage++) {
        int before = CHANNELS[stage - 1], out = CHANNELS[stage];
        for (int k = 0; k < blocks[stage - 1]; k++) {
            char prefix[32];
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage, k);
            add_conv(w, prefix, "conv1", "bn1", k ? out : before, out, 3);
            add_conv(w, prefix, "conv2", "bn2", out, out, 3);
            if (k == 0 && stage > 1) {
                add_conv(w, prefix, "downsample.0", "downsample.1", before, out, 1);
            }
        }
    }
}

static void write_residual(const int *blocks, const char *without, const char *more)
{
    writer w = {.text = calloc(1, 1 << 17), .used = 1, .without = without};
    w.text[0] = '{';
    add_conv(&w, "", "conv1", "bn1", 3, 2, 7);
    add_stages(&w, blocks);
    add_tensor(&w, "fc.weight", "11,7", 77);
    add_tensor(&w, "fc.bias", "11", 11);
    if (more) {
        add_norm(&w, more, 7);
    }
    w.text[w.used++] = '}';
    char *file = calloc(1, 8 + w.used + w.bytes);
    for (int k = 0; k < 8; k++) {
        file[k] = (char)(w.used >> (8 * k) & 255);
    }
    memcpy(file + 8, w.text, w.used);
    write_file(PATH, file, 8 + w.used + w.bytes);
    free(file);
    free(w.text);
}

static int count(const char *text, const char *part)
{
    int found = 0;
    for (; (text = strstr(text, part)); text++) {
        found++;
    }
    return found;
}

static const int EIGHTEEN[] = {2, 2, 2, 2}, THIRTY_FOUR[] = {3, 4, 6, 3};

static void names_give_the_architecture(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        far_net *net = NULL;
        write_residual(k ? THIRTY_FOUR : EIGHTEEN, NULL, NULL);
        must(far_net_load(ctx, PATH, NULL, &net));
        far_net_info info = far_net_describe(net);
        assert_int_equal(info.inputs, 3 * 224 * 224);
        assert_int_equal(info.outputs, 11);
        assert_int_equal(count(info.arch, "skip("), k ? 16 : 8);
        assert_int_equal(count(info.arch, " | "), 3);
        assert_int_equal(count(info.arch, "stride=2"), 8); /* first, maxpool, two a later stage */
        assert_non_null(strstr(info.arch, "gap dense(11)"));
        far_net_destroy(net);
    }
    unlink(PATH);
}

static void other_networks_are_refused_by_name(void **state)
{
    far_net *net = NULL;
    (void)state;
    write_residual(EIGHTEEN, "layer3.1.conv2.weight", NULL);
    refused(far_net_load(ctx, PATH, NULL, &net), FAR_ERR_FORMAT, "'layer3.1.conv2' is missing");
    write_residual(EIGHTEEN, NULL, "layer2.0.bn3");
    refused(far_net_load(ctx, PATH, NULL, &net), FAR_ERR_FORMAT, "'layer2.0.bn3'");
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_give_the_architecture),
        TEST(other_networks_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
