#define _GNU_SOURCE
#include "kernel_source.h"
#include "layers.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(source_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--net", 'n', AT(net), "NET",
                "the tangent kernel of this finite network (net.safetensors)"),
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",
                "the kernel of this architecture at infinite width; with --net the\n"
                "architecture of a file that does not name it"),
    CHOICE_OPTION("--kernel", 0, AT(kind), "ntk|nngp",
                  "with --arch: the neural tangent kernel, or the covariance at the start"),
    CHOICE_OPTION("--param", 0, AT(param), "ntk|standard",
                  "with --arch: how weights are parametrised"),
    TEXT_OPTION("--layers", 0, AT(layers), "LIST",
                "with --net, and of a K of gram --by-layer: these layers alone: 1,3\n"
                "counts layers with weights from 1; -1 is the last"),
    TEXT_OPTION("--outputs", 0, AT(outputs), "trace|full|K",
                "with --net, of several outputs: the mean of their kernels, all pairs,\n"
                "or that of output K, from 1"),
    TEXT_OPTION("--target", 't', AT(target), "COL", "targets: columns of X, or of the file of --y"),
    TEXT_OPTION("--y", 'y', AT(y), "FILE", "targets: the columns of this table"),
    TEXT_OPTION("--values", 0, AT(values), "FILE",
                "what the model says now, shaped like the targets; a network says it\n"
                "itself"),
    TEXT_OPTION("--features", 'f', AT(features), "LIST",
                "columns of X that are coordinates (every column but the targets)"),
    TEXT_OPTION("--where", 'w', AT(where), "EXPR",
                "only the rows of X where it holds; with --net and --arch"),
    TABLE_OPTIONS(AT(table)),
};

static const char SOURCE_NOTES[] =
    "K is a symmetric matrix (csv, npy, npz), as kernel and gram write it, and X the table of its\n"
    "points, if columns of it are needed. With --net and --arch the kernel is computed between "
    "the\n"
    "rows of X. Two words as targets are -1 and 1, more are a column each; a network takes its\n"
    "targets in its own units. Conventions: N points, loss 1/(2N) sum |f - y|^2, so training is\n"
    "driven by K / N, and time is learning rate times steps.";

int source_parse(command_line *line, const char *examples, size_t offset, int argc, char **argv,
                 void *values)
{
    char notes[2048];
    snprintf(notes, sizeof notes, "%s\n\n%s", SOURCE_NOTES, examples);
    line->notes = notes;
    line->more = source_options(offset);
    line->most_operands = 2;
    int code = options_parse(line, argc, argv, values);
    line->notes = NULL;
    return code;
}

option_group source_options(size_t offset)
{
    return (option_group){.title = "The kernel and its targets:",
                          .options = OPTIONS,
                          .count = sizeof OPTIONS / sizeof OPTIONS[0],
                          .offset = offset};
}

static bool is_stdin(const char *operand)
{
    return operand && strcmp(operand, "-") == 0;
}

/* An option that belongs to another kind of kernel. */
static int check_kind(const command_line *line, const source_args *a)
{
    static const char *const OF_NET[] = {"--outputs", "--layers"};
    static const char *const OF_ARCH[] = {"--kernel", "--param"};
    const char *other = a->net ? NULL : options_given_of(line, OF_NET, a->kernel ? 1 : 2);
    if (other) {
        return usage_error(line->verb, "%s goes with --net only", other);
    }
    other = a->arch && !a->net ? NULL : options_given_of(line, OF_ARCH, 2);
    if (other) {
        return usage_error(line->verb, "%s goes with --arch only%s", other,
                           a->net ? ", and here that is the architecture of --net" : "");
    }
    if (a->where && a->kernel) {
        return usage_error(line->verb, "--where does not choose rows of a matrix; it goes with "
                                       "--net and --arch");
    }
    return OPTIONS_OK;
}

static int check_tables(const command_line *line, const source_args *a)
{
    if (!a->x && (a->features || (a->target && !a->y))) {
        return usage_error(line->verb, "%s: columns of which table? It follows the matrix %s",
                           a->target ? "--target" : "--features", a->kernel);
    }
    const char *files[] = {a->kernel, a->x, a->y, a->values};
    int from_stdin = 0;
    for (int i = 0; i < 4; i++) {
        from_stdin += is_stdin(files[i]);
    }
    return from_stdin <= 1 ? OPTIONS_OK
                           : usage_error(line->verb, "only one file can be standard input");
}

