#include "arch_tree.h"

far_status far_arch_fail_at(far_ctx *ctx, far_status status, const char *text, int length,
                            int place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    status = far_fail_at_args(ctx, status, text, length, place, format, args);
    va_end(args);
    return status;
}
