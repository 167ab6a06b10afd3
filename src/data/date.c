/* Dates and times as people write them, as days since 1970-01-01, and back. */
#include "frame_internal.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define DAY_SECONDS 86400
#define FARTHEST 3e8 /* days: beyond it a date says nothing */

typedef struct moment {
    int64_t year;
    int month, day;
    double seconds; /* of the day; less those of the time zone */
} moment;

/* ---- calendar: days from and to the civil date, proleptic Gregorian ---- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Years start in March, so that the leap day is the last of its year. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static moment civil_from_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, day = days - era * 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int month = (int)((5 * of_year + 2) / 153);
    return (moment){.year = year + era * 400 + (month >= 10),
                    .month = month < 10 ? month + 3 : month - 9,
                    .day = (int)(of_year - (153 * month + 2) / 5 + 1)};
}

/* ---- text to date ---- */

/* Reads from least to most digits; false if there are others. */
static bool take_digits(const char **p, int least, int most, int *out)
{
    int count = 0;
    *out = 0;
    for (; **p >= '0' && **p <= '9' && count < most; ++*p, count++) {
        *out = *out * 10 + (**p - '0');
    }
    return count >= least && !(**p >= '0' && **p <= '9');
}

static bool take(const char **p, char c)
{
    bool there = **p == c;
    *p += there;
    return there;
}

static bool take_month(const char **p, int *month)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    for (int i = 0; i < 12; i++) {
        size_t length = strlen(names[i]);
        length = strncasecmp(*p, names[i], length) == 0 ? length : 3;
        if (strncasecmp(*p, names[i], length) == 0) {
            *p += length;
            *month = i + 1;
            return !((**p | 32) >= 'a' && (**p | 32) <= 'z');
        }
    }
    return false;
}

/* 2020-01-31, also with / or . between, and 2020-01. */
static bool take_year_first(const char **p, moment *m)
{
    int year;
    if (!take_digits(p, 4, 4, &year) || !strchr("-/.", **p) || !**p) {
        return false;
    }
    char between = *(*p)++;
    const char *month = *p;
    m->year = year;
    m->day = 1;
    if (!take_digits(p, 1, 2, &m->month)) {
        return false;
    }
    if (take(p, between)) {
        return take_digits(p, 1, 2, &m->day);
    }
    return between == '-' && *p - month == 2 && !**p;
}

/* 31/01/2020, 31-01-2020, 31.01.2020; with the month first unless there are dots. */
static bool take_year_last(const char **p, far_notation order, moment *m)
{
    int first, second, year;
    if (!take_digits(p, 1, 2, &first) || !strchr("-/.", **p) || !**p) {
        return false;
    }
    char between = *(*p)++;
    if ((between == '.' && order == FAR_NOTATION_MDY) || !take_digits(p, 1, 2, &second) ||
        !take(p, between) || !take_digits(p, 4, 4, &year)) {
        return false;
    }
    *m = (moment){.year = year,
                  .month = order == FAR_NOTATION_MDY ? first : second,
                  .day = order == FAR_NOTATION_MDY ? second : first};
    return true;
}

static void skip_joint(const char **p)
{
    *p += strspn(*p, " -.,/");
}

/* Jan 31 2020, January 31, 2020, 31 Jan 2020, 31-Jan-2020. */
static bool take_named(const char **p, moment *m)
{
    int year;
    bool month_first = take_month(p, &m->month);
    skip_joint(p);
    if (!take_digits(p, 1, 2, &m->day)) {
        return false;
    }
    skip_joint(p);
    if (!month_first && !take_month(p, &m->month)) {
        return false;
    }
    skip_joint(p);
    bool whole = take_digits(p, 4, 4, &year);
    m->year = year;
    return whole;
}

