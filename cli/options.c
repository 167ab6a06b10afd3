#include "options.h"
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 24, VALUE_LENGTH = 64, NAME_LENGTH = 64 };

/* ---- the table ----------------------------------------------------------------------------- */

static size_t option_total(const command_line *line)
{
    return line->option_count + line->common.count + line->more.count;
}

/* The options that i is one of; *i becomes its place among them. */
static option_group group_of(const command_line *line, size_t *i)
{
    if (*i < line->option_count) {
        return (option_group){.options = line->options};
    }
    *i -= line->option_count;
    if (*i < line->common.count) {
        return line->common;
    }
    *i -= line->common.count;
    return line->more;
}

static const option *option_at(const command_line *line, size_t i)
{
    option_group group = group_of(line, &i);
    return &group.options[i];
}

/* Where in values (of the verb) the field of option i lies. */
static size_t field_offset(const command_line *line, size_t i)
{
    option_group group = group_of(line, &i);
    return group.options[i].offset + group.offset;
}

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

static void print_count_default(const option *o, int64_t value)
{
    if (value >= o->least) {
        print(" [%lld]", (long long)value);
    }
}

static void print_number_default(double value)
{
    if (!isnan(value)) {
        print(" [%g]", value);
    }
}

static void print_text_default(const char *text)
{
    if (text) {
        print(" [%s]", text);
    }
}

static void print_default(const option *o, const void *field)
{
    char word[VALUE_LENGTH];
    switch (o->kind) {
    case OPTION_FLAG:
    case OPTION_SIZE:
    case OPTION_WORDS:
        break;
    case OPTION_TEXT:
        print_text_default(*(const char *const *)field);
        break;
    case OPTION_CHOICE:
        print(" [%s]", choice_word(o->value, *(const int *)field, word, sizeof word));
        break;
    case OPTION_COUNT:
        print_count_default(o, *(const int64_t *)field);
        break;
    case OPTION_NUMBER:
        print_number_default(*(const double *)field);
        break;
    }
}

static void print_option(const option *o, const void *field)
{
    char left[NAME_LENGTH + VALUE_LENGTH];
    char letter[8] = "";
    if (o->letter) {
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    snprintf(left, sizeof left, "  %s%s%s%s", letter, o->name, o->value ? " " : "",
             o->value ? o->value : "");
    print("%-*s", HELP_COLUMN, left);
    if (strlen(left) >= HELP_COLUMN) {
        print("\n%*s", HELP_COLUMN, "");
    }
    for (const char *p = o->help; *p; p++) {
        putchar(*p);
        if (*p == '\n') {
            print("%*s", HELP_COLUMN, "");
        }
    }
    print_default(o, field);
    putchar('\n');
}

static void print_usage(const char *usage)
{
    const char *head = "Usage: ";
    while (*usage) {
        int length = (int)strcspn(usage, "\n");
        print("%-7sfarfield %.*s\n", head, length, usage);
        usage += length + (usage[length] == '\n');
        head = "";
    }
}

static void print_help(const command_line *line, const void *values)
{
    print_usage(line->usage);
    print("\n");
    fputs(line->about, stdout);
    print("\n\nOptions:\n");
    for (size_t i = 0; i < option_total(line); i++) {
        if (i == option_total(line) - line->more.count && line->more.title) {
            print("\n%s\n", line->more.title);
        }
        if (option_at(line, i)->help) {
            print_option(option_at(line, i), (const char *)values + field_offset(line, i));
        }
    }
    print("%-*s%s\n", HELP_COLUMN, "  -h, --help", "print help and exit");
    if (line->notes) {
        print("\n");
        fputs(line->notes, stdout);
        print("\n");
    }
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Options by their old names still work. */
static const char *const RENAMED[][2] = {{"--get", "--kernel"}};

static bool has_name(const option *o, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof RENAMED / sizeof *RENAMED; i++) {
        const char *old = RENAMED[i][0];
        if (strlen(old) == length && strncmp(old, word, length) == 0) {
            return strcmp(o->name, RENAMED[i][1]) == 0;
        }
    }
    return strlen(o->name) == length && strncmp(o->name, word, length) == 0;
}

/* Finds "--name", "--name=value" and "-o", "-ovalue"; *inlined is the value that came along. The
 * number of options if there is no such one. */
static size_t find_option(const command_line *line, const char *word, const char **inlined)
{
    size_t length = strcspn(word, "="), i = 0;
    for (; i < option_total(line); i++) {
        const option *o = option_at(line, i);
        if (has_name(o, word, length)) {
            *inlined = word[length] ? word + length + 1 : NULL;
            break;
        }
        if (o->letter && word[1] == o->letter) {
            *inlined = word[2] == '=' ? word + 3 : word[2] ? word + 2 : NULL;
            break;
        }
    }
    return i;
}

static int unknown_option(const command_line *line, const char *word)
{
    const char *names[MAX_OPTIONS + 1] = {"--help"};
    size_t count = 1;
    for (size_t i = 0; i < option_total(line); i++) {
        names[count++] = option_at(line, i)->name;
    }
    char name[NAME_LENGTH];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = far_nearest_name(name, names, count);
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

/* "a number >= 0", "a number >= 0 or inf" */
static int refuse_number(const command_line *line, const option *o, const char *text)
{
    return usage_error(line->verb, "%s needs a number >= %lld%s, not '%s'", o->name,
                       (long long)o->least, o->most ? " or inf" : "", text);
}

static int store_number(const command_line *line, const option *o, const char *text, double *field)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= (double)o->least) || (isinf(number) && !o->most)) {
        return refuse_number(line, o, text);
    }
    *field = number;
    return OPTIONS_OK;
}

