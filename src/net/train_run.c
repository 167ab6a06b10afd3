/* A run: its memory, its beginning, and what it leaves behind. */
#include "train_internal.h"

#include <math.h>
#include <string.h>

/* A minibatch is split so that a few threads can share it, in fewer chunks if the gradients of more
 * would not stay in cache. A large batch has more chunks than threads, so that one which is late
 * holds up little. */
#define CHUNKS_FEW 2
#define CHUNKS_LEAST 4
#define CACHE_BYTES ((int64_t)512 << 10)
#define PARTS_BYTES ((int64_t)64 << 20)
#define BLOCK_STEP 8
/* Epochs whose losses are kept for the checkpoint alone: 8 MiB. */
#define HISTORY_MOST ((int64_t)1 << 20)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t a, int64_t step)
{
    return (a + step - 1) / step * step;
}

/* ---- shapes -------------------------------------------------------------------------------- */

static bool has_step(const far_net *net, far_step_kind kind)
{
    for (int64_t i = 0; i < net->step_count; i++) {
        if (net->steps[i].kind == kind) {
            return true;
        }
    }
    return false;
}

static void split_batch(far_run *r)
{
    int64_t batch = r->opts.batch, size = (int64_t)far_dtype_size(r->opts.dtype);
    int64_t part = size * (r->net->info.parameters + 1), room = PARTS_BYTES / part;
    int64_t few = CHUNKS_LEAST * part > CACHE_BYTES ? CHUNKS_FEW : CHUNKS_LEAST;
    r->plain_block = far_engine_rows(r->engine);
    r->block = least(r->plain_block, round_up((batch + few - 1) / few, BLOCK_STEP));
    r->chunks =
        least(room < few ? few : least(room, FAR_CHUNKS_MOST), (batch + r->block - 1) / r->block);
    if (r->batchnorm) { /* every row needs all the others */
        r->block = batch;
        r->chunks = 1;
    }
    r->batch_count = (r->data->rows + batch - 1) / batch;
}

static far_status check_batchnorm(const far_run *r)
{
    int64_t last = r->data->rows % r->opts.batch;
    if (r->batchnorm && (r->opts.batch == 1 || last == 1)) {
        return far_fail(r->ctx, FAR_ERR_ARG,
                        "batchnorm needs at least 2 rows in every minibatch, but %s has 1; choose "
                        "another batch",
                        r->opts.batch == 1 ? "each" : "the last");
    }
    return FAR_OK;
}

bool far_run_gathers(const far_run *r)
{
    return r->opts.batch < r->data->rows || far_augment_is(&r->augment);
}

bool far_run_trains(const far_run *r, const far_step *step)
{
    return step->unit >= 0 && (!r->opts.layers || r->opts.layers[step->unit]);
}

/* ---- memory -------------------------------------------------------------------------------- */

static far_status take(far_run *r, int64_t count, far_dtype dtype, void **out)
{
    far_status st = far_alloc_bytes(r->ctx, count, far_dtype_size(dtype), out);
    if (st == FAR_OK) {
        memset(*out, 0, (size_t)count * far_dtype_size(dtype));
    }
    return st;
}

static far_status take_params(far_run *r, bool wanted, void **out)
{
    return wanted ? take(r, r->net->info.parameters, r->opts.dtype, out) : FAR_OK;
}

static far_status take_statistics(far_run *r, double **out)
{
    return far_alloc(r->ctx, r->net->statistic_count, out);
}

static far_status take_vectors(far_run *r)
{
    far_status st = FAR_OK;
    int memory = far_optimizer_memory(r->opts.optimizer);
    FAR_TRY(take_params(r, true, &r->params));
    FAR_TRY(take_params(r, true, &r->start));
    FAR_TRY(take_params(r, true, &r->before));
    FAR_TRY(take_params(r, true, &r->good));
    FAR_TRY(take_params(r, memory > 0, &r->mean));
    FAR_TRY(take_params(r, memory > 1, &r->square));
    FAR_TRY(take_params(r, r->linear, &r->moved));
    FAR_TRY(take_statistics(r, &r->statistics));
    FAR_TRY(take_statistics(r, &r->block_statistics));
    FAR_TRY(take_statistics(r, &r->before_statistics));
    FAR_TRY(take_statistics(r, &r->good_statistics));
    FAR_TRY(take_params(r, r->val->rows > 0, &r->best));
    FAR_TRY(take_statistics(r, &r->best_statistics));
    FAR_TRY(far_alloc(r->ctx, r->net->info.parameters, &r->unpacked));
done:
    return st;
}

