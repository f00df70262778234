"""`swap_tensors`: two tensors exchange everything but their identity."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from clew import errors
from clew.core.node import AccumulateGrad
from clew.core.tensor import Tensor, WeakTensorRef


def _refuse_backward(grad_outputs: Any) -> None:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: this graph leads "
        "to a tensor that was swapped for another since. Convert a module (`half()`, `to()`) or "
        "load its state before forward, or after backward."
    )


def _slots(tensor: Tensor) -> set[str]:
    names: Any = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]  # for pickle
    return set(names)


def _refuse_weak_references(tensor: Tensor, name: str) -> None:
    if any(type(each) is not WeakTensorRef for each in weakref.getweakrefs(tensor)):
        raise RuntimeError(
            f"Cannot swap {name} because it has weakref associated with it" + errors.at_user_line()
        )


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors: data, history, gradient, class and attributes.

    Graphs that lead to one of them as a leaf can no longer be gone backward through.

    Args:
        t1: a tensor
        t2: another

    Example:
        >>> x, y = clew.zeros(2), clew.ones(3)
        >>> clew.utils.swap_tensors(x, y)
        >>> x
        tensor([1., 1., 1.])
    """
    _refuse_weak_references(t1, "t1")
    _refuse_weak_references(t2, "t2")
    slots = _slots(t1)
    if slots != _slots(t2):
        raise RuntimeError(
            "Cannot swap t1 and t2 if they have different slots" + errors.at_user_line()
        )
    for tensor in (t1, t2):
        if isinstance(tensor._node, AccumulateGrad):
            tensor._node.register_prehook(_refuse_backward)
            # A new graph begins with a node of its own.
            tensor._node = None
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots:
        first = getattr(t1, slot, _UNSET)
        second = getattr(t2, slot, _UNSET)
        _give(t1, slot, second)
        _give(t2, slot, first)


_UNSET = object()


def _give(tensor: Tensor, slot: str, value: Any) -> None:
    if value is not _UNSET:
        setattr(tensor, slot, value)
    elif hasattr(tensor, slot):
        delattr(tensor, slot)


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a parameter or buffer becomes by loading a tensor of a state dict; override it.

    `load_state_dict` calls this, and swaps the result with this tensor, where
    `clew.__future__.set_swap_module_params_on_conversion` is on.

    Args:
        other: the tensor of the state dict
        assign: what `load_state_dict` was given

    Example:
        >>> clew.zeros(2).module_load(clew.ones(2))
        tensor([1., 1.])
    """
    loaded: Tensor = other.detach() if assign else self.copy_(other).detach()
    return loaded


def cdata(self: Tensor) -> int:
    """A number for what `swap_tensors` exchanges: another one after a swap, not after `.data =`."""
    return id(self.__dict__)
