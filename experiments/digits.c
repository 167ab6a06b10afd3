#include "digits.h"
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DARKEST 16.0 /* of a pixel in the file */

static far_status take_columns(reproduction *r, const far_frame *frame, digits *out)
{
    int64_t rows = far_frame_rows(frame);
    if (far_frame_cols(frame) != DIGIT_PIXELS + 1) {
        return fail(r, FAR_ERR_FORMAT, "optdigits has %lld columns, not 64 pixels and a label",
                    (long long)far_frame_cols(frame));
    }
    *out = (digits){rows, ROOM(rows * DIGIT_PIXELS, double), ROOM(rows, double)};
    for (int64_t j = 0; j < DIGIT_PIXELS; j++) {
        const double *column = far_frame_column(frame, j).numbers;
        for (int64_t i = 0; i < rows; i++) {
            out->x[i * DIGIT_PIXELS + j] = column[i] / DARKEST;
        }
    }
    memcpy(out->digit, far_frame_column(frame, DIGIT_PIXELS).numbers,
           (size_t)rows * sizeof(double));
    return FAR_OK;
}

static far_status open_set(reproduction *r, const char *name, digits *out)
{
    char *path = NULL;
    far_frame *frame = NULL;
    far_status st;
    *out = (digits){0};
    TRY(find_data(r, name, &path));
    TRY(far_dataset_read(r->ctx, far_dataset_find(name), r->data, &frame));
    TRY(take_columns(r, frame, out));
done:
    far_frame_destroy(frame);
    free(path);
    return st;
}

far_status digits_open(reproduction *r, digits *out)
{
    return open_set(r, "optdigits", out);
}

far_status digits_open_test(reproduction *r, digits *out)
{
    return open_set(r, "optdigits-test", out);
}

digits digits_shuffled(const digits *d, uint64_t seed)
{
    uint64_t state = seed + 1;
    int64_t n = d->rows, *order = ROOM(n, int64_t);
    digits out = {n, ROOM(n * DIGIT_PIXELS, double), ROOM(n, double)};
    for (int64_t i = 0; i < n; i++) {
        int64_t k = (int64_t)(uniform(&state) * (double)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(out.x + i * DIGIT_PIXELS, d->x + order[i] * DIGIT_PIXELS,
               DIGIT_PIXELS * sizeof(double));
        out.digit[i] = d->digit[order[i]];
    }
    free(order);
    return out;
}

static void standardise_pixel(double *x, int64_t rows)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < rows; i++) {
        mean += x[i * DIGIT_PIXELS] / (double)rows;
    }
    for (int64_t i = 0; i < rows; i++) {
        double off = x[i * DIGIT_PIXELS] - mean;
        variance += off * off / (double)rows;
    }
    for (int64_t i = 0; i < rows; i++) {
        double off = x[i * DIGIT_PIXELS] - mean;
        x[i * DIGIT_PIXELS] = variance > 1e-12 ? off / sqrt(variance) : 0;
    }
}

void digits_standardise(digits *d)
{
    for (int64_t j = 0; j < DIGIT_PIXELS; j++) {
        standardise_pixel(d->x + j, d->rows);
    }
}

void digits_free(digits *d)
{
    free(d->x);
    free(d->digit);
    *d = (digits){0};
}

far_mat digits_points(const digits *d, int64_t first, int64_t rows)
{
    return far_mat_view(d->x + first * DIGIT_PIXELS, rows, DIGIT_PIXELS, FAR_F64);
}

double digit_is_odd(double digit)
{
    return (int)digit % 2 ? 1 : -1;
}

double digit_is_large(double digit)
{
    return digit >= 5 ? 1 : -1;
}
