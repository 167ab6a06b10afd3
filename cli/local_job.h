/* What farfield local has measured, for its summary, files and report. */
#ifndef FAR_CLI_LOCAL_JOB_H
#define FAR_CLI_LOCAL_JOB_H

#include "kernel_source.h"

#define LOCAL_VERB "local"

typedef struct local_args {
    const char *grid, *image, *output, *correlation;
    int64_t bins;
    double step, width, edges;
    common_args common;
    source_args source;
    int64_t cols, rows; /* of the grid */
} local_args;

/* Maps: a number for each point, NAN where there is none. */
enum {
    MAP_LENGTH, /* |g| */
    MAP_FIRST,  /* v0 */
    MAP_REACH,  /* measured, and of the Cauchy model */
    MAP_REACH_MODEL,
    MAP_LEAST,
    MAP_LEAST_MODEL,
    MAP_IMAGE,
    MAP_SLOPE, /* |grad image| */
    MAPS
};

/* Of a map: the median, and the quartiles. */
typedef struct quartiles {
    double low, middle, high;
} quartiles;

typedef struct local_job {
    local_args args;
    session s;
    source kernel;
    far_mat points; /* of a grid; its data are ours */
    far_mat image;  /* the targets; no data: none */
    bool own_image; /* its data are ours */
    int64_t n, d;   /* points and coordinates */
    double *maps[MAPS];
    far_mat a2, gradient, h; /* jets; no data: none */
    double *distance, *mean; /* c(eps) */
    int64_t *counts;
    far_local curve;
    double largest; /* eigenvalue of K / N */
    double first_cosine, auc, slope_correlation, cka;
    double magma, magma_jets; /* over the grid, as `measure` has it; of the jets. NAN: none */
    double spacing;           /* the least distance of two points */
    bool grid;                /* the points are a full grid */
    int64_t flat;             /* points without a Cauchy model */
    double reach_agrees;      /* correlation of measured and model */
    double least_agrees;
} local_job;

/* Each returns an exit code, with a line on stderr if it is not 0. */
int local_measure(local_job *j);
int local_write_maps(local_job *j);
int local_write_correlation(local_job *j);
quartiles local_quartiles(local_job *j, int map);
bool local_has(const local_job *j, int map); /* any number in it */

int local_tell(local_job *j);

#endif
