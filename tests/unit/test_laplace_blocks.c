/* The posteriors layer by layer: against explicit Jacobians, and KFAC against its definition. */
#include "laplace_points.h"
#include "net/net_internal.h"

#define N 11
#define M 5
#define D 3

static const struct {
    const char *arch;
    int32_t likelihood;
} CASES[] = {
    {"dense(7) tanh dense(1)", FAR_LIKELIHOOD_GAUSSIAN},
    {"dense(5) ln(affine) relu dense(2)", FAR_LIKELIHOOD_GAUSSIAN},
    {"dense(5) rms(affine) tanh dense(3)", FAR_LIKELIHOOD_SOFTMAX},
    {"dense(4) tanh dense(5) erf dense(2)", FAR_LIKELIHOOD_SOFTMAX},
    {"dense(7) tanh dense(1)", FAR_LIKELIHOOD_BERNOULLI},
    {"dense(5) ln(affine) skip(dense(4) batchnorm(affine) tanh dense(5)) dense(2)",
     FAR_LIKELIHOOD_GAUSSIAN},
};

static const int32_t METHODS[] = {FAR_LAPLACE_DIAGONAL, FAR_LAPLACE_KFAC, FAR_LAPLACE_LAST_LAYER};

static far_laplace_opts options(int32_t method, int32_t likelihood)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    o.method = method;
    o.likelihood = likelihood;
    o.prior = 0.7;
    o.noise = 0.3;
    o.memory = 1e9;
    return o;
}

/* ---- the reference ------------------------------------------------------------------------- */

static far_mat jacobian(const far_net *net, const far_mat *x)
{
    far_net_info i = far_net_describe(net);
    far_mat j = matrix(x->rows * i.outputs, i.parameters);
    must(far_net_jacobian(ctx, net, x, &j));
    return j;
}

/* Lam of every training row, one behind the other. */
static far_mat curvatures(const far_net *net, const far_mat *x, const far_laplace_opts *o)
{
    int64_t c = far_net_describe(net).outputs;
    far_mat f = matrix(x->rows, c), lam = matrix(x->rows * c, c);
    must(far_net_eval(ctx, net, x, &f));
    for (int64_t i = 0; i < x->rows; i++) {
        double sum = o->likelihood == FAR_LIKELIHOOD_BERNOULLI; /* the other class's exp(0) */
        for (int64_t a = 0; a < c; a++) {
            sum += exp(*at(&f, i, a));
        }
        for (int64_t k = 0; k < c * c; k++) {
            double p = exp(*at(&f, i, k / c)) / sum, q = exp(*at(&f, i, k % c)) / sum;
            bool same = k / c == k % c;
            *at(&lam, i * c + k / c, k % c) =
                o->likelihood == FAR_LIKELIHOOD_GAUSSIAN ? same / o->noise : same * p - p * q;
        }
    }
    free(f.data);
    return lam;
}

/* sum_i J_i' Lam_i J_i */
static far_mat curvature(const far_net *net, const far_mat *x, const far_laplace_opts *o)
{
    far_mat j = jacobian(net, x), lam = curvatures(net, x, o), h = matrix(j.cols, j.cols);
    int64_t c = lam.cols, p = j.cols;
    for (int64_t k = 0; k < x->rows * c * c; k++) {
        int64_t i = k / (c * c), a = k / c % c, b = k % c;
        for (int64_t r = 0; r < p * p; r++) {
            *at(&h, r / p, r % p) +=
                *at(&lam, i * c + a, b) * *at(&j, i * c + a, r / p) * *at(&j, i * c + b, r % p);
        }
    }
    free(j.data);
    free(lam.data);
    return h;
}

/* Which layer a parameter is of, and of a dense one its input (the bias: as many as there are) and
 * its unit. */
typedef struct place {
    int64_t layer, input, unit, inputs, units;
    bool dense;
} place;

static place *places(far_net *net)
{
    far_net_info info = far_net_describe(net);
    place *all = calloc((size_t)info.parameters, sizeof *all);
    int64_t inputs = 0;
    for (int64_t i = 0; i < info.tensors; i++) {
        far_net_tensor_info t = far_net_tensor(net, i);
        inputs = t.vector ? inputs : t.values.cols;
        bool dense = !t.vector || (i > 0 && !far_net_tensor(net, i - 1).vector);
        for (int64_t k = 0; t.parameter >= 0 && k < t.values.rows * t.values.cols; k++) {
            int64_t units = t.vector ? t.values.cols : t.values.rows;
            all[t.parameter + k] = (place){.layer = t.layer,
                                           .input = t.vector ? inputs : k % inputs,
                                           .unit = t.vector ? k : k / inputs,
                                           .inputs = inputs + 1,
                                           .units = units,
                                           .dense = dense};
        }
    }
    return all;
}

/* The two factors of a dense layer, from its rows of the Jacobian: the bias has D, and the weights
 * a times D. */
typedef struct factors {
    far_mat a, b;
} factors;

