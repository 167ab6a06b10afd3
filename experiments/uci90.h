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
    UCI90_ENCODINGS = 5,
    UCI90_FIRST_ENCODINGS = 4, /* those that a, b and c choose among */
    UCI90_RIDGES = 6,
    UCI90_CANDIDATES = UCI90_ENCODINGS * UCI90_NETS * UCI90_RIDGES,
    UCI90_FOLDS = 4,
    UCI90_PARTS = 4,    /* of a fold's training rows, to choose by cross-validation */
    UCI90_LARGE = 2500, /* sets of more rows are judged on the first parts only, for time */
    UCI90_PARTS_OF_LARGE = 2,
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
    UCI90_ONE_HOT,    /* columns of 3 to 10 values become indicators */
    UCI90_NORMAL,     /* each column by its ranks, as normal scores */
    UCI90_RELEVANCE,  /* each column by how much a first fit depends on it */
    UCI90_DIRECTIONS, /* and each direction: the root of the whole matrix of relevance */
} uci90_encoding;

typedef struct uci90_features {
    int64_t rows, width;
    double *z;
} uci90_features;

/* Whether the encoding makes anything new of this set. */
bool uci90_encoding_applies(const uci90_set *set, uci90_encoding encoding);
bool uci90_encoding_sees_labels(uci90_encoding encoding);
/* All rows encoded. Encodings that see labels see only those of train. */
FAR_NODISCARD far_status uci90_encode(uci90_lab *lab, const uci90_set *set, uci90_encoding encoding,
                                      const uci90_rows *train, uci90_features *out);
void uci90_features_free(uci90_features *f);
double uci90_normal_quantile(double p);

/* m (d x d) = sum over rows i of train and classes c of g g', g = d f_c(x_i) / d x, up to one
 * factor, f being the first network fitted to train, without the terms of rows that equal x_i. */
FAR_NODISCARD far_status uci90_relevance(uci90_lab *lab, const uci90_set *set,
                                         const uci90_rows *train, double *m);
/* z := z L (all rows), at the old mean square over train. L L' = m where turn, else L is the root
 * of m's diagonal. m is overwritten. */
FAR_NODISCARD far_status uci90_weigh(uci90_lab *lab, double *m, bool turn, const uci90_rows *train,
                                     uci90_features *f);

/* ---- uci90_fit.c: scores of one network on one split ---- */

/* The chosen rows of f, packed. */
double *uci90_gather(const uci90_features *f, const uci90_rows *rows);
/* Indicators of the classes less their mean over rows, without the last class (which is less the
 * sum of the others): count x (classes - 1). mean has all classes. */
double *uci90_targets(const uci90_set *set, const uci90_rows *rows, double *mean);
/* x = (K + ridge mean(diag K) I)^-1 b; b and x are n x p. */
FAR_NODISCARD far_status uci90_solve(uci90_lab *lab, const far_mat *k, double ridge,
                                     const far_mat *b, far_mat *x);
/* The kernel of some rows, for all splits of them. */
typedef struct uci90_gram {
    far_mat k;
    int64_t *place; /* of a row of the table in k */
} uci90_gram;

FAR_NODISCARD far_status uci90_gram_make(uci90_lab *lab, const uci90_features *f,
                                         const far_kernel *net, const uci90_rows *rows,
                                         uci90_gram *out);
void uci90_gram_free(uci90_gram *g);
/* Writes the rows split->test of scores[r] (n x classes) for every ridge whose scores[r] is not
 * NULL. */
FAR_NODISCARD far_status uci90_fit(uci90_lab *lab, const uci90_set *set, const uci90_gram *g,
                                   const uci90_split *split, double *const scores[UCI90_RIDGES]);

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

/* ---- uci90_link.c: probabilities ---- */

typedef struct uci90_link {
    double slope[2]; /* of a class's score, and of its logarithm */
    double floor;    /* what is left to all classes alike */
} uci90_link;

/* Such that the log loss over rows is least; scores are of fits that have not seen them. */
uci90_link uci90_link_fit(const uci90_set *set, const uci90_rows *rows, const double *scores);
void uci90_link_apply(const uci90_link *link, const double *scores, int64_t classes, double *p);
FAR_NODISCARD far_status uci90_log_loss(uci90_lab *lab, const uci90_set *set,
                                        const uci90_rows *rows, const double *scores,
                                        const uci90_link *link, double *out);

/* ---- uci90_protocol.c: one set, start to end ---- */

typedef enum uci90_column {
    UCI90_SINGLE,    /* a: the best by accuracy on the validation half, as published */
    UCI90_CLOSEST,   /* b: the best by squared error, both ways */
    UCI90_COMMITTEE, /* c */
    UCI90_NESTED,    /* d: a committee chosen from the training rows of each fold alone, by
                        cross-validation */
    UCI90_COLUMNS,
} uci90_column;

typedef struct uci90_result {
    char name[UCI90_NAME_BYTES];
    int64_t n, d, classes;
    double percent[UCI90_COLUMNS]; /* of test rows that were right, mean over folds; NAN: not run */
    double log_loss[UCI90_COLUMNS]; /* mean over folds */
    double seconds;
    bool done;
    char message[UCI90_MESSAGE_BYTES];
} uci90_result;

/* Room for the scores of every candidate of the first encodings that applies to the set. */
uci90_scores uci90_scores_make(const uci90_set *set, int encodings);
/* The test rows of each split, by a fit to its training rows; the splits are of the same rows. */
FAR_NODISCARD far_status uci90_score(uci90_lab *lab, const uci90_set *set,
                                     const uci90_split *splits, int count,
                                     const uci90_scores *scores);
/* Parts rows in UCI90_PARTS, each class evenly, in the order they are listed: the splits test one
 * part each. */
void uci90_part(const uci90_set *set, const uci90_rows *rows, uci90_split splits[UCI90_PARTS]);

/* A choice, and what it scored on rows that its fits had not seen. */
typedef struct uci90_judged {
    uci90_choice choice;
    uci90_rows rows;  /* those rows */
    double *held_out; /* n x classes */
} uci90_judged;

void uci90_judged_free(uci90_judged *j);
/* d's choice: looks at the labels of train alone. */
FAR_NODISCARD far_status uci90_choose_within(uci90_lab *lab, const uci90_set *set,
                                             const uci90_rows *train, uci90_judged *out);
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

/* Of the percentages. */
double uci90_mean(const uci90_result *results, int64_t count, uci90_column column);
double uci90_mean_loss(const uci90_result *results, int64_t count, uci90_column column);
void uci90_print_table(FILE *to, const uci90_result *results, int64_t count);
void uci90_print_explanation(FILE *to, bool nested);
FAR_NODISCARD bool uci90_write_csv(const char *path, const uci90_result *results, int64_t count);

#endif