/* What a pixel of 0 has become, for the border of shifted images. */
static far_status take_black(far_run *r)
{
    const far_columns *c = r->net->columns;
    far_status st =
        far_augment_is(&r->augment) ? take(r, r->data->inputs, r->opts.dtype, &r->black) : FAR_OK;
    for (int64_t j = 0; st == FAR_OK && r->black && j < r->data->inputs; j++) {
        double value = (0 - far_input_centre(c)[j]) / far_input_scale(c)[j];
        if (r->opts.dtype == FAR_F64) {
            ((double *)r->black)[j] = value;
        } else {
            ((float *)r->black)[j] = (float)value;
        }
    }
    return st;
}

/* Parts do not start at the same place of a page, or they would push each other out of cache. */
static far_status take_parts(far_run *r)
{
    far_status st = FAR_OK;
    r->part_stride = round_up(r->net->info.parameters, 16) + 16;
    FAR_TRY(take(r, r->chunks * r->part_stride, r->opts.dtype, &r->parts));
    FAR_TRY(far_alloc(r->ctx, FAR_CHUNKS_MOST, &r->part_losses));
    FAR_TRY(far_alloc(r->ctx, r->data->rows, &r->order));
    for (int64_t i = 0; i < r->data->rows; i++) {
        r->order[i] = i;
    }
done:
    return st;
}

static far_status take_hand(far_run *r, far_hand *h)
{
    far_status st = FAR_OK;
    far_dtype dtype = r->opts.dtype;
    const far_train_data *d = r->data;
    int needs = FAR_PASS_BACKWARD | (r->linear ? FAR_PASS_TANGENT : 0) |
                (r->batchnorm ? FAR_PASS_BATCH : 0);
    int64_t most = r->block > r->plain_block ? r->block : r->plain_block;
    FAR_TRY(far_pass_create(r->ctx, r->engine, r->block, needs, &h->pass));
    if (r->batchnorm || r->block < r->plain_block) {
        FAR_TRY(far_pass_create(r->ctx, r->engine, r->plain_block, r->linear ? FAR_PASS_TANGENT : 0,
                                &h->plain));
    }
    if (far_run_gathers(r)) {
        FAR_TRY(take(r, r->block * far_gathered_ld(d), dtype, &h->x));
        FAR_TRY(take(r, r->block * far_loss_targets(&d->rule), dtype, &h->y));
    }
    FAR_TRY(take(r, most * d->outputs, dtype, &h->f));
    FAR_TRY(take(r, r->block * d->outputs, dtype, &h->slope));
done:
    return st;
}

static void free_hand(far_ctx *ctx, far_hand *h)
{
    far_pass_destroy(h->pass);
    far_pass_destroy(h->plain);
    FAR_FREE_ALL(ctx, h->x, h->y, h->f, h->slope);
}

static far_status take_hands(far_run *r, int threads)
{
    far_status st = far_alloc(r->ctx, threads, &r->hands);
    for (int i = 0; i < threads && st == FAR_OK; i++) {
        r->hands[i] = (far_hand){0};
        r->hand_count++;
        st = take_hand(r, &r->hands[i]);
    }
    return st;
}

static far_status take_weights(far_run *r)
{
    far_status st = far_weights_create(r->ctx, r->engine, &r->weights);
    if (st == FAR_OK && r->linear) {
        st = far_direction_create(r->ctx, r->engine, r->weights, &r->direction);
    }
    return st;
}

void far_run_destroy(far_run *r)
{
    if (!r) {
        return;
    }
    for (int i = 0; i < r->hand_count; i++) {
        free_hand(r->ctx, &r->hands[i]);
    }
    far_weights_destroy(r->weights);
    far_weights_destroy(r->direction);
    far_engine_destroy(r->engine);
    FAR_FREE_ALL(r->ctx, r->hands, r->params, r->start, r->mean, r->square, r->moved, r->before,
                 r->good, r->best, r->statistics, r->parts, r->block_statistics,
                 r->before_statistics, r->good_statistics, r->best_statistics, r->order,
                 r->own_history, r->own_val_history, r->part_losses, r->unpacked, r->black, r);
}

