/* Shared inside src/data: what a frame is made of, and the steps that make one. */
#ifndef FAR_FRAME_INTERNAL_H
#define FAR_FRAME_INTERNAL_H

#include "data_internal.h"

#include <farfield/frame.h>

/* ---- a set of texts, numbered in the order they came ---- */

/* Zero-initialise with its context; clear when done. */
typedef struct far_words {
    far_ctx *ctx;
    char *text; /* each with its closing zero */
    int64_t used, capacity;
    int64_t *starts; /* count of them, in text */
    int64_t count, starts_room;
    int32_t *slots; /* hash table: 1 + number, 0 where free */
    int64_t slot_count;
} far_words;

/* Room for a text of so many bytes (and its closing zero), to be written there and then looked up
 * or added. It is good until the next call. */
far_status far_words_room(far_words *w, int64_t bytes, char **out);
/* The number of the text of length bytes in the room; a new one if it was not there. */
far_status far_words_add_room(far_words *w, int64_t length, int32_t *out);
far_status far_words_add(far_words *w, const char *text, int32_t *out);
/* The number of a text, -1 if it is not there. */
int64_t far_words_find(const far_words *w, const char *text);
const char *far_words_text(const far_words *w, int64_t i);
/* The numbers in byte order of their texts. The caller frees. */
far_status far_words_order(const far_words *w, int32_t **out);
void far_words_clear(far_words *w);

/* ---- the frame ---- */

typedef struct far_column {
    far_column_kind kind;
    double *numbers; /* NULL for words */
    int32_t *codes;  /* NULL for numbers */
    int64_t missing;
    int64_t first_level, level_count;
} far_column;

/* A matrix of an npz: its name stands for all its columns. */
typedef struct far_column_group {
    int64_t first, count;
} far_column_group;

struct far_frame {
    far_ctx *ctx;
    char label[FAR_LABEL_BYTES]; /* the file, "" if there was none */
    int64_t rows, cols;
    far_column *columns;
    double *block;      /* what the columns lie in */
    far_words names;    /* number j is the name of column j */
    const char **name;  /* the same as pointers */
    far_words words;    /* of all word columns; no slots once finished */
    const char **level; /* levels of each word column, one column after the other */
    far_words group_names;
    far_column_group *groups;
};

/* A frame with that many columns, which have no names, kinds or values yet. */
FAR_SHARED far_status far_frame_create(far_ctx *ctx, const char *label, int64_t cols,
                                       far_frame **out);
/* Names the next column: cN if the name is empty. */
FAR_SHARED far_status far_frame_add_name(far_frame *f, const char *name);
/* Takes f when rows, names, kinds and values are there (codes still numbers in words): makes the
 * levels, counts what is missing, checks that the rest is finite. f is destroyed on failure. */
FAR_SHARED far_status far_frame_finish(far_frame *f, far_frame **out);
/* The part of it that makes the levels. */
far_status far_frame_make_levels(far_frame *f);
/* The message starts with the frame's label. */
__attribute__((format(printf, 4, 5))) far_status
far_frame_fail(far_ctx *ctx, const far_frame *f, far_status status, const char *format, ...);
/* Whether col is a column of the frame. */
bool far_frame_has(const far_frame *f, int64_t col);
/* The first row of a word column that is not missing and no number; -1: none. */
int64_t far_frame_first_word(const far_frame *f, int64_t col);
/* After "there is no column 'x'": the nearest name, and all of them if they are few. */
void far_frame_hint(const far_frame *f, const char *name, char *out, size_t capacity);

/* What people write for a value they do not have: nothing, NA, null and the like. */
bool far_is_missing(const char *text, int64_t length);

FAR_SHARED far_status far_frame_read_csv(far_input *in, far_frame **out);
/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_frame_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_frame **out);

#endif
