"""Hooks of modules: registering them, for one module or for all, and running them."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew.core.hooks import RemovableHandle
from clew.core.node import Node
from clew.core.tensor import Tensor
from clew.nn.modules.backward_hooks import BackwardHook

if TYPE_CHECKING:
    from clew.nn.modules.module import Module

Hook = Callable[..., Any]
HookDict = OrderedDict[int, Hook]


class HookHandle(RemovableHandle):
    """Removes a hook together with what is noted about it elsewhere."""

    def __init__(self, hooks: HookDict, notes: tuple[OrderedDict[int, bool], ...] = ()) -> None:
        super().__init__(hooks)
        self._notes = tuple(weakref.ref(note) for note in notes)

    def remove(self) -> None:
        super().remove()
        for reference in self._notes:
            note = reference()
            if note is not None:
                note.pop(self.id, None)

    def __getstate__(self) -> Any:
        # PyTorch's form.
        state = self.hooks_dict_ref(), self.id
        return (*state, tuple(reference() for reference in self._notes)) if self._notes else state

    def __setstate__(self, state: Any) -> None:
        # A copied module's handle removes the hook from the copy. Weak references to nothing
        # cannot be made, so what was gone is replaced by something that will be.
        hooks, self.id, notes = state if len(state) == 3 else (*state, ())
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self._notes = tuple(weakref.ref(note) for note in notes if note is not None)


class _WrappedHook:
    """Calls a hook with its module, which it does not keep alive."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook = hook
        self.module: weakref.ref[Any] | None = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = () if self.module is None else (self.module(),)
        return self.hook(*module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        module = self.module and self.module()
        return {"hook": self.hook, "with_module": module is not None, "module": module}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        # PyTorch wraps all hooks, also those that are called without their module.
        self.module = weakref.ref(state["module"]) if state["with_module"] else None


def add_hook(
    hooks: HookDict,
    hook: Hook,
    notes: tuple[OrderedDict[int, bool], ...] = (),
    prepend: bool = False,
) -> HookHandle:
    """Add a hook; its id goes into each of `notes`, too."""
    handle = HookHandle(hooks, notes)
    hooks[handle.id] = hook
    for note in notes:
        note[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


# -- hooks of all modules ------------------------------------------------------------------------

_global_forward_pre_hooks: HookDict = OrderedDict()
_global_forward_hooks: HookDict = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: HookDict = OrderedDict()
_global_backward_hooks: HookDict = OrderedDict()
_global_parameter_registration_hooks: HookDict = OrderedDict()
_global_buffer_registration_hooks: HookDict = OrderedDict()
_global_module_registration_hooks: HookDict = OrderedDict()


class _Global:
    is_full_backward_hook: bool | None = None


def _one_kind(used: bool | None, full: bool, where: str) -> bool:
    """`full`, unless the other kind of backward hooks is in use: the two do not mix."""
    if used is (not full):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use "
            "only one of them."
        )
    return full


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward."""
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward."""
    notes = _chosen(
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    )
    return add_hook(_global_forward_hooks, hook, notes)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before every module's backward."""
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after every module's backward."""
    _Global.is_full_backward_hook = _one_kind(
        _Global.is_full_backward_hook, True, "as a global Module hook"
    )
    return add_hook(_global_backward_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The older form of `register_module_full_backward_hook`, which sees only the last node."""
    _Global.is_full_backward_hook = _one_kind(
        _Global.is_full_backward_hook, False, "as a global Module hook"
    )
    return add_hook(_global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` before a parameter is registered; it may return another."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before a buffer is registered; it may return another."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before a module is registered; it may return another."""
    return add_hook(_global_module_registration_hooks, hook)


def _chosen(*pairs: tuple[OrderedDict[int, bool], bool]) -> tuple[OrderedDict[int, bool], ...]:
    return tuple(note for note, wanted in pairs if wanted)


def seen_by_hooks(hooks: HookDict, module: Module, name: str, value: Any) -> Any:
    """What is to be registered, after the registration hooks have had their say."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


# -- hooks of one module -------------------------------------------------------------------------


class HookMethods:
    """Module's methods that register hooks."""

    _backward_pre_hooks: HookDict
    _backward_hooks: HookDict
    _is_full_backward_hook: bool | None
    _forward_hooks: HookDict
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: HookDict
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments."""
        notes = _chosen((self._forward_pre_hooks_with_kwargs, with_kwargs))
        return add_hook(self._forward_pre_hooks, hook, notes, prepend)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        notes = _chosen(
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return add_hook(self._forward_hooks, hook, notes, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before backward passes through this module."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when both gradients are known."""
        self._is_full_backward_hook = _one_kind(
            self._is_full_backward_hook, True, "on a single Module"
        )
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The older form of `register_full_backward_hook`, which sees only the last node."""
        self._is_full_backward_hook = _one_kind(
            self._is_full_backward_hook, False, "on a single Module"
        )
        return add_hook(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The full backward hooks, and the others."""
        full: list[Hook] = []
        other: list[Hook] = []
        if _Global.is_full_backward_hook is not None:
            (full if _Global.is_full_backward_hook else other).extend(
                _global_backward_hooks.values()
            )
        if self._is_full_backward_hook is not None:
            (full if self._is_full_backward_hook else other).extend(self._backward_hooks.values())
        return full, other

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


# -- running -------------------------------------------------------------------------------------


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Forward, with everything that hooks ask for around it."""
    called: set[int] = set()
    result: Any = None
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        full: list[Hook] = []
        other: list[Hook] = []
        if module._backward_hooks or _global_backward_hooks:
            full, other = module._get_backward_hooks()
        before = module._get_backward_pre_hooks()
        watcher = BackwardHook(module, full, before) if full or before else None
        if watcher is not None:
            args = watcher.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook, with_kwargs, _ in _forward_hooks(module):
            called.add(key)
            result = _run_forward_hook(module, hook, with_kwargs, args, kwargs, result)
        if watcher is not None:
            result = watcher.watch_outputs(result)
        if other:
            _watch_last_node(module, other, args, result)
        return result
    except Exception:
        _run_always_called(module, called, args, kwargs, result)
        raise


def _run_pre_hooks(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    hooks = [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]
    for key, hook in hooks:
        if key in module._forward_pre_hooks_with_kwargs:
            answer = hook(module, args, kwargs)
            if answer is not None:
                if not isinstance(answer, tuple) or len(answer) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {answer}."
                    )
                args, kwargs = answer
        else:
            answer = hook(module, args)
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
    return args, kwargs


def _forward_hooks(module: Module) -> list[tuple[int, Hook, bool, bool]]:
    """Key, hook, whether it takes keywords, whether it runs even if something fails."""
    of_all = [
        (
            key,
            hook,
            key in _global_forward_hooks_with_kwargs,
            key in _global_forward_hooks_always_called,
        )
        for key, hook in _global_forward_hooks.items()
    ]
    own = [
        (
            key,
            hook,
            key in module._forward_hooks_with_kwargs,
            key in module._forward_hooks_always_called,
        )
        for key, hook in module._forward_hooks.items()
    ]
    return of_all + own


def _run_forward_hook(
    module: Module,
    hook: Hook,
    with_kwargs: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> Any:
    given = (module, args, kwargs, result) if with_kwargs else (module, args, result)
    answer = hook(*given)
    return result if answer is None else answer


def _run_always_called(
    module: Module,
    called: set[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if not always or key in called:
            continue
        which = "global module" if key in _global_forward_hooks else "module"
        try:
            result = _run_forward_hook(module, hook, with_kwargs, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                f"{which} forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {error}",
                stacklevel=4,
            )


def _watch_last_node(module: Module, hooks: list[Hook], args: Any, result: Any) -> None:
    """Regular backward hooks: they see the gradients of the node that made the output."""
    output = result
    while not isinstance(output, Tensor):
        if isinstance(output, dict):
            output = next(value for value in output.values() if isinstance(value, Tensor))
        else:
            output = output[0]
    node = output.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_with_module(hook, module))
    _warn_of_regular_hook(args, result, node)


def _with_module(hook: Hook, module: Module) -> Hook:
    """The hook with its module, which nodes must not keep alive."""
    reference = weakref.ref(module)

    def on_node(grad_input: Any, grad_output: Any) -> Any:
        owner = reference()
        if owner is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return hook(owner, grad_input, grad_output)

    return on_node


_DEPRECATED = "is deprecated and will be removed in future versions. This hook will be missing some"


def _warn_of_regular_hook(args: tuple[Any, ...], result: Any, node: Node) -> None:
    """Say when a regular hook sees something else than the module's gradients."""
    problem = _misfit(args, result if isinstance(result, tuple) else (result,), node)
    if problem:
        warnings.warn(
            f"{problem}. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=5,
        )


def _misfit(args: tuple[Any, ...], outputs: tuple[Any, ...], node: Node) -> str:
    hook, hooks = "Using a non-full backward hook when", "Using non-full backward hooks on a Module"
    if not all(isinstance(value, Tensor) for value in outputs):
        return (
            f"{hooks} that does not return a single Tensor or a tuple of Tensors {_DEPRECATED} of "
            "the grad_output"
        )
    if not all(isinstance(value, Tensor) for value in args):
        return (
            f"{hooks} that does not take as input a single Tensor or a tuple of Tensors "
            f"{_DEPRECATED} of the grad_input"
        )
    makers = {value.grad_fn for value in outputs} - {None}
    if len(makers) > 1:
        return f"{hook} outputs are generated by different autograd Nodes {_DEPRECATED} grad_output"
    sources = {value.grad_fn for value in args} - {None}
    if sources != {source for source, _ in node.next_functions}:
        return f"{hook} the forward contains multiple autograd Nodes {_DEPRECATED} grad_input"
    return ""
