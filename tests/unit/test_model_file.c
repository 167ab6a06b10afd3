/* Model files: what is saved comes back bit by bit; whatever else is read fails with a message. */
#define _GNU_SOURCE
#include "../../src/regress/model_file.h"

#include <float.h>
#include <jansson.h>
#include <sys/stat.h>
#include <zip.h>

#include "failing_json.h"
#include "harness.h"

#include "seal.h"

/* What goes in must come out: whoever adds a field saves it, and sets it in make_model below. */
_Static_assert(offsetof(far_model_info, arch) == 376, "far_model_info has a new field");

/* ---- models made by hand: 7 rows, 5 inputs of 3 columns, 2 targets or 3 classes ---- */

enum { ROWS = 7, INPUTS = 5 };

#define ARCH "dense(128) ln relu dense(128) ln relu dense(1)"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *copy(const char *text)
{
    char *out;
    assert_int_equal(far_copy_text(ctx, text, (int64_t)strlen(text), &out), FAR_OK);
    return out;
}

static char **copy_list(int count, const char *const *texts)
{
    char **out;
    assert_int_equal(far_alloc(ctx, count, &out), FAR_OK);
    for (int i = 0; i < count; i++) {
        out[i] = copy(texts[i]);
    }
    return out;
}

/* Values that lose bits unless all 17 digits are written, and the edges of double. */
static double awkward(int64_t i)
{
    static const double edges[] = {
        -0.0, 0.1, DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1e22, 0x1.fffffffffffffp-1, 3, 1e-300};
    return i < COUNT(edges) ? edges[i] : sin((double)i) * exp2((double)(i % 37) - 18);
}

static double *awkward_list(int64_t count, int64_t from)
{
    double *out;
    assert_int_equal(far_alloc(ctx, count, &out), FAR_OK);
    for (int64_t i = 0; i < count; i++) {
        out[i] = awkward(from + i);
    }
    return out;
}

/* A number, a word with spaces, UTF-8 and other bytes, a number with an odd name. */
static far_columns *make_columns(far_task task, int64_t outputs)
{
    far_columns *c;
    static const char *const levels[] = {"a \"b\"\\\n", "gr\xC3\xBCn", "k\xF6ln"};
    static const char *const names[] = {"F1", "kind=a \"b\"\\\n", "kind=gr\xC3\xBCn",
                                        "kind=k\xF6ln", ""};
    assert_int_equal(far_columns_new(ctx, &c), FAR_OK);
    assert_int_equal(far_alloc(ctx, 3, &c->features), FAR_OK);
    c->info.features = 3;
    c->features[0] = (far_feature){.name = copy("F1"), .width = 1, .fill = awkward(31)};
    c->features[1] = (far_feature){.name = copy("kind"),
                                   .kind = FAR_COLUMN_WORD,
                                   .first = 1,
                                   .width = 3,
                                   .level_count = 3,
                                   .levels = copy_list(3, levels),
                                   .fill_code = 2};
    c->features[2] = (far_feature){.name = copy(""), .first = 4, .width = 1, .fill = -0.0};
    c->info.inputs = INPUTS;
    c->info.outputs = outputs;
    c->info.task = task;
    c->info.impute = 1;
    c->inputs = copy_list(INPUTS, names);
    assert_int_equal(far_columns_unscaled(c), FAR_OK);
    for (int64_t i = 0; i < INPUTS; i++) {
        far_input_centre(c)[i] = awkward(i);
        far_input_scale(c)[i] = fabs(awkward(4 + i)) + DBL_TRUE_MIN;
    }
    for (int64_t k = 0; k < outputs; k++) {
        far_output_centre(c)[k] = awkward(70 + k);
        far_output_scale(c)[k] = fabs(awkward(73 + k)) + DBL_TRUE_MIN;
    }
    strcpy(c->hash, HASH);
    return c;
}

static void make_candidates(far_model *m)
{
    assert_int_equal(far_alloc(ctx, 2, &m->candidates), FAR_OK);
    m->candidate_count = 2;
    m->candidates[0] = (far_candidate){.arch = copy("dense relu dense"),
                                       .ridge = awkward(40),
                                       .loo_r2 = awkward(41),
                                       .loo_log_loss = NAN,
                                       .edge_r2 = NAN,
                                       .edge_log_loss = NAN,
                                       .edge_doubt = NAN,
                                       .log_likelihood = awkward(42)};
    m->candidates[1] = (far_candidate){.arch = copy(ARCH),
                                       .ridge = awkward(43),
                                       .loo_r2 = awkward(44),
                                       .loo_log_loss = awkward(47),
                                       .edge_r2 = awkward(46),
                                       .edge_log_loss = awkward(48),
                                       .edge_doubt = awkward(49),
                                       .log_likelihood = awkward(45),
                                       .bounded = 1,
                                       .chosen = 1};
}

static far_model_info make_info(void)
{
    far_model_info info;
    memset(&info, 0, sizeof info);
    info.sealed = 1;
    info.rows = ROWS;
    info.inputs = INPUTS;
    info.standardize = info.impute = 1;
    info.param = FAR_PARAM_STANDARD;
    info.kernel = FAR_KERNEL_NNGP;
    info.ridge = fabs(awkward(50));
    info.ridge_relative = fabs(awkward(51));
    info.mean_diagonal = 7 + fabs(awkward(52));
    info.lambda_min = fmin(fabs(awkward(53)), 7);
    info.lambda_max = 7 + fabs(awkward(54));
    info.condition = 1 + fabs(awkward(55));
    info.log_det = awkward(56);
    info.residual = fabs(awkward(57));
    info.duplicates = 5;
    info.conflicts = 3;
    info.r2_train = awkward(58);
    info.loo_rows = 5;
    info.loo_r2 = awkward(65);
    info.loo_rmse = fabs(awkward(66));
    info.loo_accuracy = 0.1;
    info.loo_log_loss = fabs(awkward(67));
    info.loo_brier = 0.3;
    info.loo_ece = 0.7;
    info.rmse_train = fabs(awkward(68));
    info.accuracy_train = NAN;
    info.log_loss_train = NAN;
    info.temperature = NAN;
    info.noise_free = 1;
    info.seconds_choose = awkward(59);
    info.seconds_fill = awkward(60);
    info.seconds_factor = awkward(61);
    info.seconds_solve = awkward(62);
    info.seconds_total = awkward(63);
    info.bytes = awkward(64);
    info.storage = FAR_STORAGE_PACKED;
    info.method = FAR_METHOD_EXACT;
    info.trained_rows = ROWS;
    info.converged = 1;
    return info;
}

static void make_kernel(far_model *m)
{
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = m->info.param;
    assert_int_equal(far_kernel_create(ctx, ARCH, &opts, &m->kernel), FAR_OK);
    m->arch = copy(far_kernel_text(m->kernel));
}

