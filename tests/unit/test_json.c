/* JSON in and out: the reader against that of jansson, and every allocation failing in turn. */

#include "failing_json.h"
#include "harness.h"

#include "../../src/data/json_text.h"

/* ---- reading ------------------------------------------------------------------------------- */

static const char *const SOUND[] = {
    "{}",
    "[]",
    " \t\r\n[ ] \n",
    "{\"a\": 1, \"b\": [true, false, null], \"c\": {\"a\": \"x\"}}",
    "[0, -0, 1, -1, 9223372036854775807, -9223372036854775808]",
    "[0.0, -0.0, 1e0, 1E+2, 1.5e-3, 0.1, 1e308, 4.9e-324, 1e-400, 123456789012345678901.5]",
    "[\"\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"]",
    "[\"\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"]",
    "[\"\xe0\xa0\x80 \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\"]", /* the ends of ranges */
    "{\"\": 0, \"a very long key, longer than any buffer that starts small\": \"and as long a "
    "value\"}",
    "[[[[[[[[1]]]]]]]]",
};

static const char *const WRONG[] = {
    "",
    " ",
    "1",
    "\"a\"",
    "null",
    "{",
    "[",
    "]",
    "{}x",
    "[] []",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":2}",
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[-]",
    "[1e]",
    "[1e+]",
    "[0x1]",
    "[NaN]",
    "[nan]",
    "[Infinity]",
    "[inf]",
    "[-inf]",
    "[1e309]",
    "[-1e999]",
    "[9223372036854775808]",
    "[-9223372036854775809]",
    "[True]",
    "[nul]",
    "[truex]",
    "[\"a]",
    "[\"\\x\"]",
    "[\"\\u12\"]",
    "[\"\\u000\"]",
    "[\"\\u0000\"]",
    "[\"\\ud800\"]",
    "[\"\\udc00\"]",
    "[\"\\ud800\\u0041\"]",
    "[\"\t\"]",
    "[\"\n\"]",
    "[\"\xff\"]",
    "[\"\xc0\x80\"]",
    "[\"\xed\xa0\x80\"]",
    "[\"\xf4\x90\x80\x80\"]",
    "[\"\xe2\x82\"]",
    "[\"\xe0\x9f\xbf\"]",
    "[\"\xf0\x8f\xbf\xbf\"]",
    "[\"\xf0\x9f\x98\"]",
    "[\"\xc3\"]",
    "[\"\\u1",
    "[\"\\",
    "[-9223372036854775808, 1e99999]",
    "[1]\xef\xbb\xbf",
    "['a']",
    "{1:2}",
    "[1/*x*/]",
    "{\"a\":1}}",
};

static json_t *read_bytes(const char *text, size_t length, far_json_mistake *m)
{
    json_t *out;
    far_status st = far_json_parse(ctx, text, length, &out, m);
    assert_true(st == FAR_OK || (st == FAR_ERR_FORMAT && !out && m->text[0]));
    assert_true(st == FAR_OK || (m->position >= 0 && (size_t)m->position <= length));
    return out;
}

static void expect_as_jansson(const char *text, size_t length)
{
    far_json_mistake m;
    json_t *own = read_bytes(text, length, &m);
    json_t *other = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    if (!own != !other || (own && !json_equal(own, other))) {
        print_message("not as jansson reads it: %s\n", text);
        fail();
    }
    json_decref(own);
    json_decref(other);
}

static void sound_texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SOUND / sizeof SOUND[0]; i++) {
        far_json_mistake m;
        json_t *read = read_bytes(SOUND[i], strlen(SOUND[i]), &m);
        assert_non_null(read);
        json_decref(read);
        expect_as_jansson(SOUND[i], strlen(SOUND[i]));
    }
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        far_json_mistake m;
        if (read_bytes(WRONG[i], strlen(WRONG[i]), &m)) {
            fail_msg("accepted: %s", WRONG[i]);
        }
        expect_as_jansson(WRONG[i], strlen(WRONG[i]));
    }
}

