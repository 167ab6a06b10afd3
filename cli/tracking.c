#define _GNU_SOURCE
#include "tracking.h"
#include "files.h"
#include "training.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int stem_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool ending = dot && (!slash || dot > slash + 1) && dot > path;
    return ending ? (int)(dot - path) : (int)strlen(path);
}

/* ---- the words behind --track -------------------------------------------------------------- */

static int read_count(const char *verb_name, const char *key, const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < 1) {
        return usage_error(verb_name, "--track: %s is a whole number from 1, not '%s'", key, text);
    }
    *out = number;
    return OPTIONS_OK;
}

static int read_levels(const char *verb_name, const char *text, tracking *k)
{
    const char *at = text;
    for (;;) {
        char *end;
        double level = strtod(at, &end);
        bool good = end != at && (*end == ',' || !*end) && level > 0 && isfinite(level);
        if (!good || k->level_count == LEVELS_MOST) {
            return usage_error(verb_name,
                               "--track: at-loss takes up to %d losses above 0, not '%s'",
                               LEVELS_MOST, text);
        }
        k->levels[k->level_count++] = level;
        if (!*end) {
            return OPTIONS_OK;
        }
        at = end + 1;
    }
}

static int keep(const char *verb_name, const char *key, const char *text, char **out)
{
    if (!*text) {
        return usage_error(verb_name, "--track: %s= is empty", key);
    }
    free(*out);
    *out = strdup(text);
    return *out ? OPTIONS_OK : failure(verb_name, "out of memory");
}

static int take_setting(const char *verb_name, const char *key, const char *text, tracking *k)
{
    static const char *const KEYS[] = {"every", "metrics", "file", "points", "at-loss", "outputs"};
    enum { COUNT = sizeof KEYS / sizeof KEYS[0] };
    size_t i = 0;
    while (i < COUNT && strcmp(key, KEYS[i]) != 0) {
        i++;
    }
    switch (i) {
    case 0:
        return read_count(verb_name, key, text, &k->every);
    case 1:
        return keep(verb_name, key, text, &k->metrics);
    case 2:
        return keep(verb_name, key, text, &k->file);
    case 3:
        return read_count(verb_name, key, text, &k->points);
    case 4:
        return read_levels(verb_name, text, k);
    case 5:
        return keep(verb_name, key, text, &k->outputs);
    default:
        break;
    }
    const char *near = far_nearest_name(key, KEYS, COUNT);
    return near ? usage_error(verb_name, "--track knows no '%s'; did you mean %s=?", key, near)
                : usage_error(verb_name,
                              "--track knows every=, metrics=, file=, points=, at-loss= and "
                              "outputs=, not '%s'",
                              key);
}

/* A blank or comma ends a setting where another one follows it. */
static size_t setting_length(const char *text)
{
    size_t length = 0;
    for (;;) {
        length += strcspn(text + length, " ,");
        if (!text[length]) {
            return length;
        }
        size_t blank = strspn(text + length, " ,");
        if (is_setting(text + length + blank) || !text[length + blank]) {
            return length;
        }
        length += blank;
    }
}

static int take_word(const char *verb_name, char *text, tracking *k)
{
    int code = OPTIONS_OK;
    for (char *at = text + strspn(text, " ,"); *at && code == OPTIONS_OK;) {
        size_t length = setting_length(at);
        char *next = at + length + strspn(at + length, " ,");
        at[length] = '\0';
        char *equals = strchr(at, '=');
        if (!equals) {
            return usage_error(verb_name, "--track takes settings like every=50, not '%s'", at);
        }
        *equals = '\0';
        code = take_setting(verb_name, at, equals + 1, k);
        at = next;
    }
    return code;
}

static bool is_csv(const char *path)
{
    return strcmp(path + stem_length(path), ".csv") == 0;
}

int tracking_read(const char *verb_name, const word_list *list, tracking *k)
{
    int code = OPTIONS_OK;
    k->wanted = list->count > 0;
    for (int i = 0; i < list->count && code == OPTIONS_OK; i++) {
        char *copy = strdup(list->words[i]);
        code = copy ? take_word(verb_name, copy, k) : failure(verb_name, "out of memory");
        free(copy);
    }
    if (code == OPTIONS_OK && k->file && !is_csv(k->file)) {
        code = usage_error(verb_name, "--track: file= is csv and ends in .csv, not '%s'", k->file);
    }
    if (code == OPTIONS_OK && k->wanted && !k->metrics) {
        code = keep(verb_name, "metrics", TRACK_METRICS, &k->metrics);
    }
    return code;
}