static void make_arrays(far_model *m)
{
    int64_t p = m->info.outputs;
    m->x = awkward_list(ROWS * INPUTS, 0);
    m->y = awkward_list(ROWS * p, 100);
    m->alpha = awkward_list(ROWS * p, 200);
    m->alpha_low = awkward_list(ROWS * p, 300);
    assert_int_equal(far_alloc(ctx, p, &m->interval), FAR_OK);
    for (int64_t j = 0; j < p; j++) {
        m->interval[j] = (far_band){fabs(awkward(70 + j)), fabs(awkward(80 + j))};
    }
    if (m->info.task == FAR_TASK_CLASSIFY) {
        m->link = awkward_list(p + 1, 90);
        m->info.temperature = m->link[0] = fabs(m->link[0]);
    }
}

static far_model *make_regression(void)
{
    static const char *const targets[] = {"RMSD", "a,b"};
    far_model *m;
    assert_int_equal(far_model_new(ctx, &m), FAR_OK);
    m->info = make_info();
    m->info.task = FAR_TASK_REGRESS;
    m->info.outputs = m->info.targets = 2;
    make_kernel(m);
    m->columns = make_columns(FAR_TASK_REGRESS, 2);
    m->columns->info.targets = 2;
    m->columns->targets = copy_list(2, targets);
    make_candidates(m);
    make_arrays(m);
    return m;
}

static far_model *make_classification(void)
{
    static const char *const targets[] = {"species"}, *const classes[] = {"x", "\xE6\xB0\xB4", ""};
    far_model *m;
    assert_int_equal(far_model_new(ctx, &m), FAR_OK);
    m->info = make_info();
    m->info.task = FAR_TASK_CLASSIFY;
    m->info.param = FAR_PARAM_NTK;
    m->info.kernel = FAR_KERNEL_NTK;
    m->info.standardize = m->info.impute = 0;
    m->info.storage = FAR_STORAGE_FULL;
    m->info.outputs = 3;
    m->info.targets = 1;
    m->info.method = FAR_METHOD_CG;
    m->info.landmarks = 3;
    m->info.landmarks_miss = 0.1;
    m->info.iterations = 11;
    m->info.tolerance = 0.3;
    m->info.converged = 0;
    m->info.ridge_raised = 1e4;
    m->info.held_out = 5;
    m->info.seed = INT64_MAX;
    make_kernel(m);
    m->columns = make_columns(FAR_TASK_CLASSIFY, 3);
    m->columns->info.impute = 0;
    m->columns->info.targets = 1;
    m->columns->info.classes = 3;
    m->columns->targets = copy_list(1, targets);
    m->columns->classes = copy_list(3, classes);
    make_arrays(m);
    return m;
}

/* ---- comparing ---- */

static void same_texts(char *const *a, char *const *b, int64_t count)
{
    assert_int_equal(!a, !b);
    for (int64_t i = 0; a && i < count; i++) {
        assert_string_equal(a[i], b[i]);
    }
}

