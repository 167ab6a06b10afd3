/* Usage: python_numbers TABLE TARGET ARCH FOLDER
 * A kernel, a fit and its certificate by the C library: FOLDER/kernel, mean and std (doubles, as
 * they are in memory) and certificate (JSON). python/tests/test_same_numbers.py asks Python and the
 * command for the same. */
#include <farfield/farfield.h>

#include <stdio.h>
#include <stdlib.h>

static far_ctx *ctx;

static void must(far_status st)
{
    if (st != FAR_OK) {
        fprintf(stderr, "%s: %s\n", far_status_name(st), ctx ? far_ctx_message(ctx) : "");
        exit(1);
    }
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void write_mat(const char *folder, const char *name, const far_mat *m)
{
    FILE *f = open_in(folder, name);
    for (int64_t i = 0; i < m->rows; i++) {
        fwrite((const double *)m->data + i * m->ld, sizeof(double), (size_t)m->cols, f);
    }
    fclose(f);
}

/* Of all number columns but the target. */
static void write_kernel(const far_frame *frame, const char *target, const char *arch,
                         const char *folder)
{
    int64_t rows = far_frame_rows(frame), cols = far_frame_cols(frame), skip, d = 0;
    double *x = calloc((size_t)(rows * cols), sizeof *x);
    double *out = calloc((size_t)(rows * rows), sizeof *out);
    far_kernel *k;
    must(far_frame_find(ctx, frame, target, &skip));
    for (int64_t j = 0; j < cols; j++) {
        const double *numbers = far_frame_column(frame, j).numbers;
        for (int64_t i = 0; j != skip && i < rows; i++) {
            x[i * (cols - 1) + d] = numbers[i];
        }
        d += j != skip;
    }
    far_mat xm = far_mat_view(x, rows, d, FAR_F64), om = far_mat_view(out, rows, rows, FAR_F64);
    must(far_kernel_create(ctx, arch, NULL, &k));
    must(far_kernel_eval(ctx, k, &xm, NULL, FAR_FILL_FULL, NULL, &om));
    write_mat(folder, "kernel", &om);
    far_kernel_destroy(k);
    free(x);
    free(out);
}

static void write_fit(const far_frame *frame, const char *target, const char *arch,
                      const char *folder)
{
    far_fit_opts fit;
    far_predict_opts predict;
    far_certify_opts certify;
    far_predictor *p;
    far_prediction *found;
    far_certificate *c;
    char *json;
    far_fit_opts_init(&fit);
    fit.target = target;
    fit.arch = arch;
    must(far_predictor_fit(ctx, frame, &fit, &p));
    far_predict_opts_init(&predict);
    predict.spread = FAR_SPREAD_CALIBRATED;
    must(far_predictor_predict(ctx, p, frame, &predict, &found));
    write_mat(folder, "mean", &found->mean);
    write_mat(folder, "std", &found->std);
    far_prediction_destroy(found);
    far_certify_opts_init(&certify);
    certify.seconds = 0;
    must(far_predictor_certify(ctx, p, &certify, &c));
    must(far_certificate_json(ctx, c, &json));
    FILE *f = open_in(folder, "certificate");
    fputs(json, f);
    fclose(f);
    far_text_free(ctx, json);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
}

int main(int argc, char **argv)
{
    far_frame *frame;
    if (argc != 5) {
        fputs("usage: python_numbers TABLE TARGET ARCH FOLDER\n", stderr);
        return 2;
    }
    must(far_ctx_create(NULL, &ctx));
    must(far_frame_read(ctx, argv[1], NULL, NULL, &frame));
    write_kernel(frame, argv[2], argv[3], argv[4]);
    write_fit(frame, argv[2], argv[3], argv[4]);
    far_frame_destroy(frame);
    far_ctx_destroy(ctx);
    return 0;
}
