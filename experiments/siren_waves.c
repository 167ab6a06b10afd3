/* Waves in what a sine network has not learnt yet: the power of its residual by wavelength. */
#include "curves.h"
#include "side_by_side.h"
#include "siren.h"

#include <math.h>
#include <stdlib.h>

/* out_m = sum_i in_i cos(pi m (i + 1/2) / n), scaled to keep lengths: even beyond both borders, so
 * that a picture that does not end as it began has no edge there. */
static void cosines(const double *in, int64_t n, int64_t stride, double *out)
{
    for (int64_t m = 0; m < n; m++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += in[i * stride] * cos(M_PI * (double)m * ((double)i + 0.5) / (double)n);
        }
        out[m] = sum * sqrt((m == 0 ? 1.0 : 2.0) / (double)n);
    }
}

static void transform(double *field, int64_t side)
{
    double *line = ROOM(side, double);
    for (int64_t i = 0; i < side; i++) {
        cosines(field + i * side, side, 1, line);
        for (int64_t k = 0; k < side; k++) {
            field[i * side + k] = line[k];
        }
    }
    for (int64_t k = 0; k < side; k++) {
        cosines(field + k, side, side, line);
        for (int64_t i = 0; i < side; i++) {
            field[i * side + k] = line[i];
        }
    }
    free(line);
}

double siren_shell_length(const siren_image *image, int64_t shell)
{
    double width = 2 * (double)image->side / (double)(image->side - 1);
    return 2 * width / (double)shell;
}

/* The wavelength of the mean wavenumber, and where half of the power is above it and half below. */
static double mean_length(const siren_image *image, const siren_wave *w)
{
    double power = 0, sum = 0;
    for (int64_t k = 1; k < SIREN_SHELLS; k++) {
        power += w->power[k];
        sum += w->power[k] / siren_shell_length(image, k);
    }
    return power > 0 ? power / sum : NAN;
}

double siren_long_power(const siren_image *image, const siren_wave *w, double length)
{
    double sum = 0;
    for (int64_t k = 1; k < SIREN_SHELLS; k++) {
        sum += siren_shell_length(image, k) > length ? w->power[k] : 0;
    }
    return sum;
}

void siren_wave_of(const siren_image *image, const double *values, siren_wave *out)
{
    int64_t side = image->side, n = side * side;
    const double *grey = image->grey.data;
    double *field = ROOM(n, double);
    *out = (siren_wave){0};
    for (int64_t i = 0; i < n; i++) {
        field[i] = grey[i] - values[i];
        out->loss += field[i] * field[i] / (2 * (double)n);
        out->mean += field[i] / (double)n;
    }
    transform(field, side);
    for (int64_t i = 0; i < n; i++) {
        int64_t shell = (int64_t)round(hypot((double)(i / side), (double)(i % side)));
        shell = shell < SIREN_SHELLS ? shell : SIREN_SHELLS - 1;
        out->power[shell] += field[i] * field[i] / (double)n;
    }
    out->length = mean_length(image, out);
    free(field);
}

/* ---- the transition ------------------------------------------------------------------------ */

/* Waves are long beyond this many correlation lengths of the kernel: where exp(-(k xi)^2 / 2), the
 * spectrum of a Gaussian of that length, has fallen to exp(-1/2). */
#define LONG (2 * M_PI)

/* Of the residual but for its mean: the part in waves that are long for the kernel as it starts. */
static double long_part(const siren_image *image, const siren_run *run, int64_t moment)
{
    const siren_wave *w = &run->waves[moment];
    return siren_long_power(image, w, LONG * siren_first(run, COL_XI)) /
           siren_long_power(image, w, 0);
}

void siren_find_transition(const siren_image *image, const siren_run *run, siren_transition *out)
{
    int64_t n = run->moments - 1, unused;
    double *x = ROOM(n, double), *y = ROOM(n, double);
    *out = (siren_transition){.before = long_part(image, run, 0), .moment = n};
    for (int64_t i = n; i > 0; i--) {
        x[i - 1] = log10(siren_at(run, i, COL_STEP));
        y[i - 1] = long_part(image, run, i);
        out->moment = y[i - 1] < out->before / 2 ? i : out->moment;
    }
    out->after = y[n - 1];
    out->step = pow(10, curve_crossing(x, y, n, out->before / 2));
    siren_peak(run, &out->peak, &unused);
    free(x);
    free(y);
}

const siren_waves SIREN_NO_WAVES = {0, INFINITY, -INFINITY, INFINITY, -INFINITY};

