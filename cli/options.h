/* One table per verb drives parsing, error messages and --help. */
#ifndef FAR_CLI_OPTIONS_H
#define FAR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char *; NULL: not given */
    OPTION_CHOICE, /* int: index into the bar-separated list in value */
    OPTION_COUNT   /* int64_t from least to most */
} option_kind;

typedef struct option {
    const char *name; /* "--threads" */
    char letter;      /* 'o' for -o, or 0 */
    option_kind kind;
    size_t offset;     /* of the field in the verb's struct, which holds the default */
    const char *value; /* "FILE"; for a choice "ntk|nngp" */
    const char *help;  /* lines after the first are indented */
    int64_t least, most;
} option;

enum { MAX_OPTIONS = 32, MAX_OPERANDS = 4 };

typedef struct command_line {
    const char *verb;
    const char *usage; /* one line per form, without "farfield " */
    const char *about; /* stands between usage and options */
    const char *notes; /* stands after the options; may be NULL */
    const option *options;
    size_t option_count;
    int most_operands;
    /* Filled by options_parse: */
    const char *operands[MAX_OPERANDS];
    int operand_count;
    bool given[MAX_OPTIONS];
} command_line;

enum { OPTIONS_OK = -1 };

/* Fills values (which holds the defaults) and the operands. Returns OPTIONS_OK to go on, or the
 * exit code if help was printed (0) or the command line is wrong (2, with a line on stderr). */
int options_parse(command_line *line, int argc, char **argv, void *values);

/* Whether the option of that name stood on the command line. */
bool options_given(const command_line *line, const char *name);

/* The word of a bar-separated list: choice_word("ntk|nngp", 1, ...) is "nngp". */
const char *choice_word(const char *list, int index, char *buffer, size_t size);

#endif
