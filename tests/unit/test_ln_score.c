/*
 * What experiments/ln_score.c says of scores: R2 by domain, agreement of intervals, the table and
 * the claims of made-up rows.
 */
#include "ln_score.h" /* before cmocka, which has a fail of its own */

#include "harness.h"

static far_compare_average average(double mean, double half)
{
    return (far_compare_average){mean, half};
}

/* ---- scores ---- */

static void r2_counts_one_domain_alone(void **state)
{
    (void)state;
    const int64_t rows[] = {2, 3, 5, 7, 11};
    const unsigned char out[] = {0, 1, 0, 1, 0};
    const double truth[] = {1, 10, 2, 20, 6}, f[] = {1, 13, 3, -24, 5};
    far_compare_points points = {5, rows, out, truth};
    double most;
    assert_near(ln_r2(&points, f, false, NULL), 1 - 2.0 / 14, 1e-15);
    assert_near(ln_r2(&points, f, true, &most), 1 - (9.0 + 44 * 44) / 50, 1e-12);
    assert_near(most, 24, 0);
}

static void intervals_that_overlap_agree(void **state)
{
    (void)state;
    assert_true(ln_agree(average(0.50, 0.02), average(0.53, 0.01)));
    assert_true(ln_agree(average(0.534, 0.02), average(0.50, 0.01))); /* the paper's is rounded */
    assert_false(ln_agree(average(0.54, 0.02), average(0.50, 0.01)));
    assert_false(ln_agree(average(0.46, 0.02), average(0.50, 0.01)));
    assert_true(ln_agree(average(0.51, NAN), average(0.50, 0.01)));
    assert_false(ln_agree(average(0.52, NAN), average(0.50, 0.01)));
    assert_false(ln_agree(average(0.13, 0.12), average(0.27, 0.04))); /* says nothing */
}

/* ---- what is kept ---- */

static const ln_published PAPER[LN_NETS] = {
    [LN_NONE] = {{0.31, 0.02}, {0.58, 0.01}},
    [LN_FIRST] = {{0.50, 0.02}, {0.59, 0.01}},
    [LN_SECOND] = {{0.50, 0.01}, {0.60, 0.01}},
    [LN_EVERY] = {{0.50, 0.02}, {0.60, 0.01}},
};

enum { ROWS = LN_NETS + 1 };

static void fill_rows(ln_row *rows)
{
    for (int k = 0; k < LN_NETS; k++) {
        rows[k] = (ln_row){.name = text_of("%s", LN_NAMES[k]),
                           .paper = &PAPER[k],
                           .out = average(k == LN_NONE ? 0.30 : 0.60, 0.03),
                           .in = average(0.59, 0.01),
                           .most = 17.26,
                           .verdict = k == LN_NONE ? FAR_UNBOUNDED : FAR_BOUNDED,
                           .bound = 42.5};
    }
    rows[LN_NETS] = (ln_row){.name = text_of("other"),
                             .out = average(0.1, NAN),
                             .in = average(0.2, NAN),
                             .verdict = FAR_UNDECIDED};
}

/* What the experiment of these tests claims; set by each. */
static void (*spoil)(ln_row *rows);

static far_status run_made_up(reproduction *r)
{
    far_status st;
    ln_row rows[ROWS];
    fill_rows(rows);
    if (spoil) {
        spoil(rows);
    }
    TRY(ln_keep_table(r, "judged", "made up", rows, ROWS, true));
    TRY(ln_keep_table(r, "plain", "made up", rows, ROWS, false));
    TRY(ln_keep_bars(r, "bars", rows, ROWS));
    TRY(ln_claim_order(r, "Table 0", 3, rows));
    TRY(ln_claim_bounds(r, 3, rows));
    TRY(ln_claim_cells(r, "Table 0", 3, rows, ROWS));
done:
    ln_rows_free(rows, ROWS);
    return st;
}

static const experiment MADE_UP = {"made-up", "Made up", "nobody", NULL, 0, 0, run_made_up, NULL};

