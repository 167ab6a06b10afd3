/* Results: one set of calls, four renderings; nothing in a text gets out of its place, missing
 * numbers have their reasons, and every failure of memory is told. */
#define _GNU_SOURCE
#include <farfield/result.h>
#include <jansson.h>

#define TEST_OPEN open_result
#define TEST_CLOSE close_result
#include "harness.h"

static far_result *result;
static char *text;

static int open_result(void **state)
{
    assert_int_equal(open_context(state), 0);
    assert_int_equal(far_result_create(ctx, "A title", &result), FAR_OK);
    return 0;
}

/* Every test must give back all it took. */
static int close_result(void **state)
{
    far_text_free(ctx, text);
    text = NULL;
    far_result_destroy(result);
    return close_context(state);
}

static const char *render(far_format format)
{
    far_text_free(ctx, text);
    text = NULL;
    assert_int_equal(far_result_render(ctx, result, format, &text), FAR_OK);
    return text;
}

static void assert_text(const char *wanted)
{
    assert_string_equal(render(FAR_FORMAT_TEXT), wanted);
}

static void assert_json(const char *wanted)
{
    assert_string_equal(render(FAR_FORMAT_JSON), wanted);
}

static void assert_in_page(const char *wanted, bool there)
{
    assert_int_equal(strstr(render(FAR_FORMAT_HTML), wanted) != NULL, there);
}

/* ---- facts ---- */

static void test_facts(void **state)
{
    (void)state;
    far_result_text(result, "file", "a.csv", "file", NULL);
    far_result_count(result, "rows", 1234567890123LL, "rows", "%d of them", 7);
    far_result_number(result, "trace", 0.1, "  trace", NULL);
    far_result_flag(result, "grid", 1, "grid", NULL);
    far_result_number(result, "hidden", 1.0 / 3, NULL, NULL);
    far_result_number(result, NULL, 2, "shown", "%.1f m", 2.0);
    far_result_say(result, "", "and so on");
    assert_text("file           a.csv\n"
                "rows           7 of them\n"
                "  trace        0.1\n"
                "grid           yes\n"
                "shown          2.0 m\n"
                "               and so on\n");
    assert_json("{\"file\": \"a.csv\", \"rows\": 1234567890123, \"trace\": 0.1, \"grid\": true, "
                "\"hidden\": 0.3333333333333333}\n");
    assert_in_page("7 of them", true);
    assert_in_page("0.333", false);
}

static void test_missing_numbers_have_reasons(void **state)
{
    (void)state;
    far_result_number(result, "a", NAN, "a", "%g m", NAN);
    far_result_number(result, "b", INFINITY, "b", NULL);
    far_result_number(result, "c", -INFINITY, NULL, NULL);
    far_result_missing(result, "slope", "the points are all equal", "slope");
    far_result_text(result, "target", NULL, NULL, NULL);
    far_result_list(result, "list", (double[]){1, NAN, INFINITY}, 3);
    far_result_list(result, "far", (double[]){1, -INFINITY}, 2);
    far_result_say(result, "both", "%g, (%.3f), %s", NAN, -NAN, "banana");
    assert_text("a              not defined\n"
                "b              infinite\n"
                "slope          the points are all equal\n"
                "both           -, (-), banana\n");
    assert_json("{\"a\": null, \"a_reason\": \"not defined\", \"b\": null, \"b_reason\": "
                "\"infinite\", \"c\": null, \"c_reason\": \"minus infinite\", \"slope\": null, "
                "\"slope_reason\": \"the points are all equal\", \"target\": null, "
                "\"target_reason\": \"none\", \"list\": [1, null, null], \"list_reason\": \"null: "
                "infinite or not defined\", \"far\": [1, null], \"far_reason\": \"null: "
                "infinite\"}\n");
}

