/*
 * farfield/net.h: the finite-width reading of an architecture: a program with weights.
 *
 *     far_net_create      a network with random weights
 *     far_net_eval        f(x)
 *     far_net_vjp, _jvp   exact products with its Jacobian, by parameters and by inputs
 *     far_net_load, _save safetensors, named as PyTorch's Sequential names them
 *
 * A network may begin with the shape of its inputs: image(CxHxW), sequence(PxC), tokens(P, V). A
 * row of x then holds all of it (channels, then rows of pixels; position by position), dense
 * layers, activations and norms act on the channels of each position, and a last layer that keeps
 * positions gives all of them, position by position (images: pixel by pixel). Such networks are
 * evaluated, differentiated, trained, saved and certified as others; limits along rays, second
 * derivatives and Laplace's approximation are refused (FAR_ERR_ARCH).
 *
 * Parameters are counted in the order of the layers, weight before bias, each weight out x in by
 * rows as in PyTorch. A vector of all of them (far_net_describe(net).parameters numbers) stands for
 * a gradient or a direction.
 *
 * A network trained on a table takes standardised inputs and gives standardised outputs; its
 * columns say how these become raw units. The functions of this header are about the network
 * itself, in its own units; raw ones, limits along rays and certificates: far_predictor_of_net.
 */
#ifndef FARFIELD_NET_H
#define FARFIELD_NET_H

#include <farfield/columns.h>
#include <farfield/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct far_net far_net;

/* How weights start. All but FAR_INIT_NTK are in the standard parametrisation, z = W h + beta, and
 * n is the number of inputs to the layer; w= and b= in the text replace the w and b below. */
typedef enum far_init {
    FAR_INIT_UNKNOWN = -1,        /* the weights came from elsewhere */
    FAR_INIT_KAIMING_NORMAL = 0,  /* W ~ N(0, 2 / n), beta ~ N(0, 0.01): w = sqrt 2, b = 0.1 */
    FAR_INIT_KAIMING_UNIFORM = 1, /* the same variances, uniform */
    FAR_INIT_LECUN = 2,           /* W ~ N(0, 1 / n), beta ~ N(0, 0.01): w = 1, b = 0.1 */
    FAR_INIT_SIREN = 3, /* W ~ U(-1, 1) w0 / n in the first dense layer, U(-1, 1) sqrt(6 / n)
                           in the others; beta ~ U(-1, 1) / sqrt(n), times w0 in the first.
                           A SIREN whose frequency w0 is written into its first layer.
                           With frequencies in the text, sin(w0=30), the SIREN as it was
                           published: W ~ U(-1, 1) / n in the first, U(-1, 1) sqrt(6 / n) / w0
                           in the others, with w0 of the sin behind the layer (in front of the
                           last); beta ~ U(-1, 1) / sqrt(n) */
    FAR_INIT_NTK = 4,   /* z = w W h / sqrt(n) + b beta, all N(0, 1), activations scaled to
                           unit variance: the network that far_kernel is the limit of */
    FAR_INIT_TORCH = 5  /* as torch.nn.Linear: W and beta ~ U(-1, 1) / sqrt(n) */
} far_init;

typedef struct far_net_opts {
    size_t size;     /* set by far_net_opts_init */
    int64_t inputs;  /* d; required, but where the text begins with the shape of the inputs */
    int64_t outputs; /* fills in the width of a last dense layer without one; 0 (default): the text
                        says. Must agree with the text if it does */
    far_init init;   /* default FAR_INIT_KAIMING_NORMAL */
    double w0;       /* of FAR_INIT_SIREN; default 30. Without effect where the text has a
                        frequency */
    uint64_t seed;   /* default 0 */
} far_net_opts;

FAR_API void far_net_opts_init(far_net_opts *opts);

/* FAR_ERR_PARSE: the text does not parse. FAR_ERR_ARCH: it cannot be run (a hidden dense layer
 * without its width, groups that do not divide the width, a skip whose ends differ in width); three
 * lines with column and caret. FAR_ERR_MEMORY, FAR_ERR_SHAPE: more weights than can be. */
FAR_API FAR_NODISCARD far_status far_net_create(far_ctx *ctx, const char *arch,
                                                const far_net_opts *opts, far_net **out);
