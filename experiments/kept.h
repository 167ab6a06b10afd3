/*
 * Numbers of pieces of work that are done, in folder/kept: --resume takes them from there. A piece
 * has a name, and a note that says all that its numbers hang on; numbers with another note, or of
 * another version of the program, do not count.
 */
#ifndef FAR_EXPERIMENTS_KEPT_H
#define FAR_EXPERIMENTS_KEPT_H

#include "reproduce.h"

/* What was kept, count numbers; free them. NULL: nothing that would do, or no --resume. */
double *find_kept_numbers(reproduction *r, const char *name, const char *note, int64_t *count);
/* The same where the number of numbers is known: whether they are in out now. */
bool take_kept_numbers(reproduction *r, const char *name, const char *note, double *out,
                       int64_t count);
/* Of a sabotaged run nothing is kept. */
far_status keep_numbers_of(reproduction *r, const char *name, const char *note,
                           const double *values, int64_t count);

#endif
