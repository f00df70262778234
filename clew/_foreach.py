"""`_foreach_add_(tensors, ...)` and its family: one operation on each tensor of a list.

A list among the other arguments gives each tensor its own; everything else is given to all. What
moving averages and optimizers are made of is written in place by kernels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.inplace import check_overlap, check_write, note_write
from clew.core.overrides import overridable
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import elementwise
from clew.ops.pointwise.powers import pow

# Names of operations that are methods of tensors; most have an in-place form as well.
_OPERATIONS = (
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min",
    "clone", "cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma",
    "log", "log10", "log1p", "log2", "mm", "mul", "neg", "pow", "reciprocal",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc",
    "copy", "zero",
)  # fmt: skip
# Bounds by an element or a number: the methods of tensors take only tensors.
_RENAMED = {"maximum": "clamp_min", "minimum": "clamp_max"}


# -- in place, by kernels ------------------------------------------------------------------


@elementwise("foreach_add", 3, scalars=(2,))
def _ADD(self: Any, other: Any, alpha: Any) -> Any:
    return self + other * alpha


@elementwise("foreach_sub", 3, scalars=(2,))
def _SUB(self: Any, other: Any, alpha: Any) -> Any:
    return self - other * alpha


@elementwise("foreach_addcmul", 4, scalars=(3,))
def _ADDCMUL(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    return self + tensor1 * value * tensor2


@elementwise("foreach_addcdiv", 4, scalars=(3,))
def _ADDCDIV(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    return self + tensor1 / tensor2 * value


@elementwise("foreach_lerp", 3, scalars=(2,))
def _LERP(self: Any, end: Any, weight: Any) -> Any:
    # From the nearer end, so that weight 1 gives `end` exactly.
    way = end - self
    return where(weight.abs() < 0.5, self + way * weight, end - way * (1.0 - weight))


# The kernel of an operation, how many tensors it takes before its number, and that one's default.
_KERNELS: dict[str, tuple[Any, int, list[float]]] = {
    "add": (_ADD, 1, [1]), "sub": (_SUB, 1, [1]), "addcmul": (_ADDCMUL, 2, [1]),
    "addcdiv": (_ADDCDIV, 2, [1]), "lerp": (_LERP, 1, []),
}  # fmt: skip


def _written_by_kernel(
    kernel: Any, writer: str, target: Tensor, others: Sequence[Any], number: Any
) -> bool:
    """Change `target` in place if the kernel can, for tensors like it; False if it did not."""
    state, array = local.state, target._array
    ufunc = kernel.specialize(array)
    if ufunc is None or state.intercept is not None or type(number) not in (float, int):
        return False
    for other in others:
        if not isinstance(other, Tensor) or other._array.dtype is not array.dtype:
            return False
        if other._array.shape != array.shape:
            return False
    inputs = (target, *others)
    if check_write(state, writer, inputs):
        return False  # its history must be recorded
    check_overlap(inputs)
    ufunc(array, *[other._array for other in others], array.dtype.type(number), out=array)
    note_write(target, writer)
    return True


def _with_kernel(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place method that leaves the usual case to the kernel."""
    kernel, tensors, default = _KERNELS[name]

    @functools.wraps(method)
    def quick(self: Tensor, *others: Any, **named: Any) -> Any:
        numbers = [*others[tensors:], *named.values()] or default
        is_usual = len(numbers) == 1 and len(others) >= tensors
        if is_usual and _written_by_kernel(kernel, f"{name}_", self, others[:tensors], numbers[0]):
            return self
        return method(self, *others, **named)

    return quick


# -- the family ----------------------------------------------------------------------------


def _with_value(method: Callable[..., Any]) -> Callable[..., Any]:
    """`addcmul` and `addcdiv` of a list take `value` without its name, or `scalars`."""

    @functools.wraps(method)
    def positional(
        self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1, *, scalars: Any = None
    ) -> Tensor:
        result: Tensor = method(self, tensor1, tensor2, value=value if scalars is None else scalars)
        return result

    return positional


def _norm(self: Tensor, ord: float = 2, dtype: Any = None) -> Tensor:
    if ord == math.inf and not self._array.size:
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity" + errors.at_user_line()
        )
    return self.norm(ord, dtype=dtype)


