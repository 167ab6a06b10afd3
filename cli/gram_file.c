#define _GNU_SOURCE
#include "gram_file.h"
#include "layers.h"

#include <farfield/predictor.h>
#include <stdlib.h>
#include <string.h>

/* ---- hashes -------------------------------------------------------------------------------- */

static int hash_frame(session *s, const far_frame *frame, const int64_t *cols, int64_t count,
                      const unsigned char *rows, char out[HASH_BYTES])
{
    return far_frame_hash(s->ctx, frame, cols, count, rows, out) == FAR_OK
               ? EXIT_DONE
               : session_failure(s, NULL);
}

/* Through a frame without names: what counts is the numbers. */
int hash_numbers(session *s, const far_mat *m, char out[HASH_BYTES])
{
    far_frame *frame = NULL;
    int64_t *cols = calloc((size_t)m->cols + 1, sizeof *cols);
    int code = cols ? EXIT_DONE : failure(s->verb, "out of memory");
    for (int64_t j = 0; cols && j < m->cols; j++) {
        cols[j] = j;
    }
    if (code == EXIT_DONE && far_frame_from_mat(s->ctx, m, NULL, &frame) != FAR_OK) {
        code = session_failure(s, NULL);
    }
    code = code == EXIT_DONE ? hash_frame(s, frame, cols, m->cols, NULL, out) : code;
    far_frame_destroy(frame);
    free(cols);
    return code;
}

static bool all_numbers(const dataset *d, const int64_t *cols, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        if (far_frame_column(d->frame, cols[k]).kind != FAR_COLUMN_NUMBER) {
            return false;
        }
    }
    return true;
}

static void take_numbers(const dataset *d, const int64_t *cols, int64_t count, double *out)
{
    for (int64_t i = 0; i < far_frame_rows(d->frame); i++) {
        for (int64_t k = 0; k < count && (!d->rows || d->rows[i]); k++) {
            *out++ = far_frame_column(d->frame, cols[k]).numbers[i];
        }
    }
}

int hash_columns(session *s, const dataset *d, const int64_t *cols, int64_t count,
                 char out[HASH_BYTES])
{
    far_mat numbers = {0};
    if (!all_numbers(d, cols, count)) {
        return hash_frame(s, d->frame, cols, count, d->rows, out);
    }
    int code = matrix_alloc(s->verb, d->count, count, FAR_F64, &numbers);
    if (code == EXIT_DONE) {
        take_numbers(d, cols, count, numbers.data);
        code = hash_numbers(s, &numbers, out);
    }
    free(numbers.data);
    return code;
}

int hash_parameters(session *s, far_net *net, char out[HASH_BYTES])
{
    far_mat all = far_net_parameters(net);
    far_mat column = far_mat_view(all.data, all.cols, 1, (far_dtype)all.dtype);
    return hash_numbers(s, &column, out);
}

/* ---- the columns of a network -------------------------------------------------------------- */

/* An input is called as its column, or COLUMN=WORD. -1: the table has none such. */
static int64_t column_of_input(const dataset *d, const char *name)
{
    int64_t best = -1, longest = 0;
    for (int64_t col = 0; col < far_frame_cols(d->frame); col++) {
        const char *other = far_frame_column(d->frame, col).name;
        int64_t length = (int64_t)strlen(other);
        bool begins = strncmp(name, other, (size_t)length) == 0;
        if (begins && (name[length] == 0 || name[length] == '=') && length >= longest) {
            best = col;
            longest = length;
        }
    }
    return best;
}

/* How many columns: the inputs of one that holds words follow each other. */
static int64_t find_columns(const far_net *net, const dataset *d, int64_t *cols)
{
    int64_t count = 0;
    if (!far_columns_describe(far_net_describe(net).columns).named) {
        for (; count < far_frame_cols(d->frame); count++) {
            cols[count] = count;
        }
        return count;
    }
    for (int64_t i = 0; i < far_net_describe(net).inputs; i++) {
        int64_t col =
            column_of_input(d, far_columns_describe(far_net_describe(net).columns).input_names[i]);
        if (col >= 0 && (count == 0 || cols[count - 1] != col)) {
            cols[count++] = col;
        }
    }
    return count;
}

