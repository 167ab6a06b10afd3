/* One set, start to end: score on halves or parts, choose, fit again on each fold, test. */
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

uci90_scores uci90_scores_make(const uci90_set *set, int encodings)
{
    uci90_scores scores = {.of = {NULL}};
    for (int k = 0; k < uci90_candidate(encodings, 0, 0); k++) {
        if (uci90_encoding_applies(set, (uci90_encoding)(k / (UCI90_NETS * UCI90_RIDGES)))) {
            scores.of[k] = UCI90_ALLOC(set->n * set->classes, double);
        }
    }
    return scores;
}

static uci90_rows both_parts(const uci90_split *split)
{
    uci90_rows all = {.count = split->train.count + split->test.count};
    all.at = UCI90_ALLOC(all.count, int64_t);
    memcpy(all.at, split->train.at, (size_t)split->train.count * sizeof *all.at);
    memcpy(all.at + split->train.count, split->test.at, (size_t)split->test.count * sizeof *all.at);
    return all;
}

/* One network on features that suit all splits: one kernel for them, one factor a split and ridge.
 */
static far_status score_net(uci90_lab *lab, const uci90_set *set, const uci90_features *f, int net,
                            const uci90_split *splits, int count, double *const *scores)
{
    uci90_rows rows = both_parts(splits);
    uci90_gram gram = {.place = NULL};
    far_status st;
    TRY(uci90_gram_make(lab, f, lab->net[net], &rows, &gram));
    for (int s = 0; s < count; s++) {
        TRY(uci90_fit(lab, set, &gram, &splits[s], scores));
    }
done:
    uci90_gram_free(&gram);
    free(rows.at);
    return st;
}

/* The candidates of one encoding, those that scores has an array for. */
static far_status score_encoding(uci90_lab *lab, const uci90_set *set, int encoding,
                                 const uci90_split *splits, int count, const uci90_scores *scores)
{
    uci90_features f = {.z = NULL};
    far_status st;
    TRY(uci90_encode(lab, set, (uci90_encoding)encoding, &splits->train, &f));
    for (int net = 0; net < UCI90_NETS; net++) {
        double *const *of_net = scores->of + uci90_candidate(encoding, net, 0);
        if (any_of(of_net, UCI90_RIDGES)) {
            TRY(score_net(lab, set, &f, net, splits, count, of_net));
        }
    }
done:
    uci90_features_free(&f);
    return st;
}

far_status uci90_score(uci90_lab *lab, const uci90_set *set, const uci90_split *splits, int count,
                       const uci90_scores *scores)
{
    far_status st = FAR_OK;
    for (int e = 0; e < UCI90_ENCODINGS; e++) {
        bool apart = uci90_encoding_sees_labels((uci90_encoding)e);
        if (!any_of(scores->of + uci90_candidate(e, 0, 0), UCI90_NETS * UCI90_RIDGES)) {
            continue;
        }
        for (int s = 0; s < (apart ? count : 1); s++) { /* such features are those of one split */
            TRY(score_encoding(lab, set, e, splits + s, apart ? 1 : count, scores));
        }
    }
done:
    return st;
}

/* ---- choices ---- */

void uci90_judged_free(uci90_judged *j)
{
    free(j->held_out);
    free(j->rows.at);
    *j = (uci90_judged){.held_out = NULL};
}

static uci90_judged judge(const uci90_set *set, const uci90_rows *rows, const uci90_scores *scores,
                          uci90_choice choice)
{
    uci90_judged j = {.choice = choice, .held_out = UCI90_ALLOC(set->n * set->classes, double)};
    j.rows = (uci90_rows){.count = rows->count, .at = UCI90_ALLOC(rows->count, int64_t)};
    memcpy(j.rows.at, rows->at, (size_t)rows->count * sizeof *rows->at);
    uci90_average(set, rows, scores, &choice, j.held_out);
    return j;
}

static far_status choose_all(uci90_lab *lab, const uci90_set *set, uci90_judged *judged)
{
    const uci90_split *h = &set->halves;
    uci90_split ways[] = {*h, {.train = h->test, .test = h->train}};
    uci90_rows all = both_parts(h);
    uci90_scores scores = uci90_scores_make(set, UCI90_FIRST_ENCODINGS);
    far_status st;
    TRY(uci90_score(lab, set, ways, 2, &scores));
    judged[UCI90_SINGLE] = judge(set, &all, &scores, uci90_choose_accurate(set, &h->test, &scores));
    judged[UCI90_CLOSEST] = judge(set, &all, &scores, uci90_choose_close(set, &all, &scores));
    judged[UCI90_COMMITTEE] = judge(set, &all, &scores, uci90_choose_committee(set, &all, &scores));
done:
    uci90_scores_free(&scores);
    free(all.at);
    return st;
}

void uci90_part(const uci90_set *set, const uci90_rows *rows, uci90_split splits[UCI90_PARTS])
{
    int *next = UCI90_ALLOC(set->classes, int);
    for (int s = 0; s < UCI90_PARTS; s++) {
        splits[s] = uci90_split_make(rows->count, rows->count);
        splits[s].train.count = splits[s].test.count = 0;
    }
    for (int64_t c = 0; c < set->classes; c++) {
        next[c] = (int)(c % UCI90_PARTS); /* or all rare classes would be in the first part */
    }
    for (int64_t i = 0; i < rows->count; i++) {
        int *part = &next[set->label[rows->at[i]]];
        for (int s = 0; s < UCI90_PARTS; s++) {
            uci90_rows *to = s == *part ? &splits[s].test : &splits[s].train;
            to->at[to->count++] = rows->at[i];
        }
        *part = (*part + 1) % UCI90_PARTS;
    }
    free(next);
}

