/*
 * The tangent kernel of finite networks: against J J' formed in full, whole and by layers, for all
 * kinds of outputs; products and eigenvalues without the matrix; arguments, memory, threads.
 */
#include "../../src/gram/net_factors.h"
#include "gram/gram.h"

#include <farfield/ntk.h>

#define TEST_THREADS 2
#include "harness.h"

#define N 139 /* more than a tile */
#define M 7
#define D 3

/* ---- networks and points ---- */

static far_net *network(const char *arch, far_init init)
{
    far_net_opts o;
    far_net *net;
    far_net_opts_init(&o);
    o.inputs = D;
    o.init = init;
    o.seed = 5;
    assert_int_equal(far_net_create(ctx, arch, &o, &net), FAR_OK);
    return net;
}

/* Away from the start, so that scales and shifts of norms count. */
static void disturb(far_net *net)
{
    far_mat p = far_net_parameters(net);
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] += 0.3 * sin(1.7 * (double)i + 0.4);
    }
}

static far_mat matrix(int64_t rows, int64_t cols, far_dtype dtype)
{
    far_mat m = far_mat_view(NULL, rows, cols, dtype);
    m.data = calloc((size_t)(rows * cols), sizeof(double));
    assert_non_null(m.data);
    return m;
}

static far_mat points(int64_t rows, double phase)
{
    far_mat m = matrix(rows, D, FAR_F64);
    for (int64_t i = 0; i < rows * D; i++) {
        ((double *)m.data)[i] = 1.5 * sin(12.9898 * (double)i + phase);
    }
    return m;
}

static double get(const far_mat *m, int64_t i, int64_t j)
{
    int64_t k = i * m->ld + j;
    return m->dtype == FAR_F64 ? ((double *)m->data)[k] : (double)((float *)m->data)[k];
}

static double largest(const far_mat *m)
{
    double most = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            most = fmax(most, fabs(get(m, i, j)));
        }
    }
    return most;
}

static double distance(const far_mat *a, const far_mat *b)
{
    double most = 0;
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < a->cols; j++) {
            double gap = fabs(get(a, i, j) - get(b, i, j));
            most = gap == gap && gap > most ? gap : most;
            assert_true(gap == gap);
        }
    }
    return most / largest(b);
}

/* ---- the reference ---- */

static far_mat jacobian(const far_net *net, const far_mat *x)
{
    far_net_info i = far_net_describe(net);
    far_mat j = matrix(x->rows * i.outputs, i.parameters, FAR_F64);
    assert_int_equal(far_net_jacobian(ctx, net, x, &j), FAR_OK);
    return j;
}

/* Which layer every parameter belongs to. */
static int64_t *layer_of_parameter(far_net *net)
{
    far_net_info info = far_net_describe(net);
    int64_t *layer = calloc((size_t)info.parameters, sizeof *layer);
    for (int64_t t = 0; t < info.tensors; t++) {
        far_net_tensor_info tensor = far_net_tensor(net, t);
        for (int64_t k = 0; tensor.parameter >= 0 && k < tensor.values.rows * tensor.values.cols;
             k++) {
            layer[tensor.parameter + k] = tensor.layer;
        }
    }
    return layer;
}

/* J1 J2' over the layers in use, at the pair of kernel rows (i, a) and (j, b). */
static double contraction(const far_mat *j1, const far_mat *j2, int64_t r, int64_t s,
                          const int64_t *layer, const unsigned char *layers)
{
    double sum = 0;
    for (int64_t p = 0; p < j1->cols; p++) {
        if (!layers || layers[layer[p]]) {
            sum += get(j1, r, p) * get(j2, s, p);
        }
    }
    return sum;
}

static double expected(const far_mat *j1, const far_mat *j2, int64_t i, int64_t j, int64_t outputs,
                       const far_ntk_opts *o, const int64_t *layer)
{
    if (o->outputs == FAR_NTK_FULL) {
        return contraction(j1, j2, i, j, layer, o->layers);
    }
    double sum = 0;
    for (int64_t a = 0; a < outputs; a++) {
        if (o->outputs == FAR_NTK_TRACE || a == o->output) {
            sum += contraction(j1, j2, i * outputs + a, j * outputs + a, layer, o->layers);
        }
    }
    return o->outputs == FAR_NTK_TRACE ? sum / (double)outputs : sum;
}

