/* Figure 2: the tangent kernel at initialisation on [-25, 25]^2, of finite and of infinitely wide
 * networks. */
#include "ln_toy.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double END = 25;

typedef struct maps {
    int64_t side; /* points along each axis, odd: 0 is among them */
    double *x;
    double *finite[LN_NETS], *infinite[LN_NETS]; /* side x side */
} maps;

static maps maps_new(int64_t side)
{
    maps m = {.side = side, .x = ROOM(side, double)};
    for (int net = 0; net < LN_NETS; net++) {
        m.finite[net] = ROOM(side * side, double);
        m.infinite[net] = ROOM(side * side, double);
    }
    spread(-END, END, m.x, side);
    return m;
}

static void maps_free(maps *m)
{
    for (int net = 0; net < LN_NETS; net++) {
        free(m->finite[net]);
        free(m->infinite[net]);
    }
    free(m->x);
}

/* ---- computing ----------------------------------------------------------------------------- */

static far_status add_network(reproduction *r, const char *arch, uint64_t seed, const far_mat *x,
                              double weight, double *sum)
{
    int64_t n = x->rows;
    double *values = ROOM(n * n, double);
    far_mat theta = far_mat_view(values, n, n, FAR_F64);
    far_net *net = NULL;
    far_ntk_opts ntk;
    far_status st;
    ntk = (far_ntk_opts){.size = sizeof ntk};
    TRY(new_net(r, arch, 1, FAR_INIT_KAIMING_NORMAL, seed, &net));
    TRY(far_net_ntk(r->ctx, net, x, NULL, &ntk, &theta));
    for (int64_t i = 0; i < n * n; i++) {
        sum[i] += weight * values[i];
    }
done:
    far_net_destroy(net);
    free(values);
    return st;
}

static far_status mean_of_networks(reproduction *r, int net, const far_mat *x, double *out)
{
    int64_t seeds = toy_seeds(r);
    char *arch = net_text(r, net, LN_FINITE, "relu");
    far_status st = FAR_OK;
    for (char *width = arch; r->sabotage && (width = strstr(width, "128"));) {
        memcpy(width, "  4", 3); /* far from infinite */
    }
    for (int64_t i = 0; i < seeds && st == FAR_OK; i++) {
        st = add_network(r, arch, (uint64_t)i, x, 1 / (double)seeds, out);
    }
    free(arch);
    return st;
}

static far_status kernel_create(reproduction *r, int net, far_kernel **out)
{
    char *arch = net_text(r, net, LN_FINITE, "relu");
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = FAR_PARAM_STANDARD;
    far_status st = far_kernel_create(r->ctx, arch, &opts, out);
    free(arch);
    return st;
}

static far_status infinite_kernel(reproduction *r, int net, const far_mat *x, double *out)
{
    far_kernel *k;
    far_mat theta = far_mat_view(out, x->rows, x->rows, FAR_F64);
    far_status st = kernel_create(r, net, &k);
    if (st == FAR_OK) {
        st = far_kernel_eval(r->ctx, k, x, NULL, FAR_FILL_FULL, NULL, &theta);
    }
    far_kernel_destroy(k);
    return st;
}

static far_status compute(reproduction *r, const maps *m)
{
    far_mat x = far_mat_view(m->x, m->side, 1, FAR_F64);
    far_status st = FAR_OK;
    for (int net = 0; net < LN_NETS; net++) {
        tell(r, "%s", LN_NAMES[net]);
        TRY(mean_of_networks(r, net, &x, m->finite[net]));
        TRY(infinite_kernel(r, net, &x, m->infinite[net]));
    }
done:
    return st;
}

/* ---- listed values ------------------------------------------------------------------------- */

enum { LISTED = 4 };
static const double LISTED_PAIR[LISTED][2] = {{25, 25}, {25, -25}, {1, 1}, {0, 0}};
/* Theory, in PyTorch's parametrisation, at width 128. */
static const double LISTED_VALUE[LN_NETS][LISTED] = {{160630, 25466, 262, 4.9},
                                                     {131.1, 22.4, 131.6, 230.4},
                                                     {129.5, 21.4, 130.2, 196.9},
                                                     {129.9, 22.2, 130.3, 228.4}};
/* Half a unit of the last digit given. */
static const double LISTED_ROUNDING[LN_NETS][LISTED] = {{0.5, 0.5, 0.5, 0.05},
                                                        {0.05, 0.05, 0.05, 0.05},
                                                        {0.05, 0.05, 0.05, 0.05},
                                                        {0.05, 0.05, 0.05, 0.05}};

