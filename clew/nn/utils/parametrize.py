"""Parametrizations: a parameter or buffer that is computed from others whenever it is read.

`register_parametrization(layer, "weight", Symmetric())` moves the weight to
`layer.parametrizations.weight.original` and gives the layer a class of its own, in which `weight`
is a property: reading it runs the parametrization, assigning to it runs `right_inverse`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from clew import errors
from clew.autograd.grad_mode import _Mode, no_grad
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.nn.modules.container import ModuleDict, ModuleList
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter

__all__ = [
    "cached",
    "ParametrizationList",
    "register_parametrization",
    "is_parametrized",
    "remove_parametrizations",
    "type_before_parametrizations",
    "transfer_parametrizations_and_params",
]

M = TypeVar("M", bound=Module)


# ---------------------------------------------------------------- caching


class _Cache:
    """Values computed inside `cached()`, by module and name."""

    depth = 0
    values: ClassVar[dict[tuple[int, str], Any]] = {}


class cached(_Mode):
    """Inside, every parametrized tensor is computed once, at its first use.

    Example:
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        >>> with nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """

    def __enter__(self) -> None:
        _Cache.depth += 1

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


# ---------------------------------------------------------------- a tensor and what computes it


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensor or tensors that it is computed from.

    These are `original`, or `original0`, `original1`, ... if `right_inverse` gives several.

    Args:
        modules: the parametrizations, in the order in which they are applied
        original: the tensor before
        unsafe: whether dtype and shape may change

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
        ['original0', 'original1']
    """

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise _value_error("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            inverse = self._first_inverse(original)
        self.is_tensor = isinstance(inverse, Tensor)
        self.ntensors = 1 if self.is_tensor else len(inverse)
        if self.is_tensor:
            _require_same(
                "dtype", original, inverse, "original.dtype", "right_inverse(original).dtype",
                "When `right_inverse` outputs one tensor, it may not change the dtype.",
            )  # fmt: skip
        else:
            inverse = _as_originals(original, inverse)
        if not unsafe:
            # Before anything is changed, so that a refused parametrization leaves no trace.
            self._check_result(shape, dtype, [inverse] if self.is_tensor else inverse)
        if self.is_tensor:
            with no_grad():
                original.set_(inverse)
            _register(self, "original", original)
        else:
            for index, tensor in enumerate(inverse):
                _register(self, f"original{index}", tensor)

    def _first_inverse(self, original: Tensor) -> Any:
        """What the tensor is computed from at first; a missing `right_inverse` changes nothing."""
        value: Any = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                # A parametrization says in this way that it has no inverse.
                with contextlib.suppress(NotImplementedError):
                    value = module.right_inverse(value)
        if not isinstance(value, (Tensor, Sequence)):
            raise _value_error(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        return value

    def _check_result(self, shape: Any, dtype: Any, originals: Sequence[Tensor]) -> None:
        result = self._computed(originals)
        if not isinstance(result, Tensor):
            raise _value_error(
                f"A parametrization must return a tensor. Got {type(result).__name__}."
            )
        for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise _value_error(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                    f"parametrized {what}: {after}"
                )

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{index}") for index in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set what the tensor is computed from, so that it becomes `value`."""
        with no_grad():
            inverse: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse.\n  Assigning to a parametrized tensor needs it: the "
                        "method that finds what forward turns into a given value."
                        + errors.at_user_line()
                    )
                inverse = module.right_inverse(inverse)
            values = self._checked_inverse(inverse)
            for original, new in zip(self._originals(), values):
                original.set_(new)

    def _checked_inverse(self, inverse: Any) -> Sequence[Tensor]:
        if self.is_tensor:
            if not isinstance(inverse, Tensor):
                raise _value_error(
                    f"`right_inverse` should return a tensor. Got {type(inverse).__name__}"
                )
            if inverse.dtype != self.original.dtype:
                raise _value_error(
                    f"The tensor returned by `right_inverse` has dtype {inverse.dtype} while "
                    f"`original` has dtype {self.original.dtype}"
                )
            return [inverse]
        must = "'right_inverse' must return a sequence of tensors"
        if not isinstance(inverse, Sequence):
            raise _value_error(f"{must}. Got {type(inverse).__name__}.")
        if len(inverse) != self.ntensors:
            raise _value_error(
                f"{must} of length {self.ntensors}. Got a sequence of length {len(inverse)}."
            )
        for index, (tensor, original) in enumerate(zip(inverse, self._originals())):
            if not isinstance(tensor, Tensor):
                raise _value_error(
                    f"{must} or reference-type opaques. Got element {index} of type "
                    f"{type(tensor).__name__}."
                )
            if tensor.dtype != original.dtype:
                raise _value_error(
                    f"Tensor {index} returned by `right_inverse` has dtype {tensor.dtype} while "
                    f"`original{index}` has dtype {original.dtype}"
                )
        return inverse

    def forward(self) -> Tensor:
        return self._computed(self._originals())

    def _computed(self, originals: Sequence[Tensor]) -> Tensor:
        first, *others = self
        value = first(*originals)
        for module in others:
            value = module(value)
        return value


def _value_error(text: str) -> ValueError:
    return ValueError(text + errors.at_user_line())


def _as_originals(replaced: Tensor, tensors: Sequence[Any]) -> list[Tensor]:
    """What a tensor is computed from, in its role: parameters in place of a parameter."""
    originals = []
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise _value_error(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {index} of the sequence with type {type(tensor).__name__}."
            )
        if isinstance(replaced, Parameter):
            tensor = Parameter(tensor, replaced.requires_grad)
        originals.append(tensor.requires_grad_(replaced.requires_grad))
    return originals


def _require_same(
    what: str, one: Tensor, other: Tensor, one_name: str, other_name: str, problem: str
) -> None:
    """Raise if two tensors differ in dtype or shape."""
    mine, its = getattr(one, what), getattr(other, what)
    if mine != its:
        raise _value_error(f"{problem}\n{one_name}: {mine}\n{other_name}: {its}")


def _register(module: Module, name: str, tensor: Tensor) -> None:
    """As a parameter or as a buffer, whatever the tensor is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# ---------------------------------------------------------------- classes with properties


def _become_parametrized(module: Module, base: type[Module], names: Sequence[str]) -> None:
    """Give the module a class derived from `base` in which the names are properties.

    A new class each time: copies of the module share its class, and may be parametrized
    differently later.
    """
    if not names:
        module.__class__ = base
        return
    members: dict[str, Any] = {name: _property(name) for name in names}
    members["__getstate__"] = _refuse_pickling
    members["__getattr__"] = _explaining_getattr(base, frozenset(names))
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _property(name: str) -> property:
    def get(self: Module) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = (id(self), name)
        if key not in _Cache.values:
            _Cache.values[key] = parametrization()
        return _Cache.values[key]

    def set(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set)


def _explaining_getattr(base: type[Module], names: frozenset[str]) -> Any:
    """Python asks here for what is no attribute, but also when a property raises AttributeError.

    That error belongs to a parametrization: it is raised again, and not hidden behind "object has
    no attribute 'weight'".
    """

    def __getattr__(self: Module, name: str) -> Any:
        if name in names:
            return base.__getattr__(self, "parametrizations")[name]()
        return base.__getattr__(self, name)

    return __getattr__


def _refuse_pickling(self: Module) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict().\n"
        "  Their class is made while the program runs, so that it cannot be found again: save "
        "module.state_dict(), and load it into a module with the same parametrizations."
    )


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    known = memo.get(id(self))
    if known is not None:
        return known
    replica = type(self).__new__(type(self))
    memo[id(self)] = replica
    replica.__setstate__(copy.deepcopy(self.__dict__, memo))
    return replica


# ---------------------------------------------------------------- what users call


def register_parametrization(
    module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> M:
    """Compute a parameter or buffer by `parametrization` from now on, or further by one more.

    Returns the module.

    Args:
        module: the module that has the tensor
        tensor_name: the tensor's name
        parametrization: a module; its `right_inverse`, if it has one, undoes it
        unsafe: whether dtype and shape may change

    Example:
        >>> class Symmetric(nn.Module):
        ...     def forward(self, weight):
        ...         return weight.triu() + weight.triu(1).T
        >>> layer = nn.utils.parametrize.register_parametrization(
        ...     nn.Linear(3, 3), "weight", Symmetric()
        ... )
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        base = type_before_parametrizations(module)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        _become_parametrized(module, base, [*module.parametrizations, tensor_name])
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise _value_error(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_addition(module: Module, name: str, parametrization: Module) -> None:
    """Raise if one more parametrization changes the dtype or the shape of the tensor."""
    present = getattr(module, name)
    result = parametrization(present)
    if not isinstance(result, Tensor):
        raise _value_error(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what in ("dtype", "shape"):
        _require_same(
            what, present, result, f"module.{name}.{what}",
            f"parametrization(module.{name}).{what}",
            f"Registering a parametrization may not change the {what} of the tensor, unless the "
            "`unsafe` flag is enabled.",
        )  # fmt: skip
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return  # it has no inverse to check
    if not isinstance(inverse, Tensor):
        raise _value_error(
            f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}"
        )
    for what in ("dtype", "shape"):
        _require_same(
            what, present, inverse, f"module.{name}.{what}", f"returned {what}",
            f"The tensor returned by parametrization.right_inverse must have the same {what} as "
            f"module.{name}, unless the `unsafe` flag is enabled.",
        )  # fmt: skip


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations at all, or one of this tensor.

    Args:
        module: the module
        tensor_name: a tensor's name; None asks for any

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> nn.utils.parametrize.is_parametrized(layer, "weight")
        True
        >>> nn.utils.parametrize.is_parametrized(layer, "bias")
        False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Make a tensor an ordinary one again, with its computed value or with its original one.

    Args:
        module: the module, which is returned
        tensor_name: the tensor's name
        leave_parametrized: keep the computed value; the original one otherwise

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise _value_error(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise _value_error(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    base = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    _become_parametrized(module, base, [*module.parametrizations])
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class that a module had before it was parametrized.

    Args:
        module: the module, parametrized or not

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> type(layer).__name__, nn.utils.parametrize.type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: M, tensor_name: str | None = None
) -> M:
    """Let another module share parametrizations and what they compute from.

    Args:
        from_module: the module that has them
        to_module: the module that gets them; it is returned
        tensor_name: the tensor whose parametrizations are meant; None is all of them

    Example:
        >>> first = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        >>> second = nn.Linear(3, 4)
        >>> _ = nn.utils.parametrize.transfer_parametrizations_and_params(first, second)
        >>> bool((first.weight == second.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    source = from_module.parametrizations
    for name in list(source) if tensor_name is None else [tensor_name]:
        parametrizations = source[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in parametrizations:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for key in [*parametrizations._parameters, *parametrizations._buffers]:
            setattr(target, key, getattr(parametrizations, key))
    return to_module
