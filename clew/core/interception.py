"""Interceptors: what sees every operation before it runs. Several form a chain, newest first.

`State.intercept` is the newest. When an operation is called, it gets the call, steps aside so that
the one before it is in charge, and calls the operation again.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clew.core import state as states
from clew.core.state import local
from clew.interrupts import uninterrupted

T = TypeVar("T", bound="Interceptor")
F = TypeVar("F", bound=Callable[..., Any])


class Interceptor:
    """Sees every operation of its thread, from `install` to `remove`."""

    # Whether tensors may carry forward-mode tangents because of this one.
    carries_tangents = False
    # Whether tensors may stand for many examples because of this one.
    has_examples = False

    # Whether this one writes down every operation: then none may be cut short.
    captures = False

    outer: Interceptor | None = None

    @property
    def needs_operations(self) -> bool:
        """Whether gradients must be made of operations, for this or one before it to see."""
        return True

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        """Run an operation; or, for a custom function that has run, look at its outputs."""
        raise NotImplementedError  # every interceptor defines it

    def run_node(self, node: Any, grads: tuple[Any, ...]) -> Sequence[Any]:
        """Run a node's backward."""
        outer = self.outer
        if outer is not None:
            return outer.run_node(node, grads)
        results: Sequence[Any] = node.apply_tensors(grads)
        return results

    def draw(self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Any]) -> Any:
        """Random numbers of a shape."""
        return drawn(shape, make, self.outer)

    def over_samples(
        self, name: str, function: Callable[..., Any], tensors: tuple[Any, ...]
    ) -> Any:
        """A function of batches that looks at values: see the function of this name."""
        return over_samples(name, function, tensors, self.outer)

    def one_by_one(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A function that looks at values: see the function of this name."""
        return one_by_one(function, args, kwargs, self.outer)

    def constant(self, tensor: Any) -> None:
        """A tensor was made of numbers, by no operation."""
        if self.outer is not None:
            self.outer.constant(tensor)

    def read(self, tensor: Any, how: str, number: Any = None) -> Any:
        """Values of a tensor become Python's; for NumPy, `how` is "memory".

        Where they are one `number`, it is returned, perhaps in another form.
        """
        return number if self.outer is None else self.outer.read(tensor, how, number)

    def looked_at(self, tensor: Any) -> None:
        """The library looks at values: the program may depend on them in any way."""
        if self.outer is not None:
            self.outer.looked_at(tensor)

    def decide(self, function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
        """What a function says of the values of tensors, on which the program depends."""
        if self.outer is not None:
            return self.outer.decide(function, tensors)
        return function(*[physical(tensor) for tensor in tensors])

    def stored(self, target: Any, source: Any, version: int) -> None:
        """A tensor was copied to the memory of another, which had this version before."""
        if self.outer is not None:
            self.outer.stored(target, source, version)

    def inside_function(self) -> Interceptor | None:
        """The chain for the inside of a custom function, which has a tangent rule of its own."""
        outer = None if self.outer is None else self.outer.inside_function()
        if self.carries_tangents:
            return outer
        if outer is self.outer:
            return self
        inside = copy.copy(self)
        inside.outer = outer
        return inside


def resume(state: Any, link: Interceptor | None) -> None:
    """Put a chain back that had stepped aside, before what has come to stand last meanwhile."""
    last = states.last_interceptor
    if last is not None and link is not None:
        end = link
        while end.outer is not None:
            end = end.outer
        if end is not last:
            end.outer = last
    state.intercept = last if link is None else link


def is_capturing() -> bool:
    """Whether this thread runs a call that is being captured."""
    link = local.state.intercept
    while link is not None and not link.captures:
        link = link.outer
    return link is not None


def physical(tensor: Any) -> Any:
    """The array with the values of all examples of a vmap."""
    while tensor._is_lifted:
        tensor = tensor._physical
    return tensor._array


def note_constant(tensor: Any) -> Any:
    """Let interceptors know a tensor that was made of numbers, and return it."""
    interceptor = local.state.intercept
    if interceptor is not None:
        interceptor.constant(tensor)
    return tensor


def note_read(tensor: Any, how: str) -> None:
    """Let interceptors know that Python reads values of a tensor."""
    interceptor = local.state.intercept
    if interceptor is not None:
        interceptor.read(tensor, how)


def inside_vmap() -> bool:
    """Whether this thread runs a function for many examples."""
    link = local.state.intercept
    while link is not None and not link.has_examples:
        link = link.outer
    return link is not None


def drawn(
    shape: tuple[int, ...],
    make: Callable[[tuple[int, ...]], Any],
    interceptor: Interceptor | None = None,
) -> Any:
    """Random numbers of a shape, made by a function of it; interceptors may want more of them."""
    return make(shape) if interceptor is None else interceptor.draw(shape, make)


def over_samples(
    name: str,
    function: Callable[..., Any],
    tensors: tuple[Any, ...],
    interceptor: Interceptor | None,
) -> Any:
    """A function of batches that looks at values, run on the samples of all examples at once."""
    if interceptor is None:
        return function(*tensors)
    return interceptor.over_samples(name, function, tensors)


def one_by_one(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    interceptor: Interceptor | None,
) -> Any:
    """A function that looks at values, run on each example by itself; results are stacked."""
    if interceptor is None:
        return function(*args, **kwargs)
    return interceptor.one_by_one(function, args, kwargs)


def by_example(function: F) -> F:
    """A function that looks at the values of its arguments, which inside of vmap are many."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        interceptor = local.state.intercept
        if interceptor is None or not any(
            getattr(value, "_is_lifted", False) for value in (*args, *kwargs.values())
        ):
            return function(*args, **kwargs)
        return one_by_one(function, args, kwargs, interceptor)

    return wrapper  # type: ignore[return-value]  # it is called as the function is


@uninterrupted
def install(interceptor: Interceptor) -> None:
    """Put an interceptor in front of the others."""
    state = local.state
    interceptor.outer = state.intercept
    state.intercept = interceptor


@uninterrupted
def remove(interceptor: Interceptor) -> None:
    """Take an interceptor out of the chain, wherever it is."""
    state = local.state
    if state.intercept is interceptor:
        state.intercept = interceptor.outer
    elif state.intercept is not None:
        _unlink(state.intercept, interceptor)


@uninterrupted
def _unlink(link: Interceptor, interceptor: Interceptor) -> None:
    # No loop: where it jumps back, a signal may be looked for.
    if link.outer is interceptor:
        link.outer = interceptor.outer
    elif link.outer is not None:
        _unlink(link.outer, interceptor)


def installed(kind: type[T]) -> T | None:
    """The newest interceptor of a kind, if this thread has one."""
    link = local.state.intercept
    while link is not None:
        if isinstance(link, kind):
            return link
        link = link.outer
    return None
