/* farfield train: a table in, finite networks out. */
#define _GNU_SOURCE
#include "cli.h"
#include "columns_show.h"
#include "files.h"
#include "layers.h"
#include "report_verbs.h"
#include "subject.h"
#include "training.h"

#include <farfield/net.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERB "train"
#define NEXT_BATCH "32"
#define NEXT_EPOCHS "10"
#define LABEL "label" /* the column of a folder of pictures */
enum { MOST_SEEDS = 10000 };

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(train_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--arch", 'a', AT(arch), "ARCH",
                "the network, 'dense(128) ln relu dense' (see farfield info arch); the\n"
                "last dense layer takes its width from the target"),
    LEARNING_OPTIONS,
    CHOICE_OPTION("--optimizer", 0, AT(optimizer), OPTIMIZER_LIST,
                  "gd is sgd with the whole batch"),
    NUMBER_OPTION("--lr", 0, AT(lr), "RATE",
                  "learning rate (0.001 for adam and adamw, 0.01 otherwise)"),
    TEXT_OPTION("--schedule", 0, AT(schedule), "constant|cosine|linear|step:N,F",
                "how the rate falls: to 0 over the epochs, or by the factor F every N\n"
                "epochs"),
    NUMBER_OPTION("--weight-decay", 0, AT(weight_decay), "W",
                  "add W times each weight to its gradient; adamw shrinks the weight\n"
                  "itself, as in PyTorch"),
    NUMBER_OPTION("--momentum", 0, AT(momentum), "M", "of --optimizer momentum"),
    COUNT_OPTION("--epochs", 'e', AT(epochs), "N", "passes over the rows; 0 only draws weights", 0,
                 INT64_MAX),
    TEXT_OPTION("--batch", 'b', AT(batch), "N|full", "rows of a step"),
    CHOICE_OPTION("--loss", 0, AT(loss), LOSS_LIST,
                  "squares, or -log p of classes: bce for yes or no, ce for any number;\n"
                  "auto is ce for a target of words, else mse"),
    TEXT_OPTION("--augment", 0, AT(augment), "flip,crop(N)",
                "images: mirror every other one, shift each by up to N pixels over a black\n"
                "border; drawn anew in every epoch, never for validation rows"),
    NUMBER_OPTION("--val-part", 0, AT(val_part), "F",
                  "keep the part F of the rows, drawn by --seed, for validation: the network\n"
                  "ends with the weights of the epoch that is best on them"),
    COUNT_OPTION("--patience", 0, AT(patience), "N",
                 "stop after N epochs without a smaller validation loss; 0 never", 0, INT64_MAX),
    NUMBER_OPTION("--stop-loss", 0, AT(stop_loss), "L", "stop when the loss is at most L"),
    NUMBER_OPTION("--l2-to-init", 0, AT(l2_to_init), "LAM",
                  "hold the weights near their start: the ridge of the kernel machine\n"
                  "that the linearised network becomes"),
    FLAG_OPTION("--selective", 0, AT(selective),
                "hold them only in steps where that cannot raise the loss"),
    TEXT_OPTION("--layers", 0, AT(layers), "LIST",
                "train these layers alone: 1,3 counts layers with weights from 1; -1 is\n"
                "the last"),
    TEXT_OPTION("--freeze", 0, AT(freeze), "LIST",
                "train all layers but these, counted in the same way"),
    FLAG_OPTION("--linearized", 0, AT(linearized), "train the network linearised at its start"),
    CHOICE_OPTION("--init", 0, AT(init), INIT_LIST,
                  "how weights start; ntk also is the ntk parametrisation"),
    NUMBER_OPTION("--w0", 0, AT(w0), "W0", "the frequency of --init siren"),
    TEXT_OPTION("--from", 0, AT(from), "NET",
                "start from this network, not from random weights; with --arch the same\n"
                "text with lora=R in some layers: to tune it"),
    FLAG_OPTION("--merge", 0, AT(merge),
                "keep the network without lora, W + B A in its layers; --epochs 0 --from\n"
                "NET merges one that is there"),
    COUNT_OPTION("--inputs", 0, AT(inputs), "D", "without DATA: how many inputs", 1, INT32_MAX),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of the weights and of the order of rows", 0,
                 INT64_MAX),
    COUNT_OPTION("--seeds", 0, AT(seeds), "N",
                 "that many networks side by side, from seed on; net.safetensors becomes\n"
                 "net-0.safetensors, net-1.safetensors, ...",
                 1, MOST_SEEDS),
    CHOICE_OPTION("--task", 0, AT(task), "auto|regress|classify",
                  "auto classifies if the target is a text column"),
    CHOICE_OPTION("--standardize", 0, AT(standardize), STANDARDIZE_LIST,
                  "what to bring to mean 0 and variance 1 (the file remembers)"),
    FLAG_OPTION("--no-standardize", 0, AT(raw), "the same as --standardize none"),
    FLAG_OPTION("--impute", 0, AT(impute),
                "fill missing values with the median or the most frequent category"),
    CHOICE_OPTION("--dtype", 0, AT(dtype), "f64|f32", "precision of training"),
    TEXT_OPTION("--checkpoint", 0, AT(checkpoint), "FILE",
                "where an unfinished run is kept (OUTPUT.checkpoint)"),
    NUMBER_OPTION("--checkpoint-every", 0, AT(every), "S", "seconds between its writings"),
    FLAG_OPTION("--resume", 0, AT(resume), "go on from the checkpoint, to the same bits"),
    FLAG_OPTION("--restart", 0, AT(restart), "begin anew although there is a checkpoint"),
    {"--track", 0, OPTION_WORDS, AT(track), "every=K metrics=LIST ...",
     "measure the tangent kernel every K steps while it trains: several words,\n"
     "or one in quotes; see below",
     0, 0},
    OUTPUT_OPTION("keep the network in FILE (net.safetensors)"),
};

