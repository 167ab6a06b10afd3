/* Boosted trees by the XGBoost C library, which is opened when it is asked for and need not be
 * there. The functions used are those of its 1.7 and later. */
#define _GNU_SOURCE
#include "baseline_internal.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHOSEN_FILE "FARFIELD_XGBOOST"

/* ---- the library ----------------------------------------------------------------------------- */

typedef void *handle;

/* Every int is 0, or -1 with the words in last_error. An array is a description in JSON. */
typedef struct library {
    void *file;
    void (*version)(int *major, int *minor, int *patch);
    const char *(*last_error)(void);
    int (*matrix_create)(const char *array, const char *config, handle *out);
    int (*matrix_set_info)(handle matrix, const char *field, const char *array);
    int (*matrix_free)(handle matrix);
    int (*booster_create)(const handle *matrices, uint64_t count, handle *out);
    int (*booster_set_param)(handle booster, const char *name, const char *value);
    int (*booster_update)(handle booster, int round, handle matrix);
    int (*booster_predict)(handle booster, handle matrix, const char *config,
                           const uint64_t **shape, uint64_t *dimensions, const float **values);
    int (*booster_save)(handle booster, const char *config, uint64_t *size, const char **bytes);
    int (*booster_load)(handle booster, const void *bytes, uint64_t size);
    int (*booster_free)(handle booster);
} library;

static const struct {
    const char *name;
    size_t place;
} symbols[] = {
    {"XGBoostVersion", offsetof(library, version)},
    {"XGBGetLastError", offsetof(library, last_error)},
    {"XGDMatrixCreateFromDense", offsetof(library, matrix_create)},
    {"XGDMatrixSetInfoFromInterface", offsetof(library, matrix_set_info)},
    {"XGDMatrixFree", offsetof(library, matrix_free)},
    {"XGBoosterCreate", offsetof(library, booster_create)},
    {"XGBoosterSetParam", offsetof(library, booster_set_param)},
    {"XGBoosterUpdateOneIter", offsetof(library, booster_update)},
    {"XGBoosterPredictFromDMatrix", offsetof(library, booster_predict)},
    {"XGBoosterSaveModelToBuffer", offsetof(library, booster_save)},
    {"XGBoosterLoadModelFromBuffer", offsetof(library, booster_load)},
    {"XGBoosterFree", offsetof(library, booster_free)},
};

/* NODELETE: its threads and registries do not like to be unloaded. */
static void *open_file(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The file that pip installed under the prefix of a Python; NULL: there is none. */
static void *open_under(const char *prefix)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    void *file = NULL;
    int length = snprintf(pattern, sizeof pattern,
                          "%s/lib/python3*/*-packages/xgboost/lib/libxgboost.so", prefix);
    if (length > 0 && (size_t)length < sizeof pattern && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i > 0 && !file; i--) { /* the latest Python first */
            file = open_file(found.gl_pathv[i - 1]);
        }
    }
    globfree(&found);
    return file;
}

/* That of the first python3 on PATH which has one. Debian's pip installs under PREFIX/local. */
static void *open_on_path(void)
{
    char python[PATH_MAX], prefix[PATH_MAX];
    const char *path = getenv("PATH");
    void *file = NULL;
    while (path && *path && !file) {
        int length = (int)strcspn(path, ":");
        snprintf(python, sizeof python, "%.*s/python3", length, path);
        if (length > 0 && access(python, X_OK) == 0) {
            snprintf(prefix, sizeof prefix, "%.*s/..", length, path);
            file = open_under(prefix);
            if (!file) {
                snprintf(prefix, sizeof prefix, "%.*s/../local", length, path);
                file = open_under(prefix);
            }
        }
        path += length + (path[length] == ':');
    }
    return file;
}

static void *open_any(void)
{
    const char *environment = getenv("VIRTUAL_ENV");
    void *file = environment && *environment ? open_under(environment) : NULL;
    file = file ? file : open_on_path();
    file = file ? file : open_file("libxgboost.so.0");
    return file ? file : open_file("libxgboost.so");
}

