/* A folder of pictures becomes a table: which files, their sizes and colours, one row each. */
#define _GNU_SOURCE
#include "../arch/arch_internal.h"
#include "../data/frame_internal.h"
#include "image_internal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* No picture of FAR_PICTURE_MOST pixels needs more. */
#define FILE_MOST ((int64_t)256 << 20)
#define PROGRESS_EVERY 64 /* pictures */
#define RED 19595         /* luma of ITU-R 601, in parts of 65536 */
#define GREEN 38470
#define BLUE 7471

typedef struct album {
    far_ctx *ctx;
    const char *folder;
    far_words files; /* "cats/a.png", or "a.png" without classes */
    int32_t *order;  /* of files, by their bytes */
    bool classes;
    int channels;      /* 0: as the pictures have */
    bool by_first;     /* it was 0 */
    char wanted[1024]; /* why the size is what it is; "": any */
    far_pixels pixels;
} album;

/* ---- which files ---------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static far_status
fail_file(const album *a, far_status status, const char *name, const char *format, ...)
{
    char text[1200], path[PATH_MAX], shown[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s%s%s", a->folder, name ? "/" : "", name ? name : "");
    far_show_path(shown, sizeof shown, path);
    return far_fail(a->ctx, status, "%s: %s", shown, text);
}

static far_status fail_errno(const album *a, const char *name)
{
    char text[128];
    return fail_file(a, FAR_ERR_IO, name, "%s", far_errno_text(errno, text, sizeof text));
}

static far_status join(const album *a, const char *name, char out[PATH_MAX])
{
    int length = snprintf(out, PATH_MAX, "%s/%s", a->folder, name);
    return length < PATH_MAX ? FAR_OK : fail_file(a, FAR_ERR_IO, name, "the path is too long");
}

static bool is_picture_name(const char *name)
{
    static const char *const ENDINGS[] = {".png", ".jpg", ".jpeg"};
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && i < 3; i++) {
        if (strcasecmp(dot, ENDINGS[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What to do with an entry of a folder. */
typedef far_status (*entry_fn)(album *a, const char *name, bool folder);

/* Every entry but those whose names begin with a dot, as hidden ones do. within: "" or "cats/". */
static far_status each_entry(album *a, const char *within, entry_fn take)
{
    far_status st;
    char path[PATH_MAX], name[PATH_MAX + NAME_MAX + 1];
    struct stat info;
    FAR_TRY(join(a, within, path));
    DIR *dir = opendir(path);
    if (!dir) {
        return fail_errno(a, *within ? within : NULL);
    }
    for (struct dirent *e = readdir(dir); e && st == FAR_OK; e = readdir(dir)) {
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(name, sizeof name, "%s%s", within, e->d_name);
        st = join(a, name, path);
        if (st == FAR_OK && stat(path, &info) != 0) {
            st = fail_errno(a, name);
        } else if (st == FAR_OK && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
            st = fail_file(a, FAR_ERR_FORMAT, name, "is neither a file nor a folder; remove it");
        }
        st = st == FAR_OK ? take(a, name, S_ISDIR(info.st_mode)) : st;
    }
    closedir(dir);
done:
    return st;
}

static far_status note_folders(album *a, const char *name, bool folder)
{
    (void)name;
    a->classes |= folder;
    return FAR_OK;
}

static far_status take_file(album *a, const char *name, bool folder)
{
    int32_t at;
    if (folder) {
        return fail_file(a, FAR_ERR_FORMAT, name,
                         "is a folder inside the folder of a class; pictures of a class lie in one "
                         "folder");
    }
    if (!is_picture_name(name)) {
        return fail_file(a, FAR_ERR_FORMAT, name,
                         "is among the pictures, but its name does not end in .png, .jpg or .jpeg; "
                         "move it elsewhere");
    }
    return far_words_add(&a->files, name, &at);
}

