/*
 * UCI-90: kernels of infinitely wide networks as classifiers on the 90 small tables of Arora et
 * al. (2020). What is computed, and what its numbers mean, is in docs/reproductions/uci-90.md.
 *
 * A candidate is a network, an encoding of the features and a ridge. Candidates are scored on
 * halves of the rows, chosen by those scores, and then tested on four folds.
 */
#ifndef UCI90_H
#define UCI90_H

#include "try.h"

#include <farfield/extras.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    UCI90_NETS = 4,
    UCI90_ENCODINGS = 4,
    UCI90_RIDGES = 6,
    UCI90_CANDIDATES = UCI90_ENCODINGS * UCI90_NETS * UCI90_RIDGES,
    UCI90_FOLDS = 4,
    UCI90_ROUNDS = 10, /* members of a committee, each counted as often as it was taken */
    UCI90_NAME_BYTES = 64,
    UCI90_MESSAGE_BYTES = 320,
};

/* ---- uci90_lab.c: what every step needs ---- */

typedef struct uci90_lab {
    far_ctx *ctx;
    far_kernel *net[UCI90_NETS];
    char message[UCI90_MESSAGE_BYTES]; /* of our own failures; those of the library are in ctx */
} uci90_lab;

/* The network whose derivatives tell relevance is the first one. */
extern const char *const UCI90_ARCH[UCI90_NETS];
extern const double UCI90_RIDGE[UCI90_RIDGES];

FAR_NODISCARD far_status uci90_lab_open(int threads, uci90_lab *lab);
void uci90_lab_close(uci90_lab *lab);
__attribute__((format(printf, 3, 4))) far_status uci90_fail(uci90_lab *lab, far_status status,
                                                            const char *format, ...);
const char *uci90_message(const uci90_lab *lab);

/* Zeroed. Without memory an experiment has nothing left to do: the program ends. */
void *uci90_alloc(int64_t count, size_t size);
#define UCI90_ALLOC(count, type) ((type *)uci90_alloc(count, sizeof(type)))

double uci90_seconds(void);

/* ---- uci90_data.c: the published files ---- */

typedef struct uci90_rows {
    int64_t count;
    int64_t *at; /* row numbers from 0 */
} uci90_rows;

typedef struct uci90_split {
    uci90_rows train, test;
} uci90_split;

typedef struct uci90_set {
    char name[UCI90_NAME_BYTES];
    int64_t n, d, classes;
    double *x;                     /* n x d, standardised by the publisher */
    int64_t *label;                /* 0 .. classes - 1 */
    uci90_split halves;            /* the split for selection */
    uci90_split fold[UCI90_FOLDS]; /* the splits that are reported */
} uci90_set;

typedef struct uci90_entry {
    char name[UCI90_NAME_BYTES];
    int64_t rows;
} uci90_entry;

/* Lines of DIR/INDEX90.tsv; *out is freed by the caller. */
FAR_NODISCARD far_status uci90_index_read(uci90_lab *lab, const char *dir, uci90_entry **out,
                                          int64_t *count);
/* DIR/data/NAME/: the table, the halves and the folds. Every split must part all rows in two. */
FAR_NODISCARD far_status uci90_set_read(uci90_lab *lab, const char *dir, const char *name,
                                        uci90_set *out);
void uci90_set_free(uci90_set *set);

uci90_split uci90_split_make(int64_t train, int64_t test);
void uci90_split_free(uci90_split *split);

/* ---- uci90_encode.c, uci90_relevance.c: features ---- */

typedef enum uci90_encoding {
    UCI90_RAW,
    UCI90_ONE_HOT,   /* columns of 3 to 10 values become indicators */
    UCI90_NORMAL,    /* each column by its ranks, as normal scores */
    UCI90_RELEVANCE, /* each column by how much a first fit depends on it */
} uci90_encoding;

typedef struct uci90_features {
    int64_t rows, width;
    double *z;
} uci90_features;

/* Whether the encoding makes anything new of this set. */
bool uci90_encoding_applies(const uci90_set *set, uci90_encoding encoding);
/* All rows encoded. Only UCI90_RELEVANCE looks at labels, and only at those of train. */
FAR_NODISCARD far_status uci90_encode(uci90_lab *lab, const uci90_set *set, uci90_encoding encoding,
                                      const uci90_rows *train, uci90_features *out);
void uci90_features_free(uci90_features *f);
double uci90_normal_quantile(double p);

/* relevance[j] = sum over rows i of train and classes c of (d f_c(x_i) / d x_j)^2 up to one factor,
 * f being the first network fitted to train, without the terms of rows that equal x_i. */
FAR_NODISCARD far_status uci90_relevance(uci90_lab *lab, const uci90_set *set,
                                         const uci90_rows *train, double *relevance);
