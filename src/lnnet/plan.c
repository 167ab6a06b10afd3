/* Which chains there are, and what each of them is to tell apart. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

static void count_classes(const far_ln_points *p, int64_t classes, int64_t *counts)
{
    memset(counts, 0, (size_t)classes * sizeof *counts);
    for (int64_t i = 0; i < p->count; i++) {
        counts[p->label[i]]++;
    }
}

static int64_t present(const int64_t *counts, int64_t classes)
{
    int64_t found = 0;
    for (int64_t k = 0; k < classes; k++) {
        found += counts[k] > 0;
    }
    return found;
}

static far_status check_mode(const far_ln_build *b, int64_t found)
{
    int64_t groups = b->opts.groups;
    int32_t mode = b->opts.mode;
    if (mode == FAR_LNNET_RUNS && found > 2 && groups <= 1) {
        return far_fail(b->ctx, FAR_ERR_ARG,
                        "runs takes two classes at a time, and there are %lld; use merge, or at "
                        "least %lld groups",
                        (long long)found, (long long)found);
    }
    if (groups > 1 && mode != FAR_LNNET_AUTO && mode != FAR_LNNET_RUNS) {
        return far_fail(b->ctx, FAR_ERR_ARG,
                        "chains side by side merge runs, not %s; use mode auto or runs, or one "
                        "group",
                        far_lnnet_mode_name(mode));
    }
    if (groups > 1 && found > 2 && groups < found) {
        return far_fail(b->ctx, FAR_ERR_ARG,
                        "%lld groups are too few for %lld classes: take one, or at least %lld",
                        (long long)groups, (long long)found, (long long)found);
    }
    return FAR_OK;
}

static int32_t choose_mode(const far_ln_build *b, int64_t found)
{
    if (b->opts.mode != FAR_LNNET_AUTO) {
        return b->opts.mode;
    }
    return found <= 2 || b->plan.votes ? FAR_LNNET_RUNS : FAR_LNNET_MERGE;
}

/* ---- chains among the classes -------------------------------------------------------------- */

/* The class whose chains have the most points each. */
static int64_t neediest(const int64_t *counts, const int64_t *chains, int64_t classes)
{
    int64_t best = -1;
    for (int64_t k = 0; k < classes; k++) {
        bool first = best < 0 || chains[k] * counts[best] < chains[best] * counts[k];
        if (counts[k] > 0 && (first || (chains[k] == 0 && chains[best] > 0))) {
            best = k;
        }
    }
    return best;
}

/* Two classes: all chains vote for the smaller one. */
static void keep_smaller(int64_t *counts, int64_t classes)
{
    int64_t smaller = -1;
    for (int64_t k = 0; k < classes; k++) {
        if (counts[k] > 0 && (smaller < 0 || counts[k] < counts[smaller])) {
            smaller = k;
        }
    }
    for (int64_t k = 0; k < classes; k++) {
        counts[k] = k == smaller ? counts[k] : 0;
    }
}

static void set_offsets(far_ln_plan *plan, const int64_t *counts, const int64_t *chains, bool two)
{
    for (int64_t k = 0; k < plan->form.classes; k++) {
        plan->offset[k] = counts[k] == 0 ? -1 : chains[k] > 0 ? (double)(chains[k] - two) : 0;
    }
}

/* Chain `chain`, number `number` of the `parts` of its class: those of the class's points that lie
 * in this part of it along the first line are 1, the others of the class do not matter. Where there
 * are more chains than points, parts are taken again: none may be empty. */
static void label_part(far_ln_build *b, int64_t chain, int64_t number, int64_t parts, int64_t count)
{
    const far_ln_points *p = &b->points;
    int32_t *labels = b->labels + chain * p->count, voice = b->plan.voice[chain];
    int64_t seen = 0;
    parts = parts < count ? parts : count;
    int64_t part = number % parts;
    for (int64_t i = 0; i < p->count; i++) {
        int64_t point = b->lines.order[i];
        bool own = p->label[point] == voice;
        bool mine = own && seen * parts / count == part;
        labels[point] = !own ? 0 : mine ? 1 : -1;
        seen += own;
    }
}

