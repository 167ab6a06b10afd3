/* What a manifest's writer (manifest.c) and reader (manifest_read.c) must agree on. */
#ifndef FAR_MANIFEST_H
#define FAR_MANIFEST_H

#include "model_file.h"

#define FORMAT "farfield model"
/* Goes up when older readers would misread; new keys alone do not need it. From version 2 on the
 * file carries a checksum; version 3 has a metric, and is written where there is one. */
#define VERSION 5       /* has ranks in steps, and is written where there are some */
#define WITHOUT_STEPS 4 /* the same of ranks */
#define WITHOUT_RANKS 3
#define WITHOUT_METRIC 2
#define FIRST_SEALED 2
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The first version whose readers understand all of m, or WITHOUT_METRIC. */
int far_manifest_version(const far_model *m);

/* ---- choices by name: the index is the value of the enum ---- */

static const far_choices params = {{"ntk", "standard"}, 2};
static const far_choices kernels = {{"ntk", "nngp"}, 2};
static const far_choices metrics = {{"none", "diagonal", "full"}, 3};
static const far_choices methods = {{"auto", "exact", "cg", "nystrom"}, 4};
static const far_choices storages = {{"auto", "full", "packed"}, 3};

/* ---- fields of far_model_info that are plain numbers ---- */

typedef struct field {
    const char *key;
    size_t offset;
} field;

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(far_model_info, name)                                                      \
    }
#define SECONDS(name)                                                                              \
    {                                                                                              \
#name, offsetof(far_model_info, seconds_##name)                                            \
    }

static const field counts[] = {FIELD(rows), FIELD(inputs), FIELD(outputs), FIELD(duplicates),
                               FIELD(conflicts)};
static const field numbers[] = {FIELD(mean_diagonal), FIELD(lambda_min), FIELD(lambda_max),
                                FIELD(condition),     FIELD(log_det),    FIELD(residual),
                                FIELD(r2_train),      FIELD(bytes)};
/* Behind "loo_rows", all together or, in older files, not at all. */
static const field scores[] = {FIELD(loo_r2),       FIELD(loo_rmse),       FIELD(loo_accuracy),
                               FIELD(loo_log_loss), FIELD(loo_brier),      FIELD(loo_ece),
                               FIELD(rmse_train),   FIELD(accuracy_train), FIELD(log_loss_train)};
static const field seconds[] = {SECONDS(choose), SECONDS(fill), SECONDS(factor), SECONDS(solve),
                                SECONDS(total)};

static inline void *field_of(const far_model_info *info, const field *f)
{
    return (char *)info + f->offset;
}

#endif
