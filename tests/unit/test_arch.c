/* The architecture language: what parses, what it means, what the messages say. */
#include "../../src/arch/arch_tree.h"

#include "harness.h"

static far_arch *parse(const char *text)
{
    far_arch *arch;
    far_status st = far_arch_parse(ctx, text, &arch);
    if (st != FAR_OK) {
        fail_msg("'%s' does not parse: %s", text, far_ctx_message(ctx));
    }
    return arch;
}

static const char *message_of(const char *text)
{
    far_arch *arch = (far_arch *)&test_heap;
    far_status st = far_arch_parse(ctx, text, &arch);
    if (st == FAR_OK) {
        fail_msg("'%s' parses", text);
    }
    assert_int_equal(st, FAR_ERR_PARSE);
    assert_null(arch);
    return far_ctx_message(ctx);
}

static void assert_starts_with(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0) {
        fail_msg("expected '%s', found '%s'", start, text);
    }
}

/* ---- printing ---- */

static const struct {
    const char *text, *canonical;
} canonical_cases[] = {
    {"dense", "dense"},
    {" \t dense\n\n relu\r\n", "dense relu"},
    {"dense()", "dense"},
    {"dense ( 3 )", "dense(3)"},
    {"dense(width = 3)", "dense(3)"},
    {"dense(007)", "dense(7)"},
    {"dense(1000000000)", "dense(1000000000)"},
    {"dense(b=.05,w=1.50,width=128)", "dense(128, w=1.5, b=0.05)"},
    {"dense(nobias,w=2.)", "dense(w=2, nobias)"},
    {"dense(b=0.1, w=1)", "dense(w=1, b=0.1)"},
    {"dense(w=0, b=0)", "dense(w=0, b=0)"},
    {"dense(w=-0)", "dense(w=0)"},
    {"dense(w=1e5, b=+1E-5)", "dense(w=1e+05, b=1e-05)"},
    {"dense(w=0.1000000000000000055)", "dense(w=0.1)"},
    {"dense(w=0.30000000000000004)", "dense(w=0.30000000000000004)"},
    {"dense(w=1.7976931348623157e308, b=4e-324)", "dense(w=1.7976931348623157e+308, b=5e-324)"},
    {"relu(1)", "relu"},
    {"relu(power=1.0)", "relu"},
    {"relu(2)", "relu(2)"},
    {"relu(0.51, gain=3)", "relu(0.51, gain=3)"},
    {"relu(gain=3, power=64)", "relu(64, gain=3)"},
    {"relu(gain=1)", "relu(gain=1)"},
    {"leaky_relu(0.01)", "leaky_relu"},
    {"leaky_relu(0)", "leaky_relu(0)"},
    {"leaky_relu(-0.0)", "leaky_relu(0)"},
    {"leaky_relu(-1e6)", "leaky_relu(-1e+06)"},
    {"leaky_relu(slope=0.1)", "leaky_relu(0.1)"},
    {"abs erf gelu silu tanh sin identity", "abs erf gelu silu tanh sin identity"},
    {"sin(gain=2.5)", "sin(gain=2.5)"},
    {"sin(gain=2, w0=30.0)", "sin(w0=30, gain=2)"},
    {"sin(w0=1)", "sin"},
    {"ln rms batchnorm", "ln rms batchnorm"},
    {"ln(groups=1, eps=0)", "ln"},
    {"ln(affine,eps=1e-5,groups=8)", "ln(groups=8, eps=1e-05, affine)"},
    {"rms(affine, eps=0.001)", "rms(eps=0.001, affine)"},
    {"batchnorm(affine)", "batchnorm(affine)"},
    {"[dense relu]x1", "[dense relu]x1"},
    {"[ dense ln relu ] x 3 dense(1)", "[dense ln relu]x3 dense(1)"},
    {"[[relu]x2 dense]x03", "[[relu]x2 dense]x3"},
    {"dense skip ( ln relu dense\t) dense", "dense skip(ln relu dense) dense"},
    {"skip([skip(relu)]x2)", "skip([skip(relu)]x2)"},
    {"skip(relu dense|\tln)", "skip(relu dense | ln)"},
    {"skip( [relu]x2 |skip(ln|rms) tanh) ln", "skip([relu]x2 | skip(ln | rms) tanh) ln"},
};

static void canonical_text_is_the_shortest_fixed_form(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(canonical_cases); i++) {
        far_arch *arch = parse(canonical_cases[i].text);
        assert_string_equal(far_arch_text(arch), canonical_cases[i].canonical);
        far_arch_destroy(arch);
    }
}

static void equal_means_the_same_canonical_text(void **state)
{
    (void)state;
    far_arch *a = parse("dense(3) relu(1)"), *b = parse(" dense( width=3 )\nrelu");
    far_arch *c = parse("dense(3, w=1) relu");
    assert_true(far_arch_equal(a, b));
    assert_true(far_arch_equal(a, a));
    assert_false(far_arch_equal(a, c)); /* a given w is not the default w */
    assert_false(far_arch_equal(a, NULL));
    far_arch_destroy(a);
    far_arch_destroy(b);
    far_arch_destroy(c);
}

