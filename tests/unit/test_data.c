/* Files in and out: every format, every message, every failing allocation. */
#define _GNU_SOURCE
#include "../../src/data/frame_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zip.h>

#define TEST_THREADS 0
#include "harness.h"

static void expect_text(const char *path, const char *text)
{
    size_t size;
    char *data = read_whole(path, &size);
    assert_string_equal(data, text);
    free(data);
}

/* ---- expectations ---- */

static void expect_failure_of(far_status st, far_status status, const char *message)
{
    assert_string_equal(far_ctx_message(ctx), message);
    assert_int_equal(st, status);
}

static void expect_failure(const char *path, const char *member, far_status status,
                           const char *message)
{
    far_array *t = (far_array *)&test_heap;
    far_status st = far_array_read(ctx, path, member, 2, &t);
    assert_null(t);
    expect_failure_of(st, status, message);
}

static far_array *expect_table(const char *path, const char *member, int64_t rows, int64_t cols,
                               const double *values)
{
    far_array *t;
    if (far_array_read(ctx, path, member, 2, &t) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    far_mat m = far_array_describe(t).values;
    assert_int_equal(m.rows, rows);
    assert_int_equal(m.cols, cols);
    assert_int_equal(m.ld, cols);
    assert_int_equal(m.dtype, FAR_F64);
    assert_int_equal(m.device, 0);
    assert_memory_equal(m.data, values, (size_t)(rows * cols) * sizeof *values);
    return t;
}

static void expect_values(const char *path, int64_t rows, int64_t cols, const double *values)
{
    far_array_destroy(expect_table(path, NULL, rows, cols, values));
}

/* ---- csv ---- */

typedef struct csv_case {
    const char *text;
    int64_t rows, cols;
    double values[8];
    const char *names[4]; /* names[0] NULL: no header */
} csv_case;

static const csv_case csv_cases[] = {
    {"1,2,3\n4,5,6\n", 2, 3, {1, 2, 3, 4, 5, 6}, {0}},
    {"1,2,3\n4,5,6", 2, 3, {1, 2, 3, 4, 5, 6}, {0}},
    {"1,2\r\n3,4\r\n", 2, 2, {1, 2, 3, 4}, {0}},
    {"1,2\r\n3,4\r", 2, 2, {1, 2, 3, 4}, {0}},
    {"a,b\r3,4\r5,6\r", 2, 2, {3, 4, 5, 6}, {"a", "b"}},
    {"\xEF\xBB\xBFx,y\n1,2\n", 1, 2, {1, 2}, {"x", "y"}},
    {"# made by hand\n\n  \n \t# more\nx,y\n#1,2\n\n3,4\n\n", 1, 2, {3, 4}, {"x", "y"}},
    {"7\n", 1, 1, {7}, {0}},
    {"7", 1, 1, {7}, {0}},
    {"size\n7\n-8\n", 2, 1, {7, -8}, {"size"}},
    {"1;2;3\n4;5;6\n", 2, 3, {1, 2, 3, 4, 5, 6}, {0}},
    {"a;b\n4;\t5\n", 1, 2, {4, 5}, {"a", "b"}},
    {"1\t2\n 3 \t 4 \n \n", 2, 2, {1, 2, 3, 4}, {0}},
    {"  1   2  3\n4 \t5 6 \t \n", 2, 3, {1, 2, 3, 4, 5, 6}, {0}},
    {"a b\n1 2\n", 1, 2, {1, 2}, {"a", "b"}},
    {"\"a\" \"b c\"\n\"1\" 2\n", 1, 2, {1, 2}, {"a", "b c"}},
    {" 1 , 2\t,3 \n", 1, 3, {1, 2, 3}, {0}},
    {"\"1\", \" 2 \" ,3\n", 1, 3, {1, 2, 3}, {0}},
    {"\"a,b\",\"say \"\"hi\"\"\",\" c \"\n1,2,3\n", 1, 3, {1, 2, 3}, {"a,b", "say \"hi\"", "c"}},
    {"\"a;b\";c\n1;2\n", 1, 2, {1, 2}, {"a;b", "c"}},
    {",x\n0,5\n", 1, 2, {0, 5}, {"", "x"}},
    {"x,2019,2020\n1,2,3\n", 1, 3, {1, 2, 3}, {"x", "2019", "2020"}},
    {"gr\xC3\xB6\xC3\x9F"
     "e,b\n1,2\n",
     1,
     2,
     {1, 2},
     {"gr\xC3\xB6\xC3\x9F"
      "e",
      "b"}},
    {"+1,-2.,.5,1e3\n", 1, 4, {1, -2, .5, 1000}, {0}},
    {"12,\"-1e-2\",0x,3\n5,6,7,8\n", 1, 4, {5, 6, 7, 8}, {"12", "-1e-2", "0x", "3"}},
    {"-0,0,0.1,1e-999\n", 1, 4, {-0.0, 0, 0.1, 0}, {0}},
    {"9007199254740993,123456789012345678901234567890\n",
     1,
     2,
     {9007199254740992, 123456789012345678901234567890.},
     {0}},
    {"0.1000000000000000055511151231257827021181583404541015625,4.9e-324\n",
     1,
     2,
     {0.1, 4.9e-324},
     {0}},
};

/* The same text as a frame: one reader, one header rule. */
static void expect_same_frame(const csv_case *c)
{
    far_frame *f;
    assert_int_equal(far_frame_read(ctx, "data.csv", NULL, NULL, &f), FAR_OK);
    assert_int_equal(far_frame_rows(f), c->rows);
    assert_int_equal(far_frame_cols(f), c->cols);
    for (int64_t j = 0; j < c->cols; j++) {
        char number[24];
        snprintf(number, sizeof number, "c%lld", (long long)j + 1);
        const char *name = c->names[0] && *c->names[j] ? c->names[j] : number;
        assert_string_equal(far_frame_column(f, j).name, name);
        for (int64_t i = 0; i < c->rows; i++) {
            assert_memory_equal(&far_frame_column(f, j).numbers[i], &c->values[i * c->cols + j],
                                sizeof(double));
        }
    }
    far_frame_destroy(f);
}

static void csv_reads_what_people_write(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(csv_cases); i++) {
        const csv_case *c = &csv_cases[i];
        write_text("data.csv", c->text);
        far_array_destroy(expect_table("data.csv", NULL, c->rows, c->cols, c->values));
        expect_same_frame(c);
    }
    unlink("data.csv");
}

typedef struct bad_text {
    const char *text;
    far_status status;
    const char *message;
} bad_text;