static const char USAGE[] = "train --arch ARCH DATA --target COL[,COL] [options] [-o FILE]\n"
                            "train --arch 'tokens(P, 256) ...' TEXT [options] [-o FILE]\n"
                            "train --arch ARCH --inputs D --epochs 0 [options] -o FILE";
static const char ABOUT[] =
    "Trains a finite network on the rows of DATA by gradient descent. The file is safetensors, "
    "its\n"
    "tensors named as PyTorch's Sequential names them; predict, gram and certify take it, and so\n"
    "does PyTorch. DATA may be a folder of PNG and JPEG pictures, a folder in it for each class.";
static const char NOTES[] =
    "Ctrl-C keeps what was reached in the checkpoint; the same command with --resume goes on from\n"
    "there to the bits of a run that was never stopped, and so it does after a crash.\n\n"
    "--track takes settings, as words of their own right behind it or as one word with blanks or\n"
    "commas between:\n"
    "  every=K              a row every K steps, at the start and at the end\n"
    "                       [50 of the whole batch; 50 points / batch]\n"
    "  metrics=LIST         as farfield measure --list names them [" TRACK_METRICS "]; eos takes\n"
    "                       the rate of the training\n"
    "  points=N             that many of the rows, spread evenly [all]\n"
    "  outputs=trace|full|K of several outputs, as in farfield gram [trace]; the edge of\n"
    "                       stability, eos = 1, needs full\n"
    "  at-loss=L,L          also the row where the loss first falls to L: to compare runs\n"
    "  file=FILE            the csv [NET.track.csv beside -o NET.safetensors, else track.csv]\n"
    "The loss in it is L = 1/(2N) sum |f - y|^2 (half of mse, for one output), and time is the\n"
    "learning rate of L (twice that of mse) times steps. A resumed run goes on with the file.\n\n"
    "Without --target a network of a sequence learns what comes next, at every position:\n"
    "tokens(P, 256) the next byte of DATA, any file, in windows of P + 1 bytes; sequence(PxC) the\n"
    "next values, in rows of (P + 1) C columns that are taken as they are. Attention must be "
    "causal,\n"
    "and the last layer dense(256) or dense(C). The last tenth of the text (of the rows) is kept\n"
    "aside: its loss, and bits per byte, are told at the end. --val-part takes the part in front "
    "of\n"
    "it. Then --batch is " NEXT_BATCH " and --epochs " NEXT_EPOCHS " by default.\n\n"
    "Examples:\n"
    "  farfield train -a 'dense(128) ln relu dense(128) ln relu dense' train.csv -t RMSD \\\n"
    "      -o net.safetensors\n"
    "  farfield train -a 'dense(64) tanh dense' iris.csv -t species --batch 32 -o "
    "iris.safetensors\n"
    "  farfield train -a 'tokens(64, 256) embed(64) position [skip(ln attention(4, causal))\n"
    "      skip(ln dense(256) gelu dense(64))]x2 ln dense(256)' book.txt -e 3 -o book.safetensors\n"
    "  farfield train -a 'image(3x32x32) [conv(32, 3x3) relu]x2 gap dense' pictures \\\n"
    "      --augment 'flip,crop(4)' --batch 64 -o pictures.safetensors\n"
    "  farfield train -a '[dense(512) relu]x2 dense(1)' --init ntk --inputs 9 --epochs 0 \\\n"
    "      -o start.safetensors";

