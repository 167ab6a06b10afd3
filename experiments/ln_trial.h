/*
 * Networks with and without layer norms on real data with a shift: what the experiments with
 * proteins (ln-table1, ln-fig3) and faces (ln-table2, ln-fig4) share. Nine tenths of the rows in
 * the domain are for training; the other tenth and all rows out of the domain are for tests. Each
 * seed has a split and random weights of its own.
 *
 * What took time is kept in FOLDER/networks: trained networks, and models of infinite width.
 */
#ifndef FAR_EXPERIMENTS_LN_TRIAL_H
#define FAR_EXPERIMENTS_LN_TRIAL_H

#include "ln_toy.h" /* LN_NONE and its like; their texts */

typedef struct ln_recipe {
    const char *name;              /* of kept files */
    const char *target, *features; /* as in far_fit_opts */
    const char *shift;             /* what is out of the domain */
    const char *baselines;         /* as far_compare_opts.models, at least one */
    const char *baseline_features; /* that they see */
    int64_t seeds, epochs, batch;  /* batch 0: all rows */
    double rate[LN_NETS];          /* of Adam */
    int32_t standardize;           /* a far_standardize, of trained networks */
    int64_t thinning;              /* of the rows in the domain each so many-th is used */
    int64_t infinite_rows;         /* at most so many for infinite width; 0: all */
    int64_t subset;                /* of them, for choosing the ridge */
    double certify_seconds;        /* for each row: its seeds share it */
} ln_recipe;

typedef struct ln_trial {
    reproduction *r;
    ln_recipe recipe;
    far_frame *frame;
    far_comparison *baselines; /* of all seeds; its splits are everyone's */
    unsigned char *used;       /* rows that take part at all */
    const char *lender;        /* an experiment whose kept networks serve this one, too; or NULL */
    /* of the present split: */
    int64_t seed;
    unsigned char *train, *test; /* test: in and out of the domain */
    far_compare_points points;   /* the rows of test */
    far_examples *data;          /* the rows of train */
    bool trained;                /* by ln_trial_train */
} ln_trial;

/* The name of a recipe for that data set: quick and sabotaged runs have files of their own. */
const char *ln_recipe_name(reproduction *r, const char *set);
/* Reads the table and runs the baselines. */
far_status ln_trial_open(reproduction *r, const char *path, const ln_recipe *recipe, ln_trial *out);
void ln_trial_close(ln_trial *t);
/* Makes the split of that seed the present one. */
far_status ln_trial_split(ln_trial *t, int64_t seed);

/* Trains the networks of all seeds, several side by side; kept ones serve if the run is resumed. */
far_status ln_trial_train(ln_trial *t);
/* After that: a network of the present split, and the one of infinite width (fitted now, unless it
 * is kept and the run is resumed). where: of the norm, LN_NONE to LN_EVERY. */
far_status ln_network(ln_trial *t, int where, far_predictor **out);
far_status ln_infinite(ln_trial *t, int where, far_predictor **out);

/* Predictions for t->points. */
far_status ln_predict(const ln_trial *t, const far_predictor *p, far_prediction **out);
/* Those of such a network, which is not needed otherwise. */
far_status ln_predict_by(ln_trial *t, int where, bool infinite, far_prediction **out);

/* Two panels side by side with axes in common, as a figure of the report. Takes them, also if it
 * fails, and returns drawn unless that is FAR_OK. x_label, y_label: of both. */
far_status ln_keep_pair(reproduction *r, far_status drawn, far_figure *panels[2],
                        const char *x_label, const char *y_label, const char *name,
                        const char *caption);

#endif
