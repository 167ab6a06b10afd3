/* Lines, trees and means in place of a network. */
#ifndef FAR_CLI_FIT_BASELINE_H
#define FAR_CLI_FIT_BASELINE_H

#include "fitting.h"
#include "report.h"

#define MODEL_LIST "network|linear|trees|mean"
typedef enum baseline_model { MODEL_NETWORK, MODEL_LINEAR, MODEL_TREES, MODEL_MEAN } baseline_model;
enum { BASELINE_ROUNDS = 100 }; /* of boosting */

/* Reads the table, fits, saves (output may be NULL), tells. Returns an exit code. */
int fit_baseline(session *s, const fit_args *a, const common_args *c, baseline_model model,
                 const char *data, const char *output);

#endif