/* "F1","a, b": quoted, so that any name can be listed. */
static char *list_columns(const dataset *d, const int64_t *cols, int64_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int64_t k = 0; out && k < count; k++) {
        fputs(k ? ",\"" : "\"", out);
        for (const char *p = far_frame_column(d->frame, cols[k]).name; *p; p++) {
            fputs(*p == '"' ? "\"\"" : (char[]){*p, 0}, out);
        }
        fputc('"', out);
    }
    if (out) {
        fclose(out);
    }
    return text;
}

int hash_inputs(session *s, const far_net *net, const dataset *d, char out[HASH_BYTES], char **list)
{
    int64_t room = far_frame_cols(d->frame) + far_net_describe(net).inputs;
    int64_t *cols = calloc((size_t)room + 1, sizeof *cols);
    *list = NULL;
    if (!cols) {
        return failure(s->verb, "out of memory");
    }
    int64_t count = find_columns(net, d, cols);
    int code = hash_columns(s, d, cols, count, out);
    if (code == EXIT_DONE && far_columns_describe(far_net_describe(net).columns).named) {
        *list = list_columns(d, cols, count);
    }
    free(cols);
    return code;
}

/* ---- the fields of a header, by their names in a file --------------------------------------- */

#define NUMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(gram_header, name), false                                                  \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
#name, offsetof(gram_header, name), true                                                   \
    }
static const struct {
    const char *name;
    size_t place;
    bool text;
} NOTES[] = {NUMBER(points), NUMBER(points2), NUMBER(outputs), TEXT(kind),
             TEXT(arch),     TEXT(param),     TEXT(layers),    TEXT(of),
             TEXT(columns),  TEXT(inputs),    TEXT(inputs2),   TEXT(parameters)};

/* ---- out ----------------------------------------------------------------------------------- */

enum { LONGEST_NOTE = 8192 }; /* an architecture of more says less than its kernel */

static void add_note(far_note *notes, int64_t *count, const char *name, const char *text,
                     int64_t number)
{
    bool there = text ? *text && strlen(text) <= LONGEST_NOTE : number >= 0;
    if (there) {
        notes[(*count)++] = (far_note){.name = name, .text = text, .number = number};
    }
}

static int64_t make_notes(const gram_header *h, far_note notes[FAR_NOTES])
{
    int64_t count = 0;
    for (size_t i = 0; i < sizeof NOTES / sizeof NOTES[0]; i++) {
        const char *field = (const char *)h + NOTES[i].place;
        if (NOTES[i].text) {
            add_note(notes, &count, NOTES[i].name, *(const char *const *)field, -1);
        } else {
            add_note(notes, &count, NOTES[i].name, NULL, *(const int64_t *)field);
        }
    }
    return count;
}

int gram_write(session *s, const far_mat *m, const int64_t *shape, int dims, const char *name,
               const gram_header *h, const char *path)
{
    far_note notes[FAR_NOTES];
    far_write_opts how = {.name = name,
                          .shape = shape,
                          .dims = dims,
                          .notes = notes,
                          .note_count = make_notes(h, notes)};
    far_status st = far_mat_write(s->ctx, m, &how, path);
    return st == FAR_OK ? EXIT_DONE : session_failure(s, NULL);
}

/* ---- in ------------------------------------------------------------------------------------ */

static gram_header read_header(const far_array *a)
{
    gram_header h = {.points = -1, .points2 = -1, .outputs = -1};
    for (size_t i = 0; i < sizeof NOTES / sizeof NOTES[0]; i++) {
        const far_note *n = far_array_note(a, NOTES[i].name);
        char *field = (char *)&h + NOTES[i].place;
        if (n && NOTES[i].text) {
            *(const char **)field = n->text;
        } else if (n) {
            *(int64_t *)field = n->number;
        }
    }
    return h;
}