/* ---- the tree ---- */

static void layers_hold_what_was_written(void **state)
{
    (void)state;
    far_arch *arch = parse("dense(128, w=1.5, b=0.05) ln(groups=8, eps=1e-5, affine) "
                           "leaky_relu(0.2, gain=3) relu(2.5) dense(nobias)");
    int64_t count;
    const far_layer *l = far_arch_layers(arch, &count);
    assert_int_equal(count, 5);
    assert_int_equal(l[0].kind, FAR_LAYER_DENSE);
    assert_int_equal(l[0].width, 128);
    assert_true(l[0].w == 1.5 && l[0].b == 0.05 && !l[0].no_bias);
    assert_int_equal(l[1].kind, FAR_LAYER_LN);
    assert_int_equal(l[1].groups, 8);
    assert_true(l[1].eps == 1e-5 && l[1].affine);
    assert_int_equal(l[2].kind, FAR_LAYER_LEAKY_RELU);
    assert_true(l[2].slope == 0.2 && l[2].gain == 3);
    assert_int_equal(l[3].kind, FAR_LAYER_RELU);
    assert_true(l[3].power == 2.5 && isnan(l[3].gain));
    assert_true(l[4].no_bias && isnan(l[4].b));
    far_arch_destroy(arch);
}

static void values_left_out_are_marked_or_default(void **state)
{
    (void)state;
    far_arch *arch = parse("dense relu leaky_relu ln");
    int64_t count;
    const far_layer *l = far_arch_layers(arch, &count);
    assert_int_equal(l[0].width, 0);
    assert_true(isnan(l[0].w) && isnan(l[0].b) && !l[0].no_bias);
    assert_true(l[1].power == 1 && isnan(l[1].gain));
    assert_true(l[2].slope == FAR_LEAKY_SLOPE_DEFAULT);
    assert_int_equal(l[3].groups, 1);
    assert_true(l[3].eps == FAR_EPS_DEFAULT && !l[3].affine);
    far_arch_destroy(arch);
}

static void blocks_hold_their_body(void **state)
{
    (void)state;
    far_arch *arch = parse("dense [ln relu dense]x7 skip(relu)");
    int64_t count;
    const far_layer *l = far_arch_layers(arch, &count);
    assert_int_equal(count, 3);
    assert_int_equal(l[1].kind, FAR_LAYER_REPEAT);
    assert_int_equal(l[1].count, 7);
    assert_int_equal(l[1].body_count, 3);
    assert_int_equal(l[1].body[2].kind, FAR_LAYER_DENSE);
    assert_int_equal(l[2].kind, FAR_LAYER_SKIP);
    assert_int_equal(l[2].body_count, 1);
    assert_int_equal(l[2].body[0].kind, FAR_LAYER_RELU);
    assert_null(l[0].body);
    far_arch_destroy(arch);
}

static void layers_know_their_column(void **state)
{
    (void)state;
    far_arch *arch = parse("  dense\n[ relu]x2 skip(ln)");
    int64_t count;
    const far_layer *l = far_arch_layers(arch, &count);
    assert_int_equal(l[0].column, 3);
    assert_int_equal(l[1].column, 9);
    assert_int_equal(l[1].body[0].column, 11);
    assert_int_equal(l[2].column, 19);
    assert_int_equal(l[2].body[0].column, 24);
    far_arch_destroy(arch);
}

static void depth_counts_layers_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t depth;
    } cases[] = {{"dense", 1},
                 {"[dense ln relu]x3 dense", 10},
                 {"dense skip(ln relu dense) dense", 5},
                 {"[[relu]x3 skip([ln]x5)]x7 relu", 57},
                 {"skip([relu]x3 | [ln]x5)", 8}};
    for (int i = 0; i < COUNT(cases); i++) {
        far_arch *arch = parse(cases[i].text);
        assert_int_equal(far_arch_depth(arch), cases[i].depth);
        far_arch_destroy(arch);
    }
}

static void kinds_have_a_name_and_one_family(void **state)
{
    (void)state;
    int activations = 0, norms = 0;
    for (int kind = 0; kind < FAR_LAYER_KINDS; kind++) {
        assert_true(strlen(far_layer_name((far_layer_kind)kind)) > 1);
        bool activation = far_layer_is_activation((far_layer_kind)kind);
        bool norm = far_layer_is_norm((far_layer_kind)kind);
        assert_false(activation && norm);
        activations += activation;
        norms += norm;
    }
    assert_int_equal(activations, 14);
    assert_int_equal(norms, 3);
    assert_true(far_layer_is_shaped(FAR_LAYER_CONV) && !far_layer_is_shaped(FAR_LAYER_DENSE));
    assert_string_equal(far_layer_name(FAR_LAYER_LEAKY_RELU), "leaky_relu");
    assert_string_equal(far_layer_name((far_layer_kind)99), "unknown");
    assert_false(far_layer_is_activation((far_layer_kind)-1));
}

