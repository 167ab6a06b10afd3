/*
 * A report as one HTML file that needs nothing else: no network, no other file.
 *
 * It opens with the verdict in words; then tables, pictures and texts in the order of the calls;
 * then how to reproduce it: command, version, seeds. Every picture has its data as csv behind
 * a link. A small script shows values under the pointer, sorts tables by a click on a head, copies
 * commands and changes between light and dark; without it the page is whole.
 *
 * Texts are UTF-8 and everything in them is escaped; ^{...} and _{...} raise and lower, as in
 * figures, but not in facts. The same calls give the same bytes. A call that fails leaves the page
 * as it was.
 */
#ifndef FAR_PAGE_H
#define FAR_PAGE_H

#include <farfield/result.h>

typedef struct far_page far_page; /* opaque */

/* FAR_ERR_ARG, here and below: a text that must be there is NULL. */
FAR_NODISCARD far_status far_page_create(far_ctx *ctx, const char *title, far_page **out);
void far_page_destroy(far_page *page); /* NULL is fine */

/* One sentence or two under the title; several calls are several lines. */
FAR_NODISCARD far_status far_page_verdict(far_ctx *ctx, far_page *page, far_tone tone,
                                          const char *text);
FAR_NODISCARD far_status far_page_heading(far_ctx *ctx, far_page *page, const char *text);
FAR_NODISCARD far_status far_page_text(far_ctx *ctx, far_page *page, const char *text);
/* cells: rows * cols texts, row by row; NULL is an empty cell. Columns whose every cell is a number
 * (a unit or "+- 0.1" may follow), empty or "-" stand at the right. The first column names the
 * rows. caption may be NULL. FAR_ERR_SHAPE: no columns, or rows is negative. */
FAR_NODISCARD far_status far_page_table(far_ctx *ctx, far_page *page, const char *caption,
                                        const char *const *heads, int64_t cols,
                                        const char *const *cells, int64_t rows);
/* name: of the csv that its link offers ("fig1.csv"). caption may be NULL. The figure is drawn now;
 * what it gets later does not show. Errors of far_figure_svg. */
FAR_NODISCARD far_status far_page_figure(far_ctx *ctx, far_page *page, const far_figure *figure,
                                         const char *name, const char *caption);
/* rows pairs of a name and what there is to say of it, in place. */
FAR_NODISCARD far_status far_page_facts(far_ctx *ctx, far_page *page, const char *const *cells,
                                        int64_t rows);
/* A line of the table at the end: "command", "seeds", ... The value of "command" can be copied, and
 * that of any key may have several lines. The version of the library is there by itself. */
FAR_NODISCARD far_status far_page_fact(far_ctx *ctx, far_page *page, const char *key,
                                       const char *value);

/* The page as text; far_text_free it. */
FAR_NODISCARD far_status far_page_html(far_ctx *ctx, const far_page *page, char **out);
/* The same as a file, whole or not at all. */
FAR_NODISCARD far_status far_page_save(far_ctx *ctx, const far_page *page, const char *path);
#endif