static far_status at_listed(reproduction *r, int net, double finite[LISTED],
                            double infinite[LISTED])
{
    double x[] = {25, -25, 1, 0};
    static const int WHERE[LISTED] = {0, 1, 2 * 4 + 2, 3 * 4 + 3};
    double mean[16] = {0}, exact[16];
    far_mat points = far_mat_view(x, 4, 1, FAR_F64);
    far_status st;
    TRY(mean_of_networks(r, net, &points, mean));
    TRY(infinite_kernel(r, net, &points, exact));
    for (int i = 0; i < LISTED; i++) {
        finite[i] = mean[WHERE[i]];
        infinite[i] = exact[WHERE[i]];
    }
done:
    return st;
}

static bool as_listed(int net, const double *infinite)
{
    bool agrees = true;
    for (int i = 0; i < LISTED; i++) {
        agrees &= fabs(infinite[i] - LISTED_VALUE[net][i]) <= 1.01 * LISTED_ROUNDING[net][i];
    }
    return agrees;
}

static const char *listed_text(reproduction *r, const char *head, const double *v)
{
    return words(r, "%s%.6g, %.5g, %.4g, %.4g", head, v[0], v[1], v[2], v[3]);
}

static far_status claim_listed(reproduction *r, int net, sheet *table)
{
    double finite[LISTED], infinite[LISTED];
    far_status st = at_listed(r, net, finite, infinite);
    if (st != FAR_OK) {
        return st;
    }
    for (int i = 0; i < LISTED; i++) {
        add_cell(table, "%s", LN_NAMES[net]);
        add_cell(table, "(%g, %g)", LISTED_PAIR[i][0], LISTED_PAIR[i][1]);
        add_cell(table, "%.6g", LISTED_VALUE[net][i]);
        add_cell(table, "%.6g", infinite[i]);
        add_cell(table, "%.6g", finite[i]);
        add_cell(table, "%.3f", finite[i] / infinite[i]);
    }
    const char *what =
        words(r, "%s, infinite width: Theta at (25,25), (25,-25), (1,1), (0,0)", LN_NAMES[net]);
    const char *tested = listed_text(r, "closed forms: ", LISTED_VALUE[net]);
    return claim(r, &(claim_of){.what = what, .tested = tested, .agrees = as_listed(net, infinite)},
                 "%s", listed_text(r, "", infinite));
}

static far_status keep_listed(reproduction *r)
{
    static const char *const HEADS[] = {"network",        "pair",   "theory",
                                        "infinite width", "finite", "finite / infinite"};
    sheet table = {.heads = HEADS, .cols = 6};
    far_status st = FAR_OK;
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        st = claim_listed(r, net, &table);
    }
    return keep_sheet(r, &table, "ln-fig2-values",
                      "Theta(x, x') in PyTorch's parametrisation, 128 wide: theory, the "
                      "infinite-width kernel, and the mean of random networks.",
                      st);
}

/* ---- claims about the maps ----------------------------------------------------------------- */

static double largest(const double *map, int64_t count, int64_t *at)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        best = map[i] > map[best] ? i : best;
    }
    if (at) {
        *at = best;
    }
    return map[best];
}

static bool in_corner(int64_t at, int64_t side)
{
    int64_t row = at / side, col = at % side;
    return (row == 0 || row == side - 1) && row == col;
}

static far_status claim_corners(reproduction *r, const maps *m)
{
    int64_t count = m->side * m->side, finite_at, infinite_at;
    double finite = largest(m->finite[LN_NONE], count, &finite_at);
    double infinite = largest(m->infinite[LN_NONE], count, &infinite_at);
    return claim(
        r,
        &(claim_of){.what = "Standard NN, where the kernel is largest",
                    .paper = "in the corners",
                    .place = "Figure 2",
                    .seeds = toy_seeds(r),
                    .agrees = in_corner(finite_at, m->side) && in_corner(infinite_at, m->side)},
        "%.4g at (%g, %g); infinitely wide %.4g at (%g, %g)", finite, m->x[finite_at / m->side],
        m->x[finite_at % m->side], infinite, m->x[infinite_at / m->side],
        m->x[infinite_at % m->side]);
}

static const double ORDERS_OF_MAGNITUDE = 100;

static far_status claim_orders(reproduction *r, const maps *m)
{
    int64_t count = m->side * m->side;
    double none = largest(m->finite[LN_NONE], count, NULL), most = 0;
    for (int net = LN_FIRST; net < LN_NETS; net++) {
        most = fmax(most, largest(m->finite[net], count, NULL));
    }
    return claim(r,
                 &(claim_of){.what = "the kernel without a norm against those with one",
                             .paper = "orders of magnitude larger",
                             .place = "Figure 2",
                             .tested = "at least 100 times, largest value against largest",
                             .seeds = toy_seeds(r),
                             .agrees = none / most >= ORDERS_OF_MAGNITUDE},
                 "largest value %.4g against %.4g: %.0f times", none, most, none / most);
}

