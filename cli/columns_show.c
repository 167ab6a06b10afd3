#include "columns_show.h"
#include "fitting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SAID = 8, MOST_NAMES = 8, TEXT_BYTES = 64, LINE_BYTES = 1024 };

/* ---- values -------------------------------------------------------------------------------- */

static const char *show_value(const char *unit, double value, char *out, size_t capacity)
{
    if (strcmp(unit, "date") == 0) {
        far_date_print(value, out, capacity);
    } else {
        snprintf(out, capacity, "%.6g%s", value, strcmp(unit, "%") == 0 ? unit : "");
    }
    return out;
}

static bool is_date(const far_columns *c, int64_t input)
{
    far_feature_info f = {0};
    int64_t count = far_columns_describe(c).features;
    for (int64_t j = 0; j < count && !(f.name && f.first == input); j++) {
        f = far_columns_feature(c, j);
    }
    return f.name && f.first == input && strcmp(f.unit, "date") == 0;
}

const char *columns_value(const far_columns *c, int64_t input, double value, char *out,
                          size_t capacity)
{
    if (is_date(c, input)) {
        far_date_print(value, out, capacity);
    } else {
        snprintf(out, capacity, "%.4g", value);
    }
    return out;
}

/* "2015-01-01 to 2021-12-28"; "" where there is no range. */
static const char *show_range(const far_column_summary *s, char *out, size_t capacity)
{
    char low[TEXT_BYTES], high[TEXT_BYTES];
    out[0] = 0;
    if (!isnan(s->low)) {
        snprintf(out, capacity, "%s to %s", show_value(s->unit, s->low, low, sizeof low),
                 show_value(s->unit, s->high, high, sizeof high));
    }
    return out;
}

/* ---- what was done ------------------------------------------------------------------------- */

/* Why a column was left out. */
static const char *show_reason(const far_column_summary *s, char *out, size_t capacity)
{
    char value[TEXT_BYTES];
    switch (s->taken) {
    case FAR_TAKEN_CONSTANT:
        snprintf(out, capacity, "%s in every row",
                 isnan(s->low) ? "the same value"
                               : show_value(s->unit, s->low, value, sizeof value));
        break;
    case FAR_TAKEN_IDENTIFIER:
        snprintf(out, capacity, "looks like an identifier, another %s in every row",
                 isnan(s->low) ? "text" : "whole number");
        break;
    case FAR_TAKEN_TEXT:
        snprintf(out, capacity, "text, %lld different values", (long long)s->levels);
        break;
    default:
        snprintf(out, capacity, "no values");
    }
    return out;
}

static const char *show_done(const far_column_summary *s, bool impute, char *out, size_t capacity)
{
    char reason[2 * TEXT_BYTES];
    bool words = s->levels > 0;
    const char *filled = s->missing == 0 || !impute || s->role == FAR_ROLE_TARGET ? ""
                         : words ? ", gaps filled with the most frequent category"
                                 : ", gaps filled with the median";
    if (s->role == FAR_ROLE_LEFT_OUT) {
        snprintf(out, capacity, "left out: %s", show_reason(s, reason, sizeof reason));
    } else if (s->role == FAR_ROLE_TARGET) {
        snprintf(out, capacity, "target");
    } else if (words) {
        snprintf(out, capacity, "one-hot, %lld inputs%s", (long long)s->levels, filled);
    } else {
        snprintf(out, capacity, "one input%s%s%s%s", s->written ? ", written with " : "",
                 s->written ? s->written : "", *s->unit ? ", in " : "", *s->unit ? s->unit : "");
        size_t used = strlen(out);
        snprintf(out + used, capacity - used, "%s", filled);
    }
    return out;
}

/* ---- lines on stderr ----------------------------------------------------------------------- */

void columns_say(const session *s, const far_columns *c)
{
    int64_t said = 0, more = 0;
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary column = far_columns_summary(c, i);
        char reason[2 * TEXT_BYTES];
        if (column.role == FAR_ROLE_LEFT_OUT && said++ < MOST_SAID) {
            session_say(s, "column %s is left out: %s (--keep %s keeps it)", column.name,
                        show_reason(&column, reason, sizeof reason), column.name);
        } else if (column.role == FAR_ROLE_LEFT_OUT) {
            more++;
        }
        if (column.labels > 0) {
            session_say(s,
                        "the target %s holds %d whole numbers, %g to %g; if they are classes, say "
                        "--task classify (--task regress: they are not)",
                        column.name, (int)column.labels, column.low, column.high);
        }
    }
    if (more > 0) {
        session_say(s, "%lld more columns are left out", (long long)more);
    }
}

int columns_say_unseen(const session *s, const far_columns *c, const far_frame *frame,
                       const unsigned char *rows, double *counts, int64_t *unseen)
{
    far_unseen u;
    if (far_columns_unseen(s->ctx, c, frame, rows, counts, &u) != FAR_OK) {
        return session_failure(s, NULL);
    }
    if (unseen) {
        *unseen = u.rows;
    }
    if (u.rows > 0) {
        session_say(s,
                    "%lld row%s a category that the training data does not have, as row %lld, "
                    "column %s: '%s'; it counts as none of the known ones",
                    (long long)u.rows, u.rows == 1 ? " has" : "s have", (long long)u.row + 1,
                    u.column, u.category);
    }
    return EXIT_DONE;
}

/* ---- the result ---------------------------------------------------------------------------- */

