/* Features of photographs of faces: a residual network without its last layer, from weights that
 * the user has. What is kept of them is one table, as if it had been published. */
#define _GNU_SOURCE
#include "ln_faces.h"
#include "kept.h"
#include "side_by_side.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 224, PIXELS = 3 * SIDE * SIDE, CHUNK = 32, GROUPS = 5, OLDEST = 116 };

typedef struct face {
    char *name;
    int age, group;
} face;

typedef struct album {
    face *faces;
    int64_t count, left_out;
    far_net *net;     /* to features */
    int64_t features; /* of each */
    double *values;   /* count x features */
} album;

/* ---- names --------------------------------------------------------------------------------- */

/* age_gender_group_date.jpg, as UTKFace has it, whatever stands behind the date. */
static bool read_name(const char *name, face *out)
{
    int gender = 0, end = 0;
    size_t length = strlen(name);
    bool jpeg = length > 4 && strcasecmp(name + length - 4, ".jpg") == 0;
    return jpeg && sscanf(name, "%3d_%1d_%1d_%n", &out->age, &gender, &out->group, &end) == 3 &&
           end > 0 && out->age >= 0 && out->age <= OLDEST && gender >= 0 && gender <= 1 &&
           out->group >= 0 && out->group < GROUPS && name[0] != '-';
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const face *)a)->name, ((const face *)b)->name);
}

static far_status list_faces(reproduction *r, album *a)
{
    DIR *folder = opendir(r->images);
    if (!folder) {
        return fail(r, FAR_ERR_IO, "%s: %s", r->images, strerror(errno));
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        face one = {NULL, 0, 0};
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (!read_name(entry->d_name, &one)) {
            a->left_out++;
            continue;
        }
        one.name = text_of("%s", entry->d_name);
        a->faces = room_for_one_more(a->faces, a->count, sizeof *a->faces);
        a->faces[a->count++] = one;
    }
    closedir(folder);
    if (a->count == 0) {
        return fail(r, FAR_ERR_IO,
                    "%s has no faces: files named age_gender_group_date.jpg, as UTKFace has them",
                    r->images);
    }
    qsort(a->faces, (size_t)a->count, sizeof *a->faces, by_name);
    return FAR_OK;
}

/* ---- the network --------------------------------------------------------------------------- */

/* The network of the file, without its last layer. */
static far_status open_net(reproduction *r, album *a)
{
    far_net *whole = NULL;
    char *text = NULL;
    far_status st;
    TRY(far_net_load(r->ctx, r->weights, NULL, &whole));
    far_net_info info = far_net_describe(whole);
    text = text_of("%s", info.arch);
    char *last = strstr(text, " gap dense(");
    if (info.inputs != PIXELS || !last || strchr(last, ')') != text + strlen(text) - 1) {
        TRY(fail(r, FAR_ERR_ARG,
                 "%s: is no residual network of 3 x 224 x 224 pixels that ends with its mean over "
                 "pixels and one layer; it is '%.200s'",
                 r->weights, info.arch));
    }
    last[strlen(" gap")] = 0;
    TRY(same_weights(r, whole, text, &a->net));
    a->features = far_net_describe(a->net).outputs;
done:
    far_net_destroy(whole);
    free(text);
    return st;
}

/* Some faces: their photographs, and the features of these, in float32. */
static far_status one_chunk(reproduction *r, int64_t job, void *user)
{
    album *a = user;
    int64_t first = job * CHUNK, n = a->count - first < CHUNK ? a->count - first : CHUNK;
    double *out = a->values + first * a->features;
    float *x = ROOM(n * PIXELS, float), *f = ROOM(n * a->features, float);
    char *name = text_of("faces-%lld", (long long)job), *path = NULL;
    char *note = text_of("%s %s to %s, %lld", r->weights, a->faces[first].name,
                         a->faces[first + n - 1].name, (long long)a->count);
    far_picture_opts o;
    far_status st = FAR_OK;
    far_picture_opts_init(&o);
    if (take_kept_numbers(r, name, note, out, n * a->features)) {
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        far_mat row = far_mat_view(x + i * PIXELS, 1, PIXELS, FAR_F32);
        free(path);
        path = text_of("%s/%s", r->images, a->faces[first + i].name);
        TRY(far_picture_read(r->ctx, path, &o, &row));
    }
    far_mat images = far_mat_view(x, n, PIXELS, FAR_F32),
            values = far_mat_view(f, n, a->features, FAR_F32);
    TRY(far_net_eval(r->ctx, a->net, &images, &values));
    for (int64_t i = 0; i < n * a->features; i++) {
        out[i] = f[i];
    }
    TRY(keep_numbers_of(r, name, note, out, n * a->features));
done:
    FREE(x, f, name, note, path);
    return st;
}

/* ---- the table ----------------------------------------------------------------------------- */

static far_status put_line(far_file *file, const album *a, int64_t i)
{
    char cell[48];
    int used = i < 0 ? snprintf(cell, sizeof cell, "age,group")
                     : snprintf(cell, sizeof cell, "%d,%d", a->faces[i].age, a->faces[i].group);
    far_status st = far_file_put(file, cell, (size_t)used);
    for (int64_t j = 0; j < a->features && st == FAR_OK; j++) {
        used = i < 0 ? snprintf(cell, sizeof cell, ",f%lld", (long long)j + 1)
                     : snprintf(cell, sizeof cell, ",%.9g", a->values[i * a->features + j]);
        st = far_file_put(file, cell, (size_t)used);
    }
    return st == FAR_OK ? far_file_put(file, "\n", 1) : st;
}

static far_status write_table(reproduction *r, const album *a, const char *path)
{
    far_file *file = NULL;
    far_status st = far_file_create(r->ctx, path, &file);
    for (int64_t i = -1; i < a->count && st == FAR_OK; i++) {
        st = put_line(file, a, i);
    }
    far_status closed = far_file_close(file, st == FAR_OK);
    return st == FAR_OK ? closed : st;
}

/* "f1,f2,.." */
static const char *list_features(reproduction *r, int64_t count)
{
    char *text = ROOM(count * 8 + 1, char);
    for (int64_t j = 0, used = 0; j < count; j++) {
        used += sprintf(text + used, "%sf%lld", j ? "," : "", (long long)j + 1);
    }
    const char *kept = words(r, "%s", text);
    free(text);
    return kept;
}

far_status ln_faces_make(reproduction *r, ln_faces *out)
{
    album a = {0};
    far_status st;
    TRY(list_faces(r, &a));
    TRY(open_net(r, &a));
    a.values = ROOM(a.count * a.features, double);
    TRY(side_by_side(r, "faces", (a.count + CHUNK - 1) / CHUNK, one_chunk, &a));
    *out = (ln_faces){.path = text_of("%s/faces.csv", r->folder),
                      .features = list_features(r, a.features),
                      .count = a.count,
                      .left_out = a.left_out};
    TRY(write_table(r, &a, out->path));
done:
    for (int64_t i = 0; i < a.count; i++) {
        free(a.faces[i].name);
    }
    far_net_destroy(a.net);
    FREE(a.faces, a.values);
    return st;
}
