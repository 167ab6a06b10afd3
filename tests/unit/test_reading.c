/* Tables as people have them: separators, commas, marks and dates; cells that are no numbers;
 * columns that are left out; data that teach nothing; rows unlike those learnt from. */
#define _GNU_SOURCE
#include "../../src/columns/columns_internal.h"

#include "harness.h"
#include "tables.h"

/* ---- numbers in other notations -------------------------------------------------------------- */

/* The first column of a table, "1.5 ~ -2 %" with its unit, or "words". */
static const char *column_text(const far_frame *f, char *out)
{
    const double *numbers = far_frame_column(f, 0).numbers;
    out[0] = 0;
    for (int64_t i = 0; numbers && i < far_frame_rows(f); i++) {
        size_t used = strlen(out);
        if (isnan(numbers[i])) {
            strcat(out, "~ ");
        } else {
            sprintf(out + used, "%.12g ", numbers[i]);
        }
    }
    return strcat(out, numbers ? far_frame_column(f, 0).unit : "words");
}

static void numbers_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"x;n\n1,5;1\n-2,25;2\n,5;3\n1e2;4\n", "1.5 -2.25 0.5 100 "},
        {"x;n\n1.234,5;1\n12.345.678;2\n7;3\n", "1234.5 12345678 7 "},
        {"x,n\n\"1,234.5\",1\n\"12,345,678\",2\n999,3\n-1,4\n", "1234.5 12345678 999 -1 "},
        {"x,n\n\"1,000\",1\n\"2,500\",2\n", "1000 2500 "},
        {"x;n\n1,000;1\n2,500;2\n", "1 2.5 "},
        {"x\tn\n1,000\t1\n2,500\t2\n", "words"},
        {"x\tn\n1,5\t1\n2,500\t2\n", "1.5 2.5 "},
        {"x\tn\n1,000\t1\n2,500,000\t2\n", "1000 2500000 "},
        {"x,n\n\"0,123\",1\n\"1,000\",2\n", "0.123 1 "},
        {"x,n\n10%,1\n12.5 %,2\nNA,3\n-3%,4\n", "10 12.5 ~ -3 %"},
        {"x,n\n$12,1\n\"$1,200.50\",2\n-$3,3\n$-4,4\n", "12 1200.5 -3 -4 $"},
        {"x;n\n12,50 \xE2\x82\xAC;1\n3 \xE2\x82\xAC;2\n", "12.5 3 \xE2\x82\xAC"},
        {"x,n\n10%,1\n12,2\n", "words"},
        {"x,n\n$12,1\n\xC2\xA3"
         "13,2\n",
         "words"},
        {"x;n\n1,5;1\n2.5;2\n", "words"},
        {"x,n\n1-5,1\n2-6,2\n", "words"},
        {"x,n\n%,1\n$,2\n", "words"},
        {"x,n\n12%%,1\n$5$,2\n", "words"},
        {"x;n\n1,2,3;1\n4,5,6;2\n", "words"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char text[256];
        far_frame *f = table_of(cases[i][0]);
        assert_string_equal(column_text(f, text), cases[i][1]);
        far_frame_destroy(f);
    }
}

/* ---- dates -------------------------------------------------------------------------------------
 */

