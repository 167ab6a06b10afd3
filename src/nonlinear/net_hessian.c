/* Second derivatives of whole networks: jets over rows and blocks of directions. */
#include "net_start.h"
#include "nonlinear_internal.h"

#include <farfield/nonlinear.h>
#include <math.h>
#include <omp.h>

#define JOBS_MOST 4096 /* between two reports of progress */
#define JOBS_LEAST 16
#define JOBS_WORK 4000000 /* parameters that jobs go through between them */

typedef struct survey {
    far_ctx *ctx;
    const far_net *net;
    bool raw;
    far_start start;
    int64_t blocks; /* of directions */
    far_jet *jets;  /* one a thread */
    int threads;
} survey;

static void survey_clear(survey *s)
{
    for (int t = 0; s->jets && t < s->threads; t++) {
        far_jet_clear(s->ctx, &s->jets[t]);
    }
    far_free(s->ctx, s->jets);
    far_free(s->ctx, s->start.derivatives);
}

static far_status survey_create(far_ctx *ctx, const far_net *net, bool raw, bool reduced, survey *s)
{
    far_status st = FAR_OK;
    *s = (survey){.ctx = ctx, .net = net, .raw = raw};
    FAR_TRY(far_net_refuse_shaped(ctx, net, "second derivatives"));
    FAR_TRY(far_start_create(ctx, net, raw, reduced, &s->start));
    s->blocks = (s->start.directions + FAR_JET_BLOCK - 1) / FAR_JET_BLOCK;
    FAR_TRY(far_alloc(ctx, far_ctx_threads(ctx), &s->jets));
    for (int t = 0; t < far_ctx_threads(ctx); t++) {
        s->jets[t] = (far_jet){0};
    }
    s->threads = far_ctx_threads(ctx);
    for (int t = 0; t < s->threads; t++) {
        FAR_TRY(far_jet_create(ctx, net, s->start.directions, &s->jets[t]));
    }
done:
    if (st != FAR_OK) {
        survey_clear(s);
        *s = (survey){0};
    }
    return st;
}

/* The jet of a row behind the last layer, for one block of directions. */
static far_jet *survey_run(const survey *s, const double *x, int64_t block)
{
    far_jet *jet = &s->jets[omp_get_thread_num()];
    far_start_jet(s->net, s->raw, &s->start, x, block * FAR_JET_BLOCK, jet);
    far_jet_run(s->net, s->start.first, jet);
    return jet;
}

static double output_scale(const survey *s, int64_t k)
{
    const far_net_info *info = &s->net->info;
    return s->raw ? s->net->columns->scaling[2 * info->inputs + info->outputs + k] : 1;
}

/* ---- H ------------------------------------------------------------------------------------- */

/* What the block adds to |d2 f_k / dx2|^2: of (p, q) and (q, p) only q <= p was computed. */
static double block_square(const far_jet *jet, double *row)
{
    double sum = 0;
    for (int64_t p = 0; p < jet->block; p++) {
        const double *second = far_jet_second(jet, row, p);
        for (int64_t q = 0; q < jet->from + p; q++) {
            sum += 2 * second[q] * second[q];
        }
        sum += second[jet->from + p] * second[jet->from + p];
    }
    return sum;
}

static void measure_block(const survey *s, const double *x, int64_t block, double *squares)
{
    far_jet *jet = survey_run(s, x, block);
    for (int64_t k = 0; k < s->net->info.outputs; k++) {
        double scale = output_scale(s, k);
        double square = block_square(jet, jet->now + k * jet->stride);
        squares[k] = jet->undefined ? INFINITY : scale * scale * square;
    }
}

/* h = the sum of its blocks, and of its outputs if h has one column. */
static void add_blocks(const survey *s, const double *squares, const far_mat *h, int64_t i)
{
    double *row = far_mat_row(h, i);
    int64_t outputs = s->net->info.outputs;
    for (int64_t c = 0; c < h->cols; c++) {
        row[c] = 0;
    }
    for (int64_t b = 0; b < s->blocks; b++) {
        for (int64_t k = 0; k < outputs; k++) {
            row[h->cols == 1 ? 0 : k] += squares[b * outputs + k];
        }
    }
}

/* Rows [first, first + rows). */
static void measure_rows(const survey *s, const far_mat *x, int64_t first, int64_t rows,
                         double *squares, const far_mat *h)
{
    int64_t outputs = s->net->info.outputs;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic)
    for (int64_t job = 0; job < rows * s->blocks; job++) {
        /* the last blocks are the longest: they go first */
        int64_t i = job / s->blocks, b = s->blocks - 1 - job % s->blocks;
        measure_block(s, far_mat_row(x, first + i), b, squares + (i * s->blocks + b) * outputs);
    }
    for (int64_t i = 0; i < rows; i++) {
        add_blocks(s, squares + i * s->blocks * outputs, h, first + i);
    }
}