static int check_untrained(const command_line *line, const train_args *a)
{
    static const char *const OTHERS[] = {"--target", "--features", "--where",   "--resume",
                                         "--report", "--track",    "--val-part"};
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    if (other) {
        return usage_error(VERB, "%s needs a table DATA", other);
    }
    if (a->epochs != 0) {
        return usage_error(VERB, "no table DATA to train on (without one: --epochs 0 --inputs D)");
    }
    return a->inputs > 0 || a->from
               ? OPTIONS_OK
               : usage_error(VERB, "--inputs is missing: how many inputs has it?");
}

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Sequences have something to learn without a target: what comes next. */
static int check_next(const command_line *line, const train_args *a)
{
    static const char *const OTHERS[] = {"--track", "--task", "--keep", "--standardize"};
    static const char *const OF_TABLES[] = {"--features", "--where", "--impute",
                                            "--sep",      "--na",    "--categorical"};
    const char *arch = a->arch ? a->arch + strspn(a->arch, " \t\r\n[") : "";
    bool tokens = starts_with(arch, "tokens");
    if (a->arch && !tokens && !starts_with(arch, "sequence")) {
        return usage_error(VERB, "--target is missing: which column is to be predicted?");
    }
    const char *other = options_given_of(line, OTHERS, sizeof OTHERS / sizeof OTHERS[0]);
    if (!other && tokens) {
        other = options_given_of(line, OF_TABLES, sizeof OF_TABLES / sizeof OF_TABLES[0]);
    }
    return other ? usage_error(VERB, "%s goes with --target only; without one, %s", other,
                               tokens ? "DATA is a text whose next byte is predicted"
                                      : "values are taken as they are and the next is predicted")
                 : OPTIONS_OK;
}

static int check_data(const command_line *line, const train_args *a)
{
    int code = a->target ? OPTIONS_OK : check_next(line, a);
    if (code != OPTIONS_OK) {
        return code;
    }
    return a->inputs > 0 ? usage_error(VERB, "--inputs goes without DATA only: columns decide")
                         : OPTIONS_OK;
}

/* Whether the length bytes of text are flip or crop(N). */
static bool is_augmentation(const char *text, size_t length)
{
    size_t digits =
        length > 5 && strncmp(text, "crop(", 5) == 0 ? strspn(text + 5, "0123456789") : 0;
    return (length == 4 && strncmp(text, "flip", 4) == 0) ||
           (digits > 0 && text[5] != '0' && 5 + digits + 1 == length && text[5 + digits] == ')');
}

/* The library says the rest: what is named twice, or too wide for the images. */
static int check_augment(const char *text)
{
    for (const char *word = text; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        word += strspn(word, " ");
        size_t length = strcspn(word, ",");
        while (length > 0 && word[length - 1] == ' ') {
            length--;
        }
        if (!is_augmentation(word, length)) {
            return usage_error(VERB, "--augment is flip, crop(4) or flip,crop(4), not '%s'", text);
        }
    }
    return OPTIONS_OK;
}

static int check_start(const command_line *line, const train_args *a)
{
    if (!a->arch && !a->from) {
        return usage_error(VERB, "--arch is missing: which network?");
    }
    if (a->from && options_given(line, "--init")) {
        return usage_error(VERB, "--from does not go with --init");
    }
    if (a->merge && a->linearized) {
        return usage_error(VERB, "--merge does not go with --linearized");
    }
    if (a->layers && a->freeze) {
        return usage_error(VERB, "--layers does not go with --freeze");
    }
    if (a->resume && a->restart) {
        return usage_error(VERB, "--resume does not go with --restart");
    }
    if (a->seeds > 1 && a->checkpoint) {
        return usage_error(VERB, "--checkpoint names one file, but --seeds are %lld",
                           (long long)a->seeds);
    }
    if (options_given(line, "--w0") && a->init != FAR_INIT_SIREN) {
        return usage_error(VERB, "--w0 goes with --init siren only");
    }
    if (options_given(line, "--momentum") && a->optimizer != FAR_OPTIMIZER_MOMENTUM) {
        return usage_error(VERB, "--momentum goes with --optimizer momentum only");
    }
    return a->augment ? check_augment(a->augment) : OPTIONS_OK;
}

/* "full", or a number of rows: 0 is all of them. */
static int read_batch(const char *text, int64_t *out)
{
    char *end;
    *out = 0;
    if (strcmp(text, "full") == 0) {
        return OPTIONS_OK;
    }
    long long rows = strtoll(text, &end, 10);
    if (end == text || *end || rows < 1) {
        return usage_error(VERB, "--batch is full or a number of rows like 128, not '%s'", text);
    }
    *out = rows;
    return OPTIONS_OK;
}

