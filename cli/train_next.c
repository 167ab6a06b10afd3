/* Training to predict what comes next: windows of a text or of rows of a table. */
#include "files.h"
#include "training.h"

#include <math.h>
#include <stdlib.h>

#define TEST_PART 0.1 /* kept aside for the test: the end of the text, the last rows */

/* Of so many bytes or rows, in their order: to train on, to validate on, to test. */
typedef struct parts {
    int64_t train, val, test;
} parts;

static parts split(const training *t, int64_t count)
{
    parts p = {.test = (int64_t)ceil(TEST_PART * (double)count)};
    p.val = isnan(t->args.val_part) ? 0 : (int64_t)(t->args.val_part * (double)(count - p.test));
    p.train = count - p.test - p.val;
    return p;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Windows one behind the other: the last byte of one is the first of the next, and every byte but
 * the first is to be predicted once. */
static int cut(const training *t, const unsigned char *bytes, int64_t count, int64_t positions,
               far_mat *out)
{
    int64_t rows = (count - 1) / positions, width = positions + 1;
    int code = matrix_alloc(t->s.verb, rows, width, FAR_F64, out);
    for (int64_t i = 0; code == EXIT_DONE && i < rows * width; i++) {
        ((double *)out->data)[i] = bytes[i / width * positions + i % width];
    }
    return code;
}

static int check_bytes(const training *t, const unsigned char *bytes, int64_t count,
                       int64_t vocabulary)
{
    int64_t line = 1;
    for (int64_t i = 0; i < count; i++) {
        if (bytes[i] >= vocabulary) {
            return failure(t->s.verb,
                           "%s: byte %lld, in line %lld, is %d, but the network knows the tokens 0 "
                           "to %lld; write tokens(.., 256) for any file",
                           t->table.label, (long long)i + 1, (long long)line, bytes[i],
                           (long long)vocabulary - 1);
        }
        line += bytes[i] == '\n';
    }
    return EXIT_DONE;
}

static int check_length(const training *t, int64_t count, const parts *p, int64_t positions)
{
    int64_t least = p->train < p->test ? p->train : p->test;
    least = !isnan(t->args.val_part) && p->val < least ? p->val : least;
    if (count == 0) {
        return failure(t->s.verb, "%s: the file is empty; give a text to learn from",
                       t->table.label);
    }
    return least > positions
               ? EXIT_DONE
               : failure(t->s.verb,
                         "%s: has %lld byte%s, and its smallest part (to train on, to validate on, "
                         "the tenth for the test) %lld, fewer than a window of %lld; give a longer "
                         "text, or a network of fewer positions",
                         t->table.label, (long long)count, count == 1 ? "" : "s", (long long)least,
                         (long long)positions + 1);
}

static int read_text(training *t, const far_net_info *net)
{
    char *text = NULL;
    int64_t count = 0;
    if (far_file_read(t->s.ctx, t->args.data, &text, &count) != FAR_OK) {
        return session_failure(&t->s, NULL);
    }
    const unsigned char *bytes = (const unsigned char *)text;
    parts p = split(t, count);
    int code = check_length(t, count, &p, net->positions);
    code = code == EXIT_DONE ? check_bytes(t, bytes, count, net->vocabulary) : code;
    code = code == EXIT_DONE ? cut(t, bytes, p.train, net->positions, &t->windows) : code;
    if (code == EXIT_DONE && p.val > 0) {
        code = cut(t, bytes + p.train, p.val, net->positions, &t->val_x);
    }
    if (code == EXIT_DONE) {
        code = cut(t, bytes + p.train + p.val, p.test, net->positions, &t->test);
    }
    far_text_free(t->s.ctx, text);
    return code;
}

/* ---- rows of a table ----------------------------------------------------------------------- */

/* All columns as numbers, as they are. */
static int read_columns(training *t)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.features = t->args.features;
    o.rows = t->table.rows;
    o.standardize = FAR_STANDARDIZE_NONE;
    o.impute = t->args.impute;
    return far_examples_learn(t->s.ctx, t->table.frame, &o, &t->series) == FAR_OK
               ? EXIT_DONE
               : session_failure(&t->s, t->table.label);
}

static int read_series(training *t)
{
    const train_args *a = &t->args;
    int code = dataset_read(t->s.verb, t->s.ctx, a->data, &a->table, a->where, &t->table);
    code = code == EXIT_DONE ? read_columns(t) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    far_mat all = t->series->inputs;
    parts p = split(t, all.rows);
    if (p.train < 1 || (!isnan(a->val_part) && p.val < 1)) {
        return failure(t->s.verb, "%s: has %lld row%s; a tenth is kept for the test: give more",
                       t->table.label, (long long)all.rows, all.rows == 1 ? "" : "s");
    }
    double *values = all.data;
    t->windows = far_mat_view(values, p.train, all.cols, FAR_F64);
    t->val_x = far_mat_view(values + p.train * all.cols, p.val, all.cols, FAR_F64);
    t->test = far_mat_view(values + (p.train + p.val) * all.cols, p.test, all.cols, FAR_F64);
    return EXIT_DONE;
}

int next_read(training *t)
{
    far_net_info net = far_net_describe(t->runs[0].net);
    bool tokens = net.vocabulary > 0;
    t->table.label = operand_label(t->args.data);
    t->opts.next = 1;
    if (t->args.loss == LOSS_AUTO) {
        t->opts.loss = tokens ? FAR_LOSS_CE : FAR_LOSS_MSE;
    }
    int code = tokens ? read_text(t, &net) : read_series(t);
    t->opts.val_x = t->val_x.rows > 0 ? &t->val_x : NULL;
    return code;
}

bool next_of_text(const training *t)
{
    return t->next && far_net_describe(t->runs[0].net).vocabulary > 0;
}

/* Training for no epochs is a look at the loss. */
int next_score(training *t, train_run *r)
{
    far_train_opts o;
    far_train_result found;
    far_train_opts_init(&o);
    o.next = 1;
    o.loss = t->opts.loss;
    o.epochs = 0;
    o.dtype = t->opts.dtype;
    o.batch = t->opts.batch;
    if (far_net_train(t->s.ctx, r->net, &t->test, NULL, &o, &found) != FAR_OK) {
        return session_failure(&t->s, NULL);
    }
    r->test_loss = found.final_loss;
    r->score = next_of_text(t) ? found.final_loss / M_LN2 : found.final_loss;
    return EXIT_DONE;
}
