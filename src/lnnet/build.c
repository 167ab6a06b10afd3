/* Networks that are built: tries, precisions, refusals. */
#include "build.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define TRIES_DEFAULT 20
#define MERGE_TRIES 3    /* before gathering, */
#define GATHER_TRIES 8   /* and before quad */
#define GATHER_MOST 5000 /* points, in double */
#define BITS_LEAST 64
#define BITS_MOST 100000
#define BITS_DOUBLINGS 3
#define REPORT_LAYERS 64

static const char *const MODES[] = {"auto", "paper", "merge", "runs"};
static const char *const PRECISIONS[] = {"auto", "double", "quad", "mpfr"};

const char *far_lnnet_mode_name(far_lnnet_mode mode)
{
    return mode <= FAR_LNNET_RUNS ? MODES[mode] : "unknown";
}

const char *far_lnnet_precision_name(far_lnnet_precision precision)
{
    bool known = precision <= FAR_LNNET_MPFR;
    return known ? PRECISIONS[precision] : "unknown";
}

int far_lnnet_has_mpfr(void)
{
    return far_ln_mpfr(BITS_LEAST).precision == FAR_LNNET_MPFR;
}

bool far_ln_watch_layer(far_ln_watch *w)
{
    int64_t done = atomic_fetch_add(&w->done, 1) + 1;
    if (omp_get_thread_num() == 0 && done / w->every > w->reported) { /* others count, too */
        w->reported = done / w->every;
        far_status st = far_progress(w->ctx, w->what, done < w->total ? done : w->total, w->total);
        if (st != FAR_OK) {
            atomic_store(&w->stop, (int)st);
        }
    }
    return atomic_load(&w->stop) == FAR_OK;
}

/* ---- checks -------------------------------------------------------------------------------- */

static far_status check_opts(far_ctx *ctx, const far_lnnet_opts *o)
{
    if (!o || o->size != sizeof *o) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_lnnet_opts)");
    }
    if (o->mode < FAR_LNNET_AUTO || o->mode > FAR_LNNET_RUNS) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: mode %d is no far_lnnet_mode", (int)o->mode);
    }
    if (o->precision < FAR_LNNET_PRECISION_AUTO || o->precision > FAR_LNNET_MPFR) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: precision %d is no far_lnnet_precision",
                        (int)o->precision);
    }
    if (o->groups < 0 || o->tries < 0) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld groups and %lld tries", (long long)o->groups,
                        (long long)o->tries);
    }
    if (o->bits != 0 && (o->bits < BITS_LEAST || o->bits > BITS_MOST)) {
        return far_fail(ctx, FAR_ERR_ARG, "opts: %lld bits; take %d to %d", (long long)o->bits,
                        BITS_LEAST, BITS_MOST);
    }
    if (o->precision == FAR_LNNET_MPFR && !far_lnnet_has_mpfr()) {
        return far_fail(ctx, FAR_ERR_ARG,
                        "this library was built without MPFR; use quad, or build it with "
                        "libmpfr-dev");
    }
    return FAR_OK;
}

static far_status check_args(far_ctx *ctx, const far_mat *x, const int64_t *labels, int64_t classes,
                             const far_lnnet_opts *opts)
{
    far_status st = FAR_OK;
    FAR_TRY(check_opts(ctx, opts));
    FAR_TRY(far_mat_check(ctx, x, "x"));
    if (x->rows < 1 || x->cols < 1) {
        return far_fail(ctx, FAR_ERR_SHAPE, "x is %lld x %lld; there must be a row and a column",
                        (long long)x->rows, (long long)x->cols);
    }
    if (!labels || classes < 1 || classes > INT32_MAX / 4) {
        return far_fail(ctx, FAR_ERR_ARG, "labels and the number of classes are needed");
    }
done:
    return st;
}

/* ---- tries at one precision ---------------------------------------------------------------- */

static far_status choose_lines(far_ln_build *b, int64_t *layers)
{
    far_status st = FAR_OK;
    *layers = 0;
    for (int64_t g = 0; g < b->plan.form.groups; g++) {
        far_ln_chain *c = &b->plan.chain[g];
        int64_t runs;
        if (b->wanted[g]) {
            double *own = b->directions + g * b->points.d;
            const double *v =
                far_ln_lines_choose(&b->lines, c->labels, b->mode == FAR_LNNET_RUNS, &runs);
            memcpy(own, v, (size_t)b->points.d * sizeof *v);
            FAR_TRY(far_ln_polish(&b->points, c->labels, own));
            c->seed = far_random_bits(b->opts.seed + 1, (uint64_t)(b->tries * 4096 + g));
            *layers += b->mode == FAR_LNNET_RUNS ? runs : b->points.count;
        }
    }
done:
    return st;
}

