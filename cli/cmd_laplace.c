/* farfield laplace: how sure a trained network is. */
#include "cli.h"
#include "files.h"
#include "laplace_job.h"
#include "report.h"
#include "subject.h"

#include <math.h>
#include <string.h>

#define VERB "laplace"

const char *const METHOD_NAMES[] = {"auto", "ella", "exact", "diagonal", "kfac", "last-layer"};

/* ---- the command line ---------------------------------------------------------------------- */

#define AT(field) offsetof(laplace_args, field)

static const option OPTIONS[] = {
    TEXT_OPTION("--net", 'n', AT(net), "NET", "the trained network (net.safetensors)"),
    FILE_ARCH_OPTION,
    TEXT_OPTION("--target", 't', AT(target), "COL[,COL]",
                "columns of targets (those it was trained on)"),
    TEXT_OPTION("--where", 'w', AT(where), "EXPR", "only the rows of TRAIN where it holds"),
    TABLE_OPTIONS(AT(table)),
    TEXT_OPTION("--val", 0, AT(val), "FILE",
                "validation rows: K and s0^2 are chosen on them, unless they are given"),
    NUMBER_OPTION("--val-part", 0, AT(val_part), "F",
                  "the same with this part of TRAIN, which is then not used to fit"),
    TEXT_OPTION("--test", 0, AT(test), "FILE",
                "rows to predict and to score (the validation rows, else TRAIN)"),
    TEXT_OPTION("--ood", 0, AT(ood), "FILE",
                "rows out of domain, to be told apart from those of --test"),
    CHOICE_OPTION("--method", 0, AT(method), METHOD_LIST,
                  "of the posterior: exact; by features (ella); the diagonal of the\n"
                  "curvature; Kronecker factors a layer; exact, of the last layer alone.\n"
                  "auto is exact for a small table, else ella"),
    FLAG_OPTION("--exact", 0, AT(exact),
                "--method exact: side P or rows times outputs, whichever is smaller"),
    COUNT_OPTION("--landmarks", 'M', AT(landmarks), "M",
                 "landmarks that make features: pairs of a training point and an output", 1,
                 INT32_MAX),
    COUNT_OPTION("--rank", 'K', AT(rank), "K", "features; 0 is all that the landmarks give", 0,
                 INT32_MAX),
    FLAG_OPTION("--balanced", 0, AT(balanced),
                "landmarks of the classes and outputs in turn, not at random"),
    NUMBER_OPTION("--prior", 0, AT(prior), "S0SQ", "prior variance s0^2 of every weight (chosen)"),
    NUMBER_OPTION("--noise", 0, AT(noise), "V",
                  "noise variance of a regression, in squared units of its one target,\n"
                  "standardised for several (chosen)"),
    FLAG_OPTION("--residual-prior", 0, AT(residual),
                "add s0^2 (k - phi phi'), the prior of what is no feature (the default)"),
    FLAG_OPTION("--paper", 0, AT(paper), "leave it out, as the paper does"),
    CHOICE_OPTION("--likelihood", 0, AT(likelihood), LIKELIHOOD_LIST,
                  "auto is what the network was trained with: mse, ce, bce"),
    FLAG_OPTION("--choose", 0, AT(choose),
                "choose both on the validation rows; a K that is given is the most"),
    FLAG_OPTION("--probit", 0, AT(probit),
                "class probabilities by the probit formula (the default)"),
    COUNT_OPTION("--mc", 0, AT(samples), "N", "the same by the mean over N draws", 1, INT32_MAX),
    COUNT_OPTION("--seed", 0, AT(seed), "N", "of landmarks, --val-part and --mc", 0, INT32_MAX),
    OUTPUT_OPTION("write predictions to FILE (.csv, .csv.gz, .npy, .npz)"),
    MEMORY_OPTION("use at most 500M, 8G, ..."),
};

static const char USAGE[] =
    "laplace --net NET TRAIN [--val V] [--test T] [--ood O] [options] [-o P.csv]";
static const char ABOUT[] =
    "How sure the trained network NET is: its linearised Laplace approximation on its training "
    "rows\n"
    "TRAIN, exactly, by K features of the tangent kernel (ELLA) or layer by layer. Outputs get a\n"
    "variance, and the network as it is (MAP) is scored beside them.";
