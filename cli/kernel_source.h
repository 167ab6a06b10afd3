/* A kernel and what goes with it, for the verbs that measure kernels: a Gram matrix from a file,
 * the tangent kernel of a finite network, or the kernel of infinite width. */
#ifndef FAR_CLI_KERNEL_SOURCE_H
#define FAR_CLI_KERNEL_SOURCE_H

#include "dataset.h"
#include "files.h"
#include "gram_file.h"
#include "options.h"
#include "session.h"

#include <farfield/measure.h>

typedef struct source_args {
    const char *kernel, *x; /* operands: a Gram matrix, a table of its points; NULL: not given */
    const char *net, *arch, *layers, *outputs, *target, *y, *values, *features, *where;
    table_args table;
    int kind, param;   /* in the order of far_kernel_kind and far_param */
    far_mat made;      /* points that the verb has made, in place of a table X; no data: none */
    bool makes_points; /* it will: --net and --arch take no X */
} source_args;

/* Their options; a verb has its source_args at offset, and sets outputs to "trace". */
option_group source_options(size_t offset);

/* options_parse for a verb that takes a kernel: with these options and operands, and behind what K
 * and X are the examples in its help. offset as above. */
int source_parse(command_line *line, const char *examples, size_t offset, int argc, char **argv,
                 void *values);

/* Takes the operands; OPTIONS_OK, or EXIT_USAGE with a line on stderr. */
int source_check_usage(const command_line *line, source_args *a);
/* The same for what is needed (far_measure_need bits) by whom, as "kta". */
int source_check_needs(const char *verb_name, const source_args *a, int32_t needs, const char *who);
/* --top: a number from 1, or "all", which is INT64_MAX. OPTIONS_OK, or EXIT_USAGE with a line. */
int top_read(const char *verb_name, const char *text, int64_t *count);
bool source_has_targets(const source_args *a);

/* Zero-initialise; source_free is always safe. */
typedef struct source {
    gram_file gram;
    input given_values;
    dataset table, target_table;
    far_net *net;
    far_kernel *kernel;
    unsigned char *layers;
    far_ntk_opts opts;                  /* of the network */
    far_mat matrix, x, targets, values; /* x: one row a point. No data: not there */
    char **target_names;                /* of the columns of targets, as they were read */
    int64_t target_count;
    far_view *view;
} source;

/* Reads, computes the matrix and makes the view; with targets, values and coordinates as far as
 * needs says and they are there. Interrupts are held when it returns. Returns an exit code, with a
 * line on stderr if it is not 0. */
int source_read(session *s, const source_args *a, int32_t needs, source *out);
void source_free(source *k);

/* For the rows of another table, with the kernel of --net or --arch: cross is their kernel with the
 * points (both in the rows that outputs make of them), and start (may be NULL) what the network
 * says of them. The caller frees their data. */
int source_cross(session *s, const source_args *a, source *k, const char *table, far_mat *cross,
                 far_mat *start);
/* Values in the rows of the kernel become a row for each point; a network's are in the units of its
 * targets then. centred: values; not: differences of such. */
void source_to_table(const source *k, bool centred, far_mat *values);
/* Whether the network has standardised its inputs, or its targets. */
bool source_standardised(const source *k, bool inputs);
/* What column col of such a table of cols columns is of; NULL: not known. */
const char *source_target(const source *k, int64_t cols, int64_t col);

/* Fails in words, behind "PLACE: ", if the kernel has no power law: smooth activations. Of a matrix
 * nothing is known. */
int source_check_power(session *s, const source_args *a, const source *k, const char *place);

/* What the kernel is: one line for people, several fields of JSON. */
void source_tell(const source *k, const source_args *a, far_result *r);

#endif
