/* Texts as HTML and as URLs. */
#include "lettering.h"
#include "page_internal.h"

#include <string.h>

/* What stands for a character; NULL: it stands for itself. */
static const char *entity(int code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case 0x7f:
    case 0xfffd:
        return "\xef\xbf\xbd";
    default:
        return code < 0x20 && code != '\n' && code != '\t' ? " " : NULL;
    }
}

static void add_part(far_text *t, const char *text, int64_t length)
{
    const char *plain = text, *end = text + length;
    for (const char *s = text; s < end;) {
        const char *start = s, *instead = entity(far_utf8_next(&s));
        if (instead) {
            far_text_add(t, "%.*s%s", (int)(start - plain), plain, instead);
            plain = s;
        }
    }
    far_text_add(t, "%.*s", (int)(end - plain), plain);
}

void far_html_add(far_text *t, const char *text)
{
    add_part(t, text, (int64_t)strlen(text));
}

void far_html_add_rich_part(far_text *t, const char *text, int64_t length)
{
    static const char *const OPEN[] = {"<sub>", "", "<sup>"}, *const CLOSE[] = {"</sub>", "",
                                                                                "</sup>"};
    far_run run;
    for (const char *s = text; far_run_next(&s, text + length, &run);) {
        far_text_add(t, "%s", OPEN[run.level + 1]);
        add_part(t, run.text, run.length);
        far_text_add(t, "%s", CLOSE[run.level + 1]);
    }
}

void far_html_add_rich(far_text *t, const char *text)
{
    far_html_add_rich_part(t, text, (int64_t)strlen(text));
}

static bool stays_in_url(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-._~,", c));
}

void far_html_add_percent(far_text *t, const char *text)
{
    const char *plain = text, *s = text;
    for (; *s; s++) {
        if (!stays_in_url((unsigned char)*s)) {
            far_text_add(t, "%.*s%%%02X", (int)(s - plain), plain, (unsigned char)*s);
            plain = s + 1;
        }
    }
    far_text_add(t, "%s", plain);
}