static far_status run_chains(far_ln_build *b, const far_ln_ops *ops)
{
    int64_t groups = b->plan.form.groups;
    int threads = far_ctx_threads(b->ctx);
    far_status st = FAR_OK;
    b->watch = (far_ln_watch){.ctx = b->ctx, .what = "lnnet", .every = REPORT_LAYERS};
    FAR_TRY(choose_lines(b, &b->watch.total));
    FAR_TRY(far_progress(b->ctx, b->watch.what, 0, b->watch.total));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t g = 0; g < groups; g++) {
        if (b->wanted[g]) {
            ops->chain_run(&b->plan.chain[g]);
        }
    }
    st = (far_status)atomic_load(&b->watch.stop);
done:
    return st;
}

/* Which chains are to be run again. */
static int64_t note_outcomes(far_ln_build *b)
{
    int64_t failed = 0;
    for (int64_t g = 0; g < b->plan.form.groups; g++) {
        const far_ln_chain *c = &b->plan.chain[g];
        b->tries += b->wanted[g];
        b->wanted[g] = c->outcome != FAR_LN_DONE;
        if (b->wanted[g]) {
            failed++;
            b->outcome = c->outcome;
            b->deepest = c->layers > b->deepest ? c->layers : b->deepest;
        }
    }
    return failed;
}

static far_status try_once(far_ln_build *b, const far_ln_ops *ops, int64_t attempt, bool *good)
{
    far_status st = FAR_OK;
    *good = false;
    if (attempt > 0) {
        FAR_TRY(far_ln_lines_draw(&b->points, far_random_bits(b->opts.seed, (uint64_t)b->tries),
                                  &b->lines));
    }
    FAR_TRY(run_chains(b, ops));
    if (note_outcomes(b) > 0) {
        goto done;
    }
    FAR_TRY(far_ln_verify(b, ops, good));
    if (!*good) {
        b->outcome = FAR_LN_NARROW;
        b->deepest = b->plan.form.layers;
        memset(b->wanted, 1, (size_t)b->plan.form.groups);
    }
done:
    return st;
}

static far_status build_at(far_ln_build *b, const far_ln_ops *ops, int32_t mode, int64_t tries,
                           bool *good)
{
    far_status st = FAR_OK;
    *good = false;
    memset(b->wanted, 1, (size_t)b->plan.form.groups);
    for (int64_t g = 0; g < b->plan.form.groups; g++) {
        FAR_TRY(ops->chain_allocate(ops, b->ctx, &b->plan.chain[g]));
        b->plan.chain[g].mode = mode;
    }
    for (int64_t i = 0; i < tries && !*good; i++) {
        FAR_TRY(try_once(b, ops, b->tries, good));
    }
done:
    for (int64_t g = 0; g < b->plan.form.groups; g++) {
        far_free(b->ctx, b->plan.chain[g].memory);
        b->plan.chain[g].memory = NULL;
    }
    return st;
}

/* ---- precisions ---------------------------------------------------------------------------- */

/* The rule of the paper loses about a quarter of a bit a point. Merging many classes, where
 * rounding differs from what it was in the search, loses an eighth or so. */
static bool is_hopeless(const far_ln_build *b, int64_t bits)
{
    int64_t n = b->points.count;
    bool many = b->mode == FAR_LNNET_MERGE && b->plan.form.classes > 3;
    return (b->mode == FAR_LNNET_PAPER && n / 4 > bits) || (many && bits < 64 && n / 8 > bits);
}

/* Few, where there is another way still; all, where this is what was asked for. */
static int64_t tries_before(const far_ln_build *b, bool asked, int64_t few)
{
    return asked || b->opts.tries < few ? b->opts.tries : few;
}

static far_status build_plain(far_ln_build *b, const far_ln_ops *ops, bool *good)
{
    bool asked = b->opts.precision == ops->precision;
    bool may = asked || b->opts.precision == FAR_LNNET_PRECISION_AUTO;
    /* build_gathered is another way to merge in double; else what was asked for is tried. */
    bool other = ops->precision == FAR_LNNET_DOUBLE && b->mode == FAR_LNNET_MERGE;
    bool hopeless = is_hopeless(b, ops->bits) && (other || !asked);
    bool gather = b->mode == FAR_LNNET_MERGE && is_hopeless(b, far_ln_double.bits);
    int32_t mode = gather ? FAR_LN_GATHER : b->mode;
    return may && !hopeless ? build_at(b, ops, mode, tries_before(b, !other, MERGE_TRIES), good)
                            : FAR_OK;
}

