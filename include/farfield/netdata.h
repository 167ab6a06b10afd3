/*
 * farfield/netdata.h: what a finite network says about the rows of a table.
 */
#ifndef FARFIELD_NETDATA_H
#define FARFIELD_NETDATA_H

#include <farfield/model.h>
#include <farfield/train.h>

#ifdef __cplusplus
extern "C" {
#endif

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
