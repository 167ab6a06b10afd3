/* How wide texts are, and where they break. Texts are UTF-8; ^{...} raises and _{...} lowers. */
#ifndef FAR_LETTERING_H
#define FAR_LETTERING_H

#include "../base/base_internal.h"

#define FAR_LINE_HEIGHT 1.25 /* these three in units of the font size */
#define FAR_ASCENT 0.76
#define FAR_DESCENT 0.24
#define FAR_SMALL 0.72 /* raised and lowered text */

/* The next code point of a text that is not at its end; U+FFFD for what is no UTF-8. */
int far_utf8_next(const char **text);

/* A piece of a text at one height: level 1 raised, -1 lowered. */
typedef struct far_run {
    const char *text;
    int64_t length;
    int level;
} far_run;
/* Takes the next piece off the text [*text, end); false at its end. */
bool far_run_next(const char **text, const char *end, far_run *out);

/* In px, of one line. */
double far_text_width(const char *text, int64_t length, double size);

/* A copy whose lines, divided by '\n', are not wider than width: between words where possible. */
far_status far_wrap(far_ctx *ctx, const char *text, double size, double width, char **out);
int far_line_count(const char *text);
/* The line at *text, which moves behind it; false at the end. */
bool far_line_next(const char **text, const char **line, int64_t *length);
/* Of the widest line. */
double far_lines_width(const char *text, double size);
double far_lines_height(const char *text, double size); /* 0 for NULL */
/* Of the widest word. */
double far_word_width(const char *text, double size);

#endif
