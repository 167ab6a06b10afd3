/* Files of a tar in memory: ustar and GNU, regular files only. */
#include "fetch_internal.h"

#include <string.h>

#define BLOCK 512

/* Offsets and lengths of the fields of a header that matter. */
enum { NAME_AT = 0, NAME_BYTES = 100, SIZE_AT = 124, SIZE_BYTES = 12, SUM_AT = 148, SUM_BYTES = 8 };
enum { TYPE_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345, PREFIX_BYTES = 155 };

/* Octal digits, with blanks and zeros around them; -1 if it is something else. */
static int64_t read_octal(const unsigned char *field, int bytes)
{
    int64_t value = 0;
    int i = 0;
    while (i < bytes && field[i] == ' ') {
        i++;
    }
    for (; i < bytes && field[i] >= '0' && field[i] <= '7'; i++) {
        value = value * 8 + field[i] - '0'; /* 12 digits fit */
    }
    bool ends = i == bytes || field[i] == ' ' || field[i] == 0;
    return ends ? value : -1;
}

/* The sum of all bytes, those of the sum itself counted as blanks. */
static bool sum_is_right(const unsigned char *head)
{
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : head[i];
    }
    return read_octal(head + SUM_AT, SUM_BYTES) == sum;
}

static bool is_zero(const unsigned char *block)
{
    for (int i = 0; i < BLOCK; i++) {
        if (block[i]) {
            return false;
        }
    }
    return true;
}

static void read_path(const unsigned char *head, char out[NAME_BYTES + PREFIX_BYTES + 2])
{
    bool split = memcmp(head + MAGIC_AT, "ustar", 6) == 0 && head[PREFIX_AT];
    int used = split ? snprintf(out, PREFIX_BYTES + 2, "%.*s/", PREFIX_BYTES,
                                (const char *)head + PREFIX_AT)
                     : 0;
    snprintf(out + used, NAME_BYTES + 1, "%.*s", NAME_BYTES, (const char *)head + NAME_AT);
}

static bool is_wanted(const unsigned char *head, const char *path)
{
    char own[NAME_BYTES + PREFIX_BYTES + 2];
    bool regular = head[TYPE_AT] == '0' || head[TYPE_AT] == 0;
    read_path(head, own);
    return regular && strcmp(strncmp(own, "./", 2) == 0 ? own + 2 : own, path) == 0;
}

far_status far_tar_find(const far_input *in, const char *path, const unsigned char **data,
                        int64_t *size)
{
    *data = NULL;
    *size = 0;
    for (int64_t at = 0; at + BLOCK <= in->size && !is_zero(in->data + at);) {
        const unsigned char *head = in->data + at;
        int64_t bytes = read_octal(head + SIZE_AT, SIZE_BYTES);
        if (bytes < 0 || !sum_is_right(head)) {
            return far_input_fail(in, FAR_ERR_FORMAT, "is no tar file, or a damaged one");
        }
        at += BLOCK;
        if (bytes > in->size - at) {
            return far_input_fail(in, FAR_ERR_FORMAT, "the tar file ends too early (truncated?)");
        }
        if (is_wanted(head, path)) {
            *data = in->data + at;
            *size = bytes;
            return FAR_OK;
        }
        at += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    }
    return FAR_OK;
}