/* What one of the letter after a size stands for; 0 for no such letter. "G", "GB" and "GiB" are the
 * same. */
static double size_unit(const char *letter)
{
    static const char LETTERS[] = "BKMGT";
    const char *found = *letter ? strchr(LETTERS, *letter & ~0x20) : LETTERS;
    if (!found) {
        return 0;
    }
    const char *rest = *letter ? letter + 1 : letter;
    bool whole = !*rest || (found > LETTERS && (!strcmp(rest, "B") || !strcmp(rest, "iB")));
    return whole ? pow(1024, (double)(found - LETTERS)) : 0;
}

static int store_size(const command_line *line, const option *o, const char *text, double *field)
{
    char *end;
    double number = strtod(text, &end);
    double bytes = number * size_unit(end);
    if (end == text || !isfinite(number) || !(bytes >= 1)) {
        return usage_error(line->verb, "%s needs a size like 500M or 8G, not '%s'", o->name, text);
    }
    *field = bytes;
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

static int store_word(const command_line *line, const option *o, const char *text, word_list *list)
{
    if (text[0] == '-') {
        return usage_error(line->verb, "%s takes %s, not '%s'", o->name, o->value, text);
    }
    if (list->count == MAX_WORDS) {
        return usage_error(line->verb, "%s takes at most %d words", o->name, MAX_WORDS);
    }
    list->words[list->count++] = text;
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
    case OPTION_NUMBER:
        return store_number(line, o, text, field);
    case OPTION_SIZE:
        return store_size(line, o, text, field);
    case OPTION_WORDS:
        return store_word(line, o, text, field);
    }
    return EXIT_USAGE;
}

bool is_setting(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
    return length > 0 && text[0] != '-' && text[length] == '=';
}

/* argv[*i] is an option; *i moves on to its value where that is a word of its own. */
static int take_option(command_line *line, int argc, char **argv, int *i, void *values)
{
    const char *word = argv[*i], *text = NULL;
    size_t which = find_option(line, word, &text);
    if (which == option_total(line)) {
        return unknown_option(line, word);
    }
    const option *o = option_at(line, which);
    if (o->kind == OPTION_FLAG && text) {
        return usage_error(line->verb, "%s takes no value", o->name);
    }
    if (o->kind != OPTION_FLAG && !text) {
        if (*i + 1 >= argc) {
            return usage_error(line->verb, "%s needs a value: %s", o->name, o->value);
        }
        text = argv[++*i];
    }
    if (o->kind == OPTION_TEXT && o->most && line->given[which]) {
        return usage_error(line->verb,
                           "%s stands there twice; it takes a list, with commas between", o->name);
    }
    void *field = (char *)values + field_offset(line, which);
    line->given[which] = true;
    int code = store_value(line, o, text, field);
    while (code == OPTIONS_OK && o->kind == OPTION_WORDS && *i + 1 < argc &&
           is_setting(argv[*i + 1])) {
        code = store_value(line, o, argv[++*i], field);
    }
    return code;
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
    for (size_t i = 0; i < option_total(line); i++) {
        if (strcmp(option_at(line, i)->name, name) == 0) {
            return line->given[i];
        }
    }
    return false;
}

const char *options_given_of(const command_line *line, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (options_given(line, names[i])) {
            return names[i];
        }
    }
    return NULL;
}

const char *options_given_more(const command_line *line, const char *except)
{
    for (size_t i = line->option_count + line->common.count; i < option_total(line); i++) {
        const char *name = option_at(line, i)->name;
        if (line->given[i] && !(except && strcmp(name, except) == 0)) {
            return name;
        }
    }
    return NULL;
}
