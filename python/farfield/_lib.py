"""The C library: contexts, calls, matrices and options. Everything else is written in these terms.

A call runs without the GIL, on a context that belongs to the calling thread. Objects keep the
context that they were made with alive; they may be used and dropped by any thread.
"""
from __future__ import annotations

import contextlib
import functools
import operator
import os
import pathlib
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, Iterator

import numpy as np

from . import errors
from ._cdef import ffi


def c_text(content: str) -> Any:
    """A str as a C string."""
    if "\0" in content:
        raise errors.ArgError(f"{content!r} holds a zero byte")
    try:
        return ffi.new("char[]", content.encode())
    except UnicodeEncodeError as error:
        raise errors.ArgError(f"{content!r} is not valid Unicode: {error.reason}") from None


def c_path(path: str | os.PathLike[str]) -> Any:
    """The name of a file as a C string."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise errors.ArgError(f"{path!r} holds a zero byte")
    return ffi.new("char[]", name)


def outside() -> int:
    """The stacklevel at which a warning of the caller names the user's line, not the package's."""
    here, level = os.path.dirname(__file__), 1
    frame = sys._getframe(1)
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == here:
        frame, level = frame.f_back, level + 1
    return level


def whole(name: str, value: Any, least: int) -> int:
    """A whole number, at least so large."""
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.ArgError(f"{name}: a whole number, at least {least}, not {value!r}") from None
    if number < least:
        raise errors.ArgError(f"{name}: at least {least}, not {number}")
    return number


def text(pointer: Any) -> str | None:
    """A C string as str; None for NULL."""
    return ffi.string(pointer).decode() if pointer else None


def words(pointer: Any) -> str:
    """A C string that is there as str."""
    return ffi.string(pointer).decode()


@contextlib.contextmanager
def _environment(variable: str, value: str) -> Iterator[None]:
    """Sets a variable that the user has not set, for as long as libraries read it."""
    if variable in os.environ:
        yield
        return
    os.environ[variable] = value
    try:
        yield
    finally:
        del os.environ[variable]


def _load() -> Any:
    """As the command starts: OpenMP by default spins while it waits, which a busy machine pays for
    dearly, and OpenBLAS gives a processor that it does not know its slowest kernels. Both read
    their variables when they are loaded, so the library is loaded again where that helps."""
    path = str(pathlib.Path(__file__).with_name("libfarfield.so"))
    with _environment("OMP_WAIT_POLICY", "passive"):
        library = ffi.dlopen(path)
        better = library.far_blas_describe().better
        if better and "OPENBLAS_CORETYPE" not in os.environ:
            better = words(better)
            ffi.dlclose(library)
            with _environment("OPENBLAS_CORETYPE", better):
                library = ffi.dlopen(path)
        return library


lib = _load()

_names = {value: name for value, name in ffi.typeof("far_status").elements.items()}
_dtypes = {np.dtype(np.float64): lib.FAR_F64, np.dtype(np.float32): lib.FAR_F32}
_MAT, _POINTER = ffi.typeof("far_mat *"), ffi.typeof("void *")
_local = threading.local()
_process = {"threads": 0, "started": False, "forked": False}
MOST_THREADS = 4096


# ---- contexts ----


def _keep_exception(kind: Any, value: Any, traceback: Any) -> None:
    _local.raised = value


@ffi.callback("far_progress_fn", error=1, onerror=_keep_exception)
def _progress(user: Any, what: Any, done: int, total: int) -> int:
    # Signals are delivered here: KeyboardInterrupt is raised, kept, and the call cancelled.
    watcher = getattr(_local, "watcher", None)
    if watcher is None:
        return 0
    _local.watcher = None  # a watcher that calls the library itself does not watch that call
    try:
        return int(watcher(text(what), done, total) is False)
    finally:
        _local.watcher = watcher


def _new_context() -> Any:
    if _process["forked"]:
        raise errors.ForkError(
            "this process was forked from one that had used farfield, whose threads a fork loses; "
            "start processes with multiprocessing's 'spawn' or 'forkserver', or use farfield only "
            "after the fork"
        )
    options = ffi.new("far_ctx_opts *")
    options.size = ffi.sizeof("far_ctx_opts")
    options.threads = _process["threads"]
    options.progress = _progress
    out = ffi.new("far_ctx **")
    if lib.far_ctx_create(options, out) != lib.FAR_OK:
        raise errors.OutOfMemoryError("no context could be made")
    if not _process["started"]:
        _warn_of_blas()
    _process["started"] = True
    _local.raised = None
    _local.context = ffi.gc(out[0], lib.far_ctx_destroy)
    return _local.context


def _warn_of_blas() -> None:
    slow = ffi.string(lib.far_blas_describe().warning).decode()
    if slow:
        warnings.warn(slow, RuntimeWarning, stacklevel=outside())


def context() -> Any:
    """The context of this thread."""
    found = getattr(_local, "context", None)
    return _new_context() if found is None else found


def _after_fork() -> None:
    if _process["started"]:
        _process["forked"] = True
        _local.__dict__.clear()


os.register_at_fork(after_in_child=_after_fork)


def set_threads(count: int) -> None:
    """How many threads a call may use, in this Python thread and in those that have not called the
    library yet: 0 is one for each core. Results do not depend on it, to the last bit.

    >>> farfield.set_threads(1)
    >>> farfield.set_threads(0)
    """
    count = whole("threads", count, 0)
    if count > MOST_THREADS:
        raise errors.ArgError(f"threads are at most {MOST_THREADS}, not {count}")
    _process["threads"] = count
    _local.__dict__.pop("context", None)


@contextlib.contextmanager
def progress(watcher: Callable[[str, int, int], Any] | None = None) -> Iterator[None]:
    """Within the `with` block, long calls of this thread report to watcher(what, done, total),
    which returns False to cancel; without one, to a tqdm bar.

    >>> with farfield.progress(lambda what, done, total: None):
    ...     K = farfield.kernel("dense relu dense")(np.ones((3, 2)))
    """
    before = getattr(_local, "watcher", None)
    bar = None if watcher else _Bar()
    _local.watcher = watcher or bar
    try:
        yield
    finally:
        _local.watcher = before
        if bar:
            bar.close()


class _Bar:
    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "a progress bar needs tqdm (pip install tqdm); or give progress a function"
            ) from error

        self.make: Any = tqdm
        self.what = ""
        self.bar: Any = None

    def __call__(self, what: str, done: int, total: int) -> None:
        word = what.split(",")[0]  # "train, loss 0.01"
        if word != self.what:
            self.close()
            self.what, self.bar = word, self.make(total=total)
        self.bar.total = total  # it may turn out to be more, or less, on the way
        self.bar.set_description(what, refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


# ---- calls ----


def _check(ctx: Any, status: int) -> None:
    """Raises what the call came to, or what a progress function raised in it."""
    raised, _local.raised = _local.raised, None
    if raised is not None:
        raise raised
    if status == lib.FAR_OK:
        return
    message = text(lib.far_ctx_message(ctx)) or words(lib.far_status_text(status))
    if "(`categorical`" in message or "(`missing`" in message:  # options of those who read a csv
        message += "; in a data frame: None for a missing value, astype('category') for categories"
    raise errors.by_status.get(_names.get(status, ""), errors.FarfieldError)(message)


def call(function: Any, *arguments: Any) -> None:
    """function(ctx, *arguments) of the library; its failure as an exception."""
    ctx = context()
    _check(ctx, function(ctx, *arguments))


def make(function: Any, *arguments: Any, destroy: Any) -> Any:
    """The object that function(ctx, *arguments, &object) makes, destroyed when it is dropped.
    What the object borrows is to be kept beside it."""
    ctx = context()
    out = ffi.new(ffi.typeof(function).args[-1])
    status = function(ctx, *arguments, out)
    made = owned(out[0], destroy, ctx)
    _check(ctx, status)
    return made


def owned(pointer: Any, destroy: Any, *kept: Any) -> Any:
    """The pointer, destroyed before what is kept when it is dropped."""

    drop = functools.partial(destroy)  # no Python code: a Ctrl-C that it meets there would be lost
    setattr(drop, "kept", kept)
    return ffi.gc(pointer, drop)


def interruptible(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments) of NumPy, in a thread of its own: its LAPACK does not answer to signals, and
    waiting for a thread does. Once interrupted, that thread works on until it is done; Python waits
    for it before it exits, since OpenBLAS does not survive to be shut down at work."""
    found: list[Any] = []
    done = threading.Event()  # a join that is interrupted may take the thread for ended

    def work() -> None:
        try:
            found.extend([function(*arguments), None])
        except BaseException as error:
            found.extend([None, error])
        done.set()

    threading.Thread(target=work).start()
    while not done.wait(0.1):  # a signal just before a wait would be seen at its end
        pass
    if found[1] is not None:
        raise found[1]
    return found[0]