/* step:20,0.5 */
static int read_steps(const char *text, far_schedule *out)
{
    char *end;
    long long every = strtoll(text, &end, 10);
    bool good = end > text && *end == ',' && every >= 1;
    const char *factor = good ? end + 1 : text;
    out->every = every;
    out->factor = strtod(factor, &end);
    if (!good || end == factor || *end || !(out->factor > 0 && out->factor <= 1)) {
        return usage_error(VERB,
                           "--schedule step:N,F multiplies the rate by F, above 0 and at most 1, "
                           "every N epochs, as in step:20,0.5, not 'step:%s'",
                           text);
    }
    return OPTIONS_OK;
}

static int read_schedule(const char *text, far_schedule *out)
{
    static const char *const NAMES[] = {"constant", "cosine", "linear"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            out->kind = (far_schedule_kind)i;
            return OPTIONS_OK;
        }
    }
    if (strncmp(text, "step:", 5) == 0) {
        out->kind = FAR_SCHEDULE_STEP;
        return read_steps(text + 5, out);
    }
    return usage_error(VERB, "--schedule is constant, cosine, linear or step:20,0.5, not '%s'",
                       text);
}

static int check_validation(const train_args *a)
{
    if (!isnan(a->val_part) && !(a->val_part > 0 && a->val_part < 1)) {
        return usage_error(VERB, "--val-part is a part of the rows, above 0 and below 1");
    }
    return a->patience > 0 && isnan(a->val_part)
               ? usage_error(VERB, "--patience needs validation rows: --val-part 0.2")
               : OPTIONS_OK;
}

static int read_opts(training *t)
{
    const train_args *a = &t->args;
    far_train_opts *o = &t->opts;
    far_train_opts_init(o);
    o->optimizer = a->optimizer;
    o->loss = a->loss == LOSS_AUTO ? FAR_LOSS_MSE : a->loss - 1;
    o->lr = a->lr;
    o->momentum = a->momentum;
    o->epochs = a->epochs;
    o->l2_to_init = a->l2_to_init;
    o->weight_decay = a->weight_decay;
    o->patience = a->patience;
    o->augment = a->augment;
    o->selective = a->selective;
    o->stop_loss = a->stop_loss;
    o->linearized = a->linearized;
    o->dtype = a->dtype;
    o->checkpoint_seconds = a->every;
    o->resume = a->resume;
    o->keep_checkpoint = 1; /* until the network is saved */
    if (a->selective && a->l2_to_init == 0) {
        return usage_error(VERB, "--selective is about --l2-to-init LAM, which is not there");
    }
    int code = read_batch(a->batch, &o->batch);
    code = code == OPTIONS_OK ? read_schedule(a->schedule, &o->schedule) : code;
    code = code == OPTIONS_OK ? check_validation(a) : code;
    if (code == OPTIONS_OK && o->batch > 0 && a->optimizer == FAR_OPTIMIZER_GD) {
        return usage_error(VERB, "--optimizer gd takes the whole batch; sgd takes --batch %s",
                           a->batch);
    }
    return code;
}

static int read_command_line(int argc, char **argv, training *t)
{
    train_args *a = &t->args;
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    a->data = line.operands[0];
    if (code == OPTIONS_OK && a->data && !a->target && is_folder(a->data)) {
        a->target = LABEL;
    }
    a->standardize = a->raw ? FAR_STANDARDIZE_NONE : a->standardize;
    if (code == OPTIONS_OK) {
        code = check_start(&line, a);
    }
    if (code == OPTIONS_OK) {
        code = a->data ? check_data(&line, a) : check_untrained(&line, a);
    }
    t->next = a->data && !a->target;
    if (t->next && !options_given(&line, "--epochs")) {
        a->epochs = strtoll(NEXT_EPOCHS, NULL, 10);
    }
    if (t->next && !options_given(&line, "--batch") && a->optimizer != FAR_OPTIMIZER_GD) {
        a->batch = NEXT_BATCH;
    }
    if (code == OPTIONS_OK) {
        code = tracking_read(VERB, &a->track, &t->track);
    }
    return code == OPTIONS_OK ? read_opts(t) : code;
}

/* ---- files --------------------------------------------------------------------------------- */

static char *run_checkpoint(const train_args *a, const char *file)
{
    char *name = NULL;
    if (a->checkpoint) {
        return strdup(a->checkpoint);
    }
    return file && asprintf(&name, "%s.checkpoint", file) >= 0 ? name : NULL;
}