/* Multiplies the columns of z (all rows) by the roots of relevance, at the old mean square over
 * train. */
void uci90_weigh(const double *relevance, const uci90_rows *train, uci90_features *f);

/* ---- uci90_fit.c: scores of one network on one split ---- */

/* The chosen rows of f, packed. */
double *uci90_gather(const uci90_features *f, const uci90_rows *rows);
/* Indicators of the classes less their mean over rows, without the last class (which is less the
 * sum of the others): count x (classes - 1). mean has all classes. */
double *uci90_targets(const uci90_set *set, const uci90_rows *rows, double *mean);
/* x = (K + ridge mean(diag K) I)^-1 b; b and x are n x p. */
FAR_NODISCARD far_status uci90_solve(uci90_lab *lab, const far_mat *k, double ridge,
                                     const far_mat *b, far_mat *x);
/* Writes the rows split->test of scores[r] (n x classes) for every ridge whose scores[r] is not
 * NULL. */
FAR_NODISCARD far_status uci90_fit(uci90_lab *lab, const uci90_set *set, const uci90_features *f,
                                   const far_kernel *net, const uci90_split *split,
                                   double *const scores[UCI90_RIDGES]);

/* ---- uci90_committee.c: choosing ---- */

typedef struct uci90_scores {
    double *of[UCI90_CANDIDATES]; /* n x classes each; NULL: there is no such candidate */
} uci90_scores;

/* How often each candidate votes. */
typedef struct uci90_choice {
    int votes[UCI90_CANDIDATES];
} uci90_choice;

static inline int uci90_candidate(int encoding, int net, int ridge)
{
    return (encoding * UCI90_NETS + net) * UCI90_RIDGES + ridge;
}

double uci90_accuracy(const uci90_set *set, const uci90_rows *rows, const double *scores);
double uci90_squared_error(const uci90_set *set, const uci90_rows *rows, const double *scores);
/* The most accurate candidate over rows; of several, the one with the least squared error. */
uci90_choice uci90_choose_accurate(const uci90_set *set, const uci90_rows *rows,
                                   const uci90_scores *scores);
uci90_choice uci90_choose_close(const uci90_set *set, const uci90_rows *rows,
                                const uci90_scores *scores);
/* Greedily, with replacement: each round takes the candidate that leaves the mean of all taken with
 * the least squared error over rows (Caruana et al. 2004). */
uci90_choice uci90_choose_committee(const uci90_set *set, const uci90_rows *rows,
                                    const uci90_scores *scores);
/* mean := the mean of the chosen scores over rows. */
void uci90_average(const uci90_set *set, const uci90_rows *rows, const uci90_scores *scores,
                   const uci90_choice *choice, double *mean);

/* ---- uci90_protocol.c: one set, start to end ---- */

typedef enum uci90_column {
    UCI90_SINGLE,    /* a: the best by accuracy on the validation half, as published */
    UCI90_CLOSEST,   /* b: the best by squared error, both ways */
    UCI90_COMMITTEE, /* c */
    UCI90_NESTED,    /* d: a committee chosen from the training rows of each fold alone */
    UCI90_COLUMNS,
} uci90_column;

typedef struct uci90_result {
    char name[UCI90_NAME_BYTES];
    int64_t n, d, classes;
    double percent[UCI90_COLUMNS]; /* of test rows that were right, mean over folds; NAN: not run */
    double seconds;
    bool done;
    char message[UCI90_MESSAGE_BYTES];
} uci90_result;

/* Scores of every candidate for every row of the split, each fitted to the part the row is not in.
 */
FAR_NODISCARD far_status uci90_score_both_ways(uci90_lab *lab, const uci90_set *set,
                                               const uci90_split *split, uci90_scores *out);
void uci90_scores_free(uci90_scores *s);
FAR_NODISCARD far_status uci90_run(uci90_lab *lab, const uci90_set *set, bool nested,
                                   uci90_result *out);

/* ---- uci90_workers.c, uci90_report.c ---- */

typedef struct uci90_task {
    const char *dir;
    const uci90_entry *entry; /* count of them, largest first */
    int64_t count;
    bool nested, quiet;
    int jobs;
} uci90_task;

/* Runs every entry, jobs of them at a time in processes of their own. NULL: there is no memory for
 * the results, or no process. result[i] belongs to entry[i]; free with uci90_results_free. */
uci90_result *uci90_work(const uci90_task *task);
void uci90_results_free(uci90_result *results, int64_t count);

double uci90_mean(const uci90_result *results, int64_t count, uci90_column column);
void uci90_print_table(FILE *to, const uci90_result *results, int64_t count);
void uci90_print_explanation(FILE *to, bool nested);
FAR_NODISCARD bool uci90_write_csv(const char *path, const uci90_result *results, int64_t count);

#endif
