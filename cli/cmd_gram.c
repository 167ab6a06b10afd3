/* farfield gram: the tangent kernel of a finite network. */
#define _GNU_SOURCE
#include "cli.h"
#include "dataset.h"
#include "files.h"
#include "gram_file.h"
#include "layers.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "subject.h"

#include <farfield/ntk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB "gram"

typedef struct gram_args {
    const char *net, *arch, *layers, *outputs, *output, *where;
    int dtype;
    bool by_layer;
    common_args common;
    double memory;
    const char *x, *x2; /* operands; NULL: not given */
} gram_args;

typedef struct points {
    dataset table;
    void *values;
    far_mat x;
} points;

typedef struct job {
    gram_args args;
    session s;
    far_net *net;
    unsigned char *layers;
    far_ntk_opts opts;
    points a, b;
    far_mat result;      /* of all layers, one below the other if by layer */
    int64_t layer_count; /* in it */
    int64_t side;        /* rows and columns of it for a pair of points */
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(gram_args, field)
#define DTYPE_LIST "f64|f32"

static const option OPTIONS[] = {
    TEXT_OPTION("--net", 'n', AT(net), "NET", "the network (net.safetensors)"),
    FILE_ARCH_OPTION,
    FLAG_OPTION("--by-layer", 0, AT(by_layer),
                "the part of each layer by itself: an array of layers x n x m (in csv\n"
                "one below the other)"),
    TEXT_OPTION("--layers", 0, AT(layers), "LIST",
                "these layers alone: 1,3 counts layers with weights from 1; -1 is the\n"
                "last"),
    TEXT_OPTION("--outputs", 0, AT(outputs), "trace|full|K",
                "of several outputs: the mean of their kernels, all pairs (an array of\n"
                "n x m x outputs x outputs; in csv n outputs rows, point by point), or\n"
                "that of output K, from 1"),
    TEXT_OPTION("--where", 'w', AT(where), "EXPR", "only the rows of X where it holds"),
    CHOICE_OPTION("--dtype", 0, AT(dtype), DTYPE_LIST, "precision of computation and result"),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz), not csv on standard output"),
    MEMORY_OPTION("use at most 500M, 8G, ... for what lies beside the result"),
};

static const char USAGE[] = "gram --net NET [options] X [X2] [-o K.npy]";
static const char ABOUT[] =
    "Tangent kernel J J' of the finite network NET between the rows of X and the rows of X2 (of X\n"
    "itself without X2), J the derivative of its outputs by its weights; the Jacobian is not "
    "formed.";
static const char NOTES[] =
    "X and X2 are tables as for predict: a network that was trained on a table takes the columns "
    "it\n"
    "knows, in their raw units; any other takes all columns in their order, as they are. Values "
    "are\n"
    "in the network's own output units. An .npz carries a header that tells the verbs which read "
    "K\n"
    "what it is a kernel of.\n\n"
    "Examples:\n"
    "  farfield gram --net net.safetensors X.npy -o K.npy\n"
    "  farfield gram --net net.safetensors train.csv test.csv --by-layer -o K.npz";

static bool is_stdin(const char *operand)
{
    return operand && strcmp(operand, "-") == 0;
}

static int check_usage(const gram_args *a)
{
    if (!a->net) {
        return usage_error(VERB, "--net is missing: the kernel of which network?");
    }
    if (!a->x) {
        return usage_error(VERB, "no input file X");
    }
    if (is_stdin(a->x) && is_stdin(a->x2)) {
        return usage_error(VERB, "X and X2 cannot both be standard input");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    return OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, gram_args *args)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = plain_options(AT(common)),
                         .most_operands = 2};
    int code = options_parse(&line, argc, argv, args);
    args->x = line.operands[0];
    args->x2 = line.operands[1];
    return code == OPTIONS_OK ? check_usage(args) : code;
}

/* "trace", "full", or an output counted from 1. */
static int read_outputs(job *j, int64_t outputs)
{
    const char *text = j->args.outputs;
    char *end;
    if (strcmp(text, "trace") == 0) {
        return EXIT_DONE;
    }
    if (strcmp(text, "full") == 0) {
        j->opts.outputs = FAR_NTK_FULL;
        return EXIT_DONE;
    }
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || number < 1 || number > outputs) {
        return usage_error(VERB, "--outputs is trace, full or 1 to %lld, not '%s'",
                           (long long)outputs, text);
    }
    j->opts.outputs = FAR_NTK_ONE;
    j->opts.output = number - 1;
    return EXIT_DONE;
}

/* ---- points -------------------------------------------------------------------------------- */

/* In place: a float takes less room than the number it comes from. */
static void round_to_floats(points *p)
{
    float *to = p->values;
    const double *from = p->values;
    for (int64_t i = 0; i < p->x.rows * p->x.cols; i++) {
        float value = (float)from[i];
        memcpy(&to[i], &value, sizeof value);
    }
    p->x = far_mat_view(p->values, p->x.rows, p->x.cols, FAR_F32);
}

