/* What columns hold, and how to ask them. */
#include "columns_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

far_status far_columns_new(far_ctx *ctx, far_columns **out)
{
    far_status st = far_alloc(ctx, 1, out);
    if (st == FAR_OK) {
        **out = (far_columns){.ctx = ctx, .info = {.loss = FAR_LOSS_NONE, .named = 1}};
    }
    return st;
}

void far_columns_destroy(far_columns *c)
{
    if (!c) {
        return;
    }
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        far_feature *f = &c->features[j];
        far_texts_free(c->ctx, f->levels, f->level_count);
        FAR_FREE_ALL(c->ctx, f->name, f->knot, f->rank, f->edge);
    }
    for (int64_t k = 0; k < c->note_count; k++) {
        far_free(c->ctx, c->notes[k].name);
    }
    far_free(c->ctx, c->notes);
    far_texts_free(c->ctx, c->inputs, c->info.inputs);
    far_texts_free(c->ctx, c->targets, c->info.targets);
    far_texts_free(c->ctx, c->classes, c->info.classes);
    FAR_FREE_ALL(c->ctx, c->features, c->scaling, c);
}

far_status far_columns_unscaled(far_columns *c)
{
    int64_t d = c->info.inputs, o = c->info.outputs;
    far_status st = far_alloc(c->ctx, far_scaling_count(c), &c->scaling);
    for (int64_t i = 0; st == FAR_OK && i < far_scaling_count(c); i++) {
        c->scaling[i] = (i >= d && i < 2 * d) || i >= 2 * d + o;
    }
    return st;
}

far_status far_columns_name(far_columns *c)
{
    far_status st = far_alloc(c->ctx, c->info.inputs, &c->inputs);
    for (int64_t j = 0; st == FAR_OK && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        for (int64_t l = 0; st == FAR_OK && l < f->width; l++) {
            far_text t = {.ctx = c->ctx};
            bool number = f->kind == FAR_COLUMN_NUMBER;
            if (l > 0 && f->steps > 0) {
                far_text_add(&t, "step%lld(%s)", (long long)l, f->name);
            } else {
                far_text_add(&t, number && l > 0 ? "rank(%s)%s%s" : "%s%s%s", f->name,
                             number ? "" : "=", number ? "" : f->levels[l]);
            }
            c->inputs[f->first + l] = t.data;
            st = t.status;
        }
    }
    return st;
}

static far_status number_names(far_ctx *ctx, char letter, int64_t count, char ***out)
{
    far_status st = far_alloc(ctx, count, out);
    for (int64_t i = 0; st == FAR_OK && i < count; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "%c%lld", letter, (long long)i + 1);
        st = far_copy_text(ctx, name, length, &(*out)[i]);
    }
    return st;
}

far_status far_columns_unnamed(far_ctx *ctx, int64_t inputs, int64_t outputs, far_columns **out)
{
    far_status st;
    far_columns *c = NULL;
    FAR_TRY(far_columns_new(ctx, &c));
    c->info.named = 0;
    c->info.inputs = inputs;
    c->info.outputs = c->info.targets = outputs;
    FAR_TRY(number_names(ctx, 'x', inputs, &c->inputs));
    FAR_TRY(number_names(ctx, 'y', outputs, &c->targets));
    FAR_TRY(far_columns_unscaled(c));
done:
    FAR_HAND_OVER(c, out, far_columns_destroy);
    return st;
}

/* ---- a copy -------------------------------------------------------------------------------- */

static far_status copy_texts(far_ctx *ctx, char *const *texts, int64_t count, char ***out)
{
    far_status st = texts ? far_alloc(ctx, count, out) : FAR_OK;
    for (int64_t i = 0; st == FAR_OK && texts && i < count; i++) {
        st = far_copy_text(ctx, texts[i], (int64_t)strlen(texts[i]), &(*out)[i]);
    }
    return st;
}

static far_status copy_numbers(far_ctx *ctx, const double *from, int64_t count, double **out)
{
    far_status st = from ? far_alloc(ctx, count, out) : FAR_OK;
    if (st == FAR_OK && from) {
        memcpy(*out, from, (size_t)count * sizeof *from);
    }
    return st;
}

static far_status copy_features(far_ctx *ctx, const far_columns *from, far_columns *to)
{
    far_status st = far_alloc(ctx, from->info.features, &to->features);
    for (int64_t j = 0; st == FAR_OK && j < from->info.features; j++) {
        const far_feature *f = &from->features[j];
        to->features[j] = *f;
        to->features[j].name = NULL;
        to->features[j].levels = NULL;
        to->features[j].knot = to->features[j].rank = to->features[j].edge = NULL;
    }
    for (int64_t j = 0; st == FAR_OK && j < from->info.features; j++) {
        const far_feature *f = &from->features[j];
        FAR_TRY(far_copy_text(ctx, f->name, (int64_t)strlen(f->name), &to->features[j].name));
        FAR_TRY(copy_texts(ctx, f->levels, f->level_count, &to->features[j].levels));
        FAR_TRY(copy_numbers(ctx, f->knot, f->knots, &to->features[j].knot));
        FAR_TRY(copy_numbers(ctx, f->rank, f->knots, &to->features[j].rank));
        FAR_TRY(copy_numbers(ctx, f->edge, f->steps > 0 ? f->steps + 1 : 0, &to->features[j].edge));
    }
done:
    return st;
}