/* Beside the folders of classes there may be a list or a licence, but no picture. */
static far_status take_class(album *a, const char *name, bool folder)
{
    far_status st;
    char within[PATH_MAX];
    int64_t before = a->files.count;
    if (!folder) {
        return is_picture_name(name)
                   ? fail_file(a, FAR_ERR_FORMAT, name,
                               "lies beside the folders of the classes; put it into one of them")
                   : FAR_OK;
    }
    snprintf(within, sizeof within, "%s/", name);
    FAR_TRY(each_entry(a, within, take_file));
    if (a->files.count == before) {
        st = fail_file(a, FAR_ERR_FORMAT, name, "holds no pictures of its class; remove it");
    }
done:
    return st;
}

static far_status list_files(album *a)
{
    far_status st;
    FAR_TRY(each_entry(a, "", note_folders));
    FAR_TRY(each_entry(a, "", a->classes ? take_class : take_file));
    if (a->files.count == 0) {
        return fail_file(a, FAR_ERR_FORMAT, NULL,
                         "holds no pictures: a folder for each class with .png and .jpg in it, or "
                         "pictures alone, to predict");
    }
    FAR_TRY(far_words_order(&a->files, &a->order));
done:
    return st;
}

/* ---- one picture ---------------------------------------------------------------------------- */

static far_status check_bytes(const album *a, const char *path, const char *name)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return fail_errno(a, name);
    }
    return info.st_size <= FILE_MOST ? FAR_OK
                                     : fail_file(a, FAR_ERR_FORMAT, name,
                                                 "has %lld bytes; pictures have at most %lld here",
                                                 (long long)info.st_size, (long long)FILE_MOST);
}

static far_status decode(album *a, const char *name)
{
    far_status st;
    char path[PATH_MAX];
    far_input in = {.ctx = a->ctx};
    FAR_TRY(join(a, name, path));
    FAR_TRY(check_bytes(a, path, name));
    FAR_TRY(far_input_load(a->ctx, path, &in));
    FAR_TRY(far_pixels_parse(&in, &a->pixels));
done:
    far_input_clear(&in);
    return st;
}

static unsigned luma(const unsigned char *p)
{
    return (RED * p[0] + GREEN * p[1] + BLUE * p[2] + 32768u) >> 16;
}

/* Row i of the table: a channel after the other. */
static void put_picture(const album *a, int64_t i, far_frame *f)
{
    const far_pixels *p = &a->pixels;
    int64_t pixels = p->rows * p->cols;
    for (int k = 0; k < a->channels; k++) {
        for (int64_t j = 0; j < pixels; j++) {
            const unsigned char *at = p->bytes + j * p->channels;
            bool mix = a->channels < p->channels;
            f->columns[k * pixels + j].numbers[i] = mix ? luma(at) : at[p->channels == 1 ? 0 : k];
        }
    }
}

/* ---- the table ------------------------------------------------------------------------------ */

/* The size and colours that a network begins with; any where it says none. */
static far_status read_arch(album *a, const char *text)
{
    far_status st;
    far_arch *arch = NULL;
    int64_t count;
    FAR_TRY(far_arch_parse(a->ctx, text, &arch));
    const far_layer *first = far_arch_layers(arch, &count);
    if (count > 0 && first->kind == FAR_LAYER_IMAGE) {
        const int64_t *size = first->size.part;
        if (size[0] != 1 && size[0] != 3) {
            st = fail_file(a, FAR_ERR_SHAPE, NULL,
                           "image(%lldx%lldx%lld) has %lld channels; pictures have 1 or 3",
                           (long long)size[0], (long long)size[1], (long long)size[2],
                           (long long)size[0]);
            goto done;
        }
        a->channels = (int)size[0];
        a->pixels.rows = size[1];
        a->pixels.cols = size[2];
        snprintf(a->wanted, sizeof a->wanted, "image(%lldx%lldx%lld) takes", (long long)size[0],
                 (long long)size[1], (long long)size[2]);
    }
done:
    far_arch_destroy(arch);
    return st;
}