static int read_points(job *j, const char *operand, const char *where, points *p)
{
    double *values = NULL;
    p->table.arch = far_net_describe(j->net).arch;
    int code = dataset_read(VERB, j->s.ctx, operand, NULL, where, &p->table);
    code = code == EXIT_DONE ? network_inputs(&j->s, j->net, &p->table, &values, &p->x) : code;
    p->values = values;
    if (code == EXIT_DONE && j->args.dtype == FAR_F32) {
        round_to_floats(p);
    }
    return code;
}

static void points_free(points *p)
{
    dataset_free(&p->table);
    free(p->values);
}

/* ---- results ------------------------------------------------------------------------------- */

/* (point i, output a) x (point j, output b) becomes (i, j, a, b), in place, point i by point i. */
static int order_by_points(job *j)
{
    int64_t side = j->side, block = side * j->result.cols, size = side * side;
    if (j->opts.outputs != FAR_NTK_FULL) {
        return EXIT_DONE;
    }
    double *copy = malloc((size_t)block * sizeof *copy + 1);
    if (!copy) {
        return failure(VERB, "out of memory");
    }
    size_t bytes = j->result.dtype == FAR_F64 ? sizeof(double) : sizeof(float);
    for (int64_t i = 0; i < j->result.rows / side; i++) {
        char *to = (char *)j->result.data + (size_t)(i * block) * bytes;
        memcpy(copy, to, (size_t)block * bytes);
        for (int64_t k = 0; k < block; k++) {
            int64_t m = k / size, a = k % size / side, b = k % side;
            memcpy(to + (size_t)k * bytes,
                   (char *)copy + (size_t)(a * j->result.cols + m * side + b) * bytes, bytes);
        }
    }
    free(copy);
    return EXIT_DONE;
}

static bool is_array(const char *path)
{
    const char *ending = path ? strrchr(path, '.') : NULL;
    return ending && (strcmp(ending, ".npy") == 0 || strcmp(ending, ".npz") == 0);
}

/* (layers,) n, m (, outputs, outputs) */
static int array_shape(const job *j, int64_t shape[5])
{
    int dims = 0;
    if (j->args.by_layer) {
        shape[dims++] = j->layer_count;
    }
    shape[dims++] = j->a.x.rows;
    shape[dims++] = j->result.cols / j->side;
    if (j->opts.outputs == FAR_NTK_FULL) {
        shape[dims++] = j->side;
        shape[dims++] = j->side;
    }
    return dims;
}

/* "all" or "1,3"; free it. */
static char *name_layers(const job *j)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = j->layers ? open_memstream(&text, &size) : NULL;
    if (!out) {
        return j->layers ? NULL : strdup("all");
    }
    const char *between = "";
    for (int64_t l = 0; l < far_net_describe(j->net).layers; l++) {
        if (j->layers[l]) {
            talk(out, "%s%lld", between, (long long)l + 1);
            between = ",";
        }
    }
    fclose(out);
    return text;
}

/* What an npz says of the kernel in it. */
static int write_with_header(job *j, const int64_t *shape, int dims)
{
    char inputs[HASH_BYTES], inputs2[HASH_BYTES], parameters[HASH_BYTES];
    char *columns = NULL, *columns2 = NULL, *layers = name_layers(j);
    int code = hash_inputs(&j->s, j->net, &j->a.table, inputs, &columns);
    if (code == EXIT_DONE && j->args.x2) {
        code = hash_inputs(&j->s, j->net, &j->b.table, inputs2, &columns2);
    }
    code = code == EXIT_DONE ? hash_parameters(&j->s, j->net, parameters) : code;
    gram_header h = {.points = j->a.x.rows,
                     .points2 = j->args.x2 ? j->b.x.rows : -1,
                     .outputs = j->side,
                     .kind = "empirical",
                     .arch = far_net_describe(j->net).arch,
                     .layers = layers,
                     .of = j->args.outputs,
                     .columns = columns,
                     .inputs = inputs,
                     .inputs2 = j->args.x2 ? inputs2 : NULL,
                     .parameters = parameters};
    if (code == EXIT_DONE) {
        code = gram_write(&j->s, &j->result, shape, dims, "ntk", &h, j->args.output);
    }
    free(columns);
    free(columns2);
    free(layers);
    return code;
}

static int write_array(job *j)
{
    int64_t shape[5];
    int dims = array_shape(j, shape);
    int code = order_by_points(j);
    return code == EXIT_DONE ? write_with_header(j, shape, dims) : code;
}

static int write_result(job *j)
{
    if (is_array(j->args.output)) {
        return write_array(j);
    }
    if (j->side > 1) {
        session_say(&j->s,
                    "csv does not say that %lld rows are one point: the verbs that read it need "
                    "its table X beside it, or count each as a point; an .npz says it",
                    (long long)j->side);
    }
    return matrix_write(VERB, j->s.ctx, &j->result, "ntk", j->args.output);
}

