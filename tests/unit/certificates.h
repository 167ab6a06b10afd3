/* What the text of a certificate must stand, whatever it is of. */
#ifndef TEST_CERTIFICATES_H
#define TEST_CERTIFICATES_H

#include "failing_json.h"
#include "harness.h"

typedef far_status (*check_fn)(const void *subject, const char *text);

/* A certificate is written whole or not at all, and checked or not, but never called wrong. */
static void survives_json_without_memory(const far_certificate *c, check_fn check,
                                         const void *subject)
{
    char *whole, *text;
    must(far_certificate_json(ctx, c, &whole));
    json_set_alloc_funcs(json_alloc, json_release);
    far_status st = FAR_ERR_MEMORY;
    for (json_fail_at = 0; st != FAR_OK; json_fail_at++) {
        json_calls = 0;
        st = far_certificate_json(ctx, c, &text);
        assert_true(st == FAR_OK ? strcmp(text, whole) == 0 : st == FAR_ERR_MEMORY && !text);
        assert_int_equal(json_live, 0);
        far_text_free(ctx, text);
    }
    assert_true(json_fail_at > 100);
    st = FAR_ERR_MEMORY;
    for (json_fail_at = 0; st != FAR_OK; json_fail_at++) {
        json_calls = 0;
        st = check(subject, whole);
        assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
        assert_int_equal(json_live, 0);
    }
    assert_true(json_fail_at > 200);
    json_set_alloc_funcs(malloc, free);
    far_text_free(ctx, whole);
}

#endif
