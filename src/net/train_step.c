/* The loop over steps, in phases that a team of threads goes through:
 *
 *     learn    chunks of the batch: their gradients
 *     update   slices of the parameters: sum of gradients, optimiser, weights
 *     merge    with lora: slices of the weights that follow from them
 *     validate behind every epoch of a run with validation rows: the loss over them
 *     pause    now and then: the end of an epoch, progress, the checkpoint
 *     judge    at the end, and where the caller's callback is due: the loss over all rows
 *
 * For the watch all threads go home; they come back to a phase that goes on where they stopped.
 */
#include "train_internal.h"

#define CROWDED_BYTES 1024
#define LINE_BYTES 64

#include <math.h>
#include <string.h>

#define STATISTICS_WEIGHT 0.1 /* of a batch in the running statistics, as in PyTorch */

/* ---- rows ---------------------------------------------------------------------------------- */

static const void *row_of(const void *values, int64_t row, int64_t cols, far_dtype dtype)
{
    return (const char *)values + (size_t)(row * cols) * far_dtype_size(dtype);
}

#define CACHE_LINE 64

/* The rows that the same part of the next minibatch will want. */
static void prefetch(const far_run *r, int64_t first, int64_t rows)
{
    const far_train_data *d = r->data;
    int64_t bytes = d->inputs * (int64_t)far_dtype_size(d->dtype);
    int64_t last = first + rows < d->rows ? first + rows : d->rows;
    for (int64_t i = first; i < last; i++) {
        const char *row = (const char *)d->x + r->order[i] * bytes;
        for (int64_t at = 0; at < bytes; at += CACHE_LINE) {
            __builtin_prefetch(row + at, 0, 2);
        }
    }
}

/* Rows a power of two apart would fight for a few sets of the cache. */
int64_t far_gathered_ld(const far_train_data *d)
{
    int64_t size = (int64_t)far_dtype_size(d->dtype);
    return d->inputs * size % CROWDED_BYTES == 0 ? d->inputs + LINE_BYTES / size : d->inputs;
}

static void gather_inputs(const far_run *r, int64_t row, void *to)
{
    const far_train_data *d = r->data;
    const void *from = row_of(d->x, row, d->inputs, d->dtype);
    if (r->black) {
        far_view view = far_augment_draw(&r->augment, r->opts.seed, (int64_t)r->state.epoch, row);
        far_augment_apply(&r->augment, view, r->black, from, far_dtype_size(d->dtype), to);
    } else {
        memcpy(to, from, (size_t)d->inputs * far_dtype_size(d->dtype));
    }
}

static void gather(const far_run *r, int64_t first, int64_t rows, far_hand *h)
{
    const far_train_data *d = r->data;
    size_t apart = (size_t)far_gathered_ld(d) * far_dtype_size(d->dtype);
    size_t y_bytes = (size_t)far_loss_targets(&d->rule) * far_dtype_size(d->dtype);
    for (int64_t i = 0; i < rows; i++) {
        size_t from = (size_t)r->order[first + i], to = (size_t)i;
        gather_inputs(r, r->order[first + i], (char *)h->x + to * apart);
        memcpy((char *)h->y + to * y_bytes, (const char *)d->y + from * y_bytes, y_bytes);
    }
    prefetch(r, first + r->opts.batch, rows);
}

typedef struct block {
    const void *x, *y;
    int64_t rows, ld;
} block;

static block in_order(const far_train_data *d, int64_t first, int64_t rows)
{
    return (block){row_of(d->x, first, d->inputs, d->dtype),
                   row_of(d->y, first, far_loss_targets(&d->rule), d->dtype), rows, d->inputs};
}

/* Rows first, .. of the epoch; of a whole batch they lie there already. */
static block fetch(const far_run *r, int64_t first, int64_t rows, far_hand *h)
{
    const far_train_data *d = r->data;
    if (far_run_gathers(r)) {
        gather(r, first, rows, h);
        return (block){h->x, h->y, rows, far_gathered_ld(d)};
    }
    return in_order(d, first, rows);
}

static void add_outputs(far_dtype dtype, const void *more, int64_t count, void *sum)
{
    for (int64_t i = 0; i < count; i++) {
        if (dtype == FAR_F64) {
            ((double *)sum)[i] += ((const double *)more)[i];
        } else {
            ((float *)sum)[i] += ((const float *)more)[i];
        }
    }
}

