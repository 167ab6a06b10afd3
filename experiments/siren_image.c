#define _GNU_SOURCE
#include "lnnet_random.h"
#include "siren.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- a folder of photographs ---------------------------------------------------------------- */

/* A whole photograph, row by row from the top. */
typedef struct photograph {
    far_frame *table;
    const double *grey;
    int64_t rows, cols;
} photograph;

static far_status photograph_open(reproduction *r, const char *path, photograph *out)
{
    far_image_opts opts = {.size = sizeof opts};
    far_status st = far_image_read(r->ctx, path, &opts, &out->table);
    if (st == FAR_OK) {
        int64_t n = far_frame_rows(out->table);
        const double *y = far_frame_column(out->table, 1).numbers;
        out->grey = far_frame_column(out->table, 2).numbers;
        for (out->cols = 1; out->cols < n && y[out->cols] == y[0]; out->cols++) {
        }
        out->rows = n / out->cols;
    }
    return st;
}

/* The mean over the part of a square that a point stands for, pixels counting by how much of them
 * lies in it. top, left, size: of the square, in pixels. */
static double part_mean(const photograph *p, double top, double left, double size)
{
    double sum = 0, weight = 0;
    for (int64_t i = (int64_t)top; (double)i < top + size && i < p->rows; i++) {
        double high = fmin((double)i + 1, top + size) - fmax((double)i, top);
        for (int64_t j = (int64_t)left; (double)j < left + size && j < p->cols; j++) {
            double w = high * (fmin((double)j + 1, left + size) - fmax((double)j, left));
            sum += w * p->grey[i * p->cols + j];
            weight += w;
        }
    }
    return sum / weight;
}

static siren_image cut_out(const photograph *p, double top, double left, double size, int64_t side,
                           const char *name)
{
    siren_image image = blank(side, name);
    double step = size / (double)side;
    for (int64_t i = 0; i < side * side; i++) {
        ((double *)image.grey.data)[i] =
            part_mean(p, top + step * (double)(i / side), left + step * (double)(i % side), step);
    }
    image.photograph = true;
    return image;
}

/* part -1: the middle square; 0 to 3: its quarters. */
static siren_image part_of(reproduction *r, const photograph *p, int part, int64_t side,
                           const char *file)
{
    static const char *const WHERE[] = {"upper left", "upper right", "lower left", "lower right"};
    double size = (double)(p->rows < p->cols ? p->rows : p->cols);
    double top = ((double)p->rows - size) / 2, left = ((double)p->cols - size) / 2;
    if (part < 0) {
        return cut_out(p, top, left, size, side, words(r, "%s", file));
    }
    return cut_out(p, top + (part >= 2 ? size / 2 : 0), left + (part % 2 ? size / 2 : 0), size / 2,
                   side, words(r, "%s, %s", file, WHERE[part]));
}

static int is_photograph(const struct dirent *entry)
{
    static const char *const ENDINGS[] = {".png", ".jpg", ".jpeg", ".pgm"};
    const char *ending = strrchr(entry->d_name, '.');
    for (int i = 0; entry->d_name[0] != '.' && ending && i < 4; i++) {
        if (strcasecmp(ending, ENDINGS[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The middle square of one photograph or its quarters, as many as there is room for. */
static far_status add_parts(reproduction *r, const char *folder, const char *file, bool quarters,
                            int64_t side, int most, siren_image *out, int *count)
{
    char *path = text_of("%s/%s", folder, file);
    photograph p = {0};
    far_status st;
    TRY(photograph_open(r, path, &p));
    for (int part = quarters ? 0 : -1; part < (quarters ? 4 : 0) && *count < most; part++) {
        double size = (double)(p.rows < p.cols ? p.rows : p.cols) / (quarters ? 2 : 1);
        if (size >= (double)side) {
            out[(*count)++] = part_of(r, &p, part, side, file);
        }
    }
done:
    far_frame_destroy(p.table);
    free(path);
    return st;
}

far_status siren_photographs(reproduction *r, int64_t side, int most, siren_image *out, int *count)
{
    struct dirent **files = NULL;
    char *folder = NULL;
    int found = -1;
    far_status st;
    *count = 0;
    TRY(find_data(r, "images", &folder));
    found = scandir(folder, &files, is_photograph, alphasort);
    for (int i = 0; i < 2 * found && *count < most && st == FAR_OK; i++) {
        st = add_parts(r, folder, files[i % found]->d_name, i >= found, side, most, out, count);
    }
    if (st == FAR_OK && *count == 0) {
        st = fail(r, FAR_ERR_IO,
                  "%s has no photograph of %lld x %lld pixels or more: put PNG or JPEG files there",
                  folder, (long long)side, (long long)side);
    }
done:
    for (int i = 0; i < found; i++) {
        free(files[i]);
    }
    FREE(files, folder);
    return st;
}

void siren_image_close(siren_image *image)
{
    free(image->x.data);
    free(image->grey.data);
}
