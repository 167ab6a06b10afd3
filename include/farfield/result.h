/*
 * farfield/result.h: what a command or an experiment found, said once: facts, tables, figures,
 * sentences. One result is rendered as text for a terminal, as JSON, as an HTML page and, table by
 * table, as csv.
 *
 * The pieces appear in the order of the calls. The calls that add one return nothing: after the
 * first that fails (memory, a bad argument) the others do nothing, and every renderer returns that
 * failure. All texts are copied. The same calls give the same bytes.
 *
 * JSON: one object, its names the keys of the facts. A number that is missing or infinite is null,
 * and beside it stands "KEY_reason", a text: "infinite", "minus infinite", "not defined" or what
 * far_result_missing was told. docs/reference/json.md is the description for readers.
 */
#ifndef FARFIELD_RESULT_H
#define FARFIELD_RESULT_H

#include <farfield/plot.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_tone {
    FAR_TONE_PLAIN = 0,
    FAR_TONE_GOOD = 1, /* bounded, agrees: "Good" and a check mark stand before the text */
    FAR_TONE_BAD = 2   /* runs away, does not agree: "Caution" and a warning sign */
} far_tone;

typedef struct far_result far_result; /* opaque */

/* title: of the page. ctx must outlive the result. */
FAR_API FAR_NODISCARD far_status far_result_create(far_ctx *ctx, const char *title,
                                                   far_result **out);
FAR_API void far_result_destroy(far_result *r); /* NULL is fine, here and as any result below */
/* Keeps the first status that is not FAR_OK: for what is made elsewhere, such as figures. */
FAR_API void far_result_check(far_result *r, far_status st);

/* Who sees what is added from now on. A fact without a key is not in JSON, one without a label not
 * for people, whoever is asked for. */
enum { FAR_FOR_TEXT = 1, FAR_FOR_PAGE = 2, FAR_FOR_JSON = 4, FAR_FOR_PEOPLE = 3, FAR_FOR_ALL = 7 };
FAR_API void far_result_for(far_result *r, int32_t readers);

/* ---- facts ----
 *
 * key: in JSON; NULL: not there. label: what stands before it for people, perhaps indented or
 * empty; NULL: they do not see it. words and what follows: printf's, for people; NULL: the value
 * alone. A number that is not finite shows them its reason instead of the words. */

#define FAR_WORDS(at, first) __attribute__((format(printf, at, first)))
FAR_API FAR_WORDS(5, 6) void far_result_number(far_result *r, const char *key, double value,
                                               const char *label, const char *words, ...);
FAR_API FAR_WORDS(5, 6) void far_result_count(far_result *r, const char *key, int64_t value,
                                              const char *label, const char *words, ...);
/* value NULL: null, with the reason "none". */
FAR_API FAR_WORDS(5, 6) void far_result_text(far_result *r, const char *key, const char *value,
                                             const char *label, const char *words, ...);
FAR_API FAR_WORDS(5, 6) void far_result_flag(far_result *r, const char *key, int value,
                                             const char *label, const char *words, ...);
FAR_API void far_result_missing(far_result *r, const char *key, const char *reason,
                                const char *label);
/* In JSON only: [...], [[...], ...] in as many brackets as there are dimensions (1 to 8; their
 * product is that of rows and cols), and a list of texts. */
FAR_API void far_result_list(far_result *r, const char *key, const double *values, int64_t count);
FAR_API void far_result_array(far_result *r, const char *key, const far_mat *m,
                              const int64_t *shape, int32_t dims);
FAR_API void far_result_texts(far_result *r, const char *key, const char *const *texts,
                              int64_t count);

/* In JSON only: the fields of an object that is JSON text already, such as a certificate. */
FAR_API void far_result_fields(far_result *r, const char *json);

/* What follows, up to far_result_close, stands in an object of its own in JSON; in a list of
 * objects, each opened with key NULL. People see no difference. */
FAR_API void far_result_open(far_result *r, const char *key);
FAR_API void far_result_open_list(far_result *r, const char *key);
FAR_API void far_result_close(far_result *r);

/* ---- sentences, for people ---- */

FAR_API FAR_WORDS(3, 4) void far_result_verdict(far_result *r, far_tone tone, const char *words,
                                                ...);
FAR_API void far_result_heading(far_result *r, const char *text);
/* A line with a label; label NULL: a paragraph. */
FAR_API FAR_WORDS(3, 4) void far_result_say(far_result *r, const char *label, const char *words,
                                            ...);
/* A line as it is, perhaps indented or empty: a terminal does not break it. */
FAR_API FAR_WORDS(2, 3) void far_result_line(far_result *r, const char *words, ...);
/* How to reproduce it, at the end of the page: "command", "seeds", "data". */
FAR_API FAR_WORDS(3, 4) void far_result_origin(far_result *r, const char *label, const char *words,
                                               ...);

/* ---- tables ---- */

typedef struct far_result_column {
    const char *key;    /* in JSON and csv; NULL: not there */
    const char *head;   /* for people; NULL: they do not see it */
    const char *format; /* printf's, of one double; NULL: texts, at the left */
} far_result_column;

/* Then its cells, row by row. key: in JSON, a list of an object for each row; NULL: not there.
 * caption may be NULL; it stands in the page. */
FAR_API void far_result_table(far_result *r, const char *key, const char *caption,
                              const far_result_column *columns, int64_t cols);
/* NAN: none; "-" for people, null in JSON, empty in csv. */
FAR_API void far_result_cell(far_result *r, double value);
FAR_API void far_result_cell_flag(far_result *r, int value);
FAR_API FAR_WORDS(2, 3) void far_result_cell_text(far_result *r, const char *words, ...);
/* The same of a number that people see in other words. */
FAR_API FAR_WORDS(3, 4) void far_result_cell_words(far_result *r, double value, const char *words,
                                                   ...);

/* ---- figures, in the page ---- */

/* Takes the figure, also if it fails. name: of its csv, without ending. caption may be NULL. */
FAR_API void far_result_figure(far_result *r, far_figure *figure, const char *name,
                               const char *caption);

/* ---- several results ---- */

/* Moves all pieces of from behind those of r, and destroys from, which has the same context. */
FAR_API void far_result_append(far_result *r, far_result *from);

/* ---- renderers; far_text_free the texts ---- */

typedef enum far_format {
    FAR_FORMAT_TEXT = 0, /* for a terminal */
    FAR_FORMAT_JSON = 1,
    FAR_FORMAT_HTML = 2 /* a page */
} far_format;
FAR_API FAR_NODISCARD far_status far_result_render(far_ctx *ctx, const far_result *r,
                                                   far_format format, char **out);
/* csv of the i-th table, from 0, with a line of its keys. FAR_ERR_ARG: there is none. */
FAR_API FAR_NODISCARD far_status far_result_csv(far_ctx *ctx, const far_result *r, int64_t i,
                                                char **out);
/* The page as a file, whole or not at all. */
FAR_API FAR_NODISCARD far_status far_result_save(far_ctx *ctx, const far_result *r,
                                                 const char *path);

#ifdef __cplusplus
}
#endif
#endif
