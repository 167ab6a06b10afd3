/* A few eigenvalues by ARPACK (implicitly restarted Lanczos), and those of a system. */
#define _GNU_SOURCE
#include "blas.h"
#include "lapack.h"
#include "solve_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXTREMES_TOL 1e-8
/* Good enough where eigenvalues crowd so that Lanczos cannot part them. */
#define CROWDED_TOL 1e-3
#define DIRECT_UP_TO 32     /* rows; such matrices are formed and given to LAPACK, */
#define DIRECT_IF_HARD 2048 /* up to here only if Lanczos does not settle */
#define SQUARE_COLUMNS 256

/* A large basis does more with as many applications, but is not asked before it is full. The
 * largest eigenvalue of a kernel stands apart from the others; the smallest seldom does. */
static const struct effort {
    int64_t basis, restarts;
} efforts[] = {{10, 3}, {60, 1}, {20, 15}, {96, 6}};
enum { EFFORT_APART, EFFORT_EDGE, EFFORT_USUAL, EFFORT_HARD, EFFORTS };

/* Above so many rows an application takes a second, and the hardest effort an hour. */
#define HARD_UP_TO 16384
/* A matrix plus ridge has no eigenvalue below the ridge: this near to it, the edge is found. */
#define EDGE_TOL 1e-3

/* ARPACK keeps its state in variables of its own between the calls of one run, so runs wait for
 * each other. A run started from within another (from a progress function) is told to fail. */
static pthread_mutex_t arpack = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

typedef struct run {
    const far_lanczos_job *job;
    int n, count, basis, work_length;
    int iparam[11], ipntr[11], info;
    int *select;
    double *memory;
    double *residual, *v, *workd, *workl, *d;
} run;

static int64_t workl_length(int64_t basis)
{
    return basis * (basis + 8);
}

int64_t far_lanczos_workspace(int64_t n, int64_t count, int64_t basis)
{
    return n * (basis + 4) + workl_length(basis) + count;
}

