/* A tiny JSON writer. Doubles carry 17 digits; a number that does not exist or is infinite is null
 * (docs/json.md). */
#ifndef FAR_CLI_JSON_H
#define FAR_CLI_JSON_H

#include "files.h"

#include <farfield/base.h>
#include <stdio.h>

void json_quoted(FILE *out, const char *text);
void json_number(FILE *out, double value);
/* "key": "text" and "key": value, with the comma in front unless it opens the object. */
void json_key(FILE *out, const char *key);
void json_text_field(FILE *out, const char *key, const char *text);
void json_number_field(FILE *out, const char *key, double value);
void json_bool_field(FILE *out, const char *key, int value);
void json_null_field(FILE *out, const char *key);
/* { and }; json_end adds the line feed behind the outermost. */
void json_begin(FILE *out);
void json_close(FILE *out);
void json_end(FILE *out);
/* [[...], ...], one row a line. */
void json_matrix(FILE *out, const far_mat *m);
/* [...] of the first column. */
void json_column(FILE *out, const far_mat *m);
/* [...] of count numbers. */
void json_numbers(FILE *out, const double *values, int64_t count);

#endif
