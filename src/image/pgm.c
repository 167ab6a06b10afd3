/* PGM: "P2" or "P5", width, height and the largest value as text, then the pixels. */
#include "image_internal.h"

#include <string.h>

#define VALUE_MOST 65535

typedef struct reader {
    const far_input *in;
    int64_t at;
} reader;

static bool is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool far_pgm_is(const far_input *in)
{
    const unsigned char *p = in->data;
    return in->size > 2 && p[0] == 'P' && (p[1] == '2' || p[1] == '5') && is_blank(p[2]);
}

static void skip_blanks(reader *r)
{
    const unsigned char *p = r->in->data;
    while (r->at < r->in->size && (is_blank(p[r->at]) || p[r->at] == '#')) {
        bool comment = p[r->at] == '#';
        while (comment && r->at < r->in->size && p[r->at] != '\n') {
            r->at++;
        }
        r->at += r->at < r->in->size;
    }
}

static far_status read_number(reader *r, const char *what, int64_t most, int64_t *out)
{
    const unsigned char *p = r->in->data;
    int64_t value = 0, start;
    skip_blanks(r);
    start = r->at;
    while (r->at < r->in->size && p[r->at] >= '0' && p[r->at] <= '9' && value <= most) {
        value = 10 * value + p[r->at++] - '0';
    }
    if (r->at == start || value > most) {
        return far_input_fail(r->in, FAR_ERR_FORMAT, "%s is no number up to %lld (truncated?)",
                              what, (long long)most);
    }
    *out = value;
    return FAR_OK;
}

static far_status read_text(reader *r, int64_t top, far_grey *out)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; st == FAR_OK && i < out->rows * out->cols; i++) {
        int64_t value = 0;
        st = read_number(r, "a pixel", top, &value);
        out->values[i] = (float)value / (float)top;
    }
    return st;
}

/* One byte a pixel, or two with the larger first. */
static far_status read_bytes(reader *r, int64_t top, far_grey *out)
{
    int64_t wide = top > 255 ? 2 : 1, count = out->rows * out->cols;
    r->at++; /* one blank ends the header */
    if (r->in->size - r->at < count * wide) {
        return far_input_fail(r->in, FAR_ERR_FORMAT, "ends in its pixels (truncated?)");
    }
    const unsigned char *p = r->in->data + r->at;
    for (int64_t i = 0; i < count; i++) {
        int value = wide == 2 ? p[2 * i] << 8 | p[2 * i + 1] : p[i];
        out->values[i] = value < top ? (float)value / (float)top : 1;
    }
    return FAR_OK;
}

far_status far_pgm_parse(const far_input *in, far_grey *out)
{
    reader r = {in, 2};
    int64_t cols, rows, top;
    bool text = in->data[1] == '2';
    far_status st;
    FAR_TRY(read_number(&r, "its width", FAR_GREY_MOST, &cols));
    FAR_TRY(read_number(&r, "its height", FAR_GREY_MOST, &rows));
    FAR_TRY(read_number(&r, "its largest value", VALUE_MOST, &top));
    if (top == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "its largest value is 0");
    }
    if (rows > 0 && cols > in->size / rows) { /* a byte a pixel at least */
        return far_input_fail(in, FAR_ERR_FORMAT, "ends in its pixels (truncated?)");
    }
    FAR_TRY(far_grey_reserve(in, rows, cols, out));
    st = text ? read_text(&r, top, out) : read_bytes(&r, top, out);
done:
    return st;
}
