/* Files that are changed on purpose get a checksum that fits again. */
#ifndef FAR_TEST_SEAL_H
#define FAR_TEST_SEAL_H

#include "data/safetensors.h"

#include <stdlib.h>
#include <string.h>

static inline void seal_digits(const char *data, size_t size, char out[FAR_HASH_TEXT])
{
    far_sha256 h;
    far_sha256_init(&h);
    far_sha256_add(&h, data, size);
    far_sha256_finish(&h, out);
}

/* A model file (a zip), with or without a checksum; returns the bytes, which may have moved. */
static inline char *seal_zip(char *data, size_t *size)
{
    char digits[FAR_HASH_TEXT];
    far_input in = {.data = (unsigned char *)data, .size = (int64_t)*size};
    if (!far_seal_is(&in)) {
        data[*size - 2] = FAR_SEAL_BYTES; /* the length of the comment */
        data = realloc(data, *size + FAR_SEAL_BYTES + 1);
        memcpy(data + *size, FAR_SEAL_WORD, sizeof FAR_SEAL_WORD - 1);
        *size += FAR_SEAL_BYTES;
    }
    seal_digits(data, *size - FAR_HASH_DIGITS, digits);
    memcpy(data + *size - FAR_HASH_DIGITS, digits, FAR_HASH_DIGITS);
    return data;
}

/* A network or checkpoint that has a checksum. */
static inline void seal_tensors(char *data, size_t size)
{
    static const char key[] = "\"" FAR_SEAL_KEY "\":\"";
    char digits[FAR_HASH_TEXT];
    for (char *at = data; at + sizeof key + FAR_HASH_DIGITS <= data + size; at++) {
        if (memcmp(at, key, sizeof key - 1) == 0) {
            at += sizeof key - 1;
            memset(at, '0', FAR_HASH_DIGITS);
            seal_digits(data, size, digits);
            memcpy(at, digits, FAR_HASH_DIGITS);
            return;
        }
    }
}

#endif
