/* Bytes in: a file or standard input into memory, gzip taken off; and text for messages. */
#define _GNU_SOURCE
#include "data_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES ((int64_t)64 << 10)
#define READ_BYTES ((int64_t)64 << 20) /* asked for at once; also bounds zlib's 32-bit counts */
#define MAX_DEFLATE_RATIO 1032         /* deflate cannot do better */

/* ---- text for messages ---- */

void far_show_path(char *out, size_t capacity, const char *path)
{
    const char *text = strcmp(path, "-") == 0 ? "standard input" : path;
    far_show(out, capacity, text, (int64_t)strlen(text));
}

const char *far_errno_text(int error, char *buffer, size_t capacity)
{
    if (error == ENOENT) {
        return "no such file";
    }
    const char *text = strerror_r(error, buffer, capacity);
    if (text != buffer) {
        snprintf(buffer, capacity, "%s", text);
    }
    if (islower((unsigned char)buffer[1])) {
        buffer[0] = (char)tolower((unsigned char)buffer[0]);
    }
    return buffer;
}

far_status far_label_failure(far_ctx *ctx, far_status status, const char *label)
{
    if (status == FAR_ERR_MEMORY && strncmp(far_ctx_message(ctx), label, strlen(label)) != 0) {
        char text[256];
        snprintf(text, sizeof text, "%s", far_ctx_message(ctx));
        far_fail(ctx, status, "%s: %s", label, text);
    }
    return status;
}

far_status far_input_fail(const far_input *in, far_status status, const char *format, ...)
{
    char text[1400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return far_fail(in->ctx, status, "%s: %s", in->label, text);
}

/* ---- files ---- */

static int64_t machine_memory(void)
{
    int64_t bytes, pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0 || __builtin_mul_overflow(pages, page, &bytes)) {
        return INT64_MAX - 1;
    }
    return bytes;
}

far_status far_input_reserve(far_input *in, int64_t bytes)
{
    if (bytes < in->capacity) {
        return FAR_OK;
    }
    int64_t limit = machine_memory();
    if (bytes > limit) {
        return far_input_fail(in, FAR_ERR_MEMORY,
                              "needs more than this machine's %.3g GiB of memory",
                              (double)limit / (1 << 30));
    }
    far_status st = far_grow(in->ctx, in->size, bytes + 1, &in->data);
    if (st == FAR_OK) {
        in->capacity = bytes + 1;
    }
    return st;
}

/* Doubles, so that n bytes cost O(n) copying and at most 2 n memory. */
static far_status make_room(far_input *in)
{
    if (in->size + 1 < in->capacity) {
        return FAR_OK;
    }
    return far_input_reserve(in, in->size < FIRST_BYTES ? FIRST_BYTES : 2 * in->size);
}

static far_status fail_errno(const far_input *in, int error)
{
    char text[128];
    return far_input_fail(in, FAR_ERR_IO, "%s", far_errno_text(error, text, sizeof text));
}

static far_status read_to_end(far_input *in, int fd, int64_t expected)
{
    far_status st = FAR_OK;
    ssize_t got = 1;
    while (got != 0) {
        FAR_TRY(make_room(in));
        int64_t room = in->capacity - in->size - 1;
        got = read(fd, in->data + in->size, (size_t)far_least(room, READ_BYTES));
        if (got < 0 && errno != EINTR) {
            return fail_errno(in, errno);
        }
        in->size += got > 0 ? got : 0;
        if (got == READ_BYTES && in->size <= expected) {
            FAR_TRY(far_progress(in->ctx, "loading", in->size, expected));
        }
    }
    in->data[in->size] = 0;
done:
    return st;
}

/* Notes that the file is an input, unless it is what will be written. */
static far_status note_input(far_input *in, const struct stat *info)
{
    far_file_id id = {.device = (uint64_t)info->st_dev, .inode = (uint64_t)info->st_ino};
    if (!S_ISREG(info->st_mode)) {
        return FAR_OK;
    }
    if (far_file_find(in->ctx, id) == FAR_FILE_OUTPUT) {
        return far_input_fail(in, FAR_ERR_ARG,
                              "is both input and output, and would be replaced; give the output "
                              "another name");
    }
    return far_file_mark(in->ctx, id, FAR_FILE_INPUT);
}

static far_status load_descriptor(far_input *in, int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return fail_errno(in, errno);
    }
    if (S_ISDIR(info.st_mode)) {
        return fail_errno(in, EISDIR);
    }
    far_status st = note_input(in, &info);
    if (st != FAR_OK) {
        return st;
    }
    int64_t expected = S_ISREG(info.st_mode) ? (int64_t)info.st_size : 0;
    if (expected > 0) {
        st = far_input_reserve(in, expected + 1); /* one more shows the end */
        if (st != FAR_OK) {
            return st;
        }
    }
    return read_to_end(in, fd, expected);
}

