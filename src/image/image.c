/* A picture becomes a table: its format, means over boxes, places. */
#include "image_internal.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { X, Y, GREY, COLUMNS };

far_status far_grey_reserve(const far_input *in, int64_t rows, int64_t cols, far_grey *out)
{
    if (rows < 1 || cols < 1) {
        return far_input_fail(in, FAR_ERR_FORMAT, "has no pixels");
    }
    if (cols > FAR_GREY_MOST / rows) {
        return far_input_fail(in, FAR_ERR_FORMAT, "has %lld x %lld pixels; at most %lld are read",
                              (long long)cols, (long long)rows, (long long)FAR_GREY_MOST);
    }
    out->rows = rows;
    out->cols = cols;
    return far_alloc(in->ctx, rows * cols, &out->values);
}

static far_status check_pixels(const far_input *in, int64_t rows, int64_t cols,
                               const far_pixels *asked)
{
    if (rows < 1 || cols < 1) {
        return far_input_fail(in, FAR_ERR_FORMAT, "has no pixels");
    }
    if (cols > asked->most / rows) {
        return far_input_fail(in, FAR_ERR_FORMAT, "has %lld x %lld pixels; at most %lld are read",
                              (long long)cols, (long long)rows, (long long)asked->most);
    }
    if (asked->wanted && (rows != asked->rows || cols != asked->cols)) {
        return far_input_fail(in, FAR_ERR_SHAPE,
                              "has %lld x %lld pixels, but %s %lld x %lld; scale the pictures to "
                              "one size first",
                              (long long)cols, (long long)rows, asked->wanted,
                              (long long)asked->cols, (long long)asked->rows);
    }
    return FAR_OK;
}

far_status far_pixels_reserve(const far_input *in, int64_t rows, int64_t cols, int channels,
                              far_pixels *out)
{
    far_status st = FAR_OK;
    FAR_TRY(check_pixels(in, rows, cols, out));
    int64_t bytes = rows * cols * channels;
    if (bytes > out->room) {
        far_free(in->ctx, out->bytes);
        out->bytes = NULL;
        out->room = 0;
        FAR_TRY(far_alloc(in->ctx, bytes, &out->bytes));
        out->room = bytes;
    }
    out->rows = rows;
    out->cols = cols;
    out->channels = channels;
done:
    return st;
}

/* ---- formats ---- */

bool far_jpeg_is(const far_input *in)
{
    return in->size >= 3 && memcmp(in->data, "\xff\xd8\xff", 3) == 0;
}

far_status far_pixels_parse(const far_input *in, far_pixels *out)
{
    if (far_png_is(in)) {
        return far_png_parse(in, out);
    }
    if (far_jpeg_is(in)) {
        return far_jpeg_parse(in, out);
    }
    return far_input_fail(in, FAR_ERR_FORMAT, "is neither a PNG nor a JPEG picture, %s",
                          in->size == 0 ? "but empty" : "whatever its name says");
}

/* 0 is black, 1 is white. */
static far_status parse_grey(const far_input *in, far_grey *out)
{
    far_status st;
    far_pixels p = {.grey = true, .most = FAR_GREY_MOST};
    FAR_TRY(far_pixels_parse(in, &p));
    FAR_TRY(far_grey_reserve(in, p.rows, p.cols, out));
    for (int64_t i = 0; i < p.rows * p.cols; i++) {
        out->values[i] = (float)p.bytes[i] / 255;
    }
done:
    far_free(in->ctx, p.bytes);
    return st;
}

static far_status decode(const far_input *in, far_grey *out)
{
    if (far_pgm_is(in)) {
        return far_pgm_parse(in, out);
    }
    if (far_png_is(in) || far_jpeg_is(in)) {
        return parse_grey(in, out);
    }
    return far_input_fail(in, FAR_ERR_FORMAT, "is neither a PNG nor a JPEG nor a PGM picture");
}

/* ---- means over boxes ---- */

/* Pixels of a line that a box covers: whole ones and parts of the first and last. */
typedef struct box {
    double low, high;
    int64_t first, last; /* last: excluded */
} box;

