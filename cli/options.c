#include "options.h"
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 24, VALUE_LENGTH = 64, NAME_LENGTH = 64 };

/* ---- choices ------------------------------------------------------------------------------- */

const char *choice_word(const char *list, int index, char *buffer, size_t size)
{
    for (; index > 0; index--) {
        list = strchr(list, '|') + 1;
    }
    snprintf(buffer, size, "%.*s", (int)strcspn(list, "|"), list);
    return buffer;
}

static int choice_index(const char *list, const char *word)
{
    for (int i = 0;; i++) {
        size_t length = strcspn(list, "|");
        if (strlen(word) == length && strncmp(list, word, length) == 0) {
            return i;
        }
        if (!list[length]) {
            return -1;
        }
        list += length + 1;
    }
}

/* ---- help ---------------------------------------------------------------------------------- */

static void print_default(const option *o, const char *field)
{
    char word[VALUE_LENGTH];
    if (o->kind == OPTION_CHOICE) {
        int index = *(const int *)(const void *)field;
        printf(" [%s]", choice_word(o->value, index, word, sizeof word));
    } else if (o->kind == OPTION_COUNT) {
        printf(" [%lld]", (long long)*(const int64_t *)(const void *)field);
    }
}

static void print_option(const option *o, const char *values)
{
    char left[NAME_LENGTH + VALUE_LENGTH];
    char letter[8] = "";
    if (o->letter) {
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    snprintf(left, sizeof left, "  %s%s%s%s", letter, o->name, o->value ? " " : "",
             o->value ? o->value : "");
    printf("%-*s", HELP_COLUMN, left);
    if (strlen(left) >= HELP_COLUMN) {
        printf("\n%*s", HELP_COLUMN, "");
    }
    for (const char *p = o->help; *p; p++) {
        putchar(*p);
        if (*p == '\n') {
            printf("%*s", HELP_COLUMN, "");
        }
    }
    print_default(o, values + o->offset);
    putchar('\n');
}

static void print_usage(const char *usage)
{
    const char *head = "Usage: ";
    while (*usage) {
        int length = (int)strcspn(usage, "\n");
        printf("%-7sfarfield %.*s\n", head, length, usage);
        usage += length + (usage[length] == '\n');
        head = "";
    }
}

static void print_help(const command_line *line, const void *values)
{
    print_usage(line->usage);
    printf("\n%s\n\nOptions:\n", line->about);
    for (size_t i = 0; i < line->option_count; i++) {
        print_option(&line->options[i], values);
    }
    printf("%-*s%s\n", HELP_COLUMN, "  -h, --help", "print this and leave");
    if (line->notes) {
        printf("\n%s\n", line->notes);
    }
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Finds "--name", "--name=value" and "-o", "-ovalue"; *inlined is the value that came along. */
static const option *find_option(const command_line *line, const char *word, const char **inlined)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < line->option_count; i++) {
        const option *o = &line->options[i];
        if (strlen(o->name) == length && strncmp(o->name, word, length) == 0) {
            *inlined = word[length] ? word + length + 1 : NULL;
            return o;
        }
        if (o->letter && word[1] == o->letter) {
            *inlined = word[2] == '=' ? word + 3 : word[2] ? word + 2 : NULL;
            return o;
        }
    }
    return NULL;
}

static int unknown_option(const command_line *line, const char *word)
{
    const char *names[MAX_OPTIONS + 1] = {"--help"};
    size_t count = 1;
    for (size_t i = 0; i < line->option_count; i++) {
        names[count++] = line->options[i].name;
    }
    char name[NAME_LENGTH];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = nearest_name(name, names, count);
    if (near) {
        return usage_error(line->verb, "unknown option %s; did you mean %s?", name, near);
    }
    return usage_error(line->verb, "unknown option %s", name);
}

static int store_count(const command_line *line, const option *o, const char *text, int64_t *field)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < o->least || number > o->most) {
        return usage_error(line->verb, "%s needs a whole number from %lld to %lld, not '%s'",
                           o->name, (long long)o->least, (long long)o->most, text);
    }
    *field = number;
    return OPTIONS_OK;
}

static int store_choice(const command_line *line, const option *o, const char *text, int *field)
{
    int index = choice_index(o->value, text);
    if (index < 0) {
        return usage_error(line->verb, "%s is one of %s, not '%s'", o->name, o->value, text);
    }
    *field = index;
    return OPTIONS_OK;
}

static int store_value(const command_line *line, const option *o, const char *text, void *field)
{
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return OPTIONS_OK;
    case OPTION_TEXT:
        *(const char **)field = text;
        return OPTIONS_OK;
    case OPTION_CHOICE:
        return store_choice(line, o, text, field);
    case OPTION_COUNT:
        return store_count(line, o, text, field);
    }
    return EXIT_USAGE;
}

/* argv[*i] is an option; *i moves on to its value where that is a word of its own. */
static int take_option(command_line *line, int argc, char **argv, int *i, void *values)
{
    const char *word = argv[*i], *text = NULL;
    const option *o = find_option(line, word, &text);
    if (!o) {
        return unknown_option(line, word);
    }
    if (o->kind == OPTION_FLAG && text) {
        return usage_error(line->verb, "%s takes no value", o->name);
    }
    if (o->kind != OPTION_FLAG && !text) {
        if (*i + 1 >= argc) {
            return usage_error(line->verb, "%s needs a value: %s", o->name, o->value);
        }
        text = argv[++*i];
    }
    line->given[o - line->options] = true;
    return store_value(line, o, text, (char *)values + o->offset);
}

static int take_operand(command_line *line, const char *word)
{
    if (line->operand_count >= line->most_operands) {
        return usage_error(line->verb, "unexpected argument '%s'", word);
    }
    line->operands[line->operand_count++] = word;
    return OPTIONS_OK;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

int options_parse(command_line *line, int argc, char **argv, void *values)
{
    if (asks_for_help(argc, argv)) {
        print_help(line, values);
        return EXIT_DONE;
    }
    bool options_over = false;
    int code = OPTIONS_OK;
    for (int i = 1; i < argc && code == OPTIONS_OK; i++) {
        const char *word = argv[i];
        if (!options_over && strcmp(word, "--") == 0) {
            options_over = true;
        } else if (!options_over && word[0] == '-' && word[1]) {
            code = take_option(line, argc, argv, &i, values);
        } else {
            code = take_operand(line, word);
        }
    }
    return code;
}

bool options_given(const command_line *line, const char *name)
{
    for (size_t i = 0; i < line->option_count; i++) {
        if (strcmp(line->options[i].name, name) == 0) {
            return line->given[i];
        }
    }
    return false;
}
