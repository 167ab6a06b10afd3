#!/usr/bin/env python3
"""Cross-validated scores of farfield beside scikit-learn's defaults, on the same folds.

    python3 bench/peers/cv_sklearn.py build/farfield [--sets iris,wine] [--models 'auto;ln-first'] [--folder DIR]

scikit-learn's own loaders write the tables, with a column `fold` (StratifiedKFold or KFold, 5 folds, shuffled, seed 0)
that `farfield cv --folds fold` takes. Inputs of SVC and GaussianProcess are standardised, as farfield does; all else is
as scikit-learn has it. Prints a table in Markdown.

With --uci FOLDER the sets are those of the UCI collection of Fernandez-Delgado et al. (FOLDER/INDEX90.tsv and
FOLDER/data/NAME/NAME_R.dat), the smaller ones first, up to --most rows, and the last rows are means over all sets.
"""
import argparse, csv, datetime, functools, json, os, subprocess, sys, tempfile, time, warnings

import numpy as np
import sklearn
from sklearn import datasets, ensemble, gaussian_process, metrics, model_selection, pipeline, preprocessing, svm

SETS = {'iris': (datasets.load_iris, True), 'wine': (datasets.load_wine, True),
        'breast_cancer': (datasets.load_breast_cancer, True), 'digits': (datasets.load_digits, True),
        'diabetes': (datasets.load_diabetes, False)}


def uci_sets(folder, most):
    """Name and loader of each set; columns that never vary are left out."""
    def load(name, return_X_y):
        rows = [line.split() for line in open(f'{folder}/data/{name}/{name}_R.dat')][1:]
        x = np.array([row[1:-1] for row in rows], float)
        return x[:, np.ptp(x, axis=0) > 0], np.array([int(float(row[-1])) for row in rows])
    index = list(csv.DictReader(open(f'{folder}/INDEX90.tsv'), delimiter='\t'))
    small = [(int(row['n_patrons1']), row['name']) for row in index if row['n_patrons2'] == '0']
    return {name: (functools.partial(load, name), True) for rows, name in sorted(small) if rows <= most}


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


def peers(classes):
    if classes:
        return {'SVC': scaled(svm.SVC(probability=True, random_state=0)),
                'RandomForest': ensemble.RandomForestClassifier(random_state=0),
                'HistGradientBoosting': ensemble.HistGradientBoostingClassifier(random_state=0),
                'GaussianProcess': scaled(gaussian_process.GaussianProcessClassifier(random_state=0))}
    return {'SVR': scaled(svm.SVR()), 'RandomForest': ensemble.RandomForestRegressor(random_state=0),
            'HistGradientBoosting': ensemble.HistGradientBoostingRegressor(random_state=0),
            'GaussianProcess': scaled(gaussian_process.GaussianProcessRegressor(normalize_y=True, random_state=0))}


def folds_of(x, y, classes):
    kind = model_selection.StratifiedKFold if classes else model_selection.KFold
    fold = np.zeros(len(y), int)
    for k, (_, test) in enumerate(kind(5, shuffle=True, random_state=0).split(x, y)):
        fold[test] = k
    return fold


def write(path, x, y, fold, classes):
    with open(path, 'w', newline='') as file:
        out = csv.writer(file)
        out.writerow([f'x{j}' for j in range(x.shape[1])] + ['fold', 'y'])
        for row, k, target in zip(x, fold, y):
            out.writerow([repr(float(v)) for v in row] + [f'f{k}', f'c{target:02d}' if classes else repr(float(target))])


def score(model, x, y, fold, classes):
    first, second, start = [], [], time.time()
    for k in range(5):
        train, test = fold != k, fold == k
        model.fit(x[train], y[train])
        if classes:
            p = model.predict_proba(x[test])
            first.append(metrics.accuracy_score(y[test], model.classes_[p.argmax(1)]))
            second.append(metrics.log_loss(y[test], p, labels=model.classes_))
        else:
            f = model.predict(x[test])
            first.append(metrics.r2_score(y[test], f))
            second.append(metrics.mean_squared_error(y[test], f) ** 0.5)
    return np.mean(first), np.mean(second), time.time() - start


def farfield(command, path, models, classes):
    made = subprocess.run([command, 'cv', path, '--target', 'y', '--folds', 'fold', '--models', models, '--json', '-q'],
                          capture_output=True, text=True)
    if not made.stdout:
        print(path, made.stderr, file=sys.stderr)
        return {}
    first, second = ('accuracy', 'log_loss') if classes else ('r2', 'rmse')
    return {f"farfield {row['model']}": (row[first]['mean'], row[second]['mean'], 5 * row['seconds'])
            for row in json.loads(made.stdout)['rows'] if row['status'] == 'ok'}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('command')
    parser.add_argument('--sets', default='')
    parser.add_argument('--models', default='auto;ln-first;none;linear;xgboost')
    parser.add_argument('--peers', default='', help='only these of scikit-learn')
    parser.add_argument('--uci')
    parser.add_argument('--most', type=int, default=300)
    parser.add_argument('--folder')
    a = parser.parse_args()
    folder = a.folder or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    warnings.simplefilter('ignore')
    print(f'scikit-learn {sklearn.__version__}, {datetime.date.today()}; 5 folds, seconds of all five.\n')
    print('| set | rows | model | accuracy or R2 | log loss or RMSE | seconds |\n|---|---|---|---|---|---|')
    sets, all_rows = uci_sets(a.uci, a.most) if a.uci else SETS, {}
    for name in a.sets.split(',') if a.sets else sets:
        load, classes = sets[name]
        x, y = load(return_X_y=True)
        fold = folds_of(x, y, classes)
        path = os.path.join(folder, name + '.csv')
        write(path, x, y, fold, classes)
        rows = farfield(a.command, path, a.models, classes)
        if not rows:
            continue # the reason was told
        for peer, model in peers(classes).items():
            if not a.peers or peer in a.peers.split(','):
                rows[peer] = score(model, x, y, fold, classes)
        for model, (first, second, seconds) in rows.items():
            print(f'| {name} | {len(y)} | {model} | {first:.3f} | {second:.3f} | {seconds:.1f} |', flush=True)
            all_rows.setdefault(model, []).append((first, second, seconds))
    for model, scores in all_rows.items() if a.uci else ():
        first, second, seconds = np.mean(scores, axis=0)
        print(f'| mean of {len(scores)} | | {model} | {first:.3f} | {second:.3f} | {seconds:.1f} |')


if __name__ == '__main__':
    main()
