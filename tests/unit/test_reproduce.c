/* The frame that experiments run in: claims, files, reports, and how runs end. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's */
#include "reproduce.h"
#include "siren.h"

static char folder[] = "/tmp/test_reproduce.XXXXXX";
static far_ctx *ctx;

static int open_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || far_ctx_create(NULL, &ctx) != FAR_OK;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    far_ctx_destroy(ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static reproduction new_run(void)
{
    return (reproduction){.ctx = ctx, .folder = folder, .silent = true, .quiet = true};
}

static char *content(const char *name)
{
    char *path = text_of("%s/%s", folder, name), *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    free(path);
    if (file && getdelim(&text, &size, 0, file) < 0) {
        free(text);
        text = NULL;
    }
    if (file) {
        fclose(file);
    }
    return text;
}

static void forget(const char *name)
{
    char *path = text_of("%s/%s", folder, name);
    unlink(path);
    free(path);
}

static bool report_says(const char *words)
{
    char *text = content("report.html");
    bool said = text && strstr(text, words);
    free(text);
    return said;
}

/* ---- runs ---- */

static far_status two_claims(reproduction *r)
{
    far_status st;
    TRY(claim(r, &(claim_of){.what = "the first", .tested = "1", .seeds = 7, .agrees = true}, "%d",
              1));
    TRY(claim(r, &(claim_of){.what = "the second", .paper = "two", .place = "Figure 9"}, "%s",
              "three"));
done:
    return st;
}

static void a_claim_that_fails_is_counted_and_told(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "Two claims", .paper = "Nobody 1900", .run = two_claims};
    reproduction r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_OK);
    assert_int_equal(r.claims, 2);
    assert_int_equal(r.failed, 1);
    assert_string_equal(reproduction_claim(&r, 1)->ours, "three");
    assert_null(reproduction_claim(&r, 2));
    assert_string_equal(reproduction_file(&r, 0), "report.html");
    assert_null(reproduction_file(&r, 1));
    assert_true(report_says("1 of 2 claims does not hold."));
    assert_true(report_says("the second: the paper has two (Figure 9); here it is three."));
    assert_true(report_says(">not stated<"));
    assert_false(report_says("By construction"));
    assert_true(report_says("Nobody 1900"));
    reproduction_close(&r);
    forget("report.html");
}

static far_status agrees_twice(reproduction *r)
{
    far_status st;
    claim_of first = {.what = "the first", .tested = "one", .late = true, .agrees = true};
    claim_of second = {.what = "the second", .agrees = true};
    claim_of third = {.what = "the third", .by_construction = true, .agrees = true};
    TRY(claim(r, &first, "%d", 1));
    TRY(claim(r, &second, "%d", 2));
    TRY(claim(r, &third, "%d", 3));
done:
    return st;
}

static void the_report_says_what_was_run(void **state)
{
    (void)state;
    experiment e = {
        .id = "x", .title = "t", .paper = "p", .run = agrees_twice, .note = "what must be said"};
    reproduction r = new_run();
    r.quick = true;
    r.seeds = 3;
    assert_int_equal(reproduce(&r, &e), FAR_OK);
    assert_int_equal(r.constructed, 1);
    assert_true(report_says("Both tested claims hold."));
    assert_true(report_says("one; settled after results were seen"));
    assert_true(report_says("By construction: these hold whatever the networks do"));
    assert_true(report_says("what must be said"));
    assert_true(report_says("This is the quick form"));
    assert_true(report_says(">seeds</th><td class=\"lines\">0 to 2</td>"));
    reproduction_close(&r);
    r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_OK);
    assert_false(report_says("This is the quick form"));
    reproduction_close(&r);
    forget("report.html");
}

static far_status fails_at_once(reproduction *r)
{
    return fail(r, FAR_ERR_IO, "no %s today", "luck");
}

static far_status fails_half_way(reproduction *r)
{
    far_status st = claim(r, &(claim_of){.what = "begun", .agrees = true}, "begun");
    return st == FAR_OK ? fail(r, FAR_ERR_VALUE, "half way") : st;
}

static far_status is_interrupted(reproduction *r)
{
    far_status st = claim(r, &(claim_of){.what = "begun", .agrees = true}, "begun");
    return st == FAR_OK ? FAR_ERR_CANCELLED : st;
}

