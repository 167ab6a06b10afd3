/* Frames from files: which format it is, and columns from the arrays of npy and npz. */
#include "frame_internal.h"

#include <math.h>
#include <string.h>

#define MAX_SHAPES 12 /* listed in a message */

/* ---- arrays ---- */

static far_status fail_text(const far_input *in, const far_stored *a, int64_t i, int64_t j)
{
    const char *what = a->kind == 'U' ? "is no valid UTF-32" : "holds a zero byte";
    return far_input_fail(in, FAR_ERR_FORMAT, "the text in row %lld, column %lld %s",
                          (long long)i + 1, (long long)j + 1, what);
}

static far_status read_texts(const far_input *in, const far_reading *how, const far_stored *a,
                             int64_t j, far_words *words, int32_t *codes)
{
    far_status st = FAR_OK;
    for (int64_t i = 0; i < a->rows; i++) {
        char *room;
        FAR_TRY(far_words_room(words, a->size, &room));
        int64_t length = far_stored_text(a, i, j, room);
        if (length < 0) {
            return fail_text(in, a, i, j);
        }
        codes[i] = -1;
        if (!far_is_missing(how, room, length)) {
            FAR_TRY(far_words_add_room(words, length, &codes[i]));
        }
    }
done:
    return st;
}

static bool is_text(const far_stored *a)
{
    return a->kind == 'U' || a->kind == 'S';
}

/* Fills the columns from first on. */
static far_status read_values(const far_input *in, const far_reading *how, const far_stored *a,
                              far_frame *f, int64_t first)
{
    far_status st = FAR_OK;
    for (int64_t j = 0; j < a->cols; j++) {
        far_column *c = &f->columns[first + j];
        double *place = f->block + (first + j) * f->rows;
        if (is_text(a)) {
            c->kind = FAR_COLUMN_WORD;
            c->codes = (int32_t *)(void *)place;
            FAR_TRY(read_texts(in, how, a, j, &f->words, c->codes));
        } else {
            c->numbers = place;
        }
    }
    if (!is_text(a)) {
        far_stored_numbers(a, f->block + first * f->rows, 1, f->rows);
    }
done:
    return st;
}

/* No more values than there were bytes. */
static far_status allocate_values(far_frame *f, int64_t rows)
{
    f->rows = rows;
    return far_alloc(f->ctx, rows * f->cols, &f->block);
}

/* Numbers where they lie as the words they print as. */
static far_status make_words(far_frame *f, far_column *c)
{
    far_status st = FAR_OK;
    int32_t *codes = (int32_t *)(void *)c->numbers;
    for (int64_t i = 0; i < f->rows; i++) {
        char text[FAR_NUMBER_BYTES + 1];
        double value = c->numbers[i];
        int32_t code = -1;
        text[far_number_print(text, value, 17)] = 0;
        if (!isnan(value)) {
            FAR_TRY(far_words_add(&f->words, text, &code));
        }
        memcpy(codes + i, &code, sizeof code); /* never past the number it stands for */
    }
    *c = (far_column){.kind = FAR_COLUMN_WORD, .codes = codes, .categorical = true};
done:
    return st;
}

/* Missing values and categorical columns that the caller named. */
static far_status revise(far_frame *f, const far_reading *how)
{
    far_status st = FAR_OK;
    int64_t *cols = NULL, count = 0;
    far_frame_drop_missing(f, how);
    if (how && how->categorical) {
        far_frame_names_done(f);
        FAR_TRY(far_alloc(f->ctx, f->cols, &cols));
        FAR_TRY(far_frame_list(f->ctx, f, how->categorical, cols, &count));
    }
    for (int64_t k = 0; k < count; k++) {
        far_column *c = &f->columns[cols[k]];
        FAR_TRY(c->numbers ? make_words(f, c) : FAR_OK);
    }
done:
    far_free(f->ctx, cols);
    return st;
}

/* ---- npy ---- */