/* Where the points are no table's. */
static int check_made(const command_line *line, const source_args *a)
{
    static const char *const OF_TABLE[] = {"--target", "--y", "--values", "--features", "--where"};
    const char *other = options_given_of(line, OF_TABLE, 5);
    if (!a->net && !a->arch) {
        return usage_error(line->verb, "a grid of points needs --net NET or --arch ARCH");
    }
    if (line->operand_count > 0) {
        return usage_error(line->verb,
                           "a grid takes the place of a table X, but there is also "
                           "'%s'",
                           line->operands[0]);
    }
    return other ? usage_error(line->verb, "%s is of a table X, and a grid has none", other)
                 : check_kind(line, a);
}

int source_check_usage(const command_line *line, source_args *a)
{
    bool computed = a->net || a->arch;
    if (a->makes_points) {
        return check_made(line, a);
    }
    if (line->operand_count == 0) {
        return usage_error(line->verb, computed ? "no input file X"
                                                : "no kernel: a matrix K, --net NET X or --arch "
                                                  "ARCH X");
    }
    if (computed && line->operand_count > 1) {
        return usage_error(line->verb, "%s takes one table X, but there is also '%s'",
                           a->net ? "--net" : "--arch", line->operands[1]);
    }
    a->kernel = computed ? NULL : line->operands[0];
    a->x = line->operands[computed ? 0 : 1];
    int code = check_kind(line, a);
    return code == OPTIONS_OK ? check_tables(line, a) : code;
}

bool source_has_targets(const source_args *a)
{
    return a->target || a->y;
}

int source_check_needs(const char *verb_name, const source_args *a, int32_t needs, const char *who)
{
    if ((needs & FAR_NEED_TARGETS) && !source_has_targets(a)) {
        return usage_error(verb_name, "%s needs targets: --target COL of the table X, or --y FILE",
                           who);
    }
    if ((needs & (FAR_NEED_COORDINATES | FAR_NEED_GRID)) && !a->x) {
        return usage_error(verb_name,
                           "%s needs the coordinates of the points: a table X behind the matrix %s",
                           who, a->kernel);
    }
    if ((needs & FAR_NEED_VALUES) && !a->net && !a->values) {
        return usage_error(verb_name, "%s needs what the model says now: --values FILE", who);
    }
    return OPTIONS_OK;
}

int top_read(const char *verb_name, const char *text, int64_t *count)
{
    char *end;
    bool all = strcmp(text, "all") == 0;
    long long number = all ? INT64_MAX : strtoll(text, &end, 10);
    if (!all && (end == text || *end || number < 1)) {
        return usage_error(verb_name, "--top is a number from 1 or all, not '%s'", text);
    }
    *count = number;
    return OPTIONS_OK;
}

/* ---- columns of tables ---------------------------------------------------------------------- */

/* Which columns of a table, and of how many numbers each. */
typedef struct choice {
    int64_t *cols, count, width;
    int64_t indicators; /* of a column of two words: 1: one column of 0 and 1, 2: two; 0: -1, 1 */
} choice;

static int64_t column_width(const dataset *d, int64_t col, int64_t indicators)
{
    if (far_frame_column(d->frame, col).kind == FAR_COLUMN_NUMBER) {
        return 1;
    }
    int64_t levels = far_frame_column(d->frame, col).level_count;
    return levels > 2 || indicators == 2 ? levels : 1;
}

static double word_value(int64_t code, int64_t levels, int64_t k, int64_t indicators)
{
    if (levels > 2 || indicators == 2) {
        return code == k;
    }
    return indicators == 1 ? (double)code : 2 * (double)code - 1;
}

static int gap_failure(session *s, const dataset *d, int64_t row, int64_t col)
{
    const char *name = far_frame_column(d->frame, col).name;
    return failure(s->verb, "%s: row %lld of column %s is missing; fill it, or leave such rows out",
                   d->label, (long long)row + 1, name);
}

static int put_column(session *s, const dataset *d, int64_t col, const choice *c, int64_t at,
                      far_mat *out)
{
    const double *numbers = far_frame_column(d->frame, col).numbers;
    const int32_t *codes = far_frame_column(d->frame, col).codes;
    int64_t levels = far_frame_column(d->frame, col).level_count, next = 0;
    int64_t width = column_width(d, col, c->indicators);
    for (int64_t i = 0; i < far_frame_rows(d->frame); i++) {
        if (d->rows && !d->rows[i]) {
            continue;
        }
        double *row = (double *)out->data + next++ * out->cols + at;
        if (numbers ? isnan(numbers[i]) : codes[i] < 0) {
            return gap_failure(s, d, i, col);
        }
        for (int64_t k = 0; k < width; k++) {
            row[k] = numbers ? numbers[i] : word_value(codes[i], levels, k, c->indicators);
        }
    }
    return EXIT_DONE;
}

