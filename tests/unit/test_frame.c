/* Frames: columns of numbers and words from every format, lists, conditions, hashes; every message,
 * every failing allocation. */
#define _GNU_SOURCE
#include "../../src/data/frame_internal.h"

#include <fcntl.h>
#include <zip.h>

#define TEST_THREADS 0
#include "harness.h"

/* ---- a frame as one line of text: "a,b*; 1,x; ~,y", * after word columns, ~ for missing ---- */

typedef struct dump {
    char text[4096];
    size_t used;
} dump;

__attribute__((format(printf, 2, 3))) static void put(dump *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    d->used += (size_t)vsnprintf(d->text + d->used, sizeof d->text - d->used, format, args);
    va_end(args);
    assert_true(d->used < sizeof d->text);
}

static void put_cell(dump *d, const far_frame *f, int64_t i, int64_t j)
{
    const double *numbers = far_frame_column(f, j).numbers;
    const int32_t *codes = far_frame_column(f, j).codes;
    assert_true(!numbers != !codes);
    assert_int_equal(far_frame_column(f, j).kind, codes ? FAR_COLUMN_WORD : FAR_COLUMN_NUMBER);
    if (codes ? codes[i] < 0 : isnan(numbers[i])) {
        put(d, "~");
    } else if (codes) {
        put(d, "%s", far_frame_level(f, j, codes[i]));
    } else {
        put(d, "%.10g", numbers[i]);
    }
}

static void check_levels(const far_frame *f, int64_t j)
{
    int64_t count = far_frame_column(f, j).level_count;
    for (int64_t i = 0; i < count; i++) {
        const char *level = far_frame_level(f, j, i);
        int64_t uses = 0;
        for (int64_t k = 0; k < far_frame_rows(f); k++) {
            uses += far_frame_column(f, j).codes[k] == i;
        }
        assert_true(uses > 0);
        assert_true(i == 0 || strcmp(far_frame_level(f, j, i - 1), level) < 0);
    }
    assert_null(far_frame_level(f, j, count));
    assert_null(far_frame_level(f, j, -1));
}

static dump dump_frame(const far_frame *f)
{
    dump d = {.used = 0};
    for (int64_t j = 0; j < far_frame_cols(f); j++) {
        bool words = far_frame_column(f, j).kind == FAR_COLUMN_WORD;
        put(&d, "%s%s%s", j ? "," : "", far_frame_column(f, j).name, words ? "*" : "");
        check_levels(f, j);
    }
    for (int64_t i = 0; i < far_frame_rows(f); i++) {
        put(&d, "; ");
        for (int64_t j = 0; j < far_frame_cols(f); j++) {
            put(&d, "%s", j ? "," : "");
            put_cell(&d, f, i, j);
        }
    }
    return d;
}

static far_frame *parse_bytes(const void *data, size_t size, const char *member)
{
    far_frame *f;
    if (far_frame_parse_bytes(ctx, "x", data, (int64_t)size, member, &f) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    return f;
}

static far_frame *parse_text(const char *text)
{
    return parse_bytes(text, strlen(text), NULL);
}

static void expect_frame(far_frame *f, const char *wanted)
{
    dump d = dump_frame(f);
    assert_string_equal(d.text, wanted);
    far_frame_destroy(f);
}

static void expect_failure(far_status st, far_status status, const char *message)
{
    assert_string_equal(far_ctx_message(ctx), message);
    assert_int_equal(st, status);
}

static void expect_bad_bytes(const void *data, size_t size, const char *member, far_status status,
                             const char *message)
{
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_parse_bytes(ctx, "x", data, (int64_t)size, member, &f);
    assert_null(f);
    expect_failure(st, status, message);
}

/* ---- csv ---- */

static const char *const good_csv[][2] = {
    {"a,b\n1,2\n3,4\n", "a,b; 1,2; 3,4"},
    {"a,b\n1,2\n3,4", "a,b; 1,2; 3,4"},
    {"a,b\r\n1,x\r\n3,y\r\n", "a,b*; 1,x; 3,y"},
    {"a,b\r1,x\r3,y\r", "a,b*; 1,x; 3,y"},
    {"\xEF\xBB\xBFname,b\nx,2\n", "name*,b; x,2"},
    {"\n\na,b\n\n1,x\n  \n3,y\n\n", "a,b*; 1,x; 3,y"},
    /* kinds */
    {"a,b,c\n1,x,2\n2,1,3\nz,2,4\n", "a*,b*,c; 1,x,2; 2,1,3; z,2,4"},
    {"a\n1\n2\nx\n", "a*; 1; 2; x"},
    {"a,b\n01,1\n1,1.0\n1.0,1e0\nx,+1\n", "a*,b; 01,1; 1,1; 1.0,1; x,1"},
    {"a,b\ninf,1\nx,2\n", "a*,b; inf,1; x,2"},
    {"a\n1e999\nhello\n", "a*; 1e999; hello"},
    {"a,b\n-1.5e3,.5\n+2.,\t7 \n", "a,b; -1500,0.5; 2,7"},
    /* missing values */
    {"a,b\n1,\n,y\n", "a,b*; 1,~; ~,y"},
    {"a,b\n1,NA\nna,x\nN/A,n/a\nNaN,?\n?,Null\nnull,NONE\nnone,nan\n",
     "a,b*; 1,~; ~,x; ~,~; ~,~; ~,~; ~,~; ~,~"},
    {"a,b\n\"\",\"NA\"\n1,2\n", "a,b; ~,~; 1,2"},
    {"a,b\n,\n,\n", "a,b; ~,~; ~,~"},
    {"a,b\n1,-\n2,.\n", "a,b*; 1,-; 2,."},
    {"1,,3\n4,5,6\n", "c1,c2,c3; 1,~,3; 4,5,6"},
    {"NA\n1\n", "c1; ~; 1"},
    {",\n1,2\n", "c1,c2; ~,~; 1,2"},
    /* quotes */
    {"\"a, b\",\"say \"\"hi\"\"\"\n\"x, y\",\"\"\"\"\n", "a, b*,say \"hi\"*; x, y,\""},
    {"a,b\n\"two\nlines\",1\nx,2\n", "a*,b; two\nlines,1; x,2"},
    {"\"a\nb\",c\n1,2\n", "a\nb,c; 1,2"},
    {"\"a\nb\" \"c d\"\n1 2\n", "a\nb,c d; 1,2"},
    {"a,b\n\"1\",\" x \"\n\"2\", \"y\" \n", "a,b*; 1,x; 2,y"},
    {"a,b\n1,5\" pipe\n2,say \"hi\"\n", "a,b*; 1,5\" pipe; 2,say \"hi\""},
    {"a,b\n1,\"\"\"x\"\"\"\n2,\"x\"\n3,x\n", "a,b*; 1,\"x\"; 2,x; 3,x"},
    /* separators */
    {"a;b\n1;x, y\n2;z\n", "a,b*; 1,x, y; 2,z"},
    {"a\tb\n1\tx y\n\tz\n", "a,b*; 1,x y; ~,z"},
    {"a\tb\n1\t2\n\t\n \t \n \n3\t4\n", "a,b; 1,2; ~,~; ~,~; 3,4"},
    {",,,,,,,\n,,,,,,,\n,,,,,,,\n,,,,,,,",
     "c1,c2,c3,c4,c5,c6,c7,c8; ~,~,~,~,~,~,~,~; ~,~,~,~,~,~,~,~; ~,~,~,~,~,~,~,~; "
     "~,~,~,~,~,~,~,~"},
    {"a  b\n1 x\n 2\ty \n", "a,b*; 1,x; 2,y"},
    {"\"a;b\";c\n1;2\n", "a;b,c; 1,2"},
    {"city\nNew York\nParis\n", "city*; New York; Paris"},
    {"\"sepal length\"\n1\n2\n", "sepal length; 1; 2"},
    {"7\n8\n", "c1; 7; 8"},
    /* the header */
    {"1,2\n3,4\n", "c1,c2; 1,2; 3,4"},
    {"2019,2020\n1,2\n", "c1,c2; 2019,2020; 1,2"},
    {"2019,2020\nx,y\n", "2019*,2020*; x,y"},
    {"2019,2020\n1,y\n", "c1,c2*; 2019,2020; 1,y"},
    {"1.5,-2\nx,y\n", "1.5*,-2*; x,y"},
    {"a,b\nx,y\nz,w\n", "a*,b*; x,y; z,w"},
    {"a\nx\ny\na\n", "a*; x; y; a"},
    {"x,2019,2020\n1,2,3\n", "x,2019,2020; 1,2,3"},
    {"country,2019,2020\nFrance,1,2\nItaly,3,4\n", "country*,2019,2020; France,1,2; Italy,3,4"},
    {"39,State-gov,77516\n50,Private,83311\n38,State-gov,215646\n",
     "c1,c2*,c3; 39,State-gov,77516; 50,Private,83311; 38,State-gov,215646"},
    {"5.1,3.5,setosa\n4.9,3,virginica\n", "c1,c2,c3*; 5.1,3.5,setosa; 4.9,3,virginica"},
    {"5.1,setosa\n", "c1,c2*; 5.1,setosa"},
    {"-1,a\n2,b\n", "c1,c2*; -1,a; 2,b"},
    {"wave,\"350.5\"\n1,2\n", "wave,350.5; 1,2"},
    {",x,\n0,5,6\n", "c1,x,c3; 0,5,6"},
    {"a,NA\n1,2\n", "a,NA; 1,2"},
    {"\"1\",\"2\"\n\"3\",\"4\"\n", "c1,c2; 1,2; 3,4"},
    {"gr\xC3\xB6\xC3\x9F"
     "e,b\n1,\xC3\xA4\n",
     "gr\xC3\xB6\xC3\x9F"
     "e,b*; 1,\xC3\xA4"},
    /* comments */
    {"# made by hand\n # more, and more\na,b\n1,2\n# why\n3,4\n", "a,b; 1,2; 3,4"},
    {"tag,b\n#one,2\ntwo,3\n", "tag*,b; #one,2; two,3"},
    {"tag,b\n#one,2\n#two,3\n", "tag*,b; #one,2; #two,3"},
    {"tag\n#one\n", "tag*; #one"},
    {"a,b\n1,2\n#3,four\n5,6\n", "a,b; 1,2; 5,6"},
    {"a\n1\n# note\nNA\n2\n", "a; 1; ~; 2"},
    {"a,b\n1,3\n#n/a,<NA>\n#2,5\n", "a,b; 1,3; ~,~"},
    {"a,b\n\"#1\",2\n3,4\n", "a*,b; #1,2; 3,4"},
};

static void csv_reads_what_people_have(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(good_csv); i++) {
        expect_frame(parse_text(good_csv[i][0]), good_csv[i][1]);
    }
}

