/* The environment that OpenMP and OpenBLAS read before main: for the command and the benchmarks. */
#ifndef FAR_RESTART_H
#define FAR_RESTART_H

/* What OpenBLAS reads, and what it had chosen before start_again set that; not there if it did
 * not. */
#define CORE_TYPE "OPENBLAS_CORETYPE"
#define CORE_BEFORE "FARFIELD_CORE_BEFORE"

/* Starts the program once more where a variable should have been set and is not; argv as main has
 * it. First thing in main. */
void start_again(char **argv);

#endif