static void run_clear(far_ctx *ctx, run *r)
{
    far_free(ctx, r->select);
    far_free(ctx, r->memory);
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A start vector of our own: the same run after run, and with a part of every eigenvector. */
static void fill_start(run *r)
{
    for (int i = 0; i < r->n; i++) {
        r->residual[i] = (double)(mix((uint64_t)i) >> 11) * 0x1p-52 - 1;
    }
    r->info = 1; /* use it */
}

static far_status run_prepare(far_ctx *ctx, const far_lanczos_job *job, run *r)
{
    far_status st;
    int64_t n = job->n, basis = job->basis, length = workl_length(basis);
    *r = (run){.job = job,
               .n = (int)n,
               .count = (int)job->count,
               .basis = (int)basis,
               .work_length = (int)length};
    FAR_TRY(far_blas_fits(ctx, length));
    FAR_TRY(far_alloc(ctx, basis, &r->select));
    FAR_TRY(far_alloc(ctx, far_lanczos_workspace(n, job->count, basis), &r->memory));
    r->residual = r->memory;
    r->v = r->residual + n;
    r->workd = r->v + n * basis;
    r->workl = r->workd + 3 * n;
    r->d = r->workl + length;
    memset(r->workl, 0, (size_t)length * sizeof(double));
    r->iparam[0] = 1; /* shifts: ARPACK's */
    r->iparam[2] = (int)job->restarts;
    r->iparam[6] = 1; /* plain eigenproblem */
    fill_start(r);
done:
    return st;
}

static const char *wanted(const run *r)
{
    return r->job->largest ? "LA" : "SA";
}

static far_status fail_arpack(far_ctx *ctx, const char *routine, int info)
{
    return far_fail(ctx, FAR_ERR_BACKEND, "%s of ARPACK returned %d", routine, info);
}

int64_t far_lanczos_applications(int64_t basis, int64_t restarts)
{
    return basis * (restarts + 2);
}

/* The most extreme Ritz value and its error bound, from ARPACK's workspace. */
static void read_best(const run *r, far_lanczos_end *end)
{
    const double *ritz = r->workl + r->ipntr[5] - 1, *bounds = r->workl + r->ipntr[6] - 1;
    int best = 0;
    for (int i = 1; i < r->basis; i++) {
        best = (ritz[i] > ritz[best]) == r->job->largest ? i : best;
    }
    end->best = ritz[best];
    end->error = bounds[best];
}

static far_status run_iterate(far_ctx *ctx, run *r, far_lanczos_end *end)
{
    const far_lanczos_job *job = r->job;
    far_status st;
    int ido = 0;
    for (int64_t applied = job->earlier + 1;; applied++) {
        dsaupd_(&ido, "I", &r->n, wanted(r), &r->count, &job->tol, r->residual, &r->basis, r->v,
                &r->n, r->iparam, r->ipntr, r->workd, r->workl, &r->work_length, &r->info, 1, 2);
        if (ido != -1 && ido != 1) {
            break;
        }
        FAR_TRY(job->apply(job->user, r->workd + r->ipntr[0] - 1, r->workd + r->ipntr[1] - 1));
        FAR_TRY(far_progress(ctx, job->what, far_least(applied, job->budget), job->budget));
    }
    st = r->info < 0 ? fail_arpack(ctx, "dsaupd", r->info) : FAR_OK;
    end->settled = st == FAR_OK && r->info == 0 && r->iparam[4] >= r->count;
    read_best(r, end);
done:
    return st;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ARPACK's pairs ascend; without vectors it leaves the values in the order of its search. */
static far_status run_extract(far_ctx *ctx, run *r, double *values, double *vectors)
{
    const int want_vectors = vectors != NULL;
    const double sigma = 0;
    int info = 0;
    double *z = vectors ? vectors : r->v;
    dseupd_(&want_vectors, "A", r->select, r->d, z, &r->n, &sigma, "I", &r->n, wanted(r), &r->count,
            &r->job->tol, r->residual, &r->basis, r->v, &r->n, r->iparam, r->ipntr, r->workd,
            r->workl, &r->work_length, &info, 1, 1, 2);
    if (info != 0) {
        return fail_arpack(ctx, "dseupd", info);
    }
    memcpy(values, r->d, (size_t)r->count * sizeof *values);
    if (!vectors) {
        qsort(values, (size_t)r->count, sizeof *values, ascending);
    }
    return FAR_OK;
}

far_status far_lanczos(far_ctx *ctx, const far_lanczos_job *job, double *values, double *vectors,
                       far_lanczos_end *end)
{
    run r;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_status st = run_prepare(ctx, job, &r);
    *end = (far_lanczos_end){.best = NAN, .error = INFINITY};
    if (st == FAR_OK && pthread_mutex_lock(&arpack) != 0) {
        st = far_fail(ctx, FAR_ERR_BACKEND,
                      "eigenvalues cannot be computed from within a progress "
                      "function that reports on eigenvalues");
    } else if (st == FAR_OK) {
        st = run_iterate(ctx, &r, end);
        if (st == FAR_OK && end->settled) {
            st = run_extract(ctx, &r, values, vectors);
        }
        pthread_mutex_unlock(&arpack);
    }
    run_clear(ctx, &r);
    far_blas_leave(scope);
    return st;
}

/* ---- the extremes of a system ---- */

static far_status apply_matrix(void *user, const double *x, double *y)
{
    const far_system *s = user;
    far_lower_multiply(&s->factor, x, y);
    return FAR_OK;
}

static far_status apply_inverse(void *user, const double *x, double *y)
{
    const far_system *s = user;
    memcpy(y, x, (size_t)s->info.n * sizeof *y);
    far_lower_solve(&s->factor, y, 1, s->info.n);
    return FAR_OK;
}

/* ---- of few rows: a square, which is faster to multiply with than a factor ---- */

typedef struct square {
    int64_t n;
    double *data; /* by columns; the upper triangle counts */
} square;

static far_status apply_square(void *user, const double *x, double *y)
{
    const square *q = user;
    far_symv(q->n, q->data, q->n, x, y, NULL);
    return FAR_OK;
}

static far_status form_inverse(far_ctx *ctx, const far_system *s, square *out)
{
    far_status st = far_alloc(ctx, s->info.n * s->info.n, &out->data);
    return st == FAR_OK ? far_system_inverse(ctx, s, out->data) : st;
}

static far_status form_matrix(far_ctx *ctx, const far_system *s, square *out)
{
    int64_t n = s->info.n;
    double *unit = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, n, &unit));
    FAR_TRY(far_alloc(ctx, n * n, &out->data));
    for (int64_t j = 0; j < n; j++) {
        memset(unit, 0, (size_t)n * sizeof *unit);
        unit[j] = 1;
        far_lower_multiply(&s->factor, unit, out->data + j * n);
    }
done:
    far_free(ctx, unit);
    return st;
}

