/*
 * The published files: INDEX90.tsv, and for each set
 *     NAME_R.dat           a line of names; then row number, features, label
 *     conxuntos.dat        2 lines of row numbers from 0: the two halves
 *     conxuntos_kfold.dat  8 lines: train and test rows of four folds
 */
#include "uci90.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

typedef struct numbers {
    double *value;
    int64_t count, capacity;
} numbers;

typedef struct reader {
    uci90_lab *lab;
    FILE *file;
    char path[PATH_BYTES];
    char *line;
    size_t line_bytes;
    int64_t number; /* of the line, from 1 */
} reader;

/* ---- lines ---- */

static far_status open_file(uci90_lab *lab, reader *r)
{
    r->lab = lab;
    r->file = fopen(r->path, "r");
    return r->file ? FAR_OK : uci90_fail(lab, FAR_ERR_IO, "%.200s: %s", r->path, strerror(errno));
}

static void close_file(reader *r)
{
    if (r->file) {
        fclose(r->file);
    }
    free(r->line);
}

/* The next line that is not blank; false at the end. */
static bool next_line(reader *r)
{
    while (getline(&r->line, &r->line_bytes, r->file) >= 0) {
        r->number++;
        if (r->line[strspn(r->line, " \t\r\n")]) {
            return true;
        }
    }
    return false;
}

static far_status fail_line(const reader *r, const char *what)
{
    return uci90_fail(r->lab, FAR_ERR_FORMAT, "%.200s: line %lld %s", r->path, (long long)r->number,
                      what);
}

/* ---- numbers ---- */

static void append(numbers *list, double value)
{
    if (list->count == list->capacity) {
        numbers larger = {.count = list->count, .capacity = 2 * list->capacity + 64};
        larger.value = UCI90_ALLOC(larger.capacity, double);
        if (list->count > 0) {
            memcpy(larger.value, list->value, (size_t)list->count * sizeof *list->value);
        }
        free(list->value);
        *list = larger;
    }
    list->value[list->count++] = value;
}

static far_status append_line(const reader *r, numbers *list)
{
    const char *text = r->line;
    for (;;) {
        char *end;
        double value = strtod(text, &end);
        if (end == text) {
            return text[strspn(text, " \t\r\n")] ? fail_line(r, "holds a word that is no number")
                                                 : FAR_OK;
        }
        append(list, value);
        text = end;
    }
}

/* ---- the table ---- */

