#include "arch_tree.h"

#include <math.h>

static bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void print_arg(far_text *t, const far_arg *arg, double value)
{
    if (arg->type == FAR_ARG_FLAG) {
        far_text_add(t, "%s", arg->name);
        return;
    }
    if (!arg->positional) {
        far_text_add(t, "%s=", arg->name);
    }
    if (arg->type == FAR_ARG_INTEGER) {
        far_text_add(t, "%lld", (long long)value);
    } else {
        far_text_add_number(t, value);
    }
}

static void print_plain_layer(far_text *t, const far_layer *layer)
{
    const far_layer_spec *spec = &far_layer_specs[layer->kind];
    far_layer blank = far_layer_blank(layer->kind);
    const char *separator = "(";
    far_text_add(t, "%s", spec->name);
    for (int i = 0; i < spec->arg_count; i++) {
        double value = far_arg_get(&spec->args[i], layer);
        if (!same_value(value, far_arg_get(&spec->args[i], &blank))) {
            far_text_add(t, "%s", separator);
            print_arg(t, &spec->args[i], value);
            separator = ", ";
        }
    }
    far_text_add(t, "%s", separator[0] == '(' ? "" : ")");
}

static void print_body(far_text *t, const far_layer *owner);

static void print_layer(far_text *t, const far_layer *layer)
{
    switch (layer->kind) {
    case FAR_LAYER_REPEAT:
        far_text_add(t, "[");
        print_body(t, layer);
        far_text_add(t, "]x%lld", (long long)layer->count);
        break;
    case FAR_LAYER_SKIP:
        far_text_add(t, "skip(");
        print_body(t, layer);
        far_text_add(t, ")");
        break;
    default:
        print_plain_layer(t, layer);
    }
}

static void print_body(far_text *t, const far_layer *owner)
{
    for (int64_t i = 0; i < owner->body_count; i++) {
        if (i > 0) {
            far_text_add(t, " ");
        }
        print_layer(t, &owner->body[i]);
    }
}

far_status far_arch_print(far_ctx *ctx, const far_layer *root, char **out, int64_t *length)
{
    far_text t = {.ctx = ctx};
    print_body(&t, root);
    if (t.status != FAR_OK) {
        far_free(ctx, t.data);
        t.data = NULL;
    }
    *out = t.data;
    *length = t.length;
    return t.status;
}
