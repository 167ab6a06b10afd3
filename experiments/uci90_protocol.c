/* One set, start to end: score on halves, choose, fit again on each fold, test. */
#include "uci90.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ---- */

void uci90_scores_free(uci90_scores *s)
{
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        free(s->of[k]);
        s->of[k] = NULL;
    }
}

static bool any_of(double *const *scores, int count)
{
    for (int k = 0; k < count; k++) {
        if (scores[k]) {
            return true;
        }
    }
    return false;
}

/* The candidates of one encoding, those that scores has an array for. */
static far_status score_encoding(uci90_lab *lab, const uci90_set *set, int encoding,
                                 const uci90_split *split, const uci90_scores *scores)
{
    uci90_features f = {.z = NULL};
    far_status st;
    TRY(uci90_encode(lab, set, (uci90_encoding)encoding, &split->train, &f));
    for (int net = 0; net < UCI90_NETS; net++) {
        double *const *of_net = scores->of + uci90_candidate(encoding, net, 0);
        if (any_of(of_net, UCI90_RIDGES)) {
            TRY(uci90_fit(lab, set, &f, lab->net[net], split, of_net));
        }
    }
done:
    uci90_features_free(&f);
    return st;
}

static far_status score_split(uci90_lab *lab, const uci90_set *set, const uci90_split *split,
                              const uci90_scores *scores)
{
    far_status st = FAR_OK;
    for (int e = 0; e < UCI90_ENCODINGS; e++) {
        if (any_of(scores->of + uci90_candidate(e, 0, 0), UCI90_NETS * UCI90_RIDGES)) {
            TRY(score_encoding(lab, set, e, split, scores));
        }
    }
done:
    return st;
}

far_status uci90_score_both_ways(uci90_lab *lab, const uci90_set *set, const uci90_split *split,
                                 uci90_scores *out)
{
    uci90_split swapped = {.train = split->test, .test = split->train};
    far_status st;
    *out = (uci90_scores){.of = {NULL}};
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        if (uci90_encoding_applies(set, (uci90_encoding)(k / (UCI90_NETS * UCI90_RIDGES)))) {
            out->of[k] = UCI90_ALLOC(set->n * set->classes, double);
        }
    }
    TRY(score_split(lab, set, split, out));
    TRY(score_split(lab, set, &swapped, out));
done:
    return st;
}

/* ---- choices ---- */

static uci90_rows both_parts(const uci90_split *split)
{
    uci90_rows all = {.count = split->train.count + split->test.count};
    all.at = UCI90_ALLOC(all.count, int64_t);
    memcpy(all.at, split->train.at, (size_t)split->train.count * sizeof *all.at);
    memcpy(all.at + split->train.count, split->test.at, (size_t)split->test.count * sizeof *all.at);
    return all;
}

static far_status choose_all(uci90_lab *lab, const uci90_set *set, uci90_choice *choices)
{
    uci90_rows all = both_parts(&set->halves);
    uci90_scores scores;
    far_status st;
    TRY(uci90_score_both_ways(lab, set, &set->halves, &scores));
    choices[UCI90_SINGLE] = uci90_choose_accurate(set, &set->halves.test, &scores);
    choices[UCI90_CLOSEST] = uci90_choose_close(set, &all, &scores);
    choices[UCI90_COMMITTEE] = uci90_choose_committee(set, &all, &scores);
done:
    uci90_scores_free(&scores);
    free(all.at);
    return st;
}

/* Every other row of each class goes to the other half, in the order they are listed. */
static uci90_split halve(const uci90_set *set, const uci90_rows *rows)
{
    bool *other = UCI90_ALLOC(set->classes, bool);
    uci90_split halves = uci90_split_make(rows->count, rows->count);
    halves.train.count = halves.test.count = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        bool *flag = &other[set->label[rows->at[i]]];
        uci90_rows *half = *flag ? &halves.test : &halves.train;
        half->at[half->count++] = rows->at[i];
        *flag = !*flag;
    }
    free(other);
    return halves;
}

static far_status choose_within(uci90_lab *lab, const uci90_set *set, const uci90_rows *train,
                                uci90_choice *choice)
{
    uci90_split halves = halve(set, train);
    uci90_scores scores;
    far_status st;
    TRY(uci90_score_both_ways(lab, set, &halves, &scores));
    *choice = uci90_choose_committee(set, train, &scores);
done:
    uci90_scores_free(&scores);
    uci90_split_free(&halves);
    return st;
}

/* ---- tests ---- */

/* Room for the scores of everyone who votes in one of the choices. */
static uci90_scores scores_of_chosen(const uci90_set *set, const uci90_choice *choices, int columns)
{
    uci90_scores scores = {.of = {NULL}};
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        int votes = 0;
        for (int c = 0; c < columns; c++) {
            votes += choices[c].votes[k];
        }
        scores.of[k] = votes > 0 ? UCI90_ALLOC(set->n * set->classes, double) : NULL;
    }
    return scores;
}

/* accuracy[c] += that of choice c on the test rows. */
static far_status test_fold(uci90_lab *lab, const uci90_set *set, const uci90_split *fold,
                            const uci90_choice *choices, int columns, double *accuracy)
{
    uci90_scores scores = scores_of_chosen(set, choices, columns);
    double *mean = UCI90_ALLOC(set->n * set->classes, double);
    far_status st;
    TRY(score_split(lab, set, fold, &scores));
    for (int c = 0; c < columns; c++) {
        uci90_average(set, &fold->test, &scores, &choices[c], mean);
        accuracy[c] += uci90_accuracy(set, &fold->test, mean);
    }
done:
    free(mean);
    uci90_scores_free(&scores);
    return st;
}

far_status uci90_run(uci90_lab *lab, const uci90_set *set, bool nested, uci90_result *out)
{
    uci90_choice choices[UCI90_COLUMNS];
    double accuracy[UCI90_COLUMNS] = {0}, started = uci90_seconds();
    int columns = nested ? UCI90_COLUMNS : UCI90_NESTED;
    far_status st;
    TRY(choose_all(lab, set, choices));
    for (int f = 0; f < UCI90_FOLDS; f++) {
        if (nested) {
            TRY(choose_within(lab, set, &set->fold[f].train, &choices[UCI90_NESTED]));
        }
        TRY(test_fold(lab, set, &set->fold[f], choices, columns, accuracy));
    }
    *out = (uci90_result){.n = set->n, .d = set->d, .classes = set->classes, .done = true};
    memcpy(out->name, set->name, sizeof out->name);
    for (int c = 0; c < UCI90_COLUMNS; c++) {
        out->percent[c] = c < columns ? 100 * accuracy[c] / UCI90_FOLDS : NAN;
    }
    out->seconds = uci90_seconds() - started;
done:
    return st;
}
