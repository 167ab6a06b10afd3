/*
 * Linear forms on their way back. A form sum_k c_k h_k of a step's outputs is followed from layer
 * to layer: through linear ones exactly, through activations by the line above or below them that
 * the sign of c_k asks for, to norms, whose balls maximise it exactly, to the values of attention,
 * of which the largest counts, to tables of tokens and to the boxes of the inputs. At every step
 * the boxes there bound it too, and the least of all these bounds holds. (Zhang et al. 2018, Singh
 * et al. 2019.)
 */
#include "shape_walk.h"

#include <float.h>
#include <omp.h>
#include <string.h>

typedef struct back {
    const far_walk_boxes *w;
    double *form, *next; /* coefficients of the present step's output */
    double **kept;       /* of beginnings and turns of skips: of what they kept for the end */
    bool *waits;         /* kept is to be added */
    double constant, best;
    far_run *runs;
    double *one, *two, *three, *weight, *u; /* as many as channels or positions */
    far_range *scores;
} back;

/* ---- room ---------------------------------------------------------------------------------- */

static int64_t longest(const far_net *net)
{
    int64_t most = net->info.inputs;
    for (int64_t i = 0; i < net->step_count; i++) {
        int64_t n = far_step_width(&net->steps[i]);
        most = n > most ? n : most;
    }
    return most;
}

static void back_close(back *b)
{
    far_ctx *ctx = b->w->ctx;
    for (int64_t i = 0; b->kept && i < b->w->net->step_count; i++) {
        far_free(ctx, b->kept[i]);
    }
    FAR_FREE_ALL(ctx, b->form, b->next, b->kept, b->waits, b->runs, b->one, b->two, b->three,
                 b->weight, b->u, b->scores);
}

/* Of what the beginning or the turn of a skip kept, its input: how many numbers, and their boxes.
 */
static int64_t kept_width(const far_net *net, int64_t i)
{
    return i > 0 ? far_step_width(&net->steps[i - 1]) : net->info.inputs;
}

static far_status back_open(const far_walk_boxes *w, int64_t last, back *b)
{
    far_status st;
    const far_net *net = w->net;
    int64_t n = longest(net), m = far_walk_widest(net);
    *b = (back){.w = w};
    FAR_TRY(far_alloc(w->ctx, n, &b->form));
    FAR_TRY(far_alloc(w->ctx, n, &b->next));
    FAR_TRY(far_alloc(w->ctx, net->step_count, &b->kept));
    FAR_TRY(far_alloc(w->ctx, net->step_count, &b->waits));
    FAR_TRY(far_alloc(w->ctx, far_run_count(net), &b->runs));
    FAR_TRY(far_alloc(w->ctx, m, &b->one));
    FAR_TRY(far_alloc(w->ctx, m, &b->two));
    FAR_TRY(far_alloc(w->ctx, m, &b->three));
    FAR_TRY(far_alloc(w->ctx, m, &b->weight));
    FAR_TRY(far_alloc(w->ctx, m, &b->u));
    FAR_TRY(far_alloc(w->ctx, m, &b->scores));
    for (int64_t i = 0; i <= last; i++) {
        if (net->steps[i].kind == FAR_STEP_SKIP_IN || net->steps[i].kind == FAR_STEP_SKIP_TURN) {
            FAR_TRY(far_alloc(w->ctx, kept_width(net, i), &b->kept[i]));
        }
    }
done:
    return st;
}

static void add_constant(back *b, double value)
{
    b->constant = far_up(b->constant + value);
}

static void swap_forms(back *b)
{
    double *form = b->form;
    b->form = b->next;
    b->next = form;
}

static bool is_zero(const double *c, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        if (c[k] != 0) {
            return false;
        }
    }
    return true;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* What rounding loses is relative to the sizes of what is read. */
