/*
 * Nine regression sets with the splits of Hernandez-Lobato and Adams (2015), which most papers on
 * uncertainty use: what `fit` does without being told anything, beside boosted trees and published
 * numbers. See docs/reproductions/uci-regression.md.
 *
 * Every result is a line of a csv file as soon as it is there; what the file has is not computed
 * again, and lines of other programs (bench/peers/uci_regression.py) are shown with ours.
 */
#define _GNU_SOURCE
#include <farfield/predictor.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, TREE_ROUNDS = 100, NAME_BYTES = 32, MOST_MODELS = 8 };
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const char USAGE[] =
    "Usage: uci_regression [options] DIR\n\n"
    "Test error of `fit` on nine regression sets, all of their published splits. DIR holds a "
    "folder\n"
    "a set, with data/data.txt and data/index_*.txt.\n\n"
    "  --csv FILE       results, added to as they come; what it has is not run again\n"
    "                   [uci_regression.csv]\n"
    "  --only NAME      only this set\n"
    "  --splits N       only so many splits of each\n"
    "  --from K         only splits K and later [0]\n"
    "  --metric KIND    none, diagonal, full or auto [auto]\n"
    "  --committee N    of fit: a number, or auto [auto]\n"
    "  --ranks KIND     of fit: none, all, steps or auto [auto]\n"
    "  --jobs N         so many splits side by side, one thread each [1: one, on all cores]\n"
    "  --no-trees       without XGBoost\n"
    "  --show           only print the table\n"
    "  --help           this\n";

typedef struct set {
    const char *folder, *name;
    double rmse, nll; /* deep ensembles, Lakshminarayanan et al. (2017), table 1 */
    double goal;      /* of the mean test error */
} set;

static const set SETS[] = {
    {"bostonHousing", "boston", 3.28, 2.41, 2.70},
    {"concrete", "concrete", 6.03, 3.06, 4.40},
    {"energy", "energy", 2.09, 1.38, 0.45},
    {"kin8nm", "kin8nm", 0.09, -1.20, 0.068},
    {"naval-propulsion-plant", "naval", 0.00, -5.63, 4e-5},
    {"power-plant", "power", 4.11, 2.79, 3.30},
    {"protein-tertiary-structure", "protein", 4.71, 2.83, 3.25},
    {"wine-quality-red", "wine", 0.64, 0.94, 0.565},
    {"yacht", "yacht", 1.58, 1.18, 0.62},
};

typedef struct options {
    const char *dir, *csv, *only;
    long splits, from, jobs, committee;
    far_metric_kind metric;
    far_ranks ranks;
    bool trees, show;
    char model[NAME_BYTES]; /* what results are called */
} options;

/* A line of the csv file. */
typedef struct result {
    char set[NAME_BYTES], model[NAME_BYTES];
    int split;
    double rmse, nll, seconds; /* nll NAN: the model tells no spread */
} result;

typedef struct results {
    result *items;
    int64_t count;
} results;

/* Numbers of a text file, and how many stand in a line. */
typedef struct numbers {
    double *values;
    int64_t count, across;
} numbers;

