"""Views with windows and free strides: unfold, as_strided and its scatter.

Elements may occur several times in such views, so gradients are added up.
"""

from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.core.mirror import bits_of, memory_behind, with_bits
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.core.view_op import ViewOp
from clew.kernels import numpy as kernels
from clew.kernels.compiled.copies import copy_into
from clew.kernels.numpy.strides import owner_of, restride
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops.define import vmap_errors
from clew.ops.define.dims import shape_argument, wrap_dim
from clew.ops.tensor.copying import zeros

Shape = tuple[int, ...]
_MOST = (1 << 63) - 1


# -- windows -------------------------------------------------------------------------------


def _unfolded(self: np.ndarray, *, dimension: int, size: int, step: int) -> np.ndarray:
    if not self.ndim:
        return self.reshape(1)[:size]
    shape, strides = list(self.shape), list(self.strides)
    shape[dimension] = (shape[dimension] - size) // step + 1
    strides[dimension] *= step
    return restride(self, [*shape, size], [*strides, self.strides[dimension]])


def _folded(
    grad_output: np.ndarray, *, input_sizes: Shape, dimension: int, size: int, step: int
) -> np.ndarray:
    out = np.zeros(input_sizes, grad_output.dtype)
    if not input_sizes:
        return grad_output.sum(axis=0, dtype=grad_output.dtype) if size else out
    before = (slice(None),) * dimension
    count = grad_output.shape[dimension]
    # One addition for each place in the window: no element is named twice within one. PyTorch adds
    # up the windows that an element is in from the first one, where its place is the last one.
    for place in reversed(range(size)):
        last = place + (count - 1) * step + 1
        out[before + (slice(place, last, step),)] += grad_output[..., place]
    return out


UNFOLD = ViewOp(
    "unfold",
    _unfolded,
    grads={
        "self": lambda g, self_shape, dimension, size, step: UNFOLD_BACKWARD(
            g, input_sizes=self_shape, dimension=dimension, size=size, step=step
        )
    },
    linear=True,
)
UNFOLD_BACKWARD: Op = Op(
    "unfold_backward",
    _folded,
    grads={"grad_output": lambda g, dimension, size, step: g.unfold(dimension, size, step)},
    linear=True,
)


