/* A closer look at NTK alignment: sine networks that learn a picture (Castiglione et al. 2025). */
#include "siren.h"
#include "curves.h"
#include "registry.h"
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>

const siren_curve *siren_curve_at(const siren_study *s, int start, int frequency, int64_t seed)
{
    return &s->curves[(start * FREQUENCIES + frequency) * s->seeds + seed];
}

const siren_run *siren_run_at(const siren_study *s, int start, int frequency, int64_t k)
{
    for (int64_t i = 0; i < s->run_count; i++) {
        const siren_run *run = &s->runs[i];
        if (run->start == start && run->frequency == frequency && k-- == 0) {
            return run;
        }
    }
    return NULL;
}

/* ---- the starts ------------------------------------------------------------------------------ */

typedef struct start_jobs {
    siren_study *study;
    const siren_image *image;
} start_jobs;

static far_status measure_start(reproduction *r, int64_t job, void *user)
{
    const start_jobs *jobs = user;
    int64_t seeds = jobs->study->seeds, which = job / seeds;
    far_net *net = NULL;
    far_status st;
    TRY(siren_net(r, (int)(which / FREQUENCIES), (int)(which % FREQUENCIES),
                  (uint64_t)(job % seeds), &net));
    TRY(siren_curve_of(r, net, jobs->image, &jobs->study->curves[job]));
done:
    far_net_destroy(net);
    return st;
}

static far_status measure_starts(reproduction *r, siren_study *s)
{
    siren_image image;
    int64_t count = STARTS * FREQUENCIES * s->seeds;
    far_status st = siren_image_open(r, s->start_side, false, &image);
    start_jobs jobs = {s, &image};
    s->curves = ROOM(count, siren_curve);
    st = st == FAR_OK ? side_by_side(r, "starts", count, measure_start, &jobs) : st;
    siren_image_close(&image);
    return st;
}

/* ---- training -------------------------------------------------------------------------------- */

static void plan_runs(siren_study *s)
{
    s->runs = ROOM(STARTS * FREQUENCIES * s->seeds, siren_run);
    for (int start = 0; start < STARTS; start++) {
        for (int f = 0; f < FREQUENCIES; f++) {
            for (int64_t seed = 0; s->trained[f] && seed < s->seeds; seed++) {
                bool shown = start == PUBLISHED && f == W30 && seed == 0;
                s->runs[s->run_count++] = (siren_run){
                    .start = start, .frequency = f, .seed = (uint64_t)seed, .snapshots = shown};
            }
        }
    }
}

/* From small biases the two ends are enough. */
static far_status follow_run(reproduction *r, int64_t job, void *user)
{
    siren_study *s = user;
    int64_t moments = s->runs[job].start == SMALL ? 2 : r->quick ? 14 : 28;
    char *name =
        text_of("run-%d-%d-%d", s->runs[job].start, s->runs[job].frequency, (int)s->runs[job].seed);
    far_status st = siren_follow_kept(r, &s->image, s->steps, moments, name, &s->runs[job]);
    free(name);
    return st;
}

void siren_peak(const siren_run *run, double *step, int64_t *moment)
{
    int64_t n = run->moments - 2;
    double *x = ROOM(n, double), *rate = ROOM(n, double);
    for (int64_t i = 0; i < n; i++) {
        double from = log10(siren_at(run, i + 1, COL_STEP)),
               to = log10(siren_at(run, i + 2, COL_STEP));
        x[i] = (from + to) / 2;
        rate[i] = (siren_at(run, i + 1, COL_LOSS) - siren_at(run, i + 2, COL_LOSS)) / (to - from);
    }
    curve_peak peak = curve_find_peak(x, rate, n, 0);
    *step = pow(10, peak.x);
    *moment = 0;
    for (int64_t i = 1; i < run->moments; i++) {
        double gap = fabs(log10(siren_at(run, i, COL_STEP)) - peak.x);
        double best = *moment ? fabs(log10(siren_at(run, *moment, COL_STEP)) - peak.x) : INFINITY;
        *moment = gap < best ? i : *moment;
    }
    free(x);
    free(rate);
}

/* ---- both ------------------------------------------------------------------------------------ */

static void close_study(siren_study *s)
{
    for (int64_t i = 0; i < s->run_count; i++) {
        siren_run_clear(&s->runs[i]);
    }
    siren_image_close(&s->image);
    free(s->curves);
    free(s->runs);
}

far_status run_siren(reproduction *r)
{
    siren_study s = {.trained = {!r->quick, true, !r->quick},
                     .seeds = seeds_of(r, 1, 5),
                     .steps = epochs_of(r, 1200, 1600),
                     .start_side = 48};
    far_status st;
    TRY(siren_image_open(r, r->quick ? 32 : 48, false, &s.image));
    TRY(measure_starts(r, &s));
    plan_runs(&s);
    TRY(side_by_side(r, "training", s.run_count, follow_run, &s));
    TRY(siren_report(r, &s));
done:
    close_study(&s);
    return st;
}
