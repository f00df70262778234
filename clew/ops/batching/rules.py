"""Batching rules: how an operation runs on all examples of a vmap at once.

A rule gets a `Call`: the inputs with the examples in their first dimension where they are batched,
and the parameters as one example sees them. It returns the outputs with the examples in front.
Rules are written in operations, so that gradients outside of the vmap, forward mode and further
vmaps follow.

Most rules are mechanical; the functions here make them from what is particular to an operation:
which parameters name dimensions, which are shapes, which inputs must be batched together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.core.elementwise import Elementwise
from clew.core.op import OPS, Op
from clew.core.tensor import Tensor
from clew.ops.define import vmap_errors

Rule = Callable[["Call"], Any]

# Operations that inside vmap are made of others: functions of the same inputs and parameters.
DECOMPOSED: dict[str, Callable[..., Any]] = {}

# The rule of each operation that is not elementwise, by its name.
RULES: dict[str, Rule] = {}


# Operations whose results are random, so that they ask whether examples differ.
RANDOM: set[str] = set()
# Those of them that look at nothing but the shape of their input.
RANDOM_BY_SHAPE: set[str] = set()


class Call:
    """One call of an operation inside vmap, as its rule sees it."""

    __slots__ = ("batched", "inputs", "level", "logical", "op", "params", "size")

    def __init__(
        self,
        op: Op,
        size: int,
        inputs: list[Any],
        batched: tuple[bool, ...],
        logical: tuple[Any, ...],
        params: dict[str, Any],
        level: Any,
    ) -> None:
        self.op = op
        self.size = size
        self.inputs = inputs
        self.batched = batched
        self.logical = logical
        self.params = params
        self.level = level

    def ndim(self, index: int = 0) -> int:
        """The number of dimensions of an input, as one example sees it."""
        return int(self.logical[index]._array.ndim)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.logical[index]._array.shape
        return shape

    def all_batched(self) -> list[Any]:
        """The inputs, each with a dimension of examples in front."""
        return [
            front(value, self.size) if isinstance(value, Tensor) and not batched else value
            for value, batched in zip(self.inputs, self.batched, strict=True)
        ]

    def aligned(self) -> list[Any]:
        """The inputs as they broadcast: examples in front, then one rank for all."""
        rank = max([v._array.ndim for v in self.logical if isinstance(v, Tensor)])
        return [
            pad_rank(value, rank) if batched and value._array.ndim <= rank else value
            for value, batched in zip(self.inputs, self.batched, strict=True)
        ]


def front(tensor: Tensor, size: int) -> Tensor:
    """A tensor that all examples share, repeated in front without taking memory."""
    expanded: Tensor = tensor.expand((size, *tensor._array.shape))
    return expanded


def pad_rank(tensor: Tensor, rank: int) -> Tensor:
    """A batch of examples, each with leading dimensions of size 1 up to `rank`."""
    shape = tensor._array.shape
    missing = rank + 1 - len(shape)
    if not missing:
        return tensor
    padded: Tensor = tensor.reshape((shape[0], *(1,) * missing, *shape[1:]))
    return padded


def rule_of(op: Op) -> Rule:
    """The rule of an operation."""
    rule = RULES.get(op.name)
    if rule is not None:
        return rule
    if isinstance(op, Elementwise):
        return elementwise
    raise vmap_errors.no_rule(op.name)


def rules(*names: str) -> Callable[[Rule], Rule]:
    """Make a function the rule of the operations of these names."""

    def register(rule: Rule) -> Rule:
        declare(rule, *names)
        return rule

    return register


def decomposed(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Inside vmap, have a function of tensors stand for the operations of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            DECOMPOSED[name] = function
        return function

    return register


def declare(rule: Rule, *names: str) -> None:
    for name in names:
        if name in RULES:
            raise ValueError(f"the operation {name!r} has two batching rules")
        RULES[name] = rule


def elementwise(call: Call) -> Any:
    """Examples in front of everything that broadcasts; dtypes as one example sees them."""
    op: Any = call.op
    if False not in call.batched and _are_alike(call.logical):
        return op(*call.inputs, **call.params)
    tensors = [v._array for v in call.logical if isinstance(v, Tensor)]
    if type(op.forward) is not np.ufunc and len({array.shape for array in tensors}) == 1:
        # Kernels that walk over memory take operands of one shape.
        inputs = call.all_batched()
    else:
        inputs = call.aligned()
    if len(tensors) < len(inputs) or len({array.dtype for array in tensors}) > 1:
        # A tensor without dimensions counts less in promotion, and is one only logically.
        wanted = op.result_dtype(call.logical)
        if op.result_dtype(tuple(inputs)) != wanted:
            inputs = [v.to(wanted[0]) if isinstance(v, Tensor) else v for v in inputs]
    return op(*inputs, **call.params)


def _are_alike(tensors: tuple[Any, ...]) -> bool:
    """Whether tensors have one shape and one dtype, so that there is nothing to align."""
    first = tensors[0]._array
    shape, dtype = first.shape, first.dtype
    for tensor in tensors[1:]:
        array = tensor._array
        if array.shape != shape or array.dtype is not dtype:
            return False
    return True


def mechanical(*, dims: Sequence[str] = (), shapes: Sequence[str] = ()) -> Rule:
    """Parameters that name dimensions move up by one; shapes get the examples in front."""

    def rule(call: Call) -> Any:
        params = dict(call.params)
        inputs = call.inputs if False not in call.batched else call.all_batched()
        # A tensor without dimensions has a dimension 0 nevertheless.
        rank = len(params[shapes[0]]) if shapes else call.ndim()
        scalar = rank == 0 and bool(dims)
        if scalar:
            inputs = [v.unsqueeze(1) if isinstance(v, Tensor) else v for v in inputs]
            params |= {"keepdim": True} if "keepdim" in params else {}
        for name in shapes:
            params[name] = (call.size, *((1,) if scalar else params[name]))
        for name in dims:
            params[name] = moved(params.get(name) or 0) if scalar else moved(params.get(name))
            if scalar and isinstance(call.params.get(name), tuple):
                params[name] = (1,)
        result = call.op(*inputs, **params)
        return _as_scalars(result, call.size) if scalar else result

    return rule


def _as_scalars(result: Any, size: int) -> Any:
    if isinstance(result, tuple):
        return tuple(_as_scalars(each, size) for each in result)
    shape = result._array.shape
    return result.reshape((size, *shape[2:])) if len(shape) > 1 else result


def moved(dims: Any) -> Any:
    """Dimensions of one example, as dimensions of the batch; negative ones count from the end."""
    if dims is None:
        return None
    if isinstance(dims, tuple | list):
        return tuple([dim + (dim >= 0) for dim in dims])
    return dims + (dims >= 0)


def collapsed(kept: int | Callable[[Call], int], *, shapes: Sequence[str] = ()) -> Rule:
    """All dimensions but the last `kept` are one: examples and their batches are the same."""

    def rule(call: Call) -> Any:
        tail = kept if isinstance(kept, int) else kept(call)
        inputs = call.all_batched()
        leading = inputs[0]._array.shape[: inputs[0]._array.ndim - tail]
        params = dict(call.params)
        for name in shapes:
            params[name] = (math.prod(leading), *params[name][len(params[name]) - tail :])
        flat = [
            v.reshape((math.prod(leading), *v._array.shape[len(leading) :]))
            if isinstance(v, Tensor)
            else v
            for v in inputs
        ]
        return each(call.op(*flat, **params), lambda t: t.reshape((*leading, *t._array.shape[1:])))

    return rule


def each(result: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A function of a tensor, or of each of several."""
    if isinstance(result, tuple | list):
        return tuple([function(tensor) for tensor in result])
    return function(result)


def aligned(call: Call) -> Any:
    """The operation broadcasts its inputs: only the examples must be in front."""
    return call.op(*call.aligned(), **call.params)


def together(call: Call) -> Any:
    """The operation takes any number of leading dimensions, the same for all inputs."""
    return call.op(*call.all_batched(), **call.params)


def refused(error: Callable[..., Exception], *arguments: Any) -> Rule:
    """The rule of an operation that cannot be batched."""

    def rule(call: Call) -> Any:
        raise error(*arguments) if arguments else error(call.op.name)

    return rule


def missing() -> list[str]:
    """The operations that have no rule."""
    return [
        name
        for name, op in OPS.items()
        if name not in RULES and name not in DECOMPOSED and not isinstance(op, Elementwise)
    ]