/* ---- messages ---- */

static const struct {
    const char *text, *message;
} error_cases[] = {
    {"", "column 1: the text is empty; write layers, for example [dense(128) ln relu]x3 dense(1)"},
    {" \n\t ", "column 1: the text is empty"},
    {"dense 3", "column 7: expected a layer name, found '3'"},
    {"dense ]", "column 7: expected a layer name or the end of the text, found ']'"},
    {"dense)", "column 6: expected a layer name or the end of the text, found ')'"},
    {"dense, relu", "column 6: expected a blank before the next layer, found ','"},
    {"dense(1)relu", "column 9: expected a blank before the next layer, found 'relu'"},
    {"dense(1)[relu]x2", "column 9: expected a blank before the next layer, found '['"},
    {"relu \x07", "column 6: expected a layer name, found byte 0x07"},
    {"relu \xc3\xa9", "column 6: expected a layer name, found byte 0xc3"},
    {"relu#", "column 5: expected a blank before the next layer, found '#'"},
    {"(relu)", "column 1: expected a layer name, found '('"},
    {"[]x3", "column 2: expected a layer name, found ']'"},
    {"skip()", "column 6: expected a layer name, found ')'"},
    {"skip(|relu)", "column 6: expected a layer name, found '|'"},
    {"skip(relu|)", "column 11: expected a layer name, found ')'"},
    {"skip(relu|ln|ln)", "column 13: expected ')' to close the '(' of column 5, found '|'"},
    {"[relu|ln]x2", "column 6: expected ']' to close the '[' of column 1, found '|'"},
    {"relu | ln", "column 6: expected a layer name or the end of the text, found '|'"},
    {"skip relu", "column 6: expected '(' after skip, found 'relu'"},
    {"dense skip", "column 11: expected '(' after skip, found the end of the text"},
    {"dense [relu", "column 12: expected ']' to close the '[' of column 7, found the end of"},
    {"[relu)x2", "column 6: expected ']' to close the '[' of column 1, found ')'"},
    {"skip(relu]", "column 10: expected ')' to close the '(' of column 5, found ']'"},
    {"[relu]", "column 7: expected 'x' and a repeat count after ']', as in [dense relu]x3, found"},
    {"[relu] dense", "column 8: expected 'x' and a repeat count after ']'"},
    {"[relu]x", "column 8: expected a number, found the end of the text"},
    {"[relu]x0", "column 8: a repeat count must be a whole number at least 1 and at most 100000, "
                 "found '0'"},
    {"[relu]x-2", "column 8: a repeat count must be"},
    {"[relu]x2.5", "column 8: a repeat count must be"},
    {"[relu]x1e3", "column 8: a repeat count must be"},
    {"[relu]x3dense", "column 8: expected a number, found '3dense'"},
    {"repeat(relu)", "column 1: there is no layer 'repeat'"},
    {"dense(", "column 7: expected an argument, found the end of the text"},
    {"dense(3", "column 8: expected ',' or ')', found the end of the text"},
    {"dense(3,)", "column 9: expected an argument, found ')'"},
    {"dense(,3)", "column 7: expected an argument, found ','"},
    {"dense(3 4)", "column 9: expected ',' or ')', found '4'"},
    {"dense(3, 4)", "column 10: a number without a name must come first; write width=..."},
    {"dense(w=1, 4)", "column 12: a number without a name must come first; write width=..."},
    {"dense(3, width=4)", "column 10: width is given twice"},
    {"dense(w=1, w=1)", "column 12: w is given twice"},
    {"ln(affine, affine)", "column 12: affine is given twice"},
    {"dense(nobias, b=1)", "column 15: nobias and b cannot stand together"},
    {"dense(b=1, nobias)", "column 12: b and nobias cannot stand together"},
    {"dense(gain=1)", "column 7: dense has no argument 'gain'; it takes width, w, b, nobias"},
    {"abs(1)", "column 5: abs has no argument '1'; it takes gain"},
    {"ln(w=1)", "column 4: ln has no argument 'w'; it takes groups, eps, affine"},
    {"rms(groups=2)", "column 5: rms has no argument 'groups'; it takes eps, affine"},
    {"dense(W=1)", "column 7: dense has no argument 'W'"},
    {"dense(w)", "column 8: expected '=' and a number after w, found ')'"},
    {"dense(w 1)", "column 9: expected '=' and a number after w, found '1'"},
    {"dense(w=)", "column 9: expected a number, found ')'"},
    {"dense(w=b)", "column 9: expected a number, found 'b'"},
    {"ln(affine=1)", "column 10: affine takes no value"},
    {"dense(0)", "column 7: width must be a whole number at least 1 and at most 1000000000, found "
                 "'0'"},
    {"dense(-3)", "column 7: width must be a whole number"},
    {"dense(3.0)", "column 7: width must be a whole number"},
    {"dense(1e2)", "column 7: width must be a whole number"},
    {"dense(1000000001)", "column 7: width must be a whole number"},
    {"dense(99999999999999999999999)", "column 7: width must be a whole number"},
    {"dense(w=-1)", "column 9: w must be a number at least 0, found '-1'"},
    {"dense(b=-1e-300)", "column 9: b must be a number at least 0, found '-1e-300'"},
    {"dense(w=1e999)", "column 9: '1e999' is too large for a number"},
    {"relu(0.5)", "column 6: power must be a number above 0.5 and at most 64, found '0.5'"},
    {"relu(64.5)", "column 6: power must be a number above 0.5 and at most 64"},
    {"relu(gain=0)", "column 11: gain must be a number above 0, found '0'"},
    {"relu(gain=1e-999)", "column 11: gain must be a number above 0"},
    {"sin(w0=0)", "column 8: w0 must be a number above 0, found '0'"},
    {"sin(w0=-30)", "column 8: w0 must be a number above 0, found '-30'"},
    {"sin(w0=1e999)", "column 8: '1e999' is too large for a number"},
    {"sin(w0=inf)", "column 8: expected a number, found 'inf'"},
    {"sin(30)", "column 5: sin has no argument '30'; it takes w0, gain"},
    {"tanh(w0=30)", "column 6: tanh has no argument 'w0'"},
    {"leaky_relu(1000001)", "column 12: slope must be a number at least -1000000 and at most"},
    {"ln(eps=-1)", "column 8: eps must be a number at least 0"},
    {"ln(groups=0)", "column 11: groups must be a whole number at least 1"},
    {"relu(inf)", "column 6: relu has no argument 'inf'; it takes power, gain"},
    {"relu(-inf)", "column 6: expected a number, found '-inf'"},
    {"dense(w=inf)", "column 9: expected a number, found 'inf'"},
    {"dense(w=nan)", "column 9: expected a number, found 'nan'"},
    {"dense(w=0x10)", "column 9: expected a number, found '0x10'"},
    {"dense(w=1e)", "column 9: expected a number, found '1e'"},
    {"dense(w=1e+)", "column 9: expected a number, found '1e+'"},
    {"dense(w=1.2.3)", "column 9: expected a number, found '1.2.3'"},
    {"dense(w=.)", "column 9: expected a number, found '.'"},
    {"dense(w=+)", "column 9: expected a number, found '+'"},
    {"dense(w=1-2)", "column 10: expected ',' or ')', found '-2'"},
    {"relu(0123456789012345678901234567890)", "column 6: power must be a number above 0.5 and at "
                                              "most 64, found '012345678901234567890123...'"},
};

