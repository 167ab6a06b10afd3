#include "lnnet_random.h"
#include "siren.h"

#include <math.h>
#include <stdlib.h>

/* ---- a picture of our own -------------------------------------------------------------------- */

enum { FINE = 8 }; /* places in a cell, along a side */

/* A number that hangs on the cell alone, from -1 to 1. */
static double speckle(double x, double y)
{
    uint64_t state =
        (uint64_t)(int64_t)floor(40 * x) * 2654435761u + (uint64_t)(int64_t)floor(40 * y);
    return 2 * uniform(&state) - 1;
}

static bool in_ellipse(double x, double y, double cx, double cy, double rx, double ry)
{
    return pow((x - cx) / rx, 2) + pow((y - cy) / ry, 2) < 1;
}

static bool near_line(double x, double y, double x1, double y1, double x2, double y2)
{
    double dx = x2 - x1, dy = y2 - y1, t = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy);
    t = fmin(fmax(t, 0), 1);
    return hypot(x - x1 - t * dx, y - y1 - t * dy) < 0.02;
}

static bool in_figure(double x, double y)
{
    bool head = in_ellipse(x, y, -0.2, 0.5, 0.18, 0.22);
    bool body = y < 0.4 && y > -1 && fabs(x + 0.45) < 0.35 + 0.15 * (0.4 - y);
    bool stick = near_line(x, y, 0.2, 0, 0.05, -1);
    return head || (body && !in_ellipse(x, y, -0.05, -0.9, 0.3, 0.5)) || stick;
}

/* Rooms with a bright and a dark window in each. */
static double house(double x, double y)
{
    bool window = fabs(fabs(x - 0.62) - 0.14) < 0.07 && fabs(fabs(y + 0.05) - 0.17) < 0.08;
    return !window ? -0.45 : x > 0.62 ? 0.9 : -0.95;
}

/* A dark figure and a house before a bright sky, on a meadow. */
static double scene(double x, double y)
{
    if (in_figure(x, y)) {
        return -0.85 + 0.05 * sin(9 * x) * sin(7 * y);
    }
    if (fabs(x - 0.62) < 0.3 && fabs(y + 0.05) < 0.35) {
        return house(x, y);
    }
    if (y > 0.3 && y < 0.75 - 1.3 * fabs(x - 0.62)) {
        return 0.95;
    }
    return y > 0.05 + 0.03 * sin(8 * x) ? 0.4 + 0.2 * y : 0.1 + 0.08 * speckle(x, y);
}

static double cell_mean(double x, double y, double step)
{
    double sum = 0;
    for (int i = 0; i < FINE * FINE; i++) {
        double dx = ((double)(i % FINE) + 0.5) / FINE - 0.5;
        double dy = ((double)(i / FINE) + 0.5) / FINE - 0.5;
        sum += scene(x + step * dx, y + step * dy);
    }
    return sum / (FINE * FINE);
}

static void draw(siren_image *image)
{
    const double *x = image->x.data;
    for (int64_t i = 0; i < image->x.rows; i++) {
        ((double *)image->grey.data)[i] =
            cell_mean(x[2 * i], x[2 * i + 1], 2 / (double)(image->side - 1));
    }
}

/* ---- photographs --------------------------------------------------------------------------- */

static far_status read_photograph(reproduction *r, const char *path, siren_image *image)
{
    far_frame *table = NULL;
    far_image_opts opts = {.size = sizeof opts, .rows = image->side, .cols = image->side};
    far_status st = far_image_read(r->ctx, path, &opts, &table);
    if (st == FAR_OK) {
        const double *x = far_frame_column(table, 0).numbers,
                     *y = far_frame_column(table, 1).numbers;
        const double *grey = far_frame_column(table, 2).numbers;
        for (int64_t i = 0; i < image->side * image->side; i++) {
            ((double *)image->x.data)[2 * i] = x[i];
            ((double *)image->x.data)[2 * i + 1] = y[i];
            ((double *)image->grey.data)[i] = grey[i];
        }
        image->photograph = true;
        image->name = "photograph";
    }
    far_frame_destroy(table);
    return st;
}

/* Its points; no greys yet. */
static siren_image blank(int64_t side, const char *name)
{
    int64_t n = side * side;
    double *x = ROOM(2 * n, double), last = (double)(side - 1);
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = 2 * (double)(i % side) / last - 1;
        x[2 * i + 1] = 1 - 2 * (double)(i / side) / last;
    }
    return (siren_image){.side = side,
                         .x = far_mat_view(x, n, 2, FAR_F64),
                         .grey = far_mat_view(ROOM(n, double), n, 1, FAR_F64),
                         .name = name};
}

far_status siren_small_open(reproduction *r, siren_image *out, int count)
{
    enum { SIDE = 32, PIXELS = SIDE * SIDE };
    double *bytes = ROOM(count * PIXELS, double);
    far_status st = random_images(r, RANDOM_CIFAR10, count, SIDE, bytes);
    for (int k = 0; k < count && st == FAR_OK; k++) {
        out[k] = blank(SIDE, words(r, "CIFAR-10, picture %d", k + 1));
        out[k].photograph = true;
        for (int i = 0; i < PIXELS; i++) {
            ((double *)out[k].grey.data)[i] = 2 * bytes[k * PIXELS + i] / 255 - 1;
        }
    }
    free(bytes);
    return st;
}

far_status siren_image_open(reproduction *r, int64_t side, bool drawn, siren_image *out)
{
    char *path = NULL;
    *out = blank(side, "drawn");
    far_status st = drawn ? FAR_ERR_IO : find_data(r, "images/camera.png", &path);
    if (st == FAR_OK) {
        st = read_photograph(r, path, out);
    } else if (st == FAR_ERR_IO) { /* it is not there */
        draw(out);
        st = FAR_OK;
    }
    free(path);
    return st;
}

void siren_image_close(siren_image *image)
{
    free(image->x.data);
    free(image->grey.data);
}
