/* The npz format: a zip of npy files, read through libzip. */
#include "data_internal.h"

#include <errno.h>
#include <string.h>
#include <zip.h>

#define READ_BYTES ((int64_t)64 << 20)
#define MAX_DEFLATE_RATIO 1032 /* deflate cannot do better */
#define MAX_NAMES 10           /* shown in a message */

bool far_npz_is(const far_input *in)
{
    return in->size >= 4 && (memcmp(in->data, "PK\3\4", 4) == 0 ||
                             memcmp(in->data, "PK\5\6", 4) == 0); /* the second: no members */
}

bool far_npz_is_predictor(const far_input *in)
{
    static const char FIRST[] = "manifest.json";
    enum { NAME = 30, LENGTH = sizeof FIRST - 1 }; /* where the first member's name stands */
    return far_npz_is(in) && in->size >= NAME + LENGTH &&
           memcmp(in->data + NAME, FIRST, LENGTH) == 0;
}

far_status far_npz_refuse_member(const far_input *in, const char *member)
{
    char shown[64];
    far_show(shown, sizeof shown, member, (int64_t)strlen(member));
    return far_input_fail(in, FAR_ERR_ARG, "is not an npz, so it has no array '%s'", shown);
}

/* The error's owner also owns its text. Out of memory, libzip may say that there is no zip: errno,
 * cleared before the call, knows better. */
static far_status fail_zip(const far_input *in, zip_error_t *error)
{
    char text[128];
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY || errno == ENOMEM) {
        return far_input_fail(in, FAR_ERR_MEMORY, "out of memory reading the zip file");
    }
    const char *why = zip_error_strerror(error);
    far_show(text, sizeof text, why, (int64_t)strlen(why));
    return far_input_fail(in, FAR_ERR_FORMAT, "the zip file cannot be read (%s)", text);
}

static far_status open_zip(const far_input *in, zip_t **out)
{
    zip_error_t error;
    far_status st = FAR_OK;
    zip_error_init(&error);
    errno = 0;
    zip_source_t *source = zip_source_buffer_create(in->data, (zip_uint64_t)in->size, 0, &error);
    *out = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!*out) {
        zip_source_free(source);
        st = fail_zip(in, &error);
    }
    zip_error_fini(&error);
    return st;
}

/* ---- which member ---- */

/* Length of the array's name if member i is name.npy, else -1. */
static int64_t array_name(zip_t *zip, int64_t i, const char **out)
{
    *out = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
    int64_t length = *out ? (int64_t)strlen(*out) : 0;
    return length > 4 && memcmp(*out + length - 4, ".npy", 4) == 0 ? length - 4 : -1;
}

/* An array proper: not a note beside one. */
static bool counts(zip_t *zip, int64_t i)
{
    const char *name;
    int64_t length = array_name(zip, i, &name);
    return length >= 0 && !far_note_is(name, length);
}

/* "x, y and 3 more" */
static void list_names(zip_t *zip, int64_t arrays, char *out, size_t capacity)
{
    int64_t shown = 0;
    size_t used = 0;
    out[0] = 0;
    for (int64_t i = 0; i < zip_get_num_entries(zip, 0) && shown < MAX_NAMES; i++) {
        const char *name;
        char text[48];
        int64_t length = array_name(zip, i, &name);
        if (counts(zip, i)) {
            far_show(text, sizeof text, name, length);
            used += (size_t)snprintf(out + used, capacity - used, "%s%s", shown ? ", " : "", text);
            shown++;
        }
    }
    if (shown < arrays) {
        snprintf(out + used, capacity - used, " and %lld more", (long long)(arrays - shown));
    }
}

static bool same_name(const char *name, int64_t length, const char *member)
{
    return strcmp(name, member) == 0 ||
           ((size_t)length == strlen(member) && memcmp(name, member, (size_t)length) == 0);
}

static far_status fail_choice(const far_input *in, zip_t *zip, int64_t arrays, const char *member)
{
    char names[MAX_NAMES * 50 + 40];
    list_names(zip, arrays, names, sizeof names);
    if (!member) {
        return far_input_fail(in, FAR_ERR_ARG,
                              "holds %lld arrays (%s); name one, as in file.npz:name",
                              (long long)arrays, names);
    }
    char shown[64];
    far_show(shown, sizeof shown, member, (int64_t)strlen(member));
    return far_input_fail(in, FAR_ERR_ARG, "has no array '%s'; it holds %s", shown, names);
}

