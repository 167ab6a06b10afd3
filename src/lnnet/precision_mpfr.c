/*
 * Chains and passes in as many bits as asked for, through MPFR. A number is MPFR's header; its
 * digits lie in memory of ours: behind the headers of an array, or on the pad of the thread.
 */
#include "precision.h"

#include <assert.h>
#include <mpfr.h>

#define ROUND MPFR_RNDN
#define PAD_NUMBERS 128 /* more than a layer of a chain takes, whatever its points are */

typedef __mpfr_struct number;

static size_t digits_size(int64_t bits)
{
    return mpfr_custom_get_size((mpfr_prec_t)bits);
}

static number new_at(void *digits, int64_t bits)
{
    number x;
    mpfr_custom_init(digits, (mpfr_prec_t)bits);
    mpfr_custom_init_set(&x, MPFR_ZERO_KIND, 0, (mpfr_prec_t)bits, digits);
    return x;
}

static void start(void *array, int64_t bits, int64_t count)
{
    number *x = array;
    char *digits = (char *)(x + count);
    for (int64_t i = 0; i < count; i++) {
        x[i] = new_at(digits + (size_t)i * digits_size(bits), bits);
    }
}

/* ---- the pad ------------------------------------------------------------------------------- */

static _Thread_local struct {
    char *digits;
    size_t each; /* bytes */
    int64_t bits, used;
} pad;

static void open_pad(void *digits, int64_t bits)
{
    pad.digits = digits;
    pad.each = digits_size(bits);
    pad.bits = bits;
    pad.used = 0;
}

static number fresh(void)
{
    assert(pad.used < PAD_NUMBERS);
    return new_at(pad.digits + (size_t)pad.used++ * pad.each, pad.bits);
}

/* ---- operations ---------------------------------------------------------------------------- */

typedef int binary(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
typedef int unary(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

static inline number of_two(binary *f, number a, number b)
{
    number x = fresh();
    f(&x, &a, &b, ROUND);
    return x;
}

static inline number of_one(unary *f, number a)
{
    number x = fresh();
    f(&x, &a, ROUND);
    return x;
}

static number times(number a, long n)
{
    number x = fresh();
    mpfr_mul_si(&x, &a, n, ROUND);
    return x;
}

static number over(number a, long n)
{
    number x = fresh();
    mpfr_div_si(&x, &a, n, ROUND);
    return x;
}

static number of_double(double d)
{
    number x = fresh();
    mpfr_set_d(&x, d, ROUND);
    return x;
}

static number power(int64_t n)
{
    number x = fresh();
    mpfr_set_ui_2exp(&x, 1, n, ROUND);
    return x;
}

static double difference(number a, number b)
{
    MPFR_DECL_INIT(x, 53);
    mpfr_sub(x, &a, &b, ROUND);
    return mpfr_get_d(x, ROUND);
}

static double near(number a)
{
    return mpfr_get_d(&a, ROUND);
}

static bool less(number a, number b)
{
    return mpfr_less_p(&a, &b);
}

static bool at_most(number a, number b)
{
    return mpfr_lessequal_p(&a, &b);
}

#define EXPONENT 32 /* characters beside the digits */

static void append(far_text *out, number value)
{
    char *digits = NULL;
    int places = (int)mpfr_get_str_ndigits(10, mpfr_get_prec(&value)), size = places + EXPONENT;
    far_status st = far_alloc(out->ctx, size, &digits);
    if (st != FAR_OK) {
        out->status = st;
        return;
    }
    mpfr_snprintf(digits, (size_t)size, "%.*Re", places - 1, &value);
    far_text_add(out, "%s", digits);
    far_free(out->ctx, digits);
}

#define REAL number
#define NAME(x) x##_mpfr
#define BITS pad.bits
#define APPEND append
#define PARSE(text, end, to) mpfr_strtofr(to, text, end, 10, ROUND)

#define ADD(a, b) of_two(mpfr_add, a, b)
#define SUB(a, b) of_two(mpfr_sub, a, b)
#define MUL(a, b) of_two(mpfr_mul, a, b)
#define DIV(a, b) of_two(mpfr_div, a, b)
#define TIMES times
#define OVER over
#define NEG(a) of_one(mpfr_neg, a)
#define ABS(a) of_one(mpfr_abs, a)
#define SQRT(a) of_one(mpfr_sqrt, a)

#define NUM of_double
#define POWER power
#define NEAR near
#define DIFFERENCE difference

#define LESS less
#define AT_MOST at_most
#define IS_POSITIVE(a) (mpfr_sgn(&(a)) > 0)
#define IS_ZERO(a) (mpfr_zero_p(&(a)) != 0)
#define IS_FINITE(a) (mpfr_number_p(&(a)) != 0)

#define NEW fresh()
#define SET(x, a)                                                                                  \
    do {                                                                                           \
        int64_t before_ = pad.used;                                                                \
        number value_ = (a);                                                                       \
        mpfr_set(&(x), &value_, ROUND);                                                            \
        pad.used = before_;                                                                        \
    } while (0)
#define SET_TO(x, d) mpfr_set_d(&(x), d, ROUND)
#define MARK pad.used
#define RELEASE(mark) (pad.used = (mark))

#define NUMBER_SIZE(bits) (sizeof(number) + digits_size(bits))
#define PAD_SIZE(bits) (PAD_NUMBERS * digits_size(bits))
#define START start
#define OPEN_PAD open_pad

#define PASS_ROWS 1
#include "precision_impl.h"

far_ln_ops far_ln_mpfr(int64_t bits)
{
    return (far_ln_ops)OPERATIONS(FAR_LNNET_MPFR, bits);
}