static const bad_text bad_csv[] = {
    {"", FAR_ERR_FORMAT, "data.csv: is empty"},
    {"\n\n", FAR_ERR_FORMAT, "data.csv: holds no rows"},
    {"# 1,2\n", FAR_ERR_FORMAT, "data.csv: holds no rows"},
    {"\xEF\xBB\xBF", FAR_ERR_FORMAT, "data.csv: holds no rows"},
    {"a,b\n", FAR_ERR_FORMAT, "data.csv: has a header but no rows"},
    {"a,b\n\n#\n", FAR_ERR_FORMAT, "data.csv: has a header but no rows"},
    {"F1,F2,F3,F4\n1,2,3,4\n1,2,3,4\n#\n\n1,2,3,4\n1,2,3\n", FAR_ERR_FORMAT,
     "data.csv: line 7 has 3 fields but the first row has 4"},
    {"1,2\n1,2,3\n", FAR_ERR_FORMAT, "data.csv: line 2 has 3 fields but the first row has 2"},
    {"1,2\n1\n", FAR_ERR_FORMAT, "data.csv: line 2 has 1 field but the first row has 2"},
    {"1 2\n1 2 3\n", FAR_ERR_FORMAT, "data.csv: line 2 has 3 fields but the first row has 2"},
    {"1\r\n1,2\r\n", FAR_ERR_FORMAT, "data.csv: line 2 has 2 fields but the first row has 1"},
    {"1\t2\n\t\n", FAR_ERR_FORMAT, "data.csv: line 2, column 1 is empty; remove or fill it first"},
    {"F0,F1,F2\n1,2,3\n1,2,abc\n", FAR_ERR_FORMAT,
     "data.csv: line 3, column 3 (F2): 'abc' is not a number"},
    {"1,2\n3,four\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: 'four' is not a number"},
    {"1,2\n3,0x10\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: '0x10' is not a number"},
    {"1,2\n3,\"a\"\"b\n", FAR_ERR_FORMAT,
     "data.csv: line 2, column 2: the quote does not close around the field; write \"\" for a "
     "quote "
     "inside"},
    {"1,2\n3,1e\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: '1e' is not a number"},
    {"1,2\n3,nan(1)\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: 'nan(1)' is not a number"},
    {"1,2\n3,-\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: '-' is not a number"},
    {"1;2\n3;4,5\n", FAR_ERR_FORMAT, "data.csv: line 2, column 2: '4,5' is not a number"},
    {"1,2\n3,a\001\xFF\tb\n", FAR_ERR_FORMAT,
     "data.csv: line 2, column 2: 'a\\x01\\xff\\tb' is not a number"},
    {"1\n01234567890123456789012345678901234567890123456789012345678901234567890x\n",
     FAR_ERR_FORMAT,
     "data.csv: line 2, column 1: "
     "'012345678901234567890123456789012345678901234567890123456789...' is not a number"},
    {"a,F1,F2\n1,2,\n", FAR_ERR_FORMAT,
     "data.csv: line 2, column 3 (F2) is empty; remove or fill it first"},
    {"1,2\n,3\n", FAR_ERR_FORMAT, "data.csv: line 2, column 1 is empty; remove or fill it first"},
    {"1,2\n3,\"\"\n", FAR_ERR_FORMAT,
     "data.csv: line 2, column 2 is empty; remove or fill it first"},
    {"1,,3\n4,5,6\n", FAR_ERR_FORMAT,
     "data.csv: line 1, column 2 is empty; remove or fill it first"},
    {"1,2\n#3,4\n#N/A,5\n", FAR_ERR_FORMAT, "data.csv: line 3, column 1: '#N/A' is not a number"},
    {"1,NA\n4,5\n", FAR_ERR_FORMAT, "data.csv: line 1, column 2: 'NA' is not a number"},
    {"1,2\n\"open,3\n", FAR_ERR_FORMAT,
     "data.csv: line 2, column 1: the quote does not close around the field; write \"\" for a "
     "quote "
     "inside"},
    {"F0,F1,F2\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,nan\n", FAR_ERR_VALUE,
     "data.csv: row 5, column 3 (F2) is nan; remove or fill it first"},
    {"1,2\n3,NaN\n", FAR_ERR_VALUE, "data.csv: row 2, column 2 is nan; remove or fill it first"},
    {"nan\n", FAR_ERR_VALUE, "data.csv: row 1, column 1 is nan; remove or fill it first"},
    {"1,Infinity\n", FAR_ERR_VALUE, "data.csv: row 1, column 2 is inf; remove or fill it first"},
    {"1.5,2.O,7\n3,4,5\n", FAR_ERR_FORMAT,
     "data.csv: line 1 is neither names nor numbers: '2.O' stands over numbers beside 1.5; mend "
     "it, "
     "or put quotes around its names"},
    {"1,2.O,7\n", FAR_ERR_FORMAT, "data.csv: has a header but no rows"},
    {"1.5,2.O,7\n", FAR_ERR_FORMAT, "data.csv: line 1, column 2: '2.O' is not a number"},
    {"x\n\n1\n-1e999\n", FAR_ERR_VALUE,
     "data.csv: row 2, column 1 (x) is -inf; remove or fill it first"},
    {"\xFF\xFE\x31", FAR_ERR_FORMAT, "data.csv: is UTF-16 text; save it as UTF-8"},
    {"\xFE\xFF\x31", FAR_ERR_FORMAT, "data.csv: is UTF-16 text; save it as UTF-8"},
};

static void csv_says_what_is_wrong_and_where(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(bad_csv); i++) {
        write_text("data.csv", bad_csv[i].text);
        expect_failure("data.csv", NULL, bad_csv[i].status, bad_csv[i].message);
    }
    write_file("data.csv", "1,2\n3,4\n5,\0\n", 12);
    expect_failure("data.csv", NULL, FAR_ERR_FORMAT,
                   "data.csv: line 3 holds a zero byte; this is not csv, npy or npz");
    unlink("data.csv");
}

/* Longer than the first row promised, and many separators: memory stays in proportion. */
static void csv_memory_is_bounded_by_the_text(void **state)
{
    (void)state;
    enum { WIDTH = 5003, LINES = 4001 };
    char *text = malloc(2 * WIDTH + LINES);
    memset(text, ',', 2 * WIDTH);
    for (int i = 0; i < WIDTH; i++) {
        text[2 * i] = '1';
    }
    text[2 * WIDTH - 1] = '\n';
    memset(text + 2 * WIDTH, '\n', LINES);
    far_array *t;
    assert_int_equal(far_array_parse_bytes(ctx, "x", text, 2 * WIDTH + LINES, NULL, &t), FAR_OK);
    assert_int_equal(far_array_describe(t).values.rows, 1);
    assert_in_range(test_heap.peak_bytes, 0, 20 * (2 * WIDTH + LINES) + 8192);
    far_array_destroy(t);
    free(text);
}

/* ---- numbers ---- */

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

static void expect_parse(const char *text)
{
    char *end;
    double want = strtod(text, &end), got = 0;
    const char *stop = far_number_parse(text, &got);
    if (stop != end || memcmp(&got, &want, sizeof got) != 0) {
        fail_msg("'%s' reads as %.17g, not %.17g", text, got, want);
    }
}

static void expect_print(double value, int digits)
{
    char got[FAR_NUMBER_BYTES + 1], want[64];
    got[far_number_print(got, value, digits)] = 0;
    snprintf(want, sizeof want, "%.*g", digits, value);
    assert_string_equal(got, want);
}

static void numbers_read_as_strtod_does(void **state)
{
    (void)state;
    static const char *const edges[] = {"9007199254740993",
                                        "9007199254740993e22",
                                        "8.5e22",
                                        "1e23",
                                        "18446744073709551615",
                                        "9999999999999999999e-27",
                                        "9999999999999999999e27",
                                        "99999999999999999999",
                                        "0e999999",
                                        "00000000000000000000000.5",
                                        "4503599627370497.5",
                                        "2.2250738585072011e-308",
                                        "1e999",
                                        "-1e-999",
                                        "5e",
                                        "5e+"};
    for (int i = 0; i < COUNT(edges); i++) {
        expect_parse(edges[i]);
    }
    for (int i = 0; i < 20000; i++) {
        char text[64];
        uint64_t bits = random_bits();
        double any, near = ldexp((double)(random_bits() >> 11), -(int)(random_bits() % 100));
        memcpy(&any, &bits, sizeof any);
        any = isfinite(any) ? any : 1;
        snprintf(text, sizeof text, "%.*e", (int)(random_bits() % 25), any);
        expect_parse(text);
        snprintf(text, sizeof text, "%.*g", (int)(random_bits() % 21), near);
        expect_parse(text);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)(bits >> bits % 64),
                 (int)(random_bits() % 64) - 32);
        expect_parse(text);
    }
}

static void numbers_print_as_printf_does(void **state)
{
    (void)state;
    static const double edges[] = {
        0,     -0.0,     1,    10,      1e16,      1e17,     99999999999999999.,
        1e-4,  1e-5,     0.1,  1e-11,   1e-10,     1e8,      999999999.5,
        1e300, INFINITY, -1e9, -5e-324, 0x1p-1074, 1e15 + .5};
    for (int i = 0; i < COUNT(edges); i++) {
        expect_print(edges[i], 17);
        expect_print(edges[i], 9);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_bits();
        double any, near = ldexp((double)(random_bits() >> 11), -(int)(random_bits() % 100));
        memcpy(&any, &bits, sizeof any);
        expect_print(isfinite(any) ? any : 1, 17);
        expect_print(near, 17);
        expect_print(-(double)(float)near, 9);
        expect_print((double)(bits % 100000) / 1024, 17); /* with ties */
        expect_print((double)(bits >> 40) / 1024, 9);
    }
    char text[FAR_NUMBER_BYTES];
    assert_int_equal(far_number_print(text, -NAN, 17), 3);
    assert_memory_equal(text, "nan", 3);
}

