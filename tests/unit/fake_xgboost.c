/* A library with the functions of XGBoost, one of which fails: that whose name is in the
 * environment variable FAKE_XGBOOST. "Short" gives one prediction too few. What it predicts is 7.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static char thing;
static int live; /* handles that were made and not freed */

static int answers(const char *name)
{
    const char *broken = getenv("FAKE_XGBOOST");
    return broken && strcmp(broken, name) == 0 ? -1 : 0;
}

static int make(const char *name, void **out)
{
    int answer = answers(name);
    if (answer == 0) {
        *out = &thing;
        live++;
    }
    return answer;
}

API int fake_live(void);
int fake_live(void)
{
    return live;
}

API void XGBoostVersion(int *major, int *minor, int *patch);
void XGBoostVersion(int *major, int *minor, int *patch)
{
    *major = 1;
    *minor = 7;
    *patch = 4;
}

API const char *XGBGetLastError(void);
const char *XGBGetLastError(void)
{
    return getenv("FAKE_PLAIN") ? "plain words" : "[12:00:00] it broke\nStack trace: ...";
}

API int XGDMatrixCreateFromDense(const char *array, const char *config, void **out);
int XGDMatrixCreateFromDense(const char *array, const char *config, void **out)
{
    (void)config;
    return make(strstr(array, "[2, ") ? "test" : "train", out); /* the test set has two rows */
}

API int XGDMatrixSetInfoFromInterface(void *matrix, const char *field, const char *array);
int XGDMatrixSetInfoFromInterface(void *matrix, const char *field, const char *array)
{
    (void)matrix;
    (void)array;
    return answers(field);
}

API int XGDMatrixFree(void *matrix);
int XGDMatrixFree(void *matrix)
{
    (void)matrix;
    live--;
    return 0;
}

API int XGBoosterCreate(void *const *matrices, uint64_t count, void **out);
int XGBoosterCreate(void *const *matrices, uint64_t count, void **out)
{
    (void)matrices;
    (void)count;
    return make("booster", out);
}

API int XGBoosterSetParam(void *booster, const char *name, const char *value);
int XGBoosterSetParam(void *booster, const char *name, const char *value)
{
    (void)booster;
    (void)value;
    return answers(name);
}

API int XGBoosterUpdateOneIter(void *booster, int round, void *matrix);
int XGBoosterUpdateOneIter(void *booster, int round, void *matrix)
{
    (void)booster;
    (void)matrix;
    return round == 2 ? answers("update") : 0;
}

API int XGBoosterPredictFromDMatrix(void *booster, void *matrix, const char *config,
                                    const uint64_t **shape, uint64_t *dimensions,
                                    const float **values);
int XGBoosterPredictFromDMatrix(void *booster, void *matrix, const char *config,
                                const uint64_t **shape, uint64_t *dimensions, const float **values)
{
    static uint64_t rows;
    static const float sevens[2] = {7, 7};
    (void)booster;
    (void)matrix;
    (void)config;
    rows = answers("short") == 0 ? 2 : 1;
    *shape = &rows;
    *dimensions = 1;
    *values = sevens;
    return answers("predict");
}

API int XGBoosterSaveModelToBuffer(void *booster, const char *config, uint64_t *size,
                                   const char **bytes);
int XGBoosterSaveModelToBuffer(void *booster, const char *config, uint64_t *size,
                               const char **bytes)
{
    static const char text[] = "{}"; /* not what it writes */
    (void)booster;
    (void)config;
    *size = sizeof text - 1;
    *bytes = text;
    return answers("save");
}

API int XGBoosterLoadModelFromBuffer(void *booster, const void *bytes, uint64_t size);
int XGBoosterLoadModelFromBuffer(void *booster, const void *bytes, uint64_t size)
{
    (void)booster;
    (void)bytes;
    (void)size;
    return answers("load");
}

API int XGBoosterFree(void *booster);
int XGBoosterFree(void *booster)
{
    (void)booster;
    live--;
    return 0;
}