static void dates_are_days_since_1970(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"x,n\n1970-01-01,1\n1970-01-02,2\n1969-12-31,3\n", "0 1 -1 date"},
        {"x,n\n2000-02-29,1\n2000-03-01,2\n1900-03-01,3\n", "11016 11017 -25508 date"},
        {"x,n\n2020/01/31,1\n2020.02.01,2\n2020-3,3\n", "words"},
        {"x,n\n2020/01/31,1\n2020.02.01,2\n2020-03,3\n", "18292 18293 18322 date"},
        {"x,n\n1970-01-02T12:00:00Z,1\n1970-01-02 06:00,2\n1970-01-02T12:00+02:00,3\n",
         "1.5 1.25 1.41666666667 date"},
        {"x,n\n1970-01-01 12:00:00.5,1\n1970-01-01 1:30 PM,2\n1970-01-01T12:00:00-0600,3\n",
         "0.500005787037 0.5625 0.75 date"},
        {"x,n\n31/01/1970,1\n01/02/1970,2\n", "30 31 date"},
        {"x,n\n01/31/1970,1\n02/01/1970,2\n", "30 31 date"},
        {"x,n\n31.01.1970,1\n01.02.1970,2\n", "30 31 date"},
        {"x,n\n01/02/1970,1\n03/04/1970,2\n", "words"},
        {"x,n\n31/01/1970,1\n01/31/1970,2\n", "words"},
        {"x,n\n\"Jan 31, 1970\",1\n1 Feb 1970,2\n02-March-1970,3\n", "30 31 60 date"},
        {"x,n\n2020-02-30,1\n2020-03-01,2\n2020-03-02,3\n", "words"},
        {"x,n\n2019-02-29,1\n2021-04-31,2\n", "words"},
        {"x,n\n2020-01-01 25:00,1\n2020-01-01 12:60,2\n", "words"},
        {"x,n\n2020-01-01x,1\n2020-01-01 ,2\n", "words"},
        {"x,n\n12:30,1\n13:45,2\n", "words"},
        {"2020-01-01,1\n2020-01-02,2\n", "18262 18263 date"}, /* no header */
        {"2020-01-01,a\n2020-01-02,b\n", "18262 18263 date"},
        {"1,5;a\n2,5;b\n", "1.5 2.5 "},
        {"x,2020-01-01,2020-01-02\na,1,2\nb,3,4\n", "words"}, /* dates as names */
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char text[256];
        far_frame *f = table_of(cases[i][0]);
        assert_string_equal(column_text(f, text), cases[i][1]);
        far_frame_destroy(f);
    }
}

/* One text, read by itself: what it is in days, NAN if it is no date. */
static void one_date_is_read_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        far_notation order;
        double days;
    } cases[] = {
        {"1970-01-02T00:00z", FAR_NOTATION_YMD, 1},
        {"1970-01-02 12:00 +06", FAR_NOTATION_YMD, 1.25},
        {"1970-01-02 12:00:00.25Z", FAR_NOTATION_YMD, 1.5 + 0.25 / 86400},
        {"1970-01-01 12:30 AM", FAR_NOTATION_YMD, 0.5 / 24},
        {"1970-01-01 12:30pm", FAR_NOTATION_YMD, 12.5 / 24},
        {"0000-01-01", FAR_NOTATION_YMD, -719528}, /* the year before -1, in March's years */
        {"0000-02-29", FAR_NOTATION_YMD, -719469}, /* a leap year */
        {"2.1.1970", FAR_NOTATION_DMY, 1},
        {"1-2-1970", FAR_NOTATION_MDY, 1},
        {"2.1.1970", FAR_NOTATION_MDY, NAN}, /* dots: the day is first */
        {"2/1-1970", FAR_NOTATION_DMY, NAN},
        {"2/1/70", FAR_NOTATION_DMY, NAN},
        {"1970", FAR_NOTATION_YMD, NAN},
        {"1970-", FAR_NOTATION_YMD, NAN},
        {"1970-x", FAR_NOTATION_YMD, NAN},
        {"1970-123", FAR_NOTATION_YMD, NAN},
        {"1970/01", FAR_NOTATION_YMD, NAN},
        {"1970-1", FAR_NOTATION_YMD, NAN},
        {"1970-01 12:00", FAR_NOTATION_YMD, NAN},
        {"1970-00-01", FAR_NOTATION_YMD, NAN},
        {"1970-13-01", FAR_NOTATION_YMD, NAN},
        {"1970-01-00", FAR_NOTATION_YMD, NAN},
        {"1970-01-32", FAR_NOTATION_YMD, NAN},
        {"1900-02-29", FAR_NOTATION_YMD, NAN},
        {"1970-01-02T", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 x", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:0", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00:", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00:60", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00:00.", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00:00./", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00:00.:", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 13:00 pm", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 0:30 am", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00+", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00+2", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00+020", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00+02:", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00-24:00", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00-0060", FAR_NOTATION_YMD, NAN},
        {"1970-01-02 12:00+02:00x", FAR_NOTATION_YMD, NAN},
        {"Janu 2 1970", FAR_NOTATION_YMD, NAN},
        {"2 1 1970", FAR_NOTATION_YMD, NAN},
        {"Jan 2 70", FAR_NOTATION_YMD, NAN},
        {"Feb 29 1970", FAR_NOTATION_YMD, NAN},
        {"", FAR_NOTATION_YMD, NAN},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        double got = far_date_parse(cases[i].text, cases[i].order);
        if (!(isnan(cases[i].days) ? isnan(got) : fabs(got - cases[i].days) < 1e-9)) {
            fail_msg("'%s' is %.17g, not %.17g", cases[i].text, got, cases[i].days);
        }
    }
}

