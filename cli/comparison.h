/* A comparison of models for people, and as files. */
#ifndef FAR_CLI_COMPARISON_H
#define FAR_CLI_COMPARISON_H

#include "session.h"

#include <farfield/compare.h>
#include <stdio.h>

/* The table, and what it shows in words. */
void comparison_print(const far_comparison *c);

/* ---- pieces of it, for a report ---- */

enum { COMPARISON_COLUMNS = 8 }; /* R2 in, R2 out, RMSE in and out, |f| in and out, verdict, time */
typedef char comparison_cell[64];

/* Whether there is anything but a message to show. */
bool comparison_scored(const far_compare_row *r);
/* Whether a certificate was asked for and nothing is proven; reason tells why. */
bool comparison_open(const far_compare_row *r);
void comparison_cells(const far_compare_row *r, comparison_cell cells[COMPARISON_COLUMNS]);
/* Sentences: which model is the best; how far predictions went. */
void comparison_tell_best(FILE *out, const far_comparison *c);
void comparison_tell_reach(FILE *out, const far_comparison *c);
/* "none, linear": the models of that verdict; how many. out may be NULL. */
int64_t comparison_tell_judged(FILE *out, const far_comparison *c, far_verdict verdict);

/* ---- files ---- */

/* compare.json (which is text), compare.csv and predictions.csv in folder, each whole or not at
 * all. Returns an exit code, with a line on stderr if it is not 0. */
int comparison_report(const session *s, const far_comparison *c, const char *text,
                      const char *folder);

#endif
