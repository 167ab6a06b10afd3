/*
 * farfield/train.h: training finite networks by gradient descent.
 *
 * Same bits for any number of threads, for a run that was interrupted and resumed, and for networks
 * trained side by side or one after another.
 */
#ifndef FARFIELD_TRAIN_H
#define FARFIELD_TRAIN_H

#include <farfield/net.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_optimizer {
    FAR_OPTIMIZER_ADAM = 0,
    FAR_OPTIMIZER_SGD = 1,      /* minibatches, no memory */
    FAR_OPTIMIZER_MOMENTUM = 2, /* v = momentum v + g, p -= lr v */
    FAR_OPTIMIZER_GD = 3,       /* the whole batch at every step */
    FAR_OPTIMIZER_ADAMW = 4     /* Adam whose weight decay is no part of the gradient */
} far_optimizer;

/* How the learning rate of an epoch e = 0, 1, .. follows from lr and from the E epochs asked for.
 */
typedef enum far_schedule_kind {
    FAR_SCHEDULE_CONSTANT = 0,
    FAR_SCHEDULE_COSINE = 1, /* lr (1 + cos(pi e / E)) / 2 */
    FAR_SCHEDULE_LINEAR = 2, /* lr (1 - e / E) */
    FAR_SCHEDULE_STEP = 3    /* lr factor^floor(e / every) */
} far_schedule_kind;

typedef struct far_schedule {
    far_schedule_kind kind; /* default FAR_SCHEDULE_CONSTANT */
    int64_t every;          /* of FAR_SCHEDULE_STEP: epochs, at least 1 */
    double factor;          /* of FAR_SCHEDULE_STEP: above 0, at most 1 */
} far_schedule;

/*
 * The callback sees the network while it trains. It is called before the first step, behind every
 * callback_every steps and at the end, by the calling thread and with all threads at its disposal;
 * ctx, that of the training, may be used. Training is the same to the bit with it and without. It
 * is not called where the loss is not finite, nor at the end of a run that diverged or was
 * cancelled; a resumed run calls it again at the step it goes on from, if that is one of the steps.
 */
typedef enum far_moment_kind {
    FAR_MOMENT_STEP = 0, /* one of the steps above */
    FAR_MOMENT_SAVE = 1  /* the checkpoint is about to be written: what an interrupted run shall
                            find again may be written now. No other threads, no network, no loss */
} far_moment_kind;

typedef struct far_train_moment {
    far_moment_kind kind;
    int32_t last;        /* 1: the end */
    int64_t network;     /* which one, of far_net_train_many; else 0 */
    const far_net *net;  /* with the parameters it has now */
    int64_t step, epoch; /* done; whole epochs */
    double loss;         /* over all rows, as final_loss of far_train_result */
    double rate;         /* learning rate of the last step in units of lr: 1 without a schedule */
    double time;         /* the sum of the rates of all steps done: step without a schedule */
} far_train_moment;

/* A failure stops training with its status and message; the checkpoint is saved first. */
typedef far_status (*far_train_callback)(far_ctx *ctx, void *user, const far_train_moment *moment);

typedef struct far_train_opts {
    size_t size;             /* set by far_train_opts_init */
    far_optimizer optimizer; /* default FAR_OPTIMIZER_ADAM */
    far_loss loss;           /* default FAR_LOSS_MSE */
    int32_t next; /* 1: every position of a sequence is to predict the next one. A row of x, and of
                     val_x, has one position more than the network takes; y and val_y are NULL.
                     Tokens take FAR_LOSS_CE, numbers FAR_LOSS_MSE. FAR_ERR_ARCH: the network does
                     not keep its positions, or attention without causal sees what it is to
                     predict. Default 0 */
    double lr;    /* default NAN: 1e-3 for Adam and AdamW, 1e-2 for the others */
    far_schedule schedule;
    double weight_decay; /* default 0. Adds weight_decay p to the gradient of every parameter p that
                            trains, as PyTorch does; with AdamW p shrinks by lr weight_decay p
                            instead */
    double beta1, beta2, epsilon; /* Adam: 0.9, 0.999, 1e-8 */
    double momentum;              /* 0.9 */
    int64_t epochs;               /* default 1000 */
    int64_t batch;                /* rows of a minibatch; 0 (default), or more than there are: all
                                     rows. Every epoch has an order of its own; its last minibatch
                                     takes what is left */
    double l2_to_init; /* LAM, default 0: adds LAM / (2 N) |p - start|^2 to the mean of N losses
                          -log p, and LAM / N |p - start|^2 to the mean of N squares: with the
                          squared loss the linearised network then ends as kernel regression with
                          ridge LAM. N counts all rows (times outputs, but for ce), also where a
                          step sees a minibatch */
    int32_t selective; /* 1: l2_to_init counts only in steps whose gradient g of the loss
                          has <g, p - start> >= 0, where it cannot raise the loss; the
                          loss of gradient descent with a small rate then never rises.
                          Default 0 */
    const unsigned char *layers;  /* one byte a layer, 0: keep its parameters; NULL: train all */
    int32_t linearized;           /* 1: train the network linearised at its start (a network that
                                     is linearised already stays so); batch norm then keeps its
                                     running statistics */
    double stop_loss;             /* stop after the epoch whose loss is at most this; NAN: never */
    const far_mat *val_x, *val_y; /* rows that are not trained on, as x and y; NULL (default): none.
                                     The loss over them is computed after every epoch, and the
                                     network ends with the parameters of the epoch where it was
                                     smallest */
    int64_t patience;       /* stop after that many epochs in a row without a smaller loss over the
                               validation rows; 0 (default): never */
    const char *augment;    /* images alone: a list of flip (mirror left and right, every other
                               image) and crop(N) (add a border of N black pixels, 0 before they
                               are scaled, and cut out the old size anywhere), as "flip,crop(4)";
                               drawn anew for every row and epoch by seed, never for the losses over
                               all rows and over the validation rows. NULL (default): none */
    uint64_t seed;          /* of the order of minibatches, and of augment */
    far_dtype dtype;        /* precision of training; default FAR_F32 */
    const char *checkpoint; /* file for the state of an unfinished run; NULL: none. A file
                               there that is no checkpoint is not replaced: FAR_ERR_ARG */
    double checkpoint_seconds;   /* how often it is written; default 10. Also at the beginning, so
                                    that a path that cannot be written is known at once */
    double progress_seconds;     /* how often the progress function is called; default 0.2 */
    int32_t resume;              /* 1: continue from checkpoint (FAR_ERR_IO if it is not there,
                                    FAR_ERR_FORMAT if it is of another run: says what differs).
                                    epochs may be more than they were; nothing else may change */
    int32_t keep_checkpoint;     /* 1: a run that finishes leaves it, with its last state: remove it
                                    when the network is safe elsewhere; default 0 */
    double *history;             /* room for the mean loss of each of the epochs, as loss in
                                    far_train_result; NAN for those after the end. Those before a
                                    run was resumed come from the checkpoint, which has 8 bytes for
                                    each (NAN: it is of an older program, or of more than 2^20
                                    epochs without a history). NULL (default): not wanted */
    double *val_history;         /* the same for the loss over the validation rows */
    far_train_callback callback; /* NULL (default): none */
    void *callback_user;
    int64_t callback_every; /* steps; at least 1 with a callback */
} far_train_opts;

