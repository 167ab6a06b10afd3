#include "files.h"
#include "lnnet.h"

#include <stdlib.h>

#define AT(field) offsetof(labelled_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--label", 'l', AT(label), "COL", "the column of classes"),
    TEXT_OPTION("--features", 'f', AT(features), "LIST",
                "columns that are coordinates: F1,F2 (every column but the label)"),
    WHERE_OPTION(AT(where)),
    IMPUTE_OPTION(AT(impute)),
};

option_group labelled_options(size_t offset)
{
    return (option_group){
        .options = OPTIONS, .count = sizeof OPTIONS / sizeof OPTIONS[0], .offset = offset};
}

int labelled_check_usage(const char *verb_name, const labelled_args *a)
{
    if (!a->data) {
        return usage_error(verb_name, "no table DATA of labelled points");
    }
    return a->label ? OPTIONS_OK
                    : usage_error(verb_name, "--label is missing: which column has the classes?");
}

static int take_labels(session *s, labelled *l)
{
    far_mat y = l->data->targets;
    l->x = l->data->inputs;
    l->classes = y.cols;
    l->labels = malloc((size_t)y.rows * sizeof *l->labels + 1);
    if (!l->labels) {
        return failure(s->verb, "out of memory");
    }
    for (int64_t i = 0; i < y.rows; i++) {
        l->labels[i] = place_of_largest((const double *)y.data + i * y.ld, l->classes);
    }
    return EXIT_DONE;
}

int labelled_read(session *s, const labelled_args *a, labelled *out)
{
    far_columns_opts o;
    int code = dataset_read(s->verb, s->ctx, a->data, NULL, a->where, &out->table);
    if (code != EXIT_DONE) {
        return code;
    }
    far_columns_opts_init(&o);
    o.target = a->label;
    o.features = a->features;
    o.rows = out->table.rows;
    o.task = FAR_TASK_CLASSIFY;
    o.loss = FAR_LOSS_CE;
    o.standardize = FAR_STANDARDIZE_NONE;
    o.impute = a->impute;
    far_status st = far_examples_learn(s->ctx, out->table.frame, &o, &out->data);
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    return st == FAR_OK ? take_labels(s, out)
                        : session_failure(s, about_data ? out->table.label : NULL);
}

/* ---- identical rows ------------------------------------------------------------------------ */

typedef struct labelled_row {
    const double *values;
    int64_t cols, point, label;
} labelled_row;

static int compare_values(const labelled_row *a, const labelled_row *b)
{
    for (int64_t j = 0; j < a->cols; j++) {
        if (a->values[j] != b->values[j]) {
            return a->values[j] < b->values[j] ? -1 : 1;
        }
    }
    return 0;
}

static int by_values(const void *a, const void *b)
{
    const labelled_row *x = a, *y = b;
    int order = compare_values(x, y);
    return order ? order : (x->point > y->point) - (x->point < y->point);
}

/* The row of the table that a point was, counted from 1. */
static int64_t table_row(const labelled *l, int64_t point)
{
    int64_t row = -1;
    for (int64_t seen = -1; seen < point;) {
        row++;
        seen += !l->table.rows || l->table.rows[row];
    }
    return row + 1;
}

static int twins_failure(session *s, const labelled *l, const labelled_row *a,
                         const labelled_row *b)
{
    return failure(s->verb,
                   "%s: rows %lld and %lld are identical, but their classes are '%s' and '%s'; no "
                   "function tells them apart: remove one",
                   l->table.label, (long long)table_row(l, a->point),
                   (long long)table_row(l, b->point),
                   far_columns_describe(l->data->columns).class_names[a->label],
                   far_columns_describe(l->data->columns).class_names[b->label]);
}

/* The first row that has a twin of another class behind it, among sorted ones; -1: none. */
static int64_t first_twin(const labelled_row *rows, int64_t count)
{
    int64_t best = -1;
    for (int64_t i = 0; i + 1 < count; i++) {
        bool twins =
            rows[i].label != rows[i + 1].label && compare_values(&rows[i], &rows[i + 1]) == 0;
        if (twins && (best < 0 || rows[i].point < rows[best].point)) {
            best = i;
        }
    }
    return best;
}

int labelled_refuse_twins(session *s, const labelled *l)
{
    int64_t n = l->x.rows;
    labelled_row *rows = malloc((size_t)n * sizeof *rows + 1);
    if (!rows) {
        return failure(s->verb, "out of memory");
    }
    for (int64_t i = 0; i < n; i++) {
        const double *values = (const double *)l->x.data + i * l->x.ld;
        rows[i] = (labelled_row){values, l->x.cols, i, l->labels[i]};
    }
    qsort(rows, (size_t)n, sizeof *rows, by_values);
    int64_t i = first_twin(rows, n);
    int code = i >= 0 ? twins_failure(s, l, &rows[i], &rows[i + 1]) : EXIT_DONE;
    free(rows);
    return code;
}

void labelled_free(labelled *l)
{
    far_examples_destroy(l->data);
    dataset_free(&l->table);
    free(l->labels);
}
