/*
 * farfield/track.h: measures of the tangent kernel while a network trains.
 *
 *     far_train_opts opts;
 *     far_train_opts_init(&opts);
 *     far_track_opts how;
 *     far_track_opts_init(&how, &opts);
 *     how.measures = "lmax,kta,align:20";
 *     far_track_create(ctx, net, &x, &y, &how, &track);
 *     opts.callback = far_track_callback;
 *     opts.callback_user = &track;
 *     opts.callback_every = how.every;
 *     far_net_train(ctx, net, &x, &y, &opts, NULL);
 *
 * A track has one row for every moment that the callback was called: step, time, loss, then the
 * numbers of the measures. Time and loss are in the conventions of measure.h, L = 1/(2N) sum |f -
 * y|^2 and t = rate times steps. FAR_LOSS_MSE is a mean over rows and outputs, of squares that are
 * not halved: with C outputs L = C / 2 of it, and its learning rate lr is the rate 2 lr / C of L.
 * So gradient descent is at the edge of stability where rate lmax / 2 = 1, rate = 2 lr / C.
 * FAR_LOSS_BCE has rate lr / C, FAR_LOSS_CE rate lr, and their losses stand as they are. With Adam
 * or momentum the time is that number and no more.
 */
#ifndef FARFIELD_TRACK_H
#define FARFIELD_TRACK_H

#include <farfield/measure.h>
#include <farfield/train.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_track far_track;

#define FAR_TRACK_MEASURES 64 /* at most */
/* The first columns. */
enum { FAR_TRACK_STEP = 0, FAR_TRACK_TIME = 1, FAR_TRACK_LOSS = 2, FAR_TRACK_FIRST = 3 };

typedef struct far_track_opts {
    size_t size;          /* set by far_track_opts_init */
    const char *measures; /* names with commas between, as far_measure_find_all takes them. "eos"
                             without its rate takes that of the training */
    int64_t every;        /* steps between rows, the callback_every of the training; default 50 */
    double lr;            /* the training's learning rate */
    far_loss loss;
    far_ntk_outputs outputs;     /* default FAR_NTK_TRACE */
    int64_t output;              /* which, from 0, for FAR_NTK_ONE */
    const unsigned char *layers; /* the layers that train, as far_train_opts has them; NULL: all */
    double memory;    /* budget in bytes; 0 (default): what the machine has available. A kernel
                         matrix that is more is done without, where no measure needs it */
    const char *file; /* written whenever the checkpoint is, and at the end; NULL (default):
                         only by far_track_save */
} far_track_opts;

/* train (may be NULL): lr, loss and layers are taken from it. */
FAR_API void far_track_opts_init(far_track_opts *opts, const far_train_opts *train);
/* Steps between rows after which the training has seen as much data as 50 steps of the whole batch
 * of those points show: 50 points / batch, rounded up, and 50 if the batch is no smaller (or 0: the
 * whole). A row costs one kernel of all points, whatever the batch: at this distance tracking costs
 * less than the training it watches. The default of the command. */
FAR_API int64_t far_track_every(int64_t points, int64_t batch);

/* x (points x inputs, the coordinates too) and y (points x outputs, as trained on; NULL: none),
 * float64, are copied; net says what the networks to come look like. All that can be refused is
 * refused here: a measure that is unknown, or that needs targets, a grid, or a matrix that does not
 * fit. */
FAR_API FAR_NODISCARD far_status far_track_create(far_ctx *ctx, const far_net *net,
                                                  const far_mat *x, const far_mat *y,
                                                  const far_track_opts *opts, far_track **out);
FAR_API void far_track_destroy(far_track *track); /* NULL is fine */

/* For far_train_opts: user is an array of far_track *, one a network (of far_net_train, the address
 * of one). A row at a step that is not beyond the last one replaces that one and all behind it. A
 * kernel that is not finite gives a row of NAN. The context must be the one of the track. */
FAR_API far_status far_track_callback(far_ctx *ctx, void *user, const far_train_moment *moment);

typedef struct far_track_info {
    int64_t columns;
    const char (*names)[FAR_MEASURE_LABEL]; /* of the columns: "step", "time", "loss", "kta" */
    const far_measure *measures;            /* in the order of their columns */
    int64_t measure_count;
    far_mat rows;   /* rows x columns, float64, until the next row comes */
    double seconds; /* spent on rows so far */
} far_track_info;
FAR_API far_track_info far_track_describe(const far_track *track);
/* The column of that name; -1: there is none. */
FAR_API int64_t far_track_find(const far_track *track, const char *name);

/* Runs are compared at equal loss. row (columns numbers) = the table where the loss first falls to
 * this level: between rows, all columns are straight in the logarithm of the loss. The first row if
 * that lies below already; NAN throughout if no row does. */
FAR_API FAR_NODISCARD far_status far_track_at_loss(far_ctx *ctx, const far_track *track,
                                                   double loss, double *row);

/* A csv with a line of names, written whole or not at all; NAN is an empty field. Numbers read back
 * to the same bits. A last column, check, is a checksum of the line and all above it: a whole
 * number, the first 52 bits of a SHA-256. */
FAR_API FAR_NODISCARD far_status far_track_save(far_ctx *ctx, const far_track *track,
                                                const char *path);
/* Rows of an earlier part of the same run, for one that is resumed: those at multiples of every
 * come back, and nothing is lost that a resumed run does not give anew. FAR_ERR_FORMAT: other
 * columns, or a line that does not match its checksum (files of older programs have none). */
FAR_API FAR_NODISCARD far_status far_track_load(far_ctx *ctx, far_track *track, const char *path);

#ifdef __cplusplus
}
#endif
#endif
