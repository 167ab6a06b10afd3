/* What a rounded product or sum dropped. Its users are compiled with -ffp-contract=off: a product
 * that is fused with the sum behind it has no rounding to find. */
#ifndef FAR_DOUBLED_SUM_H
#define FAR_DOUBLED_SUM_H

#ifdef __FMA__
static inline double product_error(double a, double b, double product)
{
    return __builtin_fma(a, b, -product);
}
#else
/* Veltkamp and Dekker: both factors in halves of 26 bits, whose products are exact. */
static inline double high_half(double a)
{
    double c = 0x1.000002p27 * a;
    return c - (c - a);
}

static inline double product_error(double a, double b, double product)
{
    double ah = high_half(a), al = a - ah, bh = high_half(b), bl = b - bh;
    return al * bl - (((product - ah * bh) - al * bh) - ah * bl);
}
#endif

/* y + y_low += p + p_low, by Knuth's sum. */
static inline void add_pair(double *y, double *y_low, double p, double p_low)
{
    double old = *y, sum = old + p, added = sum - old;
    double error = (old - (sum - added)) + (p - added);
    *y = sum;
    *y_low += error + p_low;
}

/* y + y_low += a (x + x_low) */
static inline void add_product(double *y, double *y_low, double a, double x, double x_low)
{
    double product = a * x;
    add_pair(y, y_low, product, product_error(a, x, product) + a * x_low);
}

#endif
