/* What linearised networks say about generalisation: tasks are ranked alike by a network and by its
 * tangent kernel; which of the two is better changes along the way. */
#include "linearized.h"
#include "curves.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>

static task_plan plan_for(const reproduction *r)
{
    task_plan full = {.seeds = seeds_of(r, 0, 10),
                      .tests = 1024,
                      .epochs = epochs_of(r, 0, 100),
                      .size_count = 4,
                      .sizes = {2048, 1024, 512, 256}};
    task_plan quick = {.seeds = seeds_of(r, 3, 0),
                       .tests = 1024,
                       .epochs = epochs_of(r, 100, 0),
                       .size_count = 2,
                       .sizes = {1024, 256}};
    return r->quick ? quick : full;
}

/* ---- over seeds ---------------------------------------------------------------------------- */

typedef double (*of_score)(const task_score *s);

NUMBER_OF(network_of, task_score, network)
NUMBER_OF(linear_of, task_score, linear)
NUMBER_OF(end_of, task_score, linear_end)

static double lead_of(const task_score *s)
{
    return s->network - s->linear;
}

NUMBER_OF(kta_of, task_score, kta)
NUMBER_OF(kta_end_of, task_score, kta_end)
NUMBER_OF(centred_of, task_score, centred)
NUMBER_OF(centred_end_of, task_score, centred_end)
NUMBER_OF(fitted_of, task_score, fitted)

/* All that is known, for making claims and figures. */
typedef struct result {
    task_plan plan;
    task_score *scores;
} result;

/* Mean over seeds and half its 95% interval, for each task. */
static far_status means(reproduction *r, const result *f, int64_t size, of_score of, double *mean,
                        double *half)
{
    double *values = ROOM(f->plan.seeds, double);
    far_status st = FAR_OK;
    for (int64_t k = 0; k < TASKS && st == FAR_OK; k++) {
        for (int64_t seed = 0; seed < f->plan.seeds; seed++) {
            values[seed] = of(score_at(&f->plan, f->scores, seed, size, k));
        }
        st = far_mean_interval(r->ctx, values, f->plan.seeds, &mean[k], &half[k]);
    }
    free(values);
    return st;
}

/* The eigen-index, from few to many, at which the network stops leading; NAN: nowhere. */
static far_status crossing(reproduction *r, const result *f, int64_t size, double *index)
{
    double mean[TASKS], half[TASKS], place[EIGEN_TASKS];
    far_status st = means(r, f, size, lead_of, mean, half);
    for (int k = 0; k < EIGEN_TASKS; k++) {
        place[k] = log((double)TASK_INDICES[k]);
    }
    if (st == FAR_OK) {
        *index = exp(curve_crossing(place, mean, EIGEN_TASKS, 0));
    }
    return st;
}

/* ---- claims -------------------------------------------------------------------------------- */

static far_status seed_spearman(reproduction *r, const result *f, int64_t seed, double *out)
{
    double network[EIGEN_TASKS], linear[EIGEN_TASKS];
    for (int k = 0; k < EIGEN_TASKS; k++) {
        const task_score *s = score_at(&f->plan, f->scores, seed, 0, k);
        network[k] = s->network;
        linear[k] = s->linear;
    }
    return far_correlation(r->ctx, FAR_SPEARMAN, network, linear, EIGEN_TASKS, out);
}

static far_status claim_order(reproduction *r, const result *f)
{
    double network[TASKS], linear[TASKS], half[TASKS], all, one, least = 1, most = -1;
    far_status st;
    TRY(means(r, f, 0, network_of, network, half));
    TRY(means(r, f, 0, linear_of, linear, half));
    TRY(far_correlation(r->ctx, FAR_SPEARMAN, network, linear, EIGEN_TASKS, &all));
    for (int64_t seed = 0; seed < f->plan.seeds; seed++) {
        TRY(seed_spearman(r, f, seed, &one));
        least = fmin(least, one);
        most = fmax(most, one);
    }
    TRY(claim(r,
              &(claim_of){.what = "tasks by the accuracy of kernel and network, Spearman",
                          .paper = "the kernel orders tasks by how hard they are for the network",
                          .place = "abstract",
                          .tested = "above 0.9, of the means over seeds",
                          .seeds = f->plan.seeds,
                          .agrees = all > 0.9},
              "%.3f of the means over seeds (single seeds %.2f to %.2f)", all, least, most));
done:
    return st;
}

