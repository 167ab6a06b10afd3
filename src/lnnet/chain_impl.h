/* Part of precision_impl.h: a chain. */
#include "precision.h"
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x -> y = -h_2 / |h|, h = (k t, 1 + mu t), t = x - z */
typedef struct NAME(fold) {
    REAL z, k, mu;
    int64_t a, b; /* the objects it merges; -1: none */
} NAME(fold);

/* Objects in order: points that were merged, or runs of points of one label. */
typedef struct NAME(line) {
    int64_t n;
    REAL *lo, *hi;
    int32_t *label;
    int64_t *first, *last; /* the points at lo and at hi; used before the first layer */
} NAME(line);

/* A point on the line at the start. */
typedef struct NAME(entry) {
    REAL place;
    int64_t point;
    int32_t label;
} NAME(entry);

typedef struct NAME(state) {
    int64_t bits;
    void *pad;
    NAME(line) now, next;
    REAL *ulo, *uhi; /* where the objects go */
    REAL *row;       /* of the first layer: 3 x d */
    NAME(entry) * entries;
    far_ln_search search;
    double *gaps; /* after each layer */
    NAME(line) kept[FAR_LN_KEPT];
    int64_t kept_layer[FAR_LN_KEPT];
    int64_t kept_count; /* so far; the last FAR_LN_KEPT of them are there */
    int64_t returns;    /* to the oldest layer that is in trouble */
    int64_t trouble;    /* the farthest layer that failed */
    int64_t gathered;   /* objects in front that were brought together */
} NAME(state);

#include "chain_line.h"
/* then */
#include "chain_folds.h"
/* then */
#include "chain_paper.h"
/* then */
#include "chain_run.h"