static void same_numbers(const double *a, const double *b, int64_t count)
{
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

static void same_columns(const far_columns *a, const far_columns *b)
{
    assert_memory_equal(&a->info, &b->info, sizeof a->info);
    for (int64_t j = 0; j < a->info.features; j++) {
        const far_feature *f = &a->features[j], *g = &b->features[j];
        assert_string_equal(f->name, g->name);
        assert_int_equal(f->kind, g->kind);
        assert_int_equal(f->first, g->first);
        assert_int_equal(f->width, g->width);
        assert_int_equal(f->level_count, g->level_count);
        same_texts(f->levels, g->levels, f->level_count);
        same_numbers(&f->fill, &g->fill, 1);
        assert_int_equal(f->fill_code, g->fill_code);
    }
    same_texts(a->inputs, b->inputs, a->info.inputs);
    same_texts(a->targets, b->targets, a->info.targets);
    same_texts(a->classes, b->classes, a->info.classes);
    same_numbers(a->scaling, b->scaling, far_scaling_count(a));
    assert_string_equal(a->hash, b->hash);
}

static void same_candidates(const far_model *a, const far_model *b)
{
    assert_int_equal(a->candidate_count, b->candidate_count);
    for (int64_t i = 0; i < a->candidate_count; i++) {
        const far_candidate *c = &a->candidates[i], *d = &b->candidates[i];
        assert_string_equal(c->arch, d->arch);
        same_numbers(&c->ridge, &d->ridge, 1);
        same_numbers(&c->loo_r2, &d->loo_r2, 1);
        same_numbers(&c->loo_log_loss, &d->loo_log_loss, 1);
        same_numbers(&c->edge_r2, &d->edge_r2, 1);
        same_numbers(&c->edge_log_loss, &d->edge_log_loss, 1);
        same_numbers(&c->edge_doubt, &d->edge_doubt, 1);
        same_numbers(&c->log_likelihood, &d->log_likelihood, 1);
        assert_int_equal(c->bounded, d->bounded);
        assert_int_equal(c->chosen, d->chosen);
    }
}

static void same_model(const far_model *a, const far_model *b)
{
    int64_t n = a->info.rows, p = a->info.outputs;
    assert_memory_equal(&a->info, &b->info, sizeof a->info);
    assert_string_equal(a->arch, b->arch);
    assert_string_equal(far_kernel_text(a->kernel), far_kernel_text(b->kernel));
    same_columns(a->columns, b->columns);
    same_numbers(a->x, b->x, n * a->info.inputs);
    same_numbers(a->y, b->y, n * p);
    same_numbers(a->alpha, b->alpha, n * p);
    same_numbers(a->alpha_low, b->alpha_low, n * p);
    assert_memory_equal(a->interval, b->interval, (size_t)p * sizeof *a->interval);
    assert_int_equal(!a->link, !b->link);
    if (a->link) {
        same_numbers(a->link, b->link, p + 1);
    }
    same_candidates(a, b);
}

static void expect_round_trip(far_model *m)
{
    far_model *again;
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    if (far_model_load(ctx, "m.far", &again) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    same_model(m, again);
    assert_int_equal(count_files(), 1);
    far_model_destroy(again);
    far_model_destroy(m);
    unlink("m.far");
}

/* ---- round trips ---- */

static void a_regression_comes_back_bit_by_bit(void **state)
{
    (void)state;
    expect_round_trip(make_regression());
}

static void a_classification_comes_back_bit_by_bit(void **state)
{
    (void)state;
    expect_round_trip(make_classification());
}

static void diagnostics_that_are_not_finite_become_null(void **state)
{
    (void)state;
    far_model *m = make_regression(), *again;
    m->info.lambda_min = m->info.lambda_max = NAN;
    m->info.condition = INFINITY;
    m->info.log_det = -INFINITY;
    m->candidates[0].loo_r2 = NAN;
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    assert_int_equal(far_model_load(ctx, "m.far", &again), FAR_OK);
    assert_true(isnan(again->info.lambda_min) && isnan(again->info.lambda_max));
    assert_true(isnan(again->info.condition) && isnan(again->info.log_det));
    assert_true(isnan(again->candidates[0].loo_r2));
    far_model_destroy(again);
    far_model_destroy(m);
    unlink("m.far");
}

/* Without imputing a fill is only a by-product; a word column without words has none. */
static void fills_may_be_absent_where_nothing_is_filled(void **state)
{
    (void)state;
    far_model *m = make_classification(), *again;
    m->columns->features[0].fill = NAN;
    m->columns->features[1].fill_code = -1;
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    assert_int_equal(far_model_load(ctx, "m.far", &again), FAR_OK);
    assert_true(isnan(again->columns->features[0].fill));
    assert_int_equal(again->columns->features[1].fill_code, 0);
    far_model_destroy(again);
    m->info.impute = m->columns->info.impute = 1;
    m->columns->features[0].fill = 0;
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    assert_int_equal(far_model_load(ctx, "m.far", &again), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx),
                        "m.far: manifest: features[1]: \"fill\" is not a text");
    far_model_destroy(m);
    unlink("m.far");
}

static void the_same_model_gives_the_same_bytes(void **state)
{
    (void)state;
    size_t sizes[2];
    char *bytes[2];
    for (int i = 0; i < 2; i++) {
        far_model *m = make_regression();
        write_file("m.far", "old", 3); /* replaced as a whole */
        assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
        bytes[i] = read_whole("m.far", &sizes[i]);
        far_model_destroy(m);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    assert_int_equal(count_files(), 1);
    free(bytes[0]);
    free(bytes[1]);
    unlink("m.far");
}

/* ---- bytes in memory ---- */

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

/* What save writes for m. */
static bytes model_bytes(const far_model *m)
{
    bytes b;
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    b.data = read_whole("m.far", &b.size);
    unlink("m.far");
    return b;
}

static void expect_format_error(const void *data, size_t size)
{
    far_model *m = (far_model *)&test_heap;
    assert_int_equal(far_model_parse_bytes(ctx, "m.far", data, (int64_t)size, &m), FAR_ERR_FORMAT);
    assert_null(m);
    assert_int_equal(strncmp(far_ctx_message(ctx), "m.far: ", 7), 0);
}

/* A message that ends in * is the beginning of what is expected: the rest are jansson's words. */
static void expect_message(const void *data, size_t size, const char *message)
{
    char found[1024];
    size_t length = strlen(message);
    expect_format_error(data, size);
    snprintf(found, sizeof found, "%s", far_ctx_message(ctx));
    if (message[length - 1] == '*' && strlen(found) > length) {
        strcpy(found + length - 1, "*");
    }
    assert_string_equal(found, message);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    far_model *m = make_regression();
    bytes b = model_bytes(m);
    for (size_t size = 0; size < b.size; size++) {
        char *cut = malloc(size + 1); /* its own block, so that reading past the end is seen */
        memcpy(cut, b.data, size);
        expect_format_error(cut, size);
        assert_non_null(strstr(far_ctx_message(ctx),
                               size < 4 ? "is not a farfield model" : "is truncated or damaged"));
        free(cut);
    }
    free(b.data);
    far_model_destroy(m);
}

/* Fields that say nothing about the content (dates, attributes) may change; nothing else. */
static void a_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    far_model *m = make_regression(), *again;
    bytes b = model_bytes(m);
    size_t harmless = 0;
    for (size_t i = 0; i < b.size; i++) {
        char old = b.data[i], changes[] = {1, (char)0x80, (char)0xFF};
        b.data[i] = (char)(old ^ changes[i % 3]);
        far_status st = far_model_parse_bytes(ctx, "m.far", b.data, (int64_t)b.size, &again);
        if (st == FAR_OK) {
            same_model(m, again);
            far_model_destroy(again);
            harmless++;
        } else {
            assert_int_equal(st, FAR_ERR_FORMAT);
            assert_null(again);
        }
        b.data[i] = old;
    }
    assert_in_range(harmless, 0, 300); /* of 4244 */
    free(b.data);
    far_model_destroy(m);
}

/* ---- files that are something else ---- */

static void expect_load_failure(const char *path, far_status status, const char *message)
{
    far_model *m = (far_model *)&test_heap;
    assert_int_equal(far_model_load(ctx, path, &m), status);
    assert_null(m);
    assert_string_equal(far_ctx_message(ctx), message);
}

static void other_files_get_a_clear_message(void **state)
{
    (void)state;
    double value = 1;
    far_mat matrix = far_mat_view(&value, 1, 1, FAR_F64);
    const char *no_zip =
        "x.npz: is not a farfield model (those are zip files, with a manifest.json)";
    expect_load_failure("none", FAR_ERR_IO, "none: no such file");
    expect_load_failure(".", FAR_ERR_IO, ".: is a directory");
    write_file("x.npz", "", 0);
    expect_load_failure("x.npz", FAR_ERR_FORMAT, "x.npz: is not a farfield model (it is empty)");
    write_file("x.npz", "a,b\n1,2\n", 8);
    expect_load_failure("x.npz", FAR_ERR_FORMAT, no_zip);
    write_file("x.npz", "\x1F\x8B\x08", 3);
    expect_load_failure("x.npz", FAR_ERR_FORMAT, no_zip);
    assert_int_equal(far_mat_write(ctx, &matrix, NULL, "x.npz"), FAR_OK);
    expect_load_failure("x.npz", FAR_ERR_FORMAT,
                        "x.npz: is not a farfield model (no manifest.json)");
    write_file("x.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22); /* no members */
    expect_load_failure("x.npz", FAR_ERR_FORMAT,
                        "x.npz: is not a farfield model (no manifest.json)");
    unlink("x.npz");
}

static void arguments_are_checked(void **state)
{
    (void)state;
    far_model *m = make_regression(), *out = m;
    assert_int_equal(far_model_save(ctx, NULL, "m.far"), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the model is NULL");
    assert_int_equal(far_model_save(NULL, m, "m.far"), FAR_ERR_ARG);
    assert_int_equal(far_model_save(ctx, m, NULL), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the path is empty");
    assert_int_equal(far_model_save(ctx, m, ""), FAR_ERR_ARG);
    assert_int_equal(far_model_save(ctx, m, "no/where.far"), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx), "no/where.far: cannot write: no such directory");
    assert_int_equal(far_model_load(ctx, "m.far", NULL), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "out is NULL");
    assert_int_equal(far_model_load(NULL, "m.far", &out), FAR_ERR_ARG);
    assert_int_equal(far_model_load(ctx, NULL, &out), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the path is empty");
    assert_null(out);
    assert_int_equal(far_model_load(ctx, "", &out), FAR_ERR_ARG);
    assert_int_equal(count_files(), 0);
    far_model_destroy(m);
}

/* ---- zips made member by member ---- */

static void add_member(zip_t *zip, const char *name, const void *data, size_t size, int method)
{
    zip_source_t *source = zip_source_buffer(zip, data, size, 0);
    assert_non_null(source);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    assert_in_range(index, 0, 100);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), 0);
}

static char *manifest_text(const far_model *m)
{
    far_text t = {.ctx = ctx};
    assert_int_equal(far_manifest_write(m, &t), FAR_OK);
    char *out = strdup(t.data);
    far_free(ctx, t.data);
    return out;
}

/* The file of m with another manifest (NULL: its own), and an array replaced (NULL: taken out). */
typedef struct change {
    const char *manifest;
    size_t manifest_size; /* 0: up to its closing zero */
    const char *array;
    const void *npy;
    size_t npy_size;
    int method;
} change;

static void add_array(zip_t *zip, const char *name, const bytes *file, const change *c)
{
    if (c->array && strcmp(c->array, name) == 0) {
        if (c->npy) {
            add_member(zip, name, c->npy, c->npy_size, c->method);
        }
        return;
    }
    zip_error_t error;
    zip_source_t *source = zip_source_buffer_create(file->data, file->size, 0, &error);
    zip_t *from = zip_open_from_source(source, ZIP_RDONLY, &error);
    zip_stat_t s;
    assert_int_equal(zip_stat(from, name, 0, &s), 0);
    char *data = malloc(s.size);
    zip_file_t *member = zip_fopen(from, name, 0);
    assert_int_equal(zip_fread(member, data, s.size), s.size);
    zip_fclose(member);
    zip_discard(from);
    zip_source_t *copied = zip_source_buffer(zip, data, s.size, 1); /* 1: it frees */
    zip_int64_t index = zip_file_add(zip, name, copied, 0);
    assert_in_range(index, 0, 100);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, c->method, 0), 0);
}