typedef struct bad_text {
    const char *text;
    far_status status;
    const char *message;
} bad_text;

static const bad_text bad_csv[] = {
    {"", FAR_ERR_FORMAT, "x: is empty"},
    {"\n\n", FAR_ERR_FORMAT, "x: holds no rows"},
    {"# a,b\n", FAR_ERR_FORMAT, "x: holds no rows"},
    {"a,b\n", FAR_ERR_FORMAT, "x: has a header but no rows"},
    {"x", FAR_ERR_FORMAT, "x: has a header but no rows"},
    {"a,b\n\n# 1\n", FAR_ERR_FORMAT, "x: has a header but no rows"},
    {"a,b\n1,2\n\n1,2,3\n", FAR_ERR_FORMAT, "x: line 4 has 3 fields but the first row has 2"},
    {"a,b\n1\n", FAR_ERR_FORMAT, "x: line 2 has 1 field but the first row has 2"},
    {"a,b\n\"1\n2\n3\",2\n1\n", FAR_ERR_FORMAT, "x: line 5 has 1 field but the first row has 2"},
    {"a\n1,2\n", FAR_ERR_FORMAT, "x: line 2 has 2 fields but the first row has 1"},
    {"a,b\n1,\"x\n2,y\n", FAR_ERR_FORMAT,
     "x: line 2, column 2: the quote does not close around the field; write \"\" for a quote "
     "inside"},
    {"a,b\n1,\"x\"y\n", FAR_ERR_FORMAT,
     "x: line 2, column 2: the quote does not close around the field; write \"\" for a quote "
     "inside"},
    {"\"a,b\n1,2\n", FAR_ERR_FORMAT,
     "x: line 1, column 1: the quote does not close around the field; write \"\" for a quote "
     "inside"},
    {"a,b,a\n1,2,3\n", FAR_ERR_FORMAT, "x: columns 1 and 3 are both named 'a'; rename one"},
    {"c2,\n1,2\n", FAR_ERR_FORMAT, "x: columns 1 and 2 are both named 'c2'; rename one"},
    {"a,b\n1,2\n3,inf\n", FAR_ERR_VALUE, "x: row 2, column 2 (b) is inf; remove or fill it first"},
    {"1,2\n-1e999,4\n", FAR_ERR_VALUE, "x: row 2, column 1 (c1) is -inf; remove or fill it first"},
    {"1.5,2.O\n3,4\n", FAR_ERR_FORMAT,
     "x: line 1 is neither names nor numbers: '2.O' stands over numbers beside 1.5; mend it, or "
     "put quotes around its names"},
    {"\n#\nwave,350.5\n1,2\n", FAR_ERR_FORMAT,
     "x: line 3 is neither names nor numbers: 'wave' stands over numbers beside 350.5; mend it, "
     "or put quotes around its names"},
    {"a,b\n1,2\n#3,4\nfour,5\n", FAR_ERR_FORMAT,
     "x: line 3 starts with '#' but has the fields of a row; remove it if it is a comment"},
    {"a\n1\n# note\ntwo\n", FAR_ERR_FORMAT,
     "x: line 3 starts with '#' but has the fields of a row; remove it if it is a comment"},
    {"\xFF\xFE\x31", FAR_ERR_FORMAT, "x: is UTF-16 text; save it as UTF-8"},
};

static void csv_says_what_is_wrong_and_where(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(bad_csv); i++) {
        const char *text = bad_csv[i].text;
        expect_bad_bytes(text, strlen(text), NULL, bad_csv[i].status, bad_csv[i].message);
    }
    expect_bad_bytes("1\n\0", 3, NULL, FAR_ERR_FORMAT,
                     "x: line 2 holds a zero byte; this is not csv, npy or npz");
    expect_bad_bytes("a\n1\n", 4, "m", FAR_ERR_ARG, "x: is not an npz, so it has no array 'm'");
}

static void columns_that_are_not_there_have_nothing(void **state)
{
    (void)state;
    far_frame *f = parse_text("a,b\n1,x\n,y\n3,\n");
    for (int64_t j = -1; j <= 2; j += 3) {
        assert_null(far_frame_column(f, j).name);
        assert_null(far_frame_column(f, j).numbers);
        assert_null(far_frame_column(f, j).codes);
        assert_null(far_frame_level(f, j, 0));
        assert_int_equal(far_frame_column(f, j).level_count, 0);
        assert_int_equal(far_frame_column(f, j).missing, 0);
        assert_int_equal(far_frame_column(f, j).kind, FAR_COLUMN_NUMBER);
    }
    assert_int_equal(far_frame_column(f, 0).missing, 1);
    assert_int_equal(far_frame_column(f, 1).missing, 1);
    assert_int_equal(far_frame_column(f, 0).level_count, 0);
    assert_int_equal(far_frame_column(f, 1).level_count, 2);
    far_frame_destroy(f);
    far_frame_destroy(NULL);
}

/* Many words in several columns that share some: each column has its own levels, in byte order. */
static void levels_are_sorted_and_each_columns_own(void **state)
{
    (void)state;
    enum { ROWS = 4999 };
    char *text = malloc(64 * ROWS), *end = text + sprintf(text, "n,few,many\n");
    for (int i = 0; i < ROWS; i++) {
        end += sprintf(end, "%d,w%d,w%d\n", i, i * 7 % 13, i * 31 % ROWS);
    }
    far_frame *f = parse_text(text);
    free(text);
    assert_int_equal(far_frame_rows(f), ROWS);
    assert_int_equal(far_frame_column(f, 1).level_count, 13);
    assert_int_equal(far_frame_column(f, 2).level_count, ROWS);
    for (int64_t j = 1; j < 3; j++) {
        for (int64_t i = 1; i < far_frame_column(f, j).level_count; i++) {
            assert_true(strcmp(far_frame_level(f, j, i - 1), far_frame_level(f, j, i)) < 0);
        }
    }
    for (int i = 0; i < ROWS; i++) {
        char few[16], many[16];
        snprintf(few, sizeof few, "w%d", i * 7 % 13);
        snprintf(many, sizeof many, "w%d", i * 31 % ROWS);
        assert_true(far_frame_column(f, 0).numbers[i] == i);
        assert_string_equal(far_frame_level(f, 1, far_frame_column(f, 1).codes[i]), few);
        assert_string_equal(far_frame_level(f, 2, far_frame_column(f, 2).codes[i]), many);
    }
    far_frame_destroy(f);
}

/* Any number of columns costs memory in proportion to the text. */
static void a_hundred_thousand_columns_are_no_matter(void **state)
{
    (void)state;
    enum { COLS = 100003 };
    char *text = malloc(24 * COLS), *end = text;
    for (int j = 0; j < COLS; j++) {
        end += sprintf(end, "%sx%d", j ? "," : "", j);
    }
    for (int row = 0; row < 2; row++) {
        for (int j = 0; j < COLS; j++) {
            end += sprintf(end, j % 5 ? "%c%d" : "%cw%d", j ? ',' : '\n', j % 7 + row);
        }
    }
    far_frame *f = parse_text(text);
    assert_in_range(test_heap.peak_bytes, 0, 40 * (end - text));
    assert_int_equal(far_frame_rows(f), 2);
    assert_int_equal(far_frame_cols(f), COLS);
    assert_true(far_frame_column(f, COLS - 1).numbers[1] == (COLS - 1) % 7 + 1);
    assert_string_equal(far_frame_level(f, COLS - 3, 1), "w6");
    int64_t col;
    assert_int_equal(far_frame_find(ctx, f, "x54321", &col), FAR_OK);
    assert_int_equal(col, 54321);
    assert_int_equal(far_frame_find(ctx, f, "x-54321", &col), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx),
                        "x: there is no column 'x-54321'; did you mean 'x54321'?");
    far_frame_destroy(f);
    free(text);
}

/* Most of the text is empty lines: they take no room. */
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
    far_frame *f = parse_bytes(text, 2 * WIDTH + LINES, NULL);
    assert_int_equal(far_frame_rows(f), 1);
    assert_in_range(test_heap.peak_bytes, 0, 100 * (2 * WIDTH + LINES));
    far_frame_destroy(f);
    free(text);
}

static void a_long_read_can_be_cancelled(void **state)
{
    (void)state;
    enum { LINES = 3000001 };
    char *text = malloc(8 * LINES);
    for (int i = 0; i < LINES; i++) {
        memcpy(text + 8 * i, "1234567\n", 8);
    }
    cancel_next();
    expect_bad_bytes(text, 8 * LINES, NULL, FAR_ERR_CANCELLED, "parsing cancelled");
    free(text);
}

