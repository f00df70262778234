"""Padding: with a constant (negative sizes crop), by reflection, by replication, and circular.

All but the constant one copy elements chosen by one list of positions per axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.kernels.compiled.copies import copy_into
from clew.kernels.numpy.arrays import at
from clew.ops.define.memory_layout import channels_last_order, in_order
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.spatial import (
    Shape,
    failure,
    integers,
    keeps_format,
    require_tensor,
)
from clew.ops.tensor.copying import scalar_as

Array = np.ndarray
Pads = tuple[tuple[int, int], ...]


# -- a constant --------------------------------------------------------------------------------


@keeps_format
def _filled(self: Array, *, pad: Shape, value: Any) -> Array:
    """`pad` lists (before, after) from the last dimension on."""
    ndim, sides = self.ndim, [(0, 0)] * self.ndim
    for axis in range(len(pad) // 2):
        sides[ndim - 1 - axis] = pad[2 * axis], pad[2 * axis + 1]
    shape = tuple(n + low + high for n, (low, high) in zip(self.shape, sides, strict=True))
    source = tuple(
        slice(max(-low, 0), n - max(-high, 0))
        for n, (low, high) in zip(self.shape, sides, strict=True)
    )
    target = tuple(
        slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(shape, sides, strict=True)
    )
    out = np.zeros(shape, self.dtype) if value == 0 else np.full(shape, value, self.dtype)
    out[target] = self[source]
    return out


CONSTANT_PAD: Op = Op(
    "constant_pad_nd", _filled,
    grads={
        "self": lambda g, pad: CONSTANT_PAD(g, pad=tuple(-size for size in pad), value=0)
    },
)  # fmt: skip


@public(checked=True, method=False, out=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: complex | Tensor = 0) -> Tensor:
    """Pad the last dimensions, given from the last on; negative sizes crop."""
    require_tensor("constant_pad_nd", "input", 1, input)
    sizes = integers("constant_pad_nd", "pad", pad)
    shape = input._array.shape
    if len(sizes) % 2:
        raise failure(f"Length of pad must be even but instead it equals {len(sizes)}")
    if len(sizes) > 2 * len(shape):
        raise failure(
            f"Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(sizes)} while the input has {len(shape)} dimensions."
        )
    for axis in range(len(sizes) // 2):
        low, high = sizes[2 * axis : 2 * axis + 2]
        size = shape[len(shape) - 1 - axis]
        if size + min(low, 0) + min(high, 0) < 0:
            raise failure("narrow(): length must be non-negative.")
        if size + low + high < 0:
            raise failure(
                f"The input size {size}, plus negative padding {low} and {high} resulted in a "
                "negative output size, which is invalid."
            )
    number: Any = value.item() if isinstance(value, Tensor) else value
    # As a number: captures follow arrays, and this one comes from nowhere.
    fill = scalar_as(number, input._array.dtype).item()
    result: Tensor = CONSTANT_PAD(input, pad=sizes, value=fill)
    return result


# -- copies of elements ------------------------------------------------------------------------


def _reflected(size: int, low: int, high: int) -> Array:
    positions = np.abs(np.arange(-low, size + high))
    return np.asarray((size - 1) - np.abs((size - 1) - positions))


def _replicated(size: int, low: int, high: int) -> Array:
    return np.clip(np.arange(-low, size + high), 0, size - 1)


def _wrapped(size: int, low: int, high: int) -> Array:
    kept = np.arange(max(-low, 0), size - max(-high, 0))
    return kept[np.arange(-max(low, 0), len(kept) + max(high, 0)) % max(len(kept), 1)]


_POSITIONS = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}


@lru_cache(maxsize=256)
def _table(mode: str, size: int, low: int, high: int) -> kernels.separable.AxisTable:
    chosen = _POSITIONS[mode](size, low, high)[:, None]
    return kernels.separable.AxisTable(chosen, np.ones(chosen.shape), size)


def _tables(mode: str, spatial: Shape, pads: Pads) -> list[kernels.separable.AxisTable]:
    return [_table(mode, n, *pair) for n, pair in zip(spatial, pads, strict=True)]


# Images of so many elements are copied as a whole more quickly than element by element.
_LARGE = 1 << 16


def _copied(self: Array, *, mode: str, pads: Pads) -> Array:
    is_whole = len(pads) == 1 or (len(pads) == 2 and self.size >= _LARGE)
    if is_whole and min(map(min, pads)) >= 0:
        result = _extended(self, mode, pads)
    else:
        result = kernels.separable.apply_tables(self, _tables(mode, self.shape[-len(pads) :], pads))
    return result if mode == "circular" else in_order(result, channels_last_order(self))


def _extended(self: Array, mode: str, pads: Pads) -> Array:
    """The array in the middle of a larger one, then its borders, the last axis first."""
    spatial = self.shape[-len(pads) :]
    lengths = [low + n + high for n, (low, high) in zip(spatial, pads, strict=True)]
    out = np.empty((*self.shape[: -len(pads)], *lengths), self.dtype)
    part = out[at(..., *(slice(low, low + n) for n, (low, _) in zip(spatial, pads, strict=True)))]
    copy_into(part, self)
    # NumPy copies a bfloat16 by a call for each element.
    whole = out.view(np.uint16) if out.itemsize == 2 else out
    for axis in range(len(pads) - 1, -1, -1):
        # All of the axes that are complete, and the middle of those that come first.
        inner = [slice(low, low + n) for n, (low, _) in zip(spatial[:axis], pads, strict=False)]
        along = whole[at(..., *inner, *[slice(None)] * (len(pads) - axis))]
        _fill_borders(np.moveaxis(along, axis - len(pads), 0), mode, spatial[axis], *pads[axis])
    return out


def _fill_borders(along: Array, mode: str, size: int, low: int, high: int) -> None:
    middle = along[low : low + size]
    if mode == "reflect":
        along[:low] = middle[1 : low + 1][::-1]
        along[low + size :] = middle[size - 1 - high : size - 1][::-1]
    elif mode == "replicate":
        along[:low] = middle[:1]
        along[low + size :] = middle[-1:]
    else:
        along[:low] = middle[size - low :]
        along[low + size :] = middle[:high]


def _added(
    grad_output: Array, *, mode: str, pads: Pads, spatial: Shape,
    order: tuple[int, ...] | None = None,
) -> Array:  # fmt: skip
    tables = _tables(mode, spatial, pads)
    if grad_output.dtype in dtypes.HALVES:
        if mode != "circular":
            return in_order(kernels.separable.add_in_steps(grad_output, tables), order)
        if min(map(min, pads)) >= 0:
            return _unwrapped(grad_output, pads)
    transposed = [table.transposed for table in tables]
    return in_order(kernels.separable.apply_tables(grad_output, transposed), order)


def _unwrapped(g: Array, pads: Pads) -> Array:
    """The adjoint of circular padding, of halves: rounded after each of its additions."""
    for axis, (low, high) in enumerate(pads, g.ndim - len(pads)):
        along = np.moveaxis(g, axis, 0)
        inner = along[low : len(along) - high].copy()
        inner[:high] += along[len(along) - high :]
        inner[len(inner) - low :] += along[:low]
        g = np.moveaxis(inner, 0, axis)
    return np.ascontiguousarray(g)


def _copying_op(name: str, node: str) -> Op:
    # As in PyTorch the input is saved, although only its shape is used.
    def of_input(g: Tensor, self: Tensor, mode: str, pads: Pads) -> Tensor:
        spatial, order = self._array.shape[-len(pads) :], channels_last_order(self._array)
        return shared(adjoint(g, mode=mode, pads=pads, spatial=spatial, order=order), self)

    # Not where PyTorch copies slices.
    def of_slices(g: Tensor, self_shape: Shape, mode: str, pads: Pads) -> Tensor:
        result: Tensor = adjoint(g, mode=mode, pads=pads, spatial=self_shape[-len(pads) :])
        return result

    formula = of_slices if name.startswith("circular") else of_input
    shared = zero_share(f"{node}BackwardBackward0")
    op = Op(name, _copied, grads={"self": formula}, linear=True, node=f"{node}Backward0")
    adjoint = Op(
        f"{name}_backward", _added, linear=True, node=f"{node}BackwardBackward0",
        grads={"grad_output": lambda g, mode, pads: op(g, mode=mode, pads=pads)},
    )  # fmt: skip
    return op


_NAMES = {"reflect": "reflection", "replicate": "replication", "circular": "circular"}
COPYING = {
    (mode, dims): _copying_op(f"{name}_pad{dims}d", f"{name.title()}Pad{dims}D")
    for mode, name in _NAMES.items()
    for dims in (1, 2, 3)
}


def _check_copying(input: Tensor, mode: str, sizes: Shape) -> None:
    shape, dims = input._array.shape, len(sizes) // 2
    if dims not in (1, 2, 3) or len(shape) not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(sizes)} is not supported for {len(shape)}D input tensor.\n"
            f"  Mode {mode!r} pads the last 1, 2 or 3 dimensions, after channels and batch."
            + errors.at_user_line()
        )
    if mode != "circular" and 0 in shape[-dims - 1 :]:
        raise failure(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {errors.shape_list(shape)}"
        )
    for axis in range(dims):
        low, high = sizes[2 * axis : 2 * axis + 2]
        _check_axis(mode, shape, len(shape) - 1 - axis, low, high, argument=4 + 2 * axis)
    if mode != "circular" and input.dtype is dtypes.bool_:
        raise errors.no_kernel(f"{_NAMES[mode]}_pad{dims}d", input.dtype)


def _check_axis(mode: str, shape: Shape, dim: int, low: int, high: int, argument: int) -> None:
    size = shape[dim]
    if mode == "circular" and max(low, high) > size:
        raise failure("Padding value causes wrapping around more than once.")
    if mode == "reflect" and max(low, high) >= size:
        raise failure(
            f"Argument #{argument}: Padding size should be less than the corresponding input "
            f"dimension, but got: padding ({low}, {high}) at dimension {dim} of input "
            f"{errors.shape_list(shape)}"
        )
    if size + low + high < 0:
        if mode == "circular":
            raise failure("Negative padding value is resulting in an empty dimension")
        wanted = [*shape[:dim], size + low + high, *shape[dim + 1 :]]
        raise failure(
            f"Trying to create tensor with negative dimension {size + low + high}: "
            f"{errors.shape_list(wanted)}"
        )


def _copying_pad(input: Tensor, mode: str, pads: tuple[tuple[int, int], ...]) -> Tensor:
    autocast = local.state.autocast
    # PyTorch's list of what runs in float32 leaves out these two.
    if autocast is not None and mode != "circular" and (mode, len(pads)) != ("reflect", 3):
        padded: Tensor = autocast(FLOAT32, _copying_pad, input, mode, pads)
        return padded
    padded = COPYING[mode, len(pads)](input, mode=mode, pads=pads)
    return padded


@typed
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad the last dimensions: `pad` lists (before, after) from the last dimension on.

    Args:
        pad: how much; negative numbers cut off
        mode: "constant", "reflect", "replicate" or "circular"
        value: the constant; None is 0

    Example:
        >>> F.pad(clew.tensor([[1.0, 2.0]]), (1, 0, 0, 1), value=7.0)
        tensor([[7., 1., 2.],
                [7., 7., 7.]])
        >>> F.pad(clew.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
        tensor([[3., 2., 1., 2., 3.]])
    """
    require_tensor("pad", "input", 1, input)
    if not isinstance(pad, Sequence):
        raise TypeError(
            f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}"
            + errors.at_user_line()
        )
    if not isinstance(mode, str):
        raise errors.wrong_argument("pad", "mode", 3, "str", mode)
    sizes = integers("pad", "pad", pad)
    ndim = input._array.ndim
    if len(sizes) % 2:
        raise failure("Padding length must be divisible by 2")
    if len(sizes) > 2 * ndim:
        raise failure(
            f"Padding length should be less than or equal to two times the input dimension but "
            f"got padding length {len(sizes)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, sizes, 0 if value is None else value)
    if mode not in _POSITIONS:
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}\n  Known are constant, {', '.join(_POSITIONS)}."
            + errors.at_user_line()
        )
    if value is not None and value != 0:
        raise failure(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_copying(input, mode, sizes)
    dims = len(sizes) // 2
    pads = tuple((sizes[2 * axis], sizes[2 * axis + 1]) for axis in reversed(range(dims)))
    return _copying_pad(input, mode, pads)
