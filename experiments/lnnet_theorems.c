/* The theory of layer norm as a nonlinearity, in numbers: what linear maps cannot do and one layer
 * norm does, how many layers points take, what is shattered, how much a norm bends. */
#include "parts.h"
#include "registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- points -------------------------------------------------------------------------------- */

typedef struct cloud {
    int64_t n, d, classes;
    double *x;
    int64_t *labels;
} cloud;

static cloud draw_cloud(int64_t n, int64_t d, int64_t classes, uint64_t seed)
{
    cloud c = {n, d, classes, ROOM(n * d, double), ROOM(n, int64_t)};
    uint64_t state = seed * 7919 + 17;
    for (int64_t i = 0; i < n * d; i++) {
        c.x[i] = normal(&state);
    }
    for (int64_t i = 0; i < n; i++) {
        c.labels[i] = i < classes ? i : (int64_t)(uniform(&state) * (double)classes);
    }
    return c;
}

static void drop_cloud(cloud *c)
{
    free(c->x);
    free(c->labels);
}

static far_mat points_of(const cloud *c)
{
    return far_mat_view(c->x, c->n, c->d, FAR_F64);
}

/* LSSR of what a network makes of the points. */
static far_status lssr_behind(reproduction *r, const far_net *net, const cloud *c, double *out)
{
    int64_t width = far_net_describe(net).outputs;
    double *values = ROOM(c->n * width, double);
    far_mat x = points_of(c), y = far_mat_view(values, c->n, width, FAR_F64);
    far_ssr ssr = {.lssr = NAN};
    far_status st;
    TRY(far_net_eval(r->ctx, net, &x, &y));
    TRY(far_ssr_measure(r->ctx, &y, c->labels, c->classes, &ssr, NULL));
done:
    *out = ssr.lssr;
    free(values);
    return st;
}

/* ---- Proposition 1 and Theorem 1 ----------------------------------------------------------- */

enum { MOST_SETS = 200 };

typedef struct bounds {
    int64_t sets, broken;
    double before[MOST_SETS], behind[MOST_SETS]; /* LSSR, and that behind one layer norm */
    double least;                                /* LSSR behind linear networks less that before */
} bounds;

/* Sabotaged: the linear network has an activation. */
static far_status try_linear(reproduction *r, const cloud *c, int64_t set, double before,
                             double *least)
{
    char *arch = text_of("[dense(%lld)%s]x%lld dense(3)", (long long)(c->d + 2),
                         r->sabotage ? " relu" : "", (long long)(1 + set % 4));
    far_net *net = NULL;
    double behind;
    far_status st;
    TRY(new_net(r, arch, c->d, FAR_INIT_KAIMING_NORMAL, (uint64_t)set, &net));
    TRY(lssr_behind(r, net, c, &behind));
    *least = fmin(*least, behind - before);
done:
    far_net_destroy(net);
    free(arch);
    return st;
}

/* The layer without its norm. */
static far_status without_norm(reproduction *r, const far_net *layer, const cloud *c, double *out)
{
    far_net *plain = NULL;
    far_status st;
    TRY(same_weights(r, layer, "dense(3)", &plain));
    TRY(lssr_behind(r, plain, c, out));
done:
    far_net_destroy(plain);
    return st;
}

static far_status try_set(reproduction *r, int64_t set, bounds *b)
{
    static const int64_t DIMENSIONS[] = {2, 3, 5, 10};
    cloud c = draw_cloud(20 + 8 * (set % 6), DIMENSIONS[set % 4], 2, (uint64_t)set);
    far_mat x = points_of(&c);
    far_ln_layer_opts o;
    far_ln_layer_info info;
    far_net *layer = NULL;
    far_status st;
    far_ln_layer_opts_init(&o);
    o.directions = 8;
    o.steps = 60;
    TRY(far_ln_layer_search(r->ctx, &x, c.labels, 2, &o, &layer, &info));
    b->before[set] = info.before.lssr;
    b->behind[set] = info.lssr;
    if (r->sabotage) {
        TRY(without_norm(r, layer, &c, &b->behind[set]));
    }
    b->broken += b->behind[set] < b->before[set] - 1e-9;
    TRY(try_linear(r, &c, set, b->before[set], &b->least));
done:
    far_net_destroy(layer);
    drop_cloud(&c);
    return st;
}

