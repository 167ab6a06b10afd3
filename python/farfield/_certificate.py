"""Certificates as objects: whether a predictor can run away, and what is proven of how far."""
from __future__ import annotations

import html
import json
import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _lib, errors
from ._lib import ffi, lib

_VERDICTS = {1: True, 0: False, -1: None}


def _vector(pointer: Any, count: int) -> np.ndarray | None:
    if not pointer:
        return None
    return np.frombuffer(ffi.buffer(pointer, 8 * count), np.float64).copy()


@dataclass(frozen=True)
class Bound:
    """One output. bounded is True, False, or None where neither is proven; far_bound of
    farfield/certify.h has the meaning of the other fields.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> certificate = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0]).certify()
    >>> b = certificate.outputs[0]
    >>> b.bounded, b.lowest <= b.highest, b.found <= b.bound
    (True, True, True)
    """

    output: str
    bounded: bool | None
    verdict: str
    theorem: str | None
    bound: float  # |f(x)| <= bound for every x; inf if that is not proven
    lowest: float
    highest: float
    method: str | None
    proofs: dict[str, float]  # what each method proves of |f|
    found: float  # the largest |f| that the search met
    at: np.ndarray | None  # there
    at_infinity: bool
    direction: np.ndarray | None  # unbounded: f(t direction) ~ slope t ** order
    slope: float
    order: float
    exceeds: float  # the level that was asked for; NaN: none
    beyond: float  # unbounded: |f(t direction)| > exceeds for every t beyond this
    beyond_proven: bool  # else by a dense scan
    row: np.ndarray | None  # with categories: inputs of a row of a table where |f| > exceeds
    growth: float  # finite networks: |f(x)| <= growth |x| + offset
    offset: float
    inputs: tuple[str, ...] = field(repr=False)

    @property
    def witness(self) -> np.ndarray | None:
        """Not bounded: the direction along which it runs away. Else the point at which the largest
        |f| was met (a direction, if `at_infinity`); None: none was."""
        return self.direction if self.bounded is False else self.at

    @property
    def answer(self) -> str | None:
        """Whether |f| is above the level that was asked for, in words; None: there was none."""
        if math.isnan(self.exceeds):
            return None
        level = f"{self.exceeds:g}"
        if self.bounded and self.bound <= self.exceeds:
            return f"|f| is never above {level}"
        if self.bounded is False and math.isfinite(self.beyond):
            how = "" if self.beyond_proven else " (by a scan)"
            return f"|f(t u)| > {level} for every t > {_up(self.beyond)}{how}"
        if self.found > self.exceeds:
            return f"|f| is above {level} where the largest was met"
        return f"whether |f| is ever above {level} is not decided"

    @property
    def _growth(self) -> str:
        """Of what is unbounded: how it grows, and along what."""
        assert self.direction is not None
        strongest = np.argsort(-np.abs(self.direction), kind="stable")
        parts = [f"{self.inputs[j]} = {self.direction[j]:.4g}" for j in strongest if self.direction[j]]
        where = ", ".join(parts[:8]) + (", ..." if len(parts) > 8 else "")
        return f"f(t u) ~ {self.slope:.6g} t^{self.order:g}, u: {where}"

    @classmethod
    def _of(cls, b: Any, inputs: tuple[str, ...], exceeds: float) -> Bound:
        proofs = {_lib.words(p.method): p.bound for p in b.proofs if p.method}
        return cls(
            output=_lib.words(b.output),
            bounded=_VERDICTS[b.verdict],
            verdict=_lib.words(lib.far_verdict_text(b.verdict)),
            theorem=_lib.text(b.theorem),
            bound=b.tightest if b.verdict == lib.FAR_BOUNDED else math.inf,
            lowest=b.lowest,
            highest=b.highest,
            method=_lib.text(b.method),
            proofs=proofs,
            found=b.sup_found,
            at=_vector(b.at, len(inputs)),
            at_infinity=bool(b.at_infinity),
            direction=_vector(b.direction, len(inputs)),
            slope=b.slope,
            order=b.order,
            exceeds=exceeds,
            beyond=b.beyond,
            beyond_proven=bool(b.beyond_proven),
            row=_vector(b.row, len(inputs)),
            growth=b.growth,
            offset=b.offset,
            inputs=inputs,
        )

    def __str__(self) -> str:
        more = f"; {self.answer}" if self.answer else ""
        if self.bounded:
            inside = f"in [{_down(self.lowest)}, {_up(self.highest)}]"
            return f"{self.output}: bounded, |f(x)| <= {_up(self.bound)} for every x, f {inside}{more}"
        if self.bounded is False:
            return f"{self.output}: unbounded, {self._growth}{more}"
        return f"{self.output}: undecided: {self.theorem}{more}"

    def _cells(self) -> list[str]:
        """Of a table: what, verdict, how far, where it was met, why, and the answer."""
        far = f"|f| <= {_up(self.bound)}" if self.bounded else ""
        far = self._growth if self.bounded is False else far
        met = "" if math.isnan(self.found) else _down(self.found)
        cells = [self.output, self.verdict, far or "-", met or "-", self.theorem or ""]
        return [html.escape(cell) for cell in cells + ([self.answer] if self.answer else [])]