far_status far_input_load(far_ctx *ctx, const char *path, far_input *in)
{
    in->ctx = ctx;
    if (!path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
    far_show_path(in->label, sizeof in->label, path);
    if (strcmp(path, "-") == 0) {
        return load_descriptor(in, STDIN_FILENO);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail_errno(in, errno);
    }
    far_status st = load_descriptor(in, fd);
    close(fd);
    return st;
}

far_status far_input_copy(far_ctx *ctx, const char *label, const void *data, int64_t size,
                          far_input *in)
{
    in->ctx = ctx;
    far_show_path(in->label, sizeof in->label, label);
    far_status st = far_input_reserve(in, size);
    if (st == FAR_OK) {
        if (size > 0) {
            memcpy(in->data, data, (size_t)size);
        }
        in->data[size] = 0;
        in->size = size;
    }
    return st;
}

void far_input_clear(far_input *in)
{
    far_free(in->ctx, in->data);
    in->data = NULL;
    in->size = in->capacity = 0;
}

/* ---- gzip ---- */

static void *zlib_alloc(void *ctx, unsigned items, unsigned size)
{
    void *block;
    return far_alloc_bytes(ctx, items, size, &block) == FAR_OK ? block : NULL;
}

static void zlib_free(void *ctx, void *block)
{
    far_free(ctx, block);
}

void far_zlib_memory(far_ctx *ctx, z_stream *z)
{
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    z->opaque = ctx;
}

static bool gzip_at(const unsigned char *data, int64_t left)
{
    return left >= 2 && data[0] == 0x1F && data[1] == 0x8B;
}

bool far_input_is_gzip(const far_input *in)
{
    return gzip_at(in->data, in->size);
}

/* The last four bytes say the size (mod 2^32, of the last member): a hint, kept plausible. */
static int64_t unpacked_hint(const far_input *in)
{
    const unsigned char *end = in->data + in->size;
    int64_t says = in->size < 18 ? 0
                                 : (int64_t)end[-4] | (int64_t)end[-3] << 8 |
                                       (int64_t)end[-2] << 16 | (int64_t)end[-1] << 24;
    return far_least(says, in->size * MAX_DEFLATE_RATIO);
}

/* One call of inflate, from in at *at to the end of out. *done: a member is complete. */
static far_status inflate_some(const far_input *in, int64_t *at, far_input *out, z_stream *z,
                               bool *done)
{
    uInt given = (uInt)far_least(in->size - *at, READ_BYTES);
    uInt room = (uInt)far_least(out->capacity - out->size - 1, READ_BYTES);
    z->next_in = in->data + *at;
    z->avail_in = given;
    z->next_out = out->data + out->size;
    z->avail_out = room;
    int rc = inflate(z, Z_NO_FLUSH);
    *at += given - z->avail_in;
    out->size += room - z->avail_out;
    *done = rc == Z_STREAM_END;
    if (rc == Z_MEM_ERROR) {
        return FAR_ERR_MEMORY; /* the allocator left its message */
    }
    if (rc == Z_BUF_ERROR) {
        return far_input_fail(in, FAR_ERR_FORMAT, "the gzip data end too early (truncated?)");
    }
    if (rc != Z_OK && rc != Z_STREAM_END) {
        return far_input_fail(in, FAR_ERR_FORMAT, "damaged gzip data (%s)",
                              z->msg ? z->msg : "not a gzip stream");
    }
    return FAR_OK;
}

static far_status inflate_all(const far_input *in, far_input *out, z_stream *z)
{
    far_status st = FAR_OK;
    int64_t at = 0;
    bool done = false;
    while (!done) {
        FAR_TRY(make_room(out));
        FAR_TRY(inflate_some(in, &at, out, z, &done));
        if (in->most > 0 && out->size > in->most) {
            return far_input_fail(in, FAR_ERR_FORMAT, "unpacks to more than %lld bytes",
                                  (long long)in->most);
        }
        if (done && gzip_at(in->data + at, in->size - at)) { /* files put end to end */
            inflateReset(z);
            done = false;
        }
    }
    if (at < in->size) {
        int64_t left = in->size - at;
        st = far_input_fail(in, FAR_ERR_FORMAT, "has %lld byte%s after the end of its gzip data",
                            (long long)left, far_plural(left));
    }
    out->data[out->size] = 0;
done:
    return st;
}

far_status far_input_gunzip(far_input *in)
{
    far_status st = FAR_OK;
    far_input out = *in;
    z_stream z = {0};
    out.data = NULL;
    out.size = out.capacity = 0;
    far_zlib_memory(in->ctx, &z);
    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        return FAR_ERR_MEMORY;
    }
    FAR_TRY(far_input_reserve(&out, unpacked_hint(in) + 1));
    FAR_TRY(inflate_all(in, &out, &z));
    far_input_clear(in);
    *in = out;
    out.data = NULL;
done:
    inflateEnd(&z);
    far_free(out.ctx, out.data);
    return st;
}

far_status far_input_unpack(far_input *in)
{
    if (!far_input_is_gzip(in)) {
        return FAR_OK;
    }
    far_status st = far_input_gunzip(in);
    if (st == FAR_OK && far_input_is_gzip(in)) { /* some files hold themselves for ever */
        st = far_input_fail(in, FAR_ERR_FORMAT, "is gzipped twice; unpack it once first");
    }
    return st;
}

/* ---- files of any content ---- */

far_status far_file_read(far_ctx *ctx, const char *path, char **out, int64_t *size)
{
    far_status st;
    far_input in = {0};
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_input_load(ctx, path, &in));
    FAR_TRY(far_copy_text(ctx, (const char *)in.data, in.size, out));
    if (size) {
        *size = in.size;
    }
done:
    far_input_clear(&in);
    return st;
}
