/* Layer norm in groups in every norm of a small transformer that reads bytes of text. */
#include "fortunes.h"
#include "lnnet_random.h"
#include "lnnet_variants.h"
#include "registry.h"
#include "run_grid.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 64, ATTENTION_HEADS = 4, BLOCKS = 2, BATCH = 32, BYTES = 256, QUICK_TOKENS = 16 };
static const double TEST_PART = 0.1;

/* ---- text ---------------------------------------------------------------------------------- */

typedef struct text {
    unsigned char *bytes;
    int64_t length;
    int64_t files;
    const char *from;
} text;

/* All files, one behind the other. */
static far_status read_text(reproduction *r, text *out)
{
    shelf s;
    far_status st = shelf_open(r, &s);
    if (st == FAR_OK) {
        *out = (text){ROOM(s.length, unsigned char), 0, s.count, s.from};
        for (int64_t i = 0; i < s.count; i++) {
            memcpy(out->bytes + out->length, s.books[i].bytes, (size_t)s.books[i].length);
            out->length += s.books[i].length;
        }
    }
    shelf_free(&s);
    return st;
}

/* For the quick form, without data: sixteen letters. A run of up to four of one letter, then the
 * letter that stands as far behind it as the run was long: to know what comes one has to look
 * back. */
static void make_text(int64_t length, text *out)
{
    uint64_t state = 3;
    unsigned char letter = 0;
    *out = (text){.bytes = ROOM(length, unsigned char), .length = length, .from = "made"};
    for (int64_t i = 0; i < length;) {
        int64_t run = 1 + (int64_t)(uniform(&state) * 4);
        for (int64_t k = 0; k < run && i < length; k++) {
            out->bytes[i++] = letter;
        }
        letter = (unsigned char)((letter + run * 3) % QUICK_TOKENS);
    }
}

/* ---- networks ------------------------------------------------------------------------------ */

typedef struct plan {
    int64_t seeds, epochs, places, tokens;
    far_mat train, test; /* windows of places + 1 tokens */
    const char *archs[NORMS];
} plan;

/* What a network of one norm and seed has come to: numbers alone, as run_grid keeps them. */
typedef struct run {
    double fitted, bits; /* a byte: of the text trained on, and of that kept aside */
} run;

/* Windows one behind the other, the last token of one the first of the next. */
static far_mat windows(const unsigned char *bytes, int64_t length, int64_t places)
{
    int64_t rows = (length - 1) / places, width = places + 1;
    double *values = ROOM(rows * width, double);
    for (int64_t i = 0; i < rows * width; i++) {
        values[i] = bytes[i / width * places + i % width];
    }
    return far_mat_view(values, rows, width, FAR_F64);
}

static const char *arch_text(reproduction *r, const plan *p, int norm)
{
    const char *n = norm_text(r, norm, CHANNELS, true);
    return words(r,
                 "tokens(%lld, %lld) embed(%d) position [skip(%sattention(%d, causal)) "
                 "skip(%sdense(%d) gelu dense(%d))]x%d %sdense(%lld)",
                 (long long)p->places, (long long)p->tokens, CHANNELS, n, ATTENTION_HEADS, n,
                 4 * CHANNELS, CHANNELS, BLOCKS, n, (long long)p->tokens);
}

static far_status train(reproduction *r, int64_t seed, far_net *net, const far_mat *x,
                        int64_t epochs, double *bits)
{
    far_train_opts o;
    far_train_result found;
    far_train_opts_init(&o);
    o.next = 1;
    o.loss = FAR_LOSS_CE;
    o.lr = 2e-3;
    o.epochs = epochs;
    o.batch = BATCH;
    o.seed = (uint64_t)seed;
    far_status st = far_net_train(r->ctx, net, x, NULL, &o, &found);
    *bits = found.final_loss / M_LN2;
    return st;
}

