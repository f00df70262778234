"""The tensor that a function sees inside vmap: one example, with all of them behind it.

Its array has the shape, dtype and strides of one example, so that everything that asks about those
works as always; the values are behind a guard. Beside it are all examples, as a tensor whose first
dimension counts them, and the vmap that it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew import errors
from clew.backend.layout import contiguous_format
from clew.core.interception import inside_vmap
from clew.core.no_history import NoHistory
from clew.core.node import Node
from clew.core.overrides import disabled
from clew.core.tensor import Tensor, _new, wrap
from clew.ops.define import vmap_errors
from clew.ops.shape.joining import stack

if TYPE_CHECKING:
    from clew.ops.batching.level import Batching

_ndarray = np.ndarray

# Functions of NumPy that only ask for shape and dtype, or only look from another side.
_SHAPE_ONLY = frozenset({
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.shape, np.ndim, np.size,
    np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj,
})  # fmt: skip
_VIEWS = frozenset({
    np.broadcast_to, np.expand_dims, np.moveaxis, np.swapaxes, np.transpose, np.squeeze,
    np.may_share_memory, np.shares_memory,
})  # fmt: skip


def _refusal(what: str) -> RuntimeError:
    """Why an operation on values is refused: it looks at them, or its vmap has ended."""
    return vmap_errors.values(f"`{what}`") if inside_vmap() else vmap_errors.escaped(what)


class Example(np.ndarray):
    """The array of a batched tensor: it tells its shape, dtype and strides, not its values."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        raise _refusal(ufunc.__name__)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _VIEWS:
            return super().__array_function__(func, types, args, kwargs)
        if func in _SHAPE_ONLY:
            return func(*map(_without_guard, args), **kwargs)
        raise _refusal(func.__name__)

    def item(self, *args: Any) -> Any:
        raise vmap_errors.item()

    __int__ = __float__ = __complex__ = __index__ = item

    def __bool__(self) -> bool:
        raise vmap_errors.control_flow()


def _without_guard(value: Any) -> Any:
    return value.view(_ndarray) if isinstance(value, Example) else value


def _guarded(name: str) -> Callable[..., Any]:
    def method(self: Example, *args: Any, **kwargs: Any) -> Any:
        raise _refusal(name)

    method.__name__ = method.__qualname__ = name
    return method


for _name in (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose",
    "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "dot", "dump", "dumps",
    "fill", "max", "mean", "min", "nonzero", "partition", "prod", "put", "repeat", "round",
    "searchsorted", "sort", "std", "sum", "take", "tobytes", "tofile", "tolist", "trace", "var",
    "__contains__", "__copy__", "__deepcopy__", "__reduce__", "__setitem__",
):  # fmt: skip
    setattr(Example, _name, _guarded(_name))


def example_of(array: np.ndarray) -> Example:
    """One example of a batch, behind the guard."""
    shape = array.shape
    if not shape[0]:
        return np.empty(shape[1:], array.dtype).view(Example)
    first: Any = _ndarray.__getitem__(array, (0, ...))
    return first if type(first) is Example else first.view(Example)


class Given(NamedTuple):
    """A tensor from outside of a vmap, and which of its dimensions counts the examples."""

    tensor: Any
    dim: int | None


