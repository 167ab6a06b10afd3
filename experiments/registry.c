#include "registry.h"

#define LAYER_NORM "Ziomek, Whittle, Osborne 2025, arXiv 2505.14512"

#define NONLINEARITY "Ni, Guo, Jia, Huang 2024, arXiv 2406.01255"

#define NOT_READ                                                                                   \
    "The full text of this paper was not available to us: we had its abstract and accounts of "    \
    "its "                                                                                         \
    "figures. None of its numbers is quoted; sizes, widths and depths are ours."

/* Seconds: on two cores, of the quick form and of the full one. */
const experiment EXPERIMENTS[] = {
    {"ln-fig1", "Toy predictions far outside the data (Figure 1)", LAYER_NORM, NULL, 2, 20,
     run_ln_fig1, NULL},
    {"ln-fig2", "Tangent kernels at initialisation (Figure 2)", LAYER_NORM, NULL, 1, 1, run_ln_fig2,
     NULL},
    {"ln-table1", "Proteins in and out of the domain (Table 1)", LAYER_NORM, "protein", 15, 4200,
     run_ln_table1, NULL},
    {"ln-fig3", "What is predicted for large proteins (Figure 3)", LAYER_NORM, "protein", 8, 4000,
     run_ln_fig3, NULL},
    {"ln-table2", "Ages of faces in and out of the domain (Table 2)", LAYER_NORM, "utkface", 15,
     400, run_ln_table2, NULL},
    {"ln-fig4", "Errors by similarity to the training faces (Figure 4)", LAYER_NORM, "utkface", 12,
     300, run_ln_fig4, NULL},
    {"ln-appendix-k", "Other activations: gelu, silu, tanh (Appendix K)", LAYER_NORM, NULL, 3, 70,
     run_ln_appendix_k, NULL},
    {"ln-appendix-l", "Batch norm against layer norm (Appendix L)", LAYER_NORM, NULL, 1, 20,
     run_ln_appendix_l, NULL},
    {"ln-appendix-m", "A transformer on straight lines that go on (Appendix M)", LAYER_NORM, NULL,
     3, 80, run_ln_appendix_m, NULL},
    {"ln-theorems", "Theorems 3.1 to 3.3, C.1 to C.3, Proposition 3.4, in numbers", LAYER_NORM,
     NULL, 4, 90, run_ln_theorems, NULL},
    {"ln-widths", "Trained networks against the limit of infinite width", LAYER_NORM, NULL, 5, 700,
     run_ln_widths, NULL},
    {"lnnet-fig1", "XOR by one layer norm, step by step (Figure 1)", NONLINEARITY, NULL, 1, 1,
     run_lnnet_fig1, NOT_READ},
    {"lnnet-fig2", "One merge, and a whole network as a film (Figure 2)", NONLINEARITY, NULL, 1, 1,
     run_lnnet_fig2, NOT_READ},
    {"lnnet-fig3", "Confusion and its cure (Figure 3)", NONLINEARITY, NULL, 1, 2, run_lnnet_fig3,
     NOT_READ},
    {"lnnet-fig4", "Labels at random: linear, trained, built (Figure 4)", NONLINEARITY,
     "mnist cifar10", 8, 8000, run_lnnet_fig4, NOT_READ},
    {"lnnet-fig5", "Layer norm in groups: fit and bending (Figure 5)", NONLINEARITY,
     "mnist cifar10", 5, 6000, run_lnnet_fig5, NOT_READ},
    {"lnnet-cnn", "Layer norm in groups of channels, in a CNN", NONLINEARITY, "cifar10", 2, 200,
     run_lnnet_cnn, NOT_READ},
    {"lnnet-transformer", "Layer norm in groups, in a transformer on text", NONLINEARITY,
     "fortunes", 2, 300, run_lnnet_transformer, NOT_READ},
    {"lnnet-theorems", "Proposition 1, Theorem 1, layers, VC dimension, H", NONLINEARITY, NULL, 2,
     60, run_lnnet_theorems, NOT_READ},
    {"linearization", "Fine-tuning near its start, linearised, layer by layer",
     "Afzal et al. 2025, arXiv 2602.08239", "optdigits", 5, 20, run_linearization, NULL},
    {"linearization-text", "The same of a text transformer, tuned with LoRA (--text)",
     "Afzal et al. 2025, arXiv 2602.08239", "fortunes", 10, 1000, run_linearization_text, NULL},
    {"edge-of-stability", "Rates, sharpness, and alignment at equal loss",
     "Jiang et al. 2025, arXiv 2507.12837", "optdigits", 20, 240, run_edge_of_stability, NULL},
    {"linearized", "Eigenvectors of the kernel as tasks: network and kernel",
     "Ortiz-Jimenez, Moosavi-Dezfooli, Frossard 2021, arXiv 2106.06770", "optdigits", 8, 60,
     run_linearized, NULL},
    {"siren", "Sine networks that learn a picture, and their kernel",
     "Castiglione et al. 2025, openreview GDdGGXF4Kg", NULL, 10, 700, run_siren, NULL},
    {"siren-photos", "Several photographs: alignment, and waves in the residuals",
     "Castiglione et al. 2025, openreview GDdGGXF4Kg", "images", 8, 600, run_siren_photos, NULL},
    {"ella", "Linearised Laplace by few features, against exact",
     "Deng, Zhou, Zhu 2022, arXiv 2210.12642", "optdigits", 10, 180, run_ella, NULL},
    {"ella-images", "Laplace of a CNN: ELLA, diagonal, KFAC, last layer, exact",
     "Deng, Zhou, Zhu 2022, arXiv 2210.12642", "fashion-mnist", 5, 3600, run_ella_images, NULL},
    {"loss-asymptotics", "Power laws of the loss, from spectrum and target",
     "Velikanov, Yarotsky 2021, arXiv 2105.00507", NULL, 10, 300, run_loss_asymptotics, NULL},
};
const int EXPERIMENT_COUNT = sizeof EXPERIMENTS / sizeof EXPERIMENTS[0];