static void errors_name_the_column_and_what_was_expected(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(error_cases); i++) {
        assert_starts_with(message_of(error_cases[i].text), error_cases[i].message);
    }
}

static void misspelt_layers_suggest_the_nearest(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"Dense", "dense"},          {"nl", "ln"},      {"sni", "sin"},
        {"DENSE", "dense"},          {"dens", "dense"}, {"rleu", "relu"},
        {"relu6", "relu"},           {"gleu", "gelu"},  {"leakyrelu", "leaky_relu"},
        {"batch_norm", "batchnorm"}, {"tnah", "tanh"},  {"sine", "sin"},
        {"skp(relu)", "skip"},       {"rmsn", "rms"}};
    for (int i = 0; i < COUNT(cases); i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "did you mean %s?\n", cases[i][1]);
        assert_holds(message_of(cases[i][0]), expected);
    }
}

static void words_far_from_every_layer_get_the_list(void **state)
{
    (void)state;
    static const char *const cases[] = {"linear", "q", "perceptron", "convolution",
                                        "xxxxxxxxxxxxxxxxxxxxxxxxx"};
    for (int i = 0; i < COUNT(cases); i++) {
        const char *message = message_of(cases[i]);
        assert_null(strstr(message, "did you mean"));
        assert_holds(message, "there are dense, relu, leaky_relu,");
        assert_holds(message, ", batchnorm, image, ");
        assert_holds(message, ", skip\n");
    }
}

/* Splits a message into its lines; fails unless there are three and the last is blanks and '^'. */
static int caret_of(const char *message, char *shown, size_t size)
{
    const char *second = strchr(message, '\n');
    assert_non_null(second);
    const char *third = strchr(++second, '\n');
    assert_non_null(third);
    assert_true((size_t)(third - second) < size);
    memcpy(shown, second, (size_t)(third - second));
    shown[third - second] = 0;
    third++;
    int caret = (int)strspn(third, " ");
    assert_string_equal(third + caret, "^");
    return caret;
}

