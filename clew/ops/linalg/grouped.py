"""grouped_mm: products of matrices, group by group, where groups are of different sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import widened

Array = np.ndarray
Ends = tuple[int, ...]
_TAKES = (dtypes.float32, dtypes.bfloat16, dtypes.float16)


def _groups(ends: Ends) -> Iterator[tuple[int, slice]]:
    """The number of each group, and where it lies."""
    for number, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
        yield number, slice(start, end)


def _grouped(self: Array, mat2: Array, *, ends: Ends | None) -> Array:
    a, b = widened(self), widened(mat2)
    if ends is None:
        return np.matmul(a, b).astype(self.dtype, copy=False)
    rows, columns = a.shape[-2], b.shape[-1]
    if a.ndim == b.ndim == 2:
        out = np.zeros((len(ends), rows, columns), a.dtype)
        for number, part in _groups(ends):
            out[number] = a[:, part] @ b[part]
    else:
        # What no group has stays 0.
        out = np.zeros((rows, columns), a.dtype)
        for number, part in _groups(ends):
            if a.ndim == 2:
                out[part] = a[part] @ b[number]
            else:
                out[:, part] = a[number] @ b[:, part]
    return out.astype(self.dtype, copy=False)


GROUPED_MM: Op = Op(
    "_grouped_mm", _grouped, node="GroupedMmBackward0", multilinear=True,
    grads={
        "self": lambda g, mat2, ends: GROUPED_MM(g, mat2.mT, ends=ends),
        "mat2": lambda g, self, ends: GROUPED_MM(self.mT, g, ends=ends),
    },
)  # fmt: skip


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Products of matrices, group by group: the experts of a mixture, each with its own tokens.

    Args:
        mat_a: (groups, M, K), or (M, K) whose rows, or columns beside a 2-D `mat_b`, are cut up
        mat_b: (groups, K, N), or (K, N) whose columns, or rows beside a 2-D `mat_a`, are cut up
        offs: where each group ends, of int32, if a matrix has no dimension of groups
        bias: must be None, as in PyTorch
        out_dtype: must be the dtype of `mat_a`, as in PyTorch

    Example:
        >>> tokens, experts = clew.ones(3, 2), clew.stack([clew.eye(2), 2 * clew.eye(2)])
        >>> F.grouped_mm(tokens, experts, offs=clew.tensor([1, 3], dtype=clew.int32))
        tensor([[1., 1.],
                [2., 2.],
                [2., 2.]])
    """
    for name, value in (("mat_a", mat_a), ("mat_b", mat_b)):
        if not isinstance(value, Tensor):
            raise errors.wrong_argument("_grouped_mm", name, None, "Tensor", value)
        if value.dtype not in _TAKES:
            raise _failure(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got "
                f"{value.dtype.scalar_name}"
            )
    if offs is not None and not isinstance(offs, Tensor):
        raise errors.wrong_argument("_grouped_mm", "offs", None, "Tensor", offs)
    _check_shapes(mat_a, mat_b, offs)
    if bias is not None:
        raise _failure("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise _failure("Grouped gemm output dtype must match `mat_a` dtype")
    ends = None if offs is None else _ends(mat_a, mat_b, offs)
    result: Tensor = GROUPED_MM(mat_a, mat_b, ends=ends)
    return result


def _check_shapes(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> None:
    for name, value in (("mat_a", mat_a), ("mat_b", mat_b)):
        if value._array.ndim not in (2, 3):
            raise _failure(f"{name} has to be 2 or 3d")
    a, b = mat_a._array, mat_b._array
    if a.shape[-1] != b.shape[-2]:
        raise _failure("contraction dimension of mat_a and mat_b must match")
    if mat_a.dtype is not mat_b.dtype:
        raise _failure("Expected mat_a and mat_b to have the same dtype")
    if (offs is not None) != (2 in (a.ndim, b.ndim)):
        raise _failure(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is None:
        if len(a) != len(b):
            raise _failure("batched dimension has to match")
        return
    if offs._array.ndim != 1:
        raise _failure("offs has to be 1D")
    if offs.dtype is not dtypes.int32:
        raise _failure("Offsets have to be int32")
    groups = {len(each) for each in (a, b) if each.ndim == 3}
    if groups and groups != {len(offs._array)}:
        raise _failure("matrix batch sizes have to match")


def _ends(mat_a: Tensor, mat_b: Tensor, offs: Tensor) -> Ends:
    """Where groups end; PyTorch reads past the matrix where these do not rise, or go too far."""
    a, b = mat_a._array, mat_b._array
    length = b.shape[-1] if a.ndim == 3 else a.shape[0] if b.ndim == 3 else a.shape[1]
    ends: Ends = tuple(offs.tolist())
    if any(not start <= end <= length for start, end in zip((0, *ends), ends, strict=False)):
        raise _failure(f"offs must rise from 0 to at most {length}, got {list(ends)}")
    return ends


def _failure(words: Any) -> RuntimeError:
    return RuntimeError(words + errors.at_user_line())