static bytes changed_file(const far_model *m, const change *c)
{
    bytes file = model_bytes(m), out;
    char *own = manifest_text(m);
    const char *manifest = c->manifest ? c->manifest : own;
    zip_t *zip = zip_open("z", ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add_member(zip, "manifest.json", manifest,
               c->manifest_size ? c->manifest_size : strlen(manifest), c->method);
    add_array(zip, "x.npy", &file, c);
    add_array(zip, "y.npy", &file, c);
    add_array(zip, "alpha.npy", &file, c);
    add_array(zip, "alpha_low.npy", &file, c);
    assert_int_equal(zip_close(zip), 0);
    out.data = read_whole("z", &out.size);
    out.data = seal_zip(out.data, &out.size);
    unlink("z");
    free(own);
    free(file.data);
    return out;
}

static void expect_change(const far_model *m, const change *c, const char *message)
{
    bytes b = changed_file(m, c);
    if (message) {
        expect_message(b.data, b.size, message);
    } else {
        far_model *again;
        assert_int_equal(far_model_parse_bytes(ctx, "m.far", b.data, (int64_t)b.size, &again),
                         FAR_OK);
        same_model(m, again);
        far_model_destroy(again);
    }
    free(b.data);
}

static void a_zip_packed_by_another_program_is_read(void **state)
{
    (void)state;
    far_model *m = make_regression();
    expect_change(m, &(change){.method = ZIP_CM_DEFLATE}, NULL);
    far_model_destroy(m);
}

static void a_manifest_that_unpacks_to_too_much_is_refused(void **state)
{
    (void)state;
    far_model *m = make_regression();
    size_t size = (size_t)40 << 20;
    char *blanks = malloc(size);
    memset(blanks, ' ', size);
    change c = {.manifest = blanks, .manifest_size = size, .method = ZIP_CM_DEFLATE};
    test_heap.peak_bytes = 0;
    expect_change(m, &c,
                  "m.far: is truncated or damaged: manifest.json claims 41943040 bytes, more than "
                  "are plausible");
    assert_in_range(test_heap.peak_bytes, 0, 2 << 20);
    free(blanks);
    far_model_destroy(m);
}

/* ---- arrays that do not fit ---- */

/* An npy of float64 ones with any header; the caller frees. */
static bytes make_npy(const char *type, const char *order, const char *shape, size_t values)
{
    bytes b = {.size = 128 + values};
    b.data = calloc(b.size, 1);
    memset(b.data, ' ', 128);
    memcpy(b.data, "\x93NUMPY\1\0\x76\0", 10);
    int used = sprintf(b.data + 10, "{'descr': '%s', 'fortran_order': %s, 'shape': %s}", type,
                       order, shape);
    b.data[10 + used] = ' ';
    b.data[127] = '\n';
    return b;
}

typedef struct array_case {
    const char *array, *type, *order, *shape;
    int bytes;
    const char *message;
} array_case;

static const array_case array_cases[] = {
    {"alpha.npy", "<f8", "False", "(6, 2)", 96,
     "m.far: manifest: \"alpha\" has 6 rows where 7 were announced"},
    {"alpha_low.npy", "<f8", "False", "(8, 2)", 128,
     "m.far: manifest: \"alpha_low\" has 8 rows where 7 were announced"},
    {"x.npy", "<f8", "False", "(7, 3)", 168,
     "m.far: manifest: \"x\" has 3 columns where 5 were announced"},
    {"y.npy", "<f8", "False", "(7,)", 56,
     "m.far: manifest: \"y\" has 1 columns where 2 were announced"},
    {"y.npy", "<f8", "False", "(0, 2)", 0,
     "m.far: is truncated or damaged: array y: shape (0, 2) holds no values"},
    {"y.npy", "<f8", "False", "(7, 2, 1)", 112,
     "m.far: is truncated or damaged: array y: shape (7, 2, 1) has 3 dimensions; only 1 or 2 can "
     "be read"},
    {"y.npy", "<f4", "False", "(7, 2)", 56,
     "m.far: is truncated or damaged: array y: does not hold float64"},
    {"y.npy", "<i8", "False", "(7, 2)", 112,
     "m.far: is truncated or damaged: array y: does not hold float64"},
    {"y.npy", "<f8", "False", "(7, 2)", 104,
     "m.far: is truncated or damaged: array y: header says 7 x 2 float64 (112 bytes) but only 104 "
     "follow"},
    {"y.npy", "<f8", "False", "(1000000000000, 1000000000000)", 8,
     "m.far: is truncated or damaged: array y: shape (1000000000000, 1000000000000) is too large "
     "for a file"},
};

static void arrays_of_another_shape_are_refused(void **state)
{
    (void)state;
    far_model *m = make_regression();
    for (int i = 0; i < COUNT(array_cases); i++) {
        const array_case *a = &array_cases[i];
        bytes npy = make_npy(a->type, a->order, a->shape, (size_t)a->bytes);
        expect_change(m, &(change){.array = a->array, .npy = npy.data, .npy_size = npy.size},
                      a->message);
        free(npy.data);
    }
    expect_change(m, &(change){.array = "x.npy"},
                  "m.far: is truncated or damaged: it has no x.npy");
    expect_change(m, &(change){.array = "alpha_low.npy"},
                  "m.far: is truncated or damaged: it has no alpha_low.npy");
    expect_change(m, &(change){.array = "x.npy", .npy = "hello", .npy_size = 5},
                  "m.far: is truncated or damaged: array x: is not in npy format");
    far_model_destroy(m);
}

static void array_values_must_be_finite(void **state)
{
    (void)state;
    far_model *m = make_regression();
    double *arrays[] = {m->x, m->y, m->alpha, m->alpha_low};
    const char *names[] = {"x", "y", "alpha", "alpha_low"};
    for (int i = 0; i < COUNT(arrays); i++) {
        char message[128];
        int cols = i == 0 ? INPUTS : 2;
        double old = arrays[i][2 * cols + 1];
        arrays[i][2 * cols + 1] = i % 2 ? NAN : -INFINITY;
        bytes b = model_bytes(m);
        sprintf(message,
                "m.far: is truncated or damaged: array %s: row 3, column 2 is not a finite number",
                names[i]);
        expect_message(b.data, b.size, message);
        free(b.data);
        arrays[i][2 * cols + 1] = old;
    }
    far_model_destroy(m);
}

/* Column by column, and with the bytes in the other order: numpy writes both. */
static void arrays_may_be_laid_out_otherwise(void **state)
{
    (void)state;
    far_model *m = make_regression();
    bytes fortran = make_npy("<f8", "True", "(7, 2)", 112);
    bytes swapped = make_npy(">f8", "False", "(7, 2)", 112);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < 2; j++) {
            memcpy(fortran.data + 128 + 8 * (j * ROWS + i), &m->alpha[2 * i + j], 8);
            for (int k = 0; k < 8; k++) {
                swapped.data[128 + 8 * (2 * i + j) + k] = ((char *)&m->alpha[2 * i + j])[7 - k];
            }
        }
    }
    change c = {.array = "alpha.npy", .npy = fortran.data, .npy_size = fortran.size};
    expect_change(m, &c, NULL);
    c.npy = swapped.data;
    expect_change(m, &c, NULL);
    free(fortran.data);
    free(swapped.data);
    far_model_destroy(m);
}

