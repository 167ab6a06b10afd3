/* Whether a kernel can learn anything odd that is not linear. */
#include "measure_internal.h"

#include <math.h>

/* Kernels are exact to some 1e-15; what is not linear differs in the first digits. */
#define ODD_TOLERANCE 1e-9

enum { PROBES = 2, PLACES = 6 };

/* Places p, q and p + q, each with its opposite; no two of the numbers are alike. */
static void fill_places(int64_t d, double *probes, double *places)
{
    for (int64_t j = 0; j < d; j++) {
        double p = cos(1.7 * (double)j + 0.3), q = sin(2.3 * (double)j + 1.1);
        double wanted[PLACES] = {p, -p, q, -q, p + q, -p - q};
        probes[j] = 1 + 0.1 * (double)(j % 7);
        probes[d + j] = cos(0.9 * (double)j + 2);
        for (int i = 0; i < PLACES; i++) {
            places[i * d + j] = wanted[i];
        }
    }
}

static int adds_up(const double *k)
{
    double size = 0, rest = (k[4] - k[5]) - (k[0] - k[1]) - (k[2] - k[3]);
    for (int i = 0; i < PLACES; i++) {
        size = fmax(size, fabs(k[i]));
    }
    return fabs(rest) <= ODD_TOLERANCE * size;
}

far_status far_odd_part_of(far_ctx *ctx, far_pair_fn pair, void *user, int64_t dimension,
                           int *linear)
{
    double k[PROBES * PLACES], *room = NULL;
    far_status st;
    if (dimension < 1) {
        return far_fail(ctx, FAR_ERR_ARG, "no dimension");
    }
    *linear = 0;
    FAR_TRY(far_alloc(ctx, (PROBES + PLACES) * dimension, &room));
    fill_places(dimension, room, room + PROBES * dimension);
    far_mat probes = far_mat_view(room, PROBES, dimension, FAR_F64);
    far_mat places = far_mat_view(room + PROBES * dimension, PLACES, dimension, FAR_F64);
    far_mat out = far_mat_view(k, PROBES, PLACES, FAR_F64);
    FAR_TRY(pair(ctx, user, &probes, &places, &out));
    *linear = adds_up(k) && adds_up(k + PLACES);
done:
    far_free(ctx, room);
    return st;
}

far_status far_odd_part_linear(far_ctx *ctx, const far_any_kernel *kernel, int64_t dimension,
                               int *linear)
{
    far_status st = far_check_any(ctx, kernel);
    return st == FAR_OK ? far_odd_part_of(ctx, far_pair_of, (void *)kernel, dimension, linear) : st;
}
