/* A certificate in words. */
#ifndef FAR_CLI_VERDICT_H
#define FAR_CLI_VERDICT_H

#include "along.h"

#include <farfield/predictor.h>
#include <farfield/result.h>

/* Lines on one output. level: what |f| is to be compared with; NAN: nothing. */
/* scope: "for every input", or those of a box (verdict_scope). */
void verdict_tell(far_result *r, const far_predictor *m, const far_bound *b, double level,
                  const char *scope);
enum { SCOPE_BYTES = 96 };
const char *verdict_scope(const far_certificate *c, char out[SCOPE_BYTES]);
/* The answer to "is |f| above level?" (free it); NULL: nobody asked. */
char *verdict_level(const far_predictor *m, const far_bound *b, double level);
/* What its numbers are about where columns are categorical or have ranks; NULL: there is nothing to
 * say. */
enum { DOMAIN_BYTES = 160 };
const char *verdict_domain(const far_predictor *m, const far_bound *b, char out[DOMAIN_BYTES]);
/* Whether output k is told of in words: all are, but of more than 50 (networks of text have
 * thousands) only those 10 that are not bounded or have the largest bounds. JSON has all. */
bool verdict_is_told(const far_certificate *c, int64_t k);
/* The bounds of those that have some and are told of, in one table. */
void verdict_table(far_result *r, const far_certificate *c);
/* Where it goes along the directions: lines for a terminal, a list "along" in JSON. */
void verdict_along(far_result *r, const far_predictor *m, const along *a);

/* The bounds that a table shows, by their names: tightest first, then the paper's, or what each
 * method proves. How many. */
enum { VERDICT_COLUMNS = 5 };
int verdict_columns(const far_bound *b, far_proof out[VERDICT_COLUMNS]);

/* "0.218 t", "0.5 t^2"; markup: with powers as a page writes them. */
enum { GROWTH_BYTES = 64 };
const char *verdict_growth(double slope, double order, int digits, bool markup,
                           char out[GROWTH_BYTES]);

#endif