/* An unfinished run is not to be lost by mistake, nor a finished one to be done again. */
static int check_checkpoint(const train_args *a, const train_run *r)
{
    struct stat info;
    bool there = r->checkpoint && stat(r->checkpoint, &info) == 0;
    bool file = there && S_ISREG(info.st_mode);
    if (file && !a->resume && a->epochs > 0 && !far_checkpoint_is(r->checkpoint)) {
        return failure(VERB,
                       "%s is there, and is no checkpoint of a training run, so it is not "
                       "replaced; remove it, or name another with --checkpoint",
                       r->checkpoint);
    }
    if (file && !a->resume && !a->restart && a->epochs > 0) {
        return failure(VERB,
                       "%s holds an unfinished run; --resume goes on with it, --restart begins "
                       "anew",
                       r->checkpoint);
    }
    if (a->resume && !r->checkpoint) {
        return usage_error(VERB, "--resume needs --output or --checkpoint: what to go on with?");
    }
    return a->resume && !there && a->seeds == 1
               ? failure(VERB, "there is no checkpoint %s to go on from", r->checkpoint)
               : EXIT_DONE;
}

static int name_run(far_ctx *ctx, const train_args *a, int64_t i, train_run *r)
{
    if (a->output) {
        r->file = training_file(a, a->output, i);
        if (!r->file) {
            return failure(VERB, "out of memory");
        }
    }
    r->checkpoint = a->data ? run_checkpoint(a, r->file) : NULL;
    int code = r->file ? output_possible(VERB, ctx, r->file) : EXIT_DONE;
    if (code == EXIT_DONE && r->checkpoint) {
        code = output_possible(VERB, ctx, r->checkpoint);
    }
    return code == EXIT_DONE ? check_checkpoint(a, r) : code;
}

static int name_runs(training *t)
{
    int code = EXIT_DONE;
    t->runs = calloc((size_t)t->args.seeds, sizeof *t->runs);
    if (!t->runs) {
        return failure(VERB, "out of memory");
    }
    for (int64_t i = 0; i < t->args.seeds && code == EXIT_DONE; i++) {
        code = name_run(t->s.ctx, &t->args, i, &t->runs[i]);
    }
    return code;
}

/* ---- data ---------------------------------------------------------------------------------- */

static bool target_is_words(const training *t)
{
    int64_t col;
    return far_frame_find(t->s.ctx, t->table.frame, t->args.target, &col) == FAR_OK &&
           far_frame_column(t->table.frame, col).kind == FAR_COLUMN_WORD;
}

/* Draws validation rows out of those that count; *train and *val get one byte a row. */
static int draw_validation(const training *t, unsigned char **train, unsigned char **val)
{
    int64_t rows = far_frame_rows(t->table.frame), count, next = 0;
    unsigned char *taken =
        draw_part(VERB, t->args.val_part, (uint64_t)t->args.seed, t->table.count, &count);
    *train = calloc((size_t)rows + 1, 1);
    *val = calloc((size_t)rows + 1, 1);
    int code = !taken ? EXIT_FAILED : *train && *val ? EXIT_DONE : failure(VERB, "out of memory");
    for (int64_t i = 0; code == EXIT_DONE && i < rows; i++) {
        if (!t->table.rows || t->table.rows[i]) {
            (*val)[i] = taken[next++];
            (*train)[i] = !(*val)[i];
        }
    }
    free(taken);
    return code;
}

/* Validation rows through the columns that the others have taught. */
static int encode_validation(training *t, const unsigned char *val)
{
    const far_columns *c = t->data->columns;
    int64_t rows = t->table.count - t->data->inputs.rows;
    int code = matrix_alloc(VERB, rows, t->data->inputs.cols, FAR_F64, &t->val_x);
    if (code == EXIT_DONE) {
        code = matrix_alloc(VERB, rows, t->data->targets.cols, FAR_F64, &t->val_y);
    }
    if (code == EXIT_DONE &&
        (far_columns_encode(t->s.ctx, c, t->table.frame, val, &t->val_x) != FAR_OK ||
         far_columns_encode_targets(t->s.ctx, c, t->table.frame, val, NULL, &t->val_y) != FAR_OK)) {
        code = session_failure(&t->s, t->table.label);
    }
    t->opts.val_x = &t->val_x;
    t->opts.val_y = &t->val_y;
    return code;
}

/* That of --arch, or of the network to start from. */
static int find_arch(training *t)
{
    const train_args *a = &t->args;
    far_net *net = NULL;
    int code = a->arch ? EXIT_DONE : network_load(&t->s, a->from, NULL, &net);
    if (code == EXIT_DONE) {
        t->arch = strdup(a->arch ? a->arch : far_net_describe(net).arch);
        code = t->arch ? EXIT_DONE : failure(VERB, "out of memory");
    }
    far_net_destroy(net);
    return code;
}

