/* Steps of 1, 2 or 5 times a power of ten; whole decades on log axes. */
#include "axis.h"

#include <farfield/plot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-9 /* of a step: a limit this close to a tick has it */
#define GROUPS_FROM 5 /* digits: thin spaces between thousands */
#define MINUS "\xe2\x88\x92"
#define THIN "\xe2\x80\x89"

static double power10(int exponent)
{
    return exponent < 0 ? 1 / pow(10, -exponent) : pow(10, exponent);
}

/* mantissa * 10^exponent with one rounding where powers of ten are exact. */
static double scaled(int64_t mantissa, int exponent)
{
    return exponent < 0 ? (double)mantissa / pow(10, -exponent)
                        : (double)mantissa * pow(10, exponent);
}

/* ---- numbers as labels ---- */

/* A label being written. */
typedef struct label {
    char *text;
    size_t used, capacity;
} label;

static void put(label *l, const char *text, size_t length)
{
    if (l->used + length < l->capacity) {
        memcpy(l->text + l->used, text, length);
        l->used += length;
    }
    l->text[l->used] = 0;
}

static void put_thousands(label *l, const char *digits, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0 && count >= GROUPS_FROM) {
            put(l, THIN, strlen(THIN));
        }
        put(l, digits + i, 1);
    }
}

/* units * 10^-decimals with so many decimals; 0 is plain. */
static void put_decimal(char *out, int64_t units, int decimals)
{
    char digits[32];
    label l = {out, 0, FAR_TICK_BYTES};
    int64_t size = llabs(units);
    for (; decimals < 0; decimals++) {
        size *= 10;
    }
    int least = units == 0 ? 1 : decimals < 18 ? decimals + 1 : 19;
    int count = snprintf(digits, sizeof digits, "%0*lld", least, (long long)size);
    int whole = units == 0 ? 1 : count - decimals;
    put(&l, MINUS, units < 0 ? strlen(MINUS) : 0);
    put_thousands(&l, digits, whole);
    put(&l, ".", whole < count ? 1 : 0);
    put(&l, digits + whole, (size_t)(count - whole));
}

/* "10^{3}", "2x10^{3}" */
static void put_power(char *out, size_t capacity, int sign, int mantissa, int exponent)
{
    char lead[16] = "";
    if (mantissa != 1) {
        snprintf(lead, sizeof lead, "%d" FAR_TIMES, mantissa);
    }
    snprintf(out, capacity, "%s%s10^{%s%d}", sign < 0 ? MINUS : "", lead, exponent < 0 ? MINUS : "",
             abs(exponent));
}

/* units * 10^exponent with all its digits: "20 000", "1.25x10^{7}". units > 0. */
static void put_exact(char *out, size_t capacity, int64_t units, int exponent)
{
    char digits[24], power[FAR_TICK_BYTES];
    for (; units % 10 == 0; units /= 10) {
        exponent++;
    }
    int count = snprintf(digits, sizeof digits, "%lld", (long long)units);
    int decade = exponent + count - 1;
    if (decade >= -3 && decade < 7) {
        put_decimal(power, units, -exponent);
        snprintf(out, capacity, "%s", power);
        return;
    }
    put_power(power, sizeof power, 1, 1, decade);
    snprintf(out, capacity, "%c%s%s" FAR_TIMES "%s", digits[0], count > 1 ? "." : "", digits + 1,
             power);
}

/* ---- linear ---- */

typedef struct steps {
    int mantissa, exponent;
    double low, high;    /* of the axis */
    int64_t first, last; /* ticks in units of the step */
} steps;

static const int MANTISSA[] = {1, 2, 5};

/* The index-th of the sequence ... 0.5, 1, 2, 5, 10 ...; 1 has the index 0. */
static steps steps_of(double low, double high, int index)
{
    int exponent = index >= 0 ? index / 3 : -((2 - index) / 3);
    steps s = {MANTISSA[index - 3 * exponent], exponent, low, high, 0, 0};
    double step = scaled(s.mantissa, exponent);
    s.first = (int64_t)ceil(low / step - ROUNDING);
    s.last = (int64_t)floor(high / step + ROUNDING);
    return s;
}

