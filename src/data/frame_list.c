/* Columns by name: one, or a list such as "F1,F3,feat". */
#include "frame_internal.h"

#include <string.h>

#define MAX_LISTED 12 /* columns in a message */

/* ---- what to say of a name that is not there ---- */

void far_frame_hint(const far_frame *f, const char *name, char *out, size_t capacity)
{
    char shown[64];
    size_t used = 0;
    const char *near = far_nearest_name(name, f->name, f->cols);
    out[0] = 0;
    if (near) {
        far_show(shown, sizeof shown, near, (int64_t)strlen(near));
        used = (size_t)snprintf(out, capacity, "; did you mean '%s'?", shown);
    }
    for (int64_t j = 0; j < f->cols && f->cols <= MAX_LISTED && used < capacity; j++) {
        const char *before = j > 0 ? ", " : near ? " The columns are " : "; the columns are ";
        far_show(shown, sizeof shown, f->name[j], (int64_t)strlen(f->name[j]));
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", before, shown);
    }
}

static far_status fail_group(far_ctx *ctx, const far_frame *f, const char *name, int64_t group)
{
    const far_column_group *g = &f->groups[group];
    char shown[64], first[64], last[64];
    far_show(shown, sizeof shown, name, (int64_t)strlen(name));
    far_show(first, sizeof first, f->name[g->first], (int64_t)strlen(f->name[g->first]));
    const char *end = f->name[g->first + g->count - 1];
    far_show(last, sizeof last, end, (int64_t)strlen(end));
    return far_frame_fail(ctx, f, FAR_ERR_ARG, "'%s' is %lld columns, %s to %s; name one of them",
                          shown, (long long)g->count, first, last);
}

static far_status fail_name(far_ctx *ctx, const far_frame *f, const char *name)
{
    char shown[64], hint[900];
    far_show(shown, sizeof shown, name, (int64_t)strlen(name));
    far_frame_hint(f, name, hint, sizeof hint);
    return far_frame_fail(ctx, f, FAR_ERR_ARG, "there is no column '%s'%s", shown, hint);
}

far_status far_frame_find(far_ctx *ctx, const far_frame *frame, const char *name, int64_t *col)
{
    if (!frame || !name || !col) {
        return far_fail(ctx, FAR_ERR_ARG, "frame, name or col is NULL");
    }
    int64_t at = far_words_find(&frame->names, name);
    if (at < 0) {
        int64_t group = far_words_find(&frame->group_names, name);
        return group >= 0 ? fail_group(ctx, frame, name, group) : fail_name(ctx, frame, name);
    }
    *col = at;
    return FAR_OK;
}

/* ---- lists ---- */

static far_status fail_list(far_ctx *ctx, int64_t number, const char *what)
{
    return far_fail(ctx, FAR_ERR_ARG, "name %lld of the list %s", (long long)number, what);
}

/* Past a name in quotes or, as in conditions, in backquotes; doubled in them they stand for one. */
static const char *take_quoted(const char **p, char *out)
{
    char quote = **p;
    for (++*p; **p; ++*p) {
        if (**p == quote && *++*p != quote) {
            *out = 0;
            *p += strspn(*p, " \t");
            return **p && **p != ',' ? "goes on behind its closing quote" : NULL;
        }
        *out++ = **p;
    }
    return "has no closing quote";
}

static const char *take_plain(const char **p, char *out)
{
    size_t length = strcspn(*p, ",");
    const char *first = *p;
    *p += length;
    while (length > 0 && (first[length - 1] == ' ' || first[length - 1] == '\t')) {
        length--;
    }
    memcpy(out, first, length);
    out[length] = 0;
    return length > 0 ? NULL : "is empty";
}

far_status far_list_take(far_ctx *ctx, const char **p, int64_t number, char *out, bool *more)
{
    *p += strspn(*p, " \t");
    const char *wrong = **p == '"' || **p == '`' ? take_quoted(p, out) : take_plain(p, out);
    *more = **p == ',';
    *p += *more;
    return wrong ? fail_list(ctx, number, wrong) : FAR_OK;
}

typedef struct list {
    far_ctx *ctx;
    const far_frame *frame;
    const char *p;       /* what is left of it */
    char *name;          /* the one being read */
    unsigned char *used; /* per column */
    int64_t *cols, count;
} list;

static far_status use_column(list *l, int64_t col)
{
    if (l->used[col]) {
        char shown[64];
        const char *name = l->frame->name[col];
        far_show(shown, sizeof shown, name, (int64_t)strlen(name));
        return far_fail(l->ctx, FAR_ERR_ARG, "column '%s' is listed twice", shown);
    }
    l->used[col] = 1;
    l->cols[l->count++] = col;
    return FAR_OK;
}

/* The column of that name, or all of a matrix. */
static far_status use_name(list *l)
{
    int64_t col = 0;
    int64_t group = far_words_find(&l->frame->group_names, l->name);
    if (group < 0) {
        far_status st = far_frame_find(l->ctx, l->frame, l->name, &col);
        return st == FAR_OK ? use_column(l, col) : st;
    }
    far_status st = FAR_OK;
    const far_column_group *g = &l->frame->groups[group];
    for (int64_t j = 0; st == FAR_OK && j < g->count; j++) {
        st = use_column(l, g->first + j);
    }
    return st;
}

static far_status read_list(list *l)
{
    far_status st;
    bool more;
    int64_t number = 0;
    do {
        FAR_TRY(far_list_take(l->ctx, &l->p, ++number, l->name, &more));
        FAR_TRY(use_name(l));
    } while (more);
done:
    return st;
}

/* What read_list said, unless the whole text is a name. */
static far_status fail_comma(const list *l, far_status st, const char *text)
{
    char shown[64];
    if (far_words_find(&l->frame->names, text) < 0) {
        return st;
    }
    far_show(shown, sizeof shown, text, (int64_t)strlen(text));
    return far_frame_fail(l->ctx, l->frame, FAR_ERR_ARG,
                          "column '%s' has a comma or a quote in its name; put it in backquotes",
                          shown);
}

far_status far_frame_list(far_ctx *ctx, const far_frame *frame, const char *text, int64_t *cols,
                          int64_t *count)
{
    if (!ctx || !frame || !text || !cols || !count) {
        return far_fail(ctx, FAR_ERR_ARG, "frame, list, cols or count is NULL");
    }
    far_status st;
    list l = {.ctx = ctx, .frame = frame, .p = text};
    FAR_TRY(far_alloc(ctx, (int64_t)strlen(text) + 1, &l.name));
    FAR_TRY(far_alloc(ctx, frame->cols, &l.used));
    FAR_TRY(far_alloc(ctx, frame->cols, &l.cols));
    st = read_list(&l);
    FAR_TRY(st == FAR_OK ? st : fail_comma(&l, st, text));
    memcpy(cols, l.cols, (size_t)l.count * sizeof *cols);
    *count = l.count;
done:
    FAR_FREE_ALL(ctx, l.name, l.used, l.cols);
    return st;
}
