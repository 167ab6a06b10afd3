/* Included once for float and once for double: REAL and NAME(x) are defined. Sums are float64. */

static double NAME(mse)(const REAL *f, const REAL *y, int64_t count, double scale, REAL *slope)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double gap = (double)f[i] - (double)y[i];
        sum += gap * gap;
        if (slope) {
            slope[i] = (REAL)(2 * scale * gap);
        }
    }
    return sum;
}

/* -y log s(f) - (1 - y) log(1 - s(f)) for the logistic s, without overflow at either end. */
static double NAME(bce)(const REAL *f, const REAL *y, int64_t count, double scale, REAL *slope)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double z = (double)f[i], small = exp(-fabs(z));
        sum += (z > 0 ? z : 0) - z * (double)y[i] + log1p(small);
        if (slope) {
            double s = (z > 0 ? 1 : small) / (1 + small);
            slope[i] = (REAL)(scale * (s - (double)y[i]));
        }
    }
    return sum;
}

static double NAME(log_sum_exp)(const REAL *f, int64_t outputs)
{
    double most = (double)f[0], sum = 0;
    for (int64_t k = 1; k < outputs; k++) {
        most = (double)f[k] > most ? (double)f[k] : most;
    }
    for (int64_t k = 0; k < outputs; k++) {
        sum += exp((double)f[k] - most);
    }
    return most + log(sum);
}

static double NAME(ce_row)(const REAL *f, const REAL *y, int64_t outputs, double scale, REAL *slope)
{
    double whole = NAME(log_sum_exp)(f, outputs), sum = 0, mass = 0;
    for (int64_t k = 0; k < outputs; k++) {
        sum += (double)y[k] * (whole - (double)f[k]);
        mass += (double)y[k];
    }
    for (int64_t k = 0; slope && k < outputs; k++) {
        slope[k] = (REAL)(scale * (mass * exp((double)f[k] - whole) - (double)y[k]));
    }
    return sum;
}

/* The same where y is 1 for one class and 0 for the others. */
static double NAME(ce_class)(const REAL *f, int64_t class, int64_t outputs, double scale,
                             REAL *slope)
{
    double whole = NAME(log_sum_exp)(f, outputs);
    for (int64_t k = 0; slope && k < outputs; k++) {
        slope[k] = (REAL)(scale * (exp((double)f[k] - whole) - (k == class)));
    }
    return whole - (double)f[class];
}

static double NAME(loss)(const far_loss_rule *rule, const REAL *f, const REAL *y, int64_t lines,
                         double scale, REAL *slope)
{
    int64_t outputs = rule->channels;
    if (rule->loss == FAR_LOSS_MSE) {
        return NAME(mse)(f, y, lines * outputs, scale, slope);
    }
    if (rule->loss == FAR_LOSS_BCE) {
        return NAME(bce)(f, y, lines * outputs, scale, slope);
    }
    double sum = 0;
    for (int64_t i = 0; i < lines; i++) {
        int64_t at = i * outputs;
        REAL *to = slope ? slope + at : NULL;
        sum += rule->classes ? NAME(ce_class)(f + at, (int64_t)y[i], outputs, scale, to)
                             : NAME(ce_row)(f + at, y + at, outputs, scale, to);
    }
    return sum;
}
