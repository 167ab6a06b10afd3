/* Networks side by side on the three toy sets: one panel a set, one line a network. */
#ifndef FAR_EXPERIMENTS_LN_PANELS_H
#define FAR_EXPERIMENTS_LN_PANELS_H

#include "ln_toy.h"

typedef struct variant {
    const char *name; /* for people */
    const char *word; /* for files */
    int where;        /* LN_NONE, ...: where the norm stands */
    const char *norm, *activation;
    int colour;
} variant;

/* Of the quick form: enough for certificates, not for the last digit. */
enum { PANEL_EPOCHS = 100 };

/* What came out, over all sets and seeds. */
typedef struct tally {
    int64_t count, bounded, unbounded;
    double bound[TOY_SETS];
    double least_slope, most_slope;
    double r2; /* the least on training points */
} tally;

/* An empty panel for each set. titles: whether the sets' names stand above, row: at the left of the
 * first (may be NULL). */
far_status variant_panels(reproduction *r, bool titles, const char *row,
                          far_figure *panels[TOY_SETS]);
/* Trains and certifies the variant on every set and draws it. */
far_status variant_add(reproduction *r, const variant *c, far_figure *const panels[TOY_SETS],
                       tally *out);
/* Training points over the lines, when all are in. */
far_status variant_data(reproduction *r, far_figure *const panels[TOY_SETS]);

/* That all are proven bounded, or unbounded. */
far_status claim_all_proven(reproduction *r, const tally *t, bool bounded, const char *what,
                            const char *place);

/* Columns of a table: "15 of 15 unbounded", the bounds for each set, the least R2. */
#define TALLY_HEADS "proven", "|f| at most: sin x", "x", "x^2", "least R2 in range"
enum { TALLY_COLS = 5 };
void add_tally(sheet *s, const tally *t);

#endif
