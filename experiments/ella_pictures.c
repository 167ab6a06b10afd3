/* Pictures for Laplace approximations of a CNN. */
#define _GNU_SOURCE
#include "ella_images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIDE = 28, CLASSES = 10, TRAIN = 60000, TEST = 10000, CHOOSE = 5000 };
enum { QUICK_SIDE = 10, QUICK_CLASSES = 3 };

static int64_t pixels(const pictures *p)
{
    return p->side * p->side;
}

static pictures pictures_new(int64_t n, int64_t side, int64_t classes)
{
    return (pictures){n, side, classes, ROOM(n * side * side, double), ROOM(n, double)};
}

far_mat picture_points(const pictures *p, int64_t first, int64_t rows)
{
    return far_mat_view(p->x + first * pixels(p), rows, pixels(p), FAR_F64);
}

void picture_sets_close(picture_sets *p)
{
    FREE(p->train.x, p->train.y, p->choose.x, p->choose.y, p->test.x, p->test.y, p->other.x,
         p->other.y);
}

/* ---- files --------------------------------------------------------------------------------- */

/* An idx file: so many bytes of head, then one number a byte. */
static bool read_bytes(const char *path, int head, int64_t count, double *out)
{
    unsigned char start[16], part[4096];
    gzFile file = gzopen(path, "rb");
    bool good = file && gzread(file, start, (unsigned)head) == head;
    for (int64_t i = 0; i < count && good;) {
        int wanted = (int)(count - i < (int64_t)sizeof part ? count - i : (int64_t)sizeof part);
        good = gzread(file, part, (unsigned)wanted) == wanted;
        for (int k = 0; k < wanted && good; k++) {
            out[i++] = part[k];
        }
    }
    if (file) {
        gzclose(file);
    }
    return good;
}

/* set: a folder, and how 'farfield data get' knows it; part: train or t10k. */
static far_status read_idx(reproduction *r, const char *set, const char *part, const char *what,
                           int head, int64_t count, double *out)
{
    char *name = text_of("%s/%s-%s-ubyte.gz", set, part, what), *path = NULL;
    char *plain = text_of("%s/%s-%s-ubyte", set, part, what); /* as the command keeps some */
    far_status st = find_data(r, name, &path);
    if (st == FAR_ERR_IO) {
        r->message[0] = 0;
        st = find_data(r, plain, &path);
    }
    if (st == FAR_ERR_IO) {
        st = fail(r, st,
                  "%s is not here: get it with 'farfield data get %s%s', or say with --data DIR in "
                  "which folder it lies",
                  name, set, strcmp(part, "t10k") == 0 ? "-test" : "");
    } else if (st == FAR_OK && !read_bytes(path, head, count, out)) {
        st = fail(r, FAR_ERR_FORMAT, "%s: has not the %lld numbers it should have", path,
                  (long long)count);
    }
    FREE(name, plain, path);
    return st;
}

static far_status read_pictures(reproduction *r, const char *set, const char *part, pictures *out)
{
    far_status st;
    TRY(read_idx(r, set, part, "images-idx3", 16, out->n * pixels(out), out->x));
    TRY(read_idx(r, set, part, "labels-idx1", 8, out->n, out->y));
    for (int64_t i = 0; i < out->n; i++) {
        if (out->y[i] >= CLASSES) {
            TRY(fail(r, FAR_ERR_FORMAT, "%s: picture %lld has class %g", set, (long long)i,
                     out->y[i]));
        }
    }
done:
    return st;
}

/* ---- made ones ----------------------------------------------------------------------------- */

/* Stripes at any phase in one of three directions, or checks; under noise, so that some cannot be
 * told apart. */
static void make_pictures(uint64_t seed, bool checks, pictures *out)
{
    static const double ACROSS[QUICK_CLASSES] = {1, 0, 0.7}, DOWN[QUICK_CLASSES] = {0, 1, 0.7};
    uint64_t state = seed;
    for (int64_t i = 0; i < out->n; i++) {
        int class = (int)(uniform(&state) * QUICK_CLASSES);
        double phase = 2 * M_PI * uniform(&state), *x = out->x + i * pixels(out);
        out->y[i] = class;
        for (int64_t k = 0; k < pixels(out); k++) {
            double row = (double)(k / out->side), col = (double)(k % out->side);
            double stripes = sin(1.2 * (ACROSS[class] * col + DOWN[class] * row) + phase);
            double mark = checks ? 4 * sin(2.5 * row + phase) * sin(2.5 * col + phase) : stripes;
            x[k] = mark + 1.2 * normal(&state);
        }
    }
}

/* ---- all sets ------------------------------------------------------------------------------ */

static void standardise(picture_sets *s)
{
    pictures *all[] = {&s->train, &s->choose, &s->test, &s->other};
    int64_t count = s->train.n * pixels(&s->train);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += s->train.x[i] / (double)count;
        square += s->train.x[i] * s->train.x[i] / (double)count;
    }
    double scale = sqrt(square - mean * mean);
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < all[k]->n * pixels(all[k]); i++) {
            all[k]->x[i] = (all[k]->x[i] - mean) / scale;
        }
    }
}

static far_status read_sets(reproduction *r, picture_sets *s)
{
    pictures both = pictures_new(TRAIN, SIDE, CLASSES);
    far_status st;
    s->train = pictures_new(TRAIN - CHOOSE, SIDE, CLASSES);
    s->choose = pictures_new(CHOOSE, SIDE, CLASSES);
    s->test = pictures_new(TEST, SIDE, CLASSES);
    s->other = pictures_new(TEST, SIDE, CLASSES);
    TRY(read_pictures(r, "fashion-mnist", "train", &both));
    TRY(read_pictures(r, "fashion-mnist", "t10k", &s->test));
    TRY(read_pictures(r, "mnist", "t10k", &s->other));
    memcpy(s->train.x, both.x, (size_t)(s->train.n * SIDE * SIDE) * sizeof *both.x);
    memcpy(s->train.y, both.y, (size_t)s->train.n * sizeof *both.y);
    memcpy(s->choose.x, both.x + s->train.n * SIDE * SIDE,
           (size_t)(CHOOSE * SIDE * SIDE) * sizeof *both.x);
    memcpy(s->choose.y, both.y + s->train.n, (size_t)CHOOSE * sizeof *both.y);
done:
    FREE(both.x, both.y);
    return st;
}

static void make_sets(picture_sets *s)
{
    s->train = pictures_new(150, QUICK_SIDE, QUICK_CLASSES);
    s->choose = pictures_new(240, QUICK_SIDE, QUICK_CLASSES);
    s->test = pictures_new(500, QUICK_SIDE, QUICK_CLASSES);
    s->other = pictures_new(500, QUICK_SIDE, QUICK_CLASSES);
    make_pictures(5, false, &s->train);
    make_pictures(6, false, &s->choose);
    make_pictures(7, false, &s->test);
    make_pictures(8, true, &s->other);
}

far_status picture_sets_open(reproduction *r, picture_sets *out)
{
    far_status st = FAR_OK;
    if (r->quick) {
        make_sets(out);
    } else {
        st = read_sets(r, out);
    }
    if (st == FAR_OK) {
        standardise(out);
    }
    return st;
}