void siren_add_waves(const siren_image *image, const siren_run *run, siren_waves *out)
{
    siren_transition t;
    siren_find_transition(image, run, &t);
    double gap = isnan(t.step) ? INFINITY : t.step / t.peak;
    out->runs++;
    out->least_before = fmin(out->least_before, t.before);
    out->most_after = fmax(out->most_after, t.after);
    out->least_gap = fmin(out->least_gap, gap);
    out->most_gap = fmax(out->most_gap, gap);
}

/* Of all runs with published biases; those of small ones have but two moments. */
static siren_waves find_all(const siren_study *s)
{
    siren_waves all = SIREN_NO_WAVES;
    for (int64_t i = 0; i < s->run_count; i++) {
        if (s->runs[i].start == PUBLISHED) {
            siren_add_waves(&s->image, &s->runs[i], &all);
        }
    }
    return all;
}

/* ---- claims -------------------------------------------------------------------------------- */

static const char WAVES_PAPER[] = "wave patterns emerge in the residuals, with the collapse of the "
                                  "loss rate and the alignment of the kernel";

far_status siren_claim_waves(reproduction *r, int64_t seeds, const siren_waves *w,
                             const char *where)
{
    const char *what =
        words(r, "the residual turns to waves that are short for the kernel, %s", where);
    const char *when = words(r, "when it does, against when the loss falls fastest, %s", where);
    far_status st;
    TRY(claim(r,
              &(claim_of){.what = what,
                          .paper = WAVES_PAPER,
                          .place = "abstract",
                          .tested =
                              "waves longer than 2 pi xi(0) are more than half of its power at "
                              "the start and less than a fifth at the end of every run",
                          .seeds = seeds,
                          .late = true,
                          .agrees = w->least_before > 0.5 && w->most_after < 0.2},
              "%.3f at least at the start, %.3f at most at the end, %lld run%s", w->least_before,
              w->most_after, (long long)w->runs, w->runs == 1 ? "" : "s"));
    st = claim(r,
               &(claim_of){.what = when,
                           .paper = WAVES_PAPER,
                           .place = "abstract",
                           .tested = "steps at most a factor of 3 apart, on every run",
                           .seeds = seeds,
                           .late = true,
                           .agrees = w->least_gap > 1.0 / 3 && w->most_gap < 3},
               "%.2f to %.2f times its step", w->least_gap, w->most_gap);
done:
    return st;
}

/* The mean over seeds of the wavelength behind the transition. */
static double length_behind(const siren_study *s, int frequency)
{
    const siren_run *run;
    siren_transition t;
    double mean = 0;
    for (int64_t k = 0; (run = siren_run_at(s, PUBLISHED, frequency, k)); k++) {
        siren_find_transition(&s->image, run, &t);
        mean += run->waves[t.moment].length / (double)s->seeds;
    }
    return mean;
}

static far_status claim_lengths(reproduction *r, const siren_study *s)
{
    double length[FREQUENCIES];
    for (int f = 0; f < FREQUENCIES; f++) {
        if (!s->trained[f]) {
            return FAR_OK;
        }
        length[f] = length_behind(s, f);
    }
    return claim(r,
                 &(claim_of){.what = "the waves' length behind the transition falls with w0, as xi "
                                     "does",
                             .tested = "in this order, mean over seeds",
                             .seeds = s->seeds,
                             .late = true,
                             .agrees = length[W15] > length[W30] && length[W30] > length[W60]},
                 "%.3f, %.3f, %.3f for w0 = 15, 30, 60", length[W15], length[W30], length[W60]);
}

/* ---- what is kept -------------------------------------------------------------------------- */

const char *const SIREN_WAVE_HEADS[SIREN_WAVE_COLS] = {
    "picture",    "w0",          "seed",      "xi(0)", "wavelength, start", "behind the transition",
    "over xi(0)", "long, start", "long, end", "step",  "loss falls fastest"};

void siren_add_wave_row(const siren_image *image, const siren_run *run, sheet *t)
{
    siren_transition of;
    siren_find_transition(image, run, &of);
    double xi = siren_first(run, COL_XI);
    const siren_wave *first = &run->waves[0], *then = &run->waves[of.moment];
    add_cell(t, "%s", image->name);
    add_cell(t, "%g", SIREN_W0[run->frequency]);
    add_cell(t, "%lld", (long long)run->seed);
    add_cell(t, "%.4f", xi);
    add_cell(t, "%.3f", first->length);
    add_cell(t, "%.3f", then->length);
    add_cell(t, "%.2f", then->length / xi);
    add_cell(t, "%.3f", of.before);
    add_cell(t, "%.4f", of.after);
    add_cell(t, isnan(of.step) ? "-" : "%.0f", of.step);
    add_cell(t, "%.0f", of.peak);
}

