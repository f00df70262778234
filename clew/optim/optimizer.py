"""The base of all optimizers: parameter groups, state, state dicts and hooks.

An optimizer of one's own derives from `Optimizer` and writes `step`. Those of this package derive
from `clew.optim.parameterwise.ParameterwiseOptimizer`, which writes it for them.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from clew import errors
from clew.autograd.grad_mode import set_grad_enabled
from clew.backend import dtypes
from clew.core.hooks import Hooks, RemovableHandle
from clew.core.tensor import Tensor
from clew.observer import active
from clew.source import describe

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict: TypeAlias = dict[str, Any]

_global_pre_hooks = Hooks()
_global_post_hooks = Hooks()


def _has_closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a step is given a function that computes the loss anew."""
    return callable(kwargs.get("closure", args[1] if len(args) > 1 else None))


class _RequiredParameter:
    """Stands in `defaults` for an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _global_pre_hooks.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _global_post_hooks.add(hook)


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with grad mode off, or on if the optimizer is to be differentiated through."""

    @functools.wraps(step)
    def in_mode(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            return step(self, *args, **kwargs)

    return in_mode


class Optimizer:
    """What all optimizers share: groups of parameters, state, hooks, saving and loading.

    An optimizer of one's own derives from it and writes `step`.

    Args:
        params: the parameters, or dicts of parameters with options of their own (groups)
        defaults: the options of groups that do not give them

    Example:
        >>> class Signs(optim.Optimizer):
        ...     def __init__(self, params, lr=0.1):
        ...         super().__init__(params, {"lr": lr})
        ...     @clew.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for param in group["params"]:
        ...                 param.sub_(group["lr"] * param.grad.sign())
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = Signs([w])
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.data
        tensor([ 0.9000, -1.9000])
    """

    OptimizerPreHook: TypeAlias = Callable[..., Any]
    OptimizerPostHook: TypeAlias = Callable[..., Any]

    # Whether a scheduler is attached, and whether step() has been called since.
    _scheduled = False
    _opt_called = False
    # Whether step() is running: a step may call the step of its base class.
    _stepping = False

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {_typename(params)}\n  For a single parameter, write [parameter]."
                + errors.at_user_line()
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list\n  If it came from a generator such as "
                "model.parameters(), that may have been used up before; if from a module, its "
                "layers may be in a plain list or dict, which needs to be a ModuleList, ModuleDict "
                "or ParameterList." + errors.at_user_line()
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        observer = active.observer
        if observer is not None:
            observer.optimizer_made(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            # A wrapped method is still the method, which mypy does not believe.
            cls.step = Optimizer.profile_hook_step(cls.step)  # type: ignore[method-assign]

    def _make_hooks(self) -> None:
        self._optimizer_step_pre_hooks = Hooks()
        self._optimizer_step_post_hooks = Hooks()
        self._optimizer_state_dict_pre_hooks = Hooks()
        self._optimizer_state_dict_post_hooks = Hooks()
        self._optimizer_load_state_dict_pre_hooks = Hooks()
        self._optimizer_load_state_dict_post_hooks = Hooks()

    # ------------------------------------------------------------ steps

    @staticmethod
    def profile_hook_step(step: Callable[..., Any]) -> Callable[..., Any]:
        """`step` with the hooks before and after it, and noting for schedulers that it ran."""

        @functools.wraps(step)
        def hooked_step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
            # One that wraps another optimizer may not have called __init__ and has no hooks.
            if self._stepping or "_optimizer_step_pre_hooks" not in self.__dict__:
                return step(self, *args, **kwargs)
            self._opt_called = self._stepping = True
            try:
                whole: tuple[tuple[Any, ...], dict[str, Any]] = (self, *args), kwargs
                if _global_pre_hooks or self._optimizer_step_pre_hooks:
                    whole = self._run_pre_hooks(step, *whole)
                observer = active.observer
                if observer is not None:
                    observer.step_begins(self, _has_closure(*whole))
                result = step(*whole[0], **whole[1])
                for hook in chain(
                    self._optimizer_step_post_hooks.values(), _global_post_hooks.values()
                ):
                    hook(self, *whole)
                if observer is not None:
                    observer.step_ends(self)
            finally:
                self._stepping = False
            return result

        hooked_step.marks_steps = True  # type: ignore[attr-defined]  # read by schedulers
        return hooked_step

    def _run_pre_hooks(
        self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{result}." + errors.at_user_line()
                )
            args, kwargs = result
        return args, kwargs

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; `closure` computes the loss anew."""
        raise NotImplementedError(f"{type(self).__name__} does not say what a step is")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        observer = active.observer
        if observer is not None:
            observer.zero_grad(self)
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    # ------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return changed ones."""
        return self._optimizer_step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._optimizer_step_post_hooks.add(hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` begins."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on what `state_dict` made; it may return another."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on what is to be loaded; it may return another."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------ parameter groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize more parameters, with options of their own where the group gives them."""
        if not isinstance(param_group, dict):
            raise TypeError(
                f"param_group must be a dict, but got {type(param_group)}" + errors.at_user_line()
            )
        params = _as_list(param_group["params"])
        param_group["params"] = params
        if any(isinstance(param, tuple) for param in params):
            _split_names(param_group)
        for param in param_group["params"]:
            self._check_parameter(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}" + errors.at_user_line()
                )
            param_group.setdefault(name, default)
        self._check_repetition(param_group)
        self.param_groups.append(param_group)

    def _check_parameter(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {_typename(param)}"
                + errors.at_user_line()
            )
        if self.defaults.get("differentiable") or param.is_leaf or param.retains_grad:
            return
        node = param.grad_fn
        made = f"made by {node._name()} at {describe(node._where)}" if node else "not a leaf"
        raise ValueError(
            f"can't optimize a non-leaf Tensor: this one, of shape {errors.shape_list(param.shape)}"
            f", was {made}, and its gradient is not kept. Optimize the tensor that it was made "
            "from, or make it anew with .detach().requires_grad_()." + errors.at_user_line()
        )

    def _check_repetition(self, param_group: dict[str, Any]) -> None:
        params = param_group["params"]
        if len(params) != len({id(param) for param in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error. Each would be updated several times in one step.",
                stacklevel=3,
            )
        named = "param_names" in param_group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer" + errors.at_user_line()
            )
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if not known.isdisjoint(map(id, params)):
            raise ValueError(
                "some parameters appear in more than one parameter group" + errors.at_user_line()
            )

    # ------------------------------------------------------------ saving and loading

    def state_dict(self) -> StateDict:
        """State and options, with numbers in place of the parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what `state_dict` gave; the parameters are matched by their order."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved_groups = deepcopy(state_dict["param_groups"])
        _check_same_sizes(self.param_groups, saved_groups)
        owners = {
            number: (param, group)
            for saved, group in zip(saved_groups, self.param_groups)
            for number, param in zip(saved["params"], group["params"])
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in owners:
                param, group = owners[number]
                state[param] = _cast(value, param, group)
            else:
                state[number] = value
        groups = [_loaded(group, saved) for group, saved in zip(self.param_groups, saved_groups)]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {number}\n")
            lines.extend(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return "".join([*lines, ")"])


def _add(hooks: Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = hooks.add(hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _typename(value: Any) -> str:
    """A value's type as messages name it."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _as_list(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
            + errors.at_user_line()
        )
    return list(params)


def _split_names(param_group: dict[str, Any]) -> None:
    """Pairs of name and parameter become `params` and `param_names`."""
    pairs = param_group["params"]
    if not all(isinstance(pair, tuple) for pair in pairs):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
            + errors.at_user_line()
        )
    param_group["params"] = [param for _, param in pairs]
    param_group["param_names"] = [name for name, _ in pairs]


def _check_same_sizes(groups: list[dict[str, Any]], saved: list[dict[str, Any]]) -> None:
    if len(groups) != len(saved):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved)}, but this optimizer has {len(groups)}" + errors.at_user_line()
        )
    for number, (group, other) in enumerate(zip(groups, saved)):
        if len(group["params"]) != len(other["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: group {number} has {len(other['params'])} parameters there "
                f"and {len(group['params'])} here" + errors.at_user_line()
            )


def _cast(value: Any, param: Tensor, group: dict[str, Any], key: Hashable = None) -> Any:
    """State as its parameter wants it: of its dtype, except for counts of steps."""
    if isinstance(value, Tensor):
        if key == "step":
            exact = group.get("capturable") or group.get("fused")
            return value.to(dtypes.float32) if exact else value
        return value.to(param.dtype) if param.is_floating_point() else value
    if isinstance(value, Mapping):
        return {name: _cast(item, param, group, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        # A list, tuple or set; the type of an iterable does not promise such a constructor.
        return type(value)(_cast(item, param, group) for item in value)  # type: ignore[call-arg]
    return value


def _loaded(group: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
    """A saved group with this optimizer's parameters, and their names where none were saved."""
    saved["params"] = group["params"]
    if "param_names" in group:
        saved.setdefault("param_names", group["param_names"])
    return saved


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices whose steps PyTorch can capture in a graph: none that clew has."""
    return ["cuda", "xpu", "hpu"]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether a step is by fused kernels, and whether over lists: there is one way, so neither."""
    return False, False
