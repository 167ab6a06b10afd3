#define _GNU_SOURCE
#include "subject.h"
#include "columns_show.h"
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 10, VALUE_BYTES = 64 };

int arch_failure(session *s, far_status st)
{
    if (st == FAR_ERR_PARSE || st == FAR_ERR_ARCH) {
        session_failure(s, "--arch");
        return EXIT_USAGE;
    }
    return session_failure(s, NULL);
}

static void warn_of_precision(const session *s, const char *path, const far_net *net)
{
    const char *precision = far_net_metadata(net, "lnnet.precision");
    if (precision && strcmp(s->verb, "lnnet check") != 0) {
        session_say(s,
                    "%s was built for %s arithmetic, and this is double: it may say other things; "
                    "see farfield lnnet check",
                    path, precision);
    }
}

int network_load(session *s, const char *path, const char *arch, far_net **out)
{
    far_status st = far_net_load(s->ctx, path, arch, out);
    if (st == FAR_OK) {
        warn_of_precision(s, path, *out);
    }
    return st == FAR_OK ? EXIT_DONE : arch_failure(s, st);
}

int network_inputs(session *s, const far_net *net, const dataset *t, double **values, far_mat *x)
{
    int code = matrix_alloc(s->verb, t->count, far_net_describe(net).inputs, FAR_F64, x);
    *values = x->data;
    if (code == EXIT_DONE &&
        far_columns_encode(s->ctx, far_net_describe(net).columns, t->frame, t->rows, x) != FAR_OK) {
        code = session_failure(s, t->label);
    }
    return code == EXIT_DONE
               ? columns_say_unseen(s, far_net_describe(net).columns, t->frame, t->rows, NULL, NULL)
               : code;
}

int subject_load(session *s, const char *path, const char *arch, far_predictor **out)
{
    far_status st = far_predictor_load(s->ctx, path, arch, out);
    const far_net *net = st == FAR_OK ? far_predictor_net(*out) : NULL;
    if (net) {
        warn_of_precision(s, path, net);
    }
    return st == FAR_OK ? EXIT_DONE : arch_failure(s, st);
}

int64_t subject_inputs(const far_predictor *s)
{
    return far_predictor_describe(s).inputs;
}

int64_t subject_outputs(const far_predictor *s)
{
    return far_predictor_describe(s).outputs;
}

const char *subject_input(const far_predictor *s, int64_t i)
{
    return far_columns_describe(far_predictor_describe(s).columns).input_names[i];
}

const char *subject_output(const far_predictor *s, int64_t i)
{
    far_columns_info c = far_columns_describe(far_predictor_describe(s).columns);
    return c.class_names ? c.class_names[i] : c.output_names[i];
}

const char *subject_score(const far_predictor *s, int64_t i)
{
    return far_columns_describe(far_predictor_describe(s).columns).output_names[i];
}

/* ---- points and directions ----------------------------------------------------------------- */

/* The largest component below limit; of equal ones the first behind after. -1 if there is none. */
static int64_t next_largest(const double *v, int64_t count, double limit, int64_t after)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(v[i]);
        bool below = size < limit || (size == limit && i > after);
        if (below && size > 0 && (best < 0 || size > fabs(v[best]))) {
            best = i;
        }
    }
    return best;
}

static void put_largest(FILE *out, const far_predictor *s, const double *v, double factor)
{
    int64_t count = subject_inputs(s), i = -1;
    double limit = INFINITY;
    for (int shown = 0; (i = next_largest(v, count, limit, i)) >= 0; shown++) {
        if (shown == MOST_SHOWN) {
            fputs(", ...", out);
            break;
        }
        fprintf(out, "%s%s = %.4g", shown ? ", " : "", subject_input(s, i), factor * v[i]);
        limit = fabs(v[i]);
    }
}