static far_status keep_table_of_waves(reproduction *r, const siren_study *s)
{
    sheet t = {.heads = SIREN_WAVE_HEADS, .cols = SIREN_WAVE_COLS};
    for (int64_t i = 0; i < s->run_count; i++) {
        if (s->runs[i].start == PUBLISHED) {
            siren_add_wave_row(&s->image, &s->runs[i], &t);
        }
    }
    return keep_sheet(r, &t, "waves",
                      "The residual, published biases: the wavelength of its mean wavenumber, the "
                      "part of its power in waves longer than 2 pi xi(0), and the step where that "
                      "has fallen half way.",
                      FAR_OK);
}

enum { SHOWN = 4 };

/* The start, the last moment before the transition, the first behind it, the end. */
static void choose_moments(const siren_transition *t, const siren_run *run, int64_t moments[SHOWN])
{
    moments[0] = 0;
    moments[1] = t->moment > 1 ? t->moment - 1 : 0;
    moments[2] = t->moment;
    moments[3] = run->moments - 1;
}

static far_status draw_spectra(reproduction *r, const siren_study *s, const siren_run *run,
                               const int64_t moments[SHOWN], far_figure **out)
{
    double x[SIREN_SHELLS], y[SIREN_SHELLS];
    int64_t n = s->image.side < SIREN_SHELLS ? s->image.side - 1 : SIREN_SHELLS - 2;
    far_figure_opts o = log_axes("Power of the residual", "wavelength", "power");
    far_status st;
    TRY(far_figure_create(r->ctx, &o, out));
    for (int k = 0; k < SHOWN && st == FAR_OK; k++) {
        const char *label = words(r, "step %.0f", siren_at(run, moments[k], COL_STEP));
        for (int64_t i = 0; i < n; i++) { /* from short to long */
            x[i] = siren_shell_length(&s->image, n - i);
            y[i] = run->waves[moments[k]].power[n - i];
        }
        st = draw_curve(r, *out, x, y, NULL, n, k, label);
    }
    TRY(st);
    TRY(draw_rule(r, *out, FAR_VERTICAL, LONG * siren_first(run, COL_XI), "2 pi xi(0)"));
done:
    return st;
}

far_status siren_draw_residual(reproduction *r, const siren_image *image, const siren_run *run,
                               int64_t moment, const char *title, far_figure **out)
{
    int64_t n = image->x.rows;
    far_mat values = far_mat_view(ROOM(n, double), n, 1, FAR_F64);
    far_net *net = NULL;
    far_status st;
    TRY(siren_run_net(r, run, moment, &net));
    TRY(far_net_eval(r->ctx, net, &image->x, &values));
    for (int64_t i = 0; i < n; i++) {
        ((double *)values.data)[i] =
            ((const double *)image->grey.data)[i] - ((double *)values.data)[i];
    }
    TRY(siren_draw_map(r, image, values.data, title, NULL, false, out));
done:
    far_net_destroy(net);
    free(values.data);
    return st;
}

static far_status keep_figure_of_waves(reproduction *r, const siren_study *s)
{
    const siren_run *run = siren_run_at(s, PUBLISHED, W30, 0);
    far_figure *figures[SHOWN] = {0};
    far_grid_opts o = grid_of(760, 720);
    int64_t moments[SHOWN];
    siren_transition t;
    far_status st;
    siren_find_transition(&s->image, run, &t);
    choose_moments(&t, run, moments);
    for (int k = 0; k + 1 < SHOWN; k++) {
        const char *title = words(r, "residual, step %.0f", siren_at(run, moments[k], COL_STEP));
        TRY(siren_draw_residual(r, &s->image, run, moments[k], title, &figures[k]));
    }
    TRY(draw_spectra(r, s, run, moments, &figures[SHOWN - 1]));
done:
    o.title = "What is not learnt yet, w0 = 30";
    return keep_grid(
        r, figures, 2, 2, &o, "siren-waves",
        "The picture less what the network says, at the start and on both sides of the "
        "transition: what is left are waves, of a length that the kernel sets. Each "
        "map has a scale of its own.",
        st);
}

