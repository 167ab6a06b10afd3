/* Hermite series of the mixtures: E[phi(z) phi(z')] = sum_k a_k(r) a_k(r') rho^k. */
#ifndef FAR_HERMITE_H
#define FAR_HERMITE_H

#include "activation.h"

/* At most this many terms; more, and the closed mixture is cheaper or needed. */
#define FAR_SERIES_MAX 768
#define FAR_SERIES_TOLERANCE 3e-16L /* a call must not show which points it has beside */

typedef struct far_series {
    long double value[FAR_SERIES_MAX];  /* of phi(r u); soft relu: of phi(r u) / r */
    long double slope[FAR_SERIES_MAX];  /* of phi'(r u) */
    long double scaled[FAR_SERIES_MAX]; /* of z phi'(z); soft relu: over r */
    /* how they change with ln r */
    long double value_rate[FAR_SERIES_MAX], slope_rate[FAR_SERIES_MAX];
    long double scaled_rate[FAR_SERIES_MAX];
} far_series;

void far_series_of(const far_activation *a, far_big r, int terms, far_series *out);

/* How many terms leave less than the tolerance of the variance of phi and phi' for standard
 * deviations up to widest (by Parseval, so no term is forgotten); 0 if the mixture must serve. */
int far_series_terms(const far_activation *a, double widest);

#endif
