#include "metric_show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_FEATURES = 5, /* in one line of text */
    MOST_BARS = 20,    /* in the picture */
    MOST_TERMS = 4,    /* of a direction */
    MOST_DIRECTIONS = 5,
    LISTED = 10, /* directions in JSON */
    WORDS = 400
};

static const double *row_of(const far_mat *m, int64_t i)
{
    return (const double *)m->data + i * m->ld;
}

static const char *kind_word(const far_model_info *i)
{
    static const char *const WORD[] = {"none", "diagonal", "full"};
    return WORD[i->metric.kind];
}

static const char *const *names_of(const far_model_info *i)
{
    return far_columns_describe(i->columns).input_names;
}

/* ---- directions in words ------------------------------------------------------------------- */

/* To 24 bits: sizes that differ by rounding are the same. */
static double size_of(double v)
{
    int exponent;
    double part = frexp(fabs(v), &exponent);
    return ldexp(rint(ldexp(part, 24)), exponent - 24);
}

/* The size of a term of v, in standard deviations; scale NULL: v is in them already. */
static double term_size(const double *v, const double *scale, int64_t i)
{
    return size_of(scale ? v[i] / scale[i] : v[i]);
}

/* The largest term below limit in size, of equal ones the first behind `after`; -1: none. */
static int64_t next_largest(const double *v, const double *scale, int64_t count, double limit,
                            int64_t after)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        double size = term_size(v, scale, i);
        bool left = size > 0 && (size < limit || (size == limit && i > after));
        best = left && (best < 0 || size > term_size(v, scale, best)) ? i : best;
    }
    return best;
}

/* "0.8 a - 0.5 b + ...", the largest first, as far as three digits show; a 1 is not written. */
static void direction_words(const double *v, const double *scale, int64_t count,
                            const char *const *names, char *out)
{
    double limit = INFINITY, least = 0;
    int64_t at = -1, shown = 0;
    *out = 0;
    while ((at = next_largest(v, scale, count, limit, at)) >= 0 &&
           term_size(v, scale, at) > least) {
        size_t used = strlen(out);
        char number[32];
        limit = term_size(v, scale, at);
        least = shown ? least : limit * 5e-4;
        snprintf(number, sizeof number, "%.3g ", fabs(v[at]));
        const char *times = strcmp(number, "1 ") == 0 ? "" : number;
        const char *sign = v[at] < 0 ? (shown ? " - " : "-") : shown ? " + " : "";
        if (shown++ == MOST_TERMS) {
            snprintf(out + used, WORDS - used, " + ...");
            return;
        }
        snprintf(out + used, WORDS - used, "%s%s%.60s", sign, times, names[at]);
    }
}

/* The directions of null, in raw inputs, with a comma between them; empty where there is none. */
enum { SHOWN = 8, NULL_WORDS = SHOWN * WORDS };
static void null_words(const far_mat *null, const far_columns_info *c, char out[NULL_WORDS])
{
    const double *scale = c->scaling.input_scale.data;
    *out = 0;
    for (int64_t k = 0; k < null->rows && k < SHOWN; k++) {
        size_t used = strlen(out);
        char one[WORDS];
        direction_words(row_of(null, k), scale, null->cols, c->input_names, one);
        snprintf(out + used, NULL_WORDS - used, "%s%s", used && *one ? ", " : "", one);
    }
    size_t used = strlen(out);
    if (null->rows > SHOWN) {
        snprintf(out + used, NULL_WORDS - used, " and %lld more", (long long)(null->rows - SHOWN));
    }
}

void metric_tell_null(far_result *r, const far_mat *null, const far_columns_info *c)
{
    char words[NULL_WORDS];
    null_words(null, c, words);
    if (*words) {
        far_result_line(r, "f does not depend on: %s", words);
    }
}

/* ---- columns ------------------------------------------------------------------------------- */

/* Columns of the table by how much they count: a category is the sum of its inputs. */
typedef struct ranked {
    const char **names;
    double *parts;
    int64_t count;
} ranked;

static void ranked_free(ranked *c)
{
    free(c->names);
    free(c->parts);
}

static void rank_one(const char *name, double part, ranked *c)
{
    int64_t k = c->count++;
    for (; k > 0 && part > c->parts[k - 1]; k--) {
        c->names[k] = c->names[k - 1];
        c->parts[k] = c->parts[k - 1];
    }
    c->names[k] = name;
    c->parts[k] = part;
}

static bool rank_columns(far_result *r, const far_model_info *i, ranked *c)
{
    *c = (ranked){calloc((size_t)i->inputs, sizeof *c->names),
                  calloc((size_t)i->inputs, sizeof *c->parts), 0};
    bool done = c->names && c->parts;
    far_result_check(r, done ? FAR_OK : FAR_ERR_MEMORY);
    for (int64_t k = 0; done && far_columns_feature(i->columns, k).name; k++) {
        far_feature_info f = far_columns_feature(i->columns, k);
        double part = 0;
        for (int64_t j = f.first; j < f.first + f.width; j++) {
            part += *row_of(&i->metric.importance, j);
        }
        rank_one(f.name, part, c);
    }
    return done;
}

