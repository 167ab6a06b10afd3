/* Features: V from the landmarks' eigenvectors, and the system in one pass over the data. */
#include "laplace_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Below this, times landmarks and the largest eigenvalue, one is rounding. */
#define EIGENVALUE_ROUNDING (8 * DBL_EPSILON)

enum { STRIP = 1024 };

/* What there is until the basis is made. */
typedef struct setup {
    far_landmarks landmarks;
    double *x;       /* of the landmarks, M x inputs */
    double *kernel;  /* M x M */
    double *values;  /* rank, ascending */
    double *vectors; /* M x rank */
    double *u;       /* M x outputs */
} setup;

static void setup_clear(far_ctx *ctx, setup *s)
{
    far_landmarks_clear(ctx, &s->landmarks);
    FAR_FREE_ALL(ctx, s->x, s->kernel, s->values, s->vectors, s->u);
}

static far_status gather(far_ctx *ctx, const far_mat *x, setup *s)
{
    far_status st = far_alloc(ctx, s->landmarks.count * x->cols, &s->x);
    for (int64_t m = 0; st == FAR_OK && m < s->landmarks.count; m++) {
        memcpy(s->x + m * x->cols, far_mat_row(x, s->landmarks.points[m]),
               (size_t)x->cols * sizeof(double));
    }
    return st;
}

static far_mat landmark_points(const far_laplace *la, const setup *s)
{
    return far_mat_view(s->x, s->landmarks.count, la->net->info.inputs, FAR_F64);
}

/* The rank_most largest eigenpairs. */
static far_status decompose(far_laplace *la, setup *s)
{
    far_ctx *ctx = la->ctx;
    int64_t count = s->landmarks.count, rank = la->info.rank_most;
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(ctx, count * count, &s->kernel));
    FAR_TRY(far_alloc(ctx, rank, &s->values));
    FAR_TRY(far_alloc(ctx, count * rank, &s->vectors));
    far_mat x = landmark_points(la, s), k = far_mat_view(s->kernel, count, count, FAR_F64);
    FAR_TRY(far_landmarks_gram(ctx, la->net, &s->landmarks, &x, &k));
    far_mat values = far_mat_view(s->values, rank, 1, FAR_F64);
    far_mat vectors = far_mat_view(s->vectors, count, rank, FAR_F64);
    far_symmetric a = far_symmetric_of(&k);
    far_progress_hold(ctx);
    st = far_eigen(ctx, &a, FAR_EIGEN_LARGEST, rank, la->memory, &values, &vectors);
    far_progress_release(ctx);
done:
    far_free(ctx, s->kernel);
    s->kernel = NULL;
    return st;
}

static far_status count_features(far_laplace *la, const setup *s)
{
    int64_t asked = la->info.rank_most, rank = 0;
    double most = s->values[asked - 1];
    double least = EIGENVALUE_ROUNDING * (double)s->landmarks.count * most;
    while (rank < asked && s->values[asked - 1 - rank] > least) {
        rank++;
    }
    if (!(most > 0) || rank == 0) {
        return far_fail(la->ctx, FAR_ERR_VALUE,
                        "the outputs do not depend on any parameter at the landmarks; is the "
                        "network trained?");
    }
    la->info.rank_most = rank;
    return FAR_OK;
}

/* Row k of V' = p_k^-1/2 q_k' J_M. asked: of vectors, whose last column comes first. */
static far_status make_feature(far_laplace *la, const setup *s, int64_t asked, int64_t k)
{
    int64_t outputs = la->info.outputs, count = s->landmarks.count, column = asked - 1 - k;
    memset(s->u, 0, (size_t)(count * outputs) * sizeof *s->u);
    for (int64_t m = 0; m < count; m++) {
        s->u[m * outputs + s->landmarks.outputs[m]] =
            s->vectors[m * asked + column] / sqrt(s->values[column]);
    }
    far_mat x = landmark_points(la, s), u = far_mat_view(s->u, count, outputs, FAR_F64);
    int64_t parameters = la->info.parameters;
    far_mat row = far_mat_view(la->basis + k * parameters, 1, parameters, FAR_F64);
    far_progress_hold(la->ctx);
    far_status st = far_net_vjp(la->ctx, la->net, &x, &u, &row, NULL);
    far_progress_release(la->ctx);
    return st;
}

/* gram = V' V */
static far_status basis_gram(const far_laplace *la, const far_mat *basis, far_mat *gram)
{
    double *turned = NULL;
    int64_t width = far_least(STRIP, basis->cols);
    far_status st = far_alloc(la->ctx, basis->rows * width, &turned);
    memset(gram->data, 0, (size_t)(gram->rows * gram->cols) * sizeof(double));
    for (int64_t first = 0; st == FAR_OK && first < basis->cols; first += width) {
        far_mat part = *basis;
        part.data = (double *)basis->data + first;
        part.cols = far_least(width, basis->cols - first);
        far_mat other = far_mat_view(turned, part.cols, part.rows, FAR_F64);
        far_transpose(la->ctx, &part, turned);
        st = far_add_outer(la->ctx, &part, &other, gram);
    }
    far_free(la->ctx, turned);
    return st;
}

/* Eigenvectors of small eigenvalues p leave V orthonormal to eps max p / p only. Its span is right;
 * V' := L^-1 V' with V' V = L L' keeps the spans of all leading features, too. */
