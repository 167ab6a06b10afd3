/*
 * Networks and data of section 4.1 of the layer-norm paper: relu networks with two hidden layers of
 * 128, a layer norm nowhere, before the first, the second or each activation; three functions of
 * one variable.
 */
#ifndef FAR_EXPERIMENTS_LN_TOY_H
#define FAR_EXPERIMENTS_LN_TOY_H

#include "parts.h"

enum { LN_NONE, LN_FIRST, LN_SECOND, LN_EVERY, LN_NETS };
extern const char *const LN_NAMES[LN_NETS]; /* as the paper calls them */
extern const char *const LN_WORDS[LN_NETS]; /* for files */

/* "dense(128) ln(eps=1e-5) relu dense(128) relu dense(1)"; free it. norm stands before the
 * activations that where (LN_NONE, ...) says. */
char *net_text(const reproduction *r, int where, const char *norm, const char *activation);
/* A copy of the text of an architecture; of a sabotaged run without its layer norms, and with one
 * behind each dense layer but the last where it had none. */
char *arch_of(const reproduction *r, const char *arch);
#define LN_FINITE "ln(eps=1e-5)" /* as PyTorch's; theory has no eps */
#define LN_EXACT "ln"

enum { TOY_SINE, TOY_LINE, TOY_SQUARE, TOY_SETS, TOY_POINTS = 100 };
extern const char *const TOY_NAMES[TOY_SETS];
extern const char *const TOY_LABELS[TOY_SETS]; /* for figures */
extern const char *const TOY_WORDS[TOY_SETS];  /* for files */
/* TOY_POINTS equispaced points of [-5, 5] and their targets. */
void toy_fill(int set, double *x, double *y);

/* Of the paper's protocol, or what was asked for. */
int64_t toy_seeds(const reproduction *r);
int64_t toy_epochs(const reproduction *r, int64_t quick);
far_status keep_toy_protocol(reproduction *r, int64_t quick_epochs);

/* ---- trained networks ---- */

/* Networks of one architecture, one for each seed, trained on a toy set. */
typedef struct family {
    int64_t count;
    far_net **nets;
    double r2; /* the least, on the training points */
    int64_t bounded, unbounded;
    double bound, found;            /* the largest over seeds, of those that are bounded */
    double least_slope, most_slope; /* |slope| of those that are not */
} family;

typedef struct family_plan {
    const char *name; /* of its files */
    const char *arch;
    int set;
    int64_t quick_epochs; /* of the quick form */
} family_plan;

/* Trains (or, resuming, loads), keeps the networks in folder/networks, and certifies each. */
far_status family_create(reproduction *r, const family_plan *plan, family *out);
void family_free(family *f);

/* Predictions at points, over the seeds: the mean and half its 95% interval (NAN for one seed). */
far_status family_curve(reproduction *r, const family *f, const double *x, int64_t n, double *mean,
                        double *half);
/* The mean prediction at one point. */
far_status family_at(reproduction *r, const family *f, double x, double *mean);

/* Figure 1: that all are proven unbounded; or all bounded. */
far_status claim_proven(reproduction *r, const family *f, bool bounded, const char *what);

/* ---- infinitely wide networks ---- */

/* Trained to the end, without noise. n points of one variable. */
far_status infinite_fit(reproduction *r, const char *arch, const double *x, const double *y,
                        int64_t n, far_predictor **out);
/* The same of rows of several variables, as many targets as rows. */
far_status infinite_fit_rows(reproduction *r, const char *arch, const far_mat *x, const double *y,
                             far_predictor **out);
far_status infinite_at(reproduction *r, const far_predictor *m, const double *x, int64_t n,
                       double *out);
/* f(t direction) ~ value t^order */
far_status infinite_limit(reproduction *r, const far_predictor *m, double direction, double *value,
                          double *order);

/* ---- figures ---- */

/* The training points, behind lines. */
far_status draw_toy(reproduction *r, far_figure *figure, int set);

#endif
