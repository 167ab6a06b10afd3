/* ELLA, the parts: digits with bands over seeds, a toy regression, the error of the features. */
#ifndef FAR_EXPERIMENTS_ELLA_H
#define FAR_EXPERIMENTS_ELLA_H

#include "digits.h"
#include "parts.h"

#include <farfield/laplace.h>
#include <farfield/train.h>

enum { ELLA_MOST_RANKS = 8 };

/* The paper's form leaves out the prior of what is no feature. */
typedef enum ella_form { ELLA_PAPER, ELLA_RESIDUAL, ELLA_FORMS } ella_form;
extern const char *const ELLA_NAMES[ELLA_FORMS];

/* ---- ella_digits.c ---- */

enum { ELLA_TRAIN = 500, ELLA_LANDMARKS = 500, ELLA_CLASSES = 10, ELLA_CHOICE_SAMPLES = 128 };
#define ELLA_DIGITS_NET "dense(30) relu dense(10)"

/* An overfitted network and the digits it has to do with. */
typedef struct ella_digits {
    digits train, test; /* in an order of their own */
    int64_t *labels;    /* of the test digits; the first half chooses, the other scores */
    far_net *net;
    double loss; /* it ends with */
} ella_digits;

typedef struct ella_plan {
    int64_t seeds, samples, epochs;
    int64_t ranks[ELLA_MOST_RANKS], rank_count;
    int64_t priors; /* of a grid from 1e-4 to 1e2 */
    bool at_random; /* training digits, not the first of the file */
} ella_plan;
ella_plan ella_plan_for(const reproduction *r);
/* Options for these networks, whose outputs are of classes. */
far_laplace_opts ella_options(far_laplace_method method);
/* |a - b| / |b| of all covariances. */
double ella_distance(const double *a, const double *b, int64_t count);

far_status ella_digits_open(reproduction *r, const ella_plan *p, const digits *train,
                            const digits *test, uint64_t seed, ella_digits *out);
void ella_digits_close(ella_digits *d);

/* NLL and ECE against K; digits against what is none. prior: that of the residual form for 20
 * features, of the first seed. */
far_status ella_study_digits(reproduction *r, const digits *train, const digits *test,
                             double *prior);

/* ---- ella_methods.c ---- */

/* Others beside ELLA, and ELLA with few features and with many. */
enum {
    ELLA_METHOD_DIAGONAL,
    ELLA_METHOD_KFAC,
    ELLA_METHOD_LAST,
    ELLA_METHOD_FEW,
    ELLA_METHOD_MANY,
    ELLA_METHODS
};
enum { ELLA_ERRORS = 2 };
extern const char *const ELLA_METHOD_NAMES[ELLA_METHODS];

/* A network and the digits of a seed; labels: of those that choose, then of those that score. */
typedef struct ella_method_rows {
    const far_net *net;
    far_mat train, choose, score;
    const int64_t *labels;
    far_probability_opts rule;
    uint64_t seed;
} ella_method_rows;

typedef struct ella_method {
    far_class_score score; /* not of ELLA */
    double prior;
    double error[ELLA_ERRORS]; /* of the covariance, at the prior of ELLA and at 100 times it */
} ella_method;

far_status ella_methods_of(reproduction *r, const ella_plan *p, const ella_method_rows *m,
                           double prior, ella_method out[ELLA_METHODS]);
/* seeds x ELLA_METHODS of them; map: the NLL of the networks as they are. */
far_status ella_report_methods(reproduction *r, const ella_method *all, int64_t seeds, double map);

/* ---- ella_toy.c ---- */

far_status ella_study_toy(reproduction *r);
far_status ella_study_identity(reproduction *r);

/* ---- ella_nystrom.c ---- */

far_status ella_study_nystrom(reproduction *r, const digits *train, const digits *test,
                              double prior);

#endif