static far_status read_npy(far_input *in, const far_reading *how, far_frame **out)
{
    far_status st;
    far_stored a;
    far_frame *f = NULL;
    FAR_TRY(far_npy_open(in, true, &a));
    FAR_TRY(far_stored_check(in, &a));
    FAR_TRY(far_frame_create(in->ctx, in->label, a.cols, &f));
    for (int64_t j = 0; j < a.cols; j++) {
        FAR_TRY(far_frame_add_name(f, ""));
    }
    FAR_TRY(allocate_values(f, a.rows));
    FAR_TRY(read_values(in, how, &a, f, 0));
    FAR_TRY(revise(f, how));
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    return st;
}

/* ---- npz ---- */

typedef struct npz {
    far_ctx *ctx;
    far_npz_array *arrays;
    far_stored *heads;
    int64_t count;
} npz;

/* Images and the like: the first dimension counts rows, the others together are columns. */
static far_status flatten_rows(const far_input *in, far_stored *a)
{
    far_status st = FAR_OK;
    if (a->dims > 2 && a->dims <= FAR_ARRAY_DIMS) {
        int64_t rows = a->dim[0];
        FAR_TRY(far_stored_flatten(in, a)); /* checks that the size is what the shape says */
        a->cols = rows > 0 ? a->rows * a->cols / rows : 0;
        a->rows = rows;
    }
done:
    return st;
}

static far_status open_npz(far_input *in, const char *member, npz *z)
{
    far_status st;
    FAR_TRY(far_npz_unpack(in, member, &z->arrays, &z->count));
    far_input_clear(in); /* the packed bytes are not needed beside the arrays */
    FAR_TRY(far_alloc(z->ctx, z->count, &z->heads));
    for (int64_t k = 0; k < z->count; k++) {
        FAR_TRY(far_npy_open(&z->arrays[k].in, true, &z->heads[k]));
        FAR_TRY(flatten_rows(&z->arrays[k].in, &z->heads[k]));
    }
done:
    return st;
}

static void close_npz(npz *z)
{
    far_npz_free(z->ctx, z->arrays, z->count);
    far_free(z->ctx, z->heads);
}

/* "feat (23325, 512), age (23325,) and 3 more" */
static void list_shapes(const npz *z, char *out, size_t capacity)
{
    size_t used = 0;
    int64_t shown = z->count < MAX_SHAPES ? z->count : MAX_SHAPES;
    for (int64_t k = 0; k < shown; k++) {
        char name[32], shape[32];
        far_show(name, sizeof name, z->arrays[k].name, (int64_t)strlen(z->arrays[k].name));
        far_show(shape, sizeof shape, z->heads[k].shape, (int64_t)strlen(z->heads[k].shape));
        used +=
            (size_t)snprintf(out + used, capacity - used, "%s%s %s", k ? ", " : "", name, shape);
    }
    if (shown < z->count) {
        snprintf(out + used, capacity - used, " and %lld more", (long long)(z->count - shown));
    }
}

/* All arrays must have one number of rows. */
static far_status check_arrays(const far_input *in, const npz *z, int64_t *cols)
{
    bool agree = true;
    *cols = 0;
    for (int64_t k = 0; k < z->count; k++) {
        const far_stored *a = &z->heads[k];
        agree &= (a->dims == 1 || a->dims == 2) && a->rows == z->heads[0].rows;
    }
    if (!agree && z->count > 1) {
        char shapes[MAX_SHAPES * 68 + 40];
        list_shapes(z, shapes, sizeof shapes);
        return far_input_fail(in, FAR_ERR_SHAPE,
                              "the arrays do not have the same number of rows: %s; name one, as in "
                              "file.npz:name",
                              shapes);
    }
    for (int64_t k = 0; k < z->count; k++) {
        far_status st = far_stored_check(&z->arrays[k].in, &z->heads[k]);
        if (st != FAR_OK) {
            return st;
        }
        *cols += z->heads[k].cols; /* no more than there are bytes */
    }
    return FAR_OK;
}

/* A matrix gives NAME_1 to NAME_k, and NAME stands for all of them. */
static far_status name_array(far_frame *f, const char *array, int64_t cols)
{
    far_status st;
    far_text name = {.ctx = f->ctx};
    int32_t at;
    if (cols == 1) {
        return far_frame_add_name(f, array);
    }
    FAR_TRY(far_words_add(&f->group_names, array, &at));
    f->groups[at] = (far_column_group){f->names.count, cols};
    for (int64_t j = 0; j < cols; j++) {
        name.length = 0;
        far_text_add(&name, "%s_%lld", array, (long long)j + 1);
        FAR_TRY(name.status);
        FAR_TRY(far_frame_add_name(f, name.data));
    }
done:
    far_free(f->ctx, name.data);
    return st;
}