static const char NOTES[] =
    "TRAIN, V, T and O are tables as for predict. A network that does not know its columns takes\n"
    "all but --target in their order, and classes as numbers from 0. Without validation rows "
    "s0^2,\n"
    "and the noise of a regression, are those of the largest marginal likelihood of TRAIN, K is\n"
    "all that the landmarks give, and a small table (up to 2000 rows times outputs) is solved\n"
    "exactly unless features are asked for. Rows of --val-part have trained the network if TRAIN "
    "has: it\n"
    "does better on them than on new rows, and other rows choose better. MAP, the network as it\n"
    "is, has the mean square of its residuals on TRAIN (or V) as its noise.\n"
    "Predictions: class, p_CLASS, and score_CLASS with score_CLASS_std (of logits); of a "
    "regression\n"
    "NAME, NAME_std (of the function) and NAME_std_y (with the noise), in the target's units.\n\n"
    "Examples:\n"
    "  farfield laplace --net net.safetensors train.csv --test test.csv\n"
    "  farfield laplace --net net.safetensors train.csv --val val.csv --test test.csv\n"
    "  farfield laplace --net net.safetensors train.csv --exact --prior 0.1 --test t.csv -o p.csv";

/* ---- what does not go together ------------------------------------------------------------- */

static int check_files(const laplace_args *a)
{
    const char *files[] = {a->train, a->val, a->test, a->ood};
    int from_stdin = 0;
    for (int i = 0; i < 4; i++) {
        from_stdin += files[i] && strcmp(files[i], "-") == 0;
    }
    if (!a->net) {
        return usage_error(VERB, "--net is missing: the approximation of which network?");
    }
    if (!a->train) {
        return usage_error(VERB, "no input file TRAIN");
    }
    if (from_stdin > 1) {
        return usage_error(VERB, "only one file can be standard input");
    }
    if (!output_ending_known(VERB, a->output)) {
        return EXIT_USAGE;
    }
    return OPTIONS_OK;
}

static int check_forms(const command_line *line, laplace_args *a)
{
    static const char *const OF_FEATURES[] = {"--landmarks", "--rank", "--balanced",
                                              "--residual-prior", "--paper"};
    const char *features = options_given_of(line, OF_FEATURES, 5);
    a->features_given = features != NULL;
    if (a->exact && a->method != METHOD_AUTO && a->method != METHOD_EXACT) {
        return usage_error(VERB, "--exact and --method %s do not go together",
                           METHOD_NAMES[a->method]);
    }
    a->method = a->exact ? METHOD_EXACT : a->method;
    if (a->method > METHOD_ELLA && features) {
        return usage_error(VERB, "%s is about features, and %s%s has none", features,
                           a->exact ? "--exact" : "--method ",
                           a->exact ? "" : METHOD_NAMES[a->method]);
    }
    a->features_given = a->features_given || a->method == METHOD_ELLA;
    if (a->residual && a->paper) {
        return usage_error(VERB, "--residual-prior and --paper do not go together");
    }
    if (a->probit && options_given(line, "--mc")) {
        return usage_error(VERB, "--probit and --mc do not go together");
    }
    return OPTIONS_OK;
}

static int check_choice(const laplace_args *a)
{
    bool part = !isnan(a->val_part);
    if (a->val && part) {
        return usage_error(VERB, "--val and --val-part do not go together");
    }
    if (part && !(a->val_part > 0 && a->val_part < 1)) {
        return usage_error(VERB, "--val-part is a part of the rows, above 0 and below 1");
    }
    if (a->choose && !a->val && !part) {
        return usage_error(VERB, "--choose needs validation rows: --val FILE or --val-part 0.2");
    }
    if (a->choose && a->prior_given) {
        return usage_error(VERB, "--prior gives s0^2, and --choose chooses it");
    }
    if (a->prior_given && !(a->prior > 0)) {
        return usage_error(VERB, "--prior must be above 0");
    }
    return a->noise <= 0 ? usage_error(VERB, "--noise must be above 0") : OPTIONS_OK;
}

static int read_command_line(int argc, char **argv, laplace_args *a)
{
    command_line line = {VERB_LINE, .notes = NOTES, .common = common_options(AT(common)),
                         .most_operands = 1};
    int code = options_parse(&line, argc, argv, a);
    if (code != OPTIONS_OK) {
        return code;
    }
    a->train = line.operands[0];
    a->rank_given = options_given(&line, "--rank");
    a->prior_given = options_given(&line, "--prior");
    code = check_files(a);
    code = code == OPTIONS_OK ? check_forms(&line, a) : code;
    return code == OPTIONS_OK ? check_choice(a) : code;
}

