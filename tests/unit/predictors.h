/* A table and predictors of every kind fitted to it, what they say of it, and their files. Include
 * it behind harness.h. */
#ifndef TEST_PREDICTORS_H
#define TEST_PREDICTORS_H

#include "../../src/predictor/predictor_internal.h"

enum { ROWS = 40, INPUTS = 3 };

static inline double wave(double a, double b)
{
    return sin(3 * a) + b * b - 0.5 * a * b;
}

/* Two numbers and a category of two would make 4 inputs; numbers alone, and c is nearly useless. */
static inline far_frame *table(void)
{
    static const char *const names[] = {"a", "b", "c", "y"};
    double values[ROWS * 4];
    for (int i = 0; i < ROWS; i++) {
        double *row = values + 4 * i;
        row[0] = sin(i);
        row[1] = 5 + cos(2.0 * i);
        row[2] = 1e-3 * (i % 7);
        row[3] = wave(row[0], row[1]);
    }
    far_frame *frame;
    far_mat m = far_mat_view(values, ROWS, 4, FAR_F64);
    must(far_frame_from_mat(ctx, &m, names, &frame));
    return frame;
}

static inline far_columns_opts columns(void)
{
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = "y";
    return o;
}

static inline far_predictor *line(const far_frame *frame, double ridge)
{
    far_predictor *p;
    far_columns_opts o = columns();
    must(far_predictor_fit_linear(ctx, frame, &o, ridge, &p));
    return p;
}

static inline far_predictor *model(const far_frame *frame, const char *arch)
{
    far_predictor *p;
    far_fit_opts o;
    far_fit_opts_init(&o);
    o.target = "y";
    o.arch = arch;
    o.ridge = 1e-3;
    must(far_predictor_fit(ctx, frame, &o, &p));
    return p;
}

/* Untrained weights will do. */
static inline far_predictor *net(const far_frame *frame, const char *arch, uint64_t seed)
{
    far_net *made;
    far_examples *e;
    far_predictor *p;
    far_net_opts how;
    far_columns_opts o = columns();
    o.loss = FAR_LOSS_MSE;
    must(far_examples_learn(ctx, frame, &o, &e));
    far_net_opts_init(&how);
    how.inputs = far_columns_describe(e->columns).inputs;
    how.outputs = 1;
    how.seed = seed;
    must(far_net_create(ctx, arch, &how, &made));
    must(far_net_set_columns(ctx, made, e->columns));
    far_examples_destroy(e);
    must(far_predictor_own(ctx, &far_finite_ops, FAR_OK, made, &p));
    return p;
}

static inline far_predictor *mean_of(far_predictor *a, far_predictor *b)
{
    far_predictor *members[] = {a, b}, *p;
    must(far_predictor_committee(ctx, members, 2, &p));
    return p;
}

/* One of each kind; trees only where the library is there. */
enum { KINDS = 8 };
static inline far_predictor *make(const far_frame *frame, int kind)
{
    far_predictor *p = NULL;
    far_columns_opts o = columns();
    switch (kind) {
    case 0:
        return model(frame, "dense ln relu dense");
    case 1:
        return model(frame, "dense relu dense");
    case 2:
        return net(frame, "dense(8) ln relu dense", 1);
    case 3:
        return line(frame, NAN);
    case 4:
        return mean_of(net(frame, "dense(5) relu dense", 2), line(frame, NAN));
    case 5:
        return mean_of(net(frame, "dense(5) ln relu dense", 3), line(frame, INFINITY));
    case 6:
        return line(frame, INFINITY);
    default:
        if (far_xgboost_find(ctx)) {
            must(far_predictor_fit_trees(ctx, frame, &o, 12, 0, &p));
        }
        return p;
    }
}

static inline double value(const far_predictor *p, const double *x)
{
    double f;
    far_mat in = far_mat_view((double *)x, 1, INPUTS, FAR_F64);
    far_mat out = far_mat_view(&f, 1, 1, FAR_F64);
    must(far_predictor_eval(ctx, p, &in, &out));
    return f;
}

static inline char *certificate_of(const far_predictor *p, far_certificate **out)
{
    char *text;
    far_certify_opts o;
    far_certify_opts_init(&o);
    o.seconds = 0.2;
    o.exceeds = 1e4;
    must(far_predictor_certify(ctx, p, &o, out));
    must(far_certificate_json(ctx, *out, &text));
    return text;
}

/* As the bytes of its file; free them. */
static inline char *bytes_of(const far_predictor *p, int64_t *size)
{
    char *bytes;
    size_t length;
    far_output o;
    FILE *stream = open_memstream(&bytes, &length);
    must(far_output_open_stream(ctx, stream, &o));
    must(p->ops->write(p->self, &o));
    must(far_output_commit(&o));
    far_output_close(&o);
    fclose(stream);
    *size = (int64_t)length;
    return bytes;
}

#endif
