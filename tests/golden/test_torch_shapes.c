/* Images and sequences as PyTorch has them: outputs and gradients of torch_shapes.txt, whose
 * networks have parameters and inputs from the formulas below (make_torch_shapes.py). */
#define TEST_THREADS 2
#include "../harness.h"

#include <farfield/net.h>

#define TOLERANCE 1e-12

static double parameter(int64_t i)
{
    return 0.4 * sin(1.7 * (double)i + 0.3);
}

static double number(int64_t i)
{
    return cos(0.9 * (double)i * (double)i + 0.5 * (double)i);
}

static double weight(int64_t i)
{
    return sin(2.3 * (double)i + 1);
}

static far_mat filled(int64_t rows, int64_t cols, double (*value)(int64_t))
{
    double *data = calloc((size_t)(rows * cols), sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; value && i < rows * cols; i++) {
        data[i] = value(i);
    }
    return far_mat_view(data, rows, cols, FAR_F64);
}

static void expect(const char *arch, const char *what, int64_t i, double ours, double theirs)
{
    if (!(fabs(ours - theirs) <= TOLERANCE * (1 + fabs(theirs)))) {
        fail_msg("%s: %s %lld is %.17g, PyTorch has %.17g", arch, what, (long long)i, ours, theirs);
    }
}

/* The numbers of a line, each with its place in front of it or in order. */
static void compare_line(const char *arch, const char *what, char *line, bool places,
                         const double *ours)
{
    char *at = line + strlen(what);
    for (int64_t i = 0; *at && *at != '\n'; i++) {
        int64_t place = places ? strtoll(at, &at, 10) : i;
        double theirs = strtod(at, &at);
        expect(arch, what, place, ours[place], theirs);
    }
}

typedef struct answers {
    char arch[400];
    far_net *net;
    far_mat x, out, u, gradient, inputs;
} answers;

static void answer(answers *a, long long rows, long long inputs, long long outputs,
                   long long parameters)
{
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = inputs;
    must(far_net_create(ctx, a->arch, &o, &a->net));
    far_net_info info = far_net_describe(a->net);
    assert_int_equal(info.inputs, inputs);
    assert_int_equal(info.outputs, outputs);
    assert_int_equal(info.parameters, parameters);
    far_mat p = far_net_parameters(a->net);
    for (int64_t i = 0; i < p.cols; i++) {
        ((double *)p.data)[i] = parameter(i);
    }
    a->x = filled(rows, inputs, number);
    a->u = filled(rows, outputs, weight);
    a->out = filled(rows, outputs, NULL);
    a->gradient = filled(1, parameters, NULL);
    a->inputs = filled(rows, inputs, NULL);
    must(far_net_eval(ctx, a->net, &a->x, &a->out));
    must(far_net_vjp(ctx, a->net, &a->x, &a->u, &a->gradient, &a->inputs));
}

static void forget(answers *a)
{
    far_mat *all[] = {&a->x, &a->out, &a->u, &a->gradient, &a->inputs};
    for (int i = 0; i < COUNT(all); i++) {
        free(all[i]->data);
    }
    far_net_destroy(a->net);
    a->net = NULL;
}

static void outputs_and_gradients_are_those_of_pytorch(void **state)
{
    (void)state;
    static char line[1 << 16];
    FILE *file = fopen(TEST_DATA_DIR "/golden/torch_shapes.txt", "r");
    answers a = {.net = NULL};
    int networks = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        long long rows, inputs, outputs, parameters;
        if (sscanf(line, "arch %399[^\n]", a.arch) == 1) {
            networks++;
        } else if (sscanf(line, "sizes %lld %lld %lld %lld", &rows, &inputs, &outputs,
                          &parameters) == 4) {
            answer(&a, rows, inputs, outputs, parameters);
        } else if (strncmp(line, "out", 3) == 0) {
            compare_line(a.arch, "out", line, false, a.out.data);
        } else if (strncmp(line, "gradient", 8) == 0) {
            compare_line(a.arch, "gradient", line, true, a.gradient.data);
        } else {
            compare_line(a.arch, "inputs", line, false, a.inputs.data);
            forget(&a);
        }
    }
    fclose(file);
    assert_int_equal(networks, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(outputs_and_gradients_are_those_of_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