static void test_arrays(void **state)
{
    (void)state;
    float singles[] = {0.1f, 2, 3, 4, 5, 6};
    double numbers[] = {0.1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    far_mat m = far_mat_view(singles, 2, 3, FAR_F32), part = far_mat_view(numbers, 2, 3, FAR_F64);
    part.ld = 5;
    far_result_array(result, "m", &m, (int64_t[]){2, 3}, 2);
    far_result_array(result, "part", &part, (int64_t[]){1, 2, 3}, 3);
    far_result_list(result, "none", NULL, 0);
    far_result_texts(result, "names", (const char *const[]){"x", "\"y\""}, 2);
    assert_json("{\"m\": [\n [0.100000001, 2, 3],\n [4, 5, 6]], \"part\": [\n [\n "
                "[0.10000000000000001, 2, 3],\n [6, 7, 8]]], \"none\": [], \"names\": [\"x\", "
                "\"\\\"y\\\"\"]}\n");
    assert_text("");
}

static void test_groups(void **state)
{
    (void)state;
    far_result_open(result, "centred");
    far_result_number(result, "kta", 0.5, "KTA", NULL);
    far_result_close(result);
    far_result_open_list(result, "layers");
    for (int i = 0; i < 2; i++) {
        far_result_open(result, NULL);
        far_result_count(result, "layer", i + 1, NULL, NULL);
        far_result_close(result);
    }
    far_result_close(result);
    far_result_open_list(result, "nothing");
    far_result_close(result);
    far_result_flag(result, "last", 0, NULL, NULL);
    assert_json("{\"centred\": {\"kta\": 0.5}, \"layers\": [\n {\"layer\": 1},\n {\"layer\": 2}], "
                "\"nothing\": [], \"last\": false}\n");
    assert_text("KTA            0.5\n");
}

static void test_readers(void **state)
{
    (void)state;
    far_result_for(result, FAR_FOR_TEXT);
    far_result_count(result, "one", 1, "uno", NULL);
    far_result_for(result, FAR_FOR_PAGE);
    far_result_count(result, "two", 2, "second", NULL);
    far_result_for(result, FAR_FOR_JSON);
    far_result_count(result, "three", 3, "third", NULL);
    assert_text("uno            1\n");
    assert_json("{\"three\": 3}\n");
    assert_in_page("second", true);
    assert_in_page("uno", false);
}

/* ---- sentences ---- */

static void test_sentences(void **state)
{
    (void)state;
    far_result_verdict(result, FAR_TONE_GOOD, "It is %s.", "bounded");
    far_result_count(result, NULL, 3, "rows", NULL);
    far_result_heading(result, "More");
    far_result_say(result, NULL,
                   "A sentence that is longer than a line of the terminal, which has one hundred "
                   "places, goes on in the next.");
    far_result_origin(result, "command", "farfield %s", "it");
    assert_text(
        "It is bounded.\n"
        "\n"
        "rows           3\n"
        "\n"
        "More\n"
        "A sentence that is longer than a line of the terminal, which has one hundred places, "
        "goes on in the\nnext.\n");
    assert_json("{}\n");
    assert_in_page("<h2>More</h2>", true);
    assert_in_page("farfield it", true);
}

/* A terminal breaks none of them, and an empty one behind a table is not a second gap. */
static void test_lines(void **state)
{
    (void)state;
    static const far_result_column COLUMN = {NULL, "n", "%g"};
    char longer[120], wanted[300];
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = 0;
    longer[60] = ' ';
    far_result_line(result, "%s", longer);
    far_result_line(result, "%s", "");
    far_result_line(result, "  indented\n%d", 7);
    far_result_table(result, NULL, NULL, &COLUMN, 1);
    far_result_cell(result, 3);
    far_result_line(result, "%s", "");
    far_result_line(result, "end");
    snprintf(wanted, sizeof wanted, "%s\n\n  indented\\n7\n\nn\n3\n\nend\n", longer);
    assert_text(wanted);
    assert_json("{}\n");
    assert_in_page("<p>end</p>", true);
}

/* Those of an object that another writer made stand between our own, in any place. */
static void test_fields(void **state)
{
    (void)state;
    far_result_fields(result, "{ }");
    far_result_fields(result, "{\n \"a\": {\"b\": [1]}\n}\n");
    far_result_count(result, "c", 1, "c", NULL);
    far_result_open(result, "o");
    far_result_fields(result, "{\"d\": \"}\"}");
    far_result_fields(result, "{\"e\": null}");
    far_result_close(result);
    assert_json("{\n \"a\": {\"b\": [1]}\n, \"c\": 1, "
                "\"o\": {\"d\": \"}\", \"e\": null}}\n");
    assert_text("c              1\n");
}

/* Names come from files: they must not act on a terminal, end a string or become markup. */
static void test_hostile_texts(void **state)
{
    (void)state;
    far_result_text(result, "\"k\n", "\x1b[2J\"\n<b>\xff", "na\nme", NULL);
    far_result_verdict(result, FAR_TONE_PLAIN, "%s", "<script>\xe2\x80\xae\n");
    assert_text("na\\nme         \\x1b[2J\"\\n<b>\\xff\n<script>\\u202e\\n\n");
    json_t *root = json_loads(render(FAR_FORMAT_JSON), 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "\"k\n")),
                        "\x1b[2J\"\n<b>\xef\xbf\xbd");
    json_decref(root);
    assert_in_page("<b>", false);
}

