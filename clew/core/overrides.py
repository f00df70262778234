"""`__torch_function__`: classes and modes that take over functions of tensors.

A class that defines `__torch_function__` gets every call of a function, method, operator or
property of tensors that has one of its objects among the arguments; a mode gets every call of its
thread. A program without such a class or mode must not pay for that, whatever it has imported by
name (`from torch import add`), and `func` must be the very object that programs know the function
by (`func is torch.add`). So nothing is wrapped and nothing is looked up: functions stay as they
are defined until the first class or mode shows up. Then `switch_on` gives all of them another code
object (`function.__code__`, as `interrupts.py` does). They remain the same objects, wherever they
were bound, and now look at the types of their arguments first; what they did before is in a copy.
The switch stays on for the rest of the process: a mode may be active in any thread, and objects
of a class live as long as they like.

What switches on: a subclass of Tensor whose `__torch_function__` is not disabled (it has at least
the one of Tensor, which gives results its own class), entering a mode, importing `clew.overrides`
or `clew.fx`, a program that names it (its main file, or the first that imports clew), and the first
other object with `__torch_function__` that a function or operator would refuse otherwise.

Once it is on, a call costs a look into a set of types (`QUIET`), in C. Functions that are made of
others look once at every level; while a handler runs what it was given (`disabled`, or a mode that
has stepped aside), everything below runs as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

from clew import errors
from clew.core.mirror import Unread
from clew.core.override_tables import (
    ALL_BY_KEYWORD,
    AS_GIVEN,
    FUNCTIONAL,
    IGNORED,
    METHOD_OF_OPERATOR,
    OF_DATA,
    OF_NUMBERS,
    OPERATORS,
    OUT_AFTER,
    PRIVATE,
    arrangement,
)
from clew.core.state import local
from clew.core.tensor import Size, Tensor
from clew.source import INTERNAL_PACKAGES, LOOKS_FIRST, user_stacklevel

# What of it is in effect, in `State.overrides`: classes and modes, modes only, nothing.
ENABLED, MODES_ONLY, NOTHING = range(3)


def disabled(
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The `__torch_function__` of classes whose objects are treated as plain tensors."""
    state = local.state
    before = state.overrides
    state.overrides = max(before, MODES_ONLY)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        state.overrides = before


# Types that take over nothing. A type that is not here is looked at; so are lists and tuples.
QUIET: set[type] = {Tensor, Unread, Size, int, float, bool, complex, str, type(None), slice}
_CONTAINERS = (list, tuple)


# What functions do with tensors of other layouts than the strided one, by their class.
Rules = Callable[["Override", tuple[Any, ...], dict[str, Any]], Any]
LAYOUTS: dict[type, Rules] = {}


def add_layout(kind: type, rules: Rules) -> None:
    """Let a class of tensors without strided memory have its own way with every function."""
    LAYOUTS[kind] = rules
    QUIET.discard(kind)
    switch_on()


def rules_for(values: Iterable[Any]) -> Rules | None:
    """The rules of the first value that is not strided, or of one in a list or tuple."""
    for value in values:
        kind = type(value)
        if kind in LAYOUTS:
            return LAYOUTS[kind]
        if isinstance(value, _CONTAINERS) and kind is not Size:
            # No further down: functions take lists of tensors, and a list may contain itself.
            for each in _elements(value):
                if type(each) in LAYOUTS:
                    return LAYOUTS[type(each)]
    return None


def takes_over(kind: type) -> bool:
    """Whether objects of a class, other than tensors as they are, have `__torch_function__`."""
    if kind in QUIET or kind in LAYOUTS:
        return False
    found = getattr(kind, "__torch_function__", disabled)
    if found is not disabled:
        return True
    if not issubclass(kind, _CONTAINERS):
        QUIET.add(kind)
    return False


