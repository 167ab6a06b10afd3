#include "json.h"
#include "show.h"

#include <math.h>
#include <stdbool.h>

/* Whether an object has just been opened. Behind an inner object there is always a comma, so one
 * flag serves all levels. */
static bool at_start;

#define NOT_UTF8 0xFFFDu /* what stands for bytes that JSON has no way to write */

/* Also what a terminal would act on is escaped, which changes nothing for readers of JSON. */
void json_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (int bytes; *text; text += bytes) {
        int32_t code = far_text_decode(text, &bytes);
        if (code == '"' || code == '\\') {
            fprintf(out, "\\%c", (int)code);
        } else if (!far_text_prints(code)) {
            fprintf(out, "\\u%04x", code < 0 ? NOT_UTF8 : (unsigned)code);
        } else {
            fwrite(text, 1, (size_t)bytes, out);
        }
    }
    putc('"', out);
}

static void number_with_digits(FILE *out, double value, int digits)
{
    if (isfinite(value)) {
        fprintf(out, "%.*g", digits, value);
    } else {
        fputs("null", out);
    }
}

/* No more digits than read back to the same bits. */
void json_number(FILE *out, double value)
{
    char text[SHOW_BYTES];
    if (isfinite(value)) {
        fputs(show_exact(value, text), out);
    } else {
        number_with_digits(out, value, 17);
    }
}

void json_begin(FILE *out)
{
    putc('{', out);
    at_start = true;
}

void json_close(FILE *out)
{
    putc('}', out);
    at_start = false;
}

void json_end(FILE *out)
{
    json_close(out);
    putc('\n', out);
}

void json_key(FILE *out, const char *key)
{
    if (!at_start) {
        fputs(", ", out);
    }
    at_start = false;
    json_quoted(out, key);
    fputs(": ", out);
}

void json_text_field(FILE *out, const char *key, const char *text)
{
    json_key(out, key);
    json_quoted(out, text);
}

void json_number_field(FILE *out, const char *key, double value)
{
    json_key(out, key);
    json_number(out, value);
}

void json_bool_field(FILE *out, const char *key, int value)
{
    json_key(out, key);
    fputs(value ? "true" : "false", out);
}

void json_null_field(FILE *out, const char *key)
{
    json_key(out, key);
    fputs("null", out);
}

void json_matrix(FILE *out, const far_mat *m)
{
    int digits = m->dtype == FAR_F32 ? 9 : 17;
    putc('[', out);
    for (int64_t i = 0; i < m->rows; i++) {
        fputs(i ? ",\n [" : "\n [", out);
        for (int64_t j = 0; j < m->cols; j++) {
            fputs(j ? ", " : "", out);
            number_with_digits(out, mat_get(m, i, j), digits);
        }
        putc(']', out);
    }
    putc(']', out);
}

void json_column(FILE *out, const far_mat *m)
{
    putc('[', out);
    for (int64_t i = 0; i < m->rows; i++) {
        fputs(i ? ", " : "", out);
        json_number(out, mat_get(m, i, 0));
    }
    putc(']', out);
}

void json_numbers(FILE *out, const double *values, int64_t count)
{
    far_mat column = far_mat_view((void *)values, count, 1, FAR_F64);
    json_column(out, &column);
}