static far_status find_file(far_ctx *ctx, library *lib)
{
    const char *chosen = getenv(CHOSEN_FILE);
    lib->file = chosen && *chosen ? open_file(chosen) : open_any();
    if (!lib->file) {
        const char *reason = dlerror();
        return far_fail(
            ctx, FAR_ERR_BACKEND,
            "XGBoost could not be opened (%s); install Debian's libxgboost0 or PyPI's xgboost, or "
            "set " CHOSEN_FILE "=/path/to/libxgboost.so",
            reason ? reason : "no reason given");
    }
    return FAR_OK;
}

static far_status find_symbols(far_ctx *ctx, library *lib)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(lib->file, symbols[i].name);
        if (!symbol) {
            return far_fail(ctx, FAR_ERR_BACKEND,
                            "the XGBoost library has no function %s; it must be version 1.7 or "
                            "later (" CHOSEN_FILE " chooses the file)",
                            symbols[i].name);
        }
        memcpy((char *)lib + symbols[i].place, &symbol, sizeof symbol);
    }
    return FAR_OK;
}

static void library_close(library *lib)
{
    if (lib->file) {
        dlclose(lib->file);
    }
}

static far_status library_open(far_ctx *ctx, library *lib)
{
    far_status st = find_file(ctx, lib);
    return st == FAR_OK ? find_symbols(ctx, lib) : st;
}

/* Its words begin with the time in brackets and end with a stack trace in lines of its own. */
static far_status succeeded(far_ctx *ctx, const library *lib, int code, const char *what)
{
    if (code == 0) {
        return FAR_OK;
    }
    const char *words = lib->last_error(), *time = strstr(words, "] ");
    words = *words == '[' && time ? time + 2 : words;
    return far_fail(ctx, FAR_ERR_BACKEND, "XGBoost could not %s: %.*s", what,
                    (int)strcspn(words, "\n"), words);
}

static void find_path(const library *lib, char path[PATH_MAX])
{
    Dl_info where = {0};
    bool found = dladdr(dlsym(lib->file, symbols[0].name), &where) && where.dli_fname;
    if (!found || !realpath(where.dli_fname, path)) {
        snprintf(path, PATH_MAX, "%s", found ? where.dli_fname : "unknown");
    }
}

const far_xgboost *far_xgboost_find(far_ctx *ctx)
{
    static _Thread_local char version[48], path[PATH_MAX];
    static _Thread_local far_xgboost found;
    library lib = {0};
    far_status st = library_open(ctx, &lib);
    if (st == FAR_OK) {
        int major, minor, patch;
        lib.version(&major, &minor, &patch);
        snprintf(version, sizeof version, "%d.%d.%d", major, minor, patch);
        find_path(&lib, path);
        found = (far_xgboost){version, path};
    }
    library_close(&lib);
    return st == FAR_OK ? &found : NULL;
}

/* ---- boosting -------------------------------------------------------------------------------- */

struct far_booster {
    far_ctx *ctx;
    library lib;
    handle booster;
};

void far_booster_destroy(far_booster *b)
{
    if (b) {
        if (b->booster) {
            b->lib.booster_free(b->booster);
        }
        library_close(&b->lib);
        far_free(b->ctx, b);
    }
}

static far_status booster_new(far_ctx *ctx, far_booster **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (far_booster){.ctx = ctx};
        st = library_open(ctx, &(*out)->lib);
    }
    return st;
}

#define ARRAY_CAPACITY 256

/* NumPy's array interface. XGBoost rounds the values to float32 while it reads them. */
static void describe(const far_mat *m, char out[ARRAY_CAPACITY])
{
    long long stride = m->rows > 1 ? (long long)m->ld : (long long)m->cols;
    snprintf(out, ARRAY_CAPACITY,
             "{\"data\": [%" PRIuPTR ", true], \"shape\": [%lld, %lld], \"strides\": [%lld, 8], "
             "\"typestr\": \"<f8\", \"version\": 3}",
             (uintptr_t)m->data, (long long)m->rows, (long long)m->cols, 8 * stride);
}

static far_status make_matrix(const far_booster *b, const far_mat *m, const char *what, handle *out)
{
    char array[ARRAY_CAPACITY], config[64];
    describe(m, array);
    snprintf(config, sizeof config, "{\"missing\": NaN, \"nthread\": %d}", far_ctx_threads(b->ctx));
    return succeeded(b->ctx, &b->lib, b->lib.matrix_create(array, config, out), what);
}

