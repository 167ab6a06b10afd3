/* Tables as rows to fit, to choose and to score on. */
#include "files.h"
#include "laplace_job.h"
#include "subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rows_free(rows *r)
{
    dataset_free(&r->table);
    free(r->x.data);
    free(r->y.data);
    free(r->labels);
    *r = (rows){0};
}

static bool row_counts(const dataset *d, int64_t i)
{
    return !d->rows || d->rows[i];
}

/* ---- columns ------------------------------------------------------------------------------- */

static bool knows_classes(const laplace_job *j)
{
    return far_columns_describe(far_net_describe(j->net).columns).task == FAR_TASK_CLASSIFY;
}

static const char *only_target(const laplace_job *j)
{
    const char *const *known = far_columns_describe(far_net_describe(j->net).columns).target_names;
    return j->args.target ? j->args.target : known ? known[0] : NULL;
}

/* Whether the table has the columns that are targets. */
static bool has_targets(const laplace_job *j, const far_frame *frame)
{
    int64_t count = 0, *cols = calloc((size_t)far_frame_cols(frame) + 1, sizeof *cols);
    far_columns_info c = far_columns_describe(far_net_describe(j->net).columns);
    bool has = only_target(j) != NULL && cols;
    if (has && j->args.target) {
        has = far_frame_list(j->s.ctx, frame, j->args.target, cols, &count) == FAR_OK;
    }
    for (int64_t k = 0; has && !j->args.target && k < c.targets; k++) {
        has = far_frame_find(j->s.ctx, frame, c.target_names[k], &count) == FAR_OK;
    }
    free(cols);
    return has;
}

/* ---- inputs of a network that knows no columns --------------------------------------------- */

/* One byte a column: 1 for targets. */
static unsigned char *mark_targets(laplace_job *j, const far_frame *frame)
{
    int64_t cols = far_frame_cols(frame), count = 0;
    unsigned char *marks = calloc((size_t)cols + 1, 1);
    int64_t *targets = calloc((size_t)cols + 1, sizeof *targets);
    if (marks && targets && j->args.target && has_targets(j, frame) &&
        far_frame_list(j->s.ctx, frame, j->args.target, targets, &count) == FAR_OK) {
        for (int64_t k = 0; k < count; k++) {
            marks[targets[k]] = 1;
        }
    }
    free(targets);
    return marks;
}

/* Unmarked columns side by side in m, which has room for all; their names too. */
static int gather(laplace_job *j, const dataset *d, const unsigned char *marks, far_mat *m,
                  const char **names)
{
    m->cols = 0;
    for (int64_t c = 0; c < far_frame_cols(d->frame); c++) {
        const double *column = far_frame_column(d->frame, c).numbers;
        if (marks[c]) {
            continue;
        }
        if (!column) {
            return failure(j->s.verb, "%s: column %s holds words; this network takes numbers alone",
                           d->label, far_frame_column(d->frame, c).name);
        }
        for (int64_t i = 0; i < m->rows; i++) {
            ((double *)m->data)[i * m->ld + m->cols] = column[i];
        }
        names[m->cols++] = far_frame_column(d->frame, c).name;
    }
    return m->cols > 0 ? EXIT_DONE : failure(j->s.verb, "%s: no column but targets", d->label);
}

/* All columns but the targets are inputs, in their order. */
static int drop_targets(laplace_job *j, dataset *d)
{
    far_frame *rest = NULL;
    far_mat m = {0};
    int64_t cols = far_frame_cols(d->frame);
    const char **names = calloc((size_t)cols + 1, sizeof *names);
    unsigned char *marks = mark_targets(j, d->frame);
    int code = names && marks ? EXIT_DONE : failure(j->s.verb, "%s: out of memory", d->label);
    code = code == EXIT_DONE ? matrix_alloc(j->s.verb, far_frame_rows(d->frame), cols, FAR_F64, &m)
                             : code;
    code = code == EXIT_DONE ? gather(j, d, marks, &m, names) : code;
    if (code == EXIT_DONE && far_frame_from_mat(j->s.ctx, &m, names, &rest) != FAR_OK) {
        code = session_failure(&j->s, d->label);
    }
    if (code == EXIT_DONE) {
        far_frame_destroy(d->frame);
        d->frame = rest;
    }
    free(names);
    free(marks);
    free(m.data);
    return code;
}

static int read_inputs(laplace_job *j, rows *r)
{
    double *values = NULL;
    int code = far_columns_describe(far_net_describe(j->net).columns).named
                   ? EXIT_DONE
                   : drop_targets(j, &r->table);
    code = code == EXIT_DONE ? network_inputs(&j->s, j->net, &r->table, &values, &r->x) : code;
    if (code != EXIT_DONE) {
        free(values);
        r->x = (far_mat){0};
    }
    return code;
}

/* ---- targets ------------------------------------------------------------------------------- */

static int label_rows(laplace_job *j, rows *r)
{
    const double *y = r->y.data;
    int64_t outputs = r->y.cols;
    r->labels = calloc((size_t)r->y.rows + 1, sizeof *r->labels);
    if (!r->labels) {
        return failure(j->s.verb, "%s: out of memory", r->table.label);
    }
    for (int64_t i = 0; i < r->y.rows; i++) {
        r->labels[i] = outputs == 1 ? y[i] > 0.5 : place_of_largest(y + i * outputs, outputs);
    }
    return EXIT_DONE;
}