/* Bytes replaced, taken out, doubled: both readers think the same of what comes out. */
static void damaged_texts_are_read_as_by_jansson(void **state)
{
    (void)state;
    static const char BYTES[] = "\"\\{}[]:,0123456789.eE+-truefalsn \n\tu\xc3\xa9";
    uint64_t counter = 0;
    for (size_t i = 0; i < sizeof SOUND / sizeof SOUND[0]; i++) {
        for (int trial = 0; trial < 3000; trial++) {
            char text[256];
            size_t length = strlen(SOUND[i]);
            memcpy(text, SOUND[i], length + 1);
            for (uint64_t k = far_random_bits(7, counter++) % 3 + 1; k > 0 && length > 0; k--) {
                size_t at = far_random_bits(7, counter++) % length;
                switch (far_random_bits(7, counter++) % 3) {
                case 0:
                    text[at] = BYTES[far_random_bits(7, counter++) % (sizeof BYTES - 1)];
                    break;
                case 1:
                    memmove(text + at, text + at + 1, length - at);
                    length--;
                    break;
                default:
                    memmove(text + at + 1, text + at, length + 1 - at);
                    length++;
                }
            }
            expect_as_jansson(text, length);
        }
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    static char text[200001];
    far_json_mistake m;
    memset(text, '[', sizeof text - 1);
    assert_null(read_bytes(text, sizeof text - 1, &m));
    assert_string_equal(m.text, "nested too deeply");
}

static void mistakes_have_a_place(void **state)
{
    (void)state;
    far_json_mistake m;
    const char *text = "{\n \"a\": 1,\n \"b\": x}";
    assert_null(read_bytes(text, strlen(text), &m));
    assert_int_equal(m.line, 3);
    assert_int_equal(m.column, 7);
    assert_string_equal(m.text, "a value expected, not 'x'");
}

/* A text ends where its length says, whatever follows. */
static void bytes_behind_the_text_do_not_count(void **state)
{
    (void)state;
    far_json_mistake m;
    json_t *read = read_bytes("[1]234", 3, &m);
    assert_int_equal(json_integer_value(json_array_get(read, 0)), 1);
    json_decref(read);
    assert_null(read_bytes("[1.25]", 3, &m));
    assert_null(read_bytes("[true]", 4, &m));
    assert_null(read_bytes("[\"a\"]", 3, &m));
}

/* ---- memory -------------------------------------------------------------------------------- */

/* jansson allocates on its own; here, in a program, it may be told how. */

static void reading_tells_when_memory_fails(void **state)
{
    (void)state;
    json_set_alloc_funcs(json_alloc, json_release);
    for (size_t i = 0; i < sizeof SOUND / sizeof SOUND[0]; i++) {
        far_status st = FAR_ERR_MEMORY;
        for (json_fail_at = 0; st != FAR_OK; json_fail_at++) {
            json_t *out;
            far_json_mistake m;
            json_calls = 0;
            st = far_json_parse(ctx, SOUND[i], strlen(SOUND[i]), &out, &m);
            assert_true(st == FAR_OK || (st == FAR_ERR_MEMORY && !out));
            json_decref(out);
            assert_int_equal(json_live, 0);
        }
        st = FAR_ERR_MEMORY;
        json_fail_at = -1;
        for (int64_t k = 0; st != FAR_OK; k++) {
            json_t *out;
            far_json_mistake m;
            test_heap.calls = 0;
            test_heap.fail_at = k;
            st = far_json_parse(ctx, SOUND[i], strlen(SOUND[i]), &out, &m);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || (st == FAR_ERR_MEMORY && !out));
            json_decref(out);
            assert_int_equal(json_live, 0);
        }
    }
    json_set_alloc_funcs(malloc, free);
}

static far_status write_something(char **out)
{
    static const double VALUES[] = {1.0 / 3, -0.0, 5e-324, INFINITY, -INFINITY, NAN};
    static char *const NAMES[] = {"plain", "caf\xc3\xa9", "caf\xe9"};
    far_json_out w = {.ctx = ctx};
    far_text text = {.ctx = ctx};
    json_t *object = json_object();
    far_json_put(&w, object, "values", far_json_reals(&w, VALUES, 6));
    far_json_put(&w, object, "names", far_json_words(&w, NAMES, 3));
    far_json_put(&w, object, "none", far_json_word(&w, NULL));
    far_json_put(&w, object, "nothing", far_json_reals(&w, NULL, 6));
    far_status st = far_json_print(&w, object, JSON_COMPACT, "a test", &text);
    *out = st == FAR_OK ? text.data : NULL;
    if (st != FAR_OK) {
        far_free(ctx, text.data);
    }
    return st;
}

/* Whole or not at all: what is written while one allocation fails is what is written without. */
static void writing_is_whole_or_fails(void **state)
{
    (void)state;
    static const char WHOLE[] =
        "{\"values\":[0.33333333333333331,-0.0,4.9406564584124654e-324,\"inf\",\"-inf\",null],"
        "\"names\":[\"plain\",\"caf\xc3\xa9\",\"caf?\"],\"none\":null,\"nothing\":null}";
    for (int own = 0; own < 2; own++) {
        far_status st = FAR_ERR_MEMORY;
        json_set_alloc_funcs(json_alloc, json_release);
        for (int64_t k = 0; st != FAR_OK; k++) {
            char *out;
            json_calls = test_heap.calls = 0;
            json_fail_at = own ? -1 : k;
            test_heap.fail_at = own ? k : -1;
            st = write_something(&out);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_true(st != FAR_OK || strcmp(out, WHOLE) == 0);
            assert_true(st == FAR_OK || strstr(far_ctx_message(ctx), "out of memory"));
            assert_int_equal(json_live, 0);
            far_free(ctx, out);
        }
        json_set_alloc_funcs(malloc, free);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sound_texts_are_read),
        TEST(wrong_texts_are_refused),
        TEST(damaged_texts_are_read_as_by_jansson),
        TEST(deep_nesting_is_refused),
        TEST(mistakes_have_a_place),
        TEST(bytes_behind_the_text_do_not_count),
        TEST(reading_tells_when_memory_fails),
        TEST(writing_is_whole_or_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
