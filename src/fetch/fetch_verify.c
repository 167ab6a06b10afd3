/* Whether the files of a data set are the publisher's: at a glance by their sizes, for certain by
 * their SHA-256. */
#define _GNU_SOURCE
#include "../data/frame_internal.h"
#include "fetch_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_DIGITS 64
#define GZIP_TRAILER 4 /* bytes of a gzip file's end that hold the length of its content */

/* ---- what is known of a file ---- */

typedef struct known {
    const char *sha256; /* NULL: none */
    int64_t bytes;      /* 0: not known */
} known;

static bool is_named(const char *path, const char *name)
{
    return strcmp(far_last_part(path), name) == 0;
}

static known known_of(const far_dataset_entry *set, const char *name)
{
    for (int i = 0; i < FAR_SET_SOURCES && set->sources[i]; i++) {
        const far_source *s = set->sources[i];
        if (s->pack == FAR_PACK_NONE && is_named(s->addresses[0], name)) {
            return (known){s->sha256, s->bytes};
        }
        for (int k = 0; k < FAR_SOURCE_FILES && s->members[k].path; k++) {
            if (is_named(s->members[k].path, name)) {
                return (known){s->members[k].sha256, s->members[k].bytes};
            }
        }
    }
    return (known){0};
}

/* What the publisher has may be gzipped here, or the other way round. */
typedef enum form { AS_PUBLISHED, GZIPPED_HERE, GZIPPED_THERE } form;

static form form_of(const char *path, const char *name)
{
    size_t here = strlen(far_last_part(path)), there = strlen(name);
    return here == there ? AS_PUBLISHED : here > there ? GZIPPED_HERE : GZIPPED_THERE;
}

/* ---- sizes ---- */

/* What a gzip file says that it holds, up to 4 GiB; -1: nothing. */
static int64_t gzip_content(const char *path, int64_t size)
{
    unsigned char end[GZIP_TRAILER];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && size >= GZIP_TRAILER &&
                pread(fd, end, GZIP_TRAILER, size - GZIP_TRAILER) == GZIP_TRAILER;
    if (fd >= 0) {
        close(fd);
    }
    return read ? end[0] | end[1] << 8 | end[2] << 16 | (int64_t)end[3] << 24 : -1;
}

bool far_file_has_size(const far_dataset_entry *set, const char *name, const char *path)
{
    struct stat info;
    form f = form_of(path, name);
    int64_t wanted = known_of(set, name).bytes;
    if (wanted == 0 || f == GZIPPED_THERE) {
        return true;
    }
    if (stat(path, &info) != 0) {
        return false;
    }
    int64_t size = (int64_t)info.st_size;
    return wanted == (f == AS_PUBLISHED ? size : gzip_content(path, size));
}

/* ---- the record of an archive's files ---- */

/* The SHA-256 that a line "HASH  NAME" gives for name; false if there is none. */
static bool find_recorded(const far_input *in, const char *name, char out[65])
{
    const char *line = (const char *)in->data, *end = line + in->size;
    size_t length = strlen(name);
    while (line < end) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        const char *stop = feed ? feed : end;
        if ((size_t)(stop - line) == HASH_DIGITS + 2 + length &&
            memcmp(stop - length, name, length) == 0) {
            snprintf(out, 65, "%.64s", line);
            return true;
        }
        line = stop + 1;
    }
    return false;
}

static far_status read_record(far_ctx *ctx, const char *folder, const char *name, char out[65])
{
    far_status st;
    far_input in = {.ctx = ctx};
    char path[FAR_PATH_BYTES];
    *out = 0;
    FAR_TRY(far_path_join(ctx, folder, FAR_RECORD_NAME, path));
    if (access(path, R_OK) == 0) {
        FAR_TRY(far_input_load(ctx, path, &in));
        find_recorded(&in, name, out);
    }
done:
    far_input_clear(&in);
    return st;
}

/* ---- hashes ---- */

void far_hash_bytes(const void *data, int64_t size, char out[65])
{
    far_sha256 hash;
    far_sha256_init(&hash);
    far_sha256_add(&hash, data, (size_t)size);
    far_sha256_finish(&hash, out);
}

static far_status hash_file(far_ctx *ctx, const char *path, bool unpack, char out[65])
{
    far_status st;
    far_input in = {.ctx = ctx};
    FAR_TRY(far_input_load(ctx, path, &in));
    if (unpack) {
        FAR_TRY(far_input_unpack(&in));
    }
    far_hash_bytes(in.data, in.size, out);
done:
    far_input_clear(&in);
    return st;
}

far_status far_file_hash(far_ctx *ctx, const far_dataset_entry *set, const char *folder,
                         const char *name, far_file_check *out)
{
    far_status st;
    *out = (far_file_check){0};
    if (!far_path_find(folder, name, out->path)) {
        return far_fail(ctx, FAR_ERR_IO, "%s is not in %s; 'farfield data get %s' brings it", name,
                        folder, set->about.name);
    }
    form f = form_of(out->path, name);
    const char *sha256 = f == GZIPPED_THERE ? NULL : known_of(set, name).sha256;
    FAR_TRY(hash_file(ctx, out->path, f == GZIPPED_HERE, out->found));
    if (sha256) {
        snprintf(out->wanted, sizeof out->wanted, "%s", sha256);
    } else if (f != GZIPPED_THERE) {
        FAR_TRY(read_record(ctx, folder, name, out->wanted));
    }
    out->same = strcmp(out->wanted, out->found) == 0;
done:
    return st;
}

far_status far_file_fail(far_ctx *ctx, const far_file_check *c)
{
    if (!*c->wanted) {
        return far_fail(ctx, FAR_ERR_FORMAT,
                        "%s cannot be verified, for no SHA-256 of it is known; it is %s", c->path,
                        c->found);
    }
    return far_fail(ctx, FAR_ERR_FORMAT,
                    "%s has the SHA-256 %s, not %s; 'data get' brings the publisher's once this "
                    "file is removed",
                    c->path, c->found, c->wanted);
}

far_status far_dataset_verify(far_ctx *ctx, const far_dataset *set, const char *folder)
{
    if (!ctx || !set) {
        return far_fail(ctx, FAR_ERR_ARG, "set is NULL");
    }
    far_status st;
    char root[FAR_PATH_BYTES], own[FAR_PATH_BYTES];
    const far_dataset_entry *e = far_dataset_entry_of(set);
    far_file_check *c = NULL;
    FAR_TRY(far_alloc(ctx, 1, &c));
    FAR_TRY(far_dataset_folder(ctx, folder, root, sizeof root));
    FAR_TRY(far_path_join(ctx, root, e->folder, own));
    for (int i = 0; i < FAR_SET_FILES && e->files[i]; i++) {
        FAR_TRY(far_file_hash(ctx, e, own, e->files[i], c));
        FAR_TRY(c->same ? FAR_OK : far_file_fail(ctx, c));
    }
done:
    far_free(ctx, c);
    return st;
}
