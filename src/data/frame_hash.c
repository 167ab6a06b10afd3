/* What a frame holds, as one number: the same for csv, npy and npz on any machine. */
#include "frame_internal.h"

#include <math.h>
#include <string.h>

#define MISSING_WORD UINT64_MAX /* instead of a length */
#define MISSING_NUMBER ((uint64_t)0x7ff8 << 48)

static void add_count(far_sha256 *h, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    far_sha256_add(h, bytes, sizeof bytes);
}

static void add_text(far_sha256 *h, const char *text)
{
    size_t length = strlen(text);
    add_count(h, length);
    far_sha256_add(h, text, length);
}

/* Equal numbers have equal bytes: there is one zero, and one way to be missing. */
static void add_number(far_sha256 *h, double value)
{
    uint64_t bits;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    add_count(h, isnan(value) ? MISSING_NUMBER : bits);
}

static void add_column(far_sha256 *h, const far_frame *f, int64_t col, const unsigned char *rows)
{
    const far_column *c = &f->columns[col];
    add_text(h, f->name[col]);
    add_count(h, c->kind);
    for (int64_t i = 0; i < f->rows; i++) {
        if (rows && !rows[i]) {
            continue;
        }
        if (c->kind == FAR_COLUMN_NUMBER) {
            add_number(h, c->numbers[i]);
        } else if (c->codes[i] < 0) {
            add_count(h, MISSING_WORD);
        } else {
            add_text(h, f->level[c->first_level + c->codes[i]]);
        }
    }
}

static int64_t count_rows(const far_frame *f, const unsigned char *rows)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->rows; i++) {
        count += !rows || rows[i];
    }
    return count;
}

far_status far_frame_hash(far_ctx *ctx, const far_frame *frame, const int64_t *cols, int64_t count,
                          const unsigned char *rows, char out[65])
{
    if (!frame || !out || count < 0 || (count > 0 && !cols)) {
        return far_fail(ctx, FAR_ERR_ARG, "frame, cols or out is NULL, or count is negative");
    }
    for (int64_t j = 0; j < count; j++) {
        if (!far_frame_has(frame, cols[j])) {
            return far_frame_fail(ctx, frame, FAR_ERR_ARG,
                                  "there is no column %lld, only 0 to %lld", (long long)cols[j],
                                  (long long)frame->cols - 1);
        }
    }
    far_sha256 h;
    far_sha256_init(&h);
    add_count(&h, (uint64_t)count);
    add_count(&h, (uint64_t)count_rows(frame, rows));
    for (int64_t j = 0; j < count; j++) {
        add_column(&h, frame, cols[j], rows);
    }
    far_sha256_finish(&h, out);
    return FAR_OK;
}
