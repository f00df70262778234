"""`Library`, `define` and `impl`: operations by their schemas, and kernels for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.library.dispatch import Operator
from clew.library.schema import parse
from clew.ops.namespaces import NAMESPACES, OpOverload, OpOverloadPacket, namespace

# The dispatch key of a device's kernels.
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "meta": "Meta", "hpu": "HPU"}
_KINDS = ("DEF", "IMPL", "FRAGMENT")
_RESERVED = frozenset({"prim"})
_defined: set[str] = set()


def operator_of(op: Any, library: str = "") -> Operator:
    """The operation that a program named: by its qualified name, an overload or a definition."""
    if isinstance(op, Operator):
        return op
    if hasattr(op, "_operator"):
        found: Operator = op._operator
        return found
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if isinstance(op, OpOverload):
        if isinstance(op._call, Operator):
            return op._call
        raise _built_in(op.name())
    if not isinstance(op, str):
        raise ValueError(
            f"expected an operator's name, an OpOverload or a CustomOpDef, but got {type(op)}"
            + errors.at_user_line()
        )
    space, _, name = op.rpartition("::")
    space = space or library
    name, _, overload = name.partition(".")
    if space == "aten":
        raise _built_in(op)
    packet = namespace(space)._packets.get(name) if space in NAMESPACES else None
    found_overload = packet._overloads.get(overload or "default") if packet else None
    if found_overload is None:
        raise RuntimeError(
            f"operator {space}::{op.rpartition('::')[2]} does not exist: define it first"
            + errors.at_user_line()
        )
    return operator_of(found_overload)


def _built_in(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name} is one of clew's own operations, which have one kernel and one gradient; "
        "they cannot be replaced" + errors.at_user_line()
    )


class Library:
    """Operations of one namespace, which `torch.ops.NAMESPACE` then has.

    Args:
        ns: the namespace
        kind: "DEF" for the only definition of a namespace, "FRAGMENT" for one of several, "IMPL"
            for kernels of operations that are defined elsewhere
        dispatch_key: the dispatch key of kernels for which none is given

    Example:
        >>> lib = clew.library.Library("docs_library", "FRAGMENT")
        >>> lib.define("scale(Tensor x, float k=2.0) -> Tensor")
        'scale'
        >>> lib.impl("scale", lambda x, k: x * k, "CPU")
        >>> clew.ops.docs_library.scale(clew.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with "
                             "another name.")  # fmt: skip
        if kind == "DEF":
            if ns in _defined or ns == "aten":
                raise RuntimeError(
                    "Only a single TORCH_LIBRARY can be used to register the namespace "
                    f"{ns}; please put all of your definitions in a single library, or use "
                    '"FRAGMENT".' + errors.at_user_line()
                )
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._operators: list[Operator] = []
        self._kernels: list[tuple[Operator, str]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operation by its schema; returns its name.

        Args:
            schema: the name, the arguments and the results
            alias_analysis: "" or "CONSERVATIVE"; accepted
            tags: accepted
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.ns == "aten":
            raise _built_in("aten")
        read = parse(schema)
        read.name = f"{self.ns}::{read.name.rpartition('::')[2]}"
        self._operators.append(define_operator(self.ns, read))
        name = read.name.partition("::")[2]
        return f"{name}.{read.overload_name}" if read.overload_name else name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register a kernel of an operation for a dispatch key.

        Args:
            op_name: the operation, by name or as an overload
            fn: the kernel
            dispatch_key: such as "CPU", "Autograd", "CompositeImplicitAutograd"; that of the
                library if it is not given, and of all devices without one
            with_keyset: not supported
            allow_override: whether a kernel that is there may be replaced
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if with_keyset:
            raise NotImplementedError(
                "clew has no keysets to give a kernel" + errors.at_user_line()
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        operator = operator_of(op_name, self.ns)
        if key in self._own_keys(operator) and not allow_override:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {operator.name}'s behavior for {key} dispatch key and {self.ns} "
                "namespace." + errors.at_user_line()
            )
        operator.kernels[key] = fn
        self._kernels.append((operator, key))

    def _own_keys(self, operator: Operator) -> set[str]:
        return {key for each, key in self._kernels if each is operator}

    def _register_fake(self, op_name: str, fn: Callable[..., Any], *args: Any, **kw: Any) -> None:
        keep_fake(op_name, fn, self.ns)

    def _destroy(self) -> None:
        """Take back what was defined and registered through this object."""
        for operator, key in self._kernels:
            operator.kernels.pop(key, None)
        for operator in self._operators:
            namespace(self.ns).remove(operator.overload.overloadpacket, operator.overload._overload)
        self._kernels.clear()
        self._operators.clear()
        _defined.discard(self.ns)


# Fake kernels of operations that are not defined yet: compiled ones of packages never will be.
_later_fakes: dict[str, Callable[..., Any]] = {}


def keep_fake(op: Any, function: Callable[..., Any], library: str = "") -> None:
    """Give an operation its fake kernel, now or when it is defined."""
    if isinstance(op, str):
        space, _, name = op.rpartition("::")
        packet = NAMESPACES.get(space or library)
        if packet is None or name.partition(".")[0] not in packet._packets:
            _later_fakes[f"{space or library}::{name}"] = function
            return
    operator_of(op, library).fake = function


def define_operator(library: str, schema: Any) -> Operator:
    """Enter an operation under its name, which must be new."""
    name = schema.name.partition("::")[2]
    packet = namespace(library)._packets.get(name)
    if packet is not None and (schema.overload_name or "default") in packet._overloads:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name "
            "multiple times. Each overload's schema should only be registered with a single call "
            "to def()." + errors.at_user_line()
        )
    operator = Operator(library, schema)
    operator.fake = _later_fakes.pop(operator.qualified, None)
    return operator