/* sup Theta(x, x) over all x, finite exactly if the theorem holds. */
static far_status claim_supremum(reproduction *r, int net)
{
    far_kernel *k;
    far_supremum sup;
    far_status st = kernel_create(r, net, &k);
    if (st == FAR_OK) {
        st = far_kernel_supremum(r->ctx, k, 1, &sup);
    }
    far_kernel_destroy(k);
    if (st != FAR_OK) {
        return st;
    }
    const char *what = words(r, "%s, Theta(x, x) over all x", LN_NAMES[net]);
    if (net == LN_NONE) {
        st = claim(r,
                   &(claim_of){.what = what,
                               .paper = "unbounded",
                               .place = UNPLACED,
                               .tested = "no finite supremum at infinite width",
                               .agrees = !sup.bounded},
                   "grows like %.4g |x|^%g", sup.slope, sup.order);
    } else {
        st = claim(r,
                   &(claim_of){.what = what,
                               .paper = "bounded",
                               .place = "Theorem 3.2",
                               .tested = "a finite supremum at infinite width",
                               .agrees = sup.bounded},
                   "at most %.5g", far_round_up(sup.value, 5));
    }
    return st;
}

/* Mean over the squares where |x|, |x'| > 5 and both have the same sign, or not. */
static double square_mean(const maps *m, const double *map, bool same_sign)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < m->side * m->side; i++) {
        double a = m->x[i / m->side], b = m->x[i % m->side];
        if (fabs(a) > 5 && fabs(b) > 5 && (a * b > 0) == same_sign) {
            sum += map[i];
            count++;
        }
    }
    return sum / count;
}

/* The largest over the smallest value in the squares of one sign. */
static double square_spread(const maps *m, const double *map)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < m->side * m->side; i++) {
        double a = m->x[i / m->side], b = m->x[i % m->side];
        if (fabs(a) > 5 && fabs(b) > 5 && a * b > 0) {
            least = fmin(least, map[i]);
            most = fmax(most, map[i]);
        }
    }
    return most / least;
}

/* Squares of two colours: a step between them, and hardly a change within one. */
static far_status claim_chessboard(reproduction *r, const maps *m)
{
    double least_step = INFINITY, most_step = 0, change = 1;
    for (int net = LN_FIRST; net < LN_NETS; net++) {
        double step = square_mean(m, m->finite[net], true) / square_mean(m, m->finite[net], false);
        least_step = fmin(least_step, step);
        most_step = fmax(most_step, step);
        change = fmax(change, square_spread(m, m->finite[net]));
    }
    return claim(r,
                 &(claim_of){.what = "with a norm, same sign against opposite signs of x and x'",
                             .paper = "a chessboard",
                             .place = "Figure 2",
                             .tested = "3 times as large at least, and within a square, |x| > 5, "
                                       "less than 1.5 times",
                             .seeds = toy_seeds(r),
                             .agrees = least_step > 3 && change < 1.5},
                 "%.2f to %.2f times as large, %.2f times within", least_step, most_step, change);
}

static double rms_deviation(const double *finite, const double *infinite, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = finite[i] / infinite[i] - 1;
        sum += d * d;
    }
    return sqrt(sum / (double)count);
}

static far_status claim_agreement(reproduction *r, const maps *m)
{
    double worst = 0;
    for (int net = 0; net < LN_NETS; net++) {
        worst = fmax(worst, rms_deviation(m->finite[net], m->infinite[net], m->side * m->side));
    }
    return claim(r,
                 &(claim_of){.what = "finite networks against infinite width, over the maps",
                             .tested = "within 20% at width 128",
                             .seeds = toy_seeds(r),
                             .agrees = worst <= 0.2},
                 "root mean square of the relative deviation at most %.1f%%", 100 * worst);
}

static far_status claim_maps(reproduction *r, const maps *m)
{
    far_status st;
    TRY(claim_corners(r, m));
    TRY(claim_orders(r, m));
    for (int net = 0; net < LN_NETS; net++) {
        TRY(claim_supremum(r, net));
    }
    TRY(claim_chessboard(r, m));
    TRY(claim_agreement(r, m));
done:
    return st;
}

/* ---- the figure ---------------------------------------------------------------------------- */