/* ---- the beginning ------------------------------------------------------------------------- */

static void subtract(far_dtype dtype, const void *a, const void *b, int64_t count, void *out)
{
    for (int64_t i = 0; i < count; i++) {
        if (dtype == FAR_F64) {
            ((double *)out)[i] = ((const double *)a)[i] - ((const double *)b)[i];
        } else {
            ((float *)out)[i] = ((const float *)a)[i] - ((const float *)b)[i];
        }
    }
}

static void copy_params(const far_run *r, void *to, const void *from)
{
    memcpy(to, from, (size_t)r->net->info.parameters * far_dtype_size(r->opts.dtype));
}

static void copy_statistics(const far_run *r, double *to, const double *from)
{
    memcpy(to, from, (size_t)r->net->statistic_count * sizeof *to);
}

static void set_weights(far_run *r, const void *params, const double *statistics)
{
    if (r->linear) {
        subtract(r->opts.dtype, params, r->start, r->net->info.parameters, r->moved);
        far_weights_set(r->weights, r->start, 0, 1);
        far_weights_set(r->direction, r->moved, 0, 1);
    } else {
        far_weights_set(r->weights, params, 0, 1);
    }
    far_weights_set_statistics(r->weights, statistics);
}

void far_run_keep(far_run *r, void *params, double *statistics)
{
    copy_params(r, params, r->params);
    copy_statistics(r, statistics, r->statistics);
}

void far_run_return_to_good(far_run *r)
{
    copy_params(r, r->params, r->good);
    copy_statistics(r, r->statistics, r->good_statistics);
    set_weights(r, r->params, r->statistics);
}

void far_run_reload(far_run *r)
{
    far_net_pack(r->net, r->net->params, r->opts.dtype, r->params);
    copy_statistics(r, r->statistics, r->net->statistics);
    set_weights(r, r->params, r->statistics);
}

static void begin(far_run *r)
{
    const far_net *net = r->net;
    far_net_pack(net, net->start ? net->start : net->params, r->opts.dtype, r->start);
    far_run_reload(r);
    far_run_keep(r, r->before, r->before_statistics);
    far_run_keep(r, r->good, r->good_statistics);
    r->state = (far_train_state){.first = NAN, .loss = NAN, .older = NAN, .best = NAN};
    r->validation = (far_validation){.loss = NAN, .best = NAN};
    r->final_loss = NAN;
    r->seen = -1;
}

static void set_update(far_run *r)
{
    double terms = far_loss_terms(&r->data->rule, r->data->rows);
    r->apply = far_update_select(r->opts.dtype);
    r->pull = (r->opts.loss == FAR_LOSS_MSE ? 2 : 1) * r->opts.l2_to_init / terms;
    r->update = (far_update){.parts = r->parts,
                             .part_stride = r->part_stride,
                             .params = r->params,
                             .mean = r->mean,
                             .square = r->square,
                             .start = r->start,
                             .moved = r->moved,
                             .pull = r->pull};
}

/* A checkpoint holds the history also if this call does not want it: the one that resumes may. */
static far_status take_history(far_run *r, double *callers, double **own, double **out)
{
    far_status st = FAR_OK;
    if (!callers && r->opts.checkpoint && r->opts.epochs <= HISTORY_MOST) {
        st = far_alloc(r->ctx, r->opts.epochs, own);
    }
    *out = callers ? callers : *own;
    return st;
}

static far_status build(far_run *r, int threads)
{
    far_status st = FAR_OK;
    FAR_TRY(far_augment_read(r->ctx, r->net, r->opts.augment, &r->augment));
    FAR_TRY(check_batchnorm(r));
    FAR_TRY(far_engine_create(r->ctx, r->net, r->opts.dtype, &r->engine));
    split_batch(r);
    FAR_TRY(take_weights(r));
    FAR_TRY(take_vectors(r));
    FAR_TRY(take_parts(r));
    FAR_TRY(take_black(r));
    FAR_TRY(take_hands(r, (int)least(threads, r->chunks)));
    FAR_TRY(take_history(r, r->opts.history, &r->own_history, &r->history));
    if (r->best) {
        FAR_TRY(take_history(r, r->opts.val_history, &r->own_val_history, &r->val_history));
    }
    r->slices = r->hand_count;
    set_update(r);
    begin(r);
done:
    return st;
}