static void every_day_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 3000000; day += 137) {
        char text[64];
        far_date_print((double)day, text, sizeof text);
        if (strlen(text) == 10 && text[0] != '-') {
            assert_true(far_date_parse(text, FAR_NOTATION_YMD) == (double)day);
        }
    }
    char text[64];
    far_date_print(0.5, text, sizeof text);
    assert_string_equal(text, "1970-01-01 12:00");
    far_date_print(-1.0 / 86400, text, sizeof text);
    assert_string_equal(text, "1969-12-31 23:59:59");
    far_date_print(0.5, text, 11); /* no room for the time */
    assert_string_equal(text, "1970-01-01");
    far_date_print(0.5, text, 5);
    assert_string_equal(text, "1970");
    far_date_print(1e300, text, sizeof text);
    assert_string_equal(text, "1e+300 days");
    far_date_print(NAN, text, sizeof text);
    assert_string_equal(text, "nan days");
}

#define DATES "opened,n,kind\n2019-12-31,1,a\n2020-01-01,2,b\n,3,c\n2020-06-30 12:00,4,d\n"

static void conditions_take_dates(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"opened >= 2020-01-01", "0101"},
        {"opened < 2020/1/1", "1000"},
        {"opened > 2020-06-30", "0001"},
        {"opened > 2020-06-30T12:00", "0000"},
        {"opened == '2020-06-30 12:00'", "0001"},
        {"opened <= \"Jan 1 2020\"", "1100"},
        {"2019-12-31 < opened < 2020-06-30", "0100"},
        {"opened is missing", "0010"},
    };
    static const char *const bad[][2] = {
        {"opened > 2020",
         "column 10: 'opened' holds dates; compare it with a date such as 2020-01-31\n"
         "opened > 2020\n         ^"},
        {"opened > 'soon'",
         "column 10: 'opened' holds dates; compare it with a date such as 2020-01-31\n"
         "opened > 'soon'\n         ^"},
        {"n > 2020-01-01",
         "column 5: 'n' holds numbers; compare it with a number\nn > 2020-01-01\n    ^"},
        {"n > opened", "column 5: 'n' holds numbers, but 'opened' holds dates\nn > opened\n    ^"},
        {"opened > 2020-02-30",
         "column 10: '2020-02-30' is no date; write it as 2020-01-31\nopened > 2020-02-30\n"
         "         ^"},
    };
    far_frame *f = table_of(DATES);
    unsigned char rows[4];
    for (int i = 0; i < COUNT(cases); i++) {
        must(far_frame_where(ctx, f, cases[i][0], rows));
        for (int k = 0; k < 4; k++) {
            assert_int_equal(rows[k], cases[i][1][k] - '0');
        }
    }
    for (int i = 0; i < COUNT(bad); i++) {
        assert_int_equal(far_frame_where(ctx, f, bad[i][0], rows), FAR_ERR_PARSE);
        assert_string_equal(far_ctx_message(ctx), bad[i][1]);
    }
    far_frame_destroy(f);
}

/* ---- how a table is read -----------------------------------------------------------------------
 */

static void the_separator_is_the_one_that_fits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t cols;
        const char *name;
    } cases[] = {
        {"a;b;c\n1,5;2,5;3\n4;5;6\n", 3, "a"},
        {"a;b, net;c\nx;y, z;w\nu;v, w;t\n", 3, "a"},
        {"a\tb, net\n1\t\"x, y\"\n2\tz, w\n", 2, "a"},
        {"a,b;c\n1,2\n3,4\n", 2, "a"},
        {"a,b\n1,\"x;y\"\n2,\"z;w\"\n", 2, "a"},
        {"1,5;2,5\n3,5;4,5\n", 2, "c1"},
        {"a,\tb\n1,\t2\n3,\t4\n", 2, "a"},
        {"a b\n1 2\n", 2, "a"},
        {"a|b\n1|2\n", 1, "a|b"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_frame *f = table_of(cases[i].text);
        assert_int_equal(far_frame_cols(f), cases[i].cols);
        assert_string_equal(far_frame_column(f, 0).name, cases[i].name);
        far_frame_destroy(f);
    }
}

static far_frame *read_with(const char *text, char separator, const char *missing,
                            const char *categorical)
{
    far_frame_opts o;
    far_frame *f;
    o = (far_frame_opts){.size = sizeof o};
    o.separator = separator;
    o.missing = missing;
    o.categorical = categorical;
    FILE *file = fopen("reading.csv", "w");
    fputs(text, file);
    fclose(file);
    must(far_frame_read(ctx, "reading.csv", NULL, &o, &f));
    unlink("reading.csv");
    return f;
}

