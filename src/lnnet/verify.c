/* From chains to a network, and a fresh pass through its stored weights. */
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a verification works with. */
typedef struct trial {
    far_ln_build *b;
    const far_ln_ops *ops;
    far_net *net;
    void *parameters, *outputs;  /* of the precision */
    void *others[FAR_LN_SHAKES]; /* shaken */
    int64_t *labels;
    far_mat x;
    far_lnnet_checked checked;
    double noise;
} trial;

static void trial_clear(trial *t)
{
    far_ctx *ctx = t->b->ctx;
    far_net_destroy(t->net);
    FAR_FREE_ALL(ctx, t->parameters, t->outputs, t->labels);
    for (int i = 0; i < FAR_LN_SHAKES; i++) {
        far_free(ctx, t->others[i]);
    }
}

static void write_text(const far_ln_form *f, far_text *t)
{
    if (f->groups == 1) {
        far_text_add(t, "[dense(3) ln]x%lld dense(%lld)", (long long)f->layers,
                     (long long)f->classes);
    } else {
        far_text_add(t, "[dense(%lld) ln(groups=%lld)]x%lld dense(%lld)",
                     (long long)(3 * f->groups), (long long)f->groups, (long long)f->layers,
                     (long long)f->classes);
    }
}

static far_status outline(trial *t)
{
    far_ctx *ctx = t->b->ctx;
    const far_ln_form *f = &t->b->plan.form;
    far_text text = {.ctx = ctx};
    far_status st = FAR_OK;
    write_text(f, &text);
    FAR_TRY(text.status);
    if (2 * f->layers + 1 > FAR_ARCH_MAX_LAYERS) {
        FAR_TRY(far_fail(ctx, FAR_ERR_ARCH,
                         "the network would have %lld layers, and the language allows %d; use more "
                         "groups",
                         (long long)(2 * f->layers + 1), FAR_ARCH_MAX_LAYERS));
    }
    FAR_TRY(far_net_compile(ctx, text.data, f->d, f->classes, FAR_PARAM_STANDARD, &t->net));
done:
    far_free(ctx, text.data);
    return st;
}

static far_status fail_range(const trial *t)
{
    far_status st = far_ln_points_check_range(&t->b->points);
    return st != FAR_OK
               ? st
               : far_fail(t->b->ctx, FAR_ERR_VALUE,
                          "gaps became so small that weights overflow in double, in which they are "
                          "stored; %s",
                          t->b->mode == FAR_LNNET_PAPER ? "use the mode merge"
                                                        : "try another seed");
}

/* Above double numbers go farther than in the tensors that are stored. */
static far_status check_range(const trial *t, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(t->net->params[i])) {
            return fail_range(t);
        }
    }
    return FAR_OK;
}

static far_status fill(trial *t)
{
    far_status st = FAR_OK;
    far_ctx *ctx = t->b->ctx;
    int64_t count = far_ln_parameters(&t->b->plan.form);
    FAR_TRY(far_alloc_bytes(ctx, count, t->ops->size, &t->parameters));
    t->ops->assemble(&t->b->plan, t->parameters);
    t->ops->round(t->parameters, count, t->net->params);
    FAR_TRY(check_range(t, count));
done:
    return st;
}

static far_status prepare_rows(trial *t)
{
    far_status st = FAR_OK;
    const far_ln_points *p = &t->b->points;
    int64_t count = p->count * t->b->plan.form.classes;
    FAR_TRY(far_alloc(t->b->ctx, p->count, &t->labels));
    FAR_TRY(far_alloc_bytes(t->b->ctx, count, t->ops->size, &t->outputs));
    for (int i = 0; i < FAR_LN_SHAKES; i++) {
        FAR_TRY(far_alloc_bytes(t->b->ctx, count, t->ops->size, &t->others[i]));
    }
    for (int64_t i = 0; i < p->count; i++) {
        t->labels[i] = p->label[i];
    }
    t->x = far_mat_view(p->values, p->count, p->d, FAR_F64);
done:
    return st;
}

/* The pass that counts (far_net_eval, or above double our own), and those that are shaken; the
 * first of these has, in double, the eps that a network must bear. */
static far_status all_passes(trial *t)
{
    far_status st = FAR_OK;
    far_ctx *ctx = t->b->ctx;
    const far_ln_form *f = &t->b->plan.form;
    bool plain = t->ops->precision == FAR_LNNET_DOUBLE;
    far_ln_rows rows = {.x = &t->x, .labels = t->labels};
    if (plain) {
        far_mat out = far_mat_view(t->outputs, t->x.rows, f->classes, FAR_F64);
        FAR_TRY(far_net_eval(ctx, t->net, &t->x, &out));
    } else {
        FAR_TRY(t->ops->pass(t->ops, ctx, f, t->parameters, &rows, t->outputs));
    }
    for (int i = 0; i < FAR_LN_SHAKES; i++) {
        rows.eps = plain && i == 0 ? FAR_LN_EPS : 0;
        rows.shake = (uint64_t)i + 1;
        FAR_TRY(t->ops->pass(t->ops, ctx, f, t->parameters, &rows, t->others[i]));
    }
done:
    return st;
}