static void a_run_that_fails_keeps_its_message(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "t", .paper = "p", .run = fails_at_once};
    reproduction r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_ERR_IO);
    assert_string_equal(reproduction_message(&r), "no luck today");
    assert_false(report_says("")); /* nothing to report */
    reproduction_close(&r);

    e.run = fails_half_way;
    r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_ERR_VALUE);
    assert_string_equal(reproduction_message(&r), "half way");
    assert_true(report_says("the run failed half way"));
    assert_false(r.interrupted);
    reproduction_close(&r);
    forget("report.html");
}

static void an_interrupted_run_leaves_a_report(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "t", .paper = "p", .run = is_interrupted};
    reproduction r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_ERR_CANCELLED);
    assert_true(r.interrupted);
    assert_true(report_says("The one tested claim holds; the run was interrupted."));
    reproduction_close(&r);
    forget("report.html");
}

static void a_report_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "t", .paper = "p", .run = two_claims};
    reproduction r = new_run();
    r.folder = "/no/such/folder";
    assert_int_equal(reproduce(&r, &e), FAR_ERR_IO);
    reproduction_close(&r);
}

/* ---- parts ---- */

static far_status keeps_parts(reproduction *r)
{
    static const char *const HEADS[] = {"name", "a, b"};
    static const char *const CELLS[] = {"x", "1", "say \"y\"", NULL, "z", "3"};
    double x[] = {1, 2, 4}, y[] = {3, 1, 2};
    far_figure *figure = NULL;
    far_status st;
    TRY(keep_heading(r, "A heading"));
    TRY(keep_text(r, "%d%% of it", 17));
    TRY(keep_table(r, "table", "A caption", HEADS, 2, CELLS, 3));
    TRY(far_figure_create(r->ctx, NULL, &figure));
    TRY(far_figure_line(r->ctx, figure, x, y, 3, NULL));
    TRY(keep_figure(r, figure, "line", "Up and down"));
done:
    return st;
}

static void parts_are_files_and_in_the_report(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "t", .paper = "p", .run = keeps_parts};
    reproduction r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_OK);
    char *csv = content("table.csv"), *svg = content("line.svg"), *points = content("line.csv");
    assert_string_equal(csv, "name,\"a, b\"\nx,1\n\"say \"\"y\"\"\",\nz,3\n");
    assert_non_null(strstr(svg, "<svg"));
    assert_non_null(strstr(points, "line"));
    assert_string_equal(reproduction_file(&r, 0), "table.csv");
    assert_string_equal(reproduction_file(&r, 1), "line.svg");
    assert_true(report_says("A heading"));
    assert_true(report_says("17% of it"));
    assert_true(report_says("A caption"));
    assert_true(report_says("Up and down"));
    assert_true(report_says("No claim was tested."));
    free(csv);
    free(svg);
    free(points);
    reproduction_close(&r);
    forget("report.html");
}

static far_status keeps_a_table_nowhere(reproduction *r)
{
    static const char *const HEADS[] = {"a"};
    return keep_table(r, "no/such/place", "c", HEADS, 1, HEADS, 1);
}

static void a_table_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "t", .paper = "p", .run = keeps_a_table_nowhere};
    reproduction r = new_run();
    assert_int_equal(reproduce(&r, &e), FAR_ERR_IO);
    assert_non_null(strstr(reproduction_message(&r), "no/such/place.csv: cannot write"));
    reproduction_close(&r);
}

/* ---- data and numbers ---- */

static void data_are_found_or_asked_for(void **state)
{
    (void)state;
    reproduction r = new_run();
    char *path = NULL, *file = text_of("%s/some.npz", folder);
    assert_int_equal(find_data(&r, "some.npz", &path), FAR_ERR_IO);
    assert_non_null(strstr(reproduction_message(&r), "--data DIR"));
    r.data = folder;
    assert_int_equal(find_data(&r, "some.npz", &path), FAR_ERR_IO);
    fclose(fopen(file, "w"));
    assert_int_equal(find_data(&r, "some.npz", &path), FAR_OK);
    assert_string_equal(path, file);
    free(path);
    assert_int_equal(find_data(&r, "protein", &path), FAR_ERR_IO);
    assert_non_null(strstr(reproduction_message(&r), "farfield data get protein"));
    assert_null(path);
    unlink(file);
    free(file);
}