static void options_say_how_to_read(void **state)
{
    (void)state;
    char text[256];
    far_frame *f = read_with("x|n\n1|2\n3|4\n", '|', NULL, NULL);
    assert_int_equal(far_frame_cols(f), 2);
    far_frame_destroy(f);
    f = read_with("x,n\n1,2\nerror,4\n-999,5\n-999.0,6\n", 0, "error,-999", NULL);
    assert_string_equal(column_text(f, text), "1 ~ ~ ~ ");
    far_frame_destroy(f);
    f = read_with("x,n\na,2\n\"b, c\",4\n", 0, "`b, c`", NULL);
    assert_int_equal(far_frame_column(f, 0).missing, 1);
    far_frame_destroy(f);
    f = read_with("zip,n,d\n01,2,2020-01-01\n1,4,2020-01-02\n", 0, NULL, "d,zip");
    assert_int_equal(far_frame_column(f, 0).level_count, 2);
    assert_string_equal(far_frame_level(f, 0, 0), "01");
    assert_int_equal(far_frame_column(f, 1).kind, FAR_COLUMN_NUMBER);
    assert_int_equal(far_frame_column(f, 2).kind, FAR_COLUMN_WORD);
    far_frame_destroy(f);
    far_frame_opts o = {0};
    assert_int_equal(far_frame_read(ctx, "x", NULL, &o, &f), FAR_ERR_ARG);
    o = (far_frame_opts){.size = sizeof o};
    o.separator = '"';
    assert_int_equal(far_frame_read(ctx, "x", NULL, &o, &f), FAR_ERR_ARG);
}

static void arrays_take_the_options_too(void **state)
{
    (void)state;
    double values[] = {1, 2, 1, 0.5, -999, 3, 10, -999};
    far_mat m = far_mat_view(values, 4, 2, FAR_F64);
    must(far_mat_write(ctx, &m, NULL, "reading.npy"));
    far_frame_opts o;
    far_frame *f;
    o = (far_frame_opts){.size = sizeof o};
    o.missing = "-999";
    o.categorical = "c1";
    must(far_frame_read(ctx, "reading.npy", NULL, &o, &f));
    assert_int_equal(far_frame_column(f, 0).level_count, 2);
    assert_string_equal(far_frame_level(f, 0, 0), "1");
    assert_string_equal(far_frame_level(f, 0, 1), "10");
    assert_int_equal(far_frame_column(f, 0).missing, 1);
    assert_int_equal(far_frame_column(f, 1).missing, 1);
    assert_true(far_frame_column(f, 1).numbers[1] == 0.5);
    far_frame_destroy(f);
    unlink("reading.npy");
}

/* ---- columns -----------------------------------------------------------------------------------
 */

static far_columns_opts learning(const char *target)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = target;
    o.careful = 1;
    return o;
}

static void refuses(const char *text, far_columns_opts o, far_status status, const char *message)
{
    far_columns *c = (far_columns *)&test_heap;
    far_frame *f = table_of(text);
    far_status st = far_columns_learn(ctx, f, &o, &c);
    assert_string_equal(far_ctx_message(ctx), message);
    assert_int_equal(st, status);
    assert_null(c);
    far_frame_destroy(f);
}

static far_columns *learn(const char *text, far_columns_opts o)
{
    far_columns *c;
    far_frame *f = table_of(text);
    must(far_columns_learn(ctx, f, &o, &c));
    far_frame_destroy(f);
    return c;
}

#define WAYS(text, name)                                                                           \
    "; mend it, call it missing (`missing` '" text "'), or take the column for categories "        \
    "(`categorical` " name

