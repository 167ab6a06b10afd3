/* Checkpoints: the network's file, with what an unfinished run needs to go on. Tensors state....
 * hold its numbers, texts train.... say which run it is. */
#define _GNU_SOURCE
#include "net_file.h"
#include "train_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 1
#define MARKS_MOST 40
#define HEADER_MOST 100000000 /* bytes, of any safetensors file */

/* ---- which run it is ----------------------------------------------------------------------- */

static const char *const PARAMS[] = {"ntk", "standard"};
static const char *const DTYPES[] = {"float64", "float32"};
static const char *const OPTIMIZERS[] = {"adam", "sgd", "momentum", "gd", "adamw"};
static const char *const LOSSES[] = {"mse", "bce", "ce"};

typedef struct mark {
    const char *key;
    far_text value;
    bool hash;          /* says nothing to a reader */
    bool number;        /* may be written in more than one way */
    const char *absent; /* what it was in files of older programs, which do not have it */
} mark;

typedef struct marks {
    far_ctx *ctx;
    mark items[MARKS_MOST];
    int count;
} marks;

static far_text *add_mark(marks *m, const char *key)
{
    mark *item = &m->items[m->count++];
    *item = (mark){.key = key, .value = {.ctx = m->ctx}};
    return &item->value;
}

static void mark_number(marks *m, const char *key, double value)
{
    far_text_add_number(add_mark(m, key), value);
    m->items[m->count - 1].number = true;
}

static void mark_whole(marks *m, const char *key, uint64_t value)
{
    far_text_add(add_mark(m, key), "%llu", (unsigned long long)value);
}

static void mark_name(marks *m, const char *key, const char *const *names, int32_t which)
{
    far_text_add(add_mark(m, key), "%s", names[which]);
}

static void mark_hash(marks *m, const char *key, uint64_t value)
{
    far_text_add(add_mark(m, key), "%016llx", (unsigned long long)value);
    m->items[m->count - 1].hash = true;
}

static void mark_layers(marks *m, const far_run *r)
{
    far_text *t = add_mark(m, "train.layers");
    far_text_add(t, "%s", r->opts.layers ? "" : "all");
    for (int64_t i = 0; r->opts.layers && i < r->net->info.layers; i++) {
        far_text_add(t, "%d", r->opts.layers[i] != 0);
    }
}

static void mark_network(marks *m, const far_run *r)
{
    const far_net_info *info = &r->net->info;
    mark_whole(m, "train.version", VERSION);
    far_text_add(add_mark(m, "train.arch"), "%s", r->net->text);
    mark_name(m, "train.param", PARAMS, info->param);
    mark_whole(m, "train.linearized", r->linear);
    far_text_add(add_mark(m, "train.init"), "%s",
                 info->init < 0 ? "unknown" : far_init_names[info->init]);
    mark_whole(m, "train.weights_seed", info->seed);
    mark_number(m, "train.w0", info->w0);
}

/* Files of older programs do not have the last mark: then it was this. */
static void mark_absent(marks *m, const char *value)
{
    m->items[m->count - 1].absent = value;
}

/* Two schedules depend on how many epochs there are to be. */
static void mark_schedule(marks *m, const far_train_opts *o)
{
    far_text *t = add_mark(m, "train.schedule");
    const far_schedule *s = &o->schedule;
    if (s->kind == FAR_SCHEDULE_CONSTANT) {
        far_text_add(t, "constant");
    } else if (s->kind == FAR_SCHEDULE_STEP) {
        far_text_add(t, "step:%lld,%.17g", (long long)s->every, s->factor);
    } else {
        far_text_add(t, "%s over %lld epochs", s->kind == FAR_SCHEDULE_COSINE ? "cosine" : "linear",
                     (long long)o->epochs);
    }
    mark_absent(m, "constant");
}

static void mark_augment(marks *m, const far_augment *a)
{
    far_text *t = add_mark(m, "train.augment");
    far_text_add(t, "%s", a->flip ? "flip" : a->pad > 0 ? "" : "none");
    if (a->pad > 0) {
        far_text_add(t, "%scrop(%lld)", a->flip ? "," : "", (long long)a->pad);
    }
    mark_absent(m, "none");
}