static far_status draw_bounds(reproduction *r, const bounds *b)
{
    double ends[2] = {0, 1};
    far_figure *figure = NULL;
    far_figure_opts o = axes("The bound on linear maps, and one layer norm", "LSSR of the points",
                             "LSSR behind the layer");
    far_status st;
    TRY(far_figure_create(r->ctx, &o, &figure));
    far_mark_opts mark = mark_of(FAR_COLOUR_NEXT, "random sets");
    TRY(far_figure_points(r->ctx, figure, b->before, b->behind, b->sets, &mark));
    TRY(draw_dashed(r, figure, ends, ends, 2, FAR_COLOUR_INK, "what linear maps reach"));
done:
    return keep_drawn(r, figure, "lnnet-theorems-bound",
                      "Proposition 1 and Theorem 1: random points with labels at random. Linear "
                      "maps stay on the line or above it, one layer norm goes below.",
                      st);
}

static far_status claim_bounds(reproduction *r, const bounds *b)
{
    double drops[MOST_SETS], drop;
    far_status st;
    for (int64_t i = 0; i < b->sets; i++) {
        drops[i] = 1 - b->behind[i] / b->before[i];
    }
    TRY(far_quantile(r->ctx, drops, b->sets, 0.5, &drop));
    TRY(claim(r,
              &(claim_of){.what = "linear networks of 2 to 5 layers, random points and labels",
                          .paper = "SSR is at least LSSR of the points",
                          .place = LNNET_NOT_READ "Proposition 1",
                          .tested = "LSSR behind the network falls by at most 1e-9",
                          .seeds = b->sets,
                          .agrees = b->least >= -1e-9},
              "least difference %.1e over %lld networks", b->least, (long long)b->sets));
    TRY(claim(r,
              &(claim_of){.what = "one layer norm of three neurons on the same points",
                          .paper = "can break the bound",
                          .place = LNNET_NOT_READ "Theorem 1",
                          .tested = "on at least 95% of the sets",
                          .seeds = b->sets,
                          .agrees = 20 * b->broken >= 19 * b->sets},
              "on %lld of %lld sets, by %.0f%% of LSSR in the median", (long long)b->broken,
              (long long)b->sets, 100 * drop));
done:
    return st;
}

static far_status check_bounds(reproduction *r)
{
    bounds b = {.sets = r->quick ? 24 : MOST_SETS, .least = INFINITY};
    far_status st = FAR_OK;
    for (int64_t i = 0; i < b.sets && st == FAR_OK; i++) {
        st = try_set(r, i, &b);
    }
    st = st == FAR_OK ? claim_bounds(r, &b) : st;
    return st == FAR_OK ? draw_bounds(r, &b) : st;
}

/* ---- layers against points ----------------------------------------------------------------- */

enum { MOST_SIZES = 8, QUICK_SIZES = 4, SERIES = 2 };

typedef struct growth {
    const char *name;
    int64_t classes;
    int count;
    double sizes[MOST_SIZES], quick[QUICK_SIZES];
    double layers[MOST_SIZES];
    int64_t wrong;       /* points, of all sizes */
    double slope, start; /* layers = start + slope m, by least squares */
    double off;          /* the largest distance from that, over the most layers */
} growth;

