/* The demonstration's table, for people and for programs. */
#include "demo.h"
#include "json.h"
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 5, VERDICT = 3, CELL_BYTES = 32 };
static const char *const HEADS[COLUMNS] = {"R2 in range", "R2 out of range", "largest |f|",
                                           "bounded", "|f| <="};

typedef char cell[CELL_BYTES];

const char *demo_verdict(const demo_result *r)
{
    return r->verdict == FAR_BOUNDED ? "yes" : r->verdict == FAR_UNBOUNDED ? "no" : "undecided";
}

const char *demo_show_score(demo_score score, char buffer[32])
{
    double size = fabs(score.mean);
    const char *format = size < 1000 ? "%.3f" : "%.4g";
    int length = snprintf(buffer, CELL_BYTES, format, score.mean);
    if (!isnan(score.half)) {
        snprintf(buffer + length, CELL_BYTES - (size_t)length,
                 score.half < 1000 ? " +- %.3f" : " +- %.3g", score.half);
    }
    return buffer;
}

static void fill_cells(const demo_result *r, cell cells[COLUMNS])
{
    demo_show_score(r->r2_in, cells[0]);
    demo_show_score(r->r2_out, cells[1]);
    snprintf(cells[2], CELL_BYTES, "%.4g", r->largest);
    snprintf(cells[VERDICT], CELL_BYTES, "%s", demo_verdict(r));
    snprintf(cells[4], CELL_BYTES, isfinite(r->bound) ? "%.4g" : "-", far_round_up(r->bound, 4));
}

/* ---- for people ---------------------------------------------------------------------------- */

typedef struct widths {
    int name, column[COLUMNS];
} widths;

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text);
    *width = length > *width ? length : *width;
}

static widths measure(const demo *d)
{
    widths w = {.name = (int)strlen("model")};
    for (int k = 0; k < COLUMNS; k++) {
        widen(&w.column[k], HEADS[k]);
    }
    for (int i = 0; i < DEMO_SETS * DEMO_MODELS; i++) {
        const demo_result *r = &d->results[i / DEMO_MODELS][i % DEMO_MODELS];
        cell cells[COLUMNS];
        widen(&w.name, demo_model_name(i % DEMO_MODELS));
        fill_cells(r, cells);
        for (int k = 0; r->there && k < COLUMNS; k++) {
            widen(&w.column[k], cells[k]);
        }
    }
    return w;
}

static bool colours(void)
{
    const char *plain = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && (!plain || !*plain);
}

static void print_row(const widths *w, const char *name, const demo_result *r)
{
    cell cells[COLUMNS];
    if (!r->there) {
        print("  %-*s  not there\n", w->name, name);
        return;
    }
    fill_cells(r, cells);
    print("  %-*s", w->name, name);
    for (int k = 0; k < COLUMNS; k++) {
        bool coloured = k == VERDICT && colours();
        const char *colour = r->verdict == FAR_BOUNDED ? "\033[32m" : "\033[31m";
        fputs(coloured ? colour : "", stdout);
        print("  %*s", w->column[k], cells[k]);
        fputs(coloured ? "\033[0m" : "", stdout);
    }
    print("\n");
}

static void print_head(const widths *w)
{
    print("  %-*s", w->name, "model");
    for (int k = 0; k < COLUMNS; k++) {
        print("  %*s", w->column[k], HEADS[k]);
    }
    print("\n");
}

static void print_words(const demo *d)
{
    const demo_result *r = d->results[DEMO_COFFEE];
    int64_t last = demo_far(&d->sets[DEMO_COFFEE]) - 1;
    print("\nThree hours after pouring, a cup that stands at 20 C is at %.1f C. A network without "
          "a norm says\n%.1f (infinite width) and %.1f (width 128); with one layer norm %.1f and "
          "%.1f.\n",
          d->sets[DEMO_COFFEE].truth[last], r[0].mean[last], r[2].mean[last], r[1].mean[last],
          r[3].mean[last]);
    print("Bounded is proven, for every input; it is not the same as right: where the truth "
          "itself runs away\n(line, parabola), a bounded model cannot follow.\n");
}

/* Whatever the data, the reason is the same. */
static void print_absent(const demo *d)
{
    for (int k = 0; k < DEMO_MODELS; k++) {
        if (!d->results[0][k].there) {
            print("\n%s is not there: %s\n", demo_model_name(k), d->results[0][k].reason);
        }
    }
}

void demo_print(const demo *d)
{
    widths w = measure(d);
    for (int i = 0; i < DEMO_SETS; i++) {
        const demo_set *set = &d->sets[i];
        print("%s: %s\n  %s\n", set->name, set->law, set->shift);
        print_head(&w);
        for (int k = 0; k < DEMO_MODELS; k++) {
            print_row(&w, demo_model_name(k), &d->results[i][k]);
        }
        print(i < DEMO_SETS - 1 ? "\n" : "");
    }
    print_absent(d);
    if (!d->args.quiet) {
        print_words(d);
    }
}

/* ---- for programs -------------------------------------------------------------------------- */

static void json_optional(const char *key, double value)
{
    if (isfinite(value)) {
        json_number_field(stdout, key, value);
    } else {
        json_null_field(stdout, key);
    }
}

static void json_result(const demo *d, int set, int model)
{
    const demo_result *r = &d->results[set][model];
    json_begin(stdout);
    json_text_field(stdout, "data", d->sets[set].name);
    json_text_field(stdout, "model", demo_model_name(model));
    json_bool_field(stdout, "available", r->there);
    if (r->there) {
        json_number_field(stdout, "r2_in", r->r2_in.mean);
        json_number_field(stdout, "r2_out", r->r2_out.mean);
        json_optional("r2_in_ci95", r->r2_in.half);
        json_optional("r2_out_ci95", r->r2_out.half);
        json_number_field(stdout, "largest", r->largest);
        json_text_field(stdout, "bounded", demo_verdict(r));
        json_optional("bound", r->bound);
    }
    json_close(stdout);
}

void demo_print_json(const demo *d)
{
    putchar('[');
    for (int i = 0; i < DEMO_SETS * DEMO_MODELS; i++) {
        fputs(i ? ",\n " : "\n ", stdout);
        json_result(d, i / DEMO_MODELS, i % DEMO_MODELS);
    }
    puts("\n]");
}
