"""Figures as svg, csv, png and on axes of matplotlib; what notebooks show."""
import gc
import subprocess
import sys
import xml.dom.minidom

import numpy as np
import pandas as pd
import pytest

import farfield
from farfield import _lib

X = np.linspace(-2, 2, 30).reshape(-1, 1)
y = np.sin(2 * X[:, 0])


@pytest.fixture(scope="module")
def model():
    return farfield.NTKRegressor("dense ln relu dense").fit(X, y)


def whole():
    t = np.linspace(0, 1, 50)
    return (farfield.Figure(title="<A & B>", x_label="t", y_label="f", y_min=-3, y_max=3)
            .line(t, np.sin(9 * t), label="sin", colour=2, dash="dashed", width=2)
            .band(t, np.sin(9 * t) - 1, np.sin(9 * t) + 1, colour=2, opacity=0.3)
            .points(t[::5], np.cos(t[::5]), label="points").rule(2.5, label="bound").rule(0.5, vertical=True))  # fmt: skip


def test_figures_are_svg_and_csv(tmp_path):
    figure = whole()
    for theme in ("light", "dark", "auto"):
        xml.dom.minidom.parseString(figure.svg(theme))
    assert figure._repr_svg_().startswith("<svg")
    figure.save(tmp_path / "f.svg"), figure.save(tmp_path / "f.csv")
    assert (tmp_path / "f.svg").read_text().count("far-series") >= 5
    assert "sin" in (tmp_path / "f.csv").read_text()


def test_png_or_the_reason_why_not(tmp_path):
    try:
        whole().save(tmp_path / "f.png")
        assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    except farfield.ArgError as error:
        assert "librsvg" in str(error) and "svg" in str(error)


def test_bars_and_heat_maps():
    bars = farfield.Figure(categories=["a", "b"]).bars([1, 2], errors=[0.1, 0.2], label="x")
    heat = farfield.Figure(title="K").heat(farfield.kernel("dense relu dense")(X), label="ntk")
    for figure in (bars, heat):
        xml.dom.minidom.parseString(figure.svg())


FRESH = """
import farfield
words = dict(title="A title of its own", x_label="the abscissa", y_label="the ordinate", note="a note below")
line = farfield.Figure(**words).line([0, 1], [0, 1], label="the one line")
bars = farfield.Figure(categories=["first bar", "second bar"], **words).bars([1, 2])
for figure in (line, bars):
    svg = figure.svg()
    assert all(word in svg for word in words.values()), svg
assert "the one line" in line.svg() and "first bar" in bars.svg() and "second bar" in bars.svg(), bars.svg()
"""


def test_texts_of_figures_are_there_in_a_fresh_process():
    for _ in range(3):
        subprocess.run([sys.executable, "-c", FRESH], check=True)


def test_a_pointer_to_options_keeps_their_texts():
    pointers = [_lib.Options("far_figure_opts", title=f"title {i} " * 9).pointer for i in range(50)]
    gc.collect()
    fill = [f"other {i} " * 9 for i in range(500)]
    texts = [_lib.c_text(word) for word in fill]
    assert [_lib.text(p.title) for p in pointers] == [f"title {i} " * 9 for i in range(50)]
    del pointers, texts
    gc.collect()
    assert len(_lib._kept_by) < 50


def test_odd_figures_are_refused():
    with pytest.raises(farfield.ArgError, match="no option colr"):
        farfield.Figure(colr=1)
    for colour, what in ((99, "colour is from 0 to 7, not 99"), (-1, "colour: at least 0"), ("red", "colour: a whole")):
        with pytest.raises(farfield.ArgError, match=what):
            farfield.Figure().line([1, 2], [1, 2], colour=colour)
    farfield.Figure().line([1, 2], [1, 2], colour=7).svg()
    with pytest.raises(farfield.ShapeError, match="different lengths"):
        farfield.Figure().line([1, 2], [1])
    with pytest.raises(farfield.ArgError, match="figures are"):
        whole().save("f.jpg")
    with pytest.raises(farfield.DataError):
        farfield.Figure().svg()
    with pytest.raises(farfield.ArgError, match="theme"):
        whole().svg("blue")
    with pytest.raises(farfield.ArgError, match="y_scale is one of"):
        farfield.Figure(y_scale="cubic")


def test_figures_on_axes_of_matplotlib(model):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    ax = whole().draw()
    assert len(ax.lines) == 4 and ax.get_title() == "<A & B>" and ax.get_ylim() == (-3, 3)
    assert model.plot(certificate=model.certify(seconds=0)).draw(ax) is ax
    farfield.Figure(categories=["a", "b"]).bars([1, 2]).draw()
    noted = farfield.Figure(title="f", note="at x2 = 1").line([1, 2], [1, 10]).draw()
    assert noted.get_title() == "f\nat x2 = 1"
    farfield.Figure(y_scale="log").line([1, 2], [1, 10]).draw()
    farfield.Figure().heat(np.eye(2), label="v").draw()


def test_plots_go_far_beyond_the_data(model):
    certificate = model.certify(seconds=0)
    figure = model.plot(reach=5, certificate=certificate, title="f")
    line = figure._layers[0][1]
    assert line[0][0] == -2 - 5 * 4 and np.array_equal(line[1], model.predict(line[0].reshape(-1, 1)))
    assert [kind for kind, _, _ in figure._layers] == ["line", "points", "rule", "rule"]
    wide = np.column_stack([X, X**2])
    net = farfield.NetworkClassifier("dense(8) ln relu dense", epochs=20).fit(wide, y > 0)
    assert net.plot("x2", output=1).svg().startswith("<svg")