static int64_t steps_count(const steps *s)
{
    return s->last - s->first + 1;
}

/* The finest with at most so many ticks. One that leaves 3 where the next has 10 gives way to it.
 */
static steps choose_steps(double low, double high, int most)
{
    int index = 3 * (int)floor(log10(high - low)) - 4;
    steps finer = steps_of(low, high, index), s = finer;
    while (steps_count(&s) > most) {
        finer = s;
        s = steps_of(low, high, ++index);
    }
    bool few = steps_count(&s) < 4 && most >= 9 && steps_count(&finer) == 10;
    return few ? finer : s;
}

static int decade_of(double value)
{
    return value == 0 ? 0 : (int)floor(log10(fabs(value)) + 1e-12);
}

/* Of the largest label when so much is taken off all of them. */
static int largest_decade_of(const steps *s, int64_t offset)
{
    int64_t first = llabs(s->first - offset), last = llabs(s->last - offset);
    return decade_of((double)(first > last ? first : last) * s->mantissa) + s->exponent;
}

/* Numbers too long to tell apart at a glance: all of it but the last digits moves to the factor. */
static int64_t take_offset(const steps *s, far_ticks *out, int decade)
{
    int64_t lump = 10, kept = s->first / lump * lump;
    if (decade - s->exponent < 5 || kept == 0) {
        return 0;
    }
    char size[80];
    put_exact(size, sizeof size, llabs(kept * s->mantissa), s->exponent);
    snprintf(out->factor, sizeof out->factor, "%s %s", kept < 0 ? MINUS : "+", size);
    return kept;
}

static void put_factor(far_ticks *out, int exponent)
{
    char offset[sizeof out->factor], power[FAR_TICK_BYTES];
    memcpy(offset, out->factor, sizeof offset);
    put_power(power, sizeof power, 1, 1, exponent);
    snprintf(out->factor, sizeof out->factor, FAR_TIMES "%s%s%.90s", power, offset[0] ? " " : "",
             offset);
}

static void label_steps(const steps *s, far_ticks *out)
{
    int64_t offset = take_offset(s, out, largest_decade_of(s, 0));
    int decade = largest_decade_of(s, offset);
    int factor = decade >= 6 || decade <= -4 ? decade : 0;
    if (factor != 0) {
        put_factor(out, factor);
    }
    for (int i = 0; i < out->count; i++) {
        int64_t units = (s->first + i - offset) * s->mantissa;
        put_decimal(out->tick[i].label, units, factor - s->exponent);
    }
}

static void linear_ticks(double low, double high, int most, far_ticks *out)
{
    steps s = choose_steps(low, high, most);
    out->count = (int)steps_count(&s);
    out->mantissa = s.mantissa;
    out->exponent = s.exponent;
    for (int i = 0; i < out->count; i++) {
        out->tick[i].value = scaled((s.first + i) * s.mantissa, s.exponent);
    }
    label_steps(&s, out);
}

/* ---- log ---- */

/* A tick of a log axis: sign * mantissa * 10^exponent. */
static void add_power(far_ticks *out, int sign, int mantissa, int exponent)
{
    if (out->count < FAR_TICKS_MOST) {
        far_tick *t = &out->tick[out->count++];
        t->value = sign * scaled(mantissa, exponent);
        put_power(t->label, FAR_TICK_BYTES, sign, mantissa, exponent);
    }
}

/* Powers that people write out. */
static void label_plainly(far_ticks *out)
{
    for (int i = 0; i < out->count; i++) {
        double size = fabs(out->tick[i].value);
        if (size != 0 && (size < 0.00999 || size > 10001)) {
            return;
        }
    }
    for (int i = 0; i < out->count; i++) {
        double value = out->tick[i].value;
        int exponent = decade_of(value), decimals = exponent < 0 ? -exponent : 0;
        put_decimal(out->tick[i].label, llround(value * power10(decimals)), decimals);
    }
}