def _powsum(self: Tensor, ord: float = 2, dtype: Any = None) -> Tensor:
    """The sum of the powers of absolute values."""
    powers = self.abs() ** ord
    return powers.sum(dtype=dtype)


def _max(self: Tensor) -> Tensor:
    if not self._array.size:
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements "
            "is undefined." + errors.at_user_line()
        )
    return self.max()


def _unpacked(scalars: Tensor, count: int) -> list[Any]:
    """The numbers of a tensor that has one for each tensor of a list."""
    if scalars._array.ndim != 1:
        raise RuntimeError(
            f"Expected packed scalar Tensor to be of dimension 1. Got {scalars._array.ndim} "
            "instead." + errors.at_user_line()
        )
    if not scalars._array.flags.c_contiguous:
        raise RuntimeError("Expected scalars to be contiguous." + errors.at_user_line())
    if len(scalars._array) != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} but got "
            f"{len(scalars._array)} instead." + errors.at_user_line()
        )
    return list(scalars.tolist())


def _check_scalar(other: Any) -> None:
    """A tensor for all of a list stands for a number."""
    if isinstance(other, Tensor) and other._array.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {other._array.ndim} dimensions and "
            f"{other._array.size} elements." + errors.at_user_line()
        )


def _rows(tensors: Sequence[Tensor], others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """For each tensor the values that belong to it."""
    columns = []
    for other in others:
        if isinstance(other, list | tuple):
            if len(other) != len(tensors):
                if not any(isinstance(each, Tensor) for each in other):
                    raise RuntimeError(
                        "Tensor list must have same number of elements as scalar list."
                        + errors.at_user_line()
                    )
                raise RuntimeError(
                    "Tensor lists must have the same number of tensors, got "
                    f"{len(tensors)} and {len(other)}" + errors.at_user_line()
                )
            columns.append(list(other))
        else:
            _check_scalar(other)
            columns.append([other] * len(tensors))
    return list(zip(*columns)) if columns else [()] * len(tensors)


def _each(name: str, method: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    packs_scalars = "addc" in name

    def function(self: Sequence[Tensor], *others: Any, **named: Any) -> Any:
        if packs_scalars:
            named = {
                key: _unpacked(value, len(self)) if isinstance(value, Tensor) else value
                for key, value in named.items()
            }
            if len(others) > 2 and isinstance(others[2], Tensor):
                others = (*others[:2], _unpacked(others[2], len(self)))
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor." + errors.at_user_line())
        rows = _rows(self, [*others, *named.values()])
        split = len(others)
        results = [
            method(tensor, *row[:split], **dict(zip(named, row[split:])))
            for tensor, row in zip(self, rows)
        ]
        return self if in_place else tuple(results)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Tensor.{method.__name__}` for each tensor of a list."
    return function


def _family() -> dict[str, Callable[..., Any]]:
    sources = {**{name: name for name in _OPERATIONS}, **_RENAMED}
    made = {}
    for name, source in sources.items():
        for ending in ("", "_"):
            method = getattr(Tensor, source + ending, None)
            if method is None:
                continue
            if source in ("addcmul", "addcdiv"):
                method = _with_value(method)
            if ending and name in _KERNELS:
                method = _with_kernel(name, method)
            public = f"_foreach_{name}{ending}"
            made[public] = _each(public, method, in_place=ending == "_")
    for name, method in {"norm": _norm, "powsum": _powsum, "max": _max}.items():
        made[f"_foreach_{name}"] = _each(f"_foreach_{name}", method, in_place=False)
    made["_foreach_pow"] = _pow_of_number(made["_foreach_pow"])
    return made


def _pow_of_number(powers: Callable[..., Any]) -> Callable[..., Any]:
    """`_foreach_pow` also takes one number to the powers of a list."""

    @functools.wraps(powers)
    def function(self: Any, exponent: Any) -> Any:
        if isinstance(self, list | tuple):
            return powers(self, exponent)
        if not exponent:
            raise RuntimeError("Tensor list must have at least one tensor." + errors.at_user_line())
        return tuple(pow(self, each) for each in exponent)

    return function


FUNCTIONS = _family()
globals().update(FUNCTIONS)
overridable("torch", FUNCTIONS)