/* ---- tables ---- */

static void fill_table(void)
{
    static const far_result_column COLUMNS[] = {
        {"name", "network", NULL}, {"r2", "R2", "%8.3f"}, {"n", NULL, "%g"}, {NULL, "time", "%g"}};
    far_result_table(result, "models", "All of them.", COLUMNS, 4);
    far_result_cell_text(result, "%s", "a, b");
    far_result_cell(result, 0.91249);
    far_result_cell(result, 3);
    far_result_cell_words(result, 61, "%d min", 1);
    far_result_cell_text(result, "c");
    far_result_cell(result, NAN);
    far_result_cell(result, INFINITY);
    far_result_cell(result, 4);
}

static void test_tables(void **state)
{
    (void)state;
    far_result_count(result, "rows", 2, "rows", NULL);
    fill_table();
    assert_text("rows           2\n"
                "\n"
                "network        R2   time\n"
                "a, b        0.912  1 min\n"
                "c               -      4\n");
    assert_json("{\"rows\": 2, \"models\": [\n {\"name\": \"a, b\", \"r2\": 0.91249, \"n\": 3},\n "
                "{\"name\": \"c\", \"r2\": null, \"r2_reason\": \"not defined\", \"n\": null, "
                "\"n_reason\": \"infinite\"}]}\n");
    assert_in_page("All of them.", true);
    assert_in_page("0.912", true);
    far_text_free(ctx, text);
    assert_int_equal(far_result_csv(ctx, result, 0, &text), FAR_OK);
    assert_string_equal(text, "name,r2,n\n\"a, b\",0.91249,3\nc,,inf\n");
    far_text_free(ctx, text);
    assert_int_equal(far_result_csv(ctx, result, 1, &text), FAR_ERR_ARG);
}

static void assert_csv(int64_t i, const char *wanted)
{
    far_text_free(ctx, text);
    assert_int_equal(far_result_csv(ctx, result, i, &text), FAR_OK);
    assert_string_equal(text, wanted);
}

/* What a reader of csv must get back, and cells that are empty or not for it. */
static void test_csv_cells(void **state)
{
    (void)state;
    static const far_result_column TWO[] = {{"a \"b\"", "x", NULL}, {"yes", "y", NULL}};
    static const far_result_column ONE[] = {{"c", "c", "%g"}}, NONE[] = {{NULL, "d", "%g"}};
    static const char *const TEXTS[] = {"", " lead", "trail ", "two\nlines", "say \"x\"", "cr\r"};
    far_result_table(result, "t", NULL, TWO, 2);
    for (int i = 0; i < 6; i++) {
        far_result_cell_text(result, "%s", TEXTS[i]);
        far_result_cell_flag(result, i % 2);
    }
    far_result_table(result, "u", NULL, ONE, 1);
    far_result_cell(result, NAN);
    for (int i = 0; i < 40; i++) {
        far_result_cell(result, i);
    }
    far_result_table(result, "v", NULL, NONE, 1);
    far_result_cell(result, 1);
    assert_csv(0, "\"a \"\"b\"\"\",yes\n\"\",0\n\" lead\",1\n\"trail \",0\n\"two\nlines\",1\n"
                  "\"say \"\"x\"\"\",0\n\"cr\r\",1\n");
    far_text_free(ctx, text);
    assert_int_equal(far_result_csv(ctx, result, 1, &text), FAR_OK);
    assert_int_equal(strncmp(text, "c\n\"\"\n0\n1\n", 9), 0);
    assert_non_null(strstr(text, "\n39\n"));
    far_text_free(ctx, text);
    assert_int_equal(far_result_csv(ctx, result, 2, &text), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "table 2 has no keys");
    assert_int_equal(far_result_csv(ctx, result, -1, &text), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "there is no table -1");
    assert_non_null(strstr(render(FAR_FORMAT_TEXT), "yes"));
}

