"""Tensors whose layout is not strided: sparse and nested ones.

Such a tensor has no array. It has parts, which are strided tensors, and says its shape and dtype by
a stand-in in the slot of the array (`_layout`); whoever asks for the elements (`_array`) gets an
error. Public functions look for it by the type of their arguments (`core/overrides.py: LAYOUTS`),
from the first such tensor on, and run the rule of its layout instead. Operations whose inputs or
results may be of any layout are `LayoutOp`s: recorded, saved and differentiated as all others.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from clew import errors
from clew.core.node import Node
from clew.core.op import Op
from clew.core.overrides import LAYOUTS, Override, Rules, add_layout, disabled
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, _new
from clew.observed import NotStrided as NotStrided

_BYTES = bytes(16)
_WORDS = (
    "Could not run an operation with arguments from the '{}CPU' backend: a tensor of layout {} "
    "has no strided elements"
)


class Unstrided(Tensor):
    """A tensor that is made of parts. Subclasses say which, and have rules for functions."""

    __slots__ = ("_kind", "_parts")
    __torch_function__ = disabled

    _is_lifted = True
    _is_unstrided = True
    # What PyTorch calls the part of it that computes with the layout.
    _backend = "Sparse"

    # Which layout it is, and the strided tensors that it is made of, which have no history.
    _kind: Any
    _parts: tuple[Tensor, ...]

    @property  # type: ignore[misc]  # only type(x) sees what it is
    def __class__(self) -> type[Tensor]:  # type: ignore[override]  # the same
        return Tensor

    @property
    def _array(self) -> np.ndarray:  # type: ignore[override]  # nobody may set it
        raise NotStrided(_WORDS.format(self._backend, self._kind))

    @property
    def _physical(self) -> Tensor:
        raise NotStrided(_WORDS.format(self._backend, self._kind))

    def without_history(self) -> Unstrided:
        """The same parts, as a constant with the same version counter."""
        result = self.copy_of_slots()
        result._storage = self._storage
        result._reason = self._reason
        return result

    def with_history(self, node: Node | None, output_nr: int) -> Unstrided:
        """The same parts, at a place in the graph."""
        result = self.without_history()
        result._requires_grad = node is not None
        result._node, result._output_nr = node, output_nr
        return result

    detached = without_history

    def detach_examples(self) -> None:
        """Nothing but the history is to be forgotten."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Unstrided:
        """A leaf with a copy of all parts."""
        if id(self) in memo:
            found: Unstrided = memo[id(self)]
            return found
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment." + errors.at_user_line()
            )
        result = self.copy_of_slots()
        result._parts = tuple(part.clone() for part in self._parts)
        result._requires_grad = self._requires_grad
        if self._grad is not None:
            result._grad = deepcopy(self._grad, memo)
        memo[id(self)] = result
        return result

    def __copy__(self) -> Unstrided:
        result = self.without_history()
        result._requires_grad = self._requires_grad
        return result

    def copy_of_slots(self) -> Unstrided:
        """A new tensor of the same parts."""
        kind = type(self)
        result = blank(kind, self._layout.shape, self._layout.dtype)
        for base in kind.__mro__:
            if base is Tensor:
                break
            for name in base.__dict__.get("__slots__", ()):
                setattr(result, name, getattr(self, name))
        return result

    def take_parts(self, other: Unstrided, writer: str) -> None:
        """Become what another tensor is: an in-place change."""
        for name in ("_kind", "_parts", *type(self).__slots__):
            setattr(self, name, getattr(other, name))
        Tensor.__dict__["_array"].__set__(self, other._layout)
        self._storage.bump(writer, None)


# In texts that name the type of a value it is a tensor as others.
for _name in ("__name__", "__qualname__", "__module__"):
    setattr(Unstrided, _name, getattr(Tensor, _name))


def blank(kind: type[Unstrided], shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A tensor of a class without its parts, and without history."""
    if kind not in LAYOUTS:
        add_layout(kind, kind.rules)  # type: ignore[attr-defined]  # subclasses have it
    result: Any = _new(kind)
    stand_in = np.ndarray(shape, dtype, _BYTES, 0, (0,) * len(shape))
    Tensor.__dict__["_array"].__set__(result, stand_in)
    state = local.state
    result._storage = INFERENCE if state.inference else state.new_storage()
    result._requires_grad = False
    result._node = result._view = result._reason = result._grad = None
    result._output_nr = 0
    return result


def by_rules(rules: dict[str, Any], backend: str) -> Rules:
    """How functions treat a layout: by the rule of their name; without one, as they are written."""

    def run(own: Override, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = plain_name(own.name)
        rule = rules.get(name)
        if rule is not None:
            return rule(*args, **kwargs)
        try:
            return own.implementation(*args, **kwargs)
        except NotStrided:
            raise could_not_run(name, backend) from None

    return run


def plain_name(name: str) -> str:
    """The last part of a function's full name; of a property, what it is called."""
    parts = name.split(".")
    return (
        f"{parts[-2]}.{parts[-1]}"
        if parts[-1] == "__set__"
        else (parts[-2] if parts[-1] in ("__get__", "__delete__") else parts[-1])
    )


def could_not_run(name: str, backend: str) -> NotImplementedError:
    """What PyTorch says of a function that a layout does not have."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be "
        "because the operator doesn't exist for this backend, or was omitted during the selective/"
        "custom build process (if using custom build).\n  `to_dense()` gives a strided tensor that "
        "every operation takes." + errors.at_user_line()
    )


class LayoutOp(Op):
    """An operation whose forward takes and gives tensors, of whatever layout."""

    takes_layouts = True

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        result = self.compute(inputs, params)
        return self.finish_many(state, inputs, params, (result,))[0]

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The forward without recording; its result is a new tensor."""
        state = local.state
        before, state.grad_enabled = state.grad_enabled, False
        try:
            return self.forward(*inputs, **params)
        finally:
            state.grad_enabled = before
