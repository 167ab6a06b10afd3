/* Which residual network of torchvision a file holds: resnet18 and resnet34, whose blocks have two
 * convolutions. Their state dicts say all but the strides, which all of them share. */
#include "net_file.h"

#include <stdio.h>
#include <string.h>

#define NORM " batchnorm(eps=1e-5, affine)"
#define SIDE 224 /* of images, as these networks are trained */
#define STAGES 4

typedef struct reader {
    const far_modules *m;
    int64_t used; /* modules so far */
    far_text *text;
} reader;

static const far_module *find(const far_modules *m, const char *name)
{
    for (int64_t i = 0; i < m->count; i++) {
        if (m->items[i].length == (int)strlen(name) &&
            memcmp(m->items[i].name, name, strlen(name)) == 0) {
            return &m->items[i];
        }
    }
    return NULL;
}

bool far_modules_are_residual(const far_modules *m)
{
    return find(m, "conv1") && find(m, "bn1") && find(m, "layer1.0.conv1");
}

/* The module of that name, which must be there and of that kind. */
static far_status take(reader *r, const char *name, far_module_kind kind, const far_module **out)
{
    static const char *const KINDS[FAR_MODULE_KINDS] = {[FAR_MODULE_DENSE] = "a dense layer",
                                                        [FAR_MODULE_BATCHNORM] = "a batch norm",
                                                        [FAR_MODULE_CONV] = "a convolution"};
    const far_module *found = find(r->m, name);
    if (!found || found->kind != kind) {
        return far_input_fail(&r->m->file->in, FAR_ERR_FORMAT,
                              "has the names of torchvision's ResNet-18 or ResNet-34, but %s '%s' "
                              "is %s; give the architecture (`arch`) if it is another network",
                              KINDS[kind], name, found ? "something else" : "missing");
    }
    r->used++;
    *out = found;
    return FAR_OK;
}

/* "conv(64, 3x3, stride=2, pad=1, nobias) batchnorm(..)" of these two modules. */
static far_status take_conv(reader *r, const char *prefix, const char *conv, const char *norm,
                            int stride, int pad)
{
    char name[64];
    const far_module *m = NULL;
    far_status st;
    snprintf(name, sizeof name, "%s%s", prefix, norm);
    FAR_TRY(take(r, name, FAR_MODULE_BATCHNORM, &m));
    snprintf(name, sizeof name, "%s%s", prefix, conv);
    FAR_TRY(take(r, name, FAR_MODULE_CONV, &m));
    const int64_t *shape = m->parts[FAR_PART_WEIGHT]->shape;
    far_text_add(r->text, "conv(%lld, %lldx%lld", (long long)shape[0], (long long)shape[2],
                 (long long)shape[3]);
    if (stride > 1) {
        far_text_add(r->text, ", stride=%d", stride);
    }
    if (pad > 0) {
        far_text_add(r->text, ", pad=%d", pad);
    }
    far_text_add(r->text, ", nobias)" NORM);
done:
    return st;
}

static bool has(const reader *r, const char *prefix, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return find(r->m, whole) != NULL;
}

/* Two convolutions, and a shortcut of its own where the file has one. */
static far_status take_block(reader *r, const char *prefix, int stride)
{
    far_status st;
    far_text_add(r->text, " skip(");
    FAR_TRY(take_conv(r, prefix, "conv1", "bn1", stride, 1));
    far_text_add(r->text, " relu ");
    FAR_TRY(take_conv(r, prefix, "conv2", "bn2", 1, 1));
    if (stride > 1 || has(r, prefix, "downsample.0")) {
        far_text_add(r->text, " | ");
        FAR_TRY(take_conv(r, prefix, "downsample.0", "downsample.1", stride, 0));
    }
    far_text_add(r->text, ") relu");
done:
    return st;
}

static far_status take_stage(reader *r, int stage)
{
    char prefix[48];
    int64_t block = 0;
    far_status st;
    do {
        snprintf(prefix, sizeof prefix, "layer%d.%lld.", stage, (long long)block);
        FAR_TRY(take_block(r, prefix, block == 0 && stage > 1 ? 2 : 1));
        block++;
        snprintf(prefix, sizeof prefix, "layer%d.%lld.", stage, (long long)block);
    } while (has(r, prefix, "conv1"));
done:
    return st;
}

/* A name that such a network can have. */
static bool is_known(const far_module *m)
{
    char name[64];
    int stage, block, at = 0;
    static const char *const PARTS[] = {"conv1", "bn1",          "conv2",
                                        "bn2",   "downsample.0", "downsample.1"};
    snprintf(name, sizeof name, "%.*s", m->length, m->name);
    bool known = strcmp(name, "conv1") == 0 || strcmp(name, "bn1") == 0 || strcmp(name, "fc") == 0;
    if (sscanf(name, "layer%d.%d.%n", &stage, &block, &at) == 2 && at > 0 && stage <= STAGES) {
        for (int k = 0; k < (int)(sizeof PARTS / sizeof PARTS[0]); k++) {
            known |= strcmp(name + at, PARTS[k]) == 0;
        }
    }
    return known;
}

static far_status fail_more(const reader *r)
{
    char shown[96] = "";
    for (int64_t i = 0; i < r->m->count && !shown[0]; i++) {
        const far_module *m = &r->m->items[i];
        if (!is_known(m)) {
            far_show(shown, sizeof shown, m->name, m->length);
        }
    }
    return far_input_fail(&r->m->file->in, FAR_ERR_FORMAT,
                          "has the names of torchvision's ResNet-18 or ResNet-34, and %lld layers "
                          "more%s%s%s; give the architecture (`arch`)",
                          (long long)(r->m->count - r->used), shown[0] ? ", such as '" : "", shown,
                          shown[0] ? "'" : "");
}

far_status far_modules_residual(const far_modules *m, far_text *out)
{
    reader r = {.m = m, .text = out};
    const far_module *last = NULL;
    far_status st;
    far_text_add(out, "image(3x%dx%d) ", SIDE, SIDE);
    FAR_TRY(take_conv(&r, "", "conv1", "bn1", 2, 3));
    far_text_add(out, " relu maxpool(3, stride=2, pad=1)");
    for (int stage = 1; stage <= STAGES; stage++) {
        FAR_TRY(take_stage(&r, stage));
    }
    FAR_TRY(take(&r, "fc", FAR_MODULE_DENSE, &last));
    far_text_add(out, " gap dense(%lld)", (long long)last->parts[FAR_PART_WEIGHT]->shape[0]);
    FAR_TRY(out->status);
    if (r.used != m->count) {
        st = fail_more(&r);
    }
done:
    return st;
}