def take_text(function: Any, *arguments: Any) -> str:
    """The text that function(ctx, *arguments, &text) makes."""
    out = ffi.new("char **")
    call(function, *arguments, out)
    try:
        return words(out[0])
    finally:
        lib.far_text_free(context(), out[0])


# ---- matrices ----


def as_numpy(x: Any) -> np.ndarray:
    """Any array as NumPy's, in place where that can be: tensors of PyTorch and JAX, DLPack too. Masked
    values are missing: NaN."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, np.ma.MaskedArray):
        return np.ma.filled(x.astype(np.float64), np.nan) if np.any(x.mask) else x.data
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise errors.ArgError(f"a {type(x).__name__} is sparse; toarray() makes it dense")
    if not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, ValueError) as error:
            kind = type(x).__name__
            raise errors.ArgError(f"the {kind} cannot be read: {error}; copy it to the CPU") from None
    return np.asarray(x)


def array(x: Any, name: str = "x") -> np.ndarray:
    """x as a float matrix whose rows lie packed: itself, unless it has to be converted or copied."""
    x = as_numpy(x)
    flags = x.flags
    if x.ndim == 2 and x.dtype in _dtypes and flags.c_contiguous and flags.aligned:
        return x
    if x.dtype not in _dtypes:
        if x.dtype.kind not in "biuf":
            raise errors.ArgError(f"{name} is an array of {x.dtype}, not of numbers")
        x = x.astype(np.float64)
    if x.ndim != 2:
        hint = "; make it a column with reshape(-1, 1)" if x.ndim == 1 else ""
        raise errors.ShapeError(f"{name} has {x.ndim} dimensions, not rows and columns{hint}")
    rows_packed = x.strides[1] == x.itemsize or x.shape[1] <= 1
    stride, rest = divmod(x.strides[0], x.itemsize)
    if not rows_packed or (x.shape[0] > 1 and (rest or stride < x.shape[1])) or not x.flags.aligned:
        x = np.ascontiguousarray(x)
    return x


def same_dtype(first: np.ndarray, *others: np.ndarray | None) -> tuple[Any, ...]:
    """All arrays, in float64 unless all are float32."""
    kind = first.dtype
    for x in others:
        if x is not None and x.dtype != kind:
            break
    else:
        return (first, *others)
    return tuple(None if x is None else x.astype(np.float64, copy=False) for x in (first, *others))


def view(x: np.ndarray | None) -> Any:
    """A far_mat over an array of array(); NULL for None. The array must be kept."""
    if x is None:
        return ffi.NULL
    rows, cols = x.shape
    step = x.strides[0] // x.itemsize
    where = ffi.cast(_POINTER, x.__array_interface__["data"][0])
    return ffi.new(_MAT, (where, rows, cols, step if step > cols else cols, _dtypes[x.dtype], 0))


def copy(mat: Any) -> Any:
    """A far_mat as an array of its own; None if it has no rows."""
    if not mat.data or mat.rows == 0:
        return None
    kind = np.float64 if mat.dtype == lib.FAR_F64 else np.float32
    size = ((mat.rows - 1) * mat.ld + mat.cols) * np.dtype(kind).itemsize
    flat = np.frombuffer(ffi.buffer(mat.data, size), kind)
    strides = (mat.ld * flat.itemsize, flat.itemsize)
    return np.lib.stride_tricks.as_strided(flat, (mat.rows, mat.cols), strides).copy()


# ---- options ----


def _enumerator(kind: Any, name: str, value: Any) -> int:
    names = {element: number for number, element in sorted(kind.elements.items())}
    if not isinstance(value, str):
        raise errors.ArgError(f"{name} is a word, not {value!r}")
    for element, number in names.items():
        if element.endswith("_" + value.upper()):
            return number
    known = ", ".join(element.split("_", 2)[-1].lower() for element in names)
    raise errors.ArgError(f"{name} is one of {known}, not {value!r}")


def as_text(name: str, value: Any) -> str:
    """A text, or a path as one."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if not isinstance(value, str):
        raise errors.ArgError(f"{name} is a text, not {value!r}")
    return value


