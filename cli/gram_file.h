/* Kernel matrices in files: the arrays that gram and kernel write, and what an npz says of the one
 * in it, so that it is not mistaken for another. */
#ifndef FAR_CLI_GRAM_FILE_H
#define FAR_CLI_GRAM_FILE_H

#include "dataset.h"
#include "files.h"
#include "session.h"

#include <farfield/net.h>

enum { HASH_BYTES = 65 };

/* -1 and NULL: it does not say. */
typedef struct gram_header {
    int64_t points, points2, outputs; /* of rows, of columns; rows for a point */
    const char *kind;                 /* "empirical", "ntk", "nngp" */
    const char *arch, *param;
    const char *layers;  /* "all", "1,3" */
    const char *of;      /* of a network's outputs: "trace", "full", "2" */
    const char *columns; /* of the table, which the network knows */
    const char *inputs;  /* SHA-256 of the points of rows, and of columns where they are others */
    const char *inputs2;
    const char *parameters; /* the same of the network's weights */
} gram_header;

/* Of a matrix of numbers, whatever its columns are called. */
int hash_numbers(session *s, const far_mat *m, char out[HASH_BYTES]);
/* Of count columns of a table, over the rows that are chosen: the same, if they hold numbers. */
int hash_columns(session *s, const dataset *d, const int64_t *cols, int64_t count,
                 char out[HASH_BYTES]);
int hash_parameters(session *s, far_net *net, char out[HASH_BYTES]);

/* Of the columns of a table that a network takes: all, or those it knows, and then *list names them
 * (free it; NULL: all). */
int hash_inputs(session *s, const far_net *net, const dataset *d, char out[HASH_BYTES],
                char **list);

/* Where path ends in .npz the header goes with the array. */
int gram_write(session *s, const far_mat *m, const int64_t *shape, int dims, const char *name,
               const gram_header *h, const char *path);

/* A matrix from a file, and what it says of itself. Zero-initialise; gram_free is always safe. */
typedef struct gram_file {
    input in; /* its values: one row for each point and output */
    gram_header header;
    double *arranged; /* of an array of more dimensions */
} gram_file;

/* Arrays of layers count as their sum, or as that of the layers in the list (NULL: all). Refuses
 * what contradicts the header. */
int gram_read(session *s, const char *operand, const char *layers, gram_file *out);
void gram_free(gram_file *g);

/* Refuses a kernel between two sets of points, which has no spectrum. */
int gram_check_one_set(session *s, const gram_file *g);
/* Refuses a table whose columns are not the points of the matrix; NULL cols: those it names. */
int gram_check_points(session *s, const gram_file *g, const dataset *d, const int64_t *cols,
                      int64_t count);
/* Refuses a cross kernel (new points x points) that is not one of the kernel's. */
int gram_check_cross(session *s, const gram_file *cross, const gram_file *kernel, int64_t rows);

#endif
