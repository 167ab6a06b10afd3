/* Predictors from their files, and points and directions in words. */
#ifndef FAR_CLI_SUBJECT_H
#define FAR_CLI_SUBJECT_H

#include "dataset.h"
#include "session.h"

#include <farfield/predictor.h>
#include <farfield/result.h>

/* Of a verb with a network, at AT(arch). */
#define FILE_ARCH_OPTION                                                                           \
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",                                                   \
                "its architecture, if the file does not name it (one that PyTorch wrote)")

/* After a library call that was given the text of --arch: a text that is wrong is wrong usage. */
int arch_failure(session *s, far_status st);
/* Reads a network. arch: as below. */
int network_load(session *s, const char *path, const char *arch, far_net **out);

/* The rows of a table that count, as inputs in the network's own units: *values (free it), and a
 * view of them. */
int network_inputs(session *s, const far_net *net, const dataset *t, double **values, far_mat *x);

/* Reads any predictor. arch: for a network whose file does not name it; may be NULL. Returns an
 * exit code, with a line on stderr if it is not 0. */
int subject_load(session *s, const char *path, const char *arch, far_predictor **out);

int64_t subject_inputs(const far_predictor *s);
int64_t subject_outputs(const far_predictor *s);
/* As far_columns_input; an output is a target or a class. */
const char *subject_input(const far_predictor *s, int64_t i);
const char *subject_output(const far_predictor *s, int64_t i);
/* The same for the scores of classes: a network with one output for two has that of the second. */
const char *subject_score(const far_predictor *s, int64_t i);

/* ---- points and directions in words: one number for each input ---- */

/* A point: "F1 = 3, F2 = 0.1, kind = red, ..."; a direction, the largest first and those alone that
 * are not 0. All of them times factor. Free it; NULL without memory, or if v is NULL. */
char *subject_place(const far_predictor *s, const double *v, bool direction, double factor);
/* Whether one of its columns is categorical, or has a rank. */
bool subject_has_categories(const far_predictor *s);
bool subject_has_ranks(const far_predictor *s);
/* One component a line, the largest first. */
void subject_tell_direction(far_result *r, const far_predictor *s, const double *v);

/* ---- values, in raw units ---- */

far_scaling subject_scaling(const far_predictor *s);
/* out (rows x outputs) of x (rows x inputs), both packed. */
far_status subject_eval(session *s, const far_predictor *m, double *x, int64_t rows, double *out);

#endif