@public(function=False)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements of a dimension, `step` apart, as a new last dimension of a view.

    Args:
        dimension: where the windows lie
        size: how many elements each has
        step: how far the next one begins after the last

    Example:
        >>> clew.arange(5).unfold(0, 3, 1)
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
    """
    shape = self._array.shape
    dimension = wrap_dim(dimension, len(shape))
    n = shape[dimension] if shape else 1
    if size > n:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dimension} is {n} but size is {size}"
            + errors.at_user_line()
        )
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0" + errors.at_user_line())
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0" + errors.at_user_line())
    return UNFOLD(self, dimension=dimension, size=size, step=step)


# -- free strides --------------------------------------------------------------------------


class Geometry(NamedTuple):
    """Where the elements of a tensor lie in its memory, counted in elements."""

    shape: Shape
    strides: Shape
    offset: int

    def positions(self) -> np.ndarray:
        """The place in memory of each element."""
        places: Any = np.full((1,) * len(self.shape), self.offset)
        for dim, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            steps = np.arange(n) * stride
            places = places + steps.reshape((-1,) + (1,) * (len(self.shape) - 1 - dim))
        return np.asarray(places)

    def is_contiguous(self) -> bool:
        """Whether the elements fill a part of memory, each once, in their order."""
        expected = 1
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != expected:
                return False
            expected *= n
        return True

    def is_injective(self) -> bool:
        """Whether strides alone tell that no two elements share memory."""
        reach = 0
        for stride, n in sorted(zip(self.strides, self.shape, strict=True)):
            if n > 1:
                if stride <= reach:
                    return False
                reach += (n - 1) * stride
        return True

    def over(self, memory: np.ndarray) -> np.ndarray:
        """The elements, in the memory."""
        strides = tuple(stride * memory.itemsize for stride in self.strides)
        return restride(memory, self.shape, strides, self.offset * memory.itemsize)

    def read(self, memory: np.ndarray) -> np.ndarray:
        """A copy of the elements."""
        return self.over(memory).copy()

    def last(self) -> int:
        """The last place in memory that is used."""
        if 0 in self.shape:
            return self.offset - 1
        pairs = zip(self.shape, self.strides, strict=True)
        return self.offset + sum((n - 1) * stride for n, stride in pairs)


def geometry_of(array: np.ndarray) -> Geometry:
    """The geometry of an array within the memory that it is a view of."""
    array = memory_behind(array)
    start = address_of(array) - address_of(owner_of(array))
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Geometry(array.shape, strides, start // array.itemsize)


def _placed(self: np.ndarray, *, part: Geometry, whole: Geometry) -> np.ndarray:
    """The view; `whole` is the geometry that `self` had when the view was first made."""
    strides = tuple(stride * self.itemsize for stride in part.strides)
    offset = (part.offset - whole.offset) * self.itemsize
    # A mirror has only what its view shows of the memory behind it.
    return with_bits(restride(memory_behind(self), part.shape, strides, offset), bits_of(self))


def _transferred(
    self: np.ndarray, *, source: Geometry, target: Geometry, owner: Geometry
) -> np.ndarray:
    """Add into memory as `source` lies in it, read it as `target` lies in it.

    Where the elements of `owner` share memory, each gets an equal part.
    """
    size = max(source.last(), target.last(), owner.last()) + 1
    memory = np.zeros(max(size, 0), self.dtype)
    if source.is_injective():
        copy_into(source.over(memory), self)
    else:
        memory = kernels.scatter.add_flat(memory, source.positions(), self)
    if 0 not in owner.shape and not owner.is_contiguous():
        counts = np.bincount(owner.positions().ravel(), minlength=size)
        if counts.max() > 1:
            memory = (memory / np.maximum(counts, 1)).astype(self.dtype)
    return target.read(memory)


AS_STRIDED = ViewOp(
    "as_strided",
    _placed,
    grads={"self": lambda g, part, whole: _of_whole(g, part, whole)},
    linear=True,
)
TRANSFER: Op = Op(
    "as_strided_backward",
    _transferred,
    grads={
        "self": lambda g, source, target, owner: TRANSFER(
            g, source=target, target=source, owner=owner
        )
    },
    linear=True,
    node="AsStridedBackward0",
)


def _of_whole(g: Tensor, part: Geometry, whole: Geometry) -> Tensor:
    if not g._array.size:
        # Without elements there is nothing that the gradient depends on.
        return g.new_zeros(whole.shape)
    result: Tensor = TRANSFER(g, source=part, target=whole, owner=whole)
    return result


def _strided_scattered(
    self: np.ndarray, src: np.ndarray, *, part: Geometry, whole: Geometry
) -> np.ndarray:
    memory = np.zeros(max(part.last(), whole.last()) + 1, self.dtype)
    if whole.is_injective() and part.is_injective():
        copy_into(whole.over(memory), self)
        copy_into(part.over(memory), src)
        is_all = whole.is_contiguous() and memory.size == self.size
        return memory.reshape(self.shape) if is_all else whole.read(memory)
    memory[whole.positions()] = self
    memory[part.positions()] = src
    return memory[whole.positions()]


AS_STRIDED_SCATTER: Op = Op(
    "as_strided_scatter",
    _strided_scattered,
    grads={
        "self": lambda g, part, whole: AS_STRIDED_SCATTER(
            g, zeros(g, part.shape), part=part, whole=whole
        ),
        "src": lambda g, part, whole: TRANSFER(g, source=whole, target=part, owner=whole),
    },
    linear=True,
)


def strided_part(
    name: str, input: Tensor, size: Any, stride: Any, storage_offset: int | None
) -> tuple[Geometry, Geometry]:
    """The geometry that is asked for and the one that the tensor has, checked."""
    for argument, value in (("size", size), ("stride", stride)):
        if not isinstance(value, (tuple, list)):
            place = errors.is_function_call() + ("size", "stride").index(argument) + 1
            raise errors.wrong_argument(name, argument, place, "tuple of ints", value)
    size, stride = shape_argument((size,)), shape_argument((stride,))
    if len(size) != len(stride):
        problem = "mismatch in length of strides and shape"
        if input._is_lifted:
            problem = (
                "Tensor.as_strided(size, stride, ...): size and stride must have the same length! "
                f"Got size {errors.shape_list(size)} and stride {errors.shape_list(stride)}"
            )
        raise RuntimeError(problem + errors.at_user_line())
    if any(step < 0 for step in stride):
        raise RuntimeError(
            f"{name}: Negative strides are not supported at the moment, got strides: "
            f"{errors.shape_list(stride)}" + errors.at_user_line()
        )
    whole = geometry_of(input._array)
    offset = whole.offset if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}" + errors.at_user_line())
    part = Geometry(size, stride, offset)
    if (part.last() + 1) * input._array.itemsize > _MOST:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={errors.shape_list(size)} and "
            f"strides={errors.shape_list(stride)}" + errors.at_user_line()
        )
    itemsize = input._array.itemsize
    available = owner_of(memory_behind(input._array)).nbytes // itemsize
    if 0 not in size and part.last() >= available:
        if input._is_lifted:
            raise vmap_errors.outside_of_example(part, whole)
        raise RuntimeError(
            f"setStorage: sizes {errors.shape_list(size)}, strides {errors.shape_list(stride)}, "
            f"storage offset {offset}, and itemsize {itemsize} requiring a storage size of "
            f"{(part.last() + 1) * itemsize} are out of bounds for storage of size "
            f"{available * itemsize}" + errors.at_user_line()
        )
    return part, whole


@public(out=False)
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view with any size and strides over the tensor's memory.

    Args:
        input: the tensor whose memory is seen
        size: the shape of the view
        stride: for each dimension, how many elements of memory lie between neighbours
        storage_offset: where in memory the view begins; by default where `input` does

    Example:
        >>> clew.as_strided(clew.arange(5), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    part, whole = strided_part("as_strided", input, size, stride, storage_offset)
    return AS_STRIDED(input, part=part, whole=whole)


@public()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy with `src` in the part that `as_strided` would show.

    Args:
        input: what to copy
        src: what to write, of the shape `size`
        size: the shape of the part
        stride: for each dimension, how many elements of memory lie between neighbours
        storage_offset: where in memory the part begins; by default where `input` does

    Example:
        >>> clew.as_strided_scatter(clew.zeros(5), clew.ones(3), (3,), (2,))
        tensor([1., 0., 1., 0., 1.])
    """
    part, whole = strided_part("as_strided_scatter", input, size, stride, storage_offset)
    if src._array.shape != part.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{errors.shape_list(src._array.shape)}, slice size = {errors.shape_list(part.shape)}"
            + errors.at_user_line()
        )
    return AS_STRIDED_SCATTER(input, src, part=part, whole=whole)


@public(function=False, out=False)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value to the diagonal of this tensor; returns it.

    Args:
        fill_value: the number to write
        wrap: let the diagonal start anew below the end of a tall matrix

    Example:
        >>> clew.zeros(2, 3).fill_diagonal_(5.)
        tensor([[5., 0., 0.],
                [0., 5., 0.]])
    """
    shape = self._array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1" + errors.at_user_line())
    if len(shape) > 2:
        if len(set(shape)) > 1:
            raise RuntimeError(
                "all dimensions of input must be of equal length" + errors.at_user_line()
            )
        self.as_strided(shape[:1], (sum(self.stride()),)).fill_(fill_value)
        return self
    rows, columns = shape
    # One row stays free between the end of a diagonal and the start of the next.
    starts = range(0, rows, columns + 1) if wrap else range(1)
    for start in starts:
        self[start:].diagonal().fill_(fill_value)
    return self
