/* Images of CIFAR-10, and made ones in their place for quick forms. */
#ifndef FAR_EXPERIMENTS_CIFAR_H
#define FAR_EXPERIMENTS_CIFAR_H

#include "reproduce.h"

enum { CIFAR_COLOURS = 3, CIFAR_SIDE = 32, CIFAR_CLASSES = 10 };
/* Of the made ones. */
enum { MADE_SIDE = 16, MADE_CLASSES = 3 };

typedef struct cifar_images {
    int64_t n, side, classes;
    double *x; /* n x CIFAR_COLOURS side side, one centre and one scale for all */
    double *y; /* classes */
} cifar_images;

int64_t cifar_pixels(const cifar_images *i);
far_mat cifar_points(const cifar_images *i);
void cifar_free(cifar_images *i);
/* The first images for training and for tests, standardised by the former; at most 10000 each. In
 * the quick form stripes in one of three directions, at any phase and in any colour, under noise:
 * every class has mean 0, so no linear classifier can tell them apart. */
far_status cifar_take(reproduction *r, int64_t train_count, int64_t test_count, cifar_images *train,
                      cifar_images *test);

#endif