/* How far a shaken pass moved the margins. Points inside a run may move as they like, so of runs
 * only the least margin counts. */
static double moved(const trial *t, const far_ln_rows *rows, const void *others,
                    const far_lnnet_checked *other)
{
    const far_ln_form *f = &t->b->plan.form;
    double most = fabs(other->margin - t->checked.margin);
    for (int64_t i = 0; t->b->mode != FAR_LNNET_RUNS && i < rows->x->rows; i++) {
        double here =
            fabs(t->ops->margin(t->outputs, f, rows, i) - t->ops->margin(others, f, rows, i));
        most = here <= most ? most : here;
    }
    return most;
}

static bool is_good(trial *t)
{
    const far_ln_form *f = &t->b->plan.form;
    far_ln_rows rows = {.x = &t->x, .labels = t->labels};
    int64_t wrong;
    t->ops->judge(t->outputs, f, &rows, &t->checked);
    wrong = t->checked.wrong;
    for (int i = 0; i < FAR_LN_SHAKES; i++) {
        far_lnnet_checked other = {0};
        t->ops->judge(t->others[i], f, &rows, &other);
        double by = moved(t, &rows, t->others[i], &other) / t->checked.margin;
        by = isinf(t->checked.margin) ? 0 : by;
        t->noise = by <= t->noise ? t->noise : by;
        wrong += other.wrong;
    }
    return wrong == 0 && t->noise <= FAR_LNNET_NOISE_MOST;
}

/* ---- what is said about it ----------------------------------------------------------------- */

static far_status note_digits(trial *t)
{
    far_ctx *ctx = t->b->ctx;
    far_status st = FAR_OK;
    char bits[24];
    far_text text = {.ctx = ctx};
    snprintf(bits, sizeof bits, "%lld", (long long)t->ops->bits);
    t->ops->print(t->parameters, far_ln_parameters(&t->b->plan.form), &text);
    FAR_TRY(text.status);
    FAR_TRY(far_net_set_metadata(ctx, t->net, FAR_LN_KEY_PRECISION,
                                 far_lnnet_precision_name(t->ops->precision)));
    FAR_TRY(far_net_set_metadata(ctx, t->net, FAR_LN_KEY_BITS, bits));
    FAR_TRY(far_net_set_metadata(ctx, t->net, FAR_LN_KEY_PARAMETERS, text.data));
done:
    far_free(ctx, text.data);
    return st;
}

static void note_chains(far_ln_build *b)
{
    far_lnnet_info *info = &b->info;
    info->gap = info->final_gap = INFINITY;
    info->confusions = 0;
    for (int64_t g = 0; g < b->plan.form.groups; g++) {
        const far_ln_chain *c = &b->plan.chain[g];
        if (c->gap < info->gap) {
            info->gap = c->gap;
            info->gap_layer = c->gap_layer;
        }
        info->final_gap = c->final_gap < info->final_gap ? c->final_gap : info->final_gap;
        info->confusions += c->confusions;
    }
}

static void note(trial *t)
{
    far_lnnet_info *info = &t->b->info;
    const far_ln_form *f = &t->b->plan.form;
    note_chains(t->b);
    info->mode = t->b->mode;
    info->mode_name = far_lnnet_mode_name(info->mode);
    info->precision = t->ops->precision;
    info->precision_name = far_lnnet_precision_name(info->precision);
    info->bits = t->ops->bits;
    info->points = t->b->points.count;
    info->classes = f->classes;
    info->layers = f->layers;
    info->groups = f->groups;
    info->width = FAR_LN_NEURONS * f->groups;
    info->tries = t->b->tries;
    info->margin = t->checked.margin;
    info->noise = t->noise;
    info->robust = 1;
}

static void set_depth(far_ln_plan *plan)
{
    plan->form.layers = 0;
    for (int64_t g = 0; g < plan->form.groups; g++) {
        int64_t layers = plan->chain[g].layers + plan->votes;
        plan->form.layers = layers > plan->form.layers ? layers : plan->form.layers;
    }
}

/* Nothing is believed of a construction: the network is made from its chains, run on every point,
 * thrice, and kept only if all are classified; else good is false and the search goes on. */
far_status far_ln_verify(far_ln_build *b, const far_ln_ops *ops, bool *good)
{
    far_status st = FAR_OK;
    trial t = {.b = b, .ops = ops};
    *good = false;
    set_depth(&b->plan);
    FAR_TRY(outline(&t));
    FAR_TRY(fill(&t));
    FAR_TRY(prepare_rows(&t));
    far_progress_hold(b->ctx);
    st = all_passes(&t);
    far_progress_release(b->ctx);
    FAR_TRY(st);
    *good = is_good(&t);
    if (*good) {
        FAR_TRY(far_net_set_metadata(b->ctx, t.net, FAR_LN_KEY_MODE, far_lnnet_mode_name(b->mode)));
        if (ops->precision != FAR_LNNET_DOUBLE) {
            FAR_TRY(note_digits(&t));
        }
        note(&t);
        b->net = t.net;
        t.net = NULL;
    }
done:
    trial_clear(&t);
    return st;
}