static const void *outputs_of(const far_run *r, far_pass *pass, const block *b, far_hand *h)
{
    far_pass_forward(pass, r->weights, b->x, b->ld, b->rows);
    if (!r->linear) {
        return far_pass_output(pass);
    }
    far_pass_tangent(pass, r->weights, r->direction, NULL, 0, h->f);
    add_outputs(r->opts.dtype, far_pass_output(pass), b->rows * r->data->outputs, h->f);
    return h->f;
}

/* ---- chunks -------------------------------------------------------------------------------- */

typedef struct chunk {
    int64_t first, rows; /* of the epoch */
} chunk;

/* Whole blocks, shared out evenly. */
static chunk chunk_of(const far_batch *b, int64_t block_rows, int64_t i)
{
    int64_t blocks = (b->rows + block_rows - 1) / block_rows;
    int64_t from = blocks * i / b->chunks * block_rows;
    int64_t to = blocks * (i + 1) / b->chunks * block_rows;
    to = to < b->rows ? to : b->rows;
    return (chunk){b->first + from, to - from};
}

static void *part_of(const far_run *r, int64_t i)
{
    return (char *)r->parts + (size_t)(i * r->part_stride) * far_dtype_size(r->opts.dtype);
}

static double learn_block(far_run *r, const far_batch *batch, const block *b, void *gradient,
                          far_hand *h)
{
    const void *f = outputs_of(r, h->pass, b, h);
    double sum = far_loss_rows(&r->data->rule, f, b->y, b->rows, batch->scale, h->slope);
    far_pass_backward(h->pass, r->weights, h->slope, gradient, NULL);
    if (r->batchnorm) {
        far_pass_statistics(h->pass, r->block_statistics);
    }
    return sum;
}

/* The gradient is 0 at first, but in layers that do not train: there nobody looks at it. */
static void learn_chunk(far_run *r, const far_batch *batch, int64_t i, far_hand *h)
{
    chunk c = chunk_of(batch, r->block, i);
    void *gradient = part_of(r, i);
    double sum = 0;
    for (int64_t done = 0; done < c.rows; done += r->block) {
        int64_t rows = c.rows - done < r->block ? c.rows - done : r->block;
        block b = fetch(r, c.first + done, rows, h);
        sum += learn_block(r, batch, &b, gradient, h);
    }
    r->part_losses[i] = sum;
}

/* A long step can be interrupted; what it has done so far is forgotten. */
static void look_up(far_run *r)
{
    if (r->reports && far_watch_due(r->watch, far_seconds())) {
        far_watch_report(r->watch, r->state.loss);
    }
    if (atomic_load(&r->watch->stop)) {
        atomic_store(&r->abandoned, true);
    }
}

static void learn(far_run *r, int64_t i, int me)
{
    if (!atomic_load(&r->abandoned)) {
        learn_chunk(r, &r->batch, i, &r->hands[me]);
    }
    if (me == 0) {
        look_up(r);
    }
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Rows of a matrix that starts at first, as they are packed. */
static void apply_rows(const far_run *r, int64_t first, int64_t rows, int64_t width, int64_t slice,
                       int64_t slices)
{
    r->apply(&r->update, first + rows * slice / slices * width,
             first + rows * (slice + 1) / slices * width);
}

static void set_slice(const far_run *r, int64_t slice, int64_t slices)
{
    if (r->linear) {
        far_weights_set(r->direction, r->moved, slice, slices);
    } else {
        far_weights_set(r->weights, r->params, slice, slices);
    }
}

/* The rows of every matrix are shared out as far_weights_set shares them, so that a thread
 * sets the weights it has just changed; the first slice has the vectors too. Layers with lora are
 * set when all of B is there, which is a phase of its own. */
static void update_slice(const far_run *r, int64_t slice, int64_t slices)
{
    const far_update *u = &r->update;
    for (int64_t i = 0; i < r->net->step_count; i++) {
        const far_step *s = &r->net->steps[i];
        if (!far_run_trains(r, s)) {
            continue;
        }
        far_weights_shape shape = far_step_weights(s);
        bool linear = far_step_is_linear(s); /* packed: turned */
        if (s->rank > 0) {
            apply_rows(r, s->lora_a, shape.cols, s->rank, slice, slices);
            apply_rows(r, s->lora_b, s->rank, shape.rows, slice, slices);
        } else if (!shape.vector) {
            apply_rows(r, s->weight, linear ? shape.cols : shape.rows,
                       linear ? shape.rows : shape.cols, slice, slices);
        } else if (slice == 0) {
            r->apply(u, s->weight, s->weight + s->out);
        }
        if (slice == 0 && s->bias >= 0) {
            r->apply(u, s->bias, s->bias + s->out);
        }
    }
    if (!far_net_adapted(r->net)) {
        set_slice(r, slice, slices);
    }
}

/* <gradient of the loss, parameters - start> over parameters from .. to. */
static double along_moved(const far_run *r, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++) {
        double slope = 0;
        for (int64_t k = 0; k < r->batch.chunks; k++) {
            slope += far_run_element(r, r->parts, k * r->part_stride + i);
        }
        sum += slope * (far_run_element(r, r->params, i) - far_run_element(r, r->start, i));
    }
    return sum;
}