/* Sabotaged: the network without its norms. */
static far_status build_cloud(reproduction *r, growth *g, int i)
{
    int64_t n = (int64_t)g->sizes[i];
    cloud c = draw_cloud(n, 10, g->classes, (uint64_t)n);
    far_mat x = points_of(&c);
    far_net *net = NULL, *plain = NULL;
    far_lnnet_opts o;
    far_lnnet_info info;
    far_lnnet_checked checked;
    char *linear = NULL;
    far_status st;
    o = (far_lnnet_opts){.size = sizeof o};
    TRY(far_lnnet_build(r->ctx, &x, c.labels, g->classes, &o, &net, &info));
    if (r->sabotage) {
        linear =
            text_of("[dense(3)]x%lld dense(%lld)", (long long)info.layers, (long long)g->classes);
        TRY(same_weights(r, net, linear, &plain));
    }
    TRY(far_lnnet_check(r->ctx, plain ? plain : net, &x, c.labels, FAR_LNNET_PRECISION_AUTO, 0,
                        &checked));
    g->layers[i] = (double)info.layers;
    g->wrong += checked.wrong;
done:
    far_net_destroy(net);
    far_net_destroy(plain);
    free(linear);
    drop_cloud(&c);
    return st;
}

static void fit_line(growth *g)
{
    double n = g->count, x = 0, y = 0, xx = 0, xy = 0, most = 0;
    for (int i = 0; i < g->count; i++) {
        x += g->sizes[i] / n;
        y += g->layers[i] / n;
        most = fmax(most, g->layers[i]);
    }
    for (int i = 0; i < g->count; i++) {
        xx += (g->sizes[i] - x) * (g->sizes[i] - x);
        xy += (g->sizes[i] - x) * (g->layers[i] - y);
    }
    g->slope = xy / xx;
    g->start = y - g->slope * x;
    for (int i = 0; i < g->count; i++) {
        g->off = fmax(g->off, fabs(g->layers[i] - g->start - g->slope * g->sizes[i]) / most);
    }
}

static far_status measure_growth(reproduction *r, growth *g)
{
    far_status st;
    for (int i = 0; i < g->count; i++) {
        tell(r, "%s: %g points", g->name, g->sizes[i]);
        TRY(build_cloud(r, g, i));
    }
    fit_line(g);
    const char *what = words(r, "%s: layers against points, m = %g to %g", g->name, g->sizes[0],
                             g->sizes[g->count - 1]);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "3 neurons a layer and O(m) layers classify m points",
                           .place = "abstract",
                           .tested = "every point right; layers on a straight line to 3% of the "
                                     "most, its slope at most 1.05",
                           .seeds = 1,
                           .late = true,
                           .agrees = g->wrong == 0 && g->off <= 0.03 && g->slope <= 1.05},
               "%lld wrong; layers = %.4f m %+.0f, to %.1g%%", (long long)g->wrong, g->slope,
               g->start, 100 * g->off);
done:
    return st;
}

static far_status check_growth(reproduction *r)
{
    growth all[SERIES] = {{.name = "two classes",
                           .classes = 2,
                           .count = 8,
                           .sizes = {100, 200, 500, 1000, 2000, 5000, 10000, 20000},
                           .quick = {100, 200, 500, 1000}},
                          {.name = "ten classes",
                           .classes = 10,
                           .count = 5,
                           .sizes = {100, 200, 500, 1000, 2000},
                           .quick = {100, 200, 300, 500}}};
    far_figure *figure = NULL;
    far_figure_opts o = log_axes("Layers of three neurons", "points", "layers");
    far_status st = FAR_OK;
    TRY(far_figure_create(r->ctx, &o, &figure));
    for (int i = 0; i < SERIES; i++) {
        if (r->quick) {
            all[i].count = QUICK_SIZES;
            memcpy(all[i].sizes, all[i].quick, sizeof all[i].quick);
        }
        TRY(measure_growth(r, &all[i]));
        TRY(draw_curve(r, figure, all[i].sizes, all[i].layers, NULL, all[i].count, i, all[i].name));
    }
done:
    return keep_drawn(r, figure, "lnnet-theorems-layers",
                      "Layers that built networks take, random points of ten dimensions with "
                      "labels at random.",
                      st);
}