/* ---- files ---- */

static void files_are_read_as_tables_are(void **state)
{
    (void)state;
    far_frame *f = (far_frame *)&test_heap;
    unsigned char packed[128];
    z_stream z = {.next_in = (Bytef *)"a,b\n1,x\n", .avail_in = 8};
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    write_file("x.csv.gz", packed, sizeof packed - z.avail_out);
    assert_int_equal(far_frame_read(ctx, "x.csv.gz", NULL, NULL, &f), FAR_OK);
    expect_frame(f, "a,b*; 1,x");
    expect_bad_bytes(packed, 15, NULL, FAR_ERR_FORMAT,
                     "x: the gzip data end too early (truncated?)");
    unlink("x.csv.gz");
    expect_failure(far_frame_read(ctx, "x.csv.gz", NULL, NULL, &f), FAR_ERR_IO,
                   "x.csv.gz: no such file");
    assert_null(f);
    expect_failure(far_frame_read(ctx, "", NULL, NULL, &f), FAR_ERR_ARG, "the path is empty");
    expect_failure(far_frame_read(ctx, NULL, NULL, NULL, &f), FAR_ERR_ARG, "the path is empty");
    expect_failure(far_frame_read(ctx, "x", NULL, NULL, NULL), FAR_ERR_ARG, "out is NULL");
    assert_int_equal(far_frame_read(NULL, "x", NULL, NULL, &f), FAR_ERR_ARG);
}

static void standard_input_is_a_file(void **state)
{
    (void)state;
    far_frame *f;
    write_file("x", "a\nword\n", 7);
    int old = dup(STDIN_FILENO), fd = open("x", O_RDONLY);
    assert_true(old >= 0 && fd >= 0);
    dup2(fd, STDIN_FILENO);
    close(fd);
    far_status st = far_frame_read(ctx, "-", NULL, NULL, &f);
    dup2(old, STDIN_FILENO);
    close(old);
    assert_int_equal(st, FAR_OK);
    expect_frame(f, "a*; word");
    unlink("x");
}

/* ---- npy ---- */

/* A file of that type and shape; returns its size. */
static size_t make_npy(char *out, const char *descr, const char *order, const char *shape,
                       const void *values, size_t bytes)
{
    int length = snprintf(out + 10, 200, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                          descr, order, shape);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)length;
    out[9] = 0;
    memcpy(out + 10 + length, values, bytes);
    return 10 + (size_t)length + bytes;
}

typedef struct npy_case {
    const char *descr, *order, *shape, *bytes;
    size_t size;
    const char *wanted; /* the frame, or the message */
} npy_case;

static const npy_case good_npy[] = {
    {"|i1", "False", "(2, 3)", "\1\2\3\4\5\6", 6, "c1,c2,c3; 1,2,3; 4,5,6"},
    {"|i1", "True", "(2, 3)", "\1\4\2\5\3\6", 6, "c1,c2,c3; 1,2,3; 4,5,6"},
    {"|b1", "False", "(3,)", "\1\0\1", 3, "c1; 1; 0; 1"},
    {">f4", "False", "(2,)", "\x3F\xC0\0\0\x7F\xC0\0\0", 8, "c1; 1.5; ~"},
    {"|S3", "False", "(3,)", "abca\0\0\0\0\0", 9, "c1*; abc; a; ~"},
    {"|S12", "False", "(1,)", "hello world!", 12, "c1*; hello world!"},
    {"|S2", "False", "(2, 2)", "NAxyab??", 8, "c1*,c2*; ~,xy; ab,??"},
    {"|S1", "True", "(2, 3)", "adbecf", 6, "c1*,c2*,c3*; a,b,c; d,e,f"},
    {"|S2", "False", "(2,)", "1\0002\0", 4, "c1*; 1; 2"},
    {"|S3", "False", "(1,)", "nan", 3, "c1*; ~"},
    {"<U2", "False", "(2,)", "a\0\0\0b\0\0\0\xE4\0\0\0\0\0\0\0", 16, "c1*; ab; \xC3\xA4"},
    {">U2", "False", "(2,)", "\0\0\0a\0\0\0b\0\0\0\xE4\0\0\0\0", 16, "c1*; ab; \xC3\xA4"},
    {"<U2", "False", "(1,)", "\xAC\x20\0\0\0\xF6\1\0", 8, "c1*; \xE2\x82\xAC\xF0\x9F\x98\x80"},
};

static const npy_case bad_npy[] = {
    {"<U1", "False", "(2,)", "a\0\0\0\0\0\x11\0", 8,
     "x: the text in row 2, column 1 is no valid UTF-32"},
    {"<U1", "False", "(1, 2)", "a\0\0\0\0\xD8\0\0", 8,
     "x: the text in row 1, column 2 is no valid UTF-32"},
    {"<U2", "False", "(1,)", "\0\0\0\0a\0\0\0", 8,
     "x: the text in row 1, column 1 is no valid UTF-32"},
    {"|S3", "False", "(1,)", "a\0b", 3, "x: the text in row 1, column 1 holds a zero byte"},
    {"<U0", "False", "(99999999999,)", "", 0,
     "x: dtype string ('<U0') cannot be read; save it as numbers or texts"},
    {"|S0", "False", "(9,)", "", 0,
     "x: dtype bytes ('|S0') cannot be read; save it as numbers or texts"},
    {"|S99999999999999999999", "False", "(9,)", "", 0,
     "x: dtype bytes ('|S99999999999999999999') cannot be read; save it as numbers or texts"},
    {"|O", "False", "(2,)", "12345678", 8,
     "x: dtype object ('|O') cannot be read; save it as numbers or texts"},
    {"<U5", "False", "(3,)", "", 0, "x: header says 3 x 1 string5 (60 bytes) but only 0 follow"},
    {"|S5", "False", "(3,)", "", 0, "x: header says 3 x 1 bytes5 (15 bytes) but only 0 follow"},
    {"|i1", "False", "(1, 1, 1)", "1", 1,
     "x: shape (1, 1, 1) has 3 dimensions; only 1 or 2 can be read"},
    {"|i1", "False", "()", "1", 1, "x: shape () has 0 dimensions; only 1 or 2 can be read"},
    {"|i1", "False", "(0, 4)", "", 0, "x: shape (0, 4) holds no values"},
    {"<f2", "False", "(2,)", "\0\0\0\x7C", 4, NULL},
};

static void npy_arrays_are_columns(void **state)
{
    (void)state;
    char file[512];
    for (int i = 0; i < COUNT(good_npy); i++) {
        const npy_case *c = &good_npy[i];
        size_t n = make_npy(file, c->descr, c->order, c->shape, c->bytes, c->size);
        expect_frame(parse_bytes(file, n, NULL), c->wanted);
    }
    for (int i = 0; i < COUNT(bad_npy); i++) {
        const npy_case *c = &bad_npy[i];
        size_t n = make_npy(file, c->descr, c->order, c->shape, c->bytes, c->size);
        if (c->wanted) {
            expect_bad_bytes(file, n, NULL, FAR_ERR_FORMAT, c->wanted);
        } else {
            expect_bad_bytes(file, n, NULL, FAR_ERR_VALUE,
                             "x: row 2, column 1 (c1) is inf; remove or fill it first");
        }
    }
}

/* ---- npz ---- */

static char members[8][512]; /* live until the zip is closed */
static int member_count;