static far_status read_table(reader *r, numbers *list, int64_t *rows)
{
    far_status st = FAR_OK;
    int64_t columns = 0;
    next_line(r); /* the names */
    for (*rows = 0; next_line(r); ++*rows) {
        int64_t before = list->count;
        TRY(append_line(r, list));
        columns = *rows == 0 ? list->count : columns;
        if (list->count - before != columns || columns < 3) {
            st = fail_line(r, "has not as many numbers as the first row, or less than 3");
            goto done;
        }
    }
    if (*rows < 2) {
        st = fail_line(r, "ends the table: there are less than 2 rows");
    }
done:
    return st;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Labels become 0 .. classes - 1 in the order of their values. */
static void number_labels(uci90_set *set, const double *table, int64_t columns)
{
    double *values = UCI90_ALLOC(set->n, double);
    for (int64_t i = 0; i < set->n; i++) {
        values[i] = table[(i + 1) * columns - 1];
    }
    qsort(values, (size_t)set->n, sizeof *values, compare_doubles);
    set->classes = 1;
    for (int64_t i = 1; i < set->n; i++) {
        if (values[i] != values[set->classes - 1]) {
            values[set->classes++] = values[i];
        }
    }
    for (int64_t i = 0; i < set->n; i++) {
        while (values[set->label[i]] < table[(i + 1) * columns - 1]) {
            set->label[i]++;
        }
    }
    free(values);
}

static void keep_table(uci90_set *set, const numbers *list, int64_t rows)
{
    int64_t columns = list->count / rows;
    set->n = rows;
    set->d = columns - 2;
    set->x = UCI90_ALLOC(set->n * set->d, double);
    set->label = UCI90_ALLOC(set->n, int64_t);
    for (int64_t i = 0; i < set->n; i++) {
        memcpy(set->x + i * set->d, list->value + i * columns + 1, (size_t)set->d * sizeof *set->x);
    }
    number_labels(set, list->value, columns);
}

static far_status load_table(uci90_lab *lab, const char *dir, const char *name, uci90_set *set)
{
    reader r = {.number = 0};
    numbers list = {.count = 0};
    int64_t rows;
    far_status st;
    snprintf(r.path, sizeof r.path, "%s/data/%s/%s_R.dat", dir, name, name);
    TRY(open_file(lab, &r));
    TRY(read_table(&r, &list, &rows));
    keep_table(set, &list, rows);
    if (set->classes < 2) {
        st = uci90_fail(lab, FAR_ERR_FORMAT, "%.200s: all rows have the same label", r.path);
    }
done:
    free(list.value);
    close_file(&r);
    return st;
}

/* ---- splits ---- */

uci90_split uci90_split_make(int64_t train, int64_t test)
{
    return (uci90_split){.train = {.count = train, .at = UCI90_ALLOC(train, int64_t)},
                         .test = {.count = test, .at = UCI90_ALLOC(test, int64_t)}};
}

void uci90_split_free(uci90_split *split)
{
    free(split->train.at);
    free(split->test.at);
    *split = (uci90_split){.train.at = NULL};
}

static far_status read_rows(reader *r, int64_t n, uci90_rows *out)
{
    numbers list = {.count = 0};
    far_status st;
    if (!next_line(r)) {
        return uci90_fail(r->lab, FAR_ERR_FORMAT, "%.200s ends after %lld lines", r->path,
                          (long long)r->number);
    }
    TRY(append_line(r, &list));
    *out = (uci90_rows){.count = list.count, .at = UCI90_ALLOC(list.count, int64_t)};
    for (int64_t i = 0; i < list.count; i++) {
        if (!(list.value[i] >= 0 && list.value[i] < (double)n)) {
            st = fail_line(r, "names a row that the table does not have");
            goto done;
        }
        out->at[i] = (int64_t)list.value[i];
    }
done:
    free(list.value);
    return st;
}

/* A row in both parts would be tested by what it was trained on. */
static far_status check_partition(const reader *r, int64_t n, const uci90_split *split)
{
    bool *seen = UCI90_ALLOC(n, bool);
    const uci90_rows *parts[] = {&split->train, &split->test};
    int64_t count = 0;
    for (int p = 0; p < 2; p++) {
        for (int64_t i = 0; i < parts[p]->count; i++) {
            count += !seen[parts[p]->at[i]];
            seen[parts[p]->at[i]] = true;
        }
    }
    free(seen);
    bool whole = count == n && split->train.count + split->test.count == n;
    return whole && split->train.count > 0 && split->test.count > 0
               ? FAR_OK
               : fail_line(r, "and the one before do not part the rows of the table in two");
}

static far_status load_splits(uci90_lab *lab, const char *dir, const uci90_set *set,
                              const char *file, uci90_split *splits, int count)
{
    reader r = {.number = 0};
    far_status st;
    snprintf(r.path, sizeof r.path, "%s/data/%s/%s", dir, set->name, file);
    TRY(open_file(lab, &r));
    for (int i = 0; i < count; i++) {
        TRY(read_rows(&r, set->n, &splits[i].train));
        TRY(read_rows(&r, set->n, &splits[i].test));
        TRY(check_partition(&r, set->n, &splits[i]));
    }
done:
    close_file(&r);
    return st;
}

/* ---- a set ---- */

far_status uci90_set_read(uci90_lab *lab, const char *dir, const char *name, uci90_set *out)
{
    uci90_set set = {.n = 0};
    far_status st;
    *out = set;
    snprintf(set.name, sizeof set.name, "%s", name);
    TRY(load_table(lab, dir, name, &set));
    TRY(load_splits(lab, dir, &set, "conxuntos.dat", &set.halves, 1));
    TRY(load_splits(lab, dir, &set, "conxuntos_kfold.dat", set.fold, UCI90_FOLDS));
    *out = set;
    set = (uci90_set){.n = 0};
done:
    uci90_set_free(&set);
    return st;
}

void uci90_set_free(uci90_set *set)
{
    free(set->x);
    free(set->label);
    uci90_split_free(&set->halves);
    for (int i = 0; i < UCI90_FOLDS; i++) {
        uci90_split_free(&set->fold[i]);
    }
    *set = (uci90_set){.n = 0};
}

/* ---- the index ---- */

static far_status read_entry(reader *r, uci90_entry *out)
{
    long long rows;
    if (sscanf(r->line, "%63s %lld", out->name, &rows) != 2 || rows < 2) {
        return fail_line(r, "has no name and number of rows");
    }
    out->rows = rows;
    return FAR_OK;
}

static int64_t count_lines(reader *r)
{
    int64_t count = 0;
    while (next_line(r)) {
        count++;
    }
    rewind(r->file);
    r->number = 0;
    return count;
}

far_status uci90_index_read(uci90_lab *lab, const char *dir, uci90_entry **out, int64_t *count)
{
    reader r = {.number = 0};
    uci90_entry *entries = NULL;
    int64_t lines;
    far_status st;
    *out = NULL;
    *count = 0;
    snprintf(r.path, sizeof r.path, "%s/INDEX90.tsv", dir);
    TRY(open_file(lab, &r));
    lines = count_lines(&r);
    entries = UCI90_ALLOC(lines, uci90_entry);
    next_line(&r); /* the names of the columns */
    for (int64_t i = 0; i + 1 < lines && next_line(&r); i++) {
        TRY(read_entry(&r, &entries[i]));
    }
    *out = entries;
    *count = lines > 0 ? lines - 1 : 0;
    entries = NULL;
done:
    free(entries);
    close_file(&r);
    return st;
}