static far_status one_run(reproduction *r, int64_t norm, int64_t seed, double *found, void *user)
{
    const plan *p = user;
    run *job = (run *)found;
    far_net *net = NULL;
    far_status st;
    TRY(new_net(r, p->archs[norm], 0, FAR_INIT_TORCH, (uint64_t)seed, &net));
    TRY(train(r, seed, net, &p->train, p->epochs, &job->fitted));
    TRY(train(r, seed, net, &p->test, 0, &job->bits));
done:
    far_net_destroy(net);
    return st;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static far_status claim_below(reproduction *r, const plan *p, const double *bits, int norm)
{
    interval gain, ours, theirs;
    const double *grouped = bits + norm * p->seeds, *one = bits + NORM_LN * p->seeds;
    far_status st;
    TRY(interval_of(r, one, grouped, p->seeds, &gain));
    TRY(interval_of(r, grouped, NULL, p->seeds, &ours));
    TRY(interval_of(r, one, NULL, p->seeds, &theirs));
    st = claim(r,
               &(claim_of){.what = words(r, "%s against LN", NORM_NAMES[norm]),
                           .paper = "gains from grouping",
                           .place = LNNET_NOT_READ "its section on CNNs and transformers",
                           .tested = "bits per byte of text kept aside: the 95% interval over "
                                     "seeds of what grouping saves lies above 0",
                           .seeds = p->seeds,
                           .agrees = gain.mean - gain.half > 0},
               "%.3f against %.3f: saves %+.4f +- %.4f", ours.mean, theirs.mean, gain.mean,
               gain.half);
done:
    return st;
}

/* That the networks learn anything at all. */
static far_status claim_learnt(reproduction *r, const plan *p, const double *bits, double entropy)
{
    interval ours;
    far_status st = interval_of(r, bits + NORM_LN * p->seeds, NULL, p->seeds, &ours);
    return st == FAR_OK
               ? claim(r,
                       &(claim_of){.what = "LN against the frequencies of bytes",
                                   .tested =
                                       "at least half a bit per byte less than the entropy of "
                                       "single bytes, on text kept aside",
                                   .seeds = p->seeds,
                                   .agrees = ours.mean + ours.half < entropy - 0.5},
                       "%.3f +- %.3f bits per byte; single bytes: %.3f", ours.mean, ours.half,
                       entropy)
               : st;
}

/* Of single tokens of the text kept aside, in bits. */
static double entropy_of(const plan *p)
{
    double count[BYTES] = {0}, sum = 0, all = (double)(p->test.rows * p->places);
    for (int64_t i = 0; i < p->test.rows; i++) {
        const double *row = (const double *)p->test.data + i * p->test.ld;
        for (int64_t k = 1; k <= p->places; k++) {
            count[(int)row[k]]++;
        }
    }
    for (int k = 0; k < BYTES; k++) {
        sum -= count[k] > 0 ? count[k] / all * log2(count[k] / all) : 0;
    }
    return sum;
}

static far_status keep_results(reproduction *r, const plan *p, const run *runs)
{
    static const char *const HEADS[] = {"norms", "bits per byte, kept aside", "bits, trained on"};
    sheet table = {.heads = HEADS, .cols = sizeof HEADS / sizeof HEADS[0]};
    double *bits = ROOM(2 * NORMS * p->seeds, double), *fitted = bits + NORMS * p->seeds;
    interval test, fit;
    far_status st = FAR_OK;
    for (int64_t i = 0; i < NORMS * p->seeds; i++) {
        bits[i] = runs[i].bits;
        fitted[i] = runs[i].fitted;
    }
    for (int v = NORM_LN; v < NORMS; v++) {
        TRY(interval_of(r, bits + v * p->seeds, NULL, p->seeds, &test));
        TRY(interval_of(r, fitted + v * p->seeds, NULL, p->seeds, &fit));
        add_cell(&table, "%s", NORM_NAMES[v]);
        add_cell(&table, "%.4f +- %.4f", test.mean, test.half);
        add_cell(&table, "%.4f +- %.4f", fit.mean, fit.half);
    }
    TRY(claim_learnt(r, p, bits, entropy_of(p)));
    for (int v = NORM_BY_8; v < NORMS && !r->quick; v++) {
        TRY(claim_below(r, p, bits, v));
    }
done:
    free(bits);
    return keep_sheet(r, &table, "lnnet-transformer-table", "Mean over seeds and its 95% interval.",
                      st);
}

static far_status explain(reproduction *r, const plan *p, const text *t)
{
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "%s. The last tenth is kept aside. Transformers that predict the next byte: %lld "
        "positions, "
        "%d channels, %d heads, %d blocks with a norm in front of attention and of the dense "
        "layers "
        "(%d, gelu), and one in front of the last layer; LN, or LN-G with groups of 8 or 4 "
        "channels, in all of them; eps = 1e-5, scale and shift are learnt. Adam, rate 0.002, "
        "%lld pass%s over the text in batches of %d windows, %lld seeds.",
        r->quick ? "Letters made for this quick form"
                 : words(r, "%lld bytes of %lld files in %s", (long long)t->length,
                         (long long)t->files, t->from),
        (long long)p->places, CHANNELS, ATTENTION_HEADS, BLOCKS, 4 * CHANNELS, (long long)p->epochs,
        p->epochs == 1 ? "" : "es", BATCH, (long long)p->seeds));
    TRY(keep_text(r,
                  "Our own measurement in the spirit of the paper, whose translation networks and "
                  "numbers are not known to us. Nothing was tuned for any of the norms. Every "
                  "byte of the text kept aside is predicted once, from the bytes before it in "
                  "its window."));
