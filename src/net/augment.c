/* Images drawn anew for every step: mirrored, and shifted over a black border. What becomes of a
 * row follows from seed, epoch and row alone, so threads and interruptions change nothing. */
#include "../arch/arch_internal.h"
#include "train_internal.h"

#include <stdlib.h>
#include <string.h>

#define STREAM 0x6175676d656e7421u /* apart from the order of rows, which has the same seed */

/* ---- what is asked for ---- */

/* "crop(4)" of so many bytes: the border; -1: it is something else. */
static int64_t read_crop(const char *text, size_t length)
{
    static const char HEAD[] = "crop(";
    char *end;
    size_t head = sizeof HEAD - 1;
    if (length < head + 2 || strncmp(text, HEAD, head) != 0 || text[head] < '1' ||
        text[head] > '9') {
        return -1;
    }
    long long pad = strtoll(text + head, &end, 10);
    return end == text + length - 1 && *end == ')' ? pad : -1;
}

static far_status take_word(far_ctx *ctx, const char *text, size_t length, far_augment *a)
{
    int64_t pad = read_crop(text, length);
    bool flip = length == 4 && strncmp(text, "flip", 4) == 0;
    if (!flip && pad < 0) {
        char shown[64];
        far_show(shown, sizeof shown, text, (int64_t)length);
        return far_fail(ctx, FAR_ERR_ARG,
                        "`augment` is a list of flip and crop(4), each once at most, not '%s'",
                        shown);
    }
    if ((flip && a->flip) || (pad > 0 && a->pad > 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "`augment` names %s twice", flip ? "flip" : "crop");
    }
    a->flip |= flip;
    a->pad = pad > 0 ? pad : a->pad;
    return FAR_OK;
}

static far_status read_list(far_ctx *ctx, const char *text, far_augment *a)
{
    far_status st = FAR_OK;
    for (bool more = true; more && st == FAR_OK;) {
        text += strspn(text, " ");
        size_t length = strcspn(text, ","), word = length;
        while (word > 0 && text[word - 1] == ' ') {
            word--;
        }
        st = take_word(ctx, text, word, a);
        more = text[length] == ',';
        text += length + more;
    }
    return st;
}

/* The shape that the network begins with. */
static far_status find_shape(far_ctx *ctx, const far_net *net, far_augment *a)
{
    far_status st;
    far_arch *arch = NULL;
    int64_t count;
    FAR_TRY(far_arch_parse(ctx, net->text, &arch));
    const far_layer *first = far_arch_layers(arch, &count);
    if (count == 0 || first->kind != FAR_LAYER_IMAGE) {
        st = far_fail(ctx, FAR_ERR_ARG,
                      "`augment` %s is for images, but the network begins with %s, not with "
                      "image(..)",
                      a->flip ? "flip" : "crop", count ? far_layer_name(first->kind) : "nothing");
    } else {
        a->channels = first->size.part[0];
        a->rows = first->size.part[1];
        a->cols = first->size.part[2];
    }
done:
    far_arch_destroy(arch);
    return st;
}

far_status far_augment_read(far_ctx *ctx, const far_net *net, const char *text, far_augment *out)
{
    far_status st = FAR_OK;
    *out = (far_augment){0};
    if (!text) {
        return FAR_OK;
    }
    FAR_TRY(read_list(ctx, text, out));
    FAR_TRY(find_shape(ctx, net, out));
    if (out->pad > out->rows || out->pad > out->cols) {
        st = far_fail(ctx, FAR_ERR_ARG,
                      "`augment` crop(%lld) is wider than the images, which have %lld x %lld "
                      "pixels",
                      (long long)out->pad, (long long)out->cols, (long long)out->rows);
    }
done:
    return st;
}

bool far_augment_is(const far_augment *a)
{
    return a->flip || a->pad > 0;
}

/* ---- one image ---- */

far_view far_augment_draw(const far_augment *a, uint64_t seed, int64_t epoch, int64_t row)
{
    uint64_t own = far_random_bits(far_random_bits(seed ^ STREAM, (uint64_t)epoch), (uint64_t)row);
    uint64_t places = 2 * (uint64_t)a->pad + 1;
    return (far_view){.flip = a->flip && far_random_bits(own, 0) & 1,
                      .down = (int64_t)(far_random_bits(own, 1) % places) - a->pad,
                      .right = (int64_t)(far_random_bits(own, 2) % places) - a->pad};
}

void far_augment_apply(const far_augment *a, far_view v, const void *black, const void *from,
                       size_t bytes, void *to)
{
    for (int64_t i = 0; i < a->channels * a->rows; i++) {
        int64_t y = i % a->rows + v.down, line = (i + v.down) * a->cols;
        for (int64_t j = 0; j < a->cols; j++) {
            int64_t x = (v.flip ? a->cols - 1 - j : j) + v.right, at = i * a->cols + j;
            bool inside = y >= 0 && y < a->rows && x >= 0 && x < a->cols;
            memcpy((char *)to + (size_t)at * bytes,
                   inside ? (const char *)from + (size_t)(line + x) * bytes
                          : (const char *)black + (size_t)at * bytes,
                   bytes);
        }
    }
}
