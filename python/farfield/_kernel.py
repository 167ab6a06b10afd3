"""Networks of infinite width as kernels."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _lib, errors
from ._lib import ffi, lib


class Kernels(NamedTuple):
    """Both kernels of the same points, n x m each; None where one was not asked for.

    >>> both = farfield.kernel("dense relu dense")(np.ones((2, 3)), None, ("nngp", "ntk"))
    >>> both.nngp.shape, both.ntk.shape
    ((2, 2), (2, 2))
    """

    nngp: np.ndarray | None
    ntk: np.ndarray | None


class Limit(NamedTuple):
    """What the kernels do along rays: K(t u_i, x_j) ~ nngp[i, j] t ** nngp_order[i]. Values are m x
    n, orders m.

    >>> found = farfield.kernel("dense relu dense").limit(np.eye(2), np.ones((3, 2)))
    >>> found.ntk.shape, found.ntk_order
    ((2, 3), array([1., 1.]))
    """

    nngp: np.ndarray
    nngp_order: np.ndarray
    ntk: np.ndarray
    ntk_order: np.ndarray


class Supremum(NamedTuple):
    """The supremum of Theta(x, x) over all x; far_supremum of farfield/kernel.h.

    >>> farfield.kernel("dense relu dense").sup().bounded
    False
    """

    bounded: bool
    attained: bool
    value: float
    radius: float
    order: float
    slope: float
    constant: bool
    proven: float
    proven_by: str | None


class Kernel:
    """The NNGP and NTK kernels of an architecture at infinite width; see `kernel`.

    >>> k = farfield.Kernel("dense relu dense")
    >>> k.arch, k.ntk(np.ones((2, 3))).shape
    ('dense relu dense', (2, 2))
    """

    def __init__(self, arch: str, param: str = "ntk") -> None:
        self.param = param
        if not isinstance(arch, (str, Kernel)):
            raise errors.ArgError(f"arch is a text as 'dense relu dense', not {arch!r}")
        options = _lib.Options("far_kernel_opts", param=param)
        self._kernel = _lib.make(
            lib.far_kernel_create,
            _lib.c_text(str(arch)),
            options.pointer,
            destroy=lib.far_kernel_destroy,
        )

    @property
    def arch(self) -> str:
        """The architecture, in its canonical form."""
        return _lib.words(lib.far_kernel_text(self._kernel))

    def __str__(self) -> str:
        return self.arch

    def __repr__(self) -> str:
        tail = "" if self.param == "ntk" else f", param={self.param!r}"
        return f"farfield.kernel({self.arch!r}{tail})"

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return Kernel, (self.arch, self.param)

    def __call__(
        self, x1: ArrayLike, x2: ArrayLike | None = None, get: str | Sequence[str] | None = "ntk"
    ) -> Any:
        """The matrix of the kernel `get` ("ntk" or "nngp") between the rows of x1 (n x d) and of
        x2 (m x d; None: x1 itself): n x m. Of several, as ("nngp", "ntk"), a tuple with these
        names. float32 points give a float32 matrix, computed in that precision.

        >>> k = farfield.kernel("dense ln relu dense relu dense")
        >>> k([[-1.0], [0.0], [2.0]]).shape
        (3, 3)
        """
        a, b = _lib.array(x1, "x1"), None if x2 is None else _lib.array(x2, "x2")
        a, b = _lib.same_dtype(a, b)
        shape = (len(a), len(a if b is None else b))

        def fill(nngp: np.ndarray | None, ntk: np.ndarray | None) -> None:
            _lib.call(
                lib.far_kernel_eval,
                self._kernel,
                _lib.view(a),
                _lib.view(b),
                lib.FAR_FILL_FULL,
                _lib.view(nngp),
                _lib.view(ntk),
            )

        return _evaluate(fill, get, shape, a.dtype)

    def nngp(self, x1: ArrayLike, x2: ArrayLike | None = None) -> np.ndarray:
        """The NNGP matrix, n x m: the covariance of random networks."""
        return self(x1, x2, "nngp")

    def ntk(self, x1: ArrayLike, x2: ArrayLike | None = None) -> np.ndarray:
        """The NTK matrix, n x m: what training by gradient descent sees."""
        return self(x1, x2, "ntk")

    def diag(self, x: ArrayLike, get: str | Sequence[str] | None = "ntk") -> Any:
        """The diagonal of the matrix of x: n values."""
        x = _lib.array(x)

        def fill(nngp: np.ndarray | None, ntk: np.ndarray | None) -> None:
            views = (_lib.view(out) for out in (nngp, ntk))
            _lib.call(lib.far_kernel_diag, self._kernel, _lib.view(x), *views)

        found = _evaluate(fill, get, (len(x), 1), x.dtype)
        return Kernels(*map(np.ravel, found)) if isinstance(found, tuple) else found[:, 0]

    def slopes(
        self, x1: ArrayLike, x2: ArrayLike | None = None, weights: ArrayLike | None = None,
        get: str = "ntk",
    ) -> np.ndarray:  # fmt: skip
        """Derivatives of the kernel `get` by its first point, in closed form: dK(x1_i, x2_j)/dx1_i,
        n x m x d; with weights (n x m) their sums over j, n x d, which backpropagation asks for.
        Where the kernel has a kink (at x1_i = x2_j, behind relu) its smooth part alone counts.

        >>> k = farfield.kernel("dense relu dense")
        >>> k.slopes(np.ones((2, 3)), np.zeros((4, 3))).shape
        (2, 4, 3)
        >>> k.slopes(np.ones((2, 3)), np.zeros((4, 3)), np.ones((2, 4))).shape
        (2, 3)
        """
        x1 = _lib.array(x1, "x1").astype(np.float64, copy=False)
        x2 = None if x2 is None else _lib.array(x2, "x2").astype(np.float64, copy=False)
        if get not in Kernels._fields:
            raise errors.ArgError(f'get is "ntk" or "nngp", not {get!r}')
        kind = lib.FAR_KERNEL_NTK if get == "ntk" else lib.FAR_KERNEL_NNGP
        count, d = len(x1 if x2 is None else x2), x1.shape[1]
        if weights is not None:
            weights = _lib.array(weights, "weights").astype(np.float64, copy=False)
        out = np.empty((len(x1), d if weights is not None else count * d))
        views = [_lib.view(m) for m in (x1, x2, weights, out)]
        _lib.call(lib.far_kernel_slopes, self._kernel, kind, *views)
        return out if weights is not None else out.reshape(len(x1), count, d)

    def limit(self, u: ArrayLike, x: ArrayLike | None = None) -> Limit:
        """Where the kernels go along the directions u (m x d): against the points x (n x d), or
        with both arguments at infinity. A `Limit` of m x n matrices and m orders: order 0 means
        that the values are limits, order 1 that the kernel grows and the values are slopes.

        >>> k = farfield.kernel("dense ln relu dense")
        >>> k.limit([[1.0], [-1.0]], [[0.5]]).ntk_order
        array([0., 0.])
        """
        u = _lib.array(u, "u").astype(np.float64, copy=False)
        x = None if x is None else _lib.array(x).astype(np.float64, copy=False)
        nngp, ntk = (np.empty((len(u), len(u if x is None else x))) for _ in range(2))
        orders = [np.empty((len(u), 1)) for _ in range(2)]
        places = (nngp, orders[0], ntk, orders[1])
        views = [_lib.view(out) for out in places]
        _lib.call(lib.far_kernel_limit, self._kernel, _lib.view(u), _lib.view(x), *views)
        return Limit(nngp, orders[0][:, 0], ntk, orders[1][:, 0])

    def sup(self, d: int = 1) -> Supremum:
        """The supremum of Theta(x, x) over x in R^d, and whether it is proven: a `Supremum`.

        >>> s = farfield.kernel("dense ln relu dense relu dense").sup()
        >>> s.bounded, s.value <= s.proven
        (True, True)
        """
        found = ffi.new("far_supremum *")
        d = _lib.whole("d, the number of inputs", d, 1)
        _lib.call(lib.far_kernel_supremum, self._kernel, d, found)
        return Supremum(
            bool(found.bounded),
            bool(found.attained),
            found.value,
            found.radius,
            found.order,
            found.slope,
            bool(found.constant),
            found.proven,
            _lib.text(found.proven_by),
        )


def _evaluate(fill: Callable[[Any, Any], None], get: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    single = isinstance(get, str) or not hasattr(get, "__iter__")
    names = ("nngp", "ntk") if get is None else (get,) if single else tuple(get)
    unknown = [name for name in names if name not in Kernels._fields]
    if unknown or not names:
        raise errors.ArgError(f'get is "ntk", "nngp" or both, not {get!r}')
    out = {name: np.empty(shape, dtype) for name in names}
    fill(out.get("nngp"), out.get("ntk"))
    return out[get] if isinstance(get, str) else Kernels(out.get("nngp"), out.get("ntk"))


def kernel(arch: str, param: str = "ntk") -> Kernel:
    """The infinite-width reading of an architecture (`farfield.grammar()` has the language).

    k(x1, x2, "ntk"), k.nngp(x), k.limit(u, x), k.sup(): see `Kernel`. param: how weights are
    parametrised, "ntk" or "standard".

    >>> k = farfield.kernel("[dense relu]x3 dense")
    >>> print(k)
    [dense relu]x3 dense
    """
    return Kernel(arch, param)


def grammar() -> str:
    """The architecture language: every layer, its arguments and their defaults, examples.

    >>> "skip(network)" in farfield.grammar()
    True
    """
    return _lib.words(lib.far_arch_grammar())
