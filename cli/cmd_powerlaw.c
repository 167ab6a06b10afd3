/* farfield powerlaw: exponents of a curve, and what theory says they are. */
#include "cli.h"
#include "dataset.h"
#include "options.h"
#include "power_show.h"
#include "report.h"
#include "subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERB "powerlaw"

enum { OF_LOSS, OF_SPECTRUM, OF_TAIL };
#define OF_LIST "loss|spectrum|tail"

typedef struct powerlaw_args {
    const char *curve, *window, *arch, *x, *y;
    word_list theory; /* count 0: not given */
    int of;
    common_args common;
} powerlaw_args;

/* What --theory says. */
typedef struct setting {
    int64_t d;
    double q;
    int sphere, kind;
    far_power_target target;
} setting;

typedef struct job {
    powerlaw_args args;
    session s;
    dataset table;
    double *x, *y;
    int64_t count;
    double window[2];
    far_power fit;
    setting setting;
    far_power_theory theory;
} job;

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(powerlaw_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--window", 'w', AT(window), "A:B", "fit over A <= x <= B (all x above 0)"),
    TEXT_OPTION("--x", 'x', AT(x), "COL",
                "the column of x (the first of two columns; 1, 2, ... beside one)"),
    TEXT_OPTION("--y", 'y', AT(y), "COL", "the column of y (the last of two)"),
    CHOICE_OPTION("--of", 0, AT(of), OF_LIST,
                  "what the curve is: L(t) with exponent xi, eigenvalues with nu, or\n"
                  "tails of the targets with kappa"),
    {"--theory", 't', OPTION_WORDS, AT(theory), "LIST",
     "what theory says: d=2,q=1,target=indicator, with commas or blanks", 0, 0},
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH", "take q from this architecture"),
};

static const char USAGE[] = "powerlaw CURVE [--window A:B] [options]\n"
                            "powerlaw --theory d=2,q=1,target=indicator [--arch ARCH]\n"
                            "powerlaw CURVE --theory LIST [options]";
static const char ABOUT[] =
    "Fits y ~ C x^-exponent to a curve, prints the exponents that theory expects, or compares the\n"
    "two. If eigenvalues of K / N fall as n^-nu and tails of the targets as n^-kappa, the loss "
    "falls\n"
    "as t^-xi with xi = kappa / nu, t the learning rate times steps.";
static const char NOTES[] =
    "--theory is a list of\n"
    "  d=D               dimensions of the points\n"
    "  q=Q               activation (z)_+^Q: 1 is relu, and the default\n"
    "  target=indicator  a jump across a smooth surface, the default; target=network: another "
    "wide\n"
    "                    random network of the kind\n"
    "  kernel=ntk|nngp   ntk is the default\n"
    "  on=space|sphere   points that fill a piece of R^d, the default, or its unit sphere\n"
    "Smooth activations (tanh, erf, gelu) have no power law: their eigenvalues fall faster.\n\n"
    "CURVE is a table, - is standard input. The interval is that of a straight line through\n"
    "independent points, which those of a curve are not: compare windows.\n\n"
    "Examples:\n"
    "  farfield powerlaw losses.csv --window 10:1000 --theory d=1,target=indicator\n"
    "  farfield powerlaw eigenvalues.csv --of spectrum --x n --y eigenvalue -w 5:40";

/* ---- --theory ------------------------------------------------------------------------------ */

/* The index of a word among two, or -1. */
static int which(const char *word, const char *first, const char *second)
{
    return strcmp(word, first) == 0 ? 0 : strcmp(word, second) == 0 ? 1 : -1;
}

static int bad_value(const char *key, const char *value, const char *wanted)
{
    return usage_error(VERB, "--theory: %s is %s, not '%s'", key, wanted, value);
}

static int set_number(const char *key, const char *value, setting *out)
{
    char *end;
    double number = strtod(value, &end);
    bool whole = end != value && !*end && isfinite(number);
    if (key[0] == 'd') {
        out->d = whole && number >= 1 && number <= 1e6 ? (int64_t)number : 0;
        return out->d > 0 && (double)out->d == number ? OPTIONS_OK
                                                      : bad_value(key, value, "a number from 1");
    }
    out->q = number;
    return whole
               ? OPTIONS_OK
               : bad_value(key, value,
                           "a number, 1 for relu (for a smooth activation there is no power law)");
}

