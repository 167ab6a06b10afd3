/* What a manifest's writer (manifest.c) and reader (manifest_read.c) must agree on. */
#ifndef FAR_MANIFEST_H
#define FAR_MANIFEST_H

#include "model_file.h"

#define FORMAT "farfield model"
/* Goes up when older readers would misread; new keys alone do not need it. From version 2 on the
 * file carries a checksum. */
#define VERSION 2
#define FIRST_SEALED 2
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- choices by name: the index is the value of the enum ---- */

static const far_choices params = {{"ntk", "standard"}, 2};
static const far_choices kernels = {{"ntk", "nngp"}, 2};
static const far_choices storages = {{"auto", "full", "packed"}, 3};

/* ---- fields of far_model_info that are plain numbers ---- */

typedef struct field {
    const char *key;
    size_t offset;
} field;

#define INFO(name) offsetof(far_model_info, name)

static const field counts[] = {{"rows", INFO(rows)},
                               {"inputs", INFO(inputs)},
                               {"outputs", INFO(outputs)},
                               {"duplicates", INFO(duplicates)},
                               {"conflicts", INFO(conflicts)}};
static const field numbers[] = {{"mean_diagonal", INFO(mean_diagonal)},
                                {"lambda_min", INFO(lambda_min)},
                                {"lambda_max", INFO(lambda_max)},
                                {"condition", INFO(condition)},
                                {"log_det", INFO(log_det)},
                                {"residual", INFO(residual)},
                                {"r2_train", INFO(r2_train)},
                                {"bytes", INFO(bytes)}};
/* Behind "loo_rows", all together or, in older files, not at all. */
static const field scores[] = {{"loo_r2", INFO(loo_r2)},
                               {"loo_rmse", INFO(loo_rmse)},
                               {"loo_accuracy", INFO(loo_accuracy)},
                               {"loo_log_loss", INFO(loo_log_loss)},
                               {"loo_brier", INFO(loo_brier)},
                               {"loo_ece", INFO(loo_ece)},
                               {"rmse_train", INFO(rmse_train)},
                               {"accuracy_train", INFO(accuracy_train)},
                               {"log_loss_train", INFO(log_loss_train)}};
static const field seconds[] = {{"choose", INFO(seconds_choose)},
                                {"fill", INFO(seconds_fill)},
                                {"factor", INFO(seconds_factor)},
                                {"solve", INFO(seconds_solve)},
                                {"total", INFO(seconds_total)}};

static inline void *field_of(const far_model_info *info, const field *f)
{
    return (char *)info + f->offset;
}

#endif