/* "+0.041, +0.012" */
static char *list_of(const double *values, int first, int last)
{
    char *text = text_of("%+.3f", values[first]);
    for (int k = first + 1; k <= last; k++) {
        char *longer = text_of("%s, %+.3f", text, values[k]);
        free(text);
        text = longer;
    }
    return text;
}

/* Tasks first .. last of the list: sign +1: the network leads, -1: the kernel. */
static far_status claim_lead(reproduction *r, const result *f, int first, int last, int sign)
{
    double lead[TASKS], half[TASKS];
    bool holds = true;
    far_status st = means(r, f, 0, lead_of, lead, half);
    if (st != FAR_OK) {
        return st;
    }
    for (int k = first; k <= last; k++) {
        holds = holds && sign * lead[k] > 0;
    }
    const char *what =
        words(r, "accuracy of the network over that of the kernel, tasks %lld to %lld",
              (long long)TASK_INDICES[first], (long long)TASK_INDICES[last]);
    char *leads = list_of(lead, first, last);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "networks do not always do better than their kernels",
                           .place = "abstract",
                           .tested = sign > 0 ? "the network is better in each, mean over seeds"
                                              : "the kernel is better in each, mean over seeds",
                           .seeds = f->plan.seeds,
                           .agrees = holds},
               "%s", leads);
    free(leads);
    return st;
}

/* The least part by which alignment grows, over the tasks; of means over seeds. */
static far_status least_growth(reproduction *r, const result *f, of_score from, of_score to,
                               double *least, double *most)
{
    double start[TASKS], end[TASKS], half[TASKS];
    far_status st;
    TRY(means(r, f, 0, from, start, half));
    TRY(means(r, f, 0, to, end, half));
    *least = INFINITY;
    *most = 0;
    for (int k = 0; k < EIGEN_TASKS; k++) {
        *least = fmin(*least, end[k] / start[k]);
        *most = fmax(*most, end[k] / start[k]);
    }
done:
    return st;
}

static far_status claim_alignment(reproduction *r, const result *f)
{
    double least, most, centred_least, centred_most;
    far_status st;
    TRY(least_growth(r, f, kta_of, kta_end_of, &least, &most));
    TRY(least_growth(r, f, centred_of, centred_end_of, &centred_least, &centred_most));
    TRY(claim(r,
              &(claim_of){.what = "alignment of the kernel with the task, end over start",
                          .paper = "the kernel aligns with the task during training",
                          .place = UNPLACED,
                          .tested = "more than twice in every task, mean over seeds",
                          .seeds = f->plan.seeds,
                          .agrees = least > 2},
              "%.1f to %.1f times (centred %.1f to %.1f)", least, most, centred_least,
              centred_most));
done:
    return st;
}

static far_status claim_all(reproduction *r, const result *f)
{
    enum { INDEX_20 = 3, INDEX_100 = 6 }; /* in TASK_INDICES */
    far_status st;
    TRY(claim_order(r, f));
    TRY(claim_lead(r, f, 0, INDEX_20, 1));
    TRY(claim_lead(r, f, INDEX_100, EIGEN_TASKS - 1, -1));
    TRY(claim_alignment(r, f));
done:
    return st;
}

/* ---- figures ------------------------------------------------------------------------------- */

static far_status open_panel(reproduction *r, const char *title, const char *y_label, int y_scale,
                             far_figure **out)
{
    far_figure_opts o = axes(title, "eigen-index of the task", y_label);
    o.x_scale = FAR_SCALE_LOG;
    o.y_scale = y_scale;
    return far_figure_create(r->ctx, &o, out);
}

