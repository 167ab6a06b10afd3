#include "arch_tree.h"

#include <math.h>

static void print_size(far_text *t, const far_size *size)
{
    for (int i = 0; i < FAR_SIZE_PARTS && size->part[i] > 0; i++) {
        far_text_add(t, "%s%lld", i ? "x" : "", (long long)size->part[i]);
    }
}

/* named: a positional argument in front of it was left out, so it cannot go by its place. */
static void print_arg(far_text *t, const far_arg *arg, const far_layer *layer, bool named)
{
    if (arg->type == FAR_ARG_FLAG) {
        far_text_add(t, "%s", arg->name);
        return;
    }
    if (!arg->positional || named) {
        far_text_add(t, "%s=", arg->name);
    }
    if (arg->type == FAR_ARG_SIZE) {
        far_layer copy = *layer;
        print_size(t, far_size_of(arg, &copy));
    } else if (arg->type == FAR_ARG_INTEGER) {
        far_text_add(t, "%lld", (long long)far_arg_get(arg, layer));
    } else {
        far_text_add_number(t, far_arg_get(arg, layer));
    }
}

static void print_plain_layer(far_text *t, const far_layer *layer)
{
    const far_layer_spec *spec = &far_layer_specs[layer->kind];
    far_layer blank = far_layer_blank(layer->kind);
    const char *separator = "(";
    bool left_out = false;
    far_text_add(t, "%s", spec->name);
    for (int i = 0; i < spec->arg_count; i++) {
        if (far_arg_same(&spec->args[i], layer, &blank)) {
            left_out = true;
            continue;
        }
        far_text_add(t, "%s", separator);
        print_arg(t, &spec->args[i], layer, left_out);
        separator = ", ";
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
            far_text_add(t, i == owner->main_count ? " | " : " ");
        }
        print_layer(t, &owner->body[i]);
    }
}

static void drop_lora(far_layer *owner)
{
    for (int64_t i = 0; i < owner->body_count; i++) {
        owner->body[i].lora = 0;
        owner->body[i].alpha = NAN;
        drop_lora(&owner->body[i]);
    }
}

far_status far_arch_plain_text(far_ctx *ctx, const char *text, char **out)
{
    far_arch *arch = NULL;
    int64_t length;
    far_status st = far_arch_parse(ctx, text, &arch);
    *out = NULL;
    if (st == FAR_OK) {
        drop_lora(&arch->root);
        st = far_arch_print(ctx, &arch->root, out, &length);
    }
    far_arch_destroy(arch);
    return st;
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
