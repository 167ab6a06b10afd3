/* farfield local: how a kernel looks around each point. */
#include "local_job.h"
#include "picture.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB LOCAL_VERB

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(local_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--grid", 'g', AT(grid), "N|CxR",
                "points: a grid of [-1, 1]^2, in place of X; with --net and --arch"),
    TEXT_OPTION("--image", 0, AT(image), "FILE",
                "targets: the greys of this picture (PNG, PGM) on the grid"),
    COUNT_OPTION("--bins", 0, AT(bins), "N", "bins of distance", 5, 100000),
    NUMBER_OPTION("--step", 0, AT(step), "H",
                  "finite-difference step of the jets, in the units of the points, which\n"
                  "are standardised if the network has standardised its inputs"),
    NUMBER_OPTION("--edges", 0, AT(edges), "PART",
                  "which part of the points are edges: where the targets are steepest\n"
                  "(fewer where slopes at the limit are equal)"),
    NUMBER_OPTION("--width", 0, AT(width), "W",
                  "of the Gaussian kernel of the targets that CKA compares with"),
    OUTPUT_OPTION("write FILE (.csv, .csv.gz, .npy, .npz): a row for each point, with its\n"
                  "maps and jets"),
    TEXT_OPTION("--correlation", 'c', AT(correlation), "FILE",
                "write c(eps): a row for each bin of distance"),
};

static const char USAGE[] = "local --net NET --grid 48 [--image FILE] [options]\n"
                            "local --net NET X [--target COL] [options]\n"
                            "local --arch ARCH X|--grid N [options]\n"
                            "local K X [--target COL] [options]";
static const char ABOUT[] =
    "How a kernel looks around each point: its cosine C(x, x') = K(x, x') / (|g| |g'|) by "
    "distance,\n"
    "the correlation length xi, and maps of |g|, of the first eigenvector v0, of how far C "
    "reaches\n"
    "and how low it falls, beside what derivatives of the kernel predict (the Cauchy model). "
    "With\n"
    "targets on a grid, how |g| and v0 find their edges.";
static const char EXAMPLES[] =
    "Examples:\n"
    "  farfield local --net siren.safetensors --grid 48 --image camera.png --report maps\n"
    "  farfield local --arch '[dense sin(w0=5)]x3 dense' --grid 32 -c correlation.csv";

static int check_endings(const local_args *a)
{
    if (!output_ending_known(VERB, a->output) || !output_ending_known(VERB, a->correlation)) {
        return EXIT_USAGE;
    }
    return OPTIONS_OK;
}

static int check_numbers(const local_args *a)
{
    if (!(a->step > 0) || !(a->width > 0)) {
        return usage_error(VERB, "%s must be above 0", a->step > 0 ? "--width" : "--step");
    }
    if (!(a->edges > 0 && a->edges < 1)) {
        return usage_error(VERB, "--edges is a part of the points, between 0 and 1");
    }
    return OPTIONS_OK;
}

static int check_usage(const command_line *line, local_args *a)
{
    int code = check_endings(a);
    code = code == OPTIONS_OK ? check_numbers(a) : code;
    if (code == OPTIONS_OK && a->image && !a->grid) {
        return usage_error(VERB, "--image lies on a grid: --grid N. The points of a table have "
                                 "their targets in a column: --target COL");
    }
    if (code == OPTIONS_OK && a->grid) {
        code = grid_size_read(VERB, "--grid", a->grid, &a->cols, &a->rows);
    }
    a->source.makes_points = a->grid != NULL;
    code = code == OPTIONS_OK ? source_check_usage(line, &a->source) : code;
    if (code == OPTIONS_OK && !a->grid) {
        code = source_check_needs(VERB, &a->source, FAR_NEED_COORDINATES, VERB);
    }
    return code;
}

static int read_command_line(int argc, char **argv, local_args *a)
{
    command_line line = {VERB_LINE, .common = common_options(AT(common))};
    int code = source_parse(&line, EXAMPLES, AT(source), argc, argv, a);
    return code == OPTIONS_OK ? check_usage(&line, a) : code;
}

/* ---- the points ---------------------------------------------------------------------------- */

static int read_picture(local_job *j)
{
    far_frame *table;
    int code = picture_read(&j->s, j->args.image, j->args.cols, j->args.rows, &table);
    if (code != EXIT_DONE) {
        return code;
    }
    int64_t rows = far_frame_rows(table);
    code = matrix_alloc(VERB, rows, 1, FAR_F64, &j->image);
    if (code == EXIT_DONE) {
        memcpy(j->image.data, far_frame_column(table, 2).numbers, (size_t)rows * sizeof(double));
    }
    j->own_image = true;
    far_frame_destroy(table);
    return code;
}