static far_status check_net(far_ctx *ctx, const far_net *net, const far_mat *x)
{
    if (!net) {
        return far_fail(ctx, FAR_ERR_ARG, "the network must not be NULL");
    }
    if (net->start) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "a linearised network has no second derivatives by its inputs here; take "
                        "the network it came from");
    }
    far_status st = far_mat_expect(ctx, x, "x", -1, net->info.inputs, FAR_F64);
    return st == FAR_OK ? far_net_check_inputs(ctx, net, x) : st;
}

/* A deep network takes long for a job, and whoever waits may want to stop. */
static int64_t rows_at_a_time(const survey *s)
{
    int64_t jobs = JOBS_WORK / (s->net->info.parameters + 1);
    jobs = jobs > JOBS_MOST ? JOBS_MOST : jobs < JOBS_LEAST ? JOBS_LEAST : jobs;
    return s->blocks < jobs ? jobs / (s->blocks > 0 ? s->blocks : 1) : 1;
}

far_status far_net_hessian_norm(far_ctx *ctx, const far_net *net, const far_mat *x, int raw,
                                far_mat *h)
{
    survey s = {0};
    double *squares = NULL;
    far_net *own = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net, x));
    FAR_TRY(far_net_plain(ctx, net, &own, &net));
    FAR_TRY(far_mat_expect(ctx, h, "h", x->rows, -1, FAR_F64));
    if (h->cols != 1 && h->cols != net->info.outputs) {
        FAR_TRY(far_fail(ctx, FAR_ERR_SHAPE,
                         "h has %lld columns; it takes 1, or one an output: %lld",
                         (long long)h->cols, (long long)net->info.outputs));
    }
    FAR_TRY(survey_create(ctx, net, raw != 0, true, &s));
    int64_t each = s.blocks > 0 ? s.blocks : 1;
    int64_t rows = rows_at_a_time(&s) < x->rows ? rows_at_a_time(&s) : x->rows;
    FAR_TRY(far_alloc(ctx, rows * each * net->info.outputs, &squares));
    for (int64_t i = 0; i < x->rows; i += rows) {
        int64_t count = x->rows - i < rows ? x->rows - i : rows;
        FAR_TRY(far_progress(ctx, "hessian", i, x->rows));
        measure_rows(&s, x, i, count, squares, h);
    }
    FAR_TRY(far_progress(ctx, "hessian", x->rows, x->rows));
done:
    far_free(ctx, squares);
    survey_clear(&s);
    far_net_destroy(own);
    return st;
}

/* ---- the matrix of one output -------------------------------------------------------------- */

static void write_block(const survey *s, far_jet *jet, int64_t output, const far_mat *out)
{
    double scale = output_scale(s, output);
    for (int64_t p = 0; p < jet->block; p++) {
        const double *second = far_jet_second(jet, jet->now + output * jet->stride, p);
        int64_t row = jet->from + p;
        for (int64_t q = 0; q <= row; q++) {
            double value = jet->undefined ? NAN : scale * second[q];
            ((double *)far_mat_row(out, row))[q] = value;
            ((double *)far_mat_row(out, q))[row] = value;
        }
    }
}

static far_status check_output(far_ctx *ctx, const far_net *net, int64_t output)
{
    if (output < 0 || output >= net->info.outputs) {
        return far_fail(ctx, FAR_ERR_ARG, "output %lld: the network has outputs 0 to %lld",
                        (long long)output, (long long)net->info.outputs - 1);
    }
    return FAR_OK;
}

far_status far_net_hessian(far_ctx *ctx, const far_net *net, const far_mat *x, int64_t output,
                           int raw, far_mat *out)
{
    survey s = {0};
    far_net *own = NULL;
    far_status st = FAR_OK;
    FAR_TRY(check_net(ctx, net, x));
    FAR_TRY(far_net_plain(ctx, net, &own, &net));
    FAR_TRY(far_mat_expect(ctx, x, "x", 1, net->info.inputs, FAR_F64));
    FAR_TRY(far_mat_expect(ctx, out, "out", x->cols, x->cols, FAR_F64));
    FAR_TRY(check_output(ctx, net, output));
    FAR_TRY(survey_create(ctx, net, raw != 0, false, &s));
#pragma omp parallel for num_threads(s.threads) schedule(dynamic)
    for (int64_t b = s.blocks - 1; b >= 0; b--) {
        write_block(&s, survey_run(&s, x->data, b), output, out);
    }
done:
    survey_clear(&s);
    far_net_destroy(own);
    return st;
}
