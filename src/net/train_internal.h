/*
 * Inside the trainer. A run trains one network; a team of threads works on it together, each with
 * its own hand. What is summed across rows is summed in an order that batch and network alone
 * decide:
 *
 *     rows of a batch -> chunks, one sum of gradients each -> blocks that pass the network together
 *
 * and chunks are added in their order, parameter by parameter.
 */
#ifndef FAR_TRAIN_INTERNAL_H
#define FAR_TRAIN_INTERNAL_H

#include "engine.h"
#include "loss.h"
#include "optimizer.h"
#include "team.h"

#include <farfield/train.h>
#include <omp.h>
#include <stdatomic.h>

/* ---- train_data.c ---- */

/* x and y in the precision of training, packed. */
typedef struct far_train_data {
    far_ctx *ctx;
    int64_t rows, inputs, outputs;
    far_dtype dtype;
    far_loss_rule rule; /* y has far_loss_targets numbers a row */
    void *x, *y;
    uint64_t x_hash, y_hash;
} far_train_data;

/* Numbers from one gathered row of inputs to the next. */
int64_t far_gathered_ld(const far_train_data *d);

far_status far_train_data_create(far_ctx *ctx, const far_net *net, const far_mat *x,
                                 const far_mat *y, const far_train_opts *opts, bool hashed,
                                 far_train_data *out);
void far_train_data_clear(far_train_data *d);

/* ---- augment.c ---- */

/* Of images of that shape: mirrored or not, and shifted by up to pad pixels each way. */
typedef struct far_augment {
    bool flip;
    int64_t pad; /* 0: stays where it is */
    int64_t channels, rows, cols;
} far_augment;

/* How an image is seen in one step: shifted, so that pixel (y, x) was (y + down, x + right), and
 * then mirrored. */
typedef struct far_view {
    bool flip;
    int64_t down, right;
} far_view;

/* "flip,crop(4)"; NULL: none. */
far_status far_augment_read(far_ctx *ctx, const far_net *net, const char *text, far_augment *out);
bool far_augment_is(const far_augment *a);
far_view far_augment_draw(const far_augment *a, uint64_t seed, int64_t epoch, int64_t row);
/* A row of numbers of that many bytes each; black: the row of an image that is 0 everywhere. */
void far_augment_apply(const far_augment *a, far_view v, const void *black, const void *from,
                       size_t bytes, void *to);

/* ---- train_watch.c: the context and its progress function, shared by runs side by side ---- */

typedef struct far_watch {
    far_ctx *ctx;
    omp_lock_t lock;      /* around every use of the context while threads run */
    double seconds;       /* between reports */
    double next;          /* when one is due */
    int64_t total;        /* epochs of all runs */
    _Atomic int64_t done; /* of them */
    _Atomic int stop;     /* not 0: a far_status, and all runs shall stop */
} far_watch;

void far_watch_init(far_watch *w, far_ctx *ctx, double seconds, int64_t total);
void far_watch_clear(far_watch *w);
bool far_watch_due(const far_watch *w, double now);
/* Calls the progress function, from the calling thread only. It may set stop. */
void far_watch_report(far_watch *w, double loss);
/* The first failure is the one that counts. */
void far_watch_fail(far_watch *w, far_status status);

/* ---- train_moment.c: the caller's callback ---- */

struct far_run;
bool far_run_is_moment(const struct far_run *r);
/* After far_run_work, with no thread at work: calls the watch if it is due. Whether there is more
 * to do. */
bool far_run_attend(struct far_run *r);
/* Tells it that the checkpoint is about to be written. */
void far_run_tell_save(struct far_run *r);

/* ---- train_run.c ---- */

#define FAR_CHUNKS_MOST FAR_TEAM_ITEMS

/* What one thread works with. */
typedef struct far_hand {
    far_pass *pass;  /* for steps */
    far_pass *plain; /* forwards alone; NULL: the same */
    void *x, *y;     /* a block of rows of a minibatch, gathered */
    void *f;         /* linearised outputs of a block */
    void *slope;     /* of the loss, at the outputs */
} far_hand;

/* The numbers an interrupted run needs to go on. All doubles, so that a file holds them as one
 * array. */
typedef struct far_train_state {
    double epoch;              /* whole ones done */
    double step;               /* steps done of the present one */
    double steps;              /* in all */
    double sum;                /* of losses over the rows of the present epoch so far */
    double first, loss, older; /* losses of the first epoch, the last, and the one before */
    double best, best_epoch;
} far_train_state;

/* The same for a run with validation rows. */
typedef struct far_validation {
    double loss;             /* over them, after the last epoch */
    double best, best_epoch; /* the smallest so far; best_epoch 0: none yet */
} far_validation;

/* Rows order[first], .. of the present step. */
typedef struct far_batch {
    int64_t first, rows, chunks;
    double scale; /* of losses in their mean */
} far_batch;

/* See train_step.c. */
typedef enum far_phase {
    FAR_PHASE_START,
    FAR_PHASE_AGAIN,
    FAR_PHASE_LEARN,
    FAR_PHASE_UPDATE,
    FAR_PHASE_MERGE,
    FAR_PHASE_VALIDATE,
    FAR_PHASE_PAUSE,
    FAR_PHASE_JUDGE
} far_phase;

