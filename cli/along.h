/* Directions given on the command line, and where a predictor goes along them. */
#ifndef FAR_CLI_ALONG_H
#define FAR_CLI_ALONG_H

#include "subject.h"

/* Zero-initialise; along_free is always safe. */
typedef struct along {
    const char *label; /* what the user gave: a list or a file */
    bool inlined;      /* a list: one direction */
    far_mat direction; /* rows x inputs, raw units */
    far_mat mean;      /* rows x outputs: the limit, or the coefficient of t^order */
    far_mat order;     /* rows x outputs */
} along;

/* Whether text is a list of numbers, "1,0,-2.5", and not the name of a file. */
bool along_is_list(const char *text);

/* text is such a list with one number for each input of the model, or a table of directions with
 * the model's inputs as columns: by name in any order, or by place if it has no header. Ranks stand
 * still far away and are left out (or 0 in a list of all inputs). Returns an exit code, with a line
 * on stderr if it is not 0. */
int along_eval(session *s, const far_predictor *m, const char *text, along *out);
/* Of output k along direction i. */
double along_order(const along *a, int64_t i, int64_t k);
void along_free(along *a);

#endif
