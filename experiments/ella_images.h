/* Laplace approximations of a CNN: pictures, and what the parts share. */
#ifndef FAR_EXPERIMENTS_ELLA_IMAGES_H
#define FAR_EXPERIMENTS_ELLA_IMAGES_H

#include "ella.h"

/* ---- ella_pictures.c ---- */

typedef struct pictures {
    int64_t n, side, classes;
    double *x; /* n x side side */
    double *y; /* classes */
} pictures;

/* What networks learn from, what chooses s0^2, what is scored, and what is of another kind. All
 * pixels have the centre and scale of the first. */
typedef struct picture_sets {
    pictures train, choose, test, other;
} picture_sets;

/* Fashion-MNIST, the last 5000 training pictures to choose, and MNIST's test digits; in the quick
 * form stripes of three directions under noise, and checks. */
far_status picture_sets_open(reproduction *r, picture_sets *out);
void picture_sets_close(picture_sets *p);
/* rows of them from first on. */
far_mat picture_points(const pictures *p, int64_t first, int64_t rows);

/* ---- ella_images.c ---- */

enum {
    IMAGES_MAP,
    IMAGES_PAPER, /* ELLA as in the paper */
    IMAGES_ELLA,  /* with the residual prior */
    IMAGES_DIAGONAL,
    IMAGES_KFAC,
    IMAGES_LAST,
    IMAGES_EXACT, /* on some rows alone */
    IMAGES_METHODS
};
extern const char *const IMAGES_NAMES[IMAGES_METHODS];

/* Numbers alone, as run_grid keeps them. auroc: of entropies, the other kind of pictures against
 * the test pictures. bytes: held by the posterior. */
typedef struct images_score {
    double accuracy, nll, ece, auroc, prior, fit_seconds, predict_seconds, bytes;
} images_score;

/* What one seed has come to. some: by posteriors of some training rows, all with the prior that the
 * exact one chose; error: their distance from its covariances. */
typedef struct images_run {
    double loss;
    images_score all[IMAGES_METHODS], some[IMAGES_METHODS];
    double error[IMAGES_METHODS];
} images_run;

typedef struct images_plan {
    const char *arch;
    int64_t seeds, epochs, landmarks, rank;
    int64_t choosing;            /* rows that choose s0^2 */
    int64_t some, some_choosing; /* training rows of the exact posterior, and rows that choose */
    int64_t some_tests;          /* rows that it is judged by */
} images_plan;

/* ---- ella_images_report.c ---- */

far_status ella_images_report(reproduction *r, const images_plan *p, const picture_sets *sets,
                              const images_run *runs);

#endif
