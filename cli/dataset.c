#include "dataset.h"
#include "files.h"

#include <ctype.h>
#include <farfield/fetch.h>
#include <farfield/image.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SETS = 64 };

/* The data set that operand names, unless there is a file of that name; or NULL. */
static const far_dataset *named_set(const char *operand)
{
    struct stat info;
    bool file = stat(operand, &info) == 0 && !S_ISDIR(info.st_mode);
    return file ? NULL : far_dataset_find(operand);
}

bool is_folder(const char *operand)
{
    struct stat info;
    return !named_set(operand) && stat(operand, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Options of a text have no meaning there. */
static int check_text_options(const char *verb_name, const char *label, const table_args *how)
{
    const char *given = !how               ? NULL
                        : how->separator   ? "--sep"
                        : how->missing     ? "--na"
                        : how->categorical ? "--categorical"
                                           : NULL;
    return given ? failure(verb_name, "%s is a folder of pictures: %s is for tables", label, given)
                 : EXIT_DONE;
}

static int folder_read(const char *verb_name, far_ctx *ctx, const char *operand,
                       const table_args *how, dataset *d)
{
    far_image_opts opts = {.size = sizeof opts, .arch = d->arch};
    int code = check_text_options(verb_name, operand, how);
    if (code == EXIT_DONE && far_image_read(ctx, operand, &opts, &d->frame) != FAR_OK) {
        code = failure(verb_name, "%s", far_ctx_message(ctx));
    }
    d->count = d->frame ? far_frame_rows(d->frame) : 0;
    return code;
}

static int set_read(const char *verb_name, far_ctx *ctx, const far_dataset *set,
                    const table_args *how, dataset *d)
{
    if (how && (how->separator || how->missing || how->categorical)) {
        bool levels = !how->separator && !how->missing;
        return failure(verb_name,
                       "%s is a data set, numbers without gaps as they are published: %s is for "
                       "files of your own%s",
                       set->name,
                       how->separator ? "--sep"
                       : how->missing ? "--na"
                                      : "--categorical",
                       levels ? "; classes of a target are --task classify" : "");
    }
    if (far_dataset_read(ctx, set, NULL, &d->frame) != FAR_OK) {
        return failure(verb_name, "%s", far_ctx_message(ctx));
    }
    d->count = far_frame_rows(d->frame);
    return EXIT_DONE;
}

/* The data set whose name was perhaps meant by an operand that is no file; or NULL. */
static const char *meant_set(const char *operand)
{
    const char *names[MOST_SETS];
    size_t count = 0;
    for (; count < MOST_SETS && far_dataset_at((int64_t)count); count++) {
        names[count] = far_dataset_at((int64_t)count)->name;
    }
    bool possible = !strpbrk(operand, "./:") && access(operand, F_OK) != 0;
    return possible ? far_nearest_name(operand, names, count) : NULL;
}

static int read_failure(const char *verb_name, far_ctx *ctx, const char *operand)
{
    const char *near = meant_set(operand);
    if (near) {
        return failure(verb_name, "%s; did you mean the data set %s?", far_ctx_message(ctx), near);
    }
    return failure(verb_name, "%s", far_ctx_message(ctx));
}

/* --sep; 0: there is no such separator. */
static char separator_of(const char *text)
{
    static const char *const NAMES[] = {"tab", "\\t", "blank", "space"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            return i < 2 ? '\t' : ' ';
        }
    }
    bool fits =
        text[0] && !text[1] && !strchr("\"#\r\n", text[0]) && !isalnum((unsigned char)text[0]);
    return fits ? text[0] : 0;
}

static int read_how(const char *verb_name, const table_args *how, far_frame_opts *opts)
{
    *opts = (far_frame_opts){.size = sizeof *opts};
    if (!how) {
        return EXIT_DONE;
    }
    opts->missing = how->missing;
    opts->categorical = how->categorical;
    opts->separator = how->separator ? separator_of(how->separator) : 0;
    return how->separator && !opts->separator
               ? usage_error(verb_name,
                             "--sep is a character such as , or ; or |, or tab or blank, not '%s'",
                             how->separator)
               : EXIT_DONE;
}

static int frame_read(const char *verb_name, far_ctx *ctx, const char *operand,
                      const table_args *how, dataset *d)
{
    far_frame_opts opts;
    int code = read_how(verb_name, how, &opts);
    if (code != EXIT_DONE) {
        return code;
    }
    d->label = operand_label(operand);
    const far_dataset *set = named_set(operand);
    if (set) {
        return set_read(verb_name, ctx, set, how, d);
    }
    if (is_folder(operand)) {
        return folder_read(verb_name, ctx, operand, how, d);
    }
    char *path = strdup(operand);
    if (!path) {
        return failure(verb_name, "out of memory");
    }
    const char *member = split_member(path);
    far_status st = far_frame_read(ctx, path, member, &opts, &d->frame);
    free(path);
    if (st != FAR_OK) {
        return read_failure(verb_name, ctx, operand);
    }
    d->count = far_frame_rows(d->frame);
    return EXIT_DONE;
}

static int pick_rows(const char *verb_name, far_ctx *ctx, const char *where, dataset *d)
{
    int64_t all = d->count;
    d->rows = calloc(all > 0 ? (size_t)all : 1, 1);
    if (!d->rows) {
        return failure(verb_name, "%s: out of memory", d->label);
    }
    far_status st = far_frame_where(ctx, d->frame, where, d->rows);
    if (st != FAR_OK) {
        failure(verb_name, "--where: %s", far_ctx_message(ctx));
        return usage_code(st);
    }
    d->count = 0;
    for (int64_t i = 0; i < all; i++) {
        d->count += d->rows[i] != 0;
    }
    if (d->count == 0) {
        return failure(verb_name, "%s: --where '%s' holds for none of the %lld rows", d->label,
                       where, (long long)all);
    }
    return EXIT_DONE;
}

int dataset_read(const char *verb_name, far_ctx *ctx, const char *operand, const table_args *how,
                 const char *where, dataset *d)
{
    int code = frame_read(verb_name, ctx, operand, how, d);
    return code == EXIT_DONE && where ? pick_rows(verb_name, ctx, where, d) : code;
}

void dataset_free(dataset *d)
{
    far_frame_destroy(d->frame);
    free(d->rows);
    *d = (dataset){0};
}

static double next_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

unsigned char *draw_part(const char *verb_name, double part, uint64_t seed, int64_t n,
                         int64_t *count)
{
    unsigned char *taken = calloc((size_t)n + 1, 1);
    uint64_t state = seed * 2 + 1;
    int64_t most = llround(part * (double)n), left = most;
    if (!taken || most < 1 || most >= n) {
        failure(verb_name,
                taken ? "--val-part %g of %lld rows leaves %lld for validation, %lld for "
                        "the rest"
                      : "out of memory",
                part, (long long)n, (long long)most, (long long)(n - most));
        free(taken);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        taken[i] = next_uniform(&state) * (double)(n - i) < (double)left;
        left -= taken[i];
    }
    *count = most;
    return taken;
}