static far_mat reference(far_net *net, const far_mat *x1, const far_mat *x2, const far_ntk_opts *o)
{
    int64_t outputs = far_net_describe(net).outputs;
    int64_t side = o->outputs == FAR_NTK_FULL ? outputs : 1, *layer = layer_of_parameter(net);
    far_mat j1 = jacobian(net, x1), j2 = jacobian(net, x2);
    far_mat k = matrix(x1->rows * side, x2->rows * side, FAR_F64);
    for (int64_t i = 0; i < k.rows; i++) {
        for (int64_t j = 0; j < k.cols; j++) {
            ((double *)k.data)[i * k.ld + j] = expected(&j1, &j2, i, j, outputs, o, layer);
        }
    }
    free(j1.data);
    free(j2.data);
    free(layer);
    return k;
}

static void check_against_jacobian(far_net *net, const far_ntk_opts *o)
{
    far_mat x = points(N, 0.1), x2 = points(M, 0.7);
    far_mat both[] = {x, x2};
    for (int k = 0; k < COUNT(both); k++) {
        far_mat right = reference(net, &x, &both[k], o);
        far_mat got = matrix(right.rows, right.cols, FAR_F64);
        assert_int_equal(far_net_ntk(ctx, net, &x, k == 0 ? NULL : &x2, o, &got), FAR_OK);
        assert_true(distance(&got, &right) < 1e-12);
        free(right.data);
        free(got.data);
    }
    free(x.data);
    free(x2.data);
}

static const char *const NETWORKS[] = {
    "dense(11) relu dense(7) relu dense(1)",
    "dense(11) ln relu dense(7) ln relu dense(1)",
    "dense(12) relu ln(groups=3, eps=0.1, affine) dense(7) tanh dense(1)",
    "ln(eps=0.5, affine) dense(11) rms(affine) gelu dense(5, nobias) silu dense(1)",
    "dense(11) skip(ln relu dense(13) erf dense(11)) skip(dense(11)) leaky_relu(0.2) dense(1)",
    "dense(11) skip(ln relu dense(7) | tanh dense(5) dense(7, nobias)) gelu dense(1)",
    "dense(11) batchnorm(eps=0.1, affine) sin dense(7) abs dense(1)",
    "dense(11, w=1.5, b=0.3) relu(2) dense(1)",
    "dense(5) tanh dense(547) relu dense(1)", /* longer than the engine takes at once */
};

static void it_is_the_product_of_jacobians(void **state)
{
    (void)state;
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    for (int i = 0; i < COUNT(NETWORKS); i++) {
        for (int init = 0; init < 2; init++) {
            far_net *net = network(NETWORKS[i], init ? FAR_INIT_NTK : FAR_INIT_KAIMING_NORMAL);
            disturb(net);
            check_against_jacobian(net, &o);
            far_net_destroy(net);
        }
    }
}

static void several_outputs_have_three_kernels(void **state)
{
    (void)state;
    far_net *net = network("dense(5) ln(affine) relu dense(3)", FAR_INIT_NTK);
    disturb(net);
    for (int kind = FAR_NTK_TRACE; kind <= FAR_NTK_FULL; kind++) {
        far_ntk_opts o;
        o = (far_ntk_opts){.size = sizeof o};
        o.outputs = kind;
        o.output = 2;
        check_against_jacobian(net, &o);
    }
    far_net_destroy(net);
}

static void layers_can_be_left_out(void **state)
{
    (void)state;
    far_net *net = network("dense(5) ln(affine) relu dense(7) relu dense(2)", FAR_INIT_LECUN);
    disturb(net);
    static const unsigned char SETS[][4] = {{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 1, 1, 1}};
    for (int i = 0; i < COUNT(SETS); i++) {
        far_ntk_opts o;
        o = (far_ntk_opts){.size = sizeof o};
        o.layers = SETS[i];
        check_against_jacobian(net, &o);
    }
    far_net_destroy(net);
}

static void layers_add_up(void **state)
{
    (void)state;
    far_net *net = network(NETWORKS[2], FAR_INIT_NTK);
    disturb(net);
    far_mat x = points(N, 0.2), whole = matrix(N, N, FAR_F64), sum = matrix(N, N, FAR_F64);
    int64_t layers = far_net_describe(net).layers;
    far_mat parts[8], *out[8];
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    assert_true(layers <= 8);
    for (int64_t l = 0; l < layers; l++) {
        parts[l] = matrix(N, N, FAR_F64);
        out[l] = &parts[l];
    }
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &whole), FAR_OK);
    assert_int_equal(far_net_ntk_layers(ctx, net, &x, NULL, &o, out), FAR_OK);
    for (int64_t l = 0; l < layers; l++) {
        for (int64_t k = 0; k < N * N; k++) {
            ((double *)sum.data)[k] += ((double *)parts[l].data)[k];
        }
        free(parts[l].data);
    }
    assert_true(distance(&sum, &whole) < 1e-14);
    free(x.data);
    free(whole.data);
    free(sum.data);
    far_net_destroy(net);
}