static void back_affine(back *b, int64_t i)
{
    const far_net *net = b->w->net;
    const far_step *s = &net->steps[i];
    const far_range *in = far_boxes_before(b->w, i);
    int64_t n = far_step_width(s), before = i > 0 ? far_step_width(&net->steps[i - 1]) : s->in;
    before = s->kind == FAR_STEP_INPUT ? net->info.inputs : before;
    double lost = 0, sum = 0, sizes = 0, speck = 0;
    memset(b->next, 0, (size_t)before * sizeof *b->next);
    for (int64_t k = 0; k < n; k++) {
        double c = b->form[k], size = 0;
        int64_t runs = c == 0 ? 0 : far_step_runs(net, i, k, b->runs);
        for (int64_t q = 0; q < runs; q++) {
            const far_run *r = &b->runs[q];
            for (int64_t m = 0; m < r->count; m++) {
                double weight = far_run_weight(r, m), at = far_range_size(in[r->from + m]);
                b->next[r->from + m] += c * weight;
                size += weight == 0 ? 0 : fabs(weight) * at;
                speck += weight == 0 ? 0 : (far_run_speck(r, weight) * fabs(c) + DBL_TRUE_MIN) * at;
            }
        }
        if (c != 0) {
            far_range shift = far_step_shift(b->w, i, k);
            double part = c * (c > 0 ? shift.high : shift.low);
            sum += part;
            sizes += fabs(part);
            lost += fabs(c) * size;
        }
    }
    /* as many roundings as terms meet in one coefficient, and as many more in size itself */
    add_constant(b, sum + 2 * far_lost(n + before) * (lost + sizes) + speck + FAR_SPECK);
    swap_forms(b);
}

/* Where the argument grows: bounded ones by their boxes, the others as relu. */
static void limit_lines(const back *b, int64_t i, int64_t k, far_line *below, far_line *above)
{
    const far_step *s = &b->w->net->steps[i];
    far_step relu = {.layer = FAR_LAYER_RELU, .power = 1, .gain = s->gain};
    if (far_activation_is_bounded(s)) {
        *below = (far_line){0, b->w->boxes[i][k].low};
        *above = (far_line){0, b->w->boxes[i][k].high};
        return;
    }
    far_activation_lines(far_activation_is_homogeneous(s) ? s : &relu, far_boxes_before(b->w, i)[k],
                         below, above);
}

static void back_activation(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    const far_range *in = far_boxes_before(b->w, i);
    int64_t n = far_step_width(s);
    double sum = 0, lost = 0;
    for (int64_t k = 0; k < n; k++) {
        double c = b->form[k];
        far_line below, above;
        if (c == 0) {
            continue;
        }
        if (far_boxes_degree_before(b->w, i) > 0) {
            limit_lines(b, i, k, &below, &above);
        } else {
            far_activation_lines(s, in[k], &below, &above);
        }
        far_line line = c > 0 ? above : below;
        b->form[k] = c * line.slope;
        sum += c * line.at_zero;
        lost += fabs(c * line.at_zero);
        double size = far_range_size(in[k]);
        lost += line.slope == 0 ? 0 : fabs(c * line.slope) * size;
        sum += line.slope == 0 ? 0 : DBL_TRUE_MIN * size; /* of a product that underflows */
    }
    add_constant(b, sum + far_lost(n) * lost + FAR_SPECK);
}

/* The one that is sure to be the largest, or else the one that is largest at least. */
static int64_t best_of_window(const far_range *in, const far_run *runs, int64_t count, bool *sure)
{
    int64_t best = 0;
    for (int64_t q = 1; q < count; q++) {
        best = in[runs[q].from].low > in[runs[best].from].low ? q : best;
    }
    *sure = true;
    for (int64_t q = 0; q < count; q++) {
        *sure = *sure && (q == best || in[runs[q].from].high <= in[runs[best].from].low);
    }
    return runs[best].from;
}