static void a_bad_cell_is_no_category(void **state)
{
    (void)state;
    refuses("x,y\n1,5\n2,error\n3,6\n4,7\n", learning("y"), FAR_ERR_FORMAT,
            "test: column y holds numbers, but 1 of its 4 values is not: 'error' in row 2" WAYS(
                "error", "y, or `task` classify)"));
    refuses("x,y\n1,5\nunknown,5\n3,6\n4,7\n", learning("y"), FAR_ERR_FORMAT,
            "test: column x holds numbers, but 1 of its 4 values is not: 'unknown' in row 2" WAYS(
                "unknown", "x)"));
    refuses("x,y\n1,5\n10%,5\n3,6\n4,7\n", learning("y"), FAR_ERR_FORMAT,
            "test: column x holds numbers, but 1 of its 4 values is not: '10%' in row 2, which "
            "looks like a percentage" WAYS("10%", "x)"));
    refuses("x,y\n2020-01-01,5\n2020-02-30,5\n2020-03-01,6\n2020-04-01,7\n", learning("y"),
            FAR_ERR_FORMAT,
            "test: column x holds dates, but 1 of its 4 values is not: '2020-02-30' in row 2" WAYS(
                "2020-02-30", "x)"));
    refuses("x,y\n01/02/2020,5\n02/03/2020,5\n03/04/2020,6\n", learning("y"), FAR_ERR_FORMAT,
            "test: column x: '01/02/2020' in row 1 may be day first or month first, and no other "
            "value of the column tells; write dates as 2020-01-31, or take it for categories "
            "(`categorical` x)");
    far_columns_opts o = learning("y");
    o.task = FAR_TASK_CLASSIFY;
    far_columns *c = learn("x,y\n1,5\n2,error\n3,6\n4,7\n", o);
    assert_int_equal(far_columns_describe(c).classes, 4);
    far_columns_destroy(c);
    c = learn("x,y\n1,5\n2,7\n3,6\nA,7\nB,8\n1,9\nA,1\n", learning("y")); /* codes */
    assert_int_equal(far_columns_describe(c).inputs, 5);
    far_columns_destroy(c);
}

/* Rows of a table: a counter, another from 7 on but shuffled, unique text, a category of three, a
 * category of fourteen, a constant, a year, a number. */
static char *people(int rows)
{
    char *text = malloc((size_t)rows * 128 + 128), *end = text;
    end += sprintf(end, "id,code,name,kind,town,same,year,x,none,y\n");
    for (int i = 0; i < rows; i++) {
        end += sprintf(end, "%d,%d,n%03d,%c,t%d,7,%d,%d,,%d\n", i, 7 + i * 7 % rows, i,
                       "abc"[i % 3], i % 14, 1950 + i, i * i % 11, i * i % 17);
    }
    return text;
}

static void expect_summary(const far_columns *c, const char *wanted)
{
    static const char *const roles[] = {"+", "=", "-"};
    char text[512] = "";
    for (int64_t i = 0; i < far_columns_describe(c).summaries; i++) {
        far_column_summary s = far_columns_summary(c, i);
        sprintf(text + strlen(text), "%s%s:%s ", roles[s.role], s.name, s.taken_name);
    }
    assert_string_equal(text, wanted);
}

static void columns_that_cannot_help_are_left_out(void **state)
{
    (void)state;
    char *text = people(53);
    far_columns *c = learn(text, learning("y"));
    expect_summary(c, "=y:number -id:identifier -code:identifier -name:identifier +kind:category "
                      "-town:text -same:constant +year:number +x:number -none:empty ");
    assert_int_equal(far_columns_describe(c).inputs, 5);
    far_columns_destroy(c);
    far_columns_opts o = learning("y");
    o.keep = "id,`town`,same";
    c = learn(text, o);
    expect_summary(c, "=y:number +id:identifier -code:identifier -name:identifier +kind:category "
                      "+town:category +same:constant +year:number +x:number -none:empty ");
    far_columns_destroy(c);
    o = learning("y");
    o.features = "name,id";
    c = learn(text, o);
    assert_int_equal(far_columns_describe(c).inputs, 54);
    far_columns_destroy(c);
    free(text);
    text = people(57); /* fourteen towns have four rows each */
    c = learn(text, learning("y"));
    assert_int_equal(far_columns_describe(c).inputs, 3 + 14 + 2);
    far_columns_destroy(c);
    free(text);
}

