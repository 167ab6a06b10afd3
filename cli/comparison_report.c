/* The files of a comparison. */
#define _GNU_SOURCE
#include "comparison.h"
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table in the making: numbers, some of them indices of words. */
typedef struct sheet {
    far_mat values;
    result_column *columns;
    int64_t count;
} sheet;

static void sheet_free(sheet *s)
{
    for (int64_t j = 0; s->columns && j < s->count; j++) {
        free(s->columns[j].name);
    }
    free(s->columns);
    free(s->values.data);
}

static int sheet_new(const char *verb_name, int64_t rows, const char *const *names, int64_t count,
                     sheet *s)
{
    int code = matrix_alloc(verb_name, rows, count, FAR_F64, &s->values);
    s->count = count;
    s->columns = calloc((size_t)count, sizeof *s->columns);
    for (int64_t j = 0; code == EXIT_DONE && s->columns && j < count; j++) {
        s->columns[j] = (result_column){strdup(names[j]), s->values, j, NULL};
        if (!s->columns[j].name) {
            code = failure(verb_name, "out of memory");
        }
    }
    return code == EXIT_DONE && !s->columns ? failure(verb_name, "out of memory") : code;
}

static double *sheet_row(const sheet *s, int64_t i)
{
    return (double *)s->values.data + i * s->count;
}

