/* Values out of JSON that may come from anywhere: each is checked, and messages say where it is. */
#ifndef FAR_JSON_VALUE_H
#define FAR_JSON_VALUE_H

#include "data_internal.h"
#include "json_text.h"

/* An object, and its place for messages. */
typedef struct far_json {
    const far_input *in;
    const json_t *object;
    char place[64]; /* "manifest: features[3]: " */
} far_json;

/* FAR_ERR_FORMAT with the label of the input and the place before the message. */
__attribute__((format(printf, 2, 3))) far_status far_json_fail(const far_json *j,
                                                               const char *format, ...);

/* The whole of j->in; j->object views it, and the caller gives it back. */
far_status far_json_load(far_json *j, json_t **out);

/* Each of these takes the value under a key, which must be there. */
far_status far_json_get(const far_json *j, const char *key, const json_t **out);
far_status far_json_list(const far_json *j, const char *key, const json_t **out, int64_t *count);
far_status far_json_enter(const far_json *j, const char *key, far_json *out);
/* Element i of the list under that key, which must be an object. */
far_status far_json_element(const far_json *j, const char *key, const json_t *list, int64_t i,
                            far_json *out);
far_status far_json_flag(const far_json *j, const char *key, int32_t *out);
/* An integer, 0 or more. */
far_status far_json_count(const far_json *j, const char *key, int64_t *out);
/* A finite number, or NAN for null. */
far_status far_json_number(const far_json *j, const char *key, double *out);
/* A list of count finite numbers; positive: all above 0. */
far_status far_json_numbers(const far_json *j, const char *key, int64_t count, bool positive,
                            double **out);

/* A name for each value of an enum from 0 on; NULL for what a file cannot hold. */
typedef struct far_choices {
    const char *names[6];
    int count;
} far_choices;
far_status far_json_choice(const far_json *j, const char *key, const far_choices *c, int32_t *out);

/* A text without zeros: a JSON string, or {"hex": "6bf6"} for bytes that are not UTF-8. */
far_status far_json_text(const far_json *j, const char *key, char **out);
/* A list of them. What they hold goes with far_texts_free, also on failure. */
far_status far_json_texts(const far_json *j, const char *key, char ***out, int64_t *count);
/* The same, no two equal. */
far_status far_json_names(const far_json *j, const char *key, char ***out, int64_t *count);
/* Fails if two of the texts under that key are equal; sorts them. */
far_status far_json_distinct(const far_json *j, const char *key, const char **texts, int64_t count);

#endif