static void back_maxpool(back *b, int64_t i)
{
    const far_net *net = b->w->net;
    const far_step *s = &net->steps[i];
    const far_range *in = far_boxes_before(b->w, i);
    int64_t n = far_step_width(s), before = far_positions(s->from) * s->in;
    double sum = 0, lost = 0;
    memset(b->next, 0, (size_t)before * sizeof *b->next);
    for (int64_t k = 0; k < n; k++) {
        double c = b->form[k], high = b->w->boxes[i][k].high;
        bool sure;
        if (c == 0) {
            continue;
        }
        int64_t from = best_of_window(in, b->runs, far_step_runs(net, i, k, b->runs), &sure);
        if (sure || c < 0) {
            b->next[from] += c;
            lost += fabs(c) * far_range_size(in[from]);
        } else {
            sum += c * high;
            lost += fabs(c * high);
        }
    }
    add_constant(b, sum + far_lost(n) * lost + FAR_SPECK);
    swap_forms(b);
}

static void back_norm(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    for (int64_t p = 0; p < far_positions(s->to); p++) {
        double *c = b->form + p * s->out;
        if (!is_zero(c, s->out)) {
            add_constant(b, far_norm_reach(b->w, i, p, c, b->one).high);
            memset(c, 0, (size_t)s->out * sizeof *c);
        }
    }
}

static void back_embed(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    const double *table = b->w->net->params + s->weight;
    for (int64_t p = 0; p < far_positions(s->to); p++) {
        double *c = b->form + p * s->out, most = -INFINITY;
        if (is_zero(c, s->out)) {
            continue;
        }
        for (int64_t t = 0; t < s->vocabulary; t++) {
            far_total sum = {0};
            for (int64_t k = 0; k < s->out; k++) {
                double part = c[k] * table[t * s->out + k];
                far_total_add(&sum, (far_range){part, part});
            }
            most = fmax(most, far_total_range(&sum).high);
        }
        add_constant(b, most);
        memset(c, 0, (size_t)s->out * sizeof *c);
    }
}

static double box_reach(const double *c, const far_range *box, int64_t n)
{
    far_total t = {0};
    for (int64_t k = 0; k < n; k++) {
        if (c[k] != 0) {
            far_total_add(&t, far_range_times(c[k], box[k]));
        }
    }
    return far_total_range(&t).high;
}

/* The form c of one head's values, as one of what the dense layer in front of it reads: one. What
 * it loses, relative to sizes at position j, goes to lost. */
static double value_form(back *b, int64_t dense, int64_t first, const double *c, int64_t size)
{
    const far_net *net = b->w->net;
    const far_step *d = &net->steps[dense];
    double shift = 0, sizes = 0;
    memset(b->one, 0, (size_t)d->in * sizeof *b->one);
    memset(b->two, 0, (size_t)d->in * sizeof *b->two);
    for (int64_t k = 0; k < size; k++) {
        far_run r;
        far_range bias = far_step_shift(b->w, dense, first + k);
        double part = c[k] == 0 ? 0 : c[k] * (c[k] > 0 ? bias.high : bias.low);
        (void)far_step_runs(net, dense, first + k, &r);
        shift += part;
        sizes += fabs(part);
        for (int64_t m = 0; m < d->in; m++) {
            double weight = far_run_weight(&r, m);
            b->one[m] += c[k] * weight;
            b->two[m] += fabs(c[k]) * (far_lost(size) * fabs(weight) + far_run_speck(&r, weight));
            b->two[m] += weight == 0 ? 0 : DBL_TRUE_MIN;
        }
    }
    return shift + far_lost(size) * sizes + FAR_SPECK;
}

/* At least the form of the values at each position that a query of one head looks at. */
static void reach_values(back *b, int64_t i, int64_t head, const double *c, int64_t n)
{
    const far_step *s = &b->w->net->steps[i], *d = &b->w->net->steps[i - 1];
    int64_t size = s->out / s->heads, first = 2 * s->out + head * size;
    int64_t norm = far_norm_before(b->w->net, i - 1);
    const far_range *in = far_boxes_before(b->w, i - 1), *v = far_boxes_before(b->w, i) + first;
    double shift = value_form(b, i - 1, first, c, size);
    for (int64_t j = 0; j < n; j++) {
        const far_range *at = in + j * d->in;
        double lost = 0;
        for (int64_t m = 0; m < d->in; m++) {
            lost += b->two[m] == 0 ? 0 : b->two[m] * far_range_size(at[m]);
        }
        double own = norm >= 0 ? far_norm_reach(b->w, norm, j, b->one, b->three).high
                               : box_reach(b->one, at, d->in);
        own = far_up(far_up(own + shift) + lost * (1 + far_lost(d->in)));
        b->u[j] = fmin(isnan(own) ? INFINITY : own, box_reach(c, v + j * d->out, size));
    }
}

