/* One table per verb drives parsing, error messages and --help. */
#ifndef FAR_CLI_OPTIONS_H
#define FAR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char *; NULL: not given. most 1: a list, which is given once */
    OPTION_CHOICE, /* int: index into the bar-separated list in value */
    OPTION_COUNT,  /* int64_t from least to most; below least: not given */
    OPTION_NUMBER, /* double >= least; NAN: not given; inf only if most is not 0 */
    OPTION_SIZE,   /* double: bytes, written 500M or 8G; 0: not given */
    OPTION_WORDS   /* word_list: the value, and the words key=... that follow it */
} option_kind;

enum { MAX_WORDS = 16 };

/* Of OPTION_WORDS: count 0 is not given. */
typedef struct word_list {
    const char *words[MAX_WORDS];
    int count;
} word_list;

typedef struct option {
    const char *name; /* "--threads" */
    char letter;      /* 'o' for -o, or 0 */
    option_kind kind;
    size_t offset;     /* of the field in the verb's struct, which holds the default */
    const char *value; /* "FILE"; for a choice "ntk|nngp" */
    const char *help;  /* lines after the first are indented; NULL: not shown */
    int64_t least, most;
} option;

/* Rows of a table, by kind; letter 0: none. */
#define FLAG_OPTION(name, letter, at, help)                                                        \
    {                                                                                              \
        name, letter, OPTION_FLAG, at, NULL, help, 0, 0                                            \
    }
#define TEXT_OPTION(name, letter, at, value, help)                                                 \
    {                                                                                              \
        name, letter, OPTION_TEXT, at, value, help, 0, 0                                           \
    }
#define CHOICE_OPTION(name, letter, at, words, help)                                               \
    {                                                                                              \
        name, letter, OPTION_CHOICE, at, words, help, 0, 0                                         \
    }
#define NUMBER_OPTION(name, letter, at, value, help)                                               \
    {                                                                                              \
        name, letter, OPTION_NUMBER, at, value, help, 0, 0                                         \
    }
#define COUNT_OPTION(name, letter, at, value, help, least, most)                                   \
    {                                                                                              \
        name, letter, OPTION_COUNT, at, value, help, least, most                                   \
    }

/* Rows that many verbs have, their fields at AT(output) and AT(memory). */
#define OUTPUT_OPTION(help) TEXT_OPTION("--output", 'o', AT(output), "FILE", help)
#define MEMORY_OPTION(help)                                                                        \
    {                                                                                              \
        "--memory", 0, OPTION_SIZE, AT(memory), "SIZE", help, 0, 0                                 \
    }

/* Options that several verbs share: the fields are offsets in a struct of their own, which lies at
 * offset in the verb's. */
typedef struct option_group {
    const char *title; /* stands above them in the help; NULL: they follow the verb's own */
    const option *options;
    size_t count, offset;
} option_group;

enum { MAX_OPTIONS = 80, MAX_OPERANDS = 16 };

typedef struct command_line {
    const char *verb;
    const char *usage; /* one line per form, without "farfield " */
    const char *about; /* stands between usage and options */
    const char *notes; /* stands after the options; may be NULL */
    const option *options;
    size_t option_count;
    option_group common, more;
    int most_operands;
    /* Filled by options_parse: */
    const char *operands[MAX_OPERANDS];
    int operand_count;
    bool given[MAX_OPTIONS]; /* the verb's own, the common ones, the others */
} command_line;

/* What the file of a verb calls VERB, USAGE, ABOUT and OPTIONS: command_line line = {VERB_LINE}. */
#define VERB_LINE                                                                                  \
    .verb = VERB, .usage = USAGE, .about = ABOUT, .options = OPTIONS,                              \
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0]

enum { OPTIONS_OK = -1 };

/* Fills values (which holds the defaults) and the operands. Returns OPTIONS_OK to go on, or the
 * exit code if help was printed (0) or the command line is wrong (2, with a line on stderr). */
int options_parse(command_line *line, int argc, char **argv, void *values);

/* Whether text begins with a key of lower-case letters and a "=". */
bool is_setting(const char *text);

/* Whether the option of that name stood on the command line. */
bool options_given(const command_line *line, const char *name);

/* The first of the names (count of them) that stood on the command line, or NULL. */
const char *options_given_of(const command_line *line, const char *const *names, size_t count);

/* The first of the shared options that stood on the command line, but for those named except (may
 * be NULL); or NULL. */
const char *options_given_more(const command_line *line, const char *except);

/* The word of a bar-separated list: choice_word("ntk|nngp", 1, ...) is "nngp". */
const char *choice_word(const char *list, int index, char *buffer, size_t size);

#endif