FAR_API void far_train_opts_init(far_train_opts *opts);

typedef enum far_train_end {
    FAR_TRAIN_EPOCHS = 0,    /* all epochs done */
    FAR_TRAIN_STOP_LOSS = 1, /* the loss asked for was reached */
    FAR_TRAIN_CANCELLED = 2, /* by the progress function, after saving the checkpoint */
    FAR_TRAIN_DIVERGED = 3,  /* the loss left the range of numbers */
    FAR_TRAIN_PATIENCE =
        4 /* the loss over the validation rows had not fallen for patience epochs */
} far_train_end;

typedef struct far_train_result {
    far_train_end end;
    double lr;               /* lr, or the optimiser's default */
    int64_t epochs, steps;   /* whole epochs, and all steps; those before resuming too */
    double first_loss, loss; /* mean over the first epoch, and over the last (for a full batch:
                                before the step of that epoch); the l2 term is not in them. NAN
                                where there was no epoch */
    double final_loss;  /* over all rows, with the parameters the network ends with, and batch norm
                           as in far_net_eval; NAN after cancellation */
    double val_loss;    /* the same over the validation rows; NAN: there are none */
    double best_loss;   /* with validation rows the smallest loss over them after an epoch, which is
                           val_loss; else the smallest of loss over the epochs and final_loss */
    int64_t best_epoch; /* where it was, counted from 1; 0: none */
    double distance;    /* |p - start| */
    double seconds;     /* of this call */
    double flops;       /* operations of the matrix products, per epoch */
    int64_t resumed_at; /* epochs done before this call */
} far_train_result;

/* Trains net in place on x (n x inputs) and y, float64 or float32. Of a network that keeps
 * positions the loss is the mean over them too: ce has a softmax at each, and y is n x outputs or,
 * for ce, n x positions classes. With epochs 0 nothing is learnt, and final_loss is the loss on x
 * and y. Batch norm takes the statistics
 * of the batch and averages them with weight 0.1, as in PyTorch. Progress "train, loss 0.0123" with
 * done and total in epochs. On cancellation the checkpoint is saved first, net holds the parameters
 * reached, and the status is FAR_ERR_CANCELLED. On divergence the status is FAR_ERR_VALUE, the
 * message has the epoch, the last finite losses and what to try, net gets the parameters it had
 * when the last epoch whose loss was finite began, and the checkpoint is not overwritten by what
 * came after. A checkpoint can be loaded with far_net_load; it is removed by the run that finishes
 * (but see keep_checkpoint). result may be NULL. */
FAR_API FAR_NODISCARD far_status far_net_train(far_ctx *ctx, far_net *net, const far_mat *x,
                                               const far_mat *y, const far_train_opts *opts,
                                               far_train_result *result);

/* count networks of one architecture side by side, each by one thread where there are enough of
 * them: the same bits as one after another. seeds[i] is opts->seed of network i; checkpoints[i] its
 * checkpoint (may be NULL, or hold NULLs; opts->checkpoint must be NULL). opts->history is count x
 * epochs. results: count of them, may be NULL. A network that diverges does not stop the others:
 * its result says so, and the status is FAR_OK. Checkpoints stay until all are done; with resume, a
 * network that has none starts anew (FAR_ERR_IO if not one has). Progress counts the epochs of all.
 * The callback is called for one network at a time; they wait for each other meanwhile. */
FAR_API FAR_NODISCARD far_status far_net_train_many(far_ctx *ctx, far_net **nets, int64_t count,
                                                    const far_mat *x, const far_mat *y,
                                                    const far_train_opts *opts,
                                                    const uint64_t *seeds,
                                                    const char *const *checkpoints,
                                                    far_train_result *results);

/* 1: the file at path, which may be NULL, is a checkpoint, perhaps a damaged one; 0: it is another
 * file, or none. */
FAR_API int far_checkpoint_is(const char *path);

#ifdef __cplusplus
}
#endif
#endif