static int set_word(const char *key, const char *value, setting *out)
{
    int choice;
    if (strcmp(key, "target") == 0) {
        choice = which(value, "indicator", "network");
        out->target = choice == 1 ? FAR_TARGET_NET : FAR_TARGET_JUMP;
        return choice >= 0 ? OPTIONS_OK : bad_value(key, value, "indicator or network");
    }
    if (strcmp(key, "kernel") == 0) {
        out->kind = choice = which(value, "ntk", "nngp");
        return choice >= 0 ? OPTIONS_OK : bad_value(key, value, "ntk or nngp");
    }
    out->sphere = choice = which(value, "space", "sphere");
    return choice >= 0 ? OPTIONS_OK : bad_value(key, value, "space or sphere");
}

static int set_key(char *word, setting *out)
{
    static const char *const KEYS[] = {"d", "q", "target", "kernel", "on"};
    char *value = strchr(word, '=');
    if (value) {
        *value++ = 0;
    }
    for (int i = 0; value && i < 5; i++) {
        if (strcmp(word, KEYS[i]) == 0) {
            return i < 2 ? set_number(word, value, out) : set_word(word, value, out);
        }
    }
    const char *near = far_nearest_name(word, KEYS, 5);
    return usage_error(
        VERB, "--theory is a list of d=, q=, target=, kernel= and on=, not '%s'%s%s%s", word,
        near && !value ? "; it takes a value: "
        : near         ? "; did you mean "
                       : "",
        near ? near : "", near ? "=?" : "");
}

static int read_settings(const char *list, setting *out)
{
    char *text = strdup(list), *rest = text;
    int code = text ? OPTIONS_OK : failure(VERB, "out of memory");
    while (code == OPTIONS_OK && rest) {
        char *word = strsep(&rest, ", ");
        code = word[0] ? set_key(word, out) : OPTIONS_OK;
    }
    free(text);
    return code;
}

static int read_theory(const powerlaw_args *a, setting *out)
{
    int code = OPTIONS_OK;
    *out = (setting){.q = NAN};
    for (int i = 0; code == OPTIONS_OK && i < a->theory.count; i++) {
        code = read_settings(a->theory.words[i], out);
    }
    if (code == OPTIONS_OK && out->d == 0) {
        code = usage_error(VERB, "--theory: d is missing: how many dimensions have the points?");
    }
    if (code == OPTIONS_OK && a->arch && !isnan(out->q)) {
        code = usage_error(VERB, "--theory: q comes from --arch; leave one of them out");
    }
    if (code == OPTIONS_OK && !a->arch && isnan(out->q)) {
        out->q = 1;
    }
    return code;
}

static int check_usage(const command_line *line, job *j)
{
    static const char *const OF_CURVE[] = {"--window", "--x", "--y"};
    const powerlaw_args *a = &j->args;
    const char *other = a->curve ? NULL : options_given_of(line, OF_CURVE, 3);
    if (!a->curve && a->theory.count == 0) {
        return usage_error(VERB, "no CURVE to fit and no --theory");
    }
    if (other) {
        return usage_error(VERB, "%s goes with a CURVE to fit", other);
    }
    if (a->arch && a->theory.count == 0) {
        return usage_error(VERB, "--arch goes with --theory: it says which q");
    }
    int code = a->window ? window_read(VERB, "--window", a->window, j->window) : OPTIONS_OK;
    return code == OPTIONS_OK && a->theory.count > 0 ? read_theory(a, &j->setting) : code;
}

static int read_command_line(int argc, char **argv, job *j)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, &j->args);
    j->args.curve = line.operands[0];
    return code == OPTIONS_OK ? check_usage(&line, j) : code;
}

/* ---- the curve ----------------------------------------------------------------------------- */

static int find_column(job *j, const char *name, int64_t otherwise, int64_t *col)
{
    *col = otherwise;
    far_status st = name ? far_frame_find(j->s.ctx, j->table.frame, name, col) : FAR_OK;
    if (st != FAR_OK) {
        failure(VERB, "%s", far_ctx_message(j->s.ctx));
        return usage_code(st);
    }
    return EXIT_DONE;
}