/* The first array of that name, or the first of all; how many there are. */
static int64_t search_arrays(zip_t *zip, const char *member, int64_t *arrays)
{
    int64_t found = -1;
    *arrays = 0;
    for (int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        const char *name;
        int64_t length = array_name(zip, i, &name);
        bool wanted = member ? length >= 0 && same_name(name, length, member) : counts(zip, i);
        *arrays += counts(zip, i);
        if (found < 0 && wanted) {
            found = i;
        }
    }
    return found;
}

/* one: without a member there must be one array alone. */
static far_status choose(const far_input *in, zip_t *zip, const char *member, bool one,
                         int64_t *out)
{
    int64_t arrays;
    *out = search_arrays(zip, member, &arrays);
    if (arrays == 0) {
        return far_input_fail(in, FAR_ERR_FORMAT, "is a zip file without npy arrays");
    }
    if (*out < 0 || (!member && one && arrays > 1)) {
        return fail_choice(in, zip, arrays, member);
    }
    return FAR_OK;
}

/* ---- its bytes ---- */

static void label_member(far_input *out, const far_input *in, zip_t *zip, int64_t i)
{
    const char *name;
    char shown[64];
    int64_t length = array_name(zip, i, &name);
    out->ctx = in->ctx;
    bool array = length >= 0;
    name = name ? name : "";
    far_show(shown, sizeof shown, name, array ? length : (int64_t)strlen(name));
    snprintf(out->label, sizeof out->label, "%.*s: %s%s", (int)(sizeof out->label - 80), in->label,
             array ? "array " : "", shown);
}

/* What a member may claim to hold: no more than its packed bytes, which are in the file, allow. */
static far_status member_size(const far_input *in, const far_input *out, zip_t *zip, int64_t i,
                              int64_t *size)
{
    const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t s;
    if (zip_stat_index(zip, (zip_uint64_t)i, 0, &s) != 0 || (s.valid & wanted) != wanted) {
        return fail_zip(out, zip_get_error(zip));
    }
    if (s.comp_method != ZIP_CM_STORE && s.comp_method != ZIP_CM_DEFLATE) {
        return far_input_fail(out, FAR_ERR_FORMAT,
                              "zip method %d cannot be read; save it with numpy.savez",
                              s.comp_method);
    }
    zip_uint64_t ratio = s.comp_method == ZIP_CM_STORE ? 1 : MAX_DEFLATE_RATIO;
    if (s.comp_size > (zip_uint64_t)in->size || s.size > ratio * s.comp_size) {
        return far_input_fail(out, FAR_ERR_FORMAT,
                              "claims %llu bytes, more than its %llu packed bytes can hold",
                              (unsigned long long)s.size, (unsigned long long)s.comp_size);
    }
    *size = (int64_t)s.size;
    return FAR_OK;
}

/* One byte more is asked for than declared: it shows the end, where libzip checks the sum. */
static far_status read_member(zip_file_t *file, int64_t size, far_input *out)
{
    far_status st;
    zip_int64_t got = 1;
    FAR_TRY(far_input_reserve(out, size + 1));
    while (got > 0 && out->size <= size) {
        int64_t left = size + 1 - out->size;
        got = zip_fread(file, out->data + out->size,
                        (zip_uint64_t)(left < READ_BYTES ? left : READ_BYTES));
        out->size += got > 0 ? got : 0;
        if (got == READ_BYTES && out->size <= size) {
            FAR_TRY(far_progress(out->ctx, "loading", out->size, size));
        }
    }
    if (got < 0) {
        return fail_zip(out, zip_file_get_error(file));
    }
    if (out->size != size) {
        return far_input_fail(out, FAR_ERR_FORMAT,
                              "the zip file cannot be read (sizes do not agree)");
    }
    out->data[size] = 0;
done:
    return st;
}

static far_status extract(const far_input *in, zip_t *zip, int64_t i, far_input *out)
{
    int64_t size = 0;
    label_member(out, in, zip, i);
    errno = 0;
    far_status st = member_size(in, out, zip, i, &size);
    if (st != FAR_OK) {
        return st;
    }
    zip_file_t *file = zip_fopen_index(zip, (zip_uint64_t)i, 0);
    if (!file) {
        return fail_zip(out, zip_get_error(zip));
    }
    st = read_member(file, size, out);
    zip_fclose(file);
    return st;
}

/* Unpacks array i, and refuses what is not in npy format. */
static far_status take_array(const far_input *in, zip_t *zip, int64_t i, far_input *out)
{
    far_status st = extract(in, zip, i, out);
    if (st == FAR_OK && !far_npy_is(out)) {
        st = far_input_fail(out, FAR_ERR_FORMAT, "is not in npy format");
    }
    return st;
}