static int learn_columns(training *t, const unsigned char *rows)
{
    const train_args *a = &t->args;
    far_columns_opts o;
    far_columns_opts_init(&o);
    o.target = a->target;
    o.features = a->features;
    o.rows = rows;
    o.task = a->task;
    o.loss = t->opts.loss;
    o.standardize = a->standardize;
    o.impute = a->impute;
    o.careful = 1;
    o.keep = a->keep;
    o.arch = t->arch;
    far_status st = far_examples_learn(t->s.ctx, t->table.frame, &o, &t->data);
    bool about_data = st == FAR_ERR_VALUE || st == FAR_ERR_FORMAT;
    if (st == FAR_ERR_PARSE) {
        return arch_failure(&t->s, st);
    }
    if (st != FAR_OK) {
        return session_failure(&t->s, about_data ? t->table.label : NULL);
    }
    columns_say(&t->s, t->data->columns);
    return EXIT_DONE;
}

/* Pictures alone can be predicted, not learnt from. */
static int check_labels(const training *t)
{
    int64_t col;
    bool pictures = is_folder(t->args.data);
    return pictures && far_frame_find(t->s.ctx, t->table.frame, LABEL, &col) != FAR_OK
               ? failure(VERB,
                         "%s: the pictures have no labels; put them into one folder for each class",
                         t->table.label)
               : EXIT_DONE;
}

static int read_data(training *t)
{
    const train_args *a = &t->args;
    unsigned char *train = NULL, *val = NULL;
    int code = find_arch(t);
    if (code == EXIT_DONE) {
        t->table.arch = t->arch;
        code = dataset_read(VERB, t->s.ctx, a->data, &a->table, a->where, &t->table);
    }
    if (code == EXIT_DONE) {
        code = check_labels(t);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    bool classes = a->task == FAR_TASK_CLASSIFY || (a->task == FAR_TASK_AUTO && target_is_words(t));
    if (a->loss == LOSS_AUTO && classes) {
        t->opts.loss = FAR_LOSS_CE;
    }
    if (!isnan(a->val_part)) {
        code = draw_validation(t, &train, &val);
    }
    if (code == EXIT_DONE) {
        code = learn_columns(t, train ? train : t->table.rows);
    }
    if (code == EXIT_DONE && val) {
        code = encode_validation(t, val);
    }
    free(train);
    free(val);
    return code;
}

bool training_classifies(const training *t)
{
    return t->data && far_columns_describe(t->data->columns).task == FAR_TASK_CLASSIFY;
}

/* ---- networks ------------------------------------------------------------------------------ */

static int draw_network(training *t, int64_t i, far_net **out)
{
    const train_args *a = &t->args;
    far_net_opts o;
    far_net_opts_init(&o);
    o.inputs = t->data ? t->data->inputs.cols : a->inputs;
    o.outputs = t->data ? t->data->targets.cols : 0;
    o.init = a->init == INIT_KAIMING_NORMAL ? FAR_INIT_KAIMING_NORMAL : a->init;
    o.w0 = a->w0;
    o.seed = (uint64_t)(a->seed + i);
    far_status st = far_net_create(t->s.ctx, a->arch, &o, out);
    return st == FAR_OK ? EXIT_DONE : arch_failure(&t->s, st);
}

static int make_network(training *t, int64_t i, far_net **out)
{
    const train_args *a = &t->args;
    int code = a->from ? network_load(&t->s, a->from, a->arch, out) : draw_network(t, i, out);
    if (code == EXIT_DONE && a->from && far_net_describe(*out).untuned &&
        far_net_draw_lora(t->s.ctx, *out, (uint64_t)(a->seed + i)) != FAR_OK) {
        code = session_failure(&t->s, a->from);
    }
    if (code == EXIT_DONE && t->data &&
        far_net_set_columns(t->s.ctx, *out, t->data->columns) != FAR_OK) {
        code = session_failure(&t->s, a->from ? a->from : "--arch");
    }
    return code;
}

static int make_networks(training *t)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; i < t->args.seeds && code == EXIT_DONE; i++) {
        code = make_network(t, i, &t->runs[i].net);
    }
    return code;
}

static int read_layers(training *t)
{
    int64_t layers = far_net_describe(t->runs[0].net).layers;
    const char *list = t->args.layers ? t->args.layers : t->args.freeze;
    int code = list ? layers_read(VERB, list, layers, &t->layers) : EXIT_DONE;
    for (int64_t l = 0; code == EXIT_DONE && t->args.freeze && l < layers; l++) {
        t->layers[l] = !t->layers[l];
    }
    return code;
}

/* ---- training ------------------------------------------------------------------------------ */

/* What the library is given. */
typedef struct batch {
    far_net **nets;
    uint64_t *seeds;
    const char **checkpoints;
    far_train_result *results;
    int64_t count;
} batch;

