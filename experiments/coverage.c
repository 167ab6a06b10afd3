/* What of each paper is here: a row for each figure, table, theorem and section that we know of.
 * docs/reproductions/README.md has the same rows; a test holds them against each other. */
#include "registry.h"

const char *const COVERAGE_WORDS[COVERAGE_STATES] = {"tested", "by construction", "not reproduced",
                                                     "not available to us"};

#define LN "One layer norm"
#define LNNET "Nonlinearity of layer norm"
#define TUNE "Fine-tuning, linearised"
#define EOS "Edge of stability"
#define LINEARIZED "Linearised networks"
#define SIREN "Sine networks"
#define ELLA "Laplace by few features"
#define LOSS "Asymptotics of the loss"

const coverage COVERAGE[] = {
    {LN, "Figure 1", COVERAGE_TESTED, "ln-fig1", NULL},
    {LN, "Figure 2", COVERAGE_TESTED, "ln-fig2", NULL},
    {LN, "Table 1", COVERAGE_TESTED, "ln-table1", NULL},
    {LN, "Figure 3", COVERAGE_TESTED, "ln-fig3", NULL},
    {LN, "Table 2", COVERAGE_TESTED, "ln-table2", "the order alone: other features"},
    {LN, "Figure 4", COVERAGE_TESTED, "ln-fig4", "other features"},
    {LN, "Theorem 3.1", COVERAGE_TESTED, "ln-theorems",
     "depths 1 to 6, homogeneous activations, d = 1, 3, 10"},
    {LN, "Theorem 3.2", COVERAGE_TESTED, "ln-theorems", NULL},
    {LN, "Theorem 3.3", COVERAGE_TESTED, "ln-theorems",
     "its formula from an account: both readings, and what its proof gives"},
    {LN, "Proposition 3.4", COVERAGE_TESTED, "ln-theorems", NULL},
    {LN, "Theorem C.1, Corollary C.2", COVERAGE_TESTED, "ln-theorems", NULL},
    {LN, "Theorems C.2, C.3", COVERAGE_TESTED, "ln-theorems", "four activations"},
    {LN, "networks trained to the kernel's limit", COVERAGE_TESTED, "ln-widths",
     "the premise: widths 64 to 4096, relu, gelu and tanh, 3 and 10 inputs"},
    {LN, "Appendix K", COVERAGE_TESTED, "ln-appendix-k", NULL},
    {LN, "Appendix L", COVERAGE_TESTED, "ln-appendix-l", NULL},
    {LN, "Appendix M", COVERAGE_TESTED, "ln-appendix-m", "what is not stated is ours"},
    {LNNET, "Figure 1", COVERAGE_TESTED, "lnnet-fig1", NULL},
    {LNNET, "Figure 2", COVERAGE_TESTED, "lnnet-fig2", NULL},
    {LNNET, "Figure 3", COVERAGE_TESTED, "lnnet-fig3", NULL},
    {LNNET, "Figure 4", COVERAGE_TESTED, "lnnet-fig4", "fewer images; sizes are ours"},
    {LNNET, "Figure 5", COVERAGE_TESTED, "lnnet-fig5", "fewer images; sizes are ours"},
    {LNNET, "Proposition 1", COVERAGE_TESTED, "lnnet-theorems", "random points, linear networks"},
    {LNNET, "Theorem 1, breaking the linear bound", COVERAGE_TESTED, "lnnet-theorems",
     "random points; and XOR"},
    {LNNET, "three neurons, O(m) layers", COVERAGE_TESTED, "lnnet-theorems",
     "up to 20000 points; and lnnet-fig4"},
    {LNNET, "VC dimension", COVERAGE_TESTED, "lnnet-theorems", "from below: up to 10 points"},
    {LNNET, "groups amplify", COVERAGE_TESTED, "lnnet-theorems", "and lnnet-fig5"},
    {LNNET, "tables", COVERAGE_NOT_AVAILABLE, NULL, NULL},
    {LNNET, "CNN and Transformer section", COVERAGE_NOT_AVAILABLE, NULL,
     "its networks and numbers"},
    {LNNET, "groups in a CNN", COVERAGE_TESTED, "lnnet-cnn", "our own measurement"},
    {LNNET, "groups in a transformer", COVERAGE_TESTED, "lnnet-transformer", "our own measurement"},
    {TUNE, "Theorem 1", COVERAGE_TESTED, "linearization", NULL},
    {TUNE, "Theorem 2", COVERAGE_CONSTRUCTED, "linearization", "a bound of ours in its place"},
    {TUNE, "Theorem 3", COVERAGE_TESTED, "linearization", "that the gap shrinks; no constants"},
    {TUNE, "spectra when a layer is added", COVERAGE_CONSTRUCTED, "linearization", "Weyl"},
    {TUNE, "bounds for choosing layers", COVERAGE_CONSTRUCTED, "linearization",
     "bounds of ours: the paper's has a counterexample"},
    {TUNE, "condition number and loss", COVERAGE_TESTED, "linearization", "a small network"},
    {TUNE, "language models", COVERAGE_NOT_DONE, NULL, "RoBERTa with LoRA"},
    {EOS, "the edge", COVERAGE_TESTED, "edge-of-stability", NULL},
    {EOS, "alignment at equal loss", COVERAGE_TESTED, "edge-of-stability", NULL},
    {EOS, "theory of two-layer linear networks", COVERAGE_TESTED, "edge-of-stability",
     "a derivation of ours: the paper's was not available"},
    {EOS, "phases of the sharpness", COVERAGE_TESTED, "edge-of-stability", NULL},
    {EOS, "across different architectures", COVERAGE_TESTED, "edge-of-stability",
     "a small CNN and a small transformer, on digits"},
    {LINEARIZED, "tasks in the kernel's order", COVERAGE_TESTED, "linearized", NULL},
    {LINEARIZED, "network against kernel", COVERAGE_TESTED, "linearized", NULL},
    {LINEARIZED, "the kernel turns to the task", COVERAGE_TESTED, "linearized", NULL},
    {LINEARIZED, "CIFAR2: LeNet and a residual network", COVERAGE_TESTED, "linearized",
     "--cifar2; a small ResNet, 2048 images"},
    {LINEARIZED, "anisotropy directions", COVERAGE_TESTED, "linearized", NULL},
    {LINEARIZED, "LeNet, ResNet-18, CIFAR", COVERAGE_NOT_DONE, NULL, NULL},
    {SIREN, "correlation lengths", COVERAGE_TESTED, "siren", "their order; numbers are smaller"},
    {SIREN, "edges in the first eigenvector", COVERAGE_TESTED, "siren",
     "one image; several: siren-photos"},
    {SIREN, "the transition", COVERAGE_TESTED, "siren", "min C and lambda_0"},
    {SIREN, "wave patterns of the residuals", COVERAGE_TESTED, "siren", NULL},
    {SIREN, "several photographs", COVERAGE_TESTED, "siren-photos",
     "64 x 64 points, parts of the photographs that are there; not the paper's"},
    {SIREN, "other depths and networks", COVERAGE_NOT_DONE, NULL, NULL},
    {ELLA, "NLL and calibration", COVERAGE_TESTED, "ella", "digits"},
    {ELLA, "diagonal, KFAC and last-layer Laplace", COVERAGE_TESTED, "ella",
     "their distance from exact; not the order of NLL"},
    {ELLA, "CNNs: NLL, ECE, the other posteriors", COVERAGE_TESTED, "ella-images",
     "Fashion-MNIST, with MNIST out of domain"},
    {ELLA, "CIFAR-10, ImageNet", COVERAGE_NOT_DONE, NULL, NULL},
    {LOSS, "Theorem 1", COVERAGE_TESTED, "loss-asymptotics", NULL},
    {LOSS, "exponents and constants", COVERAGE_TESTED, "loss-asymptotics", NULL},
    {LOSS, "MNIST", COVERAGE_NOT_DONE, NULL, NULL},
};
const int COVERAGE_COUNT = sizeof COVERAGE / sizeof COVERAGE[0];
