#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void spread(double first, double last, double *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = first + (last - first) * (double)i / (double)(count - 1);
    }
}

void spread_log(double first, double last, double *out, int64_t count)
{
    spread(log(first), log(last), out, count);
    for (int64_t i = 0; i < count; i++) {
        out[i] = exp(out[i]);
    }
}

far_status spread_within(reproduction *r, const double *values, int64_t n, double left, double *out,
                         int64_t count)
{
    double low, high, part = left / (double)n;
    far_status st;
    TRY(far_quantile(r->ctx, values, n, part, &low));
    TRY(far_quantile(r->ctx, values, n, 1 - part, &high));
    spread(low, high, out, count);
done:
    return st;
}

double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * acos(-1) * uniform(state));
}

int64_t largest_of(const double *values, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

bool same_to(double ours, double theirs, double tolerance)
{
    return fabs(ours - theirs) <= tolerance * fmax(1, fabs(theirs));
}

far_figure_opts axes(const char *title, const char *x_label, const char *y_label)
{
    far_figure_opts o;
    far_figure_opts_init(&o);
    o.title = title;
    o.x_label = x_label;
    o.y_label = y_label;
    return o;
}

far_figure_opts log_axes(const char *title, const char *x_label, const char *y_label)
{
    far_figure_opts o = axes(title, x_label, y_label);
    o.x_scale = o.y_scale = FAR_SCALE_LOG;
    return o;
}

far_grid_opts grid_of(double width, double height)
{
    far_grid_opts o;
    far_grid_opts_init(&o);
    o.width = width;
    o.height = height;
    return o;
}

far_mark_opts mark_of(int colour, const char *label)
{
    far_mark_opts mark;
    far_mark_opts_init(&mark);
    mark.colour = colour;
    mark.label = label;
    return mark;
}

static far_status draw_band(reproduction *r, far_figure *figure, const double *x,
                            const double *mean, const double *half, int64_t n,
                            const far_mark_opts *mark)
{
    double *low = ROOM(n, double), *high = ROOM(n, double);
    for (int64_t i = 0; i < n; i++) {
        low[i] = mean[i] - half[i];
        high[i] = mean[i] + half[i];
    }
    far_status st = far_figure_band(r->ctx, figure, x, low, high, n, mark);
    free(low);
    free(high);
    return st;
}

far_status draw_curve(reproduction *r, far_figure *figure, const double *x, const double *mean,
                      const double *half, int64_t n, int colour, const char *label)
{
    far_mark_opts mark = mark_of(colour, NULL);
    far_status st = FAR_OK;
    if (half && !isnan(half[0])) {
        st = draw_band(r, figure, x, mean, half, n, &mark);
    }
    mark.label = label;
    return st == FAR_OK ? far_figure_line(r->ctx, figure, x, mean, n, &mark) : st;
}

far_status draw_dashed(reproduction *r, far_figure *figure, const double *x, const double *y,
                       int64_t n, int colour, const char *label)
{
    far_mark_opts mark = mark_of(colour, label);
    mark.dash = FAR_DASH_DASHED;
    return far_figure_line(r->ctx, figure, x, y, n, &mark);
}

far_status draw_rule(reproduction *r, far_figure *figure, far_direction direction, double at,
                     const char *label)
{
    far_mark_opts mark = mark_of(FAR_COLOUR_INK, label);
    return far_figure_rule(r->ctx, figure, direction, at, &mark);
}

far_status keep_drawn(reproduction *r, far_figure *figure, const char *name, const char *caption,
                      far_status st)
{
    if (st != FAR_OK) {
        far_figure_destroy(figure);
        return st;
    }
    return keep_figure(r, figure, name, caption);
}

far_status keep_grid(reproduction *r, far_figure **figures, int64_t rows, int64_t cols,
                     const far_grid_opts *opts, const char *name, const char *caption,
                     far_status st)
{
    far_figure *grid = NULL;
    if (st == FAR_OK) {
        st = far_figure_grid(r->ctx, figures, rows, cols, opts, &grid);
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        far_figure_destroy(figures[i]);
    }
    return keep_drawn(r, grid, name, caption, st);
}

void add_cell(sheet *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->cells = room_for_one_more(s->cells, s->count, sizeof *s->cells);
    s->cells[s->count++] = text_of_args(format, args);
    va_end(args);
}

far_status keep_sheet(reproduction *r, sheet *s, const char *name, const char *caption,
                      far_status st)
{
    if (st == FAR_OK) {
        st = keep_table(r, name, caption, s->heads, s->cols, (const char *const *)s->cells,
                        s->count / s->cols);
    }
    for (int64_t i = 0; i < s->count; i++) {
        free(s->cells[i]);
    }
    free(s->cells);
    return st;
}

far_status new_net(reproduction *r, const char *arch, int64_t inputs, far_init init, uint64_t seed,
                   far_net **out)
{
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = inputs;
    o.init = init;
    o.seed = seed;
    return far_net_create(r->ctx, arch, &o, out);
}

far_status same_weights(reproduction *r, const far_net *net, const char *arch, far_net **out)
{
    far_status st = new_net(r, arch, far_net_describe(net).inputs, FAR_INIT_KAIMING_NORMAL, 0, out);
    for (int64_t i = 0; st == FAR_OK && i < far_net_describe(*out).tensors; i++) {
        far_mat from = far_net_tensor((far_net *)net, i).values,
                to = far_net_tensor(*out, i).values;
        memcpy(to.data, from.data, (size_t)(to.rows * to.cols) * sizeof(double));
    }
    return st;
}

far_status certify_within(reproduction *r, const far_predictor *p, double seconds,
                          far_certificate **out)
{
    far_certify_opts opts;
    far_certify_opts_init(&opts);
    opts.seconds = seconds;
    return far_predictor_certify(r->ctx, p, &opts, out);
}