far_status siren_report_waves(reproduction *r, const siren_study *s)
{
    far_status st;
    siren_waves w = find_all(s);
    TRY(keep_heading(r, "Waves in the residual"));
    TRY(siren_claim_waves(r, s->seeds, &w, "published biases"));
    TRY(claim_lengths(r, s));
    TRY(keep_text(
        r,
        "Wavelengths are those of a cosine transform of the residual. A Gaussian kernel of "
        "length xi learns the wavenumber k at a rate that falls as exp(-(k xi)^2 / 2): "
        "waves longer than 2 pi xi go first. No wave is shorter than two steps of the "
        "grid, %.3f.",
        4 / (double)(s->image.side - 1)));
    TRY(keep_figure_of_waves(r, s));
    TRY(keep_table_of_waves(r, s));
done:
    return st;
}

/* ---- other pictures ------------------------------------------------------------------------ */

enum { LARGE = 2, LARGE_SIDE = 64, SMALL_ONES = 4 };

/* The photograph (if there is one) and the drawing, as many points as in the paper; then pictures
 * of CIFAR-10, if they are there, as small as they are. */
typedef struct gallery {
    siren_image images[LARGE + SMALL_ONES];
    int count;
    siren_run *runs; /* count x seeds */
    int64_t seeds, steps;
} gallery;

static far_status gallery_open(reproduction *r, gallery *g)
{
    far_status st;
    g->count = LARGE;
    TRY(siren_image_open(r, LARGE_SIDE, false, &g->images[0]));
    TRY(siren_image_open(r, LARGE_SIDE, true, &g->images[1]));
    st = siren_small_open(r, g->images + LARGE, SMALL_ONES);
    g->count += st == FAR_OK ? SMALL_ONES : 0;
    st = st == FAR_ERR_IO ? FAR_OK : st;
done:
    return st;
}

static far_status follow_picture(reproduction *r, int64_t job, void *user)
{
    gallery *g = user;
    g->runs[job] = (siren_run){
        .start = PUBLISHED, .frequency = W30, .seed = (uint64_t)(job % g->seeds), .bare = true};
    char *name = text_of("picture-%d-%d", (int)(job / g->seeds), (int)(job % g->seeds));
    far_status st =
        siren_follow_kept(r, &g->images[job / g->seeds], g->steps, 20, name, &g->runs[job]);
    free(name);
    return st;
}

/* Of some of the pictures; where: the same for the claims. */
static far_status report_pictures(reproduction *r, const gallery *g, int from, int to,
                                  const char *name, const char *where)
{
    sheet t = {.heads = SIREN_WAVE_HEADS, .cols = SIREN_WAVE_COLS};
    siren_waves w = SIREN_NO_WAVES;
    for (int64_t i = from * g->seeds; i < to * g->seeds; i++) {
        const siren_image *image = &g->images[i / g->seeds];
        siren_add_wave_row(image, &g->runs[i], &t);
        siren_add_waves(image, &g->runs[i], &w);
    }
    far_status st = keep_sheet(r, &t, name, words(r, "The same of %s, w0 = 30.", where), FAR_OK);
    return st == FAR_OK ? siren_claim_waves(r, g->seeds, &w, where) : st;
}

static far_status report_small(reproduction *r, const gallery *g)
{
    if (g->count == LARGE) {
        return keep_text(r, "CIFAR-10 is not among the data: no more photographs were looked at.");
    }
    return report_pictures(r, g, LARGE, g->count, "small-pictures",
                           "the first four pictures of CIFAR-10, 32 x 32 points");
}

static void gallery_close(gallery *g)
{
    for (int64_t i = 0; g->runs && i < g->count * g->seeds; i++) {
        siren_run_clear(&g->runs[i]);
    }
    for (int i = 0; i < LARGE + SMALL_ONES; i++) {
        siren_image_close(&g->images[i]);
    }
    free(g->runs);
}

far_status siren_study_pictures(reproduction *r, int64_t steps)
{
    gallery g = {.seeds = seeds_of(r, 1, 2), .steps = steps};
    far_status st;
    TRY(gallery_open(r, &g));
    g.runs = ROOM(g.count * g.seeds, siren_run);
    TRY(side_by_side(r, "pictures", g.count * g.seeds, follow_picture, &g));
    TRY(report_pictures(r, &g, 0, LARGE, "pictures", "two pictures of 64 x 64 points"));
    TRY(report_small(r, &g));
done:
    gallery_close(&g);
    return st;
}