static far_status copy_notes(far_ctx *ctx, const far_columns *from, far_columns *to)
{
    far_status st = far_alloc(ctx, from->note_count, &to->notes);
    for (int64_t k = 0; st == FAR_OK && k < from->note_count; k++) {
        const char *name = from->notes[k].name;
        to->notes[k] = from->notes[k];
        st = far_copy_text(ctx, name, (int64_t)strlen(name), &to->notes[k].name);
        to->note_count += st == FAR_OK;
    }
    return st;
}

far_status far_columns_copy(far_ctx *ctx, const far_columns *from, far_columns **out)
{
    far_status st;
    far_columns *c = NULL;
    FAR_TRY(far_columns_new(ctx, &c));
    c->info = from->info;
    memcpy(c->hash, from->hash, sizeof c->hash);
    FAR_TRY(copy_features(ctx, from, c));
    FAR_TRY(copy_notes(ctx, from, c));
    FAR_TRY(copy_texts(ctx, from->inputs, from->info.inputs, &c->inputs));
    FAR_TRY(copy_texts(ctx, from->targets, from->info.targets, &c->targets));
    FAR_TRY(copy_texts(ctx, from->classes, from->info.classes, &c->classes));
    FAR_TRY(far_alloc(ctx, far_scaling_count(c), &c->scaling));
    memcpy(c->scaling, from->scaling, (size_t)far_scaling_count(c) * sizeof *c->scaling);
done:
    FAR_HAND_OVER(c, out, far_columns_destroy);
    return st;
}

/* ---- asking -------------------------------------------------------------------------------- */

static far_scaling scaling_of(const far_columns *c)
{
    int64_t d = c->info.inputs, o = c->info.outputs;
    return (far_scaling){.input_centre = far_mat_view(far_input_centre(c), 1, d, FAR_F64),
                         .input_scale = far_mat_view(far_input_scale(c), 1, d, FAR_F64),
                         .output_centre = far_mat_view(far_output_centre(c), 1, o, FAR_F64),
                         .output_scale = far_mat_view(far_output_scale(c), 1, o, FAR_F64)};
}

/* One output for two classes is that of the second. */
const char *const *far_columns_outputs(const far_columns *c)
{
    char **names = c->classes ? c->classes + (c->info.classes - c->info.outputs) : c->targets;
    return (const char *const *)names;
}

far_columns_info far_columns_describe(const far_columns *c)
{
    far_columns_info info = c->info;
    info.summaries = c->note_count;
    info.input_names = (const char *const *)c->inputs;
    info.output_names = far_columns_outputs(c);
    info.target_names = c->info.named ? (const char *const *)c->targets : NULL;
    info.class_names = (const char *const *)c->classes;
    info.scaling = scaling_of(c);
    info.hash = c->hash[0] ? c->hash : NULL;
    return info;
}

int64_t far_columns_predicted(const far_columns *c)
{
    return c->info.classes > 0 ? c->info.classes : c->info.outputs;
}

far_feature_info far_columns_feature(const far_columns *c, int64_t i)
{
    const far_feature *f = c->features && i >= 0 && i < c->info.features ? &c->features[i] : NULL;
    if (!f) {
        return (far_feature_info){.low = NAN, .high = NAN};
    }
    bool word = f->kind == FAR_COLUMN_WORD, date = far_notation_is_date(f->notation);
    return (far_feature_info){.name = f->name,
                              .kind = f->kind,
                              .first = f->first,
                              .width = f->width,
                              .levels = word ? (const char *const *)f->levels : NULL,
                              .unit = word   ? ""
                                      : date ? "date"
                                             : far_marks[f->mark],
                              .ranked = f->knots > 0,
                              .low = f->ranged ? f->low : NAN,
                              .high = f->ranged ? f->high : NAN};
}

/* ---- ranks --------------------------------------------------------------------------------- */

double far_feature_rank(const far_feature *f, double value)
{
    int64_t low = 0, high = f->knots - 1;
    if (!(value > f->knot[low])) {
        return f->rank[low];
    }
    if (value >= f->knot[high]) {
        return f->rank[high];
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(f->knot[middle] <= value ? &low : &high) = middle;
    }
    /* The distance between two doubles may be more than one holds, and half of a tiny one 0. */
    double unit = isfinite(f->knot[high] - f->knot[low]) ? 1 : 0.5;
    double part =
        (value * unit - f->knot[low] * unit) / (f->knot[high] * unit - f->knot[low] * unit);
    return f->rank[low] + part * (f->rank[high] - f->rank[low]);
}