/* ---- paths ---- */

static void paths_that_cannot_be_read_say_why(void **state)
{
    (void)state;
    far_array *t;
    mkdir("folder", 0777);
    expect_failure("folder", NULL, FAR_ERR_IO, "folder: is a directory");
    expect_failure("nothing.csv", NULL, FAR_ERR_IO, "nothing.csv: no such file");
    write_text("data.csv", "1\n");
    expect_failure("data.csv/x", NULL, FAR_ERR_IO, "data.csv/x: not a directory");
    expect_failure("no\nsuch\x1B", NULL, FAR_ERR_IO, "no\\nsuch\\x1b: no such file");
    if (geteuid() != 0) {
        chmod("data.csv", 0);
        expect_failure("data.csv", NULL, FAR_ERR_IO, "data.csv: permission denied");
    }
    expect_failure("data.csv", "x", FAR_ERR_ARG, "data.csv: is not an npz, so it has no array 'x'");
    expect_failure("", NULL, FAR_ERR_ARG, "the path is empty");
    expect_failure(NULL, NULL, FAR_ERR_ARG, "the path is empty");
    assert_int_equal(far_array_read(ctx, "data.csv", NULL, 2, NULL), FAR_ERR_ARG);
    assert_int_equal(far_array_read(NULL, "data.csv", NULL, 2, &t), FAR_ERR_ARG);
    far_array_destroy(NULL);
    unlink("data.csv");
    rmdir("folder");
}

static void a_very_long_path_leaves_room_for_the_reason(void **state)
{
    (void)state;
    char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = 0;
    far_array *t;
    assert_int_equal(far_array_read(ctx, path, NULL, 2, &t), FAR_ERR_IO);
    assert_non_null(strstr(far_ctx_message(ctx), "aaa...: file name too long"));
}

static void read_standard_input_from(const char *path)
{
    int old = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
    assert_true(old >= 0 && fd >= 0);
    dup2(fd, STDIN_FILENO);
    close(fd);
    far_array *t;
    far_status st = far_array_read(ctx, "-", NULL, 2, &t);
    dup2(old, STDIN_FILENO);
    close(old);
    if (st == FAR_OK) {
        assert_int_equal(far_array_describe(t).values.rows, 2);
        far_array_destroy(t);
    }
}

static void standard_input_is_read_to_its_end(void **state)
{
    (void)state;
    int pipes[2], old = dup(STDIN_FILENO);
    const double values[] = {1, 2, 3};
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "1,2,3\n", 6), 6);
    close(pipes[1]);
    dup2(pipes[0], STDIN_FILENO);
    close(pipes[0]);
    expect_values("-", 1, 3, values);
    dup2(old, STDIN_FILENO);
    close(old);
    write_text("x", "1\n2\n");
    read_standard_input_from("x");
    read_standard_input_from("/dev/null");
    assert_string_equal(far_ctx_message(ctx), "standard input: is empty");
    unlink("x");
}

/* A pipe grows its buffer; the text is longer than the first one. */
static void long_input_from_a_pipe_is_whole(void **state)
{
    (void)state;
    FILE *f = popen("i=0; while [ $i -lt 20011 ]; do echo 1234567890.5; i=$((i+1)); done", "r");
    assert_non_null(f);
    int old = dup(STDIN_FILENO);
    dup2(fileno(f), STDIN_FILENO);
    far_array *t;
    far_status st = far_array_read(ctx, "-", NULL, 2, &t);
    dup2(old, STDIN_FILENO);
    close(old);
    pclose(f);
    assert_int_equal(st, FAR_OK);
    far_mat m = far_array_describe(t).values;
    assert_int_equal(m.rows, 20011);
    assert_true(((double *)m.data)[20010] == 1234567890.5);
    far_array_destroy(t);
}

/* ---- gzip ---- */

static size_t pack(const void *data, size_t size, char *out, size_t capacity)
{
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)capacity;
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return capacity - z.avail_out;
}

static void gzipped_files_are_unpacked(void **state)
{
    (void)state;
    char packed[256], twice[256];
    const double values[] = {1, 2, 3, 4};
    size_t n = pack("1,2\n", 4, packed, sizeof packed);
    write_file("x", packed, n);
    expect_values("x", 1, 2, values);
    n += pack("3,4\n", 4, packed + n, sizeof packed - n); /* two files end to end */
    write_file("x", packed, n);
    expect_values("x", 2, 2, values);
    packed[n++] = 'Z';
    write_file("x", packed, n);
    expect_failure("x", NULL, FAR_ERR_FORMAT, "x: has 1 byte after the end of its gzip data");
    n = pack(twice, pack("1\n", 2, twice, sizeof twice), packed, sizeof packed);
    write_file("x", packed, n);
    expect_failure("x", NULL, FAR_ERR_FORMAT, "x: is gzipped twice; unpack it once first");
    write_file("x", packed, pack("", 0, packed, sizeof packed));
    expect_failure("x", NULL, FAR_ERR_FORMAT, "x: is empty");
    unlink("x");
}

static void damaged_gzip_is_refused(void **state)
{
    (void)state;
    char packed[256];
    size_t n = pack("1,2\n3,4\n", 8, packed, sizeof packed);
    for (size_t cut = 2; cut < n; cut++) {
        write_file("x", packed, cut);
        expect_failure("x", NULL, FAR_ERR_FORMAT, "x: the gzip data end too early (truncated?)");
    }
    packed[n - 5] ^= 1; /* the check sum */
    write_file("x", packed, n);
    expect_failure("x", NULL, FAR_ERR_FORMAT, "x: damaged gzip data (incorrect data check)");
    packed[2] = 0;
    write_file("x", packed, n);
    expect_failure("x", NULL, FAR_ERR_FORMAT, "x: damaged gzip data (unknown compression method)");
    unlink("x");
}

/* The size in the trailer is only a hint: here it lies in both directions. */
static void gzip_sizes_that_lie_do_no_harm(void **state)
{
    (void)state;
    enum { LINES = 100003 };
    char *text = malloc(2 * LINES), *packed = malloc(LINES);
    for (int i = 0; i < LINES; i++) {
        memcpy(text + 2 * i, "7\n", 2);
    }
    size_t n = pack("1\n", 2, packed, LINES);
    size_t first = pack(text, 2 * LINES, packed, LINES);
    n = first + pack("1\n", 2, packed + first, LINES - first);
    far_array *t; /* the last member claims 2 bytes */
    assert_int_equal(far_array_parse_bytes(ctx, "x", packed, (int64_t)n, NULL, &t), FAR_OK);
    assert_int_equal(far_array_describe(t).values.rows, LINES + 1);
    far_array_destroy(t);
    memset(packed + n - 4, 0xFF, 4); /* claims 4 GiB */
    test_heap.peak_bytes = 0;
    assert_int_equal(far_array_parse_bytes(ctx, "x", packed, (int64_t)n, NULL, &t), FAR_ERR_FORMAT);
    assert_in_range(test_heap.peak_bytes, 0, 3 << 20);
    free(packed);
    free(text);
}

/* ---- npy ---- */

/* A file of that version, header and values; returns its size. */
static size_t make_npy(char *out, int version, const char *header, const void *values, size_t bytes)
{
    size_t length = strlen(header), width = version == 1 ? 2 : 4;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    for (size_t i = 0; i < width; i++) {
        out[8 + i] = (char)(length >> (8 * i));
    }
    memcpy(out + 8 + width, header, length);
    if (bytes > 0) {
        memcpy(out + 8 + width + length, values, bytes);
    }
    return 8 + width + length + bytes;
}

static void write_npy(const char *path, int version, const char *header, const void *values,
                      size_t bytes)
{
    char file[1024];
    write_file(path, file, make_npy(file, version, header, values, bytes));
}