static void mark_options(marks *m, const far_run *r)
{
    const far_train_opts *o = &r->opts;
    mark_name(m, "train.dtype", DTYPES, o->dtype);
    mark_name(m, "train.optimizer", OPTIMIZERS, o->optimizer);
    mark_name(m, "train.loss", LOSSES, o->loss);
    mark_number(m, "train.lr", o->lr);
    mark_number(m, "train.beta1", o->beta1);
    mark_number(m, "train.beta2", o->beta2);
    mark_number(m, "train.epsilon", o->epsilon);
    mark_number(m, "train.momentum", o->momentum);
    mark_number(m, "train.l2_to_init", o->l2_to_init);
    mark_whole(m, "train.selective", o->selective != 0);
    mark_absent(m, "0");
    mark_number(m, "train.weight_decay", o->weight_decay);
    mark_absent(m, "0");
    mark_schedule(m, o);
    mark_whole(m, "train.patience", (uint64_t)o->patience);
    mark_absent(m, "0");
    mark_augment(m, &r->augment);
    mark_number(m, "train.stop_loss", o->stop_loss);
    mark_layers(m, r);
    mark_whole(m, "train.seed", o->seed);
}

static void mark_data(marks *m, const far_run *r)
{
    mark_whole(m, "train.rows", (uint64_t)r->data->rows);
    mark_whole(m, "train.batch", (uint64_t)r->opts.batch);
    mark_hash(m, "train.inputs", r->data->x_hash);
    mark_hash(m, "train.targets", r->data->y_hash);
    mark_whole(m, "train.val_rows", (uint64_t)r->val->rows);
    mark_absent(m, "0");
    if (r->val->rows > 0) {
        mark_hash(m, "train.val_inputs", r->val->x_hash);
        mark_hash(m, "train.val_targets", r->val->y_hash);
    }
}

static far_status make_marks(const far_run *r, marks *m)
{
    far_status st = FAR_OK;
    *m = (marks){.ctx = r->ctx};
    mark_network(m, r);
    mark_options(m, r);
    mark_data(m, r);
    for (int i = 0; i < m->count && st == FAR_OK; i++) {
        st = m->items[i].value.status;
    }
    return st;
}

