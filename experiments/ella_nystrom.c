/* How far features are from the kernel and from the exact posterior, against M and K. */
#include "ella.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_MARKS = 5, MOST_K = 6 };

typedef enum error_kind { ERROR_KERNEL, ERROR_PAPER, ERROR_RESIDUAL, ERRORS } error_kind;
static const char *const ERROR_TITLES[ERRORS] = {"kernel", "posterior, paper",
                                                 "posterior, residual prior"};

typedef struct table {
    int64_t rows; /* test points */
    int64_t marks[MOST_MARKS], mark_count, ranks[MOST_K], rank_count;
    double error[ERRORS][MOST_MARKS][MOST_K]; /* NAN: K > M */
} table;

static table table_for(const reproduction *r)
{
    return r->quick ? (table){.rows = 40,
                              .marks = {16, 64, 256},
                              .mark_count = 3,
                              .ranks = {4, 16, 64, 256},
                              .rank_count = 4}
                    : (table){.rows = 100,
                              .marks = {4, 16, 64, 256, 1024},
                              .mark_count = 5,
                              .ranks = {4, 16, 64, 256, 1024},
                              .rank_count = 5};
}

/* ---- measuring ----------------------------------------------------------------------------- */

static far_status measure_rank(reproduction *r, far_laplace *la, const far_laplace *exact,
                               const far_mat *x2, int64_t m, int64_t k, double prior, table *t)
{
    far_nystrom_error e;
    far_status st;
    TRY(far_laplace_set(r->ctx, la, t->ranks[k], prior, -1));
    TRY(far_laplace_set(r->ctx, la, 0, NAN, 0));
    TRY(far_laplace_nystrom(r->ctx, la, exact, x2, &e));
    t->error[ERROR_KERNEL][m][k] = e.kernel;
    t->error[ERROR_PAPER][m][k] = e.posterior;
    TRY(far_laplace_set(r->ctx, la, 0, NAN, 1));
    TRY(far_laplace_nystrom(r->ctx, la, exact, x2, &e));
    t->error[ERROR_RESIDUAL][m][k] = e.posterior;
done:
    return st;
}

static far_status measure_marks(reproduction *r, const far_net *net, const far_laplace *exact,
                                const far_mat *x, const far_mat *x2, int64_t m, double prior,
                                table *t)
{
    far_laplace *la = NULL;
    far_laplace_opts o = ella_options(FAR_LAPLACE_ELLA);
    far_status st;
    o.prior = prior;
    o.landmarks = t->marks[m];
    o.rank = 0;
    TRY(far_laplace_fit(r->ctx, net, x, &o, &la));
    for (int64_t k = 0; k < t->rank_count; k++) {
        bool possible = t->ranks[k] <= far_laplace_describe(la).rank_most;
        for (int e = 0; e < ERRORS; e++) {
            t->error[e][m][k] = NAN;
        }
        TRY(possible ? measure_rank(r, la, exact, x2, m, k, prior, t) : FAR_OK);
    }
done:
    far_laplace_destroy(la);
    return st;
}

/* The exact posterior has the side of the parameters, too much for the quick form. */
static far_status fit_exact(reproduction *r, const far_net *net, const far_mat *x, double prior,
                            far_laplace **out)
{
    far_laplace_opts o = ella_options(FAR_LAPLACE_EXACT);
    o.prior = prior;
    *out = NULL;
    return r->quick ? FAR_OK : far_laplace_fit(r->ctx, net, x, &o, out);
}

static far_status measure(reproduction *r, const digits *train, const digits *test, double prior,
                          table *t)
{
    ella_plan p = ella_plan_for(r);
    ella_digits d = {0};
    far_laplace *exact = NULL;
    far_status st;
    TRY(ella_digits_open(r, &p, train, test, 0, &d));
    far_mat x = digits_points(&d.train, 0, ELLA_TRAIN), x2 = digits_points(&d.test, 0, t->rows);
    TRY(fit_exact(r, d.net, &x, prior, &exact));
    for (int64_t m = 0; m < t->mark_count; m++) {
        tell(r, "features of %lld landmarks", (long long)t->marks[m]);
        TRY(measure_marks(r, d.net, exact, &x, &x2, m, prior, t));
    }
done:
    far_laplace_destroy(exact);
    ella_digits_close(&d);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status draw_panel(reproduction *r, const table *t, int kind, far_figure **out)
{
    double x[MOST_K];
    far_figure_opts o = log_axes(ERROR_TITLES[kind], NULL, NULL);
    far_status st;
    for (int64_t k = 0; k < t->rank_count; k++) {
        x[k] = (double)t->ranks[k];
    }
    TRY(far_figure_create(r->ctx, &o, out));
    for (int64_t m = 0; m < t->mark_count; m++) {
        const char *label = words(r, "M = %lld", (long long)t->marks[m]);
        far_mark_opts mark = mark_of((int32_t)m, label);
        TRY(far_figure_line(r->ctx, *out, x, t->error[kind][m], t->rank_count, &mark));
        mark.label = NULL;
        TRY(far_figure_points(r->ctx, *out, x, t->error[kind][m], t->rank_count, &mark));
    }
done:
    return st;
}

static far_status draw(reproduction *r, const table *t)
{
    far_figure *panels[ERRORS] = {NULL};
    int count = r->quick ? 1 : ERRORS;
    far_status st = FAR_OK;
    for (int kind = 0; kind < count && st == FAR_OK; kind++) {
        st = draw_panel(r, t, kind, &panels[kind]);
    }
    far_grid_opts o = grid_of(r->quick ? 420 : 860, 340);
    o.x_label = "features K";
    o.y_label = "error in the spectral norm";
    o.share_y = FAR_SHARE_ALL;
    return keep_grid(r, panels, 1, count, &o, "ella-nystrom",
                     "|K - phi phi'| / |K| on test digits, and the same of the posterior "
                     "covariance, by landmarks M and features K.",
                     st);
}

static void add_error(sheet *s, double error)
{
    if (isnan(error)) {
        add_cell(s, "%s", "");
    } else {
        add_cell(s, "%.4g", error);
    }
}

static far_status keep_errors(reproduction *r, const table *t)
{
    static const char *const HEADS[] = {"landmarks", "features", "kernel", "posterior, paper",
                                        "posterior, residual prior"};
    sheet s = {.heads = HEADS, .cols = r->quick ? 3 : 5};
    for (int64_t m = 0; m < t->mark_count; m++) {
        for (int64_t k = 0; k < t->rank_count && !isnan(t->error[0][m][k]); k++) {
            add_cell(&s, "%lld", (long long)t->marks[m]);
            add_cell(&s, "%lld", (long long)t->ranks[k]);
            for (int64_t e = 0; e + 2 < s.cols; e++) {
                add_error(&s, t->error[e][m][k]);
            }
        }
    }
    return keep_sheet(r, &s, "ella-nystrom-table", "Errors by landmarks and features.", FAR_OK);
}

far_status ella_study_nystrom(reproduction *r, const digits *train, const digits *test,
                              double prior)
{
    table t = table_for(r);
    far_status st;
    TRY(measure(r, train, test, prior, &t));
    TRY(keep_section(
        r, "Features against the kernel",
        "The network of the first seed, on %lld test digits with all 10 outputs; s0^2 = "
        "%.3g, chosen for 20 features with the residual prior.%s",
        (long long)t.rows, prior,
        r->quick ? " Errors of the posterior need the exact one: see the full form." : ""));
    TRY(draw(r, &t));
    TRY(keep_errors(r, &t));
done:
    return st;
}