static far_status read_arrays(const npz *z, const far_reading *how, far_frame *f)
{
    far_status st;
    int64_t first = 0;
    FAR_TRY(far_alloc(f->ctx, z->count, &f->groups));
    FAR_TRY(allocate_values(f, z->heads[0].rows));
    for (int64_t k = 0; k < z->count; k++) {
        const far_stored *a = &z->heads[k];
        FAR_TRY(name_array(f, z->arrays[k].name, a->cols));
        FAR_TRY(read_values(&z->arrays[k].in, how, a, f, first));
        first += a->cols;
        far_input_clear(&z->arrays[k].in);
    }
done:
    return st;
}

static far_status read_npz(far_input *in, const char *member, const far_reading *how,
                           far_frame **out)
{
    far_status st;
    npz z = {.ctx = in->ctx};
    far_frame *f = NULL;
    int64_t cols;
    FAR_TRY(open_npz(in, member, &z));
    FAR_TRY(check_arrays(in, &z, &cols));
    FAR_TRY(far_frame_create(in->ctx, in->label, cols, &f));
    FAR_TRY(read_arrays(&z, how, f));
    FAR_TRY(revise(f, how));
    st = far_frame_finish(f, out);
    f = NULL;
done:
    far_frame_destroy(f);
    close_npz(&z);
    return st;
}

/* ---- any file ---- */

static far_status parse(far_input *in, const char *member, const far_reading *how, far_frame **out)
{
    far_status st = far_input_unpack(in);
    if (st != FAR_OK) {
        return st;
    }
    if (far_npz_is_predictor(in) && !member) {
        return far_input_fail(in, FAR_ERR_FORMAT,
                              "is a farfield model and no table; farfield predict and certify "
                              "take it");
    }
    if (far_npz_is(in)) {
        return read_npz(in, member, how, out);
    }
    if (member) {
        return far_npz_refuse_member(in, member);
    }
    return far_npy_is(in) ? read_npy(in, how, out) : far_frame_read_csv(in, how, out);
}

/* ---- options ---- */

/* The words of the list; clear how->missing also on failure. */
static far_status open_reading(far_ctx *ctx, const far_frame_opts *o, far_reading *how)
{
    far_status st = FAR_OK;
    char *word = NULL;
    const char *p = o ? o->missing : NULL;
    *how = (far_reading){.missing = {.ctx = ctx}};
    if (!o) {
        return FAR_OK;
    }
    if (o->size != sizeof *o || (o->separator && strchr("\"\r\n#", o->separator))) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "opts are not initialised, or the separator is a quote, # or line end");
    }
    how->separator = o->separator;
    how->categorical = o->categorical;
    FAR_TRY(p ? far_alloc(ctx, (int64_t)strlen(p) + 1, &word) : FAR_OK);
    for (int64_t number = 1, more = p != NULL; more; number++) {
        int32_t at;
        bool again;
        FAR_TRY(far_list_take(ctx, &p, number, word, &again));
        FAR_TRY(far_words_add(&how->missing, word, &at));
        more = again;
    }
done:
    far_free(ctx, word);
    return st;
}

far_status far_frame_read(far_ctx *ctx, const char *path, const char *member,
                          const far_frame_opts *opts, far_frame **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    far_reading how;
    far_input in = {0};
    far_status st = open_reading(ctx, opts, &how);
    if (st == FAR_OK) {
        st = far_input_load(ctx, path, &in);
    }
    if (st == FAR_OK) {
        st = parse(&in, member, &how, out);
    }
    far_words_clear(&how.missing);
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}

far_status far_frame_parse_bytes(far_ctx *ctx, const char *label, const void *data, int64_t size,
                                 const char *member, far_frame **out)
{
    far_status st;
    far_input in = {0};
    *out = NULL;
    FAR_TRY(far_input_copy(ctx, label, data, size, &in));
    FAR_TRY(parse(&in, member, NULL, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
