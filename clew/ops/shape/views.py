"""Views that keep every element: other shapes, expansion.

The forward maps an ndarray to an ndarray over the same memory; the gradient is another view.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.layout import contiguous_format
from clew.core.mirror import CONJ, bits_of
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import Tensor
from clew.core.view_op import ViewOp
from clew.kernels.numpy.strides import reshaped, restride
from clew.ops.define.dims import infer_shape, shape_argument, wrap_dim
from clew.ops.tensor.copying import CLONE
from clew.overloads import no_overload

Shape = tuple[int, ...]


def _viewed(self: np.ndarray, *, shape: Shape) -> np.ndarray:
    try:
        return reshaped(self, shape)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            + errors.at_user_line()
        ) from None


VIEW = ViewOp(
    "view", _viewed, grads={"self": lambda g, self_shape: g.reshape(self_shape)}, linear=True,
    bare=True,
)  # fmt: skip
# What `reshape` makes of memory with gaps, where a view is possible.
RESHAPE_ALIAS = ViewOp("_reshape_alias", _viewed, grads=VIEW.grads, linear=True, bare=True)
RESHAPE_ALIAS.name = VIEW.name
ALIAS = ViewOp(
    "alias", lambda self: self.view(), grads={"self": lambda g: g}, linear=True, bare=True
)


def same_elements(array: np.ndarray, shape: Shape, strides: Shape) -> np.ndarray:
    """A view that reaches the same elements, so that a buffer without gaps holds all of it."""
    if array.flags.c_contiguous:
        return np.ndarray(shape, array.dtype, array, 0, strides)
    return restride(array, shape, strides)


def _expanded(self: np.ndarray, *, shape: Shape) -> np.ndarray:
    extra = len(shape) - self.ndim
    strides = [0] * extra
    for stride, size, wanted in zip(self.strides, self.shape, shape[extra:], strict=True):
        strides.append(stride if size == wanted else 0)
    # New dimensions of size 1 are no repetition: they reach over all that is behind them.
    for dim in range(extra - 1, -1, -1) if self.ndim else ():
        if shape[dim] == 1:
            strides[dim] = shape[dim + 1] * strides[dim + 1]
    return same_elements(self, shape, tuple(strides))


EXPAND = ViewOp("expand", _expanded, grads={"self": lambda g: g}, linear=True, bare=True)
VIEW_DTYPE = ViewOp(
    "view_dtype",
    lambda self, *, dtype: self.view(dtype),
    non_differentiable="reinterprets the bits of the elements",
)


def _reshaped(self: np.ndarray, *, shape: Shape) -> np.ndarray:
    try:
        return reshaped(self, shape)
    except ValueError:
        return self.reshape(shape)


UNSAFE_RESHAPE = Op(
    "_unsafe_view",
    _reshaped,
    grads={"self": lambda g, self_shape: g.reshape(self_shape)},
    node="UnsafeViewBackward0",
    linear=True,
    bare=True,
)


# -- other shapes --------------------------------------------------------------------------


# Counts of elements are 64-bit integers.
_MOST_ELEMENTS = (1 << 63) - 1
_FORMS_OF_VIEW = "one of:\n * (torch.dtype dtype)\n * (tuple of ints size)"


@public(function=False)
def view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same elements in another shape, or the same bits as another dtype, without a copy.

    Raises where the strides do not allow a view; `reshape` copies then.

    Args:
        shape: the new sizes, as arguments or one tuple (one may be -1: what is left); or a dtype
        size: the new sizes, by name
        dtype: the new dtype, by name

    Example:
        >>> x = clew.arange(6)
        >>> x.view(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
        >>> clew.tensor([1.0]).view(clew.int32)
        tensor([1065353216], dtype=torch.int32)
    """
    if dtype is None and size is None:
        part = _read_by_numpy(self._array, shape)
        if part is not None:
            return VIEW.share(self, {"shape": part.shape}, part)
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], (dtypes.dtype, type))):
        if len(shape) == (dtype is None) and size is None:
            return _view_as_dtype(self, dtypes.of_python(shape[0] if dtype is None else dtype))
        raise no_overload("view", shape, _FORMS_OF_VIEW)
    if not shape and size is None:
        raise no_overload("view", shape, _FORMS_OF_VIEW)
    return VIEW(self, shape=infer_shape(shape_argument(shape, size), self._array.size))


