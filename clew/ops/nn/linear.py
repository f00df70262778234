"""Affine maps: linear and bilinear."""

from __future__ import annotations

import math

from clew import errors
from clew.core.casting import LOWER, UNCHANGED, casts
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.public import public, with_out
from clew.core.state import State, local
from clew.core.tensor import Tensor
from clew.kernels.gemm.products import affine
from clew.ops.define.out_checks import input_dtype
from clew.ops.define.rows import require_tensors
from clew.ops.linalg.addmm import ADDMM, addmm, plain_addmm
from clew.ops.linalg.matmul import matmul, mm
from clew.ops.shape.transposing import T


def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`input @ weight.T + bias`.

    Args:
        input: (*, in)
        weight: (out, in), or a vector (in)
        bias: (out)
        out: a tensor to write the result to

    Example:
        >>> weight, bias = clew.tensor([[1.0, 2.0]]), clew.tensor([10.0])
        >>> F.linear(clew.tensor([[3.0, 4.0]]), weight, bias)
        tensor([[21.]])
    """
    if out is not None:
        written: Tensor = with_out(linear, input_dtype())(input, weight, bias, out=out)
        return written
    state = local.state
    autocast = state.autocast
    if autocast is not None:
        result: Tensor = autocast(LOWER, linear, input, weight, bias)
        return result
    are_tensors = isinstance(input, Tensor) and isinstance(weight, Tensor)
    if not are_tensors:
        require_tensors("linear", input=input, weight=weight)
    if bias is not None and not isinstance(bias, Tensor):
        raise errors.wrong_argument("linear", "bias", 3, "Tensor", bias)
    if not state.grad_enabled and state.intercept is None and bias is not None:
        quick = _without_history(state, input, weight, bias)
        if quick is not None:
            return quick
    ndim, weight_ndim = input._array.ndim, weight._array.ndim
    if weight_ndim == 2:
        if ndim == 2:
            transposed = T.share(weight, NO_PARAMS, weight._array.T)
            if bias is None:
                return mm(input, transposed)
            quick = plain_addmm(bias, input, transposed)
            return addmm(bias, input, transposed) if quick is None else quick
        if bias is not None and bias._array.ndim == 1 and ndim and input.is_contiguous():
            return _by_rows(input, weight, bias)
    if not ndim or not weight_ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {ndim}D and "
            f"{weight_ndim}D" + errors.at_user_line()
        )
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


def _without_history(state: State, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """The short path where nothing is recorded: no views; None where there is more to look at."""
    rows, matrix, added = input._array, weight._array, bias._array
    dtype, shape = rows.dtype, rows.shape
    if (
        (dtype is not F32 and dtype is not F64)
        or matrix.dtype is not dtype
        or added.dtype is not dtype
        or matrix.ndim != 2
        or not shape
        or shape[-1] != matrix.shape[1]
        or added.shape != matrix.shape[:1]
    ):
        return None
    if len(shape) != 2:
        rows = rows.reshape(math.prod(shape[:-1]), shape[-1])
    product = affine(rows, matrix.T, added)
    if len(shape) != 2:
        product = product.reshape(*shape[:-1], matrix.shape[0])
    return ADDMM.output(state, (bias, input, weight), NO_PARAMS, product)


def _by_rows(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """All leading dimensions at once as the rows of one matrix."""
    shape = input._array.shape
    rows = input.view(math.prod(shape[:-1]), shape[-1])
    out_features = weight._array.shape[0]
    transposed = T.share(weight, NO_PARAMS, weight._array.T)
    quick = plain_addmm(bias, rows, transposed)
    product: Tensor = addmm(bias, rows, transposed) if quick is None else quick
    return product.view(*shape[:-1], out_features)


@public(method=False, out=False)
@casts(UNCHANGED)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for every output feature `k`.

    Args:
        input1: (*, in1)
        input2: (*, in2)
        weight: (out, in1, in2)
        bias: (out)

    Example:
        >>> F.bilinear(clew.ones(5, 2), clew.ones(5, 3), clew.ones(1, 2, 3))[0]
        tensor([6.])
    """
    _check_bilinear(input1, input2, weight, bias)
    *leading, in1 = input1._array.shape
    out_features, _, in2 = weight._array.shape
    rows = input1.reshape(-1, in1)
    # One product with all matrices side by side, then one dot product for each of them.
    half = mm(rows, weight.permute(1, 0, 2).reshape(in1, out_features * in2))
    half = half.view(-1, out_features, in2)
    product = matmul(half, input2.reshape(-1, in2, 1)).view(*leading, out_features)
    return product if bias is None else product + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    first, second, sizes = input1._array.shape, input2._array.shape, weight._array.shape
    if len(first) != len(second):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}"
            + errors.at_user_line()
        )
    for dim, (a, b) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
                + errors.at_user_line()
            )
    for name, have, expected in (("input1", first[-1], sizes[1]), ("input2", second[-1], sizes[2])):
        if have != expected:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {have} but expected "
                f"{expected}" + errors.at_user_line()
            )
    if bias is not None and bias._array.shape[0] != sizes[0]:
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got "
            f"{bias._array.shape[0]} but expected {sizes[0]}" + errors.at_user_line()
        )
    last = "" if bias is None else f", bias: {bias.dtype.c_name}"
    if len({each.dtype for each in (input1, input2, weight, bias) if each is not None}) > 1:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype.c_name}, "
            f"input2: {input2.dtype.c_name}, weight: {weight.dtype.c_name}{last}"
            + errors.at_user_line()
        )