/* ---- text and JSON ------------------------------------------------------------------------- */

static void tell_columns(far_result *r, const far_model_info *i)
{
    ranked c;
    char line[WORDS] = "";
    if (rank_columns(r, i, &c)) {
        for (int64_t k = 0; k < c.count && k < LINE_FEATURES; k++) {
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, "%s%.60s %.3g%%", k ? ", " : "", c.names[k],
                     100 * c.parts[k]);
        }
        far_result_say(r, "metric", "%s: %s%s", kind_word(i), line,
                       c.count > LINE_FEATURES ? ", ..." : "");
    }
    ranked_free(&c);
}

static void tell_directions(far_result *r, const far_model_info *i)
{
    char line[WORDS];
    for (int64_t k = 0; k < i->metric.directions.rows && k < MOST_DIRECTIONS; k++) {
        direction_words(row_of(&i->metric.directions, k), NULL, i->inputs, names_of(i), line);
        far_result_say(r, k ? "" : "  looks along", "%.3g%%: %s",
                       100 * *row_of(&i->metric.shares, k), line);
    }
}

static void list_metric(far_result *r, const far_model_info *i)
{
    static const far_result_column COLUMNS[] = {{"input", NULL, NULL}, {"weight", NULL, NULL}};
    const far_metric_info *m = &i->metric;
    far_result_open(r, "metric");
    far_result_text(r, "kind", kind_word(i), NULL, NULL);
    if (m->kind != FAR_METRIC_NONE) {
        far_result_count(r, "rank", m->rank, NULL, NULL);
        far_result_table(r, "importance", NULL, COLUMNS, 2);
        for (int64_t j = 0; j < i->inputs; j++) {
            far_result_cell_text(r, "%s", names_of(i)[j]);
            far_result_cell(r, *row_of(&m->importance, j));
        }
        int64_t size[] = {m->map.rows, m->map.cols};
        far_result_array(r, "map", &m->map, size, m->map.cols > 1 ? 2 : 1);
        far_result_open_list(r, "directions");
        for (int64_t k = 0; k < m->directions.rows && k < LISTED; k++) {
            far_result_open(r, NULL);
            far_result_number(r, "share", *row_of(&m->shares, k), NULL, NULL);
            far_result_list(r, "weights", row_of(&m->directions, k), i->inputs);
            far_result_close(r);
        }
        far_result_close(r);
        int64_t shape[] = {m->null.rows, i->inputs};
        far_result_array(r, "null", &m->null, shape, 2);
    }
    far_result_close(r);
}

void metric_tell(far_result *r, const far_model_info *i)
{
    far_result_for(r, FAR_FOR_JSON);
    list_metric(r, i);
    far_result_for(r, FAR_FOR_PEOPLE);
    if (i->metric.kind != FAR_METRIC_NONE) {
        char ignored[NULL_WORDS];
        tell_columns(r, i);
        far_columns_info c = far_columns_describe(i->columns);
        null_words(&i->metric.null, &c, ignored);
        if (*ignored) {
            far_result_say(r, "  ignores", "%s", ignored);
        }
        far_result_for(r, FAR_FOR_TEXT); /* a page has a table of them */
        tell_directions(r, i);
    }
    far_result_for(r, FAR_FOR_ALL);
}

/* ---- the page ------------------------------------------------------------------------------ */

static void draw_bars(report *r, const ranked *c)
{
    int64_t shown = c->count < MOST_BARS ? c->count : MOST_BARS;
    far_figure_opts o = report_axes(NULL, "importance");
    o.categories = c->names;
    o.category_count = shown;
    o.height = 320;
    report_draw(r, &o);
    report_bars(r, report_mark(NULL, 0), c->parts, NULL, shown);
    report_place(
        r, "metric",
        "How much the fit changes with each column: half the mean square of what it changes "
        "by where the column is taken from another row, the largest first, over the sum of "
        "all. Of a sum of functions of one column each these are their variances.");
}

static void draw_directions(report *r, const far_model_info *i)
{
    static const far_result_column COLUMNS[] = {{NULL, "share", "%.3g"},
                                                {NULL, "direction, in standardised inputs", NULL}};
    char line[WORDS];
    if (i->metric.directions.rows == 0) {
        return;
    }
    far_result_table(r->result, NULL,
                     "The directions that the network looks along, the strongest first, and the "
                     "share of each in the metric.",
                     COLUMNS, 2);
    for (int64_t k = 0; k < i->metric.directions.rows && k < LISTED; k++) {
        direction_words(row_of(&i->metric.directions, k), NULL, i->inputs, names_of(i), line);
        far_result_cell(r->result, *row_of(&i->metric.shares, k));
        far_result_cell_text(r->result, "%s", line);
    }
}

void metric_draw(report *r, const far_model_info *i)
{
    ranked c;
    if (i->metric.kind == FAR_METRIC_NONE) {
        return;
    }
    far_result_for(r->result, FAR_FOR_PAGE);
    if (rank_columns(r->result, i, &c)) {
        draw_bars(r, &c);
        draw_directions(r, i);
    }
    ranked_free(&c);
    far_result_for(r->result, FAR_FOR_ALL);
}