static void add_minor(far_ticks *out, double value, double low, double high)
{
    if (out->minor_count < FAR_MINOR_MOST && value > low && value < high) {
        out->minor[out->minor_count++] = value;
    }
}

/* 2 to 9 between neighbouring decades, or the decades that have no label. */
static void add_minor_powers(far_ticks *out, int sign, int first, int last, int stride, double low,
                             double high)
{
    for (int e = first; e <= last; e++) {
        if (stride > 1) {
            add_minor(out, sign * power10(e), low, high);
            continue;
        }
        for (int m = 2; m <= 9; m++) {
            add_minor(out, sign * scaled(m, e), low, high);
        }
    }
}

/* Decades between labels, so that there are at most so many of them, but three: two do not show a
 * log axis. */
static int choose_stride(int decades, int most)
{
    static const int STRIDE[] = {1, 2, 3, 5, 10, 20, 50, 100, 200, 500};
    int i = 0;
    while (i < 9 && (decades + STRIDE[i] - 1) / STRIDE[i] > most) {
        i++;
    }
    while (i > 0 && (decades - 1) / STRIDE[i] < 2) {
        i--;
    }
    return STRIDE[i];
}

/* Ticks at the first so many of 1, 2, 5 (or 1, 3) in each decade; their number. */
static int add_mantissas(far_ticks *out, double low, double high, const int *mantissa, int count)
{
    out->count = 0;
    int first = decade_of(low), last = decade_of(high);
    for (int e = first; e <= last; e++) {
        for (int i = 0; i < count; i++) {
            double value = scaled(mantissa[i], e);
            if (value >= low * (1 - ROUNDING) && value <= high * (1 + ROUNDING)) {
                add_power(out, 1, mantissa[i], e);
            }
        }
    }
    return out->count;
}

static void log_decades(double low, double high, int first, int last, int most, far_ticks *out)
{
    int stride = choose_stride(last - first + 1, most), start = first;
    while (start % stride != 0) {
        start++;
    }
    bool fewer = (last - start) / stride < (last - first) / stride;
    for (int e = fewer ? first : start; e <= last; e += stride) {
        add_power(out, 1, 1, e);
    }
    add_minor_powers(out, 1, first - 1, last, stride, low, high);
}

/* Every so many-th of the ticks, so that there are at most so many, but three. */
static void thin_ticks(far_ticks *out, int most)
{
    int stride = 1, kept = 0;
    while ((out->count + stride - 1) / stride > most) {
        stride++;
    }
    while ((out->count + stride - 1) / stride < 3) {
        stride--;
    }
    for (int i = 0; i < out->count; i += stride) {
        out->tick[kept++] = out->tick[i];
    }
    out->count = kept;
}

/* 1, 2, 5 in each decade; 1, 3 where that is too many, or else some of the former. */
static void log_mantissas(double low, double high, int most, far_ticks *out)
{
    static const int FINE[] = {1, 2, 5}, COARSE[] = {1, 3};
    if (add_mantissas(out, low, high, FINE, 3) <= most) {
        return;
    }
    int coarse = add_mantissas(out, low, high, COARSE, 2);
    if (coarse < 3 || coarse > most) {
        add_mantissas(out, low, high, FINE, 3);
        thin_ticks(out, most);
    }
}

static void log_ticks(double low, double high, int most, far_ticks *out)
{
    int first = (int)ceil(log10(low) - ROUNDING), last = (int)floor(log10(high) + ROUNDING);
    if (last - first >= 2) {
        log_decades(low, high, first, last, most, out);
    } else {
        log_mantissas(low, high, most, out);
    }
    if (last - first < 2 && out->count < 3) {
        *out = (far_ticks){0};
        linear_ticks(low, high, most, out);
        return;
    }
    if (last - first < 2) {
        add_minor_powers(out, 1, first - 1, last, 1, low, high);
    }
    label_plainly(out);
}

/* ---- symlog ---- */

#define DECADE 2.302585092994046 /* the length of a decade far from 0, in units of asinh */

