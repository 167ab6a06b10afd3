/* The experiments on real data. */
#ifndef FAR_EXPERIMENTS_EXPERIMENTS_H
#define FAR_EXPERIMENTS_EXPERIMENTS_H

#include "reproduce.h"

far_status ln_table1_run(reproduction *r);
far_status ln_fig3_run(reproduction *r);
far_status ln_table2_run(reproduction *r);
far_status ln_fig4_run(reproduction *r);

#endif