FAR_API FAR_NODISCARD far_status far_net_copy(far_ctx *ctx, const far_net *net, far_net **out);
FAR_API void far_net_destroy(far_net *net); /* NULL is fine */

typedef struct far_net_info {
    int64_t inputs, outputs;
    int64_t positions, output_positions; /* of an image or sequence: at each there are inputs /
                                            positions channels; 1: a plain vector */
    int64_t vocabulary; /* tokens are whole numbers below this; 0: inputs are numbers */
    int64_t layers;  /* that have parameters: dense, and norms with affine; counted from 1 where a
                        person counts them */
    int64_t tensors; /* parameters and running statistics */
    int64_t parameters; /* numbers that train */
    int64_t frozen;     /* numbers that do not: weights and biases of layers with lora; 0: there are
                           no such layers */
    int32_t untuned;    /* 1: there are, and B is 0 in all of them: f is that of the network without
                           lora */
    far_param param;    /* FAR_PARAM_NTK after FAR_INIT_NTK */
    far_init init;
    double w0; /* of FAR_INIT_SIREN; NAN: another start, or the frequencies are in the text */
    uint64_t seed;
    int32_t linearized; /* 1: f is f(x; start) + J(x; start) (parameters - start) */
    int32_t scaled;     /* 1: it has a scaling other than the identity */
    int32_t sealed;   /* 1: it was made here, or loaded from a file whose checksum holds; 0: from a
                         file that has none, as those of other programs */
    const char *arch; /* canonical, every width written */
    /* How a table becomes inputs and outputs: the columns that it was trained on, or columns
     * without names (far_columns_info.named is 0). They live as long as the network, or until they
     * are set. */
    const far_columns *columns;
} far_net_info;

FAR_API far_net_info far_net_describe(const far_net *net);

/* A tensor in place: rows x cols of float64 (a vector is 1 x n). */
typedef struct far_net_tensor_info {
    const char *name;  /* "0.weight", "1.running_var" */
    int64_t layer;     /* which of the layers, from 0; -1 for running statistics */
    int64_t parameter; /* where it starts among the parameters; -1 for running statistics */
    int32_t vector;    /* 1: one-dimensional in the file */
    int32_t dims;      /* in the file, and */
    int64_t shape[4];  /* the first dims of them: a convolution has out, in, height, width */
    far_mat values;    /* may be written to; out x (in height width) of a convolution */
} far_net_tensor_info;
FAR_API far_net_tensor_info far_net_tensor(far_net *net, int64_t i);
/* All parameters, 1 x parameters, in place. */
FAR_API far_mat far_net_parameters(far_net *net);
/* "0", "2.1": the name of a layer (counted from 0) without ".weight"; NULL if there is none. */
FAR_API const char *far_net_layer(const far_net *net, int64_t layer);
/* Copies the columns, which have as many inputs and outputs as the network. */
FAR_API FAR_NODISCARD far_status far_net_set_columns(far_ctx *ctx, far_net *net,
                                                     const far_columns *columns);

/*
 * Low-rank tuning (LoRA; Hu et al. 2021). In dense(64, lora=8), and so in conv and attention, W and
 * the bias are constants, and what the layer multiplies by is W + (alpha / lora) B A: A (lora x
 * inputs) starts as PEFT's, uniform within +-1 / sqrt(inputs), B (outputs x lora) at 0. Only A and
 * B are parameters; the base is that of the text without lora and the same seed, or comes from a
 * file: far_net_load of a network without lora with a text that has it.
 */
/* Draws A anew and sets B to 0. Nothing happens to a network without lora. FAR_ERR_ARG: it is
 * linearised. */
FAR_API FAR_NODISCARD far_status far_net_draw_lora(far_ctx *ctx, far_net *net, uint64_t seed);
/* *out is the same function without lora: W + (alpha / lora) B A rounded once, with columns and
 * metadata. A copy where there is none. FAR_ERR_ARG: the network is linearised, so that it is no
 * such network. FAR_ERR_VALUE: a weight would be out of the range of float64. */
FAR_API FAR_NODISCARD far_status far_net_merge(far_ctx *ctx, const far_net *net, far_net **out);