static factors factors_of(const far_net *net, const place *where, int64_t layer, const far_mat *x,
                          const far_laplace_opts *o)
{
    far_mat j = jacobian(net, x), lam = curvatures(net, x, o);
    int64_t c = lam.cols, inputs = 0, units = 0;
    for (int64_t q = 0; q < j.cols; q++) {
        inputs = where[q].layer == layer ? where[q].inputs : inputs;
        units = where[q].layer == layer ? where[q].units : units;
    }
    factors f = {matrix(inputs, inputs), matrix(units, units)};
    double *h = calloc((size_t)inputs, sizeof *h), *d = calloc((size_t)(c * units), sizeof *d);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t q = 0; q < j.cols; q++) {
            for (int64_t k = 0; where[q].layer == layer && where[q].input == inputs - 1 && k < c;
                 k++) {
                d[k * units + where[q].unit] = *at(&j, i * c + k, q);
            }
        }
        h[inputs - 1] = 1;
        for (int64_t q = 0; q < j.cols; q++) {
            for (int64_t k = 0; where[q].layer == layer && where[q].input < inputs - 1 && k < c;
                 k++) {
                double slope = d[k * units + where[q].unit];
                h[where[q].input] =
                    fabs(slope) > 1e-9 ? *at(&j, i * c + k, q) / slope : h[where[q].input];
            }
        }
        for (int64_t k = 0; k < inputs * inputs; k++) {
            *at(&f.a, k / inputs, k % inputs) += h[k / inputs] * h[k % inputs] / (double)x->rows;
        }
        for (int64_t k = 0; k < units * units; k++) {
            for (int64_t e = 0; e < c * c; e++) {
                *at(&f.b, k / units, k % units) += *at(&lam, i * c + e / c, e % c) *
                                                   d[e / c * units + k / units] *
                                                   d[e % c * units + k % units];
            }
        }
    }
    free(h);
    free(d);
    free(j.data);
    free(lam.data);
    return f;
}

/* What the method makes of the curvature. */
static void simplify(far_net *net, const far_mat *x, const far_laplace_opts *o, far_mat *h)
{
    place *where = places(net);
    int64_t layers = far_net_describe(net).layers;
    for (int64_t layer = 0; layer < layers; layer++) {
        factors f = {0};
        for (int64_t r = 0; r < h->rows; r++) {
            if (o->method == FAR_LAPLACE_KFAC && where[r].layer == layer && where[r].dense &&
                !f.a.data) {
                f = factors_of(net, where, layer, x, o);
            }
            for (int64_t q = 0; where[r].layer == layer && q < h->rows; q++) {
                bool same = where[q].layer == layer;
                if (o->method == FAR_LAPLACE_DIAGONAL) {
                    *at(h, r, q) *= r == q;
                } else if (o->method == FAR_LAPLACE_KFAC) {
                    *at(h, r, q) = !same      ? 0
                                   : f.a.data ? *at(&f.a, where[r].input, where[q].input) *
                                                    *at(&f.b, where[r].unit, where[q].unit)
                                              : *at(h, r, q);
                }
            }
        }
        free(f.a.data);
        free(f.b.data);
    }
    free(where);
}

/* Solves a b = c by Gauss's elimination, b in place of c; a is lost. */
static void solve(far_mat *a, far_mat *b)
{
    for (int64_t k = 0; k < a->rows; k++) {
        for (int64_t i = 0; i < a->rows; i++) {
            double factor = *at(a, i, k) / *at(a, k, k);
            for (int64_t j = 0; i != k && j < a->rows; j++) {
                *at(a, i, j) -= factor * *at(a, k, j);
            }
            for (int64_t j = 0; i != k && j < b->cols; j++) {
                *at(b, i, j) -= factor * *at(b, k, j);
            }
        }
    }
    for (int64_t i = 0; i < b->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            *at(b, i, j) /= *at(a, i, i);
        }
    }
}

/* Weights that do not count are certain: as if their prior variance were next to nothing. */
static far_mat reference(far_net *net, const far_mat *x, const far_mat *x2,
                         const far_laplace_opts *o)
{
    int64_t c = far_net_describe(net).outputs, last = far_net_describe(net).layers - 1;
    far_mat h = curvature(net, x, o), j = jacobian(net, x2), turned = matrix(j.cols, j.rows);
    far_mat out = matrix(j.rows, c);
    place *where = places(net);
    bool one = o->method == FAR_LAPLACE_LAST_LAYER;
    simplify(net, x, o, &h);
    for (int64_t r = 0; r < h.rows; r++) {
        *at(&h, r, r) += 1 / o->prior;
        for (int64_t q = 0; one && where[r].layer != last && q < h.rows; q++) {
            *at(&h, r, q) = r == q;
        }
        for (int64_t k = 0; k < j.rows; k++) {
            bool counts = !one || where[r].layer == last;
            *at(&turned, r, k) = counts ? *at(&j, k, r) : 0;
            *at(&j, k, r) *= counts;
        }
    }
    for (int64_t r = 0; one && r < h.rows; r++) {
        for (int64_t q = 0; where[r].layer == last && q < h.rows; q++) {
            *at(&h, r, q) *= where[q].layer == last;
        }
    }
    solve(&h, &turned);
    for (int64_t k = 0; k < j.rows * c; k++) {
        int64_t row = k / c, col = row / c * c + k % c;
        for (int64_t r = 0; r < h.rows; r++) {
            *at(&out, row, k % c) += *at(&j, row, r) * *at(&turned, r, col);
        }
    }
    free(where);
    far_mat *owned[] = {&h, &j, &turned};
    release(owned, COUNT(owned));
    return out;
}