far_status far_run_create(far_ctx *ctx, far_net *net, const far_train_data *data,
                          const far_train_data *val, const far_train_opts *opts, int threads,
                          far_watch *watch, far_run **out)
{
    far_run *r = NULL;
    far_status st = FAR_OK;
    *out = NULL;
    FAR_TRY(far_alloc(ctx, 1, &r));
    *r = (far_run){.ctx = ctx, .net = net, .data = data, .val = val, .opts = *opts, .watch = watch};
    r->began = far_seconds();
    r->linearizes = opts->linearized && !net->start;
    r->linear = opts->linearized || net->start;
    r->batchnorm = !r->linear && has_step(net, FAR_STEP_BATCHNORM);
    FAR_TRY(build(r, threads));
    *out = r;
    r = NULL;
done:
    far_run_destroy(r);
    return st;
}

int far_run_arrays(far_run *r, far_run_array out[FAR_RUN_ARRAYS])
{
    int64_t params = r->net->info.parameters, statistics = r->net->statistic_count;
    far_dtype dtype = r->opts.dtype;
    const far_run_array all[FAR_RUN_ARRAYS] = {
        {"state.numbers", &r->state, sizeof r->state / sizeof(double), FAR_F64},
        {"state.start", r->start, params, dtype},
        {"state.mean", r->mean, params, dtype},
        {"state.square", r->square, params, dtype},
        {"state.before", r->before, params, dtype},
        {"state.good", r->good, params, dtype},
        {"state.before_statistics", r->before_statistics, statistics, FAR_F64},
        {"state.good_statistics", r->good_statistics, statistics, FAR_F64},
        {"state.validation", r->best ? &r->validation : NULL, sizeof r->validation / sizeof(double),
         FAR_F64},
        {"state.best", r->best, params, dtype},
        {"state.best_statistics", r->best ? r->best_statistics : NULL, statistics, FAR_F64},
        {FAR_HISTORY_NAME, r->history, (int64_t)r->state.epoch, FAR_F64},
        {FAR_VAL_HISTORY_NAME, r->val_history, (int64_t)r->state.epoch, FAR_F64}};
    int count = 0;
    for (int i = 0; i < FAR_RUN_ARRAYS; i++) {
        if (all[i].values && all[i].count > 0) {
            out[count++] = all[i];
        }
    }
    return count;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void copy_span(double *to, const double *from, int64_t at, int64_t count)
{
    if (at >= 0) {
        memcpy(to + at, from + at, (size_t)count * sizeof *to);
    }
}

/* What did not train keeps every bit, also those that the precision of training does not hold. */
static void store_trained(const far_run *r, const void *packed, double *to)
{
    far_net_unpack(r->net, r->opts.dtype, packed, r->unpacked);
    for (int64_t i = 0; i < r->net->step_count; i++) {
        const far_step *s = &r->net->steps[i];
        if (far_run_trains(r, s)) {
            copy_span(to, r->unpacked, far_step_first(s), far_step_parameters(s));
        }
    }
}

static void store(far_run *r, const void *params, const double *statistics)
{
    store_trained(r, params, r->net->params);
    if (r->linearizes) {
        store_trained(r, r->start, r->net->start);
    }
    if (r->batchnorm) {
        copy_statistics(r, r->net->statistics, statistics);
    }
}

void far_run_store(far_run *r)
{
    store(r, r->params, r->statistics);
}

bool far_run_is_done(const far_run *r)
{
    return r->ended && r->end != FAR_TRAIN_CANCELLED && r->end != FAR_TRAIN_DIVERGED;
}

bool far_run_ends_with_best(const far_run *r)
{
    return far_run_is_done(r) && r->validation.best_epoch > 0;
}

void far_run_show_best(far_run *r)
{
    set_weights(r, r->best, r->best_statistics);
}

void far_run_deliver(far_run *r)
{
    bool best = far_run_ends_with_best(r);
    store(r, best ? r->best : r->params, best ? r->best_statistics : r->statistics);
}

double far_run_element(const far_run *r, const void *values, int64_t i)
{
    return r->opts.dtype == FAR_F64 ? ((const double *)values)[i]
                                    : (double)((const float *)values)[i];
}

static double distance(const far_run *r)
{
    const void *params = far_run_ends_with_best(r) ? r->best : r->params;
    double sum = 0;
    for (int64_t i = 0; i < r->net->info.parameters; i++) {
        double moved = far_run_element(r, params, i) - far_run_element(r, r->start, i);
        sum += moved * moved;
    }
    return sqrt(sum);
}

bool far_run_is_finite(const far_run *r)
{
    bool finite = isfinite(r->state.sum);
    for (int64_t i = 0; i < r->net->info.parameters && finite; i++) {
        finite = isfinite(far_run_element(r, r->params, i));
    }
    return finite;
}

/* Tangents take the products of the way forward twice, the first layer's once. */
static double tangent_flops(const far_net *net)
{
    double sum = 0, first = 0;
    for (int64_t i = 0; i < net->step_count; i++) {
        const far_step *s = &net->steps[i];
        if (far_step_is_linear(s)) {
            double places = (double)far_positions(s->to);
            double products = 2 * places * (double)far_step_weight_count(s);
            first = first == 0 ? products : first;
            sum += 2 * products;
        }
    }
    return sum - first;
}

/* By validation if there is one; else the parameters at the end count like those of an epoch. */
static void tell_best(const far_run *r, far_train_result *out)
{
    const far_train_state *s = &r->state;
    bool last = !(r->final_loss >= s->best) && s->epoch > 0;
    out->best_loss = last ? r->final_loss : s->best;
    out->best_epoch = (int64_t)(last ? s->epoch : s->best_epoch);
    if (r->validation.best_epoch > 0) {
        out->best_loss = r->validation.best;
        out->best_epoch = (int64_t)r->validation.best_epoch;
        out->val_loss = far_run_is_done(r) ? r->validation.best : r->validation.loss;
    }
}

void far_run_result(const far_run *r, far_train_result *out)
{
    const far_train_state *s = &r->state;
    double flops = far_engine_flops(r->engine) + (r->linear ? tangent_flops(r->net) : 0);
    *out = (far_train_result){.end = (int32_t)r->end,
                              .lr = r->opts.lr,
                              .epochs = (int64_t)s->epoch,
                              .steps = (int64_t)s->steps,
                              .first_loss = s->first,
                              .loss = s->loss,
                              .final_loss = r->final_loss,
                              .val_loss = NAN,
                              .distance = distance(r),
                              .seconds = far_seconds() - r->began,
                              .flops = flops * (double)r->data->rows,
                              .resumed_at = r->resumed_at};
    tell_best(r, out);
}

/* "the loss went 3.1, 1.2e+09, then nan" */
static void tell_losses(const far_run *r, far_text *t)
{
    const far_train_state *s = &r->state;
    double now = isnan(s->sum) ? fabs(s->sum) : s->sum; /* the sign of a NaN says nothing */
    if (isnan(s->loss)) {
        far_text_add(t, "the loss was %g from the beginning", now);
    } else if (isnan(s->older)) {
        far_text_add(t, "the loss went %.3g, then %g", s->loss, now);
    } else {
        far_text_add(t, "the loss went %.3g, %.3g, then %g", s->older, s->loss, now);
    }
}

far_status far_run_fail_diverged(const far_run *r)
{
    far_text losses = {.ctx = r->ctx};
    bool norm = has_step(r->net, FAR_STEP_NORM) || has_step(r->net, FAR_STEP_BATCHNORM);
    tell_losses(r, &losses);
    bool after = r->diverged_in > r->opts.epochs;
    far_fail(r->ctx, FAR_ERR_VALUE,
             "training diverged %s epoch %lld: %s; try a smaller lr (it was %g)%s",
             after ? "at the end of" : "in", (long long)r->diverged_in - after,
             losses.data ? losses.data : "the loss is not a number", r->opts.lr,
             norm ? "" : ", or a norm in the network");
    far_free(r->ctx, losses.data);
    return FAR_ERR_VALUE;
}
