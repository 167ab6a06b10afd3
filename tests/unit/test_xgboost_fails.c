/* What XGBoost can answer, from a library that fails where it is told: the words reach the message,
 * and whatever was made is freed. */
#include "../../src/regress/baseline_internal.h"
#include <dlfcn.h>
#include <farfield/predictor.h>

#include "harness.h"

enum { ROWS = 3, TEST_ROWS = 2 };

static double inputs[ROWS] = {1, 2, 3}, targets[ROWS] = {4, 5, 6}, asked[TEST_ROWS] = {1, 9};

static far_status predict(double *out)
{
    far_mat x = far_mat_view(inputs, ROWS, 1, FAR_F64), y = far_mat_view(targets, ROWS, 1, FAR_F64);
    far_mat xt = far_mat_view(asked, TEST_ROWS, 1, FAR_F64);
    far_mat got = far_mat_view(out, TEST_ROWS, 1, FAR_F64);
    return far_xgboost_predict(ctx, &x, &y, &xt, 5, 1, &got);
}

static int live_handles(void)
{
    void *file = dlopen(FAKE_XGBOOST_FILE, RTLD_NOW);
    assert_non_null(file);
    int (*count)(void);
    *(void **)&count = dlsym(file, "fake_live");
    assert_non_null(count);
    int live = count();
    dlclose(file);
    return live;
}

static void every_answer_is_heard(void **state)
{
    (void)state;
    static const struct {
        const char *broken, *part;
    } CASES[] = {
        {"train", "XGBoost could not take x: it broke"},
        {"label", "XGBoost could not take y: it broke"},
        {"test", "XGBoost could not take xt: it broke"},
        {"booster", "XGBoost could not start: it broke"},
        {"verbosity", "could not set its parameters"},
        {"nthread", "could not set its parameters"},
        {"seed", "could not set its parameters"},
        {"objective", "could not set its parameters"},
        {"tree_method", "could not set its parameters"},
        {"max_bin", "could not set its parameters"},
        {"base_score", "could not set its parameters"},
        {"update", "XGBoost could not fit: it broke"},
        {"predict", "XGBoost could not predict: it broke"},
        {"short", "XGBoost gave 1 predictions for 2 rows"},
    };
    double out[TEST_ROWS];
    setenv("FARFIELD_XGBOOST", FAKE_XGBOOST_FILE, 1);
    for (int i = 0; i < COUNT(CASES); i++) {
        setenv("FAKE_XGBOOST", CASES[i].broken, 1);
        assert_int_equal(predict(out), FAR_ERR_BACKEND);
        if (!strstr(far_ctx_message(ctx), CASES[i].part)) {
            fail_msg("'%s' is not in '%s'", CASES[i].part, far_ctx_message(ctx));
        }
        assert_null(strstr(far_ctx_message(ctx), "Stack"));
        assert_int_equal(live_handles(), 0);
    }
    setenv("FAKE_PLAIN", "1", 1);
    setenv("FAKE_XGBOOST", "train", 1);
    assert_int_equal(predict(out), FAR_ERR_BACKEND);
    assert_non_null(strstr(far_ctx_message(ctx), "take x: plain words"));
    unsetenv("FAKE_PLAIN");
    unsetenv("FAKE_XGBOOST");
    must(predict(out));
    assert_true(out[0] == 7 && out[1] == 7);
    assert_int_equal(live_handles(), 0);
    assert_string_equal(far_xgboost_find(ctx)->version, "1.7.4");
    assert_non_null(strstr(far_xgboost_find(ctx)->file, "fake_xgboost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_answer_is_heard, open_context, close_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