static far_status draw(reproduction *r, const result *f, far_figure *figure, int64_t size,
                       of_score of, int colour, const char *label)
{
    double mean[TASKS], half[TASKS], place[EIGEN_TASKS];
    for (int k = 0; k < EIGEN_TASKS; k++) {
        place[k] = (double)TASK_INDICES[k];
    }
    far_status st = means(r, f, size, of, mean, half);
    return st == FAR_OK ? draw_curve(r, figure, place, mean, half, EIGEN_TASKS, colour, label) : st;
}

static far_status keep_accuracy(reproduction *r, const result *f)
{
    far_figure *figure = NULL;
    far_status st;
    TRY(open_panel(r, NULL, "accuracy on tests", FAR_SCALE_LINEAR, &figure));
    TRY(draw(r, f, figure, 0, network_of, 0, "network"));
    TRY(draw(r, f, figure, 0, linear_of, 1, "kernel at the start"));
    TRY(draw(r, f, figure, 0, end_of, 2, "kernel at the end"));
done:
    return keep_drawn(r, figure, "linearized-accuracy",
                      "Tasks are the signs of eigenvectors of the tangent kernel at the start. "
                      "Means over seeds and their 95% intervals.",
                      st);
}

static far_status keep_alignment(reproduction *r, const result *f)
{
    far_figure *panels[2] = {NULL};
    far_grid_opts o = grid_of(820, 400);
    far_status st;
    o.share_y = FAR_SHARE_LINE;
    TRY(open_panel(r, "KTA", "alignment", FAR_SCALE_LOG, &panels[0]));
    TRY(open_panel(r, "centred", NULL, FAR_SCALE_LOG, &panels[1]));
    TRY(draw(r, f, panels[0], 0, kta_of, 1, "kernel at the start"));
    TRY(draw(r, f, panels[0], 0, kta_end_of, 2, "kernel at the end"));
    TRY(draw(r, f, panels[1], 0, centred_of, 1, "kernel at the start"));
    TRY(draw(r, f, panels[1], 0, centred_end_of, 2, "kernel at the end"));
done:
    return keep_grid(r, panels, 1, 2, &o, "linearized-alignment",
                     "Training turns the kernel towards its task. Without centring the kernel's "
                     "constant eigenvector takes most of its norm.",
                     st);
}

static far_status keep_sizes(reproduction *r, const result *f)
{
    far_figure *figure = NULL;
    far_status st;
    TRY(open_panel(r, NULL, "accuracy: network less kernel at the start", FAR_SCALE_LINEAR,
                   &figure));
    for (int64_t i = 0; i < f->plan.size_count; i++) {
        const char *label = words(r, "%lld training rows", (long long)f->plan.sizes[i]);
        TRY(draw(r, f, figure, i, lead_of, (int)i, label));
    }
    TRY(draw_rule(r, figure, FAR_HORIZONTAL, 0, NULL));
done:
    return keep_drawn(r, figure, "linearized-sizes",
                      "Where the lead changes hands, by the number of training rows.", st);
}

/* ---- tables and words ---------------------------------------------------------------------- */

static void add_name(sheet *s, int64_t task)
{
    if (task == PARITY) {
        add_cell(s, "odd or even");
    } else {
        add_cell(s, "%lld", (long long)TASK_INDICES[task]);
    }
}

