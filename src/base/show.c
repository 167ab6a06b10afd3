/* Any bytes as a line that a terminal only prints: nothing in it moves the cursor, changes colours,
 * turns the direction of the text around or ends the line. */
#define _GNU_SOURCE
#include "base_internal.h"

#include <stdio.h>
#include <string.h>

#define ESCAPE_BYTES 12

/* The character at text and how many bytes it takes; -1 and 1 where they are not UTF-8. */
static int32_t decode(const unsigned char *text, int64_t left, int *bytes)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = text[0];
    int length = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    int32_t code = length == 1 ? c : c & (0x7F >> length);
    *bytes = 1;
    if (length == 0 || length > left) {
        return -1;
    }
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return -1;
        }
        code = code << 6 | (text[i] & 0x3F);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return -1;
    }
    *bytes = length;
    return code;
}

/* Controls of both sets, line and paragraph separators, what sets the direction of text, and the
 * byte order mark. */
int far_text_prints(int32_t code)
{
    return code >= 0x20 && !(code >= 0x7F && code < 0xA0) && code != 0x061C && code != 0x200E &&
           code != 0x200F && !(code >= 0x2028 && code <= 0x202E) &&
           !(code >= 0x2066 && code <= 0x2069) && code != 0xFEFF;
}

/* Writes "\n", "\x1b" or "\u202e" for what does not print. */
static int escape(int32_t code, unsigned char byte, char out[ESCAPE_BYTES])
{
    static const char letters[] = "abtnvfr"; /* codes 7 to 13 */
    if (code >= 7 && code <= 13) {
        return snprintf(out, ESCAPE_BYTES, "\\%c", letters[code - 7]);
    }
    return code < 0x80 ? snprintf(out, ESCAPE_BYTES, "\\x%02x", byte)
                       : snprintf(out, ESCAPE_BYTES, "\\u%04x", (unsigned)code);
}

int far_show_next(const char *text, int64_t left, char out[FAR_SHOW_NEXT], int *used)
{
    int bytes;
    const unsigned char *at = (const unsigned char *)text;
    int32_t code = decode(at, left, &bytes);
    if (far_text_prints(code)) {
        memcpy(out, text, (size_t)bytes);
        *used = bytes;
    } else {
        *used = escape(code, *at, out);
    }
    return bytes;
}

int32_t far_text_decode(const char *text, int *bytes)
{
    return decode((const unsigned char *)text, (int64_t)strnlen(text, 4), bytes);
}

void far_show(char *out, size_t capacity, const char *text, int64_t length)
{
    size_t used = 0;
    char piece[FAR_SHOW_NEXT];
    for (int64_t i = 0; i < length;) {
        int wide, bytes = far_show_next(text + i, length - i, piece, &wide);
        bool last = i + bytes == length;
        if (used + (size_t)wide + (last ? 1 : 4) > capacity) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, piece, (size_t)wide);
        used += (size_t)wide;
        i += bytes;
    }
    out[used] = 0;
}

const char *far_printable(const char *text, char *out, size_t capacity)
{
    if (capacity >= 4) {
        far_show(out, capacity, text, (int64_t)strlen(text));
    } else if (capacity > 0) {
        out[0] = 0;
    }
    return out;
}
