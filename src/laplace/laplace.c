/* The approximation: made, described, given another prior. */
#include "laplace_internal.h"

#include <math.h>

void far_laplace_destroy(far_laplace *la)
{
    if (la) {
        far_ctx *ctx = la->ctx;
        far_posterior_destroy(ctx, la->posterior);
        far_root_clear(ctx, &la->root);
        far_free(ctx, la->matrix.data);
        far_blocks_clear(la);
        far_free(ctx, la->basis);
        far_free(ctx, la->x);
        far_net_destroy(la->net);
        far_free(ctx, la);
    }
}

static double bytes_held(const far_laplace *la)
{
    const far_laplace_info *i = &la->info;
    double numbers = (double)la->matrix.rows * (double)la->matrix.cols + (double)i->parameters;
    numbers += la->values ? 2 * (double)i->side : 0;
    for (int64_t l = 0; l < la->block_count; l++) {
        const far_block *b = &la->blocks[l];
        numbers += b->left ? (double)(b->inputs * b->inputs + b->gradients * b->gradients) : 0;
        numbers += b->other ? (double)(b->inputs * b->gradients) : 0; /* A has B and B has A */
    }
    numbers += la->basis ? (double)i->rank_most * (double)i->parameters : 0;
    numbers += la->x ? (double)i->rows * (double)la->net->info.inputs : 0;
    numbers += la->root.q ? (double)i->rows * (double)i->outputs : 0;
    const far_system *system = la->posterior->system;
    return (double)sizeof(double) * numbers + (system ? far_system_diagnostics(system).bytes : 0);
}

far_laplace_info far_laplace_describe(const far_laplace *la)
{
    return la->info;
}

/* ---- another prior, fewer features --------------------------------------------------------- */

static far_status install(far_laplace *la, int64_t side, double prior)
{
    far_posterior *p = NULL;
    double effective;
    far_status st = FAR_OK;
    FAR_TRY(far_posterior_create(la, side, prior, &p));
    FAR_TRY(far_posterior_effective(la, p, &effective));
    far_posterior_destroy(la->ctx, la->posterior);
    la->posterior = p;
    p = NULL;
    la->info.prior = prior;
    la->info.effective = effective;
    la->info.side = side;
    la->info.rank = la->info.system == FAR_LAPLACE_FEATURES ? side : 0;
    la->info.bytes = bytes_held(la);
done:
    far_posterior_destroy(la->ctx, p);
    return st;
}

static far_status install_quietly(far_laplace *la, int64_t side, double prior)
{
    far_progress_hold(la->ctx);
    far_status st = install(la, side, prior);
    far_progress_release(la->ctx);
    return st;
}

static far_status check_la(far_ctx *ctx, const far_laplace *la)
{
    return ctx && la
               ? FAR_OK
               : far_fail(ctx, FAR_ERR_ARG, "the context and the approximation must not be NULL");
}

far_status far_laplace_set(far_ctx *ctx, far_laplace *la, int64_t rank, double prior,
                           int32_t residual_prior)
{
    far_status st = check_la(ctx, la);
    if (st != FAR_OK) {
        return st;
    }
    bool asked = rank != 0 || !isnan(prior);
    prior = isnan(prior) ? la->info.prior : prior;
    if (!(prior > 0) || !isfinite(prior) || !isfinite(1 / prior)) {
        return far_fail(ctx, FAR_ERR_ARG, "the prior variance is %g; it must be positive", prior);
    }
    bool ella = la->info.system == FAR_LAPLACE_FEATURES;
    if (!ella && rank != 0) {
        return far_fail(ctx, FAR_ERR_ARG, "only ELLA has features; this one has no rank, give 0");
    }
    if (!ella && residual_prior >= 0) {
        return far_fail(ctx, FAR_ERR_ARG, "only ELLA leaves something to a residual");
    }
    if (rank < 0 || rank > la->info.rank_most) {
        return far_fail(ctx, FAR_ERR_ARG, "rank %lld of an approximation with %lld features",
                        (long long)rank, (long long)la->info.rank_most);
    }
    st = asked ? install_quietly(la, rank > 0 ? rank : la->info.side, prior) : FAR_OK;
    if (st == FAR_OK && residual_prior >= 0) {
        la->info.residual_prior = residual_prior != 0;
    }
    return st;
}