/* Wider than 80 places: first the blanks of formats go, then the widest texts stand last, folded.
 */
static void test_wide_tables(void **state)
{
    (void)state;
    const far_result_column columns[] = {
        {"name", "name", NULL}, {"first", "first", "%40.1f"}, {"second", "second", "%40.1f"}};
    far_result_table(result, "wide", NULL, columns, 3);
    far_result_cell_text(result, "%s", "a");
    far_result_cell(result, 1.5);
    far_result_cell(result, 22.5);
    assert_text("name  first  second\n"
                "a       1.5    22.5\n");
    far_result_table(result, "wider", NULL, columns, 2);
    far_result_cell_text(result, "%s",
                         "dense(b=0.123) ln relu dense(b=0.123) relu [dense(b=0.123) "
                         "relu]x3 dense(b=0.123)");
    far_result_cell(result, -1);
    assert_text("name  first  second\n"
                "a       1.5    22.5\n\n"
                "first  name\n"
                " -1.0  dense(b=0.123) ln relu dense(b=0.123) relu [dense(b=0.123) relu]x3\n"
                "       dense(b=0.123)\n");
}

/* Without long texts the columns go on below, the first of them again; what has no head does not.
 */
static void test_tables_in_parts(void **state)
{
    (void)state;
    const far_result_column columns[] = {{"name", "name", NULL},
                                         {"a", "a first number of many", "%5.1f"},
                                         {"b", "a second number of many", "%5.1f"},
                                         {"hidden", NULL, "%5.1f"},
                                         {"c", "a third number of many", "%5.1f"},
                                         {"d", "a last number of many", "%5.1f"},
                                         {"also", NULL, "%5.1f"}};
    far_result_table(result, "wide", NULL, columns, 7);
    far_result_cell_text(result, "%s", "a");
    for (int i = 1; i < 7; i++) {
        far_result_cell(result, i);
    }
    assert_text("name  a first number of many  a second number of many  a third number of many\n"
                "a                        1.0                      2.0                     4.0\n\n"
                "name  a last number of many\n"
                "a                       5.0\n");
}

static far_figure *make_figure(void)
{
    far_figure_opts opts;
    far_figure *figure = NULL;
    far_figure_opts_init(&opts);
    far_result_check(result, far_figure_create(ctx, &opts, &figure));
    far_result_check(result,
                     far_figure_line(ctx, figure, (double[]){0, 1}, (double[]){0, 1}, 2, NULL));
    return figure;
}

static void test_figures(void **state)
{
    (void)state;
    far_result_figure(result, make_figure(), "curve", "What it does.");
    assert_in_page("download=\"curve.csv\"", true);
    assert_in_page("What it does.", true);
    assert_text("");
}

static void test_append(void **state)
{
    (void)state;
    far_result *more;
    assert_int_equal(far_result_create(ctx, "more", &more), FAR_OK);
    far_result_count(result, "a", 1, "a", NULL);
    far_result_count(more, "b", 2, "b", NULL);
    far_result_figure(more, make_figure(), "f", NULL);
    far_result_append(result, more);
    far_result_append(result, NULL);
    assert_int_equal(far_result_create(ctx, "empty", &more), FAR_OK);
    far_result_append(result, more);
    far_result_count(result, "c", 3, NULL, NULL);
    assert_json("{\"a\": 1, \"b\": 2, \"c\": 3}\n");
    assert_in_page("f.csv", true);
    assert_int_equal(far_result_create(ctx, "open", &more), FAR_OK);
    far_result_open(more, "x");
    far_result_append(result, more);
    far_text_free(ctx, text);
    text = NULL;
    assert_int_equal(far_result_render(ctx, result, FAR_FORMAT_JSON, &text), FAR_ERR_ARG);
}

