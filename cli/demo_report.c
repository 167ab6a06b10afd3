/* What the demonstration tells: tables and, in its report, verdicts and pictures. */
#include "demo.h"
#include "verdict.h"

#include <farfield/predictor.h>
#include <math.h>
#include <stdio.h>

/* Warm colours: no norm; blue: a layer norm. Dashes: of finite width. */
static const int COLOUR[DEMO_MODELS] = {1, 0, 4, 5, 2, 3};
static const int DASH[DEMO_MODELS] = {FAR_DASH_SOLID,  FAR_DASH_SOLID, FAR_DASH_DASHED,
                                      FAR_DASH_DASHED, FAR_DASH_SOLID, FAR_DASH_SOLID};
enum { PLAIN_INFINITE, NORMED_INFINITE, PLAIN_FINITE, NORMED_FINITE };

static far_mark_opts model_mark(int model)
{
    far_mark_opts mark = report_mark(demo_model_name(model), COLOUR[model]);
    mark.dash = DASH[model];
    return mark;
}

static far_mark_opts truth_mark(void)
{
    far_mark_opts mark = report_mark("truth", FAR_COLOUR_INK);
    mark.width = 3;
    mark.dash = FAR_DASH_SOLID;
    return mark;
}

/* ---- words --------------------------------------------------------------------------------- */

static int count_verdict(const demo *d, int model, int verdict)
{
    int count = 0;
    for (int i = 0; i < DEMO_SETS; i++) {
        count += d->results[i][model].verdict == verdict;
    }
    return count;
}

static double at_the_end(const demo *d, int model)
{
    return d->results[DEMO_COFFEE][model].mean[demo_far(&d->sets[DEMO_COFFEE]) - 1];
}

static void put_verdicts(demo *d)
{
    const demo_result *coffee = d->results[DEMO_COFFEE];
    int firm = count_verdict(d, NORMED_INFINITE, FAR_BOUNDED) +
               count_verdict(d, NORMED_FINITE, FAR_BOUNDED);
    int loose = count_verdict(d, PLAIN_INFINITE, FAR_UNBOUNDED) +
                count_verdict(d, PLAIN_FINITE, FAR_UNBOUNDED);
    far_result_verdict(d->report.result, firm == 2 * DEMO_SETS ? FAR_TONE_GOOD : FAR_TONE_BAD,
                       "With one layer norm %d of %d networks are bounded for every input, proven. "
                       "Whatever is asked, no cup of coffee is said to leave \xc2\xb1%.0f \xc2\xb0"
                       "C (infinite width) or \xc2\xb1%.0f \xc2\xb0"
                       "C (width 128).",
                       firm, 2 * DEMO_SETS, ceil(coffee[NORMED_INFINITE].bound),
                       ceil(coffee[NORMED_FINITE].bound));
    far_result_verdict(d->report.result, FAR_TONE_BAD,
                       "Without a norm %d of %d networks run away: far enough out they exceed any "
                       "level. After three hours a cup in a room of 20 \xc2\xb0"
                       "C is said to be at %.0f \xc2\xb0"
                       "C (infinite width) and %.0f \xc2\xb0"
                       "C (width 128).",
                       loose, 2 * DEMO_SETS, at_the_end(d, PLAIN_INFINITE),
                       at_the_end(d, PLAIN_FINITE));
    far_result_verdict(d->report.result, FAR_TONE_PLAIN,
                       "Bounded is not the same as right: where the truth itself runs away (line, "
                       "parabola), a bounded model cannot follow it.");
}

/* ---- tables -------------------------------------------------------------------------------- */

static const char *verdict_word(const demo_result *r)
{
    return r->verdict == FAR_BOUNDED ? "yes" : r->verdict == FAR_UNBOUNDED ? "no" : "undecided";
}