/* Before more than double: some more layers, which bear rounding. */
static far_status build_gathered(far_ln_build *b, bool *good)
{
    bool may = b->opts.precision <= FAR_LNNET_DOUBLE && b->mode == FAR_LNNET_MERGE &&
               b->points.count <= GATHER_MOST;
    bool asked = b->opts.precision == FAR_LNNET_DOUBLE;
    int64_t tries = tries_before(b, asked, GATHER_TRIES);
    return may ? build_at(b, &far_ln_double, FAR_LN_GATHER, tries, good) : FAR_OK;
}

static far_status build_long(far_ln_build *b, bool *good)
{
    far_status st = FAR_OK;
    bool asked = b->opts.precision == FAR_LNNET_MPFR;
    bool may = b->opts.precision == FAR_LNNET_PRECISION_AUTO && b->mode == FAR_LNNET_PAPER &&
               far_lnnet_has_mpfr();
    int64_t bits = b->opts.bits ? b->opts.bits : b->points.count / 3 + 128;
    for (int i = 0; (asked || may) && i < BITS_DOUBLINGS && !*good; i++) {
        far_ln_ops ops = far_ln_mpfr(bits);
        FAR_TRY(build_at(b, &ops, b->mode, b->opts.tries, good));
        bits *= 2;
        if (b->opts.bits || bits > BITS_MOST) {
            break;
        }
    }
done:
    return st;
}

static far_status refuse(const far_ln_build *b)
{
    static const char *const WHY[FAR_LN_OUTCOMES] = {
        [FAR_LN_COLLIDED] = "points of different classes fall together on every line tried",
        [FAR_LN_MIXED] = "points of different classes met",
        [FAR_LN_NARROW] = "gaps between classes became smaller than rounding",
        [FAR_LN_SPREAD] = "points that were merged came apart",
        [FAR_LN_STUCK] = "no fold merges the next pair"};
    bool wider = b->opts.precision == FAR_LNNET_DOUBLE || b->opts.precision == FAR_LNNET_QUAD;
    const char *why = WHY[b->outcome] ? WHY[b->outcome] : "no try ended";
    far_status st = far_ln_points_check_range(&b->points);
    if (st != FAR_OK) {
        return st;
    }
    return far_fail(b->ctx, FAR_ERR_VALUE,
                    "%lld projections tried, none separates the classes: %s (the best after %lld "
                    "layers); try %s",
                    (long long)b->tries, why, (long long)b->deepest,
                    wider                           ? "a higher precision"
                    : b->mode == FAR_LNNET_PAPER    ? "the mode merge"
                    : b->outcome == FAR_LN_COLLIDED ? "to move or remove nearly identical rows"
                                                    : "more tries, another seed or more groups");
}

static far_status build_all(far_ln_build *b)
{
    far_status st = FAR_OK;
    bool good = false;
    FAR_TRY(build_plain(b, &far_ln_double, &good));
    if (!good) {
        FAR_TRY(build_gathered(b, &good));
    }
    if (!good) {
        FAR_TRY(build_plain(b, &far_ln_quad, &good));
    }
    if (!good) {
        FAR_TRY(build_long(b, &good));
    }
    st = good ? FAR_OK : refuse(b);
done:
    return st;
}

/* Points, then a plan of chains, then a search at rising precision that ends with a network that
 * was seen to classify every point, or with the reason why there is none. */
far_status far_lnnet_build(far_ctx *ctx, const far_mat *x, const int64_t *labels, int64_t classes,
                           const far_lnnet_opts *opts, far_net **out, far_lnnet_info *info)
{
    far_status st = FAR_OK;
    double start = far_seconds();
    far_ln_build b = {.ctx = ctx};
    if (!ctx || !out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(check_args(ctx, x, labels, classes, opts));
    b.opts = *opts;
    b.opts.tries = opts->tries > 0 ? opts->tries : TRIES_DEFAULT;
    FAR_TRY(far_ln_points_read(ctx, x, labels, classes, &b.points));
    FAR_TRY(far_ln_plan_make(&b, classes));
    FAR_TRY(build_all(&b));
    *out = b.net;
    b.net = NULL;
    b.info.seconds = far_seconds() - start;
    if (info) {
        *info = b.info;
    }
done:
    far_net_destroy(b.net);
    far_ln_plan_clear(&b);
    far_ln_lines_clear(&b.lines);
    far_ln_points_clear(&b.points);
    return st;
}