static void posteriors_are_what_they_are_called(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(CASES) * COUNT(METHODS); k++) {
        int a = k / COUNT(METHODS);
        far_net *net = network(CASES[a].arch, D, 5);
        far_mat x = points(N, D, 0.1), x2 = points(M, D, 0.9);
        far_laplace_opts o = options(METHODS[k % COUNT(METHODS)], CASES[a].likelihood);
        far_mat wanted = reference(net, &x, &x2, &o), got = matrix(wanted.rows, wanted.cols);
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, la, &x2, NULL, &got));
        double gap = distance(&got, &wanted);
        if (gap > 1e-10) {
            fail_msg("%s, method %d: %g apart", CASES[a].arch, (int)o.method, gap);
        }
        /* another prior needs no pass over the data */
        o.prior = 3;
        far_mat other = reference(net, &x, &x2, &o);
        must(far_laplace_set(ctx, la, 0, o.prior, -1));
        must(far_laplace_predict(ctx, la, &x2, NULL, &got));
        assert_true(distance(&got, &other) < 1e-10);
        assert_int_equal(far_laplace_describe(la).system, FAR_LAPLACE_BLOCKS);
        far_laplace_destroy(la);
        far_mat *owned[] = {&x, &x2, &wanted, &other, &got};
        release(owned, COUNT(owned));
        far_net_destroy(net);
    }
}

/* Images and sequences: the exact posterior (of rows and of parameters), ELLA with all the features
 * there are, the diagonal, the last layer. */
static void positions_have_posteriors(void **state)
{
    (void)state;
    static const char *const NETS[] = {
        "image(1x2x3) conv(2, 2, pad=1) tanh ln(affine) maxpool(2) flatten dense(2)",
        "sequence(3x2) dense(2) position attention(1, causal) rms(affine) last dense(2)"};
    static const far_laplace_method WAYS[] = {FAR_LAPLACE_EXACT, FAR_LAPLACE_EXACT,
                                              FAR_LAPLACE_ELLA, FAR_LAPLACE_DIAGONAL,
                                              FAR_LAPLACE_LAST_LAYER};
    for (int k = 0; k < COUNT(NETS) * COUNT(WAYS); k++) {
        int way = k % COUNT(WAYS);
        far_net *net = network(NETS[k / COUNT(WAYS)], 6, 5);
        far_mat x = points(9, 6, 0.1), x2 = points(4, 6, 0.9);
        far_laplace_opts o = options(WAYS[way], FAR_LIKELIHOOD_SOFTMAX);
        o.system = way == 0 ? FAR_LAPLACE_PARAMETERS : way == 1 ? FAR_LAPLACE_ROWS : o.system;
        o.landmarks = o.rank = 18; /* every row and output */
        o.residual_prior = true;
        far_mat wanted = reference(net, &x, &x2, &o), got = matrix(wanted.rows, wanted.cols);
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, la, &x2, NULL, &got));
        double gap = distance(&got, &wanted);
        if (gap > 1e-9) {
            fail_msg("%s, way %d: %g apart", NETS[k / COUNT(WAYS)], way, gap);
        }
        far_laplace_destroy(la);
        far_mat *owned[] = {&x, &x2, &wanted, &got};
        release(owned, COUNT(owned));
        far_net_destroy(net);
    }
}

/* ---- KFAC at several positions ------------------------------------------------------------- */

/* A layer, tanh, flatten and dense(2), whose factors can be written down. */
typedef struct sight {
    const char *arch;
    int64_t positions, inputs, units, bias; /* inputs: without bias, 1 or 0 */
    void (*look)(const double *x, int64_t position, double *a);
    bool by_unit; /* flattened: a unit at all positions, then the next */
    int64_t rank; /* of lora, or 0 */
    double scale; /* alpha / rank */
} sight;

/* What has factors of its own: the layer, or with lora A and B. */
typedef enum part { LAYER, PART_A, PART_B } part;

static void see_sequence(const double *x, int64_t position, double *a)
{
    memcpy(a, x + 2 * position, 2 * sizeof *a);
}

static void see_token(const double *x, int64_t position, double *a)
{
    for (int64_t v = 0; v < 5; v++) {
        a[v] = x[position] == (double)v;
    }
}

/* conv(3, 2, pad=1, stride=2) of 2x3x2 pixels: 2 x 2 places. */
static void see_window(const double *x, int64_t position, double *a)
{
    for (int64_t k = 0; k < 8; k++) {
        int64_t channel = k / 4, y = position / 2 * 2 - 1 + k / 2 % 2;
        int64_t col = position % 2 * 2 - 1 + k % 2;
        bool inside = y >= 0 && y < 3 && col >= 0 && col < 2;
        a[k] = inside ? x[channel * 6 + y * 2 + col] : 0;
    }
}

static const sight SIGHTS[] = {
    {"sequence(3x2) dense(4) tanh flatten dense(2)", 3, 2, 4, 1, see_sequence, false, 0, 0},
    {"tokens(3, 5) embed(4) tanh flatten dense(2)", 3, 5, 4, 0, see_token, false, 0, 0},
    {"image(2x3x2) conv(3, 2, pad=1, stride=2) tanh flatten dense(2)", 4, 8, 3, 1, see_window, true,
     0, 0},
    {"dense(4, lora=2) tanh dense(2)", 1, 2, 4, 0, see_sequence, false, 2, 1},
    {"sequence(3x2) dense(4, lora=3, alpha=2) tanh flatten dense(2)", 3, 2, 4, 0, see_sequence,
     false, 3, 2.0 / 3},
    {"image(2x3x2) conv(3, 2, pad=1, stride=2, lora=2, alpha=3) tanh flatten dense(2)", 4, 8, 3, 0,
     see_window, true, 2, 1.5},
};

static far_net_tensor_info named(far_net *net, const char *ending)
{
    for (int64_t i = 0; i < far_net_describe(net).tensors; i++) {
        const char *name = far_net_tensor(net, i).name;
        if (strlen(name) > strlen(ending) &&
            strcmp(name + strlen(name) - strlen(ending), ending) == 0) {
            return far_net_tensor(net, i);
        }
    }
    fail_msg("no tensor ends with %s", ending);
    return far_net_tensor(net, 0);
}