/* "0.472", "-8.5 +- 3.1" */
static void put_score(far_result *r, const demo_result *result, demo_score score)
{
    char half[40] = "";
    if (!isnan(score.half)) {
        snprintf(half, sizeof half, score.half < 1000 ? " +- %.3f" : " +- %.3g", score.half);
    }
    far_result_cell_words(r, result->there ? score.mean : NAN,
                          !result->there            ? "-"
                          : fabs(score.mean) < 1000 ? "%.3f%s"
                                                    : "%.4g%s",
                          score.mean, half);
}

static void put_number(far_result *r, const demo_result *result, double value)
{
    far_result_cell(r, result->there ? value : NAN);
}

/* One data set, for a terminal. */
static void put_set(far_result *r, const demo *d, int set)
{
    static const far_result_column COLUMNS[] = {
        {NULL, "  model", NULL},           {NULL, "R2 in range", "%.3f"},
        {NULL, "R2 out of range", "%.3f"}, {NULL, "largest |f|", "%.4g"},
        {NULL, "bounded", NULL},           {NULL, "|f| <=", "%.4g"}};
    far_result_line(r, "%s: %s", d->sets[set].name, d->sets[set].law);
    far_result_line(r, "  %s", d->sets[set].shift);
    far_result_table(r, NULL, NULL, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int k = 0; k < DEMO_MODELS; k++) {
        const demo_result *result = &d->results[set][k];
        far_result_cell_text(r, "  %s", demo_model_name(k));
        put_score(r, result, result->r2_in);
        put_score(r, result, result->r2_out);
        put_number(r, result, result->largest);
        far_result_cell_text(r, "%s", result->there ? verdict_word(result) : "-");
        put_number(r, result, far_round_up(result->bound, 4));
    }
}

/* A slope that is there, and is nothing but what rounding left of 0: the points lie a few steps
 * from 0, and over them it is far below the last digits of what is predicted. */
static bool is_rounding(const demo_result *result)
{
    return fabs(result->slope) < 1e-14 * result->largest;
}

static void put_growth(far_result *r, const demo_result *result)
{
    char growth[GROWTH_BYTES];
    bool away = result->there && result->verdict == FAR_UNBOUNDED;
    far_result_cell_text(r, "%s%s",
                         away ? verdict_growth(result->slope, result->order, 3, true, growth) : "-",
                         away && is_rounding(result) ? ", which is rounding: 0 but for that" : "");
}

static void put_row(far_result *r, const char *data, int model, const demo_result *result)
{
    far_result_cell_text(r, "%s", data);
    far_result_cell_text(r, "%s", demo_model_name(model));
    far_result_cell_flag(r, result->there);
    put_score(r, result, result->r2_in);
    put_score(r, result, result->r2_out);
    put_number(r, result, result->r2_in.half);
    put_number(r, result, result->r2_out.half);
    put_number(r, result, result->largest);
    far_result_cell_text(r, result->there ? "%s" : NULL, verdict_word(result));
    far_result_cell_words(r, result->verdict == FAR_UNBOUNDED ? INFINITY : result->bound,
                          isnan(result->bound) ? "-" : "%.4g", far_round_up(result->bound, 4));
    put_growth(r, result);
    far_result_cell_text(r, result->there ? NULL : "%s", result->reason);
}

/* All of them, for programs and pages. */
static void put_table(far_result *r, const demo *d)
{
    static const far_result_column COLUMNS[] = {{"data", "data", NULL},
                                                {"model", "model", NULL},
                                                {"available", NULL, NULL},
                                                {"r2_in", "R^{2} in range", "%.3f"},
                                                {"r2_out", "R^{2} out of range", "%.3f"},
                                                {"r2_in_ci95", NULL, "%g"},
                                                {"r2_out_ci95", NULL, "%g"},
                                                {"largest", "largest |f|", "%.4g"},
                                                {"bounded", "bounded", NULL},
                                                {"bound", "|f| \xe2\x89\xa4", "%.4g"},
                                                {NULL, "grows like", NULL},
                                                {"error", NULL, NULL}};
    far_result_table(r, "rows",
                     "R^{2} is 1 for the truth itself and 0 for its mean over the points asked "
                     "for. Largest |f|: of the predictions out of range. Bounded: over all inputs, "
                     "by a theorem, and by how much. Grows like: along a direction, t steps from "
                     "0. Finite networks: mean over seeds and its 95% interval.",
                     COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int i = 0; i < DEMO_SETS * DEMO_MODELS; i++) {
        int set = i / DEMO_MODELS, model = i % DEMO_MODELS;
        put_row(r, d->sets[set].name, model, &d->results[set][model]);
    }
}