class BatchedTensor(Tensor):
    """A tensor inside vmap. Its history is that of the logical tensor, which one example sees."""

    __slots__ = ("_given", "_is_batched", "_level", "_physical")
    __torch_function__ = disabled

    _is_lifted = True

    # All examples, counted by the first dimension; just the tensor where there is only one.
    _physical: Tensor
    _is_batched: bool
    _level: Batching
    # The argument of the vmap that this is, if the examples are not in front there.
    _given: Given | None

    def without_history(self) -> BatchedTensor:
        """The same examples, as a constant."""
        return lift(self._level, self._physical, self._is_batched)

    def with_history(self, node: Node | None, output_nr: int) -> BatchedTensor:
        """The same examples, at a place in the graph."""
        result = self.without_history()
        result._requires_grad = node is not None
        result._node, result._output_nr = node, output_nr
        return result

    def detached(self) -> BatchedTensor:
        """The same examples without history, inside of the vmap and outside."""
        with self._level.outside():
            physical = self._physical.detach()
        return lift(self._level, physical, self._is_batched)

    def detach_examples(self) -> None:
        """Forget the history outside of the vmap."""
        self._physical = self.detached()._physical

    def take_view(self, viewed: BatchedTensor, take: Callable[[Tensor, Tensor], None]) -> None:
        """Let all examples, outside of the vmap, become the view that was made of them."""
        with self._level.outside():
            take(self._physical, viewed._physical)
        self._given = None

    def each_example(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function of tensors gives for one example of this vmap after the other, stacked.

        For functions without a history whose results depend on values in other ways than rules
        can say.
        """
        level = self._level
        with level.outside():
            columns = [
                value._physical.unbind(0)
                if level.is_batched(value)
                else (level.lower(value),) * level.size
                for value in given
            ]
            rows = [function(*row) for row in zip(*columns, strict=True)]
            if isinstance(rows[0], Tensor):
                return level.lift(stack(rows))
            results = [level.lift(stack(column)) for column in zip(*rows, strict=True)]
        return type(rows[0])(*results)

    def alike(self, tensor: Tensor) -> Tensor:
        """A new tensor with memory for each example, if this one has examples."""
        if not self._is_batched:
            return tensor
        with self._level.outside():
            repeated = tensor.expand((self._level.size, *tensor._array.shape)).clone()
        return self._level.lift(repeated)

    def no_out_variant(self, function: str) -> RuntimeError:
        """The error about `out=` of a function that got or gave this tensor."""
        return vmap_errors.out_variant(function)

    def no_captured_write(self, writer: str) -> RuntimeError:
        """The error about storing this tensor in one that all examples share."""
        return vmap_errors.captured_write(writer)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        dim = "0" if self._is_batched else "None"
        inner = repr(self._physical).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self._level.depth}, bdim={dim}, value=\n    {inner}\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self) if not spec else super().__format__(spec)

    def __bool__(self) -> bool:
        if self._is_batched:
            raise vmap_errors.control_flow()
        return bool(self._physical)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        if self._is_batched:
            raise vmap_errors.values(".numpy()")
        array: np.ndarray = self._physical.numpy(force=force)
        return array

    def tolist(self) -> Any:
        if self._is_batched:
            raise vmap_errors.values(".tolist()")
        return self._physical.tolist()

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise vmap_errors.backward()

    def _keeps_its_shape(self, *args: Any, **kwargs: Any) -> Any:
        raise vmap_errors.no_rule("resize_ or set_", "the memory is that of all examples")

    def resize_(self, *args: Any, **kwargs: Any) -> Any:
        """Another shape for as many elements: then those of each example stay together."""
        if kwargs.get("memory_format") not in (None, contiguous_format):
            raise RuntimeError(
                "resize_: batching rule only supports None or Contiguous MemoryFormat"
                + errors.at_user_line()
            )
        own = wrap(np.empty(self._array.shape, self._array.dtype))
        shape = own.resize_(*args, **kwargs)._array.shape
        physical = self._physical
        if math.prod(shape) != self._array.size or not physical._array.flags.c_contiguous:
            self._keeps_its_shape()
        if self._is_batched:
            shape = (physical._array.shape[0], *shape)
        kwargs.pop("size", None)
        with self._level.outside():
            physical.resize_(shape, **kwargs)
        self._array = example_of(physical._array) if self._is_batched else physical._array
        return self

    resize_as_ = set_ = _keeps_its_shape

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise vmap_errors.values("pickling")


def lift(
    level: Batching, physical: Tensor, is_batched: bool = True, reason: NoHistory | None = None
) -> BatchedTensor:
    """The tensor that stands for `physical` inside a vmap."""
    tensor: BatchedTensor = _new(BatchedTensor)
    array = physical._array
    tensor._array = example_of(array) if is_batched else array
    tensor._storage = physical._storage
    tensor._requires_grad = False
    tensor._node = tensor._view = tensor._grad = None
    tensor._reason = reason
    tensor._output_nr = 0
    tensor._level = level
    tensor._physical = physical
    tensor._is_batched = is_batched
    tensor._given = None
    return tensor
