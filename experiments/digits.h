/* Handwritten digits of 8 x 8 pixels, the data set optdigits. */
#ifndef FAR_EXPERIMENTS_DIGITS_H
#define FAR_EXPERIMENTS_DIGITS_H

#include "reproduce.h"

enum { DIGIT_PIXELS = 64 };

typedef struct digits {
    int64_t rows;
    double *x;     /* rows x DIGIT_PIXELS, from 0 to 1 as they are read */
    double *digit; /* 0 to 9 */
} digits;

/* The 3823 digits of the training file. FAR_ERR_IO says how to get them. */
far_status digits_open(reproduction *r, digits *out);
/* The 1797 digits of the test file, by other writers. */
far_status digits_open_test(reproduction *r, digits *out);
/* The same ones in an order that hangs on the seed alone. */
digits digits_shuffled(const digits *d, uint64_t seed);
/* Every pixel with mean 0 and variance 1 over the rows; one that is always the same becomes 0. */
void digits_standardise(digits *d);
void digits_free(digits *d);

/* rows of the pixels from row first on. */
far_mat digits_points(const digits *d, int64_t first, int64_t rows);

/* +1 or -1 for each digit: whether it is odd, whether it is at least 5. */
double digit_is_odd(double digit);
double digit_is_large(double digit);

#endif
