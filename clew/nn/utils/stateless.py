"""Calling a module with other tensors in place of its own."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.nn.modules.module import Module

__all__ = ["functional_call"]

Tensors = dict[str, Tensor]

# Runs an iterator to its end.
_exhaust = deque[Any](maxlen=0).extend


def functional_call(
    module: Module,
    parameters_and_buffers: Tensors,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated: the old place of `clew.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module as if the given tensors were its parameters and buffers.

    What forward assigns to a given buffer is found in the dict afterwards.

    Args:
        module: the module
        parameter_and_buffer_dicts: the tensors by dotted name, in one dict or in several; names
            that are missing keep the module's own
        args: the arguments of the call, a tuple, or one that is none
        kwargs: its keyword arguments
        tie_weights: replace a tensor that the module holds under several names under all of them
        strict: every name must be given, and no other

    Example:
        >>> model = nn.Linear(2, 1, bias=False)
        >>> weights = {"weight": clew.tensor([[1., 10.]])}
        >>> clew.func.functional_call(model, weights, (clew.tensor([3., 4.]),))
        tensor([43.])
    """
    given = _merged(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, given, tie_weights=tie_weights, strict=strict):
        return module(*args, **({} if kwargs is None else kwargs))


def _merged(dicts: Any) -> Tensors:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}" + errors.at_user_line()
        )
    if not all(isinstance(each, dict) for each in dicts):
        raise ValueError(
            "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            + errors.at_user_line()
        )
    names = [name for each in dicts for name in each]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous" + errors.at_user_line()
        )
    return {name: tensor for each in dicts for name, tensor in each.items()}


class _reparametrize_module:
    """A context in which a module has the given tensors; after it, its own again.

    A class and not a generator, so that errors name the line of the user and not of contextlib.
    """

    def __init__(
        self,
        module: Module,
        parameters_and_buffers: Tensors,
        tie_weights: bool = False,
        strict: bool = False,
    ) -> None:
        self._module = module
        self._given = parameters_and_buffers
        self._tie_weights = tie_weights
        self._strict = strict

    def __enter__(self) -> None:
        module = self._module
        owned: list[tuple[str, Tensor]] = []
        if self._tie_weights or self._strict:
            # The names have no end in a module that contains itself; for the rest that is no harm.
            owned += module.named_parameters(remove_duplicate=False)
            owned += module.named_buffers(remove_duplicate=False)
        wanted = _untied(self._given, owned) if self._tie_weights else dict(self._given)
        if self._strict:
            _require_exactly(module, wanted, [name for name, _ in owned])
        places = [_Place(module, name) for name in wanted]
        for place, tensor in zip(places, wanted.values(), strict=True):
            place.check(tensor)
        own: list[tuple[Any, str, Any]] = [
            (place.registry, place.name, place.before)
            for place in places
            if place.registry is not None
        ]
        self._undo = itertools.starmap(operator.setitem, own)
        self._places = places
        try:
            for place, tensor in zip(places, wanted.values(), strict=True):
                place.put(tensor)
        except BaseException:
            _exhaust(self._undo)
            for place in places:
                place.take_back()
            raise

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        try:
            finals = [place.value() for place in self._places]
        finally:
            # One call of C functions: an interrupt comes before it began or when all is back.
            _exhaust(self._undo)
        for place, final in zip(self._places, finals, strict=True):
            place.take_back()
            if self._given.get(place.path, final) is not final:
                self._given[place.path] = final


def _untied(given: Tensors, owned: list[tuple[str, Tensor]]) -> Tensors:
    """The given tensors under all names that the module has for what each replaces."""
    tensor_at = dict(owned)
    names_of: dict[int, list[str]] = {}
    for name, tensor in owned:
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for name, tensor in given.items():
        if name not in tensor_at:
            continue
        tied = names_of[id(tensor_at[name])]
        if any(given.get(other, tensor) is not tensor for other in tied):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(set(tied) & set(given))}, "
                "which are tied. Consider using tie_weights=False" + errors.at_user_line()
            )
        result.update(dict.fromkeys(tied, tensor))
    return result


def _require_exactly(module: Module, wanted: Tensors, names: list[str]) -> None:
    problems = ""
    for kind, keys in (
        ("Unexpected", sorted(set(wanted).difference(names))),
        ("Missing", sorted(set(names).difference(wanted))),
    ):
        if keys:
            problems += f"\n\t{kind} key(s): " + ", ".join(f"'{key}'" for key in keys) + "."
    if problems:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:{problems}"
            + errors.at_user_line()
        )


class _Place:
    """One name of a module: a parameter, a buffer, or any other attribute that is a tensor."""

    def __init__(self, module: Module, path: str) -> None:
        self.path = path
        *owners, self.name = path.split(".")
        self.owner = module
        for depth, part in enumerate(owners, 1):
            child = getattr(self.owner, part, None)
            if child is None:
                raise AttributeError(
                    f"{self.owner._get_name()} has no attribute `{part}`" + errors.at_user_line()
                )
            if not isinstance(child, Module):
                raise TypeError(
                    f"submodule `{'.'.join(owners[:depth])}`: {child} is not an instance of "
                    "torch.nn.Module" + errors.at_user_line()
                )
            self.owner = child
        registries = (self.owner._parameters, self.owner._buffers)
        self.registry: dict[str, Any] | None = next((r for r in registries if self.name in r), None)
        if self.registry is not None:
            self.before: Any = self.registry[self.name]
        else:
            self.before = getattr(self.owner, self.name, self)  # itself: there was nothing

    def check(self, tensor: Any) -> None:
        """Raise if the place or what comes there is no tensor."""
        if (
            self.registry is None
            and self.before is not self
            and not isinstance(self.before, Tensor)
        ):
            _require_tensor(f"attribute `{self.path}`: {self.before}", self.before)
        if tensor is not None and not isinstance(tensor, Tensor):
            _require_tensor(f"{tensor}", tensor)

    def put(self, tensor: Any) -> None:
        if self.registry is not None:
            self.registry[self.name] = tensor
        else:
            setattr(self.owner, self.name, tensor)

    def value(self) -> Any:
        """What is there now."""
        if self.registry is not None:
            return self.registry.get(self.name)
        return getattr(self.owner, self.name)

    def take_back(self) -> None:
        """Put back what was there."""
        if self.registry is not None:
            self.registry[self.name] = self.before
            return
        is_new = self.name in self.owner._parameters or self.before is self
        if is_new and hasattr(self.owner, self.name):
            delattr(self.owner, self.name)  # a Parameter was registered by being assigned
        if self.before is not self:
            setattr(self.owner, self.name, self.before)


def _require_tensor(described: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{described} is not an instance of torch.Tensor" + errors.at_user_line())