/* Matrices of layers that are left out are neither looked at nor written. */
static void layers_are_asked_for_one_by_one(void **state)
{
    (void)state;
    far_net *net = network("dense(5) ln(affine) relu dense(2)", FAR_INIT_NTK);
    far_mat x = points(M, 0.2), one = matrix(M, M, FAR_F64), alone = matrix(M, M, FAR_F64);
    far_mat wrong = matrix(M, M + 1, FAR_F64), *out[] = {NULL, &one, NULL};
    static const unsigned char SECOND[] = {0, 1, 0};
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    o.layers = SECOND;
    disturb(net);
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &alone), FAR_OK);
    far_status st = FAR_ERR_MEMORY;
    int64_t failed = 0, live = test_heap.live_blocks;
    for (; st == FAR_ERR_MEMORY; failed++) {
        test_heap.fail_at = test_heap.calls + failed;
        st = far_net_ntk_layers(ctx, net, &x, NULL, &o, out);
        assert_int_equal(test_heap.live_blocks, live);
    }
    test_heap.fail_at = -1;
    assert_int_equal(st, FAR_OK);
    assert_true(failed > 3 && distance(&one, &alone) == 0);
    out[1] = &wrong;
    assert_int_equal(far_net_ntk_layers(ctx, net, &x, NULL, &o, out), FAR_ERR_SHAPE);
    assert_int_equal(far_net_ntk_layers(ctx, net, &x, NULL, NULL, out), FAR_ERR_ARG);
    far_mat *owned[] = {&x, &one, &alone, &wrong};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]->data);
    }
    far_net_destroy(net);
}

static void a_linearised_network_has_the_kernel_of_its_start(void **state)
{
    (void)state;
    far_net *net = network(NETWORKS[1], FAR_INIT_NTK);
    far_mat x = points(M, 0.3), before = matrix(M, M, FAR_F64), after = matrix(M, M, FAR_F64);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &before), FAR_OK);
    assert_int_equal(far_net_linearize(ctx, net), FAR_OK);
    disturb(net);
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &after), FAR_OK);
    assert_memory_equal(before.data, after.data, M * M * sizeof(double));
    free(x.data);
    free(before.data);
    free(after.data);
    far_net_destroy(net);
}

static void float32_is_near_float64(void **state)
{
    (void)state;
    far_mat x = points(N, 0.4), narrow = matrix(N, D, FAR_F32);
    far_mat k = matrix(N, N, FAR_F64), k32 = matrix(N, N, FAR_F32);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    for (int64_t i = 0; i < N * D; i++) {
        ((float *)narrow.data)[i] = (float)((double *)x.data)[i];
    }
    for (int i = 0; i < COUNT(NETWORKS); i++) {
        far_net *net = network(NETWORKS[i], FAR_INIT_KAIMING_NORMAL);
        disturb(net);
        assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &k), FAR_OK);
        assert_int_equal(far_net_ntk(ctx, net, &narrow, NULL, &o, &k32), FAR_OK);
        if (!(distance(&k32, &k) < 1e-5)) {
            fail_msg("%s: %g apart", NETWORKS[i], distance(&k32, &k));
        }
        far_net_destroy(net);
    }
    free(x.data);
    free(narrow.data);
    free(k.data);
    free(k32.data);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    far_net *net = network(NETWORKS[4], FAR_INIT_KAIMING_NORMAL);
    far_mat x = points(N, 0.5), one = matrix(N, N, FAR_F64), three = matrix(N, N, FAR_F64);
    far_ctx *single = context_with(1), *triple = context_with(3);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    assert_int_equal(far_net_ntk(single, net, &x, NULL, &o, &one), FAR_OK);
    assert_int_equal(far_net_ntk(triple, net, &x, NULL, &o, &three), FAR_OK);
    assert_memory_equal(one.data, three.data, N * N * sizeof(double));
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < i; j++) {
            assert_true(get(&one, i, j) == get(&one, j, i));
        }
    }
    far_ctx_destroy(single);
    far_ctx_destroy(triple);
    free(x.data);
    free(one.data);
    free(three.data);
    far_net_destroy(net);
}