/* ---- the network --------------------------------------------------------------------------- */

static int find_likelihood(laplace_job *j)
{
    static const int32_t OF_LOSS[] = {[FAR_LOSS_MSE] = FAR_LIKELIHOOD_GAUSSIAN,
                                      [FAR_LOSS_BCE] = FAR_LIKELIHOOD_BERNOULLI,
                                      [FAR_LOSS_CE] = FAR_LIKELIHOOD_SOFTMAX};
    int32_t loss = far_columns_describe(far_net_describe(j->net).columns).loss;
    if (j->args.likelihood != LIKELIHOOD_AUTO) {
        j->opts.likelihood = j->args.likelihood - 1;
        return EXIT_DONE;
    }
    if (loss < 0) {
        return usage_error(
            VERB, "--likelihood is missing: %s does not say what it was trained with", j->args.net);
    }
    j->opts.likelihood = OF_LOSS[loss];
    return EXIT_DONE;
}

/* What no table could change, before any is read. */
static int check_outputs(const laplace_job *j)
{
    int64_t outputs = j->info.outputs;
    if (j->opts.likelihood == FAR_LIKELIHOOD_SOFTMAX && outputs < 2) {
        return failure(VERB, "%s has 1 output: the logit of two classes is --likelihood bernoulli",
                       j->args.net);
    }
    if (j->opts.likelihood == FAR_LIKELIHOOD_BERNOULLI && outputs != 1) {
        return failure(VERB, "%s has %lld outputs, and a Bernoulli likelihood takes 1", j->args.net,
                       (long long)outputs);
    }
    return EXIT_DONE;
}

static void fill_options(laplace_job *j)
{
    const laplace_args *a = &j->args;
    far_laplace_opts_init(&j->opts);
    j->opts.method = a->method == METHOD_AUTO ? FAR_LAPLACE_ELLA : a->method - METHOD_ELLA;
    j->opts.landmarks = a->landmarks;
    j->opts.rank = a->rank;
    j->opts.balanced = a->balanced;
    j->opts.residual_prior = !a->paper;
    j->opts.prior = a->prior_given ? a->prior : j->opts.prior;
    j->opts.seed = (uint64_t)a->seed;
    j->opts.memory = a->memory;
    j->rule = (far_probability_opts){.size = sizeof j->rule};
    if (a->samples > 0) {
        j->rule.rule = FAR_PROBABILITY_SAMPLES;
        j->rule.samples = a->samples;
    }
    j->rule.seed = (uint64_t)a->seed;
}

static int open_network(laplace_job *j)
{
    int code = network_load(&j->s, j->args.net, j->args.arch, &j->net);
    if (code != EXIT_DONE) {
        return code;
    }
    j->info = far_net_describe(j->net);
    fill_options(j);
    code = find_likelihood(j);
    return code == EXIT_DONE ? check_outputs(j) : code;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run(void *user)
{
    laplace_job *j = user;
    int code = j->args.output ? output_possible(VERB, j->s.ctx, j->args.output) : EXIT_DONE;
    code = code == EXIT_DONE ? open_network(j) : code;
    code = code == EXIT_DONE ? laplace_read_rows(j) : code;
    code = code == EXIT_DONE ? laplace_fit(j) : code;
    code = code == EXIT_DONE ? laplace_judge(j) : code;
    code = code == EXIT_DONE && j->args.output ? laplace_write(j) : code;
    session_idle(&j->s); /* does not come back after Ctrl-C */
    return code == EXIT_DONE ? laplace_tell(j) : code;
}

static laplace_args default_args(void)
{
    far_laplace_opts o;
    far_laplace_opts_init(&o);
    return (laplace_args){.val_part = NAN,
                          .prior = NAN,
                          .noise = NAN,
                          .landmarks = o.landmarks,
                          .rank = o.rank,
                          .common = {.threads = default_threads()}};
}

int cmd_laplace(int argc, char **argv)
{
    laplace_job j = {.args = default_args()};
    return session_run(VERB, read_command_line(argc, argv, &j.args),
                       (verb_job){&j.s, &j.args.common, run, laplace_free, &j});
}
