/* Shared by the two halves of model files: the zip (model_file.c) and its manifest (manifest.c). */
#ifndef FAR_MODEL_FILE_H
#define FAR_MODEL_FILE_H

#include "../data/data_internal.h"
#include "regress_internal.h"

/* Everything but the arrays of m as JSON; out->ctx must be set. */
far_status far_manifest_write(const far_model *m, far_text *out);
/* The reverse, into an empty model. in is JSON text, which may come from anywhere, labelled with
 * the path of the model: what it leaves in m is consistent in itself. */
far_status far_manifest_read(const far_input *in, far_model *m);

far_status far_model_write(const far_model *m, far_output *o);
/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_model_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 far_model **out);

#endif