/* Step l is 0 below edge l and 1 above the next, so that the square of the distance of two values
 * is how many steps their ranks are apart. */
static double copy_of(const far_feature *f, int64_t l, double rank)
{
    double part = f->steps == 0 ? 0 : (rank - f->edge[l]) / (f->edge[l + 1] - f->edge[l]);
    return f->steps == 0 ? rank : fmin(fmax(part, 0), 1);
}

void far_feature_set_copies(const far_feature *f, double value, double *copies)
{
    double rank = far_feature_rank(f, value);
    for (int64_t l = 0; l < f->width - 1; l++) {
        copies[l] = copy_of(f, l, rank);
    }
}

bool far_columns_stepped(const far_columns *c)
{
    bool any = false;
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        any = any || c->features[j].steps > 0;
    }
    return any;
}

bool far_columns_ranked(const far_columns *c)
{
    bool any = false;
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        any = any || c->features[j].knots > 0;
    }
    return any;
}

void far_columns_set_ranks(const far_columns *c, double *point)
{
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        if (f->knots > 0) {
            far_feature_set_copies(f, point[f->first], point + f->first + 1);
        }
    }
}

/* Far along a direction a rank stands still. */
static bool rank_fits(const far_feature *f, const double *point, int direction)
{
    bool fits = true;
    double rank = f->knots > 0 && !direction ? far_feature_rank(f, point[f->first]) : 0;
    for (int64_t l = 0; f->knots > 0 && l < f->width - 1; l++) {
        fits = fits && point[f->first + 1 + l] == (direction ? 0 : copy_of(f, l, rank));
    }
    return fits;
}

void far_columns_follow(const far_columns *c, const double *direction, double *point)
{
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        if (f->knots > 0 && rank_fits(f, direction, 1)) {
            far_feature_set_copies(f, point[f->first], point + f->first + 1);
        }
    }
}

int far_columns_is_row(const far_columns *c, const double *point, int direction)
{
    bool row = true;
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        const far_feature *f = &c->features[j];
        int64_t ones = 0, zeros = 0;
        for (int64_t l = 0; l < f->width; l++) {
            ones += point[f->first + l] == 1;
            zeros += point[f->first + l] == 0;
        }
        bool one = ones == 1 && zeros == f->width - 1;
        row &= f->kind == FAR_COLUMN_NUMBER ? rank_fits(f, point, direction)
               : direction                  ? zeros == f->width
                                            : one;
    }
    return row;
}

/* Features stand in the order of their inputs. NULL: columns have no features. */
static const far_feature *feature_of(const far_columns *c, int64_t input)
{
    int64_t low = 0, high = c->features ? c->info.features : 0;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(c->features[middle].first <= input ? &low : &high) = middle;
    }
    return high > low ? &c->features[low] : NULL;
}

bool far_columns_is_category(const far_columns *c, int64_t input)
{
    const far_feature *f = feature_of(c, input);
    return f && f->kind == FAR_COLUMN_WORD;
}

bool far_columns_is_still(const far_columns *c, int64_t input)
{
    const far_feature *f = feature_of(c, input);
    return f && (f->kind == FAR_COLUMN_WORD || (f->knots > 0 && input > f->first));
}

int64_t far_columns_still(const far_columns *c)
{
    int64_t count = 0;
    for (int64_t i = 0; i < c->info.inputs; i++) {
        count += far_columns_is_still(c, i);
    }
    return count;
}

int64_t far_columns_categories(const far_columns *c)
{
    int64_t count = 0;
    for (int64_t j = 0; c->features && j < c->info.features; j++) {
        count += c->features[j].kind == FAR_COLUMN_WORD ? c->features[j].width : 0;
    }
    return count;
}

/* ---- the summary ----------------------------------------------------------------------------- */

far_column_summary far_columns_summary(const far_columns *c, int64_t i)
{
    static const char *const names[] = {"number",     "category", "date", "constant",
                                        "identifier", "text",     "empty"};
    static const char *const written[FAR_NOTATIONS] = {NULL, "decimal comma", "thousands commas",
                                                       NULL, "day first",     "month first"};
    if (i < 0 || i >= c->note_count) {
        return (far_column_summary){.low = NAN, .high = NAN};
    }
    const far_note_of_column *n = &c->notes[i];
    return (far_column_summary){.name = n->name,
                                .role = n->role,
                                .taken = n->taken,
                                .taken_name = names[n->taken],
                                .written = written[n->notation],
                                .unit = n->unit,
                                .levels = n->levels,
                                .missing = n->missing,
                                .low = n->low,
                                .high = n->high,
                                .labels = n->labels};
}
