"""Hooks on gradients: how a node holds those of its tensors and its own, and how they run."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core import module_changes
from clew.core.tensor import Tensor

# Gradients of a node's outputs; None where there is none.
Grads = list[Any]


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out again."""

    _next_id = itertools.count().__next__

    def __init__(self, hooks: OrderedDict[int, Any]) -> None:
        module_changes.note()
        self.id = RemovableHandle._next_id()
        self.hooks_dict_ref = weakref.ref(hooks)

    def remove(self) -> None:
        module_changes.note()
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Hooks(OrderedDict[int, Any]):
    """Hooks by id, in order of registration."""

    def add(self, hook: Any) -> RemovableHandle:
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class Extras:
    """The rarely used parts of a node: hooks, retained gradients, the user's metadata."""

    __slots__ = ("metadata", "post_hooks", "pre_hooks", "retained", "tensor_hooks")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, Hooks] = {}
        self.pre_hooks = Hooks()
        self.post_hooks = Hooks()
        self.retained: dict[int, weakref.ref[Tensor]] = {}
        self.metadata: dict[str, Any] = {}


def run_tensor_hooks(extras: Extras, grads: Grads) -> None:
    """Hooks of the tensors whose gradients these are, then the gradients they retain."""
    for number, hooks in extras.tensor_hooks.items():
        # One of several outputs may have no gradient: its hooks are called with None.
        grad = grads[number]
        for hook in list(hooks.values()):
            result = hook(grad)
            if result is not None:
                check_replacement(hook, result, grad)
                grad = result
        grads[number] = grad
    for number, reference in extras.retained.items():
        tensor, grad = reference(), grads[number]
        # (Gradients of many examples at once do not fit a tensor that is outside of their vmap.)
        if tensor is not None and grad is not None and tensor._is_lifted >= grad._is_lifted:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad


def run_pre_hooks(extras: Extras, grads: Grads) -> None:
    for hook in list(extras.pre_hooks.values()):
        result = hook(tuple(grads))
        if result is not None:
            grads[:] = replaced_all(hook, result, grads)


def hook_name(hook: Any) -> str:
    return str(getattr(hook, "__name__", "<unknown>"))


def check_replacement(hook: Any, result: Any, grad: Tensor | None) -> None:
    """A hook may return another gradient, of the same shape and dtype."""
    if not isinstance(result, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(result).__name__}'\n"
            f"  The hook is '{hook_name(hook)}'."
        )
    if grad is None:
        raise RuntimeError(f"hook '{hook_name(hook)}' has replaced a None value with a Tensor")
    if result._layout.shape != grad._layout.shape:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the size of value\n"
            f"  It got {errors.shape_list(grad._layout.shape)} and returned "
            f"{errors.shape_list(result._layout.shape)}."
        )
    if result._layout.dtype != grad._layout.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {grad.dtype} got "
            f"{result.dtype})"
        )


def replaced_all(hook: Any, result: Any, grads: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients that a node's hook returned in place of others, checked one by one."""
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(result).__name__}'\n"
            f"  The hook is '{hook_name(hook)}'."
        )
    if len(result) != len(grads):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(grads)})"
        )
    for each, grad in zip(result, grads, strict=True):
        if each is not None:
            check_replacement(hook, each, grad)
    return result


def after_node(extras: Extras, results: Sequence[Any], grads: Grads) -> Sequence[Any]:
    for hook in list(extras.post_hooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = replaced_all(hook, replaced, results)
    return results
