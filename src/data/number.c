/* Numbers to and from text: exact, quick for what tables hold, blind to the locale. */
#define _GNU_SOURCE
#include "data_internal.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef unsigned __int128 wide;

#define MAX_DIGITS 19 /* this many decimal digits fit in 64 bits */
#define MAX_POWER 27  /* 5^27 < 2^63 */

/* clang-format off */
static const uint64_t power5[MAX_POWER + 1] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u,
    244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u,
    3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u,
    11920928955078125u, 59604644775390625u, 298023223876953125u, 1490116119384765625u,
    7450580596923828125u};
static const double power10[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/* clang-format on */

/* ---- text to number ---- */

static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* digits / 10^k: a 64-bit quotient of digits / 5^k whose last bit also stands for the remainder,
 * rounded once by the conversion, then scaled by a power of two (exact: no subnormals here). */
static double divide(uint64_t digits, int k)
{
    int up = __builtin_clzll(digits), down = __builtin_clzll(power5[k]);
    uint64_t divisor = power5[k] << down;
    wide dividend = (wide)(digits << up) << 63;
    uint64_t quotient = (uint64_t)(dividend / divisor);
    uint64_t rest = (uint64_t)dividend - quotient * divisor;
    return (double)(quotient | (rest != 0)) * power_of_two(down - up - 63 - k);
}

/* digits * 10^exponent, correctly rounded; |exponent| <= MAX_POWER. */
static double decimal_value(uint64_t digits, int exponent)
{
    if (digits == 0) {
        return 0;
    }
    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << 53 && abs(exponent) <= 22) {
        return exponent < 0 ? (double)digits / power10[-exponent]
                            : (double)digits * power10[exponent]; /* both exact: one rounding */
    }
    if (exponent < 0) {
        return divide(digits, -exponent);
    }
    return (double)((wide)digits * power5[exponent]) * power_of_two(exponent);
}

static double slow_value(const char *text)
{
    return strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", 0)); /* the C locale is static */
}

static const char *take_digits(const char *p, uint64_t *digits)
{
    uint64_t value = *digits;
    for (unsigned d; (d = (unsigned)(*p - '0')) <= 9; p++) {
        value = value * 10 + d; /* wraps beyond MAX_DIGITS; not used then */
    }
    *digits = value;
    return p;
}

/* Adds "e-12" at p to *exponent; an e without digits is not part of the number. */
static const char *take_exponent(const char *p, int64_t *exponent)
{
    if ((*p | 32) != 'e') {
        return p;
    }
    const char *q = p + 1;
    bool negative = *q == '-';
    q += *q == '-' || *q == '+';
    const char *first = q;
    int64_t value = 0;
    for (unsigned d; (d = (unsigned)(*q - '0')) <= 9; q++) {
        value = value > 99999 ? value : value * 10 + d;
    }
    *exponent += negative ? -value : value;
    return q == first ? p : q;
}

static int64_t leading_zeros(const char *p)
{
    int64_t zeros = 0;
    for (; *p == '0' || *p == '.'; p++) {
        zeros += *p == '0';
    }
    return zeros;
}

static const char *parse_word(const char *p, bool negative, double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN}, {"infinity", INFINITY}, {"inf", INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncasecmp(p, words[i].word, length) == 0) {
            *out = negative ? -words[i].value : words[i].value;
            return p + length;
        }
    }
    return NULL;
}

const char *far_number_parse(const char *text, double *out)
{
    bool negative = *text == '-';
    const char *first = text + (*text == '-' || *text == '+');
    uint64_t digits = 0;
    const char *p = take_digits(first, &digits);
    int64_t count = p - first, exponent = 0;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = take_digits(fraction, &digits);
        exponent = fraction - p;
        count -= exponent;
    }
    if (count == 0) {
        return parse_word(first, negative, out);
    }
    p = take_exponent(p, &exponent);
    if ((count <= MAX_DIGITS || count - leading_zeros(first) <= MAX_DIGITS) &&
        ((exponent >= -MAX_POWER && exponent <= MAX_POWER) || digits == 0)) {
        double value = decimal_value(digits, (int)exponent);
        *out = negative ? -value : value;
    } else {
        *out = slow_value(text);
    }
    return p;
}

