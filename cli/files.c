#define _GNU_SOURCE
#include "files.h"
#include "progress.h"
#include "show.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- in ------------------------------------------------------------------------------------ */

char *split_member(char *operand)
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

const char *operand_label(const char *operand)
{
    return strcmp(operand, "-") == 0 ? "standard input" : operand;
}

static int read_array(const char *verb_name, far_ctx *ctx, const char *operand, int dims, input *in)
{
    in->label = operand_label(operand);
    char *path = strdup(operand);
    if (!path) {
        return failure(verb_name, "out of memory");
    }
    const char *member = split_member(path);
    far_status st = far_array_read(ctx, path, member, dims, &in->array);
    free(path);
    if (st != FAR_OK) {
        return failure(verb_name, "%s", far_ctx_message(ctx));
    }
    in->values = far_array_describe(in->array).values;
    return EXIT_DONE;
}

int input_read(const char *verb_name, far_ctx *ctx, const char *operand, far_dtype dtype, input *in)
{
    int code = read_array(verb_name, ctx, operand, 2, in);
    return code == EXIT_DONE && dtype == FAR_F32 ? to_float32(verb_name, in) : code;
}

int array_read(const char *verb_name, far_ctx *ctx, const char *operand, input *in)
{
    return read_array(verb_name, ctx, operand, FAR_ARRAY_DIMS, in);
}

void input_free(input *in)
{
    free(in->floats);
    far_array_destroy(in->array);
    *in = (input){0};
}

char *text_read(const char *verb_name, far_ctx *ctx, const char *path)
{
    char *text = NULL, *copy = NULL;
    int64_t size = 0;
    if (far_file_read(ctx, path, &text, &size) != FAR_OK) {
        failure(verb_name, "%s", far_ctx_message(ctx));
    } else if (size == 0 || (int64_t)strlen(text) != size) {
        failure(verb_name, "%s: %s", operand_label(path),
                size == 0 ? "the file is empty" : "is not a text: it holds a zero byte");
    } else if (!(copy = strdup(text))) {
        failure(verb_name, "out of memory");
    }
    far_text_free(ctx, text);
    return copy;
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

static bool ending_known(const char *path)
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

bool output_ending_known(const char *verb_name, const char *path)
{
    if (path && !ending_known(path)) {
        usage_error(verb_name, "'%s' ends neither in .csv, .csv.gz, .npy nor .npz", path);
        return false;
    }
    return true;
}

static bool reader_left; /* of standard output (head, less): no news to the user */

/* Whoever wrote last may have failed long before: the pipe itself still says so. */
static bool pipe_is_closed(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

static int stdout_failed(const char *verb_name)
{
    int number = errno;
    reader_left = pipe_is_closed();
    if (reader_left) {
        return EXIT_FAILED;
    }
    errno = number;
    return failure(verb_name, "standard output: %s",
                   errno ? strerror(errno) : "could not be written");
}

/* An overflow that nothing refused before must not look like a result. */
static int refuse_value(const char *verb_name, double value, int64_t row, const char *name,
                        int64_t col)
{
    const char *what = isnan(value) ? "not a number" : "too large for a double";
    return name ? failure(verb_name, "row %lld of %s is %s, so nothing was written; scale the data",
                          (long long)row + 1, name, what)
                : failure(verb_name,
                          "row %lld, column %lld is %s, so nothing was written; scale the data",
                          (long long)row + 1, (long long)col + 1, what);
}

int matrix_check(const char *verb_name, const far_mat *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            if (!isfinite(mat_get(m, i, j))) {
                return refuse_value(verb_name, mat_get(m, i, j), i, NULL, j);
            }
        }
    }
    return EXIT_DONE;
}

static int matrix_written(const char *verb_name, far_ctx *ctx, far_status st, const char *path)
{
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

int matrix_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
                 const char *path)
{
    errno = 0;
    far_write_opts how = {.name = path ? array_name : NULL, .stream = stdout};
    far_status st = far_mat_write(ctx, m, &how, path);
    return matrix_written(verb_name, ctx, st, path);
}

int gaps_write(const char *verb_name, far_ctx *ctx, const far_mat *m, const char *array_name,
               const char *path)
{
    errno = 0;
    far_write_opts how = {.name = array_name, .gaps = 1, .stream = stdout};
    far_status st = far_mat_write(ctx, m, &how, path);
    return matrix_written(verb_name, ctx, st, path);
}

int64_t place_of_largest(const double *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++) {
        best = values[k] > values[best] ? k : best;
    }
    return best;
}

double mat_largest(const far_mat *m)
{
    double largest = 0;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        largest = fmax(largest, fabs(((const double *)m->data)[i]));
    }
    return largest;
}

double mat_get(const far_mat *m, int64_t i, int64_t j)
{
    int64_t at = i * m->ld + j;
    if (m->dtype == FAR_F32) {
        return (double)((const float *)m->data)[at];
    }
    return ((const double *)m->data)[at];
}

/* ---- whole files --------------------------------------------------------------------------- */

int output_possible(const char *verb_name, far_ctx *ctx, const char *path)
{
    return far_file_claim(ctx, path) == FAR_OK ? EXIT_DONE
                                               : failure(verb_name, "%s", far_ctx_message(ctx));
}