/* Whole numbers with gaps, different in every row (but for "twice"), in no order. */
static void identifiers_are_known_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool left_out;
    } names[] = {{"id", true},       {"ID", true},        {"customer_id", true}, {"orderID", true},
                 {"orderId", true},  {"Row Index", true}, {"k.key", true},       {"uuid", true},
                 {"covid", false},   {"grid", false},     {"PAID", false},       {"monkey", false},
                 {"indexed", false}, {"identity", false}, {"amount", false},     {"i", false}};
    for (int i = 0; i < 2 * COUNT(names); i++) {
        char text[1024], *end = text, wanted[128];
        bool twice = i % 2, out = names[i / 2].left_out && !twice;
        end += sprintf(end, "%s,x,y\n", names[i / 2].name);
        for (int r = 0; r < 23; r++) {
            end += sprintf(end, "%d,%d,%d\n", 1000 + 31 * (twice && r == 7 ? 9 : r * 5 % 23),
                           r * r % 11, r * r % 17);
        }
        far_columns *c = learn(text, learning("y"));
        sprintf(wanted, "=y:number %c%s:%s +x:number ", out ? '-' : '+', names[i / 2].name,
                out ? "identifier" : "number");
        expect_summary(c, wanted);
        far_columns_destroy(c);
    }
    far_columns *c = learn(
        "id,y\n3,1\n2,4\n9,9\n4,1\n5,2\n6,3\n70,9\n8,1\n19,2\n10,3\n11,4\n12,6\n", learning("y"));
    expect_summary(c, "=y:number +id:number "); /* all there is */
    far_columns_destroy(c);
}

static void small_tables_keep_their_columns(void **state)
{
    (void)state;
    far_columns *c = learn("k,w,x,y\n1,a,1,2\n2,b,3,5\n3,c,4,1\n4,d,1,0\n5,a,9,9\n", learning("y"));
    assert_int_equal(far_columns_describe(c).inputs, 1 + 4 + 1);
    far_columns_destroy(c);
    c = learn("t,y\n1,1\n2,4\n3,9\n4,1\n5,2\n6,3\n7,9\n8,1\n9,2\n10,3\n11,4\n12,6\n",
              learning("y"));
    expect_summary(c, "=y:number +t:number "); /* all there is */
    far_columns_destroy(c);
}

static void data_that_teach_nothing_are_refused(void **state)
{
    (void)state;
    refuses("x,y\n1,5\n", learning("y"), FAR_ERR_VALUE,
            "1 row is too few to learn from; 3 are the least");
    refuses("x,y\n1,5\n2,6\n", learning("y"), FAR_ERR_VALUE,
            "2 rows are too few to learn from; 3 are the least");
    refuses("x,y\n1,5\n2,5\n3,5\n", learning("y"), FAR_ERR_VALUE,
            "the target y is 5 in every row chosen: there is nothing to learn");
    refuses("x,y\n1,5\n1,6\n1,7\n", learning("y"), FAR_ERR_VALUE,
            "no column is left to learn from: 1 is constant, empty or different in nearly every "
            "row, as x is; `keep` x keeps it");
    far_columns_opts o = learning("y");
    o.features = "x";
    refuses("x,y\n1,5\n1,6\n1,7\n", o, FAR_ERR_VALUE,
            "all inputs are constant: every row has the same, so there is nothing to learn from");
    o = learning("y");
    o.task = FAR_TASK_CLASSIFY;
    refuses("x,y\n1,a\n2,a\n3,a\n", o, FAR_ERR_ARG,
            "the target y has one class only in the rows chosen; two at least are needed");
}

static void whole_numbers_may_be_labels(void **state)
{
    (void)state;
    far_columns *c =
        learn("x,y\n1,0\n5,1\n2,0\n7,1\n2,0\n8,1\n1,0\n9,1\n3,0\n5,1\n", learning("y"));
    assert_int_equal(far_columns_summary(c, 0).labels, 2);
    far_columns_destroy(c);
    c = learn("x,y\n1,0\n5,1\n2,0\n7,1\n2,0\n8,1\n1,0\n9,1.5\n3,0\n5,1\n", learning("y"));
    assert_int_equal(far_columns_summary(c, 0).labels, 0);
    far_columns_destroy(c);
    far_columns_opts o = learning("y");
    o.task = FAR_TASK_REGRESS;
    c = learn("x,y\n1,0\n5,1\n2,0\n7,1\n2,0\n8,1\n1,0\n9,1\n3,0\n5,1\n", o);
    assert_int_equal(far_columns_summary(c, 0).labels, 0);
    far_columns_destroy(c);
}

/* ---- rows unlike those learnt from
 * --------------------------------------------------------------- */

#define SHOP                                                                                       \
    "kind,size,day,part,y\n"                                                                       \
    "a,1,2020-01-01,10%,1\nb,2,2020-01-05,20%,2\nb,4,2020-01-09,30%,4\na,5,2020-02-01,40%,5\n"

static far_columns *shop(int32_t impute)
{
    far_columns_opts o = learning("y");
    o.impute = impute;
    return learn(SHOP, o);
}

