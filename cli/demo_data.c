/* Data for the demonstration: three functions on a line, and a table from a law of physics. */
#include "demo.h"

#include <math.h>

enum {
    TOY_TRAIN = 100,
    TOY_IN = 99,
    TOY_OUT = 80,
    COFFEE_TRAIN = 400,
    COFFEE_IN = 100,
    COFFEE_OUT = 200
};
static const double TOY_EDGE = 5, TOY_END = 25, HOUR = 60, NOISE = 0.3, FAR_END = 1e6;

int64_t demo_points(const demo_set *set)
{
    return demo_far(set) + set->far_count;
}

int64_t demo_curve(const demo_set *set)
{
    return set->in_count + set->out_count;
}

int64_t demo_far(const demo_set *set)
{
    return demo_curve(set) + set->curve_count;
}

void demo_along(const demo_set *set, int64_t start, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = set->x[(start + i) * set->input_count];
    }
}

/* ---- functions on a line, as in the paper on layer norm ------------------------------------- */

typedef double (*toy_fn)(double x);

static double line(double x)
{
    return x;
}

static double square(double x)
{
    return x * x;
}

static void put_toy(demo_set *set, int64_t i, double x, toy_fn f)
{
    set->x[i] = x;
    set->truth[i] = f(x);
}

static void make_toy(const char *name, const char *law, toy_fn f, demo_set *set)
{
    *set = (demo_set){.name = name,
                      .law = law,
                      .shift = "learnt from 100 points on [-5, 5], asked for out to 25",
                      .target = "y",
                      .inputs = {"x"},
                      .input_count = 1,
                      .train_count = TOY_TRAIN,
                      .in_count = TOY_IN,
                      .out_count = TOY_OUT,
                      .curve_count = DEMO_CURVE,
                      .epochs = 3000};
    double step = 2 * TOY_EDGE / (TOY_TRAIN - 1), wider = (TOY_END - TOY_EDGE) / (TOY_OUT / 2);
    for (int i = 0; i < TOY_TRAIN; i++) {
        set->train_x[i] = -TOY_EDGE + step * i;
        set->train_y[i] = f(set->train_x[i]);
    }
    for (int i = 0; i < TOY_IN; i++) { /* halfway between */
        put_toy(set, i, -TOY_EDGE + step * (i + 0.5), f);
    }
    for (int i = 0; i < TOY_OUT; i++) {
        double x = TOY_EDGE + wider * (i / 2 + 1);
        put_toy(set, TOY_IN + i, i % 2 ? -x : x, f);
    }
    for (int i = 0; i < DEMO_CURVE; i++) {
        put_toy(set, demo_curve(set) + i, TOY_END * (2.0 * i / (DEMO_CURVE - 1) - 1), f);
    }
}

/* ---- a cup of coffee ------------------------------------------------------------------------ */

/* Newton's law of cooling: temperature after time, of a cup that starts at start in a room at room
 * and closes 63% of the gap in tau. */
static double cooled(const double *x)
{
    double time = x[0], start = x[1], room = x[2], tau = x[3];
    return room + (start - room) * exp(-time / tau);
}

/* The counter-th number in (0, 1) of a fixed sequence (the finaliser of splitmix64). */
static double uniform(uint64_t counter)
{
    uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t counter)
{
    double angle = 2 * acos(-1) * uniform(2 * counter + 1);
    return sqrt(-2 * log(uniform(2 * counter))) * cos(angle);
}

/* Cup number row, measured between two times. */
static void pour(uint64_t row, double from, double to, double *x)
{
    x[0] = from + (to - from) * uniform(4 * row);
    x[1] = 60 + 35 * uniform(4 * row + 1);
    x[2] = 5 + 25 * uniform(4 * row + 2);
    x[3] = 15 + 30 * uniform(4 * row + 3);
}

/* The same cup at that time: the one that is drawn. */
static void put_cup(demo_set *set, int64_t i, double time)
{
    double *x = set->x + i * DEMO_INPUTS;
    x[0] = time;
    x[1] = 85;
    x[2] = 20;
    x[3] = 30;
    set->truth[i] = cooled(x);
}

static void make_coffee(demo_set *set)
{
    *set =
        (demo_set){.name = "coffee",
                   .law = "Newton's law of cooling, T = room + (start - room) exp(-time / tau), "
                          "in C and minutes",
                   .shift = "learnt from 400 measurements (noise 0.3 C) in the first hour, asked "
                            "for the next two",
                   .target = "temperature",
                   .inputs = {"time", "start", "room", "tau"},
                   .input_count = DEMO_INPUTS,
                   .train_count = COFFEE_TRAIN,
                   .in_count = COFFEE_IN,
                   .out_count = COFFEE_OUT,
                   .curve_count = DEMO_CURVE,
                   .far_count = DEMO_FAR,
                   .epochs = 1000};
    for (int i = 0; i < COFFEE_TRAIN; i++) {
        double *x = set->train_x + i * DEMO_INPUTS;
        pour((uint64_t)i, 0, HOUR, x);
        set->train_y[i] = cooled(x) + NOISE * normal((uint64_t)(10000 + i));
    }
    for (int i = 0; i < COFFEE_IN + COFFEE_OUT; i++) {
        double *x = set->x + i * DEMO_INPUTS;
        bool out = i >= COFFEE_IN;
        pour((uint64_t)(COFFEE_TRAIN + i), out ? HOUR : 0, out ? 3 * HOUR : HOUR, x);
        set->truth[i] = cooled(x);
    }
    for (int i = 0; i < DEMO_CURVE; i++) {
        put_cup(set, demo_curve(set) + i, 3 * HOUR * i / (DEMO_CURVE - 1));
    }
    for (int i = 0; i < DEMO_FAR; i++) {
        put_cup(set, demo_far(set) + i, pow(FAR_END, (double)i / (DEMO_FAR - 1)));
    }
}

void demo_make_sets(demo_set sets[DEMO_SETS])
{
    make_coffee(&sets[DEMO_COFFEE]);
    make_toy("sine", "y = sin x", sin, &sets[1]);
    make_toy("line", "y = x", line, &sets[2]);
    make_toy("parabola", "y = x^2", square, &sets[3]);
}
