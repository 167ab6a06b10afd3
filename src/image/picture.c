/*
 * One picture as the inputs of a network that was trained on photographs: scaled, cut, normalised.
 *
 * Scaling is Pillow's, which torchvision's Resize uses for pictures: a triangle as wide as the step
 * (so that nothing is left out where it shrinks), weights rounded to 22 bits, first across, then
 * down, each rounded to 8 bits. The bytes are the same.
 */
#include "image_internal.h"

#include <math.h>
#include <string.h>

#define WEIGHT_BITS 22
#define SIDE_MOST 65536

/* What each place of one line of the result takes: count weights from first on. */
typedef struct filter {
    int64_t *first, *count;
    int32_t *weights; /* widest of them a place */
    int64_t widest;
} filter;

static void filter_clear(far_ctx *ctx, filter *f)
{
    FAR_FREE_ALL(ctx, f->first, f->count, f->weights);
}

static double triangle(double x)
{
    return fmax(0, 1 - fabs(x));
}

/* Place i of `out` takes from a line of `in`. */
static void set_place(const filter *f, int64_t in, int64_t out, int64_t i)
{
    double scale = (double)in / (double)out, reach = fmax(scale, 1), sum = 0;
    double centre = ((double)i + 0.5) * scale;
    int64_t first = (int64_t)fmax(0, centre - reach + 0.5);
    int64_t end = (int64_t)fmin((double)in, centre + reach + 0.5);
    int32_t *weights = f->weights + i * f->widest;
    f->first[i] = first;
    f->count[i] = end - first;
    for (int64_t k = first; k < end; k++) {
        sum += triangle(((double)k - centre + 0.5) / reach);
    }
    for (int64_t k = first; k < end; k++) {
        double w = triangle(((double)k - centre + 0.5) / reach) / sum;
        weights[k - first] = (int32_t)(0.5 + w * (1 << WEIGHT_BITS));
    }
}

static far_status filter_make(far_ctx *ctx, int64_t in, int64_t out, filter *f)
{
    far_status st;
    f->widest = 2 * (int64_t)ceil(fmax((double)in / (double)out, 1)) + 1;
    FAR_TRY(far_alloc(ctx, out, &f->first));
    FAR_TRY(far_alloc(ctx, out, &f->count));
    FAR_TRY(far_alloc(ctx, out * f->widest, &f->weights));
    for (int64_t i = 0; i < out; i++) {
        set_place(f, in, out, i);
    }
done:
    return st;
}

/* One number of the result; `apart`: between the numbers it takes. */
static unsigned char weigh(const filter *f, int64_t i, const unsigned char *line, int64_t apart)
{
    const int32_t *weights = f->weights + i * f->widest;
    int64_t sum = (int64_t)1 << (WEIGHT_BITS - 1);
    for (int64_t k = 0; k < f->count[i]; k++) {
        sum += (int64_t)line[(f->first[i] + k) * apart] * weights[k];
    }
    sum >>= WEIGHT_BITS;
    return (unsigned char)(sum > 255 ? 255 : sum);
}

/* from: rows x cols pixels of some channels. */
static void scale_across(const filter *f, int64_t rows, int64_t cols, int64_t out, int64_t channels,
                         const unsigned char *from, unsigned char *to)
{
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t i = 0; i < out * channels; i++) {
            const unsigned char *line = from + y * cols * channels + i % channels;
            to[y * out * channels + i] = weigh(f, i / channels, line, channels);
        }
    }
}

static void scale_down(const filter *f, int64_t out, int64_t line, const unsigned char *from,
                       unsigned char *to)
{
    for (int64_t y = 0; y < out; y++) {
        for (int64_t i = 0; i < line; i++) {
            to[y * line + i] = weigh(f, y, from + i, line);
        }
    }
}

/* p becomes rows x cols. */
static far_status scale(far_ctx *ctx, int64_t rows, int64_t cols, far_pixels *p)
{
    far_status st;
    filter across = {0}, down = {0};
    unsigned char *half = NULL, *whole = NULL;
    int64_t line = cols * p->channels;
    FAR_TRY(filter_make(ctx, p->cols, cols, &across));
    FAR_TRY(filter_make(ctx, p->rows, rows, &down));
    FAR_TRY(far_alloc(ctx, p->rows * line, &half));
    FAR_TRY(far_alloc(ctx, rows * line, &whole));
    scale_across(&across, p->rows, p->cols, cols, p->channels, p->bytes, half);
    scale_down(&down, rows, line, half, whole);
    far_free(ctx, p->bytes);
    p->bytes = whole;
    whole = NULL;
    p->room = rows * line;
    p->rows = rows;
    p->cols = cols;
done:
    FAR_FREE_ALL(ctx, half, whole);
    filter_clear(ctx, &across);
    filter_clear(ctx, &down);
    return st;
}

