#!/usr/bin/env python3
"""Random forests and support vector machines of scikit-learn on UCI-90, under the folds of experiments/uci90.

    uci90.py DIR --csv build/uci90_peers.csv [--only NAME] [--rows N] [--models random-forest,svc,farfield]
    uci90.py --show OURS.csv [--table] --csv build/uci90_peers.csv

DIR holds INDEX90.tsv and data/NAME/, as experiments/uci90.sh takes it. Lines set,model,accuracy,log_loss,seconds (means
over the four folds; accuracy in percent) are added to the csv file; what is there is not run again. --show prints the
means over the sets that both files hold, next to those of `uci90 --nested --csv OURS.csv`; with --table every set, too.

random-forest: 500 trees; of three max_features (half of sqrt d, sqrt d, twice it) the one with the best out-of-bag
accuracy on the training rows. Its out-of-bag votes also teach the link.
svc: RBF; C and gamma by cross-validated accuracy inside the training rows (stratified, 4 folds; 3 for sets of more than
1500 rows). The held-out decision values of the chosen pair teach the link.
farfield: NTKClassifier as it comes (the Python package has to be installed), which is `fit` told nothing but the target.

Features are those of the publisher, standardised over all rows, as for the kernels of experiments/uci90. No label of
a test row is seen by a fit, a choice or a link.

The link is that of experiments/uci90_link.c: p_c ~ exp(sum_k w_k z_kc), z being the score and, for votes, also its
logarithm; w is where the log loss of the held-out scores is least, each label counting n / (n + 1).
"""
import argparse
import pathlib
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from result_lines import add_line, read_lines

HEADER = ["set", "model", "accuracy", "log_loss", "seconds"]
FOLDS, TREES, SEED = 4, 500, 0
LEAST_VOTE = 0.005  # what a logarithm sees of no vote
COSTS = [0.25, 1, 4, 16, 64]
WIDTHS = [2.0 ** k for k in (-6, -4, -2, 0, 2)]  # gamma times d
LARGE = 1500


# ---- the published files ----

def read_set(folder, name):
    """Features, labels 0 .. classes - 1, and (train, test) rows of the four folds."""
    lines = (folder / "data" / name / f"{name}_R.dat").read_text().splitlines()[1:]
    table = np.array([line.split() for line in lines if line.strip()], float)
    text = (folder / "data" / name / "conxuntos_kfold.dat").read_text().splitlines()
    rows = [np.array(line.split(), int) for line in text if line.strip()]
    folds = list(zip(rows[0::2], rows[1::2]))[:FOLDS]
    for train, test in folds:
        if len(np.union1d(train, test)) != len(table) or len(train) + len(test) != len(table):
            raise ValueError(f"{name}: a fold does not part the rows in two")
    return table[:, 1:-1], np.unique(table[:, -1], return_inverse=True)[1], folds


# ---- probabilities ----

def fit_link(z, labels):
    """z: features x rows x classes, of rows that their scores have not seen."""
    rows, classes = z.shape[1:]
    target = np.full((rows, classes), 1 / (rows + 1) / classes)
    target[np.arange(rows), labels] += rows / (rows + 1)

    def loss(w):
        logp = log_softmax(np.tensordot(w, z, 1), axis=1)
        return -np.mean(np.sum(target * logp, 1)), np.tensordot(z, np.exp(logp) - target, 2) / rows

    return minimize(loss, np.zeros(len(z)), jac=True, method="BFGS").x


def probabilities(w, z, rows):
    """rows: how many taught the link; a tenth of one row among them is left to all classes alike."""
    floor = 0.1 / (rows + 1)
    return (1 - floor) * np.exp(log_softmax(np.tensordot(w, z, 1), axis=1)) + floor / z.shape[2]


# ---- forests ----

def spread(values, classes, known, fill):
    """Columns for all classes, where a fit knew only some."""
    full = np.full((len(values), classes), fill, float)
    full[:, known] = values
    return full


def vote_features(votes):
    return np.stack([votes, np.log(np.maximum(votes, LEAST_VOTE))])


def forest(x, y, classes, x_test):
    root, best = np.sqrt(x.shape[1]), None
    for features in sorted({max(1, min(x.shape[1], round(root * f))) for f in (0.5, 1, 2)}):
        model = RandomForestClassifier(TREES, max_features=features, oob_score=True, random_state=SEED).fit(x, y)
        if best is None or model.oob_score_ > best.oob_score_:
            best = model
    out_of_bag = spread(best.oob_decision_function_, classes, best.classes_, 0)
    seen = np.isfinite(out_of_bag).all(1)  # a row may be in every bag
    w = fit_link(vote_features(out_of_bag[seen]), y[seen])
    votes = spread(best.predict_proba(x_test), classes, best.classes_, 0)
    return votes, probabilities(w, vote_features(votes), seen.sum())


# ---- support vectors ----

def decide(kernel, y, cost, cross, classes):
    """One score for each class; that of a class which the fit has not met is the lowest."""
    known = np.unique(y)
    if len(known) == 1:
        return spread(np.ones((len(cross), 1)), classes, known, 0)
    model = SVC(C=cost, kernel="precomputed", cache_size=500).fit(kernel, y)
    values = model.decision_function(cross)
    values = np.stack([-values, values], 1) if len(known) == 2 else values
    return spread(values, classes, known, values.min() - 1)