/* (layers,) n, m (, outputs, outputs): what an array of gram is. */
typedef struct arrangement {
    int64_t layers, rows, cols, side; /* layers 0: no stack of them */
} arrangement;

static bool arrange_shape(const int64_t *shape, int dims, arrangement *a)
{
    bool stack = dims % 2 == 1, full = dims > 3;
    const int64_t *at = shape + stack;
    *a = (arrangement){
        .layers = stack ? shape[0] : 0, .rows = at[0], .cols = at[1], .side = full ? at[2] : 1};
    return !full || at[2] == at[3];
}

/* One layer's part, (i, j, a, b), added to (i side + a, j side + b). */
static void add_layer(const double *from, const arrangement *a, double *to)
{
    int64_t width = a->cols * a->side;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < a->cols; j++) {
            for (int64_t k = 0; k < a->side * a->side; k++) {
                to[(i * a->side + k / a->side) * width + j * a->side + k % a->side] += *from++;
            }
        }
    }
}

static int add_layers(session *s, const char *list, const arrangement *a, gram_file *g)
{
    int64_t stack = a->layers > 0 ? a->layers : 1, size = a->rows * a->cols * a->side * a->side;
    unsigned char *chosen = NULL;
    far_mat sum = {0};
    int code = list ? layers_read(s->verb, list, stack, &chosen) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = matrix_alloc(s->verb, a->rows * a->side, a->cols * a->side, FAR_F64, &sum);
    }
    for (int64_t l = 0; code == EXIT_DONE && l < stack; l++) {
        if (!chosen || chosen[l]) {
            add_layer((const double *)g->in.values.data + l * size, a, sum.data);
        }
    }
    free(chosen);
    g->arranged = sum.data;
    g->in.values = code == EXIT_DONE ? sum : g->in.values;
    return code;
}

static int arrange(session *s, const char *list, gram_file *g)
{
    arrangement a;
    far_array_info info = far_array_describe(g->in.array);
    const int64_t *shape = info.shape;
    int dims = info.dims;
    if (!arrange_shape(shape, dims, &a)) {
        return failure(s->verb,
                       "%s: the last two of its %d dimensions are %lld and %lld; a kernel of "
                       "several outputs has as many of both",
                       g->in.label, dims, (long long)shape[dims - 2], (long long)shape[dims - 1]);
    }
    if (list && a.layers == 0) {
        return usage_error(s->verb,
                           "--layers: %s is one kernel, not a stack of layers as gram --by-layer "
                           "writes it",
                           g->in.label);
    }
    if (a.side > 1 && g->header.points < 0) {
        g->header.points = a.rows;
        g->header.points2 = a.cols;
        g->header.outputs = a.side;
    }
    return dims == 2 ? EXIT_DONE : add_layers(s, list, &a, g);
}

static int check_kind(session *s, const gram_file *g)
{
    static const char *const KINDS[] = {"empirical", "ntk", "nngp"};
    const char *kind = g->header.kind;
    for (int i = 0; i < 3; i++) {
        if (!kind || strcmp(kind, KINDS[i]) == 0) {
            return EXIT_DONE;
        }
    }
    return failure(s->verb,
                   "%s: its farfield.kind is '%s'; known are empirical, ntk and nngp: write the "
                   "kernel anew",
                   g->in.label, kind);
}

static int check_shape(session *s, const gram_file *g)
{
    const gram_header *h = &g->header;
    far_mat m = g->in.values;
    int64_t cols = h->points2 >= 0 ? h->points2 : h->points;
    if (h->points < 0 || h->outputs < 1 ||
        (m.rows == h->points * h->outputs && m.cols == cols * h->outputs)) {
        return EXIT_DONE;
    }
    return failure(s->verb,
                   "%s: %lld x %lld, but its header says %lld and %lld points of %lld output%s "
                   "each; write the kernel anew",
                   g->in.label, (long long)m.rows, (long long)m.cols, (long long)h->points,
                   (long long)cols, (long long)h->outputs, h->outputs == 1 ? "" : "s");
}

