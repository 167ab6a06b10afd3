#include "lettering.h"

#include <string.h>

/* ---- characters ---- */

static int continuation_bytes(unsigned char first)
{
    if (first < 0x80) {
        return 0;
    }
    if (first >= 0xc2 && first < 0xe0) {
        return 1;
    }
    if (first >= 0xe0 && first < 0xf0) {
        return 2;
    }
    return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

static bool is_scalar(int code, int bytes)
{
    static const int LEAST[] = {0, 0x80, 0x800, 0x10000};
    return code >= LEAST[bytes] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

int far_utf8_next(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int more = continuation_bytes(s[0]);
    (*text)++;
    if (more <= 0) {
        return more == 0 ? s[0] : 0xfffd;
    }
    int code = s[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0xfffd;
        }
        code = code << 6 | (s[i] & 0x3f);
    }
    if (!is_scalar(code, more)) {
        return 0xfffd;
    }
    *text += more;
    return code;
}

/* ---- widths ---- */

/* Advance widths of DejaVu Sans in thousandths of its size. It is among the widest of the usual
 * fonts: a label that fits in it fits in the others. */
static const short LATIN[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
static const short LATIN_1[] = {
    318, 401, 636, 636, 636, 636, 337, 500, 500, 1000, 471, 612, 838, 361, 1000, 500,
    500, 838, 401, 401, 500, 636, 636, 318, 500, 401,  471, 612, 969, 969, 969,  531,
    684, 684, 684, 684, 684, 684, 974, 698, 632, 632,  632, 632, 295, 295, 295,  295,
    775, 748, 787, 787, 787, 787, 787, 838, 787, 732,  732, 732, 732, 611, 605,  630,
    613, 613, 613, 613, 613, 613, 982, 550, 615, 615,  615, 615, 278, 278, 278,  278,
    612, 634, 612, 612, 612, 612, 612, 838, 612, 634,  634, 634, 634, 592, 635,  592};
static const short GREEK[] = {
    684, 686, 557, 684, 632, 685, 752, 787, 295, 656, 684, 863, 748, 632, 787, 752, 603, 636, 632,
    611, 611, 787, 685, 787, 764, 295, 611, 659, 541, 634, 338, 579, 659, 638, 592, 612, 541, 544,
    634, 612, 338, 589, 592, 636, 559, 558, 612, 602, 635, 587, 634, 602, 579, 660, 578, 660, 837};

typedef struct letters {
    int first, last;
    const short *widths; /* NULL: all of them as wide as width */
    short width;
} letters;

static const letters LETTERS[] = {
    {0x20, 0x7e, LATIN, 0},       {0xa0, 0xff, LATIN_1, 0},       {0x100, 0x24f, NULL, 700},
    {0x300, 0x36f, NULL, 0}, /* accents stand on others */
    {0x391, 0x3c9, GREEK, 0},     {0x2009, 0x200a, NULL, 200},    {0x200b, 0x200f, NULL, 0},
    {0x2010, 0x2013, NULL, 500},  {0x2018, 0x201f, NULL, 518},    {0x202f, 0x202f, NULL, 200},
    {0x2070, 0x209c, NULL, 460},  {0x2190, 0x22ff, NULL, 838},    {0x1100, 0x115f, NULL, 1000},
    {0x2e80, 0x9fff, NULL, 1000}, {0xac00, 0xd7a3, NULL, 1000},   {0xf900, 0xfaff, NULL, 1000},
    {0xff00, 0xff60, NULL, 1000}, {0x1f000, 0x1faff, NULL, 1300},
};

static int letter_width(int code)
{
    for (size_t i = 0; i < sizeof LETTERS / sizeof LETTERS[0]; i++) {
        const letters *l = &LETTERS[i];
        if (code >= l->first && code <= l->last) {
            return l->widths ? l->widths[code - l->first] : l->width;
        }
    }
    return code < 0x20 ? 0 : 780;
}

/* ---- pieces ---- */

static int marker_level(const char *s, const char *end)
{
    if (end - s < 2 || s[1] != '{') {
        return 0;
    }
    return s[0] == '^' ? 1 : s[0] == '_' ? -1 : 0;
}

bool far_run_next(const char **text, const char *end, far_run *out)
{
    const char *s = *text;
    if (s >= end) {
        return false;
    }
    int level = marker_level(s, end);
    const char *close = level ? memchr(s, '}', (size_t)(end - s)) : NULL;
    if (close) {
        *out = (far_run){s + 2, close - s - 2, level};
        *text = close + 1;
        return true;
    }
    const char *stop = s + 1;
    while (stop < end && marker_level(stop, end) == 0) {
        stop++;
    }
    *out = (far_run){s, stop - s, 0};
    *text = stop;
    return true;
}

static double run_width(const far_run *r)
{
    double sum = 0;
    for (const char *s = r->text; s < r->text + r->length;) {
        sum += letter_width(far_utf8_next(&s));
    }
    return sum / 1000;
}

double far_text_width(const char *text, int64_t length, double size)
{
    double sum = 0;
    far_run run;
    for (const char *s = text; far_run_next(&s, text + length, &run);) {
        sum += run_width(&run) * (run.level ? FAR_SMALL : 1);
    }
    return sum * size;
}

/* ---- lines ---- */

/* What may stand on a line by itself if it must: one letter, or a whole raised text. */
static int64_t unit_length(const char *s, const char *end)
{
    const char *close = marker_level(s, end) ? memchr(s, '}', (size_t)(end - s)) : NULL;
    const char *next = s;
    far_utf8_next(&next);
    return (close ? close + 1 : next) - s;
}

/* The lines being made: a text with room, and where its last line starts. */
typedef struct wrapping {
    char *text;
    int64_t length, line;
    double size, width;
} wrapping;

static void append(wrapping *w, const char *text, int64_t length)
{
    memcpy(w->text + w->length, text, (size_t)length);
    w->length += length;
}

static void break_line(wrapping *w)
{
    append(w, "\n", 1);
    w->line = w->length;
}

static bool line_fits(const wrapping *w, const char *more, int64_t length)
{
    double gap = w->length > w->line ? letter_width(' ') * w->size / 1000 : 0;
    return far_text_width(w->text + w->line, w->length - w->line, w->size) + gap +
               far_text_width(more, length, w->size) <=
           w->width;
}

static void add_long_word(wrapping *w, const char *word, int64_t length)
{
    for (const char *s = word, *end = word + length; s < end;) {
        int64_t unit = unit_length(s, end);
        bool empty = w->length == w->line;
        if (!empty && far_text_width(w->text + w->line, w->length - w->line, w->size) +
                              far_text_width(s, unit, w->size) >
                          w->width) {
            break_line(w);
        }
        append(w, s, unit);
        s += unit;
    }
}

static void add_word(wrapping *w, const char *word, int64_t length)
{
    if (w->length > w->line) {
        if (line_fits(w, word, length)) {
            append(w, " ", 1);
            append(w, word, length);
            return;
        }
        break_line(w);
    }
    add_long_word(w, word, length);
}

/* Between words; a raised text is never divided at its spaces. */
static int64_t word_length(const char *s, const char *end)
{
    const char *at = s;
    while (at < end && *at != ' ' && *at != '\n') {
        at += unit_length(at, end);
    }
    return at - s;
}

far_status far_wrap(far_ctx *ctx, const char *text, double size, double width, char **out)
{
    int64_t length = (int64_t)strlen(text);
    wrapping w = {.size = size, .width = width};
    far_status st = far_alloc(ctx, 2 * length + 1, &w.text);
    if (st != FAR_OK) {
        *out = NULL;
        return st;
    }
    for (const char *s = text, *end = text + length; s < end;) {
        int64_t word = word_length(s, end);
        if (word > 0) {
            add_word(&w, s, word);
        } else if (*s == '\n') {
            break_line(&w);
        }
        s += word > 0 ? word : 1;
    }
    w.text[w.length] = 0;
    *out = w.text;
    return FAR_OK;
}

bool far_line_next(const char **text, const char **line, int64_t *length)
{
    if (!*text) {
        return false;
    }
    const char *stop = strchr(*text, '\n');
    *line = *text;
    *length = stop ? stop - *text : (int64_t)strlen(*text);
    *text = stop ? stop + 1 : NULL;
    return true;
}

int far_line_count(const char *text)
{
    int count = 0;
    const char *line;
    int64_t length;
    while (far_line_next(&text, &line, &length)) {
        count++;
    }
    return count;
}

double far_lines_width(const char *text, double size)
{
    double most = 0;
    const char *line;
    int64_t length;
    while (far_line_next(&text, &line, &length)) {
        double width = far_text_width(line, length, size);
        most = width > most ? width : most;
    }
    return most;
}

double far_lines_height(const char *text, double size)
{
    return far_line_count(text) * FAR_LINE_HEIGHT * size;
}

double far_word_width(const char *text, double size)
{
    double most = 0;
    for (const char *s = text, *end = text + strlen(text); s < end;) {
        int64_t length = word_length(s, end);
        double width = far_text_width(s, length, size);
        most = width > most ? width : most;
        s += length > 0 ? length : 1;
    }
    return most;
}