typedef struct far_run {
    far_ctx *ctx;
    far_net *net;
    const far_train_data *data, *val; /* val has no rows where there is no validation */
    far_train_opts opts;              /* with everything left open filled in */
    far_watch *watch;
    int64_t network; /* which one, of several */
    bool reports;    /* its first thread is the calling one */
    bool linear;     /* f is linear in the parameters */
    bool linearizes; /* and it is this run that makes it so */
    bool batchnorm;  /* by the statistics of the batch */
    far_augment augment;
    void *black; /* a row of inputs that are 0 before they are scaled; NULL: no augmentation */
    far_engine *engine;
    far_weights *weights;   /* those of the start if linear */
    far_weights *direction; /* linear: moved */
    int64_t block, chunks;  /* rows of one, and how many of the other */
    int64_t plain_block;    /* rows of a block when nothing is learnt from them */
    int64_t batch_count;    /* minibatches of an epoch */
    int64_t slices;         /* of the parameters */
    int hand_count;
    far_hand *hands;
    void *params, *start, *mean, *square, *moved;
    void *before, *good; /* parameters when this epoch began, and the last one with a finite loss */
    void *best;          /* parameters of the smallest validation loss; NULL: no validation */
    double *statistics, *block_statistics, *before_statistics, *good_statistics, *best_statistics;
    void *parts;
    int64_t part_stride;
    double *part_losses;
    double *unpacked;
    int64_t *order;
    double *history, *own_history; /* the mean loss of every epoch: the caller's array, or the run's
                                      own for the checkpoint; NULL: not kept */
    double *val_history, *own_val_history; /* the same over the validation rows */
    far_update_fn apply;
    double pull; /* of update, where the selective rule does not say otherwise */
    far_train_state state;
    far_validation validation;
    int64_t resumed_at;
    double began, next_checkpoint;
    /* of the present step */
    far_batch batch;
    far_update update;
    far_phase phase;
    _Atomic bool abandoned; /* the step was interrupted: nothing of it counts */
    bool ended;
    bool settled;   /* and the final loss is known */
    bool looking;   /* the threads stopped for the caller's callback */
    int64_t seen;   /* the last step it was called at; -1: none yet */
    double present; /* the loss at that step */
    far_train_end end;
    int64_t diverged_in; /* epoch, counted from 1 */
    double final_loss;
} far_run;

/* For at most that many threads: hand_count of them will do. net is touched only by far_run_store,
 * which needs it linearised if the run linearizes. */
far_status far_run_create(far_ctx *ctx, far_net *net, const far_train_data *data,
                          const far_train_data *val, const far_train_opts *opts, int threads,
                          far_watch *watch, far_run **out);
void far_run_destroy(far_run *r);
/* Whether rows are copied for a step, not taken where they lie. */
bool far_run_gathers(const far_run *r);
/* Whether the step has parameters that may change. */
bool far_run_trains(const far_run *r, const far_step *step);
/* Parameters and statistics into the network. */
void far_run_store(far_run *r);
/* All epochs done, or stopped by a rule. */
bool far_run_is_done(const far_run *r);
/* Whether the run is done and has found its best epoch by validation rows: the network ends with
 * the parameters of that epoch. */
bool far_run_ends_with_best(const far_run *r);
/* The weights of that epoch, for a last look; params keep those of the last one. */
void far_run_show_best(far_run *r);
/* What the caller gets, into the network. */
void far_run_deliver(far_run *r);
/* Of an array in the precision of training. */
double far_run_element(const far_run *r, const void *values, int64_t i);
/* The present ones as before or good. */
void far_run_keep(far_run *r, void *params, double *statistics);
void far_run_return_to_good(far_run *r);
bool far_run_is_finite(const far_run *r);
void far_run_result(const far_run *r, far_train_result *out);
/* "training diverged ..." */
far_status far_run_fail_diverged(const far_run *r);

/* Arrays of a run beside the network's own tensors: what a checkpoint holds. */
#define FAR_HISTORY_NAME "state.history"
#define FAR_VAL_HISTORY_NAME "state.val_history"
typedef struct far_run_array {
    const char *name;
    void *values;
    int64_t count;
    far_dtype dtype;
} far_run_array;
#define FAR_RUN_ARRAYS 13
int far_run_arrays(far_run *r, far_run_array out[FAR_RUN_ARRAYS]);
/* After the arrays and the network were read: what follows from them. */
void far_run_reload(far_run *r);

/* ---- train_step.c ---- */

/* Trains until the end, until the watch stops it or until the caller's callback is due; every
 * thread of the team calls it. */
void far_run_work(far_run *r, far_team *team, int me);

/* ---- checkpoint.c ---- */

far_status far_checkpoint_save(far_run *r);
far_status far_checkpoint_load(far_run *r);
/* Fails where another file would be lost. */
far_status far_checkpoint_check_place(far_ctx *ctx, const char *path);
bool far_checkpoint_exists(const char *path);
void far_checkpoint_remove(const char *path); /* NULL, or not there: fine */

#endif