def _read_by_numpy(array: np.ndarray, args: tuple[Any, ...]) -> np.ndarray | None:
    """The short way to a view of another shape; None when there is more to say about the shape."""
    shape = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    try:
        part = reshaped(array, shape)
    except (ValueError, TypeError):
        return None
    # NumPy takes any negative number for an unknown size, but only one.
    return part if (part.shape == shape and args) or -1 in shape else None


def _view_as_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    have, array = self.dtype, self._array
    bits = bits_of(array)
    if bits:
        what = "conjugate view tensors" if bits & CONJ else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {what} when converting to a different dtype."
            + errors.at_user_line()
        )
    if dtype.itemsize != have.itemsize:
        what = f"to view {have.scalar_name} as {dtype.scalar_name} (different element sizes)"
        if not array.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {what}" + errors.at_user_line())
        _check_strides_for(self, max(dtype.itemsize // have.itemsize, 1), what)
    # To the same dtype as well: not differentiable, and no view in the sense of autograd.
    result: Tensor = VIEW_DTYPE(self, dtype=dtype.np)
    if result._storage is INFERENCE and not local.state.inference:
        result._storage = Storage()
    return result


def _check_strides_for(self: Tensor, ratio: int, what: str) -> None:
    """Refuse memory in which `ratio` elements are not next to each other everywhere."""
    sizes, strides = self._array.shape, self.stride()
    for name, number in (("size(-1)", sizes[-1]), ("storage_offset()", self.storage_offset())):
        if number % ratio:
            raise RuntimeError(
                f"self.{name} must be divisible by {ratio} {what}, but got {number}"
                + errors.at_user_line()
            )
    if strides[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 {what}, but got {strides[-1]}" + errors.at_user_line()
        )
    for dim, stride in enumerate(strides[:-1]):
        if stride % ratio:
            raise RuntimeError(
                f"self.stride({dim}) must be divisible by {ratio} {what}, but got {stride}"
                + errors.at_user_line()
            )


@public(function=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor, without a copy.

    Args:
        other: the tensor with the wanted shape

    Example:
        >>> clew.arange(4).view_as(clew.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return view(self, _shape_of("view_as", other))


def _shape_of(function: str, other: Tensor) -> Shape:
    if not isinstance(other, Tensor):
        raise errors.wrong_argument(function, "other", 1, "Tensor", other)
    return other._array.shape


@public(out=False)
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape: a view where possible, else a copy.

    Args:
        input: any tensor
        shape: the new sizes; one of them may be -1: what is left

    Example:
        >>> clew.reshape(clew.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    array = input._array
    if shape is None:
        part = _read_by_numpy(array, args)
        if part is not None:
            op = VIEW if array.flags.c_contiguous else RESHAPE_ALIAS
            return op.share(input, {"shape": part.shape}, part)
    wanted = infer_shape(shape_argument(args, shape, "reshape", "shape"), array.size)
    if _can_view(array, wanted):
        return (VIEW if array.flags.c_contiguous else RESHAPE_ALIAS)(input, shape=wanted)
    return UNSAFE_RESHAPE(CLONE(input, memory_format=contiguous_format), shape=wanted)


def _can_view(array: np.ndarray, shape: Shape) -> bool:
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


@public(function=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor: a view where possible, else a copy.

    Args:
        other: the tensor with the wanted shape

    Example:
        >>> clew.arange(4).reshape_as(clew.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return reshape(self, _shape_of("reshape_as", other))


@public(out=False)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join the dimensions from `start_dim` to `end_dim` into one.

    Args:
        input: any tensor; a number becomes a vector
        start_dim: the first dimension to join
        end_dim: the last one, inclusive

    Example:
        >>> clew.flatten(clew.zeros(8, 3, 4), start_dim=1).shape
        torch.Size([8, 12])
    """
    shape = input._array.shape
    ndim = len(shape)
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim"
            + errors.at_user_line()
        )
    if not ndim:
        return reshape(input, (1,))
    if start == end:
        return input
    joined = 1
    for n in shape[start : end + 1]:
        joined *= n
    return reshape(input, shape[:start] + (joined,) + shape[end + 1 :])


@public(out=False)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Split one dimension into several.

    Args:
        input: at least one dimension
        dim: the dimension to split
        sizes: the sizes that it splits into; one of them may be -1: what is left

    Example:
        >>> clew.unflatten(clew.zeros(8, 12), 1, (3, -1)).shape
        torch.Size([8, 3, 4])
    """
    shape = input._array.shape
    dim = wrap_dim(dim, len(shape))
    sizes = shape_argument((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty" + errors.at_user_line())
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error:\nDimension specified as "
            f"{dim} but tensor has no dimensions" + errors.at_user_line()
        )
    if sizes.count(-1) > 1:
        raise RuntimeError(
            "unflatten got an unexpected error:\nonly one dimension can be inferred"
            + errors.at_user_line()
        )
    known = 1
    for n in sizes:
        known *= abs(n) if n == -1 else n
    if -1 in sizes and not known and not shape[dim]:
        raise RuntimeError(
            "unflatten got an unexpected error:\ncannot reshape tensor of 0 elements into shape "
            f"{errors.shape_list(sizes)} because the unspecified dimension size -1 can be any "
            "value and is ambiguous" + errors.at_user_line()
        )
    if sizes.count(-1) == 1 and known and shape[dim] % known == 0:
        sizes = infer_shape(sizes, shape[dim])
    elif -1 in sizes or known != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {errors.shape_list(sizes)} don't multiply up to the size "
            f"of dim {dim} ({shape[dim]}) in the input tensor" + errors.at_user_line()
        )
    return view(input, shape[:dim] + sizes + shape[dim + 1 :])


@public(out=False)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view where possible, else a copy.

    Args:
        input: any tensor

    Example:
        >>> clew.ravel(clew.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    return view(input.contiguous(), (-1,))


# -- expansion -----------------------------------------------------------------------------


@public(function=False)
def expand(self: Tensor, *args: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """A view that repeats dimensions of size 1 (and new leading ones) without a copy.

    Several elements of the view are one in memory: clone it before writing to it.

    Args:
        size: the new sizes, as arguments or one tuple; -1 keeps a size
        implicit: ignored

    Example:
        >>> clew.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    shape = expanded_shape(self, shape_argument(args, size, "expand", "size"))
    return EXPAND.share(self, {"shape": shape}, _expanded(self._array, shape=shape))


def expanded(g: Any, shape: Shape) -> Any:
    """`g.expand(shape)` for a shape that is known to fit; of tensors or bare arrays."""
    return _expanded(g, shape=shape) if type(g) is np.ndarray else g.expand(shape)


def _type_name(dtype: dtypes.dtype) -> str:
    """What PyTorch calls the type of a tensor here: only older dtypes have a type in Python."""
    name = dtype.scalar_name
    return f"CPU{name}Type" if name in _WITHOUT_TYPE else f"torch.{name}Tensor"


_WITHOUT_TYPE = frozenset({"Bool", "BFloat16", "ComplexFloat", "ComplexDouble", "ComplexHalf"})


def expanded_shape(self: Tensor, wanted: Shape) -> Shape:
    """The shape that `expand` gives, or the error that PyTorch raises."""
    have = self._array.shape
    extra = len(wanted) - len(have)
    if extra < 0:
        raise RuntimeError(
            f"expand({_type_name(self.dtype)}{{{errors.shape_list(have)}}}, "
            f"size={errors.shape_list(wanted)}): the number of sizes provided ({len(wanted)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(have)})"
            + errors.at_user_line()
        )
    sizes = []
    # From the last dimension on: of several that do not fit, PyTorch names that one.
    for index in reversed(range(len(wanted))):
        n = wanted[index]
        old = have[index - extra] if index >= extra else 1
        if n == -1 and index >= extra:
            n = old
        elif n == -1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing "
                f"dimension {index}" + errors.at_user_line()
            )
        elif n < 0 or (old != 1 and n != old):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                f"non-singleton dimension {index}.  Target sizes: {errors.shape_list(wanted)}.  "
                f"Tensor sizes: {errors.shape_list(have)}" + errors.at_user_line()
            )
        sizes.append(n)
    if math.prod(sizes) > _MOST_ELEMENTS:
        raise RuntimeError("numel: integer multiplication overflow" + errors.at_user_line())
    return tuple(reversed(sizes))


@public(function=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to the shape of another tensor, without a copy.

    Args:
        other: the tensor with the wanted shape

    Example:
        >>> clew.tensor([[1], [2]]).expand_as(clew.zeros(2, 3))
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return expand(self, _shape_of("expand_as", other))