static int largest_decade(double limit, double linear)
{
    return limit < linear ? -1000 : (int)floor(log10(limit) + ROUNDING);
}

/* Not much nearer to 0 than the others are to each other. */
static bool far_from_zero(int exponent, double linear, int stride)
{
    double least = stride == 1 ? 0.35 : 0.6 * stride;
    return asinh(power10(exponent) / linear) >= least * DECADE;
}

static void symlog_side(far_ticks *out, int sign, int last, int stride, int phase, double linear,
                        double low, double high)
{
    int first = (int)ceil(log10(linear) - ROUNDING);
    for (int e = first; e <= last; e++) {
        if ((phase - e) % stride == 0 && far_from_zero(e, linear, stride)) {
            add_power(out, sign, 1, e);
        }
    }
    add_minor_powers(out, sign, first, last, stride, low, high);
}

static int by_value(const void *a, const void *b)
{
    double x = ((const far_tick *)a)->value, y = ((const far_tick *)b)->value;
    return (x > y) - (x < y);
}

static void keep_within(far_ticks *out, double low, double high)
{
    int kept = 0;
    for (int i = 0; i < out->count; i++) {
        double value = out->tick[i].value;
        if (value >= low - ROUNDING * fabs(low) && value <= high + ROUNDING * fabs(high)) {
            out->tick[kept++] = out->tick[i];
        }
    }
    out->count = kept;
}

/* All of it on one side of 0, where the axis is logarithmic. */
static void one_sided_ticks(double low, double high, int most, far_ticks *out)
{
    far_ticks up;
    bool negative = high < 0;
    *out = up = (far_ticks){0};
    log_ticks(negative ? -high : low, negative ? -low : high, most, &up);
    if (!negative) {
        *out = up;
        return;
    }
    memcpy(out->factor, up.factor, sizeof up.factor);
    for (int i = up.count - 1; i >= 0; i--) {
        far_tick *t = &out->tick[out->count++];
        t->value = -up.tick[i].value;
        snprintf(t->label, sizeof t->label, MINUS "%.*s", FAR_TICK_BYTES - 4, up.tick[i].label);
    }
    for (int i = 0; i < up.minor_count; i++) {
        out->minor[out->minor_count++] = -up.minor[i];
    }
}

static void few_ticks(double low, double high, int most, far_ticks *out)
{
    *out = (far_ticks){0};
    linear_ticks(low, high, most, out);
    keep_within(out, low, high);
}

static void symlog_ticks(double low, double high, double linear, int most, far_ticks *out)
{
    int up = largest_decade(high, linear), down = largest_decade(-low, linear);
    int origin = (int)ceil(log10(linear) - ROUNDING);
    int decades = (up >= origin ? up - origin + 1 : 0) + (down >= origin ? down - origin + 1 : 0);
    int stride = choose_stride(decades, most - 1), phase = up > down ? up : down;
    symlog_side(out, -1, down, stride, phase, linear, low, high);
    symlog_side(out, 1, up, stride, phase, linear, low, high);
    keep_within(out, low, high);
    if (low <= 0 && high >= 0) {
        out->tick[out->count++] = (far_tick){0, "0"};
    }
    if (out->count < 3) {
        few_ticks(low, high, most, out);
        return;
    }
    qsort(out->tick, (size_t)out->count, sizeof out->tick[0], by_value);
    label_plainly(out);
}

void far_ticks_choose(int scale, double low, double high, double linear, int most, far_ticks *out)
{
    *out = (far_ticks){0};
    most = most < 2 ? 2 : most > 12 ? 12 : most;
    if (scale == FAR_SCALE_LOG) {
        log_ticks(low, high, most, out);
    } else if (scale == FAR_SCALE_SYMLOG && (low > linear || high < -linear)) {
        one_sided_ticks(low, high, most, out);
    } else if (scale == FAR_SCALE_SYMLOG) {
        symlog_ticks(low, high, linear, most, out);
    } else {
        linear_ticks(low, high, most, out);
    }
}