/* ---- without the matrix ---- */

static void products_need_no_matrix(void **state)
{
    (void)state;
    far_net *net = network("dense(5, nobias) ln(affine) relu dense(3)", FAR_INIT_NTK);
    far_mat x = points(M, 0.6);
    static const unsigned char LAYERS[][3] = {{1, 0, 1}, {0, 1, 1}, {1, 1, 0}};
    disturb(net);
    for (int i = 0; i < 2 * COUNT(LAYERS); i++) {
        int kind = i % 2 ? FAR_NTK_FULL : FAR_NTK_ONE;
        far_ntk_opts o;
        o = (far_ntk_opts){.size = sizeof o};
        o.outputs = kind;
        o.output = 1;
        o.layers = LAYERS[i / 2];
        int64_t n = kind == FAR_NTK_FULL ? 3 * M : M;
        far_mat k = matrix(n, n, FAR_F64), v = matrix(n, 2, FAR_F64), got = matrix(n, 2, FAR_F64);
        far_mat right = matrix(n, 2, FAR_F64);
        for (int64_t k2 = 0; k2 < 2 * n; k2++) {
            ((double *)v.data)[k2] = cos((double)k2);
        }
        assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &k), FAR_OK);
        assert_int_equal(far_net_ntk_multiply(ctx, net, &x, &o, &v, &got), FAR_OK);
        assert_int_equal(far_multiply(ctx, &k, &v, &right), FAR_OK);
        assert_true(distance(&got, &right) < 1e-12);
        far_mat *owned[] = {&k, &v, &got, &right};
        for (int j = 0; j < COUNT(owned); j++) {
            free(owned[j]->data);
        }
    }
    free(x.data);
    far_net_destroy(net);
}

static void eigenvalues_need_no_matrix(void **state)
{
    (void)state;
    far_net *net = network(NETWORKS[1], FAR_INIT_NTK);
    far_mat x = points(N, 0.8), k = matrix(N, N, FAR_F64);
    far_mat values = matrix(3, 1, FAR_F64), vectors = matrix(N, 3, FAR_F64);
    far_mat right = matrix(3, 1, FAR_F64);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, &o, &k), FAR_OK);
    far_symmetric a = far_symmetric_of(&k);
    assert_int_equal(far_eigen(ctx, &a, FAR_EIGEN_LARGEST, 3, 0, &right, NULL), FAR_OK);
    assert_int_equal(far_net_ntk_eigen(ctx, net, &x, &o, 3, &values, &vectors), FAR_OK);
    assert_true(distance(&values, &right) < 1e-9);
    far_mat image = matrix(N, 3, FAR_F64);
    assert_int_equal(far_multiply(ctx, &k, &vectors, &image), FAR_OK);
    for (int64_t i = 0; i < N; i++) {
        double gap = get(&image, i, 2) - get(&values, 2, 0) * get(&vectors, i, 2);
        assert_true(fabs(gap) < 1e-7 * get(&values, 2, 0));
    }
    far_mat *owned[] = {&x, &k, &values, &vectors, &right, &image};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]->data);
    }
    far_net_destroy(net);
}

/* ---- arguments ---- */

