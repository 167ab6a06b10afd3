#include "power_show.h"
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

/* "KEY": number, "KEY_interval": [low, high], and the line for people. */
static void tell_estimate(far_result *r, const char *key, const char *label, double value,
                          double low, double high)
{
    char name[64];
    snprintf(name, sizeof name, "%s_interval", key);
    if (isnan(high)) {
        far_result_number(r, key, value, label, "%.6g, 95 %% interval %.6g to beyond %.6g", value,
                          low, DBL_MAX);
    } else {
        far_result_number(r, key, value, label, "%.6g, 95 %% interval %.6g to %.6g", value, low,
                          high);
    }
    far_result_list(r, name, (double[]){low, high}, 2);
}

void power_tell(far_result *r, const char *exponent, const char *prefactor, const far_power *p)
{
    tell_estimate(r, "exponent", exponent, p->exponent, p->exponent_low, p->exponent_high);
    tell_estimate(r, "prefactor", prefactor, p->prefactor, p->prefactor_low, p->prefactor_high);
    far_result_number(r, "spread", p->spread, NULL, NULL);
    far_result_list(r, "window", (double[]){p->from, p->to}, 2);
    far_result_count(r, "points", p->points, "  window",
                     "%g to %g, %lld points, spread of the logarithm %.3g", p->from, p->to,
                     (long long)p->points, p->spread);
    if (p->warning) {
        far_result_text(r, "warning", p->warning, "  take care", NULL);
    }
}