int gram_read(session *s, const char *operand, const char *layers, gram_file *out)
{
    int code = array_read(s->verb, s->ctx, operand, &out->in);
    if (code != EXIT_DONE) {
        return code;
    }
    out->header = read_header(out->in.array);
    code = check_kind(s, out);
    code = code == EXIT_DONE ? arrange(s, layers, out) : code;
    return code == EXIT_DONE ? check_shape(s, out) : code;
}

void gram_free(gram_file *g)
{
    free(g->arranged);
    input_free(&g->in);
}

/* ---- what it is held against --------------------------------------------------------------- */

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

int gram_check_one_set(session *s, const gram_file *g)
{
    const gram_header *h = &g->header;
    if (!h->inputs2 || !differ(h->inputs, h->inputs2)) {
        return EXIT_DONE;
    }
    return failure(s->verb,
                   "%s: its header says that it is a kernel between two sets of points, %lld and "
                   "%lld; here one set is needed, without X2",
                   g->in.label, (long long)h->points, (long long)h->points2);
}

static int hash_named(session *s, const gram_file *g, const dataset *d, char out[HASH_BYTES])
{
    int64_t count = 0;
    int64_t *cols = calloc((size_t)far_frame_cols(d->frame) + 1, sizeof *cols);
    int code = cols ? EXIT_DONE : failure(s->verb, "out of memory");
    if (code == EXIT_DONE &&
        far_frame_list(s->ctx, d->frame, g->header.columns, cols, &count) != FAR_OK) {
        code = failure(s->verb, "%s is not the table of %s: %s", d->label, g->in.label,
                       far_ctx_message(s->ctx));
    }
    code = code == EXIT_DONE ? hash_columns(s, d, cols, count, out) : code;
    free(cols);
    return code;
}

int gram_check_points(session *s, const gram_file *g, const dataset *d, const int64_t *cols,
                      int64_t count)
{
    char hash[HASH_BYTES];
    if (!g->header.inputs) {
        return EXIT_DONE;
    }
    int code = cols ? hash_columns(s, d, cols, count, hash) : hash_named(s, g, d, hash);
    if (code != EXIT_DONE || strcmp(hash, g->header.inputs) == 0) {
        return code;
    }
    return failure(s->verb,
                   "%s does not hold the points of %s, by the hash in its header; give the table "
                   "that the kernel was computed for%s",
                   d->label, g->in.label, cols ? ", its coordinates alone or by --features" : "");
}

static int refuse_cross(session *s, const gram_file *cross, const gram_file *kernel,
                        const char *what)
{
    return failure(s->verb, "--cross: by their headers %s and %s are of other %s", cross->in.label,
                   kernel->in.label, what);
}

int gram_check_cross(session *s, const gram_file *cross, const gram_file *kernel, int64_t rows)
{
    const gram_header *c = &cross->header, *k = &kernel->header;
    const char *points = c->inputs2 ? c->inputs2 : c->inputs;
    if (cross->in.values.cols != rows) {
        return failure(s->verb,
                       "--cross: %s is %lld x %lld, but the kernel has %lld rows: a row for each "
                       "new point and a column for each of those are needed",
                       cross->in.label, (long long)cross->in.values.rows,
                       (long long)cross->in.values.cols, (long long)rows);
    }
    if (differ(points, k->inputs)) {
        return refuse_cross(s, cross, kernel,
                            "points (the second table of the cross kernel "
                            "counts)");
    }
    if (differ(c->kind, k->kind) || differ(c->arch, k->arch) || differ(c->param, k->param)) {
        return refuse_cross(s, cross, kernel, "kernels");
    }
    if (differ(c->parameters, k->parameters)) {
        return refuse_cross(s, cross, kernel, "weights");
    }
    return differ(c->layers, k->layers) || differ(c->of, k->of)
               ? refuse_cross(s, cross, kernel, "layers or outputs")
               : EXIT_DONE;
}
