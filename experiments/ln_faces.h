/* Table 2 from photographs: --images DIR --weights FILE. */
#ifndef FAR_EXPERIMENTS_LN_FACES_H
#define FAR_EXPERIMENTS_LN_FACES_H

#include "parts.h"

typedef struct ln_faces {
    char *path;              /* of a table: age, group and the features; free it */
    const char *features;    /* their names as a list, of the run */
    int64_t count, left_out; /* faces, and files whose names say no age */
} ln_faces;

/* Features of the photographs in r->images, by the network of r->weights without its last layer.
 * What is done is kept for --resume. */
far_status ln_faces_make(reproduction *r, ln_faces *out);

#endif
