/* The safetensors format: named tensors and a few texts, as Python's package of that name has them.
 * Eight bytes with the length of the header, the header as JSON, the bytes of the tensors. */
#ifndef FAR_SAFETENSORS_H
#define FAR_SAFETENSORS_H

#include "data_internal.h"

#define FAR_TENSOR_DIMS 8 /* the most that are read */

typedef struct far_pair {
    const char *key, *value;
} far_pair;

typedef struct far_tensor {
    const char *name;
    int dims;
    int64_t shape[FAR_TENSOR_DIMS];
    far_stored values; /* rows x cols of a matrix; 1 x n for any other number of dimensions */
} far_tensor;

/* A file in memory; names, texts and values live as long as it does. Zero-initialise; clear when
 * done. */
typedef struct far_safetensors {
    far_input in;
    struct json_t *header;
    far_tensor *tensors; /* in the order of their bytes */
    int64_t tensor_count;
    far_pair *metadata; /* in the order of the file */
    int64_t metadata_count;
    bool sealed; /* it carries a checksum, which holds */
} far_safetensors;

/* Loads a file, which may come from anywhere, and checks all of it but the values. FAR_ERR_FORMAT:
 * it is damaged, or something else; what PyTorch, NumPy and Keras write is recognised. */
far_status far_safetensors_load(far_ctx *ctx, const char *path, far_safetensors *out);
/* The same for bytes in memory; label stands for the path in messages. */
far_status far_safetensors_parse_bytes(far_ctx *ctx, const char *label, const void *data,
                                       int64_t size, far_safetensors *out);
void far_safetensors_clear(far_safetensors *file);
/* The text under a key of the metadata; NULL if there is none. */
const char *far_safetensors_text(const far_safetensors *file, const char *key);
/* "PATH: tensor '0.weight': ..." */
__attribute__((format(printf, 4, 5))) far_status
far_tensor_fail(const far_input *in, far_status status, const char *name, const char *format, ...);
/* "128 x 9", "128", "a single number". */
#define FAR_SHAPE_BYTES (24 * FAR_TENSOR_DIMS)
void far_tensor_shape(const far_tensor *t, char out[FAR_SHAPE_BYTES]);

/* A tensor to be written: float32 where that holds every value, else float64. */
typedef struct far_tensor_out {
    const char *name;
    const double *values;
    int dims; /* 0 to 4 */
    int64_t shape[4];
} far_tensor_out;

/* The whole file, with a checksum among its texts: the same bytes for the same content. Texts must
 * be UTF-8 (FAR_ERR_ARG). */
far_status far_safetensors_write(far_output *o, const far_tensor_out *tensors, int64_t count,
                                 const far_pair *metadata, int64_t metadata_count);

/* ---- the checksum, by two texts: which kind, and its digits ---- */

#define FAR_SEAL_ANNOUNCED "farfield.checksum"
#define FAR_SEAL_KEY "farfield.sha256"
/* FAR_ERR_FORMAT if the file has one that does not hold; sets sealed. Files of other programs have
 * none. */
far_status far_safetensors_check_seal(far_safetensors *f);
#define FAR_SEAL_PAIRS 2
void far_seal_pairs(far_pair out[FAR_SEAL_PAIRS]); /* with zeros for the digits */
/* Puts the digits where the zeros are. */
void far_seal_put(char *header, int64_t length, const char digits[FAR_HASH_TEXT]);

#endif
