/* Numbers for people. Each function returns the buffer it fills. */
#ifndef FAR_CLI_SHOW_H
#define FAR_CLI_SHOW_H

enum { SHOW_BYTES = 32 };

/* The fewest digits that read back to the same double. */
const char *show_exact(double value, char buffer[SHOW_BYTES]);
/* "512 KiB", "15.6 GiB" */
const char *show_size(double bytes, char buffer[SHOW_BYTES]);
/* "0.32 s", "45 s", "12 min", "3.4 h" */
const char *show_time(double seconds, char buffer[SHOW_BYTES]);

#endif