static void caret_stands_under_the_column(void **state)
{
    (void)state;
    char shown[200];
    for (int i = 0; i < COUNT(error_cases); i++) {
        const char *message = message_of(error_cases[i].text);
        assert_int_equal(caret_of(message, shown, sizeof shown) + 1, atoi(message + 7));
        assert_int_equal(strlen(shown), strlen(error_cases[i].text));
    }
}

static void shown_text_has_one_plain_character_a_byte(void **state)
{
    (void)state;
    char shown[200];
    caret_of(message_of("dense\t\x01\x7f\nr\xc3\xa9lu"), shown, sizeof shown);
    assert_string_equal(shown, "dense    r??lu");
}

static void long_texts_show_a_window_around_the_place(void **state)
{
    (void)state;
    enum { LAYERS = 100 };
    for (int bad = 0; bad < LAYERS; bad++) {
        char text[5 * LAYERS + 1] = "", shown[100];
        for (int i = 0; i < LAYERS; i++) {
            strcat(text, i == bad ? "oops " : "relu ");
        }
        const char *message = message_of(text);
        int caret = caret_of(message, shown, sizeof shown);
        assert_int_equal(atoi(message + 7), 5 * bad + 1);
        assert_memory_equal(shown + caret, "oops", 4);
        assert_in_range(strlen(shown), 70, 76);
        assert_int_equal(strncmp(shown, "...", 3) == 0, 5 * bad > 35);
        assert_int_equal(strcmp(shown + strlen(shown) - 3, "...") == 0, 5 * bad < 500 - 35);
    }
}

static void missing_pointers_are_refused(void **state)
{
    (void)state;
    far_arch *arch = (far_arch *)&test_heap;
    assert_int_equal(far_arch_parse(ctx, NULL, &arch), FAR_ERR_ARG);
    assert_null(arch);
    assert_int_equal(far_arch_parse(ctx, "relu", NULL), FAR_ERR_ARG);
    arch = (far_arch *)&test_heap;
    assert_int_equal(far_arch_parse(NULL, "relu", &arch), FAR_ERR_ARG);
    assert_null(arch);
    far_arch_destroy(NULL);
}

/* ---- limits ---- */

/* open * times, middle, close * times; the caller frees it. */
static char *nested(const char *open, int times, const char *middle, const char *close)
{
    size_t size = (size_t)times * (strlen(open) + strlen(close)) + strlen(middle) + 1;
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    for (int i = 0; i < times; i++) {
        at = stpcpy(at, open);
    }
    at = stpcpy(at, middle);
    for (int i = 0; i < times; i++) {
        at = stpcpy(at, close);
    }
    return text;
}

static void assert_limit(const char *open, const char *middle, const char *close, int most,
                         const char *message)
{
    char *fits = nested(open, most, middle, close),
         *too_much = nested(open, most + 1, middle, close);
    far_arch_destroy(parse(fits));
    assert_starts_with(message_of(too_much), message);
    free(fits);
    free(too_much);
}

static void nesting_is_limited(void **state)
{
    (void)state;
    assert_limit("[", "relu", "]x1", FAR_ARCH_MAX_NESTING,
                 "column 65: brackets nest more than 64 deep");
    assert_limit("skip(", "relu", ")", FAR_ARCH_MAX_NESTING,
                 "column 325: brackets nest more than 64 deep");
    char *side_by_side = nested("[relu]x1 ", 3 * FAR_ARCH_MAX_NESTING, "relu", "");
    far_arch_destroy(parse(side_by_side));
    free(side_by_side);
}

static void layers_written_out_are_limited(void **state)
{
    (void)state;
    far_arch_destroy(parse("[[[relu]x10 [ln dense]x45]x100]x10"));
    far_arch_destroy(parse("[relu]x99999 relu"));
    assert_starts_with(message_of("[relu]x99999 relu relu"),
                       "column 19: more than 100000 layers once repetitions are written out");
    assert_starts_with(message_of("[relu ln]x50001"), "column 11: more than 100000 layers");
    assert_starts_with(message_of("[[relu]x73]x1370"), "column 13: more than 100000 layers");
    assert_starts_with(message_of("relu [relu]x100000"), "column 6: more than 100000 layers");
    assert_starts_with(message_of("[relu]x100001"), "column 8: a repeat count must be");
}

static void nested_counts_cannot_overflow(void **state)
{
    (void)state;
    char *text = nested("[", 60, "relu", "]x10000");
    assert_starts_with(message_of(text), "column 74: more than 100000 layers");
    free(text);
    assert_starts_with(message_of("[relu]x18446744073709551617"), "column 8: a repeat count must");
}

static void text_length_is_limited(void **state)
{
    (void)state;
    assert_limit(" ", "relu", "", FAR_ARCH_MAX_TEXT - 4,
                 "column 65537: the text is longer than 65536 characters");
}