static void a_member_that_is_there_twice_is_refused(void **state)
{
    (void)state;
    far_model *m = make_regression();
    bytes b = model_bytes(m);
    for (size_t i = 0; i + 9 < b.size; i++) { /* alpha.npy becomes a second x.npy in both places */
        if (memcmp(b.data + i, "y.npy", 5) == 0 && b.data[i - 1] != 'w') {
            b.data[i] = 'x';
        }
    }
    b.data = seal_zip(b.data, &b.size);
    expect_message(b.data, b.size, "m.far: is truncated or damaged: holds x.npy twice");
    free(b.data);
    far_model_destroy(m);
}

/* ---- manifests that do not fit ---- */

/* The text with the first old replaced; the caller frees. */
static char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    if (!at) {
        fail_msg("the manifest has no %s", old);
    }
    char *out = malloc(strlen(text) + strlen(new) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

typedef struct edit {
    const char *old, *new, *message; /* message NULL: it is still fine */
} edit;

static const edit edits[] = {
    /* what it is */
    {"farfield model", "other model",
     "is not a farfield model (the manifest's \"format\" is not \"farfield model\")"},
    {"\"format\": \"farfield model\"", "\"format\": 3",
     "is not a farfield model (the manifest's \"format\" is not \"farfield model\")"},
    {"\"version\": 2", "\"version\": 7",
     "was written by a newer farfield (model version 7, this one reads up to 5); update farfield"},
    {"\"version\": 2", "\"version\": 0", "manifest: \"version\" is 0; the first was 1"},
    {"\"version\": 2", "\"version\": -1", "manifest: \"version\" is not a count"},
    {"\"version\": 2", "\"version\": 1.0", "manifest: \"version\" is not a count"},
    {"\"version\": 2,", "", "manifest: \"version\" is missing"},
    {"\"version\": 2", "\"version\": 2, \"more\": [1, {\"deep\": null}]", NULL},
    {"\"seconds\": {", "\"seconds\": {\"later\": 3, ", NULL},
    /* JSON */
    {"\"version\": 2", "\"version\": 2, \"version\": 1", "manifest: line 3, column *"},
    {"\"version\": 2", "\"version\": 2,,", "manifest: line 3, column *"},
    {"\"version\": 2", "\"version\": 99999999999999999999", "manifest: line 3, column *"},
    {"\"absolute\": ", "\"absolute\": 1e999, \"b\": ", "manifest: line 79, column *"},
    {"\"written_by\": \"", "\"written_by\": \"\\u0000", "manifest: line 4, column *"},
    {"\"written_by\": \"", "\"written_by\": \"\xFF", "manifest: line 4, column *"},
    /* choices and flags */
    {"\"param\": \"standard\"", "\"param\": \"mup\"", "manifest: \"param\" is not ntk or standard"},
    {"\"prior\": \"nngp\"", "\"prior\": 1", "manifest: \"prior\" is not ntk or nngp"},
    {"\"prior\": \"nngp\",", "", "manifest: \"prior\" is missing"},
    {"\"task\": \"regress\"", "\"task\": \"auto\"",
     "manifest: \"task\" is not regress or classify"},
    {"\"task\": \"regress\"", "\"task\": \"classify\"", "manifest: \"classes\" is not a list"},
    {"\"storage\": \"packed\"", "\"storage\": []",
     "manifest: diagnostics: \"storage\" is not auto or full or packed"},
    {"\"impute\": true", "\"impute\": 1", "manifest: \"impute\" is neither true nor false"},
    {"\"standardize\": true,", "", "manifest: \"standardize\" is missing"},
    /* the network */
    {"ln relu", "ln rleu",
     "manifest: \"arch\" is not a network with a kernel: column 15: there is no layer 'rleu'; did "
     "you mean relu?"},
    {"dense(128) ln", "  dense( 128 )   ln", NULL},
    {"\"arch\": \"", "\"arch\": 3, \"b\": \"", "manifest: \"arch\" is not a text"},
    /* features */
    {"\"name\": \"F1\"", "\"name\": \"kind\"", "manifest: \"features\" has 'kind' twice"},
    {"\"name\": \"F1\"", "\"name\": null", "manifest: features[0]: \"name\" is not a text"},
    {"\"kind\": \"number\"", "\"kind\": \"date\"",
     "manifest: features[0]: \"kind\" is not number or word"},
    {"\"kind\": \"number\"", "\"kind\": \"word\"", "manifest: features[0]: \"levels\" is missing"},
    {"\"kind\": \"word\"", "\"kind\": \"number\"",
     "manifest: features[1]: \"fill\" is not a number"},
    {"\"levels\": [", "\"levels\": [\"Z\",",
     "manifest: \"features\" make 6 inputs where 5 were announced"},
    {"\"levels\": [", "\"levels\": [\"b\",",
     "manifest: features[1]: \"levels\"[1] is not behind the level before it in byte order"},
    {"\"levels\": [", "\"levels\": [\"a \\\"b\\\"\\\\\\n\",",
     "manifest: features[1]: \"levels\"[1] is not behind the level before it in byte order"},
    {"\"levels\": [", "\"levels\": [5,", "manifest: features[1]: \"levels\"[0] is not a text"},
    {"\"levels\": [", "\"levels\": 5, \"b\": [", "manifest: features[1]: \"levels\" is not a list"},
    {"\"hex\": \"6bf66c6e\"", "\"hex\": \"6bf66c6\"",
     "manifest: features[1]: \"levels\"[2] is not a text"},
    {"\"hex\": \"6bf66c6e\"", "\"hex\": \"6bf66c6E\"",
     "manifest: features[1]: \"levels\"[2] is not a text"},
    {"\"hex\": \"6bf66c6e\"", "\"hex\": \"6b00\"",
     "manifest: features[1]: \"levels\"[2] is not a text"},
    {"\"hex\": \"6bf66c6e\"", "\"hex\": \"7a\"",
     "manifest: features[1]: \"fill\" is not one of the levels"},
    {"\"fill\": 5.5", "\"fill\": null, \"b\": 5.5",
     "manifest: features[0]: \"fill\" is not a number"},
    {"\"features\": [", "\"features\": [[],", "manifest: \"features\"[0] is not an object"},
    {"\"features\": [", "\"features\": {}, \"b\": [", "manifest: \"features\" is not a list"},
    /* inputs and outputs */
    {"\"inputs\": {", "\"inputs\": [], \"b\": {", "manifest: \"inputs\" is not an object"},
    {"\"names\": [", "\"names\": [\"F0\",",
     "manifest: inputs: \"names\" has 6 entries where 5 were announced"},
    {"\"centre\": [", "\"centre\": [1,",
     "manifest: inputs: \"centre\" has 6 entries where 5 were announced"},
    {"\"centre\": [\n      -0.0,", "\"centre\": [\"0\",",
     "manifest: inputs: \"centre\"[0] is not a number"},
    {"\"centre\": [\n      -0.0,", "\"centre\": [null,",
     "manifest: inputs: \"centre\"[0] is not a number"},
    {"\"scale\": [\n      2.2250738585072019e-308,", "\"scale\": [0,",
     "manifest: inputs: \"scale\"[0] is 0, not above 0"},
    {"\"scale\": [\n      2.2250738585072019e-308,", "\"scale\": [-2.5,",
     "manifest: inputs: \"scale\"[0] is -2.5, not above 0"},
    {"\"a,b\"", "\"RMSD\"", "manifest: \"targets\" has 'RMSD' twice"},
    {"\"a,b\"", "\"c\", \"a,b\"",
     "manifest: \"targets\" has 3 entries where 2 outputs were announced"},
    {"\"classes\": null", "\"classes\": [\"a\", \"b\"]",
     "manifest: \"classes\" is not null, but the task is to regress"},
    {"\"outputs\": {\n    \"centre\": [", "\"outputs\": {\"centre\": [3,",
     "manifest: outputs: \"centre\" has 3 entries where 2 were announced"},
    {"\"relative\": ", "\"relative\": -1, \"b\": ", "manifest: ridge: a ridge is 0 or more"},
    {"\"absolute\": ", "\"absolute\": null, \"b\": ", "manifest: ridge: a ridge is 0 or more"},
    {"\"absolute\": ", "\"absolute\": true, \"b\": ",
     "manifest: ridge: \"absolute\" is not a number"},
    /* what no fit can leave */
    {"\"residual\": ", "\"residual\": -1e300, \"b\": ",
     "manifest: diagnostics: \"residual\" is not 0 or more"},
    {"\"residual\": ", "\"residual\": null, \"b\": ",
     "manifest: diagnostics: \"residual\" is not 0 or more"},
    {"\"mean_diagonal\": ", "\"mean_diagonal\": -1, \"b\": ",
     "manifest: diagnostics: \"mean_diagonal\" is not 0 or more"},
    {"\"lambda_min\": ", "\"lambda_min\": 1e12, \"b\": ",
     "manifest: diagnostics: \"lambda_min\" is above the mean of all eigenvalues"},
    {"\"lambda_max\": ", "\"lambda_max\": 1e-9, \"b\": ",
     "manifest: diagnostics: \"lambda_min\" is above \"lambda_max\""},
    {"\"condition\": ", "\"condition\": 0.5, \"b\": ",
     "manifest: diagnostics: \"condition\" is below 1"},
    /* counts */
    {"\"rows\": 7", "\"rows\": 8", "manifest: \"x\" has 7 rows where 8 were announced"},
    {"\"rows\": 7", "\"rows\": 9223372036854775807",
     "manifest: \"x\" has 7 rows where 9223372036854775807 were announced"},
    {"\"rows\": 7", "\"rows\": 0",
     "manifest: diagnostics: a model needs a row, an input and an output"},
    {"\"inputs\": 5", "\"inputs\": 9223372036854775807",
     "manifest: \"features\" make 5 inputs where 9223372036854775807 were announced"},
    {"\"outputs\": 2", "\"outputs\": 9223372036854775807",
     "manifest: \"targets\" has 2 entries where 9223372036854775807 outputs were announced"},
    {"\"duplicates\": 5", "\"duplicates\": 7",
     "manifest: diagnostics: 3 conflicts, 7 duplicates and 7 rows cannot be"},
    {"\"conflicts\": 3", "\"conflicts\": 6",
     "manifest: diagnostics: 6 conflicts, 5 duplicates and 7 rows cannot be"},
    {"\"seconds\": {", "\"seconds\": 3, \"b\": {",
     "manifest: diagnostics: \"seconds\" is not an object"},
    {"\"solve\": ", "\"solve\": \"1\", \"b\": ",
     "manifest: diagnostics: seconds: \"solve\" is not a number"},
    /* a metric */
    {"\"standardize\": ", "\"metric\": \"none\", \"standardize\": ", NULL},
    {"\"version\": 2", "\"version\": 3, \"metric\": \"full\"",
     "is truncated or damaged: it has no map.npy"},
    {"\"standardize\": ", "\"metric\": \"full\", \"standardize\": ",
     "manifest: \"version\" is 2, but a metric came with version 3; fit again"},
    {"\"standardize\": ", "\"metric\": \"auto\", \"standardize\": ",
     "manifest: \"metric\" is not none or diagonal or full"},
    /* scores and calibration */
    {"\"loo_rows\": 5", "\"loo_rows\": 8", "manifest: scores: these scores cannot be"},
    {"\"loo_accuracy\": ", "\"loo_accuracy\": 1.5, \"b\": ",
     "manifest: scores: these scores cannot be"},
    {"\"loo_rmse\": ", "\"loo_rmse\": -1, \"b\": ", "manifest: scores: these scores cannot be"},
    {"\"noise_free\": true", "\"noise_free\": 3",
     "manifest: scores: \"noise_free\" is neither true nor false"},
    {"\"interval_size\": [", "\"interval_size\": [-1, ",
     "manifest: calibration: \"interval_size\" has 3 entries where 2 were announced"},
    {"\"calibration\": {", "\"tuning\": {",
     "manifest: \"scores\" and \"calibration\" come together"},
    {"\"diagnostics\": {", "\"diagnose\": {", "manifest: \"diagnostics\" is missing"},
    /* the rest */
    {HASH, HASH "0", "manifest: \"data_hash\" is not 64 hexadecimal digits"},
    {"0123456789abcdef", "0123456789abcdeF",
     "manifest: \"data_hash\" is not 64 hexadecimal digits"},
    {"\"data_hash\": ", "\"data_hash\": null, \"b\": ",
     "manifest: \"data_hash\" is not 64 hexadecimal digits"},
    {"\"candidates\": [", "\"candidates\": [3,", "manifest: \"candidates\"[0] is not an object"},
    {"\"loo_r2\": ", "\"loo_r2\": {}, \"b\": ", "manifest: scores: \"loo_r2\" is not a number"},
    {"\"edge_doubt\": ", "\"edge_doubt\": {}, \"b\": ",
     "manifest: candidates[0]: \"edge_doubt\" is not a number"},
    {"\"bounded\": false", "\"bounded\": 0",
     "manifest: candidates[0]: \"bounded\" is neither true nor false"},
    {"\"chosen\": true", "\"unknown\": true", "manifest: candidates[1]: \"chosen\" is missing"},
};

static void expect_edit(const far_model *m, const char *manifest, const edit *e)
{
    char message[512];
    char *changed = replaced(manifest, e->old, e->new);
    snprintf(message, sizeof message, "m.far: %s", e->message ? e->message : "");
    expect_change(m, &(change){.manifest = changed}, e->message ? message : NULL);
    free(changed);
}

static void every_field_of_the_manifest_is_checked(void **state)
{
    (void)state;
    far_model *m = make_regression();
    m->columns->features[0].fill = 5.5;
    char *manifest = manifest_text(m);
    for (int i = 0; i < COUNT(edits); i++) {
        expect_edit(m, manifest, &edits[i]);
    }
    free(manifest);
    far_model_destroy(m);
}

/* Each key in turn gets each type of value, and is taken out: nothing may crash, and what loads
 * must save again. */
static void try_value(const far_model *m, json_t *whole)
{
    char *text = json_dumps(whole, JSON_REAL_PRECISION(17));
    bytes b = changed_file(m, &(change){.manifest = text});
    far_model *again;
    far_status st = far_model_parse_bytes(ctx, "m.far", b.data, (int64_t)b.size, &again);
    assert_true(st == FAR_OK || st == FAR_ERR_FORMAT);
    if (st == FAR_OK) {
        assert_int_equal(far_model_save(ctx, again, "again"), FAR_OK);
        unlink("again");
        far_model_destroy(again);
    }
    free(b.data);
    free(text);
}

static void try_all_types(const far_model *m, json_t *whole, json_t *object)
{
    static const char *const values[] = {"null", "true",  "0",         "-1",   "1e300",
                                         "\"\"", "[1,2]", "{\"a\":1}", "[[]]", "7"};
    json_t *original = json_copy(object);
    const char *key;
    json_t *value;
    json_object_foreach(original, key, value)
    {
        for (int i = 0; i < COUNT(values); i++) {
            json_object_set_new(object, key, json_loads(values[i], JSON_DECODE_ANY, NULL));
            try_value(m, whole);
        }
        json_object_del(object, key);
        try_value(m, whole);
        json_object_set(object, key, value);
    }
    json_decref(original);
}

static void any_type_anywhere_does_no_harm(void **state)
{
    (void)state;
    far_model *m = make_regression();
    char *manifest = manifest_text(m);
    json_t *whole = json_loads(manifest, 0, NULL);
    static const char *const objects[] = {"inputs",      "outputs", "ridge",
                                          "diagnostics", "scores",  "calibration"};
    try_all_types(m, whole, whole);
    for (int i = 0; i < COUNT(objects); i++) {
        try_all_types(m, whole, json_object_get(whole, objects[i]));
    }
    try_all_types(m, whole, json_array_get(json_object_get(whole, "features"), 0));
    try_all_types(m, whole, json_array_get(json_object_get(whole, "features"), 1));
    try_all_types(m, whole, json_array_get(json_object_get(whole, "candidates"), 0));
    json_decref(whole);
    free(manifest);
    far_model_destroy(m);
}

static void classes_are_checked(void **state)
{
    (void)state;
    far_model *m = make_classification();
    char *manifest = manifest_text(m);
    static const edit class_edits[] = {
        {"\"classes\": [\n    \"x\"", "\"classes\": [\"\"", "manifest: \"classes\" has '' twice"},
        {"\"classes\": [", "\"classes\": [\"more\",",
         "manifest: \"classes\" has 4 entries where 3 outputs were announced"},
        {"\"classes\": [", "\"classes\": [null,", "manifest: \"classes\"[0] is not a text"},
        {"\"species\"", "\"species\", \"b\"",
         "manifest: \"targets\" has 2 entries; classes have one target"},
        {"\"temperature\": ", "\"temperature\": -1, \"b\": ",
         "manifest: calibration: \"temperature\" is not 0 or more"},
        {"\"offsets\": [", "\"offsets\": [0, ",
         "manifest: calibration: \"offsets\" has 4 entries where 3 were announced"},
        {"\"name\": \"cg\"", "\"name\": \"exact\"", "manifest: method: no fit has these numbers"},
        {"\"name\": \"cg\"", "\"name\": \"nystrom\"", "manifest: method: no fit has these numbers"},
        {"\"landmarks\": 3", "\"landmarks\": 7", "manifest: method: no fit has these numbers"},
        {"\"trained_rows\": 7", "\"trained_rows\": 8",
         "manifest: method: no fit has these numbers"},
        {"\"held_out\": 5", "\"held_out\": 0", "manifest: method: no fit has these numbers"},
        {"\"tolerance\": ", "\"tolerance\": null, \"b\": ",
         "manifest: method: no fit has these numbers"},
        {"\"seed\": ", "\"seed\": -", "manifest: method: \"seed\" is *"},
        {"\"task\": \"classify\"", "\"task\": \"regress\"",
         "manifest: \"classes\" is not null, but the task is to regress"},
    };
    for (int i = 0; i < COUNT(class_edits); i++) {
        expect_edit(m, manifest, &class_edits[i]);
    }
    free(manifest);
    far_model_destroy(m);
}

static void nesting_without_end_is_refused(void **state)
{
    (void)state;
    far_model *m = make_regression();
    size_t depth = 100000;
    char *deep = malloc(depth + 1);
    memset(deep, '[', depth);
    deep[depth] = 0;
    expect_change(m, &(change){.manifest = deep}, "m.far: manifest: line 1, column *");
    expect_change(m, &(change){.manifest = "[]"}, "m.far: manifest: is not an object");
    expect_change(m, &(change){.manifest = " "}, "m.far: manifest: line 1, column *");
    free(deep);
    far_model_destroy(m);
}

/* ---- failing allocations ---- */

static void saving_survives_any_failing_allocation(void **state)
{
    (void)state;
    far_model *m = make_regression();
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int k = 0; st != FAR_OK; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_model_save(ctx, m, "m.far");
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(test_heap.live_blocks, live);
        assert_int_equal(count_files(), st == FAR_OK);
        if (st != FAR_OK) {
            assert_int_equal(strncmp(far_ctx_message(ctx), "m.far: out of memory", 20), 0);
        }
        assert_in_range(k, 0, 100);
    }
    test_heap.fail_at = -1;
    far_model_destroy(m);
    unlink("m.far");
}