/* The pull towards the start must not raise the loss: it counts where it goes down the slope. */
static void choose_pull(far_run *r)
{
    double sum = 0;
    for (int64_t i = 0; i < r->net->step_count; i++) {
        const far_step *s = &r->net->steps[i];
        if (far_run_trains(r, s)) {
            int64_t first = far_step_first(s);
            sum += along_moved(r, first, first + far_step_parameters(s));
        }
    }
    r->update.pull = sum >= 0 ? r->pull : 0;
}

static void average_statistics(far_run *r, int64_t rows)
{
    for (int64_t i = 0; i < r->net->step_count; i++) {
        const far_step *s = &r->net->steps[i];
        double count = (double)(rows * far_positions(s->to)), unbias = count / (count - 1);
        for (int64_t j = 0; s->mean >= 0 && j < s->out; j++) {
            double *mean = &r->statistics[s->mean + j], *variance = &r->statistics[s->variance + j];
            *mean += STATISTICS_WEIGHT * (r->block_statistics[s->mean + j] - *mean);
            *variance +=
                STATISTICS_WEIGHT * (unbias * r->block_statistics[s->variance + j] - *variance);
        }
    }
}

/* ---- between steps ------------------------------------------------------------------------- */

static void begin_epoch(far_run *r)
{
    int64_t n = r->data->rows;
    if (r->state.step == 0) {
        far_run_keep(r, r->before, r->before_statistics);
    }
    if (r->opts.batch < n) {
        for (int64_t i = 0; i < n; i++) {
            r->order[i] = i;
        }
        far_random_shuffle(far_random_bits(r->opts.seed, (uint64_t)r->state.epoch), r->order, n);
    }
}

static void begin_step(far_run *r)
{
    const far_train_opts *o = &r->opts;
    int64_t first = (int64_t)r->state.step * o->batch, left = r->data->rows - first;
    int64_t rows = left < o->batch ? left : o->batch, blocks = (rows + r->block - 1) / r->block;
    r->batch = (far_batch){.first = first,
                           .rows = rows,
                           .chunks = blocks < r->chunks ? blocks : r->chunks,
                           .scale = 1 / far_loss_terms(&r->data->rule, rows)};
    r->update.part_count = r->batch.chunks;
    far_update_rates(&r->update, o, (int64_t)r->state.epoch, (int64_t)r->state.steps + 1);
}

static void count_step(far_run *r)
{
    for (int64_t i = 0; i < r->batch.chunks; i++) {
        r->state.sum += r->part_losses[i];
    }
    if (r->batchnorm) {
        average_statistics(r, r->batch.rows);
    }
    r->state.step++;
    r->state.steps++;
}

static bool must_pause(const far_run *r)
{
    double now = far_seconds();
    return (int64_t)r->state.step == r->batch_count || !isfinite(r->state.sum) ||
           (r->opts.checkpoint && now >= r->next_checkpoint) || atomic_load(&r->watch->stop) ||
           (r->reports && far_watch_due(r->watch, now)) || far_run_is_moment(r);
}

static void end_run(far_run *r, far_train_end end)
{
    far_weights_set_statistics(r->weights, r->statistics);
    if (!r->ended && end != FAR_TRAIN_CANCELLED) {
        atomic_fetch_add(&r->watch->done, r->opts.epochs - (int64_t)r->state.epoch);
    }
    r->ended = true;
    r->end = end;
}

static void diverge(far_run *r)
{
    r->diverged_in = (int64_t)r->state.epoch + 1;
    far_run_return_to_good(r);
    end_run(r, FAR_TRAIN_DIVERGED);
}

static void swap(void **a, void **b)
{
    void *kept = *a;
    *a = *b;
    *b = kept;
}

static void note_loss(far_train_state *s, double loss)
{
    s->epoch++;
    s->step = 0;
    s->sum = 0;
    s->older = s->loss;
    s->loss = loss;
    if (s->epoch == 1) {
        s->first = loss;
    }
    if (!(loss >= s->best)) {
        s->best = loss;
        s->best_epoch = s->epoch;
    }
}