/* ---- VC dimension -------------------------------------------------------------------------- */

/* Labellings of n points of the plane that a linear map realises (Cover). */
static int64_t linear_labellings(int64_t n)
{
    return 2 * (1 + (n - 1) + (n - 1) * (n - 2) / 2);
}

static far_status check_shattering(reproduction *r)
{
    static const char *const HEADS[] = {"layers", "points", "labellings", "realised",
                                        "most layers"};
    sheet s = {.heads = HEADS, .cols = 5};
    int64_t most = r->quick ? 6 : 8, all = 0, realised = 0;
    bool deep = false;
    far_status st = FAR_OK;
    for (int64_t layers = 1; layers <= most; layers++) {
        far_shatter f;
        TRY(far_lnnet_shatter(r->ctx, layers, NULL, 1, &f));
        int64_t got = r->sabotage ? linear_labellings(f.points) : f.realised;
        all += f.labellings;
        realised += got;
        deep |= f.most_layers > layers;
        add_cell(&s, "%lld", (long long)layers);
        add_cell(&s, "%lld", (long long)f.points);
        add_cell(&s, "%lld", (long long)f.labellings);
        add_cell(&s, "%lld", (long long)got);
        add_cell(&s, "%lld", (long long)f.most_layers);
    }
    char *what =
        text_of("all labellings of L + 2 points by L layers, L = 1 to %lld", (long long)most);
    st = claim(r,
               &(claim_of){.what = what,
                           .paper = "VC dimension at least L + 2",
                           .place = LNNET_NOT_READ UNPLACED,
                           .tested = "every one, by a network that was built and run",
                           .seeds = 1,
                           .agrees = realised == all && !deep},
               "%lld of %lld", (long long)realised, (long long)all);
    free(what);
done:
    return keep_sheet(r, &s, "lnnet-theorems-vc", "Labellings of points of the plane.", st);
}

/* ---- how much a norm bends ----------------------------------------------------------------- */

enum { ROWS = 200, WIDTHS = 4, MOST_GROUPS = 12 };

/* The closed form against second derivatives of the network `ln`, relative, the worst row.
 * Sabotaged: the network is a linear one. */
static far_status compare_hessians(reproduction *r, const cloud *c, int64_t groups, double *worst)
{
    enum { FEW = 20 };
    char *arch = r->sabotage ? text_of("dense(%lld)", (long long)c->d)
                             : text_of("ln(groups=%lld)", (long long)groups);
    double closed[FEW], exact[FEW];
    far_mat x = points_of(c), h = far_mat_view(closed, FEW, 1, FAR_F64),
            e = far_mat_view(exact, FEW, 1, FAR_F64);
    far_net *net = NULL;
    far_status st;
    x.rows = FEW;
    TRY(new_net(r, arch, c->d, FAR_INIT_KAIMING_NORMAL, 0, &net));
    TRY(far_ln_hessian(r->ctx, &x, groups, 0, &h));
    TRY(far_net_hessian_norm(r->ctx, net, &x, 0, &e));
    for (int i = 0; i < FEW; i++) {
        double by = fabs(closed[i] - exact[i]) / fmax(closed[i], exact[i]);
        *worst = by <= *worst ? *worst : by;
    }
done:
    far_net_destroy(net);
    free(arch);
    return st;
}

typedef struct bend {
    double worst;          /* closed form against derivatives */
    double least_factor;   /* the median ratio, least over d and 1 < g <= d / 3 */
    double least_by_bound; /* ratio over our bound, least over all rows */
} bend;