static void break_every_load(far_model *m)
{
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    far_model_destroy(m);
    int64_t live = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int k = 0; st != FAR_OK; k++) {
        far_model *again = (far_model *)&test_heap;
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_model_load(ctx, "m.far", &again);
        if (st == FAR_OK) {
            far_model_destroy(again);
        } else {
            assert_int_equal(st, FAR_ERR_MEMORY);
            assert_null(again);
            assert_int_equal(strncmp(far_ctx_message(ctx), "m.far: out of memory", 20), 0);
        }
        assert_int_equal(test_heap.live_blocks, live);
        assert_in_range(k, 0, 200);
    }
    test_heap.fail_at = -1;
    unlink("m.far");
}

static void loading_survives_any_failing_allocation(void **state)
{
    (void)state;
    break_every_load(make_regression());
    break_every_load(make_classification());
}

/* jansson allocates on its own; here, in a program, it may be told how. */

static int start_json(void **state)
{
    json_live = 0;
    json_set_alloc_funcs(json_alloc, json_release);
    return open_context(state);
}

static int stop_json(void **state)
{
    json_set_alloc_funcs(malloc, free);
    return close_context(state);
}

static void saving_survives_jansson_without_memory(void **state)
{
    (void)state;
    far_model *m = make_regression();
    far_status st = FAR_ERR_MEMORY;
    for (json_fail_at = 0; st != FAR_OK; json_fail_at++) {
        json_calls = 0;
        st = far_model_save(ctx, m, "m.far");
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(json_live, 0);
        assert_int_equal(count_files(), st == FAR_OK);
    }
    json_fail_at = -1;
    expect_round_trip(m);
}

