/*
 * draw_net.h: architectures drawn from the whole language, for tests. Each choice comes from a
 * source of the test's own: a random number (test_differential.c) or the bytes of a fuzzer
 * (fuzz_kernel.c). Most have a kernel; some are refused, which is for the test to see.
 */
#ifndef DRAW_NET_H
#define DRAW_NET_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct chooser {
    int (*below)(void *source, int limit); /* one of 0 .. limit - 1; 0 is the plainest choice */
    void *source;
    bool cheap; /* no relu(p) with a fraction p, whose tables take long to make */
} chooser;

typedef struct drawn_net {
    char text[2048];
    size_t length;
    bool standard;
    bool on_input; /* layers stand on the raw input */
    int width;     /* of all hidden layers; 0: not written */
    int groups;    /* the input dimension must be a multiple of this */
    chooser by;
} drawn_net;

#define NET_CHOICES(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define NET_PICK(n, array) (array)[net_choose(n, NET_CHOICES(array))]

static int net_choose(drawn_net *n, int limit)
{
    return n->by.below(n->by.source, limit);
}

/* Never for the choice 0, so that a source that has run out ends every list. */
static bool net_one_in(drawn_net *n, int times)
{
    return net_choose(n, times) == times - 1;
}

__attribute__((format(printf, 2, 3))) static void net_put(drawn_net *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    n->length += (size_t)vsnprintf(n->text + n->length, sizeof n->text - n->length, format, args);
    va_end(args);
    if (n->length >= sizeof n->text) {
        abort(); /* what is drawn is far shorter */
    }
}

/* Arguments so far: "(" before the first, ", " before the others. */
static const char *net_separator(int *count)
{
    return (*count)++ ? ", " : "(";
}

static void net_put_dense(drawn_net *n)
{
    static const char *const weights[] = {"1", "0.5", "1.5", "2", "0.05", "7"};
    static const char *const biases[] = {"0.3", "0", "1", "3"};
    int args = 0;
    net_put(n, " dense");
    if (n->width > 0) {
        net_put(n, "%s%d", net_separator(&args), n->width);
    }
    if (net_one_in(n, 3)) {
        net_put(n, "%sw=%s", net_separator(&args), NET_PICK(n, weights));
    }
    if (net_one_in(n, 5)) {
        net_put(n, "%snobias", net_separator(&args));
    } else if (net_one_in(n, 4)) {
        net_put(n, "%sb=%s", net_separator(&args), NET_PICK(n, biases));
    }
    net_put(n, args ? ")" : "");
}

static void net_put_activation(drawn_net *n)
{
    static const char *const names[] = {"relu",     "gelu",      "tanh",         "sin",
                                        "erf",      "silu",      "abs",          "leaky_relu",
                                        "relu(2",   "relu(3",    "relu",         "leaky_relu(0.3",
                                        "identity", "relu(1.5",  "relu(0.75",    "relu(2.5",
                                        "relu(5",   "sin(w0=30", "sin(w0=0.1",   "leaky_relu(-0.5",
                                        "sin(w0=3", "gelu",      "leaky_relu(3", "tanh",
                                        "silu",     "sin(w0=11", "erf",          "relu(power=4"};
    static const char *const gains[] = {"1", "0.5", "2"};
    const char *name = NET_PICK(n, names);
    name = n->by.cheap && !strncmp(name, "relu", 4) && strchr(name, '.') ? "relu(2" : name;
    int args = strchr(name, '(') ? 1 : 0;
    net_put(n, " %s", name);
    if (net_one_in(n, 6)) {
        net_put(n, "%sgain=%s", net_separator(&args), NET_PICK(n, gains));
    }
    net_put(n, args ? ")" : "");
}

static void net_put_norm(drawn_net *n, bool input)
{
    static const char *const names[] = {"ln", "rms", "ln", "rms", "batchnorm"};
    static const char *const eps[] = {"1e-5", "0.5", "3", "1e-12"};
    const char *name = NET_PICK(n, names);
    int args = 0;
    net_put(n, " %s", name);
    if (name[0] == 'l' && net_one_in(n, 5)) {
        int groups = 2 + net_choose(n, 2);
        net_put(n, "%sgroups=%d", net_separator(&args), groups);
        n->groups *= input && n->groups % groups ? groups : 1;
    }
    if (net_one_in(n, 4)) {
        net_put(n, "%seps=%s", net_separator(&args), NET_PICK(n, eps));
    }
    if (net_one_in(n, 6)) {
        net_put(n, "%saffine", net_separator(&args));
    }
    net_put(n, args ? ")" : "");
}

static void net_put_some_norms(drawn_net *n)
{
    for (int i = net_one_in(n, 2) ? 1 + net_one_in(n, 5) : 0; i > 0; i--) {
        net_put_norm(n, false);
    }
}

/* Mostly what makes sense: norms, an activation, norms, a dense. */
static void net_put_unit(drawn_net *n)
{
    net_put_some_norms(n);
    if (!net_one_in(n, 12)) {
        net_put_activation(n);
        net_put_some_norms(n);
    }
    net_put_dense(n);
}

static void net_put_block(drawn_net *n, int depth)
{
    static const char *const opened[] = {"", "", "", "", "", " skip(", " skip(", " ["};
    const char *open = depth > 2 ? "" : NET_PICK(n, opened);
    net_put(n, "%s", open);
    net_put_unit(n);
    if (open[0] && net_one_in(n, 3)) {
        net_put_block(n, depth + 1);
    }
    if (open[0]) {
        net_put(n, open[1] == '[' ? "]x%d" : ")", 2 + net_choose(n, 2));
    }
}

static void net_put_on_input(drawn_net *n)
{
    for (int i = net_one_in(n, 3) ? 1 + net_one_in(n, 4) : 0; i > 0; i--) {
        n->on_input = true;
        if (net_one_in(n, 5)) {
            net_put_activation(n);
        } else {
            net_put_norm(n, true);
        }
    }
}

/* One to four hidden layers, a few more where blocks are repeated. */
static void net_draw(drawn_net *n, chooser by)
{
    static const int widths[] = {64, 7, 1000};
    *n = (drawn_net){.by = by, .groups = 1};
    n->standard = net_one_in(n, 4);
    n->width = n->standard ? NET_PICK(n, widths) : 0;
    net_put_on_input(n);
    net_put_dense(n);
    for (int i = net_choose(n, 4); i >= 0; i--) {
        net_put_block(n, 0);
    }
    if (net_one_in(n, 8)) { /* what ends in an activation or a norm is a network too */
        net_put_activation(n);
        net_put_some_norms(n);
    }
}

#endif