static far_status make_training(const far_booster *b, const far_mat *x, const far_mat *y,
                                handle *out)
{
    char labels[ARRAY_CAPACITY];
    describe(y, labels);
    far_status st = make_matrix(b, x, "take x", out);
    return st == FAR_OK
               ? succeeded(b->ctx, &b->lib, b->lib.matrix_set_info(*out, "label", labels), "take y")
               : st;
}

static far_status set_param(const far_booster *b, const char *name, const char *value)
{
    return succeeded(b->ctx, &b->lib, b->lib.booster_set_param(b->booster, name, value),
                     "set its parameters");
}

static double mean_of(const far_mat *y)
{
    long double sum = 0;
    for (int64_t i = 0; i < y->rows; i++) {
        sum += *(const double *)far_mat_row(y, i);
    }
    return (double)(sum / (long double)y->rows);
}

const char *far_booster_objective(int64_t classes)
{
    return classes == 0 ? "reg:squarederror" : classes == 2 ? "binary:logistic" : "multi:softprob";
}

/* Where boosting starts: at the mean, which of two classes is the part of the second; several all
 * start from the same number, and it does not matter which. */
static double base_score(const far_mat *y, int64_t classes)
{
    return classes <= 2 ? mean_of(y) : 0.5;
}

/* What is not set here is as the library has it: trees of depth 6, eta 0.3. What is set are the
 * defaults of its versions 2 and 3, so that 1.7 has them too: FAR_XGBOOST_SETTINGS. */
static far_status make_booster(far_booster *b, const handle *train, const far_mat *y,
                               int64_t classes, uint64_t seed)
{
    far_status st;
    char threads[16], seed_text[24], base[32], count[24];
    snprintf(base, sizeof base, "%.9g", base_score(y, classes));
    snprintf(threads, sizeof threads, "%d", far_ctx_threads(b->ctx));
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed & INT64_MAX); /* it wants it signed */
    snprintf(count, sizeof count, "%" PRId64, classes);
    FAR_TRY(succeeded(b->ctx, &b->lib, b->lib.booster_create(train, 1, &b->booster), "start"));
    FAR_TRY(set_param(b, "verbosity", "0"));
    FAR_TRY(set_param(b, "nthread", threads));
    FAR_TRY(set_param(b, "seed", seed_text));
    FAR_TRY(set_param(b, "objective", far_booster_objective(classes)));
    FAR_TRY(classes > 2 ? set_param(b, "num_class", count) : FAR_OK);
    FAR_TRY(set_param(b, "tree_method", "hist"));
    FAR_TRY(set_param(b, "max_bin", "256"));
    FAR_TRY(set_param(b, "base_score", base));
done:
    return st;
}

static far_status boost(const far_booster *b, handle train, int64_t rounds)
{
    far_status st = FAR_OK;
    for (int64_t r = 0; r < rounds && st == FAR_OK; r++) {
        st = succeeded(b->ctx, &b->lib, b->lib.booster_update(b->booster, (int)r, train), "fit");
        if (st == FAR_OK) {
            st = far_progress(b->ctx, "boost", r + 1, rounds);
        }
    }
    return st;
}

static uint64_t shape_size(const uint64_t *shape, uint64_t dimensions)
{
    uint64_t size = 1;
    for (uint64_t i = 0; i < dimensions; i++) {
        size *= shape[i];
    }
    return size;
}

/* Type 1: the sums of leaves as they are. */
static far_status predict(const far_booster *b, handle test, far_mat *out)
{
    static const char config[] = "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, "
                                 "\"iteration_end\": 0, \"strict_shape\": false}";
    const uint64_t *shape = NULL;
    uint64_t dimensions = 0;
    const float *values = NULL;
    far_status st = succeeded(
        b->ctx, &b->lib,
        b->lib.booster_predict(b->booster, test, config, &shape, &dimensions, &values), "predict");
    if (st == FAR_OK && shape_size(shape, dimensions) != (uint64_t)(out->rows * out->cols)) {
        st = far_fail(b->ctx, FAR_ERR_BACKEND, "XGBoost gave %llu predictions for %lld rows",
                      (unsigned long long)shape_size(shape, dimensions), (long long)out->rows);
    }
    for (int64_t i = 0; st == FAR_OK && i < out->rows * out->cols; i++) {
        ((double *)far_mat_row(out, i / out->cols))[i % out->cols] = values[i];
    }
    return st;
}

