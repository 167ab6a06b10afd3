/* Measures by name. */
#include "registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int64_t far_measure_count(void)
{
    return far_measures_count;
}

const far_measure_info *far_measure_at(int64_t i)
{
    return i >= 0 && i < far_measures_count ? &far_measures[i].info : NULL;
}

const far_measure_entry *far_measure_entry_of(const far_measure *m)
{
    for (int64_t i = 0; i < far_measures_count; i++) {
        if (m->info == &far_measures[i].info) {
            return &far_measures[i];
        }
    }
    return NULL;
}

/* ---- finding ---- */

enum { NAME_MOST = 32, COUNT_MOST = 100000, SHOWN_BYTES = 256 };

static far_status unknown(far_ctx *ctx, const char *name)
{
    const char *names[64];
    for (int64_t i = 0; i < far_measures_count; i++) {
        names[i] = far_measures[i].info.name;
    }
    const char *near = far_nearest_name(name, names, far_measures_count);
    char shown[SHOWN_BYTES];
    return far_fail(ctx, FAR_ERR_ARG, "there is no measure \"%s\"%s%s%s",
                    far_printable(name, shown, sizeof shown), near ? "; did you mean \"" : "",
                    near ? near : "", near ? "\"?" : "");
}

static far_status find_entry(far_ctx *ctx, const char *text, const far_measure_entry **out)
{
    char name[NAME_MOST] = "";
    size_t length = strcspn(text, ":");
    memcpy(name, text, length < NAME_MOST ? length : NAME_MOST - 1);
    for (int64_t i = 0; i < far_measures_count; i++) {
        if (strcasecmp(name, far_measures[i].info.name) == 0) {
            *out = &far_measures[i];
            return FAR_OK;
        }
    }
    return unknown(ctx, name);
}

/* ---- arguments ---- */

static bool is_count(double value)
{
    return value >= 1 && value <= COUNT_MOST && value == nearbyint(value);
}

static bool in_range(const far_measure_entry *e, const double *v)
{
    switch (e->argument) {
    case FAR_ARGUMENT_COUNT:
        return is_count(v[0]);
    case FAR_ARGUMENT_RIDGE:
        return v[0] >= 0 && v[0] < INFINITY;
    case FAR_ARGUMENT_SIZE:
        return v[0] > 0 && v[0] < INFINITY;
    case FAR_ARGUMENT_PART:
        return v[0] > 0 && v[0] < 1;
    case FAR_ARGUMENT_WINDOW:
        return is_count(v[0]) && is_count(v[1]) && v[0] < v[1];
    case FAR_ARGUMENT_NONE:
        break;
    }
    return true;
}

static int arguments_of(const far_measure_entry *e)
{
    return e->argument == FAR_ARGUMENT_NONE ? 0 : e->argument == FAR_ARGUMENT_WINDOW ? 2 : 1;
}

/* Numbers behind colons; -1: something else. */
static int read_numbers(const char *text, double v[2])
{
    int count = 0;
    for (const char *at = strchr(text, ':'); at; count++) {
        char *stop;
        double value = strtod(at + 1, &stop);
        if (stop == at + 1 || (*stop != ':' && *stop != '\0') || count == 2) {
            return -1;
        }
        v[count] = value;
        at = *stop == ':' ? stop : NULL;
    }
    return count;
}

static far_status refuse_argument(far_ctx *ctx, const far_measure_entry *e, const char *text)
{
    static const char *const rules[] = {[FAR_ARGUMENT_NONE] = "",
                                        [FAR_ARGUMENT_COUNT] = ", K a whole number from 1 on",
                                        [FAR_ARGUMENT_RIDGE] = ", RIDGE not negative",
                                        [FAR_ARGUMENT_SIZE] = ", a positive number",
                                        [FAR_ARGUMENT_PART] = ", PART between 0 and 1",
                                        [FAR_ARGUMENT_WINDOW] = ", whole numbers with FROM < TO"};
    char shown[SHOWN_BYTES];
    return far_fail(ctx, FAR_ERR_ARG, "measure \"%s\": it is written %s%s%s%s",
                    far_printable(text, shown, sizeof shown), e->info.name,
                    e->info.argument ? ":" : "", e->info.argument ? e->info.argument : "",
                    rules[e->argument]);
}

far_status far_measure_find(far_ctx *ctx, const char *text, far_measure *out)
{
    const far_measure_entry *e = NULL;
    far_status st = text ? find_entry(ctx, text, &e)
                         : far_fail(ctx, FAR_ERR_ARG, "the name of the measure is NULL");
    if (st != FAR_OK) {
        return st;
    }
    double v[2] = {NAN, NAN};
    int given = read_numbers(text, v);
    if (given == 0) {
        memcpy(v, e->info.standard, sizeof v);
    }
    if ((given != 0 && given != arguments_of(e)) || !in_range(e, v)) {
        return refuse_argument(ctx, e, text);
    }
    *out = (far_measure){.info = &e->info, .argument = {v[0], v[1]}, .values = 1};
    out->values = e->several ? (int64_t)v[0] : 1;
    return FAR_OK;
}

