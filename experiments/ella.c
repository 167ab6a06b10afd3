/* Deng, Zhou and Zhu 2022: the linearised Laplace approximation by a few features (ELLA). */
#include "ella.h"
#include "registry.h"

const char *const ELLA_NAMES[ELLA_FORMS] = {"ELLA (paper)", "ELLA, residual prior"};

static far_status explain(reproduction *r)
{
    ella_plan p = ella_plan_for(r);
    far_status st;
    TRY(keep_section(
        r, "Protocol",
        "Digits: the first %d of the training file, pixels from 0 to 1, the network "
        "'%s' by Adam (rate 0.01, full batch) until its training loss is 3e-4; %lld "
        "seed%s, each with weights, landmarks and halves of its own. M = %d. For every "
        "K and both forms s0^2 is chosen by NLL on one half of the test file (%lld "
        "values from 1e-4 to 1e2); all scores are those of the other half. "
        "Probabilities are means of softmaxes of draws, %d to choose and %lld to score.",
        ELLA_TRAIN, ELLA_DIGITS_NET, (long long)p.seeds, p.seeds == 1 ? "" : "s", ELLA_LANDMARKS,
        (long long)p.priors, ELLA_CHOICE_SAMPLES, (long long)p.samples));
    TRY(keep_text(r, "The paper has CIFAR-10, ImageNet and residual networks, M = 2000 and K = 20, "
                     "and its figures are over K with one s0^2. Here the network is small enough "
                     "for the exact posterior to stand beside it. The claims over K are those of a "
                     "trial on these digits that was made before this program; the paper has no "
                     "numbers for them."));
    TRY(keep_text(r, "The residual prior, s0^2 (k(x, x) - phi(x) phi(x)'), is not in the paper: it "
                     "is the prior of all directions that are no features. With it ELLA is exact "
                     "when the features span the training rows; without it variances are below "
                     "the exact ones."));
done:
    return st;
}

far_status run_ella(reproduction *r)
{
    digits train = {0}, test = {0};
    double prior = 1;
    far_status st;
    TRY(digits_open(r, &train));
    TRY(digits_open_test(r, &test));
    TRY(explain(r));
    TRY(ella_study_toy(r));
    TRY(ella_study_identity(r));
    TRY(ella_study_digits(r, &train, &test, &prior));
    TRY(ella_study_nystrom(r, &train, &test, prior));
done:
    digits_free(&train);
    digits_free(&test);
    return st;
}
