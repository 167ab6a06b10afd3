/* How well the networks of a trial do in and out of the domain, beside what the paper has. */
#ifndef FAR_EXPERIMENTS_LN_SCORE_H
#define FAR_EXPERIMENTS_LN_SCORE_H

#include "ln_trial.h"

/* R2 in and out of the domain as the paper has it, with half the 95% interval. */
typedef struct ln_published {
    far_compare_average out, in;
} ln_published;

typedef struct ln_row {
    char *name;                  /* ln_rows_free frees it */
    const ln_published *paper;   /* NULL: not in the paper */
    far_compare_average out, in; /* over the seeds; NAN where there is no interval */
    double most;                 /* the largest |prediction| out of the domain */
    /* for all inputs there are, the worst over the networks of all seeds: */
    int32_t verdict; /* a far_verdict */
    double bound;    /* of |f|; NAN: not computed */
} ln_row;

/* ---- ln_score.c ---- */

/* R2 over the points whose out is as told; the largest |f| among them to most, unless NULL. */
double ln_r2(const far_compare_points *points, const double *f, bool out, double *most);

/* Rows of the LN_NETS trained networks over all seeds; of those of infinite width, over one split;
 * of the baseline of that name (its row may be absent: false). */
far_status ln_score_networks(ln_trial *t, const ln_published *paper, ln_row *rows);
far_status ln_score_infinite(ln_trial *t, ln_row *rows);
bool ln_score_baseline(const ln_trial *t, const char *model, const char *name,
                       const ln_published *paper, ln_row *row);
void ln_rows_free(ln_row *rows, int64_t count);
/* Three seeds at least: fewer say nothing of an interval, and are not held against the paper's. */
bool ln_has_intervals(const ln_trial *t);

/* ---- ln_score_report.c ---- */

/* Whether two 95% intervals overlap, the paper's being rounded to two digits, and are narrow enough
 * to say something. */
bool ln_agree(far_compare_average ours, far_compare_average paper);

#define LN_TABLE_CAPTION(what, target)                                                             \
    what ": R2 of " target " out of the domain and in it; the largest |prediction| out of the "    \
         "domain; what is proven of |f| for every input: the worst over the networks of all "      \
         "seeds (at infinite width: of the one split)."
/* The table, and as bars; judged: whether its cells are held against the paper's. */
far_status ln_keep_table(reproduction *r, const char *name, const char *caption, const ln_row *rows,
                         int64_t count, bool judged);
far_status ln_keep_bars(reproduction *r, const char *name, const ln_row *rows, int64_t count);
/* A claim for each of the paper's cells. place: "Table 1". */
far_status ln_claim_cells(reproduction *r, const char *place, int64_t seeds, const ln_row *rows,
                          int64_t count);
/* Of the rows of LN_NETS networks: those with a norm are above the one without, out of the domain;
 * they are bounded, and it is not. */
far_status ln_claim_order(reproduction *r, const char *place, int64_t seeds, const ln_row *rows);
far_status ln_claim_bounds(reproduction *r, int64_t seeds, const ln_row *rows);

#endif