static int tell(job *j)
{
    const gram_args *a = &j->args;
    int64_t shape[5];
    double sides[5];
    int dims = array_shape(j, shape);
    report out;
    if (!a->output && order_by_points(j) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    for (int i = 0; i < dims; i++) {
        sides[i] = (double)shape[i];
    }
    int code = report_begin(&j->s, &a->common, "A tangent kernel", &out);
    far_result_text(out.result, "net", a->net, NULL, NULL);
    far_result_text(out.result, "arch", far_net_describe(j->net).arch, NULL, NULL);
    far_result_text(out.result, "outputs", a->outputs, NULL, NULL);
    far_result_text(out.result, "dtype", a->dtype == FAR_F64 ? "f64" : "f32", NULL, NULL);
    far_result_list(out.result, "shape", sides, dims);
    report_written(&out, "file", NULL, a->output);
    if (!a->output) {
        far_result_array(out.result, "values", &j->result, shape, dims);
    }
    return report_end(&out, code);
}

/* ---- the job ------------------------------------------------------------------------------- */

static int allocate_result(job *j)
{
    far_net_info info = far_net_describe(j->net);
    int64_t cols = j->args.x2 ? j->b.x.rows : j->a.x.rows;
    j->side = j->opts.outputs == FAR_NTK_FULL ? info.outputs : 1;
    j->layer_count = 1;
    if (j->args.by_layer) {
        j->layer_count = 0;
        for (int64_t l = 0; l < info.layers; l++) {
            j->layer_count += !j->layers || j->layers[l];
        }
    }
    return matrix_alloc(VERB, j->layer_count * j->a.x.rows * j->side, cols * j->side,
                        (far_dtype)j->args.dtype, &j->result);
}

static far_status compute_layers(job *j, const far_mat *x2)
{
    int64_t layers = far_net_describe(j->net).layers, rows = j->a.x.rows * j->side, next = 0;
    size_t bytes = j->args.dtype == FAR_F64 ? sizeof(double) : sizeof(float);
    far_mat *views = calloc((size_t)layers, sizeof *views);
    far_mat **out = calloc((size_t)layers, sizeof *out);
    for (int64_t l = 0; views && out && l < layers; l++) {
        if (!j->layers || j->layers[l]) {
            char *at = (char *)j->result.data + (size_t)(next++ * rows * j->result.cols) * bytes;
            views[l] = far_mat_view(at, rows, j->result.cols, (far_dtype)j->args.dtype);
            out[l] = &views[l];
        }
    }
    far_status st = views && out ? far_net_ntk_layers(j->s.ctx, j->net, &j->a.x, x2, &j->opts, out)
                                 : FAR_ERR_MEMORY;
    free(views);
    free(out);
    return st;
}

static far_status compute(job *j)
{
    const far_mat *x2 = j->args.x2 ? &j->b.x : NULL;
    return j->args.by_layer ? compute_layers(j, x2)
                            : far_net_ntk(j->s.ctx, j->net, &j->a.x, x2, &j->opts, &j->result);
}

static int read_net(job *j)
{
    int code = network_load(&j->s, j->args.net, j->args.arch, &j->net);
    if (code != EXIT_DONE) {
        return code;
    }
    far_net_info info = far_net_describe(j->net);
    j->opts = (far_ntk_opts){.size = sizeof j->opts};
    j->opts.memory = j->args.memory;
    code = read_outputs(j, info.outputs);
    if (code == EXIT_DONE && j->args.layers) {
        code = layers_read(VERB, j->args.layers, info.layers, &j->layers);
        j->opts.layers = j->layers;
    }
    return code;
}

static int compute_and_write(job *j)
{
    interrupts_hold();
    far_status st = compute(j);
    progress_end(&j->s.bar);
    if (!j->args.output) {
        session_idle(&j->s);
    }
    int code = st == FAR_OK ? matrix_check(VERB, &j->result) : EXIT_DONE;
    if (st == FAR_OK && code == EXIT_DONE && (j->args.output || !j->args.common.json)) {
        code = write_result(j);
    }
    session_idle(&j->s); /* does not come back after Ctrl-C */
    if (st != FAR_OK) {
        return session_failure(&j->s, NULL);
    }
    return code == EXIT_DONE && j->args.common.json ? tell(j) : code;
}

static int run_gram(void *user)
{
    job *j = user;
    int code = j->args.output ? output_possible(VERB, j->s.ctx, j->args.output) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = read_net(j);
    }
    if (code == EXIT_DONE) {
        code = read_points(j, j->args.x, j->args.where, &j->a);
    }
    if (code == EXIT_DONE && j->args.x2) {
        code = read_points(j, j->args.x2, NULL, &j->b);
    }
    if (code == EXIT_DONE) {
        code = allocate_result(j);
    }
    return code == EXIT_DONE ? compute_and_write(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    free(j->result.data);
    free(j->layers);
    points_free(&j->a);
    points_free(&j->b);
    far_net_destroy(j->net);
}

int cmd_gram(int argc, char **argv)
{
    job j = {.args = {.outputs = "trace", .common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run_gram, clean, &j});
}