def _up(value: float) -> str:
    """Rounded away from what is proven, never into it."""
    return f"{lib.far_round_up(value, 6):.6g}"


def _down(value: float) -> str:
    return f"{lib.far_round_down(value, 6):.6g}"


@dataclass(frozen=True)
class Certificate:
    """What is proven of a predictor, for every input. `outputs` has a `Bound` for each output.

    json: the certificate as text, which `check` and the command's `certify --check` verify.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, np.sin(X[:, 0]))
    >>> c = model.certify()
    >>> c.bounded, c.kind, bool(abs(model.predict(1e6 * X)).max() <= c.bound)
    (True, 'infinite', True)
    >>> c.check(model.predictor_)
    """

    bounded: bool | None  # of all outputs; None: of one at least neither is proven
    verdict: str
    kind: str
    arch: str | None
    hash: str  # SHA-256 of what was certified
    inputs: tuple[str, ...]
    outputs: tuple[Bound, ...]
    seconds: float
    finished: bool  # branch and bound reached its gap (or was not needed)
    json: str = field(repr=False)

    @property
    def bound(self) -> float:
        """|f(x)| <= bound for every x and every output; inf if that is not proven."""
        return max(b.bound for b in self.outputs)

    @property
    def theorem(self) -> str | None:
        """What the verdict rests on."""
        return self._worst.theorem

    @property
    def witness(self) -> np.ndarray | None:
        """`Bound.witness` of the output that decides: one that runs away, else the largest."""
        return self._worst.witness

    @property
    def _worst(self) -> Bound:
        first = {False: 0, None: 1, True: 2}
        return min(self.outputs, key=lambda b: (first[b.bounded], -b.bound))

    def to_dict(self) -> Any:
        """The fields of `certify --json`."""
        return json.loads(self.json)

    def check(self, predictor: Any) -> None:
        """Holds the certificate against a predictor: that it is of this one, and every statement
        proven anew. DataError names the first that does not hold."""
        predictor.check(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the JSON, for `farfield certify --check` and `Predictor.check`."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.json)
        except OSError as error:
            why = error.strerror or error
            raise errors.FileError(f"{path}: the certificate cannot be written: {why}") from None

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.kind}" + (f", {self.arch}" if self.arch else "")
        lines = [head] + [f"  {b}" for b in self.outputs] + [f"  by {self.theorem}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{'</td><td>'.join(b._cells())}</td></tr>" for b in self.outputs)
        names = ["output", "verdict", "how far", "largest |f| met", "by"]
        names += [f"above {b.exceeds:g}?" for b in self.outputs[:1] if b.answer]
        head = f"<tr><th>{'</th><th>'.join(names)}</th></tr>"
        what = html.escape(self.arch or self.kind)
        return f"<p><b>{self.verdict}</b>: {what}</p><table>{head}{rows}</table>"

    @classmethod
    def _of(cls, pointer: Any, exceeds: float) -> Certificate:
        info = lib.far_certificate_describe(pointer)
        inputs = tuple(_lib.words(info.input_names[i]) for i in range(info.inputs))
        bounds = [lib.far_certificate_bound(pointer, k) for k in range(info.outputs)]
        return cls(
            bounded=_VERDICTS[info.verdict],
            verdict=_lib.words(lib.far_verdict_text(info.verdict)),
            kind=_lib.words(info.kind),
            arch=_lib.text(info.arch),
            hash=_lib.words(info.hash),
            inputs=inputs,
            outputs=tuple(Bound._of(b, inputs, exceeds) for b in bounds),
            seconds=info.seconds,
            finished=info.cells == 0 or bool(info.finished),
            json=_lib.take_text(lib.far_certificate_json, pointer),
        )