static far_status orthonormalize(far_laplace *la)
{
    far_ctx *ctx = la->ctx;
    int64_t rank = la->info.rank_most;
    double *numbers = NULL;
    far_system *system = NULL;
    far_solve_opts opts;
    far_status st = FAR_OK;
    far_solve_opts_init(&opts);
    opts.extremes = 0;
    opts.memory = la->memory;
    FAR_TRY(far_alloc(ctx, rank * rank, &numbers));
    far_mat gram = far_mat_view(numbers, rank, rank, FAR_F64);
    far_mat basis = far_mat_view(la->basis, rank, la->info.parameters, FAR_F64);
    FAR_TRY(basis_gram(la, &basis, &gram));
    far_symmetric a = far_symmetric_of(&gram);
    FAR_TRY(far_system_create(ctx, &a, &opts, &system));
    FAR_TRY(far_system_whiten(ctx, system, &basis));
done:
    far_system_destroy(system);
    far_free(ctx, numbers);
    return st;
}

/* As far_features_project reads it. */
static far_status pack_basis(far_laplace *la)
{
    int64_t parameters = la->info.parameters;
    double *row = NULL;
    far_status st = far_alloc(la->ctx, parameters, &row);
    for (int64_t k = 0; st == FAR_OK && k < la->info.rank_most; k++) {
        double *to = la->basis + k * parameters;
        memcpy(row, to, (size_t)parameters * sizeof *row);
        far_net_pack(la->net, row, FAR_F64, to);
    }
    far_free(la->ctx, row);
    return st;
}

static far_status make_basis(far_laplace *la, setup *s)
{
    int64_t asked = la->info.rank_most;
    far_status st = FAR_OK;
    FAR_TRY(count_features(la, s));
    FAR_TRY(far_alloc(la->ctx, la->info.rank_most * la->info.parameters, &la->basis));
    FAR_TRY(far_alloc(la->ctx, s->landmarks.count * la->info.outputs, &s->u));
    for (int64_t k = 0; k < la->info.rank_most; k++) {
        FAR_TRY(far_progress(la->ctx, "basis", k, la->info.rank_most));
        FAR_TRY(make_feature(la, s, asked, k));
    }
    far_progress_hold(la->ctx);
    st = orthonormalize(la);
    far_progress_release(la->ctx);
    FAR_TRY(st);
    FAR_TRY(pack_basis(la));
done:
    return st;
}

static far_status find_features(far_laplace *la, const far_mat *x, const far_laplace_opts *opts)
{
    setup s = {0};
    far_status st = FAR_OK;
    FAR_TRY(far_progress(la->ctx, "landmarks", 0, la->info.landmarks));
    FAR_TRY(far_landmarks_choose(la->ctx, &la->info, opts, &s.landmarks));
    FAR_TRY(gather(la->ctx, x, &s));
    FAR_TRY(decompose(la, &s));
    FAR_TRY(make_basis(la, &s));
done:
    setup_clear(la->ctx, &s);
    return st;
}

/* ---- the system ---------------------------------------------------------------------------- */

/* Of some points: the network's outputs, their features and the transpose. */
typedef struct room {
    far_laplace *la;
    double *outputs, *z, *zt;
} room;

/* matrix += sum over the points of phi' Lam phi */
static far_status add_points(void *user, const far_mat *x, int64_t first)
{
    const room *r = user;
    far_laplace *la = r->la;
    int64_t rank = la->info.rank_most, classes = la->info.outputs, cols = x->rows * classes;
    far_root root = {0};
    far_status st = FAR_OK;
    (void)first;
    FAR_TRY(far_laplace_outputs(la, x, r->outputs));
    FAR_TRY(far_root_create(la->ctx, &la->info, r->outputs, x->rows, &root));
    FAR_TRY(far_laplace_project(la, x, rank, r->z));
    for (int64_t k = 0; k < rank; k++) {
        for (int64_t i = 0; i < x->rows; i++) {
            far_root_apply(&root, i, r->z + k * cols + i * classes, 1);
        }
    }
    far_mat left = far_mat_view(r->z, rank, cols, FAR_F64);
    far_mat right = far_mat_view(r->zt, cols, rank, FAR_F64);
    far_transpose(la->ctx, &left, r->zt);
    FAR_TRY(far_add_outer(la->ctx, &left, &right, &la->matrix));
done:
    far_root_clear(la->ctx, &root);
    return st;
}

static far_status sum_points(far_laplace *la, const far_mat *x)
{
    int64_t rank = la->info.rank_most, classes = la->info.outputs;
    int64_t chunk = far_laplace_chunk(la, rank, x->rows);
    room r = {.la = la};
    far_status st = FAR_OK;
    FAR_TRY(far_alloc(la->ctx, chunk * classes, &r.outputs));
    FAR_TRY(far_alloc(la->ctx, chunk * classes * rank, &r.z));
    FAR_TRY(far_alloc(la->ctx, chunk * classes * rank, &r.zt));
    FAR_TRY(far_laplace_walk(la, "posterior", x, chunk, add_points, &r));
done:
    FAR_FREE_ALL(la->ctx, r.outputs, r.z, r.zt);
    return st;
}

far_status far_laplace_fit_features(far_laplace *la, const far_mat *x, const far_laplace_opts *opts)
{
    double *numbers = NULL;
    far_status st = FAR_OK;
    FAR_TRY(find_features(la, x, opts));
    int64_t rank = la->info.rank_most;
    FAR_TRY(far_alloc(la->ctx, rank * rank, &numbers));
    la->matrix = far_mat_view(numbers, rank, rank, FAR_F64);
    la->info.rank = la->info.side = rank;
    FAR_TRY(sum_points(la, x));
done:
    return st;
}
