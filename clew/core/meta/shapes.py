"""What an operation gives on the meta device: shapes, dtypes and strides, without the work.

There is no second definition of any operation. Small results are computed, from zeros, and thrown
away. For large ones the operation runs on stand-ins: every length is replaced by a small number
that stands for it, in arrays that lie in memory alike. A length of the result that is such a
number stands for the same length. Two runs with different numbers must agree on that; if they do
not, or if lengths are known to be computed from others, as those of images are, only the first two
dimensions (samples and channels) are replaced, and at last none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.elementwise import Elementwise
from clew.core.meta import memory as meta_memory
from clew.core.op import Op
from clew.core.tensor import Tensor, wrap

# How an operation's result is found otherwise, by name: a function of the operation, its inputs
# and parameters that gives arrays of the meta device.
Rule = Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]
RULES: dict[str, Rule] = {}
# The same for operations over many elements only.
LARGE: dict[str, Rule] = {}

# Operations over fewer elements than this are run.
_FEW = 1 << 15
# Lengths up to this one stand for themselves: kernel sizes, coordinates, channels of images.
_SHORT = 8
_FIRST_NUMBERS = (11, 13, 17, 19, 23, 29)
_OTHER_NUMBERS = (31, 14, 22, 12, 27, 18)

# Lengths of their results are computed from lengths of their inputs; the first two are not.
_WINDOWED = (
    "convolution", "avg_pool", "max_pool", "_adaptive", "adaptive", "fractional", "max_unpool",
    "im2col", "col2im", "upsample", "constant_pad", "reflection", "replication", "circular",
    "grid_", "affine_grid", "pixel_", "unfold", "_fft", "diag", "slice", "select", "as_strided",
)  # fmt: skip

Standing = dict[int, int]


def without_elements(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The arrays of an operation's result, without elements."""
    rule = RULES.get(op.name)
    if rule is not None:
        return rule(op, inputs, params)
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    if sum([each._array.size for each in tensors]) >= _FEW and _has_no_arrays(params):
        if op.name in LARGE:
            return LARGE[op.name](op, inputs, params)
        for depth in (2,) if op.name.startswith(_WINDOWED) else (None, 2):
            found = _by_stand_ins(op, inputs, params, depth)
            if found is not None:
                return found
    return _dropped(op.compute(inputs, params))


def _dropped(result: Any) -> Any:
    if type(result) is tuple or type(result) is list:
        return tuple([meta_memory.like(np.asarray(each)) for each in result])
    return meta_memory.like(np.asarray(result))


def _has_no_arrays(params: dict[str, Any]) -> bool:
    return not any(isinstance(value, (np.ndarray, Tensor)) for value in params.values())


def _by_stand_ins(
    op: Op, inputs: tuple[Any, ...], params: dict[str, Any], depth: int | None
) -> Any:
    """The result that two runs on small arrays agree on, or None."""
    lengths = _long_lengths(inputs, depth)
    if not 0 < len(lengths) <= len(_FIRST_NUMBERS):
        return None
    runs = []
    for numbers in (_FIRST_NUMBERS, _OTHER_NUMBERS):
        standing = dict(zip(lengths, numbers, strict=False))
        try:
            result = _run(op, inputs, params, standing, depth)
        except Exception:
            return None  # the whole operation says what is wrong, with the lengths it was given
        runs.append((standing, result))
        if isinstance(op, Elementwise):
            # Every length of the result is one of an input.
            break
    return _agreed(runs)


def _long_lengths(inputs: tuple[Any, ...], depth: int | None) -> list[int]:
    found: dict[int, None] = {}
    for value in inputs:
        if isinstance(value, Tensor):
            found.update(dict.fromkeys(n for n in value._array.shape[:depth] if n > _SHORT))
    return list(found)


def _run(
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    standing: Standing,
    depth: int | None,
) -> list[np.ndarray]:
    small = tuple(
        [wrap(_stand_in(v._array, standing, depth)) if isinstance(v, Tensor) else v for v in inputs]
    )
    # Of images, the sizes of windows are lengths, too, but not of samples and channels.
    given = {
        name: _replaced(value, standing) if depth is None or name == "groups" else value
        for name, value in params.items()
    }
    result = op.compute(small, given)
    is_many = type(result) is tuple or type(result) is list
    return [np.asarray(each) for each in (result if is_many else [result])]


def _stand_in(array: np.ndarray, standing: Standing, depth: int | None) -> np.ndarray:
    shape = [
        standing.get(n, n) if depth is None or dim < depth else n
        for dim, n in enumerate(array.shape)
    ]
    strides = meta_memory.resized(array, shape)
    items = 1 + sum(
        [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    ) // array.itemsize  # fmt: skip
    memory = np.zeros(max(items, 1), array.dtype)
    return np.ndarray(tuple(shape), array.dtype, memory, 0, strides)


def _replaced(value: Any, standing: Standing) -> Any:
    """A parameter, with lengths in it replaced as those of the inputs are."""
    if type(value) is int:
        return standing.get(value, value)
    if type(value) in (tuple, list):
        return type(value)([_replaced(each, standing) for each in value])
    return value


def _agreed(runs: Sequence[tuple[Standing, list[np.ndarray]]]) -> Any:
    shapes = [[_restored(each.shape, standing) for each in arrays] for standing, arrays in runs]
    if None in shapes[0] or any(each != shapes[0] for each in shapes):
        return None
    found = []
    for array, shape in zip(runs[0][1], shapes[0], strict=True):
        assert shape is not None
        found.append(meta_memory.empty(shape, array.dtype, meta_memory.resized(array, shape)))
    return found[0] if len(found) == 1 else tuple(found)


def _restored(shape: tuple[int, ...], standing: Standing) -> tuple[int, ...] | None:
    """What the lengths of a result stand for; None where one stands for nothing."""
    lengths = {number: length for length, number in standing.items()}
    if any(n > _SHORT and n not in lengths for n in shape):
        return None
    return tuple([lengths.get(n, n) for n in shape])


# -- rules that many operations share --------------------------------------------------------------


def as_first(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
    """The result has the shape, dtype and order in memory of the first input."""
    array = inputs[0]._array
    if array.flags.c_contiguous:
        return meta_memory.empty(array.shape, array.dtype)
    return meta_memory.empty(array.shape, array.dtype, meta_memory.resized(array, array.shape))


def refuse(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The shape of the result depends on the elements."""
    raise needs_elements(op.name)


def needs_elements(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but its result depends "
        "on elements, which tensors of the meta device do not have" + errors.at_user_line()
    )


def joined(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
    """`cat`: the dtype and the order in memory of the parts, one length added up."""
    parts = [value._array for value in inputs if value._array.shape != (0,)]
    dim = params["dim"] % parts[0].ndim
    lengths = {each.shape[:dim] + each.shape[dim + 1 :] for each in parts}
    if len(lengths) > 1:
        op.compute(inputs, params)  # it says what is wrong
    small = [wrap(_stand_in(each, dict.fromkeys(each.shape, 2), None)) for each in parts]
    result = np.asarray(op.compute(tuple(small), params))
    shape = list(parts[0].shape)
    shape[dim] = sum([each.shape[dim] for each in parts])
    return meta_memory.empty(shape, result.dtype, meta_memory.resized(result, shape))
