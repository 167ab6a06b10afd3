/* The experiments themselves; registry.c lists them. */
#ifndef FAR_EXPERIMENTS_REGISTRY_H
#define FAR_EXPERIMENTS_REGISTRY_H

#include "reproduce.h"

far_status run_ln_fig1(reproduction *r);
far_status run_ln_fig2(reproduction *r);
far_status run_ln_table1(reproduction *r);
far_status run_ln_fig3(reproduction *r);
far_status run_ln_table2(reproduction *r);
far_status run_ln_fig4(reproduction *r);
far_status run_ln_appendix_k(reproduction *r);
far_status run_ln_appendix_l(reproduction *r);
far_status run_ln_appendix_m(reproduction *r);
far_status run_ln_theorems(reproduction *r);
far_status run_ln_widths(reproduction *r);
far_status run_lnnet_fig1(reproduction *r);
far_status run_lnnet_fig2(reproduction *r);
far_status run_lnnet_fig3(reproduction *r);
far_status run_lnnet_fig4(reproduction *r);
far_status run_lnnet_fig5(reproduction *r);
far_status run_lnnet_cnn(reproduction *r);
far_status run_lnnet_transformer(reproduction *r);
far_status run_lnnet_theorems(reproduction *r);
far_status run_siren(reproduction *r);
far_status run_siren_photos(reproduction *r);
far_status run_linearization(reproduction *r);
far_status run_linearization_text(reproduction *r);
far_status run_edge_of_stability(reproduction *r);
far_status run_linearized(reproduction *r);
far_status run_ella(reproduction *r);
far_status run_ella_images(reproduction *r);
far_status run_loss_asymptotics(reproduction *r);

#endif
