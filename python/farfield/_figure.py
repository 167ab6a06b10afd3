"""Figures: described once, drawn as SVG or PNG by the library, or on axes of matplotlib."""
from __future__ import annotations

import os
from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _lib, errors
from ._lib import ffi, lib

_ENDINGS = (".svg", ".png", ".csv")
_COLOURS = 8


def _vector(values: ArrayLike, name: str) -> np.ndarray:
    found = np.ascontiguousarray(_lib.as_numpy(values), np.float64)
    if found.ndim != 1:
        raise errors.ShapeError(f"{name} has {found.ndim} dimensions, not one")
    return found


def _doubles(values: np.ndarray | None) -> Any:
    return ffi.NULL if values is None else ffi.from_buffer("double[]", values)


class Figure:
    """A figure of lines, bands, points, bars and rules, or a heat map.

    Layers are added by its methods, each of which returns the figure; `save` writes svg, png
    (through librsvg, where that is installed) or csv, `svg` gives the text, `draw` puts it on axes
    of matplotlib, and a notebook shows it. Options: title, x_label, y_label, width, height, x_scale
    and y_scale ("linear", "log", "symlog"), x_min, x_max, y_min, y_max, note, and the others of
    far_figure_opts (farfield/plot.h); categories: names of bars.

    >>> figure = farfield.Figure(title="A line", x_label="x", y_label="y")
    >>> figure = figure.line([0, 1, 2], [0, 1, 4], label="square").rule(3, label="bound")
    >>> figure.svg()[:4]
    '<svg'
    """

    def __init__(self, *, categories: Sequence[str] | None = None, **options: Any) -> None:
        self._options, self._categories = options, list(categories or [])
        self._layers: list[tuple[str, list[Any], dict[str, Any]]] = []
        self._settings()  # names and values of options are checked now

    def _settings(self) -> _lib.Options:
        opts = _lib.Options("far_figure_opts", **self._options)
        if self._categories:
            names = [_lib.c_text(name) for name in self._categories]
            kept = ffi.new("char *[]", names)
            opts.keep(names, kept)
            opts.pointer.categories, opts.pointer.category_count = kept, len(names)
        return opts

    def _add(self, kind: str, values: list[Any], mark: dict[str, Any]) -> Figure:
        lengths = {len(v) for v in values if isinstance(v, np.ndarray) and v.ndim == 1}
        if len(lengths) > 1:
            raise errors.ShapeError(f"a {kind} of vectors of different lengths: {sorted(lengths)}")
        if mark.get("colour") is not None and not 0 <= _lib.whole("colour", mark["colour"], 0) < _COLOURS:
            raise errors.ArgError(f"colour is from 0 to {_COLOURS - 1}, not {mark['colour']}")
        self._layers.append((kind, values, mark))
        return self

    def line(self, x: ArrayLike, y: ArrayLike, **mark: Any) -> Figure:
        """A line through n points. mark: label, colour (0 to 7), dash ("dashed", ...), width."""
        return self._add("line", [_vector(x, "x"), _vector(y, "y")], mark)

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, **mark: Any) -> Figure:
        """What lies between two lines of n points. mark: label, colour, opacity."""
        values = [_vector(x, "x"), _vector(low, "low"), _vector(high, "high")]
        return self._add("band", values, mark)

    def points(self, x: ArrayLike, y: ArrayLike, **mark: Any) -> Figure:
        """n points. mark: label, colour, width (their diameter), opacity."""
        return self._add("points", [_vector(x, "x"), _vector(y, "y")], mark)

    def bars(self, values: ArrayLike, errors: ArrayLike | None = None, **mark: Any) -> Figure:
        """A bar for each of the figure's categories, with half widths of error bars."""
        half = None if errors is None else _vector(errors, "errors")
        return self._add("bars", [_vector(values, "values"), half], mark)

    def rule(self, value: float, vertical: bool = False, **mark: Any) -> Figure:
        """A line across the figure at y = value, or at x = value if it is vertical."""
        return self._add("rule", [float(value), bool(vertical)], mark)

    def heat(self, values: ArrayLike, **options: Any) -> Figure:
        """A heat map of a matrix, row 0 at the bottom. options: label, x_min, x_max, y_min, y_max,
        value_min, value_max, scale, map (far_heat_opts)."""
        found = np.ascontiguousarray(_lib.array(values, "values"), np.float64)
        return self._add("heat", [found], options)

    # ---- by the library ----

    def _make(self) -> Any:
        opts = self._settings()
        made = _lib.make(lib.far_figure_create, opts.pointer, destroy=lib.far_figure_destroy)
        for kind, values, mark in self._layers:
            getattr(self, "_put_" + kind)(made, values, mark)
        return made

    def _put_line(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_mark_opts", **mark)
        size = len(values[0])
        _lib.call(lib.far_figure_line, made, *map(_doubles, values), size, opts.pointer)

    def _put_band(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_mark_opts", **mark)
        size = len(values[0])
        _lib.call(lib.far_figure_band, made, *map(_doubles, values), size, opts.pointer)

    def _put_points(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_mark_opts", **mark)
        size = len(values[0])
        _lib.call(lib.far_figure_points, made, *map(_doubles, values), size, opts.pointer)

    def _put_bars(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_mark_opts", **mark)
        size = len(values[0])
        _lib.call(lib.far_figure_bars, made, *map(_doubles, values), size, opts.pointer)

    def _put_rule(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_mark_opts", **{"colour": -3, **mark})
        way = lib.FAR_VERTICAL if values[1] else lib.FAR_HORIZONTAL
        _lib.call(lib.far_figure_rule, made, way, values[0], opts.pointer)

    def _put_heat(self, made: Any, values: list[Any], mark: dict[str, Any]) -> None:
        opts = _lib.Options("far_heat_opts", **mark)
        _lib.call(
            lib.far_figure_heat, made, _doubles(values[0].ravel()), *values[0].shape, opts.pointer
        )

    def svg(self, theme: str = "light") -> str:
        """The figure as SVG. theme: "light", "dark" or "auto" (as the viewer prefers)."""
        themes = {"light": lib.FAR_THEME_LIGHT, "dark": lib.FAR_THEME_DARK, "auto": lib.FAR_THEME_AUTO}
        if theme not in themes:
            raise errors.ArgError(f"theme is one of {', '.join(themes)}, not {theme!r}")
        return _lib.take_text(lib.far_figure_svg, self._make(), themes[theme])

    def save(self, path: str | os.PathLike[str]) -> None:
        """To a file: .svg, .png or .csv."""
        if os.path.splitext(os.fspath(path))[1] not in _ENDINGS:
            raise errors.ArgError(f"{os.fspath(path)}: figures are {', '.join(_ENDINGS)}")
        _lib.call(lib.far_figure_save, self._make(), _lib.c_path(path))

    def _repr_svg_(self) -> str:
        return self.svg("auto")

    # ---- by matplotlib ----

    def draw(self, ax: Any = None) -> Any:
        """The figure on axes of matplotlib (None: new ones), which are returned."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        for kind, values, mark in self._layers:
            getattr(self, "_draw_" + kind)(ax, values, mark)
        above = [self._options[name] for name in ("title", "note") if self._options.get(name)]
        if above:
            ax.set_title("\n".join(above))
        for name in ("x_label", "y_label"):
            if self._options.get(name):
                getattr(ax, "set_" + name.replace("_", ""))(self._options[name])
        for name in ("x_scale", "y_scale"):
            if self._options.get(name):
                getattr(ax, "set_" + name.replace("_", ""))(self._options[name])
        ax.set_xlim(self._options.get("x_min"), self._options.get("x_max"))
        ax.set_ylim(self._options.get("y_min"), self._options.get("y_max"))
        if any(mark.get("label") for kind, _, mark in self._layers if kind != "heat"):
            ax.legend()
        return ax

    @staticmethod
    def _style(mark: dict[str, Any]) -> dict[str, Any]:
        style: dict[str, Any] = {}
        if mark.get("label"):
            style["label"] = mark["label"]
        if mark.get("colour") is not None:
            style["color"] = f"C{mark['colour']}"
        if mark.get("opacity") is not None:
            style["alpha"] = mark["opacity"]
        return style

    def _draw_line(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        ax.plot(*values, linewidth=mark.get("width"), **self._style(mark))

    def _draw_band(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        ax.fill_between(*values, **{"alpha": 0.25, **self._style(mark)})

    def _draw_points(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        ax.plot(*values, ".", markersize=mark.get("width"), **self._style(mark))

    def _draw_bars(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        ax.bar(self._categories or range(len(values[0])), values[0], yerr=values[1], **self._style(mark))

    def _draw_rule(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        style = {"color": "grey", "linestyle": "--", **self._style(mark)}
        (ax.axvline if values[1] else ax.axhline)(values[0], **style)

    def _draw_heat(self, ax: Any, values: list[Any], mark: dict[str, Any]) -> None:
        rows, cols = values[0].shape
        extent = [mark.get("x_min", -0.5), mark.get("x_max", cols - 0.5),
                  mark.get("y_min", -0.5), mark.get("y_max", rows - 0.5)]  # fmt: skip
        image = ax.imshow(values[0], origin="lower", extent=extent, aspect="auto",
                          vmin=mark.get("value_min"), vmax=mark.get("value_max"))  # fmt: skip
        ax.figure.colorbar(image, ax=ax, label=mark.get("label"))
