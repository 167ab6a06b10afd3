/* Tables from texts. Include it behind harness.h. */
#ifndef TEST_TABLES_H
#define TEST_TABLES_H

#include "data/frame_internal.h"

static inline far_frame *table_of(const char *csv)
{
    far_frame *frame;
    must(far_frame_parse_bytes(ctx, "test", csv, (int64_t)strlen(csv), NULL, &frame));
    return frame;
}

#endif