static void unseen_categories_are_none_of_the_known(void **state)
{
    (void)state;
    for (int32_t impute = 0; impute < 2; impute++) {
        far_columns *c = shop(impute);
        far_frame *f = table_of("kind,size,day,part\na,1,2020-01-01,10%\nz,1,2020-01-01,10%\n"
                                "q,1,2020-01-01,10%\n");
        double x[15], counts[3];
        far_mat out = far_mat_view(x, 3, 5, FAR_F64);
        must(far_columns_encode(ctx, c, f, NULL, &out));
        far_scaling s = far_columns_describe(c).scaling;
        for (int l = 0; l < 2; l++) {
            double centre = ((double *)s.input_centre.data)[l];
            double scale = ((double *)s.input_scale.data)[l];
            assert_true(x[5 + l] == (0 - centre) / scale);
        }
        far_unseen u;
        must(far_columns_unseen(ctx, c, f, NULL, counts, &u));
        assert_true(counts[0] == 0 && counts[1] == 1 && counts[2] == 1);
        assert_int_equal(u.rows, 2);
        assert_int_equal(u.row, 1);
        assert_string_equal(u.column, "kind");
        assert_string_equal(u.category, "z");
        far_frame_destroy(f);
        far_columns_destroy(c);
    }
}

static void rows_out_of_range_are_told(void **state)
{
    (void)state;
    far_columns *c = shop(0);
    far_frame *f = table_of("kind,size,day,part\na,5,2020-01-01,10%\na,5,2020-02-02,10%\n"
                            "b,-3,2020-01-01,45%\n");
    double distance[3], sd = sqrt((4 + 1 + 1 + 4) / 4.0); /* of 1, 2, 4, 5 */
    int64_t input[3];
    must(far_columns_outside(ctx, c, f, NULL, distance, input));
    assert_true(distance[0] == 0 && input[0] == -1);
    assert_int_equal(input[1], 3);
    assert_string_equal(far_columns_describe(c).input_names[input[1]], "day");
    assert_string_equal(far_columns_feature(c, 2).unit, "date");
    assert_int_equal(input[2], 2);
    assert_true(fabs(distance[2] - 4 / sd) < 1e-12);
    far_frame_destroy(f);
    far_columns_destroy(c);
}

static void columns_survive_their_file(void **state)
{
    (void)state;
    char *text, *again;
    far_columns *c = shop(0), *d;
    must(far_columns_write(ctx, c, &text));
    must(far_columns_read(ctx, text, &d));
    must(far_columns_write(ctx, d, &again));
    assert_string_equal(text, again);
    assert_non_null(strstr(text, "\"notation\":\"ymd\""));
    assert_non_null(strstr(text, "\"unit\":\"%\""));
    far_text_free(ctx, again);
    far_columns_destroy(d);
    /* a file from before ranges */
    for (char *p; (p = strstr(text, "\"low\""));) {
        memcpy(p, "\"was\"", 5);
    }
    must(far_columns_read(ctx, text, &d));
    far_frame *f = table_of("kind,size,day,part\na,5,2020-01-01,10%\n");
    double distance[1];
    int64_t input[1];
    assert_int_equal(far_columns_outside(ctx, d, f, NULL, distance, input), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "before the ranges of columns were kept"));
    far_frame_destroy(f);
    far_columns_destroy(d);
    far_columns_destroy(c);
    far_text_free(ctx, text);
}

static void encoding_keeps_to_the_units(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"kind,size,day,part\na,5,7,10%\n",
         "column day holds plain numbers here, but dates in the training data"},
        {"kind,size,day,part\na,5,2020-01-01,10\n",
         "column part holds plain numbers here, but numbers in % in the training data"},
        {"kind,size,day,part\na,2020-01-01,2020-01-01,10%\n",
         "column size holds dates here, but plain numbers in the training data"},
        {"kind,size,day,part\na,1,2020-01-01,10%\nb,2,2020-01-01,11%\na,error,2020-01-01,10%\n",
         "row 3: column size is 'error', no number; mend it, or call it missing (`missing` "
         "'error')"},
    };
    far_columns *c = shop(0);
    for (int i = 0; i < COUNT(cases); i++) {
        far_frame *f = table_of(cases[i][0]);
        double x[15];
        far_mat out = far_mat_view(x, far_frame_rows(f), 5, FAR_F64);
        assert_int_equal(far_columns_encode(ctx, c, f, NULL, &out), FAR_ERR_FORMAT);
        assert_string_equal(far_ctx_message(ctx), cases[i][1]);
        far_frame_destroy(f);
    }
    far_columns_destroy(c);
}