# What a struct of options points to lives as long as the struct, whoever holds that.
_kept_by: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


class Options:
    """A struct of options by the names of its fields. None leaves a default; enumerators are the
    ends of their names in lower case: kernel="nngp" is FAR_KERNEL_NNGP. The pointer alone keeps all
    that it points to."""

    def __init__(self, struct: str, **values: Any) -> None:
        self.pointer = ffi.new(struct + " *")
        self._kept: list[Any] = []
        _kept_by[self.pointer] = self._kept
        init = getattr(lib, struct + "_init", None)
        if init:
            init(self.pointer)
        else:
            self.pointer.size = ffi.sizeof(struct)
        self._kinds = {name: field.type for name, field in ffi.typeof(struct).fields}
        for name, value in values.items():
            if value is not None:
                self._set(name, value)

    def keep(self, *values: Any) -> None:
        """Values that the struct points to, for as long as it lives."""
        self._kept += values

    def _set(self, name: str, value: Any) -> None:
        kind = self._kinds.get(name)
        if kind is None or name == "size":
            known = ", ".join(sorted(set(self._kinds) - {"size"}))
            raise errors.ArgError(f"there is no option {name}; there are {known}")
        if kind.kind == "enum":
            value = _enumerator(kind, name, value)
        elif kind.cname == "char *" or kind.cname == "char const *":
            value = c_text(as_text(name, value))
            self._kept.append(value)
        try:
            setattr(self.pointer, name, value)
        except (TypeError, OverflowError) as error:
            if name == "memory":
                raise errors.ArgError(f"memory is a number of bytes, as 8e9, not {value!r}") from None
            raise errors.ArgError(f"{name}: {error}") from None