static int put_columns(session *s, const dataset *d, choice *c, far_mat *out)
{
    c->width = 0;
    for (int64_t k = 0; k < c->count; k++) {
        c->width += column_width(d, c->cols[k], c->indicators);
    }
    int code = matrix_alloc(s->verb, d->count, c->width, FAR_F64, out);
    for (int64_t k = 0, at = 0; k < c->count && code == EXIT_DONE; k++) {
        code = put_column(s, d, c->cols[k], c, at, out);
        at += column_width(d, c->cols[k], c->indicators);
    }
    return code;
}

/* list NULL: all columns but those of except. */
static int choose_columns(session *s, const dataset *d, const char *list, const char *option_name,
                          const char *except, choice *c)
{
    int64_t all = far_frame_cols(d->frame), left_out = 0;
    c->cols = malloc((size_t)(2 * all + 1) * sizeof *c->cols);
    if (!c->cols) {
        return failure(s->verb, "out of memory");
    }
    const char *named = list ? list : except;
    int64_t *found = list ? c->cols : c->cols + all;
    int64_t *count = list ? &c->count : &left_out;
    far_status st = named ? far_frame_list(s->ctx, d->frame, named, found, count) : FAR_OK;
    if (st != FAR_OK) {
        failure(s->verb, "%s: %s", list ? option_name : "--target", far_ctx_message(s->ctx));
        return usage_code(st);
    }
    for (int64_t col = 0; !list && col < all; col++) {
        bool out = false;
        for (int64_t k = 0; k < left_out; k++) {
            out = out || found[k] == col;
        }
        if (!out) {
            c->cols[c->count++] = col;
        }
    }
    return EXIT_DONE;
}

/* ---- the points ----------------------------------------------------------------------------- */

static int check_numbers(session *s, const dataset *d, const choice *c)
{
    for (int64_t k = 0; k < c->count; k++) {
        if (far_frame_column(d->frame, c->cols[k]).kind != FAR_COLUMN_NUMBER) {
            return failure(s->verb,
                           "%s: column %s holds words, which are no coordinates; name the others "
                           "with --features",
                           d->label, far_frame_column(d->frame, c->cols[k]).name);
        }
    }
    return c->count > 0 ? EXIT_DONE
                        : failure(s->verb, "%s: no column is left for coordinates", d->label);
}

static int read_coordinates(session *s, const source_args *a, source *k)
{
    choice c = {0};
    const char *except = a->y ? NULL : a->target;
    int code = choose_columns(s, &k->table, a->features, "--features", except, &c);
    code = code == EXIT_DONE ? check_numbers(s, &k->table, &c) : code;
    code = code == EXIT_DONE ? put_columns(s, &k->table, &c, &k->x) : code;
    free(c.cols);
    return code;
}

/* The chosen rows of a frame in the network's units; label is its file. */
static int encode(session *s, const source *k, const char *label, const far_frame *frame,
                  const unsigned char *rows, int64_t count, far_mat *out)
{
    const far_columns *columns = far_net_describe(k->net).columns;
    int code = matrix_alloc(s->verb, count, far_net_describe(k->net).inputs, FAR_F64, out);
    if (code == EXIT_DONE && far_columns_encode(s->ctx, columns, frame, rows, out) != FAR_OK) {
        code = session_failure(s, label);
    }
    return code;
}

/* A network that knows no columns takes those that are coordinates. */
static int encode_coordinates(session *s, const source_args *a, source *k)
{
    far_frame *frame = NULL;
    int code = read_coordinates(s, a, k);
    if (code != EXIT_DONE) {
        return code;
    }
    far_mat raw = k->x;
    k->x = (far_mat){0};
    code = far_frame_from_mat(s->ctx, &raw, NULL, &frame) == FAR_OK ? EXIT_DONE
                                                                    : session_failure(s, NULL);
    code = code == EXIT_DONE ? encode(s, k, k->table.label, frame, NULL, raw.rows, &k->x) : code;
    far_frame_destroy(frame);
    free(raw.data);
    return code;
}

/* Under the names that the network knows, if it knows any. */
static int make_table(session *s, const source_args *a, source *k)
{
    int64_t cols = a->made.cols;
    const char **names = calloc((size_t)cols, sizeof *names);
    if (!names) {
        return failure(s->verb, "out of memory");
    }
    bool named = k->net && far_columns_describe(far_net_describe(k->net).columns).named;
    for (int64_t j = 0; named && j < cols; j++) {
        names[j] = far_columns_describe(far_net_describe(k->net).columns).input_names[j];
    }
    k->table = (dataset){.label = "the grid", .count = a->made.rows};
    far_status st = far_frame_from_mat(s->ctx, &a->made, names, &k->table.frame);
    free(names);
    return st == FAR_OK ? EXIT_DONE : session_failure(s, k->table.label);
}