static far_status draw_map(reproduction *r, const maps *m, int net, bool finite, far_figure **out)
{
    double edge = END * (1 + 1 / (double)(m->side - 1)); /* cells are about their points */
    far_figure_opts opts = axes(finite ? LN_NAMES[net] : NULL, NULL,
                                net > 0  ? NULL
                                : finite ? "x'  (128 wide)"
                                         : "x'  (infinitely wide)");
    far_heat_opts heat;
    far_heat_opts_init(&heat);
    heat.x_min = heat.y_min = -edge;
    heat.x_max = heat.y_max = edge;
    heat.map = FAR_MAP_SEQUENTIAL;
    if (net == LN_NONE) {
        heat.scale = FAR_SCALE_LOG;
        heat.value_min = 10;
        heat.value_max = 200000;
    } else {
        heat.value_min = 0;
        heat.value_max = 150;
    }
    far_status st = far_figure_create(r->ctx, &opts, out);
    return st == FAR_OK ? far_figure_heat(r->ctx, *out, finite ? m->finite[net] : m->infinite[net],
                                          m->side, m->side, &heat)
                        : st;
}

static far_status keep_maps(reproduction *r, const maps *m)
{
    far_figure *figures[2 * LN_NETS] = {0};
    far_grid_opts opts = grid_of(1180, 520);
    opts.title = "Tangent kernel at initialisation";
    opts.x_label = "x";
    opts.share_x = opts.share_y = FAR_SHARE_ALL;
    opts.note = "The first column has colours of its own, on a logarithmic scale. With a norm the "
                "kernel peaks at (0, 0), at about 200, beyond the colours.";
    far_status st = FAR_OK;
    for (int i = 0; i < 2 * LN_NETS && st == FAR_OK; i++) {
        st = draw_map(r, m, i % LN_NETS, i < LN_NETS, &figures[i]);
    }
    return keep_grid(r, figures, 2, LN_NETS, &opts, "ln-fig2",
                     "Figure 2 of the paper: without a norm the kernel grows without bound towards "
                     "the corners; with one it is bounded, and a chessboard.",
                     st);
}

/* ---- along the diagonal -------------------------------------------------------------------- */

enum { DIAGONAL = 57 };

static void take_diagonal(const double *matrix, double *out)
{
    for (int i = 0; i < DIAGONAL; i++) {
        out[i] = matrix[i * DIAGONAL + i];
    }
}

static far_status draw_diagonal(reproduction *r, int net, double *x, far_figure *figure)
{
    double *matrix = ROOM(DIAGONAL * DIAGONAL, double), finite[DIAGONAL], infinite[DIAGONAL];
    far_mat points = far_mat_view(x, DIAGONAL, 1, FAR_F64);
    far_status st;
    TRY(mean_of_networks(r, net, &points, matrix));
    take_diagonal(matrix, finite);
    TRY(infinite_kernel(r, net, &points, matrix));
    take_diagonal(matrix, infinite);
    TRY(draw_curve(r, figure, x, finite, NULL, DIAGONAL, net, LN_NAMES[net]));
    TRY(draw_dashed(r, figure, x, infinite, DIAGONAL, net, NULL));
done:
    free(matrix);
    return st;
}

static far_status keep_diagonal(reproduction *r)
{
    double x[DIAGONAL];
    far_figure *figure = NULL;
    far_figure_opts opts = log_axes("Along the diagonal", "x", "Theta(x, x)");
    opts.note = "Solid: 128 wide, the mean over seeds; dashed: infinitely wide";
    spread_log(1e-3, 1e4, x, DIAGONAL);
    far_status st = far_figure_create(r->ctx, &opts, &figure);
    for (int net = 0; net < LN_NETS && st == FAR_OK; net++) {
        st = draw_diagonal(r, net, x, figure);
    }
    return keep_drawn(r, figure, "ln-fig2-diagonal",
                      "The diagonal: a parabola without a norm; with one it levels off beyond the "
                      "scale of the biases.",
                      st);
}

static far_status keep_protocol(reproduction *r)
{
    return keep_text(r,
                     "Protocol: networks at initialisation, as in Figure 1, means over %lld seeds. "
                     "Theta is the inner product of the gradients by all weights and biases, in "
                     "PyTorch's parametrisation, which makes it grow with the width (128); the "
                     "infinite-width kernel is taken in the same one.",
                     (long long)toy_seeds(r));
}

far_status run_ln_fig2(reproduction *r)
{
    maps m = maps_new(r->quick ? 21 : 51);
    far_status st;
    TRY(keep_protocol(r));
    TRY(compute(r, &m));
    TRY(claim_maps(r, &m));
    TRY(keep_maps(r, &m));
    TRY(keep_diagonal(r));
    TRY(keep_listed(r));
done:
    maps_free(&m);
    return st;
}
