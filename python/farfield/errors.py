"""Exceptions, one for each far_status; the text is the library's message. All are `FarfieldError`, and
what Python would raise in its place.

>>> try:
...     farfield.kernel("dense rlu dense")
... except farfield.FarfieldError as error:
...     print(type(error).__name__, error.status, isinstance(error, ValueError))
ParseError FAR_ERR_PARSE True
"""


class FarfieldError(Exception):
    """What the library refused or could not do. `status` is the name of its far_status."""

    status = "FAR_ERR"


class ArgError(FarfieldError, ValueError):
    """An argument is not valid."""

    status = "FAR_ERR_ARG"


class ShapeError(FarfieldError, ValueError):
    """Dimensions do not agree."""

    status = "FAR_ERR_SHAPE"


class OutOfMemoryError(FarfieldError, MemoryError):
    """Out of memory."""

    status = "FAR_ERR_MEMORY"


class ParseError(FarfieldError, ValueError):
    """The text does not parse; the message shows the place."""

    status = "FAR_ERR_PARSE"


class ArchError(FarfieldError, ValueError):
    """The architecture has no such reading, or the network is not one that is known."""

    status = "FAR_ERR_ARCH"


class FileError(FarfieldError, OSError):
    """A file could not be read or written."""

    status = "FAR_ERR_IO"


class FormatError(FarfieldError, ValueError):
    """The content of a file is not valid."""

    status = "FAR_ERR_FORMAT"


class DataError(FarfieldError, ValueError):
    """The data hold a value that is missing, not finite or not known."""

    status = "FAR_ERR_VALUE"


class CancelledError(FarfieldError, RuntimeError):
    """A progress function asked to stop."""

    status = "FAR_ERR_CANCELLED"


class BackendError(FarfieldError, RuntimeError):
    """A computation inside failed."""

    status = "FAR_ERR_BACKEND"


class SingularError(FarfieldError, ValueError):
    """The matrix is singular to working precision."""

    status = "FAR_ERR_SINGULAR"


class BudgetError(FarfieldError, MemoryError):
    """It would take more memory than the budget allows."""

    status = "FAR_ERR_BUDGET"


class RangeError(FarfieldError, OverflowError):
    """A result is too large for its type."""

    status = "FAR_ERR_RANGE"


class ForkError(FarfieldError, RuntimeError):
    """This process was forked from one in which the library had threads, which a fork loses."""


by_status = {kind.status: kind for kind in FarfieldError.__subclasses__()}
