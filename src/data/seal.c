/* Checksums that files carry of themselves: a flipped bit is found when the file is read. */
#define _GNU_SOURCE
#include "safetensors.h"

#include <assert.h>
#include <string.h>

static const char ZEROS[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* ---- at the end of a file: "sha256:" and the digits, of everything before them ---- */

bool far_seal_is(const far_input *in)
{
    int64_t word = (int64_t)sizeof FAR_SEAL_WORD - 1;
    return in->size >= FAR_SEAL_BYTES &&
           memcmp(in->data + in->size - FAR_SEAL_BYTES, FAR_SEAL_WORD, (size_t)word) == 0;
}

bool far_seal_holds(const far_input *in)
{
    char digits[FAR_HASH_TEXT];
    far_sha256 h;
    size_t before = (size_t)in->size - FAR_HASH_DIGITS;
    far_sha256_init(&h);
    far_sha256_add(&h, in->data, before);
    far_sha256_finish(&h, digits);
    return memcmp(digits, in->data + before, FAR_HASH_DIGITS) == 0;
}

/* ---- in the metadata of a safetensors file: of the file with zeros in place of the digits ---- */

/* Where the digits stand among the bytes; NULL if the key is not written as we write it. */
static const unsigned char *find_digits(const unsigned char *data, int64_t size)
{
    static const char key[] = "\"" FAR_SEAL_KEY "\":\"";
    const unsigned char *at = memmem(data, (size_t)size, key, sizeof key - 1);
    at = at ? at + sizeof key - 1 : NULL;
    return at && data + size - at >= FAR_HASH_DIGITS ? at : NULL;
}

static bool digits_hold(const far_input *in, const unsigned char *at)
{
    char digits[FAR_HASH_TEXT];
    far_sha256 h;
    size_t before = (size_t)(at - in->data), after = (size_t)in->size - before - FAR_HASH_DIGITS;
    far_sha256_init(&h);
    far_sha256_add(&h, in->data, before);
    far_sha256_add(&h, ZEROS, FAR_HASH_DIGITS);
    far_sha256_add(&h, at + FAR_HASH_DIGITS, after);
    far_sha256_finish(&h, digits);
    return memcmp(digits, at, FAR_HASH_DIGITS) == 0;
}

/* Two keys, so that damage to the name of either is seen. */
far_status far_safetensors_check_seal(far_safetensors *f)
{
    bool announced = far_safetensors_text(f, FAR_SEAL_ANNOUNCED),
         given = far_safetensors_text(f, FAR_SEAL_KEY);
    if (!announced && !given) {
        return FAR_OK;
    }
    const unsigned char *at = find_digits(f->in.data, f->in.size);
    if (!announced || !given || !at || !digits_hold(&f->in, at)) {
        return far_input_fail(
            &f->in, FAR_ERR_FORMAT,
            "does not match its checksum: the file is damaged; take another copy, or make it "
            "again (a program that changes the file on purpose leaves " FAR_SEAL_ANNOUNCED
            " and " FAR_SEAL_KEY " out of its metadata)");
    }
    f->sealed = true;
    return FAR_OK;
}

void far_seal_pairs(far_pair out[FAR_SEAL_PAIRS])
{
    out[0] = (far_pair){FAR_SEAL_ANNOUNCED, "sha256"};
    out[1] = (far_pair){FAR_SEAL_KEY, ZEROS};
}

void far_seal_put(char *header, int64_t length, const char digits[FAR_HASH_TEXT])
{
    const unsigned char *at = find_digits((const unsigned char *)header, length);
    assert(at); /* far_seal_pairs has put it there */
    memcpy(header + (at - (const unsigned char *)header), digits, FAR_HASH_DIGITS);
}