static zip_t *open_zip(void)
{
    member_count = 0;
    zip_t *zip = zip_open("x.npz", ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    return zip;
}

static void add_member(zip_t *zip, const char *name, const char *descr, const char *shape,
                       const void *values, size_t bytes)
{
    char *member = members[member_count++];
    size_t size = make_npy(member, descr, "False", shape, values, bytes);
    zip_source_t *source = zip_source_buffer(zip, member, size, 0);
    assert_non_null(source);
    assert_true(zip_file_add(zip, name, source, 0) >= 0);
}

static far_frame *read_npz(const char *member)
{
    far_frame *f;
    if (far_frame_read(ctx, "x.npz", member, NULL, &f) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    return f;
}

/* x (3 x 2), y, kind (texts), z (3 x 1). */
static void make_npz(void)
{
    zip_t *zip = open_zip();
    add_member(zip, "x.npy", "|i1", "(3, 2)", "\1\2\3\4\5\6", 6);
    add_member(zip, "y.npy", "<i2", "(3,)", "\7\0\x08\0\xFF\xFF", 6);
    add_member(zip, "kind.npy", "|S2", "(3,)", "bba\0bb", 6);
    add_member(zip, "z.npy", "|u1", "(3, 1)", "\1\0\xFF", 3);
    assert_int_equal(zip_close(zip), 0);
}

static void npz_arrays_stand_side_by_side(void **state)
{
    (void)state;
    make_npz();
    expect_frame(read_npz(NULL), "x_1,x_2,y,kind*,z; 1,2,7,bb,1; 3,4,8,a,0; 5,6,-1,bb,255");
    expect_frame(read_npz("x"), "x_1,x_2; 1,2; 3,4; 5,6");
    expect_frame(read_npz("kind.npy"), "kind*; bb; a; bb");
    far_frame *f = (far_frame *)&test_heap;
    expect_failure(far_frame_read(ctx, "x.npz", "w", NULL, &f), FAR_ERR_ARG,
                   "x.npz: has no array 'w'; it holds x, y, kind, z");
    assert_null(f);
    unlink("x.npz");
}

static void expect_bad_npz(zip_t *zip, const char *member, far_status status, const char *message)
{
    far_frame *f = (far_frame *)&test_heap;
    if (zip) {
        assert_int_equal(zip_close(zip), 0);
    }
    far_status st = far_frame_read(ctx, "x.npz", member, NULL, &f);
    assert_null(f);
    expect_failure(st, status, message);
}

static void npz_says_which_arrays_do_not_go_together(void **state)
{
    (void)state;
    zip_t *zip = open_zip();
    add_member(zip, "feat.npy", "|i1", "(2, 3)", "\1\2\3\4\5\6", 6);
    add_member(zip, "seed.npy", "|i1", "()", "\7", 1);
    add_member(zip, "y.npy", "|i1", "(3,)", "\1\2\3", 3);
    expect_bad_npz(zip, NULL, FAR_ERR_SHAPE,
                   "x.npz: the arrays do not have the same number of rows: feat (2, 3), seed (), y "
                   "(3,); name one, as in file.npz:name");
    expect_frame(read_npz("y"), "y; 1; 2; 3");
    expect_bad_npz(NULL, "seed", FAR_ERR_FORMAT,
                   "x.npz: array seed: shape () has 0 dimensions; only 1 or 2 can be read");
    zip = open_zip();
    add_member(zip, "a.npy", "|i1", "(0,)", "", 0);
    add_member(zip, "b.npy", "|i1", "(0, 3)", "", 0);
    expect_bad_npz(zip, NULL, FAR_ERR_FORMAT, "x.npz: array a: shape (0,) holds no values");
    zip = open_zip();
    add_member(zip, "a.npy", "|i1", "(1,)", "\1", 1);
    add_member(zip, "who.npy", "|O", "(1,)", "", 0);
    expect_bad_npz(zip, NULL, FAR_ERR_FORMAT,
                   "x.npz: array who: dtype object ('|O') cannot be read; save it as numbers or "
                   "texts");
    zip = open_zip();
    add_member(zip, "a.npy", "<f4", "(1, 2)", "\0\0\0\0\0\0\x80\x7F", 8);
    expect_bad_npz(zip, NULL, FAR_ERR_VALUE,
                   "x.npz: row 1, column 2 (a_2) is inf; remove or fill it first");
    write_file("x.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    expect_bad_npz(NULL, NULL, FAR_ERR_FORMAT, "x.npz: is a zip file without npy arrays");
    unlink("x.npz");
}

static void npz_names_must_differ(void **state)
{
    (void)state;
    zip_t *zip = open_zip();
    add_member(zip, "a.npy", "|i1", "(1, 2)", "\1\2", 2);
    add_member(zip, "b.npy", "|i1", "(1,)", "\1", 1);
    add_member(zip, "a_2.npy", "|i1", "(1,)", "\1", 1);
    expect_bad_npz(zip, NULL, FAR_ERR_FORMAT,
                   "x.npz: columns 2 and 4 are both named 'a_2'; rename one");
    zip = open_zip();
    add_member(zip, "a.npy", "|i1", "(1, 2)", "\1\2", 2);
    add_member(zip, "a_2.npy", "|i1", "(1, 2)", "\1\2", 2);
    expect_bad_npz(zip, NULL, FAR_ERR_FORMAT,
                   "x.npz: 'a_2' is the name of a matrix and of column 2; rename one");
    unlink("x.npz");
}

static void npz_lists_only_so_many_shapes(void **state)
{
    (void)state;
    zip_t *zip = open_zip();
    static char names[15][24];
    for (int i = 0; i < 15; i++) {
        member_count = i % 2; /* two members serve them all */
        snprintf(names[i], sizeof names[i], "w%d.npy", i);
        add_member(zip, names[i], "|i1", i % 2 ? "(1,)" : "(2,)", "\1\2", i % 2 ? 1 : 2);
    }
    expect_bad_npz(zip, NULL, FAR_ERR_SHAPE,
                   "x.npz: the arrays do not have the same number of rows: w0 (2,), w1 (1,), w2 "
                   "(2,), w3 (1,), w4 (2,), w5 (1,), w6 (2,), w7 (1,), w8 (2,), w9 (1,), w10 (2,), "
                   "w11 (1,) and 3 more; name one, as in file.npz:name");
    unlink("x.npz");
}

/* ---- from a matrix ---- */

static void matrices_become_columns(void **state)
{
    (void)state;
    double values[] = {1, NAN, 9, 2, -0.5, 9, 3, 4, 9};
    const char *names[] = {"a", NULL};
    far_mat m = {.data = values, .rows = 3, .cols = 2, .ld = 3, .dtype = FAR_F64};
    far_frame *f;
    assert_int_equal(far_frame_from_mat(ctx, &m, NULL, &f), FAR_OK);
    values[0] = 77; /* they were copied */
    expect_frame(f, "c1,c2; 1,~; 2,-0.5; 3,4");
    assert_int_equal(far_frame_from_mat(ctx, &m, names, &f), FAR_OK);
    expect_frame(f, "a,c2; 77,~; 2,-0.5; 3,4");
}

/* ---- from columns ---- */

static const double three[] = {1, NAN, 2};
static const int32_t codes_of_three[] = {2, -1, 0};
static const char *const levels_of_three[] = {"z", "unused", "a"};

static void columns_become_a_frame(void **state)
{
    (void)state;
    static const int32_t said[] = {1, 0, 2};
    static const char *const words[] = {"NA", "b", ""};
    far_column_info columns[] = {
        {.name = "n", .numbers = three, .unit = "date"},
        {.kind = FAR_COLUMN_WORD,
         .codes = codes_of_three,
         .levels = levels_of_three,
         .level_count = 3},
        {.name = "w", .kind = FAR_COLUMN_WORD, .codes = said, .levels = words, .level_count = 3},
    };
    far_frame *f;
    assert_int_equal(far_frame_from_columns(ctx, columns, 3, 3, &f), FAR_OK);
    assert_string_equal(far_frame_column(f, 0).unit, "date");
    assert_int_equal(far_frame_column(f, 2).missing, 2);
    expect_frame(f, "n,c2*,w*; 1,a,b; ~,~,~; 2,z,~");
}

/* What a frame tells of itself makes it again: the same names, kinds, values and hash. */
static void a_frame_is_made_again_from_its_columns(void **state)
{
    (void)state;
    const char *text = "day,kind,rate\n2020-01-31,x,5%\n2021-02-01,,7%\n2022-03-05,a,\n";
    far_frame *f = parse_bytes(text, strlen(text), NULL), *again;
    far_column_info columns[3];
    char first[65], second[65];
    int64_t all[] = {0, 1, 2};
    for (int64_t j = 0; j < 3; j++) {
        columns[j] = far_frame_column(f, j);
    }
    assert_int_equal(far_frame_from_columns(ctx, columns, 3, 3, &again), FAR_OK);
    assert_string_equal(far_frame_column(again, 0).unit, "date");
    assert_string_equal(far_frame_column(again, 2).unit, "%");
    assert_int_equal(far_frame_hash(ctx, f, all, 3, NULL, first), FAR_OK);
    assert_int_equal(far_frame_hash(ctx, again, all, 3, NULL, second), FAR_OK);
    assert_string_equal(first, second);
    far_frame_destroy(f);
    far_frame_destroy(again);
}

static void expect_bad_column(far_column_info column, far_status status, const char *message)
{
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_from_columns(ctx, &column, 1, 3, &f);
    assert_null(f);
    expect_failure(st, status, message);
}

static void columns_are_checked(void **state)
{
    (void)state;
    static const double infinite[] = {1, 2, -INFINITY};
    far_frame *f;
    far_column_info words = {.kind = FAR_COLUMN_WORD, .codes = codes_of_three};
    expect_bad_column((far_column_info){.name = "n"}, FAR_ERR_ARG, "column 1: it has no numbers");
    expect_bad_column((far_column_info){.name = "n", .numbers = three, .unit = "kg"}, FAR_ERR_ARG,
                      "column 1: its unit is neither date nor a mark like % or $");
    expect_bad_column((far_column_info){.name = "n", .numbers = infinite}, FAR_ERR_VALUE,
                      "row 3, column 1 (n) is -inf; remove or fill it first");
    expect_bad_column((far_column_info){.kind = FAR_COLUMN_WORD}, FAR_ERR_ARG,
                      "column 1: it has no codes or levels");
    expect_bad_column(words, FAR_ERR_ARG, "column 1: a code is not below the number of its levels");
    words.levels = levels_of_three, words.level_count = 2;
    expect_bad_column(words, FAR_ERR_ARG, "column 1: a code is not below the number of its levels");
    expect_failure(far_frame_from_columns(ctx, &words, 1, 0, &f), FAR_ERR_SHAPE,
                   "0 rows of 1 columns; a frame needs both");
    expect_failure(far_frame_from_columns(ctx, NULL, 1, 1, &f), FAR_ERR_ARG,
                   "columns or out is NULL");
}

static void expect_bad_mat(const far_mat *m, const char *const *names, far_status status,
                           const char *message)
{
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_from_mat(ctx, m, names, &f);
    assert_null(f);
    expect_failure(st, status, message);
}

static void matrices_are_checked(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, -INFINITY, 5, 6};
    far_mat good = far_mat_view(values, 2, 3, FAR_F64), bad = good;
    far_frame *f;
    static const char *const twice[] = {"u", "v", "u"};
    expect_bad_mat(&good, NULL, FAR_ERR_VALUE,
                   "row 2, column 1 (c1) is -inf; remove or fill it first");
    expect_bad_mat(&good, twice, FAR_ERR_ARG, "columns 1 and 3 are both named 'u'; rename one");
    bad.dtype = FAR_F32;
    expect_bad_mat(&bad, NULL, FAR_ERR_ARG, "m is float32; a frame is made from float64");
    bad = far_mat_view(values, 0, 3, FAR_F64);
    expect_bad_mat(&bad, NULL, FAR_ERR_SHAPE, "m is 0 x 3; a frame needs rows and columns");
    bad = far_mat_view(values, 2, 0, FAR_F64);
    expect_bad_mat(&bad, NULL, FAR_ERR_SHAPE, "m is 2 x 0; a frame needs rows and columns");
    expect_bad_mat(NULL, NULL, FAR_ERR_ARG, "m is NULL");
    expect_failure(far_frame_from_mat(ctx, &good, NULL, NULL), FAR_ERR_ARG, "out is NULL");
    assert_int_equal(far_frame_from_mat(NULL, &good, NULL, &f), FAR_ERR_ARG);
}

/* ---- names and lists ---- */

static void the_nearest_name_is_near(void **state)
{
    (void)state;
    static const char *const names[] = {
        "RMSD",   "F1",    "F12",
        "length", "width", "a name that is much longer than any word people mistype"};
    assert_string_equal(far_nearest_name("rmsd", names, 6), "RMSD");
    assert_string_equal(far_nearest_name("lenght", names, 6), "length");
    assert_string_equal(far_nearest_name("with", names, 6), "width");
    assert_string_equal(far_nearest_name("F2", names, 6), "F1");
    assert_string_equal(far_nearest_name("f12", names, 6), "F12");
    assert_null(far_nearest_name("height", names, 6));
    assert_null(far_nearest_name(names[5], names, 6));
    assert_null(far_nearest_name("", names, 0));
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    far_frame *f = parse_text("RMSD,F1,\"a, b\"\n1,2,3\n");
    int64_t col = -1;
    assert_int_equal(far_frame_find(ctx, f, "F1", &col), FAR_OK);
    assert_int_equal(col, 1);
    assert_int_equal(far_frame_find(ctx, f, "a, b", &col), FAR_OK);
    assert_int_equal(col, 2);
    expect_failure(far_frame_find(ctx, f, "F3", &col), FAR_ERR_ARG,
                   "x: there is no column 'F3'; did you mean 'F1'? The columns are RMSD, F1, a, b");
    expect_failure(far_frame_find(ctx, f, "weight\n", &col), FAR_ERR_ARG,
                   "x: there is no column 'weight\\n'; the columns are RMSD, F1, a, b");
    assert_int_equal(col, 2);
    expect_failure(far_frame_find(ctx, f, NULL, &col), FAR_ERR_ARG, "frame, name or col is NULL");
    expect_failure(far_frame_find(ctx, f, "F1", NULL), FAR_ERR_ARG, "frame, name or col is NULL");
    expect_failure(far_frame_find(ctx, NULL, "F1", &col), FAR_ERR_ARG,
                   "frame, name or col is NULL");
    far_frame_destroy(f);
    f = parse_text("a,b,c,d,e,f,g,h,i,j,k,l,m\n1,2,3,4,5,6,7,8,9,10,11,12,13\n");
    expect_failure(far_frame_find(ctx, f, "weight", &col), FAR_ERR_ARG,
                   "x: there is no column 'weight'");
    far_frame_destroy(f);
}

/* Names of any length leave the message whole enough. */
static void long_names_are_cut_in_messages(void **state)
{
    (void)state;
    char text[8192], *end = text;
    for (int j = 0; j < 12; j++) {
        end += sprintf(end, "%s%0500d", j ? ",x" : "x", j);
    }
    strcpy(end, "\n1,2,3,4,5,6,7,8,9,10,11,12\n");
    far_frame *f = parse_text(text);
    int64_t col;
    assert_int_equal(far_frame_find(ctx, f, "nothing", &col), FAR_ERR_ARG);
    assert_non_null(strstr(far_ctx_message(ctx), "'nothing'; the columns are x000"));
    unsigned char rows[1];
    assert_int_equal(far_frame_where(ctx, f, "nothing > 1", rows), FAR_ERR_PARSE);
    assert_non_null(strstr(far_ctx_message(ctx), "\nnothing > 1\n^"));
    far_frame_destroy(f);
}

static void expect_list(const far_frame *f, const char *list, const char *wanted)
{
    int64_t cols[16], count = -1;
    dump d = {.used = 0};
    if (far_frame_list(ctx, f, list, cols, &count) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    for (int64_t i = 0; i < count; i++) {
        put(&d, "%lld ", (long long)cols[i]);
    }
    assert_string_equal(d.text, wanted);
}

static void lists_name_columns_and_matrices(void **state)
{
    (void)state;
    far_frame *f = parse_text("a,\"b, c\",\"d\"\"e\",f g\n1,2,3,4\n");
    expect_list(f, "a", "0 ");
    expect_list(f, "f g,a", "3 0 ");
    expect_list(f, " a ,\t\"b, c\" , f g", "0 1 3 ");
    expect_list(f, "\"d\"\"e\"", "2 ");
    expect_list(f, "d\"e", "2 ");
    expect_list(f, "`d\"e`,`b, c`", "2 1 ");
    expect_list(f, "`f g` , a", "3 0 ");
    int64_t some[5], found;
    expect_failure(far_frame_list(ctx, f, "b, c", some, &found), FAR_ERR_ARG,
                   "x: column 'b, c' has a comma or a quote in its name; put it in backquotes");
    far_frame_destroy(f);
    make_npz();
    f = read_npz(NULL);
    expect_list(f, "z,x", "4 0 1 ");
    expect_list(f, "x_2,kind", "1 3 ");
    int64_t cols[5], count = 5;
    expect_failure(far_frame_list(ctx, f, "x_2,x", cols, &count), FAR_ERR_ARG,
                   "column 'x_2' is listed twice");
    expect_failure(far_frame_find(ctx, f, "x", cols), FAR_ERR_ARG,
                   "x.npz: 'x' is 2 columns, x_1 to x_2; name one of them");
    far_frame_destroy(f);
    unlink("x.npz");
}

static void lists_are_checked(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "name 1 of the list is empty"},
        {"a,", "name 2 of the list is empty"},
        {"a, ,b", "name 2 of the list is empty"},
        {"a,\"b", "name 2 of the list has no closing quote"},
        {"a,`b", "name 2 of the list has no closing quote"},
        {"\"a\"b", "name 1 of the list goes on behind its closing quote"},
        {"a,b,a", "column 'a' is listed twice"},
        {"b,d", "x: there is no column 'd'; did you mean 'a'? The columns are a, b"},
        {"a\nb", "x: there is no column 'a\\nb'; the columns are a, b"},
    };
    far_frame *f = parse_text("a,b\n1,2\n");
    int64_t cols[2] = {-7, -8}, count = -9;
    for (int i = 0; i < COUNT(bad); i++) {
        expect_failure(far_frame_list(ctx, f, bad[i][0], cols, &count), FAR_ERR_ARG, bad[i][1]);
    }
    assert_true(cols[0] == -7 && cols[1] == -8 && count == -9);
    const char *null = "frame, list, cols or count is NULL";
    expect_failure(far_frame_list(ctx, NULL, "a", cols, &count), FAR_ERR_ARG, null);
    expect_failure(far_frame_list(ctx, f, NULL, cols, &count), FAR_ERR_ARG, null);
    expect_failure(far_frame_list(ctx, f, "a", NULL, &count), FAR_ERR_ARG, null);
    expect_failure(far_frame_list(ctx, f, "a", cols, NULL), FAR_ERR_ARG, null);
    assert_int_equal(far_frame_list(NULL, f, "a", cols, &count), FAR_ERR_ARG);
    far_frame_destroy(f);
}

/* ---- conditions ---- */

/* Row by row: n is 1, 2, missing, -3, 5; kind a, b, a b, missing, a. */
#define WHERE_FRAME                                                                                \
    "n,m,kind,other,and,odd name,2019\n"                                                           \
    "1,1,a,a,1,0,7\n"                                                                              \
    "2,1.5,b,a,2,0,8\n"                                                                            \
    ",3,a b,,3,1,9\n"                                                                              \
    "-3,NA,,b,4,1,7\n"                                                                             \
    "5,-6,a,c,5,1,8\n"

static const char *const good_where[][2] = {
    {"n > 1", "01001"},
    {"n>=1", "11001"},
    {"n < 2", "10010"},
    {"n <= 2", "11010"},
    {"n == 2", "01000"},
    {"n = 2", "01000"},
    {"n != 2", "10011"},
    {"not n == 2", "10111"}, /* also where n is missing */
    {"! n == 2", "10111"},
    {"!n==2", "10111"},
    {"not not n == 2", "01000"},
    {"n == n", "11011"},
    {"not n == n", "00100"},
    {"2 == n", "01000"},
    {"1 < n", "01001"},
    {"-3 == n", "00010"},
    {"n == -3", "00010"},
    {"n==-3", "00010"},
    {"n > +1", "01001"},
    {"n > .5", "11001"},
    {"n < 1e5", "11011"},
    {"n < 1.e0", "00010"},
    {"n > -1.5e3", "11011"},
    {"n == m", "10000"},
    {"n != m", "01001"},
    {"n > m", "01001"},
    {"0 < n < 3", "11000"},
    {"0 < n <= m", "10000"},
    {"5 >= n > m > -10", "01001"},
    {"1 == n == m", "10000"},
    {"kind == 'a'", "10001"},
    {"kind = \"a\"", "10001"},
    {"'a' == kind", "10001"},
    {"'a' != kind", "01100"},
    {"kind == 'a b'", "00100"},
    {"kind != 'a'", "01100"},
    {"not kind == 'a'", "01110"},
    {"kind == 'zebra'", "00000"},
    {"kind != 'zebra'", "11101"},
    {"kind == 'A'", "00000"},
    {"kind == ''", "00000"},
    {"kind == other", "10000"},
    {"other == kind", "10000"},
    {"kind != other", "01001"},
    {"kind == kind", "11101"},
    {"kind != kind", "00000"},
    {"kind == other == 'a'", "10000"},
    {"n > 1 and kind == 'a'", "00001"},
    {"n > 1 && kind == 'a'", "00001"},
    {"n > 1 or kind == 'a'", "11001"},
    {"n > 1 || kind == 'a'", "11001"},
    {"n > 1 or kind == 'a' and m == 1", "11001"},
    {"(n > 1 or kind == 'a') and m == 1", "10000"},
    {"not n > 1 or m == 1", "10110"},
    {"not (n > 1 or m == 1)", "00110"},
    {"not (n > 1) and not (m == 1)", "00110"},
    {"n == 1 or n == 2 or n == 5", "11001"},
    {"n > 0 and n > 1 and n > 2 and n > 3", "00001"},
    {"((((n == 1))))", "10000"},
    {"`and` > 3", "00011"},
    {"`n` > 1", "01001"},
    {"`odd name` == 0", "11000"},
    {"n is missing", "00100"},
    {"n is not missing", "11011"},
    {"not n is missing", "11011"},
    {"n is not missing and kind is not missing", "11001"},
    {"kind is missing or n == 1", "10010"},
    {"(other is missing)", "00100"},
    {"`2019` == 7", "10010"},
    {"`2019` == 7 and not (`odd name` = 1)", "10000"},
    {" \t\n n \n > \r 1 \n ", "01001"},
};

static void expect_rows(const far_frame *f, const char *expr, const char *wanted)
{
    unsigned char rows[5] = {9, 9, 9, 9, 9};
    if (far_frame_where(ctx, f, expr, rows) != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    for (int i = 0; i < 5; i++) {
        if (rows[i] != wanted[i] - '0') {
            fail_msg("'%s' is %d in row %d", expr, rows[i], i + 1);
        }
    }
}

static void conditions_choose_rows(void **state)
{
    (void)state;
    far_frame *f = parse_text(WHERE_FRAME);
    for (int i = 0; i < COUNT(good_where); i++) {
        expect_rows(f, good_where[i][0], good_where[i][1]);
    }
    far_frame_destroy(f);
}

static void quotes_double_inside_themselves(void **state)
{
    (void)state;
    far_frame *f = parse_text("it's,`x`,w\n1,1,it's\n2,2,\"say \"\"hi\"\"\"\n3,3,\"a'\"\n4,4,b\n5,"
                              "5,\n");
    expect_rows(f, "w == 'it''s'", "10000");
    expect_rows(f, "w == \"it's\"", "10000");
    expect_rows(f, "w == 'say \"hi\"'", "01000");
    expect_rows(f, "w == \"say \"\"hi\"\"\"", "01000");
    expect_rows(f, "w == 'a'''", "00100");
    expect_rows(f, "```x``` < 2", "10000");
    expect_rows(f, "`it's` < 2", "10000");
    far_frame_destroy(f);
}

static void names_may_have_letters_of_any_language(void **state)
{
    (void)state;
    far_frame *f = parse_text("gr\xC3\xB6\xC3\x9F"
                              "e,petal.length,_x\n1,1,1\n2,2,2\n3,3,3\n4,4,4\n5,5,5\n");
    expect_rows(f,
                "gr\xC3\xB6\xC3\x9F"
                "e > 4 or petal.length < 2 or _x == 3",
                "10101");
    far_frame_destroy(f);
}

/* More rows than a block, and not a multiple of one. */
static void conditions_hold_for_every_block_of_rows(void **state)
{
    (void)state;
    enum { ROWS = 1009 };
    char *text = malloc(32 * ROWS), *end = text + sprintf(text, "i,w\n");
    for (int i = 0; i < ROWS; i++) {
        end += sprintf(end, "%d,w%d\n", i, i % 3);
    }
    far_frame *f = parse_text(text);
    unsigned char rows[ROWS + 1];
    rows[ROWS] = 9;
    assert_int_equal(far_frame_where(ctx, f, "i >= 500 and (w == 'w1' or not i < 1000)", rows),
                     FAR_OK);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i], i >= 500 && (i % 3 == 1 || i >= 1000));
    }
    assert_int_equal(rows[ROWS], 9);
    far_frame_destroy(f);
    free(text);
}

