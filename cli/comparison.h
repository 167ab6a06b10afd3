/* A comparison of models: told, and as files. */
#ifndef FAR_CLI_COMPARISON_H
#define FAR_CLI_COMPARISON_H

#include "fitting.h"
#include "session.h"

#include <farfield/compare.h>
#include <farfield/result.h>

/* Whether there is anything but a message to show. */
bool comparison_scored(const far_compare_row *r);
/* All but the pictures. */
void comparison_tell(far_result *r, far_ctx *ctx, const far_comparison *c);
/* Version and settings of the boosted trees, if they are among the models that have scores. */
void comparison_tell_xgboost(far_result *r, far_ctx *ctx, const far_comparison *c);
/* EXIT_DONE if one network works (where none was asked for, one model); else a line on stderr. */
int comparison_verdict(const char *verb_name, const far_comparison *c);

/* compare.json (which is text), compare.csv and predictions.csv in folder, each whole or not at
 * all. Returns an exit code, with a line on stderr if it is not 0. */
int comparison_files(const session *s, const far_comparison *c, const char *text,
                     const char *folder);

/* Validates the options before the data are read. Returns an exit code. */
int comparison_check(session *s, const far_compare_opts *opts);
/* Reads the table; pictures as the first network of images among the models takes them. */
int comparison_data(session *s, const char *operand, const char *models, const fit_args *fit,
                    dataset *out);

#endif
