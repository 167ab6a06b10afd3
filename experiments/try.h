/* How experiments leave for their clean-up. */
#ifndef FAR_EXPERIMENTS_TRY_H
#define FAR_EXPERIMENTS_TRY_H

/* Needs `far_status st` and a label `done`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != FAR_OK) {                                                                        \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

#endif