#define SIGNS "==, !=, <, <=, > or >="
#define OPERAND "expected a column, a number or a word in quotes, found "
#define COLUMNS "The columns are n, m, kind, other, and, odd name, 2019"

static const char *const bad_where[][2] = {
    {"", "column 1: expected a condition such as F1 > 0, found nothing\n\n^"},
    {"  ", "column 3: expected a condition such as F1 > 0, found nothing\n  \n  ^"},
    {"n", "column 1: 'n' alone is no condition; compare it by " SIGNS "\nn\n^"},
    {"kind", "column 1: 'kind' alone is no condition; compare it by " SIGNS "\nkind\n^"},
    {"7", "column 1: '7' alone is no condition; compare it by " SIGNS "\n7\n^"},
    {"n > 1 and m",
     "column 11: 'm' alone is no condition; compare it by " SIGNS "\nn > 1 and m\n          ^"},
    {"(n) > 1", "column 2: 'n' alone is no condition; compare it by " SIGNS "\n(n) > 1\n ^"},
    {"not n", "column 5: 'n' alone is no condition; compare it by " SIGNS "\nnot n\n    ^"},
    {"n m", "column 3: expected " SIGNS " after 'n', found 'm'\nn m\n  ^"},
    {"n 1", "column 3: expected " SIGNS " after 'n', found '1'\nn 1\n  ^"},
    {"n-1 > 2", "column 2: expected " SIGNS " after 'n', found '-1'\nn-1 > 2\n ^"},
    {"n not > 2", "column 3: expected " SIGNS " after 'n', found 'not'\nn not > 2\n  ^"},
    {"`odd name` 'a'",
     "column 12: expected " SIGNS " after `odd name`, found 'a'\n`odd name` 'a'\n           ^"},
    {"n is", "column 5: expected 'missing' after 'is', found the end\nn is\n    ^"},
    {"n is 3", "column 6: expected 'missing' after 'is', found '3'\nn is 3\n     ^"},
    {"n is not 3", "column 10: expected 'missing' after 'is', found '3'\nn is not 3\n         ^"},
    {"3 is missing", "column 1: only a column can be missing\n3 is missing\n^"},
    {"n >", "column 4: " OPERAND "the end\nn >\n   ^"},
    {"n > > 1", "column 5: " OPERAND "'>'\nn > > 1\n    ^"},
    {"n => 1", "column 4: " OPERAND "'>'\nn => 1\n   ^"},
    {"> 1", "column 1: " OPERAND "'>'\n> 1\n^"},
    {"n > 1 and", "column 10: " OPERAND "the end\nn > 1 and\n         ^"},
    {"n > 1 and or m > 1", "column 11: " OPERAND "'or'\nn > 1 and or m > 1\n          ^"},
    {"n > and", "column 5: " OPERAND "'and'\nn > and\n    ^"},
    {"n > (1)", "column 5: " OPERAND "'('\nn > (1)\n    ^"},
    {"()", "column 2: " OPERAND "')'\n()\n ^"},
    {"n > 1 m > 2", "column 7: expected 'and', 'or' or the end, found 'm'\nn > 1 m > 2\n      ^"},
    {"n > 1 AND m > 2",
     "column 7: expected 'and', 'or' or the end, found 'AND'\nn > 1 AND m > 2\n      ^"},
    {"(n > 1) > 2", "column 9: expected 'and', 'or' or the end, found '>'\n(n > 1) > 2\n        ^"},
    {"(n > 1 m > 2)", "column 8: expected 'and', 'or' or ')', found 'm'\n(n > 1 m > 2)\n       ^"},
    {"(n > 1", "column 1: this parenthesis is not closed\n(n > 1\n^"},
    {"n > 0 and ((n > 1)",
     "column 11: this parenthesis is not closed\nn > 0 and ((n > 1)\n          ^"},
    {"n > 1)", "column 6: this parenthesis was not opened\nn > 1)\n     ^"},
    {"n & m", "column 3: expected 'and', found '&'\nn & m\n  ^"},
    {"n > 1 | m > 1", "column 7: expected 'or', found '|'\nn > 1 | m > 1\n      ^"},
    {"n > 1 % 2", "column 7: '%' has no meaning here; odd names of columns go in backquotes\nn > 1 "
                  "% 2\n      ^"},
    {"n > -m",
     "column 5: '-' has no meaning here; odd names of columns go in backquotes\nn > -m\n    ^"},
    {"n > \001",
     "column 5: '\\x01' has no meaning here; odd names of columns go in backquotes\nn >  \n"
     "    ^"},
    {"n > 3x",
     "column 5: '3x' is no number; a column's name that starts with a digit goes in backquotes\n"
     "n > 3x\n    ^"},
    {"n > 1.5.2",
     "column 5: '1.5.2' is no number; a column's name that starts with a digit goes in "
     "backquotes\nn > 1.5.2\n    ^"},
    {"n > 1e999", "column 5: the number is too large\nn > 1e999\n    ^"},
    {"kind == 'a", "column 9: this ' is not closed\nkind == 'a\n        ^"},
    {"kind == \"a'", "column 9: this \" is not closed\nkind == \"a'\n        ^"},
    {"`n > 1", "column 1: this ` is not closed\n`n > 1\n^"},
    {"kin == 'a'",
     "column 1: there is no column 'kin'; did you mean 'kind'? " COLUMNS "\nkin == 'a'\n^"},
    {"n > 1 and `odd nam` == 'a'",
     "column 11: there is no column 'odd nam'; did you mean 'odd name'? " COLUMNS
     "\nn > 1 and `odd nam` == 'a'\n          ^"},
    {"weight > 1",
     "column 1: there is no column 'weight'; the columns are n, m, kind, other, and, odd name, 2019"
     "\nweight > 1\n^"},
    {"nan == n",
     "column 1: there is no column 'nan'; the columns are n, m, kind, other, and, odd name, 2019"
     "\nnan == n\n^"},
    {"kind == b", "column 9: there is no column 'b'; words stand in quotes\nkind == b\n        ^"},
    {"kind == x",
     "column 9: there is no column 'x'; did you mean 'n'? " COLUMNS "\nkind == x\n        ^"},
    {"kind == 1", "column 9: 'kind' holds words, such as 'a' in row 1; compare it with a word in "
                  "quotes\nkind == 1\n"
                  "        ^"},
    {"1 < kind", "column 1: 'kind' holds words, such as 'a' in row 1; compare it with a word in "
                 "quotes\n1 < kind\n^"},
    {"n == 'a'", "column 6: 'n' holds numbers; compare it with a number\nn == 'a'\n     ^"},
    {"'1' == n", "column 1: 'n' holds numbers; compare it with a number\n'1' == n\n^"},
    {"n == kind", "column 6: 'n' holds numbers, but 'kind' holds words, such as 'a' in row 1\nn == "
                  "kind\n     ^"},
    {"kind == n", "column 9: 'kind' holds words, such as 'a' in row 1, but 'n' holds numbers\nkind "
                  "== n\n        ^"},
    {"kind > 'a'", "column 6: words compare by == and != only\nkind > 'a'\n     ^"},
    {"kind <= other", "column 6: words compare by == and != only\nkind <= other\n     ^"},
    {"1 < 2", "column 1: there is no column in this comparison\n1 < 2\n^"},
    {"n > 1 or 'a' == 'b'",
     "column 10: there is no column in this comparison\nn > 1 or 'a' == 'b'\n         ^"},
    {"0 < 1 < n", "column 1: there is no column in this comparison\n0 < 1 < n\n^"},
    {"2019 == 7",
     "column 1: this is a number; the column of that name goes in backquotes\n2019 == 7\n^"},
    {"'kind' == 'a'",
     "column 1: this is a word; the column of that name goes in backquotes\n'kind' == 'a'\n^"},
    {"7 == 2019",
     "column 6: this is a number; the column of that name goes in backquotes\n7 == 2019\n     ^"},
};