int64_t far_extremes_workspace(int64_t n)
{
    int64_t lanczos = far_lanczos_workspace(n, 1, far_least(efforts[EFFORT_HARD].basis, n));
    return n <= DIRECT_IF_HARD ? 2 * n * (n + SQUARE_COLUMNS) : lanczos;
}

typedef struct search {
    far_operator apply;
    far_status (*form)(far_ctx *, const far_system *, square *);
    bool formed; /* of few rows: at once */
    int effort;  /* to begin with */
    const char *what;
    double ceiling; /* no eigenvalue is larger; INFINITY: not known */
} search;

static far_lanczos_job job_of(far_system *s, const search *f, square *q, int effort)
{
    return (far_lanczos_job){.apply = q->data ? apply_square : f->apply,
                             .user = q->data ? (void *)q : (void *)s,
                             .n = s->info.n,
                             .count = 1,
                             .largest = true,
                             .tol = EXTREMES_TOL,
                             .basis = far_least(s->info.n, efforts[effort].basis),
                             .restarts = efforts[effort].restarts,
                             .what = f->what};
}

/* Not beyond it, either: then the matrix without the ridge was not positive semidefinite. */
static bool is_at_edge(const search *f, const far_lanczos_end *end)
{
    return fabs(end->best / f->ceiling - 1) <= EDGE_TOL;
}

/* One effort after the other, until one settles. */
static far_status largest_by_lanczos(far_ctx *ctx, far_system *s, const search *f, square *q,
                                     double *value, far_lanczos_end *end)
{
    far_status st = FAR_OK;
    bool hard = s->info.n > DIRECT_IF_HARD && s->info.n <= HARD_UP_TO;
    int stop = hard ? EFFORTS : EFFORT_HARD;
    int64_t done = 0, all = 0;
    for (int i = f->effort; i < stop; i++) {
        all += far_lanczos_applications(efforts[i].basis, efforts[i].restarts);
    }
    for (int i = f->effort; st == FAR_OK && i < stop && !end->settled; i++) {
        far_lanczos_job job = job_of(s, f, q, i);
        job.earlier = done;
        job.budget = all;
        st = far_lanczos(ctx, &job, value, NULL, end);
        bool large = s->info.n > DIRECT_IF_HARD;
        if (st == FAR_OK && large && !end->settled && is_at_edge(f, end)) {
            *value = f->ceiling;
            end->settled = true;
        }
        done += far_lanczos_applications(efforts[i].basis, efforts[i].restarts);
    }
    return st;
}

static far_status largest_value(far_ctx *ctx, far_system *s, const search *f, double *value)
{
    int64_t n = s->info.n;
    square q = {.n = n};
    far_lanczos_end end = {0};
    far_status st = FAR_OK;
    *value = NAN;
    FAR_TRY(f->formed && n <= DIRECT_IF_HARD ? f->form(ctx, s, &q) : FAR_OK);
    FAR_TRY(n > DIRECT_UP_TO ? largest_by_lanczos(ctx, s, f, &q, value, &end) : FAR_OK);
    if (!end.settled && n <= DIRECT_IF_HARD) {
        FAR_TRY(q.data ? FAR_OK : f->form(ctx, s, &q));
        FAR_TRY(far_dense_eigen(ctx, n, q.data, n, n - 1, 1, value, NULL));
    } else if (!end.settled && end.error <= CROWDED_TOL * end.best) {
        *value = end.best + end.error; /* a Ritz value is too small, and so would a condition be */
    }
done:
    far_free(ctx, q.data);
    return st;
}

far_status far_system_extremes(far_ctx *ctx, far_system *s)
{
    int first = s->info.n > DIRECT_IF_HARD ? EFFORT_EDGE : EFFORT_USUAL;
    const search most = {apply_matrix, form_matrix, false, EFFORT_APART, "lambda_max", INFINITY};
    const search least = {apply_inverse, form_inverse, true, first, "lambda_min",
                          1 / s->info.ridge};
    double inverse;
    far_blas_scope scope = far_blas_enter(far_ctx_threads(ctx));
    far_status st;
    FAR_TRY(largest_value(ctx, s, &most, &s->info.lambda_max));
    FAR_TRY(largest_value(ctx, s, &least, &inverse));
    s->info.lambda_min = 1 / inverse;
    s->info.condition = s->info.lambda_max / s->info.lambda_min;
done:
    far_blas_leave(scope);
    return st;
}