static far_status measure_bend(reproduction *r, int64_t d, bend *b, far_figure *figure, int colour)
{
    cloud c = draw_cloud(ROWS, d, 2, (uint64_t)d);
    double ratio[ROWS], place[MOST_GROUPS], medians[MOST_GROUPS], bound;
    far_mat x = points_of(&c), out = far_mat_view(ratio, ROWS, 1, FAR_F64);
    const char *label = words(r, "d = %lld", (long long)d);
    int count = 0;
    far_status st = FAR_OK;
    for (int64_t g = 1; 3 * g <= d && count < MOST_GROUPS; g++) {
        if (d % g) {
            continue;
        }
        int64_t used = r->sabotage ? 1 : g;
        TRY(far_ln_amplification(r->ctx, d, used, &x, &out, &bound));
        TRY(compare_hessians(r, &c, g, &b->worst));
        for (int i = 0; i < ROWS; i++) {
            b->least_by_bound = fmin(b->least_by_bound, ratio[i] / bound);
        }
        TRY(far_quantile(r->ctx, ratio, ROWS, 0.5, &medians[count]));
        b->least_factor = g > 1 ? fmin(b->least_factor, medians[count]) : b->least_factor;
        place[count++] = (double)g;
    }
    TRY(draw_curve(r, figure, place, medians, NULL, count, colour, label));
done:
    drop_cloud(&c);
    return st;
}

static far_status claim_bend(reproduction *r, const bend *b)
{
    far_status st;
    TRY(claim(
        r,
        &(claim_of){.what = "H of layer norm in groups, sum of 3 (s - 2) / (s sigma^4)",
                    .tested = "second derivatives, to 1e-9; d = 6 to 96, groups of 3 and more",
                    .seeds = 1,
                    .agrees = b->worst < 1e-9},
        "to %.1e", b->worst));
    TRY(claim(r,
              &(claim_of){.what = "H in groups over H of one group, random inputs",
                          .paper = "groups amplify the nonlinearity of layer norm",
                          .place = "abstract",
                          .tested = "the median factor is above 1.5 for every d and g",
                          .seeds = 1,
                          .agrees = b->least_factor > 1.5},
              "%.3g times or more", b->least_factor));
    TRY(claim(r,
              &(claim_of){.what = "the same factor against g (d - 2 g) / (d - 2)",
                          .tested = "never below, an inequality of ours for every input",
                          .seeds = 1,
                          .by_construction = true,
                          .agrees = b->least_by_bound >= 0.999999},
              "%.3g times it or more", b->least_by_bound));
done:
    return st;
}

static far_status check_bending(reproduction *r)
{
    static const int64_t D[WIDTHS] = {6, 12, 24, 96};
    bend b = {.least_factor = INFINITY, .least_by_bound = INFINITY};
    far_figure *figure = NULL;
    far_figure_opts o =
        log_axes("H of layer norm in groups", "groups", "H, over that of one group");
    far_status st;
    TRY(far_figure_create(r->ctx, &o, &figure));
    for (int i = 0; i < WIDTHS; i++) {
        TRY(measure_bend(r, D[i], &b, figure, i));
    }
    TRY(claim_bend(r, &b));
done:
    return keep_drawn(r, figure, "lnnet-theorems-groups",
                      "What groups do to H(LN; x): the median over 200 Gaussian inputs.", st);
}

/* ---- all of it ----------------------------------------------------------------------------- */

far_status run_lnnet_theorems(reproduction *r)
{
    far_status st;
    TRY(keep_text(
        r,
        "SSR is the sum of squares within the classes over the total one, LSSR its least value "
        "over all linear maps. H(f; x) is the sum of all squared second derivatives. Points are "
        "Gaussian, labels at random; thresholds are ours. Without its mechanism: an activation "
        "in the linear networks, no norm behind the layer, built networks without their norms, the "
        "labellings of a linear map, one group."));
    TRY(check_bounds(r));
    TRY(check_growth(r));
    TRY(check_shattering(r));
    TRY(check_bending(r));
done:
    return st;
}
