#define _GNU_SOURCE
#include "lnnet_random.h"
#include "side_by_side.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *const RANDOM_NAMES[RANDOM_SETS] = {"MNIST", "CIFAR-10"};
const char *const RANDOM_WORDS[RANDOM_SETS] = {"mnist", "cifar10"};

/* ---- images -------------------------------------------------------------------------------- */

/* How the publisher's files are laid out. */
typedef struct layout {
    const char *files[3]; /* places to look for it */
    int64_t header;       /* bytes before the first image */
    int64_t label;        /* bytes before each */
    int64_t side, colours;
} layout;

static const layout LAYOUTS[RANDOM_SETS] = {
    {{"mnist/train-images-idx3-ubyte.gz", "mnist/train-images-idx3-ubyte"}, 16, 0, 28, 1},
    {{"cifar10/cifar-10-batches-bin/data_batch_1.bin", "cifar10/data_batch_1.bin.gz",
      "cifar10/data_batch_1.bin"},
     0,
     1,
     32,
     3},
};

static far_status find_images(reproduction *r, int set, char **path)
{
    far_status st = FAR_ERR_IO;
    for (int i = 0; i < 3 && st != FAR_OK && LAYOUTS[set].files[i]; i++) {
        r->message[0] = 0;
        st = find_data(r, LAYOUTS[set].files[i], path);
    }
    return st == FAR_OK
               ? st
               : fail(r, st,
                      "the images of %s are not here: get them with 'farfield data get %s', or say "
                      "with --data DIR in which folder %s lies",
                      RANDOM_NAMES[set], RANDOM_WORDS[set], LAYOUTS[set].files[0]);
}

/* The mean of the pixels that fall on pixel (row, col) of a picture of so many on a side. */
static double pooled(const layout *l, const unsigned char *image, int64_t side, int64_t row,
                     int64_t col)
{
    double sum = 0, count = 0;
    for (int64_t c = 0; c < l->colours; c++) {
        for (int64_t i = row * l->side / side; i < (row + 1) * l->side / side; i++) {
            for (int64_t k = col * l->side / side; k < (col + 1) * l->side / side; k++) {
                sum += image[(c * l->side + i) * l->side + k];
                count++;
            }
        }
    }
    return sum / count;
}

static void take_image(const layout *l, const unsigned char *image, int64_t side, double *out)
{
    int64_t pixels = l->colours * l->side * l->side;
    for (int64_t i = 0; side == 0 && i < pixels; i++) {
        out[i] = image[i];
    }
    for (int64_t i = 0; i < side * side; i++) {
        out[i] = pooled(l, image, side, i / side, i % side);
    }
}

static int64_t inputs_of(const layout *l, int64_t side)
{
    return side ? side * side : l->colours * l->side * l->side;
}

static bool read_images(const char *path, const layout *l, int64_t n, int64_t side, double *out)
{
    int64_t bytes = l->label + l->colours * l->side * l->side;
    unsigned char *image = ROOM(bytes, unsigned char);
    gzFile file = gzopen(path, "rb");
    bool good = file && gzread(file, image, (unsigned)l->header) == (int)l->header;
    for (int64_t i = 0; i < n && good; i++) {
        good = gzread(file, image, (unsigned)bytes) == (int)bytes;
        take_image(l, image + l->label, side, out + i * inputs_of(l, side));
    }
    if (file) {
        gzclose(file);
    }
    free(image);
    return good;
}

far_status random_images(reproduction *r, int set, int64_t n, int64_t side, double *out)
{
    const layout *l = &LAYOUTS[set];
    char *path = NULL;
    far_status st = find_images(r, set, &path);
    if (st == FAR_OK && !read_images(path, l, n, side, out)) {
        st = fail(r, FAR_ERR_FORMAT, "%s: has not %lld images of %lld x %lld", path, (long long)n,
                  (long long)l->side, (long long)l->side);
    }
    free(path);
    return st;
}

/* Each pixel; those that are always the same become 0. */
static void standardise(random_task *t)
{
    for (int64_t k = 0; k < t->d; k++) {
        double mean = 0, square = 0, n = (double)t->n;
        for (int64_t i = 0; i < t->n; i++) {
            mean += t->x[i * t->d + k] / n;
        }
        for (int64_t i = 0; i < t->n; i++) {
            double off = t->x[i * t->d + k] - mean;
            square += off * off / n;
        }
        for (int64_t i = 0; i < t->n; i++) {
            double *x = &t->x[i * t->d + k];
            *x = square > 1e-12 * mean * mean ? (*x - mean) / sqrt(square) : 0;
        }
    }
}

static void draw_labels(random_task *t)
{
    uint64_t state = 20240601;
    for (int64_t i = 0; i < t->n; i++) {
        t->labels[i] = (int64_t)(uniform(&state) * RANDOM_CLASSES);
        t->classes[i] = (double)t->labels[i];
    }
}