static void canonical_text_respects_the_limit_too(void **state)
{
    (void)state;
    /* 13 characters an item here, 15 in canonical form. */
    char *text = nested("dense(w=1e5) ", 65520 / 13, "relu", "");
    assert_true(strlen(text) <= FAR_ARCH_MAX_TEXT);
    assert_holds(message_of(text), "the text is longer than 65536 characters in canonical form");
    free(text);
}

/* ---- random trees, written in random style ---- */

typedef struct generator {
    uint64_t state;
    char *at, *end;
} generator;

static uint64_t draw(generator *g, uint64_t below)
{
    return roll(&g->state) % below;
}

static void put(generator *g, const char *text)
{
    assert_true(g->at + strlen(text) < g->end);
    g->at = stpcpy(g->at, text);
}

static void put_blanks(generator *g, uint64_t least)
{
    for (uint64_t n = least + (draw(g, 4) == 0 ? draw(g, 4) : 0); n > 0; n--) {
        put(g, draw(g, 3) ? " " : draw(g, 2) ? "\t" : "\n");
    }
}

/* A double of any size in the argument's range. */
static double draw_number(generator *g, const far_arg *arg)
{
    for (;;) {
        double unit = (double)draw(g, (uint64_t)1 << 53) * 0x1p-53;
        double value = draw(g, 2) ? (double)draw(g, 9) : ldexp(unit, (int)draw(g, 2000) - 1000);
        value = draw(g, 4) ? value : unit * 4;
        value = draw(g, 2) ? value : -value;
        if (far_arg_in_range(arg, value)) {
            return value;
        }
    }
}

static double draw_value(generator *g, const far_arg *arg)
{
    switch (arg->type) {
    case FAR_ARG_FLAG:
        return 1;
    case FAR_ARG_INTEGER:
        return 1.0 + (double)draw(g, draw(g, 2) ? 9 : (uint64_t)arg->most);
    default:
        return draw_number(g, arg);
    }
}

/* As many parts as the argument may have, into the layer and the text. */
static void write_size(generator *g, const far_arg *arg, far_layer *layer)
{
    int parts = arg->parts_least + (int)draw(g, (uint64_t)(arg->parts_most - arg->parts_least + 1));
    far_size *size = far_size_of(arg, layer);
    for (int i = 0; i < parts; i++) {
        char digits[24];
        size->part[i] = 1 + (int64_t)draw(g, FAR_SIZE_MOST);
        snprintf(digits, sizeof digits, "%s%lld", i ? "x" : "", (long long)size->part[i]);
        put(g, digits);
    }
}

static void write_arg(generator *g, const far_arg *arg, double value, bool first)
{
    char digits[40] = "";
    put_blanks(g, 0);
    if (!(arg->positional && first && draw(g, 2))) {
        put(g, arg->name);
        put_blanks(g, 0);
        put(g, arg->type == FAR_ARG_FLAG ? "" : "=");
        put_blanks(g, 0);
    }
    if (arg->type == FAR_ARG_INTEGER) {
        snprintf(digits, sizeof digits, "%.0f", value);
    } else if (arg->type == FAR_ARG_NUMBER) {
        snprintf(digits, sizeof digits, draw(g, 2) ? "%.17g" : "%.17E", value);
    }
    put(g, digits);
    put_blanks(g, 0);
}

/* Some of the arguments in some order. */
static void make_args(generator *g, far_layer *layer)
{
    const far_layer_spec *spec = &far_layer_specs[layer->kind];
    bool first = true;
    put_blanks(g, 0);
    put(g, "(");
    int start = (int)draw(g, (uint64_t)spec->arg_count);
    for (int k = 0; k < spec->arg_count; k++) {
        const far_arg *arg = &spec->args[(start + k) % spec->arg_count];
        bool excluded = arg->excludes && (layer->no_bias || !isnan(layer->b));
        bool lacking = arg->needs && layer->lora == 0;
        if (excluded || lacking || draw(g, 2)) {
            continue;
        }
        bool size = arg->type == FAR_ARG_SIZE;
        double value = size ? 0 : draw_value(g, arg);
        put(g, first ? "" : ",");
        write_arg(g, arg, value, first && arg == spec->args);
        if (size) {
            write_size(g, arg, layer);
        } else {
            far_arg_set(arg, value, layer);
        }
        first = false;
    }
    put(g, ")");
}

static void make_body(generator *g, far_layer *owner, int nesting);