/* The one position that a query looks at, in the limit; -1: it is not known. */
static int64_t only_one(const back *b, int64_t n)
{
    int64_t j = 0;
    while (j < n && b->weight[j] != 1) {
        j++;
    }
    return j < n ? j : -1;
}

static void back_attend(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    int64_t size = s->out / s->heads, before = far_step_width(&b->w->net->steps[i - 1]);
    bool grows = far_boxes_degree_before(b->w, i) > 0;
    double lost = 0;
    memset(b->next, 0, (size_t)before * sizeof *b->next);
    for (int64_t at = 0; at < far_positions(s->to) * s->heads; at++) {
        int64_t p = at / s->heads, head = at % s->heads, n = far_attention_reach(s, p);
        double *c = b->form + p * s->out + head * size;
        if (!is_zero(c, size)) {
            far_attention_weights(b->w, i, head, p, b->scores, b->weight);
            int64_t one = grows ? only_one(b, n) : -1;
            int64_t from = one * 3 * s->out + 2 * s->out + head * size;
            for (int64_t k = 0; one >= 0 && k < size; k++) { /* as many terms as queries */
                b->next[from + k] += c[k];
                lost += fabs(c[k]) * far_range_size(far_boxes_before(b->w, i)[from + k]);
            }
            if (one < 0) {
                reach_values(b, i, head, c, n);
                add_constant(b, far_attention_mean(b->weight, b->u, n));
            }
        }
    }
    add_constant(b, lost * far_lost(far_positions(s->to)));
    swap_forms(b);
}

static void back_skip_out(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    double own = far_boxes_degree_before(b->w, i), other = far_boxes_degree_before(b->w, s->mate);
    size_t bytes = (size_t)far_step_width(s) * sizeof *b->form;
    if (own <= other) {
        memcpy(b->kept[s->mate], b->form, bytes);
        b->waits[s->mate] = true;
    }
    if (own < other) { /* it is outgrown */
        memset(b->form, 0, bytes);
    }
}

static void back_skip_in(back *b, int64_t i)
{
    const far_range *in = far_boxes_before(b->w, i);
    double lost = 0;
    for (int64_t k = 0; b->waits[i] && k < far_step_width(&b->w->net->steps[i]); k++) {
        b->form[k] += b->kept[i][k];
        lost += b->form[k] == 0 ? 0 : fabs(b->form[k]) * far_range_size(in[k]);
    }
    b->waits[i] = false;
    add_constant(b, 4 * FAR_UNIT * lost);
}

/* The form of the shortcut waits for the beginning, and that of the end goes on through the body;
 * there is none where it began inside the shortcut. */
static void back_skip_turn(back *b, int64_t i)
{
    const far_step *s = &b->w->net->steps[i];
    size_t bytes = (size_t)kept_width(b->w->net, i) * sizeof *b->form;
    memcpy(b->kept[s->mate], b->form, (size_t)far_step_width(s) * sizeof *b->form);
    b->waits[s->mate] = true;
    if (b->waits[i]) {
        memcpy(b->form, b->kept[i], bytes);
    } else {
        memset(b->form, 0, bytes);
    }
    b->waits[i] = false;
}