/* What the file says beside the weights: arch, and whatever was set. NULL: no such key. Setting
 * keys that the library itself writes (arch, param, init, ...) is FAR_ERR_ARG; value NULL removes.
 */
FAR_API const char *far_net_metadata(const far_net *net, const char *key);
FAR_API FAR_NODISCARD far_status far_net_set_metadata(far_ctx *ctx, far_net *net, const char *key,
                                                      const char *value);

/*
 * Evaluation. x is n x inputs; all matrices of a call share x's dtype, which is the precision of
 * the computation. Batch norm uses its running statistics. Values must be finite (FAR_ERR_VALUE
 * names the place). The same bits for any number of threads. In float64 a norm neither overflows
 * nor underflows for |x| up to 1e300; a constant vector becomes 0 under ln with eps = 0. A
 * linearised network has derivatives by its parameters only (those at its start): dx and grad_x are
 * FAR_ERR_ARG. Progress "network".
 */

/* out (n x outputs) = f(x). */
FAR_API FAR_NODISCARD far_status far_net_eval(far_ctx *ctx, const far_net *net, const far_mat *x,
                                              far_mat *out);
/* grad (1 x parameters) = sum_i u_i' df(x_i)/dparameters and grad_x (n x inputs, row i =
 * u_i' df/dx at x_i), for u n x outputs; either may be NULL. */
FAR_API FAR_NODISCARD far_status far_net_vjp(far_ctx *ctx, const far_net *net, const far_mat *x,
                                             const far_mat *u, far_mat *grad, far_mat *grad_x);
/* out (n x outputs), row i = df(x_i)/dparameters v + df/dx dx_i, for v 1 x parameters and dx n x
 * inputs; either may be NULL. */
FAR_API FAR_NODISCARD far_status far_net_jvp(far_ctx *ctx, const far_net *net, const far_mat *x,
                                             const far_mat *v, const far_mat *dx, far_mat *out);

/*
 * Files. Tensors are named as in the state_dict of torch.nn.Sequential with one module a layer:
 * dense is Linear, ln LayerNorm (GroupNorm with groups), rms RMSNorm, batchnorm BatchNorm1d or -2d,
 * conv Conv2d, embed (and a learnt position) Embedding, attention MultiheadAttention
 * (in_proj_weight, out_proj.weight, ...); image, sequence, pools and flatten have none. Layers with
 * lora have lora_A.weight and lora_B.weight beside weight and bias, as PEFT names them. A skip is a
 * Sequential inside, so that its first layer is "2.0". float32, or float64 where a value needs it.
 * The metadata key arch holds the architecture; others (param, init, seed, input_centre, ...) are
 * explained in docs/explanation/networks.md. farfield.checksum is "sha256", and farfield.sha256 the
 * SHA-256 of the whole file with zeros for its 64 digits: a file that does not match is refused
 * (FAR_ERR_FORMAT). A program that changes the file on purpose leaves both keys out; files without
 * them load (far_net_info.sealed is 0).
 */
/* The same bytes for the same network. A shift of an rms that is 0 is left out, as RMSNorm has
 * none. FAR_ERR_VALUE: a weight is not finite; nothing is written then. */
FAR_API FAR_NODISCARD far_status far_net_save(far_ctx *ctx, const far_net *net, const char *path);

/* arch: NULL, or the architecture of a file that does not name it (one that PyTorch wrote); the
 * width of a last dense layer may be left to the file. Layers are paired in the order of their
 * names, where numbers count as numbers, dense layers and norms each for themselves: 0, 2, 10 and
 * net.0, net.2 and fc1, fc2, norm1 are all found. Weights that are in x out are transposed, norms
 * without a shift get 0. A text with lora takes a file without it: A is drawn by the file's seed, B
 * is 0. FAR_ERR_FORMAT: not a safetensors file (a pickle of torch.save says what
 * to do), damaged, a tensor missing, one too many or of another shape: the message has both sides.
 * FAR_ERR_VALUE: a weight is not finite. FAR_ERR_ARG: neither the file nor the caller names the
 * architecture (the message suggests one), or they do not agree. */
FAR_API FAR_NODISCARD far_status far_net_load(far_ctx *ctx, const char *path, const char *arch,
                                              far_net **out);

#ifdef __cplusplus
}
#endif
#endif