static int read_points(session *s, const source_args *a, int32_t needs, source *k)
{
    k->table.arch = k->net ? far_net_describe(k->net).arch : NULL;
    int code = a->made.data ? make_table(s, a, k)
               : a->x       ? dataset_read(s->verb, s->ctx, a->x, &a->table, a->where, &k->table)
                            : EXIT_DONE;
    if (code != EXIT_DONE || !k->table.frame) {
        return code;
    }
    if (k->net && far_columns_describe(far_net_describe(k->net).columns).named) {
        return a->features
                   ? usage_error(s->verb, "--features: the network knows which columns it takes")
                   : encode(s, k, k->table.label, k->table.frame, k->table.rows, k->table.count,
                            &k->x);
    }
    if (k->net) {
        return encode_coordinates(s, a, k);
    }
    bool wanted = a->arch || (needs & (FAR_NEED_COORDINATES | FAR_NEED_GRID));
    return wanted ? read_coordinates(s, a, k) : EXIT_DONE;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static int read_outputs(session *s, const char *text, int64_t outputs, far_ntk_opts *opts)
{
    char *end;
    if (strcmp(text, "trace") == 0 || strcmp(text, "full") == 0) {
        opts->outputs = text[0] == 't' ? FAR_NTK_TRACE : FAR_NTK_FULL;
        return EXIT_DONE;
    }
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || number < 1 || number > outputs) {
        return usage_error(s->verb, "--outputs is trace, full or 1 to %lld, not '%s'",
                           (long long)outputs, text);
    }
    opts->outputs = FAR_NTK_ONE;
    opts->output = number - 1;
    return EXIT_DONE;
}

static int open_net(session *s, const source_args *a, source *k)
{
    int code = network_load(s, a->net, a->arch, &k->net);
    if (code != EXIT_DONE) {
        return code;
    }
    far_net_info info = far_net_describe(k->net);
    code = read_outputs(s, a->outputs, info.outputs, &k->opts);
    if (code == EXIT_DONE && a->layers) {
        code = layers_read(s->verb, a->layers, info.layers, &k->layers);
        k->opts.layers = k->layers;
    }
    return code;
}

static int open_kernel(session *s, const source_args *a, source *k)
{
    far_kernel_opts how;
    k->opts = (far_ntk_opts){.size = sizeof k->opts};
    if (a->kernel) {
        int code = gram_read(s, a->kernel, a->layers, &k->gram);
        return code == EXIT_DONE ? gram_check_one_set(s, &k->gram) : code;
    }
    if (a->net) {
        return open_net(s, a, k);
    }
    how = (far_kernel_opts){.size = sizeof how};
    how.param = a->param;
    far_status st = far_kernel_create(s->ctx, a->arch, &how, &k->kernel);
    return st == FAR_OK ? EXIT_DONE : arch_failure(s, st);
}

static far_status fill(session *s, const source_args *a, source *k)
{
    bool nngp = a->kind == FAR_KERNEL_NNGP;
    if (k->net) {
        return far_net_ntk(s->ctx, k->net, &k->x, NULL, &k->opts, &k->matrix);
    }
    return far_kernel_eval(s->ctx, k->kernel, &k->x, NULL, FAR_FILL_FULL, nngp ? &k->matrix : NULL,
                           nngp ? NULL : &k->matrix);
}

static int compute(session *s, const source_args *a, source *k)
{
    int64_t side = k->net && k->opts.outputs == FAR_NTK_FULL ? far_net_describe(k->net).outputs : 1;
    int64_t n = k->x.rows * side;
    int code = matrix_alloc(s->verb, n, n, FAR_F64, &k->matrix);
    interrupts_hold();
    if (code == EXIT_DONE && fill(s, a, k) != FAR_OK) {
        code = session_failure(s, k->table.label);
    }
    progress_end(&s->bar);
    return code;
}

/* How many points stand behind the rows: the targets say it of a matrix of several outputs. */
static int64_t points_of(const source *k, const far_mat *kernel)
{
    if (k->x.data || k->gram.header.points > 0) {
        return k->x.data ? k->x.rows : k->gram.header.points;
    }
    bool several = k->targets.data && k->targets.rows < kernel->rows &&
                   k->targets.rows * k->targets.cols == kernel->rows;
    return several ? k->targets.rows : k->table.frame ? k->table.count : 0;
}