far_status random_task_open(reproduction *r, int set, int64_t n, int64_t side, random_task *out)
{
    *out = (random_task){.set = set, .n = n, .d = inputs_of(&LAYOUTS[set], side)};
    out->x = ROOM(n * out->d, double);
    out->classes = ROOM(n, double);
    out->labels = ROOM(n, int64_t);
    far_status st = random_images(r, set, n, side, out->x);
    if (st == FAR_OK) {
        standardise(out);
        draw_labels(out);
    }
    return st;
}

void random_task_free(random_task *t)
{
    FREE(t->x, t->classes, t->labels);
    *t = (random_task){0};
}

far_mat random_task_points(const random_task *t)
{
    return far_mat_view(t->x, t->n, t->d, FAR_F64);
}

far_status random_check_seeds(reproduction *r, int64_t seeds)
{
    return seeds >= 2 ? FAR_OK
                      : fail(r, FAR_ERR_ARG,
                             "its claims are about intervals over seeds: take --seeds 2 or more");
}

/* ---- training ------------------------------------------------------------------------------ */

enum { HALVED_EVERY = 20 }; /* epochs: the rate */

static far_status train(reproduction *r, const random_run *run, far_net *net)
{
    far_mat x = random_task_points(run->task),
            y = far_mat_view(run->task->classes, x.rows, 1, FAR_F64);
    far_train_opts o;
    far_train_opts_init(&o);
    o.loss = FAR_LOSS_CE;
    o.lr = run->rate;
    o.schedule.kind = FAR_SCHEDULE_STEP;
    o.schedule.factor = 0.5;
    o.schedule.every = HALVED_EVERY;
    o.epochs = run->epochs;
    o.batch = run->batch;
    o.seed = run->seed;
    return far_net_train(r->ctx, net, &x, &y, &o, NULL);
}

static far_status score(reproduction *r, random_run *run, const far_net *net)
{
    far_lnnet_checked found;
    far_mat x = random_task_points(run->task);
    far_status st =
        far_lnnet_check(r->ctx, net, &x, run->task->labels, FAR_LNNET_DOUBLE, 0, &found);
    run->accuracy = 1 - (double)found.wrong / (double)x.rows;
    return st;
}

/* The median of H over the first points. */
static far_status measure_bending(reproduction *r, const random_run *run, const far_net *net,
                                  double *out)
{
    far_mat x = random_task_points(run->task);
    double *values = ROOM(run->bend_points, double);
    far_mat h = far_mat_view(values, run->bend_points, 1, FAR_F64);
    far_status st = FAR_OK;
    x.rows = run->bend_points;
    *out = NAN;
    if (run->bend_points > 0) {
        TRY(far_net_hessian_norm(r->ctx, net, &x, 0, &h));
        TRY(far_quantile(r->ctx, values, run->bend_points, 0.5, out));
    }
done:
    free(values);
    return st;
}

static far_status train_one(reproduction *r, int64_t job, void *user)
{
    random_run *run = (random_run *)user + job;
    far_net *net = NULL;
    far_status st;
    TRY(new_net(r, run->arch, run->task->d, FAR_INIT_KAIMING_NORMAL, run->seed, &net));
    TRY(measure_bending(r, run, net, &run->before));
    TRY(train(r, run, net));
    TRY(measure_bending(r, run, net, &run->after));
    TRY(score(r, run, net));
done:
    far_net_destroy(net);
    return st;
}

far_status random_train(reproduction *r, random_run *runs, int64_t count)
{
    return side_by_side(r, "networks", count, train_one, runs);
}

/* The mean of accuracies over count runs, less those of others with the same seeds. */
far_status random_mean(reproduction *r, const random_run *first, const random_run *less,
                       int64_t count, double *mean, double *half)
{
    double *values = ROOM(count, double);
    for (int64_t i = 0; i < count; i++) {
        values[i] = first[i].accuracy - (less ? less[i].accuracy : 0);
    }
    far_status st = far_mean_interval(r->ctx, values, count, mean, half);
    free(values);
    return st;
}

far_status random_classifier(reproduction *r, const random_run *like, int64_t seeds,
                             random_run *out)
{
    static const double RATES[] = {1e-1, 3e-2, 1e-2, 3e-3, 1e-3};
    enum { COUNT = sizeof RATES / sizeof RATES[0] };
    random_run *runs = ROOM(COUNT * seeds, random_run);
    double best = -1, mean, half;
    far_status st;
    for (int64_t i = 0; i < COUNT * seeds; i++) {
        runs[i] = *like;
        runs[i].arch = "dense(10)";
        runs[i].rate = RATES[i / seeds];
        runs[i].seed = (uint64_t)(i % seeds);
        runs[i].epochs = 2 * like->epochs;
        runs[i].bend_points = 0;
    }
    TRY(random_train(r, runs, COUNT * seeds));
    for (int i = 0; i < COUNT; i++) {
        TRY(random_mean(r, runs + i * seeds, NULL, seeds, &mean, &half));
        if (mean > best) {
            best = mean;
            memcpy(out, runs + i * seeds, (size_t)seeds * sizeof *out);
        }
    }
done:
    free(runs);
    return st;
}