def overloaded(values: Iterable[Any]) -> list[Any]:
    """The values whose classes take over functions: one of each, subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in QUIET:
            continue
        if takes_over(kind):
            _insert(found, value, kind)
        elif isinstance(value, _CONTAINERS):
            # A list of the user's own class may iterate as it likes.
            for each in _elements(value):
                if takes_over(type(each)):
                    _insert(found, each, type(each))
    return found


def _elements(values: Any) -> Iterator[Any]:
    return list.__iter__(values) if isinstance(values, list) else tuple.__iter__(values)


def _insert(found: list[Any], value: Any, kind: type) -> None:
    kinds = [type(each) for each in found]
    if kind not in kinds:
        place = next((i for i, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
        found.insert(place, value)


class Override:
    """A function that can be taken over: what is called instead of it, and how it is named."""

    __slots__ = (
        "arrangement",
        "func",
        "implementation",
        "is_operator",
        "is_property",
        "name",
        "signature",
        "takes_tensors",
    )

    # For the code below, which runs with the names of the module where a function is defined.
    kind_of, each_of = type, map
    # Whether no class among these takes over; no, while a mode is active in any thread.
    is_quiet: Callable[[Iterable[Any]], bool] = QUIET.issuperset

    def __init__(self, func: Any, implementation: Callable[..., Any], name: str) -> None:
        self.func = func
        self.implementation = implementation
        self.name = name
        # An operator lets the other operand try before it raises.
        self.is_operator = name.rpartition(".")[2] in OPERATORS
        self.is_property = isinstance(func, _METHOD_WRAPPER)
        self.takes_tensors = name not in OF_NUMBERS
        self.arrangement = arrangement(name)
        self.signature: inspect.Signature | None = None

    def slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, after a look at all that might take it over."""
        state = local.state
        if state.overrides != NOTHING:
            found = overloaded((*args, *kwargs.values()) if kwargs else args)
            if found and not self.takes_tensors:
                found = [each for each in found if not isinstance(each, Tensor)]
                if self.name in OF_DATA:
                    found.clear()
                if not found and not state.function_modes:
                    return disabled(self.implementation, (), args, kwargs)
            if state.overrides == MODES_ONLY:
                found.clear()
            if found or state.function_modes:
                types = (type(args[0]),) if self.is_property else tuple(map(type, found))
                if self.arrangement != AS_GIVEN:
                    args, kwargs = self.arranged(args, kwargs)
                result, asked = offered(self.func, types, found, args, kwargs)
                if result is not NotImplemented or self.is_operator:
                    return result
                tell = _all_declined if self.arrangement == AS_GIVEN else no_implementation
                raise tell(self.name, asked)
        if LAYOUTS:
            rules = rules_for((*args, *kwargs.values()) if kwargs else args)
            if rules is not None:
                return rules(self, args, kwargs)
        return self.implementation(*args, **kwargs)

    def arranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments as a handler gets them; a call that is wrong stays as it is."""
        if self.name == "torch.functional.einsum" and len(args) == 2:
            # Operands may be given in a list; a handler gets them one by one.
            return (args[0], *(args[1] if type(args[1]) in _CONTAINERS else args[1:])), kwargs
        if self.signature is None:
            self.signature = inspect.signature(self.implementation)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return args, kwargs
        bound.apply_defaults()
        by_position: list[Any] = []
        by_name: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_position += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                by_name |= value
            elif parameter.default is parameter.empty and self.arrangement != ALL_BY_KEYWORD:
                by_position.append(value)
            else:
                by_name[name] = value
            if name == OUT_AFTER.get(self.name):
                by_name["out"] = None
        return tuple(by_position), by_name


_METHOD_WRAPPER = type(property().__get__)


def offered(
    func: Any, types: tuple[type, ...], found: list[Any], args: Any, kwargs: dict[str, Any]
) -> tuple[Any, list[Any]]:
    """What the newest mode, or the first class that does not decline, makes of a call.

    Also who was asked. Without keywords, handlers get none: they have a default for them.
    """
    given = (func, types, args, kwargs) if kwargs else (func, types, args)
    state = local.state
    modes = state.function_modes
    asked: list[Any] = []
    if modes and state.overrides != NOTHING:
        asked.append(modes[-1])
        handler = modes[-1].__torch_function__
        state.function_modes = modes[:-1]
        try:
            result = handler(*given)
        finally:
            state.function_modes = modes
        if result is not NotImplemented:
            return result, asked
    for each in found:
        asked.append(type(each))
        result = _handler_of(each)(*given)
        if result is not NotImplemented:
            return result, asked
    return NotImplemented, asked


def _handler_of(value: Any) -> Any:
    handler = value.__torch_function__
    if isinstance(handler, MethodType) and handler.__self__ is value:
        warnings.warn(
            "Defining your `__torch_function__` as a plain method is deprecated and will be an "
            "error in future, please define it as a classmethod.",
            stacklevel=user_stacklevel(),
        )
    return handler


def _all_declined(name: str, asked: list[Any]) -> TypeError:
    """What PyTorch's compiled part says when nobody took a call."""
    listed = "".join(
        f"\n  - {'tensor subclass' if isinstance(each, type) else 'mode object'} {each}"
        for each in asked
    )
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n{listed}" + errors.at_user_line()
    )


