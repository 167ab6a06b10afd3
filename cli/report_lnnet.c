#include "report_lnnet.h"
#include "lnnet_film.h"
#include "show.h"

#include <stdio.h>
#include <stdlib.h>

static lnnet_points points_of(const report_built *b, const char **names)
{
    for (int64_t k = 0; k < b->points->classes; k++) {
        names[k] = far_columns_class(far_examples_columns(b->points->data), k);
    }
    return (lnnet_points){b->points->x, b->points->labels, b->points->classes, names};
}

static void put_verdict(report *r, const report_built *b)
{
    const far_lnnet_info *i = b->info;
    bool plain = i->precision == FAR_LNNET_DOUBLE;
    report_verdict(r, plain ? FAR_TONE_GOOD : FAR_TONE_PLAIN,
                   "All %lld rows are classified rightly by %lld layers of %lld neurons, linear "
                   "maps and layer norms alone%s. Nothing was trained.",
                   (long long)b->points->x.rows, (long long)i->layers, (long long)i->width,
                   plain ? "" : ", in more than double precision");
}

static void add_row(report *r, const char *what, const char *value)
{
    report_cell(r, "%s", what);
    report_cell(r, "%s", value);
}

static void put_table(report *r, const report_built *b)
{
    static const char *const HEADS[] = {"", "value"};
    const far_lnnet_info *i = b->info;
    char text[96], time[SHOW_BYTES];
#define ROW(what, ...)                                                                             \
    do {                                                                                           \
        snprintf(text, sizeof text, __VA_ARGS__);                                                  \
        add_row(r, what, text);                                                                    \
    } while (0)
    ROW("different points", "%lld", (long long)i->points);
    ROW("classes", "%lld", (long long)i->classes);
    ROW("layers", "%lld", (long long)i->layers);
    ROW("neurons in a layer", "%lld", (long long)i->width);
    ROW("mode", "%s", far_lnnet_mode_name(i->mode));
    ROW("smallest gap of classes", "%.3g, after layer %lld", i->gap, (long long)i->gap_layer);
    ROW("gap behind the last layer", "%.3g", i->final_gap);
    ROW("margin of the outputs", "%.3g", i->margin);
    ROW("precision", "%s, %lld bits", far_lnnet_precision_name(i->precision), (long long)i->bits);
    ROW("projections tried", "%lld", (long long)i->tries);
    ROW("time", "%s", show_time(i->seconds, time));
#undef ROW
    report_table(r, "What was built.", HEADS, 2);
}

static void put_film(report *r, const report_built *b)
{
    const char **names = calloc((size_t)b->points->classes + 1, sizeof *names);
    far_figure *film = NULL;
    if (names && b->info->layers > 0) {
        lnnet_points p = points_of(b, names);
        far_status st = lnnet_film(r->s->ctx, b->net, &p, &film);
        report_give(r, st, film);
        report_figure_files(r, "way");
        report_place(r, "way",
                     b->info->groups > 1
                         ? "The way of the points through the first chain: on the circle, then "
                           "the number that is read."
                         : "The way of the points through the layers: on the circle, then the "
                           "ordinate that is read.");
    }
    free(names);
}

void report_lnnet(report *r, const report_built *b, int argc, char **argv)
{
    report_title(r, "A network of layer norms");
    put_verdict(r, b);
    put_table(r, b);
    put_film(r, b);
    report_command(r, argc, argv);
    report_fact(r, "architecture", "%s", far_net_text(b->net));
    report_fact(r, "data", "%s, SHA-256 of what was used %s", b->points->table.label,
                far_columns_hash(far_examples_columns(b->points->data)));
}
