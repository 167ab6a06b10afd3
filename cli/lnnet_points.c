#include "lnnet.h"

#include <stdlib.h>

#define AT(field) offsetof(labelled_args, field)

static const option OPTIONS[] = {
    {"--label", 'l', OPTION_TEXT, AT(label), "COL", "the column of classes", 0, 0},
    {"--features", 'f', OPTION_TEXT, AT(features), "LIST",
     "columns that are coordinates: F1,F2 (every column but the label)", 0, 0},
    {"--where", 'w', OPTION_TEXT, AT(where), "EXPR",
     "only the rows where it holds: \"F1 >= 2 and kind != 'a'\"", 0, 0},
    {"--impute", 0, OPTION_FLAG, AT(impute), NULL,
     "fill gaps with the median, or with the commonest word", 0, 0},
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

static int64_t class_of(const double *indicator, int64_t classes)
{
    int64_t best = 0;
    for (int64_t k = 1; k < classes; k++) {
        best = indicator[k] > indicator[best] ? k : best;
    }
    return best;
}

static int take_labels(session *s, labelled *l)
{
    far_mat y = far_net_data_targets(l->data);
    l->x = far_net_data_inputs(l->data);
    l->classes = y.cols;
    l->labels = malloc((size_t)y.rows * sizeof *l->labels + 1);
    if (!l->labels) {
        return failure(s->verb, "out of memory");
    }
    for (int64_t i = 0; i < y.rows; i++) {
        l->labels[i] = class_of((const double *)y.data + i * y.ld, l->classes);
    }
    return EXIT_DONE;
}

int labelled_read(session *s, const labelled_args *a, labelled *out)
{
    far_net_data_opts o;
    int code = dataset_read(s->verb, s->ctx, a->data, a->where, &out->table);
    if (code != EXIT_DONE) {
        return code;
    }
    far_net_data_opts_init(&o);
    o.target = a->label;
    o.features = a->features;
    o.rows = out->table.rows;
    o.task = FAR_TASK_CLASSIFY;
    o.loss = FAR_LOSS_CE;
    o.standardize = FAR_STANDARDIZE_NONE;
    o.impute = a->impute;
    far_status st = far_net_data_create(s->ctx, out->table.frame, &o, &out->data);
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    return st == FAR_OK ? take_labels(s, out)
                        : session_failure(s, about_data ? out->table.label : NULL);
}

void labelled_free(labelled *l)
{
    far_net_data_destroy(l->data);
    dataset_free(&l->table);
    free(l->labels);
}