/* Columns p1, p2, ..., label where there are classes, and file. */
static far_status make_frame(const album *a, far_frame **out)
{
    far_status st;
    char name[24], label[FAR_LABEL_BYTES];
    far_frame *f = NULL;
    int64_t pixels = a->channels * a->pixels.rows * a->pixels.cols, words = 1 + a->classes;
    far_show_path(label, sizeof label, a->folder);
    FAR_TRY(far_frame_create(a->ctx, label, pixels + words, &f));
    for (int64_t j = 1; j <= pixels; j++) {
        snprintf(name, sizeof name, "p%lld", (long long)j);
        FAR_TRY(far_frame_add_name(f, name));
    }
    FAR_TRY(a->classes ? far_frame_add_name(f, "label") : FAR_OK);
    FAR_TRY(far_frame_add_name(f, "file"));
    f->rows = a->files.count;
    f->pixels = pixels;
    FAR_TRY(far_budget_check(a->ctx, label, 8.0 * (double)f->rows * (double)f->cols, 0));
    FAR_TRY(far_alloc(a->ctx, f->rows * f->cols, &f->block));
    for (int64_t j = 0; j < f->cols; j++) {
        far_column *c = &f->columns[j];
        c->numbers = f->block + j * f->rows;
        if (j >= pixels) {
            *c = (far_column){.kind = FAR_COLUMN_WORD, .codes = (int32_t *)(void *)c->numbers};
        }
    }
done:
    FAR_HAND_OVER(f, out, far_frame_destroy);
    return st;
}

/* The folder that a picture lies in is its class. */
static far_status put_words(const album *a, const char *name, int64_t i, far_frame *f)
{
    far_status st = FAR_OK;
    char *room;
    far_column *words = &f->columns[f->pixels];
    if (a->classes) {
        int64_t length = strchr(name, '/') - name;
        FAR_TRY(far_words_room(&f->words, length, &room));
        memcpy(room, name, (size_t)length);
        FAR_TRY(far_words_add_room(&f->words, length, &words->codes[i]));
    }
    FAR_TRY(far_words_add(&f->words, name, &words[a->classes].codes[i]));
done:
    return st;
}

/* The first picture says what is left open, but that others may have colours. */
static far_status take_first(album *a, const char *name)
{
    far_status st = decode(a, name);
    if (st == FAR_OK) {
        a->channels = a->pixels.channels;
        a->by_first = true;
        snprintf(a->wanted, sizeof a->wanted, "the first picture, %.400s, has", name);
        a->pixels.wanted = a->wanted;
    }
    return st;
}

static far_status read_pictures(album *a, far_frame **out)
{
    far_status st = FAR_OK;
    far_frame *f = NULL;
    for (int64_t i = 0; i < a->files.count; i++) {
        const char *name = far_words_text(&a->files, a->order[i]);
        FAR_TRY(i == 0 && !*a->wanted ? take_first(a, name) : decode(a, name));
        if (a->by_first && a->pixels.channels > a->channels) { /* colours after all: once more */
            a->channels = a->pixels.channels;
            far_frame_destroy(f);
            f = NULL;
            i = -1;
            continue;
        }
        FAR_TRY(f ? FAR_OK : make_frame(a, &f));
        put_picture(a, i, f);
        FAR_TRY(put_words(a, name, i, f));
        FAR_TRY(i % PROGRESS_EVERY ? FAR_OK : far_progress(a->ctx, "loading", i, a->files.count));
    }
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

far_status far_pictures_read(far_ctx *ctx, const char *folder, const char *arch, far_frame **out)
{
    far_status st;
    album *a = NULL;
    FAR_TRY(far_alloc(ctx, 1, &a));
    *a = (album){.ctx = ctx, .folder = folder, .files = {.ctx = ctx}};
    a->pixels.most = FAR_PICTURE_MOST;
    FAR_TRY(arch ? read_arch(a, arch) : FAR_OK);
    a->pixels.wanted = *a->wanted ? a->wanted : NULL;
    FAR_TRY(list_files(a));
    FAR_TRY(read_pictures(a, out));
done:
    if (a) {
        far_words_clear(&a->files);
        FAR_FREE_ALL(ctx, a->order, a->pixels.bytes, a);
    }
    return st;
}