static void write_npy_like(const char *path, const char *descr, const char *order,
                           const char *shape, const void *values, size_t bytes)
{
    char header[256];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
             order, shape);
    write_npy(path, 1, header, values, bytes);
}

typedef struct npy_type {
    const char *descr, *bytes; /* two values */
    size_t size;
    double values[2];
} npy_type;

static const npy_type npy_types[] = {
    {"<f8", "\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\0\xC0", 8, {1.5, -2}},
    {">f8", "\x3F\xF8\0\0\0\0\0\0\xC0\0\0\0\0\0\0\0", 8, {1.5, -2}},
    {"=f8", "\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\0\xC0", 8, {1.5, -2}},
    {"<f4", "\0\0\xC0\x3F\0\0\0\xC0", 4, {1.5, -2}},
    {">f4", "\x3F\xC0\0\0\xC0\0\0\0", 4, {1.5, -2}},
    {"<f2", "\0\x3E\0\xC0", 2, {1.5, -2}},
    {">f2", "\x3E\0\xC0\0", 2, {1.5, -2}},
    {"<f2", "\1\0\xFF\x83", 2, {0x1p-24, -1023 * 0x1p-24}}, /* subnormal */
    {"<f2", "\xFF\x7B\0\x80", 2, {65504, -0.0}},
    {"|i1", "\x7F\x80", 1, {127, -128}},
    {"<i2", "\xFF\x7F\0\x80", 2, {32767, -32768}},
    {">i2", "\x7F\xFF\x80\0", 2, {32767, -32768}},
    {"<i4", "\xFF\xFF\xFF\x7F\0\0\0\x80", 4, {2147483647, -2147483648.}},
    {">i4", "\x7F\xFF\xFF\xFF\x80\0\0\0", 4, {2147483647, -2147483648.}},
    {"<i8", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\x80", 8, {-1, -0x1p63}},
    {">i8", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE\x80\0\0\0\0\0\0\0", 8, {-2, -0x1p63}},
    {"|u1", "\xFF\0", 1, {255, 0}},
    {"u1", "\xFF\0", 1, {255, 0}},
    {"<u2", "\xFE\xFF\1\0", 2, {65534, 1}},
    {">u4", "\xFF\xFF\xFF\xFF\0\0\0\2", 4, {4294967295., 2}},
    {"<u8", "\0\0\0\0\0\0\0\x80\1\0\0\0\0\0\0\0", 8, {0x1p63, 1}},
    {"|b1", "\1\0", 1, {1, 0}},
};

static void npy_converts_every_numeric_type(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(npy_types); i++) {
        const npy_type *t = &npy_types[i];
        write_npy_like("x.npy", t->descr, "False", "(2,)", t->bytes, 2 * t->size);
        expect_values("x.npy", 2, 1, t->values);
        write_npy_like("x.npy", t->descr, "True", "(1, 2)", t->bytes, 2 * t->size);
        expect_values("x.npy", 1, 2, t->values);
    }
    unlink("x.npy");
}

static void npy_reads_both_layouts(void **state)
{
    (void)state;
    const unsigned char rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3, 6};
    const double values[] = {1, 2, 3, 4, 5, 6}, by_column[] = {1, 4, 2, 5, 3, 6};
    write_npy_like("x.npy", "|u1", "False", "(2, 3)", rows, 6);
    expect_values("x.npy", 2, 3, values);
    write_npy_like("x.npy", "|u1", "True", "(2, 3)", columns, 6);
    expect_values("x.npy", 2, 3, values);
    write_npy_like("x.npy", "<f8", "True", "(2, 3)", by_column, sizeof by_column);
    expect_values("x.npy", 2, 3, values);
    unlink("x.npy");
}

/* Larger than a tile both ways. */
static void npy_transposes_by_tiles(void **state)
{
    (void)state;
    enum { ROWS = 67, COLS = 41 };
    static char file[256 + 4 * ROWS * COLS];
    float columns[COLS][ROWS];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            columns[j][i] = (float)(1000 * i + j);
        }
    }
    size_t n = make_npy(file, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (67, 41), }",
                        columns, sizeof columns);
    far_array *t;
    assert_int_equal(far_array_parse_bytes(ctx, "x", file, (int64_t)n, NULL, &t), FAR_OK);
    const double *values = far_array_describe(t).values.data;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            assert_true(values[i * COLS + j] == 1000 * i + j);
        }
    }
    far_array_destroy(t);
}

static void npy_headers_may_be_written_in_many_ways(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
        "{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<f8\"}",
        "  {  'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '<f8' , } ",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }",
    };
    const double values[] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < COUNT(headers); i++) {
        for (int version = 1; version <= 3; version++) {
            write_npy("x.npy", version, headers[i], values, sizeof values);
            expect_values("x.npy", 2, 3, values);
        }
    }
    unlink("x.npy");
}

/* The float64 of an npy is not copied. */
static void npy_of_our_own_layout_takes_no_second_copy(void **state)
{
    (void)state;
    enum { ROWS = 997 };
    static char file[128 + 8 * ROWS];
    static double zeros[ROWS];
    char header[119];
    memset(header, ' ', 118);
    header[118] = 0;
    const char *text = "{'descr': '<f8', 'fortran_order': False, 'shape': (997,), }";
    memcpy(header, text, strlen(text));
    assert_int_equal(make_npy(file, 1, header, zeros, sizeof zeros), sizeof file);
    far_array *t;
    assert_int_equal(far_array_parse_bytes(ctx, "x", file, sizeof file, NULL, &t), FAR_OK);
    assert_in_range(test_heap.peak_bytes, 0, 4096 + 8 * ROWS + 1024);
    far_array_destroy(t);
}

typedef struct bad_npy {
    const char *descr, *order, *shape;
    size_t bytes;
    const char *message;
} bad_npy;

static const bad_npy bad_npys[] = {
    {"<f8", "False", "(3, 4)", 80,
     "x.npy: header says 3 x 4 float64 (96 bytes) but only 80 follow"},
    {"<f8", "False", "(3, 4)", 100, "x.npy: header says 3 x 4 float64 (96 bytes) but 100 follow"},
    {"|b1", "False", "(1,)", 0, "x.npy: header says 1 x 1 bool (1 byte) but only 0 follow"},
    {">i2", "False", "(3,)", 1, "x.npy: header says 3 x 1 int16 (6 bytes) but only 1 follows"},
    {"<f8", "False", "(4611686018427387904, 8)", 64,
     "x.npy: shape (4611686018427387904, 8) is too large for a file"},
    {"<f8", "False", "(1152921504606846976,)", 64,
     "x.npy: shape (1152921504606846976,) is too large for a file"},
    {"|u1", "False", "(1152921504606846976,)", 64,
     "x.npy: header says 1152921504606846976 x 1 uint8 (1152921504606846976 bytes) but only 64 "
     "follow"},
    {"<f8", "False", "()", 8, "x.npy: shape () has 0 dimensions; only 1 or 2 can be read"},
    {"<f8", "False", "(2, 2, 2)", 64,
     "x.npy: shape (2, 2, 2) has 3 dimensions; only 1 or 2 can be read"},
    {"<f8", "False", "(0, 5)", 0, "x.npy: shape (0, 5) holds no values"},
    {"<f8", "False", "(0,)", 0, "x.npy: shape (0,) holds no values"},
    {"|O", "False", "(2,)", 9, "x.npy: dtype object ('|O') cannot be read; save it as float64"},
    {"<c16", "False", "(2,)", 32,
     "x.npy: dtype complex ('<c16') cannot be read; save it as float64"},
    {"<U5", "False", "(1,)", 20, "x.npy: dtype string ('<U5') cannot be read; save it as float64"},
    {"|S3", "False", "(1,)", 3, "x.npy: dtype bytes ('|S3') cannot be read; save it as float64"},
    {"<f16", "False", "(1,)", 16, "x.npy: dtype float ('<f16') cannot be read; save it as float64"},
    {"<M8[ns]", "False", "(1,)", 8,
     "x.npy: dtype date-time ('<M8[ns]') cannot be read; save it as float64"},
    {"|V8", "False", "(1,)", 8,
     "x.npy: dtype structure ('|V8') cannot be read; save it as float64"},
    {"", "False", "(1,)", 8, "x.npy: dtype unknown ('') cannot be read; save it as float64"},
    {"<f8", "Maybe", "(1,)", 8, "x.npy: the npy header is damaged at byte 44"},
    {"<f8", "False", "(-1,)", 8, "x.npy: the npy header is damaged at byte 61"},
    {"<f8", "False", "(1", 8, "x.npy: the npy header is damaged at byte 64"},
    {"<f8", "False", "(99999999999999999999,)", 8, "x.npy: the npy header is damaged at byte 79"},
    {"<f8", "False", "1", 8, "x.npy: the npy header is damaged at byte 60"},
    {"<f8", "False, 'descr': '<f8'", "(1,)", 8, "x.npy: the npy header is damaged at byte 59"},
    {"<f8", "False, 'more': 1", "(1,)", 8, "x.npy: the npy header is damaged at byte 58"},
};

