#include "power_show.h"
#include "json.h"
#include "options.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

int window_read(const char *verb_name, const char *option_name, const char *text, double window[2])
{
    char *colon, *end;
    window[0] = strtod(text, &colon);
    window[1] = colon != text && *colon == ':' ? strtod(colon + 1, &end) : NAN;
    bool whole = !isnan(window[1]) && end != colon + 1 && !*end;
    if (!whole || !(window[0] > 0 && window[0] < window[1] && isfinite(window[1]))) {
        return usage_error(verb_name, "%s is a window FROM:TO of positive numbers, not '%s'",
                           option_name, text);
    }
    return OPTIONS_OK;
}

void power_print(const char *exponent, const char *prefactor, const far_power *p)
{
    print("%-14s %.6g, 95 %% interval %.6g to %.6g\n", exponent, p->exponent, p->exponent_low,
          p->exponent_high);
    print("%-14s %.6g, 95 %% interval %.6g to ", prefactor, p->prefactor, p->prefactor_low);
    print(isnan(p->prefactor_high) ? "beyond %.6g\n" : "%.6g\n",
          isnan(p->prefactor_high) ? DBL_MAX : p->prefactor_high);
    print("%-14s %g to %g, %lld points, spread of the logarithm %.3g\n", "  window", p->from, p->to,
          (long long)p->points, p->spread);
    if (p->warning) {
        print("%-14s %s\n", "  take care", p->warning);
    }
}

static void json_interval(const char *key, double low, double high)
{
    double ends[2] = {low, high};
    json_key(stdout, key);
    json_numbers(stdout, ends, 2);
}

void power_print_json(const far_power *p)
{
    json_begin(stdout);
    json_number_field(stdout, "exponent", p->exponent);
    json_interval("exponent_interval", p->exponent_low, p->exponent_high);
    json_number_field(stdout, "prefactor", p->prefactor);
    json_interval("prefactor_interval", p->prefactor_low, p->prefactor_high);
    json_number_field(stdout, "spread", p->spread);
    json_interval("window", p->from, p->to);
    json_number_field(stdout, "points", (double)p->points);
    if (p->warning) {
        json_text_field(stdout, "warning", p->warning);
    }
    json_close(stdout);
}
