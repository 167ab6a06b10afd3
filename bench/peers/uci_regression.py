#!/usr/bin/env python3
"""Random forests and Gaussian processes of scikit-learn on the nine regression sets.

    uci_regression.py DIR --csv build/uci_regression.csv [--only NAME] [--splits N] [--rows 2000]

DIR holds a folder a set (data/data.txt, data/index_*.txt), as experiments/uci_regression.sh takes it.
Lines set,split,model,rmse,nll,seconds are added to the csv file, which the program of that name shows
with its own (--show); what is there is not run again.

random-forest: RandomForestRegressor, 100 trees, all else as it comes; it tells no spread.
gp: GaussianProcessRegressor, one length for each input (Matern 5/2) plus white noise, standardised
inputs and target, its own optimiser from one start. It takes O(n^3) for each step of that: sets with more
than --rows training rows are left out, and said so.
"""
import argparse
import pathlib
import time

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from result_lines import add_line, read_lines

SETS = {"boston": "bostonHousing", "concrete": "concrete", "energy": "energy", "kin8nm": "kin8nm",
        "naval": "naval-propulsion-plant", "power": "power-plant",
        "protein": "protein-tertiary-structure", "wine": "wine-quality-red", "yacht": "yacht"}
HEADER = ["set", "split", "model", "rmse", "nll", "seconds"]


def forest(x, y, x_test):
    model = RandomForestRegressor(n_estimators=100, random_state=0, n_jobs=-1).fit(x, y)
    return model.predict(x_test), None


def process(x, y, x_test):
    centre, scale = x.mean(0), x.std(0)
    scale[scale == 0] = 1
    kernel = ConstantKernel() * Matern(np.ones(x.shape[1]), nu=2.5) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    model.fit((x - centre) / scale, y)
    return model.predict((x_test - centre) / scale, return_std=True)


def score(y, mean, std):
    miss = y - mean
    rmse = float(np.sqrt(np.mean(miss ** 2)))
    if std is None:
        return rmse, float("nan")
    return rmse, float(np.mean(0.5 * np.log(2 * np.pi * std ** 2) + 0.5 * (miss / std) ** 2))


def run_set(name, folder, args, done):
    data = np.loadtxt(folder / "data.txt")
    features = np.loadtxt(folder / "index_features.txt", dtype=int, ndmin=1)
    target = int(np.loadtxt(folder / "index_target.txt"))
    splits = int(np.loadtxt(folder / "n_splits.txt"))
    for split in range(min(splits, args.splits or splits)):
        train = np.loadtxt(folder / f"index_train_{split}.txt", dtype=int)
        test = np.loadtxt(folder / f"index_test_{split}.txt", dtype=int)
        for model, run in (("random-forest", forest), ("gp", process)):
            if (name, split, model) in done:
                continue
            if model == "gp" and len(train) > args.rows:
                if split == 0:
                    print(f"{name}: no gp, {len(train)} rows are more than {args.rows}", flush=True)
                continue
            start = time.perf_counter()
            mean, std = run(data[train][:, features], data[train, target], data[test][:, features])
            seconds = time.perf_counter() - start
            rmse, nll = score(data[test, target], mean, std)
            add_line(args.csv, HEADER, [name, split, model, f"{rmse:.9g}", f"{nll:.9g}", f"{seconds:.3f}"])
            print(f"{name:9} {split:2} {model:14} rmse {rmse:<10.4g} nll {nll:<8.3g} {seconds:.1f} s",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--csv", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    done = {(line["set"], int(line["split"]), line["model"]) for line in read_lines(args.csv)}
    for name, folder in SETS.items():
        if args.only in (None, name):
            run_set(name, args.dir / folder / "data", args, done)


if __name__ == "__main__":
    main()
