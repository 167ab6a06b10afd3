/* Shared by the files that choose a network: what is tried, and how it scores. */
#ifndef FAR_SELECT_H
#define FAR_SELECT_H

#include "regress_internal.h"

typedef struct far_score {
    double loo;        /* leave-one-out squared error over variance */
    double log_loss;   /* classes: of calibrated leave-one-out probabilities; NAN: a regression */
    double likelihood; /* per row and output, each output with an amplitude of its own */
    double doubt;      /* standard error of log_loss, or of loo for a regression */
    double edge;       /* squared error at the edge over the variance there; INFINITY: not known */
    double edge_loss;  /* classes: log loss there; a regression: as edge */
} far_score;

/* The first rows of the subset once more, the outermost apart. */
typedef struct far_edge {
    double *inner_x, *inner_y, *outer_x, *outer_y;
    int64_t inner, outer;
} far_edge;

typedef struct far_search {
    far_ctx *ctx;
    const far_fit_opts *opts;
    far_model *model;
    double *x, *y;       /* the subset, in a random order: its first rows are a subset too */
    int64_t taken, rows; /* rows at x, and how many of them the choices are made on */
    int64_t least_evals; /* for progress */
    int64_t evals;
    double fixed_ridge; /* NAN: free */
    double memory;      /* budget in bytes; the machine is asked once */
    far_status status;  /* the first failure inside a callback */
    far_edge edge;
} far_search;

far_score far_score_worst(void);
far_solve_opts far_score_opts(const far_search *s, double ridge); /* of solving for a score */
/* Leave-one-out and likelihood on the first rows of the subset. A matrix that is singular at this
 * ridge scores worst; that is no failure. */
far_status far_score_evaluate(far_search *s, const far_kernel *k, double ridge, int64_t rows,
                              far_score *out);
/* alpha = A^-1 y (n x p) and every row left out of it, without refinement. */
far_status far_score_left_out(const far_search *s, const far_system *system, const far_mat *y,
                              double *alpha, far_left_out *out);
/* Of each of count rows: its squared miss over spread (0: there is none), a mean over p outputs. */
void far_squared_losses(const double *miss, int64_t count, int64_t p, double spread,
                        double *losses);
/* Of each of count rows, truth new_y less new_miss predicted: its log loss, with the probabilities
 * that suit the rows left out of y. */
far_status far_log_losses(const far_search *s, const double *y, const far_left_out *l,
                          const double *new_y, const double *new_miss, int64_t count,
                          double *losses);
double far_mean(const double *values, int64_t count);
/* The mean square of y (m x p) about the means of its columns; about 0 where they are constant. */
double far_target_variance(const double *y, int64_t m, int64_t p);

/* Sets the outermost rows of the subset apart; predicts them from the others. */
far_status far_edge_find(far_search *s);
/* Sets edge and edge_loss of out, the latter also for each row (losses, as many as outer rows);
 * INFINITY: singular. */
far_status far_edge_evaluate(far_search *s, const far_kernel *k, double ridge, double *losses,
                             far_score *out);
/* The mean of a - b (b NULL: 0) over count rows, and its standard error. */
double far_paired_gain(const double *a, const double *b, int64_t count, double *error);
void far_edge_clear(far_ctx *ctx, far_edge *e);

#endif