static int make_view(session *s, const source_args *a, source *k)
{
    const far_mat *kernel = k->net || k->kernel ? &k->matrix : &k->gram.in.values;
    interrupts_hold();
    if (far_view_create(s->ctx, kernel, points_of(k, kernel), &k->view) != FAR_OK) {
        return session_failure(s, a->kernel ? k->gram.in.label : k->table.label);
    }
    return EXIT_DONE;
}

/* ---- targets and values --------------------------------------------------------------------- */

static bool has_one_word(const dataset *d, int64_t col)
{
    const int32_t *codes = far_frame_column(d->frame, col).codes;
    int32_t first = -1;
    for (int64_t i = 0; codes && i < far_frame_rows(d->frame); i++) {
        bool counts = (!d->rows || d->rows[i]) && codes[i] >= 0;
        if (counts && first >= 0 && codes[i] != first) {
            return false;
        }
        first = counts ? codes[i] : first;
    }
    return first >= 0;
}

/* The same word in all rows would be a constant. */
static int check_classes(session *s, const dataset *d, const choice *c)
{
    for (int64_t k = 0; k < c->count; k++) {
        if (has_one_word(d, c->cols[k])) {
            return failure(s->verb,
                           "%s: the target %s has one class only in the rows chosen; two at least "
                           "are needed",
                           d->label, far_frame_column(d->frame, c->cols[k]).name);
        }
    }
    return EXIT_DONE;
}

/* A column of words that has become several: NAME_WORD each. */
static int name_targets(session *s, const dataset *d, const choice *c, source *k)
{
    k->target_names = calloc((size_t)c->width + 1, sizeof *k->target_names);
    for (int64_t i = 0; k->target_names && i < c->count; i++) {
        const char *name = far_frame_column(d->frame, c->cols[i]).name;
        int64_t width = column_width(d, c->cols[i], c->indicators);
        for (int64_t w = 0; w < width; w++) {
            const char *word = width > 1 ? far_frame_column(d->frame, c->cols[i]).levels[w] : "";
            char **at = &k->target_names[k->target_count];
            if (asprintf(at, "%s%s%s", name, width > 1 ? "_" : "", word) < 0) {
                return failure(s->verb, "out of memory");
            }
            k->target_count++;
        }
    }
    return k->target_names ? EXIT_DONE : failure(s->verb, "out of memory");
}

static int read_targets(session *s, const source_args *a, source *k)
{
    choice c = {.indicators = k->net ? far_net_describe(k->net).outputs : 0};
    const dataset *table = a->y ? &k->target_table : &k->table;
    int code = EXIT_DONE;
    if (a->y) {
        code = dataset_read(s->verb, s->ctx, a->y, &a->table, NULL, &k->target_table);
    }
    code = code == EXIT_DONE ? choose_columns(s, table, a->target, "--target", NULL, &c) : code;
    code = code == EXIT_DONE ? check_classes(s, table, &c) : code;
    code = code == EXIT_DONE ? put_columns(s, table, &c, &k->targets) : code;
    code = code == EXIT_DONE ? name_targets(s, table, &c, k) : code;
    free(c.cols);
    return code;
}

/* The network was trained on (y - centre) / scale. */
static void to_network_units(const far_net *net, far_mat *y)
{
    far_net_info info = far_net_describe(net);
    if (!info.scaled || info.outputs != y->cols) {
        return;
    }
    far_scaling scaling = far_columns_describe(far_net_describe(net).columns).scaling;
    double *v = y->data;
    for (int64_t i = 0; i < y->rows * y->cols; i++) {
        v[i] = (v[i] - mat_get(&scaling.output_centre, 0, i % y->cols)) /
               mat_get(&scaling.output_scale, 0, i % y->cols);
    }
}

static int read_values(session *s, const source_args *a, source *k)
{
    int64_t outputs = k->net ? far_net_describe(k->net).outputs : 0;
    if (a->values) {
        int code = input_read(s->verb, s->ctx, a->values, FAR_F64, &k->given_values);
        far_mat m = k->given_values.values;
        code =
            code == EXIT_DONE ? matrix_alloc(s->verb, m.rows, m.cols, FAR_F64, &k->values) : code;
        if (code == EXIT_DONE) {
            memcpy(k->values.data, m.data, (size_t)(m.rows * m.cols) * sizeof(double));
        }
        return code;
    }
    int code = matrix_alloc(s->verb, k->x.rows, outputs, FAR_F64, &k->values);
    if (code == EXIT_DONE && far_net_eval(s->ctx, k->net, &k->x, &k->values) != FAR_OK) {
        code = session_failure(s, k->table.label);
    }
    return code;
}

