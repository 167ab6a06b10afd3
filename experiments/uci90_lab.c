/* The context, the four networks, messages, memory. */
#include "uci90.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const UCI90_ARCH[UCI90_NETS] = {
    "dense(b=1) ln relu dense(b=1) relu dense(b=1)",
    "dense(b=1) ln relu [dense(b=1) relu]x3 dense(b=1)",
    "dense(b=0.1) relu dense(b=0.1) relu dense(b=0.1)",
    "dense(b=1) relu dense(b=1)",
};
const double UCI90_RIDGE[UCI90_RIDGES] = {1e-3, 1e-2, 3e-2, 0.1, 0.3, 1};

far_status uci90_lab_open(int threads, uci90_lab *lab)
{
    far_status st;
    far_ctx_opts opts;
    opts = (far_ctx_opts){.size = sizeof opts};
    opts.threads = threads;
    *lab = (uci90_lab){.ctx = NULL};
    TRY(far_ctx_create(&opts, &lab->ctx));
    for (int i = 0; i < UCI90_NETS; i++) {
        TRY(far_kernel_create(lab->ctx, UCI90_ARCH[i], NULL, &lab->net[i]));
    }
done:
    return st;
}

void uci90_lab_close(uci90_lab *lab)
{
    for (int i = 0; i < UCI90_NETS; i++) {
        far_kernel_destroy(lab->net[i]);
    }
    far_ctx_destroy(lab->ctx);
    *lab = (uci90_lab){.ctx = NULL};
}

far_status uci90_fail(uci90_lab *lab, far_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(lab->message, sizeof lab->message, format, args);
    va_end(args);
    return status;
}

const char *uci90_message(const uci90_lab *lab)
{
    return lab->message[0] || !lab->ctx ? lab->message : far_ctx_message(lab->ctx);
}

void *uci90_alloc(int64_t count, size_t size)
{
    void *block = calloc(count > 0 ? (size_t)count : 1, size);
    if (!block) {
        fprintf(stderr, "uci90: out of memory; run fewer sets at a time with --jobs\n");
        exit(EXIT_FAILURE);
    }
    return block;
}

double uci90_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