/* col -1: 1, 2, ... */
static int take_column(job *j, int64_t col, double *out)
{
    const far_frame *frame = j->table.frame;
    const double *numbers = col >= 0 ? far_frame_column(frame, col).numbers : NULL;
    if (col >= 0 && !numbers) {
        return failure(VERB, "%s: column %s holds words", j->table.label,
                       far_frame_column(frame, col).name);
    }
    for (int64_t i = 0; i < j->count; i++) {
        out[i] = numbers ? numbers[i] : (double)i + 1;
        if (isnan(out[i])) {
            return failure(VERB, "%s: row %lld of column %s is missing; leave such rows out",
                           j->table.label, (long long)i + 1, far_frame_column(frame, col).name);
        }
    }
    return EXIT_DONE;
}

static int read_curve(job *j)
{
    int64_t x_col, y_col;
    int code = dataset_read(VERB, j->s.ctx, j->args.curve, NULL, NULL, &j->table);
    if (code != EXIT_DONE) {
        return code;
    }
    int64_t cols = far_frame_cols(j->table.frame);
    j->count = j->table.count;
    j->x = calloc((size_t)j->count + 1, sizeof *j->x);
    j->y = calloc((size_t)j->count + 1, sizeof *j->y);
    if (!j->x || !j->y) {
        return failure(VERB, "out of memory");
    }
    code = find_column(j, j->args.x, cols > 1 ? 0 : -1, &x_col);
    code = code == EXIT_DONE ? find_column(j, j->args.y, cols - 1, &y_col) : code;
    if (code == EXIT_DONE && cols > 2 && (!j->args.x || !j->args.y)) {
        return failure(VERB, "%s has %lld columns: which ones? --x COL --y COL", j->table.label,
                       (long long)cols);
    }
    code = code == EXIT_DONE ? take_column(j, x_col, j->x) : code;
    return code == EXIT_DONE ? take_column(j, y_col, j->y) : code;
}

static void widest_window(const job *j, double window[2])
{
    window[0] = INFINITY;
    window[1] = 0;
    for (int64_t i = 0; i < j->count; i++) {
        if (j->x[i] > 0) {
            window[0] = fmin(window[0], j->x[i]);
            window[1] = fmax(window[1], j->x[i]);
        }
    }
}

static void say_what_is_missing(job *j)
{
    double widest[2];
    widest_window(j, widest);
    if (widest[0] > j->window[0] || widest[1] < j->window[1]) {
        session_say(&j->s, "%s goes from %g to %g: it does not fill the window %g:%g",
                    j->table.label, widest[0], widest[1], j->window[0], j->window[1]);
    }
}

static int fit_curve(job *j)
{
    int code = read_curve(j);
    if (code != EXIT_DONE) {
        return code;
    }
    if (!j->args.window) {
        widest_window(j, j->window);
    }
    if (!(j->window[0] < j->window[1])) {
        return failure(VERB, "%s: there are no two different x above 0", j->table.label);
    }
    far_status st =
        far_power_fit(j->s.ctx, j->x, j->y, j->count, j->window[0], j->window[1], &j->fit);
    if (st != FAR_OK) {
        return session_failure(&j->s, j->table.label);
    }
    say_what_is_missing(j);
    return EXIT_DONE;
}

static int expect(job *j)
{
    setting *t = &j->setting;
    if (j->args.arch) {
        far_status st = far_power_degree(j->s.ctx, j->args.arch, &t->q);
        if (st == FAR_ERR_ARCH) {
            return session_failure(&j->s, "--arch");
        }
        if (st != FAR_OK) {
            return arch_failure(&j->s, st);
        }
    }
    far_status st =
        far_power_expect(j->s.ctx, t->d, t->sphere, t->q, t->kind, t->target, &j->theory);
    if (st != FAR_OK) {
        failure(VERB, "--theory: %s", far_ctx_message(j->s.ctx));
        return usage_code(st);
    }
    return EXIT_DONE;
}

/* ---- what is said -------------------------------------------------------------------------- */

static double expected(const job *j)
{
    return j->args.of == OF_LOSS       ? j->theory.xi
           : j->args.of == OF_SPECTRUM ? j->theory.nu
                                       : j->theory.kappa;
}

static bool inside(const job *j)
{
    return expected(j) >= j->fit.exponent_low && expected(j) <= j->fit.exponent_high;
}

