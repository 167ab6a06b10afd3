/* Bytes out: whole or not at all, by a temporary file in the same directory and a rename. */
#define _GNU_SOURCE
#include "data_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)
#define NAME_TRIES 100
#define GZIP_LEVEL 1 /* digits pack to much the same at any level */

static far_status fail_write(const far_output *o, int error)
{
    char text[128];
    return far_fail(o->ctx, FAR_ERR_IO, "%s: cannot write: %s", o->label,
                    error == ENOENT ? "no such directory"
                                    : far_errno_text(error, text, sizeof text));
}

/* ---- opening ---- */

/* A new file with the mode the umask asks for (mkstemp's would be 0600). The name is short and
 * hidden, so that a long target name still fits. */
static far_status create_temporary(far_output *o)
{
    static _Atomic unsigned counter;
    const char *slash = strrchr(o->target, '/');
    int folder = slash ? (int)(slash - o->target) + 1 : 0;
    size_t capacity = (size_t)folder + 64;
    far_status st = far_alloc(o->ctx, (int64_t)capacity, &o->temporary);
    for (int i = 0; i < NAME_TRIES && st == FAR_OK && o->fd < 0; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(o->temporary, capacity, "%.*s.farfield-%lx-%lx-%x.tmp", folder, o->target,
                 (long)getpid(), (long)now.tv_nsec, counter++);
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (st == FAR_OK && o->fd < 0) {
        st = fail_write(o, errno);
        far_free(o->ctx, o->temporary);
        o->temporary = NULL;
    }
    return st;
}

/* A link is written through, not replaced. */
static far_status resolve(far_output *o, const char *path)
{
    char real[PATH_MAX];
    const char *target = realpath(path, real) ? real : path;
    return far_copy_text(o->ctx, target, (int64_t)strlen(target), &o->target);
}

static far_status open_target(far_output *o)
{
    struct stat old;
    bool exists = stat(o->target, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        return fail_write(o, EISDIR);
    }
    if (exists && !S_ISREG(old.st_mode)) { /* a device or pipe cannot be replaced */
        o->fd = open(o->target, O_WRONLY | O_CLOEXEC);
        return o->fd < 0 ? fail_write(o, errno) : FAR_OK;
    }
    far_status st = create_temporary(o);
    if (st == FAR_OK && exists && fchmod(o->fd, old.st_mode & 0777) != 0) {
        st = fail_write(o, errno);
    }
    return st;
}

static far_status start_gzip(far_output *o)
{
    far_status st;
    FAR_TRY(far_alloc(o->ctx, (int64_t)BUFFER_BYTES, &o->packed));
    FAR_TRY(far_alloc(o->ctx, 1, &o->gzip));
    far_zlib_memory(o->ctx, o->gzip);
    if (deflateInit2(o->gzip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        far_free(o->ctx, o->gzip);
        o->gzip = NULL;
        st = FAR_ERR_MEMORY;
    }
done:
    return st;
}

far_status far_output_open(far_ctx *ctx, const char *path, bool gzip, far_output *o)
{
    far_status st;
    *o = (far_output){.ctx = ctx, .fd = -1};
    far_show(o->label, sizeof o->label, path, (int64_t)strlen(path));
    FAR_TRY(far_alloc(ctx, (int64_t)BUFFER_BYTES, &o->buffer));
    if (gzip) {
        FAR_TRY(start_gzip(o));
    }
    FAR_TRY(resolve(o, path));
    FAR_TRY(open_target(o));
done:
    return st;
}

far_status far_output_open_stream(far_ctx *ctx, FILE *stream, far_output *o)
{
    *o = (far_output){.ctx = ctx, .fd = -1, .stream = stream, .label = "csv stream"};
    return far_alloc(ctx, (int64_t)BUFFER_BYTES, &o->buffer);
}

/* ---- writing ---- */

static far_status write_raw(far_output *o, const void *data, size_t bytes)
{
    const char *p = data;
    if (o->stream) {
        return fwrite(p, 1, bytes, o->stream) == bytes ? FAR_OK : fail_write(o, errno);
    }
    while (bytes > 0) {
        ssize_t n = write(o->fd, p, bytes);
        if (n < 0 && errno != EINTR) {
            return fail_write(o, errno);
        }
        p += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return FAR_OK;
}

static far_status write_packed(far_output *o, const void *data, size_t bytes, int flush)
{
    far_status st = FAR_OK;
    z_stream *z = o->gzip;
    z->next_in = (Bytef *)data;
    z->avail_in = (uInt)bytes;
    do {
        z->next_out = o->packed;
        z->avail_out = (uInt)BUFFER_BYTES;
        deflate(z, flush); /* can only run out of room, which the loop mends */
        FAR_TRY(write_raw(o, o->packed, BUFFER_BYTES - z->avail_out));
    } while (z->avail_out == 0);
done:
    return st;
}

static far_status write_buffer(far_output *o)
{
    size_t bytes = o->used;
    o->used = 0;
    return o->gzip ? write_packed(o, o->buffer, bytes, Z_NO_FLUSH) : write_raw(o, o->buffer, bytes);
}

far_status far_output_room(far_output *o, size_t bytes)
{
    return o->used + bytes <= BUFFER_BYTES ? FAR_OK : write_buffer(o);
}

far_status far_output_put(far_output *o, const void *data, size_t bytes)
{
    far_status st = FAR_OK;
    const char *p = data;
    while (bytes > 0) {
        size_t room = BUFFER_BYTES - o->used, step = bytes < room ? bytes : room;
        memcpy(o->buffer + o->used, p, step);
        o->used += step;
        p += step;
        bytes -= step;
        if (o->used == BUFFER_BYTES) {
            FAR_TRY(write_buffer(o));
        }
    }
done:
    return st;
}

/* ---- closing ---- */

static far_status finish(far_output *o)
{
    far_status st;
    FAR_TRY(write_buffer(o));
    if (o->gzip) {
        FAR_TRY(write_packed(o, NULL, 0, Z_FINISH));
    }
    if (o->stream) {
        return fflush(o->stream) == 0 ? FAR_OK : fail_write(o, errno);
    }
    int fd = o->fd;
    o->fd = -1;
    if (close(fd) != 0) { /* some file systems only now say that the disk is full */
        st = fail_write(o, errno);
    }
done:
    return st;
}

far_status far_output_commit(far_output *o)
{
    far_status st = finish(o);
    if (st != FAR_OK || !o->temporary) {
        return st;
    }
    if (rename(o->temporary, o->target) != 0) {
        return fail_write(o, errno);
    }
    far_free(o->ctx, o->temporary);
    o->temporary = NULL;
    return FAR_OK;
}

void far_output_close(far_output *o)
{
    if (!o->ctx) {
        return;
    }
    if (o->fd >= 0) {
        close(o->fd);
    }
    if (o->temporary) {
        unlink(o->temporary);
    }
    if (o->gzip) {
        deflateEnd(o->gzip);
    }
    far_free(o->ctx, o->gzip);
    far_free(o->ctx, o->packed);
    far_free(o->ctx, o->buffer);
    far_free(o->ctx, o->temporary);
    far_free(o->ctx, o->target);
}
