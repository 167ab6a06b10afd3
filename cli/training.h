/* A run of farfield train: its arguments, its networks, and what is said about them. */
#ifndef FAR_CLI_TRAINING_H
#define FAR_CLI_TRAINING_H

#include "dataset.h"
#include "options.h"
#include "session.h"
#include "tracking.h"

#include <farfield/predictor.h>
#include <farfield/train.h>

#define OPTIMIZER_LIST "adam|sgd|momentum|gd|adamw"
#define LOSS_LIST "auto|mse|bce|ce"
#define INIT_LIST "kaiming|kaiming_uniform|lecun|siren|ntk|torch|kaiming_normal"
enum { INIT_KAIMING_NORMAL = FAR_INIT_TORCH + 1 }; /* another name of the first */
#define STANDARDIZE_LIST "both|inputs|none"

enum { LOSS_AUTO = 0 }; /* the others are far_loss + 1 */

typedef struct train_args {
    table_args table;
    const char *keep;
    const char *arch, *data, *target, *features, *where, *batch, *layers, *freeze, *from, *output,
        *checkpoint, *schedule, *augment;
    int optimizer, loss, init, task, standardize, dtype; /* in the order of the library's */
    double lr, l2_to_init, weight_decay, stop_loss, momentum, w0, every, val_part;
    int64_t epochs, patience, inputs, seed, seeds;
    word_list track;
    bool selective, linearized, merge, impute, raw, resume, restart;
    common_args common;
} train_args;

/* One network of the run. */
typedef struct train_run {
    far_net *net;
    far_train_result result;
    char *file, *checkpoint; /* NULL: not kept */
    double test_loss;        /* of what comes next, on what was kept aside */
    double score, val_score; /* bits per byte or that loss of it; R2, or the part of the rows
                                classified rightly, on the training and on the validation rows */
} train_run;

struct training {
    train_args args;
    session s;
    char *arch; /* of the networks, where there are data */
    dataset table;
    far_examples *data;    /* NULL: untrained networks, or those that predict what comes next */
    far_mat val_x, val_y;  /* validation rows, encoded; no rows without --val-part */
    bool next;             /* there is a table or text and no target: what comes next is */
    far_mat windows, test; /* next: each has a position more than the network takes */
    far_examples *series;  /* next, of numbers: these and val_x are its rows */
    far_train_opts opts;
    unsigned char *layers; /* which are trained; NULL: all */
    train_run *runs;       /* args.seeds of them */
    double *histories;     /* seeds x epochs losses; NULL: nobody asked */
    double *val_histories; /* the same over the validation rows */
    tracking track;
};

/* net.safetensors for one network; net-3.safetensors for that of seed 3 among several. Free it;
 * NULL without memory. */
char *training_file(const train_args *a, const char *path, int64_t i);

bool training_classifies(const training *t);
/* What the training rows say, after training. */
int training_score(training *t, train_run *r);

/* What comes next. Reads DATA for the networks, which are there; how well one of them predicts what
 * was kept aside; whether it is a text. */
int next_read(training *t);
int next_score(training *t, train_run *r);
bool next_of_text(const training *t);

#endif
