#include "along.h"
#include "dataset.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what moves ----------------------------------------------------------------------------- */

/* Ranks are functions of their numbers and stand still far away: no direction has a part in them.
 */
static bool is_rank(const far_predictor *m, int64_t k)
{
    const far_columns *c = far_predictor_describe(m).columns;
    far_feature_info f = far_columns_feature(c, 0);
    for (int64_t j = 1; f.name && f.first + f.width <= k; j++) {
        f = far_columns_feature(c, j);
    }
    return f.name && f.ranked && k > f.first;
}

static int64_t count_moving(const far_predictor *m)
{
    int64_t count = 0;
    for (int64_t i = 0; i < subject_inputs(m); i++) {
        count += !is_rank(m, i);
    }
    return count;
}

static int refuse_rank(session *s, const far_predictor *m, const along *a, int64_t k)
{
    return failure(s->verb,
                   "--along %s: %s stands still far away; a direction has 0 there, or "
                   "leaves it out",
                   a->label, subject_input(m, k));
}

/* ---- a list -------------------------------------------------------------------------------- */

/* Reads at most room numbers into out (which may be NULL); how many there are, or -1. */
static int64_t read_list(const char *text, double *out, int64_t room)
{
    for (int64_t count = 0;;) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || !isfinite(value)) {
            return -1;
        }
        if (out && count < room) {
            out[count] = value;
        }
        count++;
        end += strspn(end, " ");
        if (*end != ',') {
            return *end ? -1 : count;
        }
        text = end + 1;
    }
}

bool along_is_list(const char *text)
{
    return read_list(text, NULL, 0) > 0;
}

/* From the numbers for the inputs that move to all inputs, from the last one back. */
static void spread_out(const far_predictor *m, double *direction, int64_t moving)
{
    for (int64_t i = subject_inputs(m) - 1; i >= 0; i--) {
        direction[i] = is_rank(m, i) ? 0 : direction[--moving];
    }
}

static int take_list(session *s, const far_predictor *m, along *a)
{
    int64_t inputs = subject_inputs(m), moving = count_moving(m);
    int64_t count = read_list(a->label, NULL, 0);
    if (count != inputs && count != moving) {
        return failure(s->verb, "--along %s: %lld number%s for a model of %lld input%s (%s%s)",
                       a->label, (long long)count, count == 1 ? "" : "s", (long long)moving,
                       moving == 1 ? "" : "s", subject_input(m, 0), moving > 1 ? ", ..." : "");
    }
    int code = matrix_alloc(s->verb, 1, inputs, FAR_F64, &a->direction);
    double *direction = a->direction.data;
    if (code == EXIT_DONE) {
        read_list(a->label, direction, inputs);
    }
    if (code == EXIT_DONE && count < inputs) {
        spread_out(m, direction, moving);
    }
    for (int64_t i = 0; code == EXIT_DONE && i < inputs; i++) {
        code = direction[i] != 0 && is_rank(m, i) ? refuse_rank(s, m, a, i) : EXIT_DONE;
    }
    return code;
}

/* ---- a table ------------------------------------------------------------------------------- */

static bool has_header(const far_frame *f)
{
    for (int64_t j = 0; j < far_frame_cols(f); j++) {
        char name[32];
        snprintf(name, sizeof name, "c%lld", (long long)j + 1);
        if (strcmp(far_frame_column(f, j).name, name) != 0) {
            return true;
        }
    }
    return false;
}

/* The column of the table that holds input i, which is the place-th of those that move. */
static int find_column(session *s, const far_predictor *m, const dataset *d, int64_t i,
                       int64_t place, int64_t *col)
{
    if (!has_header(d->frame) && far_frame_cols(d->frame) == count_moving(m)) {
        *col = place;
    } else if (far_frame_find(s->ctx, d->frame, subject_input(m, i), col) != FAR_OK) {
        return session_failure(s, d->label);
    }
    if (far_frame_column(d->frame, *col).kind != FAR_COLUMN_NUMBER) {
        return failure(s->verb, "%s: column %s holds words, not the components of directions",
                       d->label, far_frame_column(d->frame, *col).name);
    }
    return EXIT_DONE;
}

static int take_column(session *s, const dataset *d, int64_t col, int64_t i, along *a)
{
    const double *values = far_frame_column(d->frame, col).numbers;
    double *to = a->direction.data;
    for (int64_t k = 0; k < d->count; k++) {
        if (isnan(values[k])) {
            return failure(s->verb, "%s: row %lld, column %s has no value; a direction needs all",
                           d->label, (long long)k + 1, far_frame_column(d->frame, col).name);
        }
        to[k * a->direction.ld + i] = values[k];
    }
    return EXIT_DONE;
}

static int take_table(session *s, const far_predictor *m, along *a)
{
    dataset d = {.arch = far_predictor_describe(m).arch};
    int64_t inputs = subject_inputs(m), col;
    int code = dataset_read(s->verb, s->ctx, a->label, NULL, NULL, &d);
    if (code == EXIT_DONE) {
        code = matrix_alloc(s->verb, d.count, inputs, FAR_F64, &a->direction);
    }
    for (int64_t i = 0, place = 0; i < inputs && code == EXIT_DONE; i++) {
        if (is_rank(m, i)) {
            continue; /* 0 as it is */
        }
        code = find_column(s, m, &d, i, place++, &col);
        if (code == EXIT_DONE) {
            code = take_column(s, &d, col, i, a);
        }
    }
    dataset_free(&d);
    return code;
}

/* ---- limits -------------------------------------------------------------------------------- */

/* The library calls directions u; the user knows them by what was given. */
static int limit_failure(session *s, const along *a)
{
    const char *message = far_ctx_message(s->ctx);
    return failure(s->verb, "--along %s: %s", a->label,
                   strncmp(message, "u: ", 3) == 0 ? message + 3 : message);
}

double along_order(const along *a, int64_t i, int64_t k)
{
    return mat_get(&a->order, i, k);
}

static int find_limits(session *s, const far_predictor *m, along *a)
{
    int64_t rows = a->direction.rows, outputs = subject_outputs(m);
    int code = matrix_alloc(s->verb, rows, outputs, FAR_F64, &a->mean);
    if (code == EXIT_DONE) {
        code = matrix_alloc(s->verb, rows, outputs, FAR_F64, &a->order);
    }
    if (code == EXIT_DONE &&
        far_predictor_limit(s->ctx, m, &a->direction, &a->mean, &a->order) != FAR_OK) {
        code = limit_failure(s, a);
    }
    return code;
}

int along_eval(session *s, const far_predictor *m, const char *text, along *out)
{
    out->label = text;
    out->inlined = along_is_list(text);
    int code = out->inlined ? take_list(s, m, out) : take_table(s, m, out);
    return code == EXIT_DONE ? find_limits(s, m, out) : code;
}

void along_free(along *a)
{
    free(a->direction.data);
    free(a->mean.data);
    free(a->order.data);
    *a = (along){0};
}
