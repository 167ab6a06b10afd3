#include "registry.h"

#define LAYER_NORM "Ziomek, Whittle, Osborne 2025, arXiv 2505.14512"

#define NONLINEARITY "Ni, Guo, Jia, Huang 2024, arXiv 2406.01255"

/* Seconds: on two cores, of the quick form and of the full one. */
const experiment EXPERIMENTS[] = {
    {"ln-fig1", "Toy predictions far outside the data (Figure 1)", LAYER_NORM, NULL, 2, 20,
     run_ln_fig1},
    {"ln-fig2", "Tangent kernels at initialisation (Figure 2)", LAYER_NORM, NULL, 1, 1,
     run_ln_fig2},
    {"ln-table1", "Proteins in and out of the domain (Table 1)", LAYER_NORM, "protein", 15, 4200,
     run_ln_table1},
    {"ln-fig3", "What is predicted for large proteins (Figure 3)", LAYER_NORM, "protein", 8, 1500,
     run_ln_fig3},
    {"ln-table2", "Ages of faces in and out of the domain (Table 2)", LAYER_NORM, "utkface", 15,
     400, run_ln_table2},
    {"ln-fig4", "Errors by similarity to the training faces (Figure 4)", LAYER_NORM, "utkface", 12,
     300, run_ln_fig4},
    {"ln-appendix-k", "Other activations: gelu, silu, tanh (Appendix K)", LAYER_NORM, NULL, 3, 70,
     run_ln_appendix_k},
    {"ln-appendix-l", "Batch norm against layer norm (Appendix L)", LAYER_NORM, NULL, 1, 20,
     run_ln_appendix_l},
    {"ln-theorems", "Every theorem of the paper, checked numerically", LAYER_NORM, NULL, 2, 10,
     run_ln_theorems},
    {"lnnet-fig1", "XOR by one layer norm, step by step (Figure 1)", NONLINEARITY, NULL, 1, 1,
     run_lnnet_fig1},
    {"lnnet-fig2", "One merge, and a whole network as a film (Figure 2)", NONLINEARITY, NULL, 1, 1,
     run_lnnet_fig2},
    {"lnnet-fig3", "Confusion and its cure (Figure 3)", NONLINEARITY, NULL, 1, 2, run_lnnet_fig3},
    {"lnnet-fig4", "Labels at random: linear, trained, built (Figure 4)", NONLINEARITY,
     "mnist cifar10", 20, 2700, run_lnnet_fig4},
    {"lnnet-fig5", "Layer norm in groups: fit and bending (Figure 5)", NONLINEARITY,
     "mnist cifar10", 10, 600, run_lnnet_fig5},
    {"linearization", "Fine-tuning near its start, linearised, layer by layer",
     "Afzal et al. 2025, arXiv 2602.08239", "optdigits", 5, 20, run_linearization},
    {"edge-of-stability", "Rates, sharpness, and alignment at equal loss",
     "Jiang et al. 2025, arXiv 2507.12837", "optdigits", 10, 60, run_edge_of_stability},
    {"linearized", "Eigenvectors of the kernel as tasks: network and kernel",
     "Ortiz-Jimenez, Moosavi-Dezfooli, Frossard 2021, arXiv 2106.06770", "optdigits", 8, 60,
     run_linearized},
    {"siren", "Sine networks that learn a picture, and their kernel",
     "Castiglione et al. 2025, openreview GDdGGXF4Kg", NULL, 10, 350, run_siren},
    {"ella", "Linearised Laplace by few features, against exact",
     "Deng, Zhou, Zhu 2022, arXiv 2210.12642", "optdigits", 8, 120, run_ella},
    {"loss-asymptotics", "Power laws of the loss, from spectrum and target",
     "Velikanov, Yarotsky 2021, arXiv 2105.00507", NULL, 10, 300, run_loss_asymptotics},
};
const int EXPERIMENT_COUNT = sizeof EXPERIMENTS / sizeof EXPERIMENTS[0];
