#include "kept.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *path_of(const reproduction *r, const char *name)
{
    return text_of("%s/kept/%s", r->folder, name);
}

/* The first line of the file; the numbers follow, as they are in memory. */
static char *head_of(const reproduction *r, const char *note)
{
    return text_of("farfield %s, %s form: %s\n", far_version(), r->quick ? "quick" : "full", note);
}

double *find_kept_numbers(reproduction *r, const char *name, const char *note, int64_t *count)
{
    char *path = path_of(r, name), *head = head_of(r, note), *bytes = NULL;
    int64_t size = 0, before = (int64_t)strlen(head);
    double *out = NULL;
    if (r->resume && access(path, R_OK) == 0 &&
        far_file_read(r->ctx, path, &bytes, &size) == FAR_OK && size >= before &&
        memcmp(bytes, head, (size_t)before) == 0 &&
        (size - before) % (int64_t)sizeof(double) == 0) {
        *count = (size - before) / (int64_t)sizeof(double);
        out = ROOM(*count, double);
        memcpy(out, bytes + before, (size_t)(size - before));
    }
    far_text_free(r->ctx, bytes);
    FREE(path, head);
    return out;
}

bool take_kept_numbers(reproduction *r, const char *name, const char *note, double *out,
                       int64_t count)
{
    int64_t found = 0;
    double *kept = find_kept_numbers(r, name, note, &found);
    bool all = kept && found == count;
    if (all) {
        memcpy(out, kept, (size_t)count * sizeof *out);
    }
    free(kept);
    return all;
}

static far_status make_folder(reproduction *r)
{
    char *folder = text_of("%s/kept", r->folder);
    far_status st = FAR_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        st = fail(r, FAR_ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    }
    free(folder);
    return st;
}

far_status keep_numbers_of(reproduction *r, const char *name, const char *note,
                           const double *values, int64_t count)
{
    char *path = path_of(r, name), *head = head_of(r, note);
    far_file *file = NULL;
    far_status st = FAR_OK;
    if (r->sabotage) {
        goto done;
    }
    TRY(make_folder(r));
    TRY(far_file_create(r->ctx, path, &file));
    TRY(far_file_put(file, head, strlen(head)));
    TRY(far_file_put(file, values, (size_t)count * sizeof *values));
    st = far_file_close(file, 1);
    file = NULL;
done:
    far_file_close(file, 0);
    FREE(path, head);
    return st;
}