static void arguments_are_checked(void **state)
{
    (void)state;
    far_net *net = network("dense(5) relu dense(2)", FAR_INIT_NTK);
    far_mat x = points(M, 0.9), k = matrix(M, M, FAR_F64), wrong = matrix(M, M + 1, FAR_F64);
    far_mat narrow = matrix(M, D, FAR_F32), wide = matrix(M, D + 1, FAR_F64);
    far_ntk_opts o, bad;
    o = (far_ntk_opts){.size = sizeof o};
    bad = o;
    bad.size = 0;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_ARG, "sizeof(far_ntk_opts)");
    bad = o;
    bad.outputs = 3;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_ARG, "far_ntk_outputs");
    bad = o;
    bad.outputs = FAR_NTK_ONE;
    bad.output = 2;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_ARG, "output 2");
    bad.output = -1;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_ARG, "output -1");
    static const unsigned char NONE[] = {0, 0};
    bad = o;
    bad.layers = NONE;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_ARG, "no layer");
    bad = o;
    bad.memory = 1000;
    refused(far_net_ntk(ctx, net, &x, NULL, &bad, &k), FAR_ERR_BUDGET, "layer factors");
    refused(far_net_ntk(ctx, net, &x, NULL, &o, &wrong), FAR_ERR_SHAPE, "7 x 8");
    refused(far_net_ntk(ctx, net, &wide, NULL, &o, &k), FAR_ERR_SHAPE, "4 columns");
    refused(far_net_ntk(ctx, net, &x, &narrow, &o, &k), FAR_ERR_ARG, "differ in type");
    ((double *)x.data)[4] = NAN;
    refused(far_net_ntk(ctx, net, &x, NULL, &o, &k), FAR_ERR_VALUE, "row 2, column 2");
    ((double *)x.data)[4] = 0;
    refused(far_net_ntk_multiply(ctx, net, &x, &o, &k, &k), FAR_ERR_ARG, "trace");
    bad = o;
    bad.outputs = FAR_NTK_ONE;
    refused(far_net_ntk_eigen(ctx, net, &x, &bad, M, &k, NULL), FAR_ERR_ARG, "7 eigenvalues");
    far_mat *owned[] = {&x, &k, &wrong, &narrow, &wide};
    for (int i = 0; i < COUNT(owned); i++) {
        free(owned[i]->data);
    }
    far_net_destroy(net);
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    far_net *net = network("dense(5) ln(affine) relu dense(1)", FAR_INIT_NTK);
    far_mat x = points(M, 1.0), k = matrix(M, M, FAR_F64);
    far_ntk_opts o;
    o = (far_ntk_opts){.size = sizeof o};
    int64_t blocks = test_heap.live_blocks;
    far_status st = FAR_ERR_MEMORY;
    for (int i = 0; st != FAR_OK; i++) {
        test_heap.fail_at = test_heap.calls + i;
        st = far_net_ntk(ctx, net, &x, &x, &o, &k);
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(test_heap.live_blocks, blocks);
        assert_true(i < 200);
    }
    free(x.data);
    free(k.data);
    far_net_destroy(net);
}

/* ---- memory that is kept ---- */

static void same_as_anew(const far_net *net, int64_t rows, const far_ntk_opts *opts,
                         far_factors *kept)
{
    int64_t side = opts->outputs == FAR_NTK_FULL ? far_net_describe(net).outputs : 1;
    far_mat x = points(rows, 0.1 * (double)rows), once = matrix(rows * side, rows * side, FAR_F64);
    far_mat again = matrix(rows * side, rows * side, FAR_F64);
    assert_int_equal(far_net_ntk(ctx, net, &x, NULL, opts, &once), FAR_OK);
    assert_int_equal(far_net_ntk_kept(ctx, net, &x, opts, kept, &again), FAR_OK);
    assert_memory_equal(once.data, again.data, (size_t)(once.rows * once.cols) * sizeof(double));
    free(x.data);
    free(once.data);
    free(again.data);
}

static void kept_memory_changes_no_bit(void **state)
{
    (void)state;
    far_factors kept = {0};
    far_ntk_opts opts;
    opts = (far_ntk_opts){.size = sizeof opts};
    far_net *net = network("dense(7) ln(affine) tanh dense(5) relu dense(2)", FAR_INIT_TORCH);
    far_net *other = network("dense(9) tanh dense(2)", FAR_INIT_TORCH);
    same_as_anew(net, 30, &opts, &kept);
    int64_t blocks = test_heap.live_blocks;
    void *memory = kept.items;
    disturb(net);
    same_as_anew(net, 30, &opts, &kept);
    assert_ptr_equal(kept.items, memory);
    assert_int_equal(test_heap.live_blocks, blocks);
    same_as_anew(net, 41, &opts, &kept); /* other points, another network, other rows */
    same_as_anew(other, 41, &opts, &kept);
    opts.outputs = FAR_NTK_FULL;
    same_as_anew(other, 41, &opts, &kept);
    far_factors_clear(&kept);
    far_net_destroy(net);
    far_net_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_the_product_of_jacobians),
        TEST(several_outputs_have_three_kernels),
        TEST(layers_can_be_left_out),
        TEST(layers_add_up),
        TEST(layers_are_asked_for_one_by_one),
        TEST(a_linearised_network_has_the_kernel_of_its_start),
        TEST(float32_is_near_float64),
        TEST(threads_do_not_change_a_bit),
        TEST(products_need_no_matrix),
        TEST(eigenvalues_need_no_matrix),
        TEST(kept_memory_changes_no_bit),
        TEST(arguments_are_checked),
        TEST(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests_name("ntk", tests, NULL, NULL);
}