/* folder/name, NULL without memory. */
static char *path_in(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int sheet_write(const session *s, const sheet *table, const char *folder, const char *name)
{
    char *path = path_in(folder, name);
    int code = path ? columns_write(s->verb, s->ctx, table->columns, table->count,
                                    table->values.rows, "table", path)
                    : failure(s->verb, "out of memory");
    free(path);
    return code;
}

static int write_text(const session *s, const char *text, const char *folder, const char *name)
{
    sink out;
    char *path = path_in(folder, name);
    int code = path ? sink_open(s->verb, s->ctx, path, &out) : failure(s->verb, "out of memory");
    if (code == EXIT_DONE) {
        sink_put(&out, text);
        code = sink_close(&out, EXIT_DONE);
    }
    free(path);
    return code;
}

/* The names of the models; NULL without memory. */
static const char **model_names(const far_comparison *c, int64_t models)
{
    const char **names = calloc((size_t)models, sizeof *names);
    for (int64_t i = 0; names && i < models; i++) {
        names[i] = far_comparison_row(c, i)->model;
    }
    return names;
}

/* ---- compare.csv: one line for each model and seed ------------------------------------------ */

static const char *const RUN_COLUMNS[] = {
    "model",   "seed",     "status", "arch",    "ridge",       "r2_in",           "r2_out",
    "rmse_in", "rmse_out", "max_in", "max_out", "seconds_fit", "seconds_predict", "error"};
enum {
    RUN_COLUMN_COUNT = sizeof RUN_COLUMNS / sizeof RUN_COLUMNS[0],
    RUN_MODEL = 0,
    RUN_STATUS = 2,
    RUN_ARCH = 3,
    RUN_ERROR = 13
};
static const char *const STATUS_WORDS[] = {"ok", "failed"};

static void fill_run(const far_compare_run *r, int64_t model, int64_t place, double *row)
{
    double values[RUN_COLUMN_COUNT] = {
        (double)model, (double)r->seed, r->status != FAR_OK, (double)place, r->ridge,
        r->r2_in,      r->r2_out,       r->rmse_in,          r->rmse_out,   r->max_in,
        r->max_out,    r->seconds_fit,  r->seconds_predict,  (double)place};
    memcpy(row, values, sizeof values);
}

/* words has room for the architecture and the error of every run. */
static void fill_runs(const far_comparison *c, const far_comparison_info *info, const sheet *table,
                      const char **words)
{
    int64_t runs = info->models * info->seeds;
    for (int64_t i = 0; i < runs; i++) {
        const far_compare_run *r = &far_comparison_row(c, i / info->seeds)->runs[i % info->seeds];
        words[i] = r->arch ? r->arch : "";
        words[runs + i] = r->message ? r->message : "";
        fill_run(r, i / info->seeds, i, sheet_row(table, i));
    }
    table->columns[RUN_STATUS].words = STATUS_WORDS;
    table->columns[RUN_ARCH].words = words;
    table->columns[RUN_ERROR].words = words + runs;
}

static int write_runs(const session *s, const far_comparison *c, const far_comparison_info *info,
                      const char *const *names, const char *folder)
{
    sheet table = {0};
    int64_t runs = info->models * info->seeds;
    const char **words = calloc((size_t)(2 * runs), sizeof *words);
    int code = words ? sheet_new(s->verb, runs, RUN_COLUMNS, RUN_COLUMN_COUNT, &table)
                     : failure(s->verb, "out of memory");
    if (code == EXIT_DONE) {
        fill_runs(c, info, &table, words);
        table.columns[RUN_MODEL].words = names;
        code = sheet_write(s, &table, folder, "compare.csv");
    }
    sheet_free(&table);
    free(words);
    return code;
}

/* ---- predictions.csv ------------------------------------------------------------------------ */

static const char *const POINT_COLUMNS[] = {"model", "seed", "row", "range", "truth", "prediction"};
enum {
    POINT_COLUMN_COUNT = sizeof POINT_COLUMNS / sizeof POINT_COLUMNS[0],
    POINT_MODEL = 0,
    POINT_RANGE = 3
};
static const char *const RANGE_WORDS[] = {"in", "out"};

static int64_t predicted(const far_comparison *c, const far_comparison_info *info)
{
    int64_t total = 0;
    for (int64_t i = 0; i < info->models * info->seeds; i++) {
        const far_compare_run *r = &far_comparison_row(c, i / info->seeds)->runs[i % info->seeds];
        total += r->prediction ? far_comparison_describe(c).points[i % info->seeds].count : 0;
    }
    return total;
}

static void fill_points(const far_comparison *c, const far_comparison_info *info,
                        const sheet *table)
{
    int64_t at = 0;
    for (int64_t i = 0; i < info->models * info->seeds; i++) {
        int64_t model = i / info->seeds;
        const far_compare_run *r = &far_comparison_row(c, model)->runs[i % info->seeds];
        far_compare_points p = far_comparison_describe(c).points[i % info->seeds];
        for (int64_t k = 0; r->prediction && k < p.count; k++) {
            double values[POINT_COLUMN_COUNT] = {
                (double)model, (double)r->seed, (double)(p.rows[k] + 1),
                p.out[k],      p.truth[k],      r->prediction[k]};
            memcpy(sheet_row(table, at++), values, sizeof values);
        }
    }
}

static int write_points(const session *s, const far_comparison *c, const far_comparison_info *info,
                        const char *const *names, const char *folder)
{
    sheet table = {0};
    int code = sheet_new(s->verb, predicted(c, info), POINT_COLUMNS, POINT_COLUMN_COUNT, &table);
    if (code == EXIT_DONE) {
        fill_points(c, info, &table);
        table.columns[POINT_MODEL].words = names;
        table.columns[POINT_RANGE].words = RANGE_WORDS;
        code = sheet_write(s, &table, folder, "predictions.csv");
    }
    sheet_free(&table);
    return code;
}

int comparison_files(const session *s, const far_comparison *c, const char *text,
                     const char *folder)
{
    far_comparison_info info = far_comparison_describe(c);
    const char **names = model_names(c, info.models);
    int code = names ? EXIT_DONE : failure(s->verb, "out of memory");
    if (code == EXIT_DONE) {
        code = write_runs(s, c, &info, names, folder);
    }
    if (code == EXIT_DONE) {
        code = write_points(s, c, &info, names, folder);
    }
    if (code == EXIT_DONE) {
        code = write_text(s, text, folder, "compare.json");
    }
    free(names);
    return code;
}
