"""What matrix products refuse, in PyTorch's words: shapes and dtypes that do not fit."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.tensor import Tensor

Array = np.ndarray


def refuse_bool(torch_kernel: str, *arrays: Array) -> None:
    """Products need sums, and PyTorch has none for bools; two empty factors need none."""
    if arrays[0].dtype.kind == "b" and (len(arrays) == 1 or all(each.size for each in arrays)):
        raise NotImplementedError(
            f"\"{torch_kernel}\" not implemented for 'Bool'\n  Convert first: x.float()"
            + errors.at_user_line()
        )


def require_matrix(name: str, tensor: Tensor) -> None:
    if tensor._array.ndim != 2:
        raise RuntimeError(
            f"{name} must be a matrix\n  It has shape {errors.shape_list(tensor._array.shape)}"
            + errors.at_user_line()
        )


def check_matrices(a: Tensor, b: Tensor) -> None:
    """Refuse matrices whose shapes do not fit each other."""
    rows, columns = a._array.shape, b._array.shape
    if rows[1] != columns[0]:
        fits = (
            "\n  The second one fits when transposed: b.T" if rows[1] == columns[1]
            else "\n  The first one fits when transposed: a.T" if rows[0] == columns[0]
            else ""
        )  # fmt: skip
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows[0]}x{rows[1]} and "
            f"{columns[0]}x{columns[1]})\n  The number of columns of the first ({rows[1]}) must "
            f"be the number of rows of the second ({columns[0]})." + fits + errors.at_user_line()
        )


def require_same_dtype(a: Tensor, b: Tensor) -> None:
    if a._array.dtype is not b._array.dtype and a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype.c_name} != "
            f"{b.dtype.c_name}\n  Products do not convert: write x.to(y.dtype)"
            + errors.at_user_line()
        )


def check_batches(a: Tensor, b: Tensor) -> None:
    """Refuse batches whose matrices do not fit each other."""
    first, second = a._array.shape, b._array.shape
    if first[0] != second[0] or first[2] != second[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{first[0]}, {first[2]}] but got: [{second[0]}, {second[1]}]." + errors.at_user_line()
        )


def require_batch(name: str, tensor: Tensor) -> None:
    if tensor._array.ndim != 3:
        raise RuntimeError(f"{name} must be a 3D tensor" + errors.at_user_line())


def require_same_scalar_type(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}\n"
            "  Products do not convert: write x.to(y.dtype)" + errors.at_user_line()
        )


def check_vectors(a: Tensor, b: Tensor) -> None:
    """Refuse what is not two vectors of one length and dtype."""
    first, second = a._array, b._array
    if first.ndim != 1 or second.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {first.ndim}D and {second.ndim}D tensors"
            + errors.at_user_line()
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{a.dtype.scalar_name} and {b.dtype.scalar_name}" + errors.at_user_line()
        )
    if first.size != second.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{first.size}] and src [{second.size}] to "
            f"have the same number of elements, but got {first.size} and {second.size} elements "
            "respectively" + errors.at_user_line()
        )


def check_mv(added: tuple[int, ...], matrix: Tensor, vector: Tensor) -> None:
    """Refuse a matrix and a vector that do not fit each other and what they are added to."""
    mat, vec = matrix._array.shape, vector._array.shape
    if len(mat) != 2 or len(vec) != 1 or len(added) > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(added)}, {len(mat)}, {len(vec)}"
            + errors.at_user_line()
        )
    size = added[0] if added else 1
    if mat[1] != vec[0] or size not in (mat[0], 1):
        raise RuntimeError(
            f"size mismatch, got input ({size}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})"
            + errors.at_user_line()
        )