/* ---- files --------------------------------------------------------------------------------- */

/* The one asked for; else net.track.csv beside net.safetensors, else track.csv. */
static char *track_file(const train_args *a, const tracking *k, int64_t i)
{
    char *name = NULL;
    if (k->file || !a->output) {
        return training_file(a, k->file ? k->file : "track.csv", i);
    }
    char *net = training_file(a, a->output, i);
    bool named = net && asprintf(&name, "%.*s.track.csv", stem_length(net), net) >= 0;
    free(net);
    return named ? name : NULL;
}

static bool same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int name_file(training *t, int64_t i)
{
    char *file = t->track.files[i] = track_file(&t->args, &t->track, i);
    if (!file) {
        return failure(t->s.verb, "out of memory");
    }
    if (same_file(file, t->args.data)) {
        return usage_error(t->s.verb,
                           "--track: %s is the table to train on; name another file=", file);
    }
    return output_possible(t->s.verb, t->s.ctx, file);
}

/* ---- points -------------------------------------------------------------------------------- */

static void copy_rows(const far_mat *from, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t row = i * from->rows / count;
        memcpy(to + i * from->cols, (const double *)from->data + row * from->ld,
               (size_t)from->cols * sizeof *to);
    }
}

/* As many rows as asked for, spread evenly over all. */
static int choose_points(training *t, far_mat *x, far_mat *y)
{
    tracking *k = &t->track;
    far_mat all_x = t->data->inputs, all_y = t->data->targets;
    int64_t n = k->points > 0 && k->points < all_x.rows ? k->points : all_x.rows;
    k->points = n;
    k->x = malloc((size_t)(n * all_x.cols) * sizeof *k->x + 1);
    k->y = malloc((size_t)(n * all_y.cols) * sizeof *k->y + 1);
    if (!k->x || !k->y) {
        return failure(t->s.verb, "out of memory");
    }
    copy_rows(&all_x, n, k->x);
    copy_rows(&all_y, n, k->y);
    *x = far_mat_view(k->x, n, all_x.cols, FAR_F64);
    *y = far_mat_view(k->y, n, all_y.cols, FAR_F64);
    return EXIT_DONE;
}

/* ---- tracks -------------------------------------------------------------------------------- */

static int read_outputs(const training *t, far_track_opts *o)
{
    const char *text = t->track.outputs;
    int64_t outputs = far_net_describe(t->runs[0].net).outputs;
    char *end;
    if (!text || strcmp(text, "trace") == 0 || strcmp(text, "full") == 0) {
        o->outputs = text && text[0] == 'f' ? FAR_NTK_FULL : FAR_NTK_TRACE;
        return EXIT_DONE;
    }
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || number < 1 || number > outputs) {
        return usage_error(t->s.verb, "--track: outputs is trace, full or 1 to %lld, not '%s'",
                           (long long)outputs, text);
    }
    o->outputs = FAR_NTK_ONE;
    o->output = number - 1;
    return EXIT_DONE;
}

/* A run that is resumed without its track has rows from there on. */
static int load_earlier(training *t, int64_t i)
{
    const char *file = t->track.files[i], *checkpoint = t->runs[i].checkpoint;
    if (!t->args.resume || !checkpoint || access(checkpoint, F_OK) != 0) {
        return EXIT_DONE;
    }
    if (access(file, F_OK) != 0) {
        session_say(&t->s, "there is no %s with the rows up to the checkpoint; it begins there",
                    file);
        return EXIT_DONE;
    }
    far_status st = far_track_load(t->s.ctx, t->track.tracks[i], file);
    return st == FAR_OK ? EXIT_DONE : session_failure(&t->s, file);
}

static int refuse_track(training *t, far_status st)
{
    if (st != FAR_ERR_ARG) {
        return session_failure(&t->s, "--track");
    }
    failure(t->s.verb, "--track: %s (see farfield measure --list)", far_ctx_message(t->s.ctx));
    return EXIT_USAGE;
}