static void conditions_that_fail_point_at_the_place(void **state)
{
    (void)state;
    far_frame *f = parse_text(WHERE_FRAME);
    unsigned char rows[5] = {9, 9, 9, 9, 9};
    for (int i = 0; i < COUNT(bad_where); i++) {
        expect_failure(far_frame_where(ctx, f, bad_where[i][0], rows), FAR_ERR_PARSE,
                       bad_where[i][1]);
    }
    const char *null = "frame, expr or rows is NULL";
    expect_failure(far_frame_where(ctx, NULL, "n > 1", rows), FAR_ERR_ARG, null);
    expect_failure(far_frame_where(ctx, f, NULL, rows), FAR_ERR_ARG, null);
    expect_failure(far_frame_where(ctx, f, "n > 1", NULL), FAR_ERR_ARG, null);
    assert_int_equal(far_frame_where(NULL, f, "n > 1", rows), FAR_ERR_ARG);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rows[i], 9);
    }
    far_frame_destroy(f);
}

/* One slip makes a column of words; the message says where it is. */
static void a_slip_in_a_column_of_numbers_is_named(void **state)
{
    (void)state;
    far_frame *f = parse_text("n\n1\n\"\"\n12.O\n7\n");
    unsigned char rows[4];
    expect_failure(far_frame_where(ctx, f, "n > 1", rows), FAR_ERR_PARSE,
                   "column 5: 'n' holds words, such as '12.O' in row 3; compare it with a word in "
                   "quotes\nn > 1\n    ^");
    far_frame_destroy(f);
}

