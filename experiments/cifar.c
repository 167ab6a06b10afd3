#define _GNU_SOURCE
#include "cifar.h"
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <zlib.h>

static cifar_images images_new(int64_t n, int64_t side, int64_t classes)
{
    return (cifar_images){n, side, classes, ROOM(n * CIFAR_COLOURS * side * side, double),
                          ROOM(n, double)};
}

int64_t cifar_pixels(const cifar_images *i)
{
    return CIFAR_COLOURS * i->side * i->side;
}

void cifar_free(cifar_images *i)
{
    FREE(i->x, i->y);
}

far_mat cifar_points(const cifar_images *i)
{
    return far_mat_view(i->x, i->n, cifar_pixels(i), FAR_F64);
}

/* A label and 3072 bytes for each. */
static bool read_images(const char *path, cifar_images *out)
{
    unsigned char one[1 + CIFAR_COLOURS * CIFAR_SIDE * CIFAR_SIDE];
    gzFile file = gzopen(path, "rb");
    bool good = file != NULL;
    for (int64_t i = 0; i < out->n && good; i++) {
        good = gzread(file, one, sizeof one) == (int)sizeof one && one[0] < CIFAR_CLASSES;
        out->y[i] = one[0];
        for (int64_t k = 0; k < cifar_pixels(out); k++) {
            out->x[i * cifar_pixels(out) + k] = one[1 + k];
        }
    }
    if (file) {
        gzclose(file);
    }
    return good;
}

static far_status open_images(reproduction *r, const char *const files[3], cifar_images *out)
{
    char *path = NULL;
    far_status st = FAR_ERR_IO;
    for (int i = 0; i < 3 && st != FAR_OK; i++) {
        r->message[0] = 0;
        st = find_data(r, files[i], &path);
    }
    if (st != FAR_OK) {
        return fail(
            r, st,
            "the images of CIFAR-10 are not here: get them with 'farfield data get cifar10', "
            "or say with --data DIR in which folder %s lies",
            files[0]);
    }
    if (!read_images(path, out)) {
        st = fail(r, FAR_ERR_FORMAT, "%s: has not %lld images with classes", path,
                  (long long)out->n);
    }
    free(path);
    return st;
}

/* For the quick form, without data: stripes in one of three directions, at any phase and in any
 * colour, under noise. Every class has mean 0, so no linear classifier can tell them apart. */
static void make_images(uint64_t seed, cifar_images *out)
{
    static const double ACROSS[MADE_CLASSES] = {1, 0, 0.7}, DOWN[MADE_CLASSES] = {0, 1, 0.7};
    uint64_t state = seed;
    for (int64_t i = 0; i < out->n; i++) {
        int class = (int)(uniform(&state) * MADE_CLASSES);
        double phase = 2 * M_PI * uniform(&state), *x = out->x + i * cifar_pixels(out);
        out->y[i] = class;
        for (int64_t k = 0; k < cifar_pixels(out); k++) {
            double row = (double)(k / out->side % out->side), col = (double)(k % out->side);
            x[k] =
                sin(1.2 * (ACROSS[class] * col + DOWN[class] * row) + phase) + 0.3 * normal(&state);
        }
    }
}

/* By the training images. */
static void standardise(cifar_images *train, cifar_images *test)
{
    int64_t count = train->n * cifar_pixels(train);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += train->x[i] / (double)count;
        square += train->x[i] * train->x[i] / (double)count;
    }
    double scale = sqrt(square - mean * mean);
    cifar_images *both[] = {train, test};
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < both[k]->n * cifar_pixels(both[k]); i++) {
            both[k]->x[i] = (both[k]->x[i] - mean) / scale;
        }
    }
}

far_status cifar_take(reproduction *r, int64_t train_count, int64_t test_count, cifar_images *train,
                      cifar_images *test)
{
    static const char *const TRAIN[] = {"cifar10/cifar-10-batches-bin/data_batch_1.bin",
                                        "cifar10/data_batch_1.bin.gz", "cifar10/data_batch_1.bin"};
    static const char *const TEST[] = {"cifar10/cifar-10-batches-bin/test_batch.bin",
                                       "cifar10/test_batch_first3000.bin.gz",
                                       "cifar10/test_batch.bin"};
    far_status st = FAR_OK;
    if (r->quick) {
        *train = images_new(train_count, MADE_SIDE, MADE_CLASSES);
        *test = images_new(test_count, MADE_SIDE, MADE_CLASSES);
        make_images(5, train);
        make_images(6, test);
    } else {
        *train = images_new(train_count, CIFAR_SIDE, CIFAR_CLASSES);
        *test = images_new(test_count, CIFAR_SIDE, CIFAR_CLASSES);
        TRY(open_images(r, TRAIN, train));
        TRY(open_images(r, TEST, test));
    }
    standardise(train, test);
done:
    return st;
}
