/* What the theory of power laws expects. */
#include "../arch/arch_internal.h"
#include "measure_internal.h"

#include <math.h>

far_status far_power_expect(far_ctx *ctx, int64_t d, int sphere, double degree,
                            far_kernel_kind kind, far_power_target target, far_power_theory *out)
{
    double dimension = (double)(sphere ? d - 1 : d);
    double alpha = kind == FAR_KERNEL_NNGP ? 2 * degree + 1 : 2 * degree - 1;
    if (dimension < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "%lld dimension%s: points need at least one%s",
                        (long long)d, far_plural(d), sphere ? ", and a sphere two" : "");
    }
    if (!(degree >= 0 && degree < INFINITY && alpha > 0)) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "an activation of degree %g: it must be above 1/2 for a tangent kernel, "
                        "and not negative",
                        degree);
    }
    if (target != FAR_TARGET_JUMP && target != FAR_TARGET_NET) {
        return far_fail(ctx, FAR_ERR_ARG, "a target is FAR_TARGET_JUMP or FAR_TARGET_NET");
    }
    double kappa = (target == FAR_TARGET_JUMP ? 1 : 2 * degree + 1) / dimension;
    double nu = 1 + alpha / dimension;
    *out = (far_power_theory){.alpha = alpha, .nu = nu, .kappa = kappa, .xi = kappa / nu};
    return FAR_OK;
}

/* ---- architectures ---- */

typedef struct roughness {
    double degree;      /* the least of a kinked activation; INFINITY: none */
    const char *smooth; /* the name of one that is smooth, or NULL */
} roughness;

static double degree_of(const far_layer *layer)
{
    switch (layer->kind) {
    case FAR_LAYER_RELU:
        return layer->power;
    case FAR_LAYER_LEAKY_RELU:
        return layer->slope == 1 ? INFINITY : 1;
    case FAR_LAYER_ABS:
        return 1;
    default:
        return INFINITY;
    }
}

static void look_at(const far_layer *layers, int64_t count, roughness *r)
{
    for (int64_t i = 0; i < count; i++) {
        const far_layer *layer = &layers[i];
        double degree = degree_of(layer);
        r->degree = fmin(r->degree, degree);
        if (far_layer_is_activation(layer->kind) && layer->kind != FAR_LAYER_IDENTITY &&
            isinf(degree)) {
            r->smooth = far_layer_name(layer->kind);
        }
        look_at(layer->body, layer->body_count, r);
    }
}

far_status far_power_degree(far_ctx *ctx, const char *arch, double *degree)
{
    far_arch *parsed = NULL;
    roughness r = {.degree = INFINITY};
    int64_t count;
    far_status st;
    FAR_TRY(far_arch_parse(ctx, arch, &parsed));
    const far_layer *layers = far_arch_layers(parsed, &count);
    look_at(layers, count, &r);
    if (isfinite(r.degree)) {
        *degree = r.degree;
    } else if (r.smooth) {
        st = far_fail(ctx, FAR_ERR_ARCH,
                      "%s is smooth: the eigenvalues of this kernel fall faster than any power, "
                      "and there is no exponent to report; relu and its powers have one",
                      r.smooth);
    } else {
        st = far_fail(ctx, FAR_ERR_ARCH,
                      "the network is linear: its kernel has as many eigenvalues as inputs, and no "
                      "power law");
    }
done:
    far_arch_destroy(parsed);
    return st;
}