static far_status share_chains(far_ln_build *b, int64_t *counts, int64_t *chains, int64_t *parts)
{
    far_ln_plan *plan = &b->plan;
    int64_t classes = plan->form.classes;
    bool two = present(counts, classes) == 2;
    int64_t *voting = parts; /* borrowed while counting */
    memcpy(voting, counts, (size_t)classes * sizeof *voting);
    if (two) {
        keep_smaller(voting, classes);
    }
    for (int64_t g = 0; g < plan->form.groups; g++) {
        int64_t k = neediest(voting, chains, classes);
        plan->voice[g] = (int32_t)k;
        chains[k]++;
    }
    set_offsets(plan, counts, chains, two);
    memset(parts, 0, (size_t)classes * sizeof *parts);
    for (int64_t g = 0; g < plan->form.groups; g++) {
        int32_t k = plan->voice[g];
        label_part(b, g, parts[k]++, chains[k], counts[k]);
    }
    return FAR_OK;
}

static void label_plain(far_ln_build *b)
{
    memcpy(b->labels, b->points.label, (size_t)b->points.count * sizeof *b->labels);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void start_chain(far_ln_build *b, int64_t g)
{
    bool votes = b->plan.votes;
    b->plan.chain[g] = (far_ln_chain){.points = &b->points,
                                      .labels = b->labels + g * b->points.count,
                                      .classes = votes ? 2 : (int32_t)b->plan.form.classes,
                                      .mode = b->mode,
                                      .direction = b->directions + g * b->points.d,
                                      .watch = &b->watch};
    b->wanted[g] = 1;
}

static far_status allocate(far_ln_build *b)
{
    far_status st = FAR_OK;
    far_ctx *ctx = b->ctx;
    int64_t groups = b->plan.form.groups;
    FAR_TRY(far_alloc(ctx, groups, &b->plan.chain));
    FAR_TRY(far_alloc(ctx, groups, &b->plan.voice));
    FAR_TRY(far_alloc(ctx, b->plan.form.classes, &b->plan.offset));
    FAR_TRY(far_alloc(ctx, groups * b->points.count, &b->labels));
    FAR_TRY(far_alloc(ctx, groups * b->points.d, &b->directions));
    FAR_TRY(far_alloc(ctx, groups, &b->wanted));
done:
    return st;
}

/* Which chains there will be, and which points each must tell apart: one chain for all classes, or
 * several that vote, shared among the classes by their size. */
far_status far_ln_plan_make(far_ln_build *b, int64_t classes)
{
    far_status st = FAR_OK;
    int64_t *counts = NULL, *chains = NULL, *parts = NULL;
    int64_t groups = b->opts.groups > 1 ? b->opts.groups : 1;
    b->plan.form = (far_ln_form){.d = b->points.d, .classes = classes, .groups = groups};
    b->plan.votes = groups > 1;
    FAR_TRY(far_alloc(b->ctx, classes, &counts));
    FAR_TRY(far_alloc(b->ctx, classes, &chains));
    FAR_TRY(far_alloc(b->ctx, classes, &parts));
    count_classes(&b->points, classes, counts);
    FAR_TRY(check_mode(b, present(counts, classes)));
    b->mode = choose_mode(b, present(counts, classes));
    FAR_TRY(allocate(b));
    FAR_TRY(far_ln_lines_draw(&b->points, far_random_bits(b->opts.seed, 0), &b->lines));
    if (b->plan.votes) {
        FAR_TRY(share_chains(b, counts, chains, parts));
    } else {
        label_plain(b);
    }
    for (int64_t g = 0; g < groups; g++) {
        start_chain(b, g);
    }
done:
    FAR_FREE_ALL(b->ctx, counts, chains, parts);
    return st;
}

void far_ln_plan_clear(far_ln_build *b)
{
    FAR_FREE_ALL(b->ctx, b->plan.chain, b->plan.voice, b->plan.offset, b->labels, b->directions,
                 b->wanted);
}
