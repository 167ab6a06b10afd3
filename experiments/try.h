/* How experiments leave for their clean-up. */
#ifndef FAR_EXPERIMENTS_TRY_H
#define FAR_EXPERIMENTS_TRY_H

#include <stdlib.h>

/* Needs `far_status st` and a label `done`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != FAR_OK) {                                                                        \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

/* Frees each of them; NULL is fine. */
#define FREE(...)                                                                                  \
    do {                                                                                           \
        void *to_free[] = {__VA_ARGS__};                                                           \
        for (size_t at = 0; at < sizeof to_free / sizeof *to_free; at++) {                         \
            free(to_free[at]);                                                                     \
        }                                                                                          \
    } while (0)

#endif