_fragments: dict[str, Library] = {}


def _fragment(qualified: str) -> tuple[Library, str]:
    """The library that a function of this module defines into, and the name in it."""
    space, separator, name = qualified.partition("::")
    if not separator or not space or not name:
        raise ValueError(
            f"Expected `qualname` to be of the form 'namespace::name', but got {qualified!r}"
            + errors.at_user_line()
        )
    if space not in _fragments:
        _fragments[space] = Library(space, "FRAGMENT")
    return _fragments[space], name


def define(
    qualname: str | Library, schema: str, *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Define an operation by its schema.

    Args:
        qualname: `"namespace::name"`
        schema: the arguments and the results: `"(Tensor x) -> Tensor"`
        lib: the library that the definition belongs to
        tags: accepted

    Example:
        >>> clew.library.define("docs_define::twice", "(Tensor x) -> Tensor")
        >>> clew.library.impl("docs_define::twice", "cpu", lambda x: 2 * x)
        >>> clew.ops.docs_define.twice(clew.ones(2))
        tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        return _define_by_library(qualname, schema)
    own, name = _fragment(qualname)
    if not re.match(r"\s*\(", schema):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}"' + errors.at_user_line()
        )
    (lib or own).define(name + schema.strip(), tags=tags)
    return None


def _define_by_library(library: Library, schema: str) -> Callable[[Any], Any]:
    name = library.define(schema)

    def register(function: Any) -> Any:
        library.impl(name, function)
        return function

    return register


def impl(
    qualname: str | Library | OpOverload,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for devices; without a function, a decorator that does so.

    Args:
        qualname: `"namespace::name"`, or an overload
        types: the device, such as "cpu", several, or "default" for all
        func: the kernel
        lib: the library that the kernel belongs to

    Example:
        >>> clew.library.define("docs_impl::twice", "(Tensor x) -> Tensor")
        >>> @clew.library.impl("docs_impl::twice", "cpu")
        ... def twice(x):
        ...     return 2 * x
        >>> clew.ops.docs_impl.twice(clew.ones(2))
        tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        return _impl_by_library(qualname, types, func)
    keys = [_key_of(each) for each in ([types] if isinstance(types, str) else types)]

    def register(function: Any) -> Any:
        operator = operator_of(qualname)
        for key in keys:
            if lib is not None:
                lib.impl(operator, function, key)
            else:
                operator.kernels[key] = function
        return function

    if func is None:
        return register
    register(func)
    return None


def _impl_by_library(library: Library, name: Any, key: Any) -> Callable[[Any], Any]:
    """The old form: `@impl(lib, "name", "CPU")`."""

    def register(function: Any) -> Any:
        library.impl(name, function, key or "")
        return function

    return register


def _key_of(device: str) -> str:
    if device == "default":
        return "CompositeExplicitAutograd"
    if device in _KEYS.values() or device.startswith(("Autograd", "Composite")):
        return device
    if device not in _KEYS:
        raise ValueError(
            f"Unsupported device type {device!r}: one of {', '.join(_KEYS)} is expected"
            + errors.at_user_line()
        )
    return _KEYS[device]
