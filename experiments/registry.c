#include "registry.h"

#define LAYER_NORM "Ziomek, Whittle, Osborne 2025, arXiv 2505.14512"

const experiment EXPERIMENTS[] = {
    {"ln-fig1", "Toy predictions far outside the data (Figure 1)", LAYER_NORM, NULL, 3, 30,
     run_ln_fig1},
};
const int EXPERIMENT_COUNT = sizeof EXPERIMENTS / sizeof EXPERIMENTS[0];