static void npy_says_what_is_wrong(void **state)
{
    (void)state;
    static const char zeros[128];
    for (int i = 0; i < COUNT(bad_npys); i++) {
        const bad_npy *b = &bad_npys[i];
        write_npy_like("x.npy", b->descr, b->order, b->shape, zeros, b->bytes);
        test_heap.peak_bytes = 0;
        expect_failure("x.npy", NULL, FAR_ERR_FORMAT, b->message);
        assert_in_range(test_heap.peak_bytes, 0, 8192);
    }
    write_npy("x.npy", 1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
              zeros, 8);
    expect_failure("x.npy", NULL, FAR_ERR_FORMAT,
                   "x.npy: dtype structure (named fields) cannot be read; save it as float64");
    write_npy("x.npy", 1, "{'descr': '<f8', 'fortran_order': False}", zeros, 8);
    expect_failure("x.npy", NULL, FAR_ERR_FORMAT, "x.npy: the npy header is damaged at byte 50");
    write_npy("x.npy", 4, "{}", zeros, 8);
    expect_failure("x.npy", NULL, FAR_ERR_FORMAT,
                   "x.npy: npy version 4.0 is not known (1.0 to 3.0 are)");
    unlink("x.npy");
}

/* A header that ends early, or says a thing twice or not at all. */
static void damaged_npy_headers_are_refused(void **state)
{
    (void)state;
    static const char whole[] = "{'descr': '<f8', 'fortran_order': False,\t'shape': (2, 3L), }";
    static const char *const bad[] = {
        "'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{descr: '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr' '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': <f8, 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } more",
        "{'descr': '<f8', 'fortran_order': False, 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f8', 'fortran_order': False 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
        "{'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, }",
        "{}",
        ""};
    const double values[] = {1, 2, 3, 4, 5, 6};
    write_npy("x.npy", 1, whole, values, sizeof values);
    expect_values("x.npy", 2, 3, values);
    for (int i = 0; i < COUNT(bad) + (int)sizeof whole - 1; i++) {
        char text[256];
        far_array *t = NULL;
        bool cut = i >= COUNT(bad);
        snprintf(text, sizeof text, "%.*s", cut ? i - COUNT(bad) : 255, cut ? whole : bad[i]);
        write_npy("x.npy", 1, text, values, sizeof values);
        assert_int_equal(far_array_read(ctx, "x.npy", NULL, 2, &t), FAR_ERR_FORMAT);
        assert_null(t);
        assert_non_null(strstr(far_ctx_message(ctx), "x.npy: the npy header is damaged at byte "));
    }
    unlink("x.npy");
}

static void npy_values_must_be_finite(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, INFINITY, 6};
    write_npy_like("x.npy", "<f8", "False", "(3, 2)", values, sizeof values);
    expect_failure("x.npy", NULL, FAR_ERR_VALUE,
                   "x.npy: row 3, column 1 is inf; remove or fill it first");
    write_npy_like("x.npy", "<f2", "False", "(2,)", "\0\0\1\xFC", 4);
    expect_failure("x.npy", NULL, FAR_ERR_VALUE,
                   "x.npy: row 2, column 1 is nan; remove or fill it first");
    unlink("x.npy");
}

/* ---- npz ---- */

static void add_member(zip_t *zip, const char *name, const void *data, size_t size, int method)
{
    zip_source_t *source = zip_source_buffer(zip, data, size, 0);
    assert_non_null(source);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    assert_true(index >= 0);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), 0);
}