static void make_layer(generator *g, far_layer *layer, int nesting)
{
    uint64_t kinds = nesting < 5 ? FAR_LAYER_KINDS : FAR_LAYER_SKIP;
    char count[24];
    *layer = far_layer_blank((far_layer_kind)draw(g, kinds));
    put(g, layer->kind == FAR_LAYER_REPEAT ? "[" : far_layer_specs[layer->kind].name);
    if (layer->kind == FAR_LAYER_REPEAT) {
        make_body(g, layer, nesting + 1);
        layer->count = 1 + (int64_t)draw(g, 3);
        snprintf(count, sizeof count, "]x%lld", (long long)layer->count);
        put(g, count);
    } else if (layer->kind == FAR_LAYER_SKIP) {
        put(g, "(");
        layer->main_count = (int64_t)draw(g, 3);
        make_body(g, layer, nesting + 1);
        put(g, ")");
    } else if (far_layer_specs[layer->kind].arg_count > 0 && draw(g, 2)) {
        make_args(g, layer);
    }
    bool gelu = layer->kind == FAR_LAYER_GELU || layer->kind == FAR_LAYER_GELU_TANH;
    layer->kind = !gelu            ? layer->kind
                  : layer->by_tanh ? FAR_LAYER_GELU_TANH /* which of the two, the text says */
                                   : FAR_LAYER_GELU;
}

static void make_body(generator *g, far_layer *owner, int nesting)
{
    owner->body_count = owner->main_count + 1 + (int64_t)draw(g, nesting ? 3 : 9);
    owner->body = calloc((size_t)owner->body_count, sizeof *owner->body);
    assert_non_null(owner->body);
    put_blanks(g, 0);
    for (int64_t i = 0; i < owner->body_count; i++) {
        if (i > 0 && i == owner->main_count) {
            put(g, draw(g, 2) ? "|" : " | ");
        } else {
            put_blanks(g, i > 0);
        }
        make_layer(g, &owner->body[i], nesting);
    }
    put_blanks(g, 0);
}

static void free_made(far_layer *owner)
{
    for (int64_t i = 0; i < owner->body_count; i++) {
        free_made(&owner->body[i]);
    }
    free(owner->body);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_layer(const far_layer *a, const far_layer *b)
{
    return a->kind == b->kind && a->width == b->width && same_number(a->w, b->w) &&
           same_number(a->b, b->b) && a->no_bias == b->no_bias && a->power == b->power &&
           a->slope == b->slope && same_number(a->gain, b->gain) && a->groups == b->groups &&
           a->eps == b->eps && a->affine == b->affine && a->count == b->count &&
           a->main_count == b->main_count && memcmp(&a->size, &b->size, sizeof a->size) == 0 &&
           a->positions == b->positions && a->vocabulary == b->vocabulary &&
           a->stride == b->stride && a->pad == b->pad && a->heads == b->heads &&
           a->causal == b->causal && a->sines == b->sines && same_number(a->rate, b->rate) &&
           a->body_count == b->body_count;
}

static void assert_same_body(const far_layer *a, const far_layer *b, int64_t count,
                             const char *text)
{
    for (int64_t i = 0; i < count; i++) {
        if (!same_layer(&a[i], &b[i])) {
            fail_msg("layer %lld read differently from '%s'", (long long)i, text);
        }
        assert_same_body(a[i].body, b[i].body, a[i].body_count, text);
    }
}

static void assert_reads_as(const far_arch *arch, const far_layer *root, const char *text)
{
    int64_t count;
    const far_layer *layers = far_arch_layers(arch, &count);
    assert_int_equal(count, root->body_count);
    assert_same_body(layers, root->body, count, text);
}

static void random_trees_survive_parse_and_print(void **state)
{
    (void)state;
    static char text[FAR_ARCH_MAX_TEXT + 1];
    generator g = {.state = 20250612, .end = text + sizeof text};
    int64_t total_layers = 0;
    for (int round = 0; round < 6000; round++) {
        far_layer root = {.kind = FAR_LAYER_REPEAT};
        g.at = text;
        make_body(&g, &root, 0);
        far_arch *once = parse(text);
        far_arch *twice = parse(far_arch_text(once));
        assert_reads_as(once, &root, text);
        assert_reads_as(twice, &root, far_arch_text(once));
        assert_string_equal(far_arch_text(once), far_arch_text(twice));
        assert_int_equal(far_arch_depth(once), far_arch_depth(twice));
        total_layers += far_arch_depth(once);
        far_arch_destroy(once);
        far_arch_destroy(twice);
        free_made(&root);
    }
    assert_true(total_layers > 30000); /* the generator really makes trees */
}

/* ---- memory ---- */

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    const char *text = "dense(3) [ln relu dense(5, w=1.5, b=0.25)]x2 skip(ln [relu dense ln]x3) "
                       "dense relu dense relu dense relu dense(1) leaky_relu(0.125, gain=0.5)";
    heap before = test_heap;
    int64_t k = 0;
    for (;; k++) {
        far_arch *arch = (far_arch *)&test_heap;
        test_heap.fail_at = test_heap.calls + k;
        far_status st = far_arch_parse(ctx, text, &arch);
        if (st == FAR_OK) {
            far_arch_destroy(arch);
            break;
        }
        assert_int_equal(st, FAR_ERR_MEMORY);
        assert_null(arch);
        assert_int_equal(test_heap.live_blocks, before.live_blocks);
        assert_int_equal(test_heap.live_bytes, before.live_bytes);
        assert_holds(far_ctx_message(ctx), "out of memory");
    }
    assert_true(k >= 8); /* the tree, four bodies with growth, the text with growth */
}