static void a_matrix_is_no_column(void **state)
{
    (void)state;
    make_npz();
    far_frame *f = read_npz(NULL);
    unsigned char rows[3];
    expect_failure(far_frame_where(ctx, f, "x > 1", rows), FAR_ERR_PARSE,
                   "column 1: 'x' is 2 columns; name one of them, as in x_1\nx > 1\n^");
    assert_int_equal(far_frame_where(ctx, f, "x_2 > 2 and kind == 'a'", rows), FAR_OK);
    assert_memory_equal(rows, "\0\1\0", 3);
    far_frame_destroy(f);
    unlink("x.npz");
}

/* An array of empty texts has no levels. */
static void a_word_column_may_have_no_words(void **state)
{
    (void)state;
    char file[512];
    size_t n = make_npy(file, "|S2", "False", "(2,)", "\0\0NA", 4);
    far_frame *f = parse_bytes(file, n, NULL);
    unsigned char rows[2];
    assert_int_equal(far_frame_where(ctx, f, "c1 == 'a' or c1 != 'a'", rows), FAR_OK);
    assert_memory_equal(rows, "\0\0", 2);
    expect_failure(far_frame_where(ctx, f, "c1 == 1", rows), FAR_ERR_PARSE,
                   "column 7: 'c1' holds words; compare it with a word in quotes\n"
                   "c1 == 1\n      ^");
    expect_frame(f, "c1*; ~; ~");
}

static char *repeat(const char *piece, int times, const char *end)
{
    size_t length = strlen(piece);
    char *text = malloc(length * (size_t)times + strlen(end) + 1), *p = text;
    for (int i = 0; i < times; i++) {
        memcpy(p, piece, length);
        p += length;
    }
    strcpy(p, end);
    return text;
}

static void nesting_is_limited(void **state)
{
    (void)state;
    far_frame *f = parse_text(WHERE_FRAME);
    unsigned char rows[5];
    char *deep = repeat("not ", 64, "n > 1");
    assert_int_equal(far_frame_where(ctx, f, deep, rows), FAR_OK);
    assert_memory_equal(rows, "\0\1\0\0\1", 5);
    free(deep);
    static const char *const pieces[] = {"(", "!", "not (n > 1 or "};
    for (int i = 0; i < COUNT(pieces); i++) {
        deep = repeat(pieces[i], 20000 / (int)strlen(pieces[i]), "n > 1");
        assert_int_equal(far_frame_where(ctx, f, deep, rows), FAR_ERR_PARSE);
        assert_non_null(strstr(far_ctx_message(ctx),
                               ": more than 64 parentheses and nots inside each other\n"));
        free(deep);
    }
    far_frame_destroy(f);
}

/* Only nesting is limited: a condition may have thousands of parts. */
static void conditions_may_be_long(void **state)
{
    (void)state;
    far_frame *f = parse_text(WHERE_FRAME);
    unsigned char rows[5];
    char *text = repeat("n > 1 or ", 7000, "n == -3");
    assert_int_equal(far_frame_where(ctx, f, text, rows), FAR_OK);
    assert_memory_equal(rows, "\0\1\0\1\1", 5);
    free(text);
    text = repeat("n <= ", 13000, "n");
    assert_int_equal(far_frame_where(ctx, f, text, rows), FAR_OK);
    assert_memory_equal(rows, "\1\1\0\1\1", 5);
    free(text);
    text = repeat(" ", 65537, "n > 1");
    assert_int_equal(far_frame_where(ctx, f, text, rows), FAR_ERR_PARSE);
    assert_non_null(strstr(far_ctx_message(ctx), "the text is longer than 65536 bytes\n..."));
    free(text);
    far_frame_destroy(f);
}

/* ---- hashes ---- */

static void expect_sha256(const void *data, size_t size, size_t step, const char *wanted)
{
    far_sha256 h;
    char digest[65];
    far_sha256_init(&h);
    for (size_t at = 0; at < size; at += step) {
        far_sha256_add(&h, (const char *)data + at, size - at < step ? size - at : step);
    }
    far_sha256_finish(&h, digest);
    assert_string_equal(digest, wanted);
}