static void back_step(back *b, int64_t i)
{
    switch (b->w->net->steps[i].kind) {
    case FAR_STEP_ACTIVATION:
        back_activation(b, i);
        break;
    case FAR_STEP_MAXPOOL:
        back_maxpool(b, i);
        break;
    case FAR_STEP_NORM:
        back_norm(b, i);
        break;
    case FAR_STEP_EMBED:
        back_embed(b, i);
        break;
    case FAR_STEP_ATTEND:
        back_attend(b, i);
        break;
    case FAR_STEP_SKIP_OUT:
        back_skip_out(b, i);
        break;
    case FAR_STEP_SKIP_TURN:
        back_skip_turn(b, i);
        break;
    case FAR_STEP_SKIP_IN:
        back_skip_in(b, i);
        break;
    default:
        back_affine(b, i);
    }
}

/* ---- the way back -------------------------------------------------------------------------- */

/* With the boxes of what step i reads, and of all that waits. */
static void judge(back *b, int64_t i)
{
    const far_net *net = b->w->net;
    int64_t n = i > 0 ? far_step_width(&net->steps[i - 1]) : net->info.inputs;
    double bound = b->constant + box_reach(b->form, far_boxes_before(b->w, i), n);
    for (int64_t k = 0; k < i; k++) {
        if (b->waits[k]) {
            const far_range *boxes = far_boxes_before(b->w, k);
            bound = far_up(bound + box_reach(b->kept[k], boxes, kept_width(net, k)));
        }
    }
    bound = far_up(bound);
    b->best = bound < b->best ? bound : b->best;
}

/* At least sign h_k over output k of step `last`. */
static double upper(back *b, int64_t last, int64_t k, double sign)
{
    far_range own = b->w->boxes[last][k];
    memset(b->form, 0, (size_t)far_step_width(&b->w->net->steps[last]) * sizeof *b->form);
    memset(b->waits, 0, (size_t)b->w->net->step_count * sizeof *b->waits);
    b->form[k] = sign;
    b->constant = 0;
    b->best = sign > 0 ? own.high : -own.low;
    for (int64_t i = last; i >= 0 && !isnan(b->constant) && b->constant < INFINITY; i--) {
        back_step(b, i);
        judge(b, i);
    }
    return b->best;
}

/* Multiplications for one number of a step's output. Each query of a head looks at the form of its
 * values, and at every position. */
static double work_of(const far_step *s)
{
    switch (s->kind) {
    case FAR_STEP_DENSE:
        return (double)s->in;
    case FAR_STEP_CONV:
        return (double)(s->in * far_positions(s->window));
    case FAR_STEP_ATTEND:
        return (double)(s->out + s->heads * far_positions(s->to));
    default:
        return 4;
    }
}

double far_walk_work(const far_net *net, int64_t last)
{
    double work = 0;
    for (int64_t i = 0; i <= last; i++) {
        work += work_of(&net->steps[i]) * (double)far_step_width(&net->steps[i]);
    }
    return work;
}

far_status far_walk_narrow(const far_walk_boxes *w, int64_t i, int64_t only)
{
    far_status st = FAR_OK;
    int threads = only < 0 ? far_ctx_threads(w->ctx) : 1;
    int64_t first = only < 0 ? 0 : only;
    int64_t n = only < 0 ? far_step_width(&w->net->steps[i]) : 1;
    back *rooms = NULL;
    far_range *narrow = NULL; /* the boxes stay as they are while others read them */
    FAR_TRY(far_alloc(w->ctx, n, &narrow));
    FAR_TRY(far_alloc(w->ctx, threads, &rooms));
    for (int t = 0; t < threads; t++) {
        FAR_TRY(back_open(w, i, &rooms[t]));
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t k = 0; k < n; k++) {
        back *b = &rooms[omp_get_thread_num()];
        narrow[k] = (far_range){-upper(b, i, first + k, -1), upper(b, i, first + k, 1)};
    }
    memcpy(w->boxes[i] + first, narrow, (size_t)n * sizeof *narrow);
done:
    for (int t = 0; rooms && t < threads; t++) {
        if (rooms[t].w) {
            back_close(&rooms[t]);
        }
    }
    far_free(w->ctx, rooms);
    far_free(w->ctx, narrow);
    return st;
}
