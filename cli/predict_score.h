/* How good a prediction is where the truth stands in the table, and columns carried through. */
#ifndef FAR_CLI_PREDICT_SCORE_H
#define FAR_CLI_PREDICT_SCORE_H

#include "dataset.h"
#include "files.h"
#include "session.h"

#include <farfield/predictor.h>
#include <farfield/result.h>
#include <farfield/score.h>

typedef struct prediction_score {
    bool known, classes;
    far_class_score c;
    far_regression_score n; /* nll and coverage NAN: no spread */
} prediction_score;

/* Exit codes, with a line on stderr if it is not 0. */
int prediction_judge(session *s, const far_predictor *of, const dataset *d, const far_prediction *p,
                     prediction_score *out);
/* "score" in JSON, lines in a page. */
void prediction_score_tell(far_result *r, const prediction_score *score);
/* One line; free it. NULL: out of memory. */
char *prediction_score_line(const prediction_score *score);

/* Columns of the table for the chosen rows. Zero-initialise. */
typedef struct carried {
    result_column *columns;
    int64_t count;
    void **owned;
    int64_t owned_count;
} carried;
int carried_read(session *s, const dataset *d, const char *list, carried *out);
void carried_free(carried *c);

#endif
