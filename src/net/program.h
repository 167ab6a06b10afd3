/* The walk from the tree of layers to the list of operations, for program*.c alone. */
#ifndef FAR_NET_PROGRAM_H
#define FAR_NET_PROGRAM_H

#include "net_internal.h"

typedef struct far_walk {
    far_ctx *ctx;
    const char *text;
    far_net *net;
    int64_t capacity;
    int64_t width; /* channels of what the layers so far give, */
    far_grid grid; /* and where they stand */
    far_param param;
    far_text prefix; /* "2." inside the skip that is layer 2 */
} far_walk;

far_status far_walk_fail(const far_walk *w, const far_layer *layer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define FAR_OUT_PROJ (-1) /* as an index: the name "out_proj" */
/* Appends a step that keeps shape and width and has no parameters; its caller sets what differs.
 * Its name is the prefix of the skip it stands in and the index of its layer there, as
 * torch.nn.Sequential counts. */
far_status far_walk_step(far_walk *w, const far_layer *layer, far_step_kind kind, int64_t index,
                         far_step **out);
/* count parameters more; the offset of the first. */
far_status far_walk_parameters(far_walk *w, const far_layer *layer, int64_t count, int64_t *offset);
/* Weights, bias (unless nobias) and scales of a dense layer or a convolution of step->out. */
far_status far_walk_linear(far_walk *w, const far_layer *layer, far_step *step);

/* "16x8x8", "30x64", "10": channels, height, width; positions, channels; a vector. */
typedef struct far_shape_text {
    char text[72];
} far_shape_text;
far_shape_text far_walk_shape(const far_walk *w);

/* ---- program_shapes.c ---- */

/* A layer of images or sequences. */
far_status far_walk_shaped(far_walk *w, const far_layer *layer, int64_t index);
/* FAR_ERR_ARCH if what the layers so far give is too much for a row. */
far_status far_walk_fits(const far_walk *w, const far_layer *layer);
/* All there is so far are tokens, numbers of rows of a table: only embed can read them. */
bool far_walk_holds_tokens(const far_walk *w);

#endif
