"""Random tensors, and filling tensors with random numbers, in step with PyTorch's CPU streams."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes, mt19937
from clew.backend import random as streams
from clew.backend.device import CPU
from clew.backend.device import device as device_type
from clew.backend.layout import memory_format as format_type
from clew.core.interception import drawn, inside_vmap
from clew.core.meta.memory import is_meta
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import compiled
from clew.kernels.numpy.box_muller import BOX_MULLER
from clew.ops.create.constants import array_like
from clew.ops.create.drawing import (
    NORMAL,
    UNIFORM,
    Distribution,
    Drawing,
    DrawingLike,
    fill_in_memory_order,
)
from clew.ops.define import vmap_errors
from clew.ops.define.dims import is_int
from clew.ops.define.options import (
    Options,
    check_options,
    checked_size,
    float_dtype,
    made,
    read_dtype,
    read_size,
    require_grad,
    without_memory,
)

Dtype = dtypes.dtype | None

mt19937.use_engine(lambda: compiled.mersenne_twister.Twister(BOX_MULLER))


class Generator:
    """A random stream of its own; PyTorch's CPU generator, number for number.

    Functions that draw random numbers take one as `generator=`.

    Args:
        device: the CPU

    Example:
        >>> generator = clew.Generator().manual_seed(0)
        >>> clew.rand(2, generator=generator)
        tensor([0.4963, 0.7682])
        >>> clew.rand(2, generator=generator.manual_seed(0))
        tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Any = "cpu") -> None:
        if device_type(device).type != "cpu":
            raise RuntimeError(
                f"Device type {device_type(device).type} is not supported for torch.Generator() "
                "api: random numbers are made on the CPU." + errors.at_user_line()
            )
        self.stream = streams.Generator()

    @property
    def device(self) -> device_type:
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from a seed."""
        self.stream.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Restart the stream from a seed that the operating system chooses, and return it."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed that the stream was last started from."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The whole state as a tensor of bytes, in PyTorch's layout."""
        return wrap(self.stream.get_state())

    def forked(self) -> mt19937.Forked:
        """A block after which the stream is as it was before."""
        return self.stream.forked()

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a saved state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(
                f"expected a torch.ByteTensor, but got {type(new_state).__name__}"
                + errors.at_user_line()
            )
        self.stream.set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """A new generator that goes on as this one would."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> Any:
        return Generator, (CPU,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, None, Tensor]) -> None:
        # PyTorch's form; the seed is in the state, too.
        self.set_state(state[2])


def _around_default() -> Generator:
    generator = Generator()
    generator.stream = streams.default_generator
    return generator


default_generator = _around_default()


def stream_of(generator: Generator | None) -> streams.Generator:
    """The stream of a `generator=` argument."""
    if generator is None:
        return streams.default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"expected a torch.Generator, but got {type(generator).__name__}"
            + errors.at_user_line()
        )
    return generator.stream


# -- new tensors -----------------------------------------------------------------------------


@public(method=False, out=False)
def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """Uniform numbers from [0, 1).

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
    shape = read_size("rand", sizes, size)
    kind = float_dtype("rand", dtype, out)
    drawing = Drawing("rand", UNIFORM, stream_of(generator), kind, options, out)
    return _drawn(shape, drawing, kind, options, out)


