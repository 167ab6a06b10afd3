/* JSON as text, in and out. jansson keeps the values; where memory fails, both directions say so.
 */
#ifndef FAR_JSON_TEXT_H
#define FAR_JSON_TEXT_H

#include "../base/base_internal.h"

#include <jansson.h>

/* ---- writing ---- */

/* Values in the making. What fails here has run out of memory. After that the rest does not matter:
 * put and append take NULL, from a failure before them, as one more, and print tells. */
typedef struct far_json_out {
    far_ctx *ctx;
    bool failed;
} far_json_out;

bool far_is_utf8(const char *text);

/* Both take value. Keys are UTF-8. */
void far_json_put(far_json_out *w, json_t *object, const char *key, json_t *value);
void far_json_append(far_json_out *w, json_t *array, json_t *value);

/* JSON has no infinities and no NaN: "inf", "-inf" and null. */
json_t *far_json_real(double value);
/* null where values is NULL. */
json_t *far_json_reals(far_json_out *w, const double *values, int64_t count);
/* null for NULL. JSON is UTF-8, our texts are bytes: in one that is not UTF-8, those beyond ASCII
 * become question marks. */
json_t *far_json_word(far_json_out *w, const char *text);
/* The text as it is: bytes that are not UTF-8 become {"hex": "6bf6"}. */
json_t *far_json_bytes(far_json_out *w, const char *text);
json_t *far_json_words(far_json_out *w, char *const *texts, int64_t count);

/* Takes value and appends it to out, with digits that keep every bit; layout is that of jansson.
 * FAR_ERR_MEMORY "out of memory writing WHAT". */
far_status far_json_print(const far_json_out *w, json_t *value, size_t layout, const char *what,
                          far_text *out);

/* ---- reading ---- */

typedef struct far_json_mistake {
    int64_t position; /* bytes before it */
    int line, column; /* from 1 on; columns in bytes */
    char text[96];    /* printable */
} far_json_mistake;

/* An object or a list, and nothing behind it. Keys differ; no zero byte in a text; every number
 * within the range of float64, or of 64-bit integers. FAR_ERR_FORMAT with *mistake filled and no
 * message, or FAR_ERR_MEMORY with one. A zero byte must stand somewhere behind the text. */
far_status far_json_parse(far_ctx *ctx, const char *text, size_t length, json_t **out,
                          far_json_mistake *mistake);

#endif
