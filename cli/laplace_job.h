/* A run of farfield laplace: its arguments, its rows, and what is found. */
#ifndef FAR_CLI_LAPLACE_JOB_H
#define FAR_CLI_LAPLACE_JOB_H

#include "dataset.h"
#include "options.h"
#include "session.h"

#include <farfield/laplace.h>
#include <farfield/predictor.h>

#define LIKELIHOOD_LIST "auto|gaussian|softmax|bernoulli"
enum { LIKELIHOOD_AUTO = 0 }; /* the others are far_likelihood + 1 */
#define METHOD_LIST "auto|ella|exact|diagonal|kfac|last-layer"
enum { METHOD_AUTO, METHOD_ELLA, METHOD_EXACT }; /* from METHOD_ELLA on far_laplace_method + 1 */
extern const char *const METHOD_NAMES[];

typedef struct laplace_args {
    const char *net, *arch, *target, *where, *val, *test, *ood, *output;
    const char *train; /* the operand */
    table_args table;
    int likelihood, method;
    double val_part, prior, noise, memory; /* NAN (memory: 0): not given */
    int64_t landmarks, rank, samples, seed;
    bool exact, balanced, residual, paper, choose, probit;
    common_args common;
    bool rank_given, prior_given, features_given;
} laplace_args;

/* Rows of one table, in the network's own units. */
typedef struct rows {
    dataset table;
    const char *name; /* of the file; NULL: there are none */
    far_mat x;        /* no data: none */
    far_mat y;        /* rows x outputs; no data: no targets */
    int64_t *labels;  /* of classes, from 0 */
} rows;

/* What one form of the predictive says about rows. */
typedef struct saying {
    far_mat covariance;  /* rows outputs x outputs; no data: none, the network as it is */
    far_mat probability; /* rows x classes; no data: a regression */
} saying;

typedef enum form { FORM_MAP, FORM_MINE, FORM_PAPER, FORMS } form;

typedef struct verdicts {
    bool computed;
    saying in, out; /* on the scored rows, and out of domain */
    far_class_score classes;
    far_gauss_score gauss;
    double by_entropy, by_variance; /* AUROC; NAN: none */
} verdicts;

/* Of the outputs: standard deviations over rows. */
typedef struct spread_of {
    double median, low, high; /* 5% and 95% */
} spread_of;

typedef struct laplace_job {
    laplace_args args;
    session s;
    far_net *net;
    far_net_info info;
    far_laplace_opts opts;
    far_probability_opts rule;
    rows train, val, test, ood;
    const rows *scored; /* test, else validation, else training rows */
    far_laplace *posterior;
    bool chosen_rank, chosen_prior;
    far_laplace_choice choice;
    int64_t rank_tried; /* the most */
    bool tuned;         /* prior and noise are those of the largest marginal likelihood */
    double log_evidence;
    double scale; /* of both, by rows left out */
    double map_noise; /* with which the network as it is is scored */
    const char *noise_from;
    far_mat mean, mean_out; /* of the scored rows, and out of domain */
    verdicts forms[FORMS];
    spread_of spread_in, spread_out; /* of FORM_MINE */
} laplace_job;

bool laplace_classifies(const laplace_job *j);
int64_t laplace_classes(const laplace_job *j);

/* ---- laplace_rows.c ---- */

int laplace_read_rows(laplace_job *j);
void rows_free(rows *r);

/* ---- laplace_judge.c: the posterior, and how it does ---- */

int laplace_fit(laplace_job *j);
int laplace_judge(laplace_job *j);
void laplace_free(void *job);

/* ---- laplace_show.c ---- */

int laplace_tell(laplace_job *j);
/* Predictions of the scored rows into the file asked for. */
int laplace_write(laplace_job *j);

#endif