/* x.npz with arrays a (2 x 3, stored) and b (1 x 1, deflated), and a text file. */
static void make_npz(void)
{
    static char a[256], b[256];
    const unsigned char values[] = {1, 2, 3, 4, 5, 6};
    size_t na =
        make_npy(a, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", values, 6);
    size_t nb =
        make_npy(b, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", values + 4, 1);
    zip_t *zip = zip_open("x.npz", ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add_member(zip, "readme.txt", "hello", 5, ZIP_CM_STORE);
    add_member(zip, "a.npy", a, na, ZIP_CM_STORE);
    add_member(zip, "b.npy", b, nb, ZIP_CM_DEFLATE);
    assert_int_equal(zip_close(zip), 0);
}

static void npz_arrays_are_chosen_by_name(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {5};
    make_npz();
    far_array_destroy(expect_table("x.npz", "a", 2, 3, a));
    far_array_destroy(expect_table("x.npz", "a.npy", 2, 3, a));
    far_array_destroy(expect_table("x.npz", "b", 1, 1, b));
    expect_failure("x.npz", NULL, FAR_ERR_ARG,
                   "x.npz: holds 2 arrays (a, b); name one, as in file.npz:name");
    expect_failure("x.npz", "c", FAR_ERR_ARG, "x.npz: has no array 'c'; it holds a, b");
    expect_failure("x.npz", "readme.txt", FAR_ERR_ARG,
                   "x.npz: has no array 'readme.txt'; it holds a, b");
    unlink("x.npz");
}

static void npz_lists_only_so_many_names(void **state)
{
    (void)state;
    zip_t *zip = zip_open("x.npz", ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    for (int i = 0; i < 13; i++) {
        char name[24];
        snprintf(name, sizeof name, "w%d.npy", i);
        add_member(zip, name, "", 0, ZIP_CM_STORE);
    }
    assert_int_equal(zip_close(zip), 0);
    expect_failure("x.npz", NULL, FAR_ERR_ARG,
                   "x.npz: holds 13 arrays (w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 3 more); "
                   "name one, as in file.npz:name");
    expect_failure("x.npz", "w3", FAR_ERR_FORMAT, "x.npz: array w3: is not in npy format");
    unlink("x.npz");
}

static void npz_says_what_is_wrong_inside(void **state)
{
    (void)state;
    static char cut[256], bad[256];
    double values[] = {1, NAN};
    zip_t *zip = zip_open("x.npz", ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add_member(
        zip, "cut.npy", cut,
        make_npy(cut, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }", values, 16),
        ZIP_CM_DEFLATE);
    add_member(
        zip, "bad.npy", bad,
        make_npy(bad, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", values, 16),
        ZIP_CM_STORE);
    assert_int_equal(zip_close(zip), 0);
    expect_failure("x.npz", "cut", FAR_ERR_FORMAT,
                   "x.npz: array cut: header says 3 x 1 float64 (24 bytes) but only 16 follow");
    expect_failure("x.npz", "bad", FAR_ERR_VALUE,
                   "x.npz: array bad: row 1, column 2 is nan; remove or fill it first");
    write_file("x.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    expect_failure("x.npz", NULL, FAR_ERR_FORMAT, "x.npz: is a zip file without npy arrays");
    unlink("x.npz");
}

/* Offset of a 4-byte signature, the n-th. */
static size_t find_record(const char *data, size_t size, const char *signature, int n)
{
    for (size_t i = 0; i + 4 <= size; i++) {
        if (memcmp(data + i, signature, 4) == 0 && n-- == 0) {
            return i;
        }
    }
    fail_msg("no such record");
    return 0;
}

static void npz_sizes_that_lie_are_refused(void **state)
{
    (void)state;
    size_t size;
    make_npz();
    char *data = read_whole("x.npz", &size);
    size_t stored = find_record(data, size, "PK\1\2", 1),
           packed = find_record(data, size, "PK\1\2", 2);
    far_array *t;
    memset(data + stored + 24, 0x7F, 4); /* unpacked size in the central directory */
    memset(data + packed + 24, 0x7F, 4);
    test_heap.peak_bytes = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(far_array_parse_bytes(ctx, "x", data, (int64_t)size, i ? "a" : "b", &t),
                         FAR_ERR_FORMAT);
        assert_null(t);
        assert_non_null(strstr(far_ctx_message(ctx), "claims 2139062143 bytes, more than its "));
    }
    assert_in_range(test_heap.peak_bytes, 0, 8192);
    data[packed + 24] = 90; /* plausible, yet wrong */
    data[packed + 25] = data[packed + 26] = data[packed + 27] = 0;
    assert_int_equal(far_array_parse_bytes(ctx, "x", data, (int64_t)size, "b", &t), FAR_ERR_FORMAT);
    data[packed + 10] = 12; /* bzip2 */
    assert_int_equal(far_array_parse_bytes(ctx, "x", data, (int64_t)size, "b", &t), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx),
                        "x: array b: zip method 12 cannot be read; save it with numpy.savez");
    free(data);
    unlink("x.npz");
}

/* ---- every prefix of every format ---- */

static void expect_prefixes_fail(const char *path, const char *member)
{
    size_t size;
    char *data = read_whole(path, &size);
    for (size_t cut = 6; cut < size; cut++) {
        char *exact = malloc(cut); /* its own block, so that reading past the end is seen */
        memcpy(exact, data, cut);
        far_array *t;
        assert_int_not_equal(far_array_parse_bytes(ctx, "x", exact, (int64_t)cut, member, &t),
                             FAR_OK);
        assert_null(t);
        assert_int_equal(strncmp(far_ctx_message(ctx), "x: ", 3), 0);
        free(exact);
    }
    free(data);
}

static void truncated_files_are_refused(void **state)
{
    (void)state;
    make_npz();
    expect_prefixes_fail("x.npz", "a");
    expect_prefixes_fail("x.npz", "b");
    write_npy_like("x.npz", "|u1", "False", "(2, 3)", "123456", 6);
    expect_prefixes_fail("x.npz", NULL);
    unlink("x.npz");
}

/* ---- failing allocations ---- */

static void break_every_read(const char *path, const char *member)
{
    far_status st = FAR_ERR_MEMORY;
    int64_t live = test_heap.live_blocks;
    for (int k = 0; st != FAR_OK; k++) {
        far_array *t = (far_array *)&test_heap;
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_array_read(ctx, path, member, 2, &t);
        if (st == FAR_OK) {
            far_array_destroy(t);
        } else {
            assert_int_equal(st, FAR_ERR_MEMORY);
            assert_null(t);
            assert_int_equal(strncmp(far_ctx_message(ctx), path, strlen(path)), 0);
            assert_non_null(strstr(far_ctx_message(ctx), "out of memory"));
        }
        assert_int_equal(test_heap.live_blocks, live);
        assert_in_range(k, 0, 50);
    }
    test_heap.fail_at = -1;
}

static void reading_survives_any_failing_allocation(void **state)
{
    (void)state;
    char packed[256];
    write_text("x", "a,\"b\"\n1,2\n3,4\n5,6\n");
    break_every_read("x", NULL);
    write_npy_like("x", "<f4", "False", "(2,)", "\0\0\xC0\x3F\0\0\0\xC0", 8);
    break_every_read("x", NULL);
    write_npy_like("x", "<f8", "False", "(1,)", "\0\0\0\0\0\0\xF8\x3F", 8);
    break_every_read("x", NULL);
    write_file("x", packed, pack("a,b\n1,2\n", 8, packed, sizeof packed));
    break_every_read("x", NULL);
    make_npz();
    break_every_read("x.npz", "a");
    break_every_read("x.npz", "b");
    unlink("x");
    unlink("x.npz");
}

static void break_every_write(const far_mat *m, const char *path)
{
    far_status st = FAR_ERR_MEMORY;
    int64_t live = test_heap.live_blocks;
    for (int k = 0; st != FAR_OK; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = far_mat_write(ctx, m, NULL, path);
        if (st != FAR_OK) {
            assert_int_equal(st, FAR_ERR_MEMORY);
            assert_int_equal(strncmp(far_ctx_message(ctx), path, strlen(path)), 0);
            assert_int_equal(count_files(), 0);
        }
        assert_int_equal(test_heap.live_blocks, live);
        assert_in_range(k, 0, 50);
    }
    test_heap.fail_at = -1;
    assert_int_equal(count_files(), 1);
    unlink(path);
}

static const char *const endings[] = {"x.npy", "x.npz", "x.csv", "x.csv.gz"};

static void writing_survives_any_failing_allocation(void **state)
{
    (void)state;
    double values[] = {1, 2, 3};
    far_mat m = far_mat_view(values, 3, 1, FAR_F64);
    for (int i = 0; i < COUNT(endings); i++) {
        break_every_write(&m, endings[i]);
    }
}

/* ---- writing ---- */

static double sample(int64_t i, int64_t j)
{
    return (i % 2 ? -1 : 1) * (1.0 / (double)(3 + 7 * i) + (double)j * 1e5);
}

/* 9 digits name a float32, not the float64 of the same value: compare as what was written. */
static void expect_values_as(const char *path, int64_t rows, int64_t cols, const double *values,
                             far_dtype dtype)
{
    far_array *t;
    if (far_array_read(ctx, path, NULL, 2, &t) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    far_mat m = far_array_describe(t).values;
    const double *got = m.data;
    assert_int_equal(m.rows, rows);
    assert_int_equal(m.cols, cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        assert_true(dtype == FAR_F32 ? (float)got[i] == (float)values[i] : got[i] == values[i]);
    }
    far_array_destroy(t);
}

/* Writes a view with gaps between the rows and reads it back. */
static void round_trip(int64_t rows, int64_t cols, int64_t ld, far_dtype dtype, const char *path)
{
    double *wanted = calloc((size_t)(rows * cols), sizeof *wanted);
    void *data = calloc((size_t)(rows * ld), sizeof(double));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < ld; j++) {
            double value = j < cols ? sample(i, j) : NAN; /* the gap must not be read */
            if (dtype == FAR_F32) {
                ((float *)data)[i * ld + j] = (float)value;
            } else {
                ((double *)data)[i * ld + j] = value;
            }
            if (j < cols) {
                wanted[i * cols + j] = dtype == FAR_F32 ? (double)(float)value : value;
            }
        }
    }
    far_mat m = {.data = data, .rows = rows, .cols = cols, .ld = ld, .dtype = dtype};
    if (far_mat_write(ctx, &m, NULL, path) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    assert_int_equal(count_files(), 1);
    expect_values_as(path, rows, cols, wanted, dtype);
    unlink(path);
    free(data);
    free(wanted);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(endings); i++) {
        for (int dtype = FAR_F64; dtype <= FAR_F32; dtype++) {
            round_trip(11, 7, 7, (far_dtype)dtype, endings[i]);
            round_trip(7, 11, 13, (far_dtype)dtype, endings[i]);
            round_trip(1, 5, 5, (far_dtype)dtype, endings[i]);
            round_trip(5, 1, 3, (far_dtype)dtype, endings[i]);
            round_trip(1, 1, 1, (far_dtype)dtype, endings[i]);
            round_trip(211, 307, 311, (far_dtype)dtype, endings[i]); /* longer than a buffer */
        }
    }
}

static void csv_is_written_with_17_or_9_digits(void **state)
{
    (void)state;
    double values[] = {0.1, -1, 1e300, 5e-324, 0, 1.0 / 3};
    float narrow[] = {0.1f, -1, 1e-30f};
    far_mat m = far_mat_view(values, 2, 3, FAR_F64);
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.csv"), FAR_OK);
    expect_text("x.csv", "0.10000000000000001,-1,1.0000000000000001e+300\n"
                         "4.9406564584124654e-324,0,0.33333333333333331\n");
    m = far_mat_view(narrow, 3, 1, FAR_F32);
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.CSV"), FAR_OK);
    expect_text("x.CSV", "0.100000001\n-1\n1e-30\n");
    unlink("x.csv");
    unlink("x.CSV");
}

static void what_is_not_finite_is_not_written(void **state)
{
    (void)state;
    static const char tail[] = "so nothing was written; scale the data, or look for what overflows";
    double values[] = {1, 2, 3, NAN, 5, 6};
    float narrow[] = {1, -INFINITY};
    int64_t shape[] = {3, 2};
    char wanted[256];
    far_mat m = far_mat_view(values, 3, 2, FAR_F64), n = far_mat_view(narrow, 1, 2, FAR_F32);
    for (int i = 0; i < COUNT(endings); i++) {
        snprintf(wanted, sizeof wanted, "%s: row 2, column 2 of ntk is not a number, %s",
                 endings[i], tail);
        expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.name = "ntk"}, endings[i]),
                          FAR_ERR_VALUE, wanted);
        expect_failure_of(
            far_mat_write(
                ctx, &m,
                &(far_write_opts){
                    .name = "ntk", .shape = shape, .dims = 2, .notes = NULL, .note_count = 0},
                endings[i]),
            FAR_ERR_VALUE, wanted);
        snprintf(wanted, sizeof wanted,
                 "%s: row 1, column 2 of the matrix is too large for float32, %s", endings[i],
                 tail);
        expect_failure_of(far_mat_write(ctx, &n, NULL, endings[i]), FAR_ERR_VALUE, wanted);
        assert_int_equal(count_files(), 0);
    }
    FILE *f = fopen("x", "w");
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.stream = f}, NULL), FAR_ERR_VALUE);
    fclose(f);
    expect_text("x", "");
    unlink("x");
}

