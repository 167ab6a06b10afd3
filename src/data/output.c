/* Bytes out: whole or not at all, by a temporary file in the same directory and a rename. */
#define _GNU_SOURCE
#include "data_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/* ---- who the file is ---- */

/* Length of the folder's part of path, with the slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++) {
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return h;
}

static far_file_id id_of(const struct stat *info)
{
    return (far_file_id){.device = (uint64_t)info->st_dev, .inode = (uint64_t)info->st_ino};
}

/* What o->target is called, up to its last slash; "." for none. */
static const char *folder_of(const far_output *o, char out[PATH_MAX])
{
    int length = folder_length(o->target);
    snprintf(out, PATH_MAX, "%.*s", length, o->target);
    return length > 0 ? out : ".";
}

/* A link that leads nowhere would be replaced, or make a file that nobody named. */
static far_status refuse_link(const far_output *o, const char *path, int error)
{
    char aim[PATH_MAX], shown[FAR_LABEL_BYTES];
    ssize_t length = readlink(path, aim, sizeof aim);
    far_show(shown, sizeof shown, aim, length > 0 ? length : 0);
    return far_fail(o->ctx, FAR_ERR_IO,
                    error == ELOOP
                        ? "%s: cannot write: it is a symbolic link in a loop (to %s); remove it"
                        : "%s: cannot write: it is a symbolic link to %s, which is not there; "
                          "remove the link, or make that file first",
                    o->label, shown);
}

/* A link is written through, not replaced. */
static far_status resolve(far_output *o, const char *path)
{
    char real[PATH_MAX];
    struct stat link;
    const char *target = realpath(path, real) ? real : path;
    int error = errno;
    if (target == path && lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) {
        return refuse_link(o, path, error);
    }
    return far_copy_text(o->ctx, target, (int64_t)strlen(target), &o->target);
}

static far_status refuse_input(const far_output *o)
{
    return far_fail(o->ctx, FAR_ERR_ARG,
                    "%s: is an input, and the output would replace it; give the output another "
                    "name",
                    o->label);
}

/* ---- temporary files ---- */

/* The start of the names of this output's temporary files: short, so that a long target name still
 * fits, hidden, and the same in every run. */
static int temporary_prefix(const far_output *o, char out[64])
{
    const char *name = o->target + folder_length(o->target);
    return snprintf(out, 64, ".farfield-%016llx-", (unsigned long long)hash_of(name));
}

