/* The list of models: names and architectures between semicolons or commas. */
#include "compare_internal.h"

#include <ctype.h>
#include <farfield/arch.h>
#include <farfield/predictor.h>
#include <string.h>

/* Architectures in either parametrisation: the standard one needs widths, and gets those of the
 * layer-norm paper (Ziomek, Whittle and Osborne 2025), whose networks these are. */
static const struct {
    const char *name;
    far_rival_kind kind;
    const char *arch, *arch_standard;
} NAMED[] = {
    {"none", FAR_RIVAL_NETWORK, "dense relu dense relu dense",
     "dense(128) relu dense(128) relu dense(1)"},
    {"ln-first", FAR_RIVAL_NETWORK, "dense ln relu dense relu dense",
     "dense(128) ln relu dense(128) relu dense(1)"},
    {"ln-second", FAR_RIVAL_NETWORK, "dense relu dense ln relu dense",
     "dense(128) relu dense(128) ln relu dense(1)"},
    {"ln-every", FAR_RIVAL_NETWORK, "dense ln relu dense ln relu dense",
     "dense(128) ln relu dense(128) ln relu dense(1)"},
    {"auto", FAR_RIVAL_NETWORK, "auto", "auto"},
    {"xgboost", FAR_RIVAL_XGBOOST, NULL, NULL},
    {"linear", FAR_RIVAL_LINEAR, NULL, NULL},
    {"mean", FAR_RIVAL_MEAN, NULL, NULL},
};
#define FINITE "net:"
enum { NAMED_COUNT = sizeof NAMED / sizeof NAMED[0] };

void far_rivals_clear(far_ctx *ctx, far_rivals *r)
{
    for (int64_t i = 0; r->items && i < r->count; i++) {
        far_free(ctx, r->items[i].name);
        far_free(ctx, r->items[i].arch);
        far_predictor_destroy(r->items[i].file);
    }
    far_free(ctx, r->items);
    *r = (far_rivals){0};
}

static int named_index(const char *name)
{
    for (int i = 0; i < NAMED_COUNT; i++) {
        if (strcmp(NAMED[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static far_status copy(far_ctx *ctx, const char *text, char **out)
{
    return far_copy_text(ctx, text, (int64_t)strlen(text), out);
}

/* ---- one model ----------------------------------------------------------------------------- */

static far_status take_name(far_ctx *ctx, int index, int32_t param, far_rival *r)
{
    const char *arch = param == FAR_PARAM_STANDARD ? NAMED[index].arch_standard : NAMED[index].arch;
    r->kind = NAMED[index].kind;
    return arch ? copy(ctx, arch, &r->arch) : FAR_OK;
}

/* What looks like one word is more likely a misspelt name than a misspelt network. */
static bool is_word(const char *text)
{
    return strcspn(text, " \t\n()[]") == strlen(text);
}

static far_status fail_name(far_ctx *ctx, const char *name)
{
    const char *names[NAMED_COUNT];
    for (int i = 0; i < NAMED_COUNT; i++) {
        names[i] = NAMED[i].name;
    }
    const char *near = far_nearest_name(name, names, NAMED_COUNT);
    char shown[64];
    return far_fail(ctx, FAR_ERR_ARG,
                    "there is no model '%s'%s%s%s Models are none, ln-first, ln-second, "
                    "ln-every, auto, xgboost, linear, mean, a network like 'dense ln relu dense', "
                    "'net:dense(64) ln relu dense', or the file of a predictor",
                    far_printable(name, shown, sizeof shown), near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : ".");
}

static far_status take_arch(far_ctx *ctx, const char *text, int32_t param, far_rival *r)
{
    far_kernel *kernel = NULL;
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = param;
    far_status st = far_kernel_create(ctx, text, &opts, &kernel);
    far_kernel_destroy(kernel);
    if ((st == FAR_ERR_PARSE || st == FAR_ERR_ARCH) && is_word(text)) {
        return fail_name(ctx, text);
    }
    r->kind = FAR_RIVAL_NETWORK;
    return st == FAR_OK ? copy(ctx, text, &r->arch) : st;
}

/* "net:ARCH": trained, at the widths it says. */
static far_status take_finite(far_ctx *ctx, const char *text, far_rival *r)
{
    far_status st = far_arch_canonical(ctx, text, NULL, NULL);
    r->kind = FAR_RIVAL_FINITE;
    return st == FAR_OK ? copy(ctx, text, &r->arch) : st;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* A path has the ending of a predictor's file. */
static far_status take_file(far_ctx *ctx, const char *path, far_rival *r)
{
    r->kind = FAR_RIVAL_FILE;
    return far_predictor_load(ctx, path, NULL, &r->file);
}

static far_status take(far_ctx *ctx, const char *name, int32_t param, far_rival *r)
{
    int index = named_index(name);
    if (index >= 0) {
        return take_name(ctx, index, param, r);
    }
    if (strncmp(name, FINITE, strlen(FINITE)) == 0) {
        return take_finite(ctx, name + strlen(FINITE), r);
    }
    bool file = ends_with(name, ".far") || ends_with(name, ".safetensors");
    return file ? take_file(ctx, name, r) : take_arch(ctx, name, param, r);
}

static far_status refuse_twins(far_ctx *ctx, const far_rivals *r, const char *name)
{
    for (int64_t i = 0; i < r->count; i++) {
        if (strcmp(r->items[i].name, name) == 0) {
            return far_fail(ctx, FAR_ERR_ARG, "the model '%.60s' is named twice", name);
        }
    }
    return FAR_OK;
}

static far_status add_rival(far_ctx *ctx, const char *text, int64_t length, int32_t param,
                            far_rivals *out)
{
    far_status st;
    char *name = NULL;
    far_rival r = {0};
    FAR_TRY(far_copy_text(ctx, text, length, &name));
    FAR_TRY(refuse_twins(ctx, out, name));
    FAR_TRY(take(ctx, name, param, &r));
    FAR_TRY(far_grow(ctx, out->count, out->count + 1, &out->items));
    r.name = name;
    out->items[out->count++] = r;
    out->networks += r.kind == FAR_RIVAL_NETWORK;
    return FAR_OK;
done:
    far_free(ctx, name);
    far_free(ctx, r.arch);
    far_predictor_destroy(r.file);
    return st;
}

/* ---- the list ------------------------------------------------------------------------------ */

/* How long the first model of the list is: commas inside brackets belong to it. */
static int64_t piece_length(const char *text)
{
    int depth = 0;
    const char *p = text;
    for (; *p && *p != ';' && !(*p == ',' && depth <= 0); p++) {
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
    }
    return p - text;
}

static bool is_blank(char c)
{
    return isspace((unsigned char)c) != 0;
}

far_status far_rivals_parse(far_ctx *ctx, const char *text, int32_t param, far_rivals *out)
{
    far_status st = FAR_OK;
    while (*text && st == FAR_OK) {
        int64_t length = piece_length(text), first = 0, end = length;
        while (first < end && is_blank(text[first])) {
            first++;
        }
        while (end > first && is_blank(text[end - 1])) {
            end--;
        }
        if (end > first) { /* a separator at the end is no model */
            st = add_rival(ctx, text + first, end - first, param, out);
        }
        text += length + (text[length] != 0);
    }
    if (st == FAR_OK && out->count == 0) {
        st = far_fail(ctx, FAR_ERR_ARG, "the list of models is empty");
    }
    return st;
}