/* Weight (input, unit), by its place among the parameters; input `inputs`: the bias. */
static int64_t parameter_of(far_net *net, const sight *s, part of, int64_t input, int64_t unit)
{
    return of == PART_A         ? named(net, ".lora_A.weight").parameter + unit * s->inputs + input
           : of == PART_B       ? named(net, ".lora_B.weight").parameter + unit * s->rank + input
           : input == s->inputs ? s->inputs * s->units + unit
           : s->look == see_token ? input * s->units + unit /* a table */
                                  : unit * s->inputs + input;
}

/* With lora: W, A and B, rows one after another. */
static double merged(far_net *net, const sight *s, int64_t input, int64_t unit)
{
    far_mat w = named(net, ".weight").values;
    const double *a = named(net, ".lora_A.weight").values.data;
    const double *b = named(net, ".lora_B.weight").values.data;
    double sum = ((const double *)w.data)[unit * s->inputs + input];
    for (int64_t k = 0; k < s->rank; k++) {
        sum += s->scale * b[unit * s->rank + k] * a[k * s->inputs + input];
    }
    return sum;
}

/* a: the inputs and 1; h: tanh of what the layer gives. */
static void run_position(far_net *net, const sight *s, const double *x, int64_t position, double *a,
                         double *h)
{
    const double *w = far_net_parameters(net).data;
    s->look(x, position, a);
    a[s->inputs] = 1;
    for (int64_t u = 0; u < s->units; u++) {
        double z = s->rank > 0 ? ((double *)named(net, ".bias").values.data)[u] : 0;
        for (int64_t p = 0; p < s->inputs + s->bias; p++) {
            z += a[p] * (s->rank > 0 ? merged(net, s, p, u) : w[parameter_of(net, s, LAYER, p, u)]);
        }
        h[u] = tanh(z);
    }
}

static int64_t inputs_of(const sight *s, part of)
{
    return of == PART_B ? s->rank : s->inputs + s->bias;
}

static int64_t units_of(const sight *s, part of)
{
    return of == PART_A ? s->rank : s->units;
}

/* From the layer's inputs and gradients to those of A or B. */
static void see_part(far_net *net, const sight *s, part of, double *in, double d[2][4])
{
    const double *a = of == LAYER ? NULL : named(net, ".lora_A.weight").values.data;
    const double *b = of == LAYER ? NULL : named(net, ".lora_B.weight").values.data;
    double seen[4] = {0}, back[2][4] = {{0}};
    for (int64_t k = 0; k < s->rank; k++) {
        for (int64_t p = 0; p < s->inputs; p++) {
            seen[k] += s->scale * a[k * s->inputs + p] * in[p];
        }
        for (int64_t e = 0; e < 2 * s->units; e++) {
            back[e % 2][k] += s->scale * b[e / 2 * s->rank + k] * d[e % 2][e / 2];
        }
    }
    if (of == PART_A) {
        memcpy(d, back, sizeof back);
    } else if (of == PART_B) {
        memcpy(in, seen, sizeof seen);
    }
}

/* h[(p, u), (q, v)] = a_pq b_uv of the layer. */
static void fill_block(far_net *net, const sight *s, part of, const double *a, const double *b,
                       far_mat *h)
{
    int64_t units = units_of(s, of), side = inputs_of(s, of) * units;
    for (int64_t k = 0; k < side * side; k++) {
        int64_t r = k / side, c = k % side, p = r / units, q = c / units;
        *at(h, parameter_of(net, s, of, p, r % units), parameter_of(net, s, of, q, c % units)) =
            a[p * 9 + q] * b[r % units * 4 + c % units];
    }
}

/* The last layer's weights, whose bias follows. */
static int64_t last_parameter(far_net *net)
{
    return far_net_tensor(net, far_net_describe(net).tensors - 2).parameter;
}

/* 1/(N R) sum a a' and sum D' Lam D over points and positions. */
static void sum_positions(far_net *net, const sight *s, part of, const far_mat *x,
                          const far_mat *lam, double *a, double *b)
{
    int64_t flat = s->positions * s->units, inputs = inputs_of(s, of), units = units_of(s, of);
    const double *w = (double *)far_net_parameters(net).data + last_parameter(net);
    for (int64_t k = 0; k < x->rows * s->positions; k++) {
        double in[9], h[4], d[2][4];
        int64_t i = k / s->positions, r = k % s->positions;
        run_position(net, s, at(x, i, 0), r, in, h);
        for (int64_t u = 0; u < s->units; u++) {
            int64_t at_flat = s->by_unit ? u * s->positions + r : r * s->units + u;
            d[0][u] = w[at_flat] * (1 - h[u] * h[u]);
            d[1][u] = w[flat + at_flat] * (1 - h[u] * h[u]);
        }
        see_part(net, s, of, in, d);
        for (int64_t e = 0; e < 81; e++) {
            bool inside = e / 9 < inputs && e % 9 < inputs;
            a[e] += inside ? in[e / 9] * in[e % 9] / (double)(x->rows * s->positions) : 0;
        }
        for (int64_t e = 0; e < 16 * 4; e++) {
            int64_t u = e / 16, v = e / 4 % 4, c = e / 2 % 2, o = e % 2;
            bool inside = u < units && v < units;
            b[u * 4 + v] += inside ? *at(lam, 2 * i + c, o) * d[c][u] * d[o][v] : 0;
        }
    }
}

