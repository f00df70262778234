"""Tracing: a program is run once with proxies, and what it does becomes a graph.

While a program is traced, calls of modules and reads of parameters are seen by other `__call__`
and `__getattr__` of `Module`, which only act in the thread that traces; functions that are marked
by `wrap`, and those of `math`, are replaced where the program finds them. All of it is put back
when the trace ends.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clew import errors
from clew.aliasing import own_name
from clew.core import overrides
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.fx.codegen import PyTreeCodeGen, PyTreeInfo
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule, trace_code
from clew.fx.naming import is_from_torch
from clew.fx.node import Node, map_aggregate
from clew.fx.proxy import ParameterProxy, Proxy, TracerBase
from clew.nn.modules.container import Sequential
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["PH", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

# The functions that `wrap` has marked: the globals of a module, and the name in them.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}

# A concrete argument, or a leaf of one, that is traced as usual.
PH = object()

_VARARGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Tracer(TracerBase):
    """Runs a program with proxies and returns the graph of what it did.

    Args:
        autowrap_modules: modules whose functions are recorded as one step each
        autowrap_functions: functions that are recorded as one step each
        param_shapes_constant: whether shapes of parameters are read while tracing

    Example:
        >>> graph = clew.fx.Tracer().trace(lambda x: x + 1)
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        members = [value for module in autowrap_modules for value in vars(module).values()]
        self._autowrap = {id(value) for value in members if callable(value)}
        self._autowrap |= {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        # The submodules that are running, by name: what each is called and its class.
        self.module_stack: dict[str, tuple[str, type]] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are one step; the library's layers are, containers are not.

        Args:
            m: the module
            module_qualified_name: its name in the root
        """
        return own_name(m.__module__).startswith("clew.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule in the root.

        Args:
            mod: the submodule
        """
        for name, module in self.root.named_modules(remove_duplicate=False):
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule" + errors.at_user_line())

    def call_module(
        self,
        m: Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """What a call of a submodule becomes: a step, or what it is made of.

        Args:
            m: the submodule
            forward: runs it
            args, kwargs: its arguments
        """
        name = self.path_of_module(m)
        before = self.module_stack
        self.module_stack = {**before, name: (name, type(m))}
        try:
            if not self.is_leaf_module(m, name):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", name, args, kwargs)
        finally:
            self.module_stack = before

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading an attribute of a module gives: a proxy for parameters.

        Args:
            attr: its name
            attr_val: its value
            parameter_proxy_cache: the proxies of parameters that were read before, by name
        """
        if not isinstance(attr_val, Parameter):
            return attr_val
        for name, parameter in self.root.named_parameters():
            if parameter is attr_val:
                if name not in parameter_proxy_cache:
                    kind = None
                    if self.param_shapes_constant:
                        kind = functools.partial(ParameterProxy, self, name=name, param=parameter)
                    proxy = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=kind)
                    parameter_proxy_cache[name] = proxy
                return parameter_proxy_cache[name]
        return attr_val

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph, and note in it the submodules that are running."""
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def create_arg(self, a: Any) -> Any:
        """A value as the argument of a node: tensors become attributes of the root.

        Args:
            a: the value
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module" + errors.at_user_line())
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._name_of_tensor(a), (), {})
        return super().create_arg(a)

    def _name_of_tensor(self, tensor: Tensor) -> str:
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return name
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if value is tensor:
                    return f"{path}.{name}" if path else name
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        name = f"_tensor_constant{number}"
        setattr(self.root, name, tensor)
        return name

    # -- tracing ---------------------------------------------------------------------------

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module's forward, or of a function.

        Args:
            root: the module or function
            concrete_args: values of arguments that the program is specialized to
        """
        overrides.switch_on()
        if isinstance(root, Module):
            self.root = root
            function: Any = type(root).forward
        else:
            self.root = Module()
            function = root
        self.graph = Graph(tracer_cls=type(self))
        globals_of_program = inspect.unwrap(function).__globals__
        returns = _annotations(inspect.unwrap(function)).get("return")
        called, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        if called is not function:
            returns = None
        with _Patches(self, globals_of_program):
            result = self.create_arg(called(*args))
        self.create_node("output", "output", (result,), {}, type_expr=returns)
        return self.graph

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The function to run, and the proxies to run it with.

        Args:
            root_fn: the function, or the forward of the root
            is_module: whether its first argument is the root
            concrete_args: values of arguments that the program is specialized to
        """
        analysed = inspect.unwrap(root_fn)
        code: CodeType = analysed.__code__
        names = list(code.co_varnames)
        count = code.co_argcount + code.co_kwonlyargcount
        taken = names[1:count] if is_module else names[:count]
        args: list[Any] = [self.root] if is_module else []
        if isinstance(concrete_args, tuple):
            concrete_args = dict(zip(taken, concrete_args, strict=False))
        for name in taken:
            if concrete_args is None or name not in concrete_args:
                args.append(self._placeholder(name, analysed))
            else:
                args.append(self._concrete(name, concrete_args[name], analysed))
        if code.co_kwonlyargcount or code.co_flags & _VARARGS:
            place = count
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._placeholder(stars + names[place], analysed))
                    place += 1
            root_fn = _taking_all_by_position(analysed, len(args))
        return self._flat(root_fn, args, taken, is_module)

    def _flat(
        self, function: Any, args: list[Any], names: list[str], is_module: bool
    ) -> tuple[Any, list[Any]]:
        """The function of the leaves, where an argument is nested; the graph nests them again."""
        nested = tuple(args[1:] if is_module else args)
        leaves, spec = tree_flatten(nested)
        if all(child.is_leaf() for child in spec.children()):
            return function, args
        codegen = PyTreeCodeGen(PyTreeInfo(names, spec, None))
        self.graph.set_codegen(codegen)

        def of_leaves(*leaves: Any) -> list[Any]:
            result = function(*args[: int(is_module)], *tree_unflatten(leaves, spec))
            flat, out_spec = tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return flat

        return of_leaves, leaves

    def _placeholder(self, name: str, function: Any) -> Any:
        args: tuple[Any, ...] = ()
        if not name.startswith("*"):
            default = inspect.signature(function).parameters[name].default
            args = () if default is inspect.Parameter.empty else (default,)
        kind = _annotations(function).get(name)
        return self.create_proxy("placeholder", name, args, {}, type_expr=kind)

    def _concrete(self, name: str, value: Any, function: Any) -> Any:
        """An argument whose structure is known, and the values of some or all of its leaves."""
        leaves, spec = tree_flatten(value)
        numbered = enumerate(leaves, 1)
        parts = [self._specialized(name, leaf, number, function) for number, leaf in numbered]
        return tree_unflatten(parts, spec)

    def _specialized(self, name: str, value: Any, number: int, function: Any) -> Any:
        """A leaf that has one value: it is compared with that when the graph runs."""
        default = inspect.signature(function).parameters[name].default
        args = () if default is inspect.Parameter.empty else (default,)
        out = self.create_proxy("placeholder", f"{name}_{number}", args, {})
        if value is PH:
            return out
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (out, text), {})
        elif isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", FUNCTIONS["_assert"], (out == value, text), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs "
                "you specialized the function with.",
                stacklevel=5,
            )
        return value


def _annotations(function: Any) -> dict[str, Any]:
    """The types that a program states; the library's own layers state none in PyTorch."""
    return {} if is_from_torch(function) else getattr(function, "__annotations__", {})


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


def _taking_all_by_position(function: Any, count: int) -> Any:
    """A function that takes its `*args`, `**kwargs` and keyword-only parameters by position."""
    code = function.__code__
    plain = code.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~_VARARGS,
    )
    return FunctionType(
        plain, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )


class _Patches:
    """What is other than usual while a program is traced."""

    def __init__(self, tracer: Tracer, globals_of_program: dict[str, Any]) -> None:
        self.tracer = tracer
        self.globals_of_program = globals_of_program
        self.thread = threading.get_ident()
        self.cache: dict[str, Any] = {}
        self.replaced: list[tuple[dict[str, Any], str, Any]] = []

    def __enter__(self) -> None:
        _tracing.append(self)
        call, read = Module.__call__, Module.__getattr__
        self.call, self.read = call, read
        tracer, thread, cache = self.tracer, self.thread, self.cache

        @functools.wraps(call)
        def traced_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread:
                return call(module, *args, **kwargs)
            return tracer.call_module(module, functools.partial(call, module), args, kwargs)

        @functools.wraps(read)
        def traced_read(module: Module, name: str) -> Any:
            value = read(module, name)
            if threading.get_ident() != thread:
                return value
            return tracer.getattr(name, value, cache)

        Module.__call__ = traced_call  # type: ignore[method-assign]  # for the time of the trace
        Module.__getattr__ = traced_read  # type: ignore[method-assign]  # the same
        for frame_globals, name in [(g, n) for (_, n), g in _wrapped.items()]:
            missing = name not in frame_globals and hasattr(builtins, name)
            original = getattr(builtins, name) if missing else frame_globals[name]
            self._replace(frame_globals, name, original)
        for place in (self.globals_of_program, *map(vars, self.tracer._autowrap_search)):
            for name, value in tuple(place.items()):
                if id(value) in self.tracer._autowrap and not name.startswith("__"):
                    self._replace(place, name, value)

    def _replace(self, place: dict[str, Any], name: str, original: Any) -> None:
        @functools.wraps(original)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            proxy = _first_proxy(args, kwargs)
            if proxy is None:
                return original(*args, **kwargs)
            result = proxy.tracer.create_proxy("call_function", original, args, kwargs)
            result.node.meta["is_wrapped"] = True
            return result

        self.replaced.append((place, name, place.get(name, _MISSING)))
        place[name] = recorded

    def __exit__(self, *exc: Any) -> None:
        _tracing.remove(self)
        Module.__call__ = self.call  # type: ignore[method-assign]  # as it was
        Module.__getattr__ = self.read  # type: ignore[method-assign]  # the same
        for place, name, original in reversed(self.replaced):
            if original is _MISSING:
                del place[name]
            else:
                place[name] = original


_MISSING = object()
# The traces that are going on.
_tracing: list[_Patches] = []


def is_fx_tracing() -> bool:
    """Whether this thread is tracing a program.

    Example:
        >>> clew.fx._symbolic_trace.is_fx_tracing()
        False
    """
    return any(each.thread == threading.get_ident() for each in _tracing)


def _first_proxy(args: Any, kwargs: Any) -> Proxy | None:
    found: list[Proxy] = []

    def look(value: Any) -> Any:
        if isinstance(value, Proxy):
            found.append(value)
        return value

    map_aggregate((args, kwargs), look)
    return found[0] if found else None


def wrap(fn_or_name: Any) -> Any:
    """Mark a function of a module: in traces its calls are steps, not what it is made of.

    To be called where modules define their functions, with a name or as a decorator.

    Args:
        fn_or_name: the function, or its name

    Example:
        >>> import math
        >>> traced = clew.fx.symbolic_trace(lambda x: math.sqrt(x))
        >>> [node.name for node in traced.graph.nodes]
        ['x', 'sqrt', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
            + errors.at_user_line()
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    frame = None if frame is None else frame.f_back
    if frame is None or frame.f_code.co_name != "<module>":
        raise NotImplementedError(
            "wrap must be called at the top level of a module" + errors.at_user_line()
        )
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module that does what another one, or a function, does: with its graph, and as code.

    Args:
        root: the module or function
        concrete_args: values of arguments that the program is specialized to; of nested ones
            the structure, with `PH` for leaves that are traced as usual

    Example:
        >>> traced = clew.fx.symbolic_trace(lambda x: clew.relu(x) * 2)
        >>> print(traced.code.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            mul = relu * 2;  relu = None
            return mul
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class _AllLeaves(Tracer):
    """Looks into no submodule."""

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


trace_code.append(lambda module: _AllLeaves().trace(module))
