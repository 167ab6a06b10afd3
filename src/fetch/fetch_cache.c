/* Where data sets lie: the folder, the files in it, and which of them are here. */
#define _GNU_SOURCE
#include "fetch_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ---- */

const char *far_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static far_status fail_long(far_ctx *ctx, const char *path)
{
    char shown[64];
    far_show(shown, sizeof shown, path, (int64_t)strlen(path));
    return far_fail(ctx, FAR_ERR_ARG, "the path %s/... is too long", shown);
}

far_status far_path_join(far_ctx *ctx, const char *folder, const char *name, char *out)
{
    int length = snprintf(out, FAR_PATH_BYTES, "%s/%s", folder, name);
    return length < FAR_PATH_BYTES ? FAR_OK : fail_long(ctx, folder);
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool far_path_find(const char *folder, const char *name, char *out)
{
    static const char GZIP[] = ".gz";
    size_t length = strlen(name), ending = sizeof GZIP - 1;
    bool packed = length > ending && strcmp(name + length - ending, GZIP) == 0;
    if (snprintf(out, FAR_PATH_BYTES, "%s/%s", folder, name) >= FAR_PATH_BYTES) {
        return false;
    }
    if (is_file(out)) {
        return true;
    }
    int whole = packed ? (int)(length - ending) : (int)length;
    int used = snprintf(out, FAR_PATH_BYTES, "%s/%.*s%s", folder, whole, name, packed ? "" : GZIP);
    return used < FAR_PATH_BYTES && is_file(out);
}

/* ---- the folder ---- */

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

far_status far_dataset_folder(far_ctx *ctx, const char *folder, char *out, size_t capacity)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    const char *own = folder ? folder : set_variable("FARFIELD_DATA");
    const char *cache = set_variable("XDG_CACHE_HOME"), *home = set_variable("HOME");
    int length;
    if (own) {
        length = snprintf(out, capacity, "%s", own);
    } else if (cache) {
        length = snprintf(out, capacity, "%s/farfield", cache);
    } else if (home) {
        length = snprintf(out, capacity, "%s/.cache/farfield", home);
    } else {
        return far_fail(ctx, FAR_ERR_ARG,
                        "there is no folder for data sets, since HOME is not set; name one in "
                        "FARFIELD_DATA");
    }
    if (length == 0) {
        return far_fail(ctx, FAR_ERR_ARG, "the name of the folder for data sets is empty");
    }
    return (size_t)length < capacity ? FAR_OK : fail_long(ctx, out);
}

static far_status fail_folder(far_ctx *ctx, const char *path, int error)
{
    char text[128];
    return far_fail(ctx, FAR_ERR_IO,
                    "cannot make the folder %s: %s; another one can be named in FARFIELD_DATA",
                    path,
                    error == ENOTDIR || error == EEXIST ? "a file is in the way"
                                                        : far_errno_text(error, text, sizeof text));
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

far_status far_folder_make(far_ctx *ctx, const char *path, size_t *made)
{
    char part[FAR_PATH_BYTES];
    size_t length = strlen(path);
    *made = length;
    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && path[end] != 0) {
            continue;
        }
        memcpy(part, path, end);
        part[end] = 0;
        if (is_folder(part)) {
            continue;
        }
        if (mkdir(part, 0777) != 0 && !(errno == EEXIST && is_folder(part))) {
            int error = errno;
            far_folder_unmake(path, *made);
            return fail_folder(ctx, path, error);
        }
        *made = end - 1 < *made ? end - 1 : *made;
    }
    return FAR_OK;
}

void far_folder_unmake(const char *path, size_t made)
{
    char part[FAR_PATH_BYTES];
    size_t length = strlen(path);
    for (size_t end = length; end > made; end--) {
        if (path[end] == '/' || path[end] == 0) {
            memcpy(part, path, end);
            part[end] = 0;
            rmdir(part); /* fails if something else is in it, and then leaves it */
        }
    }
}

/* ---- data sets ---- */

static bool has_part(const char *folder, const far_source *source)
{
    char path[FAR_PATH_BYTES];
    struct stat info;
    int length =
        snprintf(path, sizeof path, "%s/%s.part", folder, far_last_part(source->addresses[0]));
    return length < (int)sizeof path && stat(path, &info) == 0 && info.st_size > 0;
}

/* Of several files some may be here. */
static far_dataset_state find_state(const far_dataset_entry *e, const char *folder)
{
    char path[FAR_PATH_BYTES];
    int files = 0, here = 0, begun = 0;
    bool other = false;
    for (; files < FAR_SET_FILES && e->files[files]; files++) {
        bool found = far_path_find(folder, e->files[files], path);
        here += found;
        other = other || (found && !far_file_has_size(e, e->files[files], path));
    }
    for (int i = 0; i < FAR_SET_SOURCES && e->sources[i]; i++) {
        begun += has_part(folder, e->sources[i]);
    }
    return here == files      ? other ? FAR_DATASET_OTHER : FAR_DATASET_HERE
           : here + begun > 0 ? FAR_DATASET_BEGUN
                              : FAR_DATASET_ABSENT;
}

static far_status check_where(far_ctx *ctx, const far_dataset *set, const far_dataset_state *state,
                              const char *path)
{
    if (!ctx || !set || !state || !path) {
        return far_fail(ctx, FAR_ERR_ARG, "%s is NULL", !set ? "set" : !state ? "state" : "path");
    }
    return FAR_OK;
}

far_status far_dataset_where(far_ctx *ctx, const far_dataset *set, const char *folder,
                             far_dataset_state *state, char *path, size_t capacity)
{
    far_status st;
    char root[FAR_PATH_BYTES], own[FAR_PATH_BYTES], file[FAR_PATH_BYTES];
    const far_dataset_entry *e = far_dataset_entry_of(set);
    FAR_TRY(check_where(ctx, set, state, path));
    FAR_TRY(far_dataset_folder(ctx, folder, root, sizeof root));
    FAR_TRY(far_path_join(ctx, root, e->folder, own));
    FAR_TRY(far_path_join(ctx, own, e->files[0], file));
    *state = find_state(e, own);
    if (*state >= FAR_DATASET_HERE) {
        far_path_find(own, e->files[0], file);
    }
    int length = snprintf(path, capacity, "%s", e->files[1] ? own : file);
    if ((size_t)length >= capacity) {
        st = fail_long(ctx, own);
    }
done:
    return st;
}
