/* Learning how features become inputs: levels, what fills missing values, scales. */
#include "columns_learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOTS = 256 }; /* about */
enum { STEPS_IN_ALL = 512, FEWEST_STEPS = 8, MOST_STEPS = 64 };

static far_status fail_blank(far_ctx *ctx, const far_feature *f)
{
    return far_fail(ctx, FAR_ERR_VALUE, "column %s has no value in the rows chosen; leave it out",
                    f->name);
}

static far_status first_gap(const far_lesson *l, int64_t col)
{
    const double *numbers = far_frame_column(l->frame, col).numbers;
    const int32_t *codes = far_frame_column(l->frame, col).codes;
    for (int64_t i = 0; i < l->count; i++) {
        if (numbers ? isnan(numbers[l->index[i]]) : codes[l->index[i]] < 0) {
            return far_fail_missing(l->ctx, far_frame_column(l->frame, col).name, l->index[i]);
        }
    }
    return FAR_OK;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double spread_of(const double *values, int64_t count)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    for (int64_t i = 0; i < count; i++) {
        long double off = values[i] - sum / (long double)count;
        square += off * off;
    }
    return (double)sqrtl(square / (long double)count);
}

/* A value that makes up the whole of the rows from a to b has the rank of their middle. */
static double rank_of(int64_t a, int64_t b, int64_t count)
{
    return sqrt(3) * ((double)(a + b + 1) / (double)count - 1);
}

/* Knots at the different values, of which evenly many are left out where they are many; the first
 * and the last stay. Uniform ranks have mean 0 and variance 1. */
static far_status learn_ranks(far_ctx *ctx, const double *sorted, int64_t count, far_feature *f)
{
    far_status st;
    FAR_TRY(far_alloc(ctx, count, &f->knot));
    FAR_TRY(far_alloc(ctx, count, &f->rank));
    for (int64_t i = 0, next = 0; i < count; i = next) {
        for (next = i + 1; next < count && sorted[next] == sorted[i];) {
            next++;
        }
        bool last = next == count, first = f->knots == 0;
        double rank = rank_of(i, next - 1, count);
        if (first || last || rank - f->rank[f->knots - 1] >= 2 * sqrt(3) / MOST_KNOTS) {
            f->knot[f->knots] = sorted[i];
            f->rank[f->knots++] = rank;
        }
    }
    f->width = 2;
done:
    return st;
}

/* How many steps a column gets: fewer where there are many of them. */
static int64_t steps_each(const far_lesson *l)
{
    int64_t numbers = 0;
    for (int64_t j = 0; j < l->feature_count; j++) {
        numbers += far_frame_column(l->frame, l->features[j]).kind == FAR_COLUMN_NUMBER;
    }
    int64_t each = STEPS_IN_ALL / (numbers > 0 ? numbers : 1);
    return each < FEWEST_STEPS ? FEWEST_STEPS : far_least(each, MOST_STEPS);
}

/* Edges at ranks that values have, so that no step is without rows: evenly many of the knots. */
static far_status cut_ranks(far_ctx *ctx, int64_t most, far_feature *f)
{
    far_status st = far_alloc(ctx, f->knots, &f->edge);
    int64_t edges = 0;
    for (int64_t k = 0; st == FAR_OK && f->knots > 1 && k < f->knots; k++) {
        bool first = k == 0, last = k == f->knots - 1;
        if (first || last || f->rank[k] - f->edge[edges - 1] >= 2 * sqrt(3) / (double)most) {
            f->edge[edges++] = f->rank[k];
        }
    }
    f->steps = edges > 1 ? edges - 1 : 0;
    f->width = f->steps > 0 ? 1 + f->steps : f->width;
    return st;
}

/* Missing values become the median. */
static far_status learn_number(const far_lesson *l, int64_t col, far_feature *f)
{
    const double *column = far_frame_column(l->frame, col).numbers;
    double *values = NULL;
    int64_t present = 0;
    far_status st = far_alloc(l->ctx, l->count, &values);
    for (int64_t i = 0; st == FAR_OK && i < l->count; i++) {
        if (!isnan(column[l->index[i]])) {
            values[present++] = column[l->index[i]];
        }
    }
    f->width = 1;
    f->notation = l->frame->columns[col].notation;
    f->mark = l->frame->columns[col].mark;
    if (st == FAR_OK && present == 0) {
        st = fail_blank(l->ctx, f);
    } else if (st == FAR_OK) {
        qsort(values, (size_t)present, sizeof *values, by_value);
        f->fill = (values[(present - 1) / 2] + values[present / 2]) / 2;
        f->ranged = true;
        f->low = values[0];
        f->high = values[present - 1];
        f->spread = spread_of(values, present);
        st = l->ranks ? learn_ranks(l->ctx, values, present, f) : FAR_OK;
        st = st == FAR_OK && l->steps ? cut_ranks(l->ctx, steps_each(l), f) : st;
    }
    far_free(l->ctx, values);
    return st;
}

/* ---- categories ---------------------------------------------------------------------------- */

/* The levels that the rows have; missing values become the most frequent. */
static far_status copy_levels(const far_lesson *l, int64_t col, const int64_t *seen,
                              int64_t level_count, far_feature *f)
{
    far_status st = far_alloc(l->ctx, f->level_count, &f->levels);
    int64_t used = 0, most = 0;
    for (int64_t k = 0; st == FAR_OK && k < level_count; k++) {
        if (seen[k] > 0) {
            const char *text = far_frame_level(l->frame, col, k);
            f->fill_code = seen[k] > most ? used : f->fill_code;
            most = seen[k] > most ? seen[k] : most;
            st = far_copy_text(l->ctx, text, (int64_t)strlen(text), &f->levels[used++]);
        }
    }
    return st;
}

