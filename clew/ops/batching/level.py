"""vmap as an interceptor: every operation on batched tensors runs once, on all examples.

An operation's batching rule runs on the tensors that hold all examples, under whatever lies outside
of this vmap: another vmap, forward mode, or nothing. The history of those tensors is what gradients
outside of this vmap follow. Batched tensors have a history of their own, for gradients that are
taken inside: it is recorded here, with the shapes that one example sees, and its formulas are then
batched like all else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import apply_inplace, check_leaf, rebase
from clew.core.interception import (
    Interceptor,
    drawn,
    install,
    installed,
    one_by_one,
    over_samples,
    remove,
)
from clew.core.node import Edge, edge_of
from clew.core.op import Op
from clew.core.recording import OpNode, Plan, record
from clew.core.state import State, local
from clew.core.tensor import Tensor, forbid_view_write, tangents_of
from clew.core.view_op import become_view
from clew.interrupts import uninterrupted
from clew.ops.batching.rules import DECOMPOSED, RANDOM, RANDOM_BY_SHAPE, Call, front, rule_of
from clew.ops.batching.tensor import BatchedTensor, Given, lift
from clew.ops.define import vmap_errors
from clew.ops.shape.joining import stack
from clew.ops.tensor.copying import COPY
from clew.source import _getframe

Inputs = tuple[Any, ...]
Params = dict[str, Any]

# The randomness of a vmap that is part of another function, whose callers cannot choose one.
UNSUPPORTED = "unsupported"


class Batching(Interceptor):
    """One vmap, while its function runs."""

    has_examples = True

    def __init__(self, size: int, randomness: str = "error") -> None:
        # The rules of all operations: late, as most programs have no vmap.
        from clew.ops.batching import tables  # noqa: F401  (it registers them)

        self.size = size
        self.randomness = randomness
        around = installed(Batching)
        self.depth: int = 1 if around is None else around.depth + 1
        # Whether what happens to the examples is recorded: as it was outside of this vmap.
        self.recording = local.state.grad_enabled
        # Whether there is such a record, so that the ops of a backward inside must be part of it.
        self.has_history = False

    def lift(self, physical: Tensor, is_batched: bool = True) -> BatchedTensor:
        if physical._requires_grad:
            self.has_history = True
        return lift(self, physical, is_batched)

    def result(self, value: Tensor) -> Tensor:
        """A tensor outside of this vmap, with the examples in front."""
        physical: Tensor = self.lower(value)
        return physical if self.is_batched(value) else front(physical, self.size)

    def lower(self, value: Any) -> Any:
        """What lies behind a tensor of this vmap; anything else as it is."""
        return value._physical if self.owns(value) else value

    def given(self, value: Any) -> Given:
        """A value as it was given to this vmap; what was made inside has the examples in front."""
        if self.owns(value) and value._given is not None:
            given: Given = value._given
            return given
        return Given(self.lower(value), 0 if self.is_batched(value) else None)

    def owns(self, value: Any) -> bool:
        """Whether a value is a tensor of this vmap."""
        return type(value) is BatchedTensor and value._level is self

    def is_batched(self, value: Any) -> bool:
        return type(value) is BatchedTensor and value._level is self and value._is_batched

    def outside(self) -> _Outside:
        """Run what lies outside of this vmap: other interceptors, and its own recording."""
        return _Outside(self)

    def __call__(self, op: Any, inputs: Inputs, params: Params, inplace: bool = False) -> Any:
        if not isinstance(op, Op):
            return self.after_function(op, inputs, params)
        if inplace:
            return self.write(op, inputs, params)
        physical: list[Any] = []
        batched: tuple[bool, ...] = ()
        for value in inputs:
            own = type(value) is BatchedTensor and value._level is self
            physical.append(value._physical if own else value)
            batched += (own and value._is_batched,)
        any_batched = True in batched
        if any_batched and op.name in DECOMPOSED:
            result = DECOMPOSED[op.name](*inputs, **params)
            if result is not NotImplemented:
                return result
        if op.name in RANDOM:
            return self.draw_like(op, inputs, batched, params)
        with _Outside(self):
            if any_batched:
                result = rule_of(op)(Call(op, self.size, physical, batched, inputs, params, self))
            else:
                result = op(*physical, **params)
        if not any_batched and not self.tracks(inputs):
            return result
        if isinstance(result, Tensor):
            out = self.lift(result, any_batched)
            self.connect(op, inputs, params, (out,))
            return out if op.outputs == 1 else (out,)
        outs = tuple([self.lift(each, any_batched) for each in result])
        self.connect(op, inputs, params, outs)
        return outs

    def tracks(self, inputs: Inputs) -> bool:
        """Whether gradients are taken inside of this vmap with respect to one of the inputs."""
        for value in inputs:
            if type(value) is BatchedTensor and value._level is self and value.requires_grad:
                return True
        return False

    def edges(self, inputs: Inputs) -> tuple[int, list[Edge | None]]:
        """Which inputs require grad inside of this vmap, as a mask, and where gradients go.

        What tensors from outside require is the business of those outside.
        """
        mask = 0
        edges: list[Edge | None] = []
        for index, value in enumerate(inputs):
            if type(value) is BatchedTensor and value._level is self and value.requires_grad:
                mask |= 1 << index
                edges.append(edge_of(value))
            else:
                edges.append(None)
        return mask, edges

    def connect(self, op: Op, inputs: Inputs, params: Params, outs: tuple[Tensor, ...]) -> None:
        """Give outputs the history that gradients inside of this vmap follow."""
        state = local.state
        if op.is_view and self.owns(inputs[0]):
            for index, out in enumerate(outs):
                become_view(out, state, inputs[0], op, params, index if op.outputs != 1 else None)
        if not state.grad_enabled or not op.differentiable:
            return
        mask, edges = self.edges(inputs)
        plan = op.plan(mask) if mask else None
        if plan is None or not plan.active or not any([op.can_differentiate(out) for out in outs]):
            return
        for number, out in enumerate(outs):
            out._output_nr = number
        node = self.record(state, op, plan, inputs, params, outs, edges)
        for out in outs:
            if op.can_differentiate(out):
                out._requires_grad, out._node = True, node
            else:
                out._output_nr = 0

    def record(
        self, state: State, op: Op, plan: Plan, inputs: Inputs, params: Params,
        outs: tuple[Tensor, ...], edges: list[Edge | None],
    ) -> OpNode:  # fmt: skip
        # What is saved must keep its examples, as it must keep its tangent in forward mode.
        dual, state.dual = state.dual, True
        try:
            return record(state, plan, op.node_class, inputs, params, outs, edges, _getframe(3))
        finally:
            state.dual = dual

    # -- in place --------------------------------------------------------------------------

    def write(self, op: Op, inputs: Inputs, params: Params) -> Tensor:
        """The in-place form of an operation: all examples are written to."""
        target: Tensor = inputs[0]
        batched = tuple([self.is_batched(value) for value in inputs])
        if op.name in RANDOM:
            self.check_random(op, batched)
        if not batched[0] and True in batched:
            raise vmap_errors.captured_write(op)
        if op.name in RANDOM:
            if self.randomness == "different" and not batched[0]:
                raise vmap_errors.different_numbers(op.name)
            if self.randomness == "same" and batched[0]:
                return self.write(COPY, (target, self.draw_like(op, inputs, batched, params)), {})
        if True in batched and op.name in DECOMPOSED:
            result = DECOMPOSED[op.name](target.clone(), *inputs[1:], **params)
            return self.write(COPY, (target, result), {})
        state = local.state
        mask, edges = self.edges(inputs) if state.grad_enabled else (0, [])
        plan = op.plan(mask) if mask and op.can_differentiate(target) else None
        if plan is None:
            self.write_physical(op, inputs, batched, params)
            return target
        forbid_view_write(target)
        if mask & 1:
            check_leaf(target, op.name + "_")
        saved = inputs
        if 0 in plan.saves_input:
            saved = (self.before_write(target), *inputs[1:])
        self.write_physical(op, inputs, batched, params)
        rebase(state, target, self.record(state, op, plan, saved, params, (target,), edges))
        return target

    def before_write(self, target: Any) -> Tensor:
        with self.outside():
            copied = target._physical.clone()
        edge = edge_of(target) if target._requires_grad else (None, 0)
        copy: Tensor = self.lift(copied, target._is_batched).with_history(*edge)
        for level, tangent in tangents_of(target).items():
            level.give(copy, tangent.clone())
        return copy

    def write_physical(
        self, op: Op, inputs: Inputs, batched: tuple[bool, ...], params: Params
    ) -> None:
        physical = [self.lower(value) for value in inputs]
        with self.outside():
            if True not in batched:
                apply_inplace(op, *physical, **params)
                return
            call = Call(op, self.size, physical, batched, inputs, params, self)
            result = rule_of(op)(call)
            have, want = result.dtype, physical[0].dtype
            if not dtypes.can_cast(have, want):
                raise errors.in_place_dtype(have.scalar_name, want.scalar_name)
            if result._array.shape != physical[0]._array.shape:
                raise errors.in_place_shape(inputs[0]._array.shape, result._array.shape[1:])
            apply_inplace(COPY, physical[0], result)
        if physical[0]._requires_grad:
            self.has_history = True

    # -- random numbers --------------------------------------------------------------------

    def draw(self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
        """Numbers for each example, or the same for all, as this vmap's `randomness` says."""
        self.refuse_random()
        with self.outside():
            if self.randomness == "same":
                same: Tensor = drawn(shape, make, self.outer)
                return same
            return self.lift(drawn((self.size, *shape), make, self.outer))

    def over_samples(
        self, name: str, function: Callable[..., Any], tensors: tuple[Tensor, ...]
    ) -> Any:
        """It is not followed by gradients inside of the vmap, only by those outside."""
        if not any(map(self.owns, tensors)):
            with self.outside():
                return over_samples(name, function, tensors, self.outer)
        if local.state.grad_enabled and self.tracks(tensors):
            raise vmap_errors.no_rule(name, "inside of vmap it has no gradient")
        with self.outside():
            flat = tuple([self.result(tensor).flatten(0, 1) for tensor in tensors])
            found = over_samples(name, function, flat, self.outer)
            apart = [
                None if each is None else each.reshape((self.size, -1, *each._array.shape[1:]))
                for each in found
            ]
        return tuple(None if each is None else self.lift(each) for each in apart)

    def one_by_one(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """It is not followed by gradients inside of the vmap, only by those outside."""
        values = (*args, *kwargs.values())
        if not any(map(self.owns, values)):
            with self.outside():
                return one_by_one(function, args, kwargs, self.outer)
        if not any(map(self.is_batched, values)):
            return function(*args, **kwargs)
        if local.state.grad_enabled and self.tracks(values):
            raise vmap_errors.no_rule(function.__name__, "inside of vmap it has no gradient")
        with self.outside():
            found = []
            for number in range(self.size):
                own_args = [self.example(value, number) for value in args]
                own_kwargs = {name: self.example(value, number) for name, value in kwargs.items()}
                found.append(one_by_one(function, tuple(own_args), own_kwargs, self.outer))
            if found[0] is None:
                return None
            together = stack(found)
        return self.lift(together)

    def example(self, value: Any, number: int) -> Any:
        """What a value is for one example."""
        lowered = self.lower(value)
        return lowered.select(0, number) if self.is_batched(value) else lowered

    def draw_like(self, op: Op, inputs: Inputs, batched: tuple[bool, ...], params: Params) -> Any:
        """A random operation with a new result."""
        self.check_random(op, batched)
        physical = [self.lower(value) for value in inputs]
        if self.randomness == "same" and True in batched:
            with self.outside():
                # Drawn for one example, used for all. In new memory: `normal_` draws in another
                # order where there are gaps.
                return op(physical[0].select(0, 0).contiguous(), *physical[1:], **params)
        with self.outside():
            if self.randomness == "same":
                return op(*physical, **params)
            physical = [
                front(value, self.size) if isinstance(value, Tensor) and not own else value
                for value, own in zip(physical, batched, strict=True)
            ]
            every = tuple(isinstance(value, Tensor) for value in physical)
            call = Call(op, self.size, physical, every, inputs, params, self)
            result = rule_of(op)(call)
        outs = result if isinstance(result, tuple) else (result,)
        lifted = tuple([self.lift(out) for out in outs])
        self.connect(op, inputs, params, lifted)
        return lifted if isinstance(result, tuple) else lifted[0]

    def refuse_random(self) -> None:
        if self.randomness == "error":
            raise vmap_errors.randomness()
        if self.randomness == UNSUPPORTED:
            raise vmap_errors.no_randomness()

    def check_random(self, op: Op, batched: tuple[bool, ...]) -> None:
        self.refuse_random()
        by_value = batched[1:] if op.name in RANDOM_BY_SHAPE else batched
        if self.randomness == "same" and True in by_value:
            raise vmap_errors.same_numbers(op.name)

    # -- custom functions ------------------------------------------------------------------

    def after_function(self, function: Any, inputs: Inputs, params: Params) -> Any:
        return params["outputs"]

    def inside_function(self) -> Interceptor:
        return self


class _Outside:
    """What `Batching.outside` gives: the state of the thread as it is outside of a vmap."""

    __slots__ = ("before", "level")

    def __init__(self, level: Batching) -> None:
        self.level = level

    def __enter__(self) -> None:
        state, level = local.state, self.level
        mode = state.grad_enabled
        self.before = mode, state.saved_hooks, state.intercept
        state.intercept = level.outer
        state.grad_enabled = mode and level.recording
        # Hooks are set by those inside, who will never see what is saved outside.
        state.saved_hooks = ()

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.saved_hooks, state.intercept = self.before


class running:
    """The part of a program in which a vmap is in charge of every operation.

    `is_transform`: whether the function that runs is one that a transform was given.
    """

    def __init__(self, size: int, randomness: str = "error", is_transform: bool = True) -> None:
        self.level = Batching(size, randomness)
        self.is_transform = is_transform

    def __enter__(self) -> Batching:
        install(self.level)
        local.state.transforms += self.is_transform
        return self.level

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        local.state.transforms -= self.is_transform
        remove(self.level)


def innermost() -> Batching | None:
    """The vmap whose function is running, if there is one."""
    return installed(Batching)


def has_history() -> bool:
    """Whether what happens in any of the vmaps around is recorded outside of it."""
    link = local.state.intercept
    while link is not None:
        if isinstance(link, Batching) and link.has_history:
            return True
        link = link.outer
    return False


def lifted(tensor: Tensor) -> BatchedTensor | Tensor:
    """A tensor as one that gradients inside of the innermost vmap can be taken by."""
    level = innermost()
    if level is None or (type(tensor) is BatchedTensor and tensor._level is level):
        return tensor
    result = level.lift(tensor, is_batched=False)
    for dual_level, tangent in tangents_of(tensor).items():
        dual_level.give(result, tangent)
    return result