far_status far_measure_find_all(far_ctx *ctx, const char *text, far_measure *out, int64_t most,
                                int64_t *count)
{
    char word[2 * NAME_MOST + 1];
    int64_t found = 0;
    far_status st = text ? FAR_OK : far_fail(ctx, FAR_ERR_ARG, "the names are NULL");
    for (const char *at = text; st == FAR_OK && at; found++) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        if (found == most) {
            char shown[SHOWN_BYTES];
            return far_fail(ctx, FAR_ERR_ARG, "more than %lld measures: \"%s\" is one too many",
                            (long long)most, far_printable(word, shown, sizeof shown));
        }
        st = far_measure_find(ctx, word, &out[found]);
        at = at[length] ? at + length + 1 : NULL;
    }
    *count = st == FAR_OK ? found : 0;
    return st;
}

void far_measure_label(const far_measure *m, int64_t i, char label[FAR_MEASURE_LABEL])
{
    const far_measure_entry *e = far_measure_entry_of(m);
    const char *name = m->info->name;
    switch (e ? arguments_of(e) : 0) {
    case 2:
        snprintf(label, FAR_MEASURE_LABEL, "%s(%g:%g)", name, m->argument[0], m->argument[1]);
        break;
    case 1:
        if (e->several) {
            snprintf(label, FAR_MEASURE_LABEL, "%s%lld", name, (long long)i + 1);
        } else {
            snprintf(label, FAR_MEASURE_LABEL, "%s(%g)", name, m->argument[0]);
        }
        break;
    default:
        snprintf(label, FAR_MEASURE_LABEL, "%s", name);
    }
}

/* ---- what they need ---- */

typedef struct need {
    int32_t bit;
    const char *what;
} need;

static bool is_there(const far_measure_input *in, int32_t bit)
{
    switch (bit) {
    case FAR_NEED_MATRIX:
        return in->view->kernel.data != NULL;
    case FAR_NEED_TARGETS:
        return in->targets != NULL;
    case FAR_NEED_COORDINATES:
        return in->coordinates != NULL;
    default:
        return in->values != NULL;
    }
}

static far_status check_needs(far_ctx *ctx, const far_measure_input *in, const far_measure *m)
{
    static const need needs[] = {
        {FAR_NEED_MATRIX, "the kernel matrix, and this view of a network has none"},
        {FAR_NEED_TARGETS, "targets"},
        {FAR_NEED_COORDINATES, "coordinates of the points"},
        {FAR_NEED_VALUES, "the present values of the model"}};
    if (!far_measure_entry_of(m)) {
        return far_fail(ctx, FAR_ERR_ARG, "a measure did not come from far_measure_find");
    }
    for (int i = 0; i < 4; i++) {
        if ((m->info->needs & needs[i].bit) && !is_there(in, needs[i].bit)) {
            return far_fail(ctx, FAR_ERR_ARG, "%s: needs %s", m->info->name, needs[i].what);
        }
    }
    return FAR_OK;
}

/* ---- one decomposition for all ---- */

static int64_t vectors_of(const far_measure *m, int64_t rows)
{
    const far_measure_entry *e = far_measure_entry_of(m);
    int64_t wanted = e->vectors == FAR_VECTORS_ALL        ? rows
                     : e->vectors == FAR_VECTORS_ARGUMENT ? (int64_t)m->argument[0]
                                                          : e->vectors;
    return far_least(wanted, rows);
}

/* Computed once for the measure that wants most; the others find it there. */
static far_status decompose(far_ctx *ctx, const far_measure_input *in, const far_measure *measures,
                            int64_t count)
{
    int64_t rows = in->view->info.rows, vectors = 0;
    bool all_values = false;
    far_spectrum s;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < count; i++) {
        int64_t wanted = vectors_of(&measures[i], rows);
        vectors = wanted > vectors ? wanted : vectors;
        all_values = all_values || (measures[i].info->needs & FAR_NEED_SPECTRUM);
    }
    if (vectors > 0 && (in->view->kernel.data || vectors < rows)) {
        FAR_TRY(far_view_spectrum(ctx, in->view, vectors, 1, &s));
    }
    if (all_values) {
        FAR_TRY(far_view_spectrum(ctx, in->view, 0, 0, &s));
    }
done:
    return st;
}

/* A failure inside of a measure is told with its name. */
static far_status apply_one(far_ctx *ctx, far_work *w, const far_measure *m, double *out)
{
    char message[400];
    far_status st = far_measure_entry_of(m)->apply(ctx, w, m, out);
    if (st == FAR_OK || st == FAR_ERR_MEMORY || st == FAR_ERR_CANCELLED) {
        return st;
    }
    snprintf(message, sizeof message, "%s", far_ctx_message(ctx));
    return far_fail(ctx, st, "%s: %s", m->info->name, message);
}

far_status far_measure_apply(far_ctx *ctx, const far_measure_input *input,
                             const far_measure *measures, int64_t count, double *out)
{
    far_work w = {.in = input};
    far_status st = FAR_OK;
    if (!input || !input->view) {
        return far_fail(ctx, FAR_ERR_ARG, "measures need a view");
    }
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(check_needs(ctx, input, &measures[i]));
    }
    FAR_TRY(decompose(ctx, input, measures, count));
    for (int64_t i = 0; i < count; i++) {
        FAR_TRY(apply_one(ctx, &w, &measures[i], out));
        out += measures[i].values;
    }
done:
    return st;
}