static void loading_survives_jansson_without_memory(void **state)
{
    (void)state;
    far_model *m = make_regression(), *again;
    far_status st = FAR_ERR_MEMORY;
    json_fail_at = -1;
    bytes b = model_bytes(m);
    int64_t live = test_heap.live_blocks;
    for (json_fail_at = 0; st != FAR_OK; json_fail_at++) {
        json_calls = 0;
        st = far_model_parse_bytes(ctx, "m.far", b.data, (int64_t)b.size, &again);
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(json_live, 0);
        assert_true(st == FAR_OK || (!again && test_heap.live_blocks == live));
    }
    assert_true(json_fail_at > 100);
    same_model(m, again);
    far_model_destroy(again);
    far_model_destroy(m);
    free(b.data);
}

/* ---- zips of more than 4 GiB ---- */

static void zips_of_any_size_are_read_back(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 4, 5, 6};
    far_mat m = far_mat_view(values, 2, 3, FAR_F64);
    for (uint64_t from = 0; from < 700; from += 50) { /* 64-bit fields from that size on */
        far_output o;
        far_zip z = {.output = &o, .zip64_from = from};
        far_input in = {0}, member;
        assert_int_equal(far_output_open(ctx, "z", false, &o), FAR_OK);
        far_zip_put_bytes(&z, "hello", "hello", 5);
        assert_int_equal(far_zip_put_matrix(&z, "a", &m), FAR_OK);
        assert_int_equal(far_zip_put_matrix(&z, "b", &m), FAR_OK);
        far_zip_finish(&z);
        assert_int_equal(far_output_commit(&o), FAR_OK);
        far_output_close(&o);
        assert_int_equal(far_input_load(ctx, "z", &in), FAR_OK);
        assert_int_equal(in.size, z.at);
        assert_int_equal(far_zip_extract(&in, "hello", 5, &member), FAR_OK);
        assert_int_equal(member.size, 5);
        assert_memory_equal(member.data, "hello", 5);
        far_input_clear(&member);
        assert_int_equal(far_zip_extract(&in, "b.npy", INT64_MAX, &member), FAR_OK);
        assert_int_equal(member.size, 128 + sizeof values);
        assert_memory_equal(member.data + 128, values, sizeof values);
        far_input_clear(&member);
        far_input_clear(&in);
    }
    unlink("z");
}

