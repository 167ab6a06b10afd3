/*
 * test_golden.c: the kernels against values of other programs, checked in beside their scripts.
 *
 *   neural_tangents.txt  neural-tangents 0.6.5 at generic pairs. It agrees with arbitrary precision
 *                        to 5e-16 there (and to 1e-8 only near duplicates, where it takes an arccos
 *                        close to 1; those are left out), so 1e-13 is asked.
 *   quadrature.txt       mpmath, 24 digits; silu, tanh and fractional powers, which the library
 *                        interpolates to 1e-12 of unit variance, so that is asked; near duplicates
 *                        and norms from 1e-3 to 1e6 are in.
 *
 * A record is: arch TEXT / param ntk|standard / points N D and N rows / [against M D and M rows] /
 * nngp and N rows of M numbers / ntk and N rows. Errors are relative to sqrt(K(x,x) K(y,y)).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <farfield/farfield.h>

#define MAX_POINTS 16
#define MAX_VALUES (MAX_POINTS * MAX_POINTS)

typedef struct block {
    int rows, cols;
    double v[MAX_VALUES];
} block;

typedef struct record {
    char arch[1024];
    int standard;
    block points, against, want[2]; /* nngp, ntk; against has no rows: the points themselves */
} record;

/* A line without its end; 0 at the end of the file. Comments are passed over. */
static int read_line(FILE *f, char *line, int room)
{
    do {
        if (!fgets(line, room, f)) {
            return 0;
        }
    } while (line[0] == '#');
    line[strcspn(line, "\n")] = 0;
    return 1;
}

static void read_rows(FILE *f, block *b, int rows, int cols)
{
    assert_in_range(rows, 1, MAX_POINTS);
    assert_in_range(cols, 1, MAX_POINTS);
    b->rows = rows;
    b->cols = cols;
    for (int i = 0; i < rows * cols; i++) {
        assert_int_equal(fscanf(f, "%lf", &b->v[i]), 1);
    }
    assert_int_equal(fgetc(f), '\n');
}

static void read_points(FILE *f, const char *line, const char *name, block *b)
{
    int rows, cols;
    assert_int_equal(strncmp(line, name, strlen(name)), 0);
    assert_int_equal(sscanf(line + strlen(name), "%d %d", &rows, &cols), 2);
    read_rows(f, b, rows, cols);
}

static int read_record(FILE *f, record *r)
{
    char line[2048];
    memset(r, 0, sizeof *r);
    if (!read_line(f, line, sizeof line)) {
        return 0;
    }
    assert_int_equal(strncmp(line, "arch ", 5), 0);
    assert_true(strlen(line + 5) < sizeof r->arch);
    strcpy(r->arch, line + 5);
    assert_true(read_line(f, line, sizeof line));
    r->standard = strcmp(line, "param standard") == 0;
    assert_true(read_line(f, line, sizeof line));
    read_points(f, line, "points", &r->points);
    assert_true(read_line(f, line, sizeof line));
    if (!strncmp(line, "against", 7)) {
        read_points(f, line, "against", &r->against);
        assert_true(read_line(f, line, sizeof line));
    }
    int cols = r->against.rows ? r->against.rows : r->points.rows;
    assert_string_equal(line, "nngp");
    read_rows(f, &r->want[0], r->points.rows, cols);
    assert_true(read_line(f, line, sizeof line));
    assert_string_equal(line, "ntk");
    read_rows(f, &r->want[1], r->points.rows, cols);
    return 1;
}

static far_mat view(block *b)
{
    return far_mat_view(b->v, b->rows, b->cols, FAR_F64);
}

static block shaped(int rows, int cols)
{
    block b = {.rows = rows, .cols = cols};
    return b;
}

static void must(far_ctx *ctx, far_status st, const record *r)
{
    if (st) {
        fail_msg("%s: %s", r->arch, far_ctx_message(ctx));
    }
}

static void diagonal(far_ctx *ctx, far_kernel *k, const record *r, block *x, block out[2])
{
    out[0] = out[1] = shaped(x->rows, 1);
    far_mat in = view(x), nngp = view(&out[0]), ntk = view(&out[1]);
    must(ctx, far_kernel_diag(ctx, k, &in, &nngp, &ntk), r);
}

/* The worst entry so far of one architecture. */
typedef struct worst {
    double error, got, want;
    int what, i, j;
} worst;

static void worst_entry(int what, const block *got, const block *want, const block *row,
                        const block *col, worst *w)
{
    for (int i = 0; i < got->rows; i++) {
        for (int j = 0; j < got->cols; j++) {
            double g = got->v[i * got->cols + j], x = want->v[i * got->cols + j];
            double e = fabs(g - x) / sqrt(row->v[i]) / sqrt(col->v[j]);
            if (!(e <= w->error)) {
                worst here = {isnan(e) ? INFINITY : e, g, x, what, i, j};
                *w = here;
            }
        }
    }
}

static worst compare(far_ctx *ctx, record *r)
{
    block *other = r->against.rows ? &r->against : &r->points;
    block got[2], row[2], col[2];
    far_kernel *k = NULL;
    far_kernel_opts opts;
    opts = (far_kernel_opts){.size = sizeof opts};
    opts.param = r->standard ? FAR_PARAM_STANDARD : FAR_PARAM_NTK;
    must(ctx, far_kernel_create(ctx, r->arch, &opts, &k), r);
    got[0] = got[1] = shaped(r->points.rows, other->rows);
    far_mat x = view(&r->points), y = view(&r->against);
    far_mat nngp = view(&got[0]), ntk = view(&got[1]);
    must(ctx, far_kernel_eval(ctx, k, &x, r->against.rows ? &y : NULL, FAR_FILL_FULL, &nngp, &ntk),
         r);
    diagonal(ctx, k, r, &r->points, row);
    diagonal(ctx, k, r, other, col);
    far_kernel_destroy(k);
    worst w = {0};
    for (int what = 0; what < 2; what++) {
        worst_entry(what, &got[what], &r->want[what], &row[what], &col[what], &w);
    }
    return w;
}

static void compare_file(const char *path, double tolerance, int least)
{
    static record r;
    char worst_arch[sizeof r.arch] = "";
    double most = 0;
    int count = 0, bad = 0;
    far_ctx *ctx = NULL;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(far_ctx_create(NULL, &ctx), FAR_OK);
    for (; read_record(f, &r); count++) {
        worst w = compare(ctx, &r);
        if (!(w.error <= tolerance)) {
            printf("error %.3g in %s[%d][%d] = %.17g, not %.17g: %s (%s)\n", w.error,
                   w.what ? "ntk" : "nngp", w.i, w.j, w.got, w.want, r.arch,
                   r.standard ? "standard" : "ntk");
            bad++;
        }
        if (!(w.error <= most)) {
            most = w.error;
            strcpy(worst_arch, r.arch);
        }
    }
    printf("%d architectures, worst error %.3g (asked: %.0e) in: %s\n", count, most, tolerance,
           worst_arch);
    fclose(f);
    far_ctx_destroy(ctx);
    assert_true(count >= least);
    assert_int_equal(bad, 0);
}

static void agrees_with_neural_tangents(void **state)
{
    (void)state;
    compare_file(TEST_DATA_DIR "/golden/neural_tangents.txt", 1e-13, 28);
}

static void agrees_with_quadrature(void **state)
{
    (void)state;
    compare_file(TEST_DATA_DIR "/golden/quadrature.txt", 1e-12, 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_neural_tangents),
                                       cmocka_unit_test(agrees_with_quadrature)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