static void a_text_that_fails_leaks_nothing(void **state)
{
    (void)state;
    heap before = test_heap;
    message_of("dense [relu skip(ln [dense relu]x3 dense relu ln oops)]x2");
    assert_true(test_heap.calls > before.calls);
    assert_int_equal(test_heap.live_blocks, before.live_blocks);
    far_arch_destroy(parse("dense [relu skip(ln [dense relu]x3)]x2"));
    assert_int_equal(test_heap.live_blocks, before.live_blocks);
}

/* ---- the grammar text ---- */

static void grammar_fits_a_terminal(void **state)
{
    (void)state;
    int lines = 0;
    for (const char *line = far_arch_grammar(); *line; lines++) {
        size_t width = strcspn(line, "\n");
        assert_true(width <= 80);
        assert_int_equal(line[width], '\n');
        line += width + 1;
    }
    assert_in_range(lines, 40, 100);
}

static void assert_grammar_says(const char *format, double value)
{
    char piece[64];
    snprintf(piece, sizeof piece, format, value);
    assert_holds(far_arch_grammar(), piece);
}

/* Up to its ')', or, where a letter stands for the name, on a line of its own. */
static void assert_line_names_the_arguments(const char *line, const far_layer_spec *spec)
{
    char head[100], named[32];
    snprintf(head, sizeof head, "%.*s", (int)strcspn(line, ")"), line);
    for (int i = 0; i < spec->arg_count; i++) {
        const far_arg *arg = &spec->args[i];
        snprintf(named, sizeof named, " (or %s=)", arg->name);
        assert_holds(arg->positional ? line : head, arg->positional ? named : arg->name);
    }
}

static void grammar_lists_every_layer_argument_and_default(void **state)
{
    (void)state;
    for (int kind = 0; kind < FAR_LAYER_WORDS; kind++) {
        const far_layer_spec *spec = &far_layer_specs[kind];
        char start[32];
        snprintf(start, sizeof start,
                 spec->arg_count || kind == FAR_LAYER_SKIP ? "\n  %s(" : "\n  %s ", spec->name);
        const char *line = strstr(far_arch_grammar(), start);
        assert_non_null(line);
        assert_line_names_the_arguments(line, spec);
    }
    assert_grammar_says("w = %.1f, b = ", FAR_W_NTK_DEFAULT);
    assert_grammar_says("w = %.17g (sqrt 2), b = ", FAR_W_STANDARD_DEFAULT);
    assert_grammar_says("b = %g", FAR_B_DEFAULT);
    assert_grammar_says("default %g\n", FAR_LEAKY_SLOPE_DEFAULT);
    assert_grammar_says("default %.1f\n", FAR_EPS_DEFAULT);
}

static void grammar_examples_parse(void **state)
{
    (void)state;
    const char *line = strstr(far_arch_grammar(), "\nExamples\n");
    assert_non_null(line);
    int examples = 0;
    for (line += strlen("\nExamples\n"); *line; examples++) {
        char text[100];
        size_t width = strcspn(line, "\n");
        snprintf(text, sizeof text, "%.*s", (int)width, line);
        far_arch_destroy(parse(text));
        line += width + 1;
    }
    assert_true(examples >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(canonical_text_is_the_shortest_fixed_form),
        TEST(equal_means_the_same_canonical_text),
        TEST(layers_hold_what_was_written),
        TEST(values_left_out_are_marked_or_default),
        TEST(blocks_hold_their_body),
        TEST(layers_know_their_column),
        TEST(depth_counts_layers_written_out),
        TEST(kinds_have_a_name_and_one_family),
        TEST(errors_name_the_column_and_what_was_expected),
        TEST(misspelt_layers_suggest_the_nearest),
        TEST(words_far_from_every_layer_get_the_list),
        TEST(caret_stands_under_the_column),
        TEST(shown_text_has_one_plain_character_a_byte),
        TEST(long_texts_show_a_window_around_the_place),
        TEST(missing_pointers_are_refused),
        TEST(nesting_is_limited),
        TEST(layers_written_out_are_limited),
        TEST(nested_counts_cannot_overflow),
        TEST(text_length_is_limited),
        TEST(canonical_text_respects_the_limit_too),
        TEST(random_trees_survive_parse_and_print),
        TEST(every_failed_allocation_is_clean),
        TEST(a_text_that_fails_leaks_nothing),
        TEST(grammar_fits_a_terminal),
        TEST(grammar_lists_every_layer_argument_and_default),
        TEST(grammar_examples_parse),
    };
    return cmocka_run_group_tests_name("arch", tests, NULL, NULL);
}
