#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *show_exact(double value, char buffer[SHOW_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) { /* %g drops closing zeros by itself */
        snprintf(buffer, SHOW_BYTES, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) {
            break;
        }
    }
    return buffer;
}

const char *show_size(double bytes, char buffer[SHOW_BYTES])
{
    static const char *const UNITS[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, SHOW_BYTES, "%.3g %s", bytes, UNITS[unit]);
    return buffer;
}

const char *show_time(double seconds, char buffer[SHOW_BYTES])
{
    if (seconds < 100) {
        snprintf(buffer, SHOW_BYTES, "%.2g s", seconds);
    } else if (seconds < 6000) {
        snprintf(buffer, SHOW_BYTES, "%.0f min", seconds / 60);
    } else {
        snprintf(buffer, SHOW_BYTES, "%.1f h", seconds / 3600);
    }
    return buffer;
}
