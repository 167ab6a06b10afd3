/* R2 and certificates of trained networks, of those of infinite width, and of baselines. */
#include "ln_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores -------------------------------------------------------------------------------- */

static double mean_truth(const far_compare_points *p, bool out)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < p->count; i++) {
        sum += p->out[i] == out ? p->truth[i] : 0;
        count += p->out[i] == out;
    }
    return sum / count;
}

double ln_r2(const far_compare_points *p, const double *f, bool out, double *most)
{
    double mean = mean_truth(p, out), error = 0, variation = 0, largest = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (p->out[i] == out) {
            double miss = f[i] - p->truth[i], off = p->truth[i] - mean;
            error += miss * miss;
            variation += off * off;
            largest = fmax(largest, fabs(f[i]));
        }
    }
    if (most) {
        *most = largest;
    }
    return 1 - error / variation;
}

/* Scores of one kind of network, one for each seed. */
typedef struct ln_scores {
    double *in, *out, most;
} ln_scores;

static void take_score(const ln_trial *t, const far_prediction *p, ln_scores *s)
{
    const double *f = p->mean.data;
    double most;
    s->in[t->seed] = ln_r2(&t->points, f, false, NULL);
    s->out[t->seed] = ln_r2(&t->points, f, true, &most);
    s->most = fmax(s->most, most);
}

bool ln_has_intervals(const ln_trial *t)
{
    return t->recipe.seeds >= 3;
}

static void drop_intervals(const ln_trial *t, ln_row *row)
{
    if (!ln_has_intervals(t)) {
        row->in.ci95 = row->out.ci95 = NAN;
    }
}

static far_status average(const ln_trial *t, const ln_scores *s, ln_row *row)
{
    far_status st;
    int64_t n = t->recipe.seeds;
    row->most = s->most;
    TRY(far_mean_interval(t->r->ctx, s->in, n, &row->in.mean, &row->in.ci95));
    TRY(far_mean_interval(t->r->ctx, s->out, n, &row->out.mean, &row->out.ci95));
    drop_intervals(t, row);
done:
    return st;
}

/* ---- certificates -------------------------------------------------------------------------- */

/* What is said of a row holds for the networks of all seeds, which share the time. */
static void join_verdict(const ln_trial *t, const far_bound *b, ln_row *row)
{
    bool first = t->seed == 0, bounded = b->verdict == FAR_BOUNDED;
    bool worse =
        b->verdict == FAR_UNBOUNDED || (b->verdict == FAR_UNDECIDED && row->verdict == FAR_BOUNDED);
    row->bound = first || worse ? b->tightest
                 : bounded      ? fmax(row->bound, b->tightest)
                                : row->bound;
    row->verdict = first || worse ? b->verdict : row->verdict;
}

/* A network, what it predicts, and its certificate. Zero-initialise; judged_free is always safe. */
typedef struct judged {
    far_predictor *p;
    far_prediction *f;
    far_certificate *c;
} judged;

static far_status judge(ln_trial *t, int where, bool infinite, double seconds, judged *out)
{
    far_status st;
    TRY(infinite ? ln_infinite(t, where, &out->p) : ln_network(t, where, &out->p));
    TRY(ln_predict(t, out->p, &out->f));
    TRY(certify_within(t->r, out->p, seconds, &out->c));
done:
    return st;
}

static void judged_free(judged *j)
{
    far_certificate_destroy(j->c);
    far_prediction_destroy(j->f);
    far_predictor_destroy(j->p);
}

/* ---- trained networks ---------------------------------------------------------------------- */

static far_status score_network(ln_trial *t, int where, ln_scores *s, ln_row *row)
{
    judged j = {0};
    double seconds = t->recipe.certify_seconds / (double)t->recipe.seeds;
    far_status st = judge(t, where, false, seconds, &j);
    if (st == FAR_OK) {
        take_score(t, j.f, s);
        join_verdict(t, far_certificate_bound(j.c, 0), row);
    }
    judged_free(&j);
    return st;
}

far_status ln_score_networks(ln_trial *t, const ln_published *paper, ln_row *rows)
{
    far_status st;
    ln_scores scores[LN_NETS] = {{NULL}};
    for (int k = 0; k < LN_NETS; k++) {
        scores[k].in = ROOM(t->recipe.seeds, double);
        scores[k].out = ROOM(t->recipe.seeds, double);
        rows[k] = (ln_row){.name = text_of("%s", LN_NAMES[k]), .paper = &paper[k]};
    }
    TRY(ln_trial_train(t));
    for (int64_t seed = 0; seed < t->recipe.seeds; seed++) {
        TRY(ln_trial_split(t, seed));
        for (int k = 0; k < LN_NETS; k++) {
            TRY(score_network(t, k, &scores[k], &rows[k]));
        }
    }
    for (int k = 0; k < LN_NETS; k++) {
        TRY(average(t, &scores[k], &rows[k]));
    }
done:
    for (int k = 0; k < LN_NETS; k++) {
        free(scores[k].in);
        free(scores[k].out);
    }
    return st;
}

/* ---- infinite width, baselines ------------------------------------------------------------- */

static char *infinite_name(const ln_trial *t, int where, const far_predictor *model)
{
    int64_t rows = far_predictor_model(model)->rows;
    const char *name = where == LN_NONE ? "no norm" : LN_NAMES[where];
    return rows == t->data->inputs.rows
               ? text_of("infinite width, %s", name)
               : text_of("infinite width, %s (%lld rows)", name, (long long)rows);
}

static far_status score_infinite(ln_trial *t, int where, ln_row *row)
{
    judged j = {0};
    far_status st = judge(t, where, true, t->recipe.certify_seconds, &j);
    if (st == FAR_OK) {
        const double *f = j.f->mean.data;
        *row = (ln_row){.name = infinite_name(t, where, j.p)};
        row->in = (far_compare_average){ln_r2(&t->points, f, false, NULL), NAN};
        row->out = (far_compare_average){ln_r2(&t->points, f, true, &row->most), NAN};
        row->verdict = far_certificate_bound(j.c, 0)->verdict;
        row->bound = far_certificate_bound(j.c, 0)->tightest;
    }
    judged_free(&j);
    return st;
}

far_status ln_score_infinite(ln_trial *t, ln_row *rows)
{
    far_status st = ln_trial_split(t, 0);
    for (int k = 0; k < LN_NETS && st == FAR_OK; k++) {
        st = score_infinite(t, k, &rows[k]);
    }
    return st;
}

bool ln_score_baseline(const ln_trial *t, const char *model, const char *name,
                       const ln_published *paper, ln_row *row)
{
    int64_t models = far_comparison_describe(t->baselines).models;
    for (int64_t i = 0; i < models; i++) {
        const far_compare_row *b = far_comparison_row(t->baselines, i);
        if (strcmp(b->model, model) == 0 && b->state == FAR_COMPARED_OK) {
            *row = (ln_row){.name = text_of("%s", name), .paper = paper, .most = b->max_out};
            row->in = b->r2_in;
            row->out = b->r2_out;
            const far_bound *bound =
                b->certificate ? far_certificate_bound(b->certificate, 0) : NULL;
            row->verdict = bound ? bound->verdict : FAR_UNDECIDED;
            row->bound = bound ? bound->tightest : NAN;
            drop_intervals(t, row);
            return true;
        }
    }
    return false;
}

void ln_rows_free(ln_row *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        free(rows[i].name);
    }
}
