/* A comparison of models for people, and as files. */
#ifndef FAR_CLI_COMPARISON_H
#define FAR_CLI_COMPARISON_H

#include "session.h"

#include <farfield/compare.h>

/* The table, and what it shows in words. */
void comparison_print(const far_comparison *c);

/* compare.json (which is text), compare.csv and predictions.csv in folder, each whole or not at
 * all. Returns an exit code, with a line on stderr if it is not 0. */
int comparison_report(const session *s, const far_comparison *c, const char *text,
                      const char *folder);

#endif