typedef struct fixture {
    far_ctx *ctx;
    char folder[32];
    reproduction r;
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/far-score-XXXXXX");
    if (!f || !mkdtemp(f->folder) || far_ctx_create(NULL, &f->ctx) != FAR_OK) {
        return 1;
    }
    f->r = (reproduction){.ctx = f->ctx, .folder = f->folder, .silent = true};
    *state = f;
    spoil = NULL;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    for (int i = 0; reproduction_file(&f->r, i); i++) {
        char *path = text_of("%s/%s", f->folder, reproduction_file(&f->r, i));
        unlink(path);
        free(path);
    }
    int left = rmdir(f->folder);
    reproduction_close(&f->r);
    far_ctx_destroy(f->ctx);
    free(f);
    return left;
}

static char *read_file(const fixture *f, const char *name)
{
    char *path = text_of("%s/%s", f->folder, name), *text = ROOM(4096, char);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 4095, file) > 0);
    fclose(file);
    free(path);
    return text;
}

static void tables_judge_each_cell(void **state)
{
    fixture *f = *state;
    assert_int_equal(reproduce(&f->r, &MADE_UP), FAR_OK);
    char *judged = read_file(f, "judged.csv"), *plain = read_file(f, "plain.csv");
    assert_non_null(strstr(judged, "\nStandard NN,0.31 +- 0.02,0.30 +- 0.03,yes,0.58 +- 0.01,"
                                   "0.59 +- 0.01,yes,17.2,runs away\n"));
    assert_non_null(strstr(judged, "\nLN first,0.50 +- 0.02,0.60 +- 0.03,\"no, higher\","
                                   "0.59 +- 0.01,0.59 +- 0.01,yes,17.2,|f| <= 42.5\n"));
    assert_non_null(strstr(judged, "\nother,,0.10,,,0.20,,0.0,not known\n"));
    assert_non_null(strstr(plain, "\nLN every,0.50 +- 0.02,0.60 +- 0.03,0.60 +- 0.01,"
                                  "0.59 +- 0.01,17.2,|f| <= 42.5\n"));
    free(judged);
    free(plain);
}

static const claim_record *claim_about(const fixture *f, const char *what)
{
    for (int i = 0; i < f->r.claims; i++) {
        const claim_record *c = reproduction_claim(&f->r, i);
        if (strcmp(c->what, what) == 0) {
            return c;
        }
    }
    fail_msg("no claim about %s", what);
    return NULL;
}

static void claims_follow_the_rows(void **state)
{
    fixture *f = *state;
    assert_int_equal(reproduce(&f->r, &MADE_UP), FAR_OK);
    assert_int_equal(f->r.claims, 1 + LN_NETS + 2 * LN_NETS);
    assert_int_equal(f->r.failed, 3); /* networks with a norm, out of the domain */
    assert_true(reproduction_claim(&f->r, 0)->agrees);
    assert_string_equal(reproduction_claim(&f->r, 0)->paper, "at least 0.50 against 0.31");
    assert_string_equal(reproduction_claim(&f->r, 0)->ours, "at least 0.60 against 0.30");
    assert_true(claim_about(f, "Standard NN, over all inputs")->agrees);
    assert_true(claim_about(f, "LN first, over all inputs")->agrees);
    assert_false(claim_about(f, "LN second, R2 out of domain")->agrees);
    assert_true(claim_about(f, "LN second, R2 in domain")->agrees);
}

static void turn_around(ln_row *rows)
{
    rows[LN_EVERY].out.mean = 0.29;
    rows[LN_NONE].verdict = FAR_BOUNDED;
    rows[LN_FIRST].verdict = FAR_UNDECIDED;
}

static void claims_fail_where_rows_do_not_hold(void **state)
{
    fixture *f = *state;
    spoil = turn_around;
    assert_int_equal(reproduce(&f->r, &MADE_UP), FAR_OK);
    assert_false(reproduction_claim(&f->r, 0)->agrees);
    assert_false(claim_about(f, "Standard NN, over all inputs")->agrees);
    assert_false(claim_about(f, "LN first, over all inputs")->agrees);
    assert_true(claim_about(f, "LN second, over all inputs")->agrees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(r2_counts_one_domain_alone),
        cmocka_unit_test(intervals_that_overlap_agree),
        cmocka_unit_test_setup_teardown(tables_judge_each_cell, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(claims_follow_the_rows, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(claims_fail_where_rows_do_not_hold, open_fixture,
                                        close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