static far_status check_boosting(far_ctx *ctx, const far_mat *x, int64_t rounds)
{
    if (x->cols == 0) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x has no columns; trees need one to split");
    }
    if (rounds < 1 || rounds > INT_MAX) {
        return far_fail(ctx, FAR_ERR_ARG, "rounds is %lld but must be between 1 and %d",
                        (long long)rounds, INT_MAX);
    }
    return FAR_OK;
}

far_status far_booster_fit(far_ctx *ctx, const far_mat *x, const far_mat *y, int64_t classes,
                           int64_t rounds, uint64_t seed, far_booster **out)
{
    far_status st;
    far_booster *b = NULL;
    handle train = NULL;
    FAR_TRY(check_boosting(ctx, x, rounds));
    FAR_TRY(booster_new(ctx, &b));
    FAR_TRY(make_training(b, x, y, &train));
    FAR_TRY(make_booster(b, &train, y, classes, seed));
    FAR_TRY(boost(b, train, rounds));
    *out = b;
done:
    if (train) {
        b->lib.matrix_free(train);
    }
    if (st != FAR_OK) {
        far_booster_destroy(b);
    }
    return st;
}

far_status far_booster_eval(far_ctx *ctx, const far_booster *b, const far_mat *x, far_mat *out)
{
    handle test = NULL;
    far_booster here = *b; /* messages go to the caller's context */
    here.ctx = ctx;
    far_status st = make_matrix(&here, x, "take xt", &test);
    st = st == FAR_OK ? predict(&here, test, out) : st;
    if (test) {
        b->lib.matrix_free(test);
    }
    return st;
}

far_status far_booster_save(const far_booster *b, far_text *out)
{
    uint64_t size = 0;
    const char *bytes = NULL;
    far_status st =
        succeeded(b->ctx, &b->lib,
                  b->lib.booster_save(b->booster, "{\"format\": \"json\"}", &size, &bytes), "save");
    if (st == FAR_OK) {
        far_text_add_bytes(out, bytes, (int64_t)size);
        st = out->status;
    }
    return st;
}

/* From 3.1 on base_score is written as a list, "[5E-1]", which earlier versions take for another
 * number without a word. All of them read it without the brackets. */
static int64_t drop_brackets(char *text, int64_t size)
{
    static const char KEY[] = "\"base_score\":\"[";
    char *key = memmem(text, (size_t)size, KEY, sizeof KEY - 1);
    char *open = key ? key + sizeof KEY - 2 : NULL;
    char *close = key ? memchr(open, ']', (size_t)(text + size - open)) : NULL;
    if (!close) {
        return size;
    }
    memmove(open, open + 1, (size_t)(close - open - 1));
    memmove(close - 1, close + 1, (size_t)(text + size - close - 1));
    return size - 2;
}

far_status far_booster_load(far_ctx *ctx, const void *data, int64_t size, far_booster **out)
{
    far_status st;
    far_booster *b = NULL;
    char *text = NULL;
    FAR_TRY(far_copy_text(ctx, data, size, &text));
    size = drop_brackets(text, size);
    FAR_TRY(booster_new(ctx, &b));
    FAR_TRY(succeeded(ctx, &b->lib, b->lib.booster_create(NULL, 0, &b->booster), "start"));
    FAR_TRY(succeeded(ctx, &b->lib, b->lib.booster_load(b->booster, text, (uint64_t)size), "load"));
done:
    far_free(ctx, text);
    FAR_HAND_OVER(b, out, far_booster_destroy);
    return st;
}

far_status far_xgboost_predict(far_ctx *ctx, const far_mat *x, const far_mat *y, const far_mat *xt,
                               int64_t rounds, uint64_t seed, far_mat *out)
{
    far_status st;
    far_booster *b = NULL;
    FAR_TRY(far_baseline_check(ctx, x, y, xt, out));
    FAR_TRY(far_booster_fit(ctx, x, y, 0, rounds, seed, &b));
    FAR_TRY(far_booster_eval(ctx, b, xt, out));
done:
    far_booster_destroy(b);
    return st;
}
