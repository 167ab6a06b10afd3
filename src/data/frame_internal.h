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
FAR_SHARED far_status far_words_room(far_words *w, int64_t bytes, char **out);
/* The number of the text of length bytes in the room; a new one if it was not there. */
FAR_SHARED far_status far_words_add_room(far_words *w, int64_t length, int32_t *out);
FAR_SHARED far_status far_words_add(far_words *w, const char *text, int32_t *out);
/* The number of a text, -1 if it is not there. */
int64_t far_words_find(const far_words *w, const char *text);
FAR_SHARED const char *far_words_text(const far_words *w, int64_t i);
/* The numbers in byte order of their texts. The caller frees. */
FAR_SHARED far_status far_words_order(const far_words *w, int32_t **out);
FAR_SHARED void far_words_clear(far_words *w);

/* ---- how a cell writes a number ---- */

typedef enum far_notation {
    FAR_NOTATION_NUMBER,    /* 1.5 */
    FAR_NOTATION_COMMA,     /* 1,5 or 1.234,5 */
    FAR_NOTATION_THOUSANDS, /* 1,234.5 */
    FAR_NOTATION_YMD,       /* dates: 2020-01-31, and with the month's name; */
    FAR_NOTATION_DMY,       /* those, and 31/01/2020; */
    FAR_NOTATION_MDY        /* or 01/31/2020 */
} far_notation;
#define FAR_NOTATIONS 6

/* What a number may be marked with: nothing, %, $ and others. */
#define FAR_MARKS 6
extern const char *const far_marks[FAR_MARKS];

bool far_notation_is_date(far_notation form);
/* The value of a text in a form (of dates: days since 1970-01-01, UTC), NAN if it has none. */
double far_notation_value(const char *text, far_notation form, int mark);
/* All forms it has, as bits 1 << form, and its mark. */
unsigned far_notations_of(const char *text, int *mark);
/* "a percentage"; NULL: a word. */
const char *far_notation_looks(const char *text);
double far_date_parse(const char *text, far_notation order);

/* ---- the frame ---- */

typedef struct far_column {
    far_column_kind kind;
    double *numbers; /* NULL for words */
    int32_t *codes;  /* NULL for numbers */
    int64_t missing;
    int64_t first_level, level_count;
    far_notation notation; /* how its numbers were written, or most of its words are */
    int mark;
    bool categorical; /* words because they were asked for */
    bool written;     /* words that may be numbers or dates, though the table was no text */
    bool doubtful;    /* words that are numbers or dates, but there are two ways to read them */
    int64_t odd;      /* words: most of present cells are numbers or dates, these are not; or 0 */
    int64_t present, first_odd; /* its row */
} far_column;

/* How a table is read: far_frame_opts, with its lists taken apart. */
typedef struct far_reading {
    char separator;          /* 0: found */
    far_words missing;       /* words for it */
    const char *categorical; /* a list; may be NULL */
} far_reading;

/* A matrix of an npz: its name stands for all its columns. */
typedef struct far_column_group {
    int64_t first, count;
} far_column_group;

struct far_frame {
    far_ctx *ctx;
    char label[FAR_LABEL_BYTES]; /* the file, "" if there was none */
    char separator;              /* of its text; 0: it was none */
    int64_t rows, cols;
    far_column *columns;
    double *block;      /* what the columns lie in */
    far_words names;    /* number j is the name of column j */
    const char **name;  /* the same as pointers */
    far_words words;    /* of all word columns; no slots once finished */
    const char **level; /* levels of each word column, one column after the other */
    far_words group_names;
    far_column_group *groups;
    int64_t pixels; /* of a folder of pictures: so many first columns are inputs, those behind tell
                       about them; 0: a table */
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
/* Word columns of a text whose cells are all numbers or dates in other forms become numbers; of
 * those that mostly are the others are counted. Levels are made, missing values not counted. */
far_status far_column_settle(const far_frame *f, far_column *c, char separator);
/* The names are all there: f->name. */
void far_frame_names_done(far_frame *f);
/* Numbers that stand for missing values become that. */
void far_frame_drop_missing(far_frame *f, const far_reading *how);
/* A name of a list at *p into out (room for all of *p), moving past its comma; *more: there was
 * one. number: which it is, from 1, for messages. */
far_status far_list_take(far_ctx *ctx, const char **p, int64_t number, char *out, bool *more);
/* The message starts with the frame's label. */
__attribute__((format(printf, 4, 5))) far_status
far_frame_fail(far_ctx *ctx, const far_frame *f, far_status status, const char *format, ...);
/* Level i of a word column; NULL: there is none. */
const char *far_frame_level(const far_frame *frame, int64_t col, int64_t i);
/* How many first columns may be inputs. */
static inline int64_t far_frame_inputs(const far_frame *f)
{
    return f->pixels > 0 ? f->pixels : f->cols;
}
/* Whether col is a column of the frame. */
bool far_frame_has(const far_frame *f, int64_t col);
/* The first row of a word column that is not missing and no number; -1: none. */
int64_t far_frame_first_word(const far_frame *f, int64_t col);
/* After "there is no column 'x'": the nearest name, and all of them if they are few. */
void far_frame_hint(const far_frame *f, const char *name, char *out, size_t capacity);

/* What people write for a value they do not have: nothing, NA, null and the like, and what they say
 * it is (how may be NULL). */
bool far_is_missing(const far_reading *how, const char *text, int64_t length);

FAR_SHARED far_status far_frame_read_csv(far_input *in, const far_reading *how, far_frame **out);
/* Reads a file's content from memory; label stands for the path in messages. */
far_status far_frame_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_frame **out);

#endif
