/* Windows and fitted power laws, on the command line and in what is printed. */
#ifndef FAR_CLI_POWER_SHOW_H
#define FAR_CLI_POWER_SHOW_H

#include "cli.h"

#include <farfield/measure.h>

/* "20:150" into two numbers, 0 < from < to. OPTIONS_OK, or EXIT_USAGE with a line on stderr. */
int window_read(const char *verb_name, const char *option_name, const char *text, double window[2]);

/* The exponent with its interval, the prefactor with its own, the window, a warning; for people
 * under these labels. */
void power_tell(far_result *r, const char *exponent, const char *prefactor, const far_power *p);

#endif
