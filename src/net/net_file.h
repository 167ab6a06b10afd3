/* Shared by what writes networks (net_save.c) and what reads them (net_file.c, net_modules.c). */
#ifndef FAR_NET_FILE_H
#define FAR_NET_FILE_H

#include "../data/safetensors.h"
#include "net_internal.h"

#define FAR_START_PREFIX "start." /* tensors a network is linearised at */

/* Names of the values of far_init in a file. */
#define FAR_INIT_COUNT 6
extern const char *const far_init_names[FAR_INIT_COUNT];

far_status far_net_write(const far_net *net, far_output *o);
/* The same with more tensors and texts, which readers of networks leave out: an unfinished run of
 * training is kept so. Names of these tensors begin with state., of texts with train. */
#define FAR_STATE_PREFIX "state."
far_status far_net_write_with(const far_net *net, const far_tensor_out *tensors,
                              int64_t tensor_count, const far_pair *texts, int64_t text_count,
                              far_output *o);
/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_net_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                               const char *arch, far_net **out);

/* ---- net_modules.c: whose tensors are whose ---- */

typedef enum far_module_kind {
    FAR_MODULE_DENSE,
    FAR_MODULE_NORM,
    FAR_MODULE_BATCHNORM,
    FAR_MODULE_CONV,
    FAR_MODULE_IN_PROJ,  /* of attention: queries, keys, values, */
    FAR_MODULE_OUT_PROJ, /* and the layer behind it */
    FAR_MODULE_TABLE,    /* a matrix as of a dense layer; which of them it is, the network says */
    FAR_MODULE_KINDS
} far_module_kind;

/* The tensors of a file that share what stands before the last dot of their names: a layer. */
typedef struct far_module {
    const char *name; /* length bytes: "0", "net.fc1", "" */
    int length;
    far_module_kind kind;
    const far_tensor *parts[FAR_PARTS]; /* NULL: it has none */
    bool transposed;                    /* its weight lies in x out */
} far_module;

typedef struct far_modules {
    const far_safetensors *file;
    far_module *items; /* in the order of their names, where numbers count as numbers */
    int64_t count;
} far_modules;

/* All modules; starts (tensors named start....) are left out if so asked. */
far_status far_modules_read(const far_safetensors *file, bool without_start, far_modules *out);
void far_modules_clear(far_modules *m);
/* What the tensors say about the ends of a network of these layers. *inputs is -1 if no layer has
 * tensors, *outputs 0 where the text itself says. */
far_status far_modules_ends(const far_modules *m, const far_arch *arch, int64_t *inputs,
                            int64_t *outputs);
/* The module of each step of an outline (NULL: it has no tensors), every shape checked. The kinds
 * are paired each in its own order, so that fc1, fc2, norm1, norm2 are found too. */
far_status far_modules_match(far_modules *m, const far_net *net, const far_module **out);
/* A network the tensors may belong to, such as dense(5) relu dense(2). */
void far_modules_suggest(const far_modules *m, far_text *out);


/* ---- net_residual.c ---- */

/* Names as torchvision's residual networks have them. */
bool far_modules_are_residual(const far_modules *m);
/* The text of resnet18 or resnet34, with as many blocks and channels as the tensors have.
 * FAR_ERR_FORMAT: a layer is missing, or there are others; the message has its name. */
far_status far_modules_residual(const far_modules *m, far_text *out);

#endif
