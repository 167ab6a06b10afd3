/* The program: reads the index, runs the sets, prints the table (docs/reproductions/uci-90.md). */
#define _GNU_SOURCE
#include "uci90.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, MOST_JOBS = 8 };

typedef struct options {
    const char *dir, *csv, *only;
    long rows, jobs;
    double least;
    bool nested, quiet;
} options;

static const char USAGE[] =
    "Usage: uci90 [options] DIR\n\n"
    "Kernels of infinitely wide networks on the 90 classification sets of Arora et al. (2020).\n"
    "DIR holds INDEX90.tsv and data/NAME/.\n\n"
    "  --csv FILE    write the table there, too\n"
    "  --nested      also choose inside each fold's training rows (four to six times the work)\n"
    "  --rows N      only sets of at most N rows\n"
    "  --only NAME   only this set\n"
    "  --jobs N      sets at a time (default: one a core, at most 8)\n"
    "  --least P     exit with 1 if the committee's mean is below P percent\n"
    "  --quiet       no progress\n"
    "  --help        this\n";

/* ---- the command line ---- */

static bool read_number(const char *text, double least, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= least;
}

static bool take_option(int option, options *o)
{
    double number = 0;
    bool fine = true;
    switch (option) {
    case 'c':
        o->csv = optarg;
        break;
    case 'o':
        o->only = optarg;
        break;
    case 'n':
        o->nested = true;
        break;
    case 'q':
        o->quiet = true;
        break;
    case 'l':
        fine = read_number(optarg, 0, &o->least);
        break;
    case 'r':
        fine = read_number(optarg, 1, &number);
        o->rows = (long)number;
        break;
    case 'j':
        fine = read_number(optarg, 1, &number) && number <= 1024;
        o->jobs = (long)number;
        break;
    default:
        return false;
    }
    if (!fine) {
        fprintf(stderr, "uci90: '%s' is not a number that will do\n", optarg);
    }
    return fine;
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option LONG[] = {
        {"csv", required_argument, NULL, 'c'},
        {"nested", no_argument, NULL, 'n'},
        {"rows", required_argument, NULL, 'r'},
        {"only", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"least", required_argument, NULL, 'l'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){.jobs = cores < MOST_JOBS ? cores : MOST_JOBS};
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
    return o->dir != NULL;
}

/* ---- the sets ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const uci90_result *)a)->name, ((const uci90_result *)b)->name);
}

/* The largest first, so that none is left alone at the end. */
static int compare_rows(const void *a, const void *b)
{
    int64_t x = ((const uci90_entry *)a)->rows, y = ((const uci90_entry *)b)->rows;
    return (x < y) - (x > y);
}

static int64_t keep_wanted(const options *o, uci90_entry *entry, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if ((o->rows == 0 || entry[i].rows <= o->rows) &&
            (!o->only || strcmp(o->only, entry[i].name) == 0)) {
            entry[kept++] = entry[i];
        }
    }
    return kept;
}

static bool all_done(const uci90_result *results, int64_t count)
{
    bool all = true;
    for (int64_t i = 0; i < count; i++) {
        if (!results[i].done) {
            fprintf(stderr, "uci90: %s: %s\n", results[i].name,
                    results[i].message[0] ? results[i].message : "not finished");
            all = false;
        }
    }
    return all;
}

static bool report(const options *o, const uci90_result *results, int64_t count)
{
    double mean = uci90_mean(results, count, UCI90_COMMITTEE);
    uci90_print_table(stdout, results, count);
    uci90_print_explanation(stdout, o->nested);
    if (o->csv && !uci90_write_csv(o->csv, results, count)) {
        fprintf(stderr, "uci90: %s: %s\n", o->csv, strerror(errno));
        return false;
    }
    if (mean < o->least) {
        fprintf(stderr, "uci90: the committee's mean is %.2f, below %.2f\n", mean, o->least);
        return false;
    }
    return true;
}

static bool run_entries(const options *o, uci90_entry *entry, int64_t count)
{
    uci90_task task = {.dir = o->dir,
                       .entry = entry,
                       .count = count,
                       .nested = o->nested,
                       .quiet = o->quiet,
                       .jobs = (int)(o->jobs < count ? o->jobs : count)};
    double started = uci90_seconds();
    qsort(entry, (size_t)count, sizeof *entry, compare_rows);
    uci90_result *results = uci90_work(&task);
    if (!results) {
        fprintf(stderr, "uci90: cannot start a process: %s\n", strerror(errno));
        return false;
    }
    bool fine = all_done(results, count);
    if (fine) {
        qsort(results, (size_t)count, sizeof *results, compare_names);
        fine = report(o, results, count);
        printf("\n%lld sets in %.0f s, %d at a time\n", (long long)count, uci90_seconds() - started,
               task.jobs);
    }
    uci90_results_free(results, count);
    return fine;
}

static int run(const options *o)
{
    uci90_lab lab = {.ctx = NULL}; /* for messages alone: nothing may start a thread before fork */
    uci90_entry *entry = NULL;
    int64_t count = 0;
    bool fine = uci90_index_read(&lab, o->dir, &entry, &count) == FAR_OK;
    if (!fine) {
        fprintf(stderr, "uci90: %s\n", uci90_message(&lab));
    } else if ((count = keep_wanted(o, entry, count)) == 0) {
        fprintf(stderr, "uci90: %s names no such set\n", o->dir);
        fine = false;
    } else {
        fine = run_entries(o, entry, count);
    }
    free(entry);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    options o;
    if (!read_options(argc, argv, &o)) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    return run(&o);
}