/* ---- making -------------------------------------------------------------------------------- */

static far_status check_points(far_ctx *ctx, const far_net *net, const far_mat *x)
{
    far_status st = FAR_OK;
    FAR_TRY(far_mat_check(ctx, x, "x"));
    FAR_TRY(far_mat_expect(ctx, x, "x", -1, -1, FAR_F64));
    FAR_TRY(far_net_check_inputs(ctx, net, x));
done:
    return st;
}

far_status far_laplace_check(far_ctx *ctx, const far_laplace *la, const far_mat *x)
{
    far_status st = check_la(ctx, la);
    return st == FAR_OK ? check_points(ctx, la->net, x) : st;
}

static far_laplace_info describe(const far_net *net, const far_mat *x, const far_laplace_opts *o,
                                 const far_laplace_cost *cost)
{
    bool ella = cost->system == FAR_LAPLACE_FEATURES;
    int64_t outputs = net->info.outputs;
    return (far_laplace_info){.rows = x->rows,
                              .outputs = outputs,
                              .parameters = net->info.parameters,
                              .method = o->method,
                              .likelihood = o->likelihood,
                              .system = cost->system,
                              .residual_prior = ella && o->residual_prior,
                              .side = cost->side,
                              .landmarks = ella ? far_least(o->landmarks, x->rows * outputs) : 0,
                              .rank = ella ? cost->side : 0,
                              .rank_most = ella ? cost->side : 0,
                              .prior = o->prior,
                              .noise = o->likelihood == FAR_LIKELIHOOD_GAUSSIAN ? o->noise : 1};
}

static far_status fit(far_laplace *la, const far_mat *x, const far_laplace_opts *opts)
{
    far_status st = FAR_OK;
    switch (la->info.system) {
    case FAR_LAPLACE_PARAMETERS:
        FAR_TRY(far_laplace_fit_parameters(la, x));
        break;
    case FAR_LAPLACE_ROWS:
        FAR_TRY(far_laplace_fit_rows(la, x));
        break;
    case FAR_LAPLACE_BLOCKS:
        FAR_TRY(far_laplace_fit_blocks(la, x));
        break;
    default:
        FAR_TRY(far_laplace_fit_features(la, x, opts));
    }
    FAR_TRY(far_progress(la->ctx, "posterior", x->rows, x->rows));
    FAR_TRY(install_quietly(la, la->info.side, la->info.prior));
done:
    return st;
}

static far_status check_fit(far_ctx *ctx, const far_net *net, const far_mat *x,
                            const far_laplace_opts *o, far_laplace_cost *cost)
{
    far_status st = FAR_OK;
    FAR_TRY(far_mat_check(ctx, x, "x"));
    FAR_TRY(far_laplace_estimate(ctx, net, x->rows, o, cost));
    FAR_TRY(check_points(ctx, net, x));
    if (o->balanced && o->labels) {
        int64_t classes = far_laplace_classes(o->likelihood, net->info.outputs);
        FAR_TRY(far_check_labels(ctx, o->labels, x->rows, classes));
    }
    FAR_TRY(far_budget_check(ctx, "the approximation", cost->bytes, o->memory));
done:
    return st;
}

far_status far_laplace_fit(far_ctx *ctx, const far_net *net, const far_mat *x,
                           const far_laplace_opts *opts, far_laplace **out)
{
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_laplace *la = NULL;
    far_laplace_cost cost;
    far_laplace_opts o;
    far_status st = FAR_OK;
    *out = NULL;
    far_laplace_opts_init(&o);
    o = opts ? *opts : o;
    FAR_TRY(check_fit(ctx, net, x, &o, &cost));
    FAR_TRY(far_alloc(ctx, 1, &la));
    *la = (far_laplace){.ctx = ctx, .memory = o.memory, .info = describe(net, x, &o, &cost)};
    FAR_TRY(far_net_copy(ctx, net, &la->net));
    FAR_TRY(fit(la, x, &o));
done:
    FAR_HAND_OVER(la, out, far_laplace_destroy);
    return st;
}