/* One column of several, where the kernel is that of one output. */
static void keep_column(far_mat *m, int64_t col)
{
    double *v = m->data;
    for (int64_t i = 0; i < m->rows; i++) {
        v[i] = v[i * m->cols + col];
    }
    *m = far_mat_view(v, m->rows, 1, FAR_F64);
}

/* To the rows of the kernel: (point, output) by (point, output) where it has all pairs. */
static int fit_rows(session *s, source *k, const char *label, far_mat *m)
{
    far_view_info info = far_view_describe(k->view);
    int64_t outputs = k->net ? far_net_describe(k->net).outputs : 1;
    if (k->net && k->opts.outputs == FAR_NTK_ONE && m->cols == outputs) {
        keep_column(m, k->opts.output);
    }
    if (m->rows == info.rows) {
        return EXIT_DONE;
    }
    if (m->rows == info.points && m->rows * m->cols == info.rows) {
        *m = far_mat_view(m->data, info.rows, 1, FAR_F64);
        return EXIT_DONE;
    }
    return failure(s->verb,
                   "%s: %lld x %lld, but the kernel has %lld rows: one row is needed for each, or "
                   "for each point a row with a column for each output",
                   label, (long long)m->rows, (long long)m->cols, (long long)info.rows);
}

static int fit_all(session *s, const source_args *a, source *k)
{
    int code = EXIT_DONE;
    if (k->targets.data) {
        const char *label = a->y ? k->target_table.label : k->table.label;
        code = fit_rows(s, k, label, &k->targets);
    }
    if (code == EXIT_DONE && k->values.data) {
        code = fit_rows(s, k, a->values ? k->given_values.label : a->net, &k->values);
    }
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* ---- new points ------------------------------------------------------------------------------ */

/* The columns of a new table that are called as those of X. */
static int columns_again(session *s, const source_args *a, const source *k, const dataset *d,
                         choice *c)
{
    int code = choose_columns(s, &k->table, a->features, "--features", a->y ? NULL : a->target, c);
    for (int64_t i = 0; code == EXIT_DONE && i < c->count; i++) {
        const char *name = far_frame_column(k->table.frame, c->cols[i]).name;
        if (far_frame_find(s->ctx, d->frame, name, &c->cols[i]) != FAR_OK) {
            code = session_failure(s, d->label);
        }
    }
    return code == EXIT_DONE ? check_numbers(s, d, c) : code;
}

static int new_coordinates(session *s, const source_args *a, source *k, const dataset *d,
                           far_mat *x)
{
    choice c = {0};
    far_frame *frame = NULL;
    int code = columns_again(s, a, k, d, &c);
    code = code == EXIT_DONE ? put_columns(s, d, &c, x) : code;
    free(c.cols);
    if (code != EXIT_DONE || !k->net) {
        return code;
    }
    far_mat raw = *x;
    *x = (far_mat){0};
    code = far_frame_from_mat(s->ctx, &raw, NULL, &frame) == FAR_OK ? EXIT_DONE
                                                                    : session_failure(s, NULL);
    code = code == EXIT_DONE ? encode(s, k, d->label, frame, NULL, raw.rows, x) : code;
    far_frame_destroy(frame);
    free(raw.data);
    return code;
}

/* As targets are in the rows of the kernel. */
static void to_kernel_rows(const source *k, far_mat *m)
{
    if (k->opts.outputs == FAR_NTK_ONE && m->cols > 1) {
        keep_column(m, k->opts.output);
    } else if (k->opts.outputs == FAR_NTK_FULL) {
        *m = far_mat_view(m->data, m->rows * m->cols, 1, FAR_F64);
    }
}

static int evaluate_start(session *s, source *k, const char *label, const far_mat *x,
                          far_mat *start)
{
    int code = matrix_alloc(s->verb, x->rows, far_net_describe(k->net).outputs, FAR_F64, start);
    if (code == EXIT_DONE && far_net_eval(s->ctx, k->net, x, start) != FAR_OK) {
        code = session_failure(s, label);
    }
    if (code == EXIT_DONE) {
        to_kernel_rows(k, start);
    }
    return code;
}

static int cross_kernel(session *s, const source_args *a, source *k, const far_mat *x,
                        far_mat *cross)
{
    int64_t side = far_view_describe(k->view).outputs;
    bool nngp = a->kind == FAR_KERNEL_NNGP;
    int code = matrix_alloc(s->verb, x->rows * side, k->x.rows * side, FAR_F64, cross);
    if (code != EXIT_DONE) {
        return code;
    }
    far_status st = k->net ? far_net_ntk(s->ctx, k->net, x, &k->x, &k->opts, cross)
                           : far_kernel_eval(s->ctx, k->kernel, x, &k->x, FAR_FILL_FULL,
                                             nngp ? cross : NULL, nngp ? NULL : cross);
    return st == FAR_OK ? EXIT_DONE : session_failure(s, NULL);
}

int source_cross(session *s, const source_args *a, source *k, const char *table, far_mat *cross,
                 far_mat *start)
{
    dataset d = {.arch = k->net ? far_net_describe(k->net).arch : NULL};
    far_mat x = {0};
    bool known = k->net && far_columns_describe(far_net_describe(k->net).columns).named;
    int code = dataset_read(s->verb, s->ctx, table, &a->table, NULL, &d);
    if (code == EXIT_DONE) {
        code = known ? encode(s, k, d.label, d.frame, NULL, d.count, &x)
                     : new_coordinates(s, a, k, &d, &x);
    }
    code = code == EXIT_DONE ? cross_kernel(s, a, k, &x, cross) : code;
    if (code == EXIT_DONE && start && k->net) {
        code = evaluate_start(s, k, d.label, &x, start);
    }
    free(x.data);
    dataset_free(&d);
    return code;
}

void source_to_table(const source *k, bool centred, far_mat *m)
{
    int64_t side = far_view_describe(k->view).outputs;
    if (side > 1 && m->cols == 1) {
        *m = far_mat_view(m->data, m->rows / side, side, FAR_F64);
    }
    far_net_info info = k->net ? far_net_describe(k->net) : (far_net_info){0};
    bool one = k->opts.outputs == FAR_NTK_ONE && m->cols == 1;
    if (!info.scaled || (!one && m->cols != info.outputs)) {
        return;
    }
    far_scaling scaling = far_columns_describe(far_net_describe(k->net).columns).scaling;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        int64_t output = one ? k->opts.output : i % m->cols;
        double *v = (double *)m->data + i;
        *v = *v * mat_get(&scaling.output_scale, 0, output) +
             (centred ? mat_get(&scaling.output_centre, 0, output) : 0);
    }
}

