/* A track as csv: a line of names, then the rows, each with a checksum at its end. */
#include "../data/data_internal.h"
#include "track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The last column, check, is a checksum: the first 52 bits (a whole number that a double holds) of
 * the SHA-256 of the line before the comma and of the 64 digits of the line above, which began with
 * the line of names. So each line vouches for itself and all lines above it, and what reads columns
 * of numbers reads this one too.
 */
#define CHECK "check"
#define CHECK_DIGITS 13

typedef struct chain {
    char digits[FAR_HASH_TEXT]; /* of the line above; "" before the first */
} chain;

static uint64_t chain_add(chain *c, const char *line, int64_t length)
{
    far_sha256 h;
    char first[CHECK_DIGITS + 1];
    far_sha256_init(&h);
    far_sha256_add(&h, line, (size_t)length);
    far_sha256_add(&h, c->digits, strlen(c->digits));
    far_sha256_finish(&h, c->digits);
    memcpy(first, c->digits, CHECK_DIGITS);
    first[CHECK_DIGITS] = '\0';
    return strtoull(first, NULL, 16);
}

/* ---- out ---- */

static void add_names(const far_track *t, far_text *text)
{
    for (int64_t j = 0; j < t->columns; j++) {
        far_text_add(text, "%s%s", j > 0 ? "," : "", t->names[j]);
    }
}

/* A number that does not exist is an empty field. */
static void add_row(const far_track *t, int64_t i, far_text *text)
{
    const double *row = t->table + i * t->columns;
    for (int64_t j = 0; j < t->columns; j++) {
        far_text_add(text, "%s", j > 0 ? "," : "");
        if (isfinite(row[j])) {
            far_text_add_number(text, row[j]);
        }
    }
}

static void add_rows(const far_track *t, far_text *text)
{
    chain c = {0};
    add_names(t, text);
    if (text->status == FAR_OK) {
        chain_add(&c, text->data, text->length);
    }
    far_text_add(text, "," CHECK "\n");
    for (int64_t i = 0; i < t->rows && text->status == FAR_OK; i++) {
        int64_t start = text->length;
        add_row(t, i, text);
        if (text->status == FAR_OK) {
            uint64_t check = chain_add(&c, text->data + start, text->length - start);
            far_text_add(text, ",%llu\n", (unsigned long long)check);
        }
    }
}

far_status far_track_save(far_ctx *ctx, const far_track *track, const char *path)
{
    far_text text = {.ctx = ctx};
    far_status st;
    add_rows(track, &text);
    FAR_TRY(text.status);
    FAR_TRY(far_output_save_text(ctx, path, text.data));
done:
    far_free(ctx, text.data);
    return st;
}

/* ---- in ---- */

typedef struct reader {
    far_track *track;
    const far_input *in;
    const char *at;
    int64_t line;
    bool sealed; /* with checks; files of older programs have none */
    chain chain;
} reader;

static far_status fail_damaged(const reader *r)
{
    return far_input_fail(r->in, FAR_ERR_FORMAT,
                          "line %lld does not match its checksum: the file is damaged, or was "
                          "edited; take another file, or remove it",
                          (long long)r->line);
}

/* Behind the names: the end of the line, or the name of the checks and that. */
static bool names_end(reader *r)
{
    static const char end[] = "," CHECK "\n";
    r->sealed = strncmp(r->at, end, sizeof end - 1) == 0;
    bool ends = r->sealed || *r->at == '\n';
    r->at += r->sealed ? sizeof end - 1 : 1;
    return ends;
}

static far_status check_names(reader *r)
{
    far_text wanted = {.ctx = r->track->ctx};
    far_status st;
    add_names(r->track, &wanted);
    FAR_TRY(wanted.status);
    bool same = strncmp(r->at, wanted.data, (size_t)wanted.length) == 0;
    r->at += same ? wanted.length : 0;
    if (!same || !names_end(r)) {
        st = far_input_fail(r->in, FAR_ERR_FORMAT,
                            "is the track of another run: its columns are others than %.*s; "
                            "take another file, or remove it",
                            (int)wanted.length, wanted.data);
    }
    chain_add(&r->chain, wanted.data, wanted.length);
    r->line = 1;
done:
    far_free(r->track->ctx, wanted.data);
    return st;
}

/* One field and the comma or line behind it; empty: NAN. */
static bool read_field(reader *r, char behind, double *out)
{
    *out = NAN;
    if (*r->at != ',' && *r->at != '\n') {
        r->at = far_number_parse(r->at, out);
    }
    if (!r->at || *r->at != behind) {
        return false;
    }
    r->at++;
    return true;
}

/* The number at the end of the line, digit by digit as it was written. */
static bool check_holds(reader *r, const char *start)
{
    char wanted[32];
    uint64_t check = chain_add(&r->chain, start, r->at - 1 - start);
    int length = snprintf(wanted, sizeof wanted, "%llu\n", (unsigned long long)check);
    bool holds = strncmp(r->at, wanted, (size_t)length) == 0;
    r->at += holds ? length : 0;
    return holds;
}

static far_status read_row(reader *r, double *row)
{
    int64_t columns = r->track->columns;
    const char *start = r->at;
    r->line++;
    for (int64_t j = 0; j < columns; j++) {
        bool last = j + 1 == columns && !r->sealed;
        if (!read_field(r, last ? '\n' : ',', &row[j])) {
            return r->sealed ? fail_damaged(r)
                             : far_input_fail(r->in, FAR_ERR_FORMAT, "line %lld: not %lld numbers",
                                              (long long)r->line, (long long)columns);
        }
    }
    if (r->sealed && !check_holds(r, start)) {
        return fail_damaged(r);
    }
    if (!(row[FAR_TRACK_STEP] >= 0) || !isfinite(row[FAR_TRACK_LOSS])) {
        return far_input_fail(r->in, FAR_ERR_FORMAT, "line %lld: no step, or no loss",
                              (long long)r->line);
    }
    return FAR_OK;
}

/* The end of an earlier run is no row of a longer one. */
static bool is_regular(const far_track *t, const double *row)
{
    return fmod(row[FAR_TRACK_STEP], (double)t->every) == 0;
}

static far_status read_rows(reader *r)
{
    far_status st = FAR_OK;
    far_track *t = r->track;
    const char *end = (const char *)r->in->data + r->in->size;
    while (r->at < end) {
        FAR_TRY(read_row(r, t->row));
        if (is_regular(t, t->row)) {
            FAR_TRY(far_track_append(t, t->row));
        }
    }
done:
    return st;
}

far_status far_track_load(far_ctx *ctx, far_track *track, const char *path)
{
    far_input in = {0};
    far_status st;
    far_files_hold(ctx); /* it is read to be updated */
    st = far_input_load(ctx, path, &in);
    far_files_release(ctx);
    FAR_TRY(st);
    reader r = {.track = track, .in = &in, .at = (const char *)in.data};
    track->rows = 0;
    FAR_TRY(check_names(&r));
    FAR_TRY(read_rows(&r));
done:
    far_input_clear(&in);
    return st;
}