done:
    return st;
}

/* Sabotaged: without its order a text has nothing to learn but how often each byte comes. */
static void shuffle(text *t)
{
    uint64_t state = 1;
    for (int64_t i = t->length - 1; i > 0; i--) {
        int64_t j = (int64_t)(uniform(&state) * (double)(i + 1));
        unsigned char held = t->bytes[i];
        t->bytes[i] = t->bytes[j];
        t->bytes[j] = held;
    }
}

static far_status take_text(reproduction *r, plan *p, text *t)
{
    far_status st = FAR_OK;
    if (r->quick) {
        make_text(12000, t);
    } else {
        TRY(read_text(r, t));
    }
    if ((double)t->length * TEST_PART < (double)(10 * p->places)) {
        TRY(fail(r, FAR_ERR_FORMAT, "%s has %lld bytes of text, too few: %lld are needed", t->from,
                 (long long)t->length, (long long)((double)(10 * p->places) / TEST_PART)));
    }
    if (r->sabotage) {
        shuffle(t);
    }
    int64_t kept = t->length - (int64_t)((double)t->length * TEST_PART);
    p->train = windows(t->bytes, kept, p->places);
    p->test = windows(t->bytes + kept, t->length - kept, p->places);
done:
    return st;
}

far_status run_lnnet_transformer(reproduction *r)
{
    text t = {0};
    plan p = {.seeds = seeds_of(r, 2, 3),
              .epochs = epochs_of(r, 4, 1),
              .places = r->quick ? 16 : 64,
              .tokens = r->quick ? QUICK_TOKENS : BYTES};
    run *runs = ROOM(NORMS * p.seeds, run);
    run_grid grid = {.name = "lnnet-transformer",
                     .variants = NORMS,
                     .seeds = p.seeds,
                     .first = NORM_LN,
                     .epochs = p.epochs,
                     .numbers = sizeof(run) / sizeof(double),
                     .found = (double *)runs};
    far_status st;
    TRY(random_check_seeds(r, p.seeds));
    TRY(take_text(r, &p, &t));
    for (int v = NORM_LN; v < NORMS; v++) {
        p.archs[v] = arch_text(r, &p, v);
    }
    TRY(explain(r, &p, &t));
    TRY(run_grid_all(r, "networks", &grid, one_run, &p));
    TRY(keep_results(r, &p, runs));
done:
    FREE(t.bytes, p.train.data, p.test.data, runs);
    return st;
}