/* The standard's examples, and texts that end where the length has just room or none. */
static void sha256_is_the_standard_one(void **state)
{
    (void)state;
    expect_sha256("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_sha256("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 7,
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = repeat("a", 1000000, "");
    expect_sha256(million, 1000000, 997,
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_sha256(million, 1000000, 1000000,
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_sha256(million, 55, 55,
                  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    expect_sha256(million, 64, 13,
                  "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    free(million);
}

static void hash_of(const far_frame *f, const char *list, const unsigned char *rows, char out[65])
{
    int64_t cols[16], count;
    assert_int_equal(far_frame_list(ctx, f, list, cols, &count), FAR_OK);
    assert_int_equal(far_frame_hash(ctx, f, cols, count, rows, out), FAR_OK);
}

static void expect_hash(const char *text, const char *list, const unsigned char *rows,
                        const char *wanted)
{
    char digest[65];
    far_frame *f = parse_text(text);
    hash_of(f, list, rows, digest);
    assert_string_equal(digest, wanted);
    far_frame_destroy(f);
}

static void expect_other_hash(const char *text, const char *list, const unsigned char *rows,
                              const char *not_wanted)
{
    char digest[65];
    far_frame *f = parse_text(text);
    hash_of(f, list, rows, digest);
    assert_string_not_equal(digest, not_wanted);
    far_frame_destroy(f);
}

/* The digest is that of these bytes: counts of columns and rows as 64-bit little-endian numbers;
 * for each column its name (its length first), its kind, and its values, numbers as float64, words
 * with their length first; 0x7ff8 << 48 and 2^64 - 1 where they are missing. Made by Python's
 * hashlib. */
#define DIGEST "d228abf32b4485f34ca49ec24e4b58ec6383ff2e47f8d0d047da5d582e1fbb47"

static void hashes_tell_content_from_content(void **state)
{
    (void)state;
    const char *text = "n,kind\n1.5,b\n,a b\n0,\n";
    expect_hash(text, "n,kind", NULL, DIGEST);
    expect_hash("kind;x;n\nb;1;1.50\n'';2;7\na b;3;NA\n?;4;-0.0\n", "n,kind",
                (const unsigned char *)"\1\0\5\1", DIGEST);
    expect_other_hash(text, "kind,n", NULL, DIGEST);
    expect_other_hash(text, "n", NULL, DIGEST);
    expect_other_hash(text, "n,kind", (const unsigned char *)"\1\1\0", DIGEST);
    expect_other_hash("n,kin\n1.5,b\n,a b\n0,\n", "n,kin", NULL, DIGEST);
    expect_other_hash("n,kind\n1.5,b\n,a c\n0,\n", "n,kind", NULL, DIGEST);
    expect_other_hash("n,kind\n1.5,b\n,\n0,a b\n", "n,kind", NULL, DIGEST);
    expect_other_hash("n,kind\n1.5,b\n0,a b\n,\n", "n,kind", NULL, DIGEST);
}

static void hashes_do_not_depend_on_the_format(void **state)
{
    (void)state;
    char from_npz[65];
    make_npz();
    far_frame *f = read_npz(NULL);
    hash_of(f, "x,kind", NULL, from_npz);
    far_frame_destroy(f);
    unlink("x.npz");
    expect_hash("kind,x_1,x_2\nbb,1,2\na,3,4\nbb,5,6\n", "x_1,x_2,kind", NULL, from_npz);
}

static void hashes_are_checked(void **state)
{
    (void)state;
    far_frame *f = parse_text("a,b\n1,2\n");
    char digest[65];
    const int64_t cols[] = {0, 2}, negative[] = {-1};
    expect_failure(far_frame_hash(ctx, f, cols, 2, NULL, digest), FAR_ERR_ARG,
                   "x: there is no column 2, only 0 to 1");
    expect_failure(far_frame_hash(ctx, f, negative, 1, NULL, digest), FAR_ERR_ARG,
                   "x: there is no column -1, only 0 to 1");
    const char *null = "frame, cols or out is NULL, or count is negative";
    expect_failure(far_frame_hash(ctx, f, NULL, 1, NULL, digest), FAR_ERR_ARG, null);
    expect_failure(far_frame_hash(ctx, f, cols, -1, NULL, digest), FAR_ERR_ARG, null);
    expect_failure(far_frame_hash(ctx, f, cols, 1, NULL, NULL), FAR_ERR_ARG, null);
    expect_failure(far_frame_hash(ctx, NULL, cols, 1, NULL, digest), FAR_ERR_ARG, null);
    assert_int_equal(far_frame_hash(ctx, f, NULL, 0, NULL, digest), FAR_OK);
    far_frame_destroy(f);
}

/* ---- failing allocations ---- */

/* Runs a call with its k-th allocation failing, for k = 0, 1, ... until it succeeds. */
static int break_every(far_status (*call)(void *), void *user, const char *label)
{
    far_status st = FAR_ERR_MEMORY;
    int64_t live = test_heap.live_blocks;
    int k = 0;
    for (; st != FAR_OK; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        st = call(user);
        if (st != FAR_OK) {
            assert_int_equal(st, FAR_ERR_MEMORY);
            assert_int_equal(strncmp(far_ctx_message(ctx), label, strlen(label)), 0);
            assert_non_null(strstr(far_ctx_message(ctx), "out of memory"));
        }
        assert_int_equal(test_heap.live_blocks, live);
        assert_in_range(k, 0, 400);
    }
    test_heap.fail_at = -1;
    return k;
}

static far_status call_read(void *path)
{
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_read(ctx, path, NULL, NULL, &f);
    assert_true((st == FAR_OK) == (f != NULL));
    far_frame_destroy(f);
    return st;
}

static far_status call_from_mat(void *mat)
{
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_from_mat(ctx, mat, NULL, &f);
    assert_true((st == FAR_OK) == (f != NULL));
    far_frame_destroy(f);
    return st;
}

static far_status call_from_columns(void *unused)
{
    (void)unused;
    far_column_info words = {.name = "w",
                             .kind = FAR_COLUMN_WORD,
                             .codes = codes_of_three,
                             .levels = levels_of_three,
                             .level_count = 3};
    far_frame *f = (far_frame *)&test_heap;
    far_status st = far_frame_from_columns(ctx, &words, 1, 3, &f);
    assert_true((st == FAR_OK) == (f != NULL));
    far_frame_destroy(f);
    return st;
}

static far_status call_where(void *frame)
{
    unsigned char rows[5];
    return far_frame_where(ctx, frame,
                           "kind == other or kind == 'a' and not (0 < n < 3 or n == 1 or n == 2 or "
                           "n == 3 or n == 4 or `odd name` == 5 or kind != 'b')",
                           rows);
}

static far_status call_list(void *frame)
{
    int64_t cols[16], count = -1;
    far_status st = far_frame_list(ctx, frame, "n,\"odd name\",kind", cols, &count);
    assert_int_equal(count, st == FAR_OK ? 3 : -1);
    return st;
}

static void every_call_survives_any_failing_allocation(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 4, 5, 6};
    far_mat m = far_mat_view(values, 3, 2, FAR_F64);
    char file[512];
    write_file("x", WHERE_FRAME, strlen(WHERE_FRAME));
    assert_true(break_every(call_read, "x", "x: ") > 20);
    write_file("x", file, make_npy(file, "|S2", "False", "(2, 2)", "aabbccdd", 8));
    assert_true(break_every(call_read, "x", "x: ") > 10);
    make_npz();
    assert_true(break_every(call_read, "x.npz", "x.npz: ") > 20);
    assert_true(break_every(call_from_mat, &m, "") > 5);
    assert_true(break_every(call_from_columns, NULL, "") > 5);
    far_frame *f = parse_text(WHERE_FRAME);
    assert_true(break_every(call_where, f, "") > 5);
    assert_true(break_every(call_list, f, "") > 2);
    far_frame_destroy(f);
    unlink("x");
    unlink("x.npz");
}

/* Enough different words for every table to grow more than once. */
static void growing_survives_any_failing_allocation(void **state)
{
    (void)state;
    char text[4096], *end = text + sprintf(text, "w\n");
    for (int i = 0; i < 131; i++) {
        end += sprintf(end, "word%d\n", i * 37 % 131);
    }
    write_file("x", text, (size_t)(end - text));
    assert_true(break_every(call_read, "x", "x: ") > 20);
    unlink("x");
}

/* ---- every prefix ---- */

static void truncated_files_are_refused(void **state)
{
    (void)state;
    make_npz();
    char data[4096];
    FILE *file = fopen("x.npz", "rb");
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    for (size_t cut = 6; cut < size; cut++) {
        char *exact = malloc(cut); /* its own block, so that reading past the end is seen */
        memcpy(exact, data, cut);
        far_frame *f;
        assert_int_not_equal(far_frame_parse_bytes(ctx, "x", exact, (int64_t)cut, NULL, &f),
                             FAR_OK);
        assert_null(f);
        assert_int_equal(strncmp(far_ctx_message(ctx), "x: ", 3), 0);
        free(exact);
    }
    unlink("x.npz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(csv_reads_what_people_have),
        TEST(csv_says_what_is_wrong_and_where),
        TEST(columns_that_are_not_there_have_nothing),
        TEST(levels_are_sorted_and_each_columns_own),
        TEST(a_hundred_thousand_columns_are_no_matter),
        TEST(csv_memory_is_bounded_by_the_text),
        TEST(a_long_read_can_be_cancelled),
        TEST(files_are_read_as_tables_are),
        TEST(standard_input_is_a_file),
        TEST(npy_arrays_are_columns),
        TEST(npz_arrays_stand_side_by_side),
        TEST(npz_says_which_arrays_do_not_go_together),
        TEST(npz_names_must_differ),
        TEST(npz_lists_only_so_many_shapes),
        TEST(matrices_become_columns),
        TEST(matrices_are_checked),
        TEST(columns_become_a_frame),
        TEST(a_frame_is_made_again_from_its_columns),
        TEST(columns_are_checked),
        TEST(the_nearest_name_is_near),
        TEST(columns_are_found_by_name),
        TEST(long_names_are_cut_in_messages),
        TEST(lists_name_columns_and_matrices),
        TEST(lists_are_checked),
        TEST(conditions_choose_rows),
        TEST(quotes_double_inside_themselves),
        TEST(names_may_have_letters_of_any_language),
        TEST(conditions_hold_for_every_block_of_rows),
        TEST(conditions_that_fail_point_at_the_place),
        TEST(a_slip_in_a_column_of_numbers_is_named),
        TEST(a_matrix_is_no_column),
        TEST(a_word_column_may_have_no_words),
        TEST(nesting_is_limited),
        TEST(conditions_may_be_long),
        TEST(sha256_is_the_standard_one),
        TEST(hashes_tell_content_from_content),
        TEST(hashes_do_not_depend_on_the_format),
        TEST(hashes_are_checked),
        TEST(every_call_survives_any_failing_allocation),
        TEST(growing_survives_any_failing_allocation),
        TEST(truncated_files_are_refused),
    };
    return cmocka_run_group_tests_name("frame", tests, enter_folder, leave_folder);
}
