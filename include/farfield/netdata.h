/*
 * farfield/netdata.h: tables for finite networks: columns become inputs and targets, and a network
 * remembers how.
 */
#ifndef FARFIELD_NETDATA_H
#define FARFIELD_NETDATA_H

#include <farfield/model.h>
#include <farfield/train.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum far_standardize {
    FAR_STANDARDIZE_BOTH = 0,   /* inputs and (regression) targets to mean 0 and variance 1 */
    FAR_STANDARDIZE_INPUTS = 1, /* targets as they are */
    FAR_STANDARDIZE_NONE = 2
} far_standardize;

typedef struct far_net_data_opts {
    size_t size;               /* set by far_net_data_opts_init */
    const char *target;        /* "RMSD" or "a,b" */
    const char *features;      /* "F1,F2"; NULL: every column that is no target */
    const unsigned char *rows; /* one byte a row, 0: leave it out; NULL: all rows */
    int32_t task;        /* a far_task; default FAR_TASK_AUTO: classify with a loss of classes or
                            a target of words, else regress */
    int32_t loss;        /* a far_loss: it decides what the targets of a classification are */
    int32_t standardize; /* a far_standardize; default FAR_STANDARDIZE_BOTH */
    int32_t impute;      /* as in far_fit_opts */
} far_net_data_opts;

FAR_API void far_net_data_opts_init(far_net_data_opts *opts);

/* The chosen rows as a network's inputs and targets. */
typedef struct far_net_data far_net_data;

/* Classes are indicator columns (ce, mse: one a class, 0 or 1; bce: one column, 1 for the second of
 * two classes); the targets of a regression with bce must lie in [0, 1]. Errors as in
 * far_model_fit. */
FAR_API FAR_NODISCARD far_status far_net_data_create(far_ctx *ctx, const far_frame *frame,
                                                     const far_net_data_opts *opts,
                                                     far_net_data **out);
FAR_API void far_net_data_destroy(far_net_data *data);          /* NULL is fine */
FAR_API far_mat far_net_data_inputs(const far_net_data *data);  /* n x d, float64 */
FAR_API far_mat far_net_data_targets(const far_net_data *data); /* n x outputs, float64 */
FAR_API int32_t far_net_data_task(const far_net_data *data);    /* FAR_TASK_REGRESS or _CLASSIFY */
/* The name of input i ("F1", "kind=red"); of class k, in the order of the outputs (NULL for a
 * regression). NULL: there is none. */
FAR_API const char *far_net_data_input(const far_net_data *data, int64_t i);
FAR_API const char *far_net_data_class(const far_net_data *data, int64_t k);
FAR_API const char *far_net_data_hash(const far_net_data *data); /* of the rows and columns used */
/* Writes scaling and columns into the network, whose inputs and outputs must be as many. */
FAR_API FAR_NODISCARD far_status far_net_data_attach(far_ctx *ctx, const far_net_data *data,
                                                     far_net *net);

/* ---- what an attached network knows (after far_net_load too) ---- */

/* "F1", "kind=red"; NULL if the network knows no columns, or there is no such one. Names live until
 * the network's metadata change. Outputs are counted as in predictions: a network trained with bce
 * on two classes has one output, but names for both. */
FAR_API const char *far_net_input_name(const far_net *net, int64_t i);
FAR_API const char *far_net_output_name(const far_net *net, int64_t i); /* target, or class */
/* FAR_TASK_REGRESS or _CLASSIFY, and a far_loss; FAR_TASK_AUTO and -1 if it knows no columns. */
FAR_API int32_t far_net_task(const far_net *net);
FAR_API int32_t far_net_loss(const far_net *net);
/* The i-th column it was trained to predict; a classification has one. NULL: there is none. */
FAR_API const char *far_net_target_name(const far_net *net, int64_t i);

/* Rows of a frame as inputs in the network's own units: out is far_frame_rows x inputs, filled for
 * the rows selected (NULL: all). A network that knows no columns takes those of the frame in their
 * order, all numbers, as many as it has inputs, in raw units (as they are, unless it is scaled). */
FAR_API FAR_NODISCARD far_status far_net_encode(far_ctx *ctx, const far_net *net,
                                                const far_frame *frame, const unsigned char *rows,
                                                far_mat *out);
/* Targets of a frame as far_net_data_targets has them: out is far_frame_rows x outputs, filled for
 * the rows selected. target: the columns ("RMSD", "a,b"), NULL: those that the network was trained
 * on. Classes become indicators, by their names; numbers are in the network's own units.
 * FAR_ERR_ARG: no such column, or none known and none named. FAR_ERR_SHAPE: not as many columns as
 * the network predicts. FAR_ERR_VALUE: one has no value, or is no class of the network's. */
FAR_API FAR_NODISCARD far_status far_net_targets(far_ctx *ctx, const far_net *net,
                                                 const far_frame *frame, const unsigned char *rows,
                                                 const char *target, far_mat *out);
/* Predictions in target units, float64 throughout; for classes the mean holds probabilities (ce:
 * softmax, bce: of both classes, mse: the outputs) and probability the same. at_infinity as in
 * far_predict_opts. No other option of far_predict_opts applies (FAR_ERR_ARG). */
FAR_API FAR_NODISCARD far_status far_net_predict(far_ctx *ctx, const far_net *net,
                                                 const far_frame *frame,
                                                 const far_predict_opts *opts,
                                                 far_prediction **out);

#ifdef __cplusplus
}
#endif
#endif
