#include "dataset.h"
#include "files.h"

#include <stdlib.h>
#include <string.h>

static int frame_read(const char *verb_name, far_ctx *ctx, const char *operand, dataset *d)
{
    d->label = operand_label(operand);
    char *path = strdup(operand);
    if (!path) {
        return failure(verb_name, "out of memory");
    }
    const char *member = split_member(path);
    far_status st = far_frame_read(ctx, path, member, &d->frame);
    free(path);
    if (st != FAR_OK) {
        return failure(verb_name, "%s", far_ctx_message(ctx));
    }
    d->count = far_frame_rows(d->frame);
    return EXIT_DONE;
}

static int pick_rows(const char *verb_name, far_ctx *ctx, const char *where, dataset *d)
{
    int64_t all = d->count;
    d->rows = calloc(all > 0 ? (size_t)all : 1, 1);
    if (!d->rows) {
        return failure(verb_name, "%s: out of memory", d->label);
    }
    if (far_frame_where(ctx, d->frame, where, d->rows) != FAR_OK) {
        failure(verb_name, "--where: %s", far_ctx_message(ctx));
        return EXIT_USAGE;
    }
    d->count = 0;
    for (int64_t i = 0; i < all; i++) {
        d->count += d->rows[i] != 0;
    }
    if (d->count == 0) {
        return failure(verb_name, "%s: --where '%s' holds for none of the %lld rows", d->label,
                       where, (long long)all);
    }
    return EXIT_DONE;
}

int dataset_read(const char *verb_name, far_ctx *ctx, const char *operand, const char *where,
                 dataset *d)
{
    int code = frame_read(verb_name, ctx, operand, d);
    return code == EXIT_DONE && where ? pick_rows(verb_name, ctx, where, d) : code;
}

void dataset_free(dataset *d)
{
    far_frame_destroy(d->frame);
    free(d->rows);
    *d = (dataset){0};
}