@public(method=False, out=False)
def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """Standard normal numbers: of mean 0 and standard deviation 1.

    Args:
        sizes: the lengths of the dimensions, as numbers or as one tuple
        size: the same, by name
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    shape = read_size("randn", sizes, size)
    kind = float_dtype("randn", dtype, out)
    drawing = Drawing("randn", NORMAL, stream_of(generator), kind, options, out)
    return _drawn(shape, drawing, kind, options, out)


@public(method=False, out=False)
def randint(
    *args: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """Uniform integers from [low, high): `randint(high, size)` or `randint(low, high, size)`.

    Args:
        args: `low`, `high` and `size` by position
        low: the lowest integer; 0 unless given
        high: one above the highest
        size: the lengths of the dimensions, a tuple
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is int64
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.randint(1, 7, (5,))
        tensor([3, 4, 6, 1, 2])
    """
    low, high, size = _randint_arguments(args, low, high, size)
    kind = read_dtype("randint", dtype) or (dtypes.int64 if out is None else out.dtype)
    shape = checked_size("randint", size)
    stream = stream_of(generator)

    def make(shape: tuple[int, ...]) -> Tensor:
        return made("randint", streams.randint(stream, low, high, shape, kind.np), options, out)

    return _drawn(shape, make, kind, options, out)


def _randint_arguments(
    args: tuple[Any, ...], low: int | None, high: int | None, size: Any
) -> tuple[int, int, Any]:
    given = list(args)
    if size is None and given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if given or high is None or size is None:
        kinds = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(
            f"randint() received an invalid combination of arguments - got ({kinds}), but "
            "expected (high, size) or (low, high, size)" + errors.at_user_line()
        )
    names = (("low", low or 0), ("high", high))
    first, last = (_integer(name, value, 1 + (len(args) > 2)) for name, value in names)
    return first, last, size


def _integer(name: str, value: Any, position: int) -> int:
    if type(value) is bool:
        raise errors.wrong_argument("randint", name, position, "int", value)
    try:
        return operator.index(value)
    except TypeError:
        raise errors.wrong_argument("randint", name, position, "int", value) from None


@public(method=False, out=False)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """The integers below n in random order.

    Args:
        n: how many
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is int64
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """
    if not is_int(n):
        raise errors.wrong_argument("randperm", "n", 1, "int", n)
    kind = read_dtype("randperm", dtype) or (dtypes.int64 if out is None else out.dtype)
    stream = stream_of(generator)

    def make(shape: tuple[int, ...]) -> Tensor:
        rows = [streams.randperm(stream, int(n), kind.np) for _ in range(math.prod(shape[:-1]))]
        return made("randperm", np.reshape(rows, shape), options, out)

    return _drawn((int(n),), make, kind, options, out)


def _filled_like(
    function: str,
    input: Tensor,
    dtype: Any,
    memory_format: format_type | None,
    options: Options,
    distribution: Distribution,
    stream: streams.Generator,
) -> Tensor:
    if not isinstance(input, Tensor) or local.state.intercept is None or is_meta(input._layout):
        array = array_like(function, input, dtype, memory_format, options)
        if array.flags.writeable:
            distribution.fill(array, stream)
        return made(function, array, options, like=input)
    check_options(function, options)
    drawing = DrawingLike(function, distribution, stream, dtype, memory_format)
    result: Tensor = RANDOM_LIKE(input, make=drawing, function=function)
    if options.get("requires_grad"):
        require_grad(result)
    return result


# The form that interceptors see. What it makes is as large as its input, with its memory order.
RANDOM_LIKE = Op(
    "_random_like",
    lambda self, *, make, function="": make(self),
    non_differentiable="random numbers",
)


def refuse_out_in_vmap(out: Any) -> None:
    """Random numbers for many examples have no place in a tensor that they share."""
    if out is not None and inside_vmap():
        raise vmap_errors.random_out()


def _drawn(
    shape: tuple[int, ...],
    make: Callable[[tuple[int, ...]], Tensor],
    kind: dtypes.dtype,
    options: Options,
    out: Tensor | None,
) -> Tensor:
    """Random numbers; none are drawn for the meta device."""
    refuse_out_in_vmap(out)
    array = without_memory(shape, kind.np, options) if out is None else None
    if array is not None:
        return made("rand", array, options)
    result: Tensor = drawn(shape, make, local.state.intercept)
    return result


@public(method=False, out=False)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Uniform numbers from [0, 1) in the shape of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.rand_like(clew.zeros(3))
        tensor([0.4963, 0.7682, 0.0885])
    """
    stream = stream_of(generator)
    return _filled_like("rand_like", input, dtype, memory_format, options, UNIFORM, stream)


@public(method=False, out=False)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Standard normal numbers in the shape of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.randn_like(clew.zeros(3))
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    stream = stream_of(generator)
    return _filled_like("randn_like", input, dtype, memory_format, options, NORMAL, stream)


@public(method=False, out=False)
def randint_like(
    input: Tensor,
    *args: Any,
    low: int | None = None,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: Dtype = None,
    memory_format: format_type | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Uniform integers from [low, high) in the shape and dtype of another tensor.

    Args:
        input: the tensor that gives shape and dtype
        args: `high`, or `low` and `high`, by position
        low: the lowest integer; 0 unless given
        high: one above the highest
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        dtype: another dtype
        memory_format: the order of the dimensions in memory; None keeps that of `input`
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.randint_like(clew.zeros(5), 1, 7)
        tensor([3., 4., 6., 1., 2.])
    """
    first, last, _ = _randint_arguments(args, low, high, ())

    def numbers(stream: streams.Generator, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        return streams.randint(stream, first, last, shape, kind)

    def fill(array: np.ndarray, stream: streams.Generator) -> None:
        fill_in_memory_order(array, functools.partial(numbers, stream))

    stream = stream_of(generator)
    integers = Distribution("integers", numbers, fill)
    return _filled_like("randint_like", input, dtype, memory_format, options, integers, stream)