/* Day first as the training data had it, where the new table does not tell. */
static void dates_are_read_in_the_order_learnt(void **state)
{
    (void)state;
    far_columns *c = learn("d,y\n31/01/1970,1\n01/02/1970,2\n05/02/1970,4\n", learning("y"));
    far_frame *f = table_of("d,y\n02/03/1970,1\n");
    double x[1];
    far_mat out = far_mat_view(x, 1, 1, FAR_F64);
    far_scaling s = far_columns_describe(c).scaling;
    must(far_columns_encode(ctx, c, f, NULL, &out));
    double day = *(double *)s.input_centre.data + x[0] * *(double *)s.input_scale.data;
    assert_true(fabs(day - 60) < 1e-9); /* 2 March */
    far_frame_destroy(f);
    f = table_of("d,y\n01/31/1970,1\n");
    assert_int_equal(far_columns_encode(ctx, c, f, NULL, &out), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx), "column d holds dates, month first, here, but dates, "
                                              "day first, in the training data");
    far_frame_destroy(f);
    far_columns_destroy(c);
}

/* Categories that are numbers: the table to predict may hold nothing else. */
static void categories_may_read_as_numbers(void **state)
{
    (void)state;
    far_columns *c = learn("code,y\n1,1\n2,2\nA,3\nB,1\n1,2\nA,2\nB,5\n", learning("y"));
    far_frame *f = table_of("code\n2\n1\n7\n");
    double x[12], counts[3];
    far_unseen u;
    far_mat out = far_mat_view(x, 3, 4, FAR_F64);
    must(far_columns_encode(ctx, c, f, NULL, &out));
    assert_true(x[0] < 0 && x[1] > 0 && x[4] > 0 && x[5] < 0);
    must(far_columns_unseen(ctx, c, f, NULL, counts, &u));
    assert_true(counts[0] == 0 && counts[1] == 0 && counts[2] == 1);
    assert_string_equal(u.category, "7");
    far_frame_destroy(f);
    far_columns_destroy(c);
}

/* ---- memory
 * -------------------------------------------------------------------------------------- */

static far_status call_all(void *text)
{
    far_status st;
    far_frame *f = NULL;
    far_columns *c = NULL, *copy = NULL;
    double distance[5], counts[5];
    int64_t input[5];
    far_unseen u;
    far_columns_opts o = learning("y");
    o.keep = "size";
    FAR_TRY(far_frame_parse_bytes(ctx, "x", text, (int64_t)strlen(text), NULL, &f));
    FAR_TRY(far_columns_learn(ctx, f, &o, &c));
    FAR_TRY(far_columns_copy(ctx, c, &copy));
    FAR_TRY(far_columns_unseen(ctx, copy, f, NULL, counts, &u));
    FAR_TRY(far_columns_outside(ctx, copy, f, NULL, distance, input));
done:
    far_columns_destroy(copy);
    far_columns_destroy(c);
    far_frame_destroy(f);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(call_all(SHOP), FAR_OK);
    int64_t calls = test_heap.calls, live = test_heap.live_blocks;
    assert_true(calls > 20);
    for (int64_t k = 0; k < calls; k++) {
        test_heap.calls = 0;
        test_heap.fail_at = k;
        far_status st = call_all(SHOP);
        test_heap.fail_at = -1;
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(test_heap.live_blocks, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_read_as_they_are_written),
        TEST(dates_are_days_since_1970),
        TEST(one_date_is_read_whole),
        TEST(every_day_survives_the_way_there_and_back),
        TEST(conditions_take_dates),
        TEST(the_separator_is_the_one_that_fits),
        TEST(options_say_how_to_read),
        TEST(arrays_take_the_options_too),
        TEST(a_bad_cell_is_no_category),
        TEST(columns_that_cannot_help_are_left_out),
        TEST(identifiers_are_known_by_name),
        TEST(small_tables_keep_their_columns),
        TEST(data_that_teach_nothing_are_refused),
        TEST(whole_numbers_may_be_labels),
        TEST(unseen_categories_are_none_of_the_known),
        TEST(rows_out_of_range_are_told),
        TEST(columns_survive_their_file),
        TEST(encoding_keeps_to_the_units),
        TEST(dates_are_read_in_the_order_learnt),
        TEST(categories_may_read_as_numbers),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
