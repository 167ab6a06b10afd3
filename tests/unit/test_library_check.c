/* A C library whose functions are not as good as proofs assume is found out, by name. */
#include "../../src/certify/net_certify.h"

#include "harness.h"

/* The linker puts these in front (tests/CMakeLists.txt): too large by so much, where that is wrong.
 */
static double cbrt_error, pow_error;

double __real_cbrt(double x);
double __real_pow(double x, double p);
double __wrap_cbrt(double x);
double __wrap_pow(double x, double p);

double __wrap_cbrt(double x)
{
    return __real_cbrt(x) * (1 + cbrt_error);
}

double __wrap_pow(double x, double p)
{
    return __real_pow(x, p) * (1 + pow_error);
}

static void refuses(const char *piece)
{
    assert_int_equal(far_library_check(ctx), FAR_ERR_BACKEND);
    if (!strstr(far_ctx_message(ctx), piece)) {
        fail_msg("'%s' is not in '%s'", piece, far_ctx_message(ctx));
    }
}

static void a_bad_library_is_refused_by_function(void **state)
{
    (void)state;
    must(far_library_check(ctx));
    cbrt_error = 0.5 * FAR_LIBRARY_ERROR; /* an error that bounds allow for */
    must(far_library_check(ctx));
    cbrt_error = 2 * FAR_LIBRARY_ERROR;
    refuses("the C library's cbrt is not good enough to prove anything with: at ");
    cbrt_error = 0;
    pow_error = -2 * FAR_LIBRARY_ERROR;
    refuses("the C library's pow is not good enough");
    pow_error = NAN;
    refuses("it gives nan, not ");
    pow_error = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_bad_library_is_refused_by_function)};
    return cmocka_run_group_tests_name("library_check", tests, NULL, NULL);
}
