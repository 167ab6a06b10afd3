/* Compiled once per instruction set with -DFAR_ISA=avx512|avx2|baseline; see cmake/library.cmake.
 */
#include "doubled.h"
#include "doubled_sum.h"

#define PASTE(a, b) a##b
#define EXPAND(a, b) PASTE(a, b)
#define LANES 32

void EXPAND(far_doubled_cols_, FAR_ISA)(const far_doubled_block *block, const double *x,
                                        const double *x_low, double *restrict y,
                                        double *restrict y_low)
{
    for (int64_t i = 0; i < block->rows; i++) {
        const double *restrict row = block->data + i * block->ld;
        for (int64_t j = 0; j < block->cols; j++) {
            add_product(y + j, y_low + j, row[j], x[i], x_low[i]);
        }
    }
}

/* Each lane sums every LANES-th product; then the lanes are summed by halves. */
static void row_product(const double *restrict row, const double *restrict x,
                        const double *restrict x_low, int64_t cols, double *y, double *y_low)
{
    double sum[LANES] = {0}, low[LANES] = {0};
    int64_t whole = cols - cols % LANES;
    for (int64_t j = 0; j < whole; j += LANES) {
        for (int k = 0; k < LANES; k++) {
            add_product(sum + k, low + k, row[j + k], x[j + k], x_low[j + k]);
        }
    }
    for (int64_t j = whole; j < cols; j++) {
        add_product(sum + (j - whole), low + (j - whole), row[j], x[j], x_low[j]);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            add_pair(sum + k, low + k, sum[k + half], low[k + half]);
        }
    }
    add_pair(y, y_low, sum[0], low[0]);
}

void EXPAND(far_doubled_rows_, FAR_ISA)(const far_doubled_block *block, const double *x,
                                        const double *x_low, double *restrict y,
                                        double *restrict y_low)
{
    for (int64_t i = 0; i < block->rows; i++) {
        row_product(block->data + i * block->ld, x, x_low, block->cols, y + i, y_low + i);
    }
}