/* A process that writes holds the lock on its file; one that was killed holds none. */
static void remove_if_abandoned(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        unlinkat(folder, name, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Removes what killed runs of the same output have left. */
static void sweep(const far_output *o)
{
    char path[PATH_MAX], prefix[64];
    size_t length = (size_t)temporary_prefix(o, prefix);
    DIR *folder = opendir(folder_of(o, path));
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder)) {
        if (strncmp(e->d_name, prefix, length) == 0) {
            remove_if_abandoned(dirfd(folder), e->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* Between making the file and locking it, another process may have taken it for abandoned. File
 * systems without locks never sweep. */
static bool is_ours(int fd)
{
    struct stat info;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    return locked && fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* A new file with the mode the umask asks for (mkstemp's would be 0600). */
static far_status create_temporary(far_output *o)
{
    static _Atomic unsigned counter;
    char prefix[64];
    int folder = folder_length(o->target);
    size_t capacity = (size_t)folder + 128;
    temporary_prefix(o, prefix);
    far_status st = far_alloc(o->ctx, (int64_t)capacity, &o->temporary);
    for (int i = 0; i < NAME_TRIES && st == FAR_OK && o->fd < 0; i++) {
        snprintf(o->temporary, capacity, "%.*s%s%lx-%x.tmp", folder, o->target, prefix,
                 (long)getpid(), counter++);
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd < 0 && errno != EEXIST) {
            break;
        }
        if (o->fd >= 0 && !is_ours(o->fd)) {
            close(o->fd);
            o->fd = -1;
        }
    }
    if (st == FAR_OK && o->fd < 0) {
        st = fail_write(o, errno);
        far_free(o->ctx, o->temporary);
        o->temporary = NULL;
    }
    return st;
}

/* ---- opening ---- */

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
    if (exists && far_file_find(o->ctx, id_of(&old)) == FAR_FILE_INPUT) {
        return refuse_input(o);
    }
    sweep(o);
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
    if (!path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
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

static far_status write_stream(far_output *o, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, o->stream) == bytes ? FAR_OK : fail_write(o, errno);
}

size_t far_write_all(int fd, const void *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno != EINTR) {
            break;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return done;
}

static far_status write_descriptor(far_output *o, const void *data, size_t bytes)
{
    return far_write_all(o->fd, data, bytes) == bytes ? FAR_OK : fail_write(o, errno);
}

static void write_raw(far_output *o, const void *data, size_t bytes)
{
    if (o->status == FAR_OK) {
        o->status = (o->stream ? write_stream : write_descriptor)(o, data, bytes);
    }
}

static void write_packed(far_output *o, const void *data, size_t bytes, int flush)
{
    z_stream *z = o->gzip;
    z->next_in = (Bytef *)data;
    z->avail_in = (uInt)bytes;
    do {
        z->next_out = o->packed;
        z->avail_out = (uInt)BUFFER_BYTES;
        deflate(z, flush); /* can only run out of room, which the loop mends */
        write_raw(o, o->packed, BUFFER_BYTES - z->avail_out);
    } while (z->avail_out == 0);
}

static void write_buffer(far_output *o)
{
    if (o->gzip) {
        write_packed(o, o->buffer, o->used, Z_NO_FLUSH);
    } else {
        write_raw(o, o->buffer, o->used);
    }
    o->used = 0;
}

void far_output_room(far_output *o, size_t bytes)
{
    if (o->used + bytes > BUFFER_BYTES) {
        write_buffer(o);
    }
}

void far_output_put(far_output *o, const void *data, size_t bytes)
{
    const char *p = data;
    if (o->sum) {
        far_sha256_add(o->sum, data, bytes);
    }
    while (bytes > 0) {
        size_t room = BUFFER_BYTES - o->used, step = bytes < room ? bytes : room;
        memcpy(o->buffer + o->used, p, step);
        o->used += step;
        p += step;
        bytes -= step;
        if (o->used == BUFFER_BYTES) {
            write_buffer(o);
        }
    }
}

/* ---- closing ---- */

/* On the disk, not only on its way there; devices and some file systems know no such thing. */
static bool synced(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

/* Some file systems say only at the end that the disk is full. */
static far_status finish(far_output *o)
{
    write_buffer(o);
    if (o->gzip) {
        write_packed(o, NULL, 0, Z_FINISH);
    }
    if (o->status != FAR_OK) {
        return o->status;
    }
    bool kept = o->stream ? fflush(o->stream) == 0 : synced(o->fd);
    return kept ? FAR_OK : fail_write(o, errno);
}

/* Without this the name may still be the old file's after a power cut. */
static far_status sync_folder(far_output *o)
{
    char path[PATH_MAX];
    int fd = open(folder_of(o, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    far_status st = fd < 0 || synced(fd) ? FAR_OK : fail_write(o, errno);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* The lock is held until the file has its own name. */
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
    return sync_folder(o);
}

void far_output_close(far_output *o)
{
    if (!o->ctx) {
        return;
    }
    if (o->temporary) {
        unlink(o->temporary);
    }
    if (o->fd >= 0) {
        close(o->fd);
    }
    if (o->gzip) {
        deflateEnd(o->gzip);
    }
    FAR_FREE_ALL(o->ctx, o->gzip, o->packed, o->buffer, o->temporary, o->target);
}

/* ---- whole files ---- */

far_status far_output_save(far_ctx *ctx, const char *path, const void *object, far_write_fn write)
{
    far_status st;
    far_output o = {.fd = -1};
    FAR_TRY(far_output_open(ctx, path, false, &o));
    FAR_TRY(write(object, &o));
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return far_label_failure(ctx, st, o.label);
}

static far_status put_text(const void *text, far_output *o)
{
    far_output_put(o, text, strlen(text));
    return FAR_OK;
}

far_status far_output_save_text(far_ctx *ctx, const char *path, const char *text)
{
    return far_output_save(ctx, path, text, put_text);
}

/* ---- before the work ---- */

/* The file, or its place in the folder while it is not there. */
static far_status identify(const far_output *o, far_file_id *id)
{
    char path[PATH_MAX];
    struct stat info;
    if (stat(o->target, &info) == 0) {
        *id = id_of(&info);
        return S_ISDIR(info.st_mode) ? fail_write(o, EISDIR) : FAR_OK;
    }
    if (stat(folder_of(o, path), &info) != 0) {
        return fail_write(o, errno);
    }
    *id = id_of(&info);
    id->name = hash_of(o->target + folder_length(o->target)) | 1;
    return FAR_OK;
}

static bool is_replaced(const char *target)
{
    struct stat old;
    return stat(target, &old) != 0 || S_ISREG(old.st_mode);
}

static far_status claim(far_output *o)
{
    far_status st;
    char path[PATH_MAX];
    far_file_id id;
    FAR_TRY(identify(o, &id));
    if (!is_replaced(o->target)) {
        return access(o->target, W_OK) == 0 ? FAR_OK : fail_write(o, errno);
    }
    if (access(folder_of(o, path), W_OK | X_OK) != 0) {
        return fail_write(o, errno);
    }
    far_file_role role = far_file_find(o->ctx, id);
    if (role == FAR_FILE_OUTPUT) {
        return far_fail(o->ctx, FAR_ERR_ARG, "%s: is the output of two options; name two files",
                        o->label);
    }
    st = role == FAR_FILE_INPUT ? refuse_input(o) : far_file_mark(o->ctx, id, FAR_FILE_OUTPUT);
done:
    return st;
}

static far_status claim_stdout(far_ctx *ctx)
{
    struct stat info;
    bool file = fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode);
    return file ? far_file_mark(ctx, id_of(&info), FAR_FILE_OUTPUT) : FAR_OK;
}

far_status far_file_claim(far_ctx *ctx, const char *path)
{
    far_status st;
    if (ctx && !path) {
        return claim_stdout(ctx);
    }
    if (!ctx || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, "the path is empty");
    }
    far_output o = {.ctx = ctx, .fd = -1};
    far_show(o.label, sizeof o.label, path, (int64_t)strlen(path));
    FAR_TRY(resolve(&o, path));
    FAR_TRY(claim(&o));
done:
    far_output_close(&o);
    return st;
}

/* ---- files of any content ---- */

struct far_file {
    far_output output;
};

far_status far_file_create(far_ctx *ctx, const char *path, far_file **out)
{
    far_status st;
    far_file *file = NULL;
    if (!ctx || !out || !path || !*path) {
        return far_fail(ctx, FAR_ERR_ARG, out ? "the path is empty" : "out is NULL");
    }
    *out = NULL;
    size_t length = strlen(path);
    bool packed = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
    FAR_TRY(far_alloc(ctx, 1, &file));
    FAR_TRY(far_output_open(ctx, path, packed, &file->output));
    *out = file;
    file = NULL;
done:
    far_file_close(file, 0);
    return st;
}

far_status far_file_put(far_file *file, const void *data, size_t bytes)
{
    far_output_put(&file->output, data, bytes);
    return file->output.status;
}

far_status far_file_close(far_file *file, int keep)
{
    if (!file) {
        return FAR_OK;
    }
    far_ctx *ctx = file->output.ctx;
    far_status st = keep ? far_output_commit(&file->output) : FAR_OK;
    far_output_close(&file->output);
    far_free(ctx, file);
    return st;
}
