/* How good predictions are, and how sure that is. */
#include "compare_internal.h"

#include <math.h>

static long double mean_truth(const far_split *s, bool out, int64_t *count)
{
    long double sum = 0;
    *count = 0;
    for (int64_t i = 0; i < s->m; i++) {
        if (s->out[i] == out) {
            sum += s->yt[i];
            (*count)++;
        }
    }
    return *count > 0 ? sum / (long double)*count : 0;
}

static void score_range(const far_split *s, const double *f, bool out, double *r2, double *rmse,
                        double *most)
{
    int64_t count;
    long double mean = mean_truth(s, out, &count), error = 0, spread = 0;
    double least = INFINITY, largest = -INFINITY;
    *r2 = *rmse = *most = NAN;
    for (int64_t i = 0; i < s->m; i++) {
        if (s->out[i] == out) {
            long double miss = (long double)f[i] - s->yt[i], off = s->yt[i] - mean;
            error += miss * miss;
            spread += off * off;
            *most = fmax(*most, fabs(f[i])); /* fmax passes NAN over */
            least = fmin(least, s->yt[i]);
            largest = fmax(largest, s->yt[i]);
        }
    }
    if (count > 0) {
        *rmse = (double)sqrtl(error / (long double)count);
    }
    if (largest > least) {
        *r2 = (double)(1 - error / spread);
    }
}

void far_run_score(const far_split *s, far_compare_run *run)
{
    score_range(s, run->prediction, false, &run->r2_in, &run->rmse_in, &run->max_in);
    score_range(s, run->prediction, true, &run->r2_out, &run->rmse_out, &run->max_out);
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