/* What to see in them. */
static void put_words(far_result *r, const demo *d)
{
    far_result_say(r, NULL,
                   "Three hours after pouring, a cup that stands at 20 C is at %.1f C. A network "
                   "without a norm says %.1f (infinite width) and %.1f (width 128); with one layer "
                   "norm %.1f and %.1f.",
                   d->sets[DEMO_COFFEE].truth[demo_far(&d->sets[DEMO_COFFEE]) - 1],
                   at_the_end(d, PLAIN_INFINITE), at_the_end(d, PLAIN_FINITE),
                   at_the_end(d, NORMED_INFINITE), at_the_end(d, NORMED_FINITE));
    far_result_say(r, NULL,
                   "Bounded is proven, for every input; it is not the same as right: where the "
                   "truth itself runs away (line, parabola), a bounded model cannot follow.");
}

static void put_terminal(far_result *r, const demo *d)
{
    for (int i = 0; i < DEMO_SETS; i++) {
        put_set(r, d, i);
    }
    for (int k = 0; k < DEMO_MODELS; k++) { /* whatever the data, the reason is the same */
        if (!d->results[0][k].there) {
            far_result_line(r, "%s is not there: %s", demo_model_name(k), d->results[0][k].reason);
        }
    }
    if (!d->args.common.quiet) {
        put_words(r, d);
    }
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* The rows that models learn from, by their first input. */
static void put_measurements(demo *d)
{
    double x[DEMO_TRAIN];
    const demo_set *s = &d->sets[DEMO_COFFEE];
    far_mark_opts mark = report_mark("measured, of other cups", FAR_COLOUR_INK);
    for (int64_t i = 0; i < s->train_count; i++) {
        x[i] = s->train_x[i * s->input_count];
    }
    mark.width = 3;
    mark.opacity = 0.25;
    report_points(&d->report, mark, x, s->train_y, s->train_count);
}

/* Every model along points from start on. */
static void put_lines(demo *d, int set, int64_t start, int64_t count)
{
    double x[DEMO_CURVE];
    const demo_set *s = &d->sets[set];
    demo_along(s, start, count, x);
    report_line(&d->report, truth_mark(), x, s->truth + start, count);
    for (int k = 0; k < DEMO_MODELS; k++) {
        const demo_result *result = &d->results[set][k];
        if (!result->there) {
            continue;
        }
        report_line(&d->report, model_mark(k), x, result->mean + start, count);
        if (result->low[start] < result->high[start]) { /* there are seeds */
            far_mark_opts mark = report_mark(NULL, COLOUR[k]);
            report_band(&d->report, mark, x, result->low + start, result->high + start, count);
        }
    }
}

static far_figure_opts cup_axes(void)
{
    far_figure_opts o = report_axes("minutes since it was poured", "temperature (\xc2\xb0"
                                                                   "C)");
    o.legend = FAR_LEGEND_RIGHT;
    o.width = 900;
    return o;
}

/* One cup, from a place among the points on. */
static void put_cup(demo *d, far_figure_opts o, int64_t start, int64_t count, const char *name,
                    const char *caption)
{
    char note[80];
    snprintf(note, sizeof note, "Shaded: the range over %lld trained networks of width 128.",
             (long long)d->args.seeds);
    o.note = d->args.seeds > 1 ? note : NULL;
    report_draw(&d->report, &o);
    if (start == demo_curve(&d->sets[DEMO_COFFEE])) {
        put_measurements(d);
    }
    put_lines(d, DEMO_COFFEE, start, count);
    report_rule(&d->report, FAR_VERTICAL, 60, "data end here");
    report_figure_files(&d->report, name);
    report_place(&d->report, name, caption);
}

static void put_coffee(demo *d)
{
    const demo_set *s = &d->sets[DEMO_COFFEE];
    far_figure_opts o = cup_axes();
    o.title = "A cup of coffee, and what models that saw its first hour say about the next two";
    o.y_min = -60;
    o.y_max = 90;
    put_cup(d, o, demo_curve(s), s->curve_count, "coffee",
            "One cup: poured at 85 \xc2\xb0"
            "C in a room of 20 \xc2\xb0"
            "C, with a time constant of 30 minutes. In the first hour all but the straight "
            "line agree with the truth. Beyond it, models without a norm go on downwards, "
            "below freezing; with one layer norm they come to rest. Solid: infinite width; "
            "dashed: width 128, mean over seeds, with their range shaded. Dots: the 400 rows "
            "that all models learn from, each of a cup of its own, at other starts and in other "
            "rooms.");
}

static void put_far(demo *d)
{
    const demo_set *s = &d->sets[DEMO_COFFEE];
    far_figure_opts o = cup_axes();
    o.x_scale = FAR_SCALE_LOG;
    o.y_scale = FAR_SCALE_SYMLOG;
    o.y_linear = 100;
    put_cup(d, o, demo_far(s), s->far_count, "far",
            "The same cup until two years later, on axes that are logarithmic far from 0. "
            "What is bounded is flat there; what is not goes on for ever.");
}

static void put_toys(demo *d)
{
    static const double LEAST[DEMO_TOYS] = {-8, -27, -60}, MOST[DEMO_TOYS] = {8, 27, 330};
    far_figure *panels[DEMO_TOYS];
    far_grid_opts g;
    for (int i = 0; i < DEMO_TOYS; i++) {
        const demo_set *s = &d->sets[DEMO_SETS - DEMO_TOYS + i];
        far_figure_opts o = report_axes("x", i == 0 ? "y" : NULL);
        o.title = s->name;
        o.y_min = LEAST[i];
        o.y_max = MOST[i];
        report_draw(&d->report, &o);
        put_lines(d, DEMO_SETS - DEMO_TOYS + i, demo_curve(s), s->curve_count);
        report_rule(&d->report, FAR_VERTICAL, -5, NULL);
        report_rule(&d->report, FAR_VERTICAL, 5, NULL);
        panels[i] = report_take(&d->report);
    }
    far_grid_opts_init(&g);
    g.width = 960;
    g.height = 380;
    report_grid(&d->report, panels, 1, DEMO_TOYS, &g);
    report_figure_files(&d->report, "functions");
    report_place(
        &d->report, "functions",
        "Three functions learnt from 100 points between the dashed lines, as in the paper "
        "on layer norm. Without a norm the networks go on as straight lines: right for the "
        "line, wrong for the sine, too little for the parabola. With one they come to "
        "rest.");
}

static void put_bars(demo *d)
{
    const char *names[DEMO_MODELS];
    double in[DEMO_MODELS], out[DEMO_MODELS], half_in[DEMO_MODELS], half_out[DEMO_MODELS];
    int64_t count = 0;
    for (int k = 0; k < DEMO_MODELS; k++) {
        const demo_result *r = &d->results[DEMO_COFFEE][k];
        if (r->there) {
            names[count] = demo_model_name(k);
            in[count] = r->r2_in.mean;
            half_in[count] = r->r2_in.half;
            out[count] = r->r2_out.mean;
            half_out[count++] = r->r2_out.half;
        }
    }
    far_figure_opts o = report_axes(NULL, "R^{2}");
    o.categories = names;
    o.category_count = count;
    o.y_min = -1;
    o.y_max = 1;
    o.note = "Bars that reach -1 go on below; see the table.";
    report_draw(&d->report, &o);
    report_bars(&d->report, report_mark("first hour", FAR_COLOUR_NEXT), in, half_in, count);
    report_bars(&d->report, report_mark("next two hours", FAR_COLOUR_NEXT), out, half_out, count);
    report_figure_files(&d->report, "scores");
    report_place(&d->report, "scores",
                 "Coffee: how well each model does in the hour it learnt from, and after it. In "
                 "range hardly any difference shows.");
}

static void put_scatter(demo *d)
{
    const demo_set *s = &d->sets[DEMO_COFFEE];
    const double ends[] = {0, 45};
    far_figure *panels[DEMO_MODELS];
    far_grid_opts g;
    for (int k = 0; k < DEMO_MODELS; k++) {
        const demo_result *r = &d->results[DEMO_COFFEE][k];
        far_figure_opts o = report_axes(NULL, NULL);
        o.title = demo_model_name(k);
        o.y_min = -60;
        o.y_max = 60;
        o.x_min = 0;
        o.x_max = 45;
        panels[k] = NULL;
        if (r->there) {
            report_draw(&d->report, &o);
            report_points(&d->report, report_mark(NULL, COLOUR[k]), s->truth + s->in_count,
                          r->mean + s->in_count, s->out_count);
            report_line(&d->report, report_mark(NULL, FAR_COLOUR_INK), ends, ends, 2);
            panels[k] = report_take(&d->report);
        }
    }
    far_grid_opts_init(&g);
    g.width = 900;
    g.height = 560;
    g.x_label = "true temperature (\xc2\xb0"
                "C)";
    g.y_label = "predicted (\xc2\xb0"
                "C)";
    g.share_x = g.share_y = FAR_SHARE_ALL;
    g.note = "Predictions beyond -60 and 60 are not in the picture.";
    report_grid(&d->report, panels, 2, 3, &g);
    report_figure_files(&d->report, "predictions");
    report_place(&d->report, "predictions",
                 "Coffee: 200 cups one to three hours after pouring, each a point: what it is, and "
                 "what it is said to be. The line is where they agree.");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void put_facts(demo *d)
{
    const far_xgboost *trees = far_xgboost_find(d->s.ctx);
    report_fact(&d->report, "data",
                "%s: %s, %s. Cups are poured at 60 to 95 C in rooms of 5 to 30 C, with "
                "tau from 15 to 45 minutes; scores are against the law itself.",
                d->sets[DEMO_COFFEE].name, d->sets[DEMO_COFFEE].law, d->sets[DEMO_COFFEE].shift);
    report_fact(&d->report, "networks",
                "%s\n%s\nat infinite width: kernel regression with their tangent kernel, the ridge "
                "chosen by leave-one-out error; at width 128: Adam, rate 0.001, full batch, %lld "
                "and %lld epochs",
                demo_model_arch(PLAIN_INFINITE), demo_model_arch(NORMED_INFINITE),
                (long long)(d->sets[DEMO_SETS - 1].epochs / (d->args.quick ? 10 : 1)),
                (long long)(d->sets[DEMO_COFFEE].epochs / (d->args.quick ? 10 : 1)));
    report_seeds(&d->report, 0, d->args.seeds);
    report_fact(&d->report, "xgboost", "%s", trees ? trees->version : "not there");
}

void demo_tell(demo *d)
{
    far_result *r = d->report.result;
    far_result_for(r, FAR_FOR_TEXT);
    put_terminal(r, d);
    far_result_for(r, FAR_FOR_PAGE);
    put_verdicts(d);
    far_result_for(r, FAR_FOR_PAGE | FAR_FOR_JSON);
    put_table(r, d);
    far_result_number(r, "seconds", d->seconds, NULL, NULL);
    far_result_for(r, FAR_FOR_PAGE);
    far_result_heading(r, "Coffee that was measured for an hour");
    put_coffee(d);
    put_far(d);
    put_bars(d);
    put_scatter(d);
    far_result_heading(r, "Functions on a line");
    put_toys(d);
    put_facts(d);
    far_result_for(r, FAR_FOR_ALL);
}