bool source_standardised(const source *k, bool inputs)
{
    if (!k->net || !far_net_describe(k->net).scaled) {
        return false;
    }
    far_scaling s = far_columns_describe(far_net_describe(k->net).columns).scaling;
    far_mat centre = inputs ? s.input_centre : s.output_centre;
    far_mat scale = inputs ? s.input_scale : s.output_scale;
    for (int64_t i = 0; i < centre.cols; i++) {
        if (mat_get(&centre, 0, i) != 0 || mat_get(&scale, 0, i) != 1) {
            return true;
        }
    }
    return false;
}

const char *source_target(const source *k, int64_t cols, int64_t col)
{
    int64_t at = cols == 1 && k->net && k->opts.outputs == FAR_NTK_ONE ? k->opts.output : col;
    bool known = cols == k->target_count || (cols == 1 && at < k->target_count);
    return known ? k->target_names[at] : NULL;
}

/* ---- the table of a matrix ------------------------------------------------------------------- */

static int check_table_rows(session *s, const source *k)
{
    int64_t rows = k->gram.in.values.rows, points = k->table.count;
    if (!k->gram.in.array || !k->table.frame || (points > 0 && rows % points == 0)) {
        return EXIT_DONE;
    }
    return failure(s->verb,
                   "%s has %lld rows, but the kernel in %s has %lld: they are not of the "
                   "same points",
                   k->table.label, (long long)points, k->gram.in.label, (long long)rows);
}

/* The table of a matrix that knows its points is held against them. */
static int check_table_points(session *s, const source_args *a, const source *k)
{
    choice c = {0};
    const gram_header *h = &k->gram.header;
    if (!a->kernel || !k->table.frame || !h->inputs) {
        return EXIT_DONE;
    }
    if (h->columns) {
        return gram_check_points(s, &k->gram, &k->table, NULL, 0);
    }
    const char *except = a->y ? NULL : a->target;
    int code = choose_columns(s, &k->table, a->features, "--features", except, &c);
    code = code == EXIT_DONE ? gram_check_points(s, &k->gram, &k->table, c.cols, c.count) : code;
    free(c.cols);
    return code;
}

/* A linear network says by itself that it learns no more. */
static int warn_of_odd_parts(session *s, const source_args *a, const source *k)
{
    double degree;
    int linear = 0;
    if (!k->kernel || far_power_degree(s->ctx, a->arch, &degree) != FAR_OK) {
        return EXIT_DONE;
    }
    far_any_kernel ntk = {.kernel = k->kernel};
    if (far_odd_part_linear(s->ctx, &ntk, k->x.cols, &linear) != FAR_OK) {
        return session_failure(s, k->table.label);
    }
    if (linear) {
        session_say(s, "without biases this network learns nothing odd but what is linear; "
                       "dense(b=0.1) has them");
    }
    return EXIT_DONE;
}