static void note_validation(far_run *r)
{
    far_validation *v = &r->validation;
    if (v->loss < v->best || (v->best_epoch == 0 && isfinite(v->loss))) {
        v->best = v->loss;
        v->best_epoch = r->state.epoch;
        far_run_keep(r, r->best, r->best_statistics);
    }
    if (r->val_history) {
        r->val_history[(int64_t)r->state.epoch - 1] = v->loss;
    }
}

static void end_epoch(far_run *r)
{
    far_train_state *s = &r->state;
    note_loss(s, s->sum / far_loss_terms(&r->data->rule, r->data->rows));
    if (r->history) {
        r->history[(int64_t)s->epoch - 1] = s->loss;
    }
    if (r->best) {
        note_validation(r);
    }
    swap(&r->good, &r->before);
    swap((void **)&r->good_statistics, (void **)&r->before_statistics);
    atomic_fetch_add(&r->watch->done, 1);
}

static void end_if_done(far_run *r)
{
    const far_train_state *s = &r->state;
    if (s->epoch >= (double)r->opts.epochs) {
        end_run(r, FAR_TRAIN_EPOCHS);
    }
    if (s->step == 0 && s->loss <= r->opts.stop_loss) {
        end_run(r, FAR_TRAIN_STOP_LOSS);
    }
    if (!r->ended && s->step == 0 && r->opts.patience > 0 &&
        s->epoch - r->validation.best_epoch >= (double)r->opts.patience) {
        end_run(r, FAR_TRAIN_PATIENCE);
    }
}

/* A state that is no longer finite is not worth keeping: the next step will find out. */
static void save(far_run *r)
{
    if (!r->opts.checkpoint || !far_run_is_finite(r)) {
        return;
    }
    omp_set_lock(&r->watch->lock);
    far_run_tell_save(r);
    far_status st = far_checkpoint_save(r);
    omp_unset_lock(&r->watch->lock);
    r->next_checkpoint = far_seconds() + r->opts.checkpoint_seconds;
    if (st != FAR_OK) {
        far_watch_fail(r->watch, st);
    }
}

static void report_and_save(far_run *r)
{
    double now = far_seconds();
    if (r->reports && !atomic_load(&r->abandoned) && far_watch_due(r->watch, now)) {
        far_watch_report(r->watch, r->state.loss);
    }
    bool stop = atomic_load(&r->watch->stop);
    if (stop || now >= r->next_checkpoint) {
        save(r);
    }
    if (stop || atomic_load(&r->watch->stop)) {
        end_run(r, FAR_TRAIN_CANCELLED);
    }
}

/* By the first thread, which may use the context. */
static void between_steps(far_run *r)
{
    if (!isfinite(r->state.sum)) {
        diverge(r);
        return;
    }
    if ((int64_t)r->state.step == r->batch_count) {
        end_epoch(r);
        end_if_done(r);
    }
    if (!r->ended) {
        report_and_save(r);
    }
    if (!r->ended && r->state.step == 0) {
        begin_epoch(r);
    }
    begin_step(r);
}

/* ---- the loss over all rows ---------------------------------------------------------------- */

static far_batch all_rows(const far_run *r, const far_train_data *d)
{
    int64_t rows = d->rows, blocks = (rows + r->plain_block - 1) / r->plain_block;
    return (far_batch){.rows = rows, .chunks = blocks < FAR_CHUNKS_MOST ? blocks : FAR_CHUNKS_MOST};
}

static void judge_chunk(far_run *r, const far_train_data *d, int64_t i, far_hand *h)
{
    const far_batch all = all_rows(r, d);
    chunk c = chunk_of(&all, r->plain_block, i);
    double sum = 0;
    for (int64_t done = 0; done < c.rows; done += r->plain_block) {
        int64_t rows = c.rows - done < r->plain_block ? c.rows - done : r->plain_block;
        block b = in_order(d, c.first + done, rows);
        const void *f = outputs_of(r, h->plain ? h->plain : h->pass, &b, h);
        sum += far_loss_rows(&d->rule, f, b.y, rows, 0, NULL);
    }
    r->part_losses[i] = sum;
}

static double judged_sum(const far_run *r, const far_train_data *d)
{
    double sum = 0;
    for (int64_t i = 0; i < all_rows(r, d).chunks; i++) {
        sum += r->part_losses[i];
    }
    return sum;
}

static double judged_mean(const far_run *r, const far_train_data *d)
{
    return judged_sum(r, d) / far_loss_terms(&d->rule, d->rows);
}