static uci90_rows tested_rows(const uci90_split *splits, int count)
{
    uci90_rows rows = {.at = UCI90_ALLOC(splits->train.count + splits->test.count, int64_t)};
    for (int s = 0; s < count; s++) {
        memcpy(rows.at + rows.count, splits[s].test.at,
               (size_t)splits[s].test.count * sizeof *rows.at);
        rows.count += splits[s].test.count;
    }
    return rows;
}

far_status uci90_choose_within(uci90_lab *lab, const uci90_set *set, const uci90_rows *train,
                               uci90_judged *out)
{
    uci90_split splits[UCI90_PARTS];
    uci90_scores scores = uci90_scores_make(set, UCI90_ENCODINGS);
    int judged = set->n > UCI90_LARGE ? UCI90_PARTS_OF_LARGE : UCI90_PARTS;
    far_status st;
    *out = (uci90_judged){.held_out = NULL};
    uci90_part(set, train, splits);
    uci90_rows rows = tested_rows(splits, judged);
    TRY(uci90_score(lab, set, splits, judged, &scores));
    *out = judge(set, &rows, &scores, uci90_choose_committee(set, &rows, &scores));
done:
    free(rows.at);
    uci90_scores_free(&scores);
    for (int s = 0; s < UCI90_PARTS; s++) {
        uci90_split_free(&splits[s]);
    }
    return st;
}

/* ---- tests ---- */

/* Room for the scores of everyone who votes in one of the choices. */
static uci90_scores scores_of_chosen(const uci90_set *set, const uci90_judged *judged, int columns)
{
    uci90_scores scores = {.of = {NULL}};
    for (int k = 0; k < UCI90_CANDIDATES; k++) {
        int votes = 0;
        for (int c = 0; c < columns; c++) {
            votes += judged[c].choice.votes[k];
        }
        scores.of[k] = votes > 0 ? UCI90_ALLOC(set->n * set->classes, double) : NULL;
    }
    return scores;
}

/* The rows of a that b has, too. */
static uci90_rows common_rows(const uci90_set *set, const uci90_rows *a, const uci90_rows *b)
{
    bool *in_b = UCI90_ALLOC(set->n, bool);
    uci90_rows common = {.at = UCI90_ALLOC(a->count, int64_t)};
    for (int64_t i = 0; i < b->count; i++) {
        in_b[b->at[i]] = true;
    }
    for (int64_t i = 0; i < a->count; i++) {
        if (in_b[a->at[i]]) {
            common.at[common.count++] = a->at[i];
        }
    }
    free(in_b);
    return common;
}

/* Taught by the held-out scores of the fold's training rows, and of no other row. */
static uci90_link teach_link(const uci90_set *set, const uci90_split *fold, const uci90_judged *j)
{
    uci90_rows rows = common_rows(set, &fold->train, &j->rows);
    uci90_link link = uci90_link_fit(set, &rows, j->held_out);
    free(rows.at);
    return link;
}

/* Adds accuracy and log loss of every column on the test rows. */
static far_status test_fold(uci90_lab *lab, const uci90_set *set, const uci90_split *fold,
                            const uci90_judged *judged, int columns, uci90_result *sum)
{
    uci90_scores scores = scores_of_chosen(set, judged, columns);
    double *mean = UCI90_ALLOC(set->n * set->classes, double), loss;
    far_status st;
    TRY(uci90_score(lab, set, fold, 1, &scores));
    for (int c = 0; c < columns; c++) {
        uci90_link link = teach_link(set, fold, &judged[c]);
        uci90_average(set, &fold->test, &scores, &judged[c].choice, mean);
        TRY(uci90_log_loss(lab, set, &fold->test, mean, &link, &loss));
        sum->percent[c] += 100 * uci90_accuracy(set, &fold->test, mean) / UCI90_FOLDS;
        sum->log_loss[c] += loss / UCI90_FOLDS;
    }
done:
    free(mean);
    uci90_scores_free(&scores);
    return st;
}

static void name_result(const uci90_set *set, int columns, uci90_result *r)
{
    *r = (uci90_result){.n = set->n, .d = set->d, .classes = set->classes};
    memcpy(r->name, set->name, sizeof r->name);
    for (int c = columns; c < UCI90_COLUMNS; c++) {
        r->percent[c] = r->log_loss[c] = NAN;
    }
}

far_status uci90_run(uci90_lab *lab, const uci90_set *set, bool nested, uci90_result *out)
{
    uci90_judged judged[UCI90_COLUMNS] = {{.held_out = NULL}};
    double started = uci90_seconds();
    int columns = nested ? UCI90_COLUMNS : UCI90_NESTED;
    far_status st;
    name_result(set, columns, out);
    TRY(choose_all(lab, set, judged));
    for (int f = 0; f < UCI90_FOLDS; f++) {
        if (nested) {
            uci90_judged_free(&judged[UCI90_NESTED]);
            TRY(uci90_choose_within(lab, set, &set->fold[f].train, &judged[UCI90_NESTED]));
        }
        TRY(test_fold(lab, set, &set->fold[f], judged, columns, out));
    }
    out->seconds = uci90_seconds() - started;
    out->done = true;
done:
    for (int c = 0; c < UCI90_COLUMNS; c++) {
        uci90_judged_free(&judged[c]);
    }
    return st;
}