static far_status learn_words(const far_lesson *l, int64_t col, far_feature *f)
{
    far_status st;
    int64_t *seen = NULL, levels = far_frame_column(l->frame, col).level_count;
    const int32_t *codes = far_frame_column(l->frame, col).codes;
    FAR_TRY(far_alloc(l->ctx, levels, &seen));
    for (int64_t i = 0; i < l->count; i++) {
        if (codes[l->index[i]] >= 0) {
            seen[codes[l->index[i]]]++;
        }
    }
    for (int64_t k = 0; k < levels; k++) {
        f->level_count += seen[k] > 0;
    }
    f->width = f->level_count;
    FAR_TRY(f->width > 0 ? FAR_OK : fail_blank(l->ctx, f));
    FAR_TRY(copy_levels(l, col, seen, levels, f));
done:
    far_free(l->ctx, seen);
    return st;
}

static far_status learn_feature(const far_lesson *l, int64_t col, far_feature *f)
{
    const char *name = far_frame_column(l->frame, col).name;
    far_status st = far_copy_text(l->ctx, name, (int64_t)strlen(name), &f->name);
    if (st != FAR_OK) {
        return st;
    }
    f->kind = far_frame_column(l->frame, col).kind;
    return f->kind == FAR_COLUMN_NUMBER ? learn_number(l, col, f) : learn_words(l, col, f);
}

far_status far_features_learn(const far_lesson *l, far_columns *c)
{
    far_status st = far_alloc(l->ctx, l->feature_count, &c->features);
    if (st == FAR_OK) {
        c->info.features = l->feature_count;
    }
    for (int64_t j = 0; st == FAR_OK && j < l->feature_count; j++) {
        if (!c->info.impute) {
            st = first_gap(l, l->features[j]);
        }
        if (st == FAR_OK) {
            st = learn_feature(l, l->features[j], &c->features[j]);
        }
        c->features[j].first = c->info.inputs;
        c->info.inputs += c->features[j].width;
    }
    return st == FAR_OK ? far_columns_name(c) : st;
}

/* ---- scales -------------------------------------------------------------------------------- */

/* The variance in long double: squares of values that a double holds may leave its range. */
static void column_moments(const double *x, int64_t count, int64_t width, int64_t j, double *mean,
                           long double *variance)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i * width + j];
    }
    *mean = (double)(sum / (long double)count);
    for (int64_t i = 0; i < count; i++) {
        long double off = x[i * width + j] - sum / (long double)count;
        square += off * off;
    }
    *variance = square / (long double)count;
}

double far_standard_scale(long double variance, double mean)
{
    double scale = (double)sqrtl(variance);
    return scale > 1e-12 * fabs(mean) ? scale : 1;
}

static void set_scale_of_number(const double *x, int64_t count, int64_t j, far_columns *c)
{
    long double variance;
    double *centre = &far_input_centre(c)[j];
    column_moments(x, count, c->info.inputs, j, centre, &variance);
    far_input_scale(c)[j] = far_standard_scale(variance, *centre);
}

/* The indicators of a category share one scale, so that together they weigh as much as a number: a
 * category that is rare must not become a huge input. The steps of a rank do, too. */
static void set_scale_together(const double *x, int64_t count, int64_t first, int64_t width,
                               far_columns *c)
{
    double *centre = far_input_centre(c), *scale = far_input_scale(c), largest = 0;
    long double total = 0;
    for (int64_t j = first; j < first + width; j++) {
        long double variance;
        column_moments(x, count, c->info.inputs, j, &centre[j], &variance);
        total += variance;
        largest = fmax(largest, fabs(centre[j]));
    }
    for (int64_t j = first; j < first + width; j++) {
        scale[j] = far_standard_scale(total, largest);
    }
}

static void set_scales(const double *x, int64_t count, far_columns *c)
{
    int64_t parts = 0;
    for (int64_t k = 0; k < c->info.features; k++) {
        const far_feature *f = &c->features[k];
        bool number = f->kind == FAR_COLUMN_NUMBER;
        if (number) {
            set_scale_of_number(x, count, f->first, c);
        }
        if (f->width > number) {
            set_scale_together(x, count, f->first + number, f->width - number, c);
        }
        parts += number + (f->width > number);
    }
    /* A kernel sees |x|^2 over the number of inputs. Many steps must not make it small beside the
     * biases: that would leave no room for them. */
    for (int64_t j = 0; far_columns_stepped(c) && j < c->info.inputs; j++) {
        far_input_scale(c)[j] /= sqrt((double)c->info.inputs / (double)parts);
    }
}

/* One centre and one scale for all inputs. */
static void set_common_scale(const double *x, int64_t count, far_columns *c)
{
    int64_t all = count * c->info.inputs;
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < all; i++) {
        sum += x[i];
    }
    double centre = (double)(sum / (long double)all);
    for (int64_t i = 0; i < all; i++) {
        square += ((long double)x[i] - centre) * ((long double)x[i] - centre);
    }
    double scale = far_standard_scale(square / (long double)all, centre);
    for (int64_t j = 0; j < c->info.inputs; j++) {
        far_input_centre(c)[j] = centre;
        far_input_scale(c)[j] = scale;
    }
}

far_status far_features_scale(const far_lesson *l, far_columns *c)
{
    far_status st;
    double *raw = NULL;
    FAR_TRY(far_alloc(l->ctx, l->count * c->info.inputs, &raw));
    FAR_TRY(far_columns_apply(l->ctx, c, l->frame, l->index, l->count, false, raw));
    if (l->together == FAR_TOGETHER) {
        set_common_scale(raw, l->count, c);
    } else {
        set_scales(raw, l->count, c);
    }
done:
    far_free(l->ctx, raw);
    return st;
}
