#include "arch_tree.h"

/* Numbers come from the macros the parser and the readings use, so they cannot drift apart. */
#define TEXT_OF(macro) TEXT_OF_EXPANDED(macro)
#define TEXT_OF_EXPANDED(value) #value

#define POWER_ABOVE TEXT_OF(FAR_POWER_ABOVE)
#define POWER_MOST TEXT_OF(FAR_POWER_MOST)
#define POWER TEXT_OF(FAR_POWER_DEFAULT)
#define SLOPE TEXT_OF(FAR_LEAKY_SLOPE_DEFAULT)
#define W0 TEXT_OF(FAR_W0_DEFAULT)
#define SLOPE_MOST TEXT_OF(FAR_SLOPE_MOST)
#define INTEGER_MOST TEXT_OF(FAR_INTEGER_MOST)
#define EPS TEXT_OF(FAR_EPS_DEFAULT)
#define GROUPS TEXT_OF(FAR_GROUPS_DEFAULT)
#define W_NTK TEXT_OF(FAR_W_NTK_DEFAULT)
#define W_STANDARD TEXT_OF(FAR_W_STANDARD_DEFAULT)
#define B TEXT_OF(FAR_B_DEFAULT)
#define MAX_TEXT TEXT_OF(FAR_ARCH_MAX_TEXT)
#define MAX_LAYERS TEXT_OF(FAR_ARCH_MAX_LAYERS)
#define MAX_NESTING TEXT_OF(FAR_ARCH_MAX_NESTING)

