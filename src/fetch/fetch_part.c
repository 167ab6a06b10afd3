/* A file on its way: FILE.part, locked while a process adds to it. */
#define _GNU_SOURCE
#include "../data/frame_internal.h"
#include "fetch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_BYTES ((int64_t)1 << 20)
#define OPEN_TRIES 100

const char *far_bytes_text(int64_t bytes, char out[FAR_BYTES_TEXT])
{
    const double kibi = 1 << 10, mebi = 1 << 20;
    double size = (double)bytes;
    if (bytes < 10000) {
        snprintf(out, FAR_BYTES_TEXT, "%lld byte%s", (long long)bytes, far_plural(bytes));
    } else if (size < 1000 * kibi) {
        snprintf(out, FAR_BYTES_TEXT, "%.3g KiB", size / kibi);
    } else {
        snprintf(out, FAR_BYTES_TEXT, size < 1000 * mebi ? "%.3g MiB" : "%.0f MiB", size / mebi);
    }
    return out;
}

static far_status fail_write(far_download *d, int error)
{
    char text[128];
    d->full = true;
    return far_fail(d->ctx, FAR_ERR_IO, "cannot write %s: %s", d->path,
                    far_errno_text(error, text, sizeof text));
}

/* Whether the file that is open is still the one of that name: who held the lock before may have
 * renamed or removed it. */
static bool is_current(const far_download *d)
{
    struct stat open_one, named_one;
    return fstat(d->fd, &open_one) == 0 && stat(d->path, &named_one) == 0 &&
           open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

static far_status open_locked(far_download *d)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        d->fd = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (d->fd < 0) {
            return fail_write(d, errno);
        }
        bool locked = flock(d->fd, LOCK_EX | LOCK_NB) == 0;
        if (locked && is_current(d)) {
            return FAR_OK;
        }
        close(d->fd);
        d->fd = -1;
        if (!locked) {
            return far_fail(d->ctx, FAR_ERR_IO, "another process is writing %s", d->path);
        }
    }
    return fail_write(d, EBUSY);
}

far_status far_download_open(far_ctx *ctx, const char *path, far_download *d)
{
    far_status st;
    *d = (far_download){.ctx = ctx, .fd = -1, .most = INT64_MAX};
    snprintf(d->path, sizeof d->path, "%s", path);
    FAR_TRY(open_locked(d));
    d->size = (int64_t)lseek(d->fd, 0, SEEK_END);
    d->ranges = d->resumed = d->size > 0; /* else it would not have been kept */
done:
    return st;
}

far_status far_download_put(far_download *d, const void *data, size_t bytes)
{
    if ((int64_t)bytes > d->most - d->size) {
        return far_fail(d->ctx, FAR_ERR_FORMAT,
                        "the server sends more than the %lld bytes that the file may have",
                        (long long)d->most);
    }
    size_t written = far_write_all(d->fd, data, bytes);
    d->size += (int64_t)written;
    d->came += (int64_t)written;
    return written == bytes ? FAR_OK : fail_write(d, errno);
}

far_status far_download_restart(far_download *d)
{
    if (ftruncate(d->fd, 0) != 0 || lseek(d->fd, 0, SEEK_SET) != 0) {
        return fail_write(d, errno);
    }
    d->size = 0;
    d->resumed = false;
    return FAR_OK;
}

far_status far_download_hash(far_download *d, char out[65])
{
    far_status st;
    far_sha256 hash;
    unsigned char *block = NULL;
    ssize_t got = 1;
    far_sha256_init(&hash);
    FAR_TRY(far_alloc(d->ctx, HASH_BYTES, &block));
    for (int64_t at = 0; got > 0; at += got) {
        got = pread(d->fd, block, (size_t)HASH_BYTES, at);
        if (got > 0) {
            far_sha256_add(&hash, block, (size_t)got);
            FAR_TRY(far_progress(d->ctx, "checking", at, d->size));
        }
    }
    if (got < 0) {
        st = far_fail(d->ctx, FAR_ERR_IO, "cannot read %s", d->path);
    }
    far_sha256_finish(&hash, out);
done:
    far_free(d->ctx, block);
    return st;
}

void far_download_close(far_download *d, bool keep)
{
    if (d->fd < 0) {
        return;
    }
    if (!keep && is_current(d)) {
        unlink(d->path);
    }
    close(d->fd);
    d->fd = -1;
}
