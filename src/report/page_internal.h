/* Shared by the parts of a report page: HTML appended to a text. */
#ifndef FAR_PAGE_INTERNAL_H
#define FAR_PAGE_INTERNAL_H

#include "../base/base_internal.h"
#include "page.h"

struct far_page {
    far_ctx *ctx;
    char *title;
    far_text verdicts, body, facts; /* HTML, as it will stand in the page */
    int64_t tables, figures;        /* so many so far: they are numbered */
};

/* ---- texts in HTML ---- */

/* For content and attributes: valid whatever the bytes. */
void far_html_add(far_text *t, const char *text);
/* The same with ^{} and _{} raised and lowered; for content only. */
void far_html_add_rich(far_text *t, const char *text);
void far_html_add_rich_part(far_text *t, const char *text, int64_t length);
/* Bytes as they stand in a URL behind its scheme. */
void far_html_add_percent(far_text *t, const char *text);

/* ---- parts ---- */

void far_html_table(far_text *t, int64_t number, const char *caption, const char *const *heads,
                    int64_t cols, const char *const *cells, int64_t rows);

/* Style sheet and script: nothing in them depends on the page. */
extern const char far_page_style[];
extern const char far_page_script[];

#endif
