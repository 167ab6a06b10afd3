#include "gram.h"

#include <stdatomic.h>

#include <omp.h>

typedef struct progress_state {
    far_ctx *ctx;
    int64_t total;
    atomic_int_least64_t next, done;
    atomic_int status;
} progress_state;

typedef struct span {
    int64_t begin, end;
} span;

static span block(int64_t index, int64_t side, int64_t count)
{
    int64_t begin = index * side, end = begin + side;
    return (span){begin, end < count ? end : count};
}

/* Position of tile number k: row by row over the square, or over its lower triangle. */
static void tile_position(const far_gram_job *job, int64_t k, int64_t *row, int64_t *col)
{
    int64_t across = (job->cols + job->side - 1) / job->side;
    if (!job->symmetric) {
        *row = k / across;
        *col = k % across;
        return;
    }
    int64_t r = 0;
    while ((r + 1) * (r + 2) / 2 <= k) {
        r++;
    }
    *row = r;
    *col = k - r * (r + 1) / 2;
}

static int64_t tile_count(const far_gram_job *job)
{
    int64_t down = (job->rows + job->side - 1) / job->side;
    int64_t across = (job->cols + job->side - 1) / job->side;
    return job->symmetric ? down * (down + 1) / 2 : down * across;
}

#define MIRROR_BLOCK 16

#define DEFINE_MIRROR(T, NAME)                                                                     \
    static void NAME(const far_mat *m, span rows, span cols)                                       \
    {                                                                                              \
        T *a = m->data;                                                                            \
        for (int64_t j = cols.begin; j < cols.end; j++) {                                          \
            for (int64_t i = rows.begin > j ? rows.begin : j + 1; i < rows.end; i++) {             \
                a[j * m->ld + i] = a[i * m->ld + j];                                               \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_MIRROR(double, mirror_f64)
DEFINE_MIRROR(float, mirror_f32)

static void mirror_block(const far_mat *m, span rows, span cols)
{
    if (m->dtype == FAR_F32) {
        mirror_f32(m, rows, cols);
    } else {
        mirror_f64(m, rows, cols);
    }
}

/* While the tile is still in cache. */
static void mirror(const far_mat *m, span rows, span cols)
{
    for (int64_t j = cols.begin; m && j < cols.end; j += MIRROR_BLOCK) {
        for (int64_t i = rows.begin; i < rows.end; i += MIRROR_BLOCK) {
            mirror_block(m, (span){i, far_least(i + MIRROR_BLOCK, rows.end)},
                         (span){j, far_least(j + MIRROR_BLOCK, cols.end)});
        }
    }
}

static void run_tile(const far_gram_job *job, int64_t k, void *scratch)
{
    int64_t row, col;
    tile_position(job, k, &row, &col);
    span rows = block(row, job->side, job->rows), cols = block(col, job->side, job->cols);
    job->tile(job->source, rows.begin, rows.end, cols.begin, cols.end, scratch);
    mirror(job->mirror[0], rows, cols);
    mirror(job->mirror[1], rows, cols);
}

/* Only the calling thread may call back into the caller's code. */
static void report(progress_state *s, int64_t done)
{
    if (omp_get_thread_num() == 0) {
        far_status st = far_progress(s->ctx, "kernel", done, s->total);
        if (st != FAR_OK) {
            atomic_store(&s->status, (int)st);
        }
    }
}

static void work(const far_gram_job *job, progress_state *s, void *scratch)
{
    while (atomic_load(&s->status) == FAR_OK) {
        int64_t k = atomic_fetch_add(&s->next, 1);
        if (k >= s->total) {
            break;
        }
        run_tile(job, k, scratch);
        report(s, atomic_fetch_add(&s->done, 1) + 1);
    }
}

far_status far_gram_fill(far_ctx *ctx, const far_gram_job *job)
{
    progress_state s = {.ctx = ctx, .total = tile_count(job)};
    int threads = far_ctx_threads(ctx);
    if (threads > s.total) {
        threads = s.total > 0 ? (int)s.total : 1;
    }
    int64_t stride = (job->scratch + 127) / 128 * 128;
    char *scratch = NULL;
    far_status st;
    FAR_TRY(far_alloc(ctx, threads * stride, &scratch));
#pragma omp parallel num_threads(threads)
    work(job, &s, scratch + omp_get_thread_num() * stride);
    st = (far_status)atomic_load(&s.status);
done:
    far_free(ctx, scratch);
    return st;
}