static far_status keep_tasks(reproduction *r, const result *f)
{
    static const char *const HEADS[] = {
        "task",       "network",           "+-",         "kernel at the start",
        "+-",         "kernel at the end", "+-",         "KTA",
        "at the end", "centred",           "at the end", "training accuracy"};
    static const of_score OF[] = {network_of, linear_of,  end_of,         kta_of,
                                  kta_end_of, centred_of, centred_end_of, fitted_of};
    double mean[8][TASKS], half[8][TASKS];
    sheet t = {.heads = HEADS, .cols = 12};
    far_status st = FAR_OK;
    for (int i = 0; i < 8; i++) {
        TRY(means(r, f, 0, OF[i], mean[i], half[i]));
    }
    for (int k = 0; k < TASKS; k++) {
        add_name(&t, k);
        for (int i = 0; i < 3; i++) {
            add_cell(&t, "%.3f", mean[i][k]);
            add_cell(&t, "%.3f", half[i][k]);
        }
        for (int i = 3; i < 7; i++) {
            add_cell(&t, "%.4f", mean[i][k]);
        }
        add_cell(&t, "%.3f", mean[7][k]);
    }
done:
    return keep_sheet(r, &t, "linearized-tasks",
                      "Means over seeds and half their 95% intervals, with the most training rows.",
                      st);
}

static far_status add_size(reproduction *r, const result *f, int64_t size, sheet *t)
{
    double lead[TASKS], half[TASKS], at;
    far_status st;
    TRY(means(r, f, size, lead_of, lead, half));
    TRY(crossing(r, f, size, &at));
    add_cell(t, "%lld", (long long)f->plan.sizes[size]);
    for (int k = 0; k < TASKS; k++) {
        add_cell(t, "%+.3f", lead[k]);
    }
    add_cell(t, isnan(at) ? "-" : "%.0f", at);
done:
    return st;
}

static far_status keep_leads(reproduction *r, const result *f)
{
    static const char *const HEADS[TASKS + 2] = {
        "training rows", "2",   "5",   "10",          "20",        "30", "50",
        "100",           "200", "300", "odd or even", "changes at"};
    sheet t = {.heads = HEADS, .cols = TASKS + 2};
    far_status st = FAR_OK;
    for (int64_t i = 0; i < f->plan.size_count && st == FAR_OK; i++) {
        st = add_size(r, f, i, &t);
    }
    return keep_sheet(r, &t, "linearized-sizes-table",
                      "Accuracy of the network less that of the kernel at the start, by the "
                      "eigen-index of the task.",
                      st);
}

static far_status explain(reproduction *r, const task_plan *p)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "The paper's networks see MNIST and CIFAR. Here a relu network 64-100-100-1 "
        "(LeCun's weights) sees optdigits: %lld training rows and %lld tests, drawn anew "
        "for each of %lld seeds. Task j is the sign of eigenvector j of the tangent "
        "kernel of the network as it starts, over training rows and tests together; the "
        "first eigenvector is nearly constant and left out.",
        (long long)p->sizes[0], (long long)p->tests, (long long)p->seeds));
    TRY(keep_text(r,
                  "The network learns by momentum 0.9, batches of 128, %lld epochs of "
                  "cross-entropy; the rate falls from 0.05 in ten steps along a line, each of "
                  "which begins without velocity (the authors' falls at every step). The "
                  "linearised network is kernel regression on the labels +-1, without the "
                  "network's own outputs and with a ridge of 1e-4 times the kernel's mean "
                  "diagonal, not trained as theirs: it is where that training ends.",
                  (long long)p->epochs));
    TRY(keep_text(r, "Claims are about means over seeds. With fewer training rows the network also "
                     "takes fewer steps, since the epochs stay the same."));
done:
    return st;
}

far_status run_linearized(reproduction *r)
{
    if (r->cifar2) {
        return run_linearized_cifar(r);
    }
    result f = {.plan = plan_for(r)};
    far_status st;
    f.scores = ROOM(f.plan.seeds * f.plan.size_count * TASKS, task_score);
    TRY(task_scores(r, &f.plan, f.scores));
    TRY(claim_all(r, &f));
    TRY(explain(r, &f.plan));
    TRY(keep_accuracy(r, &f));
    TRY(keep_tasks(r, &f));
    TRY(keep_alignment(r, &f));
    TRY(keep_sizes(r, &f));
    TRY(keep_leads(r, &f));
    TRY(keep_directions(r, f.plan.seeds));
done:
    free(f.scores);
    return st;
}
