/* Tables of results as csv. */
#include "result_internal.h"

#include <math.h>
#include <string.h>

static bool needs_quotes(const char *text)
{
    return !*text || strpbrk(text, ",\"\r\n") || *text == ' ' || text[strlen(text) - 1] == ' ';
}

static void add_text(far_text *t, const char *text)
{
    if (!needs_quotes(text)) {
        far_text_add(t, "%s", text);
        return;
    }
    far_text_add(t, "\"");
    for (; *text; text++) {
        far_text_add(t, *text == '"' ? "\"\"" : "%c", *text);
    }
    far_text_add(t, "\"");
}

static void add_cell(far_text *t, const far_value *v, bool alone)
{
    if (v->kind == FAR_VALUE_TEXT) {
        add_text(t, v->text);
    } else if (v->kind == FAR_VALUE_FLAG) {
        far_text_add(t, "%d", (int)v->count);
    } else if (v->kind == FAR_VALUE_NUMBER && !isnan(v->number)) {
        far_text_add_exact(t, v->number);
    } else {
        far_text_add(t, alone ? "\"\"" : ""); /* not an empty line */
    }
}

/* row -1: the keys. */
static void add_row(far_text *t, const far_piece *p, int64_t row, int64_t cols)
{
    bool first = true;
    for (int64_t j = 0; j < p->cols; j++) {
        if (p->keys[j]) {
            far_text_add(t, first ? "" : ",");
            first = false;
            if (row < 0) {
                add_text(t, p->keys[j]);
            } else {
                add_cell(t, &p->cells[row * p->cols + j], cols == 1);
            }
        }
    }
    far_text_add(t, "\n");
}

static const far_piece *find_table(const far_result *r, int64_t i)
{
    for (int64_t k = 0; i >= 0 && k < r->count; k++) {
        if (r->pieces[k].kind == FAR_PIECE_TABLE && i-- == 0) {
            return &r->pieces[k];
        }
    }
    return NULL;
}

far_status far_result_csv(far_ctx *ctx, const far_result *r, int64_t i, char **out)
{
    far_text t = {.ctx = ctx};
    int64_t cols = 0;
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_status st = far_result_ready(ctx, r);
    const far_piece *p = st == FAR_OK ? find_table(r, i) : NULL;
    for (int64_t j = 0; p && j < p->cols; j++) {
        cols += p->keys[j] != NULL;
    }
    if (st == FAR_OK && cols == 0) {
        return far_fail(ctx, FAR_ERR_ARG, p ? "table %lld has no keys" : "there is no table %lld",
                        (long long)i);
    }
    for (int64_t row = -1; st == FAR_OK && row < p->cell_count / p->cols; row++) {
        add_row(&t, p, row, cols);
    }
    st = st == FAR_OK ? t.status : st;
    if (st != FAR_OK) {
        far_free(ctx, t.data);
        return st;
    }
    *out = t.data;
    return FAR_OK;
}