static bool has_measure(const far_track *track, const char *name)
{
    far_track_info t = far_track_describe(track);
    int64_t m = 0;
    while (m < t.measure_count && strcmp(t.measures[m].info->name, name) != 0) {
        m++;
    }
    return m < t.measure_count;
}

/* Training is driven by all pairs; the mean of the kernels has no larger eigenvalue than they. */
static void warn_of_mean(const training *t)
{
    const char *outputs = t->track.outputs;
    bool mean = !outputs || strcmp(outputs, "trace") == 0;
    if (mean && far_net_describe(t->runs[0].net).outputs > 1 &&
        has_measure(t->track.tracks[0], "eos")) {
        session_say(&t->s,
                    "--track: of several outputs eos of their mean kernel is mostly below that "
                    "of the training; outputs=full has the edge of stability at 1");
    }
}

/* Smooth networks have no exponents. */
static int check_power(training *t, int64_t i)
{
    static const char *const EXPONENTS[] = {"nu", "kappa"};
    for (int e = 0; e < 2; e++) {
        const char *name = EXPONENTS[e];
        double degree;
        if (has_measure(t->track.tracks[i], name) &&
            far_power_degree(t->s.ctx, far_net_describe(t->runs[i].net).arch, &degree) ==
                FAR_ERR_ARCH) {
            char place[64];
            snprintf(place, sizeof place, "--track: %s", name);
            return session_failure(&t->s, place);
        }
    }
    return EXIT_DONE;
}

static int open_track(training *t, int64_t i, const far_mat *x, const far_mat *y)
{
    tracking *k = &t->track;
    far_track_opts o;
    far_track_opts_init(&o, &t->opts);
    o.measures = k->metrics;
    o.every = k->every;
    int code = name_file(t, i);
    if (code == EXIT_DONE) {
        code = read_outputs(t, &o);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    o.file = k->files[i];
    far_status st = far_track_create(t->s.ctx, t->runs[i].net, x, y, &o, &k->tracks[i]);
    if (st != FAR_OK) {
        return refuse_track(t, st);
    }
    code = check_power(t, i);
    return code == EXIT_DONE ? load_earlier(t, i) : code;
}

int tracking_open(training *t)
{
    tracking *k = &t->track;
    far_mat x, y;
    if (!k->wanted) {
        return EXIT_DONE;
    }
    k->count = t->args.seeds;
    k->tracks = calloc((size_t)k->count, sizeof *k->tracks);
    k->files = calloc((size_t)k->count, sizeof *k->files);
    if (!k->tracks || !k->files) {
        return failure(t->s.verb, "out of memory");
    }
    t->opts.layers = t->layers;
    int code = choose_points(t, &x, &y);
    if (code == EXIT_DONE && k->every == 0) {
        k->every = far_track_every(x.rows, t->opts.batch);
    }
    for (int64_t i = 0; i < k->count && code == EXIT_DONE; i++) {
        code = open_track(t, i, &x, &y);
    }
    if (code == EXIT_DONE) {
        warn_of_mean(t);
    }
    return code;
}

void tracking_attach(training *t)
{
    tracking *k = &t->track;
    if (k->wanted) {
        t->opts.callback = far_track_callback;
        t->opts.callback_user = k->tracks;
        t->opts.callback_every = k->every;
    }
}

int tracking_save(const training *t)
{
    const tracking *k = &t->track;
    far_status st = FAR_OK;
    for (int64_t i = 0; k->wanted && i < k->count && st == FAR_OK; i++) {
        if (far_track_describe(k->tracks[i]).rows.rows > 0) {
            st = far_track_save(t->s.ctx, k->tracks[i], k->files[i]);
        }
    }
    return st == FAR_OK ? EXIT_DONE : session_failure(&t->s, NULL);
}

void tracking_free(tracking *k)
{
    for (int64_t i = 0; i < k->count; i++) {
        far_track_destroy(k->tracks ? k->tracks[i] : NULL);
        free(k->files ? k->files[i] : NULL);
    }
    free(k->tracks);
    free(k->files);
    free(k->metrics);
    free(k->file);
    free(k->outputs);
    free(k->x);
    free(k->y);
}
