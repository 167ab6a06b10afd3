/* Loops over plain numbers that every room needs, each in the order that is written. */
#include "base_internal.h"

#include <math.h>

double far_dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double far_largest_size(const double *v, int64_t n)
{
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(v[i]));
    }
    return size;
}

int64_t far_place_of_largest(const double *v, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        best = v[i] > v[best] ? i : best;
    }
    return best;
}

double far_softmax(double *v, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, v[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        v[i] = exp(v[i] - most);
        sum += v[i];
    }
    for (int64_t i = 0; i < n; i++) {
        v[i] /= sum;
    }
    return most + log(sum);
}