static void out_of_memory(void)
{
    fputs("uci_regression: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- files --------------------------------------------------------------------------------- */

static bool read_numbers(const char *dir, const char *folder, const char *file, numbers *out)
{
    char path[4096], *line = NULL;
    size_t room = 0;
    int64_t space = 0;
    snprintf(path, sizeof path, "%s/%s/data/%s", dir, folder, file);
    FILE *f = fopen(path, "r");
    *out = (numbers){0};
    if (!f) {
        fprintf(stderr, "uci_regression: %s: %s\n", path, strerror(errno));
        return false;
    }
    while (getline(&line, &room, f) >= 0) {
        int64_t before = out->count;
        char *at = line, *end;
        for (double v = strtod(at, &end); end != at; at = end, v = strtod(at, &end)) {
            if (out->count == space) {
                space = 2 * space + 64;
                out->values = realloc(out->values, (size_t)space * sizeof *out->values);
                if (!out->values) {
                    out_of_memory();
                }
            }
            out->values[out->count++] = v;
        }
        out->across = out->count > before ? out->count - before : out->across;
    }
    free(line);
    fclose(f);
    if (out->count == 0 || out->count % out->across != 0) {
        fprintf(stderr, "uci_regression: %s: not a table of numbers\n", path);
        return false;
    }
    return true;
}

static void keep(results *r, result one)
{
    r->items = realloc(r->items, (size_t)(r->count + 1) * sizeof *r->items);
    if (!r->items) {
        out_of_memory();
    }
    r->items[r->count++] = one;
}

static const char HEADER[] = "set,split,model,rmse,nll,seconds\n";

static bool read_results(const char *path, results *out)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool fine = true;
    if (!f) {
        return errno == ENOENT;
    }
    for (int64_t i = 0; fine && getline(&line, &room, f) >= 0; i++) {
        result one = {.nll = NAN};
        fine = i == 0 ? strcmp(line, HEADER) == 0
                      : sscanf(line, "%31[^,],%d,%31[^,],%lf,%lf,%lf", one.set, &one.split,
                               one.model, &one.rmse, &one.nll, &one.seconds) == 6;
        if (i > 0 && fine) {
            keep(out, one);
        } else if (!fine) {
            fprintf(stderr, "uci_regression: %s:%lld: not a line of results\n", path,
                    (long long)i + 1);
        }
    }
    free(line);
    fclose(f);
    return fine;
}

static FILE *open_results(const char *path)
{
    FILE *f = fopen(path, "a");
    if (!f) {
        fprintf(stderr, "uci_regression: %s: %s\n", path, strerror(errno));
    }
    return f;
}

static bool start_file(const char *path)
{
    FILE *f = open_results(path);
    if (!f) {
        return false;
    }
    bool alone = flock(fileno(f), LOCK_EX) == 0; /* two that start at once: one header */
    if (alone && fseek(f, 0, SEEK_END) == 0 && ftell(f) == 0) {
        fputs(HEADER, f);
    }
    return fclose(f) == 0 && alone;
}

/* A line is written at once, also by several processes. */
static bool add_result(const char *path, const result *one)
{
    FILE *f = open_results(path);
    if (!f) {
        return false;
    }
    fprintf(f, "%s,%d,%s,%.9g,%.9g,%.3f\n", one->set, one->split, one->model, one->rmse, one->nll,
            one->seconds);
    return fclose(f) == 0;
}

static bool has(const results *r, const char *name, int split, const char *model)
{
    for (int64_t i = 0; i < r->count; i++) {
        const result *x = &r->items[i];
        if (strcmp(x->set, name) == 0 && x->split == split && strcmp(x->model, model) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- one split ----------------------------------------------------------------------------- */

/* Chosen rows, features first and the target behind them. */
static far_status take_rows(far_ctx *ctx, const numbers *data, const numbers *features,
                            const numbers *target, const numbers *rows, far_frame **out)
{
    int64_t d = features->count;
    double *x = malloc((size_t)(rows->count * (d + 1)) * sizeof *x);
    char(*names)[NAME_BYTES] = malloc((size_t)(d + 1) * sizeof *names);
    const char **list = malloc((size_t)(d + 1) * sizeof *list);
    if (!x || !names || !list) {
        out_of_memory();
    }
    for (int64_t i = 0; i < rows->count; i++) {
        const double *from = data->values + (int64_t)rows->values[i] * data->across;
        for (int64_t j = 0; j < d; j++) {
            x[i * (d + 1) + j] = from[(int64_t)features->values[j]];
        }
        x[i * (d + 1) + d] = from[(int64_t)target->values[0]];
    }
    for (int64_t j = 0; j <= d; j++) {
        snprintf(names[j], NAME_BYTES, j < d ? "x%lld" : "y", (long long)j);
        list[j] = names[j];
    }
    far_mat m = far_mat_view(x, rows->count, d + 1, FAR_F64);
    far_status st = far_frame_from_mat(ctx, &m, list, out);
    free(x);
    free(names);
    free(list);
    return st;
}

/* Of the test rows, by a Gaussian with that mean and standard deviation. */
static void score(const far_prediction *p, const far_frame *test, result *out)
{
    int64_t n = p->mean.rows;
    const double *y = far_frame_column(test, far_frame_cols(test) - 1).numbers;
    const double *mean = p->mean.data, *std = p->std.rows > 0 ? p->std.data : NULL;
    long double square = 0, loss = 0;
    for (int64_t i = 0; i < n; i++) {
        double miss = y[i] - mean[i * p->mean.ld];
        square += (long double)miss * miss;
        if (std) {
            double s = std[i * p->std.ld];
            loss += 0.5 * log(2 * M_PI * s * s) + 0.5 * miss * miss / (s * s);
        }
    }
    out->rmse = sqrt((double)(square / (long double)n));
    out->nll = std ? (double)(loss / (long double)n) : NAN;
}

static far_status fit_network(far_ctx *ctx, const options *o, const far_frame *train,
                              far_predictor **out)
{
    far_fit_opts f;
    far_fit_opts_init(&f);
    f.target = "y";
    f.task = FAR_TASK_REGRESS;
    f.metric = o->metric;
    f.committee = o->committee;
    f.ranks = o->ranks;
    return far_predictor_fit(ctx, train, &f, out);
}

static far_status fit_trees(far_ctx *ctx, const far_frame *train, far_predictor **out)
{
    far_columns_opts c;
    far_columns_opts_init(&c);
    c.target = "y";
    c.task = FAR_TASK_REGRESS;
    return far_predictor_fit_trees(ctx, train, &c, TREE_ROUNDS, 0, out);
}

static far_status run_model(far_ctx *ctx, const options *o, const far_frame *train,
                            const far_frame *test, bool trees, result *out)
{
    far_predictor *p = NULL;
    far_prediction *told = NULL;
    far_predict_opts how;
    double start = seconds_now();
    far_predict_opts_init(&how);
    how.spread = trees ? FAR_SPREAD_NONE : FAR_SPREAD_CALIBRATED;
    far_status st = trees ? fit_trees(ctx, train, &p) : fit_network(ctx, o, train, &p);
    if (st == FAR_OK) {
        st = far_predictor_predict(ctx, p, test, &how, &told);
    }
    if (st == FAR_OK) {
        score(told, test, out);
    }
    out->seconds = seconds_now() - start;
    far_prediction_destroy(told);
    far_predictor_destroy(p);
    return st;
}

typedef struct table {
    numbers data, features, target;
} table;

static bool run_split(far_ctx *ctx, const options *o, const set *s, const table *t, int split,
                      results *all)
{
    const char *models[2] = {o->model, "xgboost"};
    numbers train_rows, test_rows;
    far_frame *train = NULL, *test = NULL;
    char file[64];
    snprintf(file, sizeof file, "index_train_%d.txt", split);
    bool fine = read_numbers(o->dir, s->folder, file, &train_rows);
    snprintf(file, sizeof file, "index_test_%d.txt", split);
    fine = fine && read_numbers(o->dir, s->folder, file, &test_rows);
    far_status st =
        !fine ? FAR_OK : take_rows(ctx, &t->data, &t->features, &t->target, &train_rows, &train);
    st = !fine || st != FAR_OK
             ? st
             : take_rows(ctx, &t->data, &t->features, &t->target, &test_rows, &test);
    for (int m = 0; fine && st == FAR_OK && m < (o->trees ? 2 : 1); m++) {
        result one = {.split = split};
        snprintf(one.set, NAME_BYTES, "%s", s->name);
        snprintf(one.model, NAME_BYTES, "%s", models[m]);
        if (!has(all, s->name, split, models[m])) {
            st = run_model(ctx, o, train, test, m == 1, &one);
            fine = st == FAR_OK && add_result(o->csv, &one);
            keep(all, one);
            fprintf(stderr, "%-9s %2d %-9s rmse %-10.4g nll %-8.3g %6.1f s\n", s->name, split,
                    models[m], one.rmse, one.nll, one.seconds);
        }
    }
    if (st != FAR_OK) {
        fprintf(stderr, "uci_regression: %s, split %d: %s\n", s->name, split, far_ctx_message(ctx));
    }
    far_frame_destroy(train);
    far_frame_destroy(test);
    free(train_rows.values);
    free(test_rows.values);
    return fine && st == FAR_OK;
}

static int count_splits(const options *o, const set *s)
{
    numbers splits = {0};
    int count =
        read_numbers(o->dir, s->folder, "n_splits.txt", &splits) ? (int)splits.values[0] : -1;
    free(splits.values);
    return o->splits > 0 && count > o->splits ? (int)o->splits : count;
}

static bool run_one(far_ctx *ctx, const options *o, const set *s, int split, results *all)
{
    table t = {0};
    bool fine = read_numbers(o->dir, s->folder, "data.txt", &t.data) &&
                read_numbers(o->dir, s->folder, "index_features.txt", &t.features) &&
                read_numbers(o->dir, s->folder, "index_target.txt", &t.target) &&
                run_split(ctx, o, s, &t, split, all);
    free(t.data.values);
    free(t.features.values);
    free(t.target.values);
    return fine;
}

/* ---- splits side by side ------------------------------------------------------------------- */

/* In a process of its own, which adds to the file what it has found. */
static bool start_job(const options *o, const set *s, int split, const results *all)
{
    pid_t pid = fork();
    if (pid != 0) {
        return pid > 0;
    }
    far_ctx *ctx;
    far_ctx_opts one = {.size = sizeof one, .threads = 1};
    results own = {0};
    for (int64_t i = 0; i < all->count; i++) {
        keep(&own, all->items[i]);
    }
    bool fine = far_ctx_create(&one, &ctx) == FAR_OK && run_one(ctx, o, s, split, &own);
    _exit(fine ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool await_job(void)
{
    int status;
    pid_t pid = wait(&status);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

static bool run_jobs(const options *o, const set *s, int splits, const results *all, long *running)
{
    bool fine = true;
    for (int k = (int)o->from; fine && k < splits; k++) {
        if (*running == o->jobs) {
            fine = await_job();
            --*running;
        }
        fine = fine && start_job(o, s, k, all);
        *running += fine;
    }
    return fine;
}

static bool run_set(far_ctx *ctx, const options *o, const set *s, results *all, long *running)
{
    int splits = count_splits(o, s);
    bool fine = splits >= 0;
    if (o->jobs > 1) {
        return fine && run_jobs(o, s, splits, all, running);
    }
    for (int k = (int)o->from; fine && k < splits; k++) {
        fine = run_one(ctx, o, s, k, all);
    }
    return fine;
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct cell {
    double mean, error; /* its standard error over splits */
    double nll;
    int64_t count;
} cell;

static cell summarise(const results *r, const char *name, const char *model)
{
    double sum = 0, square = 0, nll = 0;
    cell c = {0};
    for (int64_t i = 0; i < r->count; i++) {
        const result *x = &r->items[i];
        if (strcmp(x->set, name) == 0 && strcmp(x->model, model) == 0) {
            sum += x->rmse;
            square += x->rmse * x->rmse;
            nll += x->nll;
            c.count++;
        }
    }
    double n = (double)c.count;
    c.mean = sum / n;
    c.nll = nll / n;
    c.error = c.count > 1 ? sqrt(fmax(0, square - n * c.mean * c.mean) / (n - 1) / n) : NAN;
    return c;
}

static int list_models(const results *r, const char *models[MOST_MODELS])
{
    int count = 0;
    for (int64_t i = 0; i < r->count; i++) {
        bool known = false;
        for (int k = 0; k < count; k++) {
            known = known || strcmp(models[k], r->items[i].model) == 0;
        }
        if (!known && count < MOST_MODELS) {
            models[count++] = r->items[i].model;
        }
    }
    return count;
}

static void print_table(const results *r)
{
    const char *models[MOST_MODELS];
    int count = list_models(r, models);
    puts("Mean test RMSE over splits, its standard error, and the mean negative log likelihood;\n"
         "published: deep ensembles, Lakshminarayanan et al. (2017), table 1. goal: ours, of the "
         "RMSE.\n");
    printf("%-9s %-18s %6s %22s %8s\n", "set", "model", "splits", "rmse", "nll");
    for (int k = 0; k < COUNT(SETS); k++) {
        for (int m = 0; m < count; m++) {
            cell c = summarise(r, SETS[k].name, models[m]);
            if (c.count > 0) {
                printf("%-9s %-18s %6lld %10.4g +- %-8.2g %8.3g\n", SETS[k].name, models[m],
                       (long long)c.count, c.mean, c.error, c.nll);
            }
        }
        printf("%-9s %-18s %6s %10.4g    %-8s %8.3g\n%-9s %-18s %6s %10.4g\n", SETS[k].name,
               "published", "", SETS[k].rmse, "", SETS[k].nll, SETS[k].name, "goal", "",
               SETS[k].goal);
    }
}

/* ---- the program --------------------------------------------------------------------------- */

static bool take_metric(const char *text, far_metric_kind *out)
{
    static const char *const NAMES[] = {"none", "diagonal", "full", "auto"};
    for (int k = 0; k < COUNT(NAMES); k++) {
        if (strcmp(text, NAMES[k]) == 0) {
            *out = (far_metric_kind)k;
            return true;
        }
    }
    fprintf(stderr, "uci_regression: --metric is none, diagonal, full or auto, not '%s'\n", text);
    return false;
}

static bool take_ranks(const char *text, far_ranks *out)
{
    static const char *const NAMES[] = {"none", "all", "auto", "steps"};
    for (int k = 0; k < COUNT(NAMES); k++) {
        if (strcmp(text, NAMES[k]) == 0) {
            *out = (far_ranks)k;
            return true;
        }
    }
    fprintf(stderr, "uci_regression: --ranks is none, all, steps or auto, not '%s'\n", text);
    return false;
}

/* farfield, or farfield-diagonal, farfield-c1, farfield-noranks and so on. */
static void name_model(options *o)
{
    static const char *const METRICS[] = {"-none", "-diagonal", "-full", ""};
    static const char *const RANKS[] = {"-noranks", "-ranks", "", "-steps"};
    char committee[24] = "";
    if (o->committee > 0) {
        snprintf(committee, sizeof committee, "-c%ld", o->committee);
    }
    snprintf(o->model, sizeof o->model, "farfield%s%s%s", METRICS[o->metric], committee,
             RANKS[o->ranks]);
}

static bool take_option(int option, options *o)
{
    char *end;
    switch (option) {
    case 'k':
        return take_ranks(optarg, &o->ranks);
    case 'n':
        o->committee = strcmp(optarg, "auto") == 0 ? 0 : strtol(optarg, &end, 10);
        return o->committee == 0 || (*end == '\0' && o->committee > 0 && o->committee <= 16);
    case 'j':
        o->jobs = strtol(optarg, &end, 10);
        return *end == '\0' && o->jobs > 0 && o->jobs <= 1024;
    case 'c':
        o->csv = optarg;
        return true;
    case 'o':
        o->only = optarg;
        return true;
    case 's':
        o->splits = strtol(optarg, &end, 10);
        return *end == '\0' && o->splits > 0;
    case 'f':
        o->from = strtol(optarg, &end, 10);
        return *end == '\0' && o->from >= 0 && o->from <= 1024;
    case 'm':
        return take_metric(optarg, &o->metric);
    case 't':
        o->trees = false;
        return true;
    case 'w':
        o->show = true;
        return true;
    default:
        return false;
    }
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option LONG[] = {
        {"csv", required_argument, NULL, 'c'},
        {"only", required_argument, NULL, 'o'},
        {"splits", required_argument, NULL, 's'},
        {"from", required_argument, NULL, 'f'},
        {"metric", required_argument, NULL, 'm'},
        {"committee", required_argument, NULL, 'n'},
        {"ranks", required_argument, NULL, 'k'},
        {"jobs", required_argument, NULL, 'j'},
        {"no-trees", no_argument, NULL, 't'},
        {"show", no_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *o = (options){.csv = "uci_regression.csv",
                   .metric = FAR_METRIC_AUTO,
                   .trees = true,
                   .jobs = 1,
                   .ranks = FAR_RANKS_AUTO};
    for (int option; (option = getopt_long(argc, argv, "", LONG, NULL)) >= 0;) {
        if (option == 'h') {
            fputs(USAGE, stdout);
            exit(EXIT_SUCCESS);
        }
        if (!take_option(option, o)) {
            return false;
        }
    }
    o->dir = optind + 1 == argc ? argv[optind] : NULL;
    name_model(o);
    return o->dir || (o->show && optind == argc);
}

static bool wanted(const options *o, const set *s)
{
    return !o->only || strcmp(o->only, s->name) == 0 || strcmp(o->only, s->folder) == 0;
}

int main(int argc, char **argv)
{
    options o;
    results all = {0};
    far_ctx *ctx;
    if (!read_options(argc, argv, &o)) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    if (far_ctx_create(NULL, &ctx) != FAR_OK) {
        out_of_memory();
    }
    bool fine = read_results(o.csv, &all) && (o.show || start_file(o.csv));
    int found = 0;
    long running = 0;
    for (int k = 0; fine && !o.show && k < COUNT(SETS); k++) {
        if (wanted(&o, &SETS[k])) {
            found++;
            fine = run_set(ctx, &o, &SETS[k], &all, &running);
        }
    }
    for (; running > 0; running--) {
        fine = await_job() && fine;
    }
    if (fine && o.jobs > 1) { /* what the jobs have added */
        all.count = 0;
        fine = read_results(o.csv, &all);
    }
    if (fine && !o.show && found == 0) {
        fprintf(stderr, "uci_regression: there is no set %s\n", o.only);
        fine = false;
    }
    if (fine) {
        print_table(&all);
    }
    free(all.items);
    far_ctx_destroy(ctx);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