static void what_is_asked_for_comes_before_the_quick_form(void **state)
{
    (void)state;
    reproduction r = new_run();
    assert_int_equal(seeds_of(&r, 2, 5), 5);
    assert_int_equal(epochs_of(&r, 20, 50), 50);
    r.quick = true;
    assert_int_equal(seeds_of(&r, 2, 5), 2);
    assert_int_equal(epochs_of(&r, 20, 50), 20);
    r.seeds = 7;
    r.epochs = 11;
    assert_int_equal(seeds_of(&r, 2, 5), 7);
    assert_int_equal(epochs_of(&r, 20, 50), 11);
}

/* ---- pictures ---- */

enum { PIXELS = 32 * 32, PICTURES = 3 };

/* As CIFAR-10 has them: a label, then red, green and blue. Picture k is 85 k all over, but for the
 * second point, whose colours are 0, 51 and 102. */
static void write_pictures(void)
{
    char *cifar = text_of("%s/cifar10", folder);
    char *path = text_of("%s/data_batch_1.bin", cifar);
    assert_int_equal(mkdir(cifar, 0700), 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int k = 0; k < PICTURES; k++) {
        unsigned char bytes[1 + 3 * PIXELS];
        memset(bytes, 85 * k, sizeof bytes);
        for (int colour = 0; colour < 3; colour++) {
            bytes[1 + colour * PIXELS + 1] = (unsigned char)(51 * colour);
        }
        assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    }
    fclose(file);
    free(path);
    free(cifar);
}

static far_status looks_at_small_pictures(reproduction *r)
{
    siren_image images[PICTURES] = {{0}};
    far_status st = siren_small_open(r, images, PICTURES);
    for (int k = 0; k < PICTURES && st == FAR_OK; k++) {
        const double *x = images[k].x.data, *grey = images[k].grey.data;
        assert_int_equal(images[k].side, 32);
        assert_true(x[0] == -1 && x[1] == 1 && x[2 * PIXELS - 2] == 1 && x[2 * PIXELS - 1] == -1);
        assert_true(fabs(x[2] - (-1 + 2.0 / 31)) < 1e-15 && x[3] == 1);
        assert_true(fabs(grey[0] - (2 * 85.0 * k / 255 - 1)) < 1e-12 &&
                    grey[PIXELS - 1] == grey[0]);
        assert_true(fabs(grey[1] - -0.6) < 1e-12);
    }
    assert_string_equal(images[1].name, "CIFAR-10, picture 2");
    for (int k = 0; k < PICTURES; k++) {
        siren_image_close(&images[k]);
    }
    return st;
}

static far_status wants_too_many_pictures(reproduction *r)
{
    siren_image images[PICTURES + 1] = {{0}};
    return siren_small_open(r, images, PICTURES + 1);
}

static void small_pictures_are_grey_and_as_they_are(void **state)
{
    (void)state;
    experiment e = {.id = "x", .title = "T", .paper = "P", .run = looks_at_small_pictures};
    reproduction r = new_run();
    r.data = folder;
    write_pictures();
    assert_int_equal(reproduce(&r, &e), FAR_OK);
    reproduction_close(&r);
    r = new_run();
    r.data = folder;
    e.run = wants_too_many_pictures;
    assert_int_equal(reproduce(&r, &e), FAR_ERR_FORMAT);
    assert_non_null(strstr(reproduction_message(&r), "has not 4 images of 32 x 32"));
    reproduction_close(&r);
    forget("report.html");
}

static void experiments_have_ids_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        const experiment *e = &EXPERIMENTS[i];
        assert_ptr_equal(find_experiment(e->id), e);
        assert_true(e->title && e->paper && e->run);
        assert_true(e->quick_seconds < 60 && e->quick_seconds <= e->seconds);
    }
    assert_null(find_experiment("ln-fig"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_that_fails_is_counted_and_told),
        cmocka_unit_test(the_report_says_what_was_run),
        cmocka_unit_test(a_run_that_fails_keeps_its_message),
        cmocka_unit_test(an_interrupted_run_leaves_a_report),
        cmocka_unit_test(a_report_that_cannot_be_written_is_an_error),
        cmocka_unit_test(parts_are_files_and_in_the_report),
        cmocka_unit_test(a_table_that_cannot_be_written_is_an_error),
        cmocka_unit_test(data_are_found_or_asked_for),
        cmocka_unit_test(what_is_asked_for_comes_before_the_quick_form),
        cmocka_unit_test(small_pictures_are_grey_and_as_they_are),
        cmocka_unit_test(experiments_have_ids_of_their_own),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