@pytest.mark.parametrize("ranks", ["all", "steps"])
def test_plots_move_ranks_with_their_numbers(ranks):
    wide = np.column_stack([X, X[::-1] ** 3])
    model = farfield.NTKRegressor("dense ln relu dense", ranks=ranks).fit(wide, y)
    for j, name in enumerate(("x1", "x2")):
        t, f = model.plot(name)._layers[0][1][:2]
        rows = np.tile(model.predictor_.rows()[0].mean(0)[[0, model.predictor_.input_names.index("x2")]], (len(t), 1))
        rows[:, j] = t
        assert np.allclose(f, model.predict(rows), rtol=1e-12, atol=1e-12)
        assert np.array_equal(model.plot(j)._layers[0][1][1], f)
    with pytest.raises(farfield.ArgError, match="no input 'x3'; there are x1, x2$"):
        model.plot("x3")
    one = farfield.NTKRegressor("dense ln relu dense", ranks=ranks).fit(X, y)
    assert [kind for kind, _, _ in one.plot()._layers] == ["line", "points"]


def test_certificates_say_where_what_is_unbounded_goes():
    plane = np.column_stack([X, np.cos(X)])
    steep = farfield.NTKRegressor("dense relu dense").fit(plane, plane[:, 1] * 3)
    certificate = steep.certify(seconds=0, exceeds=50)
    b = certificate.outputs[0]
    largest = certificate.inputs[np.argmax(abs(b.direction))]
    for shown in (str(certificate), certificate._repr_html_().replace("&gt;", ">")):
        assert "unbounded" in shown and f"f(t u) ~ {b.slope:.6g} t^1, u: {largest} = " in shown
        assert f"|f(t u)| > 50 for every t > {b.beyond:.3g}"[:-1] in shown
    assert b.exceeds == 50 and abs(steep.predictor_([1.01 * b.beyond * b.direction])).max() > 50
    assert "above" not in str(steep.certify(seconds=0)) and "above" not in steep.certify(seconds=0)._repr_html_()


def test_certificates_answer_whether_a_level_is_exceeded(model):
    bound = model.certify(seconds=0).bound
    for level, answer in ((bound + 1, "never above"), (0.01, "where the largest was met")):
        certificate = model.certify(seconds=0, exceeds=level)
        assert answer in certificate.outputs[0].answer
        assert answer in str(certificate) and answer in certificate._repr_html_()
    assert model.certify(seconds=0).outputs[0].answer is None


def test_plots_of_several_inputs_show_the_range_of_the_data():
    plane = np.column_stack([X + 0.3, X[::-1] ** 2])
    model = farfield.NTKRegressor("dense ln relu dense", ranks="steps").fit(plane, y)
    figure = model.plot("x2")
    rules = [values for kind, values, _ in figure._layers if kind == "rule"]
    assert all(vertical for _, vertical in rules)
    assert np.allclose([place for place, _ in rules], [plane[:, 1].min(), plane[:, 1].max()], rtol=1e-12)
    mean = plane[:, 0].mean()
    assert figure._options["note"] == f"the other inputs at their means: x1 = {mean:.4g}"
    assert "range of the data" in figure.svg() and "the other inputs at their means" in figure.svg()
    assert model.plot("x2", at={"x1": 1.5})._options["note"] == "at x1 = 1.5"
    assert model.plot("x2", note="mine")._options["note"] == "mine"
    names = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 9)), columns=list("abcdefghi"))
    wide = farfield.NTKRegressor("dense ln relu dense").fit(names, names["a"])
    assert wide.plot("a")._options["note"].endswith(", ...")


def test_plots_are_asked_by_names():
    plane = np.column_stack([X, X[::-1] ** 2])
    frame = pd.DataFrame({"a": plane[:, 0], "kind": ["u", "v"] * 15})
    model = farfield.NTKRegressor("dense ln relu dense").fit(frame, np.column_stack([y, -y]))
    second = model.plot("a", output="y2")
    assert np.array_equal(second._layers[0][1][1], model.plot(0, output=1)._layers[0][1][1])
    assert second._options["y_label"] == "y2"
    t, f = model.plot("a", at={"kind": "v"})._layers[0][1][:2]
    assert np.array_equal(f, model.predict(pd.DataFrame({"a": t, "kind": "v"}))[:, 0])
    by_input = model.plot("a", at={"kind=u": 0, "kind=v": 1.0})._layers[0][1][1]
    assert np.array_equal(by_input, f) and np.array_equal(f, model.plot("a", at=[0, 0, 1])._layers[0][1][1])
    for wrong, what in [
        ({"output": 9}, "no output 9: there are 2, from 0"), ({"output": "z"}, "no output 'z'; there are y1, y2"),
        ({"output": 0.5}, "number of an output: a whole number"), ({"feature": None}, "number of an input"),
        ({"at": {"z": 1}}, "no input 'z'"), ({"at": {"kind": "w"}}, "kind has no category 'w'; there are u, v"),
        ({"at": {"a": "x"}}, "at: a is a finite number"), ({"at": [1.0]}, "not a value for each of the 3 inputs"),
        ({"reach": "a"}, "reach is a finite number"), ({"reach": -1}, "reach is above 0"), ({"reach": 0}, "reach is above 0"),
        ({"reach": np.inf}, "reach is a finite number"), ({"points": 1}, "points: at least 2"),
    ]:  # fmt: skip
        with pytest.raises((farfield.ArgError, farfield.ShapeError), match=what):
            model.plot(**{"feature": "a", **wrong})


def test_what_notebooks_show(model):
    assert "network" in model.predictor_._repr_html_() and "<table>" in model.predictor_._repr_html_()
    assert "bounded" in model.certify(seconds=0)._repr_html_()
