/* A track and the steps its files share. */
#ifndef FAR_TRACK_H
#define FAR_TRACK_H

#include "../gram/net_factors.h"
#include "measure_internal.h"

#include <farfield/track.h>
#include <strings.h>

struct far_track {
    far_ctx *ctx;
    far_mat x, y, values;  /* points; targets and present outputs, if there are any */
    far_ntk_opts ntk;      /* of the kernel */
    unsigned char *layers; /* in it */
    bool forms_kernel;     /* else it is used by products alone */
    double *kernel;        /* kernel_rows squared; NULL: not now */
    far_factors factors;   /* of the kernel, for the next row */
    int64_t kernel_rows;
    far_measure measures[FAR_TRACK_MEASURES];
    int64_t measure_count;
    bool follows[FAR_TRACK_MEASURES]; /* proportional to the rate, which the schedule changes */
    int32_t needs;                    /* far_measure_need bits of them all */
    far_loss loss;
    double rate, loss_scale;
    int64_t every;
    char (*names)[FAR_MEASURE_LABEL]; /* of the columns */
    int64_t columns, rows, capacity;
    double *table, *row;
    char *file;
    double seconds;
};

/* Behind the rows of earlier steps; others go. */
far_status far_track_append(far_track *t, const double *row);

/* The learning rate of L that a learning rate lr of that loss is, for that many outputs. */
double far_track_rate(far_loss loss, double lr, int64_t outputs);

#endif
