/* Bytes that start like a zip are read as a model file, any other as the manifest of one, in a zip
 * around fixed arrays. They either make a model whose numbers are sound, which can be evaluated and
 * is the same after saving and loading, or fail with a message of one line that starts with the
 * name. */
#define _GNU_SOURCE
#include "../../src/regress/model_file.h"

#include "fuzz.h"

enum { ROWS = 7, INPUTS = 5, OUTPUTS = 2 }; /* what the manifests of the corpus announce */

/* ---- files in memory ---- */

typedef struct file {
    char *data;
    size_t size;
    FILE *stream;
    far_output output;
} file;

static void start_file(far_ctx *ctx, file *f)
{
    f->stream = open_memstream(&f->data, &f->size);
    require(f->stream != NULL, "there is a stream");
    require(far_output_open_stream(ctx, f->stream, &f->output) == FAR_OK, "it opens");
}

static void end_file(file *f)
{
    require(far_output_commit(&f->output) == FAR_OK, "it is written");
    far_output_close(&f->output);
    fclose(f->stream);
}

static void put_array(far_zip *z, const char *name, int64_t rows, int64_t cols)
{
    double values[ROWS * INPUTS];
    for (int64_t i = 0; i < rows * cols; i++) {
        values[i] = sin((double)i + (double)cols);
    }
    values[3] = fabs(values[3]); /* the weights of a metric are not below 0 */
    values[4] = fabs(values[4]);
    far_mat m = far_mat_view(values, rows, cols, FAR_F64);
    require(far_zip_put_matrix(z, name, &m) == FAR_OK, "an array is written");
}

static void wrap_manifest(far_ctx *ctx, const uint8_t *data, size_t size, file *f)
{
    start_file(ctx, f);
    far_zip z = {.output = &f->output, .zip64_from = UINT32_MAX};
    far_zip_put_bytes(&z, "manifest.json", data, size);
    put_array(&z, "x", ROWS, INPUTS);
    put_array(&z, "y", ROWS, OUTPUTS);
    put_array(&z, "alpha", ROWS, OUTPUTS);
    put_array(&z, "alpha_low", ROWS, OUTPUTS);
    put_array(&z, "map", INPUTS, 1); /* of a manifest with "metric": "diagonal" */
    far_zip_finish(&z);
    end_file(f);
}

static void save(far_ctx *ctx, const far_model *m, file *f)
{
    start_file(ctx, f);
    require(far_model_write(m, &f->output) == FAR_OK, "a model that was read can be written");
    end_file(f);
}

/* ---- what must hold ---- */

static void check_numbers(const double *values, int64_t count, double above)
{
    for (int64_t i = 0; i < count; i++) {
        require(isfinite(values[i]) && values[i] > above, "every value is finite, every scale > 0");
    }
}

static void check_features(const far_model *m)
{
    int64_t width = 0;
    for (int64_t j = 0; j < m->columns->info.features; j++) {
        const far_feature *f = &m->columns->features[j];
        require(f->name && f->first == width && f->width >= 0, "features follow each other");
        require(f->kind == FAR_COLUMN_NUMBER ? f->width == 1 : f->width == f->level_count,
                "a feature has its width");
        require(f->fill_code >= 0 && (f->fill_code < f->level_count || f->fill_code == 0),
                "a gap becomes a level");
        require(f->kind == FAR_COLUMN_WORD || !m->info.impute || isfinite(f->fill),
                "a gap becomes a number");
        width += f->width;
    }
    require(width == m->info.inputs && width == m->columns->info.inputs,
            "features make the inputs");
}

static void check_model(const far_model *m)
{
    int64_t n = m->info.rows, d = m->info.inputs, p = m->info.outputs;
    require(n > 0 && d > 0 && p > 0, "nothing is empty");
    require(m->columns->classes ? m->info.targets == 1 : m->info.targets == p,
            "targets fit the outputs");
    require(!m->columns->classes || m->columns->info.classes == p, "a class is an output");
    require(!m->columns->classes == (m->info.task == FAR_TASK_REGRESS), "classes fit the task");
    require(strcmp(m->arch, far_kernel_text(m->kernel)) == 0, "the network is the kernel's");
    require(strlen(m->columns->hash) == 64, "there is a hash");
    check_features(m);
    check_numbers(far_input_centre(m->columns), d, -INFINITY);
    check_numbers(far_input_scale(m->columns), d, 0);
    check_numbers(far_output_centre(m->columns), p, -INFINITY);
    check_numbers(far_output_scale(m->columns), p, 0);
    check_numbers(m->x, n * d, -INFINITY);
    check_numbers(m->y, n * p, -INFINITY);
    check_numbers(m->alpha, n * p, -INFINITY);
    check_numbers(m->alpha_low, n * p, -INFINITY);
    if (m->metric.kind != FAR_METRIC_NONE) {
        check_numbers(m->facts.points, n * d, -INFINITY);
        check_numbers(m->facts.importance, d, 0);
        require(m->facts.rank > 0 && m->facts.rank <= d, "the metric leaves something");
    }
}

/* Whatever comes out: it may be infinite, or have no value. */
static void evaluate(far_ctx *ctx, const far_model *m)
{
    far_mat x = far_model_points(m);
    double *values = malloc((size_t)(m->info.rows * m->info.outputs) * sizeof *values);
    far_mat mean = far_mat_view(values, m->info.rows, m->info.outputs, FAR_F64);
    far_status st = far_model_eval(ctx, m, &x, &mean);
    require(st == FAR_OK || *far_ctx_message(ctx), "a failure has a message");
    free(values);
}

static void check_again(far_ctx *ctx, const far_model *m)
{
    file first, second;
    far_model *again;
    save(ctx, m, &first);
    require(far_model_parse_bytes(ctx, "again", first.data, (int64_t)first.size, &again) == FAR_OK,
            "what was written reads again");
    save(ctx, again, &second);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
            "and is written the same");
    far_model_destroy(again);
    free(first.data);
    free(second.data);
}

static void read_model(far_ctx *ctx, const void *data, size_t size)
{
    far_model *m;
    far_status st = far_model_parse_bytes(ctx, "fuzz", data, (int64_t)size, &m);
    require((st == FAR_OK) == (m != NULL), "a model exactly on success");
    if (m) {
        check_model(m);
        check_again(ctx, m);
        evaluate(ctx, m);
        far_model_destroy(m);
    } else {
        require(st == FAR_ERR_FORMAT || st == FAR_ERR_MEMORY, "it is the file's fault");
        check_message(far_ctx_message(ctx));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    far_ctx *ctx = make_context();
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        read_model(ctx, data, size);
    } else {
        file f;
        wrap_manifest(ctx, data, size, &f);
        read_model(ctx, f.data, f.size);
        free(f.data);
    }
    far_ctx_destroy(ctx);
    require(live_bytes == 0, "all memory is given back");
    return 0;
}