def held_out(squares, y, classes, parts, width):
    """For each cost the decision values of every row by a fit that has not seen it."""
    scores = np.zeros((len(COSTS), len(y), classes))
    for train, test in parts:
        kernel, cross = (np.exp(-width * squares[np.ix_(rows, train)]) for rows in (train, test))
        for i, cost in enumerate(COSTS):
            scores[i, test] = decide(kernel, y[train], cost, cross, classes)
    return scores


def svc(x, y, classes, x_test):
    def distances(a, b):
        return np.maximum((a ** 2).sum(1)[:, None] + (b ** 2).sum(1) - 2 * a @ b.T, 0) / x.shape[1]

    squares, best = distances(x, x), (-1,)
    count = 3 if len(y) * 4 / 3 > LARGE else 4
    parts = list(StratifiedKFold(count, shuffle=True, random_state=SEED).split(x, y))
    for width in WIDTHS:
        for cost, scores in zip(COSTS, held_out(squares, y, classes, parts, width)):
            accuracy = np.mean(scores.argmax(1) == y)
            if accuracy > best[0]:
                best = accuracy, width, cost, scores
    _, width, cost, scores = best
    w = fit_link(scores[None], y)
    values = decide(np.exp(-width * squares), y, cost, np.exp(-width * distances(x_test, x)), classes)
    return values, probabilities(w, values[None], len(y))


# ---- what `fit` does unless told otherwise ----

def farfield(x, y, classes, x_test):
    from farfield import NTKClassifier

    model = NTKClassifier().fit(x, y)
    p = spread(model.predict_proba(x_test), classes, model.classes_, 1e-15)
    return p, p


# ---- runs ----

MODELS = {"random-forest": forest, "svc": svc, "farfield": farfield}
PEERS = "random-forest,svc"


def run(x, y, folds, model):
    """Accuracy in percent and log loss, means over the folds."""
    accuracy, loss, classes = [], [], y.max() + 1
    for train, test in folds:
        scores, p = MODELS[model](x[train], y[train], classes, x[test])
        accuracy.append(100 * np.mean(scores.argmax(1) == y[test]))
        loss.append(-np.mean(np.log(p[np.arange(len(test)), y[test]])))
    return np.mean(accuracy), np.mean(loss)


def wanted(args):
    index = [line.split("\t") for line in (args.dir / "INDEX90.tsv").read_text().splitlines()[1:]]
    sets = sorted((int(row[1]), row[0]) for row in index)
    return [name for rows, name in sets if args.only in (None, name) and rows <= (args.rows or rows)]


def run_all(args):
    done = {(line["set"], line["model"]) for line in read_lines(args.csv)}
    for name in wanted(args):
        x, y, folds = read_set(args.dir, name)
        for model in args.models.split(","):
            if (name, model) in done:
                continue
            start = time.process_time()
            accuracy, loss = run(x, y, folds, model)
            seconds = time.process_time() - start
            add_line(args.csv, HEADER, [name, model, f"{accuracy:.4f}", f"{loss:.6f}", f"{seconds:.2f}"])
            print(f"{name:30} {model:14} {accuracy:6.2f} {loss:.4f} {seconds:.1f} s", flush=True)


def both_files(args):
    """Of each method {set: (accuracy, log loss)}, and the sets that all have."""
    ours, methods = read_lines(args.show), {}
    for column in ("a", "b", "c", "nested"):
        if ours and column in ours[0]:
            methods[column] = {line["set"]: (float(line[column]), float(line[column + "_log_loss"])) for line in ours}
    for line in read_lines(args.csv):
        scores = float(line["accuracy"]), float(line["log_loss"])
        methods.setdefault(line["model"], {})[line["set"]] = scores
    return methods, sorted(set.intersection(*(set(scores) for scores in methods.values())))


def show(args):
    methods, sets = both_files(args)
    values = {name: np.array([scores[s] for s in sets]) for name, scores in methods.items()}
    first = values.get("nested", values["a"])
    print(f"{len(sets)} sets; behind it what nested is better by (standard error over sets)\n")
    print("| | accuracy | nested more | log loss | nested less | nested more accurate, as accurate, less |\n"
          "|---|---|---|---|---|---|")
    for name, v in values.items():
        gain = (first - v) * (1, -1)
        mean, error = gain.mean(0), gain.std(0, ddof=1) / len(sets) ** 0.5
        count = [int(np.sum(np.sign(np.round(gain[:, 0], 3)) == s)) for s in (1, 0, -1)]
        print(f"| {name} | {v[:, 0].mean():.2f} | {mean[0]:+.2f} ({error[0]:.2f}) | {v[:, 1].mean():.4f} | "
              f"{mean[1]:+.4f} ({error[1]:.4f}) | {', '.join(map(str, count))} |")
    if args.table:
        names = [name for name in values if name not in ("a", "b")]
        print("\n| set | " + " | ".join(names) + " | " + " | ".join("loss " + name for name in names) + " |")
        print("|---" * (1 + 2 * len(names)) + "|")
        for i, s in enumerate(sets):
            print(f"| {s} | " + " | ".join(f"{values[n][i, 0]:.2f}" for n in names) + " | "
                  + " | ".join(f"{values[n][i, 1]:.3f}" for n in names) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path, nargs="?")
    parser.add_argument("--csv", type=pathlib.Path, required=True)
    parser.add_argument("--only")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--models", default=PEERS)
    parser.add_argument("--show", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # classes with fewer rows than folds
    if args.show:
        show(args)
    elif args.dir:
        run_all(args)
    else:
        parser.error("DIR or --show is needed")


if __name__ == "__main__":
    main()
