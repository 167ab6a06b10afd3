/* The words of farfield lnnet, and labelled points, which most of them start from. */
#ifndef FAR_CLI_LNNET_H
#define FAR_CLI_LNNET_H

#include "dataset.h"
#include "options.h"
#include "session.h"

#include <farfield/predictor.h>

int lnnet_build(int argc, char **argv);
int lnnet_check(int argc, char **argv);
int lnnet_ssr(int argc, char **argv);
int lnnet_vc(int argc, char **argv);
int lnnet_hessian(int argc, char **argv);

/* What all words that read labelled points are asked. */
typedef struct labelled_args {
    const char *data, *label, *features, *where;
    bool impute;
} labelled_args;

/* Their options; a verb has its labelled_args at offset. */
option_group labelled_options(size_t offset);

/* Points and their classes, counted from 0 in the order of the sorted labels. Zero-initialise;
 * labelled_free is always safe. */
typedef struct labelled {
    dataset table;
    far_examples *data;
    far_mat x; /* n x d, raw units */
    int64_t *labels;
    int64_t classes;
} labelled;

/* OPTIONS_OK, or EXIT_USAGE with a line on stderr. */
int labelled_check_usage(const char *verb_name, const labelled_args *a);
int labelled_read(session *s, const labelled_args *a, labelled *out);
/* EXIT_DONE unless two rows are identical but for their classes: then a line on stderr has their
 * numbers in the table, and their classes. */
int labelled_refuse_twins(session *s, const labelled *l);
void labelled_free(labelled *l);

#endif