static void settle(far_run *r)
{
    double sum = judged_sum(r, r->data);
    r->final_loss = judged_mean(r, r->data);
    r->settled = isfinite(sum) || r->end == FAR_TRAIN_DIVERGED;
    if (!r->settled) { /* the last step went too far */
        r->state.sum = sum;
        diverge(r);
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void start(far_run *r)
{
    end_if_done(r);
    if (!r->ended) {
        begin_epoch(r);
        begin_step(r);
        save(r);
    }
    if (atomic_load(&r->watch->stop)) {
        end_run(r, FAR_TRAIN_CANCELLED);
    }
}

/* After the caller's callback, which may have asked to stop. */
static void again(far_run *r)
{
    if (atomic_load(&r->watch->stop)) {
        report_and_save(r);
    }
}

static void open_phase(far_run *r, far_team *team, far_phase phase, int64_t items)
{
    r->phase = phase;
    far_team_open(team, (int)items, phase == FAR_PHASE_PAUSE);
}

static void after_pause(far_run *r, far_team *team)
{
    r->looking = !r->ended && far_run_is_moment(r);
    if (r->looking) {
        far_weights_set_statistics(r->weights, r->statistics);
    }
    if (far_run_ends_with_best(r)) {
        far_run_show_best(r);
    }
    if (!r->ended && !r->looking) {
        open_phase(r, team, FAR_PHASE_LEARN, r->batch.chunks);
    } else {
        bool judges = r->looking || r->end != FAR_TRAIN_CANCELLED;
        open_phase(r, team, FAR_PHASE_JUDGE, judges ? all_rows(r, r->data).chunks : 0);
    }
}

static void after_judgement(far_run *r, far_team *team)
{
    if (r->looking) {
        r->present = judged_mean(r, r->data);
    } else {
        settle(r);
    }
    bool over = r->looking || r->settled;
    open_phase(r, team, FAR_PHASE_JUDGE, over ? 0 : all_rows(r, r->data).chunks);
}

static bool must_validate(const far_run *r)
{
    return r->best && (int64_t)r->state.step == r->batch_count && isfinite(r->state.sum);
}

static void after_update(far_run *r, far_team *team)
{
    count_step(r);
    if (must_validate(r)) {
        far_weights_set_statistics(r->weights, r->statistics);
        open_phase(r, team, FAR_PHASE_VALIDATE, all_rows(r, r->val).chunks);
    } else if (must_pause(r)) {
        open_phase(r, team, FAR_PHASE_PAUSE, 1);
    } else {
        begin_step(r);
        open_phase(r, team, FAR_PHASE_LEARN, r->batch.chunks);
    }
}

/* By the thread that finished the last item of a phase: nobody else is at work now. */
static void next_phase(far_run *r, far_team *team)
{
    if (r->phase == FAR_PHASE_LEARN) {
        bool counts = !atomic_load(&r->abandoned);
        if (counts && r->opts.selective) {
            choose_pull(r);
        }
        open_phase(r, team, counts ? FAR_PHASE_UPDATE : FAR_PHASE_PAUSE, counts ? r->slices : 1);
    } else if (r->phase == FAR_PHASE_UPDATE && far_net_adapted(r->net)) {
        open_phase(r, team, FAR_PHASE_MERGE, r->slices);
    } else if (r->phase == FAR_PHASE_UPDATE || r->phase == FAR_PHASE_MERGE) {
        after_update(r, team);
    } else if (r->phase == FAR_PHASE_VALIDATE) {
        r->validation.loss = judged_mean(r, r->val);
        open_phase(r, team, FAR_PHASE_PAUSE, 1);
    } else if (r->phase == FAR_PHASE_JUDGE) {
        after_judgement(r, team);
    } else {
        after_pause(r, team);
    }
}

static void do_item(far_run *r, int64_t item, int me)
{
    switch (r->phase) {
    case FAR_PHASE_START:
        start(r);
        break;
    case FAR_PHASE_AGAIN:
        again(r);
        break;
    case FAR_PHASE_LEARN:
        learn(r, item, me);
        break;
    case FAR_PHASE_UPDATE:
        update_slice(r, item, r->slices);
        break;
    case FAR_PHASE_MERGE:
        set_slice(r, item, r->slices);
        break;
    case FAR_PHASE_PAUSE:
        between_steps(r);
        break;
    case FAR_PHASE_VALIDATE:
        judge_chunk(r, r->val, item, &r->hands[me]);
        break;
    case FAR_PHASE_JUDGE:
        judge_chunk(r, r->data, item, &r->hands[me]);
        break;
    }
}

void far_run_work(far_run *r, far_team *team, int me)
{
    for (int item; (item = far_team_take(team, me)) >= 0;) {
        do_item(r, item, me);
        if (far_team_finish(team)) {
            next_phase(r, team);
        }
    }
}
