/* Text for people, on stdout and stderr. The verbs print with this and not with printf. */
#ifndef FAR_CLI_TALK_H
#define FAR_CLI_TALK_H

#include <stdarg.h>
#include <stdio.h>

/* printf, but what %s and %c bring is made printable (far_printable): control characters, line
 * ends and marks of direction in names are shown as \n, \x1b, \u202e. Of the conversions there are
 * those of whole numbers, %c, %s, %e, %f, %g and %%. */
__attribute__((format(printf, 1, 2))) void print(const char *format, ...);
/* The same on any stream. */
__attribute__((format(printf, 2, 3))) void talk(FILE *out, const char *format, ...);
__attribute__((format(printf, 2, 0))) void talk_args(FILE *out, const char *format, va_list args);

/* far_ctx_message(..) of the context in use: %s of it keeps its line ends (everything else in it is
 * printable already) and names the flags of the options that the message names in backquotes. */
void talk_trust(const char *message);
/* A message of the library that was kept, with such flags; free it. NULL without memory. */
char *talk_flags(const char *message);

#endif