/* Where a number need not exist, the caller says so. */
static void gaps_are_empty_fields(void **state)
{
    (void)state;
    double values[] = {NAN, 2, -INFINITY, NAN};
    float narrow[] = {1, NAN, INFINITY};
    far_mat m = far_mat_view(values, 2, 2, FAR_F64);
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.gaps = 1}, "x.csv"), FAR_OK);
    expect_text("x.csv", ",2\n-inf,\n");
    FILE *f = fopen("x.csv", "w");
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.gaps = 1, .stream = f}, NULL),
                     FAR_OK);
    fclose(f);
    expect_text("x.csv", ",2\n-inf,\n");
    m = far_mat_view(narrow, 3, 1, FAR_F32);
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.gaps = 1}, "x.csv"), FAR_OK);
    expect_text("x.csv", "1\n\"\"\ninf\n");
    unlink("x.csv");
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.gaps = 1}, "x.npy"), FAR_OK);
    size_t size;
    char *data = read_whole("x.npy", &size);
    assert_int_equal(size, 128 + sizeof narrow);
    assert_memory_equal(data + 128, narrow, sizeof narrow);
    free(data);
    unlink("x.npy");
    expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.gaps = 1}, NULL), FAR_ERR_ARG,
                      "the stream is NULL");
    expect_failure_of(far_mat_write(ctx, NULL, &(far_write_opts){.gaps = 1}, "x.csv"), FAR_ERR_ARG,
                      "the matrix is NULL");
}

static void npy_is_written_as_version_1(void **state)
{
    (void)state;
    float values[] = {1, 2, 3, 4, 5, 6};
    far_mat m = {.data = values, .rows = 2, .cols = 2, .ld = 3, .dtype = FAR_F32};
    const float packed[] = {1, 2, 4, 5};
    char wanted[128];
    memset(wanted, ' ', sizeof wanted);
    memcpy(wanted, "\x93NUMPY\1\0\x76\0", 10);
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    memcpy(wanted + 10, header, strlen(header));
    wanted[127] = '\n';
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.npy"), FAR_OK);
    size_t size;
    char *data = read_whole("x.npy", &size);
    assert_int_equal(size, 128 + sizeof packed);
    assert_memory_equal(data, wanted, 128);
    assert_memory_equal(data + 128, packed, sizeof packed);
    free(data);
    unlink("x.npy");
}

static void empty_matrices_are_written_too(void **state)
{
    (void)state;
    far_mat none = far_mat_view(NULL, 0, 3, FAR_F64), narrow = far_mat_view(NULL, 3, 0, FAR_F64);
    for (int i = 0; i < COUNT(endings); i++) {
        assert_int_equal(far_mat_write(ctx, &none, NULL, endings[i]), FAR_OK);
        assert_int_equal(far_mat_write(ctx, &narrow, NULL, endings[i]), FAR_OK);
    }
    expect_text("x.csv", "\n\n\n");
    expect_failure("x.npy", NULL, FAR_ERR_FORMAT, "x.npy: shape (3, 0) holds no values");
    expect_failure("x.npz", NULL, FAR_ERR_FORMAT,
                   "x.npz: array arr_0: shape (3, 0) holds no values");
    for (int i = 0; i < COUNT(endings); i++) {
        unlink(endings[i]);
    }
}

static void npz_keeps_the_arrays_name(void **state)
{
    (void)state;
    double value = 7;
    char longest[300];
    far_mat m = far_mat_view(&value, 1, 1, FAR_F64);
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.name = "ntk \xC3\xB6"}, "x.npz"),
                     FAR_OK);
    far_array_destroy(expect_table("x.npz", "ntk \xC3\xB6", 1, 1, &value));
    expect_failure("x.npz", "arr_0", FAR_ERR_ARG,
                   "x.npz: has no array 'arr_0'; it holds ntk \xC3\xB6");
    memset(longest, 'n', 256);
    longest[256] = 0;
    expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.name = longest}, "x.npz"),
                      FAR_ERR_ARG, "x.npz: the array's name has 256 bytes, not 1 to 255");
    expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.name = ""}, "x.npz"), FAR_ERR_ARG,
                      "x.npz: the array's name has 0 bytes, not 1 to 255");
    far_array_destroy(expect_table("x.npz", NULL, 1, 1, &value)); /* the old one is kept */
    longest[255] = 0;
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.name = longest}, "x.npz"), FAR_OK);
    far_array_destroy(expect_table("x.npz", longest, 1, 1, &value));
    assert_int_equal(count_files(), 1);
    unlink("x.npz");
}

static void npz_of_more_than_4_gib_uses_64_bit_fields(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 4, 5, 6};
    far_mat m = far_mat_view(values, 2, 3, FAR_F64);
    far_output o;
    assert_int_equal(far_output_open(ctx, "x.npz", false, &o), FAR_OK);
    assert_int_equal(far_npz_write(&o, &m, "big", 0), FAR_OK); /* from 0 bytes on */
    assert_int_equal(far_output_commit(&o), FAR_OK);
    far_output_close(&o);
    far_array_destroy(expect_table("x.npz", "big", 2, 3, values));
    size_t size;
    char *data = read_whole("x.npz", &size);
    find_record(data, size, "PK\6\6", 0);
    find_record(data, size, "PK\6\7", 0);
    free(data);
    unlink("x.npz");
}