/* In the order of a picture: from the top left, row by row. */
static int make_grid(local_job *j)
{
    int64_t cols = j->args.cols, rows = j->args.rows;
    int code = matrix_alloc(VERB, rows * cols, 2, FAR_F64, &j->points);
    for (int64_t i = 0; code == EXIT_DONE && i < rows * cols; i++) {
        double *p = (double *)j->points.data + 2 * i;
        p[0] = 2 * (double)(i % cols) / (double)(cols - 1) - 1;
        p[1] = 1 - 2 * (double)(i / cols) / (double)(rows - 1);
    }
    j->args.source.made = j->points;
    return code == EXIT_DONE && j->args.image ? read_picture(j) : code;
}

static int read_kernel(local_job *j)
{
    int code = j->args.grid ? make_grid(j) : EXIT_DONE;
    code = code == EXIT_DONE ? source_read(&j->s, &j->args.source, FAR_NEED_COORDINATES, &j->kernel)
                             : code;
    if (code == EXIT_DONE && j->kernel.targets.data) {
        j->image = j->kernel.targets;
    }
    return code;
}

/* ---- what is said -------------------------------------------------------------------------- */

/* Near x' = x the kernel has a term |x - x'|^(2q - 1), for the NNGP ^(2q + 1), of (z)_+^q. */
static bool has_kinks(const local_job *j)
{
    double degree;
    const source *k = &j->kernel;
    if (!k->net && !k->kernel) {
        return false;
    }
    const char *arch = k->net ? far_net_describe(k->net).arch : far_kernel_text(k->kernel);
    bool nngp = !k->net && j->args.source.kind == FAR_KERNEL_NNGP;
    return far_power_degree(j->s.ctx, arch, &degree) == FAR_OK && 2 * degree + (nngp ? 1 : -1) <= 2;
}

/* A length below what the points can tell measures the points. */
static void warn(const local_job *j)
{
    double xi = j->curve.xi, bin = j->curve.spacing;
    if (isnan(xi)) {
        session_say(&j->s, "C does not fall half way to its value far away: xi is not defined");
    } else if (xi < j->spacing) {
        session_say(&j->s,
                    "xi is %.3g, below the spacing of the points, %.3g: it measures them, not the "
                    "kernel; take a finer grid",
                    xi, j->spacing);
    } else if (xi < bin) {
        session_say(&j->s,
                    "xi is %.3g, below a bin of distance, %.3g: it hangs on the bins; take more "
                    "--bins",
                    xi, bin);
    }
    if (j->flat > 0) {
        session_say(&j->s,
                    "%lld of %lld points have no Cauchy model: the kernel is not curved there",
                    (long long)j->flat, (long long)j->n);
    }
    if (has_kinks(j)) {
        session_say(&j->s, "the activations have kinks, the kernel no second derivative at x' = x: "
                           "its Cauchy model hangs on --step");
    }
    if (j->image.data && !j->grid) {
        session_say(&j->s, "the points are no full grid: their targets have no edges");
    }
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int check_outputs(local_job *j)
{
    const local_args *a = &j->args;
    int code = a->output ? output_possible(VERB, j->s.ctx, a->output) : EXIT_DONE;
    code = code == EXIT_DONE && a->correlation ? output_possible(VERB, j->s.ctx, a->correlation)
                                               : code;
    return code;
}

static int write_files(local_job *j)
{
    int code = j->args.output ? local_write_maps(j) : EXIT_DONE;
    return code == EXIT_DONE && j->args.correlation ? local_write_correlation(j) : code;
}

static int run(void *user)
{
    local_job *j = user;
    int code = check_outputs(j);
    code = code == EXIT_DONE ? read_kernel(j) : code;
    code = code == EXIT_DONE ? local_measure(j) : code;
    code = code == EXIT_DONE ? write_files(j) : code;
    session_idle(&j->s);
    if (code == EXIT_DONE) {
        warn(j);
    }
    return code == EXIT_DONE ? local_tell(j) : code;
}

static void job_free(void *user)
{
    local_job *j = user;
    for (int map = 0; map < MAPS; map++) {
        free(j->maps[map]);
    }
    free(j->distance);
    free(j->mean);
    free(j->counts);
    free(j->a2.data);
    free(j->gradient.data);
    free(j->h.data);
    free(j->points.data);
    free(j->own_image ? j->image.data : NULL);
    source_free(&j->kernel);
}

int cmd_local(int argc, char **argv)
{
    local_job j = {.args = {.bins = FAR_LOCAL_BINS,
                            .step = 1e-3,
                            .edges = 0.12,
                            .width = 0.1,
                            .common = {.threads = default_threads()},
                            .source = {.outputs = "trace"}}};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, job_free, &j});
}