/* The shorter side becomes `shorter`, the longer one is cut to a whole number. */
static far_status scale_shorter(far_ctx *ctx, int64_t shorter, far_pixels *p)
{
    bool tall = p->rows > p->cols;
    int64_t less = tall ? p->cols : p->rows, more = tall ? p->rows : p->cols;
    int64_t longer = shorter * more / less;
    if (less == shorter) {
        return FAR_OK;
    }
    return scale(ctx, tall ? longer : shorter, tall ? shorter : longer, p);
}

static void put_numbers(const far_picture_opts *o, const far_pixels *p, far_mat *out)
{
    int64_t top = (int64_t)rint((double)(p->rows - o->side) / 2);
    int64_t left = (int64_t)rint((double)(p->cols - o->side) / 2), n = o->side * o->side;
    for (int64_t k = 0; k < 3 * n; k++) {
        int64_t colour = k / n, y = top + k % n / o->side, x = left + k % o->side;
        const unsigned char *at = p->bytes + (y * p->cols + x) * p->channels;
        double value = at[p->channels == 1 ? 0 : colour] / 255.0;
        value = (value - o->mean[colour]) / o->sd[colour];
        if (out->dtype == FAR_F64) {
            ((double *)out->data)[k] = value;
        } else {
            ((float *)out->data)[k] = (float)value;
        }
    }
}

void far_picture_opts_init(far_picture_opts *opts)
{
    if (opts) {
        *opts = (far_picture_opts){.size = sizeof *opts,
                                   .shorter = 256,
                                   .side = 224,
                                   .mean = {0.485, 0.456, 0.406},
                                   .sd = {0.229, 0.224, 0.225}};
    }
}

static far_status check(far_ctx *ctx, const char *path, const far_picture_opts *o,
                        const far_mat *out)
{
    if (!ctx || !path || !o || !out || !out->data) {
        return far_fail(ctx, FAR_ERR_ARG, "far_picture_read needs a path, options and an output");
    }
    if (o->size != sizeof *o || o->side < 1 || o->side > o->shorter || o->shorter > SIDE_MOST) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "side is %lld and shorter %lld: 1 <= side <= shorter <= %d is needed",
                        (long long)o->side, (long long)o->shorter, SIDE_MOST);
    }
    for (int k = 0; k < 3; k++) {
        if (!isfinite(o->mean[k]) || !(o->sd[k] > 0) || !isfinite(o->sd[k])) {
            return far_fail(ctx, FAR_ERR_ARG, "mean must be finite and sd above 0");
        }
    }
    if (out->rows != 1 || out->cols != 3 * o->side * o->side) {
        return far_fail(ctx, FAR_ERR_SHAPE, "out is %lld x %lld, not 1 x %lld",
                        (long long)out->rows, (long long)out->cols,
                        (long long)(3 * o->side * o->side));
    }
    return FAR_OK;
}

far_status far_picture_read(far_ctx *ctx, const char *path, const far_picture_opts *opts,
                            far_mat *out)
{
    far_status st;
    far_input in = {.ctx = ctx};
    far_pixels pixels = {.most = FAR_PICTURE_MOST};
    FAR_TRY(check(ctx, path, opts, out));
    FAR_TRY(far_input_load(ctx, path, &in));
    FAR_TRY(far_pixels_parse(&in, &pixels));
    int64_t least = pixels.rows < pixels.cols ? pixels.rows : pixels.cols;
    int64_t most = pixels.rows < pixels.cols ? pixels.cols : pixels.rows;
    if (most / least > 100) {
        st = far_input_fail(&in, FAR_ERR_SHAPE, "is %lld x %lld pixels: too long to be scaled",
                            (long long)pixels.rows, (long long)pixels.cols);
        goto done;
    }
    FAR_TRY(scale_shorter(ctx, opts->shorter, &pixels));
    put_numbers(opts, &pixels, out);
done:
    far_free(ctx, pixels.bytes);
    far_input_clear(&in);
    return st;
}