int source_read(session *s, const source_args *a, int32_t needs, source *out)
{
    bool valued = (needs & FAR_NEED_VALUES) && (a->values || a->net);
    int code = open_kernel(s, a, out);
    code = code == EXIT_DONE ? read_points(s, a, needs, out) : code;
    code = code == EXIT_DONE ? check_table_rows(s, out) : code;
    code = code == EXIT_DONE ? check_table_points(s, a, out) : code;
    if (code == EXIT_DONE && source_has_targets(a)) {
        code = read_targets(s, a, out);
    }
    if (code == EXIT_DONE && out->net && out->targets.data) {
        to_network_units(out->net, &out->targets);
    }
    code = code == EXIT_DONE && valued ? read_values(s, a, out) : code;
    code = code == EXIT_DONE && !a->kernel ? compute(s, a, out) : code;
    code = code == EXIT_DONE ? warn_of_odd_parts(s, a, out) : code;
    code = code == EXIT_DONE ? make_view(s, a, out) : code;
    return code == EXIT_DONE ? fit_all(s, a, out) : code;
}

/* NULL: a matrix that does not say. */
static const char *arch_of(const source_args *a, const source *k)
{
    return a->kernel ? k->gram.header.arch
           : k->net  ? far_net_describe(k->net).arch
                     : far_kernel_text(k->kernel);
}

int source_check_power(session *s, const source_args *a, const source *k, const char *place)
{
    double degree;
    const char *arch = arch_of(a, k);
    if (!arch) {
        return EXIT_DONE;
    }
    return far_power_degree(s->ctx, arch, &degree) == FAR_ERR_ARCH ? session_failure(s, place)
                                                                   : EXIT_DONE;
}

void source_free(source *k)
{
    for (int64_t i = 0; i < k->target_count; i++) {
        free(k->target_names[i]);
    }
    free(k->target_names);
    far_view_destroy(k->view);
    free(k->matrix.data);
    free(k->x.data);
    free(k->targets.data);
    free(k->values.data);
    free(k->layers);
    gram_free(&k->gram);
    input_free(&k->given_values);
    dataset_free(&k->table);
    dataset_free(&k->target_table);
    far_kernel_destroy(k->kernel);
    far_net_destroy(k->net);
}

/* ---- what is said --------------------------------------------------------------------------- */

static const char *kind_of(const source_args *a)
{
    return a->kernel ? "matrix" : a->net ? "network" : a->kind == FAR_KERNEL_NNGP ? "nngp" : "ntk";
}

/* The line for people. */
static void say_kernel(const source *k, const source_args *a, const char *points, far_result *r)
{
    const gram_header *h = &k->gram.header;
    if (a->kernel && h->kind && h->arch) {
        far_result_say(r, "kernel", "%s, %s kernel of '%s'%s", k->gram.in.label, h->kind, h->arch,
                       points);
    } else if (a->kernel) {
        far_result_say(r, "kernel", "%s%s", k->gram.in.label, points);
    } else if (a->net) {
        far_result_say(r, "kernel", "tangent kernel of %s%s", a->net, points);
    } else {
        far_result_say(r, "kernel", "%s of '%s'%s", a->kind == FAR_KERNEL_NNGP ? "NNGP" : "NTK",
                       far_kernel_text(k->kernel), points);
    }
}

void source_tell(const source *k, const source_args *a, far_result *r)
{
    far_view_info info = far_view_describe(k->view);
    char points[96], outputs[48] = "";
    if (info.outputs > 1) {
        snprintf(outputs, sizeof outputs, " of %lld outputs", (long long)info.outputs);
    }
    snprintf(points, sizeof points, ", %lld point%s%s", (long long)info.points,
             info.points == 1 ? "" : "s", outputs);
    say_kernel(k, a, points, r);
    far_result_text(r, "kernel", kind_of(a), NULL, NULL);
    if (a->kernel || a->net) {
        far_result_text(r, a->kernel ? "file" : "net", a->kernel ? k->gram.in.label : a->net, NULL,
                        NULL);
    }
    if (arch_of(a, k)) {
        far_result_text(r, "arch", arch_of(a, k), NULL, NULL);
    }
    far_result_count(r, "points", info.points, NULL, NULL);
    far_result_count(r, "outputs", info.outputs, NULL, NULL);
}
