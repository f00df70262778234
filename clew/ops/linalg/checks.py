"""What the functions of linear algebra refuse, in PyTorch's words, and why."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor, every_value, of_values


class LinAlgError(RuntimeError):
    """A computation that failed because of a matrix's values: singular, not positive-definite.

    Example:
        >>> try:
        ...     clew.linalg.inv(clew.zeros(2, 2))
        ... except clew.linalg.LinAlgError as error:
        ...     print(str(error)[:23])
        linalg.inv: The diagona
    """


# The name that PyTorch's tracebacks show.
LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
_LinAlgError = LinAlgError  # where pickles find it


def require_matrices(name: str, a: Tensor, argument: str = "A") -> None:
    if a._array.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions."
            + errors.at_user_line()
        )


def require_square(name: str, a: Tensor) -> None:
    require_matrices(name, a)
    rows, columns = a._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} "
            "matrices" + errors.at_user_line()
        )


def require_batches(name: str, first: Tensor, second: Tensor) -> None:
    """The batches of two stacks of matrices must broadcast; PyTorch names the first as `a`."""
    mismatch = errors.broadcast_mismatch(name, first._array.shape[:-2], second._array.shape[:-2])
    if mismatch is not None:
        raise mismatch


def require_inexact(name: str, a: Tensor) -> None:
    if a.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{a.dtype.scalar_name}\n  Convert first: x.float()" + errors.at_user_line()
        )


def refuse_low_precision(name: str, a: Tensor) -> None:
    if a._array.dtype in dtypes.LOW_PRECISION:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {a.dtype.scalar_name}\n  "
            "Convert first: x.float()" + errors.at_user_line()
        )


def require_kernel(torch_kernel: str, a: Tensor) -> None:
    """LAPACK computes in float32, float64 and their complex twins."""
    if a.dtype.category < dtypes.FLOAT or a._array.dtype in dtypes.LOW_PRECISION:
        raise errors.no_kernel(torch_kernel, a.dtype)


def failed_matrix(info: np.ndarray) -> tuple[str, int]:
    """Words for the first matrix that failed, and its error code."""
    flat = info.reshape(-1)
    first = int(np.flatnonzero(flat)[0])
    words = f"(Batch element {first}): " if info.ndim else ""
    return words, int(flat[first])


def failures(info: Tensor) -> np.ndarray:
    """Which matrices a factorization failed for; that there are some is a decision on values."""
    of_values(lambda values: bool(values.any()), info)
    return every_value(info)


def refuse_singular(name: str, info: np.ndarray) -> None:
    if info.any():
        which, pivot = failed_matrix(info)
        raise LinAlgError(
            f"{name}: {which}The diagonal element {pivot} is zero, the inversion could not be "
            "completed because the input matrix is singular." + errors.at_user_line()
        )


def refuse_unsolvable(name: str, info: np.ndarray) -> None:
    if info.any():
        which, _ = failed_matrix(info)
        raise LinAlgError(
            f"{name}: {which}The solver failed because the input matrix is singular."
            + errors.at_user_line()
        )


def refuse_indefinite(name: str, info: np.ndarray) -> None:
    if info.any():
        which, order = failed_matrix(info)
        raise LinAlgError(
            f"{name}: {which}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {order} is not positive-definite)."
            + errors.at_user_line()
        )


def warn_of_newer(name: str, newer: str) -> None:
    """Warn, once in a process, of a function that has a newer form in `torch.linalg`."""
    errors.warn_once(
        f"torch.{name} is deprecated in favor of torch.linalg.{newer} and will be removed in a "
        "future PyTorch release."
    )
