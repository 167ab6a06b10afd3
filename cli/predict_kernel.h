/* farfield predict of a kernel in place of a model: a linear model with kernel K, trained from
 * where it starts by ridge regression, gradient flow or gradient descent. */
#ifndef FAR_CLI_PREDICT_KERNEL_H
#define FAR_CLI_PREDICT_KERNEL_H

#include "kernel_source.h"

typedef struct predict_kernel_args {
    source_args source; /* the first, so that its options are at home here */
    const char *f0, *gd, *cross, *cross_f0, *at, *curve, *losses;
    double ridge; /* NAN: not given */
    /* Those that predict has of its own: */
    double time;
    const char *output;
    common_args common;
    /* Read from the texts: */
    far_spectral filter;
    double from, to; /* of the curve */
    int64_t count;
    bool outputs_given;
} predict_kernel_args;

/* Their options; the verb has its predict_kernel_args at offset. */
option_group predict_kernel_options(size_t offset);
/* The values of options that were not given. */
predict_kernel_args predict_kernel_defaults(void);
/* Takes the operands; OPTIONS_OK, or EXIT_USAGE with a line on stderr. */
int predict_kernel_check(const command_line *line, predict_kernel_args *a);
/* An exit code. */
int predict_kernel(const predict_kernel_args *a);

#endif
