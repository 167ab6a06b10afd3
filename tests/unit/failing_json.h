/* Memory for jansson that counts, and fails when told. */
#ifndef TEST_FAILING_JSON_H
#define TEST_FAILING_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

static int64_t json_calls, json_fail_at, json_live; /* the call, from 0, that fails; -1: none */

static inline void *json_alloc(size_t size)
{
    void *block = json_calls++ == json_fail_at ? NULL : malloc(size);
    json_live += block != NULL;
    return block;
}

static inline void json_release(void *block)
{
    json_live -= block != NULL;
    free(block);
}

#endif
