/* Shared by what learns features and what learns targets. */
#ifndef FAR_COLUMNS_LEARN_H
#define FAR_COLUMNS_LEARN_H

#include "columns_internal.h"

/* Which columns and rows of a frame are learnt from. */
typedef struct far_lesson {
    far_ctx *ctx;
    const far_frame *frame;
    int64_t *targets, target_count;
    int64_t *features, feature_count;
    int64_t *index, count; /* rows */
    far_together together;
    bool ranks;
    bool steps; /* of the ranks */
} far_lesson;

/* Which of the features are learnt from, with notes in c of them and of the targets. */
far_status far_features_choose(const far_columns_opts *o, far_lesson *l, far_columns *c);
bool far_contains(const int64_t *list, int64_t count, int64_t value);
/* The features of c, which has impute, and the names of the inputs they become. */
far_status far_features_learn(const far_lesson *l, far_columns *c);
/* Their centre and scale. */
far_status far_features_scale(const far_lesson *l, far_columns *c);
/* 1 for a column whose spread is rounding: it is constant. */
double far_standard_scale(long double variance, double mean);

#endif
