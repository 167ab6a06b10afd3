/* What candidates are worth on given rows, and whom to take. */
#include "uci90.h"

#include <math.h>
#include <stdlib.h>

static int64_t largest(const double *row, int64_t count)
{
    int64_t best = 0;
    for (int64_t c = 1; c < count; c++) {
        best = row[c] > row[best] ? c : best;
    }
    return best;
}

double uci90_accuracy(const uci90_set *set, const uci90_rows *rows, const double *scores)
{
    int64_t right = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t at = rows->at[i];
        right += largest(scores + at * set->classes, set->classes) == set->label[at];
    }
    return (double)right / (double)rows->count;
}

/* Of taken + one more, over count, where taken may be NULL for 0. */
static double error_with(const uci90_set *set, const uci90_rows *rows, const double *taken,
                         const double *more, int count)
{
    double sum = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t at = rows->at[i];
        for (int64_t c = 0; c < set->classes; c++) {
            int64_t k = at * set->classes + c;
            double score = ((taken ? taken[k] : 0) + more[k]) / count;
            double miss = score - (set->label[at] == c);
            sum += miss * miss;
        }
    }
    return sum / (double)rows->count;
}

double uci90_squared_error(const uci90_set *set, const uci90_rows *rows, const double *scores)
{
    return error_with(set, rows, NULL, scores, 1);
}

/* ---- one ---- */

uci90_choice uci90_choose_accurate(const uci90_set *set, const uci90_rows *rows,
                                   const uci90_scores *scores)
{
    uci90_choice choice = {.votes = {0}};
    double accuracy = -1, error = INFINITY;
    int best = 0;
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        if (!scores->of[k]) {
            continue;
        }
        double a = uci90_accuracy(set, rows, scores->of[k]);
        double e = uci90_squared_error(set, rows, scores->of[k]);
        if (a > accuracy || (a == accuracy && e < error)) {
            accuracy = a;
            error = e;
            best = k;
        }
    }
    choice.votes[best] = 1;
    return choice;
}

/* The candidate that goes best with the count - 1 whose scores are summed in taken. */
static int closest_with(const uci90_set *set, const uci90_rows *rows, const uci90_scores *scores,
                        const double *taken, int count)
{
    double least = INFINITY;
    int best = 0;
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        double error =
            scores->of[k] ? error_with(set, rows, taken, scores->of[k], count) : INFINITY;
        if (error < least) {
            least = error;
            best = k;
        }
    }
    return best;
}

uci90_choice uci90_choose_close(const uci90_set *set, const uci90_rows *rows,
                                const uci90_scores *scores)
{
    uci90_choice choice = {.votes = {0}};
    choice.votes[closest_with(set, rows, scores, NULL, 1)] = 1;
    return choice;
}

/* ---- many ---- */

static void add_rows(const uci90_set *set, const uci90_rows *rows, const double *scores,
                     double factor, double *sum)
{
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t first = rows->at[i] * set->classes;
        for (int64_t k = first; k < first + set->classes; k++) {
            sum[k] += factor * scores[k];
        }
    }
}

uci90_choice uci90_choose_committee(const uci90_set *set, const uci90_rows *rows,
                                    const uci90_scores *scores)
{
    uci90_choice choice = {.votes = {0}};
    double *taken = UCI90_ALLOC(set->n * set->classes, double);
    for (int round = 1; round <= UCI90_ROUNDS; round++) {
        int best = closest_with(set, rows, scores, taken, round);
        add_rows(set, rows, scores->of[best], 1, taken);
        choice.votes[best]++;
    }
    free(taken);
    return choice;
}

void uci90_average(const uci90_set *set, const uci90_rows *rows, const uci90_scores *scores,
                   const uci90_choice *choice, double *mean)
{
    int votes = 0;
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        votes += choice->votes[k];
    }
    for (int64_t i = 0; i < rows->count; i++) {
        for (int64_t c = 0; c < set->classes; c++) {
            mean[rows->at[i] * set->classes + c] = 0;
        }
    }
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        if (choice->votes[k] > 0) {
            add_rows(set, rows, scores->of[k], choice->votes[k] / (double)votes, mean);
        }
    }
}