static box box_of(int64_t i, int64_t boxes, int64_t pixels)
{
    double low = (double)i * (double)pixels / (double)boxes;
    double high = (double)(i + 1) * (double)pixels / (double)boxes;
    int64_t last = (int64_t)ceil(high);
    return (box){low, high, (int64_t)low, last < pixels ? last : pixels};
}

static double part_of(box b, int64_t pixel)
{
    return fmin(b.high, (double)pixel + 1) - fmax(b.low, (double)pixel);
}

static double mean_over(const far_grey *g, box down, box right)
{
    double sum = 0, area = 0;
    for (int64_t i = down.first; i < down.last; i++) {
        double height = part_of(down, i);
        for (int64_t j = right.first; j < right.last; j++) {
            double part = height * part_of(right, j);
            sum += part * (double)g->values[i * g->cols + j];
            area += part;
        }
    }
    return sum / area;
}

/* ---- the table ---- */

static double place(int64_t i, int64_t count)
{
    return 2 * (double)i / (double)(count - 1) - 1;
}

static void fill(const far_grey *g, int64_t rows, int64_t cols, double *values)
{
    for (int64_t i = 0; i < rows; i++) {
        box down = box_of(i, rows, g->rows);
        for (int64_t j = 0; j < cols; j++) {
            double *row = values + (i * cols + j) * COLUMNS;
            row[X] = place(j, cols);
            row[Y] = -place(i, rows);
            row[GREY] = 2 * mean_over(g, down, box_of(j, cols, g->cols)) - 1;
        }
    }
}

static far_status make_frame(far_ctx *ctx, const far_grey *g, int64_t rows, int64_t cols,
                             far_frame **out)
{
    static const char *const NAMES[] = {"x", "y", "grey"};
    double *values = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, rows * cols * COLUMNS, &values));
    fill(g, rows, cols, values);
    far_mat m = far_mat_view(values, rows * cols, COLUMNS, FAR_F64);
    FAR_TRY(far_frame_from_mat(ctx, &m, NAMES, out));
done:
    far_free(ctx, values);
    return st;
}

static far_status check_size(const far_input *in, const far_grey *g, int64_t rows, int64_t cols)
{
    if (rows > g->rows || cols > g->cols) {
        return far_input_fail(
            in, FAR_ERR_SHAPE, "has %lld x %lld pixels, fewer than a grid of %lld x %lld",
            (long long)g->cols, (long long)g->rows, (long long)cols, (long long)rows);
    }
    if (rows < 2 || cols < 2) {
        return far_input_fail(in, FAR_ERR_SHAPE, "a grid needs at least 2 x 2 points");
    }
    return FAR_OK;
}

static far_status parse(far_input *in, int64_t rows, int64_t cols, far_frame **out)
{
    far_grey grey = {0};
    far_status st;
    FAR_TRY(far_input_unpack(in));
    FAR_TRY(decode(in, &grey));
    rows = rows ? rows : grey.rows;
    cols = cols ? cols : grey.cols;
    FAR_TRY(check_size(in, &grey, rows, cols));
    FAR_TRY(make_frame(in->ctx, &grey, rows, cols, out));
done:
    far_free(in->ctx, grey.values);
    return st;
}

far_status far_image_read(far_ctx *ctx, const char *path, const far_image_opts *opts,
                          far_frame **out)
{
    far_input in = {0};
    struct stat info;
    far_image_opts o = opts ? *opts : (far_image_opts){.size = sizeof o};
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    if (!path || !*path || o.size != sizeof o || o.rows < 0 || o.cols < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "a picture needs a path and a size of at least 0");
    }
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return far_pictures_read(ctx, path, o.arch, out);
    }
    far_status st = far_input_load(ctx, path, &in);
    st = st == FAR_OK ? parse(&in, o.rows, o.cols, out) : st;
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}

far_status far_image_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 int64_t rows, int64_t cols, far_frame **out)
{
    far_input in = {0};
    *out = NULL;
    far_status st = far_input_copy(ctx, label, data, size, &in);
    st = st == FAR_OK ? parse(&in, rows, cols, out) : st;
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
