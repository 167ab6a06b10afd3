#!/usr/bin/env python3
"""Coverage of 95% intervals on the splits of Hernandez-Lobato and Adams.

    python3 bench/intervals.py build/farfield FOLDER [--sets yacht,energy] [--splits 20] [--fit='--arch ARCH'] [--net]

FOLDER holds the sets, each with data/data.txt and data/index_*.txt. A split is fitted by `farfield fit` and scored by
`farfield predict --score`; with --net a network is trained on it and scored by `farfield laplace`, beside the network as
it is (MAP). Prints a table in Markdown: means over splits. A column that is constant in a split's training rows is left out.
"""
import argparse, json, os, shlex, subprocess, tempfile

import numpy as np

NET = 'dense(64) relu dense(64) relu dense'


def write(path, table, rows, keep):
    np.savetxt(path, table[rows][:, keep], delimiter=',', comments='', fmt='%.17g',
               header=','.join([f'x{j}' for j in range(len(keep) - 1)] + ['y']))


def split(folder, k, most, to):
    table, part = np.loadtxt(f'{folder}/data.txt'), lambda name: np.loadtxt(f'{folder}/index_{name}.txt', dtype=float)
    train, test = part(f'train_{k}').astype(int), part(f'test_{k}').astype(int)
    if most and len(train) > most:
        train = np.random.RandomState(k).permutation(train)[:most]
    keep = [j for j in np.atleast_1d(part('features')).astype(int) if np.ptp(table[train, j]) > 0]
    keep.append(int(part('target')))
    write(f'{to}/train.csv', table, train, keep)
    write(f'{to}/test.csv', table, test, keep)
    return len(train), len(test)


def run(*command):
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f'{shlex.join(command)}\n{made.stderr}')
    return made.stdout


def of_fit(command, at, more):
    run(command, 'fit', f'{at}/train.csv', '-t', 'y', '--task', 'regress', '-o', f'{at}/m.far', '-q', *shlex.split(more))
    s = json.loads(run(command, 'predict', f'{at}/m.far', f'{at}/test.csv', '--score', '--json', '-q'))['score']
    return s['coverage'], s['nll'], s['rmse']


def of_net(command, at, more):
    run(command, 'train', '-a', NET, f'{at}/train.csv', '-t', 'y', '--task', 'regress', '-q', '-o', f'{at}/n.safetensors',
        *shlex.split(more))
    rows = json.loads(run(command, 'laplace', '--net', f'{at}/n.safetensors', f'{at}/train.csv', '--test',
                          f'{at}/test.csv', '--json', '-q'))
    return tuple(rows[form][what] for form in ('map', 'laplace') for what in ('nll', 'coverage'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('command')
    parser.add_argument('folder')
    parser.add_argument('--sets')
    parser.add_argument('--splits', type=int, default=20)
    parser.add_argument('--rows', type=int, default=0, help='training rows at most, drawn; 0 is all')
    parser.add_argument('--fit', default='', help='more options of fit, or of train with --net')
    parser.add_argument('--net', action='store_true')
    a = parser.parse_args()
    head = ('MAP NLL', 'MAP coverage', 'laplace NLL', 'laplace coverage') if a.net else ('coverage', 'NLL', 'RMSE')
    print(f"| set | splits | rows | test rows | {' | '.join(head)} |\n|---|---|---|---|{'---|' * len(head)}")
    for name in a.sets.split(',') if a.sets else sorted(os.listdir(a.folder)):
        folder, found = f'{a.folder}/{name}/data', []
        splits = min(a.splits, int(np.loadtxt(f'{folder}/n_splits.txt')))
        for k in range(splits):
            with tempfile.TemporaryDirectory() as at:
                rows, tests = split(folder, k, a.rows, at)
                found.append((of_net if a.net else of_fit)(a.command, at, a.fit))
        means = ' | '.join(f'{v:.4g}' for v in np.mean(found, axis=0))
        print(f'| {name} | {splits} | {rows} | {tests} | {means} |', flush=True)


if __name__ == '__main__':
    main()