/* ---- NumPy ---- */

static const char python_program[] =
    "import json, sys, numpy\n"
    "z = numpy.load('m.far')\n"
    "manifest = json.loads(z['manifest.json'])\n"
    "assert manifest['format'] == 'farfield model'\n"
    "assert z['x'].shape == (7, 5) and z['x'].flags.c_contiguous\n"
    "assert z['y'].shape == z['alpha'].shape == z['alpha_low'].shape == (7, 2)\n"
    "assert all(z[k].dtype == '<f8' for k in ('x', 'y', 'alpha', 'alpha_low'))\n"
    "assert manifest['inputs']['centre'][4] == 2.2250738585072014e-308\n"
    "for k in ('x', 'y', 'alpha', 'alpha_low'):\n"
    "    sys.stdout.buffer.write(z[k].tobytes())\n";

/* Whether PYTHON (or python3) ran the program to its end. */
static int run_python(const char *program, bytes *out)
{
    char command[512];
    const char *python = getenv("PYTHON");
    write_file("p.py", program, strlen(program));
    snprintf(command, sizeof command, "%s p.py > out 2> err", python ? python : "python3");
    int rc = system(command);
    out->data = read_whole("out", &out->size);
    unlink("p.py");
    unlink("out");
    unlink("err");
    return rc == 0;
}

static void numpy_opens_a_model(void **state)
{
    (void)state;
    bytes out;
    int there = run_python("import numpy", &out);
    free(out.data);
    if (!there) {
        print_message("skipped: python3 has no numpy (PYTHON names another interpreter)\n");
        skip();
    }
    far_model *m = make_regression();
    assert_int_equal(far_model_save(ctx, m, "m.far"), FAR_OK);
    assert_int_equal(run_python(python_program, &out), 1);
    size_t x = ROWS * INPUTS * 8, y = ROWS * 2 * 8;
    assert_int_equal(out.size, x + 3 * y);
    assert_memory_equal(out.data, m->x, x);
    assert_memory_equal(out.data + x, m->y, y);
    assert_memory_equal(out.data + x + y, m->alpha, y);
    assert_memory_equal(out.data + x + 2 * y, m->alpha_low, y);
    free(out.data);
    far_model_destroy(m);
    unlink("m.far");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_regression_comes_back_bit_by_bit),
        TEST(a_classification_comes_back_bit_by_bit),
        TEST(diagnostics_that_are_not_finite_become_null),
        TEST(fills_may_be_absent_where_nothing_is_filled),
        TEST(the_same_model_gives_the_same_bytes),
        TEST(every_truncation_is_refused),
        TEST(a_changed_byte_is_refused_or_harmless),
        TEST(other_files_get_a_clear_message),
        TEST(arguments_are_checked),
        TEST(a_zip_packed_by_another_program_is_read),
        TEST(a_manifest_that_unpacks_to_too_much_is_refused),
        TEST(arrays_of_another_shape_are_refused),
        TEST(array_values_must_be_finite),
        TEST(arrays_may_be_laid_out_otherwise),
        TEST(a_member_that_is_there_twice_is_refused),
        TEST(every_field_of_the_manifest_is_checked),
        TEST(any_type_anywhere_does_no_harm),
        TEST(classes_are_checked),
        TEST(nesting_without_end_is_refused),
        TEST(saving_survives_any_failing_allocation),
        TEST(loading_survives_any_failing_allocation),
        cmocka_unit_test_setup_teardown(saving_survives_jansson_without_memory, start_json,
                                        stop_json),
        cmocka_unit_test_setup_teardown(loading_survives_jansson_without_memory, start_json,
                                        stop_json),
        TEST(zips_of_any_size_are_read_back),
        TEST(numpy_opens_a_model),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
