/* What the verbs of the command share: the table of verbs, exit codes, talk on stderr. */
#ifndef FAR_CLI_H
#define FAR_CLI_H

#include "talk.h"

#include <farfield/extras.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* argv[0] is the verb's own name. */
typedef int (*verb_fn)(int argc, char **argv);

typedef struct verb {
    const char *name, *summary;
    verb_fn run;
} verb;

int cmd_kernel(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_certify(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_cv(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_gram(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_spectrum(int argc, char **argv);
int cmd_align(int argc, char **argv);
int cmd_combine(int argc, char **argv);
int cmd_powerlaw(int argc, char **argv);
int cmd_local(int argc, char **argv);
int cmd_laplace(int argc, char **argv);
int cmd_lnnet(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);

/* One line on stderr, "farfield VERB: ...". They return EXIT_USAGE and EXIT_FAILED. */
__attribute__((format(printf, 2, 3))) int usage_error(const char *verb_name, const char *format,
                                                      ...);
__attribute__((format(printf, 2, 3))) int failure(const char *verb_name, const char *format, ...);
/* The exit code where the library refused what was typed; running out of memory is no mistake. */
int usage_code(far_status st);

#endif
