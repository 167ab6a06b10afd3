#include "files.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- in ------------------------------------------------------------------------------------ */

/* Splits "file.npz:name" in place; NULL if operand is to be taken whole. */
static char *split_member(char *operand)
{
    char *colon = strrchr(operand, ':');
    if (!colon || !colon[1] || access(operand, F_OK) == 0) {
        return NULL;
    }
    *colon = 0;
    return colon + 1;
}

static int to_float32(const char *verb_name, input *in)
{
    far_mat wide = in->values;
    int64_t count = wide.rows * wide.cols;
    const double *from = wide.data;
    in->floats = malloc((size_t)(count > 0 ? count : 1) * sizeof *in->floats);
    if (!in->floats) {
        return failure(verb_name, "%s: out of memory", in->label);
    }
    for (int64_t i = 0; i < count; i++) {
        in->floats[i] = (float)from[i];
        if (isinf(in->floats[i])) {
            return failure(verb_name, "%s: row %lld, column %lld: %g is too large for float32",
                           in->label, (long long)(i / wide.cols + 1),
                           (long long)(i % wide.cols + 1), from[i]);
        }
    }
    in->values = far_mat_view(in->floats, wide.rows, wide.cols, FAR_F32);
    return EXIT_DONE;
}

int input_read(const char *verb_name, far_ctx *ctx, const char *operand, far_dtype dtype, input *in)
{
    in->label = strcmp(operand, "-") == 0 ? "standard input" : operand;
    char *path = strdup(operand);
    if (!path) {
        return failure(verb_name, "out of memory");
    }
    const char *member = split_member(path);
    far_status st = far_table_read(ctx, path, member, &in->table);
    free(path);
    if (st != FAR_OK) {
        return failure(verb_name, "%s", far_ctx_message(ctx));
    }
    in->values = far_table_values(in->table);
    return dtype == FAR_F32 ? to_float32(verb_name, in) : EXIT_DONE;
}

void input_free(input *in)
{
    free(in->floats);
    far_table_destroy(in->table);
    *in = (input){0};
}

/* ---- memory -------------------------------------------------------------------------------- */

/* MemAvailable of /proc/meminfo in bytes; INFINITY where there is none. */
static double memory_available(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    double kib = INFINITY;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %lf", &kib) == 1) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return kib * 1024;
}

int matrix_alloc(const char *verb_name, int64_t rows, int64_t cols, far_dtype dtype, far_mat *out)
{
    size_t size = dtype == FAR_F32 ? sizeof(float) : sizeof(double);
    double bytes = (double)rows * (double)cols * (double)size, available = memory_available();
    size_t count = (size_t)rows * (size_t)cols;
    void *data = bytes < available ? calloc(count > 0 ? count : 1, size) : NULL;
    if (!data && bytes < available) {
        return failure(verb_name,
                       "the %lld x %lld result needs %.3g GiB, more than this process may have",
                       (long long)rows, (long long)cols, bytes / (1 << 30));
    }
    if (!data) {
        return failure(verb_name, "the %lld x %lld result needs %.3g GiB, but %.3g GiB are free",
                       (long long)rows, (long long)cols, bytes / (1 << 30), available / (1 << 30));
    }
    *out = far_mat_view(data, rows, cols, dtype);
    return EXIT_DONE;
}

/* ---- out ----------------------------------------------------------------------------------- */

bool output_ending_known(const char *path)
{
    static const char *const ENDINGS[] = {".npy", ".npz", ".csv", ".csv.gz"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ENDINGS / sizeof ENDINGS[0]; i++) {
        size_t n = strlen(ENDINGS[i]);
        if (length > n && strcasecmp(path + length - n, ENDINGS[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A reader that went away (head, less) is no news to the user: only the exit code tells. */
static int stdout_failed(const char *verb_name)
{
    if (errno == EPIPE) {
        return EXIT_FAILED;
    }
    return failure(verb_name, "standard output: %s",
                   errno ? strerror(errno) : "could not be written");
}

int matrix_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
                 const char *path)
{
    errno = 0;
    far_status st =
        path ? far_mat_write(ctx, m, array_name, path) : far_mat_write_csv(ctx, m, stdout);
    if (st == FAR_OK) {
        return EXIT_DONE;
    }
    if (st == FAR_ERR_CANCELLED) {
        return EXIT_FAILED; /* by the user, who knows */
    }
    if (!path && st == FAR_ERR_IO) {
        clearerr(stdout); /* reported here, once */
        return stdout_failed(verb_name);
    }
    return failure(verb_name, "%s", far_ctx_message(ctx));
}

int stdout_finish(const char *verb_name, int code)
{
    errno = 0;
    if (!ferror(stdout) && fflush(stdout) == 0) {
        return code;
    }
    int failed = stdout_failed(verb_name);
    return code == EXIT_DONE ? failed : code;
}