/* clang-format off */
static const char grammar[] =
    "The architecture language: one text describes a network, from input to output.\n"
    "\n"
    "  network   item item ...                  with blanks between the items\n"
    "  item      layer, [network]xN, skip(network) or skip(network | network)\n"
    "  layer     name, or name(argument, argument, ...)\n"
    "  argument  NUMBER, key=NUMBER or flag     unnamed numbers come first\n"
    "\n"
    "  [network]xN      the network N times in a row, each time with its own weights\n"
    "  skip(network)    x + network(x)\n"
    "  skip(network | shortcut)\n"
    "                   network(x) + shortcut(x), where the shape changes\n"
    "\n"
    "The linear layer\n"
    "  dense(WIDTH, w=W, b=B, nobias, lora=R, alpha=A)   z = W x + b\n"
    "      WIDTH (or width=)  outputs, at most " INTEGER_MOST "; not needed at infinite width\n"
    "      w, b               scale of weights and biases, at least 0 (see below)\n"
    "      nobias             the layer has no biases\n"
    "      lora               W and b stay fixed, and B (outputs x R), A (R x inputs)\n"
    "                         in W + (alpha / R) B A train: B starts at 0; in finite\n"
    "                         networks alone. alpha: above 0; default R\n"
    "\n"
    "Activations, y = gain * phi(z); gain=G above 0, defaults below\n"
    "  relu(P, gain=G)        max(z, 0)^P\n"
    "      P (or power=)      above " POWER_ABOVE ", at most " POWER_MOST "; default " POWER "\n"
    "  leaky_relu(A, gain=G)  max(z, 0) + A min(z, 0)\n"
    "      A (or slope=)      at most " SLOPE_MOST " in size; default " SLOPE "\n"
    "  abs(gain=G)            |z|\n"
    "  erf(gain=G)            erf(z)\n"
    "  gelu(tanh, gain=G)     z (1 + erf(z / sqrt(2))) / 2\n"
    "      tanh               by its usual approximation, in finite networks alone\n"
    "  silu(gain=G)           z / (1 + exp(-z))\n"
    "  tanh(gain=G)           tanh(z)\n"
    "  sin(w0=W, gain=G)      sin(W z)\n"
    "      w0                 frequency, above 0; default " W0 "\n"
    "  identity(gain=G)       z\n"
    "  sigmoid(gain=G)        1 / (1 + exp(-z)); this and those below for\n"
    "                         finite networks alone\n"
    "  elu(A, gain=G)         z above 0, A (exp(z) - 1) below\n"
    "      A (or alpha=)      at least 0; default " TEXT_OF(FAR_ELU_ALPHA_DEFAULT) "\n"
    "  softplus(gain=G)       log(1 + exp(z))\n"
    "  mish(gain=G)           z tanh(log(1 + exp(z)))\n"
    "\n"
    "Normalisations; eps=E at least 0, default " EPS "\n"
    "  ln(groups=G, eps=E, affine)    (z - mean z) / sqrt(var z + eps)\n"
    "  rms(eps=E, affine)             z / sqrt(mean z^2 + eps)\n"
    "  batchnorm(eps=E, affine)       z / sqrt(1 + eps), a fixed map: evaluation\n"
    "                                 with running mean 0 and variance 1\n"
    "      affine   trainable scale and shift, starting at 1 and 0\n"
    "      groups   default " GROUPS "; the neurons are cut into a fixed number of groups,\n"
    "               each normalised on its own. At infinite width each group has\n"
    "               infinitely many neurons, so it equals plain ln\n"
    "\n"
    "Images and sequences, for finite networks. The shape of the inputs comes first;\n"
    "dense, activations and norms then act on the channels of each position\n"
    "  image(CxHxW)                a row holds C channels of H x W pixels\n"
    "      CxHxW (or size=)        channels, height, width\n"
    "  sequence(PxC)               a row holds C channels for each of P positions\n"
    "      PxC (or size=)          positions, channels\n"
    "  tokens(P, V)                a row holds P whole numbers from 0 to V - 1\n"
    "      P (or positions=), V (or vocabulary=)\n"
    "  embed(C)                    of tokens: C numbers for each, learnt\n"
    "      C (or channels=)        outputs of each position\n"
    "  position(sines)             adds C numbers to each position of a sequence:\n"
    "                              learnt, or sines and cosines\n"
    "  conv(C, KxK, stride=S, pad=P, w=W, b=B, nobias, lora=R, alpha=A)\n"
    "      C (or channels=)        outputs of each position\n"
    "      KxK (or size=)          window; 3 is 3x3. stride 1 and pad 0 unless given\n"
    "  maxpool(K, stride=S, pad=P) the largest number of each window\n"
    "  avgpool(K, stride=S)        the mean of each window\n"
    "      K (or size=)            window, and stride unless that is given\n"
    "  attention(HEADS, causal, lora=R, alpha=A)\n"
    "                              softmax(Q K' / sqrt(C / HEADS)) V, and a dense\n"
    "                              layer behind it\n"
    "      HEADS (or heads=)       must divide the channels\n"
    "      causal                  no position sees those behind it\n"
    "      lora, alpha             as of dense: of the layer to Q, K and V, and of\n"
    "                              the one behind\n"
    "  gap                         one vector from all positions: their mean,\n"
    "  flatten                     all of them one after another,\n"
    "  last                        the last one\n"
    "  dropout(RATE)               refused: a network must be one function\n"
    "      RATE (or rate=)         of its inputs\n"
    "\n"
    "Defaults, by parametrisation (n inputs to a dense layer)\n"
    "  ntk       w = " W_NTK ", b = " B "; W_ij = w N(0, 1) / sqrt(n), b_i = b N(0, 1);\n"
    "            the N(0, 1) are trained. Activations scaled to unit variance:\n"
    "            gain = 1 / sqrt(E phi(u)^2), u ~ N(0, 1)\n"
    "  standard  w = " W_STANDARD " (sqrt 2), b = " B "; W_ij ~ N(0, w^2 / n),\n"
    "            b_i ~ N(0, b^2), trained as they are; gain = 1; widths needed\n"
    "\n"
    "Limits: " MAX_TEXT " characters, " MAX_LAYERS " layers written out, " MAX_NESTING
    " brackets deep.\n"
    "\n"
    "Examples\n"
    "  [dense(128) ln relu]x3 dense(1)\n"
    "  dense(64) skip(ln relu dense(64)) dense(1)\n"
    "  dense(128, w=1.5, b=0.05) ln(groups=8, eps=1e-5, affine) leaky_relu(0.1)\n"
    "  [dense relu]x2 dense\n"
    "  image(1x28x28) [conv(16, 3x3, pad=1) relu maxpool(2)]x2 flatten dense(10)\n"
    "  image(3x8x8) skip(conv(4, 3x3, stride=2, pad=1) | conv(4, 1x1, stride=2)) gap\n"
    "  sequence(6x1) dense(16) ln skip(ln attention(4, causal)) last dense(1)\n";
/* clang-format on */

const char *far_arch_grammar(void)
{
    return grammar;
}
