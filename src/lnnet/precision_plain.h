/* The operations of precision_impl.h on numbers that C computes with. */
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define TIMES(a, n) ((a) * (n))
#define OVER(a, n) ((a) / (n))
#define NEG(a) (-(a))
#define ABS(a) ((a) < 0 ? -(a) : (a))

#define NUM(d) ((REAL)(d))
#define POWER(n) ((REAL)ldexp(1, (int)(n)))
#define NEAR(a) ((double)(a))
#define DIFFERENCE(a, b) ((double)((a) - (b)))

#define LESS(a, b) ((a) < (b))
#define AT_MOST(a, b) ((a) <= (b))
#define IS_POSITIVE(a) ((a) > 0)
#define IS_ZERO(a) ((a) == 0)
#define IS_FINITE(a) ((a) - (a) == 0)

#define NEW ((REAL)0)
#define SET(x, a) ((x) = (a))
#define SET_TO(x, d) ((x) = (REAL)(d))
#define MARK 0
#define RELEASE(mark) ((void)(mark))

#define NUMBER_SIZE(bits) (sizeof(REAL))
#define PAD_SIZE(bits) ((size_t)(0 * (bits)))
#define START(array, bits, count) ((void)(bits))
#define OPEN_PAD(pad, bits) ((void)(pad))

#define PASS_ROWS 32
