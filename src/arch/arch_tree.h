/* Shared by the files of this room: the table of layers and the message of a text that fails. */
#ifndef FAR_ARCH_TREE_H
#define FAR_ARCH_TREE_H

#include "arch_internal.h"

#define FAR_POWER_DEFAULT 1
#define FAR_POWER_ABOVE 0.5 /* below, the derivative has no second moment under a Gaussian */
#define FAR_POWER_MOST 64
#define FAR_SLOPE_MOST 1e6
#define FAR_GROUPS_DEFAULT 1
#define FAR_INTEGER_MOST 1e9
#define FAR_SIZE_MOST 65535 /* of one part of a size */
#define FAR_PAD_MOST 64

struct far_arch {
    far_ctx *ctx;
    far_layer root; /* its body is the network */
    int64_t depth;
    char *text; /* canonical */
};

typedef enum far_arg_type {
    FAR_ARG_NUMBER,
    FAR_ARG_INTEGER,
    FAR_ARG_FLAG,
    FAR_ARG_SIZE /* 3x3; read and written by far_size_* */
} far_arg_type;

/* The value of an argument left out is that of far_layer_blank. */
typedef struct far_arg {
    const char *name;
    far_arg_type type;
    bool positional; /* may stand without its name, behind the positional ones in front of it */
    size_t field;    /* offset in far_layer */
    double least, most;
    bool above_least;            /* least itself is not allowed */
    const char *excludes;        /* an argument that cannot stand beside this one, or NULL */
    const char *needs;           /* an argument that must, or NULL */
    int parts_least, parts_most; /* of a size */
} far_arg;

typedef enum far_layer_family {
    FAR_FAMILY_AFFINE,
    FAR_FAMILY_ACTIVATION,
    FAR_FAMILY_NORM,
    FAR_FAMILY_SHAPED,
    FAR_FAMILY_BLOCK /* has a body instead of arguments */
} far_layer_family;

/* args stand in canonical order. */
typedef struct far_layer_spec {
    const char *name;
    far_layer_family family;
    const far_arg *args;
    int arg_count;
} far_layer_spec;

#define FAR_LAYER_KINDS (FAR_LAYER_REPEAT + 1)
/* Repetition, the last kind, is written with brackets: its name is no word of the language. */
#define FAR_LAYER_WORDS FAR_LAYER_REPEAT
extern const far_layer_spec far_layer_specs[FAR_LAYER_KINDS]; /* by kind */

/* A layer of this kind with no argument given. */
far_layer far_layer_blank(far_layer_kind kind);
/* The kind written as these length bytes; false if there is none. */
bool far_layer_find(const char *word, int length, far_layer_kind *out);
/* The layer name a misspelt word is closest to, or NULL if none is close. */
const char *far_layer_nearest(const char *word, int length);

/* Of all but sizes. */
double far_arg_get(const far_arg *arg, const far_layer *layer);
void far_arg_set(const far_arg *arg, double value, far_layer *layer);
bool far_arg_in_range(const far_arg *arg, double value);
/* Of sizes. */
far_size *far_size_of(const far_arg *arg, far_layer *layer);
/* As it was given, or left out. */
bool far_arg_same(const far_arg *arg, const far_layer *a, const far_layer *b);
/* "a number above 0.5 and at most 64" */
void far_arg_describe_range(const far_arg *arg, char *out, size_t size);

/* The canonical text of the body of root; the caller frees it. *out is NULL on failure. */
far_status far_arch_print(far_ctx *ctx, const far_layer *root, char **out, int64_t *length);

#endif
