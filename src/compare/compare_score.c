/* How good predictions are, and how sure that is. */
#include "../score/score_internal.h"
#include "compare_internal.h"

#include <math.h>

/* R2 and RMSE over the rows of one range, and the largest prediction there; NAN where it is empty.
 */
static far_status score_range(far_ctx *ctx, const far_split *s, const double *f, bool out,
                              double *r2, double *rmse, double *most)
{
    far_status st;
    double *room = NULL;
    int64_t count = 0;
    *r2 = *rmse = *most = NAN;
    FAR_TRY(far_alloc(ctx, 2 * s->m, &room));
    for (int64_t i = 0; i < s->m; i++) {
        if (s->out[i] == out) {
            room[count] = f[i];
            room[s->m + count++] = s->yt[i];
            *most = fmax(*most, fabs(f[i])); /* fmax passes NAN over */
        }
    }
    far_mat mean = far_mat_view(room, count, 1, FAR_F64);
    far_mat truth = far_mat_view(room + s->m, count, 1, FAR_F64);
    if (count > 0) {
        far_regression_score score;
        FAR_TRY(far_regression_scores(ctx, &mean, NULL, &truth, &score));
        *r2 = score.r2;
        *rmse = score.rmse;
    }
done:
    far_free(ctx, room);
    return st;
}

far_status far_run_score(far_ctx *ctx, const far_split *s, far_compare_run *run)
{
    const double *f = run->prediction;
    far_status st = score_range(ctx, s, f, false, &run->r2_in, &run->rmse_in, &run->max_in);
    return st == FAR_OK ? score_range(ctx, s, f, true, &run->r2_out, &run->rmse_out, &run->max_out)
                        : st;
}

far_compare_average far_average(const double *values, int64_t count)
{
    long double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    long double mean = sum / (long double)count; /* NAN for none */
    for (int64_t i = 0; i < count; i++) {
        square += (values[i] - mean) * (values[i] - mean);
    }
    double n = (double)count;
    double error = sqrt((double)square / (n - 1) / n);
    return (far_compare_average){(double)mean, count > 1 ? far_student_95(count - 1) * error : NAN};
}
