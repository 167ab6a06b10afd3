/* Options, and what they take. */
#include "laplace_internal.h"

#include <math.h>

#define PROJECTIONS 3 /* at a time */

void far_laplace_opts_init(far_laplace_opts *opts)
{
    *opts = (far_laplace_opts){.size = sizeof *opts,
                               .method = FAR_LAPLACE_ELLA,
                               .likelihood = FAR_LIKELIHOOD_GAUSSIAN,
                               .prior = 1,
                               .noise = 1,
                               .landmarks = 500,
                               .rank = 20,
                               .residual_prior = 1};
}

static far_status check_kinds(far_ctx *ctx, const far_laplace_opts *o)
{
    if (o->method < FAR_LAPLACE_ELLA || o->method > FAR_LAPLACE_LAST_LAYER) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: method %d is no far_laplace_method",
                        (int)o->method);
    }
    if (o->likelihood < FAR_LIKELIHOOD_GAUSSIAN || o->likelihood > FAR_LIKELIHOOD_BERNOULLI) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: likelihood %d is no far_likelihood",
                        (int)o->likelihood);
    }
    if (o->system < FAR_LAPLACE_SMALLER || o->system > FAR_LAPLACE_ROWS) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: system %d cannot be chosen", (int)o->system);
    }
    return FAR_OK;
}

static bool positive(double value)
{
    return value > 0 && isfinite(value) && isfinite(1 / value);
}

static far_status check_numbers(far_ctx *ctx, const far_laplace_opts *o)
{
    if (!positive(o->prior)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: the prior variance is %g; it must be positive",
                        o->prior);
    }
    if (o->likelihood == FAR_LIKELIHOOD_GAUSSIAN && !positive(o->noise)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: the noise variance is %g; it must be positive",
                        o->noise);
    }
    if (o->method == FAR_LAPLACE_ELLA && (o->landmarks < 1 || o->rank < 0)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld landmarks and rank %lld; at least 1 and 0",
                        (long long)o->landmarks, (long long)o->rank);
    }
    return FAR_OK;
}

static far_status check_net(far_ctx *ctx, const far_net *net, const far_laplace_opts *o)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network must not be NULL");
    }
    if (net->info.parameters < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "the network has no parameters to be unsure of");
    }
    double numbers;
    if (o->method == FAR_LAPLACE_LAST_LAYER && far_blocks_side(net, o->method, &numbers) == 0) {
        return far_fail(ctx, FAR_ERR_ARG, "the network has no dense layer to be the last one");
    }
    if (o->likelihood == FAR_LIKELIHOOD_SOFTMAX && net->info.outputs < 2) {
        return far_fail(ctx, FAR_ERR_SHAPE,
                        "a softmax needs 2 outputs or more, and the network has %lld",
                        (long long)net->info.outputs);
    }
    if (o->likelihood == FAR_LIKELIHOOD_BERNOULLI && net->info.outputs != 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "a Bernoulli has 1 output, and the network has %lld",
                        (long long)net->info.outputs);
    }
    return FAR_OK;
}

static far_status check(far_ctx *ctx, const far_net *net, int64_t n, const far_laplace_opts *o)
{
    far_status st = FAR_OK;
    if (o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: call far_laplace_opts_init first");
    }
    FAR_TRY(check_kinds(ctx, o));
    FAR_TRY(check_numbers(ctx, o));
    FAR_TRY(check_net(ctx, net, o));
    if (n < 1 || n > INT64_MAX / net->info.outputs) {
        return far_fail(ctx, FAR_ERR_SHAPE, "%lld training rows; there must be at least 1",
                        (long long)n);
    }
done:
    return st;
}

static int32_t choose_system(const far_laplace_opts *o, int64_t parameters, int64_t rows)
{
    if (o->method == FAR_LAPLACE_ELLA) {
        return FAR_LAPLACE_FEATURES;
    }
    if (o->method != FAR_LAPLACE_EXACT) {
        return FAR_LAPLACE_BLOCKS;
    }
    return o->system != FAR_LAPLACE_SMALLER ? o->system
           : parameters <= rows             ? FAR_LAPLACE_PARAMETERS
                                            : FAR_LAPLACE_ROWS;
}

static double features_bytes(const far_net *net, int64_t landmarks, int64_t rank)
{
    double m = (double)landmarks, k = (double)rank, p = (double)net->info.parameters;
    double factors = 2 * m * (double)far_net_factor_numbers(net);
    return 8 * (fmax(2 * m * m + m * k + factors, 2 * k * p) + k * p + 3 * k * k);
}

static double blocks_bytes(far_laplace_method method, int64_t side, double numbers)
{
    return method == FAR_LAPLACE_LAST_LAYER
               ? 8 * 4 * (double)side * (double)side /* matrix, factor, its inverse twice */
               : 8 * (2 * (double)side + (method == FAR_LAPLACE_KFAC ? 4 * numbers : 0));
}

static double exact_bytes(int64_t side)
{
    return 8 * 2 * (double)side * (double)side;
}

far_status far_laplace_estimate(far_ctx *ctx, const far_net *net, int64_t n,
                                const far_laplace_opts *opts, far_laplace_cost *out)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o = opts ? *opts : o;
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "the context and out must not be NULL");
    }
    far_status st = check(ctx, net, n, &o);
    if (st != FAR_OK) {
        return st;
    }
    int64_t rows = n * net->info.outputs, landmarks = far_least(o.landmarks, rows);
    int64_t rank = o.rank > 0 ? far_least(o.rank, landmarks) : landmarks;
    rank = far_least(rank, net->info.parameters);
    *out = (far_laplace_cost){.system = choose_system(&o, net->info.parameters, rows)};
    bool ella = out->system == FAR_LAPLACE_FEATURES;
    bool blocks = out->system == FAR_LAPLACE_BLOCKS;
    double numbers;
    int64_t by_layer = far_blocks_side(net, o.method, &numbers);
    out->side = ella                                    ? rank
                : blocks                                ? by_layer
                : out->system == FAR_LAPLACE_PARAMETERS ? net->info.parameters
                                                        : rows;
    double chunk =
        PROJECTIONS * fmin(far_laplace_chunk_numbers(o.memory), (double)rows * (double)out->side);
    out->bytes = (ella     ? features_bytes(net, landmarks, rank)
                  : blocks ? blocks_bytes(o.method, by_layer, numbers)
                           : exact_bytes(out->side)) +
                 8 * (chunk + 4 * (double)net->info.parameters + 256 * (double)out->side);
    out->fits = out->bytes <= far_budget(o.memory);
    return FAR_OK;
}
