/* Fitting a model as the command line asks for it: the options and steps of every verb that fits.
 */
#ifndef FAR_CLI_FITTING_H
#define FAR_CLI_FITTING_H

#include "dataset.h"
#include "options.h"
#include "session.h"

#include <farfield/model.h>

typedef struct fit_args {
    const char *target, *features, *keep, *where, *arch, *ridge, *committee;
    table_args table;
    int task, kernel, param, criterion, metric, ranks, copies,
        method; /* in the order of the enumerations */
    bool raw, impute, packed, allow_unbounded, extremes, no_extremes;
    int64_t subset, seed, landmarks;
    double memory, tolerance;
} fit_args;

#define TASK_LIST "auto|regress|classify"
#define KERNEL_LIST "ntk|nngp"
#define METHOD_LIST "auto|exact|cg|nystrom"
#define PARAM_LIST "ntk|standard"
#define COPIES_LIST "keep|drop"
#define RANKS_LIST "none|all|auto|steps"
#define METRIC_LIST "none|diagonal|full|auto"

/* The options that fill a fit_args. */
extern const option FIT_OPTIONS[];
extern const size_t FIT_OPTION_COUNT;
/* Those that verbs take which fit many models, for a verb with its fit_args at offset. */
enum { FIT_OPTIONS_TAKEN = 20 };
option_group fit_options_take(option out[FIT_OPTIONS_TAKEN], size_t offset);
/* Refuses a command line without a table (purpose: "to fit") or a target: OPTIONS_OK or, with a
 * line on stderr, EXIT_USAGE. */
int fit_check_usage(const char *verb_name, const char *data, const char *purpose,
                    const fit_args *args);

/* The library's defaults. */
void fit_defaults(fit_args *args);

/* The arguments as the library wants them, without rows; OPTIONS_OK or, with a line on stderr,
 * EXIT_USAGE. */
int fit_read_args(const char *verb_name, const fit_args *args, far_fit_opts *opts);

/* Refuses a bad architecture before any data is read. */
int fit_check_arch(session *s, const far_fit_opts *opts);

/* Reads the table, announces what is large, and fits. Returns an exit code. Interrupts are held
 * when it comes back with a model, so that the caller can save it. */
int fit_data(session *s, const char *operand, const fit_args *args, far_fit_opts *opts,
             far_predictor **out);

#endif