static void batch_free(batch *b)
{
    free(b->nets);
    free(b->seeds);
    free(b->checkpoints);
    free(b->results);
}

static int batch_make(training *t, batch *b)
{
    size_t most = (size_t)t->args.seeds;
    *b = (batch){.nets = calloc(most, sizeof *b->nets),
                 .seeds = calloc(most, sizeof *b->seeds),
                 .checkpoints = calloc(most, sizeof *b->checkpoints),
                 .results = calloc(most, sizeof *b->results),
                 .count = t->args.seeds};
    if (!b->nets || !b->seeds || !b->checkpoints || !b->results) {
        return failure(VERB, "out of memory");
    }
    for (int64_t i = 0; i < b->count; i++) {
        b->nets[i] = t->runs[i].net;
        b->seeds[i] = (uint64_t)(t->args.seed + i);
        b->checkpoints[i] = t->runs[i].checkpoint;
    }
    return EXIT_DONE;
}

/* Losses are kept for a report only. */
static int make_histories(training *t)
{
    size_t count = (size_t)(t->args.seeds * t->opts.epochs) + 1;
    if (!t->args.common.report) {
        return EXIT_DONE;
    }
    t->opts.history = t->histories = calloc(count, sizeof *t->histories);
    t->opts.val_history = t->val_histories = calloc(count, sizeof *t->val_histories);
    return t->histories && t->val_histories ? EXIT_DONE : failure(VERB, "out of memory");
}

static far_status train_batch(training *t, batch *b)
{
    far_mat x = t->next ? t->windows : t->data->inputs;
    const far_mat *y = t->next ? NULL : &t->data->targets;
    t->opts.layers = t->layers;
    tracking_attach(t);
    far_status st = FAR_OK;
    if (b->count == 1) {
        t->opts.seed = b->seeds[0];
        t->opts.checkpoint = b->checkpoints[0];
        st = far_net_train(t->s.ctx, b->nets[0], &x, y, &t->opts, &b->results[0]);
    } else {
        st = far_net_train_many(t->s.ctx, b->nets, b->count, &x, y, &t->opts, b->seeds,
                                b->checkpoints, b->results);
    }
    for (int64_t i = 0; i < b->count; i++) {
        t->runs[i].result = b->results[i];
    }
    return st;
}

static bool diverged(const train_run *r)
{
    return r->result.end == FAR_TRAIN_DIVERGED;
}

/* After Ctrl-C: where the runs stand, before the signal ends the process. */
static void say_stopped(const training *t, const batch *b)
{
    const far_train_result *r = &b->results[0];
    const char *kept = b->checkpoints[0];
    progress_end((progress *)&t->s.bar);
    if (!kept) {
        session_say(&t->s, "stopped after epoch %lld of %lld; nothing is kept without --output",
                    (long long)r->epochs, (long long)t->opts.epochs);
    } else if (b->count == 1) {
        session_say(&t->s,
                    "stopped after epoch %lld of %lld (loss %.4g), kept in %s; the same command "
                    "with --resume goes on",
                    (long long)r->epochs, (long long)t->opts.epochs, r->loss, kept);
    } else {
        session_say(&t->s,
                    "stopped; what was begun is kept in checkpoints (%s, ...); the same command "
                    "with --resume goes on",
                    kept);
    }
}

/* What a diverged run was before is kept under another name: worth a look, but nothing to go on
 * with, so it does not stand in the way of the next run. */
static void set_diverged_aside(const training *t)
{
    for (int64_t i = 0; i < t->args.seeds; i++) {
        const char *from = t->runs[i].checkpoint;
        char *to = NULL;
        if (diverged(&t->runs[i]) && from && asprintf(&to, "%s.diverged", from) >= 0 &&
            rename(from, to) == 0) {
            session_say(&t->s, "%s is the network as it was before", to);
        }
        free(to);
    }
}

static int train_runs(training *t)
{
    batch b = {0};
    int code = batch_make(t, &b);
    if (code == EXIT_DONE) {
        code = make_histories(t);
    }
    if (code == EXIT_DONE) {
        interrupts_hold();
        far_status st = train_batch(t, &b);
        if (st == FAR_ERR_CANCELLED) {
            say_stopped(t, &b);
        }
        code = st == FAR_ERR_IO ? EXIT_DONE : tracking_save(t); /* also if it diverged */
        if (st != FAR_OK) {
            session_idle(&t->s); /* does not come back after Ctrl-C */
            code = session_failure(&t->s, NULL);
            set_diverged_aside(t);
        }
    }
    batch_free(&b);
    return code;
}

/* ---- the job ------------------------------------------------------------------------------- */

