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

typedef struct list {
    far_ctx *ctx;
    const far_frame *frame;
    const char *p;       /* what is left of it */
    char *name;          /* the one being read */
    unsigned char *used; /* per column */
    int64_t *cols, count;
} list;

static far_status fail_list(const list *l, const char *what)
{
    return far_fail(l->ctx, FAR_ERR_ARG, "name %lld of the list %s", (long long)l->count + 1, what);
}

static void skip_blanks(list *l)
{
    l->p += strspn(l->p, " \t");
}

/* A name in quotes, "" in them for one quote. */
static far_status take_quoted(list *l)
{
    char *out = l->name;
    for (l->p++; *l->p; l->p++) {
        if (*l->p == '"' && *++l->p != '"') {
            *out = 0;
            skip_blanks(l);
            return *l->p && *l->p != ',' ? fail_list(l, "goes on behind its closing quote")
                                         : FAR_OK;
        }
        *out++ = *l->p;
    }
    return fail_list(l, "has no closing quote");
}

static far_status take_plain(list *l)
{
    size_t length = strcspn(l->p, ",");
    const char *first = l->p;
    l->p += length;
    while (length > 0 && (first[length - 1] == ' ' || first[length - 1] == '\t')) {
        length--;
    }
    memcpy(l->name, first, length);
    l->name[length] = 0;
    return length > 0 ? FAR_OK : fail_list(l, "is empty");
}

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
    do {
        skip_blanks(l);
        FAR_TRY(*l->p == '"' ? take_quoted(l) : take_plain(l));
        FAR_TRY(use_name(l));
        more = *l->p == ',';
        l->p += more;
    } while (more);
done:
    return st;
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
    FAR_TRY(read_list(&l));
    memcpy(cols, l.cols, (size_t)l.count * sizeof *cols);
    *count = l.count;
done:
    far_free(ctx, l.name);
    far_free(ctx, l.used);
    far_free(ctx, l.cols);
    return st;
}
