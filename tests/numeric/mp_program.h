/*
 * mp_program.h: finite networks once more, in MPFR arithmetic, for the tests.
 *
 * Shares with the library the list of steps and the weights, and no arithmetic: with enough bits
 * this is what the network is in real numbers, exact zeros of norms included.
 */
#ifndef MP_PROGRAM_H
#define MP_PROGRAM_H

#include "../../src/net/net_internal.h"

#include <mpfr.h>

/* Bits that hold the sum of any products of two doubles exactly. */
enum { MP_PROGRAM_EXACT = 4400, MP_PROGRAM_ROUNDED = 400 };

typedef struct mp_program mp_program;
mp_program *mp_program_create(const far_net *net, long bits);
void mp_program_destroy(mp_program *m);
/* f at a raw point, in raw units: as many numbers as there are outputs. */
mpfr_t *mp_program_eval(mp_program *m, const double *raw);
/* The numbers of the last evaluation. */
mpfr_t *mp_program_outputs(mp_program *m);

#endif
