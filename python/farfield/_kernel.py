"""Networks of infinite width as kernels."""
from typing import NamedTuple

import numpy as np

from . import _lib, errors
from ._lib import ffi, lib


class Kernels(NamedTuple):
    """Both kernels of the same points."""

    nngp: np.ndarray
    ntk: np.ndarray


class Limit(NamedTuple):
    """What the kernels do along rays: K(t u_i, x_j) ~ nngp[i, j] t ** nngp_order[i]."""

    nngp: np.ndarray
    nngp_order: np.ndarray
    ntk: np.ndarray
    ntk_order: np.ndarray


class Supremum(NamedTuple):
    """The supremum of Theta(x, x) over all x; far_supremum of farfield/kernel.h."""

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
    """The NNGP and NTK kernels of an architecture at infinite width; see `kernel`."""

    def __init__(self, arch, param="ntk"):
        self.param = param
        options = _lib.Options("far_kernel_opts", param=param)
        self._kernel = _lib.make(
            lib.far_kernel_create,
            str(arch).encode(),
            options.pointer,
            destroy=lib.far_kernel_destroy,
        )

    @property
    def arch(self):
        """The architecture, in its canonical form."""
        return _lib.text(lib.far_kernel_text(self._kernel))

    def __str__(self):
        return self.arch

    def __repr__(self):
        tail = "" if self.param == "ntk" else f", param={self.param!r}"
        return f"farfield.kernel({self.arch!r}{tail})"

    def __reduce__(self):
        return Kernel, (self.arch, self.param)

    def __call__(self, x1, x2=None, get="ntk"):
        """The matrix of the kernel `get` ("ntk" or "nngp") between the rows of x1 (n x d) and of
        x2 (m x d; None: x1 itself): n x m. Of several, as ("nngp", "ntk"), a tuple with these
        names. float32 points give a float32 matrix, computed in that precision.

        >>> k = farfield.kernel("dense ln relu dense relu dense")
        >>> k([[-1.0], [0.0], [2.0]]).shape
        (3, 3)
        """
        x1 = _lib.array(x1, "x1")
        x2 = None if x2 is None else _lib.array(x2, "x2")
        x1, x2 = _lib.same_dtype(x1, x2)
        shape = (len(x1), len(x1 if x2 is None else x2))

        def fill(nngp, ntk):
            _lib.call(
                lib.far_kernel_eval,
                self._kernel,
                _lib.view(x1),
                _lib.view(x2),
                lib.FAR_FILL_FULL,
                _lib.view(nngp),
                _lib.view(ntk),
            )

        return _evaluate(fill, get, shape, x1.dtype)

    def nngp(self, x1, x2=None):
        """The NNGP matrix: the covariance of random networks."""
        return self(x1, x2, "nngp")

    def ntk(self, x1, x2=None):
        """The NTK matrix: what training by gradient descent sees."""
        return self(x1, x2, "ntk")

    def diag(self, x, get="ntk"):
        """The diagonal of the matrix of x: n values."""
        x = _lib.array(x)

        def fill(nngp, ntk):
            views = (_lib.view(out) for out in (nngp, ntk))
            _lib.call(lib.far_kernel_diag, self._kernel, _lib.view(x), *views)

        found = _evaluate(fill, get, (len(x), 1), x.dtype)
        return Kernels(*map(np.ravel, found)) if isinstance(found, tuple) else found[:, 0]

    def limit(self, u, x=None):
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

    def sup(self, d=1):
        """The supremum of Theta(x, x) over x in R^d, and whether it is proven: a `Supremum`.

        >>> s = farfield.kernel("dense ln relu dense relu dense").sup()
        >>> s.bounded, s.value <= s.proven
        (True, True)
        """
        found = ffi.new("far_supremum *")
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


def _evaluate(fill, get, shape, dtype):
    names = ("nngp", "ntk") if get is None else (get,) if isinstance(get, str) else tuple(get)
    unknown = [name for name in names if name not in Kernels._fields]
    if unknown or not names:
        raise errors.ArgError(f'get is "ntk", "nngp" or both, not {get!r}')
    out = {name: np.empty(shape, dtype) for name in names}
    fill(out.get("nngp"), out.get("ntk"))
    return out[get] if isinstance(get, str) else Kernels(out.get("nngp"), out.get("ntk"))


def kernel(arch, param="ntk"):
    """The infinite-width reading of an architecture (`farfield.grammar()` has the language).

    k(x1, x2, "ntk"), k.nngp(x), k.limit(u, x), k.sup(): see `Kernel`. param: how weights are
    parametrised, "ntk" or "standard".

    >>> k = farfield.kernel("[dense relu]x3 dense")
    >>> print(k)
    [dense relu]x3 dense
    """
    return Kernel(arch, param)


def grammar():
    """The architecture language: every layer, its arguments and their defaults, examples."""
    return _lib.text(lib.far_arch_grammar())