static int read_known(laplace_job *j, rows *r)
{
    int code = matrix_alloc(j->s.verb, r->table.count, j->info.outputs, FAR_F64, &r->y);
    if (code == EXIT_DONE &&
        far_columns_encode_targets(j->s.ctx, far_net_describe(j->net).columns, r->table.frame,
                                   r->table.rows, j->args.target, &r->y) != FAR_OK) {
        code = session_failure(&j->s, r->table.label);
    }
    return code == EXIT_DONE && laplace_classifies(j) ? label_rows(j, r) : code;
}

/* A network that knows no classes: they are counted from 0. */
static int read_class_numbers(laplace_job *j, rows *r)
{
    int64_t col, classes = laplace_classes(j), next = 0;
    const far_frame *frame = r->table.frame;
    if (far_frame_find(j->s.ctx, frame, only_target(j), &col) != FAR_OK) {
        return session_failure(&j->s, r->table.label);
    }
    const double *column = far_frame_column(frame, col).numbers;
    if (!column) {
        return failure(j->s.verb,
                       "%s: %s holds words, and the network's file does not say which classes its "
                       "outputs are; a column of numbers from 0 to %lld would do",
                       r->table.label, only_target(j), (long long)classes - 1);
    }
    r->labels = calloc((size_t)r->table.count + 1, sizeof *r->labels);
    if (!r->labels) {
        return failure(j->s.verb, "%s: out of memory", r->table.label);
    }
    for (int64_t i = 0; i < far_frame_rows(frame); i++) {
        double label = column[i];
        if (row_counts(&r->table, i) &&
            !(label >= 0 && label < (double)classes && label == rint(label))) {
            return failure(j->s.verb, "%s: row %lld: %s is %g, not a class from 0 to %lld",
                           r->table.label, (long long)i + 1, only_target(j), label,
                           (long long)classes - 1);
        }
        if (row_counts(&r->table, i)) {
            r->labels[next++] = (int64_t)label;
        }
    }
    return EXIT_DONE;
}

static int read_targets(laplace_job *j, rows *r)
{
    return laplace_classifies(j) && !knows_classes(j) ? read_class_numbers(j, r) : read_known(j, r);
}

/* ---- tables -------------------------------------------------------------------------------- */

typedef enum need { TARGETS_NONE, TARGETS_IF_THERE, TARGETS_NEEDED } need;

static int read_table(laplace_job *j, const char *operand, const char *where, need targets, rows *r)
{
    r->table.arch = j->net ? far_net_describe(j->net).arch : NULL;
    int code = dataset_read(j->s.verb, j->s.ctx, operand, &j->args.table, where, &r->table);
    if (code != EXIT_DONE) {
        return code;
    }
    r->name = r->table.label;
    if (targets == TARGETS_NEEDED && !only_target(j)) {
        return usage_error(j->s.verb, "--target is missing: the network does not know its targets");
    }
    if (targets == TARGETS_NEEDED ||
        (targets == TARGETS_IF_THERE && has_targets(j, r->table.frame))) {
        code = read_targets(j, r);
    }
    return code == EXIT_DONE ? read_inputs(j, r) : code;
}

/* ---- a part of the training rows ----------------------------------------------------------- */

static void take_row(const rows *from, int64_t i, rows *to, int64_t at)
{
    memmove((double *)to->x.data + at * to->x.cols, (double *)from->x.data + i * from->x.cols,
            (size_t)from->x.cols * sizeof(double));
    if (from->y.data) {
        memmove((double *)to->y.data + at * to->y.cols, (double *)from->y.data + i * from->y.cols,
                (size_t)from->y.cols * sizeof(double));
    }
    if (from->labels) {
        to->labels[at] = from->labels[i];
    }
}

static int make_part(laplace_job *j, int64_t count)
{
    rows *to = &j->val;
    const rows *from = &j->train;
    int code = matrix_alloc(j->s.verb, count, from->x.cols, FAR_F64, &to->x);
    if (code == EXIT_DONE && from->y.data) {
        code = matrix_alloc(j->s.verb, count, from->y.cols, FAR_F64, &to->y);
    }
    to->labels = from->labels ? calloc((size_t)count + 1, sizeof *to->labels) : NULL;
    to->name = from->name;
    return code == EXIT_DONE && from->labels && !to->labels ? failure(j->s.verb, "out of memory")
                                                            : code;
}

static int part_rows(laplace_job *j)
{
    rows *r = &j->train;
    int64_t count, in = 0, out = 0;
    unsigned char *taken =
        draw_part(j->s.verb, j->args.val_part, (uint64_t)j->args.seed, r->x.rows, &count);
    int code = taken ? make_part(j, count) : EXIT_FAILED;
    for (int64_t i = 0; code == EXIT_DONE && i < r->x.rows; i++) {
        take_row(r, i, taken[i] ? &j->val : r, taken[i] ? out++ : in++);
    }
    if (code == EXIT_DONE) {
        r->x.rows = in;
        r->y.rows = r->y.data ? in : 0;
    }
    free(taken);
    return code;
}

int laplace_read_rows(laplace_job *j)
{
    const laplace_args *a = &j->args;
    bool part = !isnan(a->val_part);
    int code =
        read_table(j, a->train, a->where, part ? TARGETS_NEEDED : TARGETS_IF_THERE, &j->train);
    if (code == EXIT_DONE && a->val) {
        code = read_table(j, a->val, NULL, TARGETS_NEEDED, &j->val);
    }
    if (code == EXIT_DONE && a->test) {
        code = read_table(j, a->test, NULL, TARGETS_IF_THERE, &j->test);
    }
    if (code == EXIT_DONE && a->ood) {
        code = read_table(j, a->ood, NULL, TARGETS_NONE, &j->ood);
    }
    if (code == EXIT_DONE && part) {
        code = part_rows(j);
    }
    j->scored = j->test.name ? &j->test : j->val.name ? &j->val : &j->train;
    return code;
}
