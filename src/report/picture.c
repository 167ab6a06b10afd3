/* Pictures of palette indices as PNG in base64. */
#include "../data/data_internal.h"
#include "svg.h"

#include <string.h>
#include <zlib.h>

/* Bytes of a file in memory. */
typedef struct bytes {
    unsigned char *data;
    int64_t length;
} bytes;

static void add_bytes(bytes *b, const void *data, size_t length)
{
    memcpy(b->data + b->length, data, length);
    b->length += (int64_t)length;
}

static void add_word(bytes *b, uint32_t value)
{
    const unsigned char big[] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                 (unsigned char)(value >> 8), (unsigned char)value};
    add_bytes(b, big, 4);
}

static void add_chunk(bytes *b, const char *type, const void *data, size_t length)
{
    add_word(b, (uint32_t)length);
    int64_t start = b->length;
    add_bytes(b, type, 4);
    add_bytes(b, data, length);
    add_word(b, (uint32_t)crc32(0, b->data + start, (uInt)(length + 4)));
}

/* Each row behind its filter: of a row like the one above it only zeros are left. */
static void filter_rows(const unsigned char *pixels, int64_t width, int64_t height,
                        unsigned char *out)
{
    for (int64_t i = 0; i < height; i++) {
        const unsigned char *row = pixels + i * width;
        bool same = i > 0 && memcmp(row, row - width, (size_t)width) == 0;
        *out++ = same ? 2 : 0;
        if (same) {
            memset(out, 0, (size_t)width);
        } else {
            memcpy(out, row, (size_t)width);
        }
        out += width;
    }
}

static far_status deflate_rows(far_ctx *ctx, unsigned char *rows, int64_t length, bytes *out)
{
    z_stream z = {0};
    far_status st;
    far_zlib_memory(ctx, &z);
    if (deflateInit(&z, 9) != Z_OK) {
        return FAR_ERR_MEMORY; /* the message is there already */
    }
    uLong bound = deflateBound(&z, (uLong)length);
    st = far_alloc(ctx, (int64_t)bound, &out->data);
    if (st == FAR_OK) {
        z.next_in = rows;
        z.avail_in = (uInt)length;
        z.next_out = out->data;
        z.avail_out = (uInt)bound;
        deflate(&z, Z_FINISH);
        out->length = (int64_t)z.total_out;
    }
    deflateEnd(&z);
    return st;
}

static far_status pack(far_ctx *ctx, const unsigned char *pixels, int64_t width, int64_t height,
                       bytes *out)
{
    unsigned char *rows = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, height * (width + 1), &rows));
    filter_rows(pixels, width, height, rows);
    FAR_TRY(deflate_rows(ctx, rows, height * (width + 1), out));
done:
    far_free(ctx, rows);
    return st;
}

static void put_base64(far_text *t, const bytes *b)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[77];
    int used = 0;
    for (int64_t i = 0; i < b->length; i += 3) {
        int64_t left = b->length - i;
        uint32_t three = (uint32_t)b->data[i] << 16 |
                         (uint32_t)(left > 1 ? b->data[i + 1] : 0) << 8 |
                         (left > 2 ? b->data[i + 2] : 0);
        line[used++] = DIGITS[three >> 18];
        line[used++] = DIGITS[three >> 12 & 63];
        line[used++] = left > 1 ? DIGITS[three >> 6 & 63] : '=';
        line[used++] = left > 2 ? DIGITS[three & 63] : '=';
        if (used == 76 || left <= 3) {
            far_text_add(t, "%.*s", used, line);
            used = 0;
        }
    }
}

far_status far_put_png(far_text *t, const unsigned char *pixels, int64_t width, int64_t height,
                       const unsigned char *palette)
{
    static const unsigned char MAGIC[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    bytes packed = {0}, file = {0};
    unsigned char clear[256], head[13] = {0};
    far_status st;
    memset(clear, 255, sizeof clear);
    clear[255] = 0;
    FAR_TRY(pack(t->ctx, pixels, width, height, &packed));
    FAR_TRY(far_alloc(t->ctx, packed.length + 2048, &file.data));
    add_bytes(&file, MAGIC, sizeof MAGIC);
    bytes h = {head, 0};
    add_word(&h, (uint32_t)width);
    add_word(&h, (uint32_t)height);
    add_bytes(&h, "\x08\x03", 2); /* eight bits, by palette */
    add_chunk(&file, "IHDR", head, sizeof head);
    add_chunk(&file, "PLTE", palette, 768);
    add_chunk(&file, "tRNS", clear, sizeof clear);
    add_chunk(&file, "IDAT", packed.data, (size_t)packed.length);
    add_chunk(&file, "IEND", "", 0);
    put_base64(t, &file);
    st = t->status;
done:
    far_free(t->ctx, packed.data);
    far_free(t->ctx, file.data);
    return st;
}