static far_status check_most(const far_input *in, zip_t *zip, int64_t i, const char *name,
                             int64_t most)
{
    zip_stat_t s;
    if (zip_stat_index(zip, (zip_uint64_t)i, 0, &s) == 0 && s.valid & ZIP_STAT_SIZE &&
        s.size > (zip_uint64_t)most) {
        return far_input_fail(in, FAR_ERR_FORMAT, "%s claims %llu bytes, more than are plausible",
                              name, (unsigned long long)s.size);
    }
    return FAR_OK; /* extract finds what else is wrong */
}

static far_status take_notes(const far_input *in, zip_t *zip, far_array *t)
{
    far_status st = FAR_OK;
    far_input note = {.ctx = in->ctx};
    for (int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        const char *name;
        int64_t length = array_name(zip, i, &name);
        if (length >= 0 && far_note_is(name, length)) {
            note = (far_input){.ctx = in->ctx};
            FAR_TRY(check_most(in, zip, i, name, FAR_NOTE_BYTES));
            FAR_TRY(take_array(in, zip, i, &note));
            FAR_TRY(far_note_take(&note, name, length, t));
            far_input_clear(&note);
        }
    }
done:
    far_input_clear(&note);
    return st;
}

far_status far_npz_parse(far_input *in, const char *member, int dims, far_array *a)
{
    far_status st;
    zip_t *zip = NULL;
    far_input array = {.ctx = in->ctx};
    int64_t index;
    FAR_TRY(open_zip(in, &zip));
    FAR_TRY(choose(in, zip, member, true, &index));
    FAR_TRY(take_array(in, zip, index, &array));
    FAR_TRY(take_notes(in, zip, a));
    zip_discard(zip);
    zip = NULL;
    far_input_clear(in); /* the packed bytes are not needed beside the values */
    memcpy(in->label, array.label, sizeof in->label);
    FAR_TRY(far_npy_parse(&array, dims, a));
done:
    if (zip) {
        zip_discard(zip);
    }
    far_input_clear(&array);
    return st;
}

/* ---- all arrays ---- */

static far_status take_named(const far_input *in, zip_t *zip, int64_t i, far_npz_array *out)
{
    const char *name;
    int64_t length = array_name(zip, i, &name);
    far_status st = far_copy_text(in->ctx, name, length, &out->name);
    return st == FAR_OK ? take_array(in, zip, i, &out->in) : st;
}

static far_status take_all(const far_input *in, zip_t *zip, far_npz_array *arrays, int64_t *count)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        if (counts(zip, i)) {
            FAR_TRY(take_named(in, zip, i, &arrays[(*count)++]));
        }
    }
done:
    return st;
}

far_status far_npz_unpack(far_input *in, const char *member, far_npz_array **out, int64_t *count)
{
    far_status st;
    zip_t *zip = NULL;
    int64_t index;
    *out = NULL;
    *count = 0;
    FAR_TRY(open_zip(in, &zip));
    FAR_TRY(choose(in, zip, member, false, &index));
    int64_t room = member ? 1 : zip_get_num_entries(zip, 0);
    FAR_TRY(far_alloc(in->ctx, room, out));
    if (member) {
        *count = 1;
        FAR_TRY(take_named(in, zip, index, &(*out)[0]));
    } else {
        FAR_TRY(take_all(in, zip, *out, count));
    }
done:
    if (zip) {
        zip_discard(zip);
    }
    return st;
}

void far_npz_free(far_ctx *ctx, far_npz_array *arrays, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        far_free(ctx, arrays[i].name);
        if (arrays[i].in.data) {
            far_input_clear(&arrays[i].in);
        }
    }
    far_free(ctx, arrays);
}

/* ---- any member ---- */

static far_status find_member(const far_input *in, zip_t *zip, const char *name, int64_t *out)
{
    *out = -1;
    for (int64_t i = 0; i < zip_get_num_entries(zip, 0); i++) {
        const char *other = zip_get_name(zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (other && strcmp(other, name) == 0) {
            if (*out >= 0) {
                return far_input_fail(in, FAR_ERR_FORMAT, "holds %s twice", name);
            }
            *out = i;
        }
    }
    return FAR_OK;
}

far_status far_zip_extract(const far_input *in, const char *name, int64_t most, far_input *out)
{
    far_status st;
    zip_t *zip = NULL;
    int64_t index;
    *out = (far_input){.ctx = in->ctx};
    FAR_TRY(open_zip(in, &zip));
    FAR_TRY(find_member(in, zip, name, &index));
    if (index >= 0) {
        FAR_TRY(check_most(in, zip, index, name, most));
        FAR_TRY(extract(in, zip, index, out));
    }
done:
    if (zip) {
        zip_discard(zip);
    }
    return st;
}