/* ---- failures ---- */

static void assert_refused(const char *message)
{
    far_text_free(ctx, text);
    assert_int_equal(far_result_render(ctx, result, FAR_FORMAT_TEXT, &text), FAR_ERR_ARG);
    assert_null(text);
    assert_string_equal(far_ctx_message(ctx), message);
    far_result_destroy(result);
    assert_int_equal(far_result_create(ctx, "again", &result), FAR_OK);
}

static void test_refusals(void **state)
{
    (void)state;
    double one = 1;
    far_mat m = far_mat_view(&one, 1, 1, FAR_F64);
    assert_int_equal(far_result_create(ctx, NULL, &(far_result *){NULL}), FAR_ERR_ARG);
    assert_int_equal(far_result_create(ctx, "a", NULL), FAR_ERR_ARG);
    assert_int_equal(far_result_render(ctx, NULL, FAR_FORMAT_TEXT, &text), FAR_ERR_ARG);
    assert_int_equal(far_result_render(ctx, result, FAR_FORMAT_TEXT, NULL), FAR_ERR_ARG);
    assert_int_equal(far_result_render(ctx, result, FAR_FORMAT_JSON, NULL), FAR_ERR_ARG);
    assert_int_equal(far_result_render(ctx, result, FAR_FORMAT_HTML, NULL), FAR_ERR_ARG);
    assert_int_equal(far_result_csv(ctx, result, 0, NULL), FAR_ERR_ARG);
    far_result_cell(result, 1);
    far_result_count(result, "more", 1, "more", NULL); /* nothing happens */
    assert_refused("a cell without a table");
    far_result_close(result);
    assert_refused("a group is closed that was not opened");
    far_result_open(result, "a");
    assert_refused("a group of the result was opened and not closed");
    far_result_array(result, "a", &m, (int64_t[]){2}, 1);
    assert_refused("the shape is not that of the matrix");
    far_result_array(result, "a", &m, (int64_t[]){1}, 9);
    assert_refused("an array has 1 to 8 dimensions");
    far_result_table(result, "a", NULL, NULL, 0);
    assert_refused("a table has one column or more");
    far_result_figure(result, NULL, "a", NULL);
    assert_refused("figure is NULL");
    far_result_texts(result, "a", NULL, 1);
    assert_refused("texts is NULL");
    far_result_fields(result, "[1]");
    assert_refused("the fields to add are no JSON object");
    far_result_fields(result, NULL);
    assert_refused("the fields to add are no JSON object");
    for (int i = 0; i < 1000; i++) {
        far_result_open(result, "a");
    }
    assert_refused("groups are nested too deeply");
    far_result_array(result, "a", &m, NULL, 1);
    assert_refused("an array has 1 to 8 dimensions");
    far_result_destroy(NULL);
    far_result_count(NULL, "a", 1, "a", NULL);
    far_result_check(NULL, FAR_OK);
}

static void add_everything(void)
{
    double numbers[] = {1, 2, 3, 4};
    far_mat m = far_mat_view(numbers, 2, 2, FAR_F64);
    far_result_verdict(result, FAR_TONE_BAD, "%d", 1);
    far_result_number(result, "a", 1, "a", "%d words", 3);
    far_result_text(result, "b", "c", "d", NULL);
    far_result_missing(result, "e", NULL, "f");
    far_result_array(result, "m", &m, (int64_t[]){2, 2}, 2);
    far_result_texts(result, "t", (const char *const[]){"x", "y"}, 2);
    far_result_open(result, "g");
    far_result_heading(result, "h");
    far_result_fields(result, "{\"z\": 1}");
    far_result_close(result);
    far_result_line(result, "%d", 1);
    fill_table();
    far_result_figure(result, make_figure(), "n", "c");
    far_result_origin(result, "command", "x");
}