static void clear_marks(marks *m)
{
    for (int i = 0; i < m->count; i++) {
        far_free(m->ctx, m->items[i].value.data);
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static double value_at(const far_run_array *a, int64_t i)
{
    return a->dtype == FAR_F64 ? ((const double *)a->values)[i]
                               : (double)((const float *)a->values)[i];
}

/* An array as the writer takes them; *copy is to be freed. */
static far_status widen(far_ctx *ctx, const far_run_array *a, far_tensor_out *out, double **copy)
{
    far_status st = far_alloc(ctx, a->count, copy);
    for (int64_t i = 0; i < a->count && st == FAR_OK; i++) {
        (*copy)[i] = value_at(a, i);
    }
    *out = (far_tensor_out){.name = a->name, .values = *copy, .dims = 1, .shape = {a->count, 0}};
    return st;
}

static far_status write_run(far_run *r, const marks *m, far_output *o)
{
    far_status st = FAR_OK;
    far_run_array arrays[FAR_RUN_ARRAYS];
    far_tensor_out tensors[FAR_RUN_ARRAYS];
    double *copies[FAR_RUN_ARRAYS] = {0};
    far_pair texts[MARKS_MOST];
    int count = far_run_arrays(r, arrays);
    for (int i = 0; i < count; i++) {
        FAR_TRY(widen(r->ctx, &arrays[i], &tensors[i], &copies[i]));
    }
    for (int i = 0; i < m->count; i++) {
        texts[i] = (far_pair){m->items[i].key, m->items[i].value.data};
    }
    FAR_TRY(far_net_write_with(r->net, tensors, count, texts, m->count, o));
done:
    for (int i = 0; i < count; i++) {
        far_free(r->ctx, copies[i]);
    }
    return st;
}

far_status far_checkpoint_save(far_run *r)
{
    far_status st = FAR_OK;
    far_output o = {.fd = -1};
    marks m;
    far_run_store(r);
    FAR_TRY(make_marks(r, &m));
    FAR_TRY(far_output_open(r->ctx, r->opts.checkpoint, false, &o));
    FAR_TRY(write_run(r, &m, &o));
    FAR_TRY(far_output_commit(&o));
done:
    clear_marks(&m);
    far_output_close(&o);
    return far_label_failure(r->ctx, st, o.label);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* "lr" of "train.lr" */
static const char *plain(const char *key)
{
    return key + strlen(FAR_TRAIN_PREFIX);
}

static bool is_same(const mark *m, const char *was)
{
    double before, now;
    if (strcmp(was, m->value.data) == 0) {
        return true;
    }
    return m->number && far_number_parse(was, &before) && far_number_parse(m->value.data, &now) &&
           before == now;
}

static far_status check_mark(const far_safetensors *file, const mark *m)
{
    const char *said = far_safetensors_text(file, m->key), *was = said ? said : m->absent;
    if (was && is_same(m, was)) {
        return FAR_OK;
    }
    if (m->hash) {
        return far_input_fail(&file->in, FAR_ERR_FORMAT,
                              "is the checkpoint of another run: the values of %s are others now",
                              plain(m->key));
    }
    char shown[128];
    far_show(shown, sizeof shown, was ? was : "not said", (int64_t)strlen(was ? was : "not said"));
    return far_input_fail(&file->in, FAR_ERR_FORMAT,
                          "is the checkpoint of another run: %s was %s, and is %s now",
                          plain(m->key), shown, m->value.data);
}

static far_status check_marks(const far_safetensors *file, const marks *m)
{
    far_status st = FAR_OK;
    if (!far_safetensors_text(file, "train.version")) {
        return far_input_fail(&file->in, FAR_ERR_FORMAT,
                              "is no checkpoint of a training run, so there is nothing to resume");
    }
    for (int i = 0; i < m->count && st == FAR_OK; i++) {
        st = check_mark(file, &m->items[i]);
    }
    return st;
}

static const far_tensor *find_tensor(const far_safetensors *file, const char *name)
{
    for (int64_t i = 0; i < file->tensor_count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}

static void put_values(far_run_array *a, const double *from)
{
    for (int64_t i = 0; i < a->count; i++) {
        if (a->dtype == FAR_F64) {
            ((double *)a->values)[i] = from[i];
        } else {
            ((float *)a->values)[i] = (float)from[i];
        }
    }
}

static far_status read_array(const far_safetensors *file, far_run_array *a)
{
    double *values = NULL;
    const far_tensor *t = find_tensor(file, a->name);
    if (!t || t->dims != 1 || t->values.cols != a->count) {
        return far_tensor_fail(&file->in, FAR_ERR_FORMAT, a->name,
                               t ? "not of %lld numbers: the checkpoint is damaged"
                                 : "missing, of %lld numbers: the checkpoint is damaged",
                               (long long)a->count);
    }
    far_status st = far_alloc(file->in.ctx, a->count, &values);
    if (st == FAR_OK) {
        far_stored_numbers(&t->values, values, a->count, 1);
        put_values(a, values);
    }
    far_free(file->in.ctx, values);
    return st;
}

static bool is_count(double value, double most)
{
    return value >= 0 && value <= most && value == floor(value);
}

static far_status check_state(const far_run *r, const far_safetensors *file)
{
    const far_train_state *s = &r->state;
    if (!is_count(s->epoch, 0x1p53) || !is_count(s->step, (double)(r->batch_count - 1)) ||
        !is_count(s->steps, 0x1p53) || !isfinite(s->sum) ||
        !is_count(r->validation.best_epoch, s->epoch)) {
        return far_tensor_fail(&file->in, FAR_ERR_FORMAT, "state.numbers",
                               "holds what cannot be: the checkpoint is damaged");
    }
    if (s->epoch > (double)r->opts.epochs) {
        return far_input_fail(&file->in, FAR_ERR_ARG,
                              "has %.0f epochs behind it, more than the %lld asked for", s->epoch,
                              (long long)r->opts.epochs);
    }
    return FAR_OK;
}

/* A network that came linearised must be so at the point the run began with. */
static far_status check_start(const far_run *r, const far_safetensors *file)
{
    size_t size = far_dtype_size(r->opts.dtype), bytes = (size_t)r->net->info.parameters * size;
    if (r->linear && !r->linearizes) {
        far_net_pack(r->net, r->net->start, r->opts.dtype, r->params);
        if (memcmp(r->params, r->start, bytes) != 0) {
            return far_input_fail(&file->in, FAR_ERR_FORMAT,
                                  "is the checkpoint of another run: linearised elsewhere");
        }
    }
    return FAR_OK;
}

static far_status check_network(const far_run *r, const far_net *saved, const far_safetensors *file)
{
    if (saved->info.parameters != r->net->info.parameters ||
        saved->info.frozen != r->net->info.frozen ||
        saved->statistic_count != r->net->statistic_count) {
        return far_input_fail(&file->in, FAR_ERR_FORMAT,
                              "is damaged: its weights are not those of the run it names");
    }
    if (memcmp(saved->frozen, r->net->frozen, (size_t)saved->info.frozen * sizeof *saved->frozen) !=
        0) {
        return far_input_fail(&file->in, FAR_ERR_FORMAT,
                              "is the checkpoint of another run: its frozen weights are others");
    }
    return FAR_OK;
}

/* Programs before this one did not keep it. */
static far_status read_history(const far_run *r, const far_safetensors *file, const char *name,
                               double *history)
{
    far_run_array a = {name, history, (int64_t)r->state.epoch, FAR_F64};
    if (a.values && a.count > 0 && find_tensor(file, a.name)) {
        return read_array(file, &a);
    }
    for (int64_t i = 0; a.values && i < a.count; i++) {
        history[i] = NAN;
    }
    return FAR_OK;
}

static far_status read_arrays(far_run *r, const far_safetensors *file)
{
    far_status st = FAR_OK;
    far_run_array arrays[FAR_RUN_ARRAYS];
    int count = far_run_arrays(r, arrays);
    for (int i = 0; i < count; i++) {
        FAR_TRY(read_array(file, &arrays[i]));
    }
    FAR_TRY(check_state(r, file));
    FAR_TRY(check_start(r, file));
    FAR_TRY(read_history(r, file, FAR_HISTORY_NAME, r->history));
    FAR_TRY(read_history(r, file, FAR_VAL_HISTORY_NAME, r->val_history));
done:
    return st;
}

/* The network is touched when nothing can fail any more. */
static void take_over(far_run *r, const far_net *from)
{
    memcpy(r->net->params, from->params, (size_t)from->info.parameters * sizeof *from->params);
    memcpy(r->net->statistics, from->statistics,
           (size_t)from->statistic_count * sizeof *from->statistics);
    far_run_reload(r);
}

far_status far_checkpoint_load(far_run *r)
{
    far_status st = FAR_OK;
    far_safetensors file = {0};
    far_net *saved = NULL;
    marks m;
    far_files_hold(r->ctx); /* it is read to be updated */
    FAR_TRY(make_marks(r, &m));
    FAR_TRY(far_safetensors_load(r->ctx, r->opts.checkpoint, &file));
    FAR_TRY(check_marks(&file, &m));
    FAR_TRY(far_net_load(r->ctx, r->opts.checkpoint, NULL, &saved));
    FAR_TRY(check_network(r, saved, &file));
    FAR_TRY(read_arrays(r, &file));
    take_over(r, saved);
done:
    far_files_release(r->ctx);
    far_net_destroy(saved);
    far_safetensors_clear(&file);
    clear_marks(&m);
    return st;
}

/* Whether the header, behind its length, has the key that every checkpoint has: enough also where
 * the rest is damaged. In the key, only the quotes occur twice. */
static bool names_a_run(FILE *file)
{
    static const char KEY[] = "\"train.version\"";
    size_t met = 0;
    bool text = fseek(file, 8, SEEK_SET) == 0 && getc(file) == '{';
    for (int64_t i = 0; text && i < HEADER_MOST && KEY[met]; i++) {
        int c = getc(file);
        text = c != EOF;
        met = c == KEY[met] ? met + 1 : c == '"';
    }
    return text && !KEY[met];
}

int far_checkpoint_is(const char *path)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    bool is = file && names_a_run(file);
    if (file) {
        fclose(file);
    }
    return is;
}

far_status far_checkpoint_check_place(far_ctx *ctx, const char *path)
{
    struct stat info;
    char shown[512];
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || far_checkpoint_is(path)) {
        return FAR_OK; /* free, a device that keeps nothing, or what it is for */
    }
    far_show(shown, sizeof shown, path, (int64_t)strlen(path));
    return far_fail(ctx, FAR_ERR_ARG,
                    "%s: is there, and is no checkpoint of a training run, so it is not replaced; "
                    "remove it, or give the checkpoint another name",
                    shown);
}

bool far_checkpoint_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void far_checkpoint_remove(const char *path)
{
    if (path) {
        unlink(path);
    }
}