static const char *exponent_name(const job *j)
{
    return j->args.of == OF_LOSS ? "xi" : j->args.of == OF_SPECTRUM ? "nu" : "kappa";
}

static const char *place_name(const setting *t)
{
    return t->sphere ? "on the sphere of" : "in";
}

static void tell_theory(far_result *r, const job *j)
{
    const setting *t = &j->setting;
    const far_power_theory *e = &j->theory;
    bool net = t->target == FAR_TARGET_NET;
    far_result_open(r, "theory");
    far_result_count(r, "d", t->d, "theory", "%s, (z)_+^%g, points %s %lld dimension%s, target %s",
                     t->kind ? "NNGP" : "NTK", t->q, place_name(t), (long long)t->d,
                     t->d > 1 ? "s" : "", net ? "another network" : "an indicator");
    far_result_number(r, "q", t->q, NULL, NULL);
    far_result_text(r, "target", net ? "network" : "indicator", NULL, NULL);
    far_result_text(r, "kernel", t->kind ? "nngp" : "ntk", NULL, NULL);
    far_result_text(r, "on", t->sphere ? "sphere" : "space", NULL, NULL);
    far_result_number(r, "alpha", e->alpha, NULL, NULL);
    far_result_number(r, "nu", e->nu, "  nu", "%.6g, eigenvalues of K / N ~ n^-nu", e->nu);
    far_result_number(r, "kappa", e->kappa, "  kappa", "%.6g, tails of the target ~ n^-kappa",
                      e->kappa);
    far_result_number(r, "xi", e->xi, "  xi", "%.6g, loss ~ t^-xi, xi = kappa / nu", e->xi);
    far_result_close(r);
}

static void tell_comparison(far_result *r, const job *j)
{
    double off = 100 * (j->fit.exponent / expected(j) - 1);
    far_result_open(r, "comparison");
    far_result_text(r, "exponent", exponent_name(j), NULL, NULL);
    far_result_number(r, "found", j->fit.exponent, "comparison",
                      "%s %.6g, theory %.6g: %+.1f %%, theory %s the interval", exponent_name(j),
                      j->fit.exponent, expected(j), off, inside(j) ? "is inside" : "is outside of");
    far_result_number(r, "expected", expected(j), NULL, NULL);
    far_result_flag(r, "inside", inside(j), NULL, NULL);
    far_result_close(r);
}

/* The curve, and the line through the window. */
static void draw_curve(report *r, const job *j)
{
    const far_power *p = &j->fit;
    far_figure_opts o = report_axes("x", "y");
    double ends[] = {p->from, p->to}, line[2];
    for (int i = 0; i < 2; i++) {
        line[i] = p->prefactor * pow(ends[i], -p->exponent);
    }
    o.x_scale = o.y_scale = FAR_SCALE_LOG;
    report_draw(r, &o);
    report_points(r, report_mark("curve", 0), j->x, j->y, j->count);
    report_line(r, report_mark("power law", 1), ends, line, 2);
    report_place(r, "curve", "The curve, and the power law over its window.");
}

static int tell(job *j)
{
    report r;
    int code = report_begin(&j->s, &j->args.common, "A power law", &r);
    r.quiet = false;
    if (j->args.curve) {
        far_result_text(r.result, "curve", j->table.label, NULL, NULL);
        far_result_open(r.result, "fit");
        power_tell(r.result, exponent_name(j), "prefactor", &j->fit);
        far_result_close(r.result);
        draw_curve(&r, j);
    }
    if (j->args.theory.count > 0) {
        tell_theory(r.result, j);
    }
    if (j->args.curve && j->args.theory.count > 0) {
        tell_comparison(r.result, j);
    }
    return report_end(&r, code);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    job *j = user;
    int code = j->args.theory.count > 0 ? expect(j) : EXIT_DONE;
    code = code == EXIT_DONE && j->args.curve ? fit_curve(j) : code;
    return code == EXIT_DONE ? tell(j) : code;
}

static void clean(void *user)
{
    job *j = user;
    free(j->x);
    free(j->y);
    dataset_free(&j->table);
}

int cmd_powerlaw(int argc, char **argv)
{
    job j = {.args = {.common = {.threads = default_threads()}}};
    return session_run(VERB, read_command_line(argc, argv, &j),
                       (verb_job){&j.s, &j.args.common, run, clean, &j});
}