static void writing_refuses_what_it_cannot_do(void **state)
{
    (void)state;
    double values[] = {1, 2};
    far_mat m = far_mat_view(values, 2, 1, FAR_F64), bad = m;
    expect_failure_of(far_mat_write(ctx, &m, NULL, "x.txt"), FAR_ERR_ARG,
                      "x.txt: the name must end in .npy, .npz, .csv or .csv.gz");
    expect_failure_of(far_mat_write(ctx, &m, NULL, ".csv"), FAR_ERR_ARG,
                      ".csv: the name must end in .npy, .npz, .csv or .csv.gz");
    expect_failure_of(far_mat_write(ctx, &m, NULL, NULL), FAR_ERR_ARG, "the path is empty");
    expect_failure_of(far_mat_write(ctx, NULL, NULL, "x.csv"), FAR_ERR_ARG, "the matrix is NULL");
    bad.ld = 0;
    expect_failure_of(far_mat_write(ctx, &bad, NULL, "x.csv"), FAR_ERR_SHAPE,
                      "the matrix has ld 0 but 1 columns");
    expect_failure_of(far_mat_write(ctx, &m, NULL, "no/where/x.csv"), FAR_ERR_IO,
                      "no/where/x.csv: cannot write: no such directory");
    mkdir("d.csv", 0777);
    expect_failure_of(far_mat_write(ctx, &m, NULL, "d.csv"), FAR_ERR_IO,
                      "d.csv: cannot write: is a directory");
    if (geteuid() != 0) {
        chmod("d.csv", 0555);
        expect_failure_of(far_mat_write(ctx, &m, NULL, "d.csv/x.npy"), FAR_ERR_IO,
                          "d.csv/x.npy: cannot write: permission denied");
    }
    rmdir("d.csv");
    assert_int_equal(count_files(), 0);
}

static void fill_with_noise(double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = (double)(random_bits() >> 11) * 0x1p-53; /* does not pack well */
    }
}

/* A limit on the file's size stands in for a full disk. */
static void a_failed_write_keeps_the_old_file(void **state)
{
    (void)state;
    enum { N = 211 };
    static double values[N * N];
    struct rlimit old, small;
    far_mat m = far_mat_view(values, N, N, FAR_F64);
    fill_with_noise(values, N * N);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < COUNT(endings); i++) {
        char message[64];
        snprintf(message, sizeof message, "%s: cannot write: file too large", endings[i]);
        write_text(endings[i], "old");
        setrlimit(RLIMIT_FSIZE, &small);
        far_status st = far_mat_write(ctx, &m, NULL, endings[i]);
        setrlimit(RLIMIT_FSIZE, &old);
        expect_failure_of(st, FAR_ERR_IO, message);
        expect_text(endings[i], "old");
        assert_int_equal(count_files(), 1);
        unlink(endings[i]);
    }
}

static void a_cancelled_write_leaves_nothing(void **state)
{
    (void)state;
    enum { ROWS = 3, COLS = 3000017 };
    double *values = calloc((size_t)ROWS * COLS, sizeof *values);
    far_mat m = far_mat_view(values, ROWS, COLS, FAR_F64);
    for (int i = 0; i < COUNT(endings); i++) {
        cancel_next();
        expect_failure_of(far_mat_write(ctx, &m, NULL, endings[i]), FAR_ERR_CANCELLED,
                          "writing cancelled");
        assert_int_equal(count_files(), 0);
    }
    free(values);
}

static void a_long_read_can_be_cancelled(void **state)
{
    (void)state;
    const int64_t size = 17 << 20;
    char *text = malloc((size_t)size);
    memset(text, '1', (size_t)size);
    for (int64_t i = 63; i < size; i += 64) {
        text[i] = '\n';
    }
    far_array *t;
    cancel_next();
    assert_int_equal(far_array_parse_bytes(ctx, "x", text, size, NULL, &t), FAR_ERR_CANCELLED);
    assert_null(t);
    assert_string_equal(far_ctx_message(ctx), "parsing cancelled");
    free(text);
}

static void devices_and_links_are_written_through(void **state)
{
    (void)state;
    double values[] = {1, 2, 3};
    far_mat m = far_mat_view(values, 1, 3, FAR_F64);
    struct stat info;
    for (int i = 0; i < COUNT(endings); i++) {
        assert_int_equal(symlink("/dev/null", endings[i]), 0);
        assert_int_equal(far_mat_write(ctx, &m, NULL, endings[i]), FAR_OK);
        assert_int_equal(stat(endings[i], &info), 0);
        assert_true(S_ISCHR(info.st_mode));
        unlink(endings[i]);
    }
    assert_int_equal(symlink("/dev/full", "x.csv"), 0);
    expect_failure_of(far_mat_write(ctx, &m, NULL, "x.csv"), FAR_ERR_IO,
                      "x.csv: cannot write: no space left on device");
    unlink("x.csv");
    write_text("real.csv", "old");
    assert_int_equal(symlink("real.csv", "x.csv"), 0);
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.csv"), FAR_OK);
    expect_text("real.csv", "1,2,3\n");
    assert_int_equal(lstat("x.csv", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink("x.csv");
    unlink("real.csv");
}

static void modes_follow_the_umask_or_the_old_file(void **state)
{
    (void)state;
    double value = 1;
    far_mat m = far_mat_view(&value, 1, 1, FAR_F64);
    struct stat info;
    mode_t old = umask(027);
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.csv"), FAR_OK);
    assert_int_equal(stat("x.csv", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    chmod("x.csv", 0606);
    assert_int_equal(far_mat_write(ctx, &m, NULL, "x.csv"), FAR_OK);
    assert_int_equal(stat("x.csv", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0606);
    umask(old);
    unlink("x.csv");
}

static void csv_goes_to_an_open_stream(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 4};
    far_mat m = far_mat_view(values, 2, 2, FAR_F64);
    FILE *f = fopen("x", "w");
    fputs("before\n", f);
    assert_int_equal(far_mat_write(ctx, &m, &(far_write_opts){.stream = f}, NULL), FAR_OK);
    fputs("after\n", f);
    fclose(f);
    expect_text("x", "before\n1,2\n3,4\nafter\n");
    unlink("x");
    f = fopen("/dev/full", "w");
    expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.stream = f}, NULL), FAR_ERR_IO,
                      "csv stream: cannot write: no space left on device");
    fclose(f);
    expect_failure_of(far_mat_write(ctx, &m, &(far_write_opts){.stream = NULL}, NULL), FAR_ERR_ARG,
                      "the stream is NULL");
    expect_failure_of(far_mat_write(ctx, NULL, &(far_write_opts){.stream = stdout}, NULL),
                      FAR_ERR_ARG, "the matrix is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(csv_reads_what_people_write),
        TEST(csv_says_what_is_wrong_and_where),
        TEST(csv_memory_is_bounded_by_the_text),
        TEST(numbers_read_as_strtod_does),
        TEST(numbers_print_as_printf_does),
        TEST(paths_that_cannot_be_read_say_why),
        TEST(a_very_long_path_leaves_room_for_the_reason),
        TEST(standard_input_is_read_to_its_end),
        TEST(long_input_from_a_pipe_is_whole),
        TEST(gzipped_files_are_unpacked),
        TEST(damaged_gzip_is_refused),
        TEST(gzip_sizes_that_lie_do_no_harm),
        TEST(npy_converts_every_numeric_type),
        TEST(npy_reads_both_layouts),
        TEST(npy_transposes_by_tiles),
        TEST(npy_headers_may_be_written_in_many_ways),
        TEST(npy_of_our_own_layout_takes_no_second_copy),
        TEST(npy_says_what_is_wrong),
        TEST(damaged_npy_headers_are_refused),
        TEST(npy_values_must_be_finite),
        TEST(npz_arrays_are_chosen_by_name),
        TEST(npz_lists_only_so_many_names),
        TEST(npz_says_what_is_wrong_inside),
        TEST(npz_sizes_that_lie_are_refused),
        TEST(truncated_files_are_refused),
        TEST(reading_survives_any_failing_allocation),
        TEST(writing_survives_any_failing_allocation),
        TEST(what_is_written_reads_back),
        TEST(csv_is_written_with_17_or_9_digits),
        TEST(what_is_not_finite_is_not_written),
        TEST(gaps_are_empty_fields),
        TEST(npy_is_written_as_version_1),
        TEST(empty_matrices_are_written_too),
        TEST(npz_keeps_the_arrays_name),
        TEST(npz_of_more_than_4_gib_uses_64_bit_fields),
        TEST(writing_refuses_what_it_cannot_do),
        TEST(a_failed_write_keeps_the_old_file),
        TEST(a_cancelled_write_leaves_nothing),
        TEST(a_long_read_can_be_cancelled),
        TEST(devices_and_links_are_written_through),
        TEST(modes_follow_the_umask_or_the_old_file),
        TEST(csv_goes_to_an_open_stream),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