/* Checkpoints go when everything is saved: until then the whole command can be resumed. */
static void drop_checkpoints(const training *t)
{
    for (int64_t i = 0; i < t->args.seeds; i++) {
        const train_run *r = &t->runs[i];
        if (r->checkpoint && !diverged(r)) {
            unlink(r->checkpoint);
        }
    }
    set_diverged_aside(t);
}

static int save_run(training *t, train_run *r)
{
    far_status st = FAR_OK;
    if (t->args.merge) { /* what is told and scored from here on is what was kept */
        far_net *merged = NULL;
        st = far_net_merge(t->s.ctx, r->net, &merged);
        if (st == FAR_OK) {
            far_net_destroy(r->net);
            r->net = merged;
        }
    }
    st = st == FAR_OK && r->file ? far_net_save(t->s.ctx, r->net, r->file) : st;
    return st == FAR_OK ? EXIT_DONE : session_failure(&t->s, NULL);
}

static int save_runs(training *t)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; i < t->args.seeds && code == EXIT_DONE; i++) {
        code = diverged(&t->runs[i]) ? EXIT_DONE : save_run(t, &t->runs[i]);
    }
    if (code == EXIT_DONE) {
        drop_checkpoints(t);
    } else if (t->args.data) {
        session_say(&t->s, "nothing is lost: the same command with --resume saves it");
    }
    session_idle(&t->s); /* does not come back after Ctrl-C */
    return code;
}

static int score_runs(training *t)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; t->args.data && i < t->args.seeds && code == EXIT_DONE; i++) {
        train_run *r = &t->runs[i];
        code = diverged(r) ? EXIT_DONE : t->next ? next_score(t, r) : training_score(t, r);
    }
    return code;
}

static int tell(training *t)
{
    int failed = 0, code = training_tell(t);
    for (int64_t i = 0; i < t->args.seeds; i++) {
        failed += diverged(&t->runs[i]);
    }
    if (code == EXIT_DONE && failed > 0) {
        return failure(VERB, "%d of %lld runs diverged and %s not kept; try a smaller --lr", failed,
                       (long long)t->args.seeds, failed == 1 ? "is" : "are");
    }
    return code;
}

static int run_train(training *t)
{
    int code = name_runs(t);
    if (code == EXIT_DONE && t->args.data && !t->next) {
        code = read_data(t);
    }
    if (code == EXIT_DONE) {
        code = make_networks(t);
    }
    if (code == EXIT_DONE && t->next) {
        code = next_read(t);
    }
    if (code == EXIT_DONE) {
        code = read_layers(t);
    }
    if (code == EXIT_DONE && t->data) {
        code = tracking_open(t);
    }
    if (code == EXIT_DONE && t->args.data) {
        code = train_runs(t);
    }
    if (code == EXIT_DONE) {
        code = save_runs(t);
    }
    if (code == EXIT_DONE) {
        code = score_runs(t);
    }
    return code == EXIT_DONE ? tell(t) : code;
}

static void training_close(training *t)
{
    for (int64_t i = 0; t->runs && i < t->args.seeds; i++) {
        far_net_destroy(t->runs[i].net);
        free(t->runs[i].file);
        free(t->runs[i].checkpoint);
    }
    free(t->runs);
    free(t->arch);
    free(t->histories);
    free(t->val_histories);
    if (!t->series) {
        free(t->val_x.data);
        free(t->windows.data);
        free(t->test.data);
    }
    free(t->val_y.data);
    far_examples_destroy(t->series);
    free(t->layers);
    tracking_free(&t->track);
    far_examples_destroy(t->data);
    dataset_free(&t->table);
    session_close(&t->s);
}

static train_args default_args(void)
{
    far_train_opts o;
    far_net_opts n;
    far_train_opts_init(&o);
    far_net_opts_init(&n);
    return (train_args){.optimizer = o.optimizer,
                        .init = n.init,
                        .dtype = o.dtype,
                        .batch = "full",
                        .schedule = "constant",
                        .val_part = NAN,
                        .lr = o.lr,
                        .momentum = o.momentum,
                        .l2_to_init = o.l2_to_init,
                        .weight_decay = o.weight_decay,
                        .stop_loss = o.stop_loss,
                        .w0 = n.w0,
                        .every = o.checkpoint_seconds,
                        .epochs = o.epochs,
                        .seeds = 1,
                        .common = {.threads = default_threads()}};
}

int cmd_train(int argc, char **argv)
{
    training t = {.args = default_args()};
    int code = read_command_line(argc, argv, &t);
    if (code != OPTIONS_OK) {
        tracking_free(&t.track);
        return code;
    }
    code = session_start(&t.s, VERB, &t.args.common);
    if (code == EXIT_DONE) {
        code = run_train(&t);
    }
    training_close(&t);
    return code;
}