/* The curvature of the layer as KFAC has it; of the last one too, a block by itself. */
static far_mat factored(far_net *net, const sight *s, const far_mat *x, const far_laplace_opts *o)
{
    far_mat lam = curvatures(net, x, o), j = jacobian(net, x), h = matrix(j.cols, j.cols);
    int64_t first = last_parameter(net), flat = s->positions * s->units;
    for (part of = s->rank > 0 ? PART_A : LAYER; of <= (s->rank > 0 ? PART_B : LAYER); of++) {
        double a[81] = {0}, b[16] = {0};
        sum_positions(net, s, of, x, &lam, a, b);
        fill_block(net, s, of, a, b, &h);
    }
    for (int64_t k = 0; k < 4 * (flat + 1) * (flat + 1);
         k++) { /* of output 0 the inputs are rows */
        int64_t p = k / 4 / (flat + 1), q = k / 4 % (flat + 1), u = k / 2 % 2, v = k % 2;
        double inputs = 0, curved = 0;
        for (int64_t i = 0; i < x->rows; i++) {
            double left = p < flat ? *at(&j, 2 * i, first + p) : 1;
            double right = q < flat ? *at(&j, 2 * i, first + q) : 1;
            inputs += left * right / (double)x->rows;
            curved += *at(&lam, 2 * i + u, v);
        }
        int64_t row = p < flat ? u * flat + p : 2 * flat + u;
        int64_t col = q < flat ? v * flat + q : 2 * flat + v;
        *at(&h, first + row, first + col) = inputs * curved;
    }
    free(lam.data);
    free(j.data);
    return h;
}

static void positions_have_kronecker_factors(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(SIGHTS); k++) {
        const sight *s = &SIGHTS[k];
        int64_t width = s->look == see_window ? 12 : s->look == see_token ? 3 : 2 * s->positions;
        far_net *net = network(s->arch, width, 5);
        far_mat b = {0};
        b = s->rank > 0 ? named(net, ".lora_B.weight").values : b;
        for (int64_t i = 0; i < b.rows * b.cols; i++) { /* which start at 0 */
            ((double *)b.data)[i] = 0.4 * cos(3.7 * (double)i);
        }
        far_mat x = points(7, width, 0.1), x2 = points(4, width, 0.9);
        for (int64_t i = 0; s->look == see_token && i < 11 * width; i++) {
            double *value = i < 7 * width ? at(&x, 0, i) : at(&x2, 0, i - 7 * width);
            *value = (double)(i * i % 5);
        }
        far_laplace_opts o = options(FAR_LAPLACE_KFAC, FAR_LIKELIHOOD_SOFTMAX);
        far_mat h = factored(net, s, &x, &o), j = jacobian(net, &x2);
        far_mat turned = matrix(j.cols, j.rows), wanted = matrix(8, 2), got = matrix(8, 2);
        for (int64_t r = 0; r < h.rows; r++) {
            *at(&h, r, r) += 1 / o.prior;
            for (int64_t i = 0; i < j.rows; i++) {
                *at(&turned, r, i) = *at(&j, i, r);
            }
        }
        solve(&h, &turned);
        for (int64_t i = 0; i < 16 * h.rows; i++) {
            int64_t row = i / 2 % 8, col = row / 2 * 2 + i % 2;
            *at(&wanted, row, i % 2) += *at(&j, row, i / 16) * *at(&turned, i / 16, col);
        }
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, la, &x2, NULL, &got));
        if (distance(&got, &wanted) > 1e-10) {
            fail_msg("%s: %g apart", s->arch, distance(&got, &wanted));
        }
        far_laplace_destroy(la);
        far_mat *owned[] = {&x, &x2, &h, &j, &turned, &wanted, &got};
        release(owned, COUNT(owned));
        far_net_destroy(net);
    }
}

/* Every layer of a transformer has factors, also where the engine runs the last position alone; a
 * covariance does not depend on how many points are treated at a time. */
static void transformers_have_factors(void **state)
{
    (void)state;
    static const char *const NETS[] = {
        "tokens(5, 7) embed(4) position skip(ln(affine) attention(2, causal)) "
        "skip(ln(affine) dense(6) gelu dense(4)) last dense(3)",
        "image(1x4x4) conv(3, 3, pad=1) batchnorm(affine) relu maxpool(2) conv(2, 2) gap dense(3)",
        "tokens(5, 7) embed(4) position skip(ln(affine) attention(2, causal, lora=2)) "
        "skip(dense(6, lora=3) gelu dense(4)) last dense(3, lora=1)"};
    for (int k = 0; k < COUNT(NETS); k++) {
        int64_t width = k == 1 ? 16 : 5;
        far_net *net = network(NETS[k], width, 5);
        far_mat all = far_net_parameters(net);
        for (int64_t i = 0; k == 2 && i < all.cols; i++) { /* B starts at 0 */
            *at(&all, 0, i) += 0.1 * cos(3.7 * (double)i);
        }
        far_mat x = points(97, width, 0.1), a = matrix(291, 3), b = matrix(291, 3),
                c = matrix(3, 3);
        for (int64_t i = 0; k != 1 && i < 97 * width; i++) {
            *at(&x, 0, i) = (double)(i * i % 7);
        }
        far_laplace_opts o = options(FAR_LAPLACE_KFAC, FAR_LIKELIHOOD_SOFTMAX);
        far_laplace *la = fitted(net, &x, &o);
        o.memory = 1e6; /* a few rows at a time */
        far_laplace *parts = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, la, &x, NULL, &a));
        must(far_laplace_predict(ctx, parts, &x, NULL, &b));
        assert_true(distance(&b, &a) < 1e-11);
        must(far_laplace_set(ctx, la, 0, 1e-9, -1)); /* a prior that decides: s0^2 J J' */
        far_mat one = x, j = jacobian(net, &one);
        one.rows = 1;
        must(far_laplace_predict(ctx, la, &one, NULL, &c));
        for (int64_t i = 0; i < 9; i++) {
            double sum = 0;
            for (int64_t p = 0; p < j.cols; p++) {
                sum += 1e-9 * *at(&j, i / 3, p) * *at(&j, i % 3, p);
            }
            assert_near(*at(&c, i / 3, i % 3) / 1e-9, sum / 1e-9, 1e-6 * (1 + fabs(sum) / 1e-9));
        }
        far_laplace_destroy(la);
        far_laplace_destroy(parts);
        far_mat *owned[] = {&x, &a, &b, &c, &j};
        release(owned, COUNT(owned));
        far_net_destroy(net);
    }
}