/* The level of a categorical feature at a point; NULL: a number, or no category that there is. */
static const char *level_at(const far_columns *c, int64_t feature, const double *v)
{
    far_feature_info f = far_columns_feature(c, feature);
    const char *level = NULL;
    for (int64_t k = 0; f.kind == FAR_COLUMN_WORD && k < f.width; k++) {
        if (v[f.first + k] != 0 && (level || v[f.first + k] != 1)) {
            return NULL;
        }
        level = v[f.first + k] == 1 ? f.levels[k] : level;
    }
    return level;
}

/* Feature by feature: a category by its name where it is one, else each of its inputs. The ranks of
 * a row follow from its numbers and are not shown; those of a point that is no row are. */
static void put_point(FILE *out, const far_predictor *s, const double *v, double factor)
{
    const far_columns *c = far_predictor_describe(s).columns;
    int64_t count = subject_inputs(s), shown = 0, feature = 0;
    bool row = factor == 1 && far_columns_is_row(c, v, 0);
    for (int64_t i = 0; i < count; i++, shown++) {
        far_feature_info f = far_columns_feature(c, feature);
        const char *level = f.name && i == f.first ? level_at(c, feature, v) : NULL;
        if (shown == MOST_SHOWN) {
            fputs(", ...", out);
            break;
        }
        if (level) {
            fprintf(out, "%s%s = %s", shown ? ", " : "", f.name, level);
            i = f.first + f.width - 1;
        } else {
            char value[VALUE_BYTES];
            fprintf(out, "%s%s = %s", shown ? ", " : "", subject_input(s, i),
                    columns_value(c, i, factor * v[i], value, sizeof value));
            i = row && f.name && f.ranked ? f.first + f.width - 1 : i;
        }
        feature += f.name && i == f.first + f.width - 1;
    }
}

bool subject_has_categories(const far_predictor *s)
{
    const far_columns *c = far_predictor_describe(s).columns;
    int64_t i = 0;
    while (far_columns_feature(c, i).name && far_columns_feature(c, i).kind == FAR_COLUMN_NUMBER) {
        i++;
    }
    return far_columns_feature(c, i).name != NULL;
}

bool subject_has_ranks(const far_predictor *s)
{
    const far_columns *c = far_predictor_describe(s).columns;
    bool any = false;
    for (int64_t i = 0; far_columns_feature(c, i).name; i++) {
        any = any || far_columns_feature(c, i).ranked;
    }
    return any;
}

char *subject_place(const far_predictor *s, const double *v, bool direction, double factor)
{
    char *text = NULL;
    size_t length;
    FILE *out = v ? open_memstream(&text, &length) : NULL;
    if (out) {
        (direction ? put_largest : put_point)(out, s, v, factor);
        fclose(out);
    }
    return text;
}

static int name_width(const far_predictor *s)
{
    int width = 0;
    for (int64_t k = 0; k < subject_inputs(s); k++) {
        int length = (int)strlen(subject_input(s, k));
        width = length > width && length <= 40 ? length : width;
    }
    return width;
}

void subject_tell_direction(far_result *r, const far_predictor *s, const double *v)
{
    int64_t count = subject_inputs(s), i = -1, shown = 0;
    double limit = INFINITY;
    int width = name_width(s);
    for (; shown < MOST_SHOWN && (i = next_largest(v, count, limit, i)) >= 0; shown++) {
        far_result_line(r, "    %-*s %10.4g", width, subject_input(s, i), v[i]);
        limit = fabs(v[i]);
    }
    if (shown == MOST_SHOWN && count > shown) {
        far_result_line(r, "    and %lld smaller ones", (long long)(count - shown));
    }
}

/* ---- values -------------------------------------------------------------------------------- */

far_scaling subject_scaling(const far_predictor *s)
{
    return far_columns_describe(far_predictor_describe(s).columns).scaling;
}

far_status subject_eval(session *s, const far_predictor *m, double *x, int64_t rows, double *out)
{
    far_mat in = far_mat_view(x, rows, subject_inputs(m), FAR_F64);
    far_mat f = far_mat_view(out, rows, subject_outputs(m), FAR_F64);
    return far_predictor_eval(s->ctx, m, &in, &f);
}
