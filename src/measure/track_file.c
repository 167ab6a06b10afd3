/* A track as csv: a line of names, then the rows. */
#include "../data/data_internal.h"
#include "track.h"

#include <math.h>
#include <string.h>

/* ---- out ---- */

static void add_names(const far_track *t, far_text *text)
{
    for (int64_t j = 0; j < t->columns; j++) {
        far_text_add(text, "%s%s", j > 0 ? "," : "", t->names[j]);
    }
    far_text_add(text, "\n");
}

static void add_row(const far_track *t, int64_t i, far_text *text)
{
    const double *row = t->table + i * t->columns;
    for (int64_t j = 0; j < t->columns; j++) {
        far_text_add(text, "%s", j > 0 ? "," : "");
        if (!isnan(row[j])) {
            far_text_add_number(text, row[j]);
        }
    }
    far_text_add(text, "\n");
}

static far_status write_file(const far_track *t, const far_text *text, const char *path)
{
    far_output o = {.fd = -1};
    far_status st;
    FAR_TRY(far_output_open(t->ctx, path, false, &o));
    FAR_TRY(far_output_put(&o, text->data, (size_t)text->length));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return far_label_failure(t->ctx, st, o.label);
}

far_status far_track_save(far_ctx *ctx, const far_track *track, const char *path)
{
    far_text text = {.ctx = ctx};
    far_status st;
    add_names(track, &text);
    for (int64_t i = 0; i < track->rows; i++) {
        add_row(track, i, &text);
    }
    FAR_TRY(text.status);
    FAR_TRY(write_file(track, &text, path));
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
} reader;

static far_status check_names(reader *r)
{
    far_text wanted = {.ctx = r->track->ctx};
    far_status st;
    add_names(r->track, &wanted);
    FAR_TRY(wanted.status);
    if (strncmp(r->at, wanted.data, (size_t)wanted.length) != 0) {
        st = far_input_fail(r->in, FAR_ERR_FORMAT,
                            "is the track of another run: its columns are others than %.*s; "
                            "take another file, or remove it",
                            (int)wanted.length - 1, wanted.data);
    }
    r->at += wanted.length;
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

static far_status read_row(reader *r, double *row)
{
    int64_t columns = r->track->columns;
    r->line++;
    for (int64_t j = 0; j < columns; j++) {
        if (!read_field(r, j + 1 < columns ? ',' : '\n', &row[j])) {
            return far_input_fail(r->in, FAR_ERR_FORMAT, "line %lld: not %lld numbers",
                                  (long long)r->line, (long long)columns);
        }
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
    while (*r->at) {
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
    FAR_TRY(far_input_load(ctx, path, &in));
    reader r = {.track = track, .in = &in, .at = (const char *)in.data};
    track->rows = 0;
    FAR_TRY(check_names(&r));
    FAR_TRY(read_rows(&r));
done:
    far_input_clear(&in);
    return st;
}
