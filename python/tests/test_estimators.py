"""Estimators: the command's numbers, tables with words and gaps, what scikit-learn does with them."""
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import farfield

ARCH = "dense ln relu dense"
NET = "dense(16) ln relu dense"
rng = np.random.default_rng(1)
X = rng.uniform(-2, 2, (60, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1]
labels = np.where(y > 0.5, "high", np.where(y < -0.5, "low", "mid"))
FAR = np.vstack([X[:5] * 1.1, [[50.0, -80.0]]])

ALL = [
    farfield.NTKRegressor(ARCH),
    farfield.NTKClassifier(ARCH),
    farfield.NetworkRegressor(NET, epochs=60),
    farfield.NetworkClassifier(NET, epochs=60),
]


def fitted(estimator):
    return clone(estimator).fit(X, labels if hasattr(estimator, "predict_proba") else y)


def write(path, table):
    table.to_csv(path, index=False, float_format="%.17g")


def numbers(text):
    return np.array([[float(c) for c in line.split(",")] for line in text.split("\n")[1:] if line])


@pytest.fixture
def table():
    frame = pd.DataFrame(X, columns=["a", "b, odd"])
    frame["y"] = y
    return frame


# ---- the same numbers as the command ----


def test_a_fit_is_that_of_the_command(command, tmp_path, table):
    write(tmp_path / "t.csv", table)
    write(tmp_path / "far.csv", pd.DataFrame(FAR, columns=["a", "b, odd"]))
    command("fit", "t.csv", "--target", "y", "-o", "m.far")
    model = farfield.NTKRegressor().fit(table[["a", "b, odd"]], table["y"])
    theirs = farfield.load(tmp_path / "m.far")
    assert model.arch_ == theirs.arch and model.ridge_ == theirs.ridge
    mean, std = model.predict(pd.DataFrame(FAR, columns=["a", "b, odd"]), return_std=True)
    told = numbers(command("predict", "m.far", "far.csv", "--std"))
    assert np.array_equal(np.column_stack([mean, std]), told)
    assert np.array_equal(theirs(FAR)[:, 0], mean)
    model.save(tmp_path / "ours.far")
    assert numbers(command("predict", "ours.far", "far.csv"))[:, 0].tolist() == mean.tolist()


def test_a_metric_is_that_of_the_library(tmp_path):
    wide = np.column_stack([X, rng.standard_normal((len(X), 3))])
    models = [farfield.NTKRegressor(ARCH, metric=m).fit(wide, y) for m in (None, "diagonal", "full")]
    told = [m.predict(FAR @ np.eye(2, 5)) for m in models]
    assert not np.array_equal(told[0], told[1]) and not np.array_equal(told[1], told[2])
    assert models[0].metric_ is None and models[1].metric_.map.shape == (5, 1)
    assert models[2].metric_.map.shape == (5, 5) and models[2].metric_.importance[:2].sum() > 0.5
    models[1].save(tmp_path / "m.far")
    assert np.array_equal(farfield.load(tmp_path / "m.far")(FAR @ np.eye(2, 5))[:, 0], told[1])


def test_methods_are_those_of_the_library():
    exact = farfield.NTKRegressor(ARCH, ridge=0.01).fit(X, y).predict(FAR)
    by_cg = farfield.NTKRegressor(ARCH, ridge=0.01, method="cg", tolerance=1e-10).fit(X, y)
    assert not np.array_equal(by_cg.predict(FAR), exact)
    assert np.allclose(by_cg.predict(FAR), exact, rtol=1e-7)
    few = farfield.NTKRegressor(ARCH, ridge=0.01, method="nystrom", landmarks=10).fit(X, y)
    assert not np.allclose(few.predict(FAR), exact, rtol=1e-7)


@pytest.mark.parametrize("committee", [1, 2])
def test_fits_without_an_end_are_warned_of(committee):
    how = {"method": "cg", "tolerance": 1e-13, "landmarks": 2, "committee": committee}
    arch = ARCH if committee == 1 else "auto"
    with pytest.warns(ConvergenceWarning, match="residual .* not 1e-13 .*larger ridge, more landmarks") as met:
        farfield.NTKRegressor(arch, ridge=1e-12, **how).fit(X, y)
    assert met[0].filename == __file__
    with pytest.warns(ConvergenceWarning):
        farfield.NTKClassifier(arch, ridge=1e-12, **how).fit(X, labels)


def test_a_chosen_ridge_is_raised_until_a_fit_converges():
    x = np.random.default_rng(0).standard_normal((4000, 1))
    wave = np.sin(3 * x[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = farfield.NTKRegressor("dense ln relu dense", memory=60e6).fit(x, wave)
    assert model.score(x, wave) > 0.99 and model.ridge_ > 1e-9


def test_a_certificate_is_that_of_the_command(command, tmp_path):
    model = fitted(farfield.NTKRegressor(ARCH))
    model.save(tmp_path / "m.far")
    ours = model.certify(seconds=0)
    theirs = json.loads(command("certify", "m.far", "--seconds", "0", "--json"))
    same = ours.to_dict()
    theirs.pop("seconds", None), same.pop("seconds", None)
    for told in (theirs, same):
        told.get("unchecked", {}).pop("seconds", None)
    assert same == theirs
    ours.save(tmp_path / "c.json")
    command("certify", "m.far", "--check", "c.json")


def test_a_training_is_that_of_the_command(command, tmp_path, table):
    write(tmp_path / "t.csv", table)
    words = ("--arch", NET, "t.csv", "--target", "y", "--epochs", "60", "-o", "n.safetensors")
    command("train", *words)
    model = farfield.NetworkRegressor(NET, epochs=60).fit(table[["a", "b, odd"]], table["y"])
    theirs = farfield.load(tmp_path / "n.safetensors")
    assert np.array_equal(theirs(FAR)[:, 0], model.predict(pd.DataFrame(FAR, columns=["a", "b, odd"])))
    write(tmp_path / "x.csv", table[:7])
    command("gram", "--net", "n.safetensors", "x.csv", "-o", "K.npy")
    assert np.array_equal(model.empirical_ntk(X[:7]), np.load(tmp_path / "K.npy"))


# ---- tables ----


def mixed(n=60):
    """Numbers with gaps, words, categories of numbers, booleans and dates."""
    frame = pd.DataFrame({"n": X[:n, 0]})
    frame.loc[::7, "n"] = np.nan
    frame["kind"] = np.where(X[:n, 1] > 0, "red", "blue")
    frame.loc[::11, "kind"] = None
    frame["code"] = pd.Categorical((np.arange(n) % 3) * 10)
    frame["flag"] = X[:n, 0] > X[:n, 1]
    frame["day"] = pd.Timestamp("2020-01-31") + pd.to_timedelta(np.arange(n) * 13, unit="h")
    frame["count"] = pd.array(np.arange(n) % 5, dtype="Int64")
    frame.loc[3, "count"] = pd.NA
    return frame


def test_mixed_frames_are_the_tables_of_the_command(command, tmp_path):
    frame = mixed()
    model = farfield.NTKRegressor(ARCH, impute=True).fit(frame, y)
    assert model.predictor_.input_names == [
        "n", "kind=blue", "kind=red", "code=0", "code=10", "code=20", "flag=False", "flag=True",
        "day", "count",
    ]  # fmt: skip
    write(tmp_path / "t.csv", frame.assign(y=y))
    command("fit", "t.csv", "--target", "y", "--arch", ARCH, "--impute", "--categorical", "code",
            "--keep", "n,kind,code,flag,day,count", "-o", "m.far")  # fmt: skip
    told = numbers(command("predict", "m.far", "t.csv"))
    assert np.array_equal(told[:, 0], model.predict(frame))


def arrow_tables(frame):
    """The same table as others hand it over, all through Arrow's C interface."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    codes = pd.Categorical(frame["code"].astype(str))  # DuckDB has enums of words alone
    table = arrow.Table.from_pandas(frame.assign(code=codes), preserve_index=False)
    yield "pyarrow", table
    polars, duckdb = (pytest.importorskip(name) for name in ("polars", "duckdb"))
    yield "polars", polars.from_arrow(table)
    yield "duckdb", duckdb.from_arrow(table)


def test_tables_through_arrow_are_those_of_pandas():
    frame = mixed()
    model = farfield.NTKRegressor(ARCH, impute=True).fit(frame, y)
    wanted = model.predict(frame)
    for name, table in arrow_tables(frame):
        ours = farfield.NTKRegressor(ARCH, impute=True).fit(table, y)
        assert ours.predictor_.input_names == model.predictor_.input_names, name
        assert np.array_equal(ours.predict(table), wanted), name
        assert np.array_equal(model.predict(table), wanted), name
        assert np.array_equal(model.predictor_.predict(table).mean[:, 0], wanted), name
        with pytest.raises(farfield.DataError, match="impute"):
            farfield.NTKRegressor(ARCH).fit(table, y)


def test_columns_are_found_by_name_and_checked():
    frame = mixed()
    model = farfield.NTKRegressor(ARCH, impute=True).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns) and model.n_features_in_ == 6
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"n": "m"}))
    with pytest.raises(farfield.DataError, match="impute"):
        farfield.NTKRegressor(ARCH).fit(frame, y)


def test_labels_come_back_as_they_were():
    for names in (labels, np.array([10, 9, -1])[np.searchsorted(["high", "low", "mid"], labels)],
                  y > 0, pd.Series(labels, dtype="category")):  # fmt: skip
        model = farfield.NTKClassifier(ARCH).fit(X, names)
        assert np.array_equal(model.classes_, np.unique(np.asarray(names)))
        assert (model.predict(X) == np.asarray(names)).mean() > 0.8
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("estimator", [e for e in ALL if hasattr(e, "predict_proba")], ids=lambda e: type(e).__name__)
def test_logarithms_of_probabilities(estimator):
    model = fitted(estimator)
    assert np.array_equal(model.predict_log_proba(FAR), np.log(model.predict_proba(FAR)))


def test_means_of_classifiers_are_what_the_docs_say():
    for estimator, committee in ((farfield.NTKClassifier(ARCH), 1), (ALL[3], 1), (ALL[3], 2)):
        if committee > 1:
            estimator = clone(estimator).set_params(committee=committee)
        found = fitted(estimator).predictor_.predict(FAR)
        assert np.allclose(found.mean.sum(axis=1), 1) and np.allclose(found.probability.sum(axis=1), 1)
        finite = isinstance(estimator, farfield.NetworkClassifier)
        assert np.array_equal(found.mean, found.probability) == finite


def test_words_for_missing_values_may_be_classes():
    model = farfield.NTKClassifier(ARCH).fit(X, np.where(y > 0, "NA", "None"))
    assert list(model.classes_) == ["NA", "None"] and model.predict(X[y > 1])[0] == "NA"


def test_booleans_are_categories_in_frames_and_numbers_in_matrices():
    frame = pd.DataFrame({"n": X[:, 0], "flag": X[:, 1] > 0})
    names = farfield.NTKRegressor(ARCH).fit(frame, y).predictor_.input_names
    assert names == ["n", "flag=False", "flag=True"]
    assert farfield.NTKRegressor(ARCH).fit(X > 0, y).predictor_.input_names == ["x1", "x2"]


def test_several_targets():
    Y = np.column_stack([y, -y])
    for estimator in (farfield.NTKRegressor(ARCH), farfield.NetworkRegressor(NET, epochs=60)):
        model = estimator.fit(X, Y)
        assert model.predict(FAR).shape == (6, 2)
        assert len(model.certify(seconds=0).outputs) == 2


# ---- spreads and committees ----


def test_spreads():
    model = fitted(ALL[0])
    mean, std = model.predict(FAR, return_std=True)
    assert std.shape == mean.shape and (std > 0).all() and std[-1] > std[:5].max()
    assert not np.array_equal(std, model.predict(FAR, True, spread="posterior")[1])


def test_a_committee_is_the_mean_of_its_members():
    model = farfield.NetworkRegressor(NET, epochs=40, committee=3).fit(X, y)
    mean, std = model.predict(FAR, return_std=True)
    each = [farfield.NetworkRegressor(NET, epochs=40, seed=s).fit(X, y).predict(FAR) for s in range(3)]
    assert np.allclose(mean, np.mean(each, axis=0), rtol=1e-12)
    assert np.allclose(std, np.std(each, axis=0, ddof=1), rtol=1e-9)
    for bad in (0, 2.5, "2"):
        with pytest.raises(farfield.ArgError, match="committee is a whole number"):
            farfield.NetworkRegressor(NET, committee=bad).fit(X, y)
    for bad in (-0.1, 1, 2):
        with pytest.raises(farfield.ArgError, match="validation is a part"):
            farfield.NetworkRegressor(NET, validation=bad).fit(X, y)
    with pytest.raises(farfield.ArgError, match="committee"):
        fitted(ALL[2]).predict(FAR, return_std=True)


def test_validation_rows_choose_the_epoch():
    model = farfield.NetworkRegressor(NET, epochs=200, validation=0.25, patience=5).fit(X, y)
    assert len(model.loss_curves_[0]) <= 200


def test_draws_have_the_spread_of_predictions():
    model = fitted(ALL[0])
    far = np.vstack([FAR, FAR[:2]])  # the same point twice: one function
    for spread in ("calibrated", "posterior", "ensemble"):
        mean, std = model.predict(far, True, spread=spread)
        drawn = model.sample_y(far, 20000, random_state=3, spread=spread)
        assert drawn.shape == (8, 20000)
        assert np.allclose(drawn.mean(axis=1), mean, atol=4 * std.max() / np.sqrt(20000))
        assert np.allclose(drawn.std(axis=1), std, rtol=0.03)
        if spread != "calibrated":  # which has noise of its own in every row
            assert np.allclose(drawn[0], drawn[6], atol=1e-5 * std.max())
    assert np.array_equal(model.sample_y(far, 3), model.sample_y(far, 3))
    for metric in ("diagonal", "full"):
        learnt = farfield.NTKRegressor(ARCH, metric=metric).fit(X, np.column_stack([y, 3 * y]))
        std = learnt.predict(FAR, return_std=True)[1]
        assert np.allclose(learnt.sample_y(FAR, 20000).std(axis=2), std, rtol=0.03)
    with pytest.raises(farfield.ArgError, match="spread is one of"):
        model.sample_y(FAR, spread="likelihood")


def test_draws_of_a_committee_are_its_members():
    model = farfield.NetworkRegressor(NET, epochs=20, committee=3).fit(X, y)
    each = [member.predict(FAR).mean[:, 0] for member in model.members_]
    for draw in model.sample_y(FAR, 7).T:
        assert any(np.array_equal(draw, e) for e in each)


@pytest.mark.parametrize("kind", [farfield.NTKRegressor, farfield.NTKClassifier])
def test_committees_of_infinite_width(kind):
    if "committee" not in dict(farfield._lib.ffi.typeof("far_fit_opts").fields):
        pytest.skip("this library has no committees of infinite width")
    target = labels if kind is farfield.NTKClassifier else y
    one, many = (kind(committee=n).fit(X, target) for n in (1, 3))
    assert not np.array_equal(one.predictor_(FAR), many.predictor_(FAR))
    assert many.certify(seconds=0).bounded and many.feature_importances_.shape == (2,)
    assert np.array_equal(pickle.loads(pickle.dumps(many)).predictor_(FAR), many.predictor_(FAR))
    if kind is farfield.NTKRegressor and many.predictor_.members:
        assert (many.predict(FAR, return_std=True)[1] > 0).all()
        with pytest.raises(farfield.ArgError, match="from one network"):
            many.sample_y(FAR)


def test_gradients_are_differences():
    for estimator in (ALL[0], ALL[3], farfield.NetworkRegressor("dense(16) ln tanh dense", epochs=60)):
        model, h = fitted(estimator), 1e-5
        at = FAR[:3] + 0.01
        step = [model.predictor_(at + h * e) - model.predictor_(at - h * e) for e in np.eye(2)]
        assert np.allclose(model.gradient(at), np.stack(step, axis=2) / (2 * h), rtol=1e-4, atol=1e-6)


# ---- what scikit-learn does ----


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_pickled_models_predict_the_same_bits(estimator):
    model = fitted(estimator)
    again = pickle.loads(pickle.dumps(model))
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    assert np.array_equal(getattr(model, ask)(FAR), getattr(again, ask)(FAR))
    assert again.certify(seconds=0).hash == model.certify(seconds=0).hash


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_models_can_be_cloned_certified_and_scored(estimator):
    model = fitted(estimator)
    assert clone(model).get_params() == estimator.get_params()
    certificate = model.certify(seconds=0)
    assert certificate.bounded is True and np.isfinite(certificate.bound)
    assert model.score(X, labels if hasattr(model, "predict_proba") else y) > 0.4


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_importances_are_worked_out_once_and_never_for_a_display(estimator, monkeypatch):
    calls = []
    work = farfield.Predictor.importance
    monkeypatch.setattr(farfield.Predictor, "importance", lambda *a, **k: calls.append(1) or work(*a, **k))
    model = fitted(estimator)
    shown = model._repr_html_()
    make_pipeline(StandardScaler(), model)._repr_html_()
    assert not calls and "feature_importances_" not in shown
    found = model.feature_importances_
    model.feature_importances_[:] = 0
    assert np.array_equal(model.feature_importances_, found) and len(calls) == 1
    if "Fitted attributes" in shown:
        assert "arch_" in shown and "feature_importances_" in model._repr_html_()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.feature_importances_, found) and len(calls) == 1
    target = labels if hasattr(model, "predict_proba") else y
    assert not np.array_equal(model.fit(X[:, ::-1], target).feature_importances_, found) and len(calls) == 2


def test_searches_pipelines_and_importances():
    search = GridSearchCV(farfield.NTKRegressor(ARCH), {"ridge": [1e-6, 1e-2, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_["ridge"] < 10
    assert cross_val_score(make_pipeline(StandardScaler(), ALL[0]), X, y, cv=3).mean() > 0.5
    wide = np.column_stack([X, rng.standard_normal(len(X))])
    model = farfield.NTKRegressor(ARCH).fit(wide, y)
    assert permutation_importance(model, wide, y, n_repeats=3).importances_mean.argmin() == 2
    assert model.feature_importances_.argmin() == 2
    search = GridSearchCV(farfield.NetworkClassifier(NET), {"epochs": [5, 60]}, cv=2).fit(X, labels)
    assert search.best_params_["epochs"] == 60
    for estimator in (farfield.NetworkRegressor(NET, epochs=200), farfield.NetworkClassifier(NET)):
        target = labels if hasattr(estimator, "predict_proba") else y
        assert estimator.fit(wide, target).feature_importances_.argmin() == 2


def test_names_come_through_a_pipeline():
    frame = pd.DataFrame(X, columns=["a", "b"])
    steps = make_pipeline(StandardScaler().set_output(transform="pandas"), clone(ALL[0]))
    model = steps.fit(frame, y)[-1]
    assert list(model.feature_names_in_) == ["a", "b"] == model.predictor_.input_names


# ---- certificates ----


def test_certificates_are_objects():
    bounded = fitted(ALL[2]).certify(seconds=0)
    assert bounded.bounded is True and bounded.bound >= abs(bounded.outputs[0].found)
    assert "bounded, |f(x)| <=" in str(bounded) and "<table>" in bounded._repr_html_()
    model = farfield.NTKRegressor("dense relu dense", ridge=1e-4).fit(X, y)
    runs = model.certify(seconds=0)
    assert runs.bounded is False and runs.bound == np.inf
    assert np.isclose(np.linalg.norm(runs.witness), 1)
    far = 1e8 * runs.witness
    told = runs.outputs[0]
    assert np.isclose(model.predict([far])[0], told.slope * 1e8**told.order, rtol=1e-3)
    assert "unbounded" in str(runs) and pickle.loads(pickle.dumps(runs)).json == runs.json
    runs.check(model.predictor_)
    with pytest.raises(farfield.FarfieldError):
        bounded.check(model.predictor_)


@pytest.mark.parametrize("ranks", ["all", "steps"])
def test_bounds_hold_for_models_with_ranks(ranks):
    model = farfield.NTKRegressor(ARCH, ranks=ranks).fit(X, y)
    draw = np.random.default_rng(5)
    far = draw.standard_normal((10000, 2)) * 10 ** draw.uniform(-2, 12, (10000, 1))
    free = draw.standard_normal((1000, len(model.predictor_.input_names))) * 1e3
    bound = model.certify(seconds=0).bound
    assert abs(model.predict(far)).max() <= bound and abs(model.predictor_(free)).max() <= bound
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(far), model.predict(far))
    end = model.predictor_.predict([[1.0, 0.0]], at_infinity=True).mean
    assert np.allclose(model.predict([[1e12, 0.0]]), end[:, 0], rtol=1e-6)


def test_inputs_are_told_from_features():
    model = farfield.NTKRegressor(ARCH, ranks="all").fit(X, y)
    assert model.gradient(np.zeros((3, 4))).shape == (3, 1, 4)
    for method in (model.gradient, model.limit, model.predictor_):
        with pytest.raises(farfield.ShapeError, match=r"2 columns, one for each feature.* 4 inputs"):
            method(X[:3])
        with pytest.raises(farfield.ShapeError, match="not . x 4"):
            method(np.zeros((3, 5)))


def test_frames_without_columns_are_refused():
    with pytest.raises(ValueError, match="2 sample.* and 0 feature"):
        farfield.NTKRegressor(ARCH).fit(pd.DataFrame(index=range(2)), [0, 1])


@pytest.mark.parametrize("wrong", [ARCH + " rleu", None])
def test_a_fit_that_fails_leaves_the_one_before_whole(wrong, monkeypatch):
    before = farfield.NTKClassifier(ARCH).fit(pd.DataFrame(X, columns=["p", "q"]), labels)
    expected = before.predict_proba(pd.DataFrame(X, columns=["p", "q"]))
    regressor = farfield.NTKRegressor(ARCH).fit(X, y)
    if wrong is None:  # as Ctrl-C would

        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(farfield._fit, "fit_infinite", stop)
    else:
        before.set_params(arch=wrong)
    with pytest.raises((farfield.FarfieldError, KeyboardInterrupt)):
        before.fit(pd.DataFrame(np.c_[X, X], columns=list("abcd")), np.where(y > 0, "cat", "dog"))
    assert (before.predict_proba(pd.DataFrame(X, columns=["p", "q"])) == expected).all()
    assert list(before.classes_) == ["high", "low", "mid"] and before.n_features_in_ == 2
    assert list(before.feature_names_in_) == ["p", "q"]
    with pytest.raises((farfield.FarfieldError, KeyboardInterrupt)):
        regressor.set_params(arch=wrong or ARCH).fit(X, np.c_[y, y])
    assert regressor.predict(X).shape == y.shape


@pytest.mark.parametrize("kind", [farfield.NTKRegressor, farfield.NetworkRegressor])
def test_columns_left_out_are_said_and_have_no_importance(kind):
    table = pd.DataFrame({"c": 1.0, "x": X[:, 0], "z": X[:, 1]})
    with pytest.warns(UserWarning, match=r"column c is left out: the same value.*keep=\['c'\]"):
        model = kind(NET, careful=True).fit(table, y)
    lost = model.feature_importances_
    assert lost.shape == (3,) and lost[0] == 0 and lost[1] > 0 and lost[2] > 0
    assert (lost[1:] == kind(NET).fit(table[["x", "z"]], y).feature_importances_).all()


def test_unseen_categories_are_said():
    table = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v")})
    model = farfield.NTKRegressor(ARCH).fit(table, y)
    with pytest.warns(UserWarning, match=r"60 rows have a category .* row 1, column kind: 'zzz'"):
        model.predict(table.assign(kind="zzz"))


def test_directions_have_no_categories():
    table = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v")})
    model = farfield.NTKRegressor(ARCH).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limit = model.predictor_.predict(pd.DataFrame({"x": [1.0, -1.0]}), at_infinity=True).mean
    for kind in "uv":
        far = model.predict(pd.DataFrame({"x": [1e14, -1e14], "kind": kind}))
        assert limit[:, 0] == pytest.approx(far, rel=1e-9)


def test_categories_are_the_same_with_and_without_gaps():
    codes = np.arange(60) % 3
    gaps = pd.DataFrame({"c": pd.Categorical(np.where(codes == 2, np.nan, codes))})
    whole = pd.DataFrame({"c": pd.Categorical(codes)})
    model = farfield.NTKRegressor(ARCH, impute=True).fit(gaps, 5.0 * (codes == 1))
    assert model.predictor_.input_names == ["c=0", "c=1"]
    assert (model.predict(gaps)[codes < 2] == model.predict(whole.iloc[:2])[codes[codes < 2]]).all()


def test_targets_that_are_dates_are_days():
    dates = pd.Series(pd.date_range("2020-01-01", periods=60))
    days = 18262.0 + np.arange(60)
    expected = farfield.NTKRegressor(ARCH, ridge=1e-3).fit(X, days).predict(X)
    frame = pd.DataFrame({"d": dates, "y": y})
    for given in (dates, dates.dt.tz_localize("UTC"), dates.to_numpy(), dates.to_numpy("M8[s]")):
        assert (farfield.NTKRegressor(ARCH, ridge=1e-3).fit(X, given).predict(X) == expected).all()
    both = farfield.NTKRegressor(ARCH, ridge=1e-3).fit(X, frame).predict(X)
    assert np.allclose(both[:, 0], expected, rtol=1e-9)
    with pytest.raises(farfield.ArgError, match="timedelta"):
        farfield.NTKRegressor(ARCH).fit(X, dates - dates[0])


def test_matrices_of_dates_are_dates_in_every_unit():
    dates = np.arange("2020-01-01", "2020-03-01", dtype="M8[D]").reshape(-1, 1)
    model = farfield.NTKRegressor(ARCH).fit(dates, y)
    expected = farfield.NTKRegressor(ARCH).fit(pd.DataFrame({"x1": dates[:, 0]}), y)
    assert (model.predict(dates) == expected.predict(pd.DataFrame({"x1": dates[:, 0]}))).all()
    assert (model.predict(dates.astype("M8[s]")) == model.predict(dates)).all()
    with pytest.raises(farfield.ArgError, match="timedelta"):
        farfield.NTKRegressor(ARCH).fit(dates - dates[0], y)


def test_what_is_missing_is_named_by_its_place():
    gap, far = X.copy(), X.copy()
    gap[5, 1], far[3, 0] = np.nan, np.inf
    with pytest.raises(farfield.DataError, match=r"contains NaN: row 6: column x2 .*impute=True"):
        farfield.NTKRegressor(ARCH).fit(gap, y)
    with pytest.raises(farfield.DataError, match=r"row 6: column b "):
        farfield.NTKRegressor(ARCH).fit(pd.DataFrame(gap, columns=["a", "b"]), y)
    with pytest.raises(farfield.DataError, match=r"contains infinity: row 4: column x1 is inf"):
        farfield.NTKRegressor(ARCH, impute=True).fit(far, y)
    with pytest.raises(farfield.DataError, match=r"Input y contains NaN: row 2: column y has"):
        farfield.NTKRegressor(ARCH).fit(X, np.where(np.arange(60) == 1, np.nan, y))
    with pytest.raises(farfield.DataError, match=r"row 3 has no label"):
        farfield.NTKClassifier(ARCH).fit(X, pd.Series([*labels[:2], pd.NA, *labels[3:]]))


@pytest.mark.parametrize("rows", [1, 2])
def test_two_rows_are_too_few(rows):
    with pytest.raises(ValueError, match=f"{rows} samples?: too few to learn from, 3 are the least"):
        farfield.NTKRegressor(ARCH).fit(X[:rows], y[:rows])


def test_mistakes_in_arguments_are_named():
    for wrong, what in [
        (lambda: farfield.NTKRegressor(ARCH + "\0 relu").fit(X, y), "zero byte"),
        (lambda: farfield.NetworkRegressor(NET + "\0 foo").fit(X, y), "zero byte"),
        (lambda: farfield.kernel("dense\0 relu dense"), "zero byte"),
        (lambda: farfield.kernel("dense \udc00"), "not valid Unicode"),
        (lambda: farfield.kernel(None), "arch is a text"),
        (lambda: farfield.NTKRegressor(farfield.kernel(ARCH)).fit(X, y), "arch is a text"),
        (lambda: farfield.kernel(ARCH).sup(1.5), "d, the number of inputs: a whole number"),
        (lambda: farfield.kernel(ARCH)(X, get=3), "get is"),
        (lambda: farfield.NetworkRegressor(NET, batch=0).fit(X, y), "batch: at least 1"),
        (lambda: farfield.NTKRegressor(ARCH, landmarks=0).fit(X, y), "landmarks: at least 1"),
        (lambda: farfield.NTKRegressor(ARCH).fit(X, y).predict(X, spread="wide"), "spread is one of"),
        (lambda: farfield.NTKRegressor(ARCH).fit(X, y).plot(99), "there are 2, from 0"),
        (lambda: farfield.NetworkRegressor(3).fit(X, y), "arch is a text, not 3"),
        (lambda: farfield.NTKRegressor(ARCH, memory="8G").fit(X, y), "memory is a number of bytes, as 8e9, not '8G'"),
        (lambda: farfield.NTKRegressor(ARCH, keep=3, careful=True).fit(X, y), "keep is a list of names"),
        (lambda: farfield.NetworkRegressor(NET, keep=[3]).fit(X, y), "a name in keep is a text, not 3"),
        (lambda: fitted(ALL[0]).sample_y(X, -1), "n_samples: at least 1, not -1"),
        (lambda: fitted(ALL[0]).sample_y(X, 1.5), "n_samples: a whole number"),
        (lambda: farfield.NetworkRegressor(NET, epochs=1, committee=2).fit(X, y).sample_y(X, 0), "n_samples: at least 1"),
        (lambda: farfield.set_threads(1.9), "threads: a whole number"),
        (lambda: farfield.set_threads(2**40), "threads are at most"),
    ]:
        with pytest.raises(farfield.ArgError, match=what):
            wrong()
    same = pd.DataFrame(np.c_[X, y], columns=["a", "b", "a"]).assign(k="u")
    with pytest.raises(ValueError, match="two columns have the same name, 'a'"):
        farfield.NTKRegressor(ARCH).fit(same, y)


@pytest.mark.parametrize("kind", [farfield.NTKRegressor, farfield.NetworkRegressor])
def test_labels_for_a_regressor_are_named(kind):
    learner = kind.__name__.replace("Regressor", "Classifier")
    for texts in (["low", "high"] * 30, np.array(["low"] * 60), pd.Series([1.5, "low"] * 30),
                  pd.DataFrame({"a": y, "b": ["1", "low"] * 30})):  # fmt: skip
        row = 2 if isinstance(texts, (pd.Series, pd.DataFrame)) else 1
        with pytest.raises(farfield.DataError, match=f"y holds texts, as 'low' in row {row}.*{learner} learns classes"):
            kind(NET).fit(X, texts)
    assert np.array_equal(kind(NET).fit(X, [str(v) for v in y]).predict(X), kind(NET).fit(X, y).predict(X))


def test_unknown_parameters_name_the_class():
    for estimator in ALL:
        kind = type(estimator)
        with pytest.raises(TypeError, match=rf"{kind.__name__}.__init__\(\) got an unexpected keyword argument 'ridg'"):
            kind(ARCH, ridg=1)
        assert clone(kind(NET, seed=3)).get_params()["seed"] == 3


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_columns_to_keep_are_a_list_of_names(estimator):
    table = pd.DataFrame({"id, old": np.arange(60), "c": 1.0, "x": X[:, 0]})
    target = labels if hasattr(estimator, "predict_proba") else y
    for keep, names in ((["c"], ["c", "x"]), (("id, old", "c"), ["id, old", "c", "x"]), ("c", ["c", "x"]),
                        (pd.Index(["id, old"]), ["id, old", "x"])):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(estimator).set_params(careful=True, keep=keep).fit(table, target)
        assert model.predictor_.features == names


def test_certificates_are_saved_and_checked_by_path(tmp_path):
    model = fitted(ALL[0])
    certificate = model.certify(seconds=0)
    with pytest.raises(farfield.FileError, match="nope.*cannot be written: No such file"):
        certificate.save(tmp_path / "nope" / "c.json")
    certificate.save(tmp_path / "c.json")
    for subject in (certificate, certificate.json, tmp_path / "c.json", str(tmp_path / "c.json")):
        model.predictor_.check(subject)
    with pytest.raises(farfield.FileError, match="d.json: the certificate cannot be read: No such file"):
        model.predictor_.check(tmp_path / "d.json")
    with pytest.raises(farfield.FarfieldError):
        fitted(ALL[2]).predictor_.check(tmp_path / "c.json")
    with pytest.raises(farfield.ArgError, match="its JSON, or the path"):
        model.predictor_.check(None)


def test_options_are_checked_by_name():
    with pytest.raises(farfield.ArgError, match="kernel is one of ntk, nngp"):
        farfield.NTKRegressor(ARCH, kernel="rbf").fit(X, y)
    with pytest.raises(farfield.ArgError, match="no option speed"):
        fitted(ALL[0]).certify(speed=3)
    with pytest.raises(farfield.ParseError):
        farfield.NetworkRegressor("dense(4) rlu dense").fit(X, y)
    with pytest.raises(farfield.ArgError, match="lr"):
        farfield.NetworkRegressor(NET, lr="fast").fit(X, y)