def no_implementation(name: str, asked: list[Any]) -> TypeError:
    """What PyTorch's functions in Python say."""
    kinds = [each for each in asked if isinstance(each, type)]
    modes = [each for each in asked if not isinstance(each, type)]
    nor = f" nor in mode {modes[0]}" if modes else ""
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{kinds}{nor}" + errors.at_user_line()
    )


# -- the switch ------------------------------------------------------------------------------------

# The functions that can be taken over, by the name of what they are found in.
_NAMESPACES: list[tuple[str, Mapping[str, Any]]] = []
# Those that have their new code, once the switch is on.
SWITCHED: dict[FunctionType, Override] = {}
# Codes that look first, by how many variables of enclosing functions they replace.
_CODES: dict[int, CodeType] = {}


def overridable(prefix: str, namespace: Mapping[str, Any], *names: str) -> None:
    """Let classes and modes take over the functions of a namespace, or those with these names."""
    if names:
        namespace = {name: namespace[name] for name in names if name in namespace}
    _NAMESPACES.append((prefix, namespace))
    if SWITCHED:
        _switch(prefix, namespace)


def switch_on() -> None:
    """Let functions look at their arguments first."""
    if not SWITCHED:
        _switch("torch.Tensor", vars(Tensor))
        for prefix, namespace in _NAMESPACES:
            _switch(prefix, namespace)


def _switch(prefix: str, namespace: Mapping[str, Any]) -> None:
    for function, func, name in members(prefix, namespace):
        if type(function) is FunctionType and function not in SWITCHED:
            if function is func and namespace.get(function.__name__) is not function:
                # Handlers and tracers know a function by this.
                function.__name__ = name.rpartition(".")[2]
            _look_first(function, func, name)


def members(prefix: str, namespace: Mapping[str, Any]) -> Iterator[tuple[Any, Any, str]]:
    """The functions of a namespace that can be taken over: each, as a handler gets it, its name."""
    of_tensor = prefix == "torch.Tensor"
    for name, value in tuple(namespace.items()):
        private = name.startswith("_") and not name.endswith("__")
        if name in IGNORED or (private and not name.startswith(PRIVATE)):
            continue
        place = "torch.functional" if prefix == "torch" and name in FUNCTIONAL else prefix
        full_name = f"{place}.{name}"
        if type(value) is FunctionType:
            other = METHOD_OF_OPERATOR.get(name, name) if of_tensor else name
            yield value, namespace.get(other, value), full_name
        elif isinstance(value, property):
            yield value.fget, value.__get__, f"{full_name}.__get__"
            yield value.fset, value.__set__, f"{full_name}.__set__"
            yield value.fdel, value.__delete__, f"{full_name}.__delete__"


def every_member() -> Iterator[tuple[Any, Any, str]]:
    """The same for all namespaces."""
    for prefix, namespace in (("torch.Tensor", vars(Tensor)), *_NAMESPACES):
        yield from members(prefix, namespace)