int sink_open(const char *verb_name, far_ctx *ctx, const char *path, sink *s)
{
    *s = (sink){.verb = verb_name, .ctx = ctx, .stream = path ? NULL : stdout};
    s->terminal = !path && isatty(STDOUT_FILENO);
    return !path || far_file_create(ctx, path, &s->file) == FAR_OK
               ? EXIT_DONE
               : failure(verb_name, "%s", far_ctx_message(ctx));
}

void sink_put(sink *s, const char *text)
{
    size_t length = strlen(text);
    if (s->failed || length == 0) {
        return;
    }
    errno = 0;
    s->failed = s->stream ? fwrite(text, 1, length, s->stream) != length
                          : far_file_put(s->file, text, length) != FAR_OK;
}

static int close_stream(sink *s, int code)
{
    if (!s->failed) {
        return code;
    }
    clearerr(s->stream); /* reported here, once */
    return stdout_failed(s->verb);
}

int sink_close(sink *s, int code)
{
    if (s->stream) {
        return close_stream(s, code);
    }
    bool keep = code == EXIT_DONE && !s->failed;
    bool whole = far_file_close(s->file, keep) == FAR_OK && !s->failed;
    return code != EXIT_DONE || whole ? code : failure(s->verb, "%s", far_ctx_message(s->ctx));
}

/* ---- columns ------------------------------------------------------------------------------- */

enum { WORD_BYTES = 4096 };

static bool needs_quotes(const char *text)
{
    return !*text || strpbrk(text, ",\"\r\n") || *text == ' ' || text[strlen(text) - 1] == ' ';
}

static void put_word(sink *s, const char *word)
{
    char shown[WORD_BYTES];
    /* a terminal is shown what it can print; files and pipes get the bytes as they are */
    const char *text = s->terminal ? far_printable(word, shown, sizeof shown) : word;
    if (!needs_quotes(text)) {
        sink_put(s, text);
        return;
    }
    sink_put(s, "\"");
    for (; *text; text++) {
        char one[3] = {*text, *text == '"' ? '"' : 0, 0};
        sink_put(s, one);
    }
    sink_put(s, "\"");
}

/* A number that does not exist is an empty field, as far_mat_write with gaps has it. */
static void put_cell(sink *s, const result_column *c, int64_t row, bool alone)
{
    char number[SHOW_BYTES];
    double value = mat_get(&c->values, row, c->col);
    if (c->words) {
        put_word(s, c->words[(int64_t)value]);
    } else if (isnan(value)) {
        sink_put(s, alone ? "\"\"" : ""); /* not an empty line */
    } else {
        sink_put(s, show_exact(value, number));
    }
}

static int write_csv(sink *s, const result_column *columns, int64_t count, int64_t rows)
{
    for (int64_t j = 0; j < count; j++) {
        sink_put(s, j ? "," : "");
        put_word(s, columns[j].name);
    }
    sink_put(s, "\n");
    for (int64_t i = 0; i < rows && !s->failed; i++) {
        for (int64_t j = 0; j < count; j++) {
            sink_put(s, j ? "," : "");
            put_cell(s, &columns[j], i, count == 1);
        }
        sink_put(s, "\n");
        if (interrupts_pending()) {
            return EXIT_FAILED; /* by the user, who knows */
        }
    }
    return EXIT_DONE;
}

static int write_matrix(const char *verb_name, far_ctx *ctx, const result_column *columns,
                        int64_t count, int64_t rows, const char *array_name, const char *path)
{
    far_mat m;
    int code = matrix_alloc(verb_name, rows, count, FAR_F64, &m);
    if (code != EXIT_DONE) {
        return code;
    }
    double *to = m.data;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < count; j++) {
            *to++ = mat_get(&columns[j].values, i, columns[j].col);
        }
    }
    code = gaps_write(verb_name, ctx, &m, array_name, path);
    free(m.data);
    return code;
}

static bool is_array_path(const char *path)
{
    size_t length = path ? strlen(path) : 0;
    return length > 4 && (strcasecmp(path + length - 4, ".npy") == 0 ||
                          strcasecmp(path + length - 4, ".npz") == 0);
}

/* NAN is a number that does not exist (no score, no limit); infinity is one that did not fit. */
int columns_check(const char *verb_name, const result_column *columns, int64_t count, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < count; j++) {
            double value = mat_get(&columns[j].values, i, columns[j].col);
            if (isinf(value)) {
                return refuse_value(verb_name, value, i, columns[j].name, j);
            }
        }
    }
    return EXIT_DONE;
}

int columns_write(const char *verb_name, far_ctx *ctx, const result_column *columns, int64_t count,
                  int64_t rows, const char *array_name, const char *path)
{
    if (columns_check(verb_name, columns, count, rows) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    if (is_array_path(path)) {
        return write_matrix(verb_name, ctx, columns, count, rows, array_name, path);
    }
    sink s;
    int code = sink_open(verb_name, ctx, path, &s);
    return code == EXIT_DONE ? sink_close(&s, write_csv(&s, columns, count, rows)) : code;
}

/* ---- the end ------------------------------------------------------------------------------- */

int stdout_finish(const char *verb_name, int code)
{
    errno = 0;
    if (!ferror(stdout) && fflush(stdout) == 0) {
        return code;
    }
    int failed = stdout_failed(verb_name);
    return code == EXIT_DONE ? failed : code;
}

bool stdout_reader_left(void)
{
    return reader_left;
}