/* Of one layer that is all there is, KFAC of one row and the last layer are the exact posterior. */
static void exact_where_they_can_be(void **state)
{
    (void)state;
    far_net *net = network("dense(3)", D, 2);
    far_mat x = points(1, D, 0.3), x2 = points(M, D, 0.9), a = matrix(3 * M, 3),
            b = matrix(3 * M, 3);
    far_laplace_opts o = options(FAR_LAPLACE_EXACT, FAR_LIKELIHOOD_SOFTMAX);
    far_laplace *exact = fitted(net, &x, &o);
    must(far_laplace_predict(ctx, exact, &x2, NULL, &a));
    for (o.method = FAR_LAPLACE_KFAC; o.method <= FAR_LAPLACE_LAST_LAYER; o.method++) {
        far_laplace *la = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, la, &x2, NULL, &b));
        assert_true(distance(&b, &a) < 1e-12);
        assert_near(far_laplace_describe(la).effective, far_laplace_describe(exact).effective,
                    1e-9);
        far_laplace_destroy(la);
    }
    far_laplace_destroy(exact);
    far_mat *owned[] = {&x, &x2, &a, &b};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* So many rows that they come in several chunks, and points that do. */
static void the_last_layer_of_many_rows_is_exact(void **state)
{
    (void)state;
    static const int32_t likelihoods[] = {FAR_LIKELIHOOD_SOFTMAX, FAR_LIKELIHOOD_GAUSSIAN};
    far_net *net = network("dense(5)", 7, 2);
    far_mat x = points(1031, 7, 0.3), x2 = points(131, 7, 0.9), a = matrix(5 * 131, 5),
            b = matrix(5 * 131, 5);
    for (int k = 0; k < COUNT(likelihoods); k++) {
        far_laplace_opts o = options(FAR_LAPLACE_EXACT, likelihoods[k]);
        far_laplace *exact = fitted(net, &x, &o);
        o.method = FAR_LAPLACE_LAST_LAYER;
        far_laplace *last = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, exact, &x2, NULL, &a));
        must(far_laplace_predict(ctx, last, &x2, NULL, &b));
        assert_true(distance(&b, &a) < 1e-12);
        far_laplace_destroy(exact);
        far_laplace_destroy(last);
    }
    far_mat *owned[] = {&x, &x2, &a, &b};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* ---- choosing ------------------------------------------------------------------------------ */