def _look_first(function: FunctionType, func: Any, name: str) -> None:
    """Give a function the code that looks at its arguments, and keep what it was as a copy."""
    implementation = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    implementation.__kwdefaults__ = function.__kwdefaults__
    implementation.__qualname__ = function.__qualname__
    implementation.__annotations__ = function.__annotations__
    implementation.__doc__ = function.__doc__
    implementation.__dict__.update(function.__dict__)
    implementation.__module__ = function.__module__
    own = SWITCHED[function] = Override(func, implementation, name)
    # Signatures are read from there.
    function.__wrapped__ = implementation  # type: ignore[attr-defined]  # functions may have it
    function.__kwdefaults__ = {"own": own}
    function.__code__ = _code_with(len(function.__code__.co_freevars), function.__name__)


_SOURCE = """
def enclosing({cells}):
    def look_first(*args, own, **kwargs):
        if kwargs or not own.is_quiet(own.each_of(own.kind_of, args)):
            return own.slowly(args, kwargs)
        return own.implementation(*args)
        {cells}
    return look_first
"""


def _code_with(cells: int, name: str) -> CodeType:
    """The code that looks first, for a function with variables of enclosing functions.

    It uses none of them, but a function's code must ask for as many as the function has. Nor
    does it use a global name: it runs with those of the function's module.
    """
    if cells not in _CODES:
        names = ", ".join(f"cell_{number}" for number in range(cells))
        made: dict[str, Any] = {}
        exec(compile(_SOURCE.format(cells=names), LOOKS_FIRST, "exec"), made)
        _CODES[cells] = made["enclosing"](*range(cells)).__code__
    return _CODES[cells].replace(co_name=name)


def switch_on_for(code: CodeType) -> None:
    """Let functions look first if a program's code names `__torch_function__`.

    A class that defines it is known so before the first object of it meets a function that nothing
    wraps, and that would refuse it.
    """
    if not SWITCHED and _names(code, "__torch_function__"):
        switch_on()


def switch_on_for_importer() -> None:
    """The same for the file that imports clew, if it is the first."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    switch_on_for(frame.f_code)


def _names(code: CodeType, name: str) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return name in code.co_names or any(_names(each, name) for each in inner)


def unseen(*values: Any) -> bool:
    """Whether a value that a function refuses takes it over: nobody has noticed it so far."""
    if SWITCHED or not overloaded(values):
        return False
    switch_on()
    return True


def first_met(*values: Any) -> bool:
    """The same for a function that the user called, and not another that looks after it."""
    is_users = sys._getframe(2).f_globals.get("__package__") not in INTERNAL_PACKAGES
    return is_users and unseen(*values)


# -- what Tensor has -------------------------------------------------------------------------------


def _torch_function(
    cls: type[Tensor],
    func: Any,
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Run a function on tensors of a subclass as on plain ones; results are of the subclass.

    Args:
        func: the function, method or property
        types: the classes among the arguments that take over functions
        args: its positional arguments
        kwargs: its keyword arguments

    Example:
        >>> class Image(clew.Tensor):
        ...     pass
        >>> type(clew.ones(2).as_subclass(Image) + 1).__name__
        'Image'
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    result = disabled(func, types, args, kwargs)
    if cls is Tensor or func in nowrap_functions():
        return result
    return converted(result, cls)


def converted(result: Any, cls: type[Tensor]) -> Any:
    """A result, with the tensors in it made objects of a subclass."""
    if isinstance(result, Tensor):
        # Inside vmap a tensor is of vmap's own class.
        keeps = isinstance(result, cls) or result._is_lifted
        return result if keeps else result.as_subclass(cls)
    if isinstance(result, _CONTAINERS) and not isinstance(result, Size):
        parts = [converted(each, cls) for each in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


@functools.cache
def nowrap_functions() -> frozenset[Any]:
    """Properties whose values are given as they are, not as objects of a subclass."""
    members = vars(Tensor)
    return frozenset({members["_base"].__get__, members["grad"].__get__})


def _init_subclass(cls: type[Tensor], **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    if takes_over(cls):
        switch_on()


Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]  # see above
Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]  # the same