/* "3 numbers: a, b, c" */
static void tell_kind(far_result *r, const far_columns *c, far_taken taken, const char *many,
                      const char **label)
{
    char line[LINE_BYTES] = "", range[3 * TEXT_BYTES];
    size_t used = 0;
    int64_t count = 0;
    const char *one = "";
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary s = far_columns_summary(c, i);
        if (s.role != FAR_ROLE_FEATURE || s.taken != taken || count++ >= MOST_NAMES) {
            continue;
        }
        one = s.taken_name;
        used +=
            (size_t)snprintf(line + used, sizeof line - used, "%s%.60s", used ? ", " : "", s.name);
        if (s.levels > 0) {
            used += (size_t)snprintf(line + used, sizeof line - used, " (%lld levels)",
                                     (long long)s.levels);
        } else if (taken == FAR_TAKEN_DATE) {
            used += (size_t)snprintf(line + used, sizeof line - used, " (%s)",
                                     show_range(&s, range, sizeof range));
        }
    }
    if (count > 0) {
        far_result_say(r, *label, "%lld %s: %s%s", (long long)count, count == 1 ? one : many, line,
                       count > MOST_NAMES ? ", ..." : "");
        *label = "";
    }
}

static void tell_left_out(far_result *r, const far_columns *c)
{
    char line[LINE_BYTES] = "";
    size_t used = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary s = far_columns_summary(c, i);
        if (s.role == FAR_ROLE_LEFT_OUT && count++ < MOST_NAMES) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%.60s (%s)",
                                     used ? ", " : "", s.name, s.taken_name);
        }
    }
    if (count > 0) {
        far_result_say(r, "left out", "%s%s", line, count > MOST_NAMES ? ", ..." : "");
    }
}

static void tell_missing(far_result *r, const far_columns *c)
{
    int64_t count = 0, columns = 0;
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary s = far_columns_summary(c, i);
        count += s.role == FAR_ROLE_FEATURE ? s.missing : 0;
        columns += s.role == FAR_ROLE_FEATURE && s.missing > 0;
    }
    if (count > 0) {
        far_result_say(r, "missing", "%lld value%s of %lld column%s, filled", (long long)count,
                       count == 1 ? "" : "s", (long long)columns, columns == 1 ? "" : "s");
    }
}

static void tell_table(far_result *r, const far_columns *c)
{
    static const far_result_column COLUMNS[] = {
        {"name", "column", NULL},       {"taken", "taken for", NULL},   {"role", NULL, NULL},
        {"levels", "levels", "%.0f"},   {"missing", "missing", "%.0f"}, {NULL, "range", NULL},
        {"low", NULL, "%.17g"},         {"high", NULL, "%.17g"},        {"unit", NULL, NULL},
        {"done", "what was done", NULL}};
    static const char *const ROLES[] = {"feature", "target", "left out"};
    bool impute = far_columns_describe(c).impute;
    far_result_table(r, "columns", "The columns of the table.", COLUMNS,
                     sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary s = far_columns_summary(c, i);
        char range[3 * TEXT_BYTES], done[4 * TEXT_BYTES];
        far_result_cell_text(r, "%s", s.name);
        far_result_cell_text(r, "%s", s.taken_name);
        far_result_cell_text(r, "%s", ROLES[s.role]);
        far_result_cell(r, s.levels > 0 ? (double)s.levels : NAN);
        far_result_cell(r, (double)s.missing);
        far_result_cell_text(r, "%s", show_range(&s, range, sizeof range));
        far_result_cell(r, s.low);
        far_result_cell(r, s.high);
        far_result_cell_text(r, "%s", s.unit);
        far_result_cell_text(r, "%s", show_done(&s, impute, done, sizeof done));
    }
}

void columns_tell(far_result *r, const far_columns *c)
{
    const char *label = "columns";
    if (far_columns_describe(c).summaries == 0) {
        return;
    }
    far_result_for(r, FAR_FOR_TEXT);
    tell_kind(r, c, FAR_TAKEN_NUMBER, "numbers", &label);
    tell_kind(r, c, FAR_TAKEN_CATEGORY, "categories", &label);
    tell_kind(r, c, FAR_TAKEN_DATE, "dates", &label);
    tell_kind(r, c, FAR_TAKEN_CONSTANT, "constants", &label);
    tell_kind(r, c, FAR_TAKEN_IDENTIFIER, "identifiers", &label);
    tell_left_out(r, c);
    tell_missing(r, c);
    far_result_for(r, FAR_FOR_PAGE | FAR_FOR_JSON);
    tell_table(r, c);
    far_result_for(r, FAR_FOR_ALL);
}

void columns_tell_outputs(far_result *r, const far_columns *c)
{
    enum { SHOWN = 8 };
    far_columns_info i = far_columns_describe(c);
    bool classes = i.classes > 0;
    char names[SHOWN * 256] = "", task[16];
    for (int64_t k = 0; k < i.outputs && k < SHOWN; k++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.240s", k ? ", " : "",
                 classes ? i.class_names[k] : i.target_names[k]);
    }
    far_result_count(r, "outputs", i.outputs, classes ? "classes" : "outputs", "%lld: %s%s",
                     (long long)i.outputs, names, i.outputs > SHOWN ? ", ..." : "");
    far_result_text(r, "task", choice_word(TASK_LIST, i.task, task, sizeof task), NULL, NULL);
}