/* Z, +02, +0200 or +02:00. */
static bool take_zone(const char **p, moment *m)
{
    int hours, minutes = 0;
    if (take(p, 'Z') || take(p, 'z')) {
        return true;
    }
    double sign = **p == '-' ? -1 : 1;
    if (**p != '-' && **p != '+') {
        return true;
    }
    ++*p;
    const char *first = *p;
    if (!take_digits(p, 2, 4, &hours)) {
        return false;
    }
    if (*p - first == 4) {
        minutes = hours % 100;
        hours /= 100;
    } else if (*p - first != 2 || (take(p, ':') && !take_digits(p, 2, 2, &minutes))) {
        return false;
    }
    m->seconds -= sign * (hours * 3600 + minutes * 60);
    return hours < 24 && minutes < 60;
}

static bool take_fraction(const char **p, double *seconds)
{
    double unit = 0.1;
    if (**p < '0' || **p > '9') {
        return false;
    }
    for (; **p >= '0' && **p <= '9'; ++*p, unit /= 10) {
        *seconds += unit * (**p - '0');
    }
    return true;
}

static bool take_half(const char **p, int *hour)
{
    bool morning = strncasecmp(*p, "am", 2) == 0, evening = strncasecmp(*p, "pm", 2) == 0;
    if (!morning && !evening) {
        return true;
    }
    bool known = *hour >= 1 && *hour <= 12;
    *p += 2;
    *hour = *hour % 12 + (evening ? 12 : 0);
    return known;
}

/* 12:00, 12:00:30, 12:00:30.5, 1:30 PM, and a time zone behind it. */
static bool take_time(const char **p, moment *m)
{
    int hour, minute, second = 0;
    double part = 0;
    if (!take_digits(p, 1, 2, &hour) || !take(p, ':') || !take_digits(p, 2, 2, &minute)) {
        return false;
    }
    if (take(p, ':') && !take_digits(p, 2, 2, &second)) {
        return false;
    }
    if (**p == '.' && (++*p, !take_fraction(p, &part))) {
        return false;
    }
    *p += strspn(*p, " ");
    if (!take_half(p, &hour) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    m->seconds = hour * 3600 + minute * 60 + second + part;
    return take_zone(p, m);
}

static bool take_date(const char **p, far_notation order, moment *m)
{
    const char *first = *p;
    if (take_year_first(p, m)) {
        return true;
    }
    *p = first;
    if (order != FAR_NOTATION_YMD && take_year_last(p, order, m)) {
        return true;
    }
    *p = first;
    return take_named(p, m);
}

double far_date_parse(const char *text, far_notation order)
{
    moment m = {0};
    if (!take_date(&text, order, &m) || m.month < 1 || m.month > 12 || m.day < 1 ||
        m.day > month_days(m.year, m.month)) {
        return NAN;
    }
    if ((take(&text, 'T') || take(&text, ' ')) && !take_time(&text, &m)) {
        return NAN;
    }
    return *text ? NAN : (double)days_from_civil(m.year, m.month, m.day) + m.seconds / DAY_SECONDS;
}

/* ---- date to text ---- */

/* To the second, which a double of days holds for thousands of years around now. */
void far_date_print(double days, char *out, size_t capacity)
{
    if (!(fabs(days) < FARTHEST)) {
        snprintf(out, capacity, "%.4g days", days);
        return;
    }
    int64_t all = (int64_t)llrint(days * DAY_SECONDS);
    int64_t second = (all % DAY_SECONDS + DAY_SECONDS) % DAY_SECONDS;
    moment m = civil_from_days((all - second) / DAY_SECONDS);
    int used = snprintf(out, capacity, "%04lld-%02d-%02d", (long long)m.year, m.month, m.day);
    if (second && used > 0 && (size_t)used < capacity) {
        snprintf(out + used, capacity - (size_t)used,
                 second % 60 ? " %02d:%02d:%02d" : " %02d:%02d", (int)(second / 3600),
                 (int)(second / 60 % 60), (int)(second % 60));
    }
}