/* The three formats, then csv of the first table. */
static far_status render_as(int i)
{
    return i < 3 ? far_result_render(ctx, result, (far_format)i, &text)
                 : far_result_csv(ctx, result, 0, &text);
}

/* Each allocation fails in turn: the failure is told by every renderer, and nothing is lost. */
static void test_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool done = false;
        for (int64_t at = 0; !done; at++) {
            far_result_destroy(result);
            assert_int_equal(far_result_create(ctx, "t", &result), FAR_OK);
            test_heap.calls = 0;
            test_heap.fail_at = at;
            add_everything();
            far_status st = render_as(i);
            done = test_heap.calls <= at;
            test_heap.fail_at = -1;
            assert_int_equal(st, done ? FAR_OK : FAR_ERR_MEMORY);
            assert_true(done || !text);
            far_text_free(ctx, text);
            text = NULL;
        }
    }
}

/* ---- drawn at random, against jansson ---- */

static double draw_number(unsigned *seed)
{
    static const double ODD[] = {0,    -0.0,     1e-310, 1e308, 123456789012345680.0,
                                 1e15, INFINITY, NAN,    0.1,   -INFINITY};
    int kind = rand_r(seed) % 16;
    return kind < 10 ? ODD[kind] : ldexp(rand_r(seed) / 3.0, rand_r(seed) % 200 - 100);
}

static void draw_key(unsigned *seed, char key[8])
{
    int length = 1 + rand_r(seed) % 6;
    for (int i = 0; i < length; i++) {
        key[i] = (char)(1 + rand_r(seed) % 126);
    }
    key[length] = 0;
}

static void assert_number(const json_t *root, const char *key, double value)
{
    char reason[128];
    const json_t *found = json_object_get(root, key);
    snprintf(reason, sizeof reason, "%s_reason", key);
    assert_non_null(found);
    if (isfinite(value)) {
        double read = json_number_value(found);
        assert_memory_equal(&read, &value, sizeof value);
    } else {
        assert_true(json_is_null(found));
        assert_string_equal(json_string_value(json_object_get(root, reason)),
                            isnan(value) ? "not defined"
                            : value > 0  ? "infinite"
                                         : "minus infinite");
    }
}

static void test_random_json(void **state)
{
    (void)state;
    enum { FACTS = 12 };
    for (unsigned seed = 1; seed < 500; seed++) {
        unsigned at = seed;
        char keys[FACTS][8];
        double values[FACTS];
        far_result_destroy(result);
        assert_int_equal(far_result_create(ctx, "t", &result), FAR_OK);
        for (int i = 0; i < FACTS; i++) {
            draw_key(&at, keys[i]);
            values[i] = draw_number(&at);
            far_result_open(result, keys[i]);
            far_result_number(result, keys[i], values[i], "n", NULL);
            far_result_close(result);
        }
        json_t *root = json_loads(render(FAR_FORMAT_JSON), JSON_DECODE_INT_AS_REAL, NULL);
        assert_non_null(root);
        for (int i = 0; i < FACTS; i++) {
            bool again = false; /* the last of two with one key counts */
            for (int k = i + 1; k < FACTS; k++) {
                again |= strcmp(keys[k], keys[i]) == 0;
            }
            if (!again) {
                assert_number(json_object_get(root, keys[i]), keys[i], values[i]);
            }
        }
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_facts),       TEST(test_missing_numbers_have_reasons),
        TEST(test_arrays),      TEST(test_groups),
        TEST(test_readers),     TEST(test_sentences),
        TEST(test_tables),      TEST(test_hostile_texts),
        TEST(test_append),      TEST(test_figures),
        TEST(test_wide_tables), TEST(test_tables_in_parts),
        TEST(test_refusals),    TEST(test_csv_cells),
        TEST(test_memory),      TEST(test_random_json),
        TEST(test_lines),       TEST(test_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