static void priors_are_scored_as_they_predict(void **state)
{
    (void)state;
    double priors[] = {0.01, 1, 30}, nll[3];
    far_net *net = network("dense(5) tanh dense(2)", D, 5);
    far_mat x = points(N, D, 0.1), v = points(M, D, 0.9), y = points(M, 2, 0.2);
    far_mat mean = matrix(M, 2), cov = matrix(2 * M, 2);
    for (int k = 0; k < COUNT(METHODS); k++) {
        far_laplace_opts o = options(METHODS[k], FAR_LIKELIHOOD_GAUSSIAN);
        far_laplace *la = fitted(net, &x, &o);
        far_laplace_choice choice;
        far_laplace_grid g;
        g = (far_laplace_grid){.size = sizeof g};
        g.priors = priors;
        g.prior_count = COUNT(priors);
        g.nll = nll;
        must(far_laplace_choose(ctx, la, &v, NULL, &y, &g, &choice));
        double best = fmin(fmin(nll[0], nll[1]), nll[2]);
        assert_near(choice.nll, best, 0);
        assert_near(far_laplace_describe(la).prior, choice.prior, 0);
        for (int p = 0; p < COUNT(priors); p++) {
            far_gauss_score s;
            must(far_laplace_set(ctx, la, 0, priors[p], -1));
            must(far_laplace_predict(ctx, la, &v, &mean, &cov));
            must(far_gauss_scores(ctx, &mean, &cov, &y, o.noise, &s));
            assert_near(nll[p], s.nll, 1e-10);
        }
        far_laplace_destroy(la);
    }
    far_mat *owned[] = {&x, &v, &y, &mean, &cov};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

/* Laplace's approximation by the determinant of what the method takes the curvature to be. */
static double laplace_evidence(far_net *net, const far_mat *x, const far_mat *y, far_laplace_opts o,
                               double prior, double noise)
{
    o.noise = noise;
    far_mat h = curvature(net, x, &o), p = far_net_parameters(net), f = matrix(x->rows, y->cols);
    double sum = (double)(x->rows * y->cols) * log(2 * acos(-1) * noise);
    simplify(net, x, &o, &h);
    must(far_net_eval(ctx, net, x, &f));
    for (int64_t i = 0; i < x->rows * y->cols; i++) {
        double gap = ((double *)y->data)[i] - ((double *)f.data)[i];
        sum += gap * gap / noise;
    }
    for (int64_t k = 0; k < h.rows; k++) {
        sum += *at(&p, 0, k) * *at(&p, 0, k) / prior;
        for (int64_t q = 0; q < h.rows; q++) {
            *at(&h, k, q) = prior * *at(&h, k, q) + (k == q);
        }
    }
    for (int64_t k = 0; k < h.rows; k++) {
        sum += log(*at(&h, k, k));
        for (int64_t i = k + 1; i < h.rows; i++) {
            double factor = *at(&h, i, k) / *at(&h, k, k);
            for (int64_t q = k; q < h.rows; q++) {
                *at(&h, i, q) -= factor * *at(&h, k, q);
            }
        }
    }
    free(h.data);
    free(f.data);
    return -sum / 2;
}

static void tuned_by_laplaces_approximation(void **state)
{
    (void)state;
    far_net *net = network("dense(4) tanh dense(2)", D, 3);
    far_mat x = points(N, D, 5), y = points(N, 2, 6);
    for (int k = 0; k < 2; k++) {
        far_laplace_opts o = options(METHODS[k], FAR_LIKELIHOOD_GAUSSIAN);
        far_laplace *la = fitted(net, &x, &o);
        far_laplace_evidence e;
        must(far_laplace_tune(ctx, la, &x, &y, 0, &e));
        double best = laplace_evidence(net, &x, &y, o, e.prior, e.noise);
        assert_near(e.log_evidence, best, 1e-8);
        for (int way = 0; way < 3; way++) { /* the noise is at least what the network leaves */
            double prior = way < 2 ? e.prior * (way ? 1.1 : 1 / 1.1) : e.prior;
            double noise = way < 2 ? e.noise : 1.1 * e.noise;
            assert_true(laplace_evidence(net, &x, &y, o, prior, noise) <= best + 1e-9);
        }
        /* fitted with that noise it is the same */
        o.noise = e.noise;
        o.prior = e.prior;
        far_laplace *again = fitted(net, &x, &o);
        far_mat a = matrix(2 * N, 2), b = matrix(2 * N, 2);
        must(far_laplace_predict(ctx, la, &x, NULL, &a));
        must(far_laplace_predict(ctx, again, &x, NULL, &b));
        assert_true(distance(&a, &b) < 1e-10);
        far_laplace_destroy(la);
        far_laplace_destroy(again);
        free(a.data);
        free(b.data);
    }
    free(x.data);
    free(y.data);
    far_net_destroy(net);
}

/* A network whose last layer is its one layer, and one that has others: the same as exact of it. */
static void the_last_layer_is_tuned_by_itself(void **state)
{
    (void)state;
    far_net *net = network("dense(4) tanh dense(1)", D, 3), *head = network("dense(1)", 4, 8);
    far_mat x = points(N, D, 5), y = points(N, 1, 6), j = jacobian(net, &x), h = matrix(N, 4);
    far_net_info info = far_net_describe(net);
    for (int64_t i = info.tensors - 2; i < info.tensors; i++) {
        far_net_tensor_info from = far_net_tensor(net, i),
                            to = far_net_tensor(head, i - info.tensors + 2);
        for (int64_t k = 0; k < from.values.cols; k++) {
            ((double *)to.values.data)[k] = ((double *)from.values.data)[k];
            for (int64_t r = 0; r < N && !from.vector; r++) {
                *at(&h, r, k) = *at(&j, r, from.parameter + k);
            }
        }
    }
    far_laplace_opts o = options(FAR_LAPLACE_LAST_LAYER, FAR_LIKELIHOOD_GAUSSIAN);
    far_laplace *last = fitted(net, &x, &o);
    o.method = FAR_LAPLACE_EXACT;
    far_laplace *exact = fitted(head, &h, &o);
    far_laplace_evidence a, b;
    must(far_laplace_tune(ctx, last, &x, &y, 0, &a));
    must(far_laplace_tune(ctx, exact, &h, &y, 0, &b));
    assert_near(a.log_evidence, b.log_evidence, 1e-8);
    assert_near(a.prior / b.prior, 1, 1e-3);
    assert_near(a.noise / b.noise, 1, 1e-3);
    far_laplace_destroy(last);
    far_laplace_destroy(exact);
    far_mat *owned[] = {&x, &y, &j, &h};
    release(owned, COUNT(owned));
    far_net_destroy(net);
    far_net_destroy(head);
}

/* Of many points the last layer's covariances come from the inverse of the factor, of one from the
 * factor; means are the network's, also of a linearised one, whose tangents are elsewhere. */
static void many_points_are_as_one_by_one(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * COUNT(CASES); k++) {
        far_net *net = network(CASES[k / 2].arch, D, 5);
        int64_t c = far_net_describe(net).outputs, count = 127;
        far_mat x = points(N, D, 0.1), x2 = points(count, D, 0.9), values = matrix(count, c);
        far_mat mean = matrix(count, c), got = matrix(count * c, c), one = matrix(c, c);
        if (k % 2 == 1) {
            must(far_net_linearize(ctx, net));
            *(double *)far_net_tensor(net, 0).values.data += 0.5;
        }
        far_laplace_opts o = options(FAR_LAPLACE_LAST_LAYER, CASES[k / 2].likelihood);
        far_laplace *la = fitted(net, &x, &o);
        must(far_net_eval(ctx, net, &x2, &values));
        must(far_laplace_predict(ctx, la, &x2, &mean, &got));
        assert_memory_equal(mean.data, values.data, (size_t)(count * c) * sizeof(double));
        for (int64_t i = 0; i < count; i++) {
            far_mat row = far_mat_view(at(&x2, i, 0), 1, D, FAR_F64);
            far_mat block = far_mat_view(at(&got, i * c, 0), c, c, FAR_F64);
            must(far_laplace_predict(ctx, la, &row, NULL, &one));
            assert_true(distance(&block, &one) < 1e-12);
        }
        far_laplace_destroy(la);
        far_mat *owned[] = {&x, &x2, &values, &mean, &got, &one};
        release(owned, COUNT(owned));
        far_net_destroy(net);
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

static void rows_can_come_in_chunks(void **state)
{
    (void)state;
    far_net *net = network("dense(70) tanh dense(3)", 29, 5);
    far_mat x = points(23, 29, 0.1), a = matrix(69, 3), b = matrix(69, 3);
    for (int k = 0; k < COUNT(METHODS); k++) {
        far_laplace_opts o = options(METHODS[k], FAR_LIKELIHOOD_SOFTMAX);
        far_laplace *whole = fitted(net, &x, &o);
        o.memory = 1e7; /* 22 rows at a time, of the last layer all */
        far_laplace *parts = fitted(net, &x, &o);
        must(far_laplace_predict(ctx, whole, &x, NULL, &a));
        must(far_laplace_predict(ctx, parts, &x, NULL, &b));
        assert_true(distance(&b, &a) < 1e-11);
        o.memory = 1000;
        far_laplace *none;
        refused(far_laplace_fit(ctx, net, &x, &o, &none), FAR_ERR_BUDGET, "the approximation");
        far_laplace_destroy(whole);
        far_laplace_destroy(parts);
    }
    far_mat *owned[] = {&x, &a, &b};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    far_net *net = network("dense(4) tanh dense(2)", D, 3);
    far_mat x = points(N, D, 5);
    int64_t rank = 1;
    far_laplace_opts o = options(FAR_LAPLACE_KFAC, FAR_LIKELIHOOD_SOFTMAX);
    far_laplace *la = fitted(net, &x, &o), *ella, *none;
    far_nystrom_error e;
    far_laplace_grid g;
    int64_t labels[N] = {0};
    g = (far_laplace_grid){.size = sizeof g};
    g.ranks = &rank;
    g.rank_count = 1;
    refused(far_laplace_set(ctx, la, 1, 1, -1), FAR_ERR_ARG, "no rank");
    refused(far_laplace_set(ctx, la, 0, NAN, 1), FAR_ERR_ARG, "only ELLA");
    refused(far_laplace_choose(ctx, la, &x, labels, NULL, &g, NULL), FAR_ERR_ARG, "only ELLA");
    o.method = FAR_LAPLACE_ELLA;
    ella = fitted(net, &x, &o);
    refused(far_laplace_nystrom(ctx, ella, la, &x, &e), FAR_ERR_ARG, "`exact` exact");
    o.method = 5;
    refused(far_laplace_fit(ctx, net, &x, &o, &none), FAR_ERR_ARG, "no far_laplace_method");
    far_laplace_destroy(la);
    far_laplace_destroy(ella);
    free(x.data);
    far_net_destroy(net);
}

static far_status use(const far_net *net, const far_mat *x, const far_mat *y,
                      const far_laplace_opts *o, far_mat *cov)
{
    far_laplace *la = NULL;
    far_status st = far_laplace_fit(ctx, net, x, o, &la);
    st = st == FAR_OK ? far_laplace_tune(ctx, la, x, y, 0, NULL) : st;
    st = st == FAR_OK ? far_laplace_choose(ctx, la, x, NULL, y, NULL, NULL) : st;
    st = st == FAR_OK ? far_laplace_predict(ctx, la, x, NULL, cov) : st;
    far_laplace_destroy(la);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    use_one_thread();
    far_mat x = points(M, D, 0.1), y = points(M, 2, 0.4), cov = matrix(2 * M, 2);
    far_net *net = network("dense(3, lora=2) ln(affine) tanh dense(2)", D, 5);
    int64_t blocks = test_heap.live_blocks;
    for (int k = 0; k < COUNT(METHODS); k++) {
        far_laplace_opts o = options(METHODS[k], FAR_LIKELIHOOD_GAUSSIAN);
        far_status st = FAR_ERR_MEMORY;
        for (int i = 0; st != FAR_OK; i += st == FAR_OK || i < 200 ? 1 : 7) {
            test_heap.fail_at = test_heap.calls + i;
            st = use(net, &x, &y, &o, &cov);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(test_heap.live_blocks, blocks);
            assert_true(i < 9000);
        }
    }
    far_mat *owned[] = {&x, &y, &cov};
    release(owned, COUNT(owned));
    far_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(posteriors_are_what_they_are_called),
        TEST(positions_have_posteriors),
        TEST(positions_have_kronecker_factors),
        TEST(transformers_have_factors),
        TEST(exact_where_they_can_be),
        TEST(the_last_layer_of_many_rows_is_exact),
        TEST(priors_are_scored_as_they_predict),
        TEST(tuned_by_laplaces_approximation),
        TEST(the_last_layer_is_tuned_by_itself),
        TEST(many_points_are_as_one_by_one),
        TEST(rows_can_come_in_chunks),
        TEST(misuse_is_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
