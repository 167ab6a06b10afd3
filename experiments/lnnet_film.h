/* Points on their way through a built network, as a film; and the unit circle. Only the public API:
 * the command draws with it, too. */
#ifndef FAR_EXPERIMENTS_LNNET_FILM_H
#define FAR_EXPERIMENTS_LNNET_FILM_H

#include <farfield/lnnet.h>
#include <farfield/plot.h>

/* Labelled points: x is n x d. */
typedef struct lnnet_points {
    far_mat x;
    const int64_t *labels;
    int64_t classes;
    const char *const *names; /* of the classes; NULL: "class 0", ... */
} lnnet_points;

enum { LNNET_FILM_FRAMES = 25, LNNET_FILM_POINTS = 400, LNNET_FILM_CLASSES = 12 };

/* Rows of places, one a frame (frames x n), with a caption each, in the plane of the circle. */
typedef struct lnnet_scene {
    int64_t frames, n;
    double *x, *y;
    char **captions;
} lnnet_scene;
far_status lnnet_scene_create(far_ctx *ctx, int64_t frames, int64_t n, lnnet_scene *out);
void lnnet_scene_free(lnnet_scene *s);
/* The film of a scene, in the plane of the circle; labels of its n points. */
far_status lnnet_scene_film(far_ctx *ctx, const lnnet_scene *s, const lnnet_points *p,
                            far_figure_opts opts, far_figure **out);

/* The points (at most LNNET_FILM_POINTS of them) through the first chain of a network: on the
 * circle, then the ordinate that is read, layer by layer; of many layers some. */
far_status lnnet_film(far_ctx *ctx, const far_net *net, const lnnet_points *p, far_figure **out);

/* The circle, thin. mark may be NULL. */
far_status lnnet_draw_circle(far_ctx *ctx, far_figure *figure);
/* A layer of points for each class. x, y: n of them. */
far_status lnnet_draw_classes(far_ctx *ctx, far_figure *figure, const double *x, const double *y,
                              const lnnet_points *p, double width);

#endif