/* ---- number to text ---- */

static int print_slowly(char *out, double value, int digits)
{
    locale_t old = uselocale(newlocale(LC_ALL_MASK, "C", 0));
    char text[FAR_NUMBER_BYTES + 1];
    int length = snprintf(text, sizeof text, "%.*g", digits, value);
    uselocale(old);
    memcpy(out, text, (size_t)length);
    return length;
}

/* round(mantissa * 2^exponent * 10^power), exact and ties to even as printf does; the result is
 * known to be under 2^63. */
static uint64_t scaled(uint64_t mantissa, int exponent, int power)
{
    wide product = (wide)mantissa * power5[power];
    int shift = exponent + power;
    if (shift >= 0) {
        return (uint64_t)(product << shift);
    }
    uint64_t result = (uint64_t)(product >> -shift);
    wide rest = product & (((wide)1 << -shift) - 1), half = (wide)1 << (-shift - 1);
    return result + (rest > half || (rest == half && (result & 1)));
}

static char *put_zeros(char *p, int count)
{
    memset(p, '0', (size_t)count);
    return p + count;
}

static char *put_exponent(char *p, int exponent)
{
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    int size = abs(exponent);
    *p++ = (char)('0' + size / 10); /* the quick path stays under 1e100 */
    *p++ = (char)('0' + size % 10);
    return p;
}

/* d.ddd * 10^exponent in printf's %g layout. */
static char *put_layout(char *p, const char *d, int count, int exponent, int digits)
{
    bool fixed = exponent >= -4 && exponent < digits;
    int whole = !fixed ? 1 : exponent < 0 ? 0 : exponent + 1; /* digits before the point */
    int taken = whole < count ? whole : count;
    if (whole == 0) {
        *p++ = '0';
    }
    memcpy(p, d, (size_t)taken);
    p = put_zeros(p + taken, whole - taken);
    if (taken < count) {
        *p++ = '.';
        p = put_zeros(p, fixed && exponent < 0 ? -exponent - 1 : 0);
        memcpy(p, d + taken, (size_t)(count - taken));
        p += count - taken;
    }
    return fixed ? p : put_exponent(p, exponent);
}

static void put_digits(char *out, uint64_t number, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
    }
}

/* The decimal exponent of value, perhaps one too small; value = m 2^exponent, 2^52 <= m < 2^53. */
static int decimal_exponent(int exponent)
{
    return ((exponent + 52) * 78913) >> 18; /* log10(2) = 78913 / 2^18, rounded down */
}

static int put_word(char *out, const char *word)
{
    size_t length = strlen(word);
    memcpy(out, word, length);
    return (int)length;
}

int far_number_print(char *out, double value, int digits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 2047) - 1075;
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int tens = decimal_exponent(exponent);
    if (value == 0 || isnan(value)) {
        return put_word(out, isnan(value) ? "nan" : signbit(value) ? "-0" : "0");
    }
    if (digits - 1 - tens > MAX_POWER || tens >= digits - 1) {
        return print_slowly(out, value, digits); /* also subnormals and inf */
    }
    uint64_t limit = (uint64_t)power10[digits];
    uint64_t number = scaled(mantissa, exponent, digits - 1 - tens);
    if (number >= limit) {
        number = scaled(mantissa, exponent, digits - 1 - ++tens);
    }
    char d[20], *p = out;
    put_digits(d, number, digits);
    int count = digits;
    while (count > 1 && d[count - 1] == '0') {
        count--;
    }
    if (value < 0) {
        *p++ = '-';
    }
    return (int)(put_layout(p, d, count, tens, digits) - out);
}
